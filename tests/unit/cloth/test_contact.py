"""Collisions of cloth: certificates, judged by exact arithmetic, and known motions."""

import numpy as np
import pytest

import contactsolve as cs
from contact_judge import contacts_between

RESPONSES = ("impulses", "problem")
FLOOR = ([[-3.0, -3.0, 0.0], [3.0, -3.0, 0.0], [0.0, 6.0, 0.0]], [[0, 1, 2]])
G = 9.81


def floor(motion=None):
    return cs.cloth.Obstacle(*FLOOR, motion=motion)


def raised(height):
    """Where the corners of the floor are."""
    return np.array(FLOOR[0]) + np.array([0, 0, height])


def stack(layers, side=5, gap=4e-3, shift=3e-3, size=0.4):
    """Sheets on top of each other, each moved by a little: vertices, faces."""
    flat, faces = cs.cloth.sheet(side, side, size)
    x = np.concatenate(
        [flat + np.array([shift * k, shift * k, gap * (k + 1)]) for k in range(layers)]
    )
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
        assert told["free"] is True
        assert told["length"] == 1e-2
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
    cloth = cloth_of(vertices, faces, obstacles=[floor(motion)])
    with pytest.warns(RuntimeWarning, match="an obstacle moves by"):
        assert judge(cloth, 5e-3) == []
    for _ in range(7):
        assert judge(cloth, 5e-3) == []  # and warns no more
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
    assert cloth.info["steps_refused"] > 0
    assert cloth.info["free"] is True
    assert cloth.time == pytest.approx(0.08, rel=1e-12)
    assert cloth.info["steps"] > 8


def test_no_room_is_an_error():
    """A plate comes down on a sheet that lies on the floor."""

    def motion(t):
        return raised(0.004 - t)

    vertices, faces = cs.cloth.sheet(3, 3, 0.2)
    vertices[:, 2] = 2e-3
    cloth = cloth_of(vertices, faces, obstacles=[floor(), floor(motion)])
    cloth._colliding.has_warned = True
    message = r"no step from t = .* s is free of contacts"
    with pytest.raises(ValueError, match=message):
        cloth.run(0.01, 5e-3)
    before, time = cloth.positions, cloth.time
    with pytest.raises(ValueError, match=message):
        cloth.step(5e-3)
    assert np.array_equal(cloth.positions, before)
    assert cloth.time == time < 4e-3
    assert cloth.info["steps_refused"] > 10


# ---- known motions -------------------------------------------------------------------------------


def weight(cloth):
    return G * cloth.masses.sum()


@pytest.mark.parametrize("young", [100.0, 1e4])
def test_what_lands_does_not_rebound(young):
    """A tilted sheet that hits a floor at 3 m/s, without gravity."""
    vertices, faces = cs.cloth.sheet(9, 9, 0.4)
    c, s = np.cos(0.5), np.sin(0.5)
    vertices = vertices @ np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])
    vertices[:, 2] += 3e-3 - vertices[:, 2].min()
    cloth = cloth_of(
        vertices,
        faces,
        cs.cloth.Collisions(2e-3, mu=0.3),
        obstacles=[floor()],
        young=young,
        damping=5e-3,
        gravity=(0, 0, 0),
        velocities=np.tile([0, 0, -3.0], (len(vertices), 1)),
    )
    upward = []
    cloth.run(0.4, 5e-3, callback=lambda made: upward.append(made.velocities[:, 2].mean()))
    assert max(upward) < 0.01 * 3
    assert cloth.positions[:, 2].mean() < 0.02


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


def test_one_contact_for_one_place():
    """Each vertex over one of the same mesh below: several faces have the same nearest point."""
    vertices, faces = cs.cloth.sheet(3, 3, 0.4)
    below = cs.cloth.Obstacle(vertices, faces)
    cloth = cloth_of(vertices + np.array([0, 0, 1.9e-3]), faces, obstacles=[below])
    cloth.step(1e-3)
    assert len(cloth.contacts.gaps) == 2 * len(vertices)
    assert cloth.contacts.gaps == pytest.approx(1.9e-3)


def layers_of(cloth, count):
    return cloth.positions[:, 2].reshape(count, -1)


def test_two_sheets_keep_their_order():
    cloth = cloth_of(*stack(2, side=7), obstacles=[floor()])
    cloth.run(0.8, 5e-3)
    lower, upper = layers_of(cloth, 2)
    assert (upper > lower + 1e-3).all()
    assert lower.min() > 1e-3
    assert cloth.info["obstacle_impulses"][0, 2] == pytest.approx(weight(cloth) * 5e-3, rel=1e-2)


@pytest.mark.slow
def test_a_stack_of_twenty_sheets():
    cloth = cloth_of(*stack(20), cs.cloth.Collisions(2e-3, mu=0.3), obstacles=[floor()])
    cloth.run(1.5, 5e-3)
    z = layers_of(cloth, 20)
    assert (np.diff(z, axis=0) > 0.5e-3).all()
    assert z.min() > 1e-3
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
    assert upper[2] > 0.9
    assert lower[2] < 1.1


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
    assert cloth.info["contacts"] > 0
    assert cloth.info["impacts"] == 0
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


