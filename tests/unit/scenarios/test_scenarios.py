"""Scenes: their counts, their order and the rest state they are built to have."""

import inspect
import json
import re

import numpy as np
import pytest

import contactsolve as cs
from contactsolve.scenarios import _scene
from repository import REFERENCE

COUNTS = json.loads((REFERENCE / "s1_table33.json").read_text(encoding="utf-8"))["counts"]

GROUNDS = ("fixed", "body")
ORDERS = ("forward", "backward")


def blocks_of_corollary(pairs):
    """Non-zero blocks of A by S1 Corollary 3.2: row by row, n_a + n_b - n_ab."""
    low, high = np.sort(pairs, axis=1).T
    touching = np.bincount(pairs[pairs >= 0])
    _, same_pair, n_ab = np.unique((low + 1) << 32 | high, return_inverse=True, return_counts=True)
    # Where one partner is the fixed world, only the other's contacts couple.
    couples = np.where(low < 0, 0, touching[low])
    return int(np.sum(couples + touching[high] - np.where(low < 0, 0, n_ab[same_pair])))


def residual_fall(problem, impulses, gravity_step=0.0981):
    """Velocities of the bodies after the impulses and one step of gravity."""
    pushed = np.einsum("ksmd,km->ksd", problem.J, impulses)
    total = np.zeros((problem.bodies_count + 1, 6))  # the last row is the fixed world
    np.add.at(total, problem.bodies, pushed)
    velocities = problem.Minv * total[:-1]
    velocities[problem.Minv[:, 2] > 0, 2] -= gravity_step
    return velocities


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("expected", COUNTS, ids=lambda row: f"{row['size']}^3")
def test_ball_grid_counts(expected, order):
    """S1 Table 3.2, and the same grids without the ground among the bodies."""
    fixed = cs.scenarios.ball_grid(expected["size"], contact_order=order)
    assert fixed.bodies_count == expected["bodies"] - 1
    assert fixed.contacts == expected["contacts"]
    assert fixed.rows == 3
    assert blocks_of_corollary(fixed.bodies) == expected["blocks_fixed_ground"]
    assert fixed.block_count == expected["blocks_fixed_ground"]

    body = cs.scenarios.ball_grid(expected["size"], contact_order=order, ground="body")
    assert body.bodies_count == expected["bodies"]
    assert body.contacts == expected["contacts"]
    assert blocks_of_corollary(body.bodies) == expected["blocks"]


def test_corollary_agrees_with_the_matrix():
    for problem in (cs.scenarios.ball_grid((3, 4, 2)), cs.scenarios.box_stack(3)):
        J = np.zeros((problem.contacts * 3, problem.bodies_count * 6))
        for k, pair in enumerate(problem.bodies):
            for side, body in enumerate(pair):
                if body >= 0:
                    J[3 * k : 3 * k + 3, 6 * body : 6 * body + 6] += problem.J[k, side]
        A = J * problem.Minv.reshape(-1) @ J.T
        blocks = A.reshape(problem.contacts, 3, problem.contacts, 3)
        counted = int(np.sum((abs(blocks) > 1e-12).any(axis=(1, 3))))
        assert counted == blocks_of_corollary(problem.bodies) == problem.block_count


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("order", ORDERS)
def test_ball_grid_rests_under_the_weight_of_its_columns(ground, order):
    """Each vertical contact carries the balls above it; no other impulse is needed."""
    nx, ny, nz = shape = (3, 4, 5)
    problem = cs.scenarios.ball_grid(shape, ground=ground, contact_order=order, radius=0.3)
    upright = abs(problem.J[:, 1, 0, 2]) > 0.5
    ball = problem.bodies[:, 1] - (ground == "body")
    layer = ball // (nx * ny)
    impulses = np.zeros((problem.contacts, 3))
    impulses[upright, 0] = (nz - layer[upright]) * 20.0 * 0.0981
    # The lever arms of balls 0.3 m wide, at up to 3 m, are off by some rounding units.
    assert abs(residual_fall(problem, impulses)).max() < 1e-13
    np.testing.assert_allclose(problem.b[:, 1:], 0.0, atol=0)
    on_ground = problem.bodies[:, 0] == (0 if ground == "body" else -1)
    np.testing.assert_array_equal(problem.b[:, 0], np.where(on_ground, -9.81 * 0.01, 0.0))


