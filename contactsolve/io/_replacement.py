"""Files that take their name once they are complete."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["replacement"]


@contextmanager
def replacement(path: Path, suffix: str = ".tmp") -> Iterator[Path]:
    """Give a temporary name in the folder of a file, to be written; at the end it takes its place.

    An interrupted or failed write leaves an existing file unchanged and removes the temporary one.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder of {path} does not exist")
    temporary = target.with_name(f".contactsolve-{secrets.token_hex(8)}{suffix}")
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
