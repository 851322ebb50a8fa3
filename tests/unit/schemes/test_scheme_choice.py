"""scheme="auto": extremes in which one scheme costs much more than the other on any machine."""

from __future__ import annotations

import numpy as np
import pytest

import contactsolve as cs

INSTRUCTIONS = ("scalar", "auto")


def picked(problem: cs.Problem, **options) -> str:
    return cs.Solver(problem, **options).info["scheme"]


def random_contacts(contacts: int, bodies: int, rows: int = 3) -> cs.Problem:
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, bodies, (contacts, 2))
    pairs[:, 1] = np.where(pairs[:, 0] == pairs[:, 1], (pairs[:, 1] + 1) % bodies, pairs[:, 1])
    J = rng.normal(size=(contacts, 2, rows, 6))
    return cs.Problem(J, np.ones((bodies, 6)), np.zeros((contacts, rows)), 0.5, bodies=pairs)


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("method", ("gauss_seidel", "jacobi"))
def test_many_contacts_a_body_are_factorized(method, instructions):
    """64 contacts a body make 256 blocks a row."""
    problem = random_contacts(1024, 16)
    assert picked(problem, method=method, instructions=instructions) == "factorized"


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
def test_rows_of_one_block_are_multiplied(instructions):
    """Hardly any two contacts share a body: Jacobi would recompute velocities of two a contact."""
    problem = random_contacts(400, 8000)
    assert picked(problem, method="jacobi", instructions=instructions) == "matrix"


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
def test_bodies_without_contacts_do_not_count(instructions):
    """Jacobi recomputes the velocities of those in contact."""
    scene = random_contacts(1024, 128)
    Minv = np.concatenate([scene.Minv, np.ones((200_000, 6))])
    among = cs.Problem(scene.J, Minv, scene.b, scene.mu, bodies=scene.bodies)
    for problem in (scene, among):
        assert picked(problem, method="jacobi", instructions=instructions) == "factorized"


def test_what_will_run_is_weighed():
    """One problem, one method: lanes filled by the order make the factors the cheaper ones. In
    float32, because AVX2 has only four lanes for float64: there both schemes cost the same."""
    problem = random_contacts(4000, 4000)
    names = [name for name, runs in cs.info()["instructions"].items() if runs]
    if names[-1] == "baseline":
        pytest.skip("vectors of 16 bytes weigh little")
    alone = {"order": "natural", "instructions": "scalar"}
    assert picked(problem, dtype=np.float32, **alone) == "matrix"
    for instructions in names[1:]:
        vectors = {"order": "colored", "instructions": instructions}
        assert picked(problem, dtype=np.float32, **vectors) == "factorized"


def test_a_given_matrix_leaves_no_choice():
    problem = random_contacts(400, 8000)
    given = cs.Problem.from_delassus(problem.delassus(), problem.b, 0.5)
    assert picked(given, method="gauss_seidel") == "matrix"


def test_the_choice_outlives_new_values():
    """The pick is made once, and told before and after."""
    problem = random_contacts(50, 30)
    solver = cs.Solver(problem, max_iterations=3)
    before = solver.info["scheme"]
    problem.update(J=np.zeros(problem.J.shape))
    solver.solve()
    assert solver.info["scheme"] == before
