"""`plots.film`: frames, durations, formats, and what a film that fails leaves."""

import os
import stat
import sys

import matplotlib as mpl
import numpy as np
import pytest

import contactsolve as cs

mpl.use("Agg")  # before pyplot looks for a display

from contactsolve.dynamics import Disc, HalfSpace, World
from contactsolve.plots._frames import WorldFrames

POSES = ("time", "positions", "orientations")


@pytest.fixture
def run():
    """A disc rolls for 0.4 s; every 0.02 s is a row."""
    world = World(2, time_step=0.01)
    world.add_fixed(HalfSpace([0, 1]))
    world.add_body(Disc(0.5), [0, 0.5], mass=1.0, velocity=[2, 0, -4])
    world.run(40, POSES, every=2)
    return world


def frames_of(path):
    """The pixels and the durations [ms] of a GIF."""
    image = pytest.importorskip("PIL.Image")
    pixels, durations = [], []
    with image.open(path) as film:
        for k in range(film.n_frames):
            film.seek(k)
            pixels.append(np.asarray(film.convert("RGB")).astype(int))
            durations.append(film.info["duration"])
    return pixels, durations


@pytest.mark.parametrize(
    ("options", "frames", "duration"),
    [
        ({}, 11, 11 * 40),  # 0.4 s at 25 frames a second, and the last row
        ({"speed": 0.5, "frame_rate": 10}, 9, 900),
        ({"every": 4, "frame_rate": 20}, 6, 300),
        ({"every": 10, "frame_rate": 30}, 3, 90),  # the nearest rate of a GIF is 100/3
        ({"speed": 0.1, "frame_rate": 10}, 21, 41 * 100),  # rows are shown for several frames
    ],
)
def test_a_gif_has_its_frames_and_lasts_as_long_as_it_should(
    run, tmp_path, options, frames, duration
):
    path = cs.plots.film(run, tmp_path / "film.GIF", size=(100, 80), **options)
    assert path == tmp_path / "film.GIF"
    pixels, durations = frames_of(path)
    assert len(pixels) == frames
    assert sum(durations) == duration
    assert pixels[0].shape == (80, 100, 3)


def test_frames_show_the_rows_of_the_record(run, tmp_path):
    """The centre of the disc's pixels moves as the record tells."""
    path = cs.plots.film(run, tmp_path / "film.gif", every=5, size=(300, 100), color="#ff0000")
    pixels, _ = frames_of(path)
    red = [(one[..., 0] > 180) & (one[..., 1] < 60) for one in pixels]
    places = np.array([np.mean(np.nonzero(one)[1]) for one in red])
    moved = run.record["positions"][::5, 0, 0]
    assert len(places) == len(moved) == 5
    slope = np.polyfit(moved, places, 1)
    np.testing.assert_allclose(np.polyval(slope, moved), places, atol=0.5)
    assert slope[0] > 50


def test_axes_stay_at_their_place_and_a_scale_of_colours_is_drawn_once(run, tmp_path):
    run.run(20, (*POSES, "velocities"), every=5)
    path = cs.plots.film(run, tmp_path / "film.gif", every=1, color="speed")
    pixels, _ = frames_of(path)
    assert pixels[0].shape[1] == 640
    right = [one[40:, 560:] for one in pixels]  # the bar
    assert np.ptp(right[0]) > 100
    # Each frame has its own 256 colours.
    assert all((abs(one - right[0]).max(axis=2) < 48).mean() > 0.99 for one in right)


def test_a_recording_is_a_film_with_contacts_by_itself(tmp_path):
    pytest.importorskip("h5py")
    world = World(2, time_step=0.01)
    world.add_fixed(HalfSpace([0, 1]))
    world.add_body(Disc(0.5), [0, 0.5], mass=1.0)
    world.run(4, file=tmp_path / "run.h5")
    with cs.dynamics.Recording(tmp_path / "run.h5") as recording:
        path = cs.plots.film(recording, tmp_path / "film.gif", contacts="forces", size=(200, 160))
    (first, *_), durations = frames_of(path)
    assert sum(durations) == 80  # 0.04 s: two frames
    dark = (first.max(axis=2) < 110) & (first[..., 0] > first[..., 1] + 20)
    assert dark.sum() > 20  # the chain from the centre to the ground


