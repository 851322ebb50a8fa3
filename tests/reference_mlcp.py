"""Independent references for mixed LCPs: all index sets tried, and problems made to measure."""

import itertools

import numpy as np


def brute_force(A, b, lo, hi):
    """x of a mixed LCP with a positive definite A, by trying all 3^m index sets; m <= 7."""
    m = len(b)
    best, best_defect = None, np.inf
    for index_set in itertools.product((-1, 0, 1), repeat=m):
        states = np.array(index_set)
        if np.isinf(lo[states < 0]).any() or np.isinf(hi[states > 0]).any():
            continue
        free, x = states == 0, np.where(states < 0, lo, np.where(states > 0, hi, 0.0))
        x[free] = 0.0
        if free.any():
            right = -(b[free] + A[np.ix_(free, ~free)] @ x[~free])
            x[free] = np.linalg.solve(A[np.ix_(free, free)], right)
        defect = natural_residual(A, b, lo, hi, x)
        if defect < best_defect:
            best, best_defect = x, defect
    return best


def natural_residual(A, b, lo, hi, x):
    """The largest |x - clip(x - rho w)| over rho V, rho = 1 / diag(A).

    V is the largest one over rho at clip(0), among the rows that A connects.
    """
    rho = 1 / np.diag(A)
    nothing = np.clip(np.zeros(len(b)), lo, hi)
    defect, first = (np.abs(y - np.clip(y - rho * (A @ y + b), lo, hi)) for y in (x, nothing))
    size = np.abs(A) @ np.abs(nothing) + np.abs(b)
    first[np.abs(A @ nothing + b) <= 4 * np.finfo(float).eps * size] = 0.0  # rounding
    label = np.arange(len(b))
    for i, j in np.argwhere(A != 0):
        label[label == label[j]] = label[i]
    speed = np.array([np.max((first / rho)[label == label[i]]) for i in range(len(b))])
    scale = rho * speed
    return float(
        np.max(np.where(defect > 0, defect / np.where(scale > 0, scale, 1.0), 0.0), initial=0.0)
    )


def bounds(rng, m):
    """Bounds of all kinds: none, one-sided, two-sided, without play."""
    lo, hi = -rng.exponential(1.0, m), rng.exponential(1.0, m)
    kind = rng.integers(5, size=m)
    lo[(kind == 0) | (kind == 1)] = -np.inf
    hi[(kind == 0) | (kind == 2)] = np.inf
    lo[kind == 2] = 0.0
    hi[kind == 4] = lo[kind == 4]
    return lo, hi


def random_mlcp(rng, m, kind):
    """A, b, lo, hi of one kind.

    plain
        well conditioned, full
    sparse
        a chain with some far couplings
    islands
        several parts that do not touch
    degenerate
        a solution that lies on bounds where w vanishes as well
    redundant
        J M^-1 J^T with more rows than degrees of freedom, and a compliance
    near_singular
        condition numbers up to 1e15, some of them singular to rounding
    scaled
        rows with scales from 1e-6 to 1e6
    """
    lo, hi = bounds(rng, m)
    G = rng.normal(size=(m, m + 2))
    A = G @ G.T / m + 0.1 * np.eye(m)
    b = rng.normal(size=m)
    if kind in ("sparse", "islands"):
        near = np.abs(np.subtract.outer(np.arange(m), np.arange(m))) <= 2
        far = rng.random((m, m)) < (0.0 if kind == "islands" else 1 / (m + 1))
        keep = near | far | far.T
        if kind == "islands":
            part = np.arange(m) // 4
            keep &= np.equal.outer(part, part)
        A = np.where(keep, A, 0.0)
        A += np.diag(np.abs(A).sum(axis=1) * rng.uniform(0, 1, m))
        A += max(0.0, 0.05 - np.linalg.eigvalsh(A).min(initial=1.0)) * np.eye(m)
        order = rng.permutation(m)
        A = A[np.ix_(order, order)]
    elif kind == "degenerate":
        x = np.clip(np.round(rng.normal(size=m)), lo, hi)
        w = np.where(rng.random(m) < 0.5, 0.0, rng.exponential(1.0, m))
        w = np.where(x == lo, w, np.where(x == hi, -w, 0.0))
        b = w - A @ x
    elif kind == "redundant":
        J = rng.normal(size=(m, max(1, m // 2)))
        A = J @ J.T + 10.0 ** rng.uniform(-8, -4) * np.eye(m)
        b = J @ rng.normal(size=J.shape[1])
    elif kind == "near_singular":
        Q = np.linalg.qr(rng.normal(size=(m, m)))[0]
        A = (Q * 10.0 ** rng.uniform(-15, 0, m)) @ Q.T
        A = (A + A.T) / 2
    elif kind == "scaled":
        s = 10.0 ** rng.uniform(-3, 3, m)
        A, b = A * s * s[:, None], b * s
        lo, hi = lo / s, hi / s
        hi = np.maximum(lo, hi)
    return A, b, lo, hi


KINDS = ("plain", "sparse", "islands", "degenerate", "redundant", "near_singular", "scaled")
EXACT_KINDS = ("plain", "sparse", "islands", "degenerate", "scaled")


def bounds_of(problem, impulses):
    """Lower and upper bounds of every row, friction's by these normal impulses."""
    low, high = [], []
    for group, own in zip(problem.sets, impulses, strict=True):
        lo, hi = np.full(own.shape, -np.inf), np.full(own.shape, np.inf)
        if group.name == "box":
            lo[:], hi[:] = (value.value for value in group.values)
        elif group.name == "box_friction":
            hi[:, 1:] = group.mu(len(own))[:, None] * np.maximum(own[:, :1], 0.0)
            lo[:, 0], lo[:, 1:] = 0.0, -hi[:, 1:]
        low.append(lo)
        high.append(hi)
    return np.concatenate([v.ravel() for v in low]), np.concatenate([v.ravel() for v in high])
