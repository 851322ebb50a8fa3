"""Performance profiles over the problem set: `auto`, Siconos and the Numba loop.

    python benchmarks/problem_set/profiles.py FOLDER [--seconds 1] [--solvers ...]

Each solver gets so many seconds of processor time of one thread for each problem of the folder
that problem_set.py has written, until the FCLIB error of its impulses is at most 1e-6. The error is
judged from outside, on the problem of the file. Time for setting up counts for the methods of this
library, and not for others: forming W, eliminating bilateral constraints, which Siconos and the
loop do not take, and their own preparations. Siconos solves problems of the plane with a second
tangent that nothing moves. Solvers that are not installed are left out, and named; stored rows of
other solvers stay.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import contactsolve as cs
from contactsolve.data._problem_set import read_index

sys.path.insert(0, str(Path(__file__).parents[1] / "convergence"))
sys.path.insert(0, str(Path(__file__).parents[1]))
import peers
from common import kept, write_csv

peers.clock = time.thread_time
TARGET = 1e-6
NAME = "problem_set"
WALL = 4  # times the budget, by the wall clock, that a solve of this library may take: others run
OWN = ("auto", "interior_point", "newton", "admm", "nesterov", "gauss_seidel")
PEERS = {
    "Numba loop": ("Numba PGS", peers.numba_pgs),
    "Siconos NSGS": ("Siconos NSGS", peers.siconos_nsgs),
    "Siconos Newton": ("Siconos Newton", peers.siconos_newton),
}


# ---- problems as others take them ----------------------------------------------------------------


class Reduced:
    """A problem of contacts alone: bilateral constraints are eliminated from A.

    With A in blocks of contacts c and constraints e, W = A_cc - A_ce A_ee^+ A_ec and
    q = b_c - A_ce A_ee^+ b_e; the impulses of constraints are -A_ee^+ (A_ec r + b_e).
    """

    def __init__(self, problem, rows=None):
        self.whole = problem
        if not problem.grouped:
            self.local, self.mu = np.asarray(problem.delassus().toarray()), problem.mu
            self.q, self.inner = np.ravel(problem.b), None
        else:
            A = problem.delassus().toarray()
            b = np.concatenate([np.ravel(part) for part in problem.b])
            size = problem.b[0].size  # contacts are the first group of a file's problem
            inner = np.linalg.pinv(A[size:, size:], rcond=1e-12, hermitian=True)
            across = A[:size, size:] @ inner
            self.local = A[:size, :size] - across @ A[size:, :size]
            self.q = b[:size] - across @ b[size:]
            self.mu = problem.mu[0]
            self.inner, self.back, self.b = inner, A[size:, :size], b[size:]
            self.local = (self.local + self.local.T) / 2
        self.own_rows = problem.rows[0] if problem.grouped else problem.rows
        self.rows = rows or self.own_rows
        if self.rows != self.own_rows:
            self._widen()
        scale = np.abs(self.local).max(initial=0.0)
        self.local[np.abs(self.local) <= 1e-15 * scale] = 0.0

    def _widen(self):
        """Give contacts of the plane a second tangent, which nothing moves."""
        contacts = len(self.q) // self.own_rows
        at = (np.arange(contacts)[:, None] * self.rows + np.arange(self.own_rows)).ravel()
        wide = np.eye(contacts * self.rows) * np.diag(self.local).mean()
        wide[np.ix_(at, at)] = self.local
        q = np.zeros(contacts * self.rows)
        q[at] = self.q
        self.local, self.q = wide, q

    def problem(self):
        from scipy import sparse

        return cs.Problem.from_delassus(
            sparse.csr_array(self.local), self.q, self.mu, rows=self.rows
        )

    def impulses(self, found):
        """Impulses of the whole problem from those of the reduced one."""
        r = np.reshape(found, (-1, self.rows))[:, : self.own_rows]
        if self.inner is None:
            return r
        rest = -self.inner @ (self.back @ r.ravel() + self.b)
        sizes = np.cumsum([0, *(part.size for part in self.whole.b[1:])])
        parts = [
            rest[first:last].reshape(part.shape)
            for first, last, part in zip(sizes, sizes[1:], self.whole.b[1:], strict=False)
        ]
        return [r, *parts]


class Judge:
    """The FCLIB error of impulses, from outside of any method."""

    def __init__(self, problem):
        self.solver = cs.Solver(
            problem, method="gauss_seidel", max_iterations=0, record=("fclib_error",)
        )

    def __call__(self, impulses):
        return float(self.solver.solve(initial=impulses).history["fclib_error"][-1])


# ---- attempts ------------------------------------------------------------------------------------


def own(problem, method, seconds, judge):
    """One row of a method of this library."""
    try:
        solver = cs.Solver(
            problem, method=method, stop="fclib_error", atol=TARGET, rtol=None, record=(),
            max_seconds=WALL * seconds, max_iterations=10**8, threads=1, islands=False,
        )  # fmt: skip
    except ValueError as error:
        return {"outcome": f"refused: {error}"}
    start = time.thread_time()
    result = solver.solve()
    spent = time.thread_time() - start + result.info["setup_seconds"]
    return {
        "outcome": result.status, "seconds": spent, "iterations": result.iterations,
        "error": judge(result.impulses),
        "links": " ".join(f"{one['method']}:{one['iterations']}"
                          for one in result.info.get("links", ())[:8]),
    }  # fmt: skip


def other(problem, way, seconds, judge, rows):
    """One row of another solver, until it is right or its seconds are spent."""
    reduced = Reduced(problem, rows)
    found = {"outcome": "budget", "seconds": seconds, "error": np.inf}
    for spent, impulses in way(reduced.problem(), seconds):
        error = judge(reduced.impulses(impulses))
        found |= {"seconds": spent, "error": min(error, found["error"])}
        if error <= TARGET:
            return found | {"outcome": "converged"}
    return found


def attempt(entry, problem, judge, solver, seconds):
    """The row of a solver and a problem."""
    if solver in OWN:
        found = own(problem, solver, seconds, judge)
    else:
        rows = 3 if solver.startswith("Siconos") else None
        try:
            found = other(problem, PEERS[solver][1], seconds, judge, rows)
        except (ValueError, np.linalg.LinAlgError) as error:
            found = {"outcome": f"failed: {error}"}
    solved = found.get("error", np.inf) <= 1.01 * TARGET and found["seconds"] <= seconds
    return {
        "problem": entry.name, "solver": solver, "contacts": entry.contacts,
        "constraints": entry.constraints, "sweeps": "" if entry.sweeps is None else entry.sweeps,
        "outcome": found["outcome"], "solved": solved, "seconds": found.get("seconds", ""),
        "iterations": found.get("iterations", ""), "error": found.get("error", ""),
        "links": found.get("links", ""), "budget": seconds,
    }  # fmt: skip


def solvers_there(wanted):
    """The solvers asked for that are installed; the others are named."""
    there = [one for one in wanted if one in OWN or peers.is_there(PEERS[one][0])]
    if missing := [one for one in wanted if one not in there]:
        print(f"not installed, and left out: {', '.join(missing)}")
    return there


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=1.0, help="per solver and problem")
    parser.add_argument("--solvers", nargs="*", default=[*OWN, *PEERS], choices=[*OWN, *PEERS])
    parser.add_argument("--names", nargs="*", default=[""], help="beginnings of names")
    parser.add_argument("--name", default=NAME, help="of the CSV file")
    chosen = parser.parse_args(arguments)

    # The loop is compiled before it is timed.
    there, rows = solvers_there(chosen.solvers), []
    entries = [e for e in read_index(chosen.folder) if e.name.startswith(tuple(chosen.names))]
    if "Numba loop" in there:
        next(iter(peers.numba_pgs(cs.Problem.from_delassus(np.eye(3), [-1.0, 0, 0], 0.5), 1.0)))
    for entry in entries:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem = entry.load()
        judge = Judge(problem)
        for solver in there:
            rows.append(attempt(entry, problem, judge, solver, chosen.seconds))
        told = [f"{row['solver']} {told_of(row)}" for row in rows[-len(there) :]]
        print(f"{entry.name}: {', '.join(told)}", flush=True)
    old = kept(chosen.name, rows, ("problem", "solver"))
    print(write_csv(chosen.name, [*old, *rows]))


def told_of(row):
    return f"{1e3 * row['seconds']:.3g} ms" if row["solved"] else "–"


if __name__ == "__main__":
    main()
