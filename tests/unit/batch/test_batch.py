"""Batches have the bits of solves one by one, whatever the form in which they are given."""

import copy
import os
import pickle
import signal
import threading

import numpy as np
import pytest

import contactsolve as cs
from agreement import package_set
from contactsolve import _core
from reference_numpy import random_problem
from rigid_contacts import rigid_problem

ONE_BY_ONE = {
    "method": "gauss_seidel",
    "order": "natural",
    "scheme": "factorized",
    "instructions": "scalar",
    "islands": False,
}
SETS = (
    ("free", 4),
    ("box", 2),
    ("half_line", 1),
    ("disc", 2),
    ("disc", 3),
    ("box_friction", 3),
    ("rolling", 5),
    ("ellipse", 3),
    ("polygon", 3),
    ("contensou", 4),
    ("contensou_coupled", 4),
    ("second_order_cone", 3),
    ("tresca", 3),
)


def ragged():
    """Problems of many sizes, in space and in the plane."""
    stacks = [cs.scenarios.box_stack(1 + n % 4) for n in range(9)]
    return [*stacks, cs.scenarios.ball_grid(2), cs.scenarios.disc_pyramid(4)]


def of_set(name, rows, seeds=range(4)):
    """Random problems with one kind of set."""
    made = []
    for seed in seeds:
        arrays = random_problem(np.random.default_rng(seed), 5 + seed, 4, rows, 6, name)
        made.append(
            cs.Problem(
                arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=package_set(arrays)
            )
        )
    return made


def same_as_one_by_one(problems, batch, **options):
    """Check every problem of a batch against its own solve."""
    assert len(batch) == len(problems)
    for problem, own in zip(problems, batch, strict=True):
        alone = cs.solve(problem, **ONE_BY_ONE, **options)
        np.testing.assert_array_equal(own.impulses, alone.impulses)
        assert own.iterations == alone.iterations
        assert own.rollbacks == alone.info["rollbacks"]
        if alone.status in ("converged", "max_iterations", "diverging"):
            assert own.status == alone.status


def stacked(count=6, contacts=7, bodies=4, seed=3):
    """Arrays of problems of one shape."""
    made = [
        random_problem(np.random.default_rng(seed + i), contacts, bodies, 3, 6, "disc")
        for i in range(count)
    ]
    J, Minv, b, pairs = (
        np.stack([getattr(one, name) for one in made]) for name in ("J", "Minv", "b", "bodies")
    )
    return J, Minv, b, pairs, 0.2 + 0.1 * np.arange(count)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("threads", [1, 3])
def test_ragged_problems_have_the_bits_of_solves_one_by_one(threads, dtype):
    problems = ragged()
    options = {"rtol": None, "atol": None, "max_iterations": 70, "dtype": dtype}
    batch = cs.solve_batch(problems, threads=threads, **options)
    same_as_one_by_one(problems, batch, **options)
    assert set(batch.statuses) == {"max_iterations"}


def test_each_problem_stops_by_itself():
    problems = ragged()
    batch = cs.solve_batch(problems, rtol=1e-6, max_iterations=600)
    same_as_one_by_one(problems, batch, rtol=1e-6, max_iterations=600)
    assert len(set(batch.iterations.tolist())) > 3
    for problem, own in zip(problems, batch, strict=True):
        alone = cs.solve(problem, rtol=1e-6, max_iterations=600, **ONE_BY_ONE)
        assert own.natural_map == pytest.approx(alone.natural_map, rel=1e-9)
        assert own.natural_map_scaled == pytest.approx(alone.natural_map_scaled, rel=1e-9)
        np.testing.assert_allclose(own.residual_velocities, alone.residual_velocities, atol=1e-14)
    assert (batch.natural_maps_scaled[batch.converged] <= 1e-6).all()


