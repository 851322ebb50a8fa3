"""Motions of joints whose course is known."""

from itertools import pairwise

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import dynamics
from contactsolve.dynamics import Motor

G = 9.81
X, Y, Z = np.eye(3)
STEPPERS = ("moreau", "semi_implicit_euler")
UPRIGHT = [np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0]  # capsules along x


def world(**options):
    """Return a world with a tight tolerance."""
    return dynamics.World(**{"rtol": 1e-9, "max_iterations": 2000, **options})


def free(**options):
    """Return a world without gravity."""
    return world(gravity=[0, 0, 0], **options)


def crossings(times, values):
    """Return the times at which values fall through zero, by linear interpolation."""
    at = np.flatnonzero((values[:-1] > 0) & (values[1:] <= 0))
    part = values[at] / (values[at] - values[at + 1])
    return times[at] + part * (times[at + 1] - times[at])


def chain(links, *, pitch=0.2, **options):
    """Return a world with a horizontal chain of capsules that hangs on its first end."""
    made = dynamics.World(**options)
    last = -1
    for k in range(links):
        shape = dynamics.Capsule(0.03, pitch / 2)
        place = [pitch * (k + 0.5), 0, 0]
        link = made.add_body(shape, place, orientation=UPRIGHT, mass=1.0)
        made.joints.ball(last, link, [pitch * k, 0, 0])
        last = link
    return made


# ---- pendulums -----------------------------------------------------------------------------------


def pendulum(kind, angle, **options):
    """Return a world with a ball on a massless rod of 1 m; the centre begins at this angle."""
    made = world(**options)
    place = [np.sin(angle), 0.0, -np.cos(angle)]
    body = made.add_body(dynamics.Sphere(0.1), place, mass=2.0)
    if kind == "hinge":
        made.joints.hinge(-1, body, [0, 0, 0], Y)
    elif kind == "ball":
        made.joints.ball(-1, body, [0, 0, 0])
    else:
        made.joints.distance(-1, body, [0, 0, 0], place)
    return made


@pytest.mark.parametrize("stepper", STEPPERS)
@pytest.mark.parametrize("kind", ["hinge", "ball", "distance"])
def test_a_pendulum_has_its_period_to_second_order(kind, stepper):
    special = pytest.importorskip("scipy.special")
    angle = 1.5
    spin = 0.4 * 0.1**2 if kind != "distance" else 0.0  # a rod leaves the ball unturned
    exact = 4 * special.ellipk(np.sin(angle / 2) ** 2) * np.sqrt((1 + spin) / G)
    errors = []
    for h in (0.02, 0.01, 0.005):
        made = pendulum(kind, angle, time_step=h, stepper=stepper)
        record = made.run(int(2.5 * exact / h), record=("time", "positions"))
        found = crossings(record["time"], record["positions"][:, 0, 0])
        errors.append(abs(found[1] - found[0] - exact) / exact)
    assert errors[-1] < 3e-4
    assert all(3.0 < a / b < 5.0 for a, b in pairwise(errors))


@pytest.mark.parametrize("stepper", STEPPERS)
def test_a_pendulum_stays_within_the_error_of_one_step(stepper):
    h = 0.01
    made = pendulum("hinge", 2.5, time_step=h, stepper=stepper)
    drift, fastest = [], 0.0
    for _ in range(2000):
        made.step()
        drift.append(made.joints.errors[0, 0])
        fastest = max(fastest, np.linalg.norm(made.velocities[0, 3:]))
    assert max(drift) <= 1.01 * (fastest * h) ** 2 / 2
    assert max(drift[1000:]) <= 1.01 * max(drift[:1000])


def double_pendulum(h, stepper):
    """Return the largest change of the energy of two rods that swing for two seconds."""
    made = world(time_step=h, stepper=stepper)
    last = -1
    for k in range(2):
        rod = made.add_body(
            None, [k + 0.5, 0, 0], mass=1.0, inertia=[1e-3, 1 / 12, 1 / 12 + 1e-3 * k]
        )
        made.joints.hinge(last, rod, [k, 0, 0], Y)
        last = rod
    before = sum(made.energy())
    record = made.run(int(2 / h), record=("kinetic", "potential"))
    return np.abs(record["kinetic"] + record["potential"] - before).max()


