"""The recipes of CONTRIBUTING.md, carried out on a copy of the sources.

Each example is added as the recipe says: one file, one line.  What they add up to is built in place
and used through Python.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from repository import ROOT

COPIED = ["setup.py", "pyproject.toml", "README.md", "LICENSE", "csrc", "contactsolve"]
KINDS = {
    "scenario",
    "order",
    "set",
    "method",
    "measure",
    "scheme",
    "pair",
    "stepper",
    "preconditioner",
    "rule",
}

FENCED = r"\n\n```\w+\n(.*?)```"
RECIPE = re.compile(r"^### Add an? (\w+)\n(.*?)(?=^##)", re.MULTILINE | re.DOTALL)
NEW_FILE = re.compile(r"^`([\w/.]+)`:" + FENCED, re.MULTILINE | re.DOTALL)
NEW_LINE = re.compile(r"^One line in `([\w/.]+)`:" + FENCED, re.MULTILINE | re.DOTALL)


def recipes():
    """Kind → (files, lines), each a list of (path, text), of the recipes with an example."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found = {
        kind: (NEW_FILE.findall(recipe), NEW_LINE.findall(recipe))
        for kind, recipe in RECIPE.findall(text)
    }
    return {kind: parts for kind, parts in found.items() if any(parts)}


def test_every_recipe_is_one_file_and_one_line():
    assert set(recipes()) == KINDS
    for kind, (files, lines) in recipes().items():
        assert len(files) == 1, kind
        assert len(lines) == 1, kind
        assert lines[0][1].count("\n") == 1, kind
        assert not (ROOT / files[0][0]).exists(), kind
        assert (ROOT / lines[0][0]).is_file(), kind


