"""States of worlds as arrays: what is restored is checked, whatever it contains."""

import numpy as np
import pytest

from contactsolve import dynamics


def stack():
    """Return a world whose bodies have been ordered, with contacts."""
    world = dynamics.World(threads=1)
    world.add_fixed(dynamics.HalfSpace([0, 0, 1]))
    places = [[0, 0, 0.1], [0, 0, 0.3], [1, 0, 0.1]]
    world.add_bodies(dynamics.Sphere(0.1), places, density=900.0)
    for _ in range(3):
        world.step()
    return world


BAD = {
    "a number beyond the bodies": ("body_number", 1, 10**9, "body_number[1] is 1000000000"),
    "a number twice": ("body_number", 1, 0, "body_number["),
    "a number that is missing": ("body_number", 2, -1, "body_number[2] is -1"),
    "steps below zero": (("counter", 0), 0, -1, "counter[0] is -1: 0 to "),
    "steps that overflow": (("counter", 0), 0, 2**63 - 1, "counter[0] is 9223372036854775807"),
    "iterations below zero": (("counter", 1), 0, -5, "counter[1] is -5: 0 to "),
    "an unknown outcome": (("counter", 2), 0, 99, "counter[2] is 99: 0 to "),
    "an order of the future": (("counter", 4), 0, 50, "counter[4] is 50: -1 to 3 is needed"),
    "an unknown scheme": (("counter", 5), 0, 4, "counter[5] is 4: 0 to 1 is needed"),
    "a body removed twice": ("removed", 0, 3, "removed[0] is 3: 0 or 1 is needed"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_state_is_refused_and_changes_nothing(case):
    name, row, value, message = BAD[case]
    world, other = stack(), stack()
    arrays = world._core.save()
    column = 0 if isinstance(name, str) else name[1]
    arrays[name if isinstance(name, str) else name[0]][row, column] = value
    with pytest.raises(ValueError) as caught:
        world._core.restore(arrays)
    assert message in str(caught.value)
    for _ in range(3):
        world.step()
        other.step()
    assert world.velocities.tobytes() == other.velocities.tobytes()


def test_numbers_of_bodies_that_were_not_ordered_are_refused():
    world = stack()
    arrays = world._core.save()
    arrays["counter"][0, 4] = -1
    arrays["body_number"][:] = 10**9
    with pytest.raises(ValueError, match=r"body_number\[0\] is 1000000000"):
        world._core.restore(arrays)


def test_arrays_of_the_other_byte_order_are_read():
    world, other = stack(), stack()
    arrays = world._core.save()
    swapped = {name: one.astype(one.dtype.newbyteorder()) for name, one in arrays.items()}
    world._core.restore(swapped)
    assert world.velocities.tobytes() == other.velocities.tobytes()


def test_shapes_beyond_the_range_of_numbers_are_refused():
    world = stack()
    with pytest.raises(ValueError, match="count is 9223372036854775807"):
        world._core.skip_shapes(2**63 - 1)


def test_many_contacts_after_few_do_not_form_the_matrix():
    """A scheme that suits few contacts is not kept: a plate with n balls has n² blocks of A."""
    world = dynamics.World(method="gauss_seidel", max_iterations=5, rtol=None, atol=None, threads=1)
    world.add_fixed(dynamics.HalfSpace([0, 0, 1]))
    world.add_body(dynamics.Box([20.0, 20.0, 0.05]), [0, 0, 0.05], density=900.0)
    grid = np.stack(np.meshgrid(np.arange(20), np.arange(20)), -1).reshape(-1, 2) * 0.5 - 5
    places = np.column_stack([grid, np.full(len(grid), 0.2 + 2.2e-3)])
    world.add_bodies(dynamics.Sphere(0.1), places, velocities=falling(400), density=900.0)
    world.step()
    assert world.info["contacts"] == 4
    assert world._core.save()["counter"][0, 5] == 0
    for _ in range(3):
        world.step()
    assert world.info["contacts"] > 400
    assert world._core.save()["counter"][0, 5] == 1  # factors, which it keeps


def falling(count):
    velocities = np.zeros((count, 6))
    velocities[:, 2] = -1.0
    return velocities
