"""Collisions of cloth: certificates, judged by exact arithmetic, and known motions."""

import numpy as np
import pytest
from contact_judge import contacts_between

import contactsolve as cs

RESPONSES = ("impulses", "problem")
FLOOR = ([[-3.0, -3.0, 0.0], [3.0, -3.0, 0.0], [0.0, 6.0, 0.0]], [[0, 1, 2]])
G = 9.81


def floor(motion=None):
    return cs.cloth.Obstacle(*FLOOR, motion=motion)


def stack(layers, side=5, gap=4e-3, shift=3e-3, size=0.4):
    """Sheets on top of each other, each moved by a little: vertices, faces."""
    flat, faces = cs.cloth.sheet(side, side, size)
    x = np.concatenate([flat + [shift * k, shift * k, gap * (k + 1)] for k in range(layers)])
    return x, np.concatenate([faces + k * len(flat) for k in range(layers)])


def cloth_of(vertices, faces, collisions=None, **options):
    given = {"density": 0.2, "young": 300.0, "bending": 1e-5, "damping": 0.01, "threads": 1}
    return cs.cloth.Cloth(
        vertices, faces, collisions=collisions or cs.cloth.Collisions(2e-3), **given | options
    )


def thrown(**options):
    """A sheet that is folded in mid-air and falls on an edge, with steps of 10 ms."""
    vertices, faces = cs.cloth.sheet(6, 6, 0.3)
    velocities = np.zeros_like(vertices)
    velocities[:, 2] = -6 + 60 * np.abs(vertices[:, 0] - 0.15)
    velocities[:, 0] = -8 * (vertices[:, 0] - 0.15)
    vertices[:, 2] = 0.12
    ridge = [[0.1, -1.0, 0.0], [0.2, -1.0, 0.0], [0.15, -1.0, 0.1]]
    ridge += [[x, 1.0, z] for x, _, z in ridge]
    sides = [[0, 2, 5], [0, 5, 3], [1, 4, 5], [1, 5, 2]]
    obstacles = [cs.cloth.Obstacle(ridge, sides), floor()]
    collisions = options.pop("collisions", None) or cs.cloth.Collisions(2e-3, mu=0.2)
    return cloth_of(
        vertices,
        faces,
        collisions,
        velocities=velocities,
        obstacles=obstacles,
        **{"bending": 1e-6, "young": 50.0, **options},
    )


def judge(cloth, h):
    """Make a step, and return the contacts on its way."""
    before, times = cloth.positions, [cloth.time]
    cloth.step(h)
    times.append(cloth.time)
    meshes = [(before, cloth.positions, cloth.faces)]
    meshes += [(*(o.at(t) for t in times), o.faces) for o in cloth._colliding.obstacles]
    return contacts_between(meshes, len(before))


# ---- certificates --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32", "mixed"])
def test_no_step_has_a_contact(dtype):
    cloth = thrown(dtype=dtype, rtol=1e-4)
    impacts = 0
    for _ in range(10):
        assert judge(cloth, 1e-2) == []
        told = cloth.info
        impacts += told["impacts"]
        assert told["free"] is True and told["length"] == 1e-2
    assert impacts > 20


def test_the_judge_finds_what_the_response_prevents():
    free = thrown()
    through = cs.cloth.Cloth(
        free.positions, free.faces, density=0.2, young=50.0, velocities=free.velocities
    )
    found = 0
    for _ in range(4):
        before = through.positions
        through.step(1e-2)
        meshes = [(before, through.positions, through.faces)]
        meshes += [(o.vertices, o.vertices, o.faces) for o in free._colliding.obstacles]
        found += len(contacts_between(meshes, len(before)))
    assert found > 20


