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
# # Direct solvers
#
# Sweeps spread an impulse from contact to contact. Where a chain of fifty links hangs on a drum
# that weighs four hundred times as much as each of them, that takes thousands of sweeps and
# more. A direct solver factors A, finds out which rows are at their bounds,
# and is done: exactly, up to rounding. This notebook takes one such scene apart. Every claim is an
# experiment, and is asserted in its cell.

# %%
import matplotlib.pyplot as plt
import numpy as np

import contactsolve as cs

plt.rcParams["figure.dpi"] = 150

# %% [markdown]
# ## A scene
#
# `scenarios.winch` is an analogue of the winch in *Block principal pivoting with incremental
# Cholesky factorizations* (S3): a chain of 50 capsules on ball joints, drawn over the ground by a
# drum of 400 kg. It has 200 steps; each is a problem with joints, a motor and contacts in groups.

# %%
problem = cs.scenarios.winch(100)
for J, group in zip(problem.J, problem.sets, strict=True):
    print(f"{len(J):3} blocks of {J.shape[2]} rows, set {group.name}")
A, b = problem.delassus(), np.concatenate([part.ravel() for part in problem.b])
eigenvalues = np.linalg.eigvalsh(A.toarray())
print(f"{len(b)} rows, condition number {eigenvalues[-1] / eigenvalues[0]:.0e}")

assert eigenvalues[-1] > 1e7 * eigenvalues[0] > 0

# %% [markdown]
# ## Sweeps and pivots

# %%
sweeps = cs.solve(problem, method="gauss_seidel", rtol=1e-8, max_iterations=2000)
direct = cs.solve(problem, method="bpp", rtol=1e-8, max_iterations=400, averaging=0.5)
for result in (sweeps, direct):
    print(result.message)
    print(f"   {1e3 * result.time:.0f} ms of the solve, without set-up\n")

assert sweeps.natural_map > 1e-6
assert direct.converged

# %%
ax = cs.plots.convergence({"gauss_seidel": sweeps, "bpp": direct})
ax.set_xscale("symlog", linthresh=1)
ax.set_title("a chain on a winch")
plt.show()

# %% [markdown]
# 2,000 sweeps are far from it, and each further digit takes more. An iteration of `bpp` is a whole
# solve. Friction is bounded by ±μ times a normal impulse that is
# itself unknown; so each solve has fixed bounds, those that the normal impulses of the solve before
# give (half way to them, with `averaging=0.5`). Within a solve there is no approximation:

# %%
info = direct.info
print(f"{direct.iterations} solves, {info['pivots']} pivots, engine {info['engine']}")

assert info["pivots"] < 2 * direct.iterations

# %% [markdown]
# About one pivot a solve: each begins with the index set of the one before, and most of the time
# little more than the values of the bounds has moved.
#
# ## One mixed LCP
#
# Below the contacts lies a mixed linear complementarity problem: every row is free (then its
# velocity is zero) or *tight*, at one of its bounds. Block principal pivoting guesses, solves the
# free rows, and turns over every row that turns out wrong.


# %%
def bounds(problem, impulses):
    """Bounds of every row, those of friction by the normal impulses."""
    lo, hi = [], []
    for group, own in zip(problem.sets, impulses, strict=True):
        low, high = np.full(own.shape, -np.inf), np.full(own.shape, np.inf)
        if group.name == "box":
            low[:], high[:] = (parameter.value for parameter in group.values)
        if group.name == "box_friction":
            high[:, 1:] = group.mu(len(own))[:, None] * own[:, :1]
            low[:, 0], low[:, 1:] = 0.0, -high[:, 1:]
        lo.append(low.ravel())
        hi.append(high.ravel())
    return np.concatenate(lo), np.concatenate(hi)


lo, hi = bounds(problem, direct.impulses)
result = cs.solve_mlcp(A, b, lo, hi)
print(result)
print("rows out of place, step by step:", result.history["infeasible"].astype(int).tolist())
print(f"tight: {np.mean(result.index_set != 0):.0%} of {len(b)} rows")

assert result.converged
assert result.pivots < 20
assert np.mean(result.index_set != 0) > 0.15

# %% [markdown]
# ## Engines
#
# Each step needs a factor of the free rows of A. How it comes about is the *engine*: factored anew
# in full, in the envelope after reordering, sparse; or the factor of all of A with the tight rows
# taken out one by one, as S3 does.

# %%
times = {}
for engine in cs.mlcp.engines():
    solvers = [cs.MlcpSolver(A, engine=engine) for _ in range(5)]  # new ones: some keep factors
    times[engine] = min(solver.solve(b, lo, hi).time for solver in solvers)
    print(f"{engine:12} {1e3 * times[engine]:6.2f} ms   {cs.mlcp.engines()[engine]}")

assert info["engine"] == "envelope"

