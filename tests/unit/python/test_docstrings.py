"""The examples in the docstrings run and print what they promise."""

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

import contactsolve

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(contactsolve.__path__, "contactsolve.")
    if not module.name.endswith(("._core", ".__main__"))
)


@pytest.mark.parametrize("name", ["contactsolve", *MODULES])
def test_examples(name):
    module = importlib.import_module(name)
    with np.printoptions(legacy=False):
        assert doctest.testmod(module).failed == 0


def test_there_are_examples():
    examples = [
        example
        for name in ["contactsolve", *MODULES]
        for test in doctest.DocTestFinder().find(importlib.import_module(name))
        for example in test.examples
    ]
    assert len(examples) > 10
