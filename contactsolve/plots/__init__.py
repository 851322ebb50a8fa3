"""Pictures of problems, results and worlds, drawn with matplotlib (the extra ``plot``)."""

from contactsolve.plots.cloth import cloth, cloth_motion
from contactsolve.plots.compare import compare
from contactsolve.plots.convergence import convergence
from contactsolve.plots.impulses import impulses
from contactsolve.plots.interactive import cloth_widget
from contactsolve.plots.motion import motion, snapshots
from contactsolve.plots.order import order
from contactsolve.plots.problem import problem
from contactsolve.plots.scene import scene

__all__ = [
    "cloth",
    "cloth_motion",
    "cloth_widget",
    "compare",
    "convergence",
    "impulses",
    "motion",
    "order",
    "problem",
    "scene",
    "snapshots",
]
