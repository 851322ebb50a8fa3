"""`plots.scene`, `plots.snapshots`, `plots.motion`: what is drawn, and in which order."""

import matplotlib as mpl
import numpy as np
import pytest

import contactsolve as cs

mpl.use("Agg")  # before pyplot looks for a display

from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.quiver import Quiver

from contactsolve.dynamics import (
    Box,
    Capsule,
    Cylinder,
    Disc,
    HalfSpace,
    Hull,
    Material,
    Polygon,
    Segment,
    Sphere,
    World,
)
from contactsolve.plots._camera import VIEWS, camera_of
from contactsolve.plots._contacts import arrow_length, impulse_vectors
from contactsolve.plots._frames import WorldFrames
from contactsolve.plots._joints import marks_of
from contactsolve.plots._meshes import mesh, outline
from contactsolve.plots._space import Bodies
from contactsolve.plots._stage import moment_of, stage_of, window_of
from contactsolve.plots._visibility import back_to_front

RNG = np.random.default_rng(5)
CORNERS = RNG.normal(size=(14, 3))
ROUND_AND_FLAT = [Sphere(0.5), Box([0.5, 0.3, 0.2]), Capsule(0.2, 0.4), Cylinder(0.3, 0.4)]
SOLIDS = [*ROUND_AND_FLAT, Hull(0.6 * CORNERS / np.linalg.norm(CORNERS, axis=1, keepdims=True))]


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(autouse=True)
def no_figure_left():
    yield
    plt.close("all")


def crowd(count=40, size=2.2, seed=0):
    """Bodies of all kinds at random places, as dense as they get without touching."""
    rng = np.random.default_rng(seed)
    world = World(gravity=[0, 0, 0], allow_overlap=True)
    world.add_fixed(HalfSpace([0, 0, 1], -size))
    apart = np.zeros((0, 3))
    while len(apart) < count:
        place = rng.uniform(-size, size, 3) * [1, 1, 0.6]
        if len(apart) == 0 or np.linalg.norm(apart - place, axis=1).min() > 0.75:
            apart = np.vstack([apart, place])
    for k, place in enumerate(apart):
        shape = SOLIDS[k % len(SOLIDS)]
        world.add_body(shape, place, orientation=rng.normal(size=4), density=1.0)
    while (touching := world._core.overlaps()["body"]).size:
        world.remove(int(touching[0].max()))
    return world


def stacked():
    """Flat bodies on a large plate: whose centres are no guide to the order."""
    world = World()
    world.add_fixed(Box([3, 3, 0.1]), [0, 0, -0.1])
    for k, x in enumerate(np.linspace(-2.5, 2.5, 6)):
        for y in np.linspace(-2.5, 2.5, 6):
            world.add_body(Box([0.2, 0.2, 0.05 + 0.1 * k]), [x, y, 0.0501 + 0.1 * k], density=1.0)
    return world


def holed():
    """Balls above and below a wide plate with a hole, of wedges."""
    world = World(gravity=[0, 0, 0])
    for k in range(8):
        angle = np.pi * np.array([k, k + 1]) / 4
        rim = np.column_stack([np.cos(angle), np.sin(angle)])
        flat = np.concatenate([0.5 * rim, 3 * rim])
        world.add_fixed(Hull([[x, y, z] for x, y in flat for z in (-0.1, 0.0)]))
    for z in (-1.0, -0.4, 0.4, 1.0):
        for x in (-1.5, 0.0, 1.5):
            for y in (-1.5, 0.0, 1.5):
                world.add_body(Sphere(0.25), [x, y, z], density=1.0)
    return world


def pile_2d():
    world = World(2)
    world.add_fixed(HalfSpace([0, 1]))
    for k, shape in enumerate([Disc(0.5), Polygon([[0, 0], [1, 0], [0, 1]]), Segment(0.5, 0.2)]):
        world.add_body(shape, [1.5 * k, 0.5], orientation=0.3 * k, density=1.0)
    return world


# ---- surfaces -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SOLIDS[1:], ids=lambda shape: shape.kind)
def test_meshes_are_closed_and_have_the_volume_of_their_shape(shape):
    surface = mesh(shape, 60)
    volume, edges = 0.0, {}
    for face, normal in zip(surface.faces, surface.normals, strict=True):
        loop = surface.points[face]
        cone = np.cross(loop[1:-1] - loop[0], loop[2:] - loop[0])
        assert ((cone @ normal) > 0).all()
        volume += (cone @ loop[0]).sum() / 6
        for a, b in zip(face, np.roll(face, -1), strict=True):
            assert (a, b) not in edges
            edges[a, b] = normal
    assert all((b, a) in edges for a, b in edges)
    assert volume == pytest.approx(shape.volume, rel=1e-2)
    assert volume <= shape.volume * (1 + 1e-12)


