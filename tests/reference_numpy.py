"""The equations of contact solving in plain NumPy: slow, clear, sharing no code with the package.

The tests compare the C kernels with this file, so it is written for reading: everything is dense,
one block at a time, and each function repeats the equation it follows. A problem is

    xi(lambda) = A lambda + b,   A = J M^-1 J^T                          (mathematics, section 1)
    lambda_k = prox_{C_k}(lambda_k - R_k xi_k(lambda))   for every k     (eq. 1)

with one block k of m rows per contact: the normal first, then the tangents. Section numbers are
those of the mathematics page, "S1 eq." those of the source text it calls S1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from reference_sets import SHAPED, SHAPED_NAMES, Tresca, random_shaped_parameters, shaped_set

# ---------------------------------------------------------------------------------------------
# Sets and their prox (section 2). `coupled` lists the rows that share one scalar r (section 1).
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Free:
    """Bilateral rows: any impulse is allowed, prox(z) = z."""

    rows: int

    def coupled(self) -> list[list[int]]:
        return [[row] for row in range(self.rows)]

    def prox(self, z: np.ndarray, old_normal: float | None = None) -> np.ndarray:
        return z.copy()


@dataclass(frozen=True)
class Box:
    """Each row within [lo, hi], infinite ends allowed: prox clamps row by row."""

    lo: np.ndarray
    hi: np.ndarray

    def coupled(self) -> list[list[int]]:
        return [[row] for row in range(len(self.lo))]

    def prox(self, z: np.ndarray, old_normal: float | None = None) -> np.ndarray:
        return np.minimum(np.maximum(z, self.lo), self.hi)


@dataclass(frozen=True)
class HalfLine:
    """Normal impulse >= 0, no impulse in the remaining rows (frictionless contact)."""

    rows: int

    def coupled(self) -> list[list[int]]:
        return [[row] for row in range(self.rows)]

    def prox(self, z: np.ndarray, old_normal: float | None = None) -> np.ndarray:
        projected = np.zeros_like(z)
        projected[0] = max(0.0, z[0])
        return projected


@dataclass(frozen=True)
class Disc:
    """Normal impulse >= 0, tangential impulse in the disc of radius mu times a normal impulse.

    The radius takes the normal impulse just projected (bound "current"), or `old_normal`, the one
    before this update (bound "previous"), where it is given.
    """

    rows: int
    mu: float

    def coupled(self) -> list[list[int]]:
        return [[0], list(range(1, self.rows))]

    def prox(self, z: np.ndarray, old_normal: float | None = None) -> np.ndarray:
        projected = z.copy()
        projected[0] = max(0.0, z[0])
        radius = self.mu * max(0.0, projected[0] if old_normal is None else old_normal)
        length = np.linalg.norm(z[1:])
        if length > radius:
            projected[1:] = z[1:] * (radius / length)
        return projected


@dataclass(frozen=True)
class BoxFriction:
    """S3: normal impulse >= 0, each tangential impulse within +-mu times a normal impulse.

    Each row is a coupled set of its own. `old_normal` as for the disc.
    """

    rows: int
    mu: float

    def coupled(self) -> list[list[int]]:
        return [[row] for row in range(self.rows)]

    def prox(self, z: np.ndarray, old_normal: float | None = None) -> np.ndarray:
        normal = max(0.0, z[0])
        bound = self.mu * max(0.0, normal if old_normal is None else old_normal)
        return np.concatenate([[normal], np.clip(z[1:], -bound, bound)])


@dataclass(frozen=True)
class Rolling:
    """Rows n, t1, t2, rho1, rho2: discs of radius mu and mu_r times a normal impulse."""

    mu: float
    mu_r: float

    def coupled(self) -> list[list[int]]:
        return [[0], [1, 2], [3, 4]]

    def prox(self, z: np.ndarray, old_normal: float | None = None) -> np.ndarray:
        tangential = Disc(3, self.mu).prox(z[[0, 1, 2]], old_normal)
        moment = Disc(3, self.mu_r).prox(z[[0, 3, 4]], old_normal)
        return np.concatenate([tangential, moment[1:]])


ConstraintSet = Free | Box | HalfLine | Disc | BoxFriction | Rolling | Tresca | SHAPED
CONTACTS = HalfLine | Disc | BoxFriction | Rolling | SHAPED
CONES = HalfLine | Disc | Rolling


def sections(one: ConstraintSet) -> list[tuple[float, list[int]]]:
    """The friction bounds of a contact: (bound over lambda_n, its rows) beside the normal."""
    if isinstance(one, Rolling):
        return [(one.mu, [1, 2]), (one.mu_r, [3, 4])]
    if isinstance(one, BoxFriction):
        return [(one.mu, [row]) for row in range(1, one.rows)]
    if isinstance(one, Disc):
        return [(one.mu, list(range(1, one.rows)))]
    return [(0.0, [row]) for row in range(1, one.rows)]


def reaches(one: ConstraintSet, velocity: np.ndarray) -> list[tuple[list[int], float]]:
    """Tangential rows of each bound, and the most work per normal impulse against the velocity."""
    if isinstance(one, SHAPED):
        return one.reaches(velocity)
    return [(part, bound * np.linalg.norm(velocity[part])) for bound, part in sections(one)]


# ---------------------------------------------------------------------------------------------
# Problems
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProblemArrays:
    """The arrays a user hands over; the tests pass the same ones to the package and to here.

    J (K, p, m, d), Minv (n, d, d) or (n, d), b (K, m), bodies (K, p) with -1 the fixed world,
    mu (K,) for the disc and box friction, mu and mu_r for rolling, lo and hi (K, m) for the box,
    `more` for the sets of `reference_sets` by name, compliance (K, m). For one of several groups on
    bodies of different d, J may be a tuple of p arrays (K, m, d_s), and Minv is None.
    """

    J: np.ndarray | tuple[np.ndarray, ...]
    Minv: np.ndarray | None
    b: np.ndarray
    bodies: np.ndarray
    set_name: str
    mu: np.ndarray | None = None
    lo: np.ndarray | None = None
    hi: np.ndarray | None = None
    mu_r: np.ndarray | None = None
    compliance: np.ndarray | None = None
    more: dict[str, np.ndarray] = field(default_factory=dict)

    def constraint_sets(self) -> list[ConstraintSet]:
        contacts, rows = self.b.shape
        if self.set_name == "free":
            return [Free(rows) for _ in range(contacts)]
        if self.set_name == "box":
            return [Box(self.lo[k], self.hi[k]) for k in range(contacts)]
        if self.set_name == "half_line":
            return [HalfLine(rows) for _ in range(contacts)]
        if self.set_name == "disc":
            return [Disc(rows, float(self.mu[k])) for k in range(contacts)]
        if self.set_name == "box_friction":
            return [BoxFriction(rows, float(self.mu[k])) for k in range(contacts)]
        if self.set_name == "rolling":
            return [Rolling(float(self.mu[k]), float(self.mu_r[k])) for k in range(contacts)]
        if self.set_name == "tresca":
            bounds = np.array(list(self.more.values())).T
            return [Tresca(rows, *map(float, one)) for one in bounds]
        if self.set_name in SHAPED_NAMES:
            values = self.set_parameters()
            each = [{name: value[k] for name, value in values.items()} for k in range(contacts)]
            return [shaped_set(self.set_name, rows, one) for one in each]
        raise ValueError(f"no reference for the set {self.set_name!r}")

    def set_parameters(self) -> dict[str, np.ndarray]:
        """The parameters of the set by name: mu, or lo and hi, or none."""
        named = {"mu": self.mu, "mu_r": self.mu_r, "lo": self.lo, "hi": self.hi}
        return {name: value for name, value in named.items() if value is not None} | self.more

    def reordered(self, contact_order: np.ndarray) -> ProblemArrays:
        """The same problem with its contacts listed in another order."""
        own = {name: v for name, v in self.set_parameters().items() if name not in self.more}
        per_contact = {"J": self.J, "b": self.b, "bodies": self.bodies, **own}
        moved = {name: value[contact_order] for name, value in per_contact.items()}
        more = {name: value[contact_order] for name, value in self.more.items()}
        return replace(self, **moved, more=more)

    def renumbered(self, new_index: np.ndarray) -> ProblemArrays:
        """The same problem with body i called new_index[i]; the fixed world stays -1."""
        minv = np.empty_like(self.Minv)
        minv[new_index] = self.Minv
        bodies = np.where(self.bodies < 0, -1, new_index[np.maximum(self.bodies, 0)])
        return replace(self, Minv=minv, bodies=bodies)


@dataclass(frozen=True, eq=False)  # equal to itself alone: results are kept by problem
class ReferenceProblem:
    """A problem in dense form; `jacobian` and `inverse_mass` are None where A itself was given.

    `compliance` is the diagonal of Sigma, already part of A. `partners` are the moving bodies of
    each block, None where A was given.
    """

    A: np.ndarray
    b: np.ndarray
    blocks: list[slice]
    sets: list[ConstraintSet]
    jacobian: np.ndarray | None = None
    inverse_mass: np.ndarray | None = None
    compliance: np.ndarray | float = 0.0
    partners: list[list[int]] | None = None

    @classmethod
    def from_arrays(cls, *groups: ProblemArrays) -> ReferenceProblem:
        """Several groups on the bodies of the first one's Minv."""
        return cls.from_groups([groups[0].Minv], groups)

    @classmethod
    def from_groups(
        cls, inverse_masses: Sequence[np.ndarray], groups: Sequence[ProblemArrays]
    ) -> ReferenceProblem:
        """Section 1: A = J M^-1 J^T + Sigma, bodies and contacts numbered through their groups."""
        dofs = [minv.shape[1] for minv in inverse_masses for _ in minv]
        spans = block_slices(dofs)
        inverse_mass = np.zeros((sum(dofs), sum(dofs)))
        singles = [one for minv in inverse_masses for one in minv]
        for span, one in zip(spans, singles, strict=True):
            inverse_mass[span, span] = np.diag(one) if one.ndim == 1 else one
        jacobian = np.vstack([dense_jacobian(group, spans, sum(dofs)) for group in groups])
        sigma = np.concatenate(
            [
                np.zeros(group.b.size) if group.compliance is None else group.compliance.ravel()
                for group in groups
            ]
        )
        return cls(
            A=jacobian @ inverse_mass @ jacobian.T + np.diag(sigma),
            b=np.concatenate([group.b.ravel() for group in groups]),
            blocks=block_slices([row for group in groups for row in block_rows(group.b)]),
            sets=[one for group in groups for one in group.constraint_sets()],
            jacobian=jacobian,
            inverse_mass=inverse_mass,
            compliance=sigma,
            partners=[
                [int(body) for body in pair if body >= 0 and singles[body].any()]
                for group in groups
                for pair in group.bodies
            ],
        )

    @classmethod
    def from_delassus(cls, delassus: np.ndarray, arrays: ProblemArrays) -> ReferenceProblem:
        """A as given, symmetric or not; b and the sets are those of `arrays`."""
        return cls(
            A=delassus,
            b=arrays.b.ravel(),
            blocks=block_slices(block_rows(arrays.b)),
            sets=arrays.constraint_sets(),
        )

    def diagonal_block(self, k: int) -> np.ndarray:
        return self.A[self.blocks[k], self.blocks[k]]

    def immovable(self, k: int) -> bool:
        """All partners are fixed: A_kk = 0, and no impulse changes anything."""
        return not self.diagonal_block(k).any()

    def xi(self, lam: np.ndarray) -> np.ndarray:
        """Section 1: xi = A lambda + b."""
        return self.A @ lam + self.b

    def islands(self) -> np.ndarray:
        """Label the blocks: connected by moving bodies, or by non-zero blocks of a given A."""
        count = len(self.blocks)
        label = np.arange(count)
        for k in range(count):
            for other in range(k):
                if self._touch(k, other):
                    label[label == label[other]] = label[k]
        return label

    def _touch(self, k: int, other: int) -> bool:
        if self.partners is not None:
            return bool(set(self.partners[k]) & set(self.partners[other]))
        rows, columns = self.blocks[k], self.blocks[other]
        return bool(self.A[rows, columns].any() or self.A[columns, rows].any())

    def responses(self, k: int) -> np.ndarray:
        """Section 4: a_s of each row's set, the largest diagonal entry without compliance."""
        whole = np.diag(self.diagonal_block(k))
        sigma = np.broadcast_to(self.compliance, self.b.shape)[self.blocks[k]]
        if self.jacobian is None or self.inverse_mass is None:
            masses = whole
        else:
            J = self.jacobian[self.blocks[k]]
            touched = np.flatnonzero(J.any(axis=0))
            J, inverse_mass = J[:, touched], self.inverse_mass[np.ix_(touched, touched)]
            masses = np.diag(J @ inverse_mass @ J.T)
        found = np.zeros(len(whole))
        for coupled in self.sets[k].coupled():
            if coupled:
                moved = max(masses[row] for row in coupled)
                found[coupled] = moved if moved > 0.0 else max(sigma[row] for row in coupled)
        return found

    def body_velocity_change(self, lam: np.ndarray) -> np.ndarray:
        """Section 1: M^-1 J^T lambda, flat."""
        return self.inverse_mass @ (self.jacobian.T @ lam)


