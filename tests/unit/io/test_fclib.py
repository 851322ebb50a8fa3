"""FCLIB files, read and written; the files here are made with h5py alone, or are real ones."""

import shutil
import sys

import h5py
import numpy as np
import pytest
import scipy.sparse

import contactsolve as cs
from repository import FCLIB

GLOBAL = [
    FCLIB / f"{name}.hdf5"
    for name in (
        "Box_Stacks-i0122-82-5",
        "Chute-ndof-768-nc-4-3",
        "LMGC_GlobalFrictionContactProblem00046",
    )
]
REAL = sorted(set(FCLIB.glob("*.hdf5")) - set(GLOBAL))
SHIPPED = [cs.data.path(name) for name in cs.data.names()]

INTEGERS = ["spacedim", "W/m", "W/n", "W/nz", "W/nzmax", "W/p", "W/i"]
FLOATS = ["W/x", "vectors/q", "vectors/mu"]


def example(rows, contacts=5, seed=0):
    """An unsymmetric matrix with empty places, q and mu."""
    generator = np.random.default_rng(seed)
    size = rows * contacts
    W = generator.normal(size=(size, size))
    W[generator.random((size, size)) < 0.5] = 0.0
    W += np.diag(np.full(size, 10.0))
    return W, generator.normal(size=size), generator.random(contacts)


def compressed(dense):
    """Pointers, indices and values of the rows of a dense matrix."""
    where = [np.flatnonzero(row) for row in dense]
    pointers = np.concatenate(([0], np.cumsum([len(columns) for columns in where])))
    return pointers, np.concatenate(where), dense[dense != 0]


def storages(W):
    """The same matrix in each storage: nz, p, i, x."""
    generator = np.random.default_rng(1)
    row, column = np.nonzero(W)
    shuffled = generator.permutation(len(row))
    row, column = row[shuffled], column[shuffled]
    return {
        "rows": (-2, *compressed(W)),
        "columns": (-1, *compressed(W.T)[:2], W.T[W.T != 0]),
        "triplets": (len(row), column, row, W[row, column]),
    }


def write_raw(path, W, q, mu, rows, storage="rows", room=0, **extra):
    """A file as FCLIB's own writer lays it out, with `room` unused entries at the end."""
    nz, p, i, x = storages(W)[storage]
    with h5py.File(path, "w") as file:
        scalars = {"m": len(W), "n": len(W), "nz": nz, "nzmax": len(x) + room}
        for name, value in scalars.items():
            file[f"fclib_local/W/{name}"] = np.array([value], dtype=np.int32)
        file["fclib_local/W/p"] = np.asarray(p, dtype=np.int32)
        file["fclib_local/W/i"] = np.append(i, [-7] * room).astype(np.int32)
        file["fclib_local/W/x"] = np.append(x, [np.nan] * room)
        file["fclib_local/vectors/q"] = q
        file["fclib_local/vectors/mu"] = mu
        file["fclib_local/spacedim"] = np.array([rows], dtype=np.int32)
        for name, value in extra.items():
            file[name.replace("__", "/")] = value
    return path


def dense(problem):
    data, indices, indptr = problem.delassus_csr()
    size = problem.contacts * problem.rows
    out = np.zeros((size, size))
    np.add.at(out, (np.repeat(np.arange(size), np.diff(indptr)), indices), data)
    return out


def raw(path):
    """Every number of the problem as bytes, with its type and shape."""
    with h5py.File(path) as file:
        group = file["fclib_local"]
        return {name: (group[name].dtype, group[name][()]) for name in INTEGERS + FLOATS}


def assert_same_bits(one, other):
    for name, (dtype, values) in raw(one).items():
        other_dtype, other_values = raw(other)[name]
        assert dtype == other_dtype == (np.float64 if name in FLOATS else np.int32), name
        assert values.shape == other_values.shape, name
        assert values.tobytes() == other_values.tobytes(), name


@pytest.mark.parametrize("room", [0, 3])
@pytest.mark.parametrize("rows", [2, 3])
@pytest.mark.parametrize("storage", ["rows", "columns", "triplets"])
def test_every_storage(tmp_path, storage, rows, room):
    W, q, mu = example(rows)
    problem = cs.io.read_fclib(
        write_raw(tmp_path / "scene.one.hdf5", W, q, mu, rows, storage=storage, room=room)
    )
    assert (problem.contacts, problem.rows, problem.name) == (5, rows, "scene.one")
    np.testing.assert_array_equal(dense(problem), W)
    np.testing.assert_array_equal(problem.b, q.reshape(5, rows))
    np.testing.assert_array_equal(problem.mu, mu)


