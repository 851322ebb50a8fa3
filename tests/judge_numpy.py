"""A judge of results in plain NumPy: is a claim of a solver true of the arrays that it was given?

It shares no code with the package and calls none of its measures. A is formed densely in float64;
the sets are those of `reference_numpy` and `reference_sets`. A claim is judged set by set, island
by island (mathematics, section 4, "Stopping"): with rho_s = 1/max diag(A_ss),

    Delta_s = |lambda_s - prox(lambda_s - rho_s xi_s)|_inf,        xi = A lambda + b,
    Delta_s <= tau_s = atol + rtol rho_s V,      V = max over the island of a_s Delta_s(P_C(0)),

and what rounding may do to either side is allowed on top, a few phi_s. Claims that there is no
solution are judged by the inequality of "No solution" there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reference_numpy import (
    Box,
    BoxFriction,
    Disc,
    Free,
    HalfLine,
    Rolling,
    block_slices,
    cone_projection,
)
from reference_sets import (
    SHAPED_NAMES,
    Tresca,
    bound_of,
    nearest_in_ellipse,
    nearest_in_polygon,
    shaped_set,
)

EPS = 2.0**-52
# Two computations of the same number may each be off by phi.
ROUNDINGS = 4.0


# ---------------------------------------------------------------------------------------------
# Sets that the references lack
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cone:
    """The second-order cone: one coupled set."""

    rows: int
    mu: float

    def coupled(self) -> list[list[int]]:
        return [list(range(self.rows))]

    def prox(self, z: np.ndarray, old_normal: float | None = None) -> np.ndarray:
        return cone_projection(z, self.mu)


@dataclass(frozen=True)
class RoundedPolygon:
    """The points within `radius` of a polygon, times mu and the normal impulse."""

    mu: float
    radius: float
    vertices: np.ndarray

    def coupled(self) -> list[list[int]]:
        return [[0], [1, 2]]

    def prox(self, z: np.ndarray, old_normal: float | None = None) -> np.ndarray:
        scale = self.mu * bound_of(z, old_normal)
        foot = nearest_in_polygon(scale * self.vertices, z[1:])
        away = z[1:] - foot
        length = float(np.linalg.norm(away))
        part = min(1.0, scale * self.radius / length) if length > 0.0 else 1.0
        nearest = z[1:] if part == 1.0 else foot + part * away
        return np.concatenate([[max(0.0, z[0])], nearest])


@dataclass(frozen=True)
class Ellipsoid:
    """Tangents and spin in an ellipsoid with semi-axes times the normal impulse."""

    axes: np.ndarray

    def coupled(self) -> list[list[int]]:
        return [[0], [1, 2, 3]]

    def prox(self, z: np.ndarray, old_normal: float | None = None) -> np.ndarray:
        nearest = nearest_in_ellipse(self.axes * bound_of(z, old_normal), z[1:])
        return np.concatenate([[max(0.0, z[0])], nearest])


def set_of(name: str, rows: int, values: dict[str, np.ndarray]) -> object:
    """The set of one block, from its parameters by name."""
    if name == "free":
        return Free(rows)
    if name == "half_line":
        return HalfLine(rows)
    if name == "box":
        return Box(values["lo"], values["hi"])
    if name == "second_order_cone":
        return Cone(rows, float(values["mu"]))
    if name == "rounded_polygon":
        return RoundedPolygon(float(values["mu"]), float(values["radius"]), values["vertices"])
    if name == "ellipsoid":
        return Ellipsoid(float(values["mu"]) * values["axes"])
    if name in SHAPED_NAMES:
        return shaped_set(name, rows, values)
    numbers = {key: float(value) for key, value in values.items()}
    if name == "rolling":
        return Rolling(**numbers)
    return {"disc": Disc, "box_friction": BoxFriction, "tresca": Tresca}[name](rows, **numbers)


# ---------------------------------------------------------------------------------------------
# Problems
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Coupled:
    """One coupled set: its rows in the problem, its rows in the block, and its block."""

    rows: np.ndarray
    inside: np.ndarray
    block: int


@dataclass(frozen=True, eq=False)
class Judged:
    """A problem in dense form with all that a judgement needs, made once.

    `size` bounds what rounding in A may be a part of: |A|, or |J||M^-1||J^T| + Sigma. `island`
    labels blocks.
    """

    A: np.ndarray
    size: np.ndarray
    b: np.ndarray
    blocks: list[slice]
    sets: list
    island: np.ndarray
    symmetric: bool
    parts: list[Coupled]
    rho: np.ndarray  # of each part; where nothing moves it, one over the problem's largest
    steady: np.ndarray  # of each part: something moves it
    weight: np.ndarray  # a_s of each part
    reach: np.ndarray  # of each part: how far it moves with the normal impulse of its block

    @classmethod
    def from_jacobian(
        cls,
        jacobian: np.ndarray,
        largest: np.ndarray,
        inverse_mass: np.ndarray,
        b: np.ndarray,
        compliance: np.ndarray,
        sets: Sequence,
        rows: Sequence[int],
        island: np.ndarray,
    ) -> Judged:
        """A = J M^-1 J^T + Sigma (section 1).

        `largest` is |J|, summed where both partners of a contact are the same body.
        """
        undamped = jacobian @ inverse_mass @ jacobian.T
        undamped = 0.5 * (undamped + undamped.T)
        size = largest @ np.abs(inverse_mass) @ largest.T + np.diag(compliance)
        A = undamped + np.diag(compliance)
        return cls.of(A, size, b, np.diag(undamped), sets, rows, island)

    @classmethod
    def from_matrix(
        cls, A: np.ndarray, b: np.ndarray, sets: Sequence, rows: Sequence[int]
    ) -> Judged:
        """A as it was given, symmetric or not."""
        blocks = block_slices(rows)
        linked = np.array([[A[p, q].any() or A[q, p].any() for q in blocks] for p in blocks])
        return cls.of(A, np.abs(A), b, np.diag(A), sets, rows, components(linked))

    @classmethod
    def of(cls, A, size, b, undamped, sets, rows, island) -> Judged:
        blocks = block_slices(rows)
        # Where the diagonal is zero, by the largest entry of row and column.
        coupling = np.max(np.maximum(np.abs(A), np.abs(A.T)), axis=1, initial=0.0)
        diagonal = np.diag(A)
        parts, rho, steady, weight, reach = [], [], [], [], []
        top = float(np.max(diagonal, initial=0.0))
        for k, (span, one) in enumerate(zip(blocks, sets, strict=True)):
            for coupled in one.coupled():
                if not coupled:
                    continue
                inside = np.array(coupled)
                at = np.arange(span.start, span.stop)[inside]
                largest = float(np.max(diagonal[at])) or float(np.max(coupling[at]))
                parts.append(Coupled(at, inside, k))
                steady.append(largest > 0.0)
                rho.append(1.0 / largest if largest > 0.0 else 1.0 / top if top > 0.0 else 1.0)
                reach.append(reach_of(one, inside))
                own = float(np.max(undamped[at]))
                weight.append(own if own > 0.0 else largest)
        arrays = (np.array(rho), np.array(steady, bool), np.array(weight), np.array(reach))
        symmetric = bool(np.array_equal(A, A.T))
        return cls(A, size, b, blocks, list(sets), island, symmetric, parts, *arrays)


def reach_of(one, inside: np.ndarray) -> float:
    """How far a part of a set grows with the normal impulse: its largest impulse for one of 1."""
    if 0 in inside:
        return 0.0
    rows, largest = sum(map(len, one.coupled())), 0.0
    for row in inside:
        for sign in (-1e6, 1e6):
            z = np.zeros(rows)
            z[row] = sign
            without = one.prox(z)[inside]
            z[0] = 1.0
            largest = max(largest, float(np.max(np.abs(one.prox(z)[inside] - without))))
    return largest


def components(linked: np.ndarray) -> np.ndarray:
    """Labels of the connected parts of a symmetric relation between blocks."""
    label = np.full(len(linked), -1)
    for k in range(len(linked)):
        if label[k] >= 0:
            continue
        waiting, label[k] = [k], k
        while waiting:
            near = np.flatnonzero(linked[waiting.pop()] & (label < 0))
            label[near] = k
            waiting += near.tolist()
    return label


def islands_of_bodies(pairs: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Labels of contacts that share moving bodies; pairs (K, 2) with -1 for the world."""
    touches = np.zeros((len(pairs), len(moves)), bool)
    for k, pair in enumerate(pairs):
        for body in pair:
            if body >= 0 and moves[body]:
                touches[k, body] = True
    return components(touches @ touches.T)


