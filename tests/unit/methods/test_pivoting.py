"""Contact problems solved directly: bpp, murty, lemke, keller, dantzig."""

import re

import numpy as np
import pytest

import contactsolve as cs
from reference_mlcp import bounds_of, natural_residual

METHODS = list(cs.mlcp.rules())
ENGINES = list(cs.mlcp.engines())
EVERY = pytest.mark.parametrize("method", METHODS)


def boxed(problem, compliance=1e-6, **changes):
    """The same problem with box friction and a compliance on every row."""
    given = {"sets": cs.sets.box_friction(problem.mu), "compliance": compliance, **changes}
    return cs.Problem(problem.J, problem.Minv, problem.b, bodies=problem.bodies, **given)


def moving_grid(**changes):
    return boxed(cs.scenarios.ball_grid(3, velocity=0.1), **changes)


def dense(problem):
    """A and the bounds that go with impulses of box friction."""
    return problem.delassus().toarray(), problem.b.ravel()


@EVERY
def test_a_box_that_is_pushed_slides_or_sticks(method):
    """By hand: 1 kg on the ground; mu = 0.5 holds a push of 0.4 and not one of 0.9."""
    J = np.zeros((1, 2, 3, 3))
    J[0, 1] = np.eye(3)
    for push, friction in [(0.4, -0.4), (0.9, -0.5)]:
        problem = cs.Problem(
            J,
            np.ones((1, 3)),
            [[-1.0, push, 0.0]],
            bodies=[[-1, 0]],
            sets=cs.sets.box_friction(0.5),
        )
        result = cs.solve(problem, method=method, rtol=1e-12)
        assert result.converged
        np.testing.assert_allclose(result.impulses, [[1.0, friction, 0.0]], atol=1e-15)
        assert result.active[0] == ("stick" if push < 0.5 else "slide")


@EVERY
def test_friction_bounds_are_those_of_the_normal_impulses(method):
    problem = moving_grid()
    result = cs.solve(problem, method=method, rtol=1e-9, max_iterations=300)
    assert result.converged, result.message
    A, b = dense(problem)
    bound = 0.5 * result.impulses[:, :1]
    lo = np.hstack([np.zeros_like(bound), -bound, -bound]).ravel()
    hi = np.hstack([np.full_like(bound, np.inf), bound, bound]).ravel()
    assert natural_residual(A, b, lo, hi, result.impulses.ravel()) < 1e-8
    assert (np.abs(result.impulses[:, 1:]) > 0.99 * bound).any()
    assert result.iterations > 1
    assert result.history["iteration"].tolist() == list(range(result.iterations + 1))
    assert result.history["natural_map"][-1] == result.natural_map


@pytest.mark.parametrize("engine", ENGINES)
def test_all_engines_find_the_same(engine):
    problem = moving_grid()
    options = {"rtol": 1e-9, "max_iterations": 300}
    expected = cs.solve(problem, method="bpp", **options)
    result = cs.solve(problem, method=cs.methods.bpp(engine=engine), **options)
    assert result.info["engine"] == engine
    np.testing.assert_allclose(result.impulses, expected.impulses, rtol=0, atol=1e-7)


def test_interior_steps_come_where_they_are_allowed():
    problem = cs.scenarios.log_tower()
    allowed, alone = (
        cs.solve(problem, method=cs.methods.bpp(interior=interior), max_iterations=5)
        for interior in (True, False)
    )
    assert allowed.info["pivots"] < alone.info["pivots"]
    assert allowed.info["factorizations"] > allowed.info["pivots"] + allowed.iterations
    assert alone.info["factorizations"] <= alone.info["pivots"] + alone.iterations


@EVERY
def test_frictionless_contacts_take_one_solve(method):
    scene = cs.scenarios.ball_grid(3, velocity=0.1)
    problem = boxed(scene, sets=cs.sets.half_line())
    result = cs.solve(problem, method=method, rtol=1e-10)
    assert result.status == "converged"
    assert result.iterations == 1
    assert (result.impulses[:, 1:] == 0).all()
    sweeps = cs.solve(problem, method="gauss_seidel", rtol=1e-10, max_iterations=20000)
    np.testing.assert_allclose(result.impulses, sweeps.impulses, atol=1e-6)


