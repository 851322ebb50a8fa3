"""The options of one visit and of the factors R: local="block", averaging="adjacent", "global"."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import contactsolve as cs
from agreement import EXACTLY, rounding_of
from reference_numpy import (
    BoxFriction,
    ProblemArrays,
    ReferenceProblem,
    Rolling,
    adjacent_contacts,
    global_factor,
    movable_spectrum,
    natural_map_scaled,
    random_impulses,
    random_problem,
    rolling_cone_projection,
    run,
    slightly_unsymmetric,
)

SETS = (
    ("free", 3),
    ("half_line", 1),
    ("half_line", 3),
    ("box", 1),
    ("box", 4),
    ("disc", 2),
    ("disc", 3),
    ("box_friction", 2),
    ("box_friction", 3),
    ("rolling", 5),
    ("ellipse", 3),
    ("polygon", 3),
    ("contensou", 4),
    ("contensou_coupled", 4),
    ("second_order_cone", 3),
    ("tresca", 2),
    ("tresca", 5),
    ("tresca", 3),
    ("tresca", 4),
)


def package_problem(arrays: ProblemArrays) -> cs.Problem:
    sets = getattr(cs.sets, arrays.set_name)(**arrays.set_parameters())
    return cs.Problem(arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=sets)


def mild_problem(rng: np.random.Generator, contacts: int, set_name: str, rows: int, **options):
    """Friction below one half: with more, a block's own problem may have several solutions."""
    arrays = random_problem(rng, contacts, 4, rows, 6, set_name, **options)
    more = (arrays.more.get(name) for name in ("mu", "mu1", "mu2"))
    for bound in (arrays.mu, arrays.mu_r, *more):
        if bound is not None:
            bound *= 0.4
    return arrays


# ---- the sets' prox -----------------------------------------------------------------------------


def prox_by_package(sets: cs.sets.Set, z: np.ndarray, initial=None, bound="current") -> np.ndarray:
    """With A = 1, R = 1 and b = lambda - z, one sweep is the prox of z."""
    start = np.zeros_like(z) if initial is None else initial
    rows = z.shape[1]
    problem = cs.Problem.from_delassus(np.eye(z.size), -z, rows=rows, sets=sets)
    options = {"r_factor": 1.0, "max_iterations": 1, "bound": bound, **EXACTLY}
    return cs.solve(problem, initial=start, **options).impulses


@pytest.mark.parametrize("bound", ("current", "previous"))
@pytest.mark.parametrize("name", ("box_friction", "rolling"))
def test_prox_is_the_nearest_point_of_each_section(name, bound):
    """p is the projection of z on a convex section C iff (z - p) . (x - p) <= 0 for all x in C."""
    rng = np.random.default_rng(5)
    count = 200
    mu, mu_r = rng.uniform(0, 1.5, (2, count))
    mu[::7] = 0.0
    rolling = name == "rolling"
    sets = cs.sets.rolling(mu, mu_r) if rolling else cs.sets.box_friction(mu)
    z = rng.normal(size=(count, 5 if rolling else 3)) * rng.choice([0.1, 1.0, 3.0], (count, 1))
    old = np.zeros_like(z)
    old[:, 0] = rng.uniform(0, 2, count)
    # With A = R = 1 the step from `old` arrives at z too, up to the rounding of old - (old - z).
    got = prox_by_package(sets, z, old, bound)
    np.testing.assert_allclose(got[:, 0], np.maximum(z[:, 0], 0.0), atol=1e-15)
    normal = old[:, 0] if bound == "previous" else got[:, 0]
    parts = [(mu, [1, 2]), (mu_r, [3, 4])] if rolling else [(mu, [1]), (mu, [2])]
    for coefficient, rows in parts:
        radius = coefficient * normal
        p = got[:, rows]
        assert np.all(np.linalg.norm(p, axis=1) <= radius * (1 + 4e-16))
        for _ in range(50):
            x = rng.normal(size=p.shape)
            x *= (radius * rng.uniform(0, 1, count) / np.linalg.norm(x, axis=1))[:, None]
            inner = np.sum((z[:, rows] - p) * (x - p), axis=1)
            assert np.max(inner) <= 1e-14