# ---------------------------------------------------------------------------------------------
# Measures
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Defects:
    """Of each part: Delta_s, and phi_s with what rounding of the normal impulse adds to it."""

    delta: np.ndarray
    phi: np.ndarray


def defects(problem: Judged, lam: np.ndarray) -> Defects:
    """Delta_s of every part at one state; rho_s |xi_s| itself where the step stays in the set.

    Parts that nothing moves keep their impulse, by which others are bounded; what they would have
    to do themselves is found by a step of the size of the others', while those keep theirs.
    """
    with np.errstate(all="ignore"):
        xi = problem.A @ lam + problem.b
        rounding = 4.0 * EPS * (problem.size @ np.abs(lam) + np.abs(problem.b))
        delta = _changes(problem, lam, xi, np.where(problem.steady, problem.rho, 0.0))
        if not problem.steady.all():
            alone = _changes(problem, lam, xi, np.where(problem.steady, 0.0, problem.rho))
            delta = np.where(problem.steady, delta, alone)
        phi = np.zeros(len(problem.parts))
        for s, part in enumerate(problem.parts):
            own = problem.rho[s] * rounding[part.rows] + 4.0 * EPS * np.abs(lam[part.rows])
            phi[s] = np.max(own)
        normal = {part.block: s for s, part in enumerate(problem.parts) if part.inside[0] == 0}
        for s, part in enumerate(problem.parts):
            if problem.reach[s] > 0.0:
                phi[s] += problem.reach[s] * phi[normal[part.block]]
    return Defects(delta, phi)


