"""S2's α, which scales R (eqs. 4.41 to 4.43), and averaging, in full and relaxed SOR on a device.

Sparse sweeps have the bits of the processor's, rows of T agree to rounding.
"""

import numpy as np
import pytest

import contactsolve as cs
from emulated import DEVICE, EMULATED, on_both, same_bits, swept
from reference_numpy import ReferenceProblem, Stage, random_problem, run

PANEL = 4  # contacts
PANELS = cs.orders.panels(contacts=PANEL)
RECOMPUTED = cs.schemes.factorized(velocities="recompute")  # as the device does it in panels
S2 = {"method": "gauss_seidel", "r_factor": "diagonal"}
AVERAGED = {"relaxation": 0.7, "averaging": 0.6}
OPTIONS = [{"relaxation": 0.35}, {"relaxation": 1.3}, {"averaging": 0.6}, AVERAGED]
EACH_OPTION = pytest.mark.parametrize("options", OPTIONS, ids=str)
SPHERES, BOXES = cs.scenarios.ball_grid(3), cs.scenarios.box_stack(4)


def contacts_of(seed, contacts=14):
    """Contacts in discs, most of which share bodies with others; and the reference's problem."""
    arrays = random_problem(np.random.default_rng(seed), contacts, 9, 3, 6, "disc")
    problem = cs.Problem(arrays.J, arrays.Minv, arrays.b, arrays.mu, bodies=arrays.bodies)
    return problem, ReferenceProblem.from_arrays(arrays)


def stages_of(order, contacts):
    """The reference's stages of full SOR, which is sequential, and of panels."""
    if order == "natural":
        return [Stage("sequential", [list(range(contacts))])]
    starts = range(0, contacts, PANEL)
    return [Stage("simultaneous", [list(range(i, min(i + PANEL, contacts)))]) for i in starts]


@EACH_OPTION
@pytest.mark.parametrize("order", ["natural", "panels"])
@pytest.mark.parametrize("scheme", ["factorized", "matrix", "iteration_matrix", "dense"])
def test_full_and_relaxed_sor_are_those_of_the_equations(scheme, order, options):
    problem, reference = contacts_of(3)
    wanted = run(
        reference,
        4,
        solver="gauss_seidel",
        stages=stages_of(order, problem.contacts),
        r_factor="diagonal",
        **options,
    )[-1]
    given = {"scheme": scheme, "order": PANELS if order == "panels" else order, "rollback": 0}
    solve = {"max_iterations": 4, "rtol": None, **S2, **given, **EMULATED}
    result = cs.Solver(problem, **solve, **options).solve()
    largest = np.abs(wanted).max()
    np.testing.assert_allclose(result.impulses.ravel(), wanted, rtol=0, atol=1e-13 * largest)
    plain = cs.Solver(problem, **solve).solve()
    assert np.abs(plain.impulses - result.impulses).max() > 1e-3 * largest


@EACH_OPTION
@pytest.mark.parametrize("dtype", ["float64", "mixed", "float32"])
@pytest.mark.parametrize("order", ["natural", "reverse", PANELS], ids=["natural", "reverse", ""])
def test_contacts_one_after_another_and_in_panels_have_the_processors_bits(order, dtype, options):
    scheme = RECOMPUTED if order is PANELS else "factorized"
    given = {"scheme": scheme, "order": order, "dtype": dtype, **S2, **options}
    for problem in (SPHERES, BOXES):
        same_bits(*on_both(problem, 8, here={"instructions": "scalar"}, **given))


@EACH_OPTION
@pytest.mark.parametrize("scheme", ["matrix", "iteration_matrix"])
@pytest.mark.parametrize("order", ["natural", "reverse", "colored", PANELS], ids=[*"nrc", "panels"])
def test_rows_of_blocks_have_the_processors_bits(order, scheme, options):
    given = {"scheme": scheme, "order": order, **S2, **options}
    for dtype in ("float64", "float32"):
        for problem in (SPHERES, BOXES):
            here = {"instructions": "scalar"}
            same_bits(*on_both(problem, 8, here=here, dtype=dtype, **given))


@pytest.mark.skipif(not cs.info()["instructions"].get("avx2"), reason="without AVX2")
@EACH_OPTION
@pytest.mark.parametrize("compressed", [True, False])
def test_coloured_contacts_have_the_bits_of_vectors(compressed, options):
    given = {"scheme": "factorized", "order": "colored", "compressed": compressed}
    for dtype in ("float64", "mixed"):
        for problem in (SPHERES, BOXES):
            here = {"instructions": "avx2"}
            same_bits(*on_both(problem, 8, here=here, dtype=dtype, **given, **S2, **options))


@EACH_OPTION
@pytest.mark.parametrize(
    ("order", "ways"),
    [("colored", ("launches", "graph", "dataflow")), ("natural", ("launches", "graph", "counter"))],
)
def test_all_ways_of_sweeps_have_the_same_bits(order, ways, options):
    # Sweeps backwards as well.
    given = {"method": "symmetric_gauss_seidel", "scheme": "factorized", "order": order, **options}
    first, *others = (swept(SPHERES, way, 8, **given) for way in ways)
    for other in others:
        same_bits(first, other)


@EACH_OPTION
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("order", ["natural", PANELS], ids=["full", "relaxed"])
def test_rows_of_t_agree_to_rounding(order, dtype, options):
    # Sums of n products in another order: n roundings of the largest term, in each sweep.
    problem, _ = contacts_of(5, contacts=37)
    given = {"scheme": "dense", "order": order, "dtype": dtype, **S2, **options}
    here, there = on_both(problem, 3, **given)
    largest = np.abs(here.impulses).max()
    bound = 3 * problem.rows * np.finfo(dtype).eps * largest
    assert np.abs(here.impulses - there.impulses).max() <= bound


@pytest.mark.parametrize("alpha", [0.35, 1.3])
@pytest.mark.parametrize("panel", [1, PANEL])
def test_s2_s_own_kernels_make_the_iteration_of_solvers(alpha, panel):
    """T = 1 - R A with α in R: the panels of `iterate_dense` are those of a solver's order."""
    problem, reference = contacts_of(3)
    diagonal = np.diag(reference.A).reshape(-1, 3)
    tangent = np.maximum(diagonal[:, 1], diagonal[:, 2])
    divisor = np.stack([diagonal[:, 0], tangent, tangent], axis=-1).ravel()
    R = np.divide(alpha, divisor, out=np.zeros_like(divisor), where=divisor > 0)  # 0: immovable
    T = np.eye(len(R)) - R[:, None] * reference.A
    done = cs.cuda.iterate_dense(
        T,
        -R * problem.b.ravel(),
        problem.mu,
        kernel="relaxed_sor",
        panel_rows=3 * panel,
        iterations=4,
        device=DEVICE,
    )
    given = {"scheme": "dense", "order": cs.orders.panels(contacts=panel), "rollback": 0, **S2}
    result = cs.Solver(
        problem, relaxation=alpha, max_iterations=4, rtol=None, **given, **EMULATED
    ).solve()
    largest = np.abs(result.impulses).max()
    np.testing.assert_allclose(done.impulses, result.impulses.ravel(), rtol=0, atol=1e-13 * largest)
