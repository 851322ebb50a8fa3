"""The yardsticks of benchmarks: what cores read and what one multiplies."""

import pytest

from contactsolve import _core


@pytest.mark.threads
@pytest.mark.parametrize("threads", [(), (1,), (2,), (3,), (8,)])
@pytest.mark.parametrize("size", [1, 8 << 10, (1 << 20) + 24])
def test_reading_takes_time_and_leaves_nothing(size, threads):
    before = _core.memory_live()
    assert 1e-14 < _core.stream(size, *threads) / size < 1e-6  # between 1 MB/s and 100 TB/s
    assert _core.memory_live() == before


def test_nothing_to_read_and_nobody_to_read_it():
    for size in (0, -8):
        with pytest.raises(ValueError, match=f"size is {size}: nothing to read"):
            _core.stream(size)
    for threads in (0, -1):
        with pytest.raises(ValueError, match=f"threads is {threads}, but at least one has to read"):
            _core.stream(1 << 20, threads)
    with pytest.raises(TypeError):
        _core.stream(1 << 20, 1.5)


@pytest.mark.parametrize("successes", range(4))
def test_no_memory_for_the_parts_of_the_threads(successes):
    """Three threads: an array of their parts, and a part for each."""
    before = _core.memory_live()
    _core.memory_fail_after(successes)
    with pytest.raises(MemoryError):
        _core.stream(1 << 20, 3)
    assert _core.memory_live() == before
    assert _core.stream(1 << 20, 3) > 0  # the injected failure is spent


def test_operations_a_second():
    assert 1e7 < _core.multiply() < 1e13