@EVERY
def test_joints_boxes_and_contacts_in_one_problem(method):
    """A pendulum's joint (free), a motor with limits (box) and a contact with friction."""
    joint = np.zeros((1, 2, 3, 6))
    joint[0, 1, :, :3] = np.eye(3)
    joint[0, 1, :, 3:] = [[0, 0.5, 0], [-0.5, 0, 0.3], [0, -0.3, 0]]
    motor = np.zeros((1, 2, 1, 6))
    motor[0, 1, 0, 5] = 1.0
    contact = np.zeros((1, 2, 3, 6))
    contact[0, 1, :, :3] = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    contact[0, 1, :, 3:] = [[0.2, -0.4, 0], [0, 0, -0.2], [0, 0, 0.4]]
    boxes = cs.sets.box_friction(0.4)
    problem = cs.Problem(
        groups=[
            cs.Group(joint, [[-1, 0]], [[0.1, 0.2, -1.0]], sets=cs.sets.free(), compliance=1e-6),
            cs.Group(motor, [[-1, 0]], [[3.0]], lo=-0.05, hi=0.05, compliance=1e-6),
            cs.Group(contact, [[-1, 0]], [[-1, 0.3, 0.1]], sets=boxes, compliance=1e-6),
        ],
        bodies=[cs.Bodies(np.array([[1, 1, 1, 5, 5, 5.0]]))],
    )
    result = cs.solve(problem, method=method, rtol=1e-10, max_iterations=200)
    assert result.converged, result.message
    free, box, friction = result.residual_velocities
    assert np.abs(free).max() < 1e-9
    assert result.impulses[1][0, 0] == -0.05
    assert box[0, 0] > 0
    assert result.impulses[2][0, 0] >= 0
    assert friction[0, 0] > -1e-9


def test_planar_discs_are_intervals():
    scene = cs.scenarios.disc_pyramid(4)
    problem = cs.Problem(
        scene.J, scene.Minv, scene.b, scene.mu, bodies=scene.bodies, compliance=1e-6
    )
    result = cs.solve(problem, method="bpp", rtol=1e-9, max_iterations=500, averaging=0.5)
    assert result.converged, result.message


def test_a_given_matrix_and_its_compliance():
    scene = moving_grid()
    given = cs.Problem.from_delassus(
        scene.delassus(), scene.b, sets=cs.sets.box_friction(0.5), rows=3
    )
    options = {"method": "bpp", "rtol": 1e-9, "max_iterations": 300}
    np.testing.assert_allclose(
        cs.solve(given, **options).impulses, cs.solve(scene, **options).impulses, atol=1e-7
    )


def test_an_unsymmetric_matrix_is_told():
    scene = boxed(cs.scenarios.box_stack(1), compliance=1e-3)
    A = scene.delassus().toarray()
    A[0, 1] += 1e-9
    given = cs.Problem.from_delassus(A, scene.b, sets=cs.sets.box_friction(0.5))
    result = cs.solve(given, method="bpp")
    assert "(A + Aᵀ)/2 is factored" in result.info["warnings"][0]


def test_a_heavy_box_on_light_ones():
    """Mass ratio 1000: sweeps do not get there in thousands, one solve does."""
    problem = boxed(cs.scenarios.box_stack(10, top_mass=1000.0))
    result = cs.solve(problem, method="bpp", rtol=1e-9)
    assert result.converged
    sweeps = cs.solve(problem, method="gauss_seidel", rtol=1e-9, max_iterations=2000)
    assert not sweeps.converged


@EVERY
def test_a_result_starts_the_next_solve(method):
    problem = moving_grid()
    solver = cs.Solver(problem, method=method, rtol=1e-8, max_iterations=300)
    first = solver.solve()
    again = solver.solve(initial=first)
    assert again.iterations == 0
    near = solver.solve(b=1.001 * problem.b, initial=first)
    cold = solver.solve(b=1.001 * problem.b)
    assert near.converged
    assert near.info["pivots"] < cold.info["pivots"] or method in ("lemke", "dantzig")
    np.testing.assert_allclose(near.impulses, cold.impulses, atol=1e-5)


def test_no_tolerance_makes_that_many_solves():
    result = cs.solve(moving_grid(), method="bpp", rtol=None, atol=None, max_iterations=7)
    assert result.iterations == 7
    assert result.status == "max_iterations"
    one = cs.solve(moving_grid(), method="bpp", max_iterations=1)
    assert one.status == "max_iterations"
    assert "updated friction bounds" in one.message


def test_averaging_weighs_the_bounds():
    options = {"method": "bpp", "rtol": None, "atol": None}
    problem = moving_grid()
    none = cs.solve(problem, max_iterations=4, **options)
    half = cs.solve(problem, max_iterations=4, averaging=0.5, **options)
    assert np.abs(none.impulses - half.impulses).max() > 1e-6
    assert cs.solve(problem, method="bpp", averaging=0.5, rtol=1e-8, max_iterations=200).converged


