"""Solves on ranks go on from a checkpoint with the bits of a solve that was not interrupted."""

import re

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import distributed
from contactsolve.distributed import _files
from distributed_solves import CASES, PARTS, bits_of, grid, labels_of, needs_avx2, spread

h5py = pytest.importorskip("h5py")

GOING_ON = {
    **CASES,
    "anderson, float32": ("colored", {"method": "anderson", "dtype": "float32"}),
    "anderson, scalar": ("partition", {"method": "anderson", "instructions": "scalar"}),
    "chebyshev in colors": ("colored", {"method": "chebyshev"}),
    "polak_ribiere": ("colored", {"method": cs.methods.nncg(formula="polak_ribiere")}),
    "symmetric steps": ("colored", {"method": cs.methods.nncg(over="symmetric_gauss_seidel")}),
    "stagnation": ("colored", {"method": "nesterov", "patience": 12, "rtol": 1e-30}),
    "stages by conjugate gradients": (
        "colored",
        {
            "method": cs.methods.nesterov_nncg(patience=1, formula="polak_ribiere"),
            "check_every": 1,
            "rtol": 1e-30,
        },
    ),
    "stages that diverge": (
        "partition",
        {
            "method": cs.methods.nesterov_nncg(patience=3),
            "relaxation": 6.0,
            "rollback": 1,
            "rollback_growth": 1,
            "rtol": 1e-30,
        },
    ),
    "sums recorded": (
        "colored",
        {"method": "nesterov", "record": ("quality", "fclib_error", "delta_norm")},
    ),
    "rarely recorded": ("partition", {"method": "gauss_seidel", "record_every": 9}),
    "balanced with rollbacks": (
        "partition",
        {"method": "jacobi", "r_factor": "balanced", "relaxation": 1.9, "rollback_growth": 1},
    ),
}


def solved(ranks, problem, labels, order, parts=PARTS, **given):
    """The impulses of all contacts as bytes, and the result of rank 0."""

    def work(comm):
        found = distributed.solve(spread(problem, comm, labels, parts), order=order, **given)
        return bits_of(found.gather()), found

    every = distributed.run(work, ranks, timeout=60)
    assert len({bits for bits, _ in every}) == 1
    return every[0]


def assert_equal(found, wanted):
    """Impulses, histories and verdicts of two solves."""
    assert found[0] == wanted[0]
    ours, theirs = found[1], wanted[1]
    for name in ("status", "iterations", "natural_map", "natural_map_scaled", "worst_contact"):
        assert getattr(ours, name) == getattr(theirs, name), name
    for name in ("restarts", "rollbacks", "best_iteration", "handovers"):
        assert ours.info.get(name) == theirs.info.get(name), name
    stages = [one.info.get("links", ()) for one in (ours, theirs)]
    for here, there in zip(*stages, strict=True):
        assert {**here, "seconds": 0} == {**there, "seconds": 0}
    for column in set(theirs.history.columns) - {"time"}:
        assert np.array_equal(ours.history[column], theirs.history[column], equal_nan=True)
    assert (np.diff(ours.history["time"]) >= 0).all()


# ---- bits ---------------------------------------------------------------------------------------


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", GOING_ON)
def test_bits_are_those_of_one_solve(tmp_path, name):
    """A solve stopped by max_iterations goes on, with more ranks and with fewer."""
    problem, (order, options) = grid(), GOING_ON[name]
    labels, path = labels_of(problem), tmp_path / "state.hdf5"
    try:
        whole = solved(1, problem, labels, order, max_iterations=40, **options)
    except ValueError as error:
        if name in needs_avx2 and "avx2" in str(error):
            pytest.skip("this processor has no AVX2")
        raise
    keeping = {"checkpoint": path, "checkpoint_every": 13}
    solved(2, problem, labels, order, max_iterations=20, **keeping, **options)
    for ranks in (1, 5):
        found = solved(ranks, problem, labels, order, max_iterations=40, resume=path, **options)
        assert_equal(found, whole)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("method", ["gauss_seidel", "chebyshev"])
@pytest.mark.parametrize("scene", ["disc_pyramid", "log_tower", "chain", "crane", "folded_cloth"])
def test_bits_of_scenes(tmp_path, scene, method):
    problem, path = cs.scenarios.get(scene)(), tmp_path / "state.hdf5"
    parts = min(PARTS, problem.bodies_count)
    labels = labels_of(problem, parts)
    given = {"method": method, "rtol": 1e-14}
    whole = solved(1, problem, labels, "colored", parts, max_iterations=25, **given)
    every = {"checkpoint": path, "checkpoint_every": 11}
    solved(2, problem, labels, "colored", parts, max_iterations=12, **every, **given)
    found = solved(3, problem, labels, "colored", parts, max_iterations=25, resume=path, **given)
    assert_equal(found, whole)


