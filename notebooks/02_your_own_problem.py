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
# # Your own problem
#
# Three ways to bring a problem of your own: from geometry, from the generalised coordinates of a
# robot, and as a linear complementarity problem (LCP). Each is small enough to check the answer,
# and each claim of the text is asserted in a cell beside it. Where no method is named, `cs.solve`
# takes `auto`, a chain of methods; the third notebook tells how to choose another one.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import block_diag, csr_array, diags_array

import contactsolve as cs

plt.rcParams["figure.dpi"] = 150

# %% [markdown]
# ## 1. From geometry
#
# A collision detector gives points, normals and pairs of bodies. Here three balls of 1 kg are
# stacked: two on the ground, side by side, and one on top of both. The normal points from the first
# body of a pair to the second; −1 is the fixed world.

# %%
radius, mass, step = 0.5, 1.0, 0.01  # [m], [kg], [s]
height = np.sqrt(3) * radius  # of the upper ball over the lower ones
positions = np.array([[-radius, 0, radius], [radius, 0, radius], [0, 0, radius + height]])

bodies = np.array([[-1, 0], [-1, 1], [0, 1], [0, 2], [1, 2]])
normals = np.array([[0, 0, 1], [0, 0, 1]] + [positions[j] - positions[i] for i, j in bodies[2:]])
normals = normals / np.linalg.norm(normals, axis=1, keepdims=True)
points = positions[bodies[:, 1]] - radius * normals

J = cs.contact_jacobian(points, normals, bodies, positions)
J.shape  # contacts, the two bodies of each, rows (normal and two tangents), degrees of freedom

# %% [markdown]
# `Problem.from_state` takes the state before the step: velocities, and the external impulses of the
# step, here gravity times the step. It builds b, the velocities the contacts would have if nothing
# pushed back. Masses are diagonals: three times the mass, then three times the moment of inertia.

# %%
inertia = 0.4 * mass * radius**2
M = np.tile([mass] * 3 + [inertia] * 3, (3, 1))
weight = np.zeros((3, 6))
weight[:, 2] = -9.81 * mass * step  # [N s]


def balls(mu):
    return cs.Problem.from_state(
        J, M, velocity=np.zeros((3, 6)), impulse=weight, mu=mu, bodies=bodies, name="three balls"
    )


problem = balls(0.5)
print(problem)

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
cs.plots.problem(problem, ax=axes[0])
cs.plots.problem(problem, ax=axes[1], kind="graph")
plt.show()

# %% [markdown]
# On the left A, block by block: two contacts couple if they share a body that can move. On the
# right the same from the bodies' side.
#
# Does the stack hold? The upper ball pushes the lower ones apart, and only friction, at the ground
# and between the balls, can hold them. Statics says how much it takes: turned about its contact
# with the ground, a lower ball must be in balance, and that asks for
# µ ≥ tan 15° = 0.268 between the balls.

# %%
for mu in (0.5, 0.27, 0.26, 0.1):
    result = cs.solve(balls(mu), rtol=1e-9)
    ground = result.impulses[:2, 0].sum() / (3 * 9.81 * mass * step)
    apart = result.body_velocity_change[1, 0] - result.body_velocity_change[0, 0]
    print(
        f"mu={mu:4}: {result.status}, the ground carries {ground:.3f} of the weight, "
        f"the lower balls part at {abs(apart):.5f} m/s, {' '.join(result.active)}"
    )
    assert result.converged
    if mu > np.tan(np.deg2rad(15)):
        assert abs(apart) < 1e-6
        assert np.isclose(ground, 1.0)
    else:
        assert apart > 1e-3
        assert result.active.tolist() == ["stick", "stick", "open", "slide", "slide"]

# %% [markdown]
# It does, down to the µ of the statics. Below it the lower balls part, and the contact between them
# is open. Above it that contact carries what the method happens to find: friction at the ground can
# balance a small impulse between the two balls, so that impulses are not unique. The velocities
# are.

