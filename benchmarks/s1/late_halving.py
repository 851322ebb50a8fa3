"""S1 section 7.2.4: the 65 sweeps of the relaxed T scheme, where other relaxed ones take 57.

Two explanations are tried on the medium ball grid. S1's own is that the unsafe colour is iterated
by Jacobi's method: it is run so that its contacts see nothing of the sweep that they are in. The
other is a late rollback (section 3.5), which halves R from some sweep on. Only sweeps are counted.

    python benchmarks/s1/late_halving.py [--quick]
"""

import numpy as np
import published
from colored import relaxed_order
from output import panels, publish, styles
from protocol import MAX_SWEEPS, R_FACTOR, RULES, SWEEPS, arguments, scene

import contactsolve as cs

SCENES = ("medium ball grid", "large ball pile")
EVERY = 5  # sweeps between the halvings that the table shows
NEAR = 1  # sweeps from S1's, within which it shows all
HALVINGS = {"once": 1, "twice": 2, "five times": 5}  # S1's rule makes up to five
S1_KEY = "relaxed greedy T"
WATCHED = {"record": ("residual", "quality"), "check_every": 1, "rtol": None, "atol": None}


def solver_of(problem, order, sweeps, method="gauss_seidel", scheme="iteration_matrix", **options):
    """A solver for so many sweeps, γ recorded at each."""
    own = {**RULES, "order": order, **WATCHED, "threads": 1, **options}
    return cs.Solver(problem, method=method, scheme=scheme, max_iterations=sweeps, **own)


def first_within(qualities, target):
    """The first sweep whose γ is no larger than the target, and that γ; None where none is."""
    within = np.flatnonzero(np.asarray(qualities) <= target)
    return (int(within[0]), float(qualities[within[0]])) if len(within) else (None, None)


def target_of(problem):
    """γ of 50 sweeps of sequential Gauss-Seidel."""
    return solver_of(problem, "natural", SWEEPS).solve().history["quality"][-1]


def halved(problem, order, target, largest, halvings):
    """Sweeps to the target with R halved so often from each sweep on; by that sweep, with γ."""
    # All iterates with the full R, by their sweeps.
    iterates = {}

    def keep(state):
        iterates[state.iteration] = state.impulses.copy()

    solver_of(problem, order, largest, rollback=0).solve(callback=keep)

    # From each of them on with the smaller one; the first of a history is where it begins.
    less = solver_of(problem, order, MAX_SWEEPS, rollback=0, r_factor=R_FACTOR / 2**halvings)
    for begin in range(2, largest + 1):
        quality = less.solve(initial=iterates[begin - 1]).history["quality"]
        sweeps, reached = first_within(quality, target)
        yield begin, sweeps and begin - 1 + sweeps, reached


def blind(problem, order, target):
    """Sweeps to the target where the last colour sees the values from before the sweep alone."""
    unsafe = cs.orders.describe(problem, order).stage
    unsafe = unsafe == unsafe.max()
    sweep, jacobi = (
        solver_of(problem, own, 1, method, rollback=0)
        for own, method in ((order, "gauss_seidel"), ("natural", "jacobi"))
    )
    judge = solver_of(problem, "natural", 0)
    impulses = np.zeros(problem.b.shape)
    for count in range(1, MAX_SWEEPS + 1):
        new = sweep.solve(initial=impulses).impulses.copy()
        new[unsafe] = jacobi.solve(initial=impulses).impulses[unsafe]
        impulses = new
        quality = judge.solve(initial=impulses).history["quality"][-1]
        if quality <= target:
            return count, float(quality)
    return None, float(quality)


def row(what, sweeps, quality, begin=None, rollbacks=None):
    return {
        "what": what, "begin": begin, "sweeps": sweeps, "quality": quality, "rollbacks": rollbacks,
    }  # fmt: skip


def plain_rows(problem, order, target):
    """R as it is, by S1's rule for rollbacks and a more patient one; and a blind unsafe colour."""
    for growth in (RULES["rollback_growth"], 3.0):
        result = solver_of(problem, order, MAX_SWEEPS, rollback_growth=growth).solve()
        found = first_within(result.history["quality"], target)
        yield row(f"rollback_growth {growth:g}", *found, rollbacks=result.info["rollbacks"])
    yield row("unsafe colour sees the sweep before", *blind(problem, order, target))


def halving_rows(problem, order, target, largest, s1):
    """R halved from every fifth sweep on, and from those that come near S1's sweeps."""
    for times, halvings in HALVINGS.items():
        for begin, sweeps, quality in halved(problem, order, target, largest, halvings):
            near = s1 and sweeps and abs(sweeps - int(s1)) <= NEAR
            if begin % EVERY == 0 or near:
                yield row(f"R halved {times}", sweeps, quality, begin)


def rows_of(name, run):
    """All rows of one demo; halvings on the first alone."""
    problem = scene(name, run)
    order, target = relaxed_order(problem), target_of(problem)
    s1 = published.of(published.SWEEPS, (name, S1_KEY), None, run.size(name))
    rows = list(plain_rows(problem, order, target))
    if name == SCENES[0]:
        rows += halving_rows(problem, order, target, rows[0]["sweeps"], s1)
    return [{"scene": name, **own, "s1_sweeps": s1, "target": float(target)} for own in rows]


def draw(rows):
    """Sweeps against the one from which R is halved."""
    figure, (ax,) = panels([""], width=7.0, height=4.8)
    halvings = [row for row in rows if row["begin"]]
    for what, style in styles(row["what"] for row in halvings).items():
        own = [row for row in halvings if row["what"] == what]
        ax.plot(
            [row["begin"] for row in own], [row["sweeps"] or np.nan for row in own],
            style.marker + "-", color=style.color, label=what,
        )  # fmt: skip

    # What needs no halving, as lines across: S1's rule, a blind unsafe colour, and S1's own figure.
    first, _, unsafe = (row for row in rows if row["scene"] == SCENES[0] and not row["begin"])
    lines = ((first, "sweeps", "R as it is", "-"), (unsafe, "sweeps", unsafe["what"], ":"))
    for row, key, label, look in (*lines, (first, "s1_sweeps", "S1", "--")):
        if row[key]:
            ax.axhline(int(row[key]), color="k", linestyle=look, linewidth=1.0, label=label)
    ax.set(xlabel="sweep from which R is halved", ylabel="sweeps to equal γ")
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    return figure


def main(run):
    rows = [row for name in SCENES for row in rows_of(name, run)]
    publish(run, "late_halving", rows, draw)


if __name__ == "__main__":
    main(arguments(__doc__))
