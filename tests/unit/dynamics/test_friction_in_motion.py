"""Spin, discs that slide and spin, and rods that jam: motions under friction with a known end."""

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import dynamics

G = 9.81
MU, MASS, RADIUS = 0.3, 2.0, 0.1  # of the body that slides
POINT = 1e-6  # radius of a foot [m]; its arm changes velocities by 1e-9 at most


def on_feet(feet, material, *, velocity, inertia, **options):
    """Return a world with a body that stands on points, its centre of mass between them."""
    scene = dynamics.World(**{"max_iterations": 5000, **options})
    scene.add_fixed(dynamics.HalfSpace([0.0, 0.0, 1.0]), material=material)
    sliding, spin = velocity
    body = scene.add_body(
        [(dynamics.Sphere(POINT), [x, y, 0], None) for x, y in feet],
        [0, 0, POINT],
        mass=MASS,
        inertia=[inertia] * 3,
        velocity=[sliding, 0, 0, 0, 0, spin],
        material=material,
    )
    return scene, body


def uniform_disc():
    """The moment of inertia of a uniform disc about its axis."""
    return 0.5 * MASS * RADIUS**2


# ---- one round contact ---------------------------------------------------------------------------


def on_a_round_contact(law, *, velocity, **options):
    material = dynamics.Material(sets=law(MU, RADIUS))
    return on_feet([(0, 0)], material, velocity=velocity, inertia=uniform_disc(), **options)


def test_spin_and_sliding_stop_each_by_itself():
    """Without coupling, force μ m g and moment ⅔ μ a m g are constant until each motion ends.

    Sliding ends at v / (μ g) and spin at I ω / (⅔ μ a m g). S1 eqs. 2.35 to 2.37
    """
    sliding, spin, dt = 1.0, 20.0, 1e-3
    scene, body = on_a_round_contact(
        cs.sets.contensou, velocity=(sliding, spin), time_step=dt, rtol=1e-12
    )
    slowing, braking = MU * G, 2 / 3 * MU * RADIUS * MASS * G / uniform_disc()
    record = scene.run(600, record=("time", "velocities"))
    found, time = record["velocities"][:, body], record["time"]
    assert 0.3 < sliding / slowing < 0.4 < spin / braking < 0.55
    assert found[:, 0] == pytest.approx(np.maximum(0, sliding - slowing * time), abs=1e-8)
    assert found[:, 5] == pytest.approx(np.maximum(0, spin - braking * time), abs=1e-8)


@pytest.mark.parametrize("velocity", [(1.0, 5.0), (1.0, 20.0)])
def test_coupled_spin_slows_with_sliding_by_a_power(velocity):
    """v ∝ ω^(9/8) on a uniform disc, if force and moment lie in an ellipsoid.

    The largest dissipation is that of the force μ N v / s and of the moment μ N c² ω / s, where
    c = ⅔ a and s² = v² + c² ω². With I = ½ m a², dv/dω = I v / (m c² ω) = 9/8 v/ω (S1 section
    2.1.3). A step takes both at its end, v (1 + k) and ω (1 + 8/9 k) at its beginning, where
    k = μ g Δt / s: the exponent is off by 9/8 k / 18, at most 1.8e-4 for Δt = 1e-4 and v > 0.1 v₀.
    """
    scene, body = on_a_round_contact(
        cs.sets.contensou_coupled, velocity=velocity, time_step=1e-4, rtol=1e-10
    )
    found = [scene.velocities[body, [0, 5]]]
    while found[-1][0] > 0.1 * velocity[0]:
        scene.step()
        found.append(scene.velocities[body, [0, 5]])
    logarithms = np.log(found)
    local = np.diff(logarithms[:, 0]) / np.diff(logarithms[:, 1])
    assert len(local) > 1000
    assert np.abs(local - 9 / 8).max() <= 1e-3
    assert scene.info["steps_not_converged"] == 0


# ---- many points under Tresca friction -----------------------------------------------------------


