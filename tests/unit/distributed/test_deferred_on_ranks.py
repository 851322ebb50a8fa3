"""What ranks evaluate when it is read, each of them alone."""

import signal
from dataclasses import replace

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _core, distributed
from distributed_solves import CASES, CHECKERBOARD, PARTS, bits_of, grid, labels_of, spread
from interruption import alarm

pytestmark = [
    pytest.mark.threads,
    pytest.mark.skipif(
        _core.build()["threading"] == "serial", reason="ranks as threads need a build with threads"
    ),
]

SILENT = {"rtol": None, "atol": None, "max_iterations": 11, "record": ()}
# Of a whole problem, and of a rank's contacts.
FIGURES = ("natural_map", "natural_map_scaled", "worst_contact", "message", "status", "iterations")
ARRAYS = ("impulses", "residual_velocities")
ORDERS = {"colors": "colored", "checkerboard": CHECKERBOARD}


def values_of(result):
    """Return the attributes of a result on ranks, and the velocity change of its share."""
    values = {name: getattr(result, name) for name in FIGURES}
    values |= {name: bits_of(getattr(result, name)) for name in ARRAYS}
    return {**values, "change": bits_of(result._local.body_velocity_change)}


def solver_of(comm, order, **options):
    problem = grid()
    spread_problem = spread(problem, comm, labels_of(problem))
    return distributed.Solver(spread_problem, order=order, **{**SILENT, **options})


def on_each_rank(work, ranks):
    return distributed.run(work, ranks, timeout=60)


def evaluated_in_the_solve(comm, order, **options):
    """Return values of a solve that records a measure of iterates, and so evaluates all of them."""
    return values_of(solver_of(comm, order, **options, record=("natural_map",)).solve())


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("threads", [1, 2])
def test_values_do_not_depend_on_when_they_are_read(ranks, order, threads):
    options = {"threads": threads, "exact_threads": True}

    def work(comm):
        solver = solver_of(comm, ORDERS[order], **options)
        at_once = values_of(solver.solve())
        later = solver.solve()
        for _ in range(3):
            last = solver.solve()
        return at_once, values_of(later), last

    wanted = on_each_rank(
        lambda comm: evaluated_in_the_solve(comm, ORDERS[order], **options), ranks
    )
    for (at_once, later, last), one in zip(on_each_rank(work, ranks), wanted, strict=True):
        assert at_once == one
        assert later == one
        assert values_of(last) == one  # after the ranks have ended


@pytest.mark.parametrize("name", ["jacobi", "nesterov", "float32", "mixed", "concurrent", "split"])
def test_values_have_the_bits_of_one_process(name):
    problem, (order, options) = grid(), CASES[name]
    labels, options = labels_of(problem), {**options, **SILENT, "islands": False}
    whole = replace(cs.orders.chosen(order), labels=labels)
    reference = cs.solve(problem, order=whole, scheme="factorized", **options)

    def work(comm):
        result = distributed.solve(spread(problem, comm, labels), order=order, **options)
        return result, result.contact_ids

    for result, ids in on_each_rank(work, 3):
        assert bits_of(result.residual_velocities) == bits_of(reference.residual_velocities[ids])
        assert result.natural_map == reference.natural_map
        assert result.natural_map_scaled == reference.natural_map_scaled
        assert result.worst_contact == reference.worst_contact


@pytest.mark.parametrize("scene", ["disc_pyramid", "crane", "folded_cloth", "ball_pile"])
@pytest.mark.parametrize("threads", [1, 2])
def test_scenes_have_the_bits_of_one_process(scene, threads):
    """Several groups of contacts and bodies, islands, and many pieces of contacts."""
    problem = cs.scenarios.get(scene)()
    parts = min(PARTS, problem.bodies_count)
    rng = np.random.default_rng(1)
    for labels in (labels_of(problem, parts), rng.integers(parts, size=problem.bodies_count)):
        whole = cs.orders.partition(labels)
        options = {**SILENT, "method": "gauss_seidel", "islands": False}
        reference = cs.solve(problem, order=whole, scheme="factorized", **options)
        options |= {"threads": threads, "exact_threads": True}

        def work(comm, labels=labels, options=options):
            spread_problem = spread(problem, comm, labels, parts)
            result = distributed.solve(spread_problem, **options)
            local = result._local
            return result, spread_problem.gather_rows(local.residual_velocities)

        for result, xi in on_each_rank(work, 3):
            assert bits_of(xi) == bits_of(reference.residual_velocities)
            assert result.natural_map == reference.natural_map
            assert result.natural_map_scaled == reference.natural_map_scaled
            assert result.worst_contact == reference.worst_contact


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_rank_reads_alone_and_sends_nothing(ranks):
    def work(comm):
        solver = solver_of(comm, CHECKERBOARD)
        result = solver.solve()
        before = comm.traffic()
        found = values_of(result) if comm.rank == ranks - 1 else None
        after = comm.traffic()
        solver.solve()
        return found, before == after

    wanted = on_each_rank(lambda comm: evaluated_in_the_solve(comm, CHECKERBOARD), ranks)
    found = on_each_rank(work, ranks)
    assert found[-1] == (wanted[-1], True)


def test_a_rank_that_has_read_alone_goes_on_with_the_others():
    """Reading a result of other b and mu changes nothing that a rank has in common with others."""
    problem = grid()
    b, mu = 1.5 * problem.b, np.full(problem.contacts, 0.3)

    def others(solver):
        share = solver.problem.share_rows
        return {"b": share(b), "mu": share(mu)}

    def work(comm):
        solver = solver_of(comm, "colored")
        first = solver.solve(**others(solver))
        own = solver.solve()
        if comm.rank == 1:
            _ = first.residual_velocities
        again = solver.solve()
        if comm.rank == 0:
            _ = first.residual_velocities
        last = solver.solve(**others(solver))
        return [values_of(result) for result in (first, own, again, last)]

    def wanted(comm):
        solver = solver_of(comm, "colored", record=("natural_map",))
        with_others = values_of(solver.solve(**others(solver)))
        own = values_of(solver.solve())
        return [with_others, own, own, with_others]

    assert on_each_rank(work, 2) == on_each_rank(wanted, 2)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer signals")
def test_one_rank_evaluates_nothing_before_it_is_read():
    """Within a later solve, what has to be evaluated cannot be read."""
    solver = distributed.Solver(
        distributed.scatter(grid(), parts=PARTS), **{**SILENT, "max_iterations": 10**8}
    )
    errors = []

    def stop(state):
        if state.iteration:
            raise StopIteration

    class EnoughError(Exception):
        pass

    result = solver.solve(callback=stop)

    def read(*_):
        for name in ("natural_map", "residual_velocities"):
            with pytest.raises(RuntimeError, match="read it after that") as caught:
                getattr(result, name)
            errors.append(caught.value)
        raise EnoughError

    with alarm(read, after=0.05), pytest.raises(EnoughError):
        solver.solve()
    assert len(errors) == 2


def test_the_end_of_a_solve_sends_one_exchange_and_one_gather():
    """Counted in a solve without sweeps, once V is known."""

    def work(comm):
        solver = solver_of(comm, "colored", max_iterations=0)
        solver.solve()
        before = comm.traffic()
        solver.solve()
        after = comm.traffic()
        return {name: after[name] - before[name] for name in ("exchanges", "gathers")}

    # At the beginning: u of ghosts; arguments and their size, two agreements, whether ranks ask.
    beginning = {"exchanges": 1, "gathers": 5}
    for counts in on_each_rank(work, 2):
        assert counts == {name: number + 1 for name, number in beginning.items()}
