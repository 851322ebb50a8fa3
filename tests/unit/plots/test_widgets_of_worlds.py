"""`plots.scene_widget`: what k3d is given of worlds and of runs."""

import sys

import numpy as np
import pytest

import contactsolve as cs
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

POSES = ("time", "positions", "orientations", "velocities")
SOLIDS = [
    *(Sphere(0.2), Box([0.1, 0.2, 0.3]), Capsule(0.1, 0.2), Cylinder(0.15, 0.2)),
    Hull([[0.2, 0, 0], [-0.2, 0, 0], [0, 0.2, 0], [0, 0, 0.2], [0, 0, -0.1]]),
]
FLAT = [Disc(0.2), Polygon([[-0.2, 0], [0.2, 0], [0, 0.3]]), Segment(0.1, 0.2)]


def widget(*given, **options):
    pytest.importorskip("k3d")
    return cs.plots.scene_widget(*given, **options)


def falling(dimension=3):
    world = World(dimension, time_step=0.01)
    normal = [0, 0, 1] if dimension == 3 else [0, 1]
    world.add_fixed(HalfSpace(normal, -1.0))
    for k, shape in enumerate(SOLIDS if dimension == 3 else FLAT):
        place = [0.8 * k, 0, 0] if dimension == 3 else [0.8 * k, 0]
        spin = np.arange(1, 4) if dimension == 3 else [3]
        world.add_body(shape, place, density=10.0, velocity=[*np.zeros(dimension), *spin])
    return world


def of_kind(plot, kind):
    return [one for one in plot.objects if one.type == kind]


@pytest.mark.parametrize("dimension", [2, 3])
def test_corners_are_at_the_distances_of_their_shapes_at_all_times(dimension):
    """The mean of each mesh's corners moves with the bodies, rigidly."""
    world = falling(dimension)
    record = world.run(20, POSES, every=5)
    plot = widget(world, record)
    times = [f"{time:.9g}" for time in record["time"]]
    moving = [one for one in of_kind(plot, "Mesh") if isinstance(one.vertices, dict)]
    assert len(moving) == 2
    for mesh in moving:
        assert list(mesh.vertices) == times
        first = mesh.vertices[times[0]].astype(float)
        # Triangles have the same edges at all times, and they do move.
        for time in times[1:]:
            now = mesh.vertices[time].astype(float)
            for a, b in ((0, 1), (1, 2)):
                before, after = (
                    x[mesh.indices[:, a]] - x[mesh.indices[:, b]] for x in (first, now)
                )
                np.testing.assert_allclose(
                    np.linalg.norm(after, axis=1), np.linalg.norm(before, axis=1), atol=1e-5
                )
            assert (now[:, dimension - 1] < first[:, dimension - 1] + 0.2).all()
            assert np.abs(now - first).max() > 0.01
    if dimension == 3:
        (balls,) = of_kind(plot, "Points")
        for row, time in enumerate(times):
            np.testing.assert_allclose(
                balls.positions[time], record["positions"][row, :1], atol=1e-6
            )
        np.testing.assert_allclose(balls.point_sizes, [0.4])
    else:
        assert all((mesh.vertices[times[0]][:, 2] == 0).all() for mesh in moving)
    assert plot.get_time_series_times() == pytest.approx(record["time"])


def test_a_box_has_its_corners_where_the_body_is():
    world = World(gravity=[0, 0, 0])
    turn = [np.cos(0.3), 0, 0, np.sin(0.3)]
    world.add_body(Box([0.1, 0.2, 0.3]), [1, 2, 3], orientation=turn, density=1.0)
    (mesh,) = of_kind(widget(world), "Mesh")
    c, s = np.cos(0.6), np.sin(0.6)
    local = (mesh.vertices - [1, 2, 3]) @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    np.testing.assert_allclose(np.abs(local), np.tile([0.1, 0.2, 0.3], (8, 1)), atol=1e-6)
    assert mesh.indices.shape == (12, 3)


def stacked(count=3):
    world = World(2, method="gauss_seidel", rtol=1e-10)
    world.add_fixed(HalfSpace([0, 1]), material=Material(0.3))
    for k in range(count):
        world.add_body(Disc(0.5), [0, 0.5 + k], mass=1.0)
    world.step()
    return world