@pytest.mark.parametrize(
    ("sets", "rows", "words"),
    (
        (lambda: cs.sets.box_friction([0.3, -0.1]), 3, r"mu\[1\] is -0.1"),
        (lambda: cs.sets.rolling(0.3, [0.1, np.nan]), 5, r"mu_r\[1\] is nan"),
        (lambda: cs.sets.rolling([0.3, np.inf], 0.1), 5, r"mu\[1\] is inf"),
        (lambda: cs.sets.rolling(0.3, 0.1), 3, "does not take blocks of 3 rows"),
        (lambda: cs.sets.box_friction(0.3), 4, "does not take blocks of 4 rows"),
        (lambda: cs.sets.rolling(0.3, np.ones(3)), 5, r"mu_r has shape \(3,\)"),
    ),
)
def test_bad_parameters_are_named(sets, rows, words):
    with pytest.raises(ValueError, match=words):
        cs.Problem.from_delassus(np.eye(2 * rows), np.zeros((2, rows)), rows=rows, sets=sets())


def test_sets_know_their_parameters():
    rolling = cs.sets.rolling([0.1, 0.2], 0.05)
    np.testing.assert_array_equal(rolling.parameters(2, 5), [[0.1, 0.05], [0.2, 0.05]])
    np.testing.assert_array_equal(rolling.parameter("mu_r", 2), [0.05, 0.05])
    assert rolling.parameter("lo", 2) is None
    assert repr(rolling) == "sets.rolling([0.1, 0.2], 0.05)"
    changed = rolling.with_parameter("mu", 0.7)
    np.testing.assert_array_equal(changed.parameters(2, 5), [[0.7, 0.05], [0.7, 0.05]])
    np.testing.assert_array_equal(rolling.parameter("mu", 2), [0.1, 0.2])
    with pytest.raises(ValueError, match="mu is given, but the set 'box' takes none"):
        cs.sets.box(0, 1).with_parameter("mu", 0.5)
    box = cs.sets.box([0, 1], 2).parameters(1, 2)
    np.testing.assert_array_equal(box, [[0, 1, 2, 2]])


@pytest.mark.parametrize(("set_name", "rows"), (("box_friction", 3), ("rolling", 5)))
def test_friction_of_one_call_replaces_mu_alone(set_name, rows):
    rng = np.random.default_rng(8)
    arrays = random_problem(rng, 5, 3, rows, 6, set_name)
    problem = package_problem(arrays)
    np.testing.assert_array_equal(problem.mu, arrays.mu)
    options = {"max_iterations": 3, **EXACTLY}
    by_call = cs.Solver(problem, **options).solve(mu=0.25)
    arrays.mu[:] = 0.25
    built = cs.solve(package_problem(arrays), **options)
    np.testing.assert_array_equal(by_call.impulses, built.impulses)


# ---- the block's own problem --------------------------------------------------------------------


BLOCK_OPTIONS = list(
    itertools.product(
        ("jacobi", "gauss_seidel"),
        ("matrix", "factorized"),
        (None, 0.5, "adjacent"),
        ("current", "previous"),
    )
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("set_name", "rows"), SETS)
def test_block_sweeps_against_the_reference(set_name, rows):
    """Every third combination of the options, another third for each set, after two sweeps."""
    place = SETS.index((set_name, rows))
    for solver, scheme, averaging, bound in BLOCK_OPTIONS[place % 3 :: 3]:
        rng = np.random.default_rng(place)
        arrays = mild_problem(rng, 5, set_name, rows)
        reference = ReferenceProblem.from_arrays(arrays)
        initial = random_impulses(rng, arrays)
        options = {"averaging": averaging, "bound": bound, "local": "block"}
        wanted = run(reference, 2, initial=initial, solver=solver, **options)[-1]
        result = cs.solve(
            package_problem(arrays),
            method=solver,
            scheme=scheme,
            initial=initial,
            max_iterations=2,
            **EXACTLY,
            **options,
        )
        scale = max(1.0, np.max(np.abs(wanted)))
        np.testing.assert_allclose(
            result.impulses.ravel(), wanted, atol=1e-10 * scale, err_msg=f"{solver} {options}"
        )
        assert not [line for line in result.info["warnings"] if "inner" in line]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", ("float64", "float32"))
