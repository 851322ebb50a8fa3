"""Solves on ranks have the bits of one process."""

from dataclasses import replace

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import distributed
from contactsolve.distributed.solver import compare_copies
from distributed_solves import (
    BOTH,
    CASES,
    CHECKERBOARD,
    CONCURRENT,
    GAUSS_SEIDEL,
    PARTS,
    SPLIT,
    WEIGHTED,
    bits_of,
    grid,
    labels_of,
    needs_avx2,
    spread,
)


def alone(problem, labels, order, **options):
    """The solver of one process, with the same order and parts."""
    order = replace(cs.orders.chosen(order), labels=labels)
    return cs.Solver(problem, order=order, islands=False, scheme="factorized", **options)


def require_equal(problem, labels, ranks, order, parts=PARTS, **options):
    """Solve on ranks and on one process; compare bits, histories and verdicts."""

    def work(comm):
        found = distributed.solve(spread(problem, comm, labels, parts), order=order, **options)
        return bits_of(found.gather()), found

    reference = alone(problem, labels, order, **options).solve()
    for bits, found in distributed.run(work, ranks, timeout=60):
        assert bits == bits_of(reference.impulses)
        assert (found.status, found.iterations) == (reference.status, reference.iterations)
        assert found.natural_map == reference.natural_map
        assert found.natural_map_scaled == reference.natural_map_scaled
        assert found.worst_contact == reference.worst_contact
        assert found.info["kernel"] == reference.info["kernel"]
        for column in set(reference.history.columns) - {"time"}:
            ours, theirs = found.history[column], reference.history[column]
            assert np.array_equal(ours, theirs, equal_nan=True)


# ---- bits ---------------------------------------------------------------------------------------


@pytest.mark.sampled(6)
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("name", CASES)
def test_bits_do_not_depend_on_ranks(name, ranks):
    problem, (order, options) = grid(), CASES[name]
    try:
        require_equal(problem, labels_of(problem), ranks, order, max_iterations=40, **options)
    except ValueError as error:
        if name in needs_avx2 and "avx2" in str(error):
            pytest.skip("this processor has no AVX2")
        raise


@pytest.mark.sampled(3)
@pytest.mark.parametrize("order", ["colored", CHECKERBOARD, CONCURRENT, BOTH])
@pytest.mark.parametrize(
    "scene", ["disc_pyramid", "log_tower", "chain", "crane", "folded_cloth", "ball_grid", "random"]
)
def test_bits_of_scenes(scene, order):
    """Contacts in the plane, joints of several sizes, four bodies, islands, fixed bodies."""
    problem = cs.scenarios.get(scene)()
    parts = min(PARTS, problem.bodies_count)
    labels = labels_of(problem, parts)
    for ranks in (2, parts):
        require_equal(problem, labels, ranks, order, parts, max_iterations=20, **GAUSS_SEIDEL)


def test_random_labels_and_jacobi():
    problem = cs.scenarios.random(contacts=200, bodies=60, rng=1)
    labels = np.random.default_rng(1).integers(0, PARTS, 60)
    require_equal(problem, labels, 5, "partition", method="jacobi", max_iterations=30)


@pytest.mark.parametrize("scene", ["folded_cloth", "crane", "random"])
def test_adjacent_contacts_of_ghosts(scene):
    """Labels at random: most contacts have bodies of several ranks, some of them four."""
    many = {"contacts": 200, "bodies": 60, "rng": 1} if scene == "random" else {}
    problem = cs.scenarios.get(scene)(**many)
    labels = np.random.default_rng(2).integers(0, PARTS, problem.bodies_count)
    options = {"method": "jacobi", "averaging": "adjacent", "max_iterations": 6}
    for ranks in (1, 2, 3, 5):
        require_equal(problem, labels, ranks, "partition", **options)


def test_ranks_without_contacts_or_bodies():
    problem = grid()
    labels = np.where(labels_of(problem) < 4, 0, 5)
    require_equal(problem, labels, 8, "colored", max_iterations=30, **GAUSS_SEIDEL)


def test_one_part():
    problem = grid()
    labels = np.zeros(problem.bodies_count, np.int64)
    require_equal(problem, labels, 1, "partition", 1, max_iterations=30, **GAUSS_SEIDEL)


