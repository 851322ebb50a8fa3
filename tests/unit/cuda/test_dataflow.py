"""Sweeps by dataflow and by a graph have the bits of a launch for each stage."""

import pytest

import contactsolve as cs
from emulated import (
    EMULATED,
    TURNS,
    kernels,
    lost_write,
    resident,
    rolled_back_alike,
    same_bits,
    shared,
    swept,
    turns,
    two_sets,
)
from emulated import same_history as same

needs_avx2 = pytest.mark.skipif(
    not cs.info()["instructions"].get("avx2"), reason="this processor has no AVX2"
)
SCENARIOS = {
    "spheres": cs.scenarios.ball_grid(4),
    "boxes": cs.scenarios.box_stack(6),
    "discs": cs.scenarios.disc_pyramid(8),
}
WAYS = ("launches", "graph", "dataflow")


def sweep(problem, way, sweeps=20, **options):
    own = {"method": "gauss_seidel", "order": "colored", "scheme": "factorized"}
    return swept(problem, way, sweeps, **{**own, **options})


@pytest.mark.sampled(3)
@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "float32", "mixed"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_all_ways_have_the_same_bits(name, dtype, compressed):
    for method in ("gauss_seidel", "symmetric_gauss_seidel"):
        options = {"method": method, "dtype": dtype, "compressed": compressed}
        results = [sweep(SCENARIOS[name], way, **options) for way in WAYS]
        for other in results[1:]:
            same(results[0], other)


@needs_avx2
@pytest.mark.parametrize("name", SCENARIOS)
def test_dataflow_has_the_bits_of_the_processor(name):
    here = sweep(SCENARIOS[name], "cpu", instructions="avx2", record_every=7)
    there = sweep(SCENARIOS[name], "dataflow", record_every=7)
    same_bits(here, there)


@pytest.mark.parametrize("blocks", [1, 2, 7])
def test_neither_turns_nor_blocks_matter(blocks):
    wanted = sweep(SCENARIOS["spheres"], "launches", 11)
    for turn in TURNS:
        with turns(turn, blocks), resident(blocks):
            same(wanted, sweep(SCENARIOS["spheres"], "dataflow", 11))


# Bytes that a block may share: no batch stays, or some do and others take turns in two slots.
LITTLE = {"float32": (26_000, 40_000), "float64": (44_000, 60_000), "mixed": (34_000, 50_000)}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "float32", "mixed"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_batches_that_take_turns(name, dtype, compressed):
    for size in LITTLE[dtype]:
        for method in ("gauss_seidel", "symmetric_gauss_seidel"):
            options = {"method": method, "dtype": dtype, "compressed": compressed}
            wanted = sweep(SCENARIOS[name], "launches", 7, **options)
            with shared(size), resident(1), turns("random", 5):
                same(wanted, sweep(SCENARIOS[name], "dataflow", 7, **options))


@pytest.mark.parametrize(
    "sets", [cs.sets.second_order_cone(0.4), cs.sets.box_friction(0.3), cs.sets.ellipse(0.4, 0.2)]
)
def test_other_sets_take_turns(sets):
    given = SCENARIOS["spheres"]
    problem = cs.Problem(given.J, given.Minv, given.b, bodies=given.bodies, sets=sets)
    wanted = sweep(problem, "launches", 7)
    for size in (44_000, 227 << 10):
        with shared(size), resident(1):
            same(wanted, sweep(problem, "dataflow", 7))


@pytest.mark.parametrize("dtype", ["float64", "float32", "mixed"])
@pytest.mark.parametrize("sets", ["second_order_cone", "box_friction", "disc", "two groups"])
def test_solids_take_turns(sets, dtype):
    """Bodies whose moments of inertia differ. The prox of several groups is called."""
    given = cs.scenarios.ball_grid(4)
    Minv = given.Minv * [1, 1, 1, 1, 2, 3]
    own = cs.sets.disc(0.3) if sets == "two groups" else getattr(cs.sets, sets)(0.3)
    problem = cs.Problem(given.J, Minv, given.b, bodies=given.bodies, sets=own)
    if sets == "two groups":
        problem = two_sets(problem, cs.sets.disc(0.4))
    for method in ("gauss_seidel", "symmetric_gauss_seidel"):
        options = {"method": method, "dtype": dtype, "compressed": True}
        wanted = sweep(problem, "launches", 7, **options)
        for size in (*LITTLE[dtype], 227 << 10):
            with shared(size), resident(1), turns("random", 5):
                same(wanted, sweep(problem, "dataflow", 7, **options))


def test_too_little_shared_memory():
    options = {"method": "gauss_seidel", "scheme": "factorized", **EMULATED}
    with shared(12_000):
        with pytest.raises(ValueError, match=r"a warp needs .* bytes of shared memory for its"):
            cs.Solver(SCENARIOS["spheres"], device_sweeps="dataflow", **options)
        assert cs.Solver(SCENARIOS["spheres"], **options).info["kernel"].endswith("graph")


