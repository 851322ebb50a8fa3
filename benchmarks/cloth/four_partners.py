"""A sweep over contacts of four vertices: ours in every form, and a loop in Numba.

The contacts are those of one step of a sheet that lies in 8 folds: vertices and faces nearer to
each other than a thickness (`cs.bvh`), with friction. Factorized Gauss-Seidel over colours on one
thread and on `threads`, with J compressed (a frame and four weights, 13 numbers) or in full (36);
scalar visits in the natural order; and, in the natural order, the loop that one writes with Numba,
with w = M^-1 J^T lambda and J and M^-1 J^T stored. The runs are interleaved, and medians count.
Writes cloth_four_partners.csv and tells the goal: compressed, coloured, one thread, 4 x Numba.

    python benchmarks/cloth/four_partners.py [--sheets 60x61,164x165] [--repeats 15] [--threads 2]
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import cores, interleaved, on_a_line, sweeping, write_csv

SHEETS = ((60, 61), (164, 165))
LAYERS, GAP, THICKNESS = 8, 0.8, 0.9  # of the fold; in edges
FRICTION, TIME_STEP, SEED = 0.3, 1 / 60, 0
DTYPES, GOAL = ("float64", "float32"), 4.0


# ---- the problem --------------------------------------------------------------------------------


def fold(rows, columns):
    """A sheet of edges of length 1 in layers, shaken; and its faces."""
    flat, faces = cs.cloth.sheet(rows, columns, (columns - 1.0, rows - 1.0), "alternating")
    along = (flat - flat.min(axis=0)) @ np.array([1.0, 0, 0])
    length = np.ceil((columns - 1) / LAYERS)
    layer, place = np.divmod(along, length)
    x = np.where(layer % 2, length - place, place)
    z = GAP * (layer + np.clip(place / length * 8 - 7, 0, 1))  # the last eighth rises
    noise = 0.05 * np.random.default_rng(SEED).standard_normal((len(flat), 3))
    return np.stack([x, flat[:, 1], z], axis=1) + noise, faces


def frames_of(normals):
    """Each normal with two tangents, ``(K, 3, 3)``."""
    axis = np.eye(3)[np.abs(normals).argmin(axis=1)]
    first = np.cross(normals, axis)
    first /= np.linalg.norm(first, axis=1)[:, None]
    return np.stack([normals, first, np.cross(normals, first)], axis=1)


def contacts_of(x, faces):
    """Vertices and weights of the pairs nearer than the thickness, with their frames."""
    # The boxes of a motion across the layers are as thick as the cloth.
    up = np.array([0, 0, THICKNESS])
    tree = cs.bvh.Tree(x, faces)
    tree.refit(x - up / 2, x + up / 2)
    pairs = tree.pairs(kind="vertex_face")
    vertices = np.column_stack([pairs[:, 0], np.asarray(faces)[pairs[:, 1]]])
    found = cs.bvh.distance("vertex_face", x, vertices)
    near = (found.distance > 0) & (found.distance < THICKNESS)
    normals = found.separation[near] / found.distance[near, None]
    return vertices[near], found.weights[near], found.distance[near], frames_of(normals)


def problem_of(rows, columns):
    """The contacts of a step in which the fold is pressed together."""
    x, faces = fold(rows, columns)
    vertices, weights, distance, frames = contacts_of(x, faces)
    J = weights[:, :, None, None] * frames[:, None]
    rng = np.random.default_rng(SEED)
    masses = rng.uniform(0.8, 1.2, len(x))
    u = 0.1 * rng.standard_normal(x.shape) - np.array([0, 0, 2.0]) * (x / x.max(axis=0))
    b = np.einsum("ksmd,ksd->km", J, u[vertices])
    b[:, 0] += np.minimum(0, distance - THICKNESS) / TIME_STEP * 0.1
    inverse = np.repeat(1 / masses[:, None], 3, axis=1)
    return cs.Problem(J, inverse, b, FRICTION, bodies=vertices)


# ---- sweeps -------------------------------------------------------------------------------------


def numba_sweep(problem, sweeps, dtype):
    """The loop as one writes it with Numba; None without Numba."""
    try:
        import numba
    except ImportError:
        return None

    @numba.njit(fastmath=False)
    def run(J, columns, bodies, b, r, mu, w, lam, sweeps):
        for _ in range(sweeps):
            for k in range(len(b)):
                z0, z1, z2 = b[k, 0], b[k, 1], b[k, 2]
                for s in range(4):
                    i = bodies[k, s]
                    for c in range(3):
                        z0 += J[k, s, 0, c] * w[i, c]
                        z1 += J[k, s, 1, c] * w[i, c]
                        z2 += J[k, s, 2, c] * w[i, c]
                z0 = max(lam[k, 0] - r[k, 0] * z0, 0)
                z1, z2 = lam[k, 1] - r[k, 1] * z1, lam[k, 2] - r[k, 2] * z2
                bound, length = mu * z0, np.sqrt(z1 * z1 + z2 * z2)
                if length > bound:
                    z1, z2 = z1 * bound / length, z2 * bound / length
                d0, d1, d2 = z0 - lam[k, 0], z1 - lam[k, 1], z2 - lam[k, 2]
                lam[k, 0], lam[k, 1], lam[k, 2] = z0, z1, z2
                for s in range(4):
                    i = bodies[k, s]
                    for c in range(3):
                        w[i, c] += (
                            columns[k, s, 0, c] * d0
                            + columns[k, s, 1, c] * d1
                            + columns[k, s, 2, c] * d2
                        )

    J, bodies = problem.J.astype(dtype), problem.bodies
    columns = (problem.J * problem.Minv[bodies][:, :, None]).astype(dtype)
    diagonal = np.einsum("ksmc,ksmc->km", J, columns)
    tangential = diagonal[:, 1:].max(axis=1)
    r = (1.0 / np.stack([diagonal[:, 0], tangential, tangential], axis=1)).astype(dtype)
    b, mu = problem.b.astype(dtype), np.dtype(dtype).type(FRICTION)
    w, lam = np.zeros((problem.bodies_count, 3), dtype), np.zeros_like(b)

    def task():
        w[:], lam[:] = 0, 0
        start = time.perf_counter()
        run(J, columns, bodies, b, r, mu, w, lam, sweeps)
        return time.perf_counter() - start

    task()
    own = cs.solve(
        problem,
        method="gauss_seidel",
        scheme="factorized",
        order="natural",
        dtype=dtype,
        max_iterations=sweeps,
        rtol=None,
        atol=None,
    )
    difference = np.abs(own.impulses - lam).max()
    if difference > 1e4 * np.finfo(dtype).eps * np.abs(lam).max():
        raise AssertionError(f"the loop in Numba makes other sweeps: {difference}")
    return task


def variants(most):
    """Options of our sweeps by name."""
    yield "scalar", {"instructions": "scalar", "order": "natural", "threads": 1}
    for threads in dict.fromkeys((1, most)):
        for name, compressed in (("full", False), ("compressed", True)):
            options = {"order": "colored", "compressed": compressed, "threads": threads}
            yield f"{name}, {threads} threads", options


def rows_of(sheet, repeats, most):
    """Figures of one sheet, in both precisions."""
    problem = problem_of(*sheet)
    sweeps = max(2, 200_000 // problem.contacts)
    for dtype in DTYPES:
        solvers = {
            name: sweeping(problem, sweeps, dtype=dtype, **options)
            for name, options in variants(most)
        }
        tasks = {name: lambda s=solver: s.solve().sweep_time for name, solver in solvers.items()}
        loop = numba_sweep(problem, sweeps, dtype)
        if loop:
            tasks["numba"] = loop
        medians = {name: float(np.median(t)) for name, t in interleaved(tasks, repeats).items()}
        for name, median in medians.items():
            info = solvers[name].info if name in solvers else {}
            yield {
                "vertices": problem.bodies_count,
                "contacts": problem.contacts,
                "dtype": dtype,
                "sweep": name,
                "kernel": info.get("kernel", "numba"),
                "colors": info.get("colors", ""),
                "ns": median / problem.contacts / sweeps * 1e9,
                "over_scalar": medians["scalar"] / median,
                "over_numba": medians.get("numba", np.nan) / median,
            }


def sheets_of(text):
    return [tuple(map(int, each.split("x"))) for each in text.split(",")]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sheets", type=sheets_of, default=SHEETS)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--threads", type=int, default=cores(), help="the most threads")
    parser.add_argument("--results", type=Path, help="a folder (default: results/<machine>)")
    given = parser.parse_args(argv)
    rows = []
    for sheet in given.sheets:
        for row in rows_of(sheet, given.repeats, given.threads):
            rows.append(row)
            print(on_a_line(row), flush=True)
    for row in rows:
        if row["sweep"] == "compressed, 1 threads" and row["dtype"] == "float64":
            verdict = "reached" if row["over_numba"] >= GOAL else "MISSED"
            told = f"{row['contacts']} contacts: {row['over_numba']:.2f} x Numba"
            print(f"{told}, goal >= {GOAL}: {verdict}")
    print(write_csv("cloth_four_partners", rows, given.results))


if __name__ == "__main__":
    main()
