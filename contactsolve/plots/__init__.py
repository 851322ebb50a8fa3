"""Pictures of problems and results, drawn with matplotlib (the extra ``plot``)."""

from contactsolve.plots.compare import compare
from contactsolve.plots.convergence import convergence
from contactsolve.plots.impulses import impulses
from contactsolve.plots.order import order
from contactsolve.plots.problem import problem

__all__ = ["compare", "convergence", "impulses", "order", "problem"]
