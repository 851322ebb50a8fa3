"""cs.io.from_mujoco: A, b and the sets of every kind of rows, against MuJoCo's own forces."""

import pickle

import numpy as np
import pytest

import contactsolve as cs
from contactsolve.io import _trees
from mujoco_models import (
    MODELS,
    boxes,
    delassus,
    edges_of,
    forwarded,
    model_of,
    mujocos_delassus,
    pairs,
    pendulum_on_a_box,
    tightly,
)
from repository import ROOT

mujoco = pytest.importorskip("mujoco")

CONES = ("elliptic", "pyramidal")
STORED = ("dense", "sparse")
MOVED = {"flex_on_a_box": 0.0}  # the time that models have moved on, if not half a second
UNEVEN = "0.8 0.3 0.02 0.004 0.003"
GRAVITY = 9.81


def close(ours, theirs, rtol):
    """Compare arrays by the largest entry."""
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=rtol * np.abs(theirs).max())


# ---- A -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("stored", STORED)
def test_a_is_mujocos(cone, stored):
    model = model_of(
        mujoco, boxes([1, 3, 4, 6]), cone=cone, jacobian=stored, solver="PGS", iterations=1
    )
    data = forwarded(mujoco, model, seed=1)
    problem = cs.io.from_mujoco(model, data, soft=False)
    theirs = mujocos_delassus(mujoco, model, data)
    to_rows = edges_of(problem, data)
    if cone == "elliptic":
        close(delassus(problem), to_rows.T @ theirs @ to_rows, 1e-12)
        return
    # Each edge is a combination of the rows; spin rows, which are left out, belong to some edges.
    whole = np.ones(data.nefc, bool)
    six = np.flatnonzero(data.contact.dim == 6)
    for address in data.contact.efc_address[six]:
        whole[address + 4 : address + 6] = False
    ours = to_rows @ delassus(problem) @ to_rows.T
    close(ours[np.ix_(whole, whole)], theirs[np.ix_(whole, whole)], 1e-12)


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("name", MODELS)
def test_a_of_each_kind_of_rows_is_mujocos(name, stored):
    model = model_of(mujoco, *MODELS[name], jacobian=stored, solver="PGS", iterations=1)
    data = forwarded(mujoco, model, seed=2, seconds=MOVED.get(name, 0.5))
    problem = cs.io.from_mujoco(model, data, soft=False)
    assert data.nefc > 0
    order = np.concatenate([origin.rows.ravel() for origin in problem.origins])
    assert sorted(order) == list(range(data.nefc))
    theirs = mujocos_delassus(mujoco, model, data)
    close(delassus(problem), theirs[np.ix_(order, order)], 1e-12)


# ---- forces --------------------------------------------------------------------------------------


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("name", MODELS)
def test_forces_of_each_kind_of_rows_are_mujocos(name, stored):
    model = model_of(mujoco, *MODELS[name], jacobian=stored)
    data = forwarded(mujoco, model, seed=2, seconds=MOVED.get(name, 0.5))
    problem = cs.io.from_mujoco(model, data, law="associated")
    result = tightly(problem)
    assert data.efc_force.any()
    close(problem.forces(result), data.efc_force, 1e-9)
    close(problem.velocity(result), data.qvel + model.opt.timestep * data.qacc, 1e-11)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("cone", "condims"), [("elliptic", [1, 3, 3]), ("pyramidal", [1, 3, 4, 6])]
)
def test_the_associated_law_has_mujocos_forces(cone, condims, seed):
    model = model_of(mujoco, boxes(condims), cone=cone, impratio=3)
    data = forwarded(mujoco, model, seed)
    problem = cs.io.from_mujoco(model, data, law="associated")
    result = tightly(problem)
    close(problem.forces(result), data.efc_force, 1e-8)
    close(problem.velocity(result), data.qvel + model.opt.timestep * data.qacc, 1e-9)


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("surface", ['adhesion="30"', 'surfacevel=".4 .2 0 0 0 1"'])
def test_surfaces_that_stick_or_move_have_mujocos_forces(cone, surface):
    model = model_of(
        mujoco,
        f"""<geom type="box" size="1 1 .1" pos="0 0 .1" {surface}/>
        <body pos="0 0 .299"><freejoint/><geom type="box" size=".1 .1 .1"/></body>""",
        cone=cone,
    )
    data = forwarded(mujoco, model, seed=14)
    problem = cs.io.from_mujoco(model, data, law="associated")
    result = tightly(problem)
    close(problem.forces(result), data.efc_force, 1e-8)
    close(problem.velocity(result), data.qvel + model.opt.timestep * data.qacc, 1e-9)


