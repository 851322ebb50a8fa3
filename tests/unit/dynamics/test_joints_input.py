"""Joints: what is refused, which contacts are left out, what a state and a recording keep."""

import numpy as np
import pytest

from contactsolve import dynamics
from contactsolve.dynamics import Motor

X, Y, Z = np.eye(3)
BALL = dynamics.Sphere(0.1)
GROUND = dynamics.HalfSpace([0.0, 0.0, 1.0])
INF = float("inf")
NAN = float("nan")


@pytest.fixture
def scene():
    """Two balls side by side."""
    made = dynamics.World()
    for x in (0.0, 1.0):
        made.add_body(BALL, [x, 0, 2.0], mass=1.0)
    return made


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "arguments", "options", "error", "message"),
    [
        ("ball", (0, 2, [0, 0, 0]), {}, ValueError, r"bodies\[1\] is 2, but.*a body of the world"),
        ("ball", (-2, 1, [0, 0, 0]), {}, ValueError, r"bodies\[0\] is -2"),
        ("ball", (1, 1, [0, 0, 0]), {}, ValueError, r"bodies\[1\] is 1, .* another body than"),
        ("ball", (-1, -1, [0, 0, 0]), {}, ValueError, r"bodies\[1\] is -1, .* another body"),
        ("ball", (0.5, 1, [0, 0, 0]), {}, TypeError, r"first is 0\.5: the number of a body"),
        ("ball", (0, 1, [0, 0]), {}, ValueError, r"point has shape \(2,\): \(3,\) is needed"),
        ("ball", (0, 1, [0, NAN, 0]), {}, ValueError, r"point\[1\] is nan: a finite"),
        ("ball", (0, 1, [0, 0, 0]), {"cone": 1.0}, TypeError, r"cone is 1\.0, but axis is None"),
        ("ball", (0, 1, X), {"axis": X, "cone": -1.0}, ValueError, r"cone is -1\.0: .* above 0"),
        ("hinge", (0, 1, X, [0, 0, 2]), {}, ValueError, r"axis has the length 2: 1 is needed"),
        ("hinge", (0, 1, X, Z), {"limits": (1, 0)}, ValueError, r"limits is \(1, 0\): the upper"),
        ("hinge", (0, 1, X, Z), {"limits": (0, NAN)}, ValueError, r"limits is \(0, nan\)"),
        ("hinge", (0, 1, X, Z), {"limits": 1.0}, ValueError, r"limits has shape \(\)"),
        ("hinge", (0, 1, X, Z), {"motor": 2.0}, TypeError, r"motor is 2\.0: a .*Motor"),
        ("hinge", (0, 1, X, Z), {"motor": Motor(1, -2)}, ValueError, r"bound is -2.*at least 0"),
        ("hinge", (0, 1, X, Z), {"motor": Motor(1, (2, 1))}, ValueError, r"bound is \(2, 1\)"),
        ("hinge", (0, 1, X, Z), {"motor": Motor(NAN)}, ValueError, r"motor\.speed is nan"),
        ("hinge", (0, 1, X, Z), {"motor": Motor(damping=-1)}, ValueError, r"motor\.damping is -1"),
        ("slider", (0, 1, X, Z), {"compliance": -1}, ValueError, r"compliance\[0\] is -1"),
        ("slider", (0, 1, X, Z), {"compliance": [0] * 7}, ValueError, r"compliance has shape"),
        ("distance", (0, 1, X, X), {}, ValueError, r"end is .*, as is start"),
        ("gear", (0, 1, X, [0, 0, 0]), {}, ValueError, r"second_axis has the length 0"),
        ("gear", (0, 1, X, Z, NAN), {}, ValueError, r"ratio is nan: a finite"),
        ("mesh", (-1, 1, [0.5, 0, 2.0], Z), {}, ValueError, r"first is -1: .* has no wheel"),
        ("mesh", (0, 1, [0.5, 0.1, 2.0], Z), {}, ValueError, r"point is 0\.1 m off the plane"),
        ("mesh", (0, 1, [-0.5, 0, 2.0], Z), {}, ValueError, r"point is on the axis, or beyond"),
        ("mesh", (0, 1, [0.5, 0, 2.0], X), {}, ValueError, r"axis goes through the centre of"),
        ("mesh", (0, 9, [0.5, 0, 2.0], Z), {}, ValueError, r"second is 9: the world has 2 bodies"),
        ("mesh", (1, 1, [0.5, 0, 2.0], Z), {}, ValueError, r"second is 1: another body than"),
        ("ram", (0, 1, X, Z), {}, TypeError, r"motor and limits are None: a joint 'ram'"),
        # Of another length than the rows that are held.
        ("ball", (0, 1, X), {"compliance": [0] * 4}, ValueError, r"\(4,\): a number, or \(3,\)"),
        ("hinge", (0, 1, X, Z), {"compliance": [1] * 3}, ValueError, r"\(5,\) of a joint 'hinge'"),
        ("distance", (0, 1, X, Z), {"compliance": []}, ValueError, r"compliance has shape \(0,\)"),
        # Of other types.
        ("ball", (None, 1, X), {}, TypeError, r"first is None: the number of a body"),
        ("ball", (0, "b", X), {}, TypeError, r"second is 'b': the number of a body"),
        ("ball", (0, 1, X), {"cone": "a", "axis": X}, TypeError, r"cone has dtype"),
        ("ball", (0, 1, X), {"cone": NAN, "axis": X}, ValueError, r"cone is nan"),
        ("ball", (0, 1, X), {"contacts": "no"}, TypeError, r"contacts is 'no': True, False or"),
        ("gear", (0, 1, X, Z, "a"), {}, TypeError, r"ratio has dtype"),
        ("hinge", (0, 1, X, Z), {"motor": Motor("a")}, TypeError, r"motor\.speed has dtype"),
        ("hinge", (0, 1, X, Z), {"motor": Motor([1, 2])}, TypeError, r"motor\.speed has shape"),
        # Without effect.
        (
            "hinge",
            (0, 1, X, Z),
            {"motor": Motor(target=1)},
            ValueError,
            r"motor\.target is 1: .* no",
        ),
        (
            *("hinge", (0, 1, X, Z), {"motor": Motor(2.0, stiffness=1.0)}, ValueError),
            r"motor\.speed is 2: it has no effect on a spring without damping",
        ),
        # Too large, or too small.
        (
            *("hinge", (0, 1, X, Z), {"motor": Motor(stiffness=1e-321)}, ValueError),
            r"joints\[0\] \(hinge\): stiffness is .*e-32., .* 0 or larger",
        ),
        (
            *("hinge", (0, 1, X, Z), {"motor": Motor(damping=1e-321)}, ValueError),
            r"joints\[0\] \(hinge\): damping is .*e-32.",
        ),
        (
            *("hinge", (0, 1, X, Z), {"motor": Motor(stiffness=1e9, target=1e300)}, ValueError),
            r"joints\[0\] \(hinge\): target is 1e\+300, .* smaller",
        ),
        (
            *("hinge", (0, 1, X, Z), {"motor": Motor(1e300, damping=1e9)}, ValueError),
            r"joints\[0\] \(hinge\): speed is 1e\+300, .* smaller",
        ),
        (
            *("slider", (0, 1, X, Z), {"limits": (-1, 1e307)}, ValueError),
            r"joints\[0\] \(slider\): limits\[1\] is 1e\+307, .* divided by the time step",
        ),
        (
            *("ball", (0, 1, X), {"compliance": [0, 0, 1e305]}, ValueError),
            r"joints\[0\] \(ball\): compliance\[2\] is 1e\+305, .* divided by the square",
        ),
    ],
)
def test_wrong_joints_are_refused(scene, kind, arguments, options, error, message):
    with pytest.raises(error, match=message):
        getattr(scene.joints, kind)(*arguments, **options)
    assert len(scene.joints) == 0
    scene.step()