@pytest.mark.parametrize("scheme", ("matrix", "factorized"))
@pytest.mark.parametrize(("set_name", "rows"), SETS)
def test_one_sweep_over_separate_blocks_solves_them(set_name, rows, scheme, dtype):
    """Each contact has a body of its own: its block's problem is the whole one."""
    rng = np.random.default_rng(11)
    count = 100
    arrays = mild_problem(rng, count, set_name, rows, awkward=False)
    arrays = ProblemArrays(
        arrays.J,
        np.exp(rng.uniform(-1, 1, (count, 6))),
        arrays.b,
        np.column_stack([np.full(count, -1), np.arange(count)]),
        set_name,
        mu=arrays.mu,
        mu_r=arrays.mu_r,
        lo=arrays.lo,
        hi=arrays.hi,
        more=arrays.more,
    )
    problem, reference = package_problem(arrays), ReferenceProblem.from_arrays(arrays)
    options = {"local": "block", "scheme": scheme, "dtype": dtype, "max_iterations": 1, **EXACTLY}
    result = cs.solve(problem, **options)
    assert not result.info["warnings"]
    # Free blocks go through an inverse: its condition is theirs.
    worst = max(np.linalg.cond(reference.diagonal_block(k)) for k in range(count))
    unit = np.finfo(dtype).eps
    bound = unit * worst if set_name == "free" or dtype == "float32" else 64 * unit
    assert natural_map_scaled(reference, result.impulses.ravel()) <= bound


def planar(W: list, b: list, mu: float, **options) -> cs.Result:
    problem = cs.Problem.from_delassus(np.array(W), np.array([b]), mu, rows=2)
    return cs.solve(problem, local="block", max_iterations=1, **EXACTLY, **options)


W_COUPLED = [[2.0, 0.6], [0.6, 1.0]]


@pytest.mark.parametrize(
    ("b", "wanted"),
    (
        ((0.5, 3.0), (0.0, 0.0)),  # opens
        ((0.0, 3.0), (0.0, 0.0)),  # grazes
        # sticks: W r = -b by Cramer's rule, det = 1.64
        ((-1.0, -0.4), ((1.0 - 0.6 * 0.4) / 1.64, (-0.6 + 2.0 * 0.4) / 1.64)),
        # slides to either side: r_n = -b_n / (2 -+ 0.5 x 0.6), r_t = -+ 0.5 r_n
        ((-1.0, 2.0), (1.0 / 1.7, -0.5 / 1.7)),
        ((-1.0, -2.0), (1.0 / 2.3, 0.5 / 2.3)),
    ),
)
def test_planar_friction_in_closed_form(b, wanted):
    result = planar(W_COUPLED, b, 0.5)
    np.testing.assert_allclose(result.impulses, [wanted], rtol=1e-15, atol=0)


@pytest.mark.parametrize("b", ((-1.0, -0.5), (-1.0, 3.0), (1.0, -1.0)))
def test_planar_friction_of_a_singular_block(b):
    """Both rows push the same velocity: W has rank one, and many impulses stick equally well."""
    result = planar([[1.0, 0.5], [0.5, 0.25]], b, 0.4)
    assert result.natural_map <= 1e-15


def test_planar_friction_on_the_edge_of_sticking():
    """|r_t| = mu r_n to rounding: whichever case is taken, the answer is the same."""
    for shift in (-1e-16, 0.0, 1e-16):
        r = np.array([1.0, 0.5])
        b = -np.array(W_COUPLED) @ r * (1 + shift)
        np.testing.assert_allclose(planar(W_COUPLED, b, 0.5).impulses, [r], rtol=1e-15)