def test_a_solve_that_goes_on_twice(tmp_path):
    """Each piece goes on from the one before, also from the file to which it writes."""
    problem, path = grid(), tmp_path / "state.hdf5"
    labels, given = labels_of(problem), {"method": "nncg", "rtol": 1e-12, "atol": None}
    whole = solved(1, problem, labels, "colored", max_iterations=500, **given)
    assert whole[1].converged
    keeping = {"checkpoint": path, "checkpoint_every": 5}
    solved(2, problem, labels, "colored", max_iterations=12, **keeping, **given)
    for ranks, most in ((3, 23), (5, 37)):
        solved(
            ranks, problem, labels, "colored", max_iterations=most, resume=path, **keeping, **given
        )
    found = solved(2, problem, labels, "colored", max_iterations=500, resume=path, **given)
    assert_equal(found, whole)
    assert len(list(tmp_path.iterdir())) == 1 + 5


@pytest.mark.parametrize(("stage", "at"), [(0, 90), (1, 160), (2, 210)])
def test_stages_go_on(tmp_path, stage, at):
    """From each of the first three stages, whose patience and start belong to the state."""
    problem, path = cs.scenarios.ball_grid(5, mass=1.0, velocity=0.1, rng=18), tmp_path / "a.hdf5"
    labels, method = labels_of(problem), cs.methods.nesterov_nncg(patience=40)
    given = {"method": method, "rtol": 1e-8, "check_every": 5}
    whole = solved(1, problem, labels, "partition", max_iterations=2000, **given)
    links = whole[1].info["links"]
    assert whole[1].converged
    assert len(links) == 4
    assert links[stage]["first"] < at < links[stage + 1]["first"]
    keeping = {"checkpoint": path, "checkpoint_every": at}
    solved(3, problem, labels, "partition", max_iterations=at + 10, **keeping, **given)
    found = solved(2, problem, labels, "partition", max_iterations=2000, resume=path, **given)
    assert_equal(found, whole)


@pytest.mark.parametrize("name", ["rollbacks", "balanced", "mixed", "anderson", "nesterov"])
def test_the_solver_is_not_changed(tmp_path, name):
    """What a solver computes after it went on is what a new one does; also while it writes."""
    problem, (order, options) = grid(), CASES[name]
    labels, path = labels_of(problem), tmp_path / "state.hdf5"
    given = {"order": order, "max_iterations": 30, **options}

    def work(comm):
        solver = distributed.Solver(spread(problem, comm, labels), **given)
        first = solver.solve()
        second = solver.solve(checkpoint=path, checkpoint_every=11)
        third, fourth = solver.solve(resume=path), solver.solve()
        return {bits_of(one.gather()) for one in (first, second, third, fourth)}

    for bits in distributed.run(work, 2, timeout=60):
        assert len(bits) == 1


def test_after_an_error_in_a_callback(tmp_path):
    problem, path = grid(), tmp_path / "state.hdf5"
    labels, given = labels_of(problem), {"method": "nesterov", "max_iterations": 40}
    whole = solved(2, problem, labels, "partition", **given)

    def work(comm):
        def fail(state):
            if comm.rank == 1 and state.iteration == 18:
                raise KeyError("planted")

        distributed.solve(
            spread(problem, comm, labels),
            order="partition",
            callback=fail,
            checkpoint=path,
            checkpoint_every=5,
            **given,
        )

    with pytest.raises(KeyError, match="planted"):
        distributed.run(work, 3, timeout=60)
    seen = []

    def resumed(comm):
        note = (lambda state: seen.append(state.iteration)) if comm.rank == 0 else None
        found = distributed.solve(
            spread(problem, comm, labels), order="partition", callback=note, resume=path, **given
        )
        return bits_of(found.gather()), found

    assert_equal(distributed.run(resumed, 2, timeout=60)[0], whole)
    assert seen == list(range(16, 41))


def test_values_of_a_solve_of_its_own(tmp_path):
    problem, path = grid(), tmp_path / "state.hdf5"
    labels = labels_of(problem)

    def work(comm, most, mu, **given):
        solver = distributed.Solver(spread(problem, comm, labels), max_iterations=most)
        b = 1.5 * np.array(solver.problem.share.problem.b)
        return bits_of(solver.solve(b=b, mu=mu, **given).gather())

    whole = distributed.run(work, 2, 30, 0.3, timeout=60)[0]
    distributed.run(work, 3, 20, 0.3, checkpoint=path, checkpoint_every=9, timeout=60)
    assert distributed.run(work, 5, 30, 0.3, resume=path, timeout=60)[0] == whole
    with pytest.raises(ValueError, match="or of other labels, b or mu"):
        distributed.run(work, 2, 30, 0.2, resume=path, timeout=60)


def test_checkpoints_by_seconds(tmp_path, monkeypatch):
    """Zero seconds: after each iteration but the last one, although no iteration is due."""
    problem, path, written = grid(), tmp_path / "state.hdf5", []
    labels, original = labels_of(problem), _files._write_own

    def note(own, kind, pieces):
        written.append(own)
        original(own, kind, pieces)

    monkeypatch.setattr(_files, "_write_own", note)
    given = {"rtol": None, "max_iterations": 6}
    whole = solved(1, problem, labels, "partition", **given)
    found = solved(2, problem, labels, "partition", checkpoint=path, checkpoint_seconds=0, **given)
    assert_equal(found, whole)
    assert len(written) == 2 * 5
    written.clear()
    solved(2, problem, labels, "partition", checkpoint=path, **given)
    assert not written  # after a minute only