def test_points_within_a_hull_and_within_its_faces_are_no_corners():
    corners = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8).T.astype(float)
    inner = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0.2, 0.3, -1]]
    surface = mesh(Hull(np.vstack([inner, corners])), 8)
    assert sorted(map(len, surface.faces)) == [4] * 6
    assert min(np.concatenate(surface.faces)) == len(inner)


def test_outlines_have_the_area_of_their_shape():
    for shape in (Disc(0.7), Segment(0.5, 0.2), Polygon([[0, 0], [0.2, 0.2], [1, 0], [0, 1]])):
        x, y = outline(shape, 400).T
        area = (x * np.roll(y, -1) - y * np.roll(x, -1)).sum() / 2
        assert area == pytest.approx(shape.volume, rel=1e-3)


# ---- order --------------------------------------------------------------------------------------


def first_hit(stage, camera, flat):
    """The shape that a camera sees at points of the picture, by casting rays; −1: none."""
    start = camera.center + flat @ camera.axes[:2]
    if np.isfinite(camera.distance):
        eye = camera.center + camera.distance * camera.axes[2]
        direction = eye - start
    else:
        direction = np.tile(camera.axes[2], (len(flat), 1))
    nearest, seen = np.full(len(flat), -np.inf), np.full(len(flat), -1)
    for k, one in enumerate(stage.shapes):
        if one.shape.kind == "half_space":
            continue
        # In the shape's frame: the interval of the ray within the shape.
        p = (start - stage.centers[k]) @ stage.turns[k]
        d = direction @ stage.turns[k]
        if one.shape.kind == "sphere":
            a, b = (d * d).sum(axis=1), (p * d).sum(axis=1)
            root = b * b - a * ((p * p).sum(axis=1) - one.shape.radius**2)
            leave = np.where(root > 0, (-b + np.sqrt(np.maximum(root, 0))) / a, -np.inf)
        else:
            surface = mesh(one.shape, 36)
            offset = [n @ surface.points[f[0]] for n, f in zip(*surface[2:0:-1], strict=True)]
            slope, height = d @ surface.normals.T, offset - p @ surface.normals.T
            slope = np.where(abs(slope) < 1e-12, 1e-12 * np.sign(height), slope)  # parallel
            at = height / slope
            leave = np.where(slope > 0, at, np.inf).min(axis=1)
            enter = np.where(slope < 0, at, -np.inf).max(axis=1)
            leave = np.where(leave > enter, leave, -np.inf)
        seen = np.where(leave > nearest, k, seen)
        nearest = np.maximum(leave, nearest)
    return seen


def painted(bodies, camera, stage, flat):
    """The shape that is drawn last at points of the picture; −1: none."""
    solids, parts, shapes = bodies.parts(np.ones((len(stage.shapes), 3)))
    seen = np.full(len(flat), -1)
    for i in back_to_front(camera, solids):
        for corners in parts[i].corners:
            seen[Path(corners).contains_points(flat)] = shapes[i]
    return seen


@pytest.mark.parametrize(
    ("view", "perspective"), [("corner", True), ("corner", False), ("top", False), ((5, 40), True)]
)
@pytest.mark.parametrize("make", [crowd, stacked, holed])
def test_what_is_nearest_is_seen(make, view, perspective):
    stage = stage_of(make())
    camera = camera_of(view, perspective, *window_of(stage))
    bodies = Bodies(stage, camera, [3, 60, 36])
    flat = RNG.uniform(-3.5, 3.5, (1500, 2))
    expected, seen = first_hit(stage, camera, flat), painted(bodies, camera, stage, flat)
    assert (expected >= 0).mean() > 0.1
    # Outlines are polygons: a ray at the rim of a solid may pass beside it.
    assert (seen != expected).mean() < 0.01


