"""Other solvers of contact problems for `convergence.py`; each is left out where it is not there.

A way takes a problem and a budget of seconds, and yields (seconds so far, impulses) as it gets on.
Time for setting up and for being judged is not counted.

- Numba PGS: what a researcher writes, Gauss-Seidel over blocks of A.
- Clarabel: friction as a cone, De Saxcé's shift of the normal velocity renewed between solves.
- pinocchio (PyPI package ``pin``): its Gauss-Seidel over a dense A, going on from its own impulses
  whatever it says of them, and its ADMM with a sparse A and the spectral rule for its penalty, run
  anew for each of several tolerances.
- Siconos: NSGS with its local Newton solver, and the global nonsmooth Newton method, run anew for
  each of several tolerances; in this Python, in that of the system, which is where Debian's package
  is (with SciPy), or in the one that SICONOS_PYTHON names.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

import numpy as np

import contactsolve as cs

Way = Iterator[tuple[float, np.ndarray]]

# What seconds are read from; on a machine that is busy with other work, `time.thread_time`.
clock: Callable[[], float] = time.perf_counter


def matrix_of(problem: cs.Problem):
    """Return A, sparse."""
    from scipy import sparse

    return sparse.csr_matrix(problem.delassus())


def friction_of(problem: cs.Problem) -> np.ndarray:
    return np.broadcast_to(np.asarray(problem.mu, float), problem.contacts).copy()


# ---- Numba ---------------------------------------------------------------------------------------


@cache
def _numba_sweeps() -> Callable:
    import numba

    @numba.njit(cache=True, fastmath=True)
    def sweeps(count, start, column, block, r, q, mu, x):
        rows = q.shape[1]
        v = np.empty(rows)
        for _ in range(count):
            for k in range(len(q)):
                for i in range(rows):
                    v[i] = q[k, i]
                for e in range(start[k], start[k + 1]):
                    j = column[e]
                    for i in range(rows):
                        for c in range(rows):
                            v[i] += block[e, i, c] * x[j, c]
                x[k, 0] = max(0.0, x[k, 0] - r[k, 0] * v[0])
                reach, square = mu[k] * x[k, 0], 0.0
                for i in range(1, rows):
                    x[k, i] -= r[k, 1] * v[i]
                    square += x[k, i] ** 2
                length = np.sqrt(square)
                if length > reach:
                    for i in range(1, rows):
                        x[k, i] *= reach / length

    return sweeps


def numba_pgs(problem: cs.Problem, budget: float) -> Way:
    """Gauss-Seidel with R = 1 / max diag(A_ss)."""
    rows, count = problem.b.shape[1], 20
    A = matrix_of(problem).tobsr((rows, rows))
    A.sort_indices()
    diagonal = matrix_of(problem).diagonal().reshape(-1, rows)
    r = 1 / np.column_stack([diagonal[:, 0], diagonal[:, 1:].max(1)])
    x, mu = np.zeros_like(problem.b), friction_of(problem)
    run = _numba_sweeps()
    run(0, A.indptr, A.indices, A.data, r, problem.b, mu, x)
    seconds = 0.0
    while seconds < budget:
        start = clock()
        run(count, A.indptr, A.indices, A.data, r, problem.b, mu, x)
        seconds += clock() - start
        yield seconds, x
        count = max(20, count + count // 10)


# ---- Clarabel ------------------------------------------------------------------------------------


def clarabel_fixed_point(problem: cs.Problem, budget: float) -> Way:
    """De Saxcé's fixed point: min 1/2 l.A l + (b + s).l over the cones, s = mu |v_t|."""
    import clarabel
    from scipy import sparse

    A = matrix_of(problem)
    A = sparse.triu((A + A.T) / 2).tocsc()
    whole = matrix_of(problem)
    rows, contacts, mu = problem.b.shape[1], problem.contacts, friction_of(problem)
    scale = np.ones((contacts, rows))
    scale[:, 0] = mu  # |l_t| <= mu l_n
    G = sparse.diags(-scale.ravel()).tocsc()
    cones = [clarabel.SecondOrderConeT(rows)] * contacts
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    shift, seconds = np.zeros(contacts), 0.0
    while seconds < budget:
        q = problem.b.copy()
        q[:, 0] += shift
        start = clock()
        settings.time_limit = max(budget - seconds, 1e-3)
        answer = clarabel.DefaultSolver(A, q.ravel(), G, np.zeros(G.shape[0]), cones, settings)
        x = np.array(answer.solve().x)
        seconds += clock() - start
        velocity = (whole @ x).reshape(-1, rows) + problem.b
        shift = mu * np.linalg.norm(velocity[:, 1:], axis=1)
        yield seconds, x.reshape(-1, rows)


# ---- pinocchio -----------------------------------------------------------------------------------


