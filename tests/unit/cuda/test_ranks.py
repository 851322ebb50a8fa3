"""Ranks that hold a device each: the bits of one process with a device."""

from dataclasses import replace

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _core, distributed
from distributed_problems import joined
from distributed_solves import CHECKERBOARD, CONCURRENT, bits_of, grid, labels_of, spread
from emulated import DEVICE, EMULATED, TURNS, loss, turns

pytestmark = [
    pytest.mark.threads,
    pytest.mark.skipif(
        _core.build()["threading"] == "serial", reason="ranks as threads need a build with threads"
    ),
]

CASES = {
    "colors": ("colored", {"method": "gauss_seidel"}),
    "partition": ("partition", {"method": "gauss_seidel"}),
    "hashed": (cs.orders.colored(priority="hash"), {"method": "gauss_seidel"}),
    "symmetric": ("colored", {"method": "symmetric_gauss_seidel"}),
    "jacobi": ("partition", {"method": "jacobi"}),
    "rollbacks": ("partition", {"method": "jacobi", "relaxation": 1.7}),
    "float32": ("colored", {"method": "gauss_seidel", "dtype": "float32"}),
    "mixed": ("colored", {"method": "gauss_seidel", "dtype": "mixed"}),
    "uncompressed": ("colored", {"method": "gauss_seidel", "compressed": False}),
    "scalar": ("colored", {"method": "gauss_seidel", "instructions": "scalar"}),
    "previous bound": ("colored", {"method": "gauss_seidel", "bound": "previous"}),
}
REFERENCES = {}


def reference_of(key, problem, labels, order, **options):
    """The answer of one process with a device, with the same parts, computed once."""
    if key not in REFERENCES:
        order = replace(cs.orders.chosen(order), labels=labels)
        REFERENCES[key] = cs.solve(
            problem, order=order, islands=False, scheme="factorized", **EMULATED, **options
        )
    return REFERENCES[key]


def require_equal(reference, problem, ranks, order, **options):
    labels = labels_of(problem)

    def work(comm):
        shared = spread(problem, comm, labels)
        found = distributed.solve(shared, order=order, verify=True, **EMULATED, **options)
        return bits_of(found.gather()), found

    for bits, found in distributed.run(work, ranks, timeout=60):
        assert bits == bits_of(reference.impulses)
        assert (found.status, found.iterations) == (reference.status, reference.iterations)
        assert found.natural_map_scaled == reference.natural_map_scaled
        assert found.info["rollbacks"] == reference.info["rollbacks"]
        assert found.info["kernel"].startswith(DEVICE)
        for column in set(reference.history.columns) - {"time"}:
            ours, theirs = found.history[column], reference.history[column]
            assert np.array_equal(ours, theirs, equal_nan=True), column


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("name", CASES)
def test_bits_do_not_depend_on_ranks(name, ranks):
    problem, (order, options) = grid(), CASES[name]
    given = {"max_iterations": 20, "record": ("residual", "natural_map_scaled"), **options}
    reference = reference_of(name, problem, labels_of(problem), order, **given)
    if name == "rollbacks":
        assert reference.info["rollbacks"] > 0
    require_equal(reference, problem, ranks, order, **given)


@pytest.mark.parametrize("order", ["colored", "partition"])
def test_groups_of_several_sizes(order):
    problem = joined()
    given = {"method": "gauss_seidel", "max_iterations": 10, "record": ("residual",)}
    reference = reference_of(("joined", order), problem, labels_of(problem), order, **given)
    for ranks in (2, 5):
        require_equal(reference, problem, ranks, order, **given)


def test_a_solve_that_converges():
    problem = grid()
    given = {"method": "gauss_seidel", "rtol": 1e-6, "max_iterations": 3000}
    reference = reference_of("converges", problem, labels_of(problem), "colored", **given)
    assert reference.status == "converged"
    require_equal(reference, problem, 3, "colored", **given)


@pytest.mark.parametrize("dtype", ["float64", "mixed"])
def test_ranks_of_processors_have_the_same_impulses(dtype):
    """Where sweeps on one process have them with a device and without."""
    if not cs.info()["instructions"].get("avx2"):
        pytest.skip("this processor has no AVX2")
    problem = grid()
    labels = labels_of(problem)
    given = {"order": "colored", "dtype": dtype, "rtol": None, "max_iterations": 20}

    def work(comm):
        shared = spread(problem, comm, labels)
        here = distributed.solve(shared, instructions="avx2", **given)
        there = distributed.solve(shared, **EMULATED, **given)
        return bits_of(here.gather()), bits_of(there.gather())

    for here, there in distributed.run(work, 2, timeout=60):
        assert here == there


