"""S2's own kernels for a dense T: bit for bit the sequential loops that they stand for."""

import ctypes
import ctypes.util
import re

import numpy as np
import pytest

import contactsolve as cs
from emulated import DEVICE, TURNS, kernels, kernels_of, loss, memory, turns

JOR = ("gemv+add+prox", "gemv+prox", "all_in_one_128", "all_in_one_192", "own_gemv+prox")
SPLIT = ("gemv+add+prox", "gemv+prox", "own_gemv+prox")
# What kernel A may leave out, each with those before it, in S2's order.
PARTS = ("propagation", "normal", "friction", "writes")
SOR = {"full_sor_96": 96, "full_sor_192": 192, "relaxed_sor": 48}
TYPES = (np.float32, np.float64)
EACH_TYPE = pytest.mark.parametrize("dtype", TYPES)

LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
for function, number in ((LIBM.fma, ctypes.c_double), (LIBM.fmaf, ctypes.c_float)):
    function.argtypes, function.restype = [number] * 3, number
FMA = {
    np.float64: np.frompyfunc(LIBM.fma, 3, 1),
    np.float32: np.frompyfunc(LIBM.fmaf, 3, 1),
}


def iterate(problem, kernel, **options):
    return cs.cuda.iterate_dense(*problem, kernel=kernel, device=DEVICE, **options)


def random_problem(contacts, dtype, seed=5):
    """T = 1 - R A of a diagonally dominant A, as S2's test bench has it."""
    rng = np.random.default_rng(seed)
    n = 3 * contacts
    T = rng.uniform(-1, 1, (n, n)) * 0.9 / np.sqrt(n)
    d = rng.uniform(-0.8, 1.2, n)
    return T.astype(dtype), d.astype(dtype), rng.uniform(0, 1, contacts).astype(dtype)


def add_columns(T, x, total):
    """total + T x, column by column, with fused multiply-add."""
    dtype = T.dtype.type
    for j in range(T.shape[1]):
        total = FMA[dtype](T[:, j], x[j], total).astype(dtype)
    return total


def clamp(z, radius):
    """Tangents of one contact in the disc, in double precision.  S2 eq. 4.35"""
    x, y, bound = float(z[0]), float(z[1]), float(radius)
    if x * x + y * y <= bound * bound:
        return z
    scale = bound / np.sqrt(x * x + y * y)
    return np.array([x * scale, y * scale]).astype(z.dtype)


def prox(z, mu):
    z = z.copy()
    for c, friction in enumerate(mu):
        z[3 * c] = max(z[3 * c], 0)
        z[3 * c + 1 : 3 * c + 3] = clamp(z[3 * c + 1 : 3 * c + 3], friction * z[3 * c])
    return z


def jor(problem, iterations):
    T, d, mu = problem
    x = np.zeros_like(d)
    for _ in range(iterations):
        x = prox(add_columns(T, x, np.zeros_like(d)) + d, mu)
    return x


def sums_at_start(T, x, panel, full):
    """S2 eq. 5.15."""
    sums = np.zeros_like(x)
    for row in range(len(x)):
        first = row // panel * panel
        if full:
            first = row if row % 3 == 0 else row - row % 3 + 1
        sums[row : row + 1] = add_columns(T[row : row + 1, first:], x[first:], sums[row : row + 1])
    return sums


