"""The yardsticks of benchmarks: what a core reads and what it multiplies."""

import pytest

from contactsolve import _core


@pytest.mark.parametrize("size", [1, 8 << 10, (1 << 20) + 24])
def test_reading_takes_time_and_leaves_nothing(size):
    before = _core.memory_live()
    assert 1e-14 < _core.stream(size) / size < 1e-6  # between 1 MB/s and 100 TB/s
    assert _core.memory_live() == before


def test_nothing_to_read_and_no_memory():
    for size in (0, -8):
        with pytest.raises(ValueError, match=f"size is {size}: nothing to read"):
            _core.stream(size)
    _core.memory_fail_after(0)
    with pytest.raises(MemoryError):
        _core.stream(1 << 20)


def test_operations_a_second():
    assert 1e7 < _core.multiply() < 1e13
