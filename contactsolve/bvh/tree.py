"""Bounding volume trees of k-DOPs for triangle meshes in motion (S5, 5.1 and 5.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .._arrays import finite_array, index_array, read_only
from .._options import count, flag, most_threads, number, one_of, word

__all__ = ["Tree", "rules"]

_PAIRS = ("faces", "vertex_face", "edge_edge")
_PRIMITIVES = ("vertices", "edges", "faces")
_DTYPES = ("float64", "float32")


def rules() -> dict[str, str]:
    """Return the rules of splitting a query into tasks, each with a line of what it does."""
    return _core.split_rules()


class Tree:
    """Trees of k-DOPs of the vertices, edges and faces of a mesh whose vertices move.

    A k-DOP is the intersection of intervals in k / 2 directions [1]_. The tree keeps its topology
    when vertices move (`refit`), and finds pairs of primitives whose k-DOPs overlap (`pairs`). Of
    each mesh there are up to three trees, built when `pairs` first needs them: one of vertices, one
    of edges and one of faces.

    Parameters
    ----------
    vertices
        ``(n, 3)``, in metres. All are vertices of the mesh, also those without a face.
    faces
        ``(m, 3)``, the vertices of each triangle. Any number of faces may share an edge.
    k
        6 (boxes along the axes), 14 (and the corners of a cube), 18 (and its edges), 26 (and both).
    arity
        Children of a node: 4 or 2.
    dtype
        ``"float64"`` or ``"float32"``, of the boxes. They are rounded outwards: boxes of float32
        lose no pair, and take half the memory.

    Attributes
    ----------
    edges
        ``(e, 2)``, the vertices of each edge, ascending, sorted; read-only.
    directions
        ``(k / 2, 3)``, the directions of the intervals; read-only.
    info
        About the tree: ``nodes`` and ``depth`` of what has been built, ``quality``, ``rebuilds``,
        ``bytes`` of all boxes, the ``kernel``. About the last call of `pairs`: ``pairs``,
        ``tests`` of two nodes, of all their children against each other, ``tasks`` that were made,
        ``threads``, and ``estimate_error``, in %: over all pairs of nodes with 128 tests below or
        more, the sum of deviations of estimated from actual tests, over the sum of actual tests
        (S5 fig. 5); NaN if no earlier call has counted; ``first_pass_seconds`` of the rule
        ``"truth"``. With ``record=True`` ``task_records``: for
        each task, by its pair of nodes, that ``pair``, the ``work`` that the rule expected in tests
        or leaves, ``tests`` and ``seconds`` without the tasks that it has made itself.

    Raises
    ------
    ValueError
        A vertex is not finite; there are none, or no faces; a face has an unknown vertex, or one
        twice; k, arity or dtype is not offered. The message has index and value.
    RuntimeError
        From methods and `info`, if another thread is in one of them: a tree serves one at a time.

    References
    ----------
    .. [1] Klosowski, Held, Mitchell, Sowizral, Zikan: Efficient collision detection using bounding
       volume hierarchies of k-DOPs. IEEE Trans. Visualization and Computer Graphics 4, 1998.

    Examples
    --------
    >>> import numpy as np, contactsolve as cs
    >>> x = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0.1], [1, 0, 0.1], [0, 1, 0.1]])
    >>> tree = cs.bvh.Tree(x, [[0, 1, 2], [3, 4, 5]])
    >>> tree.pairs(kind="faces")
    array([], shape=(0, 2), dtype=int64)
    >>> tree.refit(x, margin=0.06)
    >>> tree.pairs(kind="faces")
    array([[0, 1]])
    """

    def __init__(
        self,
        vertices: Any,
        faces: Any,
        k: int = 18,
        *,
        arity: int = 4,
        dtype: Any = "float64",
    ) -> None:
        x = _points("vertices", vertices)
        triangles = index_array("faces", faces)
        if triangles.size and (triangles.ndim != 2 or triangles.shape[1] != 3):
            raise ValueError(f"faces has shape {triangles.shape}: (m, 3) is needed")
        self.k, self.arity = count("k", k), count("arity", arity)
        self._dtype = _dtype_of(dtype)
        single = self._dtype == np.float32
        self._core = _core.Tree(x, triangles, self.k, self.arity, single)
        self._vertices, self._faces = len(x), len(triangles)
        self.edges = read_only(self._core.edges())
        self.directions = read_only(self._core.directions())
        self._tasks: dict[str, np.ndarray] | None = None

    def __repr__(self) -> str:
        sizes = f"{self._vertices} vertices, {len(self.edges)} edges, {self._faces} faces"
        return f"<Tree of {sizes}, k = {self.k}, {self.dtype.name}>"

    def __reduce__(self) -> Any:
        raise TypeError("a Tree cannot be pickled: make another from its vertices and faces")

    @property
    def dtype(self) -> np.dtype:
        """NumPy's type of the boxes."""
        return self._dtype

    @property
    def info(self) -> dict[str, Any]:
        """The tree, and the last call of `pairs`."""
        told = self._core.describe()
        if self._tasks is not None:
            told["task_records"] = self._tasks
        return told

    def refit(
        self, x0: Any, x1: Any = None, margin: float = 0.0, *, threads: int | None = None
    ) -> None:
        """Take other positions: boxes of the motion from `x0` to `x1`, both ends included.

        Each box is enlarged by a ball with the radius `margin`, and rounded outwards: it has all
        points of the primitive on straight ways between these positions, as they are stored. A tree
        whose quality falls below 0.5 is built anew: quality is the sum of the extents of its nodes,
        over that of the faces, after the last build, over what it is now.

        Parameters
        ----------
        x0, x1
            ``(n, 3)``, in metres; without `x1` nothing moves.
        margin
            In metres: primitives nearer than the margins of both together are found.
        threads
            The most threads; None: all that are available, and one for few vertices.

        Raises
        ------
        ValueError
            A position is not finite, there are more or fewer vertices than in the mesh, or the
            margin is negative or not finite.
        """
        before = self._positions("x0", x0)
        after = None if x1 is None else self._positions("x1", x1)
        self._core.refit(before, after, number("margin", margin), most_threads(threads))

    def rebuild(self, threads: int | None = None) -> None:
        """Build the trees that are there anew, for the present boxes.

        Parameters
        ----------
        threads
            As for `refit`.
        """
        self._core.rebuild(most_threads(threads))

    def boxes(self, kind: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the k-DOPs of all primitives of a kind, as `pairs` compares them.

        Parameters
        ----------
        kind
            ``"vertices"``, ``"edges"`` or ``"faces"``.

        Returns
        -------
        lower, upper
            ``(count, k / 2)`` each, in `dtype`: the ends of the intervals in `directions`.
        """
        return self._core.boxes(_index_of("kind", kind, _PRIMITIVES))

    def pairs(
        self,
        other: Tree | None = None,
        kind: str = "vertex_face",
        *,
        max_pairs: int | None = None,
        rule: str = "estimate",
        seed: int = 0,
        threads: int | None = None,
        record: bool = False,
    ) -> np.ndarray:
        """Return all pairs of primitives whose k-DOPs overlap or touch, sorted.

        Without `other` they are pairs of this mesh: each once, with the lower index first where
        both are of one kind, and without neighbours, which are primitives that share a vertex. The
        pairs do not depend on `rule`, `seed` and `threads`.

        Parameters
        ----------
        other
            A tree of another mesh with the same k, arity and dtype; None or the tree itself: pairs
            within this mesh. With another one ``"vertex_face"`` are the vertices of this mesh with
            the faces of the other; ``other.pairs(self)`` gives the faces of this mesh with the
            vertices of the other, vertices in the first column.
        kind
            ``"vertex_face"``, ``"edge_edge"``, by the indices of `edges`, or ``"faces"``.
        max_pairs
            More are an error, which tells their number: all are counted, without being kept. None:
            no limit.
        rule
            How the traversal is split into tasks for threads: a name of `rules`.
        seed
            Of the rule ``"random"``.
        threads
            The most threads; None: all that are available, and one for few tests.
        record
            Keep the work and the time of each task in `info`; tasks are then made for one thread as
            well.

        Returns
        -------
        np.ndarray
            ``(pairs, 2)``, int64.

        Raises
        ------
        ValueError
            There are more pairs than `max_pairs`; `kind` or `rule` is unknown; the trees differ in
            k, arity or dtype.
        RuntimeError
            One of the trees is in use in another thread.
        """
        if other is not None and not isinstance(other, Tree):
            raise TypeError(f"other is {type(other).__name__}: a Tree is needed")
        one_of("rule", word("rule", rule), tuple(rules()))
        self._tasks = None
        found = self._core.pairs(
            None if other is None else other._core,
            _index_of("kind", kind, _PAIRS),
            -1 if max_pairs is None else count("max_pairs", max_pairs, most=2**62),
            rule,
            count("seed", seed, most=2**62),
            most_threads(threads),
            flag("record", record),
        )
        if record:
            self._tasks = _sorted_tasks(self._core.tasks())
        return found

    def _positions(self, name: str, value: Any) -> np.ndarray:
        x = _points(name, value)
        if len(x) != self._vertices:
            raise ValueError(f"{name} has {len(x)} vertices: the mesh has {self._vertices}")
        return x


def _points(name: str, value: Any) -> np.ndarray:
    x = finite_array(name, value)
    if x.size and (x.ndim != 2 or x.shape[1] != 3):
        raise ValueError(f"{name} has shape {x.shape}: (n, 3) is needed")
    return x


def _dtype_of(value: Any) -> np.dtype:
    try:
        found = None if value is None else np.dtype(value)
    except TypeError:
        found = None
    if found is None or found.name not in _DTYPES or not found.isnative:
        raise ValueError(f"dtype is {value!r}: float64 or float32 is needed")
    return found


def _index_of(name: str, value: Any, known: tuple[str, ...]) -> int:
    return known.index(one_of(name, word(name, value), known))


def _sorted_tasks(tasks: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the records in the order of their pairs of nodes: threads end them in any order."""
    order = np.lexsort(tasks["pair"].T[::-1])
    return {name: read_only(values[order]) for name, values in tasks.items()}
