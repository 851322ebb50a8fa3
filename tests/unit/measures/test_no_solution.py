"""Problems without a solution: proven, and never claimed of a problem that has one."""

import numpy as np
import pytest

import contactsolve as cs
from unsolvable import pressed

FRICTION = [
    name
    for name in cs.methods.names()
    if name not in ("apgd", "spectral_gradient", "murty", "lemke")
]
FRICTION = [name for name in FRICTION if name not in ("bpp", "keller", "dantzig")]
EPSILON = np.finfo(float).eps


def pinched(mu=None):
    """A ball of 1 kg between two walls that close at 1 m/s."""
    rows = 1 if mu is None else 3
    J = np.zeros((2, 2, rows, 3))
    J[:, 1] = np.eye(3)[:rows]
    J[1, 1, 0, 0] = -1
    b = np.zeros((2, rows))
    b[:, 0] = -1
    if mu is not None:
        b[:, 1] = (0.1, -0.2)
    return cs.Problem(J, [[1.0] * 3], b, mu, bodies=[[-1, 0], [-1, 0]])


def contradictory_joint():
    """Two joint rows that ask for other velocities of the same point, and a third beside them."""
    J = np.zeros((1, 2, 3, 6))
    J[0, 1, :2, 0], J[0, 1, 2, 1] = 1, 1
    return cs.Problem(J, [[1.0] * 6], [[1.0, -1.0, 0.5]], bodies=[[-1, 0]], sets=cs.sets.free())


def assert_proven(problem, result):
    """The certificate proves it, by the inequality of its definition, computed here."""
    assert result.status == "infeasible", (result.info["method"], result.message)
    assert not result.converged
    assert "no solution" in result.message
    A, b = problem.delassus().toarray(), np.ravel(problem.b)
    d = np.ravel(result.info["certificate"])
    assert np.abs(d).max() == 1.0
    left = (np.abs(A.T @ d) + 4 * EPSILON * np.abs(A.T) @ np.abs(d)).sum()
    assert left * 1e3 < -b @ d - 4 * EPSILON * np.abs(b) @ np.abs(d)
    assert result.info["certified_impulse"] > 1e3


@pytest.mark.parametrize("method", cs.methods.names())
def test_a_ball_pinched_by_closing_walls(method):
    problem = pinched()
    result = cs.solve(problem, method=method)
    assert_proven(problem, result)
    assert (result.info["certificate"] >= 0).all()
    assert sorted(result.info["certificate_contacts"]) == [0, 1]


@pytest.mark.parametrize("method", FRICTION)
def test_friction_does_not_help_it(method):
    problem = pinched(mu=0.5)
    result = cs.solve(problem, method=method)
    assert_proven(problem, result)
    assert (result.info["certificate"][:, 1:] == 0).all()


@pytest.mark.parametrize("method", cs.methods.names())
def test_contradictory_rows_of_a_joint(method):
    problem = contradictory_joint()
    assert_proven(problem, cs.solve(problem, method=method))


@pytest.mark.parametrize("method", ["auto", "gauss_seidel", "jacobi", "nesterov", "newton"])
def test_what_is_found_beside_a_stack(method):
    """Nothing of the other island is in the certificate."""
    J = np.zeros((5, 2, 3, 3))
    J[:, 1] = np.eye(3)
    J[1:3, 0] = -np.eye(3)
    J[4, 1, 0, 0] = -1
    b = np.zeros((5, 3))
    b[0, 0], b[3, 0], b[4, 0] = -0.1, -1, -1
    bodies = [[-1, 0], [0, 1], [1, 2], [-1, 3], [-1, 3]]
    problem = cs.Problem(J, np.ones((4, 3)), b, 0.5, bodies=bodies)
    result = cs.solve(problem, method=method)
    assert_proven(problem, result)
    assert (result.info["certificate"][:3] == 0).all()
    assert sorted(result.info["certificate_contacts"]) == [3, 4]


def test_what_is_nearly_parallel_is_found_too():
    """Random walls that close on a ball: impulses grow along what A nearly does not see."""
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(30):
        normals = rng.normal(size=(6, 3))
        normals = np.vstack([normals, -normals.sum(axis=0)])  # they balance each other
        J = np.zeros((7, 2, 1, 3))
        J[:, 1, 0] = normals
        speed = rng.uniform(0.5, 2.0, (7, 1))
        problem = cs.Problem(J, [[1.0] * 3], -speed, bodies=[[-1, 0]] * 7)
        result = cs.solve(problem, method="gauss_seidel")
        assert result.status in ("infeasible", "max_iterations")
        found += result.status == "infeasible"
    assert found >= 28


