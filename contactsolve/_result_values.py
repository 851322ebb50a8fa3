"""The values of a result, which are computed when they are first read."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._advice import Facts
from ._description import Description
from ._device_arrays import DeviceArray
from ._report import Worst, message_of
from .inspection import set_in_words
from .problem import Problem
from .result import History, updated_since

__all__ = ["DeviceResultValues", "ResultValues"]

_NO_ADVICE = ("converged", "stopped")


class ResultValues:
    """The answer of the C library, with one method for each attribute of a `Result`."""

    __slots__ = ("_answer", "_change", "_described", "_kept", "_problem", "_ray", "_started")

    def __init__(
        self,
        answer: _core.Answer,
        problem: Problem,
        described: Description,
        ray: np.ndarray | None,
        started: bool,  # from impulses or an index set
    ) -> None:
        self._answer, self._problem, self._ray = answer, problem, ray
        self._described, self._started = described, started
        self._kept = self._message() if self._gives_advice(answer.status) else ""
        # Computed now: the problem may lose its matrices, and the caller may change impulses.
        self._change = self._velocity_change() if problem._operator is not None else None

    def impulses(self) -> Any:
        return self._problem.split(self._answer.impulses)

    def residual_velocities(self) -> Any:
        return self._problem.split(self._answer.residual_velocities)

    def body_velocity_change(self) -> Any:
        return self._velocity_change() if self._change is None else self._change

    def _velocity_change(self) -> Any:
        answer = self._answer
        return self._problem.velocity_change(answer.velocity_change, answer.impulses)

    def history(self) -> History:
        return History(self._described.columns, self._answer.history)

    def status(self) -> str:
        return self._answer.status

    def converged(self) -> bool:
        return self._answer.status == "converged"

    def iterations(self) -> int:
        return self._answer.iterations

    def time(self) -> float:
        return self._answer.seconds

    def sweep_time(self) -> float:
        return self._answer.sweep_seconds

    def natural_map(self) -> float:
        return self._answer.natural_map

    def natural_map_scaled(self) -> float:
        return self._answer.natural_map_scaled

    def worst_contact(self) -> int:
        return self._answer.worst_block

    def worst(self) -> str:
        return self._worst().text()

    def _worst(self) -> Worst:
        answer = self._answer
        what = set_in_words(self._problem, answer.worst_block, answer.worst_row)
        return Worst(answer.worst_block, what, answer.worst_velocity)

    def message(self) -> str:
        return self._kept or self._message()

    def _gives_advice(self, status: str) -> bool:
        """Whether the message gives advice, which depends on the current values of the problem."""
        if status in _NO_ADVICE:
            return False
        return status != "max_iterations" or self._described.asked != "rtol=None, atol=None"

    def _message(self) -> str:
        answer, described = self._answer, self._described
        return message_of(
            answer.status,
            answer.iterations,
            answer.natural_map,
            answer.natural_map_scaled,
            self._worst(),
            self._told(),
            described.asked,
            self._facts(),
            described.given(started=self._started),
        )

    def _told(self) -> dict[str, Any]:
        """Return what the message tells of the info."""
        return self.info()

    def _facts(self) -> Facts | None:
        """Return facts of the problem for advice."""
        return self._described.facts

    def info(self) -> dict[str, Any]:
        answer, status = self._answer, self._answer.status
        info = self._described.info.copy()
        info["rollbacks"] = answer.rollbacks
        info["block_products"] = answer.block_products
        info["best_iteration"] = answer.best_iteration
        info["solve_seconds"] = answer.seconds
        info.update(answer.figures)
        if status in ("stalled", "wandering"):
            info["band"] = answer.band
        links = answer.links
        if links:
            info["links"] = links
        if status == "inaccurate":
            info["floor"], info["floor_contact"] = answer.floor, answer.floor_block
        self._add_proof(info)
        self._add_pivoting(info)
        if answer.unfinished_blocks:
            count = answer.unfinished_blocks
            which = "1 block was" if count == 1 else f"{count} blocks were"
            line = (
                f"{which} not solved to rounding in the last sweep: the inner steps reached their "
                f"limit"
            )
            info["warnings"] = [*info["warnings"], line]
        return info

    def _add_proof(self, info: dict[str, Any]) -> None:
        answer = self._answer
        if answer.certificate is None:
            return
        info["certificate"] = self._problem.split(answer.certificate)
        if answer.status == "infeasible":
            info["certified_impulse"] = answer.certified
        info["certificate_contacts"] = self._contacts_of(answer.certificate)

    def _add_pivoting(self, info: dict[str, Any]) -> None:
        answer = self._answer
        if answer.pivoting is None:
            return
        info["pivoting"] = answer.pivoting
        if self._ray is not None:
            info["ray"] = self._problem.split(self._ray)
            info["ray_contact"] = self._contacts_of(self._ray)[0]

    def _contacts_of(self, rows: np.ndarray) -> list[int]:
        """Contacts with entries of at least a thousandth of the largest, the largest first."""
        sizes = [np.full(group.contacts, group.rows) for group in self._problem._groups]
        starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))[:-1]])
        largest = np.maximum.reduceat(np.abs(rows), starts)
        order = np.argsort(-largest, kind="stable")
        return order[largest[order] >= 1e-3 * largest.max()].tolist()


class DeviceResultValues(ResultValues):
    """The answer of a solve whose impulses stay on a device."""

    __slots__ = ("_b", "_evaluated", "_parameters", "_solver", "device_impulses")

    def __init__(
        self,
        answer: _core.Answer,
        problem: Problem,
        described: Description,
        started: bool,
        impulses: DeviceArray,
        solver: _core.Solver | None,  # that evaluates velocities; None: the answer does
        b: np.ndarray | DeviceArray | None,
        parameters: np.ndarray | None,
    ) -> None:
        self.device_impulses, self._solver = impulses, solver
        self._b, self._parameters = b, parameters
        self._evaluated = answer if solver is None else None
        super().__init__(answer, problem, described, None, started)

    def _flat(self) -> np.ndarray:
        """Return a copy of the impulses."""
        return self.device_impulses.numpy().ravel()

    def impulses(self) -> Any:
        return self._problem.split(self._flat())

    def residual_velocities(self) -> Any:
        answer = self._evaluation("residual_velocities")
        return self._problem.split(answer.residual_velocities)

    def _velocity_change(self) -> Any:
        answer = self._evaluation("body_velocity_change")
        return self._problem.velocity_change(answer.velocity_change, answer.impulses)

    def _evaluation(self, name: str) -> _core.Answer:
        """Return what computes velocities from the impulses, for the attribute `name`."""
        solver, done = self._solver, self._evaluated
        if done is None:
            assert solver is not None
            b = self._b.numpy().ravel() if isinstance(self._b, DeviceArray) else self._b
            version = self._answer.version
            done = solver.evaluate(self._flat(), b, self._parameters, version)
            if done is None:
                raise RuntimeError(updated_since(name))
            # The evaluation keeps the solver until it is done.
            self._evaluated = done
            self._solver = self._b = None
        return done