def test_without_topological_sorting_a_plate_hides_what_is_on_it():
    """The scene is hard enough: the order of the centres alone draws it wrongly."""
    stage = stage_of(stacked())
    camera = camera_of("corner", None, *window_of(stage))
    solids, _, shapes = Bodies(stage, camera, [3, 24, 24]).parts(np.ones((len(stage.shapes), 3)))
    plate = shapes.index(0)
    remote = camera.remoteness(
        np.array([one.center for one in solids]), np.array([one.reach for one in solids])
    )
    assert list(np.argsort(-remote)).index(plate) > 0
    assert back_to_front(camera, solids)[0] == plate


def test_solids_that_hide_each_other_in_turn_are_all_drawn():
    """Three rods, each on one neighbour and below the other, have no painter's order."""
    world = World(gravity=[0, 0, 0])
    for angle in (0, 2 * np.pi / 3, 4 * np.pi / 3):
        turn = np.array([np.cos(angle / 2), 0, 0, np.sin(angle / 2)])
        tilt = np.array([np.cos(0.15), 0, np.sin(0.15), 0])
        both = [
            turn[0] * tilt[0] - turn[3] * tilt[3],
            turn[0] * tilt[1] - turn[3] * tilt[2],
            turn[0] * tilt[2] + turn[3] * tilt[1],
            turn[0] * tilt[3] + turn[3] * tilt[0],
        ]
        place = [-0.5 * np.sin(angle), 0.5 * np.cos(angle), 0]
        world.add_body(Box([2, 0.1, 0.05]), place, orientation=both, density=1.0)
    stage = stage_of(world)
    camera = camera_of("top", None, *window_of(stage))
    solids, _, _ = Bodies(stage, camera, [3, 24, 24]).parts(np.ones((3, 3)))
    assert sorted(back_to_front(camera, solids)) == [0, 1, 2]


# ---- pictures -----------------------------------------------------------------------------------


def bodies_of(ax):
    return next(one for one in ax.collections if isinstance(one, PolyCollection))


@pytest.mark.parametrize("view", [*VIEWS, (30, 120)])
def test_everything_is_within_the_axes(view, ax):
    cs.plots.scene(crowd(), view=view, ax=ax)
    corners = np.concatenate([path.vertices for path in bodies_of(ax).get_paths()])
    low, high = np.transpose([ax.get_xlim(), ax.get_ylim()])
    assert ((corners > low) & (corners < high)).all()
    assert ax.get_aspect() == 1
    assert not ax.axison


def test_wide_fixed_shapes_do_not_make_bodies_small(ax):
    world = World()
    world.add_fixed(Box([100, 100, 1]), [0, 0, -1])
    world.add_body(Sphere(0.5), [0, 0, 0.5], density=1.0)
    cs.plots.scene(world, ax=ax)
    assert np.ptp(ax.get_xlim()) < 2


def test_a_disc_has_its_place_and_size(ax):
    cs.plots.scene(pile_2d(), ax=ax)
    paths = bodies_of(ax).get_paths()
    assert len(paths) == 3
    disc = paths[0].vertices
    np.testing.assert_allclose(np.linalg.norm(disc - [0, 0.5], axis=1), 0.5, rtol=1e-12)


def test_a_sphere_has_its_size_in_an_orthographic_picture(ax):
    world = World()
    world.add_body(Sphere(0.5), [1, 2, 3], density=1.0)
    cs.plots.scene(world, view="front", ax=ax)
    rim = bodies_of(ax).get_paths()[0].vertices
    np.testing.assert_allclose(np.linalg.norm(rim, axis=1), 0.5, rtol=1e-12)


def test_shapes_are_where_their_body_is():
    """Two shapes on a turned body, whose centre of mass is between them."""
    world = World(2, gravity=[0, 0])
    shapes = [(Disc(0.1), [0, 0], None), (Disc(0.1), [1, 0], None)]
    body = world.add_body(shapes, [5, 5], orientation=np.pi / 2, density=1.0)
    np.testing.assert_allclose([one.position for one in world.shapes], [[-0.5, 0], [0.5, 0]])
    assert [one.body for one in world.shapes] == [body, body]
    np.testing.assert_allclose(stage_of(world).centers, [[5, 4.5], [5, 5.5]], atol=1e-15)


def test_removed_bodies_are_not_drawn(ax):
    world = pile_2d()
    world.remove(1)
    cs.plots.scene(world, ax=ax)
    assert len(bodies_of(ax).get_paths()) == 2


