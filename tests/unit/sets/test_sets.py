"""The friction sets: each prox against references of other algorithms, and what a prox is."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import contactsolve as cs
from reference_sets import Tresca
from repository import REFERENCE

CASES = json.loads((REFERENCE / "sets.json").read_text(encoding="utf-8"))
DTYPES = ("float64", "float32")


def made_set(name: str, case: dict) -> cs.sets.Set:
    options = {key: case[key] for key in case if key not in ("z", "nearest", "narrow")}
    return getattr(cs.sets, name)(**options)


def size_of(name: str, case: dict) -> float:
    """What rounding is measured by: the set at this normal impulse, see csrc/prox/nearest.h.

    A turned ellipse rounds its point as well, and a polygon and a cone take part of it.
    """
    z = case["z"]
    normal, length = max(z[0], 0.0), max(abs(v) for v in z)
    if name == "ellipse":
        own = max(case["mu1"], case["mu2"]) * normal
        return own if case["angle"] == 0.0 else own + length
    if name == "contensou_coupled":
        return case["mu"] * normal * max(1.0, case["radius"])
    return length


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", list(CASES))
def test_nearest_points_in_sixty_digits(name, dtype):
    """To a few rounding units: extreme ratios, flat and vanishing sets, far and near points."""
    unit, count = np.finfo(dtype).eps, 0
    for case in CASES[name]:
        if dtype == "float32" and not case["narrow"]:
            continue
        got = made_set(name, case).project(case["z"], dtype=dtype)
        wanted = np.array(case["nearest"])
        # In float32 all is computed in double precision, and rounded once.
        room = 8 * np.finfo(float).eps * size_of(name, case)
        if dtype == "float32":
            room = room + unit * np.abs(wanted) + np.finfo(np.float32).tiny
        assert np.all(np.abs(got - wanted) <= room), (case, got - wanted)
        count += 1
    assert count >= 60


# ---- thousands of points, by bisection in extended precision -------------------------------------


def by_bisection(axes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Nearest points of ellipses with positive semi-axes (K, 2), in np.longdouble."""
    a, p = axes.astype(np.longdouble), np.abs(y).astype(np.longdouble)
    low = np.zeros(len(a), np.longdouble)
    high = np.sum(a * p, axis=1) + np.sum(a * a, axis=1)
    for _ in range(400):
        middle = np.where(low > 0, np.sqrt(low * high), high * np.longdouble(1e-6))
        middle = np.where(high < 2 * low, (low + high) / 2, middle)
        outside = np.sum((a * p / (middle[:, None] + a * a)) ** 2, axis=1) > 1
        low, high = np.where(outside, middle, low), np.where(outside, high, middle)
    inside = np.sum((p / a) ** 2, axis=1) <= 1
    nearest = np.where(inside[:, None], p, a * a * p / (high[:, None] + a * a))
    return np.copysign(nearest, y)


@pytest.mark.parametrize("dtype", DTYPES)
def test_five_thousand_ellipses(dtype):
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("needs an extended precision")
    rng = np.random.default_rng(4)
    count = 5000
    mu = 10.0 ** rng.uniform(-5, 3, (count, 2))
    mu[::3, 1] = mu[::3, 0] * (1 + rng.uniform(-1e-7, 1e-7, len(mu[::3])))
    z = np.empty((count, 3))
    z[:, 0] = 10.0 ** rng.uniform(-12, 12, count)
    turns = rng.uniform(0, 2 * np.pi, count)
    edge = mu * z[:, :1] * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    z[:, 1:] = edge * (
        1 + 10.0 ** rng.uniform(-15, 6, (count, 1)) * rng.choice([1, 1, -0.5], (count, 1))
    )
    mu, z = mu.astype(dtype).astype(float), z.astype(dtype).astype(float)
    got = cs.sets.ellipse(*mu.T).project(z, dtype=dtype)
    wanted = by_bisection(mu * z[:, :1], z[:, 1:])
    room = 8 * np.finfo(float).eps * np.max(mu * z[:, :1], axis=1, keepdims=True)
    if dtype == "float32":
        room = room + np.finfo(dtype).eps * np.abs(wanted)
    assert np.max(np.abs(got[:, 1:] - wanted) / room) <= 1


# ---- what a nearest point is ---------------------------------------------------------------------


