"""The block rows of S2 section 5.4.1: its arrays (5.20) and (5.21) are those of our matrices."""

import numpy as np
import pytest

import contactsolve as cs

# S2 eq. 5.20.  Its last column is printed as 8, where Fig. 5.5 has the diagonal block: 9.
ROW_POINTERS = [0, 4, 6, 8, 10, 13, 15, 18, 21, 23, 26]
COLUMNS = [0, 3, 7, 9, 1, 5, 2, 6, 0, 3, 4, 7, 9, 1, 5, 2, 6, 8, 0, 4, 7, 6, 8, 0, 4, 9]
# S2 eq. 5.21: where a thread begins in the panels of the contacts 0-3, 4-7 and 8-9.
PANELS = {
    (0, 4): [0, 4, 6, 8, 13, 13, 15, 18, 23, 23, 26],
    (4, 8): [2, 5, 7, 10, 10, 14, 16, 19, 21, 24, 26],
    (8, 10): [3, 12, 12, 12, 12, 17, 17, 22, 22, 25, 26],
}


def problem_of_s2(rows):
    """A problem with the pattern of S2 Fig. 5.5, by a given A."""
    rng = np.random.default_rng(2)
    A = np.zeros((10 * rows, 10 * rows))
    for k in range(10):
        for other in COLUMNS[ROW_POINTERS[k] : ROW_POINTERS[k + 1]]:
            if other < k:
                continue
            block = 0.1 * rng.standard_normal((rows, rows))
            block = 3 * np.eye(rows) + block + block.T if k == other else block
            A[k * rows :][:rows, other * rows :][:, :rows] = block
            A[other * rows :][:rows, k * rows :][:, :rows] = block.T
    return cs.Problem.from_delassus(A, rng.standard_normal((10, rows)), 0.3, rows=rows)


def panel_pointers(start, column, first, end):
    """Where each row's blocks of a panel begin; without any, where those of the next row do."""
    pointers = [start[-1]]
    for k in reversed(range(len(start) - 1)):
        own = [e for e in range(start[k], start[k + 1]) if first <= column[e] < end]
        pointers.append(own[0] if own else pointers[-1])
    return pointers[::-1]


@pytest.mark.parametrize("rows", [2, 3])
def test_row_pointers_and_columns(rows):
    pytest.importorskip("scipy")
    matrix = problem_of_s2(rows).delassus()
    assert matrix.blocksize == (rows, rows)
    np.testing.assert_array_equal(matrix.indptr, ROW_POINTERS)  # csrRowPtrT
    np.testing.assert_array_equal(matrix.indices, COLUMNS)  # csrColIndT


def test_row_pointers_of_panels():
    pytest.importorskip("scipy")
    matrix = problem_of_s2(3).delassus()
    for (first, end), wanted in PANELS.items():
        assert panel_pointers(matrix.indptr, matrix.indices, first, end) == wanted


def test_panels_of_columns_add_up_to_rows():
    """Kernel B adds a panel's columns to t; a visit of ours multiplies a row at once."""
    pytest.importorskip("scipy")
    matrix = problem_of_s2(3).delassus()
    impulses = np.random.default_rng(3).standard_normal((10, 3))
    t = np.zeros((10, 3))
    for (first, end), pointers in PANELS.items():
        for k in range(10):
            for e in range(pointers[k], pointers[k + 1]):
                if not first <= matrix.indices[e] < end:  # "till its column index is out of range"
                    break
                t[k] += matrix.data[e] @ impulses[matrix.indices[e]]
    np.testing.assert_allclose(t.ravel(), matrix @ impulses.ravel(), rtol=1e-13)
