"""The ball pile against the counts of S1 Table 3.4, and that it is made of spheres."""

import numpy as np
import pytest

import contactsolve as cs

SMALL = {"contacts": 6605, "blocks": 7415}
LARGE = {"contacts": 52909, "blocks": 58631}


@pytest.mark.parametrize("seed", range(4))
def test_counts_of_the_small_pile(seed):
    """A count of 6,605 scatters by some 75, one of the 405 pairs of neighbours by some 20."""
    problem = cs.scenarios.ball_pile(40, ground="body", rng=seed)
    assert problem.bodies_count == 64001
    assert problem.contacts == pytest.approx(SMALL["contacts"], rel=0.03)
    assert problem.block_count == pytest.approx(SMALL["blocks"], rel=0.04)
    assert problem.contacts / problem.bodies_count == pytest.approx(0.103, abs=0.003)
    assert problem.block_count / problem.contacts == pytest.approx(1.115, abs=0.012)


@pytest.mark.parametrize("seed", range(2))
def test_counts_of_the_large_pile(seed):
    problem = cs.scenarios.ball_pile(80, ground="body", rng=seed)
    assert problem.bodies_count == 512001
    assert problem.contacts == pytest.approx(LARGE["contacts"], rel=0.01)
    assert problem.block_count == pytest.approx(LARGE["blocks"], rel=0.015)
    # S1 section 7.3: the first greedy colour holds 50,125 of 52,909 contacts.  In a chain that is
    # every second contact, from the first one on.
    _, start = np.unique(problem.bodies[:, 0], return_index=True)
    assert len(start) == problem.contacts
    follows = np.diff(problem.bodies[:, 0], prepend=-9) == 1
    place = np.arange(problem.contacts)
    chain_start = np.maximum.accumulate(np.where(follows, 0, place))
    first_colour = np.sum((place - chain_start) % 2 == 0)
    assert first_colour / problem.contacts == pytest.approx(50125 / 52909, abs=0.005)


def test_all_contacts_without_the_test_for_approach():
    """Of the neighbours in a row, a quarter touches."""
    problem = cs.scenarios.ball_pile((41, 40, 40), approach=None, rng=1)
    assert problem.bodies_count == 41 * 40 * 40
    assert problem.contacts == pytest.approx(0.25 * 40**3, rel=0.02)


def test_contacts_approach_faster_than_the_limit():
    problem = cs.scenarios.ball_pile(12, approach=0.4, velocity=3.0)
    assert problem.contacts > 10
    assert problem.b[:, 0].max() < -0.4 * 3.0


@pytest.mark.parametrize(("chance", "share"), [(0.0, 0), (1.0, 11 / 12)])
def test_the_chance_of_contact_is_one_of_neighbours_in_a_row(chance, share):
    problem = cs.scenarios.ball_pile(12, contact_chance=chance, approach=None, velocity=0.0)
    assert problem.contacts == round(share * 12**3)


def test_chains_are_chains_of_spheres():
    """Lever arms are radii along the normal; successive contacts share a ball of radius 0.5."""
    problem = cs.scenarios.ball_pile(8, contact_chance=1.0, approach=None, radius=0.5)
    np.testing.assert_array_equal(np.diff(problem.bodies, axis=1), 1)
    normals = problem.J[:, 1, 0, :3]
    np.testing.assert_allclose(problem.J[:, :, 0, 3:], 0.0, atol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(problem.J[:, :, 1, 3:], axis=2), 0.5, rtol=1e-12)
    # Planes: no normal leaves them, and not all point along the row.
    np.testing.assert_array_equal(normals[:, 2], 0.0)
    assert 0.1 < abs(normals[:, 1]).max() <= 0.3


def test_a_row_of_one_ball_has_no_contacts():
    problem = cs.scenarios.ball_pile((1, 5, 5), contact_chance=1.0, approach=None)
    assert problem.contacts == 0
    assert problem.bodies_count == 25


def test_momentum_of_a_solution_is_that_before():
    problem = cs.scenarios.ball_pile(10)
    result = cs.solve(problem, method="gauss_seidel", rtol=1e-10)
    assert result.converged
    change = result.body_velocity_change[:, :3]
    assert abs(change).max() > 0.1
    np.testing.assert_allclose(change.sum(axis=0), 0.0, atol=1e-12)
