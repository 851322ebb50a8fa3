"""Cloth in less room than its thickness."""

import numpy as np
import pytest

import contactsolve as cs
from interruption import ctrl_c_ends

TRIANGLE = np.array([[-3.0, -3.0, 0.0], [3.0, -3.0, 0.0], [0.0, 6.0, 0.0]])


def plane(height):
    return cs.cloth.Obstacle(TRIANGLE + np.array([0, 0, height]), [[0, 1, 2]])


def between(gap, part=0.5, stop_after=20, push=0.1):
    """A frictionless sheet between two planes, with a velocity along them."""
    vertices, faces = cs.cloth.sheet(5, 5, 0.5)
    vertices[:, 2] = part * gap
    return cs.cloth.Cloth(
        vertices,
        faces,
        density=0.2,
        young=500.0,
        damping=0.01,
        gravity=(0, 0, 0),
        velocities=np.tile([0.1, 0.0, 0.0], (25, 1)),
        threads=1,
        collisions=cs.cloth.Collisions(5e-3, stop_after=stop_after, push=push),
        obstacles=[plane(0), plane(gap)],
    )


@pytest.mark.parametrize("part", [0.5, 0.2])
@pytest.mark.parametrize("push", [0.1, 0.5])
@pytest.mark.parametrize("gap", [4e-3, 2e-3, 2e-4])
def test_a_sheet_slides_in_a_narrow_gap(gap, push, part):
    cloth = between(gap, part, push=push)
    for _ in range(10):
        cloth.step(0.01)
        assert cloth.info["free"]
        assert cloth.info["zone_vertices"] == 0
    assert cloth.velocities[:, 0] == pytest.approx(0.1, rel=1e-6)
    assert np.abs(cloth.velocities[:, 2]).max() < 1e-6


@pytest.mark.parametrize("stop_after", [1, 4, 7, 19, 20])
def test_opposing_pushes_share(stop_after):
    cloth = between(2e-3, stop_after=stop_after)
    cloth.step(0.01)
    if stop_after > 1:
        assert cloth.positions[:, 2] == pytest.approx(1e-3, abs=1e-6)
    assert np.ptp(cloth.positions[:, 2]) < 1e-9


def test_ctrl_c_ends_sweeps_within_a_step():
    """Pushes of both planes contradict each other: sweeps go on for as long as they may."""
    cloth, like = between(2e-3, stop_after=10**9), between(2e-3)
    ctrl_c_ends(lambda: cloth.step(0.01), after=0.3, within=30)
    np.testing.assert_array_equal(cloth.positions, like.positions)
    np.testing.assert_array_equal(cloth.velocities, like.velocities)
    assert cloth.time == 0


# ---- thicknesses beyond the size of cells --------------------------------------------------------


@pytest.mark.parametrize("thickness", [0.09, 0.2])
def test_a_flat_sheet_stays_as_it_is(thickness):
    """Its neighbours but one are nearer than the thickness, as in its rest shape."""
    vertices, faces = cs.cloth.sheet(9, 9, 1.0)
    c, s = np.cos(0.7), np.sin(0.7)
    turned = vertices @ [[c, 0, s], [0, 1, 0], [-s, 0, c]]
    cloth = cs.cloth.Cloth(
        turned,
        faces,
        rest=vertices,
        density=0.2,
        young=500.0,
        damping=0.01,
        gravity=(0, 0, 0),
        threads=1,
        collisions=cs.cloth.Collisions(thickness, mu=0.3),
    )
    cloth.run(0.5, 0.01)
    assert cloth.info["contacts"] > 20
    assert cloth.positions == pytest.approx(turned, abs=1e-12)
    assert sum(cloth.energy()) < 1e-20


def test_rest_shapes_of_parts_may_overlap():
    """Two sheets with one rest shape are as thick as others."""
    flat, faces = cs.cloth.sheet(4, 4, 0.3)
    vertices = np.concatenate([flat, flat + np.array([0.01, 0.02, 1e-3])])
    cloth = cs.cloth.Cloth(
        vertices,
        np.concatenate([faces, faces + len(flat)]),
        rest=np.concatenate([flat, flat]),
        density=0.2,
        young=500.0,
        damping=0.01,
        gravity=(0, 0, 0),
        threads=1,
        collisions=cs.cloth.Collisions(2e-3),
    )
    cloth.run(0.5, 0.01)
    lower, upper = cloth.positions.reshape(2, -1, 3)
    assert upper[:, 2].mean() - lower[:, 2].mean() > 1.9e-3