def test_strongly_coupled_planar_friction_takes_a_solution():
    """mu W_nt > W_nn on one side (Painleve): sliding there has no impulse, another case holds."""
    W = [[1.0, -2.0], [-2.0, 5.0]]
    for b in ((-1.0, -0.3), (-1.0, 0.4), (-1.0, 1.9), (-1.0, 2.5), (-1.0, -4.0), (0.2, 1.0)):
        result = planar(W, b, 0.8)
        assert result.natural_map <= 4e-15, b


def test_rolling_contacts_with_wild_coupling_are_solved():
    """Two discs bounded by one normal impulse, as strongly coupled as chance will."""
    rng = np.random.default_rng(2)
    count = 3000
    J = np.zeros((count, 2, 5, 6))
    J[:, 1] = rng.normal(size=(count, 5, 6))
    bodies = np.column_stack([np.full(count, -1), np.arange(count)])
    sets = cs.sets.rolling(rng.uniform(0, 2, count), rng.uniform(0, 2, count))
    minv, b = np.exp(rng.uniform(-2, 2, (count, 6))), rng.normal(size=(count, 5))
    problem = cs.Problem(J, minv, b, bodies=bodies, sets=sets)
    result = cs.solve(problem, local="block", max_iterations=1, **EXACTLY)
    assert not result.info["warnings"]
    # Each contact is an island of its own: rounding is judged beside what the map is made of.
    assert rounding_of(problem, result) <= 1e-11