def test_repeated_triplets_are_added(tmp_path):
    W, q, mu = example(3)
    path = write_raw(tmp_path / "a.hdf5", W, q, mu, 3, storage="triplets")
    with h5py.File(path, "r+") as file:
        group = file["fclib_local/W"]
        row, column, values = group["i"][()], group["p"][()], group["x"][()]
        for name, array in (("i", row), ("p", column), ("x", values / 2)):
            del group[name]
            group[name] = np.concatenate((array, array))
        group["nz"][0] = group["nzmax"][0] = 2 * len(values)
    np.testing.assert_array_equal(dense(cs.io.read_fclib(path)), W)


@pytest.mark.parametrize("path", REAL + SHIPPED, ids=lambda path: path.name)
def test_real_files_come_back_bit_for_bit(tmp_path, path):
    there = cs.io.read_fclib(path, details=True)
    copy = tmp_path / "copy.hdf5"
    cs.io.write_fclib(
        copy,
        there.problem,
        title=there.title,
        description=there.description,
        math_info=there.math_info,
    )
    assert_same_bits(path, copy)
    back = cs.io.read_fclib(copy, details=True)
    for name in ("title", "description", "math_info"):
        assert getattr(there, name) == getattr(back, name) != ""


def test_extreme_values_come_back_bit_for_bit(tmp_path):
    W, q, mu = example(3)
    W[0, 1], W[1, 0], W[2, 2] = 5e-324, 1.7976931348623157e308, 1 / 3
    q[:3] = -0.0, 2.2250738585072014e-308, np.nextafter(1.0, 2.0)
    mu[0] = 0.0
    path = write_raw(tmp_path / "a.hdf5", W, q, mu, 3)
    cs.io.write_fclib(tmp_path / "b.hdf5", cs.io.read_fclib(path))
    assert_same_bits(path, tmp_path / "b.hdf5")


def test_stored_zeros_keep_their_place(tmp_path):
    W, q, mu = example(3)
    path = write_raw(tmp_path / "a.hdf5", W, q, mu, 3)
    with h5py.File(path, "r+") as file:
        file["fclib_local/W/x"][3:5] = 0.0
    cs.io.write_fclib(tmp_path / "b.hdf5", cs.io.read_fclib(path))
    assert_same_bits(path, tmp_path / "b.hdf5")


def test_no_contacts(tmp_path):
    path = write_raw(tmp_path / "a.hdf5", *example(3, contacts=1), 3)
    with h5py.File(path, "r+") as file:
        for name in ("W/p", "W/i", "W/x", "vectors/q", "vectors/mu"):
            old = file[f"fclib_local/{name}"][()]
            del file[f"fclib_local/{name}"]
            file[f"fclib_local/{name}"] = old[: 1 if name == "W/p" else 0]
        for name in ("m", "n", "nzmax"):
            file[f"fclib_local/W/{name}"][0] = 0
    problem = cs.io.read_fclib(path)
    assert problem.contacts == 0
    cs.io.write_fclib(tmp_path / "b.hdf5", problem)
    assert_same_bits(path, tmp_path / "b.hdf5")


