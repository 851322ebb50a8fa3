"""Builds ``contactsolve._core`` from ``csrc/``, and the modules of devices from ``cuda/``.

All metadata stands in ``pyproject.toml``; here is only what needs a program.  Environment
variables that change the build:

==========================  ====================================================================
``CONTACTSOLVE_OPENMP``     unset: OpenMP if a test program builds with it, else serial;
                            ``0``: serial; ``1``: OpenMP, and an error without it
``CONTACTSOLVE_THREADS``    ``pthread``: POSIX threads in place of OpenMP
``CONTACTSOLVE_CUDA``       ``auto``, or unset: ``contactsolve._cuda`` too where nvcc is found;
                            ``1``: and an error where it is not; ``0``: never; ``emu``: in its place
                            ``contactsolve._cuda_emulated``, which runs the kernels on the processor
``CONTACTSOLVE_CUDA_ARCHS`` the compute capabilities to build for, ``80,90``; unset: those of the
                            GPUs present, or 90
``CONTACTSOLVE_STRICT=1``   more warnings, each of them an error
``CONTACTSOLVE_SANITIZE``   ``1``: AddressSanitizer and UndefinedBehaviorSanitizer, assertions on;
                            ``kernels``: the same, ``thread``: ThreadSanitizer, both of emulated
                            kernels only
``CONTACTSOLVE_COVERAGE=1`` counts executed lines, for gcov
``CONTACTSOLVE_OPTIMIZE``   ``0``: no optimisation, with symbols and assertions for a debugger;
                            ``1``: one level in place of three: half the time to build,
                            slower solves
``CFLAGS=-g``               information for debuggers, which doubles the time to build
==========================  ====================================================================
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError, LinkError, PlatformError

CSRC, CUDA = Path("csrc"), Path("cuda")

# A file named *.kernel.c is compiled once per entry, with these flags added and with
# CS_KERNEL_BUILD defined as the entry's name, so that it can name its functions by it.  What is
# chosen at run time must lie in such a file: everything else has to run on every machine of the
# architecture, which is why no flag here names the machine that builds.
KERNEL_BUILDS = {"baseline": []}
if platform.machine() in ("x86_64", "AMD64"):
    KERNEL_BUILDS["avx2"] = ["-mavx2", "-mfma"]
    KERNEL_BUILDS["avx512"] = ["-mavx512f", "-mavx512dq", "-mavx512vl", "-mfma"]
# What sanitizers leave out of kernels, lest the compiler take minutes over unrolled loops: where
# local variables end, how addresses come about (AddressSanitizer sees them used), and undefined
# behaviour in all but the first build of the same source.
UNCHECKED = [
    "-fno-sanitize-address-use-after-scope",
    "-fno-sanitize=pointer-overflow,object-size",
]
UNCHECKED_AGAIN = [*UNCHECKED, "-fno-sanitize=undefined"]

MACROS = [("_POSIX_C_SOURCE", "200809L")]
# Contraction is off for the same bits with and without fused multiply-add.
COMPILE = ["-std=c17", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden"]
OPENMP = ["-fopenmp"]
PTHREAD = ["-pthread", "-DCS_PTHREADS"]
SERIAL = ["-Wno-unknown-pragmas"]
STRICT = [
    "-Wall",
    "-Wextra",
    "-Wshadow",
    "-Wconversion",
    "-Wstrict-prototypes",
    "-Wmissing-prototypes",
    "-Wundef",
    "-Wvla",
    "-Werror",
]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
# Python's own flags turn assertions off and make signed overflow wrap; both would hide errors.
SANITIZE_COMPILE = ["-O1", "-g1", "-fno-omit-frame-pointer", "-UNDEBUG", "-fno-wrapv"]
# Threads count the same lines.
COVERAGE = ["--coverage", "-fprofile-update=prefer-atomic"]
# With more optimisation, lines merge; without any, vectors take minutes. With -g the compiler keeps
# a few lines apart that it would merge.
COVERAGE_COMPILE = ["-Og", "-g"]
# The functions by which .ci/choose_tests.py counts the lines of one test after another.
COVERAGE_LINK = ["-Wl,-u,__gcov_dump,-u,__gcov_reset"]
# Kernels, by nvcc or for their emulation. Contraction is off here as well; kernels ask for it where
# it is wanted (fma).
# Kernels call functions of other files (cuda/sets.cu). Without -rdc=true, ptxas would compile what
# is called once for each kernel: ten minutes in place of one.
# Loops that some arguments of a template never reach (128) are meant.
NVCC = ["-std=c++17", "-O3", "-rdc=true", "--fmad=false", "-Xcompiler=-fPIC,-fvisibility=hidden"]
NVCC += ["-diag-suppress=128"]
USUAL_NVCC = Path("/usr/local/cuda/bin/nvcc")  # where it is not named otherwise
ARCHITECTURE = re.compile(r"[1-9][0-9]{1,2}[af]?")
# What takes longest comes first: no core shall wait for the last file.
NVCC_FIRST = ("parts_threads", "dataflow", "regions", "on_chip", "batches")
# A kernel has at least the registers of what it calls: the prox of a set, which is called, must not
# take more than the visits around it.
# The same holds for what is done once in a launch; the limit is none for kernels that have launch
# bounds, as those of dataflow and by regions.
FEW_REGISTERS = ["-maxrregcount=64"]
NVCC_OF = {"sets.cu": FEW_REGISTERS}
NVCC_OF |= {
    f"{name}_{precision}.cu": FEW_REGISTERS
    for name in ("dataflow", "regions")
    for precision in ("f32", "f64", "mixed")
}
EMULATION = ["-std=c++17", "-O2", "-g0", "-ffp-contract=off", "-fPIC", "-fvisibility=hidden"]
EMULATION_STRICT = ["-Wall", "-Wextra", "-Werror", "-Wno-maybe-uninitialized"]
# Sanitized emulation, without optimisation: four times faster to compile, no less to find.  Its own
# file, EMULATOR, is no part of what ThreadSanitizer watches.
EMULATOR = "emulation.cc"
EMULATION_UNOPTIMIZED = ["-O0", "-g1"]
EMULATION_SANITIZE = {
    "address": ([*SANITIZE, *UNCHECKED], EMULATION_UNOPTIMIZED),
    "kernels": ([*SANITIZE, *UNCHECKED], EMULATION_UNOPTIMIZED),
    "thread": (["-fsanitize=thread"], [*EMULATION_UNOPTIMIZED, "-DCS_THREAD_SANITIZER"]),
}
# Per level of CONTACTSOLVE_OPTIMIZE; unset keeps COMPILE as it is.
OPTIMIZE_COMPILE = {"": [], "0": ["-O0", "-g3", "-UNDEBUG"], "1": ["-O1"]}
# Python's own flags ask for information for debuggers: as much work for the compiler as the code.
NO_DEBUGGING = ["-g0"]

OPENMP_PROBE = """\
#include <omp.h>
int contactsolve_probe(void);
int contactsolve_probe(void)
{
    int threads = 0;
#pragma omp parallel reduction(+ : threads)
    threads += omp_get_max_threads();
    return threads;
}
"""


def is_on(switch: str) -> bool:
    return os.environ.get(switch, "0") not in ("", "0")


def sanitizer() -> str | None:
    choice = os.environ.get("CONTACTSOLVE_SANITIZE", "")
    known = {"": None, "0": None, "1": "address", "kernels": "kernels", "thread": "thread"}
    if choice not in known:
        raise PlatformError(f"CONTACTSOLVE_SANITIZE={choice}: 0, 1, kernels and thread are known")
    return known[choice]


def openmp_builds(compiler) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.c")
        source.write_text(OPENMP_PROBE)
        library = str(source.with_suffix(".so"))
        try:
            objects = compiler.compile([str(source)], output_dir=folder, extra_postargs=OPENMP)
            compiler.link_shared_object(objects, library, extra_postargs=OPENMP)
        except (CompileError, LinkError):
            return False
    return True


def wants_openmp(compiler) -> bool:
    choice = os.environ.get("CONTACTSOLVE_OPENMP", "")
    if choice == "0":
        return False
    found = openmp_builds(compiler)
    if choice == "1" and not found:
        raise PlatformError("CONTACTSOLVE_OPENMP=1, but no program builds with -fopenmp here")
    return found


def wants_pthreads() -> bool:
    choice = os.environ.get("CONTACTSOLVE_THREADS", "")
    if choice not in ("", "pthread"):
        raise PlatformError(f"CONTACTSOLVE_THREADS={choice}: only pthread is known")
    if choice and os.environ.get("CONTACTSOLVE_OPENMP") == "1":
        raise PlatformError("CONTACTSOLVE_THREADS=pthread and CONTACTSOLVE_OPENMP=1: give one")
    return choice == "pthread"


def optimize_flags() -> list[str]:
    choice = os.environ.get("CONTACTSOLVE_OPTIMIZE", "")
    if choice not in OPTIMIZE_COMPILE:
        raise PlatformError(f"CONTACTSOLVE_OPTIMIZE={choice}: only 0 and 1 are known")
    return OPTIMIZE_COMPILE[choice]


def wants_debugging() -> bool:
    flags = os.environ.get("CFLAGS", "").split()
    return any(flag.startswith("-g") for flag in flags)


def flags(compiler) -> tuple[list[str], list[str]]:
    """Flags for compiling and for linking, by the compiler and the environment."""
    compile_flags, link_flags = list(COMPILE), []
    # System headers, so that warnings hold for our code only.
    for folder in (sysconfig.get_path("include"), numpy.get_include()):
        compile_flags += ["-isystem", folder]
    if wants_pthreads():
        compile_flags += PTHREAD
        link_flags += ["-pthread"]
    elif wants_openmp(compiler):
        compile_flags += OPENMP
        link_flags += OPENMP
    else:
        compile_flags += SERIAL
    if not wants_debugging():
        compile_flags += NO_DEBUGGING
    compile_flags += optimize_flags()
    if is_on("CONTACTSOLVE_STRICT"):
        compile_flags += STRICT
    if sanitizer() == "address":
        compile_flags += SANITIZE + SANITIZE_COMPILE
        link_flags += SANITIZE
    if is_on("CONTACTSOLVE_COVERAGE"):
        compile_flags += COVERAGE + COVERAGE_COMPILE
        link_flags += COVERAGE + COVERAGE_LINK
    return compile_flags, link_flags


def order_of_device_source(source: Path) -> tuple[bool, Path]:
    """What files with kernels are sorted by: those that take longest come first."""
    return not source.stem.startswith(NVCC_FIRST), source


class DeviceExtension(Extension):
    """A module with kernels: by nvcc, or emulated on the processor."""

    def __init__(self, name, linker, options, sources, optional=False, linking=(), watched=()):
        sources = sorted(sources, key=order_of_device_source)
        super().__init__(name, sources=list(map(str, sources)), optional=optional)
        self.linker, self.options = linker, options
        self.watched = list(watched)  # flags of a sanitizer, for linking as well
        self.linking = [*linking, *self.watched]
        self.own = NVCC_OF if linker[0].endswith("nvcc") else {}

    def options_of(self, source):
        """Return the flags for compiling one file."""
        name = Path(source).name
        unwatched = "-fsanitize=thread" in self.watched and name == EMULATOR
        return self.options + self.own.get(name, []) + ([] if unwatched else self.watched)


def find_nvcc() -> str | None:
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    places = [Path(home, "bin", "nvcc")] if home else []
    known = shutil.which("nvcc")
    places += [Path(known)] if known else []
    places.append(USUAL_NVCC)
    return next((str(place) for place in places if place.exists()), None)


def gpu_architectures() -> list[str]:
    """Compute capabilities to build for: those asked for, those of the GPUs here, or one."""
    asked = os.environ.get("CONTACTSOLVE_CUDA_ARCHS", "")
    if asked:
        named = {each.strip().replace(".", "") for each in asked.split(",")}
        if not all(map(ARCHITECTURE.fullmatch, named)):
            raise PlatformError(
                f"CONTACTSOLVE_CUDA_ARCHS={asked}: compute capabilities are needed, such as 80,90"
            )
        return sorted(named, key=generation)
    try:
        command = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        lines = ""
    # A driver that does not know a number says so in words.
    found = {each.strip().replace(".", "") for each in lines.splitlines()}
    return sorted(filter(ARCHITECTURE.fullmatch, found), key=generation) or ["90"]


def generation(architecture: str) -> tuple[int, str]:
    """Return what architectures are sorted by: their number, then "90" before "90a"."""
    return int("".join(filter(str.isdigit, architecture))), architecture


def newest_for_ptx(architectures: list[str]) -> str:
    """Return the newest one whose PTX newer GPUs take: that of "90a" runs on no other one."""
    plain = [each for each in architectures if each.isdigit()]
    return max(plain or architectures, key=generation)


def device_extensions() -> list[Extension]:
    """The module with kernels that CONTACTSOLVE_CUDA asks for, if any."""
    choice = os.environ.get("CONTACTSOLVE_CUDA", "") or "auto"
    sources = list(CUDA.glob("*.cu"))
    if choice == "emu":
        options = ["-x", "c++", *EMULATION]
        options += EMULATION_STRICT if is_on("CONTACTSOLVE_STRICT") else []
        sources += CUDA.glob("emulation/*.cc")
        watched, more = EMULATION_SANITIZE.get(sanitizer() or "", ([], []))
        compiler = os.environ.get("CXX", "c++").split()
        name = "contactsolve._cuda_emulated"
        return [DeviceExtension(name, compiler, options + more, sources, watched=watched)]
    if choice not in ("auto", "0", "1"):
        raise PlatformError(f"CONTACTSOLVE_CUDA={choice}: auto, 0, 1 and emu are known")
    if sanitizer() in ("kernels", "thread"):
        raise PlatformError(
            f"CONTACTSOLVE_SANITIZE={sanitizer()} is of emulated kernels: set CONTACTSOLVE_CUDA=emu"
        )
    nvcc = find_nvcc() if choice != "0" else None
    if choice == "1" and not nvcc:
        raise PlatformError("CONTACTSOLVE_CUDA=1, but no nvcc was found: set CUDA_HOME")
    if not nvcc:
        return []
    architectures = gpu_architectures()
    newest = newest_for_ptx(architectures)
    code = [f"-gencode=arch=compute_{each},code=sm_{each}" for each in architectures]
    code.append(f"-gencode=arch=compute_{newest},code=compute_{newest}")
    # A toolkit that does not fit must not keep anyone from the rest.
    optional = choice == "auto"
    name, options = "contactsolve._cuda", [*NVCC, *code]
    return [DeviceExtension(name, [nvcc], options, sources, optional, linking=options)]


def is_kernel(source: str) -> bool:
    return source.endswith(".kernel.c")


def builds_of(source: str, sanitized: bool) -> dict[str, list[str]]:
    """Each build of one source file: folder for the object file → flags added."""
    if not is_kernel(source):
        return {"common": []}
    builds = {name: [*extra, f"-DCS_KERNEL_BUILD={name}"] for name, extra in KERNEL_BUILDS.items()}
    if sanitized:  # Clang warns of these flags where nothing is sanitized
        for name, added in builds.items():
            added += UNCHECKED if name == "baseline" else UNCHECKED_AGAIN
    return builds


class BuildCore(build_ext):
    """Compile all files in parallel, and kernels once per instruction set.

    Kernels come first: they take longest, and no core shall wait for the last of them.  Nothing is
    reused from an earlier build: its flags may have been others.
    """

    def build_extension(self, ext):
        if isinstance(ext, DeviceExtension):
            self.build_device(ext)
            return
        if self.compiler.compiler_type != "unix":
            raise PlatformError("contactsolve builds with GCC or Clang only")
        compile_flags, link_flags = flags(self.compiler)
        units = [
            (source, build, compile_flags + extra)
            for source in ext.sources
            for build, extra in builds_of(source, sanitizer() == "address").items()
        ]
        units.sort(key=lambda unit: not is_kernel(unit[0]))
        with ThreadPoolExecutor(self.parallel or os.cpu_count()) as pool:
            objects = list(pool.map(lambda unit: self.compile_unit(ext, *unit), units))
        self.compiler.link_shared_object(
            objects,
            self.get_ext_fullpath(ext.name),
            libraries=[*self.get_libraries(ext), "m"],
            extra_postargs=link_flags,
            build_temp=self.build_temp,
        )

    def build_device(self, ext):
        """Compile all files with kernels in parallel, and link them by the same compiler."""
        folder = Path(self.build_temp, ext.name)
        include = [f"-I{place}" for place in (CSRC, ".", sysconfig.get_path("include"))]

        def compile_source(source):
            target = folder / f"{Path(source).name}.o"
            target.parent.mkdir(parents=True, exist_ok=True)
            command = [
                *ext.linker,
                *ext.options_of(source),
                *include,
                "-c",
                source,
                "-o",
                str(target),
            ]
            self.run_tool(command)
            return str(target)

        with ThreadPoolExecutor(self.parallel or os.cpu_count()) as pool:
            objects = list(pool.map(compile_source, ext.sources))
        target = self.get_ext_fullpath(ext.name)
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        self.run_tool([*ext.linker, *ext.linking, "-shared", *objects, "-o", target])

    def run_tool(self, command):
        """What compilers say of one file stays together (.ci/registers.py)."""
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        sys.stdout.write(" ".join(map(str, command)) + "\n" + done.stdout + done.stderr)
        if done.returncode:
            raise CompileError(f"{command[0]} failed: {' '.join(map(str, command))}")

    def compile_unit(self, ext, source, build, compile_flags):
        (result,) = self.compiler.compile(
            [source],
            output_dir=str(Path(self.build_temp, build)),
            macros=ext.define_macros,
            include_dirs=ext.include_dirs,
            extra_postargs=compile_flags,
        )
        return result


if __name__ == "__main__":
    core = Extension(
        "contactsolve._core",
        sources=sorted(map(str, CSRC.rglob("*.c"))),
        include_dirs=[str(CSRC)],
        define_macros=MACROS,
    )
    setup(ext_modules=[core, *device_extensions()], cmdclass={"build_ext": BuildCore})
