# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Grids that wander
#
# Balls of equal mass in a cubic grid, a friction coefficient of one half, small random
# velocities: nothing about this looks hard. On 5³ balls a few hundred sweeps find a solution to
# all digits. On 16³ balls no method of this library has found one, and whether there is one
# within reach is not known. This notebook is about that open question: where it begins, what goes
# on there, and what patience does. Every claim is an experiment, and what does not hang on chance
# is asserted in its cell. Where a run wanders to does: rounded otherwise, as by other vectors, it
# is another run. Change the numbers and see.

# %%
import csv
import itertools
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

import contactsolve as cs

plt.rcParams["figure.dpi"] = 150

FALL = 9.81 * 0.01  # what gravity adds in a step [m/s]


def velocities(n, speed=0.05, seed=0):
    """Velocities of the balls before the step, and of the world, which is at rest."""
    u = np.zeros((n**3 + 1, 6))
    u[:-1] = speed * np.random.default_rng(seed).standard_normal((n**3, 6))
    u[:-1, 2] -= FALL
    return u


def grid(n, mu, speed=0.05, compliance=0.0):
    """Balls of 1 kg and radius 0.5 m, n along each axis; compliance is along the tangents."""
    scene = cs.scenarios.ball_grid(n, mass=1.0, radius=0.5, mu=mu)
    b = np.einsum("ksmd,ksd->km", scene.J, velocities(n, speed)[scene.bodies])
    return cs.Problem(scene.J, scene.Minv, b, mu, bodies=scene.bodies,
                      compliance=[0.0, compliance, compliance])  # fmt: skip


def solve(problem, method="nesterov", sweeps=4000, start=None, **options):
    """Solve until the natural map is below 1e-9 N s; it is looked at every 20 sweeps."""
    usual = {"rtol": 0.0, "atol": 1e-9, "threads": 1, "record_every": 20, "check_every": 20}
    options = {**usual, "record": ("natural_map",), "max_iterations": sweeps, **options}
    return cs.solve(problem, method=method, initial=start, **options)


def trace(result):
    """Iterations at which the natural map was looked at, and its values.

    The last row of an unsolved one is left out: it is the best iterate, which is returned.
    """
    known = ~np.isnan(result.history["natural_map"])
    known[-1] = result.converged
    return result.history["iteration"][known], result.history["natural_map"][known]


def told(result):
    return f"{result.status} after {result.iterations}, natural map {result.natural_map:.1e} N s"


# %% [markdown]
# ## Wandering
#
# A solve that has not halved its natural map for `patience` sweeps ends. Where the natural map
# stands still, its status is `"stalled"`; where it goes up and down, `"wandering"`, and the band
# in which it did is in `info`: the least, the median and the largest value, scaled.

# %%
wanderer = grid(7, mu=0.8)
for name, problem in {"mu = 0.1": grid(7, mu=0.1), "mu = 0.8": wanderer}.items():
    result = solve(problem, cs.methods.nesterov(patience=2000))
    print(f"{name}: {told(result)}")
print(result.message)
print("band:", ", ".join(f"{value:.1e}" for value in result.info["band"]))

assert solve(grid(7, mu=0.1), sweeps=1000).converged
assert result.status in ("wandering", "stalled")