def test_float32_is_judged_in_double_precision():
    batch = cs.solve_batch(ragged(), dtype="float32", rtol=1e-5, max_iterations=3000)
    assert batch.converged.any()
    assert (batch.natural_maps_scaled[batch.converged] <= 1e-5).all()
    for i, status in enumerate(batch.statuses):
        assert status == "converged" or batch.iterations[i] == 3000


@pytest.mark.parametrize(("name", "rows"), SETS)
def test_every_set(name, rows):
    problems = of_set(name, rows)
    options = {"rtol": None, "atol": None, "max_iterations": 25}
    same_as_one_by_one(problems, cs.solve_batch(problems, **options), **options)


def of_groups():
    """A problem of two groups, free and with friction."""
    arrays = random_problem(np.random.default_rng(9), 6, 4, 3, 6, "disc")
    return cs.Problem(
        bodies=[cs.Bodies(arrays.Minv)],
        groups=[
            cs.Group(arrays.J[:2], arrays.bodies[:2], arrays.b[:2], sets=cs.sets.free()),
            cs.Group(arrays.J[2:], arrays.bodies[2:], arrays.b[2:], 0.4, compliance=1e-3),
        ],
    )


def test_different_sets_in_one_batch_and_groups_in_one_problem():
    problems = of_set("disc", 3) + of_set("half_line", 1) + of_set("contensou", 4)
    problems.insert(3, of_groups())
    options = {"rtol": None, "atol": None, "max_iterations": 30}
    batch = cs.solve_batch(problems, **options)
    assert isinstance(batch[3].impulses, list)
    assert batch.body_velocity_changes is None or len(batch.body_velocity_changes) == len(problems)
    for problem, own in zip(problems, batch, strict=True):
        alone = cs.solve(problem, **ONE_BY_ONE, **options)
        for one, two in zip(own.impulses, alone.impulses, strict=True):
            np.testing.assert_array_equal(one, two)


def test_a_diverging_sweep_is_rolled_back():
    problems = of_set("disc", 3) + ragged()
    options = {"rtol": 1e-8, "relaxation": 3.0, "rollback_growth": 1.0, "max_iterations": 90}
    batch = cs.solve_batch(problems, **options)
    assert batch.rollbacks.max() == 5
    assert "diverging" in batch.statuses
    same_as_one_by_one(problems, batch, **options)


@pytest.mark.parametrize("diagonal", [False, True])
def test_stacked_arrays(diagonal):
    J, Minv, b, pairs, mu = stacked()
    if diagonal:
        Minv = np.ascontiguousarray(np.einsum("pnii->pni", Minv))
    before = [x.copy() for x in (J, Minv, b, pairs, mu)]
    options = {"rtol": None, "atol": None, "max_iterations": 20}
    batch = cs.solve_batch(J, Minv, b, mu, bodies=pairs, **options)
    for given, kept in zip((J, Minv, b, pairs, mu), before, strict=True):
        np.testing.assert_array_equal(given, kept)
    problems = [cs.Problem(J[i], Minv[i], b[i], mu[i], bodies=pairs[i]) for i in range(len(J))]
    same_as_one_by_one(problems, batch, **options)
    assert batch.impulses.shape == b.shape
    for i, problem in enumerate(problems):
        alone = cs.solve(problem, **ONE_BY_ONE, **options)
        np.testing.assert_allclose(
            batch.body_velocity_changes[i], alone.body_velocity_change, rtol=1e-12, atol=1e-14
        )


def test_padded_arrays():
    J, Minv, b, pairs, mu = stacked()
    counts = np.array([7, 0, 3, 7, 1, 5])
    for i, own in enumerate(counts):
        J[i, own:], b[i, own:], pairs[i, own:] = np.nan, np.nan, 10**6
    options = {"rtol": None, "atol": None, "max_iterations": 20}
    batch = cs.solve_batch(J, Minv, b, mu, bodies=pairs, contacts=counts, **options)
    assert batch.offsets.tolist() == [0, *np.cumsum(3 * counts)]
    assert batch.statuses[1] == "converged"
    assert batch.iterations[1] == 0
    for i, own in enumerate(counts):
        assert batch[i].impulses.shape == (own, 3)
        if not own:
            continue
        cut = slice(0, own)
        problem = cs.Problem(J[i, cut], Minv[i], b[i, cut], mu[i], bodies=pairs[i, cut])
        alone = cs.solve(problem, **ONE_BY_ONE, **options)
        np.testing.assert_array_equal(batch.impulses[i], alone.impulses)


