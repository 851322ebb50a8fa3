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
# # Motion
#
# A contact problem is one step of a motion. `contactsolve.dynamics` makes all of them: a *world*
# has bodies with shapes and materials; in each step it finds the contacts, solves their problem and
# moves the bodies. This notebook lets things fall, compares the motion with exact solutions, and
# looks at solvers along a motion. Every claim is an experiment, and is asserted in its cell.

# %%
import matplotlib.pyplot as plt
import numpy as np

import contactsolve as cs

plt.rcParams["figure.dpi"] = 150

# %% [markdown]
# ## A pile
#
# `dynamics.scenes` has worlds that are ready to run. In this one, a hundred boxes and polyhedra
# drop on the ground. `run` makes steps of 1 ms and returns what was recorded. It also keeps the
# contact problem of every 20th step with contacts, for later.

# %%
world = cs.dynamics.scenes.pile(100, shapes="box,hull", max_iterations=20000)
columns = ("time", "contacts", "iterations", "kinetic", "potential")
poses = ("positions", "orientations", "velocities")
record = world.run(2000, (*columns, *poses), problems=20)
not_converged = world.info["steps_not_converged"]
print(f"{world.steps} steps, {len(world.contacts.gaps)} contacts in the last one")
most = record["iterations"].max()
print(f"{not_converged} steps have not converged; most sweeps of a step: {most:.0f}")

# Impacts of many corners may need thousands of sweeps, and which ones do is chance.
assert not_converged <= 4

# %%
fig, axes = plt.subplots(1, 3, figsize=(10, 4), layout="constrained")
cs.plots.snapshots(world, record, [0, 500, 2000], axes=list(axes))
plt.show()

# %% [markdown]
# What falls loses height and gains speed, until it hits something. Without restitution an impact
# only takes energy away, and so does friction: the sum of kinetic and potential energy never rises.

# %%
time, kinetic = record["time"], record["kinetic"]
total = kinetic + record["potential"]
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
left.plot(time, total, label="total")
left.plot(time, record["potential"], label="potential")
left.plot(time, kinetic, label="kinetic")
left.set_ylabel("energy [J]")
left.legend()
right.plot(time, record["contacts"], color="0.3", linewidth=0.8)
right.set_ylabel("closed contacts")
for ax in (left, right):
    ax.set_xlabel("time [s]")
plt.show()

print(f"largest rise of the energy in a step: {np.diff(total).max():.1e} J of {total[0]:.0f} J")
assert np.diff(total).max() < 1e-6 * total[0]
assert kinetic[-1] < 1e-3 * kinetic.max()
assert record["contacts"][-1] > 2 * 100

# %% [markdown]
# ## What carries the weight
#
# A pile at rest presses on the ground with its weight. `world.contacts` has the impulses of the
# last step; divided by the time step, they are forces. In the plane one sees how they get down:
# each line joins two bodies, and is as wide as the force between them is large. Every step makes
# 200 sweeps, without a tolerance, from the impulses of the step before.

# %%
sweeps = {"method": "gauss_seidel", "rtol": None, "atol": None, "max_iterations": 200}
plane = cs.dynamics.scenes.pile(120, dimension=2, shapes="polygon", **sweeps)
plane.run(4000)
contacts = plane.contacts
on_ground = (contacts.bodies == -1).any(axis=1)
carried = contacts.impulses[on_ground, 0].sum() / plane.time_step
weight = 9.81 * plane.masses.sum()
print(f"the ground carries {carried:.1f} N, the bodies weigh {weight:.1f} N")

assert abs(carried - weight) < 0.02 * weight

# %%
fig, ax = plt.subplots(figsize=(9, 3.8), layout="constrained")
middle = np.median(plane.positions[:, 0])
cs.plots.scene(plane, contacts="forces", window=([middle - 2, 0], [middle + 2, 1.25]), ax=ax)
plt.show()

share = np.sort(contacts.impulses[:, 0])[::-1]
few = np.searchsorted(np.cumsum(share), share.sum() / 2) + 1
print(f"{few} of {len(share)} contacts have half of the sum of all normal forces")
assert few < len(share) / 4

# %% [markdown]
# The load is far from even: a minority of the contacts carries half of it.
#
# ## A ball that bounces
#
# A ball falls from 1 m, and rises from each impact with half of its speed. All of this has a
# formula: it is at rest after t₀ (1 + ε) / (1 − ε) seconds, where t₀ = √(2h/g) is the first fall,
# although it bounces infinitely often.

