"""Solvers of an updated problem keep what stays valid, and give the bits of new solvers."""

from __future__ import annotations

import numpy as np
import pytest

import contactsolve as cs
from agreement import EXACTLY, flat

# scheme="auto" stays what it was for the first values, so that the scheme is named.
OPTIONS = {"max_iterations": 3, "record": ("natural_map",), **EXACTLY}
SWEEPS = OPTIONS | {"order": "colored", "scheme": "factorized"}

CASES = {
    "float64": {},
    "float32": {"dtype": "float32"},
    "mixed": {"dtype": "mixed"},
    "scalar": {"instructions": "scalar"},
    "uncompressed": {"compressed": False},
    "parts": {"order": "ranges", "parts": 3},
    "weighted parts": {
        "order": cs.orders.partition(border="concurrent", weight=0.5),
        "parts": 5,
    },
    "split parts": {
        "order": cs.orders.partition(border="concurrent", split_masses=True),
        "parts": 5,
    },
    "split parts, scalar": {
        "order": cs.orders.partition(border="concurrent", split_masses=True),
        "parts": 5,
        "instructions": "scalar",
        "dtype": "float32",
    },
    "jacobi": {"method": "jacobi"},
    "symmetric": {"method": "symmetric_gauss_seidel"},
    "split": {"method": "mass_splitting"},
    "matrix": {"scheme": "matrix"},
    "T": {"scheme": "iteration_matrix"},
    "halves": {"method": "symmetric_gauss_seidel", "scheme": "half_sweep"},
    "balanced": {"r_factor": "balanced"},
    "global": {"r_factor": "global"},
    "local problems": {"local": "block"},
    "adjacent": {"method": "jacobi", "averaging": "adjacent"},
    "nesterov": {"method": "nesterov"},
    "nncg": {"method": "nncg"},
    "anderson": {"method": "anderson"},
    "auto": {"method": "auto"},
    "auto, to the end": {"method": "auto", "rtol": 1e-6, "atol": None, "max_iterations": 2000},
    "multilevel": {"method": "multilevel"},
}
WITHOUT_SWEEPS = {
    "newton": {"method": "newton"},
    "tresca": {"method": "tresca"},
    "admm": {"method": "admm"},
    "interior_point": {"method": "interior_point"},
}
ALL = {name: SWEEPS | case for name, case in CASES.items()}
ALL |= {name: {**OPTIONS, "rollback": 5} | case for name, case in WITHOUT_SWEEPS.items()}


def spheres(copies: int = 1, size: int = 3) -> dict:
    """Arrays of a grid of balls on a fixed ground, as often as asked for: so many islands."""
    grid = cs.scenarios.ball_grid(size)
    count, bodies = grid.bodies_count, grid.bodies
    pairs = [np.where(bodies < 0, -1, bodies + i * count) for i in range(copies)]
    return {
        "J": np.tile(grid.J, (copies, 1, 1, 1)),
        "Minv": np.tile(grid.Minv, (copies,) + (1,) * (grid.Minv.ndim - 1)),
        "b": np.tile(grid.b, (copies, 1)) - 0.1,
        "mu": np.full(copies * grid.contacts, 0.4),
        "bodies": np.concatenate(pairs),
    }


def turned(J: np.ndarray) -> np.ndarray:
    """Another frame at each contact, with the same normal: J can still be compressed."""
    c, s = 0.8, 0.6
    J = J.copy()
    J[:, :, 1], J[:, :, 2] = c * J[:, :, 1] + s * J[:, :, 2], c * J[:, :, 2] - s * J[:, :, 1]
    return J


def with_body_at_rest(Minv: np.ndarray) -> np.ndarray:
    """The inverse masses where one body has become immovable."""
    Minv = Minv.copy()
    Minv[5] = 0.0
    return Minv


CHANGES = {
    "nothing": lambda _: {},
    "b": lambda a: {"b": 2 * a["b"] + 0.01},
    "mu": lambda a: {"mu": a["mu"] / 2},
    "J turned": lambda a: {"J": turned(a["J"])},
    "J with other lengths": lambda a: {"J": 1.5 * a["J"]},
    "J with other axes": lambda a: {"J": a["J"][:, :, [0, 2, 1]]},
    "Minv": lambda a: {"Minv": 2 * a["Minv"]},
    "J and b": lambda a: {"J": turned(a["J"]), "b": a["b"] - 0.02},
    "all": lambda a: {
        "J": turned(a["J"]),
        "Minv": 2 * a["Minv"],
        "b": a["b"] - 0.02,
        "mu": a["mu"] / 3,
    },
    "a body stops": lambda a: {"Minv": with_body_at_rest(a["Minv"])},
    "J and a body stops": lambda a: CHANGES["J turned"](a) | CHANGES["a body stops"](a),
}


