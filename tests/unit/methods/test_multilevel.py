"""The second level: its corrections are exact where they ought to be, and do no harm elsewhere."""

import numpy as np
import pytest

import contactsolve as cs
from problems_of_classes import coulomb, residual

SIZES = [1, 3, None]


def chain_of_joints(bodies, seed=0, compliance=None, dof=6, rows=3):
    """Bodies in a row, each held by the one before in `rows` rows; the first by the world."""
    rng = np.random.default_rng(seed)
    J = rng.standard_normal((bodies, 2, rows, dof))
    J[0, 0] = 0
    pairs = np.column_stack([np.arange(-1, bodies - 1), np.arange(bodies)])
    Minv = np.exp(rng.uniform(-3, 3, (bodies, dof)))
    b = rng.standard_normal((bodies, rows))
    return cs.Problem(
        J, Minv, b, bodies=pairs, sets=cs.sets.free(), compliance=compliance, strict=False
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("compliance", [None, 1e-3])
@pytest.mark.parametrize(("dof", "rows"), [(6, 3), (6, 5), (3, 2)])
def test_one_correction_solves_a_chain(size, compliance, dof, rows):
    """Where one pair of bodies is at each face, substructuring leaves nothing out."""
    problem = chain_of_joints(40, 1, compliance, dof, rows)
    method = cs.methods.multilevel(size=size)
    result = cs.solve(problem, method=method, rtol=1e-8, check_every=1)
    assert result.converged
    A, b = problem.delassus().toarray(), problem.b.ravel()
    exact = np.linalg.solve(A, -b)
    assert np.allclose(result.impulses.ravel(), exact, rtol=1e-6, atol=1e-6 * abs(exact).max())
    assert result.iterations <= 40  # the first correction waits; nesterov takes 90 to 540


@pytest.mark.parametrize("size", SIZES)
def test_sweeps_do_not_grow_with_a_stack(size):
    method = cs.methods.multilevel(size=size)
    options = {"rtol": 0.0, "atol": 1e-6, "check_every": 4}
    few, many = (
        cs.solve(cs.scenarios.box_stack(n, top_mass=100.0), method=method, **options)
        for n in (20, 100)
    )
    assert few.converged
    assert many.converged
    assert many.natural_map <= 1e-6
    assert many.iterations <= 2 * few.iterations + 16
    plain = cs.solve(
        cs.scenarios.box_stack(100, top_mass=100.0),
        method="nesterov", max_iterations=10 * many.iterations, **options,
    )  # fmt: skip
    assert not plain.converged


def test_before_the_first_correction_it_is_nesterovs():
    problem, _ = coulomb(3)
    late = cs.methods.multilevel(every=10**6)
    options = {"rtol": None, "atol": None, "max_iterations": 150}
    mine = cs.solve(problem, method=late, **options)
    assert np.array_equal(mine.impulses, cs.solve(problem, method="nesterov", **options).impulses)
    soon = cs.methods.multilevel(every=1)
    assert not np.array_equal(mine.impulses, cs.solve(problem, method=soon, **options).impulses)


def test_trials_that_fail_are_undone():
    """One correction to a trial and a problem whose contacts slide: it comes home all the same."""
    for seed in range(6):
        problem, sets = coulomb(seed, redundancy=0.3)
        method = cs.methods.multilevel(trials=1, rounds=1, every=1)
        result = cs.solve(problem, method=method, rtol=1e-8, max_iterations=100000)
        assert result.converged
        assert residual(problem, sets, result.impulses) <= 1e-8 * (1 + 1e-6)


@pytest.mark.parametrize("over", ["gauss_seidel", "jacobi", "symmetric_gauss_seidel"])
@pytest.mark.parametrize("scheme", ["matrix", "factorized", "iteration_matrix"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_operator_and_precision(over, scheme, dtype):
    problem = cs.scenarios.box_stack(30)
    method = cs.methods.multilevel(over=over)
    result = cs.solve(problem, method=method, scheme=scheme, dtype=dtype, rtol=1e-4)
    assert result.converged
    assert result.iterations < 200


def test_a_solver_solves_the_same_way_again():
    solver = cs.Solver(cs.scenarios.box_stack(20, top_mass=100.0), method="multilevel", rtol=1e-9)
    first, second = solver.solve(), solver.solve()
    assert first.iterations == second.iterations
    assert np.array_equal(first.impulses, second.impulses)


@pytest.mark.parametrize("size", SIZES)
def test_bodies_of_several_sizes_and_a_block_of_one_body_with_itself(size):
    """Joints along 8 bodies of 6 freedoms; 3 of 12 hang from them, one of these held in itself."""
    rng = np.random.default_rng(5)

    def joints(count, one, other, pairs, compliance=None):
        J = (rng.standard_normal((count, 3, one)), rng.standard_normal((count, 3, other)))
        b = rng.standard_normal((count, 3))
        return cs.Group(J, np.array(pairs), b, sets=cs.sets.free(), compliance=compliance)

    row = [(i, i + 1) for i in range(7)]
    problem = cs.Problem(
        groups=[
            joints(7, 6, 6, row),
            joints(3, 6, 12, [(7, 8), (3, 9), (5, 10)], 1e-2),
            joints(1, 12, 12, [(9, 9)]),
        ],
        bodies=[cs.Bodies(np.ones((8, 6))), cs.Bodies(np.ones((3, 12)))],
    )
    method = cs.methods.multilevel(size=size)
    result = cs.solve(problem, method=method, rtol=1e-9, check_every=1)
    A, b = problem.delassus().toarray(), np.concatenate([b.ravel() for b in problem.b])
    found = np.concatenate([x.ravel() for x in result.impulses])
    assert result.converged
    assert np.allclose(found, np.linalg.solve(A, -b), rtol=1e-6, atol=1e-6)
    sweeps = cs.solve(problem, method="nesterov", rtol=1e-9, check_every=1).iterations
    assert result.iterations <= 16 < sweeps


# ---- what is told of corrections ----------------------------------------------------------------


@pytest.mark.parametrize(("every", "count"), [(8, 1), (10**6, 0)])
def test_corrections_are_counted(every, count):
    result = cs.solve(
        chain_of_joints(40, 1), method=cs.methods.multilevel(every=every), rtol=1e-8, check_every=1
    )
    assert result.info["corrections"] == {"tried": count, "kept": count}
    plain = cs.solve(chain_of_joints(40, 1), method="nesterov", max_iterations=1)
    assert "corrections" not in plain.info


@pytest.mark.parametrize("trials", [1, 3])
def test_corrections_that_are_undone_are_not_kept(trials):
    """A trial is undone as a whole, and counts as a restart; here nothing else does."""
    problem, _ = coulomb(5, redundancy=0.3)
    method = cs.methods.multilevel(trials=trials, rounds=1, every=1, restart=1e9)
    found = []
    for most in range(1, 41):
        info = cs.solve(problem, method=method, rtol=1e-12, max_iterations=most).info
        tried, kept = info["corrections"]["tried"], info["corrections"]["kept"]
        assert tried - kept == trials * info["restarts"]
        found.append(tried - kept)
    assert found == sorted(found)
    assert found[-1] > 0


def test_corrections_of_islands_are_added_up():
    parts = [cs.scenarios.box_stack(n, top_mass=100.0) for n in (12, 12, 40, 80)]
    firsts = np.cumsum([0, *(len(part.Minv) for part in parts)])
    bodies = [
        np.where(p.bodies < 0, -1, p.bodies + at) for p, at in zip(parts, firsts, strict=False)
    ]
    whole = cs.Problem(
        np.concatenate([part.J for part in parts]), np.concatenate([p.Minv for p in parts]),
        np.concatenate([part.b for part in parts]), 0.5, bodies=np.concatenate(bodies),
    )  # fmt: skip
    options = {"method": "multilevel", "order": "natural", "rtol": 1e-6, "check_every": 4}
    told = cs.solve(whole, **options).info
    assert told["clusters"] == 4
    alone = [cs.solve(part, **options).info["corrections"] for part in parts]
    for name in ("tried", "kept"):
        assert told["corrections"][name] == sum(one[name] for one in alone) > len(parts)