USE = """
import inspect
import json
import sys

import numpy as np
import scipy.sparse

import contactsolve as cs


def pulled(strength):
    J = np.zeros((1, 2, 2, 2))
    J[0, 1] = np.eye(2)
    sets = cs.sets.cable(strength)
    return cs.Problem(J, np.ones((1, 2)), [[-3.0, 2.0]], bodies=[[-1, 0]], sets=sets)


cable = pulled(10.0)
try:
    cs.Solver(cable, method="newton")
    refused = ""
except ValueError as error:
    refused = str(error)
J = np.zeros((600, 2, 1, 3))
J[:, 1, 0, 0] = 1.0
pairs = [[-1, k // 2] for k in range(600)]
b = -1.0 - np.abs(np.arange(600.0) - 250.0).reshape(600, 1)  # the largest: of the last island
loose = cs.Problem(J, np.ones((300, 3)), b, bodies=pairs)
stack = cs.scenarios.box_stack(3)
sweeps = {"rtol": None, "atol": None, "max_iterations": 3, "rollback": 0}
measured = {"method": "jacobi", "record": ("largest_impulse",), "check_every": 1, **sweeps}
apart, whole = (cs.solve(loose, islands=islands, **measured) for islands in ("auto", False))
odd = cs.solve(stack, method="gauss_seidel", order="strided", **sweeps)
permutation = [*range(1, 12, 2), *range(0, 12, 2)]
listed = cs.solve(stack, method="gauss_seidel", order=permutation, **sweeps)
thirds = cs.solve(stack, method="gauss_seidel", order=cs.orders.strided(stride=3), **sweeps)
permutation = [*range(2, 12, 3), *range(1, 12, 3), *range(0, 12, 3)]
listed_thirds = cs.solve(stack, method="gauss_seidel", order=permutation, **sweeps)


def misused(call):
    try:
        call()
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


A = stack.delassus().tocoo()
coupled = np.where(A.row // 3 == A.col // 3, 1.0, 0.25)
entries = {"rows": 3, "mu": stack.mu}
weak_A = (A.data * coupled, (A.row, A.col))
weak = cs.Problem.from_delassus(scipy.sparse.coo_array(weak_A, A.shape).tocsr(), stack.b, **entries)
loosened = {}
for dtype in ("float64", "float32"):
    swept = {**sweeps, "method": "gauss_seidel", "dtype": dtype}
    scheme = cs.schemes.loosened(coupling=0.25)
    one = cs.solve(stack, scheme=scheme, **swept).impulses
    other = cs.solve(weak, scheme="matrix", **swept).impulses
    loosened[dtype] = float(abs(one - other).max() / abs(other).max())
loosened["whole"] = (
    cs.solve(stack, method="gauss_seidel", scheme=cs.schemes.loosened(coupling=1), **sweeps)
    .impulses.tolist()
    == cs.solve(stack, method="gauss_seidel", scheme="matrix", **sweeps).impulses.tolist()
)
damping = cs.methods.damped(weight=0.25, growth=2.0)
damped = cs.solve(stack, method=damping, record=("largest_impulse",), check_every=1, **sweeps)
swept = cs.Solver(stack, method=damping, **sweeps)
swept.solve()
damped_again = swept.solve()
damped_apart = cs.solve(loose, method=damping, record=(), **sweeps)
by_hand, weight = np.zeros(12 * 3), 0.25
one = {**sweeps, "max_iterations": 1}
for _ in range(3):
    swept = cs.solve(stack, method="jacobi", initial=by_hand.reshape(12, 3), **one).impulses
    by_hand += weight * (swept.ravel() - by_hand)
    weight = min(1, 2 * weight)


diagonal = cs.sparse.SymmetricBlocks(np.diag([1.0, 2, 3, 5, 6, 7]), parts=2)
negative = cs.sparse.SymmetricBlocks(np.diag([1.0, 2, 3, -5, 6, -7]))
vertices, faces = cs.cloth.sheet(50, 50, 1.0)
folded = cs.bvh.Tree(np.abs(vertices - [0.5, 0, 0]), faces, 6)


def pairs_of_tasks():
    return folded.info["task_records"]["pair"].tolist()



def world(**options):
    return cs.dynamics.World(**{"gravity": (0, 0, 0), "allow_overlap": True, **options})


# A sphere before a face, an edge and a corner of a turned box, and twice within it.
places = [[1.3, 0.1, -0.2], [1.2, -2.3, 0.1], [1.1, 2.2, -3.3], [-0.8, 0.3, 0.4], [0.2, 0.1, 2.9]]
at, half, turn = np.array([5, 6, 7]), np.sqrt(0.5), np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
box, ball = cs.dynamics.Box([1.0, 2, 3]), cs.dynamics.Sphere(0.25)
touching = []
for place in places:
    for box_first in (True, False):
        pair = world(activation=10.0)
        parts = [(box, at, [half, 0, 0, half]), (ball, at + turn @ place, None)]
        for shape, position, turned in parts if box_first else reversed(parts):
            pair.add_body(shape, position, orientation=turned, mass=1.0)
        pair.step()
        found = pair.contacts
        normal = turn.T @ found.normals[0] * (-1 if box_first else 1)
        middle = turn.T @ (found.points[0] - at)
        feature = int(found.ids[0, 2])
        touching.append([float(found.gaps[0]), normal.tolist(), middle.tolist(), feature])
falling = world(gravity=(0, 0, -10), time_step=0.01, stepper="explicit_euler")
falling.add_fixed(cs.dynamics.HalfSpace([0.0, 0, 1]))
for height in (0.1, 50.0):
    falling.add_body(cs.dynamics.Sphere(0.1), [0, 0, height], density=1.0)
falling.run(100)
print(json.dumps({
    "file": cs.__file__,
    "pair": touching,
    "stepper": [falling.positions[:, 2].tolist(), falling.velocities[:, 2].tolist()],
    "preconditioner": [
        (cs.sparse.Preconditioner(diagonal, "trace", dtype=dtype) @ np.ones(6)).tolist()
        for dtype in ("float64", "float32")
    ],
    "preconditioner in cg": cs.sparse.cg(diagonal, np.ones(6), M="trace", rtol=1e-12).x.tolist(),
    "rule": [*cs.bvh.rules()],
    "rule of a query": {
        rule: [folded.pairs(kind="edge_edge", rule=rule, record=True).tolist(), pairs_of_tasks()]
        for rule in ("leftmost", "rightmost")
    },
    "preconditioner misused": misused(lambda: cs.sparse.Preconditioner(negative, "trace")),
    "stepper misused": misused(lambda: world(stepper="explicit_oiler")),
    "scenario": "falling_ball" in cs.scenarios.names(),
    "order": "strided" in cs.orders.names() and "strided" in cs.orders.__all__,
    "set": "cable" in cs.sets.names(),
    "method": "damped" in cs.methods.names(),
    "measure": "largest_impulse" in cs.measures.names(),
    "ball": cs.solve(cs.scenarios.falling_ball(2.5)).impulses.tolist(),
    "cable": {
        dtype: cs.solve(cable, dtype=dtype).impulses.tolist() for dtype in ("float64", "float32")
    },
    "weak cable": cs.solve(pulled(1.5)).impulses.tolist(),
    "set described": {
        "line": cs.sets.describe()["cable"],
        "signature": str(inspect.signature(cs.sets.cable)),
        "text": cs.sets.cable.__doc__,
        "call": repr(cs.sets.cable(1.5)),
    },
    "set misused": [
        misused(lambda: pulled(-1.0)),
        misused(lambda: cs.sets.cable()),
        misused(lambda: cs.sets.cable(strenght=2.0)),
    ],
    "refused": refused,
    "stride of 2": odd.impulses.tolist() == listed.impulses.tolist(),
    "stride of 3": thirds.impulses.tolist() == listed_thirds.impulses.tolist(),
    "order described": {
        "line": cs.orders.describe()["strided"],
        "option": repr(cs.orders.options()["strided"]["stride"]),
        "signature": str(inspect.signature(cs.orders.strided)),
        "text": cs.orders.strided.__doc__,
        "call": repr(cs.orders.strided(stride=3)),
        "visits": cs.orders.describe(stack, cs.orders.strided(stride=4)).visits.tolist(),
    },
    "order misused": [
        misused(lambda: cs.orders.strided(stride=0)),
        misused(lambda: cs.orders.strided(stride=10**18)),
        misused(lambda: cs.orders.strided(stride=1.5)),
        misused(lambda: cs.orders.strided(strides=3)),
        misused(lambda: cs.orders.colored(stride=3)),
        misused(lambda: cs.solve(stack, stride=3)),
        misused(lambda: cs.solve(stack, order="stride")),
    ],
    "not_natural": odd.impulses.tolist()
    != cs.solve(stack, method="gauss_seidel", **sweeps).impulses.tolist(),
    "damped": float(abs(damped.impulses.ravel() - by_hand).max() / abs(by_hand).max()),
    "damped again": cs.solve(stack, method=damping, **sweeps).impulses.tolist()
    == damped.impulses.tolist(),
    "damped converges": cs.solve(stack, method="damped", max_iterations=20_000).status,
    "scheme": "loosened" in cs.schemes.names() and "loosened" in cs.schemes.__all__,
    "loosened": loosened,
    "scheme described": {
        "line": cs.schemes.describe()["loosened"],
        "signature": str(inspect.signature(cs.schemes.loosened)),
        "text": cs.schemes.loosened.__doc__,
        "call": repr(cs.schemes.loosened(coupling=0.25)),
    },
    "scheme misused": [
        misused(lambda: cs.schemes.loosened(coupling=1.5)),
        misused(lambda: cs.schemes.loosened(copling=1)),
        misused(lambda: cs.schemes.matrix(coupling=1)),
        misused(lambda: cs.solve(stack, coupling=1)),
        misused(lambda: cs.solve(stack, scheme="losened")),
    ],
    "method figures": {
        "described": dict(cs.methods.describe()["damped"].figures),
        "text": str(cs.methods.describe()["damped"]),
        "told": [damped.info["damped_sweeps"], damped.info["final_weight"]],
        "again": damped_again.info["damped_sweeps"],
        "islands": damped_apart.info["damped_sweeps"],
        "clusters": damped_apart.info["clusters"],
        "elsewhere": "damped_sweeps" in cs.solve(stack, method="jacobi", **sweeps).info,
    },
    "method described": {
        "signature": str(inspect.signature(cs.methods.damped)),
        "call": repr(damping),
    },
    "method misused": [
        misused(lambda: cs.methods.damped(weight=0)),
        misused(lambda: cs.methods.damped(growth="fast")),
        misused(lambda: cs.methods.damped(wieght=0.5)),
    ],
    "largest_impulse": float(damped.history["largest_impulse"][-1]),
    "convex": cs.solve(cable, method="apgd").impulses.tolist(),
    "apart": {
        name: {
            "clusters": result.info.get("clusters", 0),
            "column": result.history["largest_impulse"].tolist(),
            "largest": float(abs(result.impulses).max()),
        }
        for name, result in {"islands": apart, "whole": whole}.items()
    },
    "largest": float(abs(damped.impulses).max()),
}))
"""


