"""benchmarks/s5: each script runs, what cannot be measured is told, and sentences fit the rows."""

import csv
import sys

import numpy as np
import pytest

import contactsolve as cs
from benchmark_scripts import check_filled, check_page, importing_from
from repository import BENCHMARKS

pytest.importorskip("matplotlib")
pytest.importorskip("scipy.sparse")


@pytest.fixture(scope="module")
def scripts():
    with importing_from(BENCHMARKS / "s5"):
        yield __import__


@pytest.fixture(scope="module")
def quick(scripts, tmp_path_factory):
    protocol = scripts("protocol")
    run = protocol.Run(tmp_path_factory.mktemp("s5"), cores=2)
    return protocol.quick_of(run, run.results)


@pytest.fixture(scope="module")
def tables(scripts, quick):
    """All scripts run once: rows by table."""
    for script in ("numerics", "peers", "collision", "pool", "scenes"):
        scripts(script).main(quick)
    return {
        name: list(csv.DictReader((quick.results / f"{name}.csv").read_text("utf-8").splitlines()))
        for name in scripts("layouts").LAYOUTS
    }


COLLISIONS = ("s5_estimate", "s5_splitting", "s5_estimate_simulated", "s5_splitting_simulated")
WHOLE = ("s5_scenes", "s5_course")
DRAWN = ("s5_numerics", "s5_threads", "s5_parts", *COLLISIONS, "s5_pool", *WHOLE)


def test_every_script_writes_its_tables_and_pictures(scripts, tables, quick):
    for name, layout in scripts("layouts").LAYOUTS.items():
        assert {column.key for column in layout.columns} <= set(tables[name][0]), name
    for name in DRAWN:
        assert (quick.results / f"{name}.png").stat().st_size > 10_000, name


def test_system_is_that_of_a_sheet_at_rest_under_tension(scripts, quick):
    """Forces on the edges pull the sheet together, in its plane, without moving its centre."""
    system = scripts("protocol").system_of(quick)
    b = system.right.reshape(-1, 3)
    size = np.abs(b).max()
    x = system.positions[:, :2]
    inside = ((x > 1e-9) & (x < x.max(axis=0) - 1e-9)).all(axis=1)
    assert inside.sum() == (quick.sheet[0] - 2) * (quick.sheet[1] - 2)
    assert np.abs(b[inside]).max() < 1e-12 * size
    assert np.abs(b[:, 2]).max() < 1e-12 * size
    assert np.abs(b.sum(axis=0)).max() < 1e-12 * size * len(b)
    assert np.sum((system.positions - system.positions.mean(axis=0)) * b) < 0


def test_both_orders_of_operations_solve_the_same_system(scripts, quick):
    protocol = scripts("protocol")
    system = protocol.system_of(quick)
    for dtype in ("float64", "mixed"):
        own = protocol.operators(system, 4, dtype)
        merged = protocol.solve(system, own, dtype, 1)
        plain = protocol.plain_solve(system, own, 1)
        assert merged["status"] == "converged"
        assert max(merged["residual"], plain["plain_residual"]) < 2e-6
        assert abs(merged["iterations"] - plain["plain_iterations"]) < 5
        assert 0 < plain["pc_share"] + plain["spmv_share"] < 1


def test_more_threads_than_cores_are_not_measured(tables, quick):
    for row in tables["s5_threads"]:
        measured = int(row["threads"]) <= quick.cores
        assert (row["pc_s"] != "") == (row["cg_speedup"] != "") == measured
        assert row["measured"] == ("yes" if measured else "no: 2 cores")
    for row in tables["s5_pool"]:
        measured = int(row["threads"]) <= quick.cores
        assert (row["lock_free_s"] != "") == (row["ratio"] != "") == measured
        assert row["measured"] == ("yes" if measured else "no: 2 cores")


