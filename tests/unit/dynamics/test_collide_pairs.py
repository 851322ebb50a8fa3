"""Contacts of pairs of shapes: distance, penetration, normals and points.

Shapes are judged by their support functions, in NumPy.  Along the right normal two shapes are as
far apart as the gap says; along no other direction they are farther apart; and a point within
half the gap of both shows that they are no farther apart than that.
"""

import itertools

import numpy as np
import pytest

from colliding import (
    add,
    beyond,
    collider_of,
    random_orientation,
    rotation,
    separations,
    unit_vectors,
)
from contactsolve import _core
from contactsolve.dynamics import (
    Box,
    Capsule,
    Cylinder,
    Disc,
    HalfSpace,
    Hull,
    Polygon,
    Segment,
    Sphere,
    Triangle,
)


def random_shape(kind, rng):
    u = rng.uniform
    match kind:
        case "sphere":
            return Sphere(u(0.2, 1))
        case "capsule":
            return Capsule(u(0.2, 0.6), u(0.2, 1))
        case "box":
            return Box(u(0.2, 1, 3))
        case "hull":
            return Hull(rng.normal(size=(rng.integers(5, 25), 3)) * u(0.2, 0.8, 3))
        case "cylinder":
            return Cylinder(u(0.2, 0.8), u(0.2, 1))
        case "triangle":
            return Triangle(rng.normal(size=(3, 3)) * u(0.2, 0.8, 3))
        case "half_space":
            return HalfSpace(rng.normal(size=3), u(-0.3, 0.3))
        case "half_plane":
            return HalfSpace(rng.normal(size=2), u(-0.3, 0.3))
        case "disc":
            return Disc(u(0.2, 1))
        case "segment":
            return Segment(u(0.2, 1), rng.choice([0.0, u(0.1, 0.5)]))
        case "polygon":
            return Polygon(rng.normal(size=(rng.integers(3, 12), 2)) * u(0.2, 0.8, 2))
    raise ValueError(kind)


SPACE = ("sphere", "capsule", "box", "hull", "triangle", "cylinder", "half_space")
PLANE = ("disc", "segment", "polygon", "half_plane")
PAIRS = [
    pair
    for kinds in (SPACE, PLANE)
    for pair in itertools.combinations_with_replacement(kinds, 2)
    if pair not in (("half_space",) * 2, ("half_plane",) * 2)
]
FAR = 50.0  # a margin that finds every pair


def random_pair(kinds, rng):
    """Two shapes, whose poses make about a third of all pairs overlap."""
    shapes = [random_shape(kind, rng) for kind in kinds]
    dimension = shapes[0].dimension
    near = 0.7 if dimension == 2 else 0.3 if "triangle" in kinds else 0.9
    position = rng.normal(size=(2, dimension)) * near
    return shapes, position, random_orientation(rng, 2, dimension)


def found_contacts(shapes, position, orientation, margin=FAR):
    return collider_of(shapes).find(position, orientation, None, margin, 1)


def check_pair(shapes, position, orientation, rng):
    """Check one pair by the support functions; returns its contacts."""
    dimension = shapes[0].dimension
    # The direction of cylinders is searched for; others have closed forms.
    kinds = {shape.kind for shape in shapes}
    is_searched = "cylinder" in kinds and not kinds & {"sphere", "half_space"}
    exact, touching = (1e-8, 1e-6) if is_searched else (1e-10, 1e-9)
    found = found_contacts(shapes, position, orientation)
    gaps, normals = found["gap"], found["normal"]
    least, normal = gaps.min(), normals[0]
    assert 1 <= len(gaps) <= (4 if dimension == 3 else 2)
    assert np.abs(np.linalg.norm(normals, axis=1) - 1).max() <= 1e-14
    assert (normals == normal).all()
    assert len(set(found["feature"].tolist())) == len(gaps)
    assert np.array_equal(found["feature"], np.sort(found["feature"]))

    # As far apart along the normal as the gap says, and no farther along any other direction.
    around = unit_vectors(rng, 400, dimension)
    near = normal + 1e-3 * unit_vectors(rng, 100, dimension)
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    assert abs(separations(shapes, position, orientation, normal[None])[0] - least) <= exact
    others = np.concatenate([around, near])
    assert separations(shapes, position, orientation, others).max() <= least + exact

    # Each point lies within half of its gap of both shapes.
    for shape, x, q in zip(shapes, position, orientation, strict=True):
        away = beyond(shape, x, q, found["point"], others @ rotation(q))
        along = beyond(shape, x, q, found["point"], np.stack([normal, -normal]) @ rotation(q))
        assert (np.maximum(away, along) <= np.abs(gaps) / 2 + exact).all()

    # Moved by the gap, they touch.
    moved = position.copy()
    moved[1] -= least * normal
    assert abs(found_contacts(shapes, moved, orientation)["gap"].min()) <= touching
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_random_pairs(kinds):
    rng = np.random.default_rng(list(map(ord, "".join(kinds))))
    overlapping = 0
    for _ in range(120):
        overlapping += check_pair(*random_pair(kinds, rng), rng)["gap"].min() < 0
    assert overlapping > 10


