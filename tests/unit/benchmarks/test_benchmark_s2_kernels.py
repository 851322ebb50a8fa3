"""benchmarks/s2/kernels.py: each variant of S2 table 6.1 is right on the emulated device."""

import numpy as np
import pytest

import emulated
from benchmark_scripts import importing_from
from repository import BENCHMARKS


@pytest.fixture(scope="module")
def script():
    with importing_from(BENCHMARKS / "s2"):
        import kernels

        yield kernels


def test_the_problem_is_a_contraction(script):
    T, d = script.random_iteration(10, np.float64)
    # Rows of G whose diagonal is larger than all others together, with R no larger than 1 / G_ii.
    assert (abs(T).sum(axis=1) < 1).all()
    assert (d != 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_variant_agrees_with_the_sequential_iteration(script, dtype):
    rows = script.measured(34, dtype, emulated.EMULATED["device"])
    assert [row["variant"] for row in rows] == [variant.name for variant in script.VARIANTS]
    assert set(emulated.kernels.s2_kernels()) == {row["kernel"] for row in rows}
    for row in rows:
        # A sum of 102 products rounds by some units.
        assert row["ulp"] <= 16, row
        assert row["not_finite"] == 0
        assert row["ms_low"] > 0


def test_times_of_an_emulated_device_are_not_stored(script, capsys):
    with pytest.raises(SystemExit):
        script.main(["--device", "cuda-emulated"])
    assert "add --quick" in capsys.readouterr().err
