"""Motions whose course is known."""

import numpy as np
import pytest

import contactsolve as cs
from colliding import rotation
from contactsolve import dynamics

G = 9.81
BALL = dynamics.Sphere(0.1)
GROUND = dynamics.HalfSpace([0.0, 0.0, 1.0])


def world(**options):
    """Return a world with a tight tolerance."""
    return dynamics.World(**{"rtol": 1e-12, "max_iterations": 2000, **options})


def on_ground(shape, *, height, mu=0.0, restitution=0.0, gravity=(0, 0, -G), **options):
    """Return a world with one body above a plane, and its number."""
    material = dynamics.Material(mu, restitution)
    scene = world(gravity=gravity, **options)
    scene.add_fixed(GROUND, material=material)
    return scene, scene.add_body(shape, [0, 0, height], density=1000.0, material=material)


@pytest.mark.parametrize("stepper", ["moreau", "semi_implicit_euler"])
def test_a_body_falls(stepper):
    scene = dynamics.World(time_step=1e-2, stepper=stepper)
    body = scene.add_body(dynamics.Sphere(0.1), [1, 2, 3], density=1.0, velocity=[1, 0, 2, 0, 0, 3])
    scene.run(100)
    assert scene.time == pytest.approx(1.0)
    assert scene.velocities[body] == pytest.approx([1, 0, 2 - G, 0, 0, 3], abs=1e-12)
    # The midpoint rule is exact; Euler's rule is late by half a step.
    late = 0 if stepper == "moreau" else 0.5 * G * 1e-2
    assert scene.positions[body] == pytest.approx([2, 2, 3 + 2 - G / 2 - late], abs=1e-12)


@pytest.mark.parametrize("dt", [1e-2, 1e-3, 1e-4, 1e-5])
def test_a_ball_bounces_until_it_rests(dt):
    radius, epsilon, height = 0.1, 0.5, 0.5
    scene, ball = on_ground(
        dynamics.Sphere(radius), height=radius + height, restitution=epsilon, time_step=dt
    )
    first = np.sqrt(2 * height / G)  # the first impact, and Zeno's point, where it comes to rest
    speed, rest = G * first, first * (1 + epsilon) / (1 - epsilon)
    record = scene.run(
        int(1.2 * rest / dt), record=("time", "positions"), every=max(1, round(1e-4 / dt))
    )

    def exact(time):
        if time < first:
            return height - 0.5 * G * time**2
        start, rise = first, epsilon * speed
        while rise > 1e-9 * speed:
            if time < start + 2 * rise / G:
                return rise * (time - start) - 0.5 * G * (time - start) ** 2
            start, rise = start + 2 * rise / G, epsilon * rise
        return 0.0

    found = record["positions"][:, ball, 2] - radius
    wanted = np.array([exact(time) for time in record["time"]])
    assert np.abs(found - wanted).max() <= 2 * speed * dt


@pytest.mark.parametrize("steepness", [0.2, 0.5])
def test_a_block_slides_down_a_slope(steepness):
    # Gravity is inclined in place of the slope.
    angle, mu, dt, steps = np.arctan(steepness), 0.1, 1e-3, 200
    pull = (G * np.sin(angle), 0.0, -G * np.cos(angle))
    scene, block = on_ground(
        dynamics.Box([0.5, 0.5, 0.1]), height=0.1, mu=mu, gravity=pull, time_step=dt
    )
    scene.run(steps)
    wanted = steps * dt * G * (np.sin(angle) - mu * np.cos(angle))
    assert scene.velocities[block, 0] == pytest.approx(wanted, abs=1e-12)
    assert scene.velocities[block, 1:] == pytest.approx(np.zeros(5), abs=1e-12)


def test_a_block_below_the_cone_rests():
    pull = (0.4 * G, 0.0, -G)
    scene, block = on_ground(
        dynamics.Box([0.5, 0.5, 0.1]), height=0.1, mu=0.5, gravity=pull, time_step=1e-3
    )
    record = scene.run(10_000, record=("positions",), every=100)
    assert np.abs(record["positions"][:, block] - [0, 0, 0.1]).max() <= 1e-10


