"""Worlds: what is refused, what is told, what stays as it is."""

import pickle
import signal
import warnings

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import dynamics
from interruption import alarm

BALL = dynamics.Sphere(0.1)
GROUND = dynamics.HalfSpace([0.0, 0.0, 1.0])


@pytest.fixture
def scene():
    made = dynamics.World()
    made.add_fixed(GROUND)
    return made


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dimension": 4}, "dimension is 4: 2 or 3 is needed"),
        ({"gravity": [0, 0]}, "gravity has 2 entries; 3 are needed"),
        ({"gravity": [0, 0, np.nan]}, r"gravity\[2\] is nan"),
        ({"time_step": 0.0}, "time_step is 0: a number above 0 is needed"),
        ({"activation": -1.0}, "activation is -1: a number of at least 0 is needed"),
        ({"stepper": "euler"}, "stepper.*euler.*moreau"),
        ({"gyroscopic": "later"}, "gyroscopic is 'later'"),
        ({"method": "gaus_seidel"}, "gauss_seidel"),
        ({"order": [1, 0, 2]}, "the contacts of a world change"),
        ({"order": "given"}, "the contacts of a world change"),
        ({"order": "colred"}, "order: 'colred' is unknown; .* did you mean 'colored'"),
        ({"device": "gpu"}, "device: 'gpu' is unknown; known: cpu, cuda, cuda-emulated"),
        ({"rollback_growth": 0}, "rollback_growth is 0: it must be at least 1"),
        ({"averaging": float("nan")}, "averaging is nan: a weight is above 0, at most 1"),
        ({"stop": "map"}, "stop: 'map' is unknown"),
        ({"instructions": "avx1"}, "instructions: 'avx1' is unknown"),
        ({"record": ("merit", "map")}, "record: 'map' is unknown"),
        ({"rtol": -1.0}, "rtol"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        dynamics.World(**options)


@pytest.mark.parametrize("name", ["relaxation", "r_factor", "quality_r"])
def test_options_of_a_wrong_type_are_named(name):
    with pytest.raises(TypeError, match=f"^{name} is None: a number is needed"):
        dynamics.World(**{name: None})


def test_limits_may_be_left_to_the_solver():
    options = {"max_iterations": None, "max_seconds": "auto", "method": "gauss_seidel"}
    scene = dynamics.World(**options, rtol=None, atol=None)
    scene.add_fixed(GROUND)
    scene.add_body(BALL, [0, 0, 0.1], density=1.0)
    scene.step()
    assert scene.info["iterations"] == 1000


def test_unknown_options_are_told():
    with pytest.raises(TypeError, match="time_step"):
        dynamics.World(timestep=0.1)
    with pytest.raises(TypeError, match="max_setup_seconds"):
        dynamics.World(max_setup_seconds=1)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, TypeError, "mass or density is needed"),
        ({"mass": 1.0, "density": 1.0}, TypeError, "give either mass or density"),
        ({"mass": 0.0}, ValueError, r"mass\[0\] is 0: a number above 0 is needed"),
        ({"mass": np.nan}, ValueError, r"mass\[0\] is nan"),
        ({"mass": 1.0, "inertia": [1, -1, 1]}, ValueError, "not positive definite"),
        ({"mass": 1.0, "inertia": np.triu(np.ones((3, 3)))}, ValueError, "not symmetric"),
        ({"mass": 1.0, "position": [0, 0]}, ValueError, "position has 2 numbers: 3 are needed"),
        ({"mass": 1.0, "position": [0, np.inf, 1]}, ValueError, r"position\[0, 1\] is inf"),
        ({"mass": 1.0, "orientation": [0, 0, 0, 0]}, ValueError, r"orientation\[0\] is zero"),
        ({"mass": 1.0, "orientation": [1, 0]}, ValueError, "orientation has 2 numbers"),
        ({"mass": 1.0, "velocity": [1, 2, 3]}, ValueError, "velocity has shape"),
        ({"mass": 1.0, "material": "ice"}, TypeError, "material is 'ice'"),
        ({"mass": [1.0, 2.0]}, ValueError, r"mass has shape \(2,\)"),
        ({"mass": 1e-310}, ValueError, r"mass\[0\] is 1e-310"),
    ],
)
def test_wrong_bodies_are_refused(scene, given, error, message):
    with pytest.raises(error, match=message):
        scene.add_body(BALL, **{"position": [0, 0, 1], **given})
    assert scene.bodies == 0


