"""Random problems of every kind, from a generator alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import judge_numpy as judge

from .spec import Group, Problem, dense_parts, judged

Rng = np.random.Generator

# Rows that each set takes.
SET_ROWS = {
    "free": (1, 2, 3, 4, 5, 6),
    "box": (1, 2, 3, 4, 5, 6),
    "half_line": (1, 2, 3, 4, 5, 6),
    "disc": (2, 3),
    "box_friction": (2, 3),
    "rolling": (5,),
    "ellipse": (3,),
    "polygon": (3,),
    "contensou": (4,),
    "contensou_coupled": (4,),
    "second_order_cone": (2, 3),
    "tresca": (2, 3, 4, 5),
    "support": (3, 4),
}


def chance(rng: Rng, probability: float) -> bool:
    return bool(rng.random() < probability)


def pick(rng: Rng, options):
    """One of a sequence, as it is."""
    return options[int(rng.integers(len(options)))]


def few(rng: Rng, most: int) -> int:
    """A count from 1 to `most`, small ones as likely as large ones."""
    return int(np.exp(rng.uniform(0.0, np.log(most + 0.999))))


# ---------------------------------------------------------------------------------------------
# Parts
# ---------------------------------------------------------------------------------------------


def inverse_masses(rng: Rng, count: int, dof: int) -> np.ndarray:
    """Diagonals (n, d) or blocks (n, d, d) over two decades; now and then an immovable body."""
    values = 10.0 ** rng.uniform(-1.0, 1.0, (count, dof))
    if chance(rng, 0.2):
        values[int(rng.integers(count))] = 0.0
    if chance(rng, 0.5):
        return values
    turns = np.linalg.qr(rng.normal(size=(count, dof, dof)))[0]
    blocks = np.einsum("bij,bj,bkj->bik", turns, values, turns)
    return 0.5 * (blocks + blocks.transpose(0, 2, 1))


def friction(rng: Rng, contacts: int, most: float = 10.0) -> np.ndarray:
    """Coefficients from none to `most`."""
    kind = int(rng.integers(4))
    if kind == 0:
        return np.full(contacts, float(pick(rng, (0.0, 0.3, 1.0, most))))
    mu = rng.uniform(0.0, 1.2, contacts) if kind < 3 else most ** rng.uniform(-1, 1, contacts)
    mu[rng.random(contacts) < 0.1] = 0.0
    return mu


def boxes(rng: Rng, contacts: int, rows: int) -> dict[str, np.ndarray]:
    """One-sided, two-sided, unbounded, of no width, and away from zero."""
    lo, hi = -rng.uniform(0.0, 1.0, (contacts, rows)), rng.uniform(0.0, 1.0, (contacts, rows))
    kind = rng.integers(0, 8, (contacts, rows))
    lo[(kind == 1) | (kind == 3)] = -np.inf
    hi[(kind == 2) | (kind == 3)] = np.inf
    lo[kind == 4] = hi[kind == 4]
    lo[kind == 5] = 0.5 * hi[kind == 5]
    lo[kind == 6], hi[kind == 6] = 0.0, np.inf
    return {"lo": lo, "hi": hi}


def corners(rng: Rng, count: int) -> np.ndarray:
    """A convex polygon around the origin."""
    turns = 2.0 * np.pi * (np.arange(count) + rng.uniform(-0.2, 0.2, count)) / count
    found = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    return found[::-1].copy() if chance(rng, 0.5) else found


def shape(rng: Rng, rows: int) -> tuple:
    """A shape for a support function."""
    a, b, c = (float(x) for x in rng.uniform(0.1, 1.5, 3))
    if rows == 4:
        return ("ellipsoid", a, b, c)
    name = pick(
        rng, ("disc", "ellipse", "points", "rhombus", "rectangle", "round", "function", "ellipse")
    )
    if name == "disc":
        return (name, a)
    if name == "points":
        return (name, corners(rng, int(rng.integers(3, 8))))
    if name == "round":
        return (name, a, corners(rng, int(rng.integers(3, 8))))
    return (name, a, b)


def parameters(rng: Rng, name: str, contacts: int, rows: int) -> dict[str, np.ndarray]:
    """What a set asks for, for each contact."""
    if name in ("free", "half_line"):
        return {}
    if name == "box":
        return boxes(rng, contacts, rows)
    if name == "tresca":
        bounds = rng.uniform(0.0, 0.5, (2, contacts))
        bounds[rng.random((2, contacts)) < 0.1] = 0.0
        return dict(zip(("radius", "moment")[: 1 + (rows > 3)], bounds, strict=False))
    mu = friction(rng, contacts)
    if name == "ellipse":
        angle = rng.uniform(-4, 4, contacts) * (rng.random() < 0.7)
        return {"mu1": mu, "mu2": friction(rng, contacts), "angle": angle}
    if name == "polygon":
        count = int(rng.integers(3, 9))
        vertices = np.stack([corners(rng, count) for _ in range(contacts)])
        return {"mu": mu, "vertices": vertices}
    if name in ("contensou", "contensou_coupled"):
        radius = rng.uniform(0.0, 2.0, contacts)
        radius[rng.random(contacts) < 0.1] = 0.0
        return {"mu": mu, "radius": radius}
    return {"mu": mu, "mu_r": friction(rng, contacts, 2.0)} if name == "rolling" else {"mu": mu}


def frame_jacobian(rng: Rng, contacts: int, rows: int, dof: int) -> np.ndarray | None:
    """(K, 2, m, d): contact frames and lever arms of rigid bodies, in the plane or in space."""
    J = np.zeros((contacts, 2, rows, dof))
    for k in range(contacts):
        arms = rng.uniform(-1.0, 1.0, (2, 3))
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0].T
        for side, sign in ((0, -1.0), (1, 1.0)):
            if dof == 6:
                linear = turn[: min(rows, 3)]
                J[k, side, : len(linear), :3] = sign * linear
                J[k, side, : len(linear), 3:] = sign * np.cross(arms[side], linear)
                turning = turn[:1] if rows == 4 else turn[1:]
                J[k, side, 3:, 3:] = sign * turning[: rows - len(linear)]
            else:
                n = turn[0, :2] / np.linalg.norm(turn[0, :2])
                axes = np.array([n, [-n[1], n[0]]])[:rows]
                J[k, side, :, :2] = sign * axes
                cross = arms[side, 0] * axes[:, 1] - arms[side, 1] * axes[:, 0]
                J[k, side, :, 2] = sign * cross
    return J


def jacobian(
    rng: Rng, contacts: int, rows: int, dofs: tuple[int, int], form: str
) -> tuple[np.ndarray, np.ndarray]:
    """A pair (K, m, d_i), (K, m, d_j): of frames where that is meant, else at random."""
    dof = dofs[0]
    framed = dofs[0] == dofs[1] and ((dof == 6 and rows <= 5) or (dof == 3 and rows <= 2))
    if framed and form == "frames":
        J = frame_jacobian(rng, contacts, rows, dof)
        return J[:, 0].copy(), J[:, 1].copy()
    return rng.normal(size=(contacts, rows, dofs[0])), rng.normal(size=(contacts, rows, dofs[1]))


def group(
    rng: Rng,
    name: str,
    rows: int,
    contacts: int,
    counts: list[int],
    dofs: list[int],
    form: str,
    *,
    chain: bool = False,
) -> Group:
    """Contacts of one set between bodies of one or two groups of bodies, and the world."""
    starts = np.cumsum([0, *counts])
    kinds = [int(rng.integers(len(counts))) for _ in range(2)]
    pairs = np.empty((contacts, 2), np.int64)
    for k in range(contacts):
        for side, kind in enumerate(kinds):
            pairs[k, side] = starts[kind] + int(rng.integers(counts[kind]))
        if chain:
            at = k % max(1, counts[kinds[0]])
            pairs[k] = starts[kinds[0]] + at - 1 if at else -1, starts[kinds[0]] + at
        elif (pairs[k, 0] == pairs[k, 1] and not chance(rng, 0.1)) or chance(rng, 0.25):
            pairs[k, int(rng.integers(2))] = -1
    if chain:
        kinds[1] = kinds[0]
    J = jacobian(rng, contacts, rows, (dofs[kinds[0]], dofs[kinds[1]]), form)
    b = rng.normal(size=(contacts, rows))
    if chance(rng, 0.5):
        b[:, 0] = -np.abs(b[:, 0])
    given = parameters(rng, name, contacts, rows)
    made = Group(name, given, b, pairs, J)
    if name == "support":
        made.shape = shape(rng, rows)
    return made


def one_group(rng: Rng, kind: str, name: str, rows: int, dof: int, most: int = 30) -> Problem:
    """Contacts of one set between bodies of one kind."""
    contacts = few(rng, most)
    count = few(rng, contacts + 3)
    form = pick(rng, ("frames", "random"))
    chain = chance(rng, 0.4)
    made = group(rng, name, rows, contacts, [count], [dof], form, chain=chain)
    return Problem(kind, "bodies", [made], [inverse_masses(rng, count, dof)])


def several_groups(rng: Rng, kind: str, names: list[str], dofs: list[int], most: int) -> Problem:
    """Groups of those sets, on bodies of these degrees of freedom."""
    counts = [few(rng, 8) for _ in dofs]
    form = pick(rng, ("frames", "random"))
    groups = []
    for name in names:
        rows, contacts = int(pick(rng, SET_ROWS[name])), few(rng, most)
        groups.append(group(rng, name, rows, contacts, counts, dofs, form))
    masses = [inverse_masses(rng, n, d) for n, d in zip(counts, dofs, strict=True)]
    return Problem(kind, "groups", groups, masses)


# ---------------------------------------------------------------------------------------------
# Kinds
# ---------------------------------------------------------------------------------------------


def coulomb(rng: Rng) -> Problem:
    return one_group(rng, "coulomb", "disc", 3, 6)


def planar(rng: Rng) -> Problem:
    name = pick(rng, ("disc", "half_line", "box_friction", "box", "free", "second_order_cone"))
    rows = pick(rng, [m for m in SET_ROWS[name] if m <= 2])
    return one_group(rng, "planar", name, rows, 3)


def one_set(rng: Rng) -> Problem:
    name = pick(rng, list(SET_ROWS))
    rows = int(pick(rng, SET_ROWS[name]))
    return one_group(rng, "one_set", name, rows, int(pick(rng, (3, 6, 6))))


def general(rng: Rng) -> Problem:
    """Any degrees of freedom."""
    name = pick(rng, ("disc", "half_line", "box", "second_order_cone", "box_friction"))
    rows = int(pick(rng, SET_ROWS[name]))
    return one_group(rng, "general", name, rows, int(pick(rng, (1, 2, 4, 5, 7, 12))), 15)


def mixed(rng: Rng) -> Problem:
    names = [pick(rng, list(SET_ROWS)) for _ in range(few(rng, 4))]
    dofs = [int(pick(rng, (3, 6, 6, 2, 9))) for _ in range(few(rng, 3))]
    return several_groups(rng, "mixed", names, dofs, 8)


def joints(rng: Rng) -> Problem:
    names = ["free", pick(rng, ("disc", "half_line", "box", "box_friction", "second_order_cone"))]
    return several_groups(rng, "joints", names, [int(pick(rng, (3, 6)))], 8)


def box_rows(rng: Rng) -> Problem:
    name = pick(rng, ("box", "half_line", "box_friction"))
    rows = int(pick(rng, [m for m in SET_ROWS[name] if m <= 3]))
    return one_group(rng, "boxes", name, rows, int(pick(rng, (3, 6))))


def stack(rng: Rng) -> Problem:
    """Bodies on each other whose masses differ by up to 1e8."""
    problem = one_group(rng, "stack", pick(rng, ("disc", "half_line", "free")), 3, 6, 12)
    ratio = 10.0 ** rng.uniform(0.0, 8.0)
    masses = problem.inverse_masses[0]
    scale = ratio ** np.linspace(0.0, 1.0, len(masses))
    if chance(rng, 0.5):
        scale = np.where(rng.random(len(masses)) < 0.5, 1.0, ratio)
    masses *= scale.reshape(-1, *[1] * (masses.ndim - 1))
    return problem


def redundant(rng: Rng) -> Problem:
    """Fewer bodies than contacts need, repeated contacts, rows of zeros."""
    name = pick(rng, ("disc", "half_line", "free", "box", "second_order_cone", "box_friction"))
    problem = one_group(rng, "redundant", name, 3, int(pick(rng, (3, 6))))
    one = problem.groups[0]
    if chance(rng, 0.6):
        kept = rng.integers(0, one.contacts, one.contacts + few(rng, 4))
        noise = rng.normal(size=(len(kept), one.rows)) * chance(rng, 0.5)
        problem.groups[0] = one = one.of_contacts(kept)
        one.b = one.b + noise
    if chance(rng, 0.3):
        row = int(rng.integers(one.rows))
        for half in one.J:
            half[:, row] = 0.0
    if chance(rng, 0.3):
        for half in one.J:
            half[:, -1] = half[:, 0]
    return problem


def islands(rng: Rng) -> Problem:
    """Parts that share no body, of velocities and masses far apart."""
    count, name = int(rng.integers(2, 5)), pick(rng, ("disc", "half_line", "box_friction"))
    rows, dof = int(pick(rng, (2, 3))), int(pick(rng, (3, 6)))
    parts = [one_group(rng, "islands", name, rows, dof, 8) for _ in range(count)]
    speeds = 10.0 ** rng.uniform(-8.0, 2.0, count)
    masses, groups, start = [], [], 0
    for part, speed in zip(parts, speeds, strict=True):
        one, inverse = part.groups[0], part.inverse_masses[0]
        if inverse.ndim == 2:
            inverse = np.stack([np.diag(x) for x in inverse])
        one.bodies = np.where(one.bodies < 0, -1, one.bodies + start)
        one.b *= speed
        start += len(inverse)
        masses.append(inverse * 10.0 ** rng.uniform(-3.0, 3.0))
        groups.append(one)
    joined = Group(
        name,
        {key: np.concatenate([g.parameters[key] for g in groups]) for key in groups[0].parameters},
        np.concatenate([g.b for g in groups]),
        np.concatenate([g.bodies for g in groups]),
        tuple(np.concatenate([g.J[side] for g in groups]) for side in range(2)),
    )
    return Problem("islands", "bodies", [joined], [np.concatenate(masses)])


def given(rng: Rng) -> Problem:
    """A itself, symmetric or not, definite or not, with zeros on its diagonal."""
    name = pick(rng, ("disc", "half_line", "box", "free", "box_friction", "second_order_cone"))
    rows = int(pick(rng, [m for m in SET_ROWS[name] if m <= 3]))
    problem = one_group(rng, "given", name, rows, 6, 20)
    J, _, inverse = dense_parts(problem)
    A = J @ inverse @ J.T
    A = 0.5 * (A + A.T)
    kind = int(rng.integers(6))
    pattern = A != 0.0
    noise = rng.uniform(-1.0, 1.0, A.shape)
    if kind == 1:
        A = A * (1.0 + 2e-3 * noise)
    elif kind == 2:
        A = A + 0.3 * np.max(np.abs(A)) * np.triu(noise, 1) * pattern
    elif kind == 3:
        A = noise * pattern
        np.fill_diagonal(A, np.abs(np.diag(A)))
    elif kind == 4:
        at = rng.random(len(A)) < 0.2
        A[at, at] = 0.0
    if kind in (1, 2, 3, 4):
        problem.tags.append(("slightly", "clearly", "indefinite", "zero_diagonal")[kind - 1])
    problem.A, problem.form, problem.inverse_masses = A, "delassus", []
    problem.storage = pick(rng, ("dense", "csr", "bsr", "triple", "coo"))
    problem.groups[0].bodies = problem.groups[0].J = None
    return problem


def pattern(rng: Rng) -> Problem:
    """J as a matrix of any pattern."""
    problem = one_group(rng, "pattern", pick(rng, ("disc", "half_line", "free")), 3, 6, 12)
    problem.form, problem.storage = "pattern", pick(rng, ("dense", "csr", "csc", "coo"))
    return problem


def infeasible(rng: Rng) -> Problem:
    """No solution: pinched balls, joint rows or boxes that contradict each other."""
    dof, kind = int(pick(rng, (3, 6))), int(rng.integers(4))
    name = ("half_line", "free", "box", "disc")[kind]
    rows = 2 if name == "disc" and dof == 3 else 3 if name == "disc" else 1
    J = jacobian(rng, 1, rows, (dof, dof), "frames")
    pairs = np.array([[-1, 0], [-1, 0]])
    sign = np.array([1.0, 1.0 if name == "free" else -1.0])[:, None, None]
    halves = tuple(np.concatenate([half, half]) * sign for half in J)
    b = np.zeros((2, rows))
    b[:, 0] = -rng.uniform(0.1, 1.0, 2)
    values = parameters(rng, name, 2, rows)
    if name == "box":
        values = {"lo": np.zeros((2, 1)), "hi": np.full((2, 1), np.inf)}
    if name == "free":
        b[1] = -b[0]
    bad = Group(name, values, b, pairs, halves)
    problem = Problem("infeasible", "groups", [bad], [inverse_masses(rng, 2, dof)])
    if not problem.inverse_masses[0][0].any():
        problem.inverse_masses[0][0] = problem.inverse_masses[0][1]
    if chance(rng, 0.6):
        other = pick(rng, ("disc", "half_line", "free", "box"))
        m = int(pick(rng, SET_ROWS[other][:3]))
        problem.groups.append(group(rng, other, m, few(rng, 6), [2], [dof], "frames"))
    else:
        problem.form = "bodies"
    return problem


def immovable(rng: Rng) -> Problem:
    """Contacts between bodies that nothing moves, feasible or not."""
    problem = one_group(rng, "immovable", pick(rng, ("disc", "half_line", "free", "box")), 3, 6, 8)
    one, masses = problem.groups[0], problem.inverse_masses[0]
    masses[0] = 0.0
    one.bodies[0] = (-1, 0)
    if chance(rng, 0.6):
        one.b[0] = 0.0
    elif chance(rng, 0.5):
        one.b[0, 0] = abs(one.b[0, 0])
    return problem


KINDS: dict[str, Callable[[Rng], Problem]] = {
    "coulomb": coulomb,
    "planar": planar,
    "one_set": one_set,
    "general": general,
    "mixed": mixed,
    "joints": joints,
    "boxes": box_rows,
    "stack": stack,
    "redundant": redundant,
    "islands": islands,
    "given": given,
    "pattern": pattern,
    "infeasible": infeasible,
    "immovable": immovable,
}


# ---------------------------------------------------------------------------------------------
# What is done to a problem of any kind
# ---------------------------------------------------------------------------------------------


def rescale(problem: Problem, impulse: float, velocity: float) -> None:
    """Other units: impulses, and with them bounds, times one factor, velocities times another."""
    unit = velocity / impulse
    for one in problem.inverse_masses:
        one *= unit
    if problem.A is not None:
        problem.A *= unit
    for one in problem.groups:
        one.b = one.b * velocity
        if one.compliance is not None:
            one.compliance = one.compliance * unit
        for name in ("lo", "hi", "radius", "moment"):
            if name in one.parameters and one.set_name in ("box", "tresca"):
                one.parameters[name] = one.parameters[name] * impulse


def stretch(problem: Problem, length: float) -> None:
    """Another unit of length for the angular velocities of rigid bodies: A stays as it is."""
    for at, one in enumerate(problem.inverse_masses):
        dof = one.shape[1]
        if dof not in (3, 6):
            continue
        scale = np.ones(dof)
        scale[dof // 2 if dof == 6 else 2 :] = length
        problem.inverse_masses[at] = one / (scale**2 if one.ndim == 2 else np.outer(scale, scale))
    for one in problem.groups:
        for half in one.J or ():
            dof = half.shape[2]
            if dof in (3, 6):
                half[:, :, dof // 2 if dof == 6 else 2 :] *= length


def soften(rng: Rng, problem: Problem) -> None:
    """Compliance from none to large, of the size of A's diagonal and far from it."""
    if problem.A is not None:
        return
    size = 10.0 ** rng.uniform(-10.0, 4.0)
    for one in problem.groups:
        one.compliance = size * rng.uniform(0.0, 1.0, one.b.shape)
        one.compliance[rng.random(one.b.shape) < 0.1] = 0.0
    problem.tags.append("compliance")


