"""The search for pairs: grids against brute force, levels, removal, threads."""

import numpy as np
import pytest

import contactsolve as cs
from colliding import add, contacts_of, identity, random_orientation, spheres
from contactsolve import _core
from contactsolve.dynamics import Box, HalfSpace, Sphere


def brute_force(position, radii, margin=0.0):
    """All pairs of spheres with a gap of at most `margin`, sorted; and the gaps."""
    pairs, gaps = [], []
    for i in range(len(position) - 1):
        apart = np.linalg.norm(position[i + 1 :] - position[i], axis=1)
        gap = apart - radii[i] - radii[i + 1 :]
        (near,) = np.nonzero(gap <= margin)
        pairs += [(i, i + 1 + j) for j in near]
        gaps += list(gap[near])
    return np.array(pairs, dtype=np.int64).reshape(-1, 2), np.array(gaps)


def assert_as_brute_force(position, radii, margin=0.0):
    collider = spheres(radii, dimension=position.shape[1])
    pairs, gaps = brute_force(position, radii, margin)
    assert len(pairs) > 20
    found = contacts_of(collider, position, margin=margin)
    assert np.array_equal(found["shape"], pairs)
    assert np.array_equal(found["body"], pairs)
    scale = np.abs(position).max()
    assert np.abs(found["gap"] - gaps).max() <= 8e-16 * scale + 1e-15
    normal = position[pairs[:, 1]] - position[pairs[:, 0]]
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    assert np.abs(found["normal"] - normal).max() <= 1e-15 * (1 + scale / radii.min())
    middle = position[pairs[:, 0]] + normal * (radii[pairs[:, 0]] + gaps / 2)[:, None]
    assert np.abs(found["point"] - middle).max() <= 1e-15 * (1 + 4 * scale)


def test_ball_grid_has_its_contacts():
    """Normals, points and bodies of the 40,320 contacts that `ball_grid` writes down."""
    size = 24
    problem = cs.scenarios.ball_grid(size)
    x = np.stack(np.meshgrid(*3 * [np.arange(size)], indexing="ij"), -1).reshape(-1, 3)
    x = x + np.array([0, 0, 0.5])
    collider = spheres(np.full(len(x), 0.5))
    ground = add(collider, HalfSpace((0, 0, 1)), -1)
    found = contacts_of(collider, x, margin=1e-9)
    assert len(found["gap"]) == 40320 == problem.contacts
    assert np.abs(found["gap"]).max() <= 1e-15

    on_ground = found["shape"][:, 1] == ground
    assert on_ground.sum() == size**2
    assert (found["body"][on_ground, 1] == -1).all()
    assert np.array_equal(found["normal"][on_ground], np.tile([0, 0, -1.0], (size**2, 1)))
    first, second = found["body"][~on_ground].T
    assert np.array_equal(found["normal"][~on_ground], x[second] - x[first])
    assert np.array_equal(found["point"][~on_ground], (x[second] + x[first]) / 2)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("shift", [0.0, -37.3, 1e6])
def test_similar_spheres(dimension, shift):
    rng = np.random.default_rng(1)
    position = rng.uniform(-9, 9, (1500, dimension)) + shift
    assert_as_brute_force(position, rng.uniform(0.3, 0.5, 1500), margin=0.05)


@pytest.mark.parametrize("dimension", [2, 3])
def test_spheres_of_many_sizes(dimension):
    rng = np.random.default_rng(2)
    radii = 0.05 * (1 - rng.uniform(size=2000)) ** -0.7
    assert radii.max() / radii.min() > 50
    assert_as_brute_force(rng.uniform(-8, 8, (2000, dimension)), radii, margin=0.01)


def test_spheres_at_the_ends_of_the_range():
    position = np.array([[-1e100, 1e100, 0], [0, 0, 0], [0.5, 0, 0], [1e100, 1e100, -1e100]])
    position = np.concatenate([position, 1e50 * np.eye(3), 1e10 * np.eye(3)])
    found = contacts_of(spheres(np.full(10, 0.5)), position)
    assert found["shape"].tolist() == [[1, 2]]


def test_far_spheres_cost_no_cells():
    """Cells fold where spheres are scattered over a range that no grid could hold."""
    rng = np.random.default_rng(3)
    position = rng.normal(size=(1500, 3)) * 4
    position[::100] *= 1e7
    assert_as_brute_force(position, np.full(1500, 0.5), margin=0.1)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 9, 40])
def test_few_spheres(count):
    rng = np.random.default_rng(count)
    position, radii = rng.uniform(-1, 1, (count, 3)), rng.uniform(0.1, 0.6, count)
    pairs, _ = brute_force(position, radii)
    found = contacts_of(spheres(radii), position)
    assert np.array_equal(found["shape"], pairs)


