"""Shapes: mass properties against sums over their points, hulls, checks."""

import pickle

import numpy as np
import pytest

from colliding import support
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
)

CUBE = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
SHAPES = [
    Sphere(0.7),
    Capsule(0.4, 0.6),
    Cylinder(0.5, 0.8),
    Box((0.3, 0.5, 0.7)),
    Hull([(0, 0, 0), (1, 0, 0), (0, 1.5, 0), (0.2, 0.1, 1), (1, 1, 1)]),
    Disc(0.7),
    Segment(0.6, 0.4),
    Polygon([(0, 0), (1, 0.2), (1.2, 1), (0.3, 1.4)]),
]


def is_inside(shape, x):
    """Whether points lie in a shape, by its support function; exact in the limit."""
    dimension = x.shape[1]
    if shape.kind in ("sphere", "disc"):
        return np.linalg.norm(x, axis=1) <= shape.radius
    if shape.kind in ("capsule", "segment"):
        axis = x[:, 2] if dimension == 3 else x[:, 0]
        rest = axis - np.clip(axis, -shape.half_length, shape.half_length)
        across = x[:, :2] if dimension == 3 else x[:, 1:]
        return np.linalg.norm(across, axis=1) ** 2 + rest**2 <= shape.radius**2
    if shape.kind == "cylinder":
        across = np.hypot(x[:, 0], x[:, 1])
        return (across <= shape.radius) & (np.abs(x[:, 2]) <= shape.half_length)
    if shape.kind == "box":
        return (np.abs(x) <= shape.half_extents).all(axis=1)
    spatial = pytest.importorskip("scipy.spatial")
    planes = spatial.ConvexHull(shape.vertices).equations
    return (x @ planes[:, :-1].T + planes[:, -1] <= 0).all(axis=1)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.kind)
def test_mass_properties_are_sums_over_points(shape):
    """A midpoint rule over the box around the shape, whose cells are 1/100 of it."""
    dimension = shape.dimension
    axes = np.eye(dimension)
    low, high = -support(shape, -axes), support(shape, axes)
    cells = 100 if dimension == 3 else 1000
    grids = [a + (np.arange(cells) + 0.5) * (b - a) / cells for a, b in zip(low, high, strict=True)]
    x = np.stack(np.meshgrid(*grids, indexing="ij"), -1).reshape(-1, dimension)
    x = x[is_inside(shape, x)]
    weight = np.prod((high - low) / cells)
    mass, center, inertia = shape.mass_properties(density=3.0)
    assert mass == pytest.approx(3 * len(x) * weight, rel=3e-3)
    assert mass == pytest.approx(3 * shape.volume, rel=1e-15)
    assert np.abs(center - x.mean(axis=0)).max() <= 3e-3
    y = x - center
    second = 3 * weight * y.T @ y
    wanted = np.trace(second) if dimension == 2 else np.trace(second) * np.eye(3) - second
    assert np.abs(inertia - wanted).max() <= 1e-2 * np.abs(wanted).max()
    assert np.array_equal(shape.inertia(3.0), inertia)
    reach = np.linalg.norm(y, axis=1).max()
    assert reach <= shape.bounding_radius <= reach * 1.05


def test_closed_forms():
    assert Sphere(2.0).volume == pytest.approx(32 * np.pi / 3, rel=1e-15)
    mass, _, inertia = Sphere(2.0).mass_properties(0.5)
    assert np.abs(inertia - 0.4 * mass * 4 * np.eye(3)).max() <= 1e-14 * mass
    # A hull of a cube is that box, wherever its vertices are.
    box, hull = Box((1, 1, 1)), Hull(np.add(CUBE, (3, -2, 1)))
    assert hull.volume == pytest.approx(8, rel=1e-14)
    assert np.abs(hull.inertia(1.0) - box.inertia(1.0)).max() <= 1e-13
    assert np.abs(hull.mass_properties(1.0).center - (3, -2, 1)).max() <= 1e-14
    # A capsule of almost no length is a sphere.
    assert Capsule(0.5, 1e-9).volume == pytest.approx(Sphere(0.5).volume, rel=1e-8)
    assert Polygon([(0, 0), (2, 0), (2, 1), (0, 1)]).inertia(1.0) == pytest.approx(2 * 5 / 12)


def test_a_hull_leaves_out_points_that_are_no_vertices():
    rng = np.random.default_rng(0)
    middle_of_edges = [(0, 1, 1), (1, 0, -1), (-1, -1, 0)]
    middle_of_faces = [(1, 0, 0), (0.3, -1, 0.2)]
    inner = rng.uniform(-1, 1, (20, 3)).tolist()
    for _ in range(20):
        points = rng.permutation(CUBE + middle_of_edges + middle_of_faces + inner)
        hull = Hull(points)
        assert hull.volume == pytest.approx(8, rel=1e-13)
        assert np.abs(hull.inertia(1.0) - Box((1, 1, 1)).inertia(1.0)).max() <= 1e-12


