"""Files of many ranks: what they hold, on any number of ranks and on one process; damage."""

from __future__ import annotations

import os
import re

import h5py
import numpy as np
import pytest

import contactsolve as cs
from contactsolve.distributed._checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from distributed_problems import PROBLEMS, assert_shares, movable, random_labels
from ranks import RanksError, on_ranks, refused
from repository import ROOT

distributed = cs.distributed


def save(comm, path, problem, labels, parts=5, overwrite=False):
    found = distributed.scatter(problem, labels=labels, parts=parts, comm=comm)
    found.save(path, overwrite=overwrite)
    return found.share


def assert_same(found: cs.Problem, problem: cs.Problem) -> None:
    for g, layout in enumerate(problem._groups):
        for read in ("jacobian", "b", "bodies"):
            ours, theirs = getattr(found._core, read)(g), getattr(problem._core, read)(g)
            assert ours.tobytes() == theirs.tobytes()
        ours = found._groups[g].set
        assert ours.name == layout.set.name
        own = ours.parameters(*layout.shape)
        assert own.tobytes() == layout.set.parameters(*layout.shape).tobytes()
        ours, theirs = found._core.compliance(g), problem._core.compliance(g)
        assert (ours is None) == (theirs is None)
        assert theirs is None or ours.tobytes() == theirs.tobytes()
    for ours, theirs in zip(found._inverse_masses(), problem._inverse_masses(), strict=True):
        assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_of_many_ranks_is_read_by_others_and_by_one_process(tmp_path, name):
    problem, path = PROBLEMS[name](), tmp_path / "whole.hdf5"
    labels = random_labels(problem, 5)
    on_ranks(3, save, path, problem, labels)
    assert len(list(tmp_path.iterdir())) == 4
    loaded = cs.load_problem(path)
    assert loaded.name == problem.name
    assert_same(loaded, problem)
    for size in (1, 2, 5):
        found = on_ranks(size, lambda comm: distributed.read(path, comm=comm))
        assert [one.parts for one in found] == [5] * size
        assert_shares(problem, labels, 5, [one.share for one in found])


@pytest.mark.parametrize("name", PROBLEMS)
def test_files_of_one_process_are_read_in_ranges(tmp_path, name):
    problem, path = PROBLEMS[name](), tmp_path / "one.hdf5"
    problem.save(path)
    labels = random_labels(problem, 4)

    def read(comm):
        return distributed.read(path, labels=labels, parts=4, comm=comm).share

    assert_shares(problem, labels, 4, on_ranks(3, read))
    natural = on_ranks(2, lambda comm: distributed.read(path, comm=comm, parts=3).gather_labels())
    assert set(natural[0][movable(problem)[:-1]].tolist()) <= {0, 1, 2}


def test_sets_with_bounds_and_shapes_are_read_in_ranges(tmp_path):
    rng = np.random.default_rng(0)
    J, bodies, b = (
        rng.normal(size=(9, 2, 3, 3)),
        rng.integers(0, 6, (9, 2)),
        rng.normal(size=(9, 3)),
    )
    polygon = np.array([[-1.0, -1.0], [1.0, -1.0], [0.0, 2.0]])
    for number, feasible in enumerate(
        [
            cs.sets.box(-1.0, [1.0, 2.0, 3.0]),
            cs.sets.box(rng.uniform(-2, -1, (9, 3)), 5.0),
            cs.sets.disc(rng.uniform(0, 1, 9)),
            cs.sets.polygon(vertices=polygon),
        ]
    ):
        problem = cs.Problem(J, np.ones((6, 3)), b, bodies=bodies, sets=feasible)
        problem.save(tmp_path / f"{number}.hdf5")

        def read(comm, n=number):
            return distributed.read(tmp_path / f"{n}.hdf5", comm=comm).gather()

        for found in on_ranks(2, read):
            assert_same(found, problem)


def test_files_may_be_read_from_another_folder(tmp_path, monkeypatch):
    problem = cs.scenarios.box_stack(2)
    on_ranks(2, save, tmp_path / "whole.hdf5", problem, np.array([0, 4]))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert_same(cs.load_problem(os.path.join("..", "whole.hdf5")), problem)


