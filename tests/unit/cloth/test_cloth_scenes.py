"""Scenes of cloth: their list, sizes, first steps, and that nothing meets anything."""

import inspect

import numpy as np
import pytest

import contactsolve as cs
from contactsolve.cloth import scenes

pytest.importorskip("scipy.sparse")

VARIANTS = [
    ("capstan", {}, 405, 1629),
    ("dress", {"version": "1a"}, 4536, 27_010),
    ("dress", {"version": "1b"}, 4536, 1808),
    ("ribbon", {}, 4141, 13_600),
    ("ribbon", {"isotropic": True}, 4136, 13_600),
    ("sheet", {}, 961, 1106),
    ("sheet", {"hung": True}, 961, 1106),
    ("stack", {}, 2420, 256),
]
SMALL = {"capstan": {"along": 21}, "sheet": {"across": 9}, "stack": {"n": 3, "across": 5}}
IDS = [f"{name} {options}" for name, options, *_ in VARIANTS]


def nearest(cloth, obstacle=None, margin=2e-3):
    """The least distance of the cloth to itself or to an obstacle; infinite beyond the margins."""
    x, faces = cloth.positions, cloth.faces
    tree = cs.bvh.Tree(x, faces)
    tree.refit(x, margin=margin)
    other, start, points = tree, 0, x
    if obstacle is not None:
        other, start = cs.bvh.Tree(obstacle.vertices, obstacle.faces), len(x)
        other.refit(obstacle.vertices, margin=margin)
        points = np.concatenate([x, obstacle.vertices])
    corners, ends = faces if obstacle is None else obstacle.faces, other.edges
    found = [np.inf]

    # Vertices with faces of both, and edges.
    queries = [("vertex_face", tree, other, 0, start, corners)]
    if obstacle is not None:
        queries.append(("vertex_face", other, tree, start, 0, faces))
    for kind, first, second, own, theirs, triangles in queries:
        pairs = first.pairs(None if second is first else second, kind)
        indices = np.column_stack([own + pairs[:, 0], theirs + triangles[pairs[:, 1]]])
        found.append(cs.bvh.distance(kind, points, indices).distance.min(initial=np.inf))
    pairs = tree.pairs(None if other is tree else other, "edge_edge")
    indices = np.column_stack([tree.edges[pairs[:, 0]], start + ends[pairs[:, 1]]])
    found.append(cs.bvh.distance("edge_edge", points, indices).distance.min(initial=np.inf))
    return min(found)


@pytest.mark.parametrize(("name", "options", "vertices", "others"), VARIANTS, ids=IDS)
def test_sizes_and_distances_at_the_beginning(name, options, vertices, others):
    """Edges that pierce faces are at no distance: positive distances mean no intersection."""
    cloth = scenes.get(name)(**options)
    (obstacle,) = cloth.obstacles
    assert len(cloth.masses) == vertices
    assert len(obstacle.vertices) == others
    assert nearest(cloth) >= 1e-3
    assert nearest(cloth, obstacle) >= 0.99e-3


@pytest.mark.parametrize("version", ["1a", "1b"])
def test_bodies_are_closed_and_look_outward(version):
    obstacle = scenes.dress(version).obstacles[0]
    a, b, c = np.moveaxis(obstacle.vertices[obstacle.faces], 1, 0)
    edges = np.concatenate([obstacle.faces[:, [i, i - 1]] for i in range(3)])
    one, other = (np.unique(pairs, axis=0) for pairs in (edges, edges[:, ::-1]))
    np.testing.assert_array_equal(one, other)
    assert len(one) == len(edges)
    volume = np.einsum("ij,ij", a, np.cross(b, c)) / 6
    assert 0.04 < volume < 0.08  # of a person of 1.7 m [m³]


def test_cells_of_ribbons():
    """S5's counts make long triangles, square cells do not."""
    shapes = {}
    for isotropic in (False, True):
        ribbon = scenes.ribbon(isotropic=isotropic)
        x = ribbon.positions[ribbon.faces]
        sides = np.linalg.norm(x - np.roll(x, 1, axis=1), axis=2)
        shapes[isotropic] = (sides.max(axis=1) / sides.min(axis=1)).max()
    assert shapes[False] == pytest.approx(16, rel=0.01)
    assert shapes[True] < 1.5


