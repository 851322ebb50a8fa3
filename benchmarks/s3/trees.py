"""S3's Figure 4.1: elimination trees after RCM and after minimum degree.

python benchmarks/s3/trees.py [--quick]
"""

import numpy as np
from fill import ORDERS, matrix, reordered
from output import panels, publish
from protocol import arguments

import contactsolve as cs

DRAWN = "crane"


def tree(A, label):
    """The parent of each row, -1 for a root."""
    return cs.mlcp.elimination_tree(reordered(A, cs.mlcp.fill_order(A, ORDERS[label])))


def depths(parent):
    """Steps from each row to its root; parents come after their children."""
    depth = np.zeros(len(parent), int)
    for j in reversed(range(len(parent))):
        if parent[j] >= 0:
            depth[j] = depth[parent[j]] + 1
    return depth


def row_of(name, A, label):
    parent = tree(A, label)
    children = np.bincount(parent[parent >= 0], minlength=len(parent))
    return {
        "scene": name,
        "order": label,
        "rows": len(parent),
        "height": int(depths(parent).max()) + 1,
        "leaves": int(np.sum(children == 0)),
        "branchings": int(np.sum(children > 1)),
    }


def places(parent):
    """Where each row is drawn: leaves side by side, the others above the middle of theirs."""
    n = len(parent)
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    children = [[] for _ in range(n)]
    for j in range(n):
        if parent[j] >= 0:
            children[parent[j]].append(j)
    next_leaf = 0
    stack = [(j, False) for j in reversed(range(n)) if parent[j] < 0]
    while stack:
        j, seen = stack.pop()
        if not children[j]:
            low[j] = high[j] = next_leaf
            next_leaf += 1
        elif seen:
            low[j], high[j] = min(low[children[j]]), max(high[children[j]])
        else:
            stack += [(j, True), *((child, False) for child in reversed(children[j]))]
    return (low + high) / 2.0


def draw(A):
    figure, axes = panels([f"{DRAWN}, {label}" for label in ORDERS], width=4.4, height=4.6)
    for ax, label in zip(axes, ORDERS, strict=True):
        parent = tree(A, label)
        x, depth = places(parent), depths(parent)
        for j in np.flatnonzero(parent >= 0):
            ends = [j, parent[j]]
            ax.plot(x[ends], depth[ends], color="#9db8d9", linewidth=0.8)
        ax.plot(x, depth, ".", color="#1f5aa6", markersize=2)
        ax.invert_yaxis()
        ax.set_xticks([])
        ax.set_ylabel("steps from the root")
    return figure


def main(run):
    matrices = {name: matrix(name) for name in run.scenes}
    rows = [row_of(name, A, label) for name, A in matrices.items() for label in ORDERS]
    publish(run, "figure_4_1", rows, lambda _: draw(matrices.get(DRAWN, matrix(DRAWN))))


if __name__ == "__main__":
    main(arguments(__doc__))