def test_measures_are_recorded_and_stop():
    problem = moving_grid()
    recorded = ("residual", "merit", "natural_map", "quality", "delta_norm", "penetration")
    result = cs.solve(problem, method="bpp", record=recorded, max_iterations=50)
    assert np.isnan(result.history["residual"][0])
    assert np.isfinite(result.history["residual"][1:]).all()
    changes = result.history["residual"]
    stopped = cs.solve(
        problem, method="bpp", stop="residual", atol=float(changes[5]), rtol=None, record=recorded
    )
    assert stopped.converged
    assert stopped.iterations == 5
    assert cs.solve(problem, method="bpp", stop="natural_map", atol=1e3).iterations == 0


def test_callbacks_and_records():
    seen = []
    result = cs.solve(
        moving_grid(), method="bpp", callback=lambda s: seen.append(s.iteration), record_every=3
    )
    assert seen == list(range(1, result.iterations + 1))
    assert result.history["iteration"][-1] == result.iterations
    assert set(np.diff(result.history["iteration"])[:-1]) == {3.0}

    def stop(state):
        if state.iteration == 2:
            raise StopIteration

    stopped = cs.solve(moving_grid(), method="bpp", callback=stop)
    assert stopped.status == "stopped"
    assert stopped.iterations == 2


def test_islands_are_counted():
    J = np.zeros((3, 2, 1, 1))
    J[:, 1] = 1.0
    problem = cs.Problem(J, np.ones((3, 1)), [-1.0, 2.0, -3.0], bodies=[[-1, 0], [-1, 1], [-1, 2]])
    result = cs.solve(problem, method="bpp")
    assert result.info["islands"] == 3
    assert result.impulses.ravel().tolist() == [1.0, 0.0, 3.0]


def test_contacts_between_immovable_bodies_keep_their_impulse():
    J = np.ones((2, 2, 1, 1))
    problem = cs.Problem(J, [[1.0], [0.0]], [-1.0, -1.0], bodies=[[-1, 0], [-1, 1]])
    result = cs.solve(problem, method="bpp", initial=[0.5, 0.25])
    assert result.impulses.ravel().tolist() == [1.0, 0.25]
    assert "immovable" in result.info["warnings"][0]


def test_updated_problems_are_factored_anew():
    problem = moving_grid()
    solver = cs.Solver(problem, method="bpp", rtol=1e-8, max_iterations=300)
    solver.solve()
    problem.update(Minv=2 * problem.Minv)
    fresh = cs.solve(problem, method="bpp", rtol=1e-8, max_iterations=300)
    np.testing.assert_array_equal(solver.solve().impulses, fresh.impulses)


def test_an_empty_problem():
    problem = cs.Problem(np.zeros((0, 2, 3, 6)), np.ones((1, 6)), [], bodies=np.zeros((0, 2), int))
    assert cs.solve(problem, method="bpp").converged


def test_lemke_takes_contacts_that_share_their_load():
    problem = boxed(cs.scenarios.box_stack(2), compliance=None)
    result = cs.solve(problem, method="lemke", rtol=1e-9)
    assert result.converged


def test_zeros_on_the_diagonal_are_no_immovable_bodies():
    both = cs.Problem.from_delassus([[0.0, 1.0], [1.0, 0.0]], [-1.0, -1.0], rows=1)
    result = cs.solve(both, method="lemke")
    assert result.converged
    assert result.info["warnings"] == []
    beside = cs.Problem.from_delassus(np.diag([1.0, 0.0]), [-1.0, 0.0], rows=1)
    (warning,) = cs.solve(beside, method="lemke").info["warnings"]
    assert warning.startswith("1 contact between immovable bodies (the first is contact 1)")


@pytest.mark.parametrize("boxes", [2, 3, 6])
def test_the_compliance_named_cures_all_rows_at_once(boxes):
    text = r"row \d of contact \d+; a compliance of (\S+) on every row would cure it"
    with pytest.raises(ValueError, match=text) as failure:
        cs.solve(boxed(cs.scenarios.box_stack(boxes), compliance=None), method="bpp")
    cure = float(re.search(text, str(failure.value))[1])
    cured = boxed(cs.scenarios.box_stack(boxes), compliance=cure)
    assert cs.solve(cured, method="bpp").converged


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": "reverse"}, "order='reverse' is for methods that sweep"),
        ({"order": [0]}, "order='given' is for methods that sweep"),
        ({"scheme": "factorized"}, "scheme='factorized' is for methods that sweep"),
        ({"local": "block"}, "local='block' is for"),
        ({"r_factor": 0.5}, "r_factor='a number' is for"),
        ({"r_factor": "global"}, "r_factor='global' is for"),
        ({"bound": "previous"}, "bound='previous' is for"),
        ({"relaxation": 1.5}, "relaxation='1.5' is for"),
        ({"averaging": "adjacent"}, "averaging='adjacent' is for"),
        ({"rollback": 2}, "rollback='2' is for"),
        ({"dtype": "float32"}, "dtype='float32': method='bpp' computes in float64"),
    ],
)
def test_what_does_not_apply_is_refused(options, message):
    J = np.zeros((1, 2, 1, 3))
    J[0, 1, 0, 1] = 1.0
    problem = cs.Problem(J, np.ones((1, 3)), [-1.0], bodies=[[-1, 0]])
    with pytest.raises(ValueError, match=message):
        cs.Solver(problem, **({"method": "bpp"} | options))


