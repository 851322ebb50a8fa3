# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Why did it not converge?
#
# A solve that does not reach its tolerance returns what it has and says so. This notebook looks at
# four reasons: redundant contacts, mass ratios, large friction coefficients, and solutions that are
# not unique. Every claim is an experiment in the cell above it; change the numbers and see.

# %%
import time

import matplotlib.pyplot as plt
import numpy as np

import contactsolve as cs

# %% [markdown]
# ## First, look
#
# Two boxes of 1 kg, and on top of them one of 100 kg.

# %%
stack = cs.scenarios.box_stack(3, top_mass=100.0)
result = cs.solve(stack, method="gauss_seidel")
print(result.message)
result.check()

# %% [markdown]
# The message has the error that was reached, and where. `check()` lists the worst contacts. A
# negative gap velocity means that the bodies still approach each other there: here by millimetres
# per second. Whether that is too much is a question of the application, not of the solver.
#
# Is it slow, or stuck? The history tells:

# %%
longer = cs.solve(stack, method="gauss_seidel", max_iterations=40_000, record_every=10)
ax = cs.plots.convergence(longer, labels="Gauss-Seidel")
ax.axvline(1000, color="0.5", linewidth=1, linestyle="--")
ax.set_title("A heavy box on light ones; dashed: where the first solve gave up")
plt.show()
print(longer.message)

# %% [markdown]
# It was slow. A straight line on this axis is a method that works and needs more sweeps, or another
# method. A curve that stays level, or rises, is another matter. Both kinds follow.
#
# ## Redundant contacts
#
# A cube slides over the ground. A collision detector may report four contact points under it, or
# 64. The body has six degrees of freedom, so A has rank 6 at most, however many rows it has.


# %%
def cube(points_a_side, mu=0.5):
    """A cube of 1 kg that slides at 2 m/s, on a square lattice of contact points."""
    line = np.linspace(-0.5, 0.5, points_a_side)
    points = np.array([[x, y, 0.0] for x in line for y in line])
    bodies = [[-1, 0]] * len(points)
    normals = np.tile([0.0, 0.0, 1.0], (len(points), 1))
    J = cs.contact_jacobian(points, normals, bodies, [[0.0, 0.0, 0.5]])
    b = J[:, 1] @ [2.0, 0.0, -9.81 * 0.01, 0.0, 0.0, 0.0]
    return cs.Problem(J, [[1, 1, 1, 6, 6, 6]], b, mu, bodies=bodies)


def step_sizes(problem):
    """Rank of A, and the largest eigenvalue of R A, with R one over that of each block."""
    A, K = problem.delassus().toarray(), problem.contacts
    blocks = [A[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] for k in range(K)]
    R = np.repeat([1 / np.linalg.eigvalsh(block)[-1] for block in blocks], 3)
    return np.linalg.matrix_rank(A), np.linalg.eigvals(R[:, None] * A).real.max()


def told(result):
    return str(result.iterations) if result.converged else f"no ({result.natural_map:.0e})"


common = {"rtol": 1e-8, "max_iterations": 5000, "r_factor": "block"}
print("contacts  rows  rank  max eig(RA)   Jacobi     Jacobi, small step")
for side in (2, 3, 4, 6, 8):
    problem = cube(side)
    rank, largest = step_sizes(problem)
    plain = cs.solve(problem, method="jacobi", **common)
    small = cs.solve(problem, method="jacobi", relaxation=min(1, 1.9 / largest), **common)
    numbers = f"{problem.contacts:8} {3 * problem.contacts:5} {rank:5} {largest:12.2f}"
    print(f"{numbers}   {told(plain):10} {told(small)}")

# %% [markdown]
# In a Jacobi sweep every contact removes the whole error on its own, not knowing that all others do
# the same. Together they overshoot. While no contact opens or slides, a sweep multiplies the error
# by 1 − R A, which makes it grow if an eigenvalue of R A is above 2. The table has these
# eigenvalues: three quarters of the number of contacts and more, from nine contacts on. With the
# step shortened to fit, all cases converge.
#
# What the failed ones do:

