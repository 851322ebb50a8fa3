"""Holds the direction of dependencies between the folders of ``csrc/``, and of ``cuda/`` on them.

The rule is the graph in ``docs/architecture.md``: every ``#include`` points from a folder to one
that stands below it, and nothing but ``csrc/python`` (and the module of ``cuda/``) knows of Python.
Kernels of a GPU stand on what they share with the host, whatever that stands on.
"""

import itertools
import re
from pathlib import Path

import pytest

from repository import ROOT

CSRC = ROOT / "csrc"
CUDA = ROOT / "cuda"

# Folder → the folders directly below it.  What these stand on may be included as well.
DIRECTLY_BELOW = {
    "core": [],
    "linalg": ["core"],
    "problem": ["linalg", "prox"],
    "prox": ["core"],
    "order": ["problem"],
    "distributed": ["order", "transport"],
    "scheme": ["distributed"],
    "sweep": ["scheme", "transport"],
    "measure": ["scheme"],
    "mlcp": ["linalg"],
    "system": ["problem"],
    "backend": ["sweep", "measure"],
    "solver": ["backend"],
    "methods": ["solver", "mlcp", "system"],
    "compose": ["methods"],
    "sparse": ["linalg"],
    "bvh": ["core"],
    "collide": ["linalg"],
    "transport": ["core"],
    "dynamics": ["compose", "collide"],
    "cloth": ["compose", "sparse", "bvh"],
    "python": ["dynamics", "cloth"],
}
# All that cuda/ may include.
SHARED_WITH_DEVICES = {"core", "prox", "problem", "order", "scheme", "backend"}
MODULES_OF_DEVICES = {Path("cuda", "module.cu"), Path("cuda", "arrays.cu")}
PUBLIC = "contactsolve.h"

COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*")', re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>|(\w+))', re.MULTILINE)
DEFINE = re.compile(r'^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+"([^"]+)"', re.MULTILINE)


def may_include(folder):
    """All folders below `folder`, and itself."""
    if folder == "cuda":
        return {"cuda"} | SHARED_WITH_DEVICES
    below = {folder}
    for next_folder in DIRECTLY_BELOW[folder]:
        below |= may_include(next_folder)
    return below


def without_comments(text):
    return COMMENT_OR_STRING.sub(lambda match: match[1] or " ", text)


def sources(csrc, cuda):
    """Path → text without comments, of every file that a compiler may read.

    Paths are as they are included: below `csrc`, or from `cuda` on.
    """
    return {
        path.relative_to(root): without_comments(path.read_text(encoding="utf-8"))
        for root, folder in ((csrc, csrc), (cuda.parent, cuda))
        for path in sorted(folder.rglob("*"))
        if path.suffix in {".c", ".h", ".inc", ".def", ".cu", ".cuh"}
    }


def inclusions(files):
    """All pairs (file, what it includes).

    A template includes a macro: its includers are the files that define the macro as a path.
    """
    macros = {match[3] for text in files.values() for match in INCLUDE.finditer(text) if match[3]}
    for file, text in files.items():
        for match in INCLUDE.finditer(text):
            if not match[3]:
                yield file, match[1] or match[2], match[1] is not None
        for match in DEFINE.finditer(text):
            if match[1] in macros:
                yield file, match[2], True


def violation(file, included, quoted, files):
    """What is wrong with one inclusion, or None."""
    folder = file.parts[0] if len(file.parts) > 1 else "core"
    if Path(included) not in files:
        if quoted:
            return f"{file} includes {included}, which is no path below csrc or from cuda on"
        knows_python = folder == "python" or file in MODULES_OF_DEVICES
        if not knows_python and re.match(r"(Python\.h|numpy/)", included):
            return f"{file} includes {included}: only csrc/python knows of Python"
        return None
    if included == PUBLIC:
        return None
    target = Path(included).parts[0] if len(Path(included).parts) > 1 else included
    if target not in may_include(folder):
        return f"{file} includes {included}: {folder} does not stand on {target}"
    return None


def violations(csrc, cuda):
    files = sources(csrc, cuda)
    folders = {file.parts[0] for file in files if len(file.parts) > 1}
    unknown = sorted(folders - {*DIRECTLY_BELOW, "cuda"})
    problems = [f"no rule for folder {folder}" for folder in unknown]
    if not problems:
        found = (violation(*inclusion, files) for inclusion in inclusions(files))
        problems = [problem for problem in found if problem]
    return problems


def test_every_include_of_the_library_points_down():
    files = sources(CSRC, CUDA)
    assert len(files) > 10, "csrc was not found: the test would hold of nothing"
    assert set(files) >= MODULES_OF_DEVICES
    assert violations(CSRC, CUDA) == []


def groups_of(line):
    """The folders of each link of a chain ``a ◄ {b, c} ◄ d``."""
    return [re.findall(r"\w+", link) for link in line.split("◄")]


