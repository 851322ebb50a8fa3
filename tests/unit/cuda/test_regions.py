"""Sweeps by regions, with velocities in shared memory, have the bits of single launches."""

import numpy as np
import pytest

import contactsolve as cs
from emulated import (
    DEVICE,
    EMULATED,
    TURNS,
    lost_write,
    resident,
    rolled_back_alike,
    same_bits,
    shared,
    swept,
    turns,
    two_sets,
)
from emulated import same_history as same

SCENARIOS = {
    "spheres": cs.scenarios.ball_grid(4),
    "pile": cs.scenarios.ball_pile(40),
    "boxes": cs.scenarios.box_stack(6),
    "discs": cs.scenarios.disc_pyramid(8),
}


def sweep(problem, way, sweeps=11, regions=3, **options):
    own = {
        "method": "gauss_seidel",
        "order": cs.orders.regions(regions),
        "scheme": "factorized",
    }
    return swept(problem, way, sweeps, **{**own, **options})


@pytest.mark.sampled(3)
@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "float32", "mixed"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_bits_of_a_graph(name, dtype, compressed):
    for method in ("gauss_seidel", "symmetric_gauss_seidel"):
        options = {"method": method, "dtype": dtype, "compressed": compressed}
        same(*(sweep(SCENARIOS[name], way, **options) for way in ("graph", "regions")))


@pytest.mark.parametrize("regions", [1, 2, 7])
def test_neither_turns_nor_regions_matter(regions):
    wanted = sweep(SCENARIOS["spheres"], "launches", regions=regions)
    for turn in TURNS:
        with turns(turn, regions), resident(regions):
            same(wanted, sweep(SCENARIOS["spheres"], "regions", regions=regions))


def test_any_regions():
    """Regions without contacts inside, and bodies with contacts between regions alone."""
    spheres = SCENARIOS["spheres"]
    with resident(64):
        for labels in (np.arange(64), np.arange(64) % 2, np.where(np.arange(64) < 60, 0, 9)):
            order = cs.orders.regions(labels)
            for method in ("gauss_seidel", "symmetric_gauss_seidel"):
                ways = ("graph", "regions")
                same(*(sweep(spheres, way, 5, order=order, method=method) for way in ways))


def test_no_contacts_inside():
    """Without the ground, all contacts of bodies in regions of their own are between regions."""
    spheres = SCENARIOS["spheres"]
    free = (spheres.bodies >= 0).all(axis=1)
    problem = cs.Problem(
        spheres.J[free], spheres.Minv, spheres.b[free], 0.4, bodies=spheres.bodies[free]
    )
    order = cs.orders.regions(np.arange(64))
    with resident(64):
        same(*(sweep(problem, way, 9, order=order) for way in ("graph", "regions")))


@pytest.mark.parametrize("labels", [np.zeros(4, int), np.arange(4)])
def test_a_body_that_touches_itself(labels):
    J = np.random.default_rng(0).normal(size=(3, 2, 3, 6))
    pairs = [[0, 1], [2, 2], [1, 3]]
    problem = cs.Problem(J, np.ones((4, 6)), np.ones((3, 3)), 0.4, bodies=pairs)
    with pytest.raises(ValueError, match="both sides of a contact are one body"), resident(4):
        sweep(problem, "regions", order=cs.orders.regions(labels))


@pytest.mark.parametrize("method", ["nesterov", "anderson", "nncg", "chebyshev"])
def test_methods_in_steps(method):
    """Some alternate between forward and backward sweeps, in calls of one sweep."""
    options = {"method": method, "record_every": 1}
    same(*(sweep(SCENARIOS["boxes"], way, **options) for way in ("graph", "regions")))


@pytest.mark.parametrize("record_every", [1, 5, 40])
def test_divergent_sweeps_are_rolled_back_alike(record_every):
    """Over-relaxed sweeps diverge, in the middle of a launch too; best iterates come back."""
    options = {
        "sweeps": 40,
        "relaxation": 2.6,
        "rollback_growth": 1.0,
        "record_every": record_every,
    }
    here, there = (sweep(SCENARIOS["spheres"], way, **options) for way in ("graph", "regions"))
    rolled_back_alike(here, there)


def test_the_best_iterate_of_a_launch():
    """Residuals rise and fall: every number of sweeps ends at the iterate of launches."""
    for sweeps in range(1, 20):
        options = {"relaxation": 1.9, "rollback_growth": 1.5, "sweeps": sweeps}
        same(*(sweep(SCENARIOS["boxes"], way, **options) for way in ("launches", "regions")))


