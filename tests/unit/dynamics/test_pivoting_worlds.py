"""Worlds whose steps are solved by pivoting: index sets and friction bounds go on by identifier."""

from itertools import pairwise

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import dynamics

GROUND = dynamics.HalfSpace([0.0, 0.0, 1.0])
BOX = dynamics.Box([0.2, 0.15, 0.1])
STEP = 1.0 / 60.0
METHODS = ("bpp", "murty", "keller", "dantzig")
LOW, FREE, HIGH = 1, 2, 3  # codes of the saved index set; 0 is unknown


def world_of(method="bpp", **options):
    """An empty world with a rough ground, as S3 has it."""
    given = {"time_step": STEP, "stepper": "semi_implicit_euler", "rtol": 1e-7}
    given |= {"friction": "box", "contact_compliance": 1e-6 * STEP**2, "threads": 1}
    world = dynamics.World(method=method, **{**given, **options})
    world.add_fixed(GROUND)
    return world


def sliding(count=4, speed=2.0, **options):
    """Boxes that rest and slide side by side, each in another direction."""
    world = world_of(**options)
    for i in range(count):
        angle = 0.7 + i
        velocity = [speed * np.cos(angle), speed * np.sin(angle), 0, 0, 0, 0]
        world.add_body(BOX, [2.0 * i, 0, 0.1], density=500.0, velocity=velocity)
    return world


def chain(links=8, **options):
    """A chain on balls, which a motor pulls over the ground by its first link; it whips about."""
    world = world_of(tension="implicit", **options)
    link = dynamics.Capsule(0.05, 0.1)
    lying = [np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0]
    places = [[0.31 * i, 0.02 * (i % 3), 0.05 + 0.01 * (i % 2)] for i in range(links)]
    bodies = [world.add_body(link, place, orientation=lying, mass=1.0) for place in places]
    for i, (one, other) in enumerate(pairwise(bodies)):
        middle = 0.5 * (np.array(places[i]) + places[i + 1])
        world.joints.ball(one, other, middle, compliance=np.full(3, 1e-6 * STEP**2))
    pull = dynamics.Motor(-3.0, 40.0)
    world.joints.linear(-1, bodies[0], places[0], [0.8, 0.6, 0.0], motor=pull)
    return world


def saved_index(world):
    """The codes of the contacts' rows, ``(K, 3)``."""
    return world._core.save()["contact_index"][:, :3]


def all_impulses(world):
    """Impulses as `World.problem` has them, one array for each group."""
    groups = [world.contacts.impulses[:, :3]] if len(world.contacts.gaps) else []
    found = world.joints.impulses
    held = [found[i, :3] for i in range(len(found)) if world.joints[i].kind == "ball"]
    driven = [found[i, 7:] for i in range(len(found)) if world.joints[i].kind == "linear"]
    return groups + [np.array(rows) for rows in (held, driven) if rows]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("make", "least"), [(sliding, 0.3), (chain, 0.1)])
def test_a_step_begins_with_the_index_set_of_the_one_before(make, least, method):
    """Fewer pivots than from nothing, by the share `least` or more, and the same impulses."""
    world = make(method=method)
    warm = cold = 0
    for _ in range(25):
        world.step()
        problem = world.problem()
        assert world.info["status"] == "converged"
        if problem is None:
            continue
        options = {"method": method, "rtol": 1e-7, "max_iterations": 200}
        alone = cs.solve(problem, **options)
        assert alone.converged
        warm, cold = warm + world.info["pivots"], cold + alone.info["pivots"]
        own = all_impulses(world)
        found = alone.impulses if isinstance(alone.impulses, list | tuple) else [alone.impulses]
        assert len(own) == len(found)
        scale = max(np.abs(rows).max() for rows in found)
        for mine, other in zip(own, found, strict=True):
            np.testing.assert_allclose(mine, other, rtol=0, atol=1e-4 * scale)
    assert 0 < warm < (1 - least) * cold