@pytest.mark.parametrize("stepper", STEPPERS)
def test_a_double_pendulum_keeps_its_energy_to_the_order_of_the_step(stepper):
    lost = [double_pendulum(h, stepper) for h in (2e-3, 1e-3, 5e-4)]
    assert lost[-1] < 0.15  # of 10 J and more that are exchanged
    assert all(a / b > 1.7 for a, b in pairwise(lost))


def test_a_heavy_top_precesses():
    # A fast top, horizontal, whose point is held: omega = m g l / (I w), but for nutation, which
    # begins at zero where the top begins with its precession.
    mass, arm, spin = 2.0, 0.3, 200.0
    inertia = np.array([0.02, 0.011, 0.011])
    rate = mass * G * arm / (inertia[0] * spin)
    made = world(time_step=2e-4)
    velocity = [0, rate * arm, 0, spin, 0, rate]
    top = made.add_body(None, [arm, 0, 0], mass=mass, inertia=inertia, velocity=velocity)
    made.joints.ball(-1, top, [0, 0, 0])
    made.run(2500)
    x, y, z = made.positions[top]
    assert np.arctan2(y, x) == pytest.approx(rate * made.time, rel=0.01)
    assert abs(z) < 0.01 * arm


def test_a_chain_drifts_by_the_error_of_one_step_for_twenty_seconds():
    h, pitch = 1 / 240, 0.2
    made = chain(20, pitch=pitch, time_step=h)
    drift, bound = [], 0.0
    for _ in range(4800):
        made.step()
        drift.append(made.joints.errors[:, 0].max())
        turning = np.linalg.norm(made.velocities[:, 3:], axis=1).max()
        bound = max(bound, (turning * h) ** 2 * pitch / 2)
    assert max(drift) <= 2 * bound
    assert max(drift[2400:]) <= max(drift[:2400])


# ---- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("stepper", STEPPERS)
def test_a_hinge_stops_at_its_limits(stepper):
    h = 5e-3
    made = world(time_step=h, stepper=stepper)
    door = made.add_body(dynamics.Box([0.5, 0.05, 0.2]), [0.5, 0, 0], mass=3.0)
    hinge = made.joints.hinge(-1, door, [0, 0, 0], Y, limits=(-0.4, 0.6))
    rates, angles = [0.0], []
    for step in range(800):
        if step == 400:  # it lies on its upper limit; it flies to the lower one
            made.place(door, velocity=[0, 0, 4.0, 0, -8.0, 0])
        made.step()
        angles.append(made.joints.coordinates[hinge])
        rates.append(abs(made.joints.rates[hinge]))
    assert max(angles) <= 0.6 + h * max(rates)
    assert min(angles) >= -0.4 - h * max(rates)
    assert min(angles) < -0.39
    # It rests on the upper one, which carries its weight about the hinge.
    assert angles[399] == pytest.approx(0.6, abs=1e-4)
    assert angles[-1] == pytest.approx(0.6, abs=1e-4)
    moment = made.joints.impulses[hinge, 6] / h
    assert moment == pytest.approx(3.0 * G * 0.5 * np.cos(0.6), rel=1e-3)


def test_a_slider_stops_at_its_limit_with_exact_force():
    made = world(time_step=1e-2)
    body = made.add_body(dynamics.Sphere(0.1), [0, 0, 1], mass=2.0)
    slider = made.joints.slider(-1, body, [0, 0, 1], Z, limits=(-0.5, 0.2))
    made.run(200)
    assert made.joints.coordinates[slider] == pytest.approx(-0.5, abs=1e-9)
    assert made.joints.impulses[slider, 6] == pytest.approx(2.0 * G * 1e-2, rel=1e-9)
    assert made.positions[body] == pytest.approx([0, 0, 0.5], abs=1e-9)


