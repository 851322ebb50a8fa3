"""Lemke's method on the whole contact problem, friction in a polyhedral cone (S1 eq. 2.42)."""

import numpy as np
import pytest

import contactsolve as cs

SCENES = {
    "grid": lambda: cs.scenarios.ball_grid(3, velocity=0.1),
    "stack": lambda: cs.scenarios.box_stack(4),
    "heavy": lambda: cs.scenarios.box_stack(6, top_mass=1000.0),
    "incline": cs.scenarios.incline,
    "random": lambda: cs.scenarios.random(contacts=40, bodies=12, rng=3),
}


def lemke(problem, directions=None, **options):
    return cs.solve(problem, method=cs.methods.lemke(directions=directions), **options)


def judged(problem, impulses, sets):
    """The natural map and its scaled form at these impulses, the problem having other sets."""
    other = cs.Problem(problem.J, problem.Minv, problem.b, bodies=problem.bodies, sets=sets)
    state = cs.Solver(other, max_iterations=0).solve(initial=impulses)
    return state.natural_map, state.natural_map_scaled


@pytest.mark.parametrize("directions", [3, 4, 5, 8])
@pytest.mark.parametrize("scene", SCENES)
def test_the_polygon_is_met_to_rounding(scene, directions):
    """Stacks share their load in no unique way: A is singular, ties are everywhere."""
    problem = SCENES[scene]()
    result = lemke(problem, directions)
    assert result.info["pivoting"] == "converged"
    assert result.iterations == 1
    polygon = cs.sets.polygon(problem.mu, sides=directions)
    reached, scaled = judged(problem, result.impulses, polygon)
    assert reached <= 1e-12
    assert scaled <= 1e-11
    own = cs.Problem(problem.J, problem.Minv, problem.b, bodies=problem.bodies, sets=polygon)
    assert cs.solve(own, method="lemke", rtol=1e-10).converged


@pytest.mark.parametrize("seed", range(8))
def test_random_contacts(seed):
    """More contacts than bodies can tell apart, friction from none to large."""
    scene = cs.scenarios.random(contacts=30, bodies=6, rng=seed)
    mu = np.random.default_rng(seed).choice([0.0, 0.1, 0.5, 1.5], scene.contacts)
    problem = cs.Problem(scene.J, scene.Minv, scene.b, mu, bodies=scene.bodies)
    result = lemke(problem, 3 + seed % 4)
    polygon = cs.sets.polygon(mu, sides=3 + seed % 4)
    assert judged(problem, result.impulses, polygon)[1] <= 1e-10


def test_contacts_whose_basis_rounding_makes_singular():
    """Twenty contacts among three bodies: some dictionaries cannot be written anew."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        J = rng.standard_normal((20, 2, 3, 6))
        bodies = [rng.choice(3, 2, replace=False) for _ in range(20)]
        b = rng.standard_normal((20, 3))
        polygon = cs.sets.polygon(1.0, sides=8)
        problem = cs.Problem(J, np.ones((3, 6)), b, bodies=bodies, sets=polygon)
        result = cs.solve(problem, method="lemke")
        assert np.isfinite(result.impulses).all()


def test_more_directions_come_nearer_to_the_disc():
    """A corner is off the motion by up to half the angle between two: as 1 over their number."""
    angles = np.linspace(0, 2 * np.pi, 200)
    J = np.zeros((200, 2, 3, 3))
    J[:, 1] = np.eye(3)
    b = np.stack([np.full(200, -1.0), np.cos(angles), np.sin(angles)], axis=1)
    bodies = np.stack([np.full(200, -1), np.arange(200)], axis=1)
    problem = cs.Problem(J, np.ones((200, 3)), b, 0.5, bodies=bodies)
    maps = [lemke(problem, directions).natural_map for directions in (4, 16, 64)]
    assert maps[1] < maps[0] / 3
    assert maps[2] < maps[1] / 3
    few = lemke(SCENES["grid"](), 4)
    assert not few.converged
    assert "more directions" in few.message
    grid = SCENES["grid"]()
    boxes = cs.sets.box_friction(0.5)
    outer = cs.Problem(grid.J, grid.Minv, grid.b, bodies=grid.bodies, sets=boxes)
    assert "polygons" not in lemke(outer, max_iterations=1, rtol=1e-12).message


def box_on_the_ground(push, sets, **options):
    """1 kg that falls with 1 m/s and is pushed along the tangents."""
    J = np.zeros((1, 2, 3, 3))
    J[0, 1] = np.eye(3)
    return cs.Problem(J, np.ones((1, 3)), [[-1.0, *push]], bodies=[[-1, 0]], sets=sets, **options)


@pytest.mark.parametrize(
    ("sets", "directions", "push", "friction"),
    [
        (cs.sets.disc(0.5), 4, (0.9, 0.0), (-0.5, 0.0)),
        (cs.sets.disc(0.5), 4, (0.2, -0.1), (-0.2, 0.1)),
        (cs.sets.disc(0.5), 3, (-0.9, 0.0), (0.5, 0.0)),
        (cs.sets.disc(0.5), 3, (0.9, 0.01), (-0.25, -0.01)),
        (cs.sets.box_friction(0.5), 8, (0.9, 0.8), (-0.5, -0.5)),
        (cs.sets.box_friction(0.5), 8, (0.9, 0.3), (-0.5, -0.3)),
        (cs.sets.ellipse(0.5, 0.1), 4, (0.9, 0.01), (-0.5, 0.0)),
        (cs.sets.ellipse(0.5, 0.1, np.pi / 2), 4, (0.01, 0.9), (0.0, -0.5)),
        (cs.sets.polygon(vertices=[[1, 0], [0, 2], [-1, 0], [0, -0.5]]), 8, (0, 3), (0, -0.5)),
        (cs.sets.polygon(vertices=[[1, 0], [0, 2], [-1, 0], [0, -0.5]]), None, (0, -3), (0, 2)),
        (cs.sets.half_line(), 8, (0.9, 0.3), (0.0, 0.0)),
    ],
)
def test_by_hand(sets, directions, push, friction):
    """The corner that takes most work from the motion, or its edge; a triangle's is at -0.25."""
    result = lemke(box_on_the_ground(push, sets), directions)
    np.testing.assert_allclose(result.impulses, [[1.0, *friction]], atol=1e-14)