def test_shapes_fit_the_dimension(scene):
    with pytest.raises(ValueError, match=r"Disc\(0.1\) is for dimension 2, not 3"):
        scene.add_body(dynamics.Disc(0.1), mass=1.0)
    with pytest.raises(TypeError, match="a shape of contactsolve"):
        scene.add_fixed("floor")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"restitution": 1.5}, r"restitution\[0\] is 1.5: 0 to 1 is needed"),
        ({"restitution": [0, -1]}, r"restitution\[1\] is -1"),
        ({"mu": -0.1}, r"mu is -0.1"),
        ({"sets": cs.sets.disc(0.5), "rows": 2}, "2 rows"),
    ],
)
def test_wrong_materials_are_refused(scene, given, message):
    with pytest.raises(ValueError, match=message):
        scene.add_fixed(GROUND, material=dynamics.Material(**given))


def test_bodies_that_begin_within_others_are_refused(scene):
    scene.add_body(BALL, [0, 0, 0.1], mass=1.0)
    other = scene.add_body(BALL, [0, 0, 0.25], mass=1.0)
    with pytest.raises(ValueError, match=f"body 0 and body {other} overlap by 0.05 m"):
        scene.step()
    with pytest.raises(ValueError, match="overlap"):
        scene.step()
    scene.remove(other)
    scene.step()
    assert scene.steps == 1
    low = scene.add_body(BALL, [1, 0, 0.05], mass=1.0)
    with pytest.raises(ValueError, match=f"the fixed world and body {low} overlap"):
        scene.step()
    allowed = dynamics.World(allow_overlap=True)
    allowed.add_fixed(GROUND)
    allowed.add_body(BALL, [1, 0, 0.05], mass=1.0)
    allowed.step()


def test_pairs_of_different_sets_need_a_material(scene):
    rubber = dynamics.Material(0.5)
    rough = dynamics.Material(sets=cs.sets.box_friction(0.5))
    scene.add_fixed(dynamics.Box([1, 1, 1]), [5, 0, 1], material=rough)
    ball = scene.add_body(BALL, [5, 0, 2.1], mass=1.0, material=rubber)
    with pytest.raises(ValueError, match="give the material of this pair"):
        scene.step()
    assert scene.positions[ball, 2] == 2.1
    scene.set_pair(rubber, rough, dynamics.Material(0.1))
    scene.step()
    assert scene.problem().mu == pytest.approx([0.1])


def test_a_pair_may_get_another_material(scene):
    stone, ice = dynamics.Material(0.5), dynamics.Material(0.6)
    scene.add_fixed(dynamics.Box([1, 1, 1]), [5, 0, 1], material=stone)
    push = [0.1, 0, 0, 0, 0, 0]
    block = scene.add_body(dynamics.Box([0.1] * 3), [5, 0, 2.1], mass=1.0, material=ice)
    other = scene.add_body(
        dynamics.Box([0.1] * 3), [5.5, 0, 2.1], mass=1.0, material=ice, velocity=push
    )
    scene.step()
    assert scene.problem().J.shape[2] == 3
    for material, rows, slowed in (
        (dynamics.Material(0.0), 1, 0.0),
        (dynamics.Material(0.2), 3, 0.2 * 9.81 * 2e-3),
    ):
        scene.set_pair(ice, stone, material)
        before = scene.velocities[other, 0]
        scene.run(2)
        assert scene.problem().J.shape[2] == rows
        assert before - scene.velocities[other, 0] == pytest.approx(slowed, abs=1e-8)
    assert np.abs(scene.velocities[block]).max() < 1e-8