def test_a_ball_stays_in_its_cone():
    made = world(time_step=5e-3)
    arm = made.add_body(dynamics.Sphere(0.1), [0, 0, 1], mass=1.0, velocity=[2, 1, 0, -1, 2, 0])
    joint = made.joints.ball(-1, arm, [0, 0, 0], axis=Z, cone=0.7)
    largest = 0.0
    for _ in range(1000):
        made.step()
        largest = max(largest, made.joints.coordinates[joint])
    assert 0.69 < largest < 0.7 + 5e-3 * 5.0
    assert made.joints.impulses[joint, 6] > 0


@pytest.mark.parametrize("stepper", STEPPERS)
@pytest.mark.parametrize("speed", [10.0, -10.0])
def test_a_limit_stops_a_body_that_is_nearer_to_the_other_one(speed, stepper):
    made = free(time_step=1e-2, stepper=stepper)
    velocity = [speed, 0, 0, 0, 0, 0]
    body = made.add_body(dynamics.Sphere(0.1), mass=1.0, velocity=velocity)
    limits = (-0.01, 0.05) if speed > 0 else (-0.05, 0.01)
    slider = made.joints.slider(-1, body, [0, 0, 0], X, limits=limits)
    for _ in range(3):
        made.step()
        assert made.joints.coordinates[slider] == pytest.approx(np.sign(speed) * 0.05, abs=1e-9)
    assert made.velocities[body] == pytest.approx(np.zeros(6), abs=1e-9)


@pytest.mark.parametrize("h", [1e-2, 1e-4])
def test_a_limit_that_is_violated_gives_no_speed(h):
    made = free(time_step=h)
    body = made.add_body(dynamics.Sphere(0.1), mass=1.0)
    slider = made.joints.slider(-1, body, [0, 0, 0], X, limits=(0.05, 1.0))
    made.run(20)
    assert made.joints.coordinates[slider] == 0.0
    made.place(body, velocity=[-2.0, 0, 0, 0, 0, 0])
    made.run(20)
    assert made.velocities[body, 0] == pytest.approx(0.0, abs=1e-9)
    assert made.joints.coordinates[slider] == pytest.approx(-h, rel=1e-6)


def test_a_limit_that_is_violated_is_fed_back_by_semi_implicit_euler():
    made = free(time_step=1e-2, stepper="semi_implicit_euler")
    body = made.add_body(dynamics.Sphere(0.1), mass=1.0)
    slider = made.joints.slider(-1, body, [0, 0, 0], X, limits=(0.05, 1.0))
    made.step()
    assert made.joints.coordinates[slider] == pytest.approx(0.05, abs=1e-9)


@pytest.mark.parametrize("stepper", STEPPERS)
def test_a_ball_that_runs_around_its_cone_is_off_by_the_error_of_one_step(stepper):
    largest = []
    for h in (1e-2, 5e-3):
        made = free(time_step=h, stepper=stepper, atol=1e-12)
        arm = made.add_body(dynamics.Sphere(0.1), [0, 0, 1], mass=1.0, velocity=[3, 0, 0, 0, 3, 0])
        joint = made.joints.ball(-1, arm, [0, 0, 0], axis=Z, cone=0.7)
        made.run(round(0.3 / h))
        made.place(arm, velocity=[*made.velocities[arm, :1], 3.0, *made.velocities[arm, 2:]])
        passed = []
        for _ in range(round(5.0 / h)):
            made.step()
            passed.append(made.joints.coordinates[joint] - 0.7)
        largest.append(max(passed))

        # The bend of a step, after 5 s as after one.
        assert 0.0 < max(passed) < 0.5 * (4.0 * h) ** 2
        assert max(passed[-100:]) <= max(passed[:100])
    assert largest[1] < 0.3 * largest[0]


def test_angles_count_full_turns():
    made = free(time_step=1e-2)
    wheel = made.add_body(dynamics.Cylinder(0.5, 0.1), mass=1.0, velocity=[0, 0, 0, 0, 0, 7.0])
    hinge = made.joints.hinge(-1, wheel, [0, 0, 0], Z, limits=(-1.0, 30.0))
    made.run(400)
    # A step turns by 4 atan(h w / 4), as quaternions do.
    assert made.joints.coordinates[hinge] == pytest.approx(400 * 4 * np.arctan(7e-2 / 4), rel=1e-9)
    made.run(100)
    assert made.joints.coordinates[hinge] == pytest.approx(30.0, abs=1e-3)


