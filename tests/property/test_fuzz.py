"""The fuzzer itself: its judge finds planted errors, its scripts reproduce, and a short run."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import judge_numpy as judge
from fuzzing import runner
from fuzzing.attempt import attempt
from fuzzing.options import METHODS, case_of, problem_of
from fuzzing.problems import KINDS, make_feasible, random_problem
from fuzzing.shrink import shrink
from fuzzing.snippet import snippet
from fuzzing.spec import judged

SEED = 2026


def solved_problems(count):
    """Judged problems with impulses that solve them by construction."""
    kinds = [kind for kind in KINDS if kind not in ("infeasible", "immovable")]
    for number in range(count):
        rng = np.random.default_rng((SEED, number))
        problem = random_problem(rng, kinds)
        if problem.known is None:
            make_feasible(rng, problem)
        yield judged(problem), problem.known


def moved_parts(reference):
    """Coupled sets whose diagonal is not zero and that do not hold their impulse to one value."""
    for s, part in enumerate(reference.parts):
        one, span = reference.sets[part.block], reference.blocks[part.block]
        far = one.prox(np.full(span.stop - span.start, 1e6 / reference.rho[s]))
        if reference.steady[s] and far[part.inside].any():
            yield s, part


def test_solutions_by_construction_pass():
    """Only rounding is between them and an exact solution."""
    for reference, known in solved_problems(60):
        verdict = judge.judge_solution(reference, known, 0.0, 0.0)
        assert verdict is None, verdict


def test_judge_finds_a_perturbed_impulse():
    """A part of a solution moved by ten times what its tolerance is in impulses."""
    found = tried = 0
    for reference, known in solved_problems(60):
        tau = judge.tolerances(reference, 1e-6, 0.0)
        phi = judge.defects(reference, known).phi
        for s, part in list(moved_parts(reference))[:5]:
            wrong = known.copy()
            wrong[part.rows[0]] += 100.0 * (tau[s] + judge.ROUNDINGS * phi[s])
            if judge.defects(reference, wrong).delta[s] <= 10.0 * tau[s]:
                continue  # within friction bounds, say: other sets may allow it
            tried += 1
            verdict = judge.judge_solution(reference, wrong, 1e-6, 0.0)
            found += verdict is not None and verdict.kind == "wrong claim"
    assert found == tried > 50


def test_judge_finds_a_scaled_row():
    """The answer to a problem of which one row of A is 1 % larger."""
    found = tried = 0
    for reference, known in solved_problems(60):
        step = reference.rho[0] * (reference.A @ known + reference.b)
        for s, part in list(moved_parts(reference))[:5]:
            row = part.rows[0]
            loaded = abs(reference.A[row] @ known) > 0.5 * abs(reference.b[row]) > 0.0
            if not (loaded and reference.rho[s] > 0.0 and known[row] > 0.0):
                continue
            wrong = replace(reference, A=reference.A.copy())
            wrong.A[row] *= 1.01
            largest = judge.defects(wrong, known).delta[s]
            if largest <= 10.0 * judge.tolerances(wrong, 1e-6, 0.0)[s]:
                continue
            tried += 1
            found += judge.judge_solution(wrong, known, 1e-6, 0.0) is not None
        assert np.all(np.isfinite(step))
    assert found == tried > 20


def pinched():
    """A ball between two walls that close: lambda_1 + lambda_2 may grow for ever."""
    A = np.array([[1.0, -1.0], [-1.0, 1.0]])
    sets = [judge.set_of("half_line", 1, {})] * 2
    return judge.Judged.from_matrix(A, np.array([-1.0, -0.5]), sets, [1, 1])


def test_judge_of_certificates():
    """The ray of a pinched ball proves it; others do not, nor does it where A is another."""
    reference = pinched()
    right = {"friction": False, "rtol": 1e-6, "atol": 0.0}
    assert judge.judge_certificate(reference, np.ones(2), **right) is None
    for wrong in ([1.0, 0.5], [-1.0, -1.0], [0.0, 0.0], [np.nan, 1.0], [1.0, 1.0 + 1e-6]):
        assert judge.judge_certificate(reference, np.array(wrong), **right) is not None
    open_again = replace(reference, b=np.array([1.0, 1.0]))
    assert judge.judge_certificate(open_again, np.ones(2), **right) is not None
    softer = replace(reference, A=reference.A + 1e-6 * np.eye(2))
    assert judge.judge_certificate(softer, np.ones(2), **right) is not None


def test_answer_at_rest_is_the_unloaded_one():
    reference = replace(pinched(), b=np.zeros(2))
    assert judge.judge_rest(reference, np.zeros(2)) is None
    assert judge.judge_rest(reference, np.ones(2)).kind == "not P_C(0) where V = 0"


def test_cases_are_functions_of_seed_and_number():
    for number in (0, 7, 30):
        first, again = case_of(SEED, number), case_of(SEED, number)
        assert first.method == again.method == METHODS[number % len(METHODS)]
        assert repr(first) == repr(again)


# ---- a wrong library, in processes of its own ----------------------------------------------------

SPOILED = """
import contactsolve as cs