class Pinocchio:
    """A problem as pinocchio's solvers take it: tangents first, and a model of no bodies."""

    def __init__(self, problem: cs.Problem) -> None:
        import pinocchio

        order = np.arange(problem.b.size).reshape(-1, 3)[:, [1, 2, 0]].ravel()
        self.back = np.argsort(order)
        A = matrix_of(problem)[order][:, order]
        self.A = (A + A.T) / 2
        self.g = problem.b.ravel()[order]
        self.model = pinocchio.Model()
        state = self.model.createData()
        self.models = pinocchio.StdVec_ConstraintModel()
        self.datas = pinocchio.StdVec_ConstraintData()
        for mu in friction_of(problem):
            contact = pinocchio.PointContactConstraintModel(self.model, 0)
            contact.setFriction(float(mu))
            self.models.append(pinocchio.ConstraintModel(contact))
            self.datas.append(self.models[-1].createData())
            self.models[-1].calc(self.model, state, self.datas[-1])

    def impulses(self, result: object) -> np.ndarray:
        return result.retrieveConstraintImpulses()[self.back].reshape(-1, 3)

    def solve(self, solver: object, delassus: object, settings: object, result: object) -> float:
        """Return the seconds of one call."""
        start = clock()
        solver.solve(delassus, self.g, self.models, self.datas, settings, result)
        return clock() - start

    @staticmethod
    def until(settings: object, tolerance: float, most: int) -> object:
        settings.max_iterations = most
        settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = tolerance
        settings.relative_feasibility_tol = settings.relative_complementarity_tol = 0.0
        return settings


