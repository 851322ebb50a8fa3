"""Problems out of MuJoCo and Pinocchio: what it takes to make them, and to bring velocities back.

MuJoCo: boxes on a floor, 4 contacts each, with both cones and J stored both ways, and a stack; the
data is that of `mj_forward`. Pinocchio: points of a humanoid's feet on the ground, whose terms are
part of the time. Milliseconds of the processor in the calling thread, the median and quartiles of
all runs, interleaved; `solve` is one solve with default options. A simulator that is missing is
left out. Writes adapters.csv

python benchmarks/dynamics/adapters.py [--repeats 50]
"""

import argparse
import functools
import sys
import time
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import interleaved, quartiles, write_csv

SIZE, OVERLAP = 0.1, 1e-4  # half of an edge of a box, and how deep boxes are in each other [m]
BOXES = (2, 25, 100)
STEP = 1e-3
FOOT = 7  # a joint of Pinocchio's humanoid
POINTS = (8, 100)


# ---- scenes --------------------------------------------------------------------------------------


def mujoco_scenes():
    """Yield names, and functions that make the problem of a scene of MuJoCo."""
    import mujoco

    for count in BOXES:
        for cone in ("elliptic", "pyramidal"):
            for stored in ("dense", "sparse"):
                model = boxes(mujoco, count, cone, stored)
                yield f"{count} boxes, {cone}, {stored}", from_mujoco(mujoco, model)
    yield (
        "stack of 25, elliptic, sparse",
        from_mujoco(mujoco, boxes(mujoco, 25, "elliptic", "sparse", stacked=True)),
    )


def boxes(mujoco, count, cone, stored, stacked=False):
    """Return a model of boxes beside each other, or on each other."""
    bodies = ""
    for k in range(count):
        x, height = (0, k) if stacked else (3 * SIZE * k, 0)
        z = SIZE - OVERLAP + height * (2 * SIZE - OVERLAP)
        bodies += f"""<body pos="{x} 0 {z}"><freejoint/>
            <geom type="box" size="{SIZE} {SIZE} {SIZE}"/></body>"""
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><option cone="{cone}" jacobian="{stored}"/><size memory="100M"/>
        <worldbody><geom type="plane" size="99 9 .1"/>{bodies}</worldbody></mujoco>"""
    )


def from_mujoco(mujoco, model):
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return functools.partial(cs.io.from_mujoco, model, data)


def pinocchio_scenes():
    """Yield names, and functions that make the problem of a scene of Pinocchio."""
    import pinocchio

    model = pinocchio.buildSampleModelHumanoid()
    data, q = model.createData(), pinocchio.neutral(model)
    pinocchio.forwardKinematics(model, data, q)
    foot = data.oMi[FOOT]
    for count in POINTS:
        points, rigid = [], []
        for x in np.linspace(-0.2, 0.2, count):
            below = foot.translation + np.array([x, 0.1 * np.sin(40 * x), -0.05])
            ground = pinocchio.SE3(np.eye(3), below)
            place = foot.inverse() * ground
            point = pinocchio.PointContactConstraintModel(model, 0, ground, FOOT, place)
            point.setFriction(0.5)
            points.append(point)
            contact, frame = pinocchio.ContactType.CONTACT_3D, pinocchio.ReferenceFrame.LOCAL
            rigid.append(pinocchio.RigidConstraintModel(contact, model, FOOT, place, frame))
        state = model, data
        rest = q, np.zeros(model.nv)
        make = functools.partial(cs.io.from_pinocchio, time_step=STEP)
        yield f"{count} points", functools.partial(make, *state, points, *rest)
        yield f"{count} rigid points", functools.partial(make, *state, rigid, *rest, mu=0.5)


SCENES = {"mujoco": mujoco_scenes, "pinocchio": pinocchio_scenes}


# ---- measurements --------------------------------------------------------------------------------


def measure(simulator, repeats):
    """Yield a row for each scene of a simulator."""
    scenes = dict(SCENES[simulator]())
    results = {name: cs.solve(make()) for name, make in scenes.items()}
    solve = {name: functools.partial(cs.solve, result.problem) for name, result in results.items()}
    back = {name: functools.partial(bring_back, result) for name, result in results.items()}
    made, back, solved = (
        interleaved({k: functools.partial(processor_time, f) for k, f in tasks.items()}, repeats)
        for tasks in (scenes, back, solve)
    )
    for name, result in results.items():
        problem = result.problem
        row = {"simulator": simulator, "scene": name, "contacts": problem.contacts}
        row |= {"rows": sum(b.size for b in problem.b), "dof": problem.dof}
        row |= {"bodies": problem.bodies_count, "groups": len(problem.b)}
        row |= {f"make_ms_{k}": 1e3 * value for k, value in quartiles(made[name]).items()}
        row |= {"back_ms": 1e3 * np.median(back[name]), "solve_ms": 1e3 * np.median(solved[name])}
        yield row


def processor_time(task):
    """Return the seconds of this thread that a task takes, whatever else the machine does."""
    start = time.thread_time()
    task()
    return time.thread_time() - start


def bring_back(result):
    """Compute velocities and forces; nothing is kept."""
    result.problem.velocity(result)
    result.problem.forces(result)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--no-csv", action="store_true", help="print only")
    given = parser.parse_args()
    rows = []
    for simulator in SCENES:
        try:
            rows += measure(simulator, given.repeats)
        except ModuleNotFoundError as error:
            print(f"{simulator} is left out: {error}", file=sys.stderr)
    for row in rows:
        words = (f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items())
        print("  ".join(words))
    if rows and not given.no_csv:
        write_csv("adapters", rows)


if __name__ == "__main__":
    main()