def block_rows(b: np.ndarray) -> list[int]:
    return [b.shape[1]] * b.shape[0]


def block_slices(rows: Sequence[int]) -> list[slice]:
    ends = np.cumsum(rows).astype(int)
    return [slice(int(end) - count, int(end)) for end, count in zip(ends, rows, strict=True)]


def dense_jacobian(arrays: ProblemArrays, spans: list[slice], columns: int) -> np.ndarray:
    """J of all contacts; the world has no columns, and a body may be several partners."""
    contacts, rows = arrays.b.shape
    dense = np.zeros((contacts * rows, columns))
    for k in range(contacts):
        for side in range(arrays.bodies.shape[1]):
            body = arrays.bodies[k, side]
            if body >= 0:
                block = arrays.J[side][k] if isinstance(arrays.J, tuple) else arrays.J[k, side]
                dense[k * rows : (k + 1) * rows, spans[body]] += block
    return dense


# ---------------------------------------------------------------------------------------------
# r-factors (sections 1 and 3)
# ---------------------------------------------------------------------------------------------


def largest_eigenvalue(block: np.ndarray) -> float:
    return float(np.linalg.eigvalsh(0.5 * (block + block.T))[-1])


def set_factors(problem: ReferenceProblem, k: int) -> np.ndarray:
    """S2 eqs. 4.42-4.43: r_s = 1/max diag(A_ss), one scalar per coupled set, as one value a row."""
    diagonal = np.diag(problem.diagonal_block(k))
    factors = np.zeros(len(diagonal))
    for coupled in problem.sets[k].coupled():
        largest = max((diagonal[row] for row in coupled), default=0.0)
        factors[coupled] = 1.0 / largest if largest > 0.0 else 0.0
    return factors


