"""The command `contactsolve`: what it prints, writes and returns."""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import contactsolve as cs
from contactsolve._cli_options import method as parse_method
from contactsolve.cli import main
from repository import FCLIB

EASY = FCLIB / "Rover4396.hdf5"
HARD = FCLIB / "OneObject-i100000-499.hdf5"
PNG = b"\x89PNG\r\n\x1a\n"

SETUP = (
    "import sys; sys.modules.update(dict.fromkeys({blocked!r})); from contactsolve.cli import main"
)


@pytest.fixture(autouse=True)
def _in_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(*arguments, command=(sys.executable, "-m", "contactsolve")):
    """Run the command in a process of its own."""
    words = [*command, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def run_without(packages, *arguments):
    """The same where some packages cannot be imported."""
    code = f"{SETUP.format(blocked=packages)}; sys.exit(main({list(map(str, arguments))}))"
    return run(command=(sys.executable, "-c", code))


def is_picture(path):
    return path.read_bytes().startswith(PNG) and path.stat().st_size > 10_000


# ---- demo ---------------------------------------------------------------------------------------


def test_demo_shows_a_table_and_a_picture(tmp_path):
    done = run("demo")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["contactsolve_demo.png"]
    assert is_picture(tmp_path / "contactsolve_demo.png")
    assert done.stdout.splitlines()[-1] == f"picture: {tmp_path / 'contactsolve_demo.png'}"
    assert re.search(r"^Gauss-Seidel +\d+ .* converged$", done.stdout, re.MULTILINE)
    assert re.search(r"^Jacobi +250 .* max iterations$", done.stdout, re.MULTILINE)
    assert "Jacobi did not reach its tolerance within 250 sweeps." in done.stdout


def test_demo_needs_only_its_extras(tmp_path):
    done = run_without(("scipy", "tqdm", "pandas", "IPython"), "demo", "--output", "other")
    assert done.returncode == 0, done.stderr
    assert is_picture(tmp_path / "other.png")


@pytest.mark.parametrize(("package", "extra"), [("matplotlib", "plot"), ("h5py", "io")])
def test_demo_names_the_missing_extra(package, extra):
    done = run_without((package,), "demo")
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.fullmatch(
        rf"contactsolve: error: .* need {package}, .* pip install 'contactsolve\[{extra}\]'\n",
        done.stderr,
    )


# ---- solve --------------------------------------------------------------------------------------


def test_solve_converged():
    done = run("solve", EASY, "--method", "gauss_seidel")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Rover4396, 2 contacts of 3 rows" in done.stdout
    assert "converged after 20 iterations" in done.stdout
    assert "A is unsymmetric" in done.stdout


def test_solve_not_converged_says_so():
    done = run("solve", HARD, "--max-iterations", 20)
    assert done.returncode == 1
    assert done.stderr == "contactsolve: the solve did not converge\n"
    assert "not converged after 20 iterations" in done.stdout


def test_sweeps_asked_for_are_no_failure(capsys):
    arguments = ["solve", HARD, "--rtol", "none", "--atol", "none", "--max-iterations", "5"]
    assert main(list(map(str, arguments))) == 0
    assert "5 iterations made, as requested" in capsys.readouterr().out


def test_options_are_those_of_the_solver(capsys, monkeypatch):
    seen = {}

    def solve(problem, **options):
        """All options at once: some of them would leave others without effect."""
        seen.update(options)
        return solver(problem, **(options if len(options) < 2 else {}))

    solver = cs.solve
    monkeypatch.setattr(cs, "solve", solve)
    given = {
        "method": "jacobi",
        "scheme": "matrix",
        "order": "random",
        "rng": 3,
        "local": "projected",
        "relaxation": 0.5,
        "averaging": 0.75,
        "r_factor": 2.5,
        "rollback": 0,
        "rollback_growth": 2.0,
        "bound": "previous",
        "rtol": None,
        "atol": 1e-3,
        "stop": "residual",
        "quality_r": 10.0,
        "check_every": 2,
        "max_iterations": 50,
        "dtype": "float32",
        "threads": 1,
        "parts": 3,
    }
    words = []
    for name, value in given.items():
        words += [f"--{name.replace('_', '-')}", "none" if value is None else str(value)]
    main(["solve", str(EASY), *words])
    assert seen == given
    seen.clear()
    assert main(["solve", str(EASY), "--r-factor", "block"]) == 0
    assert seen == {"r_factor": "block"}
    assert main(["solve", str(EASY)]) == 0
    assert seen == {"r_factor": "block"}  # nothing further: the defaults are the solver's


def test_solve_writes_the_solution(tmp_path, capsys):
    output = tmp_path / "solved.hdf5"
    assert main(["solve", str(EASY), "--output", "solved.hdf5", "--rtol", "1e-9"]) == 0
    assert f"solution: {output}" in capsys.readouterr().out
    solved = cs.io.read_fclib(output, details=True)
    expected = cs.solve(cs.io.read_fclib(EASY), rtol=1e-9)
    assert np.array_equal(solved.solution.impulses, expected.impulses)
    assert np.array_equal(solved.problem.b, expected.problem.b)


def test_solve_replaces_only_if_told(tmp_path, capsys):
    output = tmp_path / "solved.hdf5"
    output.write_text("mine")
    assert main(["solve", str(EASY), "--output", "solved.hdf5"]) == 2
    assert "solved.hdf5 exists: pass --overwrite to replace it" in capsys.readouterr().err
    assert output.read_text() == "mine"
    assert main(["solve", str(EASY), "--output", "solved.hdf5", "--overwrite"]) == 0
    assert cs.io.read_fclib(output).contacts == 2


def test_output_may_replace_the_input(tmp_path):
    copy = Path(shutil.copy(EASY, tmp_path / "copy.hdf5"))
    assert main(["solve", "copy.hdf5", "--output", "copy.hdf5", "--overwrite"]) == 0
    assert cs.io.read_fclib(copy, details=True).solution is not None


@pytest.mark.parametrize(("name", "head"), [("a.png", PNG), ("a.pdf", b"%PDF"), ("a", PNG)])
def test_solve_draws(tmp_path, capsys, name, head):
    assert main(["solve", str(EASY), "--plot", name]) == 0
    (picture,) = tmp_path.iterdir()
    assert picture.read_bytes().startswith(head)
    assert f"picture: {picture}" in capsys.readouterr().out


def test_picture_of_a_solve_that_did_not_converge(tmp_path):
    assert main(["solve", str(HARD), "--max-iterations", "20", "--plot", "a.png"]) == 1
    assert is_picture(tmp_path / "a.png")


# ---- saved files, JSON, CSV ---------------------------------------------------------------------


def test_saved_files_are_solved_and_written(tmp_path, capsys):
    cs.scenarios.chain().save(tmp_path / "chain.hdf5")
    words = ["--save", "result.hdf5", "--method", "gauss_seidel", "--max-iterations", "5"]
    assert main(["solve", "chain.hdf5", *words]) == 1
    printed = capsys.readouterr().out
    problem = cs.load_problem(tmp_path / "chain.hdf5")
    rows = ", ".join(map(str, sorted(set(problem.rows))))
    assert f"{problem.name}, {problem.contacts} contacts of {rows} rows" in printed
    assert printed.endswith(f"result: {tmp_path / 'result.hdf5'}\n")
    wanted = cs.solve(problem, method="gauss_seidel", max_iterations=5)
    result = cs.load_result(tmp_path / "result.hdf5")
    for one, other in zip(result.impulses, wanted.impulses, strict=True):
        assert np.array_equal(one, other)
    assert main(["solve", "result.hdf5", "--save", "result.hdf5"]) == 2
    assert "result.hdf5 exists: pass --overwrite to replace it" in capsys.readouterr().err


def test_fclib_output_is_refused_before_the_solve(tmp_path, capsys, monkeypatch):
    cs.scenarios.chain().save(tmp_path / "chain.hdf5")
    monkeypatch.setattr(cs, "solve", None)
    assert main(["solve", "chain.hdf5", "--output", "out.hdf5"]) == 2
    assert (
        "problem has groups of 1 and 3 rows: FCLIB holds contacts of one kind"
        in capsys.readouterr().err
    )


def test_problems_without_a_name_have_the_files(tmp_path, capsys):
    cs.Problem.from_delassus(np.eye(3), [-1.0, 0, 0], 0.5).save(tmp_path / "mine.hdf5")
    assert main(["solve", "mine.hdf5"]) == 0
    assert "mine, 1 contact of 3 rows" in capsys.readouterr().out


def test_solve_prints_one_json_document(tmp_path, capsys):
    words = ["--method", "gauss_seidel", "--max-iterations", "20", "--plot", "a.png"]
    assert main(["solve", str(HARD), *words, "--json", "--save", "a.hdf5"]) == 1
    document = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    result = cs.load_result(tmp_path / "a.hdf5")
    names = ("status", "message", "iterations", "sweep_time", "time", "wall_time", "natural_map")
    for name in (*names, "worst"):
        assert document[name] == getattr(result, name)
    assert document["info"]["method"] == "gauss_seidel"
    assert document["info"]["warnings"] == result.info["warnings"]
    assert document["contacts"] == result.problem.contacts
    assert document["files"] == {
        "result": str(tmp_path / "a.hdf5"),
        "picture": str(tmp_path / "a.png"),
    }


def test_json_has_no_numbers_that_are_none_and_no_arrays(capsys, monkeypatch):
    solve = cs.solve

    def odd(problem, **options):
        result = solve(problem, **options)
        result.natural_map_scaled = np.inf
        result.info |= {"nan": [np.nan, np.float32(0.5)], "parts": [np.ones(3)], "one": np.ones(1)}
        return result

    monkeypatch.setattr(cs, "solve", odd)
    assert main(["solve", str(EASY), "--json"]) == 0
    document = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert document["natural_map_scaled"] is None
    assert document["info"]["nan"] == [None, 0.5]
    assert {"parts", "one"}.isdisjoint(document["info"])
    assert {"impulses", "body_velocity_change", "history"}.isdisjoint(document)


def test_history_as_csv(tmp_path, capsys):
    words = ["solve", str(EASY), "--method", "gauss_seidel"]
    assert main([*words, "--csv", "a.csv"]) == 0
    assert f"history: {tmp_path / 'a.csv'}" in capsys.readouterr().out
    head, *rows = csv.reader((tmp_path / "a.csv").read_text(encoding="utf-8").splitlines())
    assert head == ["iteration", "time [s]", "residual [N s]", "natural_map [N s]"]
    history = cs.solve(cs.io.read_fclib(EASY), method="gauss_seidel").history
    assert [int(row[0]) for row in rows] == history["iteration"].tolist()
    columns = [[float(cell or "nan") for cell in column] for column in zip(*rows, strict=True)]
    for at, name in ((2, "residual"), (3, "natural_map")):
        assert np.array_equal(columns[at], history[name], equal_nan=True)
    assert main([*words, "--csv", "a.csv"]) == 2
    assert "a.csv exists: pass --overwrite to replace it" in capsys.readouterr().err
    assert main([*words, "--csv", "-"]) == 0
    printed = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert [printed[0], *([row[0], *row[2:]] for row in printed[1:])] == [
        head,
        *([row[0], *row[2:]] for row in rows),  # times differ
    ]


def test_one_document_on_standard_output(capsys):
    for command in ("solve", "compare"):
        assert main([command, str(EASY), "--json", "--csv", "-"]) == 2
        assert "--json and --csv - both write to standard output" in capsys.readouterr().err


# ---- progress -----------------------------------------------------------------------------------

SLOW = ["--rtol", "none", "--atol", "none", "--max-iterations", "400000000"]


def terminal(monkeypatch):
    """Make standard error a terminal. No fixture: pytest sets it anew when the test begins."""
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def test_a_long_solve_shows_one_line_and_erases_it(monkeypatch):
    stream = terminal(monkeypatch)
    words = ["--method", "gauss_seidel", "--max-seconds", "1.6"]
    assert main(["solve", str(HARD), *words, *SLOW]) == 0
    shown = stream.getvalue()
    assert "contactsolve: " in shown
    assert "sweep" in shown
    assert "residual=" in shown
    assert "\n" not in shown
    assert shown.endswith("\r")
    assert shown.rstrip("\r").split("\r")[-1].strip() == ""


@pytest.mark.parametrize("words", [["--quiet"], ["-q"], []])
def test_a_short_or_quiet_solve_shows_nothing(monkeypatch, words):
    stream = terminal(monkeypatch)
    ends = ["--max-seconds", "1.3"] if words == ["-q"] else ["--max-seconds", "0.2"]
    assert main(["solve", str(HARD), "--method", "gauss_seidel", *ends, *SLOW, *words]) == 0
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RuntimeError("the device has failed: unplugged"), "the device has failed: unplugged"),
        (MemoryError("out of memory on device='cuda'"), "out of memory on device='cuda'"),
        (MemoryError(), "out of memory"),
    ],
)
def test_a_device_that_fails_is_told_in_one_line(monkeypatch, capsys, error, told):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(cs.Solver, "solve", fail)
    assert main(["solve", str(HARD), *SLOW]) == 2
    assert capsys.readouterr().err == f"contactsolve: error: {told}\n"


