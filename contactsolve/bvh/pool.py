"""What a task of the pool costs that collisions are divided into (S5, 5.3)."""

from __future__ import annotations

from .. import _core
from .._arrays import index
from .._suggestions import listed

__all__ = ["pool_overhead"]

_KINDS = {name: name for name in ("lock_free", "mutex")}
_PATTERNS = {name: name for name in ("latency", "throughput")}
_MOST_TASKS, _MOST_THREADS = 2**30, 256


def pool_overhead(
    kind: str = "lock_free", pattern: str = "latency", count: int = 1_000_000, threads: int = 2
) -> float:
    """Measure the time of an empty task, as S5 does in figure 7.

    Parameters
    ----------
    kind : str
        Kind of the pool. ``"lock_free"``: queues without locks, on which threads look for tasks;
        ``"mutex"``: a lock for each queue, on which threads are suspended while it is empty.
    pattern : str
        ``"latency"``: one thread forks a task and joins it, `count` times. ``"throughput"``: it
        forks `count` tasks at once, then joins them all.
    count : int
        Number of tasks, 1 to 2**30. Some more are run before, unmeasured. For ``"throughput"`` the
        pool holds all of them, in up to 40 bytes each.
    threads : int
        Threads, 1 to 256. The first one forks and joins, the others run the tasks. If it is the
        only one, or the build has no threads, it runs them itself. More threads than cores wait for
        each other's turns.

    Returns
    -------
    float
        Mean seconds of a task.

    Raises
    ------
    TypeError
        If `count` or `threads` is no integer.
    ValueError
        If a name is unknown or a number out of range.

    Notes
    -----
    The queues without locks are those of Michael and Scott, "Simple, fast, and practical
    non-blocking and blocking concurrent queue algorithms", PODC 1996. S5 is "Parallel techniques
    for physically based simulation on multi-core processor architectures".

    Examples
    --------
    >>> import contactsolve as cs
    >>> cs.bvh.pool_overhead("lock_free", "throughput", count=1000, threads=1) > 0
    True
    """
    kind, pattern = listed("kind", _KINDS, kind), listed("pattern", _PATTERNS, pattern)
    count, threads = index("count", count), index("threads", threads)
    for name, value, most in (("count", count, _MOST_TASKS), ("threads", threads, _MOST_THREADS)):
        if not 1 <= value <= most:
            raise ValueError(f"{name} is {value}: 1 to {most} is possible")
    return _core.pool_overhead(kind, pattern, count, threads)