def make_feasible(rng: Rng, problem: Problem) -> None:
    """b for which impulses drawn at random solve the problem."""
    reference = judged(problem)
    z = rng.normal(size=len(reference.b)) * 10.0 ** rng.uniform(-1.0, 1.0)
    with np.errstate(all="ignore"):
        known, b = judge.solution_by_construction(reference, z)
    for one, part in zip(problem.groups, problem.split(b), strict=True):
        one.b = part.copy()
    problem.known = known
    problem.tags.append("known")


def random_problem(rng: Rng, kinds: list[str] | None = None) -> Problem:
    """A problem of some kind, changed in some ways."""
    problem = KINDS[pick(rng, kinds or list(KINDS))](rng)
    if chance(rng, 0.2):
        soften(rng, problem)
    if chance(rng, 0.15):
        stretch(problem, 10.0 ** rng.uniform(-3.0, 3.0))
    if chance(rng, 0.3) and problem.kind not in ("infeasible", "immovable"):
        make_feasible(rng, problem)
    elif chance(rng, 0.08):
        for one in problem.groups:
            one.b = np.zeros_like(one.b)
        problem.tags.append("still")
    if chance(rng, 0.25):
        impulse, velocity = 10.0 ** rng.uniform(-9.0, 9.0, 2)
        rescale(problem, float(impulse), float(velocity))
        if problem.known is not None:
            problem.known = problem.known * impulse
        problem.tags.append("units")
    diagonal = all(one.ndim == 2 and np.all(one > 0.0) for one in problem.inverse_masses)
    problem.as_mass = diagonal and problem.form in ("bodies", "groups") and chance(rng, 0.2)
    if problem.form == "bodies" and chance(rng, 0.2):
        problem.form = "groups"
    return problem