def capstan(ratio, response, cells=24, side=6):
    """A ribbon over half a cylinder, whose tensions have this ratio over that of slip.

    It is heavy, so that elastic waves go a small part of the radius in a step: impulses of contacts
    act on the masses of vertices, after the implicit step has spread elastic forces that far.
    """
    mu, radius, thickness = 0.3, 0.05, 1e-3
    turn = np.pi / cells
    r, cell = radius + thickness, 2 * (radius + thickness) * np.sin(turn / 2)
    angle = np.pi - turn * np.arange(cells + 1)
    down = cell * np.arange(1, side + 1)
    line = np.concatenate(
        [
            np.column_stack([np.full(side, -r), -down[::-1]]),
            r * np.column_stack([np.cos(angle), np.sin(angle)]),
            np.column_stack([np.full(side, r), -down]),
        ]
    )

    # The ribbon, of three rows of vertices.
    flat, faces = cs.cloth.sheet(3, len(line), (1.0, 2 * cell))
    column, y = np.arange(len(flat)) % len(line), flat[:, 1]
    vertices = np.column_stack([line[column, 0], y, line[column, 1]])
    rest = np.column_stack([cell * column, y, 0 * y])

    # The cylinder, with straight sides below.
    bow = np.pi + 0.6 - np.linspace(0, np.pi + 1.2, 97)
    profile = radius * np.column_stack([np.cos(bow), np.sin(bow)])
    profile = np.concatenate([[[profile[0, 0], -0.2]], profile, [[profile[-1, 0], -0.2]]])
    grid, sides = cs.cloth.sheet(5, len(profile), (1.0, 2 * cell + 0.04))
    at = np.arange(len(grid)) % len(profile)
    cylinder = np.column_stack([profile[at, 0], grid[:, 1] - 0.02, profile[at, 1]])

    # Tensions grow for half a second.
    pull = np.zeros_like(vertices)
    shares = np.array([1, 2, 1]) / 4
    pull[column == 0, 2] = -shares
    pull[column == len(line) - 1, 2] = -shares * np.exp(mu * np.pi) * ratio
    cloth = cloth_of(
        vertices,
        faces,
        cs.cloth.Collisions(thickness, mu=mu, response=response),
        rest=rest,
        density=1600.0,
        young=1e4,
        poisson=0.0,
        bending=1e-7,
        damping=0.02,
        gravity=(0, 0, 0),
        forces=lambda cloth: pull * min(1.0, 2 * cloth.time),
        obstacles=[cs.cloth.Obstacle(cylinder, sides)],
    )
    cloth.run(1.6, 4e-3)
    return cloth.velocities[column == len(line) - 1, 2].mean()


# Some steps miss the tolerance of the problem: its default iterations do not suffice.
@pytest.mark.filterwarnings("ignore:step .* the solve of the contacts ended as 'max_iterations'")
@pytest.mark.parametrize("response", ["impulses", pytest.param("problem", marks=pytest.mark.slow)])
def test_capstan(response):
    """The ribbon slips at the tensions T2/T1 = exp(mu pi), within three percent."""
    assert abs(capstan(0.97, response)) < 1e-4
    assert capstan(1.03, response) < -5e-3


# ---- problems ------------------------------------------------------------------------------------


def test_contacts_as_a_problem():
    """The solution of the problem of a step gives the velocities of the step."""
    vertices, faces = stack(2, side=4, gap=1.9e-3)
    collisions = cs.cloth.Collisions(2e-3, mu=0.3, response="problem", options={"rtol": 1e-10})
    cloth = cloth_of(vertices, faces, collisions, obstacles=[floor()])
    problem = cloth.contact_problem(5e-3, "stack")
    assert problem.name == "stack"
    assert np.array_equal(cloth.positions, vertices)
    result = cs.solve(problem, rtol=1e-10)
    assert result.status == "converged"
    cloth.step(5e-3)
    told, contacts = cloth.info, cloth.contacts
    assert told["problem"]["status"] == "converged"
    assert told["problem"]["contacts"] == problem.contacts == len(contacts.gaps) > 30
    assert told["impacts"] == 0
    up = np.einsum("ki,ki->k", contacts.impulses, contacts.normals)
    assert up.sum() == pytest.approx(result.impulses[:, 0].sum(), rel=1e-6)
    assert np.linalg.norm(contacts.weights.sum(axis=1)) < 1e-12
    assert told["obstacle_impulses"][0, 2] == pytest.approx(weight(cloth) * 5e-3, rel=1e-6)


def test_responses_agree():
    at = []
    for response in RESPONSES:
        cloth = cloth_of(
            *stack(2, side=4), cs.cloth.Collisions(2e-3, response=response), obstacles=[floor()]
        )
        cloth.run(0.6, 5e-3)
        assert cloth.info["free"]
        at.append(cloth.positions)
    assert at[0][:, 2] == pytest.approx(at[1][:, 2], abs=2e-4)


