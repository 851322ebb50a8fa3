"""Sweeps on a device: 50 sweeps of coloured Gauss-Seidel over grids and a pile, against the goals.

For each scene, precision and form of the contacts: milliseconds of 50 sweeps, and of as many by
regions (in another order, `device_sweeps="regions"`; nan where it is not possible), ns per contact
and sweep, and which share of the device's copy bandwidth (read and write) the sweeps make in the
bytes of the contacts' own data, velocities left out. Beside them, of the same run, the time on one
thread and on all cores of the processor, and what a solve with a check every 10 sweeps takes over
its sweeps, with impulses that are copied to the processor, or stay on the device (`there_ms`). Each
goal is printed, with whether it is reached. Writes cuda_sweeps.csv.

    python benchmarks/cuda/sweeps.py [--cases grid-40,grid-64,pile-28] [--repeats 20]

Without a GPU it says so; ``--device cuda-emulated`` runs the kernels on the processor, for tests:
its times say nothing.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from common import cores, devices, interleaved, on_a_line, sweeping, write_csv
from goals import COPY_BYTES, Goal, copy_rate, told

CASES = ("grid-40", "grid-64", "pile-28")
SWEEPS, CHECK = 50, 10
# Bytes of a contact in space with three rows, without velocities: what a batch holds
# (csrc/scheme/compressed.h) and lambda, which is read and written.
OWN_BYTES = {
    ("float32", True): 104, ("float64", True): 200,
    ("float32", False): 200, ("float64", False): 392,
}  # fmt: skip


def goal(case, dtype, key, limit, *, at_least=False):
    """Return a goal of compressed contacts."""
    return Goal({"case": case, "dtype": dtype, "compressed": True}, key, limit, at_least)


GOALS = (
    goal("grid-40", "float32", "ms", 0.4),
    goal("grid-40", "float64", "ms", 1.2),
    goal("grid-64", "float32", "share_of_copy", 0.55, at_least=True),
    goal("grid-64", "float64", "share_of_copy", 0.55, at_least=True),
    goal("pile-28", "float32", "ms", 1.0),
    goal("grid-40", "float64", "solve_over_sweeps", 1.3),
    goal("grid-40", "float32", "solve_over_sweeps", 1.5),
)


# ---- scenes --------------------------------------------------------------------------------------


def pile(n, reach=1.31, mu=0.5):
    """n^3 balls at the places of a grid, each moved by up to 0.3 of its cell; near ones touch.

    Balls touch whose centres are nearer than `reach` cells: a ball has about eight contacts, far
    more than one of `cs.scenarios.ball_pile`, and needs about 16 colours.
    """
    rng = np.random.default_rng(0)
    cell = np.stack(np.meshgrid(*[np.arange(n)] * 3, indexing="ij"), axis=-1)
    place = cell + 0.6 * (rng.random(cell.shape) - 0.5)
    number = np.arange(n**3).reshape(n, n, n)

    # Pairs of neighbouring cells, each once; then the lowest layer on the ground.
    pairs, normals = [], []
    for shift in np.ndindex(3, 3, 3):
        step = np.array(shift) - 1
        if tuple(step) <= (0, 0, 0):
            continue
        low = [slice(max(0, -d), n - max(0, d)) for d in step]
        high = [slice(max(0, d), n - max(0, -d)) for d in step]
        apart = place[tuple(high)] - place[tuple(low)]
        near = np.linalg.norm(apart, axis=-1) < reach
        pairs.append(np.stack([number[tuple(low)][near], number[tuple(high)][near]], axis=1))
        normals.append(apart[near])
    lowest = number[:, :, 0].ravel()
    pairs.append(np.stack([np.full_like(lowest, -1), lowest], axis=1))
    normals.append(np.tile([0.0, 0.0, 1.0], (len(lowest), 1)))
    return of_spheres(np.concatenate(pairs), np.concatenate(normals), n**3, rng, mu)


def of_spheres(bodies, directions, count, rng, mu):
    """The problem of unit spheres that touch along these directions, at random velocities."""
    normal = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    order = np.lexsort(bodies.T[::-1])
    bodies, normal = bodies[order], normal[order]

    # Tangents across the axis that the normal has least of; levers are the radius, 1 m.
    axis = np.eye(3)[np.argmin(np.abs(normal), axis=1)]
    first = np.cross(normal, axis)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    frame = np.stack([normal, first, np.cross(normal, first)], axis=1)
    J = np.zeros((len(bodies), 2, 3, 6))
    for side, sign in ((0, -1.0), (1, 1.0)):
        J[:, side, :, :3] = sign * frame
        J[:, side, :, 3:] = np.cross(normal[:, None], frame)
    J[bodies[:, 0] < 0, 0] = 0.0

    Minv = np.tile([1.0] * 3 + [2.5] * 3, (count, 1))
    velocity = np.concatenate([rng.uniform(-1, 1, (count, 6)), np.zeros((1, 6))])  # -1: the ground
    b = np.einsum("ksij,ksj->ki", J, velocity[bodies])
    return cs.Problem(J, Minv, b, mu, bodies=bodies, name=f"pile of {count} balls")


def scene(case):
    """The problem of a case such as "grid-40" or "pile-28"."""
    kind, _, size = case.partition("-")
    if kind not in ("grid", "pile") or not size.isdecimal():
        raise argparse.ArgumentTypeError(f"case {case!r}: expected grid-N or pile-N")
    return cs.scenarios.ball_grid(int(size)) if kind == "grid" else pile(int(size))


# ---- measuring -----------------------------------------------------------------------------------


def by_regions(problem, device, **form):
    """A solver that sweeps by regions on the device; None, with a reason, if it cannot."""
    ways = {"device": device, "order": "regions", "device_sweeps": "regions"}
    try:
        return sweeping(problem, SWEEPS, **ways, **form)
    except ValueError as error:
        print(error)
        return None


def tasks_of(problem, device, **form):
    """Solvers in turns: on the device, there by regions and with checks, and on the processor."""
    checked = {"rtol": 1e-300, "check_every": CHECK, "max_iterations": SWEEPS, "rollback": 0}
    checked["record_every"] = CHECK  # a row for each sweep would be a report for each
    sweeps = {
        "device": sweeping(problem, SWEEPS, device=device, order="colored", **form),
        "one": sweeping(problem, SWEEPS, order="colored", **form),
        "all": sweeping(problem, SWEEPS, cores(), order="colored", **form),
    }
    solver = cs.Solver(problem, device=device, scheme="factorized", order="colored", record=(),
                       method="gauss_seidel", islands=False, **checked, **form)  # fmt: skip
    tasks = {name: lambda s=own: s.solve().sweep_time for name, own in sweeps.items()}
    if (regions := by_regions(problem, device, **form)) is not None:
        tasks["regions"] = lambda: regions.solve().sweep_time
    tasks["solve"] = lambda: solver.solve().time
    tasks["there"] = lambda: solver.solve(on_device=True).time
    return tasks, sweeps["device"].info


def row_of(case, problem, device, copy, repeats, dtype, compressed):
    """Figures of one scene, precision and form."""
    tasks, info = tasks_of(problem, device, dtype=dtype, compressed=compressed)
    seconds = {name: float(np.median(t)) for name, t in interleaved(tasks, repeats).items()}
    sweep = seconds["device"] / SWEEPS
    own = OWN_BYTES[dtype, compressed] * problem.contacts / sweep / 1e9
    return {
        "case": case,
        "contacts": problem.contacts,
        "dtype": dtype,
        "compressed": compressed,
        "device": devices.named(device),
        "kernel": info["kernel"],
        "ms": 1e3 * seconds["device"],
        "regions_ms": 1e3 * seconds.get("regions", float("nan")),
        "ns_per_contact": 1e9 * sweep / problem.contacts,
        "own_gbs": own,
        "copy_gbs": copy,
        "share_of_copy": own / copy,
        "solve_ms": 1e3 * seconds["solve"],
        "solve_over_sweeps": seconds["solve"] / seconds["device"],
        "there_ms": 1e3 * seconds["there"],
        "there_over_sweeps": seconds["there"] / seconds["device"],
        "one_thread_ms": 1e3 * seconds["one"],
        "all_cores_ms": 1e3 * seconds["all"],
        "over_one_thread": seconds["one"] / seconds["device"],
        "over_all_cores": seconds["all"] / seconds["device"],
    }


def rows_of(cases, device, repeats):
    copy = copy_rate(device)
    print(f"{devices.named(device)}: copies of {COPY_BYTES >> 20} MB, {copy:.0f} GB/s")
    for case in cases:
        problem = scene(case)
        for dtype, compressed in OWN_BYTES:
            row = row_of(case, problem, device, copy, repeats, dtype, compressed)
            print(on_a_line(row), flush=True)
            yield row


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=lambda text: text.split(","), default=CASES)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--results", type=Path, help="a folder (default: results/<machine>)")
    devices.add_option(parser)
    given = parser.parse_args(argv)
    if given.device is None:
        parser.exit(message=f"no GPU: {cs.cuda.why_not()}\n")
    rows = list(rows_of(given.cases, given.device, given.repeats))
    print(*told(GOALS, rows), sep="\n")
    print(write_csv("cuda_sweeps", rows, given.results))


if __name__ == "__main__":
    main()
