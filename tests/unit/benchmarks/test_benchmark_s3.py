"""`benchmarks/s3`: each script runs, and what it counts is checked against other ways to count."""

import csv

import numpy as np
import pytest

import contactsolve as cs
from benchmark_scripts import check_filled, check_page, importing_from
from reference_mlcp import natural_residual
from repository import BENCHMARKS

FOLDER = BENCHMARKS / "s3"
FEW = ("forklift", "stack_of_boxes")
MOVING = ("chain",)


@pytest.fixture(scope="module")
def scripts():
    """Import by name from the benchmarks' folder, and leave no trace."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("scipy")
    with importing_from(FOLDER):
        yield __import__


@pytest.fixture(scope="module")
def quick(scripts, tmp_path_factory):
    """The quick form of every run on two scenes, its results in a folder of their own."""
    run = scripts("protocol").run_of(True)
    return run._replace(results=tmp_path_factory.mktemp("s3"), scenes=FEW)


@pytest.fixture(scope="module")
def tables(scripts, quick):
    """All scripts run once: rows by table."""
    layouts = scripts("layouts").LAYOUTS
    for script in ("frames.py", *dict.fromkeys(layout.script for layout in layouts.values())):
        run = quick._replace(scenes=MOVING) if script == "motion.py" else quick
        scripts(script.removesuffix(".py")).main(run)
    return {
        name: list(csv.DictReader((quick.results / f"{name}.csv").read_text("utf-8").splitlines()))
        for name in layouts
    }


def test_every_script_writes_its_table_and_a_picture(scripts, tables, quick):
    for name, layout in scripts("layouts").LAYOUTS.items():
        assert tables[name], name
        assert {column.key for column in layout.columns} <= set(tables[name][0]), name
        assert (quick.results / f"{name}.png").stat().st_size > 10_000, name
    written = {
        path.stem for path in FOLDER.glob("*.py") if "main(arguments(" in path.read_text("utf-8")
    }
    in_tables = {layout.script for layout in scripts("layouts").LAYOUTS.values()}
    assert written == {script.removesuffix(".py") for script in in_tables} | {"frames"}


def test_every_answer_holds(tables):
    for row in tables["table_2_2"]:
        assert row["solved"] == "2 of 2"
        assert float(row["residual"]) <= 1e-9
    for row in tables["table_2_4"]:
        assert 0 <= float(row["min"]) <= float(row["median"]) <= float(row["max"]) < 7e-8


def test_figures_of_s3_stand_beside_ours(tables):
    row = next(row for row in tables["table_2_2"] if row["scene"] == "forklift")
    assert (row["s3_rows"], row["s3_ratio"]) == ("300", "2700")
    row = next(row for row in tables["table_2_3"] if row["scene"] == "forklift")
    assert float(row["s3_speedup_skyline"]) == pytest.approx(1.5)
    row = next(row for row in tables["table_2_3"] if row["scene"] == "stack_of_boxes")
    assert row["s3_full"] == ""


def test_speedups_are_those_that_s3_prints(scripts):
    """Each within the rounding of the times that S3 prints, and shown as it stands there."""
    published, scenes = scripts("published"), scripts("scenes")
    engines = scripts("protocol").ENGINES
    own = {"tight": np.ones(1), **{f"ms_{engine}": np.ones(1) for engine in engines}}
    for name, (full, *others) in published.TIMES.items():
        row = scenes.time_row(name, own)
        shown = row["s3_speedup_downdate"], row["s3_speedup_skyline"]
        assert shown == published.SPEEDUPS[name]
        for time, ratio in zip(others, shown, strict=True):
            least, most = (full - 0.05) / (time + 0.05), (full + 0.05) / (time - 0.05)
            assert least - 0.05 < ratio < most + 0.05, name
    assert published.SPEEDUPS["winch"] == (0.9, 1.3)


def test_errors_stand_over_those_of_s3(tables):
    for row in tables["table_2_4"]:
        for key in ("max", "mean", "median"):
            if row[f"s3_{key}"]:
                ratio = float(row[key]) / float(row[f"s3_{key}"])
                assert float(row[f"over_{key}"]) == pytest.approx(ratio, rel=1e-3)
            else:
                assert row[f"over_{key}"] == ""


def test_rows_taken_out_leave_the_factor_of_the_rest(scripts):
    errors = scripts("errors")
    rng = np.random.default_rng(0)
    root = rng.normal(size=(12, 12))
    A = root @ root.T + 12.0 * np.eye(12)
    rest = np.delete(np.arange(12), (0, 3, 4, 11))
    found = errors.without(np.linalg.cholesky(A), [0, 3, 4, 11])
    np.testing.assert_allclose(found, np.linalg.cholesky(A[np.ix_(rest, rest)]), atol=1e-13)
    b = rng.normal(size=len(rest))
    np.testing.assert_allclose(
        errors.solved(found, b), np.linalg.solve(A[np.ix_(rest, rest)], b), atol=1e-13
    )


def test_errors_grow_with_the_condition_number(tables):
    """The forklift with more compliance: better conditioned, and nearer to a new factor."""
    rows = [row for row in tables["errors"] if row["scene"] == "forklift"]
    assert [float(row["compliance"]) for row in rows] == [1e-8, 1e-7, 1e-6]
    condition, impulses = (np.array([float(r[k]) for r in rows]) for k in ("condition", "impulses"))
    assert np.all(np.diff(condition) < 0)
    assert impulses[0] > 10 * impulses[-1]
    for row in rows:
        ratio = float(row["two_orders"]) / float(row["impulses"])
        assert 0.05 < ratio < 20  # no removal differs as much


def test_a_frame_is_the_whole_problem(scripts):
    """The mixed LCP with the bounds that were found has the answer of the whole problem."""
    found = scripts("protocol").frame("forwarder", 40)
    assert found.converged
    result = cs.solve_mlcp(found.A, found.b, found.lo, found.hi)
    assert found.residual(result.x) == pytest.approx(
        natural_residual(found.A.toarray(), found.b, found.lo, found.hi, result.x)
    )
    options = {"rtol": 1e-9, "averaging": found.averaging, "max_iterations": 1000}
    whole = cs.solve(found.problem, method="bpp", **options)
    expected = np.concatenate([x.ravel() for x in whole.impulses])
    np.testing.assert_allclose(result.x, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_fill_is_that_of_a_dense_factor(scripts):
    """Entries of L by the elimination tree, against a factor of a pattern without cancellation."""
    fill = scripts("fill")
    A = fill.matrix("forklift")
    rng = np.random.default_rng(0)
    for order in fill.ORDERS.values():
        matrix = fill.reordered(A, cs.mlcp.fill_order(A, order)).toarray()
        values = np.tril(np.where(matrix != 0, rng.uniform(0.5, 1.0, matrix.shape), 0.0), -1)
        L = np.linalg.cholesky(values + values.T + 1000.0 * np.eye(len(matrix)))
        counted = fill.columns_of_factor(fill.reordered(A, cs.mlcp.fill_order(A, order)))
        np.testing.assert_array_equal(counted, (L != 0.0).sum(axis=0))


def test_depths_and_places_of_a_tree(scripts):
    trees = scripts("trees")
    parent = np.array([2, 2, 4, 4, -1])
    assert trees.depths(parent).tolist() == [2, 2, 1, 1, 0]
    assert trees.places(parent).tolist() == [0.0, 1.0, 0.5, 2.0, 1.0]


def test_the_crossing_lies_between_two_shares(scripts):
    rows = [{"tight": t, "x": x} for t, x in ((0.1, 1.5), (0.2, 1.1), (0.3, 0.7))]
    assert scripts("random_matrices").crossing(rows, "x") == pytest.approx(0.225)
    assert scripts("random_matrices").crossing(rows[:2], "x") is None


def test_scenes_in_motion_stand_beside_the_prescribed_motion(scripts, tables, quick):
    """Both ways of finding friction bounds; steps that begin from the last one pivot less."""
    whole = {row["way"]: row for row in tables["motion_scenes"] if row["scene"] == "chain"}
    assert list(whole) == ["settled", "one solve"]
    assert whole["settled"]["converged"] == "20 of 20"
    assert float(whole["one solve"]["solves"]) == 1.0
    assert 0 < float(whole["one solve"]["pivots"]) < float(whole["settled"]["pivots"])
    start = next(row for row in tables["motion_starts"] if row["scene"] == "chain")
    assert float(start["warm_pivots"]) < float(start["cold_pivots"])
    tight = next(row for row in tables["motion_tight"] if row["scene"] == "chain")
    nowhere = quick._replace(results=quick.results / "none")
    committed = scripts("motion").prescribed(nowhere, "figure_2_3")
    prescribed = next(row for row in committed if row["scene"] == "chain")
    assert tight["prescribed_tight_median"] == prescribed["tight_median"]
    for row in tables["motion_errors"]:
        assert 0 <= float(row["min"]) <= float(row["median"]) <= float(row["max"]) < 7e-8


def test_a_step_in_motion_is_a_frame(scripts):
    """The mixed LCP of a step, with the bounds that were found, has the impulses of the world."""
    motion, protocol = scripts("motion"), scripts("protocol")
    world = motion.world_of("chain")
    for _ in range(6):
        world.step()
    found = protocol.frame_of(world.problem())
    assert found.converged
    assert world.info["status"] == "converged"
    x = cs.solve_mlcp(found.A, found.b, found.lo, found.hi).x
    contacts = world.contacts.impulses[:, :3].ravel()
    assert len(contacts) > 0
    np.testing.assert_allclose(
        x[: len(contacts)], contacts, rtol=0, atol=1e-3 * np.abs(contacts).max()
    )


def test_worlds_are_found_by_the_names_of_s3(scripts):
    motion, run = scripts("motion"), scripts("protocol").run_of(True)
    assert {"winch", "chain"} <= set(motion.moving(run))
    assert motion.moving(run._replace(scenes=("stack_of_boxes",))) == []
    with pytest.raises(SystemExit, match="none of these scenes is a world: stack_of_boxes"):
        motion.main(run._replace(scenes=("stack_of_boxes",)))


def test_a_scene_without_joints_is_measured(scripts, quick, monkeypatch):
    motion = scripts("motion")
    monkeypatch.setattr(motion, "world_of", lambda *_: stack())
    monkeypatch.setattr(motion, "steps_of", lambda _: (2, 1))
    rows, own = motion.frames_of("stack_of_boxes", quick)
    assert [row["rows"] for row in rows] == [24, 24]
    for one in own:
        assert one["drift"] == one["drift_end"] == 0.0
        assert one["contacts"] == 8.0


def stack():
    """A world of two boxes without joints."""
    given = {"method": "bpp", "friction": "box", "contact_compliance": 1e-8 / 3600}
    world = cs.dynamics.World(time_step=1 / 60, **given)
    world.add_fixed(cs.dynamics.HalfSpace([0, 0, 1]))
    for k in range(2):
        world.add_body(cs.dynamics.Box([0.5, 0.5, 0.5]), [0, 0, 0.5 + k], density=1000.0)
    return world


def test_report_fills_the_page(scripts, tables, quick):
    check_filled(scripts("report"), tables, quick)


def test_page_is_what_the_results_make_it(scripts):
    """docs/s3.md, written from the committed CSVs of the machine that it names, or of none."""
    check_page(scripts("report"), "s3")
