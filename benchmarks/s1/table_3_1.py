"""S1 Table 3.1: what each scheme costs a sweep, counted and measured.

Operations are counted as S1 counts them, for blocks of any size; bytes are what a sweep has to move
when nothing stays in the cache. Both stand beside the time of Gauss-Seidel sweeps, from piles with
hardly more than one block of A for a contact to grids with ten.

    python benchmarks/s1/table_3_1.py [--quick]
"""

import numpy as np
import published
from output import panels, publish, styles
from protocol import arguments, scene, timed

import contactsolve as cs

ROWS, DOF = 3, 6
CONTACT_SWEEPS = 2_000_000  # per timed run
METHODS = {
    "matrix": "gauss_seidel",
    "iteration_matrix": "gauss_seidel",
    "half_sweep": "gauss_seidel",
    "symmetric_half": "symmetric_gauss_seidel",
    "factorized": "gauss_seidel",
}


def multiplications(scheme, m, d):
    """A sweep's multiplications for each block of A and for each contact (S1 section 3.4)."""
    return {
        "matrix": (m * m, m),
        "iteration_matrix": (m * m, 0),
        # Every second sweep renews only the rows below: three quarters of the products.
        "half_sweep": (0.75 * m * m, 0),
        # Forwards and backwards together, two sweeps, for one product.
        "symmetric_half": (0.5 * m * m, m),
        "factorized": (0, 4 * m * d + m),
    }[scheme]


def additions(scheme, m, d):
    """The same for additions; within a block product m (m - 1) of them, as S1 counts."""
    steps = 2 * m  # b, and lambda
    return {
        "matrix": (m * (m - 1), steps),
        "iteration_matrix": (m * (m - 1), m),
        "half_sweep": (0.75 * m * (m - 1), m),
        "symmetric_half": (0.5 * m * (m - 1), steps),
        # J w of two blocks and their sum, the step, the change, and its share in two velocities.
        "factorized": (0, 2 * m * (d - 1) + m + steps + m + 2 * d * m),
    }[scheme]


def setup_multiplications(scheme, m, d):
    """Multiplications to set up, for each block of A; W J^T is taken as given."""
    product = 0 if scheme == "factorized" else m * m * d
    return product + (m * m if scheme == "iteration_matrix" else 0)


def update_multiplications(scheme, m):
    """Multiplications to halve R, for each block of A and for each contact (S1 eqs. 3.14, 3.17)."""
    return (m * m if scheme == "iteration_matrix" else 0), m


def moved_bytes(scheme, problem, m, d, real=8):
    """Bytes a sweep moves at least: everything read once, lambda and velocities written, too."""
    index = 8
    contact = index + real * (m + m + 1 + 2 * m)  # row, b, R, mu, lambda in and out
    if scheme == "factorized":
        moving = np.unique(problem.bodies[problem.bodies >= 0]).size
        velocities = 2 * real * d * moving / problem.contacts
        return contact + real * 2 * m * d + 2 * index + velocities
    blocks = problem.count_blocks() / problem.contacts
    share = {"half_sweep": 0.75, "symmetric_half": 0.5}.get(scheme, 1.0)
    kept = 0 if share == 1.0 else 2 * real * m  # products of the sweep before, and for the next
    return contact + kept + 2 * index + share * blocks * (real * m * m + index)


def scenes(run):
    """Problems by their blocks per contact."""
    chain, wall = ((1, 1, 40), (8, 1, 8)) if run.quick else ((1, 1, 40_000), (200, 1, 100))
    yield "small ball pile", scene("small ball pile", run)
    yield f"chain of {chain[2]:,}", cs.scenarios.ball_grid(chain)
    yield f"wall {wall[0]} x {wall[2]}", cs.scenarios.ball_grid(wall)
    for name in published.GRIDS[: 1 if run.quick else None]:
        yield name, scene(name, run)


def s1_count(scheme, what, which, blocks_per_contact):
    """S1's own count a contact, from a text like '16 N + 8 K'; None where it has none."""
    text = published.OPERATIONS.get(scheme, {}).get(what, ("", ""))[which]
    terms = [term.split() for term in text.split(" + ") if term]
    factor = {"N": blocks_per_contact, "K": 1}
    return sum(float(number) * factor[symbol] for number, symbol in terms) if terms else None


