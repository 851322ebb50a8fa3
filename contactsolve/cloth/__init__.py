"""Cloth: triangle meshes with membrane, bending and mass, moved by implicit Euler steps (S5, 3).

>>> import contactsolve as cs
>>> vertices, faces = cs.cloth.sheet(5, 5, 1.0)
>>> cloth = cs.cloth.Cloth(vertices, faces, density=0.2, young=100.0, attach=[0, 4])
>>> cloth.run(0.5, 1e-2)
>>> round(cloth.time, 12)
0.5
"""

from . import scenes
from .cloth import Cloth, Energy
from .collisions import Collisions
from .obstacle import Obstacle
from .recording import Frame, Recording
from .sheet import sheet

__all__ = ["Cloth", "Collisions", "Energy", "Frame", "Obstacle", "Recording", "scenes", "sheet"]