def test_materials_of_one_set_are_combined(scene):
    smooth, rough = dynamics.Material(0.2, 0.1), dynamics.Material(0.8, 0.6)
    scene.add_fixed(dynamics.Box([1, 1, 1]), [5, 0, 1], material=rough)
    ball = scene.add_body(
        BALL, [5, 0, 2.1], mass=1.0, material=smooth, velocity=[0, 0, -1, 0, 0, 0]
    )
    scene.step()
    assert scene.problem().mu == pytest.approx([0.4])
    assert scene.velocities[ball, 2] == pytest.approx(0.6, abs=1e-2)


def test_forces_act(scene):
    scene.forces = lambda world: np.tile([0, 0, 9.81 * 2.0, 0, 0, 0.5], (world.bodies, 1))
    ball = scene.add_body(BALL, [0, 0, 1], mass=2.0)
    scene.run(100)
    assert scene.velocities[ball, :3] == pytest.approx(np.zeros(3), abs=1e-12)
    inertia = 0.4 * 2.0 * 0.1**2
    assert scene.velocities[ball, 5] == pytest.approx(0.5 * 0.1 / inertia)
    for wrong, message in ((np.zeros(3), "forces has shape"), (np.full((1, 6), np.nan), "forces")):
        scene.forces = lambda world, wrong=wrong: wrong
        with pytest.raises(ValueError, match=message):
            scene.step()
    for none in (lambda world: None, None):
        scene.forces = lambda world: np.tile([0, 0, 100.0, 0, 0, 0], (world.bodies, 1))
        scene.step()
        scene.forces, before = none, scene.velocities[ball, 2]
        scene.step()
        assert scene.velocities[ball, 2] - before == pytest.approx(-9.81e-3)


def test_views_cannot_be_written_and_outlive_growth(scene):
    scene.add_body(BALL, [0, 0, 1], mass=1.0)
    early = scene.positions
    with pytest.raises(ValueError, match="read-only"):
        early[0, 0] = 1.0
    scene.add_bodies(BALL, [[i, 1, 1] for i in range(1000)], mass=1.0)
    scene.step()
    del scene
    assert early.shape == (1, 3)
    assert np.isfinite(early).all()


def test_removed_bodies_leave_their_numbers(scene):
    balls = scene.add_bodies(BALL, [[i, 0, 0.1] for i in range(3)], mass=1.0)
    scene.step()
    assert scene.contacts.bodies.tolist() == [[-1, 0], [-1, 1], [-1, 2]]
    scene.remove(balls[1])
    scene.step()
    assert scene.contacts.bodies.tolist() == [[-1, 0], [-1, 2]]
    with pytest.raises(ValueError, match="body 1 is not in the world"):
        scene.remove(1)


def test_many_bodies_come_and_go(scene):
    balls = scene.add_bodies(BALL, [[i, 0, 0.1] for i in range(100)], mass=1.0)
    for body in balls[:90]:
        scene.remove(body)
    late = scene.add_bodies(BALL, [[i, 1, 0.1] for i in range(100)], mass=1.0)
    for body in balls[90:]:
        scene.remove(body)
    scene.step()
    assert scene.contacts.bodies.tolist() == [[-1, body] for body in late]
    for body in reversed(late):
        scene.remove(body)
    falling = scene.add_body(BALL, [99, 1, 0.4], mass=1.0)
    scene.run(250)
    assert scene.positions[falling, 2] == pytest.approx(0.1, abs=5e-3)


def test_the_problem_is_that_of_the_last_step(scene):
    scene.add_body(BALL, [0, 0, 0.1], mass=2.0)
    scene.step()
    before = scene.problem()
    scene.add_body(dynamics.Box([0.1, 0.2, 0.3]), [3, 0, 3], mass=1.0)
    after = scene.problem()
    assert np.array_equal(after.Minv, before.Minv)
    assert after.Minv[0, 0] == 0.5


def test_a_body_is_added_whole_or_not_at_all(scene):
    parts = [(BALL, None, None), (dynamics.Box([0.1] * 3), [0, 0, 1], [1, 0])]
    with pytest.raises(ValueError, match="orientation has 2 numbers"):
        scene.add_body(parts, mass=1.0)
    rough = dynamics.Material(sets=cs.sets.disc(0.5), rows=4)
    with pytest.raises(ValueError, match="rows"):
        scene.add_bodies(BALL, [[0, 0, 1]], mass=1.0, material=rough)
    assert scene.bodies == 0


