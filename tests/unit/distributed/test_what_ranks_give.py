"""What ranks give alike, or in pieces: differences are errors on all ranks, with their place."""

from __future__ import annotations

import re

import numpy as np
import pytest

import contactsolve as cs
from distributed_problems import PROBLEMS, first_of, random_labels
from ranks import on_ranks, refused

distributed = cs.distributed


@pytest.fixture(scope="module")
def whole():
    return cs.scenarios.ball_grid(4, mu=0.1, velocity=0.5)


def pieces(comm, whole, *, of=("contact_ids", "body_ids"), ranks=(0, 1), everything=False):
    """A problem of which each rank gives a range of the contacts; some ranks give ids."""
    contacts = np.arange(len(whole.b))
    if not everything:
        contacts = contacts[comm.rank :: comm.size]
    pairs = np.asarray(whole.bodies)[contacts]
    bodies = np.arange(len(whole.Minv)) if everything else np.unique(pairs[pairs >= 0])
    ids = {"contact_ids": contacts, "body_ids": bodies}
    return distributed.Problem(
        whole.J[contacts],
        whole.Minv[bodies],
        whole.b[contacts],
        0.1,
        bodies=np.where(pairs < 0, -1, np.searchsorted(bodies, pairs)),
        **{name: ids[name] for name in of if comm.rank in ranks},
        parts=4,
        comm=comm,
    )


def scattered(comm, whole, **options):
    options.setdefault("parts", 4)
    return distributed.scatter(whole if comm.rank == 0 else None, comm=comm, **options)


# ---- ids ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"of": ("contact_ids",)}, "rank 0: body_ids is missing, and rank 1 gives bodies, too"),
        ({"of": ("body_ids",)}, "rank 0: contact_ids is missing, and rank 1 gives contacts, too"),
        ({"ranks": (0,)}, "rank 1: contact_ids is missing, and rank 0 gives contacts, too"),
        ({"of": ()}, "rank 0: contact_ids is missing"),
        ({"of": (), "everything": True}, "rank 0: contact_ids is missing"),
    ],
)
def test_ids_of_several_ranks_are_needed(whole, given, message):
    error = refused(2, lambda comm: pieces(comm, whole, **given))
    assert str(error).startswith(message)
    assert "[0]" not in str(error)


def test_ids_and_whole_problems_are_taken(whole):
    for everything in (False, True):
        for found in on_ranks(2, lambda comm, e=everything: pieces(comm, whole, everything=e)):
            assert (found.all_contacts, found.all_bodies) == (len(whole.b), len(whole.Minv))

    def of_one(comm):
        if comm.rank != 1:
            return distributed.Problem(parts=4, comm=comm)
        arrays = (whole.J, whole.Minv, whole.b, whole.mu)
        return distributed.Problem(*arrays, bodies=whole.bodies, parts=4, comm=comm)

    assert {one.all_contacts for one in on_ranks(3, of_one)} == {len(whole.b)}


# ---- scenarios ----------------------------------------------------------------------------------

SCENARIOS = {
    "mu": (("ball_grid", {"shape": 3, "mu": 0.1}), ("ball_grid", {"shape": 3, "mu": 0.2})),
    "velocity": (("ball_grid", {"shape": 3}), ("ball_grid", {"shape": 3, "velocity": 0.5})),
    "rng": (("ball_grid", {"shape": 3, "rng": 1}), ("ball_grid", {"shape": 3, "rng": 2})),
    "shape": (("ball_grid", {"shape": 3}), ("ball_grid", {"shape": (3, 3, 4)})),
    "name": (("ball_grid", {"shape": 3}), ("chain", {"shape": 3})),
    "contacts": (("random", {"contacts": 30}), ("random", {"contacts": 31})),
    "labels": (
        ("ball_grid", {"shape": 3, "labels": "natural"}),
        ("ball_grid", {"shape": 3, "labels": "bisection"}),
    ),
    "parts": (("ball_grid", {"shape": 3, "parts": 5}), ("ball_grid", {"shape": 3, "parts": 6})),
}
SHOWN = {
    "mu": "mu is 0.2 on rank 1 and 0.1 on rank 0",
    "velocity": "velocity is given on rank 1 and not on rank 0",
    "rng": "rng is 2 on rank 1 and 1 on rank 0",
    "shape": "shape is an array of shape (3,) on rank 1 and 3 on rank 0",
    "name": "name is 'chain' on rank 1 and 'ball_grid' on rank 0",
    "contacts": "contacts is 31 on rank 1 and 30 on rank 0",
    "labels": "labels is 'bisection' on rank 1 and 'natural' on rank 0",
    "parts": "parts is 6 on rank 1 and 5 on rank 0",
}


