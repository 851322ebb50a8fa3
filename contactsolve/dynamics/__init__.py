"""Bodies in motion: the shapes that bodies are made of.

>>> import contactsolve as cs
>>> ball = cs.dynamics.Sphere(0.5)
>>> round(ball.mass_properties(density=1000.0).mass, 3)
523.599
"""

from contactsolve.dynamics.shapes import (
    Box,
    Capsule,
    Cylinder,
    Disc,
    HalfSpace,
    Hull,
    MassProperties,
    Polygon,
    Segment,
    Shape,
    Sphere,
)

__all__ = [
    "Box",
    "Capsule",
    "Cylinder",
    "Disc",
    "HalfSpace",
    "Hull",
    "MassProperties",
    "Polygon",
    "Segment",
    "Shape",
    "Sphere",
]
