"""Continuous collision detection: nothing is missed, times are lower bounds, few hits are false."""

import numpy as np
import pytest

import contactsolve as cs
from interruption import ctrl_c_ends
from repository import ROOT
from touching import KINDS, SHAPES, touching

# Of each kind and shape: a million in all.
MANY = 1_000_000 // (len(KINDS) * len(SHAPES))
FACE = np.array([[0.0, 0, 0], [4, 0, 0], [0, 4, 0]])


def seed_of(kind, shape):
    return np.random.default_rng([KINDS.index(kind), SHAPES.index(shape)])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_contact_at_a_known_time_is_missed(kind, shape):
    x0, x1, time = touching(kind, shape, MANY, seed_of(kind, shape))
    found = cs.bvh.ccd(kind, x0, x1)
    assert found.hit.all()
    assert (found.time <= time).all()
    assert (found.time >= 0).all()


def normals(kind, x):
    """Unit normals of faces, or of pairs of edges; zero where there is none."""
    edges = (x[:, 2] - x[:, 1], x[:, 3] - x[:, 1])
    if kind == "edge_edge":
        edges = (x[:, 1] - x[:, 0], x[:, 3] - x[:, 2])
    across = np.cross(*edges)
    length = np.linalg.norm(across, axis=1, keepdims=True)
    return np.divide(across, length, out=np.zeros_like(across), where=length > 0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_time_of_the_only_contact_is_found(kind):
    """Two primitives that do not turn meet once, unless they move within a plane.

    What is left between the times is a distance of some roundings of the size.
    """
    x0, x1, time = touching(kind, "translating", 20_000, np.random.default_rng(3))
    found = cs.bvh.ccd(kind, x0, x1)
    motion = (x1[:, 0] - x1[:, -1]) - (x0[:, 0] - x0[:, -1])
    rate = np.abs(np.einsum("nk,nk->n", normals(kind, x0), motion))
    size = np.maximum(*(np.abs(x - x[:, :1]).max(axis=(1, 2)) for x in (x0, x1)))
    assert ((time - found.time) * rate <= 1e-14 * size).all()
    assert (time - found.time)[rate > 1e-2 * size].max() < 1e-12
    assert (~found.doubtful).mean() > 0.95


@pytest.mark.parametrize("margin", [0.0, 0.25, 1e3])
@pytest.mark.parametrize("kind", KINDS)
def test_all_earlier_times_are_free(kind, margin):
    """Just before the time, and at many times before, the distance is larger than the margin."""
    rng = np.random.default_rng(8)
    x0, x1 = rng.normal(size=(2, 4000, 4, 3)) + 0.5
    found = cs.bvh.ccd(kind, x0, x1, margin)
    assert margin > 0 or 0.02 < found.hit.mean() < 0.5
    latest = np.where(found.hit, found.time, 1.0)
    for part in np.linspace(0, 1, 41):
        t = (part * latest)[:, None, None]
        near = cs.bvh.distance(kind, (1 - t) * x0 + t * x1).distance
        assert (near > margin - 1e-13)[latest > 0].all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_margin_is_missed(kind, shape):
    """Moved apart by a vector of whole length, two primitives are at most that far apart."""
    x0, x1, time = touching(kind, shape, 5000, seed_of(kind, shape))
    unit = np.ldexp(1.0, np.frexp(np.abs(x1 - x0).max() / 2**20)[1])
    apart = unit * np.array([2, 3, 6])
    rows = 1 if kind == "vertex_face" else 2
    moved0, moved1 = x0.copy(), x1.copy()
    moved0[:, :rows] += apart
    moved1[:, :rows] += apart
    exact = (
        (moved0[:, :rows] - apart == x0[:, :rows]) & (moved0[:, :rows] - x0[:, :rows] == apart)
    ) & ((moved1[:, :rows] - apart == x1[:, :rows]) & (moved1[:, :rows] - x1[:, :rows] == apart))
    exact = exact.all(axis=(1, 2))
    assert exact.sum() > 2000
    found = cs.bvh.ccd(kind, moved0[exact], moved1[exact], 7 * unit)
    assert found.hit.all()
    assert (found.time <= time[exact]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_margin_is_reached_at_the_time(kind):
    rng = np.random.default_rng(9)
    x0, x1 = rng.normal(size=(2, 4000, 4, 3))
    found = cs.bvh.ccd(kind, x0, x1, 0.05)
    late = found.hit & (found.time > 0)
    assert late.sum() > 400
    length = np.linalg.norm(found.separation[late], axis=1)
    assert np.allclose(length, 0.05, rtol=0, atol=1e-9)
    t = found.time[late, None, None]
    weighted = np.einsum("ni,nij->nj", found.weights[late], (1 - t) * x0[late] + t * x1[late])
    assert np.allclose(weighted, found.separation[late], rtol=0, atol=1e-13)
    assert np.isinf(found.time[~found.hit]).all()
    assert np.isnan(found.weights[~found.hit]).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e-7, 1e7, 1e150, 1e300])