@pytest.mark.parametrize("case", SCENARIOS)
def test_scenarios_have_one_set_of_parameters(case):
    def made(comm):
        name, parameters = SCENARIOS[case][comm.rank]
        return distributed.scenario(name, comm=comm, **{"parts": 4, **parameters})

    assert str(refused(2, made)) == f"{SHOWN[case]}: all ranks need the same"


def test_entries_of_parameters_are_compared():
    def made(comm, index=None):
        mu = np.full(63, 0.1)
        if index is not None and comm.rank == 1:
            mu[index] = 0.3
        return distributed.scenario("ball_grid", shape=3, mu=mu, parts=4, comm=comm)

    assert on_ranks(2, made)[0].all_contacts == 63
    assert str(refused(2, made, 5)).startswith("mu[5] is 0.3 on rank 1 and 0.1 on rank 0")


def test_an_unknown_parameter_has_the_scenario_with_it():
    with pytest.raises(TypeError, match=r"ball_grid\(\) got an unexpected keyword argument 'shap'"):
        distributed.scenario("ball_grid", shap=3)


# ---- files and gathers --------------------------------------------------------------------------


def test_files_have_one_path_and_labels_on_all_ranks(whole, tmp_path):
    path = tmp_path / "a.hdf5"

    def saved(comm, names, overwrite=(False, False)):
        problem = scattered(comm, whole)
        problem.save(tmp_path / names[comm.rank], overwrite=overwrite[comm.rank])

    error = refused(2, saved, ("a.hdf5", "b.hdf5"))
    assert re.match(r"path is '.*b\.hdf5' on rank 1 and '.*a\.hdf5' on rank 0", str(error))
    error = refused(2, saved, ("a.hdf5", "a.hdf5"), (False, True))
    assert str(error).startswith("overwrite is True on rank 1 and False on rank 0")
    assert not list(tmp_path.iterdir())
    on_ranks(2, saved, ("a.hdf5", "a.hdf5"))
    (tmp_path / "b.hdf5").write_bytes(path.read_bytes())

    def read(comm, names=("a.hdf5", "a.hdf5"), labels=(None, None), **options):
        given = {"labels": labels[comm.rank], **options}
        return distributed.read(tmp_path / names[comm.rank], comm=comm, **given)

    assert str(refused(2, read, ("a.hdf5", "b.hdf5"))).startswith("path is '")
    error = refused(2, read, ("a.hdf5",) * 2, ("natural", None))
    assert str(error) == "labels is None on rank 1 and 'natural' on rank 0: all ranks need the same"
    ours = np.arange(64) % 4
    theirs = np.where(np.arange(64) == 9, 0, ours)
    error = refused(2, read, ("a.hdf5",) * 2, (ours, theirs))
    assert str(error).startswith("labels[9] is 0 on rank 1 and 1 on rank 0")
    assert on_ranks(2, read, ("a.hdf5",) * 2, (ours, ours))[1].parts == 4


def test_results_are_written_to_one_path(whole, tmp_path):
    def written(comm):
        result = distributed.solve(scattered(comm, whole), max_iterations=2)
        with pytest.raises(ValueError, match=r"path is '.*1\.hdf5' on rank 1 and '.*0\.hdf5'"):
            result.write(tmp_path / f"{comm.rank}.hdf5")

    distributed.run(written, 2, timeout=20)
    assert not list(tmp_path.iterdir())


