"""Bodies in motion: worlds, and the shapes and materials that bodies are made of.

>>> import contactsolve as cs
>>> ball = cs.dynamics.Sphere(0.5)
>>> round(ball.mass_properties(density=1000.0).mass, 3)
523.599
"""

from contactsolve.dynamics import scenes
from contactsolve.dynamics._placed import PlacedShape
from contactsolve.dynamics.contacts import Contacts
from contactsolve.dynamics.joints import Control, Joints, Motor, PlacedJoint
from contactsolve.dynamics.material import Material
from contactsolve.dynamics.mesh import Mesh
from contactsolve.dynamics.record import Record
from contactsolve.dynamics.recording import Frame, Recording
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
    Triangle,
)
from contactsolve.dynamics.world import World

__all__ = [
    "Box",
    "Capsule",
    "Contacts",
    "Control",
    "Cylinder",
    "Disc",
    "Frame",
    "HalfSpace",
    "Hull",
    "Joints",
    "MassProperties",
    "Material",
    "Mesh",
    "Motor",
    "PlacedJoint",
    "PlacedShape",
    "Polygon",
    "Record",
    "Recording",
    "Segment",
    "Shape",
    "Sphere",
    "Triangle",
    "World",
    "scenes",
]
