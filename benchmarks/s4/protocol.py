"""S4's pyramids and methods, and how they are solved and timed.

S4's pyramid has no ground and no gravity: an impulse of 1 N s pushes disc 0, the upper one, down.
Its Jacobi method solves each contact from the impulses of the iteration before and takes the share
1/adjacent of the change; its Gauss-Seidel method visits contacts one after another. The third
method is what threads and devices can run: Gauss-Seidel in the order of colours.
"""

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
from common import ROOT, clocks, devices, interleaved, pages, sweeping  # noqa: F401 (for others)

JACOBI, NATURAL, COLORED = "Jacobi, 1/adjacent", "Gauss-Seidel", "Gauss-Seidel, coloured"
METHODS = {
    JACOBI: {"method": "jacobi", "averaging": "adjacent"},
    NATURAL: {"method": "gauss_seidel", "order": "natural"},
    COLORED: {"method": "gauss_seidel", "order": "colored"},
}
# Visits one by one stay on one thread: neither threads nor a device have work for them.
SEQUENTIAL = (NATURAL,)

# No method halves R by itself: S4's does not. One pyramid is one island.
PLAIN = {"rollback": 0, "islands": False, "record": ()}
CHECK = 10  # sweeps between two checks


class Run(NamedTuple):
    """How much a script does, from its command line."""

    results: Path
    claimed: tuple[int, ...] = (2, 3, 4, 6, 10, 20, 50)
    layers: tuple[int, ...] = (2, 4, 10, 20, 50, 100, 200, 400, 800)
    accurate: tuple[int, ...] = (2, 4, 6, 10, 14, 20)
    threads: int = common.cores()  # 1: no threads are measured
    device: str | None = None
    repeats: int = 7
    sweeps: int = 20  # of one timed run, or more, until so many
    visits: int = 200_000  # contacts have been visited
    budget: float = 60.0  # seconds that a solve may be expected to take
    most: int = 200_000  # iterations of a solve

    def places(self, method):
        """Options for each place that a method is timed on: column → options."""
        found = {"sequential": common.on_threads(1)}
        if method not in SEQUENTIAL and self.threads > 1:
            found["threaded"] = common.on_threads(self.threads)
        if method not in SEQUENTIAL and self.device:
            found["device"] = {"device": self.device}
        return found


def quick_of(run, results):
    """The same in a second: does all work?"""
    return run._replace(
        results=results,
        claimed=(2, 3, 4, 6),
        layers=(2, 4),
        accurate=(2, 4),
        repeats=1,
        sweeps=2,
        visits=0,
        most=2000,
    )


def _numbers(text):
    return tuple(map(int, text.split(",")))


def arguments(description, argv=None):
    """Read the command line that all scripts share."""
    parser = argparse.ArgumentParser(
        description=description.split("\n")[0],
        epilog="Results go to benchmarks/results/<machine>/s4, with --quick to build/benchmarks.",
    )
    parser.add_argument("--quick", action="store_true", help="small pyramids: does all work?")
    parser.add_argument("--layers", type=_numbers, help="of pyramids, such as 2,20,100")
    parser.add_argument("--budget", type=float, help="seconds that a solve may be expected to take")
    devices.add_option(parser)
    given = parser.parse_args(argv)
    run = Run(common.RESULTS / common.machine() / "s4", device=given.device)
    run = run._replace(threads=clocks.free_cores())
    if given.layers:
        small = tuple(n for n in run.accurate if n <= max(given.layers))
        run = run._replace(layers=given.layers, accurate=small)
    if given.budget:
        run = run._replace(budget=given.budget)
    return quick_of(run, ROOT / "build" / "benchmarks" / "s4") if given.quick else run


def pyramid(layers, **options):
    """S4's pyramid."""
    return cs.scenarios.disc_pyramid(layers, **options)


def discs(layers):
    return layers * (layers + 1) // 2


def contacts(layers):
    """S4, footnote 1: 3n/2 (n - 1)."""
    return 3 * layers * (layers - 1) // 2


def sum_of(impulses):
    """S4's sum of impulses: of their lengths."""
    return float(np.linalg.norm(impulses, axis=1).sum())