def final_ratio(feet, inertia, ratio):
    """v / (a ω) of a body on `feet`, where 1 % of its velocity v is left.

    Every foot carries the same friction, μ m g over their number, however the weight is divided.
    """
    dt, sliding = 1e-3, 1.0
    material = dynamics.Material(sets=cs.sets.tresca(MU * MASS * G * dt / len(feet)), rows=3)
    scene, body = on_feet(
        feet,
        material,
        velocity=(sliding, sliding / (RADIUS * ratio)),
        inertia=inertia,
        time_step=dt,
        method="gauss_seidel",
        rtol=1e-8,
    )
    while scene.velocities[body, 0] > 0.01 * sliding:
        scene.step()
    assert len(scene.contacts.gaps) == len(feet)
    assert scene.info["steps_not_converged"] == 0
    velocity = scene.velocities[body]
    return velocity[0] / (RADIUS * velocity[5])


@pytest.mark.parametrize("ratio", [0.7, 1.5])
def test_a_ring_ends_sliding_as_fast_as_it_spins(ratio):
    """v / (a ω) → 1, from below and from above.

    Farkas, Bartels, Unger & Wolf, Phys. Rev. Lett. 90 (2003) 248302; Weidman & Malhotra, Phys.
    Rev. Lett. 95 (2005) 264303. With I = m a², dv/dt = -μ g F and a dω/dt = -μ g T, where F and T
    are the means of the force along v and along the ring. A point at the angle φ has the velocity
    v - a ω sin φ along v and a ω - v sin φ along the ring: for v = a ω these are equal, and F = T.
    """
    angle = 2 * np.pi * np.arange(200) / 200
    feet = RADIUS * np.column_stack([np.cos(angle), np.sin(angle)])
    assert final_ratio(feet, MASS * RADIUS**2, ratio) == pytest.approx(1.0, abs=1e-3)


def disc_ratio():
    """The v / (a ω) of a uniform disc that stays as it is.

    With ε = v / (a ω), the means over the disc of the force along v and of the moment over a,
    F(ε) and T(ε), change v by -μ g F and a ω by -2 μ g T, since I = ½ m a²: F = 2 ε T there.
    """
    radius, angle = np.sqrt(np.arange(1, 600, 2) / 600), 2 * np.pi * (np.arange(180) + 0.5) / 180
    x, y = radius[:, None] * np.cos(angle), radius[:, None] * np.sin(angle)

    def change(ratio):
        along, across = ratio - y, x
        speed = np.hypot(along, across)
        return np.mean(along / speed) - 2 * ratio * np.mean((across * x - along * y) / speed)

    low, high = 0.3, 1.5
    for _ in range(20):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if change(middle) * change(high) > 0 else (middle, high)
    return low


@pytest.mark.parametrize("ratio", [0.4, 1.5])
def test_a_disc_ends_sliding_slower_than_it_spins(ratio):
    """v / (a ω) → 0.653 for uniform pressure (Farkas et al. 2003, as above)."""
    assert disc_ratio() == pytest.approx(0.653, abs=1e-3)
    number = np.arange(200) + 0.5
    angle = number * np.pi * (3 - np.sqrt(5))  # even areas, on Vogel's spiral
    feet = np.column_stack([np.cos(angle), np.sin(angle)]) * RADIUS * np.sqrt(number / 200)[:, None]
    found = final_ratio(feet - feet.mean(axis=0), uniform_disc(), ratio)
    assert found == pytest.approx(0.653, abs=0.05)


# ---- Painlevé's rod ------------------------------------------------------------------------------

SOLVERS = {
    "bpp": {"method": "bpp"},
    "lemke": {"method": "lemke"},
    "interior_point": {"method": "interior_point"},
    "block": {"method": "gauss_seidel", "local": "block"},
}