def chain_of(plot):
    return next(one for one in plot.objects if one.id == plot.colorbar_object_id)


def test_force_chains_have_thickness_and_value_of_their_impulse():
    """The lowest contact of three discs carries three times the uppermost."""
    plot = widget(stacked(), contacts="forces")
    chain = chain_of(plot)
    tubes = chain.vertices.reshape(3, 2, 6, 3).astype(float)
    radii = np.linalg.norm(tubes - tubes.mean(axis=2, keepdims=True), axis=3).mean(axis=(1, 2))
    values = chain.attribute.reshape(3, 12)
    assert (values == values[:, :1]).all()
    np.testing.assert_allclose(values[:, 0], 9.81e-3 * np.arange(1, 4), rtol=1e-5)
    np.testing.assert_allclose(radii / radii.max(), [1 / 3, 2 / 3, 1], rtol=1e-4)
    lowest = np.sort(tubes.mean(axis=2)[..., 1], axis=1)[:, 0]
    np.testing.assert_allclose(lowest, [1.5, 0.5, 0.0], atol=1e-5)

    # Colours get darker, the name is beside them, and bodies are translucent.
    brightness = chain.color_map.reshape(-1, 4)[:, 1:] @ [0.3, 0.6, 0.1]
    assert (np.diff(brightness) < 0).all()
    assert chain.color == 0xFFFFFF  # k3d multiplies by it
    assert chain.color_range == pytest.approx([0, 3 * 9.81e-3])
    assert [one.text for one in of_kind(plot, "Text2d")] == ["normal impulse [N s]"]
    discs = next(one for one in of_kind(plot, "Mesh") if one.opacity < 1)
    assert discs.opacity == pytest.approx(0.3)


def test_arrows_point_where_the_impulse_acts():
    chain = chain_of(widget(stacked(1), contacts="arrows"))
    rings = chain.vertices.reshape(-1, 4, 6, 3).mean(axis=2)
    (arrow,) = rings[:, -1] - rings[:, 0]
    np.testing.assert_allclose(
        arrow / np.linalg.norm(arrow), [0, 1, 0], atol=1e-5
    )  # up, on the disc
    np.testing.assert_allclose(rings[0, 0], [0, 0, 0], atol=1e-6)


def test_contacts_of_a_recording_change_with_its_times(tmp_path):
    pytest.importorskip("h5py")
    world = World(2, time_step=0.01, method="gauss_seidel", rtol=1e-10)
    world.add_fixed(HalfSpace([0, 1]), material=Material(0.3))
    for k in range(2):
        world.add_body(Disc(0.5), [2 * k, 0.5 + 0.02 * k], mass=1.0)
    world.run(12, file=tmp_path / "run.h5", every=4)
    with cs.dynamics.Recording(tmp_path / "run.h5") as recording:
        plot = widget(recording, contacts="forces")
        counts = [int((frame.contacts.impulses[:, 0] > 0).sum()) for frame in recording]
        assert counts[0] == 0
        assert counts[-1] == 2
        chain = chain_of(plot)
        for frame, values in zip(recording, chain.attribute.values(), strict=True):
            seen = np.unique(values[values > 0])
            wanted = frame.contacts.impulses[:, 0]
            np.testing.assert_allclose(seen, np.unique(wanted[wanted > 0].astype(np.float32)))
        assert {len(one) for one in chain.vertices.values()} == {24}
        # Contacts of different times are not interpolated.
        assert getattr(plot, "time_interpolation", False) is False
        points = of_kind(widget(recording, contacts="points"), "Points")[-1]
        assert [int((one > 0).sum()) for one in points.point_sizes.values()] == [
            len(frame.contacts.gaps) for frame in recording
        ]


def test_a_run_without_impulses_has_a_widget_without_forces(tmp_path):
    pytest.importorskip("h5py")
    world = World(time_step=0.01)
    world.add_body(Sphere(0.5), mass=1.0)
    world.run(4, file=tmp_path / "run.h5")
    with cs.dynamics.Recording(tmp_path / "run.h5") as recording:
        plot = widget(recording, contacts="forces")
    assert [one.type for one in plot.objects] == ["Points"]


