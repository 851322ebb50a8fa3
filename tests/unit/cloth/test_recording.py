"""Recordings of a cloth, and cloths that go on from their frames."""

import errno
import inspect
import os
import re
import shutil
import signal
import sys
import warnings
import weakref

import h5py
import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _core
from contactsolve.cloth import Cloth, Recording, _recorder, sheet
from contactsolve.io import _growing
from interruption import alarm
from recorded_runs import FULL_DISK, kill, start
from repository import ROOT

H, STEPS = 1 / 60, 8
MODELS = {"hinge": 2e-4, "quadratic": 5e-5}
PATH = re.escape("run.vtkhdf")


def hanging(rows=6, **options):
    """Return a sheet that hangs from two corners, and waves."""
    vertices, faces = sheet(rows, 7, (1.0, 0.8))
    wave = np.column_stack([0 * vertices[:, :2], 0.3 * np.sin(7 * vertices[:, 0])])
    given = {"density": 0.2, "young": 60.0, "bending": 1e-4, "damping": 0.01, "threads": 1}
    given |= {"attach": [0, 6], "velocities": wave}
    return Cloth(vertices, faces, **{**given, **options})


def shaken(time):
    """Return where attached vertices are."""
    return np.array([[0.1 * np.sin(9 * time), 0, 0], [1, 0, 0.2 * time]])


def wind(cloth):
    """Return forces, which depend on time and state."""
    forces = np.zeros_like(cloth.positions)
    forces[:, 1] = 0.01 * np.sin(30 * cloth.time) + 0.1 * cloth.positions[:, 2]
    return forces


def state(cloth):
    return cloth.positions.tobytes(), cloth.velocities.tobytes(), cloth.time


def go_on(cloth, steps, h=H):
    for _ in range(steps):
        cloth.step(h)
    return state(cloth)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.vtkhdf"


# ---- the format ----------------------------------------------------------------------------------


def documented(vertices, faces, frames):
    """Shapes and types of all datasets: those of VTKHDF are as its specification says."""
    points, integers = ((vertices * frames, 3), "f8"), ((frames,), "i8")
    cells = {
        f"VTKHDF/{name}/{part}": (shape, "i8")
        for name, count in (("Vertices", 0), ("Lines", 0), ("Polygons", faces), ("Strips", 0))
        for part, shape in (
            ("NumberOfCells", (1,)),
            ("NumberOfConnectivityIds", (1,)),
            ("Offsets", (count + 1,)),
            ("Connectivity", (3 * count,)),
        )
    }
    return {
        **cells,
        "VTKHDF/NumberOfPoints": ((1,), "i8"),
        "VTKHDF/Points": points,
        "VTKHDF/PointData/velocity": points,
        "VTKHDF/Steps/Values": ((frames,), "f8"),
        "VTKHDF/Steps/PartOffsets": integers,
        "VTKHDF/Steps/NumberOfParts": integers,
        "VTKHDF/Steps/PointOffsets": integers,
        "VTKHDF/Steps/CellOffsets": ((frames, 4), "i8"),
        "VTKHDF/Steps/ConnectivityIdOffsets": ((frames, 4), "i8"),
        "VTKHDF/Steps/PointDataOffsets/velocity": integers,
        "cloth/vertices": ((vertices, 3), "f8"),
        "cloth/rest": ((vertices, 3), "f8"),
        "cloth/attach": ((2,), "i8"),
        "cloth/forces": ((vertices, 3), "f8"),
        "cloth/partition": ((vertices,), "i8"),
        "cloth/hash": ((16,), "u1"),
        "solvers/h": ((1,), "f8"),
        "solvers/positions": ((vertices, 3), "f8"),
        "solvers/velocities": ((vertices, 3), "f8"),
        "frames/numbers": ((frames, 4), "i8"),
        "frames/hash": ((frames, 32), "u1"),
    }


def all_arrays():
    """Return a cloth that has every array that a file can hold."""
    vertices, _ = sheet(6, 7, (1.0, 0.8))
    labels = np.random.default_rng(2).integers(0, 8, len(vertices))
    return hanging(rest=0.9 * vertices, forces=0.01 * vertices, partition=labels)


