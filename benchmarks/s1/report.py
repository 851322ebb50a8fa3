"""Writes the tables of docs/s1.md from the CSVs of one machine.

    python benchmarks/s1/report.py [--machine NAME] [--check]

What stands between ``<!-- name -->`` and ``<!-- /name -->`` is replaced; all else is left alone.
"""

import argparse
import os
import re
import sys
from pathlib import Path

from layouts import LAYOUTS
from output import as_markdown, read
from protocol import ROOT, common
from remarks import remarks

PAGE = ROOT / "docs" / "s1.md"
_BLOCK = re.compile(r"<!-- (?P<name>\w+) -->\n.*?<!-- /(?P=name) -->", re.DOTALL)


def section(name, folder, page):
    """Table, picture and sentences of one script, as Markdown."""
    sentences = "\n".join(f"- {sentence}" for sentence in remarks(name))
    path = folder / f"{name}.csv"
    if not path.exists():
        return f"Not measured yet: `python benchmarks/s1/{LAYOUTS[name].script}`.\n\n{sentences}"
    parts = [as_markdown(name, read(path))]
    drawn = path.with_suffix(".png")
    if drawn.exists():
        link = Path(os.path.relpath(drawn, page.parent)).as_posix()
        parts.append(f"![{LAYOUTS[name].title}]({link})")
    return "\n\n".join([*parts, sentences])


def measured(folder):
    """Where and with what the figures were measured."""
    paths = [path for name in LAYOUTS if (path := folder / f"{name}.csv").exists()]
    if not paths:
        return "Nothing has been measured yet."
    known = {tuple(row[key] for key in common.versions()) for path in paths for row in read(path)}
    versions = "; ".join(
        ", ".join(f"{key} {value}" for key, value in zip(common.versions(), line, strict=True))
        for line in sorted(known)
    )
    return f"Measured on `{folder.parent.name}` with {versions}."


def filled(text, folder, page=PAGE):
    """The page's text with all its blocks renewed."""
    known = {"measured", *LAYOUTS}
    found = [match["name"] for match in _BLOCK.finditer(text)]
    if sorted(found) != sorted(known):
        wrong = sorted(known.symmetric_difference(found)) or "a name twice"
        raise ValueError(f"{page.name} has other blocks than there are tables: {wrong}")

    def block(match):
        name = match["name"]
        new = measured(folder) if name == "measured" else section(name, folder, page)
        return f"<!-- {name} -->\n{new}\n<!-- /{name} -->"

    return _BLOCK.sub(block, text)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--machine", default=common.machine(), help="a folder of results")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if it would")
    given = parser.parse_args(argv)
    folder = common.RESULTS / given.machine / "s1"
    old = PAGE.read_text(encoding="utf-8")
    new = filled(old, folder)
    if given.check:
        sys.exit(0 if new == old else f"{PAGE} is not what the results in {folder} make it")
    PAGE.write_text(new, encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