def test_a_sliding_sphere_ends_rolling():
    speed, radius = 1.0, 0.1
    scene, ball = on_ground(dynamics.Sphere(radius), height=radius, mu=0.5, time_step=1e-3)
    other = scene.add_body(
        dynamics.Sphere(radius),
        [0, 5, radius],
        density=1000.0,
        velocity=[speed, 0, 0, 0, 0, 0],
        material=scene._kept[0],
    )
    scene.run(400)
    assert scene.velocities[other, 0] == pytest.approx(5 / 7 * speed, abs=1e-11)
    assert scene.velocities[other, 4] == pytest.approx(5 / 7 * speed / radius, abs=1e-10)
    assert scene.velocities[ball] == pytest.approx(np.zeros(6), abs=1e-11)


@pytest.mark.parametrize(("mu", "rolls"), [(0.2, True), (0.143, True), (0.142, False)])
def test_a_sphere_rolls_on_a_slope(mu, rolls):
    angle, dt, steps = np.arctan(0.5), 1e-3, 100  # it rolls if tan(angle) <= 3.5 mu: from 1/7 on
    pull = (G * np.sin(angle), 0.0, -G * np.cos(angle))
    scene, ball = on_ground(dynamics.Sphere(0.1), height=0.1, mu=mu, gravity=pull, time_step=dt)
    scene.run(steps)
    rolling = 5 / 7 * G * np.sin(angle)
    sliding = G * (np.sin(angle) - mu * np.cos(angle))
    wanted = steps * dt * (rolling if rolls else sliding)
    assert scene.velocities[ball, 0] == pytest.approx(wanted, abs=1e-10)
    slip = scene.velocities[ball, 0] - 0.1 * scene.velocities[ball, 4]
    assert (abs(slip) < 1e-10) == rolls


@pytest.mark.parametrize("epsilon", [0.0, 0.6, 1.0])
def test_a_cradle_of_touching_balls_shares_the_impact(epsilon):
    count, speed, radius = 5, 1.0, 0.5
    scene = world(gravity=(0, 0, 0), time_step=1e-3)
    steel = dynamics.Material(0.0, epsilon)
    places = np.zeros((count, 3))
    places[:, 0] = 2 * radius * np.arange(count)
    speeds = np.zeros((count, 6))
    speeds[0, 0] = speed
    balls = scene.add_bodies(
        dynamics.Sphere(radius), places, velocities=speeds, density=1.0, material=steel
    )
    scene.step()
    assert scene.momentum()[0][0] == pytest.approx(scene.masses[0] * speed)
    # Newton's law at every contact: all relative velocities are zero but the first, -epsilon v.
    found = scene.velocities[balls, 0]
    assert np.diff(found) == pytest.approx([epsilon * speed, 0, 0, 0], abs=1e-10)
    assert found[-1] == pytest.approx((1 + epsilon) * speed / count, abs=1e-10)


def test_in_a_cradle_of_separate_balls_the_last_one_flies():
    count, speed, radius = 4, 0.5, 0.5
    scene = world(gravity=(0, 0, 0), time_step=1e-3)
    steel = dynamics.Material(0.0, 1.0)
    places = np.zeros((count, 3))
    places[:, 0] = (2 * radius + 1e-3) * np.arange(count)
    speeds = np.zeros((count, 6))
    speeds[0, 0] = speed
    balls = scene.add_bodies(
        dynamics.Sphere(radius), places, velocities=speeds, density=1.0, material=steel
    )
    scene.run(40)
    assert scene.velocities[balls, 0] == pytest.approx([0, 0, 0, speed], abs=1e-10)


def test_energy_changes_by_the_work_of_the_contacts():
    rng = np.random.default_rng(3)
    scene = world(time_step=1e-3, rtol=1e-10)
    rubber = dynamics.Material(0.3, 0.4)
    scene.add_fixed(GROUND, material=rubber)
    places = np.stack(np.meshgrid(*[np.arange(3.0)] * 3), -1).reshape(-1, 3) * 0.21 + 0.1
    speeds = np.concatenate([rng.normal(size=(27, 3)), np.zeros((27, 3))], axis=1)
    scene.add_bodies(
        dynamics.Sphere(0.1), places, velocities=speeds, density=500.0, material=rubber
    )
    before, most = sum(scene.energy()), 0.0
    closed = 0
    for _ in range(150):
        start = scene.velocities.copy()
        scene.step()
        after, problem = sum(scene.energy()), scene.problem()
        work = 0.0
        if problem is not None:
            ends = (
                np.concatenate([start, np.zeros((1, 6))]),
                np.concatenate([scene.velocities, np.zeros((1, 6))]),
            )
            sums = [np.einsum("ksij,ksj->ki", problem.J, one[problem.bodies]) for one in ends]
            impulses = scene.contacts.impulses[:, :3]
            work = 0.5 * np.sum(impulses * (sums[0] + sums[1]))
            closed = max(closed, problem.contacts)
        most = max(most, abs(after - before - work) / before)
        before = after
    assert closed >= 8
    assert most <= 1e-13


