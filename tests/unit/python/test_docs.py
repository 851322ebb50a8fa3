"""The texts for readers: what they link to, and the files, functions and tests that they name."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS]
DESIGN = sorted((ROOT / "docs" / "design").glob("*.md"))
# Here every file name is one of the repository; elsewhere only names with a folder are.
OF_THE_CODE = [ROOT / "docs" / "architecture.md", ROOT / "docs" / "equations.md", *DESIGN]
FOLDERS = ("csrc", "cuda", "contactsolve", "tests", "benchmarks", "notebooks", ".ci")

SPAN = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
SOURCE = re.compile(r"(?<![\w*/.<-])[\w.-]+(?:/[\w.-]+)*\.(?:c|h|inc|def|py|ipynb)\b")
# A recipe shows the file that it adds below its name.
ADDED = re.compile(r"^`([^`\n]+)`:$", re.MULTILINE)
# `function` (`file`): that file names it.
DEFINED = re.compile(r"`(\w+)`\s*\(`([\w./]+\.(?:c|h|inc|py))`")
CHECKS = ("test_", "benchmarks/")


def read(path):
    return path.read_text(encoding="utf-8")


def each(paths):
    """A test for each document, by its path."""
    names = [path.relative_to(ROOT).as_posix() for path in paths]
    return pytest.mark.parametrize("path", paths, ids=names)


@cache
def sources():
    """Every source file of the repository, by its path below the root."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    names = {path.relative_to(ROOT).as_posix() for path in [*found, *ROOT.glob("*.py")]}
    return {name for name in names if SOURCE.fullmatch(name)}


@cache
def words(suffixes, folder):
    """All identifiers in the files of a folder."""
    texts = (read(path) for path in (ROOT / folder).rglob("*") if path.suffix in suffixes)
    return {word for text in texts for word in re.findall(r"\w+", text)}


def resolved(name):
    """Paths of the source files whose path is `name`, or ends with it after a folder."""
    return {path for path in sources() if path == name or path.endswith(f"/{name}")}


def anchors(text):
    """Link targets of a document's headings, as Markdown viewers make them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in kept}


def source_names(text, *, bare):
    """Names of source files in the spans and blocks of code of a document."""
    code = [*SPAN.findall(FENCE.sub("", text)), *FENCE.findall(text)]
    names = {name for part in code for name in SOURCE.findall(part)}
    return {name for name in names if bare or name.split("/")[0] in FOLDERS}


@each(TEXTS)
def test_links_lead_somewhere(path):
    for link in LINK.findall(read(path)):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        assert target.exists(), link
        assert not anchor or anchor in anchors(read(target)), link


@each(TEXTS)
def test_files_exist(path):
    text = read(path)
    names = source_names(text, bare=path in OF_THE_CODE) - set(ADDED.findall(text))
    assert {name for name in names if not resolved(name)} == set()


@each(OF_THE_CODE)
def test_functions_exist(path):
    spans = set(SPAN.findall(FENCE.sub("", read(path))))
    of_c = {span for span in spans if re.fullmatch(r"cs_\w+", span)}
    assert of_c <= words((".c", ".h", ".inc"), "csrc")
    tests = {span for span in spans if re.fullmatch(r"test_\w+", span)}
    assert tests <= words((".py",), "tests")


@each([ROOT / "docs" / "architecture.md", *DESIGN])
def test_functions_are_in_the_files_named_beside_them(path):
    for function, name in DEFINED.findall(read(path)):
        texts = (read(ROOT / file) for file in resolved(name))
        found = any(re.search(rf"\b{function}\b", text) for text in texts)
        assert found, f"{name} does not name {function}"


def test_the_architecture_is_two_pages():
    assert len(read(ROOT / "docs" / "architecture.md").splitlines()) <= 120


@each(DESIGN)
def test_each_decision_has_a_rule_a_reason_and_a_holder(path):
    introduction, *decisions = re.split(r"^### ", read(path), flags=re.MULTILINE)
    assert decisions, introduction
    for decision in decisions:
        title = decision.splitlines()[0]
        parts = [decision.find(f"\n**{part}") for part in ("Rule.**", "Reason.**", "Held in**")]
        assert -1 < parts[0] < parts[1] < parts[2], title
        holders = source_names(decision[parts[2] :], bare=True)
        holders |= set(SPAN.findall(decision[parts[2] :]))
        assert any(holder.startswith(CHECKS) for holder in holders), title
        assert len(holders) > 1, title


def test_every_folder_of_the_code_is_in_the_architecture():
    text = read(ROOT / "docs" / "architecture.md")
    folders = {path.name for path in (ROOT / "csrc").iterdir() if path.is_dir()}
    assert folders <= set(re.findall(r"^\| `csrc/(\w+)/`", text, re.MULTILINE))


def test_every_page_of_decisions_is_listed():
    text = read(ROOT / "docs" / "architecture.md")
    assert {path.name for path in DESIGN} == set(re.findall(r"\(design/(\w+\.md)\)", text))


def section(title):
    """A section of CONTRIBUTING.md, from its title to the next one."""
    text = read(ROOT / "CONTRIBUTING.md")
    return re.search(rf"^### {title}\n(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL)[1]


def test_breakpoints_of_the_debugger_exist():
    stops = re.findall(r"^break (\w+)", section("One solve in a debugger"), re.MULTILINE)
    assert {"cs_sweep", "cs_run_evaluate"} < set(stops)
    plain = {stop.removesuffix("_f64") for stop in stops}
    assert plain <= words((".c", ".h", ".inc"), "csrc")


def test_the_script_that_looks_for_a_wrong_kernel_finds_none(capsys):
    (code,) = re.findall(r"^```python\n(.*?)^```$", section("A wrong kernel"), re.M | re.S)
    exec(compile(code, "CONTRIBUTING.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 2
    assert all(float(line.split(": ")[1].split(" at ")[0]) < 1e-13 for line in lines), lines