# %%
problem = cube(4)
_, largest = step_sizes(problem)
runs = {
    "step 1": cs.solve(problem, method="jacobi", rtol=1e-8, max_iterations=60, r_factor="block",
                       check_every=1),
    "step 1.9 / eigenvalue": cs.solve(problem, method="jacobi", rtol=1e-8, max_iterations=60,
                                      r_factor="block", relaxation=1.9 / largest, check_every=1),
    'r_factor="global"': cs.solve(problem, method="jacobi", rtol=1e-8, max_iterations=60,
                                  r_factor="global", check_every=1),
}  # fmt: skip
ax = cs.plots.convergence(runs)
ax.set_title("Jacobi, a cube on 16 contacts")
plt.show()

# %% [markdown]
# It goes round in a circle, and does not blow up only because a normal impulse that swings below
# zero is cut off there. **What helps Jacobi**: a shorter step. `r_factor="global"` finds one by
# itself, from estimated eigenvalues.
#
# Gauss-Seidel sees what the contacts before have done, and does not overshoot. But it does pay:

# %%
sides, relaxations = (2, 3, 4, 5, 6, 7, 8), (0.3, 0.5, 1.0, 1.5)
fig, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for relaxation in relaxations:
    results = [
        cs.solve(cube(n), method="gauss_seidel", relaxation=relaxation, rtol=1e-8,
                 max_iterations=20_000)
        for n in sides
    ]  # fmt: skip
    sweeps = np.array([r.iterations if r.converged else np.nan for r in results])
    ax.plot(np.square(sides), sweeps, "o-", label=f"relaxation {relaxation}")
    print(f"relaxation {relaxation}:", ", ".join(told(r) for r in results))
ax.set_yscale("log")
ax.set_xlabel("contacts under the cube")
ax.set_ylabel("sweeps to 1e-8")
ax.legend()
plt.show()

# %% [markdown]
# More contacts for the same body, more sweeps; with a shorter step far fewer. The over-relaxation
# that pays on other problems makes it worse here, and in the end fails. Fewer contact points are a
# remedy too. Do four do the same as 64?

# %%
four, all64 = (cs.solve(cube(n), relaxation=0.5, rtol=1e-10) for n in (2, 8))
print(f"4 contacts: {told(four)} sweeps, 64 contacts: {told(all64)} sweeps")
difference = abs(four.body_velocity_change - all64.body_velocity_change).max()
print(f"the cube's velocities differ by {difference:.0e} m/s")

# %% [markdown]
# They do, in this step.
#
# ## Mass ratios
#
# Three boxes in a stack; the uppermost gets heavier or lighter.

# %%
ratios = np.array([0.01, 0.1, 1.0, 10.0, 100.0, 1000.0])
curves = {}
for method in ("jacobi", "gauss_seidel"):
    curves[method] = []
    for ratio in ratios:
        scene = cs.scenarios.box_stack(3, top_mass=ratio)
        curves[method].append(cs.solve(scene, method=method, max_iterations=50_000))
    print(f"{method:13}", ", ".join(told(r) for r in curves[method]))

# %%
fig, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for method, results in curves.items():
    done = np.array([r.converged for r in results])
    sweeps = np.array([r.iterations for r in results])
    (line,) = ax.plot(ratios[done], sweeps[done], "o-", label=method)
    ax.plot(ratios[~done], sweeps[~done], "X", color=line.get_color())
ax.set_xscale("log")
ax.set_yscale("log")
ax.set_xlabel("mass of the uppermost box / mass of the others")
ax.set_ylabel("sweeps to 1e-6")
ax.legend()
ax.set_title("Three boxes; a cross did not get there")
plt.show()

# %% [markdown]
# Heavy on light: ten times the ratio costs five to ten times the sweeps. Light on heavy costs less
# than equal masses.
#
# Jacobi leads, by a factor that grows. That is a matter of this symmetric scene: it loads the four
# corners of a box alike, where Gauss-Seidel makes the boxes rock (see the first notebook). On a
# real problem it can be the other way round:

# %%
boxes = cs.io.read_fclib(cs.data.path("Box_Stacks-i0122-82-5.reduced_local"))
for method in ("jacobi", "gauss_seidel"):
    print(f"{method:13}", told(cs.solve(boxes, method=method, max_iterations=50_000)))

# %% [markdown]
# **What helps**: a start that knows the load. In a simulation the impulses of the step before are
# such a start. Here the solution for a slightly lighter box is:

