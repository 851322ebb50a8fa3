"""The picture of `wandering.py`: the map, bands, descents of continuation, and drift."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from common import hard_problems as hard
from runs import SOLVED
from tries import DESCENTS

Rows = Mapping[str, list[dict[str, str]]]  # of the three CSV files


def of(rows: list[dict[str, str]], **values: object) -> list[dict[str, str]]:
    """Return the rows with these values."""
    wanted = {k: f"{v:.4g}" if isinstance(v, float) else str(v) for k, v in values.items()}
    return [row for row in rows if all(row[k] == v for k, v in wanted.items())]


def draw_map(ax: Any, rows_of: Rows, method: str) -> Any:
    """Draw the least residual of size against mu; rings where something else solved it."""
    rows = of(rows_of[""], speed=hard.SPEED, compliance=0.0, method=method)
    sizes = sorted({int(row["size"]) for row in rows})
    mus = sorted({float(row["mu"]) for row in rows})
    table = np.full((len(mus), len(sizes)), np.nan)
    for row in rows:
        at = mus.index(float(row["mu"])), sizes.index(int(row["size"]))
        table[at] = np.nanmin([table[at], np.log10(float(row["reached"]))])
    image = ax.imshow(table, origin="lower", aspect="auto", cmap="viridis", vmin=-8, vmax=-2)
    for i, j in np.argwhere(~np.isnan(table)):
        ax.text(j, i, f"{table[i, j]:.1f}", ha="center", va="center", fontsize=9,
                color="black" if table[i, j] > -4 else "white")  # fmt: skip
    for experiment, color, width in (("continuation", "tab:red", 32), ("drift", "white", 26)):
        ends = of(rows_of["_tries"], speed=hard.SPEED, compliance=0.0, method=method,
                  experiment=experiment)  # fmt: skip
        for row in ends:
            if float(row["reached"]) <= SOLVED:
                ax.plot(sizes.index(int(row["size"])), mus.index(float(row["mu"])), "o", ms=width,
                        mfc="none", mec=color, mew=2)  # fmt: skip
    ax.set_xticks(range(len(sizes)), [f"{n}³" for n in sizes])
    ax.set_yticks(range(len(mus)), [f"{mu:g}" for mu in mus])
    ax.set(xlabel="balls", ylabel="friction coefficient",
           title="log₁₀ of the natural map [N s]\n"
           "rings: then ≤ 10⁻⁶ by continuation (red), Gauss-Seidel (white)")  # fmt: skip
    return image


def draw_bands(ax: Any, rows_of: Rows, method: str) -> None:
    rows = of(rows_of["_bands"], speed=hard.SPEED, compliance=0.0, method=method)
    cases = sorted({(int(row["size"]), float(row["mu"])) for row in rows})
    shown = [one for one in ((16, 0.1), (16, 0.5), (7, 0.5), (7, 0.8)) if one in cases] or cases[:4]
    for (size, mu), color in zip(shown, ("tab:blue", "tab:red", "tab:green", "tab:orange")):  # noqa: B905
        mine = of(rows, size=size, mu=mu)
        at, low, middle, high = (
            np.array([float(row[name]) for row in mine])
            for name in ("up_to", "least", "median", "most")
        )
        ax.fill_between(at, low, high, color=color, alpha=0.25, lw=0)
        ax.plot(at, middle, color=color, label=f"{size}³, μ = {mu:g}")
    ax.set(xscale="log", yscale="log", xlabel="sweeps", ylabel="natural map [N s]",
           title=f"bands over a run: {method}")  # fmt: skip
    ax.legend()


def draw_descents(ax: Any, rows_of: Rows, method: str) -> None:
    """Draw the natural map without compliance on the way to none."""
    rows = of(rows_of["_tries"], experiment="continuation", method=method, speed=hard.SPEED)
    cases = sorted({(int(row["size"]), float(row["mu"])) for row in rows})
    for i, (size, mu) in enumerate(cases):
        mine = of(rows, size=size, mu=mu, factor=DESCENTS[0].factor,
                  step_sweeps=DESCENTS[0].most_sweeps)  # fmt: skip
        sigma = [max(float(row["compliance"]), DESCENTS[0].least / 4) for row in mine]
        reached = [float(row["reached_rigid"]) for row in mine]
        ax.plot(sigma, reached, "o-", ms=3, color=f"C{i % 10}", label=f"{size}³, μ = {mu:g}")
    ax.set(xscale="log", yscale="log", xlabel="tangential compliance [m/(N s)], right end: none",
           ylabel="natural map without compliance [N s]", title="continuation")  # fmt: skip
    if cases:
        ax.invert_xaxis()
        ax.legend(fontsize=8, ncols=2)


def draw_drift(ax: Any, rows_of: Rows, method: str) -> None:
    rows = of(rows_of["_tries"], experiment="drift", method=method, speed=hard.SPEED)
    cases = sorted({(int(row["size"]), float(row["mu"])) for row in rows})
    for i, (size, mu) in enumerate(cases):
        mine = of(rows, size=size, mu=mu)
        sweeps = [int(row["iterations"]) for row in mine]
        reached = [float(row["reached"]) for row in mine]
        ax.plot(sweeps, reached, "-", color=f"C{i % 10}", label=f"{size}³, μ = {mu:g}")
    ax.set(xscale="log", yscale="log", xlabel="sweeps", ylabel="natural map [N s]",
           title="Gauss-Seidel from the best iterate")  # fmt: skip
    if cases:
        ax.legend(fontsize=8, ncols=2, loc="lower right")


def draw(rows_of: Rows, method: str, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(13, 9), layout="constrained")
    axes = axes.ravel()
    image = draw_map(axes[0], rows_of, method)
    figure.colorbar(image, ax=axes[0], extend="both")
    draw_bands(axes[1], rows_of, method)
    draw_descents(axes[2], rows_of, method)
    draw_drift(axes[3], rows_of, method)
    for ax in axes[1:]:
        ax.grid(which="major", linewidth=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    print(path)
