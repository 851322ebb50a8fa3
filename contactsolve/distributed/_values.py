"""The values of a result on ranks: the same figures and words on each of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from contactsolve import _core
from contactsolve._report import Worst
from contactsolve._result_values import ResultValues
from contactsolve.inspection import set_of_group_in_words

__all__ = ["RankValues"]


class RankValues(ResultValues):
    """The answer of a rank, whose worst contact may be on another one.

    Parameters
    ----------
    answer, problem, described, started
        As for `ResultValues`.
    firsts
        Numbers at which the groups of contacts of the whole problem begin, and their total.
    """

    def __init__(
        self,
        answer: _core.Answer,
        problem: Any,
        described: Any,
        started: bool,
        firsts: tuple[int, ...],
    ) -> None:
        self._firsts = firsts
        super().__init__(answer, problem, described, None, started)

    def _worst(self) -> Worst:
        # The contact has its number in the whole problem, whose groups are those of the share.
        answer, what = self._answer, ""
        if answer.worst_block >= 0:
            group = int(np.searchsorted(self._firsts, answer.worst_block, side="right")) - 1
            what = set_of_group_in_words(self._problem, group, answer.worst_row)
        return Worst(answer.worst_block, what, answer.worst_velocity)

    def _contacts_of(self, rows: np.ndarray) -> list[int]:
        # The largest entry of a certificate is 1, on whichever rank it is.
        return super()._contacts_of(rows) if np.abs(rows).max(initial=0) >= 1e-3 else []

    def _gives_advice(self, status: str) -> bool:  # noqa: ARG002 (there is none)
        return False

    def _message(self) -> str:
        """Return the words of `contactsolve.solve` without what only one rank knows.

        That is advice, which depends on the rank's masses, and the contacts of a certificate.
        """
        answer = self._answer
        if answer.status == "infeasible":
            most = answer.certified
            bound = f" with impulses up to {most:.1e} N s" if math.isfinite(most) else ""
            return (
                f"infeasible: the problem has no solution{bound}. Impulses could grow without "
                f"bound against the velocities in b and move nothing (info['certificate']); found "
                f"after {answer.iterations} iterations"
            )
        reached = (
            f"natural map {answer.natural_map:.2e} N s (scaled {answer.natural_map_scaled:.1e})"
        )
        if answer.status == "unbounded":
            return (
                f"unbounded after {answer.iterations} iterations: impulses grow without bound "
                f"(info['certificate']): {reached}. With friction this does not prove that there "
                f"is no solution"
            )
        if answer.status == "inaccurate":
            return (
                f"inaccurate after {answer.iterations} iterations: rounding alone may leave a "
                f"larger scaled natural map than asked; {reached}, worst {self._worst().text()}; "
                f"asked was {self._described.asked}"
            )
        return super()._message()

    def _facts(self) -> None:
        return None  # the heaviest bodies of all ranks are not known here
