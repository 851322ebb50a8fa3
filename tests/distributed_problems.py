"""Problems for ranks, and what their shares have to be."""

from __future__ import annotations

import numpy as np

import contactsolve as cs

distributed = cs.distributed
SIZES = [1, 2, 3, 5]  # of ranks


def joined() -> cs.Problem:
    """Balls with joints beside their contacts, of other rows and degrees of freedom."""
    rng = np.random.default_rng(3)
    bodies = [cs.Bodies(rng.uniform(1, 2, (12, 6))), cs.Bodies(np.eye(3)[None].repeat(5, axis=0))]
    pairs = rng.integers(-1, 12, (30, 2))
    mixed = np.column_stack([rng.integers(0, 12, 8), rng.integers(12, 17, 8)])
    contacts = cs.Group(rng.normal(size=(30, 2, 3, 6)), pairs, rng.normal(size=(30, 3)), mu=0.4)
    joints = cs.Group(
        (rng.normal(size=(8, 2, 6)), rng.normal(size=(8, 2, 3))),
        mixed,
        rng.normal(size=(8, 2)),
        sets=cs.sets.free(),
        compliance=rng.uniform(0, 1e-3, (8, 2)),
    )
    return cs.Problem(groups=[contacts, joints], bodies=bodies, name="joined")


def hub() -> cs.Problem:
    """A body that touches all others, an immovable one, bodies without contacts, the world."""
    rng, count = np.random.default_rng(4), 200
    pairs = np.column_stack([np.zeros(count, np.int64), rng.integers(1, 150, count)])
    pairs[:7] = [[-1, 3], [150, 4], [150, -1], [-1, -1], [5, 5], [0, 0], [4, 150]]
    inverse = rng.uniform(0.5, 2, (160, 3))
    inverse[150] = 0
    return cs.Problem(
        rng.normal(size=(count, 2, 2, 3)), inverse, rng.normal(size=(count, 2)), 0.3, bodies=pairs
    )


PROBLEMS = {
    "grid": lambda: cs.scenarios.ball_grid((4, 3, 3), velocity=0.5),
    "random": lambda: cs.scenarios.random(60, 25, redundancy=0.2, rng=7),
    "cloth": lambda: cs.scenarios.folded_cloth(),
    "joined": joined,
    "hub": hub,
}


def first_of(problem: cs.Problem) -> tuple[list[int], list[int]]:
    """Where the groups of contacts and bodies begin."""
    contacts = np.cumsum([0, *(x.contacts for x in problem._groups)])
    bodies = np.cumsum([0, *(shape[0] for shape in problem._bodies)])
    return contacts.tolist(), bodies.tolist()


def movable(problem: cs.Problem) -> np.ndarray:
    return np.concatenate(
        [one.any(axis=tuple(range(1, one.ndim))) for one in problem._inverse_masses()] + [[False]]
    )


def random_labels(problem: cs.Problem, parts: int) -> np.ndarray:
    return np.random.default_rng(parts).integers(0, parts, problem.bodies_count)


def given_in_pieces(comm, problem: cs.Problem, labels: np.ndarray, parts: int):
    """A distributed problem of which each rank gives random contacts, some of them twice."""
    rng = np.random.default_rng(11)
    groups, numbers_of_groups, needed = [], [], np.zeros(problem.bodies_count + 1, bool)
    for g, layout in enumerate(problem._groups):
        giver = rng.integers(0, comm.size, layout.contacts)
        also = rng.integers(0, comm.size, layout.contacts)
        mine = np.flatnonzero((giver == comm.rank) | ((also == comm.rank) & (giver % 2 == 0)))
        mine = np.random.default_rng(comm.rank).permutation(mine)
        numbers_of_groups.append(mine)
        needed[problem._core.bodies(g)[mine]] = True
    needed[np.flatnonzero(rng.integers(0, comm.size, len(needed)) == comm.rank)] = True
    own, firsts = np.flatnonzero(needed[:-1]), first_of(problem)[1]
    place = np.full(len(needed), -1)
    place[own] = np.arange(len(own))

    # The rank's own problem.
    body_ids, bodies = [], []
    for g, inverse in enumerate(problem._inverse_masses()):
        ids = own[(own >= firsts[g]) & (own < firsts[g + 1])] - firsts[g]
        body_ids.append(ids)
        bodies.append(cs.Bodies(inverse[ids], diagonal=inverse.ndim == 2))
    for g, mine in enumerate(numbers_of_groups):
        layout, J = problem._groups[g], problem._jacobian(g)
        J = tuple(one[mine] for one in J) if isinstance(J, tuple) else J[mine]
        feasible, sigma = layout.set, problem._core.compliance(g)
        values = {}
        for one in feasible.values:
            shape = (layout.contacts, *one.shape) if one.shape else (layout.contacts,)
            whole = (layout.contacts, layout.rows) if one.of_rows else shape
            values[one.name] = np.broadcast_to(one.value, whole)[mine]
        group = cs.Group(
            J,
            place[problem._core.bodies(g)[mine]],
            problem._core.b(g).reshape(layout.shape)[mine],
            sets=getattr(cs.sets, feasible.name)(**values),
        )
        if sigma is not None:
            group.compliance = sigma.reshape(layout.shape)[mine]
        groups.append(group)
    if problem.grouped:
        return distributed.Problem(
            groups=groups,
            bodies=bodies,
            contact_ids=numbers_of_groups,
            body_ids=body_ids,
            labels=labels[own],
            parts=parts,
            comm=comm,
            name=problem.name,
        )
    (group,) = groups
    J = problem._jacobian(0)[numbers_of_groups[0]]
    return distributed.Problem(
        J,
        bodies[0].inverse_mass,
        group.b,
        bodies=group.bodies,
        sets=group.set,
        compliance=group.compliance,
        contact_ids=numbers_of_groups[0],
        body_ids=body_ids[0],
        labels=labels[own],
        parts=parts,
        comm=comm,
        name=problem.name,
    )


