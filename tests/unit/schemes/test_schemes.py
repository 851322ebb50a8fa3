"""Schemes: each against the reference over every order and set, what they save and refuse."""

from __future__ import annotations

import numpy as np
import pytest

import contactsolve as cs
from agreement import (
    DTYPES,
    EXACTLY,
    ROW_SCHEMES,
    SCHEMES,
    TOLERANCE,
    amplification,
    assert_close,
    case_name,
    flat,
    generator,
    package_set,
    pairwise,
)
from reference_numpy import (
    ProblemArrays,
    ReferenceProblem,
    random_impulses,
    random_problem,
    run,
    schedule_of,
    slightly_unsymmetric,
)

orders = cs.orders
PARTS = 3
ORDERS = {
    "natural": "natural",
    "reverse": "reverse",
    "ranges": "ranges",
    "colored": orders.colored(),
    "relaxed": orders.relaxed(3),
    "relaxed ranges": orders.relaxed(3, unsafe="ranges"),
}
SETS = (
    ("free", 1),
    ("free", 4),
    ("box", 2),
    ("half_line", 1),
    ("half_line", 3),
    ("disc", 2),
    ("disc", 3),
    ("box_friction", 3),
    ("rolling", 5),
)
# Every scheme with a method that it takes.
RUNS = tuple(
    (solver, scheme)
    for solver in ("gauss_seidel", "symmetric_gauss_seidel", "jacobi")
    for scheme in (*SCHEMES, "symmetric_half")
    if scheme != "symmetric_half" or solver == "symmetric_gauss_seidel"
)


def problem_of(arrays: ProblemArrays, **options) -> cs.Problem:
    return cs.Problem(
        arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=package_set(arrays), **options
    )


def reference_stages(reference: ReferenceProblem, order: str, solver: str):
    """Jacobi's one stage is the reference's own."""
    if solver == "jacobi":
        return None
    return schedule_of(reference, order, parts=PARTS, unsafe_below=3)


CASES = {
    "run": RUNS,
    "order": tuple(ORDERS),
    "set_rows": SETS,
    "dtype": DTYPES,
    "given": ("Jacobians", "A"),
    "sweeps": (1, 2, 3, 4),
    "warm": (False, True),
    "averaging": (None, "adjacent"),
    "bound": ("current", "previous"),
}


@pytest.mark.parametrize("case", pairwise(CASES, 5), ids=case_name)
def test_every_scheme_and_order(case):
    """Sweeps over Jacobians with compliance, or over an A that is slightly unsymmetric."""
    (solver, scheme), (set_name, rows) = case["run"], case["set_rows"]
    rng = generator("schemes", set_name, rows)
    arrays = random_problem(rng, 11, 5, rows, 6, set_name)
    initial = random_impulses(rng, arrays) if case["warm"] else None
    sigma = rng.uniform(0.0, 0.3, arrays.b.shape) * ~(arrays.bodies <= 0).all(axis=1)[:, None]
    arrays = ProblemArrays(**{**vars(arrays), "compliance": sigma})
    reference = ReferenceProblem.from_arrays(arrays)
    problem = problem_of(arrays, compliance=sigma)
    if case["given"] == "A" and scheme != "factorized":
        reference = ReferenceProblem.from_delassus(slightly_unsymmetric(rng, reference.A), arrays)
        problem = cs.Problem.from_delassus(
            reference.A, arrays.b, rows=rows, sets=package_set(arrays)
        )
    options = {"averaging": case["averaging"], "bound": case["bound"], "relaxation": 0.9}
    result = cs.solve(
        problem,
        method=solver,
        scheme=scheme,
        order=ORDERS[case["order"]],
        parts=PARTS,
        dtype=case["dtype"],
        initial=initial,
        max_iterations=case["sweeps"],
        **options,
        **EXACTLY,
    )
    iterates = run(
        reference,
        case["sweeps"],
        solver=solver,
        scheme=scheme,
        stages=reference_stages(reference, case["order"], solver),
        initial=initial,
        **options,
    )
    size = max(float(np.max(np.abs(lam))) for lam in iterates)
    tolerance = TOLERANCE[case["dtype"]] * amplification(reference)
    assert_close(result.impulses.ravel(), iterates[-1], tolerance, "impulses", size)


