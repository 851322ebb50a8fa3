"""Where tests find the files of the repository, from whatever folder they are in."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "benchmarks"
REFERENCE = ROOT / "tests" / "reference"
FCLIB = REFERENCE / "fclib"  # real problems, see the README there