# Frictional sets under other names: methods know them by their fields alone.
COPIES = {"disc": "grip", "box_friction": "pads", "second_order_cone": "funnel"}
OF_COPIES = """
import itertools
import json

import numpy as np

import contactsolve as cs

copies = {copies}
stack = cs.scenarios.box_stack(2)
b = stack.b + 0.02 * np.random.default_rng(1).normal(size=stack.b.shape)
parts = {{"bodies": stack.bodies, "compliance": 1e-6}}
methods = {{
    "newton": cs.methods.newton(),
    "newton, fischer_burmeister": cs.methods.newton(kind="fischer_burmeister"),
    "newton, de_saxce": cs.methods.newton(kind="de_saxce"),
    "interior_point": "interior_point",
    "admm": "admm",
    "de_saxce": "de_saxce",
    "tresca": "tresca",
    "mass_splitting": "mass_splitting",
    "bpp": "bpp",
    "lemke": cs.methods.lemke(directions=6),
    "subspace": "subspace",
}}
found = {{}}
for (old, new), method in itertools.product(copies.items(), methods):
    told = []
    for name in (old, new):
        one = getattr(cs.sets, name)(mu=0.5)
        problem = cs.Problem(stack.J, stack.Minv, b, sets=one, **parts)
        try:
            result = cs.solve(problem, method=methods[method], max_iterations=300)
            told.append([result.converged, float(result.natural_map_scaled)])
        except ValueError as error:
            told.append(str(error).replace(f"'{{name}}'", "'it'"))
    found[f"{{old}}, {{method}}"] = told
print(json.dumps(found))
"""


