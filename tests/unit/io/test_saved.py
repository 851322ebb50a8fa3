"""Saved problems and results: every form comes back bit for bit; wrong files are refused."""

import copy
import json
import os
import pickle
import re
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest
import scipy.sparse

import contactsolve as cs
from contactsolve import sets, shapes
from contactsolve.io import _hdf5
from repository import FCLIB, ROOT

LOCAL = FCLIB / "Confeti-ex13-4contact.hdf5"
GLOBAL = FCLIB / "Box_Stacks-i0122-82-5.hdf5"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "saved.hdf5"


def bits(value):
    """Everything in a value, to the last bit, in a form that can be compared."""
    if scipy.sparse.issparse(value):
        parts = [value.data, value.indices, value.indptr]
        return ("sparse", value.shape, [bits(part) for part in parts])
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype.str, value.tobytes())
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, dict):
        return ("dict", [(bits(key), bits(item)) for key, item in value.items()])
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [bits(item) for item in value])
    return (type(value).__name__, value)


def bits_of_set(one):
    return (one.name, [(p.name, p.of_rows, p.shape, bits(p.value)) for p in one.values])


DATA = ("name", "grouped", "contacts", "dof", "updates", "rows", "info", "J", "Minv")
DATA += ("mass_matrix", "b", "mu", "bodies", "compliance", "state", "bodies_count")


def bits_of_problem(problem):
    own = problem.sets if problem.grouped else [problem.sets]
    data = [bits(getattr(problem, name)) for name in DATA]
    return [*data, bits(problem.delassus_csr()), list(map(bits_of_set, own))]


def bits_of_result(result):
    names = [name for name in cs.Result.__slots__ if name not in ("problem", "history")]
    values = {name: bits(getattr(result, name)) for name in names}
    return values | {"history": (result.history.columns, bits(result.history._values))}


def assert_kept(path, problem, **options):
    """Save problem and result, load them, and solve the loaded problem to the same bits."""
    options = {"max_iterations": 12, "threads": 1, **options}
    problem.save(path)
    loaded = cs.load_problem(path)
    assert bits_of_problem(loaded) == bits_of_problem(problem)
    result = cs.solve(problem, **options)
    again = cs.solve(loaded, **options)
    assert bits(again.impulses) == bits(result.impulses)
    result.save(path, overwrite=True)
    back = cs.load_result(path)
    assert bits_of_result(back) == bits_of_result(result)
    assert bits_of_problem(back.problem) == bits_of_problem(problem)
    assert repr(back.check()) == repr(result.check())
    assert bits(back.active) == bits(result.active)
    assert back.energy() == result.energy()
    return back


# ---- problems of every form ---------------------------------------------------------------------

SMALL = {
    "ball_grid": {"shape": 3},
    "ball_pile": {"shape": (3, 3, 3)},
    "box_stack": {"count": 3},
}


@pytest.mark.parametrize("name", cs.scenarios.names())
def test_scenarios(path, name):
    assert_kept(path, cs.scenarios.get(name)(**SMALL.get(name, {})))


def contacts(rows, count=4, seed=3):
    """Arrays of contacts between three bodies, the world and each other."""
    rng = np.random.default_rng(seed)
    return {
        "J": rng.normal(size=(count, 2, rows, 6)),
        "Minv": rng.uniform(0.5, 2.0, (3, 6)),
        "b": rng.normal(size=(count, rows)),
        "bodies": [[-1, 0], [0, 1], [1, 2], [2, 2]][:count],
    }


