"""The emulated device, for tests: they are left out where it is not built.

With ``CONTACTSOLVE_TEST_DEVICE=cuda`` they run on a GPU, without what only emulation can do.
"""

import os
from contextlib import contextmanager

import numpy as np
import pytest

import contactsolve as cs

DEVICE = os.environ.get("CONTACTSOLVE_TEST_DEVICE", "cuda-emulated")
EMULATED = {"device": DEVICE}
# Turns of emulated threads; a GPU has its own, which are others every time.
TURNS = ("forward", "reverse", "random") if DEVICE == "cuda-emulated" else ("forward",) * 3
# Sets whose prox calls functions that a GPU's library rounds in its own way (hypot, sine, pow); the
# emulation calls those of the processor.
_CALLING = ("ellipse", "polygon", "contensou_coupled", "second_order_cone", "support")
ROUNDED = _CALLING if DEVICE == "cuda" else ()
HARMLESS = ("set_order", "set_resident")  # what has no effect on a GPU


class Hardware:
    """The module of GPUs; a test that sets what only emulation has is skipped."""

    def __init__(self, module):
        self.module = module

    def __getattr__(self, name):
        if name in HARMLESS:
            return lambda *_: None
        if not hasattr(self.module, name):
            pytest.skip(f"{name} is of emulation only")
        return getattr(self.module, name)


if DEVICE == "cuda-emulated":
    kernels = pytest.importorskip(
        "contactsolve._cuda_emulated",
        reason="built with CONTACTSOLVE_CUDA=emu only",
        exc_type=ImportError,
    )
else:
    cs.cuda.devices()
    kernels = Hardware(pytest.importorskip("contactsolve._cuda"))


@contextmanager
def turns(name, seed=1):
    """Emulated threads of solvers made inside run in this order."""
    kernels.set_order(name, seed)
    try:
        yield
    finally:
        kernels.set_order("forward", 1)


@contextmanager
def resident(blocks):
    """Launches of solvers made inside have at most so many blocks that run together."""
    kernels.set_resident(blocks)
    try:
        yield
    finally:
        kernels.set_resident(3)


@contextmanager
def loss(launch):
    """Queues made inside lose their device with this launch."""
    kernels.lose_device(launch)
    try:
        yield
    finally:
        kernels.lose_device(0)


@contextmanager
def lost_capture(number):
    """Another thread ends this capture, counted from 1, of solvers made inside: it is no graph."""
    kernels.lose_capture(number)
    try:
        yield
    finally:
        kernels.lose_capture(0)


@contextmanager
def lost_write(number):
    """Launches of solvers made inside lose this write of those that others wait for."""
    kernels.lose_write(number)
    try:
        yield
    finally:
        kernels.lose_write(0)


@contextmanager
def shared(size):
    """Blocks of solvers made inside may share so many bytes."""
    kernels.set_shared(size)
    try:
        yield
    finally:
        kernels.set_shared(227 << 10)


@contextmanager
def threads(most):
    """Kernels of solvers made inside have registers for blocks of so many threads."""
    kernels.set_threads(most)
    try:
        yield
    finally:
        kernels.set_threads(1024)


@contextmanager
def memory(size):
    """Devices of solvers made inside have so many bytes."""
    kernels.set_memory(size)
    try:
        yield
    finally:
        kernels.set_memory(2**64 - 1)


def kernels_of(task):
    """How many emulated kernels a task runs, those of graphs included."""
    before = kernels.kernels_run()
    task()
    return kernels.kernels_run() - before


def islands(count):
    """The same pile of spheres several times."""
    pile = cs.scenarios.ball_grid(3)
    bodies = [np.where(pile.bodies >= 0, pile.bodies + i * 27, -1) for i in range(count)]
    return cs.Problem(
        np.concatenate([pile.J] * count),
        np.concatenate([pile.Minv] * count),
        np.concatenate([pile.b] * count),
        np.tile(pile.mu, count),
        bodies=np.concatenate(bodies),
    )


def two_sets(problem, second):
    """The first half of a problem's contacts with discs, the others with another set."""
    half = problem.contacts // 2
    groups = [
        cs.Group(problem.J[part], problem.bodies[part], problem.b[part], sets=sets)
        for part, sets in ((slice(half), cs.sets.disc(0.3)), (slice(half, None), second))
    ]
    return cs.Problem(groups=groups, bodies=[cs.Bodies(problem.Minv)])


def swept(problem, way, sweeps, **options):
    """The result of so many sweeps by a way of the device, or "cpu".

    `record_every` tells how many of them a call makes.
    """
    options = {
        "rtol": None,
        "max_iterations": sweeps,
        "record": ("residual", "merit"),
        "record_every": sweeps,
        **options,
    }
    device = {} if way == "cpu" else {**EMULATED, "device_sweeps": way}
    solver = cs.Solver(problem, **device, **options)
    if device:
        assert solver.info["kernel"].endswith(f", {way}")
    return solver.solve()


def same_bits(one, two):
    """Two results have the same impulses, iterations and residuals of each iteration."""
    np.testing.assert_array_equal(one.impulses, two.impulses)
    assert one.iterations == two.iterations
    np.testing.assert_array_equal(one.history["residual"], two.history["residual"])


def same_history(one, two):
    """The merits have the same bits as well."""
    same_bits(one, two)
    np.testing.assert_array_equal(one.history["merit"], two.history["merit"])


def rolled_back_alike(here, there):
    """Both results have rolled back as often, and have the same bits."""
    assert here.info["rollbacks"] > 0
    assert there.info["rollbacks"] == here.info["rollbacks"]
    same_bits(here, there)


def on_both(problem, sweeps=30, here=None, **options):
    """Results of so many sweeps on the processor, with `here`, and on the emulated device."""
    options = {"rtol": None, "max_iterations": sweeps, "record": ("residual",), **options}
    return (
        cs.Solver(problem, **options, **(here or {})).solve(),
        cs.Solver(problem, **options, **EMULATED).solve(),
    )
