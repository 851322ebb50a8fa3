"""Batches on the emulated device have the bits of the processor's, however many lanes solve one."""

import re

import numpy as np
import pytest

import contactsolve as cs
from agreement import package_set
from emulated import EMULATED, ROUNDED, TURNS, turns
from reference_numpy import random_problem
from rigid_contacts import rigid_problem

FIXED = {"rtol": None, "atol": None}
PER = ("thread", "half_warp", "warp")
SETS = (
    ("free", 4),
    ("box", 2),
    ("half_line", 1),
    ("disc", 2),
    ("disc", 3),
    ("box_friction", 3),
    ("rolling", 5),
    ("ellipse", 3),
    ("polygon", 3),
    ("contensou", 4),
    ("contensou_coupled", 4),
    ("second_order_cone", 3),
    ("tresca", 3),
)


def problems_of(name, rows, dof=6, count=37):
    """Problems of many sizes with one kind of set; the last bodies are the same on both sides."""
    made = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        arrays = random_problem(rng, 2 + seed % 5, 2 + seed % 3, rows, dof, name)
        bodies = arrays.bodies.copy()
        if seed % 4 == 0:
            bodies[-1] = max(bodies[-1].max(), 0)
        made.append(
            cs.Problem(arrays.J, arrays.Minv, arrays.b, bodies=bodies, sets=package_set(arrays))
        )
    return made


def rigid(kind, count=35, sets=None):
    """Problems of many sizes whose contacts can be compressed."""
    return [rigid_problem(n, kind, 2 + n % 9, 2 + n % 4, sets) for n in range(count)]


def same(here, there):
    np.testing.assert_array_equal(here.flat_impulses, there.flat_impulses)
    np.testing.assert_array_equal(here.iterations, there.iterations)
    np.testing.assert_array_equal(here.statuses, there.statuses)
    np.testing.assert_array_equal(here.residuals, there.residuals)
    np.testing.assert_array_equal(here.rollbacks, there.rollbacks)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("per", PER)
@pytest.mark.parametrize(("name", "rows", "dof"), [("disc", 3, 6), ("disc", 2, 3), ("box", 1, 6)])
def test_the_bits_of_the_processor(name, rows, dof, per, dtype):
    problems = problems_of(name, rows, dof)
    options = {**FIXED, "max_iterations": 12, "dtype": dtype, "record": [3, 36]}
    here = cs.solve_batch(problems, **options)
    there = cs.solve_batch(problems, per=per, **EMULATED, **options)
    same(here, there)
    assert there.info["per"] == per
    for i in (3, 36):
        for column in ("residual", "merit"):
            np.testing.assert_array_equal(here.histories[i][column], there.histories[i][column])


@pytest.mark.parametrize(("name", "rows"), SETS)
def test_every_set(name, rows):
    problems = problems_of(name, rows, count=6)
    options = {**FIXED, "max_iterations": 8}
    here = cs.solve_batch(problems, **options)
    by_thread = rows in (1, 3) and name not in ("free",)
    for per in PER if by_thread else PER[1:]:
        there = cs.solve_batch(problems, per=per, **EMULATED, **options)
        if name in ROUNDED:
            wanted = here.flat_impulses
            np.testing.assert_allclose(there.flat_impulses, wanted, rtol=0, atol=1e-14)
        else:
            same(here, there)


@pytest.mark.parametrize("per", PER)
def test_turns_of_threads_do_not_matter(per):
    problems = problems_of("disc", 3, count=9)
    here = cs.solve_batch(problems, rtol=1e-5, max_iterations=100)
    for turn in TURNS:
        with turns(turn, 5):
            same(here, cs.solve_batch(problems, rtol=1e-5, max_iterations=100, per=per, **EMULATED))


