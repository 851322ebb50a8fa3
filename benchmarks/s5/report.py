"""Writes the tables of docs/s5.md from the CSVs of one machine.

python benchmarks/s5/report.py [--machine NAME] [--check]
"""

from output import BOOK
from protocol import pages

PAGE = BOOK.page


def filled(text, folder):
    """The page's text with all its blocks renewed."""
    return pages.filled(BOOK, text, folder)


if __name__ == "__main__":
    pages.write_page(BOOK, __doc__.split("\n")[0])
