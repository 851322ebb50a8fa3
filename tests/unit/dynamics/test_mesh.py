"""Meshes: their mass, their errors, and bodies that meet them as they meet other shapes."""

import re
import warnings

import matplotlib as mpl
import numpy as np
import pytest

import contactsolve as cs
from contactsolve import dynamics
from contactsolve.dynamics import Box, HalfSpace, Hull, Mesh, Sphere, Triangle

TETRAHEDRON = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
OUTWARD = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]


def plane(cells=4, half=2.0, height=lambda x, y: 0 * x):
    """A square of triangles, seen from above counterclockwise."""
    axis = np.linspace(-half, half, cells + 1)
    x, y = np.meshgrid(axis, axis, indexing="ij")
    vertices = np.column_stack([x.ravel(), y.ravel(), height(x, y).ravel()])
    corner = (np.arange(cells)[:, None] * (cells + 1) + np.arange(cells)).ravel()
    right, across, up = corner + cells + 1, corner + cells + 2, corner + 1
    return Mesh(
        vertices,
        np.concatenate(
            [np.column_stack([corner, right, across]), np.column_stack([corner, across, up])]
        ),
    )


def box(half, thickness=0.0):
    """The surface of a box, two triangles a side."""
    vertices = [[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    sides = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    triangles = [[a, b, c] for a, b, c, _ in sides] + [[a, c, d] for a, _, c, d in sides]
    return Mesh(np.array(vertices) * half, triangles, thickness)


# ---- mass ----------------------------------------------------------------------------------------


def test_mass_is_that_of_the_same_hull():
    rng = np.random.default_rng(2)
    for _ in range(20):
        corners = np.asarray(TETRAHEDRON) @ rng.normal(size=(3, 3)) + rng.normal(size=3)
        triangles = np.array(OUTWARD)
        if Mesh(corners, triangles)._measured[0] < 0:
            triangles = triangles[:, ::-1]
        mine = Mesh(corners, triangles).mass_properties(3.0)
        hull = Hull(corners).mass_properties(3.0)
        np.testing.assert_allclose(mine.mass, hull.mass, rtol=1e-12)
        np.testing.assert_allclose(mine.center, hull.center, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(mine.inertia, hull.inertia, rtol=1e-8, atol=1e-12)


def test_a_box_of_triangles_has_the_mass_of_a_box():
    mine = box([0.1, 0.2, 0.3]).mass_properties(1e3)
    other = Box([0.1, 0.2, 0.3]).mass_properties(1e3)
    np.testing.assert_allclose(mine.mass, other.mass, rtol=1e-14)
    np.testing.assert_allclose(mine.center, other.center, atol=1e-15)
    np.testing.assert_allclose(mine.inertia, other.inertia, rtol=1e-13, atol=1e-13)


def test_closed_and_open():
    assert Mesh(TETRAHEDRON, OUTWARD).closed
    assert not Mesh(TETRAHEDRON, OUTWARD[:3]).closed
    turned = [OUTWARD[0][::-1], *OUTWARD[1:]]
    assert not Mesh(TETRAHEDRON, turned).closed
    assert not plane().closed
    assert plane().volume == 0


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vertices", "triangles", "error", "words"),
    [
        (TETRAHEDRON, [[0, 1]], ValueError, "triangles has shape (1, 2): (t, 3) is needed"),
        (TETRAHEDRON, [], ValueError, "triangles has shape (0,): (t, 3) is needed"),
        (TETRAHEDRON, [[0, 1, 2.0]], TypeError, "integers are needed"),
        (TETRAHEDRON, [[0, 1, 2], [0, 1, 4]], ValueError, "triangles[1, 2] is 4: there are"),
        (TETRAHEDRON, [[0, -1, 2]], ValueError, "triangles[0, 1] is -1: there are"),
        (TETRAHEDRON, [[0, 1, 1]], ValueError, "triangles[0], of vertices [0, 1, 1]"),
        ([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]], ValueError, "corners are on a line"),
        ([[0, 0, np.nan], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], ValueError, "vertices[0, 2] is nan"),
        ([[0, 0], [1, 0]], [[0, 1, 0]], ValueError, "vertices has shape (2, 2)"),
    ],
)
def test_wrong_meshes_name_the_entry(vertices, triangles, error, words):
    with pytest.raises(error, match=re.escape(words)):
        Mesh(vertices, triangles)


def test_bodies_without_a_volume_need_mass_and_inertia():
    world = dynamics.World()
    with pytest.raises(TypeError, match="without a solid shape, mass and inertia are needed"):
        world.add_body(plane(), density=1e3)
    with pytest.raises(TypeError, match="mass and inertia are needed"):
        world.add_body(Triangle(TETRAHEDRON[:3]), mass=1.0)
    with pytest.raises(ValueError, match="has no mass: give mass and inertia"):
        plane().mass_properties(1.0)
    inward = [triangle[::-1] for triangle in OUTWARD]
    with pytest.raises(ValueError, match="turn its triangles round"):
        world.add_body(Mesh(TETRAHEDRON, inward), density=1e3)
    with pytest.raises(ValueError, match="is for dimension 3, not 2"):
        dynamics.World(2).add_fixed(plane())
    assert world.bodies == 0
    world.add_body(plane(), mass=1.0, inertia=np.ones(3))


# ---- motion --------------------------------------------------------------------------------------

EXACTLY = {"method": "gauss_seidel", "rtol": 1e-10, "max_iterations": 2000}


def thrown(ground, shape, steps=400):
    """Where a body ends that is thrown onto the ground."""
    world = dynamics.World(time_step=2e-3, **EXACTLY)
    world.add_fixed(ground)
    speed = [0.5, 0.1, 0, 0, 0, 0]
    world.add_body(shape, [-1.3, 0.3, 0.13], velocity=speed, density=1e3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        world.run(steps)
    return world


@pytest.mark.parametrize(
    "shape",
    [
        Sphere(0.1),
        Box([0.1, 0.08, 0.1]),
        dynamics.Cylinder(0.1, 0.1),
        Hull([[0.1, 0.1, -0.1], [-0.1, 0.1, -0.1], [0, -0.1, -0.1], [0, 0, 0.1]]),
        box([0.1, 0.08, 0.1]),
    ],
    ids=["sphere", "box", "cylinder", "hull", "mesh"],
)
def test_a_plane_of_triangles_is_like_a_half_space(shape):
    there, here = thrown(plane(), shape), thrown(HalfSpace([0, 0, 1]), shape)
    np.testing.assert_allclose(there.positions, here.positions, atol=2e-3)
    np.testing.assert_allclose(there.velocities, here.velocities, atol=2e-3)
    assert len(there.contacts.gaps) > 0


def test_a_bowl_holds_what_falls_into_it():
    bowl = plane(12, 1.0, lambda x, y: x * x + y * y)
    world = dynamics.World(time_step=2e-3, method="gauss_seidel", max_iterations=100)
    world.add_fixed(bowl)
    for i in range(8):
        angle = 2 * np.pi * i / 8
        shape = Sphere(0.08) if i % 2 else Box([0.07, 0.07, 0.07])
        place = [0.5 * np.cos(angle), 0.5 * np.sin(angle), 0.6 + 0.02 * i]
        world.add_body(shape, place, density=1e3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        world.run(600)
    positions = world.positions
    below = positions[:, 2] - (positions[:, :2] ** 2).sum(axis=1)
    assert below.min() > 0.0
    assert np.hypot(*positions[:, :2].T).max() < 0.6
    assert np.abs(world.velocities).max() < 1.0


def test_meshes_rest_on_meshes():
    world = dynamics.World(time_step=2e-3, **EXACTLY)
    world.add_fixed(plane())
    for i in range(3):
        shape = box([0.2, 0.2, 0.1], thickness=0.04)
        world.add_body(shape, [0.1, 0.2, 0.101 + 0.201 * i], density=1e3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        world.run(300)
    # They fall by a millimetre each, and sink by no more than they fall in a step.
    expected = 0.1 + 0.2 * np.arange(3)
    np.testing.assert_allclose(world.positions[:, 2], expected, atol=1.5e-3)
    assert np.abs(world.velocities).max() < 1e-3


def test_a_world_with_meshes_goes_on_from_its_file_with_the_same_bits(tmp_path):
    world = dynamics.World(time_step=2e-3, method="gauss_seidel", threads=1)
    world.add_fixed(plane(6, 1.0, lambda x, y: 0.3 * (x * x + y * y)))
    world.add_body(box([0.1, 0.1, 0.05]), [0.1, 0, 0.3], density=1e3)
    world.add_body(Mesh(0.2 * np.array(TETRAHEDRON), OUTWARD), [-0.4, 0, 0.3], density=1e3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        world.run(120, file=tmp_path / "run.h5", every=40)
        other = dynamics.World.load(tmp_path / "run.h5")
        world.run(80)
        other.run(80)
    assert world.positions.tobytes() == other.positions.tobytes()
    assert world.orientations.tobytes() == other.orientations.tobytes()
    assert world.contacts.impulses.tobytes() == other.contacts.impulses.tobytes()


def test_threads_do_not_change_a_bit():
    ends = []
    for threads in (1, 2, 3):
        world = dynamics.World(
            time_step=2e-3, method="gauss_seidel", threads=threads, exact_threads=True
        )
        world.add_fixed(plane(8, 1.0, lambda x, y: 0.5 * (x * x + y * y)))
        for i in range(6):
            world.add_body(Sphere(0.08), [0.5 - 0.2 * i, 0.05 * i, 0.35], density=1e3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            world.run(150)
        ends.append(world.positions.tobytes())
    assert len(set(ends)) == 1


def test_pictures_show_meshes():
    world = dynamics.World()
    world.add_fixed(plane(3, 1.0, lambda x, y: 0.2 * (x * x + y * y)))
    world.add_body(box([0.2, 0.2, 0.2]), [0, 0, 0.5], density=1e3)
    with mpl.rc_context({"figure.max_open_warning": 0}):
        axes = cs.plots.scene(world)
        assert axes.figure is not None
        mpl.pyplot.close(axes.figure)