# %%
before = cs.solve(
    cs.scenarios.box_stack(3, top_mass=99.0), method="gauss_seidel", max_iterations=50_000
)
cold = cs.solve(stack, method="gauss_seidel", max_iterations=50_000, rtol=1e-4)
warm = cs.solve(stack, method="gauss_seidel", max_iterations=50_000, rtol=1e-4, initial=before)
print("from zero:", told(cold), " from the solution before:", told(warm))

# %% [markdown]
# ## Friction coefficients
#
# Does more friction make a problem harder? On capsules that fell on the ground:

# %%
capsules = cs.io.read_fclib(cs.data.path("Capsules-i100-1090"))
solver = cs.Solver(capsules, method="gauss_seidel", max_iterations=20_000)
print("   mu  sweeps   open  stick  slide")
for mu in (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5):
    result = solver.solve(mu=mu)
    open_, stick, slide = (np.sum(result.active == state) for state in ("open", "stick", "slide"))
    print(f"{mu:5} {told(result):>7} {open_:6} {stick:6} {slide:6}")

# %% [markdown]
# Not in a simple way: the hardest µ lies in the middle, and the large ones, at which most contacts
# stick, are easy. (A contact without friction, µ = 0, "sticks" where it happens not to slide.)
#
# Is it that contacts take long to find out whether they are open, stick or slide? Stop early, again
# and again, and count those that are not yet what they will be in the end:

# %%
stops = [10, 20, 30, 50, 80, 120, 200, 300, 500, 800, 1200]
fig, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for mu in (0.2, 1.0):
    final = solver.solve(mu=mu)
    early = [
        cs.Solver(capsules, method="gauss_seidel", max_iterations=stop).solve(mu=mu)
        for stop in stops
        if stop < final.iterations
    ]
    wrong = [np.flatnonzero(result.active != final.active) for result in early]
    ax.plot([r.iterations for r in early], [len(w) for w in wrong], "o-", label=f"µ = {mu}")
    last = next(w for w in reversed(wrong) if len(w))
    load = final.impulses[:, 0]
    print(
        f"mu={mu}: the last to change are contacts {last}; they carry {load[last].sum():.1e} N s, "
        f"the mean of all is {load.mean():.1e}"
    )
ax.set_xscale("log")
ax.set_xlabel("sweeps")
ax.set_ylabel("contacts in another state than at the end")
ax.legend()
plt.show()

# %%
fig, axes = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
for ax, mu in zip(axes, (0.2, 1.0), strict=True):
    cs.plots.impulses(solver.solve(mu=mu), ax=ax)
    ax.text(0.03, 0.45, f"µ = {mu}", transform=ax.transAxes)
axes[1].set_ylabel("")
plt.show()

# %% [markdown]
# Yes. After 100 sweeps most contacts know their state, and a few take the rest of the solve. These
# few carry less than the mean. With µ = 0.2 many contacts lie on their cone or close to it, where
# the decision is a narrow one; with µ = 1 far fewer do.
#
# ## Solutions that are not unique
#
# *Impulses* are often not unique, and mostly this does no harm. Again the cube on 16 contacts,
# solved by two methods:

# %%
problem = cube(4)
first = cs.solve(problem, method="jacobi", r_factor="global", rtol=1e-10)
second = cs.solve(problem, method="gauss_seidel", relaxation=0.5, rtol=1e-10)
apart = abs(first.impulses - second.impulses).max()
motion = abs(first.body_velocity_change - second.body_velocity_change).max()
print(f"{first.status}, {second.status}")
largest = abs(first.body_velocity_change).max()
print(f"impulses differ by up to {apart:.1e} N s, of {first.impulses.max():.1e}")
print(f"body velocities differ by up to {motion:.1e} m/s, of {largest:.1e}")

# %% [markdown]
# So two solvers that both are right may disagree about impulses. Compare velocities, or a measure
# such as the natural map, never impulses entry by entry.
#
# *Motions* can be ambiguous as well, with friction large enough. A thin rod, leaning forward,
# scrapes over the ground; its end lifts off at 0.1 m/s. This is the paradox of Painlevé.

# %%
lean = np.arctan(2.0)  # of the rod over the ground, the angle that asks for the least friction
arm = np.array([np.cos(lean), -np.sin(lean)])  # from the centre to the end that scrapes [m]


