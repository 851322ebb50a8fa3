"""S2 table 6.1 and section 6.1: S2's own kernels for JOR and SOR over a dense T, on a GPU.

As S2's test bench: G is random and diagonally dominant with a fixed seed; 100 to 4,400 contacts, 5
runs of 10 iterations, in both precisions. Each kernel is measured with aligned columns of T, the
JOR of two kernels with the other layouts too (S2 eqs. 5.7 to 5.9), and one without alignment.
Impulses are cross-checked in units in the last place, and what is not finite is counted. Writes
kernels.csv: time of an iteration, GFLOPS, GB/s, and allocation and copies; and kernels.png, S2's
figure 6.1, with the same figure in single precision. `report.py` renews docs/s2.md. What the
solvers and the processor take is in dense.csv.

    python benchmarks/s2/kernels.py [--quick] [--device cuda-emulated] [--most CONTACTS]
    python benchmarks/s2/kernels.py --draw KERNELS.csv        # the picture alone
"""

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

import contactsolve as cs
from contactsolve import _devices

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
from common import ROOT, pages

SIZES = (100, 200, 400, 800, 1600, 2400, 3200, 4400)
RUNS, ITERATIONS, SEED, MU = 5, 10, 5, 0.5
PARTS = ("allocation", "to_device", "from_device", "release")


class Variant(NamedTuple):
    """A row of S2's table 6.1, with the layouts of T that S2 discusses."""

    name: str
    kernel: str
    panel: int = 0  # rows that SOR updates at once; 0: JOR
    layout: str = "contacts"
    aligned: bool = True


VARIANTS = (
    Variant("JOR 1", "gemv+add+prox"),
    Variant("JOR 2", "gemv+prox"),
    Variant("JOR 3", "all_in_one_128"),
    Variant("JOR 4", "all_in_one_192"),
    Variant("JOR 5", "own_gemv+prox"),
    Variant("JOR 5, not aligned", "own_gemv+prox", aligned=False),
    Variant("JOR 5, by directions", "own_gemv+prox", layout="directions"),
    Variant("JOR 5, by padded directions", "own_gemv+prox", layout="padded_directions"),
    Variant("full SOR 1", "full_sor_96", 1),
    Variant("full SOR 2", "full_sor_192", 1),
    Variant("relaxed SOR 1", "relaxed_sor", 6),
    Variant("relaxed SOR 2", "relaxed_sor", 12),
    Variant("relaxed SOR 3", "relaxed_sor", 48),
    Variant("relaxed SOR 4", "relaxed_sor", 384),
)


def random_iteration(contacts, dtype):
    """T = 1 - R G and d = -R c with R of S2 eqs. 4.41 to 4.43, α = 1."""
    rng = np.random.default_rng(SEED)
    n = 3 * contacts
    G = rng.uniform(-1, 1, (n, n))
    np.fill_diagonal(G, 0)
    np.fill_diagonal(G, 1.1 * abs(G).sum(axis=1) + 1)
    diagonal = np.diag(G).reshape(-1, 3)
    friction = diagonal[:, 1:].max(axis=1)
    R = 1 / np.column_stack([diagonal[:, 0], friction, friction]).ravel()
    G *= -R[:, None]
    G[np.diag_indices(n)] += 1
    return G.astype(dtype), (R * rng.uniform(-n, n, n)).astype(dtype)


def prox(z):
    """S2 eqs. 4.33 to 4.35."""
    z = z.reshape(-1, 3).copy()
    z[:, 0] = np.maximum(z[:, 0], 0)
    length = np.maximum(np.hypot(z[:, 1], z[:, 2]), np.finfo(z.dtype).tiny)
    z[:, 1:] *= np.minimum(1, MU * z[:, 0] / length)[:, None]
    return z.ravel()


def reference(T, d, panel):
    """Impulses of the same iterations, rows one after another, in double precision."""
    T, d = T.astype(np.float64), d.astype(np.float64)
    x, rows = np.zeros_like(d), max(panel, 3) if panel else len(d)
    for first in list(range(0, len(d), rows)) * ITERATIONS:
        own = slice(first, first + rows)
        if panel == 1:  # friction sees the new normal impulse
            x[first] = max(T[first] @ x + d[first], 0)
            friction = slice(first + 1, first + 3)
            x[own] = prox(np.append(x[first], T[friction] @ x + d[friction]))
        else:
            x[own] = prox(T[own] @ x + d[own])
    return x


def units_apart(impulses, wanted):
    """The largest difference, in units in the last place of a contact's largest impulse."""
    large = abs(wanted).reshape(-1, 3).max(axis=1).astype(impulses.dtype)
    unit = np.spacing(np.maximum(large, np.finfo(impulses.dtype).tiny)).astype(float)
    return float((abs(impulses - wanted).reshape(-1, 3).max(axis=1) / unit).max())