def add_copies(folder):
    """Add each of `COPIES` as a recipe of CONTRIBUTING.md does: one file, one line."""
    for old, new in COPIES.items():
        text = (folder / f"csrc/prox/{old}.inc").read_text(encoding="utf-8")
        text = re.sub(rf"(?<=[_\W]){old}(?=[_\W])", new, text)
        (folder / f"csrc/prox/{new}.inc").write_text(text, encoding="utf-8")
        add_line(folder / "csrc/prox/sets.def", f'#include "prox/{new}.inc"\n')


def copy_sources(folder):
    ignored = shutil.ignore_patterns("*.so", "__pycache__", "build")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy(source, folder)


def add_line(path, line):
    """Below the last line that begins as the new one does: in the list, among its likes.

    A pair that is listed already gives way to the new one.
    """
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    pair = re.match(r"CS_PAIR\(\w+, \w+,", line)
    lines = [old for old in lines if not (pair and old.startswith(pair[0]))]
    start = re.match(r"#?\w+( \W?\w+)?", line)[0]
    last = max(i for i, old in enumerate(lines) if old.startswith(start))
    path.write_text("".join([*lines[: last + 1], line, *lines[last + 1 :]]), encoding="utf-8")


def run(folder, *command):
    """Standard output of Python in the copy; what it says on failure is the test's message."""
    # Strict: the recipes' code is to pass the checks of the library's own.
    environment = os.environ | {"CONTACTSOLVE_STRICT": "1", "CONTACTSOLVE_OPTIMIZE": "1"}
    for switch in ("CONTACTSOLVE_SANITIZE", "CONTACTSOLVE_COVERAGE", "LD_PRELOAD"):
        environment.pop(switch, None)
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        pytest.fail(f"{command}\n{done.stdout}{done.stderr}", pytrace=False)
    return done.stdout


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """What Python sees of the library with all examples added."""
    # Older ones do not read the licence of pyproject.toml.
    pytest.importorskip("setuptools", minversion="77")
    if shutil.which(os.environ.get("CC", "cc").split()[0]) is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("sources")
    copy_sources(folder)
    for files, lines in recipes().values():
        for path, text in files:
            (folder / path).write_text(text, encoding="utf-8")
        for path, line in lines:
            add_line(folder / path, line)
    add_copies(folder)
    run(folder, "setup.py", "-q", "build_ext", "--inplace")
    found = json.loads(run(folder, "-c", USE))
    found["copies"] = json.loads(run(folder, "-c", OF_COPIES.format(copies=COPIES)))
    assert Path(found["file"]).is_relative_to(folder)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_example_is_listed(extended, kind):
    assert extended[kind]


