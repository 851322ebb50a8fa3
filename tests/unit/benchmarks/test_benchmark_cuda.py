"""benchmarks/cuda: scripts run to the end on an emulated device; goals are judged."""

import csv
import sys
import time

import numpy as np
import pytest

import contactsolve as cs
from benchmark_scripts import importing_from
from contactsolve import _devices
from repository import BENCHMARKS

needs_emulation = pytest.mark.skipif(
    _devices.why_not("cuda-emulated") is not None, reason="needs the emulated kernels"
)


@pytest.fixture(scope="module")
def sweeps():
    with importing_from(BENCHMARKS / "cuda"):
        import sweeps

        yield sweeps


def test_the_pile_is_one_of_unit_spheres(sweeps):
    """Contacts are pairs of near balls, each once; frames are orthonormal; levers are radii."""
    problem = sweeps.pile(5)
    pairs = problem.bodies
    assert len(np.unique(pairs, axis=0)) == len(pairs)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert (pairs[:, 0] == -1).sum() == 25
    moving = pairs[:, 0] >= 0
    A = problem.delassus().toarray().reshape(len(pairs), 3, len(pairs), 3)
    blocks = A[np.arange(len(pairs)), :, np.arange(len(pairs))]
    # A = n (1/m) n' + t (1/m + r² / I) t' for each ball that moves, with 1/m = 1 and 1/I = 2.5.
    wanted = np.where(moving[:, None], 2.0, 1.0) * np.array([1.0, 3.5, 3.5])
    assert np.allclose(blocks, [np.diag(row) for row in wanted], atol=1e-12)
    assert cs.solve(problem, method="gauss_seidel", compressed=True, rtol=1e-6).converged


@pytest.fixture
def dense():
    with importing_from(BENCHMARKS / "cuda"):
        import dense

        yield dense