@pytest.mark.parametrize("method", ["gauss_seidel", "jacobi", "symmetric_gauss_seidel", "nesterov"])
@pytest.mark.parametrize("share", [0, 0.5, 1])
def test_impulses_that_grow_in_a_grid_show_it_while_the_solve_goes_on(method, share):
    """The direction is the growth up to the present iterate, whatever it was judged over."""
    problem = pressed(4, share)
    result = cs.solve(problem, method=method, max_iterations=2000)
    assert_proven(problem, result)
    assert result.iterations <= 640


@pytest.mark.threads
def test_proofs_have_the_same_bits_for_any_number_of_threads():
    options = {"method": "gauss_seidel", "max_iterations": 320, "exact_threads": True}
    first, *others = (cs.solve(pressed(8, 1), threads=n, **options) for n in (1, 2, 3, 8))
    assert first.status == "infeasible"
    for other in others:
        assert (other.status, other.message) == (first.status, first.message)
        assert other.info["certified_impulse"] == first.info["certified_impulse"]
        for name in ("certificate", "certificate_contacts"):
            np.testing.assert_array_equal(other.info[name], first.info[name])


@pytest.mark.parametrize("method", ["auto", "gauss_seidel", "nesterov", "newton", "admm", "bpp"])
@pytest.mark.parametrize("compliance", [1e-4, 1e-6, 1e-8, 1e-10, 1e-12])
def test_a_compliance_makes_it_solvable(compliance, method):
    A = np.ones((2, 2)) + compliance * np.eye(2)
    b = np.array([[-1.0], [1.0]])
    problem = cs.Problem.from_delassus(A, b, rows=1, sets=cs.sets.free())
    result = cs.solve(problem, method=method)
    assert result.status not in ("infeasible", "unbounded"), result.message
    if method == "bpp":
        assert result.converged == (compliance >= 1e-8)
        np.testing.assert_allclose(result.impulses[0, 0] * compliance, 1.0, rtol=1e-3)


@pytest.mark.parametrize("ratio", [1e2, 1e4, 1e6, 1e8, 1e10])
@pytest.mark.parametrize("method", ["auto", "gauss_seidel", "nesterov", "newton", "interior_point"])
def test_a_heavy_body_on_a_light_one_has_a_solution(method, ratio):
    J = np.zeros((2, 2, 3, 3))
    J[:, 1], J[1, 0] = np.eye(3), -np.eye(3)
    bodies = [[-1, 0], [0, 1]]
    problem = cs.Problem(
        J, [[1.0] * 3, [1 / ratio] * 3], [[-0.0981, 0.01, 0], [0, 0, 0]], 0.5, bodies=bodies
    )
    result = cs.solve(problem, method=method, max_iterations=2000)
    assert result.status not in ("infeasible", "unbounded"), result.message


def test_an_unsymmetric_matrix_is_judged_by_its_transpose():
    """A d = 0 for d = (1, 1) with b·d < 0, yet λ = (1, 0) solves it."""
    A, b = np.array([[1.0, -1.0], [-0.5, 0.5]]), np.array([[-1.0], [0.9]])
    problem = cs.Problem.from_delassus(A, b, rows=1)
    for method in ("auto", "gauss_seidel", "jacobi", "nesterov"):
        result = cs.solve(problem, method=method)
        assert result.converged, result.message
        np.testing.assert_allclose(result.impulses.ravel(), [1.0, 0.0], atol=1e-5)


def test_joints_that_only_one_body_contradicts_are_told_by_number():
    problem = cs.Problem(
        groups=[
            cs.Group(np.ones((2, 2, 1, 1)), [[-1, 0], [-1, 1]], [[-1.0], [-1.0]]),
            cs.Group(
                np.ones((2, 2, 1, 1)), [[-1, 1], [-1, 1]], [[1.0], [-1.0]], sets=cs.sets.free()
            ),
        ],
        bodies=[cs.Bodies(np.ones((2, 1)))],
    )
    result = cs.solve(problem, method="gauss_seidel")
    assert result.status == "infeasible"
    assert [len(part) for part in result.info["certificate"]] == [2, 2]
    assert set(result.info["certificate_contacts"]) <= {1, 2, 3}
    assert "contacts " in result.message


def test_zero_diagonals_are_refused_by_name():
    """Textbook LCPs may have them: Lemke's method solves them, others have no step there."""
    problem = cs.Problem.from_delassus(np.array([[0.0, 1], [1, 0]]), -np.ones((2, 1)), rows=1)
    for method in cs.methods.names():
        if method == "lemke":
            result = cs.solve(problem, method=method)
            assert result.converged, result.message
            assert result.impulses.ravel().tolist() == [1.0, 1.0]
            continue
        with pytest.raises(ValueError, match=r"A\[0, 0\] of contact 0 is 0|needs Jacobians"):
            cs.solve(problem, method=method)


