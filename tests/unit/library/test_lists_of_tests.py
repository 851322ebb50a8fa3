"""The lists of tests that some steps of ``.ci/run`` leave out."""

import re
from functools import cache

import pytest

from repository import ROOT

LISTS = sorted((ROOT / ".ci").glob("redundant_for_*.txt"))


def functions_in(path):
    """Without those that run all the same, which have a plus: their parameters come and go."""
    return [name for name in path.read_text(encoding="utf-8").splitlines() if name[0] != "+"]


@cache
def defined_in(file):
    if not (ROOT / file).exists():
        return set()
    return set(re.findall(r"^ *def (test_\w+)", (ROOT / file).read_text(), re.MULTILINE))


def exists(function):
    file, *_, name = function.split("::")
    return name in defined_in(file)


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_every_function_is_a_test(path):
    gone = [function for function in functions_in(path) if not exists(function)]
    assert not gone, f"delete these lines of {path.name}, or run .ci/choose_tests.py"


def test_sanitizers_need_no_more_functions_than_coverage_does():
    """Coverage counts the lines of Python, too."""
    of_coverage, of_sanitizers = map(functions_in, LISTS)
    assert set(of_coverage) <= set(of_sanitizers)