def test_what_is_added_later_is_tested_alone(scene):
    scene.forces = lambda world: None
    ball = scene.add_body(BALL, [0, 0, 0.5], mass=1.0, velocity=[0, 0, -9, 0, 0, 0])
    while not len(scene.contacts.gaps):
        scene.step()
    assert scene.contacts.gaps[0] < -5e-4
    scene.add_fixed(dynamics.Box([1, 1, 1]), [50, 0, 1])
    scene.step()
    scene.add_body(BALL, scene.positions[ball] + [0.05, 0, 0], mass=1.0)
    with pytest.raises(ValueError, match="overlap"):
        scene.step()


def test_a_motion_that_explodes_is_refused():
    scene = dynamics.World(time_step=0.1, gravity=[0, 0, 0])
    scene.add_body(mass=1.0, inertia=[1, 2, 3], velocity=[0, 0, 0, 100, 100, 1])
    with pytest.raises(ValueError, match="the motion of body 0 is not finite"):
        scene.run(100)
    assert np.isfinite(scene.velocities).all()
    assert scene.info["steps"] == scene.steps > 0


def test_materials_take_the_fewest_rows(scene):
    law = dynamics.Material(sets=cs.sets.contensou(0.5, 0.1)).law(3)
    assert law[:2] == ("contensou", 4)
    assert dynamics.Material(sets=cs.sets.half_line()).law(3)[1] == 1
    assert dynamics.Material(0.5).law(2)[1] == 2


def test_a_missed_tolerance_is_told_once():
    scene = dynamics.World(max_iterations=1, method="jacobi")
    scene.add_fixed(GROUND)
    for i in range(4):
        scene.add_body(dynamics.Box([0.1] * 3), [0, 0, 0.1 + 0.2 * i], mass=1.0)
    with pytest.warns(RuntimeWarning, match="max_iterations") as caught:
        scene.run(5)
    assert len(caught) == 1
    assert scene.info["steps_not_converged"] == 5


def test_records_are_columns(scene):
    scene.add_body(BALL, [0, 0, 0.1], mass=1.0)
    record = scene.run(10, record=dynamics.Record.names, every=5, problems=2)
    assert set(record) == set(dynamics.Record.names)
    assert record["positions"].shape == (3, 1, 3)
    assert record["time"].tolist() == pytest.approx([0, 0.005, 0.01])
    assert record["contacts"].tolist() == [0, 1, 1]
    assert [problem.contacts for problem in record.problems] == [1] * 5
    with pytest.raises(ValueError, match="record: 'speed' is unknown"):
        scene.run(1, record=("speed",))
    with pytest.raises(ValueError, match="every is 0"):
        scene.run(1, every=0)

    def stop(world):
        if world.steps == 12:
            raise StopIteration

    scene.run(100, callback=stop)
    assert scene.steps == 12


def test_the_last_state_of_a_run_is_a_row(scene):
    scene.add_body(BALL, [0, 0, 0.1], mass=1.0)
    assert scene.record is None
    record = scene.run(7, every=3)
    assert np.rint(record["time"] / scene.time_step).tolist() == [0, 3, 6, 7]
    assert scene.record is record
    assert len(scene.run(0)["time"]) == 1


def test_rows_before_a_body_was_added_are_nan(scene):
    scene.add_body(BALL, [0, 0, 0.1], mass=1.0)

    def add(world):
        if world.steps == 2:
            world.add_body(BALL, [0, 0, 1.1], mass=1.0)

    record = scene.run(3, record=("positions", "velocities"), callback=add)
    assert record["positions"].shape == (4, 2, 3)
    assert np.isnan(record["positions"][:2, 1]).all()
    assert np.isfinite(record["positions"][2:]).all()
    assert record["positions"][2, 1].tolist() == [0, 0, 1.1]
    plane = dynamics.World(2)
    plane.add_body(dynamics.Disc(0.1), mass=1.0)

    def join(world):
        world.add_body(dynamics.Disc(0.1), [1.0, 0.0], mass=1.0)
        raise StopIteration

    assert plane.run(5, record=("orientations",), callback=join)["orientations"].shape == (2, 2)


