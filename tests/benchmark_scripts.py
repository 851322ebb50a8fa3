"""Scripts of a folder of `benchmarks/` as modules, for the tests of them."""

import contextlib
import re
import sys

from repository import BENCHMARKS

RESULTS = BENCHMARKS / "results"


@contextlib.contextmanager
def importing_from(folder):
    """While it lasts, the folder's scripts can be imported by name; then no trace is left."""
    modules = ["common", "pages", *(path.stem for path in folder.glob("*.py"))]
    old_path, old_modules = list(sys.path), {name: sys.modules.pop(name, None) for name in modules}
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path[:] = old_path
        for name, module in old_modules.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


def check_filled(report, tables, quick):
    """The report fills its page from results of all tables, twice the same; return it filled."""
    page = report.PAGE.read_text(encoding="utf-8")
    filled = report.filled(page, quick.results)
    assert "Not measured yet" not in filled
    assert filled.count("![") == len(tables)
    assert report.filled(filled, quick.results) == filled
    assert "Not measured yet" in report.filled(filled, quick.results / "nowhere")
    return filled


def check_page(report, name):
    """The page is what the committed CSVs of the machine that it names make it, or none do."""
    page = report.PAGE.read_text(encoding="utf-8")
    named = re.search(r"<!-- measured -->\nMeasured on `([^`]+)`", page)
    folder = RESULTS / (named[1] if named else "none") / name
    assert report.filled(page, folder) == page
