"""benchmarks/s2: variants of S2 table 6.1 are right on the emulated device; parts of full SOR."""

import csv

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
    T, d = script.random_iteration(10, np.float64)
    # Rows of G whose diagonal is larger than all others together, with R no larger than 1 / G_ii.
    assert (abs(T).sum(axis=1) < 1).all()
    assert (d != 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_variant_agrees_with_the_sequential_iteration(script, dtype):
    rows = script.measured(34, dtype, emulated.EMULATED["device"])
    assert [row["variant"] for row in rows] == [variant.name for variant in script.VARIANTS]
    assert set(emulated.kernels.s2_kernels()) == {row["kernel"] for row in rows}
    for row in rows:
        # A sum of 102 products rounds by some units.
        assert row["ulp"] <= 16, row
        assert row["not_finite"] == 0
        assert row["ms_low"] > 0


def test_times_of_an_emulated_device_are_not_stored(script, capsys):
    with pytest.raises(SystemExit):
        script.main(["--device", "cuda-emulated"])
    assert "add --quick" in capsys.readouterr().err


def test_variants_have_a_picture(script, tmp_path):
    path = tmp_path / "kernels.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("precision", "variant", "contacts", "ms_median"))
        for i, variant in enumerate(script.VARIANTS):
            for contacts in (100, 200):
                writer.writerow(("float64", variant.name, contacts, 0.01 * contacts * (i + 1)))
    script.main(["--draw", str(path)])
    assert path.with_suffix(".png").stat().st_size > 10_000


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
