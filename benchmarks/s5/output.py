"""What the scripts print, write and draw, by the tables of this folder."""

from layouts import LAYOUTS
from protocol import ROOT, pages
from remarks import remarks

BOOK = pages.Book("s5", LAYOUTS, remarks, ROOT / "docs" / "s5.md")

panels, styles = pages.panels, pages.styles


def publish(run, name, rows, draw=None):
    """Print the table with its remarks, write the CSV and draw the picture beside it."""
    pages.publish(BOOK, run, name, rows, draw)
