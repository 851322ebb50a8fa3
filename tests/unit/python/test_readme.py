"""The README: its commands, its Python lines, its links and its pictures."""

import re

import pytest

from repository import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_commands():
    pictures = "contactsolve run pile --count 150 --seconds 0.9 --plot pile.png"
    assert blocks("bash") == [
        f'pip install ".[plot,io]" && contactsolve demo\n{pictures}\n',
        'pip install ".[test]" && pytest -n auto --dist loadfile -m "not slow"\n',
    ]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A function that runs a block of Python, which prints lines and writes nothing."""

    def names_of(code):
        monkeypatch.chdir(tmp_path)
        names = {}
        exec(compile(code, "README.md", "exec"), names)
        assert capsys.readouterr().out
        assert list(tmp_path.iterdir()) == []
        return names

    return names_of


def test_a_first_solve(run):
    names = run(blocks("python")[0])
    result = names["result"]
    assert result.converged
    # The weight over one step, and half of it against the motion.
    weight = 1.0 * 9.81 * 0.01
    assert result.impulses.sum(axis=0) == pytest.approx([weight, -weight / 2, 0.0], abs=1e-6)


def test_a_first_world(run):
    """Each box is 3 cm beside the one below: the centre of those above is soon beyond an edge."""
    names = run(blocks("python")[1])
    world, record = names["world"], names["record"]
    assert world.time == pytest.approx(0.6)
    assert record["kinetic"].max() == record["kinetic"][-1] > 1.0
    top = world.positions[names["boxes"][-1]]
    assert top[0] > 0.27 + 0.1
    assert top[2] < 1.9
    assert abs(top[1]) < 1e-3


def test_is_short():
    assert len(README.splitlines()) <= 75
    for code in blocks("python"):
        assert len(code.splitlines()) <= 10


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert links
    for link in links:
        assert link.startswith("https://") or (ROOT / link).is_file(), link


def test_pictures_are_pictures():
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert len(pictures) == 2
    for picture in pictures:
        assert (ROOT / picture).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
