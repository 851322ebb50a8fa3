"""Scripts of a folder below `benchmarks/` as modules, for the tests of them."""

import contextlib
import re
import sys

from repository import BENCHMARKS

RESULTS = BENCHMARKS / "results"


@contextlib.contextmanager
def importing_from(folder):
    """While it lasts, the folder's scripts can be imported by name; then no trace is left."""
    names = {"common", *(path.stem for path in folder.glob("*.py"))}

    def taken_out():
        loaded = [name for name in sys.modules if name.partition(".")[0] in names]
        return {name: sys.modules.pop(name) for name in loaded}

    old_path, old_modules = list(sys.path), taken_out()
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path[:] = old_path
        taken_out()
        sys.modules.update(old_modules)


def check_filled(report, tables, quick):
    """The report fills its page from results of all tables, twice the same; return it filled."""
    page = report.PAGE.read_text(encoding="utf-8")
    filled = report.filled(page, quick.results)
    assert "Not measured yet" not in filled
    outside = re.sub(r"<!-- (\w+) -->\n.*?<!-- /\1 -->", "", page, flags=re.DOTALL)
    assert filled.count("![") - outside.count("![") == len(tables)
    assert report.filled(filled, quick.results) == filled
    assert "Not measured yet" in report.filled(filled, quick.results / "nowhere")
    return filled


def check_page(report, name):
    """The page is what the committed CSVs of the machine that it names make it, or none do."""
    page = report.PAGE.read_text(encoding="utf-8")
    named = re.search(r"<!-- measured -->\nMeasured on `([^`]+)`", page)
    folder = RESULTS / (named[1] if named else "none") / name
    assert report.filled(page, folder) == page
