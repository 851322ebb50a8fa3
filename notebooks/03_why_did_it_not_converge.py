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
# # Why did it not converge?
#
# A solve that does not reach its tolerance returns what it has and says so. This notebook looks at
# four reasons why sweeps of Jacobi and Gauss-Seidel do not: redundant contacts, mass ratios,
# friction, and solutions that are not unique. Then it shows what the library says when a problem
# has no solution, and which other method helps where. Every claim is an experiment, and is asserted
# in its cell; change the numbers and see.
#
# Methods are named here, because the question is about one method at a time. Without a name
# `cs.solve` takes `auto`, which goes on to another method where one gets no further. If you only
# want an answer, begin with `auto` and read on where it fails.

# %%
import matplotlib.pyplot as plt
import numpy as np

import contactsolve as cs

plt.rcParams["figure.dpi"] = 150

# %% [markdown]
# ## First, look
#
# Two boxes of 1 kg, and on top of them one of 100 kg.

# %%
stack = cs.scenarios.box_stack(3, top_mass=100.0)
result = cs.solve(stack, method="gauss_seidel")
print(result.message)
print("worst:", result.worst)

check = result.check()
assert result.status == "max_iterations"
assert -0.01 < check.gap_velocity[0] < -0.001
check

# %% [markdown]
# The message has the error that was reached, where it is, and what to try. `worst` is that place
# alone. `check()` lists the worst contacts. A negative gap velocity means that the bodies still
# approach each other there: here by millimetres per second. Whether that is too much is a question
# of the application, not of the solver.
#
# `status` tells why the solve ended. Here it is `"max_iterations"`: it had not finished. Is it
# slow, or stuck? The history tells:

# %%
longer = cs.solve(stack, method="gauss_seidel", max_iterations=60_000, record_every=10)
ax = cs.plots.convergence(longer, labels="Gauss-Seidel")
ax.axvline(1000, color="0.5", linewidth=1, linestyle="--")
ax.set_title("A heavy box on light ones; dashed: where the first solve gave up")
plt.show()
print(longer.message)

auto = cs.solve(stack)
print("auto:", auto.message)
for link in auto.info["links"]:
    print(f"   {link['method']:9} {link['iterations']:5} iterations: {link['why']}")

assert longer.converged
assert longer.iterations > 40_000
assert auto.converged
assert auto.iterations < 0.01 * longer.iterations
assert [link["method"] for link in auto.info["links"]] == ["nesterov", "newton"]

# %% [markdown]
# It was slow. A straight line on this axis is a method that works and needs more sweeps, or another
# method: more than 40,000 sweeps of Gauss-Seidel against a few hundred iterations of `auto`, which
# begins with accelerated sweeps and sees that Newton's method will be done sooner. A curve
# that stays level, or rises, is another matter. Both kinds follow.
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
    assert rank == 6
    assert 0.65 < largest / problem.contacts < 0.8
    assert plain.converged is (side == 2)
    assert small.converged
    numbers = f"{problem.contacts:8} {3 * problem.contacts:5} {rank:5} {largest:12.2f}"
    print(f"{numbers}   {told(plain):10} {told(small)}")

# %% [markdown]
# In a Jacobi sweep every contact removes the whole error on its own, not knowing that all others do
# the same. Together they overshoot. While no contact opens or slides, a sweep multiplies the error
# by 1 − R A, which makes it grow if an eigenvalue of R A is above 2. The table has these
# eigenvalues: two thirds to four fifths of the number of contacts. With four contacts the
# projection is still enough to damp what grows; from nine on it is not. With the step shortened to
# fit, all cases converge.
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

circle = runs["step 1"].history["natural_map"]
assert np.allclose(circle[-7:], circle[-14:-7])
assert [run.converged for run in runs.values()] == [False, True, True]

# %% [markdown]
# It goes round in a circle of seven sweeps, and does not blow up only because a normal impulse that
# swings below zero is cut off there. **What helps Jacobi**: a shorter step. `r_factor="global"`
# finds one by itself, from estimated eigenvalues.
#
# Gauss-Seidel sees what the contacts before have done, and does not overshoot. But it does pay:

# %%
sides, relaxations = (2, 3, 4, 5, 6, 7, 8), (0.3, 0.5, 1.0, 1.5)
swept = {}
fig, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for relaxation in relaxations:
    swept[relaxation] = results = [
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

assert (np.diff([run.iterations for run in swept[1.0]]) > 0).all()
assert swept[0.5][-1].iterations < 0.1 * swept[1.0][-1].iterations
assert [run.converged for run in swept[1.5]] == [True] * 3 + [False] * 4

# %% [markdown]
# More contacts for the same body, more sweeps; with a shorter step far fewer. The over-relaxation
# that pays on other problems makes it worse here, and from 25 contacts on it fails. Fewer contact
# points are a remedy too. Do four do the same as 64?

# %%
options = {"method": "gauss_seidel", "relaxation": 0.5, "rtol": 1e-10}
four, all64 = (cs.solve(cube(n), **options) for n in (2, 8))
print(f"4 contacts: {told(four)} sweeps, 64 contacts: {told(all64)} sweeps")
difference = abs(four.body_velocity_change - all64.body_velocity_change).max()
print(f"the cube's velocities differ by {difference:.0e} m/s")

assert four.converged
assert all64.converged
assert difference < 1e-8

# %% [markdown]
# They do, in this step.
#
# ## Mass ratios
#
# Three boxes in a stack; the uppermost gets heavier or lighter.

# %%
ratios = np.array([0.01, 0.1, 1.0, 10.0, 100.0, 1000.0])
curves = {}
for method in ("jacobi", "gauss_seidel", "auto"):
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
ax.set_ylabel("iterations to 1e-6")
ax.legend()
ax.set_title("Three boxes; a cross did not get there")
plt.show()

jacobi, gauss_seidel, chain = (
    np.array([result.iterations for result in results]) for results in curves.values()
)
for sweeps in (jacobi, gauss_seidel):
    growth = sweeps[3:5] / sweeps[2:4]
    assert ((growth > 5) & (growth < 13)).all()
    assert (sweeps[:2] < sweeps[2]).all()
assert (jacobi[:5] < gauss_seidel[:5]).all()
assert all(result.converged for result in curves["auto"])
assert chain.max() < 500

# %% [markdown]
# Heavy on light: up to a ratio of 100, ten times the ratio costs sweeps five to twelve times as
# many, and 50,000 are not enough at 1,000. Light on heavy costs less than equal masses. To `auto`
# the ratio hardly matters: it comes to Newton's method.
#
# Of the two kinds of sweeps, Jacobi leads. That is a matter of this symmetric scene: it loads the
# four corners of a box alike, where Gauss-Seidel makes the boxes rock (see the first notebook). On
# a real problem it can be the other way round:

# %%
boxes = cs.io.read_fclib(cs.data.path("Box_Stacks-i0122-82-5.reduced_local"))
on_boxes = {}
for method in ("jacobi", "gauss_seidel"):
    on_boxes[method] = cs.solve(boxes, method=method, max_iterations=50_000)
    print(f"{method:13}", told(on_boxes[method]))

assert not on_boxes["jacobi"].converged
assert on_boxes["gauss_seidel"].iterations < 200

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

assert warm.iterations < 0.1 * cold.iterations

# %% [markdown]
# ## Friction coefficients
#
# Does more friction make a problem harder? On capsules that fell on the ground; states are those of
# the answer of `auto`:

# %%
capsules = cs.io.read_fclib(cs.data.path("Capsules-i100-1090"))
solver = cs.Solver(capsules, method="gauss_seidel", max_iterations=20_000)
chain = cs.Solver(capsules)
plain, sliding = {}, []
print("   mu  Gauss-Seidel  auto   open  stick  slide")
for mu in (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5):
    plain[mu], answer = solver.solve(mu=mu), chain.solve(mu=mu)
    open_, stick, slide = (np.sum(answer.active == state) for state in ("open", "stick", "slide"))
    print(f"{mu:5} {told(plain[mu]):>13} {told(answer):>5} {open_:6} {stick:6} {slide:6}")
    assert answer.converged
    sliding.append(slide)

assert [mu for mu, result in plain.items() if result.converged] == [0.7, 1.0, 1.5]
assert plain[0.7].iterations > plain[1.0].iterations > plain[1.5].iterations
assert max(sliding[-3:]) < 35 < min(sliding[:4])

# %% [markdown]
# Here it is the other way round: 20,000 sweeps of Gauss-Seidel are not enough with little friction,
# at which many contacts slide, and the more friction above that, the fewer sweeps. (A contact
# without friction, µ = 0, "sticks" where it happens not to slide.) `auto` solves all of them.
#
# Is it that contacts take long to find out whether they are open, stick or slide? Stop early, again
# and again, and count those that are not yet what they will be in the end:

# %%
stops = [10, 20, 30, 50, 80, 120, 200, 300, 500, 800, 1200, 2000]
fig, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for mu in (0.7, 1.5):
    final = plain[mu]
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
    assert max(len(w) for w, stop in zip(wrong, stops, strict=False) if stop >= 120) < 15
    assert load[last].max() < 0.01 * load.mean()
ax.set_xscale("log")
ax.set_xlabel("sweeps")
ax.set_ylabel("contacts in another state than at the end")
ax.legend()
plt.show()

# %%
fig, axes = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
close = {}
for ax, mu in zip(axes, (0.2, 1.0), strict=True):
    answer = chain.solve(mu=mu)
    cs.plots.impulses(answer, ax=ax)
    ax.set_xlabel(f"normal impulse [N s], µ = {mu}")
    normal, tangential = answer.impulses[:, 0], np.linalg.norm(answer.impulses[:, 1:], axis=1)
    close[mu] = int(np.sum((normal > 0) & (tangential > 0.9 * mu * normal)))
axes[1].set_ylabel("")
plt.show()

print("contacts that use nine tenths of their friction:", close)
assert close[0.2] > 2 * close[1.0]

# %% [markdown]
# Yes. After 120 sweeps all but a dozen of the 276 contacts know their state, and a few take the
# rest of the solve. Those that change last carry less than a hundredth of the mean. With µ = 0.2
# many contacts lie on their cone or close to it, where the decision is a narrow one; with µ = 1 far
# fewer do.
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

assert first.converged
assert second.converged
assert apart > 0.1 * first.impulses.max()
assert motion < 1e-8

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
for start in ([[0.0, 0.0]], [[0.125, -0.25]], [[0.5, -0.5]]):
    result = cs.solve(rod(2.0), initial=start, rtol=1e-10)
    print(f"start {start}: {result.status}, {result.active[0]}, {result.impulses}")
    assert result.converged
    assert (result.impulses == 0).all()

# %% [markdown]
# From every start the answer is that the rod lifts off, without any impulse. That is a rule of the
# library: where no impulse is needed to keep the constraints, none is the answer. It is not the
# only solution. Plain sweeps without a tolerance (`rtol=None`, `atol=None`: as many sweeps as asked
# for, and no judgement) go on from where they start:

# %%
sweeping = {"method": "gauss_seidel", "rtol": None, "atol": None, "max_iterations": 300}
starts = np.linspace(0.0, 0.3, 61)
ends, states = {}, {}
fig, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for mu, style in ((1.0, "o"), (2.0, "^")):
    solver = cs.Solver(rod(mu), **sweeping)
    results = [solver.solve(initial=[[s, -mu * s]]) for s in starts]
    ends[mu] = np.array([result.impulses[0, 0] for result in results])
    states[mu] = [str(result.active[0]) for result in results]
    ax.plot(starts, ends[mu], style, markersize=4, label=f"µ = {mu:g}")
    print(f"mu={mu}:", {state: states[mu].count(state) for state in sorted(set(states[mu]))})
    assert max(result.natural_map for result in results) < 1e-12
ax.set_xlabel("normal impulse at the start [N s]")
ax.set_ylabel("normal impulse found [N s]")
ax.legend()
plt.show()

middle = starts[25]
itself = cs.solve(rod(2.0), initial=[[middle, -2 * middle]], **{**sweeping, "max_iterations": 1})
assert set(states[1.0]) == {"open"}
assert set(states[2.0][:25]) == {"open"}
assert set(states[2.0][26:]) == {"stick"}
assert itself.active[0] == "slide"
assert itself.natural_map < 1e-12

# %% [markdown]
# With µ = 1 every start ends at the same answer: the rod lifts off. With µ = 2 there are three
# answers, each exact to rounding: lift off, scrape on, or stick. The one in the middle, scraping
# on, is found only from itself: a little less leads to lift-off, a little more to sticking. In
# scraping, friction µ λ_n presses the end down harder (by µ A_nt) than the normal impulse pushes it
# up (by A_nn), if µ is above A_nn / A_nt = 4/3.
#
# Which motion it is, rigid bodies with Coulomb friction do not say. Where impulses are needed, the
# start has a say, so start from the impulses of the step before, not from chance.
#
# ## What the status says
#
# Four more reasons not to converge have a status of their own. Two walls close on a body of 1 kg,
# each at 1 m/s; in the second problem they lean outwards and have friction; a stack is asked for
# more digits than single precision has; and accelerated sweeps are told to end when they gain
# nothing (`patience=`).


# %%
def between_walls(lean, **friction):
    """A body in the plane between two walls that close on it, and lean outwards."""
    normals = np.array([[np.cos(lean), np.sin(lean)], [-np.cos(lean), np.sin(lean)]])
    J = np.zeros((2, 2, 2, 2))
    J[:, 1, 0], J[:, 1, 1] = normals, np.column_stack([-normals[:, 1], normals[:, 0]])
    return cs.Problem(J, [[1.0, 1.0]], [[-1.0, 0.0]] * 2, bodies=[[-1, 0]] * 2, **friction)


patient = cs.methods.nesterov(patience=500)
ended = {
    "infeasible": cs.solve(between_walls(0.0, mu=0.5), method="gauss_seidel"),
    "unbounded": cs.solve(between_walls(0.1, mu=0.5), method="gauss_seidel"),
    "inaccurate": cs.solve(cs.scenarios.box_stack(3), dtype="float32", rtol=1e-7),
    "stalled": cs.solve(cube(8), method=patient, max_iterations=20_000),
}
for status, result in ended.items():
    print(f"{result.message}\n")
    assert result.status == status

certificate = ended["infeasible"].info["certificate"]
print("certificate:", certificate.tolist())
moved = between_walls(0.0, mu=0.5).delassus().toarray() @ certificate.ravel()
assert abs(moved).max() < 1e-12
assert np.sum(certificate * [[-1.0, 0.0]] * 2) < 0

# %% [markdown]
# - `"infeasible"` is a proof, and `info["certificate"]` is its witness: impulses that move nothing,
#   here both walls pressing alike, and that oppose the velocities in b. No method can help; a
#   compliance, or other velocities, can.
# - `"unbounded"` is the same where friction is in the way of a proof: impulses grow without bound.
#   Another method may still find a solution.
# - `"inaccurate"`: the tolerance is below what rounding leaves (`info["floor"]`). Ask for less, or
#   compute in double precision.
# - `"stalled"` and `"wandering"`: the natural map stands still, or goes up and down in a band
#   (`info["band"]`). More iterations are not the answer; another method is. The sixth notebook is
#   about grids that wander.
#
# ## Another method
#
# So which one? The examples of this page, each with a budget of 3,000 iterations. The time is that
# of the solve, with its checks and without set-up:

# %%
cases = {"100 kg on two boxes": stack, "cube on 64 contacts": cube(8), "capsules": capsules}
methods = ["jacobi", "gauss_seidel", "nesterov", "nncg", "newton", "multilevel", "auto"]
tables = {}
for name, problem in cases.items():
    # The capsules are given as a matrix, and `multilevel` needs bodies.
    fitting = [m for m in methods if problem.bodies is not None or m != "multilevel"]
    tables[name] = cs.compare(problem, fitting, rtol=1e-6, max_iterations=3000, repeats=3)
    print(tables[name], "\n")

# %%
fig, axes = plt.subplots(1, 3, figsize=(15, 3.8), layout="constrained")
for ax, (name, table) in zip(axes, tables.items(), strict=True):
    cs.plots.compare(table, ax=ax)
    ax.set_title(name)
plt.show()

arrived = {name: {row.method for row in table if row.reached} for name, table in tables.items()}
accelerated = {"nesterov", "nncg", "newton", "multilevel", "auto"}
assert arrived["100 kg on two boxes"] == accelerated
assert arrived["cube on 64 contacts"] == {"gauss_seidel", "nncg", "newton", "auto"}
assert arrived["capsules"] == accelerated - {"multilevel"}
sweeps = {row.method: row.iterations for row in tables["100 kg on two boxes"]}
assert min(sweeps, key=sweeps.get) == "multilevel"
assert sweeps["nesterov"] > 5 * sweeps["auto"]

# %% [markdown]
# A hatched bar ran out of iterations. Gauss-Seidel arrives on one of the three,
# Nesterov's momentum on two. It takes some two thousand sweeps on the stack and gets nowhere on 64
# redundant contacts; `auto` begins with it, and goes on to Newton's method where that promises to
# be sooner. Substructuring (`multilevel`) takes the stack in a few corrections and has nothing to
# offer on the cube, which is a single body.
#
# One more way is not iterative at all. *Pivoting* (`bpp` and others) factors A, finds out which
# rows are at their bounds and solves the rest exactly. It takes joints, contacts without friction
# and box friction (bounds for each tangent apart, a pyramid in place of the cone), and it needs an
# A with a factor: four contacts below a box are redundant, and a small compliance cures that.

# %%
pyramids = cs.Problem(
    stack.J, stack.Minv, stack.b, bodies=stack.bodies, sets=cs.sets.box_friction(0.5),
    compliance=1e-8,
)  # fmt: skip
runs = {name: cs.solve(pyramids, method=name, max_iterations=60_000) for name in
        ("gauss_seidel", "bpp", "auto")}  # fmt: skip
for name, result in runs.items():
    print(f"{name:13} {result.iterations:6} iterations, natural map {result.natural_map:.0e} N s")

assert all(result.converged for result in runs.values())
assert runs["gauss_seidel"].iterations > 40_000
assert runs["bpp"].iterations == 1
assert [link["method"] for link in runs["auto"].info["links"]] == ["nesterov", "bpp"]
assert runs["bpp"].natural_map < 1e-12

# %% [markdown]
# One factor and one solve, to rounding, and `auto` takes that way by itself where it can, after
# some sweeps. The fifth notebook is about it.
#
# ## What to try
#
# | method | when |
# | --- | --- |
# | `auto` | first, and wherever nothing is known about the problem |
# | `gauss_seidel` | low accuracy on any problem; the measure for others |
# | `jacobi` | as the reference for parallel sweeps; `r_factor="global"` with many contacts a body |
# | `nesterov` | stacks, grids, mass ratios; not with many redundant contacts |
# | `nncg` | loose piles, with `relaxation=1.3`; slow with heavy bodies on many light ones |
# | `newton` | heavy on light, long chains, stiff joints, more digits than sweeps reach |
# | `multilevel` | high stacks, heavy bodies on light ones, chains; needs bodies |
# | `bpp` | mechanisms, box friction or none, with a compliance or without redundancy: exact |
#
# `cs.methods.describe()` and docs/methods.md have all of them. By symptom:
#
# - **Slow but straight**: another method (`auto` tries), more sweeps, a start from an earlier
#   result, another relaxation (on both sides of 1).
# - **Level or round in circles**: too many contacts for the same body. Jacobi: `r_factor="global"`;
#   Nesterov's momentum: Newton's method, or plain sweeps.
# - **Heavy on light**: `auto`, `newton` or `multilevel`; plain sweeps need a warm start and
#   patience.
# - **`"infeasible"`, `"unbounded"`**: look at the problem, not at the solver.
# - **`"inaccurate"`**: ask for less, or for double precision.
# - **Impulses differ, velocities agree**: nothing is wrong.
# - **Velocities differ too**: redo it from other starts. The problem itself may be ambiguous.