# %%
HEIGHT, BOUNCE, GRAVITY = 1.0, 0.5, 9.81


def exact(times):
    """Height of the ball's lowest point."""
    start, speed = -np.sqrt(2 * HEIGHT / GRAVITY), np.sqrt(2 * HEIGHT * GRAVITY)
    heights = np.zeros_like(times)
    for _ in range(40):
        since = times - start
        flight = speed * since - GRAVITY / 2 * since**2
        during = (since >= 0) & (since < 2 * speed / GRAVITY)
        heights[during] = flight[during]
        start, speed = start + 2 * speed / GRAVITY, BOUNCE * speed
    return heights


def bounce(time_step):
    """Return times, and heights in steps of this length."""
    falling = cs.dynamics.World(time_step=time_step)
    rubber = cs.dynamics.Material(0.0, BOUNCE)
    falling.add_fixed(cs.dynamics.HalfSpace([0, 0, 1]), material=rubber)
    ball = cs.dynamics.Sphere(0.1)
    falling.add_body(ball, [0, 0, 0.1 + HEIGHT], density=1000, material=rubber)
    path = falling.run(round(1.6 / time_step), ("time", "positions"))
    return path["time"], path["positions"][:, 0, 2] - 0.1


fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
fine = np.linspace(0, 1.6, 2000)
ax.plot(fine, exact(fine), color="0.7", linewidth=4, label="exact")
errors = {}
for time_step in (1e-2, 1e-3, 1e-4):
    times, heights = bounce(time_step)
    errors[time_step] = np.abs(heights - exact(times)).max()
    if time_step > 1e-4:
        ax.plot(times, heights, label=f"steps of {1e3 * time_step:g} ms", linewidth=1.2)
    print(f"steps of {1e3 * time_step:4g} ms: largest error {1e3 * errors[time_step]:6.2f} mm")
ax.set_xlabel("time [s]")
ax.set_ylabel("height [m]")
ax.legend()
plt.show()

at_rest = np.sqrt(2 * HEIGHT / GRAVITY) * (1 + BOUNCE) / (1 - BOUNCE)
assert np.abs(heights[times > at_rest + 0.01]).max() < 1e-3
impact_speed = np.sqrt(2 * HEIGHT * GRAVITY)
assert all(error < 2 * impact_speed * time_step for time_step, error in errors.items())

# %% [markdown]
# Steps have a fixed length, and an impact comes at the end of one: it is up to a step late. What
# the ball moves in that time, a few times added up over the impacts, is the error. It is below
# twice the speed of the first impact times the step.
#
# ## Newton's cradle
#
# Five equal balls hang in a row, and the first one swings in. Everybody knows that the last one
# leaves with its speed. Without gravity, on a line, with ε = 1:


# %%
def cradle(gap, count=5):
    """Return the speeds before and after, for balls that are `gap` apart."""
    row = cs.dynamics.World(gravity=[0, 0, 0], time_step=1e-3, rtol=1e-12)
    steel = cs.dynamics.Material(0.0, 1.0)
    places = np.zeros((count, 3))
    places[:, 0] = (0.1 + gap) * np.arange(count)
    places[0, 0] -= 0.05
    speeds = np.zeros((count, 6))
    speeds[0, 0] = 1.0
    ball = cs.dynamics.Sphere(0.05)
    row.add_bodies(ball, places, velocities=speeds, mass=1.0, material=steel)
    row.run(400)
    return speeds[:, 0], row.velocities[:, 0].copy()


fig, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True, layout="constrained")
after = {}
for ax, gap, title in zip(axes, (1e-2, 0.0), ("1 cm apart", "in touch"), strict=True):
    before, after[gap] = cradle(gap)
    print(f"{title:10} {after[gap].round(4)} m/s")
    assert np.isclose(after[gap].sum(), 1.0)
    assert np.isclose((after[gap] ** 2).sum(), 1.0)
    ax.bar(np.arange(1, 6), after[gap], color="#1f5aa6")
    ax.axhline(0, color="k", linewidth=0.8)
    ax.set_title(title)
    ax.set_xlabel("ball")
axes[0].set_ylabel("speed afterwards [m/s]")
plt.show()

assert np.allclose(after[1e-2], [0, 0, 0, 0, 1], atol=1e-9)
assert np.allclose(after[0.0], [-0.6, 0.4, 0.4, 0.4, 0.4], atol=1e-6)

