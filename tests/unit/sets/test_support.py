"""Sets by their support points: shapes against sets of their own, and functions of the caller's."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from dataclasses import dataclass, replace

import numpy as np
import pytest

import contactsolve as cs
from agreement import (
    DTYPES,
    EXACTLY,
    SCHEMES,
    SOLVERS,
    TOLERANCE,
    assert_close,
    assert_impulses_agree,
    generator,
)
from contactsolve import sets, shapes
from reference_numpy import ReferenceProblem, contact_measures, infeasibility, random_problem
from reference_sets import bound_of, nearest_in_polygon

EPS = np.finfo(float).eps


def points(count: int, rows: int, seed: int = 2) -> np.ndarray:
    """Near and far, normal impulses of all sizes, some on an axis."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(count, rows)) * 10.0 ** rng.uniform(-3, 3, (count, 1))
    z[:, 0] = 10.0 ** rng.uniform(-2, 2, count)
    z[::9, 1] = 0.0
    z[::11, 2] = 0.0
    z[::13, 0] = 0.0
    z *= 10.0 ** rng.choice([0, 0, 30, -30], (count, 1))
    return z


FIVE = np.array([[np.cos(t), np.sin(t)] for t in (0.0, 1.0, 2.5, 3.3, 4.2, 5.0)])
BOX = np.array([[x, y, s] for x in (-0.6, 0.6) for y in (-0.4, 0.4) for s in (-0.1, 0.1)])
SAME_SETS = {
    "disc": (lambda: shapes.disc(0.6), lambda: sets.disc(0.6), 3),
    "ellipse": (
        lambda: shapes.ellipse(0.6, 0.1).turned(0.3),
        lambda: sets.ellipse(0.6, 0.1, 0.3),
        3,
    ),
    "flat ellipse": (
        lambda: shapes.ellipse(0.6, 1e-6).turned(2.0),
        lambda: sets.ellipse(0.6, 1e-6, 2.0),
        3,
    ),
    "segment": (lambda: shapes.ellipse(0.6, 0).turned(0.3), lambda: sets.ellipse(0.6, 0.0, 0.3), 3),
    "polygon": (lambda: shapes.points(0.7 * FIVE), lambda: sets.polygon(0.7, vertices=FIVE), 3),
    "exponent 2": (lambda: shapes.superellipse(0.6, 0.2, 2.0), lambda: sets.ellipse(0.6, 0.2), 3),
    "square": (lambda: shapes.superellipse(0.6, 0.6, np.inf), lambda: sets.box_friction(0.6), 3),
    "rhombus": (lambda: shapes.superellipse(0.6, 0.6, 1.0), lambda: sets.polygon(0.6, sides=4), 3),
    "sum of segments": (
        lambda: shapes.ellipse(0.6, 0.0) + shapes.ellipse(0.0, 0.6),
        lambda: sets.box_friction(0.6),
        3,
    ),
    "hull of segments": (
        lambda: shapes.hull(shapes.ellipse(0.6, 0.0), shapes.ellipse(0.0, 0.6)),
        lambda: sets.polygon(0.6, sides=4),
        3,
    ),
    "ellipsoid": (
        lambda: shapes.ellipsoid(0.6, 0.6, 0.4 * 0.2),
        lambda: sets.contensou_coupled(0.6, 0.2),
        4,
    ),
    "cylinder": (
        lambda: shapes.ellipsoid(0.6, 0.6, 0.0) + shapes.ellipsoid(0.0, 0.0, 0.4 * 0.2),
        lambda: sets.contensou(0.6, 0.2),
        4,
    ),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", list(SAME_SETS))
def test_shapes_that_have_sets_of_their_own(name, dtype):
    """To a few rounding units of the point or the set, the larger."""
    shape, other, rows = SAME_SETS[name]
    z = points(2000, rows)
    got = sets.support(shape()).project(z, dtype=dtype)
    wanted = other().project(z, dtype=dtype)
    size = np.maximum(np.abs(z).max(axis=1, keepdims=True), 1e-300)
    assert np.max(np.abs(got - wanted) / size) <= 16 * EPS + (dtype == "float32") * 2e-7


# ---- rounded polytopes: the nearest point of the polytope, and on from there ---------------------


def rounded(flat: np.ndarray, radius: float, z: np.ndarray) -> np.ndarray:
    """Nearest points of a set grown by a ball, from those of the set itself."""
    away = z - flat
    length = np.linalg.norm(away, axis=1, keepdims=True)
    part = np.minimum(1.0, radius / np.maximum(length, 1e-300))
    return np.where(length <= radius, z, flat + part * away)


def unit_points(count: int, rows: int) -> np.ndarray:
    z = points(count, rows)
    rng = np.random.default_rng(3)
    z[:, 1:] = rng.normal(size=(count, rows - 1)) * 10.0 ** rng.uniform(-2, 2, (count, 1))
    z[:, 0] = 1.0
    return z


@pytest.mark.parametrize("kind", ("sum", "hull"))
def test_rounded_polygons_are_exact(kind):
    """Flat sides and arcs in one shape: all of it to rounding in the plane."""
    z = unit_points(3000, 3)
    radius = 0.2
    if kind == "sum":
        shape = shapes.points(FIVE) + shapes.disc(radius)
    else:
        shape = shapes.hull(*(shapes.disc(radius).shifted(corner) for corner in FIVE))
    flat = np.array([nearest_in_polygon(FIVE, one) for one in z[:, 1:]])
    wanted = rounded(flat, radius, z[:, 1:])
    got = sets.support(shape).project(z)[:, 1:]
    assert np.max(np.abs(got - wanted) / np.abs(z).max(axis=1, keepdims=True)) <= 16 * EPS


@pytest.mark.parametrize("kind", ("box", "rod"))
def test_rounded_polytopes_are_near(kind):
    """In space, with sides that are curved one way and straight the other: see csrc/prox/gjk.h."""
    z = unit_points(3000, 4)
    radius = 0.1
    half = np.array([0.6, 0.4, 0.1]) if kind == "box" else np.array([0.6, 0.0, 0.0])
    ball = shapes.ellipsoid(radius, radius, radius)
    if kind == "box":
        shape = shapes.points(BOX) + ball
    else:
        shape = shapes.hull(ball.shifted([0.6, 0, 0]), ball.shifted([-0.6, 0, 0]))
    wanted = rounded(np.clip(z[:, 1:], -half, half), radius, z[:, 1:])
    got = sets.support(shape).project(z)[:, 1:]
    size = np.abs(z).max(axis=1)
    place = np.abs(got - wanted).max(axis=1) / size
    distance = np.linalg.norm(got - z[:, 1:], axis=1) - np.linalg.norm(wanted - z[:, 1:], axis=1)
    assert np.max(place) <= 1e-7
    assert np.max(np.abs(distance) / size) <= 1e-13
    assert np.mean(place <= 32 * EPS) > 0.8


def test_polytopes_in_space_are_exact():
    z = unit_points(3000, 4)
    half = np.array([0.6, 0.4, 0.1])
    wanted = np.clip(z[:, 1:], -half, half)
    for shape in (
        shapes.points(BOX),
        shapes.superellipsoid(*half, np.inf),
        shapes.ellipsoid(0.6, 0, 0) + shapes.ellipsoid(0, 0.4, 0) + shapes.ellipsoid(0, 0, 0.1),
    ):
        got = sets.support(shape).project(z)[:, 1:]
        assert np.max(np.abs(got - wanted) / np.abs(z).max(axis=1, keepdims=True)) <= 16 * EPS


# ---- superellipses -------------------------------------------------------------------------------


def superellipse_by_bisection(axes, p: float, y: np.ndarray) -> np.ndarray:
    """Nearest points by the angle t of (a cos^(2/p) t, b sin^(2/p) t), in np.longdouble."""
    a, b = (np.longdouble(v) for v in axes)
    x, z = np.abs(y.astype(np.longdouble)).T
    low, high = np.zeros(len(y), np.longdouble), np.full(len(y), np.longdouble(np.pi) / 2)
    e = np.longdouble(2) / np.longdouble(p)
    for _ in range(120):
        t = (low + high) / 2
        c, s = np.cos(t), np.sin(t)
        # The outward normal is (x^(p-1)/a^p, y^(p-1)/b^p), with x = a c^e.
        normal = c ** (2 - e) / a, s ** (2 - e) / b
        turn = (x - a * c**e) * normal[1] - (z - b * s**e) * normal[0]
        low, high = np.where(turn < 0, t, low), np.where(turn < 0, high, t)
    nearest = np.stack([a * np.cos(low) ** e, b * np.sin(low) ** e], axis=1)
    inside = (x / a) ** p + (z / b) ** p <= 1
    return np.copysign(np.where(inside[:, None], np.abs(y), nearest), y)


@pytest.mark.parametrize("p", (1.2, 1.7, 3.0, 6.0))
def test_superellipses(p):
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("needs an extended precision")
    rng = np.random.default_rng(6)
    z = np.column_stack([np.ones(2000), rng.normal(size=(2000, 2)) * 2])
    got = sets.support(shapes.superellipse(0.8, 0.3, p)).project(z)
    wanted = superellipse_by_bisection((0.8, 0.3), p, z[:, 1:])
    # Where the curvature vanishes or is infinite, a support point tells the direction badly.
    assert np.max(np.abs(got[:, 1:] - wanted)) <= 1e-14


def test_points_barely_beyond_an_edge_are_outside():
    """Of a rhombus as narrow as you like, however far away its corners are."""
    rng = np.random.default_rng(7)
    for axes in 10.0 ** rng.uniform(-3, 0, (200, 2)):
        size = np.max(axes)
        part, beyond = rng.uniform(size=50), size * 10.0 ** rng.uniform(-15, -1, 50)
        outward = np.array([axes[1], axes[0]]) / np.hypot(*axes)
        foot = np.column_stack([part, 1 - part]) * axes
        y = foot + beyond[:, None] * outward
        got = sets.support(shapes.superellipse(*axes, 1)).project(np.column_stack([np.ones(50), y]))
        assert np.max(np.abs(got[:, 1:] - foot)) <= 32 * EPS * size


# ---- the contact patch ---------------------------------------------------------------------------


def test_a_patch_is_what_its_points_can_do():
    """The variational inequality, with impulses of the points drawn at random."""
    rng = np.random.default_rng(8)
    place, weight = rng.normal(size=(6, 2)) * 0.1, rng.uniform(0.05, 0.2, 6)
    one = sets.support(shapes.patch(place, weight))
    z = np.column_stack([np.ones(300), rng.normal(size=(300, 3)) * [1, 1, 0.1]])
    x = one.project(z)
    f = rng.normal(size=(500, 6, 2))
    f *= weight[:, None] / np.linalg.norm(f, axis=2, keepdims=True)
    moment = place[:, 0] * f[..., 1] - place[:, 1] * f[..., 0]
    members = np.concatenate([f.sum(axis=1), moment.sum(axis=1)[:, None]], axis=1)
    # The members that reach farthest: all points against one motion.
    v = (z - x)[:, 1:]
    motion = np.stack(
        [v[:, :1] - v[:, 2:] * place[:, 1], v[:, 1:2] + v[:, 2:] * place[:, 0]], axis=2
    )
    reach = np.sum(weight * np.linalg.norm(motion, axis=2), axis=1)
    np.testing.assert_allclose(np.sum(v * x[:, 1:], axis=1), reach, atol=1e-12)
    assert np.all(members @ v.T <= reach + 1e-12)


def test_a_patch_of_one_point_is_a_flat_disc():
    z = points(2000, 4)
    got = sets.support(shapes.patch([[0.0, 0.0]], [0.6])).project(z)
    wanted = sets.contensou(0.6, 0.0).project(z)
    size = np.maximum(np.abs(z).max(axis=1, keepdims=True), 1e-300)
    assert np.max(np.abs(got - wanted) / size) <= 1e-8


def test_a_fine_patch_is_contensous_disc():
    """Uniform pressure on a disc: without sliding the moment is 2/3 mu a, without spin mu."""
    ring = (np.arange(40) + 0.5) / 40
    turns = 2 * np.pi * np.arange(48) / 48
    place = 0.1 * np.array([[r * np.cos(t), r * np.sin(t)] for r in ring for t in turns])
    weight = 0.5 * np.repeat(ring, 48) / np.sum(np.repeat(ring, 48))
    one = sets.support(shapes.patch(place, weight))
    np.testing.assert_allclose(one.project([1, 0, 0, 9.0])[3], 0.5 * 2 / 3 * 0.1, rtol=1e-3)
    np.testing.assert_allclose(one.project([1, 9.0, 0, 0])[1:], [0.5, 0, 0], atol=1e-3)
    # Between these the ellipsoid is not far from it.
    for z in ([1, 1.0, 0, 0.1], [1, 0.5, 0, 0.5], [1, 0.3, 0.3, 0.2]):
        x = one.project(z)
        gauge = np.hypot(np.linalg.norm(x[1:3]) / 0.5, x[3] / (0.5 * 2 / 3 * 0.1))
        assert 0.85 < gauge < 1.15


# ---- in problems ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class RoundedPolygon:
    """A polygon grown by a disc, times mu times a normal impulse."""

    mu: float
    corners: np.ndarray
    radius: float

    def coupled(self) -> list[list[int]]:
        return [[0], [1, 2]]

    def prox(self, z: np.ndarray, old_normal: float | None = None) -> np.ndarray:
        scale = self.mu * bound_of(z, old_normal)
        flat = nearest_in_polygon(scale * self.corners, z[1:])[None]
        nearest = rounded(flat, scale * self.radius, z[None, 1:])[0]
        return np.concatenate([[max(0.0, z[0])], nearest])

    def reaches(self, v: np.ndarray) -> list[tuple[list[int], float]]:
        far = float(np.max(self.corners @ -v[1:])) + self.radius * float(np.linalg.norm(v[1:]))
        return [([1, 2], self.mu * far)]


def rounded_problem(key: str, shape) -> tuple[cs.Problem, ReferenceProblem]:
    arrays = random_problem(generator(key), 7, 4, 3, 6, "disc")
    one = sets.support(shape, arrays.mu)
    problem = cs.Problem(arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=one)
    reference = ReferenceProblem.from_arrays(arrays)
    own = [RoundedPolygon(float(mu), 0.6 * FIVE, 0.2) for mu in arrays.mu]
    return problem, replace(reference, sets=own)


def by_hand(direction: np.ndarray) -> np.ndarray:
    corners = 0.6 * FIVE
    return corners[np.argmax(corners @ direction)] + 0.2 * direction


FORMS = {
    "shape": lambda: shapes.points(0.6 * FIVE) + shapes.disc(0.2),
    "function": lambda: by_hand,
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("form", list(FORMS))
def test_sweeps_against_the_reference(form, solver, scheme, dtype):
    problem, reference = rounded_problem(f"{solver} {scheme}", FORMS[form]())
    for bound in ("current", "previous"):
        assert_impulses_agree(
            problem, reference, solver=solver, scheme=scheme, dtype=dtype, bound=bound
        )


@pytest.mark.parametrize("form", list(FORMS))
def test_measures_and_block_solves(form, monkeypatch):
    monkeypatch.setattr("reference_numpy.SHAPED", RoundedPolygon)
    monkeypatch.setattr("reference_numpy.CONTACTS", RoundedPolygon)
    problem, reference = rounded_problem("measures", FORMS[form]())
    names = ("infeasibility", "penetration", "complementarity", "dissipation_gap")
    result = cs.solve(problem, max_iterations=2, record=names, **EXACTLY)
    lam = result.impulses.ravel()
    wanted = (infeasibility(reference, lam), *contact_measures(reference, lam))
    for name, value in zip(names, wanted, strict=True):
        assert abs(result.history[name][-1] - value) <= TOLERANCE["float64"], name
    solved = cs.solve(problem, local="block", rtol=1e-11, max_iterations=5000)
    assert solved.converged
    assert set(solved.active) <= {"open", "stick", "slide"}
    other = cs.solve(problem, rtol=1e-11, max_iterations=5000)
    assert_close(problem.delassus() @ (solved.impulses - other.impulses).ravel(),
                 np.zeros(solved.impulses.size), 1e-8, "xi", 1.0)  # fmt: skip


@pytest.mark.parametrize("threads", (1, 2))
def test_functions_run_on_the_solving_thread(threads):
    seen = set()

    def function(direction):
        seen.add(threading.get_ident())
        return 0.5 * direction

    arrays = random_problem(generator("threads"), 40, 30, 3, 6, "disc")
    J, Minv, b, bodies = arrays.J, arrays.Minv, arrays.b, arrays.bodies
    own = cs.Problem(J, Minv, b, bodies=bodies, sets=sets.support(function))
    options = {"order": "colored", "method": "jacobi", "max_iterations": 5, "threads": threads}
    options["exact_threads"] = True
    result = cs.solve(own, **options, **{**EXACTLY, "rollback": 0})
    wanted = cs.solve(cs.Problem(J, Minv, b, 0.5, bodies=bodies), **options, **EXACTLY)
    assert result.info["threads"] == 1
    assert seen == {threading.get_ident()}
    np.testing.assert_allclose(result.impulses, wanted.impulses, atol=1e-12)


def test_friction_of_one_call_scales_the_shape():
    problem, _ = rounded_problem("scale", FORMS["shape"]())
    np.testing.assert_array_equal(problem.mu, problem.sets.mu(7))
    options = {"max_iterations": 3, **EXACTLY}
    by_call = cs.Solver(problem, **options).solve(mu=0.25)
    problem.update(mu=0.25)
    np.testing.assert_array_equal(by_call.impulses, cs.solve(problem, **options).impulses)


def test_dimensions_may_be_each_contacts_own():
    z = points(50, 3)
    z[:, 0] = 1.0
    a, b, angle = np.random.default_rng(1).uniform(0.1, 1.0, (3, 50))
    got = sets.support(shapes.ellipse(a, b).turned(angle)).project(z)
    wanted = sets.ellipse(a, b, angle).project(z)
    np.testing.assert_allclose(got, wanted, atol=16 * EPS * np.abs(z).max())
    moved = shapes.points(np.tile(FIVE, (50, 1, 1))).shifted(np.full((50, 2), 0.1))
    wanted = sets.polygon(1.0, vertices=FIVE + 0.1).project(z)
    np.testing.assert_allclose(
        sets.support(moved).project(z), wanted, atol=16 * EPS * np.abs(z).max()
    )


# ---- functions of the caller's -------------------------------------------------------------------


def problem_of(function, contacts: int = 4) -> cs.Problem:
    b = np.tile([-1.0, 2.0, 0.5], (contacts, 1))
    return cs.Problem.from_delassus(np.eye(3 * contacts), b, sets=sets.support(function))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("method", SOLVERS)
def test_what_a_function_raises_comes_out(method, dtype):
    calls = []

    def function(direction):
        calls.append(direction)
        if len(calls) == 7:
            raise ZeroDivisionError("the seventh call")
        return 0.5 * direction

    solver = cs.Solver(problem_of(function), method=method, dtype=dtype)
    with pytest.raises(ZeroDivisionError, match="the seventh call"):
        solver.solve()
    assert len(calls) == 7  # nobody asks again after a failure
    assert solver.solve().converged


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    (
        ([np.nan, 0.0], ValueError, r"contact 2 returned \[nan, 0.0\]: every coordinate must be"),
        ([1.0, 0.0, 0.0], ValueError, "contact 2 returned an array of 3 numbers in 1 dim"),
        ([[1.0, 0.0]], ValueError, "contact 2 returned an array of 2 numbers in 2 dimensions"),
        (1.0, ValueError, "contact 2 returned an array of 1 numbers in 0 dimensions"),
        (None, TypeError, "contact 2 returned None: 2 numbers are needed"),
        ("north", TypeError, "contact 2 returned 'north': 2 numbers are needed"),
        ([1.0, 1j], TypeError, "contact 2 returned .*: 2 numbers are needed"),
        ("opposite", ValueError, "contact 2 returned .*, which excludes the origin"),
    ),
)  # fmt: skip
def test_bad_points_are_named(answer, kind, words):
    """Contact 2 is the only one that slides, so that the function is called for it alone."""

    def function(direction):
        return -direction if answer == "opposite" else answer

    b = np.tile([1.0, 0.0, 0.0], (4, 1))
    b[2] = [-1.0, 2.0, 0.5]
    problem = cs.Problem.from_delassus(np.eye(12), b, sets=sets.support(function))
    with pytest.raises(kind, match=words):
        cs.solve(problem)
    with pytest.raises(kind, match="contact 0 returned"):
        sets.support(function).project([1.0, 2.0, 0.5])


def test_a_function_that_fails_when_judged():
    """active and check ask the function again, without a solve around them."""
    working = [True]

    def function(direction):
        if not working[0]:
            raise OSError("gone")
        return 0.5 * direction

    result = cs.solve(problem_of(function))
    assert result.active.tolist() == ["slide"] * 4
    working[0] = False
    for ask in (lambda: result.active, result.check):
        with pytest.raises(OSError, match="gone"):
            ask()


def test_functions_see_unit_directions_that_they_cannot_change():
    def function(direction):
        assert direction.shape == (2,)
        assert abs(np.linalg.norm(direction) - 1.0) < 1e-6
        assert not direction.flags.writeable
        tiny = np.float64(5e-324)
        assert tiny * 1.0 > 0.0, "denormals are flushed"
        return 0.5 * direction

    assert cs.solve(problem_of(function)).converged


def test_a_problem_keeps_its_function():
    def make():
        def function(direction):
            return 0.5 * direction

        return cs.Solver(problem_of(function)), weakref.ref(function)

    solver, alive = make()
    gc.collect()
    assert alive() is not None
    assert solver.solve().converged
    del solver
    gc.collect()
    assert alive() is None


def test_handles_are_given_back():
    """Many more functions than places, one after another; a clear error for too many at once."""
    for _ in range(5000):
        sets.support(by_hand)
    kept = []
    with pytest.raises(RuntimeError, match="4096 support functions are in use"):
        kept.extend(sets.support(by_hand) for _ in range(4097))
    kept.clear()
    assert sets.support(by_hand).project([1.0, 9.0, 0.0])[1] > 0


def test_sets_with_functions_are_not_pickled():
    problem = problem_of(by_hand)
    for one in (problem, problem.sets, cs.solve(problem)):
        with pytest.raises(TypeError, match="cannot be pickled: its function belongs to this"):
            pickle.dumps(one)
        with pytest.raises(TypeError, match="cannot be pickled"):
            copy.deepcopy(one)
    shaped, _ = rounded_problem("pickle", FORMS["shape"]())
    again = pickle.loads(pickle.dumps(shaped))
    options = {"max_iterations": 3, **EXACTLY}
    np.testing.assert_array_equal(
        cs.solve(again, **options).impulses, cs.solve(shaped, **options).impulses
    )


def test_solves_in_threads_keep_their_failures_apart():
    """Two solves of one function at once: what one raises is not the other's."""
    wrong = threading.local()

    def function(direction):
        if getattr(wrong, "now", False):
            raise LookupError(threading.current_thread().name)
        return 0.5 * direction

    problem, found = problem_of(function, 50), {}

    def work(number):
        wrong.now = number % 2 == 1
        solver = cs.Solver(problem, max_iterations=200, **EXACTLY)
        try:
            found[number] = solver.solve().status
        except LookupError as error:
            found[number] = str(error)

    workers = [threading.Thread(target=work, args=(i,), name=f"worker {i}") for i in range(4)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    assert found == {0: "max_iterations", 1: "worker 1", 2: "max_iterations", 3: "worker 3"}


# ---- what is refused -----------------------------------------------------------------------------


def built(shape, rows: int = 3) -> None:
    cs.Problem.from_delassus(
        np.eye(4 * rows), np.zeros((4, rows)), rows=rows, sets=sets.support(shape)
    )


@pytest.mark.parametrize(
    ("shape", "rows", "words"),
    (
        (lambda: shapes.disc([1, 1, -1, 1]), 3, "shape of contact 2 has a semi-axis .* -1"),
        (lambda: shapes.ellipse(np.nan, 1), 3, "shape of contact 0 has a semi-axis .* nan"),
        (lambda: shapes.ellipsoid(1, 1, 1), 3, "contact 0 has a wrong number of semi-axes .* 3"),
        (lambda: shapes.disc(), 4, "contact 0 has a wrong number of semi-axes .* 2"),
        (lambda: shapes.superellipse(1, 1, [2, 0.5, 2, 2]), 3, "contact 1 has an exponent .* 0.5"),
        (lambda: shapes.points([[1, 1], [np.inf, 0]]), 3, "a coordinate that is out of range, inf"),
        (lambda: shapes.points(FIVE + 3), 3, "contact 0 does not contain the origin, .* away"),
        (lambda: shapes.disc().shifted([3, 0]), 3, "contact 0 does not contain the origin"),
        (lambda: shapes.disc().shifted([np.nan, 0]), 3, "an offset that is out of range, nan"),
        (lambda: shapes.patch([[0, 0]], [-1.0]), 4, "a weight that is out of range, -1"),
        (lambda: shapes.patch([[0, 0]], [1.0]), 3, "a patch, which needs a spin row"),
        (lambda: shapes.disc(np.ones(3)), 3, r"shape has shape \(3, 4\): .* \(4, 4\)"),
        (lambda: shapes.disc(np.ones(3)).turned(np.ones(2)), 3, r"different .* \(2,\), \(3,\)"),
    ),
)
def test_bad_shapes_are_named(shape, rows, words):
    with pytest.raises(ValueError, match=words):
        built(shape(), rows)


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    (
        (lambda: sets.support(3.0), TypeError, "shape is 3.0: a Shape"),
        (lambda: sets.support(by_hand, mu="x"), TypeError, "mu has dtype"),
        (lambda: shapes.disc(np.ones((2, 2))), ValueError, r"a has shape \(2, 2\)"),
        (lambda: shapes.points([1.0, 2.0]), ValueError, r"points has shape \(2,\)"),
        (lambda: shapes.patch([[0, 0, 0]], [1]), ValueError, r"positions has shape \(1, 3\)"),
        (lambda: shapes.patch([[0, 0]], [1, 2]), ValueError, r"weights has shape \(2,\)"),
        (lambda: shapes.disc().shifted([1, 2, 3]), ValueError, r"offset has shape \(3,\)"),
        (lambda: shapes.disc().turned(np.inf), ValueError, "angle is inf"),
        (lambda: shapes.hull(shapes.disc(), 3), TypeError, r"hull: shapes\[1\] is 3"),
        (lambda: shapes.hull(), ValueError, "hull of 0 shapes"),
        (lambda: shapes.disc() + shapes.ellipsoid(1, 1, 1), ValueError, "same dimensions"),
    ),
)
def test_wrong_arguments_are_named(make, kind, words):
    with pytest.raises(kind, match=words):
        make()


def test_shapes_within_shapes_have_an_end():
    shape = shapes.disc(0.1)
    for _ in range(20):
        shape = shape.turned(0.1)
    with pytest.raises(ValueError, match="contact 0 has shapes within shapes deeper than 16"):
        sets.support(shape).project([1.0, 0.0, 0.0])


def test_handles_cannot_be_made_up():
    parameters = [cs.sets.Parameter(name, np.array(v)) for name, v in
                  (("mu", 1.0), ("function", 77.0), ("contact", 0.0))]  # fmt: skip
    with pytest.raises(ValueError, match="contact 0 has no support function of the handle 77"):
        cs.sets.Set("support_function", tuple(parameters)).project([1.0, 0.0, 0.0])
