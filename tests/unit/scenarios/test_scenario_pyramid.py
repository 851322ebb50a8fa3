"""The disc pyramid against what S4 says of it."""

import numpy as np
import pytest

import contactsolve as cs


def neighbours(problem, pair):
    """The contacts that share a disc with the given one."""
    pairs = [tuple(map(int, bodies)) for bodies in problem.bodies]
    return {other for other in pairs if other != pair and set(other) & set(pair) - {-1}}


@pytest.mark.parametrize("layers", [1, 2, 4, 7, 30])
def test_counts(layers):
    problem = cs.scenarios.disc_pyramid(layers)
    assert problem.bodies_count == layers * (layers + 1) // 2
    assert problem.contacts == 3 * layers * (layers - 1) // 2
    assert problem.rows == 2
    assert problem.dof == 3 * problem.bodies_count
    on_ground = cs.scenarios.disc_pyramid(layers, ground=True)
    assert on_ground.contacts == problem.contacts + layers
    np.testing.assert_array_equal(on_ground.bodies[: problem.contacts], problem.bodies)
    np.testing.assert_array_equal(on_ground.bodies[problem.contacts :, 0], -1)


def test_contact_5_8_has_the_neighbours_s4_lists():
    expected = {(2, 5), (4, 5), (5, 9), (4, 8), (7, 8), (8, 9)}
    assert neighbours(cs.scenarios.disc_pyramid(4), (5, 8)) == expected


def test_no_contact_has_more_than_ten_neighbours():
    problem = cs.scenarios.disc_pyramid(8)
    counts = [len(neighbours(problem, tuple(map(int, pair)))) for pair in problem.bodies]
    assert max(counts) == 10
    assert sum(counts) + problem.contacts == problem.block_count


@pytest.mark.parametrize("mu", [0.0, 0.3])
@pytest.mark.parametrize("method", ["jacobi", "gauss_seidel"])
def test_three_discs_pushed_down(method, mu):
    """S4's first example: contacts a and b carry the same, c between the lower discs nothing."""
    problem = cs.scenarios.disc_pyramid(2, mu=mu, impulse=(0.0, -0.7), mass=2.0)
    result = cs.solve(problem, method=method, rtol=1e-12, max_iterations=2000)
    assert result.converged
    (a, b, c), (a_t, b_t, c_t) = result.impulses.T
    assert a > 0
    assert a == pytest.approx(b, rel=1e-10)
    assert a_t == pytest.approx(-b_t, abs=1e-10)
    assert c == 0
    assert c_t == 0
    if mu == 0:
        # Along a: (1/m + 1/m) a + cos(60 degrees) b / m = cos(30 degrees) 0.7 / m.
        assert a == pytest.approx(np.sqrt(0.75) * 0.7 / 2.5, rel=1e-10)


def test_a_push_at_a_corner_fades_along_the_lowest_layer():
    problem = cs.scenarios.disc_pyramid(3, disc=3, impulse=(0.2, 0.0), mu=0.0)
    result = cs.solve(problem, rtol=1e-12, max_iterations=5000)
    assert result.converged
    impulse = {
        tuple(map(int, pair)): n
        for pair, n in zip(problem.bodies, result.impulses[:, 0], strict=True)
    }
    assert impulse[3, 4] > impulse[4, 5] > 0
    assert impulse[3, 4] > impulse[0, 1] >= 0


@pytest.mark.parametrize(("mu", "rests"), [(0.26, False), (0.275, True)])
def test_three_heavy_discs_rest_if_friction_is_above_tan_15(mu, rests):
    """The line through a lower disc's two contacts is 15 degrees off both normals."""
    problem = cs.scenarios.disc_pyramid(
        2, ground=True, impulse=(0, 0), gravity=9.81, mass=2.0, mu=mu
    )
    result = cs.solve(problem, method="gauss_seidel", rtol=1e-11, max_iterations=20000)
    assert result.converged
    motion = result.body_velocity_change + np.array([0.0, -0.0981, 0.0])
    if rests:
        np.testing.assert_allclose(motion, 0.0, atol=1e-10)
        np.testing.assert_allclose(result.impulses[3:, 0], 1.5 * 2.0 * 0.0981, rtol=1e-9)
    else:
        assert motion[0, 1] < -1e-4, "the upper disc sinks between the lower ones"
        assert motion[1, 0] == pytest.approx(-motion[2, 0], rel=1e-6)


def test_without_a_push_nothing_happens():
    problem = cs.scenarios.disc_pyramid(6, impulse=(0.0, 0.0), gravity=9.81)
    np.testing.assert_array_equal(problem.b, 0.0)


def test_blocks_in_closed_form():
    """A_kk of touching discs: 1/m along the normal, 3/m along the tangent, per disc."""
    problem = cs.scenarios.disc_pyramid(4, ground=True, mass=2.0, radius=0.3)
    Minv = np.concatenate((problem.Minv, np.zeros((1, 3))))[problem.bodies]
    blocks = np.einsum("ksad,ksd,ksbd->kab", problem.J, Minv, problem.J)
    discs = 1 + (problem.bodies[:, 0] >= 0)
    expected = discs[:, None, None] * np.diag([1.0, 3.0]) / 2.0
    np.testing.assert_allclose(blocks, expected, atol=1e-15)
