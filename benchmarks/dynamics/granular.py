"""Grains that flow: the rate of hoppers, and the runout of columns that collapse.

hopper   grains that leave in a second, by the width D of the orifice, and by the height of the
         filling; the exponent n and k of Q = C (D - k d)^n, fitted together. Beverloo et al. 1961:
         n is 5/2, in the plane 3/2, and the height does not matter. Writes granular_hopper.csv
columns  runout of columns of discs over half their width, by their aspect ratio a; exponents of a
         below and above 2. Staron & Hinch 2005: 1 and 0.6 to 0.8. Writes granular_columns.csv

python benchmarks/dynamics/granular.py [--only hopper] [--dimension 2] [--seeds 3]
"""

import argparse
import itertools
import sys
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from contactsolve.dynamics import scenes

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import write_csv

RADIUS = 0.05
DIAMETER = 2 * RADIUS
# Of hoppers, by dimension: widths of orifices and of the container in diameters, heights of the
# filling in widths, the number of grains after which the flow is steady, and that of the last one.
ORIFICES = {2: (7, 8, 9, 10.5, 12, 13.5), 3: (4, 4.8, 5.6, 6.4)}
WIDTH = {2: 33, 3: 16}
HEIGHTS = {2: (1.2, 2.0), 3: (1.2,)}
STEADY, LAST = 100, 500
ASPECTS = (0.3, 0.5, 0.8, 1.3, 2.0, 3.2, 5.0, 8.0, 12.0, 18.0)
GRAINS = 1000  # of a column
ONE_THREAD = {"threads": 1}  # the scenes are small


# ---- hopper --------------------------------------------------------------------------------------


def flow(dimension, orifice, height, seed):
    """Return the grains that leave in a second, once the flow is steady."""
    across = WIDTH[dimension]
    count = round(height * across**dimension * 0.95)
    world = scenes.hopper(
        count,
        dimension=dimension,
        orifice=orifice * DIAMETER,
        width=across * DIAMETER,
        radius=RADIUS,
        clearance=None,
        rng=seed,
        **ONE_THREAD,
    )
    times, left = [], []

    def watch(world):
        times.append(world.time)
        left.append(scenes.discharged(world))
        if left[-1] >= LAST:
            raise StopIteration

    world.run(30_000, callback=watch)
    if left[-1] < LAST:
        raise RuntimeError(f"the orifice of {orifice} diameters is blocked: {left[-1]} left")
    steady = np.array(left) >= STEADY
    rate = np.polyfit(np.array(times)[steady], np.array(left)[steady], 1)[0]
    return {"grains": count, "seconds": times[-1], "rate": rate}


def measure_hopper(dimension, seeds):
    for height, orifice, seed in itertools.product(
        HEIGHTS[dimension], ORIFICES[dimension], range(seeds)
    ):
        row = {"dimension": dimension, "orifice": orifice, "height": height, "seed": seed}
        yield row | flow(dimension, orifice, height, seed)


def beverloo(rows):
    """Return n and k of Q = C (D - k d)^n, D in diameters, and C of each height over the first."""
    orifice = np.array([row["orifice"] for row in rows], dtype=float)
    rate = np.log([row["rate"] for row in rows])
    heights = sorted({row["height"] for row in rows})
    of_height = np.array([heights.index(row["height"]) for row in rows])

    def misfit(unknown):
        n, k, *c = unknown
        return np.array(c)[of_height] + n * np.log(orifice - k) - rate

    free = [np.inf] * len(heights)
    bounds = ([0, 0, *(-one for one in free)], [5, 3.5, *free])
    n, k, *c = least_squares(misfit, [2.0, 1.4, *np.zeros(len(heights))], bounds=bounds).x
    return n, k, np.exp(np.array(c) - c[0])


# ---- columns -------------------------------------------------------------------------------------


def front(world):
    """Return half the width of the grains that are connected by contacts, strays left out."""
    pairs = world.contacts.bodies
    pairs = pairs[(pairs >= 0).all(axis=1)]
    graph = coo_array((np.ones(len(pairs)), pairs.T), shape=(world.bodies, world.bodies))
    label = connected_components(graph, directed=False)[1]
    x = world.positions[label == np.argmax(np.bincount(label)), 0]
    return (x.max() - x.min()) / 2 + RADIUS


def collapse(aspect, seed):
    """Return aspect ratio and runout of a column."""
    world = scenes.column_collapse(GRAINS, aspect=aspect, radius=RADIUS, rng=seed, **ONE_THREAD)
    half = np.ptp(world.positions[:, 0]) / 2 + RADIUS
    # Grains lie on fixed ones of that radius, at height 0; the mean height is half the column's.
    height = 2 * (np.average(world.positions[:, 1], weights=world.masses) - RADIUS)
    rest = 1e-3 * world.masses.sum() * 9.81 * RADIUS
    fall = np.sqrt(2 * height / 9.81)
    while world.time < 10 * fall:
        world.run(500)
        if world.energy()[0] < rest:
            break
    return {
        "aspect": height / half,
        "runout": front(world) / half - 1,
        "deposit": world.positions[:, 1].max() / half,
        "falls": world.time / fall,
        "kinetic": world.energy()[0] / (1e3 * rest),
    }


def measure_columns(seeds):
    for aspect, seed in itertools.product(ASPECTS, range(seeds)):
        yield {"grains": GRAINS, "seed": seed} | collapse(aspect, seed)


def exponent(rows, low, high):
    """Return the exponent of the runout where the aspect ratio is in a range."""
    aspect, runout = (np.array([row[name] for row in rows]) for name in ("aspect", "runout"))
    chosen = (low <= aspect) & (aspect <= high)
    return np.polyfit(np.log(aspect[chosen]), np.log(runout[chosen]), 1)[0]


# ---- command -------------------------------------------------------------------------------------


def shown(rows):
    """Print rows as they come, and return them."""
    kept = []
    for row in rows:
        words = (f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items())
        print("  ".join(words), flush=True)
        kept.append(row)
    return kept


def tell_hopper(rows):
    for dimension in sorted({row["dimension"] for row in rows}):
        own = [row for row in rows if row["dimension"] == dimension]
        for height in sorted({row["height"] for row in own}):
            n, k, _ = beverloo([row for row in own if row["height"] == height])
            print(f"dimension {dimension}, height {height}: exponent {n:.3f}, k {k:.3f}")
        n, k, c = beverloo(own)
        print(f"dimension {dimension}, all: exponent {n:.3f}, k {k:.3f}, C by height {c.round(3)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["hopper", "columns"])
    parser.add_argument("--dimension", type=int, choices=[2, 3], help="of the hoppers")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--no-csv", action="store_true", help="print only")
    given = parser.parse_args()
    if given.only in (None, "hopper"):
        chosen = (2, 3) if given.dimension is None else (given.dimension,)
        rows = shown(itertools.chain(*(measure_hopper(one, given.seeds) for one in chosen)))
        tell_hopper(rows)
        if not given.no_csv:
            write_csv("granular_hopper", rows)
    if given.only in (None, "columns"):
        rows = shown(measure_columns(given.seeds))
        print(f"exponent below 1.5: {exponent(rows, 0.0, 1.5):.3f}")
        print(f"exponent from 2.5 on: {exponent(rows, 2.5, np.inf):.3f}")
        if not given.no_csv:
            write_csv("granular_columns", rows)


if __name__ == "__main__":
    main()
