"""Holds that the layout of a problem is known in one place: others ask its accessors.

Bodies, their parts of J and the rows of a block come from the inline functions of
``csrc/problem/problem.h``, so that blocks may get more partners, or rows with holes between them,
there alone. What memory was missing for is said by ``cs_no_memory`` alone.
"""

import re

import pytest

from repository import ROOT

CSRC = ROOT / "csrc"
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)

# What is looked for → the folders and files that may have it.
KNOWN_TO = {
    r"(group|blocks)->bodies *(\[|\+)": ["problem/"],
    r"(group|blocks)->velocity *(\[|\+)": [
        "problem/",
        "scheme/factorized",
        "scheme/contact_visits",
    ],  # a packed group's own
    r"(group|blocks)->jacobian *(\[|\+)": ["problem/"],
    r"->first_row *\+": ["problem/", "solver/solver.c", "scheme/scheme.c"],  # whole groups at once
    r"entry *(>>|&) ": ["problem/"],
    r'"out of memory for': ["core/error.c"],
}


def holders(pattern):
    """The files with lines that match, comments left out."""
    for path in sorted(CSRC.rglob("*.[chi]*")):
        name = path.relative_to(CSRC).as_posix()
        text = COMMENT.sub(" ", path.read_text(encoding="utf-8"))
        if re.search(pattern, text):
            yield name


@pytest.mark.parametrize("pattern", KNOWN_TO)
def test_layouts_are_known_in_one_place(pattern):
    found = list(holders(pattern))
    assert found, "nobody has it: the pattern is out of date"
    strangers = [name for name in found if not name.startswith(tuple(KNOWN_TO[pattern]))]
    assert not strangers
