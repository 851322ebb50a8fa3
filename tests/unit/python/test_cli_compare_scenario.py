"""The commands `contactsolve compare` and `contactsolve scenario`."""

import csv
import functools
import inspect
import json
import sys
from collections.abc import Sequence

import numpy as np
import pytest

import contactsolve as cs
from contactsolve.cli import main
from contactsolve.scenarios import _scene

EASY = str(cs.data.path("Box_Stacks-i0122-82-5.reduced_local"))
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(autouse=True)
def _in_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def is_picture(path):
    return path.read_bytes().startswith(PNG) and path.stat().st_size > 10_000


# ---- compare ------------------------------------------------------------------------------------


@pytest.fixture
def compared(monkeypatch):
    """Arguments of every call of `contactsolve.compare`."""
    calls = []
    real = cs.compare

    def compare(problem, methods, **options):
        calls.append((list(methods), options))
        return real(problem, methods, **options)

    monkeypatch.setattr(cs, "compare", compare)
    monkeypatch.setattr(cs.compare, "__signature__", inspect.signature(real), raising=False)
    return calls


def test_compare_prints_the_table(capsys, compared):
    words = ["--methods", "jacobi", "gauss_seidel,relaxation=1.5,dtype=float32"]
    rest = ["--until", "1e-3", "--repeats", "1", "--max-iterations", "60"]
    assert main(["compare", EASY, *words, *rest]) == 0
    printed = capsys.readouterr().out
    assert "until natural map <= 0.001 N s; mean and σ of 1 run\n" in printed
    assert "gauss_seidel, relaxation=1.5, dtype=float32 " in printed
    ((methods, options),) = compared
    assert [(method.method, method.options) for method in methods] == [
        ("jacobi", {}),
        ("gauss_seidel", {"relaxation": 1.5, "dtype": "float32"}),
    ]
    assert options == {"until": 1e-3, "repeats": 1, "max_iterations": 60}


def test_compare_takes_options_of_methods(capsys, compared):
    words = ["nesterov,restart=2,over=jacobi,dtype=float32", "newton,start-with=gauss_seidel"]
    rest = ["--repeats", "1", "--max-iterations", "20", "--until", "nesterov,restart=3:5"]
    assert main(["compare", EASY, "--methods", *words, *rest]) == 0
    ((methods, options),) = compared
    assert [str(method.method) for method in methods] == [
        "nesterov(over=jacobi, restart=2.0)",
        "newton(start_with=gauss_seidel)",
    ]
    assert [method.options for method in methods] == [{"dtype": "float32"}, {}]
    assert str(options["until"].method.method) == "nesterov(restart=3.0)"
    assert "nesterov(over=jacobi, restart=2.0), dtype=float32 " in capsys.readouterr().out


def test_compare_takes_all_methods_and_the_defaults_of_python(capsys, compared):
    assert main(["compare", EASY]) == 0
    ((methods, options),) = compared
    assert methods == cs.methods.sweeping()
    assert options == {"until": None, "repeats": 5}


def test_compare_until_a_quality(capsys, compared):
    words = ["--methods", "jacobi", "--methods", "gauss_seidel", "--repeats", "1"]
    assert main(["compare", EASY, "--until", "gauss_seidel,relaxation=0.5:12", *words]) == 0
    ((methods, options),) = compared
    assert [method.method for method in methods] == ["jacobi", "gauss_seidel"]
    until = options["until"]
    assert (until.method.label, until.iterations) == ("gauss_seidel, relaxation=0.5", 12)
    assert "(gauss_seidel, relaxation=0.5 after 12 sweeps)" in capsys.readouterr().out