def mixed(rng) -> tuple[cs.Problem, ReferenceProblem]:
    """Contacts, joints and motors of 3, 5 and 1 rows on the same bodies."""
    contacts = random_problem(rng, 5, 5, 3, 6, "disc")
    joints = random_problem(rng, 3, 5, 5, 6, "free", awkward=False)
    motors = random_problem(rng, 3, 5, 1, 6, "box", awkward=False)
    groups = (contacts, joints, motors)
    problem = cs.Problem(
        groups=[cs.Group(g.J, g.bodies, g.b, sets=package_set(g)) for g in groups],
        bodies=[cs.Bodies(contacts.Minv)],
    )
    return problem, ReferenceProblem.from_arrays(*groups)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("solver", "scheme"), RUNS)
def test_groups_of_different_sizes(solver, scheme, order, dtype):
    problem, reference = mixed(generator("mixed"))
    stages = reference_stages(reference, order, solver)
    options = {"order": ORDERS[order], "parts": PARTS, "dtype": dtype, "max_iterations": 3}
    result = cs.solve(problem, method=solver, scheme=scheme, **options, **EXACTLY)
    iterates = run(reference, 3, solver=solver, scheme=scheme, stages=stages)
    size = max(float(np.max(np.abs(lam))) for lam in iterates)
    tolerance = TOLERANCE[dtype] * amplification(reference)
    assert_close(flat(result.impulses), iterates[-1], tolerance, "impulses", size)


@pytest.mark.parametrize("contacts", (0, 1))
@pytest.mark.parametrize(("solver", "scheme"), RUNS)
def test_nothing_and_one_contact(solver, scheme, contacts):
    problem = cs.Problem(
        np.ones((contacts, 2, 1, 3)),
        np.ones((2, 3)),
        -np.ones((contacts, 1)),
        bodies=np.tile([0, 1], (contacts, 1)),
    )
    result = cs.solve(problem, method=solver, scheme=scheme)
    assert result.converged
    np.testing.assert_allclose(result.impulses, np.full((contacts, 1), 1 / 6), rtol=1e-14)


# ---- half the products --------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("set_name", "rows"), SETS)
def test_symmetric_half_is_symmetric_gauss_seidel(set_name, rows, order):
    """To rounding, over many sweeps, and with fewer products."""
    arrays = random_problem(generator("half", set_name, rows), 12, 6, rows, 6, set_name)
    options = {"method": "symmetric_gauss_seidel", "order": ORDERS[order], "parts": PARTS}
    options |= {"max_iterations": 25, "relaxation": 0.8, **EXACTLY}
    whole = cs.solve(problem_of(arrays), scheme="matrix", **options)
    half = cs.solve(problem_of(arrays), scheme="symmetric_half", **options)
    size = float(np.max(np.abs(whole.impulses)))
    tolerance = 1e-12 * amplification(ReferenceProblem.from_arrays(arrays))
    assert_close(half.impulses, whole.impulses, tolerance, "impulses", size)
    assert half.info["block_products"] < whole.info["block_products"]


def test_products_saved():
    """Of N blocks with K on the diagonal half_sweep takes 3/4, symmetric_half 1/2, K apart."""
    problem = cs.scenarios.ball_grid(6)
    blocks = cs.Solver(problem, scheme="matrix").info["matrix_blocks"]
    half = (blocks + problem.contacts) // 2
    expected = {
        ("gauss_seidel", "matrix"): [blocks] * 6,
        ("gauss_seidel", "iteration_matrix"): [blocks] * 6,
        ("gauss_seidel", "half_sweep"): [blocks, half] * 3,
        ("symmetric_gauss_seidel", "half_sweep"): [blocks, half] * 3,
        ("symmetric_gauss_seidel", "symmetric_half"): [blocks, half, half, half, half, half],
        ("jacobi", "half_sweep"): [blocks] * 6,
        ("gauss_seidel", "factorized"): [0] * 6,
    }
    for (method, scheme), products in expected.items():
        solver = cs.Solver(problem, method=method, scheme=scheme, max_iterations=6, **EXACTLY)
        for _ in range(2):
            assert solver.solve().info["block_products"] == sum(products), scheme