def test_rows_that_nothing_moves_are_where_b_drives_them():
    """A bounded row is at its bound; one without a bound has no solution, whatever else moves."""
    problem = cs.Problem.from_delassus(np.diag([1.0, 0.0]), [-1.0, -1.0], rows=2, lo=0.0, hi=1.0)
    result = cs.solve(problem)
    assert result.converged
    assert result.impulses.tolist() == [[1.0, 1.0]]
    closing = cs.Problem.from_delassus(np.diag([0.0, 1.0]), [-1.0, 1.0], 0.5, rows=2)
    result = cs.solve(closing)
    assert result.status == "infeasible"
    assert result.info["certificate"].tolist() == [[1.0, 0.0]]
    assert "of contact" not in result.message
    edge = np.array([[0.5 * np.hypot(0.3, 0.4), 0.3, 0.4]])  # on the dual cone, to rounding
    cone = cs.Problem.from_delassus(np.zeros((3, 3)), edge, sets=cs.sets.second_order_cone(0.5))
    assert cs.solve(cone).converged


def test_a_cone_without_friction_ends_at_zero():
    cone = cs.sets.second_order_cone(0.0)
    for z in ([-1.0, 0.0, 0.0], [-1.0, 0.5, 0.0]):
        assert cone.project(np.array([z])).tolist() == [[0.0, 0.0, 0.0]]
    assert cone.project(np.array([[2.0, 0.5, 0.0]])).tolist() == [[2.0, 0.0, 0.0]]


def test_compliance_of_a_jacobian_of_any_pattern_is_not_in_the_scale():
    """The same problem in blocks and as a matrix: the same iterations, the same scaled map."""
    options = {"method": "jacobi", "relaxation": 0.5, "rtol": 1e-3, "check_every": 1}
    blocks = cs.Problem(
        np.array([[[[0.0]], [[1.0]]]]), [[1.0]], [[-1.0]], bodies=[[-1, 0]], compliance=99.0
    )
    matrix = cs.Problem(np.ones((1, 1)), [1.0], [-1.0], rows=1, compliance=99.0)
    first, second = (cs.solve(problem, **options) for problem in (blocks, matrix))
    assert first.iterations == second.iterations
    assert first.natural_map_scaled == pytest.approx(second.natural_map_scaled, rel=1e-12)


def wedge_and_pinch(between):
    """Return a frictional wedge, bodies apart, and a pinched one: solved in clusters."""
    count = between + 4
    J = np.zeros((count, 2, 3, 3))
    J[:, 1] = np.eye(3)
    bodies = [[-1, 0], [-1, 0], *([-1, 1 + k] for k in range(between)), [-1, between + 1]]
    bodies.append([-1, between + 1])
    c, s = np.cos(1.5), np.sin(1.5)
    J[0, 1] = [[c, s, 0], [-s, c, 0], [0, 0, 1]]
    J[1, 1] = [[-c, s, 0], [s, c, 0], [0, 0, 1]]
    J[-1, 1, 0] *= -1
    b = np.zeros((count, 3))
    b[:, 0] = -1.0
    return cs.Problem(J, np.ones((between + 2, 3)), b, 20.0, bodies=bodies)


@pytest.mark.parametrize("islands", ["auto", False])
def test_a_proof_is_not_put_beside_what_is_none(islands):
    problem = wedge_and_pinch(600)
    result = cs.solve(problem, method="gauss_seidel", order="natural", islands=islands)
    assert_proven(problem, result)
    assert sorted(result.info["certificate_contacts"]) == [602, 603]


def test_refused_diagonals_are_numbered_as_given():
    A = np.eye(620)
    A[618, 618], A[619, 619] = 2.0, 0.0
    A[618, 619] = A[619, 618] = -1.0
    problem = cs.Problem.from_delassus(A, -np.ones((620, 1)), rows=1)
    for islands in ("auto", False):
        with pytest.raises(ValueError, match=r"A\[619, 619\] of contact 619 is 0"):
            cs.solve(problem, method="gauss_seidel", islands=islands)


@pytest.mark.parametrize("sets", [cs.sets.half_line(), cs.sets.free()])
def test_rounding_of_b_where_nothing_moves_is_no_contradiction(sets):
    J = np.zeros((2, 2, 1, 3))
    J[:, 1, 0, 0] = 1
    Minv = [[1.0] * 3, [0.0] * 3]
    problem = cs.Problem(J, Minv, [[-1.0], [-1e-18]], bodies=[[-1, 0], [-1, 1]], sets=sets)
    result = cs.solve(problem)
    assert result.converged, result.message


