"""S2 table 6.1 and section 6.1: S2's own kernels for JOR and SOR over a dense T, on a GPU.

As S2's test bench: G is random and diagonally dominant with a fixed seed; 100 to 4,400 contacts, 5
runs of 10 iterations, each run with a G of its own, in both precisions. Each kernel is measured
with aligned columns of T, the JOR of two kernels with the other layouts too (S2 eqs. 5.7 to 5.9),
and one without alignment. The time of SOR's iterations contains its first sums (S2 eq. 5.15).
Beside them is what the processor takes for iterations of the first G with the same work: on one
core, and JOR on all cores. In full SOR they are not the same iterations: S2's rows of friction are
multiplied by the new normal impulse of the contact, those of the scheme `dense` by the old one.
From both follow speed-ups, and the iterations that pay for the copies (eq. 6.1), by the clock.
Impulses of the first run are cross-checked (S2 section 3.7.1), and what is not finite is counted in
all.

Writes kernels.csv, in which other sizes of the same device stay, and S2's figures, each in both
precisions: kernels.png (6.1: time of an iteration), kernels_speedups.png (6.2) and
kernels_break_even.png (6.3). `report.py` renews docs/s2.md. What our own solvers take is in
dense.csv.

    python benchmarks/s2/kernels.py [--contacts 100,400] [--runs 5]
    python benchmarks/s2/kernels.py --quick --device cuda-emulated     # does it work?
    python benchmarks/s2/kernels.py --draw KERNELS.csv        # the pictures alone
"""

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import contactsolve as cs
from contactsolve import _devices

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
import dense
from common import ROOT, clocks, devices, pages, sweeping
from dense import ITERATIONS, MU, PRECISIONS, RUNS

SIZES = (100, 200, 400, 800, 1600, 2400, 3200, 4400)
QUICK = (70,)
PARTS = ("allocation", "to_device", "from_device", "release")
REPEATS = 3  # of the processor's times


class Variant(NamedTuple):
    """A row of S2's table 6.1, with the layouts of T that S2 discusses."""

    name: str
    kernel: str
    panel: int = 0  # rows that SOR updates at once; 0: JOR
    layout: str = "contacts"
    aligned: bool = True

    @property
    def on_processor(self):
        """The method of dense.py with the same work in an iteration."""
        if not self.panel:
            return dense.JOR
        return dense.FULL if self.panel == 1 else f"relaxed SOR of {self.panel // 3}"


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


class Run(NamedTuple):
    """How much is measured, from the command line."""

    results: Path
    sizes: tuple[int, ...]
    device: str
    threads: int = 1  # 1: threads are not measured
    runs: int = RUNS


# ---- the cross-check -----------------------------------------------------------------------------


def prox(z):
    """S2 eqs. 4.33 to 4.35."""
    z = z.reshape(-1, 3).copy()
    z[:, 0] = np.maximum(z[:, 0], 0)
    length = np.maximum(np.hypot(z[:, 1], z[:, 2]), np.finfo(z.dtype).tiny)
    z[:, 1:] *= np.minimum(1, MU * z[:, 0] / length)[:, None]
    return z.ravel()


def reference(T, d, panel):
    """Impulses of the same iterations, rows one after another, in double precision."""
    T, d = T.astype(np.float64, copy=False), d.astype(np.float64)
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


def references(T, d):
    """The same by the rows of a panel."""
    T = T.astype(np.float64, copy=False)
    return {panel: reference(T, d, panel) for panel in {each.panel for each in VARIANTS}}


def units_apart(impulses, wanted):
    """The largest difference, in units in the last place of a contact's largest impulse."""
    large = abs(wanted).reshape(-1, 3).max(axis=1).astype(impulses.dtype)
    unit = np.spacing(np.maximum(large, np.finfo(impulses.dtype).tiny)).astype(float)
    return float((abs(impulses - wanted).reshape(-1, 3).max(axis=1) / unit).max())


def checked(impulses, wanted):
    """S2's cross-check: floats between numbers, and distances."""
    found = dense.cross_check(impulses, wanted.astype(impulses.dtype), impulses.dtype.type)
    found.pop("finite")
    return {"ulp": units_apart(impulses, wanted), **found}


# ---- measuring -----------------------------------------------------------------------------------


