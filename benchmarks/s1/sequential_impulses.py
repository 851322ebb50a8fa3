"""Sequential impulses, as game engines solve contacts, to equal γ with Gauss-Seidel on blocks.

The method outside of S1's: each row is solved exactly and on its own, its accumulated impulse
clamped, the normal one at 0 and both tangential ones at ±μλ_n. Box2D goes contact by contact,
Bullet over all normals before all friction. Both are written out below, from the idea alone, and
so are S1's block steps (Fig. 3.6), so that times compare within one language. Then a second time
step, also from the impulses of the first, which is how engines start.

    python benchmarks/s1/sequential_impulses.py [--quick]
"""

import time

import numpy as np
from bricks import brick_pyramid
from output import panels, publish, styles
from protocol import MAX_SWEEPS, SWEEPS, arguments, timed

import contactsolve as cs

OURS = "blocks, R local"
MU = 0.5
FRICTION = cs.sets.box_friction(MU)
LOCAL = {"order": "natural", "r_factor": "local", "rollback": 0}  # engines never roll back


def row_velocity(J, b, bodies, v, k, i):
    """ξ of one row: b and the velocities of both bodies."""
    xi = b[k, i]
    for side in range(2):
        body = bodies[k, side]
        for c in range(6):
            xi += J[k, side, i, c] * v[body, c]
    return xi


def add_impulse(J, Minv, bodies, v, k, i, change):
    """What an impulse on one row changes of both bodies' velocities."""
    for side in range(2):
        body = bodies[k, side]
        for c in range(6):
            v[body, c] += Minv[body, c] * J[k, side, i, c] * change


def solve_row(J, Minv, b, bodies, mass, mu, lam, v, k, i):
    """One row solved on its own: its velocity to zero, its accumulated impulse clamped."""
    old = lam[k, i]
    new = old - mass[k, i] * row_velocity(J, b, bodies, v, k, i)
    if i == 0:
        new = max(new, 0.0)
    else:
        bound = mu * lam[k, 0]
        new = min(max(new, -bound), bound)
    lam[k, i] = new
    add_impulse(J, Minv, bodies, v, k, i, new - old)


def contact_by_contact(J, Minv, b, bodies, mass, mu, lam, v):
    """Box2D's order."""
    for k in range(len(lam)):
        for i in range(3):
            solve_row(J, Minv, b, bodies, mass, mu, lam, v, k, i)


def normals_first(J, Minv, b, bodies, mass, mu, lam, v):
    """Bullet's order."""
    for k in range(len(lam)):
        solve_row(J, Minv, b, bodies, mass, mu, lam, v, k, 0)
    for k in range(len(lam)):
        for i in range(1, 3):
            solve_row(J, Minv, b, bodies, mass, mu, lam, v, k, i)


def blocks(J, Minv, b, bodies, mass, mu, lam, v):
    """S1 Fig. 3.6: all rows of a contact from the same velocities, then its prox; `mass` is R."""
    for k in range(len(lam)):
        z0 = lam[k, 0] - mass[k, 0] * row_velocity(J, b, bodies, v, k, 0)
        z1 = lam[k, 1] - mass[k, 1] * row_velocity(J, b, bodies, v, k, 1)
        z2 = lam[k, 2] - mass[k, 2] * row_velocity(J, b, bodies, v, k, 2)
        bound = mu * max(z0, 0.0)
        new = (max(z0, 0.0), min(max(z1, -bound), bound), min(max(z2, -bound), bound))
        for i in range(3):
            add_impulse(J, Minv, bodies, v, k, i, new[i] - lam[k, i])
            lam[k, i] = new[i]


# Each sweep and the factor of its rows: one over A_ii (S1 eq. 3.25), or our local r-factors.
SWEEPS_OF = {
    "sequential impulses, by contact": (contact_by_contact, "each row"),
    "sequential impulses, normals first": (normals_first, "each row"),
    "blocks, R = 1/A_ii": (blocks, "each row"),
    OURS: (blocks, "local"),
}


def compiled(quick):
    """The sweeps and their language: compiled by Numba if it is there and worth waiting for."""
    try:
        if quick:
            raise ImportError
        import numba
    except ImportError:
        return SWEEPS_OF, "Python"
    for helper in (row_velocity, add_impulse, solve_row):
        globals()[helper.__name__] = numba.njit(helper)
    return {name: (numba.njit(sweep), r) for name, (sweep, r) in SWEEPS_OF.items()}, "Numba"


class Scene:
    """A problem as plain arrays: the fixed world a body of its own without inverse mass."""

    def __init__(self, problem):
        self.problem = problem
        Minv = np.vstack([problem.Minv, np.zeros((1, 6))])
        bodies = np.where(problem.bodies < 0, len(Minv) - 1, problem.bodies)
        J = np.ascontiguousarray(problem.J)
        own = np.einsum("ksic,ksc,ksjc->kij", J, Minv[bodies], J)
        each = 1.0 / np.einsum("kii->ki", own)
        largest = np.abs(np.linalg.eigvals(each[:, :, None] * own)).max(axis=1)
        self.factor = {"each row": each, "local": each / np.maximum(1.0, largest)[:, None]}
        self.bodies_count = len(Minv)
        self.constant = (J, Minv, np.ascontiguousarray(problem.b), bodies)
        self.judge = cs.Solver(
            problem, method="gauss_seidel", scheme="factorized", record=("quality",),
            max_iterations=0, rtol=None, atol=None,
        )  # fmt: skip

    def quality(self, impulses):
        return float(self.judge.solve(initial=impulses).history["quality"][0])

    def start(self, initial):
        """Impulses and the velocities that belong to them."""
        J, Minv, _, bodies = self.constant
        lam = np.zeros(self.problem.b.shape) if initial is None else initial.copy()
        v = np.zeros((self.bodies_count, 6))
        for side in (0, 1):
            np.add.at(v, bodies[:, side], np.einsum("kic,ki->kc", J[:, side], lam))
        return lam, v * Minv

    def run(self, sweep, factor, target, initial=None):
        """Sweeps until γ is reached, γ there, seconds of a sweep."""
        lam, v = self.start(initial)
        spent, count, found = [], 0, self.quality(lam)
        while found > target and count < MAX_SWEEPS:
            begin = time.perf_counter()
            sweep(*self.constant, self.factor[factor], MU, lam, v)
            spent.append(time.perf_counter() - begin)
            count += 1
            found = self.quality(lam)
        # The first sweep compiles.
        return count, found, float(np.median(spent[1:])) if spent[1:] else None