def test_a_problem_of_bodies_is_written_through_its_matrix(tmp_path):
    problem = cs.scenarios.box_stack(3)
    cs.io.write_fclib(tmp_path / "stack.hdf5", problem)
    there = cs.io.read_fclib(tmp_path / "stack.hdf5", details=True)
    J = np.zeros((36, 18))
    for k, pair in enumerate(problem.bodies):
        for side, body in enumerate(pair):
            if body >= 0:
                J[3 * k : 3 * k + 3, 6 * body : 6 * body + 6] = problem.J[k, side]
    expected = J * problem.Minv.reshape(-1) @ J.T
    np.testing.assert_allclose(dense(there.problem), expected, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(there.problem.b, problem.b)
    assert there.title == "box_stack 3"
    assert there.attributes["info"]["numberOfInvolvedDS"] == 3


def test_texts_have_the_null_that_c_readers_rely_on(tmp_path):
    problem = cs.scenarios.box_stack(1)
    path = tmp_path / "a.hdf5"
    cs.io.write_fclib(path, problem, title="boxes", description="two\nlines, µ", math_info="")
    with h5py.File(path) as file:
        for name, length in (("title", 6), ("description", 14), ("math_info", 1)):
            kind = file[f"fclib_local/info/{name}"].id.get_type()
            assert kind.get_strpad() == h5py.h5t.STR_NULLTERM
            assert kind.get_size() == length
            assert not kind.is_variable_str()
    back = cs.io.read_fclib(path, details=True)
    assert (back.title, back.description, back.math_info) == ("boxes", "two\nlines, µ", "")


class TestSolutionsAndGuesses:
    def test_a_result_is_written_and_read_back(self, tmp_path):
        problem = cs.io.read_fclib(cs.data.path("Box_Stacks-i0122-82-5.reduced_local"))
        result = cs.solve(problem, max_iterations=20)
        cs.io.write_fclib(tmp_path / "a.hdf5", problem, result)
        with h5py.File(tmp_path / "a.hdf5") as file:
            assert file["solution/r"][()].tobytes() == result.impulses.tobytes()
            assert file["solution/u"][()].tobytes() == result.residual_velocities.tobytes()
        solution = cs.io.read_fclib(tmp_path / "a.hdf5", details=True).solution
        np.testing.assert_array_equal(solution.impulses, result.impulses)
        np.testing.assert_array_equal(solution.residual_velocities, result.residual_velocities)

    def test_what_was_read_can_be_written(self, tmp_path):
        W, q, mu = example(2)
        r, u = np.arange(10.0), np.arange(10.0) - 5
        path = write_raw(tmp_path / "a.hdf5", W, q, mu, 2, solution__r=r, solution__u=u)
        there = cs.io.read_fclib(path, details=True)
        np.testing.assert_array_equal(there.solution.impulses, r.reshape(5, 2))
        np.testing.assert_array_equal(there.solution.residual_velocities, u.reshape(5, 2))
        cs.io.write_fclib(tmp_path / "b.hdf5", there.problem, there.solution)
        with h5py.File(tmp_path / "b.hdf5") as file:
            np.testing.assert_array_equal(file["solution/r"], r)
            np.testing.assert_array_equal(file["solution/u"], u)

    def test_zero_impulses_are_no_solution_where_a_contact_closes(self, tmp_path):
        W, q, mu = example(3)
        q[0::3] = 1.0
        q[3] = -1e-9
        zeros = np.zeros(15)
        path = write_raw(tmp_path / "a.hdf5", W, q, mu, 3, solution__r=zeros, solution__u=q)
        assert cs.io.read_fclib(path, details=True).solution is None

    def test_zero_impulses_are_the_solution_where_no_contact_closes(self, tmp_path):
        W, q, mu = example(3)
        q[0::3] = np.arange(5.0)
        zeros = np.zeros(15)
        path = write_raw(tmp_path / "a.hdf5", W, q, mu, 3, solution__r=zeros, solution__u=q)
        solution = cs.io.read_fclib(path, details=True).solution
        np.testing.assert_array_equal(solution.impulses, np.zeros((5, 3)))

    def test_guesses_start_a_solve(self, tmp_path):
        guesses = {f"guesses__{k}__{name}": np.full(15, k) + 0.5 for k in (1, 2) for name in "ru"}
        path = write_raw(
            tmp_path / "a.hdf5", *example(3), 3, guesses__number_of_guesses=[2], **guesses
        )
        there = cs.io.read_fclib(path, details=True)
        assert [guess.impulses[0, 0] for guess in there.guesses] == [1.5, 2.5]
        start = there.guesses[1]
        result = cs.solve(there.problem, initial=start.impulses, max_iterations=0)
        np.testing.assert_array_equal(result.impulses, start.impulses)

    def test_without_any(self):
        there = cs.io.read_fclib(REAL[0], details=True)
        assert (there.guesses, there.solution) == ((), None)

    def test_a_result_of_another_problem_is_refused(self, tmp_path):
        point = cs.io.FclibPoint(np.zeros((4, 3)), np.zeros((4, 3)))
        with pytest.raises(
            ValueError, match=r"result\.impulses has shape \(4, 3\): expected \(8, "
        ):
            cs.io.write_fclib(tmp_path / "a.hdf5", cs.scenarios.box_stack(2), point)
        assert not list(tmp_path.iterdir())


def test_attributes_are_read(tmp_path):
    path = write_raw(tmp_path / "a.hdf5", *example(3), 3)
    with h5py.File(path, "r+") as file:
        file["fclib_local/W"].attrs["rank"] = 12
        file.create_group("fclib_local/info").attrs["numberOfInvolvedDS"] = 99
    there = cs.io.read_fclib(path, details=True)
    assert there.attributes == {"W": {"rank": 12}, "info": {"numberOfInvolvedDS": 99}}


def replace(name, value):
    def change(file):
        if name in file:
            del file[name]
        if value is not None:
            file[name] = value

    return change


def poke(name, index, value):
    def change(file):
        file[name][index] = value

    return change


def rename(name, new):
    def change(file):
        file.move(name, new)

    return change


MATRIX, VECTORS = "fclib_local/W", "fclib_local/vectors"
BROKEN = [
    (replace(f"{VECTORS}/q", None), "the dataset /fclib_local/vectors/q is missing"),
    (replace(f"{VECTORS}/mu", None), "the dataset /fclib_local/vectors/mu is missing"),
    (replace(MATRIX, None), "the dataset /fclib_local/W/m is missing"),
    (replace("fclib_local/spacedim", None), "the dataset /fclib_local/spacedim is missing"),
    (replace("fclib_local/spacedim", [5]), "/fclib_local/spacedim is 5: expected 2 or 3"),
    (replace("fclib_local/spacedim", [3, 3]), r"spacedim has shape \(2,\): expected one number"),
    (replace("fclib_local/spacedim", [3.0]), "spacedim has dtype float64: expected integers"),
    (
        replace(f"{VECTORS}/q", np.zeros(14)),
        r"q has shape \(14,\): expected \(15,\), the order of W",
    ),
    (replace(f"{VECTORS}/q", np.zeros((5, 3))), r"q has shape \(5, 3\): expected one dimension"),
    (
        replace(f"{VECTORS}/mu", np.zeros(4)),
        r"mu has shape \(4,\): expected \(5,\), the number of con",
    ),
    (replace(f"{VECTORS}/mu", [0] * 5), "mu has dtype int64: expected floating-point numbers"),
    (poke(f"{MATRIX}/n", 0, 12), "/fclib_local/W is 15 x 12: expected a square matrix"),
    (replace("fclib_local/spacedim", [2]), "W is 15 x 15: .* multiple of the 2 rows of a contact"),
    (poke(f"{MATRIX}/nz", 0, -3), "/fclib_local/W/nz is -3: expected -2"),
    (poke(f"{MATRIX}/p", 0, 1), "/fclib_local/W/p does not ascend from 0"),
    (poke(f"{MATRIX}/p", 3, 0), "/fclib_local/W/p does not ascend from 0"),
    (
        replace(f"{MATRIX}/p", np.arange(15)),
        r"/fclib_local/W/p has shape \(15,\): expected \(16,\)",
    ),
    (poke(f"{MATRIX}/i", 4, 15), r"/fclib_local/W/i\[4\] is 15: expected 0 to 14"),
    (poke(f"{MATRIX}/i", 4, -1), r"/fclib_local/W/i\[4\] is -1: expected 0 to 14"),
    (
        replace(f"{MATRIX}/x", np.zeros(3)),
        r"/fclib_local/W/x has shape \(3,\): expected \d+ entries",
    ),
    (replace(f"{MATRIX}/i", [0, 1]), r"/fclib_local/W/i has shape \(2,\): expected \d+ entries"),
    (replace("solution/u", np.zeros(15)), "the dataset /solution/r is missing"),
    (replace("guesses/number_of_guesses", [1]), "the dataset /guesses/1/r is missing"),
    (rename("fclib_local", "fclib_global"), "the dataset /fclib_global/M/m is missing"),
    (
        rename("fclib_local", "fclib_global_rolling"),
        "/fclib_global_rolling/spacedim is 3: expected 5",
    ),
    (
        rename("fclib_local", "fclib_local_rolling"),
        "/fclib_local_rolling is a kind of problem that is not supported",
    ),
    (replace(f"{VECTORS}/mu_r", np.zeros(5)), "a local rolling friction problem, not supported"),
    (replace("fclib_local/V/m", [1]), r"bilateral constraints \(/fclib_local/V\), .* supported"),
    (
        rename("fclib_local", "elsewhere"),
        "no /fclib_local or /fclib_global group: not an FCLIB problem",
    ),
]


@pytest.mark.parametrize(("change", "message"), BROKEN)
def test_errors_name_the_file_and_the_dataset(tmp_path, change, message):
    path = write_raw(tmp_path / "broken.hdf5", *example(3), 3)
    cs.io.read_fclib(path, details=True)
    with h5py.File(path, "r+") as file:
        change(file)
    with pytest.raises(ValueError, match=rf"broken\.hdf5: .*{message}"):
        cs.io.read_fclib(path, details=True)


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.hdf5 does not exist"):
        cs.io.read_fclib(tmp_path / "nothing.hdf5")
    (tmp_path / "text.hdf5").write_text("no HDF5", encoding="utf-8")
    with pytest.raises(ValueError, match=r"text\.hdf5: this is not an HDF5 file"):
        cs.io.read_fclib(tmp_path / "text.hdf5")
    with pytest.raises(ValueError, match="this is not an HDF5 file"):
        cs.io.read_fclib(tmp_path)


def test_an_existing_file_is_kept_unless_told_otherwise(tmp_path):
    path = tmp_path / "a.hdf5"
    cs.io.write_fclib(path, cs.scenarios.box_stack(1))
    with pytest.raises(FileExistsError, match="overwrite=True"):
        cs.io.write_fclib(path, cs.scenarios.box_stack(2))
    assert cs.io.read_fclib(path).contacts == 4
    with pytest.raises(ValueError, match="title contains a null character"):
        cs.io.write_fclib(path, cs.scenarios.box_stack(2), title="a\0b", overwrite=True)
    assert cs.io.read_fclib(path).contacts == 4
    cs.io.write_fclib(path, cs.scenarios.box_stack(2), overwrite=True)
    assert cs.io.read_fclib(path).contacts == 8


def test_problems_the_format_cannot_hold(tmp_path):
    with pytest.raises(
        ValueError, match="has the set 'half_line': FCLIB holds Coulomb and rolling"
    ):
        cs.io.write_fclib(tmp_path / "a.hdf5", cs.scenarios.ball_grid(2, rows=1))
    assert not list(tmp_path.iterdir())


def test_without_h5py_the_message_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match=r"pip install 'contactsolve\[io\]'"):
        cs.io.read_fclib(REAL[0])
    with pytest.raises(ImportError, match=r"pip install 'contactsolve\[io\]'"):
        cs.io.write_fclib(tmp_path / "a.hdf5", cs.scenarios.box_stack(1))


