"""A run of cloth in contact has the bits of earlier versions, on each instruction set.

AVX2 and AVX-512 have the same bits; without either, products are rounded before they are added. A
change that is to change results changes the hashes: the failing test shows the new ones.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

import contactsolve as cs

RUN = """
import hashlib
import sys

import numpy as np

import contactsolve as cs

# A sheet hangs from a corner over a ridge that rises in steps. Nothing here calls a function that
# libraries round in their own ways.
dtype, k = sys.argv[1:]
vertices, faces = cs.cloth.sheet(13, 15, (0.6, 0.7))
vertices[:, 2] = 0.08 + 0.1 * np.abs(vertices[:, 0])
wedge = [[-1, -1, -0.1], [1, -1, -0.1], [1, 2, 0.1], [-1, 2, 0.1]]
wedge += [[-0.2, 0.3, 0.06], [0.5, 0.3, 0.06]]
ground = cs.cloth.Obstacle(
    wedge,
    [[0, 1, 5], [1, 2, 5], [2, 3, 4], [3, 0, 4], [0, 5, 4], [2, 4, 5]],
    motion=lambda t: np.add(wedge, [0, 0, 0.002 * np.floor(20 * t)]),
)
cloth = cs.cloth.Cloth(
    vertices, faces, density=0.2, young=200.0, damping=0.01, attach=[0], dtype=dtype,
    M="block_ssor", collisions=cs.cloth.Collisions(4e-3, mu=0.3, k=int(k)), obstacles=[ground],
    threads=1, velocities=np.tile([0.5, 0, -4.0], (len(vertices), 1)),
)
impacts = 0
for _ in range(30):
    cloth.step(0.01)
    impacts += cloth.info["impacts"]
assert cloth.info["free"] and cloth.info["contacts"] > 20 and impacts > 20
print(hashlib.sha256(cloth.positions.tobytes() + cloth.velocities.tobytes()).hexdigest()[:16])
"""

HASHES = {
    ("baseline", "float64", 6): "fb106679c8392aed",
    ("baseline", "float32", 18): "bdfbbd8b4ea02ebe",
    ("avx2", "float64", 6): "706ba65496b5df56",
    ("avx2", "float32", 18): "8ca057526d2c02f2",
    ("avx512", "float64", 6): "706ba65496b5df56",
    ("avx512", "float32", 18): "8ca057526d2c02f2",
}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the hashes are those of x86-64")
@pytest.mark.parametrize("case", HASHES, ids=lambda case: "-".join(map(str, case)))
def test_the_bits_are_those_of_earlier_versions(case, tmp_path):
    instructions, dtype, k = case
    if not cs.info()["instructions"][instructions]:
        pytest.skip(f"this machine does not run {instructions}")
    command = [sys.executable, "-c", RUN, dtype, str(k)]
    environment = os.environ | {"CONTACTSOLVE_INSTRUCTIONS": instructions}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == HASHES[case]
