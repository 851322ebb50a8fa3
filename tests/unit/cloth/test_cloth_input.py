"""Meshes from everywhere, and wrong input: the error names argument, index and value."""

import copy
import gc
import pickle
import re
import types

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _core

VERTICES, FACES = cs.cloth.sheet(3, 4, (1.5, 1.0))
PLAIN = {"density": 0.2, "young": 100.0}


def make(vertices=VERTICES, faces=FACES, **given):
    return cs.cloth.Cloth(vertices, faces, **{**PLAIN, **given})


# ---- meshes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("diagonals", ["alternating", "one"])
def test_sheets(diagonals):
    vertices, faces = cs.cloth.sheet(4, 6, (5.0, 3.0), diagonals)
    assert vertices.shape == (24, 3)
    assert faces.shape == (30, 3)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    assert np.abs(normals - [0, 0, 1]).max() < 1e-12
    ends = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    lengths = np.linalg.norm(vertices[ends[:, 0]] - vertices[ends[:, 1]], axis=1)
    steep = (ends[lengths > 1.1] // 6)[:, 0] != (ends[lengths > 1.1] // 6)[:, 1]
    assert steep.all()
    slopes = np.diff(vertices[ends[lengths > 1.1]][:, :, :2], axis=1)[:, 0].prod(axis=1)
    assert len(set(np.sign(slopes))) == (1 if diagonals == "one" else 2)
    cloth = make(vertices, faces)
    assert cloth.masses.sum() == pytest.approx(0.2 * 15)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((1, 4, 1.0), "rows is 1: it must be at least 2"),
        ((2**31 - 1, 2**31 - 1, 1.0), r"rows is 2147483647 and columns is 2147483647: .* 2\^31"),
        ((2**16, 2**15, 1.0), r"rows is 65536 and columns is 32768: a sheet has fewer than 2\^31"),
        ((4, 4, -1.0), "size is -1.0: one or two positive lengths"),
        ((4, 4, (1.0, 2.0, 3.0)), "one or two positive lengths"),
        ((4, 4, 1.0, "both"), "diagonals is 'both'"),
    ],
)
def test_wrong_sheets(given, message):
    with pytest.raises(ValueError, match=message):
        cs.cloth.sheet(*given)


def same(cloth):
    wanted = make()
    assert np.array_equal(cloth.positions, wanted.positions)
    assert np.array_equal(cloth.faces, wanted.faces)


def test_objects_with_vertices_and_faces():
    same(make(types.SimpleNamespace(vertices=VERTICES, faces=FACES), None))
    same(make(cs.dynamics.Mesh(VERTICES, FACES), None))


def test_the_plane():
    same(make(VERTICES[:, :2]))
    cloth = make(VERTICES * 1.1, rest=VERTICES[:, :2])
    assert cloth.energy().membrane > 0


@pytest.mark.parametrize("name", ["sheet.obj", "sheet.ply", "sheet.vtk"])
def test_files(tmp_path, name):
    meshio = pytest.importorskip("meshio")
    path = tmp_path / name
    meshio.Mesh(VERTICES, [("triangle", FACES)]).write(path)
    cloth = make(path, None)
    assert cloth.masses.sum() == pytest.approx(0.2 * 1.5)


def test_files_without_triangles(tmp_path):
    meshio = pytest.importorskip("meshio")
    path = tmp_path / "lines.vtk"
    meshio.Mesh(VERTICES, [("line", [[0, 1]])]).write(path)
    with pytest.raises(ValueError, match=r"lines.vtk: a mesh of triangles is needed, .* has line"):
        make(path, None)


@pytest.mark.parametrize("kind", ["quad", "tetra", "triangle6"])
def test_files_with_other_faces_beside_triangles(tmp_path, kind):
    meshio = pytest.importorskip("meshio")
    path, count = tmp_path / "both.vtk", {"quad": 4, "tetra": 4, "triangle6": 6}[kind]
    cells = [("triangle", FACES), (kind, [list(range(count))])]
    meshio.Mesh(VERTICES, cells).write(path)
    with pytest.raises(ValueError, match=f"both.vtk: a mesh of triangles .* the file has {kind}$"):
        make(path, None)