def test_lemke_begins_with_the_friction_bounds_of_the_step_before():
    """It takes no index set; the bounds alone save solves, of which each pivots from nothing."""
    world = sliding(method="lemke")
    warm = cold = 0
    for _ in range(12):
        world.step()
        alone = cs.solve(world.problem(), method="lemke", rtol=1e-7, max_iterations=200)
        assert world.info["status"] == "converged"
        assert alone.converged
        warm, cold = warm + world.info["iterations"], cold + alone.iterations
        np.testing.assert_allclose(world.contacts.impulses[:, :3], alone.impulses, atol=1e-5)
    assert warm < 0.8 * cold
    assert world.info["pivots"] > 0


def test_one_solve_a_step_goes_on_with_the_index_set():
    """Without a tolerance, too: as S3's engine does, which bounds friction by the last step."""

    def push(world):
        forces = np.zeros_like(world.velocities)
        forces[:, :2] = world.masses[:, None] * np.array([6.0, 3.0])
        return forces

    world = sliding(speed=0.0, forces=push, rtol=None, atol=None, max_iterations=1)
    settled = sliding(speed=0.0, forces=push)
    for _ in range(30):
        world.step()
        settled.step()
    assert settled.positions[0, 0] > 0.05
    assert world.info["iterations"] == 1
    assert world.info["steps_not_converged"] == 0
    assert np.all(saved_index(world)[:, 0] > 0)
    assert world.info["pivots"] == 0

    # The first step, whose friction has no bound, sticks.
    late = 6.0 * STEP * world.time
    np.testing.assert_allclose(world.positions, settled.positions, atol=late)


def test_the_index_set_of_contacts_that_slide_is_exact():
    """Impulses alone do not tell it: bounds and tangents of a step are not those of the next."""
    world = sliding()
    for _ in range(4):
        world.step()
    code = saved_index(world)
    assert len(code) == 16
    assert np.all(code[:, 0] != 0)
    pressed = code[:, 0] == FREE
    assert pressed.sum() >= 4
    bound = 0.5 * world.contacts.impulses[:, :1]
    slides = np.abs(world.contacts.impulses[:, 1:3]) > (1 - 1e-5) * bound
    sense = np.where(world.contacts.impulses[:, 1:3] > 0, HIGH, LOW)
    np.testing.assert_array_equal(code[pressed, 1:], np.where(slides, sense, FREE)[pressed])
    assert slides[pressed].sum() > 20
    world.step()
    assert world.info["pivots"] == 0


def test_contacts_keep_their_index_where_others_vanish_and_appear():
    world = sliding()
    for _ in range(4):
        world.step()
    ids, code = world.contacts.ids.copy(), saved_index(world)

    # The first box vanishes: all other contacts are other rows.
    world.remove(0)
    world.step()
    assert len(world.contacts.ids) == 12
    assert world.info["pivots"] == 0
    np.testing.assert_array_equal(world.contacts.ids, ids[4:])
    np.testing.assert_array_equal(saved_index(world), code[4:])

    # One appears, at rest: its contacts begin without impulses, and stick.
    world.add_body(BOX, [3.0, 5.0, 0.1], density=500.0)
    world.step()
    assert len(world.contacts.ids) == 16
    now = saved_index(world)
    np.testing.assert_array_equal(now[:12], code[4:])
    assert np.all(now[12:, 0] == FREE)
    world.step()
    assert world.info["pivots"] == 0
    assert np.all(saved_index(world)[12:] == FREE)


def test_pivots_follow_what_changes():
    """A box that is pushed the other way: its tangents, and no others."""
    world = sliding()
    for _ in range(4):
        world.step()
    code = saved_index(world)
    world.place(2, velocity=-world.velocities[2])
    world.step()
    now = saved_index(world)
    assert world.info["pivots"] > 0
    changed = np.any(now != code, axis=1)
    assert set(np.flatnonzero(changed)) <= set(range(8, 12))
    pressed = now[8:12, 0] == FREE
    np.testing.assert_array_equal(now[8:12, 1:][pressed], 4 - code[8:12, 1:][pressed])


