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
# # Devices
#
# Sweeps can run on a GPU: `device="cuda"`. This notebook runs on a GPU if there is one, and on the
# processor if there is none, where iterations and impulses are the same, and times say nothing
# about a GPU. Every claim is asserted beside it.

# %%
import matplotlib.pyplot as plt
import numpy as np

import contactsolve as cs

plt.rcParams["figure.dpi"] = 150

DEVICE = "cuda" if cs.cuda.available() else "cpu"
print(DEVICE, "|", cs.cuda.devices() or cs.cuda.why_not())

# %% [markdown]
# ## The same solve elsewhere
#
# Nothing but the option changes. The processor packs the problem, the device sweeps over a copy of
# it, and whether an iterate has converged is judged with J and M⁻¹ as given, in double precision.
# `info["kernel"]` ends with how the sweeps are launched.

# %%
grid = cs.scenarios.ball_grid(10)
options = {"method": "gauss_seidel", "order": "colored", "rtol": 1e-6}
here = cs.solve(grid, **options)
there = cs.solve(grid, **options, device=DEVICE)
print(here.iterations, there.iterations, there.info["kernel"])

assert here.converged
assert there.converged
scale = np.abs(here.impulses).max()
assert np.abs(there.impulses - here.impulses).max() < 1e-2 * scale

# %% [markdown]
# ## What there is to do at once
#
# A device needs thousands of threads. Gauss-Seidel by colours has as many as a colour has contacts:
# plenty in a grid, where six colours hold all, and in S4's pyramid of discs. In a dense packing a
# ball touches twelve others: there are twice as many colours, and a device waits between them.

# %%
scenes = {
    "grid 10³": grid,
    "packing 10³": cs.scenarios.ball_grid(10, layout="cannonball"),
    "pyramid, 60 layers": cs.scenarios.disc_pyramid(60),
}
fig, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
for name, problem in scenes.items():
    sizes = np.sort(cs.orders.describe(problem, "colored").color_sizes)[::-1]
    assert sizes.sum() == problem.contacts
    label = f"{name}: {problem.contacts:,} contacts"
    ax.plot(np.arange(1, len(sizes) + 1), sizes, "o-", markersize=4, label=label)
    if name.startswith("packing"):
        assert len(sizes) > 6
ax.set_yscale("log")
ax.set_xlabel("colour, the largest first")
ax.set_ylabel("contacts at once")
ax.legend(fontsize=8)
plt.show()

# %% [markdown]
# ## Jacobi, which has all at once
#
# S4 computes on a GPU what it can: Jacobi's method, in which every contact is independent of all
# others. Its price is averaging. Each contact takes 1/adjacent of its change, where *adjacent*
# counts the contacts that share a disc with it. How the residual falls, sweep by sweep:

# %%
pyramid = cs.scenarios.disc_pyramid(10)
METHODS = {
    "Jacobi, 1/adjacent": {"method": "jacobi", "averaging": "adjacent"},
    "Gauss-Seidel, coloured": {"method": "gauss_seidel", "order": "colored"},
}
solves = {
    name: cs.solve(
        pyramid, **own, device=DEVICE, rtol=1e-4, max_iterations=5000, record=("natural_map",)
    )
    for name, own in METHODS.items()
}
fig, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
for name, result in solves.items():
    looked = np.isfinite(result.history["natural_map"])  # others were not evaluated
    ax.plot(
        result.history["iteration"][looked],
        result.history["natural_map"][looked],
        "o-",
        markersize=3,
        label=name,
    )
    assert looked.sum() > 3
ax.set_xscale("log")
ax.set_yscale("log")
ax.set_xlabel("sweeps")
ax.set_ylabel("natural map")
ax.legend(fontsize=8)
plt.show()

jacobi, colored = solves.values()
print(jacobi.iterations, "sweeps of Jacobi,", colored.iterations, "of Gauss-Seidel")
assert jacobi.converged
assert colored.converged
assert jacobi.iterations > 3 * colored.iterations

# %% [markdown]
# Without averaging Jacobi leaves the range of numbers here: S4's sum of impulses "would continue to
# grow forever". `rollback=0` lets it.

# %%
free = {"method": "jacobi", "rtol": None, "atol": None, "rollback": 0, "device": DEVICE}
sums = [
    np.linalg.norm(cs.solve(pyramid, **free, max_iterations=count).impulses, axis=1).sum()
    for count in (10, 40, 160)
]
print([f"{total:.2g}" for total in sums])

assert sums[2] > 10 * sums[1] > 10 * sums[0]

# %% [markdown]
# ## Sweeps between two looks
#
# A device hands back one report after several sweeps. Every look costs a wait, so that checks in
# each sweep are what a device does worst. `check_every` says how many sweeps lie between two; a
# solve makes a few sweeps too many at most.

# %%
counts = {}
for check_every in (1, 10, 50):
    result = cs.solve(grid, **options, device=DEVICE, check_every=check_every)
    counts[check_every] = result.iterations
    print(f"checked every {check_every:2}: {result.iterations} sweeps")

least = counts[1]
for check_every, made in counts.items():
    assert made % check_every == 0
    assert least <= made < least + check_every

# %% [markdown]
# ## From step to step
#
# A simulation on a GPU has b there, and reads the impulses there. `on_device=True` leaves them
# where they are, as `result.device_impulses`, which PyTorch, CuPy, JAX and Numba read in place; b
# and the impulses to start from are read where they are as well. The next step starts from the last
# one, with fewer sweeps than from zero.

# %%
solver = cs.Solver(grid, **options, device=DEVICE)
stay = {"on_device": DEVICE != "cpu"}


def velocities(step):
    """Return b of a step, on the device if there is one."""
    b = (1 + 0.02 * step) * grid.b
    return cs.cuda.DeviceArray.of(DEVICE, b) if stay["on_device"] else b


result = solver.solve(**stay)
from_zero = solver.solve(b=velocities(1), **stay).iterations
for step in (1, 2, 3):
    result = solver.solve(b=velocities(step), initial=result, **stay)
    print(f"step {step}: {result.iterations} sweeps; step 1 from zero: {from_zero}")
    assert result.converged
    assert result.iterations < from_zero

if stay["on_device"]:
    print(result.device_impulses)
    assert np.array_equal(result.device_impulses.numpy(), result.impulses)

# %% [markdown]
# How the kernels work, what they read, and how to measure them: `docs/cuda.md`.