def test_the_graph_in_the_documentation_is_the_rule():
    """Of the folders that are there: others are to come."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    chains = [groups_of(part) for part in re.findall(r"^    (\S.*◄.*)$", text, re.MULTILINE)]
    below = {}
    for chain in chains:
        for lower, upper in itertools.pairwise(chain):
            for folder in upper:
                below.setdefault(folder, set()).update(lower)

    def all_below(folder):
        return {folder}.union(*(all_below(one) for one in below.get(folder, ())))

    folders = {path.name for path in CSRC.iterdir() if path.is_dir()}
    assert set(below) == folders - {"core"} | {"cuda"}
    assert below["cuda"] == SHARED_WITH_DEVICES
    for folder in folders:
        assert all_below(folder) == may_include(folder) & folders, folder


def test_only_backends_know_what_is_packed():
    """Methods hold a packing and call its backend (``csrc/backend/backend.h``)."""
    knowing = {"scheme", "sweep", "measure", "backend", "cuda"}
    words = re.compile(r"\bcs_packed\b|\bcs_packed_group\b|\bcs_sweep\(|\"(?:sweep/|backend/cpu_)")
    naming = {str(file) for file, text in sources(CSRC, CUDA).items() if words.search(text)}
    assert "backend/cpu.c" in naming
    assert {file for file in naming if Path(file).parts[0] not in knowing} == set()


PLANTED = {
    "prox/up.c": ('#include "problem/problem.h"', "prox does not stand on problem"),
    "problem/up.c": ('#include "order/order.h"', "problem does not stand on order"),
    "core/up.h": ('  #  include "linalg/small.h"', "core does not stand on linalg"),
    "order/parts.c": ('#include "transport/transport.h"', "order does not stand on transport"),
    "problem/parts.c": ('#include "transport/transport.h"', "problem does not stand on transport"),
    "transport/up.c": ('#include "problem/problem.h"', "transport does not stand on problem"),
    "sweep/aside.c": ('#include "measure/measure.h"', "sweep does not stand on measure"),
    "solver/up.c": ('#include "methods/newton/newton.h"', "solver does not stand on methods"),
    "methods/outer/up.c": ('#include "compose/islands.h"', "methods does not stand on compose"),
    "mlcp/up.c": ('#include "problem/problem.h"', "mlcp does not stand on problem"),
    "compose/up.c": ("#include <dynamics/step.h>", "compose does not stand on dynamics"),
    "dynamics/aside.c": ('#include "cloth/cloth.h"', "dynamics does not stand on cloth"),
    "solver/python.c": ("#include <Python.h>", "only csrc/python knows of Python"),
    "backend/up.c": ('#include "solver/solver.h"', "backend does not stand on solver"),
    "measure/numpy.c": ("#include <numpy/arrayobject.h>", "only csrc/python knows of Python"),
    "scheme/sibling.c": ('#include "sibling.h"', "no path below csrc or from cuda on"),
    "order/climb.c": ('#include "../solver/solver.h"', "no path below csrc or from cuda on"),
    "linalg/template.c": (
        '#define CS_TEMPLATE "order/order.h"\n#include "core/each_precision.h"',
        "linalg does not stand on order",
    ),
    "backend/up.h": ('#include "solver/solver.h"', "backend does not stand on solver"),
    "cuda/up.cu": ('#include "solver/solver.h"', "cuda does not stand on solver"),
    "cuda/below.cuh": ('#include "linalg/small.h"', "cuda does not stand on linalg"),
    "cuda/aside.cu": ('#include "sweep/sweep.h"', "cuda does not stand on sweep"),
    "cuda/template.cu": (
        '#define CS_TEMPLATE "measure/measure.h"\n#include "core/each_precision.h"',
        "cuda does not stand on measure",
    ),
    "scheme/kernel.c": ('#include "cuda/kernel.cuh"', "scheme does not stand on cuda"),
    "contactsolve.h": ('#include "problem/problem.h"', "core does not stand on problem"),
    "gadgets/new.c": ("", "no rule for folder gadgets"),
}
ALLOWED = {
    "python/module.c": (
        '#include <Python.h>\n#include "contactsolve.h"\n#include "core/each_precision.h"'
    ),
    "methods/sweeps/fixed_point.c": '#include "sweep/sweep.h"\n#include "prox/prox.h"',
    "sweep/parts.c": '#include "transport/transport.h"',
    "compose/parts.c": '#include "transport/transport.h"',
    "transport/mpi.c": '#include "core/each_precision.h"\n#include <mpi.h>',
    "cloth/cloth.c": '#include "solver/solver.h"\n#include <math.h>',
    "solver/devices.c": '#include "backend/backend.h"',
    "backend/cpu.c": '#include "sweep/sweep.h"',
    "cuda/kernel.cu": '#include "cuda/kernel.cuh"\n#include "backend/backend.h"\n#include <math.h>',
    "scheme/comment.c": '/*\n#include "solver/solver.h"\n*/\n// #include "solver/solver.h"',
    "problem/template.c": '#define CS_TEMPLATE "linalg/small.h"\n#include "core/each_precision.h"',
}


@pytest.fixture
def tree(tmp_path):
    """A `csrc` and a `cuda` with one header in each folder, and no violation."""
    headers = ["linalg/small", "problem/problem", "order/order", "prox/prox", "sweep/sweep"]
    headers += ["measure/measure", "solver/solver", "methods/newton/newton", "compose/islands"]
    headers += ["dynamics/step", "cloth/cloth", "backend/backend", "transport/transport"]
    for header in headers:
        write(tmp_path, f"{header}.h", "")
    write(tmp_path, "contactsolve.h", "#include <stdint.h>\n")
    write(tmp_path, "core/each_precision.h", "#include CS_TEMPLATE\n")
    write(tmp_path, "cuda/kernel.cuh", '#include "prox/prox.h"')
    return tmp_path


def write(root, path, text):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text + "\n", encoding="utf-8")


@pytest.mark.parametrize("path", PLANTED)
def test_a_planted_violation_is_found(tree, path):
    text, message = PLANTED[path]
    write(tree, path, text)
    (problem,) = violations(tree, tree / "cuda")
    assert message in problem


def test_allowed_includes_pass(tree):
    for path, text in ALLOWED.items():
        write(tree, path, text)
    assert violations(tree, tree / "cuda") == []
