"""What a set-up makes does not depend on how many threads share it."""

import numpy as np
import pytest

import contactsolve as cs

pytestmark = pytest.mark.threads

ORDERS = {
    "auto": "auto",
    "cache": "cache",
    "cache without domains": cs.orders.cache(domains=False, chunk=100),
    "cache in levels": cs.orders.cache(bodies="breadth_first"),
    "checkerboard": cs.orders.partition(border="checkerboard"),
    "colored border": cs.orders.partition(border="colored", strategy="slices"),
    "colored": "colored",
    "regions": cs.orders.regions(6),
}


def shuffled(problem):
    """The same contacts between the same bodies, both with random numbers."""
    rng = np.random.default_rng(4)
    contact, body = rng.permutation(problem.contacts), rng.permutation(len(problem.Minv))
    bodies = np.where(problem.bodies >= 0, body[problem.bodies], -1)[contact]
    inverse = np.empty_like(problem.Minv)
    inverse[body] = problem.Minv
    return cs.Problem(
        problem.J[contact], inverse, problem.b[contact], problem.mu[contact], bodies=bodies
    )


@pytest.fixture(scope="module", params=["grid", "shuffled grid", "apart"])
def problem(request):
    """Problems that several threads share: there are at least 2,048 contacts for each of two."""
    grid = cs.scenarios.ball_grid(15)
    if request.param == "grid":
        return grid
    if request.param == "shuffled grid":
        return shuffled(grid)

    # Islands of one to five contacts, immovable bodies, and blocks that join one body to itself.
    rng = np.random.default_rng(7)
    count, balls = 9000, 6000
    bodies = np.stack([rng.integers(0, balls, count), rng.integers(-1, 3, count)], axis=1)
    bodies[:, 1] = np.where(bodies[:, 1] >= 0, (bodies[:, 0] // 5) * 5 + bodies[:, 1], -1)
    inverse = np.tile(np.eye(6), (balls, 1, 1))
    inverse[::50] = 0
    jacobian = rng.standard_normal((count, 2, 3, 6))
    return cs.Problem(jacobian, inverse, rng.standard_normal((count, 3)), 0.5, bodies=bodies)


def schedule_of(problem, order, threads):
    told = vars(cs.orders.describe(problem, order, threads=threads, exact_threads=True))
    return {name: value for name, value in told.items() if name != "seconds"}


@pytest.mark.parametrize("order", ORDERS)
def test_orders(problem, order):
    one = schedule_of(problem, ORDERS[order], 1)
    assert sorted(one["visits"]) == list(range(problem.contacts))
    for threads in (2, 3, 8):
        other = schedule_of(problem, ORDERS[order], threads)
        assert other.keys() == one.keys()
        for name, value in one.items():
            np.testing.assert_equal(other[name], value, err_msg=name)


@pytest.mark.parametrize("dtype", ["float64", "float32", "mixed"])
@pytest.mark.parametrize("method", ["gauss_seidel", "jacobi"])
def test_solves(problem, dtype, method):
    options = {"method": method, "scheme": "factorized", "dtype": dtype, "max_iterations": 5}
    options |= {"parts": 8, "islands": False, "exact_threads": True, "record": ("natural_map",)}
    one = cs.solve(problem, threads=1, **options)
    assert np.abs(one.impulses).max() > 0
    for threads in (2, 3, 8):
        other = cs.solve(problem, threads=threads, **options)
        np.testing.assert_array_equal(other.impulses, one.impulses)
        np.testing.assert_array_equal(other.history["natural_map"], one.history["natural_map"])
        for name in ("kernel", "immovable_blocks"):
            assert other.info[name] == one.info[name]


def test_islands(problem):
    """They are numbered by their first contacts; -1 between bodies that cannot move."""
    moves = np.abs(problem.Minv).reshape(len(problem.Minv), -1).max(axis=1) > 0
    parent = list(range(len(moves)))

    def root(body):
        while parent[body] != body:
            parent[body] = body = parent[parent[body]]
        return body

    movable = [[body for body in pair if body >= 0 and moves[body]] for pair in problem.bodies]
    for pair in movable:
        if len(pair) == 2:
            parent[root(pair[0])] = root(pair[1])
    number = {}
    expected = [number.setdefault(root(pair[0]), len(number)) if pair else -1 for pair in movable]
    np.testing.assert_array_equal(cs.islands(problem), expected)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "jacobi", "r_factor": "global"},
        {"method": "nesterov", "over": "jacobi"},
    ],
    ids=("global", "bounded"),
)
def test_eigenvalues(options):
    # Lanczos' iteration: products with A, and sums over vectors.
    problem = cs.scenarios.ball_grid(15, velocity=0.1)
    options = {**options}
    if "over" in options:
        options["method"] = cs.methods.nesterov(over=options.pop("over"))

    def found(threads):
        fixed = {"rtol": None, "atol": None, "max_iterations": 2, "islands": False}
        solver = cs.Solver(problem, **options, **fixed, threads=threads, exact_threads=True)
        return solver.info, solver.solve().impulses

    info, impulses = found(1)
    assert np.any(impulses != 0)
    for threads in (2, 3, 8):
        other, shared = found(threads)
        assert np.array_equal(shared, impulses)
        for name in ("r_value", "step_bound", "eigenvalues"):
            assert np.array_equal(other.get(name), info.get(name), equal_nan=name in info), name
