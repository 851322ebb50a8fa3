"""Trees of k-DOPs: boxes that hold what moves, refits, rebuilds, bad input."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

import contactsolve as cs
from trees import KINDS, fold, rotation, self_pairs, sheet, soup

DOPS = (6, 14, 18, 26)
DTYPES = ("float32", "float64")


# ---- boxes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", DOPS)
def test_directions(k):
    """Those of Klosowski et al.: axes, corners and edges of a cube, no two parallel."""
    directions = cs.bvh.Tree(*sheet(), k).directions
    sizes = (np.abs(directions) > 0).sum(axis=1).tolist()
    wanted = {6: (3, 0, 0), 14: (3, 0, 4), 18: (3, 6, 0), 26: (3, 6, 4)}[k]
    assert tuple(sizes.count(size) for size in (1, 2, 3)) == wanted
    normed = directions / np.linalg.norm(directions, axis=1)[:, None]
    assert np.abs(normed @ normed.T - np.eye(k // 2)).max() < 0.99


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1e-7, 1.0, 1e7])
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e6])
@pytest.mark.parametrize("k", DOPS)
def test_boxes_hold_the_motion_exactly(k, size, offset, dtype):
    """In rational numbers; and they are as tight as the rounding allows."""
    rng = np.random.default_rng(0)
    x0 = size * (offset + rng.standard_normal((12, 3)))
    x1 = x0 + 0.1 * size * rng.standard_normal((12, 3))
    margin = 0.013 * size
    tree = cs.bvh.Tree(x0, np.arange(12).reshape(-1, 3), k, dtype=dtype)
    tree.refit(x0, x1, margin)
    lower, upper = tree.boxes("vertices")
    unit = Fraction(float(np.finfo(dtype).eps))
    for i in range(len(x0)):
        scale = Fraction(float(np.abs([x0[i], x1[i]]).sum() + 2 * margin))
        for d, direction in enumerate(tree.directions.tolist()):
            length2 = sum(n * n for n in direction)
            ends = [
                sum(n * Fraction(v) for n, v in zip(direction, end, strict=True))
                for end in (x0[i].tolist(), x1[i].tolist())
            ]
            low, high = Fraction(float(lower[i, d])), Fraction(float(upper[i, d]))
            # (end - low)^2 >= margin^2 |n|^2 says the same as a comparison with a root.
            apart = Fraction(margin) ** 2 * length2
            assert min(ends) > low
            assert max(ends) < high
            assert (min(ends) - low) ** 2 >= apart
            assert (high - max(ends)) ** 2 >= apart
            slack = Fraction(margin) * Fraction(length2**0.5) + 8 * unit * scale
            assert min(ends) - low <= slack
            assert high - max(ends) <= slack


@pytest.mark.parametrize("k", DOPS)
def test_floats_are_rounded_outwards(k):
    """Of many vertices without motion, whose ends in double have errors of a few units only."""
    x = np.random.default_rng(3).standard_normal((3000, 3))
    faces = np.arange(3000).reshape(-1, 3)
    single, double = (cs.bvh.Tree(x, faces, k, dtype=dtype) for dtype in DTYPES)
    for (low, high), (least, most) in [(single.boxes("vertices"), double.boxes("vertices"))]:
        assert (low <= least).all()
        assert (high >= most).all()
        # Two units of a float apart, at most.
        assert (least - low <= 2.1 * np.spacing(np.abs(low))).all()
        assert (high - most <= 2.1 * np.spacing(np.abs(high))).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_margins_below_the_normal_numbers_are_held(dtype):
    """A product of such a margin with the length of a direction is not rounded to less."""
    x = np.zeros((3, 3))
    tree = cs.bvh.Tree(x, [[0, 1, 2]], 26, dtype=dtype)
    for margin in (5e-324, 1e-323, 1e-310):
        tree.refit(x, margin=margin)
        lower, upper = tree.boxes("vertices")
        lengths2 = [sum(n * n for n in d) for d in tree.directions.tolist()]
        for ends in (-lower[0], upper[0]):
            for end, length2 in zip(ends, lengths2, strict=True):
                assert Fraction(float(end)) ** 2 >= Fraction(margin) ** 2 * Fraction(length2)


@pytest.mark.parametrize(
    ("offset", "size"), [(1e7, 1.0), (0.0, 1e-45), (0.0, 1e39), (-1e300, 1e298)]
)
def test_queries_cost_the_same_far_from_the_origin_and_at_any_size(offset, size):
    vertices, faces = sheet(40, 41)
    order = np.random.default_rng(0).permutation(len(vertices))
    place = np.argsort(order)

    def tests(x):
        tree = cs.bvh.Tree(x[order], place[faces])
        tree.pairs(kind="edge_edge")
        return tree.info["tests"]

    assert tests(offset + size * vertices) < 3 * tests(vertices)


def test_edges_at_a_hub_are_each_found_once():
    """More faces at a vertex than are sorted by insertion, in any order."""
    rim = np.random.default_rng(0).permutation(np.arange(1, 300))
    faces = np.stack([np.zeros(299, int), rim, np.roll(rim, 1)], axis=1)
    x = np.random.default_rng(1).standard_normal((300, 3))
    sides = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    assert np.array_equal(cs.bvh.Tree(x, faces).edges, np.unique(sides, axis=0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_boxes_of_edges_and_faces_are_unions(dtype):
    vertices, faces = soup()
    tree = cs.bvh.Tree(vertices, faces, 26, dtype=dtype)
    tree.refit(vertices, vertices[::-1], 0.1)
    lower, upper = tree.boxes("vertices")
    for kind, corners in (("edges", tree.edges), ("faces", faces)):
        low, high = tree.boxes(kind)
        assert low.dtype == high.dtype == tree.dtype == np.dtype(dtype)
        assert np.array_equal(low, lower[corners].min(axis=1))
        assert np.array_equal(high, upper[corners].max(axis=1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1e-7, 1.0, 1e7])
@pytest.mark.parametrize("offset", [0.0, 3.0, 1e5])
@pytest.mark.parametrize("turned", [False, True])
def test_touching_faces_are_found(size, offset, dtype, turned):
    """A face above another, as far away as both margins reach: a ball around each touches."""
    direction = np.array([1.0, 1.0, 0]) / np.sqrt(2) if turned else np.array([0, 0, 1.0])
    base = (
        np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
        if not turned
        else np.array([[0.0, 0, 0], [1, -1, 0], [0, 0, 1]])
    )
    margin = 0.1 * size
    below = size * (offset + base)
    above = below + 2 * margin * direction
    tree = cs.bvh.Tree(np.vstack([below, above]), [[0, 1, 2], [3, 4, 5]], 18, dtype=dtype)
    tree.refit(np.vstack([below, above]), margin=margin)
    assert tree.pairs(kind="faces").tolist() == [[0, 1]]
    # The stored boxes are apart where the distance is far above the rounding.
    far = 0.4 * size + size * (offset + 1) * 64 * float(np.finfo(dtype).eps)
    apart = np.vstack([below, below + far * np.sqrt(2) * direction])
    tree.refit(apart, margin=margin)
    assert tree.pairs(kind="faces").tolist() == []


def test_a_motion_is_held_at_both_ends_and_between():
    """A face that passes through another within the step, from one side to the other."""
    floor = np.array([[-5.0, -5, 0], [5, -5, 0], [0, 5, 0]])
    ball = np.array([[0.0, 0, 3], [0.1, 0, 3], [0, 0.1, 3]])
    x0, x1 = np.vstack([floor, ball]), np.vstack([floor, ball - [0, 0, 6]])
    tree = cs.bvh.Tree(x0, [[0, 1, 2], [3, 4, 5]], 26)
    assert len(tree.pairs(kind="faces")) == 0
    tree.refit(x0, x1)
    assert tree.pairs(kind="faces").tolist() == [[0, 1]]
    tree.refit(x1)
    assert len(tree.pairs(kind="faces")) == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_that_are_hardly_there(dtype):
    """Positions that are zero, subnormal, or beyond what a sum or a float can hold."""
    values = [0.0, -0.0, 5e-324, -5e-324, 1e-300, 1e-45, -1e-45, 3.5e38, -3.5e38, 1e308, -1e308]
    rng = np.random.default_rng(1)
    x = rng.choice(values, (60, 3))
    tree = cs.bvh.Tree(x, np.arange(60).reshape(-1, 3), 26, dtype=dtype)
    lower, upper = tree.boxes("vertices")
    assert not np.isnan(lower).any()
    assert not np.isnan(upper).any()
    for d, direction in enumerate(tree.directions.tolist()):
        for i in range(60):
            exact = sum(n * Fraction(float(v)) for n, v in zip(direction, x[i], strict=True))
            assert not np.isfinite(lower[i, d]) or Fraction(float(lower[i, d])) <= exact
            assert not np.isfinite(upper[i, d]) or Fraction(float(upper[i, d])) >= exact
            assert lower[i, d] < np.inf
            assert upper[i, d] > -np.inf
    faces = np.arange(60).reshape(-1, 3)
    for kind in KINDS:
        assert np.array_equal(tree.pairs(kind=kind), self_pairs(tree, faces, kind))


@pytest.mark.threads
@pytest.mark.parametrize("dtype", DTYPES)
def test_boxes_have_the_same_bits_on_all_threads(dtype):
    vertices, faces = fold(rows=193, columns=40)
    trees = [cs.bvh.Tree(vertices, faces, dtype=dtype) for _ in range(3)]
    found = []
    for threads, tree in zip((1, 2, 5), trees, strict=True):
        tree.pairs(kind="edge_edge")
        tree.refit(vertices + 0.01, vertices, 0.1, threads=threads)
        found.append([*tree.boxes("vertices"), tree.info["quality"], tree.pairs(kind="edge_edge")])
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other, strict=True))


# ---- refits and rebuilds -------------------------------------------------------------------------


@pytest.mark.parametrize("arity", [2, 4])
def test_a_refit_finds_what_a_new_tree_finds(arity):
    """Whatever the shape has become: the topology changes the tests, not the pairs."""
    vertices, faces = fold()
    tree = cs.bvh.Tree(vertices, faces, 18, arity=arity)
    for kind in KINDS:
        tree.pairs(kind=kind)
    rng = np.random.default_rng(0)
    for step in range(4):
        vertices = vertices @ rotation(step).T + 0.3 * rng.standard_normal(vertices.shape)
        tree.refit(vertices, vertices + 0.1, 0.05)
        new = cs.bvh.Tree(vertices, faces, 18, arity=arity)
        new.refit(vertices, vertices + 0.1, 0.05)
        for kind in KINDS:
            found = tree.pairs(kind=kind)
            assert np.array_equal(found, new.pairs(kind=kind))
            assert np.array_equal(found, self_pairs(tree, faces, kind))


def test_a_rebuild_changes_tests_and_no_pairs():
    vertices, faces = sheet(40, 40)
    tree = cs.bvh.Tree(vertices, faces, dtype="float32")
    tree.pairs(kind="edge_edge")
    assert tree.info["rebuilds"] == 0
    folded = fold(40, 40, layers=8)[0]
    tree.refit(folded, margin=0.1)
    found, before = tree.pairs(kind="edge_edge"), tree.info
    tree.rebuild()
    assert np.array_equal(tree.pairs(kind="edge_edge"), found)
    assert tree.info["rebuilds"] == before["rebuilds"] + 1
    assert tree.info["quality"] == 1
    assert tree.info["nodes"] == before["nodes"]


def test_a_worn_tree_is_built_anew():
    """Where what lay together has come apart; size, place and orientation do not wear it."""
    vertices, faces = soup(400, shared=0)
    tree = cs.bvh.Tree(vertices, faces)
    for kind in KINDS:
        tree.pairs(kind=kind)
    for size in (1e-3, 1.0, 1e3):
        tree.refit(size * (vertices @ rotation(2).T) + 7 * size)
        assert 0.6 < tree.info["quality"] <= 1.6
    assert tree.info["rebuilds"] == 0
    shuffled = vertices.reshape(-1, 3, 3)[np.random.default_rng(3).permutation(400)].reshape(-1, 3)
    tree.refit(shuffled)
    assert tree.info["rebuilds"] == 1
    assert tree.info["quality"] == 1
    tests = cs.bvh.Tree(shuffled, faces)
    for kind in KINDS:
        assert np.array_equal(tree.pairs(kind=kind), tests.pairs(kind=kind))
        assert tree.info["tests"] == tests.info["tests"]


def test_a_still_point_wears_no_tree():
    """All vertices in one place: boxes without extents."""
    vertices, faces = sheet()
    tree = cs.bvh.Tree(0 * vertices, faces)
    assert len(tree.pairs(kind="faces")) > 0
    tree.refit(0 * vertices)
    assert tree.info["quality"] == 1
    assert np.array_equal(tree.pairs(kind="faces"), self_pairs(tree, faces, "faces"))


def test_the_same_mesh_gives_the_same_tree():
    vertices, faces = soup(300)
    infos = []
    for _ in range(2):
        tree = cs.bvh.Tree(vertices, faces)
        tree.pairs(kind="faces")
        infos.append(tree.info)
    told = ("nodes", "depth", "tests", "pairs", "bytes", "kernel")
    assert [infos[0][key] for key in told] == [infos[1][key] for key in told]
    leaves = -(-300 // 4)
    assert leaves < infos[0]["nodes"] < 2 * leaves
    assert infos[0]["depth"] in (4, 5)


def test_inputs_are_left_as_they_are():
    vertices, faces = sheet()
    kept = vertices.copy(), faces.copy()
    tree = cs.bvh.Tree(vertices, faces)
    tree.refit(vertices, vertices, 0.1)
    tree.pairs()
    assert np.array_equal(vertices, kept[0])
    assert np.array_equal(faces, kept[1])
    for array in (tree.edges, tree.directions):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_description():
    tree = cs.bvh.Tree(*sheet(3, 3), dtype=np.float32)
    assert repr(tree) == "<Tree of 9 vertices, 16 edges, 8 faces, k = 18, float32>"
    with pytest.raises(TypeError, match="a Tree cannot be pickled"):
        pickle.dumps(tree)
    assert list(cs.bvh.rules()) == ["estimate", "leftmost", "random", "truth"]


# ---- bad input -----------------------------------------------------------------------------------

X = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize(
    ("vertices", "faces", "options", "message"),
    [
        ([[0, 0, 0], [1, np.nan, 0]], [[0, 1, 2]], {}, r"vertices\[1, 1\] is nan"),
        (X, [[0, 1, 3]], {}, r"faces\[0, 2\] is 3: there are vertices 0 to 2"),
        (X, [[0, 1, 2], [0, -1, 2]], {}, r"faces\[1, 1\] is -1"),
        (X, [[0, 1, 1]], {}, r"faces\[0\] has vertex 1 twice"),
        (X, np.zeros((0, 3), int), {}, "faces is empty"),
        (X, [], {}, "faces is empty"),
        (np.zeros((0, 3)), [[0, 1, 2]], {}, "vertices is empty"),
        (X, [[0, 1]], {}, r"faces has shape \(1, 2\)"),
        ([[0, 0]], [[0, 1, 2]], {}, r"vertices has shape \(1, 2\)"),
        (X, [[0, 1, 2]], {"k": 8}, "k is 8: 6, 14, 18 or 26 is needed"),
        (X, [[0, 1, 2]], {"arity": 3}, "arity is 3: 2 or 4 is needed"),
        (X, [[0, 1, 2]], {"dtype": "float16"}, "dtype is 'float16'"),
        (X, [[0, 1, 2]], {"dtype": "nothing"}, "dtype is 'nothing'"),
    ],
)
def test_meshes_that_are_wrong(vertices, faces, options, message):
    with pytest.raises(ValueError, match=message):
        cs.bvh.Tree(vertices, faces, **options)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x0": X[:2]}, "x0 has 2 vertices: the mesh has 3"),
        ({"x0": X, "x1": [*X, [0, 0, 0]]}, "x1 has 4 vertices: the mesh has 3"),
        ({"x0": X, "x1": [[0, 0, np.inf], *X[1:]]}, r"x1\[0, 2\] is inf"),
        ({"x0": X, "margin": -1e-3}, "margin is -0.001: a finite number that is not negative"),
        ({"x0": X, "margin": np.nan}, "margin is nan"),
        ({"x0": X, "margin": np.inf}, "margin is inf"),
        ({"x0": X, "threads": 0}, "threads is 0"),
    ],
)
def test_refits_that_are_wrong(given, message):
    """The boxes are those of before."""
    tree = cs.bvh.Tree(X, [[0, 1, 2]])
    before = tree.boxes("faces")
    with pytest.raises(ValueError, match=message):
        tree.refit(**given)
    assert all(np.array_equal(a, b) for a, b in zip(before, tree.boxes("faces"), strict=True))


def test_boxes_of_what():
    with pytest.raises(ValueError, match="kind: 'points' is unknown; known: vertices, edges"):
        cs.bvh.Tree(X, [[0, 1, 2]]).boxes("points")