def test_moving_obstacle():
    """A plate that comes up fast, and turns."""

    def motion(t):
        angle = 4 * t
        turn = np.array(
            [
                [np.cos(angle), 0, np.sin(angle)],
                [0, 1, 0],
                [-np.sin(angle), 0, np.cos(angle)],
            ]
        )
        return 0.2 * np.array(FLOOR[0]) @ turn.T + [0.1, 0, 3 * t]

    vertices, faces = cs.cloth.sheet(6, 6, 0.3)
    vertices += [0, -0.1, 0.02]
    with pytest.warns(RuntimeWarning, match="an obstacle moves by"):
        cloth = cloth_of(vertices, faces, obstacles=[floor(motion)])
        for _ in range(8):
            assert judge(cloth, 5e-3) == []
    assert cloth.info["obstacle_moved"] > 2e-3
    assert cloth.velocities[:, 2].mean() > 1


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rule", cs.bvh.rules())
def test_bits_depend_on_no_rule_and_no_thread(rule, threads):
    def run(**options):
        cloth = thrown(**options)
        cloth.run(0.15, 1e-2)
        return cloth.positions, cloth.velocities

    wanted = run()
    collisions = cs.cloth.Collisions(2e-3, mu=0.2, rule=rule)
    for a, b in zip(wanted, run(collisions=collisions, threads=threads), strict=True):
        assert np.array_equal(a, b)


def test_zones_alone():
    """Without stopping impulses, zones keep the motion free."""
    cloth = thrown(collisions=cs.cloth.Collisions(2e-3, iterations=0))
    vertices = 0
    for _ in range(8):
        assert judge(cloth, 1e-2) == []
        vertices += cloth.info["zone_vertices"]
    assert vertices > 8


def test_shorter_steps_are_the_last_resort():
    collisions = cs.cloth.Collisions(2e-3, iterations=0, zones=0)
    cloth = thrown(collisions=collisions)
    cloth.run(0.08, 1e-2)
    assert cloth.info["steps_refused"] > 0 and cloth.info["free"] is True
    assert cloth.time == pytest.approx(0.08, rel=1e-12)
    assert cloth.info["steps"] > 8


def test_no_room_is_an_error():
    """A plate comes down on a sheet that lies on the floor."""

    def motion(t):
        return np.array(FLOOR[0]) + [0, 0, 0.004 - t]

    vertices, faces = cs.cloth.sheet(3, 3, 0.2)
    vertices[:, 2] = 2e-3
    cloth = cloth_of(vertices, faces, obstacles=[floor(), floor(motion)])
    cloth._colliding.has_warned = True
    with pytest.raises(ValueError, match=r"no step from t = .* s is free of contacts"):
        for _ in range(200):
            before, time = cloth.positions, cloth.time
            cloth.step(5e-3)
    assert np.array_equal(cloth.positions, before) and cloth.time == time < 4e-3
    assert cloth.info["steps_refused"] > 10


# ---- known motions -------------------------------------------------------------------------------


def weight(cloth):
    return G * cloth.masses.sum()


def test_a_sheet_rests_on_a_plane():
    vertices, faces = cs.cloth.sheet(6, 6, 0.5)
    vertices[:, 2] = 5e-3
    cloth = cloth_of(vertices, faces, obstacles=[floor()])
    cloth.run(0.6, 5e-3)
    assert np.abs(cloth.velocities).max() < 1e-6
    assert cloth.positions[:, 2] == pytest.approx(2e-3, rel=1e-3)
    impulse = cloth.info["obstacle_impulses"]
    assert impulse.shape == (1, 3)
    assert impulse[0, 2] == pytest.approx(weight(cloth) * 5e-3, rel=1e-6)
    assert impulse[0, :2] == pytest.approx(0, abs=1e-9)


def layers_of(cloth, count):
    return cloth.positions[:, 2].reshape(count, -1)


def test_two_sheets_keep_their_order():
    cloth = cloth_of(*stack(2, side=7), obstacles=[floor()])
    cloth.run(0.8, 5e-3)
    lower, upper = layers_of(cloth, 2)
    assert (upper > lower + 1e-3).all() and lower.min() > 1e-3
    assert cloth.info["obstacle_impulses"][0, 2] == pytest.approx(weight(cloth) * 5e-3, rel=1e-2)


