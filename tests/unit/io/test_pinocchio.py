"""cs.io.from_pinocchio: J, A, sets and velocities, against Pinocchio's own functions."""

import pickle

import numpy as np
import pytest

import contactsolve as cs
from mujoco_models import delassus, tightly

pin = pytest.importorskip("pinocchio")

H = 1e-3
GRAVITY = 9.81
RIGHT_FOOT, LEFT_FOOT, HAND = 7, 13, 23


@pytest.fixture
def humanoid():
    """Return a model, its data, and a random configuration with velocities and torques."""
    model = pin.buildSampleModelHumanoid()
    pin.seed(1)
    model.lowerPositionLimit[:7], model.upperPositionLimit[:7] = -2, 2
    q = pin.randomConfiguration(model)
    rng = np.random.default_rng(0)
    return model, model.createData(), q, rng.normal(size=model.nv), rng.normal(size=model.nv)


def rigid(model, kind, joints, frame):
    """Return a rigid constraint between two joints, at random places."""
    contact = {3: pin.ContactType.CONTACT_3D, 6: pin.ContactType.CONTACT_6D}[kind]
    first, second = joints
    places = pin.SE3.Random(), pin.SE3.Random()
    return pin.RigidConstraintModel(contact, model, first, places[0], second, places[1], frame)


def rigid_mixture(model):
    local, aligned = pin.ReferenceFrame.LOCAL, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    return [
        rigid(model, 3, (RIGHT_FOOT, 0), local),
        rigid(model, 3, (HAND, RIGHT_FOOT), aligned),
        rigid(model, 6, (RIGHT_FOOT, LEFT_FOOT), local),
        rigid(model, 6, (LEFT_FOOT, HAND), aligned),
    ]


def mixture(model):
    """Return a touching point, and a point and a frame that are held."""
    first, second, third = pin.SE3.Random(), pin.SE3.Random(), pin.SE3.Random()
    touching = pin.PointContactConstraintModel(model, HAND, first, LEFT_FOOT, second)
    touching.setFriction(0.4)
    return [
        touching,
        pin.PointAnchorConstraintModel(model, 0, second, HAND, third),
        pin.FrameAnchorConstraintModel(model, LEFT_FOOT, third, RIGHT_FOOT, first),
    ]


def wrapped(constraints):
    """Return the constraints and their data as Pinocchio's functions take them."""
    if isinstance(constraints[0], pin.RigidConstraintModel):
        models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    else:
        models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
        constraints = [pin.ConstraintModel(one) for one in constraints]
    for one in constraints:
        models.append(one)
        datas.append(one.createData())
    return models, datas


def relative_velocity(model, data, one):
    """Return the rows of a constraint from the velocities of its joints, in the world."""
    joints, places = (one.joint1_id, one.joint2_id), (one.joint1_placement, one.joint2_placement)
    twists = [data.oMi[j].act(data.v[j]) for j in joints]  # at the origin of the world
    poses = [data.oMi[j] * place for j, place in zip(joints, places, strict=True)]
    is_rigid = isinstance(one, pin.RigidConstraintModel)
    rows = one.residualSize()

    # Where velocities are taken: for each joint at its own point, or for both at the same.
    points = [pose.translation for pose in poses]
    if rows == 6:
        points[1] = points[0]
    elif not is_rigid:
        points[0] = points[1]
    first, second = (
        np.array([t.linear + np.cross(t.angular, x), t.angular])
        for t, x in zip(twists, points, strict=True)
    )
    aligned = is_rigid and one.reference_frame == pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    axes = np.eye(3) if aligned else poses[0].rotation
    sign = -1.0 if is_rigid else 1.0
    return sign * ((second - first) @ axes).ravel()[:rows]


@pytest.fixture
def two_balls():
    """Return a model of two free balls, one on the other, its data and configuration."""
    model = pin.Model()
    for name in ("lower", "upper"):
        joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), name)
        model.appendBodyToJoint(joint, pin.Inertia.FromSphere(2.0, 0.1), pin.SE3.Identity())
    q = pin.neutral(model)
    q[2], q[9] = 0.1, 0.3
    return model, model.createData(), q


# ---- J, b and A ----------------------------------------------------------------------------------