def test_joints_need_bodies_that_can_move():
    made = dynamics.World()
    driven = made.add_body(BALL, driven=True)
    with pytest.raises(ValueError, match=r"bodies\[1\] is 0, .* can move"):
        made.joints.ball(-1, driven, [0, 0, 0])


def test_joints_need_space():
    made = dynamics.World(2)
    body = made.add_body(dynamics.Disc(0.1), mass=1.0)
    with pytest.raises(ValueError, match="space"):
        made.joints.ball(-1, body, [0, 0, 0])
    other = made.add_body(dynamics.Disc(0.1), [1.0, 0.0], mass=1.0)
    with pytest.raises(ValueError, match="space"):
        made.joints.mesh(body, other, [0.5, 0, 0], Z)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda own: own.speeds.__setitem__(1, NAN), r"joints\[1\] \(hinge\): speed is nan"),
        (lambda own: own.targets.__setitem__(1, INF), r"joints\[1\] \(hinge\): target is inf"),
        (lambda own: own.lower.__setitem__(1, 3.0), r"joints\[1\] \(hinge\): upper is 2, .* lower"),
    ],
)
def test_a_step_refuses_wrong_controls(scene, change, message):
    scene.joints.ball(-1, 0, [0, 0, 2])
    scene.joints.hinge(0, 1, [0.5, 0, 2], Y, motor=Motor(1.0, 2.0))
    scene.run(3)
    before = scene.positions.copy()
    change(scene.control)
    with pytest.raises(ValueError, match=message):
        scene.step()
    assert (scene.positions == before).all()
    assert scene.steps == 3


