"""S3's Figure 2.5: the pattern of A and the fill of its factor, before and after RCM.

python benchmarks/s3/fill.py [--quick]
"""

import numpy as np
from output import panels, publish
from protocol import arguments
from scipy.sparse import csr_array

import contactsolve as cs

ORDERS = {
    "as made": "natural",
    "RCM": "reverse_cuthill_mckee",
    "minimum degree": "minimum_degree",
}
STEP = 100


def matrix(name):
    """A of a scene's middle step."""
    data, indices, indptr = cs.scenarios.get(name)(STEP).delassus_csr()
    A = csr_array((data, indices, indptr), shape=(len(indptr) - 1,) * 2)
    A.eliminate_zeros()
    return A


def reordered(A, order):
    return csr_array(A[order][:, order])


def columns_of_factor(A):
    """Entries of each column of the factor, the diagonal among them, by the elimination tree.

    The pattern of column j is that of A below the diagonal and those of its children (Liu 1990).
    """
    n = A.shape[0]
    parent = cs.mlcp.elimination_tree(A)
    patterns = [set() for _ in range(n)]
    for j in range(n):
        below = A.indices[A.indptr[j] : A.indptr[j + 1]]
        patterns[j].update(below[below > j].tolist())
        if parent[j] >= 0:
            patterns[parent[j]] |= patterns[j] - {int(parent[j])}
    return np.array([1 + len(pattern) for pattern in patterns])


def row_of(name, A, label):
    ordered = reordered(A, cs.mlcp.fill_order(A, ORDERS[label]))
    n = ordered.shape[0]
    row = np.repeat(np.arange(n), np.diff(ordered.indptr))
    first = np.arange(n)
    np.minimum.at(first, row, ordered.indices)
    width = np.arange(n) - first
    columns = columns_of_factor(ordered)
    return {
        "scene": name,
        "rows": n,
        "order": label,
        "bandwidth": int(width.max()),
        "envelope": int((width + 1).sum()),
        "factor": int(columns.sum()),
        "share": float(columns.sum() / (n * (n + 1) / 2)),
        "flops": float((columns.astype(float) ** 2).sum()),
    }


def draw(matrices):
    """Patterns of A: rows as the scene has them above, after RCM below."""
    names = [f"{name}{rest}" for rest in ("", ", RCM") for name in matrices]
    figure, axes = panels(names, width=2.6, height=2.7, columns=len(matrices))
    for i, A in enumerate(matrices.values()):
        for k, order in enumerate(("natural", "reverse_cuthill_mckee")):
            ax = axes[i + k * len(matrices)]
            ax.spy(reordered(A, cs.mlcp.fill_order(A, order)), markersize=0.4, color="#1f5aa6")
            ax.tick_params(labelsize=7, bottom=False)
            ax.grid(visible=False)
    return figure


def main(run):
    matrices = {name: matrix(name) for name in run.scenes}
    rows = [row_of(name, A, label) for name, A in matrices.items() for label in ORDERS]
    publish(run, "figure_2_5", rows, lambda _: draw(matrices))


if __name__ == "__main__":
    main(arguments(__doc__))