class TestShippedData:
    def test_names_lead_to_files(self):
        names = cs.data.names()
        assert names == ("Box_Stacks-i0122-82-5.reduced_local", "Capsules-i100-1090")
        contacts = [cs.io.read_fclib(cs.data.path(name)).contacts for name in names]
        assert contacts == [82, 276]
        assert cs.data.path(names[0] + ".hdf5") == cs.data.path(names[0])

    def test_unknown_names_are_refused_with_the_known_ones(self):
        with pytest.raises(ValueError, match=r"'Kaplas': expected one of Box_Stacks.*, Capsules"):
            cs.data.path("Kaplas")

    def test_licence_and_origin_are_there(self):
        folder = cs.data.path(cs.data.names()[0]).parent
        assert "Apache License" in (folder / "LICENSE.fclib").read_text(encoding="utf-8")
        for name in cs.data.names():
            assert name in (folder / "README.md").read_text(encoding="utf-8")


def read_global(path):
    """A global problem; the one file with half a mass matrix says so."""
    if "LMGC_Global" not in path.name:
        return cs.io.read_fclib(path, details=True)
    with pytest.warns(UserWarning, match="one triangle of M is stored; its mirror image"):
        return cs.io.read_fclib(path, details=True)


@pytest.mark.parametrize("path", GLOBAL, ids=lambda path: path.name)
class TestGlobalFiles:
    def test_equations(self, path):
        """M v = H r + f and u = H^T v + w, at an arbitrary r."""
        problem = read_global(path).problem
        M, J, state = problem.mass_matrix, problem.J, problem.state
        r = np.random.default_rng(0).standard_normal(problem.contacts * problem.rows)
        v = np.linalg.solve(M.toarray(), J.T @ r + state.impulse)
        u = J @ v + state.drive.ravel()
        xi = problem.delassus() @ r + problem.b.ravel()
        np.testing.assert_allclose(xi, u, rtol=0, atol=1e-11 * np.abs(u).max())
        symmetric = abs(M - M.T).max() == 0
        assert symmetric == ("Chute" not in path.name)
        assert (problem.info["asymmetry"] < 1e-12) == symmetric

    def test_round_trip(self, tmp_path, path):
        there = read_global(path)
        copy = tmp_path / "copy.hdf5"
        cs.io.write_fclib(copy, there.problem, title=there.title, description=there.description)
        back = cs.io.read_fclib(copy, details=True)
        assert (back.kind, back.title, back.description) == (
            there.kind,
            there.title,
            there.description,
        )
        one, two = there.problem, back.problem
        for name in ("mass_matrix", "J"):
            first, second = (scipy.sparse.csr_array(getattr(x, name)) for x in (one, two))
            for part in ("data", "indices", "indptr"):
                np.testing.assert_array_equal(getattr(first, part), getattr(second, part))
        np.testing.assert_array_equal(one.state.impulse, two.state.impulse)
        np.testing.assert_array_equal(one.state.drive, two.state.drive)
        np.testing.assert_array_equal(
            one.sets.parameters(one.contacts, one.rows), two.sets.parameters(two.contacts, two.rows)
        )

    def test_it_is_solved(self, path):
        problem = read_global(path).problem
        result = cs.solve(problem, rtol=1e-6, max_iterations=5000, record=("fclib_error",))
        assert result.converged
        assert result.history.last("fclib_error") < 1e-4
        np.testing.assert_allclose(result.velocities, result.residual_velocities, atol=1e-9)


