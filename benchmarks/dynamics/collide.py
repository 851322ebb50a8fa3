"""Collision detection: the pairs of 100,000 shuffled spheres, and contacts of each pair of kinds.

pairs  the search for pairs of spheres that nearly touch, in an order that has nothing to do with
       where they are, and the whole search for contacts; milliseconds by numbers of threads,
       the median of all runs. Writes collide_pairs.csv
kinds  microseconds for the contacts of one pair of each two kinds, of pairs that overlap, that
       touch or nearly touch, and that are apart by less than the margin. Writes
       collide_kinds.csv

python benchmarks/dynamics/collide.py [--spheres 100000] [--threads 1,2] [--only pairs]
"""

import argparse
import itertools
import sys
from pathlib import Path

import numpy as np

from contactsolve import _core, dynamics

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import interleaved, quartiles, write_csv

KINDS = {
    "sphere": lambda u: dynamics.Sphere(u(0.3, 0.5)),
    "capsule": lambda u: dynamics.Capsule(u(0.2, 0.3), u(0.2, 0.4)),
    "box": lambda u: dynamics.Box(u(0.2, 0.5, 3)),
    "hull": lambda u: dynamics.Hull(u(-0.5, 0.5, (16, 3))),
    "cylinder": lambda u: dynamics.Cylinder(u(0.2, 0.4), u(0.2, 0.4)),
}
PAIRS_OF_KINDS = 2000
MARGIN = 0.02


def identity(count):
    return np.tile([1.0, 0, 0, 0], (count, 1))


def shuffled_spheres(count, rng):
    """Spheres near the points of a cubic grid, of which neighbours just touch or just do not."""
    side = int(np.ceil(count ** (1 / 3)))
    grid = np.stack(np.meshgrid(*3 * [np.arange(side)], indexing="ij"), -1).reshape(-1, 3)
    position = grid[rng.permutation(len(grid))[:count]] + rng.uniform(-0.05, 0.05, (count, 3))
    collider = _core.Collider(3)
    place = np.arange(count), np.zeros((count, 3)), identity(count)
    collider.add("sphere", np.full((count, 1), 0.5), None, *place)
    return collider, position


def measure_pairs(count, threads, repeats):
    rng = np.random.default_rng(0)
    collider, position = shuffled_spheres(count, rng)
    turn = identity(count)

    def run(search, number):
        return lambda: getattr(collider, search)(position, turn, None, 0.0, number) is None

    tasks = {
        (search, number): run(search, number)
        for search in ("find_pairs", "find")
        for number in threads
    }
    seconds = interleaved(
        {key: (lambda task=task: task() and None) for key, task in tasks.items()}, repeats
    )
    pairs = len(collider.find_pairs(position, turn, None, 0.0, 1))
    for (search, number), values in seconds.items():
        spread = {name: 1e3 * value for name, value in quartiles(values).items()}
        yield {"spheres": count, "pairs": pairs, "search": search, "threads": number} | {
            f"{name}_ms": value for name, value in spread.items()
        }


def scattered(kinds, rng):
    """Pairs of two kinds, far from each other, whose bounding spheres overlap."""
    collider = _core.Collider(3)
    cell = 5.0 * np.stack(np.unravel_index(np.arange(PAIRS_OF_KINDS), (20, 20, 20)), -1)
    for k, kind in enumerate(kinds):
        for body in range(PAIRS_OF_KINDS):
            shape = KINDS[kind](rng.uniform)
            vertices = getattr(shape, "vertices", None)
            place = np.array([2 * body + k]), np.zeros((1, 3)), identity(1)
            collider.add(shape.kind, np.array([shape.numbers]).reshape(1, -1), vertices, *place)
    apart = rng.normal(size=(PAIRS_OF_KINDS, 3))
    apart *= rng.uniform(0.4, 0.9, (PAIRS_OF_KINDS, 1)) / np.linalg.norm(
        apart, axis=1, keepdims=True
    )
    position = np.stack([cell, cell + apart], axis=1).reshape(-1, 3)
    turn = rng.normal(size=(2 * PAIRS_OF_KINDS, 4))
    return collider, position, turn


def measure_kinds(repeats):
    for kinds in itertools.combinations_with_replacement(KINDS, 2):
        collider, position, turn = scattered(kinds, np.random.default_rng(1))

        def run(search, given=(collider, position, turn)):
            getattr(given[0], search)(given[1], given[2], None, MARGIN, 1)

        pairs = len(collider.find_pairs(position, turn, None, MARGIN, 1))
        found = collider.find(position, turn, None, MARGIN, 1)
        seconds = interleaved(
            {name: (lambda name=name: run(name)) for name in ("find_pairs", "find")}, repeats
        )
        own = np.median(seconds["find"]) - np.median(seconds["find_pairs"])
        yield {
            "first": kinds[0],
            "second": kinds[1],
            "pairs": pairs,
            "contacts": len(found["gap"]),
            "overlapping": len(np.unique(found["shape"][found["gap"] < 0], axis=0)),
            "us_per_pair": 1e6 * own / pairs,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spheres", type=int, default=100_000)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--only", choices=["pairs", "kinds"])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--no-csv", action="store_true", help="print only")
    given = parser.parse_args()
    threads = [int(number) for number in given.threads.split(",")]
    tables = {
        "pairs": lambda: list(measure_pairs(given.spheres, threads, given.repeats)),
        "kinds": lambda: list(measure_kinds(given.repeats)),
    }
    for name, table in tables.items():
        if given.only not in (None, name):
            continue
        rows = table()
        for row in rows:
            print(
                "  ".join(
                    f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()
                )
            )
        if not given.no_csv:
            write_csv(f"collide_{name}.csv", rows)


if __name__ == "__main__":
    main()
