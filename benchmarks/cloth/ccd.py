"""Continuous collision detection: time for each query, false hits, the free step of a fold.

The queries of the "Sample Queries" of Wang et al. 2021 have known answers: how many of the contacts
are missed, how many hits are false, and microseconds for each query, beside ipctk's AdditiveCCD and
TightInclusionCCD, which are called one query at a time from Python. Then the largest free step of a
sheet of 164 × 165 vertices, folded to 8 layers that are pressed together, over the same candidates
in the same run; ipctk's broad phase finds them. Writes cloth_ccd_queries.csv and cloth_ccd_fold.csv
and tells the goals. Without ipctk, only the queries are measured.

    python benchmarks/cloth/ccd.py [--sheet 164x165] [--repeats 7] [--threads 2]
"""

import argparse
import importlib.util
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import ROOT, interleaved, on_a_line, write_csv

QUERIES = ROOT / "tests" / "reference" / "ccd" / "queries.npz"
LAYERS, GAP = 8, 2.2  # of the fold; in edges
PRESSED, NOISE = 0.05, 0.03  # heights after the step over those before; in edges
GOAL = 4.0  # times as fast as AdditiveCCD
SEED = 5


def fold(rows, columns, rng):
    """Positions before and after a step, and faces, of a sheet in layers; an edge is 1 long."""
    _, faces = cs.cloth.sheet(rows, columns, (1.0, 1.0))
    bend = np.pi * GAP / 2
    straight = (columns - 1 - (LAYERS - 1) * bend) / LAYERS
    x, z = np.array([layer_at(s, straight, bend) for s in np.arange(columns)]).T
    y = np.arange(rows, dtype=float)
    flat = np.stack(np.broadcast_arrays(x[None, :], y[:, None], z[None, :]), axis=-1).reshape(-1, 3)
    start = flat + NOISE * rng.normal(size=flat.shape)
    end = start * [1, 1, PRESSED] + NOISE * rng.normal(size=flat.shape)
    return start, end, faces


def layer_at(s, straight, bend):
    """Return where along the layers, and how high, the arc length s is."""
    layer, rest = divmod(s, straight + bend)
    side = 1 if layer % 2 == 0 else -1
    middle, radius = straight / 2, GAP / 2
    if rest <= straight:
        return side * (rest - middle), GAP * layer
    angle = (rest - straight) / radius
    return side * (middle + radius * np.sin(angle)), GAP * layer + radius * (1 - np.cos(angle))


def quiet(work, *arguments, **options):
    """Return a task without a result: `interleaved` takes the time."""

    def task():
        work(*arguments, **options)

    return task


# ---- queries with known answers -----------------------------------------------------------------


def reference_queries():
    """Return {kind: (positions at 0 and 1 (n, 2, 4, 3), answers)}."""
    with np.load(QUERIES) as file:
        return {kind: (file[kind], file[f"{kind}_hit"]) for kind in ("vertex_face", "edge_edge")}


def peers(ipctk):
    if ipctk is None:
        return {}
    return {"additive": ipctk.AdditiveCCD(), "tight_inclusion": ipctk.TightInclusionCCD()}


def answers_of(peer, kind, x):
    """Return the answers of a peer, and the seconds of all calls."""
    ask = peer.point_triangle_ccd if kind == "vertex_face" else peer.edge_edge_ccd
    rows = [[*query[0], *query[1]] for query in x]
    start = time.perf_counter()
    hit = [ask(*row)[0] for row in rows]
    return np.array(hit), time.perf_counter() - start


def query_rows(ipctk, repeats):
    """Rows of figures: of each kind of query, ours and the peers'."""
    for kind, (x, wanted) in reference_queries().items():
        x0, x1 = np.ascontiguousarray(x[:, 0]), np.ascontiguousarray(x[:, 1])
        own = interleaved({"own": quiet(cs.bvh.ccd, kind, x0, x1, threads=1)}, repeats)
        found = cs.bvh.ccd(kind, x0, x1)
        answers = {"contactsolve": (found.hit, float(np.median(own["own"])))}
        answers |= {name: answers_of(peer, kind, x) for name, peer in peers(ipctk).items()}
        for name, (hit, seconds) in answers.items():
            yield {
                "kind": kind,
                "library": name,
                "queries": len(x),
                "contacts": int(wanted.sum()),
                "missed": int((wanted & ~hit).sum()),
                "false_hits": int((hit & ~wanted).sum()),
                "doubtful": found.doubts if name == "contactsolve" else "",
                "microseconds": 1e6 * seconds / len(x),
            }