def test_planar_discs_are_met_exactly():
    result = lemke(cs.scenarios.disc_pyramid(5), 3, rtol=1e-10)
    assert result.converged


def jointed(joints=1, mu=0.4):
    """A body on a ball joint (`joints` times), with a motor of limited force, on the ground."""
    joint = np.zeros((joints, 2, 3, 6))
    joint[:, 1, :, :3] = np.eye(3)
    joint[:, 1, :, 3:] = [[0, 0.5, 0], [-0.5, 0, 0.3], [0, -0.3, 0]]
    motor = np.zeros((1, 2, 1, 6))
    motor[0, 1, 0, 5] = 1.0
    contact = np.zeros((1, 2, 3, 6))
    contact[0, 1, :, :3] = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    contact[0, 1, :, 3:] = [[0.2, -0.4, 0], [0, 0, -0.2], [0, 0, 0.4]]
    world = [[-1, 0]]
    return cs.Problem(
        groups=[
            cs.Group(joint, world * joints, [[0.1, 0.2, -1.0]] * joints, sets=cs.sets.free()),
            cs.Group(motor, world, [[3.0]], lo=-0.05, hi=0.05),
            cs.Group(contact, world, [[-3, 0.3, 0.1]], sets=cs.sets.polygon(mu, sides=5)),
        ],
        bodies=[cs.Bodies(np.array([[1, 1, 1, 5, 5, 5.0]]))],
    )


@pytest.mark.parametrize("joints", [1, 2, 3])
def test_joints_and_boxes_beside_contacts(joints):
    """Joints given two and three times over follow from each other."""
    result = cs.solve(jointed(joints), method="lemke", rtol=1e-10)
    assert result.converged, result.message
    free, _, _ = result.residual_velocities
    assert np.abs(free).max() < 1e-12
    assert result.impulses[1][0, 0] == pytest.approx(-0.05, abs=1e-15)
    assert result.impulses[2][0, 0] > 0


def test_contacts_given_many_times():
    scene = SCENES["incline"]()
    five = [np.concatenate([x] * 5) for x in (scene.J, scene.b, scene.bodies)]
    problem = cs.Problem(five[0], scene.Minv, five[1], bodies=five[2], sets=cs.sets.polygon(0.3))
    assert cs.solve(problem, method="lemke", rtol=1e-10).converged