@pytest.mark.slow
def test_the_scenario_works(extended):
    assert extended["ball"] == [[2.5]]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_set_works(extended, dtype):
    """The row that would be pushed stays at 0, the one that is pulled gets -2."""
    assert extended["cable"][dtype] == [[0.0, -2.0]]


@pytest.mark.slow
def test_the_sets_parameter_is_described_and_checked(extended):
    assert extended["weak cable"] == [[0.0, -1.5]]
    told = extended["set described"]
    assert told["line"] == "-strength <= impulse <= 0: a cable"
    assert told["signature"].startswith("(strength) ->")
    assert "strength : float or (K,), at least 0\n    Largest impulse [N s]" in told["text"]
    assert told["call"] == "sets.cable(1.5)"
    small, missing, misspelt = extended["set misused"]
    wanted = "the strength of a cable is a finite number, 0 or more"
    assert small == f"ValueError: strength[0] is -1: {wanted}"
    assert missing == "TypeError: sets.cable needs strength: largest impulse [N s]"
    known = "TypeError: strenght is no parameter of sets.cable; known: strength"
    assert misspelt == f"{known}; did you mean 'strength'?"


@pytest.mark.slow
def test_newtons_method_refuses_a_set_without_a_slope(extended):
    assert "takes blocks of sets with a derivative of their prox" in extended["refused"]
    assert "set 'cable': use a method that sweeps" in extended["refused"]


@pytest.mark.slow
def test_the_order_works(extended):
    assert extended["stride of 2"]
    assert extended["stride of 3"]
    assert extended["not_natural"]


@pytest.mark.slow
def test_the_orders_option_is_described(extended):
    told = extended["order described"]
    assert told["line"] == "contacts 1, 3, 5, ..., then 0, 2, 4, ...; or in longer strides"
    assert "name='stride', kind='count', default=2, least=1.0" in told["option"]
    assert told["signature"].startswith("(*, stride=2)")
    assert "stride : int, at least 1, default 2\n    From one contact to the next" in told["text"]
    assert told["call"] == "strided(stride=3)"
    assert told["visits"] == [3, 7, 11, 2, 6, 10, 1, 5, 9, 0, 4, 8]


