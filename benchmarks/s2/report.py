"""Writes the figures of docs/s2.md from the CSVs of one machine.

python benchmarks/s2/report.py [--machine NAME] [--check]
"""

import itertools
import os
import sys
from decimal import ROUND_UP, Context
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
from common import ROOT, devices, pages

PAGE = ROOT / "docs" / "s2.md"
JOR, HALF, WHOLE, FULL, RELAXED, RELAXED_WHOLE = (
    "JOR, α = 0.35",
    "JOR, α = 0.5",
    "JOR, α = 1",
    "full SOR, α = 1",
    "relaxed SOR of 32, α = 0.35",
    "relaxed SOR of 32, α = 1",
)
BANDS = (0, 1000, 2000, 3000, 3700, 4450)


class Solves:
    """The rows of one method, in the order of the problems."""

    def __init__(self, rows, method):
        own = [row for row in rows if row["method"] == method]
        self.contacts = np.array([int(row["contacts"]) for row in own])
        self.coupled = np.array([float(row["coupled"]) for row in own])
        self.of_a_sphere = np.array([int(row["most_of_a_sphere"]) for row in own])
        self.converged = np.array([row["status"] == "converged" for row in own])
        self.iterations = np.array([int(row["iterations"]) for row in own])
        self.seconds = np.array([float(row["seconds"]) for row in own])

    def total(self, which):
        """The iterations of these problems, the median; or how many converged, if not all."""
        if not self.converged[which].all():
            return f"– ({self.converged[which].sum()} of {which.sum()})"
        return f"{np.median(self.iterations[which]):,.0f}"


NOT_MEASURED = "not measured on a GPU"


def spread(ratios, nothing=NOT_MEASURED):
    """The median of ratios and their range; without one, that there is none."""
    ratios = np.asarray(ratios)
    if not len(ratios):
        return nothing
    return f"{np.median(ratios):.2g} times ({ratios.min():.2g} to {ratios.max():.2g})"


def at_most(value, digits=1):
    """A bound in so many digits, rounded up."""
    above = Context(digits, ROUND_UP).create_decimal(repr(float(value)))
    return f"{float(above):.{digits}g}"


def break_even(rows, measured):
    """The iterations that pay for copies above 200 contacts, or why none are told.

    `measured` is a column that all rows with a device's time have.
    """
    known = [row for row in rows if row.get(measured)]
    if not known:
        return NOT_MEASURED
    large = [row for row in known if int(row["contacts"]) > 200]
    if not large:
        return "no size above 200 contacts was measured"
    counts = [float(row["break_even"]) for row in large if row.get("break_even")]
    if not counts:
        return "no number of iterations pays, because the device is not faster"
    told = f"{np.median(counts):.3g} ({min(counts):.3g} to {max(counts):.3g})"
    lost = len(large) - len(counts)
    slower = f"; in {lost} of {len(large)} sizes the device is not faster: no number pays"
    return told + slower if lost else told


