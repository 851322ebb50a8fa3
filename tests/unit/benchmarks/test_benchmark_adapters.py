"""benchmarks/dynamics/adapters.py: a row for each scene, and simulators that are missing."""

import pytest

from benchmark_scripts import importing_from
from repository import BENCHMARKS


@pytest.fixture
def adapters(monkeypatch):
    with importing_from(BENCHMARKS / "dynamics"):
        import adapters

        monkeypatch.setattr(adapters, "BOXES", (2,))
        monkeypatch.setattr(adapters, "POINTS", (8,))
        yield adapters


@pytest.mark.parametrize("simulator", ["mujoco", "pinocchio"])
def test_each_scene_has_a_row(adapters, simulator):
    pytest.importorskip(simulator)
    rows = list(adapters.measure(simulator, 1))
    contacts = [row["contacts"] for row in rows]
    assert contacts == ([*4 * [8], 100] if simulator == "mujoco" else [8, 8])
    for row in rows:
        assert row["rows"] == 3 * row["contacts"]
        assert min(value for name, value in row.items() if "_ms" in name) > 0


def test_simulators_that_are_missing_are_left_out(adapters, monkeypatch, capsys):
    def missing():
        raise ModuleNotFoundError("No module named 'simulator'")
        yield

    monkeypatch.setattr(adapters, "SCENES", {"one": missing})
    monkeypatch.setattr("sys.argv", ["adapters.py"])
    adapters.main()
    assert "one is left out" in capsys.readouterr().err