def test_islands_immovable_bodies_and_other_data():
    J = np.zeros((3, 2, 3, 3))
    J[:, 1] = np.eye(3)
    Minv = np.array([[1.0, 1, 1], [0, 0, 0], [2.0, 2, 2]])
    b = np.array([[-1.0, 0.9, 0], [-1, 1, 1], [-1, 0, 0.1]])
    problem = cs.Problem(
        J, Minv, b, bodies=[[-1, 0], [-1, 1], [-1, 2]], sets=cs.sets.polygon(0.5, sides=4)
    )
    solver = cs.Solver(problem, method="lemke", rtol=1e-12)
    start = np.array([[9.0, 9, 9], [3, 0.5, 0], [9, 9, 9]])
    result = solver.solve(initial=start)
    assert result.info["islands"] == 3
    expected = [[1, -0.5, 0], [3, 0.5, 0], [0.5, 0, -0.05]]
    np.testing.assert_allclose(result.impulses, expected, atol=1e-15)
    again = solver.solve(b=2 * b, mu=0.25)
    np.testing.assert_allclose(again.impulses, [[2, -0.5, 0], [0, 0, 0], [1, 0, -0.1]], atol=1e-15)


def test_an_unsymmetric_matrix_is_taken_as_it_is():
    scene = cs.Problem(
        *(getattr(SCENES["grid"](), name) for name in ("J", "Minv", "b")),
        bodies=SCENES["grid"]().bodies,
        sets=cs.sets.half_line(),
    )
    A = scene.delassus().toarray() + 1e-3 * np.eye(3 * scene.contacts)
    A += 1e-3 * np.triu(A, 1)
    given = cs.Problem.from_delassus(A, scene.b, sets=cs.sets.polygon(0.5), rows=3)
    result = cs.solve(given, method="lemke", rtol=1e-10)
    assert result.converged
    assert "it is used unchanged" in result.info["warnings"][0]
    assert cs.solve(given, method="gauss_seidel", rtol=1e-8, max_iterations=20000).converged


def test_a_ray_is_shown():
    """A body between two walls that close in: both push without end."""
    J = np.zeros((2, 2, 3, 3))
    J[0, 1], J[1, 1] = np.eye(3), np.diag([-1.0, 1, -1])
    problem = cs.Problem(
        J, np.ones((1, 3)), [[-1.0, 0, 0], [-1, 0, 0]], bodies=[[-1, 0]] * 2, mu=0.5
    )
    result = lemke(problem, 4)
    assert result.status == "infeasible"
    assert result.info["pivoting"] == "ray"
    ray = result.info["ray"]
    np.testing.assert_allclose(ray[:, 0], [1, 1])
    np.testing.assert_allclose(problem.delassus() @ ray.ravel(), 0, atol=1e-14)
    assert result.info["ray_contact"] in (0, 1)
    np.testing.assert_allclose(result.info["certificate"][:, 0], [1, 1])
    assert (result.impulses[:, 0] >= 0).all()


def test_limits_and_callbacks():
    problem = SCENES["grid"]()
    short = cs.solve(problem, method=cs.methods.lemke(directions=4, max_pivots=3))
    assert short.info["pivoting"] == "max_pivots"
    assert short.info["pivots"] == 3
    assert "max_pivots" in short.message
    seen = []
    cs.solve(
        problem,
        method=cs.methods.lemke(directions=4),
        callback=lambda s: seen.append(s.iteration),
        max_iterations=5,
    )
    assert seen == [1]


@pytest.mark.parametrize(
    ("sets", "directions", "message"),
    [
        (cs.sets.disc(0.5), 2, "directions is 2: .*at least 3"),
        (cs.sets.second_order_cone(0.5), 8, "with directions takes .* 'second_order_cone'"),
        (cs.sets.disc(0.5), None, "'disc'.*directions="),
    ],
)
def test_what_does_not_apply_is_refused(sets, directions, message):
    with pytest.raises(ValueError, match=message):
        lemke(box_on_the_ground((0.1, 0.1), sets), directions)


def test_polygons_beside_discs_ask_for_directions():
    J = np.zeros((1, 2, 3, 3))
    J[0, 1] = np.eye(3)
    groups = [
        cs.Group(J, [[-1, 0]], [[-1.0, 0.3, 0.1]], sets=sets)
        for sets in (cs.sets.polygon(0.5), cs.sets.disc(0.5))
    ]
    problem = cs.Problem(groups=groups, bodies=[cs.Bodies(np.ones((1, 3)))])
    with pytest.raises(ValueError, match="'disc' beside polygons: set directions= for them"):
        cs.solve(problem, method="lemke")
    assert lemke(problem, 64, rtol=1e-2).converged