def test_compare_takes_what_has_no_solution():
    A = np.array([[1.0, -1.0], [-1.0, 1.0]])
    problem = cs.Problem.from_delassus(A, -np.ones((2, 1)), rows=1)
    table = cs.compare(problem, ["gauss_seidel", "auto", "bpp"])
    assert {row.status for row in table} == {"infeasible"}


@pytest.mark.parametrize("b", [2.0, -2.0])
@pytest.mark.parametrize("bound", [0.0, 1.0])
def test_a_row_that_nothing_moves_is_told_where_the_rest_of_its_block_is_solved(b, bound):
    """The other rows need nothing, so that their island breaks its constraints at no speed."""
    J = np.zeros((1, 2, 2, 3))
    J[0, 0, 0, 0] = 0.9
    box = cs.sets.box(lo=np.array([[-bound, -np.inf]]), hi=np.array([[bound, np.inf]]))
    problem = cs.Problem(
        J=J, Minv=np.eye(3)[None], bodies=np.array([[0, -1]]), b=np.array([[0.0, b]]), sets=box
    )
    for method in ("auto", "gauss_seidel", "newton", "admm", "multilevel"):
        result = cs.solve(problem, method=method)
        assert result.status == "infeasible", method
        assert result.info["certificate"].ravel().tolist() == [0.0, -np.sign(b)]


def closing_row(seed):
    """Bodies in a row between two walls that close, as A and b."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 8))
    J = np.eye(count + 1, count) - np.eye(count + 1, count, k=-1)
    b = J @ rng.normal(size=count)
    b[[0, -1]] -= 0.2
    return cs.Problem.from_delassus(J @ np.diag(10 ** rng.uniform(-1, 1, count)) @ J.T, b, rows=1)


@pytest.mark.parametrize("method", ["bpp", "murty", "keller", "dantzig", "lemke"])
def test_direct_methods_find_that_walls_close(method):
    """They have no iterates that grow: b drives impulses for them. A is singular in any case."""
    found = 0
    for seed in range(40):
        problem = closing_row(seed)
        try:
            result = cs.solve(problem, method=method)
        except ValueError:
            continue
        assert not result.converged
        if result.status == "infeasible":
            A, d = problem.delassus().toarray(), np.ravel(result.info["certificate"])
            assert np.all(d >= 0)
            assert np.max(np.abs(A @ d)) <= 1e-7 * np.max(np.abs(A))
            assert np.ravel(problem.b) @ d < -0.1
            found += 1
    assert found >= 38


def test_other_islands_are_told_to_be_unfinished():
    A = np.zeros((3, 3))
    A[:2, :2] = [[1, -1], [-1, 1]]
    A[2, 2] = 1.0
    problem = cs.Problem.from_delassus(A, [[-1.0], [-1.0], [-1.0]], rows=1)
    result = cs.solve(problem, method="gauss_seidel")
    assert result.status == "infeasible"
    assert "the other islands were left unfinished" in result.message
    alone = cs.Problem.from_delassus(A[:2, :2], [[-1.0], [-1.0]], rows=1)
    assert "unfinished" not in cs.solve(alone, method="gauss_seidel").message


def crushed_rows(bodies, copies):
    """Rows of bodies, each between two walls that approach each other."""
    count = bodies + 1
    J, pairs = np.zeros((copies * count, 2, 3, 6)), np.full((copies * count, 2), -1)
    J[:, 0, :, :3], J[:, 1, :, :3] = -np.eye(3), np.eye(3)
    b = np.zeros((copies, count, 3))
    b[:, [0, -1], 0] = -1.0
    for k in range(copies * count):
        row, place = divmod(k, count)
        pairs[k] = [
            bodies * row + place - 1 if place > 0 else -1,
            bodies * row + place if place < bodies else -1,
        ]
    return cs.Problem(J, np.ones((bodies * copies, 6)), b.reshape(-1, 3), 0.5, bodies=pairs)


@pytest.mark.parametrize(("method", "iterations"), [("gauss_seidel", 39), ("newton", 30)])
def test_many_small_islands_are_proven_as_each_of_them(method, iterations):
    problem = crushed_rows(10, 120)
    given = {"method": method, "max_iterations": iterations}
    found = [
        cs.solve(problem, **given, islands=False),
        cs.solve(problem, **given),
        cs.solve(problem, **given, callback=lambda state: None),
        cs.solve(crushed_rows(10, 1), **given),
    ]
    assert [result.status for result in found] == ["infeasible"] * 4