def test_the_file_is_as_vtkhdf_specifies(path):
    cloth = all_arrays()
    cloth.run(STEPS * H, H, record=path)
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, node: found.update({name: node}) if node.name else None)
        groups = {name for name, node in found.items() if isinstance(node, h5py.Group)}
        datasets = {
            name: (node.shape, node.dtype)
            for name, node in found.items()
            if isinstance(node, h5py.Dataset) and name != "cloth/options"
        }
        wanted = documented(len(cloth.masses), len(cloth.faces), STEPS + 1)
        assert datasets == {name: (shape, np.dtype(kind)) for name, (shape, kind) in wanted.items()}

        # Attributes; the type is a text of fixed length, in ASCII.
        assert {name for name in groups if file[name].attrs} == {"VTKHDF", "VTKHDF/Steps"}
        assert file["VTKHDF"].attrs["Version"].tolist() == [2, 2]
        assert file["VTKHDF"].attrs["Type"] == b"PolyData"
        kind = h5py.check_string_dtype(file["VTKHDF"].attrs.get_id("Type").dtype)
        assert (kind.encoding, kind.length) == ("ascii", 8)
        assert file["VTKHDF/Steps"].attrs["NSteps"] == STEPS + 1
        assert file["VTKHDF/Steps"].attrs.get_id("NSteps").shape == ()

        # Each step has its own points, and the same faces.
        steps = file["VTKHDF/Steps"]
        starts = len(cloth.masses) * np.arange(STEPS + 1)
        assert steps["PointOffsets"][:].tolist() == starts.tolist()
        assert steps["PointDataOffsets/velocity"][:].tolist() == starts.tolist()
        for name in ("PartOffsets", "CellOffsets", "ConnectivityIdOffsets"):
            assert not steps[name][:].any()
        assert (steps["NumberOfParts"][:] == 1).all()
        assert file["VTKHDF/NumberOfPoints"][:].tolist() == [len(cloth.masses)]
        polygons = file["VTKHDF/Polygons"]
        assert polygons["NumberOfCells"][:].tolist() == [len(cloth.faces)]
        assert polygons["NumberOfConnectivityIds"][:].tolist() == [cloth.faces.size]
        assert polygons["Connectivity"][:].tolist() == cloth.faces.ravel().tolist()
        assert polygons["Offsets"][:].tolist() == list(range(0, cloth.faces.size + 1, 3))


def test_other_programs_read_the_file(path):
    pytest.importorskip("vtkmodules")
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOHDF import vtkHDFReader

    hanging().run(STEPS * H, H, record=path)
    reader = vtkHDFReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    with Recording(path) as recording:
        assert reader.GetNumberOfSteps() == len(recording)
        for k in (0, 5):
            reader.SetStep(k)
            reader.Update()
            mesh = reader.GetOutput()
            points = vtk_to_numpy(mesh.GetPoints().GetData())
            corners = vtk_to_numpy(mesh.GetPolys().GetConnectivityArray())
            velocities = vtk_to_numpy(mesh.GetPointData().GetArray("velocity"))
            assert points.tobytes() == recording[k].positions.tobytes()
            assert velocities.tobytes() == recording[k].velocities.tobytes()
            assert corners.tolist() == recording.faces.ravel().tolist()
            assert mesh.GetNumberOfCells() == len(recording.faces)


def test_the_documented_datasets_are_those_of_a_recording(path):
    text = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
    text = text[text.index("## A recording of a cloth") : text.index("## Groups within")]
    all_arrays().run(H, H, record=path)
    found = set()
    with h5py.File(path) as file:
        file.visititems(lambda name, node: found.add(name) if hasattr(node, "dtype") else None)
    found = {re.sub("/(Vertices|Lines|Strips|Polygons)/", "/CELLS/", name) for name in found}
    assert found == set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))


# ---- reading -------------------------------------------------------------------------------------


def test_recordings_are_read_without_a_cloth(path):
    cloth, seen = hanging(), []
    seen.append((0, *state(cloth)))
    cloth.run(
        10 * H, H, record=path, every=3, callback=lambda one: seen.append((len(seen), *state(one)))
    )
    with Recording(path) as recording:
        assert repr(recording).endswith("run.vtkhdf', 5 frames)")
        assert recording.steps.tolist() == [0, 3, 6, 9, 10]
        assert recording.faces.tolist() == cloth.faces.tolist()
        for step, time, frame in zip(recording.steps, recording.times, recording, strict=True):
            number, positions, velocities, then = seen[step]
            assert (frame.step, frame.time) == (number, then) == (step, time)
            assert frame.positions.tobytes() == positions
            assert frame.velocities.tobytes() == velocities
        assert recording[-1].time == cloth.time
        with pytest.raises(IndexError, match="has 5 frames: 5 is none of them"):
            recording[5]


