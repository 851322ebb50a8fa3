"""What ranks send in a sweep, counted from the plan of one process, for any number of ranks.

distributed_traffic.csv  a row for each scene, border and number of ranks, each with one part

The solver tells the same numbers of its own ranks (`Solver.info["ranks"]`); `check` compares both,
and the script does so on two ranks. Counts do not depend on what else runs on the machine.

    python benchmarks/distributed/traffic.py [scenes] [--ranks 1,8,512] [--quick]
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import contactsolve as cs
from contactsolve import _core, methods
from contactsolve.distributed import _plan
from contactsolve.distributed._collective import owner_of_part

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import kept, on_a_line, write_csv
from scenes import BORDERS, LARGE, SCENES, border_share, chosen, labels_of, order_of

ALL = {**SCENES, **LARGE}
KINDS = dict(enumerate(_core.stage_kinds()))
TRIAL = (1, 2, 4)  # ranks of a trial
REAL = 8  # bytes of a number of u and lambda in float64
GATHERED = 16 * 8  # bytes that a rank tells the others of its decisions after a sweep


@dataclass
class Exchange:
    """Messages and bytes of each rank in one exchange, sent and received, ``(ranks,)``."""

    sent: np.ndarray
    received: np.ndarray
    bytes_sent: np.ndarray
    bytes_received: np.ndarray


@dataclass
class Traffic:
    """A sweep on ranks: visits of each stage and rank, ``(stages, ranks)``, and exchanges."""

    ranks: int
    visits: np.ndarray
    exchanges: list[Exchange] = field(default_factory=list)

    @property
    def messages(self):
        """Messages that each rank sends in a sweep, without gathers, ``(ranks,)``."""
        return sum((one.sent for one in self.exchanges), np.zeros(self.ranks, np.int64))

    @property
    def bytes(self):
        """Their bytes, ``(ranks,)``."""
        return sum((one.bytes_sent for one in self.exchanges), np.zeros(self.ranks, np.int64))

    def seconds(self, costs, visit):
        """Return seconds of work and of messages in a sweep, by LogGP; `visit` is one visit's.

        Ranks wait for each other in every stage: its slowest rank counts, in the work and in the
        exchange. A gather of the decisions, by doubling, ends the sweep.
        """
        work = visit * float(self.visits.max(axis=1).sum())
        messages = 0.0
        for one in self.exchanges:
            count = np.maximum(one.sent, one.received)
            size = np.maximum(one.bytes_sent, one.bytes_received)
            messages += max(costs.seconds(*both) for both in zip(count, size, strict=True))
        distance = 1
        while distance < self.ranks:
            held = min(distance, self.ranks - distance)
            messages += costs.seconds(1, held * GATHERED)
            distance *= 2
        return work, messages


def plan_of(problem, labels, parts, order, method="gauss_seidel"):
    """Return the share of one process, which is the whole problem, and the plan of an order."""
    share = cs.distributed.scatter(problem, labels=labels, parts=parts).share
    simultaneous = methods.chosen(method).name == "jacobi"
    return share, _plan.plan_of(share, cs.orders.chosen(order), simultaneous=simultaneous)


def counted(share, plan, ranks):
    """Return the traffic of a sweep on so many ranks, at most as many as parts."""
    return _Count(share, plan, ranks).traffic()


class _Count:
    """The owners of bodies and visitors of contacts, for one number of ranks."""

    def __init__(self, share, plan, ranks):
        self.plan, self.ranks, self.parts = plan, ranks, share.parts
        self.bodies = len(share.body)
        self.dof = share.problem.Minv.shape[1]
        self.rows = share.problem.J.shape[2]
        owner = owner_of_part(share.label, share.parts, ranks)
        self.owner = np.append(np.where(share.label < 0, -1, owner), -1)
        self.partners = share.partners
        self.owners = self.owner[self.partners]  # of each contact's bodies, -1 for immovable ones
        self.visitor = owner_of_part(plan.part, share.parts, ranks)

        # The other ranks that have each body: they own another body of one of its contacts.
        codes = []
        for i, j in np.ndindex(2 * (self.partners.shape[1],)):
            body, rank = self.partners[:, i], self.owners[:, j]
            shared = (body >= 0) & (rank >= 0) & (rank != self.owners[:, i])
            codes.append(body[shared] * ranks + rank[shared])
        holders = np.unique(np.concatenate(codes))
        self.holder = holders % ranks
        self.first_holder = np.searchsorted(holders, np.arange(self.bodies + 1) * ranks)

    def traffic(self):
        plan, found = self.plan, []
        visits = np.zeros((len(plan.kind), self.ranks), np.int64)
        lent = []
        for stage, number in enumerate(plan.kind):
            kind = KINDS[int(number)]
            block = plan.block[plan.start[stage] : plan.start[stage + 1]]
            visits[stage] = self.visits(kind, block)
            if kind in ("disjoint", "concurrent"):
                lent.append(block)
                found.append(self.back(kind, block))
            found.append(self.forth(kind, block if kind != "simultaneous" else plan.block))
        found.append(self.impulses(np.concatenate([np.empty(0, np.int64), *lent])))
        return Traffic(self.ranks, visits, [one for one in found if one.sent.any()])

    def visits(self, kind, block):
        """How many contacts of a stage each rank visits."""
        if kind in ("disjoint", "concurrent"):
            return np.bincount(self.visitor[block], minlength=self.ranks)
        row, column = np.nonzero(self.owners[block] >= 0)
        pairs = np.unique(row * self.ranks + self.owners[block][row, column])
        return np.bincount(pairs % self.ranks, minlength=self.ranks)

    def forth(self, kind, block):
        """Velocities after a stage, from owners to ranks that have not computed them."""
        row, column = np.nonzero(self.partners[block] >= 0)
        contact, body = block[row], self.partners[block][row, column]
        first, end = self.first_holder[body], self.first_holder[body + 1]
        contact, body = np.repeat(contact, end - first), np.repeat(body, end - first)
        begins = np.repeat(np.cumsum(end - first) - (end - first), end - first)
        to = self.holder[np.repeat(first, end - first) + np.arange(len(body)) - begins]
        if kind == "disjoint":
            knows = self.visitor[contact] == to
        elif kind == "concurrent":
            knows = np.zeros(len(contact), bool)
        else:
            knows = (self.owners[contact] == to[:, None]).any(axis=1)
        return self.exchange(self.owner[body], to, body, np.where(knows, -1, self.dof))

    def back(self, kind, block):
        """Velocities or changes of bodies, from the ranks that visit contacts to the owners."""
        row, column = np.nonzero(self.owners[block] >= 0)
        contact, body = block[row], self.partners[block][row, column]
        visitor, owner = self.visitor[contact], self.owner[body]
        item = body if kind == "disjoint" else self.plan.part[contact] * self.bodies + body
        return self.exchange(visitor, owner, item, np.where(visitor == owner, -1, self.dof))

    def impulses(self, block):
        """Impulses of contacts that one rank visits and others have."""
        row, column = np.nonzero(self.owners[block] >= 0)
        contact, other = block[row], self.owners[block][row, column]
        visitor = self.visitor[contact]
        return self.exchange(visitor, other, contact, np.where(visitor == other, -1, self.rows))

    def exchange(self, sender, receiver, item, width):
        """Messages and bytes of items, each once for a sender and receiver; width -1: none."""
        sends = width >= 0
        triple = np.stack([sender[sends], receiver[sends], item[sends], width[sends]], axis=1)
        triple = np.unique(triple, axis=0)
        pairs = np.unique(triple[:, 0] * self.ranks + triple[:, 1])
        size = REAL * triple[:, 3]

        def count(ranks, weights=None):
            return np.bincount(ranks, weights, self.ranks).astype(np.int64)

        return Exchange(
            count(pairs // self.ranks),
            count(pairs % self.ranks),
            count(triple[:, 0], size),
            count(triple[:, 1], size),
        )


def check(problem, labels, parts, order, ranks, method="gauss_seidel"):
    """Compare the count with what the solvers of so many ranks tell; return the count.

    Raises
    ------
    ValueError
        A rank tells other messages or bytes.
    """

    def told(comm):
        whole = problem if comm.rank == 0 else None
        shared = cs.distributed.scatter(
            whole, labels=labels if comm.rank == 0 else None, parts=parts, comm=comm
        )
        own = {"method": method, "order": order, "threads": 1}
        return cs.distributed.Solver(shared, **own).info["ranks"]

    found = counted(*plan_of(problem, labels, parts, order, method), ranks)
    for rank, own in enumerate(cs.distributed.run(told, ranks)):
        for name, values in (("messages", found.messages), ("bytes", found.bytes)):
            if own[name] != values[rank]:
                raise ValueError(
                    f"rank {rank} of {ranks} sends {own[name]} {name} in a sweep, but "
                    f"{values[rank]} are counted"
                )
    return found


# ---- the table ----------------------------------------------------------------------------------


def rows_of(name, problem, ranks):
    """Yield the counted rows of a scene, and what made them: row, labels, border, traffic."""
    for number in ranks:
        if number > problem.bodies_count:
            continue
        labels, strategy = labels_of(problem, number)
        share = border_share(problem, labels)
        for border in BORDERS:
            order = order_of(None, border)
            if number == 2:
                traffic = check(problem, labels, number, order, number)
            else:
                traffic = counted(*plan_of(problem, labels, number, order), number)
            row = {
                "scene": name,
                "contacts": problem.contacts,
                "border": border,
                "ranks": number,
                "labels": strategy,
                "on_border": share,
                "stages": len(traffic.visits),
                "visits": int(traffic.visits.max(axis=1).sum()),
                "exchanges": len(traffic.exchanges),
                "messages": int(traffic.messages.max()),
                "bytes": int(traffic.bytes.max()),
                "messages_of_all": int(traffic.messages.sum()),
                "bytes_of_all": int(traffic.bytes.sum()),
            }
            yield row, labels, border, traffic


def collected(name, given, scenes, rows_of_scene, every_scene):
    """Print the rows of the chosen scenes, and write them unless this is a trial; return them.

    The CSV keeps the stored rows of other scenes, borders and ranks. `rows_of_scene` yields the
    rows of a name and a problem.
    """
    rows = []
    for scene, make in scenes.items():
        for row in rows_of_scene(scene, make()):
            print(on_a_line(row), flush=True)
            rows.append(row)
    if given.quick:
        return rows
    every = kept(name, rows, ("scene", "border", "ranks"), given.results) + rows
    names, borders = list(every_scene), list(BORDERS)

    def place(row):
        return names.index(row["scene"]), borders.index(row["border"]), int(row["ranks"])

    print(write_csv(name, sorted(every, key=place), given.results))
    return rows


def main(argv=None):
    given, scenes, ranks = chosen(__doc__, ALL, "ranks", TRIAL, argv)

    def counted_rows(name, problem):
        return (row for row, *_ in rows_of(name, problem, ranks))

    return collected("distributed_traffic", given, scenes, counted_rows, ALL)


if __name__ == "__main__":
    main()