@pytest.mark.parametrize("per", PER)
def test_each_problem_stops_and_rolls_back_by_itself(per):
    problems = problems_of("disc", 3, count=20)
    for options in (
        {"rtol": 1e-6, "max_iterations": 600},
        {"rtol": 1e-6, "relaxation": 3.0, "rollback_growth": 1.0, "max_iterations": 60},
    ):
        here = cs.solve_batch(problems, **options)
        there = cs.solve_batch(problems, per=per, **EMULATED, **options)
        same(here, there)
        np.testing.assert_array_equal(here.natural_maps, there.natural_maps)
    assert here.rollbacks.max() > 0


@pytest.mark.parametrize("per", PER)
def test_more_sweeps_than_a_launch_makes(per):
    problems = [cs.scenarios.box_stack(1)] * 2
    options = {**FIXED, "max_iterations": 1030, "relaxation": 0.01}
    same(
        cs.solve_batch(problems, **options),
        cs.solve_batch(problems, per=per, **EMULATED, **options),
    )


@pytest.mark.parametrize("per", PER)
def test_warm_starts(per):
    problems = problems_of("disc", 3, count=5)
    start = cs.solve_batch(problems, **FIXED, max_iterations=3)
    options = {**FIXED, "max_iterations": 5, "initial": start, "bound": "previous"}
    same(
        cs.solve_batch(problems, **options),
        cs.solve_batch(problems, per=per, **EMULATED, **options),
    )


def test_groups_of_different_kinds_by_lanes():
    problems = problems_of("disc", 3, count=3) + problems_of("half_line", 1, count=3)
    options = {**FIXED, "max_iterations": 8}
    here = cs.solve_batch(problems, **options)
    there = cs.solve_batch(problems, **EMULATED, **options)
    same(here, there)
    assert there.info["per"] == "half_warp"


@pytest.mark.parametrize(
    ("problems", "words"),
    [
        (problems_of("rolling", 5, count=2), "per='thread' is for contacts of one shape"),
        (problems_of("free", 3, count=2), "per='thread' is for contacts of one shape"),
        (
            [cs.scenarios.box_stack(3), cs.scenarios.disc_pyramid(3)],
            "per='thread' is for contacts of one shape",
        ),
        (
            [cs.scenarios.ball_grid(4)],
            r"per='thread' needs \d+ bytes of shared memory for 32 problems",
        ),
    ],
)
def test_what_a_thread_cannot_solve(problems, words):
    with pytest.raises(ValueError, match=words):
        cs.solve_batch(problems, per="thread", **EMULATED)


def test_many_problems_have_a_thread_each():
    J = np.zeros((4096, 1, 2, 1, 3))
    J[:, 0, 1, 0, 1] = 1.0
    Minv, b = np.ones((4096, 1, 3)), -np.linspace(0.1, 0.2, 4096).reshape(-1, 1, 1)
    bodies = [[-1, 0]]
    there = cs.solve_batch(J, Minv, b, bodies=bodies, max_iterations=10, **EMULATED)
    assert there.info["per"] == "thread"
    np.testing.assert_array_equal(there.impulses, -b)
    assert there.converged.all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("per", PER)
@pytest.mark.parametrize("kind", ["planar", "solids", "spheres"])
def test_compressed_contacts_have_the_bits_of_the_processor(kind, per, dtype):
    problems = rigid(kind)
    options = {"compressed": True, "dtype": dtype, "rtol": 1e-4, "max_iterations": 40}
    here = cs.solve_batch(problems, **options)
    there = cs.solve_batch(problems, per=per, **EMULATED, **options)
    same(here, there)
    assert there.info["per"] == per
    assert np.abs(here.flat_impulses).max() > 0


