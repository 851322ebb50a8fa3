"""Contact Jacobians against moved bodies, and the frames they are written in."""

import numpy as np
import pytest

from contactsolve import contact_jacobian
from contactsolve.geometry import tangent_basis


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def rotation(vector):
    """The rotation by a vector's length about its direction (Rodrigues)."""
    angle = np.linalg.norm(vector)
    x, y, z = vector / angle
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * skew + (1 - np.cos(angle)) * skew @ skew


def scene(seed=0, contacts=40, bodies=7):
    generator = np.random.default_rng(seed)
    pairs = np.stack(
        [generator.permutation(bodies)[:2] for _ in range(contacts)],
    )
    pairs[:5, 0] = -1
    pairs[5:10, 1] = -1
    return {
        "points": generator.normal(size=(contacts, 3)),
        "normals": unit(generator.normal(size=(contacts, 3))),
        "bodies": pairs,
        "positions": generator.normal(size=(bodies, 3)),
    }


def apply(J, pairs, velocities):
    """J u, contact by contact."""
    out = np.zeros((len(J), J.shape[2]))
    for k, pair in enumerate(pairs):
        for side, body in enumerate(pair):
            if body >= 0:
                out[k] += J[k, side] @ velocities[body]
    return out


def moved(data, velocities, time):
    """Where the two material points of each contact are, and how the two bodies are turned."""
    points = np.zeros((2, len(data["points"]), 3))
    turned = np.zeros((2, len(data["points"]), 3, 3))
    for k, pair in enumerate(data["bodies"]):
        for side, body in enumerate(pair):
            point, turn = data["points"][k], np.eye(3)
            if body >= 0:
                centre = data["positions"][body]
                turn = rotation(time * velocities[body, 3:])
                point = centre + time * velocities[body, :3] + turn @ (point - centre)
            points[side, k], turned[side, k] = point, turn
    return points, turned


def test_against_finite_differences():
    data = scene()
    velocities = np.random.default_rng(1).normal(size=(7, 6))
    J = contact_jacobian(**data, spin=True)
    first, second = tangent_basis(data["normals"])
    frame = np.stack((data["normals"], first, second), axis=1)

    step = 1e-5
    after, turned_after = moved(data, velocities, step)
    before, turned_before = moved(data, velocities, -step)
    speed = (after - before) / (2 * step)
    expected = np.einsum("kac,kc->ka", frame, speed[1] - speed[0])
    got = apply(J, data["bodies"], velocities)
    # Central differences: h^2 |w|^3 |r| / 6 of truncation, 1e-16 / h of rounding.
    np.testing.assert_allclose(got[:, :3], expected, atol=2e-9, rtol=0)

    # The derivative of a rotation is the skew matrix of the angular velocity.
    skew = (turned_after - turned_before) / (2 * step)
    omega = np.stack((skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]), axis=-1)
    spin = np.einsum("kc,kc->k", data["normals"], omega[1] - omega[0])
    np.testing.assert_allclose(got[:, 3], spin, atol=2e-9, rtol=0)


def test_impulses_keep_momentum_and_moment_of_momentum():
    data = scene()
    free = (data["bodies"] >= 0).all(axis=1)
    J = contact_jacobian(**data, spin=True)[free]
    impulses = np.random.default_rng(2).normal(size=(len(J), 4))
    pushed = np.einsum("ksmd,km->ksd", J, impulses)
    centres = data["positions"][data["bodies"][free]]
    moments = np.cross(centres, pushed[..., :3]) + pushed[..., 3:]
    np.testing.assert_allclose(pushed[..., :3].sum(axis=1), 0.0, atol=1e-15)
    np.testing.assert_allclose(moments.sum(axis=1), 0.0, atol=1e-14)


def test_positive_normal_impulse_pushes_apart():
    J = contact_jacobian([[0, 0, 1]], [[0, 0, 1]], [[0, 1]], [[0, 0, 0], [0, 0, 2]])
    assert J[0, 0, 0, 2] == -1.0  # body 0 is below
    assert J[0, 1, 0, 2] == 1.0


def test_the_fixed_world_has_a_zero_block_and_the_other_side_is_unchanged():
    data = scene()
    J = contact_jacobian(**data)
    assert not J[:5, 0].any()
    assert not J[5:10, 1].any()
    partnered = dict(data, bodies=np.where(data["bodies"] < 0, 6, data["bodies"]))
    full = contact_jacobian(**partnered)
    np.testing.assert_array_equal(J[:5, 1], full[:5, 1])
    np.testing.assert_array_equal(J[5:10, 0], full[5:10, 0])
    assert full[:5, 0].any(axis=(1, 2)).all()


def test_rows_and_shapes():
    data = scene()
    three, four = contact_jacobian(**data), contact_jacobian(**data, spin=True)
    assert three.shape == (40, 2, 3, 6)
    assert four.shape == (40, 2, 4, 6)
    np.testing.assert_array_equal(four[:, :, :3], three)
    assert not np.signbit(three[three == 0.0]).any()


def test_no_contacts():
    assert contact_jacobian([], [], [], [[0, 0, 0]]).shape == (0, 2, 3, 6)
    assert contact_jacobian(np.zeros((0, 3)), [], [], [], spin=True).shape == (0, 2, 4, 6)


def test_inputs_are_left_alone():
    data = scene()
    copies = {name: array.copy() for name, array in data.items()}
    contact_jacobian(**data, spin=True)
    for name, array in copies.items():
        np.testing.assert_array_equal(data[name], array)


