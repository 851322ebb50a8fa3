"""Islands solved by themselves against all contacts swept as one.

Scenes: a thousand stacks of two to five boxes, which share nothing but the ground, to a scaled
natural map of 1e-6 with Gauss-Seidel and Jacobi; and S1's small ball pile, which falls into parts
while it falls, to 1e-4. `ms` is the time of the solve, `setup_ms` the least time of making the
solver.

    python benchmarks/islands.py
"""

import time

import numpy as np
from common import interleaved, quartiles, write_csv

import contactsolve as cs

STACKS, LEAST, MOST = 1000, 2, 5


def stacks():
    """Boxes on boxes, each stack from two to five high in turn, as one problem."""
    parts = [cs.scenarios.box_stack(LEAST + k % (MOST - LEAST + 1)) for k in range(STACKS)]
    bodies, first = [], 0
    for part in parts:
        bodies.append(np.where(part.bodies >= 0, part.bodies + first, -1))
        first += len(part.Minv)
    return cs.Problem(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("J", "Minv", "b")),
        parts[0].mu[0],
        bodies=np.concatenate(bodies),
    )


def pile():
    return cs.scenarios.ball_pile(10, ground="body", velocity=0.5)


SCENES = {"stacks": (stacks, 1e-6), "small ball pile": (pile, 1e-4)}


def ways(problem, rtol):
    """Solvers by method, islands and threads, and how long each takes to make."""
    found, setup = {}, {}
    for method in ("gauss_seidel", "jacobi"):
        for islands in ("auto", False):
            for threads in (1, 2):
                way = method, islands, threads
                setup[way] = np.inf
                for _ in range(5):
                    begin = time.perf_counter()
                    found[way] = cs.Solver(
                        problem, method=method, islands=islands, threads=threads, rtol=rtol,
                        max_iterations=20000, record=(),
                    )  # fmt: skip
                    setup[way] = min(setup[way], 1e3 * (time.perf_counter() - begin))
    return found, setup


def rows_of(name):
    make, rtol = SCENES[name]
    problem = make()
    solvers, setup = ways(problem, rtol)
    answers = {}

    def task(way):
        answers[way] = solvers[way].solve()
        return answers[way].time

    tasks = {way: lambda way=way: task(way) for way in solvers}
    for (method, islands, threads), seconds in interleaved(tasks, repeats=5).items():
        answer = answers[method, islands, threads]
        yield {
            "scene": name,
            "contacts": problem.contacts,
            "islands": answer.info.get("islands", 1),
            "method": method,
            "apart": int(islands == "auto"),
            "threads": threads,
            **{f"ms_{key}": 1e3 * value for key, value in quartiles(seconds).items()},
            "setup_ms": setup[method, islands, threads],
            "iterations": answer.iterations,
            "converged": int(answer.converged),
            "natural_map_scaled": answer.natural_map_scaled,
        }


def main():
    rows = []
    for name in SCENES:
        for row in rows_of(name):
            rows.append(row)
            print(
                f"{name:16} {row['method']:13} {'apart' if row['apart'] else 'as one':7} "
                f"{row['threads']} threads {row['ms_median']:9.3f} ms, set-up "
                f"{row['setup_ms']:7.2f} ms, {row['iterations']:5} iterations"
            )
    print(write_csv("islands", rows))


if __name__ == "__main__":
    main()