@EVERY
def test_discs_are_refused_with_advice(method):
    with pytest.raises(ValueError, match=rf"method='{method}' takes .* 'disc'.*box_friction"):
        cs.solve(cs.scenarios.box_stack(1), method=method)


def test_methods_are_told_apart():
    assert set(METHODS) < set(cs.methods.names())
    direct = {name for name, method in cs.methods.describe().items() if method.direct}
    assert set(cs.methods.sweeping()) < set(cs.methods.names()) - direct
    assert set(METHODS) < direct
    assert str(cs.methods.bpp(engine="skyline", stall_steps=3)) == (
        "bpp(engine=skyline, stall_steps=3)"
    )
    table = cs.compare(
        moving_grid(),
        [cs.Method(cs.methods.bpp(engine="skyline")), "murty"],
        max_iterations=300,
        until=1e-6,
    )
    assert [row.method for row in table] == ["bpp(engine=skyline)", "murty"]


# Steps at which bounds that are taken as they are found go round in circles.
CYCLING = [("forwarder", 39), ("forwarder", 9), ("forklift", 9), ("winch", 119)]


def outside(problem, impulses):
    """The natural residual of rows bounded by these impulses, over those of their block."""
    A, at, worst = problem.delassus().toarray(), 0, 0.0
    x, b = (np.concatenate([v.ravel() for v in all_of]) for all_of in (impulses, problem.b))
    w, rho = A @ x + b, 1.0 / np.diag(A)
    lo, hi = bounds_of(problem, impulses)
    defects = np.abs(x - np.clip(x - rho * w, lo, hi))
    for own in impulses:
        rows = slice(at, at + own.size)
        at += own.size
        step, defect = (values[rows].reshape(own.shape) for values in (rho, defects))
        scale = np.abs(own).max(axis=1, keepdims=True) + step * np.abs(b).max()
        worst = max(worst, float((defect / scale).max()))
    return worst


