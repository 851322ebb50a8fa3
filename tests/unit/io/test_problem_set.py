"""cs.data.problem_set: files, checksums and solutions of the problem set."""

import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest

import contactsolve as cs
from benchmark_scripts import importing_from
from contactsolve.data._problem_set import INDEX, read_index
from reference_numpy import cone_projection
from repository import BENCHMARKS

SHIPPED = cs.data.problem_set()
EVERY = read_index()


def error_of(problem, impulses):
    """The FCLIB error from A, b and the cones alone."""
    groups = list(zip(problem._groups, impulses if problem.grouped else [impulses], strict=True))
    r = np.concatenate([np.ravel(part) for _, part in groups])
    b = np.concatenate([np.ravel(part) for part in (problem.b if problem.grouped else [problem.b])])
    u = problem.delassus() @ r + b
    square, first = 0.0, 0
    for layout, _ in groups:
        rows = layout.rows
        mu = layout.set.parameters(layout.contacts, rows)
        for k in range(layout.contacts):
            own = slice(first + k * rows, first + (k + 1) * rows)
            if layout.set.name == "free":
                square += np.sum(u[own] ** 2)
                continue
            shifted = u[own].copy()
            shifted[0] += mu[k, 0] * np.linalg.norm(u[own][1:])
            square += np.sum((r[own] - cone_projection(r[own] - shifted, mu[k, 0])) ** 2)
        first += layout.contacts * rows
    return np.sqrt(square) / max(map(np.linalg.norm, (b, r, u)))


@pytest.mark.parametrize("entry", SHIPPED, ids=lambda entry: entry.name)
def test_a_shipped_problem(entry):
    entry.verify()
    problem = entry.load()
    assert problem.name == entry.name
    contacts = [one for one in problem._groups if one.set.name != "free"]
    joints = [one for one in problem._groups if one.set.name == "free"]
    assert sum(one.contacts for one in contacts) == entry.contacts
    assert sum(one.contacts * one.rows for one in joints) == entry.constraints
    assert {one.rows for one in contacts} == {entry.rows}

    # The solution, judged without the library; the last digits are those of the sums.
    assert entry.error <= 1e-10
    assert error_of(problem, entry.solution()) <= 1.2 * entry.error + 1e-14


@pytest.mark.parametrize("entry", SHIPPED[::6], ids=lambda entry: entry.name)
def test_the_file_tells_its_origin(entry):
    file = cs.io.read_fclib(entry.path, details=True)
    assert file.title == entry.name
    for told in (f"origin: {entry.origin};", f"seed: {entry.seed};", f"step: {entry.step};",
                 f"time step: {entry.time_step:.17g} s;", f"phase: {entry.phase};"):  # fmt: skip
        assert told in file.description


def test_the_set_is_as_large_and_hard_as_promised():
    scenes = {one.origin.split("(")[0] for one in EVERY}
    hard = [one for one in EVERY if one.sweeps is None or one.sweeps > 1000]
    assert len(EVERY) >= 200
    assert len(scenes) >= 10
    assert {one.phase for one in EVERY} == {"impact", "flow", "rest"}
    assert 2 * len(hard) >= len(EVERY)
    assert any(one.constraints for one in SHIPPED)
    assert len({one.name for one in EVERY}) == len({one.checksum for one in EVERY}) == len(EVERY)
    assert {one.name for one in EVERY if one.shipped} == {one.name for one in SHIPPED}


def test_what_is_shipped_is_small():
    folder = SHIPPED[0].path.parent
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 3_000_000


def test_choosing():
    chains = cs.data.problem_set(scene="hoisted_chain")
    assert chains
    assert all(one.name.startswith("hoisted_chain") for one in chains)
    impacts = cs.data.problem_set(phase="impact")
    assert impacts
    assert all(one.phase == "impact" for one in impacts)
    assert set(chains) < set(SHIPPED)


def test_a_folder_of_its_own(tmp_path):
    shutil.copy(SHIPPED[0].path.parent / INDEX, tmp_path)
    assert cs.data.problem_set(tmp_path) == ()
    shutil.copy(SHIPPED[3].path, tmp_path)
    (found,) = cs.data.problem_set(tmp_path)
    assert (found.name, found.path.parent) == (SHIPPED[3].name, tmp_path)
    found.verify()

    # One number is another one.
    with h5py.File(found.path, "r+") as file:
        (root,) = (name for name in file if name.startswith("fclib_"))
        file[f"{root}/vectors/mu"][0] += 1e-16 + np.spacing(file[f"{root}/vectors/mu"][0])
    with pytest.raises(ValueError, match=rf"{found.name}\.hdf5: checksum .*, expected"):
        found.verify()


