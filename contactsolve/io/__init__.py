"""Reading and writing of problems in FCLIB files."""

from contactsolve.io.fclib import FclibFile, FclibPoint, read_fclib, write_fclib

__all__ = ["FclibFile", "FclibPoint", "read_fclib", "write_fclib"]
