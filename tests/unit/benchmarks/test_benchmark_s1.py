"""`benchmarks/s1`: each script runs, and S1's own figures come out where nothing is timed."""

import csv

import numpy as np
import pytest

import contactsolve as cs
from benchmark_scripts import check_filled, check_page, importing_from
from repository import BENCHMARKS

FOLDER = BENCHMARKS / "s1"


@pytest.fixture(scope="module")
def scripts():
    """Import by name from the benchmarks' folder, and leave no trace."""
    pytest.importorskip("matplotlib")
    with importing_from(FOLDER):
        yield __import__


@pytest.fixture(scope="module")
def quick(scripts, tmp_path_factory):
    """The quick form of every run, its results in a folder of their own."""
    run = scripts("protocol").run_of(True, (1, 2))
    return run._replace(results=tmp_path_factory.mktemp("s1"))


@pytest.fixture(scope="module")
def tables(scripts, quick):
    """All scripts run once: rows by table."""
    layouts = scripts("layouts").LAYOUTS
    for layout in layouts.values():
        scripts(layout.script.removesuffix(".py")).main(quick)
    return {
        name: list(csv.DictReader((quick.results / f"{name}.csv").read_text("utf-8").splitlines()))
        for name in layouts
    }


def rows_by(rows, *keys):
    return {tuple(row[key] for key in keys): row for row in rows}


def test_every_script_writes_its_table_and_a_picture(scripts, tables, quick):
    for name, layout in scripts("layouts").LAYOUTS.items():
        assert tables[name], name
        assert {column.key for column in layout.columns} <= set(tables[name][0]), name
        assert (quick.results / f"{name}.png").stat().st_size > 10_000, name
    written = {
        path.stem for path in FOLDER.glob("*.py") if "main(arguments(" in path.read_text("utf-8")
    }
    assert written == {
        layout.script.removesuffix(".py") for layout in scripts("layouts").LAYOUTS.values()
    }


def test_operations_are_those_of_s1(scripts):
    """Table 3.1 for blocks of four rows and six velocities, its two slips apart."""
    cost = scripts("table_3_1")
    published = scripts("published").OPERATIONS
    assert cost.multiplications("iteration_matrix", 4, 6) == (16, 0)
    assert cost.additions("iteration_matrix", 4, 6) == (12, 4)
    assert published["iteration_matrix"]["sweep"] == ("16 N", "12 N + 4 K")
    assert cost.multiplications("factorized", 4, 6) == (0, 100)
    assert cost.additions("factorized", 4, 6) == (0, 104)  # S1: 100, a block addition left out
    assert cost.multiplications("matrix", 4, 6) == (16, 4)  # S1: 8 K and 4 K, interchanged
    assert cost.additions("matrix", 4, 6) == (12, 8)
    assert [cost.setup_multiplications(s, 4, 6) for s in ("matrix", "iteration_matrix")] == [
        96,
        112,
    ]
    assert cost.s1_count("matrix", "sweep", 0, 10.0) == 168
    assert cost.s1_count("half_sweep", "sweep", 0, 10.0) is None
    for scheme in published:
        per_block, per_contact = cost.update_multiplications(scheme, 4)
        counted = 10 * per_block + per_contact
        assert counted == cost.s1_count(scheme, "R", 0, 10.0)


def test_small_grid_has_the_published_counts(tables):
    row = rows_by(tables["tables_3_2_and_3_4"], "scene")["small ball grid",]
    for key in ("bodies", "contacts", "blocks"):
        assert row[key] == row[f"s1_{key}"]
    assert row["blocks_fixed"] == "13696"


@pytest.mark.slow
def test_colours_of_the_medium_grid(scripts, quick):
    """S1 section 7.3: six large colours and 570 of one contact; 580 of 69 or 70."""
    demos = scripts("tables_3_2_and_3_4")
    problem = scripts("protocol").scene(
        "medium ball grid", quick._replace(quick=False), contact_order="forward"
    )
    greedy = demos.color_sizes(problem, "greedy")
    assert greedy == [(size, 1) for size in (6912, 6911, 6906, 6898, 6794, 5329)] + [(1, 570)]
    balanced = demos.color_sizes(problem, "balanced")
    assert [size for size, _ in balanced] == [70, 69]
    assert sum(count for _, count in balanced) == 580