@pytest.mark.slow
def test_the_orders_option_is_checked(extended):
    small, large, fraction, name, elsewhere, solver, order = extended["order misused"]
    assert small == "ValueError: stride is 0: it must be at least 1"
    assert large == "ValueError: stride is 1000000000000000000: it must be at most 2e+09"
    assert fraction == "TypeError: stride is 1.5: an integer is needed"
    known = "TypeError: strides is no option of order='strided'; known: stride"
    assert name == f"{known}; did you mean 'stride'?"
    assert elsewhere.startswith("TypeError: stride is no option of order='colored'; known: strat")
    hint = "it is an option of orders, as contactsolve.orders.strided(stride=...)"
    assert solver == f"TypeError: solve has no option 'stride': {hint}"
    assert order.endswith("; did you mean 'strided'?")


@pytest.mark.slow
def test_the_scheme_works(extended):
    """As `matrix` with a given A whose blocks beside the diagonal have the factor already."""
    assert extended["loosened"]["float64"] < 1e-14
    assert extended["loosened"]["float32"] < 1e-5
    assert extended["loosened"]["whole"]


@pytest.mark.slow
def test_the_schemes_option_is_described_and_checked(extended):
    told = extended["scheme described"]
    assert told["line"] == "rows of A with a factor on the blocks beside the diagonal"
    assert told["signature"].startswith("(*, coupling=0.5)")
    assert "coupling : float, at least 0, at most 1, default 0.5\n    Factor on" in told["text"]
    assert told["call"] == "loosened(coupling=0.25)"
    large, misspelt, elsewhere, solver, scheme = extended["scheme misused"]
    assert large == "ValueError: coupling is 1.5: it must be at most 1"
    known = "TypeError: copling is no option of scheme='loosened'; known: coupling"
    assert misspelt == f"{known}; did you mean 'coupling'?"
    assert elsewhere == "TypeError: coupling is no option of scheme='matrix'; known: none"
    hint = "it is an option of schemes, as contactsolve.schemes.loosened(coupling=...)"
    assert solver == f"TypeError: solve has no option 'coupling': {hint}"
    assert scheme.endswith("; did you mean 'loosened'?")


@pytest.mark.slow
def test_the_method_works(extended):
    assert extended["damped"] < 1e-14
    assert extended["damped again"], "its state is not that of a fresh solve"
    assert extended["damped converges"] == "converged"


@pytest.mark.slow
def test_the_methods_figures_are_in_the_result(extended):
    """The weights are 1/4, 1/2 and 1 in three sweeps; a second solve counts anew."""
    told = extended["method figures"]
    assert told["described"] == {
        "damped_sweeps": "sweeps of which only a part was taken",
        "final_weight": "weight after the last sweep",
    }
    assert "  reports damped_sweeps, final_weight\n" in told["text"]
    assert told["told"] == [2, 1.0]
    assert [type(value) for value in told["told"]] == [int, float]
    assert told["again"] == 2
    assert told["clusters"] > 1
    assert told["islands"] == 2 * told["clusters"], "over islands, figures are summed"
    assert not told["elsewhere"]


@pytest.mark.slow
def test_the_methods_options_are_described_and_checked(extended):
    described = extended["method described"]
    assert "weight" in described["signature"]
    assert "growth" in described["signature"]
    assert "weight=0.25" in described["call"]
    small, word, misspelt = extended["method misused"]
    assert "weight is 0" in small
    assert "growth" in word
    assert "wieght is no option of method='damped'" in misspelt
    assert "did you mean 'weight'" in misspelt


@pytest.mark.slow
def test_the_measure_works(extended):
    assert extended["largest_impulse"] == extended["largest"] > 0


@pytest.mark.slow
def test_the_set_is_known_to_be_convex(extended):
    assert extended["convex"] == [[0.0, pytest.approx(-2.0)]]


