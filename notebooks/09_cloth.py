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
# # Cloth
#
# A triangle mesh with membrane and bending stiffness moves by implicit Euler steps. Each step solves
# one symmetric system of 3 × 3 blocks by conjugate gradients (S5). This notebook lets a sheet hang,
# takes the system of a step out of it, and solves that with every preconditioner. Every claim is
# asserted beside it.

# %%
import matplotlib.pyplot as plt
import numpy as np

import contactsolve as cs

plt.rcParams["figure.dpi"] = 150

# %% [markdown]
# ## A sheet that hangs from two corners
#
# One square metre of 0.2 kg. With a step of 1/60 s it swings down and comes to rest.

# %%
vertices, faces = cs.cloth.sheet(31, 31, 1.0)
corners = [0, 30]
cloth = cs.cloth.Cloth(
    vertices, faces, density=0.2, young=1000.0, bending=1e-4, damping=0.02, attach=corners
)
still, energies, times = [], [], []
for _ in range(4):
    for _ in range(15):
        cloth.step(1 / 60)
        times.append(cloth.time)
        energies.append(sum(cloth.energy()))
    still.append(cloth.positions)

fig = plt.figure(figsize=(9, 2.8), layout="constrained")
for k, positions in enumerate(still):
    ax = fig.add_subplot(1, 4, k + 1, projection="3d")
    ax.plot_trisurf(*positions.T, triangles=faces, color="tab:blue", edgecolor="none", alpha=0.9)
    ax.set_title(f"{(k + 1) * 0.25:.2f} s", fontsize=9)
    ax.set(xlim=(-0.2, 1.2), ylim=(-0.2, 1.2), zlim=(-1.4, 0.1))
    ax.set(xticks=(0, 0.5, 1), yticks=(0, 0.5, 1), zticks=(-1, -0.5, 0))
    ax.set_box_aspect((1.4, 1.4, 1.5))
    ax.tick_params(labelsize=5, pad=-2)
    ax.view_init(15, -60)
plt.show()

# The corners stay, and implicit Euler takes energy out of the motion.
np.testing.assert_array_equal(still[-1][corners], vertices[corners])
assert energies[-1] < energies[0]

# %% [markdown]
# ## The system of a step
#
# `system(h)` returns the matrix M + h D + h² K and the right-hand side. SciPy takes the matrix as a
# linear operator, or as a sparse array.

# %%
sheet, triangles = cs.cloth.sheet(30, 30, 1.0)
stretched = cs.cloth.Cloth(
    1.05 * sheet,
    triangles,
    rest=sheet,
    density=0.2,
    young=1000.0,
    bending=1e-4,
    gravity=(0, 0, 0),
)
A, b = stretched.system(1 / 30)
print(A, A.info["external"], "vertices of other parts that each part is coupled with")

values = np.linalg.eigvalsh(A.to_scipy().toarray())
assert values[0] > 0
print(f"condition {values[-1] / values[0]:.2g}")

# %% [markdown]
# ## Preconditioners
#
# The preconditioner decides how many iterations there are, and what each of them costs. A random
# right-hand side contains the soft modes, too, which a sheet that is released does not.

# %%
right = np.random.default_rng(0).normal(size=A.shape[0])
results = {
    kind: cs.sparse.cg(A, right, M=kind, rtol=1e-8, positions=stretched.positions)
    for kind in cs.sparse.preconditioners()
}
fig, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
for kind, result in results.items():
    assert result.status == "converged"
    norm = result.history["preconditioned_norm"]
    ax.semilogy(norm / norm[0], label=f"{kind}: {result.iterations}")
ax.set_xlabel("iteration")
ax.set_ylabel("residual in the norm of M, relative")
ax.set_xscale("symlog", linthresh=10)
ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

iterations = {kind: result.iterations for kind, result in results.items()}
assert iterations["cholesky"] < iterations["multigrid"] < iterations["ssor"]
assert iterations["ssor"] < iterations["block_ssor"] < iterations["jacobi"]
print(cs.sparse.cg(A, right, positions=stretched.positions).preconditioner)

# %% [markdown]
# ## What single precision claims
#
# An iteration in single precision updates its residual by a recurrence, which drifts away from
# b − A x. `cs.sparse.cg` replaces it with the true residual whenever it has fallen far enough, and
# only that decides when the solve ends. The dots are where it was computed.

# %%
fig, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
for dtype, colour in (("float64", "tab:blue"), ("float32", "tab:orange")):
    result = cs.sparse.cg(A, right, M="jacobi", dtype=dtype, rtol=1e-10)
    history = result.history
    size = np.linalg.norm(right)
    label = f"{dtype}: {result.iterations} iterations"
    ax.semilogy(history["claimed_residual"] / size, color=colour, linewidth=1, label=label)
    ax.semilogy(history["iteration"], history["residual"] / size, "o", color=colour, markersize=4)
    assert np.linalg.norm(right - A @ result.x) <= 1.001e-10 * size
ax.set_xlabel("iteration")
ax.set_ylabel("residual, relative")
ax.legend(fontsize=8)
plt.show()
