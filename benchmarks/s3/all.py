"""Measures all frames, runs every script of this folder in turn, then renews docs/s3.md.

python benchmarks/s3/all.py [--quick]
"""

import subprocess
import sys
import time
from pathlib import Path

from layouts import LAYOUTS

FOLDER = Path(__file__).parent


def main():
    spent = {}
    for script in ("frames.py", *dict.fromkeys(layout.script for layout in LAYOUTS.values())):
        start = time.perf_counter()
        subprocess.run([sys.executable, FOLDER / script, *sys.argv[1:]], check=True)
        spent[script] = time.perf_counter() - start
    for script, seconds in spent.items():
        print(f"{seconds:7.1f} s  {script}")
    if "--quick" not in sys.argv:
        subprocess.run([sys.executable, FOLDER / "report.py"], check=True)


if __name__ == "__main__":
    main()