def boundary(name: str, options: dict, normal: float, rng: np.random.Generator) -> np.ndarray:
    """Points of the set at this normal impulse, without the normal row: boundary and inside."""
    count = 60
    u = rng.normal(size=(count, 3))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    circle = u[:, :2] / np.linalg.norm(u[:, :2], axis=1, keepdims=True)
    if name == "ellipse":
        own = circle * [options["mu1"], options["mu2"]]
        c, s = np.cos(options["angle"]), np.sin(options["angle"])
        points = own @ np.array([[c, s], [-s, c]])
    elif name == "polygon":
        weights = rng.dirichlet(np.full(options["sides"], 0.2), count)
        turns = options["angle"] + 2 * np.pi * np.arange(options["sides"]) / options["sides"]
        points = options["mu"] * weights @ np.stack([np.cos(turns), np.sin(turns)], axis=1)
    elif name == "contensou":
        spin = rng.uniform(-1, 1, (count, 1)) * 2 / 3 * options["radius"]
        points = options["mu"] * np.hstack([circle, spin])
    else:
        points = options["mu"] * u * [1, 1, 2 / 3 * options["radius"]]
    return normal * np.vstack([points, points * rng.uniform(0, 1, (count, 1)), 0 * points[:1]])


numbers = st.floats(-10, 10)
coefficients = st.one_of(st.floats(0, 2), st.sampled_from([0.0, 1e-8, 1e3]))
SETS = {
    "ellipse": st.fixed_dictionaries(
        {"mu1": coefficients, "mu2": coefficients, "angle": st.floats(-4, 4)}
    ),
    "polygon": st.fixed_dictionaries(
        {"mu": coefficients, "sides": st.integers(3, 12), "angle": st.floats(-4, 4)}
    ),
    "contensou": st.fixed_dictionaries({"mu": coefficients, "radius": coefficients}),
    "contensou_coupled": st.fixed_dictionaries({"mu": coefficients, "radius": coefficients}),
}
ROWS = {"ellipse": 3, "polygon": 3, "contensou": 4, "contensou_coupled": 4}


@pytest.mark.parametrize("name", list(SETS))
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_variational_inequality(name, data):
    """(z - x) . (y - x) <= 0 for all y of the set: S1 eq. 2.49. And a prox is no expansion."""
    options, rows = data.draw(SETS[name]), ROWS[name]
    one = getattr(cs.sets, name)(**options)
    z, other = np.array(data.draw(st.lists(numbers, min_size=2 * rows, max_size=2 * rows))).reshape(
        2, rows
    )
    other[0] = z[0]
    x, beside = one.project(z), one.project(other)
    assert x[0] == max(z[0], 0.0)
    points = boundary(name, options, x[0], np.random.default_rng(0))
    reach = np.max(np.abs(points)) + np.max(np.abs(z)) + 1e-300
    assert np.max((points - x[1:]) @ (z - x)[1:]) <= 64 * np.finfo(float).eps * reach**2
    expansion = np.linalg.norm(x - beside) - np.linalg.norm(z - other)
    assert expansion <= 64 * np.finfo(float).eps * reach
    np.testing.assert_allclose(one.project(x), x, rtol=0, atol=8 * np.finfo(float).eps * reach)


@settings(max_examples=100, deadline=None)
@given(st.lists(numbers, min_size=5, max_size=5), coefficients, coefficients)
def test_tresca_is_balls_beside_a_half_line(z, radius, moment):
    """For blocks of each size, in both precisions, whatever the normal impulse."""
    for rows in (2, 3, 4, 5):
        bounds = (radius, moment)[: 1 + (rows > 3)]
        want = Tresca(rows, *bounds).prox(np.array(z[:rows]))
        for dtype, unit in (("float64", 2.3e-16), ("float32", 1.2e-7)):
            got = cs.sets.tresca(*bounds).project(z[:rows], dtype=dtype, previous=7.0)
            np.testing.assert_allclose(got, want, rtol=0, atol=8 * unit * 10)


@settings(max_examples=150, deadline=None)
@given(st.lists(numbers, min_size=3, max_size=3), coefficients)
def test_the_cone_is_a_projection_of_all_rows(z, mu):
    """x in K, z - x in the polar cone, and orthogonal to it: Moreau's decomposition."""
    z = np.array(z)
    x = cs.sets.second_order_cone(mu).project(z)
    size = 16 * np.finfo(float).eps * np.max(np.abs(z)) * max(1, mu)
    size += 16 * np.finfo(float).smallest_subnormal  # where eps itself underflows
    rest = z - x
    assert np.hypot(*x[1:]) <= mu * x[0] + size  # squares of the smallest numbers underflow
    assert mu * np.hypot(*rest[1:]) <= -rest[0] + size
    assert abs(rest @ x) <= size * np.max(np.abs(z))