def test_compare_reads_saved_files_and_writes_csv(tmp_path, capsys):
    cs.scenarios.chain().save(tmp_path / "chain.hdf5")
    words = ["chain.hdf5", "--methods", "jacobi", "gauss_seidel", "--repeats", "1"]
    words += ["--max-iterations", "5"]
    assert main(["compare", *words, "--csv", "a.csv"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("chain 0, 170 contacts")
    assert printed.endswith(f"table: {tmp_path / 'a.csv'}\n")
    head, *rows = csv.reader((tmp_path / "a.csv").read_text(encoding="utf-8").splitlines())
    assert head[:3] == ["method", "iterations", "time [s]"]
    assert [row[:2] for row in rows] == [["jacobi", "5"], ["gauss_seidel", "5"]]
    assert main(["compare", *words, "--csv", "a.csv"]) == 2
    assert "a.csv exists: pass --overwrite to replace it" in capsys.readouterr().err
    assert main(["compare", *words, "--csv", "a.csv", "--overwrite", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert [row["method"] for row in listed] == ["jacobi", "gauss_seidel"]
    assert list(listed[0]) == [name.partition(" ")[0] for name in head]
    assert main(["compare", *words, "--csv", "-", "--plot", "a.png"]) == 0
    assert [line.split(",")[0] for line in capsys.readouterr().out.splitlines()] == [
        "method",
        "jacobi",
        "gauss_seidel",
    ]
    assert is_picture(tmp_path / "a.png")


def test_compare_shows_progress_on_a_terminal_only(compared, monkeypatch):
    words = ["compare", EASY, "--methods", "jacobi", "--repeats", "1", "--max-iterations", "5"]
    assert main(words) == 0
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main([*words, "--quiet"]) == 0
    assert main(words) == 0
    assert [options.get("progress") for _, options in compared] == [None, None, 1.0]


def test_scenarios_are_saved(tmp_path, capsys):
    assert main(["scenario", "chain", "--step", "3", "--save", "chain.hdf5"]) == 0
    assert f"saved:    {tmp_path / 'chain.hdf5'}\n" in capsys.readouterr().out
    loaded, made = cs.load_problem(tmp_path / "chain.hdf5"), cs.scenarios.chain(3)
    assert loaded.name == made.name
    for one, other in zip(loaded.b, made.b, strict=True):
        assert np.array_equal(one, other)
    assert main(["scenario", "chain", "--save", "chain.hdf5"]) == 2
    assert "chain.hdf5 exists: pass --overwrite" in capsys.readouterr().err


@pytest.mark.parametrize("until", ["1e-3", "gauss_seidel:10"])
def test_compare_draws(tmp_path, capsys, until):
    words = ["--until", until, "--repeats", "1", "--plot", "a.png"]
    assert main(["compare", EASY, *words]) == 0
    assert is_picture(tmp_path / "a.png")
    assert capsys.readouterr().out.endswith(f"picture: {tmp_path / 'a.png'}\n")


def test_compare_tells_what_did_not_get_there_and_is_done(capsys):
    words = ["--until", "1e-12", "--max-iterations", "5", "--repeats", "1"]
    assert main(["compare", EASY, *words]) == 0
    assert "jacobi did not reach natural map <= 1e-12 N s within 5 sweeps." in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.hdf5"], "nothing.hdf5 does not exist"),
        ([EASY, "--methods", "sor"], "method: 'sor' is unknown; known: auto, jacobi"),
        ([EASY, "--repeats", "0"], "repeats is 0: at least 1 is needed"),
        (
            [EASY, "--until", "1e-3", "--rtol", "1"],
            "rtol is given for auto, but until= determines it",
        ),
        ([EASY, "--methods", "jacobi", "jacobi"], "two methods are labelled 'jacobi'"),
        ([EASY, "--plot", "no/a.png"], "the folder of no/a.png does not exist"),
    ],
)
def test_compare_errors_are_told_in_one_line(tmp_path, capsys, arguments, message):
    assert main(["compare", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("contactsolve: error: ")
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            [EASY, "--methods", "jacobi,relax=2"],
            "relax in 'jacobi,relax=2' is no option of jacobi or of the solver; known: scheme, ord",
        ),
        ([EASY, "--methods", "jacobi,fast"], "'fast' in 'jacobi,fast' is not OPTION=VALUE"),
        ([EASY, "--methods", "jacobi,omega=2"], "; did you mean 'relaxation'?"),
        ([EASY, "--methods", "nesterov,restrt=2"], "; did you mean 'restart'?"),
        ([EASY, "--methods", "nestrov,restart=2"], "; did you mean 'nesterov'?"),
        ([EASY, "--methods", "jacobi,method=bpp"], "method in 'jacobi,method=bpp' is no option"),
        ([EASY, "--methods", "nesterov,restart=x"], "restart in 'nesterov,restart=x': 'x' is not"),
        (
            [EASY, "--methods", "nesterov,restart=0.5"],
            "'nesterov,restart=0.5': restart is 0.5: it must be at least 1",
        ),
        ([EASY, "--methods", "bpp,engine=schor"], "; did you mean 'schur'?"),
        ([EASY, "--methods", "bpp,interior=maybe"], "'maybe' is not yes or no"),
        (
            [EASY, "--engine", "schur"],
            "--engine schur; it is an option of methods, as --methods bpp,engine=VALUE",
        ),
        ([EASY, "--tol", "1"], "unrecognized arguments: --tol 1; did you mean --rtol?"),
        ([EASY, "--methods", "jacobi,relaxation=a"], "relaxation in 'jacobi,relaxation=a': 'a' is"),
        ([EASY, "--until", "good"], "argument --until: 'good' is not a number"),
        ([EASY, "--until", "jacobi:0"], "'jacobi:0': iterations is 0: at least 1 is needed"),
        ([EASY, "--until", "jacobi:x"], "argument --until: 'x' is not an integer"),
    ],
)
def test_compare_usage_errors(capsys, arguments, message):
    with pytest.raises(SystemExit) as caught:
        main(["compare", *arguments])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


# ---- scenario -----------------------------------------------------------------------------------


def equal(first, second):
    return all(
        np.array_equal(getattr(first, name), getattr(second, name))
        for name in ("J", "Minv", "b", "mu", "bodies")
    )


@pytest.fixture
def made(monkeypatch):
    """Problems that were made by `scenarios.get(...)`."""
    problems = []
    real = cs.scenarios.get

    def get(name):
        @functools.wraps(real(name))
        def make(**parameters):
            problems.append(real(name)(**parameters))
            return problems[-1]

        return make

    monkeypatch.setattr(cs.scenarios, "get", get)
    return problems


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["ball_grid", "--size", "2"], lambda: cs.scenarios.ball_grid(2)),
        (
            ["ball_grid", "--shape", "3,2,1", "--ground", "body", "--mass", "2.5", "--mu", "0.1"],
            lambda: cs.scenarios.ball_grid((3, 2, 1), ground="body", mass=2.5, mu=0.1),
        ),
        (
            ["box_stack", "--count", "2", "--size", "1,2,0.5", "--mu", "0.1,0.2,0.3,0.4,0,1,2,3"],
            lambda: cs.scenarios.box_stack(
                2, size=(1, 2, 0.5), mu=(0.1, 0.2, 0.3, 0.4, 0, 1, 2, 3)
            ),
        ),
        (["box_stack", "--top-mass", "none"], lambda: cs.scenarios.box_stack(top_mass=None)),
        (["box_stack", "--time-step", "1e-3"], lambda: cs.scenarios.box_stack(time_step=1e-3)),
    ],
)
def test_scenario_takes_the_parameters_of_the_function(capsys, made, words, expected):
    assert main(["scenario", *words]) == 0
    (problem,) = made
    assert equal(problem, expected())
    printed = capsys.readouterr().out
    assert f"{problem.name}, {problem.contacts} contacts of 3 rows" in printed
    assert f"{problem.bodies_count} bodies, {problem.block_count} blocks of A" in printed


