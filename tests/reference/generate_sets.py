"""Writes sets.json: nearest points of the friction sets, in 60 digits, by methods of their own.

    pip install mpmath && python tests/reference/generate_sets.py

Ellipses by bisection of the multiplier in S1 eq. 2.45, polygons by the smallest distance to all
edges, the cone by projection on its side. Numbers of the cases "narrow" are exact in float32 too.
"""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path

from mpmath import mp, mpf

mp.dps = 60
HERE = Path(__file__).resolve().parent


def narrow(value: float) -> float:
    """The nearest float32."""
    return struct.unpack("f", struct.pack("f", value))[0]


# ---- nearest points -----------------------------------------------------------------------------


def on_axes(first: mpf, second: mpf, x: mpf, y: mpf) -> tuple[mpf, mpf]:
    """Nearest point of the ellipse with these semi-axes to (x, y), both not negative."""
    if first == 0 or second == 0:
        return min(x, first), min(y, second)
    if (x / first) ** 2 + (y / second) ** 2 <= 1:
        return x, y

    def excess(t: mpf) -> mpf:
        return (first * x / (t + first**2)) ** 2 + (second * y / (t + second**2)) ** 2 - 1

    low, high = mpf(0), first * x + second * y + first**2 + second**2
    for _ in range(2000):
        middle = (low + high) / 2
        # From far away the root is found faster between the exponents.
        if low > 0 and high > 4 * low:
            middle = mp.sqrt(low * high)
        elif low == 0:
            middle = high * mpf(10) ** -8
        if middle <= mpf(10) ** -700:
            break
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
        if high - low <= mpf(10) ** -55 * high:
            break
    return first**2 * x / (high + first**2), second**2 * y / (high + second**2)


def ellipse(mu1: float, mu2: float, angle: float, z: list[float]) -> list[mpf]:
    """The nearest point for a normal impulse z[0]."""
    normal = mp.mpf(max(z[0], 0.0))
    c, s = mp.cos(mpf(angle)), mp.sin(mpf(angle))
    along, across = c * mpf(z[1]) + s * mpf(z[2]), c * mpf(z[2]) - s * mpf(z[1])
    x, y = on_axes(mpf(mu1) * normal, mpf(mu2) * normal, abs(along), abs(across))
    x, y = x * mp.sign(along), y * mp.sign(across)
    return [normal, c * x - s * y, s * x + c * y]


def polygon(mu: float, vertices: list[list[float]], z: list[float]) -> list[mpf]:
    """The nearest point of the polygon by the distances to all of its edges."""
    normal = mpf(max(z[0], 0.0))
    scale = mpf(mu) * normal
    corners = [[scale * mpf(v) for v in vertex] for vertex in vertices]
    point = [mpf(z[1]), mpf(z[2])]
    edges = list(zip(corners, corners[1:] + corners[:1], strict=True))
    sides = [
        (q[0] - p[0]) * (point[1] - p[1]) - (q[1] - p[1]) * (point[0] - p[0]) for p, q in edges
    ]
    if scale > 0 and (all(side >= 0 for side in sides) or all(side <= 0 for side in sides)):
        return [normal, *point]
    best, nearest = mp.inf, point
    for p, q in edges:
        along = [q[0] - p[0], q[1] - p[1]]
        square = along[0] ** 2 + along[1] ** 2
        part = mpf(0)
        if square > 0:
            part = ((point[0] - p[0]) * along[0] + (point[1] - p[1]) * along[1]) / square
            part = min(max(part, mpf(0)), mpf(1))
        candidate = [p[0] + part * along[0], p[1] + part * along[1]]
        distance = (candidate[0] - point[0]) ** 2 + (candidate[1] - point[1]) ** 2
        if distance < best:
            best, nearest = distance, candidate
    return [normal, *nearest]


def cone(mu: float, z: list[float]) -> list[mpf]:
    """Inside, in the polar cone, or at the foot of the perpendicular on the cone's side."""
    normal, tangents = mpf(z[0]), [mpf(v) for v in z[1:]]
    length = mp.sqrt(sum(v**2 for v in tangents))
    if normal >= 0 and length <= mpf(mu) * normal:
        return [normal, *tangents]
    side = [mpf(1), mpf(mu)]
    foot = (normal * side[0] + length * side[1]) / (side[0] ** 2 + side[1] ** 2)
    if foot <= 0:
        return [mpf(0) for _ in z]
    return [foot, *(v / length * mpf(mu) * foot for v in tangents)]


