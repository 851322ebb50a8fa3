"""Sweeps on the emulated device have the bits of the processor's."""

import numpy as np
import pytest

import contactsolve as cs
from agreement import EXACTLY, package_set
from contactsolve import dynamics
from emulated import DEVICE, EMULATED, ROUNDED, TURNS, on_both, same_bits, turns
from reference_numpy import random_problem

# The kernels round as vectors of 32 bytes do: sums by fused multiply-add, exact roots.
LIKE_KERNELS = {"instructions": "avx2"}
needs_avx2 = pytest.mark.skipif(
    not cs.info()["instructions"].get("avx2"), reason="this processor has no AVX2"
)
ADDING = cs.schemes.factorized(velocities="add")
SCALAR = {"instructions": "scalar"}
SETS = (
    ("free", 4),
    ("box", 2),
    ("half_line", 1),
    ("disc", 2),
    ("disc", 3),
    ("box_friction", 3),
    ("rolling", 5),
    ("ellipse", 3),
    ("polygon", 3),
    ("contensou", 4),
    ("contensou_coupled", 4),
    ("second_order_cone", 3),
    ("tresca", 3),
)
SWEEPING = (
    "gauss_seidel",
    "symmetric_gauss_seidel",
    "jacobi",
    "mass_splitting",
    "nesterov",
    "momentum",
    "nncg",
    "anderson",
    "chebyshev",
)


def scenarios():
    yield "spheres", cs.scenarios.ball_grid(4)
    yield "boxes", cs.scenarios.box_stack(6)
    yield "discs", cs.scenarios.disc_pyramid(8)


SCENARIOS = dict(scenarios())


@needs_avx2
@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "mixed"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_coloured_sweeps(name, dtype, compressed):
    options = {"order": "colored", "scheme": "factorized", "compressed": compressed}
    for method in ("gauss_seidel", "jacobi"):
        same_bits(
            *on_both(SCENARIOS[name], method=method, dtype=dtype, here=LIKE_KERNELS, **options)
        )


@pytest.mark.parametrize("name", SCENARIOS)
def test_float32_rounds_differently(name):
    """The processor's vectors approximate roots: a bound in units of rounding."""
    options = {"order": "colored", "scheme": "factorized", "dtype": "float32"}
    here, there = on_both(SCENARIOS[name], method="gauss_seidel", here=LIKE_KERNELS, **options)
    largest = np.abs(here.impulses).max()
    assert np.abs(here.impulses - there.impulses).max() <= 64 * np.finfo(np.float32).eps * largest


@pytest.mark.parametrize("scheme", ["factorized", "matrix", "iteration_matrix"])
@pytest.mark.parametrize(("set_name", "rows"), SETS)
def test_every_set_one_visit_after_another(set_name, rows, scheme):
    for seed in range(3):
        arrays = random_problem(np.random.default_rng(seed), 12, 9, rows, 6, set_name)
        problem = cs.Problem(
            arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=package_set(arrays)
        )
        options = {"method": "gauss_seidel", "order": "natural", "scheme": scheme}
        here, there = on_both(problem, 10, here=SCALAR, **options)
        if set_name in ROUNDED:
            np.testing.assert_allclose(there.impulses, here.impulses, rtol=0, atol=1e-14)
        else:
            same_bits(here, there)


@needs_avx2
@pytest.mark.parametrize("method", SWEEPING)
def test_methods(method):
    for bound in ("current", "previous"):
        here, there = on_both(
            SCENARIOS["spheres"],
            method=method,
            order="colored",
            scheme="factorized",
            bound=bound,
            here=LIKE_KERNELS,
        )
        assert here.iterations == there.iterations
        largest = np.abs(here.impulses).max()
        assert np.abs(here.impulses - there.impulses).max() <= 1e-12 * largest


@pytest.mark.parametrize(
    "order", ["natural", "reverse", "colored", "cache", "partition", "regions", "random", "panels"]
)
def test_orders(order):
    if order == "panels":
        order = cs.orders.panels(contacts=5)
    options = {"method": "gauss_seidel", "order": order, "scheme": "matrix"}
    if order == "random":
        options["rng"] = 3
    same_bits(*on_both(SCENARIOS["boxes"], here=SCALAR, **options))


@pytest.mark.parametrize("dtype", ["float32", "float64", "mixed"])
def test_turns_of_threads_do_not_matter(dtype):
    results = []
    for turn in TURNS:
        with turns(turn, 7):
            for method in ("gauss_seidel", "jacobi"):
                solver = cs.Solver(
                    SCENARIOS["boxes"],
                    method=method,
                    dtype=dtype,
                    rtol=None,
                    max_iterations=20,
                    record=("residual",),
                    **EMULATED,
                )
                results.append(solver.solve())
    for i, result in enumerate(results[2:]):
        same_bits(results[i % 2], result)


@needs_avx2
def test_solves_to_a_tolerance_stop_after_as_many_sweeps():
    for method in ("gauss_seidel", "nesterov"):
        options = {"method": method, "order": "colored", "scheme": "factorized", "rtol": 1e-8}
        here, there = on_both(SCENARIOS["spheres"], 2000, here=LIKE_KERNELS, **options)
        assert here.converged
        assert there.converged
        assert here.iterations == there.iterations
        assert there.natural_map_scaled <= 1e-8


@needs_avx2
def test_a_divergent_sweep_is_rolled_back():
    """Jacobi diverges with R of this size; the best iterate comes back, and R is halved."""
    options = {
        "method": "jacobi",
        "scheme": "factorized",
        "relaxation": 5.0,
        "rollback_growth": 1.0,
        "check_every": 7,
    }
    problem = SCENARIOS["spheres"]
    here, there = on_both(problem, 60, here=LIKE_KERNELS, **options)
    assert here.info["rollbacks"] > 0
    assert here.info["rollbacks"] == there.info["rollbacks"]
    np.testing.assert_array_equal(here.impulses, there.impulses)


