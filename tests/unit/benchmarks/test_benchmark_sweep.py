"""`benchmarks/sweeps/sweep.py`: the picture from the CSV."""

import pytest

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure

from benchmark_scripts import importing_from
from repository import BENCHMARKS

STORED = sorted(BENCHMARKS.glob("results/*/sweep.csv"))


@pytest.fixture
def sweep():
    with importing_from(BENCHMARKS / "sweeps"):
        import sweep

        yield sweep


def test_the_legend_has_eight_entries_at_most(sweep):
    axes = Figure().subplots(1, 2)
    rows = sweep.stored("sweep", STORED[0].parent)
    sweep.draw_levels(axes[0], rows)
    sweep.draw_roofline(axes[1], rows)
    assert len(axes[0].get_legend_handles_labels()[0]) == 7
    assert axes[1].get_legend() is None
    roofs = [text for text in axes[1].texts if "GB/s" in text.get_text()]
    assert len(roofs) == 3