def test_a_callback_may_change_what_is_recorded(path):
    cloth = hanging()

    def lift(one):
        one.positions = np.add(one.positions, [0, 0, 1.0])
        if one.info["steps"] == 3:
            raise StopIteration

    cloth.run(1.0, H, record=path, callback=lift)
    with Recording(path) as recording:
        assert recording.steps.tolist() == [0, 1, 2, 3]
        assert recording[-1].positions.tobytes() == cloth.positions.tobytes()


def test_hashes_tell_states_apart(tmp_path):
    hashes = []
    for name, threads, shift in (("a", 1, 0.0), ("b", 2, 0.0), ("c", 1, 1e-300)):
        cloth = hanging(threads=threads)
        velocities = cloth.velocities
        velocities[3, 0] += shift
        cloth.velocities = velocities
        cloth.run(3 * H, H, record=tmp_path / name)
        with Recording(tmp_path / name) as recording:
            hashes.append(recording.hashes)
    assert len(set(hashes[0])) == 4
    assert hashes[0] == hashes[1]
    assert hashes[0][0] != hashes[2][0]


def test_a_file_is_readable_while_it_is_written(path):
    found = []

    def read(cloth):
        with Recording(path) as recording, h5py.File(path, "r", swmr=True) as file:
            steps = file["VTKHDF/Steps"]
            count, values = steps.attrs["NSteps"], steps["Values"][:]
            assert count == len(recording) == len(values)
            assert len(file["VTKHDF/Points"]) == count * len(cloth.masses)
            found.append((count, recording[-1].step))

    hanging().run(20 * H, H, record=path, callback=read)
    assert len(found) == 20
    for most, (frames, step) in enumerate(found, 1):
        assert 1 <= frames <= most
        assert step == frames - 1


# ---- going on from frames ------------------------------------------------------------------------


@pytest.mark.threads
@pytest.mark.parametrize("dtype", ["float64", "float32", "mixed"])
@pytest.mark.parametrize("newton", [1, 2])
@pytest.mark.parametrize("model", MODELS)
def test_a_cloth_goes_on_from_every_frame_with_the_same_bits(model, newton, dtype, path):
    options = {"bending_model": model, "bending": MODELS[model], "newton": newton, "dtype": dtype}
    moving = ([0, 6], shaken)
    cloth = hanging(attach=moving, forces=wind, **options)
    cloth.run(STEPS * H, H, record=path)
    for frame in range(STEPS + 1):
        other = Cloth.load(path, frame, attach=moving, forces=wind, threads=1 + frame % 3)
        assert other.info["steps"] == frame
        assert go_on(other, STEPS - frame) == state(cloth), frame


