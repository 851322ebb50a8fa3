"""S2's termination criteria (eqs. 4.49 and 4.50) and rules of sweeps, tested on the device."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import contactsolve as cs
from agreement import flat
from emulated import EMULATED, TURNS, resident, same_bits, turns, two_sets

COLOURED = {"method": "gauss_seidel", "order": "colored", "scheme": "factorized"}
NATURAL = {"method": "gauss_seidel", "order": "natural"}
AVX2, SCALAR = {"instructions": "avx2"}, {"instructions": "scalar"}
needs_avx2 = pytest.mark.skipif(
    not cs.info()["instructions"].get("avx2"), reason="this processor has no AVX2"
)
# Ways of the device, with what else they need.
BATCHES = {
    "dataflow": COLOURED,
    "graph": COLOURED,
    "launches": {**COLOURED, "method": "symmetric_gauss_seidel"},
    "regions": {**COLOURED, "order": cs.orders.regions(2)},
    "Jacobi": {"method": "jacobi", "scheme": "factorized", "device_sweeps": "graph"},
}
ONE_BY_ONE = {
    "counter": {**NATURAL, "scheme": "factorized"},
    "rows": {**NATURAL, "scheme": "matrix", "device_sweeps": "graph"},
    "counted rows": {**NATURAL, "scheme": "iteration_matrix", "device_sweeps": "counter"},
}
DENSE = {
    "on_chip": {"method": "jacobi", "scheme": "dense"},
    "dense": {"method": "jacobi", "scheme": "dense", "device_sweeps": "graph"},
    "dense launches": {**NATURAL, "scheme": "dense", "device_sweeps": "launches"},
    "colours of T": {**COLOURED, "scheme": "dense", "device_sweeps": "graph"},
    "at random": {
        "method": "gauss_seidel",
        "order": "random",
        "rng": 3,
        "scheme": "dense",
        "device_sweeps": "graph",
    },
}
ALL = {**BATCHES, **ONE_BY_ONE, **DENSE}
LATE = 10_000  # record_every: no row before the last one


@pytest.fixture(scope="module")
def spheres():
    return cs.scenarios.ball_grid(3)


def on_device(problem, way, **options):
    """A solver of the device; `way` is one of the names above."""
    own = {"device_sweeps": way, **ALL[way]}
    return cs.Solver(problem, **{**own, "rtol": 1e-2, **EMULATED, **options})


def small(way, spheres):
    """A problem that the emulation of a way solves quickly."""
    return cs.scenarios.ball_grid(2) if way in DENSE else spheres


def on_processor(problem, way, **options):
    own = {key: value for key, value in ALL[way].items() if key != "device_sweeps"}
    here = AVX2 if way in BATCHES else SCALAR
    return cs.Solver(problem, **{**own, **here, "rtol": 1e-2, **options})


def square(numbers):
    """The sum of squares as the package adds them: rows in pieces of 256, by 32 lanes."""

    def by_lanes(summands):
        lanes = np.zeros(32)
        for first in range(0, len(summands), 32):
            own = summands[first : first + 32]
            lanes[: len(own)] += own
        for half in (16, 8, 4, 2, 1):
            lanes = lanes[:half] + lanes[half:]
        return lanes[0]

    squares = np.ravel(numbers) ** 2
    return by_lanes(np.array([by_lanes(squares[i : i + 256]) for i in range(0, len(squares), 256)]))


def ratios(old, new, rtol, atol):
    """Both ratios of two iterates of one group, bit for bit."""
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.abs(new - old)
        each = np.where(change > 0, change / (np.abs(old) * rtol + atol), 0)
        norm = np.sqrt(square(new - old))
        return np.max(each), norm / (np.sqrt(square(old)) * rtol + atol)


# ---- what is measured ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32", "mixed"])
@pytest.mark.parametrize("way", ALL)
def test_both_ratios_are_those_of_the_iterates(spheres, way, dtype):
    """Bit for bit, whatever the way and the turns of threads."""
    if dtype == "mixed" and ALL[way]["scheme"] in ("dense", "iteration_matrix"):
        pytest.skip("these schemes have no mixed precision")
    options = {"stop": "delta_norm", "atol": 1e-7, "dtype": dtype}
    options["record"] = ("delta_element", "delta_norm")
    problem = small(way, spheres)
    seen = [np.zeros(problem.b.shape)]
    solver = on_device(problem, way, **options)
    solver.solve(callback=lambda state: seen.append(state.impulses.copy()))
    wanted = [ratios(*pair, 1e-2, 1e-7) for pair in pairwise(seen)]
    assert len(wanted) > 3
    for turn in TURNS:
        with turns(turn, 3):
            found = on_device(problem, way, **options).solve()
        history = found.history
        measured = np.stack([history["delta_element"], history["delta_norm"]], axis=1)
        np.testing.assert_array_equal(measured[1:], wanted)
        np.testing.assert_array_equal(found.impulses, seen[-1])
        assert found.converged
        assert np.all(measured[1:-1, 1] > 1)


def groups_of_several_sizes():
    """Contacts of three rows and joints of five, and a contact that moves nothing."""
    rng = np.random.default_rng(5)
    Minv = np.ones((9, 6))
    Minv[8] = 0
    groups = [
        cs.Group(rng.normal(size=(70, 2, 3, 6)), pairs, rng.normal(size=(70, 3)), mu=0.3)
        for pairs in [rng.permuted(np.tile(np.arange(9), (70, 1)), axis=1)[:, :2]]
    ]
    groups[0].bodies[3] = (8, -1)
    groups.append(
        cs.Group(
            rng.normal(size=(5, 2, 5, 6)),
            rng.permuted(np.tile(np.arange(8), (5, 1)), axis=1)[:, :2],
            rng.normal(size=(5, 5)),
            sets=cs.sets.free(),
        )
    )
    return cs.Problem(groups=groups, bodies=[cs.Bodies(Minv)])


PROBLEMS = {
    "spheres": lambda: cs.scenarios.ball_grid(5),
    "boxes": lambda: cs.scenarios.box_stack(3),
    "discs": lambda: cs.scenarios.disc_pyramid(5),
    "two sets": lambda: two_sets(cs.scenarios.ball_grid(3), cs.sets.box_friction(0.4)),
    "several sizes": groups_of_several_sizes,
}


@needs_avx2
@pytest.mark.parametrize("dtype", ["float64", "mixed"])
@pytest.mark.parametrize("stop", ["delta_element", "delta_norm"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_histories_of_the_processor(name, stop, dtype):
    problem = PROBLEMS[name]()
    options = {"stop": stop, "atol": 1e-9, "dtype": dtype, "max_iterations": 25, "rtol": 0.05}
    options["record"] = ("residual", "delta_element", "delta_norm")
    for way in ("graph", "Jacobi", "rows"):
        if dtype == "mixed" and way == "rows":
            continue
        here = on_processor(problem, way, **options).solve()
        there = on_device(problem, way, **options).solve()
        assert here.status == there.status
        np.testing.assert_array_equal(flat(here.impulses), flat(there.impulses))
        assert here.iterations == there.iterations > 1
        for column in ("delta_element", "delta_norm"):
            np.testing.assert_array_equal(here.history[column], there.history[column])


@pytest.mark.parametrize("method", ["nesterov", "nncg", "anderson", "chebyshev"])
def test_methods_in_steps(method):
    """The change is that of the sweep: from where it begins, which is not the iterate before."""
    problem = cs.scenarios.box_stack(3)
    options = {"method": method, "stop": "delta_norm", "record": ("delta_element", "delta_norm")}
    for way in ("rows", "counter", "dataflow", "Jacobi"):
        own = {"order": "natural"} if way == "Jacobi" else {}
        here = on_processor(problem, way, **options, **own).solve()
        there = on_device(problem, way, **options, **own).solve()
        assert there.converged
        assert there.iterations == here.iterations
        for column in ("delta_element", "delta_norm"):
            found, wanted = there.history[column], here.history[column]
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_newton_sweeps_on_the_device(spheres):
    """Its steps are the processor's, and so are their changes; sweeps before them are not."""
    options = {"method": "newton", "stop": "delta_norm", "record": ("delta_norm",)}
    here = cs.Solver(spheres, **options, rtol=1e-4).solve()
    there = cs.Solver(spheres, **options, rtol=1e-4, **EMULATED).solve()
    assert here.converged
    assert there.converged
    assert there.history["delta_norm"][-1] <= 1