def test_a_replaced_file_takes_its_ranks_files_with_it(tmp_path):
    problem, path = cs.scenarios.box_stack(2), tmp_path / "whole.hdf5"
    on_ranks(3, save, path, problem, np.array([0, 4]))
    first = {one.name for one in tmp_path.iterdir()}
    error = refused(2, save, path, problem, np.array([0, 4]))
    assert isinstance(error, FileExistsError)
    assert "pass overwrite=True" in str(error)
    assert {one.name for one in tmp_path.iterdir()} == first
    on_ranks(2, save, path, cs.scenarios.box_stack(3), np.array([0, 4, 2]), 5, True)
    second = {one.name for one in tmp_path.iterdir()}
    assert len(second) == 3
    assert first & second == {"whole.hdf5"}
    assert cs.load_problem(path).contacts == 12


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    problem, path = cs.scenarios.box_stack(2), tmp_path / "whole.hdf5"
    create = h5py.Group.create_dataset

    def full(group, name, *args, **keywords):
        if ".0001." in group.file.filename and name.endswith("/b"):
            raise OSError("no space left on device")
        return create(group, name, *args, **keywords)

    monkeypatch.setattr(h5py.Group, "create_dataset", full)
    error = refused(3, save, path, problem, np.array([0, 4]))
    assert isinstance(error, OSError)
    assert str(error) == "rank 1: no space left on device"
    assert list(tmp_path.iterdir()) == []
    missing = refused(2, save, tmp_path / "none" / "whole.hdf5", problem, np.array([0, 4]))
    assert isinstance(missing, FileNotFoundError)


def test_missing_and_other_files_of_ranks_are_named(tmp_path):
    problem, path = cs.scenarios.box_stack(3), tmp_path / "whole.hdf5"
    on_ranks(3, save, path, problem, np.array([0, 4, 2]))
    second = next(tmp_path.glob("*.0001.hdf5"))
    kept = second.read_bytes()

    def read(comm):
        return distributed.read(path, comm=comm)

    second.unlink()
    with pytest.raises(ValueError, match=rf"needs the file {second.name}, which does not exist"):
        cs.load_problem(path)
    assert "which does not exist" in str(refused(2, read))
    second.write_bytes(kept[:300])
    with pytest.raises(ValueError, match=f"in {second.name} cannot be read"):
        cs.load_problem(path)
    on_ranks(1, save, second, cs.scenarios.box_stack(2), np.array([0, 0]), 1, True)
    with pytest.raises(ValueError, match="which has"):
        cs.load_problem(path)
    second.write_bytes(kept)
    assert_same(cs.load_problem(path), problem)


def test_only_files_beside_are_read(tmp_path):
    problem = cs.scenarios.box_stack(1)
    on_ranks(1, save, tmp_path / "whole.hdf5", problem, np.array([0]), 1)
    with h5py.File(tmp_path / "whole.hdf5", "r+") as file:
        shape = file["problem/groups/0/b"].shape
        del file["problem/groups/0/b"]
        layout = h5py.VirtualLayout(shape, np.float64)
        layout[:] = h5py.VirtualSource("../secret.hdf5", "b", shape)
        file.create_virtual_dataset("problem/groups/0/b", layout)
    with pytest.raises(ValueError, match="only files in the same folder are read"):
        cs.load_problem(tmp_path / "whole.hdf5")


def test_wrong_files_are_refused_on_all_ranks(tmp_path):
    def read(comm, path):
        return distributed.read(path, comm=comm)

    assert isinstance(refused(2, read, tmp_path / "none.hdf5"), FileNotFoundError)
    matrix = cs.Problem.from_delassus(np.eye(6), -np.ones(6))
    matrix.save(tmp_path / "matrix.hdf5")
    assert "made of a given matrix" in str(refused(2, read, tmp_path / "matrix.hdf5"))
    cs.scenarios.box_stack(2).save(tmp_path / "bodies.hdf5")
    with h5py.File(tmp_path / "bodies.hdf5", "r+") as file:
        file["problem/groups/0/bodies"][5, 1] = 7
    message = str(refused(2, read, tmp_path / "bodies.hdf5"))
    assert message.endswith("/problem/groups/0/bodies[5, 1] is 7: there are 2 bodies")
    with h5py.File(tmp_path / "bodies.hdf5", "r+") as file:
        file["problem/groups/0/bodies"][5, 1] = 1
        file["problem/groups/0/b"][5, 1] = np.nan
    assert "is nan" in str(refused(2, read, tmp_path / "bodies.hdf5"))


