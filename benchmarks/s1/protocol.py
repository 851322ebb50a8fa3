"""S1's benchmark protocol (section 3.8), and the scenes in S1's units.

Gauss-Seidel makes 50 sweeps and its quality γ is noted; every other method runs until it is as
good. How many sweeps that takes is found by `contactsolve.compare`. Then each method is timed for
exactly these sweeps, on each number of threads, all in turns, set-up apart.
"""

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
import published
from common import ROOT, pages, teams  # noqa: F401 (for the other modules)

# S1 prints neither masses nor step nor R. With balls of 20 kg, g dt = 0.0981 m/s and one r of 5 on
# every row its figures come out to the last digit (Table 3.3); its rollback is that of section 3.5.
R_FACTOR = 5.0
# Contacts go one by one, so that variants with and without a kernel for several at once compare,
# and as they are numbered unless a method says otherwise; islands are swept as one, as in S1.
ONE_BY_ONE = {"order": "natural", "instructions": "scalar", "islands": False}
RULES = {"r_factor": R_FACTOR, "rollback": 5, "rollback_growth": 1.0, **ONE_BY_ONE}

# What the library does of itself, for what S1 has no figures for: R is halved when the residual has
# grown by 3, because S1's rule takes passing rises for divergence (benchmarks/methods/rollback.py).
OWN_RULES = {"r_factor": "local", "rollback": 5, "rollback_growth": 3.0, **ONE_BY_ONE}

SWEEPS = 50
REFERENCE = cs.quality_of(
    cs.Method("gauss_seidel", scheme="factorized", **RULES), iterations=SWEEPS
)
MAX_SWEEPS = 200

# Nor does S1 print how fast the balls of its piles are. γ grows with the square of the velocity,
# and at 2 m/s those of Table 3.5 come out.
PILE_VELOCITY = 2.0

CONTACT_SWEEPS = 2_000_000  # visits of a timed run of parallel sweeps, 10 to 300 sweeps
CHECKED_THREADS = (4, 8)  # for equal bits, also where there are not as many cores
READ_BYTES = 256 << 20  # of memory, beside timed runs on several threads

QUICK_SIZES = {
    "small ball grid": 8,  # S1's own: small enough
    "medium ball grid": 7,
    "large ball grid": 9,
    "small ball pile": 10,
    "large ball pile": 16,
}


class Run(NamedTuple):
    """How much a script does, from its command line."""

    quick: bool
    results: Path
    repeats: int
    threads: tuple[int, ...]  # numbers of them that are timed, 1 among them

    def size(self, name):
        return (QUICK_SIZES if self.quick else published.SIZES)[name]


def arguments(description):
    """Read the command line that all scripts share."""
    parser = argparse.ArgumentParser(
        description=description.split("\n")[0],
        epilog="Results go to benchmarks/results/<machine>/s1, with --quick to build/benchmarks.",
    )
    parser.add_argument(
        "--quick", action="store_true", help="small scenes and one timed run: does all work?"
    )
    teams.add_options(parser)
    given = parser.parse_args()
    return run_of(given.quick, teams.chosen(parser, given))


def run_of(quick, threads):
    folder = ROOT / "build" / "benchmarks" if quick else common.RESULTS
    return Run(quick, folder / common.machine() / "s1", 1 if quick else 5, threads)


def scene(name, run, **options):
    """A demo of S1's by its name, the ground counted as a body as S1 does."""
    size = run.size(name)
    if name.endswith("grid"):
        options = {"contact_order": "backward", **options}
        return cs.scenarios.ball_grid(size, ground="body", **options)
    return cs.scenarios.ball_pile(size, ground="body", velocity=PILE_VELOCITY, **options)


def with_spin(problem, mu=0.5):
    """The same spheres with S1's blocks of four rows: normal, two tangents, and the spin about it.

    Friction and spin are bounded as in S1 eqs. 2.35 to 2.37, where the contact's radius is part of
    the unknowns; here it is 1 m.
    """
    spin = np.zeros_like(problem.J[:, :, :1])
    spin[..., 3:] = problem.J[:, :, :1, :3]
    return cs.Problem(
        np.concatenate((problem.J, spin), axis=2),
        problem.Minv,
        np.concatenate((problem.b, np.zeros((problem.contacts, 1))), axis=1),
        bodies=problem.bodies,
        sets=cs.sets.contensou(mu, 1.0),
        name=problem.name,
    )


