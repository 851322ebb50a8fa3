"""Trees of k-DOPs: refits, pairs of a folded and of a draped sheet, beside ipctk's LBVH (S5 5).

The fold is a sheet folded to 8 layers 2.2 edges apart, turned out of the axes; the drape a sheet of
as many vertices over a sphere. All primitives are enlarged by a quarter of an edge. Times are
medians of runs in turns, on one thread, and on as many as the library takes by itself (one while
others use the cores; ipctk then has all): ours of a refit of all trees, and of the candidates of
vertices with faces and of edges with edges; ipctk's (if it is installed) of the same candidates,
with its trees, which it builds each time. With k = 6 both find the same ones; with more directions
those are left out whose k-DOPs are apart. Writes cloth_trees.csv and tells the goals.

For each rule of splitting, the tests of the tasks of one thread, largest first, give the speedup on
more cores by list scheduling: each core takes the next task, which costs as much as so many tests
more (TASK_TESTS). Writes cloth_tree_rules.csv.

    python benchmarks/cloth/trees.py [--sheet 165x164] [--repeats 15] [--moves 6]
"""

import argparse
import heapq
import itertools
import os
import sys
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import cores, interleaved, on_a_line, write_csv

SHEET = (165, 164)
LAYERS, GAP, MARGIN = 8, 2.2, 0.25  # the latter two in edges
MODELS = ((6, "float32"), (6, "float64"), (18, "float32"), (18, "float64"))
KINDS = ("vertex_face", "edge_edge")
CORES, TASK_TESTS = (2, 4, 8, 16), 10
GOAL_REFIT_MS, GOAL_DRAPE_MS, GOAL_RATIO = 3.0, 20.0, 4.0
BEST = (18, "float32")  # of which the goals are told


# ---- scenes --------------------------------------------------------------------------------------


def turned(vertices):
    """Turn out of the axes and the diagonals, of which a grid would make the boxes too tight."""
    return vertices @ np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0].T


def flat(rows, columns):
    """A sheet whose edges along the lines of its grid have the length 1."""
    return cs.cloth.sheet(rows, columns, (columns - 1.0, rows - 1.0))


