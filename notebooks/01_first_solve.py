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
# # A first solve
#
# A contact problem asks for impulses: how hard do bodies push on each other where they touch, so
# that none sinks into another and friction is what Coulomb says? This notebook solves one from
# arrays, reads how the solver got there, compares methods, looks inside while it runs, and ends
# with a real problem from a file. What the text says about an outcome is asserted in a cell beside
# it; change the numbers and see.

# %%
import matplotlib.pyplot as plt
import numpy as np

import contactsolve as cs

plt.rcParams["figure.dpi"] = 150

# %% [markdown]
# ## A cube slides over the ground
#
# A cube of 1 kg and 1 m slides along x at 2 m/s. We look at one time step of 10 ms.
#
# Four numbers describe a contact: a point, a normal, and the two bodies. The fixed world has the
# number −1. The normal points from the first body to the second, here from the ground to the cube.
# `contact_jacobian` makes from them the blocks that turn body velocities into the velocity of the
# second body relative to the first, along the normal and two tangents.

# %%
corners = np.array([[-0.5, -0.5, 0.0], [0.5, -0.5, 0.0], [0.5, 0.5, 0.0], [-0.5, 0.5, 0.0]])  # [m]
normals = np.tile([0.0, 0.0, 1.0], (4, 1))
bodies = np.tile([-1, 0], (4, 1))
J = cs.contact_jacobian(corners, normals, bodies, positions=[[0.0, 0.0, 0.5]])
J.shape  # contacts, the two bodies of each, rows (normal and two tangents), degrees of freedom

# %% [markdown]
# The inverse mass has one row per body: 1/mass for the three directions, then 1/(moment of inertia)
# for the three axes; the moment of inertia of a cube is mass × edge² / 6.
#
# `b` is what the contact velocities *would be* after the step without any contact: the cube keeps
# its speed, and gravity adds g Δt downwards.
#
# `method` names what iterates. Here it is Gauss-Seidel, the field's usual method: it visits one
# contact after another, again and again, and gives each the impulse that it needs. Without a name
# the method is `auto`, which goes from one method to the next; the comparisons below have it, and
# the third notebook tells more.

# %%
mass, gravity, step, mu = 1.0, 9.81, 0.01, 0.5
Minv = np.array([[1 / mass] * 3 + [6 / mass] * 3])
velocity = np.array([2.0, 0.0, -gravity * step, 0.0, 0.0, 0.0])  # linear, then angular
b = J[:, 1] @ velocity

problem = cs.Problem(J, Minv, b, mu, bodies=bodies)
result = cs.solve(problem, method="gauss_seidel", check_every=1, rtol=1e-10)
result

# %% [markdown]
# Each row of `impulses` is a contact: normal, tangent 1 (along x), tangent 2 (along y).

# %%
result.impulses

# %% [markdown]
# Is that right? Four things can be checked by hand.
#
# - Together the contacts carry the weight, m g Δt.
# - All of them slide, so friction is µ times that, against the motion.
# - Friction acts at the ground, half an edge below the centre of mass, and would turn the cube over
#   its front edge. So the front pair must carry more than the rear pair: with the lever arms 0.5 m
#   of both, by µ times the weight.
# - The cube leaves the step slower by µ g Δt, and it neither sinks nor turns.

# %%
weight = mass * gravity * step
front, rear = result.impulses[[1, 2], 0].sum(), result.impulses[[0, 3], 0].sum()
print("sum over the contacts   ", result.impulses.sum(axis=0))
print("expected                ", np.array([weight, -mu * weight, 0.0]))
print("front minus rear        ", front - rear, "expected", mu * weight)
after = velocity + result.body_velocity_change[0]
print("velocity after the step ", after.round(9))

assert np.allclose(result.impulses.sum(axis=0), [weight, -mu * weight, 0.0], atol=1e-9)
assert (result.active == "slide").all()
assert np.isclose(front - rear, mu * weight)
assert np.allclose(after, [2.0 - mu * gravity * step, 0, 0, 0, 0, 0], atol=1e-9)

# %% [markdown]
# Only the sums are unique. A rigid cube needs three supports; with four, load can be moved along
# the diagonals without any effect on the motion. Another order of the contacts gives other impulses
# and the same velocity.

# %%
backwards = cs.solve(problem, method="gauss_seidel", order="reverse", rtol=1e-10)
print("normal impulses, forwards ", result.impulses[:, 0])
print("normal impulses, backwards", backwards.impulses[:, 0])
difference = result.body_velocity_change - backwards.body_velocity_change
print("largest difference of the body velocities", abs(difference).max(), "m/s")

assert abs(result.impulses - backwards.impulses).max() > 0.1 * result.impulses.max()
assert abs(difference).max() < 1e-9

# %% [markdown]
# ## Reading the history
#
# A solve that does not reach its tolerance raises no error. It says so:

# %%
hasty = cs.solve(problem, method="gauss_seidel", rtol=1e-10, max_iterations=5)
for solved in (result, hasty):
    print(solved.converged, "-", solved.message)

assert result.converged
assert hasty.status == "max_iterations"