def test_each_pattern_of_tasks_has_its_ratio(tables, quick):
    wanted = [(p, str(n)) for p in ("latency", "throughput") for n in quick.threads]
    assert [(row["pattern"], row["threads"]) for row in tables["s5_pool"]] == wanted
    for row in tables["s5_pool"][:2]:
        ratio = float(row["lock_free_s"]) / float(row["mutex_s"])
        assert float(row["ratio"]) == pytest.approx(ratio, rel=1e-3)
        assert float(row["lock_free_least_s"]) <= float(row["lock_free_s"])


def test_the_goal_of_the_pool_is_told_as_it_is(scripts):
    verdict = scripts("pool").verdict
    row = {"pattern": "latency", "threads": 2, "ratio": 0.4}
    assert verdict([row]).endswith("0.400, goal <= 0.5: reached")
    assert verdict([{**row, "ratio": 0.6}]).endswith("0.600, goal <= 0.5: MISSED")
    assert "one core" in verdict([{**row, "ratio": None}])


def test_list_schedules_of_tasks(scripts):
    makespan = scripts("collision").makespan
    assert makespan([3.0, 1.0, 1.0, 1.0], 2) == 3.0
    assert makespan([1.0, 1.0, 3.0], 2) == 4.0
    assert makespan([2.0, 1.0], 1) == 3.0
    assert makespan([2.0, 1.0], 8) == 2.0


def test_an_estimate_has_settled_when_no_later_error_is_above_the_level(scripts):
    settled = scripts("collision").settled_after
    assert settled([0, 1, 2, 3], [9.0, 2.0, 6.0, 4.0], 5) == 3
    assert settled([0, 1], [1.0, 2.0], 5) == 0
    assert settled([0, 1], [1.0, 6.0], 5) is None


@pytest.mark.parametrize("scene", ["1a", "1b", "2"])
def test_motions_are_those_of_meshes_without_gaps(scripts, scene):
    """Sizes are S5's; nothing jumps from one step to the next."""
    motion = scripts("motions").SCENES[scene]()
    sizes = {"1a": (4500, 27_000), "1b": (4500, 1800), "2": (4141, 13_600)}
    assert (len(motion.cloth(0)), len(motion.obstacle(0))) == sizes[scene]
    for faces, at in ((motion.cloth_faces, motion.cloth), (motion.obstacle_faces, motion.obstacle)):
        assert sorted(set(faces.ravel())) == list(range(len(at(0))))
        for t in np.linspace(0, motion.seconds - motion.step, 7):
            change = np.linalg.norm(at(t + motion.step) - at(t), axis=1)
            assert np.isfinite(change).all()
            assert change.max() < 20 * motion.step


def test_simulated_motions_are_those_of_runs(scripts, quick):
    """Frames at the times of steps, and the last one after the end."""
    simulated = scripts("simulated")
    motion = simulated.motion_of("1b", quick.seconds)
    assert motion.seconds == quick.seconds
    cloth = simulated.cloth_of("1b")
    np.testing.assert_array_equal(motion.cloth(0.0), cloth.positions)
    cloth.run(2 * motion.step, motion.step)
    np.testing.assert_array_equal(motion.cloth(2 * motion.step), cloth.positions)
    np.testing.assert_array_equal(motion.cloth(1.0), motion.cloth(quick.seconds))
    assert len(motion.obstacle(0.3)) == 1808


def test_phases_of_whole_scenes(tables, quick):
    """Each step is counted once, and a phase is a part of the whole."""
    rows = tables["s5_scenes"]
    assert [row["phase"] for row in rows[:4]] == ["pc", "spmv", "collision", "integral"]
    assert [row["scene"] for row in rows] == [s for s in ("1a", "1b", "2") for _ in range(4)]
    for row in rows:
        assert float(row["seconds_simulated"]) == pytest.approx(quick.seconds)
        assert float(row["alone_s"]) > 0
        gain = float(row["alone_s"]) / float(row["seconds"])
        assert float(row["speedup"]) == pytest.approx(gain, rel=1e-3)
    for whole, collision in zip(rows[3::4], rows[2::4], strict=True):
        assert float(collision["alone_s"]) < float(whole["alone_s"])


