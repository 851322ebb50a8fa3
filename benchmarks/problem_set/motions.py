"""The motions that the problem set is taken from, and their steps as problems that FCLIB can hold.

Every step of every motion is solved by the same number of Gauss-Seidel sweeps, so that the motion
does not depend on how a method chooses what to do. A scene without random numbers of its own is
pushed at its beginning: by random accelerations for its first steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import contactsolve as cs

SWEEPS = 200  # of every step
PUSHED = 20  # steps
RIGID = {"compliance": 0.0}
GRAVITY = 9.81


@dataclass(frozen=True)
class Motion:
    """A scene with options, the seeds that it is run with, and the steps that are taken from it.

    Attributes
    ----------
    scene, options
        Of `contactsolve.dynamics.scenes`.
    seed
        Name of the scene's own option for random numbers; None: it is pushed instead.
    push
        Standard deviation of the accelerations of a push, in multiples of gravity.
    """

    scene: str
    options: dict[str, Any] = field(default_factory=dict)
    steps: tuple[int, ...] = (1, 10, 50, 200, 600)
    seeds: tuple[int, ...] = (0, 1, 2)
    seed: str | None = None
    push: float = 0.3
    label: str = ""

    @property
    def name(self) -> str:
        return self.label or self.scene

    def told(self, seed: int) -> str:
        """Return the call that makes the world, as text."""
        options = [f"{key}={value!r}" for key, value in self.options.items()]
        if self.seed:
            options.append(f"{self.seed}={seed}")
        return f"cs.dynamics.scenes.{self.scene}({', '.join(options)})"

    def world(self, seed: int) -> cs.dynamics.World:
        own = {self.seed: seed} if self.seed else {"forces": push_of(self.push, seed)}
        sweeps = {"method": "gauss_seidel", "max_iterations": SWEEPS, "rtol": None, "atol": None}
        scene = getattr(cs.dynamics.scenes, self.scene)
        return scene(**self.options, **own, **sweeps, threads=1)


def push_of(size: float, seed: int) -> Any:
    """Return forces on all bodies in the first steps of a world: random, but the same each step."""
    drawn: list[np.ndarray] = []

    def forces(world: cs.dynamics.World) -> Any:
        if world.steps >= PUSHED:
            return None
        if not drawn:
            shape = world.velocities.shape
            each = np.random.default_rng(seed).standard_normal(shape)
            each[:, world.dimension :] = 0.0
            drawn.append(size * GRAVITY * world.masses[:, None] * each)
        return drawn[0]

    return forces


GRAINS = {"seed": "rng"}
MOTIONS = (
    Motion("arch", {"voussoirs": 12}, steps=(1, 15, 25, 60, 300)),
    Motion("arch", {"voussoirs": 24}, steps=(1, 15, 25, 60, 300), label="arch_24"),
    Motion("ball_grid", {"shape": 5}, steps=(1, 20, 100, 200), **GRAINS),
    Motion("cannonballs", {"shape": 5}, steps=(1, 20, 100), **GRAINS),
    Motion("card_house", {"levels": 3}, steps=(1, 15, 30, 100, 400)),
    Motion("card_house", {"levels": 6}, steps=(1, 15, 30, 100, 400), label="card_house_6"),
    Motion("column_collapse", {"count": 200}, steps=(1, 50, 400, 1500, 4000), **GRAINS),
    Motion(
        "column_collapse", {"count": 150, "dimension": 3}, steps=(1, 50, 400, 1500), **GRAINS,
        label="column_collapse_3d",
    ),
    Motion("disc_pyramid", {"layers": 12}, steps=(1, 10, 30, 60)),
    Motion("disc_pyramid", {"layers": 24}, steps=(1, 10, 30, 60), label="disc_pyramid_24"),
    Motion("domino_row", {"count": 16}, steps=(1, 15, 100, 400, 600)),
    Motion("hoisted_chain", RIGID, steps=(1, 20, 60, 200), push=0.5),
    Motion("hopper", {"count": 200}, steps=(1, 50, 400, 1500), **GRAINS),
    Motion("overhanging_tower", {"bricks": 8}, steps=(1, 15, 25, 100, 300)),
    Motion(
        "overhanging_tower", {"bricks": 20}, steps=(1, 15, 25, 100), label="overhanging_tower_20"
    ),
    Motion("pile", {"count": 60, "time_step": 2e-3}, steps=(150, 300, 600, 1200), **GRAINS),
    Motion(
        "pile", {"count": 80, "shapes": "box", "time_step": 2e-3}, steps=(150, 300, 600, 1200),
        **GRAINS, label="pile_of_boxes",
    ),
    Motion("ragdolls", {"count": 3}, steps=(200, 320, 500, 900), seed="seed"),
    Motion("spheres_in_a_box", {"count": 200}, steps=(100, 300, 600, 1500), **GRAINS),
    Motion("winch", RIGID, steps=(1, 20, 60, 200), push=0.5),
)  # fmt: skip


# ---- problems that FCLIB can hold ----------------------------------------------------------------


def as_fclib(problem: cs.Problem) -> cs.Problem:
    """Return a step's problem with friction discs and bilateral constraints alone.

    A limit of a joint, and a contact without friction, become contacts with friction 0, whose
    tangents have no effect. A motor becomes a bilateral constraint: the bound of its force is left
    out.
    """
    if not problem.grouped:
        if problem.sets.name == "disc":
            return problem
        group = _as_contacts(problem, 0, 3 if problem.rows == 1 else problem.rows)
        return cs.Problem(groups=[group], bodies=[_bodies(problem.Minv)])
    friction = [layout.rows for layout in problem._groups if layout.set.name == "disc"]
    rows = friction[0] if friction else 3
    contacts, joints = [], []
    for g, layout in enumerate(problem._groups):
        if layout.set.name in ("free", "box"):
            joints.append(_group(problem, g, sets=cs.sets.free()))
        elif layout.set.name == "disc":
            contacts.append(_group(problem, g, sets=layout.set))
        else:
            contacts.append(_as_contacts(problem, g, rows))
    return cs.Problem(groups=contacts + joints, bodies=[_bodies(problem.Minv[0])])


def _bodies(inverse: np.ndarray) -> cs.Bodies:
    return cs.Bodies(inverse, diagonal=True) if inverse.ndim == 2 else cs.Bodies(inverse)


def _arrays(problem: cs.Problem, g: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if not problem.grouped:
        return problem.J, problem.bodies, problem.b
    return problem.J[g], problem.bodies[g], problem.b[g]


def _group(problem: cs.Problem, g: int, **options: Any) -> cs.Group:
    J, bodies, b = _arrays(problem, g)
    return cs.Group(J, bodies, b, **options)


def _as_contacts(problem: cs.Problem, g: int, rows: int) -> cs.Group:
    """Return rows of a half-line as contacts with friction 0, with tangents of the same size."""
    J, bodies, b = _arrays(problem, g)
    wide = np.zeros((*J.shape[:2], rows, J.shape[3]))
    wide[:, :, 0] = J[:, :, 0]
    half = J.shape[3] // 2
    for k, normal in enumerate(J[:, :, 0]):
        # The three numbers that determine the tangents: of the first part that is not zero.
        parts = normal.reshape(-1, half) if half == 3 else normal
        first = parts[np.flatnonzero(np.abs(parts).sum(axis=-1) > 0)[0]]
        for row, axis in enumerate(_across(first), start=1):
            along = (parts * axis).sum(axis=1)
            turned = np.cross(axis, parts) + axis * along[:, None]
            wide[k, :, row] = turned.reshape(normal.shape)
    values = np.zeros((len(b), rows))
    values[:, 0] = b[:, 0]
    return cs.Group(wide, bodies, values, np.zeros(len(b)))


def _across(vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two unit vectors that are perpendicular to a vector and to each other."""
    helper = np.eye(3)[np.argmin(np.abs(vector))]
    first = np.cross(vector, helper)
    first /= np.sqrt((first * first).sum())
    second = np.cross(vector, first)
    return first, second / np.sqrt((second * second).sum())