def test_every_scenario_has_a_command_and_every_parameter_an_option(capsys):
    for name in cs.scenarios.names():
        with pytest.raises(SystemExit) as caught:
            main(["scenario", name, "--help"])
        assert caught.value.code == 0
        shown = capsys.readouterr().out
        for parameter in inspect.signature(cs.scenarios.get(name)).parameters:
            flag = parameter.replace("_", "-")
            assert f"--{flag} " in shown or f"--{flag}," in shown


def test_every_scenario_can_be_made_small(capsys):
    for name in cs.scenarios.names():
        assert main(["scenario", name, *(["--shape", "3"] if "ball" in name else [])]) == 0
        assert capsys.readouterr().out.startswith(f"problem:  {name}")


def test_scenario_of_tomorrow(capsys, monkeypatch, tmp_path):
    """A new scenario needs no change here: every kind of parameter, from its signature."""
    seen = {}

    def tower(
        layers: int,
        *,
        tilt: float = 1.5,
        forces: Sequence[float] = (0.0, -1.0),
        counts: int | Sequence[int] = 1,
        smooth: bool = False,
        order: str = "up",
        limit: float | None = None,
        rng: "_scene.Seed" = 0,
    ):
        """Stack 100 % of what there is.

        Parameters
        ----------
        layers : int
            How many, at least one.
        tilt : float, default 1.5
            Of each, in ``degrees``
            or so.

        Returns
        -------
        Problem
        """
        given = dict(locals())
        seen.update({name: given[name] for name in given if name != "seen"})
        return cs.scenarios.box_stack(layers)

    monkeypatch.setitem(_scene.REGISTRY, "tower", tower)
    assert main(["scenario", "tower", "--size", "2"]) == 0
    assert seen == {
        "layers": 2, "tilt": 1.5, "forces": (0.0, -1.0), "counts": 1, "smooth": False,
        "order": "up", "limit": None, "rng": 0,
    }  # fmt: skip
    words = ["--layers=3", "--tilt=2", "--forces=-1,2", "--counts=4,5", "--smooth", "--order=down"]
    assert main(["scenario", "tower", *words, "--limit=7", "--rng=none"]) == 0
    assert seen == {
        "layers": 3, "tilt": 2.0, "forces": (-1.0, 2.0), "counts": (4, 5), "smooth": True,
        "order": "down", "limit": 7.0, "rng": None,
    }  # fmt: skip
    assert isinstance(seen["tilt"], float)
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["scenario", "tower", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "Stack 100 % of what there is." in shown
    assert "How many, at least one. (required)" in shown
    assert "Of each, in degrees or so. (default: 1.5)" in shown
    assert "(default: 0,-1)" in shown
    assert main(["scenario", "--list"]) == 0
    assert "tower: Stack 100 % of what there is.\n  --layers  --tilt 1.5" in (
        capsys.readouterr().out
    )


def test_scenario_list(capsys):
    assert main(["scenario", "--list"]) == 0
    printed = capsys.readouterr().out
    heads = [block.partition(":")[0] for block in printed.split("\n\n")]
    assert heads == list(cs.scenarios.names())
    for name in heads:
        for parameter in inspect.signature(cs.scenarios.get(name)).parameters:
            assert f"--{parameter.replace('_', '-')}" in printed


def test_scenario_writes_a_file(tmp_path, capsys):
    assert main(["scenario", "box_stack", "--count", "2", "-o", "stack.hdf5"]) == 0
    path = tmp_path / "stack.hdf5"
    assert f"file:     {path}\n" in capsys.readouterr().out
    problem, expected = cs.io.read_fclib(path), cs.scenarios.box_stack(2)
    assert np.array_equal(problem.b, expected.b)
    assert np.array_equal(problem.mu, expected.mu)
    difference = problem.delassus().toarray() - expected.delassus().toarray()
    assert not difference.any()
    assert main(["scenario", "box_stack", "-o", "stack.hdf5"]) == 2
    assert "stack.hdf5 exists: pass --overwrite to replace it" in capsys.readouterr().err
    assert main(["scenario", "box_stack", "-o", "stack.hdf5", "--overwrite"]) == 0
    assert cs.io.read_fclib(path).contacts == 40
    assert main(["solve", "stack.hdf5", "--rtol", "1e-3"]) == 0


def test_scenario_draws(tmp_path, capsys):
    assert main(["scenario", "ball_grid", "--size", "3", "--plot", "grid.png"]) == 0
    assert is_picture(tmp_path / "grid.png")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["box_stack", "--count", "0"], "count is 0: expected an integer above zero"),
        (["box_stack", "--mass", "-1"], "mass is -1.0: expected a finite number above zero"),
        (["ball_grid", "--size", "2", "--ground", "sea"], "ground is 'sea': expected one of"),
        (
            ["ball_grid", "--size", "2", "--rows", "1", "-o", "a.hdf5"],
            "FCLIB holds Coulomb and rolling friction only",
        ),
        (["box_stack", "-o", "no/a.hdf5"], "the folder of no/a.hdf5 does not exist"),
    ],
)
def test_scenario_errors_are_told_in_one_line(tmp_path, capsys, arguments, message):
    assert main(["scenario", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("contactsolve: error: ")
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "contactsolve scenario: error: a NAME or --list is required"),
        (["dance"], "invalid choice: 'dance' (choose from"),
        (["boxstack"], "; did you mean 'box_stack'?"),
        (["box_stack", "--cuont", "2"], "--cuont 2; did you mean --count?"),
        (["box_stack", "--count", "2.5"], "argument --count: '2.5' is not an integer"),
        (["box_stack", "--mass", "heavy"], "argument --mass: 'heavy' is not a number"),
        (["ball_grid", "--size", "2,x"], "argument --shape/--size: 'x' is not an integer"),
        (["box_stack", "--colour", "red"], "unrecognized arguments: --colour"),
    ],
)
def test_scenario_usage_errors(capsys, arguments, message):
    with pytest.raises(SystemExit) as caught:
        main(["scenario", *arguments])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_numbers_are_shown_as_numbers(capsys):
    """A default of 1 or 0 is no yes or no."""
    with pytest.raises(SystemExit):
        main(["scenario", "incline", "--help"])
    assert "Number of blocks. (default: 1)" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["scenario", "disc_pyramid", "--help"])
    assert "(default: no)" in " ".join(capsys.readouterr().out.split())
