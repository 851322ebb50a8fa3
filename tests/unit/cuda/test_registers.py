"""The table of registers and spills is read from what ptxas and nvlink print, and kept."""

import importlib.util
import shutil

import pytest

from repository import ROOT

pytestmark = pytest.mark.skipif(shutil.which("c++filt") is None, reason="no c++filt")
KERNEL = "__nv_static_41__23ddfa08_13_visits_f64_cu_672ac64f_13687__Z17sweep_in_turn_f64ILi2EEvi"
REPORT = f"""\
ptxas info    : Function properties for cs_prox_f64
    152 bytes stack frame, {{stores}} bytes spill stores, 16 bytes spill loads
ptxas info    : Function properties for cs_prox_f32
    152 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Compiling entry function '{KERNEL}' for 'sm_90'
ptxas info    : Function properties for {KERNEL}
    112 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 128 registers, used 1 barriers, 112 bytes cumulative stack size, 96 bytes smem
nvlink info    : Function properties for '{KERNEL}':
nvlink info    : used {{registers}} registers, used 1 barriers, 264 stack, 1120 bytes smem
"""


@pytest.fixture
def registers(tmp_path, monkeypatch):
    """The script, with a table of its own."""
    script = load()
    monkeypatch.setattr(script, "TABLE", tmp_path / "registers.csv")
    return script


def load():
    spec = importlib.util.spec_from_file_location("registers", ROOT / ".ci" / "registers.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def report(stores=8, registers=130):
    return REPORT.format(stores=stores, registers=registers)


def test_a_report_is_read(registers):
    function, kernel = registers.read_report(report(), "13.0")
    assert kernel == {
        "nvcc": "13.0",
        "architecture": 90,
        "kind": "kernel",
        "name": "sweep_in_turn_f64<2>",
        "registers": 130,
        "stack": 264,
        "spill_stores": 4,
        "spill_loads": 4,
        "shared": 1120,
    }
    assert function["name"] == "cs_prox_f64"
    assert (function["kind"], function["registers"]) == ("function", "")
    assert (function["spill_stores"], function["spill_loads"]) == (8, 16)


def test_what_is_worse_than_known_is_told(registers):
    registers.save(registers.read_report(report()))
    assert registers.check(report()) == []
    assert registers.check(report(stores=4, registers=100)) == []
    assert registers.check(report(stores=12, registers=131)) == [
        "cs_prox_f64, sm_90: spill_stores 12, at most 8 were known",
        "sweep_in_turn_f64<2>, sm_90: registers 131, at most 130 were known",
    ]
    other = report().replace("sm_90", "sm_80")
    assert registers.check(other)[1] == "sweep_in_turn_f64<2>, sm_80: not in the table"
    (nothing,) = registers.check("no kernel")
    assert "tells of no linked kernel" in nothing
    with pytest.raises(SystemExit, match="several architectures"):
        registers.check(report() + report().replace("sm_90", "sm_80"))


def test_no_kernel_spills():
    """In the table of the repository, for each architecture."""
    kernels = [row for row in load().read_table().values() if row["kind"] == "kernel"]
    assert len(kernels) > 200
    assert [row for row in kernels if row["spill_stores"] != "0"] == []
