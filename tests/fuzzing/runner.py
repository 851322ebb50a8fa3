"""Hand cases to workers, count what they come to, notice crashes and hangs."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from .attempt import Finding, Outcome, masked
from .worker import LostError, Worker

# Of every so many requests one is of malformed arguments.
_MALFORMED_EVERY = 12
_MALFORMED_AT_ONCE = 60


@dataclass
class Tally:
    """What was counted, and the outcomes with findings."""

    statuses: Counter = field(default_factory=Counter)  # (method, status)
    refusals: Counter = field(default_factory=Counter)
    findings: list[Outcome] = field(default_factory=list)
    malformed: Counter = field(default_factory=Counter)
    seconds: float = 0.0

    def add(self, outcome: Outcome) -> None:
        if outcome.kind == "malformed":
            self.malformed[outcome.status] += 1
        else:
            self.statuses[outcome.method, outcome.status] += 1
        if outcome.reason:
            self.refusals[outcome.reason] += 1
        if outcome.findings:
            self.findings.append(outcome)

    @property
    def attempts(self) -> int:
        return sum(self.statuses.values()) + sum(self.malformed.values())

    def groups(self) -> dict[tuple[str, str], list[Outcome]]:
        """Outcomes with findings by (kind of finding, method), most serious kinds first."""
        found: dict[tuple[str, str], list[Outcome]] = {}
        for outcome in self.findings:
            for one in outcome.findings:
                place = found.setdefault((group_name(one), outcome.method), [])
                if outcome not in place[-1:]:
                    place.append(outcome)
        return dict(sorted(found.items(), key=lambda item: (_gravity(item[0][0]), item[0])))

    def table(self) -> str:
        """Counts by method and status."""
        columns = sorted({status for _, status in self.statuses})
        methods = sorted({method for method, _ in self.statuses})
        lines = [" ".join(["method".ljust(22), *(f"{c:>15}" for c in columns)])]
        for method in methods:
            cells = (f"{self.statuses[method, c] or '':>15}" for c in columns)
            lines.append(" ".join([method.ljust(22), *cells]))
        if self.malformed:
            told = ", ".join(f"{n} {what}" for what, n in sorted(self.malformed.items()))
            lines.append(f"malformed arguments: {told}")
        return "\n".join(lines)


def group_name(finding: Finding) -> str:
    """A finding's kind; exceptions and warnings with their text."""
    if finding.kind in ("exception", "warning"):
        return f"{finding.kind}: {masked(finding.text)[:100]}"
    return finding.kind


_GRAVITY = ("crash", "hang", "input changed", "nan", "fuzzer", "wrong", "not P_C(0)", "slow")


def _gravity(name: str) -> int:
    found = [i for i, start in enumerate(_GRAVITY) if name.startswith(start)]
    return found[0] if found else len(_GRAVITY)


def method_of(number: int) -> str:
    from .options import METHODS

    return METHODS[number % len(METHODS)]


def run(
    seed: int,
    seconds: float,
    *,
    workers: int = 2,
    methods: list[str] | None = None,
    kinds: list[str] | None = None,
    malformed: bool = True,
    problems: float = float("inf"),
) -> Tally:
    """Attempt cases for so many seconds, or of so many problems, in so many processes."""
    tally, lock, begin = Tally(), threading.Lock(), time.monotonic()
    until, requests = begin + seconds, itertools.count()

    def work() -> None:
        with Worker() as worker:
            while time.monotonic() < until:
                with lock:
                    at = next(requests)
                if at >= problems:
                    return
                request = ("problem", seed, at, methods, kinds)
                turn, odd = divmod(at, _MALFORMED_EVERY)
                if malformed and not methods and not kinds and odd == 0:
                    _collect(worker, ("malformed", seed, turn * _MALFORMED_AT_ONCE, 60), until)
                _collect(worker, request, until)

    def _collect(worker: Worker, request: tuple, until: float) -> None:
        try:
            for outcome in worker.ask(request, until):
                with lock:
                    tally.add(outcome)
        except LostError as lost:
            number = -1 if lost.doing is None else lost.doing
            kind = "malformed" if request[0] == "malformed" else "problem"
            method = "malformed" if kind == "malformed" else method_of(number)
            outcome = Outcome(number, method, kind, lost.kind)
            outcome.findings.append(Finding(lost.kind, lost.text))
            with lock:
                tally.add(outcome)
            if number >= 0:
                _rest(worker, request, number, until)

    def _rest(worker: Worker, request: tuple, number: int, until: float) -> None:
        """What remains of a request after the case that ended its worker."""
        if request[0] == "malformed":
            left = request[2] + request[3] - number - 1
            if left > 0:
                _collect(worker, ("malformed", seed, number + 1, left), until)
            return
        from .options import METHODS

        wanted = set(methods or METHODS)
        later = [m for m in METHODS[number % len(METHODS) + 1 :] if m in wanted]
        if later:
            _collect(worker, ("problem", seed, request[2], later, kinds), until)

    with ThreadPoolExecutor(workers) as pool:
        for done in [pool.submit(work) for _ in range(workers)]:
            done.result()  # raises what the thread raised
    tally.seconds = time.monotonic() - begin
    return tally


def one(seed: int, number: int) -> Outcome:
    """Attempt a single case in a process of its own."""
    from .options import case_of

    return attempt_apart(case_of(seed, number))


def attempt_apart(case, worker: Worker | None = None) -> Outcome:
    """Attempt a case in another process; a crash or a hang is an outcome, too."""
    own = Worker() if worker is None else worker
    try:
        (outcome,) = own.ask(("case", case))
    except LostError as lost:
        outcome = Outcome(case.number, case.method, case.problem.kind, lost.kind)
        outcome.findings.append(Finding(lost.kind, lost.text))
    finally:
        if worker is None:
            own.close()
    return outcome