def test_materials_cannot_be_changed():
    mu = np.array(0.3)
    made = dynamics.Material(sets=cs.sets.disc(mu), restitution=0.2)
    mu[...] = 0.9
    assert made.law(3)[2].tolist() == [0.3]
    for name in ("sets", "rows", "restitution"):
        with pytest.raises(AttributeError, match="a Material cannot be changed"):
            setattr(made, name, None)
    with pytest.raises(ValueError, match="read-only"):
        made.sets.values[0].value[...] = 0.5
    for one in (made, dynamics.Material(), dynamics.Material(0.4, (0.1, 0.2))):
        again = pickle.loads(pickle.dumps(one))
        assert repr(again) == repr(one)
        assert again.rows == one.rows


def test_bodies_are_placed(scene):
    first = scene.add_body(BALL, [0, 0, 1.0], mass=1.0)
    second = scene.add_body(dynamics.Box([0.1] * 3), [0, 0, 2.0], mass=1.0)
    scene.run(3)
    scene.place(first, [1, 0, 0.5], velocity=[1, 2, 3, 4, 5, 6])
    scene.place(second, orientation=[0, 2, 0, 0])
    assert scene.positions[first].tolist() == [1, 0, 0.5]
    assert scene.velocities[first].tolist() == [1, 2, 3, 4, 5, 6]
    assert scene.orientations[second].tolist() == [0, 1, 0, 0]

    # Bodies that change places are moved at once; one value may hold for all.
    scene.place([first, second], [[0, 0, 2.0], [0, 0, 1.0]], velocity=np.zeros(6))
    assert scene.positions[:, 2].tolist() == [2.0, 1.0]
    assert not scene.velocities.any()
    driven = scene.add_body(BALL, [5, 5, 5], driven=True)
    scene.place(driven, velocity=[1, 0, 0, 0, 0, 0])
    scene.step()
    assert scene.positions[driven, 0] == pytest.approx(5.001)


def test_a_body_that_was_moved_meets_what_is_there_now(scene):
    ball = scene.add_body(BALL, [0, 0, 0.1], mass=1.0)
    scene.run(5)
    assert len(scene.contacts.ids) == 1
    scene.place(ball, [0, 0, 1.0])
    scene.step()
    assert len(scene.contacts.ids) == 0
    scene.place(ball, [3, 0, 0.1], velocity=np.zeros(6))
    scene.step()
    assert scene.contacts.points[0] == pytest.approx([3, 0, 0], abs=1e-4)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((9, [0, 0, 1]), ValueError, "body 9 is not in the world"),
        ((-1, [0, 0, 1]), ValueError, "body -1 is not in the world"),
        ((2, [0, 0, 1]), ValueError, "body 2 is not in the world"),
        (([0, 0], [0, 0, 1]), ValueError, "each body can be named once"),
        ((0, [0, 0]), ValueError, r"position has shape \(2,\): \(1, 3\) is needed"),
        ((0, [0, np.nan, 1]), ValueError, r"position\[0, 1\] is nan"),
        ((0.5, [0, 0, 1]), TypeError, "bodies has dtype float64"),
        ((0, [0, 0, 1.45]), ValueError, "body 0 and body 1 overlap by 0.15 m"),
        ((0, [0, 0, 0.05]), ValueError, "the fixed world and body 0 overlap by 0.05 m"),
    ],
)
def test_places_that_are_wrong_change_nothing(arguments, error, message, scene):
    scene.add_bodies(BALL, [[0, 0, 1.0], [0, 0, 1.5], [0, 0, 2.5]], mass=1.0)
    scene.place(0, orientation=[0.3, 0.5, 0.7, 0.1])
    scene.remove(2)
    scene.run(2)
    before = scene.positions.tobytes(), scene.orientations.tobytes(), scene.velocities.tobytes()
    with pytest.raises(error, match=message):
        scene.place(*arguments, orientation=[1, 2, 3, 4])
    after = scene.positions.tobytes(), scene.orientations.tobytes(), scene.velocities.tobytes()
    assert after == before
    with pytest.raises(ValueError, match=r"orientation\[0\] is zero"):
        scene.place(0, orientation=np.zeros(4))