def table(rows):
    """Medians of bands of contacts; ratios are of the problems that both methods solve."""
    methods = {name: Solves(rows, name) for name in (JOR, FULL, RELAXED, RELAXED_WHOLE)}
    head = ["contacts", "problems", "coupled with", *methods, "JOR : SOR", "relaxed, 0.35 : JOR"]
    lines = [head, ["---:"] * len(head)]
    jor, full, relaxed = methods[JOR], methods[FULL], methods[RELAXED]

    def ratio(one, other, which):
        both = which & one.converged & other.converged
        return f"{np.median((one.iterations / other.iterations)[both]):.2f}" if both.any() else "–"

    for low, high in itertools.pairwise(BANDS):
        which = (jor.contacts > low) & (jor.contacts <= high)
        if which.any():
            lines.append(
                [
                    f"{jor.contacts[which].min():,} – {jor.contacts[which].max():,}",
                    str(which.sum()),
                    f"{np.median(jor.coupled[which]):.1f}",
                    *(own.total(which) for own in methods.values()),
                    ratio(jor, full, which),
                    ratio(relaxed, jor, which),
                ]
            )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def claims(rows):
    """S2's observations and ours, each a sentence of the page."""
    jor, half, whole, full, relaxed, relaxed_whole = (
        Solves(rows, name) for name in (JOR, HALF, WHOLE, FULL, RELAXED, RELAXED_WHOLE)
    )
    count = len(jor.contacts)
    both = jor.converged & full.converged
    more = (jor.iterations / full.iterations)[both]
    longer = (jor.seconds / full.seconds)[both]
    per_iteration = (jor.seconds / jor.iterations) / (full.seconds / full.iterations)
    close = (relaxed.iterations / jor.iterations)[relaxed.converged & jor.converged]
    near = (relaxed_whole.iterations / full.iterations)[relaxed_whole.converged & full.converged]
    first_lost = relaxed_whole.contacts[~relaxed_whole.converged].min(initial=10**6)
    text = f"""
        *JOR makes twice the iterations and more.* 2 times those of full SOR or more in
        {np.sum(more >= 2)} of the {both.sum()} problems that both solve; over all {both.sum()}:
        {spread(more)}.

        *JOR's faster iterations do not pay off.* An iteration takes {spread(per_iteration)} the
        time of one of full SOR here, on one core, and a solve {spread(longer)}. On S2's GPU an
        iteration took half the time.

        *JOR diverges with a larger α.* With α = 1 it converges in {whole.converged.sum()} of
        {count} problems, up to {whole.contacts[whole.converged].max(initial=0):,} contacts; with
        0.5 in {half.converged.sum()}, with 0.35 in {jor.converged.sum()}.

        *Full SOR is more stable.* With α = 1 it converges in {full.converged.sum()} of {count}.

        *Relaxed SOR of 32 performs like JOR where few contacts are coupled.* With JOR's α it makes
        {spread(close)} JOR's iterations. With α = 1 it makes {spread(near)} those of full SOR in
        the {relaxed_whole.converged.sum()} problems in which it converges, all those below
        {first_lost:,} contacts; in the {np.sum(~relaxed_whole.converged)} others it does not,
        like JOR with this α.

        *At most 2–5 coupled contacts.* Here the sphere with the most contacts has
        {jor.of_a_sphere.min()} to {jor.of_a_sphere.max()} of them, and a contact shares its
        spheres with {jor.coupled.min():.1f} to {jor.coupled.max():.1f} others on the average.
    """
    return pages.sentences(text, {})


# ---- full matrices ------------------------------------------------------------------------------

Column = pages.Column
DENSE = pages.Layout(
    "Full matrices: the time of an iteration, speed-ups, break-even",
    "dense.py",
    (
        Column("contacts", "contacts", "count"),
        Column("method", "method", "text"),
        Column("precision", "dtype", "text"),
        Column("MB of T", "megabytes", ".3g"),
        Column("one core, CPU time", "one_s", "time"),
        Column("GFLOPS", "gflops", ".3g"),
        Column("GB/s", "gbs", ".3g"),
        Column("NumPy, one core, CPU time", "numpy_s", "time"),
        Column("one core, clock", "one_clock_s", "time"),
        Column("all cores", "threads_s", "time"),
        Column("speed-up of all cores", "threads_speedup", ".2f"),
        Column("NumPy, all cores", "numpy_threads_s", "time"),
        Column("variant 7's speed-up", "numpy_threads_speedup", ".2f"),
        Column("device", "device_s", "time"),
        Column("GB/s of the device", "device_gbs", ".3g"),
        Column("speed-up of the device", "device_speedup", ".3g"),
        Column("to the device", "to_device_s", "time"),
        Column("and back", "from_device_s", "time"),
        Column("break-even", "break_even", ".3g"),
        Column("ULP, most", "ulp_max", ",.0f"),
        Column("ULP, mean", "ulp_mean", ".2g"),
        Column("distance", "apart", ".1e"),
        Column("finite", "finite", "text"),
    ),
)
LEAST = 300  # contacts from which on T is larger than a core's own caches