def measured(contacts, dtype, device, variants=VARIANTS):
    """A row for each variant."""
    T, d = random_iteration(contacts, dtype)
    n, wanted, rows = len(d), {}, []
    for variant in variants:
        if variant.panel not in wanted:
            wanted[variant.panel] = reference(T, d, variant.panel)
        done = [
            cs.cuda.iterate_dense(
                T,
                d,
                MU,
                kernel=variant.kernel,
                panel_rows=max(variant.panel, 3) if variant.kernel == "relaxed_sor" else 48,
                iterations=ITERATIONS,
                layout=variant.layout,
                aligned=variant.aligned,
                device=device,
            )
            for _ in range(1 + RUNS)
        ][1:]
        each = np.array([one.seconds["iteration"] / ITERATIONS for one in done])
        times = {f"ms_{key}": 1e3 * value for key, value in common.quartiles(each).items()}
        middle = float(np.median(each))
        rows.append(
            {
                "device": device,
                "contacts": contacts,
                "precision": str(T.dtype),
                "variant": variant.name,
                "kernel": variant.kernel,
                **times,
                "gflops": 2 * n * n / middle / 1e9,
                "gb_per_s": T.nbytes / middle / 1e9,
                "ulp": units_apart(done[-1].impulses, wanted[variant.panel]),
                "not_finite": int((~np.isfinite(done[-1].impulses)).sum()),
            }
        )
        for part in PARTS:
            rows[-1][f"{part}_ms"] = 1e3 * float(np.median([one.seconds[part] for one in done]))
    return rows


# ---- the picture ---------------------------------------------------------------------------------


def draw(rows):
    """S2 figure 6.1: (a) JOR, (b) SOR beside the JOR of variant 5; for each precision."""
    variants = [variant.name for variant in VARIANTS]
    shown = {
        "(a) JOR": [name for name in variants if "SOR" not in name],
        "(b) SOR, and JOR 5": [name for name in variants if "SOR" in name or name == "JOR 5"],
    }
    precisions = list(dict.fromkeys(row["precision"] for row in rows))
    titles = [f"{part}, {precision}" for precision in precisions for part in shown]
    figure, axes = pages.panels(titles, width=5.2, columns=2)
    for i, precision in enumerate(precisions):
        for ax, names in zip(axes[2 * i :], shown.values(), strict=False):
            for name, style in pages.styles(names).items():
                own = [r for r in rows if (r["precision"], r["variant"]) == (precision, name)]
                contacts = [int(row["contacts"]) for row in own]
                times = [float(row["ms_median"]) for row in own]
                ax.plot(contacts, times, style.marker + "-", color=style.color, ms=4, label=name)
            ax.set(xlabel="contacts", ylabel="ms of an iteration")
            pages.logarithmic(ax, "x")
            pages.logarithmic(ax, "y")
            ax.legend(fontsize=7)
    return figure


# ---- the command ---------------------------------------------------------------------------------


def parser_of(about, quick):
    """A parser with the options of a measurement by S2's kernels."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--quick", action="store_true", help=f"{quick}, to build/benchmarks")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cuda-emulated"))
    parser.add_argument("--most", type=int, default=SIZES[-1], help="contacts, for little memory")
    return parser


def results_of(parser, given):
    """The folder of results; ends where the device that was given cannot be measured."""
    missing = _devices.why_not(given.device)
    if missing:
        parser.exit(1, f"not measured: {missing}\n")
    if given.device != "cuda" and not given.quick:
        parser.error("times of an emulated device mean nothing: add --quick")
    results = ROOT / "build" / "benchmarks" if given.quick else common.RESULTS / common.machine()
    return results / "s2"


def main(argv=None):
    parser = parser_of(__doc__.split("\n")[0], "70 contacts")
    parser.add_argument("--draw", type=Path, metavar="CSV", help="draw what was measured before")
    given = parser.parse_args(argv)
    path = given.draw or measure(given, results_of(parser, given))
    print(pages.picture(path.with_suffix(".png"), draw, pages.read(path)))


def measure(given, results):
    """Measure all variants, and return the CSV."""
    sizes = (70,) if given.quick else [size for size in SIZES if size <= given.most]
    rows = []
    for contacts in sizes:
        for dtype in (np.float32, np.float64):
            rows += measured(contacts, dtype, given.device)
        print(contacts, flush=True)
    path = common.write_csv("kernels", rows, results)
    print(path)
    return path


if __name__ == "__main__":
    main()
