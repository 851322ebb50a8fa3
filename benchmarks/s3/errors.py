"""What the errors of Table 2.4 consist of: the same removals, measured in several ways.

    python benchmarks/s3/errors.py [--scene NAME] [--quick]

Tight rows are taken out of the factor of A by S3's Algorithm 2.3, and A_FF is factored anew, both
by the same NumPy code and in the same order (RCM), so that the difference is what downdating adds.
Beside it: the difference of two new factors in two orders, which no removal explains; the error of
L, in its largest entry and in the Frobenius norm; the former after every tenth removal alone; and
all of it with other compliances, which change the condition number.
"""

import inspect

import numpy as np
import published
from output import panels, publish
from protocol import arguments, frame
from scipy.linalg import solve_triangular

import contactsolve as cs

EVERY = 8  # steps
# Further compliances of the scenes with errors above S3's, up to the largest of S3 (Table 2.1).
COMPLIANCES = {"winch": (1e-6,), "vehicle": (1e-7, 1e-6), "forklift": (1e-7, 1e-6)}
FEWER = 10  # every so many tight rows, where fewer are taken out
SHOWN = {
    "impulses": ("impulses", "o", "#1f5aa6"),
    "two_orders": ("two orders, no removal", "s", "#2b8a57"),
    "norm": ("L, Frobenius norm", "D", "#8a3f97"),
    "s3_median": ("S3", "*", "#c8501e"),
}


def take_out(L, i):
    """Take row i out of the factor L, in place (S3 Algorithm 2.3)."""
    # What column i holds below the diagonal goes into the block behind it: a rank-one update.
    sigma, beta = L[:, i].copy(), 1.0
    L[i:, i] = L[i, :] = 0.0
    L[i, i] = 1.0

    # Column by column; S3's line 16 leaves out the factor sqrt(z) / y of the old column.
    for k in range(i + 1, len(L)):
        x, y = sigma[k], L[k, k]
        if x == 0.0:
            continue
        root, gamma = np.sqrt(y * y + x * x / beta), beta * y * y + x * x
        beta += x * x / (y * y)
        sigma[k + 1 :] -= x / y * L[k + 1 :, k]
        L[k + 1 :, k] = root / y * L[k + 1 :, k] + root * x / gamma * sigma[k + 1 :]
        L[k, k] = root


def without(L, rows):
    """The factor of what is left when rows are taken out, one after another."""
    L, kept = L.copy(), np.ones(len(L), bool)
    kept[rows] = False
    for i in rows:
        take_out(L, i)
    return L[np.ix_(kept, kept)]


def solved(L, right):
    """Solve L Lᵀ x = right."""
    return solve_triangular(L, solve_triangular(L, right, lower=True), lower=True, trans=1)


def error(values, reference):
    """The largest difference over the largest value of the reference."""
    return float(np.abs(values - reference).max() / np.abs(reference).max())


def errors_of(found):
    """Errors of one frame by what they are taken of; None where no row is tight."""
    answer = cs.MlcpSolver(found.A, engine="refactor", interior=False).solve(
        found.b, found.lo, found.hi
    )
    if not np.any(answer.index_set):
        return None
    A, loose = found.A.toarray(), answer.index_set == 0
    right = -(found.b + A[:, ~loose] @ answer.x[~loose])

    # Removals and a new factor in one order, by one code.
    order = cs.mlcp.fill_order(found.A)
    tight = np.flatnonzero(~loose[order])
    whole = np.linalg.cholesky(A[np.ix_(order, order)])
    free = order[loose[order]]
    anew, downdated = np.linalg.cholesky(A[np.ix_(free, free)]), without(whole, tight)
    x = solved(anew, right[free])

    # No removal at all: a new factor in the rows' own order.
    in_own_order = np.zeros(len(A))
    own = np.flatnonzero(loose)
    in_own_order[own] = solved(np.linalg.cholesky(A[np.ix_(own, own)]), right[own])

    # A part of the removals alone.
    few = tight[::FEWER]
    rest = np.delete(order, few)
    values = np.linalg.eigvalsh(A[np.ix_(own, own)])
    return {
        "condition": values[-1] / values[0],
        "tight": len(tight),
        "impulses": error(solved(downdated, right[free]), x),
        "two_orders": error(in_own_order[free], x),
        "entries": error(downdated, anew),
        "norm": float(np.linalg.norm(downdated - anew) / np.linalg.norm(anew)),
        "entries_fewer": error(without(whole, few), np.linalg.cholesky(A[np.ix_(rest, rest)])),
    }


def row_of(name, compliance, run):
    """Medians over the frames of a scene with tight rows; None where there are none."""
    steps = [step for step in run.steps(name) if run.quick or step % EVERY == 0]
    found = [errors_of(frame(name, step, compliance=compliance)) for step in steps]
    own = [errors for errors in found if errors]
    if not own:
        return None
    median = {key: float(np.median([errors[key] for errors in own])) for key in own[0]}
    *_, condition = published.DATA.get(name, (None,))
    *_, s3 = published.ERRORS.get((name, "skyline"), (None,))
    return {
        "scene": name,
        "compliance": compliance,
        "frames": len(own),
        **median,
        "over_condition": median["impulses"] / median["condition"],
        "s3_condition": condition,
        "s3_median": s3,
        "s3_over_condition": s3 / condition if s3 else None,
    }


def draw(rows):
    """Medians by what the error is taken of, scene by scene."""
    figure, (ax,) = panels([""], width=8.5, height=4.6)
    names = [f"{row['scene']}, {row['compliance']:.0e}" for row in rows]
    for key, (label, marker, color) in SHOWN.items():
        known = [i for i, row in enumerate(rows) if row[key] is not None]
        values = [rows[i][key] for i in known]
        ax.plot(values, known, marker, color=color, label=label, markersize=8, fillstyle="none")
    ax.set_xscale("log")
    ax.set_yticks(range(len(rows)), names)
    ax.invert_yaxis()
    ax.set_xlabel("median of the error")
    ax.legend(fontsize=8)
    return figure


def compliances(name):
    """The scene's own compliance, and the further ones."""
    own = inspect.signature(cs.scenarios.get(name)).parameters["compliance"].default
    return own, *COMPLIANCES.get(name, ())


def main(run):
    wanted = [(name, value) for name in run.scenes for value in compliances(name)]
    rows = [row for name, value in wanted if (row := row_of(name, value, run))]
    publish(run, "errors", rows, draw)


if __name__ == "__main__":
    main(arguments(__doc__))
