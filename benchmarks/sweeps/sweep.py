"""One sweep: nanoseconds per contact of ours, of Numba, of S1, and what limits it.

Factorized Gauss-Seidel in double, single and mixed precision, with any J and compressed:

- `grid-N`: N^3 balls on a fixed ground, 3-row contacts;
- `spin-N`: the same with 4-row contacts (Coulomb-Contensou friction), the blocks that S1 had;
- `pyramid-N`: N layers of discs in the plane, 2-row contacts;
- `fifty-N`: solves of 50 sweeps over `grid-N` and `spin-N`, against S1's seconds.

Scalar visits in natural order; batches over colours, for each instruction set of the machine (to
24^3); batches in the order "auto" on one thread and on two. Beside them S1's algorithm (w = M^-1
J^T lambda, J and M^-1 J^T stored) as one writes it with Numba, if that is installed. The runs of
one case are short and interleaved and the least of each counts: other work on the machine slows
some of them.

Beside the times stand what a core of this machine reads in the same run: a sum over 256 MB
(STREAM), over a ladder of sizes down to what the caches hold, and which share of it the sweep
makes of the bytes that it must move: of the reading of 256 MB, and of the reading of as many bytes
as the sweep has. Cases that are not measured keep their rows in the CSV, so that a long measurement
can be made piece by piece.

    python benchmarks/sweeps/sweep.py [cases, e.g. grid-8 spin-24 pyramid-150 fifty-40]
    python benchmarks/sweeps/sweep.py --plot [results/FOLDER]   # the picture of docs/performance.md
"""

import sys
import time
from pathlib import Path

import numpy as np

import contactsolve as cs
from contactsolve import _core

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import ROOT, interleaved, quartiles, stored, sweeping, write_csv

CASES = (
    *("grid-8", "grid-24", "grid-40", "grid-64", "spin-8", "spin-24", "spin-40"),
    *("pyramid-150", "pyramid-820", "fifty-40"),
)
DTYPES = ("float64", "float32", "mixed")
FORMS = {"any J": False, "compressed": True}
PICTURE = ROOT / "docs" / "images" / "roofline.png"
# S1 section 3.8: sequential Gauss-Seidel, one core of an AMD64, 4-row blocks, ground as a body.
S1 = {8: 1491.0, 24: 1607.0, 40: 1388.0}
S1_SECONDS = 13.1  # of 50 sweeps over the grid of 40^3
FIFTY = 50
FEW_CONTACTS = 50_000  # up to here every instruction set is measured
CONTACT_RADIUS = 0.1  # m, of 4-row contacts
STREAM_BYTES = 256 << 20
LADDER = tuple(kilobytes << 10 for kilobytes in (256, 1024, 4096, 16384, 65536))