@pytest.mark.parametrize(
    ("whole", "reduced"),
    [
        ("Box_Stacks-i0122-82-5", "Box_Stacks-i0122-82-5.reduced_local"),
        ("LMGC_GlobalFrictionContactProblem00046", "LMGC_GFC3D_FEM-00046.reduced_local"),
    ],
)
def test_global_problems_equal_their_reductions(whole, reduced):
    problem = read_global(FCLIB / f"{whole}.hdf5").problem
    local = cs.io.read_fclib(FCLIB / f"{reduced}.hdf5")
    W = local.delassus().toarray()
    difference = problem.delassus().toarray() - W
    assert np.abs(difference).max() <= 1e-14 * np.abs(W).max()
    np.testing.assert_allclose(problem.b, local.b, rtol=0, atol=1e-14 * np.abs(local.b).max())


def test_global_files_that_are_wrong(tmp_path):
    path = tmp_path / "broken.hdf5"
    shutil.copy(GLOBAL[0], path)
    with h5py.File(path, "r+") as file:
        file["fclib_global/G/m"] = np.array([1], dtype=np.int32)
        file["fclib_global/G/n"] = np.array([2], dtype=np.int32)
    with pytest.raises(ValueError, match=r"broken\.hdf5: /fclib_global/G is 1 x 2: expected"):
        cs.io.read_fclib(path)
    with pytest.raises(ValueError, match="kind: 'both' is unknown; known: auto, local, global"):
        cs.io.write_fclib(tmp_path / "a.hdf5", cs.scenarios.box_stack(1), kind="both")
    given = cs.Problem.from_delassus(np.eye(3), np.zeros(3), 0.5)
    with pytest.raises(ValueError, match="kind='global' needs bodies, or a problem built by"):
        cs.io.write_fclib(tmp_path / "a.hdf5", given, kind="global")
    rolling = cs.io.read_fclib(GLOBAL[1])
    with pytest.raises(ValueError, match="rolling friction in global problems only"):
        cs.io.write_fclib(tmp_path / "a.hdf5", rolling, kind="local")


def test_other_friction_than_coulombs_is_not_written(tmp_path):
    problem = cs.Problem.from_delassus(np.eye(3), np.ones((1, 3)), sets=cs.sets.box_friction(0.5))
    with pytest.raises(ValueError, match="'box_friction': FCLIB holds Coulomb and rolling"):
        cs.io.write_fclib(tmp_path / "box.hdf5", problem)
    assert not list(tmp_path.iterdir())