def test_colours_of_speeds_are_values_at_all_times():
    world = falling()
    record = world.run(20, POSES, every=10)
    plot = widget(world, record, color="speed")
    (balls,) = of_kind(plot, "Points")
    speeds = np.linalg.norm(record["velocities"][..., :3], axis=2)
    for row, values in enumerate(balls.attribute.values()):
        np.testing.assert_allclose(values, speeds[row, :1], rtol=1e-6)
    assert balls.color_range == pytest.approx([0, speeds.max()])
    assert [one.text for one in of_kind(plot, "Text2d")] == ["speed [m/s]"]


def test_bodies_that_are_absent_at_a_time_have_no_size(tmp_path):
    pytest.importorskip("h5py")
    world = falling()

    def change(world):
        if world.steps == 2:
            world.remove(0)
            world.add_body(Sphere(0.1), [5, 0, 0], density=1.0)

    world.run(4, file=tmp_path / "run.h5", callback=change)
    with cs.dynamics.Recording(tmp_path / "run.h5") as recording:
        (balls,) = of_kind(widget(recording), "Points")
    sizes = np.array(list(balls.point_sizes.values()))
    np.testing.assert_allclose(
        sizes, np.outer([1, 1, 0, 0, 0], [0.4, 0]) + np.outer([0, 0, 1, 1, 1], [0, 0.2])
    )
    assert all(np.isfinite(one).all() for one in balls.positions.values())


def test_joints_are_seen_within_their_bodies():
    world = World()
    first, second = (world.add_body(Box([0.4, 0.1, 0.1]), [x, 0, 0], density=1.0) for x in (0, 1))
    world.joints.hinge(first, second, [0.5, 0, 0], [0, 1, 0])
    plot = widget(world)
    (dots,) = of_kind(plot, "Points")
    np.testing.assert_allclose(dots.positions, [[0.5, 0, 0]] * 2, atol=1e-6)
    (lines,) = of_kind(plot, "Lines")
    axis = lines.vertices[lines.indices[-1]]
    np.testing.assert_allclose(np.ptp(axis, axis=0)[[0, 2]], 0, atol=1e-6)
    assert np.ptp(axis[:, 1]) > 0.1
    assert of_kind(plot, "Mesh")[0].opacity < 1
    assert not of_kind(widget(world, joints=False), "Points")


def test_the_camera_sees_the_box():
    plot = widget(stacked())
    eye, target, up = np.reshape(plot.camera, (3, 3))
    np.testing.assert_allclose(target, [0, 1.5, 0], atol=1e-6)
    assert eye[2] > 3
    np.testing.assert_allclose(up, [0, 1, 0], atol=1e-12)


def test_wrong_arguments():
    world = falling()
    record = world.run(2, POSES)
    for options, error, text in (
        ({"contacts": "lines"}, ValueError, "contacts is 'lines': None, 'points', 'forces', 'arr"),
        (
            {"contacts": "forces", "record": record},
            TypeError,
            "a record has poses, and no contacts",
        ),
        ({"opacity": 0}, ValueError, "opacity is 0"),
        ({"height": 3}, ValueError, "height is 3"),
        ({"color": "specd"}, ValueError, "color is 'specd'"),
        ({"record": record, "rows": [7]}, ValueError, r"rows\[0\] is 7"),
        ({"record": world.run(1)}, ValueError, "no column 'positions'"),
        ({"view": "back"}, ValueError, "view is 'back'"),
        ({"window": [1, 2]}, ValueError, r"window is \[1, 2\]: two corners of 3 numbers"),
        ({"record": record, "window": [1, 2]}, ValueError, r"window is \[1, 2\]: two corners"),
        ({"color": "speed", "limits": (1,)}, ValueError, r"limits is \(1,\): two numbers"),
    ):
        with pytest.raises(error, match=text):
            widget(world, **options)
    with pytest.raises(TypeError, match="world is 3"):
        widget(3)


def test_without_k3d_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "k3d", None)
    with pytest.raises(ImportError, match=r"contactsolve\[widget\]"):
        cs.plots.scene_widget(falling())