@pytest.mark.parametrize("ground", GROUNDS)
def test_ball_grid_blocks_in_closed_form(ground):
    """A_kk of touching solid spheres: 1/m along the normal, 7/2m along a tangent, per ball."""
    problem = cs.scenarios.ball_grid(3, ground=ground, mass=4.0, radius=0.25)
    Minv = np.concatenate((problem.Minv, np.zeros((1, 6))))[problem.bodies]
    blocks = np.einsum("ksad,ksd,ksbd->kab", problem.J, Minv, problem.J)
    balls = 1 + (problem.bodies[:, 0] >= (1 if ground == "body" else 0))
    expected = balls[:, None, None] * np.diag([1.0, 3.5, 3.5]) / 4.0
    np.testing.assert_allclose(blocks, expected, atol=1e-15)


def test_contact_order_forward():
    problem = cs.scenarios.ball_grid(2)
    expected = [
        *[(-1, 0), (0, 1), (0, 2), (0, 4)],
        *[(-1, 1), (1, 3), (1, 5)],
        *[(-1, 2), (2, 3), (2, 6)],
        *[(-1, 3), (3, 7)],
        *[(4, 5), (4, 6)],
        *[(5, 7)],
        *[(6, 7)],
    ]
    np.testing.assert_array_equal(problem.bodies, expected)


def test_contact_order_backward():
    problem = cs.scenarios.ball_grid(2, contact_order="backward", ground="body")
    expected = [
        *[(0, 1)],
        *[(0, 2), (1, 2)],
        *[(0, 3), (1, 3)],
        *[(0, 4), (3, 4), (2, 4)],
        *[(1, 5)],
        *[(2, 6), (5, 6)],
        *[(3, 7), (5, 7)],
        *[(4, 8), (7, 8), (6, 8)],
    ]
    np.testing.assert_array_equal(problem.bodies, expected)


@pytest.mark.parametrize("ground", GROUNDS)
def test_both_orders_hold_the_same_contacts(ground):
    def contacts(order):
        problem = cs.scenarios.ball_grid((3, 4, 5), ground=ground, contact_order=order)
        by_pair = np.lexsort(problem.bodies.T)
        return problem.bodies[by_pair], problem.J[by_pair], problem.b[by_pair]

    for one, other in zip(contacts("forward"), contacts("backward"), strict=True):
        np.testing.assert_array_equal(one, other)


def test_normals_point_from_the_first_ball_to_the_second():
    nx, ny, _ = shape = (3, 4, 5)
    problem = cs.scenarios.ball_grid(shape)
    step = problem.bodies[:, 1] - problem.bodies[:, 0]
    step[problem.bodies[:, 0] < 0] = nx * ny
    axis = np.select([step == 1, step == nx, step == nx * ny], [0, 1, 2], default=-1)
    np.testing.assert_array_equal(problem.J[:, 1, 0, :3], np.eye(3)[axis])


def test_greedy_colours_of_the_forward_order_are_those_of_s1():
    """S1's colour counts of the 24^3 grid depend on the contact order in every digit."""
    pairs = cs.scenarios.ball_grid(24, ground="body").bodies.tolist()
    used = [0] * 13825  # per body, the colours at it as bits
    sizes = {}
    for first, second in pairs:
        taken = used[first] | used[second]
        free = ~taken & (taken + 1)  # the lowest colour not taken
        used[first] |= free
        used[second] |= free
        sizes[free] = sizes.get(free, 0) + 1
    counts = [sizes[colour] for colour in sorted(sizes)]
    assert counts == [6912, 6911, 6898, 6906, 6794, 5329, *[1] * 570]


def test_without_friction_only_the_normal_row_is_left():
    full, normal = cs.scenarios.ball_grid(3), cs.scenarios.ball_grid(3, rows=1)
    assert normal.rows == 1
    assert normal.mu is None
    np.testing.assert_array_equal(normal.J, full.J[:, :, :1])
    np.testing.assert_array_equal(normal.b, full.b[:, :1])


@pytest.mark.parametrize("top_mass", [None, 1000.0])
def test_box_stack_rests_with_equal_corners(top_mass):
    options = {} if top_mass is None else {"top_mass": top_mass}
    problem = cs.scenarios.box_stack(5, mass=2.0, size=(1.0, 2.0, 0.5), **options)
    assert problem.contacts == 20
    assert problem.bodies_count == 5
    weights = np.array([2.0] * 4 + [top_mass or 2.0]) * 0.0981
    carried = np.cumsum(weights[::-1])[::-1]
    impulses = np.zeros((20, 3))
    impulses[:, 0] = np.repeat(carried / 4, 4)
    assert abs(residual_fall(problem, impulses)).max() < 1e-13