def test_turns_of_threads_do_not_matter():
    problem = grid()
    labels = labels_of(problem)

    def work(comm):
        found = distributed.solve(
            spread(problem, comm, labels), order="colored", max_iterations=10, **EMULATED
        )
        return bits_of(found.gather())

    bits = []
    for turn in TURNS:
        with turns(turn, 5):
            bits += distributed.run(work, 2, timeout=60)
    assert len(set(bits)) == 1


def test_a_problem_without_a_solution():
    """A ball between walls that close, beside a grid."""
    pinched = grid()
    J = np.zeros((2, 2, 3, 6))
    J[:, 1, :, :3] = np.eye(3)
    J[1, 1, 0, 0] = -1
    last = len(pinched.Minv)
    problem = cs.Problem(
        np.concatenate([pinched.J, J]),
        np.concatenate([pinched.Minv, np.ones_like(pinched.Minv[:1])]),
        np.concatenate([pinched.b, [[-1.0, 0, 0]] * 2]),
        0.1,
        bodies=np.concatenate([pinched.bodies, [[-1, last]] * 2]),
    )
    given = {"method": "gauss_seidel"}
    reference = reference_of("pinched", problem, labels_of(problem), "colored", **given)
    assert reference.status == "infeasible"
    require_equal(reference, problem, 3, "colored", **given)


def test_solves_again_with_other_data():
    problem = grid()
    labels = labels_of(problem)
    order = replace(cs.orders.chosen("colored"), labels=labels)
    given = {"method": "gauss_seidel", "max_iterations": 10}
    solver = cs.Solver(
        problem, order=order, islands=False, scheme="factorized", **EMULATED, **given
    )
    first = solver.solve()
    second = solver.solve(initial=first, mu=0.3)

    def work(comm):
        ranks = distributed.Solver(
            spread(problem, comm, labels), order="colored", **EMULATED, **given
        )
        return bits_of(ranks.solve(initial=ranks.solve(), mu=0.3).gather())

    assert set(distributed.run(work, 3, timeout=60)) == {bits_of(second.impulses)}


# ---- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "nesterov"}, "method='nesterov' is not available on ranks with device="),
        ({"method": "anderson"}, "which has no sums by parts"),
        ({"order": CHECKERBOARD}, "has one part visit contacts at the bodies of another"),
        ({"order": CONCURRENT}, "has one part visit contacts at the bodies of another"),
        ({"device_sweeps": "dataflow"}, "device_sweeps='dataflow' is not available on ranks"),
        ({"record": ("merit",)}, "the measure 'merit' is not available on ranks with devices"),
        ({"local": "block"}, "local problems are not available on ranks with device="),
    ],
)
def test_what_ranks_with_devices_do_not_have(options, message):
    problem = grid()
    labels = labels_of(problem)

    def work(comm):
        with pytest.raises(ValueError, match=message.replace("(", r"\(")):
            distributed.solve(
                spread(problem, comm, labels), **{"order": "colored", **EMULATED, **options}
            )

    distributed.run(work, 2, timeout=60)


def test_checkpoints_are_refused(tmp_path):
    problem = grid()
    labels = labels_of(problem)

    def work(comm):
        with pytest.raises(ValueError, match="checkpoints are not available with device="):
            distributed.solve(
                spread(problem, comm, labels), checkpoint=tmp_path / "state.hdf5", **EMULATED
            )

    distributed.run(work, 2, timeout=60)


def test_a_rank_without_a_device():
    problem = grid()
    labels = labels_of(problem)

    def work(comm):
        own = EMULATED if comm.rank == 1 else {}
        with pytest.raises(
            ValueError, match=f"device is .*{DEVICE}.* on rank 1 and .*cpu.* on rank 0"
        ):
            distributed.solve(spread(problem, comm, labels), order="colored", **own)

    distributed.run(work, 3, timeout=60)


def test_contacts_without_kernels_are_refused_on_all_ranks():
    problem = cs.scenarios.folded_cloth()
    labels, found = labels_of(problem), []

    def work(comm):
        try:
            distributed.solve(spread(problem, comm, labels), order="colored", **EMULATED)
        except ValueError as error:
            found.append(str(error))

    distributed.run(work, 2, timeout=20)
    assert len(found) == 2
    assert all("has no kernels for device=" in text for text in found)


def test_a_device_that_is_lost_ends_the_solve_on_all_ranks():
    problem = grid()
    labels, ended = labels_of(problem), []

    def work(comm):
        try:
            distributed.solve(
                spread(problem, comm, labels), order="colored", max_iterations=50, **EMULATED
            )
        except Exception as error:
            ended.append(str(error))
            raise

    with loss(200), pytest.raises(RuntimeError):
        distributed.run(work, 2, timeout=20)
    assert len(ended) == 2
