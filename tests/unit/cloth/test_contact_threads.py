"""Sweeps over contacts by colours: bits on threads, and contacts without a colour."""

import numpy as np
import pytest

import contactsolve as cs
from contactsolve.cloth import scenes

SHARED = 2048  # contacts from which threads share sweeps
COLORS = 64


def falling(threads):
    """Layers that lie on each other; each falls faster than the one below, and turns."""
    layers = 8
    still = scenes.stack(layers, gap=2e-4).positions
    velocities = np.zeros_like(still)
    velocities[:, 2] = -np.repeat(np.arange(layers), len(still) // layers) * (1 + 5 * still[:, 0])
    return scenes.stack(layers, gap=2e-4, threads=threads, velocities=velocities)


@pytest.fixture(scope="module")
def alone():
    cloth = falling(1)
    impacts = 0
    for _ in range(3):
        cloth.step(5e-3)
        told = cloth.info
        impacts += told["impacts"]
        assert told["contacts"] > SHARED
    assert impacts > 100
    return cloth


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_share_sweeps_with_the_same_bits(alone, threads):
    cloth = falling(threads)
    for _ in range(3):
        cloth.step(5e-3)
    assert np.array_equal(cloth.positions, alone.positions)
    assert np.array_equal(cloth.velocities, alone.velocities)
    assert np.array_equal(cloth.contacts.impulses, alone.contacts.impulses)


def on_a_bed(side, threads):
    """A coarse sheet on the vertices of a fine mesh."""
    bed, faces = cs.cloth.sheet(side, side, 0.28)
    bed += [0.01, 0.01, 0.0]
    vertices, coarse = cs.cloth.sheet(3, 3, 0.3)
    vertices[:, 2] = 2e-3
    return cs.cloth.Cloth(
        vertices,
        coarse,
        density=0.2,
        young=300.0,
        bending=1e-4,
        damping=0.01,
        threads=threads,
        collisions=cs.cloth.Collisions(2e-3, mu=0.3),
        obstacles=[cs.cloth.Obstacle(bed, faces)],
    )


def test_contacts_beyond_the_colors_of_a_vertex():
    """They share their vertices, and carry the weight together."""
    cloth = on_a_bed(24, 1)
    impulses = []
    for n in range(60):
        cloth.step(5e-3)
        if n >= 40:
            impulses.append(cloth.info["obstacle_impulses"][0, 2])
    vertices = np.asarray(cloth.contacts.vertices)
    at = np.bincount(vertices[vertices < len(cloth.positions)])
    assert at.max() > 2 * COLORS
    assert np.mean(impulses) == pytest.approx(0.2 * 0.09 * 9.81 * 5e-3, rel=1e-2)
    assert cloth.positions[:, 2].min() > 1.5e-3
    assert np.abs(cloth.velocities).max() < 1e-2


def test_contacts_without_a_color_have_the_same_bits_on_threads():
    runs = [on_a_bed(56, threads) for threads in (1, 2)]
    for cloth in runs:
        for _ in range(3):
            cloth.step(5e-3)
        assert cloth.info["contacts"] > SHARED
    assert np.array_equal(runs[0].positions, runs[1].positions)
    assert np.array_equal(runs[0].contacts.impulses, runs[1].contacts.impulses)