# %% [markdown]
# The history has one row per sweep over the contacts; row 0 is the start. `residual` is the largest
# change of an impulse in the sweep. `natural_map` is the distance of the impulses from what one
# more step would make of them: zero at a solution and nowhere else, so it measures the *error*,
# where the residual measures only the *progress*. It costs about a sweep, so by default it is
# evaluated every tenth sweep; here `check_every=1` asked for it always.

# %%
result.history.to_pandas().head()

# %%
ax = cs.plots.convergence(result, labels="natural map")
cs.plots.convergence(result, y="residual", ax=ax, labels="residual")
ax.set_ylabel("[N s]")
ax.set_title("A sliding cube, Gauss-Seidel")
plt.show()

for measure in ("residual", "natural_map"):
    factors = result.history[measure][6:] / result.history[measure][5:-1]
    print(f"{measure:12} a sweep multiplies it by {factors.min():.3f} to {factors.max():.3f}")
    assert np.ptp(factors) < 0.01

# %% [markdown]
# Two straight lines on a logarithmic axis, after the first few sweeps: each sweep takes away the
# same fraction of the error.
#
# ## Comparing methods
#
# A stack of ten boxes is harder. An impulse at the bottom changes what happens at the top, but in
# one sweep a contact only hears of its neighbours.
#
# To compare methods one needs a common goal. The usual one: let Gauss-Seidel make 50 sweeps, note
# the quality it has reached, and let all others run until they are as good. `compare` does that,
# and times each solve with just the sweeps it needed, without the checks whether it is there yet.

# %%
stack = cs.scenarios.box_stack(10)
methods = [
    "jacobi",
    "gauss_seidel",
    cs.Method("gauss_seidel", relaxation=1.5),
    cs.Method("gauss_seidel", dtype="float32"),
]
until = cs.quality_of("gauss_seidel", iterations=50)
table = cs.compare(stack, methods, until=until)
sweeps = [row.iterations for row in table]
jacobi, gauss_seidel, relaxed, single = sweeps
assert relaxed < gauss_seidel == 50 < jacobi
table

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
cs.plots.convergence(table, y="quality", ax=axes[0])
cs.plots.convergence(table, y="quality", x="time", ax=axes[1], legend=False)
axes[1].set_ylabel("")
fig.suptitle("A stack of ten boxes, until Gauss-Seidel's quality after 50 sweeps")
plt.show()

# %% [markdown]
# In a Jacobi sweep every contact works with the values of the last sweep; in a Gauss-Seidel sweep
# it sees what the contacts before it have just done. News travels faster, fewer sweeps are needed.
# Over-relaxation (a step 1.5 times as long) needs fewer still.
#
# But the goal decides the ranking. Ask for far more accuracy, and let `auto` take part (the scheme
# is named because this one rounds symmetric scenes symmetrically, which matters to Jacobi here):

# %%
table = cs.compare(stack, [*methods, "auto"], until=1e-6, max_iterations=3000, scheme="factorized")
assert [row.method for row in table if row.reached] == ["jacobi", "auto"]
assert table[-1].iterations < table[0].iterations
table

# %%
ax = cs.plots.convergence(table)
ax.set_xscale("log", nonpositive="mask")
ax.set_title("The same stack, until a natural map of 1e-6 N s")
plt.show()

# %% [markdown]
# Jacobi overtakes Gauss-Seidel; the table says who did not get there. The stack is symmetric, and
# so is Jacobi, which treats the four corners of a box alike: the boxes can only sink. Gauss-Seidel
# loads one corner before the next and so makes the boxes rock and slip, and that dies out slowest
# of all. How fast they still move after 1,000 sweeps shows it. `auto` begins with sweeps of
# Gauss-Seidel that Nesterov's momentum accelerates, and goes on to Newton's method, whose steps are
# cheap here (`info["links"]`).

# %%
for method in ("jacobi", "gauss_seidel"):
    options = {"method": method, "scheme": "factorized", "max_iterations": 1000}
    result = cs.solve(stack, rtol=None, atol=None, **options)
    change = result.body_velocity_change
    sinks = abs(change[:, 2] - 9.81 * 0.01).max()  # the contacts have to undo one step of gravity
    slips, rocks = abs(change[:, :2]).max(), abs(change[:, 3:5]).max()
    print(f"{method:13} sinks {sinks:.1e} m/s, slips {slips:.1e} m/s, rocks {rocks:.1e} rad/s")
    assert slips > 30 * sinks if method == "gauss_seidel" else slips + rocks < 1e-12
links = [link["method"] for link in table.results["auto"].info["links"]]
print("auto:", ", ".join(links))
assert links == ["nesterov", "newton"]

# %% [markdown]
# ## Looking inside: a callback
#
# A callback sees the state after every sweep: the iteration, the impulses (read-only) and the
# newest row of the history. Raising `StopIteration` ends the solve with the impulses at hand. Here
# it follows what each box presses on what is below it, and stops when the ground carries 99 % of
# the weight of the stack.

# %%
loads = []
weight = 10 * 1.0 * 9.81 * 0.01  # ten boxes of 1 kg, one step of 10 ms [N s]