def test_the_unit_of_length_does_not_matter(kind, scale):
    rng = np.random.default_rng(10)
    x0, x1 = rng.normal(size=(2, 2000, 4, 3))
    power = 2.0 ** np.round(np.log2(scale))
    plain, scaled = cs.bvh.ccd(kind, x0, x1), cs.bvh.ccd(kind, power * x0, power * x1)
    assert (plain.hit == scaled.hit).all()
    assert np.allclose(plain.time[plain.hit], scaled.time[plain.hit], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_largest_and_smallest_numbers(kind):
    """Differences that overflow, and numbers below the normal ones."""
    x0, x1, _ = touching(kind, "general", 500, np.random.default_rng(11))
    most = max(np.abs(x0).max(), np.abs(x1).max())
    for scale in (2.0 ** (1023 - np.ceil(np.log2(most))), 2.0**-1040):
        below = np.ldexp(np.round(np.ldexp(x0, 10)), -10) * scale, x1 * scale
        exact = ((below[0] / scale == x0) & (below[1] / scale == x1)).all(axis=(1, 2))
        assert exact.sum() > 100
        found = cs.bvh.ccd(kind, x0[exact] * scale, x1[exact] * scale)
        assert found.hit.all()


@pytest.mark.parametrize("kind", KINDS)
def test_single_precision_is_converted(kind):
    x0, x1, time = touching(kind, "general", 2000, np.random.default_rng(12))
    single0, single1 = x0.astype(np.float32), x1.astype(np.float32)
    exact = ((single0 == x0) & (single1 == x1)).all(axis=(1, 2))
    assert exact.sum() > 100
    found = cs.bvh.ccd(kind, single0, single1)
    assert found.hit[exact].all()
    assert (found.time <= time)[exact].all()
    doubled = cs.bvh.ccd(kind, single0.astype(float), single1.astype(float))
    assert all((a == b).all() for a, b in zip(found[:2], doubled[:2], strict=True))


def test_it_passes_the_face_just_outside():
    """A vertex that passes an edge of the face by one rounding is no hit, and exactly on it is."""
    outside = np.nextafter(0, -1)
    for x, hit in ((0.0, True), (outside, True), (-1e-13, False)):
        found = cs.bvh.ccd("vertex_face", [[[x, 1, 1], *FACE]], [[[x, 1, -1], *FACE]])
        assert found.hit[0] == hit
        assert found.doubts == hit


def test_at_rest():
    """What touches all the time, and what never does."""
    touch = np.array([[[1, 1, 0], *FACE]])
    found = cs.bvh.ccd("vertex_face", touch, touch)
    assert (found.hit[0], found.time[0], found.doubts) == (True, 0, 1)
    assert np.array_equal(found.weights, [[1, -0.5, -0.25, -0.25]])
    apart = np.array([[[1, 1, 1e-10], *FACE]])
    assert not cs.bvh.ccd("vertex_face", apart, apart).hit[0]
    assert cs.bvh.ccd("vertex_face", apart, apart, 1e-9).hit[0]
    point = np.zeros((1, 4, 3))
    assert cs.bvh.ccd("edge_edge", point, point).doubts == 0


@pytest.mark.parametrize("kind", KINDS)
def test_grazing(kind):
    """A primitive turns close above another at rest: steps are few, and doubt is a hit."""
    rng = np.random.default_rng(13)
    base = rng.normal(size=(500, 4, 3))
    base[..., 2] *= 1e-3
    turn = rng.normal(size=(500, 4, 3))
    for gap in (1e-3, 1e-6, 1e-9, 1e-12):
        x0, x1 = base.copy(), base + turn * [1, 1, gap]
        x0[:, :1, 2] += gap
        found, swapped = cs.bvh.ccd(kind, x0, x1), cs.bvh.ccd(kind, x1, x0)
        sure = ~found.doubtful & ~swapped.doubtful
        assert (found.hit == swapped.hit)[sure].all()
        assert sure.mean() > 0.95


# ---- the reference queries ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def reference():
    with np.load(ROOT / "tests" / "reference" / "ccd" / "queries.npz") as file:
        return dict(file)


@pytest.mark.parametrize("kind", KINDS)
def test_reference_queries(reference, kind):
    """Wang et al. 2021: none is missed, and hits that are false are doubtful, and few."""
    x, wanted = reference[kind], reference[f"{kind}_hit"]
    found = cs.bvh.ccd(kind, x[:, 0], x[:, 1])
    assert found.hit[wanted].all()
    false = found.hit & ~wanted
    assert found.doubtful[false].all()
    assert false.sum() <= FALSE_HITS[kind]


# Of 7,279 queries: gaps below what doubles resolve. Tight Inclusion has 198 and 273.
FALSE_HITS = {"vertex_face": 103, "edge_edge": 131}


def test_reference_queries_are_all_there(reference):
    assert sum(len(reference[kind]) for kind in KINDS) == 7279
    assert sum(reference[f"{kind}_hit"].sum() for kind in KINDS) == 435


# ---- the largest free step, threads -------------------------------------------------------------


@pytest.mark.parametrize("margin", [0.0, 0.01])
@pytest.mark.parametrize("kind", KINDS)
def test_the_free_step_is_the_least_time(kind, margin):
    rng = np.random.default_rng(14)
    x0 = rng.normal(size=(20_000, 4, 3))
    x0[:, 0] += 5
    x1 = x0 + rng.normal(size=x0.shape)
    x1[:, 0] -= 3
    found = cs.bvh.ccd(kind, x0, x1, margin)
    assert found.hit.any()
    for threads in (1, 2, 3, 4):
        assert cs.bvh.free_step(kind, x0, x1, margin, threads=threads) == found.time.min()
    free = ~found.hit
    assert cs.bvh.free_step(kind, x0[free], x1[free], margin) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_no_bit(kind):
    rng = np.random.default_rng(15)
    x0, x1 = rng.normal(size=(2, 40_000, 4, 3))
    alone = cs.bvh.ccd(kind, x0, x1, 0.02, threads=1)
    for threads in (2, 3, 4, None):
        shared = cs.bvh.ccd(kind, x0, x1, 0.02, threads=threads)
        assert all(a.tobytes() == b.tobytes() for a, b in zip(alone, shared, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_indices(kind):
    rng = np.random.default_rng(16)
    x0, x1 = rng.normal(size=(2, 50, 3))
    four = rng.permuted(np.tile(np.arange(50), (1000, 1)), axis=1)[:, :4]
    by_index, plain = (
        cs.bvh.ccd(kind, x0, x1, indices=four),
        cs.bvh.ccd(kind, x0[four], x1[four]),
    )
    assert all(a.tobytes() == b.tobytes() for a, b in zip(by_index, plain, strict=True))
    step = cs.bvh.free_step(kind, x0, x1, indices=four.astype(np.uint16))
    assert step == plain.time.min()


def test_the_order_of_rows_of_a_primitive_is_free():
    """The two edges exchanged, and the corners of a face turned: hits stay, weights move along."""
    rng = np.random.default_rng(17)
    x0, x1 = rng.normal(size=(2, 5000, 4, 3))
    for kind, order in (("edge_edge", [2, 3, 0, 1]), ("vertex_face", [0, 2, 3, 1])):
        a, b = cs.bvh.ccd(kind, x0, x1), cs.bvh.ccd(kind, x0[:, order], x1[:, order])
        assert (a.hit == b.hit).all()
        assert np.allclose(a.time[a.hit], b.time[b.hit], rtol=0, atol=1e-11)


def test_nothing():
    none = np.zeros((0, 4, 3))
    assert len(cs.bvh.ccd("edge_edge", none, none).hit) == 0
    assert cs.bvh.free_step("edge_edge", none, none) == 1
    assert cs.bvh.free_step("edge_edge", none[:, 0], none[:, 0], indices=np.zeros((0, 4), int)) == 1


def test_ctrl_c():
    x = np.zeros((300_000, 4, 3))
    x[:, 0] = 1e-3
    x1 = x + np.random.default_rng(1).normal(size=(1, 4, 3))

    def work():
        while True:
            cs.bvh.ccd("vertex_face", x, x1, threads=1)

    ctrl_c_ends(work, after=0.2, within=2)


# ---- input --------------------------------------------------------------------------------------

GOOD = np.arange(24.0).reshape(2, 4, 3)
NOT_A_NUMBER = GOOD.copy()
NOT_A_NUMBER[1, 2, 0] = np.nan
INFINITE = GOOD.copy()
INFINITE[0, 3, 1] = np.inf
WRONG = {
    "kind": (("vertex_fase", GOOD, GOOD), {}, "unknown kind 'vertex_fase'.*'vertex_face'"),
    "nan": (("edge_edge", GOOD, NOT_A_NUMBER), {}, r"x1\[1, 2, 0\] is nan"),
    "infinite": (("edge_edge", INFINITE, GOOD), {}, r"x0\[0, 3, 1\] is inf"),
    "shape": (("edge_edge", GOOD[0], GOOD[0]), {}, r"x0 has shape \(4, 3\): \(n, 4, 3\)"),
    "apart": (("edge_edge", GOOD, GOOD[:1]), {}, r"x1 has shape \(1, 4, 3\): \(2, 4, 3\)"),
    "margin": (("edge_edge", GOOD, GOOD, -0.5), {}, "margin is -0.5"),
    "margin nan": (("edge_edge", GOOD, GOOD, np.nan), {}, "margin is nan"),
    "far": (
        ("edge_edge", GOOD[0], GOOD[0]),
        {"indices": [[0, 1, 2, 3], [0, 1, 4, 2]]},
        r"indices\[1, 2\] is 4: 0 to 3",
    ),
    "negative": (("edge_edge", GOOD[0], GOOD[0]), {"indices": [[0, -1, 2, 3]]}, r"\[0, 1\] is -1"),
    "three": (("edge_edge", GOOD[0], GOOD[0]), {"indices": [[0, 1, 2]]}, r"\(1, 3\): \(n, 4\)"),
    "rows": (("edge_edge", GOOD, GOOD), {"indices": [[0, 1, 2, 3]]}, r"\(vertices, 3\)"),
    "threads": (("edge_edge", GOOD, GOOD), {"threads": 0}, "threads is 0"),
}


@pytest.mark.parametrize("ask", [cs.bvh.ccd, cs.bvh.free_step])
@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_input(ask, wrong):
    arguments, options, message = WRONG[wrong]
    with pytest.raises(ValueError, match=message):
        ask(*arguments, **options)


def test_wrong_types():
    for arguments in ((1, GOOD, GOOD), ("edge_edge", GOOD, GOOD, "much")):
        with pytest.raises(TypeError):
            cs.bvh.ccd(*arguments)
    with pytest.raises(TypeError, match="indices has dtype float64"):
        cs.bvh.ccd("edge_edge", GOOD[0], GOOD[0], indices=[[0.0, 1, 2, 3]])


def test_input_is_not_written_to():
    x0, x1 = GOOD.copy(), GOOD.copy() + 1
    x0.flags.writeable = x1.flags.writeable = False
    cs.bvh.ccd("edge_edge", x0, x1)
    assert (x0 == GOOD).all()