@needs_emulation
def test_sweeps_run_to_the_end_on_an_emulated_device(sweeps, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(sweeps.copy_rate.__module__ + ".COPY_BYTES", 1 << 16)
    arguments = ["--cases", "grid-2,pile-2", "--repeats", "1", "--device", "cuda-emulated"]
    sweeps.main([*arguments, "--results", str(tmp_path)])
    assert capsys.readouterr().out.count("not measured") == len(sweeps.GOALS)
    rows = list(csv.DictReader((tmp_path / "cuda_sweeps.csv").read_text("utf-8").splitlines()))
    assert len(rows) == 2 * len(sweeps.OWN_BYTES)
    for row in rows:
        assert "dataflow" in row["kernel"]
        share = float(row["own_gbs"]) / float(row["copy_gbs"])
        assert float(row["share_of_copy"]) == pytest.approx(share, rel=1e-3)


@needs_emulation
def test_full_matrices_run_to_the_end_on_an_emulated_device(dense, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(dense.copy_rate.__module__ + ".COPY_BYTES", 1 << 16)
    arguments = ["--rows", "15,30", "--repeats", "1", "--iterations", "4"]
    dense.main([*arguments, "--device", "cuda-emulated", "--results", str(tmp_path)])
    assert capsys.readouterr().out.count("not measured") == len(dense.GOALS)
    rows = list(csv.DictReader((tmp_path / "cuda_dense.csv").read_text("utf-8").splitlines()))
    assert [(row["rows"], row["dtype"]) for row in rows] == [
        (rows, dtype) for rows in ("15", "30") for dtype in ("float32", "float64")
    ]
    for row in rows:
        share = 1e3 * float(row["megabytes"]) / float(row["graph_us"]) / float(row["copy_gbs"])
        assert float(row["graph_share"]) == pytest.approx(share, rel=1e-2)


def test_what_is_measured_of_full_matrices(dense):
    """Whatever a goal needs; with fewer iterations of what takes longer."""
    for goal in dense.GOALS:
        cases = dense.cases_of(goal.row["rows"])[goal.row["dtype"]]
        needed = [name for name in (*dense.WAYS, "full_sor", "cublas") if name in goal.key]
        assert needed
        assert set(needed) <= set(cases)
    assert dense.iterations_of(13200, "graph", 1000) == 256
    assert dense.iterations_of(13200, "full_sor", 1000) == 32
    assert dense.iterations_of(300, "graph", 1000) == 1000


@needs_emulation
def test_a_size_without_time_is_left_out(dense, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(dense.copy_rate.__module__ + ".COPY_BYTES", 1 << 16)
    arguments = ["--rows", "6,15", "--repeats", "1", "--iterations", "1", "--seconds", "0"]
    dense.main([*arguments, "--device", "cuda-emulated", "--results", str(tmp_path)])
    assert "15 rows are left out: too little time" in capsys.readouterr().out
    rows = list(csv.DictReader((tmp_path / "cuda_dense.csv").read_text("utf-8").splitlines()))
    assert {row["rows"] for row in rows} == {"6"}


def test_peers_have_our_impulses(tmp_path):
    """On the processor; those that are not installed are left out."""
    with importing_from(BENCHMARKS / "cuda"):
        import peers

        peers.main(
            ["--grids", "3", "--repeats", "1", "--device", "cpu", "--results", str(tmp_path)]
        )
    rows = list(csv.DictReader((tmp_path / "cuda_peers.csv").read_text("utf-8").splitlines()))
    assert rows[0]["peer"] == "NumPy"
    for row in rows:
        assert float(row["apart"]) < 1e-5
        assert 0 < float(row["over_jacobi"]) < np.inf


def test_goals_are_reached_or_missed(sweeps):
    goal = next(goal for goal in sweeps.GOALS if goal.at_least)
    above, below = ({**goal.row, goal.key: goal.limit + more} for more in (0.01, -0.01))
    assert goal.told(above).endswith("reached")
    assert goal.told(below).endswith("MISSED")
    assert [text.endswith("MISSED") for text in sweeps.told([goal], [below])] == [True]
    goal = next(goal for goal in sweeps.GOALS if not goal.at_least)
    above = {**goal.row, goal.key: goal.limit + 0.01}
    assert goal.told(above).endswith("MISSED")
    assert sweeps.told([goal], [{**above, "case": "another"}])[0].endswith("not measured")


def test_without_a_gpu_nothing_is_written(sweeps, tmp_path, capsys):
    if cs.cuda.available():
        pytest.skip("there is a GPU")
    with pytest.raises(SystemExit) as ended:
        sweeps.main(["--results", str(tmp_path)])
    assert not ended.value.code
    assert "no GPU" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@needs_emulation
def test_memory_of_a_device_is_timed():
    module = _devices.module_of("cuda-emulated")
    times = module.memory_times(100_000)
    assert set(times) == {"take", "to_device", "within", "from_device", "give_back"}
    assert all(0 < seconds < 60 for seconds in times.values())
    with pytest.raises(ValueError, match="bytes=-1; a positive number is needed"):
        module.memory_times(-1)


@needs_emulation
def test_rounding_of_the_prox_is_measured_without_a_gpu(tmp_path):
    with importing_from(BENCHMARKS / "cuda"):
        import prox_ulp

        prox_ulp.main(["--points", "200", "--sets", "disc,support", "--results", str(tmp_path)])
        kernels = [len(prox_ulp.kernels_of(case)) for case in prox_ulp.CASES
                   if case.name in ("disc", "support")]  # fmt: skip
    rows = list(csv.DictReader((tmp_path / "prox_ulp.csv").read_text("utf-8").splitlines()))
    assert len(rows) == sum(kernels)
    for row in rows:
        assert 0.0 < float(row["ulp_double"]) <= float(row["ulp_single"]) < 4.0


@needs_emulation
def test_a_batch_has_empty_columns_without_a_device(tmp_path, capsys, monkeypatch):
    with importing_from(BENCHMARKS / "batch"):
        import batch

        monkeypatch.setattr(batch.devices, "present", lambda: None)
        for device in (["--device", "cuda-emulated"], []):
            arguments = ["--sizes", "3", "--goals", "--repeats", "1", "--results", str(tmp_path)]
            batch.main([*arguments, *device])
            rows = list(csv.DictReader((tmp_path / "batch.csv").read_text("utf-8").splitlines()))
            assert len(rows) == 3
            own = next(row for row in rows if row["way"] == batch.BY_THREAD)
            assert bool(own["sweep_rate"]) == bool(device)
            assert all(float(row["rate"]) > 0 for row in rows if row is not own)
        assert capsys.readouterr().out.count("not measured") == 2 * len(batch.GOALS) + 1


def test_a_script_is_ended_with_the_processes_that_it_has_started():
    """They hold the pipe of its output as well, and would be waited for."""
    child = "import time; print('begun', flush=True); time.sleep(60)"
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with importing_from(BENCHMARKS / "cuda"):
        import all as everything

        begun = time.monotonic()
        output, why = everything.run([sys.executable, "-c", script], 1.0)
    assert time.monotonic() - begun < 30
    assert why == "ended after 1 s"
    assert output in ("begun\n", "")  # a busy machine may not come so far


def test_all_scripts_go_on_after_a_failure_and_stop_after_the_budget(tmp_path, monkeypatch, capsys):
    with importing_from(BENCHMARKS / "cuda"):
        import all as everything

        def run(command, seconds):
            assert seconds <= 10 + everything.GRACE
            script = command[1]
            if script.endswith("sweeps.py"):
                return "", "exit status 1"
            folder = command[command.index("--results") + 1] if "--results" in command else None
            if folder and script.endswith("batch.py"):
                everything.Path(folder).mkdir()
                text = f"problems\n{len(command)}\n"
                everything.Path(folder, "batch.csv").write_text(text, encoding="utf-8")
                return "problems 33: sweep_rate = 2, goal >= 15.0: MISSED\n", None
            return "rows 300: graph_share: not measured\n", None

        monkeypatch.setattr(everything, "run", run)
        arguments = ["--device", "cuda-emulated", "--results", str(tmp_path)]
        everything.main([*arguments, "--budget", "10"])
        told = capsys.readouterr().out
        assert told.count("MISSED") == 3  # two scripts, and the goal
        assert "---- goals\nproblems 33: sweep_rate = 2, goal >= 15.0: MISSED\nrows 300" in told
        assert told.count("exit status 1") == 3
        assert len((tmp_path / "batch.csv").read_text("utf-8").splitlines()) == 3
        goals = list(csv.DictReader((tmp_path / "cuda_goals.csv").read_text("utf-8").splitlines()))
        assert [tuple(row.values())[:4] for row in goals] == [
            ("problems 33: sweep_rate", "2", ">= 15.0", "missed"),
            ("rows 300: graph_share", "", "", "not measured"),
        ]
        everything.main([*arguments, "--budget", "0"])
        assert capsys.readouterr().out.count("not started") == len(everything.STEPS)

        # On a GPU, a long script starts only if the budget has room for it.
        results = ["--results", str(tmp_path)]
        needs = [step.needs for step in everything.STEPS]
        assert max(needs) == needs[-1] > 100
        everything.main(["--device", "cuda", "--budget", "10", *results])
        told = capsys.readouterr().out
        assert told.count("not started") == sum(each > 0 for each in needs)
