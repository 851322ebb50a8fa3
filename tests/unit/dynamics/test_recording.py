"""Recordings of runs, and worlds that go on from their frames."""

import errno
import hashlib
import json
import os
import re
import signal
import warnings

import h5py
import numpy as np
import pytest

import contactsolve as cs
from contactsolve import dynamics
from contactsolve.dynamics import _layout, _recorder
from contactsolve.io import _growing
from interruption import alarm, interrupt
from recorded_runs import FULL_DISK, kill, of_damaged, start
from repository import ROOT

GROUND = dynamics.HalfSpace([0.0, 0.0, 1.0])
STEPS = 120


def pile(**options):
    """Return a world in space with bodies that fall into a corner."""
    world = dynamics.World(**{"time_step": 4e-3, "threads": 1, **options})
    rough = dynamics.Material(0.6, 0.2)
    world.add_fixed(GROUND, material=rough)
    world.add_fixed(dynamics.HalfSpace([1, 0, 0]), [-0.25, 0, 0])
    world.add_fixed(dynamics.HalfSpace([-1, 0, 0]), [0.25, 0, 0])
    rng = np.random.default_rng(5)
    places = np.array(
        [[x, y, z] for x in (-0.11, 0.11) for y in (-0.12, 0.12) for z in (0.12, 0.42)]
    )
    shapes = [dynamics.Sphere(0.1), dynamics.Box([0.08, 0.1, 0.09])] * 4
    world.add_bodies(shapes, places + rng.uniform(-0.01, 0.01, (8, 3)), density=900.0)
    world.add_body(
        [
            (dynamics.Sphere(0.05), None, None),
            (dynamics.Capsule(0.03, 0.1), [0.02, 0, 0], [1, 1, 0, 0]),
        ],
        [0, 0, 0.75],
        density=1200.0,
        material=rough,
    )
    return world


def flat(**options):
    """Return a world in the plane."""
    world = dynamics.World(2, **{"time_step": 4e-3, "threads": 1, **options})
    world.add_fixed(dynamics.HalfSpace([0.1, 1.0]))
    places = np.array([[x, y] for x in (0.0, 0.3) for y in (0.2, 0.5, 0.8)])
    shapes = [dynamics.Disc(0.1), dynamics.Polygon([[0, 0], [0.2, 0], [0.1, 0.2]])] * 3
    world.add_bodies(shapes, places, density=900.0)
    return world


def squares(**options):
    """Return a pyramid, whose contacts change their features from step to step."""
    world = dynamics.World(2, **{"time_step": 4e-3, "threads": 1, "activation": 1e-3, **options})
    world.add_fixed(dynamics.HalfSpace([0.0, 1.0]))
    places = [[0.2 * (j - 0.5 * i), 0.1 + 0.2 * (4 - i)] for i in range(5) for j in range(i + 1)]
    square = dynamics.Polygon([[-0.1, -0.1], [0.1, -0.1], [0.1, 0.1], [-0.1, 0.1]])
    world.add_bodies(square, places, density=900.0)
    return world


def events(world):
    """Change the world between steps: bodies come, go and are moved, a pair gets another law."""
    plane = world.dimension == 2
    if world.steps == 25:
        shape = dynamics.Disc(0.07) if plane else dynamics.Hull(0.1 * np.eye(4, 3))
        world.add_body(shape, [0.0, 2.0] if plane else [0, 0, 2.0], mass=0.5)
    if world.steps == 40:
        world.remove(2)
    if world.steps == 55:
        world.add_bodies(
            dynamics.Disc(0.06) if plane else dynamics.Sphere(0.06),
            [[-0.5, 2.0], [0.5, 2.0]] if plane else [[0, 0.4, 1.5], [0, -0.4, 1.5]],
            density=500.0,
            material=dynamics.Material(0.1),
        )
    if world.steps == 70 and len(world.materials) > 1:
        world.set_pair(*world.materials[:2], dynamics.Material(0.05))
    if world.steps == 80:
        world.place(1, velocity=2 * world.velocities[1])


def wind(world):
    force = np.zeros_like(world.velocities)
    force[:, 0] = 0.3 * np.sin(50 * world.time)
    return force