@pytest.mark.parametrize(
    "options",
    [
        *({"M": name} for name in _core.preconditioners()),
        {"attach": None, "gravity": (0.1, 0.0, -1.0)},
        {"parts": 3, "rtol": 1e-3},
        {"bending": 0.0, "poisson": -0.2, "max_iterations": 500},
    ],
    ids=str,
)
def test_a_cloth_of_any_options_goes_on_with_the_same_bits(options, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # missed tolerances
        cloth = hanging(**options)
        cloth.run(STEPS * H, H, record=path)
        for frame in (0, 3, -1):
            other = Cloth.load(path, frame)
            assert go_on(other, STEPS - frame % (STEPS + 1)) == state(cloth)
            assert other.info["steps_not_converged"] == cloth.info["steps_not_converged"]
            assert other._options == cloth._options


@pytest.mark.parametrize("M", ["auto", "multigrid"])
def test_a_cloth_goes_on_with_what_solvers_keep_from_step_to_step(M, path):
    # The aggregates of multigrid are those of the first matrix, and auto looks at it: here it
    # takes another kind for the last step, which is shorter.
    given = {"M": M, "young": 1e5, "rtol": 1e-12, "dtype": "float64"}
    cloth, kinds = hanging(30, **given), []
    cloth.run(3 * H, H)
    cloth.run(
        *(7.01 * H, H),
        record=path,
        every=2,
        callback=lambda one: kinds.append(one.info["preconditioner"]),
    )
    assert kinds == ["multigrid"] * 7 + ["block_ssor" if M == "auto" else "multigrid"]
    with h5py.File(path) as file:
        assert len(file["solvers/h"]) == (2 if M == "auto" else 1)
        assert len(file["solvers/positions"]) == len(file["solvers/h"]) * len(cloth.masses)
        assert (file["frames/numbers"][:, 3] >= 0).all()

    # The same bits as without a recording, and from every frame.
    plain = hanging(30, **given)
    plain.run(3 * H, H)
    plain.run(7.01 * H, H)
    assert state(plain) == state(cloth)
    end = go_on(cloth, 3)
    for frame, step in enumerate((0, 2, 4, 6, 8)):
        other = Cloth.load(path, frame)
        go_on(other, 7 - step)
        if step < 8:
            other.step(7.01 * H - 7 * H)
        assert go_on(other, 3) == end, frame


def test_a_damaged_solver_is_told(path):
    cloth = hanging(M="multigrid")
    cloth.run(3 * H, H, record=path)
    with h5py.File(path, "r+") as file:
        assert file["frames/numbers"][:, 3].tolist() == [-1, 0, 0, 0]
        file["frames/numbers"][2, 3] = -1
        file["frames/numbers"][3, 3] = 9
        file["solvers/positions"][0, 0] += 1
    for frame, why in [(1, "the hash of its solver"), (2, "the hash of its"), (3, "/solvers/h")]:
        with pytest.raises(ValueError, match=rf"{PATH}: frame {frame} .* is damaged: {why}"):
            Cloth.load(path, frame)
    assert go_on(Cloth.load(path, 0), 3) == state(cloth)
    with Recording(path) as recording:
        assert len(list(recording)) == 4


def test_a_cloth_with_all_arrays_goes_on_with_the_same_bits(path):
    cloth = all_arrays()
    cloth.run(STEPS * H, H, record=path)
    for frame in range(STEPS + 1):
        assert go_on(Cloth.load(path, frame), STEPS - frame) == state(cloth), frame
    assert Cloth.load(path).energy() == cloth.energy()


def test_what_a_cloth_was_made_of_is_its_own(path):
    # A caller may change arrays after the cloth was made of them.
    vertices, faces = sheet(4, 4, 1.0)
    arrays = [vertices, faces, np.array([0, 3]), 0.01 * vertices]
    cloth = Cloth(*arrays[:2], density=1.0, young=10.0, attach=arrays[2], forces=arrays[3])
    for array in arrays:
        array[:] = array[::-1].copy()
    cloth.run(4 * H, H, record=path)
    assert go_on(Cloth.load(path, 0), 4) == state(cloth)


def test_every_option_of_a_cloth_is_recorded(path):
    cloth = all_arrays()
    cloth.run(0, H, record=path)
    with Recording(path) as recording:
        made = recording._made
    given = {*made["options"], *made["arrays"], "faces", "velocities", "newton", "self"}
    assert given == set(inspect.signature(Cloth.__init__).parameters)


def test_newton_may_change_in_a_run(path):
    cloth = hanging()

    def change(one):
        one.newton = 1 + one.info["steps"] // 3

    cloth.run(STEPS * H, H, record=path, callback=change)
    other = Cloth.load(path, 4)
    other.run((STEPS - 4) * H, H, callback=change)
    assert state(other) == state(cloth)


def test_missed_tolerances_are_counted_on(path):
    cloth = hanging(max_iterations=2)
    with pytest.warns(RuntimeWarning, match="the solve ended as"):
        cloth.run(3 * H, H, record=path)
    other = Cloth.load(path, 2)
    assert (other.info["steps"], other.info["steps_not_converged"]) == (2, 2)
    other.step(H)  # which does not warn again
    assert state(other) == state(cloth)
    assert other.info == cloth.info


def test_functions_must_be_given_again(path):
    moving = ([0, 6], shaken)
    hanging(attach=moving, forces=wind).run(2 * H, H, record=path)
    with pytest.raises(ValueError, match=rf"{PATH}.*function for the motion.*as attach="):
        Cloth.load(path, forces=wind)
    with pytest.raises(ValueError, match=rf"{PATH}.*function for its forces.*as forces="):
        Cloth.load(path, attach=moving)
    with pytest.raises(ValueError, match="threads is 0"):
        Cloth.load(path, attach=moving, forces=wind, threads=0)

    # Others than those that were recorded are taken, too.
    free = Cloth.load(path, attach=[], forces=np.zeros((42, 3)))
    assert free.attached.tolist() == []
    free.step(H)
    with pytest.raises(ValueError, match=r"attach\[0\] is 99"):
        Cloth.load(path, attach=[99], forces=wind)


# ---- files ---------------------------------------------------------------------------------------


def test_files_are_replaced_only_if_asked(path):
    cloth = hanging()
    cloth.run(H, H, record=path)
    with pytest.raises(FileExistsError, match="pass overwrite=True"):
        cloth.run(H, H, record=path)
    assert cloth.info["steps"] == 1
    cloth.run(2 * H, H, record=path, overwrite=True)
    with Recording(path) as recording:
        assert recording.steps.tolist() == [1, 2, 3]
    other = Cloth.load(path)
    other.run(H, H, record=path, overwrite=True)
    with Recording(path) as recording:
        assert recording.steps.tolist() == [3, 4]
    with pytest.raises(FileNotFoundError, match="folder"):
        cloth.run(H, H, record=path.parent / "none" / "run.vtkhdf")
    assert os.listdir(path.parent) == ["run.vtkhdf"]


def test_bad_arguments_of_a_run_write_nothing(path):
    cloth = hanging()
    for arguments, told in [
        ((1.0, 0.0), "h is 0"),
        ((-1.0, H), "seconds is -1"),
        ((1.0, H, 0), "every is 0"),
    ]:
        every = {"every": arguments[2]} if len(arguments) > 2 else {}
        with pytest.raises(ValueError, match=told):
            cloth.run(*arguments[:2], record=path, **every)
    assert os.listdir(path.parent) == []


def test_other_files_are_refused(path, tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        Cloth.load(path)
    path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="not an HDF5 file"):
        Cloth.load(path)

    # Files of the library, and of others.
    cs.scenarios.box_stack(2).save(tmp_path / "problem.h5")
    with pytest.raises(ValueError, match=r"no recording of a cloth: contactsolve\.load_problem"):
        Cloth.load(tmp_path / "problem.h5")
    world = cs.dynamics.World()
    world.run(1, file=tmp_path / "world.h5")
    with pytest.raises(ValueError, match=r"no recording of a cloth: contactsolve\.dynamics\.Rec"):
        Cloth.load(tmp_path / "world.h5")
    with h5py.File(tmp_path / "other.vtkhdf", "w") as file:
        file.create_group("VTKHDF").attrs["Version"] = [2, 0]
    with pytest.raises(ValueError, match=r"Cloth\.run did not write this file"):
        Cloth.load(tmp_path / "other.vtkhdf")

    # And ours by others.
    hanging().run(H, H, record=path, overwrite=True)
    with pytest.raises(ValueError, match=r"holds a recording: contactsolve\.cloth\.Recording"):
        cs.load_problem(path)
    with pytest.raises(ValueError, match=r"no recording of a world: contactsolve\.cloth\.Rec"):
        cs.dynamics.World.load(path)


def test_without_h5py_the_extra_is_named(path, monkeypatch):
    cloth = hanging()
    monkeypatch.setitem(sys.modules, "h5py", None)
    wanted = r"recordings need h5py, which the extra 'io' brings"
    with pytest.raises(ImportError, match=wanted):
        cloth.run(H, H, record=path)
    with pytest.raises(ImportError, match=wanted):
        Cloth.load(path)
    assert cloth.info["steps"] == 0
    cloth.run(H, H)
    assert cloth.info["steps"] == 1


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

    def interrupt(_, frame):
        # Python drops what is raised while it clears a weak reference.
        if frame.f_code.co_filename == weakref.__file__:
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            return
        raise KeyboardInterrupt

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
    from unit.cloth.test_recording import H, hanging
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
    assert 1 < check_killed(path) <= int(told[1])
    assert os.listdir(path.parent) == ["run.vtkhdf"]

    # The file was closed: other programs open it.
    with h5py.File(path) as file:
        assert file["VTKHDF/Steps"].attrs["NSteps"] == frames_of(path)


def test_damage_to_a_file_that_was_not_closed_is_an_error_or_does_no_harm(path, tmp_path):
    killed(path)
    whole = path.read_bytes()
    with Recording(path) as recording:
        last, wanted = len(recording) - 1, recording[-1].velocities.tobytes()
    damaged, rng = tmp_path / "damaged.vtkhdf", np.random.default_rng(3)

    def read():
        try:
            return Cloth.load(damaged, last).velocities.tobytes()
        except (ValueError, IndexError) as error:
            return str(error)

    answers = []
    for _ in range(60):
        changed = bytearray(whole)
        for place in rng.integers(0, min(len(whole), 40_000), 4):
            changed[place] = rng.integers(256)
        damaged.write_bytes(changed)
        answers.append(read())
    refused = [answer for answer in answers if answer != wanted]
    assert refused
    assert all("damaged.vtkhdf" in answer for answer in refused)