def test_without_tqdm_there_is_no_progress(monkeypatch):
    stream = terminal(monkeypatch)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    words = ["--method", "gauss_seidel", "--max-seconds", "1.2", *SLOW]
    assert main(["solve", str(HARD), *words]) == 0
    assert stream.getvalue() == ""


# ---- options of methods -------------------------------------------------------------------------


@pytest.fixture
def solved(monkeypatch):
    """Options of every call of `contactsolve.solve`."""
    calls = []
    real = cs.solve

    def solve(problem, **options):
        calls.append(options)
        return real(problem, **options)

    monkeypatch.setattr(cs, "solve", solve)
    return calls


def test_solve_takes_options_of_the_method(capsys, solved):
    words = ["--method", "nesterov, restart=2, over=jacobi, rtol=1e-3", "--rtol", "1e-9"]
    assert main(["solve", str(EASY), *words, "--dtype", "float32"]) == 0
    (options,) = solved
    assert str(options.pop("method")) == "nesterov(over=jacobi, restart=2.0)"
    assert options == {"rtol": 1e-3, "dtype": "float32"}  # given with the method: overrides
    assert "nesterov, scheme " in capsys.readouterr().out


@pytest.mark.parametrize("command", ["solve", "compare"])
def test_the_help_tells_how_options_of_methods_are_given(capsys, command):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "with options of the method or the solver after commas, as in bpp,engine=schur" in text


