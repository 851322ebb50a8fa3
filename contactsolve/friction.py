"""Static against kinetic friction.

The coefficient of each contact is chosen before a solve and constant during it: a choice inside the
prox would make the solution depend on the factors R. `choose_friction` chooses by the velocities
before the step, `solve_static_kinetic` by the states of the contacts in the solution, in several
passes. `friction_used` returns how close impulses are to their bound.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from . import _core
from ._arrays import read_only, real_array, shortest, spread
from .problem import Problem
from .result import Result
from .sets import Set
from .solver import Solver

__all__ = ["choose_friction", "friction_used", "solve_static_kinetic"]


def choose_friction(
    mu_static: Any, mu_kinetic: Any, tangential_velocity: Any, threshold: float
) -> np.ndarray:
    """Return the friction coefficient of each contact, chosen by its sliding velocity.

    Parameters
    ----------
    mu_static, mu_kinetic
        Coefficients of contacts that stick and that slide: a number or ``(K,)``; the kinetic
        coefficient is at most the static one.
    tangential_velocity
        Sliding velocities before the step [m/s], ``(K,)`` or ``(K, tangents)``.
    threshold
        Velocity above which a contact slides [m/s], 0 or more.

    Returns
    -------
    ndarray, shape (K,)
        ``mu_kinetic`` where the contact slides, ``mu_static`` elsewhere.

    Raises
    ------
    ValueError
        For a wrong shape, or coefficients that are negative or in the wrong order.

    Examples
    --------
    >>> choose_friction(0.6, 0.4, [[0.0, 0.0], [0.3, -0.1]], threshold=1e-3)
    array([0.6, 0.4])
    """
    velocity = real_array("tangential_velocity", tangential_velocity)
    if velocity.ndim not in (1, 2):
        raise ValueError(
            f"tangential_velocity has shape {velocity.shape}: (K,) or (K, tangents) is needed"
        )
    if not threshold >= 0:
        raise ValueError(f"threshold is {threshold}: a velocity of 0 or more is needed")
    static, kinetic = _coefficients(mu_static, mu_kinetic, len(velocity))
    speed = np.abs(velocity) if velocity.ndim == 1 else np.linalg.norm(velocity, axis=1)
    return np.where(speed > threshold, kinetic, static)


def solve_static_kinetic(
    problem: Problem, mu_static: Any, mu_kinetic: Any, *, passes: int = 10, **options: Any
) -> Result:
    """Solve with static friction at contacts that stick and kinetic friction at those that slide.

    The first pass takes the static coefficient everywhere. Each later pass takes the kinetic
    coefficient for the contacts that slid in the pass before and the static one for the others. It
    starts from the impulses of that pass. The passes end when no contact changes.

    Parameters
    ----------
    problem
        A problem with friction; its own coefficients are not used.
    mu_static, mu_kinetic
        A number or ``(K,)``; the kinetic coefficient is at most the static one.
    passes
        Maximum number of solves.
    **options
        As for `contactsolve.solve`.

    Returns
    -------
    Result
        The result of the last pass. ``info["static_kinetic"]`` has ``passes``, ``settled`` (whether
        the last pass changed no contact), ``changed`` (how many it changed), ``iterations``,
        ``time`` and ``sweep_time`` of all passes, which add up those of their results, and ``mu``,
        the coefficients of the last pass. The times of the result itself are those of the last
        pass. Contacts may keep changing; the message then says so.

    Raises
    ------
    TypeError
        For a grouped problem.
    ValueError
        For a problem without friction, coefficients that are negative or in the wrong order, or
        fewer than one pass.
    """
    if problem.grouped:
        raise TypeError("solve_static_kinetic takes problems of one group of contacts")
    if passes < 1:
        raise ValueError(f"passes is {passes}: at least 1 is needed")
    static, kinetic = _coefficients(mu_static, mu_kinetic, problem.contacts)

    # Some options are those of `Solver.solve`, the others of `Solver`.
    of_solve = {name: options.pop(name) for name in ("callback", "progress") if name in options}
    initial: Any = options.pop("initial", None)
    solver = Solver(problem, **options)

    # Passes until no contact changes its coefficient.
    mu, iterations, time, sweep_time = static, 0, 0.0, 0.0
    for number in range(1, passes + 1):
        result = solver.solve(mu=mu, initial=initial, **of_solve)
        iterations += result.iterations
        time, sweep_time = time + result.time, sweep_time + result.sweep_time
        wanted = np.where(result.active == "slide", kinetic, static)
        changed = int(np.count_nonzero(wanted != mu))
        if not changed or result.status == "stopped" or number == passes:
            break
        mu, initial = wanted, result

    # Report what the passes did.
    report = {
        "passes": number,
        "settled": not changed,
        "changed": changed,
        "iterations": iterations,
        "time": time,
        "sweep_time": sweep_time,
        "mu": read_only(mu.copy()),
    }
    if changed:
        who = "1 contact still changes" if changed == 1 else f"{changed} contacts still change"
        ending = f"{who} between sticking and sliding"
    else:
        ending = "no contact changes between sticking and sliding"
    return replace(
        result,
        info={**result.info, "static_kinetic": report},
        message=f"{result.message}; pass {number} of at most {passes}: {ending}",
    )


def friction_used(sets: Set, impulses: Any, *, parameters: np.ndarray | None = None) -> np.ndarray:
    """Return the friction of each contact as a fraction of its bound.

    Parameters
    ----------
    sets
        A set with friction.
    impulses
        ``(K, m)`` [N s].
    parameters
        Parameters of the set, ``(K, p)``, in place of its own.

    Returns
    -------
    ndarray, shape (K,)
        The smallest factor by which the set of the tangential impulses could be multiplied and
        still contain them: below 1 within the bound, 1 on it, 0 without a tangential impulse,
        infinite if none is allowed. Moments count if the set couples them with the tangents.

    Raises
    ------
    ValueError
        For a set without friction, and impulses of a wrong shape.

    Examples
    --------
    >>> from contactsolve import sets
    >>> friction_used(sets.ellipse(0.5, 0.1), [[2.0, 0.5, 0.0], [2.0, 0.0, 0.2]])
    array([0.5, 1. ])
    """
    z = real_array("impulses", impulses)
    if z.ndim != 2:
        raise ValueError(f"impulses has shape {z.shape}: (K, m) is needed")
    described = _core.describe_set(sets.name, z.shape[1])
    if not described["frictional"]:
        raise ValueError(f"sets is {sets!r}: a set with friction is needed")
    table = sets.parameters(*z.shape) if parameters is None else parameters

    # A ball has a known radius. Other bounds are found by trying impulses.
    if described["balls"]:
        return _over(_tangential(z, described["coupling"]), table[:, 0] * z[:, 0])
    return _by_bisection(sets.name, z, table)


def _tangential(z: np.ndarray, coupling: tuple[int, ...]) -> np.ndarray:
    """Length of the tangential impulse; the largest one where tangents are bounded separately."""
    tangents = range(1, min(len(coupling), 3))
    rows_of = [[i for i in tangents if coupling[i] == s] for s in {coupling[i] for i in tangents}]
    return np.max([np.linalg.norm(z[:, rows], axis=1) for rows in rows_of], axis=0)


def _over(length: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """``length / bound``, with 0/0 = 0."""
    some = np.where(length > 0.0, np.inf, 0.0)
    return np.divide(length, bound, out=some, where=bound > 0.0)


def _by_bisection(name: str, z: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return the fraction for any set: the prox changes impulses only outside of the bound."""
    normal = np.maximum(z[:, 0], 0.0)
    start = z.copy()
    start[:, 0] = normal

    def inside_of(part: np.ndarray) -> np.ndarray:
        """Return which impulses lie within that part of the bound."""
        return np.all(_core.project(name, False, start, table, part * normal) == start, axis=1)

    # Double an upper bound of the factor, then bisect.
    low, high = np.zeros(len(z)), np.ones(len(z))
    for _ in range(60):  # no friction coefficient is above 1e6, or below 1e-18 and of interest
        high = np.where(inside_of(high), high, 2.0 * high)
    unbounded = ~inside_of(high)
    for _ in range(70):
        middle = 0.5 * (low + high)
        inside = inside_of(middle)
        low, high = np.where(inside, low, middle), np.where(inside, middle, high)
    used = np.where(unbounded, np.inf, high)
    return np.where(np.any(z[:, 1:] != 0.0, axis=1), used, 0.0)


def _coefficients(mu_static: Any, mu_kinetic: Any, contacts: int) -> tuple[np.ndarray, np.ndarray]:
    """Return both coefficients of each contact, checked."""
    static = spread("mu_static", real_array("mu_static", mu_static), (contacts,))
    kinetic = spread("mu_kinetic", real_array("mu_kinetic", mu_kinetic), (contacts,))
    wrong = np.flatnonzero(~((kinetic >= 0) & (kinetic <= static) & np.isfinite(static)))
    if len(wrong):
        k = wrong[0]
        raise ValueError(
            f"mu_static[{k}] is {shortest(static[k])} and mu_kinetic[{k}] is "
            f"{shortest(kinetic[k])}: 0 <= mu_kinetic <= mu_static is needed"
        )
    return static, kinetic