def test_labels_of_a_file_are_of_its_parts(whole, tmp_path):
    path = tmp_path / "two.hdf5"
    on_ranks(1, lambda comm: scattered(comm, whole, parts=2).save(path))

    def read(comm, **options):
        return distributed.read(path, comm=comm, **options)

    error = refused(2, lambda comm: read(comm, parts=5))
    assert str(error).startswith("parts is 5, but the labels of the file are of 2 parts: give lab")
    error = refused(3, read)
    assert str(error).startswith("the labels of the file are of 2 parts, but there are 3 ranks")
    assert "give parts=3 or more, and labels= as well" in str(error)
    for options in ({}, {"parts": 2}, {"parts": 5, "labels": "natural"}):
        found = on_ranks(2, lambda comm, given=options: read(comm, **given))
        assert {one.parts for one in found} == {options.get("parts", 2)}
        assert found[0].share.label.max() < found[0].parts


@pytest.mark.parametrize("gather", ["gather", "gather_labels", "gather_rows"])
def test_gathers_have_one_root(whole, gather):
    def gathered(comm):
        problem = scattered(comm, whole)
        arguments = [problem.share.problem.b] if gather == "gather_rows" else []
        return getattr(problem, gather)(*arguments, root=comm.rank)

    assert str(refused(2, gathered)).startswith("root is 1 on rank 1 and 0 on rank 0")


def test_gathers_that_differ_are_refused(whole):
    def other(comm):
        problem = scattered(comm, whole)
        return problem.gather_labels() if comm.rank else problem.gather()

    error = refused(2, other)
    assert str(error).startswith("call is 'gather_labels' on rank 1 and 'gather' on rank 0")

    def short(comm):
        problem = scattered(comm, whole)
        return problem.gather_rows(problem.share.problem.b[comm.rank :])

    assert re.match(r"rank 1: values has shape \(\d+, 3\): the problem", str(refused(2, short)))


# ---- values of a solve --------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROBLEMS)
def test_rows_of_a_share_are_the_inverse_of_a_gather(name):
    problem = PROBLEMS[name]()
    labels = random_labels(problem, 5)
    wholes = [np.arange(x.contacts * x.rows).reshape(x.shape) + 0.5 for x in problem._groups]
    values = wholes if problem.grouped else wholes[0]

    def taken(comm):
        found = scattered(comm, problem, labels=labels, parts=5)
        own = found.share_rows(values)
        return found.share.contact, own, found.gather_rows(own)

    firsts = first_of(problem)[0]
    for contact, own, back in on_ranks(3, taken):
        own, back = (one if problem.grouped else [one] for one in (own, back))
        for first, group, ours, gathered in zip(firsts, wholes, own, back, strict=False):
            mine = contact[(contact >= first) & (contact < first + len(group))] - first
            np.testing.assert_array_equal(ours, group[mine])
            np.testing.assert_array_equal(gathered, group)


def test_rows_of_a_share_need_all_contacts(whole):
    def short(comm):
        return scattered(comm, whole).share_rows(whole.b[: len(whole.b) - comm.rank])

    message = rf"rank 1: values has shape \({len(whole.b) - 1}, 3\): one row for each of all"
    assert re.match(message, str(refused(2, short)))


