"""The table of registers and spills is read from what ptxas prints, and kept."""

import importlib.util
import shutil

import pytest

from repository import ROOT

pytestmark = pytest.mark.skipif(shutil.which("c++filt") is None, reason="no c++filt")
REPORT = """\
ptxas info    : Compiling entry function '_Z17sweep_in_turn_f64ILi2EEvi' for 'sm_90'
ptxas info    : Function properties for _Z17sweep_in_turn_f64ILi2EEvi
    112 bytes stack frame, {stores} bytes spill stores, 4 bytes spill loads
ptxas info    : Used 128 registers, used 1 barriers, 240 bytes cumulative stack size, 96 bytes smem
ptxas info    : Function properties for cs_prox_f64
    0 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads
"""


@pytest.fixture
def registers(tmp_path, monkeypatch):
    """The script, with a table of its own."""
    spec = importlib.util.spec_from_file_location("registers", ROOT / ".ci" / "registers.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.setattr(script, "TABLE", tmp_path / "registers.csv")
    return script


def test_a_report_is_read(registers):
    (row,) = registers.read_report(REPORT.format(stores=4))
    assert row == {
        "architecture": 90,
        "kernel": "sweep_in_turn_f64<2>",
        "registers": 128,
        "stack": 240,
        "spill_stores": 12,
        "spill_loads": 20,
        "shared": 96,
    }


def test_more_spills_than_known_are_told(registers):
    registers.save(registers.read_report(REPORT.format(stores=4)))
    assert registers.check(REPORT.format(stores=4)) == []
    (worse,) = registers.check(REPORT.format(stores=8))
    assert "sweep_in_turn_f64<2>, sm_90: spill_stores 16 bytes, at most 12 were known" in worse
    (nothing,) = registers.check("no kernel")
    assert "tells of no kernel" in nothing


def test_kernels_of_discs_spill_nothing():
    """In the table of the repository; the last number of a kernel is the set, 3 that of discs."""
    spec = importlib.util.spec_from_file_location("registers", ROOT / ".ci" / "registers.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    discs = [row for (_, name), row in script.read_table().items() if name.endswith(", 3>")]
    discs = [
        row for row in discs if str(row["kernel"]).startswith(("sweep_in_turn", "visit_batch"))
    ]
    assert len(discs) >= 5
    assert {row["spill_stores"] for row in discs} | {row["spill_loads"] for row in discs} == {"0"}