class Times:
    """Seconds by contacts, of one method and precision, where T is large; CPU time of one core."""

    def __init__(self, rows, method, dtype="float64", key="one_s"):
        own = [row for row in rows if (row["method"], row["dtype"]) == (method, dtype)]
        large = [row for row in own if int(row["contacts"]) >= LEAST] or own
        self.by_contacts = {int(r["contacts"]): float(r[key]) for r in large if r.get(key)}

    def over(self, other):
        """The ratio to another's, "1.9 (1.7 to 2.0)" times."""
        shared = self.by_contacts.keys() & other.by_contacts.keys()
        return spread([self.by_contacts[k] / other.by_contacts[k] for k in sorted(shared)])


def range_of(rows, key, form=".3g", nothing=NOT_MEASURED):
    """The range of a figure for JOR in double precision; without one, that it has none."""
    known = list(Times(rows, "JOR", key=key).by_contacts.values())
    if not known:
        return nothing
    return f"{min(known):{form}} to {max(known):{form}}"


def dense_claims(rows):
    """S2's statements on the speed of an iteration, each with ours."""
    jor, single, full = Times(rows, "JOR"), Times(rows, "JOR", "float32"), Times(rows, "full SOR")
    numpy = Times(rows, "JOR", key="numpy_s")
    told = relaxed_over(rows, "float64")
    in_single = relaxed_over(rows, "float32")
    told += f"; in single precision {in_single}" if in_single else ""
    checked = [row for row in rows if row.get("ulp_max")]
    most, apart = (
        {
            dtype: max((float(r[key]) for r in checked if r["dtype"] == dtype), default=0)
            for dtype in ("float64", "float32")
        }
        for key in ("ulp_max", "apart")
    )
    against = sorted({row["cross_check"] for row in checked})
    finite = all(float(row["finite"]) for row in rows if row.get("finite"))
    whole = "All numbers are finite" if finite else "Some numbers are not finite"
    timed = [Times(rows, method, key="device_s") for method in ("full SOR", "JOR")]
    on_device = timed[0].over(timed[1])
    busy = "not measured, because the machine had other work to do"
    threads = range_of(rows, "threads_speedup", ".2f", busy)
    blas = range_of(rows, "numpy_threads_speedup", ".2f", "not measured")
    over_numpy = range_of(rows, "numpy_threads_over_numpy", ".2f", "not measured")
    in_double = [row for row in rows if (row["method"], row["dtype"]) == ("JOR", "float64")]
    text = f"""
        *Memory bound: double precision takes 2 times as long as single (S2).* On one core
        {jor.over(single)}.

        *An iteration of full SOR takes 2 times as long as one of JOR, on the GPU (S2).* On one core
        it has the same work: {full.over(jor)}. On a device: {on_device}.

        *Relaxed SOR of 128 comes close to JOR, that of 4 takes what full SOR takes, that of 2 more
        (S2).* On one core, over JOR's iteration: {told}.

        *The best JOR is 10 to 16 times as fast as the sequential one with SSE (S2, GTX 580).* Here:
        {range_of(rows, "device_speedup")}.

        *6 threads with GotoBLAS: 1.5 times as fast as the sequential iteration (S2, variant 7).*
        NumPy's product by OpenBLAS with the prox, on all cores, over our iteration on one: {blas};
        over NumPy's on one: {over_numpy}. Our iteration on all cores over one: {threads}. On one
        core NumPy takes {numpy.over(jor)} as long as our iteration.

        *170 of 192 GB/s (S2).* The device's share of its copy bandwidth:
        {range_of(rows, "device_share", ".0%")}.

        *Above 200 contacts fewer than 50 iterations pay for the GPU (S2, eq. 6.1).* Of JOR in
        double precision, here: {break_even(in_double, "device_s")}.

        *Cross-check (S2, section 3.7.1).* Impulses after 10 iterations against those of
        {" and ".join(against)}: at most {most["float64"]:,.0f} ULP in double and
        {most["float32"]:,.0f} in single precision, of numbers near zero. Over the largest impulse,
        no two are farther apart than {at_most(apart["float64"])} and
        {at_most(apart["float32"])}. {whole}.
    """
    return pages.sentences(text, {})