@pytest.mark.parametrize("order", [WEIGHTED, SPLIT, BOTH], ids=str)
@pytest.mark.parametrize("threads", [1, 2])
def test_weights_and_split_masses_of_many_parts(threads, order):
    """Random labels: a body meets many parts, which several ranks own."""
    problem = grid()
    labels = np.random.default_rng(4).integers(0, 24, problem.bodies_count)
    options = {**GAUSS_SEIDEL, "threads": threads, "exact_threads": True}
    for ranks in (1, 2, 3, 5):
        require_equal(problem, labels, ranks, order, 24, max_iterations=20, **options)


@pytest.mark.parametrize("order", [WEIGHTED, SPLIT], ids=str)
def test_weights_and_split_masses_converge_on_ranks(order):
    problem = grid()
    labels = np.random.default_rng(4).integers(0, 24, problem.bodies_count)
    options = {**GAUSS_SEIDEL, "rtol": 1e-5, "max_iterations": 3000}
    require_equal(problem, labels, 3, order, 24, **options)
    reference = alone(problem, labels, order, **options).solve()
    assert reference.converged


def test_a_solve_that_converges():
    problem = grid()
    labels = labels_of(problem)
    require_equal(problem, labels, 3, "colored", method="nncg", rtol=1e-10, max_iterations=500)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_stages_end_alike_on_all_ranks(ranks, threads):
    """Each method alone stalls; they hand over to each other where one process does."""
    problem = cs.scenarios.ball_grid(5, mass=1.0, velocity=0.1, rng=12)
    labels = labels_of(problem)
    options = {"rtol": 1e-8, "check_every": 5, "max_iterations": 2000}
    for name in ("nesterov", "nncg"):
        method = getattr(cs.methods, name)(patience=40)
        assert alone(problem, labels, "partition", method=method, **options).solve().status == (
            "stalled"
        )
    options |= {"method": cs.methods.nesterov_nncg(patience=40)}
    reference = alone(problem, labels, "partition", **options).solve()
    assert reference.converged
    assert reference.info["handovers"] >= 2

    def work(comm):
        found = distributed.solve(
            spread(problem, comm, labels), threads=threads, exact_threads=True, **options
        )
        return bits_of(found.gather()), found

    for bits, found in distributed.run(work, ranks, timeout=60):
        assert bits == bits_of(reference.impulses)
        assert np.array_equal(
            found.history["natural_map"], reference.history["natural_map"], equal_nan=True
        )
        assert np.array_equal(
            found.history["residual"], reference.history["residual"], equal_nan=True
        )
        assert found.info["handovers"] == reference.info["handovers"]
        for one, other in zip(found.info["links"], reference.info["links"], strict=True):
            assert {**one, "seconds": 0} == {**other, "seconds": 0}


SUMS = ("quality", "fclib_error", "delta_norm", "merit")
OTHERS = ("delta_element", "residual", "infeasibility", "dissipation_gap", "natural_map")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("order", ["partition", "colored", CHECKERBOARD, CONCURRENT])
def test_measures_over_all_contacts(order, threads):
    problem = grid()
    labels = labels_of(problem)
    options = {
        **GAUSS_SEIDEL, "record": SUMS + OTHERS, "check_every": 1, "max_iterations": 12,
        "exact_threads": True, "threads": threads,
    }  # fmt: skip
    for ranks in (1, 2, 3, 5):
        require_equal(problem, labels, ranks, order, **options)


@pytest.mark.parametrize("scene", ["disc_pyramid", "log_tower", "folded_cloth", "random"])
def test_measures_of_scenes(scene):
    """In the plane, with joints, between four bodies, with random labels."""
    problem = cs.scenarios.get(scene)()
    labels = np.random.default_rng(3).integers(0, PARTS, problem.bodies_count)
    options = {"record": ("quality", "delta_norm"), "check_every": 1, "max_iterations": 8}
    for ranks in (2, 5):
        require_equal(problem, labels, ranks, "partition", **GAUSS_SEIDEL, **options)


