"""What surrounds the sweeps of a solve: the verdict on the device, and what moves and waits."""

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import dynamics
from emulated import DEVICE, EMULATED, TURNS, kernels, turns

COLORED = {"method": "gauss_seidel", "order": "colored", "scheme": "factorized"}
# A tolerance that no iterate meets, judged every 10 sweeps.
CHECKED = {"rtol": 1e-300, "check_every": 10, "record": (), "record_every": 10, "rollback": 0}
NUMBER = 8  # bytes
PIECE = 4096  # bytes that the emulated device copies at once
STATE = 1000  # more bytes than the state or the report of a call of sweeps has


@contextmanager
def asked():
    """Yield what will say, at the end, what was asked of the device inside."""
    found = SimpleNamespace()
    before = (*kernels.asked(), *kernels.moved())
    yield found
    change = [b - a for a, b in zip(before, (*kernels.asked(), *kernels.moved()), strict=True)]
    names = ("launches", "uploads", "downloads", "waits", "uploaded", "downloaded", "copied")
    vars(found).update(zip(names, change, strict=True))


def copied(problem):
    """The problem again, which a test may change."""
    return cs.Problem(problem.J, problem.Minv, problem.b, problem.mu, bodies=problem.bodies)


@pytest.fixture(scope="module")
def spheres():
    return cs.scenarios.ball_grid(4)