def test_every_option_of_a_method_is_taken(tmp_path, capsys, solved):
    """Words of the command line give what Python's values do, defaults included."""
    cs.scenarios.ball_grid(2, rows=1).save(tmp_path / "a.hdf5")
    words = {"max_pivots": ("none", None), "interior": ("no", False), "engine": ("sparse",) * 2}
    for name, (text, value) in words.items():
        assert main(["solve", "a.hdf5", "--method", f"bpp,{name}={text}"]) == 0
        assert str(solved[-1]["method"]) == str(cs.methods.bpp(**{name: value}))
    for name, method in cs.methods.describe().items():
        for option in method.options.values():
            text = "yes" if option.default is True else str(option.default).lower()
            chosen = parse_method(f"{name},{option.name}={text}")
            assert chosen.label == name or chosen.options == {option.name: option.default}


# ---- wrong input --------------------------------------------------------------------------------

EASY_FILE = str(EASY)


def test_outputs_that_are_folders_or_the_same_are_refused(tmp_path, capsys):
    twice = str(tmp_path / "x.hdf5")
    for more in (["--csv", twice], ["-o", twice]):
        assert main(["solve", EASY_FILE, "--save", twice, *more, "--overwrite"]) == 2
        assert "x.hdf5 is given for two outputs" in capsys.readouterr().err
    assert main(["solve", EASY_FILE, "--save", str(tmp_path), "--overwrite"]) == 2
    assert "is a folder: the name of a file is needed" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_whoever_reads_may_leave(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-P", "-m", "contactsolve", "methods"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, cwd=tmp_path, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["solve", "nothing.hdf5"], "nothing.hdf5 does not exist"),
        (["solve", "."], "this is not an HDF5 file"),
        (
            ["solve", EASY_FILE, "--method", "sor"],
            "method: 'sor' is unknown; known: auto, jac",
        ),
        (["solve", EASY_FILE, "--scheme", "factorized"], "needs a Jacobian, and this problem was"),
        (["solve", EASY_FILE, "--order", "best"], "order: 'best' is unknown; known: auto, natural"),
        (["solve", EASY_FILE, "--dtype", "int8"], "dtype: 'int8' is unknown; known: float64"),
        (
            ["solve", EASY_FILE, "--r-factor", "big"],
            "r_factor: 'big' is unknown; known: local, diagonal",
        ),
        (["solve", EASY_FILE, "--r-factor", "nan"], "r_factor is nan: a finite number above 0"),
        (["solve", EASY_FILE, "--rtol", "-1"], "rtol is -1: it must be at least 0"),
        (["solve", EASY_FILE, "--max-iterations", "-1"], "max_iterations is -1: it must be at"),
        (["solve", EASY_FILE, "--stop", "residual"], "stop='residual' is compared with atol"),
        (["solve", EASY_FILE, "--plot", "no/a.png"], "the folder of no/a.png does not exist"),
        (["solve", EASY_FILE, "--plot", "a.txt"], "a.txt ends in '.txt': expected one of"),
        (["solve", EASY_FILE, "--output", "no/a.hdf5"], "the folder of no/a.hdf5 does not exist"),
        (["demo", "--output", "no/a.png"], "the folder of no/a.png does not exist"),
    ],
)
def test_errors_are_told_in_one_line(tmp_path, capsys, arguments, message):
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("contactsolve: error: ")
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["dance"], "invalid choice: 'dance'"),
        (["slove"], "; did you mean 'solve'?"),
        (["solve"], "the following arguments are required: FILE.hdf5"),
        (["solve", EASY_FILE, "--rtol", "small"], "argument --rtol: 'small' is not a number"),
        (["solve", EASY_FILE, "--threads", "1.5"], "argument --threads: '1.5' is not an integer"),
        (
            ["solve", EASY_FILE, "--tolerance", "1"],
            "solve: error: unrecognized arguments: --tolerance 1; did you mean --rtol?",
        ),
        (["solve", EASY_FILE, "--max_iteration=3"], "; did you mean --max-iterations?"),
        (["solve", EASY_FILE, "--sky", "blue"], "unrecognized arguments: --sky blue\n"),
        (["solve", EASY_FILE, "again"], "unrecognized arguments: again\n"),
        (
            ["solve", EASY_FILE, "--engine", "schur"],
            "--engine schur; it is an option of methods, as --method bpp,engine=VALUE",
        ),
        (["methods", "--engine"], "unrecognized arguments: --engine\n"),
        (["solve", EASY_FILE, "--method", "bpp,engine=schor"], "; did you mean 'schur'?"),
    ],
)
def test_usage_errors(capsys, arguments, message):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_error_in_a_process_of_its_own():
    done = run("solve", "nothing.hdf5")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "contactsolve: error: nothing.hdf5 does not exist\n"


