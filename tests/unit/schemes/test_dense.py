"""The scheme "dense" and the order "panels": S2's JOR, full and relaxed SOR over a whole T."""

import numpy as np
import pytest

import contactsolve as cs
from agreement import EXACTLY, amplification, assert_close, flat, generator, package_set
from reference_numpy import ReferenceProblem, random_problem

SETS = (
    ("free", 4),
    ("half_line", 1),
    ("disc", 2),
    ("disc", 3),
    ("box_friction", 3),
    ("rolling", 5),
)
INSTRUCTIONS = ("scalar", *(name for name, has in cs.info()["instructions"].items() if has))


def problem_of(arrays):
    return cs.Problem(
        arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=package_set(arrays)
    )


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize(("set_name", "rows"), SETS)
def test_dense_is_the_iteration_matrix(set_name, rows, instructions):
    """The same T with zeros between its blocks, for rows longer and shorter than vectors."""
    for contacts in (3, 7, 40):
        arrays = random_problem(
            generator("dense", set_name, rows, contacts), contacts, 6, rows, 6, set_name
        )
        tolerance = 1e-13 * amplification(ReferenceProblem.from_arrays(arrays))
        for method in ("jacobi", "gauss_seidel", "symmetric_gauss_seidel"):
            for order in ("natural", "panels", "ranges"):
                options = {"method": method, "order": order, "parts": 3, "max_iterations": 12}
                options |= EXACTLY
                wanted = cs.solve(problem_of(arrays), scheme="iteration_matrix", **options)
                result = cs.solve(
                    problem_of(arrays), scheme="dense", instructions=instructions, **options
                )
                size = max(1.0, float(np.max(np.abs(flat(wanted.impulses)))))
                assert_close(result.impulses, wanted.impulses, tolerance, "impulses", size)


def test_jor_by_hand():
    """S2 eq. 4.40 in NumPy: Λ <- prox(T Λ + c) of all contacts at once."""
    arrays = random_problem(generator("jor"), 20, 8, 3, 6, "box_friction", awkward=False)
    problem = problem_of(arrays)
    options = {"r_factor": 0.01, "max_iterations": 9, **EXACTLY}
    result = cs.solve(problem, method="jacobi", scheme="dense", **options)
    A, b = np.asarray(problem.delassus()), problem.b.reshape(-1)
    T, c = np.eye(60) - 0.01 * A, -0.01 * b
    mu = np.asarray(arrays.set_parameters()["mu"]).reshape(20, -1)
    impulses = np.zeros(60)
    for _ in range(9):
        z = (T @ impulses + c).reshape(20, 3)
        z[:, 0] = np.maximum(z[:, 0], 0)
        z[:, 1:] = np.clip(z[:, 1:], -mu * z[:, :1], mu * z[:, :1])
        impulses = z.reshape(-1)
    np.testing.assert_allclose(
        result.impulses.reshape(-1), impulses, rtol=0, atol=1e-12 * max(1, np.abs(impulses).max())
    )


def test_panels_between_gauss_seidel_and_jacobi():
    """S2 section 5.3, method 2: panels of one contact are full SOR, one panel is JOR."""
    problem = cs.scenarios.ball_grid(3)
    options = {"scheme": "dense", "r_factor": 0.1, "max_iterations": 20, **EXACTLY}
    for method, contacts in (("gauss_seidel", 1), ("jacobi", problem.contacts)):
        wanted = cs.solve(problem, method=method, order="natural", **options)
        order = cs.orders.panels(contacts=contacts)
        panels = cs.solve(problem, method="gauss_seidel", order=order, **options)
        np.testing.assert_array_equal(panels.impulses, wanted.impulses)


def test_panels_are_stages():
    problem = cs.scenarios.ball_grid(3)
    schedule = cs.orders.describe(problem, cs.orders.panels(contacts=7))
    assert schedule.stages == -(-problem.contacts // 7)
    with pytest.raises(ValueError, match="contacts"):
        cs.orders.panels(contacts=0)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_matter(threads):
    problem = cs.scenarios.disc_pyramid(40)
    options = {"method": "jacobi", "scheme": "dense", "max_iterations": 5, **EXACTLY}
    one = cs.solve(problem, threads=1, **options)
    np.testing.assert_array_equal(
        cs.solve(problem, threads=threads, **options).impulses, one.impulses
    )


def test_rescaled_rows_after_rollbacks():
    """S1 eq. 3.17: T of the next solve has the bits of a new solver's."""
    arrays = random_problem(generator("rolled back"), 8, 3, 3, 6, "free", awkward=False)
    options = {"method": "jacobi", "rollback_growth": 1.0, "rtol": None, "max_iterations": 9}
    wanted = cs.solve(problem_of(arrays), scheme="iteration_matrix", **options)
    result = cs.solve(problem_of(arrays), scheme="dense", **options)
    assert result.info["rollbacks"] == wanted.info["rollbacks"] > 0
    size = np.max(np.abs(wanted.impulses))
    np.testing.assert_allclose(result.impulses, wanted.impulses, rtol=0, atol=1e-11 * size)


def test_too_large_for_the_machine():
    """The size is told before anything is allocated."""
    with pytest.raises(MemoryError, match=r"scheme='dense' needs \d+ bytes"):
        cs.Solver(cs.scenarios.ball_grid(60), scheme="dense", order="natural", islands=False)
