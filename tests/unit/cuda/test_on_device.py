"""solve(on_device=True): b, initial impulses and results in the memory of the device."""

import gc
import pickle
from contextlib import contextmanager

import numpy as np
import pytest

import contactsolve as cs
from contactsolve._device_arrays import DeviceArray
from emulated import DEVICE, EMULATED, islands, kernels, loss

COLOURED = {"method": "gauss_seidel", "order": "colored", "scheme": "factorized"}
# Methods whose results never pass through the processor, and those in which it has part.
THERE = {
    "coloured": COLOURED,
    "float32": {**COLOURED, "dtype": "float32", "rtol": 1e-4},
    "jacobi": {"method": "jacobi", "scheme": "factorized"},
    "dense": {"method": "jacobi", "scheme": "dense", "rtol": 1e-2},
    "one after another": {"method": "gauss_seidel", "order": "natural"},
    "mixed": {**COLOURED, "dtype": "mixed"},
    "nesterov": {"method": "nesterov"},
    "nncg": {"method": "nncg"},
    "sweeps alone": {**COLOURED, "rtol": None, "max_iterations": 20, "record": ()},
}
HERE = {
    "newton": {"method": "newton"},
    "chain": {"method": "auto"},
    "quality": {**COLOURED, "record": ("quality",)},
    "islands": {"method": "jacobi", "scheme": "factorized", "rtol": 1e-2},
}


def on_device(array):
    return DeviceArray.of(DEVICE, np.asarray(array, dtype=np.float64))


def copied(problem):
    return cs.Problem(problem.J, problem.Minv, problem.b, problem.mu, bodies=problem.bodies)


@pytest.fixture(scope="module")
def spheres():
    return cs.scenarios.ball_grid(3)


@contextmanager
def copies():
    """Return a function that says how many bytes went to the device and came from it."""
    before = kernels.moved()
    yield lambda: [now - then for now, then in zip(kernels.moved()[:2], before[:2], strict=True)]


def require_same(there, here):
    """Raise unless two results are the same, but for their times."""
    np.testing.assert_array_equal(there.impulses, here.impulses)
    np.testing.assert_array_equal(there.device_impulses.numpy(), here.impulses)
    np.testing.assert_array_equal(there.residual_velocities, here.residual_velocities)
    np.testing.assert_array_equal(there.body_velocity_change, here.body_velocity_change)
    assert (there.status, there.iterations) == (here.status, here.iterations)
    assert there.natural_map == here.natural_map
    assert there.worst == here.worst
    for name in set(here.history.columns) - {"time"}:
        np.testing.assert_array_equal(there.history[name], here.history[name])


# ---- results -------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [*THERE.values(), *HERE.values()], ids=[*THERE, *HERE])
def test_results_are_those_of_other_solves(spheres, options):
    """With the problem's own b, with arrays of the device, and from an earlier result."""
    problem = spheres if options is not HERE["islands"] else islands(20)
    one, two = (cs.Solver(problem, **options, **EMULATED) for _ in range(2))
    first = two.solve()
    require_same(one.solve(on_device=True), first)
    b = 1.25 * problem.b
    there = one.solve(b=on_device(b), on_device=True)
    here = two.solve(b=b)
    require_same(there, here)
    require_same(one.solve(initial=there, on_device=True), two.solve(initial=here))
    both = one.solve(b=on_device(b), initial=on_device(first.impulses), on_device=True)
    require_same(both, two.solve(b=b, initial=first))

    # Nothing of these solves is left.
    np.testing.assert_array_equal(one.solve().impulses, first.impulses)


def moved_by(solver, **arguments):
    """Return the bytes that a repeated solve moves to the device and from it."""
    solver.solve(**arguments)
    with copies() as moved:
        result = solver.solve(**arguments)
        return np.array(moved()), result


@pytest.mark.parametrize("options", THERE.values(), ids=THERE)
def test_impulses_are_not_copied(spheres, options):
    """Neither to the processor nor back, until they are read."""
    solver = cs.Solver(spheres, **options, **EMULATED)
    rows = 8 * spheres.b.size
    there, result = moved_by(solver, on_device=True)
    here, _ = moved_by(solver)
    assert (here - there).tolist() == [0, rows]
    with copies() as moved:
        assert len(result.impulses) == spheres.contacts
        assert moved() == [0, rows]


@pytest.mark.parametrize(
    "options",
    [THERE[name] for name in ("coloured", "float32", "jacobi", "nesterov", "sweeps alone")],
)
def test_b_and_initial_impulses_are_not_copied(spheres, options):
    solver = cs.Solver(spheres, **options, **EMULATED)
    rows, start = 8 * spheres.b.size, solver.solve(on_device=True)
    arguments = {"b": 1.1 * spheres.b, "initial": start.impulses}
    here, _ = moved_by(solver, **arguments)
    arguments = {"b": on_device(arguments["b"]), "initial": start}
    there, _ = moved_by(solver, **arguments, on_device=True)
    up, down = (here - there).tolist()
    assert up == 2 * rows
    assert rows - 40 <= down <= rows  # V comes from the device, and whether numbers are finite