def test_color_sizes_of_a_small_scene(scripts):
    """Sizes read off the stages, against the rule of S1 section 4.3 contact by contact."""
    problem = cs.scenarios.ball_grid(4, ground="body")
    taken, sizes = {}, []
    for pair in problem.bodies.tolist():
        used = set().union(*(taken.setdefault(body, set()) for body in pair))
        color = next(c for c in range(len(sizes) + 1) if c not in used)
        if color == len(sizes):
            sizes.append(0)
        sizes[color] += 1
        for body in pair:
            taken[body].add(color)
    demos = scripts("tables_3_2_and_3_4")
    found = demos.color_sizes(problem, "greedy")
    assert [size for size, count in found for _ in range(count)] == sorted(sizes, reverse=True)
    assert demos.as_words([(9, 1), (7, 2), (1, 4)]) == "9, 7, 7, 4 × 1"


def test_table_3_3_to_the_printed_digits(tables):
    rows = rows_by(tables["table_3_3"], "scene", "method")
    for method in ("gauss_seidel", "jacobi, before the last"):
        row = rows["small ball grid", method]
        assert row["sweeps"] == row["s1_sweeps"]
        assert float(f"{float(row['quality']):.3g}") == float(row["s1_quality"])
        assert f"{float(row['residual']):.3f}" == f"{float(row['s1_residual']):.3f}"
    assert rows["small ball grid", "jacobi"]["sweeps"] == "63"
    for method in ("gauss_seidel", "jacobi"):  # spin changes nothing at rest
        three, four = (rows["small ball grid", method + rest] for rest in ("", ", 4 rows"))
        for key in ("sweeps", "quality", "residual", "s1_sweeps"):
            assert three[key] == four[key]


def test_spin_rows_are_those_of_the_contact_jacobian(scripts):
    problem = cs.scenarios.ball_grid(2)
    J = scripts("protocol").with_spin(problem).J
    normals = np.array([[0.0, 0, 1], [1, 0, 0]])
    pair = cs.contact_jacobian(
        np.array([[0.0, 0, 0], [1, 0, 1]]), normals, [[-1, 0], [0, 1]],
        np.array([[0.0, 0, 1], [2, 0, 1]]), spin=True,
    )  # fmt: skip
    np.testing.assert_allclose(J[:2, 1], pair[:, 1], atol=1e-12)
    np.testing.assert_allclose(J[1, 0], pair[1, 0], atol=1e-12)


@pytest.mark.slow
def test_a_late_halving_gives_the_medium_grid(scripts, quick):
    """S1's Jacobi row of the medium grid: 66 sweeps, 2790, 0.035."""
    full = quick._replace(quick=False)
    name = "medium ball grid"
    row = scripts("table_3_3").before_the_last(name, scripts("protocol").scene(name, full), full)
    assert (row["sweeps"], row["s1_sweeps"]) == (66, 66)
    assert row["quality"] == pytest.approx(2794.6, rel=1e-4)
    assert f"{row['residual']:.3f}" == "0.035"


def test_naive_ranges_lose_s1s_quality(tables):
    rows = rows_by(tables["naive"], "scene", "parts")
    assert float(rows["small ball grid", "8"]["quality"]) == pytest.approx(305.8, rel=2e-4)
    assert rows["small ball grid", "8"]["s1_quality"] == "306"
    # Each of the eight ranges is a layer: nothing of Gauss-Seidel is left.
    assert float(rows["small ball grid", "8"]["share"]) == pytest.approx(1.0)
    assert rows["medium ball grid", "8"]["s1_quality"] == ""  # not S1's size in the quick form


