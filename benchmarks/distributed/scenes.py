"""Problems and orders of the measurements on ranks; a name means the same in all CSVs."""

import argparse
from pathlib import Path

import numpy as np
from common import hard_problems

import contactsolve as cs

SCENES = {
    "grid 12³": lambda: cs.scenarios.ball_grid(12, mu=0.1, velocity=0.5),
    "pile of 3000": lambda: hard_problems.loose_pile(3000),
    "pyramid 60": lambda: cs.scenarios.disc_pyramid(60),
}
LARGE = {"grid 40³": lambda: cs.scenarios.ball_grid(40, mu=0.1, velocity=0.5)}
SMALL = {"grid 4³": lambda: cs.scenarios.ball_grid(4, mu=0.1, velocity=0.5)}  # for trials
PARTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
BORDERS = ("colored", "checkerboard", "concurrent")
REMEDIES = ("concurrent, weight 1/n", "concurrent, split masses")  # n: most parts at a body


def labels_of(problem, parts):
    """Return the part of each body and the name of the strategy: METIS, or ranges without it."""
    if parts == 1:
        return np.zeros(problem.bodies_count, np.int64), "one part"
    try:
        return cs.orders.labels(problem, "metis", parts), "metis"
    except ImportError:
        return cs.orders.labels(problem, "natural", parts), "natural"


def order_of(labels, border):
    """Return the order with such a border, and such parts unless the problem has its own."""
    return cs.orders.partition(**({} if labels is None else {"strategy": labels}), border=border)


def remedy_of(labels, remedy, most):
    """Return the order with a concurrent border and a remedy, where `most` parts visit a body."""
    weight = 1 / most if remedy == REMEDIES[0] else 1.0
    return cs.orders.partition(
        labels, border="concurrent", weight=weight, split_masses=remedy == REMEDIES[1]
    )


def _parts_of_contacts(problem, labels):
    """Return which partners move, and the lowest and the highest part of those of each contact."""
    inverse, bodies = np.asarray(problem.Minv), np.asarray(problem.bodies)
    movable = np.append(np.any(inverse, axis=tuple(range(1, inverse.ndim))), False)  # the world: -1
    moves = movable[bodies]
    part = np.append(labels, -1)[bodies]
    lowest = np.where(moves, part, np.iinfo(np.int64).max).min(axis=1)
    return moves, lowest, np.where(moves, part, -1).max(axis=1)


def border_share(problem, labels):
    """Return the share of contacts that act on movable bodies of several parts."""
    _, lowest, highest = _parts_of_contacts(problem, labels)
    return float((lowest < highest).mean())


def parts_at_a_body(problem, labels):
    """Return how many parts visit contacts of one body on the border, at the most; 1 without any.

    The lowest part of a contact visits it.
    """
    moves, lowest, highest = _parts_of_contacts(problem, labels)
    row, column = np.nonzero(moves & (lowest < highest)[:, None])
    met = np.unique(np.stack([np.asarray(problem.bodies)[row, column], lowest[row]], 1), axis=0)
    return int(np.bincount(met[:, 0]).max(initial=1))


def chosen(document, scenes, what, trial, argv, borders=None):
    """Return the words of a command line, the scenes by name, and the numbers of parts or ranks.

    Parameters
    ----------
    document
        Of the script; its first line is the description.
    scenes
        The scenes to choose from; those of a trial are `SMALL`.
    what
        ``"parts"`` or ``"ranks"``: the name of the option, too.
    trial
        The numbers of a trial.
    argv
        The words; None: those of the process.
    borders
        The borders of the option ``--borders``; None: there is no such option.
    """
    parser = argparse.ArgumentParser(description=document.partition("\n")[0])
    parser.add_argument("scenes", nargs="*", metavar="scene", help=f"of {', '.join(scenes)}")
    parser.add_argument(f"--{what}", help=f"numbers of {what}, as 1,8,512 (default: powers of two)")
    if borders:
        add = parser.add_argument
        add("--borders", nargs="+", choices=borders, default=borders, help="these alone")
    parser.add_argument("--quick", action="store_true", help="a trial that writes nothing")
    parser.add_argument("--results", type=Path, help="a folder (default: results/<machine>)")
    given = parser.parse_args(argv)
    scenes = SMALL if given.quick else scenes
    for name in set(given.scenes) - set(scenes):
        parser.error(f"scene {name!r} is none of {', '.join(scenes)}")
    text = getattr(given, what)
    usual = trial if given.quick else PARTS
    numbers = _numbers(parser, f"--{what}", text) if text else usual
    return given, {name: scenes[name] for name in given.scenes or scenes}, numbers


def _numbers(parser, option, text):
    """Return the numbers of an option such as 1,8,512, or end the command with an error."""
    words = text.split(",")
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        parser.error(f"{option} {text!r}: numbers of 1 or more are needed")
    return tuple(map(int, words))