def with_box_friction(problem, b=None):
    """The same contacts with the engines' friction, and another b."""
    b = problem.b if b is None else b
    return cs.Problem(
        problem.J, problem.Minv, b, bodies=problem.bodies, sets=FRICTION, name=problem.name
    )


def second_step(problem, gravity):
    """The next time step of a scene, and the impulses of this one; `gravity` is J g dt."""
    first = cs.solve(
        problem, method="gauss_seidel", scheme="factorized", **LOCAL, max_iterations=SWEEPS,
        rtol=None, atol=None,
    )  # fmt: skip
    # u = u_before + M^-1 (h + J^T lambda), whose J u is xi.
    return with_box_friction(problem, first.residual_velocities + gravity), first.impulses


def scenes(run):
    """Problems, and what gravity adds to their b in a step."""
    boxes = cs.scenarios.box_stack(3 if run.quick else 10)
    bricks = brick_pyramid(2 if run.quick else 10)
    for at_rest in (boxes, bricks):
        yield with_box_friction(at_rest), at_rest.b
    size = 3 if run.quick else 8
    tossed = cs.scenarios.ball_grid(size, velocity=0.5)
    yield with_box_friction(tossed), cs.scenarios.ball_grid(size).b


def ours(problem, target, initial, run):
    """Our Gauss-Seidel in C: sweeps, γ, seconds of a sweep."""
    method = cs.Method("gauss_seidel", scheme="factorized", label="ours", threads=1)
    solver = cs.Solver(
        problem, method="gauss_seidel", scheme="factorized", **LOCAL, stop="quality",
        atol=target, rtol=None, check_every=1, max_iterations=MAX_SWEEPS, record=("quality",),
    )  # fmt: skip
    result = solver.solve(initial=initial)
    sweeps = max(result.iterations, 1)
    timing = timed(problem, [method], sweeps, run, **LOCAL)["ours", 1]
    return result.iterations, result.history["quality"][-1], np.median(timing.seconds) / sweeps


def rows_of(problem, gravity, run, sweeps, language):
    following, impulses = second_step(problem, gravity)
    for label, step, initial in (
        ("first step, from zero", problem, None),
        ("second step, from zero", following, None),
        ("second step, from the first", following, impulses),
    ):
        scene = Scene(step)
        reference = cs.solve(
            step, method="gauss_seidel", scheme="factorized", **LOCAL, max_iterations=SWEEPS,
            rtol=None, atol=None,
        )  # fmt: skip
        target = scene.quality(reference.impulses) * (1 + 1e-5)
        runs = [(OURS, "C", ours(step, target, initial, run))]
        for name, sweep in sweeps.items():
            runs.append((name, language, scene.run(*sweep, target, initial)))
        for name, spoken, (count, gamma, seconds) in runs:
            yield {
                "scene": f"{problem.name}, {problem.contacts} contacts",
                "contacts": problem.contacts,
                "method": name,
                "start": label,
                "sweeps": count,
                "quality": float(gamma),
                "language": spoken,
                "ns": seconds and float(seconds) * 1e9 / problem.contacts,
                "status": "reached" if gamma <= target else "not reached",
            }


def draw(rows):
    """Sweeps to equal γ, a panel for each scene."""
    names = list(dict.fromkeys(row["scene"] for row in rows))
    figure, axes = panels(names, width=5.6, height=4.2)
    starts = list(dict.fromkeys(row["start"] for row in rows))
    look = styles(row["method"] for row in rows if row["language"] != "C")
    for ax, name in zip(axes, names, strict=True):
        own = [row for row in rows if row["scene"] == name and row["language"] != "C"]
        for j, (method, style) in enumerate(look.items()):
            mine = [row for row in own if row["method"] == method]
            places = [starts.index(row["start"]) + 0.2 * (j - 1.5) for row in mine]
            bars = ax.bar(places, [row["sweeps"] for row in mine], 0.18, color=style.color,
                          label=method)  # fmt: skip
            ax.bar_label(bars, [str(row["sweeps"]) if row["status"] == "reached"
                                else f">{row['sweeps']}" for row in mine], fontsize=8)  # fmt: skip
        ax.set_xticks(range(len(starts)), [start.replace(", ", ",\n") for start in starts])
        ax.set_ylabel("sweeps to equal γ")
        ax.margins(y=0.5)
        ax.legend(fontsize=8)
    return figure


def main(run):
    sweeps, language = compiled(run.quick)
    rows = [row for scene in scenes(run) for row in rows_of(*scene, run, sweeps, language)]
    publish(run, "sequential_impulses", rows, draw)


if __name__ == "__main__":
    main(arguments(__doc__))
