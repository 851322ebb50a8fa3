"""benchmarks/s2: what is sampled, S2's relaxed SOR, full matrices, and the page from the rows."""

import csv
import types
import warnings

import numpy as np
import pytest

import contactsolve as cs
from benchmark_scripts import check_page, importing_from
from contactsolve import _devices
from repository import BENCHMARKS

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def scripts():
    with importing_from(BENCHMARKS / "s2"):
        import report
        import spheres

        yield spheres, report


@pytest.fixture(scope="module")
def sampled(scripts):
    """Two problems of a small pile."""
    spheres, _ = scripts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a step may end at the cap, as S2's do
        return spheres.reference(60, samples=2, most_steps=400)


def test_problems_are_taken_where_contacts_reach_a_level(scripts, sampled):
    spheres, _ = scripts
    rows, problems, positions = sampled
    assert positions.shape == (60, 3)
    largest = spheres.LARGEST * 60 // spheres.SPHERES
    counts = [row["contacts"] for row in rows]
    for level, (step, problem) in zip((largest // 2, largest), problems, strict=True):
        assert problem.contacts == counts[step - 1] >= level
        assert max(counts[: step - 1]) < level


def test_the_walls_hold_the_spheres(scripts, sampled):
    spheres, _ = scripts
    _, _, positions = sampled
    side = 2 * spheres.RADIUS * spheres.DISTANCE * 4  # four spheres in a row
    assert (positions > 0.9 * spheres.RADIUS).all()
    assert (positions[:, :2] < side - 0.9 * spheres.RADIUS).all()


def test_gathered_contacts_do_not_see_each_other(scripts):
    """S2 section 5.3.2: d contacts are evaluated at the same time, then the next d."""
    spheres, _ = scripts
    problem = cs.scenarios.ball_grid(4)
    assert problem.contacts > 2 * spheres.GATHERED
    A, b = problem.delassus().toarray(), problem.b.ravel()
    impulses = np.zeros(len(b))
    for begin in range(0, problem.contacts, spheres.GATHERED):
        old = impulses.copy()
        for k in range(begin, min(begin + spheres.GATHERED, problem.contacts)):
            rows = slice(3 * k, 3 * k + 3)
            factor = np.array([1 / A[3 * k, 3 * k]] + [1 / A[rows, rows].diagonal()[1:].max()] * 2)
            z = old[rows] - factor * (A[rows] @ old + b[rows])
            z[0] = max(z[0], 0)
            length, most = np.hypot(z[1], z[2]), problem.mu[k] * z[0]
            z[1:] *= min(1, most / length) if length > 0 else 0
            impulses[rows] = z
    once = {"rtol": None, "atol": None, "max_iterations": 1, "rollback": 0}
    own = {"method": "gauss_seidel", "order": spheres.relaxed(problem), **once}
    assert np.abs(np.triu(A[:3, :3], 1)).max() < 1e-15  # the local R is 1 / diag(A_kk) then
    assert cs.solve(problem, **own).impulses.ravel() == pytest.approx(impulses, abs=1e-13)


def test_coupling_counts_the_contacts_of_moving_spheres(scripts):
    spheres, _ = scripts
    J = np.zeros((3, 2, 1, 6))
    chain = cs.Problem(J, np.ones((2, 6)), np.zeros((3, 1)), bodies=[[-1, 0], [0, 1], [-1, 1]])
    assert spheres.coupling(chain) == {"coupled": 4 / 3, "most_of_a_sphere": 2}


def test_every_method_has_a_row(scripts, sampled):
    spheres, _ = scripts
    _, problems, _ = sampled
    rows = list(spheres.rows_of(*problems[0], 500))
    assert [row["method"] for row in rows] == list(spheres.METHODS)
    assert {row["contacts"] for row in rows} == {problems[0][1].contacts}
    full = next(row for row in rows if row["method"].startswith("full"))
    assert full["status"] == "converged"


def test_problems_are_stored_by_their_steps(scripts, sampled, tmp_path):
    spheres, _ = scripts
    pytest.importorskip("h5py")
    _, problems, _ = sampled
    spheres.store(problems, tmp_path / "new")
    for (step, problem), (again, loaded) in zip(
        problems, spheres.stored(tmp_path / "new"), strict=True
    ):
        assert step == again
        assert np.array_equal(problem.b, loaded.b)
        assert np.array_equal(problem.bodies, loaded.bodies)
    for samples in (1, 40):
        given = types.SimpleNamespace(problems=tmp_path / "new", samples=samples)
        steps = [step for step, _ in spheres.sampled(given)[1]]
        assert steps == [step for step, _ in problems][:samples]


@pytest.mark.parametrize("count", [2, 3, 11, 30, 39, 40, 99])
def test_samples_have_both_ends(scripts, count):
    chosen = scripts[0].common.evenly(range(40), count)
    assert len(chosen) == min(count, 40)
    assert chosen == sorted(set(chosen))
    assert (chosen[0], chosen[-1]) == (0, 39)
    steps = np.diff(chosen)
    assert steps.max() - steps.min() <= 1


needs_emulation = pytest.mark.skipif(
    _devices.why_not("cuda-emulated") is not None, reason="needs the emulated kernels"
)


@pytest.fixture(scope="module")
def falling():
    """A small problem of falling spheres, which JOR solves, too."""
    world = cs.dynamics.scenes.spheres_in_a_box(12, time_step=2e-3)
    world.run(60)
    return world.problem()


@needs_emulation
def test_spheres_are_solved_on_a_device_as_on_one_core(scripts, falling, tmp_path):
    """S2 figure 6.6: iterations of eq. 4.50; S2's kernels ask every ten."""
    spheres, report = scripts
    assert falling.contacts > 8
    rows = list(spheres.rows_on_device(60, falling, 2000, "cuda-emulated"))
    assert [(row["where"], row["method"]) for row in rows] == [
        (where, method) for where in spheres.WAYS for method in spheres.TESTED
    ]
    assert {row["status"] for row in rows} == {"converged"}
    iterations = {(row["where"], row["method"]): row["iterations"] for row in rows}
    for method in spheres.TESTED:
        core, device, of_s2 = (iterations[where, method] for where in spheres.WAYS)
        assert device == core
        # In S2's full SOR, friction sees the new normal impulse.
        assert of_s2 % 10 == 0
        assert abs(of_s2 - core) < (20 if method == spheres.SOR else 10)
    assert all(row["seconds"] > 0 < row["sweeps_s"] for row in rows)

    # The page has them.
    folder = tmp_path / "somebody" / "s2"
    with importing_from(BENCHMARKS / "s2"):
        import common

        common.write_csv("spheres_device", rows, folder)
        steps = spheres.rows_of_steps(12, "cuda-emulated", 2, steps=40, timed=2)
        common.write_csv("spheres_steps", steps, folder)
    text = report.device_section(folder)
    assert "spheres_device.png)" in text
    assert f"| {falling.contacts} | {spheres.OF_S2} | " in text
    assert [row["where"] for row in steps] == ["one core", "all cores", "device"]
    assert all(row["apart"] < 1e-9 for row in steps)
    assert all(row["step_ms"] >= row["solve_ms"] > 0 for row in steps)
    figure = spheres.draw_on_device(rows)
    assert all(ax.lines for ax in figure.axes)


@needs_emulation
def test_the_iterations_of_s2s_kernels_are_timed_without_the_criterion(
    scripts, falling, monkeypatch
):
    spheres, _ = scripts
    calls = []
    iterate = cs.cuda.iterate_dense

    def recorded(*arrays, **options):
        calls.append((options, iterate(*arrays, **options)))
        return calls[-1][1]

    monkeypatch.setattr(cs.cuda, "iterate_dense", recorded)
    A, b = falling.delassus().toarray(), falling.b
    row = spheres.by_kernel(A, b, falling.mu, spheres.JOR, 2000, "cuda-emulated")
    (asking, solve), (options, alone) = calls
    assert asking["criterion"] == "norm"
    assert "criterion" not in options
    assert options["iterations"] == row["iterations"] == alone.iterations
    assert np.array_equal(alone.impulses, solve.impulses)
    assert row["sweeps_s"] == alone.seconds["iteration"]
    assert row["seconds"] > solve.seconds["iteration"]


def test_what_no_device_solved_is_told(scripts, tmp_path):
    _, report = scripts
    text = report.device_section(tmp_path / "nobody" / "s2")
    assert text.count("not measured on a GPU") == len(report.ON_DEVICE) + 1


def test_spheres_on_a_device_are_not_measured_without_one(scripts, capsys):
    spheres, _ = scripts
    if cs.cuda.available():
        pytest.skip("there is a GPU")
    with pytest.raises(SystemExit) as ended:
        spheres.main(["--device", "cuda"])
    assert ended.value.code == 1
    assert f"not measured: {cs.cuda.why_not()}" in capsys.readouterr().err


@needs_emulation
def test_times_of_spheres_on_an_emulated_device_are_not_stored(scripts, capsys):
    with pytest.raises(SystemExit):
        scripts[0].main(["--device", "cuda-emulated"])
    assert "add --quick" in capsys.readouterr().err


@pytest.fixture(scope="module")
def dense():
    with importing_from(BENCHMARKS / "s2"):
        import dense

        yield dense


def test_full_matrices_are_diagonally_dominant_and_the_same_again(dense):
    G, c = dense.random_problem(6, 1)
    assert (2 * G.diagonal() > np.abs(G).sum(axis=1)).all()
    assert np.array_equal(G, G.T)
    assert np.array_equal(dense.random_problem(6, 1)[1], c)
    assert not np.array_equal(dense.random_problem(6, 2)[1], c)


def test_pieces_of_a_full_matrix_make_the_whole(dense, monkeypatch):
    """As without pieces, bit for bit: symmetric G, and T = 1 - R G."""
    whole = dense.random_problem(7, 0)
    T, d = dense.iteration_matrix(*whole, np.float64)
    monkeypatch.setattr(dense, "PIECE", 4)
    G, c = dense.random_problem(7, 0)
    assert np.array_equal(G, whole[0])
    assert np.array_equal(c, whole[1])
    again = dense.iteration_matrix(G, c, np.float64)
    assert np.array_equal(again[0], T)
    factor = 1 / np.column_stack(
        [G.diagonal()[::3], *[np.maximum(G.diagonal()[1::3], G.diagonal()[2::3])] * 2]
    )
    assert np.allclose(T, np.eye(21) - factor.reshape(-1, 1) * G, rtol=0, atol=1e-15)
    assert np.array_equal(again[1], d)
    assert np.allclose(d, -(factor * c).ravel())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_floats_between_two_numbers(dense, dtype):
    one, tiny = dtype(1.0), np.nextafter(dtype(0), dtype(1))
    up = np.nextafter(np.nextafter(one, dtype(2)), dtype(2))
    a, b = np.array([one, one, -tiny, 0.0], dtype), np.array([one, up, tiny, -0.0], dtype)
    assert dense.ulps(a, b, dtype).tolist() == [0, 2, 2, 0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_jor_is_the_one_of_numpy(dense, dtype):
    G, c = dense.random_problem(20, 0)
    found, clock, own = dense.jor_by_numpy(G, c, dtype)
    assert clock > 0 < own
    problem = cs.Problem.from_delassus(G, c, dense.MU)
    options = {"rtol": None, "atol": None, "max_iterations": dense.ITERATIONS, "threads": 1}
    ours = cs.solve(problem, **dense.options_of(dense.JOR), **options, dtype=dtype.__name__)
    checked = dense.cross_check(ours.impulses, found, dtype)
    assert checked["finite"]
    assert checked["apart"] < 50 * np.finfo(dtype).eps
    assert np.abs(found).max() > 1e-3
    assert not dense.cross_check(np.full(60, np.nan), found, dtype)["finite"]


def test_numpy_is_measured_on_threads_in_a_process(dense, monkeypatch, tmp_path):
    """BLAS takes their number from the environment when it is loaded."""
    monkeypatch.chdir(tmp_path)
    given = {}
    run = dense.subprocess.run

    def recorded(command, **options):
        given.update(options["env"])
        return run(command, **options)

    monkeypatch.setattr(dense.subprocess, "run", recorded)
    seconds = dense.numpy_on_threads(4, 0, 2)
    assert given["OPENBLAS_NUM_THREADS"] == "2"
    assert list(seconds) == ["float32", "float64"]
    assert all(0 < each < 1 for clock_and_own in seconds.values() for each in clock_and_own)


def test_one_core_of_numpy_does_not_depend_on_the_environment(dense, monkeypatch):
    """NumPy of this process may be on all cores; variant 7 is over our own iteration."""
    asked = []

    def on_threads(contacts, number, threads):
        asked.append(threads)
        return dict.fromkeys(("float32", "float64"), (4.0 / threads, 3.0))

    monkeypatch.setattr(dense, "numpy_on_threads", on_threads)
    run = dense.Run(None, (4,), threads=2, runs=1)
    rows = list(dense.rows_of(4, run))
    assert sorted(asked) == [1, 2]
    for row in (row for row in rows if row["method"] == dense.JOR):
        assert (row["numpy_clock_s"], row["numpy_s"], row["numpy_threads_s"]) == (4, 3, 2)
        assert row["numpy_threads_speedup"] == row["one_clock_s"] / 2
        assert row["numpy_threads_over_numpy"] == 2


def test_the_time_of_a_thread_is_without_what_surrounds_the_sweeps(dense, monkeypatch):
    """Half of the call by the clock, hence half of the thread's time."""
    clock = iter((10.0, 16.0))
    monkeypatch.setattr(dense.clocks.time, "thread_time", lambda: next(clock))
    result = types.SimpleNamespace(sweep_time=4.0, time=5.0, wall_time=8.0)
    solver = types.SimpleNamespace(solve=lambda: result)
    assert dense.clocks.of_sweep(solver, 2) == (2.0, 1.5)


def test_a_picture_explains_the_lines_that_it_has(dense):
    row = {"method": "JOR", "dtype": "float64", "contacts": 100, "one_s": 1e-3}
    known = {"threads_speedup": 2, "device_speedup": 8, "numpy_threads_speedup": 3}
    axes = dense.draw([row | known]).axes
    assert axes[0].get_xlabel() == "contacts; solid: one core, CPU time"
    told = "contacts; solid: all cores; dashed: NumPy, all cores; dotted: device"
    assert axes[1].get_xlabel() == told
    assert axes[2].get_xlabel() == "contacts"
    axes = dense.draw([row | {"device_speedup": 8, "device_s": 1e-4}]).axes
    assert axes[1].get_xlabel() == "contacts; dotted: device"
    assert [text.get_text() for text in axes[0].get_legend().get_texts()] == ["JOR"]
    dense.pages.pyplot.close("all")


def without_processes(*_):
    return dict.fromkeys(("float32", "float64"), (1e-6, 1e-6))


@needs_emulation
def test_full_matrices_are_measured_on_an_emulated_device(dense, tmp_path, monkeypatch):
    monkeypatch.setattr(dense, "numpy_on_threads", without_processes)
    dense.measure(dense.Run(tmp_path, (4,), "cuda-emulated", threads=2, runs=2))
    rows = list(csv.DictReader((tmp_path / "dense.csv").read_text("utf-8").splitlines()))
    assert len(rows) == 2 * (2 + len(dense.RELAXED))
    assert (tmp_path / "dense.png").stat().st_size > 10_000
    for row in rows:
        assert row["finite"] == "1"
        assert float(row["apart"]) < (1e-13 if row["dtype"] == "float64" else 1e-5)
        gain = float(row["one_clock_s"]) - float(row["device_s"])
        copies = float(row["to_device_s"]) + float(row["from_device_s"])
        assert (row["break_even"] == "") == (gain <= 0)
        if row["break_even"]:
            assert float(row["break_even"]) == pytest.approx(copies / gain, rel=1e-2)
        megabytes = (4 if row["dtype"] == "float32" else 8) * (3 * int(row["contacts"])) ** 2 / 1e6
        rate = 1e-3 * megabytes / float(row["device_s"])
        assert float(row["device_gbs"]) == pytest.approx(rate, rel=1e-2)
        assert bool(row["numpy_threads_speedup"]) == (row["method"] == dense.JOR)


def test_what_no_device_measured_is_told(scripts, dense, tmp_path, monkeypatch):
    monkeypatch.setattr(dense, "numpy_on_threads", without_processes)
    dense.measure(dense.Run(tmp_path, (4,), runs=1))
    rows = list(csv.DictReader((tmp_path / "dense.csv").read_text("utf-8").splitlines()))
    rows = scripts[1].whole(scripts[1].DENSE, rows)
    told = scripts[1].dense_claims(rows)
    assert sum("not measured on a GPU" in text for text in told) == 4
    row = next(row for row in rows if row["method"] == "JOR" and row["dtype"] == "float64")
    row["device_speedup"] = "12"
    told = scripts[1].dense_claims(rows)
    assert any("12 to 12" in text for text in told)

    # Columns without any figure are named, and no head stands twice.
    text = scripts[1].section("dense", tmp_path)
    head = next(line for line in text.splitlines() if line.startswith("| contacts"))
    assert len(set(head.split(" | "))) == len(head.split(" | "))
    assert "device" not in head
    assert "left out: " in text
    assert '"break-even"' in text
    assert " yes |" in text


def test_iterations_that_pay_are_not_confused_with_those_not_measured(scripts):
    _, report = scripts
    row = {"contacts": "100", "device_s": "1", "break_even": "3"}
    assert report.break_even([row | {"device_s": ""}], "device_s") == report.NOT_MEASURED
    assert "no size above 200" in report.break_even([row], "device_s")
    large = [row | {"contacts": "400", "break_even": number} for number in ("", "8", "10")]
    assert "the device is not faster" in report.break_even(large[:1], "device_s")
    assert report.break_even(large[1:], "device_s") == "9 (8 to 10)"
    assert "in 1 of 3 sizes" in report.break_even(large, "device_s")


def test_bounds_are_rounded_up(scripts):
    _, report = scripts
    assert report.at_most("1.4e-07") == "2e-07"
    assert report.at_most(2e-16) == "2e-16"
    assert report.at_most(0.381, 2) == "0.39"
    assert report.at_most(0.0) == "0"


def test_ratios_of_the_table_are_of_problems_that_both_solve(scripts):
    _, report = scripts
    rows = [
        {"method": method, "contacts": "500", "coupled": "1", "most_of_a_sphere": "2"}
        | {"status": status, "iterations": count, "seconds": "1"}
        for method in (report.JOR, report.FULL, report.RELAXED, report.RELAXED_WHOLE)
        for status, count in (("converged", "30"), ("converged", "30"), ("max_iterations", "9000"))
    ]
    for row in rows[3:6]:
        row |= {"status": "converged", "iterations": "10"}
    assert report.table(rows).endswith("| 3.00 | 1.00 |")


def test_a_table_of_no_solves_has_no_lines(scripts):
    _, report = scripts
    assert report.device_table([]).count("\n") == 1


def test_shares_and_growth_of_parts_are_told(scripts, tmp_path):
    """S2 figure 6.4: from made-up times, and without any."""
    _, report = scripts
    rows = []
    for contacts in (100, 400, 1600):
        for precision, faster in (("float32", 2), ("float64", 1)):
            a, b = 8 * contacts / faster, contacts**2 / 200 / faster
            times = {"propagation_us": a / 2, "normal_us": a / 8, "friction_us": a / 4}
            times |= {"writes_us": 0, "rest_us": a / 8, "barriers_us": (a + b) / 5}
            row = {"contacts": contacts, "precision": precision, "iteration_us": a + b}
            rows.append({**row, "step_b_us": b, **times})
    told = report.parts_claims(rows)
    grows = "step B grows with their power 2, step A with 1"
    assert told[0].count(f"from 400 to 1,600 contacts in float32 {grows}") == 1
    assert told[0].count(f"in float64 {grows}") == 1
    assert told[1].endswith("25 to 47 % in float32, 25 to 47 % in float64.")
    assert told[-1].endswith("20 to 20 % in float32, 20 to 20 % in float64.")
    missing = report.section("parts", tmp_path / "nobody" / "s2")
    assert missing.count("not measured on a GPU") == len(told)

    # With a CSV: its table, picture and sentences.
    folder = tmp_path / "somebody" / "s2"
    with importing_from(BENCHMARKS / "s2"):
        import common

        common.write_csv("parts", rows, folder)
    text = report.section("parts", folder)
    assert "Measured on `somebody`" in text
    assert text.count("\n| ") >= len(rows)
    assert "parts.png)" in text
    assert all(sentence in text for sentence in told)


def test_page_is_what_the_results_make_it(scripts):
    """docs/s2.md, written from the committed CSVs of the machine that it names."""
    check_page(scripts[1], "s2")