@pytest.mark.parametrize(("scene", "step"), CYCLING)
def test_friction_bounds_that_cycle_settle_by_default(scene, step):
    problem = cs.scenarios.get(scene)(step)
    fixed = cs.solve(problem, method="bpp", averaging=1, max_iterations=300)
    assert not fixed.converged
    results = [
        cs.solve(problem, method="bpp", threads=threads, exact_threads=True) for threads in (1, 2)
    ]
    assert all(result.converged and result.iterations < 200 for result in results)
    assert outside(problem, results[0].impulses) < 3e-6
    for one, two in zip(*(result.impulses for result in results), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(("scene", "step"), [("chain", 59), ("offshore", 159), ("winch", 79)])
def test_default_bounds_take_no_more_solves_than_plain_ones(scene, step):
    problem = cs.scenarios.get(scene)(step)
    fixed = cs.solve(problem, method="bpp", averaging=1)
    default = cs.solve(problem, method="bpp")
    assert fixed.converged
    assert default.converged
    assert default.iterations <= fixed.iterations


def test_averaging_is_no_nan():
    with pytest.raises(ValueError, match="averaging is nan"):
        cs.solve(moving_grid(), method="bpp", averaging=float("nan"))


BEGIN_WITH_SETS = [name for name in METHODS if name != "lemke"]


@pytest.mark.parametrize("method", BEGIN_WITH_SETS)
def test_what_contacts_did_starts_the_next_solve(method):
    scene = cs.scenarios.ball_grid(3, velocity=0.1)
    problem = boxed(scene, sets=cs.sets.half_line())
    solver = cs.Solver(problem, method=method, rtol=1e-10)
    cold = solver.solve()
    assert {"open", "slide"} <= set(cold.active)
    assert cold.info["pivots"] > 0
    warm = solver.solve(initial=cold.active)
    assert warm.info["pivots"] == 0
    np.testing.assert_allclose(warm.impulses, cold.impulses, rtol=0, atol=1e-12)
    near = solver.solve(b=1.01 * problem.b, initial=cold.active)
    assert near.info["pivots"] < cold.info["pivots"]
    assert solver.solve().info["pivots"] == cold.info["pivots"]  # and is forgotten


@pytest.mark.parametrize("method", BEGIN_WITH_SETS)
def test_with_friction_the_answer_is_that_of_a_cold_start(method):
    solver = cs.Solver(moving_grid(), method=method, rtol=1e-9, max_iterations=300)
    cold = solver.solve()
    warm = solver.solve(initial=cold.active)
    assert warm.converged
    assert warm.info["pivots"] < cold.info["pivots"]
    np.testing.assert_allclose(warm.impulses, cold.impulses, rtol=0, atol=1e-7)


def motors(count=1):
    """A motor within its limits on each of some bodies, and a ball below each."""
    motor, contact = np.zeros((count, 2, 2, 3)), np.zeros((count, 2, 3, 3))
    motor[:, 1, :, :2] = np.eye(2)
    contact[:, 1] = np.eye(3)[[2, 0, 1]]
    bodies = np.stack([np.full(count, -1), np.arange(count)], axis=1)
    speeds, falls = np.tile([3.0, -3.0], (count, 1)), np.tile([-1.0, 0.0, 0.0], (count, 1))
    boxes = cs.sets.box_friction(0.5)
    return cs.Problem(
        groups=[
            cs.Group(motor, bodies, speeds, lo=-0.5, hi=0.5, compliance=1e-3),
            cs.Group(contact, bodies, falls, sets=boxes, compliance=1e-3),
        ],
        bodies=[cs.Bodies(np.ones((count, 3)))],
    )


@pytest.mark.parametrize("count", [1, 400])
def test_rows_of_boxes_begin_where_they_were(count):
    """With 400 of them, as islands of their own."""
    solver = cs.Solver(motors(count), method="bpp", rtol=1e-10, max_iterations=100)
    cold = solver.solve()
    assert cold.active[0][-1].tolist() == ["low", "high"]
    warm = solver.solve(initial=cold.active)
    assert warm.converged
    assert warm.info["pivots"] < cold.info["pivots"]
    wrong = [np.full_like(cold.active[0], "high"), cold.active[1]]
    assert solver.solve(initial=wrong).info["pivots"] > warm.info["pivots"]
    np.testing.assert_allclose(solver.solve(initial=wrong).impulses[0], cold.impulses[0], atol=1e-9)


@pytest.mark.parametrize("method", ["gauss_seidel", "nncg", "subspace", "lemke"])
def test_methods_without_index_sets_say_what_they_take(method):
    problem = moving_grid()
    words = np.full(problem.contacts, "stick")
    with pytest.raises(ValueError, match=f"method='{method}' starts from impulses"):
        cs.solve(problem, method=method, initial=words)


def test_activities_that_do_not_fit_are_refused():
    solver = cs.Solver(motors(), method="bpp")
    with pytest.raises(ValueError, match=r"initial\[1\]\[0\] is 'low'|initial\[1\]\[0\] is low"):
        solver.solve(initial=[np.array([["low", "high"]]), np.array(["low"])])
    with pytest.raises(ValueError, match=r"initial\[0\]\[0, 1\] is shut: known are free, low"):
        solver.solve(initial=[np.array([["low", "shut"]]), np.array(["open"])])
    with pytest.raises(ValueError, match=r"initial\[0\] has shape \(2,\): \(1, 2\) is needed"):
        solver.solve(initial=[np.array(["low", "high"]), np.array(["open"])])
    with pytest.raises(ValueError, match="initial has 1 groups: the problem has 2"):
        solver.solve(initial=[np.array([["low", "high"]])])


def test_figures_are_those_that_the_method_declares():
    """Counts of the cache are there with the engine `cached`, those of reuse if there was any."""
    problem = cs.scenarios.ball_grid(3, rows=1)
    described = cs.methods.describe()["bpp"].figures
    info = cs.solve(problem, method=cs.methods.bpp(engine="cached")).info
    told = {name.partition(".")[0] for name in described}
    assert told == {"pivots", "single_pivots", "factorizations", "cache", "reuse"}
    assert told - info.keys() == {"reuse"}
    assert {f"cache.{name}" for name in info["cache"]} < described.keys()
    assert all(isinstance(value, int) for value in (info["pivots"], *info["cache"].values()))
    assert not {"cache", "reuse"} & cs.solve(problem, method="bpp").info.keys()