# %% [markdown]
# With gaps, one impact comes after another, and the last ball leaves alone. In touch, all contacts
# are in one problem. Newton's law asks for the opposite of the velocity at the contact where there
# was one, and for nothing at the others. The first ball bounces off the other four, which move like
# one. Both outcomes keep momentum and energy; the law cannot tell which of them is right. That is a
# limit of the model, not of the solver.
#
# ## Dominoes
#
# The first of twenty dominoes is pushed. When does each of the others begin to fall, say, pass 10°?

# %%
row = cs.dynamics.scenes.domino_row(20, max_iterations=20000)
toppled = row.run(1000, ("time", *poses))
fig, axes = plt.subplots(2, 2, figsize=(10, 4.5), layout="constrained")
cs.plots.snapshots(row, toppled, [0, 200, 450, 1000], view=(20, -65), axes=list(axes.flat))
plt.show()

# Angle of the upright axis, from the third column of the rotation.
w, x, y, z = np.moveaxis(toppled["orientations"], -1, 0)
tilt = np.degrees(np.arccos(np.clip(1 - 2 * (x**2 + y**2), -1, 1)))
passes = toppled["time"][np.argmax(tilt > 10, axis=0)]
assert tilt[-1].min() > 30
assert np.all(np.diff(passes) > 0)

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
left.plot(toppled["time"], tilt, color="#1f5aa6", linewidth=0.8)
left.axhline(10, color="k", linewidth=0.8, linestyle="--")
left.set_xlabel("time [s]")
left.set_ylabel("tilt of each domino [°]")
speed = np.diff(toppled["positions"][0, :, 0]) / np.diff(passes)
right.plot(np.arange(2, 21), speed, "o-", color="#c8501e")
right.set_ylim(0, None)
right.set_xticks([2, 5, 10, 15, 20])
right.set_xlabel("domino")
right.set_ylabel("speed of the wave [m/s]")
plt.show()

settled = speed[9:]  # from the tenth domino to the last one
print(f"speed of the wave at its end: {settled.min():.3f} to {settled.max():.3f} m/s")
assert np.ptp(settled) < 0.05 * settled.mean()
assert speed[0] < settled.mean() / 2

# %% [markdown]
# The push was weak: the wave begins slowly, gains speed, and soon has one that no longer depends on
# how it began.
#
# ## Solvers along a motion
#
# Back to the pile. The run has kept the problems of nearly a hundred of its steps. In the run, each
# solve began with the impulses of the step before, a *warm start*. How much does that save?

# %%
cold = np.array(
    [
        cs.solve(problem, rtol=1e-6, max_iterations=5000, islands=False).iterations
        for problem in record.problems
    ]
)
warm = record["iterations"][20::20][-len(cold) :]
thirds = np.array_split(np.arange(len(cold)), 3)
medians = [np.median(warm[part] / cold[part]) for part in thirds]
for part, median in zip(thirds, medians, strict=True):
    print(
        f"{warm[part].sum():6.0f} iterations in the run, {cold[part].sum():6} from zero, "
        f"ratio of the median step {median:.2f}"
    )

assert len(cold) > 80
assert np.median(warm / cold) < 1
assert medians[-1] < medians[0]

# %% [markdown]
# While bodies fly and hit each other, the contacts of the step before tell little. The closer the
# pile is to rest, the more they tell. Single steps differ by factors either way: where a last body
# rocks, both may need thousands of iterations.
#
# The last one, of a pile at rest, serves to compare methods:

# %%
last = record.problems[-1]
methods = ["jacobi", "gauss_seidel", cs.Method("gauss_seidel", relaxation=1.3), "auto"]
table = cs.compare(last, methods, rtol=1e-8, max_iterations=2000)
ax = cs.plots.convergence(table)
ax.set_xscale("log", nonpositive="mask")
ax.set_title(f"{table.results['auto'].impulses.shape[0]} contacts of a pile at rest")
plt.show()

jacobi, gauss_seidel, relaxed, auto = (row.natural_map for row in table)
assert [row.reached for row in table] == [False, False, False, True]
assert relaxed < gauss_seidel < jacobi
assert table[-1].iterations < 1000

# %% [markdown]
# Sweeps come closer slowly, Jacobi's the most slowly; `auto`, the default also of a world, is done
# after a few hundred iterations.
#
# Where to go from here: `help(cs.dynamics.World)` has the options, `contactsolve run --list` the
# scenes, and `contactsolve run pile --animate pile.gif` draws a motion.
