"""method="newton": what it solves, judged from outside, what it refuses, how it ends."""

import numpy as np
import pytest

import contactsolve as cs
from interruption import ctrl_c_ends
from problems_of_classes import moving_stack
from reference_numpy import (
    Disc,
    ReferenceProblem,
    natural_map_scaled,
    random_problem,
    slightly_unsymmetric,
)
from repository import FCLIB

WORDS = cs.methods.describe()["newton"].options["kind"].words
KINDS = pytest.mark.parametrize("kind", WORDS)
TAKEN = (
    ("free", 3), ("half_line", 1), ("half_line", 3), ("box", 4), ("disc", 2), ("disc", 3),
    ("box_friction", 2), ("box_friction", 3), ("rolling", 5), ("contensou", 4),
    ("second_order_cone", 3), ("tresca", 2), ("tresca", 3), ("tresca", 4), ("tresca", 5),
    ("ellipse", 3), ("polygon", 3), ("contensou_coupled", 4),
)  # fmt: skip
SHAPED = ("ellipse", "polygon", "contensou_coupled")
NOT_TAKEN = {
    "coulomb": (),
    "de_saxce": ("box_friction", "rolling", "contensou", *SHAPED),
    "fischer_burmeister": ("rolling", "contensou", "tresca", *SHAPED),
}
TIGHT = {"rtol": 1e-8, "max_iterations": 3000}


def mild(seed, set_name, rows, contacts=12, **options):
    arrays = random_problem(np.random.default_rng(seed), contacts, 9, rows, 6, set_name, **options)
    for bound in (arrays.mu, arrays.mu_r, arrays.more.get("mu")):
        if bound is not None:
            bound *= 0.4
    sets = getattr(cs.sets, set_name)(**arrays.set_parameters())
    return arrays, sets


@pytest.mark.parametrize("start", [0, 20])
@KINDS
def test_fifty_random_problems_with_coulomb_friction(kind, start):
    method = cs.methods.newton(kind=kind, start=start)
    for seed in range(50):
        arrays, sets = mild(seed, "disc", 3)
        problem = cs.Problem(arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=sets)
        result = cs.solve(problem, method=method, **TIGHT)
        assert result.converged, (seed, result.message)
        judge = natural_map_scaled(ReferenceProblem.from_arrays(arrays), result.impulses.ravel())
        assert judge <= 1.01e-8, seed


@KINDS
@pytest.mark.parametrize(("set_name", "rows"), TAKEN)
def test_every_set_with_jacobians_and_with_a_given_matrix(set_name, rows, kind):
    if set_name in NOT_TAKEN[kind]:
        pytest.skip(f"kind='{kind}' does not take it")
    method = cs.methods.newton(start=3, kind=kind)
    for seed in range(4):
        arrays, sets = mild(seed, set_name, rows)
        problem = cs.Problem(arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=sets)
        # Of full rank: unsymmetric by a little it is still monotone.
        regular, few = mild(seed, set_name, rows, contacts=8, awkward=False)
        other = cs.Problem(regular.J, regular.Minv, regular.b, bodies=regular.bodies, sets=few)
        A = slightly_unsymmetric(np.random.default_rng(seed), other.delassus().toarray())
        given = cs.Problem.from_delassus(A, regular.b, rows=rows, sets=few)
        # Awkward boxes leave free rows nothing to end on: their impulses grow until the defect is
        # small beside them, if the factor of the proximal steps can grow as far.
        endless = (set_name, kind) == ("box", "fischer_burmeister")
        for one in (other if endless else problem, given):
            result = cs.solve(one, method=method, **TIGHT)
            assert result.converged, (seed, one, result.message)
            assert result.natural_map_scaled <= 1.01e-8


