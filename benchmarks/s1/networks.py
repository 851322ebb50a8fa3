"""S1 Tables 6.1, 6.2 and Figs 6.2, 7.5, 7.6: sweeps by processes that exchange messages.

Each network makes the same sweeps with each number of workers, in turns, and has to give the bits
of these sweeps without a network, also with four and eight workers. The accumulator is a process
more: with as many workers as there are cores there are more processes than cores.

    python benchmarks/s1/networks.py [--threads 1,2,4,8,16] [--quick]
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import published
from colored import relaxed_order
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter
from output import draw_sweeps, publish, with_stored
from protocol import (
    CHECKED_THREADS,
    RULES,
    SWEEPS,
    arguments,
    common,
    scene,
    sweeps_of,
    to_equal_quality,
)

import contactsolve as cs

MESSAGES = 50_000  # visits where each contact is a message; demos with more contacts have none
PARTS = 8  # S1's workers: what they do does not depend on how many there are here

JACOBI, GAUSS_SEIDEL = "Jacobi, one thread", "Gauss-Seidel, one thread"

_COMMON = {name: value for name, value in RULES.items() if name not in ("order", "islands")}


@dataclass(frozen=True, eq=False)
class Design:
    """A network with what it is told, and where S1 has figures for it."""

    label: str
    network: Any
    options: dict[str, Any] = field(default_factory=dict)
    table: str | None = None

    def solver(self, problem, workers, sweeps, record=()):
        """A solver that makes so many sweeps in one run of the network."""
        fixed = {"rtol": None, "atol": None, "max_iterations": sweeps, "threads": 1}
        seldom = {"check_every": sweeps, "record_every": sweeps, "record": record}
        own = {**_COMMON, **self.options, **fixed, **seldom}
        return cs.csp.Solver(problem, self.network, workers=workers, **own)


def of_jacobi():
    """S1's chapter 6: the designs, and what each of its measures against waiting changes."""
    csp = cs.csp
    whole = {"order": cs.orders.subtasks(count=1, weighted=False), "parts": PARTS}
    yield Design("extreme", csp.extreme(), table="Fig 6.2")
    yield Design("extreme, merged", csp.extreme(dispatcher="merged"), table="Fig 6.2")
    yield Design("extreme, numbers", csp.extreme(messages="numbers"), table="Fig 6.2")
    yield Design("factorized", csp.factorized(), table="Table 6.1")
    yield Design("factorized, channels apart", csp.factorized(channels="apart"))
    yield Design("factorized, one copy of w", csp.factorized(copies=1))
    yield Design("factorized, no pages", csp.factorized(), whole)
    yield Design("factorized, 0.2 ahead", csp.factorized(ahead=0.2))
    yield Design("T", csp.iteration_matrix(), table="Table 6.2")


def of_gauss_seidel(name, problem):
    """S1's chapter 7; its naive network has no figure there, only γ in the text."""
    figure = FIGURES[name]

    def relaxed(**options):
        order = relaxed_order(problem, **options)
        return {"order": cs.orders.subtasks(order, 1, weighted=False), "parts": PARTS}

    rigid = cs.orders.subtasks(cs.orders.colored(fixed_as_body=True), 1, weighted=False)
    yield Design("naive", cs.csp.naive(), {"parts": PARTS})
    yield Design("rigid", cs.csp.rigid(), {"order": rigid, "parts": PARTS}, figure)
    yield Design("relaxed", cs.csp.relaxed(), relaxed(unsafe="ranges"), figure)
    yield Design("relaxed T", cs.csp.relaxed_iteration_matrix(), relaxed(), figure)


FIGURES = {"medium ball grid": "Fig 7.5", "large ball pile": "Fig 7.6"}


# ---- Jacobi ------------------------------------------------------------------------------------


