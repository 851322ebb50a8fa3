"""What a user would write instead: Jacobi over index arrays in NumPy, JAX, PyTorch and CuPy.

All make the same 50 sweeps from zero, z = λ − α R (G u + b), λ = prox(z), u += M⁻¹ Jᵀ Δλ, on ball
grids: a gather, two small products, a projection and a scatter. Each peer that is installed runs on
the device that it chooses, NumPy on the processor; JAX compiles the sweeps into one function, the
others run each operation by itself. Beside them our Jacobi and our coloured Gauss-Seidel, of the
same run. Impulses are compared with ours. Writes cuda_peers.csv, and tells the goal.

    python benchmarks/cuda/peers.py [--grids 8,40,64] [--repeats 10] [--device cpu]

Without a GPU, and with ``--device cpu``, all run on the processor.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from common import cores, devices, interleaved, on_a_line, sweeping, write_csv
from goals import Goal, told

GRIDS, SWEEPS, RELAXATION, MU = (8, 40, 64), 50, 0.3, 0.5
GOALS = (Goal({"grid": 40, "peer": "JAX"}, "over_gauss_seidel", 6.0, at_least=True),)


def arrays_of(problem):
    """J and M⁻¹ Jᵀ by side, bodies with the ground as the last one, α R, b: in float32."""
    J = np.asarray(problem.J, np.float32)
    bodies = np.where(problem.bodies < 0, len(problem.Minv), problem.bodies)
    inverse = np.concatenate([problem.Minv, np.zeros((1, problem.Minv.shape[1]))])
    moved = (np.asarray(problem.J) * inverse[bodies][:, :, None]).astype(np.float32)
    diagonal = np.einsum("ksij,ksij->ki", problem.J, moved)
    diagonal[:, 1:] = diagonal[:, 1:].max(axis=1, keepdims=True)  # S2 eqs. 4.42, 4.43
    r = (RELAXATION / diagonal).astype(np.float32)
    return J, moved, bodies, r, problem.b.astype(np.float32)


def by_operations(xp, add, J, moved, bodies, r, b, places):
    """Sweeps operation by operation, in NumPy or in CuPy, which has its functions."""
    J, moved, bodies, r, b = map(xp.asarray, (J, moved, bodies, r, b))

    def run():
        impulses, u = xp.zeros_like(b), xp.zeros((places, J.shape[3]), J.dtype)
        for _ in range(SWEEPS):
            z = impulses - r * (b + xp.einsum("ksij,ksj->ki", J, u[bodies]))
            normal = xp.maximum(z[:, :1], 0)
            length = xp.maximum(xp.linalg.norm(z[:, 1:], axis=1, keepdims=True), 1e-30)
            tangent = z[:, 1:] * xp.minimum(1, MU * normal / length)
            new = xp.concatenate([normal, tangent], axis=1)
            add(u, bodies, xp.einsum("ksij,ki->ksj", moved, new - impulses))
            impulses = new
        return impulses

    return run


def in_numpy(*arrays):
    """On the processor."""
    return by_operations(np, np.add.at, *arrays), "cpu"


def in_jax(J, moved, bodies, r, b, places):
    """Sweeps as one compiled function."""
    import jax
    import jax.numpy as jnp

    J, moved, bodies, r, b = map(jnp.asarray, (J, moved, bodies, r, b))

    def sweep(_, state):
        impulses, u = state
        xi = b + jnp.einsum("ksij,ksj->ki", J, u[bodies])
        z = impulses - r * xi
        normal = jnp.maximum(z[:, :1], 0)
        length = jnp.maximum(jnp.linalg.norm(z[:, 1:], axis=1, keepdims=True), 1e-30)
        tangent = z[:, 1:] * jnp.minimum(1, MU * normal / length)
        new = jnp.concatenate([normal, tangent], axis=1)
        change = jnp.einsum("ksij,ki->ksj", moved, new - impulses)
        return new, u.at[bodies].add(change)

    start = jnp.zeros_like(b), jnp.zeros((places, J.shape[3]), J.dtype)
    whole = jax.jit(lambda state: jax.lax.fori_loop(0, SWEEPS, sweep, state))
    return lambda: np.asarray(whole(start)[0].block_until_ready()), str(jax.devices()[0])


def in_torch(J, moved, bodies, r, b, places):
    """Sweeps operation by operation."""
    import torch

    where = "cuda" if torch.cuda.is_available() else "cpu"
    J, moved, bodies, r, b = (torch.tensor(each, device=where) for each in (J, moved, bodies, r, b))

    def run():
        impulses = torch.zeros_like(b)
        u = torch.zeros((places, J.shape[3]), dtype=J.dtype, device=where)
        for _ in range(SWEEPS):
            z = impulses - r * (b + torch.einsum("ksij,ksj->ki", J, u[bodies]))
            normal = z[:, :1].clamp(min=0)
            length = z[:, 1:].norm(dim=1, keepdim=True).clamp(min=1e-30)
            tangent = z[:, 1:] * (MU * normal / length).clamp(max=1)
            new = torch.cat([normal, tangent], dim=1)
            change = torch.einsum("ksij,ki->ksj", moved, new - impulses)
            u.index_put_((bodies,), change, accumulate=True)
            impulses = new
        return impulses.cpu().numpy()

    return run, where


def in_cupy(*arrays):
    """On the GPU."""
    import cupy
    import cupyx

    run = by_operations(cupy, cupyx.scatter_add, *arrays)
    return lambda: run().get(), "cuda"


PEERS = {"NumPy": in_numpy, "JAX": in_jax, "PyTorch": in_torch, "CuPy": in_cupy}


def peers_of(problem):
    """Those that are installed: name → (what runs the sweeps, its device)."""
    found = {}
    for name, make in PEERS.items():
        try:
            found[name] = make(*arrays_of(problem), len(problem.Minv) + 1)
        except ImportError:
            print(f"{name} is not installed", flush=True)
    return found


def timed(run):
    """A task for `interleaved`: seconds of a call."""

    def seconds():
        begun = time.perf_counter()
        run()
        return time.perf_counter() - begun

    return seconds


def rows_of(n, device, repeats):
    """A row for each peer on one grid."""
    problem = cs.scenarios.ball_grid(n)
    problem = cs.Problem(problem.J, problem.Minv, problem.b, MU, bodies=problem.bodies)
    here = {"device": device} if device != "cpu" else {}
    options = {"dtype": "float32", **here}
    jacobi = {"method": "jacobi", "relaxation": RELAXATION, "r_factor": "diagonal", "rollback": 0}
    threads = None if here else cores()
    ours = {
        "jacobi": sweeping(problem, SWEEPS, threads, **jacobi, **options),
        "gauss_seidel": sweeping(problem, SWEEPS, threads, order="colored", **options),
    }
    peers = peers_of(problem)
    tasks = {name: lambda s=own: s.solve().sweep_time for name, own in ours.items()}
    tasks |= {name: timed(run) for name, (run, _) in peers.items()}
    times = interleaved(tasks, repeats)
    seconds = {name: float(np.median(each)) for name, each in times.items()}
    wanted = ours["jacobi"].solve().impulses
    for name, (run, where) in peers.items():
        yield {
            "grid": n,
            "contacts": problem.contacts,
            "peer": name,
            "peer_device": where,
            "device": devices.named(device),
            "peer_ms": 1e3 * seconds[name],
            "jacobi_ms": 1e3 * seconds["jacobi"],
            "gauss_seidel_ms": 1e3 * seconds["gauss_seidel"],
            "over_jacobi": seconds[name] / seconds["jacobi"],
            "over_gauss_seidel": seconds[name] / seconds["gauss_seidel"],
            "apart": float(np.abs(run() - wanted).max() / np.abs(wanted).max()),
        }


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--grids", type=lambda text: tuple(map(int, text.split(","))), default=GRIDS
    )
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--results", type=Path, help="a folder (default: results/<machine>)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default=devices.present() or "cpu")
    given = parser.parse_args(argv)
    rows = []
    for n in given.grids:
        for row in rows_of(n, given.device, given.repeats):
            rows.append(row)
            print(on_a_line(row), flush=True)
    if given.device == "cuda":
        print(*told(GOALS, rows), sep="\n")
    if rows:
        print(write_csv("cuda_peers", rows, given.results))


if __name__ == "__main__":
    main()