def test_sums_over_parts_are_the_processors(spheres):
    """Where an order sums over the parts of a problem, as ranks do."""
    order = replace(cs.orders.chosen("colored"), labels=np.arange(27) % 3)
    options = {"order": order, "stop": "delta_norm", "record": ("residual", "delta_norm")}
    here = on_processor(spheres, "graph", **options).solve()
    for every in (1, 3):
        there = on_device(spheres, "graph", **options, record_every=every).solve()
        np.testing.assert_array_equal(here.impulses, there.impulses)
        assert here.iterations == there.iterations
        assert here.history["delta_norm"][-1] == there.history["delta_norm"][-1]


# ---- numbers at the limits -----------------------------------------------------------------------


@pytest.mark.parametrize("way", ["dataflow", "graph", "rows", "on_chip"])
@pytest.mark.parametrize("stop", ["delta_element", "delta_norm"])
def test_no_tolerance_of_one_kind(spheres, way, stop):
    """Without atol a change from zero is infinite; without rtol only changes count."""
    options = {"stop": stop, "record": (stop,), "record_every": 3}
    relative = on_device(small(way, spheres), way, **{**options, "record_every": 1}).solve()
    assert relative.converged
    assert relative.history[stop][1] == np.inf
    late = on_device(small(way, spheres), way, **options).solve()
    assert late.iterations == relative.iterations
    np.testing.assert_array_equal(late.impulses, relative.impulses)
    absolute = on_device(small(way, spheres), way, **options, rtol=0.0, atol=1e-3).solve()
    assert absolute.converged