MU = np.array([0.1, 0.3, 0.5, 0.7])
CORNERS = [[0.5, 0.1], [0.0, 0.6], [-0.4, 0.0], [0.0, -0.7]]
SETS = {
    "free": [(3, sets.free())],
    "box": [(2, sets.box(-np.inf, [1.0, 2.0])), (3, sets.box(-np.ones((4, 3)), np.inf))],
    "half_line": [(1, sets.half_line()), (3, sets.half_line())],
    "disc": [(2, sets.disc(0.5)), (3, sets.disc(MU))],
    "box_friction": [(3, sets.box_friction(MU))],
    "rolling": [(5, sets.rolling(MU, 0.01))],
    "ellipse": [(3, sets.ellipse(MU, 0.2, 0.3))],
    "polygon": [
        (3, sets.polygon(MU, sides=5, angle=MU)),
        (3, sets.polygon(0.5, vertices=CORNERS)),
        (3, sets.polygon(MU, vertices=np.array([CORNERS] * 4) * MU[:, None, None])),
    ],
    "contensou": [(4, sets.contensou(MU, 0.1))],
    "contensou_coupled": [(4, sets.contensou_coupled(0.5, MU))],
    "second_order_cone": [(3, sets.second_order_cone(MU))],
    "tresca": [(3, sets.tresca(0.4)), (5, sets.tresca(MU, 0.1))],
    "support": [
        (3, sets.support(shapes.disc(0.3).shifted([0.1, 0.0]) + shapes.ellipse(0.1, 0.2), MU)),
        (4, sets.support(shapes.ellipsoid(MU, 0.2, 0.1))),
    ],
}


def test_every_set_is_saved_here():
    assert set(SETS) == set(sets.names())


@pytest.mark.parametrize("name", sorted(SETS))
def test_sets(path, name):
    for rows, one in SETS[name]:
        assert one.name == name
        assert_kept(path, cs.Problem(**contacts(rows), sets=one), method="gauss_seidel")
        path.unlink()


def grouped():
    """Contacts on rigid bodies, and joints of these with a robot of four degrees of freedom."""
    rng = np.random.default_rng(5)
    given = contacts(3)
    joint = rng.normal(size=(2, 2, 6)), rng.normal(size=(2, 2, 4))
    robot = cs.Bodies(np.diag([1.0, 2.0, 3.0, 4.0]), diagonal=False)
    held = cs.Group(joint, [[0, 3], [2, 3]], rng.normal(size=4), sets=sets.free(), compliance=0.01)
    free = cs.Group(given["J"], given["bodies"], given["b"], MU)
    boxed = cs.Group(given["J"][:, :, :1], given["bodies"], given["b"][:, 0], lo=-1.0, hi=2.0)
    bodies = [cs.Bodies(given["Minv"]), robot]
    return cs.Problem(groups=[free, held, boxed], bodies=bodies, name="in groups")


def any_pattern(form, **more):
    """A J of any pattern, dense or sparse, with an inverse mass or a mass in every form."""
    rng = np.random.default_rng(8)
    J, b = rng.normal(size=(6, 5)), rng.normal(size=6)
    M = np.diag([1.0, 2.0, 3.0, 4.0, 5.0]) + 0.1
    if "sparse" in form:
        J[np.abs(J) < 0.7] = 0.0
        J, M = scipy.sparse.csr_array(J), scipy.sparse.csr_array(M)
    if "diagonal" in form:
        M = np.array([1.0, 2.0, np.inf if "mass" in form else 0.0, 4.0, 5.0])
    given = {"mass": M} if "mass" in form else {"Minv": M}
    return cs.Problem(J, b=b, mu=[0.2, 0.4], rows=3, name=form, **given, **more)


def thrown(**more):
    given = contacts(3)
    del given["b"]
    velocity = np.random.default_rng(6).normal(size=(3, 6))
    more = {"impulse": -0.1, "drive": 0.01, "restitution": 0.5, "name": "thrown", **more}
    return cs.Problem.from_state(velocity=velocity, mu=MU, **given, **more)


def updated():
    problem = grouped()
    J, free = problem.J[0] * 1.5, problem.b[0] - 0.1
    problem.update(J=[J, None, None], b=[free, None, None], mu=[MU / 2, None, None])
    return problem


def delassus(form):
    given = contacts(3)
    A = cs.Problem(**given, mu=MU).delassus().toarray()
    A[0, 4] *= 1.001
    A = scipy.sparse.bsr_array(A, blocksize=(3, 3)) if form == "sparse" else A
    return cs.Problem.from_delassus(A, given["b"], MU, name="given A")