@pytest.mark.parametrize("constraints_of", [rigid_mixture, mixture])
def test_rows_are_velocities_in_the_world(humanoid, constraints_of):
    model, data, q, v, tau = humanoid
    constraints = constraints_of(model)
    problem = cs.io.from_pinocchio(model, data, constraints, q, v, tau, time_step=H)
    pin.forwardKinematics(model, data, q, v)
    seen = set()
    for origin, J in zip(problem.origins, problem.J, strict=True):
        for number, rows in zip(origin.ids, J.sum(axis=1) @ v, strict=True):
            expected = relative_velocity(model, data, constraints[number])
            expected = expected[[2, 0, 1]] if origin.kind == "contact" else expected
            scale = np.abs(J).sum(axis=(1, 3)).max() * np.abs(v).max()
            np.testing.assert_allclose(rows, expected, rtol=0, atol=1e-14 * scale)
            seen.add(int(number))
    assert seen == set(range(len(constraints)))


@pytest.mark.parametrize("constraints_of", [rigid_mixture, mixture])
def test_a_is_pinocchios(humanoid, constraints_of):
    """Its factor has the damped Delassus matrix of all rows: the damping is subtracted again."""
    model, data, q, v, tau = humanoid
    constraints = constraints_of(model)
    problem = cs.io.from_pinocchio(model, data, constraints, q, v, tau, time_step=H)
    models, datas = wrapped(constraints)
    for one, own in zip(models, datas, strict=True):
        one.calc(model, data, own)
    factor = pin.ConstraintCholeskyDecomposition(model, data, models, datas)
    factor.compute(model, data, models, datas, 1e-6)
    theirs = factor.getInverseOperationalSpaceInertiaMatrix()
    theirs = theirs - 1e-6 * np.eye(len(theirs))
    order = np.concatenate([origin.rows.ravel() for origin in problem.origins])
    np.testing.assert_allclose(
        delassus(problem), theirs[np.ix_(order, order)], rtol=0, atol=1e-12 * np.abs(theirs).max()
    )


@pytest.mark.parametrize("rows", [3, 6])
def test_a_of_one_constraint_is_the_delassus_matrix(humanoid, rows):
    """With the world, in the local frame: for others Pinocchio 4.1 returns another matrix."""
    model, data, q, v, tau = humanoid
    one = rigid(model, rows, (HAND, 0), pin.ReferenceFrame.LOCAL)
    problem = cs.io.from_pinocchio(model, data, [one], q, v, tau, time_step=H)
    theirs = pin.computeDelassusMatrix(model, model.createData(), q, *wrapped([one]), 0.0)
    np.testing.assert_allclose(delassus(problem), theirs, atol=1e-12 * np.abs(theirs).max())


def test_b_is_the_velocity_without_impulses(humanoid):
    model, data, q, v, tau = humanoid
    problem = cs.io.from_pinocchio(model, data, rigid_mixture(model), q, v, tau, time_step=H)
    expected = v + H * pin.aba(model, model.createData(), q, v, tau)
    np.testing.assert_allclose(problem.free_velocity, expected, atol=1e-12)
    for J, b in zip(problem.J, problem.b, strict=True):
        np.testing.assert_allclose(b, J.sum(axis=1) @ expected, atol=1e-11)


# ---- impulses ------------------------------------------------------------------------------------


def test_held_points_have_pinocchios_accelerations(humanoid):
    """At rest there is no drift, so that the velocities after a step are h times its solution."""
    model, data, q, _, tau = humanoid
    constraints = rigid_mixture(model)[:3]
    v = np.zeros(model.nv)
    problem = cs.io.from_pinocchio(model, data, constraints, q, v, tau, time_step=H)
    result = tightly(problem)

    models, datas = wrapped(constraints)
    pin.initConstraintDynamics(model, data, models, datas)
    settings = pin.ProximalSettings(1e-14, 1e-12, 100)
    acceleration = pin.constraintDynamics(model, data, q, v, tau, models, datas, settings)
    largest = np.abs(acceleration).max()
    np.testing.assert_allclose(problem.velocity(result) / H, acceleration, atol=1e-9 * largest)
    forces, largest = problem.forces(result), np.abs(data.lambda_c).max()
    np.testing.assert_allclose(forces, data.lambda_c, atol=1e-9 * largest)


def standing(model, data):
    """Return constraints of a humanoid that stands with stiff joints, and its configuration."""
    q = pin.neutral(model)
    pin.forwardKinematics(model, data, q)
    q[2] -= data.oMi[RIGHT_FOOT].translation[2]
    pin.forwardKinematics(model, data, q)
    contacts = []
    for foot in (RIGHT_FOOT, LEFT_FOOT):
        below = data.oMi[foot].translation
        for x, y in ((-0.1, -0.05), (-0.1, 0.05), (0.15, -0.05), (0.15, 0.05)):
            ground = pin.SE3(np.eye(3), np.array([below[0] + x, below[1] + y, 0.0]))
            touching = pin.PointContactConstraintModel(
                model, 0, ground, foot, data.oMi[foot].inverse() * ground
            )
            touching.setFriction(0.6)
            contacts.append(touching)
    joints = pin.StdVec_Index()
    joints.extend(list(range(2, model.njoints)))
    bound = np.full(model.nv, 1e4)
    stiff = pin.JointFrictionConstraintModel(model, joints, -bound, bound)
    return [*contacts, stiff], q


