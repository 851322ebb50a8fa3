"""What an empty task costs: any pool and pattern ends, and bad input is refused."""

import math
import re

import pytest

import contactsolve as cs
from contactsolve import _core
from interruption import ctrl_c_ends

KINDS, PATTERNS = ("lock_free", "mutex"), ("latency", "throughput")


@pytest.mark.threads
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_pattern_ends_on_any_number_of_threads(kind, pattern, threads):
    before = _core.memory_live()
    for count in (1, 2, 500):
        seconds = cs.bvh.pool_overhead(kind, pattern, count, threads)
        assert 0 < seconds < math.inf
    assert _core.memory_live() == before


def test_defaults_are_those_of_the_figure():
    assert cs.bvh.pool_overhead(count=10) > 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("pattern", "threads"), [("latency", 1), ("latency", 2)])
@pytest.mark.threads
def test_ctrl_c_ends_it(kind, pattern, threads):
    def measure():
        cs.bvh.pool_overhead(kind, pattern, 2**30, threads)

    ctrl_c_ends(measure, after=0.2, within=5)


REFUSED = {
    "kind": ({"kind": "locked"}, ValueError, "unknown kind 'locked': expected one of lock_free, m"),
    "near": ({"kind": "lockfree"}, ValueError, "did you mean 'lock_free'?"),
    "pattern": ({"pattern": "delay"}, ValueError, "unknown pattern 'delay': expected one of late"),
    "no task": ({"count": 0}, ValueError, "count is 0: 1 to 1073741824 is possible"),
    "too many": ({"count": 2**30 + 1}, ValueError, "count is 1073741825: 1 to"),
    "far too many": ({"count": 2**70}, ValueError, "count is 1180591620717411303424: 1 to"),
    "fraction": ({"count": 1.5}, TypeError, "count is 1.5: an integer is needed"),
    "no thread": ({"threads": 0}, ValueError, "threads is 0: 1 to 256 is possible"),
    "negative": ({"threads": -2}, ValueError, "threads is -2: 1 to 256"),
    "too many threads": ({"threads": 257}, ValueError, "threads is 257: 1 to 256"),
    "no number": ({"threads": "2"}, TypeError, "threads is '2': an integer is needed"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused(case):
    given, error, message = REFUSED[case]
    with pytest.raises(error, match=re.escape(message)):
        cs.bvh.pool_overhead(**{"count": 10, "threads": 1, **given})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("lock", "latency", 1, 1), "unknown kind 'lock'"),
        (("mutex", "late", 1, 1), "unknown pattern 'late'"),
        (("mutex", "latency", 0, 1), "count is 0, but must be 1 to"),
        (("mutex", "latency", 1, 0), "threads is 0, but must be 1 to"),
    ],
)
def test_the_module_refuses_it_too(given, message):
    with pytest.raises(ValueError, match=message):
        _core.pool_overhead(*given)


@pytest.mark.parametrize("kind", KINDS)
def test_no_memory(kind):
    before = _core.memory_live()
    for successes in range(10):
        _core.memory_fail_after(successes)
        try:
            with pytest.raises(MemoryError, match="a pool of 100000 tasks"):
                cs.bvh.pool_overhead(kind, "throughput", 100_000, 1)
        except pytest.fail.Exception:  # no failure: as many allocations as it takes
            break
        finally:
            _core.memory_fail_after(-1)
            assert _core.memory_live() == before
    assert 0 < successes < 9