@pytest.mark.parametrize("dtype", ["float64", "mixed"])
def test_no_step_of_a_problem_has_a_contact(dtype):
    cloth = thrown(
        dtype=dtype, collisions=cs.cloth.Collisions(2e-3, mu=0.2, response="problem"), rtol=1e-4
    )
    for _ in range(6):
        assert judge(cloth, 1e-2) == []


def test_friction_free_problems():
    cloth = cloth_of(
        *stack(1, side=3), cs.cloth.Collisions(2e-3, response="problem"), obstacles=[floor()]
    )
    assert cloth.contact_problem(5e-3).contacts == 0
    cloth.run(0.3, 5e-3)
    assert cloth.positions[:, 2] == pytest.approx(2e-3, rel=1e-3)
    assert cloth.contact_problem(5e-3).contacts >= 9
    plain = cs.cloth.Cloth(*stack(1, side=3), density=1, young=1)
    assert plain.contacts is None
    with pytest.raises(ValueError, match="has no collisions"):
        plain.contact_problem(1e-3)


# ---- recordings ----------------------------------------------------------------------------------


@pytest.mark.parametrize("response", RESPONSES)
@pytest.mark.parametrize("is_moving", [False, True])
def test_recordings_go_on_with_the_same_bits(tmp_path, response, is_moving):
    def motion(t):
        return raised(0.05 * t)

    path = tmp_path / "run.vtkhdf"
    obstacles = [floor(motion if is_moving else None)]
    cloth = cloth_of(
        *stack(2, side=4), cs.cloth.Collisions(2e-3, mu=0.3, response=response), obstacles=obstacles
    )
    cloth.run(0.15, 5e-3, record=path, every=5)
    if is_moving:
        with pytest.raises(ValueError, match="the motion of its obstacles, which a file cannot"):
            cs.cloth.Cloth.load(path)
    other = cs.cloth.Cloth.load(path, 4, obstacles=obstacles if is_moving else None)
    for _ in range(10):
        other.step(5e-3)
    assert np.array_equal(other.positions, cloth.positions)
    assert np.array_equal(other.velocities, cloth.velocities)
    assert other.info["contacts"] == cloth.info["contacts"] > 0


def test_recorded_obstacles_keep_their_mesh(tmp_path):
    path = tmp_path / "run.vtkhdf"
    cloth = cloth_of(*stack(1, side=3), obstacles=[floor()])
    cloth.run(0.01, 5e-3, record=path)
    with pytest.raises(ValueError, match="obstacles has 2: the recorded cloth had 1"):
        cs.cloth.Cloth.load(path, obstacles=[floor(), floor()])
    with pytest.raises(ValueError, match=r"obstacles\[0\] has another mesh"):
        cs.cloth.Cloth.load(path, obstacles=[cs.cloth.Obstacle(*cs.cloth.sheet(2, 2, 1.0))])


@pytest.mark.slow
def test_many_steps_take_no_more_memory():
    resource = pytest.importorskip("resource")

    def kilobytes():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    cloth = cloth_of(*stack(1, side=2, size=0.05), obstacles=[floor()])
    for _ in range(1000):
        cloth.step(1e-3)
    before = kilobytes()
    for _ in range(100_000):
        cloth.step(1e-3)
    assert kilobytes() - before < 2000
    assert cloth.info["steps"] == 101_000
    assert cloth.info["free"]


# ---- input ---------------------------------------------------------------------------------------


def test_intersections_are_named():
    vertices, faces = stack(2, side=3)
    vertices[4, 2] = 0.05  # the middle of the lower sheet goes through the upper one
    with pytest.raises(ValueError, match=r"goes through the face of vertices .* of the cloth"):
        cloth_of(vertices, faces)
    cloth_of(vertices, faces, cs.cloth.Collisions(2e-3, allow=True)).step(1e-3)


def test_an_edge_through_an_obstacle_is_named():
    vertices, faces = cs.cloth.sheet(2, 2, 0.2)
    vertices[:2, 2], vertices[2:, 2] = -0.01, 0.01
    far = cs.cloth.Obstacle(raised(9.0), FLOOR[1])
    with pytest.raises(ValueError, match=r"goes through the face .* of obstacles\[1\]"):
        cloth_of(vertices, faces, obstacles=[far, floor()])


def test_touching_is_named():
    vertices, faces = cs.cloth.sheet(2, 2, 0.2)
    with pytest.raises(
        ValueError, match=r"vertex 0 of the cloth touches the face .* obstacles\[0\]"
    ):
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
    up = floor(lambda t: raised(t))
    cloth = cloth_of(vertices, faces, obstacles=[up])
    cloth.time = 0.01
    with pytest.raises(ValueError, match="vertex 0 of the cloth touches"):
        cloth.step(1e-3)
    cloth.time = 1.0
    cloth.step(1e-3)
    assert cloth.info["candidates"] == 0
    assert cloth.time == 1.001