def assert_shares(problem: cs.Problem, labels: np.ndarray, parts: int, shares: list) -> None:
    """The shares are those that the whole problem determines."""
    moves, size = movable(problem), len(shares)
    label = np.append(np.where(moves[:-1], labels, -1), -1)
    partners = problem._partners()
    of_contacts = np.where(moves[partners], label[partners], parts)
    part = of_contacts.min(axis=1)
    free = part == parts
    part[free] = np.flatnonzero(free) % parts
    for rank, share in enumerate(shares):
        first, end = parts * rank // size, parts * (rank + 1) // size
        mine = (label[partners] >= first) & (label[partners] < end) & moves[partners]
        wanted = np.flatnonzero(mine.any(axis=1) | (free & (part >= first) & (part < end)))
        assert share.contact.tolist() == wanted.tolist()
        assert share.part.tolist() == part[wanted].tolist()
        inside = free | np.array(
            [
                len(set(row[m].tolist())) <= 1
                for row, m in zip(label[partners], moves[partners], strict=False)
            ]
        )
        assert share.inside.tolist() == inside[wanted].tolist()
        owned = moves[:-1] & (labels >= first) & (labels < end)
        used = np.zeros(len(moves), bool)
        used[partners[wanted]] = True
        bodies = np.flatnonzero(owned | used[:-1])
        assert share.body.tolist() == bodies.tolist()
        assert share.label.tolist() == label[bodies].tolist()
        assert share.owns_body.tolist() == owned[bodies].tolist()
        assert share.owns_contact.tolist() == ((part >= first) & (part < end))[wanted].tolist()
        assert_values(problem, share)


def assert_values(problem: cs.Problem, share) -> None:
    """The rank's problem has the bits of the whole one."""
    firsts, local = first_of(problem), share.problem
    number = np.append(share.body, -1)
    for g, (whole, own) in enumerate(zip(problem._groups, local._groups, strict=True)):
        mine = share.contact[(share.contact >= firsts[0][g]) & (share.contact < firsts[0][g + 1])]
        ids = mine - firsts[0][g]
        size = sum(whole.dofs) * whole.rows
        assert (own.rows, own.dofs, own.set.name) == (whole.rows, whole.dofs, whole.set.name)
        for read in ("jacobian", "b"):
            width = size if read == "jacobian" else whole.rows
            theirs = getattr(problem._core, read)(g).reshape(-1, width)[ids]
            assert getattr(local._core, read)(g).reshape(-1, width).tobytes() == theirs.tobytes()
        theirs = whole.set.parameters(*whole.shape)[ids]
        assert own.set.parameters(*own.shape).tobytes() == theirs.tobytes()
        theirs, ours = problem._core.compliance(g), local._core.compliance(g)
        assert (theirs is None) == (ours is None)
        if theirs is not None:
            assert ours.tobytes() == theirs.reshape(whole.shape)[ids].tobytes()
        assert number[local._core.bodies(g)].tolist() == problem._core.bodies(g)[ids].tolist()
    for g, (whole, own) in enumerate(
        zip(problem._inverse_masses(), local._inverse_masses(), strict=True)
    ):
        mine = share.body[(share.body >= firsts[1][g]) & (share.body < firsts[1][g + 1])]
        assert own.tobytes() == whole[mine - firsts[1][g]].tobytes()
