"""The values of a result on ranks: the same figures and words on each of them."""

from __future__ import annotations

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

    def _told(self) -> dict[str, Any]:
        # Contacts of a certificate, and of the floor, are known to one rank only.
        names = ("certificate_contacts", "floor_contact")
        return {name: value for name, value in self.info().items() if name not in names}

    def _facts(self) -> None:
        return None  # the heaviest bodies of all ranks are not known here
