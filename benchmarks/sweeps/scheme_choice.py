"""How good scheme="auto" chooses: nanoseconds per contact and sweep of each scheme, and its pick.

S1 Table 3.1 weighs the schemes by counted multiplications; the pick here weighs what will run: rows
of A in vectors, contacts in batches of lanes as far as the order fills them, compressed or not, or
all of it one after another (`instructions="scalar"`, rows of their own), and the bytes that do not
stay in cache. In some scenes few of the bodies are in contact. All schemes of a problem, a method,
an order and a precision run interleaved on one thread, the least time of each counts. The goal:
nine picks of ten are the faster of `matrix` and `factorized`, or within 10 % of it.

    python benchmarks/sweeps/scheme_choice.py [--quick] [words of the cases to measure anew, of all
                                              others the rows measured before are kept]
"""

import argparse
import sys
from functools import partial
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import interleaved, stored, sweeping, write_csv

SCHEMES = ("matrix", "factorized")
INSTRUCTIONS = ("auto", "scalar")
SWEEPS = (("gauss_seidel", "natural"), ("gauss_seidel", "colored"), ("jacobi", "natural"))
GOAL = 1.1


def random_contacts(contacts, bodies, rows, dof):
    """Contacts between random bodies: no order in memory, prox branches that nobody predicts."""
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, bodies, (contacts, 2))
    pairs[:, 1] = np.where(pairs[:, 0] == pairs[:, 1], (pairs[:, 1] + 1) % bodies, pairs[:, 1])
    return cs.Problem(
        rng.normal(size=(contacts, 2, rows, dof)),
        np.ones((bodies, dof)),
        rng.normal(size=(contacts, rows)),
        0.5 if rows in (2, 3) else None,
        bodies=pairs,
    )


def among(make, times):
    """A scene whose bodies stand among others, `times` as many in all, that touch nothing."""
    scene = make()
    Minv = np.repeat(scene.Minv, times, axis=0)
    bodies = np.where(scene.bodies < 0, -1, times * scene.bodies)
    return cs.Problem(scene.J, Minv, scene.b, scene.mu, bodies=bodies)


def sparse_scenes(quick):
    """Scenes, few of whose bodies are in contact."""
    scenarios = cs.scenarios
    yield "ball_grid 4^3", lambda: scenarios.ball_grid(4)
    yield "ball_grid 8^3", lambda: scenarios.ball_grid(8)
    if quick:
        return
    yield "disc_pyramid 60", lambda: scenarios.disc_pyramid(60)
    for rows, dof in ((3, 6), (2, 3), (1, 6)):
        name = f"random, {rows} rows, 2 contacts a body"
        yield name, partial(random_contacts, 4000, 2000, rows, dof)


def problems(quick):
    """Names of cases, and what makes their problems."""
    scenarios = cs.scenarios
    yield "ball_grid 8^3", lambda: scenarios.ball_grid(8)
    yield "disc_pyramid 60", lambda: scenarios.disc_pyramid(60)
    yield "box_stack 200", lambda: scenarios.box_stack(200)
    for rows, dof in ((3, 6), (2, 3), (1, 6)):
        for share in (1, 4) if quick else (0.5, 1, 2, 4, 8):
            name = f"random, {rows} rows, {share:g} contacts a body"
            yield name, partial(random_contacts, 4000, int(4000 / share), rows, dof)
    for name, make in sparse_scenes(quick):
        for times in (4, 32):
            yield f"{name}, 1 of {times} bodies in contact", partial(among, make, times)
    if quick:
        return
    yield "ball_pile 40^3", lambda: scenarios.ball_pile((40, 40, 40))
    yield "ball_grid 24^3", lambda: scenarios.ball_grid(24)
    yield "ball_grid 40^3", lambda: scenarios.ball_grid(40)
    for share in (1, 2, 4):
        name = f"random, 3 rows, {share} contacts a body, 60,000"
        yield name, partial(random_contacts, 60000, 60000 // share, 3, 6)


def row_of(name, problem, method, order, dtype, instructions, repeats):
    sweeps = max(3, 100_000 // problem.contacts)
    own = {"method": method, "order": order, "dtype": dtype, "instructions": instructions}
    solvers = {scheme: sweeping(problem, sweeps, scheme=scheme, **own) for scheme in SCHEMES}
    seconds = interleaved(
        {scheme: lambda one=one: one.solve().sweep_time for scheme, one in solvers.items()}, repeats
    )
    per = 1e9 / problem.contacts / sweeps
    cost = {scheme: float(values.min()) * per for scheme, values in seconds.items()}
    pick = sweeping(problem, sweeps, scheme="auto", **own).info["scheme"]
    return {
        "case": name,
        "blocks_a_contact": problem.block_count / problem.contacts,
        "method": method,
        "order": order,
        "dtype": dtype,
        "instructions": instructions,
        "kernel": solvers["factorized"].info["kernel"],
        **{f"ns_{scheme}": value for scheme, value in cost.items()},
        "pick": pick,
        "over_the_best": cost[pick] / min(cost.values()),
    }


def measure(name, problem, repeats):
    for method, order in SWEEPS:
        for dtype in ("float64", "float32"):
            for instructions in INSTRUCTIONS:
                row = row_of(name, problem, method, order, dtype, instructions, repeats)
                costs = " ".join(f"{scheme} {row[f'ns_{scheme}']:5.1f}" for scheme in SCHEMES)
                print(
                    f"{name:42} {row['blocks_a_contact']:5.1f} blocks {method:12} {order:7} "
                    f"{dtype} {instructions:6}: {costs} ns ({row['kernel']}), picked "
                    f"{row['pick']}, {row['over_the_best']:.2f} x the best",
                    flush=True,
                )
                yield row


def measured_before():
    """Rows of the CSV of this machine."""
    rows = stored("scheme_choice")
    return [row | {"over_the_best": float(row["over_the_best"])} for row in rows]


def summary(rows):
    for instructions in INSTRUCTIONS:
        over = [row["over_the_best"] for row in rows if row["instructions"] == instructions]
        if over:
            near = sum(value <= GOAL for value in over)
            print(
                f"instructions={instructions}: {near} of {len(over)} picks within 10 % of the best "
                f"({near / len(over):.0%}); the worst costs {max(over):.2f} x it"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few problems, few repeats, no CSV")
    parser.add_argument("words", nargs="*", help="of the names of cases to measure anew")
    options = parser.parse_args()
    rows, kept = [], measured_before() if options.words else []
    for name, make in problems(options.quick):
        before = [row for row in kept if row["case"] == name]
        if options.words and not any(word in name for word in options.words):
            rows += before
        else:
            rows += measure(name, make(), 3 if options.quick else 7)
    summary(rows)
    if not options.quick:
        print(write_csv("scheme_choice", rows))


if __name__ == "__main__":
    main()
