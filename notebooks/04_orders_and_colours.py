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
# # Orders and colours
#
# A sweep visits every contact once. Who comes first, and who sees whose new impulses, decides how
# fast the sweeps converge and what several threads can do at once. This notebook looks at orders,
# draws them, and measures what they cost in sweeps. Every claim is an experiment, and is asserted
# in a cell beside it; change the numbers and see.

# %%
import matplotlib.pyplot as plt
import numpy as np

import contactsolve as cs

plt.rcParams["figure.dpi"] = 150

# %% [markdown]
# ## What an order is
#
# An order is a list of *stages*, one after another. What the contacts of a stage see of each other
# is the stage's kind:
#
# | kind | within the stage |
# | --- | --- |
# | sequential | every contact sees the ones before it: Gauss-Seidel |
# | simultaneous | all see the values from before the stage: Jacobi |
# | independent | no two share a moving body, so that both of the above are the same: a colour |
# | concurrent | parts at once, sequential inside, blind to each other |
# | disjoint | parts at once, sequential inside, no two sharing a moving body: nothing is hidden |
#
# `describe` tells what an order makes of a problem, `plots.order` draws it.

# %%
grid = cs.scenarios.ball_grid(4)
cs.orders.describe(grid, "colored")

# %%
cs.plots.order(grid, "colored")
plt.show()

stage = cs.orders.describe(grid, "colored").stage
for ball in range(grid.bodies_count):
    own = stage[(grid.bodies == ball).any(axis=1)]
    assert len(set(own)) == len(own)

# %% [markdown]
# Left: balls and their contacts, coloured by stage. At no ball do two edges of one colour meet.
# Middle: the sizes of the stages. Right: the blocks of A, contacts as they are visited; below the
# diagonal a contact sees what has been computed in this sweep, above it what the last sweep left.
# The squares on the diagonal are empty but for the diagonal itself: contacts of one colour have
# nothing to do with each other, and may be visited at once by any number of threads.
#
# ## The ground is no neighbour
#
# All balls of the lowest layer touch the ground. It does not move, so an impulse on it changes
# nothing for anybody else. S1 counts it as a body nevertheless, and each contact with it needs a
# colour of its own:

# %%
with_ground = cs.scenarios.ball_grid(24, ground="body")
colours = []
for name, order in {
    "greedy, ground as a body": cs.orders.colored(fixed_as_body=True),
    "balanced, ground as a body": cs.orders.colored("balanced", fixed_as_body=True),
    "greedy": cs.orders.colored(),
}.items():
    found = cs.orders.describe(with_ground, order)
    sizes = np.sort(found.color_sizes)[::-1]
    colours.append(found.colors)
    print(f"{name:27} {found.colors:4} colours of {sizes[0]}, {sizes[1]}, ... {sizes[-1]}")

assert colours == [576, 580, 6]

# %% [markdown]
# 576 and 580 colours are S1's figures (section 7.3); six are what this grid needs. With hundreds of
# colours S1 merges those that are too small to share into one *unsafe* stage. Its contacts do
# conflict: they run blind to each other, in ranges, or in groups of what depends on each other.

# %%
relaxed = cs.orders.relaxed(64, fixed_as_body=True)
print(cs.orders.describe(with_ground, relaxed))

# %% [markdown]
# ## What being blind costs
#
# S1's protocol: run Gauss-Seidel for 50 sweeps, note the quality γ, and let every other method run
# until it is as good. The fewer new values a contact sees, the more sweeps it takes.

# %%
scene = cs.scenarios.ball_grid(8, ground="body")
methods = [
    cs.Method("gauss_seidel", order="natural", label="Gauss-Seidel"),
    cs.Method("gauss_seidel", order=cs.orders.colored(), label="coloured"),
    cs.Method("gauss_seidel", order=cs.orders.relaxed(64, fixed_as_body=True), label="relaxed"),
    cs.Method("gauss_seidel", order="ranges", parts=8, label="8 ranges"),
    cs.Method("gauss_seidel", order="ranges", parts=128, label="128 ranges"),
    cs.Method("gauss_seidel", order="ranges", parts=704, label="704 ranges"),
    cs.Method("jacobi", label="Jacobi"),
]
until = cs.quality_of(cs.Method("gauss_seidel", order="natural", r_factor=5.0), iterations=50)
table = cs.compare(scene, methods, until=until, repeats=1, r_factor=5.0)
for method, row in zip(methods, table, strict=True):
    told = {key: value for key, value in method.options.items() if key in ("order", "parts")}
    order = cs.orders.describe(scene, **{"order": "auto", **told}, method=method.method)
    print(f"{row.method:13} {row.iterations:3} sweeps   {order!r}")

