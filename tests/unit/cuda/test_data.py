"""What goes to a device and comes from it: memory, what is uploaded, lost devices."""

from contextlib import contextmanager

import numpy as np
import pytest

import contactsolve as cs
from emulated import EMULATED, kernels, loss

SWEEPS = {"rtol": None, "max_iterations": 10, "record": ()}
NUMBER = 8


@contextmanager
def memory(size):
    """Queues of the emulated device made inside have so many bytes."""
    kernels.set_memory(size)
    try:
        yield
    finally:
        kernels.set_memory(2**64 - 1)


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


@pytest.mark.parametrize("method", ["gauss_seidel", "nesterov"])
def test_a_problem_that_is_too_large_names_the_bytes_before_it_takes_any(spheres, method):
    with memory(10_000), pytest.raises(MemoryError, match="and 10000 are free") as caught:
        cs.Solver(spheres, method=method, **SWEEPS, **EMULATED)
    assert "device='cuda-emulated'" in str(caught.value)

    # What it says is what is needed, to the byte.
    needed = needed_bytes(str(caught.value))
    with memory(needed - 1), pytest.raises(MemoryError, match=f"needs {needed} bytes"):
        cs.Solver(spheres, method=method, **SWEEPS, **EMULATED)
    with memory(needed):
        solver = cs.Solver(spheres, method=method, **SWEEPS, **EMULATED)
        solver.solve()

        # A second one does not fit while the first one exists.
        with pytest.raises(MemoryError, match="and 0 are free"):
            cs.Solver(spheres, method=method, **SWEEPS, **EMULATED)
        del solver
        cs.Solver(spheres, method=method, **SWEEPS, **EMULATED).solve()


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