def relaxed_over(rows, dtype):
    """Relaxed SOR's iterations over JOR's in a precision; "" where none was measured."""
    jor = Times(rows, "JOR", dtype)
    own = {count: Times(rows, f"relaxed SOR of {count}", dtype) for count in (2, 4, 16, 128)}
    return ", ".join(f"of {k}: {times.over(jor)}" for k, times in own.items() if times.by_contacts)


# ---- S2's kernels --------------------------------------------------------------------------------


class KernelTimes:
    """Milliseconds of an iteration of one variant by contacts, in one precision."""

    def __init__(self, rows, variant, precision="float64"):
        own = [row for row in rows if (row["variant"], row["precision"]) == (variant, precision)]
        self.rows = sorted(own, key=lambda row: int(row["contacts"]))
        self.ms = {int(row["contacts"]): float(row["ms_median"]) for row in self.rows}

    def over(self, other):
        """The ratios to another's at the same contacts, "2 times (1.9 to 2.1)"."""
        shared = [contacts for contacts in self.ms if contacts in other.ms]
        return spread([self.ms[contacts] / other.ms[contacts] for contacts in shared])

    def largest(self, key):
        return float(self.rows[-1][key])

    def of(self, key):
        """The figures of a column, where it has one."""
        return [float(row[key]) for row in self.rows if row.get(key)]

    def cells(self, sizes, form, key, parts=1.0):
        """A cell of a column for each number of contacts; so many parts are its unit."""
        known = {int(row["contacts"]): row.get(key) for row in self.rows}
        values = [known.get(size) for size in sizes]
        return [pages.cell(form, float(value) / parts if value else None) for value in values]