def test_a_standing_humanoid_carries_its_weight():
    model = pin.buildSampleModelHumanoid()
    data = model.createData()
    constraints, q = standing(model, data)
    v = np.zeros(model.nv)
    problem = cs.io.from_pinocchio(model, data, constraints, q, v, time_step=H)
    result = tightly(problem)
    contacts = [origin.kind for origin in problem.origins].index("contact")
    total = result.impulses[contacts].sum(axis=0)
    weight = pin.computeTotalMass(model) * GRAVITY * H
    np.testing.assert_allclose(total, [weight, 0, 0], rtol=1e-8, atol=1e-8 * weight)
    np.testing.assert_allclose(problem.velocity(result), 0.0, atol=1e-9)


def test_contacts_slide_as_with_pinocchios_solver():
    """Its Gauss-Seidel method solves the same law: pushed by more than friction holds."""
    model = pin.buildSampleModelHumanoid()
    data = model.createData()
    constraints, q = standing(model, data)
    v, tau = np.zeros(model.nv), np.zeros(model.nv)
    v[:6] = 0.2, 0.1, -0.05, 0.1, 0.2, -0.1
    constraints = constraints[:8]
    # A stiffness under each point makes its impulses unique.
    for one in constraints:
        one.setCompliance(np.full(3, 0.01))
    problem = cs.io.from_pinocchio(model, data, constraints, q, v, tau, time_step=H)
    result = tightly(problem)
    assert "slide" in result.active[0]

    # In its order of rows, t1, t2, n.
    rows = np.argsort(problem.origins[0].rows.ravel())
    models, datas = wrapped(constraints)
    for one, own in zip(models, datas, strict=True):
        one.calc(model, data, own)
    A, g = delassus(problem)[np.ix_(rows, rows)], problem.b[0].ravel()[rows]
    settings, found = pin.PGSSolverSettings(), pin.PGSSolverResult()
    settings.max_iterations = 100_000
    settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = 1e-13
    settings.relative_feasibility_tol = settings.relative_complementarity_tol = 0

    solver = pin.PGSConstraintSolver(len(A))
    assert solver.solve(pin.DelassusOperatorDense(A), g, models, datas, settings, found)
    theirs = found.retrieveConstraintImpulses()
    np.testing.assert_allclose(problem.forces(result) * H, theirs, atol=1e-8 * np.abs(theirs).max())


@pytest.mark.parametrize("kind", ["PointAnchor", "FrameAnchor"])
def test_drift_is_corrected(humanoid, kind):
    """A step that corrects errors as a whole leaves what is of second order in them."""
    model, data, q, _, _ = humanoid
    v = np.zeros(model.nv)
    pin.forwardKinematics(model, data, q)
    joints = (LEFT_FOOT, HAND)
    places = [data.oMi[joint].inverse() * data.oMi[HAND] for joint in joints]
    places[1] = places[1] * pin.exp6(pin.Motion(0.01 * np.array([1, 2, -1, 0.5, 1, -1])))
    constraint = getattr(pin, f"{kind}ConstraintModel")(
        model, joints[0], places[0], joints[1], places[1]
    )
    problem = cs.io.from_pinocchio(model, data, [constraint], q, v, time_step=H, stabilization=1)
    moved = pin.integrate(model, q, H * problem.velocity(tightly(problem)))
    errors = []
    for configuration in (q, moved):
        pin.computeAllTerms(model, data, configuration, v)
        own = constraint.createData()
        constraint.calc(model, data, own)
        errors.append(np.abs(own.constraint_position_error).max())
    before, after = errors
    assert before > 0.01
    assert after < 10 * before**2