@pytest.mark.parametrize("stepper", STEPPERS)
@pytest.mark.parametrize("rate", [100.0, -300.0, 390.0])
def test_angles_count_turns_above_half_a_turn_in_a_step(rate, stepper):
    made = free(time_step=1e-2, stepper=stepper)
    wheels = [
        made.add_body(dynamics.Sphere(0.1), mass=1.0, velocity=[0, 0, 0, 0, 0, w])
        for w in (-0.5 * rate, 0.5 * rate)
    ]
    hinge = made.joints.hinge(*wheels, [0, 0, 0], Z)
    made.run(50)
    parts = 2 if stepper == "moreau" else 1
    turned = 50 * parts * 4 * np.arctan(0.5 * rate * 1e-2 / (2 * parts))
    assert made.joints.coordinates[hinge] == pytest.approx(turned, rel=1e-9)


# ---- motors --------------------------------------------------------------------------------------


def test_a_motor_reaches_its_speed_with_its_moment_at_most():
    h, bound, inertia = 1e-2, 0.5, 2.0
    made = free(time_step=h)
    wheel = made.add_body(None, mass=1.0, inertia=[1.0, 1.0, inertia])
    motor = Motor(3.0, bound)
    hinge = made.joints.hinge(-1, wheel, [0, 0, 0], Z, motor=motor)
    for step in range(1, 1301):
        made.step()
        expected = min(3.0, step * h * bound / inertia)
        assert made.joints.rates[hinge] == pytest.approx(expected, abs=1e-9)
        assert abs(made.joints.impulses[hinge, 7]) <= bound * h * (1 + 1e-12)


def test_a_motor_stalls_against_a_load_and_holds_a_smaller_one():
    h, load = 5e-3, 1.0 * G  # of the horizontal arm [N m]
    made = world(time_step=h)
    arm = made.add_body(dynamics.Sphere(0.1), [1, 0, 0], mass=1.0)
    motor = Motor(0.5, 0.9 * load)
    hinge = made.joints.hinge(-1, arm, [0, 0, 0], -Y, limits=(0.0, 3.0), motor=motor)
    made.run(200)
    assert made.joints.coordinates[hinge] == pytest.approx(0.0, abs=1e-9)
    assert made.joints.impulses[hinge, 6:] == pytest.approx([0.1 * load * h, 0.9 * load * h])
    made.control.drive(hinge, 0.5, 2.0 * load)
    made.run(200)
    assert made.joints.rates[hinge] == pytest.approx(0.5, rel=1e-6)
    angle = made.joints.coordinates[hinge]
    assert made.joints.impulses[hinge, 7] == pytest.approx(load * h * np.cos(angle), rel=2e-2)


def test_a_force_is_applied_whatever_the_speed_is():
    made = free(time_step=1e-2)
    body = made.add_body(dynamics.Sphere(0.1), mass=2.0)
    slider = made.joints.slider(-1, body, [0, 0, 0], X, motor=Motor())
    made.control.push(slider, 3.0)
    made.run(100)
    assert made.velocities[body] == pytest.approx([1.5, 0, 0, 0, 0, 0], abs=1e-9)


def test_a_ram_lifts_a_load():
    made = world(time_step=1e-2)
    load = made.add_body(dynamics.Box([0.5, 0.5, 0.5]), [0, 0, 1], mass=100.0)
    made.joints.slider(-1, load, [0, 0, 1], Z)
    ram = made.joints.ram(-1, load, [0, 0, 0], [0, 0, 0.5], motor=Motor(0.1, 2000.0))
    made.run(500)
    assert made.positions[load] == pytest.approx([0, 0, 1.5], abs=1e-3)
    assert made.joints.coordinates[ram] == pytest.approx(1.0, abs=1e-3)
    assert made.joints.impulses[ram, 7] == pytest.approx(100 * G * 1e-2, rel=1e-6)
    made.control.drive(ram, 0.1, 900.0)  # too weak
    made.run(50)
    assert made.joints.rates[ram] == pytest.approx(0.1 - (G - 9.0) * 0.5, abs=1e-9)