def no_contacts():
    return cs.Problem(
        np.zeros((0, 2, 3, 6)), np.ones((1, 6)), [], 0.5, bodies=np.zeros((0, 2), int)
    )


FORMS = {
    "blocks of inverse mass": lambda: cs.Problem(
        **contacts(3) | {"Minv": np.tile(np.eye(6), (3, 1, 1))}, mu=0.5, compliance=MU[:, None]
    ),
    "a pair of Jacobians": lambda: cs.Problem(
        **contacts(3)
        | {"J": (np.ones((2, 3, 6)), np.zeros((2, 3, 0)))}
        | {"b": -np.ones(6), "bodies": [[0, -1], [1, -1]]},
        mu=0.5,
    ),
    "groups": grouped,
    "no groups": lambda: cs.Problem(groups=[], bodies=[cs.Bodies(np.ones((2, 6)))]),
    "no contacts": no_contacts,
    "dense A": lambda: delassus("dense"),
    "sparse A": lambda: delassus("sparse"),
    "state": thrown,
    "state of any pattern": lambda: cs.Problem.from_state(
        any_pattern("").J, np.eye(5), velocity=np.ones(5), impulse=-0.2, mu=0.5, compliance=0.1
    ),
    "updated": updated,
    "names in other scripts": lambda: cs.Problem(**contacts(1), name="Stapel № 3 — 積み木"),
    **{
        form: lambda form=form: any_pattern(form)
        for form in ("Minv", "mass", "sparse Minv", "sparse mass")
    },
    "diagonal Minv": lambda: any_pattern("diagonal Minv", compliance=0.2),
    "diagonal mass": lambda: any_pattern("diagonal mass"),
    "sparse J, diagonal Minv": lambda: any_pattern("sparse, diagonal Minv", compliance=0.2),
    "local FCLIB": lambda: cs.io.read_fclib(LOCAL),
    "global FCLIB": lambda: cs.io.read_fclib(GLOBAL),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(path, form):
    assert_kept(path, FORMS[form]())


def test_an_updated_problem_is_as_if_made_anew(path):
    problem = thrown()
    problem.update(mu=0.2)
    problem.save(path)
    loaded = cs.load_problem(path)
    assert loaded.updates == problem.updates == 2
    assert bits(loaded.state) == bits(problem.state)
    loaded.update(b=np.ones((4, 3)))
    problem.update(b=np.ones((4, 3)))
    assert bits_of_problem(loaded) == bits_of_problem(problem)
    assert loaded.state is None


def test_unusual_bits_are_kept(path):
    """Signed zeros, denormal numbers, and an infinite bound."""
    problem = cs.Problem(**contacts(2) | {"b": [-0.0, 5e-324] * 4}, lo=[-0.0, -np.inf], hi=np.inf)
    problem.save(path)
    assert bits_of_problem(cs.load_problem(path)) == bits_of_problem(problem)
    with h5py.File(path) as file:
        assert np.signbit(file["problem/groups/0/b"][:, 0]).all()


def test_the_other_byte_order_is_read(path):
    problem = cs.Problem(**contacts(3), mu=MU)
    problem.save(path)
    with h5py.File(path, "r+") as file:
        for name in ("J", "b", "bodies", "set/values/mu"):
            values = file[f"{GROUP}/{name}"][()]
            put(f"{GROUP}/{name}", values.astype(values.dtype.newbyteorder()))(file)
    assert bits_of_problem(cs.load_problem(path)) == bits_of_problem(problem)


# ---- results of every kind ----------------------------------------------------------------------


CLASSES = {
    "friction": lambda: cs.scenarios.box_stack(2),
    "joints": grouped,
    "box friction": lambda: cs.Problem(**contacts(3), sets=sets.box_friction(MU)),
    "convex": lambda: cs.Problem(**contacts(3), sets=sets.second_order_cone(MU)),
    "any pattern": lambda: any_pattern("mass"),
}


@pytest.mark.parametrize("method", cs.methods.names())
def test_results_of_every_method(path, method):
    """On all problems that the method takes."""
    solved = 0
    for make in CLASSES.values():
        try:
            result = cs.solve(make(), method=method, max_iterations=5, max_seconds=5)
        except ValueError:
            continue
        result.save(path, overwrite=True)
        assert bits_of_result(cs.load_result(path)) == bits_of_result(result)
        solved += 1
    assert solved


def test_files_without_the_times_of_sweeps_and_call(path):
    """As they were written before there were these."""
    result = cs.solve(cs.scenarios.box_stack(3))
    result.save(path)
    with h5py.File(path, "r+") as file:
        assert file["result/sweep_time"][()] == result.sweep_time <= result.time
        assert file["result/wall_time"][()] == result.wall_time >= result.time
        del file["result/sweep_time"], file["result/wall_time"]
    loaded = cs.load_result(path)
    assert loaded.time == result.time
    assert np.isnan([loaded.sweep_time, loaded.wall_time]).all()
    assert "nan" not in loaded._repr_html_()


def test_what_only_some_solves_tell(path):
    """A proof that there is no solution; eigenvalues; warnings; links."""
    A = np.zeros((1, 1))
    ray = cs.solve(cs.Problem.from_delassus(A, [-1.0], rows=1), method="lemke")
    links = cs.solve(cs.scenarios.box_stack(3))
    largest = cs.solve(cs.scenarios.box_stack(3), method="jacobi", r_factor="global")
    walls = cs.Problem(
        np.array([[[[-1.0]], [[1.0]]]] * 2) * np.array([1.0, -1.0])[:, None, None, None],
        np.ones((1, 1)),
        [-1.0, -1.0],
        bodies=[[-1, 0], [-1, 0]],
    )
    closing = cs.solve(walls, method="bpp")
    assert closing.status == "infeasible"
    for result, name in (
        (ray, "pivots"),
        (links, "links"),
        (largest, "eigenvalues"),
        (closing, "certificate"),
    ):
        assert name in result.info
        result.save(path, overwrite=True)
        assert bits_of_result(cs.load_result(path)) == bits_of_result(result)


@pytest.mark.parametrize("make", [grouped, lambda: delassus("dense"), thrown])
def test_values_of_one_solve_are_kept(path, make):
    """Where b and mu were given to `Solver.solve`, checks use these after loading, too."""
    problem = make()
    several = isinstance(problem.b, list)
    b = [part + 0.1 for part in problem.b] if several else problem.b + 0.1
    mu = [MU / 3, None, None] if several else MU / 3
    result = cs.Solver(problem, method="gauss_seidel", max_iterations=3).solve(b=b, mu=mu)
    result.save(path)
    loaded = cs.load_result(path)
    assert bits_of_result(loaded) == bits_of_result(result)
    assert repr(loaded.check()) == repr(result.check())
    assert repr(loaded.check()) != repr(cs.solve(problem, max_iterations=3).check())


def test_results_from_before_an_update_still_say_so(path):
    problem = cs.scenarios.box_stack(2)
    result = cs.solve(problem)
    problem.update(b=problem.b - 1.0)
    result.save(path)
    with pytest.raises(RuntimeError, match="updated since then"):
        cs.load_result(path).check()


def test_pickled_results_know_their_updates():
    result = cs.solve(thrown())
    for back in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert repr(back.check()) == repr(result.check())


def test_info_of_any_plain_kind(path):
    result = cs.solve(cs.scenarios.box_stack(1))
    own = {
        "nan": np.nan,
        "inf": -np.inf,
        "zero": -0.0,
        "third": 1 / 3,
        "pair": (1, (2.5, None)),
        "list": [True, "text\0", {"deeper": [[]]}],
        "arrays": [np.arange(3, dtype=np.int32), np.array(2.0, np.float32), np.ones((0, 2))],
        "keys": {1: "one", (2, "b"): "two", "$array": 0},
        "mask": np.array([True, False]),
        "$tuple": "no tuple",
        "surrogate": "\ud800",
        "empty": {},
    }
    result.info.update(own)
    result.save(path)
    assert bits(cs.load_result(path).info) == bits(result.info)
    result.info["scalars"] = (np.float32(0.1), np.int8(3), np.bool_(True))
    result.save(path, overwrite=True)
    assert bits(cs.load_result(path).info["scalars"]) == bits((float(np.float32(0.1)), 3, True))


def test_problem_of_a_result(path):
    result = cs.solve(thrown())
    result.save(path)
    assert bits_of_problem(cs.load_problem(path)) == bits_of_problem(result.problem)


# ---- what is refused, and files left alone ------------------------------------------------------


def test_functions_cannot_be_saved(path):
    support = sets.support(lambda direction: 0.5 * direction)
    problem = cs.Problem(**contacts(3), sets=support)
    for value in (problem, cs.solve(problem, max_iterations=1)):
        with pytest.raises(TypeError, match="cannot be saved: its function belongs to this proc"):
            value.save(path)
    assert list(path.parent.iterdir()) == []


def test_info_that_is_no_data_is_named(path):
    result = cs.solve(cs.scenarios.box_stack(1))
    result.info["mine"] = [{"solver": object()}]
    with pytest.raises(TypeError, match=r"info\['mine'\]\[0\]\['solver'\] is <object .*cannot be"):
        result.save(path)
    assert list(path.parent.iterdir()) == []


def test_names_with_null_characters(path):
    with pytest.raises(ValueError, match="name contains a null character"):
        cs.Problem(**contacts(1), name="a\0b").save(path)


def test_existing_files_are_kept_unless_told_otherwise(path):
    cs.scenarios.box_stack(1).save(path)
    before = path.read_bytes()
    for value in (cs.scenarios.box_stack(2), cs.solve(cs.scenarios.box_stack(2))):
        with pytest.raises(FileExistsError, match=r"saved\.hdf5 exists: pass overwrite=True"):
            value.save(path)
    assert path.read_bytes() == before
    cs.scenarios.box_stack(2).save(str(path), overwrite=True)
    assert cs.load_problem(str(path)).contacts == 8


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError])
@pytest.mark.parametrize("kind", ["saved", "FCLIB"])
def test_an_interrupted_write_loses_nothing(path, monkeypatch, error, kind):
    cs.scenarios.box_stack(1).save(path)
    before = path.read_bytes()

    def fail(*_, **__):
        raise error

    def fclib(problem, path, **options):
        cs.io.write_fclib(path, problem, **options)

    write = cs.Problem.save if kind == "saved" else fclib
    with monkeypatch.context() as patch:
        patch.setattr(h5py.Group, "create_dataset", fail)
        with pytest.raises(error):
            write(cs.scenarios.box_stack(2), path, overwrite=True)
    assert list(path.parent.iterdir()) == [path]
    assert path.read_bytes() == before