def test_momentum_is_kept():
    rng = np.random.default_rng(1)
    scene = world(gravity=(0, 0, 0), time_step=1e-2, rtol=1e-10)
    places = np.stack(np.meshgrid(*[np.arange(3.0)] * 3), -1).reshape(-1, 3) * 0.201
    speeds = np.concatenate([-places + 0.2, rng.normal(size=(27, 3))], axis=1)
    scene.add_bodies(
        dynamics.Sphere(0.1),
        places,
        velocities=speeds,
        density=500.0,
        material=dynamics.Material(0.3, 0.2),
    )
    linear, angular = scene.momentum()
    size = np.abs(scene.masses[:, None] * scene.velocities[:, :3]).sum()
    record = scene.run(100)
    assert record["contacts"].max() > 10
    now = scene.momentum()
    assert np.abs(now[0] - linear).max() <= 1e-14 * size
    assert np.abs(now[1] - angular).max() <= 1e-13 * size


def scaled_pile(length, time, mass):
    """Return the state of a pile after 500 steps, in its own units."""
    scene = dynamics.World(
        time_step=1e-3 * time,
        activation=1e-6 * length,
        method="gauss_seidel",
        rtol=None,
        atol=None,
        max_iterations=30,
    )
    stone = dynamics.Material(0.4, 0.3)
    scene.add_fixed(GROUND, material=stone)
    places = np.stack(np.meshgrid(*[np.arange(3.0)] * 3), -1).reshape(-1, 3) * 0.205 + 0.11
    scene.add_bodies(
        dynamics.Sphere(0.1 * length), places * length, mass=np.full(27, 2.0 * mass), material=stone
    )
    scene.run(500)
    speeds = scene.velocities.copy()
    speeds[:, :3] *= time / length
    speeds[:, 3:] *= time
    return scene.positions / length, scene.orientations.copy(), speeds


def test_scaled_worlds_move_alike():
    for one, other in zip(scaled_pile(1, 1, 1), scaled_pile(4, 2, 16), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("gyroscopic", ["explicit", "implicit"])
def test_a_free_body_tumbles_as_euler_says(gyroscopic):
    special = pytest.importorskip("scipy.special")
    moments, spin = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.3, 1.5])

    def error(dt):
        scene = world(gravity=(0, 0, 0), time_step=dt, gyroscopic=gyroscopic)
        body = scene.add_body(mass=1.0, inertia=moments, velocity=[0, 0, 0, *spin])
        scene.run(round(2.0 / dt))
        turn = rotation(scene.orientations[body])
        found = turn.T @ scene.velocities[body, 3:]

        # Euler's equations in the body's frame, by Jacobi's elliptic functions (Landau & Lifshitz,
        # Mechanics, section 37), with I1 < I2 < I3 and M^2 > 2 E I2.
        i1, i2, i3 = moments
        twice, square = moments @ spin**2, (moments**2) @ spin**2
        rate = np.sqrt((i3 - i2) * (square - twice * i1) / (i1 * i2 * i3))
        modulus = (i2 - i1) * (twice * i3 - square) / ((i3 - i2) * (square - twice * i1))
        largest = np.sqrt(
            [
                (twice * i3 - square) / (i1 * (i3 - i1)),
                (twice * i3 - square) / (i2 * (i3 - i2)),
                (square - twice * i1) / (i3 * (i3 - i1)),
            ]
        )
        begin = special.ellipkinc(np.arcsin(spin[1] / largest[1]), modulus)
        sn, cn, dn, _ = special.ellipj(begin + rate * 2.0, modulus)
        return np.abs(found - largest * [cn, sn, dn]).max()

    coarse, fine = error(1e-3), error(5e-4)
    assert fine < 5e-3
    assert 1.8 < coarse / fine < 2.2  # first order