@pytest.mark.parametrize("options", [COLOURED, HERE["newton"]], ids=["there", "here"])
def test_a_result_stays_as_it_is(spheres, options):
    solver = cs.Solver(spheres, **options, **EMULATED)
    given = 1.5 * spheres.b
    b = on_device(given)
    result = solver.solve(b=b, on_device=True)
    expected = cs.Solver(spheres, **options, **EMULATED).solve(b=given)

    # Other solves, another b in its memory, and the end of the solver.
    solver.solve(b=0.5 * given)
    b.write(0 * given)
    solver.solve(on_device=True)
    require_same(result, expected)
    again = solver.solve(b=on_device(given), on_device=True)
    del solver
    gc.collect()
    require_same(again, expected)
    assert result.active.tolist() == expected.active.tolist()
    assert result.energy() == expected.energy()


def test_device_impulses_of_the_solver(spheres):
    solver = cs.Solver(spheres, **COLOURED, **EMULATED)
    result = solver.solve(on_device=True)
    own = solver.device_impulses()
    assert own.pointer != result.device_impulses.pointer
    np.testing.assert_array_equal(own.numpy(), result.impulses)
    room = on_device(np.zeros(spheres.b.shape))
    assert solver.device_impulses(out=room) is room
    np.testing.assert_array_equal(room.numpy(), result.impulses)
    other = solver.solve(b=2 * spheres.b)
    np.testing.assert_array_equal(solver.device_impulses().numpy(), other.impulses)


@pytest.mark.parametrize("options", [COLOURED, HERE["newton"]], ids=["there", "here"])
def test_velocities_are_read_before_an_update(spheres, options):
    problem = copied(spheres)
    solver = cs.Solver(problem, **options, **EMULATED)
    result, read = solver.solve(on_device=True), solver.solve(on_device=True)
    expected = read.residual_velocities.copy()
    problem.update(b=2 * spheres.b, J=0.5 * spheres.J)
    np.testing.assert_array_equal(read.residual_velocities, expected)
    np.testing.assert_array_equal(result.impulses, read.impulses)
    for name in ("residual_velocities", "body_velocity_change", "active"):
        with pytest.raises(RuntimeError, match=f"{name} needs the problem as it was solved"):
            getattr(result, name)
    fresh = cs.Solver(problem, **options, **EMULATED).solve()
    again = solver.solve(on_device=True)
    np.testing.assert_allclose(again.impulses, fresh.impulses, rtol=1e-12, atol=1e-12)


def require_no_device(result):
    with pytest.raises(AttributeError, match="device_impulses needs a result of solve"):
        _ = result.device_impulses


def test_copies_of_a_result_have_no_memory_of_the_device(spheres, tmp_path):
    pytest.importorskip("h5py")
    solver = cs.Solver(spheres, **COLOURED, **EMULATED)
    result = solver.solve(b=on_device(2 * spheres.b), on_device=True)
    expected = solver.solve(b=2 * spheres.b)
    result.save(tmp_path / "result.h5")
    for own in (pickle.loads(pickle.dumps(result)), cs.load_result(tmp_path / "result.h5")):
        np.testing.assert_array_equal(own.impulses, expected.impulses)
        np.testing.assert_array_equal(own.residual_velocities, expected.residual_velocities)
        assert own.check(1).contact.tolist() == expected.check(1).contact.tolist()
        require_no_device(own)
    require_no_device(expected)


def test_groups_are_flat():
    problem = cs.scenarios.box_stack(2)
    halves = slice(0, 4), slice(4, None)
    parts = [cs.Group(problem.J[h], problem.bodies[h], problem.b[h], problem.mu[h]) for h in halves]
    groups = cs.Problem(groups=parts, bodies=[cs.Bodies(problem.Minv)])
    solver = cs.Solver(groups, **COLOURED, islands=False, **EMULATED)
    b = 1.5 * problem.b
    result = solver.solve(b=on_device(b.ravel()), on_device=True)
    assert result.device_impulses.shape == (b.size,)
    expected = cs.Solver(groups, **COLOURED, islands=False, **EMULATED).solve(b=b.ravel())
    for own, other in zip(result.impulses, expected.impulses, strict=True):
        np.testing.assert_array_equal(own, other)


@pytest.mark.parametrize("method", ["nesterov", "nncg", "anderson"])
@pytest.mark.parametrize("iterations", [3, 7, 12])
def test_the_best_iterate(spheres, method, iterations):
    """Where a solve ends before it converges, it is restored on the device."""
    options = {"method": method, "max_iterations": iterations, "rtol": 1e-13, "check_every": 1}
    here = cs.Solver(spheres, **options, **EMULATED).solve()
    require_same(cs.Solver(spheres, **options, **EMULATED).solve(on_device=True), here)


def test_callbacks_and_records(spheres):
    seen = []
    solver = cs.Solver(spheres, **COLOURED, **EMULATED, record=("natural_map", "delta_norm"))
    result = solver.solve(on_device=True, callback=lambda state: seen.append(state.impulses.copy()))
    other = solver.solve()
    require_same(result, other)
    assert len(seen) == result.iterations + 1 or len(seen) == result.iterations


