"""Options that others leave without effect are refused, and those with one are not."""

from __future__ import annotations

import re

import numpy as np
import pytest

import contactsolve as cs

FIXED = {"rtol": None, "atol": None, "max_iterations": 4}


@pytest.fixture
def stack():
    return cs.scenarios.box_stack(2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stop": "residual", **FIXED}, "stop is residual: no measure ends a solve without tole"),
        (
            {"device_sweeps": "graph"},
            "device_sweeps is graph: it is for a device, and",
        ),
        ({"order": cs.orders.extreme("natural")}, "subtasks have no effect: order='natural'"),
        ({"order": cs.orders.extreme("reverse")}, "subtasks have no effect: order='reverse'"),
    ],
)
def test_options_without_effect_are_refused(stack, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        cs.Solver(stack, method="gauss_seidel", **options)


def test_only_a_random_order_draws():
    assert [name for name in cs.orders.names() if cs.orders.Order(name).draws] == ["random"]
    assert cs.orders.subtasks("random", 3).draws


@pytest.mark.parametrize(
    "options",
    [
        {"order": "natural", "rng": 1, "parts": 3},
        {"quality_r": 5.0, "measure_every": 3, "check_every": 3, **FIXED},
        {"stop": "residual", "atol": 1e-6, "rtol": None},
    ],
)
def test_options_that_all_runs_of_a_study_share_are_taken(stack, options):
    assert cs.solve(stack, method="gauss_seidel", **options).iterations > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "murty", "block_steps": 3}, "block_steps is 3: it is for method='bpp', and"),
        ({"method": "keller", "stall_steps": 3}, "stall_steps is 3: it is for method='bpp', and"),
        ({"method": "dantzig", "interior": False}, "interior is 0: it is for method='bpp', and"),
        ({"engine": "skyline", "cache_bytes": 9}, "cache_bytes is 9: it is for engine='cached'"),
        ({"method": "lemke", "engine": "skyline"}, "engine is skyline: it is for methods that f"),
        ({"method": "lemke", "refinements": 5}, "refinements is 5: it is for methods that factor"),
        ({"method": "lemke", "condition": True}, "condition is 1: it is for methods that factor"),
        ({"method": "lemke", "reuse": 4}, "reuse is 4: it is for methods that factor"),
    ],
)
def test_options_of_mlcps_without_effect_are_refused(options, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        cs.MlcpSolver(np.eye(2), **options)


def test_options_of_mlcps_with_an_effect_are_taken():
    for options in (
        {"block_steps": 3, "stall_steps": 3, "interior": False},
        {"engine": "cached", "cache_bytes": 9},
        {"method": "murty", "engine": "skyline", "refinements": 5, "condition": True, "reuse": 4},
        {"method": "lemke", "tolerance": 1e-8, "max_pivots": 9, "threads": 1, "islands": False},
    ):
        assert cs.solve_mlcp(np.eye(2), [1.0, 2.0], **options).converged
