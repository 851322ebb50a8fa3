"""benchmarks/convergence/convergence.py: what is written, taken up again, reported and drawn."""

import numpy as np
import pytest

import contactsolve as cs
from benchmark_scripts import importing_from
from repository import BENCHMARKS


@pytest.fixture
def convergence(monkeypatch, tmp_path):
    with importing_from(BENCHMARKS / "convergence"):
        import convergence

        monkeypatch.setattr("common.RESULTS", tmp_path)
        monkeypatch.setattr(convergence, "RESULTS", tmp_path)
        yield convergence


def test_the_list_is_fixed_and_a_third_of_it_is_held_out(convergence):
    entries = list(convergence.listed())
    assert len({entry.name for entry in entries}) == len(entries)
    held = sum(entry.held for entry in entries) / len(entries)
    assert 0.3 < held < 0.36
    assert 20 <= sum(entry.short for entry in entries) < len(entries)
    unseen = list(convergence.listed(first_seed=1000))
    assert all(entry.held and entry.kind == "scene" for entry in unseen)
    assert not {entry.name for entry in unseen} & {entry.name for entry in entries}
    assert len(unseen) == sum(entry.kind == "scene" for entry in entries)


def test_crossings_are_the_first_times_below(convergence):
    values = np.array([1.0, np.nan, 5e-4, 2e-3, 1e-7])
    assert convergence.crossings(values, np.arange(5.0)) == [2.0, 4.0, np.inf]


def test_rows_are_judged_from_outside_and_taken_up_again(convergence, capsys):
    pytest.importorskip("matplotlib")
    words = ["--seconds", "0.2", "--problems", "Rover1040", "box_stack #0"]
    methods = ["auto", "nesterov", "gauss_seidel", "apgd", "bpp"]
    convergence.main([*words, "--methods", *methods[:-1]])
    path = next(convergence.RESULTS.glob("*/convergence.csv"))
    rows = {(row["problem"], row["method"]): row for row in convergence.read(path)}
    assert len(rows) == 8
    assert rows["Rover1040", "auto"]["status"] == "converged"
    assert float(rows["Rover1040", "auto"]["reached"]) <= 1e-8
    assert rows["Rover1040", "apgd"]["status"] == "refused"
    assert path.with_suffix(".png").exists()
    told = capsys.readouterr().out
    assert "to 1e-06: 2 of 2 problems solved" in told
    assert "auto, all:" in told
    convergence.main([*words, "--methods", *methods])
    again = {(row["problem"], row["method"]): row for row in convergence.read(path)}
    assert len(again) == 10
    assert all(again[key] == row for key, row in rows.items())


def rows_of(convergence, seconds):
    """Rows of made-up times: problem, method, and the seconds to each tolerance."""
    rows = []
    for number, (problem, times) in enumerate(seconds.items()):
        for method, taken in times.items():
            row = dict.fromkeys(convergence.COLUMNS, "") | {"problem": problem, "method": method}
            row |= {"held_out": str(number % 3 == 2), "status": "converged" if taken else "refused"}
            keys = [f"seconds_to_{tolerance:.0e}" for tolerance in convergence.TOLERANCES]
            rows.append(row | dict.fromkeys(keys, taken))
    return rows


def test_tables_tell_how_near_the_best_single_method_is(convergence):
    times = {
        "one": {
            "auto": "0.012",
            "auto, rtol 1e-6": "0.011",
            "nesterov": "0.01",
            "newton": "",
            "Numba PGS": "0.024",
        },
        "two": {
            "auto": "0.03",
            "auto, rtol 1e-6": "0.012",
            "nesterov": "",
            "newton": "0.01",
            "Numba PGS": "0.001",
        },
        "three": {"auto": "", "nesterov": "0.5", "newton": "", "Numba PGS": ""},
        "four": {"auto": "3e-5", "nesterov": "1e-5", "newton": "", "Numba PGS": ""},
    }
    told = convergence.tables(rows_of(convergence, times))
    line = (
        "| 1e-6 | 1 of 4 (25%) | 1 of 3 (33%) | 0 of 1 (0%) | 1 of 3 (33%) | 0 of 1 (0%) "
        "| 2 of 4 (50%) | 3 of 4 |"
    )
    assert line in told
    assert "| two |" + 3 * " 3 ×, `newton` 10 ms |" in told
    assert "| three (held out) |" + 3 * " not solved, `nesterov` 500 ms |" in told
    assert "| four" not in told
    assert "| `auto` | 3 / 3 / 3 | 1 / 1 / 1 |" in told
    assert "| Numba PGS | 2 of 2, `auto` 2; 1 × (0.53 to 1.5)" in told


def test_the_judge_sees_what_a_method_does_not_say(convergence):
    problem = cs.scenarios.box_stack(2)
    result = cs.solve(problem, rtol=1e-10)
    assert convergence.judge(problem, result.impulses) <= 1e-10
    assert convergence.judge(problem, 1.1 * result.impulses) > 1e-3
    assert convergence.judge(problem, np.zeros_like(result.impulses)) > 0.1


@pytest.mark.slow
def test_peers_get_there(convergence):
    peers = convergence.peers
    problem = cs.scenarios.random(6, 8, rng=0)
    for name in ("Numba PGS", "Clarabel, De Saxcé", "pinocchio PGS", "pinocchio ADMM"):
        if not peers.is_there(name):
            continue
        found = convergence.Peer(problem, name, 2.0).run()
        assert found["reached"] <= 1e-6, name
    with pytest.raises(ValueError, match="is for friction discs"):
        peers.check("Numba PGS", cs.scenarios.ball_grid(2, rows=1))


@pytest.fixture
def draws(convergence):
    import draws

    return draws


def test_copies_of_a_problem_stay_within_the_range_of_its_matrix(draws):
    problem = cs.scenarios.box_stack(2)  # eight contacts between two bodies: redundant
    first, *others = draws.copies(problem, 3)
    np.testing.assert_array_equal(first, problem.b)
    assert len(others) == 2
    A = problem.delassus()
    A = A.toarray() if hasattr(A, "toarray") else np.asarray(A)
    for b in others:
        change = (b - problem.b).ravel()
        assert np.abs(change).max() == pytest.approx(1e-2 * np.abs(problem.b).max())
        found = A @ np.linalg.lstsq(A, change, rcond=1e-10)[0]
        np.testing.assert_allclose(found, change, atol=1e-9 * np.abs(change).max())


def test_the_table_compares_medians_with_first_draws(draws):
    seconds = {"auto": (1.0, 1.0, 1.0), "nncg": (0.1, 2.0, 3.0), "newton": (5.0, None, None)}
    rows = [
        {"problem": "one", "method": method, "draw": i}
        | {f"seconds_to_{t:.0e}": "" if s is None else str(s) for t in draws.TOLERANCES}
        for method, times in seconds.items()
        for i, s in enumerate(times)
    ]
    text = draws.table(rows)
    assert (
        "| one | 1e-06 | `nncg` | 100, 2e+03, 3e+03 | 1e+03, 1e+03, 1e+03 | 0.50 | 10.00 |" in text
    )
    assert "to 1e-08: of 1, within 1.5: 1 by medians, 0 by first draws" in text
