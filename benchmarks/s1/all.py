"""Runs every script of this folder in turn, each in its own process, then renews docs/s1.md.

python benchmarks/s1/all.py [--threads 1,2,4,8,16] [--quick]
"""

import subprocess
import sys
import time
from pathlib import Path

from layouts import LAYOUTS

FOLDER = Path(__file__).parent


def main():
    spent = {}
    for layout in LAYOUTS.values():
        start = time.perf_counter()
        subprocess.run([sys.executable, FOLDER / layout.script, *sys.argv[1:]], check=True)
        spent[layout.script] = time.perf_counter() - start
    for script, seconds in spent.items():
        print(f"{seconds:7.1f} s  {script}")
    if "--quick" not in sys.argv:
        subprocess.run([sys.executable, FOLDER / "report.py"], check=True)


if __name__ == "__main__":
    main()