class TestTangents:
    def test_one_given_tangent_is_completed_to_a_right_handed_frame(self):
        data = scene()
        first, second = tangent_basis(data["normals"])
        turned = (first + second) / np.sqrt(2.0)
        J = contact_jacobian(**data, tangents=turned)
        side = np.where(data["bodies"][:, 1] >= 0, 1, 0)
        axes = J[np.arange(40), side][:, :, :3] * np.where(side, 1.0, -1.0)[:, None, None]
        np.testing.assert_allclose(axes[:, 1], turned, atol=1e-16)
        np.testing.assert_allclose(axes[:, 2], (second - first) / np.sqrt(2.0), atol=5e-16)

    def test_both_given_tangents_are_used_as_they_stand(self):
        data = scene()
        first, second = tangent_basis(data["normals"])
        swapped = contact_jacobian(**data, tangents=np.stack((second, first), axis=1))
        np.testing.assert_array_equal(swapped[:, :, [0, 2, 1]], contact_jacobian(**data))

    def test_default_frames_are_orthonormal_and_right_handed(self):
        generator = np.random.default_rng(3)
        normals = np.concatenate(
            (
                unit(generator.normal(size=(100_000, 3))),
                unit(np.eye(3).repeat(1000, axis=0) + 1e-9 * generator.normal(size=(3000, 3))),
                -unit(np.eye(3).repeat(1000, axis=0) + 1e-9 * generator.normal(size=(3000, 3))),
            )
        )
        frames = np.stack((normals, *tangent_basis(normals)), axis=1)
        products = frames @ frames.transpose(0, 2, 1)
        assert abs(products - np.eye(3)).max() < 2e-15
        assert abs(np.linalg.det(frames) - 1.0).max() < 2e-15

    def test_coordinate_directions_have_coordinate_tangents(self):
        axes = np.concatenate((np.eye(3), -np.eye(3)))
        for tangents in tangent_basis(axes):
            np.testing.assert_array_equal(np.sort(abs(tangents), axis=1), [[0.0, 0.0, 1.0]] * 6)

    def test_frames_vary_smoothly_around_coordinate_directions_and_away_from_the_seam(self):
        generator = np.random.default_rng(4)
        random = unit(generator.normal(size=(20_000, 3)))
        axes = np.repeat(np.concatenate((np.eye(3), -np.eye(3))), 500, axis=0)
        normals = np.concatenate((random[abs(random[:, 2] + 0.55) > 1e-6], axes))
        shift = 1e-7 * unit(generator.normal(size=normals.shape))
        here, there = tangent_basis(normals), tangent_basis(unit(normals + shift))
        # The frame turns at most 1 / (1 - 0.55) times as fast as the normal, plus the normal's
        # own turn.
        for near, far in zip(here, there, strict=True):
            assert np.linalg.norm(near - far, axis=1).max() < 3.3e-7


ERRORS = [
    ({"points": [[0, 0, np.nan]]}, ValueError, r"points\[0, 2\] is nan: every entry"),
    ({"positions": [[0, np.inf, 0]]}, ValueError, r"positions\[0, 1\] is inf: every entry"),
    ({"normals": [[0, 0, 1.00001]]}, ValueError, r"normals\[0\] has length 1\.00001: .* unit"),
    ({"normals": [[0, 0, 0]]}, ValueError, r"normals\[0\] has length 0: .* unit"),
    ({"normals": [[0, 0, 1], [0, 0, 1]]}, ValueError, r"normals has shape \(2, 3\): .*\(1, 3\)"),
    ({"points": [0.0, 0.0, 0.0]}, ValueError, r"points has shape \(3,\): expected \(count, 3\)"),
    ({"points": [[1j, 0, 0]]}, TypeError, r"points has dtype complex128: expected real"),
    ({"bodies": [[0, 1]]}, ValueError, r"bodies\[0, 1\] is 1: .* below 1, the number of bodies"),
    ({"bodies": [[-2, 0]]}, ValueError, r"bodies\[0, 0\] is -2: expected -1"),
    ({"bodies": [[-1.0, 0.0]]}, TypeError, r"bodies has dtype float64: expected integers"),
    ({"bodies": [[-1, 0, 0]]}, ValueError, r"bodies has shape \(1, 3\): expected \(1, 2\)"),
    ({"tangents": [[0, 1, 1]]}, ValueError, r"tangents\[0\] has length 1\.41421356: .* unit"),
    ({"tangents": [[0, 0.6, 0.8]]}, ValueError, r"tangents\[0\] has the component 0\.8 along its"),
    ({"tangents": [1, 0, 0]}, ValueError, r"tangents has shape \(3,\): expected \(1, 3\) or"),
    (
        {"tangents": [[[1, 0, 0], [0.6, 0, 0.8]]]},
        ValueError,
        r"tangents\[0, 1\] has the component 0\.8 along its normal",
    ),
    (
        {"tangents": [[[1, 0, 0], [0.6, 0.8, 0]]]},
        ValueError,
        r"tangents\[0, 1\] has the component 0\.6 along the first tangent",
    ),
]


@pytest.mark.parametrize(("change", "error", "message"), ERRORS)
def test_errors_name_argument_index_and_value(change, error, message):
    good = {
        "points": [[0, 0, 0]],
        "normals": [[0, 0, 1]],
        "bodies": [[-1, 0]],
        "positions": [[0, 0, 1]],
    }
    contact_jacobian(**good)
    with pytest.raises(error, match=message):
        contact_jacobian(**{**good, **change})


def test_single_precision_normals_are_accepted():
    normals = unit(np.random.default_rng(5).normal(size=(1000, 3)).astype(np.float32))
    pairs = np.tile([-1, 0], (1000, 1))
    assert normals.dtype == np.float32
    contact_jacobian(np.zeros((1000, 3)), normals, pairs, [[0, 0, 0]])
