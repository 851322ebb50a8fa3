"""Recordings of a cloth that are damaged, and those of runs that are interrupted."""

import errno
import os
import re
import shutil
import signal
import warnings

import h5py
import numpy as np
import pytest

from contactsolve.cloth import Cloth, Recording, _recorder
from contactsolve.io import _growing
from interruption import alarm, interrupt
from recorded_cloths import PATH, H, all_arrays, go_on, hanging, state
from recorded_runs import FULL_DISK, kill, of_damaged, start


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.vtkhdf"


# ---- damage --------------------------------------------------------------------------------------


def test_a_damaged_frame_is_named_and_others_are_read(path):
    cloth = hanging()
    cloth.run(12 * H, H, record=path)
    n = len(cloth.masses)
    with h5py.File(path, "r+") as file:
        file["VTKHDF/Points"][n * 3 + 5, 1] += 1e-9
        file["VTKHDF/PointData/velocity"][n * 5, 2] = np.nan
        file["VTKHDF/Steps/Values"][7] += 1e-9
        file["VTKHDF/Steps/PointOffsets"][9] = 2**40
        file["VTKHDF/Steps/PointDataOffsets/velocity"][10] = 0
        file["frames/numbers"][11, 1] += 1
    for frame, why in [
        *((frame, "its hash is another one") for frame in (3, 5, 7, 11)),
        (9, rf"/VTKHDF/Steps/PointOffsets is {2**40}: expected {9 * n}"),
        (10, rf"/VTKHDF/Steps/PointDataOffsets/velocity is 0: expected {10 * n}"),
    ]:
        told = rf"{PATH}: frame {frame} \(step {frame}\) is damaged: {why}"
        with pytest.raises(ValueError, match=told):
            Cloth.load(path, frame)
    for frame in (0, 1, 2, 4, 6, 8, 12):
        assert Cloth.load(path, frame).info["steps"] == frame


@pytest.mark.parametrize(
    "name", ["cloth/vertices", "cloth/rest", "cloth/attach", "cloth/forces", "cloth/partition"]
)
def test_damage_to_what_the_cloth_was_made_of_is_told(name, path):
    all_arrays().run(H, H, record=path)
    with h5py.File(path, "r+") as file:
        file[name][1] += 1
    with pytest.raises(ValueError, match=rf"{PATH}: /cloth or .* is damaged: the hash"):
        Cloth.load(path)
    with h5py.File(path, "r+") as file:
        file[name][1] -= 1
        del file[name]
    with pytest.raises(ValueError, match=rf"{PATH}: (/cloth or .* is damaged|the dataset /{name})"):
        Cloth.load(path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda file: file["VTKHDF/Polygons/Connectivity"].write_direct(np.zeros(180, int)),
            "Poly",
        ),
        (lambda file: file["VTKHDF/Steps"].attrs.modify("NSteps", 99), "no rows 0 to 99"),
        (
            lambda file: file["VTKHDF/Steps"].attrs.create("NSteps", np.bytes_("three")),
            "'NSteps' .* is 'three'",
        ),
        (lambda file: file["VTKHDF/Steps"].attrs.pop("NSteps"), "'NSteps' .* is None"),
        (lambda file: file["VTKHDF/Steps"].attrs.modify("NSteps", -1), "'NSteps' .* is .*-1"),
        (lambda file: file.pop("frames/hash"), "/frames/hash is missing"),
        (lambda file: file.pop("VTKHDF/Steps"), "'NSteps'"),
        (lambda file: file.move("frames/hash", "frames/numbers2"), "/frames/hash is missing"),
        (lambda file: file.attrs.modify("version", 9), "has version 9"),
        (lambda file: file.attrs.create("kind", np.bytes_("sheet")), "'kind' of / is 'sheet'"),
    ],
)
def test_damage_to_the_structure_is_told(change, told, path):
    hanging().run(2 * H, H, record=path)
    with h5py.File(path, "r+") as file:
        change(file)
    with pytest.raises(ValueError, match=rf"{PATH}: .*{told}"):
        Cloth.load(path)


def test_a_truncated_file_is_an_error(path):
    hanging().run(10 * H, H, record=path)
    whole = path.read_bytes()
    for part in (0.02, 0.3, 0.9):
        path.write_bytes(whole[: int(part * len(whole))])
        with pytest.raises(ValueError, match=PATH):
            Cloth.load(path)