def test_products_count_rollbacks_as_whole_sweeps():
    """What is kept belongs to the iterate that was given up."""
    A = np.array([[2.0, 1.5], [1.5, 2.0]])
    problem = cs.Problem.from_delassus(A, [-1.0, 0.5], rows=1, sets=cs.sets.free())
    options = {"local": "projected", "r_factor": 1.6, "rollback_growth": 1.0, "rtol": None}
    result = cs.solve(
        problem,
        method="symmetric_gauss_seidel",
        scheme="symmetric_half",
        initial=[[0.2], [0.1]],
        max_iterations=5,
        **options,
    )
    assert result.info["rollbacks"] == 1
    # Sweeps 1 and 3 (after the rollback of sweep 2) take 4 products, the others 3.
    assert result.info["block_products"] == 4 + 3 + 4 + 3 + 3


@pytest.mark.parametrize("scheme", ("half_sweep", "symmetric_half"))
def test_single_precision_renews_what_is_kept(scheme):
    """Every 32 sweeps one computes all, and the iterates stay those of double precision."""
    problem = cs.scenarios.ball_grid(4)
    options = {"method": "symmetric_gauss_seidel", "scheme": scheme, "max_iterations": 70}
    narrow = cs.solve(problem, dtype="float32", **options, **EXACTLY)
    wide = cs.solve(problem, **options, **EXACTLY)
    assert_close(narrow.impulses, wide.impulses, 1e-4, "impulses")
    blocks = narrow.info["matrix_blocks"]
    half = (blocks + problem.contacts) // 2
    renewed = 3 * blocks + 67 * half if scheme == "symmetric_half" else 35 * (blocks + half)
    assert narrow.info["block_products"] == renewed


def test_half_sweeps_reach_a_solution():
    """Delayed, but with the fixed point of every other scheme."""
    for problem in (cs.scenarios.ball_grid(4), cs.scenarios.box_stack(2)):
        result = cs.solve(problem, method="gauss_seidel", scheme="half_sweep", max_iterations=5000)
        assert result.converged


@pytest.mark.parametrize(("solver", "scheme"), RUNS)
def test_a_second_solve_remembers_nothing(solver, scheme):
    """After an odd number of sweeps, another b and rollbacks: the bits of a fresh solver."""
    arrays = random_problem(generator("second"), 10, 5, 3, 6, "free")
    options = {"method": solver, "scheme": scheme, "relaxation": 2.5, "max_iterations": 15}
    options |= {"rollback_growth": 1.0, "rtol": None, "atol": None, "local": "projected"}
    for dtype in DTYPES:
        used = cs.Solver(problem_of(arrays), dtype=dtype, **options)
        assert used.solve(b=-3 * arrays.b).info["rollbacks"] > 0
        fresh = cs.Solver(problem_of(arrays), dtype=dtype, **options)
        again, wanted = used.solve(), fresh.solve()
        np.testing.assert_array_equal(again.impulses, wanted.impulses)
        np.testing.assert_array_equal(again.history["residual"], wanted.history["residual"])


# ---- T ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ROW_SCHEMES)
def test_rollback_of_the_iteration_matrix_by_hand(scheme):
    """S1 eqs. 3.13-3.17 on two free rows: r = 1, nu = 1/2.

    A = [[2, 1.5], [1.5, 2]], b = (-1, -1): T = 1 - A = [[-1, -1.5], [-1.5, -1]], c = (1, 1).
    Jacobi goes from 0 to (1, 1) and to (-1.5, -1.5): growth by 2.5. With nu T beside the diagonal
    and 1 - nu (1 - T_ii) on it, T = [[0, -0.75], [-0.75, 0]] and c = (0.5, 0.5): (1, 1) goes to
    (-0.25, -0.25), and on to (0.6875, 0.6875).
    """
    A = [[2.0, 1.5], [1.5, 2.0]]
    problem = cs.Problem.from_delassus(A, [-1.0, -1.0], rows=1, sets=cs.sets.free())
    iterates = [1.0, 1.0, -0.25, 0.6875]
    options = {"local": "projected", "r_factor": 1.0, "rollback_growth": 1.0, "rtol": None}
    for sweeps, wanted in enumerate(iterates, 1):
        result = cs.solve(problem, method="jacobi", scheme=scheme, max_iterations=sweeps, **options)
        np.testing.assert_array_equal(result.impulses, [[wanted], [wanted]])
    assert result.info["rollbacks"] == 1


