"""benchmarks/cloth: scripts run to the end on small sheets."""

import csv

import numpy as np
import pytest

import contactsolve as cs
from benchmark_scripts import importing_from
from repository import BENCHMARKS

pytest.importorskip("scipy.sparse")


def test_products(tmp_path, capsys):
    with importing_from(BENCHMARKS / "cloth"):
        import products

        products.main(["--sheets", "3x4,5x6", "--repeats", "1", "--results", str(tmp_path)])
        matrix = products.sheet_matrix(3, 4)
    assert capsys.readouterr().out.count("goal") == 2
    rows = list(csv.DictReader((tmp_path / "cloth_products.csv").read_text("utf-8").splitlines()))
    assert [row["vertices"] for row in rows] == ["12", "12", "30", "30"]
    x = np.arange(36.0)
    assert np.allclose(cs.sparse.SymmetricBlocks(matrix) @ x, matrix @ x, rtol=0, atol=1e-11)


def test_ccd(tmp_path, capsys):
    """Without peers: they are not installed here, or not asked."""
    with importing_from(BENCHMARKS / "cloth"):
        import ccd

        ccd.main(["--repeats", "1", "--without-peers", "--results", str(tmp_path)])
        start, end, faces = ccd.fold(9, 41, np.random.default_rng(0))
    assert "without peers" in capsys.readouterr().out
    rows = list(
        csv.DictReader((tmp_path / "cloth_ccd_queries.csv").read_text("utf-8").splitlines())
    )
    assert sum(int(row["queries"]) for row in rows) == 7279
    assert all(row["missed"] == "0" for row in rows)
    # Edges stay about as long as they are on the flat sheet, and layers a gap apart.
    edges = np.linalg.norm(start[faces] - start[np.roll(faces, 1, axis=1)], axis=2)
    assert 0.7 < edges.min() < edges.max() < 1.7
    assert start[:, 2].max() - start[:, 2].min() > (ccd.LAYERS - 1) * ccd.GAP - 0.5
    assert len(start) == len(end) == 9 * 41


def test_solves(tmp_path, capsys):
    with importing_from(BENCHMARKS / "cloth"):
        import solves

        solves.main(["--sheets", "8x9", "--repeats", "1", "--results", str(tmp_path)])
    assert capsys.readouterr().out.count("goal") == 4
    rows = list(csv.DictReader((tmp_path / "cloth_solves.csv").read_text("utf-8").splitlines()))
    kinds = cs.sparse.preconditioners()
    assert {row["kind"] for row in rows} == set(kinds)
    assert len(rows) == len(kinds) * len(solves.DTYPES) * len(solves.STEPS)
    assert all(float(row["relative_residual"]) <= solves.RTOL for row in rows)


def test_trees(tmp_path, capsys):
    with importing_from(BENCHMARKS / "cloth"):
        import trees

        options = ["--sheet", "33x12", "--repeats", "1", "--moves", "2", "--no-peers"]
        trees.main([*options, "--results", str(tmp_path)])
        assert trees.makespan([3, 2, 2, 1], 2) == 4
        for faces in (trees.fold(33, 12)[1], trees.sphere(1.0, 3)[1]):
            assert faces.min() == 0
    assert capsys.readouterr().out.count("goal") == 2
    rows = list(csv.DictReader((tmp_path / "cloth_trees.csv").read_text("utf-8").splitlines()))
    assert [row["scene"] for row in rows] == ["fold"] * 8 + ["drape"] * 8
    assert [row["threads"] for row in rows] == (["1"] * 4 + ["auto"] * 4) * 2
    assert all(int(row["edge_edge_pairs"]) > 0 for row in rows if row["k"] == "6")
    rules = csv.DictReader((tmp_path / "cloth_tree_rules.csv").read_text("utf-8").splitlines())
    assert [row["rule"] for row in rules] == list(cs.bvh.rules())


def test_steps(tmp_path, capsys):
    with importing_from(BENCHMARKS / "cloth"):
        import steps

        options = ["--scenes", "dress 1b", "--seconds", "0.005", "--threads", "2"]
        steps.main([*options, "--results", str(tmp_path)])
    told = capsys.readouterr().out
    assert told.count("goal 20") == 2
    assert told.count("goal 1.7") == 1
    rows = list(csv.DictReader((tmp_path / "cloth_steps.csv").read_text("utf-8").splitlines()))
    assert [row["threads"] for row in rows] == ["1", "2"]
    for row in rows:
        phases = sum(float(row[f"{phase}_ms"]) for phase in steps.PHASES)
        assert 0 < phases <= float(row["step_ms"])