# ---- runs that are interrupted -------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer signals")
@pytest.mark.parametrize("after", [0.01, 0.1, 0.3])
def test_ctrl_c_ends_a_run_after_a_whole_step(after, path):
    cloth = hanging(20)

    def begin(one):
        if one.info["steps"] == 2:
            signal.setitimer(signal.ITIMER_REAL, after)

    cloth.run(H, H)
    with alarm(interrupt, after=60), pytest.raises(KeyboardInterrupt):
        cloth.run(10**4, H, every=3, record=path, callback=begin)
    steps, other = cloth.info["steps"], Cloth.load(path)
    assert state(other) == state(cloth)
    assert go_on(other, 3) == go_on(cloth, 3)
    with Recording(path) as recording:
        assert len(list(recording)) == len(recording) > 1
        *others, last = recording.steps.tolist()
        assert others == list(range(1, last, 3))
        assert last == steps
    assert os.listdir(path.parent) == ["run.vtkhdf"]


def test_an_interruption_of_the_last_write_loses_no_frame(path, monkeypatch):
    monkeypatch.setattr(_growing, "_SHARE", 0)  # frames wait until the end
    write, calls = _recorder.Recorder._write, []

    def interrupted(self):
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        write(self)

    monkeypatch.setattr(_recorder.Recorder, "_write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        hanging().run(5 * H, H, record=path)
    with Recording(path) as recording:
        assert recording.steps.tolist() == list(range(6))
        assert len(list(recording)) == 6


@pytest.mark.parametrize("at", range(15))
def test_an_interruption_between_two_tables_loses_no_frame(at, path, monkeypatch):
    monkeypatch.setattr(_growing, "_SHARE", 1e9)  # each frame is written at once
    write, calls = _growing.Table.write, []

    def interrupted(self, rows, end):
        calls.append(self.name)
        if len(calls) == 2 * 11 + at:  # some frames are there
            raise KeyboardInterrupt
        write(self, rows, end)

    monkeypatch.setattr(_growing.Table, "write", interrupted)
    cloth = hanging()
    with pytest.raises(KeyboardInterrupt):
        cloth.run(50 * H, H, record=path)
    with Recording(path) as recording:
        assert len(list(recording)) == len(recording) >= 2
        assert recording.steps.tolist() == list(range(len(recording)))
    assert state(Cloth.load(path)) == state(cloth)


def test_an_interruption_of_the_first_frame_leaves_nothing(path, monkeypatch):
    def interrupted(self, rows, end):
        raise KeyboardInterrupt

    monkeypatch.setattr(_growing.Table, "write", interrupted)
    cloth = hanging()
    with pytest.raises(KeyboardInterrupt):
        cloth.run(5 * H, H, record=path)
    assert cloth.info["steps"] == 0
    assert os.listdir(path.parent) == []


def check_repaired(path):
    """Other programs open a repaired file, and find as many times as steps."""
    Recording.repair(path)
    with h5py.File(path) as file:
        steps = file["VTKHDF/Steps"]
        assert len(steps["Values"]) == steps.attrs["NSteps"] == frames_of(path)
        assert len(file["VTKHDF/Points"]) >= len(steps["Values"]) * file["VTKHDF/NumberOfPoints"][0]


def test_a_frame_counts_only_when_it_is_whole(path, tmp_path, monkeypatch):
    # Whichever write is the last before the process is killed, readers find whole frames.
    copy = tmp_path / "copy.vtkhdf"
    monkeypatch.setattr(_growing, "_SHARE", 1e9)  # each frame is written at once
    write, found = _growing.Table.write, []

    def look(self, rows, end):
        write(self, rows, end)
        if path.exists():
            with Recording(path) as recording:
                found.append((len(recording), len(list(recording)), recording.steps.tolist()))
            shutil.copy(path, copy)
            check_repaired(copy)
            assert Cloth.load(copy).info["steps"] == found[-1][0] - 1

    monkeypatch.setattr(_growing.Table, "write", look)
    hanging().run(4 * H, H, record=path)
    assert len(found) == 4 * 11 + 3  # and one solver
    for count, read, steps in found:
        assert count == read == len(steps)
        assert steps == list(range(count))


@pytest.mark.parametrize("frames", [0, 3])
def test_an_error_before_a_frame_counts_leaves_a_whole_file(frames, path, monkeypatch):
    monkeypatch.setattr(_growing, "_SHARE", 1e9)  # each frame is written at once
    count = _recorder.Recorder._count

    def fail(self, number):
        if number > frames:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        count(self, number)

    monkeypatch.setattr(_recorder.Recorder, "_count", fail)
    cloth = hanging()
    with pytest.raises(OSError, match=rf"{PATH}: frame {frames} cannot be written: Input/output"):
        cloth.run(9 * H, H, record=path)
    assert cloth.info["steps"] == frames
    if frames == 0:
        assert os.listdir(path.parent) == []
        return
    with h5py.File(path) as file:
        steps = file["VTKHDF/Steps"]
        assert len(steps["Values"]) == steps.attrs["NSteps"] == frames
    assert go_on(Cloth.load(path), 1) == state(cloth)


def test_an_error_in_the_callback_loses_nothing(path):
    def fail(one):
        if one.info["steps"] == 7:
            raise RuntimeError("of the callback")

    with pytest.raises(RuntimeError, match="of the callback"):
        hanging().run(1.0, H, every=5, record=path, callback=fail)
    with Recording(path) as recording:
        assert recording.steps.tolist() == [0, 5, 7]


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="no reservation of room on disks")
def test_a_disk_that_is_full_at_once_leaves_nothing(path, monkeypatch):
    def refuse(descriptor, offset, length):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with pytest.raises(OSError, match=rf"{PATH}: frame 0 cannot be written: No space left"):
        hanging().run(5 * H, H, record=path)
    assert os.listdir(path.parent) == []


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="no reservation of room on disks")
@pytest.mark.parametrize("size", [20_000, 2**20 + 10_000, 2**20 + 200_000])
def test_a_disk_with_no_room_for_the_first_frame_leaves_nothing(size, path):
    resource = pytest.importorskip("resource")
    cloth, limits = hanging(40), resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        with pytest.raises(OSError, match=rf"{PATH}: frame 0 cannot be written: File too large"):
            cloth.run(H, H, record=path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert os.listdir(path.parent) == []
    assert cloth.info["steps"] == 0


RUN = """
    import sys, warnings
    sys.path.insert(0, sys.argv[2])
    from recorded_cloths import H, hanging
    warnings.simplefilter("ignore")
    hanging(20).run(10**6, H, record=sys.argv[1])
"""


def killed(path, after=0.0):
    """Kill a process so many seconds after its file has some frames."""
    kill(start(path, RUN), lambda: frames_of(path), after)


def frames_of(path):
    if not path.exists():
        return 0
    with Recording(path) as recording:
        return len(recording)


def check_killed(path):
    """Every frame of the file is whole, and the last goes on as a cloth that never stopped."""
    with Recording(path) as recording:
        count = len(recording)
        assert recording.steps.tolist() == list(range(count))
        assert len(list(recording)) == count
    cloth = hanging(20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        assert go_on(Cloth.load(path, 0), count - 1) == state(Cloth.load(path))
        go_on(cloth, count - 1)
        assert state(Cloth.load(path)) == state(cloth)
        assert go_on(Cloth.load(path), 3) == go_on(cloth, 3)
    return count


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9")
def test_a_killed_run_leaves_a_readable_file(path):
    killed(path, np.random.default_rng().uniform(0, 0.2))
    count = check_killed(path)
    assert count >= 5
    for _ in range(2):
        check_repaired(path)
        assert frames_of(path) == count
    assert check_killed(path) == count


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9")
def test_a_run_may_be_killed_at_any_moment(tmp_path):
    rng = np.random.default_rng()
    for i, after in enumerate(rng.uniform(0, 0.5, 8).tolist()):
        path = tmp_path / f"{i}.vtkhdf"
        killed(path, after)
        check_killed(path)


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="no reservation of room on disks")
def test_a_full_disk_is_told_and_the_file_stays_readable(path):
    _, errors = (process := start(path, FULL_DISK, RUN)).communicate()
    assert process.returncode == 1, errors
    last = errors.strip().splitlines()[-1]
    told = re.search(rf"OSError.*{PATH}: frame (\d+) cannot be written: File too large", last)
    assert told, last
    # How many frames are in the file for readers depends on the clock.
    assert 1 <= check_killed(path) <= int(told[1])
    assert os.listdir(path.parent) == ["run.vtkhdf"]

    # The file was closed: other programs open it.
    with h5py.File(path) as file:
        assert file["VTKHDF/Steps"].attrs["NSteps"] == frames_of(path)


def test_damage_to_a_file_that_was_not_closed_is_an_error_or_does_no_harm(path, tmp_path):
    killed(path)
    with Recording(path) as recording:
        last, wanted = len(recording) - 1, recording[-1].velocities.tobytes()
    damaged = tmp_path / "damaged.vtkhdf"
    answers = of_damaged(path, damaged, lambda: Cloth.load(damaged, last).velocities.tobytes())
    refused = [answer for answer in answers if answer != wanted]
    assert refused
    assert all("damaged.vtkhdf" in answer for answer in refused)
