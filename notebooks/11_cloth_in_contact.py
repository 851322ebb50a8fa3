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
# # Cloth in contact
#
# A cloth that has `collisions` meets obstacles and itself. A step first moves it as if nothing were
# there. Then contacts change its velocities, until a certificate proves that nothing has passed
# through anything on the way (S5, 3.4). This notebook drops a sheet on a sphere, checks the
# certificate and the momentum by other means, and makes a film. Every claim is asserted beside it.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Image

import contactsolve as cs

plt.rcParams["figure.dpi"] = 150

# %% [markdown]
# ## A sheet falls on a sphere
#
# `cloth.scenes` has cloths that are ready to run, and `times` tells how long and in which steps.
# `run` can record every step; the report of each is in `info`.

# %%
print(cs.cloth.scenes.names())
cloth = cs.cloth.scenes.sheet(27)
_, h = cs.cloth.scenes.times("sheet")
path = Path(tempfile.mkdtemp()) / "sheet.vtkhdf"

reports = []
cloth.run(0.8, h, record=path, callback=lambda made: reports.append(made.info))
recording = cs.cloth.Recording(path)
assert all(report["free"] for report in reports)

fig, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
for ax, frame in zip(axes, (0, 60, len(recording) - 1), strict=True):
    at = recording[frame]
    low, high = (-0.45, -0.45, 0.2), (0.45, 0.45, 0.85)
    cs.plots.cloth(cloth, positions=at.positions, time=at.time, window=(low, high), ax=ax)
    ax.set_title(f"{at.time:.2f} s", fontsize=9)
plt.show()

# %% [markdown]
# The colours are the parts of the matrix, each of which one thread works on at a time. Contacts are
# those primitives that are nearer than the thickness; impacts, which stopping impulses are for, are
# few.

# %%
times = recording.times[1:]
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained")
for key in ("contacts", "impacts"):
    left.plot(times, [report[key] for report in reports], label=key)
left.set(xlabel="time [s]", ylabel="in a step")
left.legend(fontsize=8)
phases = ("numerics", "candidate", "narrow", "response", "certificate")
spent = [[1e3 * report[f"{phase}_seconds"] for report in reports] for phase in phases]
right.stackplot(times, spent, labels=phases)
right.set(xlabel="time [s]", ylabel="time of a step [ms]")
right.legend(fontsize=7, loc="upper left")
plt.show()
assert max(report["contacts"] for report in reports) > 100

# %% [markdown]
# ## The certificate
#
# `info["free"]` says that no vertex met a face and no edge an edge, on the straight lines of the
# step. The recording has both ends of these lines. Boxes of the motion give all pairs that may
# meet, and `cs.bvh.ccd` misses none of their contacts: there are none.

# %%
(obstacle,) = cloth.obstacles
body = cs.bvh.Tree(obstacle.vertices, obstacle.faces)
sheet = cs.bvh.Tree(recording[0].positions, cloth.faces)


def meetings(x0, x1):
    """Count tests and hits of cloth with obstacle and with itself."""
    sheet.refit(x0, x1)
    begin, end = (np.concatenate([x, obstacle.vertices]) for x in (x0, x1))
    n, own, other = len(x0), sheet.edges, body.edges + len(x0)
    pairs = [
        ("vertex_face", sheet.pairs(), np.arange(n), cloth.faces),
        ("vertex_face", sheet.pairs(body), np.arange(n), obstacle.faces + n),
        ("vertex_face", body.pairs(sheet), n + np.arange(len(obstacle.vertices)), cloth.faces),
        ("edge_edge", sheet.pairs(kind="edge_edge"), own, own),
        ("edge_edge", sheet.pairs(body, "edge_edge"), own, other),
    ]
    tests, hits = 0, 0
    for kind, found, first, second in pairs:
        indices = np.column_stack([first[found[:, 0]], second[found[:, 1]]])
        tests += len(indices)
        hits += int(cs.bvh.ccd(kind, begin, end, indices=indices).hit.sum())
    return tests, hits


frames = range(0, len(recording) - 1, 8)
counts = [meetings(recording[k].positions, recording[k + 1].positions) for k in frames]
tests, hits = np.sum(counts, axis=0)
print(f"{len(counts)} steps: {tests} pairs, {hits} meet")
assert tests > 10_000
assert hits == 0

# Without collisions, the same sheet passes through the sphere.
free = cs.cloth.Cloth(
    recording[0].positions, cloth.faces, density=0.2, young=200.0, bending=2e-5, damping=0.01
)
passed = 0
for _ in range(40):
    before = free.positions
    free.step(h)
    passed += meetings(before, free.positions)[1]
assert passed > 0

# %% [markdown]
# ## Momentum
#
# Contacts of the cloth with itself cannot move its centre of mass. Gravity and the impulses of the
# obstacle, which `info` tells, are all that changes its momentum.

# %%
pull = cloth.masses.sum() * np.array([0.0, 0.0, -9.81])
impulses = np.cumsum([report["obstacle_impulses"][0] for report in reports], axis=0)
expected = impulses + times[:, None] * pull
momenta = np.array([cloth.masses @ recording[k + 1].velocities for k in range(len(times))])

fig, ax = plt.subplots(figsize=(6, 2.8), layout="constrained")
ax.plot(times, momenta[:, 2], label="of the cloth", linewidth=3, alpha=0.5)
ax.plot(times, expected[:, 2], "--", color="k", linewidth=1, label="gravity and impulses")
ax.set(xlabel="time [s]", ylabel="vertical momentum [N s]")
ax.legend(fontsize=8)
plt.show()
assert np.abs(momenta - expected).max() < 1e-4 * np.abs(impulses).max()

# %% [markdown]
# ## A film
#
# `cloth_motion` draws the frames of a recording. In a notebook, `cs.plots.cloth_widget` shows the
# same to be turned with the mouse; it needs k3d: `pip install 'contactsolve[widget]'`.

# %%
film = path.with_suffix(".gif")
window = ((-0.4, -0.4, 0.15), (0.4, 0.4, 0.85))
figure, ax = plt.subplots(figsize=(3.2, 2.8), dpi=100)
figure.subplots_adjust(0, 0, 1, 0.93)
motion = cs.plots.cloth_motion(cloth, recording, 24, speed=0.4, window=window, pixels=260, ax=ax)
motion.save(film, writer="pillow", dpi=100)
plt.close(figure)
assert film.stat().st_size < 2_000_000
Image(filename=film)
