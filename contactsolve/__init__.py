"""contactsolve: solvers for contact problems with friction.

A solve takes the contact Jacobian, the inverse mass, b and friction coefficients, and returns the
impulses and a convergence history:

>>> import contactsolve as cs
>>> problem = cs.scenarios.ball_grid(4)
>>> result = cs.solve(problem, method="gauss_seidel", rtol=1e-6)
>>> result.converged
True

See `solve`, `Solver`, `Problem`; `scenarios`, `io`, `compare` and `plots` for experiments.
"""

from __future__ import annotations

import os as _os

try:
    from . import _core
except ImportError as _error:
    raise ImportError(
        "contactsolve's C extension is not built here. In the source folder, Python finds the "
        "sources before the installed package: run `pip install -e .`, or start Python elsewhere. "
        f"({_error})"
    ) from _error

from . import (
    bvh,
    cloth,
    csp,
    cuda,
    data,
    distributed,
    dynamics,
    fixed_points,
    io,
    joints,
    measures,
    methods,
    mlcp,
    orders,
    plots,
    scenarios,
    schemes,
    sets,
    shapes,
    sparse,
)
from ._info import info
from ._version import __version__
from .batch import BatchResult, BatchSolution, solve_batch
from .compare import Table, compare, quality_of
from .friction import choose_friction, solve_static_kinetic
from .geometry import contact_jacobian
from .groups import Bodies, Group
from .inspection import block_count, islands
from .io.saved import load_problem, load_result
from .mlcp import MlcpResult, MlcpSolver, solve_mlcp
from .problem import Problem
from .result import History, Result
from .solver import Method, Solver, State, solve

__all__ = [
    "BatchResult",
    "BatchSolution",
    "Bodies",
    "Group",
    "History",
    "Method",
    "MlcpResult",
    "MlcpSolver",
    "Problem",
    "Result",
    "Solver",
    "State",
    "Table",
    "__version__",
    "block_count",
    "bvh",
    "choose_friction",
    "cloth",
    "compare",
    "contact_jacobian",
    "csp",
    "cuda",
    "data",
    "distributed",
    "dynamics",
    "fixed_points",
    "info",
    "io",
    "islands",
    "joints",
    "load_problem",
    "load_result",
    "measures",
    "methods",
    "mlcp",
    "orders",
    "plots",
    "quality_of",
    "scenarios",
    "schemes",
    "sets",
    "shapes",
    "solve",
    "solve_batch",
    "solve_mlcp",
    "solve_static_kinetic",
    "sparse",
]

if hasattr(_os, "register_at_fork"):
    # Worker threads do not survive a fork; a child would wait for them for ever.
    _os.register_at_fork(before=_core.release_threads)