def test_a_film_of_a_cloth_and_its_progress(tmp_path, capsys):
    pytest.importorskip("h5py")
    pytest.importorskip("tqdm")
    vertices, faces = cs.cloth.sheet(3, 3, 0.2)
    cloth = cs.cloth.Cloth(vertices, faces, density=0.2, young=50.0)
    cloth.run(0.02, 5e-3, record=tmp_path / "run.vtkhdf")
    with cs.cloth.Recording(tmp_path / "run.vtkhdf") as recording:
        with pytest.raises(TypeError, match=r"a film of a cloth needs its cloth\.Recording"):
            cs.plots.film(cloth, tmp_path / "film.gif")
        options = {"every": 2, "frame_rate": 5, "pixels": 60, "size": (100, 120)}
        path = cs.plots.film(cloth, tmp_path / "film.gif", recording, progress=True, **options)
    pixels, durations = frames_of(path)
    assert durations == [200, 200, 200]
    assert pixels[0].shape == (120, 100, 3)
    assert "frame" in capsys.readouterr().err


# ---- what fails ----------------------------------------------------------------------------------


def leftovers(folder):
    return sorted(one.name for one in folder.iterdir())


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_film_that_fails_leaves_the_old_one(run, tmp_path, monkeypatch, error):
    path = tmp_path / "film.gif"
    path.write_bytes(b"old")
    made = []

    def fail(self, figure, repeats):
        made.append(repeats)
        if len(made) == 2:
            raise error("stop")

    writer = sys.modules["contactsolve.plots.film"]._GifWriter
    monkeypatch.setattr(writer, "add", fail)
    with pytest.raises(error):
        cs.plots.film(run, path)
    assert path.read_bytes() == b"old"
    assert leftovers(tmp_path) == ["film.gif"]


@pytest.mark.parametrize(
    ("name", "options", "error", "text"),
    [
        ("film.avi", {}, ValueError, r"film.avi.: a name that ends in .gif or .mp4 is needed"),
        ("film", {}, ValueError, "a name that ends in"),
        ("a/film.gif", {}, FileNotFoundError, "the folder of .*film.gif does not exist"),
        ("film.gif", {"frame_rate": 0}, ValueError, "frame_rate is 0: 0.1 to 100 are possible"),
        ("film.gif", {"size": (10, 100)}, ValueError, r"size is \(10, 100\): width and height"),
        ("film.gif", {"every": 0}, ValueError, "every is 0: it must be at least 1"),
        ("film.gif", {"every": 2, "speed": 1}, TypeError, "speed is given: with every="),
        ("film.gif", {"speed": -1}, ValueError, "speed is -1: a positive number"),
        ("film.gif", {"contacts": "lines"}, ValueError, "contacts is 'lines'"),
        ("film.gif", {"contacts": "forces"}, TypeError, "a record has poses, and no contacts"),
        ("film.gif", {"colour": "red"}, TypeError, "colour"),
        ("film.gif", {"frame_rate": "fast"}, TypeError, "frame_rate is 'fast': a number"),
        ("film.gif", {"speed": "fast"}, TypeError, "speed is 'fast': a number"),
        ("film.gif", {"speed": float("nan")}, ValueError, "speed is nan: a positive number"),
        ("film.gif", {"speed": 1e-9}, ValueError, r"speed is 1e-09: .* a row for 2e\+07 s"),
        ("film.gif", {"ax": 3}, TypeError, "ax is no option of a film"),
        ("film.gif", {"rows": 3}, TypeError, "rows is no option of a film: every= chooses them"),
        ("film.gif", {"window": [0, 1]}, ValueError, r"window is \[0, 1\]: two corners of 2"),
    ],
)
def test_wrong_arguments(run, tmp_path, name, options, error, text):
    with pytest.raises(error, match=text):
        cs.plots.film(run, tmp_path / name, **options)
    assert leftovers(tmp_path) == []


def test_a_film_that_cannot_be_written_fails_before_it_is_drawn(run, tmp_path, monkeypatch):
    monkeypatch.setattr(WorldFrames, "draw", lambda *given, **options: pytest.fail("drawn"))
    (tmp_path / "film.gif").mkdir()
    with pytest.raises(IsADirectoryError, match=r"film\.gif is a folder: the name of a file"):
        cs.plots.film(run, tmp_path / "film.gif")

    def refuse(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(tmp_path), "touch", refuse)
    with pytest.raises(PermissionError, match=r"other\.gif cannot be written: Permission denied"):
        cs.plots.film(run, tmp_path / "other.gif")
    assert leftovers(tmp_path) == ["film.gif"]