def test_planes_that_face_away_are_not_drawn(ax):
    world = World()
    world.add_body(Sphere(0.5), density=1.0)
    for normal in ([0, 0, 1], [0, -1, 0], [0, 1, 0]):  # the ground, one wall behind, one before
        world.add_fixed(HalfSpace(normal, -1.0))
    cs.plots.scene(world, view=(20, -90), ax=ax)
    assert len([one for one in ax.patches if isinstance(one, mpl.patches.Polygon)]) == 2


def settled():
    world = World(2, method="gauss_seidel", rtol=1e-10)
    world.add_fixed(HalfSpace([0, 1]), material=Material(0.3))
    for k in range(3):
        world.add_body(Disc(0.5), [0, 0.5 + k], mass=1.0)
    world.step()
    return world


def test_force_lines_have_widths_in_proportion_to_impulses(ax):
    """Three discs of 1 kg on each other: the lowest contact carries three times the uppermost."""
    cs.plots.scene(settled(), contacts="forces", ax=ax)
    chain = [one for one in ax.collections if isinstance(one, LineCollection)][-1]
    np.testing.assert_allclose(np.sort(chain.get_linewidths()) / 5.0, [1 / 3, 2 / 3, 1], rtol=1e-6)
    ends = np.array([path.vertices for path in chain.get_paths()])
    assert sorted(map(float, ends[:, :, 1].min(axis=1))) == pytest.approx([0, 0.5, 1.5], abs=1e-9)
    (bar,) = ax.figure.axes[1:]
    assert bar.get_xlabel() == "normal impulse [N s]"
    assert bar.get_xlim() == pytest.approx((0, 3 * 9.81e-3), rel=1e-6)
    red, green, _, _ = chain.get_colors()[np.argsort(chain.get_linewidths())].T
    assert (np.diff(0.3 * red + 0.6 * green) < 0).all()  # the stronger, the darker


def test_arrows_are_the_impulses_on_the_second_body_or_on_the_free_one(ax):
    """A disc is pushed along the ground: the ground's impulse balances weight and push."""
    pushed = np.array([[0.2, 0.0, 0.0], [0.0, 0.0, 0.0]])
    world = World(2, method="gauss_seidel", rtol=1e-10, forces=lambda _: pushed)
    world.add_fixed(HalfSpace([0, 1]), material=Material(0.5))
    world.add_body(Polygon([[-1, 0], [1, 0], [1, 0.2], [-1, 0.2]]), [0, 0.1], mass=1.0)
    world.add_body(Disc(0.2), [0, 0.4], mass=1.0)
    world.step()
    cs.plots.scene(world, contacts="arrows", ax=ax)
    arrows = next(one for one in ax.collections if isinstance(one, Quiver))
    impulses = np.column_stack([arrows.U, arrows.V])
    heights = arrows.XY[:, 1]
    unit = 9.81 * world.time_step / impulses[heights > 0.1, 1].sum()  # N s in a metre of arrow
    below = unit * impulses[heights < 0.1].sum(axis=0)
    np.testing.assert_allclose(below, [-0.2e-3, 2 * 9.81e-3], rtol=1e-6)

    # The largest has the length of a large arrow; those above the scale have at most twice that.
    sizes = np.linalg.norm(impulses, axis=1)
    length = arrow_length(world, window_of(stage_of(world)))
    assert sizes.max() == pytest.approx(length, rel=1e-9)
    other = Figure().subplots()
    cs.plots.scene(world, contacts="arrows", largest_impulse=1e-3, ax=other)
    clipped = next(one for one in other.collections if isinstance(one, Quiver))
    longest = np.hypot(clipped.U, clipped.V).max()
    assert longest == pytest.approx(2 * length, rel=1e-9)


def test_impulse_vectors_change_momentum_as_the_bodies_did():
    """In space: the sum of all impulses on a body is its change of momentum, less the gravity's."""
    world = World(method="gauss_seidel", rtol=1e-12)
    world.add_fixed(HalfSpace([0.3, -0.2, 1.0]), material=Material(0.4))
    ball = world.add_body(
        Sphere(0.5), [0, 0, 0.5 * np.sqrt(1.13)], mass=2.0, velocity=[1, 2, -1, 0, 0, 3]
    )
    before = world.velocities[ball, :3].copy()
    world.step()
    contacts = world.contacts
    sign = np.where(contacts.bodies[:, 1] == ball, 1.0, -1.0)
    total = (sign[:, None] * impulse_vectors(contacts)).sum(axis=0)
    gained = 2.0 * (world.velocities[ball, :3] - before - [0, 0, -9.81 * world.time_step])
    np.testing.assert_allclose(total, gained, atol=1e-9)
    assert np.linalg.norm(total) > 1


