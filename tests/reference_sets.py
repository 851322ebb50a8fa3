"""Friction sets beyond Coulomb's disc in plain NumPy, for `reference_numpy`: slow and clear.

Nearest points are found by other algorithms than the package's: ellipses by bisection, polygons by
comparing the distances to all edges. `reaches` lists the tangential rows of each coupled set with
the most work that a unit of normal impulse lets them take from a velocity, sup of (-v) . S.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


def nearest_in_ellipse(axes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """S1 eq. 2.45: y_i = x_i (1 + t / a_i^2) with the t > 0 that puts x on the ellipse."""
    if np.min(axes) == 0.0:
        return np.clip(y, -axes, axes)
    if np.sum((y / axes) ** 2) <= 1.0:
        return y.copy()
    pairs = list(zip((axes * y).tolist(), (axes**2).tolist(), strict=True))
    low, high = 0.0, float(np.sum(axes * np.abs(y)))
    for _ in range(200):
        t = 0.5 * (low + high)
        if t in (low, high):
            break
        outside = sum((product / (t + square)) ** 2 for product, square in pairs) > 1.0
        low, high = (t, high) if outside else (low, t)
    return axes**2 * y / (high + axes**2)


def nearest_in_polygon(corners: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The nearest of the nearest points of all edges; y itself where it is inside."""
    ends = np.roll(corners, -1, axis=0)
    along = ends - corners
    side = along[:, 0] * (y - corners)[:, 1] - along[:, 1] * (y - corners)[:, 0]
    if np.any(along) and (np.all(side >= 0) or np.all(side <= 0)):
        return y.copy()
    square = np.maximum(np.sum(along**2, axis=1), np.finfo(float).tiny)
    part = np.clip(np.sum((y - corners) * along, axis=1) / square, 0.0, 1.0)
    feet = corners + part[:, None] * along
    return feet[np.argmin(np.sum((feet - y) ** 2, axis=1))]


def bound_of(z: np.ndarray, old_normal: float | None) -> float:
    """The normal impulse that friction is bounded by."""
    return max(0.0, z[0] if old_normal is None else old_normal)


@dataclass(frozen=True)
class Ellipse:
    """Semi-axes mu1 and mu2 times a normal impulse, the first turned from t1 by `angle`."""

    mu1: float
    mu2: float
    angle: float

    @property
    def turn(self) -> np.ndarray:
        """To the ellipse's own axes."""
        c, s = np.cos(self.angle), np.sin(self.angle)
        return np.array([[c, s], [-s, c]])

    def coupled(self) -> list[list[int]]:
        return [[0], [1, 2]]

    def prox(self, z: np.ndarray, old_normal: float | None = None) -> np.ndarray:
        axes = np.array([self.mu1, self.mu2]) * bound_of(z, old_normal)
        nearest = self.turn.T @ nearest_in_ellipse(axes, self.turn @ z[1:])
        return np.concatenate([[max(0.0, z[0])], nearest])

    def reaches(self, v: np.ndarray) -> list[tuple[list[int], float]]:
        own = self.turn @ v[1:]
        return [([1, 2], float(np.hypot(self.mu1 * own[0], self.mu2 * own[1])))]


@dataclass(frozen=True)
class Polygon:
    """A convex polygon (k, 2) times mu times a normal impulse."""

    mu: float
    vertices: np.ndarray

    def coupled(self) -> list[list[int]]:
        return [[0], [1, 2]]

    def prox(self, z: np.ndarray, old_normal: float | None = None) -> np.ndarray:
        corners = self.mu * bound_of(z, old_normal) * self.vertices
        return np.concatenate([[max(0.0, z[0])], nearest_in_polygon(corners, z[1:])])

    def reaches(self, v: np.ndarray) -> list[tuple[list[int], float]]:
        return [([1, 2], self.mu * float(np.max(self.vertices @ -v[1:])))]


@dataclass(frozen=True)
class Contensou:
    """A disc for t1, t2, and the spin moment within 2/3 mu radius times a normal impulse."""

    mu: float
    radius: float

    @property
    def moment(self) -> float:
        return 2.0 / 3.0 * self.mu * self.radius

    def coupled(self) -> list[list[int]]:
        return [[0], [1, 2], [3]]

    def prox(self, z: np.ndarray, old_normal: float | None = None) -> np.ndarray:
        normal = bound_of(z, old_normal)
        length = float(np.hypot(z[1], z[2]))
        part = min(1.0, self.mu * normal / length) if length > 0.0 else 1.0
        spin = np.clip(z[3], -self.moment * normal, self.moment * normal)
        return np.array([max(0.0, z[0]), part * z[1], part * z[2], spin])

    def reaches(self, v: np.ndarray) -> list[tuple[list[int], float]]:
        sliding = self.mu * float(np.hypot(v[1], v[2]))
        return [([1, 2], sliding), ([3], self.moment * abs(float(v[3])))]


