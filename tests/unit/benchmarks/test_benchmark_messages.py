"""The script that measures what messages between ranks cost."""

import importlib

import pytest

from benchmark_scripts import importing_from
from contactsolve import _core
from repository import BENCHMARKS


@pytest.mark.skipif(
    _core.build()["threading"] == "serial", reason="ranks as threads need a build with threads"
)
def test_a_trial_measures_both_ways_between_threads(monkeypatch, capsys):
    with importing_from(BENCHMARKS / "distributed"):
        messages = importlib.import_module("messages")
        monkeypatch.setattr(messages, "of_mpi", lambda _: None)
        rows = messages.main(quick=True)
    assert {(row["transport"], row["bytes"]) for row in rows} == {
        (transport, size) for transport in ("work", "threads") for size in messages.SIZES
    }
    assert all(0 < row["least_us"] <= row["median_us"] for row in rows)
    assert "work of an exchange" in capsys.readouterr().out
