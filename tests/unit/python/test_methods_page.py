"""docs/methods.md: the table of which method to use, row by row on a small problem of its kind."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import contactsolve as cs
from problems_of_classes import associated, coulomb, frictionless, moving_stack

PAGE = (Path(__file__).parents[3] / "docs" / "methods.md").read_text(encoding="utf-8")
TABLE = re.search(r"^## Which method for which problem\n(.*?)^## ", PAGE, re.M | re.S)[1]


def rows_of_the_table():
    """Kind of problem → options of `cs.solve`, as they are printed."""
    lines = [line.strip("| ").split(" | ") for line in TABLE.splitlines() if line[:1] == "|"]
    heads, _, *rows = lines
    assert heads[:2] == ["problem", "options"]
    options = {kind: re.fullmatch(r"`(.+)`", options)[1] for kind, options, *_ in rows}
    assert len(options) == len(rows)
    return options


ROWS = rows_of_the_table()


def joints():
    """Five bodies on ball joints, the first joint at the world."""
    rng = np.random.default_rng(3)
    J = 0.3 * rng.standard_normal((5, 2, 3, 6))
    J[:, 0, :, :3] -= np.eye(3)
    J[:, 1, :, :3] += np.eye(3)
    pairs = np.column_stack([np.arange(-1, 4), np.arange(5)])
    b = rng.standard_normal((5, 3))
    return cs.Problem(J, np.ones((5, 6)), b, bodies=pairs, sets=cs.sets.free())


def with_polygons():
    scene = cs.scenarios.random(12, bodies=15, rng=4)
    sets = cs.sets.polygon(0.5, sides=6)
    return cs.Problem(scene.J, scene.Minv, scene.b, bodies=scene.bodies, sets=sets)


def adhesive():
    """A ball that is pulled off at a speed which takes more than its contact can hold."""
    J = np.zeros((1, 2, 1, 3))
    J[0, 1, 0, 1] = 1.0
    holds = cs.sets.box(-1.0, np.inf)
    return cs.Problem(J, np.ones((1, 3)), [3.0], bodies=[[-1, 0]], sets=holds)


def with_a_zero():
    matrix = [[2.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0]]
    return cs.Problem.from_delassus(np.array(matrix), [-1.0, -2.0, -0.5], rows=1)


def grid(count):
    return cs.scenarios.ball_grid(count, velocity=0.05)


def heavy_stack():
    return cs.scenarios.box_stack(20, top_mass=1000.0)


# Beginning of the kind → what makes problems of it.
PROBLEMS = {
    "any": [lambda: coulomb(1)[0], joints, lambda: frictionless(1)[0]],
    "contacts without friction, boxes": [lambda: cs.scenarios.newton_cradle(5), adhesive],
    "contacts without friction, redundant": [lambda: frictionless(2, redundancy=0.5)[0]],
    "joints only": [joints],
    "mechanisms: ": [cs.scenarios.winch, cs.scenarios.vehicle],
    "mechanisms, ": [cs.scenarios.winch],
    "Coulomb friction: stacks": [lambda: cs.scenarios.box_stack(3), lambda: grid(4)],
    "Coulomb friction: loose": [lambda: cs.scenarios.ball_pile(6)],
    "large grids": [lambda: grid(4)],
    "larger grids": [lambda: grid(4)],
    "redundant grids": [lambda: grid(5)],
    "heavy bodies on light ones: ": [heavy_stack],
    "heavy bodies on light ones, ": [lambda: moving_stack(4, top_mass=1000.0)],
    "heavy load on a chain": [cs.scenarios.chain],
    "long chains": [cs.scenarios.chain],
    "ellipses": [with_polygons],
    "friction as the second-order cone": [lambda: associated(3)[0]],
    "polygonal friction": [with_polygons],
    "a given symmetric A": [with_a_zero],
    "real time": [lambda: cs.scenarios.box_stack(3)],
}


def kind_of(beginning):
    """The one row of the table that begins so."""
    (kind,) = (kind for kind in ROWS if kind.startswith(beginning))
    return kind


@cache
def start(make):
    """What `last` stands for: a few sweeps of the same problem."""
    return cs.solve(make(), method="nesterov", max_iterations=20)


@pytest.mark.parametrize(
    ("beginning", "make"),
    [(beginning, make) for beginning, makers in PROBLEMS.items() for make in makers],
)
def test_the_method_takes_the_problem_and_solves_it(beginning, make):
    printed = ROWS[kind_of(beginning)]
    names = {"cs": cs, "dict": dict} | ({"last": start(make)} if "=last" in printed else {})
    options = eval(f"dict({printed})", names)
    result = cs.solve(make(), **options)
    if "rtol" in options:
        assert result.status == "max_iterations"
        assert result.iterations == options["max_iterations"]
        assert result.natural_map < start(make).natural_map
    else:
        assert result.converged, result.message


def test_every_row_has_a_problem():
    assert {kind_of(beginning) for beginning in PROBLEMS} == set(ROWS)


def test_every_row_has_its_figures():
    _, _, *lines = [line for line in TABLE.splitlines() if line[:1] == "|"]
    for line in lines:
        assert re.search(r"\]\((?:performance\.md)?#[\w-]+\) \|$", line), line