def local_factors(problem: ReferenceProblem, k: int) -> np.ndarray:
    """Section 1: r_s of each coupled set, scaled by 1/max(1, lambda_max(R^1/2 A_kk R^1/2))."""
    factors = set_factors(problem, k)
    root = np.diag(np.sqrt(factors))
    return factors / max(1.0, largest_eigenvalue(root @ problem.diagonal_block(k) @ root))


def row_factors(problem: ReferenceProblem, k: int, r_factor: str | float) -> np.ndarray:
    """Section 3: "local", "diagonal", "block" (1 / largest eigenvalue of A_kk), "global", r."""
    if r_factor == "global":
        return np.full(len(problem.diagonal_block(k)), global_factor(problem))
    if r_factor == "local":
        return local_factors(problem, k)
    if r_factor == "diagonal":
        return set_factors(problem, k)
    if r_factor == "block":
        largest = largest_eigenvalue(problem.diagonal_block(k))
        return np.full(len(problem.diagonal_block(k)), 1.0 / largest if largest > 0.0 else 0.0)
    return np.full(len(problem.diagonal_block(k)), float(r_factor))


def movable_spectrum(problem: ReferenceProblem) -> np.ndarray:
    """Eigenvalues, ascending, of the symmetric part of A without rows that nothing can move."""
    movable = np.concatenate([set_factors(problem, k) for k in range(len(problem.blocks))]) > 0.0
    part = problem.A[np.ix_(movable, movable)]
    return np.linalg.eigvalsh(0.5 * (part + part.T))


def global_factor(problem: ReferenceProblem) -> float:
    """Section 3: 2/(alpha_min + alpha_max), and 1.9/alpha_max where A is singular."""
    spectrum = movable_spectrum(problem)
    smallest, largest = float(spectrum[0]), float(spectrum[-1])
    return 2.0 / (smallest + largest) if smallest > 1e-10 * largest else 1.9 / largest


def adjacent_contacts(problem: ReferenceProblem, k: int) -> int:
    """S4: the other contacts that share a moving body, those whose block A_kl is not zero."""
    row = problem.A[problem.blocks[k]]
    return sum(bool(row[:, columns].any()) for j, columns in enumerate(problem.blocks) if j != k)