def full_panel(T, d, mu, sums, x, own, left_out=()):
    """S2 algorithm 5.3.2 over the rows `own` of a panel."""

    def propagate(rows):
        if "propagation" not in left_out:
            sums[own] = add_columns(T[own, rows], x[rows], sums[own])

    def write(rows, z):
        x[rows] = z
        if "writes" not in left_out:
            sums[rows] = 0

    for c in range(own.start // 3, own.stop // 3):
        n, t = slice(3 * c, 3 * c + 1), slice(3 * c + 1, 3 * c + 3)
        write(n, d[n] if "normal" in left_out else np.maximum(d[n] + sums[n], 0))
        propagate(n)
        write(t, d[t] if "friction" in left_out else clamp(d[t] + sums[t], mu[c] * x[n][0]))
        propagate(t)


def panel_without_barriers(T, d, mu, sums, x, own):
    """The same where each thread ends before the next one begins: what others do comes late."""
    T, d, sums, new = T[own, own], d[own], sums[own], x[own]
    new[:] = 0

    def propagate(t, column):
        sums[t : t + 1] = add_columns(T[t : t + 1, column], new[column], sums[t : t + 1])

    for t in range(len(d)):
        for j in range(0, len(d), 3):
            if t == j:
                new[t] = max(d[t] + sums[t], 0)
                sums[t] = 0
            propagate(t, slice(j, j + 1))
            if t == j + 1:
                both = slice(t, t + 2)
                new[both] = clamp(d[both] + sums[both], mu[(own.start + j) // 3] * new[j])
                sums[both] = 0
            propagate(t, slice(j + 1, j + 3))


def sor(problem, iterations, panel, full, start=None, left_out=()):
    """S2 figures 5.3 and 5.4, panel by panel."""
    T, d, mu = problem
    x = np.zeros_like(d) if start is None else start.copy()
    sums = sums_at_start(T, x, panel, full)
    for first in list(range(0, len(d), panel)) * iterations:
        own = slice(first, min(first + panel, len(d)))
        others = np.ones(len(d), bool)
        if full:
            others[own] = False
        if left_out == "barriers":
            panel_without_barriers(T, d, mu, sums, x, own)
        elif full:
            full_panel(T, d, mu, sums, x, own, left_out)
        else:
            x[own] = prox(d[own] + sums[own], mu[own.start // 3 : own.stop // 3])
            sums[own] = 0
        sums[others] += add_columns(T[others, own], x[own], np.zeros_like(sums[others]))
    return x


def sor_row_by_row(problem, iterations, panel):
    """S2 eq. 5.11 as a sequential program has it, figure 5.2(a); panel=None: full SOR."""
    T, d, mu = (each.astype(np.longdouble) for each in problem)
    x = np.zeros_like(d)
    for _ in range(iterations):
        for first in range(0, len(d), panel or 3):
            own = slice(first, min(first + (panel or 3), len(d)))
            if panel:
                x[own] = prox(T[own] @ x + d[own], mu[own.start // 3 : own.stop // 3])
                continue
            n, t = slice(first, first + 1), slice(first + 1, first + 3)
            x[n] = np.maximum(T[n] @ x + d[n], 0)
            x[t] = clamp(T[t] @ x + d[t], mu[first // 3] * x[first])
    return x


def test_the_names_of_the_kernels_are_those_of_the_module():
    assert set(kernels.s2_kernels()) == {*JOR, *SOR}


@EACH_TYPE
@pytest.mark.parametrize("contacts", [1, 42, 65])
def test_every_jor_kernel_has_the_bits_of_a_sequential_loop(contacts, dtype):
    problem = random_problem(contacts, dtype)
    wanted = jor(problem, 3)
    for kernel in JOR:
        for turn in TURNS:
            with turns(turn):
                np.testing.assert_array_equal(
                    iterate(problem, kernel, iterations=3).impulses, wanted, f"{kernel}, {turn}"
                )


@EACH_TYPE
@pytest.mark.parametrize("aligned", [True, False])
def test_layouts_and_alignment_do_not_change_bits(aligned, dtype):
    # Columns of other rows come in another order: sums are those of T whose columns are permuted.
    problem = random_problem(19, dtype)
    n = len(problem[1])
    by_directions = np.arange(n).reshape(-1, 3).T.ravel()
    T, d, mu = problem
    x = np.zeros_like(d)
    for _ in range(2):
        x = prox(add_columns(T[:, by_directions], x[by_directions], np.zeros_like(d)) + d, mu)
    for kernel in SPLIT:
        for layout, wanted in (
            ("contacts", jor(problem, 2)),
            ("directions", x),
            ("padded_directions", x),
        ):
            done = iterate(problem, kernel, iterations=2, layout=layout, aligned=aligned)
            np.testing.assert_array_equal(done.impulses, wanted, f"{kernel}, {layout}")


@EACH_TYPE
@pytest.mark.parametrize("kernel", SOR)
@pytest.mark.parametrize("contacts", [1, 32, 71])
def test_sor_has_the_bits_of_panels_one_after_another(contacts, kernel, dtype):
    problem = random_problem(contacts, dtype)
    start = np.random.default_rng(1).uniform(0, 1, 3 * contacts).astype(dtype)
    wanted = sor(problem, 2, SOR[kernel], kernel != "relaxed_sor", start)
    for turn in TURNS:
        with turns(turn):
            done = iterate(problem, kernel, iterations=2, impulses=start)
            np.testing.assert_array_equal(done.impulses, wanted, turn)


@EACH_TYPE
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_parts_of_kernel_a_are_left_out(count, dtype):
    # S2 figure 6.4: each part is left out with those before it, and nothing else is.
    problem = random_problem(44, dtype)
    start = np.random.default_rng(1).uniform(0, 1, 132).astype(dtype)
    parts = PARTS[:count]
    wanted = sor(problem, 2, 96, True, start, parts)
    options = {"leave_out": parts[-1], "iterations": 2, "impulses": start}
    for turn in TURNS:
        with turns(turn):
            done = iterate(problem, "full_sor_96", **options)
            np.testing.assert_array_equal(done.impulses, wanted, turn)
    assert ("friction" in parts) == np.array_equal(wanted, problem[1])


@EACH_TYPE
@pytest.mark.parametrize("iterations", [1, 2])
def test_without_kernel_a_impulses_stay(iterations, dtype):
    problem = random_problem(44, dtype)
    start = np.random.default_rng(1).uniform(0, 1, 132).astype(dtype)
    options = {"leave_out": "step_a", "iterations": iterations, "impulses": start}
    done = iterate(problem, "full_sor_96", **options)
    assert done.iterations == iterations
    np.testing.assert_array_equal(done.impulses, start)


@EACH_TYPE
def test_without_barriers_threads_do_not_wait(dtype):
    problem = random_problem(34, dtype)
    for turn in TURNS:
        with turns(turn):
            done = iterate(problem, "full_sor_96", leave_out="barriers", iterations=1)
        assert np.isfinite(done.impulses).all()
        # Emulated threads run to their end one after another then.
        if (DEVICE, turn) == ("cuda-emulated", "forward"):
            wanted = sor(problem, 1, 96, True, left_out="barriers")
            np.testing.assert_array_equal(done.impulses, wanted)
            assert (wanted != sor(problem, 1, 96, True)).any()


def relaxed_problem(contacts, alpha, dtype):
    """T and d of a diagonally dominant G with α in R.  S2 eqs. 4.41 to 4.43"""
    rng = np.random.default_rng(7)
    n = 3 * contacts
    G = rng.uniform(-1, 1, (n, n)) / n
    G = G + G.T + np.diag(rng.uniform(1, 3, n))
    c = rng.uniform(-1, 0.5, n)
    diagonal = np.diag(G).reshape(-1, 3)
    tangent = np.maximum(diagonal[:, 1], diagonal[:, 2])
    R = alpha / np.stack([diagonal[:, 0], tangent, tangent], axis=-1).ravel()
    T = np.eye(n) - R[:, None] * G
    return T.astype(dtype), (-R * c).astype(dtype), rng.uniform(0, 1, contacts).astype(dtype)


@EACH_TYPE
@pytest.mark.parametrize("alpha", [0.35, 1.4])
def test_relaxation_in_t(alpha, dtype):
    # Bits of full and relaxed SOR, in panels of which the last is not full, and of JOR.
    problem = relaxed_problem(33, alpha, dtype)
    for kernel, panel in (*SOR.items(), ("relaxed_sor", 6)):
        wanted = sor(problem, 2, panel, kernel != "relaxed_sor")
        done = iterate(problem, kernel, iterations=2, panel_rows=panel)
        np.testing.assert_array_equal(done.impulses, wanted, f"{kernel}, {panel}")
    wanted = jor(problem, 2)
    for kernel in JOR:
        done = iterate(problem, kernel, iterations=2)
        np.testing.assert_array_equal(done.impulses, wanted, kernel)


@pytest.mark.parametrize("kernel", [*JOR, *SOR])
def test_relaxation_does_not_move_the_solution(kernel):
    # prox(P - R (G P + c)) = P holds for every α, of which some make more iterations.
    options = {"iterations": 300, "criterion": "norm", "rtol": 0, "atol": 1e-13, "check_every": 1}
    done = [
        iterate(relaxed_problem(12, alpha, np.float64), kernel, **options)
        for alpha in (0.35, 1.0, 1.4)
    ]
    assert all(each.converged for each in done)
    assert len({each.iterations for each in done}) == 3
    for each in done:
        np.testing.assert_allclose(each.impulses, done[1].impulses, rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    ("kernel", "panel"),
    [("full_sor_96", None), ("full_sor_192", None)]
    + [("relaxed_sor", rows) for rows in (6, 12, 48, 384)],
)
def test_sor_is_the_sequential_iteration_up_to_rounding(kernel, panel):
    problem = random_problem(70, np.float64)
    done = iterate(problem, kernel, iterations=4, panel_rows=panel or 48)
    wanted = sor_row_by_row(problem, 4, panel)
    # Sums of 210 products of numbers around 1: 16 units in the last place of 1.
    np.testing.assert_allclose(done.impulses, wanted.astype(float), rtol=0, atol=16 * 2.0**-53)


def test_one_panel_of_all_rows_is_jor():
    problem = random_problem(20, np.float64)
    relaxed = iterate(problem, "relaxed_sor", panel_rows=60, iterations=5)
    np.testing.assert_array_equal(
        relaxed.impulses, iterate(problem, JOR[-1], iterations=5).impulses
    )


@pytest.mark.parametrize("criterion", ["each", "norm"])
@pytest.mark.parametrize("kernel", ["own_gemv+prox", "relaxed_sor"])
@EACH_TYPE
def test_the_criteria_end_the_iterations(dtype, kernel, criterion):
    # S2 eqs. 4.49 and 4.50, between the last two iterates.
    problem = random_problem(12, dtype)
    options = {"criterion": criterion, "rtol": 1e-3, "atol": 1e-4}
    done = iterate(problem, kernel, iterations=500, check_every=2, **options)
    assert done.converged
    assert 2 < done.iterations < 500
    assert done.iterations % 2 == 0

    def holds(iterations):
        new, old = (
            iterate(problem, kernel, iterations=i).impulses.astype(float)
            for i in (iterations, iterations - 1)
        )
        if criterion == "norm":
            return np.linalg.norm(new - old) <= np.linalg.norm(old) * 1e-3 + 1e-4
        return (abs(new - old) <= abs(old) * 1e-3 + 1e-4).all()

    assert holds(done.iterations)
    assert not any(holds(i) for i in range(2, done.iterations, 2))


@pytest.mark.parametrize("criterion", ["each", "norm"])
def test_what_is_not_a_number_has_not_converged(criterion):
    T, d, mu = random_problem(4, np.float64)
    done = iterate((1e200 * T, d, mu), JOR[-1], iterations=8, criterion=criterion, check_every=1)
    assert np.isnan(done.impulses).any()
    assert not done.converged
    assert done.iterations == 8


@pytest.mark.parametrize("order", ["C", "F"])
def test_arguments_are_not_written_to(order):
    T, d, mu = random_problem(32, np.float64)
    start = np.ones_like(d)
    T = np.array(T, order=order)
    before = [each.copy() for each in (T, d, mu, start)]
    for kernel in (*JOR, *SOR):
        iterate((T, d, mu), kernel, impulses=start, aligned=False)
    for now, then in zip((T, d, mu, start), before, strict=True):
        np.testing.assert_array_equal(now, then)


@EACH_TYPE
def test_a_matrix_that_is_too_large_names_the_bytes_before_it_takes_any(dtype):
    problem = random_problem(32, dtype)
    words = r"(\d+) bytes are needed, and 1000 are free"
    with memory(1000), pytest.raises(MemoryError, match=words) as caught:
        iterate(problem, JOR[0])
    needed = int(re.search(words, str(caught.value))[1])
    # T alone would fit.
    assert problem[0].nbytes < needed
    with memory(needed - 1), pytest.raises(MemoryError, match=f"{needed} bytes are needed"):
        iterate(problem, JOR[0])
    with memory(needed):
        iterate(problem, JOR[0])


@pytest.mark.parametrize("criterion", [None, "each"])
@pytest.mark.parametrize("kernel", [*JOR, *SOR])
def test_a_lost_device_is_an_error_that_leaves_everything_as_it_was(kernel, criterion):
    T, d, mu = random_problem(34, np.float64)
    given = (np.asfortranarray(T), d, mu)  # the columns are read where they are
    start = np.ones_like(d)
    before = [each.copy() for each in (*given, start)]
    options = {"impulses": start, "iterations": 3, "criterion": criterion, "check_every": 1}
    options |= {"aligned": False, "atol": 0.0, "rtol": 0.0}

    done = []
    launches = kernels_of(lambda: done.append(iterate(given, kernel, **options)))
    assert launches >= 3
    for launch in (1, launches // 2 + 1, launches):
        with loss(launch), pytest.raises(RuntimeError, match="failed: the device was lost"):
            iterate(given, kernel, **options)
        for now, then in zip((*given, start), before, strict=True):
            np.testing.assert_array_equal(now, then)
        # The next call has a device again.
        again = iterate(given, kernel, **options)
        np.testing.assert_array_equal(again.impulses, done[0].impulses)
        assert again.iterations == done[0].iterations


def test_no_iteration_returns_the_first_iterate():
    problem = random_problem(2, np.float32)
    done = iterate(problem, JOR[0], iterations=0, impulses=np.arange(6))
    assert done.impulses.tolist() == [0, 1, 2, 3, 4, 5]
    assert done.impulses.dtype == np.float32
    assert (done.iterations, done.converged) == (0, False)
    assert set(done.seconds) == {"allocation", "to_device", "iteration", "from_device", "release"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"T": np.zeros((3, 6))}, r"T has shape \(3, 6\): a square matrix"),
        ({"T": np.zeros((4, 4))}, r"T has 4 rows: three for each contact"),
        ({"T": np.full((6, 6), np.nan)}, r"T\[0, 0\] is nan"),
        ({"d": np.zeros(5)}, r"d has shape \(5,\): shape \(6,\)"),
        ({"d": [0, 0, 0, np.inf, 0, 0]}, r"d\[3\] is inf"),
        ({"mu": [0.5, -1]}, r"mu\[1\] is -1: coefficients of friction"),
        ({"mu": -0.3, "T": np.zeros((6, 6), np.float32)}, r"mu\[0\] is -0\.3: coefficients"),
        ({"mu": [0.5, -1e-50], "T": np.zeros((6, 6), np.float32)}, r"mu\[1\] is -1e-50: coeff"),
        (
            {"d": [0, 1e300, 0, 0, 0, 0], "T": np.zeros((6, 6), np.float32)},
            r"d\[1\] is 1e\+300: that is too large for float32",
        ),
        ({"mu": [0.5, 1, 2]}, r"mu has shape \(3,\): one number or shape \(2,\)"),
        ({"impulses": np.zeros(3)}, r"impulses has shape \(3,\)"),
        ({"kernel": "all_in_one"}, r"kernel is 'all_in_one': .*all_in_one_128"),
        (
            {"kernel": "full_sor_96", "layout": "directions"},
            r"layout is 'directions': .*'contacts'",
        ),
        ({"layout": "rows"}, r"layout is 'rows': 'contacts', 'directions'"),
        ({"kernel": "relaxed_sor", "panel_rows": 7}, r"panel_rows is 7: a multiple of 3"),
        ({"iterations": -1}, r"iterations is -1: at least 0"),
        ({"check_every": 0}, r"check_every is 0: at least 1"),
        ({"criterion": "max"}, r"criterion is 'max': None, 'each' and 'norm'"),
        (
            {"kernel": "full_sor_96", "leave_out": "tangents"},
            r"leave_out is 'tangents': None, 'barriers', 'propagation', .* are known",
        ),
        (
            {"kernel": "full_sor_192", "leave_out": "normal"},
            r"leave_out is 'normal': kernel='full_sor_96' is needed, not 'full_sor_192'",
        ),
        ({"rtol": -1.0}, r"rtol is -1: a number that is not negative"),
        ({"device": "cpu"}, r"device is 'cpu': 'cuda' and 'cuda-emulated'"),
    ],
)
def test_wrong_arguments_are_named(change, message):
    given = {"T": np.zeros((6, 6)), "d": np.zeros(6), "mu": 0.5, "device": DEVICE}
    with pytest.raises(ValueError, match=message):
        cs.cuda.iterate_dense(**{**given, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"T": np.zeros((6, 6), complex)}, "T has dtype complex128"),
        ({"d": np.zeros(6, complex)}, "d has dtype complex128"),
        ({"mu": 0.5j}, "mu has dtype complex128"),
        ({"rtol": "a"}, "rtol is 'a': a number is needed"),
        ({"rtol": None}, "rtol is None: a number is needed"),
        ({"atol": [1, 2]}, r"atol is \[1, 2\]: a number is needed"),
        ({"aligned": "no"}, "aligned is 'no': True or False is needed"),
    ],
)
def test_arguments_of_wrong_types_are_named(change, message):
    given = {"T": np.zeros((6, 6)), "d": np.zeros(6), "mu": 0.5, "device": DEVICE}
    with pytest.raises(TypeError, match=message):
        cs.cuda.iterate_dense(**{**given, **change})