@pytest.mark.parametrize("name", scenes.names())
def test_a_scene_runs_certified_and_is_the_same_each_time(name):
    times = 2 if name in SMALL else 1
    runs = [scenes.get(name)(**SMALL.get(name, {})) for _ in range(times)]
    _, h = scenes.times(name)
    for cloth in runs:
        for _ in range(3):
            cloth.step(h)
            assert cloth.info["free"]
    assert np.isfinite(runs[0].positions).all()
    np.testing.assert_array_equal(runs[0].positions, runs[-1].positions)


@pytest.mark.parametrize("name", scenes.names())
def test_a_scene_can_be_described(name):
    function = scenes.get(name)
    assert getattr(scenes, name) is function
    parameters = inspect.signature(function).parameters
    section = inspect.getdoc(function).split("Parameters\n----------\n")[1].split("\n\nReturns")[0]
    heads = [line for line in section.splitlines() if not line.startswith(" ")]
    named = [part.strip(" *") for head in heads for part in head.split(":")[0].split(",")]
    assert named == [one.lstrip("*") for one in parameters]
    seconds, h = scenes.times(name)
    assert 0 < h < seconds


def test_options_of_a_cloth_take_the_place_of_a_scenes_own():
    given = cs.cloth.Collisions(2e-3, mu=0.7)
    cloth = scenes.sheet(5, collisions=given, gravity=(0, 0, 0), dtype="float32")
    assert cloth.collisions is given
    assert cloth.dtype == "float32"
    cloth.step(1e-3)
    assert np.abs(cloth.velocities).max() < 1e-9


def test_names_and_unknown_ones():
    assert scenes.names() == ("capstan", "dress", "ribbon", "sheet", "stack")
    with pytest.raises(ValueError, match=r"unknown scene 'dres'.*did you mean 'dress'"):
        scenes.get("dres")
    with pytest.raises(ValueError, match="unknown scene 'skirt'"):
        scenes.times("skirt")
    with pytest.raises(AttributeError, match="did you mean 'ribbon'"):
        scenes.ribon  # noqa: B018
    with pytest.raises(ValueError, match="version: '2' is unknown"):
        scenes.dress("2")
    with pytest.raises(ValueError, match="n is 0"):
        scenes.stack(0)
    with pytest.raises(ValueError, match="ratio"):
        scenes.capstan(ratio=-1.0)


def test_a_dress_turns_with_its_body():
    obstacle = scenes.dress("1b", turn=30.0).obstacles[0]
    half = obstacle.motion(0.5)
    angle = np.arctan2(half[:, 1], half[:, 0]) - np.arctan2(*obstacle.vertices[:, 1::-1].T)
    wide = np.linalg.norm(obstacle.vertices[:, :2], axis=1) > 0.05
    np.testing.assert_allclose(np.cos(angle[wide]), np.cos(np.pi / 6), atol=1e-12)
    np.testing.assert_allclose(obstacle.motion(0.0), obstacle.vertices, atol=1e-15)
    assert scenes.dress("1b", turn=0).obstacles[0].motion is None


# ---- what scenes do ------------------------------------------------------------------------------


@pytest.mark.parametrize(("ratio", "slides"), [(2.2, False), (3.0, True)])
def test_a_ribbon_slides_over_a_cylinder_if_loads_differ_by_more_than_friction_holds(ratio, slides):
    """Euler and Eytelwein: exp(0.3 π) = 2.57."""
    cloth = scenes.capstan(0.3, ratio, along=41)
    _, h = scenes.times("capstan")
    cloth.run(0.05, h)
    before, last = cloth.positions, len(cloth.masses) - 3
    cloth.run(0.1, h)
    rise, fall = (cloth.positions - before)[[2, last], 2] * [1, -1]
    if slides:  # at first 0.4 m/s² and more
        assert rise > 1e-3
        assert rise == pytest.approx(fall, rel=0.1)
    else:
        assert max(abs(rise), abs(fall)) < 1e-4
    assert cloth.info["free"]