# %%
answers = [cs.solve(balls(0.5), method=name, rtol=1e-9) for name in ("auto", "gauss_seidel")]
for result in answers:
    print(f"{result.info['method']:13} between the lower balls: {result.impulses[2, 0]:.1e} N s")
change = [result.body_velocity_change for result in answers]
print(f"velocities differ by {abs(change[0] - change[1]).max():.0e} m/s")

assert answers[0].impulses[2, 0] > 1e-5
assert answers[1].impulses[2, 0] == 0
assert abs(change[0] - change[1]).max() < 1e-7

# %% [markdown]
# ## 2. From generalised coordinates
#
# A robot has no 6 × 6 blocks: it comes with a mass matrix and a Jacobian in its own coordinates.
# Any robotics library gives both. To need none, here is a walker of 12 degrees of freedom made of
# a few points: a trunk that moves and turns (6 coordinates), and two legs with three sliding joints
# each (6 more). Jacobians come from differences, the mass matrix is Σ m JᵀJ over the points.

# %%
HIPS = np.array([[0.0, 0.2, -0.1], [0.0, -0.2, -0.1]])


def place(q):
    """Trunk points, hips and feet in the world for the 12 coordinates q, by small rotations."""
    x, turn, legs = q[:3], q[3:6], q[6:].reshape(2, 3)
    trunk = np.array([[0.2, 0, 0], [-0.2, 0, 0], [0, 0.2, 0], [0, -0.2, 0], [0, 0, 0.2]])
    feet = HIPS + np.array([0.0, 0.0, -0.6]) + legs
    local = np.concatenate([trunk, feet])
    return x + local + np.cross(turn, local)


def jacobian(q, delta=1e-6):
    """Velocity of every point by every coordinate, (points, 3, 12)."""
    steps = delta * np.eye(12)
    moved = [(place(q + d) - place(q - d)) / (2 * delta) for d in steps]
    return np.stack(moved, axis=2)


q = np.zeros(12)
point_mass = np.array([2.0] * 5 + [1.0] * 2)  # five in the trunk, two feet [kg]
J_points = jacobian(q)
M_robot = np.einsum("p,pij,pik->jk", point_mass, J_points, J_points)
M_robot[6:, 6:] += 0.1 * np.eye(6)  # what the motors add to their joints [kg]
feet = place(q)[-2:]
feet.round(3), np.linalg.eigvalsh(M_robot).round(3)

# %% [markdown]
# The left foot stands on the ground, the right one on a plate with a mass of its own, 6 × 6 as
# usual, which lies on the ground. So there are two groups of bodies, and three groups of blocks:
#
# - the left foot on the ground: one contact between the world and the robot;
# - the right foot on the plate: here the partners have 6 and 12 coordinates, and J is a pair;
# - the plate on the ground: four contacts.
#
# And the motors hold their joints: a block of six *free* rows (any impulse is allowed) that keeps
# the joint velocities at zero.

# %%
frame = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]])  # rows: normal, two tangents
left, right = frame @ J_points[-2], frame @ J_points[-1]
ROBOT, PLATE, WORLD = 0, 1, -1

thickness = 0.05
plate_at = feet[1] - [0, 0, thickness / 2]
corners = plate_at + [[x, y, -thickness / 2] for x in (-0.15, 0.15) for y in (-0.15, 0.15)]
up = np.array([[0.0, 0.0, 1.0]])

J_left = np.stack([np.zeros((3, 12)), left])[None]
# `contact_jacobian` with the foot as the second body: its first block is that of the plate.
J_plate_side = cs.contact_jacobian(feet[1:], up, [[0, -1]], [plate_at])[:, 0]
J_right = (J_plate_side, right[None])
J_plate = cs.contact_jacobian(corners, np.tile(up, (4, 1)), [[-1, 0]] * 4, [plate_at])
J_brakes = np.zeros((1, 2, 6, 12))
J_brakes[0, 1, :, 6:] = np.eye(6)

# %% [markdown]
# Now b for each group: the velocities after the step without any contact. Gravity pulls at the
# robot's points and at the plate.

