"""What goes to a device and comes from it: memory, what is uploaded, lost devices."""

import gc
from contextlib import contextmanager
from itertools import count

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _core, dynamics
from emulated import DEVICE, EMULATED, kernels, loss, lost_capture, memory

SWEEPS = {"rtol": None, "max_iterations": 10, "record": ()}
NUMBER = 8


@contextmanager
def uploads():
    """Return a function that says how many bytes were uploaded inside so far."""
    before = kernels.moved()[0]
    yield lambda: kernels.moved()[0] - before


@pytest.fixture(scope="module")
def spheres():
    return cs.scenarios.ball_grid(4)


# ---- memory --------------------------------------------------------------------------------------


def needed_bytes(message):
    words = message.split()
    return int(words[words.index("needs") + 1])


@pytest.mark.parametrize(
    "options",
    [
        {"method": "gauss_seidel"},
        {"method": "gauss_seidel", "order": "natural", "device_sweeps": "counter"},
        {
            "method": "gauss_seidel",
            "order": cs.orders.regions(2),
            "scheme": "factorized",
            "device_sweeps": "regions",
        },
        {"method": "gauss_seidel", "scheme": "dense"},
        {"method": "jacobi", "scheme": "iteration_matrix", "dtype": "float32"},
        {"method": "nesterov"},
        {"method": "anderson"},
    ],
)
def test_a_problem_that_is_too_large_names_the_bytes_before_it_takes_any(spheres, options):
    options = {**options, **SWEEPS, **EMULATED}
    with memory(10_000), pytest.raises(MemoryError, match="and 10000 are free") as caught:
        cs.Solver(spheres, **options)
    assert f"device='{DEVICE}'" in str(caught.value)

    # What it says is what is needed, to the byte.
    needed = needed_bytes(str(caught.value))
    with memory(needed - 1), pytest.raises(MemoryError, match=f"needs {needed} bytes"):
        cs.Solver(spheres, **options)
    with memory(needed):
        solver = cs.Solver(spheres, **options)
        solver.solve()

        # A second one does not fit while the first one exists.
        with pytest.raises(MemoryError, match="and 0 are free"):
            cs.Solver(spheres, **options)
        del solver
        cs.Solver(spheres, **options).solve()


def test_where_memory_is_short_the_processor_judges(spheres):
    options = {"method": "gauss_seidel", "order": "colored", "scheme": "factorized", **EMULATED}
    options |= {"rtol": 1e-6, "check_every": 10}
    with memory(10_000), pytest.raises(MemoryError) as caught:
        cs.Solver(spheres, **options)
    with memory(needed_bytes(str(caught.value))):
        here = cs.Solver(spheres, **options).solve()
    there = cs.Solver(spheres, **options).solve()
    assert there.converged
    assert here.status == there.status
    assert here.iterations == there.iterations
    assert here.natural_map_scaled == there.natural_map_scaled
    np.testing.assert_array_equal(here.impulses, there.impulses)


@pytest.fixture(scope="module")
def batch():
    return [cs.scenarios.box_stack(n) for n in (1, 2, 3)] * 4


def test_a_batch_that_is_too_large_names_the_bytes(batch):
    options = {"rtol": None, "max_iterations": 20, **EMULATED}
    with memory(5000), pytest.raises(MemoryError, match="the problem needs") as caught:
        cs.solve_batch(batch, **options)
    packed = needed_bytes(str(caught.value))
    words = "the state of the batch needs .* bytes, and 0 are free"
    with memory(packed), pytest.raises(MemoryError, match=words) as caught:
        cs.solve_batch(batch, **options)
    with memory(packed + needed_bytes(str(caught.value))):
        cs.solve_batch(batch, **options)


def test_queues_use_the_same_buffers_one_after_another(spheres):
    """Not each of them pins memory of its own, although all of them exist."""
    cs.Solver(spheres, **SWEEPS, **EMULATED).solve()
    before = kernels.buffers()
    solvers = [cs.Solver(spheres, **SWEEPS, **EMULATED) for _ in range(5)]
    for solver in solvers:
        solver.solve()
    assert kernels.buffers() == before


