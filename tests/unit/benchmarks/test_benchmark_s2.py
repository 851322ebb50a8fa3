"""benchmarks/s2: what is sampled, S2's relaxed SOR, and the page from the stored rows."""

import warnings

import numpy as np
import pytest

import contactsolve as cs
from benchmark_scripts import check_page, importing_from
from repository import BENCHMARKS

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def scripts():
    with importing_from(BENCHMARKS / "s2"):
        import report
        import spheres

        yield spheres, report


@pytest.fixture(scope="module")
def sampled(scripts):
    """Two problems of a small pile."""
    spheres, _ = scripts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a step may end at the cap, as S2's do
        return spheres.reference(60, samples=2, most_steps=400)


def test_problems_are_taken_where_contacts_reach_a_level(scripts, sampled):
    spheres, _ = scripts
    rows, problems, positions = sampled
    assert positions.shape == (60, 3)
    largest = spheres.LARGEST * 60 // spheres.SPHERES
    counts = [row["contacts"] for row in rows]
    for level, (step, problem) in zip((largest // 2, largest), problems, strict=True):
        assert problem.contacts == counts[step - 1] >= level
        assert max(counts[: step - 1]) < level


def test_the_walls_hold_the_spheres(scripts, sampled):
    spheres, _ = scripts
    _, _, positions = sampled
    side = 2 * spheres.RADIUS * spheres.DISTANCE * 4  # four spheres in a row
    assert (positions > 0.9 * spheres.RADIUS).all()
    assert (positions[:, :2] < side - 0.9 * spheres.RADIUS).all()


def test_gathered_contacts_do_not_see_each_other(scripts):
    """S2 section 5.3.2: d contacts are evaluated at the same time, then the next d."""
    spheres, _ = scripts
    problem = cs.scenarios.ball_grid(4)
    assert problem.contacts > 2 * spheres.GATHERED
    A, b = problem.delassus().toarray(), problem.b.ravel()
    impulses = np.zeros(len(b))
    for begin in range(0, problem.contacts, spheres.GATHERED):
        old = impulses.copy()
        for k in range(begin, min(begin + spheres.GATHERED, problem.contacts)):
            rows = slice(3 * k, 3 * k + 3)
            factor = np.array([1 / A[3 * k, 3 * k]] + [1 / A[rows, rows].diagonal()[1:].max()] * 2)
            z = old[rows] - factor * (A[rows] @ old + b[rows])
            z[0] = max(z[0], 0)
            length, most = np.hypot(z[1], z[2]), problem.mu[k] * z[0]
            z[1:] *= min(1, most / length) if length > 0 else 0
            impulses[rows] = z
    once = {"rtol": None, "atol": None, "max_iterations": 1, "rollback": 0}
    own = {"method": "gauss_seidel", "order": spheres.relaxed(problem), **once}
    assert np.abs(np.triu(A[:3, :3], 1)).max() < 1e-15  # the local R is 1 / diag(A_kk) then
    assert cs.solve(problem, **own).impulses.ravel() == pytest.approx(impulses, abs=1e-13)


def test_coupling_counts_the_contacts_of_moving_spheres(scripts):
    spheres, _ = scripts
    J = np.zeros((3, 2, 1, 6))
    chain = cs.Problem(J, np.ones((2, 6)), np.zeros((3, 1)), bodies=[[-1, 0], [0, 1], [-1, 1]])
    assert spheres.coupling(chain) == {"coupled": 4 / 3, "most_of_a_sphere": 2}


def test_every_method_has_a_row(scripts, sampled):
    spheres, _ = scripts
    _, problems, _ = sampled
    rows = list(spheres.rows_of(*problems[0], 500))
    assert [row["method"] for row in rows] == list(spheres.METHODS)
    assert {row["contacts"] for row in rows} == {problems[0][1].contacts}
    full = next(row for row in rows if row["method"].startswith("full"))
    assert full["status"] == "converged"


def test_page_is_what_the_results_make_it(scripts):
    """docs/s2.md, written from the committed CSVs of the machine that it names."""
    check_page(scripts[1], "s2")