@pytest.mark.parametrize("cone", CONES)
def test_at_rest_coulombs_law_is_the_associated_one(cone):
    """No contact slides, and forces are far inside of the cones: MuJoCo's problem is the same."""
    model = model_of(mujoco, boxes([1, 3, 4, 6], overlap=1e-3), cone=cone, impratio=3)
    data = forwarded(mujoco, model)
    problem = cs.io.from_mujoco(model, data)
    velocity = problem.velocity(tightly(problem))
    theirs = data.qvel + model.opt.timestep * data.qacc
    np.testing.assert_allclose(velocity, theirs, atol=1e-9 * np.abs(theirs).max())


# ---- sets ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cone", "friction", "names"),
    [
        ("elliptic", UNEVEN, {1: "half_line", 3: "ellipse", 4: "support", 6: "rolling"}),
        (
            "elliptic",
            "0.8 0.8 0.02 0.004 0.003",
            {1: "half_line", 3: "disc", 4: "contensou_coupled", 6: "rolling"},
        ),
        ("pyramidal", UNEVEN, {1: "half_line", 3: "polygon", 4: "support", 6: "rolling"}),
    ],
)
@pytest.mark.parametrize("rows", CONES)
def test_contacts_have_the_set_of_their_dimension(cone, friction, names, rows):
    """The largest impulse along each axis is the coefficient; between axes it is the cone's."""
    model = model_of(mujoco, *pairs(names, friction), cone=rows)
    data = forwarded(mujoco, model, seed=4)
    problem = cs.io.from_mujoco(model, data, cone=cone)
    found = {}
    for origin, feasible in zip(problem.origins, problem.sets, strict=True):
        (dim,) = np.unique(data.contact.dim[origin.ids])
        found[int(dim)] = feasible
    assert {dim: feasible.name for dim, feasible in found.items()} == names

    coefficients = np.array(friction.split(), float)
    for dim in (3, 4):
        rows_of = coefficients[: dim - 1]
        far = np.eye(dim)[1:] * 100.0
        far[:, 0] = 2.0
        for axis, z in enumerate(far):
            impulse = found[dim].project(np.tile(z, (4, 1)))[0]
            assert impulse[1 + axis] == pytest.approx(2.0 * rows_of[axis], rel=1e-9)
        # On the diagonal of the axes: all shares are equal, and add up to one by either norm.
        z = np.append(2.0, 1e3 / rows_of)
        share = found[dim].project(np.tile(z, (4, 1)))[0][1:] / (2.0 * rows_of)
        total = np.linalg.norm(share) if cone == "elliptic" else share.sum()
        assert total == pytest.approx(1.0, rel=1e-6)
    rolling = {value.name: value.value for value in found[6].values}
    np.testing.assert_allclose(rolling["mu"], coefficients[:2].min())
    np.testing.assert_allclose(rolling["mu_r"], coefficients[3:].min())


def test_edges_become_the_rows_of_the_elliptic_cone():
    bodies = pairs([3, 4, 6], UNEVEN)
    problems = []
    for cone in CONES:
        model = model_of(mujoco, *bodies, cone=cone)
        data = forwarded(mujoco, model, seed=5)
        problems.append(cs.io.from_mujoco(model, data, cone="elliptic"))
    smooth, edged = problems
    for g in range(3):
        np.testing.assert_allclose(smooth.b[g], edged.b[g], atol=1e-12)
        np.testing.assert_allclose(smooth.J[g], edged.J[g], atol=1e-12)