@pytest.mark.parametrize(("load", "h"), [(1.0, 1e-3), (0.3, 4e-3)])
def test_a_load_over_an_edge_stretches_the_cloth_by_elasticity_alone(load, h):
    """By F / (E w), not by the F h² / m of a load that acts on the masses that touch."""
    young, width = 1000.0, 0.04
    cloth = scenes.capstan(0.3, 2.0, load=load, along=41, young=young)
    line = slice(2, None, 5)
    whole = (np.pi * (0.1 + 1.05e-3) + 0.12) / 40  # of the rest shape
    cloth.run(0.3, h)
    edges = np.linalg.norm(np.diff(cloth.positions[line], axis=0), axis=1)
    stretch = edges / whole - 1
    tension = young * width * stretch
    hanging = slice(1, 5)
    assert tension[hanging] == pytest.approx(load, rel=0.1)
    assert tension[::-1][hanging] == pytest.approx(2 * load, rel=0.1)
    assert stretch.max() < 1.5 * 2 * load / (young * width)
    assert abs(cloth.velocities).max() < 0.05


def test_assigned_velocities_keep_the_forces_of_contacts():
    """As a callback that damps a motion assigns them; positions make another state."""
    young, width, load, h = 1000.0, 0.04, 0.3, 4e-3
    cloth = scenes.capstan(0.3, 2.0, load=load, along=41, young=young)
    whole = (np.pi * (0.1 + 1.05e-3) + 0.12) / 40

    def damp(cloth):
        cloth.velocities = 0.99 * cloth.velocities

    cloth.run(0.1, h, callback=damp)
    edges = np.linalg.norm(np.diff(cloth.positions[2::5], axis=0), axis=1)
    assert edges.max() / whole - 1 < 2 * (2 * load) / (young * width)
    forces = cloth._core.former_contacts()[1]
    assert np.abs(forces).max() > 0
    cloth.velocities = np.zeros_like(cloth.velocities)
    assert np.array_equal(cloth._core.former_contacts()[1], forces)
    cloth.positions = cloth.positions
    assert len(cloth._core.former_contacts()[1]) == 0


# Seconds to go: whole scenes where that takes minutes.
RUNS = [
    ("dress", {"version": "1a"}, 0.3),
    ("dress", {"version": "1b"}, 1.0),
    ("ribbon", {}, 1.0),
    ("ribbon", {"isotropic": True}, 5.5),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options", "seconds"), RUNS, ids=str)
def test_s5_scenes_are_certified_all_along(name, options, seconds):
    cloth = scenes.get(name)(**options)
    whole, h = scenes.times(name)
    certified = []
    cloth.run(seconds, h, callback=lambda made: certified.append(made.info["free"]))
    assert all(certified)
    assert cloth.time == pytest.approx(seconds)
    at = cloth.positions
    if name == "dress":  # it hangs on the shoulders, and its hem has fallen
        assert at[:, 2].max() > 1.41
        assert 0.3 < at[:, 2].min() < 0.45
    elif seconds == whole:  # on planes and floor
        assert at[:, 2].min() > 0
        assert at[:, 2].max() < 4


# ---- input ---------------------------------------------------------------------------------------


def test_sizes_that_have_no_room():
    assert len(scenes.capstan(along=17).masses) == 85
    with pytest.raises(ValueError, match=r"along is 16: .* 17"):
        scenes.capstan(along=16)
    for gap in (-2e-3, -3e-3, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"gap is .*: with the thickness 0.002 m it must be"):
            scenes.stack(2, across=5, gap=gap)
    heights = scenes.stack(2, across=5, gap=-1e-3).positions[:, 2]
    assert np.unique(heights) == pytest.approx([1e-3, 2e-3])


@pytest.mark.parametrize("name", scenes.names())
def test_a_thickness_beside_collisions_is_refused(name):
    given = cs.cloth.Collisions(1e-3)
    for twice in ({"thickness": 1e-3}, {"mu": 0.3}):
        (other,) = twice
        with pytest.raises(TypeError, match=f"{other} is given, and collisions, which has its own"):
            scenes.get(name)(collisions=given, **twice)
    with pytest.raises(TypeError, match="collisions is 5: a Collisions is needed"):
        scenes.get(name)(collisions=5)


def test_collisions_of_scenes():
    with pytest.raises(TypeError, match="mu is given, and collisions"):
        scenes.capstan(0.3, collisions=cs.cloth.Collisions(1e-3))
    own = scenes.stack(2, across=5, collisions=None, mu=0.1, thickness=4e-3).collisions
    assert (own.mu, own.thickness) == (0.1, 4e-3)
    thick = scenes.stack(2, across=5, collisions=cs.cloth.Collisions(4e-3))
    assert np.unique(thick.positions[:, 2]) == pytest.approx([5e-3, 10e-3])