def fold(rows, columns, layers=LAYERS, gap=GAP):
    """A sheet folded across y, in half circles between its layers."""
    vertices, faces = flat(rows, columns)
    length = (rows - 1) / layers
    plane = length - np.pi * gap / 2
    layer = np.minimum(vertices[:, 1] // length, layers - 1)
    along = vertices[:, 1] - layer * length
    angle = np.where(layer < layers - 1, np.maximum(along - plane, 0) / (gap / 2), 0)
    y = np.where(angle > 0, plane + gap / 2 * np.sin(angle), along)
    vertices[:, 1] = np.where(layer % 2 == 0, y, plane - y)
    vertices[:, 2] = gap * layer + gap / 2 * (1 - np.cos(angle))
    return turned(vertices), faces


def drape(rows, columns, gap=0.4):
    """A sheet over a sphere, so many edges above it, whose rim hangs down in folds."""
    vertices, faces = flat(rows, columns)
    vertices -= vertices.mean(axis=0)
    radius = 0.25 * columns
    distance = np.linalg.norm(vertices, axis=1)
    around = np.arctan2(vertices[:, 1], vertices[:, 0])
    angle = np.minimum(distance / radius, np.pi / 2)
    hanging = np.maximum(distance - radius * np.pi / 2, 0)
    outside = (radius + gap) * np.sin(angle) + 0.3 * hanging * (1 + np.sin(8 * around))
    height = (radius + gap) * np.cos(angle) - 0.9 * hanging
    x = np.column_stack([outside * np.cos(around), outside * np.sin(around), height])
    return turned(x), faces, *sphere(radius, max(columns // 3, 2))


def sphere(radius, cells):
    """The surface of a cube of so many cells along an edge, moved out to a sphere."""
    corners, faces = cs.cloth.sheet(cells + 1, cells + 1, 2.0)
    corners, sides, triangles = corners - [1, 1, -1], [], []
    for axis in range(3):
        for sign in (1, -1):
            side = np.roll(corners, axis, axis=1) * sign
            triangles.append(faces + len(corners) * len(sides))
            sides.append(radius * side / np.linalg.norm(side, axis=1)[:, None])
    return turned(np.vstack(sides)), np.vstack(triangles)


# ---- candidates ----------------------------------------------------------------------------------


def timed(task):
    """A task that returns nothing: `interleaved` takes its time."""

    def run():
        task()

    return run


def milliseconds(tasks, repeats):
    seconds = interleaved({name: timed(task) for name, task in tasks.items()}, repeats)
    return {f"{name}_ms": 1e3 * float(np.median(values)) for name, values in seconds.items()}


def our_tree(vertices, faces, k, dtype):
    """A tree with all of its hierarchies, of boxes with the margin."""
    tree = cs.bvh.Tree(vertices, faces, k, dtype=dtype)
    tree.refit(vertices, margin=MARGIN)
    for kind in (*KINDS, "faces"):
        tree.pairs(kind=kind)
    tree.refit(vertices, margin=MARGIN)
    return tree


def row_of_fold(sheet, k, dtype, threads, repeats, peer):
    """Figures of the pairs of a fold with itself."""
    vertices, faces = fold(*sheet)
    tree = our_tree(vertices, faces, k, dtype)
    tasks = {"refit": lambda: tree.refit(vertices, vertices, MARGIN, threads=threads)}
    for kind in (*KINDS, "faces"):
        tasks[kind] = lambda kind=kind: tree.pairs(kind=kind, threads=threads)
    if peer:
        tasks["ipctk"] = peer(vertices, faces, threads)
    row = head("fold", sheet, k, dtype, threads, tree, milliseconds(tasks, repeats))
    row["candidates_ms"] = row["vertex_face_ms"] + row["edge_edge_ms"]
    row["with_refit_ms"] = row["candidates_ms"] + row["refit_ms"]
    if peer:
        candidates = tasks["ipctk"]()
        row["ipctk_candidates"] = len(candidates)
        row["over_ipctk"] = row["ipctk_ms"] / row["candidates_ms"]
        row["over_ipctk_with_refit"] = row["ipctk_ms"] / row["with_refit_ms"]
        edges = tasks["ipctk"].edges
        row["only_ours"], row["only_ipctk"] = differences(tree, candidates, edges)
    return row


def head(scene, sheet, k, dtype, threads, tree, times):
    """What all rows have: first what was measured."""
    used = tree.info["threads"]
    counts = {f"{kind}_pairs": len(tree.pairs(kind=kind)) for kind in KINDS}
    return {
        "scene": scene,
        "vertices": sheet[0] * sheet[1],
        "k": k,
        "dtype": dtype,
        "threads": threads or "auto",
        "threads_taken": used,
        "cores": cores(),
        "kernel": tree.info["kernel"],
        "load": os.getloadavg()[0],
        **counts,
        **times,
    }


def row_of_drape(sheet, k, dtype, threads, repeats):
    """Figures of the pairs of a sheet with a sphere, both ways, after a refit of the sheet."""
    vertices, faces, body_vertices, body_faces = drape(*sheet)
    cloth = our_tree(vertices, faces, k, dtype)
    body = our_tree(body_vertices, body_faces, k, dtype)
    tasks = {
        "refit": lambda: cloth.refit(vertices, vertices, MARGIN, threads=threads),
        "vertex_face": lambda: cloth.pairs(body, "vertex_face", threads=threads),
        "face_vertex": lambda: body.pairs(cloth, "vertex_face", threads=threads),
        "edge_edge": lambda: cloth.pairs(body, "edge_edge", threads=threads),
        "faces": lambda: cloth.pairs(body, "faces", threads=threads),
    }
    row = head("drape", sheet, k, dtype, threads, cloth, milliseconds(tasks, repeats))
    for kind in KINDS:
        row[f"{kind}_pairs"] = len(cloth.pairs(body, kind))
    row["face_vertex_pairs"] = len(body.pairs(cloth, "vertex_face"))
    row["candidates_ms"] = sum(row[f"{one}_ms"] for one in (*KINDS, "face_vertex"))
    row["with_refit_ms"] = row["candidates_ms"] + row["refit_ms"]
    return row


# ---- the peer ------------------------------------------------------------------------------------


def find_peer():
    """A function of a mesh that returns one which finds its candidates; None without ipctk."""
    try:
        import ipctk
    except ImportError:
        print("ipctk is not installed: no peer")
        return None

    def of_mesh(vertices, faces, threads):
        ipctk.set_num_threads(threads or cores())
        mesh = ipctk.CollisionMesh(vertices, ipctk.edges(faces), faces)

        def find():
            candidates = ipctk.Candidates()
            candidates.build(mesh, vertices, vertices, MARGIN, ipctk.LBVH())
            return candidates

        find.edges = mesh.edges
        return find

    return of_mesh


def differences(tree, candidates, edges):
    """How many of our candidates ipctk does not have, and the other way round."""
    edge = {tuple(sorted(ends)): i for i, ends in enumerate(tree.edges.tolist())}
    number = [edge[tuple(sorted(ends))] for ends in np.asarray(edges).tolist()]
    theirs = {
        "vertex_face": {(c.vertex_id, c.face_id) for c in candidates.fv_candidates},
        "edge_edge": {
            tuple(sorted((number[c.edge0_id], number[c.edge1_id])))
            for c in candidates.ee_candidates
        },
    }
    ours = {kind: set(map(tuple, tree.pairs(kind=kind).tolist())) for kind in KINDS}
    return (
        sum(len(ours[kind] - theirs[kind]) for kind in KINDS),
        sum(len(theirs[kind] - ours[kind]) for kind in KINDS),
    )


# ---- rules ---------------------------------------------------------------------------------------


def makespan(work, workers):
    """The time until all tasks are done, of which each worker takes the next one."""
    free = [0] * workers
    for one in work:
        heapq.heappush(free, heapq.heappop(free) + int(one))
    return max(free)


def rows_of_rules(sheet, moves):
    """Tasks of each rule while a fold is shaken, and what list scheduling makes of them."""
    vertices, faces = fold(*sheet)
    tree = our_tree(vertices, faces, *BEST)
    rng = np.random.default_rng(0)
    push = 0.2 * rng.standard_normal(vertices.shape)
    frames = [vertices + push * t for t in np.linspace(0, 1, moves + 1)]
    for rule in cs.bvh.rules():
        rows = []
        tree.refit(frames[0], margin=MARGIN)
        tree.pairs(kind="edge_edge")
        for before, after in itertools.pairwise(frames):
            tree.refit(before, after, MARGIN)
            tree.pairs(kind="edge_edge", rule=rule, threads=1, record=True)
            rows.append(row_of_tasks(rule, tree.info))
        yield {
            key: rule if key == "rule" else float(np.median([row[key] for row in rows]))
            for key in rows[0]
        }


def row_of_tasks(rule, info):
    tests = np.sort(info["task_records"]["tests"])[::-1]
    return {
        "rule": rule,
        "tests": info["tests"],
        "tasks": len(tests),
        "small_tasks": int((tests < 256).sum()),
        "largest_task": int(tests[0]),
        "estimate_error_percent": info["estimate_error"],
        "one_thread_ms": 1e3 * info["task_records"]["seconds"].sum(),
        **{f"speedup_{n}": tests.sum() / makespan(tests + TASK_TESTS, n) for n in CORES},
    }


# ---- all -----------------------------------------------------------------------------------------


def tell_goals(rows):
    """Of the model with the goals, on the threads that the library takes."""

    def row_of(*wanted):
        names = ("scene", "k", "dtype", "threads")
        return next(row for row in rows if tuple(row[name] for name in names) == wanted)

    fold_row, drape_row = row_of("fold", *BEST, "auto"), row_of("drape", *BEST, "auto")
    told = [("refit [ms]", fold_row["refit_ms"], GOAL_REFIT_MS, False)]
    told.append(("drape, external pairs [ms]", drape_row["candidates_ms"], GOAL_DRAPE_MS, False))
    if "over_ipctk" in fold_row:
        told.append(("fold, ipctk over ours", fold_row["over_ipctk"], GOAL_RATIO, True))
        same = row_of("fold", 6, "float32", "auto")
        told.append(("the same, same candidates", same["over_ipctk"], GOAL_RATIO, True))
    for name, value, goal, is_least in told:
        reached = value >= goal if is_least else value <= goal
        sign = ">=" if is_least else "<="
        print(f"{name}: {value:.2f}, goal {sign} {goal}: {'reached' if reached else 'MISSED'}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--sheet", type=lambda text: tuple(map(int, text.split("x"))), default=SHEET
    )
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--moves", type=int, default=6)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--results", type=Path, help="a folder (default: results/<machine>)")
    given = parser.parse_args(argv)
    peer = None if given.no_peers else find_peer()
    rows = []
    models = [(*model, threads) for threads in (1, None) for model in MODELS]
    for model in models:
        rows.append(row_of_fold(given.sheet, *model, given.repeats, peer))
        print(on_a_line(rows[-1]), flush=True)
    for model in models:
        rows.append(row_of_drape(given.sheet, *model, given.repeats))
        print(on_a_line(rows[-1]), flush=True)
    print(write_csv("cloth_trees", rows, given.results))
    rules = list(rows_of_rules(given.sheet, given.moves))
    for row in rules:
        print(on_a_line(row))
    print(write_csv("cloth_tree_rules", rules, given.results))
    tell_goals(rows)


if __name__ == "__main__":
    main()