@pytest.mark.parametrize("name", ["jacobi", "colored"])
def test_all_numbers_of_threads_give_equal_bits(tables, name):
    told = {row["equal_bits"] for row in tables[name]}
    assert "DIFFER" not in told
    assert {"1, 2, 4", "1, 2, 4, 8"} & told  # the serial build takes four in turns at most


@pytest.mark.parametrize("name", ["jacobi", "colored"])
def test_a_row_for_each_number_of_threads(tables, name):
    """One thread of each method, and two where there is work for them; speed-ups are over one."""
    rows = rows_by(tables[name], "scene", "method", "threads")
    assert len(rows) == len(tables[name])
    assert {number for _, _, number in rows} == {"1", "2"}
    time = "sweep_s" if name == "jacobi" else "time_s"
    for (scene, method, number), row in rows.items():
        assert (row["speedup_one"] == "") == (number == "1")
        if number == "2":  # one timed run, so that the median of ratios is the ratio
            ratio = float(rows[scene, method, "1"][time]) / float(row[time])
            assert float(row["speedup_one"]) == pytest.approx(ratio, rel=2e-3)
        methods_own = name == "colored" and method in ("Gauss-Seidel", "half sweep", "symmetric")
        assert methods_own or float(row["read_gbs"]) > 0


def test_networks_have_the_bits_of_their_sweeps(tables):
    """And S1's γ of eight workers; those that look ahead have iterates of their own."""
    rows = rows_by(tables["networks"], "scene", "method", "threads")
    assert {row["equal_bits"] for row in rows.values()} == {"1, 2, 4, 8", "other iterates"}
    own = rows["small ball grid", "naive, 50 sweeps", "2"]
    assert float(own["quality"]) == pytest.approx(305.8, rel=2e-4)
    assert own["s1_quality"] == "306"
    grid = rows["small ball grid", "factorized", "1"]
    assert (grid["s1_table"], grid["s1_one"], grid["s1_cores"]) == ("Table 6.1", "3.1", "4")
    assert rows["large ball pile", "relaxed T", "1"]["s1_table"] == "Fig 7.6"
    ahead = rows["small ball grid", "factorized, 0.2 ahead", "2"]
    assert float(ahead["quality"]) > float(grid["quality"])


def test_columns_by_threads_and_what_memory_gives(scripts, tables):
    """S1's columns stand beside a column for each number of threads."""
    pages, layout = scripts("protocol").pages, scripts("layouts").LAYOUTS["jacobi"]
    head, _, *lines = pages.as_markdown(layout, tables["jacobi"]).splitlines()
    heads = [cell.strip() for cell in head.strip("|").split("|")]
    assert heads[2].startswith("1 thread, ")
    assert heads[3].startswith("2 threads, ")
    assert heads[3].endswith(" GB/s")
    assert heads[4:10] == [
        "over one, 2 threads", "S1 over one", "over sequential, 1 thread",
        "over sequential, 2 threads", "S1 over sequential", "S1's cores",
    ]  # fmt: skip
    assert len(lines) == len({(row["scene"], row["method"]) for row in tables["jacobi"]})
    cells = [cell.strip() for cell in lines[0].strip("|").split("|")]
    assert cells[5:10:4] == ["5.3", "8"]  # the small ball grid: Table 6.3


def test_rows_of_other_numbers_of_threads_are_kept(scripts, quick, tmp_path):
    """Of the same work alone: as many contacts and sweeps of the same method."""
    output = scripts("output")
    run = quick._replace(results=tmp_path)
    row = {"scene": "s", "contacts": 8, "method": "m", "sweeps": 5, "threads": 1, "sweep_s": 0.5}
    old = [
        row,
        row | {"threads": 16, "sweep_s": 0.25, "read_gbs": None},
        row | {"threads": 16, "sweeps": 6},
        row | {"threads": 16, "contacts": 9},
        row | {"threads": 16, "method": "gone"},
    ]
    scripts("common").write_csv("jacobi", old, tmp_path)
    merged = output.with_stored(run, "jacobi", [row | {"threads": n} for n in (1, 2)])
    assert [(row["threads"], row["sweep_s"]) for row in merged] == [(1, 0.5), (2, 0.5), (16, 0.25)]
    assert merged[2]["read_gbs"] is None
    assert merged[2]["method"] == "m"


