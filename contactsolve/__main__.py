"""``python -m contactsolve`` is the command ``contactsolve``."""

import sys

from contactsolve.cli import main

if __name__ == "__main__":
    sys.exit(main())
