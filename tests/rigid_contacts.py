"""Random contacts of rigid bodies, with frames and lever arms in any direction."""

import numpy as np

import contactsolve as cs


def rigid_problem(seed, kind, contacts=7, bodies=4, sets=None, loop=False):
    """A problem whose contacts can be compressed: "planar", "spheres" or "solids".

    With `loop` the first contact is between a body and itself.
    """
    rng = np.random.default_rng(seed)
    pairs = np.stack([rng.integers(0, bodies, contacts), rng.integers(-1, bodies, contacts)], 1)
    pairs[pairs[:, 0] == pairs[:, 1], 1] = -1
    if loop:
        pairs[0] = 0
    size = 2 if kind == "planar" else 3
    normal = rng.normal(size=(contacts, size))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    arms = rng.uniform(-0.5, 0.5, (contacts, 2, size))
    if kind == "planar":
        frame = np.stack([normal, np.stack([-normal[:, 1], normal[:, 0]], 1)], axis=1)
        turn = np.stack([-arms[..., 1], arms[..., 0]], axis=-1)
        angular = np.einsum("ksj,kij->ksi", turn, frame)[..., None]
        Minv = np.repeat(rng.uniform(0.5, 2, (bodies, 1)), 3, axis=1)
        Minv[:, 2] *= 4
    else:
        tangent = np.cross(normal, np.roll(normal, 1, axis=1))
        tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
        frame = np.stack([normal, tangent, np.cross(normal, tangent)], axis=1)
        angular = np.cross(arms[:, :, None], frame[:, None])
        Minv = np.zeros((bodies, 6, 6))
        Minv[:, range(3), range(3)] = rng.uniform(0.5, 2, (bodies, 1))
        root = np.eye(3) * 2.0
        if kind == "solids":
            root = root + 0.3 * rng.normal(size=(bodies, 3, 3))
        Minv[:, 3:, 3:] = root @ np.swapaxes(root, -1, -2)
    J = np.concatenate([np.broadcast_to(frame[:, None], (contacts, 2, size, size)), angular], -1)
    J = J * np.array([-1.0, 1.0])[:, None, None]
    b = rng.uniform(-0.2, 0.1, (contacts, size))
    if sets is not None:
        return cs.Problem(J, Minv, b, bodies=pairs, sets=sets)
    return cs.Problem(J, Minv, b, 0.5, bodies=pairs)