def test_sentences_name_the_threads_that_were_measured(scripts, tables):
    remarks = scripts("remarks").remarks
    told = " ".join(remarks("jacobi", tables["jacobi"]))
    assert "Ours end at 2 threads" in told
    assert "GB/s on 1 thread and " in told
    more = [row | {"threads": 8} if row["threads"] == "2" else row for row in tables["jacobi"]]
    told = " ".join(remarks("jacobi", more))
    assert "Ours end" not in told
    assert " on 8 threads with it" in told


@pytest.mark.parametrize(
    ("times", "words"),
    [((9.0, 4.0, 2.0), "2 threads"), ((3.0, 3.0, 3.0), "1 thread"),
     ((9.0, 8.0, 7.0), "more than the 4 measured")],
)  # fmt: skip
def test_threads_that_outrun_a_sequential_method(scripts, times, words):
    own = {n: {"time_s": str(time)} for n, time in zip((1, 2, 4), times, strict=True)}
    assert scripts("facts").first_faster(own, "5.0") == words


@pytest.mark.slow
def test_sweeps_to_equal_quality_on_the_medium_grid(scripts, quick):
    """S1 sections 7.2.4 and 7.4: 57 relaxed greedy, 50 balanced."""
    protocol, colored = scripts("protocol"), scripts("colored")
    problem = protocol.scene("medium ball grid", quick._replace(quick=False))
    chosen = [m for m in colored.methods(problem) if m.label in ("relaxed greedy", "balanced")]
    table = protocol.to_equal_quality(problem, chosen)
    assert {row.method: row.iterations for row in table} == {"relaxed greedy": 57, "balanced": 50}


def test_a_halving_begins_where_it_says(scripts):
    """R halved from a sweep on: the same impulses as in two solves, and γ with them."""
    late, protocol = scripts("late_halving"), scripts("protocol")
    problem = cs.scenarios.ball_grid(4, ground="body")
    order = scripts("colored").relaxed_order(problem)
    target = late.target_of(problem)
    found = list(late.halved(problem, order, target, 6, 1))
    assert [begin for begin, _, _ in found] == [2, 3, 4, 5, 6]
    begin, sweeps, quality = found[2]
    first = late.solver_of(problem, order, begin - 1, rollback=0).solve()
    half = {"rollback": 0, "r_factor": protocol.R_FACTOR / 2}
    rest = late.solver_of(problem, order, sweeps - begin + 1, **half).solve(initial=first)
    assert rest.history["quality"][-1] == pytest.approx(quality, rel=1e-12)
    assert rest.history["quality"][-2] > target >= quality


def test_a_blind_colour_sees_the_sweep_before(scripts):
    """One sweep of it: the last colour by Jacobi's method, the others by coloured Gauss-Seidel."""
    late = scripts("late_halving")
    problem = cs.scenarios.ball_grid(4, ground="body")
    order = scripts("colored").relaxed_order(problem)
    start, seen = np.zeros(problem.b.shape), late.solver_of(problem, order, 1, rollback=0)
    sweeps, quality = late.blind(problem, order, target=np.inf)
    assert sweeps == 1
    impulses = seen.solve(initial=start).impulses.copy()
    last = cs.orders.describe(problem, order).stage
    jacobi = late.solver_of(problem, "natural", 1, "jacobi", rollback=0)
    impulses[last == last.max()] = jacobi.solve(initial=start).impulses[last == last.max()]
    judged = late.solver_of(problem, "natural", 0).solve(initial=impulses)
    assert quality == pytest.approx(judged.history["quality"][-1], rel=1e-12)
    assert late.blind(problem, order, target=-1.0)[0] is None