def pinocchio_pgs(problem: cs.Problem, budget: float) -> Way:
    """Gauss-Seidel; its residual of zero after a single sweep would end it, hence no tolerance."""
    import pinocchio

    given = Pinocchio(problem)
    delassus = pinocchio.DelassusOperatorDense(np.asfortranarray(given.A.toarray()))
    solver, result = pinocchio.PGSConstraintSolver(problem.b.size), pinocchio.PGSSolverResult()
    result.resize(problem.b.size)
    seconds, count = 0.0, 1
    while seconds < budget:
        settings = given.until(pinocchio.PGSSolverSettings(), 0.0, count)
        seconds += given.solve(solver, delassus, settings, result)
        yield seconds, given.impulses(result)
        result.setConstraintImpulseGuess(result.retrieveConstraintImpulses())
        count = max(20, count + count // 10)


def pinocchio_admm(problem: cs.Problem, budget: float) -> Way:
    """ADMM of Carpentier, Le Lidec and Montaut 2024."""
    import pinocchio
    from scipy import sparse

    given, pace, seconds = Pinocchio(problem), 0.0, 0.0
    for tolerance in 10.0 ** -np.arange(3, 13):
        delassus = pinocchio.DelassusOperatorSparse(sparse.csc_matrix(given.A))
        solver, result = (
            pinocchio.ADMMConstraintSolver(problem.b.size),
            pinocchio.ADMMSolverResult(),
        )
        result.resize(problem.b.size)
        # There is no limit in seconds, but one in iterations, by what the last run's took.
        most = int(budget / pace) + 1 if pace else 100
        settings = given.until(pinocchio.ADMMSolverSettings(), tolerance, most)
        settings.admm_update_rule = pinocchio.ADMMUpdateRule.SPECTRAL
        settings.lanczos_size = 30  # else that of the problem, which takes longer than the rest
        seconds = given.solve(solver, delassus, settings, result)
        pace = seconds / max(result.iterations, 1)
        if seconds > budget:
            break
        yield seconds, given.impulses(result)


# ---- Siconos -------------------------------------------------------------------------------------

SICONOS = """
import sys, time
import numpy as np
from scipy import sparse
import siconos.numerics as sn

data = np.load(sys.argv[1])
dim = int(data["rows"])
W = sparse.csr_matrix((data["data"], data["indices"], data["indptr"]))
problem = sn.FrictionContactProblem(dim, len(data["mu"]), W, data["q"], data["mu"])
solver = {"nsgs": sn.SICONOS_FRICTION_3D_NSGS, "newton": sn.SICONOS_FRICTION_3D_NSN_AC}[sys.argv[2]]
drive = {"nsgs": sn.fc3d_nsgs, "newton": sn.fc3d_nonsmooth_Newton_AlartCurnier}[sys.argv[2]]
budget, out, clock = float(sys.argv[3]), {}, getattr(time, sys.argv[5])
sn.numerics_set_verbose(0)
for number, tolerance in enumerate(10.0 ** -np.arange(3, 13)):
    options = sn.SolverOptions(solver)
    options.dparam[sn.SICONOS_DPARAM_TOL] = tolerance
    most = int(data["most"]) if sys.argv[2] == "nsgs" else 2000
    options.iparam[sn.SICONOS_IPARAM_MAX_ITER] = most
    r, u = np.zeros(W.shape[0]), np.zeros(W.shape[0])
    start = clock()
    failed = drive(problem, r, u, options)
    seconds = clock() - start
    out[f"r{number}"], out[f"t{number}"] = r, seconds
    np.savez(sys.argv[4], **out)
    if failed or seconds > budget:
        break
"""


@cache
def _siconos_python() -> str | None:
    """The Python that has Siconos, if there is one."""
    known = os.environ.get("SICONOS_PYTHON")
    for python in (known, sys.executable, "/usr/bin/python3"):
        probe = [str(python), "-c", "import siconos.numerics, scipy"]
        if python and subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            return python
    return None


def _siconos(problem: cs.Problem, budget: float, solver: str) -> Way:
    A = matrix_of(problem)
    sweep = 300e-9 * problem.contacts  # of NSGS: what its sweeps take, so that it ends in time
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "problem.npz"), Path(folder, "found.npz")
        np.savez(
            given, data=A.data, indices=A.indices, indptr=A.indptr, rows=problem.b.shape[1],
            q=problem.b.ravel(), mu=friction_of(problem), most=int(budget / sweep) + 1,
        )  # fmt: skip
        told = "process_time" if clock is time.thread_time else "perf_counter"
        command = [_siconos_python(), "-c", SICONOS, given, solver, str(budget), found, told]
        with contextlib.suppress(subprocess.TimeoutExpired):
            words = list(map(str, command))
            subprocess.run(words, capture_output=True, timeout=2 * budget + 5, check=False)
        if not found.exists():
            return
        out = np.load(found)
        for i in range(len(out.files) // 2):
            if out[f"t{i}"] <= budget:
                yield float(out[f"t{i}"]), out[f"r{i}"].reshape(problem.b.shape)


def siconos_nsgs(problem: cs.Problem, budget: float) -> Way:
    yield from _siconos(problem, budget, "nsgs")


def siconos_newton(problem: cs.Problem, budget: float) -> Way:
    yield from _siconos(problem, budget, "newton")


# ---- all -----------------------------------------------------------------------------------------

WAYS: dict[str, Callable[[cs.Problem, float], Way]] = {
    "Numba PGS": numba_pgs,
    "Clarabel, De Saxcé": clarabel_fixed_point,
    "pinocchio PGS": pinocchio_pgs,
    "pinocchio ADMM": pinocchio_admm,
    "Siconos NSGS": siconos_nsgs,
    "Siconos Newton": siconos_newton,
}
# From which on one step takes longer than a budget and cannot be ended, or, as Gauss-Seidel of
# pinocchio keeps a copy of A there, 8 MB of stack do not do.
MOST_ROWS = {"Clarabel": 5000, "pinocchio PGS": 1000, "pinocchio ADMM": 3000}
MODULES = {"Numba": "numba", "Clarabel": "clarabel", "pinocchio": "pinocchio"}


def is_there(name: str) -> bool:
    """Whether what a peer needs is installed."""
    if name.startswith("Siconos"):
        return _siconos_python() is not None
    (module,) = (module for peer, module in MODULES.items() if name.startswith(peer))
    return all(importlib.util.find_spec(m) is not None for m in (module, "scipy"))


@cache
def version(name: str) -> str:
    """The version of the package that a peer is of."""
    if not name.startswith("Siconos"):
        (module,) = (module for peer, module in MODULES.items() if name.startswith(peer))
        return f"{module} {metadata.version({'pinocchio': 'pin'}.get(module, module))}"
    ask = "from importlib import metadata; print(metadata.version('siconos'))"
    words = [str(_siconos_python()), "-c", ask]
    told = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    return f"siconos {told}".strip()


def available() -> list[str]:
    """Return the peers that are installed, and say which are not."""
    there = [name for name in WAYS if is_there(name)]
    if missing := [name for name in WAYS if name not in there]:
        print(f"not installed, and left out: {', '.join(missing)}")
    return there


def check(name: str, problem: cs.Problem) -> None:
    """Raise ValueError for problems that the peers are not for: other sets than friction discs."""
    if isinstance(problem.b, list) or problem.info["set"] != "disc" or problem.b.shape[1] > 3:
        raise ValueError(f"{name} is for friction discs")
    most = next((rows for peer, rows in MOST_ROWS.items() if name.startswith(peer)), np.inf)
    if problem.b.size > most:
        raise ValueError(f"not run: more than {most} rows")
    if name.startswith(("Siconos", "pinocchio")) and problem.b.shape[1] != 3:
        raise ValueError(f"{name} is run on spatial contacts only")
