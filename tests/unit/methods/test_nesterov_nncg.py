"""nesterov_nncg: two methods take turns in one solve, each from the best iterate of both."""

from itertools import pairwise

import numpy as np
import pytest

import contactsolve as cs
from problems_of_classes import moving_stack

EXACTLY = {"rtol": None, "atol": None}
STRICT = {"rtol": 1e-8, "check_every": 5, "max_iterations": 5000}


def grid():
    """A grid on which either method alone stalls with little patience."""
    return cs.scenarios.ball_grid(5, mass=1.0, velocity=0.1, rng=12)


def options_of(problem, parts=8):
    labels = np.arange(problem.bodies_count) * parts // problem.bodies_count
    return {
        "order": cs.orders.partition(labels), "scheme": "factorized", "islands": False,
    }  # fmt: skip


def solved(problem, method, **options):
    return cs.solve(problem, method=method, **{**STRICT, **options_of(problem), **options})


def check_stages(result):
    """Both methods in turn, one history, and the iterations of all stages."""
    links = result.info["links"]
    assert result.info["handovers"] == len(links) - 1
    assert [link["method"] for link in links] == (["nesterov", "nncg"] * len(links))[: len(links)]
    assert links[0]["first"] == 0
    for one, following in pairwise(links):
        assert following["first"] == one["first"] + one["iterations"]
        assert following["reached"] <= one["reached"]
        assert one["why"].startswith(("stagnated", "diverged"))
    last = links[-1]
    assert last["first"] + last["iterations"] == result.iterations
    assert sum(link["seconds"] for link in links) == pytest.approx(result.time, rel=0.2, abs=1e-3)
    assert np.array_equal(result.history["iteration"], np.arange(result.iterations + 1))
    assert (np.diff(result.history["time"]) >= 0).all()


# ---- what it solves -----------------------------------------------------------------------------


def test_it_converges_where_each_of_both_stalls():
    problem = grid()
    for alone in ("nesterov", "nncg"):
        assert solved(problem, getattr(cs.methods, alone)(patience=40)).status == "stalled"
    result = solved(problem, cs.methods.nesterov_nncg(patience=40))
    assert result.converged
    assert result.info["handovers"] >= 2
    assert result.info["links"][-1]["why"] == "converged: the tolerance is met"
    check_stages(result)
    assert result.natural_map_scaled <= 1e-8


def test_it_goes_on_where_nncg_wanders():
    problem = cs.scenarios.disc_pyramid(12)
    natural = {"order": "natural", "max_iterations": 20000, "rtol": 1e-6}
    assert cs.solve(problem, method=cs.methods.nncg(patience=400), **natural).status == "wandering"
    assert cs.solve(problem, method="nesterov_nncg", **natural).converged


@pytest.mark.parametrize(
    "own",
    [{}, {"formula": "polak_ribiere"}, {"over": "symmetric_gauss_seidel"}, {"over": "jacobi"}],
)
def test_options_of_both_stages(own):
    result = solved(grid(), cs.methods.nesterov_nncg(patience=40, **own))
    assert result.converged
    assert result.info["handovers"] > 0
    check_stages(result)


def test_options_change_their_stage():
    problem = grid()
    usual = solved(problem, cs.methods.nesterov_nncg(patience=40)).history["residual"]
    end = 65  # of the first stage
    for own in ({"restart": 4.0}, {"contraction": 0.0}):
        other = solved(problem, cs.methods.nesterov_nncg(patience=40, **own)).history["residual"]
        assert not np.array_equal(other[1:end], usual[1:end])
    method = cs.methods.nesterov_nncg(patience=40, formula="polak_ribiere")
    other = solved(problem, method).history["residual"]
    assert np.array_equal(other[1 : end + 1], usual[1 : end + 1])
    assert not np.array_equal(other[end + 1 : end + 40], usual[end + 1 : end + 40])


# ---- the bits of each stage ---------------------------------------------------------------------


def test_stages_have_the_bits_of_both_methods():
    """The second stage is nncg from the best iterate of nesterov."""
    problem = grid()
    result = solved(problem, cs.methods.nesterov_nncg(patience=40))
    first, second = result.info["links"][:2]
    end, more = first["iterations"], second["iterations"]
    nesterov = solved(problem, "nesterov", max_iterations=end)
    nncg = solved(problem, "nncg", max_iterations=more, initial=nesterov)
    ours = result.history["residual"]
    assert np.array_equal(ours[1 : end + 1], nesterov.history["residual"][1:])
    assert np.array_equal(ours[end + 1 : end + more + 1], nncg.history["residual"][1:])
    assert second["reached"] == nncg.natural_map_scaled


