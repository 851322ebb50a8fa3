"""benchmarks/s2: variants of S2 table 6.1 are right on the emulated device; parts of full SOR."""

import csv
import itertools

import numpy as np
import pytest

import contactsolve as cs
import emulated
from benchmark_scripts import importing_from
from repository import BENCHMARKS


@pytest.fixture(scope="module")
def script():
    pytest.importorskip("matplotlib")
    with importing_from(BENCHMARKS / "s2"):
        import kernels

        yield kernels


def test_the_problem_is_a_contraction(script):
    T, d = script.dense.iteration_matrix(*script.dense.random_problem(10, 0), np.float64)
    # Rows of G whose diagonal is larger than all others together, with R no larger than 1 / G_ii.
    assert (abs(T).sum(axis=1) < 1).all()
    assert (d != 0).all()


def test_columns_of_the_matrix_are_contiguous(script, monkeypatch):
    monkeypatch.setattr(script.dense, "PIECE", 4)
    T = np.random.default_rng(1).normal(size=(21, 21))
    by_columns = script.by_columns(T)
    assert by_columns.flags.f_contiguous
    assert np.array_equal(by_columns, T)


@pytest.fixture(scope="module")
def measured(script, tmp_path_factory):
    """The rows of all variants at 34 contacts."""
    run = script.Run(tmp_path_factory.mktemp("s2"), (34,), emulated.EMULATED["device"], 2, 2)
    return script.measured(34, run)


def test_every_variant_agrees_with_the_sequential_iteration(script, measured):
    names = [variant.name for variant in script.VARIANTS]
    for precision in ("float32", "float64"):
        rows = [row for row in measured if row["precision"] == precision]
        assert [row["variant"] for row in rows] == names
        assert set(emulated.kernels.s2_kernels()) == {row["kernel"] for row in rows}
    for row in measured:
        # A sum of 102 products rounds by some units.
        assert row["ulp"] <= 16, row
        assert row["ulp_mean"] <= row["ulp_max"]
        assert row["apart"] < 1e-14 if row["precision"] == "float64" else 1e-5
        assert row["not_finite"] == 0
        assert row["runs"] == 2
        assert row["ms_low"] > 0


def test_every_variant_has_its_counterpart_on_the_processor(script, measured):
    assert {variant.on_processor for variant in script.VARIANTS} == {
        *(script.dense.JOR, script.dense.FULL),
        *script.dense.RELAXED,
    }
    for row in measured:
        assert row["speedup"] == pytest.approx(row["processor_ms"] / row["ms_median"])
        assert ("threads_ms" in row) == row["variant"].startswith("JOR")
        assert ("break_even" in row) == (row["processor_ms"] > row["ms_median"])


def test_iterations_pay_for_copies(script):
    """S2 eq. 6.1, with and without allocation; nothing pays where the device is slower."""
    jor, full = script.VARIANTS[0], script.VARIANTS[8]
    parts = {"to_device": 3.0, "from_device": 1.0, "allocation": 5.0, "release": 1.0}
    processor = {(jor.on_processor, np.float64, 1): 2.5, (jor.on_processor, np.float64, 4): 1.0}
    processor[full.on_processor, np.float64, 1] = 0.25
    found = script.beside(0.5, parts, jor, np.float64, processor, 4)
    assert found == {
        "processor_ms": 2500.0,
        "speedup": 5.0,
        "break_even": 2.0,
        "threads": 4,
        "break_even_allocating": 5.0,
        "threads_ms": 1000.0,
        "threads_speedup": 2.5,
        "over_threads": 2.0,
    }
    slower = script.beside(0.5, parts, full, np.float64, processor, 4)
    assert slower == {"processor_ms": 250.0, "speedup": 0.5}


def test_other_sizes_of_the_same_device_stay(script, tmp_path):
    def row(contacts, device="one", **more):
        return {"device": device, "contacts": contacts, "precision": "float32", **more}

    keys = ("contacts", "precision")
    script.dense.stored_with("some", [row(400), row(100, ms=1)], keys, tmp_path)
    path = script.dense.stored_with("some", [row(100, ms=2), row(200)], keys, tmp_path)
    rows = script.pages.read(path)
    assert [row["contacts"] for row in rows] == ["100", "200", "400"]
    assert [row["ms"] for row in rows] == ["2", "", ""]
    path = script.dense.stored_with("some", [row(100, "another")], keys, tmp_path)
    assert [row["device"] for row in script.pages.read(path)] == ["another"]


def test_times_of_an_emulated_device_are_not_stored(script, capsys):
    with pytest.raises(SystemExit):
        script.main(["--device", "cuda-emulated"])
    assert "add --quick" in capsys.readouterr().err


COLUMNS = ("device", "precision", "variant", "contacts", "ms_median", "gb_per_s")
COLUMNS += ("ulp", "not_finite")
BESIDE = ("runs", "speedup", "threads_speedup", "break_even", "ulp_max", "ulp_mean", "apart")