def test_contacts_whose_normal_turns_are_solved_as_from_nothing():
    """Tangents of a normal that turns by a quarter are others."""
    world = world_of(gravity=[0.0, 0.0, 0.0], allow_overlap=True)
    spin, push = [0, 0, 0, 3, 9, 5], [-1, 0.3, 0, 0, 0, 0]
    ball = world.add_body(dynamics.Sphere(0.1), [0, 0, 0.5], mass=1.0, velocity=spin)
    other = world.add_body(dynamics.Sphere(0.1), [0.2, 0, 0.5], mass=1.0, velocity=push)
    for place in ([0.2, 0, 0.5], [0.0, 0.0, 0.7], [-0.1, 0.1, 0.5 + 0.1 * np.sqrt(2)]):
        world.place(ball, [0, 0, 0.5], velocity=spin)
        world.place(other, place, velocity=-10.0 * (np.array(place) - [0, 0, 0.5]) @ np.eye(3, 6))
        world.step()
        assert world.info["status"] == "converged"
        assert len(world.contacts.ids) == 1
        alone = cs.solve(world.problem(), method="bpp", rtol=1e-7)
        np.testing.assert_allclose(world.contacts.impulses[:, :3], alone.impulses, atol=1e-6)


@pytest.mark.parametrize("islands", [False, "auto"])
@pytest.mark.parametrize("make", [sliding, chain])
def test_a_world_goes_on_from_a_frame_with_the_same_bits(make, islands, tmp_path):
    path = tmp_path / "run.h5"
    world = make(islands=islands)
    record = world.run(30, record=("pivots", "iterations"), file=path)
    assert record["pivots"].max() > 0
    again = dynamics.World.load(path, frame=12)
    assert again.steps == 12
    assert again.info["pivots"] == record["pivots"][12]
    rest = again.run(18, record=("pivots", "iterations"))
    for name in ("pivots", "iterations"):
        np.testing.assert_array_equal(rest[name], record[name][12:])
    for name, rows in world._core.save().items():
        np.testing.assert_array_equal(again._core.save()[name], rows, err_msg=name)


def test_a_state_without_index_sets_is_taken():
    """As recordings from before there were any have it: the index set is guessed from impulses."""
    world = sliding()
    for _ in range(4):
        world.step()
    state = world._core.save()
    for name in ("contact_index", "joint_index", "pivots"):
        state.pop(name)
    world._core.restore(state)
    assert np.all(saved_index(world) == 0)
    world.step()
    assert world.info["status"] == "converged"


def test_a_state_without_index_sets_replaces_those_of_joints():
    """Not those that the world had before, of another state."""
    world = chain()
    world.run(5)
    state = world._core.save()
    assert np.any(state["joint_index"] != 0)
    for name in ("contact_index", "joint_index", "pivots"):
        state.pop(name)
    world._core.restore(state)
    found = world._core.save()
    assert np.all(found["joint_index"] == 0)
    assert found["pivots"][0, 0] == world.info["pivots"] == 0


def test_a_step_that_needs_no_solve_keeps_the_index_set():
    """Boxes at rest: the impulses of the step before are good enough."""
    world = sliding(speed=0.0)
    for _ in range(8):
        world.step()
    assert world.info["iterations"] == 0
    assert np.all(saved_index(world) == FREE)


def test_methods_without_index_sets_save_none():
    world = world_of(method="gauss_seidel")
    assert not {"contact_index", "joint_index", "pivots"} & set(world._core.save())


def test_an_index_that_is_none_is_refused():
    world = sliding()
    world.step()
    state = world._core.save()
    state["contact_index"][3, 1] = 4
    with pytest.raises(ValueError, match=r"contact_index\[3, 1\] is 4: 0 to 3 is needed"):
        world._core.restore(state)


# ---- islands -------------------------------------------------------------------------------------


