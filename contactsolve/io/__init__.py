"""Problems in FCLIB files, and out of the simulators MuJoCo and Pinocchio."""

from contactsolve.io.fclib import FclibFile, FclibPoint, read_fclib, write_fclib
from contactsolve.io.mujoco import MujocoProblem, from_mujoco, to_mujoco
from contactsolve.io.pinocchio import PinocchioProblem, from_pinocchio

__all__ = [
    "FclibFile",
    "FclibPoint",
    "MujocoProblem",
    "PinocchioProblem",
    "from_mujoco",
    "from_pinocchio",
    "read_fclib",
    "to_mujoco",
    "write_fclib",
]
