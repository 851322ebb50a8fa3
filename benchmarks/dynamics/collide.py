"""Collision detection: the pairs of 100,000 shuffled spheres, and contacts of each pair of kinds.

pairs  the search for pairs of spheres that touch, in an order that has nothing to do with where
       they are, and the whole search for contacts; milliseconds by numbers of threads, the
       median and quartiles of all runs. Writes collide_pairs.csv
kinds  microseconds for the contacts of one pair of each two kinds whose bounding spheres
       overlap: some overlap, some are apart by less or by more than the margin. Writes
       collide_kinds.csv

python benchmarks/dynamics/collide.py [--spheres 100000] [--threads 1,2] [--only pairs]
"""

import argparse
import functools
import itertools
import sys
from pathlib import Path

import numpy as np

from contactsolve import _core, dynamics

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import interleaved, quartiles, teams, write_csv

KINDS = {
    "sphere": lambda u: dynamics.Sphere(u(0.3, 0.5)),
    "capsule": lambda u: dynamics.Capsule(u(0.2, 0.3), u(0.2, 0.4)),
    "box": lambda u: dynamics.Box(u(0.2, 0.5, 3)),
    "hull": lambda u: dynamics.Hull(u(-0.5, 0.5, (16, 3))),
    "cylinder": lambda u: dynamics.Cylinder(u(0.2, 0.4), u(0.2, 0.4)),
}
PAIRS_OF_KINDS = 2000
MARGIN = 0.02
SEARCHES = ("find_pairs", "find")


def identity(count):
    return np.tile([1.0, 0, 0, 0], (count, 1))


def search(collider, name, threads, poses, margin):
    """Run one search, whose answer is not kept."""
    getattr(collider, name)(*poses, None, margin, threads)


def shuffled_spheres(count, rng):
    """Spheres near the points of a cubic grid, of which neighbours just touch or just do not."""
    side = int(np.ceil(count ** (1 / 3)))
    grid = np.stack(np.meshgrid(*3 * [np.arange(side)], indexing="ij"), -1).reshape(-1, 3)
    position = grid[rng.permutation(len(grid))[:count]] + rng.uniform(-0.05, 0.05, (count, 3))
    collider = _core.Collider(3)
    place = np.arange(count), np.zeros((count, 3)), identity(count)
    collider.add("sphere", np.full((count, 1), 0.5), None, *place)
    return collider, (position, identity(count))


def measure_pairs(count, threads, repeats):
    collider, poses = shuffled_spheres(count, np.random.default_rng(0))
    tasks = {
        key: functools.partial(search, collider, *key, poses, 0.0)
        for key in itertools.product(SEARCHES, threads)
    }
    pairs = len(collider.find_pairs(*poses, None, 0.0, 1))
    for (name, number), seconds in interleaved(tasks, repeats).items():
        row = {"spheres": count, "pairs": pairs, "search": name, "threads": number}
        yield row | {f"{k}_ms": 1e3 * value for k, value in quartiles(seconds).items()}


def scattered(kinds, rng):
    """Pairs of two kinds, far from each other, whose bounding spheres overlap."""
    collider = _core.Collider(3)
    for k, body in itertools.product(range(2), range(PAIRS_OF_KINDS)):
        shape = KINDS[kinds[k]](rng.uniform)
        numbers = np.array([shape.numbers]).reshape(1, -1)
        place = np.array([2 * body + k]), np.zeros((1, 3)), identity(1)
        collider.add(shape.kind, numbers, getattr(shape, "vertices", None), *place)
    place = 5.0 * np.stack(np.unravel_index(np.arange(PAIRS_OF_KINDS), (20, 20, 20)), -1)
    direction = rng.normal(size=(PAIRS_OF_KINDS, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    apart = rng.uniform(0.4, 0.9, (PAIRS_OF_KINDS, 1)) * direction
    position = np.stack([place, place + apart], axis=1).reshape(-1, 3)
    return collider, (position, rng.normal(size=(2 * PAIRS_OF_KINDS, 4)))


def measure_kinds(repeats):
    for kinds in itertools.combinations_with_replacement(KINDS, 2):
        collider, poses = scattered(kinds, np.random.default_rng(1))
        tasks = {
            name: functools.partial(search, collider, name, 1, poses, MARGIN) for name in SEARCHES
        }
        pairs = len(collider.find_pairs(*poses, None, MARGIN, 1))
        found = collider.find(*poses, None, MARGIN, 1)
        seconds = interleaved(tasks, repeats)
        own = np.median(seconds["find"]) - np.median(seconds["find_pairs"])
        yield {
            "first": kinds[0],
            "second": kinds[1],
            "pairs": pairs,
            "touching": len(np.unique(found["shape"], axis=0)),
            "contacts": len(found["gap"]),
            "us_per_pair": 1e6 * own / pairs,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spheres", type=int, default=100_000)
    teams.add_options(parser)
    parser.add_argument("--only", choices=["pairs", "kinds"])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--no-csv", action="store_true", help="print only")
    given = parser.parse_args()
    threads = teams.chosen(parser, given)
    tables = {
        "pairs": lambda: measure_pairs(given.spheres, threads, given.repeats),
        "kinds": lambda: measure_kinds(given.repeats),
    }
    for name, table in tables.items():
        if given.only not in (None, name):
            continue
        rows = list(table())
        for row in rows:
            words = (f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items())
            print("  ".join(words))
        if not given.no_csv:
            write_csv(f"collide_{name}", rows)


if __name__ == "__main__":
    main()
