"""Writes the figures of docs/s2.md from the CSVs of one machine.

python benchmarks/s2/report.py [--machine NAME] [--check]
"""

import itertools
import os
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
from common import ROOT, pages

PAGE = ROOT / "docs" / "s2.md"
JOR, HALF, WHOLE, FULL, RELAXED, RELAXED_WHOLE = (
    "JOR, α = 0.35",
    "JOR, α = 0.5",
    "JOR, α = 1",
    "full SOR, α = 1",
    "relaxed SOR of 32, α = 0.35",
    "relaxed SOR of 32, α = 1",
)
BANDS = (0, 1000, 2000, 3000, 3700, 4450)


class Solves:
    """The rows of one method, in the order of the problems."""

    def __init__(self, rows, method):
        own = [row for row in rows if row["method"] == method]
        self.contacts = np.array([int(row["contacts"]) for row in own])
        self.coupled = np.array([float(row["coupled"]) for row in own])
        self.of_a_sphere = np.array([int(row["most_of_a_sphere"]) for row in own])
        self.converged = np.array([row["status"] == "converged" for row in own])
        self.iterations = np.array([int(row["iterations"]) for row in own])
        self.seconds = np.array([float(row["seconds"]) for row in own])

    def total(self, which):
        """The iterations of these problems, the median; or how many converged, if not all."""
        if not self.converged[which].all():
            return f"– ({self.converged[which].sum()} of {which.sum()})"
        return f"{np.median(self.iterations[which]):,.0f}"


def spread(ratios):
    return f"{np.median(ratios):.2g} times ({ratios.min():.2g} to {ratios.max():.2g})"


def table(rows):
    """Medians of bands of contacts."""
    methods = {name: Solves(rows, name) for name in (JOR, FULL, RELAXED, RELAXED_WHOLE)}
    head = ["contacts", "problems", "coupled with", *methods, "JOR : SOR", "relaxed, 0.35 : JOR"]
    lines = [head, ["---:"] * len(head)]
    jor, full, relaxed = methods[JOR], methods[FULL], methods[RELAXED]
    for low, high in itertools.pairwise(BANDS):
        which = (jor.contacts > low) & (jor.contacts <= high)
        if which.any():
            lines.append(
                [
                    f"{jor.contacts[which].min():,} – {jor.contacts[which].max():,}",
                    str(which.sum()),
                    f"{np.median(jor.coupled[which]):.1f}",
                    *(own.total(which) for own in methods.values()),
                    f"{np.median((jor.iterations / full.iterations)[which]):.2f}",
                    f"{np.median((relaxed.iterations / jor.iterations)[which]):.2f}",
                ]
            )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def claims(rows):
    """S2's observations and ours, each a sentence of the page."""
    jor, half, whole, full, relaxed, relaxed_whole = (
        Solves(rows, name) for name in (JOR, HALF, WHOLE, FULL, RELAXED, RELAXED_WHOLE)
    )
    count = len(jor.contacts)
    both = jor.converged & full.converged
    more = (jor.iterations / full.iterations)[both]
    longer = (jor.seconds / full.seconds)[both]
    per_iteration = (jor.seconds / jor.iterations) / (full.seconds / full.iterations)
    close = (relaxed.iterations / jor.iterations)[relaxed.converged & jor.converged]
    near = (relaxed_whole.iterations / full.iterations)[relaxed_whole.converged & full.converged]
    first_lost = relaxed_whole.contacts[~relaxed_whole.converged].min(initial=10**6)
    text = f"""
        *JOR makes twice the iterations and more.* In {np.sum(more >= 2)} of the {both.sum()}
        problems that both solve: {spread(more)} those of full SOR.

        *JOR's faster iterations do not pay off.* An iteration takes {spread(per_iteration)} the
        time of one of full SOR here, on one core, and a solve {spread(longer)}. On S2's GPU an
        iteration took half the time.

        *JOR diverges with a larger α.* With α = 1 it converges in {whole.converged.sum()} of
        {count} problems, up to {whole.contacts[whole.converged].max(initial=0):,} contacts; with
        0.5 in {half.converged.sum()}, with 0.35 in {jor.converged.sum()}.

        *Full SOR is more stable.* With α = 1 it converges in {full.converged.sum()} of {count}.

        *Relaxed SOR of 32 performs like JOR where few contacts are coupled.* With JOR's α it makes
        {spread(close)} JOR's iterations. With α = 1 it makes {spread(near)} those of full SOR in
        the {relaxed_whole.converged.sum()} problems in which it converges, all those below
        {first_lost:,} contacts; in the {np.sum(~relaxed_whole.converged)} others it does not,
        like JOR with this α.

        *At most 2–5 coupled contacts.* Here the sphere with the most contacts has
        {jor.of_a_sphere.min()} to {jor.of_a_sphere.max()} of them, and a contact shares its
        spheres with {jor.coupled.min():.1f} to {jor.coupled.max():.1f} others on the average.
    """
    return pages.sentences(text, {})


def filled(text, folder):
    """The page's text with its blocks renewed."""
    path = folder / "spheres.csv"
    rows = pages.read(path)
    link = Path(os.path.relpath(path.with_suffix(".png"), PAGE.parent)).as_posix()
    image = f"![Spheres, contacts, iterations and times]({link})"
    return pages.replaced(
        PAGE,
        text,
        {
            "measured": lambda: pages.measured_with(folder.parent.name, rows),
            "spheres": lambda: "\n\n".join([table(rows), image, pages.as_list(claims(rows))]),
        },
    )


if __name__ == "__main__":
    pages.write_filled(
        PAGE,
        lambda text, machine: filled(text, common.RESULTS / machine / "s2"),
        __doc__.split("\n")[0],
    )