def points(count: int, rows: int = 3, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(count, rows)) * 10.0 ** rng.uniform(-2, 2, (count, 1))
    z[:, 0] = np.abs(rng.normal(size=count)) * rng.choice([0, 1, 1, 1], count)
    return z


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("normal", [0.0, -1.0])
def test_an_open_contact_has_zeros_with_the_signs_of_its_point(normal, dtype):
    """Whatever the size of the point: the discs have a radius of zero."""
    sizes = [0.0, -0.0, 1.0, -3.0, 1e-30, -1e-30]
    sizes += [1e-300, -1e-200, 1e150, -1e300] if dtype == "float64" else []
    tangential = np.stack(np.meshgrid(sizes, sizes), axis=-1).reshape(-1, 2)
    z = np.insert(tangential, 0, normal, axis=1)
    for mu in (0.0, 0.6):
        got = cs.sets.disc(mu).project(z, dtype=dtype)
        assert not got.any()
        assert np.array_equal(np.signbit(got[:, 1:]), np.signbit(tangential))


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_ellipse_of_equal_axes_is_a_disc(dtype):
    z, unit = points(2000), np.finfo(dtype).eps
    wanted = cs.sets.disc(0.6).project(z, dtype=dtype)
    for angle in (0.0, 0.7):
        got = cs.sets.ellipse(0.6, 0.6, angle).project(z, dtype=dtype)
        scale = np.abs(z).max(axis=1, keepdims=True)
        assert np.all(np.abs(got - wanted) <= 8 * unit * scale)


def test_polygons_approach_the_disc_from_both_sides():
    z = points(500)
    wanted = cs.sets.disc(0.6).project(z)
    for sides in (8, 64, 4096):
        for inscribed in (True, False):
            got = cs.sets.polygon(0.6, sides=sides, angle=0.1, inscribed=inscribed).project(z)
            # The nearest points of two sets that differ by h are sqrt(h) apart at most.
            gap = 0.6 * z[:, :1] * np.pi / sides * 2
            assert np.all(np.abs(got - wanted) <= gap + 1e-15 * np.abs(z).max(axis=1)[:, None])
            length = np.linalg.norm(got[:, 1:], axis=1)
            radius = 0.6 * z[:, 0] * (1 + 1e-14)
            limit = radius if inscribed else radius / np.cos(np.pi / sides)
            assert np.all(length <= limit + 1e-15)


def test_a_square_is_box_friction():
    z = points(1000)
    wanted = cs.sets.box_friction(0.6).project(z)
    room = 4e-16 * np.abs(z).max(axis=1, keepdims=True)
    square = cs.sets.polygon(0.6, sides=4, angle=np.pi / 4, inscribed=False)
    assert np.all(np.abs(square.project(z) - wanted) <= room)
    clockwise = cs.sets.polygon(0.6, vertices=[[1, 1], [1, -1], [-1, -1], [-1, 1]])
    assert np.all(np.abs(clockwise.project(z) - wanted) <= room)


def test_contensou_without_spin_is_a_disc_and_without_radius_too():
    z = points(1000, rows=4)
    z[:500, 3] = 0.0
    disc = cs.sets.disc(0.6).project(z[:, :3])
    scale = 1e-15 * np.abs(z).max(axis=1, keepdims=True)
    for name in ("contensou", "contensou_coupled"):
        got = getattr(cs.sets, name)(0.6, 0.05).project(z[:500])
        assert np.all(np.abs(got[:, :3] - disc[:500]) <= scale[:500])
        np.testing.assert_array_equal(got[:, 3], 0.0)
        got = getattr(cs.sets, name)(0.6, 0.0).project(z)
        assert np.all(np.abs(got[:, :3] - disc) <= scale)
        np.testing.assert_array_equal(got[:, 3], 0.0)