def test_a_file_that_appears_meanwhile_is_kept(path):
    with (
        pytest.raises(FileExistsError, match="pass overwrite=True"),
        _hdf5.new_file(path, "this needs", overwrite=False),
    ):
        path.write_text("another process was first")
    assert path.read_text() == "another process was first"
    assert list(path.parent.iterdir()) == [path]


def test_a_link_leads_to_the_new_file(tmp_path, path):
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "elsewhere" / "target.hdf5"
    target.write_text("old")
    path.symlink_to(target)
    cs.scenarios.box_stack(1).save(path, overwrite=True)
    assert path.is_symlink()
    assert cs.load_problem(target).contacts == 4


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"the folder of .*no/a\.hdf5 does not exist"):
        cs.scenarios.box_stack(1).save(tmp_path / "no" / "a.hdf5")


def test_files_of_another_kind_name_what_reads_them(path, tmp_path):
    cs.scenarios.box_stack(1).save(path)
    with pytest.raises(ValueError, match=r"without a result: contactsolve\.load_problem reads it"):
        cs.load_result(path)
    with pytest.raises(ValueError, match=r"wrote this file: contactsolve\.load_problem reads it"):
        cs.io.read_fclib(path)
    for load in (cs.load_problem, cs.load_result):
        with pytest.raises(ValueError, match=r"FCLIB file: contactsolve\.io\.read_fclib reads it"):
            load(LOCAL)
        with pytest.raises(FileNotFoundError, match="nothing does not exist"):
            load(tmp_path / "nothing")
        with pytest.raises(ValueError, match="this is not an HDF5 file"):
            load(__file__)
    with h5py.File(tmp_path / "other.hdf5", "w") as file:
        file["x"] = 1.0
    with pytest.raises(ValueError, match="did not write this file: it has no attribute format"):
        cs.load_problem(tmp_path / "other.hdf5")


