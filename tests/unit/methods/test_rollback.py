"""S1's rollback (section 3.5): what it must bring about, and what it must not claim."""

from __future__ import annotations

import numpy as np
import pytest

import contactsolve as cs


def pair(coupling: float = 1.9) -> cs.Problem:
    """Two coupled free rows: Jacobi is stable for r < 2 / (2 + coupling) alone."""
    return cs.Problem.from_delassus(
        [[2.0, coupling], [coupling, 2.0]], [-1.0, -1.0], rows=1, sets=cs.sets.free()
    )


@pytest.mark.parametrize(
    ("growth", "factor", "halvings"),
    [(1.0, 0.6, 1), (3.0, 0.6, 1), (100.0, 0.6, 1), (1.0, 1.5, 2), (100.0, 1.5, 2)],
)
def test_halving_until_stable_converges(growth, factor, halvings):
    options = {"method": "jacobi", "local": "projected", "r_factor": factor, "rtol": 1e-10}
    without = cs.solve(pair(), rollback=0, **options)
    assert not without.converged
    result = cs.solve(pair(), rollback_growth=growth, **options)
    assert result.converged
    assert result.info["rollbacks"] == halvings
    np.testing.assert_allclose(result.impulses, 1 / 3.9, rtol=1e-8)


@pytest.mark.parametrize("relaxation", [2.0, 4.0])
def test_jacobi_on_a_grid_recovers_from_too_large_a_step(relaxation):
    result = cs.solve(cs.scenarios.ball_grid(4), method="jacobi", relaxation=relaxation)
    assert result.converged
    assert result.info["rollbacks"] > 0


@pytest.mark.parametrize("stop", ["residual", "merit", "delta_element", "delta_norm"])
def test_a_sweep_that_was_taken_back_is_no_proof_of_convergence(stop):
    """Halving R halves the residual of a rejected sweep; the impulses have not moved."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        G = rng.normal(size=(6, 8))
        problem = cs.Problem.from_delassus(G @ G.T, rng.normal(size=6), rows=1)
        result = cs.solve(
            problem,
            method="jacobi",
            rollback_growth=1.0,
            stop=stop,
            atol=0.02,
            rtol=None,
            record=(stop,),
        )
        if result.converged:
            assert result.history[stop][-1] <= (1.0 if "delta" in stop else 0.02)


def test_what_is_not_a_number_never_converges():
    problem = cs.Problem.from_delassus(
        [[1, 0, 0], [0, 1, 0], [1e308, -1e308, 1]], [-10.0, -10.0, -1.0], rows=1
    )
    options = {"method": "jacobi", "stop": "residual", "atol": 1e-3, "rtol": None}
    result = cs.solve(problem, rollback=0, **options)
    assert result.status == "diverging"
    assert np.isfinite(result.impulses).all()


def test_rounding_does_not_tell_which_iterate_is_the_best():
    """Where nothing is clipped, a sweep with half of R leaves half of the residual, exactly."""
    rng = np.random.default_rng(2)
    J = rng.normal(size=(8, 2, 1, 3))
    bodies = np.column_stack([rng.integers(0, 3, 8), rng.integers(-1, 3, 8)])
    wide = cs.sets.box(-1e6, 1e6)
    inverse_mass = np.tile(np.eye(3), (3, 1, 1))
    problem = cs.Problem(J, inverse_mass, rng.normal(size=(8, 1)), bodies=bodies, sets=wide)
    options = {"method": "jacobi", "relaxation": 4.0, "rollback_growth": 3.0}
    options |= {"rtol": None, "atol": None}
    for sweeps in (4, 6, 9):
        results = [
            cs.solve(problem, scheme=scheme, max_iterations=sweeps, **options)
            for scheme in ("matrix", "factorized", "iteration_matrix")
        ]
        assert results[0].info["rollbacks"] >= 2
        for result in results[1:]:
            np.testing.assert_allclose(result.impulses, results[0].impulses, rtol=1e-9)


def cannonballs() -> cs.Problem:
    """A pyramid of cannonballs that spin and fall: contacts open, close and slide."""
    scene = cs.scenarios.ball_grid(3, layout="cannonball")
    velocity = 0.05 * np.random.default_rng(2).standard_normal(scene.Minv.shape[:2])
    velocity[:, 2] -= 0.0981
    velocity = np.vstack([velocity, np.zeros(6)])
    b = np.einsum("ksmd,ksd->km", scene.J, velocity[scene.bodies])
    return cs.Problem(scene.J, scene.Minv, b, scene.mu, bodies=scene.bodies)


def test_a_passing_rise_is_no_divergence():
    """Gauss-Seidel's residual rises more than threefold here, and falls again by itself."""
    options = {"method": "gauss_seidel", "order": "natural", "max_iterations": 3000}
    told = {"record": ("residual",), "record_every": 1}
    without = cs.solve(cannonballs(), rollback=0, **options, **told)
    assert without.converged
    residual = without.history["residual"][1:]
    assert (residual[1:] / np.minimum.accumulate(residual)[:-1]).max() > 3
    usual = cs.solve(cannonballs(), **options)
    assert usual.converged
    assert usual.info["rollbacks"] == 0
    np.testing.assert_array_equal(usual.impulses, without.impulses)
    eager = cs.solve(cannonballs(), rollback_growth=3.0, **options)
    assert not eager.converged
    assert eager.info["rollbacks"] > 0