def pendulum():
    world = World(time_step=0.01)
    world.add_fixed(HalfSpace([0, 0, 1], -3.0))
    arm = world.add_body(Box([0.5, 0.05, 0.05]), [0.5, 0, 0], density=100.0)
    tip = world.add_body(Sphere(0.1), [1.5, 0, 0], density=100.0)
    world.joints.hinge(-1, arm, [0, 0, 0], [0, 1, 0])
    world.joints.distance(arm, tip, [1, 0, 0], [1.5, 0, 0])
    return world


def test_joints_are_at_their_points_and_along_their_axes(ax):
    world = pendulum()
    world.run(30)
    moment = moment_of(world)
    marks = marks_of(world, moment, stage_of(world, moment))
    np.testing.assert_allclose(marks.points[:2], 0, atol=1e-3)
    np.testing.assert_allclose(marks.points[3], world.positions[1], atol=1e-9)
    rod = marks.lines[-1]
    assert np.linalg.norm(rod[1] - rod[0]) == pytest.approx(0.5, abs=1e-3)
    axis = marks.lines[1]
    np.testing.assert_allclose(
        np.abs(axis[1] - axis[0]) / np.linalg.norm(axis[1] - axis[0]), [0, 1, 0]
    )

    # They are in the picture, and can be left out.
    cs.plots.scene(world, view="front", ax=ax)
    dots = ax.lines[-1]
    assert len(dots.get_xdata()) == 4
    other = cs.plots.scene(world, joints=False, ax=Figure().subplots())
    assert not other.lines
    world.remove(1)
    moment = moment_of(world)
    gone = marks_of(world, moment, stage_of(world, moment))
    assert np.isnan(gone.points[2:]).all()
    assert np.isfinite(gone.points[:2]).all()


def test_contacts_are_drawn_as_points(ax):
    world = settled()
    cs.plots.scene(world, contacts="points", ax=ax)
    np.testing.assert_array_equal(np.column_stack(ax.lines[-1].get_data()), world.contacts.points)


def test_colours_by_impulse_are_the_sums_of_a_body(ax):
    world = settled()
    cs.plots.scene(world, color="impulse", ax=ax)
    bar = ax.figure.axes[1]
    assert bar.get_ylabel() == "normal impulses [N s]"
    # The lowest disc: from below three weights, from above two.
    assert bar.get_ylim() == pytest.approx((0, 5 * 9.81e-3), rel=1e-6)


def test_colours_of_materials_speeds_and_numbers(ax):
    world = pile_2d()
    first = cs.plots.scene(world, color="material", ax=ax)
    assert len(np.unique(bodies_of(first).get_facecolor(), axis=0)) == 1
    for color, distinct in (("body", 3), ("tab:red", 1), ([0.0, 1.0, 2.0], 3), ("speed", 1)):
        drawn = cs.plots.scene(world, color=color, ax=Figure().subplots())
        assert len(np.unique(bodies_of(drawn).get_facecolor(), axis=0)) == distinct, color


def test_a_few_fast_bodies_do_not_set_the_scale(ax):
    world = crowd()
    numbers = np.linspace(0, 1, world.bodies)
    numbers[np.flatnonzero(~world.removed)[0]] = 100.0
    cs.plots.scene(world, color=numbers, ax=ax)
    assert ax.figure.axes[1].get_ylim()[1] < 10
    other = cs.plots.scene(world, color=numbers, limits=(0, 50), ax=Figure().subplots())
    assert other.figure.axes[1].get_ylim() == (0, 50)


# ---- motion -------------------------------------------------------------------------------------

POSES = ("time", "positions", "orientations", "velocities")


@pytest.fixture
def run():
    world = pile_2d()
    return world, world.run(40, POSES, every=10)


def test_snapshots_are_at_their_times_and_to_one_scale(run):
    world, record = run
    axes = cs.plots.snapshots(world, record, 3)
    assert [ax.get_title() for ax in axes] == ["t = 0 s", "t = 0.02 s", "t = 0.04 s"]
    assert len({(ax.get_xlim(), ax.get_ylim()) for ax in axes}) == 1
    for ax, row in zip(axes, (0, 2, 4), strict=True):
        center = bodies_of(ax).get_paths()[0].vertices[:-1].mean(axis=0)
        np.testing.assert_allclose(center, record["positions"][row, 0], atol=1e-12)
    two = cs.plots.snapshots(world, record, [1, -1], color="speed", axes=Figure().subplots(1, 2))
    assert [ax.get_title() for ax in two] == ["t = 0.01 s", "t = 0.04 s"]


