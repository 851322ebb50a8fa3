"""What Tables 3.3 and 3.5 share: Jacobi and Gauss-Seidel in sequence, to equal γ."""

import published
from output import panels
from protocol import timed, to_equal_quality

import contactsolve as cs

METHODS = [cs.Method(name, scheme="factorized", label=name) for name in ("jacobi", "gauss_seidel")]
_NO_TIMES = dict.fromkeys(("mean_s", "sigma_s", "median_s", "setup_s"))
NO_METHOD = "none"
_S1 = ("s1_sweeps", "s1_quality", "s1_residual", "s1_mean_s", "s1_sigma_s")
_COLORS = {"jacobi": "#c8501e", "gauss_seidel": "#1f5aa6"}


def row(name, label, run, sweeps, quality, residual, like, status="", **times):
    """One line of the table, beside it S1's figures for its method `like` on that demo."""
    size = run.size(name) if name in published.SIZES else None
    s1 = published.of(published.SEQUENTIAL, (name, like), None, size) if size else None
    return {
        "scene": name,
        "method": label,
        "sweeps": sweeps,
        "quality": float(quality),
        "residual": float(residual),
        **dict(zip(_S1, s1 or (None,) * 5, strict=True)),
        **(times or _NO_TIMES),
        "status": status,
    }


def rows_and_curves(name, problem, run, suffix="", beside=True, **options):
    """Both methods, run to the γ of Gauss-Seidel's 50 sweeps and timed; γ sweep by sweep.

    `beside` tells whether S1's figures belong beside them.
    """
    table = to_equal_quality(problem, METHODS, **options)
    sweeps = {entry.method: entry.iterations for entry in table}
    timings = timed(problem, METHODS, sweeps, run, threads=(1,), **options)
    rows = [
        row(
            name,
            entry.method + suffix,
            run,
            entry.iterations,
            entry.quality,
            entry.residual,
            like=entry.method if beside else NO_METHOD,
            status=entry.status,
            **timings[entry.method, 1].figures(),
        )
        for entry in table
    ]
    curves = {label: result.history["quality"] for label, result in table.results.items()}
    return rows, curves


def draw(rows, curves):
    """γ sweep by sweep, the γ that all go to, and S1's printed points."""
    names = list(curves)
    figure, axes = panels(names)
    for ax, name in zip(axes, names, strict=True):
        for method, quality in curves[name].items():
            ax.plot(quality, color=_COLORS[method], label=method)
            if method == "gauss_seidel":
                ax.axhline(quality[-1], color="0.5", linewidth=0.8)
        for line in rows:
            if line["scene"] == name and line["s1_quality"] is not None:
                method = line["method"].partition(",")[0]
                label = f"S1, {method}"
                ax.plot(
                    line["s1_sweeps"], line["s1_quality"], "d", markersize=8, fillstyle="none",
                    color=_COLORS[method], label=label,
                )  # fmt: skip
        ax.set(yscale="log", xlabel="sweeps", ylabel="γ [N² s²]")
        handles = dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
        ax.legend(handles.values(), handles.keys())
    return figure