def test_a_disc_rolls_in_the_plane():
    scene = world(dimension=2, time_step=1e-3)
    rubber = dynamics.Material(0.5)
    scene.add_fixed(dynamics.HalfSpace([0.0, 1.0]), material=rubber)
    disc = scene.add_body(
        dynamics.Disc(0.1), [0, 0.1], density=10.0, velocity=[1.0, 0, 0], material=rubber
    )
    scene.run(300)
    assert scene.velocities[disc] == pytest.approx([2 / 3, 0, -2 / 3 / 0.1], abs=1e-10)


def test_a_step_turns_as_its_two_halves_do():
    # Each half adds w / 2 times its length to the quaternion: 2 atan(w dt / 4).
    scene = world(gravity=(0, 0, 0), time_step=0.01)
    wheel = scene.add_body(BALL, velocity=[0, 0, 0, 0, 0, 100.0], driven=True)
    scene.step()
    turned = 2 * np.arctan2(scene.orientations[wheel, 3], scene.orientations[wheel, 0])
    assert turned == pytest.approx(4 * np.arctan(0.25), abs=1e-15)


def test_a_driven_floor_carries_a_block():
    scene = world(time_step=1e-3)
    rubber = dynamics.Material(0.5)
    scene.add_body(
        dynamics.Box([5, 5, 0.1]),
        [0, 0, -0.1],
        velocity=[0.1, 0, 0.2, 0, 0, 0],
        driven=True,
        material=rubber,
    )
    block = scene.add_body(dynamics.Box([0.1] * 3), [0, 0, 0.1], density=100.0, material=rubber)
    scene.run(200)
    assert scene.velocities[block] == pytest.approx([0.1, 0, 0.2, 0, 0, 0], abs=1e-9)


def test_visual_bodies_have_mass_and_touch_nothing():
    scene = world(time_step=0.01)
    scene.add_fixed(dynamics.HalfSpace([0, 0, 1]))
    block = dynamics.Box([0.1, 0.2, 0.3])
    ghost = scene.add_body(block, [0, 0, 0.3], density=100.0, visual=True)
    solid = scene.add_body(block, [0, 0, 0.3], density=100.0)
    some = scene.add_bodies(BALL, [[0, 0, 0.3], [0.05, 0, 0.3]], mass=1.0, visual=True)
    scene.run(100)
    assert scene.masses[ghost] == scene.masses[solid]
    assert scene.positions[[ghost, *some], 2].max() < -4.0
    assert scene.positions[solid, 2] == pytest.approx(0.3, abs=1e-6)
    assert [one.material is None for one in scene.shapes] == [False, True, False, True, True]
    with pytest.raises(TypeError, match="shapes of a visual body touch nothing"):
        scene.add_body(BALL, mass=1.0, material=dynamics.Material(), visual=True)


def by_pairs(problem):
    """Return pairs, J and b of a problem, sorted by its pairs."""
    order = np.lexsort(problem.bodies.T)
    return problem.bodies[order], problem.J[order], problem.b[order]


@pytest.mark.parametrize("size", [5, pytest.param(24, marks=pytest.mark.slow)])
def test_spheres_of_the_ball_grid_make_its_problem(size):
    grid = cs.scenarios.ball_grid(size)
    scene = dynamics.World(time_step=0.01, max_iterations=1, rtol=None, atol=None)
    stone = dynamics.Material(0.5)
    scene.add_fixed(GROUND, material=stone)
    z, y, x = np.meshgrid(*[np.arange(float(size))] * 3, indexing="ij")
    places = 2 * np.stack([x, y, z], -1).reshape(-1, 3) + [0, 0, 1]
    scene.add_bodies(dynamics.Sphere(1.0), places, mass=20.0, material=stone)
    scene.step()
    problem = scene.problem()
    assert problem.contacts == grid.contacts == size**2 * (3 * size - 2)
    for found, wanted in zip(by_pairs(problem), by_pairs(grid), strict=True):
        assert np.abs(found - wanted).max() <= 1e-14


