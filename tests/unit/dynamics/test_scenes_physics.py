"""What is known of the scenes: limits of standing, contacts that carry, flows and deposits."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from contactsolve.dynamics import scenes

# What falls is not always solved to the tolerance.
pytestmark = pytest.mark.filterwarnings("ignore:step .* the solve ended")


def stands(world, seconds=0.5):
    """Whether a world stays as it is: all but exactly, or it moves for good."""
    start = world.positions.copy()
    world.run(round(seconds / world.time_step))
    distance = np.abs(world.positions - start).max()
    assert distance < 1e-9 or distance > 1e-4
    return distance < 1e-9


# ---- masonry -------------------------------------------------------------------------------------


def thrust_line_exists(thickness, voussoirs=16):
    """Whether forces at the joints of a semicircle can hold the voussoirs, without sliding.

    Unknown are the horizontal thrust, the vertical force and the moment at the right end; where the
    line of thrust crosses the k-th joint follows from the weights right of it.
    """
    joints = np.linspace(0, np.pi, voussoirs + 1)
    inner, outer = ((1 + side * thickness / 2) * np.exp(1j * joints) for side in (-1, 1))
    # Centroids of trapezoids: two triangles each.
    corners = np.stack([inner[:-1], outer[:-1], outer[1:], inner[1:]], 1)
    one, other = corners[:, [0, 1, 2]], corners[:, [0, 2, 3]]
    size = [0.5 * np.imag(np.conj(t[:, 1] - t[:, 0]) * (t[:, 2] - t[:, 0])) for t in (one, other)]
    weight = size[0] + size[1]
    middle = (size[0] * one.mean(1) + size[1] * other.mean(1)).real / weight

    # The force over the k-th joint is (-H, V - W), and its moment about the origin M - T, with the
    # weights W right of the joint and their moment T. It passes between the joint's ends if its
    # moments about them have different signs.
    total = np.concatenate([[0], np.cumsum(weight)])
    turning = np.concatenate([[0], np.cumsum(weight * middle)])
    rows, known = [], []
    for ends, sign in ((inner, 1.0), (outer, -1.0)):
        rows.append(sign * np.column_stack([-ends.imag, -ends.real, np.ones(voussoirs + 1)]))
        known.append(sign * (ends.real * total - turning))
    free = [(None, None)] * 3
    found = linprog(
        np.zeros(3), A_ub=-np.concatenate(rows), b_ub=np.concatenate(known), bounds=free
    )
    return found.status == 0


def least_thickness():
    """Return the least thickness at which a line of thrust exists, to 1e-6."""
    low, high = 0.1, 0.12
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if thrust_line_exists(middle) else (middle, high)
    return high


def test_an_arch_stands_from_the_thickness_on_where_a_line_of_thrust_exists():
    limit = least_thickness()
    assert limit == pytest.approx(0.1072, abs=2e-4)
    for thickness in (0.112, limit + 1e-4):
        assert stands(scenes.arch(16, thickness=thickness))
    for thickness in (0.102, limit - 1e-4):
        assert not stands(scenes.arch(16, thickness=thickness), seconds=1.0)


def test_an_arch_falls_if_its_stones_slide():
    assert stands(scenes.arch(16, thickness=0.2, mu=0.5))
    assert not stands(scenes.arch(16, thickness=0.2, mu=0.2))


@pytest.mark.parametrize("bricks", [1, 4, 12])
@pytest.mark.parametrize(("factor", "holds"), [(0.99, True), (1.01, False)])
def test_a_tower_stands_up_to_the_overhangs_of_the_harmonic_series(bricks, factor, holds):
    assert stands(scenes.overhanging_tower(bricks, factor=factor)) == holds


def test_leaning_cards_stand_from_a_known_friction_on():
    half, radius, angle = 0.044, 0.001, np.radians(20.0)
    limit = half * np.sin(angle) / (2 * half * np.cos(angle) + radius)
    for factor, holds in ((0.99, False), (1.01, True)):
        cards = scenes.card_house(1, length=0.09, thickness=0.002, angle=20.0, mu=factor * limit)
        assert stands(cards) == holds


@pytest.mark.parametrize("levels", [2, 5])
def test_a_card_house_stands_by_the_friction_of_its_angle(levels):
    assert stands(scenes.card_house(levels, angle=20.0, mu=1.01 * np.tan(np.radians(20.0))))
    assert not stands(scenes.card_house(levels, angle=20.0, mu=0.2))


# ---- piles without friction ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dimension", "count", "steps"),
    [(2, 60, 2500), pytest.param(3, 200, 3600, marks=pytest.mark.slow)],
)
def test_without_friction_as_many_contacts_carry_as_balls_have_directions(dimension, count, steps):
    # Radii are random: only one set of impulses holds the pile, on that many contacts.
    world = scenes.spheres_in_a_box(
        count,
        dimension=dimension,
        mu=0.0,
        spread=0.3,
        method="auto",
        rtol=1e-8,
        max_iterations=3000,
    )
    world.run(steps)
    weight, radius = world.masses.mean() * 9.81, 0.05
    assert world.energy()[0] < 1e-4 * count * weight * radius
    carrying = world.contacts.impulses[:, 0] > 1e-4 * weight * world.time_step
    assert carrying.sum() == pytest.approx(dimension * count, rel=0.03)


# ---- grains that flow ----------------------------------------------------------------------------


def runout(aspect, count=400):
    """Return aspect ratio and runout of a column of discs, in half widths."""
    world = scenes.column_collapse(count, aspect=aspect, threads=1)
    radius = 0.05
    half = np.ptp(world.positions[:, 0]) / 2 + radius
    height = 2 * (np.average(world.positions[:, 1], weights=world.masses) - radius)
    rest = 1e-3 * world.masses.sum() * 9.81 * radius
    while world.energy()[0] > rest or world.steps == 0:
        world.run(200)

    # The deposit: the grains that are connected by contacts.
    pairs = world.contacts.bodies
    pairs = pairs[(pairs >= 0).all(axis=1)]
    graph = coo_array((np.ones(len(pairs)), pairs.T), shape=(count, count))
    label = connected_components(graph, directed=False)[1]
    reached = world.positions[label == np.argmax(np.bincount(label)), 0]
    return height / half, (np.ptp(reached) / 2 + radius) / half - 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("aspects", "least", "most"), [((0.5, 1.3), 0.8, 1.3), ((3.0, 12.0), 0.6, 0.8)]
)
def test_columns_run_out_by_powers_of_their_aspect_ratio(aspects, least, most):
    (one, near), (other, far) = (runout(aspect) for aspect in aspects)
    assert least <= np.log(far / near) / np.log(other / one) <= most


def flow(height, orifice=0.8, width=2.0, radius=0.05):
    """Return the discs that leave a hopper in a second, once the flow is steady."""
    count = round(0.95 * height * width / (2 * radius) ** 2)
    world = scenes.hopper(count, orifice=orifice, width=width, clearance=None, threads=1)
    times, left = [], []

    def watch(world):
        times.append(world.time)
        left.append(scenes.discharged(world))
        if left[-1] >= 250:
            raise StopIteration

    world.run(20_000, callback=watch)
    steady = np.array(left) >= 60
    return np.polyfit(np.array(times)[steady], np.array(left)[steady], 1)[0]


@pytest.mark.slow
def test_the_flow_of_a_hopper_hardly_depends_on_the_height_of_its_filling():
    # That of a liquid grows as the height to the power 1/2; of twice the height it is 1.41 times.
    assert 0.9 < flow(4.8) / flow(2.4) < 1.2
