"""Reports of a solver: its info, the message of a result, progress bars."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from ._advice import Facts, Given, advice, compliance_advice, start_advice
from ._optional import optional
from .problem import Problem


def info_of(
    described: dict[str, Any], problem: Problem, method: str, scheme: str
) -> dict[str, Any]:
    """Return `Solver.info`, from the C library's description and the options asked for."""
    # Figures that this solver does not have are left out.
    info = described
    info["contacts"] = problem.contacts
    if info["engine"] is None:
        del info["engine"]
    for name in ("islands", "clusters", "parts"):
        if not info[name]:
            del info[name]

    # Reasons of automatic choices.
    why = []
    chosen_because = info.pop("why_order")
    if method == "auto":
        why.append(
            "method='auto' is a chain of methods: info['links'] of a result lists those used"
        )
    if scheme == "auto":
        why.append(_why_scheme(info, problem))
    if chosen_because is not None:
        why.append(f"order='auto' is '{info['order']}': {chosen_because}")
    info["why"] = why

    # Figures about R.
    r_value, eigenvalues = info.pop("r_value"), info.pop("eigenvalues")
    if not math.isnan(r_value):
        info["r_factor"] = r_value
    if math.isnan(info["step_bound"]):
        del info["step_bound"]
    if not math.isnan(eigenvalues[0]):
        info["eigenvalues"] = eigenvalues
    info["warnings"] = _warnings(info, problem)
    return info


def _warnings(info: dict[str, Any], problem: Problem) -> list[str]:
    warnings = []
    if info["immovable_blocks"]:
        count, first = info["immovable_blocks"], problem._core.first_immovable()
        warnings.append(
            f"{count} contact{'s' if count > 1 else ''} between immovable bodies (the first is "
            f"contact {first}): no impulse changes their velocities"
        )
    if info["singular_blocks"]:
        warnings.append(
            f"{info['singular_blocks']} free blocks have redundant rows and no inverse: they are "
            f"relaxed like other blocks instead of solved exactly"
        )
    asymmetry = problem._core.asymmetry
    if asymmetry > 1e-12:
        symmetric = info.get("engine", "polyhedral") != "polyhedral"
        used = "it is used unchanged"
        if symmetric:
            used = "(A + Aᵀ)/2 is factored, and the answer is judged with the given A"
        warnings.append(f"A is unsymmetric, by {asymmetry:.1e} of its largest entry: {used}")
    return warnings


def _why_scheme(info: dict[str, Any], problem: Problem) -> str:
    if problem._matrix is not None:
        return "scheme='auto' uses the given matrix"
    if "engine" in info:
        return f"scheme='auto' is '{info['scheme']}': A is factored"
    return f"scheme='auto' chose '{info['scheme']}': products with A should take less time"


class Worst(NamedTuple):
    """The coupled set with the largest error relative to its tolerance."""

    contact: int
    what: str
    velocity: float

    def text(self) -> str:
        """Return its place and the error of its velocities, as text."""
        if self.contact < 0:
            return "no contact"
        off = f" off by {self.velocity:.1e} m/s" if math.isfinite(self.velocity) else ""
        return f"at contact {self.contact}, {self.what}{off}"


