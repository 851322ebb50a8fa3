"""Modelled: the time of a sweep on many ranks, from measured costs and counted messages.

distributed_model.csv  a row for each scene, border and number of ranks, each with one part

    modelled time = visits x time of a visit + LogGP (o, L, G) of counted messages and bytes

o, L and G are measured in the same run between two ranks that are threads, and the time of a visit
on one process and one thread, in the same parts and border. No rank of the table has run. The model
adds work and messages: it leaves out what ranks gain because exchanges travel while they visit
contacts away from their borders. Beside the speed-up over one rank are Amdahl's law, and
Gustafson's for a problem that grows with the ranks, with the share of contacts on the border as the
serial share: they are what a border visited by one rank would allow.

    python benchmarks/distributed/model.py [scenes] [--ranks 1,8,512] [--quick]
"""

import os
import sys
from pathlib import Path

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import sweeping
from scenes import LARGE, SCENES, chosen, order_of
from traffic import TRIAL, collected
from traffic import rows_of as traffic_of

ALL = {**{name: SCENES[name] for name in list(SCENES)[:1]}, **LARGE}
LONG = 2**18  # bytes of a long message
CONTACT_SWEEPS, RUNS = 400_000, 5  # of a run that measures visits, and how many


def amdahl(serial, ranks):
    """Return the speed-up of a fixed problem with a serial share of its time on one rank."""
    return 1 / (serial + (1 - serial) / ranks)


def gustafson(serial, ranks):
    """Return the speed-up of a problem that grows, with a serial share of its time on ranks."""
    return serial + (1 - serial) * ranks


def measured_costs(quick):
    """Return o, L and G between two ranks that are threads: the least of several measurements."""
    rounds, count = (1, 20) if quick else (5, 1000)

    def work(comm):
        return [cs.distributed.message_costs(comm, count, LONG) for _ in range(rounds)]

    found = cs.distributed.run(work, 2)[0]
    alone = min(one.overhead for one in found)
    short = min(one.overhead + one.latency for one in found)
    gap = min(one.gap for one in found)
    return cs.distributed.MessageCosts(alone, max(0.0, short - alone), gap)


def of_visit(problem, order, quick):
    """Return seconds of a visit on one process and one thread: the least of several runs."""
    sweeps = max(2, (problem.contacts if quick else CONTACT_SWEEPS) // problem.contacts)
    solver = sweeping(problem, sweeps, 1, order=order, islands=False)
    return min(solver.solve().sweep_time for _ in range(2 if quick else RUNS)) / (
        sweeps * problem.contacts
    )


def rows_of(name, problem, ranks, costs, quick):
    """Yield the modelled rows of a scene."""
    alone = of_visit(problem, "natural", quick) * problem.contacts
    for row, labels, border, traffic in traffic_of(name, problem, ranks):
        visit = of_visit(problem, order_of(labels, border), quick)
        work, messages = traffic.seconds(costs, visit)
        serial, number = row["on_border"], row["ranks"]
        yield {
            **row,
            "what": "modelled",
            "o_us": 1e6 * costs.overhead,
            "L_us": 1e6 * costs.latency,
            "G_ns": 1e9 * costs.gap,
            "visit_ns": 1e9 * visit,
            "natural_us": 1e6 * alone,
            "work_us": 1e6 * work,
            "messages_us": 1e6 * messages,
            "sweep_us": 1e6 * (work + messages),
            "speedup": alone / (work + messages),
            "amdahl": amdahl(serial, number),
            "gustafson": gustafson(serial, number),
            "load": os.getloadavg()[0],
        }


def main(argv=None):
    given, scenes, ranks = chosen(__doc__, ALL, "ranks", TRIAL, argv)
    costs = measured_costs(given.quick)

    def modelled(name, problem):
        return rows_of(name, problem, ranks, costs, given.quick)

    return collected("distributed_model", given, scenes, modelled, ALL)


if __name__ == "__main__":
    main()
