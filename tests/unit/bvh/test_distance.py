"""Distances of vertices from faces and of edges, beside dense sampling and least squares."""

import numpy as np
import pytest

import contactsolve as cs
from touching import KINDS, SHAPES, touching

ROUNDING = 2e-15  # of the largest difference of coordinates


def distances(kind, x):
    found = cs.bvh.distance(kind, x)
    assert np.allclose(
        np.linalg.norm(found.separation, axis=-1), found.distance, rtol=1e-14, atol=0
    )
    return found


def check_weights(kind, x, found):
    """Weights are those of two convex combinations, and give the separation."""
    size = np.abs(x - x[:, :1]).max(axis=(1, 2))
    sides = ([0], [1, 2, 3]) if kind == "vertex_face" else ([0, 1], [2, 3])
    for rows, sign in zip(sides, (1, -1), strict=True):
        assert np.allclose(sign * found.weights[:, rows].sum(axis=1), 1, rtol=0, atol=4e-16)
        assert (sign * found.weights[:, rows] >= -4e-16).all()
    relative = x - x[:, :1]
    apart = np.einsum("ni,nij->nj", found.weights, relative) - found.separation
    assert (np.abs(apart).max(axis=1) <= ROUNDING * size).all()


def sampled(kind, x, number=41):
    """Return the least distance over a grid of points of both primitives, for each query."""
    s = np.linspace(0, 1, number)
    if kind == "edge_edge":
        a, b = (x[:, i, None] + s[:, None] * (x[:, i + 1] - x[:, i])[:, None] for i in (0, 2))
        return np.linalg.norm(a[:, :, None] - b[:, None], axis=-1).min(axis=(1, 2))
    p, q = np.meshgrid(s, s)
    inside = p + q <= 1
    weights = np.stack([1 - p - q, p, q], axis=-1)[inside]
    points = np.einsum("wi,nij->nwj", weights, x[:, 1:])
    return np.linalg.norm(points - x[:, :1], axis=-1).min(axis=1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_sampled_point_is_nearer(kind, shape):
    x, _, _ = touching(kind, shape, 500, np.random.default_rng(1))
    size = np.abs(x - x[:, :1]).max(axis=(1, 2), keepdims=True)
    x = x / np.where(size > 0, size, 1)
    found = distances(kind, x)
    check_weights(kind, x, found)
    near = sampled(kind, x)
    assert (found.distance <= near + 1e-13).all()
    # A grid of 40 × 40 points is not far from the nearest ones: within one cell's diagonal.
    assert (found.distance >= near - 2 * np.sqrt(3) * 2 / 40).all()


@pytest.mark.parametrize("kind", KINDS)
def test_optimal(kind):
    """The nearest points are so: no corner of the difference lies behind the plane through them."""
    x = np.random.default_rng(2).normal(size=(20_000, 4, 3))
    found = distances(kind, x)
    check_weights(kind, x, found)
    pairs = {
        "vertex_face": [(0, 1), (0, 2), (0, 3)],
        "edge_edge": [(0, 2), (1, 2), (1, 3), (0, 3)],
    }[kind]
    for i, j in pairs:
        support = np.einsum("nk,nk->n", found.separation, x[:, i] - x[:, j])
        assert (support >= found.distance**2 * (1 - 1e-12) - 1e-14).all()


@pytest.mark.parametrize("kind", KINDS)
def test_beside_scipy(kind):
    optimize = pytest.importorskip("scipy.optimize")
    for x in np.random.default_rng(3).normal(size=(25, 4, 3)):
        # Convex combinations as bounded least squares, with a heavy row for a sum of one.
        if kind == "vertex_face":
            heavy = 1e6
            A = np.vstack([x[1:].T, np.full(3, heavy)])
            answer = optimize.lsq_linear(A, [*x[0], heavy], (0, 1), tol=1e-15)
            wanted = np.linalg.norm(x[1:].T @ answer.x / answer.x.sum() - x[0])
        else:
            A = np.stack([x[1] - x[0], x[2] - x[3]], axis=1)
            answer = optimize.lsq_linear(A, x[2] - x[0], (0, 1), tol=1e-15)
            wanted = np.linalg.norm(A @ answer.x - (x[2] - x[0]))
        assert distances(kind, x[None]).distance[0] == pytest.approx(wanted, abs=1e-6)


KNOWN = {
    "above the face": ("vertex_face", [[1, 1, 2], [0, 0, 0], [4, 0, 0], [0, 4, 0]], 2),
    "beside an edge": ("vertex_face", [[1, -3, 4], [0, 0, 0], [4, 0, 0], [0, 4, 0]], 5),
    "beyond a corner": ("vertex_face", [[-2, -2, 1], [0, 0, 0], [4, 0, 0], [0, 4, 0]], 3),
    "beside a blunt corner": ("vertex_face", [[0, 5, 0], [-8, 0, 0], [8, 0, 0], [0, 1, 0]], 4),
    "a face without area": ("vertex_face", [[1, 2, 0], [0, 0, 0], [4, 0, 0], [2, 0, 0]], 2),
    "a face that is a point": ("vertex_face", [[2, 3, 6], [0, 0, 0], [0, 0, 0], [0, 0, 0]], 7),
    "on the face": ("vertex_face", [[1, 1, 0], [0, 0, 0], [4, 0, 0], [0, 4, 0]], 0),
    "crossing": ("edge_edge", [[-1, 0, 3], [1, 0, 3], [0, -1, 0], [0, 1, 0]], 3),
    "parallel": ("edge_edge", [[0, 0, 0], [4, 0, 0], [1, 2, 0], [9, 2, 0]], 2),
    "parallel, beyond": ("edge_edge", [[0, 0, 0], [4, 0, 0], [7, 4, 0], [9, 4, 0]], 5),
    "on one line": ("edge_edge", [[0, 0, 0], [4, 0, 0], [6, 0, 0], [9, 0, 0]], 2),
    "overlapping": ("edge_edge", [[0, 0, 0], [4, 0, 0], [2, 0, 0], [9, 0, 0]], 0),
    "a point and an edge": ("edge_edge", [[1, 3, 4], [1, 3, 4], [0, 0, 0], [2, 0, 0]], 5),
    "two points": ("edge_edge", [[2, 3, 6], [2, 3, 6], [0, 0, 0], [0, 0, 0]], 7),
    "all in one": ("edge_edge", np.ones((4, 3)), 0),
    "corner and side": ("edge_edge", [[0, 0, 0], [1, 0, 0], [3, -1, 0], [3, 1, 0]], 2),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_distances(name):
    kind, x, wanted = KNOWN[name]
    x = np.array([x], float)
    found = distances(kind, x)
    assert found.distance[0] == pytest.approx(wanted, rel=1e-15, abs=1e-15)
    check_weights(kind, x, found)
    for power in (-1060, -300, 300, 1018):
        assert np.ldexp(cs.bvh.distance(kind, np.ldexp(x, power)).distance[0], -power) == (
            pytest.approx(wanted, rel=1e-3 if power == -1060 else 1e-15)
        )


@pytest.mark.parametrize("angle", [1e-3, 1e-6, 1e-9, 1e-12, 1e-15, 1e-18])
def test_nearly_degenerate(angle):
    """Edges that are nearly parallel, and slivers: distances are right to rounding."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        gap, slope = rng.uniform(0.1, 1), rng.uniform(-1, 1, 2)
        lines = [[-1, -angle, gap], [1, angle, gap], [-1, angle * slope[0], 0], [1, angle, 0]]
        found = distances("edge_edge", np.array([lines]) @ turn)
        # They cross over a point, or their ends are within `angle` of doing so.
        assert abs(found.distance[0] - gap) <= angle**2 / gap + 4 * ROUNDING
        sliver = [[slope[0] / 2, 0, gap], [-1, -angle, 0], [1, -angle, 0], [0, angle, 0]]
        found = distances("vertex_face", np.array([sliver]) @ turn)
        assert abs(found.distance[0] - gap) <= 4 * ROUNDING


def test_far_from_the_origin():
    """Differences of coordinates are exact, or rounded once."""
    x = np.array([[[1.0, 1, 2], [0, 0, 0], [4, 0, 0], [0, 4, 0]]]) + 2.0**50
    assert distances("vertex_face", x).distance[0] == 2


def test_indices_and_threads():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(60, 3))
    four = rng.integers(0, 60, (30_000, 4))
    for kind in KINDS:
        plain = cs.bvh.distance(kind, x[four], threads=1)
        for threads in (1, 2, 4, None):
            found = cs.bvh.distance(kind, x, four, threads=threads)
            assert all(a.tobytes() == b.tobytes() for a, b in zip(plain, found, strict=True))


def test_wrong_input():
    good = np.zeros((2, 4, 3))
    bad = good.copy()
    bad[1, 0, 2] = -np.inf
    with pytest.raises(ValueError, match=r"x\[1, 0, 2\] is -inf"):
        cs.bvh.distance("edge_edge", bad)
    with pytest.raises(ValueError, match="unknown kind 'edge'"):
        cs.bvh.distance("edge", good)
    with pytest.raises(ValueError, match=r"x has shape \(2, 3, 4\)"):
        cs.bvh.distance("edge_edge", good.reshape(2, 3, 4))
    with pytest.raises(ValueError, match=r"indices\[0, 3\] is 4: 0 to 3 is needed"):
        cs.bvh.distance("edge_edge", good[0], [[0, 1, 2, 4]])
    with pytest.raises(ValueError, match="there are no vertices"):
        cs.bvh.distance("edge_edge", np.zeros((0, 3)), [[0, 0, 0, 0]])


@pytest.mark.parametrize("size", [1e-310, 3e-320, 5e-324, 1e-200])
@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_differences_below_the_normal_numbers_are_exact(size, offset):
    """Also far from the origin along another axis, where positions cannot be scaled with them."""
    x = size * np.array([[[0.0, 0, 0], [0, 3, 0], [0, 3, 4], [0, 5, 4]]])
    x[..., 0] = offset
    found = cs.bvh.distance("vertex_face", x)
    assert found.distance == pytest.approx(3 * size, rel=1e-12, abs=0)
    assert np.allclose(found.weights, [[1, -1, 0, 0]])
    assert np.array_equal(found.separation, [[0, -3 * size, 0]])
    after = x.copy()
    after[0, 0, 1] = 6 * size
    hit = cs.bvh.ccd("vertex_face", x, after)
    assert hit.hit[0]
    assert 0 <= hit.time[0] <= 0.5
