"""Collisions and obstacles that are refused, with errors that name them."""

import subprocess
import sys

import numpy as np
import pytest

import contactsolve as cs

TRIANGLE = np.array([[-3.0, -3.0, 0.0], [3.0, -3.0, 0.0], [0.0, 6.0, 0.0]])
CORNERS = [[0, 1, 2]]


def floor(motion=None):
    return cs.cloth.Obstacle(TRIANGLE, CORNERS, motion=motion)


def sheet(obstacles=None, collisions=None, **options):
    vertices, faces = cs.cloth.sheet(3, 3, 0.4)
    vertices[:, 2] = 4e-3
    given = {"density": 0.2, "young": 300.0, "damping": 0.01, "threads": 1}
    collisions = collisions or cs.cloth.Collisions(5e-3, mu=0.3)
    return cs.cloth.Cloth(
        vertices, faces, collisions=collisions, obstacles=obstacles, **given | options
    )


# ---- obstacles -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (floor(), r"obstacles is <Obstacle .*>: a list of Obstacle is needed, as \[obstacle\]"),
        (5, "obstacles is 5: a list of Obstacle is needed"),
        ("floor", "obstacles is 'floor': a list of Obstacle is needed"),
        ([floor(), 5], r"obstacles\[1\] is int: an Obstacle is needed"),
    ],
)
def test_what_is_no_list_of_obstacles(given, message, tmp_path):
    with pytest.raises(TypeError, match=message):
        sheet(given)
    with pytest.raises(TypeError, match=message):
        cs.cloth.Cloth(*cs.cloth.sheet(3, 3, 0.4), density=1, young=1, obstacles=given)
    pytest.importorskip("h5py")
    sheet([floor()]).run(0, 0.01, record=tmp_path / "run.vtkhdf")
    with pytest.raises((TypeError, ValueError), match=message):
        cs.cloth.Cloth.load(tmp_path / "run.vtkhdf", obstacles=given)


@pytest.mark.parametrize("collisions", [None, cs.cloth.Collisions(5e-3)])
def test_no_obstacles(collisions):
    for given in (None, (), []):
        cloth = cs.cloth.Cloth(
            *cs.cloth.sheet(3, 3, 0.4), density=1, young=1, obstacles=given, collisions=collisions
        )
        assert cloth.obstacles == ()


@pytest.mark.parametrize(
    ("vertices", "faces", "message"),
    [
        (np.append(TRIANGLE, [[0, 0, 5.0]], axis=0), CORNERS, r"vertices\[3\] is of no face"),
        (TRIANGLE, [[0, 1, 3]], r"faces\[0, 2\] is 3: there are vertices 0 to 2"),
        (TRIANGLE, np.empty((0, 3), int), "faces is empty"),
        (np.empty((0, 3)), np.empty((0, 3), int), "vertices is empty"),
    ],
)
def test_bad_meshes_of_obstacles(vertices, faces, message):
    with pytest.raises(ValueError, match=r"obstacles\[1\]: " + message):
        sheet([floor(), cs.cloth.Obstacle(vertices, faces)])


def test_motions_of_another_type():
    wrong = floor(lambda t: TRIANGLE if t == 0 else "there")
    with pytest.raises((TypeError, ValueError), match=r"obstacles\[0\] at t = 0.01 s: "):
        sheet([wrong]).step(0.01)
    with pytest.raises(TypeError, match=r"obstacles\[0\] at t = 0 s: "):
        sheet([floor(lambda t: None)])


# ---- collisions ----------------------------------------------------------------------------------


def test_collisions_cannot_be_changed():
    given = {"rtol": 1e-8}
    collisions = cs.cloth.Collisions(5e-3, mu=0.3, response="problem", options=given)
    with pytest.raises(AttributeError, match="thickness cannot be assigned: make another"):
        collisions.thickness = 2e-2
    with pytest.raises(AttributeError, match="mu cannot be deleted"):
        del collisions.mu
    given["rtol"] = collisions.options["rtol"] = 1.0
    assert collisions.options == {"rtol": 1e-8}
    assert (collisions.thickness, collisions.mu) == (5e-3, 0.3)
    assert cs.cloth.Collisions(**collisions._arguments())._arguments() == collisions._arguments()


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"method": "best"}, ValueError, "method: 'best' is unknown"),
        ({"method": 5}, TypeError, "method"),
        ({"options": 5}, TypeError, "options is 5: a dict of arguments of solve is needed"),
        ({"options": {"method": "lemke"}}, TypeError, "options has 'method'"),
        ({"options": {"rtoll": 1}}, TypeError, "options .*'rtoll'.*did you mean 'rtol'"),
        ({"options": {"mass": 1}}, TypeError, "options .*'mass'"),
    ],
)
def test_names_are_checked_at_once(given, error, message):
    with pytest.raises(error, match=message):
        cs.cloth.Collisions(5e-3, response="problem", **given)


def test_problems_that_do_not_converge_are_counted():
    collisions = cs.cloth.Collisions(
        5e-3, mu=0.3, response="problem", options={"max_iterations": 1, "rtol": 1e-14}
    )
    flat, faces = cs.cloth.sheet(3, 3, 0.4)
    vertices = np.concatenate(
        [flat + np.array([5e-3 * k, 5e-3 * k, 4e-3 * (k + 1)]) for k in range(3)]
    )
    cloth = cs.cloth.Cloth(
        vertices,
        np.concatenate([faces + 9 * k for k in range(3)]),
        density=0.2,
        young=300.0,
        collisions=collisions,
        obstacles=[floor()],
        threads=1,
    )
    with pytest.warns(RuntimeWarning, match="step 1: the solve of the contacts ended as 'max_it"):
        cloth.step(0.01)
    cloth.step(0.01)  # and warns no more
    assert cloth.info["problems_not_converged"] == 2
    assert cloth.info["problem"]["status"] == "max_iterations"
    assert cloth.info["free"]
    assert "problems_not_converged" not in sheet([floor()]).info


# ---- many obstacles ------------------------------------------------------------------------------

MANY = """
import resource

import numpy as np
import contactsolve as cs

def kilobytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

vertices, faces = cs.cloth.sheet(2, 2, 0.2)
given = {"density": 1, "young": 1, "collisions": cs.cloth.Collisions(1e-3)}
obstacles = [cs.cloth.Obstacle(vertices - [0, 0, k + 1], faces) for k in range(1500)]
cs.cloth.Cloth(vertices, faces, obstacles=obstacles[:1], **given)
before = kilobytes()
cloth = cs.cloth.Cloth(vertices, faces, obstacles=obstacles, **given)
assert np.array_equal(cloth._core.obstacle(1499), obstacles[1499].vertices)
assert np.array_equal(cloth._core.obstacle(0), obstacles[0].vertices)
print((kilobytes() - before) // 1024)
"""


def test_memory_is_proportional_to_the_number_of_obstacles(tmp_path):
    pytest.importorskip("resource")
    command = [sys.executable, "-c", MANY]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 200  # megabytes: 3,800 with new arrays for each