@pytest.mark.parametrize("kind", ["forces", "arrows", "points"])
def test_a_run_without_impulses_has_no_forces_to_draw(tmp_path, kind):
    pytest.importorskip("h5py")
    world = World(2, time_step=0.01)
    world.add_body(Disc(0.5), mass=1.0)
    world.run(4, file=tmp_path / "run.h5")
    with cs.dynamics.Recording(tmp_path / "run.h5") as recording:
        path = cs.plots.film(recording, tmp_path / "film.gif", contacts=kind, every=2)
        (ax,) = cs.plots.snapshots(world, recording, [0], contacts=kind)
    assert len(frames_of(path)[0]) == 3
    assert len(ax.figure.axes) == 1  # no scale of colours


def test_worlds_without_a_run_and_wrong_sources_are_refused(tmp_path):
    world = World(2)
    world.add_body(Disc(0.5), mass=1.0)
    with pytest.raises(ValueError, match=r"world has made no run: call world\.run"):
        cs.plots.film(world, tmp_path / "film.gif")
    with pytest.raises(TypeError, match="record is 3"):
        cs.plots.film(world, tmp_path / "film.gif", 3)
    with pytest.raises(TypeError, match="world is 'pile'"):
        cs.plots.film("pile", tmp_path / "film.gif")


# ---- MP4 -----------------------------------------------------------------------------------------

# Stands for ffmpeg: counts the bytes of the frames that it is given.
COUNTING = """#!{python}
import sys
if "-version" in sys.argv:
    sys.exit(0)
size = sys.argv[sys.argv.index("-s") + 1]
rate = sys.argv[sys.argv.index("-framerate" if "-framerate" in sys.argv else "-r") + 1]
count = len(sys.stdin.buffer.read())
with open(sys.argv[-1], "w") as file:
    file.write(f"{{size}} {{rate}} {{count}}")
"""
FAILING = """#!{python}
import sys
if "-version" in sys.argv:
    sys.exit(0)
sys.stdin.buffer.read()
print("Unknown encoder 'h264'", file=sys.stderr)
sys.exit(7)
"""


@pytest.fixture
def ffmpeg(tmp_path, monkeypatch):
    """Put a program in place of ffmpeg."""
    if os.name != "posix":
        pytest.skip("programs are scripts")

    def install(text):
        program = tmp_path / "bin" / "ffmpeg"
        program.parent.mkdir()
        program.write_text(text.format(python=sys.executable))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setitem(mpl.rcParams, "animation.ffmpeg_path", str(program))

    return install


def test_an_mp4_hands_each_frame_to_ffmpeg(run, tmp_path, ffmpeg):
    ffmpeg(COUNTING)
    path = cs.plots.film(run, tmp_path / "film.mp4", size=(200, 160), speed=0.25)
    size, rate, count = path.read_text().split()
    assert size == "200x160"
    assert float(rate) == 25
    assert int(count) == 41 * 200 * 160 * 4  # 1.6 s
    assert leftovers(tmp_path) == ["bin", "film.mp4"]


def test_the_words_of_ffmpeg_are_told_and_the_old_film_stays(run, tmp_path, ffmpeg):
    ffmpeg(FAILING)
    (tmp_path / "film.mp4").write_bytes(b"old")
    with pytest.raises(RuntimeError, match=r"ffmpeg failed \(exit status 7\): Unknown encoder"):
        cs.plots.film(run, tmp_path / "film.mp4", size=(200, 160), every=10)
    assert (tmp_path / "film.mp4").read_bytes() == b"old"
    assert leftovers(tmp_path) == ["bin", "film.mp4"]


def test_ctrl_c_ends_ffmpeg_and_leaves_the_old_film(run, tmp_path, ffmpeg, monkeypatch):
    ffmpeg(COUNTING)
    (tmp_path / "film.mp4").write_bytes(b"old")
    draw, drawn = WorldFrames.draw, []

    def stop(self, ax, number, **options):
        drawn.append(number)
        if len(drawn) == 3:
            raise KeyboardInterrupt
        draw(self, ax, number, **options)

    monkeypatch.setattr(WorldFrames, "draw", stop)
    with pytest.raises(KeyboardInterrupt):
        cs.plots.film(run, tmp_path / "film.mp4", size=(200, 160))
    assert drawn == [0, 2, 4]
    assert (tmp_path / "film.mp4").read_bytes() == b"old"
    assert leftovers(tmp_path) == ["bin", "film.mp4"]


def test_without_ffmpeg_the_error_says_what_to_do(run, tmp_path, monkeypatch):
    monkeypatch.setitem(mpl.rcParams, "animation.ffmpeg_path", str(tmp_path / "ffmpeg"))
    with pytest.raises(RuntimeError, match=r"ffmpeg, which was not found: install it .*\.gif"):
        cs.plots.film(run, tmp_path / "film.mp4")
