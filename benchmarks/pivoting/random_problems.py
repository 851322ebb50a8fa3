"""Random mixed LCPs of up to 60 rows, by each rule: is an answer ever wrong and called right?

The kinds are those of the tests (tests/reference_mlcp.py): degenerate, redundant and singular ones
among them. Each problem is new, and solved by each rule; engines take turns. An answer is wrong
where the natural residual, computed here, is above 1e-9 or a bound is exceeded.

    python benchmarks/pivoting/random_problems.py [--problems 10000]
"""

import argparse
import sys
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import ROOT, write_csv

sys.path.insert(0, str(ROOT / "tests"))
from reference_mlcp import KINDS, natural_residual, random_mlcp

TOLERANCE = 1e-9
OUTCOMES = ("right", "wrong, called right", "right, called wrong", "wrong, called wrong", "refused")


def outcome_of(problem, rule, engine):
    A, b, lo, hi = problem
    try:
        result = cs.solve_mlcp(A, b, lo, hi, method=rule, engine=engine)
    except ValueError as error:
        if "not positive definite" not in str(error):
            raise
        return "refused"
    x = result.x
    inside = (lo <= x).all() and (x <= hi).all()
    # What rounding makes of the residual differs from one way of adding up to another.
    right = inside and natural_residual(A, b, lo, hi, x) <= TOLERANCE * (1 + 1e-3)
    if result.converged:
        return "right" if right else "wrong, called right"
    return "right, called wrong" if right else "wrong, called wrong"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", type=int, default=10_000, help="other numbers write no CSV")
    number = parser.parse_args().problems
    rng, rules, engines = np.random.default_rng(0), cs.mlcp.rules(), list(cs.mlcp.engines())
    count = {(rule, kind): dict.fromkeys(OUTCOMES, 0) for rule in rules for kind in KINDS}
    for k in range(number):
        kind = KINDS[k % len(KINDS)]
        problem = random_mlcp(rng, int(rng.integers(1, 61)), kind)
        for rule in rules:
            engine = "auto" if rule == "lemke" else engines[k // len(KINDS) % len(engines)]
            count[rule, kind][outcome_of(problem, rule, engine)] += 1
    rows = [{"rule": rule, "kind": kind, **count[rule, kind]} for rule, kind in count]
    for row in rows:
        print("  ".join(map(str, row.values())))
    if number == parser.get_default("problems"):
        print(write_csv("random_problems", rows))


if __name__ == "__main__":
    main()