def crowd(dimension, law):
    """Return shuffled bodies that collapse; one is driven, and a step makes four sweeps."""
    rng = np.random.default_rng(4)
    sweeps = {"method": "gauss_seidel", "max_iterations": 4, "rtol": 1e-14, "atol": 0.0}
    scene = dynamics.World(dimension, time_step=5e-3, **sweeps)
    stone = dynamics.Material(**law)
    scene.add_fixed(dynamics.HalfSpace(np.eye(dimension)[-1]), material=stone)
    side = np.arange(4 if dimension == 3 else 8)
    places = np.stack(np.meshgrid(*[side] * dimension, indexing="ij"), -1).reshape(-1, dimension)
    places = rng.permutation(0.21 * places + 0.12 * np.eye(dimension)[-1])
    if dimension == 3:
        shapes = [dynamics.Sphere(0.1), dynamics.Box([0.1, 0.09, 0.08])]
    else:
        corners = [[-0.1, -0.09], [0.1, -0.09], [0.1, 0.09], [-0.1, 0.09]]
        shapes = [dynamics.Disc(0.1), dynamics.Polygon(corners)]
    scene.add_bodies(shapes * (len(places) // 2), places, density=800.0, material=stone)
    belt = [0.4, -0.3, -0.5][-dimension:]
    velocity = [1.0, 0, 0, 0, 0, 0.5] if dimension == 3 else [1.0, 0, 0.5]
    scene.add_body(shapes[0], belt, velocity=velocity, driven=True, material=stone)
    return scene


@pytest.mark.filterwarnings("ignore:.*the solve ended:RuntimeWarning")
@pytest.mark.parametrize(
    ("dimension", "law"),
    [
        (3, {"mu": 0.5, "restitution": (0.3, 0.1)}),
        (3, {"mu": 0.0}),
        (3, {"sets": cs.sets.contensou(0.5, 0.02)}),
        (3, {"sets": cs.sets.rolling(0.5, 0.01)}),
        (2, {"mu": 0.5}),
    ],
    ids=["friction", "frictionless", "spin", "rolling", "plane"],
)
def test_the_problem_of_a_step_is_what_the_step_solved(dimension, law):
    """A new problem has the natural map that the step found, and moves bodies as it did."""
    scene, closed = crowd(dimension, law), 0
    dof = 6 if dimension == 3 else 3
    free = np.arange(scene.bodies) < scene.bodies - 1
    gravity = np.zeros(dof)
    gravity[dimension - 1] = -G * 5e-3
    for _ in range(50):  # bodies are ordered anew after 32
        start = scene.velocities.copy()
        scene.step()
        problem = scene.problem()
        if problem is None:
            continue
        rows, closed = problem.J.shape[2], max(closed, problem.contacts)
        impulses = scene.contacts.impulses[:, :rows]
        largest = 1 + np.abs(impulses).max()

        # Zero steps from the impulses: row 0 of the history is that of the start.
        result = cs.solve(
            problem, method="jacobi", initial=impulses, max_iterations=1, rtol=None, atol=None,
            record=("natural_map",),
        )  # fmt: skip
        assert abs(result.history["natural_map"][0] - scene.info["natural_map"]) <= 1e-13 * largest

        # u^E = u^S + g dt + M^-1 J^T lambda, without gyroscopic moments: of spheres, and linear.
        force = np.zeros((scene.bodies + 1, dof))
        for side in range(2):
            np.add.at(
                force,
                problem.bodies[:, side],
                np.einsum("ki,kij->kj", impulses, problem.J[:, side]),
            )
        inverse = problem.Minv
        if inverse.ndim == 2:
            change = inverse * force[:-1]
        else:
            change = np.einsum("nij,nj->ni", inverse, force[:-1])
        wanted = start + gravity + change
        difference = (scene.velocities - wanted)[free, :dimension]
        assert np.abs(difference).max() <= 1e-12 * (1 + np.abs(scene.velocities).max())
    assert closed > 60


def test_contacts_at_other_corners_go_on_from_their_impulses():
    """In a pyramid of squares rounding chooses the corners that name a contact."""
    scene = dynamics.World(
        2, method="nesterov", max_iterations=2000, rtol=1e-5, activation=1e-3, time_step=1e-2
    )
    stone = dynamics.Material(0.6)
    scene.add_fixed(dynamics.HalfSpace([0.0, 1.0]), material=stone)
    square = dynamics.Polygon([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    places = np.array([[j - 0.5 * i, 9.5 - i] for i in range(10) for j in range(i + 1)])
    scene.add_bodies(square, places, density=1.0, material=stone)

    before, iterations, changed = [], [], 0
    for _ in range(30):
        scene.step()
        ids = scene.contacts.ids
        changed += len(before) and np.count_nonzero((ids != before).any(axis=1))
        assert scene.info["new_solver"] == (not len(before))
        before = ids
        iterations.append(scene.info["iterations"])
    assert changed > len(before)
    assert max(iterations[2:]) < iterations[0] / 2
    assert np.abs(scene.positions - places).max() <= 1e-6