def test_balls_of_two_trees_push_each_other(two_balls):
    """Each ball is a body of its own; the lower one carries both."""
    model, data, q = two_balls
    v = np.zeros(model.nv)
    contacts = []
    for joints, height in (((0, 1), 0.0), ((1, 2), 0.2)):
        places = [
            pin.SE3(np.eye(3), np.array([0, 0, height - (0, q[2], q[9])[joint]]))
            for joint in joints
        ]
        touching = pin.PointContactConstraintModel(
            model, joints[0], places[0], joints[1], places[1]
        )
        touching.setFriction(0.3)
        contacts.append(touching)
    problem = cs.io.from_pinocchio(model, data, contacts, q, v, time_step=H)
    assert problem.bodies_count == 2
    np.testing.assert_array_equal(np.concatenate(problem.bodies), [[-1, 0], [0, 1]])
    (impulses,) = tightly(problem).impulses
    weight = 2.0 * GRAVITY * H
    np.testing.assert_allclose(impulses, [[2 * weight, 0, 0], [weight, 0, 0]], atol=1e-15)

    # Contacts may close their gap, but not more.
    v[[2, 8]] = -1.0
    q[[2, 9]] += 4e-4
    problem = cs.io.from_pinocchio(model, data, contacts, q, v, time_step=H)
    velocity = problem.velocity(tightly(problem))
    np.testing.assert_allclose(velocity[[2, 8]], -0.4, atol=1e-12)

    # Penetration is corrected in part.
    v[:] = 0.0
    q[[2, 9]] -= 6e-4
    for share in (0.0, 0.5):
        given = {"time_step": H, "stabilization": share}
        problem = cs.io.from_pinocchio(model, data, contacts, q, v, **given)
        velocity = problem.velocity(tightly(problem))
        np.testing.assert_allclose(velocity[[2, 8]], share * 0.2, atol=1e-12)


def test_a_rigid_point_with_friction_is_a_contact(two_balls):
    """The normal is the z axis; the first joint is pushed along it."""
    model, data, q = two_balls
    v = np.zeros(model.nv)
    v[0] = 1.0
    below = pin.SE3(np.eye(3), np.array([0, 0, -0.1]))
    frame = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    held, touching = (
        pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, joint, below, frame)
        for joint in (2, 1)
    )
    problem = cs.io.from_pinocchio(model, data, [held, touching], q, v, time_step=H, mu=[None, 0.3])
    assert [origin.kind for origin in problem.origins] == ["equality", "contact"]
    weight = 2.0 * GRAVITY * H
    held_impulses, impulses = tightly(problem).impulses
    np.testing.assert_allclose(held_impulses, [[0, 0, weight]], atol=1e-15)
    np.testing.assert_allclose(impulses, [[weight, -0.3 * weight, 0]], atol=1e-15)


@pytest.fixture
def arm():
    """Return a manipulator without gravity."""
    model = pin.buildSampleModelManipulator()
    model.lowerPositionLimit[:], model.upperPositionLimit[:] = -1.0, 1.5
    model.gravity = pin.Motion.Zero()
    return model, model.createData()


def test_limits_of_joints(arm):
    """Limits that are reached hold; before one a joint moves as far as it is away."""
    model, data = arm
    q = np.array([-1.0, 0.2, 1.5, 0.3, -0.9995, 0.3])
    v = np.array([-1.0, 0.3, 2.0, 0.0, -2.0, 0.0])
    limits = pin.JointLimitConstraintModel(model)
    problem = cs.io.from_pinocchio(model, data, [limits], q, v, time_step=H)
    assert [origin.kind for origin in problem.origins] == ["limit"]
    result = tightly(problem)
    velocity, forces = problem.velocity(result), problem.forces(result)

    # Rows are the lower limits, then the upper ones.
    distance = np.concatenate((q + 1.0, 1.5 - q)) + H * np.concatenate((velocity, -velocity))
    assert (distance >= -1e-12).all()
    assert (forces >= 0).all()
    np.testing.assert_allclose(forces * distance, 0.0, atol=1e-12)
    assert {4, 8} <= set(np.flatnonzero(forces))


@pytest.mark.parametrize("active", [[1, 2, 3, 4, 5, 6], [2, 5]])
def test_friction_of_joints(arm, active):
    """Torques within the bounds move no joint; beyond, friction is on its bound."""
    model, data = arm
    low, high = -0.1 * np.arange(1, 7), 0.2 * np.arange(1, 7)
    joints = pin.StdVec_Index()
    joints.extend(active)
    friction = pin.JointFrictionConstraintModel(model, joints, low, high)
    q, v = np.full(6, 0.3), np.zeros(6)
    dofs = np.array(active) - 1
    for scale in (-0.9, 0.4, 20.0, -20.0):
        tau = np.zeros(6)
        tau[dofs] = scale * 0.1 * np.array([1, 2, 3, 4, 5, 6])[dofs]
        given = [pin.ConstraintModel(friction)]
        problem = cs.io.from_pinocchio(model, data, given, q, v, tau, time_step=H)
        assert [origin.kind for origin in problem.origins] == ["friction"]
        result = tightly(problem)
        velocity, forces = problem.velocity(result)[dofs], problem.forces(result)
        if abs(scale) < 1:
            np.testing.assert_allclose(forces, -tau[dofs], atol=1e-12)
            np.testing.assert_allclose(velocity, 0.0, atol=1e-15)
            continue
        assert np.abs(velocity).max() > 1e-3
        moving = np.abs(velocity) > 1e-12
        bound = np.where(velocity > 0, low[dofs], high[dofs])
        np.testing.assert_allclose(forces[moving], bound[moving], rtol=1e-12)
        assert (forces >= low[dofs] - 1e-12).all()
        assert (forces <= high[dofs] + 1e-12).all()