def test_islands_that_are_solved_apart_keep_their_index_sets():
    """As the whole does: so many contacts that the problem is cut into its islands."""
    together, apart = (sliding(132, islands=islands) for islands in (False, "auto"))
    for world in (together, apart):
        world.run(3)
        assert world.info["contacts"] == 528
    assert cs.Solver(apart.problem(), method="bpp").info["clusters"] == 132
    np.testing.assert_array_equal(saved_index(apart), saved_index(together))
    np.testing.assert_allclose(apart.velocities, together.velocities, atol=1e-6)
    apart.step()
    alone = cs.solve(apart.problem(), method="bpp", rtol=1e-7)
    assert apart.info["pivots"] < 0.1 * alone.info["pivots"]


@pytest.mark.parametrize("method", ["bpp", "gauss_seidel"])
def test_islands_of_worlds_are_solved_apart(method):
    """With the impulses of the whole; joints connect bodies that do not touch."""
    options = {"max_iterations": 20000, "rtol": 1e-6} if method == "gauss_seidel" else {}
    together, apart = (many_chains(method, islands, **options) for islands in (False, "auto"))
    for world in (together, apart):
        world.run(6)
        assert world.info["status"] == "converged"
    found = cs.Solver(apart.problem(), method="gauss_seidel").info["islands"]
    assert found == 6  # five chains, and a box on the ground
    np.testing.assert_allclose(apart.positions, together.positions, atol=1e-6)
    np.testing.assert_allclose(apart.velocities, together.velocities, atol=1e-4)


def many_chains(method, islands, **options):
    """Chains of balls that fall side by side, each held at one end, and a box that slides."""
    world = world_of(method, islands=islands, tension="implicit", **options)
    for k in range(5):
        last = -1
        for i in range(4):
            at = [0.15 * i + 0.02 * k, 2.0 * k, 2.0]
            body = world.add_body(dynamics.Sphere(0.05), at, mass=1.0)
            point = np.array(at) - [0.075, 0, 0]
            world.joints.ball(last, body, point, compliance=np.full(3, 1e-6 * STEP**2))
            last = body
    world.add_body(BOX, [0, -3.0, 0.1], density=500.0, velocity=[1, 0.5, 0, 0, 0, 0])
    return world


# ---- options -------------------------------------------------------------------------------------


def test_box_friction_in_place_of_discs(tmp_path):
    world = world_of()
    material = dynamics.Material(0.3)
    world.add_body(BOX, [0, 0, 0.1], density=500.0, velocity=[3, 3, 0, 0, 0, 0], material=material)
    world.run(3, file=tmp_path / "run.h5")
    assert world.problem().sets.name == "box_friction"
    normal, one, other = world.contacts.impulses[:, :3].T
    mu = np.sqrt(0.3 * 0.5)
    np.testing.assert_allclose(np.abs([one, other]), np.array([mu * normal] * 2), rtol=1e-5)
    again = dynamics.World.load(tmp_path / "run.h5")
    again.add_body(BOX, [3, 0, 0.1], density=500.0, material=dynamics.Material(0.8))
    again.step()
    assert again.info["contacts"] == 8
    assert again.problem().sets.name == "box_friction"


def test_a_compliant_contact_gives_way_by_its_load():
    """Semi-implicit Euler rests where the gap is −C f: S3 eq. 1.17."""
    compliance = 1e-5
    world = dynamics.World(
        time_step=STEP, stepper="semi_implicit_euler", contact_compliance=compliance, rtol=1e-10
    )
    world.add_fixed(GROUND)
    world.add_body(dynamics.Sphere(0.1), [0, 0, 0.1], mass=2.0)
    world.run(300)
    assert world.contacts.gaps[0] == pytest.approx(-compliance * 2.0 * 9.81, rel=1e-6)
    assert world.problem().compliance[0] == pytest.approx(compliance / STEP**2)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_a_compliance_that_is_none_is_refused(value):
    with pytest.raises(ValueError, match=r"contact_compliance is .*: a number of at least 0"):
        dynamics.World(contact_compliance=value)


def test_friction_of_another_name_is_refused():
    with pytest.raises(ValueError, match="friction is 'cone': 'disc' or 'box' is needed"):
        dynamics.World(friction="cone")