# %%
fig, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.barh(list(times), [1e3 * seconds for seconds in times.values()], color="#1f5aa6")
ax.invert_yaxis()
ax.set_xlabel("ms, from all rows free")
plt.show()

# %% [markdown]
# The bars are of one machine and one problem. Before anything is timed, `auto` counts operations
# and takes the engine with the fewest: here not an update, but a sparse factor at every pivot.
#
# ## Fill
#
# Why that is so shows in the pattern. A chain couples each link with its neighbours alone. In the
# right order A is a narrow band, and so is its factor.

# %%
fig, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
full, entries = A.toarray(), []
for ax, name in zip(axes, ("natural", "reverse_cuthill_mckee", "minimum_degree"), strict=True):
    order = cs.mlcp.fill_order(A, name)
    B = full[np.ix_(order, order)]
    L = np.linalg.cholesky(B)
    ax.spy(abs(L) > 1e-14, markersize=0.5, color="#c8501e")
    ax.spy(np.tril(B), markersize=0.5, color="#1f5aa6")
    entries.append(np.sum(abs(L) > 1e-14))
    ax.set_title(f"{name}\n{entries[-1]:,} entries of L", fontsize=10)
plt.show()

assert max(entries[1:]) < entries[0]

# %% [markdown]
# Blue: A. Red: what a factor adds.
#
# ## Tight rows
#
# S3's engines take rows out of a factor; that pays as long as few are tight, by its measurements
# less than 15 %. How many are, over the steps of two scenes?

# %%
fig, ax = plt.subplots(figsize=(6.5, 3.5), layout="constrained")
steps, tight = range(0, 200, 10), {}
for name in ("winch", "vehicle"):
    shares = []
    for step in cs.scenarios.steps(name, steps):
        found = cs.solve(step, method="bpp", averaging=0.5, max_iterations=500)
        flat = np.concatenate([part.ravel() for part in step.b])
        one = cs.solve_mlcp(step.delassus(), flat, *bounds(step, found.impulses))
        shares.append(np.mean(one.index_set != 0))
    tight[name] = np.array(shares)
    print(f"{name:8}", " ".join(f"{share:.2f}" for share in shares))
    ax.plot(np.array(steps) / 60, 100 * tight[name], "o-", label=name)
ax.axhline(15, color="k", linewidth=0.8, linestyle="--")
ax.set_xlabel("time [s]")
ax.set_ylabel("tight rows [%]")
ax.legend()
plt.show()

assert tight["winch"].min() > 0.15
assert tight["vehicle"].min() < 0.01
assert 0.12 < tight["vehicle"].max() < 0.25

# %% [markdown]
# The chain slides on all its length. With the vehicle the share jumps from nothing to what S3 calls
# the limit and a little above, and back, within a few steps.
#
# ## Beginning with what is known
#
# The index set of a solved problem is a good guess for the next one. Here all bodies get pushed a
# little.

# %%
solver = cs.MlcpSolver(A)
cold = solver.solve(b, lo, hi)
J, bodies = problem.J, problem.bodies
for push in (0.0, 1e-4, 1e-3, 1e-2):
    u = push * np.random.default_rng(0).normal(size=(problem.bodies_count + 1, 6))
    u[-1] = 0.0  # the fixed world
    moved = [
        np.einsum("ksmd,ksd->km", own, u[pairs]).ravel()
        for own, pairs in zip(J, bodies, strict=True)
    ]
    changed = b + np.concatenate(moved)
    pivots = [solver.solve(changed, lo, hi, initial=initial).pivots for initial in (None, cold)]
    assert pivots[1] < 0.2 * pivots[0]
    print(f"bodies pushed by {push:6} m/s: {pivots[0]} pivots from all free, {pivots[1]} from here")

# %% [markdown]
# ## Where a direct solver needs help
#
# A box on four corners: four normal impulses share its weight in no unique way, and A is singular.
# The first refusal is about the friction cone, for which bounds of rows are not enough; the second
# one, with box friction, is about A.

# %%
box = cs.scenarios.box_stack(1)
try:
    cs.solve(box, method="bpp")
except ValueError as error:
    refusal = str(error)

print(refusal)
assert "box_friction" in refusal

# %%
options = {"bodies": box.bodies, "sets": cs.sets.box_friction(0.5)}
try:
    cs.solve(cs.Problem(box.J, box.Minv, box.b, **options), method="bpp")
except ValueError as error:
    refusal = str(error)

print(refusal)
assert "not positive definite" in refusal
soft = cs.solve(cs.Problem(box.J, box.Minv, box.b, **options, compliance=1e-8), method="bpp")
print("normal impulses:", soft.impulses[:, 0].round(6))

assert soft.converged
assert np.allclose(soft.impulses[:, 0], soft.impulses[0, 0])

# %% [markdown]
# A compliance, added to the diagonal, makes the answer unique. It is what S3 does, with 1e-6 to
# 1e-10, and what an engine calls constraint force mixing.