def rows_of(name, problem, run):
    blocks = problem.count_blocks() / problem.contacts
    sweeps = max(2, (20_000 if run.quick else CONTACT_SWEEPS) // problem.contacts)
    methods = [
        cs.Method(METHODS[scheme], scheme=scheme, dtype=dtype, label=f"{scheme} {dtype}")
        for scheme in known_schemes()
        for dtype in ("float64", "float32")
    ]
    timings = timed(problem, methods, sweeps, run, threads=(1,), rollback=0)
    for scheme in known_schemes():
        each = {dtype: timings[f"{scheme} {dtype}", 1] for dtype in ("float64", "float32")}
        ns = {
            dtype: float(np.median(t.seconds)) * 1e9 / sweeps / problem.contacts
            for dtype, t in each.items()
        }
        (per_n, per_k), (plus_n, plus_k) = (
            count(scheme, ROWS, DOF) for count in (multiplications, additions)
        )
        times, sums = per_n * blocks + per_k, plus_n * blocks + plus_k
        per_update = update_multiplications(scheme, ROWS)
        moved = moved_bytes(scheme, problem, ROWS, DOF)
        yield {
            "scene": name,
            "contacts": problem.contacts,
            "blocks_per_contact": blocks,
            "scheme": scheme,
            "multiplications": times,
            "additions": sums,
            "bytes": moved,
            "setup_multiplications": setup_multiplications(scheme, ROWS, DOF) * blocks,
            "update_multiplications": per_update[0] * blocks + per_update[1],
            "s1_multiplications": s1_count(scheme, "sweep", 0, blocks),
            "s1_additions": s1_count(scheme, "sweep", 1, blocks),
            "s1_setup_multiplications": s1_count(scheme, "set-up", 0, blocks),
            "s1_update_multiplications": s1_count(scheme, "R", 0, blocks),
            "ns_f64": ns["float64"],
            "ns_f32": ns["float32"],
            "gflops": (times + sums) / ns["float64"],
            "gbytes": moved / ns["float64"],
            "setup_in_sweeps": each["float64"].setup / (ns["float64"] * 1e-9 * problem.contacts),
        }


def known_schemes():
    known = cs.schemes.names()
    return [scheme for scheme in METHODS if scheme in known]


def draw(rows):
    """Counted and measured cost of a contact against its blocks of A."""
    titles = ("counted: operations (lines), bytes (dashes)", "measured: ns, f64 (full), f32 (open)")
    figure, (counted, measured) = panels(titles, width=5.6, height=4.4)
    look = styles(row["scheme"] for row in rows)
    for scheme, style in look.items():
        own = sorted(
            (r for r in rows if r["scheme"] == scheme), key=lambda r: r["blocks_per_contact"]
        )
        x = [r["blocks_per_contact"] for r in own]
        operations = [r["multiplications"] + r["additions"] for r in own]
        kind = {"color": style.color, "marker": style.marker}
        counted.plot(x, operations, label=scheme, **kind)
        counted.plot(x, [r["bytes"] for r in own], linestyle="--", **kind)
        measured.plot(x, [r["ns_f64"] for r in own], label=scheme, **kind)
        measured.plot(x, [r["ns_f32"] for r in own], linestyle=":", fillstyle="none", **kind)
    for ax in (counted, measured):
        ax.set(xscale="log", yscale="log", xlabel="blocks of A for a contact, N/K")
        ax.set_xticks([1, 2, 5, 10], ["1", "2", "5", "10"])
        ax.minorticks_off()
        ax.legend()
    counted.set_ylabel("a contact and sweep")
    measured.set_ylabel("ns a contact and sweep")
    return figure


def main(run):
    rows = [row for name, problem in scenes(run) for row in rows_of(name, problem, run)]
    publish(run, "table_3_1", rows, draw)


if __name__ == "__main__":
    main(arguments(__doc__))