def test_only_motors_are_driven(scene):
    scene.joints.ball(0, 1, [0.5, 0, 2])
    with pytest.raises(ValueError, match=r"joint is 1: the world has 1 joints"):
        scene.control.drive(1, 2.0)
    with pytest.raises(ValueError, match=r"joint is 0: this ball has no motor"):
        scene.control.push(0, 2.0)


def test_what_would_have_no_effect_is_refused(scene):
    joints, control = scene.joints, scene.control
    motor = joints.hinge(-1, 0, [0, 0, 2], Y, motor=Motor(1.0, 2.0))
    spring = joints.hinge(-1, 1, [1, 0, 2], Y, motor=Motor(stiffness=3.0))
    refused = [
        (lambda: control.pull(motor, 1.0), r"joint is 0: target is 1: .* motor without stiffness"),
        (lambda: control.drive(spring, 1.0), r"joint is 1: speed is 1: .* spring without damping"),
        (lambda: control.push(motor, NAN), r"force is nan: a finite number"),
        (lambda: control.pull(spring, INF), r"target is inf: a finite number"),
        (lambda: control.drive(motor, NAN), r"speed is nan: a finite number"),
    ]
    before = [control.speeds.copy(), control.targets.copy(), control.lower.copy()]
    for call, message in refused:
        with pytest.raises(ValueError, match=message):
            call()
    for was, name in zip(before, ("speeds", "targets", "lower"), strict=True):
        assert (getattr(control, name) == was).all()

    # A force that is applied leaves nothing to a speed.
    control.push(motor, 4.0)
    with pytest.raises(ValueError, match=r"joint is 0: both bounds are 4, .* give bound"):
        control.drive(motor, 2.0)
    control.drive(motor, 2.0, 5.0)
    assert control.lower[motor] == -5.0
    assert control.upper[motor] == 5.0

    # A joint that is no more.
    joints.remove(motor)
    scene.remove(1)
    for joint, message in ((motor, "removed$"), (spring, "removed with body 1")):
        with pytest.raises(ValueError, match=f"joint is {joint}: this hinge was {message}"):
            control.push(joint, 1.0)
    with pytest.raises(TypeError, match=r"joint is 'a': the number of a joint"):
        control.push("a", 1.0)


@pytest.mark.parametrize("bound", [-1.0, NAN, (2.0, 1.0), "a"])
def test_a_bound_that_is_refused_leaves_the_speed(scene, bound):
    joint = scene.joints.hinge(-1, 0, [0, 0, 2], Y, motor=Motor(1.0, 2.0))
    with pytest.raises((TypeError, ValueError), match="bound"):
        scene.control.drive(joint, 9.0, bound)
    assert scene.control.speeds[joint] == 1.0


