"""S1's published convergence figures, reproduced (S1 Table 3.3)."""

import json

import pytest

import contactsolve as cs
from repository import REFERENCE

TABLE = json.loads((REFERENCE / "s1_table33.json").read_text(encoding="utf-8"))


def solve(run, scheme):
    problem = cs.scenarios.ball_grid(run["size"], **TABLE["scene"])
    return cs.solve(
        problem,
        method=run["method"],
        scheme=scheme,
        order="natural",
        r_factor=TABLE["r_factor"],
        quality_r=TABLE["quality_r"],
        rollback=0,
        rtol=None,
        atol=None,
        max_iterations=run["sweeps"],
        record=("residual", "quality"),
        check_every=run["quality_after"],
    )


def cases():
    for run in TABLE["runs"]:
        # The matrix of the larger grids would cost more memory than it adds evidence.
        for scheme in ("factorized", "matrix") if run["size"] == 8 else ("factorized",):
            name = f"{run['method']}-{run['size']}-{scheme}"
            yield pytest.param(run, scheme, id=name)


@pytest.mark.parametrize(("run", "scheme"), list(cases()))
def test_quality_and_residual(run, scheme):
    result = solve(run, scheme)
    assert result.iterations == run["sweeps"]
    quality = result.history["quality"][run["quality_after"]]
    residual = result.history["residual"][run["sweeps"]]
    assert quality == pytest.approx(run["quality"], rel=TABLE["relative_tolerance"])
    assert residual == pytest.approx(run["residual"], rel=TABLE["relative_tolerance"])
    # S1 rounds the quality to three significant digits and the residual to three decimals.
    assert float(f"{quality:.3g}") == float(run["printed"]["quality"])
    assert f"{residual:.3f}" == run["printed"]["residual"]
