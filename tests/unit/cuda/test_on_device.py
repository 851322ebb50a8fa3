"""solve(on_device=True): b, initial impulses and results in the memory of the device."""

import gc
import pickle
import sys
from contextlib import contextmanager

import numpy as np
import pytest

import contactsolve as cs
from contactsolve._device_arrays import DeviceArray
from emulated import DEVICE, EMULATED, islands, kernels, kernels_of, loss, memory
from interruption import ctrl_c_ends, worked

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
    for name in ("impulses", "residual_velocities"):
        one, two = (getattr(result, name) for result in (there, here))
        flat = [np.concatenate(p) if isinstance(p, list) else p for p in (one, two)]
        np.testing.assert_array_equal(*flat)
    impulses = here.impulses
    flat = np.concatenate(impulses).ravel() if isinstance(impulses, list) else impulses
    np.testing.assert_array_equal(there.device_impulses.numpy(), flat)
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


def test_velocities_are_read_before_an_update(spheres):
    problem = copied(spheres)
    solver = cs.Solver(problem, **COLOURED, **EMULATED)
    result, read = solver.solve(on_device=True), solver.solve(on_device=True)
    expected = read.residual_velocities.copy()
    problem.update(b=2 * spheres.b, J=0.5 * spheres.J)
    np.testing.assert_array_equal(read.residual_velocities, expected)
    np.testing.assert_array_equal(result.impulses, read.impulses)
    for name in ("residual_velocities", "body_velocity_change", "active"):
        with pytest.raises(RuntimeError, match=f"{name} needs the problem as it was solved"):
            getattr(result, name)
    fresh = cs.Solver(problem, **COLOURED, **EMULATED).solve()
    require_same(solver.solve(on_device=True), fresh)


def test_velocities_of_the_processor_after_an_update(spheres):
    """Where it has part in the solve, it evaluates them before the update."""
    problem = copied(spheres)
    solver = cs.Solver(problem, method="newton", **EMULATED)
    result, expected = solver.solve(on_device=True), cs.Solver(spheres, method="newton").solve()
    problem.update(J=0.5 * spheres.J)
    np.testing.assert_allclose(
        result.residual_velocities, expected.residual_velocities, rtol=0, atol=1e-5
    )


def test_an_update_in_another_thread(spheres, monkeypatch):
    """Between the solve in the library and its result: velocities are not those of the new J."""
    problem = copied(spheres)
    solver = cs.Solver(problem, **COLOURED, **EMULATED)
    original = cs.Solver._run

    def update_after(self, *arguments):
        answer = original(self, *arguments)
        problem.update(J=2 * spheres.J)
        return answer

    monkeypatch.setattr(cs.Solver, "_run", update_after)
    result = solver.solve(on_device=True)
    with pytest.raises(RuntimeError, match="residual_velocities needs the problem as it was"):
        _ = result.residual_velocities


def test_a_result_lets_its_solver_go_once_velocities_are_read(spheres):
    solver = cs.Solver(spheres, **COLOURED, **EMULATED)
    result, core = solver.solve(on_device=True), solver._core
    del solver
    before = sys.getrefcount(core)
    _ = result.residual_velocities
    assert sys.getrefcount(core) == before - 1


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_ends_the_set_up_of_a_solve():
    grid = copied(cs.scenarios.ball_grid(10))
    began = worked()
    solver = cs.Solver(grid, method="admm", max_iterations=1, max_seconds=None, **EMULATED)
    set_up = worked() - began
    grid.update(J=1.01 * grid.J)
    ctrl_c_ends(lambda: solver.solve(on_device=True), after=0.02, within=0.6 * set_up)


@pytest.mark.parametrize("raised", [ValueError, KeyboardInterrupt])
def test_a_callback_that_raises(spheres, raised):
    solver = cs.Solver(spheres, **COLOURED, **EMULATED)
    b = on_device(1.5 * spheres.b)

    def stop(state):
        if state.iteration == 3:
            raise raised

    with pytest.raises(raised):
        solver.solve(b=b, on_device=True, callback=stop)
    expected = cs.Solver(spheres, **COLOURED, **EMULATED)
    require_same(solver.solve(on_device=True), expected.solve())
    require_same(solver.solve(b=b, on_device=True), expected.solve(b=1.5 * spheres.b))


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


def test_groups_are_flat(spheres):
    """The last contact, of the second group, has the largest b, which V follows from."""
    half = spheres.contacts // 2
    parts = [
        cs.Group(spheres.J[h], spheres.bodies[h], spheres.b[h], spheres.mu[h])
        for h in (slice(0, half), slice(half, None))
    ]
    groups = cs.Problem(groups=parts, bodies=[cs.Bodies(spheres.Minv)])
    b = 1.5 * spheres.b
    b[-1, 0] = -50.0
    result = outcome(groups, b.ravel(), **COLOURED)
    assert result.device_impulses.shape == (b.size,)


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


@pytest.mark.parametrize("contact", [0, 300, -1])
def test_many_blocks_of_threads(contact):
    """Of more contacts than a block has threads, each counts."""
    grid = cs.scenarios.ball_grid(6)
    b = 1.5 * grid.b
    b[contact, 0] = -300.0
    outcome(grid, b, rtol=0.1)
    b[contact, 2] = np.nan
    solver = cs.Solver(grid, **COLOURED, **EMULATED)
    at = contact % grid.contacts
    for name in ("b", "initial"):
        with pytest.raises(ValueError, match=rf"{name}\[{at}, 2\] is nan"):
            solver.solve(**{name: on_device(b)}, on_device=True)


