"""Natural maps over the packed factors, measures by threads, and what a solve loads."""

import numpy as np
import pytest

import contactsolve as cs

OPTIONS = {"method": "gauss_seidel", "max_iterations": 40, "record_every": 1, "check_every": 1}
MAPS = ("natural_map", "natural_map_velocity", "natural_map_scaled")
MEASURES = (*MAPS, "quality", "infeasibility", "penetration", "complementarity", "dissipation_gap")


def tilted(scene):
    """Return the scene's problem with a mass matrix per body that no compressed form fits."""
    J = scene.J * np.linspace(0.9, 1.1, 6)
    return cs.Problem(J, scene.Minv, scene.b, scene.mu, bodies=scene.bodies)


def apart():
    """Two grids side by side: two islands, one of which is hit ten times as fast."""
    one = cs.scenarios.ball_grid(4, velocity=0.05)
    J, Minv = np.concatenate([one.J, one.J]), np.concatenate([one.Minv, one.Minv])
    shifted = np.where(one.bodies < 0, -1, one.bodies + one.bodies_count)
    bodies, b = np.concatenate([one.bodies, shifted]), np.concatenate([one.b, 10 * one.b])
    return cs.Problem(J, Minv, b, 0.5, bodies=bodies)


PROBLEMS = {
    "balls": lambda: cs.scenarios.ball_grid(6, velocity=0.05),
    "boxes": lambda: cs.scenarios.box_stack(40),
    "plane": lambda: cs.scenarios.disc_pyramid(12),
    "any J": lambda: tilted(cs.scenarios.ball_grid(5, velocity=0.05)),
    "islands": apart,
}


@pytest.mark.parametrize("instructions", ["baseline", "auto"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_over_factors_it_is_that_of_the_data_given(name, instructions):
    problem = PROBLEMS[name]()
    options = {**OPTIONS, "order": "colored", "scheme": "factorized", "islands": False}
    options["instructions"] = instructions
    over_factors = cs.solve(problem, record=MAPS, **options)
    assert over_factors.info["kernel"].startswith("wide")
    # Another recorded measure needs ξ: then every iterate is evaluated with J and M⁻¹.
    given = cs.solve(problem, record=(*MAPS, "penetration"), **options)
    np.testing.assert_array_equal(over_factors.impulses, given.impulses)
    for measure in MAPS:
        expected = given.history[measure]
        found = over_factors.history[measure]
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13 * expected[0])


@pytest.mark.parametrize("tolerance", [1e-4, 1e-9])
def test_what_is_called_converged_is_so_with_the_data_given(tolerance):
    problem = cs.scenarios.box_stack(6)
    options = {"method": "gauss_seidel", "order": "colored", "max_iterations": 100_000}
    result = cs.solve(problem, rtol=tolerance, record=("natural_map_scaled",), **options)
    assert result.converged
    judged = cs.Solver(problem, max_iterations=0).solve(initial=result)
    assert judged.natural_map_scaled == result.natural_map_scaled <= tolerance
    assert result.history["natural_map_scaled"][-1] == result.natural_map_scaled


@pytest.mark.threads
@pytest.mark.parametrize("dtype", ["float64", "float32", "mixed"])
def test_measures_have_the_same_bits_for_any_number_of_threads(dtype):
    problem = cs.scenarios.ball_grid(13, velocity=0.05)
    options = {**OPTIONS, "dtype": dtype, "exact_threads": True, "max_iterations": 12}
    for record in (MAPS, MEASURES):
        first, *others = (
            cs.solve(problem, record=record, threads=threads, **options) for threads in (1, 2, 3, 8)
        )
        for other in others:
            np.testing.assert_array_equal(first.impulses, other.impulses)
            np.testing.assert_array_equal(first.residual_velocities, other.residual_velocities)
            for measure in record:
                np.testing.assert_array_equal(first.history[measure], other.history[measure])


@pytest.mark.parametrize("dtype", ["float64", "float32", "mixed"])
@pytest.mark.parametrize("order", ["natural", "colored"])
def test_a_solve_has_its_own_data_whatever_was_loaded_before(dtype, order):
    problem = cs.scenarios.ball_grid(4, velocity=0.05)
    options = {**OPTIONS, "dtype": dtype, "order": order, "max_iterations": 15, "check_every": 5}
    solver = cs.Solver(problem, **options)
    start = 0.3 * cs.solve(problem, **options).impulses
    calls = (
        {}, {"b": 2 * problem.b}, {}, {"mu": 0.1}, {"b": 3 * problem.b, "mu": 0.9}, {"mu": 0.2},
        {"initial": start}, {}, {"b": problem.b, "initial": start}, {},
    )  # fmt: skip
    for call in calls:
        fresh = cs.Solver(problem, **options).solve(**call)
        again = solver.solve(**call)
        np.testing.assert_array_equal(again.impulses, fresh.impulses)
        assert again.natural_map == fresh.natural_map
        for measure in ("residual", "natural_map"):
            np.testing.assert_array_equal(again.history[measure], fresh.history[measure])
    with pytest.raises(ValueError, match="b\\[3, 1\\] is nan"):
        solver.solve(np.where(np.arange(problem.b.size).reshape(-1, 3) == 10, np.nan, problem.b))
    np.testing.assert_array_equal(solver.solve().impulses, cs.solve(problem, **options).impulses)