def state(world):
    return [
        one.tobytes()
        for one in (world.positions, world.orientations, world.velocities, *world.contacts)
    ]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.h5"


# ---- going on from frames ------------------------------------------------------------------------


@pytest.mark.threads
@pytest.mark.parametrize("stepper", ["moreau", "semi_implicit_euler"])
@pytest.mark.parametrize("scene", [pile, flat, squares])
def test_a_world_goes_on_from_any_frame_with_the_same_bits(scene, stepper, path):
    world = scene(stepper=stepper, forces=wind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # missed tolerances
        world.run(STEPS, file=path, callback=events)
    frames = np.random.default_rng(11).choice(STEPS, 4, replace=False).tolist()
    for threads, frame in zip((1, 2, 3, 1, 2), [*frames, 69], strict=True):
        other = dynamics.World.load(path, frame, forces=wind, threads=threads)
        assert other.steps == frame
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            other.run(STEPS - frame, callback=events)
        assert state(other) == state(world), (frame, threads)
        assert other.info["steps_not_converged"] == world.info["steps_not_converged"]


@pytest.mark.parametrize(("scene", "new"), [(pile, 0.05), (flat, 0.05), (squares, 0.0)])
def test_every_frame_goes_on_with_the_same_bits(scene, new, path):
    # Some steps keep the solver of the step before; a loaded world makes one.
    world, states, solvers = scene(), [], []

    def watch(one):
        events(one)
        states.append(state(one))
        solvers.append(one.info["new_solver"])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        world.run(300, file=path, callback=watch)
        assert new < np.mean(solvers) < 0.95
        for frame in range(100, 260):
            other = dynamics.World.load(path, frame)
            other.step()
            events(other)
            assert state(other) == states[frame], frame


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        *({"method": name} for name in ("jacobi", "nncg", "admm", "newton", "multilevel")),
        *({"method": name} for name in ("interior_point", "anderson", "de_saxce", "tresca")),
        {"method": "gauss_seidel", "dtype": "float32"},
        {"method": "gauss_seidel", "order": "random", "rng": 3},
        {"method": "gauss_seidel", "scheme": "matrix"},
        {"method": cs.methods.admm(over_relaxation=1.5)},
        {"method": "gauss_seidel", "r_factor": "balanced"},
        {"rtol": None, "max_iterations": 30, "method": "gauss_seidel"},
    ],
    ids=str,
)
def test_a_solver_that_is_built_anew_gives_the_bits_of_one_that_is_kept(options, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        world = pile(**options)
        world.run(250, file=path, every=10)  # it comes to rest: solvers are kept
        solvers = []
        world.run(10, callback=lambda one: solvers.append(one.info["new_solver"]))
        for frame in (3, 20, -1):
            other = dynamics.World.load(path, frame)
            other.run(260 - other.steps)
            assert state(other) == state(world)
    assert not all(solvers)


def test_frames_have_what_the_world_had(path):
    world, seen = pile(), []

    def look(one):
        events(one)
        seen.append((one.steps, state(one), one.removed.tolist()))

    world.run(60, file=path, callback=look)
    for steps, wanted, removed in seen[::7]:
        other = dynamics.World.load(path, steps)
        assert state(other) == wanted
        assert other.removed.tolist() == removed
        assert other.steps == steps
    assert other.masses.tobytes() == world.masses[: other.bodies].tobytes()
    assert other.energy() == pytest.approx(dynamics.World.load(path, steps).energy(), rel=0)


def test_materials_come_back(path):
    world = dynamics.World()
    made = [
        dynamics.Material(0.3, (0.5, 0.25)),
        dynamics.Material(),
        dynamics.Material(sets=cs.sets.rolling(0.4, 0.01), restitution=0.1),
        dynamics.Material(sets=cs.sets.contensou(0.5, 0.1)),
        dynamics.Material(sets=cs.sets.ellipse(0.3, 0.2)),
        dynamics.Material(sets=cs.sets.polygon(6)),
    ]
    for i, material in enumerate(made):
        world.add_body(dynamics.Sphere(0.1), [i, 0, 0], mass=1.0, material=material)
    world.run(0, file=path)
    for given, found in zip(made, dynamics.World.load(path).materials, strict=True):
        first, second = given.law(3), found.law(3)
        assert (*first[:2], *first[3:]) == (*second[:2], *second[3:])
        assert first[2].tobytes() == second[2].tobytes()


def test_visual_bodies_come_back(path):
    world = dynamics.World()
    world.add_fixed(dynamics.HalfSpace([0, 0, 1]))
    seen = world.add_body(
        [(dynamics.Box([0.1, 0.2, 0.3]), [0, 0, 0.5], None), (dynamics.Sphere(0.3), None, None)],
        [0, 0, 0.1], mass=2.0, visual=True,
    )  # fmt: skip
    world.add_body(dynamics.Sphere(0.1), [0, 0, 0.1], mass=1.0)
    world.run(20, file=path)
    other = dynamics.World.load(path, 10)
    other.run(10)
    assert other.positions.tobytes() == world.positions.tobytes()
    assert seen not in other.contacts.bodies
    assert other.contacts.ids.tolist() == world.contacts.ids.tolist() == [[0, 3, 0]]
    for given, found in zip(world.shapes, other.shapes, strict=True):
        assert (given.shape, given.body) == (found.shape, found.body)
        assert (given.material is None) == (found.material is None) == (given.body == seen)


def test_forces_that_are_missing_are_told(path):
    pile(forces=wind).run(2, file=path)
    with pytest.warns(RuntimeWarning, match="had a function for its forces"):
        dynamics.World.load(path)
    with pytest.raises(TypeError, match="forces is 3"):
        dynamics.World.load(path, forces=3)
    with pytest.raises(ValueError, match="threads is 0"):
        dynamics.World.load(path, forces=wind, threads=0)


# ---- reading -------------------------------------------------------------------------------------


def test_recordings_are_read_without_a_world(path):
    world = pile()
    record = world.run(60, dynamics.Record.names, every=8, problems=20, callback=events, file=path)
    with dynamics.Recording(path) as recording:
        assert repr(recording).endswith("run.h5', 9 frames)")
        assert recording.steps.tolist() == [0, 8, 16, 24, 32, 40, 48, 56, 60]
        assert recording.times.tolist() == record["time"].tolist()
        assert set(recording.columns) == set(record)
        for name in record:
            assert recording[name].dtype == record[name].dtype
            assert np.array_equal(recording[name], record[name], equal_nan=True), name

        # Frames.
        assert len(list(recording)) == len(recording) == 9
        last = recording[-1]
        assert (last.step, last.time) == (60, world.time)
        assert last.positions.tobytes() == world.positions.tobytes()
        assert [one.tobytes() for one in last.contacts] == [one.tobytes() for one in world.contacts]
        assert last.removed.tolist() == world.removed.tolist()
        with pytest.raises(IndexError, match="has 9 frames: 9 is none of them"):
            recording[9]
        with pytest.raises(TypeError, match=re.escape("frame is 1.5: an integer is needed")):
            recording[1.5]
        with pytest.raises(KeyError, match="no column 'speed'"):
            recording["speed"]

        # Problems.
        assert recording.problem_steps.tolist() == [20, 40, 60][-recording.problems :]
        for k, problem in enumerate(record.problems):
            assert recording.problem(k).J.tobytes() == problem.J.tobytes()
            assert recording.problem(k).b.tobytes() == problem.b.tobytes()
        with pytest.raises(IndexError, match="problems"):
            recording.problem(recording.problems)


def test_hashes_tell_states_apart(tmp_path):
    hashes = []
    for name, threads, speed in (("a", 1, 0.0), ("b", 2, 0.0), ("c", 1, 1e-300)):
        world = pile(threads=threads)
        world.place(0, velocity=[speed, 0, 0, 0, 0, 0])
        world.run(20, file=tmp_path / name)
        with dynamics.Recording(tmp_path / name) as recording:
            hashes.append(recording.hashes)
    assert len(set(hashes[0])) == 21
    assert hashes[0] == hashes[1]
    assert hashes[0][0] != hashes[2][0]


def test_a_file_is_readable_while_it_is_written(path):
    found = []

    def read(world):
        if world.steps % 10 == 0:
            with dynamics.Recording(path) as recording:
                found.append((len(recording), recording[-1].step))

    pile().run(40, file=path, callback=read)
    assert len(found) == 4
    for (frames, step), most in zip(found, (10, 20, 30, 40), strict=True):
        assert 1 <= frames <= most
        assert step == frames - 1


def test_files_are_replaced_only_if_asked(path):
    world = pile()
    world.run(1, file=path)
    with pytest.raises(FileExistsError, match="pass overwrite=True"):
        world.run(1, file=path)
    assert world.steps == 1
    world.run(2, file=path, overwrite=True)
    with dynamics.Recording(path) as recording:
        assert recording.steps.tolist() == [1, 2, 3]
    with pytest.raises(FileNotFoundError, match="folder"):
        world.run(1, file=path.parent / "none" / "run.h5")
    with pytest.raises(ValueError, match="holds a recording"):
        cs.load_problem(path)
    assert os.listdir(path.parent) == ["run.h5"]


def test_a_set_of_a_function_cannot_be_recorded(path):
    world = pile()
    material = dynamics.Material(sets=cs.sets.support(lambda d: np.linalg.norm(d, axis=-1)))
    world.add_body(dynamics.Sphere(0.1), [0, 3, 3], mass=1.0, material=material)
    with pytest.raises(TypeError, match="Python function"):
        world.run(1, file=path)
    assert os.listdir(path.parent) == []


def without_joints(path, old):
    """Write a recording as it was before there were joints."""
    with h5py.File(path, "r") as file, h5py.File(old, "w") as to:
        to.attrs.update(file.attrs)
        for name in set(file) - {"joints"}:
            file.copy(name, to)

        # What does not change in a recording.
        arrays = file["world/arrays"].asstr()[:].tolist()
        kept = [k for k, name in enumerate(arrays) if not name.startswith("joint_")]
        options = json.loads(file["world/options"].asstr()[()])
        del options["own"]["tension"]
        text = json.dumps(options)
        columns = [name for name in file["world/record"].asstr()[:] if name]
        digest = _layout.world_digest(text, [arrays[k] for k in kept], columns)

        # The frames.
        numbers = np.delete(file["frames/numbers"][:], 6, axis=1)
        ends = file["frames/rows"][:][:, kept]
        hashes = []
        for number, row in enumerate(numbers):
            begin = ends[number - 1] if number else np.zeros_like(ends[0])
            state = {
                arrays[k]: file[f"state/{arrays[k]}"][begin[i] : ends[number, i]]
                for i, k in enumerate(kept)
            }
            tables = [
                file[name][: numbers[number, table_of_old(table.counted)]]
                for name, table in _layout.TABLES.items()
                if table.counted != "joints"
            ]
            whole = [hashlib.blake2b(one.tobytes(), digest_size=16).digest() for one in tables]
            hashes.append(_layout.state_digest(row, state) + _layout.digest_of(whole))
        replaced = {
            "world/arrays": np.array([arrays[k] for k in kept], "S"),
            "world/options": np.bytes_(text),
            "world/hash": np.frombuffer(digest, np.uint8),
            "frames/numbers": numbers,
            "frames/rows": ends,
            "frames/hash": np.array([np.frombuffer(one, np.uint8) for one in hashes]),
        }
        for name, array in replaced.items():
            del to[name]
            to[name] = array
        for name in set(arrays) - {arrays[k] for k in kept}:
            del to[f"state/{name}"]


def table_of_old(counted):
    """Return the column of a number in frames from before there were joints."""
    return ("step", "laws", "values", "bodies", "shapes", "points").index(counted)


@pytest.mark.parametrize("scene", [pile, flat])
def test_recordings_from_before_joints_are_read(scene, path, tmp_path):
    made = scene()
    made.run(20, file=path)
    old = tmp_path / "old.h5"
    without_joints(path, old)
    with dynamics.Recording(old) as recording:
        assert recording[-1].positions.tolist() == made.positions.tolist()
    again = dynamics.World.load(old)
    assert state(again) == state(made)
    for one in (made, again):
        one.run(10)
    assert state(again) == state(made)

    # Its hashes still tell damage.
    with h5py.File(old, "r+") as file:
        file["state/position"][-1, 0] += 1.0
    with pytest.raises(ValueError, match="damaged: its hash"):
        dynamics.World.load(old)


def test_other_files_are_refused(path, tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        dynamics.World.load(path)
    path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="not an HDF5 file"):
        dynamics.World.load(path)
    cs.scenarios.box_stack(2).save(tmp_path / "problem.h5")
    with pytest.raises(ValueError, match="holds no recording"):
        dynamics.World.load(tmp_path / "problem.h5")


def test_the_documented_datasets_are_those_of_a_recording(path):
    text = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
    text = text[text.index("## A recording") : text.index("## A recording of a cloth")]
    pile().run(20, file=path, problems=10)
    found = set()
    with h5py.File(path) as file:
        file.visititems(lambda name, node: found.add(name) if hasattr(node, "dtype") else None)
    found = {re.sub(r"^(state|record)/.*", r"\1/NAME", name) for name in found}
    assert found == set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))