def free_bytes():
    with memory(2**40), pytest.raises(MemoryError) as caught:
        cs.cuda.DeviceArray(DEVICE, (2**40,))
    words = str(caught.value).split()
    return int(words[words.index("are", words.index("and")) - 1])


def a_problem_that_changes():
    given = cs.scenarios.ball_grid(2)
    problem = cs.Problem(given.J, given.Minv, given.b, given.mu, bodies=given.bodies)
    solver = problem.to(DEVICE, method="nesterov", **SWEEPS)
    solver.solve()
    problem.update(J=1.25 * given.J)
    solver.solve()
    solver.device_impulses()


def a_solve_on_the_device():
    problem = cs.scenarios.ball_grid(2)
    solver = problem.to(DEVICE, method="gauss_seidel", **SWEEPS)
    first = solver.solve(on_device=True)
    b = cs.cuda.DeviceArray.of(DEVICE, 1.5 * problem.b)
    result = solver.solve(b=b, initial=first, on_device=True)
    assert result.residual_velocities.shape == result.impulses.shape


def a_batch():
    problems = [cs.scenarios.box_stack(n) for n in (1, 2)]
    cs.solve_batch(problems, rtol=None, max_iterations=3, record=[0], **EMULATED)


def a_problem_in_regions():
    options = {"order": cs.orders.regions(3), "device_sweeps": "regions", **SWEEPS, **EMULATED}
    problem = cs.scenarios.ball_grid(2)
    cs.Solver(problem, method="gauss_seidel", scheme="factorized", **options).solve()


@pytest.mark.parametrize(
    "work", [a_problem_that_changes, a_solve_on_the_device, a_batch, a_problem_in_regions]
)
def test_memory_that_the_processor_has_not_is_an_error_that_leaves_nothing(work):
    work()
    gc.collect()
    live, free = _core.memory_live(), free_bytes()
    for successes in count():
        _core.memory_fail_after(successes)
        try:
            work()
        except MemoryError:
            finished = False
        else:
            finished = True
        finally:
            _core.memory_fail_after(-1)
        gc.collect()
        assert _core.memory_live() == live
        assert free_bytes() == free
        if finished:
            break
    assert successes > 10


# ---- what is uploaded ----------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["gauss_seidel", "nesterov", "anderson"])
def test_a_solver_stays_on_the_device_and_uploads_what_has_changed(spheres, method):
    problem = cs.Problem(spheres.J, spheres.Minv, spheres.b, spheres.mu, bodies=spheres.bodies)
    # One upload of b or of the parameters in the order of the device, with unused lanes.
    options = {"method": method, "order": "colored", "scheme": "factorized", **SWEEPS}
    options["compressed"] = False  # a J that is scaled has another compressed form, or none
    rows = problem.b.size
    with uploads() as uploaded:
        solver = cs.Solver(problem, **options, **EMULATED)
        solver.solve()
        everything = uploaded()
    with uploads() as uploaded:
        solver.solve()
        again = uploaded()
    assert again <= 200 * SWEEPS["max_iterations"]  # the state of the sweeps alone

    problem.update(b=1.5 * problem.b)
    with uploads() as uploaded:
        solver.solve()
        of_b = uploaded() - again
    assert rows * NUMBER <= of_b <= 3 * rows * NUMBER

    # A new b comes with the parameters, and these with b.
    problem.update(mu=0.2)
    with uploads() as uploaded:
        solver.solve()
        assert uploaded() - again == of_b

    problem.update(J=problem.J * 1.25)
    with uploads() as uploaded:
        result = solver.solve()
        of_jacobian = uploaded()
    assert of_b < of_jacobian < everything  # packed anew, it would be everything

    fresh = cs.Solver(problem, **options, **EMULATED).solve()
    np.testing.assert_array_equal(result.impulses, fresh.impulses)


