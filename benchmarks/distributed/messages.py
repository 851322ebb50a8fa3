"""What an exchange with one neighbour costs, by transport and size of the message.

messages.csv  work: one thread plays two ranks that are threads, so that nothing has to be waited
              for; threads: two ranks that are threads; mpi: two ranks that are processes, where
              mpi4py and its launcher are installed

An exchange is a message each way; a time is the mean of many exchanges in a row, the least and the
median of several such runs in turns. Run it on a quiet machine with two cores at least: ranks that
share a core wait for each other's turns.

    python benchmarks/distributed/messages.py [--quick]
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import contactsolve as cs
from contactsolve import _core

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import cores, write_csv
from goals import SEAM, SEAM_BYTES, told

SIZES = (0, SEAM_BYTES, 1024, 16384, 262144)  # bytes
SECONDS, QUICK = 0.2, 0.002  # of one run, about
REPEATS = 7


def count_for(size, quick):
    """Return how many exchanges make a run, if one takes a microsecond and 10 GB/s."""
    return max(10, int((QUICK if quick else SECONDS) / (1e-6 + size / 5e9)))


def by_size(measure, quick):
    """Seconds of each run, by size; runs of all sizes in turns."""
    runs = [
        {size: measure(size, count_for(size, quick)) for size in SIZES}
        for _ in range(2 if quick else REPEATS)
    ]
    return {size: [run[size] for run in runs] for size in SIZES}


def of_ranks(comm, quick):
    return by_size(lambda size, count: _core.exchange_cost(comm.transport, size, count), quick)


def of_mpi(quick):
    """The same on two processes, and the name of their library; None without mpi4py."""
    beside = (Path(sys.executable).with_name(name) for name in ("mpiexec.hydra", "mpiexec"))
    launcher = next((path for path in beside if path.exists()), None)
    if launcher is None:
        return None
    command = [str(launcher), "-n", "2", sys.executable, str(Path(__file__)), "--rank"]
    given = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(
        [*command, *(["--quick"] if quick else [])],
        env={**given, **os.environ},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        print(f"mpi was not measured: {done.stderr.strip()[-300:]}")
        return None
    found = json.loads(done.stdout.splitlines()[-1])
    return found["library"], {int(size): runs for size, runs in found["seconds"].items()}


def be_a_rank(quick):
    """Measure as one of the processes; rank 0 prints the result."""
    from mpi4py import MPI

    comm = cs.distributed.communicator()
    seconds = of_ranks(comm, quick)
    if comm.rank == 0:
        library = MPI.Get_library_version().splitlines()[0].strip()
        print(json.dumps({"library": library, "seconds": seconds}))


def rows_of(transport, library, seconds):
    return [
        {
            "transport": transport,
            "library": library,
            "bytes": size,
            "least_us": 1e6 * min(runs),
            "median_us": 1e6 * float(np.median(runs)),
            "cores": cores(),
            "load": os.getloadavg()[0],
        }
        for size, runs in seconds.items()
    ]


def main(quick):
    rows = rows_of("work", "", by_size(_core.exchange_work, quick))
    between = cs.distributed.run(of_ranks, 2, quick)
    rows += rows_of("threads", "", between[0])
    processes = of_mpi(quick)
    if processes is not None:
        rows += rows_of("mpi", *processes)
    for row in rows:
        print(
            f"{row['transport']:8} {row['bytes']:7} bytes: "
            f"{row['least_us']:.3g} us least, {row['median_us']:.3g} us median"
        )
    seam = next(row for row in rows if row["transport"] == "work" and row["bytes"] == SEAM_BYTES)
    print(told("work of an exchange [us]", seam["median_us"], SEAM, less=True))
    if not quick:
        print(write_csv("messages", rows))
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a trial that writes nothing")
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    (be_a_rank if arguments.rank else main)(arguments.quick)