# ---- damage --------------------------------------------------------------------------------------


def test_a_damaged_frame_is_named_and_others_are_read(path):
    world = pile()
    world.run(20, file=path)
    with h5py.File(path, "r+") as file:
        file["state/velocity"][world.bodies * 7 + 2, 1] += 1e-9
        file["frames/rows"][12] = 2**40
    with pytest.raises(ValueError, match=r"run.h5: frame 7 \(step 7\) is damaged: its hash"):
        dynamics.World.load(path, 7)
    for frame in (12, 13):  # 13 begins where 12 ends
        with pytest.raises(ValueError, match=rf"frame {frame} \(step {frame}\) is damaged"):
            dynamics.World.load(path, frame)
    for frame in (6, 8, 11, 14, 20):
        assert dynamics.World.load(path, frame).steps == frame
    with dynamics.Recording(path) as recording, pytest.raises(ValueError, match="frame 7 "):
        recording["positions"]


@pytest.mark.parametrize(
    ("name", "index"),
    [("bodies/mass", 3), ("shapes/position", (2, 0)), ("laws/values", 0), ("shapes/body", 4)],
)
def test_damaged_bodies_are_told(name, index, path):
    pile().run(3, file=path)
    with h5py.File(path, "r+") as file:
        file[name][index] += 1
    with pytest.raises(ValueError, match=r"frame 3 \(step 3\) is damaged: the hash of its bodies"):
        dynamics.World.load(path)