@pytest.mark.slow
def test_the_pair_works(extended):
    """In the frame of the box: gap, normal towards the box, point midway; one feature for all."""
    wanted = [
        (0.3, [-1, 0, 0], [1, 0.1, -0.2]),
        (np.hypot(0.2, 0.3), np.array([-0.2, 0.3, 0]) / np.hypot(0.2, 0.3), [1, -2, 0.1]),
        (np.sqrt(0.14), np.array([-0.1, -0.2, 0.3]) / np.sqrt(0.14), [1, 2, -3]),
        (-0.2, [1, 0, 0], [-1, 0.3, 0.4]),
        (-0.1, [0, 0, -1], [0.2, 0.1, 3]),
    ]
    assert len(extended["pair"]) == 2 * len(wanted)
    for i, (gap, normal, point, feature) in enumerate(extended["pair"]):
        distance, towards, surface = wanted[i // 2]
        towards = np.array(towards)
        middle = np.array(surface) - 0.5 * (distance - 0.25) * towards
        assert gap == pytest.approx(distance - 0.25, abs=1e-14)
        assert normal == pytest.approx(towards.tolist(), abs=1e-14)
        assert point == pytest.approx(middle.tolist(), abs=1e-14)
        assert feature == 0


@pytest.mark.slow
def test_the_stepper_works(extended):
    """A ball at rest stays, and one that falls is late by half a step of its velocity."""
    (resting, falling), speeds = extended["stepper"]
    assert resting == pytest.approx(0.1, abs=1e-12)
    assert falling == pytest.approx(50 - 5 * 1.0**2 + 0.5 * 10 * 0.01, abs=1e-12)
    assert speeds == pytest.approx([0, -10], abs=1e-12)
    assert "explicit_oiler" in extended["stepper misused"]
    assert "explicit_euler" in extended["stepper misused"]


@pytest.mark.slow
def test_the_preconditioner_works(extended):
    for product in extended["preconditioner"]:
        assert product == pytest.approx([1 / 2] * 3 + [1 / 6] * 3, rel=1e-6)
    solution = [1 / d for d in (1, 2, 3, 5, 6, 7)]
    assert extended["preconditioner in cg"] == pytest.approx(solution, rel=1e-10)
    assert "vertex 1" in extended["preconditioner misused"]


@pytest.mark.slow
def test_the_rule_works(extended):
    """It finds the same pairs by other tasks."""
    assert "rightmost" in extended["rule"]
    (left, left_tasks), (right, right_tasks) = extended["rule of a query"].values()
    assert left == right
    assert len(left) > 1000
    assert left_tasks != right_tasks


@pytest.mark.slow
def test_the_measure_leaves_islands_apart(extended):
    """Its column is that of the whole problem: the largest of all islands after each sweep."""
    islands, whole = extended["apart"]["islands"], extended["apart"]["whole"]
    assert islands["clusters"] > whole["clusters"] == 0
    assert islands["column"] == pytest.approx(whole["column"], rel=1e-12, nan_ok=True)
    for result in (islands, whole):
        assert result["column"][-1] == result["largest"] > 0


@pytest.mark.slow
def test_a_frictional_set_is_taken_or_refused_by_what_it_can(extended):
    """As the set of which it is a copy: by the same methods, with the same words."""
    copies = extended["copies"]
    for case, (one, other) in copies.items():
        if isinstance(one, str):
            assert other == one, case
        else:
            assert other[0] == one[0], case
            assert other[1] == pytest.approx(one[1], rel=0.1, abs=1e-6), case
    solved = {case for case, (_, other) in copies.items() if isinstance(other, list) and other[0]}
    assert {"disc, newton", "disc, interior_point", "disc, admm", "box_friction, bpp"} <= solved
    assert {"box_friction, newton", "second_order_cone, interior_point"} <= solved
    assert isinstance(copies["disc, bpp"][1], str)