@pytest.mark.slow
@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_many_random_pairs(kinds):
    rng = np.random.default_rng([1, *map(ord, "".join(kinds))])
    for _ in range(5000):
        check_pair(*random_pair(kinds, rng), rng)


CUBE = list(itertools.product((-0.5, 0.5), repeat=3))
OCTAHEDRON = [*np.eye(3), *-np.eye(3)]
PRISM = [(np.cos(a), np.sin(a), z) for a in np.arange(6) * np.pi / 3 for z in (-0.5, 0.5)]
SQUARE = list(itertools.product((-0.5, 0.5), repeat=2))


def aligned_shape(kind, rng):
    """A shape of a few sizes, so that faces and edges of two coincide."""
    size = rng.choice([0.5, 1.0], 3)
    match kind:
        case "box":
            return Box(size)
        case "hull":
            return Hull([CUBE, OCTAHEDRON, PRISM][rng.integers(3)])
        case "triangle":
            return Triangle([(0, 0, 0), (1, 0, 0), [(0, 1, 0), (0, 1, 1)][rng.integers(2)]])
        case "half_space":
            return HalfSpace([(0, 0, 1), (1, 0, 0), (1, 1, 0), (1, 1, 1)][rng.integers(4)], size[0])
        case "half_plane":
            return HalfSpace([(0, 1), (1, 1)][rng.integers(2)], size[0])
        case "segment":
            return Segment(size[0], rng.choice([0, 0.25, 0.5]))
        case "polygon":
            return Polygon([SQUARE, [(0, 0), (1, 0), (0, 1)]][rng.integers(2)])
    of_kind = {"sphere": Sphere, "disc": Disc, "capsule": Capsule, "cylinder": Cylinder}[kind]
    return of_kind(*size[: 1 if kind in ("sphere", "disc") else 2])