def test_discs_in_single_precision_round_as_in_double_precision():
    rng = np.random.default_rng(0)
    count = 6000
    J = np.zeros((count, 1, 2, 3, 6))
    J[:, 0, 1, :, :3] = np.eye(3)
    b = -rng.uniform(0.5, 2, (count, 1, 3)).astype(np.float32).astype(float)
    b[:, :, 1:] *= rng.choice([-1.0, 0.0, 0.25, 0.4, 1.0, 3.0], (count, 1, 2))
    at_cone = slice(0, count // 4)
    b[at_cone, 0, 0] = -2 * np.hypot(b[at_cone, 0, 1], b[at_cone, 0, 2])
    problem = J, np.ones((count, 1, 6)), b, 0.5
    options = {**FIXED, "bodies": [[-1, 0]], "dtype": "float32", "max_iterations": 2}
    here = cs.solve_batch(*problem, **options)
    there = cs.solve_batch(*problem, per="thread", **EMULATED, **options)
    same(here, there)
    sizes = np.linalg.norm(here.impulses.reshape(count, 3)[:, 1:], axis=1)
    assert 0.2 < (sizes < 0.999 * np.linalg.norm(b[:, 0, 1:], axis=1)).mean() < 0.8


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("size", [1e-30, 1e-20, 1e-13, 1e13, 1e17, 1e25])
def test_discs_whose_squares_lose_digits_in_single_precision(size, compressed):
    problems = rigid("spheres", 33)
    for n, problem in enumerate(problems):
        b = np.array(problem.b)
        b *= size if n % 2 else size * 10.0 ** (n % 7 - 3)
        b[:, 2] *= 10.0 ** -(n % 5 * 9)
        problems[n] = cs.Problem(problem.J, problem.Minv, b, 0.5, bodies=problem.bodies)
    options = {**FIXED, "compressed": compressed, "dtype": "float32", "max_iterations": 15}
    here = cs.solve_batch(problems, **options)
    there = cs.solve_batch(problems, per="thread", **EMULATED, **options)
    same(here, there)
    assert np.abs(here.flat_impulses).max() > 0
    np.testing.assert_array_equal(np.signbit(here.flat_impulses), np.signbit(there.flat_impulses))


@pytest.mark.parametrize("per", PER)
@pytest.mark.parametrize("kind", ["planar", "solids", "spheres"])
def test_compressed_contacts_of_other_sets(kind, per):
    problems = rigid(kind, 5, cs.sets.box_friction(0.4))
    options = {**FIXED, "compressed": True, "max_iterations": 8}
    same(
        cs.solve_batch(problems, **options),
        cs.solve_batch(problems, per=per, **EMULATED, **options),
    )


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("per", PER)
@pytest.mark.parametrize("kind", ["planar", "solids", "spheres"])
def test_contacts_of_a_body_with_itself_are_general(kind, per, turn):
    problems = [rigid_problem(n, kind, 5, 3, loop=n % 2 == 0) for n in range(6)]
    options = {**FIXED, "max_iterations": 8}
    here = cs.solve_batch(problems, **options)
    with turns(turn):
        there = cs.solve_batch(problems, compressed=True, per=per, **EMULATED, **options)
    same(here, there)


@pytest.mark.parametrize("per", PER)
def test_compressed_problems_roll_back_by_themselves(per):
    problems = rigid("solids", 9)
    options = {"rtol": 1e-6, "relaxation": 3.0, "rollback_growth": 1.0, "max_iterations": 60}
    here = cs.solve_batch(problems, compressed=True, **options)
    same(here, cs.solve_batch(problems, compressed=True, per=per, **EMULATED, **options))
    assert here.rollbacks.max() > 0


def test_a_thread_needs_half_the_memory_for_compressed_contacts():
    needed = []
    for compressed in (False, True):
        with pytest.raises(ValueError, match="per='thread' needs") as told:
            cs.solve_batch(
                [cs.scenarios.ball_grid(6)],
                per="thread",
                compressed=compressed,
                dtype="float32",
                **EMULATED,
            )
        needed.append(int(re.search(r"needs (\d+) bytes", str(told.value))[1]))
    problem = cs.scenarios.ball_grid(6)
    bodies = 32 * (len(problem.Minv) + 1)
    assert needed == [32 * (each * problem.contacts + bodies) for each in (192, 96)]