# %%
gravity = np.array([0.0, 0.0, -9.81])
robot_falls = np.linalg.solve(
    M_robot, step * np.einsum("p,pij,i->j", point_mass, J_points, gravity)
)
plate_mass = 3.0
Minv_plate = [
    [1 / plate_mass] * 3 + [12 / (plate_mass * (0.3**2 + t**2)) for t in (0.05, 0.05, 0.3)]
]
plate_falls = np.concatenate([step * gravity, np.zeros(3)])

mu = 0.6
groups = [
    cs.Group(J_left, [[WORLD, ROBOT]], [left @ robot_falls], mu),
    cs.Group(J_right, [[PLATE, ROBOT]], J_right[0] @ plate_falls + right @ robot_falls, mu),
    cs.Group(J_plate, [[WORLD, PLATE]] * 4, J_plate[:, 1] @ plate_falls, mu),
    cs.Group(J_brakes, [[WORLD, ROBOT]], [robot_falls[6:]], sets=cs.sets.free()),
]
walker = cs.Problem(
    groups=groups,
    bodies=[cs.Bodies(mass=M_robot, diagonal=False), cs.Bodies(Minv_plate, diagonal=True)],
    name="walker",
)
result = cs.solve(walker, rtol=1e-10, max_iterations=20_000)
print(walker)
print(result.message)

# %% [markdown]
# Results come as one array per group. What the ground carries should be the weight of all, and each
# foot half of the robot's; with the trunk at rest, a brake carries along its leg what is above it.

# %%
on_left, on_right, on_plate, brakes = result.impulses
robot_weight, plate_weight = step * 9.81 * point_mass.sum(), step * 9.81 * plate_mass
print("left foot, normal     ", on_left[0, 0], " half of the robot:", robot_weight / 2)
print("right foot, normal    ", on_right[0, 0])
print("under the plate       ", on_plate[:, 0].sum(), " expected:", robot_weight / 2 + plate_weight)
print("brakes along the legs ", brakes[0, [2, 5]], " trunk:", step * 9.81 * 10 / 2, "each")
joints = (robot_falls + result.body_velocity_change[0][0])[6:]
print("largest joint velocity", abs(joints).max())

assert np.allclose([on_left[0, 0], on_right[0, 0]], robot_weight / 2)
assert np.isclose(on_plate[:, 0].sum(), robot_weight / 2 + plate_weight)
assert np.allclose(brakes[0, [2, 5]], -step * 9.81 * 10 / 2)
assert abs(joints).max() < 1e-9

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
cs.plots.problem(walker, ax=axes[0])
cs.plots.problem(walker, ax=axes[1], kind="graph")
plt.show()

# %% [markdown]
# The last row and column of A are the brakes. In the graph the two bodies are joined by the one
# contact between them, and both touch the fixed world.
#
# ### The same with one sparse J
#
# Who has all coordinates in one vector gives J as one matrix, sparse or dense, and the mass matrix
# of everything; `rows` says how many rows make a block. All blocks are then of one kind, so the
# brakes are left out here and the robot's joints give way.

# %%
limp = cs.Problem(
    groups=groups[:3],
    bodies=[cs.Bodies(mass=M_robot, diagonal=False), cs.Bodies(Minv_plate, diagonal=True)],
)
J_all = np.zeros((18, 18))  # 6 contacts of 3 rows; 12 coordinates of the robot, 6 of the plate
J_all[0:3, :12] = left
J_all[3:6, :12], J_all[3:6, 12:] = right, J_plate_side[0]
J_all[6:18, 12:] = J_plate[:, 1].reshape(12, 6)
M_all = block_diag([M_robot, np.diag(1 / np.array(Minv_plate[0]))])
b_all = J_all @ np.concatenate([robot_falls, plate_falls])
one = cs.Problem(csr_array(J_all), mass=M_all, b=b_all, mu=mu, rows=3)

difference = abs(one.delassus().toarray() - limp.delassus().toarray()).max()
print(one)
print("largest difference of A ", difference, "of", abs(one.delassus()).max())
first = np.concatenate(cs.solve(limp, rtol=1e-10).impulses)
second = cs.solve(one, rtol=1e-10).impulses
print("largest difference of λ ", abs(first - second).max(), "of", abs(first).max(), "N s")