def test_a_spring_swings_with_its_period_and_is_damped():
    # The implicit spring is stable for any stiffness, and exact in its rest length.
    made = world(time_step=1e-3)
    body = made.add_body(dynamics.Sphere(0.1), [0, 0, 1], mass=2.0)
    spring = Motor(stiffness=200.0, damping=2.0 * np.sqrt(400.0), target=0.3)
    slider = made.joints.slider(-1, body, [0, 0, 1], Z, motor=spring)
    made.run(3000)
    assert made.joints.coordinates[slider] == pytest.approx(0.3 - 2 * G / 200, abs=1e-9)
    made.control.pull(slider, -0.2)
    made.run(3000)
    assert made.joints.coordinates[slider] == pytest.approx(-0.2 - 2 * G / 200, abs=1e-9)


@pytest.mark.parametrize("stepper", STEPPERS)
def test_a_spring_has_its_law_at_the_end_of_the_step(stepper):
    h, k, c, target, speed = 2e-2, 300.0, 4.0, 0.3, 0.7
    made = free(time_step=h, stepper=stepper)
    body = made.add_body(dynamics.Sphere(0.1), mass=2.0, velocity=[1.0, 0, 0, 0, 0, 0])
    motor = Motor(speed, stiffness=k, damping=c, target=target)
    slider = made.joints.slider(-1, body, [0, 0, 0], X, motor=motor)
    for _ in range(20):
        made.step()
        x, rate = made.joints.coordinates[slider], made.joints.rates[slider]
        force = -k * (x - target) - c * (rate - speed)
        assert made.joints.impulses[slider, 7] == pytest.approx(h * force, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("h", [1e-3, 5e-4])
def test_a_spring_without_damping_has_its_frequency(h):
    made = free(time_step=h)
    body = made.add_body(dynamics.Sphere(0.1), mass=2.0, velocity=[1, 0, 0, 0, 0, 0])
    made.joints.slider(-1, body, [0, 0, 0], X, motor=Motor(stiffness=200.0))
    record = made.run(int(2.0 / h), record=("time", "positions"))
    found = crossings(record["time"], record["positions"][:, 0, 0])
    assert np.diff(found) == pytest.approx(2 * np.pi / 10, rel=1e-3)


def test_a_callback_controls_a_run():
    made = free(time_step=1e-2)
    wheel = made.add_body(dynamics.Cylinder(0.5, 0.1), mass=1.0)
    hinge = made.joints.hinge(-1, wheel, [0, 0, 0], Z, motor=Motor())
    record = made.run(
        10,
        record=("velocities",),
        control=lambda own: own.control.drive(hinge, 0.1 * (own.steps + 1)),
    )
    assert record["velocities"][:, 0, 5] == pytest.approx(0.1 * np.arange(11), abs=1e-9)


# ---- couplings -----------------------------------------------------------------------------------


def test_gears_keep_their_ratio():
    made = free(time_step=5e-3)
    wheels = [
        made.add_body(None, place, mass=1.0, inertia=[0.3, 0.2, 0.1])
        for place in ([0, 0, 0], [2, 0, 0])
    ]
    axles = [
        made.joints.hinge(-1, wheel, made.positions[wheel], axis, motor=motor)
        for wheel, axis, motor in zip(wheels, (Z, X), (Motor(0.0, 0.2), None), strict=True)
    ]
    made.joints.gear(*wheels, Z, X, -2.5)
    made.control.drive(axles[0], 100.0)
    made.run(400)
    first, second = made.joints.coordinates[axles]
    # The driver turns its own inertia, and that of the other wheel times the square of the ratio.
    assert made.joints.rates[axles[0]] == pytest.approx(2.0 * 0.2 / (0.1 + 0.3 * 2.5**2), rel=1e-9)
    assert second == pytest.approx(-2.5 * first, rel=1e-6)


def differential(axis, motor, made):
    """Add a cage on an axis with two wheels, between which a spider in the cage meshes with both.

    Returns the wheels' hinges to the housing, the cage's, and the numbers of the meshes.
    """
    housing = made.add_body(None, [0, 0, 0], mass=3.0, inertia=[0.5, 0.6, 0.7])
    cage = made.add_body(None, [0, 0, 0], mass=1.0, inertia=[0.02, 0.03, 0.02])
    spider = made.add_body(None, [0, 0, 0.1], mass=0.1, inertia=[1e-4, 1e-4, 2e-4])
    hinges = [made.joints.hinge(housing, cage, [0, 0, 0], axis, motor=motor)]
    made.joints.hinge(cage, spider, [0, 0, 0.1], Z)
    meshes = []
    for side in (-1.0, 1.0):
        wheel = made.add_body(None, side * axis, mass=1.0, inertia=[0.02, 0.02 + 0.01 * side, 0.02])
        hinges.append(made.joints.hinge(housing, wheel, side * axis, axis))
        meshes.append(made.joints.mesh(spider, wheel, 0.1 * Z + 0.05 * side * axis, Z))
    return hinges, meshes


@pytest.mark.parametrize("stepper", STEPPERS)
def test_a_differential_shares_its_moment(stepper):
    # The cage turns as fast as both wheels in the mean, also while everything tumbles, and one
    # wheel has three times the moment of inertia of the other. Momentum stays zero.
    made = free(time_step=2e-3, stepper=stepper, gyroscopic="implicit")
    (cage, *wheels), meshes = differential(Y, Motor(0.0, 0.3), made)
    made.control.push(cage, 0.3)
    before = made.momentum()
    made.run(400)
    rates = made.joints.rates
    assert rates[wheels].mean() == pytest.approx(rates[cage], rel=1e-4)  # rows have turned on
    assert made.joints.coordinates[wheels].mean() == pytest.approx(
        made.joints.coordinates[cage], rel=1e-3
    )
    assert rates[wheels[0]] > 1.5 * rates[wheels[1]] > 1.0
    assert np.abs(made.joints.impulses[meshes, 0]).min() > 0.0
    linear, angular = np.subtract(made.momentum(), before)
    assert np.abs(linear).max() < 1e-10
    assert np.abs(angular).max() < 1e-4 * 0.3 * made.time  # of first order, as gyroscopic terms


def test_wheels_that_mesh_have_the_ratio_of_their_radii():
    # A bevel gear; the wheel's radius is four times that of the pinion.
    made = free(time_step=5e-3)
    pinion = made.add_body(None, [-1.0, 0, 0], mass=1.0, inertia=[0.1, 0.2, 0.2])
    wheel = made.add_body(None, [0, 0, 0], mass=1.0, inertia=[0.2, 0.3, 0.2])
    shaft = made.joints.hinge(-1, pinion, [-1.0, 0, 0], X, motor=Motor(0.0, 0.2))
    axle = made.joints.hinge(-1, wheel, [0, 0, 0], Y)
    made.joints.mesh(wheel, pinion, [-0.4, 0.1, 0], Y)
    made.control.push(shaft, 0.2)
    made.run(400)
    assert made.joints.rates[shaft] == pytest.approx(2.0 * 0.2 / (0.1 + 0.3 / 16.0), rel=1e-6)
    assert made.joints.rates[axle] == pytest.approx(made.joints.rates[shaft] / 4.0, rel=1e-9)
    # Spur gears turn against each other.
    spur = made.add_body(None, [0.3, 0, 0], mass=1.0, inertia=[0.2, 0.3, 0.2])
    other = made.joints.hinge(-1, spur, [0.3, 0, 0], Y)
    made.joints.mesh(wheel, spur, [0.1, 0, 0], Y)
    made.run(10)
    assert made.joints.rates[other] == pytest.approx(-0.5 * made.joints.rates[axle], rel=1e-9)


def test_a_distance_is_kept():
    made = free(time_step=5e-3)
    pair = [
        made.add_body(dynamics.Sphere(0.1), place, mass=mass, velocity=[0, 0, v, 0, 0, 0])
        for place, mass, v in (([0, 0, 0], 1.0, 1.0), ([0.8, 0, 0], 3.0, -1.0))
    ]
    made.joints.distance(*pair, [0, 0, 0], [0.8, 0, 0])
    before = made.momentum()
    made.run(2000)
    assert np.linalg.norm(np.subtract(*made.positions)) == pytest.approx(0.8, abs=1e-4)
    for old, new in zip(before, made.momentum(), strict=True):
        assert new == pytest.approx(old, abs=1e-9)


def test_a_fixed_joint_makes_two_bodies_one():
    made = free(time_step=2e-3, gyroscopic="implicit")
    rng = np.random.default_rng(2)
    pair = [
        made.add_body(
            dynamics.Box([0.2, 0.3, 0.1]), place, mass=1.0, velocity=[0, 0, 0, 0.4, 1.0, 0.2]
        )
        for place in (rng.normal(size=3), rng.normal(size=3))
    ]
    joint = made.joints.fixed(*pair, [0.1, 0.2, 0.3])
    made.run(1000)
    assert made.orientations[0] == pytest.approx(made.orientations[1], abs=1e-4)
    assert made.joints.errors[joint] == pytest.approx([0, 0], abs=1e-4)


def test_compliance_gives_way_by_its_force():
    made = world(time_step=1e-2)
    body = made.add_body(dynamics.Sphere(0.1), mass=2.0)
    made.joints.fixed(-1, body, [0, 0, 0], compliance=[0, 0, 1e-3, 0, 0, 0])
    made.run(1000)
    assert made.positions[body] == pytest.approx([0, 0, -2.0 * G * 1e-3], abs=1e-6)


def test_joints_between_moving_bodies_keep_momentum():
    made = free(time_step=2e-3)
    rng = np.random.default_rng(4)
    bodies = [
        made.add_body(dynamics.Sphere(0.2), place, mass=1.0, velocity=rng.normal(size=6))
        for place in rng.normal(size=(6, 3)) * 3.0
    ]
    axis = np.array([0.6, 0.0, 0.8])
    made.joints.ball(bodies[0], bodies[1], [0, 0, 0])
    made.joints.hinge(bodies[1], bodies[2], [1, 0, 0], axis, motor=Motor(1.0, 0.3))
    made.joints.slider(bodies[2], bodies[3], [0, 1, 0], axis, limits=(-0.1, 0.2))
    made.joints.fixed(bodies[3], bodies[4], [0, 1, 1])
    made.joints.distance(bodies[4], bodies[5], [0, 0, 1], [2, 0, 1])
    before = made.momentum()
    made.run(50)
    for old, new in zip(before, made.momentum(), strict=True):
        assert new == pytest.approx(old, abs=1e-10)


# ---- rows ----------------------------------------------------------------------------------------


def test_rows_are_those_of_the_joints_of_a_problem():
    made = free(time_step=1e-2, stepper="semi_implicit_euler")
    places = np.array([[0.0, 0, 0], [1.0, 0.2, 0.1]])
    pair = [
        made.add_body(None, place, mass=1.0, inertia=[0.2, 0.3, 0.4], velocity=[1, 2, 3, 4, 5, 6])
        for place in places
    ]
    point, axis = np.array([0.4, 0.3, 0.2]), np.array([0.6, 0.0, 0.8])
    bodies = [pair]
    wanted = [
        cs.joints.ball([point], bodies, places),
        cs.joints.hinge([point], [axis], bodies, places),
        cs.joints.slider([point], [axis], bodies, places),
        cs.joints.fixed([point], bodies, places),
        cs.joints.distance([point], [point + axis], bodies, places),
        cs.joints.gear([axis], [X], bodies, 1.7),
    ]
    own = made.joints
    own.ball(*pair, point)
    own.hinge(*pair, point, axis)
    own.slider(*pair, point, axis)
    own.fixed(*pair, point)
    own.distance(*pair, point, point + axis)
    own.gear(*pair, axis, X, 1.7)
    made.step()
    problem = made.problem()
    assert {one.name for one in problem.sets} == {"free"}
    found = [np.asarray(J) for J in problem.J]
    assert [J.shape[2] for J in found] == [3, 5, 6, 1]
    in_order = [found[0][0], found[1][0], found[1][1], found[2][0], found[3][0], found[3][1]]
    for rows, J in zip(in_order, wanted, strict=True):
        assert rows == pytest.approx(J[0], abs=1e-12)


def test_groups_of_limits_and_motors_follow_the_rows_that_are_held():
    made = world(time_step=1e-2)
    made.add_fixed(dynamics.HalfSpace(Z))
    body = made.add_body(dynamics.Sphere(0.5), [0, 0, 0.5], mass=1.0)
    motor = Motor(1.0, (-2.0, 5.0))
    made.joints.slider(-1, body, [0, 0, 0.5], X, limits=(-1, 2), motor=motor, contacts=True)
    made.step()
    problem = made.problem()
    assert [one.name for one in problem.sets] == ["disc", "free", "half_line", "box"]
    limit, drive = (np.asarray(problem.J[g])[0, :, 0] for g in (2, 3))
    assert limit == pytest.approx(drive)  # the lower one is nearer
    assert problem.b[2][0] == pytest.approx([1.0 / 1e-2])
    assert problem.b[3][0] == pytest.approx([-1.0])


def test_driven_bodies_drive_joints():
    made = free(time_step=1e-2)
    crank = made.add_body(None, driven=True, velocity=[0, 0, 0, 0, 0, 2.0])
    rod = made.add_body(dynamics.Sphere(0.1), [1.5, 0, 0], mass=1.0, velocity=[0, 1, 0, 0, 0, 0])
    pin = made.joints.ball(crank, rod, [0.5, 0, 0])
    made.run(300)
    at = np.array([np.cos(2 * made.time), np.sin(2 * made.time), 0]) * 0.5
    assert made.joints.errors[pin, 0] < 1e-3
    reached = made.positions[rod] - at
    assert np.linalg.norm(reached) == pytest.approx(1.0, abs=2e-3)


# ---- tension -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tension", "stable"), [("explicit", False), ("implicit", True)])
def test_implicit_tension_keeps_a_loaded_chain_still(tension, stable):
    # Links of 1 kg swing with 12 T / (m l): above 2 / h under the weight of what hangs on them.
    made = dynamics.World(
        time_step=1 / 60,
        stepper="semi_implicit_euler",
        gyroscopic="implicit",
        tension=tension,
        max_iterations=5000,
    )
    last = -1
    for k in range(10):
        own = {"mass": 1.0} if k < 9 else {"mass": 100.0}
        link = made.add_body(dynamics.Capsule(0.03, 0.07), [0, 0, -0.2 * k - 0.1], **own)
        made.joints.ball(last, link, [0, 0, -0.2 * k])
        last = link
    made.place(4, velocity=[0.01, 0, 0, 0, 0, 0])
    made.run(200)
    fastest = np.abs(made.velocities).max()
    assert fastest < 0.02 if stable else fastest > 1.0


def test_implicit_tension_damps_to_first_order():
    lost = []
    for h in (4e-3, 2e-3, 1e-3):
        made = pendulum("hinge", 1.0, time_step=h, tension="implicit")
        before = sum(made.energy())
        made.run(int(2.0 / h))
        lost.append(before - sum(made.energy()))
    assert all(1.7 < a / b < 2.3 for a, b in pairwise(lost))


def test_scenes_of_s3_stay_together():
    for made in (dynamics.scenes.hoisted_chain(), dynamics.scenes.winch()):
        made.run(120)
        assert made.joints.errors[:, 0].max() < 1e-2
        assert max(0.0, -made.contacts.gaps.min()) < 2e-2
    assert made.joints.coordinates.min() == pytest.approx(-2 / 0.44, rel=1e-2)  # turns of the drum


def test_ragdolls_come_to_rest_within_their_limits():
    made = dynamics.scenes.ragdolls(1)
    made.run(720)
    assert made.energy()[0] < 10.0
    for joint, coordinate in enumerate(made.joints.coordinates):
        low, high = made.joints[joint].limits
        assert low - 0.05 < coordinate < high + 0.05