def test_iteration_matrix_with_full_steps_rolls_back():
    """Free blocks solved exactly: R_k A_kk is the identity until nu comes in."""
    arrays = random_problem(generator("full"), 8, 3, 3, 6, "free", awkward=False)
    options = {"method": "jacobi", "rollback_growth": 1.0, "rtol": None, "max_iterations": 9}
    plain = cs.solve(problem_of(arrays), scheme="matrix", **options)
    result = cs.solve(problem_of(arrays), scheme="iteration_matrix", **options)
    assert result.info["rollbacks"] == plain.info["rollbacks"] > 0
    np.testing.assert_allclose(
        result.impulses, plain.impulses, rtol=0, atol=1e-11 * np.max(np.abs(plain.impulses))
    )


# ---- what is refused ----------------------------------------------------------------------------


def test_iteration_matrix_needs_steps():
    stack = cs.scenarios.box_stack(1)
    message = (
        "scheme='iteration_matrix' is built from R, and local='block' solves blocks of set 'disc' "
        "without R: use scheme='matrix'"
    )
    with pytest.raises(ValueError, match=message):
        cs.Solver(stack, scheme="iteration_matrix", local="block")
    free = problem_of(random_problem(generator("bilateral"), 4, 3, 2, 6, "free"))
    blocks, auto = (
        cs.solve(free, scheme="iteration_matrix", local=local, max_iterations=3, **EXACTLY)
        for local in ("block", "auto")
    )
    np.testing.assert_array_equal(blocks.impulses, auto.impulses)


@pytest.mark.parametrize("method", ("auto", "gauss_seidel", "jacobi"))
def test_symmetric_half_needs_symmetric_sweeps(method):
    message = (
        f"scheme='symmetric_half' needs sweeps forwards and backwards in turn, and "
        f"method='{method}' makes none: use method='symmetric_gauss_seidel'"
    )
    with pytest.raises(ValueError, match=message):
        cs.Solver(cs.scenarios.box_stack(1), method=method, scheme="symmetric_half")


def test_names():
    assert {*ROW_SCHEMES, "factorized", "symmetric_half"} <= set(cs.schemes.names())
    assert "symmetric_gauss_seidel" in cs.methods.names()
    with pytest.raises(
        ValueError, match="known: auto, matrix, factorized, iteration_matrix, dense"
    ):
        cs.Solver(cs.scenarios.box_stack(1), scheme="half")


@pytest.mark.parametrize("method", ["gauss_seidel", "jacobi", "nesterov"])
def test_bodies_without_contacts_change_nothing(method):
    """Among others or not, in front and behind: not a bit of what is computed."""
    scene = cs.scenarios.ball_grid(3, mass=1.0, velocity=0.1, rng=1)
    count = len(scene.Minv)
    place = np.sort(np.random.default_rng(0).permutation(3 * count)[:count])
    Minv = np.repeat(scene.Minv[:1], 3 * count, axis=0) * 7
    Minv[place] = scene.Minv
    bodies = np.where(scene.bodies < 0, -1, place[scene.bodies])
    among = cs.Problem(scene.J, Minv, scene.b, scene.mu, bodies=bodies)
    options = {"method": method, "max_iterations": 40, "order": "natural", "threads": 1}
    for scheme in ("factorized", "matrix"):
        alone = cs.solve(scene, scheme=scheme, **options)
        found = cs.solve(among, scheme=scheme, **options)
        np.testing.assert_array_equal(found.impulses, alone.impulses)
