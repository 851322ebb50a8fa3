"""Contacts of random primitives in motion, against a judge in whole numbers.

Hypothesis draws many queries at once, as bytes: zeros are the simplest coordinates.
"""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import contactsolve as cs
from exact_ccd import first_contact

QUERIES, EXAMPLES = 40, 125  # of each kind and grid: 20,000 queries in all
TOO_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
NEAR = 1e-9  # of a time that is a simple root
# Of the size: how near primitives have come at the time of a multiple root, before which they stay
# as near as this for long.
TOUCHING = 1e-11


def queries_of(text, most):
    """Return positions at both times, whole numbers from -most to most."""
    numbers = np.frombuffer(text, np.uint8).reshape(2, -1, 4, 3) % (2 * most + 1)
    return np.where(numbers > most, most - numbers.astype(float), numbers)


def check(kind, x0, x1):
    found = cs.bvh.ccd(kind, x0, x1)
    for i, (start, end) in enumerate(zip(x0, x1, strict=True)):
        exact = first_contact(kind, start, end)
        assert found.hit[i] == (exact is not None)
        if exact is None:
            continue
        assert found.time[i] <= exact
        if not found.doubtful[i]:
            is_near = float(exact) - found.time[i] <= NEAR
            size = max(np.abs(x - x[0]).max() for x in (start, end))
            assert is_near or np.linalg.norm(found.separation[i]) <= TOUCHING * size


def test_edges_that_meet_where_their_volume_has_a_triple_root():
    """The volume of the tetrahedron of both is -24 (t - 1/2)^3 up to its sign."""
    x0 = np.array([[[0.0, -1, 2], [1, 0, 1], [1, 1, -1], [0, -2, 1]]])
    x1 = np.array([[[2.0, 2, -1], [0, -1, -2], [1, 0, 0], [1, 1, 0]]])
    check("edge_edge", x0, x1)
    assert 0.4999 < cs.bvh.ccd("edge_edge", x0, x1).time[0] <= 0.5


@settings(deadline=None, max_examples=EXAMPLES, suppress_health_check=TOO_SLOW)
@given(text=st.binary(min_size=24 * QUERIES, max_size=24 * QUERIES))
def test_vertices_and_faces_on_a_coarse_grid(text):
    check("vertex_face", *queries_of(text, 2))


@settings(deadline=None, max_examples=EXAMPLES, suppress_health_check=TOO_SLOW)
@given(text=st.binary(min_size=24 * QUERIES, max_size=24 * QUERIES))
def test_edges_on_a_coarse_grid(text):
    check("edge_edge", *queries_of(text, 2))


@settings(deadline=None, max_examples=EXAMPLES, suppress_health_check=TOO_SLOW)
@given(text=st.binary(min_size=24 * QUERIES, max_size=24 * QUERIES))
def test_vertices_and_faces_on_a_fine_grid(text):
    check("vertex_face", *queries_of(text, 127))


@settings(deadline=None, max_examples=EXAMPLES, suppress_health_check=TOO_SLOW)
@given(text=st.binary(min_size=24 * QUERIES, max_size=24 * QUERIES))
def test_edges_on_a_fine_grid(text):
    check("edge_edge", *queries_of(text, 127))


@settings(deadline=None, max_examples=10, suppress_health_check=TOO_SLOW)
@given(
    kind=st.sampled_from(("vertex_face", "edge_edge")),
    seed=st.integers(0, 2**32 - 1),
    power=st.integers(-40, 40),
    far=st.sampled_from((0.0, 1000.0)),
)
def test_doubles_of_all_bits(kind, seed, power, far):
    x0, x1 = np.random.default_rng(seed).normal(size=(2, 150, 4, 3))
    check(kind, np.ldexp(x0 + far, power), np.ldexp(x1 + far, power))