def test_tension_needs_space():
    with pytest.raises(ValueError, match="tension is 'implicit': joints need a world in space"):
        dynamics.World(2, tension="implicit")


@pytest.mark.parametrize("off", [-0.9e-6, 0.9e-6])
def test_axes_may_be_off_by_a_millionth_whatever_the_bodies_are_turned_by(scene, off):
    turned = [0.3, 0.5, -0.4, np.sqrt(0.5)]
    scene.place(0, orientation=turned / np.linalg.norm(turned))
    axis = np.array([0.48, 0.6, 0.64])
    joint = scene.joints.hinge(0, 1, X, (1.0 + off) * axis)
    assert joint == 0
    with pytest.raises(ValueError, match="axis has the length"):
        scene.joints.hinge(0, 1, X, (1.0 + 1.2 * off) * axis)


# ---- contacts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("contacts", [False, True])
def test_contacts_of_joined_bodies_are_left_out(contacts):
    made = dynamics.World(gravity=[0, 0, 0])
    pair = [made.add_body(BALL, [x, 0, 0], mass=1.0) for x in (0.0, 0.2)]
    joint = made.joints.ball(*pair, [0.1, 0, 0], contacts=contacts)
    made.step()
    assert len(made.contacts.gaps) == int(contacts)
    made.joints.remove(joint)
    made.step()
    assert len(made.contacts.gaps) == 1
    assert made.joints.removed.tolist() == [True]


@pytest.mark.parametrize(("contacts", "height"), [(None, 0.1), (True, 0.1), (False, -0.4)])
def test_contacts_of_a_body_with_the_ground_stay_unless_they_are_refused(contacts, height):
    made = dynamics.World(time_step=1e-2)
    made.add_fixed(GROUND)
    box = made.add_body(dynamics.Box([0.1, 0.1, 0.1]), [0, 0, 0.1], mass=1.0)
    made.joints.slider(-1, box, [0, 0, 0.1], Z, limits=(-0.5, 0.5), contacts=contacts)
    made.run(100)
    assert made.positions[box, 2] == pytest.approx(height, abs=1e-6)


def test_joined_bodies_may_begin_in_each_other():
    made = dynamics.World(gravity=[0, 0, 0])
    pair = [made.add_body(BALL, [x, 0, 0], mass=1.0) for x in (0.0, 0.1)]
    made.add_body(BALL, [-0.2, 0, 0], mass=1.0)
    made.joints.hinge(*pair, [0.05, 0, 0], X)
    made.step()
    assert made.contacts.bodies.tolist() == [[0, 2]]


# ---- removing ------------------------------------------------------------------------------------


def test_a_joint_goes_with_its_body(scene):
    scene.joints.ball(0, 1, [0.5, 0, 2])
    other = scene.joints.ball(-1, 0, [0, 0, 2])
    scene.run(5)
    scene.remove(1)
    scene.run(5)
    assert scene.joints.impulses[0].tolist() == [0.0] * 8
    assert scene.joints.errors[other, 0] < 1e-6
    scene.joints.remove(other)
    scene.run(5)
    assert scene.velocities[0, 2] == pytest.approx(-9.81 * 5e-3)
    with pytest.raises(ValueError, match="joint 1 is not in the world"):
        scene.joints.remove(other)


# ---- bits ----------------------------------------------------------------------------------------


