"""Pairs of primitives whose k-DOPs overlap, against all pairs by NumPy."""

import itertools

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _core
from interruption import ctrl_c_ends
from trees import KINDS, external_pairs, fold, rotation, self_pairs, sheet, soup

SHAPES = {"soup": soup, "sheet": sheet, "fold": fold}
DOPS = (6, 14, 18, 26)
DTYPES = ("float32", "float64")


def moved(vertices, seed=1, size=0.1):
    return vertices + size * np.random.default_rng(seed).standard_normal(vertices.shape)


def tree_of(shape, k, arity=4, dtype="float64", margin=0.3):
    """A tree in motion, and its faces."""
    vertices, faces = SHAPES[shape]()
    tree = cs.bvh.Tree(vertices, faces, k, arity=arity, dtype=dtype)
    tree.refit(vertices, moved(vertices), margin)
    return tree, faces


# ---- against brute force -------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("arity", [2, 4])
@pytest.mark.parametrize("k", DOPS)
@pytest.mark.parametrize("shape", SHAPES)
def test_pairs_of_a_mesh_with_itself(shape, k, arity, dtype):
    tree, faces = tree_of(shape, k, arity, dtype)
    total = 0
    for kind in KINDS:
        wanted = self_pairs(tree, faces, kind)
        found = tree.pairs(kind=kind)
        assert found.dtype == np.int64
        assert np.array_equal(found, wanted)
        assert tree.info["pairs"] == len(wanted)
        total += len(wanted)
    assert total > 50, "the mesh has too few pairs to tell anything"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("arity", [2, 4])
@pytest.mark.parametrize("k", DOPS)
def test_pairs_of_two_meshes(k, arity, dtype):
    """Of other sizes, so that leaves of one meet branches of the other."""
    vertices, faces = soup(70, seed=4)
    cloth = cs.bvh.Tree(vertices, faces, k, arity=arity, dtype=dtype)
    cloth.refit(vertices, moved(vertices), 0.05)
    body_vertices, body_faces = soup(11, seed=5)
    body = cs.bvh.Tree(1.5 * body_vertices, body_faces, k, arity=arity, dtype=dtype)
    for kind in KINDS:
        wanted = external_pairs(cloth, body, kind)
        assert len(wanted) > 5
        assert np.array_equal(cloth.pairs(body, kind), wanted)
        assert np.array_equal(body.pairs(cloth, kind), external_pairs(body, cloth, kind))


@pytest.mark.parametrize("faces", range(1, 12))
def test_few_faces(faces):
    """One leaf, a leaf that is not full, and branches with every number of children."""
    vertices, triangles = soup(faces, seed=faces, shared=0.3)
    for arity, dtype in itertools.product((2, 4), DTYPES):
        tree = cs.bvh.Tree(vertices, triangles, 14, arity=arity, dtype=dtype)
        tree.refit(vertices, margin=0.5)
        for kind in KINDS:
            assert np.array_equal(tree.pairs(kind=kind), self_pairs(tree, triangles, kind))


def test_many_pairs_of_one_primitive():
    """A face that overlaps all others: a long row to be sorted."""
    rng = np.random.default_rng(2)
    vertices = rng.random((900, 3))
    faces = rng.permutation(900).reshape(-1, 3)
    tree = cs.bvh.Tree(vertices, faces, 6)
    tree.refit(vertices, margin=2.0)
    found = tree.pairs(kind="faces")
    assert np.array_equal(found, np.argwhere(np.triu(np.ones((300, 300), bool), 1)))


def test_neighbours_are_left_out():
    """Two faces with one edge in common: the vertices opposite of it, and the edges there."""
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
    tree = cs.bvh.Tree(vertices, [[0, 1, 2], [1, 3, 2]])
    tree.refit(vertices, margin=1.0)
    assert tree.pairs(kind="faces").tolist() == []
    assert tree.pairs(kind="vertex_face").tolist() == [[0, 1], [3, 0]]
    assert tree.edges.tolist() == [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]
    assert tree.pairs(kind="edge_edge").tolist() == [[0, 4], [1, 3]]


def test_a_tree_with_itself_is_the_mesh_with_itself():
    tree, _ = tree_of("fold", 18)
    assert np.array_equal(tree.pairs(tree, "edge_edge"), tree.pairs(kind="edge_edge"))


# ---- threads and rules ---------------------------------------------------------------------------


def large(dtype="float32"):
    """A fold with enough tests for several threads."""
    vertices, faces = fold(rows=193, columns=40, layers=16)
    vertices = vertices @ rotation(1).T
    tree = cs.bvh.Tree(vertices, faces, 18, dtype=dtype)
    tree.refit(vertices, moved(vertices, size=0.05), 0.2)
    return tree, vertices


@pytest.fixture(scope="module")
def shared():
    return large()[0]


@pytest.mark.threads
@pytest.mark.parametrize("rule", cs.bvh.rules())
@pytest.mark.parametrize("kind", KINDS)
def test_pairs_depend_on_no_rule_and_no_thread(shared, rule, kind):
    wanted = shared.pairs(kind=kind, threads=1)
    tests = shared.info["tests"]
    assert tests > 10_000
    for threads in (1, 2, 3, 5):
        for record in (False, True):
            found = shared.pairs(kind=kind, threads=threads, rule=rule, record=record)
            assert np.array_equal(found, wanted)
            assert shared.info["tests"] == tests
            assert (shared.info["tasks"] > 5) == (record or shared.info["threads"] > 1)


@pytest.mark.parametrize("rule", cs.bvh.rules())
def test_tasks_do_all_of_the_work_once(shared, rule):
    shared.pairs(kind="edge_edge", rule=rule, record=True, threads=1)
    info = shared.info
    records = info["task_records"]
    assert records["tests"].sum() == info["tests"]
    assert len(records["tests"]) == info["tasks"] + 1 > 10
    assert (records["tests"] > 0).all()
    assert (records["seconds"] >= 0).all()
    assert len(np.unique(records["pair"], axis=0)) == len(records["pair"])


