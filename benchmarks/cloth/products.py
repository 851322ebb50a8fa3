"""Products of a mesh's matrix: ours by parts, SciPy's, and the bandwidth that limits both (S5 4.2).

The matrix has the pattern of a sheet of 300 × 304 vertices (S5's 91,200) and of smaller ones, in
random order. For each precision: milliseconds on one thread and on all cores, bytes of values and
indices a second, and their share of what a loop reads of the same bytes; SciPy multiplies the same
blocks (bsr) on one thread, both triangles of them. Writes cloth_products.csv and tells the goals.

    python benchmarks/cloth/products.py [--sheets 30x30,67x68,134x136,300x304] [--repeats 15]
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import scipy.sparse

import contactsolve as cs
from contactsolve import _core

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import cores, interleaved, write_csv

SHEETS = ((30, 30), (67, 68), (134, 136), (300, 304))
PARTS, SEED = 8, 0
GOALS = {"float32": 1.0, "float64": 0.9}  # of the largest sheet, on all cores


def sheet_matrix(rows, columns):
    """Blocks of a triangulated sheet: diagonally dominant, vertices in random order."""
    rng = np.random.default_rng(SEED)
    number = rng.permutation(rows * columns).reshape(rows, columns)
    ends = (
        (number[:-1], number[1:]),
        (number[:, :-1], number[:, 1:]),
        (number[:-1, :-1], number[1:, 1:]),
    )
    i = np.concatenate([first.ravel() for first, _ in ends])
    j = np.concatenate([second.ravel() for _, second in ends])
    beside = rng.uniform(-1, 1, (len(i), 3, 3))
    diagonal = np.tile(20.0 * np.eye(3), (number.size, 1, 1))
    own = np.arange(number.size)
    row, column = np.concatenate([i, j, own]), np.concatenate([j, i, own])
    data = np.concatenate([beside, beside.transpose(0, 2, 1), diagonal])
    order = np.lexsort((column, row))
    starts = np.searchsorted(row[order], np.arange(number.size + 1))
    size = 3 * number.size
    return scipy.sparse.bsr_array((data[order], column[order], starts), shape=(size, size))


def row_of(matrix, dtype, repeats):
    """Figures of one sheet and precision."""
    A = cs.sparse.SymmetricBlocks(matrix, parts=PARTS, dtype=dtype)
    theirs = matrix.astype(dtype)
    x = np.random.default_rng(SEED).standard_normal(A.shape[0]).astype(dtype)
    size, most = A.info["bytes"], cores()

    def product(threads):
        A.matvec(x, threads=threads)  # returns nothing: `interleaved` takes the time

    tasks = {
        "one": lambda: product(1),
        "all": lambda: product(most),
        "scipy": lambda: theirs.dot(x) is None or None,
        "read_one": lambda: _core.stream(size, 1),
        "read_all": lambda: _core.stream(size, most),
    }
    seconds = {name: float(np.median(t)) for name, t in interleaved(tasks, repeats).items()}
    return {
        "vertices": A.shape[0] // 3,
        "dtype": dtype,
        "parts": PARTS,
        "threads": most,
        "kernel": A.info["kernel"],
        "external_share": A.info["external_blocks"] / len(A.indices),
        "megabytes": size / 1e6,
        "one_ms": 1e3 * seconds["one"],
        "all_ms": 1e3 * seconds["all"],
        "scipy_ms": 1e3 * seconds["scipy"],
        "one_gbs": size / seconds["one"] / 1e9,
        "all_gbs": size / seconds["all"] / 1e9,
        "one_share": seconds["read_one"] / seconds["one"],
        "all_share": seconds["read_all"] / seconds["all"],
        "over_scipy": seconds["scipy"] / seconds["all"],
    }


def sheets_of(text):
    return [tuple(map(int, each.split("x"))) for each in text.split(",")]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sheets", type=sheets_of, default=SHEETS)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--results", type=Path, help="a folder (default: results/<machine>)")
    given = parser.parse_args(argv)
    rows = []
    for sheet in given.sheets:
        matrix = sheet_matrix(*sheet)
        for dtype in GOALS:
            rows.append(row_of(matrix, dtype, given.repeats))
            print("  ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}"
                            for k, v in rows[-1].items()), flush=True)  # fmt: skip
    for row in rows[-len(GOALS) :]:
        goal = GOALS[row["dtype"]]
        verdict = "reached" if row["all_share"] >= goal else "MISSED"
        told = (
            f"{row['vertices']} vertices, {row['dtype']}: share of reading {row['all_share']:.2f}"
        )
        print(f"{told}, goal >= {goal}: {verdict}")
    print(write_csv("cloth_products", rows, given.results))


if __name__ == "__main__":
    main()