def machine(**options):
    """Return a world with each kind of joint, and with contacts."""
    made = dynamics.World(**{"time_step": 4e-3, "threads": 1, "max_iterations": 5000, **options})
    made.add_fixed(GROUND)
    bodies = [
        made.add_body(dynamics.Box([0.2, 0.1, 0.1]), [0.5 * k, 0, 0.2], density=500.0)
        for k in range(9)
    ]
    joints = made.joints
    middle = made.positions[:-1] + 0.25 * X
    joints.ball(bodies[0], bodies[1], middle[0], axis=X, cone=0.5)
    joints.hinge(bodies[1], bodies[2], middle[1], Y, limits=(-0.2, 0.3), motor=Motor(3.0, 4.0))
    joints.slider(bodies[2], bodies[3], middle[2], Z, limits=(-0.1, 0.1))
    joints.fixed(bodies[3], bodies[4], middle[3], compliance=1e-5)
    joints.distance(bodies[4], bodies[5], made.positions[4], made.positions[5])
    joints.gear(bodies[4], bodies[5], X, X, 2.0)
    center, other = made.positions[bodies[4]], made.positions[bodies[5]]
    out = (other - center) * [1, 0, 1]
    joints.mesh(bodies[4], bodies[5], center + 0.1 * out / np.linalg.norm(out), Y)
    joints.ram(bodies[5], bodies[6], middle[5] - 0.1, middle[5] + 0.1, motor=Motor(0.1, 9.0))
    joints.angular(bodies[6], bodies[7], Y, motor=Motor(stiffness=20.0, damping=1.0, target=1.0))
    joints.ball(bodies[6], bodies[7], middle[6])
    joints.linear(bodies[7], bodies[8], middle[7], X, limits=(-0.05, 0.02))
    return made


def bits(made):
    """Return the bits of a world's state."""
    return {name: array.tobytes() for name, array in made._core.save().items()}


@pytest.mark.parametrize("stepper", ["moreau", "semi_implicit_euler"])
def test_threads_change_no_bit(stepper):
    worlds = [machine(stepper=stepper, threads=n) for n in (1, 2)]
    for made in worlds:
        assert made.run(60)["contacts"].max() > 0
    assert bits(worlds[0]) == bits(worlds[1])


def test_joints_are_found_in_any_order_of_the_work():
    # Without a world to compare with, impulses would hide rows of other joints.
    made = machine()
    made.run(30)
    off = made.joints.errors
    assert np.abs(off[[0, 1, 2, 4, 8]]).max() < 2e-3


@pytest.mark.parametrize("at", [0, 17, 40])
def test_a_recording_goes_on_with_the_same_bits(tmp_path, at):
    pytest.importorskip("h5py")
    path = tmp_path / "machine.h5"

    def act(own):
        own.control.drive(1, 2.0 * np.cos(0.1 * own.steps), 5.0)
        if own.steps == 10:
            own.joints.remove(9)
        if own.steps == 15:
            own.remove(8)
            own.joints.hinge(0, 4, own.positions[0], Y)

    made = machine()
    made.run(40, file=path, callback=act)
    with dynamics.Recording(path) as recording:
        hashes = recording.hashes
    again = dynamics.World.load(path, frame=at)
    assert len(again.joints) == (12 if at > 15 else 11)
    other = tmp_path / "again.h5"
    again.run(40 - at, file=other, callback=act)
    with dynamics.Recording(other) as recording:
        assert recording.hashes[-1] == hashes[-1]
    assert bits(made) == bits(again)
    made.run(20)
    again.run(20)
    assert bits(made) == bits(again)


def test_a_step_that_fails_leaves_joints_as_they_were():
    made = machine()
    made.run(10)
    before = bits(made)
    made.forces = lambda own: np.full((9, 6), 1e308)
    with pytest.raises(ValueError, match="finite"):
        made.step()
    made.forces = None
    after = bits(made)
    assert all(after[name] == before[name] for name in before if name not in ("force", "counter"))


def test_joints_start_from_their_impulses():
    made = dynamics.World(time_step=1e-3)
    last = -1
    for k in range(12):
        link = made.add_body(BALL, [0, 0, -0.2 * k - 0.1], mass=1.0)
        made.joints.ball(last, link, [0, 0, -0.2 * k])
        last = link
    made.step()
    first = made.info["iterations"]
    made.step()
    assert made.info["iterations"] < first / 2
    weights = made.joints.impulses[:, 2]
    assert weights == pytest.approx(1e-3 * 9.81 * np.arange(12, 0, -1), rel=1e-5)
