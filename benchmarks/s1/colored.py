"""S1 Figs 7.5-7.10 and section 7.4: parallel Gauss-Seidel schemes, to equal γ.

The medium ball grid and the large ball pile, the ground counted as a body as S1 does; ours, which
knows that a ground couples nothing, beside them. On four and eight threads, also where there are
not as many cores, each has to give the same bits.

    python benchmarks/s1/colored.py [--threads 1,2,4,8,16] [--quick]
"""

import numpy as np
import published
from output import bars, panels, publish, shades, styles, teams_of, with_stored
from protocol import arguments, by_threads, equal_bits, scene, timed, to_equal_quality

import contactsolve as cs

SCENES = ("medium ball grid", "large ball pile")
SEQUENTIAL = "Gauss-Seidel"

# S1 merges colours below n p contacts and does not print n. A twelfth of the contacts lies between
# the colours that it merges and those that it keeps, in both demos.
UNSAFE_SHARE = 12


def relaxed_order(problem, **options):
    """Greedy colours, the small ones merged into an unsafe one, as S1 does."""
    below = problem.contacts // UNSAFE_SHARE
    return cs.orders.relaxed(below, fixed_as_body=True, **options)


def methods(problem):
    """The methods of S1's figures by name, with what it calls them for their sweeps."""
    orders = cs.orders
    greedy = orders.colored(fixed_as_body=True)
    balanced = orders.colored("balanced", fixed_as_body=True)

    def relaxed(**options):
        return relaxed_order(problem, **options)

    def of(label, order=None, scheme="factorized", method="gauss_seidel", **options):
        if order is not None:
            options["order"] = order
        return cs.Method(method, label=label, scheme=scheme, **options)

    transfer = "iteration_matrix"
    # Their residual rises in every second sweep, which S1's rollback would take for divergence.
    patient = {"rollback_growth": 3.0, "threads": 1}
    return {
        of(SEQUENTIAL, threads=1): None,
        of("Jacobi", method="jacobi"): "jacobi",
        of("Jacobi, T", method="jacobi", scheme=transfer): "jacobi",
        of("naive ranges", orders.ranges()): None,
        of("greedy", greedy): None,
        of("relaxed greedy", relaxed()): "relaxed greedy",
        of("relaxed greedy, unsafe in ranges", relaxed(unsafe="ranges")): "relaxed greedy",
        of("relaxed greedy, unsafe in groups", relaxed(unsafe="groups")): None,
        of("relaxed greedy, unsafe first", relaxed(first=True)): None,
        of("relaxed greedy, T", relaxed(), transfer): "relaxed greedy T",
        of("balanced", balanced): "balanced",
        of("balanced, T", balanced, transfer): "balanced",
        of("greedy, ground couples nothing", orders.colored()): None,
        of("the same, vectors", orders.colored(), instructions="auto"): None,
        of("balanced, ground couples nothing", orders.colored("balanced")): None,
        of("partition", orders.partition("slices")): None,
        of("half sweep", scheme="half_sweep", **patient): None,
        of("symmetric", method="symmetric_gauss_seidel", **patient): None,
    }


def rows_of(name, run):
    problem = scene(name, run)
    chosen = methods(problem)
    table = to_equal_quality(problem, chosen)
    sweeps = {row.method: row.iterations for row in table}
    timings = timed(problem, chosen, sweeps, run)
    base = timings[SEQUENTIAL, 1]
    for method, s1_name in chosen.items():
        label = method.label
        own = by_threads(timings, label)
        entry, info = table[label], table.results[label].info
        bits = equal_bits(problem, method, sweeps[label], own)
        for number, timing in own.items():
            yield {
                "scene": name,
                "contacts": problem.contacts,
                "method": label,
                "stages": info["stages"],
                "sweeps": entry.iterations,
                "s1_sweeps": published.of(published.SWEEPS, (name, s1_name), None, run.size(name)),
                "quality": entry.quality,
                "threads": number,
                "time_s": float(np.median(timing.seconds)),
                "mean_s": float(np.mean(timing.seconds)),
                "sigma_s": float(np.std(timing.seconds)),
                "speedup_one": timing.speedup(own[1]) if number > 1 else None,
                "speedup_sequential": timing.speedup(base),
                "read_gbs": timing.read_gbs,
                **published.speedups(published.COLORED_SPEEDUPS, (name, label), run.size(name)),
                "setup_s": timing.setup,
                "equal_bits": bits,
                "status": entry.status,
            }


def draw(rows):
    """Time to the target as bars, sweeps beside them, S1's sweeps in brackets."""
    names = list(dict.fromkeys(row["scene"] for row in rows))
    figure, axes = panels(names, width=7.2, height=6.2)
    look = styles(row["method"] for row in rows)
    for ax, name in zip(axes, names, strict=True):
        methods = teams_of(row for row in rows if row["scene"] == name)
        ends = bars(ax, methods, look, "time_s", 1e3)
        for i, (own, end) in enumerate(zip(methods.values(), ends, strict=True)):
            row = own[1]
            s1 = f" (S1: {row['s1_sweeps']})" if row["s1_sweeps"] else ""
            missed = "" if row["status"] in ("reached", "reference") else f", {row['status']}"
            ax.text(end, i, f"  {row['sweeps']} sweeps{s1}{missed}", va="center", fontsize=8)
        ax.margins(x=0.45)
        ax.set_xlabel(f"ms to equal γ; {shades(rows)}")
    return figure


def main(run):
    rows = [row for name in SCENES for row in rows_of(name, run)]
    publish(run, "colored", with_stored(run, "colored", rows), draw)


if __name__ == "__main__":
    main(arguments(__doc__))