def message_of(
    status: str,
    iterations: int,
    natural_map: float,
    scaled: float,
    worst: Worst,
    info: dict[str, Any],
    asked: str,
    facts: Facts | None,
    given: Given,
) -> str:
    """Return how a solve ended and, if it did not converge, what to try, as text.

    Without `facts` there is no advice that depends on the problem; without the contacts of a
    certificate, or of the floor, in `info` they are not named, and there is no advice on them.
    """

    def tries() -> str:
        return "" if facts is None else f". Try {advice(info, status, facts, given)}"

    reached = f"natural map {natural_map:.2e} N s (scaled {scaled:.1e})"
    if status == "converged":
        return f"converged after {iterations} iterations: {reached}, {asked}"
    where = f", worst {worst.text()}" if worst.contact >= 0 else ""
    if status == "inaccurate":
        return _message_of_floor(iterations, f"{reached}{where}; asked was {asked}", info)
    if status in ("infeasible", "unbounded"):
        return _message_of_proof(status, iterations, reached, info)
    if status == "stopped":
        return f"stopped by the callback after {iterations} iterations: {reached}{where}"
    if status == "diverging":
        return (
            f"diverging: the residual kept growing after {info['rollbacks']} halvings of R; the "
            f"iterate of sweep {info['best_iteration']} is returned, {reached}{where}"
            f"{tries()}"
        )
    if status in ("stalled", "wandering"):
        low, middle, high = info["band"]
        what = "stays" if status == "stalled" else "oscillates"
        return (
            f"{status} after {iterations} iterations: the scaled natural map {what} between "
            f"{low:.1e} and {high:.1e} (median {middle:.1e}); the iterate of iteration "
            f"{info['best_iteration']} is returned, {reached}{where}"
            f"{tries()}"
        )
    if status == "max_seconds":
        return (
            f"not converged after {iterations} iterations in max_seconds: "
            f"{reached}{where}; asked was {asked}{tries()}"
        )
    if asked == "rtol=None, atol=None":
        return f"{iterations} iterations made, as requested: {reached}{where}"
    if "pivots" in info and facts is not None:
        return _message_of_pivots(
            iterations, f"{reached}{where}; asked was {asked}", info, facts, given
        )
    return (
        f"not converged after {iterations} iterations: {reached}{where}; asked was {asked}{tries()}"
    )


def _message_of_floor(iterations: int, reached: str, info: dict[str, Any]) -> str:
    if "floor_contact" not in info:
        return (
            f"inaccurate after {iterations} iterations: rounding alone may leave a larger scaled "
            f"natural map than asked; {reached}"
        )
    narrow = info["dtype"] == "float32"
    tries = ["dtype='float64'"] if narrow else ["masses, or compliances, closer to each other"]
    if info["floor"] < _LOOSEST:
        tries.append(f"rtol={_above(info['floor'])}")
    return (
        f"inaccurate after {iterations} iterations: rounding alone may leave a scaled natural map "
        f"of {info['floor']:.1e} at contact {info['floor_contact']}, and smaller values have no "
        f"meaning there; {reached}. Try {', or '.join(tries)}"
    )


# A relative tolerance above this is no useful advice.
_LOOSEST = 0.01


def _above(floor: float) -> str:
    """Return the next power of ten above a number, as a literal."""
    return f"1e{math.floor(math.log10(floor)) + 1}" if 0 < floor < math.inf else "1e-6"


def _message_of_proof(status: str, iterations: int, reached: str, info: dict[str, Any]) -> str:
    contacts, most = info.get("certificate_contacts"), info.get("certified_impulse", math.inf)
    which = rest = tries = ""
    if contacts is not None:
        named = ", ".join(map(str, contacts[:6])) + (", …" if len(contacts) > 6 else "")
        which = f" at contact{'s' if len(contacts) > 1 else ''} {named}"
        if info.get("islands", 1) > 1:
            rest = ", and the other islands were left unfinished"
        change = "other velocities in b" if status == "infeasible" else "another method"
        tries = f". Try {change}, or a compliance"
    if status == "infeasible":
        bound = f" with impulses up to {most:.1e} N s" if math.isfinite(most) else ""
        return (
            f"infeasible: the problem has no solution{bound}. Impulses{which} could grow "
            f"without bound against the velocities in b and move nothing (info['certificate']); "
            f"found after {iterations} iterations{rest}{tries}"
        )
    return (
        f"unbounded after {iterations} iterations: impulses{which} grow without bound "
        f"(info['certificate']): {reached}. With friction this does not prove that there is "
        f"no solution{tries}"
    )