def test_an_animation_has_a_frame_for_each_row(run, tmp_path):
    world, record = run
    file = tmp_path / "motion.gif"
    cs.plots.motion(world, record, speed=0.5).save(file, writer="pillow", dpi=30)
    from PIL import Image

    with Image.open(file) as image:
        assert image.n_frames == 5
        assert image.info["duration"] == pytest.approx(20, abs=10)


def test_frames_of_a_recording_have_their_contacts(tmp_path, ax):
    pytest.importorskip("h5py")
    world = settled()
    late = world.bodies
    world.run(
        2,
        file=tmp_path / "run.h5",
        callback=lambda w: late == w.bodies and w.add_body(Disc(0.1), [3, 1], mass=1.0),
    )
    with cs.dynamics.Recording(tmp_path / "run.h5") as recording:
        axes = cs.plots.snapshots(world, recording, [0, 2], contacts="forces")
        first, last = (
            [one for one in ax.collections if isinstance(one, LineCollection)][-1] for ax in axes
        )
        assert len(first.get_paths()) == len(last.get_paths()) == 3
        # The body that is added within the run is absent before.
        assert [len(bodies_of(one).get_paths()) for one in axes] == [3, 4]
        frames = WorldFrames(world, recording, None, {"contacts": "forces"})
        sizes = [frame.contacts.impulses[:, 0].max() for frame in recording]
        assert frames.options["largest_impulse"] == pytest.approx(np.median(sizes))
        cs.plots.scene(world, frame=recording[1], contacts="points", ax=ax)
        drawn = np.column_stack(ax.lines[-1].get_data())
        np.testing.assert_array_equal(drawn, recording[1].contacts.points)
        with pytest.raises(ValueError, match="it is not of this world of 3 bodies in 3-D"):
            cs.plots.scene(crowd(3), frame=recording[1])
    with pytest.raises(TypeError, match="frame is 3"):
        cs.plots.scene(world, frame=3)


# ---- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"color": "specd"}, ValueError, "color is 'specd': body, material, speed, impulse"),
        ({"color": [1.0]}, ValueError, r"color has shape \(1,\): \(3,\) is needed"),
        ({"contacts": "all"}, ValueError, "contacts is 'all'"),
        ({"positions": np.zeros((3, 2))}, TypeError, "needed together"),
        (
            {"positions": np.zeros((2, 2)), "orientations": np.zeros(3)},
            ValueError,
            r"positions has shape \(2, 2\): \(3, 2\) is needed",
        ),
        (
            {"positions": np.zeros((3, 2)), "orientations": np.zeros(3), "contacts": "points"},
            TypeError,
            "contacts: the world knows its own contacts only",
        ),
        ({"window": [[0, 0], [1, 0]]}, ValueError, "window is"),
    ],
)
def test_wrong_options_are_refused(options, error, text, ax):
    with pytest.raises(error, match=text):
        cs.plots.scene(pile_2d(), ax=ax, **options)


def test_wrong_views_and_worlds_are_refused(run, ax):
    world, record = run
    for view in ("back", (1, 2, 3), (np.nan, 0)):
        with pytest.raises(ValueError, match="view is"):
            cs.plots.scene(crowd(5), view=view, ax=ax)
    with pytest.raises(TypeError, match="world is 3"):
        cs.plots.scene(3)
    with pytest.raises(ValueError, match="no shapes"):
        cs.plots.scene(World(), ax=ax)
    with pytest.raises(ValueError, match="no column 'positions'"):
        cs.plots.snapshots(world, world.run(1))
    with pytest.raises(ValueError, match=r"rows\[1\] is 9: the record has 5 rows"):
        cs.plots.snapshots(world, record, [0, 9])
    with pytest.raises(TypeError, match="a record has poses, and no contacts"):
        cs.plots.motion(world, record, contacts="points")
    with pytest.raises(TypeError, match="positions is no option"):
        cs.plots.motion(world, record, positions=world.positions)
    with pytest.raises(ValueError, match="largest_impulse is 0"):
        cs.plots.scene(settled(), contacts="forces", largest_impulse=0, ax=ax)
    with pytest.raises(ValueError, match="speed is 0"):
        cs.plots.motion(world, record, speed=0)