def test_without_h5py_the_error_names_the_extra(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    message = (
        r"saved files need h5py, which the extra 'io' brings: pip install 'contactsolve\[io\]'"
    )
    with pytest.raises(ImportError, match=message):
        cs.scenarios.box_stack(1).save(path)
    with pytest.raises(ImportError, match=message):
        cs.load_result(path)


# ---- damage -------------------------------------------------------------------------------------


def put(name, value):
    def change(file):
        if name in file:
            del file[name]
        # Python's own texts are of variable length in HDF5.
        data = value if isinstance(value, str) else np.asarray(value)
        file.create_dataset(name, data=data)

    return change


def poke(name, index, value):
    return lambda file: file[name].__setitem__(index, value)


def without(name):
    return lambda file: file.__delitem__(name)


def attribute(name, value):
    return lambda file: file.attrs.__setitem__(name, value)


def claim(name, shape):
    """A dataset of which nothing is stored: it takes no room in the file."""

    def change(file):
        del file[name]
        file.create_dataset(name, shape, dtype="f8", chunks=(1000, *shape[1:]))

    return change


GROUP, SET, RESULT = "problem/groups/0", "problem/groups/0/set", "result"
BROKEN = {
    "newer": (attribute("version", 2), r"has version 2 .* reads versions up to 1: a newer release"),
    "no version": (attribute("version", np.bytes_("1")), "'version' of / is '1': expected an"),
    "other kind": (
        attribute("kind", np.bytes_("picture")),
        "'kind' of / is 'picture': expected one of 'problem', 'result', 'recording', 'cloth'",
    ),
    "no J": (without(f"{GROUP}/J"), f"the dataset /{GROUP}/J_first is missing"),
    "flat J": (put(f"{GROUP}/J", np.zeros(3)), r"/J has shape \(3,\): expected 4 dimensions"),
    "J of integers": (put(f"{GROUP}/J", np.zeros(3, int)), "/J has dtype int64: expected float64"),
    "single J": (put(f"{GROUP}/J", np.zeros((4, 2, 3, 6), "f4")), "/J has dtype float32: expected"),
    "J with NaN": (put(f"{GROUP}/J", np.full((4, 2, 3, 6), np.nan)), r"/problem: J\[0, .*is nan"),
    "petabytes": (claim(f"{GROUP}/J", (10**12, 2, 3, 6)), "bytes cannot hold 288000000000000"),
    "body out of range": (put(f"{GROUP}/bodies", [[0, 9]] * 4), r"/problem: bodies\[0, 1\] is 9"),
    "short b": (put(f"{GROUP}/b", np.zeros((3, 3))), r"/problem: b has shape \(3, 3\)"),
    "negative compliance": (
        put(f"{GROUP}/compliance", -np.ones((4, 3))),
        rf"/{GROUP}/compliance\[0, 0\] is -1: expected a finite number, 0 or more",
    ),
    "short compliance": (put(f"{GROUP}/compliance", np.ones((1, 3))), r"expected \(4, 3\), as b"),
    "group missing": (lambda file: file.move(GROUP, "problem/groups/1"), "expected 0, 1, 2, ..."),
    "no bodies": (without("problem/bodies"), "/problem/bodies cannot be read"),
    "two groups": (lambda file: file.copy(GROUP, "problem/groups/1"), "has 2 members: a pro"),
    "no members": (without("problem/bodies/0"), "/problem/bodies has 0 members: a problem that is"),
    "grouped": (put("problem/grouped", 2), "/problem/grouped is 2: expected 0 or 1"),
    "long text": (put("problem/name", "any"), "/problem/name has dtype object: expected texts of"),
    "no name": (without("problem/name"), "the dataset /problem/name is missing"),
    "unknown set": (put(f"{SET}/name", b"sphere"), f"/{SET}/name is 'sphere': expected one of"),
    "a function": (put(f"{SET}/name", b"support_function"), "is 'support_function': expected one"),
    "no value": (without(f"{SET}/values/mu"), f"the dataset /{SET}/values/mu is missing"),
    "too many flags": (put(f"{SET}/of_rows", np.ones(2, "u1")), "has 1 parameters, but 2 entries"),
    "deep value": (put(f"{SET}/dimensions", [7]), f"/{SET}/dimensions is 7 for 'mu': expected 0"),
    "numbers for names": (
        put(f"{SET}/parameters", [1.0]),
        "/parameters has dtype float64: expected",
    ),
    "short state": (put("problem/state/velocity", np.zeros((2, 6))), r"expected \(3, 6\)"),
    "no status": (without("result/status"), "the dataset /result/status is missing"),
    "short impulses": (put("result/impulses", np.zeros((1, 3))), r"expected \(4, 3\), as the prob"),
    "no change": (
        without("result/body_velocity_change"),
        "/result/body_velocity_change is missing",
    ),
    "history": (put("result/history/columns", [b"a", b"b"]), "columns the names a, b"),
    "info": (put("result/info", b"{'a': 1}"), "/result/info: Expecting property name"),
    "deep info": (put("result/info", b"[" * 100_000), "/result/info: the JSON text is nested too"),
    "NaN in info": (put("result/info", b'{"a": NaN}'), "/result/info: NaN is not JSON"),
    "info as list": (put("result/info", b"[]"), "/result/info: the JSON text holds no object"),
    "array of info": (put("result/info", b'{"a": {"$array": 9}}'), "is 9, which has no meaning"),
    "tag of info": (put("result/info", b'{"a": {"$call": "x"}}'), "is 'x', which has no meaning"),
    "own b": (put("result/b", np.zeros(3)), r"/result/b has shape \(3,\): expected \(12,\)"),
    "own mu": (put("result/mu", [-1.0, 0, 0, 0]), "/result/mu has the entry -1: expected finite"),
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A file with a result of a problem with a state, and one of a given A."""
    folder = tmp_path_factory.mktemp("sound")
    cs.solve(thrown()).save(folder / "state.hdf5")
    cs.solve(any_pattern("sparse mass")).save(folder / "sparse.hdf5")
    cs.solve(grouped()).save(folder / "grouped.hdf5")
    return folder


def is_refused(load, source, path, change, message):
    """Copies a file to `path` and changes it: loading it then names the path, and what is wrong."""
    shutil.copy(source, path)
    with h5py.File(path, "r+") as file:
        change(file)
    with pytest.raises(ValueError, match=rf"^{re.escape(str(path))}: .*{message}"):
        load(path)


@pytest.mark.parametrize("case", BROKEN)
def test_wrong_contents_are_named(path, sound, case):
    is_refused(cs.load_result, sound / "state.hdf5", path, *BROKEN[case])


BROKEN_MATRICES = {
    "index": (poke("problem/A/indices", 1, 99), r"A\.indices\[1\] is 99"),
    "pointers": (poke("problem/A/indptr", 1, -4), r"A\.indptr\[1\] is -4"),
    "short A": (put(f"{GROUP}/b", np.zeros((1, 3))), "/problem/A has 6 rows, but /.*/b 3 entries"),
    "index of J": (poke("problem/J/indices", 0, 2**40), r"J\.indices\[0\] is 1099511627776"),
    "shape of J": (put("problem/J/shape", [6, -1]), r"/J/shape is \[6, -1\]: expected two sizes"),
    "rows of J": (put("problem/J/shape", [3, 5]), "/problem/J: "),
    "huge mass": (put("problem/mass/shape", [2**60, 2**60]), "/problem/mass: "),
    "no mass": (without("problem/mass"), "the dataset /problem/Minv is missing"),
}


@pytest.mark.parametrize("case", BROKEN_MATRICES)
def test_wrong_matrices_are_named(path, sound, case):
    is_refused(cs.load_problem, sound / "sparse.hdf5", path, *BROKEN_MATRICES[case])


# Runs in a process of its own, which a crash would end.
LOAD_ALL = """
import json, sys, warnings
import contactsolve as cs
warnings.simplefilter("ignore")
for path in sys.argv[1:]:
    try:
        result = cs.load_result(path)
        cs.solve(result.problem, max_iterations=2)
        if result._updates == result.problem.updates:
            result.check(), result.active, result.energy()
        outcome = "read", ""
    except Exception as error:
        outcome = type(error).__name__, str(error)
    print(json.dumps([path, *outcome]), flush=True)
"""


@pytest.mark.parametrize("name", ["state", "sparse", "grouped"])
def test_damaged_bytes_are_read_or_refused(tmp_path, sound, name):
    raw, rng = (sound / f"{name}.hdf5").read_bytes(), np.random.default_rng(len(name))
    paths = [tmp_path / f"{i}.hdf5" for i in range(60)]
    for i, damaged in enumerate(paths):
        changed = bytearray(raw)
        for place in rng.integers(len(raw), size=rng.choice([1, 5, 50])):
            changed[place] = rng.integers(256)
        damaged.write_bytes(changed if i % 3 else changed[: rng.integers(len(raw))])
    command = [sys.executable, "-P", "-c", LOAD_ALL, *map(str, paths)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    assert (done.returncode, done.stderr) == (0, "")
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(outcomes) == len(paths)
    for damaged, kind, text in outcomes:
        assert kind in ("read", "ValueError"), (damaged, kind, text)
        if kind == "ValueError":
            assert text.startswith(f"{damaged}: "), text
    assert {kind for _, kind, _ in outcomes} == {"read", "ValueError"}


# ---- the schema ---------------------------------------------------------------------------------


def test_the_documented_datasets_are_those_of_the_files(sound):
    """Every dataset and attribute of a file has its row in docs/files.md."""
    text = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
    text = text[: text.index("## A recording")]  # those are in dynamics/test_recording.py
    documented = set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))
    found = set()

    def collect(name, node):
        name = re.sub(r"values/\w+", "values/NAME", re.sub(r"/\d+", "/N", name))
        if isinstance(node, h5py.Dataset):
            found.add(name if name in documented else name.removesuffix("/N"))

    for name in ("state", "sparse", "grouped"):
        with h5py.File(sound / f"{name}.hdf5") as file:
            found.update(file.attrs)
            file.visititems(collect)
    assert found <= documented
    # What these files do not have.
    rest = {"problem/J", "problem/Minv", "problem/mass", "result/b", "result/mu"}
    assert documented - found == {*rest, "result/info_arrays/N"}


def test_names_that_are_none_or_no_text(tmp_path):
    problem = cs.scenarios.box_stack(1)
    problem.name = None
    problem.save(tmp_path / "none.hdf5")
    assert cs.load_problem(tmp_path / "none.hdf5").name == ""
    problem.name = "\ud800"
    with pytest.raises(ValueError, match="name cannot be saved: it is not a Unicode text"):
        problem.save(tmp_path / "half.hdf5")
    assert not (tmp_path / "half.hdf5").exists()