def test_friction_of_joints_is_bounded():
    model = model_of(mujoco, *MODELS["friction_of_joints"])
    data = forwarded(mujoco, model, seed=6, speed=50)
    problem = cs.io.from_mujoco(model, data, soft=False)
    (impulses,) = tightly(problem).impulses
    np.testing.assert_allclose(impulses[:, 0], -0.4 * 2e-3 * np.sign(data.qvel), rtol=1e-12)


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("condim", [3, 4, 6])
def test_contacts_of_unequal_partners_keep_their_friction(cone, condim):
    """Contacts of one kind are split by their bodies: each has its own coefficients."""
    model = model_of(mujoco, pendulum_on_a_box(condim), cone=cone)
    data = forwarded(mujoco, model, seed=15)
    problem = cs.io.from_mujoco(model, data)
    sizes = [np.shape(J)[-1] if not isinstance(J, tuple) else None for J in problem.J]
    assert sizes.count(6) == 1
    assert None in sizes
    assert sum(len(origin.ids) for origin in problem.origins) == data.ncon
    for origin, feasible in zip(problem.origins, problem.sets, strict=True):
        friction = data.contact.friction[origin.ids]
        count = len(friction)
        m = {3: 3, 4: 4, 6: 5}[condim]
        far = np.zeros((count, m))
        far[:, 0], far[:, 1] = 1.0, 100.0
        np.testing.assert_allclose(feasible.project(far)[:, 1], friction[:, 0], rtol=1e-12)
        far[:, 1], far[:, -1] = 0.0, 100.0
        last = {3: 1, 4: 2, 6: 4}[condim]
        np.testing.assert_allclose(feasible.project(far)[:, -1], friction[:, last], rtol=1e-9)


def test_pairs_are_sorted_as_they_are_marked(monkeypatch):
    """The partners of blocks do not depend on how they are found."""
    model = model_of(mujoco, pendulum_on_a_box(3))
    data = forwarded(mujoco, model, seed=16)
    marked = cs.io.from_mujoco(model, data)
    monkeypatch.setattr(_trees, "_MARKED", 0)
    for a, b in zip(marked.bodies, cs.io.from_mujoco(model, data).bodies, strict=True):
        np.testing.assert_array_equal(a, b)


def test_trees_that_a_block_couples_are_one_body():
    model = model_of(mujoco, *MODELS["three_trees_and_a_fourth"])
    problem = cs.io.from_mujoco(model, forwarded(mujoco, model))
    sizes = [(origin.kind, origin.rows.shape[1]) for origin in problem.origins]
    assert sizes == [("equality", 1), ("equality", 3), ("contact", 3)]
    assert problem.bodies_count == 3  # the hinges, and two boxes
    assert problem.dof == 15


# ---- physics -------------------------------------------------------------------------------------


@pytest.mark.parametrize("cone", CONES)
def test_a_stack_carries_its_weight(cone):
    model = model_of(mujoco, boxes([3] * 5), cone=cone)
    problem = cs.io.from_mujoco(model, forwarded(mujoco, model), soft=False)
    result = tightly(problem)
    (impulses,) = result.impulses
    weight = model.body_mass[1] * GRAVITY * model.opt.timestep
    levels = impulses[:, 0].reshape(5, 4).sum(axis=1)
    np.testing.assert_allclose(levels, weight * np.arange(5, 0, -1), rtol=1e-10)
    np.testing.assert_allclose(problem.velocity(result), 0.0, atol=1e-12)


def test_penetration_and_drift_are_corrected_in_part():
    model = model_of(mujoco, boxes([3], overlap=1e-3))
    data = forwarded(mujoco, model)
    problem = cs.io.from_mujoco(model, data, soft=False, stabilization=0.25)
    velocity = problem.velocity(tightly(problem))
    assert velocity[2] == pytest.approx(0.25 * 1e-3 / model.opt.timestep)


@pytest.mark.parametrize("name", ["connect", "weld", "joint"])
def test_drift_of_joints_is_corrected(name):
    """A step that corrects errors as a whole leaves what is of second order in them."""
    model = model_of(mujoco, *MODELS[name])
    model.geom_contype[:] = 0
    data = forwarded(mujoco, model, seed=12, seconds=0.03)
    data.qvel[:] = 0
    mujoco.mj_forward(model, data)
    before = np.abs(data.efc_pos).max()
    assert before > 1e-3
    problem = cs.io.from_mujoco(model, data, soft=False, stabilization=1)
    data.qvel[:] = problem.velocity(tightly(problem))
    mujoco.mj_integratePos(model, data.qpos, data.qvel, model.opt.timestep)
    mujoco.mj_forward(model, data)
    assert np.abs(data.efc_pos).max() < 10 * before**2