def test_a_damaged_problem_is_named(path):
    world = pile()
    world.run(40, file=path, problems=20)
    with h5py.File(path, "r+") as file:
        file["problems/bytes"][5000] ^= 1
    with dynamics.Recording(path) as recording:
        with pytest.raises(ValueError, match="problem 0 is damaged"):
            recording.problem(0)
        assert recording.problem(1).contacts


def test_a_truncated_file_is_an_error(path):
    pile().run(20, file=path)
    whole = path.read_bytes()
    for part in (0.02, 0.3, 0.9):
        path.write_bytes(whole[: int(part * len(whole))])
        with pytest.raises(ValueError, match=r"run\.h5"):
            dynamics.World.load(path)


def test_damage_to_a_file_that_was_not_closed_is_an_error_or_does_no_harm(path, tmp_path):
    killed(path)
    with dynamics.Recording(path) as recording:
        last, wanted = len(recording) - 1, recording[-1].velocities.tobytes()
    damaged = tmp_path / "damaged.h5"
    answers = of_damaged(
        path, damaged, lambda: dynamics.World.load(damaged, last).velocities.tobytes()
    )
    refused = [answer for answer in answers if answer != wanted]
    assert refused
    assert all("damaged.h5" in answer for answer in refused)


# ---- runs that are interrupted -------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer signals")
def test_ctrl_c_ends_a_run_after_a_whole_step(path):
    world = pile()

    with alarm(interrupt, after=0.3), pytest.raises(KeyboardInterrupt):
        world.run(10**6, ("time", "positions"), every=3, file=path)
    record = world.record
    assert record["time"][-1] == world.time
    assert record["positions"][-1].tobytes() == world.positions.tobytes()
    with dynamics.Recording(path) as recording:
        assert recording["time"].tolist() == record["time"].tolist()
    other = dynamics.World.load(path)
    assert state(other) == state(world)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        world.run(20)
        other.run(20)
    assert state(other) == state(world)


