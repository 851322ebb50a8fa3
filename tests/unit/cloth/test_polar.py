"""Rotations of deformation gradients by singular values, against SciPy down to rank 1."""

import numpy as np
import pytest
from scipy.linalg import polar

from contactsolve import _core

EPS = np.finfo(float).eps


def gradients(count, seed=0):
    """Matrices (count, 3, 2) whose second singular value falls to 0; every tenth has rank 1."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(count, 3, 2)))[0]
    angle = rng.uniform(0, 2 * np.pi, count)
    c, s = np.cos(angle), np.sin(angle)
    axes = np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2)
    ratio = 10.0 ** rng.uniform(-17, 0, count)
    ratio[::7] = 1.0
    large = 10.0 ** rng.uniform(-3, 3, count)
    f = np.einsum("nik,nk,njk->nij", Q, np.stack([large, large * ratio], -1), axes)
    f[::10, :, 1] = f[::10, :, 0] * rng.integers(-2, 3, len(f[::10]))[:, None]
    return f


def decompose(f):
    R, stretch = _core.polar(f)
    return R.reshape(-1, 3, 2), stretch.reshape(-1, 2, 2)


def holds_to_rounding(f):
    R, stretch = decompose(f)
    size = np.linalg.norm(f, axis=(1, 2))
    assert np.abs(R.transpose(0, 2, 1) @ R - np.eye(2)).max() <= 8 * EPS
    assert (np.abs(R @ stretch - f).max(axis=(1, 2)) <= 8 * EPS * size).all()
    assert (np.abs(stretch[:, 0, 1] - stretch[:, 1, 0]) <= EPS * size).all()
    assert (np.linalg.eigvalsh(stretch)[:, 0] >= -4 * EPS * size).all()
    return R, stretch, size


def agrees_with_scipy(f):
    """stretch is as well conditioned as f; R only as its second singular value allows."""
    R, stretch, size = holds_to_rounding(f)
    wanted = [polar(one) for one in f]
    apart = np.abs(stretch - np.array([stretch for _, stretch in wanted])).max(axis=(1, 2))
    assert (apart <= 10 * EPS * size).all()
    turned = np.abs(R - np.array([rotation for rotation, _ in wanted])).max(axis=(1, 2))
    least = np.linalg.svd(f, compute_uv=False)[:, 1]
    assert (turned * least <= 10 * EPS * size).all()


def test_against_scipy():
    agrees_with_scipy(gradients(100_000))


@pytest.mark.slow
def test_against_scipy_more_often():
    for seed in range(1, 11):
        agrees_with_scipy(gradients(100_000, seed))


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_extreme_sizes(scale):
    R, stretch = decompose(scale * gradients(1000))
    wanted = decompose(gradients(1000))
    assert np.abs(stretch / scale - wanted[1]).max() <= 1e-12 * np.abs(wanted[1]).max()
    assert np.abs(R.transpose(0, 2, 1) @ R - np.eye(2)).max() <= 8 * EPS


def test_special_matrices():
    f = np.zeros((6, 3, 2))
    f[1, 0, 0] = f[1, 1, 1] = 1  # the identity
    f[2, 2, 0] = -1  # a column of zeros
    f[3, 1, 1] = 2
    f[4, :, 0], f[4, :, 1] = [-3, 0, 0], [-3, 0, 0]  # equal columns, along the reflected axis
    f[5, :, 0], f[5, :, 1] = [0, 0, 1], [0, 1, 0]
    R, stretch, _ = holds_to_rounding(f)
    assert np.array_equal(stretch[0], np.zeros((2, 2)))
    assert np.array_equal(R[1], f[1])
    assert np.array_equal(stretch[1], np.eye(2))
    assert np.array_equal(R[5], f[5])