# ---- b -------------------------------------------------------------------------------------------


def outcome(problem, b, **options):
    """A solve with b here, one with b there, which are the same; returns the latter."""
    options = {"method": "jacobi", "scheme": "factorized", "islands": False} | options | EMULATED
    here = cs.Solver(problem, **options).solve(b=b)
    there = cs.Solver(problem, **options).solve(b=on_device(b), on_device=True)
    require_same(there, here)
    assert there.message == here.message
    return there


def test_an_island_at_rest(spheres):
    """No impulse is needed, not even for an initial one: V is zero."""
    result = outcome(spheres, np.abs(spheres.b) + 1)
    assert result.converged
    assert not result.impulses.any()
    solver = cs.Solver(spheres, **COLOURED, **EMULATED)
    start = on_device(np.ones(spheres.b.shape))
    again = solver.solve(b=on_device(np.abs(spheres.b) + 1), initial=start, on_device=True)
    assert not again.impulses.any()


def test_tiny_velocities_are_rounding_errors(spheres):
    """V follows from the largest |b| as well."""
    b = np.full(spheres.b.shape, 1.0)
    b[0, 0] = -1e-15
    assert not outcome(spheres, b).impulses.any()
    b[0, 0] = -1e-11
    assert outcome(spheres, b).impulses.any()


def test_several_islands_and_compliance(spheres):
    apart = islands(12)
    assert outcome(apart, 1.5 * apart.b).converged
    soft = cs.Problem(
        spheres.J, spheres.Minv, spheres.b, spheres.mu, bodies=spheres.bodies, compliance=1e-3
    )
    assert outcome(soft, 1.5 * spheres.b).converged


def test_a_set_without_zero(spheres):
    """P_C(0) is not zero: V follows from its velocities."""
    sets = cs.sets.box([0.5, -1, -1], [10, 1, 1])
    problem = cs.Problem(spheres.J, spheres.Minv, spheres.b, bodies=spheres.bodies, sets=sets)
    assert outcome(problem, 2 * spheres.b).impulses.min() >= -1


def test_a_problem_without_solution():
    """The proof is the processor's, which then reads b."""
    J = np.zeros((2, 2, 1, 3))
    J[0, 1, 0, 0], J[1, 1, 0, 0] = 1.0, -1.0
    problem = cs.Problem(J, np.ones((1, 3)), [[-1.0], [-1.0]], bodies=[[-1, 0], [-1, 0]])
    result = outcome(problem, 2 * problem.b, max_iterations=200)
    assert result.status == "infeasible"


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite(spheres, value):
    solver = cs.Solver(spheres, **COLOURED, **EMULATED)
    expected = solver.solve()
    wrong = np.zeros(spheres.b.shape)
    wrong[7, 1] = value
    for name in ("b", "initial"):
        with pytest.raises(ValueError, match=rf"{name}\[7, 1\] is {value}: every entry must be"):
            solver.solve(**{name: on_device(wrong)}, on_device=True)
        np.testing.assert_array_equal(solver.solve(on_device=True).impulses, expected.impulses)


def test_arrays_that_cannot_be_read_in_place(spheres):
    """They are copied: other types of numbers, of the processor, lists."""
    solver = cs.Solver(spheres, **COLOURED, **EMULATED)
    expected = solver.solve(b=2 * spheres.b, mu=0.2, initial=np.ones(spheres.b.shape))
    b, start = (2 * spheres.b).tolist(), np.ones(spheres.b.shape, np.float32)
    require_same(solver.solve(b=b, mu=0.2, initial=start, on_device=True), expected)
    mixed = solver.solve(b=b, mu=0.2, initial=on_device(start), on_device=True)
    require_same(mixed, expected)
    with pytest.raises(ValueError, match=r"b has shape \(5,\)"):
        solver.solve(b=on_device(np.zeros(5)), on_device=True)


# ---- errors --------------------------------------------------------------------------------------


def test_without_a_device(spheres):
    with pytest.raises(ValueError, match="on_device=True: the solver has no device"):
        cs.Solver(spheres).solve(on_device=True)
    with pytest.raises(TypeError, match="on_device"):
        cs.Solver(spheres, **COLOURED, **EMULATED).solve(on_device="yes")


def test_a_lost_device(spheres):
    """In any part of a solve: the next one begins anew."""
    b, start = on_device(1.5 * spheres.b), on_device(np.zeros(spheres.b.shape))
    expected = cs.Solver(spheres, **COLOURED, **EMULATED).solve(b=1.5 * spheres.b)
    arguments = {"b": b, "initial": start, "on_device": True}
    for launch in (1, 3, 6, 10, 20, 40):
        with loss(launch):
            solver = cs.Solver(spheres, **COLOURED, **EMULATED)
        with pytest.raises(RuntimeError, match="the device has failed"):
            solver.solve(**arguments)
        require_same(solver.solve(**arguments), expected)
