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