def test_texts_and_solution_are_not_in_the_checksum(tmp_path):
    path = tmp_path / "copy.hdf5"
    shutil.copy(SHIPPED[0].path, path)
    with h5py.File(path, "r+") as file:
        (root,) = (name for name in file if name.startswith("fclib_"))
        del file["solution"], file[f"{root}/info/title"]
    assert cs.data.checksum(path) == SHIPPED[0].checksum


def test_wrong_arguments(tmp_path):
    with pytest.raises(ValueError, match="phase is 'fall': expected one of flow, impact, rest"):
        cs.data.problem_set(phase="fall")
    with pytest.raises(ValueError, match="scene is 'tower': expected one of arch, arch_24, ball_"):
        cs.data.problem_set(scene="tower")
    with pytest.raises(ValueError, match=r"folder .* has no index\.csv: it holds no problem set"):
        cs.data.problem_set(tmp_path)
    (tmp_path / INDEX).write_text("name,seed\nwinch,1\n")
    with pytest.raises(ValueError, match=r"index\.csv has no column 'checksum'"):
        cs.data.problem_set(tmp_path)
    with pytest.raises(ValueError, match=r"index\.csv: this is not an HDF5 file"):
        cs.data.checksum(tmp_path / INDEX)
    with h5py.File(tmp_path / "empty.hdf5", "w"):
        pass
    with pytest.raises(ValueError, match=r"empty\.hdf5: there are no numbers of an FCLIB problem"):
        cs.data.checksum(tmp_path / "empty.hdf5")
    missing = next(one for one in EVERY if not one.shipped)
    with pytest.raises(FileNotFoundError, match=missing.name):
        missing.load()


def generated(folder, *names):
    script = BENCHMARKS / "problem_set" / "problem_set.py"
    return subprocess.run(
        [sys.executable, script, "generate", folder, *names],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "name", ["overhanging_tower-s0", pytest.param("winch-s1", marks=pytest.mark.slow)]
)
def test_a_problem_that_is_generated_again_has_the_same_bits(tmp_path, name):
    done = generated(tmp_path, name)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {one.name: one for one in cs.data.problem_set(tmp_path)}
    wanted = {one.name: one for one in EVERY if one.name.startswith(name)}
    assert set(found) == set(wanted)
    assert len(wanted) >= 4
    for entry in found.values():
        assert entry.checksum == wanted[entry.name].checksum
        assert (entry.sweeps, entry.phase) == (wanted[entry.name].sweeps, wanted[entry.name].phase)
        entry.verify()


SICONOS = """
import sys, numpy as np, siconos.numerics as sn
from scipy import sparse
if hasattr(sn, "frictionContact_fclib_read"):
    problem = sn.frictionContact_fclib_read(sys.argv[1])
else:  # Siconos without FCLIB, as Debian builds it
    file = np.load(sys.argv[2])
    W = sparse.csr_matrix(tuple(file[name] for name in "xip"))
    problem = sn.FrictionContactProblem(3, len(file["mu"]), W, file["q"], file["mu"])
size = 3 * problem.numberOfContacts
r, u = np.zeros(size), np.zeros(size)
options = sn.SolverOptions(sn.SICONOS_FRICTION_3D_NSGS)
options.dparam[sn.SICONOS_DPARAM_TOL] = 1e-9
options.iparam[sn.SICONOS_IPARAM_MAX_ITER] = 100000
sn.numerics_set_verbose(0)
print(sn.fc3d_nsgs(problem, r, u, options))
np.save(sys.argv[3], r)
"""


@pytest.mark.slow
def test_siconos_solves_what_it_reads(tmp_path):
    with importing_from(BENCHMARKS / "convergence"):
        import peers

        python = peers._siconos_python()
    if python is None:
        pytest.skip("Siconos is not installed")
    spatial = [one for one in SHIPPED if one.kind == "local" and one.rows == 3 and one.sweeps]
    entry, found = min(spatial, key=lambda one: one.sweeps), tmp_path / "r.npy"

    # The Python of Siconos need not have h5py: it gets the arrays of the file as they are.
    arrays = tmp_path / "arrays.npz"
    with h5py.File(entry.path) as file:
        root = file["fclib_local"]
        matrix = {name: root[f"W/{name}"][()] for name in "xip"}
        np.savez(arrays, **matrix, q=root["vectors/q"][()], mu=root["vectors/mu"][()])

    done = subprocess.run(
        [python, "-c", SICONOS, entry.path, arrays, found],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.strip().endswith("0"), done.stdout + done.stderr
    problem = entry.load()
    assert error_of(problem, np.load(found).reshape(-1, 3)) <= 1e-7