@pytest.mark.parametrize("name", ["b", "mu", "initial"])
def test_copies_of_values_are_compared(whole, name):
    values = {
        "b": whole.b + 0.25,
        "mu": np.linspace(0.1, 0.4, len(whole.b)),
        "initial": np.arange(whole.b.size).reshape(whole.b.shape) * 1e-3,
    }[name]
    options = {"max_iterations": 3, "rtol": None, "atol": None, "method": "gauss_seidel"}
    labels = cs.orders.labels(whole, "natural", 4)

    def solved(comm):
        problem = scattered(comm, whole, labels=labels)
        solver = distributed.Solver(problem, verify=True, **options)
        own = problem.share_rows(values)
        found = solver.solve(**{name: own}).gather()

        # Contacts that two ranks have, with another value on rank 1.
        changed = own.copy()
        border = np.flatnonzero(~problem.share.inside)
        if comm.rank == 1:
            changed[border[2]] += 1.0
        with pytest.raises(ValueError) as caught:
            solver.solve(**{name: changed})
        contact = problem.share.contact[border[2]]
        return found, str(caught.value), contact

    found = distributed.run(solved, 2, timeout=20)
    assert found[0][1] == found[1][1]
    words = rf"{name}: entry 0 of contact (\d+) is (\S+) on rank (\d) and (\S+) on rank (\d): all"
    contact, ours, first, theirs, second = re.match(words, found[0][1]).groups()
    assert int(contact) == found[1][2]
    assert {first, second} == {"0", "1"}
    mine, other = (float(ours), float(theirs)) if first == "1" else (float(theirs), float(ours))
    assert mine - other == pytest.approx(1.0, rel=1e-3)

    # Equal copies give the solve of one process.
    order = cs.orders.partition(labels)
    solver = cs.Solver(whole, order=order, islands=False, scheme="factorized", **options)
    alone = solver.solve(**{name: values})
    assert found[0][0].tobytes() == alone.impulses.tobytes()


def test_the_error_of_a_shape_names_what_takes_rows(whole):
    def solved(comm):
        solver = distributed.Solver(scattered(comm, whole))
        with pytest.raises(ValueError, match=r"^rank 0: b has shape .*problem\.share_rows\("):
            solver.solve(b=whole.b)

    distributed.run(solved, 2, timeout=20)


# ---- options and words --------------------------------------------------------------------------


def test_an_option_of_one_rank_is_named(whole):
    def solved(comm):
        options = {"relaxation": 0.9} if comm.rank else {}
        words = "relaxation is given on rank 1 and not on rank 0: all ranks need the same"
        with pytest.raises(ValueError, match=words):
            distributed.Solver(scattered(comm, whole), **options)
        with pytest.raises(ValueError, match=r"rtol is 0\.01 on rank 1 and 0\.1 on rank 0"):
            distributed.Solver(scattered(comm, whole), rtol=10.0 ** -(1 + comm.rank))

    distributed.run(solved, 2, timeout=20)


@pytest.mark.parametrize(
    "order", [cs.orders.subtasks(cs.orders.partition(), 4), cs.orders.extreme("colored")]
)
def test_subtasks_are_refused(whole, order):
    problem = distributed.scatter(whole, parts=2)
    with pytest.raises(ValueError, match=r"divides stages into s.*not available on ranks"):
        distributed.Solver(problem, order=order)


def test_islands_are_not_separate(whole):
    problem = distributed.scatter(whole, parts=2)
    found = distributed.solve(problem, islands=False, max_iterations=5)
    assert (
        found.gather().tobytes() == distributed.solve(problem, max_iterations=5).gather().tobytes()
    )
    with pytest.raises(ValueError, match="islands is given: islands are never solved separately"):
        distributed.Solver(problem, islands=True)


def boxes_and_joints():
    """Grouped: sets with and without friction."""
    return PROBLEMS["joined"]()


@pytest.mark.parametrize("rtol", [1e-12, None, 1e-1])
@pytest.mark.parametrize("make", [cs.scenarios.box_stack, boxes_and_joints])
def test_messages_have_the_words_of_one_process(make, rtol):
    problem = make()
    options = {"max_iterations": 12, "rtol": rtol, "atol": None, "method": "gauss_seidel"}
    labels = cs.orders.labels(problem, "natural", 3)

    def solved(comm):
        return distributed.solve(scattered(comm, problem, labels=labels, parts=3), **options)

    found = distributed.run(solved, 2, timeout=20)
    order = cs.orders.partition(labels)
    alone = cs.solve(problem, order=order, islands=False, scheme="factorized", **options)
    expected = alone.message.partition(". Try ")[0]
    assert [one.message for one in found] == [expected] * 2
    assert expected.startswith(("converged", "not converged", "12 iterations made"))