@pytest.mark.parametrize("scheme", ["matrix", "iteration_matrix", "dense"])
def test_schemes_over_rows_are_packed_anew(scheme):
    problem = cs.scenarios.box_stack(4)
    solver = problem.to(DEVICE, scheme=scheme, **SWEEPS)
    solver.solve()
    problem.update(J=1.25 * problem.J, Minv=0.5 * problem.Minv, mu=0.3)
    fresh = cs.Solver(problem, scheme=scheme, **SWEEPS, **EMULATED).solve()
    np.testing.assert_array_equal(solver.solve().impulses, fresh.impulses)


def test_copies_in_several_pieces(spheres):
    """The emulated device copies 4096 bytes at a time."""
    start = np.random.default_rng(3).random(spheres.b.shape)
    assert start.nbytes > 3000
    solver = cs.Solver(
        spheres, method="jacobi", rtol=None, max_iterations=0, record=(), islands=False, **EMULATED
    )
    np.testing.assert_array_equal(solver.solve(initial=start).impulses, start)


# ---- lost devices --------------------------------------------------------------------------------


@pytest.mark.parametrize("launch", [1, 4, 9])
@pytest.mark.parametrize("sweeps", ["launches", "graph", "dataflow"])
def test_after_a_lost_device_the_next_solve_begins_on_a_new_queue(spheres, sweeps, launch):
    options = {"method": "gauss_seidel", "scheme": "factorized", "order": "colored"}
    options |= {"rtol": None, "max_iterations": 60, "record": (), "device_sweeps": sweeps}
    with loss(launch):
        solver = cs.Solver(spheres, **options, **EMULATED)
    b, mu = spheres.b.copy(), spheres.mu.copy()
    start = np.ones(b.shape)
    with pytest.raises(RuntimeError, match="the device has failed: the device was lost"):
        solver.solve(b=b, mu=mu, initial=start)
    np.testing.assert_array_equal(b, spheres.b)
    np.testing.assert_array_equal(start, 1.0)

    again = solver.solve()
    fresh = cs.Solver(spheres, **options, **EMULATED).solve()
    np.testing.assert_array_equal(again.impulses, fresh.impulses)


@pytest.mark.parametrize("capture", [1, 2])
def test_a_sweep_whose_capture_another_thread_ends_is_launched(spheres, capture):
    options = {"method": "symmetric_gauss_seidel", "order": "colored", "scheme": "factorized"}
    options |= {"rtol": None, "max_iterations": 6, "record": (), **EMULATED}
    with lost_capture(capture):
        solver = cs.Solver(spheres, device_sweeps="graph", **options)
    there = cs.Solver(spheres, device_sweeps="launches", **options).solve()
    for _ in range(2):
        np.testing.assert_array_equal(solver.solve().impulses, there.impulses)


@pytest.mark.parametrize("per", ["thread", "half_warp"])
def test_a_device_that_is_lost_in_a_batch(per):
    arrays = cs.scenarios.box_stack(2)
    given = [np.stack([part] * 5) for part in (arrays.J, arrays.Minv, arrays.b)]
    copies = [part.copy() for part in given]
    options = {"mu": 0.5, "bodies": arrays.bodies, "per": per, "max_iterations": 30, **EMULATED}
    with loss(1), pytest.raises(RuntimeError, match="the device has failed: the device was lost"):
        cs.solve_batch(*given, **options)
    for part, copy in zip(given, copies, strict=True):
        np.testing.assert_array_equal(part, copy)
    here = cs.solve_batch(*given, **{**options, "device": "cpu"})
    there = cs.solve_batch(*given, **options)
    np.testing.assert_array_equal(there.impulses, here.impulses)


def test_a_world_is_what_it_was_after_a_lost_device():
    options = {"method": "gauss_seidel", "order": "colored", "scheme": "factorized", **EMULATED}
    worlds = [dynamics.scenes.ball_grid(2, **options) for _ in range(2)]
    for world in worlds:
        world.run(4)
    lost, other = worlds
    before = lost.positions.copy()
    with loss(2), pytest.raises(RuntimeError, match="the device has failed: the device was lost"):
        lost.run(4)
    np.testing.assert_array_equal(lost.positions, before)
    for world in worlds:
        world.run(4)
    np.testing.assert_array_equal(lost.positions, other.positions)
