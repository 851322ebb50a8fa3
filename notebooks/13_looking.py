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
# # Looking at worlds
#
# A world is drawn by `cs.plots.scene`. A run that is recorded in a file keeps the contacts of each
# of its frames: `snapshots` and `film` draw them, and `scene_widget` shows them in a notebook, to
# be turned with the mouse, with a slider over the time. Every claim is asserted beside it.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Image

import contactsolve as cs

plt.rcParams["figure.dpi"] = 100
folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## Forces in an arch
#
# `contacts="forces"` draws lines between the centres of bodies that touch; their width and colour
# show the normal impulse of the step. `contacts="arrows"` draws the impulse at each contact, with
# friction, on the second of its bodies. Both feet of the arch carry its weight together.

# %%
arch = cs.dynamics.scenes.arch()
arch.run(20)
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
cs.plots.scene(arch, contacts="forces", ax=left)
cs.plots.scene(arch, contacts="arrows", ax=right)
plt.show()

contacts = arch.contacts
on_ground = (contacts.bodies == -1).any(axis=1)
carried = contacts.impulses[on_ground, 0].sum() / arch.time_step
weight = 9.81 * arch.masses.sum()
print(f"the ground carries {carried:.1f} N, the arch weighs {weight:.1f} N")
assert abs(carried - weight) < 1e-3 * weight

# %% [markdown]
# ## Force chains in a hopper
#
# Grains flow out of a hopper. `run` writes a frame every ten steps; `Recording` reads them. All
# pictures of a run have one scale: by default, the median of the frames' largest impulses has the
# widest line, because impacts are many times larger than the impulses of bodies at rest.

# %%
hopper = cs.dynamics.scenes.hopper(200)
hopper.run(300, file=folder / "hopper.h5", every=10)
recording = cs.dynamics.Recording(folder / "hopper.h5")
fig, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
cs.plots.snapshots(hopper, recording, [2, 16, 30], contacts="forces", axes=list(axes))
plt.show()

# %% [markdown]
# Few contacts carry most of the forces: that is why the lines are seen as chains.

# %%
share = np.sort(np.concatenate([frame.contacts.impulses[:, 0] for frame in recording]))[::-1]
few = np.searchsorted(np.cumsum(share), share.sum() / 2) + 1
print(f"{few} of {len(share)} contacts have half of the sum of all normal impulses")
assert few < len(share) / 8

# %% [markdown]
# ## A film
#
# `film` writes a GIF, or an MP4 if ffmpeg is there. Each frame shows the row of the record that is
# nearest to its time; here a second of the film is a tenth of a second of the hopper.

# %%
path = cs.plots.film(
    recording, folder / "hopper.gif", contacts="forces", speed=0.1, frame_rate=10, size=(360, 340)
)
assert path.stat().st_size < 2_000_000
Image(filename=path)

# %% [markdown]
# ## A widget with a slider
#
# `scene_widget` needs k3d: `pip install 'contactsolve[widget]'`. Its objects have their values at
# all times of the run, by which the slider in the panel *Controls* (*Animation*) and the
# attribute `time` choose. Bodies are translucent where contacts or joints are to be seen in them.

# %%
ragdoll = cs.dynamics.scenes.ragdolls(1)
record = ragdoll.run(240, ("time", *cs.dynamics.Record.of_bodies), every=8)
widget = cs.plots.scene_widget(ragdoll, record)
assert np.allclose(widget.get_time_series_times(), record["time"])
widget.time = float(record["time"][-1])
widget

# %% [markdown]
# Its HTML page needs no notebook, and the same picture can be drawn without k3d. The dots are the
# joints, the short lines the axes of elbows and knees.

# %%
(folder / "ragdoll.html").write_text(widget.get_snapshot())
fig, axes = plt.subplots(1, 3, figsize=(10, 4), layout="constrained")
cs.plots.snapshots(ragdoll, record, 3, view=(12, -60), axes=list(axes))
plt.show()
print(f"joints are apart by {ragdoll.joints.errors[:, 0].max():.1e} m at most")
assert ragdoll.joints.errors[:, 0].max() < 5e-3

# %%
recording.close()