# ---- the way back, and errors --------------------------------------------------------------------


def test_a_problem_can_be_pickled(humanoid):
    model, data, q, v, tau = humanoid
    problem = cs.io.from_pinocchio(model, data, mixture(model), q, v, tau, time_step=H)
    again = pickle.loads(pickle.dumps(problem))
    result, copied = cs.solve(problem), cs.solve(again)
    np.testing.assert_array_equal(again.velocity(copied), problem.velocity(result))
    np.testing.assert_array_equal(again.forces(copied), problem.forces(result))


def test_without_constraints_the_bodies_move_freely(humanoid):
    model, data, q, v, tau = humanoid
    problem = cs.io.from_pinocchio(model, data, [], q, v, tau, time_step=H)
    np.testing.assert_array_equal(problem.velocity(cs.solve(problem)), problem.free_velocity)


def test_compliance_is_that_of_the_constraints(humanoid):
    model, data, q, v, tau = humanoid
    constraints = mixture(model)
    constraints[0].setCompliance(np.array([1.0, 2.0, 3.0]))
    problem = cs.io.from_pinocchio(model, data, constraints, q, v, tau, time_step=H)
    given = {
        origin.kind: one for origin, one in zip(problem.origins, problem.compliance, strict=True)
    }
    np.testing.assert_array_equal(given["contact"], [[3.0, 1.0, 2.0]])
    assert given["equality"] is None


def test_what_is_not_known_is_named(humanoid):
    model, data, q, v, tau = humanoid
    constraints = [*rigid_mixture(model), *mixture(model)]

    def given(constraints=constraints, q=q, v=v, tau=tau, time_step=H, **options):
        return cs.io.from_pinocchio(
            model, data, constraints, q, v, tau, time_step=time_step, **options
        )

    for value in (0, -1e-3, np.inf, np.nan):
        with pytest.raises(ValueError, match=r"time_step is .*: a positive number"):
            given(time_step=value)
    with pytest.raises(ValueError, match=r"q has shape \(34,\): \(35,\) is needed"):
        given(q=q[:-1])
    with pytest.raises(ValueError, match=r"v\[3\] is nan"):
        given(v=np.where(np.arange(34) == 3, np.nan, v))
    with pytest.raises(ValueError, match=r"tau has shape \(3,\)"):
        given(tau=np.zeros(3))
    with pytest.raises(ValueError, match="stabilization is -1"):
        given(stabilization=-1)
    with pytest.raises(
        TypeError, match=r"constraints\[1\] is 'floor': one of RigidConstraintModel"
    ):
        given([constraints[0], "floor"])
    with pytest.raises(ValueError, match="mu has 2 entries for 7 constraints"):
        given(mu=[0.3, None])
    with pytest.raises(ValueError, match=r"mu\[2\] is 0.3, .*RigidConstraintModel of .*_6D"):
        given(mu=[None, None, 0.3, *4 * [None]])
    with pytest.raises(ValueError, match=r"mu\[4\] is 0.3, .* is a PointContactConstraintModel"):
        given(mu=[*4 * [None], 0.3, *2 * [None]])
    with pytest.raises(ValueError, match=r"mu\[0\] is -0.1"):
        given(mu=[-0.1, *6 * [None]])
    with pytest.raises(TypeError, match=r"model is .*: a pinocchio.Model is needed"):
        cs.io.from_pinocchio(data, model, [], q, v, time_step=H)
    with pytest.raises(TypeError, match=r"data is None: a pinocchio\.Data is needed"):
        cs.io.from_pinocchio(model, None, [], q, v, time_step=H)
    other = pin.buildSampleModelManipulator().createData()
    with pytest.raises(ValueError, match="data has 6 degrees of freedom, but model has 34"):
        cs.io.from_pinocchio(model, other, [], q, v, time_step=H)
