"""The command `contactsolve run`: scenes that are stepped, recorded and drawn."""

import functools
import inspect
import signal
import sys

import numpy as np
import pytest

import contactsolve as cs
from contactsolve._cli_run import WORLD_OPTIONS
from contactsolve.cli import main

PNG, GIF = b"\x89PNG\r\n\x1a\n", b"GIF8"
SMALL = ["run", "pile", "--count", "8", "--dimension", "2"]


@pytest.fixture(autouse=True)
def _in_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_run_is_recorded_and_drawn(tmp_path, capsys):
    files = ["--record", "pile.hdf5", "--plot", "pile.png", "--animate", "pile.gif"]
    words = ["--steps", "60", "--every", "20", "--view", "10,20", "--contacts", "forces"]
    assert main(["run", "pile", "--count", "8", *words, *files]) == 0
    world = cs.dynamics.scenes.pile(8)
    world.run(60)
    with cs.dynamics.Recording("pile.hdf5") as recording:
        assert recording.steps.tolist() == [0, 20, 40, 60]
        assert {"kinetic", "potential", "penetration"} <= set(recording.columns)
    loaded = cs.dynamics.World.load("pile.hdf5")
    np.testing.assert_array_equal(loaded.positions, world.positions)
    np.testing.assert_array_equal(loaded.velocities, world.velocities)
    assert (tmp_path / "pile.png").read_bytes().startswith(PNG)
    assert (tmp_path / "pile.gif").read_bytes().startswith(GIF)
    printed = capsys.readouterr().out
    assert "scene:     pile, 8 bodies in 3-D" in printed
    assert "steps:     60 of 0.001 s: 0.06 s, in " in printed
    for name, file in (("record", "hdf5"), ("picture", "png"), ("animation", "gif")):
        assert f"{name + ':':<11}{tmp_path / 'pile'}.{file}\n" in printed


