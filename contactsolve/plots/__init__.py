"""Pictures of problems, results, worlds and cloths.

They are drawn with matplotlib (the extra ``plot``), widgets with k3d (the extra ``widget``).
"""

from contactsolve.plots.cloth import cloth, cloth_motion
from contactsolve.plots.compare import compare
from contactsolve.plots.convergence import convergence
from contactsolve.plots.film import film
from contactsolve.plots.impulses import impulses
from contactsolve.plots.interactive import cloth_widget
from contactsolve.plots.motion import motion, snapshots
from contactsolve.plots.order import order
from contactsolve.plots.problem import problem
from contactsolve.plots.scene import scene
from contactsolve.plots.scene_widget import scene_widget

__all__ = [
    "cloth",
    "cloth_motion",
    "cloth_widget",
    "compare",
    "convergence",
    "film",
    "impulses",
    "motion",
    "order",
    "problem",
    "scene",
    "scene_widget",
    "snapshots",
]
