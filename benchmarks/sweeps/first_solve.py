"""Nanoseconds per contact and sweep of the scalar kernels, beside the same loop in Numba.

Factorized Gauss-Seidel on ball grids with a fixed ground, one thread, both loops interleaved in one
run; then the cost of a call from Python with ten contacts and ten sweeps.

    python benchmarks/sweeps/first_solve.py
"""

import sys
from pathlib import Path

import numba
import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import interleaved, quartiles, write_csv

SIZES = (8, 24, 40)
CONTACT_SWEEPS = 2_000_000  # per timed run


@numba.njit
def numba_sweeps(G, b, r, mu, place, lam, u, sweeps):
    """S1 Fig. 3.6 with G = J L, as a researcher writes it."""
    z = np.zeros_like(lam[0])
    delta = np.zeros_like(lam[0])
    zero = lam.dtype.type(0)
    for _ in range(sweeps):
        for k in range(len(lam)):
            first, second = place[k, 0], place[k, 1]
            for i in range(3):
                xi = b[k, i]
                for c in range(6):
                    xi += G[k, 0, i, c] * u[first + c] + G[k, 1, i, c] * u[second + c]
                z[i] = lam[k, i] - r[k, i] * xi
            z[0] = max(z[0], zero)
            bound = mu[k] * z[0]
            length = np.sqrt(z[1] * z[1] + z[2] * z[2])
            if length > bound:
                z[1] *= bound / length
                z[2] *= bound / length
            for i in range(3):
                delta[i] = z[i] - lam[k, i]
                lam[k, i] = z[i]
            for c in range(6):
                for i in range(3):
                    u[first + c] += G[k, 0, i, c] * delta[i]
                    u[second + c] += G[k, 1, i, c] * delta[i]


def numba_arguments(problem, dtype):
    """G = J sqrt(Minv), local r-factors, and the fixed world as one spare body at the end."""
    root = np.vstack([np.sqrt(problem.Minv), np.zeros((1, 6))])
    G = problem.J * root[problem.bodies][:, :, None, :]
    diagonal = np.einsum("ksic,ksic->ki", G, G)
    diagonal[:, 1:] = diagonal[:, 1:].max(axis=1, keepdims=True)
    place = np.where(problem.bodies < 0, problem.bodies_count, problem.bodies) * 6
    arrays = [np.ascontiguousarray(a, dtype) for a in (G, problem.b, 1 / diagonal, problem.mu)]
    state = [np.zeros((problem.contacts, 3), dtype), np.zeros(6 * problem.bodies_count + 6, dtype)]
    return [*arrays, place, *state]


def grid_rows(size):
    problem = cs.scenarios.ball_grid(size)
    sweeps = max(10, CONTACT_SWEEPS // problem.contacts)
    tasks, solvers, states = {}, {}, {}
    for dtype in ("float64", "float32"):
        options = {"dtype": dtype, "rtol": None, "atol": None, "max_iterations": sweeps}
        options |= {"order": "natural"}  # as the loop in Numba goes
        quiet = {"record": (), "record_every": sweeps, "check_every": sweeps}
        solver = cs.Solver(
            problem, method="gauss_seidel", scheme="factorized", threads=1, **options, **quiet
        )
        arguments = numba_arguments(problem, np.dtype(dtype).type)

        def run_numba(arguments=arguments):
            for state in arguments[-2:]:
                state[:] = 0
            numba_sweeps(*arguments, sweeps)

        def run_ours(solver=solver, dtype=dtype):
            result = solver.solve()
            states[dtype] = result.impulses
            return result.sweep_time

        tasks[f"numba {dtype}"], tasks[f"contactsolve {dtype}"] = run_numba, run_ours
        solvers[dtype] = (solver, arguments)
    seconds = interleaved(tasks)
    for dtype, (solver, arguments) in solvers.items():
        difference = np.abs(states[dtype] - arguments[-2]).max() / np.abs(states[dtype]).max()
        assert difference < (1e-9 if dtype == "float64" else 1e-3), difference
        peer, ours = seconds[f"numba {dtype}"], seconds[f"contactsolve {dtype}"]
        per = 1e9 / problem.contacts / sweeps
        setup = solver.info["setup_seconds"] / (np.median(ours) / sweeps)
        yield {
            "what": "ns per contact and sweep",
            "case": f"ball_grid {size}^3",
            "dtype": dtype,
            **{f"ours_{k}": v * per for k, v in quartiles(ours).items()},
            **{f"numba_{k}": v * per for k, v in quartiles(peer).items()},
            "numba_over_ours": float(np.median(peer / ours)),
            "setup_in_sweeps": float(setup),
        }


def call_rows():
    """A Python call with ten contacts and ten sweeps, validation included."""
    stack = cs.scenarios.box_stack(3)
    arrays = {name: np.array(getattr(stack, name)) for name in ("J", "Minv", "b", "mu", "bodies")}
    arrays |= {name: arrays[name][:10] for name in ("J", "b", "mu", "bodies")}
    options = {"method": "gauss_seidel", "max_iterations": 10, "rtol": None, "atol": None}
    solver = cs.Solver(cs.Problem(**arrays), **options)
    given = [arrays.pop(name) for name in ("J", "Minv", "b", "mu")]
    tasks = {
        "Solver.solve()": lambda: solver.solve() and None,
        "Solver.solve(b=, mu=)": lambda: solver.solve(b=given[2], mu=given[3]) and None,
        "solve(J, Minv, b, mu)": lambda: cs.solve(*given, **arrays, **options) and None,
    }
    for name, seconds in interleaved(tasks, repeats=2000).items():
        figures = {f"ours_{k}": v * 1e6 for k, v in quartiles(seconds).items()}
        peer = dict.fromkeys(("numba_low", "numba_median", "numba_high"), "")
        yield {
            "what": "µs per call, 10 contacts, 10 sweeps",
            "case": name,
            "dtype": "float64",
            **figures,
            **peer,
            "numba_over_ours": "",
            "setup_in_sweeps": "",
        }


def main():
    rows = []
    for size in SIZES:
        for row in grid_rows(size):
            rows.append(row)
            print(
                f"{row['case']:16} {row['dtype']:8} ours {row['ours_median']:5.1f} ns, "
                f"Numba {row['numba_median']:5.1f} ns, ratio {row['numba_over_ours']:.2f}, "
                f"set-up {row['setup_in_sweeps']:.0f} sweeps"
            )
    for row in call_rows():
        rows.append(row)
        print(f"{row['case']:24} {row['ours_median']:6.1f} µs")
    print(write_csv("first_solve", rows))


if __name__ == "__main__":
    main()
