"""Pictures of results, drawn with matplotlib (the extra ``plot``)."""

from contactsolve.plots.convergence import convergence

__all__ = ["convergence"]