def test_sums_by_parts_have_the_value_of_other_sums():
    """Jacobi's iterates are the same with parts and without; only the sequence of sums differs."""
    problem = grid()
    given = {"method": "jacobi", "record": SUMS, "check_every": 1, "max_iterations": 12}
    plain = alone(problem, None, "natural", **given).solve()
    parted = alone(problem, labels_of(problem), "partition", **given).solve()
    assert bits_of(parted.impulses) == bits_of(plain.impulses)
    histories = [(parted.history[name][1:], plain.history[name][1:]) for name in SUMS]
    for ours, theirs in histories:
        assert np.isfinite(ours).sum() >= 8  # a rollback has no change
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, equal_nan=True)
    assert any(not np.array_equal(*each, equal_nan=True) for each in histories)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("stop", "tolerance"),
    [
        ("quality", {"rtol": None, "atol": 1e-6}),
        ("fclib_error", {"rtol": None, "atol": 1e-6}),
        ("delta_norm", {"rtol": 1e-5}),
        ("delta_element", {"rtol": 1e-4}),
        ("merit", {"rtol": None, "atol": 1e-12}),
    ],
)
def test_all_ranks_stop_by_a_measure(stop, tolerance, threads):
    problem = grid()
    labels = labels_of(problem)
    options = {
        "method": "nesterov", "stop": stop, "record": (stop, "natural_map"), **tolerance,
        "exact_threads": True, "threads": threads, "max_iterations": 1000,
    }  # fmt: skip
    assert alone(problem, labels, "partition", **options).solve().converged
    for ranks in (1, 2, 3, 5):
        require_equal(problem, labels, ranks, "partition", **options)


def test_jacobi_has_the_bits_of_any_order():
    problem = grid()
    labels = labels_of(problem)
    reference = cs.solve(
        problem, method="jacobi", scheme="factorized", islands=False, max_iterations=30
    )

    def work(comm):
        found = distributed.solve(spread(problem, comm, labels), method="jacobi", max_iterations=30)
        return bits_of(found.gather())

    assert set(distributed.run(work, 3, timeout=60)) == {bits_of(reference.impulses)}


# ---- solves again, callbacks, limits ------------------------------------------------------------


def test_solves_again_from_earlier_impulses_and_with_other_friction():
    problem = grid()
    labels = labels_of(problem)
    reference = alone(problem, labels, "partition", method="gauss_seidel", max_iterations=10)
    first = reference.solve()
    second = reference.solve(initial=first, mu=0.3)

    def work(comm):
        solver = distributed.Solver(spread(problem, comm, labels), max_iterations=10, verify=True)
        found = solver.solve(initial=solver.solve(), mu=0.3)
        return bits_of(found.gather())

    assert set(distributed.run(work, 3, timeout=60)) == {bits_of(second.impulses)}


def test_one_rank_may_stop_all():
    problem = grid()
    labels = labels_of(problem)

    def work(comm):
        def stop(state):
            if state.iteration == 7:
                raise StopIteration

        shared = spread(problem, comm, labels)
        found = distributed.solve(shared, callback=stop if comm.rank == 1 else None)
        return found.status, found.iterations

    assert distributed.run(work, 3, timeout=60) == [("stopped", 7)] * 3


def test_all_ranks_end_at_the_deadline():
    problem = grid()
    labels = labels_of(problem)

    def work(comm):
        shared = spread(problem, comm, labels)
        found = distributed.solve(shared, rtol=1e-30, max_iterations=10**7, max_seconds=0.1)
        return found.status, found.iterations

    statuses = distributed.run(work, 3, timeout=60)
    assert len(set(statuses)) == 1
    assert statuses[0][0] == "max_seconds"


# ---- failures -----------------------------------------------------------------------------------


def test_wrong_values_of_one_rank_are_an_error_of_all_and_the_solver_goes_on():
    problem = grid()
    labels = labels_of(problem)

    def work(comm):
        solver = distributed.Solver(spread(problem, comm, labels), max_iterations=5)
        b = np.array(solver.problem.share.problem.b)
        b[2, 1] = np.nan if comm.rank == 1 else b[2, 1]
        with pytest.raises(ValueError, match=r"rank 1: b\[2, 1\] is nan"):
            solver.solve(b=b)
        return solver.solve().iterations

    assert distributed.run(work, 3, timeout=60) == [5, 5, 5]


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"b": np.zeros(3)}, ValueError, r"rank 1: b has shape \(3,\)"),
        ({"mu": "rough"}, TypeError, "rank 1: mu"),
        ({"initial": "impulses"}, TypeError, "rank 1: initial"),
        ({"callback": 5}, TypeError, "rank 1: callback is 5"),
        ({"mu": 0.2}, ValueError, "mu is given here on rank 1 and not given on rank 0"),
    ],
)
def test_wrong_arguments_of_one_rank_are_an_error_of_all(values, error, message):
    problem = grid()
    labels = labels_of(problem)

    def work(comm):
        solver = distributed.Solver(spread(problem, comm, labels), max_iterations=5)
        with pytest.raises(error, match=message):
            solver.solve(**values if comm.rank == 1 else {})
        return solver.solve().iterations

    assert distributed.run(work, 3, timeout=60) == [5, 5, 5]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"threads": -1}, ValueError, "rank 1: threads is -1"),
        ({"exact_threads": 1}, TypeError, "rank 1: exact_threads is 1"),
        ({"max_setup_seconds": -1}, ValueError, "rank 1: max_setup_seconds is -1"),
    ],
)
def test_wrong_options_of_one_rank_are_an_error_of_all(options, error, message):
    problem = grid()
    labels = labels_of(problem)

    def work(comm):
        shared = spread(problem, comm, labels)
        with pytest.raises(error, match=message):
            distributed.solve(shared, **options if comm.rank == 1 else {})
        return distributed.solve(shared, max_iterations=5).iterations

    assert distributed.run(work, 3, timeout=60) == [5, 5, 5]