def test_files_with_lines_and_vertices_beside_triangles(tmp_path):
    meshio = pytest.importorskip("meshio")
    path = tmp_path / "all.vtk"
    cells = [
        ("vertex", [[0]]),
        ("triangle", FACES[:5]),
        ("line", [[0, 1]]),
        ("triangle", FACES[5:]),
    ]
    meshio.Mesh(VERTICES, cells).write(path)
    same(make(path, None))


def test_neither_faces_nor_a_mesh():
    with pytest.raises(TypeError, match="faces is missing, and ndarray has no attributes"):
        make(VERTICES, None)


# ---- wrong input ---------------------------------------------------------------------------------


def with_entry(array, index, value):
    array = np.array(array)
    array[index] = value
    return array


TWO = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
HINGE = [[0, 1, 2], [1, 0, 3]]
WRONG = {
    "nan": ({"vertices": with_entry(VERTICES, (2, 1), np.nan)}, r"vertices\[2, 1\] is nan"),
    "rest nan": ({"rest": with_entry(VERTICES, (2, 1), np.inf)}, r"rest\[2, 1\] is inf"),
    "rest shape": ({"rest": VERTICES[1:]}, "rest has 11 vertices: 12 are needed"),
    "shape": ({"vertices": VERTICES.ravel()}, r"vertices has shape \(36,\)"),
    "faces": ({"faces": FACES[:, :2]}, r"faces has shape \(12, 2\)"),
    "none": ({"faces": np.zeros((0, 3), int)}, "faces is empty"),
    "range": ({"faces": with_entry(FACES, (3, 2), 12)}, r"faces\[3, 2\] is 12: .* 0 to 11"),
    "negative": ({"faces": with_entry(FACES, (3, 2), -1)}, r"faces\[3, 2\] is -1"),
    "twice": (
        {"faces": with_entry(FACES, 3, [1, 2, 1])},
        r"faces\[3\] has vertex 1 twice",
    ),
    "degenerate": (
        {"vertices": with_entry(VERTICES, 5, VERTICES[4] + [1e-12, 0, 0])},
        r"faces\[\d+\] is degenerate: its rest shape has the area",
    ),
    "line": (
        {"vertices": [[0, 0, 0], [1, 1, 1], [2, 2, 2]], "faces": [[0, 1, 2]]},
        r"faces\[0\] is degenerate",
    ),
    "thin": (
        {"vertices": [[0, 0], [1, 0], [0.5, 0.9], [0.5, -0.9e-6]], "faces": HINGE},
        r"faces\[1\] is degenerate: its rest shape has the area 4.5e-07",
    ),
    "repeated": (
        {"vertices": TWO, "faces": [[0, 1, 2], [1, 3, 2], [1, 2, 0]]},
        r"faces\[2\] repeats faces\[0\]",
    ),
    "third": (
        {
            "vertices": [*TWO.tolist(), [0, 0, 1]],
            "faces": [[0, 1, 2], [1, 3, 2], [1, 2, 4]],
        },
        r"faces\[2\] is the third face at the edge of vertices 1 and 2, after 0 and 1",
    ),
    "massless": (
        {"vertices": [*TWO.tolist(), [0, 0, 1]], "faces": [[0, 1, 2], [1, 3, 2]]},
        r"vertices\[4\] has no mass",
    ),
    "density": ({"density": 0.0}, "density is 0: a positive number is needed"),
    "young": ({"young": -1.0}, "young is -1: a positive number"),
    "poisson": ({"poisson": 1.0}, "poisson is 1: a number between -1 and 1"),
    "poisson low": ({"poisson": -1.0}, "poisson is -1: a number between -1 and 1"),
    "poisson nan": ({"poisson": np.nan}, "poisson is nan"),
    "bending": ({"bending": -1e-3}, "bending is -0.001: a number of at least 0"),
    "damping": ({"damping": np.inf}, "damping is inf"),
    "model": ({"bending_model": "plate"}, "bending_model: 'plate' is unknown; known: hinge, quad"),
    "curved": (
        {
            "bending": 1.0,
            "bending_model": "quadratic",
            "rest": with_entry(VERTICES, (5, 2), 0.1),
        },
        "bending_model='quadratic' needs a flat rest shape",
    ),
    "gravity": ({"gravity": (0, -9.81)}, r"gravity has shape \(2,\)"),
    "attach": ({"attach": [0, 12]}, r"attach\[1\] is 12: there are vertices 0 to 11"),
    "attach negative": ({"attach": [-1]}, r"attach\[0\] is -1"),
    "attach twice": ({"attach": [3, 0, 3]}, r"attach\[2\] is 3, which was listed before"),
    "attach shape": ({"attach": [[0, 1]]}, r"attach has shape \(1, 2\)"),
    "velocities": ({"velocities": VERTICES[1:]}, r"velocities has shape \(11, 3\)"),
    "forces": (
        {"forces": with_entry(VERTICES, (1, 0), np.nan)},
        r"forces\[1, 0\] is nan",
    ),
    "newton": ({"newton": 0}, "newton is 0: it must be at least 1"),
    "dtype": ({"dtype": "float16"}, "dtype: 'float16' is unknown"),
    "M": ({"M": "ilu"}, "M: 'ilu' is unknown; known: auto, "),
    "rtol": ({"rtol": -1.0}, "rtol is -1: a number of at least 0 and below 1 is needed"),
    "rtol one": ({"rtol": 1}, "rtol is 1: a number of at least 0 and below 1 is needed"),
    "iterations": ({"max_iterations": 0}, "max_iterations is 0: it must be at least 1"),
    "most iterations": (
        {"max_iterations": 10**7 + 1},
        r"max_iterations is 10000001: it must be at most 10000000",
    ),
    "large": ({"young": 10**400}, "young is too large: a finite number is needed"),
    "parts": ({"parts": 0}, "parts is 0"),
    "partition": ({"partition": np.full(12, 8)}, r"partition\[0\] is 8: 0 to 7"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input(name):
    given, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        make(**given)


@pytest.mark.parametrize("name", ["density", "young", "poisson", "bending", "damping", "rtol"])
def test_a_number_is_needed(name):
    with pytest.raises(TypeError, match=f"{name} is '1': a number is needed"):
        make(**{name: "1"})


@pytest.mark.parametrize("h", [0.0, -1.0, np.nan, np.inf])
def test_wrong_steps(h):
    cloth = make()
    before = cloth.positions
    for call in (cloth.step, cloth.system, lambda length: cloth.run(1.0, length)):
        with pytest.raises(ValueError, match=r"h is .*: a positive number of seconds"):
            call(h)
    assert np.array_equal(cloth.positions, before)
    with pytest.raises(ValueError, match="seconds is -1"):
        cloth.run(-1, 0.1)


def test_wrong_functions():
    cloth = make(attach=([0, 1], lambda t: [[0, 0, t]]))
    with pytest.raises(ValueError, match=r"attach's positions have shape \(1, 3\): \(2, 3\)"):
        cloth.step(0.1)
    cloth = make(attach=([0], lambda t: [[0, np.nan, t]]))
    with pytest.raises(ValueError, match=r"attach's positions\[0, 1\] is nan"):
        cloth.step(0.1)
    cloth = make(forces=lambda one: np.full((12, 3), np.inf))
    with pytest.raises(ValueError, match=r"forces\[0, 0\] is inf"):
        cloth.step(0.1)
    assert cloth.time == 0


def test_a_step_out_of_all_numbers_changes_nothing():
    cloth = make(velocities=np.full((12, 3), 1e308), gravity=(0, 0, 0))
    before = cloth.positions
    with pytest.raises(ValueError, match=r"a shorter step|not positive definite"):
        cloth.step(1e10)
    assert np.array_equal(cloth.positions, before)


@pytest.mark.parametrize(
    ("h", "scale", "given"),
    [
        (1e300, 1.0, {}),
        (1e20, 1.0, {"dtype": "float32"}),
        (1e20, 1.0, {"dtype": "mixed"}),
        (1.0, 1.0, {"young": 1e40, "dtype": "float32"}),
        (1e-2, 1.0, {"density": 1e42, "dtype": "float32"}),
        (1e-2, 1e308, {"damping": 0.1}),
        (1e-2, 1e200, {"damping": 0.1}),
    ],
)
def test_a_system_that_overflows_is_named(h, scale, given):
    cloth = make(**given)
    cloth.positions = before = scale * VERTICES
    wanted = rf"the system of the step of {re.escape(f'{h:g}')} s from t = 0 s overflows at vertex "
    advice = "is needed, or dtype='float64'" if "dtype" in given else "is needed"
    for call in (cloth.step, cloth.system):
        with pytest.raises(ValueError, match=rf"{wanted}\d+: a shorter step, .* {advice}$"):
            call(h)
    assert np.array_equal(cloth.positions, before)
    assert cloth.info["steps"] == 0


def test_setters_refuse_what_does_not_fit():
    cloth = make()
    with pytest.raises(ValueError, match=r"positions has shape \(11, 3\)"):
        cloth.positions = VERTICES[1:]
    with pytest.raises(ValueError, match=r"velocities\[0, 0\] is nan"):
        cloth.velocities = np.full((12, 3), np.nan)


@pytest.mark.parametrize("bending_model", ["hinge", "quadratic"])
def test_thin_faces_that_are_not_refused_can_bend(bending_model):
    """Down to the limit, whatever the edge that the longest one is."""
    for thin in (1.0000000001e-6, 1.1e-6, 1e-5):
        for turn in range(3):
            faces = [HINGE[0], np.roll(HINGE[1], turn)]
            cloth = make(
                [[0, 0], [1, 0], [0.5, 0.9], [0.5, -thin]],
                faces,
                bending=1e-9,
                bending_model=bending_model,
            )
            A, b = cloth.system(1e-3)
            assert np.isfinite(A.to_scipy().data).all()
            assert np.isfinite(b).all()
            assert np.isfinite(cloth.energy()).all()


@pytest.mark.parametrize(
    ("newton", "wanted"), [(0, "at least 1"), (-1, "at least 1"), (1001, "at most 1000")]
)
def test_newton_is_checked_when_it_is_assigned(newton, wanted):
    cloth = make()
    with pytest.raises(ValueError, match=f"newton is {newton}: it must be {wanted}"):
        cloth.newton = newton
    assert cloth.newton == 1
    cloth.newton = 2
    cloth.step(1e-2)
    assert cloth.velocities[0, 2] == pytest.approx(-9.81e-2)


@pytest.mark.parametrize("newton", [0, -1])
def test_a_step_without_a_solve_is_refused_by_the_library(newton):
    cloth = make(velocities=VERTICES)
    with pytest.raises(ValueError, match=f"newton is {newton}: it must be at least 1"):
        cloth._core.step(1e-2, None, None, newton, 0)
    assert np.array_equal(cloth.velocities, VERTICES)


@pytest.mark.parametrize("time", [np.nan, np.inf, -np.inf])
def test_a_time_is_finite(time):
    cloth = make()
    with pytest.raises(ValueError, match=f"time is {time}: a finite number of seconds is needed"):
        cloth.time = time
    assert cloth.time == 0


def test_what_the_library_has_taken_is_read_only():
    cloth = make(attach=[0, 3])
    for array in (cloth.faces, cloth.attached, cloth.masses):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    for name in ("faces", "attached", "masses", "dtype"):
        with pytest.raises(AttributeError):
            setattr(cloth, name, getattr(cloth, name))
    assert cloth.dtype == "float64"


def test_arrays_of_the_caller_stay_writable():
    faces, attached = FACES.copy(), np.array([0, 3])
    make(faces=faces, attach=attached)
    faces[0] = attached[0] = 1


def test_attachment_may_be_a_list_of_two():
    cloth = make(attach=[[0, 3], lambda time: VERTICES[[0, 3]] + time])
    cloth.step(0.25)
    assert np.array_equal(cloth.positions[[0, 3]], VERTICES[[0, 3]] + 0.25)


@pytest.mark.parametrize("copy_of", [copy.copy, copy.deepcopy, pickle.dumps])
def test_copies_are_refused_with_a_remedy(copy_of):
    with pytest.raises(TypeError, match=r"neither copied nor pickled: record .* Cloth\.load"):
        copy_of(make())


@pytest.mark.parametrize("dtype", ["float64", "mixed"])
def test_every_allocation_may_fail(dtype):
    gc.collect()
    live = _core.memory_live()
    failures = 0
    for successes in range(400):
        _core.memory_fail_after(successes)
        try:
            cloth = make(dtype=dtype, bending=1e-3)
            cloth.step(1e-2)
        except MemoryError:
            failures += 1
        else:
            break
        finally:
            _core.memory_fail_after(-1)
        cloth = None
        gc.collect()
        assert _core.memory_live() == live
    assert failures > 20
    cloth.step(1e-2)
    del cloth
    gc.collect()
    assert _core.memory_live() == live