def _message_of_pivots(
    iterations: int, reached: str, info: dict[str, Any], facts: Facts, given: Given
) -> str:
    if "ray_contact" in info:
        return (
            f"not solved: Lemke's method met a ray after {info['pivots']} pivots, impulses that "
            f"could grow without bound, fastest at contact {info['ray_contact']} (info['ray']): "
            f"{reached}. There may be no solution; try {compliance_advice(facts)}"
        )
    if info["pivoting"] != "converged":
        more = ["a larger max_pivots"] if info["pivoting"] == "max_pivots" else []
        tries = [*more, "method='auto'", compliance_advice(facts)]
        return (
            f"not converged after {iterations} solves, the last of which ended as "
            f"{info['pivoting']!r}: {reached}. Try {'; '.join(tries)}"
        )
    if info["method"] in ("subspace", "splitting"):
        more = ["more sweeps"] if info["method"] == "subspace" else []
        tries = ["method='auto'", "more iterations", *more, *start_advice(given)]
        return (
            f"not converged after {iterations} direct steps and their sweeps: {reached}. Try "
            f"{'; '.join(tries)}"
        )
    if info["engine"] == "polyhedral":
        return (
            f"solved with friction in polygons, which differ from the sets: {reached}. Try more "
            f"directions, or polygons as sets"
        )
    tries = ["more iterations", "method='auto'", *start_advice(given)]
    return (
        f"not converged after {iterations} solves with updated friction bounds: {reached}. Try "
        f"{'; '.join(tries)}"
    )


class ProgressBar:
    """A tqdm bar that the C library may call with an iteration and a row of the history."""

    def __init__(self, columns: tuple[str, ...], progress: bool | float) -> None:
        self._columns = columns
        self._bar = _tqdm(progress, unit="sweep", desc="contactsolve")

    def __call__(self, iteration: int, row: np.ndarray) -> None:
        shown = {
            name: f"{value:.2e}"
            for name, value in zip(self._columns[2:], row[2:], strict=True)
            if not math.isnan(value)
        }
        self._bar.set_postfix(shown, refresh=False)
        self._bar.update(iteration - self._bar.n)

    def close(self) -> None:
        self._bar.close()


class BatchBar:
    """A tqdm bar that the C library may call with the number of problems that have ended."""

    def __init__(self, total: int, progress: bool | float) -> None:
        self._bar = _tqdm(progress, total=total, unit="problem", desc="contactsolve")

    def __call__(self, ended: int) -> None:
        self._bar.update(ended - self._bar.n)

    def close(self) -> None:
        self._bar.close()


_About = TypeVar("_About")
_Bar = TypeVar("_Bar", ProgressBar, BatchBar)


@contextmanager
def bar_of(
    kind: Callable[[_About, bool | float], _Bar], about: _About, progress: bool | float
) -> Iterator[_Bar | None]:
    """Show such a bar meanwhile; none where `progress` is False."""
    bar = kind(about, progress) if progress else None
    try:
        yield bar
    finally:
        if bar is not None:
            bar.close()


class RunBar:
    """A tqdm bar over runs of methods; none where `progress` is False."""

    def __init__(self, total: int, progress: bool | float) -> None:
        # Draw changes at once and nothing in between: the bar must not be drawn during a timed run.
        drawn = {"mininterval": 0, "miniters": 0}
        self._bar = _tqdm(progress, total=total, unit="run", **drawn) if progress else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()

    @contextmanager
    def run(self, label: str) -> Iterator[None]:
        """Show the label of a run while the run lasts, then count it."""
        if self._bar is None:
            yield
            return
        self._bar.set_description(label, refresh=False)
        self._bar.update(0)
        yield
        self._bar.update(1)


def _tqdm(progress: bool | float, **options: Any) -> Any:
    """Return a tqdm bar that is erased at its end; a number is seconds before it is shown."""
    bar = optional("tqdm.auto", "progress=True needs").tqdm
    at_once = isinstance(progress, (bool, np.bool_))
    return bar(leave=False, delay=0 if at_once else _seconds(progress), **options)


def _seconds(progress: Any) -> float:
    """Return the seconds before a bar is shown, checked."""
    if not isinstance(progress, (int, float)) or not 0 < progress < math.inf:
        raise ValueError(f"progress is {progress!r}: True, False or seconds above 0 are needed")
    return float(progress)


@contextmanager
def step_bar(
    total: int, progress: bool | float, unit: str = "step"
) -> Iterator[Callable[[], None]]:
    """Return a function that moves a bar over steps by one; nothing is shown without `progress`."""
    if not progress:
        yield lambda: None
        return
    with _tqdm(progress, total=total, unit=unit, desc="contactsolve") as bar:
        yield lambda: bar.update(1)
