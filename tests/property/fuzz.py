"""Random problems of every kind, by every method, judged by plain NumPy.

    python tests/property/fuzz.py --seconds 120 --seed 123 [--workers 2]
    python tests/property/fuzz.py --seed 123 --case 4711        # one case again, and its script

A case is a pure function of the seed and its number. Of each group of findings the first case is
made small and printed as a script. The exit status is 1 where something was found.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))
# A module built in place goes before an installed one.
if any((TESTS.parent / "contactsolve").glob("_core.*.so")):
    sys.path.insert(0, str(TESTS.parent))

import contactsolve
from fuzzing import runner
from fuzzing.options import METHODS, case_of
from fuzzing.problems import KINDS
from fuzzing.shrink import shrink
from fuzzing.snippet import snippet


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kind", action="append", choices=sorted(KINDS), help="may be repeated")
    parser.add_argument("--method", action="append", choices=METHODS, help="may be repeated")
    parser.add_argument("--case", type=int, help="attempt this case alone")
    parser.add_argument("--shrink-seconds", type=float, default=10.0, help="for each finding")
    parser.add_argument("--refusals", action="store_true", help="print why cases were refused")
    return parser.parse_args()


def show(seed: int, number: int, kind: str, seconds: float) -> None:
    """Print a failing case, made small, as a script."""
    case = shrink(case_of(seed, number), kind, seconds=seconds)
    found = [f for f in runner.attempt_apart(case).findings if f.kind.startswith(kind[:5])]
    if not found:
        print("(does not fail again by itself)")
        return
    print(snippet(case, found[0]))


def main() -> int:
    options = arguments()
    seed = options.seed
    print(f"seed {seed}, contactsolve {contactsolve.__version__} of {contactsolve.__file__}")
    if options.case is not None:
        outcome = runner.one(seed, options.case)
        print(f"case {options.case}, {outcome.method}, {outcome.kind}: {outcome.status}")
        print(outcome.reason)
        for one in outcome.findings:
            print(f"{one.kind}: {one.text}")
            show(seed, options.case, one.kind, options.shrink_seconds)
        return bool(outcome.findings)
    tally = runner.run(
        seed, options.seconds, workers=options.workers, methods=options.method, kinds=options.kind
    )
    print(tally.table())
    print(f"{tally.attempts} cases in {tally.seconds:.0f} s")
    if options.refusals:
        for reason, count in tally.refusals.most_common():
            print(f"{count:6} {reason}")
    for (kind, method), outcomes in tally.groups().items():
        first = outcomes[0]
        numbers = ", ".join(str(one.number) for one in outcomes[:8])
        print(f"\n== {kind} by {method}: {len(outcomes)} cases ({numbers})")
        print("\n".join(one.text[:400] for one in first.findings))
        if first.method != "malformed" and options.shrink_seconds > 0:
            show(seed, first.number, first.findings[0].kind, options.shrink_seconds)
    return bool(tally.findings)


if __name__ == "__main__":
    sys.exit(main())
