"""Random options for a method: what is legal by its declaration, few at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

import contactsolve as cs
import judge_numpy as judge

from .problems import Rng, chance, pick, random_problem
from .spec import Case, Code, Problem, judged

METHODS = sorted(cs.methods.names())
MAX_SECONDS = 0.3
_HUGE = 2_000_000_000
_STOPS = (
    "residual", "merit", "quality", "natural_map_velocity", "natural_map_scaled", "fclib_error",
    "infeasibility", "penetration", "complementarity", "dissipation_gap", "delta_element",
    "delta_norm",
)  # fmt: skip


def power(rng: Rng, low: float, high: float) -> float:
    return float(10.0 ** rng.uniform(low, high))


def order(rng: Rng, contacts: int) -> Any:
    """A name, a permutation, or an order with options."""
    kind = int(rng.integers(4))
    if kind == 0:
        return rng.permutation(contacts)
    if kind == 1:
        names = (
            "natural",
            "reverse",
            "random",
            "colored",
            "ranges",
            "partition",
            "regions",
            "cache",
        )
        return pick(rng, (*names, "contact_sets", "auto"))
    return Code(
        pick(
            rng,
            (
                "cs.orders.ranges(weighted=True)",
                "cs.orders.subtasks('natural', 3)",
                "cs.orders.subtasks('colored', 2, weighted=False)",
                "cs.orders.extreme()",
                "cs.orders.extreme('colored')",
                "cs.orders.colored('balanced')",
                "cs.orders.colored('balanced', colors='tentative', multiple_of_parts=True)",
                "cs.orders.colored(fixed_as_body=True)",
                "cs.orders.colored(parallel=True)",
                "cs.orders.colored(priority='hash')",
                "cs.orders.partition(priority='hash')",
                "cs.orders.relaxed(3)",
                "cs.orders.relaxed(2, unsafe='ranges', first=True)",
                "cs.orders.relaxed(4, 'balanced', unsafe='groups')",
                "cs.orders.partition('natural')",
                "cs.orders.partition('slices')",
                "cs.orders.partition(border='checkerboard')",
                "cs.orders.partition(border='concurrent', weight=0.5)",
                "cs.orders.partition(border='concurrent', split_masses=True)",
                "cs.orders.regions(3)",
                "cs.orders.cache(chunk=4)",
                "cs.orders.cache(domains=False)",
                "cs.orders.contact_sets('simultaneous')",
                "cs.orders.contact_sets(colored=True)",
            ),
        )
    )


def scheme(rng: Rng) -> Any:
    names = ("auto", "matrix", "factorized", "iteration_matrix", "half_sweep", "symmetric_half")
    modes = ("recompute", "add", "accumulate")
    if chance(rng, 0.2):
        return Code(f"cs.schemes.factorized(velocities={pick(rng, modes)!r})")
    return pick(rng, names)


def setting(rng: Rng, option: Any) -> Any:
    """A legal value of a method's own option."""
    if option.default is None and chance(rng, 0.2):
        return None
    if option.kind == "word":
        return pick(rng, option.words)
    if option.kind == "flag":
        return chance(rng, 0.5)
    if option.kind == "count":
        if chance(rng, 0.01):
            return int(min(option.most, _HUGE))
        if chance(rng, 0.1):
            return int(option.least)
        top = min(option.most, 12 if option.name == "directions" else 100)
        return int(option.least + np.floor(power(rng, 0, np.log10(top - option.least + 1.0))) - 1)
    if chance(rng, 0.1) and np.isfinite(option.most):
        return float(option.most)
    if chance(rng, 0.1) and not option.above:
        return float(option.least)
    centre = option.default if option.default else 0.1
    return float(np.clip(centre * power(rng, -1.5, 1.5), option.least or 1e-12, option.most))


def settings(rng: Rng, method: str) -> dict[str, Any]:
    """A method's own options, a few of them."""
    declared = cs.methods.describe()[method].options
    if not declared or chance(rng, 0.4):
        return {}
    return {
        name: setting(rng, option)
        for name, option in declared.items()
        if chance(rng, min(0.5, 2.0 / len(declared)))
    }