def test_without_a_tolerance_nothing_is_measured(spheres):
    options = {"record": ("delta_norm", "residual"), "max_iterations": 4}
    options |= {"rtol": None, "atol": None}
    result = on_device(spheres, "dataflow", **options).solve()
    assert np.all(np.isnan(result.history["delta_norm"]))
    assert np.all(result.history["residual"][1:] > 0)


@pytest.mark.parametrize("record_every", [1, LATE])
@pytest.mark.parametrize("stop", ["delta_element", "delta_norm"])
def test_what_overflows_has_not_converged(stop, record_every):
    """As tests/unit/measures/test_overflow.py has it of the processor."""
    problem = cs.Problem.from_delassus(1e-6 * np.eye(3), [[-1.0, 0.0, 0.0]], 0.5)
    options = {"method": "jacobi", "r_factor": 1e-4, "rollback": 0, "max_iterations": 3}
    options |= {"stop": stop, "rtol": 1e-6, "record": (stop,), "record_every": record_every}
    start = [[1e160, 0.0, 0.0]]
    here = cs.Solver(problem, **options).solve(initial=start)
    there = cs.Solver(problem, **options, **EMULATED).solve(initial=start)
    assert (here.status, here.iterations) == (there.status, there.iterations)
    np.testing.assert_array_equal(here.history[stop], there.history[stop])
    if stop == "delta_norm":
        assert not there.converged


@pytest.mark.parametrize("record_every", [1, LATE])
@pytest.mark.parametrize("stop", ["delta_element", "delta_norm", "residual"])
def test_what_is_no_number_has_not_converged(stop, record_every):
    problem = cs.Problem.from_delassus(1e300 * np.eye(3), [[-1e10, 0.0, 0.0]], 0.5)
    options = {"method": "jacobi", "r_factor": 1e300, "rollback": 0, "max_iterations": 5}
    options |= {"stop": stop, "record": (), "record_every": record_every}
    tolerance = {"rtol": None, "atol": 1e-3} if stop == "residual" else {"rtol": 1e-3}
    there = cs.Solver(problem, **options, **tolerance, **EMULATED).solve()
    here = cs.Solver(problem, **options, **tolerance).solve()
    assert not there.converged
    assert (here.status, here.iterations) == (there.status, there.iterations)


# ---- calls of several sweeps ---------------------------------------------------------------------


@pytest.mark.parametrize("stop", ["delta_element", "delta_norm", "residual", "merit"])
@pytest.mark.parametrize("way", [way for way in ALL if way != "dense launches"])
def test_the_first_iterate_that_meets_the_rule(way, stop):
    """A call makes sweeps beyond it, and returns it: its bits, number and measures."""
    problem = cs.scenarios.ball_grid(2)
    for tolerance in (0.5, 0.1, 1e-2):
        options = {"stop": stop, "atol": 1e-12, "rtol": tolerance}
        if stop in ("residual", "merit"):
            options |= {"rtol": None, "atol": tolerance * (1e-2 if stop == "merit" else 1)}
        options["record"] = ("residual", "delta_norm", "natural_map")
        one = on_device(problem, way, **options).solve()
        assert one.converged
        for every in (3, LATE):
            many = on_device(problem, way, **options, record_every=every).solve()
            assert many.iterations == one.iterations
            assert (many.status, many.message) == (one.status, one.message)
            np.testing.assert_array_equal(many.impulses, one.impulses)
            np.testing.assert_array_equal(many.residual_velocities, one.residual_velocities)
            for column in ("residual", "delta_norm", "natural_map"):
                rows = np.isin(one.history["iteration"], many.history["iteration"])
                found, wanted = many.history[column], one.history[column][rows]
                known = ~np.isnan(wanted) & ~np.isnan(found)
                np.testing.assert_array_equal(found[known], wanted[known])
                assert known[-1]