def test_interrupt(capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(cs, "solve", interrupted)
    assert main(["solve", str(EASY)]) == 130
    assert capsys.readouterr().err == "contactsolve: interrupted\n"


# ---- methods, info ------------------------------------------------------------------------------


def test_methods_lists_everything_with_its_summary(capsys):
    assert main(["methods"]) == 0
    sections = {
        block.splitlines()[0]: dict(line.split(maxsplit=1) for line in block.splitlines()[1:])
        for block in capsys.readouterr().out.split("\n\n")
    }
    assert sections["methods"] == cs.methods.summaries()
    assert sections["schemes"] == cs.schemes.describe()
    made = sections["orders that contactsolve.orders makes in Python"]
    assert sections["orders"] | made == cs.orders.describe()
    # What is listed as a name is one.
    for name in sections["orders"]:
        assert main(["solve", EASY_FILE, "--order", name, "--quiet"]) == 0
    assert set(made) == {"given", "relaxed", "subtasks", "extreme"}
    assert sections["measures"] == cs.measures.describe()
    assert list(sections["sets"]) == cs.sets.names()
    assert all(sections["sets"].values())


def test_methods_describes_one(capsys):
    for name, described in cs.methods.describe().items():
        assert main(["methods", name]) == 0
        assert capsys.readouterr().out == f"{described}\n"
    assert main(["methods", "pgs"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("contactsolve: error: method: 'pgs' is unknown; known: auto, jacobi")
    assert error.endswith("; did you mean 'gauss_seidel'?\n")


def test_info(capsys):
    assert main(["info"]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    build = cs.info()
    assert lines["contactsolve"] == cs.__version__
    assert build["compiler"] in lines["compiler"]
    assert lines["OpenMP"].startswith("yes" if build["openmp"] else "no")
    assert lines["threads"] == str(build["threads"])
    assert lines["numpy"] == np.__version__
    assert lines["Python"].startswith(sys.version.split()[0])


def test_info_without_optional_packages():
    code = (
        "import importlib.metadata as metadata\n"
        "def missing(name): raise metadata.PackageNotFoundError(name)\n"
        "metadata.version = missing\n"
        "from contactsolve.cli import main; main(['info'])"
    )
    done = run(command=(sys.executable, "-c", code))
    assert re.search(r"^h5py +not installed$", done.stdout, re.MULTILINE)


def test_version(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"{cs.__version__}\n"


def test_defaults_in_the_help_are_the_solvers(capsys):
    with pytest.raises(SystemExit):
        main(["solve", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "maximum iterations; none: 1000, or no limit with --method auto (default: none)" in text
    assert (
        "one solve [s], or none; auto: 10 if nothing else limits the solve (default: auto)" in text
    )
    assert "relative tolerance, or none; auto: 1e-6, in float32 1e-4 (default: auto)" in text


def test_limits_are_given_as_the_help_says(tmp_path):
    path = cs.data.path(cs.data.names()[0])
    for words in (
        ("--max-iterations", "none"),
        ("--max-seconds", "auto"),
        ("--max-seconds", "none"),
    ):
        assert main(["solve", str(path), *words]) == 0
