"""What a result says of its contacts: active, check, energy; and S2's criteria that end a solve."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

import contactsolve as cs
from agreement import EXACTLY
from reference_numpy import (
    ReferenceProblem,
    delta_element,
    delta_norm,
    infeasibility,
    island_speeds,
    random_problem,
    run,
    set_defects,
)

GRAVITY, STEP = 9.81, 0.01


def blocks_on_inclines(angles, mu=0.5, masses=1.0, normal_speed=0.0, name="disc"):
    """One block on each incline, rows (normal, down the slope, across)."""
    angles = np.atleast_1d(angles)
    count = len(angles)
    J = np.zeros((count, 2, 3, 3))
    J[:, 1] = np.eye(3)
    fall = GRAVITY * STEP
    b = np.stack([normal_speed - fall * np.cos(angles), fall * np.sin(angles), 0 * angles], axis=1)
    minv = np.ones((count, 3)) / np.broadcast_to(masses, (count,))[:, None]
    bodies = np.column_stack([np.full(count, -1), np.arange(count)])
    return cs.Problem(J, minv, b, bodies=bodies, sets=getattr(cs.sets, name)(mu))


# ---- active -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ("float64", "float32"))
@pytest.mark.parametrize("name", ("disc", "box_friction"))
def test_contacts_open_stick_and_slide(name, dtype):
    """Below and above atan(mu), of a gram and of four thousand tons; the last one is pulled off."""
    angles = np.arctan(0.5) + np.array([-0.2, -1e-3, 1e-3, 0.2, 0.0])
    masses = [1e-3, 4e6, 4e6, 1e-3, 1.0]
    problem = blocks_on_inclines(
        angles, 0.5, masses, normal_speed=np.array([0, 0, 0, 0, 1.0]), name=name
    )
    result = cs.solve(problem, dtype=dtype)
    assert result.active.tolist() == ["stick", "stick", "slide", "slide", "open"]


@pytest.mark.parametrize("scheme", ("matrix", "factorized"))
def test_a_box_that_sticks_at_its_edge_is_not_sliding(scheme):
    """Four corners share friction in no unique way: all may be at their bound and none slide."""
    for angle, wanted in ((np.arctan(0.5) - 0.01, "stick"), (np.arctan(0.5) + 0.01, "slide")):
        size = np.array([1.0, 0.8, 0.3])
        x, y, z = size / 2
        J = np.zeros((4, 2, 3, 6))
        for k, arm in enumerate(([-x, -y, -z], [x, -y, -z], [x, y, -z], [-x, y, -z])):
            axes = np.eye(3)[[2, 0, 1]]
            J[k, 1] = [np.concatenate([axis, np.cross(arm, axis)]) for axis in axes]
        squares = size**2
        minv = np.concatenate([[1.0] * 3, 12.0 / (squares.sum() - squares)])[None]
        b = np.tile(GRAVITY * STEP * np.array([-np.cos(angle), np.sin(angle), 0.0]), (4, 1))
        for rtol in (1e-4, 1e-8):
            result = cs.solve(
                J, minv, b, 0.5, bodies=[[-1, 0]] * 4, scheme=scheme, rtol=rtol, max_iterations=9999
            )
            assert result.converged
            closed = result.active[result.active != "open"]
            assert set(closed) == {wanted}


def test_frictionless_contacts_slide_where_they_move():
    still = blocks_on_inclines([0.0, 0.3])
    problem = cs.Problem(still.J, still.Minv, still.b, bodies=still.bodies)
    assert cs.solve(problem).active.tolist() == ["stick", "slide"]
    normal_only = cs.solve([[[[0.0]], [[1.0]]]], [[1.0]], [[-1.0]], bodies=[[-1, 0]])
    assert normal_only.active.tolist() == ["stick"]


def test_a_wheel_that_rolls_without_sliding_sticks():
    """The rolling moment is at its bound mu_r lambda_n, the tangential impulse is not."""
    J = np.zeros((2, 2, 5, 5))
    J[:, 1] = np.eye(5)
    b = np.array([[-1.0, 0.1, 0, 2.0, 0], [-1.0, 3.0, 0, 0.01, 0]])
    result = cs.solve(
        J, np.ones((2, 5)), b, bodies=[[-1, 0], [-1, 1]], sets=cs.sets.rolling(0.5, 0.2)
    )
    assert result.active.tolist() == ["stick", "slide"]
    np.testing.assert_allclose(result.impulses, [[1, -0.1, 0, -0.2, 0], [1, -0.5, 0, -0.01, 0]])


def test_rows_of_boxes_and_free_blocks():
    b = np.array([[-3.0, 3.0, 0.5], [1.0, -1.0, 0.0]])
    problem = cs.Problem.from_delassus(
        np.eye(6), b, sets=cs.sets.box([[-1, -1, -1], [-1, 0.0, 0]], 1.0)
    )
    result = cs.solve(problem)
    # The last row grazes its lower bound: no velocity holds it there, it counts as low.
    assert result.active.tolist() == [["high", "low", "free"], ["low", "high", "low"]]
    unbounded = cs.Problem.from_delassus(np.eye(3), b[:1], sets=cs.sets.box(-np.inf, np.inf))
    assert cs.solve(unbounded).active.tolist() == [["free"] * 3]
    free = cs.Problem.from_delassus(np.eye(3), b[:1], sets=cs.sets.free())
    assert cs.solve(free).active.tolist() == [["free"] * 3]


def test_active_judges_with_the_friction_of_the_solve():
    problem = blocks_on_inclines([np.arctan(0.5) - 0.05])
    solver = cs.Solver(problem)
    assert solver.solve().active.tolist() == ["stick"]
    result = solver.solve(mu=0.3)
    assert result.active.tolist() == ["slide"]
    assert pickle.loads(pickle.dumps(result)).active.tolist() == ["slide"]
    assert "_parameters" not in result.to_dict()
    pulled = solver.solve(b=problem.b + np.array([1.0, 0, 0]))
    assert pulled.active.tolist() == ["open"]


def test_active_without_contacts():
    empty = cs.Problem.from_delassus(np.zeros((0, 0)), np.zeros((0, 3)), np.zeros(0))
    result = cs.solve(empty)
    assert result.active.shape == (0,)
    assert len(result.check()) == 0
    assert result.energy().contact_work == 0.0


# ---- check --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "rows"), (("disc", 3), ("rolling", 5), ("box", 2)))
def test_check_against_the_reference(name, rows):
    rng = np.random.default_rng(12)
    arrays = random_problem(rng, 8, 4, rows, 6, name)
    sets = getattr(cs.sets, name)(**arrays.set_parameters())
    problem = cs.Problem(arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=sets)
    reference = ReferenceProblem.from_arrays(arrays)
    result = cs.solve(problem, max_iterations=2, **EXACTLY)
    check = result.check(100)
    assert len(check) == check.total == 8
    lam = result.impulses.ravel()
    xi, speed = reference.xi(lam).reshape(8, rows), island_speeds(reference)
    defects = iter(set_defects(reference, lam))
    for place, k in enumerate(np.argsort(check.contact)):
        mine = [next(defects) for _ in reference.sets[place].coupled()]
        scaled = [d.delta / (d.rho * speed[d.block]) for d in mine if d.delta > 0]
        np.testing.assert_allclose(check.natural_map[k], max(d.delta for d in mine), atol=1e-12)
        np.testing.assert_allclose(check.natural_map_scaled[k], max(scaled, default=0), atol=1e-12)
        # Of the sets of one block, one scale: the one that is worst by impulse over rho.
        off = max((d.delta / d.rho for d in mine if d.delta > 0), default=0)
        np.testing.assert_allclose(check.velocity_defect[k], off, atol=1e-12)
        gap = np.nan if name == "box" else xi[place, 0]
        np.testing.assert_allclose(check.gap_velocity[k], gap, atol=1e-12)
    assert np.all(np.diff(check.natural_map_scaled) <= 0)
    np.testing.assert_allclose(
        check.cone_violation.max(), infeasibility(reference, lam), atol=1e-12
    )
    assert result.check(2).contact.tolist() == check.contact[:2].tolist()


@pytest.mark.parametrize("sweeps", [0, 3, 40])
@pytest.mark.parametrize("scene", ["friction", "cones", "groups"])
def test_result_check_and_penetration_say_the_same(scene, sweeps):
    """The worst contact, what of it and by how many m/s; and the fastest that approaches."""
    stack = cs.scenarios.box_stack(4, top_mass=50)
    problem = {
        "friction": lambda: stack,
        "cones": lambda: cs.Problem(
            stack.J,
            stack.Minv,
            stack.b,
            bodies=stack.bodies,
            sets=cs.sets.second_order_cone(stack.mu),
        ),
        "groups": lambda: cs.scenarios.log_tower(2),
    }[scene]()
    result = cs.solve(
        problem,
        method="gauss_seidel",
        max_iterations=sweeps,
        record=("natural_map_scaled", "penetration"),
        **EXACTLY,
    )
    check = result.check(problem.contacts)
    assert check.contact[0] == result.worst_contact
    told = f"at contact {check.contact[0]}, {check.what[0]} off by {check.velocity_defect[0]:.1e}"
    assert result.worst == f"{told} m/s"
    assert check.natural_map_scaled[0] == result.natural_map_scaled
    fastest = -np.nanmin(check.gap_velocity)
    assert result.history["penetration"][-1] == max(fastest, 0.0)
    # A normal that holds nothing back misses its law by what it approaches with.
    open_ones = (np.array(check.what) == "normal") & (check.gap_velocity < 0)
    np.testing.assert_allclose(
        check.velocity_defect[open_ones], -check.gap_velocity[open_ones], rtol=1e-12
    )


def test_check_finds_the_planted_violations():
    """Impulses off their cone by 0.3 along one axis, and one contact left to fall."""
    problem = blocks_on_inclines([0.1, 0.1, 0.1])
    start = cs.solve(problem, rtol=1e-14).impulses.copy()
    start[1] += [0.0, 0.5 * start[1, 0] - start[1, 1] + 0.3, 0.0]
    start[2] = 0.0
    result = cs.solve(problem, initial=start, max_iterations=0)
    check = result.check()
    worst = check.contact.tolist()
    assert worst[-1] == 0
    np.testing.assert_allclose(check.cone_violation[worst.index(1)], 0.3, rtol=1e-14)
    falling = -GRAVITY * STEP * np.cos(0.1)
    np.testing.assert_allclose(check.gap_velocity[worst.index(2)], falling, rtol=1e-14)


def test_check_is_a_table():
    result = cs.solve(blocks_on_inclines([0.1] * 12))
    check = result.check(3)
    title, head, units, *rows = repr(check).splitlines()
    assert title == "Check(the worst 3 of 12 contacts)"
    assert len(rows) == 3
    # Columns are aligned to the right: the units end where the names above do.
    for name, unit in (("gap velocity", "[m/s]"), ("cone violation", "[N s]"), ("scaled", "[1]")):
        end = head.index(name) + len(name)
        assert units[end - len(unit) : end] == unit
    html = check._repr_html_()
    assert html.count("<tr>") == 4
    assert "gap velocity [m/s]" in html
    assert result.check(0).contact.size == 0


# ---- energy -------------------------------------------------------------------------------------


def test_work_of_the_impulses_is_the_change_of_kinetic_energy():
    """1/2 lambda^T (b + xi) = T(u + M^-1 J^T lambda) - T(u), with b = J u, at any lambda."""
    rng = np.random.default_rng(6)
    arrays = random_problem(rng, 7, 4, 3, 6, "disc", awkward=False)
    reference = ReferenceProblem.from_arrays(arrays)
    mass = np.linalg.inv(reference.inverse_mass)
    u = rng.normal(size=(4, 6))
    b = (reference.jacobian @ u.ravel()).reshape(7, 3)

    def kinetic(velocity):
        return 0.5 * velocity.ravel() @ mass @ velocity.ravel()

    problem = cs.Problem(arrays.J, arrays.Minv, arrays.b, arrays.mu, bodies=arrays.bodies)
    solver = cs.Solver(problem, max_iterations=3, **EXACTLY)
    result = solver.solve(b=b)
    gain = kinetic(u + result.body_velocity_change) - kinetic(u)
    energy = result.energy()
    np.testing.assert_allclose(energy.contact_work, gain, atol=1e-12 * kinetic(u))
    assert energy.before is None
    assert gain < 0


def test_a_known_state_gives_kinetic_energies():
    """A ball of 2 kg, falling at 3 m/s and stopped: 9 J before, and what a step adds."""
    J = np.zeros((1, 2, 1, 3))
    J[0, 1, 0, 2] = 1.0
    problem = cs.Problem.from_state(
        J,
        Minv=[[0.5, 0.5, 0.5]],
        velocity=[[0.0, 0.0, -3.0]],
        impulse=[[0.0, 0.0, -0.2]],
        bodies=[[-1, 0]],
    )
    energy = cs.solve(problem).energy()
    np.testing.assert_allclose((energy.before, energy.without_contact), (9.0, 9.61), rtol=1e-15)
    assert abs(energy.after) <= 1e-30
    np.testing.assert_allclose(energy.contact_work, -9.61, rtol=1e-15)


# ---- S2's criteria ------------------------------------------------------------------------------


def frictional_problem():
    arrays = random_problem(np.random.default_rng(7), 6, 4, 3, 6, "disc")
    problem = cs.Problem(arrays.J, arrays.Minv, arrays.b, arrays.mu, bodies=arrays.bodies)
    return problem, ReferenceProblem.from_arrays(arrays)


RATIOS = {"delta_element": delta_element, "delta_norm": delta_norm}


@pytest.mark.parametrize("method", ("jacobi", "gauss_seidel"))
@pytest.mark.parametrize("name", RATIOS)
def test_criteria_of_s2_are_recorded_and_stop_at_one(name, method):
    problem, reference = frictional_problem()
    rtol, atol = 1e-3, 1e-5
    result = cs.solve(
        problem,
        method=method,
        scheme="matrix",
        stop=name,
        rtol=rtol,
        atol=atol,
        record=tuple(RATIOS),
        rollback=0,
    )
    assert result.converged
    assert f"{name} with rtol=0.001" in result.message
    iterates = run(reference, result.iterations, solver=method)
    for column, ratio in RATIOS.items():
        pairs = zip(iterates[1:], iterates[:-1], strict=True)
        wanted = [ratio(new, old, rtol, atol) for new, old in pairs]
        # A change is a difference of impulses of order one: it is rounded by their unit.
        np.testing.assert_allclose(
            result.history[column][1:], wanted, rtol=1e-9, atol=1e-13 / atol, err_msg=column
        )
        assert np.isnan(result.history[column][0])
    assert np.all(result.history[name][1:-1] > 1)
    assert result.history[name][-1] <= 1


def test_criteria_of_s2_where_nothing_moves():
    """No change is met even without a tolerance to divide by; a change with none is not."""
    problem, _ = frictional_problem()
    at_rest = cs.Problem(
        problem.J, problem.Minv, np.abs(problem.b), problem.mu, bodies=problem.bodies
    )
    still = at_rest.b * [1, 0, 0]
    result = cs.Solver(at_rest, stop="delta_element", rtol=1e-6).solve(b=still)
    assert (result.converged, result.iterations) == (True, 1)
    moved = cs.solve(problem, stop="delta_norm", rtol=1e-6, record=("delta_norm",))
    assert moved.history["delta_norm"][1] == np.inf


def test_criteria_of_s2_need_a_tolerance():
    problem, _ = frictional_problem()
    with pytest.raises(ValueError, match="stop='delta_norm' needs rtol or atol"):
        cs.Solver(problem, stop="delta_norm", rtol=0.0)
    with pytest.raises(ValueError, match="stop='residual' is compared with atol, which is 0"):
        cs.Solver(problem, stop="residual")
    fixed = cs.solve(problem, record=("delta_norm",), max_iterations=3, **EXACTLY)
    assert np.all(np.isnan(fixed.history["delta_norm"]))


def test_a_rollback_is_no_standstill():
    """Jacobi on a stack grows and is set back: the change of the failed sweep is what counts."""
    problem = cs.scenarios.box_stack(6)
    options = {"method": "jacobi", "relaxation": 1.9, "rollback_growth": 1.0}
    result = cs.solve(problem, stop="delta_norm", rtol=1e-8, max_iterations=50, **options)
    assert result.info["rollbacks"] >= 1
    assert not result.converged


@pytest.mark.parametrize("name", ("penetration", "complementarity", "dissipation_gap"))
def test_measures_of_contacts_need_contacts(name):
    joints = cs.Problem.from_delassus(np.eye(3), np.ones((1, 3)), sets=cs.sets.free())
    with pytest.raises(ValueError, match=f"'{name}' does not fit this problem"):
        cs.Solver(joints, record=(name,))


def test_fclib_error_knows_circular_cones_only():
    problem = blocks_on_inclines([0.1], name="box_friction")
    with pytest.raises(ValueError, match="circular friction cones"):
        cs.Solver(problem, record=("fclib_error",))


def test_the_worst_set_is_told_in_words():
    """By the scale that the stop rule looks at: a light body falls beside a heavy one at rest."""
    light = cs.scenarios.box_stack(1)
    result = cs.solve(light, method="gauss_seidel", max_iterations=3)
    check = result.check(1)
    assert result.worst_contact == check.contact[0]
    assert result.worst.startswith(f"at contact {result.worst_contact}, ")
    assert result.worst in repr(result)
    assert result.worst in result._repr_html_()
    assert f"worst {result.worst}" in result.message
    off = float(re.search(r"off by (\S+) m/s$", result.worst)[1])
    assert off == pytest.approx(natural_map_velocity(light, result), rel=0.1)


def natural_map_velocity(problem, result):
    judged = cs.Solver(
        problem, method="jacobi", max_iterations=0, record=("natural_map_velocity",)
    ).solve(initial=result)
    return judged.history["natural_map_velocity"][0]


def test_the_worst_set_is_by_scale_not_by_impulse():
    """The heavy body's impulse is off by more newton seconds, the light one's by more velocity."""
    A = np.diag([1e-6, 1.0])
    problem = cs.Problem.from_delassus(A, [-1.0, -1.0], rows=1)
    initial = np.array([[1e6 * (1 - 1e-5)], [1 - 1e-3]])
    result = cs.solve(problem, method="gauss_seidel", max_iterations=0, initial=initial)
    assert result.natural_map == pytest.approx(10.0)
    assert result.worst_contact == 1
    assert result.worst == "at contact 1, normal off by 1.0e-03 m/s"
    assert result.check(1).contact[0] == 1


def test_words_of_sets():
    wheel = cs.scenarios.box_stack(2)
    cone = cs.Problem(
        wheel.J, wheel.Minv, wheel.b, bodies=wheel.bodies, sets=cs.sets.second_order_cone(0.5)
    )
    assert ", cone off by " in cs.solve(cone, method="gauss_seidel", max_iterations=2).worst
    assert ", normal off by " in cs.solve(wheel, method="gauss_seidel", max_iterations=1).worst
    none = cs.Problem(
        np.zeros((0, 2, 3, 6)), np.ones((1, 6)), [], 0.5, bodies=np.zeros((0, 2), int)
    )
    assert cs.solve(none).worst == "no contact"