def watch(state):
    loads.append(state.impulses[:, 0].reshape(10, 4).sum(axis=1))
    if loads[-1][0] > 0.99 * weight:
        raise StopIteration


result = cs.solve(stack, method="gauss_seidel", callback=watch)
print(result.status, "after", result.iterations, "sweeps")

assert result.status == "stopped"
assert loads[-2][0] < 0.99 * weight < loads[-1][0]

# %%
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
sweeps = np.arange(1, len(loads) + 1)
shades = plt.get_cmap("viridis")(np.linspace(0.0, 0.9, 10))
for box, load in enumerate(np.transpose(loads)):
    ax.plot(sweeps, load / weight, color=shades[box])
    ax.annotate(
        f"box {box + 1}", (sweeps[-1], load[-1] / weight), (5, -3), textcoords="offset points"
    )
ax.axhline(1.0, color="0.5", linestyle="--", linewidth=1)
ax.set_xlim(0, 1.12 * len(sweeps))
ax.set_xlabel("iteration")
ax.set_ylabel("load under the box / weight of the stack")
ax.set_title("How the ground learns what stands on it")
plt.show()

# %% [markdown]
# The load comes down by diffusion: in a sweep a contact hears only of the boxes it touches.
# Diffusion over twice the distance takes four times as long, and so does a stack of twice the
# height:

# %%
needed = []
for count in (5, 10, 20, 40):

    def until_loaded(state, enough=0.99 * count * 9.81 * 0.01):
        if state.impulses[:4, 0].sum() > enough:
            raise StopIteration

    tower = cs.scenarios.box_stack(count)
    result = cs.solve(
        tower, method="gauss_seidel", callback=until_loaded, max_iterations=100_000, rtol=1e-12
    )
    needed.append(result.iterations)
    print(f"{count:3} boxes: {result.status} after {result.iterations:5} sweeps")

assert np.allclose(np.divide(needed[1:], needed[:-1]), 4, atol=0.15)

# %% [markdown]
# ## A real problem
#
# The field exchanges problems as FCLIB files. Two come with the package; this one holds capsules
# that fell on the ground. Such a file gives the Delassus matrix A instead of bodies.

# %%
capsules = cs.io.read_fclib(cs.data.path("Capsules-i100-1090"))
print(capsules)
result = cs.solve(capsules, method="gauss_seidel", relaxation=1.5, rtol=1e-8, check_every=1)
print(result.message)
for warning in result.info["warnings"]:
    print("note:", warning)

assert result.converged
assert "unsymmetric" in result.info["warnings"][0]

# %% [markdown]
# The matrix in the file is slightly unsymmetric, as many are; it is used as it is, and said.
#
# Coulomb's law in one picture: no point lies above the line µ × normal impulse. Contacts that
# slide are on the line; of those below it, every closed one sticks.

# %%
normal, tangential = result.impulses[:, 0], np.linalg.norm(result.impulses[:, 1:], axis=1)
closed = normal > 1e-9 * normal.max()
mu = capsules.mu[0]
slides = closed & (tangential > (1 - 1e-6) * mu * normal)
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot([0, normal.max()], [0, mu * normal.max()], color="0.5", linewidth=1, zorder=0)
ax.scatter(normal[closed & ~slides], tangential[closed & ~slides], s=18, label="stick")
ax.scatter(normal[slides], tangential[slides], s=18, marker="^", label="slide")
ax.set_xlabel("normal impulse [N s]")
ax.set_ylabel("tangential impulse [N s]")
ax.set_title(f"{capsules.contacts} contacts: {(~closed).sum()} open, {slides.sum()} slide")
ax.legend()
plt.show()

assert (tangential <= (1 + 1e-9) * mu * normal).all()
assert (result.active[closed & ~slides] == "stick").all()

# %% [markdown]
# And the convergence of four methods on it: plateaus, where a contact has yet to find out whether
# it is open, sticks or slides, and falls, once it has. At 1e-6 N s, on the last plateau, plain
# sweeps of Jacobi and Gauss-Seidel stay beyond the 2,000 sweeps that they have here.

# %%
methods = ["jacobi", "gauss_seidel", cs.Method("gauss_seidel", relaxation=1.5), "auto"]
table = cs.compare(capsules, methods, rtol=1e-8, max_iterations=2000)
ax = cs.plots.convergence(table)
ax.set_xscale("log", nonpositive="mask")
ax.set_title("Capsules on the ground")
plt.show()

assert [row.reached for row in table] == [False, False, True, True]
plateau = table.results["gauss_seidel"].history["natural_map"][-1001:]
print(f"Gauss-Seidel, the last 1,000 sweeps: {plateau.min():.2e} to {plateau.max():.2e} N s")
assert plateau.max() < 1.01 * plateau.min() < 1e-6

# %% [markdown]
# The same from a shell: `contactsolve solve FILE.hdf5 --method gauss_seidel --relaxation 1.5 --plot
# out.png`. `contactsolve methods` lists all there is to choose from, and `help(cs.Solver)` explains
# the options.