def test_warm_starts_updates_callbacks_and_records():
    problem = SCENARIOS["spheres"]
    solver = cs.Solver(problem, method="gauss_seidel", rtol=1e-8, **EMULATED)
    first = solver.solve()
    seen = []
    again = solver.solve(initial=first, callback=lambda state: seen.append(state.iteration))
    assert again.converged
    assert again.iterations < first.iterations
    assert seen == list(range(1, again.iterations + 1))
    other = solver.solve(b=2 * problem.b)
    np.testing.assert_allclose(other.impulses, 2 * first.impulses, rtol=1e-5, atol=1e-7)
    assert DEVICE in solver.info["kernel"]


def test_a_problem_whose_values_change():
    problem = cs.scenarios.box_stack(4)
    solver = cs.Solver(problem, method="gauss_seidel", rtol=1e-9, **EMULATED)
    first = solver.solve()
    problem.update(J=2 * problem.J)
    second = solver.solve()
    fresh = cs.Solver(problem, method="gauss_seidel", rtol=1e-9, **EMULATED).solve()
    np.testing.assert_array_equal(second.impulses, fresh.impulses)
    assert not np.array_equal(first.impulses, second.impulses)


def test_islands_and_comparisons():
    problem = cs.scenarios.ball_grid(3)
    result = cs.solve(problem, method="gauss_seidel", rtol=1e-8, islands="auto", **EMULATED)
    assert result.converged
    table = cs.compare(
        problem,
        [
            cs.Method("gauss_seidel", label="here"),
            cs.Method("gauss_seidel", label="there", **EMULATED),
        ],
        rtol=1e-6,
    )
    assert [row.status for row in table] == ["converged", "converged"]


def test_a_world_steps_on_the_device():
    def world(**options):
        one = dynamics.World(time_step=2e-3, method="gauss_seidel", order="colored", **options)
        one.add_fixed(dynamics.HalfSpace([0.0, 0.0, 1.0]))
        for i in range(4):
            one.add_body(dynamics.Sphere(0.1), [0.01 * i, 0.0, 0.1 + 0.21 * i], density=1e3)
        return one

    here, there = world(), world(**EMULATED)
    here.run(60)
    there.run(60)
    np.testing.assert_allclose(there.positions, here.positions, atol=1e-6)


def test_spheres_in_a_box_have_the_states_of_the_processor():
    """S2's motion: bit for bit in float64, while spheres fall and land."""
    sweeps = {"method": "gauss_seidel", "max_iterations": 10, "rtol": None, "atol": None}
    sweeps["scheme"] = "factorized"  # "auto" weighs the costs of the processor alone

    def run(**options):
        world = dynamics.scenes.spheres_in_a_box(
            12, time_step=4e-3, order="colored", **sweeps, **options
        )
        record = world.run(60)
        return world, record["contacts"]

    here, contacts = run(instructions="avx2", threads=1)
    there, on_device = run(**EMULATED)
    assert contacts.max() > 8
    np.testing.assert_array_equal(on_device, contacts)
    for name in ("positions", "orientations", "velocities"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scheme": "half_sweep"}, f"scheme='half_sweep' has no kernels for device='{DEVICE}'"),
        ({"order": "ranges"}, f"order='ranges'.*device='{DEVICE}'"),
        ({"device": "gpu"}, "device: 'gpu' is unknown; known: cpu, cuda, cuda-emulated"),
        (
            {"scheme": cs.schemes.factorized(velocities="add"), "method": "jacobi"},
            "velocities='add'",
        ),
    ],
)
def test_what_has_no_kernels_is_refused(options, words):
    options = {"method": "gauss_seidel", **EMULATED, **options}
    with pytest.raises(ValueError, match=words):
        cs.Solver(SCENARIOS["boxes"], **options)


@pytest.mark.parametrize("way", ["launches", "graph"])
def test_the_kernel_ends_with_the_way_of_its_launches(way):
    """Also where it has much to tell of groups."""
    options = {"method": "gauss_seidel", "device_sweeps": way, **EMULATED}
    kernel = cs.Solver(cs.scenarios.chain(), **options).info["kernel"]
    assert kernel.startswith(f"{DEVICE}, ")
    assert kernel.endswith(f", {way}")


def test_a_function_of_the_caller_is_refused():
    arrays = random_problem(np.random.default_rng(1), 4, 3, 3, 6, "half_line")
    sets = cs.sets.support(lambda direction: np.copysign(0.3, direction))
    problem = cs.Problem(arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=sets)
    with pytest.raises(ValueError, match="a set calls a function of the caller"):
        cs.Solver(problem, method="gauss_seidel", **EMULATED)


def test_contacts_of_four_bodies_are_visited_by_rows_alone():
    arrays = random_problem(np.random.default_rng(1), 30, 60, 3, 3, "disc", partners=4)
    problem = cs.Problem(
        arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=package_set(arrays)
    )
    wrong = f"group 0 has contacts of 4 bodies, .* no kernels for device='{DEVICE}'"
    with pytest.raises(ValueError, match=wrong):
        cs.Solver(problem, scheme="factorized", **EMULATED)

    # The scheme "auto" takes rows.
    options = {"method": "gauss_seidel", "order": "colored", "max_iterations": 5} | EXACTLY
    found = cs.solve(problem, **options, **EMULATED)
    wanted = cs.solve(problem, scheme="matrix", instructions="scalar", **options)
    assert found.info["scheme"] == "matrix"
    np.testing.assert_allclose(found.impulses, wanted.impulses, rtol=0, atol=1e-13)
