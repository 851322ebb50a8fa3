"""Rounding errors of the prox of every set on a device, in ULP of float32, both ways.

One sweep over contacts with A = 1 from λ = 0 returns prox(-b). For each set, `device_prox` and kind
of kernel: the largest error against the prox in double precision (`Set.project`), of random numbers
over 40 decades with parameters over 6, all of them numbers of float32; no product of these is a
subnormal number, which emulation takes for 0. An error is the largest one
of a component, over the ULP of the largest component of the result; of the second-order cone, over
that of the largest component of z: near the polar cone the digits of z cancel in its projection.
Writes prox_ulp.csv.

    python benchmarks/cuda/prox_ulp.py [--points 200000] [--device cuda-emulated]

Errors are those of a GPU's rounding, also where ``cuda-emulated``, the default without a GPU,
computes them: the kernels use operations whose rounding IEEE 754 fixes. Only the searches for
nearest points call functions (`cos`, `pow`, `hypot`) of the platform, in double precision.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

import contactsolve as cs
from contactsolve import sets, shapes

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import devices, on_a_line, write_csv

PRECISIONS = ("double", "single")
DECADES, PARAMETER_DECADES = 20.0, 3.0
SIDES = 5


def single(values):
    """Round to numbers of float32."""
    return np.asarray(values, dtype=np.float32).astype(float)


def positive(rng, count):
    """Numbers over six decades, of float32; one in sixteen is 0."""
    values = 10.0 ** rng.uniform(-PARAMETER_DECADES, PARAMETER_DECADES, count)
    return single(np.where(rng.random(count) < 1 / 16, 0.0, values))


def of_scale(rng, shape, scale):
    """Numbers of either sign around `scale`."""
    return single(scale * rng.normal(size=shape) * 10.0 ** rng.uniform(-2.0, 2.0, shape))


def box(rng, z):
    """Boxes of the size of z, some with infinite bounds."""
    size = np.abs(z).max(axis=1, keepdims=True)
    ends = np.sort(np.stack([of_scale(rng, z.shape, size) for _ in range(2)]), axis=0)
    ends = np.where(rng.random(ends.shape) < 0.1, [[[-np.inf]], [[np.inf]]], ends)
    return sets.box(*ends)


def tresca(rng, z):
    """Bounds of the size of z, of the tangents and of the moments."""
    size = np.abs(z).max(axis=1)
    bounds = [np.abs(of_scale(rng, size.shape, size)) for _ in range(2)]
    return sets.tresca(*bounds[: 1 + (z.shape[1] > 3)])


def polygon(rng, z):
    """Polygons of corners at random angles and with random axes."""
    turns = np.sort(rng.uniform(0.0, 1.0, (len(z), SIDES)) + np.arange(SIDES), axis=1)
    circle = np.stack([np.cos(2 * np.pi * turns / SIDES), np.sin(2 * np.pi * turns / SIDES)], -1)
    return sets.polygon(positive(rng, len(z)), vertices=single(circle * [1.0, 0.25]))


def without_numbers(make):
    """A set without parameters."""
    return lambda _rng, _z: make()


def of_numbers(make, numbers):
    """A set with so many positive parameters."""
    return lambda rng, z: make(*(positive(rng, len(z)) for _ in range(numbers)))


def ellipse(rng, z):
    mu = [positive(rng, len(z)) for _ in range(2)]
    return sets.ellipse(*mu, single(rng.uniform(-4.0, 4.0, len(z))))


def support(shape):
    return lambda rng, z: sets.support(shape, positive(rng, len(z)))


class Case(NamedTuple):
    """A set, by what makes one for z (contacts, rows)."""

    name: str
    rows: int
    make: Callable

    @property
    def of_z(self):
        """Whether errors are measured in the ULP of z."""
        return self.name == "second_order_cone"


CASES = (
    Case("free", 3, without_numbers(sets.free)),
    Case("box", 3, box),
    Case("half_line", 3, without_numbers(sets.half_line)),
    *(Case("disc", rows, of_numbers(sets.disc, 1)) for rows in (2, 3)),
    *(Case("box_friction", rows, of_numbers(sets.box_friction, 1)) for rows in (2, 3)),
    Case("rolling", 5, of_numbers(sets.rolling, 2)),
    Case("contensou", 4, of_numbers(sets.contensou, 2)),
    *(Case("second_order_cone", n, of_numbers(sets.second_order_cone, 1)) for n in (2, 3)),
    *(Case("tresca", rows, tresca) for rows in (2, 3, 4, 5)),
    Case("ellipse", 3, ellipse),
    Case("polygon", 3, polygon),
    Case("contensou_coupled", 4, of_numbers(sets.contensou_coupled, 2)),
    Case("support", 3, support(shapes.superellipse(1.0, 0.5, 3.0))),
    Case("support", 4, support(shapes.ellipsoid(1.0, 0.5, 0.25))),
)

# Kinds of kernels, by options of the solver. Batches have 2 to 4 rows and no shapes.
KERNELS = {
    "batches": {"scheme": "factorized", "order": "colored", "device_sweeps": "graph"},
    "dataflow": {"scheme": "factorized", "order": "colored", "device_sweeps": "dataflow"},
    "visits": {"scheme": "factorized", "order": "natural", "device_sweeps": "graph"},
    "counter": {"scheme": "matrix", "order": "natural", "device_sweeps": "counter"},
    "dense": {"scheme": "dense", "order": "natural", "device_sweeps": "graph"},
}
IN_LANES = ("batches", "dataflow")


def kernels_of(case):
    """The kinds of kernels that visit such contacts."""
    lanes = 2 <= case.rows <= 4 and case.name not in ("polygon", "support")
    return [name for name in KERNELS if name not in IN_LANES or lanes]


def draw(case, points, seed=0):
    """A set and z (points, rows): sizes over 40 decades, components over four more.

    A quarter of the normal impulses is negative; friction is near its bound in a quarter.
    """
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.uniform(-DECADES, DECADES, (points, 1))
    z = of_scale(rng, (points, case.rows), size)
    z[:, 0] = np.abs(z[:, 0]) * np.where(rng.random(points) < 0.25, -1.0, 1.0)
    made = case.make(rng, z)

    # Some on the boundary, up to rounding, and some a little beside it.
    near = rng.random(points) < 0.25
    beside = 1.0 + rng.choice([0.0, 1e-7, 1e-3], (points, 1)) * rng.normal(size=z.shape)
    z[near] = single(made.project(z) * beside)[near]
    return made, z


def impulses_of(made, z, precision, kernel, device):
    """prox(z), by a sweep over contacts of which each has a body of its own."""
    points, rows = z.shape
    dof = 3 if rows == 2 else 6
    J = np.zeros((points, 2, rows, dof))
    J[:, 1] = np.eye(rows, dof)
    problem = cs.Problem(
        J,
        np.ones((points, dof)),
        -z,
        bodies=np.stack([np.full(points, -1), np.arange(points)], axis=1),
        sets=made,
    )
    solver = cs.Solver(
        problem,
        method="gauss_seidel",
        dtype="float32",
        rtol=None,
        max_iterations=1,
        islands=False,
        device=device,
        device_prox=precision,
        **KERNELS[kernel],
    )
    return solver.solve().impulses


def errors(case, z, got, wanted):
    """The error of each contact, in ULP."""
    sizes = np.abs(z if case.of_z else wanted).max(axis=1)
    return np.abs(got - wanted).max(axis=1) / np.spacing(sizes.astype(np.float32)).astype(float)


def largest_error(case, points, precision, kernel, device, seed=0):
    """The largest error of so many random contacts, in ULP."""
    made, z = draw(case, points, seed)
    return float(errors(case, z, impulses_of(made, z, precision, kernel, device),
                        made.project(z)).max())  # fmt: skip


def rows_of(cases, points, device):
    for case in cases:
        for kernel in kernels_of(case):
            # A dense T has room for few contacts.
            count = min(points, 1000) if kernel == "dense" else points
            ulp = {f"ulp_{precision}": largest_error(case, count, precision, kernel, device)
                   for precision in PRECISIONS}  # fmt: skip
            row = {"set": case.name, "rows": case.rows, "kernel": kernel, "points": count, **ulp}
            row = {**row, "of": "z" if case.of_z else "result", "device": devices.named(device)}
            print(on_a_line(row), flush=True)
            yield row


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=lambda text: text.split(","), help="default: all")
    parser.add_argument("--points", type=int, default=200_000)
    parser.add_argument("--results", type=Path, help="a folder (default: results/<machine>)")
    devices.add_option(parser)
    given = parser.parse_args(argv)
    cases = [case for case in CASES if not given.sets or case.name in given.sets]
    device = given.device or "cuda-emulated"
    print(write_csv("prox_ulp", list(rows_of(cases, given.points, device)), given.results))


if __name__ == "__main__":
    main()
