"""Scenes: their lists, arguments, counts of contacts, and what they do in their first steps."""

import inspect

import numpy as np
import pytest

import contactsolve as cs
from contactsolve.dynamics import scenes

# Few bodies where a scene is large by default.
SMALL = {
    "ball_grid": {"shape": 3},
    "cannonballs": {"shape": 3},
    "column_collapse": {"count": 30},
    "hopper": {"count": 60},
    "pile": {"count": 30},
    "spheres_in_a_box": {"count": 60},
}
OF_BOTH_DIMENSIONS = ("column_collapse", "domino_row", "hopper", "pile", "spheres_in_a_box")
VARIANTS = [(name, {}) for name in scenes.names()]
VARIANTS += [(name, {"dimension": d}) for name in OF_BOTH_DIMENSIONS for d in (2, 3)]


def small(name, **options):
    return scenes.get(name)(**SMALL.get(name, {}), **options)


def by_pairs(problem):
    """Return pairs, J and b of a problem, sorted by its pairs."""
    order = np.lexsort(problem.bodies.T)
    return problem.bodies[order], problem.J[order], problem.b[order]


@pytest.mark.filterwarnings("ignore:step .* the solve ended")
@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_a_scene_runs_and_is_the_same_each_time(name, options):
    runs = [small(name, **options) for _ in range(2)]
    for world in runs:
        world.run(30)
    assert runs[0].bodies > 0
    assert np.isfinite(runs[0].velocities).all()
    assert (runs[0].positions == runs[1].positions).all()


@pytest.mark.parametrize("name", scenes.names())
def test_a_scene_can_be_described(name):
    function = scenes.get(name)
    assert getattr(scenes, name) is function
    parameters = inspect.signature(function).parameters
    section = inspect.getdoc(function).split("Parameters\n----------\n")[1].split("\n\nReturns")[0]
    heads = [line for line in section.splitlines() if not line.startswith(" ")]
    named = [part.strip(" *") for head in heads for part in head.split(":")[0].split(",")]
    assert named == [one.lstrip("*") for one in parameters]
    for one in parameters.values():
        assert one.kind is one.VAR_KEYWORD or one.default is not one.empty


@pytest.mark.parametrize("name", scenes.names())
def test_a_scene_takes_the_options_of_a_world(name):
    assert small(name, time_step=2e-4).time_step == 2e-4
    with pytest.raises(TypeError, match="has no option 'time_stepp'"):
        small(name, time_stepp=2e-4)
    with pytest.raises(ValueError, match="dimension is 4"):
        small(name, dimension=4)


def test_unknown_names_are_told():
    with pytest.raises(ValueError, match=r"unknown scene 'piel'.*did you mean 'pile'"):
        scenes.get("piel")
    with pytest.raises(AttributeError, match="did you mean 'pile'"):
        scenes.piel  # noqa: B018


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("spheres_in_a_box", {"count": 0}, "count is 0"),
        ("spheres_in_a_box", {"spread": 1.0}, "spread is 1.0"),
        ("spheres_in_a_box", {"width": 0.05}, "width is 0.05: the largest body needs"),
        ("spheres_in_a_box", {"mu": -1.0}, "mu"),
        ("ball_grid", {"shape": (2, 0, 1)}, "shape is"),
        ("cannonballs", {"velocity": -1.0}, "velocity is -1.0"),
        ("pile", {"shapes": "sphere,disc"}, r"shapes\[1\] is 'disc'"),
        ("pile", {"shapes": ()}, "shapes is empty"),
        ("disc_pyramid", {"disc": 55}, "disc is 55"),
        ("disc_pyramid", {"impulse": 1.0}, "impulse is 1.0"),
        ("domino_row", {"spacing": 0.0}, "spacing is 0.0"),
        ("hopper", {"width": 0.9}, "width is 0.9: expected more than the orifice, 1"),
        ("hopper", {"clearance": 0.0}, "clearance is 0.0"),
        ("column_collapse", {"aspect": -1.0}, "aspect is -1.0"),
        ("card_house", {"levels": 0}, "levels is 0"),
        ("card_house", {"angle": 61.0}, "angle is 61.0"),
        ("card_house", {"thickness": 0.03}, "thickness is 0.03"),
        ("arch", {"thickness": 2.0}, "thickness is 2.0"),
        ("arch", {"dimension": 3}, "dimension is 3: this scene is one of the plane"),
        ("ball_grid", {"dimension": 2}, "dimension is 2: this scene is one of space"),
        ("overhanging_tower", {"factor": 2.0}, "factor is 2.0"),
    ],
)
def test_wrong_arguments_are_named(name, options, text):
    with pytest.raises(ValueError, match=text):
        scenes.get(name)(**options)


# ---- the problem of the first step ---------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:step .* the solve ended")
@pytest.mark.parametrize(("layout", "size"), [("cubic", 4), ("cannonball", 4)])
def test_lattices_begin_with_the_problem_of_their_scenario(layout, size):
    world = (scenes.ball_grid if layout == "cubic" else scenes.cannonballs)(size, velocity=0.0)
    world.step()
    wanted = cs.scenarios.ball_grid(size, layout=layout)
    found = world.problem()
    assert found.contacts == wanted.contacts
    for one, other in zip(by_pairs(found)[::2], by_pairs(wanted)[::2], strict=True):
        assert np.abs(one - other).max() <= 1e-14
    # Tangents of a contact may be turned.
    one, other = by_pairs(found)[1], by_pairs(wanted)[1]
    assert np.abs(one[:, :, 0] - other[:, :, 0]).max() <= 1e-14


