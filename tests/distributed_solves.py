"""Solves on ranks that several files of tests make."""

from __future__ import annotations

import numpy as np

import contactsolve as cs
from contactsolve import distributed

PARTS = 8
GAUSS_SEIDEL = {"method": "gauss_seidel"}


def grid():
    """A grid of balls that slide: its columns are coupled."""
    return cs.scenarios.ball_grid(4, mu=0.1, velocity=0.5)


def spread(problem, comm, labels, parts=PARTS):
    """The distributed problem, all of which rank 0 gives."""
    mine = comm.rank == 0
    return distributed.scatter(
        problem if mine else None, labels=labels if mine else None, parts=parts, comm=comm
    )


def labels_of(problem, parts=PARTS):
    return np.arange(problem.bodies_count) * parts // problem.bodies_count


def bits_of(impulses):
    arrays = impulses if isinstance(impulses, list) else [impulses]
    return b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)


CHECKERBOARD = cs.orders.partition(border="checkerboard")
CONCURRENT = cs.orders.partition(border="concurrent")
WEIGHTED = cs.orders.partition(border="concurrent", weight=0.3)
SPLIT = cs.orders.partition(border="concurrent", split_masses=True)
BOTH = cs.orders.partition(border="concurrent", weight=0.7, split_masses=True)
CASES = {
    "jacobi": ("partition", {"method": "jacobi", "record": ("residual", "merit", "penetration")}),
    "colors": ("colored", {**GAUSS_SEIDEL, "record": ("residual", "merit", "natural_map_scaled")}),
    "partition": ("partition", GAUSS_SEIDEL),
    "hashed": (cs.orders.partition(priority="hash"), GAUSS_SEIDEL),
    "symmetric": ("partition", {"method": "symmetric_gauss_seidel"}),
    "checkerboard": (CHECKERBOARD, GAUSS_SEIDEL),
    "checkerboard in vectors": (CHECKERBOARD, {**GAUSS_SEIDEL, "instructions": "avx2"}),
    "concurrent": (CONCURRENT, GAUSS_SEIDEL),
    "concurrent in vectors": (CONCURRENT, {**GAUSS_SEIDEL, "instructions": "avx2"}),
    "weighted": (WEIGHTED, {**GAUSS_SEIDEL, "record": ("residual", "merit")}),
    "weighted in vectors": (WEIGHTED, {**GAUSS_SEIDEL, "instructions": "avx2"}),
    "split": (SPLIT, GAUSS_SEIDEL),
    "split in vectors": (SPLIT, {**GAUSS_SEIDEL, "instructions": "avx2"}),
    "split, uncompressed": (SPLIT, {**GAUSS_SEIDEL, "instructions": "avx2", "compressed": False}),
    "split, float32": (SPLIT, {**GAUSS_SEIDEL, "dtype": "float32"}),
    "split, mixed": (SPLIT, {**GAUSS_SEIDEL, "dtype": "mixed"}),
    "split, local problems": (SPLIT, {**GAUSS_SEIDEL, "local": "block"}),
    "split, two threads": (BOTH, {**GAUSS_SEIDEL, "threads": 2, "exact_threads": True}),
    "both, symmetric": (BOTH, {"method": "symmetric_gauss_seidel"}),
    "both, nesterov": (BOTH, {"method": "nesterov"}),
    "nesterov": ("partition", {"method": "nesterov"}),
    "nesterov over jacobi": ("partition", {"method": cs.methods.nesterov(over="jacobi")}),
    "nesterov on a checkerboard": (CHECKERBOARD, {"method": "nesterov"}),
    "nncg": ("colored", {"method": "nncg"}),
    "stages": (
        "partition",
        {"method": cs.methods.nesterov_nncg(patience=2), "check_every": 1, "rtol": 1e-14},
    ),
    "anderson": ("colored", {"method": "anderson"}),
    "chebyshev": ("partition", {"method": "chebyshev"}),
    "momentum": ("colored", {"method": "momentum"}),
    "adjacent": ("partition", {"method": "jacobi", "averaging": "adjacent"}),
    "adjacent on a checkerboard": (CHECKERBOARD, {**GAUSS_SEIDEL, "averaging": "adjacent"}),
    "adjacent in colors, float32": (
        "colored",
        {**GAUSS_SEIDEL, "averaging": "adjacent", "dtype": "float32"},
    ),
    "global factor": ("partition", {**GAUSS_SEIDEL, "r_factor": "global"}),
    "balanced": ("partition", {"method": "jacobi", "r_factor": "balanced"}),
    "rollbacks": ("partition", {"method": "jacobi", "relaxation": 1.7}),
    "float32": ("colored", {**GAUSS_SEIDEL, "dtype": "float32"}),
    "mixed": ("colored", {**GAUSS_SEIDEL, "dtype": "mixed"}),
    "uncompressed": ("colored", {**GAUSS_SEIDEL, "compressed": False}),
    "scalar": ("colored", {**GAUSS_SEIDEL, "instructions": "scalar"}),
    "local problems": ("partition", {**GAUSS_SEIDEL, "local": "block"}),
    "without tolerance": ("colored", {**GAUSS_SEIDEL, "rtol": None, "atol": None}),
    "two threads": ("colored", {**GAUSS_SEIDEL, "threads": 2, "exact_threads": True}),
}
needs_avx2 = [name for name, (_, options) in CASES.items() if options.get("instructions") == "avx2"]