def test_warm_starts():
    problems = ragged()
    first = cs.solve_batch(problems, rtol=1e-4)
    starts = [own.impulses for own in first]
    options = {"rtol": 1e-6, "max_iterations": 400}
    again = cs.solve_batch(problems, initial=first, **options)
    flat = cs.solve_batch(problems, initial=first.flat_impulses, **options)
    listed = cs.solve_batch(problems, initial=starts, **options)
    for problem, start, own in zip(problems, starts, again, strict=True):
        alone = cs.solve(problem, initial=start, **ONE_BY_ONE, **options)
        np.testing.assert_array_equal(own.impulses, alone.impulses)
        assert own.iterations == alone.iterations
    np.testing.assert_array_equal(flat.flat_impulses, again.flat_impulses)
    np.testing.assert_array_equal(listed.flat_impulses, again.flat_impulses)


def test_histories_of_those_asked_for():
    problems = ragged()
    options = {"rtol": 1e-5, "max_iterations": 50}
    batch = cs.solve_batch(problems, record=[4, 1], **options)
    assert sorted(batch.histories) == [1, 4]
    assert batch[0].history is None
    for i, history in batch.histories.items():
        alone = cs.solve(problems[i], **ONE_BY_ONE, **options).history
        assert len(history) == len(alone)
        np.testing.assert_array_equal(history["residual"], alone["residual"])
        known = ~np.isnan(history["natural_map"])
        assert known.sum() > 1
        np.testing.assert_allclose(
            history["natural_map"][known], alone["natural_map"][known], rtol=1e-6, atol=1e-15
        )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", ["planar", "spheres", "solids"])
def test_compressed_contacts_differ_by_rounding(kind, dtype):
    problems = [rigid_problem(seed, kind) for seed in range(5)]
    options = {"rtol": None, "atol": None, "max_iterations": 30, "dtype": dtype}
    general = cs.solve_batch(problems, **options).flat_impulses
    own = cs.solve_batch(problems, compressed=True, **options).flat_impulses
    allowed = (1e-12 if dtype == "float64" else 1e-4) * np.abs(general).max()
    np.testing.assert_allclose(own, general, atol=allowed, rtol=0)
    assert (own != general).any()


def test_what_cannot_be_compressed_is_general():
    problems = of_set("disc", 3)
    options = {"rtol": None, "atol": None, "max_iterations": 10}
    np.testing.assert_array_equal(
        cs.solve_batch(problems, compressed=True, **options).flat_impulses,
        cs.solve_batch(problems, **options).flat_impulses,
    )
    with pytest.raises(TypeError, match="compressed is 'yes'"):
        cs.solve_batch(problems, compressed="yes")


def test_no_problems_and_no_contacts():
    assert len(cs.solve_batch([])) == 0
    empty = cs.Problem(
        np.zeros((0, 2, 3, 6)), np.ones((2, 6)), np.zeros((0, 3)), bodies=np.zeros((0, 2), int)
    )
    batch = cs.solve_batch([empty, cs.scenarios.box_stack(1), empty])
    assert batch.converged.all()
    assert batch.iterations[0] == batch.iterations[2] == 0
    assert batch[2].impulses.shape == (0, 3)
    assert batch.offsets.tolist() == [0, 0, 12, 12]