def contensou(mu: float, radius: float, z: list[float]) -> list[mpf]:
    """The ellipsoid in the plane of the tangential impulse and the spin axis."""
    normal = mpf(max(z[0], 0.0))
    length = mp.sqrt(mpf(z[1]) ** 2 + mpf(z[2]) ** 2)
    sliding = mpf(mu) * normal
    x, y = on_axes(sliding, sliding * mpf(radius) * 2 / 3, length, abs(mpf(z[3])))
    part = x / length if length > 0 else mpf(1)
    return [normal, part * mpf(z[1]), part * mpf(z[2]), y * mp.sign(mpf(z[3]))]


# ---- cases --------------------------------------------------------------------------------------


def sizes(rng: random.Random, decades: float) -> float:
    return 10.0 ** rng.uniform(-decades, decades)


def impulse(rng: random.Random, rows: int, kind: int, decades: float) -> list[float]:
    """A normal impulse, and tangents of the same size, much larger ones, or some on an axis."""
    normal = sizes(rng, decades)
    spread = (1.0, 1e3, 1e-2, 1e12)[kind % 4]
    z = [normal, *(rng.gauss(0, 1) * normal * spread for _ in range(rows - 1))]
    if kind % 7 == 1:
        z[rng.randrange(1, rows)] = 0.0
    if kind % 11 == 2:
        z[0] = rng.choice([0.0, -normal])
    return z


def rounded(case: dict, exact: bool) -> dict:
    """Every number of a case as a float32, where asked for."""

    def each(value):
        if isinstance(value, list):
            return [each(one) for one in value]
        return narrow(value) if exact else value

    return {name: each(value) for name, value in case.items()}


def cases(rng: random.Random) -> dict[str, list[dict]]:
    made: dict[str, list[dict]] = {name: [] for name in SOLUTIONS}
    for i in range(150):
        wide = i % 5 == 4
        decades = 120.0 if wide else 6.0
        ratio = 10.0 ** rng.choice([0, -1, 1, -3, 5, -8, 8])
        mu1 = rng.uniform(0.05, 1.2) * (10.0 ** -rng.choice([0, 0, 4, 8]))
        mu2 = min(mu1 * ratio, 1e6)
        if i % 13 == 3:
            mu1 = 0.0
        if i % 13 == 5:
            mu2 = 0.0
        angle = rng.choice([0.0, 0.0, rng.uniform(-4, 4), narrow(mp.pi / 4)])
        case = {"mu1": mu1, "mu2": mu2, "angle": angle, "z": impulse(rng, 3, i, decades)}
        made["ellipse"].append({"narrow": not wide, **rounded(case, not wide)})
    for i in range(100):
        sides = rng.randrange(3, 9)
        turns = sorted(rng.uniform(0, 6.283185307179586) for _ in range(sides))
        if (
            max(
                b - a
                for a, b in zip(turns, [*turns[1:], turns[0] + 6.283185307179586], strict=True)
            )
            > 3.0
        ):
            turns = [6.283185307179586 * (j + 0.3) / sides for j in range(sides)]
        stretch = 10.0 ** rng.choice([0, 0, -2, 1])
        vertices = [[narrow(float(mp.cos(t))), narrow(stretch * float(mp.sin(t)))] for t in turns]
        if i % 2:
            vertices.reverse()
        # The largest spread leaves two digits of a foot on an edge: float64 cannot do better.
        case = {"mu": rng.uniform(0.1, 1.0), "vertices": vertices}
        case["z"] = impulse(rng, 3, (i % 3) + 4 * (i % 7), 6.0)
        made["polygon"].append({"narrow": True, **rounded(case, True)})
    for i in range(80):
        wide = i % 5 == 4
        mu = rng.choice([0.0, 1e-4, 0.3, 0.7, 20.0, 1e5])
        z = impulse(rng, 2 + i % 2, i, 120.0 if wide else 6.0)
        z[0] *= rng.choice([1, -1])
        made["second_order_cone"].append(
            {"narrow": not wide, **rounded({"mu": mu, "z": z}, not wide)}
        )
    for i in range(80):
        case = {"mu": rng.uniform(0.1, 1.2), "radius": 10.0 ** rng.uniform(-6, 3)}
        case["z"] = impulse(rng, 4, i, 6.0)
        if i % 9 == 4:
            case["radius"] = 0.0
        made["contensou_coupled"].append({"narrow": True, **rounded(case, True)})
    return made


SOLUTIONS = {
    "ellipse": ellipse,
    "polygon": polygon,
    "second_order_cone": cone,
    "contensou_coupled": contensou,
}


def main() -> None:
    made = cases(random.Random(20240))
    for name, solution in SOLUTIONS.items():
        for case in made[name]:
            values = {key: value for key, value in case.items() if key != "narrow"}
            case["nearest"] = [float(value) for value in solution(**values)]
    lines = [
        f'"{name}": [\n' + ",\n".join(json.dumps(case) for case in listed) + "\n]"
        for name, listed in made.items()
    ]
    (HERE / "sets.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
