"""Recordings of a cloth, and cloths that go on from their frames."""

import inspect
import os
import re
import sys
import warnings

import h5py
import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _core
from contactsolve.cloth import Cloth, Recording, sheet
from recorded_cloths import PATH, STEPS, H, all_arrays, go_on, hanging, state
from repository import ROOT

MODELS = {"hinge": 2e-4, "quadratic": 5e-5}


def shaken(time):
    """Return where attached vertices are."""
    return np.array([[0.1 * np.sin(9 * time), 0, 0], [1, 0, 0.2 * time]])


def wind(cloth):
    """Return forces, which depend on time and state."""
    forces = np.zeros_like(cloth.positions)
    forces[:, 1] = 0.01 * np.sin(30 * cloth.time) + 0.1 * cloth.positions[:, 2]
    return forces


def colliding():
    """Return a cloth that has every array, and an obstacle far away."""
    far = cs.cloth.Obstacle([[0, 0, -9], [1, 0, -9], [0, 1, -9]], [[0, 1, 2]])
    return all_arrays(collisions=cs.cloth.Collisions(1e-3), obstacles=[far])


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
    colliding().run(H, H, record=path)
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


@pytest.mark.sampled(3)
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
        *(7.001 * H, H),
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
    plain.run(7.001 * H, H)
    assert state(plain) == state(cloth)
    end = go_on(cloth, 3)
    for frame, step in enumerate((0, 2, 4, 6, 8)):
        other = Cloth.load(path, frame)
        go_on(other, 7 - step)
        if step < 8:
            other.step(7.001 * H - 7 * H)
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
    cloth = colliding()
    cloth.run(0, H, record=path)
    with Recording(path) as recording:
        made = recording._made
    given = {*made["options"], *made["arrays"], "faces", "velocities", "newton", "self"}
    given -= {"obstacle_vertices", "obstacle_faces"}
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


def test_a_closed_recording_says_so(path):
    hanging().run(2 * H, H, record=path)
    with Recording(path) as recording:
        assert recording[1].step == 1
    for read in (lambda: recording[1], lambda: list(recording)):
        with pytest.raises(ValueError, match=f"{PATH}: the recording is closed"):
            read()
    assert len(recording) == len(recording.times) == 3


@pytest.mark.parametrize("frame", [1.5, "a", None])
def test_a_frame_is_an_integer(frame, path):
    hanging().run(2 * H, H, record=path)
    told = re.escape(f"frame is {frame!r}: an integer is needed")
    with Recording(path) as recording, pytest.raises(TypeError, match=told):
        recording[frame]
    with pytest.raises(TypeError, match=told):
        Cloth.load(path, frame)


def test_the_remedy_for_copies_copies(path):
    cloth = hanging()
    go_on(cloth, 3)
    cloth.run(0, H, record=path)
    assert go_on(Cloth.load(path), 3) == go_on(cloth, 3)
