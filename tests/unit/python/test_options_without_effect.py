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
        ({"order": "natural", "parts": 4}, "parts is 4: it divides the problem for orders with pa"),
        ({"order": [1, 0, *range(2, 8)], "parts": 4}, "and order='given' has none"),
        ({"order": "natural", "rng": 1}, "rng is 1: it is for random orders, and order='natural'"),
        ({"rng": 1}, "rng is 1: it is for random orders, and order='auto' is not"),
        ({"quality_r": 5.0}, "quality_r is 5: it is for the measure quality, which is neither"),
        ({"check_every": 3, "record": (), **FIXED}, "check_every is 3: without tolerance, and wi"),
        ({"check_every": 3, "record": ("merit",), **FIXED}, "check_every is 3: without toleran"),
        ({"measure_every": 3, "record": ("merit",)}, "measure_every is 3: it is for recorded me"),
        ({"stop": "residual", **FIXED}, "stop is residual: no measure ends a solve without tole"),
        ({"order": cs.orders.extreme("natural")}, "subtasks have no effect: order='natural'"),
        ({"order": cs.orders.extreme("reverse")}, "subtasks have no effect: order='reverse'"),
    ],
)
def test_options_without_effect_are_refused(stack, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        cs.Solver(stack, method="gauss_seidel", **options)


def test_parts_have_an_effect_where_the_order_divides(stack):
    for order in cs.orders.names():
        made = getattr(cs.orders, order)() if order != "given" else cs.orders.given(range(8))
        if made.divides:
            cs.Solver(stack, method="gauss_seidel", order=made, parts=3)
        else:
            with pytest.raises(ValueError, match=f"parts is 3: .*, and order='{order}' has none"):
                cs.Solver(stack, method="gauss_seidel", order=made, parts=3)
    for order in ("auto", cs.orders.subtasks("natural", 2)):
        cs.Solver(stack, method="jacobi", order=order, parts=3)


@pytest.mark.parametrize("order", [name for name in cs.orders.names() if name != "given"])
def test_orders_without_parts_do_not_depend_on_them(order):
    """What is declared of an order is so."""
    grid = cs.scenarios.ball_grid(6)
    two, five = (
        cs.orders.describe(grid, order, parts=parts, rng=0 if order == "random" else None)
        for parts in (2, 5)
    )
    same = np.array_equal(two.visits, five.visits) and np.array_equal(two.stage, five.stage)
    assert same or getattr(cs.orders, order)().divides


def test_only_a_random_order_draws():
    assert [name for name in cs.orders.names() if cs.orders.Order(name).draws] == ["random"]
    assert cs.orders.subtasks("random", 3).draws


@pytest.mark.parametrize(
    "options",
    [
        {"order": "random", "rng": 1},
        {"quality_r": 5.0, "record": ("quality",)},
        {"quality_r": 5.0, "stop": "quality", "atol": 1e-6},
        {"check_every": 3, **FIXED},
        {"check_every": 3, "record": ()},
        {"measure_every": 3},
        {"stop": "residual", "atol": 1e-6, "rtol": None},
    ],
)
def test_options_with_an_effect_are_taken(stack, options):
    assert cs.solve(stack, method="gauss_seidel", **options).iterations > 0


def test_outer_methods_take_what_is_for_their_own_history(stack):
    options = {"quality_r": 5.0, "measure_every": 2, "record": ("quality",)}
    assert cs.solve(stack, method="tresca", **options).history["quality"][-1] >= 0
    cs.Solver(stack, method=cs.methods.tresca(inner="gauss_seidel"), order="ranges", parts=3)


def test_compare_gives_each_run_what_has_an_effect_there(stack):
    """Options of all runs are for those runs that have a use for them."""
    runs = [
        cs.Method("gauss_seidel", order="natural", label="natural"),
        cs.Method("gauss_seidel", order="ranges", label="ranges"),
        cs.Method("gauss_seidel", order="random", label="random"),
    ]
    table = cs.compare(stack, runs, parts=2, rng=3, check_every=2, until=cs.quality_of("jacobi", 5))
    assert [row.method for row in table] == ["natural", "ranges", "random"]
    wrong = cs.Method("gauss_seidel", order="natural", parts=2)
    with pytest.raises(ValueError, match=r"parts is 2: .*, and order='natural' has none"):
        cs.compare(stack, [wrong], until=cs.quality_of("jacobi", 5))


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
