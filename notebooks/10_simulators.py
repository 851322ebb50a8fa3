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
# # Contact problems out of MuJoCo and Pinocchio
#
# A simulator finds contacts, joint limits and mass matrices; `cs.io.from_mujoco` and
# `cs.io.from_pinocchio` make a problem of them, and bring velocities back. Two humanoids stand
# here, and one falls. The second half needs Pinocchio (`pip install 'contactsolve[pinocchio]'`,
# 400 MB) and is skipped without it. Every claim is asserted in its cell.

# %%
import matplotlib.pyplot as plt
import mujoco
import numpy as np

import contactsolve as cs

try:
    import pinocchio as pin
except ImportError:
    pin = None

plt.rcParams["figure.dpi"] = 150
GRAVITY = 9.81

# %% [markdown]
# ## A humanoid stands
#
# `humanoid.xml` stands beside this notebook: 21 hinges whose dry friction is strong enough to hold
# its pose, and two boxes as feet. After `mj_forward`, `from_mujoco` reads the rows of all
# constraints. The humanoid is one body in generalised coordinates; the friction of its joints is a
# group of boxes, its contacts are a group of discs. `soft=False` makes all constraints rigid.

# %%
model = mujoco.MjModel.from_xml_path("humanoid.xml")
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
problem = cs.io.from_mujoco(model, data, soft=False)
print(problem)
for origin, feasible in zip(problem.origins, problem.sets, strict=True):
    print(origin.kind, origin.ids, feasible.name)

# %% [markdown]
# The impulses of the eight corners carry the weight, and nothing moves. How they share it is not
# unique: three points would do. Gauss–Seidel's answer depends on where it starts.

# %%
result = cs.solve(problem, rtol=1e-12)
friction, contacts = result.impulses
weight = model.body_subtreemass[0] * GRAVITY * model.opt.timestep
print(result.status, "| weight carried:", contacts.sum(axis=0) / weight)
print("corners:", np.round(contacts[:, 0] / weight, 3))

assert np.abs(contacts.sum(axis=0) / weight - [1, 0, 0]).max() < 1e-8
assert np.abs(problem.velocity(result)).max() < 1e-10

# %% [markdown]
# ## The same forces as MuJoCo
#
# MuJoCo solves another problem: constraints are soft, and sliding contacts obey the associated law,
# which makes the problem convex. Both are options, and then the forces are MuJoCo's own. Here the
# humanoid moves sideways, so that its feet slide.

# %%
model.opt.tolerance = 0  # MuJoCo's Newton method goes on until nothing changes any more
data.qvel[1] = 0.5
mujoco.mj_forward(model, data)
associated = cs.io.from_mujoco(model, data, law="associated")
coulomb = cs.io.from_mujoco(model, data)
solved = {name: cs.solve(p, rtol=1e-12) for name, p in (("a", associated), ("c", coulomb))}
forces = associated.forces(solved["a"])
off = np.abs(forces - data.efc_force).max() / np.abs(data.efc_force).max()
print(f"largest difference from efc_force: {off:.1e} of the largest force")

# Coulomb's law has no term that lifts a contact that slides.
lift = associated.velocity(solved["a"])[2] - coulomb.velocity(solved["c"])[2]
print(f"the associated law lifts the humanoid by {1e3 * lift:.1f} mm/s")

assert off < 1e-8
assert lift > 1e-3

# %% [markdown]
# ## It falls
#
# From 5 cm above the floor. `to_mujoco` writes forces and accelerations of a result to MuJoCo's
# data, and `mj_Euler` makes the step. Rigid contacts stop the fall in one step; MuJoCo's soft ones
# take 40 ms and let the feet sink in by some millimetres.


# %%
def fall(steps, step):
    data = mujoco.MjData(model)
    data.qpos[2] += 0.05
    height, force = [], []
    for _ in range(steps):
        step(data)
        height.append(data.qpos[2] - model.qpos0[2])
        of_contacts = data.efc_type == mujoco.mjtConstraint.mjCNSTR_CONTACT_ELLIPTIC
        force.append(data.efc_force[of_contacts][::3].sum())
    return np.array(height), np.array(force)


