"""PETSc's products and solves of a stored system by conjugate gradients; JSON on standard output.

Run under mpiexec by a Python that has petsc4py, which need not be the one of the library
(common/petsc.py). The file has the blocks of the matrix by rows (data, indices, indptr), right,
positions and rtol.

    mpiexec -n 2 python3 benchmarks/common/petsc_solves.py system.npz
"""

import json
import sys
import time

import numpy as np
from petsc4py import PETSc

BLOCK = 3
MOST = 20_000  # iterations
PRODUCTS = 50
# Preconditioners by their options; "sor" is symmetric, within the rows of a rank.
KINDS = {
    "gamg": {"pc_type": "gamg"},
    "sor": {"pc_type": "sor"},
    "block Jacobi": {"pc_type": "pbjacobi"},
}


def matrix_of(system):
    """The rows of this rank."""
    data, indices, indptr = (system[name] for name in ("data", "indices", "indptr"))
    vertices = len(indptr) - 1
    comm = PETSc.COMM_WORLD
    first, end = (vertices * (comm.rank + side) // comm.size for side in (0, 1))
    rows = slice(indptr[first], indptr[end])
    starts = (indptr[first : end + 1] - indptr[first]).astype(PETSc.IntType)
    size = ((BLOCK * (end - first), BLOCK * vertices),) * 2
    csr = (starts, indices[rows].astype(PETSc.IntType), data[rows].ravel())
    A = PETSc.Mat().createBAIJ(size, BLOCK, csr=csr, comm=comm)
    return A, first, end


def vector_of(A, numbers, first, end):
    """The numbers of this rank."""
    x = A.createVecLeft()
    x.setArray(numbers.reshape(-1, BLOCK)[first:end].ravel())
    return x


def rigid_modes(A, positions, first, end):
    """Three translations and three rotations, as PETSc makes them of the positions."""
    x = vector_of(A, positions, first, end)
    x.setBlockSize(BLOCK)
    return PETSc.NullSpace().createRigidBody(x)


def solve(A, b, rtol, options):
    """Seconds of set-up and solve, iterations, and the true residual."""
    PETSc.Options().clear()
    for key, value in options.items():
        PETSc.Options()[key] = value
    ksp = PETSc.KSP().create(A.comm)
    ksp.setOperators(A)
    ksp.setType("cg")
    ksp.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
    ksp.setTolerances(rtol=rtol, max_it=MOST)
    ksp.setFromOptions()
    x = b.duplicate()
    begun = time.perf_counter()
    ksp.setUp()
    ready = time.perf_counter()
    ksp.solve(b, x)
    ended = time.perf_counter()
    rest = b.duplicate()
    A.mult(x, rest)
    rest.aypx(-1, b)
    return {
        "status": "converged" if ksp.getConvergedReason() > 0 else "max_iterations",
        "iterations": ksp.getIterationNumber(),
        "set_up_s": ready - begun,
        "solve_s": ended - ready,
        "residual": rest.norm() / b.norm(),
    }


def main(path):
    system = np.load(path)
    A, first, end = matrix_of(system)
    b = vector_of(A, system["right"], first, end)
    # Multigrid takes no matrix of blocks, but one by rows that knows the size of its blocks.
    by_rows = A.copy().convert("aij")
    by_rows.setBlockSize(BLOCK)
    by_rows.setNearNullSpace(rigid_modes(A, system["positions"], first, end))
    y = b.duplicate()
    A.mult(b, y)
    begun = time.perf_counter()
    for _ in range(PRODUCTS):
        A.mult(b, y)
    product = (time.perf_counter() - begun) / PRODUCTS
    rtol = float(system["rtol"])
    rows = [
        {"name": name, **solve(by_rows if name == "gamg" else A, b, rtol, options)}
        for name, options in KINDS.items()
    ]
    told = {"ranks": A.comm.size, "product_s": product, "size": y.norm(), "solves": rows}
    if A.comm.rank == 0:
        print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1])
