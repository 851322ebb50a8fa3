"""`plots.cloth`, `plots.cloth_motion`, `plots.cloth_widget`: what is seen, and what is refused."""

import sys

import matplotlib as mpl
import numpy as np
import pytest

import contactsolve as cs

mpl.use("Agg")  # before pyplot looks for a display

from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from contactsolve.plots._raster import rasterize

ABOVE = {"view": "top", "pixels": 60}


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(autouse=True)
def no_figure_left():
    yield
    plt.close("all")


@pytest.fixture
def cloth():
    """A sheet of 20 cm, 1 cm above a plate of 40 cm."""
    sheet, faces = cs.cloth.sheet(3, 3, 0.2)
    plate, cells = cs.cloth.sheet(2, 2, 0.4)
    obstacle = cs.cloth.Obstacle(plate - [0.1, 0.1, 0.01], cells)
    collisions = cs.cloth.Collisions(1e-3, mu=0.2)
    return cs.cloth.Cloth(
        sheet, faces, density=0.2, young=50.0, collisions=collisions, obstacles=[obstacle]
    )


@pytest.fixture
def recorded(cloth, tmp_path):
    pytest.importorskip("h5py")
    pytest.importorskip("scipy.sparse")
    cloth.run(0.02, 5e-3, record=tmp_path / "run.vtkhdf")
    with cs.cloth.Recording(tmp_path / "run.vtkhdf") as recording:
        yield cloth, recording


def hue(color):
    """A colour without its brightness."""
    rgb = np.asarray(color)[..., :3]
    return rgb / np.linalg.norm(rgb, axis=-1, keepdims=True)


# ---- the depth buffer ----------------------------------------------------------------------------


def test_nearest_triangle_of_each_pixel_as_one_by_one():
    rng = np.random.default_rng(3)
    corners, depth = rng.uniform(-3, 18, (40, 3, 2)), rng.normal(size=(40, 3))
    raster = rasterize(corners, depth, (15, 12))
    for row, column in np.ndindex(12, 15):
        point = np.array([column + 0.5, 12 - row - 0.5])
        seen = {}
        for k, (a, b, c) in enumerate(corners):
            w = np.array([*point, 1.0]) @ np.linalg.inv([[*a, 1.0], [*b, 1.0], [*c, 1.0]])
            if (w >= 0).all():
                seen[k] = w @ depth[k]
        wanted = max(seen, key=seen.get) if seen else -1
        assert raster.face[row, column] == wanted
        if wanted >= 0:
            z = raster.weights[row, column] @ depth[wanted]
            assert z == pytest.approx(seen[wanted], abs=1e-9)


def test_triangles_without_area_or_outside_are_not_seen():
    flat = np.array([[[0.0, 0], [5, 5], [10, 10]], [[50, 50], [60, 50], [50, 60]]])
    assert (rasterize(flat, np.zeros((2, 3)), (20, 20)).face == -1).all()
    assert (rasterize(flat[:0], np.zeros((0, 3)), (4, 5)).face == np.full((5, 4), -1)).all()


# ---- pictures ------------------------------------------------------------------------------------