@dataclass(frozen=True)
class ContensouCoupled(Contensou):
    """t1, t2 and the spin moment in one ellipsoid."""

    def coupled(self) -> list[list[int]]:
        return [[0], [1, 2, 3]]

    def prox(self, z: np.ndarray, old_normal: float | None = None) -> np.ndarray:
        normal = bound_of(z, old_normal)
        axes = normal * np.array([self.mu, self.mu, self.moment])
        if self.mu > 0.0 and self.moment == 0.0:
            disc = Contensou(self.mu, 0.0).prox(z, old_normal)
            return np.append(disc[:3], 0.0)
        return np.concatenate([[max(0.0, z[0])], nearest_in_ellipse(axes, z[1:])])

    def reaches(self, v: np.ndarray) -> list[tuple[list[int], float]]:
        axes = np.array([self.mu, self.mu, self.moment])
        return [([1, 2, 3], float(np.linalg.norm(axes * v[1:])))]


@dataclass(frozen=True)
class SecondOrderCone:
    """|t| <= mu n for all rows as one point: projected on the cone's side in the plane of z."""

    rows: int
    mu: float

    def coupled(self) -> list[list[int]]:
        return [list(range(self.rows))]

    def prox(self, z: np.ndarray, old_normal: float | None = None) -> np.ndarray:
        length = float(np.linalg.norm(z[1:]))
        if length <= self.mu * z[0]:
            return z.copy()
        side = np.array([1.0, self.mu]) / np.hypot(1.0, self.mu)
        foot = max(0.0, float(side @ [z[0], length])) * side
        return np.concatenate([foot[:1], z[1:] / length * foot[1]])

    def reaches(self, v: np.ndarray) -> list[tuple[list[int], float]]:
        return [(list(range(1, self.rows)), self.mu * float(np.linalg.norm(v[1:])))]


@dataclass(frozen=True)
class Tresca:
    """Friction in balls of fixed radii beside a half-line."""

    rows: int
    radius: float
    moment: float = 0.0

    def coupled(self) -> list[list[int]]:
        return [[0], list(range(1, min(self.rows, 3))), list(range(3, self.rows))][
            : 2 + (self.rows > 3)
        ]

    def prox(self, z: np.ndarray, _old_normal: float | None = None) -> np.ndarray:
        x = z.copy()
        x[0] = max(0.0, z[0])
        for part, radius in zip(self.coupled()[1:], (self.radius, self.moment), strict=False):
            length = float(np.linalg.norm(z[part]))
            x[part] = z[part] * (min(1.0, radius / length) if length > 0.0 else 1.0)
        return x


SHAPED = Ellipse | Polygon | Contensou | ContensouCoupled | SecondOrderCone
SHAPED_NAMES = ("ellipse", "polygon", "contensou", "contensou_coupled", "second_order_cone")


def shaped_set(name: str, rows: int, values: dict[str, np.ndarray]) -> SHAPED:
    """One contact's set from its parameters by name."""
    if name == "polygon":
        return Polygon(float(values["mu"]), values["vertices"])
    numbers = {key: float(value) for key, value in values.items()}
    if name == "second_order_cone":
        return SecondOrderCone(rows, **numbers)
    kinds = {"ellipse": Ellipse, "contensou": Contensou, "contensou_coupled": ContensouCoupled}
    return kinds[name](**numbers)


def random_shaped_parameters(
    rng: np.random.Generator, contacts: int, name: str
) -> dict[str, np.ndarray]:
    """Friction from none to above one; polygons of five corners, either way round."""
    mu = rng.uniform(0.1, 1.2, contacts)
    mu[::5] = 0.0
    if name == "ellipse":
        other, angle = rng.uniform(0.05, 0.9, contacts), rng.uniform(-4, 4, contacts)
        other[1::5], angle[2::4] = 0.0, 0.0
        return {"mu1": mu, "mu2": other, "angle": angle}
    if name == "polygon":
        turns = 2 * np.pi * (np.arange(5) + rng.uniform(-0.2, 0.2, (contacts, 5))) / 5
        vertices = np.stack([np.cos(turns), np.sin(turns)], axis=2)
        vertices[1::2] = vertices[1::2, ::-1]
        return {"mu": mu, "vertices": vertices}
    if name == "second_order_cone":
        return {"mu": mu}
    radius = rng.uniform(0.05, 2.0, contacts)
    radius[1::5] = 0.0
    return {"mu": mu, "radius": radius}
