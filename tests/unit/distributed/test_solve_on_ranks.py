"""Solves on ranks have the bits of one process."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import distributed
from contactsolve.distributed.solver import solve


def grid(n=5):
    """A grid of balls that roll: columns are coupled."""
    return cs.scenarios.ball_grid(n, mu=0.1, velocity=0.5)


def chained():
    """Contacts between random bodies, some of them fixed."""
    return cs.scenarios.random(contacts=300, bodies=60, rng=3)


def parts_of(problem, parts):
    return cs.orders.labels(problem, "natural", parts)


def spread(problem, comm, labels, parts):
    """The distributed problem, all of which rank 0 gives."""
    if comm.rank:
        return distributed.Problem(comm=comm, labels=None, parts=parts)
    return distributed.Problem(
        problem.J,
        problem.Minv,
        problem.b,
        problem.mu,
        bodies=problem.bodies,
        labels=labels,
        parts=parts,
        comm=comm,
    )


def hash_of(impulses):
    return hashlib.sha256(np.ascontiguousarray(impulses).tobytes()).hexdigest()


def on_ranks(problem, ranks, parts, labels, **options):
    def work(comm):
        result = solve(spread(problem, comm, labels, parts), **options)
        return result.gather(), result

    return distributed.run(work, ranks, timeout=60)


def reference(problem, labels, order, **options):
    order = replace(cs.orders.chosen(order), labels=labels)
    return cs.solve(problem, order=order, islands=False, scheme="factorized", **options)


PARTS = 8
GAUSS_SEIDEL = {"method": "gauss_seidel"}
CASES = {
    "jacobi": ("partition", {"method": "jacobi"}),
    "colors": ("colored", {"method": "gauss_seidel"}),
    "partition": ("partition", {"method": "gauss_seidel"}),
    "symmetric": ("partition", {"method": "symmetric_gauss_seidel"}),
    "checkerboard": (cs.orders.partition(border="checkerboard"), GAUSS_SEIDEL),
    "concurrent": (cs.orders.partition(border="concurrent"), GAUSS_SEIDEL),
    "nesterov": ("partition", {"method": "nesterov"}),
    "nncg": ("colored", {"method": "nncg"}),
    "nesterov over jacobi": ("partition", {"method": cs.methods.nesterov(over="jacobi")}),
    "global": ("partition", {**GAUSS_SEIDEL, "r_factor": "global"}),
    "float32": ("partition", {**GAUSS_SEIDEL, "dtype": "float32"}),
    "mixed": ("colored", {**GAUSS_SEIDEL, "dtype": "mixed"}),
    "general": ("partition", {**GAUSS_SEIDEL, "compressed": False}),
    "scalar": ("partition", {**GAUSS_SEIDEL, "instructions": "scalar"}),
    "balanced": ("partition", {"r_factor": "balanced", "method": "jacobi"}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
def test_bits(name, ranks):
    order, options = CASES[name]
    problem = grid()
    labels = parts_of(problem, PARTS)
    alone = reference(problem, labels, order, max_iterations=60, **options)
    found = on_ranks(problem, ranks, PARTS, labels, order=order, max_iterations=60, **options)
    for impulses, result in found:
        assert hash_of(impulses) == hash_of(alone.impulses)
        assert (result.status, result.iterations) == (alone.status, alone.iterations)
        for column in ("residual", "natural_map"):
            assert np.array_equal(result.history[column], alone.history[column], equal_nan=True)