def same(result: cs.Result, wanted: cs.Result) -> None:
    np.testing.assert_array_equal(flat(result.impulses), flat(wanted.impulses))
    xi = flat(wanted.residual_velocities)
    np.testing.assert_array_equal(flat(result.residual_velocities), xi)
    np.testing.assert_array_equal(
        np.asarray(result.history["natural_map"]), np.asarray(wanted.history["natural_map"])
    )
    assert (result.status, result.iterations) == (wanted.status, wanted.iterations)


@pytest.mark.parametrize("case", ALL)
def test_every_change_after_every_other(case):
    """One solver through all changes, each from what the last one left."""
    arrays = spheres()
    options = ALL[case]
    problem = cs.Problem(**arrays)
    solver = cs.Solver(problem, **options)
    solver.solve()
    for name, change in CHANGES.items():
        new = change(arrays)
        problem.update(**new)
        same(solver.solve(), cs.Solver(cs.Problem(**(arrays | new)), **options).solve())
        problem.update(**{key: arrays[key] for key in new})
        if name in ("J turned", "all"):
            same(solver.solve(), cs.Solver(cs.Problem(**arrays), **options).solve())


@pytest.mark.parametrize("method", ["gauss_seidel", "newton"])
def test_islands_that_are_solved_apart(method):
    arrays = spheres(copies=30)
    options = {"method": method, "max_iterations": 3, "record": ("natural_map",), **EXACTLY}
    problem = cs.Problem(**arrays)
    solver = cs.Solver(problem, **options)
    assert solver.solve().info["clusters"] > 1
    for change in CHANGES.values():
        new = change(arrays)
        problem.update(**new)
        same(solver.solve(), cs.Solver(cs.Problem(**(arrays | new)), **options).solve())
        problem.update(**{key: arrays[key] for key in new})


def test_values_of_one_solve_are_forgotten_by_an_update():
    """b and mu given to a solve hold for that solve, also where an update comes after it."""
    arrays = spheres()
    problem = cs.Problem(**arrays)
    solver = cs.Solver(problem, **SWEEPS)
    for new in ({"b": arrays["b"] + 0.3}, {"mu": 0.1}, {"J": turned(arrays["J"])}):
        solver.solve(b=arrays["b"] - 1, mu=0.9)
        problem.update(**new)
        arrays = arrays | new
        same(solver.solve(), cs.Solver(cs.Problem(**arrays), **SWEEPS).solve())


def test_a_callback_in_between():
    """A solve that is watched does not divide the problem; the next one does again."""
    arrays = spheres(copies=30)
    options = {"method": "gauss_seidel", "max_iterations": 2, "record": ("natural_map",), **EXACTLY}
    problem = cs.Problem(**arrays)
    solver = cs.Solver(problem, **options)
    for i, name in enumerate(("J turned", "b", "J and b", "a body stops")):
        new = CHANGES[name](arrays)
        problem.update(**new)
        watched = solver.solve(callback=lambda state: None) if i % 2 else solver.solve()
        fresh = cs.Solver(cs.Problem(**(arrays | new)), **options)
        same(watched, fresh.solve(callback=lambda state: None) if i % 2 else fresh.solve())
        problem.update(**{key: arrays[key] for key in new})


def test_set_up_after_an_update_takes_no_memory():
    """What a solver holds does not grow with the number of updates."""
    arrays = spheres()
    problem = cs.Problem(**arrays)
    solver = cs.Solver(problem, **SWEEPS)
    solver.solve()
    held = solver.info["bytes"]
    for _ in range(5):
        for name in ("b", "J turned", "J with other lengths", "J turned", "Minv"):
            problem.update(**CHANGES[name](arrays))
            solver.solve()
        problem.update(**{key: arrays[key] for key in ("J", "Minv", "b", "mu")})
        solver.solve()
        assert solver.info["bytes"] == held
