"""A world: bodies with shapes and materials, stepped through time."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import _core
from .._arrays import index_array, real_array
from ..groups import Bodies, Group
from ..problem import Problem
from ..sets import _of_numbers as set_of_numbers
from ._mass import Part, Solid, factor, shift, solid_of, turned
from ._placed import PlacedShape
from ._recorder import PathLike
from ._restoring import restore
from ._running import Run
from ._solver_options import arguments
from .contacts import Contacts
from .material import Material
from .record import Record
from .shapes import Shape

__all__ = ["World"]

_OWN = (
    *("dimension", "gravity", "time_step", "stepper", "activation", "gyroscopic", "forces"),
    *("allow_overlap",),
)
# A body may begin this much deeper than its contacts are closed, in its bounding radius.
_OVERLAP = 1e-3


class World:
    """Bodies with shapes and materials, whose contacts are found and solved step by step.

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
        Contacts with at most this gap are closed [m].
    gyroscopic
        The term ω × Iω: ``"explicit"``, ``"implicit"`` or ``"none"``.
    forces
        A function of the world, called before each step: forces and moments ``(n, d)`` in the world
        frame [N, N m], or None for none.
    allow_overlap
        Whether bodies may be added where they penetrate others.
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
    time, steps
        The time [s], and the steps made.

    Notes
    -----
    A solve that misses its tolerance does not end the motion: its best impulses are used. `info`
    counts such steps, and the first one warns.

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
        forces: Callable[[World], Any] | None = None,
        allow_overlap: bool = False,
        **solver: Any,
    ) -> None:
        if dimension not in (2, 3):
            raise ValueError(f"dimension is {dimension!r}: 2 or 3 is needed")
        dimension = int(dimension)
        if forces is not None and not callable(forces):
            raise TypeError(f"forces is {forces!r}: a function of the world is needed")
        if gravity is None:
            gravity = (0.0, 0.0, -9.81)[-dimension:]
        own = {
            "dimension": int(dimension),
            "time_step": float(time_step),
            "activation": float(activation),
            "stepper": stepper,
            "gyroscopic": gyroscopic,
        }
        pull = real_array("gravity", gravity)
        self._begin(own, pull, arguments(solver, _OWN), forces, allow_overlap)

    def _begin(
        self,
        own: dict[str, Any],
        gravity: np.ndarray,
        solver: tuple[Any, ...],
        forces: Callable[[World], Any] | None,
        allow_overlap: bool,
    ) -> None:
        """Make a world without bodies, from its options as the C library takes them."""
        self._core: _core.World = _core.World(own, gravity, *solver)
        self._given: dict[str, Any] = {
            "own": own,
            "gravity": gravity.ravel().tolist(),
            "solver": solver,
        }
        self.dimension, self.forces = own["dimension"], forces
        self.time_step = own["time_step"]
        self._allow_overlap = allow_overlap
        self._materials: dict[int, int] = {}
        self._kept: list[Material] = []
        self._shapes: list[PlacedShape] = []
        self._laws: list[tuple[tuple[int, int], tuple[Any, ...]]] = []  # pair (-1, -1): a material
        self._record: Record | None = None
        self._unchecked: int | None = None  # the first shape whose overlaps were not tested
        self._missed = 0
        self._seconds = dict.fromkeys(("collide", "setup", "solve", "step"), 0.0)
        self._default = Material(0.5)
        self._look()

    # ---- bodies ----------------------------------------------------------------------------------

    def add_body(
        self,
        shape: Shape | Sequence[tuple[Shape, Any, Any]] | None = None,
        position: Any = None,
        *,
        orientation: Any = None,
        velocity: Any = None,
        mass: float | None = None,
        density: float | None = None,
        inertia: Any = None,
        material: Material | None = None,
        driven: bool = False,
    ) -> int:
        """Add a body, and return its number.

        Parameters
        ----------
        shape
            One shape, or several as ``(shape, position, orientation)`` in a frame of the body, with
            None for a shape that is not moved or not turned. None: no shape.
        position
            Of the centre of mass, ``(D,)`` [m]. The body's frame is moved so that the centre of
            mass is its origin.
        orientation
            ``(4,)`` w, x, y, z; an angle in the plane. Default: not turned.
        velocity
            ``(6,)`` or ``(3,)``; default: at rest.
        mass, density
            Give one of them [kg, kg/m³]; a driven body needs none.
        inertia
            About the centre of mass in the body's frame, ``(3, 3)``, or ``(3,)`` for a diagonal, or
            a number in the plane [kg m²]. Default: that of the shapes with an even density.
        material
            Of its shapes. Default: ``Material(0.5)``.
        driven
            Whatever acts on it, it keeps its velocity.
        """
        parts = self._parts(shape)
        solid = self._mass_of(parts, mass, density, inertia, driven)
        number = self._number(material)
        places = [shift(part.position, self.dimension) - solid.center for part in parts]
        for part in parts:
            turned(part.orientation, self.dimension)
        first = self._core.add_bodies(
            np.array([solid.volume]),
            solid.inertia,
            shift(position, self.dimension).reshape(1, -1),
            turned(orientation, self.dimension).reshape(1, -1),
            self._speed(velocity),
            np.array([bool(driven)]),
        )
        with self._all_or_none(first, 1):
            for part, place in zip(parts, places, strict=True):
                self._attach([part.shape], [first], [place], [part.orientation], number)
        return first

    def add_bodies(
        self,
        shapes: Shape | Iterable[Shape],
        positions: Any,
        *,
        orientations: Any = None,
        velocities: Any = None,
        mass: Any = None,
        density: float | None = None,
        material: Material | None = None,
        driven: bool = False,
    ) -> np.ndarray:
        """Add n bodies with one shape each, and return their numbers ``(n,)``.

        Parameters
        ----------
        shapes
            One shape for all, or n of them.
        positions
            ``(n, D)``
        orientations, velocities
            ``(n, 4)`` and ``(n, 6)``, in the plane ``(n,)`` and ``(n, 3)``, or None.
        mass
            A number, or ``(n,)``; or give `density`.
        material, driven
            As for `add_body`.
        """
        where = real_array("positions", positions)
        if where.ndim != 2 or where.shape[1] != self.dimension:
            raise ValueError(f"positions has shape {where.shape}: (n, {self.dimension}) is needed")
        count = len(where)
        every = [shapes] * count if isinstance(shapes, Shape) else list(shapes)
        if len(every) != count:
            raise ValueError(f"shapes has {len(every)} entries: {count} positions are given")
        for one in every:
            self._fits(one)
        number = self._number(material)
        masses = None if mass is None else np.broadcast_to(real_array("mass", mass), (count,))
        solids = {id(one): solid_of([Part(one)], self.dimension) for one in every}
        own = [solids[id(one)] for one in every]

        # Masses and inertias: those of density 1, scaled.
        volume = np.array([one.volume for one in own])
        scale = factor(volume, masses, density, driven=driven)
        inertia = np.array([scaled * one.inertia for scaled, one in zip(scale, own, strict=True)])
        first = self._core.add_bodies(
            volume * scale,
            inertia,
            where,
            None if orientations is None else real_array("orientations", orientations),
            None if velocities is None else real_array("velocities", velocities),
            np.full(count, bool(driven)),
        )
        with self._all_or_none(first, count):
            self._attach_each(every, [one.center for one in own], first, number)
        return np.arange(first, first + count)

    def add_fixed(
        self,
        shape: Shape,
        position: Any = None,
        *,
        orientation: Any = None,
        material: Material | None = None,
    ) -> int:
        """Add a shape to the fixed world, and return the shape's number."""
        self._fits(shape)
        places = [shift(position, self.dimension)]
        return self._attach([shape], [-1], places, [orientation], self._number(material))

    def remove(self, body: int) -> None:
        """Remove a body with its shapes. Others keep their numbers."""
        self._core.remove(body)
        self._look()

    def place(
        self,
        bodies: int | Sequence[int] | np.ndarray,
        position: Any = None,
        *,
        orientation: Any = None,
        velocity: Any = None,
    ) -> None:
        """Move bodies, or give them other velocities, between two steps.

        Parameters
        ----------
        bodies
            The number of one, or ``(n,)``: all of them are moved before overlaps are tested.
        position
            ``(D,)`` or ``(n, D)``, of centres of mass [m].
        orientation
            ``(4,)`` or ``(n, 4)``; in the plane a number or ``(n,)``.
        velocity
            ``(d,)`` or ``(n, d)``, linear before angular.

        Raises
        ------
        ValueError
            A body is not in the world or would overlap another, unless `allow_overlap`; a value
            that is not finite. Nothing is moved.

        Notes
        -----
        What is None stays as it is. Contacts that are closed before and after keep their impulses
        as the start of the next solve.
        """
        chosen = np.atleast_1d(index_array("bodies", bodies))
        if chosen.ndim != 1 or len(np.unique(chosen)) != len(chosen):
            raise ValueError(f"bodies is {chosen.tolist()}: each body can be named once")
        full = [
            self._of_each(name, value, len(chosen), state)
            for name, value, state in (
                ("position", position, self.positions),
                ("orientation", orientation, self.orientations),
                ("velocity", velocity, self.velocities),
            )
        ]
        is_moved = position is not None or orientation is not None
        before = self._core.save() if is_moved and not self._allow_overlap else None
        self._core.place(chosen, *full)
        if before is None:
            return
        try:
            self._refuse_overlap(np.isin([one.body for one in self._shapes], chosen))
        except ValueError:
            self._core.restore(before)
            raise

    def _of_each(self, name: str, value: Any, count: int, state: np.ndarray) -> np.ndarray | None:
        """Return a value for each of `count` bodies, in the form of the state of all."""
        if value is None:
            return None
        given, shape = real_array(name, value), (count, *state.shape[1:])
        if given.shape not in (shape, shape[1:]):
            raise ValueError(f"{name} has shape {given.shape}: {shape} is needed")
        return np.broadcast_to(given, shape)

    def set_pair(self, first: Material, second: Material, material: Material) -> None:
        """Say what holds where two different materials touch."""
        law = material.law(self.dimension)
        one, other = self._number(first), self._number(second)
        self._core.set_pair(one, other, *law)
        self._laws.append(((one, other), law))

    # ---- what bodies are made of -----------------------------------------------------------------

    @contextmanager
    def _all_or_none(self, first: int, count: int) -> Iterator[None]:
        """Remove the bodies from `first` on where their shapes cannot be added."""
        try:
            yield
        except BaseException:
            for body in range(first, first + count):
                self._core.remove(body)
            raise
        finally:
            self._look()

    def _speed(self, velocity: Any) -> np.ndarray | None:
        """Return the velocity of one body as the C library takes it."""
        if velocity is None:
            return None
        given = real_array("velocity", velocity)
        wanted = 6 if self.dimension == 3 else 3
        if given.shape != (wanted,):
            raise ValueError(f"velocity has shape {given.shape}: ({wanted},) is needed")
        return given

    def _fits(self, shape: Any) -> None:
        if not isinstance(shape, Shape):
            raise TypeError(f"shape is {shape!r}: a shape of contactsolve.dynamics is needed")
        if shape.dimension != self.dimension:
            raise ValueError(f"{shape!r} is for dimension {shape.dimension}, not {self.dimension}")

    def _parts(self, shape: Any) -> list[Part]:
        """Return the shapes of one body."""
        if shape is None:
            return []
        parts = [Part(shape)] if isinstance(shape, Shape) else [Part(*one) for one in shape]
        for one in parts:
            self._fits(one.shape)
        return parts

    def _mass_of(
        self, parts: list[Part], mass: Any, density: float | None, inertia: Any, driven: bool
    ) -> Solid:
        """Return mass, centre of mass and inertia of one body."""
        tensor = np.eye(3) if self.dimension == 3 else np.ones(())
        if mass is not None and np.ndim(mass) != 0:
            raise ValueError(f"mass has shape {np.shape(mass)}: one number is needed")
        kinds = [part.shape.kind for part in parts]
        if parts and "half_space" not in kinds and any(part.shape.volume > 0 for part in parts):
            unit = solid_of(parts, self.dimension)
            scale = float(factor(np.array([unit.volume]), mass, density, driven=driven)[0])
            solid = Solid(unit.volume * scale, unit.center, unit.inertia * scale)
        elif density is not None:
            raise TypeError("density is given: without a solid shape, mass and inertia are needed")
        elif (mass is None or inertia is None) and not driven:
            raise TypeError("mass and inertia are needed: there is no solid shape to compute from")
        else:
            solid = Solid(1.0 if mass is None else float(mass), np.zeros(self.dimension), tensor)
        if inertia is None:
            return solid
        given = real_array("inertia", inertia)
        return solid._replace(inertia=np.diag(given) if given.shape == (3,) else given)

    def _attach_each(
        self, shapes: list[Shape], centers: list[np.ndarray], first: int, material: int
    ) -> None:
        """Give bodies first, first + 1, ... one shape each."""
        start = 0
        for end in range(1, len(shapes) + 1):
            # Shapes of one kind without vertices are added at once.
            alike = end < len(shapes) and shapes[end].kind == shapes[start].kind
            if alike and (shapes[end]._vertices is None or shapes[end] is shapes[start]):
                continue
            bodies = np.arange(first + start, first + end)
            places = [-center for center in centers[start:end]]
            self._attach(shapes[start:end], bodies, places, [None] * (end - start), material)
            start = end

    def _attach(
        self,
        shapes: list[Shape],
        bodies: Any,
        positions: list[Any],
        orientations: list[Any],
        material: int,
    ) -> int:
        """Add shapes of one kind to bodies; returns the number of the first."""
        where = np.array(
            [np.zeros(self.dimension) if one is None else one for one in positions], dtype=float
        )
        turns = np.array([turned(one, self.dimension) for one in orientations])
        first = self._core.add_shapes(
            shapes[0].kind,
            np.array([one.numbers for one in shapes], dtype=float).reshape(len(shapes), -1),
            shapes[0]._vertices,
            np.asarray(bodies, dtype=np.int64),
            where,
            turns,
            np.full(len(shapes), material, dtype=np.intc),
        )
        owners = np.asarray(bodies).tolist()
        made_of = [self._kept[material]] * len(shapes)
        self._shapes += map(PlacedShape, shapes, owners, where, turns, made_of)
        self._unchecked = first if self._unchecked is None else min(first, self._unchecked)
        return first

    def _number(self, material: Material | None) -> int:
        """Return the number of a material, which is added at its first use."""
        material = self._default if material is None else material
        if not isinstance(material, Material):
            raise TypeError(f"material is {material!r}: a Material is needed")
        number = self._materials.get(id(material))
        if number is None:
            law = material.law(self.dimension)
            number = self._core.add_material(*law)
            self._laws.append(((-1, -1), law))
            self._materials[id(material)] = number
            self._kept.append(material)
        return number

    # ---- state -----------------------------------------------------------------------------------

    def _look(self) -> None:
        self._state = self._core.state()

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
        told = self._core.contacts()
        ids = np.column_stack([told["shape"], told["feature"]])
        return Contacts(
            ids, told["body"], told["point"], told["normal"], told["gap"], told["impulse"]
        )

    @property
    def timings(self) -> dict[str, float]:
        """Seconds in all steps: finding contacts, set-up, solves, and whole steps."""
        return dict(self._seconds)

    @property
    def info(self) -> dict[str, Any]:
        """The last step's report, and the number of steps whose solve missed its tolerance."""
        return {**self._core.report(), "steps_not_converged": self._missed}

    def energy(self) -> tuple[float, float]:
        """Kinetic energy, and that of gravity with its zero at the origin, of free bodies [J]."""
        return self._core.energy()

    def momentum(self) -> tuple[np.ndarray, np.ndarray]:
        """Linear momentum, and angular momentum about the origin, of free bodies."""
        return self._core.momentum()

    def problem(self) -> Problem | None:
        """Return the contact problem that the last step solved.

        None without contacts, before the first step, and after `load` until the next one.

        Contacts are sorted by their ids; those with different sets or rows are groups of it.
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
        self._core.step()
        report = self._core.report()
        for name in self._seconds:
            key = "seconds" if name == "step" else f"{name}_seconds"
            self._seconds[name] += report[key]
        if report["status"] != "converged" and not self._is_as_asked(report["status"]):
            self._missed += 1
            if self._missed == 1:
                warnings.warn(
                    f"step {self.steps}: the solve ended as {report['status']!r} after "
                    f"{report['iterations']} iterations; its best impulses are used, here and in "
                    f"later steps (World.info counts them)",
                    RuntimeWarning,
                    stacklevel=2,
                )

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

    def _check_overlap(self, first: int) -> None:
        """Refuse shapes from number `first` on that begin within others."""
        if not self._allow_overlap:
            self._refuse_overlap(np.arange(len(self._shapes)) >= first)
        self._unchecked = None

    def _refuse_overlap(self, chosen: np.ndarray) -> None:
        """Raise if one of the chosen shapes, ``(shapes,)`` of truth values, is within another."""
        found = self._core.overlaps()
        radius = [
            np.inf if body < 0 or shape.kind == "half_space" else shape.bounding_radius
            for shape, body, *_ in self._shapes
        ]
        smaller = np.array(radius)[found["shape"]].min(axis=1)
        new = chosen[found["shape"]].any(axis=1)
        depth = np.where(new & (found["gap"] < -_OVERLAP * smaller), -found["gap"], 0.0)
        if depth.any():
            worst = int(np.argmax(depth))
            names = [
                f"body {body}" if body >= 0 else "the fixed world"
                for body in found["body"][worst].tolist()
            ]
            raise ValueError(
                f"{names[0]} and {names[1]} overlap by {depth[worst]:.3g} m: remove one of "
                "them, or allow_overlap=True"
            )

    def run(
        self,
        steps: int,
        record: Iterable[str] | None = None,
        *,
        every: int = 1,
        problems: int | None = None,
        progress: bool = False,
        callback: Callable[[World], object] | None = None,
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
        run.make(steps, progress, callback, file, overwrite)
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
