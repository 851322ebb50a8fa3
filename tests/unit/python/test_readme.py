"""The README: its two commands, its Python lines, its links and its picture."""

import re

import pytest

from repository import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_commands():
    assert blocks("bash") == [
        'pip install ".[plot,io]" && contactsolve demo\n',
        'pip install ".[test]" && pytest -n auto --dist loadfile -m "not slow"\n',
    ]


def test_python_lines_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    names = {}
    exec(compile(code, "README.md", "exec"), names)
    result = names["result"]
    assert result.converged
    # The weight over one step, and half of it against the motion.
    weight = 1.0 * 9.81 * 0.01
    assert result.impulses.sum(axis=0) == pytest.approx([weight, -weight / 2, 0.0], abs=1e-6)
    assert len(capsys.readouterr().out.splitlines()) >= 2
    assert list(tmp_path.iterdir()) == []


def test_is_one_screen():
    assert len(README.splitlines()) <= 60
    (code,) = blocks("python")
    assert len(code.splitlines()) <= 10


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert links
    for link in links:
        assert link.startswith("https://") or (ROOT / link).is_file(), link


def test_picture_is_a_picture():
    (picture,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert (ROOT / picture).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