@pytest.fixture
def stored(script, tmp_path):
    """Writes a made-up CSV with these columns."""

    def write(*columns, precisions=("float32", "float64")):
        path = tmp_path / "somebody" / "s2" / "kernels.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            names = (*columns, *script.common.versions())
            writer.writerow(names)
            cases = itertools.product(script.VARIANTS, precisions, (100, 400))
            for variant, precision, contacts in cases:
                figures = {"ms_median": 0.01 * contacts, "speedup": 12, "runs": 5, "not_finite": 0}
                figures |= {"device": "a GPU", "precision": precision, "variant": variant.name}
                figures |= {"contacts": contacts, "break_even": 40}
                writer.writerow([figures.get(name, 3) for name in names])
        return path

    return write


def test_variants_have_pictures(script, stored, monkeypatch):
    names = ("kernels", "kernels_speedups", "kernels_break_even")
    path = stored(*COLUMNS, *BESIDE, precisions=("float64",))
    script.main(["--draw", str(path)])
    for name in names:
        assert path.with_name(f"{name}.png").stat().st_size > 10_000

    # What was not measured has none.
    monkeypatch.setattr(script.pages, "picture", lambda path, *_: path.stem)
    assert script.drawn(path, script.pages.read(stored(*COLUMNS))) == ["kernels"]


def test_page_has_speed_ups_and_break_even(script, stored):
    """S2 figures 6.2 and 6.3; a CSV from before they were measured says so."""
    with importing_from(BENCHMARKS / "s2"):
        import report
    path = stored(*COLUMNS)
    text = report.kernels_section(path.parent)
    assert "Speed-ups over one core (Fig. 6.2): not measured on a GPU." in text
    assert "Iterations that pay for copies (Fig. 6.3): not measured on a GPU." in text
    assert "all runs of a size had the same G" in text

    text = report.kernels_section(stored(*COLUMNS, *BESIDE).parent)
    assert "not measured" not in text
    assert "no number pays" in text
    assert "Device: a GPU." in text
    assert "\n| JOR 5 | float64 | 12 | 12 |\n" in text
    assert "\n| JOR 5 | float64 | 40 | 40 |\n" in text
    assert "Of JOR 5 in double precision, here: 40 (40 to 40)." in text
    assert "JOR 5: 12 times (12 to 12), full SOR 1: 12 times" in text
    assert "earlier state" not in text
    assert text.count(".png)") == 3

    # Variants of other sizes are compared where both were measured.
    rows = script.pages.read(path)
    one, other = (report.KernelTimes(rows, name) for name in ("JOR 1", "JOR 5"))
    fewer = report.KernelTimes([row for row in rows if row["contacts"] == "400"], "JOR 5")
    assert one.over(other) == one.over(fewer) == fewer.over(one) == "1 times (1 to 1)"


@pytest.fixture(scope="module")
def parts():
    pytest.importorskip("matplotlib")
    with importing_from(BENCHMARKS / "s2"):
        import parts

        yield parts


def test_a_contact_slides_if_its_friction_is_as_large_as_it_may_be(parts):
    impulses = np.array([1, 0.3, 0.4, 1, 0.3, 0.3, 2, 0, -1, 0, 0, 0.1], np.float32)
    assert parts.MU == 0.5
    assert parts.share_sliding(impulses) == 0.75


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_contacts_slide_whatever_is_left_out(parts, dtype):
    row = parts.measured(34, dtype, emulated.EMULATED["device"], runs=1)
    assert row["sliding"] == 1
    # Nothing of an iteration is in no part, or in two.
    whole = row["step_b_us"] + sum(row[part.key] for part in parts.PARTS.values())
    assert whole == pytest.approx(row["iteration_us"])
    assert row["barriers_share"] == pytest.approx(row["barriers_us"] / row["iteration_us"])


def test_parts_have_a_table_and_a_picture(parts, tmp_path):
    parts.measure((2, 3), emulated.EMULATED["device"], tmp_path, runs=1)
    rows = list(csv.DictReader((tmp_path / "parts.csv").read_text("utf-8").splitlines()))
    sizes = [(row["contacts"], row["precision"]) for row in rows]
    assert sizes == [(n, precision) for n in "23" for precision in ("float32", "float64")]
    assert (tmp_path / "parts.png").stat().st_size > 10_000


def test_parts_are_not_measured_without_a_gpu(parts, capsys):
    with pytest.raises(SystemExit):
        parts.main(["--device", "cuda-emulated"])
    assert "add --quick" in capsys.readouterr().err
    if cs.cuda.available():
        pytest.skip("there is a GPU")
    with pytest.raises(SystemExit) as ended:
        parts.main([])
    assert ended.value.code == 1
    assert f"not measured: {cs.cuda.why_not()}" in capsys.readouterr().err