HALF_TURN, THIRD, EIGHTH = (0, 1, 0, 0), (0.5, 0.5, 0.5, 0.5), np.pi / 8
TURNS = [
    (1, 0, 0, 0),
    HALF_TURN,
    (np.sqrt(0.5), np.sqrt(0.5), 0, 0),
    (np.sqrt(0.5), 0, np.sqrt(0.5), 0),
    THIRD,
    (np.cos(EIGHTH), np.sin(EIGHTH), 0, 0),
    (np.cos(EIGHTH), 0, 0, np.sin(EIGHTH)),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_aligned_pairs(kinds):
    """Parallel and coincident faces, edges, axes and centres, which random pairs never have."""
    rng = np.random.default_rng(10)
    for turn in range(150):
        shapes = [aligned_shape(kind, rng) for kind in kinds]
        dimension = shapes[0].dimension
        position = 0.25 * rng.integers(-4, 5, (2, dimension)) * (turn % 5 > 0)
        if dimension == 3:
            orientation = np.array([TURNS[k] for k in rng.integers(len(TURNS), size=2)])
        else:
            orientation = rng.integers(0, 8, (2, 1)) * np.pi / 4
        if turn % 3 == 0:
            orientation[1] = orientation[0]
        check_pair(shapes, position, orientation.astype(float), rng)


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_exchanged_shapes_exchange_the_normal(kinds):
    rng = np.random.default_rng(2)
    for _ in range(40):
        shapes, position, orientation = random_pair(kinds, rng)
        one = found_contacts(shapes, position, orientation)
        other = found_contacts(shapes[::-1], position[::-1], orientation[::-1])
        assert abs(one["gap"].min() - other["gap"].min()) <= 1e-9
        # Overlaps may have two directions that are as short.
        if one["gap"].min() > 1e-6:
            assert np.abs(one["normal"][0] + other["normal"][0]).max() <= 1e-5


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_a_margin_leaves_out_what_is_farther(kinds):
    rng = np.random.default_rng(3)
    for _ in range(40):
        pair = random_pair(kinds, rng)
        every = found_contacts(*pair)
        least = every["gap"].min()
        assert len(found_contacts(*pair, margin=least - 1e-7)["gap"]) == 0
        found = found_contacts(*pair, margin=least + 1e-7)
        assert abs(found["gap"].min() - least) <= 1e-9
        assert found["gap"].max() <= least + 1e-7


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_small_motions_keep_normals_and_most_features(kinds):
    rng = np.random.default_rng(4)
    kept = total = 0
    for _ in range(60):
        shapes, position, orientation = random_pair(kinds, rng)
        before = found_contacts(shapes, position, orientation)
        position = position + 1e-8 * rng.normal(size=position.shape)
        after = found_contacts(shapes, position, orientation + 1e-8 * rng.normal())
        kept += np.array_equal(before["feature"], after["feature"])
        total += 1
    assert kept >= total - 2


# ---- against coal --------------------------------------------------------------------------------


def coal_shape(coal, shape):
    match shape.kind:
        case "sphere":
            return coal.Sphere(shape.radius)
        case "capsule":
            return coal.Capsule(shape.radius, 2 * shape.half_length)
        case "cylinder":
            return coal.Cylinder(shape.radius, 2 * shape.half_length)
        case "box":
            return coal.Box(*(2 * h for h in shape.half_extents))
        case "half_space":
            length = np.linalg.norm(shape.normal)
            return coal.Halfspace(np.array(shape.normal) / length, shape.offset / length)
        case "triangle":
            # Both sides of a convex body: coal has no distances of `TriangleP`.
            points, sides = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
            points.extend(shape.vertices)
            sides.extend([coal.Triangle(0, 1, 2), coal.Triangle(0, 2, 1)])
            return coal.Convex(points, sides)
        case "hull":
            points = coal.StdVec_Vec3s()
            points.extend(shape.vertices)
            return coal.Convex.convexHull(points, False, "")
    raise ValueError(shape.kind)


def coal_distance(coal, shapes, position, orientation):
    request = coal.DistanceRequest()
    request.gjk_tolerance, request.gjk_max_iterations = 1e-12, 1000
    request.epa_tolerance, request.epa_max_iterations = 1e-10, 1000
    places = [coal.Transform3s(rotation(q), x) for x, q in zip(position, orientation, strict=True)]
    a, b = (coal_shape(coal, shape) for shape in shapes)
    return coal.distance(a, places[0], b, places[1], request, coal.DistanceResult())


def compare_with_coal(kinds, count, seed):
    """Distances agree, but for a few where coal is wrong.

    Coal's iteration gives up on some cylinders: it then says too little, or minus infinity. Where
    it differs, `check_pair` proves ours; of overlapping cylinders it is the only judge.
    """
    coal = pytest.importorskip("coal")
    rng = np.random.default_rng(seed)
    tolerance = 1e-6 if "cylinder" in kinds else 1e-9
    compared = differing = 0
    for _ in range(count):
        pair = random_pair(kinds, rng)
        gap = found_contacts(*pair)["gap"].min()
        if gap < 0 and "cylinder" in kinds and "half_space" not in kinds:
            continue
        compared += 1
        if abs(gap - coal_distance(coal, *pair)) > tolerance:
            assert "cylinder" in kinds, pair
            check_pair(*pair, rng)
            differing += 1
    assert compared > count / 4
    assert differing <= count / 1000


SPACE_PAIRS = [pair for pair in PAIRS if pair[0] in SPACE]


@pytest.mark.parametrize("kinds", SPACE_PAIRS, ids="-".join)
def test_coal_finds_the_same_distances(kinds):
    compare_with_coal(kinds, 2000, 5)


@pytest.mark.slow
@pytest.mark.parametrize("kinds", SPACE_PAIRS, ids="-".join)
def test_coal_finds_the_same_distances_of_many_pairs(kinds):
    compare_with_coal(kinds, 100_000, 6)


# ---- manifolds -----------------------------------------------------------------------------------


def sorted_rows(points):
    points = np.asarray(points, dtype=float)
    return points[np.lexsort(np.round(points, 9).T)]


def assert_points(found, points, gaps, normal):
    """The contacts have these points, in any order, and one gap."""
    points = np.asarray(points, dtype=float)
    assert found["point"].shape == points.shape
    assert np.abs(sorted_rows(found["point"]) - sorted_rows(points)).max() <= 1e-12
    assert np.abs(found["gap"] - gaps).max() <= 1e-12
    assert np.abs(found["normal"] - normal).max() <= 1e-12


def corners(x, y, z):
    return [(sx * x, sy * y, z) for sx in (-1, 1) for sy in (-1, 1)]


def test_a_box_on_a_half_space_has_its_four_lower_vertices():
    for gap in (-0.01, 0.0, 0.02):
        found = on_ground(Box((0.5, 0.4, 0.3)), 0.3 + gap, margin=0.1)
        assert_points(found, corners(0.5, 0.4, gap / 2), gap, (0, 0, -1))


def on_ground(shape, height, orientation=(1, 0, 0, 0), margin=0.01):
    """A shape above the half-space z <= 0, which comes second."""
    shapes = [shape, HalfSpace((0, 0, 1))]
    position = np.array([[0, 0, height], [0, 0, 0]], dtype=float)
    turn = np.array([orientation, (1, 0, 0, 0)], dtype=float)
    return found_contacts(shapes, position, turn, margin)


def stacked(lower, upper, offset, orientation=(1, 0, 0, 0), margin=0.01):
    position = np.array([np.zeros(3), offset])
    turn = np.array([(1, 0, 0, 0), orientation], dtype=float)
    return found_contacts([lower, upper], position, turn, margin)


QUARTER = np.sqrt(0.5)


def test_a_box_on_a_box_has_four_points_of_the_overlap():
    small, large = Box((0.5, 0.5, 0.5)), Box((1, 1, 0.5))
    assert_points(stacked(large, small, (0.2, 0, 1)), [
        (x, y, 0.5) for x in (-0.3, 0.7) for y in (-0.5, 0.5)
    ], 0.0, (0, 0, 1))  # fmt: skip
    assert_points(stacked(small, large, (1, 1, 0.99)), [
        (x, y, 0.495) for x in (0, 0.5) for y in (0, 0.5)
    ], -0.01, (0, 0, 1))  # fmt: skip


def test_a_turned_box_on_a_box_has_four_points_of_an_octagon():
    eighth = (np.cos(np.pi / 8), 0, 0, np.sin(np.pi / 8))
    found = stacked(Box((0.5, 0.5, 0.5)), Box((0.5, 0.5, 0.5)), (0, 0, 1), eighth)
    assert len(found["gap"]) == 4
    assert np.abs(np.abs(found["point"][:, :2]).max(axis=1) - 0.5).max() <= 1e-12
    assert np.abs(found["point"][:, 2] - 0.5).max() <= 1e-12
    # They span the overlap: its middle lies well inside.
    assert (found["point"].min(axis=0)[:2] < -0.2).all()
    assert (found["point"].max(axis=0)[:2] > 0.2).all()


def test_crossed_edges_touch_at_one_point():
    along = (np.cos(np.pi / 8), np.sin(np.pi / 8), 0, 0)
    lower, upper = Box((1, 0.5, 0.5)), Box((0.5, 1, 0.5))
    height = 2 * np.sqrt(0.5)
    position = np.array([[0, 0, 0], [0.1, 0.2, height - 0.01]])
    turn = np.array([along, (np.cos(np.pi / 8), 0, np.sin(np.pi / 8), 0)])
    found = found_contacts([lower, upper], position, turn, 0.01)
    assert_points(found, [(0.1, 0, np.sqrt(0.5) - 0.005)], -0.01, (0, 0, 1))


@pytest.mark.parametrize("gap", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("seed", range(5))
def test_parallel_edges_touch_at_both_ends_of_what_they_share(gap, seed):
    # Two boxes, each on an edge, one ridge above the other, in any pose.
    rng = np.random.default_rng(seed)
    whole, place = rng.normal(size=4), rng.normal(size=3)
    whole /= np.linalg.norm(whole)
    along = np.array([np.cos(np.pi / 8), np.sin(np.pi / 8), 0, 0])
    offset = np.array([0.3, 0, np.sqrt(2) * 0.5 + gap])
    position = np.array([place, place + rotated(whole, offset)])
    turn = np.array([product(whole, along)] * 2)
    boxes = [Box((0.5, 0.25, 0.25)), Box((0.6, 0.25, 0.25))]
    found = found_contacts(boxes, position, turn, 0.01)
    points = [(x, 0, np.sqrt(2) * 0.25 + gap / 2) for x in (-0.3, 0.5)]
    wanted = place + [rotated(whole, one) for one in points]
    order = np.argsort(found["point"] @ rotated(whole, (1, 0, 0)))
    assert np.abs(found["point"][order] - wanted).max() <= 1e-9
    assert np.abs(found["gap"] - gap).max() <= 1e-12
    assert np.abs(found["normal"] - rotated(whole, (0, 0, 1))).max() <= 1e-6
    assert len(set(found["feature"].tolist())) == 2


def rotated(q, vector):
    vector = np.asarray(vector, dtype=float)
    return vector + 2 * np.cross(q[1:], np.cross(q[1:], vector) + q[0] * vector)


@pytest.mark.parametrize("upper", [Box((0.5, 0.5, 0.5)), Capsule(0.2, 0.8)], ids=["box", "capsule"])
def test_nearly_parallel_parts_that_overlap_touch_at_several_points(upper):
    """Edges cross along the axis of least penetration, but one point alone would let them rock."""
    tilt, depth = 0.02, 0.05
    if isinstance(upper, Box):
        # Turned by an eighth, its lower corners lie beside the face below.
        turn, height = (np.cos(np.pi / 8), 0, 0, np.sin(np.pi / 8)), 1.0
    else:
        turn, height = (QUARTER, 0, QUARTER, 0), 0.7  # along x, beyond both sides of the box
    about = (np.cos(tilt / 2), -np.sin(tilt / 2) * 0.3, np.sin(tilt / 2), 0)
    turn = product(about, turn)
    shapes = [Box((0.5, 0.5, 0.5)), upper]
    position = np.array([[0, 0, 0], [0, 0, height - depth]])
    orientation = np.array([(1, 0, 0, 0), turn])
    found = found_contacts(shapes, position, orientation, 0.0)
    normal = found["normal"][0]
    assert normal[2] > 0.99
    assert np.abs(normal[:2]).max() > 1e-3  # no face has it: it is the product of two edges
    assert len(found["gap"]) == (4 if isinstance(upper, Box) else 2)
    assert np.ptp(found["point"][:, 0]) > 0.8
    check_pair(shapes, position, orientation, np.random.default_rng(0))


@pytest.mark.parametrize(
    "other", [Box((0.5, 0.5, 0.5)), Cylinder(0.7, 0.5)], ids=["box", "cylinder"]
)
@pytest.mark.parametrize("exchanged", [False, True])
def test_an_end_that_overlaps_a_nearly_parallel_face_touches_at_several_points(other, exchanged):
    tilt, depth = 0.02, 0.05
    shapes = [Cylinder(0.5, 0.4), other]
    position = np.array([[0.3, 0.1, 0.9 - depth], [0, 0, 0]])
    orientation = np.array([(np.cos(tilt / 2), 0, np.sin(tilt / 2), 0), (1, 0, 0, 0)])
    if exchanged:
        shapes, position, orientation = shapes[::-1], position[::-1], orientation[::-1]
    found = found_contacts(shapes, position.copy(), orientation.copy(), 0.0)
    assert len(found["gap"]) == 4
    assert (np.ptp(found["point"][:, :2], axis=0) > 0.4).all()
    assert (found["gap"] < -0.02).all()
    check_pair(shapes, position.copy(), orientation.copy(), np.random.default_rng(0))


def product(p, q):
    """Return the product of two quaternions."""
    (a, *u), (b, *v) = p, q
    u, v = np.array(u), np.array(v)
    return np.array([a * b - u @ v, *(a * v + b * u + np.cross(u, v))])


def test_a_cylinder_stands_on_four_points_and_lies_on_two():
    cylinder, lying = Cylinder(0.5, 1.0), (QUARTER, 0, QUARTER, 0)
    rim = [(0.5, 0, 0), (-0.5, 0, 0), (0, 0.5, 0), (0, -0.5, 0)]
    assert_points(on_ground(cylinder, 1.0), rim, 0.0, (0, 0, -1))
    assert_points(on_ground(cylinder, 0.5, lying), [(1, 0, 0), (-1, 0, 0)], 0.0, (0, 0, -1))

    box = Box((2, 2, 0.5))
    found = stacked(box, cylinder, (0, 0, 1.49))
    assert_points(found, np.add(rim, (0, 0, 0.495)), -0.01, (0, 0, 1))
    found = stacked(box, cylinder, (1.5, 0, 1.0), lying)
    assert_points(found, [(0.5, 0, 0.5), (2, 0, 0.5)], 0.0, (0, 0, 1))


def test_a_box_on_the_end_of_a_cylinder():
    found = stacked(Cylinder(1.0, 0.5), Box((0.2, 0.3, 0.5)), (0, 0, 1.0))
    assert_points(found, corners(0.2, 0.3, 0.5), 0.0, (0, 0, 1))


def test_a_tilted_cylinder_touches_at_its_lowest_point():
    for angle in (1e-3, 0.3, 1.2):
        turn = (np.cos(angle / 2), 0, np.sin(angle / 2), 0)
        low = 0.5 * np.sin(angle) + np.cos(angle)
        found = on_ground(Cylinder(0.5, 1.0), low - 1e-4, turn)
        deepest = found["gap"].argmin()
        assert abs(found["gap"][deepest] + 1e-4) <= 1e-12
        x = 0.5 * np.cos(angle) - np.sin(angle)
        assert np.abs(found["point"][deepest] - (x, 0, -5e-5)).max() <= 1e-12


def test_cylinders_end_to_end_and_side_by_side():
    a, b = Cylinder(0.5, 1.0), Cylinder(0.3, 0.5)
    rim = [(0.3, 0, 1), (-0.3, 0, 1), (0, 0.3, 1), (0, -0.3, 1)]
    assert_points(stacked(a, b, (0, 0, 1.5)), rim, 0.0, (0, 0, 1))
    found = stacked(b, a, (0, 0, 1.51), margin=0.02)
    assert_points(found, np.add(rim, (0, 0, -0.495)), 0.01, (0, 0, 1))
    found = stacked(a, b, (0.79, 0, 0.7))
    assert_points(found, [(0.495, 0, 0.2), (0.495, 0, 1)], -0.01, (1, 0, 0))


def test_a_capsule_lies_on_two_points():
    lying, capsule = (QUARTER, 0, QUARTER, 0), Capsule(0.25, 1.0)
    found = on_ground(capsule, 0.25, lying)
    assert_points(found, [(1, 0, 0), (-1, 0, 0)], 0.0, (0, 0, -1))
    found = stacked(Box((0.5, 0.5, 0.5)), capsule, (0, 0, 0.74), lying)
    assert_points(found, [(0.5, 0, 0.495), (-0.5, 0, 0.495)], -0.01, (0, 0, 1))
    found = stacked(Cylinder(0.5, 0.5), Capsule(0.25, 1.0), (0.75, 0, 1.0))
    assert_points(found, [(0.5, 0, 0), (0.5, 0, 0.5)], 0.0, (1, 0, 0))
    assert_points(on_ground(capsule, 1.25), [(0, 0, 0)], 0.0, (0, 0, -1))


def test_capsules_side_by_side_end_to_end_and_crossed():
    capsule = Capsule(0.25, 1.0)
    found = stacked(capsule, capsule, (0.5, 0, 0.5))
    assert_points(found, [(0.25, 0, -0.5), (0.25, 0, 1)], 0.0, (1, 0, 0))
    assert_points(stacked(capsule, capsule, (0, 0, 2.5)), [(0, 0, 1.25)], 0.0, (0, 0, 1))
    crossed = stacked(capsule, capsule, (0, 0.49, 0), (QUARTER, 0, QUARTER, 0))
    assert_points(crossed, [(0, 0.245, 0)], -0.01, (0, 1, 0))
    meeting = stacked(capsule, capsule, (0, 0, 0), (QUARTER, 0, QUARTER, 0))
    assert abs(meeting["gap"][0] + 0.5) <= 1e-12
    assert abs(abs(meeting["normal"][0, 1]) - 1) <= 1e-12


def test_polygons_touch_along_sides():
    square = Polygon([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    for other, offset, wanted in (
        (square, (1.0, 1.98), [(0, 0.99), (1, 0.99)]),
        (Segment(0.5, 0.25), (0.0, 1.23), [(-0.5, 0.99), (0.5, 0.99)]),
    ):
        found = found_contacts([square, other], np.array([(0, 0), offset]), np.zeros((2, 1)), 0.1)
        assert_points(found, wanted, -0.02, (0, 1))
    ground = HalfSpace((0, 1), -1.0)
    found = found_contacts([square, ground], np.zeros((2, 2)), np.zeros((2, 1)), 0.1)
    assert_points(found, [(-1, -1), (1, -1)], 0.0, (0, -1))


def test_features_stay_while_the_same_parts_touch():
    """A box that slides, turns a little and rises on another keeps the ids of its four vertices."""
    rng = np.random.default_rng(7)
    wanted = stacked(Box((2, 2, 0.5)), Box((0.5, 0.5, 0.5)), (0, 0, 1))["feature"]
    for _ in range(50):
        offset = (*rng.uniform(-1, 1, 2), 1 + rng.uniform(-1e-3, 1e-3))
        angle = rng.uniform(-0.3, 0.3)
        turn = (np.cos(angle / 2), 0, 0, np.sin(angle / 2))
        found = stacked(Box((2, 2, 0.5)), Box((0.5, 0.5, 0.5)), offset, turn)
        assert np.array_equal(found["feature"], wanted)


def test_a_pile_of_all_shapes_has_sorted_unique_ids():
    rng = np.random.default_rng(8)
    collider = _core.Collider(3)
    bodies = 400
    for body in range(bodies):
        add(collider, random_shape(SPACE[body % 5], rng), body)
    add(collider, HalfSpace((0, 0, 1), -3.0), -1)
    position = rng.uniform(-4, 4, (bodies, 3))
    turn = random_orientation(rng, bodies)
    found = collider.find(position, turn, None, 0.02, 1)
    ids = np.column_stack([found["shape"], found["feature"]])
    assert len(ids) > 4 * bodies
    assert np.array_equal(ids, np.unique(ids, axis=0))
    assert (found["shape"][:, 0] < found["shape"][:, 1]).all()
    assert np.array_equal(found["body"], np.where(found["shape"] == bodies, -1, found["shape"]))


@pytest.mark.threads
def test_threads_change_no_bit_of_any_pair():
    rng = np.random.default_rng(9)
    collider = _core.Collider(3)
    bodies = 3000
    for body in range(bodies):
        add(collider, random_shape(SPACE[body % 5], rng), body)
    add(collider, HalfSpace((0, 0, 1), -6.0), -1)
    position, turn = rng.uniform(-8, 8, (bodies, 3)), random_orientation(rng, bodies)
    wanted = collider.find(position, turn, None, 0.02, 1)
    for threads in (2, 3, 8):
        found = collider.find(position, turn, None, 0.02, threads)
        for name, values in wanted.items():
            assert found[name].tobytes() == values.tobytes(), name