def test_previous_normal_impulses_bound_friction():
    z = points(200, rows=4)
    before = np.linspace(-0.5, 2, 200)
    for name, options, rows in (
        ("ellipse", {"mu1": 0.6, "mu2": 0.2, "angle": 0.4}, 3),
        ("polygon", {"mu": 0.5}, 3),
        ("contensou", {"mu": 0.5, "radius": 0.2}, 4),
        ("contensou_coupled", {"mu": 0.5, "radius": 0.2}, 4),
    ):
        one, part = getattr(cs.sets, name)(**options), z[:, :rows]
        bounded = part.copy()
        bounded[:, 0] = before
        got, wanted = one.project(part, previous=before), one.project(bounded)
        np.testing.assert_array_equal(got[:, 0], np.maximum(part[:, 0], 0.0))
        np.testing.assert_array_equal(got[:, 1:], wanted[:, 1:])


def test_extremes_neither_overflow_nor_vanish():
    for big in (1e-300, 1e-200, 1e200, 1e300):
        z = np.array([1.0, 3.0, -4.0]) * big
        for one in (
            cs.sets.ellipse(0.5, 0.5),
            cs.sets.polygon(0.5, sides=4096),
            cs.sets.contensou_coupled(0.5, 1.0),
        ):
            rows = 4 if one.name.startswith("contensou") else 3
            padded = np.append(z, 0.0)[:rows]
            wanted = np.append(np.array([1.0, 0.3, -0.4]), 0.0)[:rows] * big
            np.testing.assert_allclose(one.project(padded), wanted, rtol=1e-3)
        cone = cs.sets.second_order_cone(0.5).project(z)
        np.testing.assert_allclose(cone / big, [2.8, 0.84, -1.12], rtol=1e-14)
    huge = cs.sets.ellipse(1e6, 1.0).project([1.5e308, 1.2e308, 1.7e308])
    np.testing.assert_allclose(huge[1:], [1.2e308, 1.5e308], rtol=1e-5)
    far = cs.sets.ellipse(0.5, 0.1).project([1e-200, 3e200, 0.0])
    np.testing.assert_allclose(far, [1e-200, 0.5e-200, 0.0], rtol=1e-15)


# ---- parameters ----------------------------------------------------------------------------------

SQUARE = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]


FIVE = [[1.0, 0.0], [0.9, 0.9], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]


def spoilt(place, value):
    """Five corners for four contacts, one or two numbers of contact 2 replaced."""
    vertices = np.tile(FIVE, (4, 1, 1))
    vertices[(2, *place)] = value
    return cs.sets.polygon(vertices=vertices)


@pytest.mark.parametrize(
    ("make", "rows", "words"),
    (
        (lambda: cs.sets.ellipse([0.1, 0.2, 0.3, -1], 0.2), 3, r"mu1\[3\] is -1: a friction"),
        (lambda: cs.sets.ellipse(0.1, [0.1, np.nan, 0, 0]), 3, r"mu2\[1\] is nan"),
        (lambda: cs.sets.ellipse(0.1, 2e6), 3, r"mu2\[0\] is 2e\+06: .* at most 1e\+06"),
        (lambda: cs.sets.ellipse(0.1, 0.1, [0, 0, np.inf, 0]), 3, r"angle\[2\] is inf"),
        (lambda: cs.sets.ellipse(0.1, 0.1), 4, "'ellipse' does not take blocks of 4 rows"),
        (lambda: cs.sets.polygon(-0.5), 3, r"mu\[0\] is -0.5"),
        (lambda: spoilt((1, 0), np.nan), 3, r"vertices\[1, 0\] of contact 2 is nan"),
        (lambda: spoilt((1,), [1, 0]), 3, r"vertices\[0\] of contact 2 .* is repeated"),
        (lambda: spoilt((1,), [0.45, 0.45]), 3, r"vertices\[1\] of contact 2 .* turns inwards"),
        (lambda: cs.sets.polygon(vertices=np.array(FIVE) + 2), 3, r"of contact 0 .* outside"),
        (lambda: cs.sets.polygon(vertices=[[-1, 0], [0, 0], [1, 0]]), 3, "0 enclose no area"),
        (lambda: cs.sets.polygon(0.5), 2, "'polygon' does not take blocks of 2 rows"),
        (lambda: cs.sets.contensou(0.5, [0, 0, -1, 0]), 4, r"radius\[2\] is -1: the radius of"),
        (lambda: cs.sets.contensou(0.5, np.inf), 4, r"radius\[0\] is inf"),
        (lambda: cs.sets.contensou_coupled(np.nan, 0.1), 4, r"mu\[0\] is nan"),
        (lambda: cs.sets.contensou_coupled(0.5, 0.1), 3, "blocks of 3 rows: it takes 4"),
        (lambda: cs.sets.second_order_cone([1, 1, 1, -1]), 3, r"mu\[3\] is -1"),
        (lambda: cs.sets.second_order_cone(0.5), 4, "it takes 2 or 3"),
        (lambda: cs.sets.tresca([1, 1, np.inf, 1]), 3, r"radius\[2\] is inf: a bound of friction"),
        (lambda: cs.sets.tresca(1, [1, -1, 1, 1]), 5, r"moment\[1\] is -1: a bound of friction"),
        (lambda: cs.sets.tresca(1), 4, r"blocks of 4 rows take sets.tresca with radius and moment"),
        (lambda: cs.sets.tresca(1, 1), 3, r"blocks of 3 rows take sets.tresca with radius alone"),
        (lambda: cs.sets.tresca(1, 1), 6, "'tresca' does not take blocks of 6 rows"),
    ),
)
def test_bad_parameters_are_named(make, rows, words):
    with pytest.raises(ValueError, match=words):
        cs.Problem.from_delassus(np.eye(4 * rows), np.zeros((4, rows)), rows=rows, sets=make())


