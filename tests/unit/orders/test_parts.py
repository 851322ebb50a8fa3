"""The option parts: what "auto" stands for, where it is told, and what the orders of S1 keep."""

import numpy as np
import pytest

import contactsolve as cs
from agreement import EXACTLY, generator
from contactsolve import orders

pytestmark = pytest.mark.threads

WORTH_MORE = 131_072  # contacts from which cache and partition make 32 parts


def chain(contacts: int) -> cs.Problem:
    """Bodies in a row, each in contact with the next."""
    J = np.tile([[[-1.0]], [[1.0]]], (contacts, 1, 1, 1)).reshape(contacts, 2, 1, 1)
    first = np.arange(contacts)
    pairs = np.column_stack([first, first + 1])
    b = generator("chain").normal(size=(contacts, 1))
    return cs.Problem(J, np.ones((contacts + 1, 1)), b, sets=cs.sets.half_line(), bodies=pairs)


@pytest.fixture(scope="module")
def short():
    return chain(WORTH_MORE - 1)


@pytest.fixture(scope="module")
def long():
    return chain(WORTH_MORE)


def interiors(problem, order, **options) -> int:
    """The number of parts of the first stage."""
    return int(orders.describe(problem, order, **options).parts[0])


@pytest.mark.parametrize("order", ["cache", "partition", "auto"])
def test_the_size_alone_chooses_the_number(short, long, order):
    assert interiors(short, order) == 8
    assert interiors(long, order) == 32
    assert interiors(long, order, parts=8) == 8


@pytest.mark.parametrize("order", ["ranges", orders.relaxed(10**6, unsafe="ranges")])
def test_concurrent_stages_keep_eight(short, long, order):
    for problem in (short, long):
        found, told = orders.describe(problem, order), orders.describe(problem, order, parts=8)
        assert found.parts.tolist() == told.parts.tolist() == [8]
        np.testing.assert_array_equal(found.part, told.part)


def test_a_parallel_colouring_and_subtasks_keep_eight(long):
    for order in (orders.colored(parallel=True), orders.subtasks("colored", 3)):
        found, told = orders.describe(long, order), orders.describe(long, order, parts=8)
        np.testing.assert_array_equal(found.stage, told.stage)
        np.testing.assert_array_equal(found.parts, told.parts)
    subtasks = orders.subtasks("natural", 3)
    assert interiors(long, subtasks, method="jacobi") == 3 * 8


@pytest.mark.parametrize("order", ["cache", "partition"])
def test_what_is_chosen_has_the_bits_of_its_number(short, long, order):
    options = {"order": order, "method": "gauss_seidel", "max_iterations": 2, **EXACTLY}
    options |= {"islands": False, "record": ()}
    for problem, parts in ((short, 8), (long, 32)):
        told = cs.solve(problem, parts=parts, **options)
        for threads in (1, 2, 3, 8):
            found = cs.solve(problem, threads=threads, exact_threads=True, **options)
            assert found.info["threads"] == threads or threads > 4
            assert found.info["parts"] == told.info["parts"] == parts
            np.testing.assert_array_equal(found.impulses, told.impulses)


def test_info_has_the_number_where_the_order_divides():
    problem = cs.scenarios.ball_grid(12)
    assert cs.Solver(problem).info["parts"] == 8
    assert cs.Solver(problem, parts=5).info["parts"] == 5
    assert cs.Solver(problem, order="ranges", parts=3).info["parts"] == 3
    assert cs.Solver(problem, order=orders.relaxed(400, unsafe="ranges")).info["parts"] == 8
    labels = np.arange(problem.bodies_count) % 6
    assert cs.Solver(problem, order=orders.partition(labels)).info["parts"] == 6
    for order in ("natural", "colored", orders.cache(domains=False)):
        assert "parts" not in cs.Solver(problem, order=order).info
    assert "parts" not in cs.Solver(problem, method="jacobi").info


def test_labels_are_those_of_the_order(long):
    assert orders.labels(long).max() == 31
    assert orders.labels(long, parts=8).max() == 7
    np.testing.assert_array_equal(orders.labels(long), orders.labels(long, "auto", 32))


@pytest.mark.parametrize("ask", [cs.Solver, orders.describe, orders.labels])
@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        (0, ValueError, "parts is 0: it must be at least 1"),
        (-2, ValueError, "parts is -2: it must be at least 1"),
        ("many", ValueError, "parts: 'many' is unknown; known: auto, or a number"),
        (2.5, TypeError, r"parts is 2\.5: an integer is needed"),
        (None, TypeError, "parts is None: an integer is needed"),
        (2**40, ValueError, "parts is 1099511627776: "),
    ],
)
def test_errors(ask, parts, error, message):
    with pytest.raises(error, match=message):
        ask(cs.scenarios.box_stack(2), parts=parts)
