"""The first contact of two primitives in motion, in whole numbers: the judge of `cs.bvh.ccd`.

The Minkowski difference of the primitives is a polygon whose corners move along straight lines.
They touch where it contains the origin: at a root of the determinant of three corners, with the
origin on the inner side of all edges; or where an edge passes through the origin. Roots are
isolated by Sturm sequences, and signs of polynomials at them are exact, by common divisors.

Polynomials are lists of integers, the constant first, without zeros at the end.
"""

from fractions import Fraction
from itertools import pairwise
from math import gcd

CORNERS = {
    "vertex_face": ((0, 1), (0, 2), (0, 3)),
    "edge_edge": ((0, 2), (1, 2), (1, 3), (0, 3)),
}
BITS = 70  # of the time of a root


# ---- polynomials --------------------------------------------------------------------------------


def trimmed(p):
    while p and p[-1] == 0:
        p = p[:-1]
    return p


def add(p, q, sign=1):
    if len(p) < len(q):
        p = p + [0] * (len(q) - len(p))
    return trimmed([a + sign * (q[i] if i < len(q) else 0) for i, a in enumerate(p)])


def multiply(p, q):
    product = [0] * (len(p) + len(q) - 1) if p and q else []
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            product[i + j] += a * b
    return trimmed(product)


def derivative(p):
    return [i * a for i, a in enumerate(p)][1:]