def rod(mu, lift_off=0.1, slide=2.0):
    """A rod of 1 kg and 2 m in the plane: coordinates x, z and the angle."""
    J = np.zeros((1, 2, 2, 3))
    J[0, 1] = [[0.0, 1.0, arm[0]], [1.0, 0.0, -arm[1]]]  # normal, tangent
    return cs.Problem(J, [[1.0, 1.0, 3.0]], [[lift_off, slide]], mu, bodies=[[-1, 0]])


normal, tangential = rod(1.0).delassus().toarray()[0]
print(f"A_nn = {normal:.2f}, A_nt = {tangential:.2f}, A_nn / A_nt = {normal / tangential:.3f}")
for mu in (1.0, 2.0):
    for start in ([[0.0, 0.0]], [[0.125, -0.125 * mu]], [[0.5, -0.5]]):
        result = cs.solve(rod(mu), initial=start, rtol=1e-10)
        print(f"mu={mu}, start {start}: {result.status}, {result.active[0]:5}", result.impulses)

# %% [markdown]
# With µ = 1 every start ends at the same answer: the rod lifts off. With µ = 2 there are three
# answers, each exact: lift off, scrape on, or stick. Which of them is returned, the start decides.
# Where starts lead to:

# %%
starts = np.linspace(0.0, 0.3, 61)
fig, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for mu, style in ((1.0, "o"), (2.0, "^")):
    solver = cs.Solver(rod(mu), rtol=1e-10, rollback=0)
    results = [solver.solve(initial=[[s, -mu * s]]) for s in starts]
    ends = [result.impulses[0, 0] for result in results]
    ax.plot(starts, ends, style, markersize=4, label=f"µ = {mu:g}")
    print(f"mu={mu}: {sum(result.converged for result in results)} of {len(starts)} converged")
ax.set_xlabel("normal impulse at the start [N s]")
ax.set_ylabel("normal impulse found [N s]")
ax.legend()
plt.show()

# %% [markdown]
# The answer in the middle, scraping on, is found only from itself: a little less leads to lift-off,
# a little more to sticking. In scraping, friction µ λ_n presses the end down harder
# (by µ A_nt) than the normal impulse pushes it up (by A_nn), if µ is above A_nn / A_nt = 4/3.
#
# Rollback was off. It takes a residual that grows for a step that is too long, and shortens it.
# Near the answer in the middle the residual has to grow, for iterates to get away:

# %%
solver = cs.Solver(rod(2.0), rtol=1e-10)
statuses = [solver.solve(initial=[[s, -2.0 * s]]).status for s in starts]
print({status: statuses.count(status) for status in sorted(set(statuses))})

# %% [markdown]
# The status is honest about it, and `rollback=0` is the remedy.
#
# Which motion it is, rigid bodies with Coulomb friction do not say; the start does. So start from
# the impulses of the step before, not from chance.
#
# ## What to try
#
# The remedies of this page, on two hard problems, with a budget of 2,000 sweeps each:

# %%
cases = {"cube on 64 contacts": cube(8), "capsules, µ = 0.7": capsules}
remedies = [
    cs.Method("jacobi"),
    cs.Method("jacobi", r_factor="global"),
    cs.Method("gauss_seidel"),
    cs.Method("gauss_seidel", relaxation=0.5),
    cs.Method("gauss_seidel", relaxation=1.5),
]
begin = time.perf_counter()
fig, axes = plt.subplots(1, 2, figsize=(12.5, 3.6), layout="constrained")
for ax, (name, problem) in zip(axes, cases.items(), strict=True):
    table = cs.compare(problem, remedies, rtol=1e-6, max_iterations=2000, repeats=3)
    cs.plots.compare(table, ax=ax)
    ax.set_title(name)
axes[1].set_yticklabels([])
plt.show()
print(f"{time.perf_counter() - begin:.1f} s")

# %% [markdown]
# There is no best method, and none of these is good at everything; a hatched bar ran out of sweeps.
# In short:
#
# - **Slow but straight**: more sweeps, a start from an earlier result, another relaxation (try both
#   sides of 1).
# - **Level or round in circles**, Jacobi: too many contacts for the same body. `r_factor="global"`.
# - **Heavy on light**: expect many times the sweeps. Start warm.
# - **"diverging" with an error that is not large**: try `rollback=0`.
# - **Impulses differ, velocities agree**: nothing is wrong.
# - **Velocities differ too**: redo it from other starts. The problem itself may be ambiguous.
