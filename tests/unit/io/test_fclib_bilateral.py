"""Global FCLIB problems of bodies, with and without bilateral constraints."""

import h5py
import numpy as np
import pytest
import scipy.sparse

import contactsolve as cs
from contactsolve.io._bilateral import inverse_blocks


def chain(links=4, seed=0, dof=6):
    """Bodies in a row on balls, which touch the ground."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(links, 2, 3, dof))
    bodies = np.column_stack([np.full(links, -1), np.arange(links)])
    J[:, 0] = 0.0
    contacts = cs.Group(J, bodies, rng.normal(size=(links, 3)) - [1.0, 0, 0], 0.5)
    between = np.column_stack([np.arange(links - 1), np.arange(1, links)])
    joints = cs.Group(
        rng.normal(size=(links - 1, 2, 3, dof)), between, rng.normal(size=(links - 1, 3)),
        sets=cs.sets.free(),
    )  # fmt: skip
    half = rng.normal(size=(links, dof, dof))
    inverse = half @ half.transpose(0, 2, 1) + np.eye(dof)
    return cs.Problem(groups=[contacts, joints], bodies=[cs.Bodies(inverse)])


def matrix(file, name):
    """A matrix of a file, dense."""
    group = file[f"fclib_global/{name}"]
    shape = (int(group["m"][0]), int(group["n"][0]))
    arrays = (group["x"][()], group["i"][()], group["p"][()])
    return scipy.sparse.csr_array(arrays, shape=shape).toarray()


def tightly(problem):
    return cs.solve(problem, stop="fclib_error", atol=1e-11, rtol=None, max_iterations=100_000)


def test_joints_are_the_constraints_of_the_file(tmp_path):
    problem, path = chain(), tmp_path / "chain.hdf5"
    result = tightly(problem)
    assert result.converged
    cs.io.write_fclib(path, problem, result)
    with h5py.File(path) as file:
        M, H, G = (matrix(file, name) for name in "MHG")
        f, w, b = (file[f"fclib_global/vectors/{name}"][()] for name in "fwb")
        r, u, multipliers = (file[f"solution/{name}"][()] for name in "rul")

    # The equations of motion and the constraints, as the format has them.
    v = np.linalg.solve(M, H @ r + G @ multipliers + f)
    np.testing.assert_allclose(H.T @ v + w, u, atol=1e-9)
    np.testing.assert_allclose(G.T @ v + b, 0, atol=1e-9)


def test_reading_gives_the_problem_and_its_solution(tmp_path):
    problem, path = chain(), tmp_path / "chain.hdf5"
    result = tightly(problem)
    cs.io.write_fclib(path, problem, result)
    file = cs.io.read_fclib(path, details=True)
    assert file.kind == "global"
    assert file.problem.rows == [3, 3]
    difference = file.problem.delassus() - problem.delassus()
    assert abs(difference).max() <= 1e-13 * abs(problem.delassus()).max()
    for read, given in zip(file.problem.b, problem.b, strict=True):
        np.testing.assert_array_equal(read, given)
    for read, given in zip(file.solution.impulses, result.impulses, strict=True):
        np.testing.assert_array_equal(read, given)

    # Written again, the numbers of the problem are the same.
    again = tmp_path / "again.hdf5"
    cs.io.write_fclib(again, problem)
    assert cs.data.checksum(again) == cs.data.checksum(path)


def test_free_velocities_of_the_file_enter_b(tmp_path):
    problem, path = chain(), tmp_path / "chain.hdf5"
    cs.io.write_fclib(path, problem)
    f = np.random.default_rng(1).normal(size=problem.dof)
    with h5py.File(path, "r+") as file:
        file["fclib_global/vectors/f"][...] = f
        M, H, G = (matrix(file, name) for name in "MHG")
        w, b = (file[f"fclib_global/vectors/{name}"][()] for name in "wb")
    free = np.linalg.solve(M, f)
    read = cs.io.read_fclib(path)
    np.testing.assert_allclose(read.b[0].ravel(), H.T @ free + w, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(read.b[1].ravel(), G.T @ free + b, rtol=1e-10, atol=1e-12)


def test_a_mass_without_blocks_is_one_body(tmp_path):
    problem, path = chain(2), tmp_path / "robot.hdf5"
    rng = np.random.default_rng(0)
    half = rng.normal(size=(problem.dof, problem.dof))
    M = half @ half.T + np.eye(problem.dof)
    cs.io.write_fclib(path, problem)
    with h5py.File(path, "r+") as file:
        H, G = (matrix(file, name) for name in "HG")
        dense = scipy.sparse.csr_array(M)
        del file["fclib_global/M"]
        for name, value in (("m", [12]), ("n", [12]), ("nz", [-2]), ("nzmax", [144]),
                            ("p", dense.indptr), ("i", dense.indices)):  # fmt: skip
            file[f"fclib_global/M/{name}"] = np.asarray(value, dtype=np.int32)
        file["fclib_global/M/x"] = dense.data
    read = cs.io.read_fclib(path)
    J = np.hstack([H, G]).T
    np.testing.assert_allclose(read.delassus().toarray(), J @ np.linalg.solve(M, J.T), rtol=1e-8)


@pytest.mark.parametrize("dimension", [2, 3])
def test_bodies_without_joints_are_global_if_asked(tmp_path, dimension):
    scene = cs.scenarios.box_stack(3) if dimension == 3 else cs.scenarios.disc_pyramid(3)
    path = tmp_path / "stack.hdf5"
    cs.io.write_fclib(path, scene, kind="global")
    read = cs.io.read_fclib(path)
    difference = read.delassus() - scene.delassus()
    assert abs(difference).max() <= 1e-13 * abs(scene.delassus()).max()
    np.testing.assert_array_equal(read.b, scene.b)
    np.testing.assert_array_equal(read.mu, np.broadcast_to(scene.mu, scene.contacts))


def test_the_error_of_a_joint_is_its_velocity():
    problem = chain(3)
    zero = cs.solve(problem, method="gauss_seidel", max_iterations=0, record=("fclib_error",))
    contacts, joints = problem.b
    steps = []
    for b in contacts:
        # r = 0: the distance of -u~ from the cone.
        shifted = -b - [0.5 * np.linalg.norm(b[1:]), 0, 0]
        normal, tangent = shifted[0], np.linalg.norm(shifted[1:])
        if tangent <= 0.5 * normal:
            steps.append(np.linalg.norm(shifted))
        elif 0.5 * tangent <= -normal:
            steps.append(0.0)
        else:
            steps.append((normal + 0.5 * tangent) / np.sqrt(1.25))
    square = np.sum(np.square(steps)) + np.sum(joints**2)
    scale = np.sqrt(np.sum(contacts**2) + np.sum(joints**2))
    assert zero.history.last("fclib_error") == pytest.approx(np.sqrt(square) / scale, rel=1e-12)


def test_inverse_blocks():
    rng = np.random.default_rng(0)
    half = rng.normal(size=(5, 6, 6))
    blocks = half @ half.transpose(0, 2, 1) + 0.1 * np.eye(6)
    found = inverse_blocks(blocks)
    np.testing.assert_allclose(found @ blocks, np.broadcast_to(np.eye(6), blocks.shape), atol=1e-9)
    np.testing.assert_array_equal(found, found.transpose(0, 2, 1))
    blocks[3, 2] = blocks[3, :, 2] = 0.0
    with pytest.raises(ValueError, match="body 13 has no finite mass"):
        inverse_blocks(blocks, 10)


def joined(**options):
    """A contact and a joint of one body, with options of the joint."""
    J = np.zeros((1, 2, 3, 6))
    J[:, 1, :, :3] = np.eye(3)
    contact = cs.Group(J, [[-1, 0]], np.zeros((1, 3)), 0.5)
    settings = {"sets": cs.sets.free(), **options}
    joint = cs.Group(J, [[-1, 0]], np.zeros((1, 3)), **settings)
    return cs.Problem(groups=[contact, joint], bodies=[cs.Bodies(np.ones((1, 6)))])


@pytest.mark.parametrize(
    ("problem", "kind", "message"),
    [
        (joined(compliance=1e-3), "auto", "compliance in group 1: FCLIB holds rigid rows only"),
        (joined(), "local", "kind='local' holds no joints: kind='global' does"),
        (joined(sets=cs.sets.box(-1, 1)), "auto", "the set 'box': FCLIB holds Coulomb"),
        (
            cs.Problem.from_delassus(np.eye(3), np.ones((1, 3)), sets=cs.sets.free()),
            "auto",
            "no contacts with friction",
        ),
    ],
)
def test_what_the_format_does_not_hold(tmp_path, problem, kind, message):
    with pytest.raises(ValueError, match=message):
        cs.io.write_fclib(tmp_path / "a.hdf5", problem, kind=kind)
    assert not (tmp_path / "a.hdf5").exists()


def rewrite_mass(path, M):
    """Replaces M of a file."""
    M = scipy.sparse.csr_array(M)
    with h5py.File(path, "r+") as file:
        group = file["fclib_global/M"]
        del group["i"], group["p"], group["x"]
        group["i"], group["p"], group["x"] = M.indices, M.indptr, M.data
        group["nzmax"][()] = M.nnz


def test_one_triangle_of_the_mass_is_told(tmp_path):
    problem, path = chain(), tmp_path / "chain.hdf5"
    cs.io.write_fclib(path, problem)
    with h5py.File(path) as file:
        M = matrix(file, "M")
    rewrite_mass(path, np.tril(M))
    with pytest.warns(UserWarning, match=r"chain\.hdf5: one triangle of M is stored"):
        read = cs.io.read_fclib(path)
    np.testing.assert_allclose(
        read.delassus().toarray(), problem.delassus().toarray(), rtol=1e-9, atol=1e-12
    )


def test_zeros_are_no_solution_where_joints_move(tmp_path):
    """All contacts separate: only the joints tell a placeholder from a solution."""
    problem, path = joined(), tmp_path / "joined.hdf5"
    zeros = [np.zeros((1, 3)), np.zeros((1, 3))]
    cs.io.write_fclib(path, problem, cs.io.FclibPoint(zeros, zeros))
    assert cs.io.read_fclib(path, details=True).solution is not None
    problem.update(b=[np.zeros((1, 3)), np.ones((1, 3))])
    cs.io.write_fclib(path, problem, cs.io.FclibPoint(zeros, zeros), overwrite=True)
    assert cs.io.read_fclib(path, details=True).solution is None


def test_a_mass_that_is_no_body(tmp_path):
    path = tmp_path / "chain.hdf5"
    cs.io.write_fclib(path, chain(links=12))
    rewrite_mass(path, 72 * np.eye(72) + 1)
    with pytest.raises(ValueError, match=r"M of 72 degrees of freedom has no blocks of 6 or 3"):
        cs.io.read_fclib(path)


def test_files_that_are_wrong(tmp_path):
    path = tmp_path / "broken.hdf5"
    cs.io.write_fclib(path, chain())
    with h5py.File(path, "r+") as file:
        b = file["fclib_global/vectors/b"][()]
        del file["fclib_global/vectors/b"]
    with pytest.raises(ValueError, match=r"broken\.hdf5: .*vectors/b"):
        cs.io.read_fclib(path)
    with h5py.File(path, "r+") as file:
        file["fclib_global/vectors/b"] = b[:-1]
    with pytest.raises(ValueError, match=r"vectors/b has shape \(8,\): expected \(9,\)"):
        cs.io.read_fclib(path)