sweeps = {row.method: row.iterations for row in table}
assert sweeps["coloured"] <= 1.1 * sweeps["Gauss-Seidel"]
blind = [sweeps[name] for name in ("Gauss-Seidel", "8 ranges", "704 ranges", "Jacobi")]
assert blind == sorted(blind)
assert sweeps["704 ranges"] == sweeps["Jacobi"]

# %% [markdown]
# The colours change the order and nothing else: they cost a few sweeps. Ranges that are blind to
# each other turn into Jacobi as there are more of them.
#
# ## Where being blind is right
#
# A box at rest on the ground has four contacts with it. Gauss-Seidel serves them one after another,
# and the first carries more of the weight than the last (S1 Fig. 3.1). Contacts between the same
# two bodies are a *contact set*; visited as one, each blind to the others, they are treated alike.

# %%
box = cs.scenarios.box_stack(1)
for kind in ("sequential", "simultaneous"):
    order = cs.orders.contact_sets(inside=kind)
    one = cs.solve(box, method="gauss_seidel", order=order, rtol=1e-10)
    print(f"{kind:13} {one.status}, normal impulses:", one.impulses[:, 0].round(5))
    share = one.impulses[:, 0] / one.impulses[:, 0].sum()
    assert share[0] > 1.2 * share[3] if kind == "sequential" else np.allclose(share, 0.25)

# %% [markdown]
# ## Parts
#
# Colours need all threads to meet after each of them. A partition cuts the scene into parts; what
# lies inside a part is nobody else's business, and only the contacts between parts are coloured.

# %%
wall = cs.scenarios.ball_grid((16, 2, 6))
order = cs.orders.partition("slices")
labels = cs.orders.labels(wall, "slices", 4)
print(cs.orders.partition_quality(wall, labels))
cs.plots.order(wall, order, parts=4)
plt.show()

# %% [markdown]
# It is Gauss-Seidel in another order, and the result depends on the parts and never on the threads:

# %%
order = cs.orders.partition("slices")
options = {"order": order, "parts": 4, "max_iterations": 20, "rtol": None, "atol": None}
options["method"] = "gauss_seidel"
runs = [cs.solve(wall, threads=threads, **options).impulses for threads in (1, 2, 3)]
print("the same bits:", all((run == runs[0]).all() for run in runs))

assert all((run == runs[0]).all() for run in runs)

# %% [markdown]
# ## There and back
#
# `symmetric_gauss_seidel` sweeps forwards and backwards in turn. With the scheme `symmetric_half`
# each sweep keeps the products that the next one needs: the same iterates for half the products,
# the diagonal and the first sweep apart.

# %%
common = {"method": "symmetric_gauss_seidel", "max_iterations": 40, "rtol": None, "atol": None}
whole = cs.solve(grid, scheme="matrix", **common)
half = cs.solve(grid, scheme="symmetric_half", **common)
print("largest difference:", f"{np.abs(whole.impulses - half.impulses).max():.1e} N s")
share = half.info["block_products"] / whole.info["block_products"]
print(f"products of blocks: {share:.2f} of those of the whole rows")

assert np.abs(whole.impulses - half.impulses).max() < 1e-12
assert 0.5 < share < 0.6

# %% [markdown]
# ## Steps that mind themselves
#
# Jacobi's trouble is that contacts overshoot together. A smaller R for all is slow for those that
# did not. With `r_factor="balanced"` each coupled set judges its own last two changes: those that
# turned back take shorter steps, those that creep longer ones. Below, Jacobi gets there with it and
# not without, and Gauss-Seidel gets there sooner.

# %%
problem = cs.io.read_fclib(cs.data.path("Box_Stacks-i0122-82-5.reduced_local.hdf5"))
runs = {
    f"{method}, {factor}": cs.solve(
        problem, method=method, r_factor=factor, rtol=1e-8, max_iterations=400, check_every=1
    )
    for method in ("jacobi", "gauss_seidel")
    for factor in ("local", "balanced")
}
ax = cs.plots.convergence(runs)
ax.set_title("A stack of boxes: one factor of R for ever, or one that follows the residuals")
plt.show()
for name, run in runs.items():
    print(f"{name:24} {run.status:15} {run.iterations:4} sweeps, {run.info['rollbacks']} rollbacks")

assert [run.converged for run in runs.values()] == [False, True, True, True]
assert runs["gauss_seidel, balanced"].iterations < runs["gauss_seidel, local"].iterations