@pytest.mark.parametrize(
    ("way", "order"), [("dataflow", "colored"), ("regions", cs.orders.regions(2))]
)
@pytest.mark.parametrize("record_every", [10, 50])
def test_a_call_is_one_launch(way, order, record_every):
    """A call of up to 64 sweeps uploads its state, and launches one kernel."""

    def counts(way, sweeps, record_every):
        solver = cs.Solver(
            SCENARIOS["spheres"],
            method="gauss_seidel",
            scheme="factorized",
            order=order,
            device_sweeps=way,
            rtol=None,
            max_iterations=sweeps,
            record=(),
            record_every=record_every,
            **EMULATED,
        )
        solver.solve()
        launches, moved = kernels.kernels_run(), kernels.moved()[0]
        solver.solve()
        return kernels.kernels_run() - launches, kernels.moved()[0] - moved

    # Launches of a solve of 50 sweeps by a launch for each stage, less those of the sweeps.
    one, two = (counts("launches", sweeps, 1)[0] for sweeps in (1, 2))
    others = counts("launches", 50, record_every)[0] - one - 49 * (two - one)

    # Calls, by what they upload: as many as the time of emulated sweeps wants.
    (one, first), (two, second) = (counts(way, sweeps, 1) for sweeps in (1, 2))
    launches, moved = counts(way, 50, record_every)
    calls = 1 + (moved - first) // (second - first)
    assert 50 // record_every <= calls <= 50
    assert two == one + 1
    assert launches == one + calls - 1 + others


@pytest.mark.parametrize("method", ["nesterov", "anderson", "nncg", "chebyshev"])
def test_methods_in_steps(method):
    """Some alternate between forward and backward sweeps, in calls of one sweep."""
    options = {"method": method, "record_every": 1, "sweeps": 15}
    same(*(sweep(SCENARIOS["boxes"], way, **options) for way in ("launches", "dataflow")))


@needs_avx2
@pytest.mark.parametrize("record_every", [1, 5, 40])
def test_divergent_sweeps_are_rolled_back_alike(record_every):
    """Over-relaxed sweeps diverge, in the middle of a launch too; best iterates come back."""
    options = {
        "sweeps": 40,
        "relaxation": 2.6,
        "rollback_growth": 1.0,
        "record_every": record_every,
    }
    here = sweep(SCENARIOS["spheres"], "cpu", instructions="avx2", **options)
    for way in WAYS:
        rolled_back_alike(here, sweep(SCENARIOS["spheres"], way, **options))


def test_the_best_iterate_of_a_launch():
    """Residuals rise and fall: every number of sweeps ends at the iterate of launches."""
    for sweeps in range(1, 20):
        options = {"relaxation": 1.9, "rollback_growth": 1.5, "sweeps": sweeps}
        same(*(sweep(SCENARIOS["boxes"], way, **options) for way in ("launches", "dataflow")))


def test_groups_of_one_shape():
    for second in (cs.sets.box_friction(0.4), cs.sets.second_order_cone(0.5)):
        problem = two_sets(SCENARIOS["spheres"], second)
        results = [sweep(problem, way, compressed=False) for way in WAYS]
        for other in results[1:]:
            same(results[0], other)


def test_automatic_choice():
    def kernel(**options):
        return cs.Solver(SCENARIOS["spheres"], **EMULATED, **options).info["kernel"]

    assert kernel(method="gauss_seidel").endswith("dataflow")
    assert kernel(method="jacobi").endswith("graph")
    assert kernel(method="gauss_seidel", scheme="matrix").endswith("graph")
    assert kernel(method="gauss_seidel", order="natural").endswith("graph")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"method": "jacobi", "scheme": "factorized"}, "contacts of a stage of the order share"),
        ({"scheme": "matrix"}, "scheme='factorized' is needed"),
        ({"order": "natural", "scheme": "factorized"}, "contacts of a stage of the order share"),
    ],
)
def test_where_dataflow_is_not_possible(options, why):
    options = {"method": "gauss_seidel", **EMULATED, **options}
    with pytest.raises(ValueError, match=f"device_sweeps='dataflow' is not possible here: {why}"):
        cs.Solver(SCENARIOS["spheres"], device_sweeps="dataflow", **options)


@pytest.mark.parametrize("turn", TURNS)
def test_a_lost_version_is_reported(turn):
    """A velocity that is never written ends the solve with an error, and nothing else."""
    problem = cs.scenarios.ball_grid(2)
    before = 4 * (problem.bodies_count + 1)  # pieces of the velocities that sweeps begin with
    with turns(turn, 3), resident(1), lost_write(before + 5):
        solver = cs.Solver(
            problem,
            method="gauss_seidel",
            scheme="factorized",
            rtol=None,
            max_iterations=4,
            device_sweeps="dataflow",
            **EMULATED,
        )
        with pytest.raises(RuntimeError, match=r"device has failed: .*waits without end"):
            solver.solve()
    same(sweep(problem, "launches", 5), sweep(problem, "dataflow", 5))