def sweeps_for(contacts):
    return max(4, 200_000 // contacts)


# ---- problems -----------------------------------------------------------------------------------


def with_spin(problem):
    """The same contacts with a fourth row: spin about the normal, bounded by the contact's area."""
    J = np.concatenate([problem.J, np.zeros_like(problem.J[:, :, :1])], axis=2)
    J[:, :, 3, 3:] = problem.J[:, :, 0, :3]
    b = np.concatenate([problem.b, np.zeros((problem.contacts, 1))], axis=1)
    mu = np.broadcast_to(problem.mu, problem.contacts)
    sets = cs.sets.contensou(mu, np.full(problem.contacts, CONTACT_RADIUS))
    return cs.Problem(J, problem.Minv, b, bodies=problem.bodies, sets=sets)


def problem_of(case):
    kind, size = case.split("-")
    if kind == "pyramid":
        return cs.scenarios.disc_pyramid(int(size))
    grid = cs.scenarios.ball_grid(int(size))
    return with_spin(grid) if kind == "spin" else grid


def variants(problem, sweeps, dtype):
    """Name, form, order, threads → solver."""
    solvers = {}

    def add(name, form, order, threads=1, **options):
        options["compressed"] = FORMS.get(form, "auto")
        solvers[name, form, order, threads] = sweeping(
            problem, sweeps, dtype=dtype, order=order, threads=threads, **options
        )

    if problem.contacts <= FEW_CONTACTS:
        add("scalar", "any J", "natural", instructions="scalar")
        for name, runs in cs.info()["instructions"].items():
            for form in FORMS if runs else ():
                add(name, form, "colored", instructions=name)
    for threads in (1, 2):
        for form in FORMS:
            add("auto", form, "auto", threads)
    return solvers


# ---- what a visit costs at least ----------------------------------------------------------------


def bytes_of(problem, form, dtype):
    """What a sweep must move for a contact.

    Factors, R, b, parameters and lambda of the contact, two places of bodies; u of a body with what
    stands beside it. lambda and u are read and written, everything else is read.
    """
    rows, dof = problem.J.shape[2:]
    real, stored = 8 if dtype != "float32" else 4, 8 if dtype == "float64" else 4
    compressed = 6 if dof == 3 else 12
    factors = compressed if form == "compressed" else 2 * rows * dof
    parameters = 2 if rows == 4 else 1
    body = 8 if dof == 6 else 4
    bodies = problem.bodies_count / problem.contacts
    return stored * (factors + rows) + real * (3 * rows + parameters + 2 * body * bodies) + 8


def operations_of(problem, form):
    """Multiplications and additions of a visit without those of the projection.

    Any J: G u and G^T delta, two for each number, and the step. Compressed, as
    in csrc/scheme/wide_forms.inc: roots of masses, cross products with arms, the third axis,
    three or four scalar products and the way back.
    """
    rows, dof = problem.J.shape[2:]
    step = 6 * rows
    if form == "any J":
        return 8 * rows * dof + step
    # In the plane: the roots, differences of velocities, two by two entries, and the same back.
    spatial = 12 + 24 + 9 + 6 + 15 + 3 + (15 + 24 + 12 + 12) + (12 if rows == 4 else 0)
    return (spatial if dof == 6 else 4 + 2 + 6 + 8 + 6 + 8 + 4 + 6) + step


def numba_sweep(problem, sweeps, dtype):
    """S1 Fig. 3.6 as one writes it with Numba, 3 rows; None without Numba or for other shapes."""
    if problem.J.shape[2:] != (3, 6) or dtype == "mixed":
        return None
    try:
        import numba
    except ImportError:
        return None

    @numba.njit(fastmath=False)
    def run(J, columns, bodies, b, r, mu, w, lam, sweeps):
        for _ in range(sweeps):
            for k in range(len(b)):
                i, j = bodies[k, 0], bodies[k, 1]
                z0, z1, z2 = b[k, 0], b[k, 1], b[k, 2]
                for c in range(6):
                    z0 += J[k, 0, 0, c] * w[i, c] + J[k, 1, 0, c] * w[j, c]
                    z1 += J[k, 0, 1, c] * w[i, c] + J[k, 1, 1, c] * w[j, c]
                    z2 += J[k, 0, 2, c] * w[i, c] + J[k, 1, 2, c] * w[j, c]
                z0 = max(lam[k, 0] - r[k, 0] * z0, 0)
                z1, z2 = lam[k, 1] - r[k, 1] * z1, lam[k, 2] - r[k, 2] * z2
                bound, length = mu[k] * z0, np.sqrt(z1 * z1 + z2 * z2)
                if length > bound:
                    z1, z2 = z1 * bound / length, z2 * bound / length
                d0, d1, d2 = z0 - lam[k, 0], z1 - lam[k, 1], z2 - lam[k, 2]
                lam[k, 0], lam[k, 1], lam[k, 2] = z0, z1, z2
                for c in range(6):
                    w[i, c] += (
                        columns[k, 0, 0, c] * d0
                        + columns[k, 0, 1, c] * d1
                        + columns[k, 0, 2, c] * d2
                    )
                    w[j, c] += (
                        columns[k, 1, 0, c] * d0
                        + columns[k, 1, 1, c] * d1
                        + columns[k, 1, 2, c] * d2
                    )

    J = problem.J.astype(dtype)
    masses = np.concatenate([problem.Minv, np.zeros((1, *problem.Minv.shape[1:]))])
    if masses.ndim == 2:
        masses = masses[:, :, None] * np.eye(6)
    bodies = np.where(problem.bodies < 0, problem.bodies_count, problem.bodies)
    columns = np.einsum("kscd,ksmd->ksmc", masses[bodies], problem.J).astype(dtype)
    diagonal = np.einsum("ksmc,ksmc->km", J, columns)
    tangential = diagonal[:, 1:].max(axis=1)
    r = (1.0 / np.stack([diagonal[:, 0], tangential, tangential], axis=1)).astype(dtype)
    b, mu = problem.b.astype(dtype), np.broadcast_to(problem.mu, len(J)).astype(dtype)
    w, lam = np.zeros((problem.bodies_count + 1, 6), dtype), np.zeros_like(b)

    def task():
        w[:], lam[:] = 0, 0
        start = time.perf_counter()
        run(J, columns, bodies, b, r, mu, w, lam, sweeps)
        return time.perf_counter() - start

    return task


# ---- measuring ----------------------------------------------------------------------------------


def readings():
    """Tasks that read memory, by their bytes."""
    return {
        ("read", size): lambda size=size: _core.stream(size) for size in (*LADDER, STREAM_BYTES)
    }


def measure(case):
    problem = problem_of(case)
    sweeps = sweeps_for(problem.contacts)
    solvers, tasks = {}, readings()
    for dtype in DTYPES:
        for name, solver in variants(problem, sweeps, dtype).items():
            solvers[dtype, *name] = solver
            tasks[dtype, *name] = lambda s=solver: s.solve().sweep_time
        numba = numba_sweep(problem, sweeps, dtype)
        if numba:
            tasks[dtype, "numba", "any J", "natural", 1] = numba
    seconds = interleaved(tasks, 15 if problem.contacts < 150_000 else 7)
    return rows_of(case, problem, sweeps, solvers, seconds)


def rows_of(case, problem, sweeps, solvers, seconds):
    memory = {key[1]: key[1] / v.min() / 1e9 for key, v in seconds.items() if key[0] == "read"}
    common = {"case": case, "contacts": problem.contacts, "stream_gbs": memory[STREAM_BYTES]}
    rows = [
        {**common, "sweep": "read", "bytes": size, "gbs": rate} for size, rate in memory.items()
    ]
    rows.append({**common, "sweep": "multiply", "gflops": _core.multiply() / 1e9})
    for key in seconds:
        if key[0] == "read":
            continue
        rows.append({**common, **row_of(case, problem, sweeps, solvers, seconds, key)})
        own = np.interp(np.log(rows[-1]["megabytes"] * 1e6), np.log([*memory]), [*memory.values()])
        rows[-1]["level_gbs"] = float(own)
        rows[-1]["share_of_stream"] = rows[-1]["gbs"] / memory[STREAM_BYTES]
        rows[-1]["share_of_level"] = rows[-1]["gbs"] / float(own)
        tell(rows[-1])
    return rows


def row_of(case, problem, sweeps, solvers, seconds, key):
    dtype, name, form, order, threads = key
    values, solver = seconds[key], solvers.get(key)
    best = values.min() / problem.contacts / sweeps * 1e9
    moved = bytes_of(problem, form, dtype)

    def ratio(*other):
        return float(seconds[other].min() / values.min()) if other in seconds else np.nan

    kind, size = case.split("-")
    return {
        "dtype": dtype,
        "sweep": name,
        "form": form,
        "order": order,
        "threads": threads,
        "kernel": solver.info["kernel"] if solver else "numba",
        "ns_least": best,
        **{f"ns_{k}": v * best / values.min() for k, v in quartiles(values).items()},
        "of_scalar": ratio(dtype, "scalar", "any J", "natural", 1),
        "of_numba": ratio(dtype, "numba", "any J", "natural", 1),
        "of_one_thread": ratio(dtype, name, form, order, 1),
        "of_float64": ratio("float64", name, form, order, threads),
        "of_s1": S1.get(int(size), np.nan) / best if kind != "pyramid" else np.nan,
        "bytes": moved,
        "flops": operations_of(problem, form),
        "megabytes": moved * problem.contacts / 1e6,
        "gbs": moved / best,
        "gflops": operations_of(problem, form) / best,
        "setup_sweeps": solver.info["setup_seconds"] / values.min() * sweeps if solver else np.nan,
    }


def tell(row):
    print(
        f"{row['case']:12} {row['dtype']:8} {row['sweep']:8} {row['form']:10} {row['order']:8} "
        f"{row['threads']} thr. {row['ns_least']:6.1f} ns, {row['of_scalar']:.2f} x scalar, "
        f"{row['of_numba']:.2f} x numba, {row['of_one_thread']:.2f} x one, "
        f"{row['of_float64']:.2f} x f64, {row['of_s1']:.0f} x S1, {row['gbs']:.1f} of "
        f"{row['stream_gbs']:.1f} ({row['level_gbs']:.1f}) GB/s, set-up {row['setup_sweeps']:.0f}",
        flush=True,
    )


def fifty(size):
    """Rows of whole solves of 50 sweeps in the order "auto"."""
    case, tasks, solvers, problems = f"fifty-{size}", {}, {}, {}
    for rows, kind in ((3, "grid"), (4, "spin")):
        problems[rows] = problem_of(f"{kind}-{size}")
        for dtype in DTYPES:
            for form, compressed in FORMS.items():
                for threads in (1, 2):
                    solver = sweeping(
                        problems[rows], FIFTY, dtype=dtype, compressed=compressed, threads=threads
                    )
                    solvers[rows, dtype, form, threads] = solver
                    tasks[rows, dtype, form, threads] = lambda s=solver: s.solve().sweep_time
    seconds = interleaved(tasks, 3)
    for (rows, dtype, form, threads), values in seconds.items():
        row = {
            "case": case,
            "contacts": problems[rows].contacts,
            "dtype": dtype,
            "sweep": f"{FIFTY} sweeps, {rows} rows",
            "form": form,
            "order": "auto",
            "threads": threads,
            "kernel": solvers[rows, dtype, form, threads].info["kernel"],
            "ns_least": values.min() * 1e9 / problems[rows].contacts / FIFTY,
            "of_one_thread": float(seconds[rows, dtype, form, 1].min() / values.min()),
            "of_s1": S1_SECONDS / values.min(),
            "seconds": values.min(),
        }
        print(
            f"{row['sweep']} {dtype:8} {form:10} {threads} thr. {row['seconds']:.3f} s: "
            f"{row['of_s1']:.0f} x S1, {row['of_one_thread']:.2f} x one",
            flush=True,
        )
        yield row


# ---- results ------------------------------------------------------------------------------------


def store(case, rows):
    kept = [row for row in stored("sweep") if row["case"] != case]
    print(write_csv("sweep", sorted(kept + rows, key=lambda row: position(row["case"]))))


def position(case):
    return (CASES.index(case), case) if case in CASES else (len(CASES), case)


def draw(folder=None):
    """Draw the picture of `docs/performance.md` from the results of this machine or a folder."""
    import matplotlib.pyplot as plt

    rows = stored("sweep", folder)
    fig, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
    draw_levels(axes[0], rows)
    draw_roofline(axes[1], rows)
    handles, labels = axes[0].get_legend_handles_labels()  # eight at most
    fig.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    PICTURE.parent.mkdir(exist_ok=True)
    fig.savefig(PICTURE, dpi=150)
    print(PICTURE)


def measured(rows, **wanted):
    """Rows with these values, each of them one thread in the order "auto"."""
    wanted = {"sweep": "auto", "threads": "1", **wanted}
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def kinds_of_marks(rows):
    """(rows, label, style) for each form and precision, of contacts of three rows.

    Other kinds of contacts lie beside these and have their rows in the table; with all of them the
    picture would have eighteen kinds of marks.
    """
    colors = {"float64": "tab:blue", "float32": "tab:orange", "mixed": "tab:green"}
    for dtype, color in colors.items():
        for form in FORMS:
            mine = [
                row
                for row in measured(rows, dtype=dtype, form=form)
                if row["case"].startswith("grid")
            ]
            face = color if form == "compressed" else "white"
            style = {"marker": "o", "color": color, "mfc": face, "linestyle": "none"}
            if mine:
                yield mine, f"{dtype}, {form}", style


def numbers(rows, name):
    return np.array([float(row[name]) for row in rows])


def level_rates(rows):
    """Bytes → what a core reads: the largest over all runs."""
    rates = {}
    for row in rows:
        if row["sweep"] == "read":
            size = int(row["bytes"])
            rates[size] = max(rates.get(size, 0.0), float(row["gbs"]))
    return dict(sorted(rates.items()))


def draw_levels(ax, rows):
    rates = level_rates(rows)
    sizes = np.array([*rates]) / 1e6
    ax.plot(sizes, [*rates.values()], "k-", linewidth=1.2, label="what a core reads")
    for mine, label, style in kinds_of_marks(rows):
        ax.plot(numbers(mine, "megabytes"), numbers(mine, "gbs"), label=label, **style)
    ax.set(xscale="log", yscale="log", xlabel="MB that a sweep moves", ylabel="GB/s")
    ax.set_title("bandwidth of sweeps, one thread")
    ax.set_yticks([5, 10, 20, 50, 100], labels=["5", "10", "20", "50", "100"])
    ax.grid(which="both", linewidth=0.3)


def draw_roofline(ax, rows):
    rates = level_rates(rows)
    peak = max(numbers([row for row in rows if row["sweep"] == "multiply"], "gflops"))
    intensity = np.geomspace(0.2, 10, 50)
    levels = {"2nd-level cache": 1 << 20, "3rd-level cache": 16 << 20, "memory": STREAM_BYTES}
    for (name, size), line in zip(levels.items(), ("-", "--", ":"), strict=True):
        roof = np.minimum(peak, intensity * rates[size])
        ax.plot(intensity, roof, "k", linestyle=line, linewidth=1)
        start = 0.2 if 2 * rates[size] > peak else 25 / rates[size]  # clear of the marks
        label_roof(ax, f"{name}, {rates[size]:.0f} GB/s", start, 1.08 * start * rates[size])
    ax.axhline(2 * peak, color="k", linewidth=0.6)
    for rate, name in ((peak, "double"), (2 * peak, "single")):
        ax.annotate(
            f"{name}, {rate:.0f} Gflop/s",
            (9.5, rate),
            xytext=(0, 3),
            textcoords="offset points",
            fontsize=8,
            ha="right",
        )
    for mine, _, style in kinds_of_marks(rows):
        ax.plot(numbers(mine, "flops") / numbers(mine, "bytes"), numbers(mine, "gflops"), **style)
    ax.set(xscale="log", yscale="log", xlabel="operations per byte", ylabel="Gflop/s")
    ax.set_title("roofline, one thread")
    ax.set_yticks([2, 5, 10, 20, 50, 100, 200], labels=["2", "5", "10", "20", "50", "100", "200"])
    ax.set_xticks([0.2, 0.5, 1, 2, 5, 10], labels=["0.2", "0.5", "1", "2", "5", "10"])
    ax.grid(which="both", linewidth=0.3)


def label_roof(ax, text, x, y):
    """Write along a roof of slope one, from the point (x, y) on."""
    ax.text(
        x,
        y,
        text,
        fontsize=8,
        rotation=np.degrees(np.arctan2(y, x)),
        rotation_mode="anchor",
        transform_rotates_text=True,
    )


def main():
    if "--plot" in sys.argv:
        draw(*map(Path, sys.argv[sys.argv.index("--plot") + 1 :]))
        return
    for case in sys.argv[1:] or CASES:
        kind, size = case.split("-")
        store(case, list(fifty(int(size))) if kind == "fifty" else measure(case))


if __name__ == "__main__":
    main()