def test_random_hulls_have_the_volumes_that_scipy_finds():
    spatial = pytest.importorskip("scipy.spatial")
    rng = np.random.default_rng(1)
    for count in range(4, 65):
        points = rng.normal(size=(count, 3)) * rng.uniform(0.1, 3, 3) + rng.normal(size=3)
        if count % 3 == 0:  # all of them vertices
            points /= np.linalg.norm(points, axis=1, keepdims=True)
        wanted = spatial.ConvexHull(points).volume
        assert Hull(points).volume == pytest.approx(wanted, rel=1e-12)
    for sides in range(3, 33):  # prisms: faces of many corners
        angle = 2 * np.pi * np.arange(sides) / sides
        ring = np.column_stack([np.cos(angle), np.sin(angle)])
        points = np.concatenate([np.column_stack([ring, np.full(sides, z)]) for z in (-1, 1)])
        area = sides / 2 * np.sin(2 * np.pi / sides)
        assert Hull(points).volume == pytest.approx(2 * area, rel=1e-12)
        assert Polygon(ring).volume == pytest.approx(area, rel=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sphere(0.0), "sphere: radius is 0, but it has to be positive"),
        (lambda: Sphere(np.nan), "radius is nan: a finite number is needed"),
        (lambda: Sphere(1e-200), "radius is 1e-200, but it has to be at least 1e-100"),
        (lambda: Sphere(1e200), r"radius is 1e\+200, but it has to be at most 1e100"),
        (lambda: Box((1, -2, 1)), r"box: half_extents\[1\] is -2, .* positive"),
        (lambda: Box((1, 2)), r"half_extents has shape \(2,\): 3 numbers are needed"),
        (lambda: Capsule(1, 0), "capsule: half_length is 0"),
        (lambda: Segment(1, -0.1), "segment: radius is -0.1, .* at least zero"),
        (lambda: HalfSpace((0, 0, 0)), "normal is .* not zero"),
        (lambda: HalfSpace((0, 1, 0, 0)), "normal has shape"),
        (lambda: Hull(CUBE[:3]), "hull: vertices has 3 points, but 4 to 64 are needed"),
        (lambda: Hull(np.zeros((65, 3))), "vertices has 65 points"),
        (lambda: Hull(np.zeros((5, 3))), "all points are the same"),
        (lambda: Hull([(i, 2 * i, -i) for i in range(5)]), "lie on a line"),
        (lambda: Hull([(x, y, x + y) for x, y, _ in CUBE]), "lie in a plane"),
        (lambda: Hull([*CUBE, (0, np.inf, 0)]), r"vertices\[8, 1\] is inf"),
        (lambda: Hull([(0, 0)]), r"vertices has shape \(1, 2\): \(n, 3\) is needed"),
        (lambda: Polygon([(0, 0), (1, 1), (2, 2)]), "lie on a line"),
        (lambda: Sphere(1).mass_properties(0), "density is 0.0: a positive number"),
        (lambda: HalfSpace((0, 1)).volume, "a HalfSpace has no mass"),
    ],
)
def test_wrong_shapes_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_arguments_of_wrong_types_are_refused():
    with pytest.raises(TypeError, match="radius is 'a': a number is needed"):
        Sphere("a")
    with pytest.raises(TypeError, match="vertices is 'a'"):
        Hull("a")


@pytest.mark.parametrize("shape", [*SHAPES, HalfSpace((0, 0, 2), 1.0), HalfSpace((0, 1), 1.0)])
def test_shapes_are_values(shape):
    copy = pickle.loads(pickle.dumps(shape))
    assert copy == shape
    assert hash(copy) == hash(shape)
    assert eval(repr(shape)) == shape
    assert shape != Sphere(9.0)
    with pytest.raises(AttributeError, match="cannot be changed"):
        shape.dimension = 7


def test_a_rectangle_is_a_polygon_about_the_origin():
    made = Polygon.rectangle([2.0, 0.5])
    assert made == Polygon([[-2.0, -0.5], [2.0, -0.5], [2.0, 0.5], [-2.0, 0.5]])
    assert made.volume == pytest.approx(4.0, rel=1e-15)
    with pytest.raises(ValueError, match=r"half_extents\[1\] is -1"):
        Polygon.rectangle([1.0, -1.0])
