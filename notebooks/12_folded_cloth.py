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
# # One step of a folded cloth as a problem
#
# With `response="problem"` the contacts of a step of cloth are one contact problem, of the same
# kind as those of rigid bodies: its bodies are vertices with three degrees of freedom, and a
# contact has four partners, a vertex and those of a face, or those of two edges.
# `cs.scenarios.folded_cloth` is such a problem: a sheet folded like an accordion, which falls on
# the floor with its layers on each other. This notebook looks at it and compares methods. Every
# claim is asserted beside it.

# %%
import matplotlib.pyplot as plt
import numpy as np

import contactsolve as cs

plt.rcParams["figure.dpi"] = 150
GRAVITY, STEP = 9.81, 5e-3

# %% [markdown]
# ## The problem
#
# Each contact is shared by up to four vertices, and a vertex has many contacts: there are more
# unknown impulses than velocities, so that the impulses are not unique.

# %%
problem = cs.scenarios.folded_cloth(2, cells=5, rows=4)
print(problem)
A = problem.delassus().toarray()
blocks = np.abs(A).reshape(len(A) // 3, 3, -1, 3).sum(axis=(1, 3)) > 0
rank = np.linalg.matrix_rank(A)
print(f"{len(A)} unknowns, rank {rank}; {blocks.sum(axis=1).mean():.0f} blocks in a row of A")
assert rank <= 3 * problem.bodies_count < len(A)

# A vertex has one mass in all directions: the diagonal blocks are multiples of the identity.
diagonal = A.reshape(len(A) // 3, 3, -1, 3)[range(len(A) // 3), :, range(len(A) // 3)]
scale = diagonal[:, 0, 0]
np.testing.assert_allclose(diagonal, scale[:, None, None] * np.eye(3), atol=1e-12 * scale.max())

fig, ax = plt.subplots(figsize=(3.6, 3.6), layout="constrained")
ax.spy(blocks, markersize=0.4, color="tab:blue")
ax.set_title("blocks of A", fontsize=9)
plt.show()

# %% [markdown]
# ## Methods
#
# The weight of each layer goes through all layers below. A sweep of Gauss–Seidel passes it on from
# contact to contact, so that more layers need many more sweeps. Acceleration helps, and an interior
# point method takes about as many iterations for twelve layers as for two, each of which is a
# factorization. Jacobi's sweeps diverge or crawl: a vertex has dozens of contacts, and each of them
# corrects its velocity as if it were alone.

# %%
METHODS = ("gauss_seidel", "nesterov", "interior_point")
LAYERS = (2, 4, 8, 12)
stacks = {layers: cs.scenarios.folded_cloth(layers, cells=5, rows=4) for layers in LAYERS}
results = {
    (method, layers): cs.solve(stack, method=method, max_iterations=20_000, check_every=1)
    for layers, stack in stacks.items()
    for method in METHODS
}
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
for method in METHODS:
    own = [results[method, layers] for layers in LAYERS]
    left.loglog(LAYERS, [result.iterations for result in own], "o-", label=method)
    history = own[-1].history
    right.semilogy(history["iteration"], history["natural_map"], label=method)
left.set(xlabel="layers", ylabel="iterations", xticks=LAYERS, xticklabels=LAYERS)
left.minorticks_off()
right.set(xlabel="iteration", ylabel="natural map [N s]", title=f"{LAYERS[-1]} layers")
left.legend(fontsize=8)
plt.show()

counts = {key: result.iterations for key, result in results.items()}
assert all(result.converged for result in results.values())
assert counts["gauss_seidel", 12] > 4 * counts["gauss_seidel", 4]
assert counts["nesterov", 12] < counts["gauss_seidel", 12] / 3
assert max(counts["interior_point", layers] for layers in LAYERS) <= 20

jacobi = cs.solve(stacks[8], method="jacobi", max_iterations=500)
print("jacobi:", jacobi.message)
assert not jacobi.converged

# %% [markdown]
# ## What is unique
#
# Methods find different impulses, and the same relative velocities at the contacts, A λ + b.

# %%
first, second = (results[method, 4] for method in ("gauss_seidel", "interior_point"))
apart = np.abs(first.impulses - second.impulses).max() / np.abs(second.impulses).max()
difference = first.residual_velocities - second.residual_velocities
velocities = np.abs(difference).max() / (GRAVITY * STEP)
print(
    f"impulses {apart:.1e}, velocities {velocities:.1e} apart, relative to the largest, and to gh"
)
assert apart > 1e-3
assert velocities < 1e-4