def by_columns(T):
    """T in Fortran order, as the device has it."""
    columns = np.empty_like(T)
    for own in dense.pieces(len(T)):
        for other in dense.pieces(len(T)):
            columns[other, own] = T[own, other].T
    return columns.T


def iterated(variant, T, d, device):
    """Iterations of a variant: impulses, and the seconds of each part."""
    return cs.cuda.iterate_dense(
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


def warm_up(device):
    """Every kernel once, for few contacts: the driver loads it when it is first launched."""
    for dtype in PRECISIONS:
        T, d = dense.iteration_matrix(*dense.random_problem(2, 0), dtype)
        for variant in VARIANTS:
            iterated(variant, T, d, device)


def of_processor(problem, threads):
    """Seconds of an iteration by method, precision and number of threads."""
    found = {}
    for dtype in PRECISIONS:
        for method in dict.fromkeys(variant.on_processor for variant in VARIANTS):
            # S2 has threads for JOR only: full SOR has nothing to do at the same time.
            for count in {1, threads} if method == dense.JOR else {1}:
                options = {**dense.options_of(method), "dtype": dtype.__name__, "threads": count}
                solver = sweeping(problem, ITERATIONS, **options)
                clocks.of_sweep(solver, ITERATIONS)
                times = [clocks.of_sweep(solver, ITERATIONS)[0] for _ in range(REPEATS)]
                found[method, dtype, count] = float(np.median(times))
    return found


def measured(contacts, run):
    """A row for each variant and precision."""
    done, checks = {}, {}
    for number in range(run.runs):
        # G is large: the problem has copies of its own.
        G, c = dense.random_problem(contacts, number)
        if number == 0:
            processor = of_processor(cs.Problem.from_delassus(G, c, MU), run.threads)
        for dtype in PRECISIONS:
            T, d = dense.iteration_matrix(G, c, dtype)
            wanted = references(T, d) if number == 0 else {}
            T = by_columns(T)
            for variant in VARIANTS:
                one = iterated(variant, T, d, run.device)
                lost = int((~np.isfinite(one.impulses)).sum())
                done.setdefault((variant, dtype), []).append((one.seconds, lost))
                if wanted:
                    checks[variant, dtype] = checked(one.impulses, wanted[variant.panel])
    return [
        row_of(contacts, run, variant, dtype, of_runs, checks[variant, dtype], processor)
        for dtype in PRECISIONS
        for (variant, other), of_runs in done.items()
        if other is dtype
    ]


def row_of(contacts, run, variant, dtype, of_runs, check, processor):
    """The figures of a variant: of all its runs, and what follows from them."""
    n = 3 * contacts
    each = np.array([seconds["iteration"] / ITERATIONS for seconds, _ in of_runs])
    times = {f"ms_{key}": 1e3 * value for key, value in common.quartiles(each).items()}
    middle, size = float(np.median(each)), dtype().nbytes * n * n
    parts = {part: float(np.median([seconds[part] for seconds, _ in of_runs])) for part in PARTS}
    return {
        "device": devices.named(run.device),
        "contacts": contacts,
        "precision": dtype.__name__,
        "variant": variant.name,
        "kernel": variant.kernel,
        "runs": len(of_runs),
        **times,
        "gflops": 2 * n * n / middle / 1e9,
        "gb_per_s": size / middle / 1e9,
        **check,
        "not_finite": sum(lost for _, lost in of_runs),
        **{f"{part}_ms": 1e3 * seconds for part, seconds in parts.items()},
        **beside(middle, parts, variant, dtype, processor, run.threads),
    }


def beside(middle, parts, variant, dtype, processor, threads):
    """The processor's times, speed-ups; eq. 6.1 without allocation, as S2 counts, and with it."""
    one = processor[variant.on_processor, dtype, 1]
    found = {"processor_ms": 1e3 * one, "speedup": one / middle}
    copies = parts["to_device"] + parts["from_device"]
    whole = copies + parts["allocation"] + parts["release"]
    if middle < one:
        found |= {
            "break_even": copies / (one - middle),
            "break_even_allocating": whole / (one - middle),
        }
    on_all = processor.get((variant.on_processor, dtype, threads))
    if threads > 1 and on_all:
        found |= {
            "threads": threads,
            "threads_ms": 1e3 * on_all,
            "threads_speedup": one / on_all,
            "over_threads": on_all / middle,
        }
    return found


# ---- the pictures --------------------------------------------------------------------------------


class Figure(NamedTuple):
    """One of S2's figures: the name of its file, the column it shows, and what that is."""

    name: str
    key: str
    label: str


FIGURES = (
    Figure("kernels", "ms_median", "ms of an iteration"),
    Figure("kernels_speedups", "speedup", "speed-up over one core"),
    Figure("kernels_break_even", "break_even", "iterations that pay for the copies"),
)
BASE = "JOR 5"  # S2 compares SOR with it


def drawn(path, rows):
    """Draw what the rows of a CSV have values of; return the pictures."""
    return [
        pages.picture(path.with_name(f"{figure.name}.png"), partial(draw, figure=figure), rows)
        for figure in FIGURES
        if known(rows, figure.key)
    ]


def known(rows, key):
    """The rows that have a value of this column."""
    return [row for row in rows if row.get(key) not in (None, "")]


def draw(rows, figure):
    """S2 figures 6.1 to 6.3: (a) JOR, (b) SOR beside the JOR of variant 5; for each precision."""
    variants = [variant.name for variant in VARIANTS]
    shown = {
        "(a) JOR": [name for name in variants if "SOR" not in name],
        f"(b) SOR, and {BASE}": [name for name in variants if "SOR" in name or name == BASE],
    }
    precisions = list(dict.fromkeys(row["precision"] for row in rows))
    titles = [f"{part}, {precision}" for precision in precisions for part in shown]
    picture, axes = pages.panels(titles, width=5.2, columns=2)
    for i, precision in enumerate(precisions):
        here = [row for row in rows if row["precision"] == precision]
        for ax, names in zip(axes[2 * i :], shown.values(), strict=False):
            for name, style in pages.styles(names).items():
                own = [row for row in here if row["variant"] == name]
                line(ax, own, figure.key, style.marker + "-", color=style.color, label=name)
            ax.set(xlabel="contacts", ylabel=figure.label)
        if figure.key == "speedup":  # beside S2's variant 7, which is by a threaded BLAS
            own = [row for row in here if row["variant"] == BASE]
            line(axes[2 * i], own, "threads_speedup", "k--", label="processor, all cores")
        for ax in axes[2 * i : 2 * i + 2]:
            pages.logarithmic(ax, "x")
            pages.logarithmic(ax, "y")
            ax.legend(fontsize=7)
    return picture


def line(ax, rows, key, form, **look):
    own = known(rows, key)
    if own:
        contacts = [int(row["contacts"]) for row in own]
        ax.plot(contacts, [float(row[key]) for row in own], form, ms=4, **look)


# ---- the command ---------------------------------------------------------------------------------


def parser_of(about, quick):
    """A parser with the options of a measurement by S2's kernels."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--quick", action="store_true", help=f"{quick}, to build/benchmarks")
    parser.add_argument("--device", default="cuda", choices=devices.DEVICES)
    parser.add_argument(
        "--contacts",
        type=lambda text: tuple(map(int, text.split(","))),
        default=SIZES,
        metavar="NUMBERS",
        help="of each size, as 100,400; other sizes that were measured before stay",
    )
    parser.add_argument("--runs", type=int, default=RUNS, help="of each size")
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
    parser = parser_of(__doc__.split("\n")[0], f"{QUICK[0]} contacts")
    parser.add_argument("--draw", type=Path, metavar="CSV", help="draw what was measured before")
    given = parser.parse_args(argv)
    path = given.draw
    if path is None:
        sizes, runs = (QUICK, 2) if given.quick else (given.contacts, given.runs)
        results = results_of(parser, given)
        path = measure(Run(results, sizes, given.device, clocks.free_cores(), runs))
    print(*drawn(path, pages.read(path)), sep="\n")


def measure(run):
    """Measure all variants, and return the CSV, which has what is known so far after each size."""
    warm_up(run.device)
    for contacts in run.sizes:
        rows = measured(contacts, run)
        path = dense.stored_with("kernels", rows, ("contacts", "precision", "variant"), run.results)
        print(contacts, flush=True)
    print(path)
    return path


if __name__ == "__main__":
    main()
