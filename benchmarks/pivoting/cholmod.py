"""CHOLMOD's factors beside ours: one solve with A and a compliance, all rows free.

CHOLMOD comes from scikit-sparse, which has no wheels and needs the headers of SuiteSparse
(libsuitesparse-dev on Debian), or from sksparse-minimal, which has wheels. Without either, ours
alone are timed. All find their order anew each time; ours also refine.

    python benchmarks/pivoting/cholmod.py
"""

import sys
import time
from pathlib import Path

import numpy as np
from scipy import sparse

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import interleaved, quartiles, write_csv


def find_cholmod():
    """Return a function of A and b that solves with CHOLMOD, or None."""
    try:
        from sksparse.cholmod import cholesky
    except ImportError:
        try:
            from sksparse_minimal import SparseCholesky
        except ImportError:
            return None
        return lambda A, b: SparseCholesky(A).solve_A(b)
    return lambda A, b: cholesky(A)(b)


def matrices():
    """Yield names and positive definite matrices of contact problems."""
    for n in (4, 6, 8):
        yield f"ball grid {n}³", cs.scenarios.ball_grid(n).delassus()
    yield "box stack 20", cs.scenarios.box_stack(20).delassus()


def main():
    """Time every solver on every matrix."""
    rows, cholmod = [], find_cholmod()
    for name, given in matrices():
        A = sparse.csc_matrix(given + 1e-4 * sparse.eye_array(given.shape[0]))
        b = np.random.default_rng(0).normal(size=A.shape[0])
        ways = {
            engine: lambda engine=engine, A=A, b=b: (
                cs.solve_mlcp(A.tocsr(), -b, -np.inf, engine=engine).x
            )
            for engine in ("sparse", "envelope", "auto")
        }
        if cholmod is not None:
            ways["CHOLMOD"] = lambda A=A, b=b: cholmod(A, b)
        answers = {}

        def timed(way, solve, answers=answers):
            begin = time.perf_counter()
            answers[way] = solve()
            return time.perf_counter() - begin

        tasks = {way: lambda way=way, solve=solve: timed(way, solve) for way, solve in ways.items()}
        for way, seconds in interleaved(tasks, repeats=3).items():
            residual = float(np.abs(A @ answers[way] - b).max() / np.abs(b).max())
            row = {"matrix": name, "rows": len(b), "solver": way, "residual": residual}
            row |= {f"ms_{key}": 1e3 * value for key, value in quartiles(seconds).items()}
            rows.append(row)
            print(f"{name:14} {len(b):5} rows  {way:9} {row['ms_median']:9.2f} ms  {residual:.1e}")
    print(write_csv("cholmod", rows))


if __name__ == "__main__":
    main()