def test_without_a_tolerance_it_is_nesterov():
    problem = moving_stack()
    ours = cs.solve(problem, method="nesterov_nncg", max_iterations=60, **EXACTLY)
    theirs = cs.solve(problem, method="nesterov", max_iterations=60, **EXACTLY)
    assert np.array_equal(ours.impulses, theirs.impulses)
    assert [link["method"] for link in ours.info["links"]] == ["nesterov"]


def test_solvers_are_used_again():
    problem = grid()
    method = cs.methods.nesterov_nncg(patience=40)
    solver = cs.Solver(problem, method=method, **STRICT, **options_of(problem))
    first, second = solver.solve(), solver.solve()
    assert np.array_equal(first.impulses, second.impulses)
    check_stages(second)
    assert first.info["handovers"] == second.info["handovers"] >= 2


# ---- how stages and solves end ------------------------------------------------------------------


def test_divergence_ends_a_stage():
    """R is that of the beginning again, and rollbacks of all stages are added."""
    result = solved(
        grid(), "nesterov_nncg", relaxation=6.0, rollback=1, rollback_growth=1, max_iterations=300
    )
    links = result.info["links"]
    check_stages(result)
    assert links[0]["why"] == "diverged: the residual grows even with the smallest R"
    ended = sum(link["why"].startswith("diverged") for link in links)
    assert result.info["rollbacks"] >= ended >= 2


@pytest.mark.parametrize("rounds", [1, 2])
def test_rounds_in_vain_end_a_solve(rounds):
    problem = moving_stack(10, top_mass=1e6)
    method = cs.methods.nesterov_nncg(patience=30, rounds=rounds)
    result = cs.solve(problem, method=method, rtol=1e-13, max_iterations=100000)
    assert result.status in ("stalled", "wandering")
    assert result.iterations < 100000
    links = result.info["links"]
    assert len(links) % 2 == 0
    assert len(links) >= 2 * rounds
    check_stages(result)
    before = [1.0, *(link["reached"] for link in links[1::2])]
    in_vain = [after > start / 2 for start, after in pairwise(before)]
    assert all(in_vain[-rounds:])
    assert rounds == len(in_vain) or not in_vain[-rounds - 1]
    low, middle, high = result.info["band"]
    assert low <= middle <= high


def test_islands_add_their_stages():
    one = grid()
    problem = cs.Problem(
        np.concatenate([one.J, one.J]),
        np.concatenate([one.Minv, one.Minv]),
        np.concatenate([one.b, one.b]),
        0.3,
        bodies=np.concatenate(
            [one.bodies, np.where(one.bodies < 0, -1, one.bodies + one.bodies_count)]
        ),
    )
    method = cs.methods.nesterov_nncg(patience=20)
    result = cs.solve(problem, method=method, rtol=1e-8, max_iterations=5000)
    links = result.info["links"]
    assert {link["method"] for link in links} <= {"nesterov", "nncg"}
    assert len({link["method"] for link in links}) == len(links)
    assert result.info["islands"] == 2
    assert result.converged


# ---- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ({"patience": 0}, "patience"),
        ({"rounds": 0}, "rounds"),
        ({"rounds": 1.5}, "rounds"),
        ({"restart": 0.5}, "restart"),
        ({"contraction": -1.0}, "contraction"),
        ({"formula": "hestenes"}, "fletcher_reeves"),
        ({"over": "murty"}, "symmetric_gauss_seidel"),
        ({"depth": 3}, "depth"),
    ],
)
def test_bad_options_are_refused_by_name(own, words):
    with pytest.raises((ValueError, TypeError), match=words):
        cs.solve(grid(), method=cs.methods.nesterov_nncg(**own))


def test_balanced_factors_and_mixed_precision_are_refused():
    for options in ({"r_factor": "balanced"}, {"dtype": "mixed"}):
        with pytest.raises(ValueError, match="nesterov_nncg"):
            cs.solve(grid(), method="nesterov_nncg", **options)