def test_box_stack_masses_and_moments():
    problem = cs.scenarios.box_stack(2, mass=3.0, top_mass=6.0, size=(1.0, 2.0, 4.0))
    lower = [3.0] * 3 + [3.0 / 12 * (4 + 16), 3.0 / 12 * (1 + 16), 3.0 / 12 * (1 + 4)]
    np.testing.assert_allclose(1 / problem.Minv, [lower, 2 * np.array(lower)], rtol=1e-15)


def test_box_stack_contacts_are_at_the_corners():
    problem = cs.scenarios.box_stack(2, size=(1.0, 2.0, 4.0))
    np.testing.assert_array_equal(problem.bodies, [[-1, 0]] * 4 + [[0, 1]] * 4)
    # With e = z the rotational part r x e is (r_y, -r_x, 0).
    for contacts, side, sign in ((slice(4), 1, 1), (slice(4, 8), 0, -1), (slice(4, 8), 1, 1)):
        turning = sign * problem.J[contacts, side, 0, 3:]
        corners = np.stack((-turning[:, 1], turning[:, 0]), axis=1)
        np.testing.assert_array_equal(corners, [[-0.5, -1], [0.5, -1], [0.5, 1], [-0.5, 1]])


def test_quantities_reach_the_problem():
    problem = cs.scenarios.ball_grid(2, mu=0.3, gravity=1.5, time_step=0.25)
    np.testing.assert_array_equal(problem.mu, np.full(16, 0.3))
    np.testing.assert_array_equal(problem.b[[0, 1], 0], [-0.375, 0.0])
    stack = cs.scenarios.box_stack(1, mu=0.3, gravity=1.5, time_step=0.25)
    np.testing.assert_array_equal(stack.mu, np.full(4, 0.3))
    np.testing.assert_array_equal(stack.b[:, 0], np.full(4, -0.375))


def test_names_of_problems():
    assert cs.scenarios.ball_grid((2, 3, 4)).name == "ball_grid 2x3x4"
    assert cs.scenarios.box_stack(3).name == "box_stack 3"


def test_cannonball_grid_counts_and_packing():
    nx, ny, nz = shape = (3, 4, 5)
    problem = cs.scenarios.ball_grid(shape, layout="cannonball", radius=0.5)
    in_layer = nz * ((nx - 1) * ny + nx * (ny - 1))
    between = (nz - 1) * (2 * nx - 1) * (2 * ny - 1)
    assert problem.contacts == nx * ny + in_layer + between
    # Four balls carry the one in their hollow at 45 degrees; the others are level or on the ground.
    upright = problem.J[:, 1, 0, 2]
    assert np.sum(abs(upright - np.sqrt(0.5)) < 1e-12) == between
    assert np.sum(abs(upright) < 1e-12) == in_layer
    # Each ball inside touches twelve others, as in every closest packing.
    inside = nx * ny * 2 + nx * 2 + 1
    assert np.sum(problem.bodies == inside) == 12


