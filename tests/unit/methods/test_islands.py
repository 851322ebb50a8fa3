"""Islands: found, solved apart, told of as one."""

import gc
import re

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _core
from contactsolve.inspection import islands
from interruption import ctrl_c_ends

pytestmark = pytest.mark.threads


def side_by_side(problems):
    """Problems of one kind as one, their contacts mixed."""
    rng = np.random.default_rng(5)
    bodies, first = [], 0
    for problem in problems:
        bodies.append(np.where(problem.bodies < 0, -1, problem.bodies + first))
        first += len(problem.Minv)
    order = rng.permutation(sum(len(part) for part in bodies))
    J, b, mu, pairs = (
        np.concatenate(parts)[order]
        for parts in (
            [p.J for p in problems],
            [p.b for p in problems],
            [np.broadcast_to(p.mu, p.contacts) for p in problems],
            bodies,
        )
    )
    return cs.Problem(J, np.concatenate([p.Minv for p in problems]), b, mu, bodies=pairs)


def stacks(count=90, **changes):
    """Stacks of 1 to 4 boxes: 4 to 16 contacts each."""
    rng = np.random.default_rng(6)
    problems = [cs.scenarios.box_stack(int(n)) for n in rng.integers(1, 5, count)]
    whole = side_by_side(problems)
    b = whole.b * rng.uniform(0.5, 2.0, (whole.contacts, 1))
    given = {"mu": whole.mu, **changes}
    return cs.Problem(whole.J, whole.Minv, b, bodies=whole.bodies, **given)


def test_solves_apart_and_whole_take_turns_over_parts():
    """The schedule of the whole problem goes where the problem is divided again."""
    options = {"max_iterations": 10, "rtol": 1e-3, "threads": 1}
    order = cs.orders.partition("slices")
    solver = cs.Solver(stacks(), method="jacobi", order=order, parts=8, **options)
    apart = solver.solve().impulses
    whole = solver.solve(callback=lambda state: None).impulses
    for _ in range(3):
        assert np.array_equal(solver.solve().impulses, apart)
        assert np.array_equal(solver.solve(callback=lambda state: None).impulses, whole)


def test_labels_of_components_against_scipy():
    sparse = pytest.importorskip("scipy.sparse")
    problem = stacks(20)
    labels = islands(problem)
    A = problem.delassus().toarray().reshape(problem.contacts, 3, problem.contacts, 3)
    touching = sparse.csr_array((A != 0).any(axis=(1, 3)))
    count, expected = sparse.csgraph.connected_components(touching)
    assert count == 20 == labels.max() + 1
    first = np.unique(labels, return_index=True)[1]
    assert (np.diff(first) > 0).all()  # numbered as the contacts come to them
    assert len(set(zip(labels.tolist(), expected.tolist(), strict=True))) == 20
    given = cs.Problem.from_delassus(problem.delassus(), problem.b, problem.mu)
    np.testing.assert_array_equal(islands(given), labels)


def test_immovable_bodies_connect_nothing():
    J = np.ones((4, 2, 1, 1))
    bodies = [[0, 1], [0, 2], [-1, 0], [1, 2]]
    problem = cs.Problem(J, [[0.0], [1.0], [1.0]], np.ones(4), bodies=bodies)
    assert islands(problem).tolist() == [0, 0, -1, 0]
    apart = cs.Problem(J[:3], [[0.0], [1.0], [1.0]], np.ones(3), bodies=bodies[:3])
    assert islands(apart).tolist() == [0, 1, -1]
    with pytest.raises(TypeError, match="problem is int"):
        islands(3)


SWEEPS = [
    {"method": "gauss_seidel", "order": "natural"},
    {"method": "gauss_seidel", "order": "reverse"},
    {"method": "symmetric_gauss_seidel", "order": "natural"},
    {"method": "gauss_seidel", "scheme": "matrix", "order": "natural"},
    {"method": "gauss_seidel", "dtype": "float32", "order": "natural"},
    {"method": "gauss_seidel", "local": "block", "order": "natural"},
]


@pytest.mark.parametrize("options", SWEEPS)
def test_iterates_are_those_of_the_whole(options):
    problem = stacks()
    record = ("residual", "merit", "natural_map", "natural_map_scaled", "quality", "penetration")
    exactly = {"rtol": None, "atol": None, "max_iterations": 23, "rollback": 0}
    options = {"scheme": "factorized", "record": record, **exactly, **options}
    whole = cs.solve(problem, islands=False, **options)
    apart = cs.solve(problem, **options)
    assert apart.info["islands"] == 90
    assert apart.info["clusters"] > 1
    assert "clusters" not in whole.info
    tolerance = 1e-5 if options.get("dtype") == "float32" else 1e-13
    np.testing.assert_allclose(apart.impulses, whole.impulses, rtol=0, atol=tolerance)
    assert apart.iterations == whole.iterations == 23
    for name in record:
        np.testing.assert_allclose(
            apart.history[name], whole.history[name], rtol=1e-6, atol=100 * tolerance
        )
    assert (np.diff(apart.history["time"]) >= 0).all()
    assert apart.info["block_products"] == whole.info["block_products"]