# ---- phases --------------------------------------------------------------------------------------


def phase_of(problem: cs.Problem, time_step: float) -> str:
    """Return what contacts do in a step, from their velocities b without impulses.

    At rest they have at most twice the velocity g h of gravity's work in a step. In an impact one
    closes faster than 20 g h. All else is flow.
    """
    each = zip(problem._groups, problem.b if problem.grouped else [problem.b], strict=True)
    found = [b for layout, b in each if layout.set.name != "free"]
    fall = GRAVITY * time_step
    fastest = max(float(np.abs(b).max(initial=0.0)) for b in found)
    closing = max(float((-b[:, 0]).max(initial=0.0)) for b in found)
    if fastest <= 2 * fall:
        return "rest"
    return "impact" if closing > 20 * fall else "flow"


def taken(motion: Motion, seed: int) -> Iterator[tuple[int, cs.Problem, float]]:
    """Yield step, problem and time step of what is taken from a motion; none without contacts."""
    world = motion.world(seed)
    for step in range(1, max(motion.steps) + 1):
        world.step()
        if step not in motion.steps:
            continue
        problem = world.problem()
        if problem is None:
            continue
        problem = as_fclib(problem)
        contacts = [one.contacts for one in problem._groups if one.set.name != "free"]
        if sum(contacts):
            yield step, problem, world.time_step
