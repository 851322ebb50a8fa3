"""Everything that is measured on a device, in the order of importance, within a budget of time.

Runs the scripts below one after another, each with cases that take a minute or less on a machine
with a GPU and 16 cores, but for the last two, and goes on after one that fails. After `--budget`
seconds nothing new starts, and a script that still runs a minute later is ended. CSV files of the
same name are joined and written to `--results`; the scripts of S2 and S4 write theirs to
results/<machine>/s2 and s4, as they do by themselves. The goals come last, and go to
cuda_goals.csv: reached, missed or not measured.

    python benchmarks/cuda/all.py [--budget 420] [--results FOLDER] [--device cuda]

``--device cuda-emulated`` runs the smallest cases on the processor, for tests: its times say
nothing. Without a GPU it says so.
"""

import argparse
import csv
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import RESULTS, devices, machine, write_csv

SCRIPTS = Path(__file__).parents[1]
GRACE = 60.0  # seconds that a script may go on after the budget
GOAL = re.compile(r"^(.*: \w+)( = (\S+), goal ([<>]=) (\S+): (reached|MISSED)|: not measured)$")


class Step(NamedTuple):
    """A script with its arguments on a GPU and where its kernels are emulated.

    One that `has_results` is told where to write them. One that `needs` seconds on a GPU does not
    start with less of the budget left.
    """

    script: str
    arguments: str
    emulated: str
    has_results: bool = True
    needs: float = 0.0


STEPS = (
    Step("cuda/sweeps.py", "--cases grid-40 --repeats 7", "--cases grid-2 --repeats 1"),
    Step(
        "batch/batch.py",
        "--sizes 4096,65536 --goals --repeats 3",
        "--sizes 33 --goals --repeats 1",
    ),
    Step("cuda/dense.py", "--rows 300,1200,3000,6000 --repeats 5", "--rows 12 --repeats 1"),
    Step("cuda/sweeps.py", "--cases pile-28 --repeats 5", "--cases pile-2 --repeats 1"),
    Step("cuda/sweeps.py", "--cases grid-64 --repeats 3", "--cases grid-1 --repeats 1"),
    Step("cuda/dense.py", "--rows 13200 --repeats 3", "--rows 24 --repeats 1"),
    Step("cuda/peers.py", "--grids 8,40 --repeats 5", "--grids 2 --repeats 1"),
    Step("s2/kernels.py", "--contacts 100,400,1600", "--quick", has_results=False),
    Step("s2/dense.py", "100 400 1200", "--quick", has_results=False),
    Step("s4/pyramids.py", "--layers 2,20,100,400 --budget 4", "--quick", has_results=False),
    Step("batch/batch.py", "--sizes 256,4096 --repeats 3", "--sizes 3 --repeats 1"),
    # Not run on a GPU yet. Estimates: 20 s, half of them for copies of T; 60 s; then S2's largest
    # size in 90 s and 4 minutes.
    Step("s2/parts.py", "--contacts 100,400,1600", "--quick", has_results=False),
    Step("s2/spheres.py", "--spheres 1000 --samples 8", "--quick", has_results=False),
    Step("s2/parts.py", "--contacts 4400", "--quick", has_results=False, needs=90),
    Step("s2/kernels.py", "--contacts 4400", "--quick", has_results=False, needs=240),
)


def command_of(step, device, folder):
    """The command line of a step that writes to `folder`."""
    words = (step.arguments if device == "cuda" else step.emulated).split()
    if step.has_results:
        words += ["--results", str(folder)]
    if step.script != "cuda/peers.py" or device == "cuda":  # peers run on no emulated device
        words += ["--device", device]
    return [sys.executable, str(SCRIPTS / step.script), *words]


def run(command, seconds):
    """Run a script; return what it prints, and why it has failed, or None."""
    # A script may start processes, which hold the pipe as well: its group ends as a whole.
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return output, f"ended after {seconds:.0f} s"
    except KeyboardInterrupt:  # the terminal sends it to this group alone
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return output, f"exit status {process.returncode}" if process.returncode else None


def joined(paths, folder):
    """Write files of one name as one to `folder`; columns that a file lacks are empty."""
    rows, names = [], {}
    for path in paths:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            names |= dict.fromkeys(reader.fieldnames or ())
            rows += reader
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / paths[0].name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(names), restval="")
        writer.writeheader()
        writer.writerows(rows)
    return folder / paths[0].name


def goals_of(outputs):
    """Return the sentence of each goal: what was measured, if it was."""
    found = {}
    for match in (GOAL.match(line) for output in outputs for line in output.splitlines()):
        if match and (match[1] not in found or " = " in match[2]):
            found[match[1]] = match[0]
    return list(found.values())


def goal_rows(sentences):
    """Return the same as rows of a table."""
    rows = []
    for sentence in sentences:
        name, _, measured, sign, limit, verdict = GOAL.match(sentence).groups("")
        rows.append(
            {
                "goal": name,
                "measured": measured,
                "limit": f"{sign} {limit}".strip(),
                "verdict": verdict.lower() or "not measured",
            }
        )
    return rows


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", type=float, default=420.0, help="seconds; then nothing starts")
    parser.add_argument("--results", type=Path, default=RESULTS / machine(), help="a folder")
    devices.add_option(parser)
    given = parser.parse_args(argv)
    if given.device is None:
        parser.exit(message=f"no GPU: {cs.cuda.why_not()}\n")
    begun, outputs, failed = time.monotonic(), [], []
    with tempfile.TemporaryDirectory() as scratch:
        for number, step in enumerate(STEPS):
            name = f"{step.script} {step.arguments}"
            left = given.budget - (time.monotonic() - begun)
            if left <= (step.needs if given.device == "cuda" else 0):
                failed.append(f"{name}: not started")
                continue
            print(f"---- {name}", flush=True)
            folder = Path(scratch, str(number))
            output, why = run(command_of(step, given.device, folder), left + GRACE)
            outputs.append(output)
            print(output, end="", flush=True)
            if why:
                failed.append(f"{name}: {why}")

            # What is known so far, in case that the rest is lost.
            files = sorted(Path(scratch).glob("*/*.csv"), key=lambda path: int(path.parent.name))
            for each in sorted({path.name for path in files}):
                joined([path for path in files if path.name == each], given.results)
            print(f"{time.monotonic() - begun:.0f} s", flush=True)
    goals = goals_of(outputs)
    write_csv("cuda_goals", goal_rows(goals), given.results)
    print("---- goals", *goals, sep="\n")
    print("---- failed", *failed, sep="\n")
    print(given.results)


if __name__ == "__main__":
    main()
