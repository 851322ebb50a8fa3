"""How good scheme="auto" chooses: nanoseconds per contact and sweep of each scheme, and its pick.

S1 Table 3.1 weighs the schemes by counted multiplications; the pick here counts bytes, too, and
what a sweep costs besides. All schemes of a problem, a method and a precision run interleaved on
one thread. The goal: the pick is the fastest of `matrix` and `factorized`, or within 10 %.

Contacts are visited one by one: what the pick weighs. Vectors, where an order fills them, make
`factorized` faster, which the pick does not know; the last column shows what that would bring.

    python benchmarks/scheme_choice.py [--quick]
"""

import argparse

import numpy as np
from common import interleaved, write_csv

import contactsolve as cs

SCHEMES = ("matrix", "iteration_matrix", "factorized")
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


def problems(quick):
    yield "ball_grid 8^3", cs.scenarios.ball_grid(8)
    yield "disc_pyramid 60", cs.scenarios.disc_pyramid(60)
    yield "box_stack 200", cs.scenarios.box_stack(200)
    for rows, dof in ((3, 6), (2, 3), (1, 6)):
        for share in (1, 4) if quick else (0.5, 1, 2, 4, 8):
            name = f"random, {rows} rows, {share:g} contacts a body"
            yield name, random_contacts(4000, int(4000 / share), rows, dof)
    if quick:
        return
    yield "ball_pile 40^3", cs.scenarios.ball_pile((40, 40, 40))
    yield "ball_grid 24^3", cs.scenarios.ball_grid(24)
    yield "ball_grid 40^3", cs.scenarios.ball_grid(40)
    for share in (1, 2, 4):
        name = f"random, 3 rows, {share} contacts a body, 60,000"
        yield name, random_contacts(60000, 60000 // share, 3, 6)


def solver(problem, scheme, method, dtype, sweeps, instructions="scalar"):
    return cs.Solver(
        problem,
        method=method,
        scheme=scheme,
        dtype=dtype,
        threads=1,
        instructions=instructions,
        rtol=None,
        atol=None,
        max_iterations=sweeps,
        record=(),
        record_every=sweeps,
        check_every=sweeps,
    )


def row_of(name, problem, method, dtype, repeats):
    sweeps = max(3, 200_000 // problem.contacts)
    solvers = {scheme: solver(problem, scheme, method, dtype, sweeps) for scheme in SCHEMES}
    solvers["vectors"] = solver(problem, "factorized", method, dtype, sweeps, "auto")
    seconds = interleaved(
        {scheme: lambda one=one: one.solve().time for scheme, one in solvers.items()}, repeats
    )
    per = 1e9 / problem.contacts / sweeps
    cost = {scheme: float(np.median(values)) * per for scheme, values in seconds.items()}
    pick = solver(problem, "auto", method, dtype, sweeps).info["scheme"]
    best = min(cost["matrix"], cost["factorized"])
    return {
        "case": name,
        "blocks_a_contact": problem.block_count / problem.contacts,
        "method": method,
        "dtype": dtype,
        **{f"ns_{scheme}": value for scheme, value in cost.items()},
        "pick": pick,
        "over_the_best": cost[pick] / best,
        "over_vectors": cost[pick] / cost["vectors"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few problems, few repeats, no CSV")
    quick = parser.parse_args().quick
    rows = []
    for name, problem in problems(quick):
        for method in ("gauss_seidel", "jacobi"):
            for dtype in ("float64", "float32"):
                row = row_of(name, problem, method, dtype, 3 if quick else 7)
                rows.append(row)
                shown = (*SCHEMES, "vectors")
                costs = " ".join(f"{scheme} {row[f'ns_{scheme}']:5.1f}" for scheme in shown)
                print(
                    f"{name:42} {row['blocks_a_contact']:5.1f} blocks {method:12} {dtype}: {costs} "
                    f"ns, picked {row['pick']}, {row['over_the_best']:.2f} x the best",
                    flush=True,
                )
    near = sum(row["over_the_best"] <= GOAL for row in rows)
    worst = max(row["over_the_best"] for row in rows)
    print(f"{near} of {len(rows)} picks within 10 % of the best; the worst costs {worst:.2f} x it")
    if not quick:
        print(write_csv("scheme_choice", rows))


if __name__ == "__main__":
    main()