def test_every_scene_has_a_command_and_every_parameter_an_option(capsys):
    assert main(["run", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(f"\n{name}: " in listed for name in cs.cloth.scenes.names())
    for name in cs.dynamics.scenes.names():
        assert f"{name}: " in listed
        with pytest.raises(SystemExit) as caught:
            main(["run", name, "--help"])
        assert caught.value.code == 0
        shown = capsys.readouterr().out
        parameters = inspect.signature(cs.dynamics.scenes.get(name)).parameters.values()
        named = [one.name for one in parameters if one.kind is not one.VAR_KEYWORD]
        for parameter in [*named, *WORLD_OPTIONS, "method", "threads"]:
            assert f"--{parameter.replace('_', '-')} " in shown, (name, parameter)


def test_options_are_those_of_the_scene_the_world_and_the_solver(monkeypatch, capsys):
    seen = {}
    real = cs.dynamics.scenes.get

    def get(name):
        @functools.wraps(real(name))
        def recorded(**options):
            seen.update(options)
            return real(name)(**options)

        return recorded

    monkeypatch.setattr(cs.dynamics.scenes, "get", get)
    words = [
        "--mu",
        "0.25",
        "--rng",
        "3",
        "--time-step",
        "2e-3",
        "--stepper",
        "semi_implicit_euler",
    ]
    solver = ["--method", "gauss_seidel,relaxation=1.2", "--max-iterations", "7", "--threads", "1"]
    assert main([*SMALL, "--steps", "1", *words, *solver]) == 0
    assert seen.pop("count") == 8
    assert seen.pop("dimension") == 2
    assert seen == {
        "mu": 0.25,
        "rng": 3,
        "time_step": 2e-3,
        "stepper": "semi_implicit_euler",
        "method": "gauss_seidel",
        "relaxation": 1.2,
        "max_iterations": 7,
        "threads": 1,
    }
    assert "steps:     1 of 0.002 s" in capsys.readouterr().out


def test_the_time_to_run_may_be_given(capsys):
    assert main([*SMALL, "--seconds", "0.05", "--time-step", "0.01"]) == 0
    assert "steps:     5 of 0.01 s: 0.05 s" in capsys.readouterr().out


def test_missed_tolerances_are_told_in_one_line(capsys):
    assert main([*SMALL, "--steps", "300", "--max-iterations", "1", "--rtol", "1e-12"]) == 0
    out, err = capsys.readouterr()
    (note,) = [line for line in out.splitlines() if line.startswith("note:")]
    assert "missed the tolerance: see --max-iterations" in note
    assert int(note.split()[1]) > 1
    assert err == ""


@pytest.fixture
def ctrl_c(monkeypatch):
    """A function that makes Ctrl-C come in a step."""

    def at(number):
        real = cs.dynamics.World.step

        def step(world):
            real(world)
            if world.steps == number:
                signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(cs.dynamics.World, "step", step)

    return at


def test_ctrl_c_ends_after_a_whole_step_and_writes_what_is_there(tmp_path, ctrl_c, capsys):
    ctrl_c(7)
    files = ["--record", "pile.hdf5", "--every", "1", "--plot", "pile.png"]
    assert main([*SMALL, "--steps", "1000", *files]) == 130
    out, err = capsys.readouterr()
    assert "steps:     7 of " in out
    assert err == "contactsolve: interrupted; what was asked for is written\n"
    with cs.dynamics.Recording("pile.hdf5") as recording:
        assert recording.steps.tolist() == list(range(8))
    assert (tmp_path / "pile.png").read_bytes().startswith(PNG)


def test_progress_is_shown_on_a_terminal_only(monkeypatch, capsys):
    assert main([*SMALL, "--steps", "5"]) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("contactsolve._cli_output._SECONDS_BEFORE_PROGRESS", True)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main([*SMALL, "--steps", "5"]) == 0
    assert "/5" in capsys.readouterr().err
    assert main([*SMALL, "--steps", "5", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--record", "nowhere/pile.hdf5"], "the folder of nowhere/pile.hdf5 does not exist"),
        (["--record", "pile.csv"], "--record pile.csv: a name that ends in .h5 or .hdf5 is needed"),
        (["--animate", "pile.mp4"], "--animate pile.mp4: a name that ends in .gif is needed"),
        (["--plot", "nowhere/pile.png"], "the folder of nowhere/pile.png does not exist"),
        (["--plot", "pile.doc"], "pile.doc ends in '.doc'"),
        (["--plot", "a.png", "--color", "spead"], "color is 'spead': body, material, speed"),
        (["--seconds", "-1"], "--seconds is -1.0"),
        (["--steps", "-1"], "steps is -1"),
        (["--every", "-1"], "every is -1"),
        (["--count", "0"], "count is 0"),
        (["--time-step", "0"], "time_step"),
        (["--stepper", "euler"], "stepper"),
    ],
)
def test_wrong_input_is_refused_before_any_step(words, text, capsys, monkeypatch, tmp_path):
    def step(_):
        raise AssertionError("a step was made")

    monkeypatch.setattr(cs.dynamics.World, "step", step)
    assert main([*SMALL, *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("contactsolve: error: ")
    assert text in err
    assert list(tmp_path.iterdir()) == []


def test_files_are_not_overwritten_unasked(tmp_path, capsys):
    words = [*SMALL, "--steps", "1", "--record", "pile.hdf5"]
    assert main(words) == 0
    assert main(words) == 2
    assert "pile.hdf5 exists: pass --overwrite" in capsys.readouterr().err
    assert main([*words, "--overwrite"]) == 0


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["run"], "a NAME or --list is required"),
        (["run", "pyle"], "did you mean 'pile'?"),
        (["run", "pile", "--view", "above"], "'above' is none of corner, front, side, top"),
        (["run", "pile", "--contcts", "forces"], "did you mean --contacts?"),
        (["run", "pile", "--steps", "3", "--seconds", "1"], "not allowed with"),
    ],
)
def test_wrong_words_are_refused_with_suggestions(words, text, capsys):
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert text in capsys.readouterr().err