def test_a_conveyor_drives_what_lies_on_it():
    model = model_of(
        mujoco,
        f"""<geom type="box" size="1 1 .1" pos="0 0 .1" surfacevel=".5 .2 0 0 0 0"/>
        <body pos="0 0 {0.3 - 1e-6}"><freejoint/><geom type="box" size=".1 .1 .1"/></body>""",
        timestep=0.1,
    )
    data = forwarded(mujoco, model)
    problem = cs.io.from_mujoco(model, data, soft=False)
    velocity = problem.velocity(tightly(problem))
    np.testing.assert_allclose(velocity[:2], [0.5, 0.2], atol=1e-9)


def stepped(model, steps, **options):
    """Fall with impulses of this library, integrated by MuJoCo."""
    data = mujoco.MjData(model)
    path = []
    for _ in range(steps):
        mujoco.mj_forward(model, data)
        problem = cs.io.from_mujoco(model, data, **options)
        result = tightly(problem)
        expected = problem.velocity(result)
        cs.io.to_mujoco(model, data, result)
        mujoco.mj_Euler(model, data)
        np.testing.assert_allclose(data.qvel, expected, atol=1e-12)
        path.append(data.qpos.copy())
    return np.array(path)


@pytest.mark.parametrize("cone", CONES)
def test_a_box_falls_as_in_mujoco(cone):
    """It tumbles onto an edge: the same convex problem in each step has the same trajectory."""
    box = """<body pos="0 0 .16" euler="20 35 0"><freejoint/>
        <geom type="box" size=".1 .1 .1" friction=".6 .01 .01"/></body>"""
    model = model_of(mujoco, box, cone=cone)
    ours = stepped(model, 60, law="associated")
    data, path = mujoco.MjData(model), []
    for _ in range(60):
        mujoco.mj_step(model, data)
        path.append(data.qpos.copy())
    theirs = np.array(path)
    assert data.ncon > 0
    # Errors of single steps, below 1e-9 of the velocity, add up over steps and contacts.
    np.testing.assert_allclose(ours, theirs, atol=1e-7)


@pytest.mark.parametrize("integrator", ["Euler", "implicit", "implicitfast"])
def test_mujocos_integrators_take_the_forces(integrator):
    """With damping their mass matrix is another one, once forces are known."""
    bodies, rest = MODELS["limit_of_hinges"]
    model = model_of(mujoco, bodies, rest, integrator=integrator)
    model.dof_damping[:] = 0.05
    data = forwarded(mujoco, model, seed=13)
    cs.io.to_mujoco(model, data, tightly(cs.io.from_mujoco(model, data)))
    (mujoco.mj_Euler if integrator == "Euler" else mujoco.mj_implicit)(model, data)
    theirs = forwarded(mujoco, model, seed=13)
    mujoco.mj_step(model, theirs)
    assert theirs.efc_force.any()
    close(data.qvel, theirs.qvel, 1e-12)
    close(data.qpos, theirs.qpos, 1e-12)


def test_trees_that_sleep_stay_at_rest():
    bodies = """<body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
        <body pos="2 0 .15"><freejoint/><geom size=".1"/></body>"""
    model = model_of(mujoco, bodies)
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    data = mujoco.MjData(model)
    while data.ntree_awake and data.time < 20:
        mujoco.mj_step(model, data)
    assert data.ntree_awake == 0
    data.qvel[6] = 0.5  # one of them wakes
    mujoco.mj_forward(model, data)
    assert data.ntree_awake == 1
    problem = cs.io.from_mujoco(model, data, law="associated")
    result = tightly(problem)
    velocity = problem.velocity(result)
    cs.io.to_mujoco(model, data, result)
    accelerations = data.qacc.copy()
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(accelerations[6:], data.qacc[6:], atol=1e-8)
    np.testing.assert_array_equal(accelerations[:6], 0.0)
    mujoco.mj_step(model, data)
    np.testing.assert_array_equal(velocity[:6], 0.0)
    np.testing.assert_allclose(velocity, data.qvel, atol=1e-9)