# ---- what moves and waits ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_repeated_solve_moves_its_impulses_and_small_reports(spheres, dtype):
    problem = copied(spheres)
    options = {**COLORED, **CHECKED, "max_iterations": 50, "dtype": dtype, **EMULATED}
    solver = cs.Solver(problem, **options)
    first = solver.solve()
    with asked() as again:
        result = solver.solve()
        status = result.status, result.message, result.natural_map, result.worst_contact
    assert status == (first.status, first.message, first.natural_map, first.worst_contact)
    np.testing.assert_array_equal(result.impulses, first.impulses)

    # A call of sweeps begins with one upload and ends with one report, which has its check. Beside
    # that come the first check, two tests whether impulses grow, with one of the direction each,
    # two at the end, and the impulses, which are waited for in pieces.
    impulses = problem.b.size * NUMBER
    pieces = -(-impulses // PIECE)
    assert again.uploaded <= STATE * again.uploads
    assert again.downloads <= again.uploads + 8
    assert impulses <= again.downloaded <= impulses + STATE * again.downloads
    assert again.waits <= again.downloads + pieces  # and one at the end of the solve
    assert again.launches <= 12 * again.uploads + 40

    # Another b moves itself alone.
    with asked() as of_b:
        solver.solve(b=1.5 * problem.b)
    assert of_b.uploaded - STATE * of_b.uploads <= problem.b.size * NUMBER <= of_b.uploaded
    with asked() as of_mu:
        solver.solve(mu=0.3)
    assert of_mu.uploaded <= (problem.b.size + problem.contacts) * NUMBER + STATE * of_mu.uploads


RULES = ("delta_norm", "delta_element", "residual")


@pytest.mark.parametrize("record", [(), ("residual", "delta_element", "delta_norm")])
@pytest.mark.parametrize("options", [COLORED, {"method": "jacobi", "scheme": "dense"}])
@pytest.mark.parametrize("stop", RULES)
def test_changes_of_impulses_are_measured_there(stop, options, record):
    """With a row for each sweep, each has a report, and no impulses."""
    problem = cs.scenarios.ball_grid(4 if options is COLORED else 2)
    tolerance = {"rtol": None, "atol": 1e-3} if stop == "residual" else {"rtol": 1e-3}
    options = {**options, "stop": stop, "record": record, **tolerance, **EMULATED}
    solver = cs.Solver(problem, **options)
    solver.solve()
    with asked() as again:
        sweeps = solver.solve().iterations
    assert sweeps > 10
    assert sweeps <= again.downloads <= sweeps + 8
    impulses = problem.b.size * NUMBER
    assert impulses <= again.downloaded <= 2 * impulses + STATE * again.downloads
    assert again.uploaded <= STATE * again.uploads
    assert again.waits <= again.downloads + 2 * -(-impulses // PIECE)


@pytest.mark.parametrize(
    "options", [COLORED, {**COLORED, "device_sweeps": "graph"}, {"method": "jacobi"}]
)
@pytest.mark.parametrize("stop", RULES)
def test_a_call_tests_the_rule_after_each_of_its_sweeps(stop, options):
    """Sixteen sweeps at first, in which the rule holds: a call, and another one in its stead."""
    tolerance = {"rtol": None, "atol": 0.3} if stop == "residual" else {"rtol": 0.3}
    options = {**options, "scheme": options.get("scheme", "dense"), "stop": stop, "record": ()}
    problem = cs.scenarios.ball_grid(2)
    counts = []
    for every in (1, 1000):
        solver = cs.Solver(problem, **options, **tolerance, record_every=every, **EMULATED)
        with asked() as of_solve:
            result = solver.solve()
        assert result.converged
        assert 1 < result.iterations < 16
        counts.append((result.iterations, of_solve.downloads))
    (sweeps, each), (same, all_at_once) = counts
    assert same == sweeps
    assert all_at_once <= each - sweeps + 2


def test_what_nobody_reads_stays_on_the_device(spheres):
    solver = cs.Solver(copied(spheres), **COLORED, rtol=1e-6, **EMULATED)
    with asked() as of_solve:
        result = solver.solve()
    assert result.converged
    with asked() as of_figures:
        assert result.natural_map > 0
        assert result.worst
    assert (of_figures.waits, of_figures.launches) == (0, 0)
    assert of_solve.downloaded < 2 * spheres.b.size * NUMBER + STATE * of_solve.downloads

    # It is evaluated when it is read, or before the problem changes.
    other = solver.solve()
    expected = judged_here(spheres, result.impulses, rtol=1e-6)
    np.testing.assert_array_equal(result.residual_velocities, expected.residual_velocities)
    solver.problem.update(b=2 * spheres.b)
    np.testing.assert_array_equal(other.residual_velocities, result.residual_velocities)
    np.testing.assert_array_equal(other.body_velocity_change, result.body_velocity_change)


# ---- the verdict ---------------------------------------------------------------------------------


def judged_here(problem, impulses, **options):
    """The verdict of the processor on these impulses, without a sweep."""
    named = {"order", "scheme", "method"}
    options = {name: value for name, value in options.items() if name not in named}
    options |= {"method": "jacobi", "islands": False, "max_iterations": 0}
    solver = cs.Solver(problem, **options)
    return solver.solve(initial=impulses)


def same_verdict(there, here):
    assert there.natural_map == here.natural_map
    assert there.natural_map_scaled == here.natural_map_scaled
    assert there.worst_contact == here.worst_contact
    assert there.worst == here.worst


def in_groups():
    given = cs.scenarios.ball_grid(2)
    half = given.contacts // 2
    groups = [
        cs.Group(given.J[part], given.bodies[part], given.b[part], sets=sets)
        for part, sets in (
            (slice(half), cs.sets.disc(0.3)),
            (slice(half, None), cs.sets.box_friction(0.4)),
        )
    ]
    return cs.Problem(groups=groups, bodies=[cs.Bodies(given.Minv)])


def with_full_masses():
    given = cs.scenarios.ball_grid(2)
    rng = np.random.default_rng(3)
    root = np.eye(6) + 0.1 * rng.normal(size=(len(given.Minv), 6, 6))
    return cs.Problem(
        given.J,
        root @ root.transpose(0, 2, 1),
        given.b,
        given.mu,
        bodies=given.bodies,
        compliance=rng.random(given.b.shape),
    )


PROBLEMS = {
    "spheres": lambda: cs.scenarios.ball_grid(3),
    "boxes": lambda: cs.scenarios.box_stack(3),
    "discs in the plane": lambda: cs.scenarios.disc_pyramid(4),
    "groups": in_groups,
    "full masses and compliance": with_full_masses,
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "mixed"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_verdict_has_the_bits_of_the_processor(name, dtype):
    problem = PROBLEMS[name]()
    for sweeps in (1, 20):
        options = {**COLORED, "rtol": 1e-9, "dtype": dtype, "islands": False}
        options["max_iterations"] = sweeps
        for turn in TURNS:
            with turns(turn):
                there = cs.Solver(problem, **options, **EMULATED).solve()
            same_verdict(there, judged_here(problem, there.impulses, **options))


@pytest.mark.parametrize("way", ["graph", "dataflow"])
def test_compliance_in_mixed_precision(way):
    """A refresh takes compliance out of the b of batches once, as on the processor."""
    given = cs.scenarios.ball_grid(3)
    compliance = np.full(given.b.shape, 0.02 * np.max(given.Minv))
    problem = cs.Problem(
        given.J, given.Minv, given.b, given.mu, bodies=given.bodies, compliance=compliance
    )
    options = {**COLORED, "rtol": 1e-9, "dtype": "mixed", "islands": False, "max_iterations": 500}
    here = cs.solve(problem, **options)
    there = cs.solve(problem, device_sweeps=way, **options, **EMULATED)
    assert here.converged
    assert there.converged
    np.testing.assert_allclose(there.impulses, here.impulses, atol=1e-7 * abs(here.impulses).max())


def test_islands_with_speeds_of_their_own():
    given = cs.scenarios.ball_grid(2)
    bodies = [np.where(given.bodies >= 0, given.bodies + i * 8, -1) for i in range(3)]
    problem = cs.Problem(
        np.concatenate([given.J] * 3),
        np.concatenate([given.Minv] * 3),
        np.concatenate([factor * given.b for factor in (1.0, 1e-3, 50.0)]),
        np.tile(given.mu, 3),
        bodies=np.concatenate(bodies),
    )
    options = {**COLORED, "rtol": 1e-5, "islands": False, "max_iterations": 7}
    solver = cs.Solver(problem, **options, **EMULATED)
    for factor in (1.0, 2.0):
        there = solver.solve(b=factor * problem.b)
        scaled = cs.Problem(
            problem.J, problem.Minv, factor * problem.b, problem.mu, bodies=problem.bodies
        )
        same_verdict(there, judged_here(scaled, there.impulses, **options))


def test_new_factors_come_to_the_verdict(spheres):
    problem = copied(spheres)
    options = {**COLORED, "rtol": 1e-9, "islands": False, "max_iterations": 5}
    solver = cs.Solver(problem, **options, compressed=False, **EMULATED)
    solver.solve()
    problem.update(J=1.25 * spheres.J, Minv=0.5 * spheres.Minv)
    there = solver.solve()
    same_verdict(there, judged_here(problem, there.impulses, **options))


@pytest.mark.parametrize(("dtype", "rtol"), [("float32", 1e-12), ("float64", 4e-15)])
def test_rounding_floors(dtype, rtol):
    """A tolerance below the floor: the outcome, the floor and its contact are the processor's."""
    problem = cs.scenarios.box_stack(1)
    options = {**COLORED, "rtol": rtol, "dtype": dtype, "islands": False, "record_every": 10}
    options["max_iterations"] = 100
    there = cs.Solver(problem, **options, **EMULATED).solve()
    here = judged_here(problem, there.impulses, **options)
    assert there.status == here.status == "inaccurate"
    for name in ("floor", "floor_contact"):
        assert there.info[name] == here.info[name]


def test_proofs_from_impulses_that_grow():
    """A body between two walls that approach: impulses grow, in a direction that is a proof."""
    J = np.zeros((2, 2, 1, 3))
    J[0, 1, 0, 0], J[1, 1, 0, 0] = 1.0, -1.0
    bodies = np.array([[-1, 0], [-1, 0]])
    problem = cs.Problem(J, np.ones((1, 3)), [[-1.0], [-1.0]], bodies=bodies)
    options = {**COLORED, "islands": False, "max_iterations": 200}
    here = cs.Solver(problem, **options).solve()
    there = cs.Solver(problem, **options, **EMULATED).solve()
    assert here.status == there.status == "infeasible"
    assert here.iterations == there.iterations
    np.testing.assert_array_equal(there.info["certificate"], here.info["certificate"])


def test_directions_of_many_contacts():
    """A sample of the contacts rules a direction out, but never one that is a proof."""
    grid = cs.scenarios.ball_grid(6)
    assert grid.contacts > 4 * 128
    options = {**COLORED, **CHECKED, "islands": False, "max_iterations": 20, "dtype": "float32"}
    start = 100 * cs.Solver(grid, **options).solve().impulses
    solver = cs.Solver(grid, **options, **EMULATED)
    with asked() as of_solve:
        there = solver.solve(initial=start)
    here = cs.Solver(grid, **options).solve(initial=start)
    assert (there.status, there.message) == (here.status, here.message)
    assert there.status == "max_iterations"

    # A report of all directions after 20 sweeps, one at the end, none that has all contacts; and
    # the impulses, once.
    assert of_solve.downloads <= of_solve.uploads + 5
    assert of_solve.downloaded < 2 * grid.b.size * NUMBER

    # A row of bodies between two walls that approach, pressed already.
    count = 600
    J = np.zeros((count + 1, 2, 1, 3))
    J[:, 0, 0, 0], J[:, 1, 0, 0] = -1.0, 1.0
    bodies = np.stack([np.arange(-1, count), np.arange(count + 1)], axis=1)
    bodies[-1, 1] = -1
    b = np.zeros((count + 1, 1))
    b[0] = b[-1] = -1.0
    row = cs.Problem(J, np.ones((count, 3)), b, bodies=bodies)
    options = {**COLORED, "islands": False, "max_iterations": 0}
    start = np.full(b.shape, 1e4)
    here = cs.Solver(row, **options).solve(initial=start)
    there = cs.Solver(row, **options, **EMULATED).solve(initial=start)
    assert here.status == there.status == "infeasible"
    np.testing.assert_array_equal(there.info["certificate"], here.info["certificate"])


def test_a_body_with_many_contacts_is_not_sampled():
    """Each contact of a sample would read all contacts of its bodies."""

    def asked_of(count):
        """What a solve asks of the device, of so many masses on a tray."""
        J = np.zeros((count, 2, 1, 3))
        J[:, 0, 0, 0], J[:, 1, 0, 0] = -1.0, 1.0
        bodies = np.stack([np.zeros(count, int), 1 + np.arange(count)], axis=1)
        problem = cs.Problem(J, np.ones((1 + count, 3)), -np.ones((count, 1)), bodies=bodies)
        options = {**COLORED, "islands": False, "max_iterations": 0, "rtol": 1e-12}
        start = np.linspace(1e3, 2e3, count)[:, None]
        here = cs.Solver(problem, **options).solve(initial=start)
        solver = cs.Solver(problem, **options, **EMULATED)
        with asked() as of_solve:
            there = solver.solve(initial=start)
        assert (there.status, there.message) == (here.status, here.message)
        return of_solve

    few, many = asked_of(1000), asked_of(1030)
    assert many.downloads > few.downloads  # one for each direction, not one for all
    assert many.launches > few.launches


@pytest.mark.parametrize("method", ["nesterov", "jacobi", "symmetric_gauss_seidel"])
def test_methods_return_their_best_iterate(spheres, method):
    options = {"method": method, "scheme": "factorized", "rtol": 1e-4, "islands": False}
    there = cs.Solver(spheres, **options, **EMULATED).solve()
    assert there.converged
    same_verdict(there, judged_here(spheres, there.impulses, **options))


def test_measures_of_the_state_are_the_processors(spheres):
    """They need xi here, so that the device judges nothing."""
    options = {**COLORED, "rtol": 1e-6, "record": ("quality",)}
    there = cs.Solver(spheres, **options, **EMULATED).solve()
    assert there.converged
    with asked() as of_xi:
        assert there.residual_velocities.shape == spheres.b.shape
    assert of_xi.waits == 0
    assert DEVICE in there.info["kernel"]


@pytest.mark.skipif(not cs.info()["instructions"].get("avx2"), reason="this processor has no AVX2")
def test_worlds_take_velocities_from_the_device():
    """Their solves have a tolerance: what bodies move by is that of the verdict."""
    places = []
    for own in ({"instructions": "avx2"}, EMULATED):
        world = dynamics.scenes.ball_grid(2, **COLORED, **own, rtol=1e-8)
        world.run(4)
        places.append(world.positions.copy())
    np.testing.assert_array_equal(*places)
