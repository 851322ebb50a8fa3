"""Problems in FCLIB files, and out of the simulators MuJoCo and Pinocchio."""

from contactsolve.io.fclib import FclibFile, FclibPoint, read_fclib, write_fclib
from contactsolve.io.mujoco import MujocoProblem, from_mujoco, to_mujoco

__all__ = [
    "FclibFile",
    "FclibPoint",
    "MujocoProblem",
    "from_mujoco",
    "read_fclib",
    "to_mujoco",
    "write_fclib",
]
