"""PETSc beside the library: its products and solves, by another Python under mpiexec.

Debian's petsc4py is built for Debian's Python and NumPy: it runs in a process of its own.
"""

import glob
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

SCRIPT = Path(__file__).with_name("petsc_solves.py")
PYTHON = os.environ.get("PETSC_PYTHON", "/usr/bin/python3")


def environment() -> dict[str, str]:
    """Return that of PETSc's processes: Debian's folder of PETSc, and one thread for each rank."""
    folders = sorted(glob.glob("/usr/lib/petscdir/petsc*/*-real"))
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {"PETSC_DIR": folders[-1] if folders else "", **kept, "OMP_NUM_THREADS": "1"}


def why_not() -> str | None:
    """Return why PETSc cannot be measured here; None: it can."""
    if shutil.which("mpiexec") is None:
        return "there is no mpiexec"
    tried = subprocess.run(
        [PYTHON, "-c", "import petsc4py; petsc4py.init()"], env=environment(), capture_output=True
    )
    return f"{PYTHON} has no petsc4py" if tried.returncode else None


def solves(
    matrix: Any, right: np.ndarray, positions: np.ndarray, rtol: float, ranks: int
) -> dict[str, Any]:
    """Return seconds of a product, and a row for each preconditioner, of a matrix by blocks."""
    blocks = matrix.tobsr((3, 3))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "system.npz")
        np.savez(
            path, data=blocks.data, indices=blocks.indices, indptr=blocks.indptr,
            right=right, positions=positions, rtol=rtol,
        )  # fmt: skip
        command = ["mpiexec", "--allow-run-as-root", "--bind-to", "none", "-n", str(ranks)]
        told = subprocess.run(
            [*command, PYTHON, str(SCRIPT), str(path)], env=environment(), capture_output=True,
            text=True, check=True,
        )  # fmt: skip
    return json.loads(told.stdout.strip().splitlines()[-1])