@pytest.mark.slow
def test_a_stack_of_twenty_sheets():
    cloth = cloth_of(*stack(20), cs.cloth.Collisions(2e-3, mu=0.3), obstacles=[floor()])
    cloth.run(1.5, 5e-3)
    z = layers_of(cloth, 20)
    assert (np.diff(z, axis=0) > 0.5e-3).all() and z.min() > 1e-3
    impulses = []
    for _ in range(20):
        cloth.step(5e-3)
        impulses.append(cloth.info["obstacle_impulses"][0, 2])
    assert np.mean(impulses) == pytest.approx(weight(cloth) * 5e-3, rel=1e-2)


def test_momentum_goes_through_collisions():
    """Two sheets meet in free flight."""
    vertices, faces = stack(2, side=6)
    velocities = np.zeros_like(vertices)
    velocities[: len(vertices) // 2] = [0.3, 0.1, 2.0]
    cloth = cloth_of(
        vertices,
        faces,
        cs.cloth.Collisions(2e-3, mu=0.4),
        velocities=velocities,
        gravity=(0, 0, 0),
        rtol=1e-12,
    )
    before, _ = cloth.momentum()
    impacts = 0
    for _ in range(20):
        cloth.step(5e-3)
        impacts += cloth.info["impacts"] + cloth.info["contacts"]
        now, _ = cloth.momentum()
        assert now == pytest.approx(before, rel=1e-12, abs=1e-13)
    assert impacts > 50
    lower, upper = cloth.velocities.reshape(2, -1, 3).mean(axis=1)
    assert upper[2] > 0.9 and lower[2] < 1.1  # inelastic: both go on together


def test_angular_momentum_without_friction():
    """Repulsion acts along the line between nearest points, and turns nothing."""
    vertices, faces = stack(2, side=5, gap=1.5e-3, shift=0.05)
    velocities = np.zeros_like(vertices)
    velocities[len(vertices) // 2 :, 2] = -0.1
    cloth = cloth_of(
        vertices, faces, velocities=velocities, gravity=(0, 0, 0), rtol=1e-13, young=1e-3
    )
    before = cloth.momentum()[1]
    x = cloth.positions
    cloth.step(1e-3)
    assert cloth.info["contacts"] > 0 and cloth.info["impacts"] == 0
    after = (cloth.masses[:, None] * np.cross(x, cloth.velocities)).sum(axis=0)
    assert after == pytest.approx(before, rel=1e-9, abs=1e-12)


def incline(angle):
    """A plane at an angle, and the transformation to it."""
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    return cs.cloth.Obstacle(np.array(FLOOR[0]) @ turn.T, FLOOR[1]), turn


@pytest.mark.parametrize("side", [-1, 1])
def test_friction_on_an_incline(side):
    """Within one percent of the angle of friction, a patch sticks or slides."""
    mu = 0.5
    slope = mu * (1 + 0.01 * side)
    plane, turn = incline(np.arctan(slope))
    vertices, faces = cs.cloth.sheet(3, 3, 0.05)
    vertices[:, 2] = 2e-3
    cloth = cloth_of(
        vertices @ turn.T,
        faces,
        cs.cloth.Collisions(2e-3, mu=mu, stop_after=100),
        obstacles=[plane],
        young=2000.0,
        bending=1e-3,
    )
    cloth.run(0.5, 5e-3)
    along = (cloth.velocities @ turn)[:, 0].mean()
    acceleration = G * (np.sin(np.arctan(slope)) - mu * np.cos(np.arctan(slope)))
    if side < 0:
        assert abs(along) < 1e-5
    else:
        assert along == pytest.approx(acceleration * 0.5, rel=0.1)


# ---- input ---------------------------------------------------------------------------------------


def test_intersections_are_named():
    vertices, faces = stack(2, side=3)
    vertices[4, 2] = 0.05  # the middle of the lower sheet goes through the upper one
    with pytest.raises(ValueError, match="goes through the face of vertices .* of the cloth"):
        cloth_of(vertices, faces)
    cloth_of(vertices, faces, cs.cloth.Collisions(2e-3, allow=True)).step(1e-3)


def test_an_edge_through_an_obstacle_is_named():
    vertices, faces = cs.cloth.sheet(2, 2, 0.2)
    vertices[:2, 2], vertices[2:, 2] = -0.01, 0.01
    with pytest.raises(ValueError, match=r"goes through the face .* of obstacles\[1\]"):
        far = cs.cloth.Obstacle(np.array(FLOOR[0]) + [0, 0, 9], FLOOR[1])
        cloth_of(vertices, faces, obstacles=[far, floor()])


def test_touching_is_named():
    vertices, faces = cs.cloth.sheet(2, 2, 0.2)
    with pytest.raises(ValueError, match=r"vertex 0 of the cloth touches the face .* obstacles\[0\]"):
        cloth_of(vertices, faces, obstacles=[floor()])


def test_assigned_positions_are_checked():
    vertices, faces = cs.cloth.sheet(2, 2, 0.2)
    vertices[:, 2] = 0.01
    cloth = cloth_of(vertices, faces, obstacles=[floor()])
    wrong = vertices.copy()
    wrong[0, 2] = -0.01
    with pytest.raises(ValueError, match="goes through"):
        cloth.positions = wrong
    assert np.array_equal(cloth.positions, vertices)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"thickness": 0}, "thickness is 0.0: a positive number"),
        ({"thickness": np.nan}, "thickness is nan"),
        ({"thickness": 1e-3, "mu": -0.1}, "mu is -0.1: a number of at least 0"),
        ({"thickness": 1e-3, "push": 2}, "push is 2.0"),
        ({"thickness": 1e-3, "k": 7}, "k is 7"),
        ({"thickness": 1e-3, "rule": "best"}, "rule: 'best' is unknown"),
        ({"thickness": 1e-3, "response": "hope"}, "response: 'hope' is unknown"),
        ({"thickness": 1e-3, "stop_after": 0}, "stop_after is 0"),
    ],
)
def test_bad_collisions(given, message):
    with pytest.raises(ValueError, match=message):
        cs.cloth.Collisions(**given)