@pytest.mark.parametrize(
    ("margin", "some"), [(0.3, True), (0.0, True), (-0.1, True), (-2.0, False)]
)
def test_margin(margin, some):
    rng = np.random.default_rng(5)
    position, radii = rng.uniform(-4, 4, (400, 3)), rng.uniform(0.3, 0.6, 400)
    pairs, gaps = brute_force(position, radii, margin)
    found = contacts_of(spheres(radii), position, margin=margin)
    assert np.array_equal(found["shape"], pairs)
    assert (len(gaps) > 0) == some


def test_pairs_of_one_body_or_of_none_that_moves_are_left_out():
    position = np.array([[0.0, 0, 0], [0.9, 0, 0], [1.8, 0, 0]])
    collider = spheres([0.5, 0.5, 0.5])
    movable = np.array([False, False, True])
    assert contacts_of(collider, position, movable=movable)["shape"].tolist() == [[1, 2]]
    together = spheres([0.5] * 3, bodies=[0, 0, -1])
    assert len(contacts_of(together, np.zeros((1, 3)))["gap"]) == 2
    fixed = spheres([0.5, 0.5], bodies=[-1, -1])
    assert len(contacts_of(fixed, np.zeros((0, 3)))["gap"]) == 0


def test_spheres_on_a_body_turn_with_it():
    collider = _core.Collider(3)
    left = add(collider, Sphere(0.5), 0, position=(2.0, 0, 0))
    right = add(collider, Sphere(0.25), 1)
    quarter = np.array([[np.sqrt(0.5), 0, 0, np.sqrt(0.5)], [1, 0, 0, 0]])
    found = contacts_of(collider, [[1.0, 1, 1], [1, 3.75, 1]], quarter, margin=0.1)
    assert found["shape"].tolist() == [[left, right]]
    assert np.abs(found["gap"] - 0.0).max() <= 1e-15
    assert np.abs(found["point"] - [1, 3.5, 1]).max() <= 1e-15


def test_removed_shapes_are_gone_and_ids_are_not_used_again():
    rng = np.random.default_rng(6)
    position, radii = rng.uniform(-3, 3, (300, 3)), rng.uniform(0.3, 0.5, 300)
    collider = spheres(radii)
    gone = [0, 17, 299, 150]
    for shape in gone:
        collider.remove(shape)
    pairs, _ = brute_force(position, radii)
    kept = pairs[~np.isin(pairs, gone).any(axis=1)]
    assert np.array_equal(contacts_of(collider, position)["shape"], kept)
    assert collider.shapes == 296
    assert add(collider, Sphere(1.0), -1) == 300
    for shape in (17, 301, -1):
        with pytest.raises(ValueError, match=f"shape is {shape}: no shape has this id"):
            collider.remove(shape)


def test_no_contacts_are_lost_between_half_spaces_and_levels():
    """Half-spaces, a giant sphere and small ones: every pair, in the order of ids."""
    rng = np.random.default_rng(7)
    radii = np.concatenate([[30.0], rng.uniform(0.2, 0.3, 400), [3.0]])
    position = rng.uniform(-5, 5, (402, 3))
    position[0] = [0, 0, -33]
    collider = _core.Collider(3)
    add(collider, HalfSpace((1.0, 0, 0), -4.0), -1)
    for body, radius in enumerate(radii):
        add(collider, Sphere(radius), body)
    add(collider, HalfSpace((0, 0, -2.0), -6.0), -1)
    pairs, _ = brute_force(position, radii)
    wanted = [(i + 1, j + 1) for i, j in pairs]
    wanted += [(0, i + 1) for i in np.nonzero(position[:, 0] - radii <= -4)[0]]
    wanted += [(i + 1, 403) for i in np.nonzero(3 - position[:, 2] - radii <= 0)[0]]
    found = contacts_of(collider, position)
    assert found["shape"].tolist() == [list(pair) for pair in sorted(wanted)]
    normals = found["normal"][found["shape"][:, 0] == 0]
    assert np.array_equal(normals, np.tile([1.0, 0, 0], (len(normals), 1)))


@pytest.mark.threads
def test_threads_change_no_bit():
    rng = np.random.default_rng(8)
    count = 6000
    collider = _core.Collider(3)
    for body in range(count):
        kind = body % 5
        shape = Box(rng.uniform(0.1, 0.5, 3)) if kind == 4 else Sphere(0.1 + 0.1 * kind**2)
        add(collider, shape, body)
    add(collider, HalfSpace((0, 0, 1), -6.0), -1)
    position, turn = rng.uniform(-6, 6, (count, 3)), random_orientation(rng, count)
    wanted = collider.find(position, turn, None, 0.02, 1)
    assert len(wanted["gap"]) > count
    pairs = collider.find_pairs(position, turn, None, 0.02, 1)
    for threads in (2, 3, 8, 0):
        found = collider.find(position, turn, None, 0.02, threads)
        for name, values in wanted.items():
            assert found[name].tobytes() == values.tobytes(), name
        assert np.array_equal(collider.find_pairs(position, turn, None, 0.02, threads), pairs)