def newton_steps(defect: Callable[[np.ndarray], np.ndarray], z: np.ndarray, least: float):
    """Newton's method on defect(z) = 0, with differences for the derivative, while that shrinks."""
    for _ in range(20):
        here = defect(z)
        size = 1e-7 * max(float(np.max(np.abs(z))), least)
        columns = [
            (defect(z + size * e) - defect(z - size * e)) / (2 * size) for e in np.eye(len(z))
        ]
        change = np.linalg.lstsq(np.array(columns).T, here, rcond=1e-10)[0]
        if not np.max(np.abs(defect(z - change))) < np.max(np.abs(here)):
            break
        z = z - change
    return z


def block_solution(
    one: ConstraintSet,
    W: np.ndarray,
    q: np.ndarray,
    start: np.ndarray,
    old_normal: float | None = None,
) -> np.ndarray:
    """S4: z with W z + q = v and z = prox(z - v/l), by Newton's method on that equation.

    A few hundred projected steps come first, so that it is the piece of the solution that Newton's
    method sees; where it was another one, there are more.
    """
    if isinstance(one, Free):
        return -np.linalg.solve(W, q)
    step = 1.0 / largest_eigenvalue(W)

    def defect(z: np.ndarray) -> np.ndarray:
        return z - one.prox(z - step * (W @ z + q), old_normal)

    z = np.array(start, dtype=float)
    size = step * float(np.max(np.abs(q)))
    for _ in range(20):
        for _ in range(300):
            z = z - defect(z)
        z = newton_steps(defect, z, size)
        if np.max(np.abs(defect(z))) <= 1e-12 * (size + np.max(np.abs(z))):
            break
    return one.prox(z - step * (W @ z + q), old_normal)


def step_matrix(
    problem: ReferenceProblem, k: int, r_factor: str | float, local: str = "auto"
) -> np.ndarray:
    """R_k: the inverse of A_kk for free blocks (section 1), else the r-factors on the diagonal.

    A free block of deficient rank has no inverse and takes the projected step like any other.
    """
    block = problem.diagonal_block(k)
    exact = isinstance(problem.sets[k], Free) and local in ("auto", "exact", "block")
    if exact and np.linalg.matrix_rank(block) == len(block):
        return np.linalg.inv(block)
    return np.diag(row_factors(problem, k, r_factor))


# ---------------------------------------------------------------------------------------------
# Schedules (section 3): stages one after another, parts of a stage blind to each other or not
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stage:
    """Blocks visited together: "sequential", "simultaneous", "independent" or "concurrent"."""

    kind: str
    parts: list[list[int]]

    def part_of(self, k: int) -> list[int] | None:
        return next((part for part in self.parts if k in part), None)

    def hidden(self, k: int) -> list[int]:
        """The blocks whose values block k sees as they were before the stage."""
        if self.kind == "simultaneous":
            return [j for part in self.parts for j in part]
        if self.kind == "concurrent":
            return [j for part in self.parts if k not in part for j in part]
        return []

    def backwards(self) -> Stage:
        return Stage(self.kind, [part[::-1] for part in self.parts])


