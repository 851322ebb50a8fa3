"""A cloth: a mesh in motion."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from .. import _core
from .._arrays import finite_array, read_only
from .._optional import optional
from .._options import count, flag, most_threads, one_of
from ..problem import Problem
from ..sparse import SymmetricBlocks
from ..sparse.symmetric_blocks import _labels as labels_of
from ._alone import alone
from ._attachment import Attachment
from ._colliding import Colliding
from ._contact_problem import contacts_of, problem_of
from ._layout import PathLike
from ._mesh import points, read_mesh
from ._restoring import restore
from ._running import run
from ._scalars import graph_of, numbers_of, positive_h, steps_of
from ._state import ClothState, Energy
from .collisions import Collisions
from .obstacle import Obstacle, obstacles_of

__all__ = ["Cloth", "Energy"]

_MODELS = ("hinge", "quadratic")
_DTYPES = ("float64", "float32", "mixed")  # by their numbers in C
_MOST_ITERATIONS = 10_000  # of a solve, unless the caller says how many
_MAX_ITERATIONS = 10_000_000  # that the caller may ask for: each takes a few bytes
_MOST_HALVINGS = 20  # of a step whose collisions cannot be resolved


class Cloth(ClothState):
    """A triangle mesh with mass, membrane and bending stiffness, moved by implicit Euler steps.

    Parameters
    ----------
    vertices
        ``(n, 3)`` [m], or ``(n, 2)`` for z = 0. Without `faces`: an object with ``.vertices`` and
        ``.faces``, or the path of a file that meshio reads.
    faces
        ``(m, 3)``: numbers of vertices.
    density
        Mass per area [kg/m²]. A third of each face's mass is on each of its vertices.
    young, poisson
        Young's modulus [N/m] and Poisson's ratio, between −1 and 1, of the plane: as in
        two-dimensional elasticity, `young` is Young's modulus of the material [Pa] times the
        thickness [m].
    bending
        Bending stiffness [N m]. With ``"quadratic"`` the plate stiffness D. With ``"hinge"``
        Bridson's k, which is no constant of the material: D/k depends on the mesh, see Notes.
        0: the cloth has none, and the matrix fewer blocks.
    bending_model
        ``"hinge"`` (Bridson 2003), or ``"quadratic"`` (Bergou 2006), with a constant matrix, for
        flat rest shapes.
    damping
        Viscosity of membrane and bending as a time [s]: a small vibration of the angular frequency
        ω has the damping ratio ``damping · ω / 2``. Rigid motions are not damped.
    gravity
        ``(3,)`` [m/s²].
    attach
        Vertices ``(k,)`` that stay where they are; or a pair of vertices and a function of time [s]
        that returns their positions ``(k, 3)`` [m].
    rest
        Rest shape, ``(n, 3)`` or ``(n, 2)`` [m]; None: `vertices`.
    forces
        Forces on vertices ``(n, 3)`` [N], or a function of the cloth that returns them, called
        before each step.
    velocities
        ``(n, 3)`` [m/s]; None: at rest.
    newton
        Linear solves of a step, iterations of Newton's method. One is first-order accurate and
        stable under tension, but not dissipative: a free sheet that moves fast may gain energy with
        long steps.
    parts, partition
        Of the matrix, as of `contactsolve.sparse.SymmetricBlocks`.
    dtype
        Of the matrix and of its solution, as of `contactsolve.sparse.cg`: ``"float64"``,
        ``"float32"``, or ``"mixed"``, where only the preconditioner is in single precision. Both
        are faster and need a well-conditioned matrix: thin cells or long steps of stiff cloth end
        in an error, or miss `rtol`. Positions, velocities, forces and true residuals are always
        float64.
    rtol
        Tolerance of a solve: of the true residual, over that of no change.
    max_iterations
        The most iterations of a solve, at most 10 million.
    M
        The preconditioner, a name out of `contactsolve.sparse.preconditioners` but ``"ssor"``; or
        ``"auto"``, chosen by counted work for the first step, and when `h` changes.
    threads
        The most threads; None: all that are available. They change no bit.
    collisions
        A `Collisions`: how the cloth responds to collisions. Positions before and after each step
        then have no contact on the straight lines between them, which a certificate proves. None:
        the cloth passes through itself.
    obstacles
        A list of `Obstacle`, with `collisions`.
    self_collisions
        Whether the cloth collides with itself.

    Attributes
    ----------
    positions, velocities
        ``(n, 3)`` [m, m/s], copies. They can be assigned: the next step then makes its solver anew,
        and chooses the preconditioner again if M is ``"auto"``.
    time
        [s]; it can be assigned, and the solver stays.
    masses
        ``(n,)`` [kg]; read-only.
    faces
        ``(m, 3)``; read-only.
    attached
        Vertices ``(k,)``; read-only.
    collisions, obstacles
        As given, obstacles as a tuple; read-only.
    dtype
        Of the matrix; read-only.
    newton
        Linear solves of a step; it can be assigned.
    info
        Of the last step made: ``status`` of its solves, ``iterations`` of all of them, ``residual``
        of the last one, relative, ``threads``, and the kind of ``preconditioner``; ``steps`` made,
        ``steps_not_converged``. With collisions also

        ``free``
            True: the certificate found no contact on the way of the last step.
        ``candidates``, ``contacts``, ``impacts``
            Pairs whose boxes overlap; pairs nearer than 1.25 thicknesses before the step, without
            those whose place has another contact; contacts that stopping impulses were for.
        ``sweeps``, ``passes``, ``queries``
            Sweeps over all contacts, passes of stopping impulses, traversals of trees.
        ``zones``, ``zone_vertices``
            Rigid impact zones and their vertices.
        ``length``, ``steps_refused``
            Length of the last step [s]; steps so far that were undone and made shorter.
        ``touching``, ``obstacle_moved``
            Pairs that touched from the beginning, with ``allow=True``; the longest way of a vertex
            of an obstacle [m].
        ``problem``, ``problems_not_converged``
            With ``response="problem"``: status and iterations of the solve, and its contacts;
            steps of this object whose solve missed its tolerance.
        ``obstacle_impulses``
            Impulse of each obstacle on the cloth, ``(obstacles, 3)`` [N s].
        ``numerics_seconds``, ``candidate_seconds``, ``narrow_seconds``, ``response_seconds``,
        ``certificate_seconds``
            Where the time went: assembly and solves; trees and their queries; distances and
            continuous collision detection; impulses; the certificate with its own queries.

    Raises
    ------
    ValueError
        NaN, a vertex out of range, a degenerate or repeated face, an edge of three faces, a vertex
        of no face, poisson outside (−1, 1), density or young ≤ 0, bending < 0. The message names
        argument, index and value.
    ImportError
        A file without meshio.

    Notes
    -----
    The membrane consists of linear triangles of constant strain, in the frame of the rotation of
    their deformation gradient, with the geometric stiffness of tension (Etzmuß, Keckeisen and
    Straßer 2003, in plane stress). Rotations come from singular values, so that rigid motions of
    any size have no force.

    Bending has moments at edges between two faces (Bridson, Marino and Fedkiw 2003; Bergou,
    Wardetzky, Harmon, Zorin and Grinspun 2006). Bridson's k gives the plate stiffness

    ============================================  ===========
    mesh, direction of bending                    D / k
    ============================================  ===========
    grid, across its lines                        0.25
    grid, any direction, diagonals one way        0.25 … 0.77
    grid, any direction, diagonals alternating    0.25 … 0.38
    equilateral triangles                         0.24
    random                                        0.30
    ============================================  ===========

    for surfaces of given curvature, and the quadratic model has the same anisotropy, with 4 D in
    place of k. Vertices that are free to leave such a surface make a mesh softer: a narrow strip of
    square cells bends with D / k = 0.21 across its lines, one of cells that are four times as long
    as wide with 0.25.

    Steps solve ``(M + h D + h² K) Δv = h (f − D v − h K v)`` (S5, 3.3). A solve that misses its
    tolerance does not end the motion: its result is used. `info` counts such steps, and the first
    one warns.

    Examples
    --------
    A sheet that hangs from two corners:

    >>> import contactsolve as cs
    >>> vertices, faces = cs.cloth.sheet(9, 9, 1.0)
    >>> cloth = cs.cloth.Cloth(
    ...     vertices, faces, density=0.2, young=500.0, bending=1e-5, damping=0.01, attach=[0, 8]
    ... )
    >>> cloth.run(1.0, 1 / 60)
    >>> bool(cloth.positions[-1, 2] < -0.5)
    True
    """

    def __init__(
        self,
        vertices: Any,
        faces: Any = None,
        *,
        density: float,
        young: float,
        poisson: float = 0.3,
        bending: float = 0.0,
        bending_model: str = "hinge",
        damping: float = 0.0,
        gravity: Any = (0.0, 0.0, -9.81),
        attach: Any = None,
        rest: Any = None,
        forces: Any = None,
        velocities: Any = None,
        newton: int = 1,
        parts: int = 8,
        partition: Any = "slices",
        dtype: str = "float64",
        rtol: float = 1e-6,
        max_iterations: int = _MOST_ITERATIONS,
        M: str = "auto",
        threads: int | None = None,
        collisions: Collisions | None = None,
        obstacles: Sequence[Obstacle] | None = None,
        self_collisions: bool = True,
    ) -> None:
        # The mesh.
        self._user: dict[str, object] = {}
        x, triangles = read_mesh(vertices, faces)
        self._faces = read_only(triangles.copy())
        shape = x if rest is None else points("rest", rest)
        if shape.shape != x.shape:
            raise ValueError(f"rest has {len(shape)} vertices: {len(x)} are needed")
        self._attachment = Attachment(attach)

        # Options.
        one_of("bending_model", bending_model, _MODELS)
        one_of("dtype", dtype, _DTYPES)
        one_of("M", M, ("auto", *sorted(_core.preconditioners())))
        material = {
            "density": density,
            "young": young,
            "poisson": poisson,
            "bending": bending,
            "damping": damping,
        }
        numbers = numbers_of(**material)
        pull = finite_array("gravity", gravity)
        if pull.shape != (3,):
            raise ValueError(f"gravity has shape {pull.shape}: (3,) is needed")
        self.newton = newton
        self._dtype = dtype
        self._threads = most_threads(threads)
        most = count("max_iterations", max_iterations, least=1, most=_MAX_ITERATIONS)
        self._parts = count("parts", parts, least=1, most=max(1024, 3 * len(x)))
        labels = labels_of(partition, self._parts, *graph_of(self._faces, len(x), partition))

        # The object of C, and its state.
        self._core = _core.Cloth(
            x,
            shape,
            self._faces,
            np.concatenate([numbers, pull, numbers_of(rtol=rtol)]),
            bending_model == "quadratic",
            self._parts,
            labels,
            _DTYPES.index(dtype),
            M,
            most,
        )
        self._core.attach(self._attachment.vertices)

        # What it was made of, for recordings.
        self._vertices, self._rest = x.copy(), None if rest is None else shape.copy()
        self._partition = None if labels is None else labels.copy()
        self._options = {
            **dict(zip(material, numbers.tolist(), strict=True)),
            "bending_model": bending_model,
            "gravity": pull.tolist(),
            "parts": self._parts,
            "dtype": dtype,
            "rtol": float(rtol),
            "max_iterations": most,
            "M": M,
            "threads": self._threads or None,
        }
        self._told = self._core.describe()
        self._masses = read_only(self._told["mass"])
        constant = forces is not None and not callable(forces)
        self._forces = self._vectors(forces).copy() if constant else forces
        self._warned = False
        self._length = 0.0
        self._solved: dict[str, Any] | None = None
        self._unsolved = 0
        if velocities is not None:
            self.velocities = velocities
        self._colliding = self._collide(
            collisions, obstacles, flag("self_collisions", self_collisions)
        )

    def _collide(
        self, collisions: Any, given: Sequence[Obstacle] | None, has_self: bool
    ) -> Colliding | None:
        """Return the collisions of this cloth, whose state is checked."""
        obstacles = obstacles_of(given)
        if collisions is None:
            if obstacles:
                raise ValueError("obstacles needs collisions: Collisions(thickness), say")
            return None
        if not isinstance(collisions, Collisions):
            raise TypeError(f"collisions is {collisions!r}: a Collisions is needed")
        made = Colliding(self._core, collisions, obstacles, has_self, self._threads)
        made.check(self._vertices)
        return made

    def _begin_collisions(
        self, collisions: Collisions, obstacles: Sequence[Obstacle], has_self: bool
    ) -> None:
        """Begin to collide, in a state that is known to be free."""
        self._colliding = Colliding(self._core, collisions, obstacles, has_self, self._threads)

    def __repr__(self) -> str:
        vertices, faces = len(self.masses), len(self.faces)
        try:
            when = f"t = {self.time:g} s"
        except RuntimeError:
            when = "in a step"
        return f"<Cloth of {vertices} vertices, {faces} faces, {when}>"

    def __reduce__(self) -> NoReturn:
        """Refuse copies and pickles, which would share or lack the state of C."""
        raise TypeError(
            "a Cloth can be neither copied nor pickled: record a run of it, of 0 s say, as in "
            "cloth.run(0, h, record=path), and load the frame with Cloth.load(path)"
        )

    # ---- steps -----------------------------------------------------------------------------------

    @alone
    def system(self, h: float) -> tuple[SymmetricBlocks, np.ndarray]:
        """Return the linear system of a step from the present state.

        Parameters
        ----------
        h
            Length of the step [s].

        Returns
        -------
        A : SymmetricBlocks
            M + h D + h² K, with the parts of the cloth. Rows and columns of attached vertices are
            zero but for their masses on the diagonal.
        b : (3 n,) ndarray
            The right-hand side: A Δv = b, with the change of the velocities Δv [m/s]. With
            collisions, a step adds the impulses that contacts have from the last one.
        """
        values, right = self._core.system(*self._arguments(h, self._pull()), self._threads)
        blocks = (values, self._told["indices"], self._told["indptr"])
        A = optional("scipy.sparse", "the matrix of a cloth needs").bsr_array(blocks)
        dtype = "float32" if self.dtype == "float32" else "float64"
        return SymmetricBlocks(A, self._parts, self._labels(), dtype), right

    def step(self, h: float) -> None:
        """Make one step.

        With collisions, a step that cannot be made free of contacts is undone, and one of half the
        length takes its place: `time` goes on by less than `h`, as ``info["length"]`` tells.

        Parameters
        ----------
        h
            Its length [s].

        Raises
        ------
        ValueError
            h ≤ 0; forces or positions of attached vertices or obstacles that are not finite; a
            step whose result is not finite, or that cannot be made free of contacts however short
            it is; attached vertices that would meet obstacles or each other, whose names and time
            the message has. The state stays as it was, and `info` and `contacts` are those of the
            step before.
        KeyboardInterrupt
            After Ctrl-C. The state is that before or after the step.
        RuntimeError
            Another thread is in the middle of a step of this cloth. Whatever assigns or reads its
            state or its report meanwhile raises this error, too.
        """
        length = float(numbers_of(h=h)[0])
        for _ in range(_MOST_HALVINGS + 1):
            if self._make_step(length):
                break
            length /= 2
        else:
            raise ValueError(
                f"no step from t = {self.time:g} s is free of contacts, however short it is: "
                "obstacles or attached vertices may leave no room between them"
            )
        self._length = length
        self._warn()

    def _make_step(self, h: float) -> bool:
        """Try a step of this length; False: collisions need a shorter one."""
        return self._make_alone(h, self._pull())

    @alone
    def _make_alone(self, h: float, forces: np.ndarray | None) -> bool:
        """Do so while no other thread does, with forces that are known."""
        colliding = self._colliding
        if colliding is None:
            return self._core.step(*self._arguments(h, forces), self.newton, self._threads)
        if 0 < h < np.inf:
            colliding.begin(self.time + h)
        if colliding.collisions.response != "problem":
            return self._core.step(*self._arguments(h, forces), self.newton, self._threads)
        self._core.predict(*self._arguments(h, forces), self.newton, self._threads)
        solved = colliding.solve(self._inverse_masses())
        is_made = self._core.conclude(self._threads)
        if is_made:
            self._solved = solved
            self._unsolved += solved["status"] != "converged"
        return is_made

    def contact_problem(self, h: float, name: str = "") -> Problem:
        """Return the contacts of the next step as a problem; the state stays as it is.

        Parameters
        ----------
        h
            Length of the step [s].
        name
            Of the problem.

        Returns
        -------
        Problem
            A block for each contact: pairs nearer than 1.25 thicknesses, without those whose place
            has another contact, and with ``response="problem"`` also those that the motion would
            bring as near. It has four partners, each a vertex with three degrees of freedom; those
            that are attached or of an obstacle are −1. b is the relative velocity after the
            implicit step, and what may be used up of the gap. The implicit step has the impulses
            that contacts have from the last step; b is without what these give to the masses
            alone, so that the solution is the whole impulse of each contact. With
            ``response="problem"`` the implicit step has none.

        Raises
        ------
        ValueError
            As for `step`; or the cloth has no collisions.
        """
        if self._colliding is None:
            raise ValueError("this cloth has no collisions: pass collisions=Collisions(thickness)")
        return self._predicted(positive_h(h), self._pull(), name)

    @alone
    def _predicted(self, h: float, forces: np.ndarray | None, name: str) -> Problem:
        """Return the contacts of the next step, while no other thread makes one."""
        assert self._colliding is not None
        self._colliding.begin(self.time + h)
        self._core.predict(*self._arguments(h, forces), self.newton, self._threads)
        count = len(contacts_of(self._core, is_present=True).gaps)
        self._core.set_impulses(np.zeros((count, 3)))
        contacts = contacts_of(self._core, is_present=True)
        return problem_of(contacts, self._inverse_masses(), self._colliding.collisions.mu, name)[0]

    def run(
        self,
        seconds: float,
        h: float,
        *,
        callback: Callable[[Cloth], object] | None = None,
        record: PathLike | None = None,
        every: int = 1,
        overwrite: bool = False,
    ) -> None:
        """Make many steps.

        Parameters
        ----------
        seconds
            Time to go [s].
        h
            Length of a step [s]. The last one is shorter if `seconds` is no multiple of it.
        callback
            Called with the cloth after each step, before its frame. Raising `StopIteration` ends
            the run.
        record
            A new VTKHDF file, ``"a.vtkhdf"`` say (needs h5py), with frames: `Cloth.load` goes on
            from any of them, `Recording` reads them, and so do programs such as ParaView.
        every
            Steps between two frames; the states before the first step and after the last one are
            frames, too.
        overwrite
            Whether `record` may replace a file.

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C; the state is that of the end of a whole step, and is the last frame.
        OSError
            The disk is full, say. The file has the frames before, and the cloth has gone on.

        Notes
        -----
        A process that is killed leaves a file that `Recording` and `Cloth.load` can read. Frames
        are in it at once, or if they come quickly, several at a time: at most ten times what it
        takes to write them later.

        `time` is the sum of the lengths of all steps, with the rounding of each addition, so that a
        loaded cloth goes on with the same bits.
        """
        lengths = steps_of(seconds, h)
        run(self, lengths, callback, record, count("every", every, least=1), overwrite)

    @classmethod
    def load(
        cls,
        path: PathLike,
        frame: int = -1,
        *,
        attach: Any = None,
        forces: Any = None,
        obstacles: Sequence[Obstacle] | None = None,
        threads: int | None = None,
    ) -> Cloth:
        """Return the cloth of a frame of a recording, which goes on with the same bits.

        Parameters
        ----------
        path
            A file that `run` has written, or is writing.
        frame
            Its number; from the end if it is negative.
        attach, forces
            As for `Cloth`, in place of the recorded ones; None: those. A file cannot hold
            functions: these must be given again.
        obstacles
            The same, with the recorded meshes, and the vertices of those that did not move. Those
            that moved need a motion; all are at first where they were in the frame.
        threads
            By default as recorded. They change no bit.

        Returns
        -------
        Cloth
            With the state of the frame, for steps of the same lengths. The report of its last
            step is lost.

        Raises
        ------
        ValueError
            The file, or this frame of it, is damaged; or `attach`, `forces` or `obstacles` is
            missing.
        IndexError
            There is no such frame.
        """
        return restore(cls, path, frame, threads, attach=attach, forces=forces, obstacles=obstacles)

    @property
    def info(self) -> dict[str, Any]:
        """The report of the last step, and numbers of steps."""
        told = self._core.report()
        if self._colliding is not None:
            told["length"] = self._length
            if self._colliding.collisions.response == "problem":
                told["problems_not_converged"] = self._unsolved
            if self._solved is not None:
                told["problem"] = dict(self._solved)
        return told

    def _warn(self) -> None:
        """Tell of the first step whose solve missed its tolerance, and of fast obstacles."""
        if self._warned and self._colliding is None:
            return
        told = self._core.report()
        if self._colliding is not None:
            self._colliding.warn(told)
            self._colliding.warn_of_problem(told["steps"], self._solved)
        if told["steps_not_converged"] and not self._warned:
            self._warned = True
            warnings.warn(
                f"step {told['steps']}: the solve ended as {told['status']!r} after "
                f"{told['iterations']} iterations with the relative residual "
                f"{told['residual']:.2g}; its result is used, here and in later steps "
                f"(Cloth.info counts them)",
                RuntimeWarning,
                stacklevel=3,
            )

    def _labels(self) -> np.ndarray:
        """Return the part of each vertex."""
        labels = np.empty(len(self.masses), np.int64)
        labels[self._told["order"]] = np.repeat(
            np.arange(self._parts), np.diff(self._told["first"])
        )
        return labels