def test_a_rigid_box_falls_freely_and_stops():
    model = model_of(mujoco, boxes([3], overlap=-0.01))
    path = stepped(model, 40, soft=False)
    h = model.opt.timestep
    n = np.arange(1, 41)
    free = 0.11 - GRAVITY * h**2 * n * (n + 1) / 2
    falling = free > 0.1  # until then there is no contact
    np.testing.assert_allclose(path[falling, 2], free[falling], atol=1e-13)
    # MuJoCo has a contact once there is penetration: less than the last step of the fall.
    rest = path[~falling, 2]
    np.testing.assert_allclose(rest, free[~falling][0], atol=1e-12)


# ---- the way back, and errors --------------------------------------------------------------------


def test_forces_on_edges_have_the_resultant_of_the_contact():
    model = model_of(mujoco, boxes([3, 4, 6]), cone="pyramidal")
    data = forwarded(mujoco, model, seed=8)
    problem = cs.io.from_mujoco(model, data, soft=False)
    result = tightly(problem)
    cs.io.to_mujoco(model, data, result)
    six = data.contact.efc_address[data.contact.dim == 6].min()  # whose set is no pyramid
    assert data.efc_force[:six].min() >= -1e-9 * data.efc_force.max()
    wrench = np.zeros(6)
    for origin, impulses in zip(problem.origins, result.impulses, strict=True):
        for number, impulse in zip(origin.ids, impulses, strict=True):
            mujoco.mj_contactForce(model, data, number, wrench)
            spin = [0.0] if len(impulse) == 5 else []  # a row that the problem does not have
            padded = np.concatenate((impulse[:3], spin, impulse[3:]))
            padded = np.append(padded, np.zeros(6 - len(padded)))
            np.testing.assert_allclose(
                wrench * model.opt.timestep, padded, atol=1e-9 * np.abs(padded).max()
            )
    change = model.opt.timestep * np.linalg.solve(
        full_mass(model, data), data.qfrc_constraint + data.qfrc_smooth
    )
    np.testing.assert_allclose(data.qvel + change, problem.velocity(result), atol=1e-11)


def full_mass(model, data):
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    return mass


def test_nothing_is_written_to_the_data():
    model = model_of(mujoco, boxes([3, 4]))
    data = forwarded(mujoco, model, seed=9)
    names = [name for name in dir(data) if isinstance(getattr(data, name), np.ndarray)]
    before = {name: getattr(data, name).copy() for name in names}
    problem = cs.io.from_mujoco(model, data)
    problem.velocity(cs.solve(problem))
    for name in names:
        np.testing.assert_array_equal(getattr(data, name), before[name], err_msg=name)


def test_a_problem_without_constraints_moves_freely():
    model = model_of(mujoco, boxes([3], overlap=-0.1))
    data = forwarded(mujoco, model, seed=10)
    problem = cs.io.from_mujoco(model, data)
    velocity = problem.velocity(cs.solve(problem))
    np.testing.assert_allclose(velocity, data.qvel + model.opt.timestep * data.qacc, atol=1e-15)


def test_a_problem_can_be_pickled():
    model = model_of(mujoco, boxes([3, 4]), cone="pyramidal")
    problem = cs.io.from_mujoco(model, forwarded(mujoco, model, seed=11))
    again = pickle.loads(pickle.dumps(problem))
    result, copied = cs.solve(problem), cs.solve(again)
    np.testing.assert_array_equal(again.velocity(copied), problem.velocity(result))
    np.testing.assert_array_equal(again.forces(copied), problem.forces(result))