def primitive(p):
    """Return p over the greatest divisor of its coefficients."""
    divisor = gcd(*p) if p else 1
    return [a // divisor for a in p]


def remainder(p, q):
    """Return a positive multiple of the remainder of p / q."""
    p = list(p)
    while len(p) >= len(q):
        factor, shift = p[-1], len(p) - len(q)
        p = [abs(q[-1]) * a for a in p]
        for i, b in enumerate(q):
            p[shift + i] -= (factor if q[-1] > 0 else -factor) * b
        p = trimmed(p)
    return primitive(p)


def common(p, q):
    """Return the greatest common divisor, up to a factor."""
    while q:
        p, q = q, remainder(p, q)
    return primitive(p)


def quotient(p, q):
    """Return p / q, up to a factor: q is primitive and a divisor, so that it is whole (Gauss)."""
    rest = primitive(p)
    found = [0] * (len(p) - len(q) + 1)
    for i in reversed(range(len(found))):
        found[i] = rest[i + len(q) - 1] // q[-1]
        for j, b in enumerate(q):
            rest[i + j] -= found[i] * b
    assert not any(rest)
    return found


def sign_at(p, numerator, bits):
    """Return the sign of p at numerator / 2^bits."""
    value = 0
    for power, a in enumerate(reversed(p)):
        value = value * numerator + (a << (bits * power))
    return (value > 0) - (value < 0)


# ---- roots --------------------------------------------------------------------------------------


def sturm_sequence(p):
    sequence = [p, derivative(p)]
    while sequence[-1]:
        sequence.append([-a for a in remainder(sequence[-2], sequence[-1])])
    return sequence[:-1]


def changes(sequence, numerator, bits):
    signs = [sign for sign in (sign_at(p, numerator, bits) for p in sequence) if sign]
    return sum(a != b for a, b in pairwise(signs))


def has_none_in_unit(p):
    """Whether the coefficients in the basis of Bernstein show that p has no root in [0, 1]."""
    n = len(p) - 1
    binomial = [[1]]
    for i in range(n):
        row = binomial[-1]
        binomial.append([1, *(a + b for a, b in pairwise(row)), 1][: i + 2])
    scale = 1
    for b in binomial[n]:
        scale = scale * b // gcd(scale, b)
    coefficients = [
        sum(binomial[i][j] * (scale // binomial[n][j]) * p[j] for j in range(i + 1))
        for i in range(n + 1)
    ]
    return all(c > 0 for c in coefficients) or all(c < 0 for c in coefficients)


class Root:
    """The only root of a square-free polynomial in (low, high] / 2^bits, or low itself: exact."""

    def __init__(self, p, low, high, bits):
        self.p, self.low, self.high, self.bits = p, low, high, bits

    def halve(self):
        """Bisect; afterwards low = high where the root is a dyadic number that was met."""
        if self.low == self.high:
            return
        self.bits += 1
        self.low, self.high = 2 * self.low, 2 * self.high
        middle = (self.low + self.high) // 2
        at_middle = sign_at(self.p, middle, self.bits)
        if at_middle == 0:
            self.low = self.high = middle
        elif at_middle == sign_at(self.p, self.high, self.bits):
            self.high = middle
        else:
            self.low = middle

    def settle(self):
        """Take an end that is a root for the root itself."""
        if sign_at(self.p, self.high, self.bits) == 0:
            self.low = self.high

    def sign(self, q):
        """Return the sign of q at the root."""
        if not q:
            return 0
        if self.low == self.high:
            return sign_at(q, self.low, self.bits)
        shared = common(self.p, q)
        if len(shared) > 1 and changes_within(shared, self.low, self.high, self.bits):
            return 0
        sequence = sturm_sequence(primitive(quotient(q, common(q, derivative(q)))))
        while changes(sequence, self.low, self.bits) != changes(sequence, self.high, self.bits) or (
            sign_at(q, self.low, self.bits) == 0
        ):
            self.halve()
            if self.low == self.high:
                break
        return sign_at(q, self.high, self.bits)

    def time(self):
        """Return an upper bound of the root within 2^-BITS."""
        while self.bits < BITS and self.low != self.high:
            self.halve()
        return Fraction(self.high, 1 << self.bits)


def changes_within(p, low, high, bits):
    sequence = sturm_sequence(p)
    return changes(sequence, low, bits) - changes(sequence, high, bits)


def roots(p):
    """Return all roots of p in [0, 1], ascending; p is not zero."""
    if len(p) == 1 or has_none_in_unit(p):
        return []
    p = primitive(quotient(p, common(p, derivative(p))))
    sequence = sturm_sequence(p)
    found = [Root(p, 0, 0, 0)] if sign_at(p, 0, 0) == 0 else []
    waiting = [(0, 1, 0)]
    while waiting:
        low, high, bits = waiting.pop()
        number = changes(sequence, low, bits) - changes(sequence, high, bits)
        if number == 1:
            root = Root(p, low, high, bits)
            root.settle()
            while root.low != root.high and sign_at(p, root.low, root.bits) == 0:
                # The lower end is another root, found before: leave it.
                part_from(root, sequence)
            found.append(root)
        elif number > 1:
            middle = low + high
            waiting += [(middle, 2 * high, bits + 1), (2 * low, middle, bits + 1)]
    return found


def part_from(root, sequence):
    """Halve an interval whose lower end is a root, too, by counting."""
    root.bits += 1
    root.low, root.high = 2 * root.low, 2 * root.high
    middle = (root.low + root.high) // 2
    if changes(sequence, middle, root.bits) == changes(sequence, root.high, root.bits):
        root.high = middle
        root.settle()
    else:
        root.low = middle


# ---- polygons -----------------------------------------------------------------------------------


def cross(a, b):
    pairs = ((1, 2), (2, 0), (0, 1))
    return [add(multiply(a[i], b[j]), multiply(a[j], b[i]), -1) for i, j in pairs]


def dot(a, b):
    total = []
    for p, q in zip(a, b, strict=True):
        total = add(total, multiply(p, q))
    return total


def corners(kind, x0, x1):
    """Return the corners of the difference: three polynomials of t each, in a common unit."""
    x0, x1 = ([[Fraction(float(c)) for c in row] for row in x] for x in (x0, x1))
    unit = max(c.denominator for row in (*x0, *x1) for c in row)
    found = []
    for plus, minus in CORNERS[kind]:
        start = [int((x0[plus][c] - x0[minus][c]) * unit) for c in range(3)]
        end = [int((x1[plus][c] - x1[minus][c]) * unit) for c in range(3)]
        found.append([trimmed([a, b - a]) for a, b in zip(start, end, strict=True)])
    return found


def times_on_edge(p, q):
    """Return a time at which the origin is on the edge from p to q: the first, or none."""
    line, between = [c for c in cross(p, q) if c], dot(p, q)
    if not line:
        # It is on the line always, and between the corners where their product is not positive.
        if not between or between[0] <= 0:
            return [Fraction(0)]
        return [root.time() for root in roots(between)][:1]
    if any(len(c) == 1 or has_none_in_unit(c) for c in line):
        return []
    shared = line[0]
    for c in line[1:]:
        shared = common(shared, c)
    return [root.time() for root in roots(shared) if root.sign(between) <= 0][:1]


def first_contact(kind, x0, x1):
    """Return an upper bound, within 2^-70, of the first time at which they touch, or None."""
    d = corners(kind, x0, x1)
    edges = list(zip(d, d[1:] + d[:1], strict=True))
    found = [time for edge in edges for time in times_on_edge(*edge)]

    # Inside: on the inner side of all edges.
    normal = cross(*([add(a, b, -1) for a, b in zip(d[i], d[0], strict=True)] for i in (1, -1)))
    volume = dot(d[0], cross(d[1], d[2]))
    # Always in the plane of the origin: inside at the beginning, or it enters by an edge.
    times = roots(volume) if volume else [Root([0, 1], 0, 0, 0)]
    inner = [dot(normal, cross(*edge)) for edge in edges] if times else []
    for root in times:
        if root.sign(dot(normal, normal)) > 0 and all(root.sign(side) >= 0 for side in inner):
            found.append(root.time())
            break
    return min(found, default=None)
