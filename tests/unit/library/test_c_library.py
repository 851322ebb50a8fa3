"""The C library without Python: its own tests and the example, with sanitizers on.

A program ``tests/c/test_*.c`` is a test: it passes by returning 0.  Everything is compiled here
from the sources of the repository, so that the sanitizers see it whole; the environment variables
of ``setup.py`` hold (``CONTACTSOLVE_OPENMP=0``, ``CONTACTSOLVE_STRICT=1``).  ``setup.py`` compiles
the library as it does for the sanitized module, so that a compiler cache serves both.
ThreadSanitizer has a library of its own, with POSIX threads: it does not understand how OpenMP's
threads wait.
"""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from repository import ROOT

CSRC = ROOT / "csrc"
PROGRAMS = ROOT / "tests" / "c"
COMPILER = shlex.split(os.environ.get("CC", "cc"))
COMMON = [
    "-std=c17",
    "-D_POSIX_C_SOURCE=200809L",
    "-O1",
    "-g1",  # lines for reports; more takes the compiler minutes over unrolled kernels
    "-fno-omit-frame-pointer",
    "-ffp-contract=off",
    "-fno-math-errno",
    f"-I{CSRC}",
]
COMPILE = [*COMMON, "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
COMPILE_THREADS = [*COMMON, "-fsanitize=thread", "-DCS_PTHREADS", "-pthread"]
STRICT = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wno-unknown-pragmas", "-Werror"]

pytestmark = [
    pytest.mark.skipif(shutil.which(COMPILER[0]) is None, reason="needs a C compiler"),
    pytest.mark.c_library,
    pytest.mark.slow,
]


def run(command, variables=(), **options):
    """Run a command; its output is the message of the failure."""
    # A sanitizer that is preloaded into Python would also check the compiler.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    environment |= {"ASAN_OPTIONS": "detect_leaks=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
    environment |= dict(variables)
    done = subprocess.run(
        [str(part) for part in command], env=environment, capture_output=True, text=True, **options
    )
    if done.returncode != 0:
        pytest.fail(f"{shlex.join(map(str, command))}\n{done.stdout}{done.stderr}", pytrace=False)
    return done.stdout


def openmp_flags(folder):
    if os.environ.get("CONTACTSOLVE_OPENMP") == "0":
        return []
    probe = folder / "probe.c"
    probe.write_text("#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n")
    command = [*COMPILER, "-fopenmp", probe, "-o", folder / "probe"]
    found = subprocess.run(list(map(str, command)), capture_output=True).returncode == 0
    return ["-fopenmp"] if found else []


@pytest.fixture(scope="session")
def flags(tmp_path_factory):
    strict = STRICT if os.environ.get("CONTACTSOLVE_STRICT") == "1" else []
    return [*COMPILE, *strict, *openmp_flags(tmp_path_factory.mktemp("probe"))]


def builds_of(source):
    """Each build of a source file and its flags, as ``setup.py`` has them."""
    specification = importlib.util.spec_from_file_location("setup_of_library", ROOT / "setup.py")
    setup = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(setup)
    return setup.builds_of(str(source), sanitized=True).items()


def archive_of(objects, folder):
    archive = folder / "libcontactsolve.a"
    run(["ar", "rcs", archive, *objects])
    return archive


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """All of the library but the Python module, as in the sanitized build."""
    folder = tmp_path_factory.mktemp("library")
    # Checks that sanitizers add mislead warnings.
    choices = {"SANITIZE": "1", "STRICT": "0", "CUDA": "0"}
    command = [sys.executable, "setup.py", "-q", "build_ext"]
    run(
        [*command, "--build-temp", folder / "objects", "--build-lib", folder / "module"],
        {f"CONTACTSOLVE_{name}": value for name, value in choices.items()},
        cwd=ROOT,
    )
    objects = sorted((folder / "objects").rglob("*.o"))
    return archive_of([path for path in objects if path.parent.name != "python"], folder)


def files_of(source):
    """All files of one C program: of a header that it includes, a file of the same name, too."""
    headers = re.findall(r'#include "(\w+)\.h"', source.read_text(encoding="utf-8"))
    others = [PROGRAMS / f"{name}.c" for name in headers]
    return [source, *(path for path in others if path.exists())]


@pytest.fixture(scope="session")
def build_in(library, flags):
    """A function that compiles one C program against the library, into a folder."""

    def build_program(source, folder):
        program = folder / source.stem
        files = files_of(source)
        run([*COMPILER, *flags, f"-I{PROGRAMS}", *files, library, "-lm", "-o", program])
        return program

    return build_program


@pytest.fixture
def build(build_in, tmp_path):
    return lambda source: build_in(source, tmp_path)


@pytest.fixture(scope="session")
def started(request, build_in, tmp_path_factory):
    """Each program that a test asks for, compiled and run beside others: source → its future."""

    def compile_and_run(source):
        folder = tmp_path_factory.mktemp(source.stem)
        run([build_in(source, folder)], cwd=folder)

    items = [item for item in request.session.items if item.name.startswith("test_program_passes[")]
    sources = [item.callspec.params["source"] for item in items]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield {source: pool.submit(compile_and_run, source) for source in sources}


@pytest.mark.parametrize("source", sorted(PROGRAMS.glob("test_*.c")), ids=lambda path: path.stem)
def test_program_passes(started, source):
    started[source].result()


def documented_output(source):
    """The lines below ``Output:`` in the comment at the head of a program."""
    comment = re.match(r"/\*(.*?)\*/", source.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line.strip().removeprefix("*").strip() for line in comment[1].splitlines()]
    return [line for line in lines[lines.index("Output:") + 1 :] if line]


EXAMPLES = pytest.mark.parametrize("name", ["example.c", "pile.c"])


@EXAMPLES
def test_example_prints_what_it_documents(build, tmp_path, name):
    source = PROGRAMS / name
    output = run([build(source)], cwd=tmp_path)
    assert [line.strip() for line in output.splitlines()] == documented_output(source)


@EXAMPLES
def test_example_needs_the_public_header_only(name):
    text = (PROGRAMS / name).read_text(encoding="utf-8")
    assert re.findall(r'#include "(.*)"', text) == ["contactsolve.h"]
    assert "Python.h" not in text


FAULTS = {
    "heap-buffer-overflow": "int value = data[count];\n    free(data);\n    return value;",
    "detected memory leaks": "data[0] = count;\n    data = NULL;\n    return 0;",
    "signed integer overflow": "free(data);\n    return 2147483647 + count;",
}


@pytest.mark.parametrize("report", FAULTS)
def test_a_faulty_program_is_stopped(build, tmp_path, report):
    """Without this, a compiler that ignores the flags would make every test above pass."""
    source = tmp_path / "faulty.c"
    source.write_text(
        "#include <stdlib.h>\n"
        "int main(int count, char **words)\n"
        "{\n"
        "    (void)words;\n"
        "    int *volatile data = calloc((size_t)count, sizeof *data);\n"
        f"    {FAULTS[report]}\n"
        "}\n"
    )
    with pytest.raises(pytest.fail.Exception, match=report):
        run([build(source)])


# ---- ThreadSanitizer ----------------------------------------------------------------------------

RACE = """\
#include "core/parallel.h"

static int count;

static void work(void *context, int thread)
{
    (void)context, (void)thread;
    for (int i = 0; i < 1000; i++) count++;
}

int main(void)
{
    cs_parallel(2, work, 0);
    return count == 0;
}
"""


@pytest.fixture(scope="session")
def thread_flags(tmp_path_factory):
    """Flags for ThreadSanitizer, where a program that it checks runs at all."""
    strict = STRICT if os.environ.get("CONTACTSOLVE_STRICT") == "1" else []
    flags = [*COMPILE_THREADS, *strict]
    folder = tmp_path_factory.mktemp("probe")
    source, program = folder / "probe.c", folder / "probe"
    source.write_text("int main(void) { return 0; }\n")
    for command in ([*COMPILER, *flags, source, "-o", program], [program]):
        if subprocess.run(list(map(str, command)), capture_output=True).returncode != 0:
            pytest.skip("needs a compiler with ThreadSanitizer, and a system on which it runs")
    return flags


@pytest.fixture(scope="session")
def thread_library(thread_flags, tmp_path_factory):
    """All of the library but the Python module, compiled with these flags."""
    folder = tmp_path_factory.mktemp("threads")

    def compiled(source, build, extra):
        name = "_".join(source.relative_to(CSRC).with_suffix("").parts)
        target = folder / f"{name}.{build}.o"
        run([*COMPILER, *thread_flags, *extra, "-c", source, "-o", target])
        return target

    sources = [path for path in sorted(CSRC.rglob("*.c")) if CSRC / "python" not in path.parents]
    units = [(source, *build) for source in sources for build in builds_of(source)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda unit: compiled(*unit), units))
    return archive_of(objects, folder)


@pytest.fixture
def build_threaded(thread_library, thread_flags, tmp_path):
    def build_program(source):
        program = tmp_path / source.stem
        files = files_of(source)
        command = [*COMPILER, *thread_flags, f"-I{PROGRAMS}", *files, thread_library, "-lm"]
        run([*command, "-o", program])
        return program

    return build_program


THREADED = [
    "test_block_systems",
    "test_ccd",
    "test_channel",
    "test_cloth",
    "test_cloth_contacts",
    "test_collide",
    "test_copies",
    "test_lanczos",
    "test_networks",
    "test_pages",
    "test_phases",
    "test_pool",
    "test_ranks",
    "test_threads",
    "test_transport",
    "test_tree",
    "test_stream",
]


@pytest.mark.parametrize("name", THREADED)
def test_no_two_threads_meet_in_memory(build_threaded, name):
    run([build_threaded(PROGRAMS / f"{name}.c")])


def test_a_race_is_found(build_threaded, tmp_path):
    source = tmp_path / "race.c"
    source.write_text(RACE)
    with pytest.raises(pytest.fail.Exception, match="data race"):
        run([build_threaded(source)])