def test_peaks_of_a_course_are_judged(scripts, tables):
    """Rows are given: a peak at another time than S5's is told as such."""
    remarks, rows = scripts("remarks").remarks, tables["s5_course"]
    told = {"1b": {"collision": 0.1, "pc": 0.2}, "2": {"collision": 1.0, "pc": 4.1}}
    given = [
        {**row, "most_at_s": told.get(row["scene"], {}).get(row["phase"], 0.0)} for row in rows
    ]
    assert " ".join(remarks("s5_course", given)).count("Holds.") == 3
    late = [{**row, "most_at_s": 2.0} for row in rows]
    assert " ".join(remarks("s5_course", late)).count("Does not hold here.") == 3
    assert "more than one core" in " ".join(
        remarks("s5_course", [{**row, "most_at_s": ""} for row in rows])
    )


def test_boundary_and_blocks_between_parts_are_those_of_the_labels(scripts, quick):
    system = scripts("protocol").system_of(quick)
    A = cs.sparse.SymmetricBlocks(system.matrix, 3)
    label = np.empty(A.shape[0] // 3, int)
    label[A.info["order"]] = np.repeat(np.arange(3), np.diff(A.info["first"]))
    row = np.repeat(np.arange(len(label)), np.diff(A.indptr))
    apart = label[row] != label[A.indices]
    told = scripts("numerics").coupling(A)
    assert told["external_share"] == pytest.approx(apart.mean())
    assert told["boundary_share"] == pytest.approx(len(np.unique(row[apart])) / len(label))


def test_rigid_modes_have_no_membrane_forces(scripts):
    """Of a sheet at rest, A − M is the stiffness: it sends rigid modes to zero."""
    vertices, faces = cs.cloth.sheet(4, 5, 1.0)
    cloth = cs.cloth.Cloth(vertices, faces, density=1.0, young=10.0, gravity=(0, 0, 0))
    stiffness = cloth.system(1.0)[0].to_scipy().toarray() - np.diag(np.repeat(cloth.masses, 3))
    modes = scripts("peers").meshes.rigid_modes(vertices)
    assert np.linalg.matrix_rank(modes) == 6
    assert np.abs(stiffness @ modes).max() < 1e-12 * np.abs(stiffness).max()


def test_peers_that_are_not_installed_are_told(scripts, quick, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pyamg", None)
    monkeypatch.setitem(sys.modules, "pymetis", None)
    monkeypatch.setattr(scripts("peers").petsc, "why_not", lambda: "there is no mpiexec")
    system = scripts("protocol").system_of(quick)
    rows = list(scripts("peers").rows_of_peers(quick, system))
    told = capsys.readouterr().out
    assert "pyamg is not installed" in told
    assert "PETSc is not measured: there is no mpiexec" in told
    sentences = " ".join(scripts("remarks").remarks("s5_peers", rows))
    assert "pyamg was not installed" in sentences
    assert "PETSc was not installed" in sentences
    assert {partition for _, partition in scripts("numerics").kinds()} == {"slices"}


def test_petsc_stands_beside_ours_where_it_is_measured(scripts, tables, quick, monkeypatch):
    """Rows are means of runs; here the runs are given."""
    peers = scripts("peers")
    answers = iter([1.0, 3.0, 9.0])

    def solves(*_):
        seconds = next(answers)
        row = {"status": "converged", "iterations": 7, "set_up_s": seconds, "solve_s": 2 * seconds}
        names = ("gamg", "sor", "block Jacobi")
        return {"product_s": seconds, "solves": [{"name": n, **row, "residual": 0} for n in names]}

    monkeypatch.setattr(peers.petsc, "solves", solves)
    system = scripts("protocol").system_of(quick)
    rows = list(peers.rows_of_petsc(quick._replace(runs=2), system, system.right))
    assert [row["name"] for row in rows] == ["PETSc, gamg", "PETSc, sor", "PETSc, block Jacobi"]
    assert (rows[0]["set_up_s"], rows[0]["solve_s"], rows[0]["both_s"]) == (2, 4, 6)
    ours = [row for row in tables["s5_peers"] if not row["name"].startswith("PETSc")]
    told = " ".join(scripts("remarks").remarks("s5_peers", ours + rows))
    assert "GAMG with the rigid modes needs 7 iterations and 6 s" in told


def test_sentences_follow_the_rows(scripts, tables):
    """A claim of S5 that ours does not show is told as such."""
    remarks = scripts("remarks").remarks
    rows = [{**row, "pc_over_spmv": "2"} for row in tables["s5_numerics"]]
    assert "Holds. On one thread" in " ".join(remarks("s5_numerics", rows))
    rows[0]["pc_over_spmv"] = "0.5"
    assert "Does not hold here. On one thread" in " ".join(remarks("s5_numerics", rows))


def test_four_threads_are_compared_with_the_published_ranges(scripts, tables):
    remarks = scripts("remarks").remarks
    assert "has not S5's 4 cores" in " ".join(remarks("s5_numerics", tables["s5_numerics"]))
    rows = [
        {**row, "threads": "4" if row["threads"] == "2" else "1"} for row in tables["s5_numerics"]
    ]
    assert "has not S5's 4 cores" not in " ".join(remarks("s5_numerics", rows))


def test_one_table_can_be_asked_for(scripts, capsys):
    protocol, numerics = scripts("protocol"), scripts("numerics")
    run = protocol.arguments("Text.", numerics.TABLES, ["--quick", "s5_parts"])
    assert run.makes("s5_parts", "s5_solves")
    assert not run.makes("s5_numerics", "s5_solves")
    with pytest.raises(SystemExit):
        protocol.arguments("Text.", numerics.TABLES, ["s5_part"])
    assert "'s5_part' is none of" in capsys.readouterr().err
    others = ("peers", "collision", "pool", "scenes")
    everything = {*numerics.TABLES, *(name for s in others for name in scripts(s).TABLES)}
    assert everything == set(scripts("layouts").LAYOUTS)


def test_report_fills_the_page(scripts, tables, quick):
    check_filled(scripts("report"), [name for name in tables if name in DRAWN], quick)


def test_page_is_what_the_results_make_it(scripts):
    """docs/s5.md, written from the committed CSVs of the machine that it names, or of none."""
    check_page(scripts("report"), "s5")


def test_one_scene_can_be_measured_alone(scripts, tables, quick, tmp_path, capsys):
    protocol, collision = scripts("protocol"), scripts("collision")
    stored, names = protocol.common.stored, ("s5_estimate", "s5_estimate_steps", "s5_splitting")
    before = {name: stored(name, quick.results) for name in names}
    for name, rows in before.items():
        protocol.common.write_csv(name, rows, tmp_path)
    given = ["--quick", "--scene", "1b", "s5_estimate", "s5_splitting"]
    run = protocol.arguments("Text.", collision.TABLES, given, scenes=tuple(collision.SCENES))
    collision.main(run._replace(results=tmp_path))
    for name, rows in before.items():
        found = stored(name, tmp_path)
        assert [row["scene"] for row in found] == [row["scene"] for row in rows]
        others = [row for row in rows if row["scene"] != "1b"]
        assert [row for row in found if row["scene"] != "1b"] == others
    splitting = [row for row in before["s5_splitting"] if row["scene"] == "1b"]
    assert [row for row in stored("s5_splitting", tmp_path) if row["scene"] == "1b"] != splitting
    with pytest.raises(SystemExit):
        protocol.arguments("Text.", (), ["--scene", "3"], scenes=("1a",))
    assert "invalid choice: '3'" in capsys.readouterr().err
