"""S5's scenes as the library simulates them: cloths for figures 8 and 9, motions for 5 and 6.

In single precision, as S5, with its block SSOR in four parts. S5 gives neither material nor steps:
those are the scenes' own.
"""

from functools import lru_cache

import numpy as np
import published
from motions import Motion
from protocol import SINGLE, SSOR

import contactsolve as cs

_SCENES = {
    "1a": ("dress", {"version": "1a"}),
    "1b": ("dress", {"version": "1b"}),
    "2": ("ribbon", {}),
}
SCENES = tuple(_SCENES)


def cloth_of(scene, threads=None):
    """The cloth of a scene at its beginning."""
    name, parameters = _SCENES[scene]
    make = cs.cloth.scenes.get(name)
    return make(**parameters, dtype=SINGLE, M=SSOR, parts=published.PARTITIONS, threads=threads)


def times_of(scene, seconds=None):
    """Seconds to simulate, at most as many as are given, and the length of a step."""
    whole = cs.cloth.scenes.times(_SCENES[scene][0])
    return whole if seconds is None else whole._replace(seconds=min(seconds, whole.seconds))


@lru_cache(maxsize=len(SCENES))
def motion_of(scene, seconds=None):
    """The positions of a run, by the steps in which it was made."""
    cloth, (whole, h) = cloth_of(scene), times_of(scene, seconds)
    times, found = [0.0], [cloth.positions]

    def note(made):
        times.append(made.time)
        found.append(made.positions)

    cloth.run(whole, h, callback=note)
    (obstacle,) = cloth.obstacles

    # The frame of a time, within rounding; steps that were refused have shortened some.
    def cloth_at(t):
        return found[min(int(np.searchsorted(times, t - 1e-9)), len(found) - 1)]

    margin = cloth.collisions.thickness
    return Motion(whole, h, margin, cloth_at, np.array(cloth.faces), obstacle.at, obstacle.faces)