def rows_of_jacobi(name, run):
    problem = scene(name, run)
    sweeps = sweeps_of(problem, run)
    few = 2 if run.quick else max(1, MESSAGES // problem.contacts)
    makes = {}
    for design in of_jacobi():
        by_contact = design.label.startswith("extreme")
        if not by_contact or problem.contacts <= MESSAGES:
            makes[design] = few if by_contact else sweeps
    base = cs.Method("jacobi", scheme="factorized", label=JACOBI)
    yield from measured(name, problem, run, makes, base, sweeps)


def rows_of_gauss_seidel(name, run):
    """To the γ of 50 sequential sweeps, in the sweeps that the orders take without networks."""
    problem = scene(name, run)
    designs = list(of_gauss_seidel(name, problem))
    found = to_equal_quality(problem, [as_method(problem, design) for design in designs])
    sweeps = {row.method: row.iterations for row in found}
    makes = {design: sweeps[design.label] for design in designs}
    base = cs.Method("gauss_seidel", scheme="factorized", label=GAUSS_SEIDEL)
    status = {row.method: row.status for row in found}
    for row in measured(name, problem, run, makes, base, SWEEPS):
        yield {**row, "status": status[row["method"]]}


def as_method(problem, design):
    """What a network sweeps, without it."""
    asked = design.solver(problem, PARTS, SWEEPS).asked
    own = {name: asked[name] for name in ("scheme", "order", "parts")}
    return cs.Method(asked["method"], label=design.label, **own)


def naive_quality(name, run):
    """γ after 50 sweeps of eight workers (S1 section 7.1)."""
    problem = scene(name, run)
    design = Design("naive, 50 sweeps", cs.csp.naive(), {"parts": PARTS})
    base = cs.Method("gauss_seidel", scheme="factorized", label=GAUSS_SEIDEL)
    for row in measured(name, problem, run, {design: SWEEPS}, base, SWEEPS):
        quality = published.of(published.NAIVE_QUALITY, (name, PARTS), None, run.size(name))
        if row["method"] == design.label:
            yield {**row, "s1_table": "section 7.1", "s1_quality": quality}


# ---- timing ------------------------------------------------------------------------------------


def measured(name, problem, run, makes, base, sweeps):
    """A row of each design and number of workers: all runs in turns, the sequential method too."""
    solvers = {
        (design, workers): design.solver(problem, workers, count)
        for design, count in makes.items()
        for workers in run.threads
    }
    fixed = {"rtol": None, "atol": None, "max_iterations": sweeps, "record": (), "threads": 1}
    alone = cs.Solver(
        problem, method=base.method, **{**RULES, **base.options, **fixed},
        check_every=sweeps, record_every=sweeps,
    )  # fmt: skip
    tasks = {key: lambda solver=solver: spent(solver) for key, solver in solvers.items()}
    seconds = common.interleaved({**tasks, None: lambda: spent(alone)}, repeats=run.repeats)
    one = np.asarray(seconds[None]) / sweeps
    for design, count in makes.items():
        bits, status = equal_bits(problem, design, count, run)
        reached = quality(problem, design, count)
        table = published.SPEEDUPS.get(design.table, {})
        s1 = published.speedups(table, name, run.size(name))
        for workers in run.threads:
            own = np.asarray(seconds[design, workers]) / count
            info = solvers[design, workers].info
            yield {
                "scene": name,
                "contacts": problem.contacts,
                "method": design.label,
                "sweeps": count,
                "quality": reached,
                "s1_quality": None,
                "threads": workers,
                "sweep_s": float(np.median(own)),
                "sigma_s": float(np.std(own)),
                "speedup_one": float(np.median(seconds[design, run.threads[0]] / own / count))
                if workers > 1
                else None,
                "speedup_sequential": float(np.median(one / own)),
                "messages": info["messages"] / info["sweeps"],
                "message_bytes": info["message_bytes"] / info["sweeps"],
                "equal_bits": bits,
                "status": status,
                "s1_table": design.table,
                **s1,
            }


def spent(solver):
    return solver.solve().sweep_time


def quality(problem, design, sweeps):
    """γ after the sweeps."""
    result = design.solver(problem, PARTS, sweeps, record=("quality",)).solve()
    return float(result.history["quality"][-1])


def equal_bits(problem, design, sweeps, run):
    """With which numbers of workers the bits are those without a network; and the status."""
    result = cs.Solver(problem, **design.solver(problem, 1, sweeps).asked).solve()
    same = []
    for workers in sorted({*run.threads, *CHECKED_THREADS}):
        own = design.solver(problem, workers, sweeps).solve()
        if np.array_equal(own.impulses, result.impulses):
            same.append(str(workers))
        elif not is_ahead(design):
            return "DIFFER", own.status
    return ("other iterates" if is_ahead(design) else ", ".join(same)), own.status


def is_ahead(design):
    """Whether workers visit contacts ahead, which no sweep without a network does."""
    return dict(design.network.settings).get("ahead", 0) > 0


# ---- picture -----------------------------------------------------------------------------------


def draw(rows):
    figure, axes = draw_sweeps(rows, width=5.4, height=4.4)
    for ax in axes:
        ax.set_xscale("log")
        ax.margins(x=0.35)
        # Within two decades powers of ten are too few numbers, and all others too many.
        low, high = ax.get_xlim()
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 100 * low else (1.0,)))
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
    return figure


def main(run):
    rows = [
        row for name in (*published.GRIDS, *published.PILES) for row in rows_of_jacobi(name, run)
    ]
    rows += [row for name in FIGURES for row in rows_of_gauss_seidel(name, run)]
    rows += [row for name, parts in published.NAIVE_QUALITY for row in naive_quality(name, run)
             if parts == PARTS]  # fmt: skip
    publish(run, "networks", with_stored(run, "networks", rows), draw)


if __name__ == "__main__":
    main(arguments(__doc__))