def test_figures_of_the_running_text(tables):
    rows = rows_by(tables["running_text"], "what")
    assert rows["naive ranges over Gauss-Seidel",]["s1_seconds"] == "3.3"
    assert rows["naive ranges over Gauss-Seidel",]["s1_ratio"] == "4"
    assert rows["one worker, set-up included",]["s1_ratio"] == "1.76"
    assert rows["one worker, a sweep",]["s1_ratio"] == "1.5"
    assert rows["set-up",]["s1_seconds"] == "2.6"
    assert rows["relaxed greedy T, more threads",]["s1_ratio"] == "1.9"
    assert float(rows["set-up",]["seconds"]) > 0


def test_sentences_have_the_figures_of_the_rows(scripts, tables):
    """What a sentence states of ours is the table's; without rows it is not there."""
    remarks = scripts("remarks").remarks
    rows = rows_by(tables["colored"], "scene", "method")
    told = " ".join(remarks("colored", tables["colored"]))
    assert f"take {rows['medium ball grid', 'relaxed greedy']['sweeps']} sweeps" in told
    assert "{" not in told
    assert "relaxed greedy colours take" not in " ".join(remarks("colored", []))
    assert len(remarks("colored", [])) < len(remarks("colored", tables["colored"]))


def test_contact_sets_need_fewer_colours_and_keep_symmetry(tables):
    rows = rows_by(tables["contact_sets"], "scene", "method")
    for scene in {scene for scene, _ in rows}:
        points = int(rows[scene, "points, greedy colours"]["stages"])
        assert int(rows[scene, "sets, sequential, coloured"]["stages"]) < points
    stack = next(scene for scene, _ in rows if scene.startswith("box_stack"))
    assert float(rows[stack, "sets, simultaneous"]["spread"]) < 1e-9
    assert float(rows[stack, "sets, sequential"]["spread"]) > 0.1


def test_block_steps_in_python_are_ours(tables):
    """The same method written twice, in C and in plain Python, takes the same sweeps."""
    rows = rows_by(tables["sequential_impulses"], "scene", "method", "start", "language")
    ours = [key for key in rows if key[3] == "C"]
    assert len(ours) == 9
    for scene, method, start, _ in ours:
        twin = rows[scene, method, start, "Python"]
        assert twin["sweeps"] == rows[scene, method, start, "C"]["sweeps"]
        assert float(twin["quality"]) == pytest.approx(
            float(rows[scene, method, start, "C"]["quality"]), rel=1e-3
        )


def test_sequential_impulses_solve_the_problem(scripts):
    """Both orders end where the natural map is zero."""
    module = scripts("sequential_impulses")
    problem = module.with_box_friction(cs.scenarios.box_stack(2))
    scene = module.Scene(problem)
    for sweep, factor in module.SWEEPS_OF.values():
        lam, v = scene.start(None)
        for _ in range(400):
            sweep(*scene.constant, scene.factor[factor], module.MU, lam, v)
        found = cs.solve(problem, initial=lam, max_iterations=0, method="gauss_seidel")
        assert found.natural_map < 1e-9
        np.testing.assert_allclose(scene.start(lam)[1], v, atol=1e-12)


def test_brick_pyramid(scripts):
    problem = scripts("bricks").brick_pyramid(3)
    assert (problem.bodies_count, problem.contacts) == (6, 3 * 4 + 3 * 2 * 4)
    result = cs.solve(problem, rtol=1e-9, max_iterations=20_000)
    assert result.converged
    on_ground = problem.bodies[:, 0] < 0
    weight = 6 * 9.81 * 0.01
    assert result.impulses[on_ground, 0].sum() == pytest.approx(weight, rel=1e-6)


def test_report_fills_the_page(scripts, tables, quick):
    report = scripts("report")
    filled = check_filled(report, tables, quick)
    assert f"| {tables['naive'][0]['scene']} | 1 |" in filled
    page = report.PAGE.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="naive"):
        report.filled(page.replace("<!-- naive -->", "<!-- naïve -->"), quick.results)


def test_page_is_what_the_results_make_it(scripts):
    """docs/s1.md, written from the committed CSVs of the machine that it names, or of none."""
    check_page(scripts("report"), "s1")