def test_an_immovable_row(spheres):
    bodies = spheres.bodies.copy()
    bodies[5] = -1
    fixed = cs.Problem(spheres.J, spheres.Minv, spheres.b, spheres.mu, bodies=bodies)
    outcome(fixed, np.abs(spheres.b))
    outcome(fixed, 1.5 * spheres.b)


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


# ---- batches -------------------------------------------------------------------------------------


def stacked(count=5):
    one = cs.scenarios.box_stack(2)
    speed = np.linspace(0.5, 1.5, count)[:, None, None]
    arrays = [np.stack([part] * count) for part in (one.J, one.Minv)]
    return [*arrays, one.b * speed], {"mu": 0.5, "bodies": one.bodies}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("per", ["thread", "half_warp", "warp"])
def test_impulses_of_a_batch(per, dtype):
    arrays, options = stacked()
    options |= {"per": per, "compressed": True, "dtype": dtype, **EMULATED}
    here = cs.solve_batch(*arrays, **options)
    with copies() as moved:
        cs.solve_batch(*arrays, **options)
        alone = moved()
    with copies() as moved:
        there = cs.solve_batch(*arrays, on_device=True, **options)
        # The numbers are filled with zeros and then copied within the device.
        assert moved() == alone
    impulses = there.device_impulses
    assert impulses.shape == here.impulses.shape
    np.testing.assert_array_equal(impulses.numpy(), here.impulses)
    np.testing.assert_array_equal(there.impulses, here.impulses)

    # They may start another batch, with b of the device.
    arrays[2] = on_device(arrays[2])
    again = cs.solve_batch(*arrays, initial=impulses, on_device=True, **options)
    np.testing.assert_array_equal(
        again.device_impulses.numpy(),
        cs.solve_batch(*arrays, initial=here, **options).impulses,
    )
    assert again.iterations.sum() < here.iterations.sum()


def test_impulses_of_a_batch_of_several_shapes():
    spheres, stack = cs.scenarios.ball_grid(2), cs.scenarios.box_stack(1)
    planar = cs.scenarios.disc_pyramid(3)
    # Contacts of two groups of the batch lie in another order than the problems.
    for problems in ([spheres, stack], [stack, planar, spheres, planar], []):
        there = cs.solve_batch(problems, on_device=True, **EMULATED)
        assert there.device_impulses.shape == there.flat_impulses.shape
        np.testing.assert_array_equal(there.device_impulses.numpy(), there.flat_impulses)
        here = cs.solve_batch(problems)
        np.testing.assert_array_equal(there.flat_impulses, here.flat_impulses)


def test_results_of_batches_are_saved_without_the_device():
    arrays, options = stacked(2)
    result = cs.solve_batch(*arrays, on_device=True, **options, **EMULATED)
    saved = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(saved.impulses, result.impulses)
    assert result.device_impulses is not None
    assert saved.device_impulses is None
    assert cs.solve_batch(*arrays, **options, **EMULATED).device_impulses is None


def test_wrong_arguments_of_a_batch():
    arrays, options = stacked(2)
    with pytest.raises(ValueError, match="on_device=True: the batch has no device"):
        cs.solve_batch(*arrays, on_device=True, **options)
    with pytest.raises(TypeError, match="on_device"):
        cs.solve_batch(*arrays, on_device=1.5, **options, **EMULATED)
    with memory(100), pytest.raises(MemoryError, match="bytes"):
        cs.solve_batch(*arrays, on_device=True, **options, **EMULATED)


def test_a_device_that_is_lost_after_the_sweeps_of_a_batch():
    arrays, options = stacked(2)
    options |= {"rtol": None, "max_iterations": 5, **EMULATED}
    launches = kernels_of(lambda: cs.solve_batch(*arrays, **options))
    expected = cs.solve_batch(*arrays, on_device=True, **options)
    for launch in (1, launches, launches + 1):
        with loss(launch), pytest.raises(RuntimeError, match="the device has failed"):
            cs.solve_batch(*arrays, on_device=True, **options)
        again = cs.solve_batch(*arrays, on_device=True, **options)
        np.testing.assert_array_equal(again.device_impulses.numpy(), expected.impulses)


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


@pytest.mark.parametrize("method", ["gauss_seidel", "newton"])
def test_a_solve_has_one_progress_bar(spheres, method, monkeypatch):
    """Also one that the processor has part in, which begins again without arrays there."""
    tqdm = pytest.importorskip("tqdm.auto")
    bars = []

    class Counted(tqdm.tqdm):
        def __init__(self, *given, **options):
            bars.append(self)
            super().__init__(*given, **options)

    monkeypatch.setattr("tqdm.auto.tqdm", Counted)
    solver = cs.Solver(spheres, method=method, **EMULATED)
    result = solver.solve(b=on_device(spheres.b), on_device=True, progress=True)
    assert result.converged
    assert len(bars) == 1
    assert bars[0].disable


def test_the_function_names_the_method_that_takes_it(spheres):
    with pytest.raises(TypeError, match=r"^on_device is an argument of a solver's solve: Solver"):
        cs.solve(spheres, on_device=True, **EMULATED)