@pytest.mark.parametrize("spacing", [0.0, (0.1, 0.0, 0.0), (0.0, 0.1, 0.0), (0.0, 0.0, 0.1), 0.1])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("layout", ["cubic", "cannonball"])
def test_ball_grid_contacts_are_the_pairs_that_touch(layout, order, spacing):
    """Against all pairs of centres, read back from the lever arms."""
    nx, ny, nz = shape = (3, 2, 4)
    options = {"layout": layout, "spacing": spacing, "radius": 0.25, "contact_order": order}
    problem = cs.scenarios.ball_grid(shape, **options)
    gaps = np.broadcast_to(spacing, 3)
    ball = np.arange(nx * ny * nz)
    x, y, z = ball % nx, ball // nx % ny, ball // (nx * ny)
    shift = 0.5 * (z % 2) if layout == "cannonball" else 0.0
    height = np.sqrt(0.125) if layout == "cannonball" else 0.5
    pitch = np.array([0.5, 0.5, height]) + gaps
    centres = np.stack(((x + shift), (y + shift), z), axis=1) * pitch
    distance = np.linalg.norm(centres[:, None] - centres, axis=2)
    touching = {tuple(pair) for pair in np.argwhere(np.triu(abs(distance - 0.5) < 1e-12, 1))}
    touching |= {(-1, low) for low in range(nx * ny)}
    pairs = [tuple(pair) for pair in problem.bodies]
    assert len(pairs) == len(set(pairs))
    assert {pair if pair[0] < 0 else tuple(sorted(pair)) for pair in pairs} == touching
    between = centres[problem.bodies[:, 1]] - centres[problem.bodies[:, 0]]
    of_balls = problem.bodies[:, 0] >= 0
    np.testing.assert_allclose(
        problem.J[of_balls, 1, 0, :3], between[of_balls] / 0.5, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("layout", ["cubic", "cannonball"])
@pytest.mark.parametrize("ground", GROUNDS)
def test_both_orders_of_any_layout_hold_the_same_contacts(layout, ground):
    def contacts(order):
        problem = cs.scenarios.ball_grid(
            (3, 4, 5), layout=layout, ground=ground, contact_order=order
        )
        pairs = np.sort(problem.bodies, axis=1)
        by_pair = np.lexsort(pairs.T)
        return pairs[by_pair], abs(problem.b[by_pair])

    for one, other in zip(contacts("forward"), contacts("backward"), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_ball_grid_velocities():
    """The ground's share of b is the ball's own velocity; other contacts see differences."""
    options = {"velocity": 0.3, "gravity": 0.0, "rng": 4}
    fixed = cs.scenarios.ball_grid(6, **options)
    as_body = cs.scenarios.ball_grid(6, ground="body", **options)
    np.testing.assert_array_equal(fixed.b, as_body.b)
    on_ground = fixed.bodies[:, 0] < 0
    assert abs(fixed.b[on_ground]).max() <= 0.3
    assert 0.3 < abs(fixed.b[~on_ground]).max() <= 0.6
    falling = cs.scenarios.ball_grid(6, **{**options, "gravity": 9.81})
    at_rest = cs.scenarios.ball_grid(6)
    np.testing.assert_allclose(falling.b, fixed.b + at_rest.b, rtol=0, atol=1e-15)


ERRORS = [
    ("ball_grid", {"layout": "fcc"}, ValueError, "layout is 'fcc': .*'cubic', 'cannonball'"),
    ("ball_grid", {"spacing": (0.0, 0.1)}, ValueError, r"spacing is \(0\.0, 0\.1\): .*three gaps"),
    ("ball_grid", {"spacing": (0, -0.1, 0)}, ValueError, r"spacing\[1\] is -0\.1"),
    ("ball_grid", {"velocity": float("inf")}, ValueError, "velocity is inf"),
    ("ball_pile", {"shape": (3, 0, 3)}, ValueError, r"shape is \(3, 0, 3\)"),
    ("ball_pile", {"contact_chance": 1.5}, ValueError, r"contact_chance is 1\.5: .* from 0 to 1"),
    ("ball_pile", {"approach": float("nan")}, ValueError, "approach is nan"),
    ("ball_pile", {"ground": 1}, ValueError, "ground is 1: expected one of 'fixed', 'body'"),
    ("disc_pyramid", {"layers": 0}, ValueError, "layers is 0"),
    ("disc_pyramid", {"disc": 10}, ValueError, "disc is 10: expected a number from 0 to 9"),
    ("disc_pyramid", {"impulse": (0, 0, 1)}, ValueError, r"impulse is \(0, 0, 1\): .* two comp"),
    ("incline", {"angle": 90.0}, ValueError, r"angle is 90\.0: .* from 0 to 89"),
    ("incline", {"count": 2, "mu": [0.1] * 3}, ValueError, r"mu has shape \(3,\): .*\(2,\)"),
    ("incline", {"size": (1, 1)}, ValueError, r"size is \(1, 1\)"),
    ("newton_cradle", {"moving": 6}, ValueError, "moving is 6: there are only 5 balls"),
    ("newton_cradle", {"restitution": -0.1}, ValueError, r"restitution is -0\.1"),
    ("newton_cradle", {"mass": [1, 1, 0, 1, 1]}, ValueError, r"mass\[2\] is 0\.0"),
    ("newton_cradle", {"mass": [1, 1]}, ValueError, r"mass has shape \(2,\)"),
    ("random", {"contacts": 0}, ValueError, "contacts is 0"),
    ("random", {"bodies": 1}, ValueError, "bodies is 1: expected an integer above one"),
    ("random", {"rows": 4}, ValueError, "rows is 4: expected one of 1, 2, 3"),
    ("random", {"density": 0.0}, ValueError, r"density is 0\.0"),
    ("random", {"redundancy": 1.0}, ValueError, r"redundancy is 1\.0"),
    ("random", {"condition": 0.5}, ValueError, r"condition is 0\.5"),
    ("random", {"fixed": -0.1}, ValueError, r"fixed is -0\.1"),
    ("ball_grid", {"shape": 0}, ValueError, "shape is 0: expected one or three integers"),
    ("ball_grid", {"shape": (2, 2)}, ValueError, r"shape is \(2, 2\)"),
    ("ball_grid", {"shape": (2, 2, 2.5)}, TypeError, r"shape is 2\.5: an integer"),
    ("ball_grid", {"shape": 2, "ground": "none"}, ValueError, "ground is 'none': .*'fixed', 'bo"),
    ("ball_grid", {"shape": 2, "contact_order": "up"}, ValueError, "contact_order is 'up': .*'for"),
    ("ball_grid", {"shape": 2, "mass": 0.0}, ValueError, r"mass is 0\.0: .* above zero"),
    ("ball_grid", {"shape": 2, "radius": -1.0}, ValueError, r"radius is -1\.0"),
    ("ball_grid", {"shape": 2, "time_step": float("nan")}, ValueError, "time_step is nan"),
    ("ball_grid", {"shape": 2, "rows": 4}, ValueError, "rows is 4: expected one of 3, 1"),
    ("box_stack", {"count": 0}, ValueError, "count is 0"),
    ("box_stack", {"count": 2.5}, TypeError, r"count is 2\.5: an integer"),
    ("box_stack", {"top_mass": float("inf")}, ValueError, "top_mass is inf"),
    ("box_stack", {"size": (1, 1)}, ValueError, r"size is \(1, 1\): expected three"),
    ("box_stack", {"size": (1, 0, 1)}, ValueError, r"size\[1\] is 0\.0: .* above zero"),
]


@pytest.mark.parametrize(("name", "options", "error", "message"), ERRORS)
def test_errors_name_argument_and_value(name, options, error, message):
    with pytest.raises(error, match=message):
        cs.scenarios.get(name)(**options)


NAMES = cs.scenarios.names()


@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_has_a_default_call_that_can_be_solved(name):
    problem = cs.scenarios.get(name)()
    assert problem.name.startswith(name)
    assert problem.contacts > 0
    method = "bpp" if problem.grouped else "gauss_seidel"  # mechanisms are not for sweeps
    assert cs.solve(problem, method=method, rtol=1e-3, max_iterations=2000).converged


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_documented(name):
    function = cs.scenarios.get(name)
    documented = re.findall(r"^(\w+)(?:, \w+)* : ", inspect.getdoc(function), re.MULTILINE)
    assert documented == list(inspect.signature(function).parameters)


# Of those with a seed; others are made by their defaults.
ARGUMENTS = {
    "ball_grid": {"shape": 3, "velocity": 1.0},
    "ball_pile": {"shape": 6},
    "random": {"condition": 10.0, "redundancy": 0.2},
}


RANDOM_SCENES = [
    name for name in NAMES if "rng" in inspect.signature(cs.scenarios.get(name)).parameters
]


@pytest.mark.parametrize("name", RANDOM_SCENES)
def test_a_seed_makes_a_scene(name):
    def arrays(rng):
        problem = cs.scenarios.get(name)(**ARGUMENTS.get(name, {}), rng=rng)
        return [problem.J, problem.Minv, problem.b, problem.bodies]

    for one, other in zip(arrays(7), arrays(np.random.default_rng(7)), strict=True):
        np.testing.assert_array_equal(one, other)
    for first, second in ((7, 8), (None, None)):
        assert not np.array_equal(arrays(first)[2], arrays(second)[2])


def test_scenes_with_a_seed_are_those_that_take_one():
    assert set(RANDOM_SCENES) >= set(ARGUMENTS)


def test_names_and_get():
    assert list(NAMES) == sorted(NAMES)
    assert {"ball_grid", "box_stack", "crane", "random"} <= set(NAMES)
    assert cs.scenarios.get("ball_grid") is cs.scenarios.ball_grid
    with pytest.raises(ValueError, match="unknown scenario 'pile': expected one of ball_grid, b"):
        cs.scenarios.get("pile")


def test_a_new_scenario_is_listed():
    @_scene.scenario
    def single_ball():
        return cs.scenarios.ball_grid(1)

    try:
        assert "single_ball" in cs.scenarios.names()
        assert cs.scenarios.get("single_ball")().contacts == 1
    finally:
        del _scene.REGISTRY["single_ball"]