@pytest.mark.parametrize("layers", [2, 3, 4, 10, 25, 60, 100, 150])
def test_a_disc_pyramid_has_the_contacts_of_s4(layers):
    once = {"rtol": None, "atol": None, "max_iterations": 1, "method": "gauss_seidel"}
    world = scenes.disc_pyramid(layers, ground=False, impulse=(0.0, 0.0), **once)
    world.step()
    assert world.bodies == layers * (layers + 1) // 2
    assert len(world.contacts.gaps) == 3 * layers * (layers - 1) // 2
    resting = scenes.disc_pyramid(layers, impulse=(0.0, 0.0), **once)
    resting.step()
    assert len(resting.contacts.gaps) == 3 * layers * (layers - 1) // 2 + layers


@pytest.mark.parametrize("ground", [False, True])
def test_a_disc_pyramid_begins_with_the_problem_of_its_scenario(ground):
    push = {"disc": 4, "impulse": (0.3, -2.0)}
    # Euler's rule has the contacts at the beginning of the step.
    world = scenes.disc_pyramid(
        7, ground=ground, stepper="semi_implicit_euler", mass=2.0, radius=0.5, **push
    )
    world.step()
    wanted = cs.scenarios.disc_pyramid(
        7, ground=ground, mass=2.0, radius=0.5, gravity=9.81 * ground, time_step=0.01, **push
    )
    found = world.problem()
    pairs, J, b = by_pairs(found)
    assert (pairs == by_pairs(wanted)[0]).all()
    assert np.abs(J - by_pairs(wanted)[1]).max() <= 1e-14
    assert np.abs(b - by_pairs(wanted)[2]).max() <= 1e-12  # gaps, divided by the time step


@pytest.mark.parametrize(("mu", "stands"), [(0.265, False), (0.271, True)])
def test_three_discs_stand_from_the_friction_of_tan_15_degrees_on(mu, stands):
    world = scenes.disc_pyramid(2, impulse=(0.0, 0.0), mu=mu, rtol=1e-10)
    start = world.positions.copy()
    world.run(50)
    assert (np.abs(world.positions - start).max() < 1e-9) == stands


# ---- motions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.filterwarnings("ignore:step .* the solve ended")
def test_spheres_stay_in_their_box(dimension):
    world = scenes.spheres_in_a_box(60, dimension=dimension, spread=0.5, velocity=2.0)
    spheres = [shape for shape, body, *_ in world.shapes if body >= 0]
    radii = np.array([one.radius for one in spheres])
    assert 0.5 * 0.05 <= radii.min() < 0.03 < 0.07 < radii.max() <= 1.5 * 0.05
    start = sum(world.energy())
    world.run(1500)
    # Penetration: at most a step at the largest speed.
    width = 2 * 1.5 * 0.05 * np.ceil(60 ** (1 / dimension))
    margin = 1e-3 * 10
    assert (world.positions[:, -1] > radii - margin).all()
    assert (np.abs(world.positions[:, :-1]).max(axis=1) + radii < width / 2 + margin).all()
    assert world.energy()[0] < 1e-3 * start


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.filterwarnings("ignore:step .* the solve ended")
def test_dominoes_topple_one_after_the_other(dimension):
    world = scenes.domino_row(8, dimension=dimension)
    turned = world.run(800, record=("orientations",))["orientations"]
    tilt = -turned if dimension == 2 else 2 * np.arcsin(turned[:, :, 2])  # about y
    assert (tilt[-1] > np.radians(45)).all()
    begins = np.argmax(tilt > np.radians(10), axis=0)
    assert (np.diff(begins) > 0).all()


@pytest.mark.parametrize(("factor", "falls"), [(0.98, False), (1.02, True)])
def test_the_first_domino_needs_its_energy(factor, falls):
    height, thickness = 0.05, 0.01
    diagonal = np.hypot(height, thickness)
    speed = np.sqrt(3 * 9.81 * height**2 * (diagonal - height)) / diagonal
    world = scenes.domino_row(
        1,
        dimension=2,
        height=height,
        thickness=thickness,
        speed=factor * speed,
        mu=1.0,
        time_step=2e-4,
    )
    world.run(5000)
    assert (abs(world.orientations[0]) > 1.0) == falls


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_pile_holds_each_shape_of_its_dimension(dimension):
    world = scenes.pile(10, dimension=dimension)
    kinds = {shape.kind for shape, body, *_ in world.shapes if body >= 0}
    assert len(kinds) == (3 if dimension == 2 else 5)


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_pile_of_bodies_with_corners_comes_to_rest(dimension):
    shapes = "polygon" if dimension == 2 else "box,hull"
    world = scenes.pile(30, dimension=dimension, shapes=shapes)
    start = sum(world.energy())
    fastest = np.sqrt(2 * 9.81 * world.positions[:, -1].max())
    record = world.run(4000, record=("kinetic", "penetration"), every=10)
    assert record["kinetic"][-1] < 1e-6 * start
    assert record["penetration"].max() < 1e-3 * fastest