def push_of_a_rod(mu, dt, **options):
    """The impulse of the ground on a rod of 1 kg that slides on its lower end at 1 m/s.

    It leans by θ with tan θ = 2 and slides towards the side of its lower end: friction turns the
    rod into the ground.
    """
    angle, half = np.arctan(2.0), 0.5
    scene = dynamics.World(2, time_step=dt, rtol=1e-5, max_iterations=2000, **options)
    material = dynamics.Material(mu)
    scene.add_fixed(dynamics.HalfSpace([0.0, 1.0]), material=material)
    scene.add_body(
        dynamics.Segment(half),
        [0, half * np.sin(angle)],
        orientation=angle,
        mass=1.0,
        inertia=half**2 / 3,
        velocity=[-1.0, 0, 0],
        material=material,
    )
    scene.step()
    assert scene.info["status"] == "converged"
    assert scene.problem().contacts == 1
    return scene.contacts.impulses[0, 0]


@pytest.mark.parametrize("options", SOLVERS.values(), ids=SOLVERS)
def test_a_jamming_rod_has_an_impact_without_a_collision(options):
    """λ_n → ¾ m v₀ sin θ cos θ as Δt → 0 above μ_P = (1 + 3cos²θ) / (3 sin θ cos θ) = 4/3.

    Of the lower end, A_nn = (1 + 3cos²θ) / m, A_nt = 3 sin θ cos θ / m and A_tt = (1 + 3sin²θ) / m.
    A sliding end has λ_t = -μ λ_n, so that A_nn λ_n + A_nt λ_t = g Δt has no solution λ_n >= 0 for
    μ > μ_P. The end sticks: λ solves both rows of A λ = (g Δt, -v₀), whose determinant is 4/m².
    Below μ_P, λ_n = g Δt / (A_nn - μ A_nt) vanishes with Δt. Painlevé 1895; Génot & Brogliato 1999
    """
    sine, cosine = 2 / np.sqrt(5), 1 / np.sqrt(5)
    limit = 0.75 * sine * cosine
    assert (1 + 3 * cosine**2) / (3 * sine * cosine) == pytest.approx(4 / 3)
    for dt in (1e-3, 1e-4, 1e-5, 1e-6):
        jammed = push_of_a_rod(1.5, dt, **options)
        assert jammed == pytest.approx(limit + 3.4 / 4 * G * dt, rel=1e-5)
        sliding = push_of_a_rod(1.2, dt, **options)
        assert sliding == pytest.approx(G * dt / (1.6 - 1.2 * 1.2), rel=2e-5)
    assert jammed == pytest.approx(limit, abs=1e-5)
    assert sliding < 1e-4


# ---- penetration ---------------------------------------------------------------------------------


@pytest.mark.parametrize("restitution", [0.0, 0.7])
@pytest.mark.parametrize("dt", [1e-2, 1e-3])
def test_balls_penetrate_by_the_way_of_one_step_at_most(restitution, dt):
    """A contact opens or closes between midpoints of steps, which are Δt v apart.

    At the last midpoint before an impact the gap is above the activation distance, so that at the
    next one it is above that minus Δt v; and from there the ball does not go deeper. Of many balls
    some come near this bound: it is twice what a step that closes at its end would allow.
    """
    radius, activation, count = 0.1, 1e-6, 200
    scene = dynamics.World(time_step=dt, activation=activation, rtol=1e-12)
    material = dynamics.Material(0.0, restitution)
    scene.add_fixed(dynamics.HalfSpace([0.0, 0.0, 1.0]), material=material)
    places = np.zeros((count, 3))
    places[:, 0] = np.arange(count)
    places[:, 2] = radius + np.random.default_rng(4).uniform(0.2, 0.6, count)
    speed = np.sqrt(2 * G * (places[:, 2] - radius)) + G * dt
    balls = scene.add_bodies(dynamics.Sphere(radius), places, density=1000.0, material=material)
    depth = np.zeros(count)
    for _ in range(int(0.6 / dt)):
        scene.step()
        depth = np.maximum(depth, radius - scene.positions[balls, 2])
        np.maximum.at(depth, scene.contacts.bodies.max(axis=1), -scene.contacts.gaps)
    assert (depth <= dt * speed + activation).all()
    assert (depth / (dt * speed)).max() > 0.8