def test_bodies_may_be_placed_within_others_if_that_is_allowed():
    scene = dynamics.World(allow_overlap=True)
    scene.add_bodies(BALL, [[0, 0, 1.0], [0, 0, 2.0]], mass=1.0)
    scene.place(0, [0, 0, 1.9])
    assert scene.positions[0, 2] == 1.9


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer signals")
def test_an_interrupt_leaves_a_whole_step():
    scene = dynamics.World(method="gauss_seidel", max_iterations=10**8, rtol=None, atol=None)
    scene.add_fixed(GROUND)
    scene.add_bodies(BALL, [[0, 0, 0.1 + 0.2 * i] for i in range(20)], mass=1.0)
    before = scene.positions.copy(), scene.velocities.copy()

    def interrupt(*_):
        raise KeyboardInterrupt

    with alarm(interrupt, after=0.1), pytest.raises(KeyboardInterrupt):
        scene.step()
    assert scene.steps == 0
    assert np.array_equal(scene.positions, before[0])
    assert np.array_equal(scene.velocities, before[1])


@pytest.mark.threads
def test_the_number_of_threads_changes_no_bit():
    def state(threads):
        scene = dynamics.World(
            method="gauss_seidel",
            max_iterations=10,
            rtol=None,
            atol=None,
            threads=threads,
            allow_overlap=True,
        )
        scene.add_fixed(GROUND)
        z, y, x = np.meshgrid(*[np.arange(10.0)] * 3, indexing="ij")
        places = 0.2 * np.stack([x, y, z], -1).reshape(-1, 3) + [0, 0, 0.1]
        places[:, :2] += 0.001 * np.sin(np.arange(2000.0)).reshape(1000, 2)
        scene.add_bodies(BALL, places, mass=1.0)
        scene.run(10)
        assert len(scene.contacts.gaps) > 1500
        return scene.positions.copy(), scene.velocities.copy(), scene.contacts.impulses

    alone = state(1)
    for threads in (2, 3):
        for one, other in zip(alone, state(threads), strict=True):
            assert np.array_equal(one, other)


def test_an_interrupted_test_of_overlaps_moves_nothing(monkeypatch):
    world = dynamics.World()
    world.add_bodies(dynamics.Sphere(0.1), [[0, 0, 0], [1, 0, 0]], density=900.0)
    world.step()
    before = world.positions.copy()

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(dynamics.World, "_refuse_overlap", interrupt)
    with pytest.raises(KeyboardInterrupt):
        world.place(1, [0.5, 0, 0])
    assert np.array_equal(world.positions, before)


def test_a_place_that_is_refused_forgets_nothing_of_the_last_step(scene):
    turns = np.random.default_rng(2).normal(size=(20, 4))
    scene.add_bodies(BALL, [[i, 0, 0.1] for i in range(20)], orientations=turns, mass=1.0)
    scene.run(3)
    problem, info = scene.problem(), scene.info
    with pytest.raises(ValueError, match="overlap"):
        scene.place(np.arange(20), [0, 0, 0.1], velocity=np.zeros(6))
    with pytest.raises(ValueError, match="overlap"):
        scene.place(np.arange(20), [0, 0, 0.1], orientation=[0, 1, 0, 0])
    assert scene.info == info
    assert np.array_equal(scene.problem().b, problem.b)


def test_places_that_are_refused_change_no_bit_of_an_orientation(scene):
    turns = np.random.default_rng(2).normal(size=(200, 4))
    scene.add_bodies(BALL, [[0, 0, 0.5 + i] for i in range(200)], orientations=turns, mass=1.0)
    before = scene.orientations.copy()
    for body in range(1, 200):
        with pytest.raises(ValueError, match="overlap"):
            scene.place(body, scene.positions[body - 1], orientation=[1, 0, 0, 0])
    assert np.array_equal(scene.orientations, before)