def test_an_error_in_the_callback_of_one_rank_ends_all():
    problem = grid()
    labels = labels_of(problem)

    def work(comm):
        def fail(state):
            if comm.rank == 1 and state.iteration == 3:
                raise KeyError("planted")

        try:
            distributed.solve(spread(problem, comm, labels), callback=fail)
        except (KeyError, distributed.RankError) as error:
            return f"{type(error).__name__}: {error}"

    one, two, three = distributed.run(work, 3, timeout=60)
    assert one == three == "RankError: rank 1: KeyError: 'planted'"
    assert two == "KeyError: 'planted'"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "auto"}, "method='auto' chooses as it goes"),
        ({"method": "newton"}, "method='newton' is not available on ranks"),
        ({"method": "bpp"}, "method='bpp' is not available on ranks"),
        ({"method": "apgd"}, "method='apgd' is not available on ranks"),
        ({"method": "mass_splitting"}, "method='mass_splitting' is not available on ranks"),
        ({"scheme": "matrix"}, "scheme='matrix' is not available on ranks"),
        ({"parts": 4}, "the problem has its parts"),
        ({"islands": True}, "islands are never solved separately"),
    ],
)
def test_what_ranks_do_not_have(options, message):
    problem = grid()
    labels = labels_of(problem)

    def work(comm):
        with pytest.raises(ValueError, match=message.replace("(", r"\(")):
            distributed.solve(spread(problem, comm, labels), **options)

    distributed.run(work, 2, timeout=60)


def test_unequal_options():
    problem = grid()
    labels = labels_of(problem)

    def work(comm):
        with pytest.raises(ValueError, match="max_iterations is 6 on rank 1 and 5 on rank 0"):
            distributed.solve(spread(problem, comm, labels), max_iterations=5 + comm.rank)

    distributed.run(work, 2, timeout=60)


# ---- copies and messages ------------------------------------------------------------------------


def test_a_planted_difference_is_reported():
    problem = grid()
    labels = labels_of(problem)

    def work(comm):
        solver = distributed.Solver(spread(problem, comm, labels), max_iterations=5, verify=True)
        share, impulses = solver.problem.share, np.array(solver.solve()._local.impulses)
        if comm.rank == 1:
            copy = np.flatnonzero(solver._visitor != 1)[0]
            impulses[copy, 1] = np.nextafter(impulses[copy, 1], 9)
        with pytest.raises(ArithmeticError, match=r"contact \d+ has the impulses .* on rank 1"):
            compare_copies(share, solver._visitor, impulses)

    distributed.run(work, 3, timeout=60)


@pytest.mark.parametrize("order", ["partition", "colored", CHECKERBOARD, CONCURRENT, BOTH])
def test_messages_are_those_of_the_cut(order):
    """Twenty sweeps more cost twenty times the messages and bytes of a sweep."""
    problem = grid()
    labels = labels_of(problem)

    def work(comm):
        shared, counts = spread(problem, comm, labels), []
        for sweeps in (10, 30):
            solver = distributed.Solver(
                shared,
                order=order,
                max_iterations=sweeps,
                rtol=None,
                atol=None,
                record=("residual",),
            )
            before = comm.transport.traffic()
            solver.solve()
            after = comm.transport.traffic()
            counts.append([after[name] - before[name] for name in ("messages", "bytes")])
        figures = solver.info["ranks"]
        return np.subtract(*counts[::-1]).tolist(), [
            20 * figures["messages"],
            20 * figures["bytes"],
        ]

    for counted, predicted in distributed.run(work, 3, timeout=60):
        assert counted == predicted