def test_bad_obstacles():
    vertices, faces = cs.cloth.sheet(2, 2, 0.2)
    vertices[:, 2] = 0.01
    with pytest.raises(ValueError, match="obstacles needs collisions"):
        cs.cloth.Cloth(vertices, faces, density=1, young=1, obstacles=[floor()])
    with pytest.raises(TypeError, match=r"obstacles\[0\] is str"):
        cloth_of(vertices, faces, obstacles=["floor"])
    with pytest.raises(ValueError, match=r"obstacles\[0\] at t = 0 s: .* returns shape \(2, 3\)"):
        cloth_of(vertices, faces, obstacles=[floor(lambda t: np.zeros((2, 3)))])
    bad = floor(lambda t: np.array(FLOOR[0]) + (np.nan if t else 0))
    cloth = cloth_of(vertices, faces, obstacles=[bad])
    with pytest.raises(ValueError, match=r"obstacles\[0\] at t = 0.01 s: .*nan"):
        cloth.step(0.01)
    assert cloth.time == 0


def test_time_moves_obstacles():
    vertices, faces = cs.cloth.sheet(2, 2, 0.2)
    vertices[:, 2] = 0.01
    up = floor(lambda t: np.array(FLOOR[0]) + [0, 0, t])
    cloth = cloth_of(vertices, faces, obstacles=[up])
    cloth.time = 0.01
    with pytest.raises(ValueError, match="vertex 0 of the cloth touches"):
        cloth.step(1e-3)
    cloth.time = 1.0
    cloth.step(1e-3)
    assert cloth.info["candidates"] == 0 and cloth.time == 1.001