@pytest.mark.parametrize(
    ("options", "words"),
    (
        ({"sides": 2}, "sides is 2: an integer of 3 or more"),
        ({"sides": 4.0}, "sides is 4.0"),
        ({"angle": np.nan}, "angle is nan"),
        ({"vertices": SQUARE, "sides": 4}, "vertices is given: leave out sides"),
        ({"vertices": SQUARE, "inscribed": False}, "vertices is given"),
        ({"vertices": [[0.0, 1.0], [1.0, 0.0]]}, r"vertices has shape \(2, 2\)"),
        ({"vertices": np.zeros((4, 3))}, r"vertices has shape \(4, 3\)"),
    ),
)
def test_bad_polygons_are_refused_at_once(options, words):
    with pytest.raises(ValueError, match=words):
        cs.sets.polygon(0.5, **options)


def test_a_star_is_no_convex_polygon():
    turns = 4 * np.pi * np.arange(5) / 5
    star = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    with pytest.raises(ValueError, match="contact 0 go round more than once"):
        cs.sets.polygon(vertices=star).project([1.0, 0.0, 0.0])


def test_vertices_of_another_number_of_contacts():
    with pytest.raises(ValueError, match=r"vertices has shape \(3, 4, 2\): .* shape \(4, 4, 2\)"):
        cs.Problem.from_delassus(
            np.eye(12), np.zeros((4, 3)), sets=cs.sets.polygon(vertices=np.tile(SQUARE, (3, 1, 1)))
        )


def test_project_checks_what_it_is_given():
    with pytest.raises(ValueError, match="takes no blocks of 2 rows"):
        cs.sets.ellipse(0.5, 0.5).project([1.0, 2.0])
    with pytest.raises(ValueError, match=r"impulses has shape \(\)"):
        cs.sets.disc(0.5).project(1.0)
    with pytest.raises(ValueError, match=r"previous has shape \(3,\)"):
        cs.sets.disc(0.5).project([1.0, 2.0, 3.0], previous=[1, 2, 3])
    with pytest.raises(ValueError, match="dtype is 'int32'"):
        cs.sets.disc(0.5).project([1.0, 2.0, 3.0], dtype="int32")
    z = np.array([[1.0, 3.0, 4.0]])
    cs.sets.disc(0.5).project(z)
    np.testing.assert_array_equal(z, [[1.0, 3.0, 4.0]])
    assert cs.sets.disc(0.5).project(np.zeros((0, 3))).shape == (0, 3)


def test_project_without_memory():
    live = cs._core.memory_live()
    cs._core.memory_fail_after(0)
    try:
        with pytest.raises(MemoryError, match="out of memory for projecting"):
            cs.sets.disc(0.5).project([1.0, 2.0, 3.0], dtype="float32")
    finally:
        cs._core.memory_fail_after(-1)
    assert cs._core.memory_live() == live


def test_sets_of_shapes_and_functions_print_what_they_are():
    disc = cs.sets.support(cs.shapes.disc(0.5), 0.25)
    assert repr(disc) == "sets.support(<shape of 4 numbers>, 0.25)"
    assert repr(cs.sets.support(lambda d: d, 0.5)) == "sets.support(<function>, 0.5)"