def test_an_island_that_takes_all_the_time_leaves_no_other_untouched():
    problem = side_by_side(
        [cs.scenarios.box_stack(150), *(cs.scenarios.box_stack(1) for _ in range(10))]
    )
    result = cs.solve(
        problem, method="gauss_seidel", order="natural", threads=1, rtol=0.0, atol=1e-12,
        max_iterations=10**8, max_seconds=0.05,
    )  # fmt: skip
    assert result.status == "max_seconds"
    assert result.info["clusters"] == 3
    number = islands(problem)
    alone = number != number[result.worst_contact]
    assert alone.sum() == 40
    assert (result.impulses[alone, 0] > 0).all()


def test_what_has_converged_is_not_swept_any_more():
    problem = stacks()
    options = {"rtol": 1e-8, "max_iterations": 20_000, "record_every": 7, "order": "natural"}
    options["method"] = "gauss_seidel"
    whole = cs.solve(problem, islands=False, scheme="matrix", **options)
    apart = cs.solve(problem, scheme="matrix", **options)
    assert whole.converged
    assert apart.converged
    assert apart.iterations == whole.iterations
    assert apart.info["block_products"] < 0.8 * whole.info["block_products"]
    assert apart.history["iteration"].tolist() == whole.history["iteration"].tolist()
    assert apart.natural_map_scaled <= 1e-8
    assert apart.natural_map == apart.history["natural_map"][-1]
    # The last to converge is in the same place as in the whole.
    assert apart.history["residual"][-1] == pytest.approx(whole.history["residual"][-1], rel=1e-6)


@pytest.mark.parametrize("options", [{"order": "natural"}, {"method": "bpp"}])
def test_threads_change_nothing(options):
    given = {}
    if options.get("method") == "bpp":
        given = {"sets": cs.sets.box_friction(0.5), "mu": None, "compliance": 1e-6}
    problem = stacks(**given)
    results = [
        cs.solve(problem, threads=n, exact_threads=True, max_iterations=60, **options)
        for n in (1, 2, 5)
    ]
    for other in results[1:]:
        np.testing.assert_array_equal(other.impulses, results[0].impulses)
        assert other.iterations == results[0].iterations
        for name in ("residual", "natural_map"):
            np.testing.assert_array_equal(other.history[name], results[0].history[name])
    assert results[1].info["threads"] == 2


@pytest.mark.parametrize("options", [{"method": "jacobi"}, {"order": "colored"}, {"order": "auto"}])
def test_stages_over_clusters(options):
    """Visits in stages: clusters of hundreds of contacts."""
    problem = stacks(240)
    options = {"rtol": None, "atol": None, "max_iterations": 15, "rollback": 0, **options}
    apart = cs.solve(problem, **options)
    whole = cs.solve(problem, islands=False, **options)
    assert apart.info["clusters"] > 1
    if "auto" not in options.values():
        np.testing.assert_allclose(apart.impulses, whole.impulses, rtol=0, atol=1e-12)
        np.testing.assert_allclose(apart.history["residual"], whole.history["residual"], rtol=1e-6)
    np.testing.assert_array_equal(
        apart.impulses, cs.solve(problem, threads=2, exact_threads=True, **options).impulses
    )


def test_islands_pivot_apart():
    problem = stacks(sets=cs.sets.box_friction(0.5), mu=None, compliance=1e-6)
    options = {"method": "bpp", "rtol": 1e-9, "max_iterations": 300}
    apart = cs.solve(problem, **options)
    whole = cs.solve(problem, islands=False, **options)
    assert apart.converged, apart.message
    assert apart.info["clusters"] == 90
    assert apart.info["pivoting"] == "converged"
    assert apart.info["factorizations"] > 0
    assert whole.converged
    # Frictional impulses are not unique: both are judged by the residual of the whole.
    assert apart.natural_map_scaled <= 1e-9


def test_an_island_without_a_solution_of_its_own_is_named_as_in_the_whole():
    """Four contacts to a face and no compliance."""
    problem = stacks(sets=cs.sets.box_friction(0.5), mu=None)
    with pytest.raises(ValueError, match=r"row \d of contact \d+; a compliance") as failure:
        cs.solve(problem, method="bpp")
    words = str(failure.value)
    row, contact = (int(re.search(rf"{word}(\d+)", words)[1]) for word in (r"A\[", "contact "))
    assert row // 3 == contact
    assert islands(problem)[contact] >= 0
    height = np.count_nonzero(islands(problem) == islands(problem)[contact])
    assert height >= 4


