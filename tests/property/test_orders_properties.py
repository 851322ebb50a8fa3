"""Orders on any graph: the package's sweeps are those of plans made in plain Python.

Hypothesis draws the pairs of bodies, so that stars, chains, cliques, repeated and self pairs occur.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import contactsolve as cs
from reference_numpy import HalfLine, ReferenceProblem, block_slices
from reference_orders import (
    cache,
    conflicts_of,
    conflicts_of_matrix,
    contact_sets,
    greedy,
    joined,
    moving_bodies,
    pairs_together,
    partition,
    regions,
    run_stages,
)

orders = cs.orders
ordinary = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
schemes = st.sampled_from(("matrix", "factorized"))
borders = st.sampled_from(("colored", "sequential", "checkerboard"))
part_counts = st.integers(1, 9)


@dataclass
class Graph:
    pairs: np.ndarray
    minv: np.ndarray
    labels: np.ndarray
    jacobian: np.ndarray
    b: np.ndarray

    @property
    def problem(self) -> cs.Problem:
        return cs.Problem(self.jacobian, self.minv, self.b, bodies=self.pairs)

    @property
    def reference(self) -> ReferenceProblem:
        dense = np.zeros((len(self.pairs), 2 * len(self.minv)))
        for k, pair in enumerate(self.pairs):
            for side, body in enumerate(pair):
                if body >= 0:
                    dense[k, 2 * body : 2 * body + 2] += self.jacobian[k, side, 0]
        count = len(self.pairs)
        return ReferenceProblem(
            A=dense @ np.diag(self.minv.ravel()) @ dense.T,
            b=self.b.ravel(),
            blocks=block_slices([1] * count),
            sets=[HalfLine(1)] * count,
        )

    @property
    def touching(self) -> list[set[int]]:
        return moving_bodies(self.pairs, self.minv)


@st.composite
def graphs(draw) -> Graph:
    bodies = draw(st.integers(1, 8))
    ends = st.integers(-1, bodies - 1)
    pairs = draw(st.lists(st.tuples(ends, ends), max_size=25))
    moves = draw(st.lists(st.booleans() | st.just(True), min_size=bodies, max_size=bodies))
    labels = draw(st.lists(st.integers(0, bodies - 1), min_size=bodies, max_size=bodies))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    minv = rng.uniform(0.5, 2.0, (bodies, 2)) * np.array(moves)[:, None]
    count = len(pairs)
    return Graph(
        np.array(pairs, int).reshape(count, 2),
        minv,
        np.array(labels),
        rng.normal(size=(count, 2, 1, 2)),
        rng.normal(size=(count, 1)),
    )


def check(graph: Graph, problem: cs.Problem, order, stages, scheme: str, parts: int = 8) -> None:
    count = len(graph.pairs)
    assert sorted(joined([blocks for _, blocks in stages])) == list(range(count))
    options = {"rtol": None, "atol": None, "rollback": 0, "max_iterations": 2, "relaxation": 0.7}
    result = cs.solve(
        problem, method="gauss_seidel", order=order, scheme=scheme, parts=parts, **options
    )
    wanted = run_stages(graph.reference, stages, np.zeros(count), sweeps=2, relaxation=0.7)
    scale = np.abs(wanted).max(initial=1e-300)
    np.testing.assert_allclose(result.impulses.ravel(), wanted, rtol=0, atol=1e-11 * scale)


def given_problem(graph: Graph) -> cs.Problem:
    return cs.Problem.from_delassus(graph.reference.A, graph.b, rows=1)


@ordinary
@given(graph=graphs(), border=borders, scheme=schemes, parts=part_counts, own=st.booleans())
def test_partitions(graph, border, scheme, parts, own):
    touching = graph.touching
    labels = graph.labels if own else orders.labels(graph.problem, "slices", parts)
    stages = partition(labels, border, conflicts_of(touching), touching)
    order = orders.partition(graph.labels if own else "slices", border=border)
    check(graph, graph.problem, order, stages, scheme, parts)


@ordinary
@given(
    graph=graphs(),
    border=borders,
    parts=part_counts,
    strategy=st.sampled_from(("slices", "natural")),
)
def test_partitions_of_a_given_matrix(graph, border, parts, strategy):
    problem = given_problem(graph)
    labels = orders.labels(problem, strategy, parts)
    stages = partition(labels, border, conflicts_of_matrix(graph.reference))
    check(graph, problem, orders.partition(strategy, border=border), stages, "matrix", parts)


@ordinary
@given(graph=graphs(), parts=st.integers(2, 9))
def test_slices(graph, parts):
    """A slice touches the one before and the one behind only."""
    labels = orders.labels(graph.problem, "slices", parts)
    met = [{int(labels[body]) for body in bodies} for bodies in graph.touching]
    between = {tuple(sorted(one)) for one in met if len(one) == 2}
    neighbours = [sum(p in pair for pair in between) for p in range(parts)]
    assert max(neighbours) <= 2


@ordinary
@given(graph=graphs(), chunk=st.integers(1, 30), parts=st.none() | part_counts, scheme=schemes)
def test_cache(graph, chunk, parts, scheme):
    touching = graph.touching
    pairs = zip(graph.pairs.tolist(), touching, strict=True)
    ends = [body for pair, moving in pairs for body in pair if body in moving]
    degree = np.bincount(np.array(ends, int), minlength=len(graph.minv))
    stages = cache(touching, chunk, parts, degree)
    order = orders.cache(bodies="natural", chunk=chunk, domains=parts is not None)
    check(graph, graph.problem, order, stages, scheme, parts or 8)


@ordinary
@given(graph=graphs(), scheme=schemes)
def test_regions(graph, scheme):
    touching = graph.touching
    stages = regions(graph.labels, conflicts_of(touching), touching)
    check(graph, graph.problem, orders.regions(graph.labels), stages, scheme)


@ordinary
@given(graph=graphs(), count=part_counts)
def test_regions_of_the_library_are_independent_colours(graph, count):
    conflicts = conflicts_of(graph.touching)
    found = orders.describe(graph.problem, orders.regions(count))
    assert sorted(found.visits) == list(range(len(graph.pairs)))
    for stage in range(found.stages):
        own = np.flatnonzero(found.stage == stage)
        np.fill_diagonal(among := conflicts[np.ix_(own, own)], False)
        assert not among.any()


@ordinary
@given(
    graph=graphs(),
    inside=st.sampled_from(("sequential", "simultaneous")),
    colored=st.booleans(),
    scheme=schemes,
)
def test_contact_sets(graph, inside, colored, scheme):
    order = orders.contact_sets(inside, colored=colored)
    stages = contact_sets(
        pairs_together(graph.pairs), conflicts_of(graph.touching), inside, colored
    )
    check(graph, graph.problem, order, stages, scheme)
    each = [[k] for k in range(len(graph.pairs))]
    stages = contact_sets(each, conflicts_of_matrix(graph.reference), inside, colored)
    check(graph, given_problem(graph), order, stages, "matrix")


@ordinary
@given(graph=graphs(), parts=part_counts, below=st.integers(0, 8), scheme=schemes)
def test_groups(graph, parts, below, scheme):
    colors = greedy(range(len(graph.pairs)), conflicts_of(graph.touching))
    safe = joined([color for color in colors if len(color) >= below])
    unsafe = joined([color for color in colors if len(color) < below])
    order = orders.relaxed(below, unsafe="groups")
    check(graph, graph.problem, order, [("sequential", safe + unsafe)], scheme, parts)
