"""benchmarks/dynamics/steps.py: settled states are kept, phases add up, pyramids stand."""

import numpy as np
import pytest

from benchmark_scripts import importing_from
from repository import BENCHMARKS


@pytest.fixture
def steps(monkeypatch, tmp_path):
    with importing_from(BENCHMARKS / "dynamics"):
        import steps

        monkeypatch.setattr(steps, "CACHE", tmp_path)
        monkeypatch.setattr(steps, "MOST_STEPS", 300)
        monkeypatch.setattr(steps, "WARM_UP", 2)
        yield steps


def test_a_settled_state_is_simulated_once(steps, monkeypatch, capsys):
    positions, velocities = steps.settled(20)
    assert "settling 20 spheres: 300 steps" in capsys.readouterr().err
    width = 2 * steps.RADIUS * steps.DISTANCE * 3
    assert (positions > 0.9 * steps.RADIUS).all()
    assert (positions[:, :2] < width - 0.9 * steps.RADIUS).all()

    monkeypatch.delattr(steps, "settle")
    again = steps.settled(20)
    assert np.array_equal(again[0], positions)
    assert np.array_equal(again[1], velocities)


def test_phases_add_up_to_the_step(steps):
    run = steps.Run(20, "float64", 1)
    seconds = run.turn()
    assert sum(run.phases[-1].values()) == pytest.approx(seconds)
    assert run.world.steps == steps.WARM_UP + steps.TURN
    rows = list(steps.measure_spheres((20,), (1,), 1))
    assert [row["dtype"] for row in rows] == ["float64", "float32"]
    for row in rows:
        assert row["contacts"] > 20
        assert min(row[f"{name}_ms"] for name in steps.PHASES) > 0
        assert row["packed_bytes_per_contact"] > 100
        assert 0 <= row["changed"] <= 2


def test_engines_that_are_missing_are_left_out(steps, monkeypatch, capsys):
    def missing(*state):
        raise ModuleNotFoundError("No module named 'engine'")

    monkeypatch.setattr(steps, "PEERS", {"ours": steps.PEERS["contactsolve f64"], "it": missing})
    rows = list(steps.measure_peers((20,), 1))
    assert [row["engine"] for row in rows] == ["ours"]
    assert "it is left out" in capsys.readouterr().err


def test_the_pyramid_is_box2ds(steps):
    solver = {"method": "gauss_seidel", "sweeps": 500, "substeps": 1, "activation": 1e-3}
    (row,) = steps.measure_pyramid(4, 2, (1,), **solver)
    assert row["squares"] == 10
    # Two squares below each, with two points each; on the ground two points; and neighbours.
    assert row["contacts"] == 4 * 6 + 2 * 4 + 2 * 6
    assert row["tip_moved_mm"] < 0.1