SHAPES = {
    "smooth": (3, cs.shapes.superellipse(0.6, 0.3, 3.0).turned(0.4)),
    "corners": (3, cs.shapes.points([[0.5, 0.0], [0.1, 0.4], [-0.4, 0.1], [0.0, -0.3]])),
    "edges and arcs": (3, cs.shapes.points([[-0.3, 0.0], [0.3, 0.0]]) + cs.shapes.disc(0.2)),
    "spin": (4, cs.shapes.ellipsoid(0.5, 0.4, 0.2)),
    "cylinder": (4, cs.shapes.ellipsoid(0.4, 0.4, 0.0) + cs.shapes.ellipsoid(0.0, 0.0, 0.2)),
    "patch": (4, cs.shapes.patch([[0.2, 0.0], [-0.1, 0.3], [-0.1, -0.2]], [0.2, 0.1, 0.2])),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_support_shapes(name):
    rows, shape = SHAPES[name]
    for seed in range(4):
        arrays, _ = mild(seed, "half_line", rows)
        problem = cs.Problem(
            arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=cs.sets.support(shape)
        )
        result = cs.solve(problem, method=cs.methods.newton(start=3), **TIGHT)
        assert result.converged, (seed, result.message)
        outside = cs.Solver(problem, method="gauss_seidel", max_iterations=0)
        judged = outside.solve(initial=result.impulses)
        assert judged.natural_map_scaled <= 1.01e-8


def square(direction):
    return np.copysign(0.3, direction)


def test_a_function_of_the_caller():
    """Its set is the square of box friction; what it raises in the middle of a step comes out."""
    arrays, _ = mild(1, "half_line", 3, contacts=8, awkward=False)
    options = {"method": cs.methods.newton(start=0), **TIGHT}

    def solve(sets):
        problem = cs.Problem(arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=sets)
        return cs.solve(problem, **options)

    want, got = solve(cs.sets.box_friction(0.3)), solve(cs.sets.support(square))
    assert want.converged
    assert got.converged
    np.testing.assert_allclose(got.impulses, want.impulses, rtol=0, atol=1e-6)
    for last in (50, 150, 400):
        calls = iter(range(last))

        def failing(direction, calls=calls):
            if next(calls, None) is None:
                raise ZeroDivisionError("the last call")
            return square(direction)

        with pytest.raises(ZeroDivisionError, match="the last call"):
            solve(cs.sets.support(failing))


def test_sweeps_that_diverge_are_given_up():
    arrays, sets = mild(0, "disc", 3, contacts=8, awkward=False)
    problem = cs.Problem(arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=sets)
    wild = {"relaxation": 30.0, "rollback": 0}
    assert not cs.solve(problem, method="gauss_seidel", **wild, **TIGHT).converged
    result = cs.solve(problem, method="newton", **wild, **TIGHT)
    assert result.converged, result.message
    assert result.natural_map_scaled <= 1.01e-8


@KINDS
def test_compliance_different_bodies_and_joints_in_one_problem(kind):
    rng = np.random.default_rng(4)
    full = np.eye(6)[None] * rng.uniform(0.5, 2, (5, 1, 1))
    bodies = [cs.Bodies(full), cs.Bodies(np.ones((4, 3)))]
    pairs = np.array([[0, 5], [1, 6], [2, 7], [3, 8], [-1, 8], [0, 6]])
    blocks = (rng.normal(size=(6, 3, 6)), rng.normal(size=(6, 3, 3)))
    blocks[0][4] = 0
    joints = (rng.normal(size=(4, 2, 6)), rng.normal(size=(4, 2, 6)))
    soft = rng.uniform(0, 1, (6, 3))
    problem = cs.Problem(
        groups=[
            cs.Group(blocks, pairs, rng.normal(size=(6, 3)), 0.3, compliance=soft),
            cs.Group(joints, [[0, 1], [1, 2], [2, 3], [3, 4]], rng.normal(size=(4, 2)),
                     sets=cs.sets.free()),
        ],
        bodies=bodies,
    )  # fmt: skip
    result = cs.solve(problem, method=cs.methods.newton(kind=kind, start=0), **TIGHT)
    assert result.converged, result.message
    assert result.natural_map_scaled <= 1.01e-8


def judged(problem, impulses):
    """The scaled natural map by the reference, of contacts with Coulomb friction."""
    contacts, rows = problem.b.shape
    A = problem.delassus()
    A = A.toarray() if hasattr(A, "toarray") else np.asarray(A)
    sets = [Disc(rows, float(mu)) for mu in np.broadcast_to(problem.mu, contacts)]
    blocks = [slice(rows * k, rows * k + rows) for k in range(contacts)]
    reference = ReferenceProblem(A, problem.b.ravel(), blocks, sets)
    return natural_map_scaled(reference, impulses.ravel())


@KINDS
@pytest.mark.parametrize("path", sorted(FCLIB.glob("*.hdf5")), ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore:.*one triangle of M")
def test_real_problems(path, kind):
    problem = cs.io.read_fclib(path)
    if kind != "coulomb" and "Chute" in path.stem:
        pytest.skip("rolling friction")
    for start in (20, 200):
        result = cs.solve(problem, method=cs.methods.newton(kind=kind, start=start), **TIGHT)
        assert result.converged, (start, result.message)
        if "Chute" not in path.stem:
            assert judged(problem, result.impulses) <= 1.01e-8


@KINDS
@pytest.mark.parametrize("ratio", [1.0, 1e3, 1e6])
def test_mass_ratios(kind, ratio):
    if (kind, ratio) == ("fischer_burmeister", 1e6):
        pytest.skip("ends at 2e-6")
    problem = moving_stack(6, top_mass=ratio)
    rtol = 1e-6 if ratio == 1e6 else 1e-8  # the floor is 2e-8 there
    result = cs.solve(problem, method=cs.methods.newton(kind=kind), rtol=rtol, max_iterations=2000)
    assert result.converged, result.message
    if ratio > 1:
        swept = cs.solve(problem, method="nesterov", rtol=rtol, max_iterations=result.iterations)
        assert not swept.converged


@pytest.mark.parametrize("start_with", ["nesterov", "gauss_seidel"])
def test_sweeps_to_begin_with_are_those_of_the_other_methods(start_with):
    problem = moving_stack()
    exactly = {"rtol": None, "atol": None, "max_iterations": 30, "check_every": 30}
    method = cs.methods.newton(start=30, start_with=start_with)
    got = cs.solve(problem, method=method, **exactly)
    want = cs.solve(problem, method=start_with, rollback=0, **exactly)
    np.testing.assert_allclose(got.impulses, want.impulses, rtol=0, atol=1e-10)


def test_what_does_not_fit_is_refused():
    problem = moving_stack(2)
    method = cs.methods.newton(factor_bytes=100)
    with pytest.raises(ValueError, match=r"a factor of .* bytes, and factor_bytes is 100"):
        cs.Solver(problem, method=method)
    with pytest.raises(ValueError, match="dtype='float32': method='newton' computes in float64"):
        cs.Solver(problem, method="newton", dtype="float32")
    with pytest.raises(ValueError, match="bound='previous' is for methods that only sweep"):
        cs.Solver(problem, method="newton", bound="previous")
    for name, rows in (("rolling", 5), ("ellipse", 3)):
        arrays, sets = mild(0, name, rows)
        odd = cs.Problem(arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=sets)
        for kind in ("de_saxce", "fischer_burmeister"):
            with pytest.raises(
                ValueError, match=f"of the sets .* set '{name}': use kind='coulomb'"
            ):
                cs.Solver(odd, method=cs.methods.newton(kind=kind))
    with pytest.raises(ValueError, match=r"levenberg is -1.*: it must be at least 0"):
        cs.Solver(problem, method=cs.methods.newton(levenberg=-1))
    with pytest.raises(ValueError, match="kind: 'fischer' is unknown; known: coulomb"):
        cs.Solver(problem, method=cs.methods.newton(kind="fischer"))


def test_the_best_iterate_is_returned_and_hopeless_solves_end():
    problem = moving_stack(6, top_mass=1e3)
    options = {"rtol": 1e-16, "check_every": 1, "order": "natural"}
    options["record"] = ("natural_map_scaled",)
    method = cs.methods.newton(patience=300)
    result = cs.solve(problem, method=method, max_iterations=5000, **options)
    assert result.status == "inaccurate", result.message  # at rounding, after 300 steps in vain
    judged = result.history["natural_map_scaled"]
    assert result.natural_map_scaled == judged.min() == judged[-1]
    assert result.natural_map_scaled < 1e-9
    assert result.iterations < 5000
    short = cs.solve(problem, method="newton", max_iterations=220, **options)
    assert (short.status, short.iterations) == ("max_iterations", 220)


def test_damped_steps_solve_the_same():
    """Damping changes the way, not the end; too much of it is a bound of the proximal factor."""
    problem = moving_stack(3)
    for kind in WORDS:
        methods = [cs.methods.newton(kind=kind, start=5, levenberg=nu) for nu in (0.0, 1e-4)]
        plain, damped = (cs.solve(problem, method=method, **TIGHT) for method in methods)
        assert plain.converged, (kind, plain.message)
        assert damped.converged, (kind, damped.message)
        assert damped.impulses.tobytes() != plain.impulses.tobytes()
        assert judged(problem, damped.impulses) <= 1.01e-8


def test_an_interruption_is_heard_inside_a_factor():
    """A grid whose factor alone takes many times as long as Ctrl-C may take to be heard."""
    problem = cs.scenarios.ball_grid(14)
    solver = cs.Solver(problem, method=cs.methods.newton(start=0, factor_bytes=4e9))
    ctrl_c_ends(solver.solve, after=0.3, within=1.5)


def test_callbacks_stop_and_solvers_are_used_again():
    problem = moving_stack()
    solver = cs.Solver(problem, method=cs.methods.newton(start=10), **TIGHT)
    first = solver.solve()

    def stop(state):
        if state.iteration == 13:
            raise StopIteration

    stopped = solver.solve(callback=stop)
    assert (stopped.status, stopped.iterations) == ("stopped", 13)
    assert solver.solve().impulses.tobytes() == first.impulses.tobytes()
    assert solver.solve(initial=first).iterations == 0
    assert solver.solve(b=1.1 * problem.b, initial=first).converged
    problem.update(Minv=2.0 * problem.Minv)
    assert solver.solve().natural_map_scaled <= 1.01e-8


def test_problems_without_contacts():
    problem = cs.Problem(
        np.zeros((0, 2, 3, 6)), np.ones((2, 6)), np.zeros((0, 3)), 0.5, bodies=np.zeros((0, 2), int)
    )
    assert cs.solve(problem, method="newton").converged