# ---- the largest free step ----------------------------------------------------------------------


def candidates_of(ipctk, mesh, start, end):
    """Return ipctk's candidates, and the vertices of each of a kind, (n, 4)."""
    found = ipctk.Candidates()
    found.build(mesh, start, end, inflation_radius=0.0, broad_phase=ipctk.LBVH())
    edges, faces = mesh.edges, mesh.faces
    vertices = np.array([[c.vertex_id, *faces[c.face_id]] for c in found.fv_candidates])
    pairs = np.array([[*edges[c.edge0_id], *edges[c.edge1_id]] for c in found.ee_candidates])
    return found, {
        "vertex_face": vertices.reshape(-1, 4).astype(np.int64),
        "edge_edge": pairs.reshape(-1, 4).astype(np.int64),
    }


def own_step(start, end, stencils, threads):
    return min(
        cs.bvh.free_step(kind, start, end, indices=four, threads=threads)
        for kind, four in stencils.items()
    )


def fold_row(ipctk, sheet, repeats, threads):
    """Figures of the free step, the same number of threads for all."""
    ipctk.set_num_threads(threads)
    start, end, faces = fold(*sheet, np.random.default_rng(SEED))
    mesh = ipctk.CollisionMesh(start, ipctk.edges(faces), faces)
    candidates, stencils = candidates_of(ipctk, mesh, start, end)
    steps = {"own": partial(own_step, start, end, stencils, threads)}
    for name, peer in peers(ipctk).items():
        free_step = candidates.compute_collision_free_stepsize
        steps[name] = partial(free_step, mesh, start, end, 0.0, peer)
    timed = {name: quiet(step) for name, step in steps.items()}
    seconds = {name: float(np.median(t)) for name, t in interleaved(timed, repeats).items()}
    own = [
        1e9 * queries_alone(kind, start, end, four, threads) / len(four)
        for kind, four in stencils.items()
    ]
    return {
        "vertices": len(start),
        "candidates": sum(map(len, stencils.values())),
        "threads": threads,
        **{f"{name}_step": step() for name, step in steps.items()},
        **{f"{name}_ms": 1e3 * seconds[name] for name in steps},
        "additive_over_own": seconds["additive"] / seconds["own"],
        "vertex_face_ns": own[0],
        "edge_edge_ns": own[1],
    }


def queries_alone(kind, start, end, four, threads):
    """Seconds in which all queries are answered, none of them left early."""
    begun = time.perf_counter()
    cs.bvh.ccd(kind, start, end, indices=four, threads=threads)
    return time.perf_counter() - begun


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sheet_of = lambda text: tuple(map(int, text.split("x")))  # noqa: E731
    parser.add_argument("--sheet", type=sheet_of, default=(164, 165))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--without-peers", action="store_true", help="measure the queries only")
    parser.add_argument("--results", type=Path, help="a folder (default: results/<machine>)")
    given = parser.parse_args(argv)
    ipctk = None
    if not given.without_peers and importlib.util.find_spec("ipctk"):
        ipctk = importlib.import_module("ipctk")
    if ipctk is None:
        print("without peers: ipctk is not asked, or not installed (pip install ipctk)")
    rows = list(query_rows(ipctk, given.repeats))
    for row in rows:
        print(on_a_line(row), flush=True)
    print(write_csv("cloth_ccd_queries", rows, given.results))
    if ipctk is None:
        return
    row = fold_row(ipctk, given.sheet, given.repeats, given.threads)
    print(on_a_line(row))
    verdict = "reached" if row["additive_over_own"] >= GOAL else "MISSED"
    print(f"free step {row['additive_over_own']:.1f} × AdditiveCCD's, goal >= {GOAL}: {verdict}")
    print(write_csv("cloth_ccd_fold", [row], given.results))


if __name__ == "__main__":
    main()
