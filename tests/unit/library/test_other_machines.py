"""Kernels that this machine cannot run, compiled for others and run under QEMU where it is there.

Debian: ``qemu-user``, ``gcc-aarch64-linux-gnu``, ``libc6-dev-arm64-cross``. QEMU 7.2 knows AVX2 and
no AVX-512: kernels for the latter are compiled everywhere and run only where the machine has it.
"""

import importlib.util
import os
import platform
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from repository import ROOT

CSRC = ROOT / "csrc"
COMPILE = [
    "-std=c17",
    "-D_POSIX_C_SOURCE=200809L",
    "-O1",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-Wall",
    "-Wextra",
    "-Wno-unknown-pragmas",
    "-Werror",
    f"-I{CSRC}",
    f"-I{ROOT / 'tests' / 'c'}",
]

MACHINES = {
    "aarch64": ("aarch64-linux-gnu-gcc", ["qemu-aarch64"]),
    "x86_64": ("gcc", ["qemu-x86_64", "-cpu", "max"]),
}


def builds_of(source, machine):
    """Each build of a source file for that machine, as ``setup.py`` has them."""
    specification = importlib.util.spec_from_file_location("setup_of_library", ROOT / "setup.py")
    setup = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(setup)
    builds = setup.builds_of(str(source), sanitized=False).items()
    return [(name, flags) for name, flags in builds if machine == "x86_64" or name in PORTABLE]


PORTABLE = ("common", "baseline")


@pytest.mark.machines
@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES)
def test_batches_on_another_machine(machine, tmp_path):
    compiler, emulator = MACHINES[machine]
    if shutil.which(compiler) is None or shutil.which(emulator[0]) is None:
        pytest.skip(f"needs {compiler} and {emulator[0]}")
    if machine == "x86_64" and platform.machine() != "x86_64":
        pytest.skip("the compiler here is one for another machine")

    def compiled(unit):
        source, build, flags = unit
        target = tmp_path / f"{'_'.join(source.relative_to(ROOT).parts)}.{build}.o"
        command = [compiler, *COMPILE, *flags, "-c", source, "-o", target]
        subprocess.run(list(map(str, command)), check=True)
        return target

    sources = [path for path in sorted(CSRC.rglob("*.c")) if CSRC / "python" not in path.parents]
    sources.append(ROOT / "tests" / "c" / "test_wide.c")
    units = [(source, *build) for source in sources for build in builds_of(source, machine)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, units))
    program = tmp_path / "test_wide"
    subprocess.run([compiler, "-static", *map(str, objects), "-lm", "-o", program], check=True)
    done = subprocess.run([*emulator, program], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
