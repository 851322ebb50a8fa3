"""benchmarks/convergence/ablations.py: edits are of the chain as it is, the table is the page's."""

import csv

import pytest

from benchmark_scripts import RESULTS, importing_from
from repository import BENCHMARKS, ROOT

MEASURED = RESULTS / "intel-r-xeon-r-processor-6-207-2-cores"


@pytest.fixture
def ablations():
    with importing_from(BENCHMARKS / "convergence"):
        import ablations

        yield ablations


def test_every_edit_finds_its_lines_once(ablations):
    for name, (_, edits) in {**ablations.VARIANTS, **ablations.OF_FILES}.items():
        for path, old, new in edits:
            assert (ROOT / path).read_text(encoding="utf-8").count(old) == 1, name
            assert old != new


def test_the_page_has_the_table_of_the_stored_rows(ablations):
    with (MEASURED / "ablations.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["variant"] for row in rows} == {*ablations.VARIANTS, *ablations.REMOVED}
    page = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    assert ablations.table(rows) in page


def test_gains_are_over_problems_and_what_is_unsolved_is_counted(ablations):
    rows = [
        {"problem": name, "budget": "1", "with": with_it, "without": without}
        for name, with_it, without in (("a", "0.1", "0.2"), ("a", "0.2", "0.2"), ("b", "1", "2"))
    ]
    found = ablations.summary(rows)
    assert (found["problems"], found["differ"]) == (2, 2)
    assert float(found["gain"]) == pytest.approx(2**0.75, abs=1e-3)
    assert float(found["low"]) <= float(found["gain"]) <= float(found["high"])
    assert (found["unsolved"], found["unsolved_without"]) == (0, 1)