def rigid(data):
    mujoco.mj_forward(model, data)
    result = cs.solve(cs.io.from_mujoco(model, data, soft=False))
    assert result.converged
    cs.io.to_mujoco(model, data, result)
    mujoco.mj_Euler(model, data)


def soft(data):
    mujoco.mj_step(model, data)


STEPS = 150
times = model.opt.timestep * np.arange(1, STEPS + 1)
fig, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(7, 5), layout="constrained")
for name, step in (("rigid, contactsolve", rigid), ("soft, MuJoCo", soft)):
    height, force = fall(STEPS, step)
    above.plot(times, 1e3 * height, label=name)
    below.plot(times, force / 1e3, label=name)
    print(f"{name}: lowest {1e3 * height.min():.2f} mm, largest force {force.max():.0f} N")

    # In the end the contacts carry the weight.
    assert abs(force[-1] * model.opt.timestep / weight - 1) < 0.05
above.set_ylabel("height [mm]")
below.set(xlabel="time [s]", ylabel="normal force of all contacts [kN]", yscale="symlog")
below.axhline(weight / model.opt.timestep / 1e3, color="black", lw=0.5)
above.legend()
plt.show()

# %% [markdown]
# ## Pinocchio's humanoid stands
#
# Pinocchio has no step of its own with contacts to find: constraints are given. Here they are four
# points below each foot, with friction 0.6, and dry friction that locks the joints. The step
# begins at rest in the neutral configuration.


# %%
def standing(model, data):
    q = pin.neutral(model)
    pin.forwardKinematics(model, data, q)
    feet = [model.getJointId(f"{side}leg_wrist2_joint") for side in "rl"]
    q[2] -= data.oMi[feet[0]].translation[2]
    pin.forwardKinematics(model, data, q)
    contacts = []
    for foot in feet:
        x, y, _ = data.oMi[foot].translation
        for corner in ((-0.1, -0.05), (-0.1, 0.05), (0.15, -0.05), (0.15, 0.05)):
            ground = pin.SE3(np.eye(3), np.array([x + corner[0], y + corner[1], 0]))
            sole = data.oMi[foot].inverse() * ground
            contact = pin.PointContactConstraintModel(model, 0, ground, foot, sole)
            contact.setFriction(0.6)
            contacts.append(contact)
    joints, bound = pin.StdVec_Index(), np.full(model.nv, 1e4)
    joints.extend(list(range(2, model.njoints)))
    return [*contacts, pin.JointFrictionConstraintModel(model, joints, -bound, bound)], q


if pin is None:
    print("Pinocchio is not installed")
else:
    model = pin.buildSampleModelHumanoid()
    data = model.createData()
    constraints, q = standing(model, data)
    h = 1e-3
    problem = cs.io.from_pinocchio(model, data, constraints, q, np.zeros(model.nv), time_step=h)
    print(problem)

# %%
if pin is not None:
    result = cs.solve(problem, rtol=1e-12)
    contacts, friction = result.impulses
    weight = pin.computeTotalMass(model) * GRAVITY * h
    print(result.status, "| weight carried:", contacts.sum(axis=0) / weight)

    assert np.abs(contacts.sum(axis=0) / weight - [1, 0, 0]).max() < 1e-8
    assert np.abs(problem.velocity(result)).max() < 1e-10

# %% [markdown]
# A push of 3 N s to the front: the feet slide, and some corners open. Stiff joints couple all
# contacts with each other: sweeps and Newton's method wander here, and ADMM converges. Impulses go
# back as velocities in Pinocchio's order, ready for `pin.integrate`.

# %%
if pin is not None:
    tau = np.zeros(model.nv)
    tau[0] = 3 / h
    pushed = cs.io.from_pinocchio(model, data, constraints, q, 0 * tau, tau, time_step=h)
    result = cs.solve(pushed, method="admm")
    print(result.message)
    v = pushed.velocity(result)
    states, counts = np.unique(result.active[0], return_counts=True)
    print(dict(zip(states.tolist(), counts.tolist(), strict=True)))
    print("velocity of the base:", np.round(v[:6], 4), "[m/s, rad/s]")
    q_next = pin.integrate(model, q, h * v)

    assert result.converged
    assert v[0] > 0.01
