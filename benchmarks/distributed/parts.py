"""How many sweeps a solve takes to 1e-3 and to 1e-6, by the number of parts and their border.

distributed_parts.csv  a row for each scene, method, border and number of parts
                       weight: of the changes of concurrent parts

Measured on one process, which has the bits of any number of ranks. Gauss-Seidel and Nesterov's
method in the interiors of the parts and then on the border; the same in the order "colored", which
has no parts; and Jacobi's method, whose bits do not depend on parts. Concurrent borders come as
they are and with two remedies: with a weight of 1/n, where no body is visited by more than n parts,
and with each body's mass split over the parts that visit it. Tolerances are those of the scaled
natural map, which is looked at every five sweeps. Counts do not depend on what else runs on the
machine. With `--borders`, rows of other borders remain as they were.

    python benchmarks/distributed/parts.py [scenes] [--parts 1,8,512] [--borders ...] [--quick]
"""

import sys
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import kept, on_a_line, write_csv
from goals import told
from scenes import (
    BORDERS,
    REMEDIES,
    SCENES,
    border_share,
    chosen,
    labels_of,
    order_of,
    parts_at_a_body,
    remedy_of,
)

TOLERANCES = (1e-3, 1e-6)
MOST, EVERY = 10_000, 5  # sweeps; between two looks
METHODS = ("gauss_seidel", "nesterov")
ANY = "any"  # border and parts of what does not depend on them
GOAL = 1.1  # sweeps at the most parts over those in colours
ALL = BORDERS + REMEDIES


def crossing(history, tolerance):
    """Return the first recorded iteration at which the error is below the tolerance, or None."""
    below = np.flatnonzero(history["natural_map_scaled"] <= tolerance)
    return int(history["iteration"][below[0]]) if len(below) else None


def solved(problem, method, order, most):
    """Return sweeps to each tolerance, and how the solve ended."""
    result = cs.solve(
        problem,
        method=method,
        order=order,
        scheme="factorized",
        islands=False,
        threads=1,
        rtol=min(TOLERANCES),
        atol=0.0,
        max_iterations=most,
        check_every=EVERY,
        record=("natural_map_scaled",),
        record_every=EVERY,
    )
    counts = {f"to_{tolerance:g}": crossing(result.history, tolerance) for tolerance in TOLERANCES}
    least = float(np.nanmin(result.history["natural_map_scaled"]))
    ended = {"status": result.status, "iterations": result.iterations, "least": least}
    return {**counts, **ended, "stages": result.info["stages"]}


def border_of(problem, labels, border):
    """Return the order with a border, and the weight of its changes; "" where it has none."""
    if border not in REMEDIES:
        return order_of(labels, border), ""
    most = parts_at_a_body(problem, labels)
    return remedy_of(labels, border, most), 1 / most if border == REMEDIES[0] else ""


def rows_without_parts(scene, problem, most):
    """Yield the rows of Jacobi's method and of colours."""
    whole = {"border": ANY, "parts": ANY, "labels": "", "on_border": "", "weight": ""}
    yield {**scene, "method": "jacobi", **whole, **solved(problem, "jacobi", "natural", most)}
    for method in METHODS:
        colors = {**scene, "method": method, **whole, "border": "no parts, colored"}
        yield {**colors, **solved(problem, method, "colored", most)}


def rows_of(name, problem, parts, borders, most):
    """Yield the rows of a scene; those without a border only if all borders are measured."""
    scene = {"scene": name, "contacts": problem.contacts, "bodies": problem.bodies_count}
    every = set(borders) == set(ALL)
    if every:
        yield from rows_without_parts(scene, problem, most)
    for number in parts:
        if number > problem.bodies_count:
            continue
        labels, strategy = labels_of(problem, number)
        share = border_share(problem, labels)
        for method in METHODS:
            for border in borders if number > 1 else (ANY,) if every else ():
                order, weight = border_of(problem, labels, BORDERS[0] if border == ANY else border)
                own = {"border": border, "parts": number, "labels": strategy, "on_border": share}
                own["weight"] = weight
                found = solved(problem, method, order, most)
                yield {**scene, "method": method, **own, **found}


def judged(rows):
    """Yield sentences on the goal: exact borders at the most parts over colours, to 1e-3.

    Rows are as measured or as read from the CSV.
    """
    for scene in dict.fromkeys(row["scene"] for row in rows):
        own = [row for row in rows if row["scene"] == scene and row["method"] == "gauss_seidel"]
        colors = next(row["to_0.001"] for row in own if row["border"] == "no parts, colored")
        most = max(int(row["parts"]) for row in own if row["parts"] != ANY)
        for border in BORDERS[:2]:
            cell = next(
                row["to_0.001"]
                for row in own
                if row["border"] in (border, ANY) and str(row["parts"]) == str(most)
            )
            name = f"{scene}, {border}, {most} parts: sweeps to 1e-3 over those in colours"
            if colors and cell:
                yield told(name, int(cell) / int(colors), GOAL, less=True)
            else:
                yield f"{name}: not solved"


def main(argv=None):
    given, scenes, parts = chosen(__doc__, SCENES, "parts", (1, 4), argv, ALL)
    rows = []
    for name, make in scenes.items():
        most = 200 if given.quick else MOST
        for row in rows_of(name, make(), parts, given.borders, most):
            print(on_a_line(row), flush=True)
            rows.append(row)
    for sentence in judged(rows) if set(given.borders) == set(ALL) else ():
        print(sentence)
    if not given.quick:
        keys = ("scene", "method", "border", "parts")
        order = list(SCENES)
        every = kept("distributed_parts", rows, keys, given.results) + rows
        every.sort(key=lambda row: order.index(row["scene"]))
        print(write_csv("distributed_parts", every, given.results))
    return rows


if __name__ == "__main__":
    main()