# ---- failures -----------------------------------------------------------------------------------


def test_a_failure_to_write_ends_the_solve_on_all_ranks_and_leaves_the_former_file(
    tmp_path, monkeypatch
):
    problem, path = grid(), tmp_path / "state.hdf5"
    labels, given = labels_of(problem), {"max_iterations": 30}
    whole = solved(1, problem, labels, "partition", **given)
    original, calls = _files._write_own, []

    def fail(own, kind, pieces):
        calls.append(own)
        if own.name.endswith("0001.hdf5") and len(calls) > 6:
            raise OSError("no space left")
        original(own, kind, pieces)

    def work(comm):
        solver = distributed.Solver(spread(problem, comm, labels), order="partition", **given)
        with pytest.raises(OSError, match="rank 1: no space left"):
            solver.solve(checkpoint=path, checkpoint_every=4)
        return solver.solve().iterations  # messages still arrive

    with monkeypatch.context() as patch:
        patch.setattr(_files, "_write_own", fail)
        assert distributed.run(work, 3, timeout=60) == [30] * 3
    assert len(list(tmp_path.iterdir())) == 1 + 3
    assert_equal(solved(2, problem, labels, "partition", resume=path, **given), whole)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"method": "nncg"}, "had method .*nesterov.*, this one has .*nncg"),
        ({"order": "colored"}, "had order .*partition.*, this one has .*colored"),
        ({"rtol": 1e-9}, "had rtol 1e-06, this one has 1e-09"),
        ({"relaxation": 0.9}, "had relaxation 1.0, this one has 0.9"),
        ({"dtype": "float32", "rtol": 1e-6}, "had dtype 'float64', this one has 'float32'"),
        ({"record": ("residual",)}, "had record"),
        ({"instructions": "scalar"}, "instructions"),
        ({"max_iterations": 10}, "max_iterations is 10, but .* has iteration 10: a larger number"),
        ({"resume": "none.hdf5"}, "FileNotFoundError.*none.hdf5 does not exist"),
        ({"initial": "zeros"}, "initial is given"),
        ({"checkpoint_every": 3}, "checkpoint_every is given without checkpoint="),
        ({"checkpoint": "here", "checkpoint_every": 0}, "checkpoint_every is 0: it must be at"),
        ({"checkpoint": "here", "checkpoint_every": 0.5}, "TypeError.*checkpoint_every is 0.5"),
        ({"checkpoint": "here", "checkpoint_seconds": -1}, "checkpoint_seconds is -1"),
        ({"checkpoint": "none/here"}, "the folder of none/here does not exist"),
        ({"heavier": True}, "the checkpoint is one of another problem"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, given, message):
    problem, path = grid(), tmp_path / "state.hdf5"
    labels, usual = labels_of(problem), {"order": "partition", "method": "nesterov"}
    keeping = {"checkpoint": path, "checkpoint_every": 5, "max_iterations": 12}
    distributed.run(
        lambda comm: distributed.solve(spread(problem, comm, labels), **usual, **keeping), 2
    )
    wrong = {"resume": path, "max_iterations": 30, **usual, **given}
    if wrong.pop("heavier", False):
        inverse = np.array(problem.Minv)
        inverse[7] /= 2
        problem = cs.Problem(problem.J, inverse, problem.b, problem.mu, bodies=problem.bodies)

    def work(comm):
        shared, own = spread(problem, comm, labels), {**wrong}
        if "initial" in own:
            own["initial"] = np.zeros_like(shared.share.problem.b)
        try:
            distributed.solve(shared, **own)
        except (ValueError, TypeError, OSError) as error:
            return f"{type(error).__name__}: {error}"

    for text in distributed.run(work, 3, timeout=60):
        assert text is not None
        assert re.search(message, text), text


def test_a_checkpoint_without_the_file_of_a_rank(tmp_path):
    problem, path = grid(), tmp_path / "state.hdf5"
    labels = labels_of(problem)
    keeping = {"checkpoint": path, "checkpoint_every": 5, "max_iterations": 12}
    solved(3, problem, labels, "colored", **keeping)
    (gone,) = tmp_path.glob("state.*.0001.hdf5")
    gone.unlink()
    with pytest.raises(ValueError, match=re.escape(gone.name)):
        solved(2, problem, labels, "colored", resume=path)


def test_ranks_that_differ(tmp_path):
    problem = grid()
    labels = labels_of(problem)

    def work(comm):
        with pytest.raises(ValueError, match="checkpoint_every is 4 on rank 1 and 3 on rank 0"):
            distributed.solve(
                spread(problem, comm, labels),
                checkpoint=tmp_path / "state.hdf5",
                checkpoint_every=3 + comm.rank,
            )

    distributed.run(work, 2, timeout=60)