assert difference < 1e-12
assert abs(first - second).max() < 1e-9

# %% [markdown]
# ## 3. From a complementarity problem
#
# No bodies at all: `from_delassus` takes the matrix itself. With `rows=1` and no friction it is the
# LCP of the textbooks,
#
#     w = M z + q,   w ≥ 0,   z ≥ 0,   w · z = 0.
#
# A string is stretched over a bump. z is the height of the string over the bump at 60 points, w is
# the force of the bump on the string; where the string is clear of the bump there is no force.

# %%
count = 60
x = np.linspace(0, 1, count + 2)[1:-1]
spacing = x[1] - x[0]
bump = 0.35 - 4 * (x - 0.4) ** 2
stiffness = diags_array(
    [-np.ones(count - 1), 2 * np.ones(count), -np.ones(count - 1)], offsets=[-1, 0, 1]
)
stiffness = (stiffness / spacing).tocsr()
string = cs.Problem.from_delassus(stiffness, stiffness @ bump, rows=1, name="string over a bump")
result = cs.solve(string, method="gauss_seidel", relaxation=1.8, rtol=1e-8, max_iterations=20_000)
z, w = result.impulses[:, 0], result.residual_velocities[:, 0]
print(result.message)
print(f"smallest z {z.min():.1e}, smallest w {w.min():.1e}, largest |z w| {abs(z * w).max():.1e}")

assert z.min() == 0
assert w.min() > -1e-6
assert abs(z * w).max() < 1e-6

# %%
fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.fill_between(x, bump, -0.2, color="0.88", label="bump")
ax.plot(np.r_[0, x, 1], np.r_[0, z + bump, 0], label="string")
ax.plot(x[z == 0], bump[z == 0], "o", markersize=4, label=f"touches, {np.sum(z == 0)} points")
ax.set_ylim(-0.1, 0.45)
ax.set_xlabel("x [m]")
ax.set_ylabel("height [m]")
ax.legend()
plt.show()

# %% [markdown]
# Gauss-Seidel on an LCP is what the textbooks call projected Gauss-Seidel, and `relaxation` makes
# it projected SOR. It matters here:

# %%
sweeps = {}
for relaxation in (1.0, 1.5, 1.8, 1.9, 1.95):
    result = cs.solve(
        string, method="gauss_seidel", relaxation=relaxation, rtol=1e-8, max_iterations=20_000
    )
    sweeps[relaxation] = result.iterations
    print(f"relaxation {relaxation:4}: {result.status} after {result.iterations:5} sweeps")

assert min(sweeps, key=sweeps.get) == 1.8
assert sweeps[1.0] > 5 * sweeps[1.8]

# %% [markdown]
# The best relaxation lies in between: beyond it the sweeps overshoot. Without a method, `auto` sees
# that no row has friction and pivots (`bpp`): an LCP of this size has an exact answer, which
# a few factors find.

# %%
exact = cs.solve(string, rtol=1e-8)
(link,) = exact.info["links"]
print(f"{link['method']}: {exact.message}")

assert link["method"] == "bpp"
assert exact.natural_map < 1e-12

# %% [markdown]
# Bounds on both sides make it the mixed problem with `lo` and `hi` (infinite where there is none).
# A shelf keeps the string from rising more than 0.2 over the bump:

# %%
held = cs.Problem.from_delassus(stiffness, stiffness @ bump, rows=1, lo=0.0, hi=0.2)
result = cs.solve(held, rtol=1e-8)
names, counts = np.unique(result.active, return_counts=True)
print(result.status, dict(zip(names.tolist(), counts.tolist(), strict=True)))

assert result.converged
assert np.isclose(result.impulses.max(), 0.2)
assert names.tolist() == ["free", "high", "low"]

# %% [markdown]
# Each point is free, at its lower bound (on the bump) or at its upper one (under the shelf).
#
# Signs, row orders and scalings of other libraries: `docs/conventions.md`.
