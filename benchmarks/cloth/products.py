"""Products of a mesh's matrix: ours by parts, SciPy's, and the bandwidth that limits both (S5 4.2).

The matrix is that of a step of a sheet of 300 × 304 vertices (S5's 91,200) and of smaller ones. For
each precision: milliseconds on one thread and on all cores, bytes of values and indices a second,
and their share of what a loop reads of the same bytes; SciPy multiplies the same blocks (bsr) on
one thread, both triangles of them. Writes cloth_products.csv and tells the goals.

    python benchmarks/cloth/products.py [--sheets 30x30,67x68,134x136,300x304] [--repeats 15]
"""

import argparse
import sys
from pathlib import Path

import numpy as np

import contactsolve as cs
from contactsolve import _core

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import cores, interleaved, on_a_line, write_csv
from common.meshes import stretched_sheet

SHEETS = ((30, 30), (67, 68), (134, 136), (300, 304))
PARTS, SEED = 8, 0
GOALS = {"float32": 1.0, "float64": 0.9}  # of the largest sheet, on all cores


def sheet_matrix(rows, columns):
    """The matrix of a step of a stretched sheet."""
    return stretched_sheet(rows, columns, 1.05).system(1 / 30)[0].to_scipy()


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
            print(on_a_line(rows[-1]), flush=True)
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