def test_pairs_hold_all_contacts():
    rng = np.random.default_rng(9)
    position, radii = rng.uniform(-4, 4, (500, 3)), rng.uniform(0.2, 0.6, 500)
    collider = spheres(radii)
    pairs = collider.find_pairs(position, identity(500), None, 0.0, 1)
    assert np.array_equal(pairs, contacts_of(collider, position)["shape"])


# ---- bad input -----------------------------------------------------------------------------------


def test_wrong_poses_are_named():
    collider = spheres([0.5, 0.5, 0.5])
    position, turn = np.arange(9.0).reshape(3, 3), identity(3)
    position[2, 1] = np.nan
    with pytest.raises(ValueError, match=r"position\[2, 1\] of a body is nan"):
        collider.find(position, turn, None, 0.0, 1)
    position[2, 1] = -1e200
    with pytest.raises(ValueError, match=r"position\[2, 1\] of a body is -1e\+200, .* 1e100"):
        collider.find(position, turn, None, 0.0, 1)
    position[2, 1], turn[1, 3] = 0, np.inf
    with pytest.raises(ValueError, match=r"orientation\[1, 3\] of a body is inf"):
        collider_with_box().find(position[:2], turn[:2], None, 0.0, 1)
    turn[1] = 0
    with pytest.raises(ValueError, match=r"orientation\[1\] .* quaternion of length zero"):
        collider.find(position, turn, None, 0.0, 1)
    with pytest.raises(ValueError, match="shape 2 is on body 2, but position has 2 bodies"):
        collider.find(position[:2], identity(2), None, 0.0, 1)
    with pytest.raises(ValueError, match="margin is nan"):
        collider.find(position, identity(3), None, np.nan, 1)
    with pytest.raises(ValueError, match="movable has 2 entries; there are 3 bodies"):
        collider.find(position, identity(3), np.ones(2, bool), 0.0, 1)
    with pytest.raises(ValueError, match=r"orientation .* shape \(3, 4\)"):
        collider.find(position, np.zeros((3, 1)), None, 0.0, 1)


def collider_with_box():
    collider = spheres([0.5])
    add(collider, Box((1, 1, 1)), 1)
    return collider


def test_a_quaternion_of_any_length_is_a_rotation():
    rng = np.random.default_rng(10)
    position, turn = rng.uniform(-1, 1, (2, 3)), random_orientation(rng, 2)
    collider = _core.Collider(3)
    for body in range(2):
        add(collider, Sphere(0.5), body, position=(0.3, 0.2, 0.1))
    wanted = contacts_of(collider, position, turn, margin=9)
    for factor in (2.0, 1e-150, 1e150):
        found = contacts_of(collider, position, turn * factor, margin=9)
        assert np.abs(found["gap"] - wanted["gap"]).max() <= 1e-15


def test_wrong_shapes_are_named():
    collider = _core.Collider(3)
    place = (np.array([0, 1]), np.zeros((2, 3)), identity(2))
    with pytest.raises(ValueError, match=r"shapes\[1\] \(sphere\): radius is -2, .* positive"):
        collider.add("sphere", np.array([[1.0], [-2.0]]), None, *place)
    assert collider.shapes == 0
    with pytest.raises(ValueError, match="kind is 'cube': the kinds are sphere, capsule, box"):
        collider.add("cube", np.ones((2, 1)), None, *place)
    with pytest.raises(ValueError, match="a disc has 2 dimensions"):
        collider.add("disc", np.ones((2, 1)), None, *place)
    with pytest.raises(ValueError, match="body is -2"):
        collider.add("sphere", np.ones((1, 1)), None, np.array([-2]), np.zeros((1, 3)), identity(1))
    with pytest.raises(ValueError, match=r"position\[1\] is nan"):
        collider.add("sphere", np.ones((1, 1)), None, [0], [[0, np.nan, 0]], identity(1))
    with pytest.raises(ValueError, match="quaternion"):
        collider.add("sphere", np.ones((1, 1)), None, [0], np.zeros((1, 3)), np.zeros((1, 4)))
    with pytest.raises(ValueError, match="dimension is 4"):
        _core.Collider(4)


def test_memory_is_released_where_any_allocation_fails():
    """A failed allocation is an error, and the collider works once there is memory again."""
    rng = np.random.default_rng(11)
    position = rng.uniform(-4, 4, (600, 3))
    live = _core.memory_live()
    failures = 0
    for successes in range(200):
        _core.memory_fail_after(successes)
        try:
            collider = spheres(np.full(600, 0.5))
            add(collider, Box((1, 1, 1)), -1)
            contacts_of(collider, position, threads=2)
        except MemoryError:
            failures += 1
        else:
            break
        finally:
            _core.memory_fail_after(-1)
    else:
        pytest.fail("never enough memory")
    assert failures > 20
    del collider
    assert _core.memory_live() == live