def test_slices_and_text():
    batch = cs.solve_batch(ragged())
    assert [own.status for own in batch[2:4]] == batch.statuses[2:4].tolist()
    assert batch[-1].iterations == batch.iterations[-1]
    assert repr(batch).startswith("BatchResult(11 problems, ")
    for index in (11, -12):
        with pytest.raises(IndexError, match=f"index is {index}: the number of problems is 11"):
            batch[index]
    for index in ("a", 1.0, None):
        with pytest.raises(TypeError, match=f"index is {index!r}: an integer is needed"):
            batch[index]


def of_function():
    """A problem whose set is a function of the caller."""
    arrays = random_problem(np.random.default_rng(1), 4, 3, 3, 6, "half_line")
    sets = cs.sets.support(lambda direction: 0.3 * direction)
    return cs.Problem(arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=sets)


def test_function_of_the_caller():
    problem = of_function()
    options = {"rtol": None, "atol": None, "max_iterations": 10}
    same_as_one_by_one([problem] * 2, cs.solve_batch([problem] * 2, **options), **options)


STACK = stacked()
# Batches whose results have other forms.
BATCHES = {
    "none": lambda: ([], {}),
    "one shape": lambda: ([cs.scenarios.box_stack(2)] * 2, {}),
    "ragged": lambda: (ragged(), {}),
    "groups": lambda: ([of_groups(), cs.scenarios.chain(3), cs.scenarios.box_stack(1)], {}),
    "no groups": lambda: ([cs.scenarios.box_stack(1), cs.Problem(bodies=[], groups=[])], {}),
    "function": lambda: ([of_function()], {}),
    "stacked": lambda: (STACK[0], dict(zip(("Minv", "b", "bodies"), STACK[1:4], strict=True))),
}
BATCHES["padded"] = lambda: (STACK[0], {**BATCHES["stacked"]()[1], "contacts": [0, 7, 2, 3, 7, 1]})


def require_same(one, two):
    """Raise unless two values, of any nesting, have the same bits and types."""
    assert type(one) is type(two)
    if isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, two, strict=True)
    elif isinstance(one, dict):
        require_same([*one.items()], [*two.items()])
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(two)
        for pair in zip(one, two, strict=True):
            require_same(*pair)
    elif isinstance(one, (cs.BatchSolution, cs.History)):
        for name in type(one).__slots__:
            require_same(getattr(one, name), getattr(two, name))
    else:
        np.testing.assert_equal(one, two)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda batch: pickle.loads(pickle.dumps(batch))])
@pytest.mark.parametrize("kind", BATCHES)
def test_copies_of_results(kind, copied):
    problems, arrays = BATCHES[kind]()
    batch = cs.solve_batch(problems, **arrays, record=[0] if len(problems) else [])
    again = copied(batch)
    names = [name for name in dir(batch) if not name.startswith("_")]
    assert {"impulses", "histories", "offsets", "body_velocity_changes"} < set(names)
    for name in set(names) - {"count", "index"}:
        require_same(getattr(batch, name), getattr(again, name))
    require_same([*batch], [*again])
    assert repr(batch) == repr(again)


def test_results_keep_no_problem():
    problems = ragged()
    before = _core.memory_live()
    batch = cs.solve_batch(problems)
    assert _core.memory_live() == before
    assert [own.impulses.shape for own in batch[:2]] == [(4, 3), (8, 3)]


def with_change(index, value, name):
    """STACK with one number changed."""
    given = dict(zip(("J", "Minv", "b", "bodies", "mu"), [x.copy() for x in STACK], strict=True))
    given[name][index] = value
    return given


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (with_change((2, 1, 0), np.nan, "b"), r"problem 2: b\[1, 0\] is nan"),
        (with_change((4, 0, 1, 2, 3), np.inf, "J"), r"problem 4: J\[0, 1, 2, 3\] is inf"),
        (with_change(5, -1.0, "mu"), r"problem 5: .*mu.* is -1"),
        (with_change((3, 6, 1), 4, "bodies"), r"problem 3: bodies\[6, 1\] is 4: bodies run"),
        (with_change((1, 2, 0, 0), -1.0, "Minv"), r"problem 1: Minv\[2"),
    ],
)
def test_errors_of_stacked_arrays_name_the_problem(given, words):
    with pytest.raises(ValueError, match=words):
        cs.solve_batch(given.pop("J"), given.pop("Minv"), given.pop("b"), given.pop("mu"), **given)