def solver_options(rng: Rng, problem: Problem, method: str) -> dict[str, Any]:
    """Options of a solver: the stop rule always, of the others few."""
    told = cs.methods.describe()[method]
    options: dict[str, Any] = {
        "max_seconds": MAX_SECONDS,
        "max_iterations": int(pick(rng, (1, 3, 20, 100, 300, 1000))),
    }
    if chance(rng, 0.8):
        options["rtol"] = pick(rng, (None, 1e-3, 1e-4, 1e-6, 1e-6, 1e-8, 1e-10, 1e-12, 0.0))
    if chance(rng, 0.1):
        options["atol"] = pick(rng, (None, 0.0, power(rng, -12, 0)))
    if chance(rng, 0.1):
        options |= {"stop": pick(rng, _STOPS), "atol": power(rng, -9, 0)}
    draws = {
        "check_every": lambda: int(pick(rng, (1, 2, 7, 50))),
        "threads": lambda: int(pick(rng, (1, 1, 1, 2, 3))),
        "islands": lambda: False,
        "record": lambda: tuple(pick(rng, _STOPS) for _ in range(int(rng.integers(0, 4)))),
        "record_every": lambda: int(pick(rng, (1, 2, 10))),
        "patience": lambda: int(pick(rng, (1, 20, 300))),
        "measure_every": lambda: int(pick(rng, (1, 3, 50))),
        "time_checks": lambda: False,
        "quality_r": lambda: power(rng, -3, 3),
    }
    sweeps = {
        "averaging": lambda: pick(rng, ("adjacent", 1.0, float(rng.uniform(0.05, 1.0)))),
        "bound": lambda: pick(rng, ("current", "previous")),
        "scheme": lambda: scheme(rng),
        "order": lambda: order(rng, problem.contacts),
        "local": lambda: pick(rng, ("projected", "exact", "block", "newton", "quartic")),
        "relaxation": lambda: float(rng.uniform(0.2, 1.9)),
        "r_factor": lambda: pick(
            rng, ("local", "diagonal", "block", "global", "balanced", power(rng, -3, 2))
        ),
        "rollback": lambda: int(rng.integers(0, 6)),
        "rollback_growth": lambda: pick(rng, (None, 1.0, 3.0, 100.0)),
        "parts": lambda: int(rng.integers(1, 12)),
        "rng": lambda: int(rng.integers(1000)),
        "instructions": lambda: pick(rng, ("scalar", "baseline", "avx2", "avx512")),
        "compressed": lambda: False,
        "dtype": lambda: pick(rng, ("float32", "mixed", "float32", "float64")),
    }
    if not told.direct or "inner" in told.options or chance(rng, 0.05):
        draws |= sweeps
    if not chance(rng, 0.25):
        options |= {name: draw() for name, draw in draws.items() if chance(rng, 0.12)}
    return options


def initial(rng: Rng, problem: Problem, method: str) -> tuple | None:
    """What the solve starts from."""
    kind = int(rng.integers(10))
    if kind == 0:
        return ("result", int(rng.integers(1, 30)))
    if kind == 1 and method in ("bpp", "murty", "keller", "dantzig"):
        return ("active",)
    if kind > 2:
        return None
    scale = 10.0 ** rng.uniform(-3.0, 3.0)
    guess = scale * rng.normal(size=sum(one.b.size for one in problem.groups))
    if problem.known is not None and chance(rng, 0.4):
        guess = problem.known
    elif chance(rng, 0.5):
        reference = judged(problem)
        with np.errstate(all="ignore"):
            spans = zip(reference.sets, reference.blocks, strict=True)
            guess = np.concatenate([one.prox(guess[span]) for one, span in spans])
    return ("impulses", [part.copy() for part in problem.split(guess)])


def callback(rng: Rng) -> tuple | None:
    kind = int(rng.integers(20))
    if kind > 2:
        return None
    count = int(rng.integers(0, 30))
    return (("look",), ("stop", count), ("raise", count))[kind]


def problem_of(seed: int, number: int, kinds: list[str] | None = None) -> Problem:
    """The problem with that number; all methods get it."""
    return random_problem(np.random.default_rng((seed, 1, number)), kinds)


def case_of(
    seed: int, number: int, problem: Problem | None = None, kinds: list[str] | None = None
) -> Case:
    """The case with that number."""
    at, which = divmod(number, len(METHODS))
    if problem is None:
        problem = problem_of(seed, at, kinds)
    rng, method = np.random.default_rng((seed, 2, number)), METHODS[which]
    case = Case(problem, method, settings(rng, method), solver_options(rng, problem, method))
    case.initial, case.callback = initial(rng, problem, method), callback(rng)
    if chance(rng, 0.05):
        case.before = rng.normal(size=sum(one.b.size for one in problem.groups))
    case.number, case.seed = number, seed
    return case


__all__ = ["METHODS", "case_of", "judge", "problem_of"]