def by_contacts(rows, line, ends=()):
    """A table: a line for each variant and precision, a column for each number of contacts."""
    sizes = sorted({int(row["contacts"]) for row in rows})
    head = ["variant", "precision", *(f"{size:,} contacts" for size in sizes), *ends]
    lines = [head, ["---", "---"] + ["---:"] * (len(head) - 2)]
    for precision in dict.fromkeys(row["precision"] for row in rows):
        for variant in dict.fromkeys(row["variant"] for row in rows):
            own = KernelTimes(rows, variant, precision)
            if own.rows:
                lines.append([variant, precision, *line(own, sizes)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def kernels_table(rows):
    """The times of S2's figure 6.1; bandwidth and cross-check."""

    def line(own, sizes):
        ulp = max(own.of("ulp"))
        ends = [f"{own.largest('gb_per_s'):,.0f}", f"{ulp:,.0f}"]
        return [*own.cells(sizes, "time", "ms_median", 1e3), *ends]

    return by_contacts(rows, line, ("GB/s", "ULP, most"))


def beside_the_processor(path, rows):
    """The tables and pictures of S2's figures 6.2 and 6.3, or that they were not measured."""
    parts = []
    for key, form, name, title, missing in (
        ("speedup", ".3g", "kernels_speedups", "Speed-ups over one core (Fig. 6.2)", ""),
        (
            *("break_even", ".3g", "kernels_break_even"),
            "Iterations that pay for copies (Fig. 6.3)",
            "; where there is no figure, the device is not faster, and no number pays",
        ),
    ):
        if not any(row.get(key) for row in rows):
            told = "no number pays" if any(row.get("speedup") for row in rows) else NOT_MEASURED
            parts.append(f"{title}: {told}.")
            continue
        table = by_contacts(rows, partial(KernelTimes.cells, form=form, key=key))
        parts += [f"{title}{missing}:", table, image(title, path.with_name(f"{name}.png"))]
    return parts


def image(title, path):
    """The picture at a path, for the page."""
    return f"![{title}]({Path(os.path.relpath(path, PAGE.parent)).as_posix()})"


def kernels_claims(rows):
    """S2's statements on figure 6.1, each with ours."""
    best = KernelTimes(rows, "JOR 5")
    others = ("JOR 1", "JOR 2", "JOR 3", "JOR 4", "JOR 5, not aligned")
    told = {name: KernelTimes(rows, name).over(best) for name in others}
    full = [KernelTimes(rows, f"full SOR {i}").over(best) for i in (1, 2)]
    relaxed = [KernelTimes(rows, f"relaxed SOR {i}") for i in (1, 2, 4)]
    finite = not any(int(row["not_finite"]) for row in rows)
    sizes = [int(row["contacts"]) for row in best.rows]
    names = ("JOR 5", "full SOR 1", "full SOR 2", "relaxed SOR 4")
    speedups = {name: KernelTimes(rows, name).of("speedup") for name in names}
    faster = ", ".join(f"{k}: {spread(own)}" for k, own in speedups.items() if own) or NOT_MEASURED
    threads = spread(best.of("threads_speedup"), "not measured")
    apart = max((float(row["apart"]) for row in rows if row.get("apart")), default=None)
    measured = "" if apart is None else floats_between(rows, apart)
    text = f"""
        *Variants 1, 2, 4 and 5 of JOR take the same time (S2, double precision).* Over variant 5,
        here: variant 1 {told["JOR 1"]}, 2 {told["JOR 2"]}, 4 {told["JOR 4"]}. In S2's own kernels a
        block has 126 to 192 rows: {3 * sizes[-1]:,} rows are {3 * sizes[-1] // 192} to
        {-(-3 * sizes[-1] // 126)} blocks, fewer than an H100 has multiprocessors (132).

        *Variant 3 jumps, because its blocks begin at multiples of 126 rows (S2).* Over variant 5,
        here: {told["JOR 3"]}.

        *Columns that are not aligned take longer (S2).* Over aligned ones, here:
        {told["JOR 5, not aligned"]}.

        *Memory bound: double precision takes 2 times as long as single (S2, variant 5).* Here:
        {best.over(KernelTimes(rows, "JOR 5", "float32"))}.

        *Full SOR takes 2 times as long as variant 5 of JOR, both variants of it alike (S2).* Here:
        {full[0]} and {full[1]}.

        *Relaxed SOR of 128 comes close to JOR, that of 4 takes what full SOR takes, that of 2 more
        (S2).* Over full SOR 1, here: of 2 {relaxed[0].over(KernelTimes(rows, "full SOR 1"))}, of 4
        {relaxed[1].over(KernelTimes(rows, "full SOR 1"))}; of 128 over JOR 5:
        {relaxed[2].over(best)}.

        *170 of 192 GB/s (S2, variant 5).* Here {best.largest("gb_per_s"):,.0f} GB/s with
        {sizes[-1]:,} contacts.

        *Variant 5 of JOR is 10 to 16 times as fast as the sequential one with SSE (S2).* Over one
        core, here: {faster}.

        *6 threads with GotoBLAS: 1.5 times (S2, variant 7).* Our JOR on all cores over one, here:
        {threads}. By a threaded BLAS: [above](#full-matrices-the-time-of-an-iteration).

        *Above 200 contacts fewer than 50 iterations pay for the GPU (S2, eq. 6.1).* Of JOR 5 in
        double precision, here: {break_even(best.rows, "speedup")}.

        *Cross-check (S2, section 3.7.1).* Against the same iteration one after another in double
        precision: at most {max(float(row["ulp"]) for row in rows):,.0f} ULP of a contact's largest
        impulse after 10 iterations.{measured} {"All" if finite else "Not all"} numbers are
        finite.
    """
    return pages.sentences(text, {})


def floats_between(rows, apart):
    """The sentence on S2's own measures of two results: floats between numbers, and distances."""
    most = max(float(row["ulp_max"]) for row in rows if row.get("ulp_max"))
    mean = max(float(row["ulp_mean"]) for row in rows if row.get("ulp_mean"))
    return (
        f" Between two numbers, some near zero, lie at most {most:,.0f} floats, on the average of "
        f"a row of kernels.csv {at_most(mean, 2)} at most; over the largest impulse no two are "
        f"farther apart than {at_most(apart)}."
    )


# ---- parts of full SOR ---------------------------------------------------------------------------

PARTS = pages.Layout(
    "The parts of an iteration of full SOR by S2's kernels",
    "parts.py",
    (
        Column("device", "device", "text"),
        Column("contacts", "contacts", "count"),
        Column("precision", "precision", "text"),
        Column("µs of an iteration", "iteration_us", "figure"),
        Column("step B", "step_b_us", "figure"),
        Column("propagation", "propagation_us", "figure"),
        Column("normal projection", "normal_us", "figure"),
        Column("tangential projection", "friction_us", "figure"),
        Column("diagonal writes", "writes_us", "figure"),
        Column("rest of step A", "rest_us", "figure"),
        Column("barriers", "barriers_us", "figure"),
        Column("spread", "spread_us", ".2g"),
        Column("sliding", "sliding", ".3g"),
    ),
)


def share_of(rows, key):
    """The range of a part's share of an iteration, in both precisions."""
    told = []
    for precision in ("float32", "float64"):
        own = [row for row in rows if row["precision"] == precision]
        shares = [100 * float(row[key]) / float(row["iteration_us"]) for row in own]
        if shares:
            told.append(f"{min(shares):.0f} to {max(shares):.0f} % in {precision}")
    return ", ".join(told) or NOT_MEASURED


def growth(rows):
    """The power of the contacts with which the steps grow between the two largest sizes."""
    told = []
    for precision in ("float32", "float64"):
        own = sorted(
            (row for row in rows if row["precision"] == precision),
            key=lambda row: int(row["contacts"]),
        )
        if len(own) < 2:
            continue
        contacts = [int(row["contacts"]) for row in own[-2:]]
        step_b = np.array([float(row["step_b_us"]) for row in own[-2:]])
        step_a = np.array([float(row["iteration_us"]) for row in own[-2:]]) - step_b
        if not (step_a > 0).all() or not (step_b > 0).all():
            continue  # noise
        b, a = (np.log(step[1] / step[0]) for step in (step_b, step_a))
        whole = np.log(contacts[1] / contacts[0])
        told.append(
            f"from {contacts[0]:,} to {contacts[1]:,} contacts in {precision} step B grows with "
            f"their power {b / whole:.2g}, step A with {a / whole:.2g}"
        )
    return "; ".join(told) or NOT_MEASURED


def parts_claims(rows):
    """S2's statements on figure 6.4, each with ours."""
    text = f"""
        *Step B is quadratic in the number of contacts, step A and its parts are linear (S2).* Here:
        {growth(rows)}.

        *Over 25 % of an iteration is the propagation in step A (S2).* Here:
        {share_of(rows, "propagation_us")}.

        *The normal projection has almost no influence on step A (S2).* Of an iteration, here:
        {share_of(rows, "normal_us")}.

        *The tangential projection takes 10 to 20 % (S2).* Here: {share_of(rows, "friction_us")}.

        *Up to 4,000 contacts about 20 % is synchronization between threads (S2).* Here:
        {share_of([row for row in rows if int(row["contacts"]) <= 4000], "barriers_us")}.
    """
    return pages.sentences(text, {})


# ---- spheres on a device -------------------------------------------------------------------------

TESTED = (JOR, FULL, RELAXED)
CORE, DEVICE, OF_S2 = "one core", "device", "device, S2's kernels"
MOST_LINES = 8  # problems in the table
ON_DEVICE = (
    "JOR's faster iterations do not pay off: full SOR is always faster",
    "Relaxed SOR of 32 performs like JOR",
    "A sparse implementation is future work",
)

STEPS = pages.Layout(
    "The time of a step of a motion of spheres",
    "spheres.py --device cuda",
    (
        Column("device", "device", "text"),
        Column("spheres", "spheres", "count"),
        Column("solves on", "where", "text"),
        Column("threads", "threads", "count"),
        Column("sweeps", "sweeps", "count"),
        Column("contacts", "contacts", ".0f"),
        Column("ms of a step", "step_ms", "figure"),
        Column("finding contacts", "collide_ms", "figure"),
        Column("set-up", "setup_ms", "figure"),
        Column("solve", "solve_ms", "figure"),
        Column("share of the solve", "solve_share", ".0%"),
        Column("positions apart [m]", "apart", ".1e"),
    ),
)


class DeviceSolves:
    """The rows of S2's figure 6.6 by problem, way and method; of solves that converged."""

    def __init__(self, rows):
        self.contacts = {row["step"]: int(row["contacts"]) for row in rows}
        done = [row for row in rows if row["status"] == "converged"]
        self.rows = {(row["step"], row["where"], row["method"]): row for row in done}

    def over(self, one, other, key="seconds"):
        """Ratios of two (way, method) in all problems that both solve."""
        both = [(self.rows.get((k, *one)), self.rows.get((k, *other))) for k in self.contacts]
        ratios = [float(a[key]) / float(b[key]) for a, b in both if a and b]
        return spread(ratios, "no problem that both solve")

    def cell(self, step, where, method):
        row = self.rows.get((step, where, method))
        if row is None:
            return pages.NOTHING
        return f"{int(row['iterations']):,}, {pages.cell('time', row['seconds'])}"


def device_table(rows):
    """Iterations and times of some problems: a line for each problem and way."""
    solves = DeviceSolves(rows)
    head = ["contacts", "where", *TESTED]
    lines = [head, ["---:", "---"] + ["---:"] * len(TESTED)]
    for step in common.evenly(list(solves.contacts), MOST_LINES):
        for where in (CORE, DEVICE, OF_S2):
            figures = [solves.cell(step, where, method) for method in TESTED]
            lines.append([f"{solves.contacts[step]:,}", where, *figures])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def device_claims(rows):
    """S2's observations on figure 6.6, each with what a device does here."""
    if not rows:
        return [f"*{claim} (S2).* Here: {NOT_MEASURED}." for claim in ON_DEVICE]
    solves = DeviceSolves(rows)
    ours = {method: (DEVICE, method) for method in TESTED}
    theirs = {method: (OF_S2, method) for method in TESTED}
    text = f"""
        *{ON_DEVICE[0]} (S2).* The time of a solve by JOR over that by full SOR, here, by S2's
        kernels: {solves.over(theirs[JOR], theirs[FULL])}; by our solvers on the device:
        {solves.over(ours[JOR], ours[FULL])}.

        *{ON_DEVICE[1]} (S2).* Over JOR, here, by S2's kernels:
        {solves.over(theirs[RELAXED], theirs[JOR])}; by our solvers:
        {solves.over(ours[RELAXED], ours[JOR])}.

        *{ON_DEVICE[2]} (S2).* Our solvers over S2's kernels, on the device:
        JOR {solves.over(ours[JOR], theirs[JOR])}, full SOR
        {solves.over(ours[FULL], theirs[FULL])}; without the criterion
        {solves.over(ours[JOR], theirs[JOR], "sweeps_s")} and
        {solves.over(ours[FULL], theirs[FULL], "sweeps_s")}. Over one core: JOR
        {solves.over(ours[JOR], (CORE, JOR))}, full SOR {solves.over(ours[FULL], (CORE, FULL))}.
    """
    return pages.sentences(text, {})


def device_section(folder):
    """The solves of figure 6.6 on a device, and the steps of a motion."""
    path = pages.csv_of("spheres_device", folder)
    if path is None:
        told = "Not measured yet: `python benchmarks/s2/spheres.py --device cuda`."
        return "\n\n".join([told, pages.as_list(device_claims([])), f"Steps: {NOT_MEASURED}."])
    rows, steps = (pages.read(path.with_stem(name)) for name in ("spheres_device", "spheres_steps"))
    title = "Iterations and times of solves on a device"
    others = told_device(rows)
    whole = shown(path, rows, device_table(rows), title, device_claims(rows), others)
    return "\n\n".join([whole, pages.as_markdown(STEPS, steps)])


# ---- the page ------------------------------------------------------------------------------------


def remarks(name, rows):
    if name == "parts":
        return parts_claims(rows)
    return dense_claims(rows) if rows else []


BOOK = pages.Book("s2", {"dense": DENSE, "parts": PARTS}, remarks, PAGE)


def whole(layout, rows):
    """Rows with all columns: those of a device and of threads are missing without them."""
    absent = dict.fromkeys(column.key for column in layout.columns)
    return [{**absent, **row} for row in rows]


def with_figures(layout, rows):
    """A layout without the columns that are empty in all rows, and the heads of those."""
    known = {c for c in layout.columns if any(row[c.key] not in (None, "") for row in rows)}
    kept = tuple(column for column in layout.columns if column in known)
    return layout._replace(columns=kept), [c.head for c in layout.columns if c not in known]


YES_NO = {"1": "yes", "0": "no"}


def told_missing(heads):
    """The sentence on columns that are left out; none without any."""
    quoted = ", ".join(f'"{head}"' for head in heads)
    return [f"Columns that have no figure are left out: {quoted}."] if heads else []


def section(name, folder):
    """The section of a table, of this machine or of another one, which it names."""
    layout, path = BOOK.layouts[name], pages.csv_of(name, folder)
    if path is None:
        return pages.section(BOOK, name, folder)
    rows = whole(layout, pages.read(path))
    told, missing = with_figures(layout, rows)
    finite = [{**row, "finite": YES_NO.get(row.get("finite"))} for row in rows]
    table = "\n\n".join([pages.as_markdown(told, finite), *told_missing(missing)])
    older = BEFORE_DENSE if name == "dense" and not rows[0].get("numpy_clock_s") else ""
    others = told_device(rows) if name == "dense" and any(row["device"] for row in rows) else []
    return shown(path, rows, table, layout.title, remarks(name, rows), others, older)


def told_device(rows):
    """The sentence with the device's name; none where rows do not have it."""
    return [] if any(row["device"] == "cuda" for row in rows) else [devices.told(rows)]


def kernels_section(folder):
    """The same of S2's kernels, whose table has a column for each number of contacts."""
    path = pages.csv_of("kernels", folder)
    if path is None:
        return "Not measured yet: `python benchmarks/s2/kernels.py`."
    rows = pages.read(path)
    title = "The time of an iteration by S2's kernels"
    others = [*told_device(rows), *beside_the_processor(path, rows)]
    older = "" if all(row.get("runs") for row in rows) else BEFORE_KERNELS
    return shown(path, rows, kernels_table(rows), title, kernels_claims(rows), others, older)


# What differs in CSVs that were measured by an earlier state of the scripts.
BEFORE_DENSE = (
    "These figures are from an earlier state of the script: CPU times contain what the call of a "
    "solve takes besides its sweeps, and S2's variant 7 was not measured."
)
BEFORE_KERNELS = (
    "These figures are from an earlier state of the script, in which all runs of a size had the "
    "same G, and the processor was not measured."
)


def shown(path, rows, table, title, sentences, others=(), older=""):
    """Where a CSV was measured, by what, its table and picture, further ones, and sentences."""
    return "\n\n".join(
        [
            " ".join(filter(None, [pages.measured_with(path.parent.parent.name, rows), older])),
            table,
            image(title, path.with_suffix(".png")),
            *others,
            pages.as_list(sentences),
        ]
    )


def filled(text, folder):
    """The page's text with its blocks renewed."""
    path = folder / "spheres.csv"
    rows = pages.read(path)
    picture = image("Spheres, contacts, iterations and times", path.with_suffix(".png"))
    return pages.replaced(
        PAGE,
        text,
        {
            "measured": lambda: pages.measured_with(folder.parent.name, rows),
            "spheres": lambda: "\n\n".join([table(rows), picture, pages.as_list(claims(rows))]),
            "spheres_device": lambda: device_section(folder),
            "dense": lambda: section("dense", folder),
            "kernels": lambda: kernels_section(folder),
            "parts": lambda: section("parts", folder),
        },
    )


if __name__ == "__main__":
    pages.write_filled(
        PAGE,
        lambda text, machine: filled(text, common.RESULTS / machine / "s2"),
        __doc__.split("\n")[0],
    )