def test_random_rule_follows_its_seed(shared):
    def tasks(seed):
        shared.pairs(kind="edge_edge", rule="random", seed=seed, record=True, threads=1)
        return shared.info["task_records"]["pair"].tolist()

    assert tasks(1) == tasks(1)
    assert tasks(1) != tasks(2)


def test_tasks_of_estimates_are_worth_it(shared):
    """What was counted before is exact when nothing has moved: no task has fewer tests than 256."""
    shared.pairs(kind="edge_edge", threads=1)
    for rule in ("estimate", "truth"):
        shared.pairs(kind="edge_edge", rule=rule, record=True, threads=1)
        records = shared.info["task_records"]
        total = records["tests"].sum()
        assert shared.info["estimate_error"] == 0
        first = records["work"] == total
        assert first.sum() == 1
        assert (records["work"][~first] >= 256).all()
    shared.pairs(kind="edge_edge", rule="leftmost", record=True, threads=1)
    assert shared.info["task_records"]["tests"].min() < 256


def test_the_error_of_the_estimate():
    """Nothing is known before the first call; then it grows with the motion since the last one."""
    tree, vertices = large()
    tree.pairs(kind="vertex_face")
    assert np.isnan(tree.info["estimate_error"])
    errors = []
    for size in (0.0, 0.01, 0.3):
        tree.pairs(kind="vertex_face")
        tree.refit(vertices, moved(vertices, size=size), 0.2)
        tree.pairs(kind="vertex_face")
        errors.append(tree.info["estimate_error"])
        tree.refit(vertices, vertices, 0.2)
    assert 0 < errors[1] < errors[2]
    tree.rebuild()
    tree.pairs(kind="vertex_face")
    assert np.isnan(tree.info["estimate_error"]), "the nodes have other numbers"


def test_counts_of_several_meshes_are_kept_apart():
    vertices, faces = fold(rows=97, columns=30)
    cloth = cs.bvh.Tree(vertices, faces, dtype="float32")
    bodies = [cs.bvh.Tree(vertices + shift, faces, dtype="float32") for shift in (0.1, 0.2)]
    for _ in range(2):
        for body in bodies:
            cloth.pairs(body, "faces")
            first = cloth.info["estimate_error"]
    assert first == 0


@pytest.mark.threads
def test_ctrl_c_ends_a_query():
    """Everything overlaps everything."""
    rng = np.random.default_rng(0)
    vertices = rng.random((60_000, 3))
    tree = cs.bvh.Tree(vertices, np.arange(60_000).reshape(-1, 3), 6, dtype="float32")
    tree.refit(vertices, margin=2.0)
    ctrl_c_ends(lambda: tree.pairs(kind="faces", max_pairs=0), after=0.05, within=3)
    apart = np.repeat(np.arange(20_000.0), 3)[:, None] + [0, 0, 0]
    tree.refit(apart, margin=0.5)
    assert len(tree.pairs(kind="faces")) == 19_999


def test_no_failed_allocation_leaves_anything():
    vertices, faces = soup(60)
    live = _core.memory_live()
    n, failed = 0, True
    while failed:
        failed = False
        tree = None
        _core.memory_fail_after(n)
        try:
            tree = cs.bvh.Tree(vertices, faces, 14)
            tree.refit(vertices, margin=0.5)
            for kind in KINDS:
                tree.pairs(kind=kind, record=True, rule="truth")
            tree.rebuild()
        except MemoryError:
            failed = True
        finally:
            _core.memory_fail_after(-1)
        if tree is not None:
            wanted = self_pairs(tree, faces, "faces")
            assert np.array_equal(tree.pairs(kind="faces"), wanted)
        del tree
        assert _core.memory_live() == live
        n += 1
    assert n > 20


# ---- bad input -----------------------------------------------------------------------------------


def test_too_many_pairs():
    tree, faces = tree_of("soup", 18)
    for kind in KINDS:
        count = len(self_pairs(tree, faces, kind))
        assert len(tree.pairs(kind=kind, max_pairs=count)) == count
        for most in (0, count - 1):
            with pytest.raises(ValueError, match=f"{count} pairs were found: max_pairs is {most}"):
                tree.pairs(kind=kind, max_pairs=most)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"kind": "face"}, ValueError, "kind: 'face' is unknown; known: faces, vertex_face"),
        ({"kind": 3}, TypeError, "kind is 3"),
        ({"rule": "best"}, ValueError, "rule: 'best' is unknown; known: estimate, leftmost"),
        ({"max_pairs": -1}, ValueError, "max_pairs is -1"),
        ({"threads": 0}, ValueError, "threads is 0"),
        ({"seed": -1}, ValueError, "seed is -1"),
        ({"record": 1}, TypeError, "record is 1"),
        ({"other": 1}, TypeError, "other is int: a Tree is needed"),
    ],
)
def test_options_that_are_wrong(given, error, message):
    tree, _ = tree_of("sheet", 6)
    with pytest.raises(error, match=message):
        tree.pairs(**given)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ({"k": 18}, "other has k = 18, this tree 6"),
        ({"k": 6, "arity": 2}, "other has arity = 2, this tree 4"),
        ({"k": 6, "dtype": "float32"}, "other has dtype float32, this tree float64"),
    ],
)
def test_trees_that_differ(made, message):
    vertices, faces = sheet()
    tree, other = cs.bvh.Tree(vertices, faces, 6), cs.bvh.Tree(vertices, faces, **made)
    with pytest.raises(ValueError, match=message):
        tree.pairs(other)
