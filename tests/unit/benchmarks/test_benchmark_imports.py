"""Scripts of `benchmarks/`: each finds what it imports, from its own folder and from `common`."""

import importlib

import pytest

from benchmark_scripts import importing_from
from repository import BENCHMARKS

SCRIPTS = sorted(
    path
    for path in BENCHMARKS.rglob("*.py")
    if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
)
MAY_BE_MISSING = {"matplotlib", "mpi4py", "numba", "petsc4py", "scipy"}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_script_finds_what_it_imports(path):
    with importing_from(path.parent):
        try:
            module = importlib.import_module(path.stem)
        except ModuleNotFoundError as error:
            if error.name.partition(".")[0] not in MAY_BE_MISSING:
                raise
            pytest.skip(f"needs {error.name}")
        assert module.__file__ == str(path)