@pytest.mark.parametrize("second", [cs.sets.box_friction(0.4), cs.sets.second_order_cone(0.5)])
def test_groups_of_one_shape(second):
    problem = two_sets(SCENARIOS["spheres"], second)
    same(*(sweep(problem, way, compressed=False) for way in ("graph", "regions")))


@pytest.mark.parametrize("sets", [cs.sets.second_order_cone(0.4), cs.sets.box_friction(0.3)])
def test_another_set(sets):
    given = SCENARIOS["spheres"]
    problem = cs.Problem(given.J, given.Minv, given.b, bodies=given.bodies, sets=sets)
    same(*(sweep(problem, way) for way in ("graph", "regions")))


def test_solves_with_a_tolerance_and_values_that_change():
    problems = [cs.scenarios.ball_grid(3) for _ in range(2)]
    solvers = [
        cs.Solver(
            problem,
            method="gauss_seidel",
            order=cs.orders.regions(2),
            scheme="factorized",
            device_sweeps=way,
            rtol=1e-9,
            **EMULATED,
        )
        for problem, way in zip(problems, ("graph", "regions"), strict=True)
    ]
    for factor in (1.0, -0.5):
        for problem in problems:
            problem.update(b=factor * cs.scenarios.ball_grid(3).b)
        same_bits(*(solver.solve() for solver in solvers))


def test_auto_does_not_choose_it():
    options = {"method": "gauss_seidel", "scheme": "factorized", **EMULATED}
    solver = cs.Solver(SCENARIOS["spheres"], order=cs.orders.regions(2), **options)
    assert solver.info["kernel"].endswith(", dataflow")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"order": "colored"}, "the order is not regions"),
        ({"order": cs.orders.subtasks(cs.orders.regions(2), 3)}, "the order is not regions, or"),
        ({"scheme": "matrix"}, "scheme='factorized' is needed"),
        ({"method": "jacobi"}, "the order is not regions"),
        pytest.param(
            {"order": cs.orders.regions(4)},
            "the order has 4 regions, and 3 blocks run at the same",
            marks=pytest.mark.skipif(DEVICE != "cuda-emulated", reason="a GPU has more blocks"),
        ),
    ],
)
def test_where_it_is_not_possible(options, why):
    options = {
        "method": "gauss_seidel",
        "scheme": "factorized",
        "order": cs.orders.regions(2),
        **EMULATED,
        **options,
    }
    with pytest.raises(ValueError, match=f"device_sweeps='regions' is not possible here: {why}"):
        cs.Solver(SCENARIOS["spheres"], device_sweeps="regions", **options)


def test_contacts_of_several_shapes():
    spheres = SCENARIOS["spheres"]
    half = spheres.contacts // 2
    groups = [
        cs.Group(spheres.J[:half], spheres.bodies[:half], spheres.b[:half], sets=cs.sets.disc(0.3)),
        cs.Group(spheres.J[half:, :, :1], spheres.bodies[half:], spheres.b[half:, :1]),
    ]
    problem = cs.Problem(groups=groups, bodies=[cs.Bodies(spheres.Minv)])
    with pytest.raises(ValueError, match="some blocks have a shape or a local solution without"):
        sweep(problem, "regions")


def test_velocities_that_do_not_fit():
    """One region of 64 bodies with six velocities of 8 bytes."""
    with shared(3071):
        why = "a region need 3072 bytes of shared memory, and a block has 3071: more regions"
        with pytest.raises(ValueError, match=why):
            sweep(SCENARIOS["spheres"], "regions", regions=1)
        sweep(SCENARIOS["spheres"], "regions", regions=2)


@pytest.mark.parametrize("turn", TURNS)
def test_a_lost_version_is_reported(turn):
    """A velocity that is never published ends the solve with an error, and nothing else."""
    problem = cs.scenarios.ball_grid(2)
    before = 4 * problem.bodies_count  # pieces of the records that a launch begins with
    with turns(turn, 3), resident(3), lost_write(before + 5):
        solver = cs.Solver(
            problem,
            method="gauss_seidel",
            scheme="factorized",
            order=cs.orders.regions(2),
            rtol=None,
            max_iterations=4,
            device_sweeps="regions",
            **EMULATED,
        )
        with pytest.raises(RuntimeError, match=r"device has failed: .*waits without end"):
            solver.solve()
    same(*(sweep(problem, way, 5, regions=2) for way in ("launches", "regions")))