def cut_evenly(blocks: Sequence[int], parts: int) -> list[list[int]]:
    count = len(blocks)
    cuts = [count * p // parts for p in range(parts + 1)]
    return [list(blocks[a:b]) for a, b in pairwise(cuts) if b > a]


def greedy_colors(problem: ReferenceProblem) -> list[list[int]]:
    """S1 section 4.3: each block takes the first colour that no coupled block before it has."""
    colors: list[list[int]] = []
    for k, rows in enumerate(problem.blocks):
        coupled = [problem.A[rows, columns].any() for columns in problem.blocks]
        free = (color for color in colors if not any(coupled[j] for j in color))
        color = next(free, None)
        if color is None:
            colors.append(color := [])
        color.append(k)
    return colors


def schedule_of(
    problem: ReferenceProblem, order: str, *, parts: int = 8, unsafe_below: int = 0
) -> list[Stage]:
    """The stages of the orders "natural", "reverse", "ranges", "colored", and of S1's relaxed one.

    "relaxed" merges the colours smaller than `unsafe_below` into a simultaneous stage at the end,
    "relaxed ranges" into a concurrent one (S1 sections 4.3.1, 7.1, 7.2).
    """
    blocks = list(range(len(problem.blocks)))
    if order in ("natural", "reverse"):
        return [Stage("sequential", [blocks if order == "natural" else blocks[::-1]])]
    if order == "ranges":
        return [Stage("concurrent", cut_evenly(blocks, parts))]
    colors = greedy_colors(problem)
    if order == "colored":
        return [Stage("independent", [color]) for color in colors]
    safe = [Stage("independent", [color]) for color in colors if len(color) >= unsafe_below]
    unsafe = [k for color in colors if len(color) < unsafe_below for k in color]
    if order == "relaxed":
        return [*safe, Stage("simultaneous", [unsafe])]
    return [*safe, Stage("concurrent", cut_evenly(unsafe, parts))]


# ---------------------------------------------------------------------------------------------
# Sweeps (section 3)
# ---------------------------------------------------------------------------------------------


def later_blocks(plan: list[Stage], k: int) -> list[int]:
    """The blocks that `plan` visits after block k, but those of its stage that are not its part's.

    Neither are those that it may not see: in a simultaneous stage nobody is later.
    """
    at = next(s for s, stage in enumerate(plan) if stage.part_of(k) is not None)
    part = plan[at].part_of(k)
    inside = [] if plan[at].kind == "simultaneous" else part[part.index(k) + 1 :]
    return [*inside, *(j for stage in plan[at + 1 :] for one in stage.parts for j in one)]


def block_products(problem: ReferenceProblem, k: int, seen: np.ndarray) -> list[np.ndarray]:
    """A_kj lambda_j for every block j."""
    return [problem.A[problem.blocks[k], columns] @ seen[columns] for columns in problem.blocks]


def residual_velocity(
    problem: ReferenceProblem,
    k: int,
    seen: np.ndarray,
    scheme: str,
    plan: list[Stage],
    whole: bool,
    kept: dict[int, list[np.ndarray]],
) -> np.ndarray:
    """xi_k from the impulses that block k sees; `kept` and `whole` are for half sweeps alone.

    Rows of A, or J w + Sigma lambda with w = M^-1 J^T lambda (S1 eq. 3.18). Every second sweep of
    the scheme "half_sweep" (S1 section 3.4.1) takes the products with later blocks from the sweep
    before it. "symmetric_half" only saves work: its xi is that of the rows.
    """
    rows = problem.blocks[k]
    if scheme == "factorized":
        sigma = np.broadcast_to(problem.compliance, len(problem.b))[rows]
        w = problem.body_velocity_change(seen)
        return problem.jacobian[rows] @ w + sigma * seen[rows] + problem.b[rows]
    if scheme != "half_sweep":
        return problem.A[rows] @ seen + problem.b[rows]
    products = block_products(problem, k, seen)
    if whole:
        kept[k] = products
    else:
        for j in later_blocks(plan, k):
            products[j] = kept[k][j]
    return problem.b[rows] + sum(products)


def sweep(
    problem: ReferenceProblem,
    lam: np.ndarray,
    *,
    solver: str,
    scheme: str = "matrix",
    order: Sequence[int] | None = None,
    stages: list[Stage] | None = None,
    number: int = 0,
    kept: dict[int, list[np.ndarray]] | None = None,
    local: str = "auto",
    relaxation: float = 1.0,
    averaging: str | float | None = None,
    r_factor: str | float = "local",
    bound: str = "current",
    factors: np.ndarray | None = None,
) -> np.ndarray:
    """One visit of every block: eq. (1) with relaxation (S2) and averaging (S4).

        z = lambda_k - relaxation R_k xi_k,   lambda_k <- lambda_k + averaging (prox(z) - lambda_k)

    Jacobi takes every xi_k from the impulses before the sweep, Gauss-Seidel from the newest ones in
    the given order of the blocks, or as the `stages` say. Symmetric Gauss-Seidel goes through odd
    sweeps backwards; `number` counts them from 0. `kept` is half_sweep's memory between sweeps.
    With local="block" z solves the block's own problem instead (S4), and averaging="adjacent" takes
    1 over the number of adjacent contacts. `factors` multiply each row's r-factor. Scheme
    "iteration_matrix" takes z from T = 1 - R A and c = -R b (S1 eq. 3.12).
    """
    blocks = range(len(problem.blocks)) if order is None else order
    kind = "simultaneous" if solver == "jacobi" else "sequential"
    plan = [Stage(kind, [list(blocks)])] if stages is None else stages
    if solver == "symmetric_gauss_seidel" and number % 2 == 1:
        plan = [stage.backwards() for stage in reversed(plan)]
    kept = {} if kept is None else kept
    current = lam.copy()
    for stage in plan:
        before = current.copy()
        for k in (k for part in stage.parts for k in part):
            if problem.immovable(k):
                continue
            seen = current.copy()
            for j in stage.hidden(k):
                seen[problem.blocks[j]] = before[problem.blocks[j]]
            rows, one, W = problem.blocks[k], problem.sets[k], problem.diagonal_block(k)
            old = lam[rows].copy()
            old_normal = old[0] if bound == "previous" else None
            step = relaxation * step_matrix(problem, k, r_factor, local)
            if factors is not None:
                step = factors[rows][:, None] * step
            if scheme == "iteration_matrix":
                T = np.eye(len(lam))[rows] - step @ problem.A[rows]
                projected = one.prox(T @ seen - step @ problem.b[rows], old_normal)
            else:
                xi = residual_velocity(problem, k, seen, scheme, plan, number % 2 == 0, kept)
                if local == "block" and not isinstance(one, Free):
                    projected = block_solution(one, W, xi - W @ old, old, old_normal)
                else:
                    projected = one.prox(old - step @ xi, old_normal)
            weight = 1.0 if averaging is None else averaging
            if averaging == "adjacent":
                weight = 1.0 / max(1, adjacent_contacts(problem, k))
            current[rows] = old + weight * (projected - old) if weight != 1.0 else projected
    return current


def run(
    problem: ReferenceProblem, sweeps: int, *, initial: np.ndarray | None = None, **options
) -> list[np.ndarray]:
    """The initial iterate and the one after each sweep; `options` are those of `sweep`."""
    lam = np.zeros(len(problem.b)) if initial is None else np.array(initial, dtype=float).ravel()
    iterates, kept = [lam], {}
    for number in range(sweeps):
        iterates.append(sweep(problem, iterates[-1], number=number, kept=kept, **options))
    return iterates


def balanced_run(
    problem: ReferenceProblem, sweeps: int, *, initial: np.ndarray | None = None, **options
) -> list[np.ndarray]:
    """As `run`, with factors that follow the residuals of each coupled set.

    Two changes e, e' of a set in a row multiply its factor by 1/sqrt(1 - rho), rho = e.e'/e.e cut
    to [-1, 1/2]; it stays within 1/32 and 3/2. Free blocks solved exactly have no factor. A change
    of 256 rounding units of the impulse or of the next change is none.
    """
    lam = np.zeros(len(problem.b)) if initial is None else np.array(initial, dtype=float).ravel()
    iterates, factors, change = [lam], np.ones(len(lam)), np.zeros(len(lam))
    kept: dict[int, list[np.ndarray]] = {}
    for number in range(sweeps):
        state = {"number": number, "kept": kept, "factors": factors}
        iterates.append(sweep(problem, iterates[-1], **state, **options))
        latest = iterates[-1] - iterates[-2]
        for rows, one in zip(problem.blocks, problem.sets, strict=True):
            if isinstance(one, Free):
                continue
            for coupled in one.coupled():
                e, f = change[rows][coupled], latest[rows][coupled]
                now = iterates[-1][rows][coupled]
                largest = max(np.abs(f).max(), np.abs(now).max())
                if np.linalg.norm(e) > 256.0 * 2.0**-52 * largest and e @ f != 0.0:
                    rho = np.clip((e @ f) / (e @ e), -1.0, 0.5)
                    at = np.arange(len(lam))[rows][coupled]
                    factors[at] = np.clip(factors[at] / np.sqrt(1.0 - rho), 1.0 / 32.0, 1.5)
        change = latest
    return iterates


# ---------------------------------------------------------------------------------------------
# Measures (section 4)
# ---------------------------------------------------------------------------------------------


def residual(new: np.ndarray, old: np.ndarray) -> float:
    """S1 eq. 3.31: the largest change of an impulse."""
    return float(np.max(np.abs(new - old), initial=0.0))


def merit(new: np.ndarray, old: np.ndarray) -> float:
    """S1 eq. 3.30: the squared 2-norm of the change."""
    return float(np.sum((new - old) ** 2))


def quality(problem: ReferenceProblem, lam: np.ndarray, r: float = 100.0) -> float:
    """S1 eq. 3.32: 1/2 ||prox(lambda - r (A lambda + b)) - lambda||^2."""
    z = lam - r * problem.xi(lam)
    changes = [
        one.prox(z[rows]) - lam[rows]
        for rows, one in zip(problem.blocks, problem.sets, strict=True)
    ]
    return 0.5 * float(sum(np.sum(change**2) for change in changes))


@dataclass(frozen=True)
class SetDefect:
    """One coupled set s of a block, by its rows: Delta_s, rho_s and a_s of section 4."""

    delta: float
    rho: float
    response: float
    block: int
    coupled: list[int]


def set_defects(problem: ReferenceProblem, lam: np.ndarray) -> list[SetDefect]:
    """Delta_s = ||lambda_s - prox(lambda_s - rho_s xi_s)||_inf, rho_s = 1/max diag(A_ss).

    The disc's radius is that of the normal impulse just projected in the same block. A set whose
    diagonal is zero has rho_s = 0: nothing can be asked of it.
    """
    xi = problem.xi(lam)
    defects = []
    for k, rows in enumerate(problem.blocks):
        rho = set_factors(problem, k)
        step = lam[rows] - rho * xi[rows]
        nearest = problem.sets[k].prox(step)
        change = np.where(nearest == step, rho * np.abs(xi[rows]), np.abs(lam[rows] - nearest))
        response = problem.responses(k)
        for coupled in problem.sets[k].coupled():
            if coupled:
                first = coupled[0]
                delta = float(np.max(change[coupled]))
                defects.append(SetDefect(delta, rho[first], response[first], k, coupled))
    return defects


def island_speeds(problem: ReferenceProblem) -> np.ndarray:
    """V of each block's island: the largest a_s Delta_s(P_C(0)) of its sets (section 4)."""
    nothing = np.concatenate(
        [np.zeros(0)]
        + [
            problem.sets[k].prox(np.zeros(rows.stop - rows.start))
            for k, rows in enumerate(problem.blocks)
        ]
    )
    label = problem.islands()
    speed = np.zeros(len(problem.blocks))
    xi = problem.xi(nothing)
    sizes = np.abs(problem.A) @ np.abs(nothing) + np.abs(problem.b)
    for one in set_defects(problem, nothing):
        rows = np.arange(len(problem.b))[problem.blocks[one.block]][one.coupled]
        if nothing.any() and np.all(np.abs(xi[rows]) <= 4 * np.finfo(float).eps * sizes[rows]):
            continue  # rounding
        here = label == label[one.block]
        speed[here] = np.maximum(speed[here], one.response * one.delta)
    return speed


def natural_maps(problem: ReferenceProblem, lam: np.ndarray) -> dict[str, float]:
    """The largest Delta_s [N s], Delta_s / rho_s [m/s] and Delta_s / (rho_s V).

    The last is the quantity that a relative tolerance tests. Islands with V = 0 do not count:
    P_C(0) is their answer.
    """
    defects = set_defects(problem, lam)
    speed = island_speeds(problem)
    columns = {
        "natural_map": [one.delta for one in defects],
        "natural_map_velocity": [one.delta / one.rho for one in defects if one.rho > 0.0],
        "natural_map_scaled": [
            one.delta / (one.rho * speed[one.block]) if one.rho > 0.0 else np.inf
            for one in defects
            if one.delta > 0.0 and (one.rho == 0.0 or speed[one.block] > 0.0)
        ],
    }
    return {name: max(values, default=0.0) for name, values in columns.items()}


def natural_map_scaled(problem: ReferenceProblem, lam: np.ndarray) -> float:
    """What a relative tolerance tests."""
    return natural_maps(problem, lam)["natural_map_scaled"]


def cone_projection(z: np.ndarray, mu: float) -> np.ndarray:
    """Euclidean projection on {||z_t|| <= mu z_n}: in the polar cone, inside, or between."""
    normal, length = z[0], float(np.linalg.norm(z[1:]))
    if mu * length <= -normal:
        return np.zeros_like(z)
    if length <= mu * normal:
        return z.copy()
    projected = np.empty_like(z)
    projected[0] = (normal + mu * length) / (1.0 + mu * mu)
    projected[1:] = z[1:] * (mu * projected[0] / length)
    return projected


def rolling_cone_projection(z: np.ndarray, mu: float, mu_r: float) -> np.ndarray:
    """Euclidean projection on {||z_T|| <= mu z_N, ||z_R|| <= mu_r z_N}.

    For a given z_N both parts are clamped radially; z_N minimises the distance, which is convex in
    it. Where no bound, one of them or both bind, it is the weighted mean of z_N and the ||z_s||/c_s
    with the weights 1 and c_s^2: the nearest of these candidates that lies in the cone.
    """
    lengths = [float(np.linalg.norm(z[1:3])), float(np.linalg.norm(z[3:5]))]
    bounds = [mu, mu_r]
    candidates = [0.0]
    for binding in ((), (0,), (1,), (0, 1)):
        weights = 1.0 + sum(bounds[s] ** 2 for s in binding)
        candidates.append((z[0] + sum(bounds[s] * lengths[s] for s in binding)) / weights)
    points = []
    for normal in candidates:
        if normal < 0.0:
            continue
        tangential = Disc(3, mu).prox(np.concatenate([[normal], z[1:3]]), normal)
        moment = Disc(3, mu_r).prox(np.concatenate([[normal], z[3:5]]), normal)
        points.append(np.concatenate([[normal], tangential[1:], moment[1:]]))
    return min(points, key=lambda point: float(np.sum((point - z) ** 2)))


def fclib_error(problem: ReferenceProblem, lam: np.ndarray) -> float:
    """The full error of the FCLIB community, for blocks with a friction cone.

    u = A r + q, u~ = u + (mu ||u_T||, 0, 0),
    sqrt(sum ||r - P_K(r - u~)||^2) / max(||q||, ||r||, ||u||), undivided where that is <= eps.
    A half-line is the cone of mu = 0; rolling adds mu_r ||u_R|| and the second bound of the cone.
    Every impulse of a free block is feasible.
    """
    u = problem.xi(lam)
    total = 0.0
    for rows, one in zip(problem.blocks, problem.sets, strict=True):
        if isinstance(one, Free):
            total += float(np.sum(u[rows] ** 2))
            continue
        shifted = u[rows].copy()
        shifted[0] += sum(bound * np.linalg.norm(u[rows][part]) for bound, part in sections(one))
        target = lam[rows] - shifted
        if isinstance(one, Rolling):
            nearest = rolling_cone_projection(target, one.mu, one.mu_r)
        else:
            nearest = cone_projection(target, getattr(one, "mu", 0.0))
        total += float(np.sum((lam[rows] - nearest) ** 2))
    scale = max(float(np.linalg.norm(vector)) for vector in (problem.b, lam, u))
    return np.sqrt(total) / scale if scale > np.finfo(float).eps else np.sqrt(total)


def infeasibility(problem: ReferenceProblem, lam: np.ndarray) -> float:
    """The largest Euclidean distance of a coupled set's impulse from the set [N s]."""
    return max(
        float(np.linalg.norm((lam[rows] - one.prox(lam[rows]))[coupled]))
        for rows, one in zip(problem.blocks, problem.sets, strict=True)
        for coupled in one.coupled()
        if coupled
    )


def contact_measures(problem: ReferenceProblem, lam: np.ndarray) -> tuple[float, float, float]:
    """Penetration max -xi_n, complementarity max |lambda_n xi_n|, and the dissipation gap.

    The gap is the largest |xi_t . lambda_t + mu lambda_n ||xi_t||| over the friction bounds. Of a
    second-order cone, whose rows are one set, complementarity is |lambda . xi|.
    """
    xi = problem.xi(lam)
    penetration = complementarity = gap = 0.0
    for rows, one in zip(problem.blocks, problem.sets, strict=True):
        if not isinstance(one, CONTACTS):
            continue
        impulse, velocity = lam[rows], xi[rows]
        penetration = max(penetration, -velocity[0])
        normal_set = one.coupled()[0]
        complementarity = max(complementarity, abs(impulse[normal_set] @ velocity[normal_set]))
        for part, most in reaches(one, velocity):
            work = velocity[part] @ impulse[part]
            gap = max(gap, abs(work + impulse[0] * most))
    return penetration, complementarity, gap


def delta_element(new: np.ndarray, old: np.ndarray, rtol: float, atol: float) -> float:
    """S2 eq. 4.49 as a ratio."""
    return float(np.max(np.abs(new - old) / (np.abs(old) * rtol + atol)))


def delta_norm(new: np.ndarray, old: np.ndarray, rtol: float, atol: float) -> float:
    """S2 eq. 4.50 as a ratio."""
    return float(np.linalg.norm(new - old) / (np.linalg.norm(old) * rtol + atol))


def measures(
    problem: ReferenceProblem, iterates: Sequence[np.ndarray], quality_r: float = 100.0
) -> dict[str, np.ndarray]:
    """Columns as in `result.history`: row i belongs to iterate i, the first has no residual."""
    pairs = list(zip(iterates[1:], iterates[:-1], strict=True))
    columns = {
        "residual": [np.nan] + [residual(new, old) for new, old in pairs],
        "merit": [np.nan] + [merit(new, old) for new, old in pairs],
        "quality": [quality(problem, lam, quality_r) for lam in iterates],
    }
    maps = [natural_maps(problem, lam) for lam in iterates]
    columns |= {name: [row[name] for row in maps] for name in maps[0]}
    columns["infeasibility"] = [infeasibility(problem, lam) for lam in iterates]
    if any(isinstance(one, CONTACTS) for one in problem.sets):
        rows = [contact_measures(problem, lam) for lam in iterates]
        names = ("penetration", "complementarity", "dissipation_gap")
        columns |= dict(zip(names, zip(*rows, strict=True), strict=True))
    if all(isinstance(one, CONES | Free) for one in problem.sets):
        columns["fclib_error"] = [fclib_error(problem, lam) for lam in iterates]
    return {name: np.array(values) for name, values in columns.items()}


# ---------------------------------------------------------------------------------------------
# Random problems
# ---------------------------------------------------------------------------------------------


def random_inverse_mass(
    rng: np.random.Generator, bodies: int, dof: int, *, diagonal: bool = False
) -> np.ndarray:
    """Inverse masses over two decades, as blocks (n, d, d) or diagonals (n, d)."""
    values = 10.0 ** rng.uniform(-1.0, 1.0, (bodies, dof))
    if diagonal:
        return values
    rotations = np.linalg.qr(rng.normal(size=(bodies, dof, dof)))[0]
    blocks = np.einsum("bij,bj,bkj->bik", rotations, values, rotations)
    return 0.5 * (blocks + blocks.transpose(0, 2, 1))


def random_bodies(
    rng: np.random.Generator, contacts: int, bodies: int, partners: int = 2
) -> np.ndarray:
    """Different partners, of which one may be the world (-1)."""
    found = np.empty((contacts, partners), dtype=np.int64)
    for k in range(contacts):
        found[k] = rng.choice(np.arange(-1, bodies), size=partners, replace=False)
    return found


def random_set_parameters(
    rng: np.random.Generator, contacts: int, rows: int, set_name: str
) -> dict[str, np.ndarray]:
    """Friction from none to above one; boxes one-sided, two-sided, unbounded and of no width."""
    if set_name == "rolling":
        mu, mu_r = rng.uniform(0.1, 1.2, contacts), rng.uniform(0.05, 0.6, contacts)
        mu[::5], mu_r[1::5] = 0.0, 0.0
        return {"mu": mu, "mu_r": mu_r}
    if set_name == "tresca":
        bounds = rng.uniform(0.0, 0.5, (2, contacts))
        bounds[0, ::5] = bounds[1, 1::5] = 0.0
        names = ("radius", "moment") if rows > 3 else ("radius",)
        return {"more": dict(zip(names, bounds, strict=False))}
    if set_name in SHAPED_NAMES:
        return {"more": random_shaped_parameters(rng, contacts, set_name)}
    if set_name in ("disc", "box_friction"):
        mu = rng.uniform(0.1, 1.2, contacts)
        mu[::5] = 0.0
        return {"mu": mu}
    if set_name == "box":
        lo = -rng.uniform(0.0, 1.0, (contacts, rows))
        hi = rng.uniform(0.0, 1.0, (contacts, rows))
        kind = rng.integers(0, 6, (contacts, rows))
        lo[kind == 1], hi[kind == 2] = -np.inf, np.inf
        lo[kind == 3], hi[kind == 3] = -np.inf, np.inf
        hi[kind == 4] = lo[kind == 4]
        lo[kind == 5] = 0.5 * hi[kind == 5]
        return {"lo": lo, "hi": hi}
    return {}


def random_problem(
    rng: np.random.Generator,
    contacts: int,
    bodies: int,
    rows: int,
    dof: int,
    set_name: str,
    *,
    diagonal: bool = False,
    awkward: bool = True,
    partners: int = 2,
) -> ProblemArrays:
    """Random contacts between random bodies, J and b of order one.

    With `awkward` (needs three contacts and two bodies) body 0 is given M^-1 = 0, contact 0 lies
    between it and the world (immovable, where b is zero, so that there is a solution), contact 1
    between it and the last body, and the last contact repeats the one before it: A is singular.
    """
    minv = random_inverse_mass(rng, bodies, dof, diagonal=diagonal)
    pairs = random_bodies(rng, contacts, bodies, partners)
    jacobian = rng.normal(size=(contacts, partners, rows, dof))
    b = rng.normal(size=(contacts, rows))
    parameters = random_set_parameters(rng, contacts, rows, set_name)
    if awkward:
        minv[0] = 0.0
        pairs[:2] = [[-1], [0]]
        pairs[:2, -1] = 0, bodies - 1
        pairs[-1], jacobian[-1] = pairs[-2], jacobian[-2]
        b[(pairs <= 0).all(axis=1)] = 0.0
    if set_name in ("free", "box"):
        # Joints of bodies that move: redundant rows do not contradict each other.
        u = np.where(
            minv.reshape(bodies, -1).any(axis=1)[:, None], rng.normal(size=(bodies, dof)), 0.0
        )
        sides = [np.where(body[:, None] >= 0, u[body], 0.0) for body in pairs.T]
        b = sum(np.einsum("kmd,kd->km", jacobian[:, i], sides[i]) for i in range(partners))
    if awkward and set_name == "box":
        # The impulse of an immovable contact is zero, so zero has to be allowed there.
        immovable = (pairs <= 0).all(axis=1)
        parameters["lo"][immovable], parameters["hi"][immovable] = -0.5, 0.5
    return ProblemArrays(jacobian, minv, b, pairs, set_name, **parameters)


def random_impulses(rng: np.random.Generator, arrays: ProblemArrays) -> np.ndarray:
    """Impulses (K, m) in the sets and away from a solution, zero where nothing can move."""
    problem = ReferenceProblem.from_arrays(arrays)
    guess = rng.normal(size=arrays.b.shape)
    for k, one in enumerate(problem.sets):
        guess[k] = 0.0 if problem.immovable(k) else one.prox(guess[k])
    return guess


def slightly_unsymmetric(
    rng: np.random.Generator, delassus: np.ndarray, defect: float = 2e-3
) -> np.ndarray:
    """A with every entry off by up to `defect`, as large as the defect of FCLIB's matrices."""
    return delassus * (1.0 + defect * rng.uniform(-1.0, 1.0, delassus.shape))