def test_cloth_hides_what_is_behind_it(cloth, ax):
    cs.plots.cloth(cloth, color="red", obstacle_color="blue", ax=ax, **ABOVE)
    image = ax.images[0].get_array()
    left, right, low, high = ax.images[0].get_extent()
    middle = image[image.shape[0] // 2, image.shape[1] // 2]
    np.testing.assert_allclose(hue(middle), to_rgb("red"), atol=1e-9)
    corner = image[image.shape[0] // 8, image.shape[1] // 8]
    np.testing.assert_allclose(hue(corner), to_rgb("blue"), atol=1e-9)
    assert right - left == pytest.approx(0.4, rel=0.1)
    assert high - low == pytest.approx(0.4, rel=0.1)

    # The sheet takes a quarter of the plate's area, and nothing is beside the plate.
    covered = image[..., 3] > 0.99
    red = covered & (image[..., 0] > image[..., 2])
    assert red.sum() == pytest.approx(covered.sum() / 4, rel=0.1)
    assert image[0, 0, 3] == 0


def test_obstacle_hides_the_cloth_from_below_and_can_be_left_out(cloth, ax):
    cs.plots.cloth(cloth, color="red", obstacle_color="blue", view=(-90, 0), pixels=60, ax=ax)
    image = ax.images[0].get_array()
    assert not (image[..., 0] > image[..., 2]).any()
    ax.clear()
    cs.plots.cloth(cloth, color="red", obstacle_color=None, view=(-90, 0), pixels=60, ax=ax)
    below = ax.images[0].get_array()
    cs.plots.cloth(cloth, color="red", obstacle_color=None, ax=ax, **ABOVE)
    above = ax.images[1].get_array()
    assert below[..., 0].max() < above[..., 0].max()  # the wrong side is darker


def test_parts_have_colours(cloth, ax):
    cs.plots.cloth(cloth, obstacle_color=None, ax=ax, **ABOVE)
    image = ax.images[0].get_array()
    seen = np.unique((40 * hue(image[image[..., 3] > 0.99])).round(), axis=0)
    assert len(seen) > 8
    ax.clear()
    green = np.tile([0.0, 1.0, 0.0], (9, 1))
    cs.plots.cloth(cloth, color=green, obstacle_color=None, ax=ax, **ABOVE)
    image = ax.images[0].get_array()
    np.testing.assert_allclose(hue(image[30, 30]), [0, 1, 0], atol=1e-9)


def test_positions_time_and_window_are_what_is_asked_for(cloth, ax):
    window = [[-1, -1, -1], [1, 1, 1]]
    moved = cloth.positions + np.array([0.6, 0.0, 0.0])
    cs.plots.cloth(cloth, positions=moved, color="red", window=window, ax=ax, **ABOVE)
    image = ax.images[0].get_array()
    height, width = image.shape[:2]
    red = (image[..., 3] > 0.9) & (image[..., 0] > 2 * image[..., 2])
    assert red[:, width // 2 :].any()
    assert not red[:, : width // 2].any()
    assert height == pytest.approx(width, abs=1)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"positions": np.zeros((3, 3))}, ValueError, r"positions has shape \(3, 3\)"),
        ({"color": np.zeros((9, 2))}, ValueError, r"color has shape \(9, 2\)"),
        ({"color": np.full((9, 3), 2.0)}, ValueError, "from 0 to 1"),
        ({"window": [[0, 0, 0], [1, 1, 0]]}, ValueError, "window is"),
        ({"view": "below"}, ValueError, "view is 'below'"),
        ({"pixels": 3}, ValueError, "pixels is 3"),
    ],
)
def test_wrong_arguments(cloth, ax, options, error, text):
    with pytest.raises(error, match=text):
        cs.plots.cloth(cloth, ax=ax, **options)
    with pytest.raises(TypeError, match="a Cloth is needed"):
        cs.plots.cloth("dress")


# ---- animations ----------------------------------------------------------------------------------


def test_a_film_has_the_frames_that_are_asked_for(recorded, tmp_path):
    image = pytest.importorskip("PIL.Image")
    cloth, recording = recorded
    cs.plots.cloth_motion(cloth, recording, 3, speed=0.1, pixels=80).save(tmp_path / "film.gif")
    with image.open(tmp_path / "film.gif") as film:
        assert film.n_frames == 3
        assert film.info["duration"] == 100


def test_wrong_films(recorded):
    cloth, recording = recorded
    with pytest.raises(ValueError, match="speed is 0"):
        cs.plots.cloth_motion(cloth, recording, speed=0)
    with pytest.raises(TypeError, match="time is no option"):
        cs.plots.cloth_motion(cloth, recording, time=1.0)
    other = cs.cloth.Cloth(*cs.cloth.sheet(4, 4, 1.0), density=0.2, young=50.0)
    with pytest.raises(ValueError, match="other faces"):
        cs.plots.cloth_motion(other, recording)
    with pytest.raises(ValueError, match=r"rows\[0\] is 9"):
        cs.plots.cloth_motion(cloth, recording, [9])


# ---- widgets -------------------------------------------------------------------------------------


def test_without_k3d_the_extra_is_named(cloth, monkeypatch):
    monkeypatch.setitem(sys.modules, "k3d", None)
    with pytest.raises(ImportError, match=r"contactsolve\[widget\]"):
        cs.plots.cloth_widget(cloth)


def test_a_widget_has_the_surfaces_and_all_frames(recorded):
    pytest.importorskip("k3d")
    cloth, recording = recorded
    sheet, plate = cs.plots.cloth_widget(cloth, recording, color="red").objects
    assert sheet.indices.shape == (8, 3)
    assert set(sheet.colors) == {0xFF0000}
    assert len(sheet.vertices) == len(plate.vertices) == len(recording)
    last = sheet.vertices[f"{recording.times[-1]:.6g}"]
    np.testing.assert_allclose(last, recording[-1].positions, rtol=1e-6, atol=1e-7)
    (still, _) = cs.plots.cloth_widget(cloth).objects
    assert still.vertices.shape == (9, 3)