def test_an_interruption_within_a_row_keeps_rows_and_frames_together(path, monkeypatch):
    world, read = pile(), dynamics.Record._READ["kinetic"]

    def interrupted(one):
        if one.steps == 3 and not once:
            once.append(1)
            raise KeyboardInterrupt
        return read(one)

    once = []
    monkeypatch.setitem(dynamics.Record._READ, "kinetic", interrupted)
    with pytest.raises(KeyboardInterrupt):
        world.run(10, record=("time", "kinetic"), file=path)
    assert np.rint(world.record["time"] / world.time_step).tolist() == [0, 1, 2, 3]
    with dynamics.Recording(path) as recording:
        assert recording["time"].tolist() == recording.times.tolist()
        assert recording.steps.tolist() == [0, 1, 2, 3]


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
        pile().run(5, file=path)
    with dynamics.Recording(path) as recording:
        assert recording.steps.tolist() == list(range(6))


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="no reservation of room on disks")
def test_a_file_system_that_cannot_reserve_room_is_written_to(path, monkeypatch):
    def refuse(descriptor, offset, length):
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    pile().run(5, file=path)
    with dynamics.Recording(path) as recording:
        assert recording.steps.tolist() == list(range(6))


def test_a_file_that_cannot_be_opened_again_leaves_nothing(path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        with pytest.raises(OSError, match=os.strerror(errno.EMFILE)):
            pile().run(5, file=path)
    assert os.listdir(path.parent) == []


def test_an_error_in_the_callback_loses_nothing(path):
    world = pile()

    def fail(one):
        if one.steps == 7:
            raise RuntimeError("of the callback")

    with pytest.raises(RuntimeError, match="of the callback"):
        world.run(100, every=5, file=path, callback=fail)
    assert np.rint(world.record["time"] / world.time_step).tolist() == [0, 5, 7]
    with dynamics.Recording(path) as recording:
        assert recording.steps.tolist() == [0, 5, 7]


RUN = """
    import sys, warnings
    sys.path.insert(0, sys.argv[2])
    from unit.dynamics.test_recording import events, pile
    warnings.simplefilter("ignore")
    pile().run(10**6, file=sys.argv[1], callback=events, problems=30)
"""


def killed(path, after=0.0):
    """Kill a process so many seconds after its file has some frames."""
    kill(start(path, RUN), lambda: frames_of(path), after)


def frames_of(path):
    if not path.exists():
        return 0
    with dynamics.Recording(path) as recording:
        return len(recording)


def check_killed(path):
    """Every frame of the file is whole, and the last goes on as a world that never stopped."""
    with dynamics.Recording(path) as recording:
        count = len(recording)
        assert recording.steps.tolist() == list(range(count))
        assert recording["time"].tolist() == recording.times.tolist()
        assert len(list(recording)) == count
        for k in range(recording.problems):
            recording.problem(k)
    world = pile()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        world.run(count - 1, callback=events)
        other = dynamics.World.load(path)
        assert state(other) == state(world)
        other.run(3, callback=events)
        world.run(3, callback=events)
    assert state(other) == state(world)
    return count


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9")
def test_a_killed_run_leaves_a_readable_file(path):
    killed(path, 0.1)
    assert check_killed(path) >= 5


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9")
def test_a_run_may_be_killed_at_any_moment(tmp_path):
    rng = np.random.default_rng()
    for i, after in enumerate(rng.uniform(0, 0.5, 8).tolist()):
        path = tmp_path / f"{i}.h5"
        killed(path, after)
        check_killed(path)


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="no reservation of room on disks")
def test_a_full_disk_is_told_and_the_file_stays_readable(path):
    process = start(path, FULL_DISK, RUN)
    _, errors = process.communicate()
    assert process.returncode == 1, errors
    last = errors.strip().splitlines()[-1]
    told = re.search(r"OSError.*run\.h5: frame (\d+) cannot be written: File too large", last)
    assert told, last
    # How many frames are in the file for readers depends on the clock.
    assert 1 <= check_killed(path) <= int(told[1])
    assert os.listdir(path.parent) == ["run.h5"]