solve = cs.Solver.solve


def spoiled(self, *arguments, **options):
    result = solve(self, *arguments, **options)
    parts = result.impulses if isinstance(result.impulses, list) else [result.impulses]
    for part in parts:
        part *= 1.5
    return result


cs.Solver.solve = spoiled
"""


def run_script(path, *folders):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*map(str, folders), *sys.path])}
    return subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, env=environment, check=False
    )


@pytest.mark.parametrize("kind", ["coulomb", "mixed", "given"])
def test_a_wrong_claim_is_shrunk_to_a_script_that_reproduces_it(tmp_path, monkeypatch, kind):
    """Impulses 1.5 times too large are found, on few contacts; the true ones pass the script."""
    spoiled = tmp_path / "spoiled"
    spoiled.mkdir()
    (spoiled / "sitecustomize.py").write_text(SPOILED)
    monkeypatch.syspath_prepend(spoiled)
    which = METHODS.index("gauss_seidel")
    for at in range(100):
        case = case_of(SEED, at * len(METHODS) + which, problem_of(SEED, at, [kind]))
        case.options = {"max_seconds": 0.3, "rtol": 1e-4}
        case.callback = case.before = None
        if attempt(case).status == "converged" and not attempt(case).findings:
            outcome = runner.attempt_apart(case)
            if any(one.kind == "wrong claim" for one in outcome.findings):
                break
    small = shrink(case, "wrong claim", seconds=20.0)
    assert small.problem.contacts <= min(2, case.problem.contacts)
    finding = next(f for f in runner.attempt_apart(small).findings if f.kind == "wrong claim")
    script = tmp_path / "script.py"
    script.write_text(snippet(small, finding))
    sys.path.remove(str(spoiled))
    wrong, right = run_script(script, spoiled), run_script(script)
    assert wrong.returncode == 1
    assert "AssertionError" in wrong.stderr
    assert right.returncode == 0, right.stderr


CRASHING = """
import os
import contactsolve as cs


def crash(self, *arguments, **options):
    os.abort()


cs.Solver.solve = crash
"""


def test_a_crash_is_noticed_and_the_run_goes_on(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(CRASHING)
    monkeypatch.syspath_prepend(tmp_path)
    tally = runner.run(
        SEED, 60.0, workers=1, methods=["jacobi", "newton"], problems=3, malformed=False
    )
    assert {one.findings[0].kind for one in tally.findings} == {"crash (-6)"}
    assert {one.method for one in tally.findings} == {"jacobi", "newton"}


def test_workers_take_packages_from_where_their_parent_does(tmp_path, monkeypatch):
    """Not from the folder that they are started in."""
    (tmp_path / "contactsolve.py").write_text("raise ImportError('another one')")
    monkeypatch.chdir(tmp_path)
    tally = runner.run(SEED, 60.0, workers=1, methods=["jacobi"], problems=2, malformed=False)
    assert tally.attempts == 2


def test_a_run_whose_workers_do_not_start_fails(tmp_path, monkeypatch):
    (tmp_path / "contactsolve.py").write_text("raise ImportError('another one')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(RuntimeError, match=r"(?s)a worker does not start: .*another one"):
        runner.run(SEED, 60.0, problems=2)


def test_a_short_run_finds_nothing():
    """The same cases in each run; `fuzz.py` makes others."""
    tally = runner.run(SEED, 120.0, workers=2, problems=30)
    told = [
        f"{o.number} {o.method}: {f.kind}: {f.text}" for o in tally.findings for f in o.findings
    ]
    assert not told, "\n".join(told[:20])
    assert tally.attempts > 500
    assert sum(n for (_, status), n in tally.statuses.items() if status == "converged") > 100


def test_a_known_solution_refutes_proofs_beyond_its_own_rounding_only():
    """A proof that rests on the rounding of b, which was made for the solution, may be right."""
    part = SimpleNamespace(rows=np.array([0]))
    problem = SimpleNamespace(
        A=np.array([[2.0]]), size=np.array([[2.0]]), b=np.array([-2.0]), parts=[part], rho=[0.5]
    )
    known, d = np.array([1.0]), np.array([1.0])
    assert judge.is_beyond_construction(problem, known, d)
    problem.b = np.array([-1e-14])
    assert judge.is_beyond_construction(problem, 0.0 * known, d)
    assert not judge.is_beyond_construction(problem, known, d)
