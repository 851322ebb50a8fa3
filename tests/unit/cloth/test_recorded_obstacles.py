"""Obstacles of cloths that are loaded from recordings."""

import shutil

import numpy as np
import pytest

import contactsolve as cs
from contactsolve.cloth._layout import contacts_digest

h5py = pytest.importorskip("h5py")

TRIANGLE = np.array([[-3.0, -3.0, 0.0], [3.0, -3.0, 0.0], [0.0, 6.0, 0.0]])


def plane(height=0.0, motion=None):
    return cs.cloth.Obstacle(TRIANGLE + np.array([0, 0, height]), [[0, 1, 2]], motion=motion)


def rising(t):
    return TRIANGLE + np.array([0, 0, 0.1 * t])


def recorded(path, obstacle):
    """A cloth after three steps, whose frames are in a file."""
    vertices, faces = cs.cloth.sheet(3, 3, 0.4)
    vertices[:, 2] = 4e-3
    collisions = cs.cloth.Collisions(5e-3, mu=0.3)
    given = {"density": 0.2, "young": 300.0, "damping": 0.01, "threads": 1}
    cloth = cs.cloth.Cloth(vertices, faces, collisions=collisions, obstacles=[obstacle], **given)
    cloth.run(0.03, 0.01, record=path)
    return cloth


def test_obstacles_that_did_not_move_keep_their_place(tmp_path):
    path = tmp_path / "run.vtkhdf"
    cloth = recorded(path, plane())
    wrong = r"obstacles\[0\].vertices\[0, 2\] is 0.0045: the recorded obstacle, .* has 0.0"
    with pytest.raises(ValueError, match=wrong):
        cs.cloth.Cloth.load(path, obstacles=[plane(4.5e-3)])
    with pytest.raises(ValueError, match=wrong):
        cs.cloth.Cloth.load(path, obstacles=[plane(4.5e-3, rising)])
    loaded = cs.cloth.Cloth.load(path, obstacles=[plane()])
    for each in (cloth, loaded):
        each.step(0.01)
    assert np.array_equal(loaded.positions, cloth.positions)


def test_an_obstacle_may_begin_to_move(tmp_path):
    path = tmp_path / "run.vtkhdf"
    recorded(path, plane())
    loaded = cs.cloth.Cloth.load(path, obstacles=[plane(0.0, rising)])
    assert np.array_equal(loaded._core.obstacle(0), TRIANGLE)
    loaded.step(0.01)
    assert loaded._core.obstacle(0) == pytest.approx(rising(0.04))
    assert loaded.info["free"]


def test_obstacles_that_moved_need_a_motion(tmp_path):
    path = tmp_path / "run.vtkhdf"
    cloth = recorded(path, plane(0.0, rising))
    with pytest.raises(ValueError, match=r"obstacles\[0\] has no motion: the recorded one moved"):
        cs.cloth.Cloth.load(path, obstacles=[plane()])
    loaded = cs.cloth.Cloth.load(path, obstacles=[plane(0.0, rising)])
    for each in (cloth, loaded):
        each.step(0.01)
    assert np.array_equal(loaded.positions, cloth.positions)


def test_the_state_of_a_frame_is_checked(tmp_path):
    """By the first step, as far as collisions ask for it."""
    path = tmp_path / "run.vtkhdf"
    recorded(path, plane())
    loaded = cs.cloth.Cloth.load(path)
    loaded._core.set_state(loaded.positions - [0, 0, 0.1], loaded.velocities, loaded.time)
    loaded._core.set_state(
        loaded.positions + [[0, 0, 0.2 * (n == 4)] for n in range(9)], loaded.velocities, 0.03
    )
    with pytest.raises(ValueError, match=r"goes through the face .* of obstacles\[0\]"):
        loaded.step(0.01)


def test_a_fourth_column_of_forces_of_older_files_is_ignored(tmp_path):
    path, old = tmp_path / "run.vtkhdf", tmp_path / "old.vtkhdf"
    recorded(path, plane())
    shutil.copy(path, old)
    with h5py.File(old, "r+") as file:
        contacts = file["contacts"]
        places, keys, forces, counts = (
            contacts[name][:] for name in ("obstacles", "keys", "forces", "counts")
        )
        assert len(forces) > 0
        assert len(places) == 0
        wide = np.column_stack([forces, np.full(len(forces), 0.5)])
        ends = np.cumsum(counts.sum(axis=1))
        del contacts["forces"]
        contacts["forces"] = wide
        for k, (end, own) in enumerate(zip(ends, counts, strict=True)):
            part = slice(end - own.sum(), end)
            digest = contacts_digest(places, keys[part], wide[part], own)
            contacts["hash"][k] = np.frombuffer(digest, np.uint8)
    one, other = cs.cloth.Cloth.load(path), cs.cloth.Cloth.load(old)
    for cloth in (one, other):
        cloth.step(0.01)
    assert len(one.contacts.gaps) > 0
    assert np.array_equal(one.velocities, other.velocities)