@pytest.mark.parametrize("way", ["dataflow", "regions", "counter", "graph", "on_chip", "dense"])
def test_repeated_solves_in_long_calls(way):
    """Other values, initial impulses, and other turns of threads and blocks."""
    problem = cs.scenarios.ball_grid(2)
    options = {"stop": "delta_norm", "rtol": 3e-2}
    for blocks, turn in ((2, "reverse"), (3, "random")):
        with turns(turn, 7), resident(blocks):
            one = on_device(problem, way, **options)
            many = on_device(problem, way, **options, record_every=LATE)
            start = None
            for factor in (1.0, 1.5, 0.3):
                b = factor * problem.b
                first, second = (solver.solve(b=b, initial=start) for solver in (one, many))
                assert first.iterations == second.iterations
                np.testing.assert_array_equal(first.impulses, second.impulses)
                start = 0.5 * first.impulses


@pytest.mark.parametrize("record_every", [1, 5, 40])
@pytest.mark.parametrize("way", ["dataflow", "regions", "graph", "on_chip", "dense", "counter"])
def test_rollbacks(way, record_every):
    """Over-relaxed sweeps diverge in the middle of a call; what is undone has no change."""
    problem = cs.scenarios.ball_grid(3)
    options = {"relaxation": 2.6, "rollback_growth": 1.0, "max_iterations": 40, "rtol": 0.02}
    options |= {"stop": "delta_norm", "record": ("residual", "delta_norm")}
    one = on_device(problem, way, **options).solve()
    many = on_device(problem, way, **options, record_every=record_every).solve()
    assert one.info["rollbacks"] > 0
    assert many.info["rollbacks"] == one.info["rollbacks"]
    assert (many.status, many.iterations) == (one.status, one.iterations)
    np.testing.assert_array_equal(many.impulses, one.impulses)
    assert many.history["delta_norm"][-1] == one.history["delta_norm"][-1]


@needs_avx2
def test_rollbacks_of_the_processor():
    problem = cs.scenarios.ball_grid(3)
    options = {"relaxation": 2.6, "rollback_growth": 1.0, "max_iterations": 40, "rtol": 0.02}
    options |= {"stop": "delta_norm", "record": ("residual", "delta_norm")}
    here = on_processor(problem, "dataflow", **options).solve()
    there = on_device(problem, "dataflow", **options).solve()
    assert here.info["rollbacks"] == there.info["rollbacks"] > 0
    same_bits(here, there)
    np.testing.assert_array_equal(here.history["delta_norm"], there.history["delta_norm"])


@pytest.mark.parametrize("way", ["dataflow", "on_chip"])
def test_rules_beside_a_stagnation_test(spheres, way):
    """It judges iterates at checks, where calls end."""
    options = {"stop": "delta_norm", "rtol": 1e-3, "patience": 50, "check_every": 4}
    one = on_device(small(way, spheres), way, **options).solve()
    many = on_device(small(way, spheres), way, **options, record_every=LATE).solve()
    assert (many.status, many.iterations) == (one.status, one.iterations)
    np.testing.assert_array_equal(many.impulses, one.impulses)


@pytest.mark.parametrize("way", ["dataflow", "graph", "on_chip", "counter"])
def test_changes_are_recorded_beside_another_rule(spheres, way):
    options = {"record": ("delta_element", "delta_norm"), "check_every": 5, "rtol": 1e-3}
    one = on_device(small(way, spheres), way, **options).solve()
    some = on_device(small(way, spheres), way, **options, record_every=5).solve()
    assert some.iterations == one.iterations
    for column in ("delta_element", "delta_norm"):
        rows = np.isin(one.history["iteration"], some.history["iteration"])
        np.testing.assert_array_equal(some.history[column], one.history[column][rows])


def test_islands_and_batches_of_solvers():
    """Islands that are solved apart have calls of their own."""
    pile = cs.scenarios.ball_grid(2)
    bodies = [np.where(pile.bodies >= 0, pile.bodies + 8 * i, -1) for i in range(2)]
    problem = cs.Problem(
        np.concatenate([pile.J] * 2),
        np.concatenate([pile.Minv] * 2),
        np.concatenate([pile.b, 2 * pile.b]),
        np.tile(pile.mu, 2),
        bodies=np.concatenate(bodies),
    )
    for islands in ("auto", False):
        options = {"stop": "delta_element", "rtol": 1e-2, "atol": 1e-9, "islands": islands}
        one = on_device(problem, "dataflow", **options).solve()
        many = on_device(problem, "dataflow", **options, record_every=LATE).solve()
        assert many.iterations == one.iterations
        np.testing.assert_array_equal(many.impulses, one.impulses)