def to_equal_quality(problem, methods, until=REFERENCE, **options):
    """Sweeps and state of each method where it is as good as `until`; a `contactsolve.Table`."""
    options = {**RULES, "max_iterations": MAX_SWEEPS, "threads": 1, **options}
    return cs.compare(problem, methods, until=until, repeats=1, **options)


def sweeps_of(problem, run):
    """How many sweeps a timed run of parallel sweeps makes."""
    sweeps = int(np.clip(CONTACT_SWEEPS // problem.contacts, 10, 300))
    return sweeps // (10 if run.quick else 1)


class Timing(NamedTuple):
    """Seconds of the sweeps of equal runs in turns, and what these gave.

    `threads` had work to do, and `read_gbs` is what as many threads read from memory in the same
    turns, if that was measured.
    """

    seconds: np.ndarray
    setup: float
    threads: int
    impulses: np.ndarray
    read_gbs: float | None = None

    def figures(self):
        """Mean and σ (S1 eq. 3.33), median, set-up, in seconds."""
        return {
            "mean_s": float(np.mean(self.seconds)),
            "sigma_s": float(np.std(self.seconds)),
            "median_s": float(np.median(self.seconds)),
            "setup_s": self.setup,
        }

    def speedup(self, base):
        """How many times as fast as `base`, the median of the turns."""
        return float(np.median(base.seconds / self.seconds))


def solver_of(problem, method, sweeps, **options):
    """A solver that makes so many sweeps and measures nothing meanwhile."""
    fixed = {"rtol": None, "atol": None, "max_iterations": sweeps, "record": ()}
    seldom = {"check_every": sweeps, "record_every": sweeps}
    own = {**RULES, **options, **method.options, **fixed, **seldom}
    own |= common.on_threads(own.get("threads"))
    return cs.Solver(problem, method=method.method, **own)


def timed(problem, methods, sweeps, run, threads=None, **options):
    """`Timing` of each method (by label) and number of threads, all runs in turns.

    `sweeps` is one number, or a mapping from labels. A method that names its threads keeps them.
    On several threads, reading memory takes turns with the methods.
    """
    threads = run.threads if threads is None else threads
    solvers = {}
    for method in methods:
        count = sweeps if isinstance(sweeps, int) else sweeps[method.label]
        for team in (method.options["threads"],) if "threads" in method.options else threads:
            own = {**options, "threads": team}
            solvers[method.label, team] = solver_of(problem, method, count, **own)
    impulses = {}

    def task(key):
        result = solvers[key].solve()
        impulses[key] = result.impulses
        return result.sweep_time

    # All in turns.
    size = READ_BYTES >> 8 if run.quick else READ_BYTES
    reading = teams.reading(threads if len(threads) > 1 else (), size)
    tasks = {key: lambda key=key: task(key) for key in solvers}
    seconds = common.interleaved({**tasks, **reading}, repeats=run.repeats)
    rates = teams.take_rates(seconds, size)
    return {
        key: Timing(
            seconds[key],
            solver.info["setup_seconds"],
            solver.info["threads"],
            impulses[key],
            rates.get(key[1]),
        )
        for key, solver in solvers.items()
    }


def by_threads(timings, label):
    """The `Timing` of a method on each number of threads that had work to do, one first."""
    own = {team: timing for (name, team), timing in timings.items() if name == label}
    return {team: own[team] for team in sorted(own) if own[team].threads == team}


def equal_bits(problem, method, sweeps, timings, **options):
    """On which numbers of threads the impulses are the same to the last bit, as text.

    They are those of `by_threads`, and some more.
    """
    runs = {team: timing.impulses for team, timing in timings.items()}
    for team in CHECKED_THREADS:
        solver = solver_of(problem, method, sweeps, **options, threads=team)
        if solver.info["threads"] not in runs:
            runs[solver.info["threads"]] = solver.solve().impulses
    if all(np.array_equal(impulses, timings[1].impulses) for impulses in runs.values()):
        return ", ".join(map(str, sorted(runs)))
    return "DIFFER"