@pytest.mark.parametrize("local", ("block", "newton", "quartic"))
def test_block_solves_that_are_given_up_are_told(local):
    """An indefinite block, by hand: det W = -3, and no impulse has friction against motion."""
    W = np.array([[1.0, -2.0, 0.0], [-2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    problem = cs.Problem.from_delassus(W, [[-1.0, 0.1, 0.0]], 1.0)
    result = cs.solve(problem, local=local, max_iterations=1, **EXACTLY)
    line = result.info["warnings"][-1]
    assert line.startswith("1 block was not solved to rounding")
    assert result.check(1).natural_map_scaled[0] > 1e-11


def spatial_blocks(rng: np.random.Generator, count: int, friction: float) -> cs.Problem:
    """Contacts of three rows, each with a body of its own, coupled as strongly as chance will."""
    J = np.zeros((count, 2, 3, 6))
    J[:, 1] = rng.normal(size=(count, 3, 6))
    bodies = np.column_stack([np.full(count, -1), np.arange(count)])
    minv, b = np.exp(rng.uniform(-3, 3, (count, 6))), rng.normal(size=(count, 3))
    return cs.Problem(J, minv, b, rng.uniform(0, friction, count), bodies=bodies)


def slide_by_brute_force(W: np.ndarray, q: np.ndarray, mu: float) -> np.ndarray:
    """Of 100,000 directions of friction the one most nearly opposite to sliding, with v_n = 0."""
    angle = np.linspace(0, 2 * np.pi, 100_001)
    side = np.stack([np.ones_like(angle), mu * np.cos(angle), mu * np.sin(angle)])
    stiffness = W[0] @ side
    with np.errstate(divide="ignore"):
        z = side * np.where(stiffness > 0, -q[0] / stiffness, np.nan)
    v = W @ z + q[:, None]
    turn = v[1] * z[2] - v[2] * z[1]
    turn[(v[1:] * z[1:]).sum(0) > 0] = np.nan  # friction would push along
    at = np.nanargmin(np.abs(turn))
    return z[:, at]


def test_spatial_friction_against_brute_force():
    problem = spatial_blocks(np.random.default_rng(5), 150, 0.5)
    result = cs.solve(problem, local="block", max_iterations=1, **EXACTLY)
    assert not result.info["warnings"]
    A, seen = problem.delassus().toarray(), {"open": 0, "stick": 0, "slide": 0}
    for k, z in enumerate(result.impulses):
        W, q, mu = A[3 * k : 3 * k + 3, 3 * k : 3 * k + 3], problem.b[k], float(problem.mu[k])
        full = np.linalg.solve(W, -q)
        if q[0] >= 0:
            kind, wanted = "open", np.zeros(3)
        elif full[0] >= 0 and np.hypot(*full[1:]) <= mu * full[0]:
            kind, wanted = "stick", full
        else:
            kind, wanted = "slide", slide_by_brute_force(W, q, mu)
        seen[kind] += 1
        close = 1e-3 if kind == "slide" else 1e-12
        np.testing.assert_allclose(z, wanted, rtol=0, atol=close * max(1.0, np.abs(wanted).max()))
    assert min(seen.values()) > 1


@pytest.mark.parametrize("friction", (0.5, 3.0))
@pytest.mark.parametrize("dtype", ("float64", "float32"))
def test_spatial_friction_is_solved_to_rounding(friction, dtype):
    problem = spatial_blocks(np.random.default_rng(6), 3000, friction)
    result = cs.solve(problem, local="block", dtype=dtype, max_iterations=1, **EXACTLY)
    assert not result.info["warnings"]
    scaled = result.check(3000).natural_map_scaled
    assert np.max(scaled) <= 2000 * np.finfo(dtype).eps
    assert np.median(scaled) <= 2 * np.finfo(dtype).eps


def test_relaxation_has_no_meaning_for_block_solves():
    problem = cs.scenarios.box_stack(2)
    with pytest.raises(ValueError, match=r"relaxation is 0.5: .*local='block'"):
        cs.Solver(problem, local="block", relaxation=0.5)


def test_rollback_of_block_solves_halves_the_weight():
    """Jacobi with whole block solves diverges on a stack; damped it does not."""
    problem = cs.scenarios.box_stack(6)
    options = {"method": "jacobi", "local": "block", "max_iterations": 200, "rollback_growth": 1.0}
    wild = cs.solve(problem, **options, rollback=0)
    tamed = cs.solve(problem, **options, rollback=5)
    assert tamed.info["rollbacks"] >= 1
    assert tamed.natural_map < wild.natural_map


# ---- averaging ----------------------------------------------------------------------------------


def test_adjacent_weights_of_a_chain():
    """Masses in a row: inner contacts have two neighbours, and walls are none.

    One Jacobi sweep from zero gives omega b/A.
    """
    count = 6
    J = np.zeros((count, 2, 1, 1))
    J[:, 0], J[:, 1] = -1.0, 1.0
    bodies = np.column_stack([np.arange(-1, count - 1), np.arange(count)])
    problem = cs.Problem(J, np.ones((count, 1)), -np.ones((count, 1)), bodies=bodies)
    result = cs.solve(problem, method="jacobi", averaging="adjacent", max_iterations=1, **EXACTLY)
    diagonal = np.array([1.0, 2, 2, 2, 2, 2])
    weight = np.array([1.0, 1 / 2, 1 / 2, 1 / 2, 1 / 2, 1.0])
    np.testing.assert_allclose(result.impulses[:, 0], weight / diagonal, rtol=1e-15)


def test_adjacent_contacts_count_once_and_by_pattern():
    """Two contacts between the same two bodies are one neighbour; a given A agrees."""
    rng = np.random.default_rng(4)
    arrays = random_problem(rng, 7, 4, 3, 6, "disc")
    arrays.bodies[2:5] = (1, 2)
    reference = ReferenceProblem.from_arrays(arrays)
    options = {"averaging": "adjacent", "method": "jacobi", "max_iterations": 2, **EXACTLY}
    wanted = run(reference, 2, solver="jacobi", averaging="adjacent")[-1].reshape(7, 3)
    assert max(adjacent_contacts(reference, k) for k in range(7)) > 2
    given = cs.Problem.from_delassus(reference.A, arrays.b, arrays.mu)
    for problem in (package_problem(arrays), given):
        got = cs.solve(problem, **options).impulses
        np.testing.assert_allclose(got, wanted, atol=1e-13 * np.max(np.abs(wanted)))


def test_averaging_takes_one_word():
    with pytest.raises(ValueError, match="averaging: 'neighbours' is unknown"):
        cs.Solver(cs.scenarios.box_stack(2), averaging="neighbours")


# ---- the global factor --------------------------------------------------------------------------


@pytest.mark.parametrize("given", (False, True))
@pytest.mark.parametrize("awkward", (False, True))
def test_global_factor_from_the_eigenvalues(awkward, given):
    """To rounding for small problems, regular and singular, with immovable contacts left out."""
    rng = np.random.default_rng(9)
    for contacts, bodies in ((4, 6), (7, 3)):
        arrays = random_problem(rng, contacts, bodies, 3, 6, "disc", awkward=awkward)
        reference = ReferenceProblem.from_arrays(arrays)
        problem = package_problem(arrays)
        if given:
            matrix = slightly_unsymmetric(rng, reference.A)
            reference = ReferenceProblem.from_delassus(matrix, arrays)
            problem = cs.Problem.from_delassus(matrix, arrays.b, arrays.mu)
        info = cs.Solver(problem, r_factor="global").info
        spectrum = movable_spectrum(reference)
        rounding = 1e-13 * spectrum[-1]
        np.testing.assert_allclose(info["eigenvalues"], spectrum[[0, -1]], atol=rounding)
        np.testing.assert_allclose(info["r_factor"], global_factor(reference), rtol=1e-10)


def test_global_factor_of_a_large_problem():
    """480 rows, 48 products: the largest eigenvalue to 1e-6 and never too large a factor."""
    problem = cs.scenarios.ball_grid((4, 4, 4))
    spectrum = np.linalg.eigvalsh(problem.delassus().toarray())
    first, again = (cs.Solver(problem, r_factor="global").info for _ in range(2))
    assert first["eigenvalues"] == again["eigenvalues"]
    smallest, largest = first["eigenvalues"]
    assert abs(largest - spectrum[-1]) <= 1e-6 * spectrum[-1]
    assert smallest >= spectrum[0] - 1e-12
    # The grid is redundant, A singular; the error bound of the Ritz value makes r the smaller.
    exact = 1.9 / spectrum[-1]
    assert exact * (1 - 1e-5) <= first["r_factor"] <= exact
    result = cs.solve(problem, r_factor="global", method="jacobi", max_iterations=3000)
    assert result.converged


def test_global_factor_without_rows_to_measure():
    empty = cs.Problem.from_delassus(np.zeros((0, 0)), np.zeros((0, 3)), np.zeros(0))
    assert cs.solve(empty, r_factor="global").converged
    immovable = cs.Problem.from_delassus(np.zeros((3, 3)), np.zeros((1, 3)), 0.5)
    result = cs.solve(immovable, r_factor="global")
    np.testing.assert_array_equal(result.impulses, np.zeros((1, 3)))


def test_unknown_words_list_the_known_ones():
    problem = cs.scenarios.box_stack(2)
    with pytest.raises(ValueError, match="known: auto, projected, exact, block, newton, quartic"):
        cs.Solver(problem, local="whole")
    with pytest.raises(ValueError, match="known: local, diagonal, block, global"):
        cs.Solver(problem, r_factor="universal")


# ---- the reference itself -----------------------------------------------------------------------


def test_the_rolling_cone_projection_of_the_reference():
    """p = P_K(z) iff p in K, (z - p) . p = 0 and (z - p) . x <= 0 for all x in the cone K."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        mu, mu_r = rng.choice([0.0, 0.3, 1.5], 2)
        z = rng.normal(size=5)
        p = rolling_cone_projection(z, mu, mu_r)
        assert np.linalg.norm(p[1:3]) <= mu * p[0] + 1e-15
        assert np.linalg.norm(p[3:5]) <= mu_r * p[0] + 1e-15
        assert abs((z - p) @ p) <= 1e-14
        for x in rng.normal(size=(20, 5)):
            inside = Rolling(mu, mu_r).prox(np.concatenate([[abs(x[0])], x[1:]]))
            assert (z - p) @ inside <= 1e-14


def test_the_reference_of_box_friction_clamps_each_axis():
    got = BoxFriction(3, 0.5).prox(np.array([2.0, 5.0, -0.3]))
    np.testing.assert_array_equal(got, [2.0, 1.0, -0.3])
