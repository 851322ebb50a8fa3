"""A world: bodies with shapes, materials and joints, stepped through time."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._arrays import real_array
from ..groups import Bodies, Group
from ..problem import Problem
from ..sets import _of_numbers as set_of_numbers
from ._layout import PathLike
from ._placed import PlacedShape
from ._population import Population
from ._restoring import restore
from ._running import Run
from ._solver_options import arguments
from .contacts import Contacts
from .joints import Control, Joints
from .material import Material
from .record import Record

__all__ = ["World"]

_OWN = (
    *("dimension", "gravity", "time_step", "stepper", "activation", "gyroscopic", "tension"),
    *("forces", "allow_overlap", "material", "friction", "contact_compliance"),
)


class Sums(NamedTuple):
    """Sums over the steps of a world. They are replaced as a whole."""

    steps: int  # made
    missed: int  # those whose solve missed its tolerance
    seconds: dict[str, float]


class World(Population):
    """Bodies with shapes, materials and joints, whose contacts are solved step by step.

    Parameters
    ----------
    dimension
        3, or 2 for the plane.
    gravity
        ``(D,)`` [m/s²]; by default 9.81 downwards along the last axis.
    time_step
        [s]
    stepper
        ``"moreau"`` (midpoint rule, S2 Table 4.2) or ``"semi_implicit_euler"`` (S3 eq. 1.14).
    activation
        Contacts with at most this gap are closed [m]. It has to be larger than what the solver's
        tolerance lets bodies move apart in a step: a contact that opens leaves them to fall.
    gyroscopic
        The term ω × Iω: ``"explicit"``, ``"implicit"`` or ``"none"``. Both are of first order: a
        body that tumbles gains energy by the first, loses it by the second, and keeps it, but not
        its angular momentum, without the term.
    tension
        How joints under tension pull bodies back that turn about them: ``"explicit"``, or
        ``"implicit"``, which is stable in any step but damps (Andrews, Teichmann and Kry 2017). A
        link of a chain swings with ω = √(12 T/(m l)) under the force T: ``"explicit"`` needs steps
        below 2/ω.
    forces
        A function of the world, called before each step: forces and moments ``(n, d)`` in the world
        frame [N, N m], or None for none.
    allow_overlap
        Whether bodies may be added where they penetrate others.
    material
        Of shapes that are added without one. Default: ``Material(0.5)``.
    friction
        ``"disc"``, or ``"box"``: materials whose set is a disc bound each tangential impulse by
        ±μλ_n of its own, `contactsolve.sets.box_friction`, which methods that pivot need.
    contact_compliance
        Of all rows of contacts, C [m/N]: C/Δt² is added to their diagonals of A (S3 eq. 1.17).
        Methods that pivot need one where contacts share a load in more ways than one; their
        messages name C/Δt². With ``"semi_implicit_euler"`` a contact under the force f rests C f
        deep; friction creeps.
    **solver
        Options of `contactsolve.Solver` for the problem of each step. Defaults that differ:
        ``max_iterations=200``, ``max_seconds=None``, ``islands=False``, ``record=()``.

    Attributes
    ----------
    positions
        Centres of mass, ``(n, D)`` [m], a read-only view, as the next two; rows of bodies that were
        removed stay.
    orientations
        ``(n, 4)`` unit quaternions w, x, y, z; in the plane angles ``(n,)`` [rad].
    velocities
        ``(n, 6)``: linear before angular, in the world frame [m/s, rad/s]; ``(n, 3)`` in the plane.
    joints, control
        The `Joints`, in space; and the `Control` of their motors, which is set between steps.
    time, steps
        The time [s], and the steps made.
    time_step, gravity
        As given; they cannot be changed.

    Notes
    -----
    Impacts come at the end of a step: bodies may penetrate by their approach in one step, which is
    not corrected (``"semi_implicit_euler"`` closes gaps, but also pushes bodies apart).

    A solve that misses its tolerance does not end the motion: its best impulses are used. `info`
    counts such steps, and the first one warns.

    Each solve begins with the impulses of the step before, of contacts that were closed then and of
    joints. With a method that pivots it also begins with their index set, and the normal impulses
    of that step bound friction: ``max_iterations=1, rtol=None, atol=None`` solves one mixed LCP a
    step. Where none of its contacts had an impulse in the step before, friction has no bound in
    this LCP: then bodies stick that land alone, whatever μ is.

    Examples
    --------
    A ball that falls from 1 m for half a second:

    >>> import contactsolve as cs
    >>> world = cs.dynamics.World(time_step=1e-3)
    >>> world.add_fixed(cs.dynamics.HalfSpace([0, 0, 1]))
    0
    >>> ball = world.add_body(cs.dynamics.Sphere(0.1), [0, 0, 1.1], density=1000.0)
    >>> record = world.run(500)
    >>> bool(0.09 < world.positions[ball, 2] < 0.11)
    True
    """

    def __init__(
        self,
        dimension: int = 3,
        *,
        gravity: Any = None,
        time_step: float = 1e-3,
        stepper: str = "moreau",
        activation: float = 1e-9,
        gyroscopic: str = "explicit",
        tension: str = "explicit",
        forces: Callable[[World], Any] | None = None,
        allow_overlap: bool = False,
        material: Material | None = None,
        friction: str = "disc",
        contact_compliance: float = 0.0,
        **solver: Any,
    ) -> None:
        if dimension not in (2, 3):
            raise ValueError(f"dimension is {dimension!r}: 2 or 3 is needed")
        dimension = int(dimension)
        if dimension == 2 and tension == "implicit":
            raise ValueError("tension is 'implicit': joints need a world in space, dimension is 2")
        if forces is not None and not callable(forces):
            raise TypeError(f"forces is {forces!r}: a function of the world is needed")
        if friction not in ("disc", "box"):
            raise ValueError(f"friction is {friction!r}: 'disc' or 'box' is needed")
        if gravity is None:
            gravity = (0.0, 0.0, -9.81)[-dimension:]
        own = {
            "dimension": int(dimension),
            "time_step": float(time_step),
            "activation": float(activation),
            "contact_compliance": float(contact_compliance),
            "stepper": stepper,
            "gyroscopic": gyroscopic,
            "tension": tension,
        }
        pull = real_array("gravity", gravity)
        self._begin(own, pull, arguments(solver, _OWN), forces, allow_overlap, friction)
        if material is not None:
            # It is added at once: a recording names it even before its first use.
            self._number(material)
            self._default = material

    def _begin(
        self,
        own: dict[str, Any],
        gravity: np.ndarray,
        solver: tuple[Any, ...],
        forces: Callable[[World], Any] | None,
        allow_overlap: bool,
        friction: str,
    ) -> None:
        """Make a world without bodies, from its options as the C library takes them."""
        self._core = _core.World(own, gravity, *solver)
        self._given: dict[str, Any] = {
            "own": own,
            "gravity": gravity.ravel().tolist(),
            "solver": solver,
            "friction": friction,
        }
        self.dimension, self.forces = own["dimension"], forces
        self._allow_overlap = allow_overlap
        self._friction = friction
        self._joints, self._control = Joints(self), Control(self)
        self._materials, self._kept, self._shapes, self._laws = {}, [], [], []
        self._record: Record | None = None
        self._unchecked = None
        self._sums = Sums(0, 0, dict.fromkeys(("collide", "setup", "solve", "step"), 0.0))
        self._default = Material(0.5)
        self._look()

    # ---- state -----------------------------------------------------------------------------------

    @property
    def bodies(self) -> int:
        """The number of bodies, those that were removed included."""
        return len(self._state["mass"])

    @property
    def positions(self) -> np.ndarray:
        """Centres of mass, ``(n, D)`` [m]."""
        return self._state["position"]

    @property
    def orientations(self) -> np.ndarray:
        """Unit quaternions ``(n, 4)``, w first; angles ``(n,)`` in the plane."""
        return self._state["orientation"]

    @property
    def velocities(self) -> np.ndarray:
        """Linear before angular velocities, ``(n, d)``."""
        return self._state["velocity"]

    @property
    def materials(self) -> tuple[Material, ...]:
        """The materials in use, in the order of their first use."""
        return tuple(self._kept)

    @property
    def masses(self) -> np.ndarray:
        """Masses, ``(n,)`` [kg]."""
        return self._state["mass"]

    @property
    def removed(self) -> np.ndarray:
        """Whether each body was removed, ``(n,)``."""
        return self._state["removed"]

    @property
    def shapes(self) -> tuple[PlacedShape, ...]:
        """All shapes with their places; `Contacts.ids` has their indices.

        Those of bodies that were removed stay.
        """
        return tuple(self._shapes)

    @property
    def joints(self) -> Joints:
        """The joints: functions that add them, and what they have at present."""
        return self._joints

    @property
    def control(self) -> Control:
        """The speeds and bounds of the joints' motors."""
        return self._control

    @property
    def time_step(self) -> float:
        """The length of a step [s]."""
        return self._given["own"]["time_step"]

    @property
    def gravity(self) -> tuple[float, ...]:
        """Gravity, ``(D,)`` [m/s²]."""
        return tuple(self._given["gravity"])

    @property
    def time(self) -> float:
        """The time [s]."""
        return self._core.report()["time"]

    @property
    def steps(self) -> int:
        """The steps made."""
        return self._core.report()["steps"]

    @property
    def contacts(self) -> Contacts:
        """The closed contacts of the last step, as copies."""
        found = self._core.contacts()
        ids = np.column_stack([found["shape"], found["feature"]])
        return Contacts(
            ids, found["body"], found["point"], found["normal"], found["gap"], found["impulse"]
        )

    @property
    def timings(self) -> dict[str, float]:
        """Seconds in all steps: finding contacts, set-up, solves, and whole steps."""
        return dict(self._summed().seconds)

    @property
    def info(self) -> dict[str, Any]:
        """The last step's report, and the number of steps whose solve missed its tolerance."""
        return {**self._core.report(), "steps_not_converged": self._summed().missed}

    def energy(self) -> tuple[float, float]:
        """Kinetic energy, and that of gravity with its zero at the origin, of free bodies [J]."""
        return self._core.energy()

    def momentum(self) -> tuple[np.ndarray, np.ndarray]:
        """Linear momentum, and angular momentum about the origin, of free bodies."""
        return self._core.momentum()

    def problem(self) -> Problem | None:
        """Return the contact problem that the last step solved.

        None without contacts and joints, before the first step, and after `load` until the next
        one.

        Contacts are sorted by their ids; those with different sets or rows are groups of it. Joints
        are groups after them, by their numbers: rows that are held (the set `free`), then limits
        (`half_line`), then motors (`box`).
        """
        inverse, groups = self._core.problem()
        if not groups:
            return None
        dof = 6 if self.dimension == 3 else 3
        full = inverse.shape[1] != dof
        inverse = inverse.reshape(-1, dof, dof) if full else inverse
        given = [
            {
                "J": one["jacobian"].reshape(len(one["b"]), 2, one["rows"], dof),
                "bodies": one["bodies"],
                "b": one["b"],
                "sets": set_of_numbers(one["set"], one["rows"], one["parameters"]),
                "compliance": one["compliance"],
            }
            for one in groups
        ]
        if len(given) == 1:
            return Problem(given[0].pop("J"), inverse, **given[0])
        bodies = Bodies(inverse, diagonal=not full)
        return Problem(groups=[Group(**one) for one in given], bodies=[bodies])

    # ---- steps -----------------------------------------------------------------------------------

    def step(self) -> None:
        """Make one step.

        Raises
        ------
        ValueError
            Bodies that were added overlap others, and `allow_overlap` is False; a state or a force
            that is not finite.
        KeyboardInterrupt
            After Ctrl-C; the world is at the end of a whole step.
        """
        forces = None if self.forces is None else self.forces(self)
        if self._unchecked is not None:
            self._check_overlap(self._unchecked)
        self._apply(forces)
        self._summed()
        self._core.step()
        self._summed(warn=True)

    def _summed(self, *, warn: bool = False) -> Sums:
        """Return the sums over all steps.

        Whoever asks adds the last step, unless it is in them: Ctrl-C may come right after a step.
        """
        sums, report = self._sums, self._core.report()
        if report["steps"] == sums.steps:
            return sums
        missed = report["status"] != "converged" and not self._is_as_asked(report["status"])
        seconds = {
            name: before + report["seconds" if name == "step" else f"{name}_seconds"]
            for name, before in sums.seconds.items()
        }
        self._sums = Sums(report["steps"], sums.missed + missed, seconds)
        if warn and missed and self._sums.missed == 1:
            warnings.warn(
                f"step {self.steps}: the solve ended as {report['status']!r} after "
                f"{report['iterations']} iterations; its best impulses are used, here and in "
                f"later steps (World.info counts them)",
                RuntimeWarning,
                stacklevel=3,
            )
        return self._sums

    def _is_as_asked(self, status: str) -> bool:
        """Whether the solver has no tolerance, and made all of its iterations."""
        options = self._given["solver"][0]
        return status == "max_iterations" and bool(
            np.isnan(options["rtol"]) and np.isnan(options["atol"])
        )

    def _apply(self, forces: Any) -> None:
        """Take the forces of the next step."""
        target = self._state["force"]
        if forces is None:
            target[:] = 0.0
            return
        given = real_array("forces", forces)
        if given.shape != target.shape:
            raise ValueError(f"forces has shape {given.shape}: {target.shape} is needed")
        wrong = np.argwhere(~np.isfinite(given))
        if len(wrong):
            index = tuple(wrong[0].tolist())
            raise ValueError(f"forces{list(index)} is {given[index]}: finite numbers are needed")
        target[:] = given

    def run(
        self,
        steps: int,
        record: Iterable[str] | None = None,
        *,
        every: int = 1,
        problems: int | None = None,
        progress: bool = False,
        callback: Callable[[World], object] | None = None,
        control: Callable[[World], object] | None = None,
        file: PathLike | None = None,
        overwrite: bool = False,
    ) -> Record:
        """Make many steps, and return what was recorded.

        Parameters
        ----------
        steps
            How many.
        record
            Names out of `Record.names`; default: ``("time", "contacts", "iterations")``.
        every
            Steps between two rows of the record; the states before the first step and after the
            last one are rows, too.
        problems
            Steps between two contact problems that are kept in ``record.problems``; None: none.
        progress
            Show a progress bar (needs tqdm).
        callback
            Called with the world after each step, before its row. Raising `StopIteration` ends the
            run.
        control
            Called with the world before each step: it sets `World.control`, say.
        file
            A new HDF5 file (needs h5py), to which a frame is written for each row: `World.load`
            goes on from any of them, and `Recording` reads them.
        overwrite
            Whether `file` may replace a file.

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C, with the world at the end of a whole step, which is the last row and
            frame. `World.record` has the rows up to it, as after any other error.
        OSError
            The disk is full, say. The file has the frames before, and the world has gone on.

        Notes
        -----
        A process that is killed leaves a readable file. Frames are in it at once, or if they come
        quickly, several at a time: at most ten times what it takes to write them later.
        """
        run = Run(self, record, every, problems)
        self._record = run.record
        run.make(steps, progress, callback, control, file, overwrite)
        return run.record

    @property
    def record(self) -> Record | None:
        """The record of the last run, also if it did not come to its end; None before."""
        return self._record

    @classmethod
    def load(
        cls,
        file: PathLike,
        frame: int = -1,
        *,
        forces: Callable[[World], Any] | None = None,
        threads: int | None = None,
    ) -> World:
        """Return the world of a frame of a recording, which goes on with the same bits.

        Parameters
        ----------
        file
            A file that `run` has written, or is writing.
        frame
            Its number; from the end if it is negative.
        forces
            As for `World`: a file cannot hold a function.
        threads
            Of the solver; by default as recorded. It changes no bit.

        Returns
        -------
        World
            Its bodies, shapes and materials have the same numbers; `materials` has the latter.
            It has made the steps of the frame. What the last of them solved, `problem`, is lost.

        Raises
        ------
        ValueError
            The file, or this frame of it, is damaged.
        IndexError
            There is no such frame.
        """
        return restore(cls, file, frame, forces, threads)

    def __repr__(self) -> str:
        present = self.bodies - int(np.count_nonzero(self.removed))
        return (
            f"World({present} bodies in {self.dimension}-D, {self._given['own']['stepper']}, "
            f"t = {self.time:g} s)"
        )