def test_a_saved_problem_is_a_plain_one(tmp_path):
    model = model_of(mujoco, boxes([3, 4]))
    problem = cs.io.from_mujoco(model, forwarded(mujoco, model, seed=11))
    problem.save(tmp_path / "boxes.hdf5")
    again = cs.load_problem(tmp_path / "boxes.hdf5")
    assert type(again) is cs.Problem
    for ours, theirs in zip(cs.solve(problem).impulses, cs.solve(again).impulses, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_standing_humanoid_carries_its_weight():
    """Dry friction holds its joints; the eight corners of its feet carry it, as they like."""
    model = mujoco.MjModel.from_xml_path(str(ROOT / "notebooks" / "humanoid.xml"))
    data = forwarded(mujoco, model)
    problem = cs.io.from_mujoco(model, data, soft=False)
    assert [origin.kind for origin in problem.origins] == ["friction", "contact"]
    result = tightly(problem)
    weight = model.body_subtreemass[0] * GRAVITY * model.opt.timestep
    np.testing.assert_allclose(result.impulses[1].sum(axis=0) / weight, [1, 0, 0], atol=1e-8)
    np.testing.assert_allclose(problem.velocity(result), 0.0, atol=1e-10)


def test_data_that_is_out_of_date_is_refused():
    model = model_of(mujoco, boxes([3]))
    with pytest.raises(ValueError, match=r"no mass matrix: call mujoco\.mj_forward"):
        cs.io.from_mujoco(model, mujoco.MjData(model))
    data = forwarded(mujoco, model)
    data.qpos[2] += 1e-3
    with pytest.raises(ValueError, match=r"data.xpos\[1\] is older than data.qpos"):
        cs.io.from_mujoco(model, data)
    data = forwarded(mujoco, model)
    data.qvel[0] = 1.0
    with pytest.raises(ValueError, match=r"data.efc_vel\[\d+\] is older than data.qvel"):
        cs.io.from_mujoco(model, data)
    data = forwarded(mujoco, model)
    mujoco.mj_step(model, data)
    with pytest.raises(ValueError, match=r"call mujoco\.mj_forward"):
        cs.io.from_mujoco(model, data)


def test_what_is_not_known_is_named():
    model = model_of(mujoco, *pairs([3, 4], UNEVEN))
    data = forwarded(mujoco, model)
    for option, value in (("law", "tresca"), ("cone", "round")):
        with pytest.raises(ValueError, match=f"{option} is '{value}'; known: "):
            cs.io.from_mujoco(model, data, **{option: value})
    with pytest.raises(ValueError, match="stabilization is 2: it lies between 0 and 1"):
        cs.io.from_mujoco(model, data, soft=False, stabilization=2)
    with pytest.raises(ValueError, match=r"stabilization is 0.5, but soft=True"):
        cs.io.from_mujoco(model, data, stabilization=0.5)
    with pytest.raises(ValueError, match="cone is 'elliptic', but law='associated'"):
        cs.io.from_mujoco(model, data, law="associated", cone="elliptic")
    with pytest.raises(
        ValueError, match=r"contact 0 has an elliptic cone of condim 3 with .* 0.8, 0.3"
    ):
        cs.io.from_mujoco(model, data, law="associated")
    with pytest.raises(TypeError, match=r"model is .*: a mujoco.MjModel is needed"):
        cs.io.from_mujoco(data, model)
    with pytest.raises(TypeError, match=r"data is None: a mujoco.MjData is needed"):
        cs.io.from_mujoco(model, None)
    with pytest.raises(ValueError, match="data is of another model"):
        cs.io.from_mujoco(model_of(mujoco, boxes([3])), data)
    data.efc_type[3] = 9
    with pytest.raises(ValueError, match=r"efc_type\[3\] is 9: no type of rows that is known"):
        cs.io.from_mujoco(model, data)


def test_results_of_other_problems_are_refused():
    model = model_of(mujoco, boxes([3]))
    data = forwarded(mujoco, model)
    problem = cs.io.from_mujoco(model, data)
    other = cs.solve(cs.scenarios.box_stack(2))
    with pytest.raises(TypeError, match="a problem of from_mujoco is needed"):
        cs.io.to_mujoco(model, data, other)
    with pytest.raises(ValueError, match="result is that of a problem with other"):
        problem.velocity(other)
    with pytest.raises(ValueError, match="result is that of a problem with other"):
        problem.forces(other)
    larger = model_of(mujoco, boxes([3, 3]))
    with pytest.raises(ValueError, match=r"data has 24 rows .* made from 12 and 6"):
        cs.io.to_mujoco(larger, forwarded(mujoco, larger), cs.solve(problem))
