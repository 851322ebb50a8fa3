"""S3's scenes in motion: mechanisms with motors, limits and contacts, over 20 s."""

import numpy as np
import pytest

from contactsolve import dynamics
from contactsolve.scenarios._mechanism import PLACES, Mechanism

# Where bounds of friction cycle, a few solves end at their limit of iterations.
pytestmark = pytest.mark.filterwarnings("ignore:step .* the solve ended")

STEPS, H = 1200, 1 / 60

# Mass ratios of S3 Table 2.2.
RATIOS = {
    "crane": 6_300,
    "forklift": 2_700,
    "forwarder": 6_500,
    "offshore": 4_400_000,
    "vehicle": 20_000,
}

# Bodies whose shapes give them another centre of mass, or that stand elsewhere.
MOVED = {"forklift": [46], "forwarder": [0, 22, 23], "offshore": [0]}


# Linear rows that a joint holds, which come first.
LINEAR = {"ball": 3, "hinge": 3, "slider": 2, "fixed": 3}


class Watch:
    """What is watched in each step of a run: the drift of joints, its bound, and limits."""

    def __init__(self, world):
        self.drift, self.bend, self.passed = [], [], -np.inf
        count = len(world.joints)
        self.soft, bodies, arms = np.zeros((count, 3)), [], []
        for number in range(count):
            kind, pair, numbers, _ = world.joints._given[number]
            held = LINEAR.get(kind, 0)
            self.soft[number, :held] = numbers[20 : 20 + held]
            for side in range(2):
                if pair[side] >= 0 and held:
                    bodies.append(pair[side])
                    arms.append(numbers[3 * side : 3 * side + 3])
        self.bodies, self.arms = np.array(bodies), np.array(arms)
        self.low, self.high = np.array([world.joints[k].limits for k in range(count)]).T
        self.fastest = np.zeros(count)

    def __call__(self, world):
        # A point at r from the centre of mass leaves its circle by h^2 |w x (w x r)| / 2 in a step.
        turn = world.orientations[self.bodies]
        spin = world.velocities[self.bodies, 3:]
        half = np.cross(turn[:, 1:], self.arms) + turn[:, :1] * self.arms
        arms = self.arms + 2 * np.cross(turn[:, 1:], half)
        bend = np.linalg.norm(np.cross(spin, np.cross(spin, arms)), axis=1)
        self.bend.append(H**2 * bend.max() / 2)

        # The drift is what the compliance does not explain, C times the force.
        given_way = np.linalg.norm(self.soft * world.joints.impulses[:, :3] / H, axis=1)
        self.drift.append((world.joints.errors[:, 0] - given_way).max())

        # By how much limits are passed, less the motion of one step.
        x = world.joints.coordinates
        self.fastest = np.maximum(self.fastest, np.abs(world.joints.rates))
        over = np.maximum(self.low - x, x - self.high) - H * self.fastest
        self.passed = max(self.passed, over.max())

    def holds(self):
        """Check that the drift is that of one step, in every part of the run, and limits hold."""
        for part in np.array_split(np.arange(len(self.drift)), max(len(self.drift) // 300, 1)):
            bound = max(self.bend[k] for k in part)
            assert max(self.drift[k] for k in part) <= 2 * bound + 1e-6
        assert self.passed <= 1e-9


def ran(name, steps=STEPS, **options):
    """Return a scene after many steps, and what was watched."""
    world = dynamics.scenes.get(name)(**options)
    watch = Watch(world)
    world.run(steps, callback=watch)
    watch.holds()
    assert world.info["steps_not_converged"] <= 0.05 * steps
    return world


@pytest.mark.parametrize("name", RATIOS)
def test_a_scene_begins_as_its_scenario(name):
    world = dynamics.scenes.get(name)()
    made = Mechanism(1e-8)
    PLACES[name](made, 0.0)
    same = np.delete(np.arange(world.bodies), MOVED.get(name, []))
    assert world.positions[same] == pytest.approx(made.positions()[same], abs=1e-12)
    assert world.masses == pytest.approx([part.mass for part in made.parts], rel=1e-12)
    assert world.masses.max() / world.masses.min() == pytest.approx(RATIOS[name], rel=0.01)
    assert len(world.joints) == sum(len(several) for several in made.joined.values())
    assert np.abs(world.velocities).max() == 0.0


@pytest.mark.parametrize("name", RATIOS)
def test_a_scene_stays_together(name):
    assert ran(name, 60).info["steps_not_converged"] == 0


def seen_from(world, body, other):
    """Return where the centre of another body is, as a body sees it."""
    w, *v = world.orientations[body]
    apart = world.positions[other] - world.positions[body]
    return apart - 2 * np.cross(v, w * apart - np.cross(v, apart))


@pytest.mark.slow
def test_an_offshore_crane_hoists_a_module_along_the_hull():
    world, slid = dynamics.scenes.offshore(), []
    module, watch = 54, Watch(world)

    def follow(world):
        watch(world)
        side = (world.contacts.bodies[:, 0] == 0) & (world.contacts.impulses[:, 0] > 0)
        normal, *friction = np.abs(world.contacts.impulses[side, :3].T)
        slid.append((np.maximum(*friction) > (1 - 1e-9) * normal).any())

    world.run(STEPS, callback=follow)
    watch.holds()
    assert sum(slid) > 10  # steps in which friction at the hull is at its bound
    assert world.joints.coordinates[69] == pytest.approx(4.0, abs=1e-6)  # of the sheave
    assert world.positions[module, 2] > -1.8 + 3.5
    assert np.abs(world.velocities[:, :3]).max() < 0.05
    side = (world.contacts.bodies == [0, module]).all(axis=1)
    assert world.contacts.impulses[side, 0].sum() > 0.0


@pytest.mark.slow
def test_a_forklift_turns_about_a_cone_with_its_crate():
    world = dynamics.scenes.forklift()
    watch, turned, last = Watch(world), [0.0], [0.0]
    cones, before = np.arange(42, 47), world.positions.copy()
    start = seen_from(world, 18, 39)

    def follow(world):
        watch(world)
        w, _, _, z = world.orientations[0]
        angle = 2 * np.arctan2(z, w)
        turned[0] += (angle - last[0] + np.pi) % (2 * np.pi) - np.pi
        last[0] = angle

    world.run(STEPS, callback=follow)
    watch.holds()
    assert turned[0] > 2 * np.pi
    assert np.hypot(*(world.positions[0, :2] - [0.4, 4.0])) == pytest.approx(4.0, abs=0.5)
    assert seen_from(world, 18, 39) == pytest.approx(start, abs=0.02)
    assert world.positions[39, 2] - before[39, 2] == pytest.approx(0.5, abs=0.02)
    assert world.positions[cones] == pytest.approx(before[cones], abs=1e-5)


@pytest.mark.slow
def test_a_vehicle_crosses_bumps_stairs_and_hills():
    world = ran("vehicle")
    assert world.positions[0, 0] == pytest.approx(2.5 * 20, rel=0.1)
    assert abs(world.positions[0, 1]) < 0.5
    cages, halves = np.arange(3, 35, 8), np.arange(5, 37, 8)
    spin = world.velocities[:, 4]
    assert (spin[halves] + spin[halves + 3]) / 2 == pytest.approx(spin[cages], rel=0.02)
    assert spin[cages] == pytest.approx(np.full(4, world.velocities[1, 3] / 4), rel=0.02)


@pytest.mark.slow
def test_a_crane_hoists_a_pipe_and_slews():
    world = ran("crane")
    pipe, legs = 12, np.arange(1, 5)
    assert world.positions[pipe, 2] > 0.7 + 0.8
    assert np.arctan2(*world.positions[pipe, 1::-1]) == pytest.approx(0.2, abs=0.05)
    assert world.positions[legs, 2] == pytest.approx(np.full(4, 0.6), abs=1e-4)


@pytest.mark.slow
def test_a_forwarder_holds_a_log():
    world = dynamics.scenes.forwarder()
    body, log, bunk = 20, 21, np.arange(5, 9)
    start, before = seen_from(world, body, log), world.positions.copy()
    watch = Watch(world)
    world.run(STEPS, callback=watch)
    watch.holds()
    assert world.positions[log, 2] > 2.0
    # The claws swing together, but the log slips neither out of them nor along its axis.
    slipped = seen_from(world, body, log) - start
    assert np.hypot(*slipped[[0, 2]]) < 0.15
    assert abs(slipped[1]) < 0.02
    assert world.positions[bunk] == pytest.approx(before[bunk], abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "compliance", "steps"),
    [("winch", 2e-7, STEPS), ("hoisted_chain", 1e-6, 840)],  # until the hoist is at the ground
)
def test_chains_stay_together_where_steps_pivot(name, compliance, steps):
    pivots = {"method": "bpp", "friction": "box", "contact_compliance": compliance * H**2}
    world = ran(name, steps, **pivots)
    assert (world.velocities[:, :3] ** 2).sum(axis=1).max() < 5.0**2