def _changes(problem: Judged, lam: np.ndarray, xi: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """|lambda_s - prox(lambda_s - rho_s xi_s)|_inf of every part."""
    step = np.zeros_like(lam)
    for part, factor in zip(problem.parts, rho, strict=True):
        step[part.rows] = factor * xi[part.rows]
    z = lam - step
    pairs = zip(problem.sets, problem.blocks, strict=True)
    nearest = np.concatenate([one.prox(z[span]) for one, span in pairs])
    change = np.where(nearest == z, np.abs(step), np.abs(lam - nearest))
    return np.array([np.max(change[part.rows]) for part in problem.parts])


def unloaded(problem: Judged) -> np.ndarray:
    """P_C(0)."""
    return np.concatenate(
        [one.prox(np.zeros(sum(map(len, one.coupled())))) for one in problem.sets]
    )


def velocities(problem: Judged) -> np.ndarray:
    """V of each part's island, without what is immovable; 0 where it is but rounding of b."""
    at_rest = defects(problem, unloaded(problem)).delta
    count = int(problem.island.max(initial=-1)) + 1
    largest, given = np.zeros(count), np.zeros(count)
    for s, part in enumerate(problem.parts):
        if problem.steady[s]:
            label = problem.island[part.block]
            largest[label] = max(largest[label], problem.weight[s] * at_rest[s])
            given[label] = max(given[label], np.max(np.abs(problem.b[part.rows])))
    largest[largest <= 64.0 * EPS * given] = 0.0
    return largest[problem.island[[part.block for part in problem.parts]]]


def tolerances(problem: Judged, rtol: float, atol: float) -> np.ndarray:
    """tau_s of each part."""
    return atol + rtol * problem.rho * velocities(problem)


# ---------------------------------------------------------------------------------------------
# Judgements: a text of what is wrong, or ""
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """What is wrong: a kind, a text, the part or row where it is worst, and what it may be."""

    kind: str
    text: str
    part: int = -1
    limit: float = 0.0
    row: int = -1


def judge_solution(
    problem: Judged, lam: np.ndarray, rtol: float, atol: float, eps: float = EPS
) -> Verdict | None:
    """Whether impulses that are called a solution are one; `eps` is what phi is made of."""
    if not np.all(np.isfinite(lam)):
        return Verdict("nan", f"impulses that are no numbers: {lam[~np.isfinite(lam)][:3]}")
    found, tau = defects(problem, lam), tolerances(problem, rtol, atol)
    phi = found.phi * (eps / EPS)
    limit = tau * (1.0 + 1e-9) + ROUNDINGS * phi
    # A set that nothing moves has no velocity scale of its own: its b is held to the largest one.
    largest = float(np.max(np.abs(problem.b), initial=0.0))
    loose = atol + max(rtol, 1e-12) * problem.rho * largest + ROUNDINGS * phi
    limit = np.where(problem.steady, limit, loose)
    excess = found.delta / np.maximum(limit, np.finfo(float).tiny)
    worst = int(np.argmax(np.where(found.delta > limit, excess, 0.0))) if len(limit) else -1
    if worst < 0 or not found.delta[worst] > limit[worst]:
        return None
    kind = "wrong claim" if problem.steady[worst] else "wrong claim, immovable"
    part = problem.parts[worst]
    text = (
        f"rows {part.inside.tolist()} of block {part.block}: Delta = {found.delta[worst]:.3e}, "
        f"tau = {tau[worst]:.3e}, phi = {phi[worst]:.1e}"
    )
    return Verdict(kind, text, worst, float(limit[worst]))


def judge_rest(problem: Judged, lam: np.ndarray) -> Verdict | None:
    """Where V = 0, P_C(0) solves the island and is the answer."""
    rest, scale = unloaded(problem), velocities(problem)
    label = problem.island[[part.block for part in problem.parts]]
    kept = np.isin(label, label[~problem.steady])  # impulses that nothing moves are kept
    for s, part in enumerate(problem.parts):
        off = float(np.max(np.abs(lam[part.rows] - rest[part.rows])))
        if not kept[s] and scale[s] == 0.0 and off > 0.0:
            text = f"block {part.block}: V = 0, but lambda is {off:.3e} away from P_C(0)"
            return Verdict("not P_C(0) where V = 0", text, s)
    return None


def recession_error(one, d: np.ndarray, friction: bool) -> float:
    """How far d is from the directions in which the impulses of a set may grow for ever."""
    if isinstance(one, Free):
        return 0.0
    if isinstance(one, Box):
        up = np.where(np.isposinf(one.hi), 0.0, np.maximum(d, 0.0))
        down = np.where(np.isneginf(one.lo), 0.0, np.maximum(-d, 0.0))
        return float(np.max(np.maximum(up, down), initial=0.0))
    if isinstance(one, Cone):
        return float(np.max(np.abs(d - one.prox(d))))
    if friction and not isinstance(one, HalfLine | Tresca):
        return float(np.max(np.abs(d - one.prox(d))))
    return float(max(max(0.0, -d[0]), np.max(np.abs(d[1:]), initial=0.0)))


def judge_certificate(
    problem: Judged, d: np.ndarray, rtol: float, atol: float, *, friction: bool
) -> Verdict | None:
    """Whether d shows that no impulses of reasonable size solve the problem.

    With `friction` d may lean within the friction bounds (status "unbounded").
    """
    if d.shape != problem.b.shape or not np.all(np.isfinite(d)):
        return Verdict("wrong certificate", f"shape {d.shape}, or no numbers")
    scale = float(np.max(np.abs(d), initial=0.0))
    for k, (span, one) in enumerate(zip(problem.blocks, problem.sets, strict=True)):
        error = recession_error(one, d[span], friction)
        if error > 8.0 * EPS * scale:
            return Verdict("wrong certificate", f"block {k}: {error:.1e} out of the cone")
    tau = np.zeros_like(d)
    limits = np.where(problem.steady, tolerances(problem, rtol, atol), np.inf)
    for part, value in zip(problem.parts, limits, strict=True):
        tau[part.rows] = value
    rounding = 4.0 * EPS * (problem.size.T @ np.abs(d))
    seen = np.maximum(0.0, np.abs(problem.A.T @ d) - rounding)
    with np.errstate(all="ignore"):
        left = float(np.sum(np.where(seen > 0.0, seen * tau, 0.0))) / (4.0 * EPS)
    right = float(-problem.b @ d + 4.0 * EPS * (np.abs(problem.b) @ np.abs(d)))
    if left < right:
        return None
    text = f"sum |A^T d| Lambda = {left:.3e} is not below -b.d = {right:.3e}"
    return Verdict("wrong certificate", text)


def within_reach(problem: Judged, lam: np.ndarray, rtol: float, atol: float) -> bool:
    """Whether all |lambda_i| <= Lambda_i: only such solutions does a certificate exclude."""
    tau = tolerances(problem, rtol, atol)
    return all(
        bool(np.all(np.abs(lam[part.rows]) * (4.0 * EPS) <= value))
        for part, value in zip(problem.parts, tau, strict=True)
    )


def is_beyond_construction(problem: Judged, known: np.ndarray, d: np.ndarray) -> bool:
    """Whether -b.d is larger than the rounding of a b that `solution_by_construction` has made.

    xi = (lambda - z) / rho loses digits where lambda is large beside rho xi: with the b that is
    left, an immovable row at the edge of its dual cone may have no solution indeed.
    """
    xi = problem.A @ known + problem.b
    rounding = problem.size @ np.abs(known) + np.abs(problem.b) + np.abs(xi)
    for part, rho in zip(problem.parts, problem.rho, strict=True):
        rounding[part.rows] += 2.0 * np.abs(known[part.rows]) / rho
    return bool(-problem.b @ d > 8.0 * EPS * (rounding @ np.abs(d)))


def solution_by_construction(problem: Judged, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """lambda* = prox(z) and the b for which it is a solution: lambda* - rho xi* = z."""
    pairs = zip(problem.sets, problem.blocks, strict=True)
    lam = np.concatenate([one.prox(z[span]) for one, span in pairs])
    xi = lam - z
    for part, rho in zip(problem.parts, problem.rho, strict=True):
        xi[part.rows] /= rho
    return lam, xi - problem.A @ lam