def test_an_interruption_right_after_a_step_loses_no_count():
    scene = dynamics.World(max_iterations=1, method="jacobi")
    scene.add_fixed(GROUND)
    scene.add_bodies(BALL, [[0, 0, 0.1 + 0.2 * i] for i in range(4)], mass=1.0)
    core = scene._core

    class Interrupted:
        def __getattr__(self, name):
            return getattr(core, name)

        def step(self):
            core.step()
            raise KeyboardInterrupt

    for whole in (1, 3):
        scene._core = Interrupted()
        with pytest.raises(KeyboardInterrupt):
            scene.step()
        scene._core = core
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scene.step()
        before = scene.timings["step"]
        assert scene.info["steps_not_converged"] == scene.steps == whole + 1
        assert scene.timings["step"] == before > scene.info["seconds"]


def test_an_interruption_while_shapes_are_added_shifts_no_number(scene):
    core, known = scene._core, len(scene.shapes)

    class Interrupted:
        def __getattr__(self, name):
            return getattr(core, name)

        def add_shapes(self, *arguments):
            core.add_shapes(*arguments)
            raise KeyboardInterrupt

    scene._core = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        scene.add_body(BALL, [5, 0, 1.0], mass=1.0)
    scene._core = core
    body = scene.add_body(BALL, [0, 0, 0.1], mass=1.0)
    scene.run(3)
    assert len(scene.shapes) == known + 2
    assert body in [scene.shapes[number].body for number in scene.contacts.ids[0, :2].tolist()]


def test_options_of_a_world_cannot_be_changed():
    world = dynamics.World(time_step=2e-3, gravity=[0, 0, -1])
    assert world.time_step == 2e-3
    assert world.gravity == (0, 0, -1)
    for name in ("time_step", "gravity"):
        with pytest.raises(AttributeError):
            setattr(world, name, 1.0)


def test_one_name_is_a_record():
    assert list(dynamics.World().run(2, record="time")) == ["time"]


@pytest.mark.parametrize("restitution", [2.0, -1.0, np.nan, (0.5, 1.5)])
def test_materials_refuse_restitution_at_once(restitution):
    with pytest.raises(ValueError, match=r"restitution\[\d\] is .*: 0 to 1 is needed"):
        dynamics.Material(0.5, restitution)


def test_materials_refuse_friction_that_is_no_number():
    for mu in (np.nan, np.inf, -1):
        with pytest.raises(ValueError, match="mu is"):
            dynamics.Material(mu)


def test_a_shape_of_the_wrong_dimension_is_told_those_that_fit():
    with pytest.raises(ValueError, match=r"not 2, which has Disc, Segment, Polygon, HalfSpace"):
        dynamics.World(2).add_fixed(dynamics.Box([1.0, 1.0, 1.0]))


@pytest.mark.parametrize("option", ["mu", "restitution"])
def test_options_of_a_material_are_not_those_of_a_world(option):
    with pytest.raises(TypeError, match=rf"no option '{option}': give it by material=Material"):
        dynamics.World(**{option: 0.5})


def test_moments_that_no_body_can_have_are_refused(scene):
    message = "inertia has the principal moments 1, 1, 2.1: none can exceed the sum"
    for inertia in ([1.0, 2.1, 1.0], np.diag([1.0, 1.0, 2.1])):
        with pytest.raises(ValueError, match=message):
            scene.add_body(None, mass=1.0, inertia=inertia)
    plate = scene.add_body(None, mass=1.0, inertia=[0.1, 0.2, 0.1 + 0.2])
    assert scene.bodies == plate + 1


def test_shapes_without_a_material_have_that_of_the_world():
    rough = dynamics.Material(0.9)
    made = dynamics.World(material=rough)
    made.add_fixed(GROUND)
    assert made.shapes[0].material is rough
    with pytest.raises(TypeError, match=r"material is 0\.9: a Material is needed"):
        dynamics.World(material=0.9)


def test_the_material_of_a_world_is_recorded_before_its_first_use(tmp_path):
    pytest.importorskip("h5py")
    made = dynamics.World(material=dynamics.Material(0.9))
    made.run(1, file=tmp_path / "empty.h5")
    loaded = dynamics.World.load(tmp_path / "empty.h5")
    loaded.add_fixed(GROUND)
    one, other = loaded.shapes[0].material, made.materials[0]
    assert one.law(3)[:2] == other.law(3)[:2]
    assert one.law(3)[2].tolist() == other.law(3)[2].tolist()