# %%
methods = {
    "gauss_seidel": ("gauss_seidel", {}),
    "rollback_growth = 3": ("gauss_seidel", {"rollback_growth": 3.0}),
    "nesterov": ("nesterov", {}),
    "nncg": ("nncg", {}),
    "momentum, beta = 0.5": (cs.methods.momentum(beta=0.5), {}),
}
arrived = {}
fig, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
for color, (name, (method, options)) in enumerate(methods.items()):
    result = solve(wanderer, method, 12_000, **options)
    at, values = trace(result)
    ax.plot(at, values, linewidth=0.7, color=f"C{color}", label=name)
    if not result.converged:
        later = values[len(values) // 2 :]
        ax.axhspan(later.min(), later.max(), color=f"C{color}", alpha=0.08)
    arrived[name] = result.converged
    print(f"{name:21} {told(result)}")
ax.set(yscale="log", xlabel="sweeps", ylabel="natural map [N s]")
ax.set_title("7³ balls, µ = 0.8; shaded: where the second half of a run was")
ax.legend()
plt.show()

assert {name for name in arrived if arrived[name]} == {"gauss_seidel", "momentum, beta = 0.5"}

# %% [markdown]
# There is a solution, then, and a constant momentum of one half goes straight to it. Nesterov's
# momentum stays in its band. Gauss-Seidel arrives, too, if it is left alone: where every rise by a
# factor of three halves R (`rollback`), which would stop a solve that diverges, it is soon left
# with steps of a thirty-second. On other grids it is another method that arrives, or none.
#
# ## A map
#
# From zero, `nesterov`, sizes against friction coefficients: the least natural map of 4,000
# sweeps. Beside it what `benchmarks/wandering/wandering.py` measured, 10,000 sweeps and larger
# grids.


# %%
def committed(name):
    """Rows of a CSV of the repository that this notebook lies in; none elsewhere."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        for path in sorted(folder.glob(f"benchmarks/results/*/{name}.csv")):
            with path.open(newline="", encoding="utf-8") as file:
                return list(csv.DictReader(file))
    return []


def usual(rows, **values):
    """Rows of runs without compliance, with initial velocities of 0.05, and with these values."""
    wanted = {"speed": "0.05", "compliance": "0", "method": "nesterov", **values}
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def draw_map(ax, reached, title):
    """Draw {(size, mu): natural map}."""
    sizes, mus = (sorted(set(values)) for values in zip(*reached, strict=True))
    table = np.full((len(mus), len(sizes)), np.nan)
    for (n, mu), value in reached.items():
        table[mus.index(mu), sizes.index(n)] = np.log10(value)
    image = ax.imshow(table, origin="lower", aspect="auto", vmin=-8, vmax=-3)
    for i, j in np.argwhere(~np.isnan(table)):
        dark = table[i, j] < -4.5
        ax.text(j, i, f"{table[i, j]:.1f}", ha="center", va="center", color="w" if dark else "k")
    ax.set_xticks(range(len(sizes)), [f"{n}³" for n in sizes])
    ax.set_yticks(range(len(mus)), mus)
    ax.set(xlabel="balls", ylabel="µ", title=title)
    return image


live = {
    (n, mu): solve(grid(n, mu)).natural_map
    for n in (4, 5, 6, 7, 8)
    for mu in (0.1, 0.3, 0.5, 0.8, 1.2)
}
rows = usual(committed("wandering"))
large = {(int(row["size"]), float(row["mu"])): float(row["reached"]) for row in rows}
maps = {"4,000 sweeps, now": live}
if large:
    maps["10,000 sweeps to 1e-8, from the CSV"] = large
fig, axes = plt.subplots(1, len(maps), figsize=(11, 4), layout="constrained", squeeze=False)
for ax, (title, reached) in zip(axes[0], maps.items(), strict=True):
    image = draw_map(ax, reached, title)
fig.colorbar(image, ax=axes, extend="both", label="log₁₀ of the natural map [N s]")
plt.show()

assert all(value < 1e-8 for (n, mu), value in live.items() if mu == 0.1)
assert live[8, 1.2] > 1e-6

# %% [markdown]
# Dark is solved. At µ = 0.1 every size is. As a rule, the larger the grid, the less friction it
# takes to wander.
#
# The third dimension is how fast the balls are before the step. With none, the grid is a set of
# columns at rest:

# %%
for n, mu in ((7, 0.8), (10, 0.5)):
    for speed in (0.0, 0.0125, 0.05, 0.2):
        result = solve(grid(n, mu, speed))
        print(f"{n}³, mu = {mu}, {speed:6} m/s: {told(result)}")
        assert result.converged or speed > 0

# %% [markdown]
# ## Bands
#
# Are more sweeps the answer? The least, median and largest natural map within windows of a run
# that get longer and longer:

# %%
at, values = trace(solve(wanderer, sweeps=40_000))
curve = []
for low, high in itertools.pairwise(np.geomspace(20, 40_001, 21)):
    inside = values[(at >= low) & (at < high)]
    if len(inside):
        curve.append((high, inside.min(), np.median(inside), inside.max()))
curves = {"7³, µ = 0.8, now": np.array(curve)}
rows = committed("wandering_bands")
for n, mu in ((16, 0.5), (16, 0.1)):
    own = usual(rows, size=str(n), mu=str(mu))
    columns = ("up_to", "least", "median", "most")
    if own:
        curve = [[float(row[name]) for name in columns] for row in own]
        curves[f"{n}³, µ = {mu}, from the CSV"] = np.array(curve)
fig, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
for name, curve in curves.items():
    (line,) = ax.plot(curve[:, 0], curve[:, 2], label=name)
    ax.fill_between(curve[:, 0], curve[:, 1], curve[:, 3], color=line.get_color(), alpha=0.25)
ax.set(xscale="log", yscale="log", xlabel="sweeps", ylabel="natural map [N s]")
ax.legend()
plt.show()

late = curves["7³, µ = 0.8, now"]
late = late[late[:, 0] > 2000]
assert late[:, 2].max() < 2 * late[:, 2].min()
assert values[at <= 2000].min() < values[at > 2000].min()

# %% [markdown]
# Not for `nesterov`: after some 2,000 sweeps the band stays where it is (at µ = 0.1 there is
# none). The best iterate of the run on 7³ balls is from before that. It is what a solve returns,
# whenever it was.
#
# ## Patience
#
# For plain Gauss-Seidel they are, on grids that are small enough. From zero, without rollback:

# %%
fig, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
for color, (n, mu) in enumerate(((7, 0.5), (7, 0.8), (8, 0.5), (8, 0.8), (8, 1.2))):
    result = solve(grid(n, mu), "gauss_seidel", 80_000, rollback=0, atol=1e-8)
    at, values = trace(result)
    ax.plot(at, values, linewidth=0.7, color=f"C{color}", label=f"{n}³, µ = {mu}")
    print(f"{n}³, mu = {mu}: {told(result)}")
    assert result.converged or mu == 1.2
ax.set(xscale="log", yscale="log", xlabel="sweeps", ylabel="natural map [N s]")
ax.legend()
plt.show()
patient = [row for row in committed("wandering") if row["method"] == "gauss_seidel"]
for row in patient:
    zero, random = float(row["reached"]), float(row["reached_from_random"])
    print(f"{row['size']}³, mu = {row['mu']}: {zero:.1e} after {row['iterations']}, "
          f"{random:.1e} from random impulses")  # fmt: skip

# %% [markdown]
# They wander for a while, and then something gives: no contact changes any more, and what is left
# goes down at a steady rate. How long that takes is chance (other velocities, other starts: other
# times), and it takes the longer the larger the grid is. The last lines are what the benchmark
# measured in 200,000 sweeps; on 16³ balls it does not happen within these.
#
# ## Contacts that change state
#
# What goes on in the band? After every sweep: which contacts are open, stick, or slide (friction
# on its bound)?


# %%
def states(impulses, mu):
    """0 open, 1 sticking, 2 sliding."""
    sliding = np.hypot(impulses[:, 1], impulses[:, 2]) >= (1 - 1e-9) * mu * impulses[:, 0]
    return np.where(impulses[:, 0] <= 0, 0, np.where(sliding, 2, 1))


def watch(problem, mu, method="nesterov", settling=3000, sweeps=400):
    """States of all contacts after each of the last sweeps, one row a sweep."""
    seen = []

    def look(state):
        if state.iteration > settling:
            seen.append(states(state.impulses, mu))

    solve(problem, method, settling + sweeps, rtol=None, atol=None, callback=look)
    return np.array(seen)


watched = {mu: watch(grid(7, mu), mu) for mu in (0.1, 0.8)}
for mu, seen in watched.items():
    changes = np.diff(seen, axis=0) != 0
    print(f"mu = {mu}: {changes.any(0).sum()} of {seen.shape[1]} contacts change state in 400 "
          f"sweeps, {changes.sum(1).mean():.1f} in a sweep")  # fmt: skip
    assert changes.any() == (mu == 0.8)
    assert changes.any(0).mean() < 0.1

# %%
seen = watched[0.8]
changes = np.diff(seen, axis=0) != 0
restless = np.argsort(-changes.sum(0))[: changes.any(0).sum()]
fig, axes = plt.subplots(2, 1, figsize=(9, 5), layout="constrained", sharex=True)
colors = ListedColormap(["0.85", "#1f5aa6", "#c8501e"])
shown = {"cmap": colors, "vmin": -0.5, "vmax": 2.5, "interpolation": "none", "aspect": "auto"}
image = axes[0].imshow(seen[:, restless].T, **shown)
fig.colorbar(image, ax=axes[0]).set_ticks([0, 1, 2], labels=["open", "stick", "slide"])
axes[0].set_ylabel("those that change")
axes[1].plot(np.arange(1, len(seen)), changes.sum(1), linewidth=0.8)
axes[1].set(xlabel="sweep", ylabel="changes")
plt.show()

# %% [markdown]
# A few contacts of 931, some in the same rhythm again and again, keep all others from coming to
# rest. With µ = 0.1 none changes any more.
#
# ## Two solutions of one problem
#
# 8³ balls at µ = 0.5 are solved: from zero, and from random impulses within the friction cones.


# %%
def random_start(problem, largest, seed):
    """Impulses within the cones, normal ones up to the largest."""
    rng = np.random.default_rng(seed)
    normal = rng.uniform(0.0, largest, problem.contacts)
    radius = problem.mu * normal * np.sqrt(rng.uniform(size=problem.contacts))
    angle = rng.uniform(0.0, 2.0 * np.pi, problem.contacts)
    return np.column_stack([normal, radius * np.cos(angle), radius * np.sin(angle)])


def judge(problem, impulses):
    """The natural map of impulses, from outside of any method."""
    return cs.solve(problem, method="gauss_seidel", initial=impulses, max_iterations=0).natural_map


twin = grid(8, mu=0.5)
first = solve(twin, sweeps=8000)
start = random_start(twin, first.impulses[:, 0].max(), seed=3)
second = solve(twin, sweeps=8000, start=start)
for name, result in {"from zero": first, "from random impulses": second}.items():
    print(f"{name}: {told(result)}, {judge(twin, result.impulses):.1e} from outside")
    assert judge(twin, result.impulses) < 1e-6

# %%
apart = np.abs(first.body_velocity_change - second.body_velocity_change)
fig, axes = plt.subplots(1, 2, figsize=(10.5, 3.8), layout="constrained")
for columns, name in ((slice(0, 3), "velocity [m/s]"), (slice(3, 6), "angular velocity [rad/s]")):
    axes[0].semilogy(np.sort(apart[:, columns].max(1))[::-1], label=name)
axes[0].axhline(0.05, color="k", linewidth=0.8, linestyle="--", label="standard deviation before")
axes[0].set(xlabel="balls, sorted", ylabel="difference of the two answers")
axes[0].legend()
share = np.linspace(0.0, 1.0, 21)
between = [judge(twin, (1 - t) * first.impulses + t * second.impulses) for t in share]
axes[1].semilogy(share, between, "o-", markersize=4)
axes[1].set(xlabel="way from the first answer to the second", ylabel="natural map [N s]")
plt.show()

assert apart.max() > 1e-3
assert min(between[5:-5]) > 100 * max(between[0], between[-1])

# %% [markdown]
# Both are right, and nothing between them is: they are not two ends of one family. Most balls
# hardly notice; some turn differently by nearly as much as they turned at random before. So never
# compare two methods by their impulses or velocities here, only by their natural maps.
#
# ## Cures
#
# Less friction is one: at µ = 0.1 even 16³ balls are solved. The other is a tangential compliance
# σ: contacts that stick slip at σ times their friction impulse.

# %%
sigmas = (0.003, 0.01, 0.03, 0.05, 0.1, 0.2)
print("16³, mu = 0.1:", told(solve(grid(16, 0.1))))
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for n, mu, cure in ((7, 0.8, 0.1), (10, 0.8, 0.1), (12, 0.5, 0.03)):
    reached = [solve(grid(n, mu, compliance=sigma)).natural_map for sigma in sigmas]
    ax.loglog(sigmas, reached, "o-", label=f"{n}³, µ = {mu}")
    print(f"{n}³, mu = {mu}:", ", ".join(f"{value:.1e}" for value in reached))
    cured = [sigma for sigma, value in zip(sigmas, reached, strict=True) if value < 1e-8]
    assert min(cured) == cure
ax.set(xlabel="tangential compliance [m/(N s)]", ylabel="natural map after 4,000 sweeps [N s]")
ax.legend()
plt.show()

# %%
soft = grid(8, mu=0.8, compliance=0.1)
ends = [solve(soft), solve(soft, start=random_start(soft, 1.0, seed=1))]
change = np.abs(ends[0].body_velocity_change - ends[1].body_velocity_change).max()
friction = np.hypot(ends[0].impulses[:, 1], ends[0].impulses[:, 2])
print("8³, mu = 0.8, compliance 0.1: " + ", ".join(told(result) for result in ends))
print(
    f"   velocities differ by {change:.1e}; contacts slip at up to {0.1 * friction.max():.4f} m/s"
)

assert change < 1e-5
assert 0.1 * friction.max() < 0.2 * 0.05

# %% [markdown]
# 0.01 does not help. 0.03 cures the grid at µ = 0.5; it takes 0.1 at µ = 0.8, where the answer is
# then unique, too: two starts, the same velocities. The price is slip, of up to a tenth or so of
# the velocities before the step.
#
# ## Continuation
#
# Could one solve the compliant problem and shrink the compliance step by step, each solve from
# the last one?


# %%
def descend(n, mu, factor=0.5, first=0.1, least=1e-5, step=1000, last=4000):
    """Rows of compliance, natural map with it, natural map without it."""
    rows, impulses, sigma = [], None, first
    while True:
        problem = grid(n, mu, compliance=sigma)
        goal = max(1e-9, 0.01 * sigma)
        result = solve(problem, start=impulses, sweeps=step if sigma else last, atol=goal)
        impulses = result.impulses
        rows.append((sigma, result.natural_map, judge(grid(n, mu), impulses)))
        if not sigma:
            return np.array(rows)
        sigma = factor * sigma if factor * sigma >= least else 0.0


fig, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
for color, (n, mu) in enumerate(((7, 0.8), (7, 1.2), (10, 0.8))):
    path = descend(n, mu)
    sigma = np.maximum(path[:, 0], 3e-6)
    ax.loglog(sigma, path[:, 2], "o-", color=f"C{color}", markersize=4, label=f"{n}³, µ = {mu}")
    ax.loglog(sigma, path[:, 1], ":", color=f"C{color}")
    plain = solve(grid(n, mu)).natural_map
    assert path[-1, 1] < 1e-8 if (n, mu) == (7, 0.8) else path[-1, 1] > 1e-5
    print(f"{n}³, mu = {mu}: {path[-1, 1]:.1e} at the end; from zero {plain:.1e}")
ax.invert_xaxis()
ax.set(xlabel="compliance; at the right end none", ylabel="natural map [N s]")
ax.set_title("judged without the compliance; dotted: with it")
ax.legend()
plt.show()

# %% [markdown]
# On the first grid it works; on the others the path ends at compliances of some hundredths or
# less, where the compliant problem wanders itself and its solution is lost. What is shrunk after
# that is only the compliance.
#
# ## Newton's method and Levenberg's damping
#
# Newton's steps see all contacts at once. From the best iterate of 4,000 sweeps, with more and
# more damping (`levenberg=`):

# %%
print("grid               began   " + "".join(f"{nu:>16}" for nu in (0, 0.01, 1, 100)))
for n, mu, speed in ((7, 0.8, 0.05), (7, 0.8, 0.2), (7, 1.2, 0.05)):
    problem = grid(n, mu, speed)
    best = solve(problem)
    line = f"{n}³, {mu}, {speed:<5} {best.natural_map:12.1e}   "
    for nu in (0, 0.01, 1, 100):
        newton = cs.methods.newton(levenberg=nu, start=0)
        result = solve(problem, newton, 30, best.impulses, check_every=1)
        line += f"{result.natural_map:9.1e} in {result.iterations:<3}"
        assert not result.converged
    print(line)

# %% [markdown]
# Some gain, and no arrival. Much damping only keeps the steps short, near the best iterate, which
# is no place to be.
#
# ## What `auto` says
#
# `auto` goes from one method to the next when the natural map is no longer halved, always with
# the best iterate. What it did is in `info["links"]`:

# %%
for n, mu in ((7, 0.8), (7, 1.2)):
    result = solve(grid(n, mu), "auto", 6000)
    print(f"{n}³, mu = {mu}: {result.message}")
    for link in result.info["links"]:
        done = f"{link['method']:9} {link['iterations']:5} iterations to {link['reached']:.1e}"
        print(f"   {done}: {link['why']}")
    assert result.converged == (mu == 0.8)
    assert [link["method"] for link in result.info["links"][:2]] == ["nesterov", "nncg"]

# %% [markdown]
# The first grid it solves by going back and forth between two kinds of sweeps. Of the second it
# says what it has reached, and that this is not what was asked for.
#
# ## What stays open
#
# - Whether 16³ balls at µ = 0.5 have a solution within reach, and why 8³ have several.
# - What decides how long a grid wanders, and how to shorten it.
# - How to go round the compliance at which a path ends.
# - Which method arrives on which grid. `benchmarks/wandering/wandering.py` tries eight ways on
#   thirteen grids; patient Gauss-Seidel solves most of them, and larger grids fewer
#   (docs/methods.md).
#
# For a simulation all this matters little: a natural map of 1e-4 N s is a thousandth of the
# weight of a ball over a step. For an experiment that compares methods it does: ask for
# `"wandering"`, and do not wait for 1e-8.