def test_groups_and_immovable_contacts():
    """Joints beside contacts, of other rows; contacts between immovable bodies keep their start."""
    rng = np.random.default_rng(7)
    n = 400
    contact, joint = np.zeros((n, 2, 3, 6)), np.zeros((n, 2, 2, 6))
    contact[:, 1] = rng.normal(size=(n, 3, 6))
    joint[:, 1] = rng.normal(size=(n, 2, 6))
    bodies = np.stack([np.full(n, -1), np.arange(n)], axis=1)
    Minv = np.where(np.arange(n)[:, None] % 10 == 3, 0.0, np.ones((n, 6)))
    problem = cs.Problem(
        groups=[
            cs.Group(contact, bodies, rng.normal(size=(n, 3)), 0.5),
            cs.Group(joint, bodies[::-1], rng.normal(size=(n, 2)), sets=cs.sets.free()),
        ],
        bodies=[cs.Bodies(Minv)],
    )
    start = [np.full((n, 3), 0.125), np.zeros((n, 2))]
    options = {"rtol": None, "atol": None, "initial": start, "max_iterations": 40, "rollback": 0}
    options["order"] = "natural"
    apart = cs.solve(problem, **options)
    whole = cs.solve(problem, islands=False, **options)
    assert apart.info["clusters"] > 2
    assert apart.info["islands"] == 360
    for part, all_ in zip(apart.impulses, whole.impulses, strict=True):
        np.testing.assert_allclose(part, all_, rtol=1e-9, atol=1e-9)
    assert (apart.impulses[0][3::10, 0] == 0.125).all()
    assert apart.info["warnings"] == whole.info["warnings"]


def test_a_given_matrix_falls_apart_too():
    problem = stacks()
    given = cs.Problem.from_delassus(problem.delassus(), problem.b, problem.mu)
    options = {"rtol": None, "atol": None, "max_iterations": 20, "order": "natural"}
    apart = cs.solve(given, **options)
    assert apart.info["clusters"] > 1
    np.testing.assert_array_equal(
        apart.impulses, cs.solve(given, islands=False, **options).impulses
    )


def test_other_data_and_other_values():
    problem = stacks()
    options = {"method": "gauss_seidel", "rtol": 1e-5, "max_iterations": 5000, "order": "natural"}
    solver = cs.Solver(problem, **options)
    first = solver.solve()
    other = solver.solve(b=1.01 * problem.b, mu=0.3, initial=first)
    whole = cs.solve(problem, islands=False, **options)
    assert other.converged
    assert np.abs(other.impulses - first.impulses).max() > 1e-3
    assert whole.converged
    assert solver.solve().iterations == pytest.approx(whole.iterations, rel=0.05)
    problem.update(Minv=0.5 * problem.Minv)
    np.testing.assert_array_equal(
        solver.solve().impulses,
        cs.solve(problem, **options).impulses,
    )


@pytest.mark.parametrize(
    "options",
    [
        {"record": ("delta_norm",)},
        {"stop": "merit", "atol": 1e-9},
        {"order": "random"},
        {"order": cs.orders.colored(strategy="balanced")},
        {"r_factor": "global"},
    ],
)
def test_what_needs_the_whole_is_swept_as_one(options):
    options = {"order": "natural", **options}
    assert "clusters" not in cs.solve(stacks(), max_iterations=3, **options).info


def test_callbacks_see_the_whole():
    problem, seen = stacks(), []
    solver = cs.Solver(problem, max_iterations=5, rtol=None, atol=None, order="natural")
    solver.solve(callback=lambda state: seen.append(state.impulses.copy()))
    assert len(seen) == 5
    np.testing.assert_allclose(seen[-1], solver.solve().impulses, rtol=0, atol=1e-14)
    assert solver.solve(progress=True).iterations == 5


def test_few_contacts_are_swept_as_one():
    result = cs.solve(stacks(3), max_iterations=3)
    assert result.info["islands"] == 3
    assert "clusters" not in result.info
    with pytest.raises(ValueError, match="islands is 'yes': 'auto' or False"):
        cs.solve(stacks(3), islands="yes")


def test_the_worst_end_is_told():
    problem = stacks()
    result = cs.solve(problem, max_iterations=30, rtol=1e-9, order="natural")
    assert result.status == "max_iterations"
    assert result.iterations == 30
    assert result.natural_map > 0
    assert result.message.startswith("not converged after 30")


def test_ctrl_c_ends_all_islands():
    options = {
        "max_iterations": 100_000_000,
        "threads": 2,
        "exact_threads": True,
        "order": "natural",
    }
    solver = cs.Solver(stacks(), rtol=None, atol=None, **options)
    ctrl_c_ends(solver.solve, after=0.3, within=10)


def test_out_of_memory_leaves_nothing():
    problem = stacks()
    gc.collect()
    before, failures = _core.memory_live(), 0
    for successes in [*range(60), *range(60, 2000, 197)]:
        _core.memory_fail_after(successes)
        try:
            cs.Solver(problem, threads=1, order="natural")
        except MemoryError:
            failures += 1
        finally:
            _core.memory_fail_after(-1)
        gc.collect()
        assert _core.memory_live() == before
    assert failures > 60
