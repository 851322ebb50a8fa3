"""The fixed list of problems that methods are compared on: real ones, and scenarios with seeds.

A problem marked as held out is one of the third that rules are not tuned on, only checked.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import contactsolve as cs
from common import ROOT
from common import hard_problems as hard

FOLDERS = (ROOT / "tests" / "reference" / "fclib", Path(cs.data.__file__).parent)


@dataclass(frozen=True)
class Entry:
    """One problem of the list.

    Attributes
    ----------
    name, kind
        What it is called, and where it comes from.
    make
        Builds it; FileNotFoundError where its file is in none of the folders.
    short
        It belongs to the subset of 20 minutes.
    held
        It is held out.
    """

    name: str
    kind: str
    make: Callable[[], cs.Problem]
    short: bool
    held: bool


def from_file(name: str, folders: tuple[Path, ...]) -> cs.Problem:
    """Return an FCLIB problem from the first folder that has its file."""
    for folder in folders:
        path = folder / f"{name}.hdf5"
        if path.exists():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about matrices as stored
                return cs.io.read_fclib(path)
    raise FileNotFoundError(name)


def spinning(name: str, seed: int, **options: object) -> cs.Problem:
    """Return contacts of a scenario with random velocities before the step."""
    return hard.moved(getattr(cs.scenarios, name)(**options), seed)


# Name, and whether it belongs to the subset.
FILES = (
    ("Box_Stacks-i0122-82-5.reduced_local", True),
    ("Capsules-i100-1090", True),
    ("Capsules-i101-404", False),
    ("Capsules-i122-1617", True),
    ("Capsules-i125-1213", False),
    ("Chute-ndof-768-nc-4-3", True),
    ("Confeti-ex13", True),
    ("Confeti-ex13-4contact", True),
    ("FrictionContactProblem00071.2d", True),
    ("FrictionContactProblem00727.2d", False),
    ("KaplasTower-i1061-4", True),
    ("LMGC_GFC3D-i00501-4-00000.reduced_local", True),
    ("LMGC_GFC3D_FEM-00046.reduced_local", True),
    ("NESpheres_30_1", True),
    ("OneObject-i100000-499", True),
    ("Rover1039", False),
    ("Rover1040", True),
    ("Rover11035", False),
    ("Rover3865", True),
    ("Rover4396", False),
    ("fc2d_granularflowonwall_07002_00801.2d", True),
    ("local_problem_test", True),
    ("spheres-in-a-box-98-i10000-256-10.reduced_local", True),
)

# Name, builder of a seed, seeds of the subset, further seeds.
SCENES: tuple[tuple[str, Callable[[int], cs.Problem], int, int], ...] = (
    ("box_stack", lambda s: spinning("box_stack", s, count=10), 2, 2),
    ("box_stack_1000kg", lambda s: spinning("box_stack", s, count=10, top_mass=1000.0), 2, 2),
    ("ball_grid_5", lambda s: hard.ball_grid(5, s), 1, 2),
    ("ball_grid_8", lambda s: hard.ball_grid(8, s), 2, 2),
    ("ball_grid_10", lambda s: hard.ball_grid(10, s), 1, 1),
    ("ball_grid_12", lambda s: hard.ball_grid(12, s), 0, 1),
    ("ball_grid_16", lambda s: hard.ball_grid(16, s), 0, 1),
    ("loose_pile_400", lambda s: hard.loose_pile(400, s), 2, 2),
    ("loose_pile_3000", lambda s: hard.loose_pile(3000, s), 0, 2),
    ("ball_pile_40", lambda s: cs.scenarios.ball_pile(40, rng=s), 1, 2),
    ("cannonballs_6", lambda s: spinning("ball_grid", s, shape=6, layout="cannonball"), 1, 2),
    ("disc_pyramid_30", lambda s: spinning_discs(30, s), 1, 2),
    ("random_300", lambda s: cs.scenarios.random(300, 200, rng=s), 2, 2),
    ("random_heavy", lambda s: cs.scenarios.random(100, 80, mass_ratio=1e4, rng=s), 2, 2),
    ("random_redundant", lambda s: cs.scenarios.random(120, 20, redundancy=0.5, rng=s), 1, 2),
    ("log_tower", lambda s: cs.scenarios.log_tower(60, seed=s), 1, 2),
    ("forwarder", lambda s: cs.scenarios.forwarder(60, seed=s), 1, 2),
    ("chain", lambda s: cs.scenarios.chain(60, seed=s), 1, 2),
    ("winch", lambda s: cs.scenarios.winch(60, seed=s), 1, 1),
    ("vehicle", lambda s: cs.scenarios.vehicle(60, seed=s), 0, 2),
    ("frictionless_8", lambda s: frictionless(8, s), 1, 1),
    ("ball_grid_13", lambda s: hard.ball_grid(13, s), 0, 1),
    ("ball_grid_24", lambda s: hard.ball_grid(24, s), 0, 1),
    ("box_stack_30_heavy", lambda s: spinning("box_stack", s, count=30, top_mass=1000.0), 0, 2),
    ("random_3000", lambda s: cs.scenarios.random(3000, 1500, rng=s), 0, 2),
    ("crane", lambda s: cs.scenarios.crane(60, seed=s), 0, 2),
    ("offshore", lambda s: cs.scenarios.offshore(60, seed=s), 0, 1),
    ("forklift", lambda s: cs.scenarios.forklift(60, seed=s), 0, 1),
)


def spinning_discs(layers: int, seed: int) -> cs.Problem:
    """Return a pyramid of discs under gravity with random velocities before the step."""
    scene = cs.scenarios.disc_pyramid(layers, ground=True, gravity=9.81)
    velocity = hard.SPEED * np.random.default_rng(seed).standard_normal(scene.Minv.shape[:2])
    velocity = np.vstack([velocity, np.zeros(velocity.shape[1])])
    b = scene.b + np.einsum("ksmd,ksd->km", scene.J, velocity[scene.bodies])
    return cs.Problem(scene.J, scene.Minv, b, scene.mu, bodies=scene.bodies, name=scene.name)


def frictionless(n: int, seed: int) -> cs.Problem:
    """Return a grid of balls without friction."""
    scene = hard.ball_grid(n, seed)
    sets = cs.sets.half_line()
    return cs.Problem(scene.J[:, :, :1], scene.Minv, scene.b[:, :1], bodies=scene.bodies, sets=sets)


def problem_of(entry: Entry) -> cs.Problem | None:
    """Return the problem; None, which is printed, where its file is in none of the folders."""
    try:
        return entry.make()
    except FileNotFoundError:
        print(f"{entry.name}: not in the folders")
        return None


def listed(folders: tuple[Path, ...] = FOLDERS, first_seed: int = 0) -> Iterator[Entry]:
    """All problems of the list; every third of each kind is held out.

    With another first seed only scenes, and all of them held out.
    """
    for i, (name, short) in enumerate(FILES if first_seed == 0 else ()):
        yield Entry(name, "fclib", lambda n=name: from_file(n, folders), short, i % 3 == 2)
    number = 0
    for name, make, short, further in SCENES:
        for i in range(short + further):
            seed = first_seed + i
            held = first_seed > 0 or number % 3 == 2
            yield Entry(f"{name} #{seed}", "scene", lambda m=make, s=seed: m(s), i < short, held)
            number += 1