# ---- checkpoints --------------------------------------------------------------------------------


def state_of(share, problem: cs.Problem, factor: float) -> Checkpoint:
    """Values that contacts and bodies have by their numbers."""
    firsts = np.cumsum([0, *(x.contacts for x in problem._groups)])
    rows = [
        factor
        * (share.contact[(share.contact >= a) & (share.contact < b), None] + np.arange(m) / 8)
        for a, b, m in zip(firsts, firsts[1:], [x.rows for x in problem._groups], strict=False)
    ]
    firsts = np.cumsum([0, *(shape[0] for shape in problem._bodies)])
    bodies = [
        np.where(
            share.label[(share.body >= a) & (share.body < b), None] < 0,
            0.0,
            factor * (share.body[(share.body >= a) & (share.body < b), None] + np.arange(d) / 8),
        )
        for a, b, d in zip(firsts, firsts[1:], [s[1] for s in problem._bodies], strict=False)
    ]
    size, rank = share.comm.size, share.comm.rank
    own = np.arange(share.parts * rank // size, share.parts * (rank + 1) // size)
    return Checkpoint(
        {"impulses": np.concatenate([one.ravel() for one in rows])},
        {"u": np.concatenate([one.ravel() for one in bodies])},
        {"scale": share.contact * factor, "visits": share.contact[:, None] + np.arange(2)},
        {"sums": own[:, None] * factor},
        {"iteration": 7, "best": 0.1 * factor, "merit": float("inf"), "method": "nesterov"},
    )


@pytest.mark.parametrize("name", PROBLEMS)
def test_checkpoints_go_on_with_other_ranks(tmp_path, name):
    problem, path, parts = PROBLEMS[name](), tmp_path / "state.hdf5", 6
    labels = random_labels(problem, parts)

    def written(comm, factor):
        share = distributed.scatter(problem, labels=labels, parts=parts, comm=comm).share
        write_checkpoint(share, path, state_of(share, problem, factor))

    def read(comm, factor):
        share = distributed.scatter(problem, labels=labels, parts=parts, comm=comm).share
        return read_checkpoint(share, path), state_of(share, problem, factor)

    for ranks, factor in ((3, 1.0), (2, 1 / 3)):  # the second one replaces the first
        on_ranks(ranks, written, factor)
        assert len(list(tmp_path.iterdir())) == ranks + 1
        for size in (1, 4):
            for found, wanted in on_ranks(size, read, factor):
                assert found.numbers == wanted.numbers
                for kind in ("rows", "velocities", "contacts", "parts"):
                    ours, theirs = getattr(found, kind), getattr(wanted, kind)
                    assert ours.keys() == theirs.keys()
                    for one, array in ours.items():
                        assert array.tobytes() == theirs[one].tobytes(), (kind, one)


def test_a_checkpoint_of_another_problem_is_refused(tmp_path):
    problem, path = cs.scenarios.ball_grid(2), tmp_path / "state.hdf5"
    labels = np.arange(8) % 3

    def written(comm):
        share = distributed.scatter(problem, labels=labels, parts=3, comm=comm).share
        write_checkpoint(share, path, state_of(share, problem, 1.0))

    def read(comm, other, own, parts):
        return read_checkpoint(
            distributed.scatter(other, labels=own, parts=parts, comm=comm).share, path
        )

    on_ranks(2, written)
    heavier = cs.Problem(problem.J, problem.Minv / 2, problem.b, problem.mu, bodies=problem.bodies)
    for other, own, parts, message in [
        (heavier, labels, 3, "one of another problem"),
        (problem, labels[::-1].copy(), 3, "or of other labels"),
        (problem, labels, 4, "has 3 parts and the problem 4"),
    ]:
        assert message in str(refused(2, read, other, own, parts))
    with pytest.raises(ValueError, match="this file holds a checkpoint"):
        cs.load_problem(path)
    problem.save(path, overwrite=True)
    assert "this file holds a problem, not a checkpoint" in str(
        refused(2, read, problem, labels, 3)
    )


def test_a_checkpoint_without_a_group_is_refused(tmp_path):
    problem, path = PROBLEMS["joined"](), tmp_path / "state.hdf5"
    labels = random_labels(problem, 3)

    def shared(comm):
        return distributed.scatter(problem, labels=labels, parts=3, comm=comm).share

    def written(comm):
        write_checkpoint(shared(comm), path, state_of(shared(comm), problem, 1.0))

    on_ranks(2, written)
    with h5py.File(path, "r+") as file:
        file.move("checkpoint/velocities/u/1", "checkpoint/other")
    message = str(refused(2, lambda comm: read_checkpoint(shared(comm), path)))
    assert "/checkpoint/velocities/u has 1 groups, and the problem 2" in message
    with h5py.File(path, "r+") as file:
        file["checkpoint/velocities/u/1"] = np.zeros((4, 3))
    message = str(refused(2, lambda comm: read_checkpoint(shared(comm), path)))
    assert "/checkpoint/velocities/u/1 has 4 rows, not those of the problem" in message


def test_the_documented_datasets_are_those_of_the_files(tmp_path):
    text = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
    own = set(re.findall(r"^\| `([^`]+)` \|", text[text.index("## Files of many") :], re.MULTILINE))
    plain = set(re.findall(r"^\| `([^`]+)` \|", text[: text.index("## A recording")], re.MULTILINE))
    problem, labels, found = PROBLEMS["joined"](), random_labels(PROBLEMS["joined"](), 5), set()

    def written(comm):
        share = save(comm, tmp_path / "whole.hdf5", problem, labels)
        write_checkpoint(share, tmp_path / "state.hdf5", state_of(share, problem, 1.0))

    def collect(name, node):
        if isinstance(node, h5py.Dataset):
            name = re.sub(r"/\d+", "/N", re.sub(r"values/\w+", "values/NAME", name))
            found.add(re.sub(r"^(checkpoint/(?!of_)\w+)/\w+", r"\1/NAME", name))

    on_ranks(2, written)
    for name in ("whole", "state"):
        with h5py.File(tmp_path / f"{name}.hdf5") as file:
            file.visititems(collect)
    assert own <= found
    assert found <= own | plain


def test_ranks_that_fail_at_set_up_are_named(tmp_path):
    with pytest.raises(RanksError, match="FileNotFoundError: rank 0: "):
        on_ranks(2, lambda comm: distributed.read(tmp_path / "x.hdf5", comm=comm))


# ---- results ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["grid", "joined"])
@pytest.mark.parametrize("own_values", [False, True])
def test_results_of_many_ranks_are_read_by_one_process(tmp_path, name, own_values):
    problem, path, parts = PROBLEMS[name](), tmp_path / "solved.hdf5", 6
    labels = random_labels(problem, parts)

    def solved(comm):
        found = distributed.scatter(problem, labels=labels, parts=parts, comm=comm)
        solver = distributed.Solver(found, order="partition", max_iterations=30)
        b = mu = None
        if own_values:
            rows = found.share.problem.b
            b = [2 * one for one in rows] if problem.grouped else 2 * rows
            mu = [0.2, None] if problem.grouped else 0.2
        result = solver.solve(b=b, mu=mu)
        result.write(path)
        return result.gather(), result

    every = distributed.run(solved, 3, timeout=60)
    impulses, first = every[0]
    loaded = cs.load_result(path)
    assert_same(loaded.problem, problem)
    impulses, found = (one if problem.grouped else [one] for one in (impulses, loaded.impulses))
    for ours, theirs in zip(found, impulses, strict=True):
        assert ours.tobytes() == theirs.tobytes()
    assert (loaded.status, loaded.iterations) == (first.status, first.iterations)
    assert loaded.history["residual"].tobytes() == first.history["residual"].tobytes()
    assert loaded.worst_contact == first.worst_contact
    assert (loaded._b is None) == (not own_values)

    # Velocities and ξ are those of these impulses.
    order = cs.orders.partition(labels)
    options = {"order": order, "parts": parts, "islands": False, "max_iterations": 30}
    local = cs.Solver(problem, method="gauss_seidel", scheme="factorized", **options)
    whole = problem.b
    b = mu = None
    if own_values:
        b = [2 * one for one in whole] if problem.grouped else 2 * whole
        mu = [0.2, None] if problem.grouped else 0.2
    alone = local.solve(b=b, mu=mu)
    for one in ("impulses", "residual_velocities", "body_velocity_change"):
        ours, theirs = (
            x if problem.grouped else [x] for x in (getattr(loaded, one), getattr(alone, one))
        )
        for mine, other in zip(ours, theirs, strict=True):
            assert mine.tobytes() == other.tobytes(), one