@pytest.mark.parametrize(
    ("keywords", "error", "words"),
    [
        ({"problems": 3}, TypeError, "problems is int: a sequence of Problem is needed"),
        ({"problems": cs.scenarios.box_stack(1)}, TypeError, "problems is one Problem"),
        ({"problems": [1]}, TypeError, r"problems\[0\] is int: a Problem is needed"),
        ({"problems": STACK[0]}, TypeError, "the J of all"),
        ({"mu": 0.5}, TypeError, "mu is given without Minv"),
        ({"method": "jacobi"}, ValueError, "method is 'jacobi'"),
        ({"per": "block"}, ValueError, "per is 'block'"),
        ({"r_factor": "global"}, ValueError, "r_factor is 'global'"),
        ({"local": "block"}, ValueError, "local='block' is not possible in a batch"),
        ({"dtype": "mixed"}, ValueError, "dtype='mixed'"),
        ({"check_every": 0}, ValueError, "check_every"),
        ({"rtol": "tight"}, TypeError, "rtol is 'tight'"),
        ({"record": [2]}, ValueError, r"record\[0\] is 2: problems run from 0 to 1"),
        ({"record": "all"}, TypeError, "record is 'all'"),
        ({"record": None}, TypeError, "record is None: indices of problems are needed"),
        ({"record": np.array(3)}, TypeError, r"record is array\(3\): indices of problems"),
        ({"rollback_growth": 0}, ValueError, "rollback_growth is 0: it must be at least 1"),
        ({"rollback_growth": 0.5}, ValueError, r"rollback_growth is 0\.5: it must be at least 1"),
        ({"initial": np.zeros(5)}, ValueError, r"initial has shape \(5,\)"),
        ({"initial": [np.zeros((4, 3)), np.zeros(2)]}, ValueError, "problem 1: initial"),
        ({"initial": np.r_[np.zeros(14), np.nan, np.zeros(21)]}, ValueError, "problem 1: initial"),
    ],
)
def test_bad_input(keywords, error, words):
    keywords = {"problems": [cs.scenarios.box_stack(1), cs.scenarios.box_stack(2)], **keywords}
    with pytest.raises(error, match=words):
        cs.solve_batch(keywords.pop("problems"), **keywords)


def test_a_given_matrix_is_refused():
    matrix = cs.Problem.from_delassus(np.eye(3), np.ones(3), 0.5)
    with pytest.raises(ValueError, match=r"problems\[1\] was given by its A"):
        cs.solve_batch([cs.scenarios.box_stack(1), matrix])


def test_an_unusable_contact_names_its_problem():
    J, Minv, b, pairs, mu = stacked(count=3)
    J[2, 4] *= 1e-156
    with pytest.raises(ValueError, match=r"problem 2: A\[\d+, \d+\] of contact 4"):
        cs.solve_batch(J, Minv, b, mu, bodies=pairs)


def test_ctrl_c_ends_a_batch():
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals reach the main thread only")
    problems = [cs.scenarios.box_stack(4)] * 8
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        cs.solve_batch(problems, rtol=None, atol=None, max_iterations=2 * 10**6)
    timer.join()


def test_memory_is_given_back():
    problems = ragged()
    before = _core.memory_live()
    cs.solve_batch(problems, record=[1])
    with pytest.raises(ValueError, match="mixed"):
        cs.solve_batch(problems, dtype="mixed")
    assert _core.memory_live() == before
    for successes in range(0, 60, 3):
        _core.memory_fail_after(successes)
        try:
            cs.solve_batch(problems)
        except MemoryError:
            pass
        finally:
            _core.memory_fail_after(-1)
        assert _core.memory_live() == before
