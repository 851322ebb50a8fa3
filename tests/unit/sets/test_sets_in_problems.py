"""The friction sets in problems: solutions, physics, and what is told and changed."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import contactsolve as cs
from agreement import SCHEMES, SOLVERS, generator, package_set
from contactsolve import sets, shapes
from contactsolve.friction import friction_used
from reference_numpy import ReferenceProblem, natural_map_scaled, random_problem
from repository import ROOT

KINDS = {
    "ellipse": 3,
    "polygon": 3,
    "contensou": 4,
    "contensou_coupled": 4,
    "second_order_cone": 3,
}
SOLVED = {**KINDS, "tresca": 3}


def mild(name: str) -> tuple[cs.Problem, ReferenceProblem]:
    """Contacts of bodies that touch little, with moderate friction: every method converges."""
    arrays = random_problem(generator("mild", name), 5, 6, SOLVED[name], 6, name, awkward=False)
    for key in ("mu", "mu1", "mu2"):
        if key in arrays.more:
            arrays.more[key] *= 0.4
    problem = cs.Problem(
        arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=package_set(arrays)
    )
    return problem, ReferenceProblem.from_arrays(arrays)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("method", SOLVERS)
@pytest.mark.parametrize("name", list(SOLVED))
def test_solutions_to_ten_digits(name, method, scheme):
    problem, reference = mild(name)
    # Growth of any size takes Jacobi out of its cycles; the residuals of sweeps forwards and
    # backwards, or half and whole, rise and fall in turn.
    growth = 1.0 if method == "jacobi" else 3.0
    options = {"method": method, "scheme": scheme, "max_iterations": 50000}
    options["rollback_growth"] = growth
    for dtype, tolerance in (("float64", 1e-10), ("float32", 1e-5)):
        result = cs.solve(problem, dtype=dtype, rtol=tolerance, **options)
        assert result.converged, result.message
        assert natural_map_scaled(reference, result.impulses.ravel()) <= 1.001 * tolerance


# ---- anisotropic friction ------------------------------------------------------------------------


def sliding(feasible: sets.Set, velocity, normal: float = -1.0, mass: float = 1.0) -> cs.Result:
    """A point mass that arrives at the ground with a velocity along the tangents."""
    rows = 1 + len(velocity)
    b = np.array([[normal, *velocity]])
    return cs.solve(
        cs.Problem.from_delassus(np.eye(rows) / mass, b, rows=rows, sets=feasible), rtol=1e-14
    )


@pytest.mark.parametrize("direction", np.linspace(0.1, 6.2, 9))
def test_an_ellipse_takes_the_most_work(direction):
    """S1 eq. 2.34: of all impulses in the set, the one against the velocity the most, and not
    opposite to it: lambda_t = -n (mu1^2 v1, mu2^2 v2) / |(mu1 v1, mu2 v2)| along the axes."""
    mu1, mu2, angle, mass = 0.6, 0.15, 0.3, 2.0
    v = 5.0 * np.array([np.cos(direction), np.sin(direction)])
    result = sliding(sets.ellipse(mu1, mu2, angle), v, mass=mass)
    lam, xi = result.impulses[0], result.residual_velocities[0]
    np.testing.assert_allclose(lam[0], mass)
    c, s = np.cos(angle), np.sin(angle)
    own = np.array([[c, s], [-s, c]])
    after = own @ xi[1:]
    wanted = -lam[0] * own.T @ (np.array([mu1, mu2]) ** 2 * after)
    np.testing.assert_allclose(lam[1:], wanted / np.hypot(mu1 * after[0], mu2 * after[1]))
    turns = np.linspace(0, 2 * np.pi, 200)
    others = lam[0] * np.stack([mu1 * np.cos(turns), mu2 * np.sin(turns)], axis=1) @ own
    assert np.min((others - lam[1:]) @ xi[1:]) >= -1e-12
    assert result.active.tolist() == ["slide"]
    assert xi[1:] @ lam[1:] < 0
    across = abs(lam[1] * xi[2] - lam[2] * xi[1])
    assert across > 0.05 * np.linalg.norm(lam[1:]) * np.linalg.norm(xi[1:])
    end = cs.solve(result.problem, initial=result, max_iterations=0, record=("dissipation_gap",))
    assert end.history["dissipation_gap"][-1] <= 1e-12


def test_a_slope_holds_along_one_axis_only():
    """Blocks on a slope between both angles of friction: ski uphill and across."""
    mu_along, mu_across = 0.05, 0.5
    slope = np.arctan(0.2)
    fall = 9.81 * 0.01
    b = np.tile([-fall * np.cos(slope), fall * np.sin(slope), 0.0], (3, 1))
    angle = np.array([0.0, np.pi / 2, np.pi / 4])
    problem = cs.Problem.from_delassus(np.eye(9), b, sets=sets.ellipse(mu_along, mu_across, angle))
    result = cs.solve(problem, rtol=1e-13)
    assert result.active.tolist() == ["slide", "stick", "slide"]
    # Across the slope the third is pushed aside, along its easy axis.
    assert result.residual_velocities[2, 2] > 1e-3


# ---- Contensou -----------------------------------------------------------------------------------


def spinning(feasible, spin: float, speed: float = 0.5) -> cs.Result:
    """A puck of 1 kg and radius 0.1 m that slides along t1 and spins."""
    J = cs.contact_jacobian([[0, 0, 0]], [[0, 0, 1]], [[-1, 0]], [[0, 0, 0.0]], spin=True)
    inertia = 0.5 * 0.1**2
    mass = np.array([[1, 1, 1, inertia / 2, inertia / 2, inertia]])
    t1 = J[0, 1, 1, :3]
    velocity = np.zeros((1, 6))
    velocity[0, :3], velocity[0, 5] = speed * t1, spin
    impulse = np.zeros((1, 6))
    impulse[0, 2] = -9.81 * 1e-3
    problem = cs.Problem.from_state(
        J, mass, velocity=velocity, impulse=impulse, bodies=[[-1, 0]], sets=feasible
    )
    return cs.solve(problem, rtol=1e-14, max_iterations=20000)


def test_friction_vanishes_with_spin():
    """S1 section 2.1.3: a spinning disc slides as if on ice. With the effective radius 2/3 a, the
    impulses are those of maximal dissipation: -mu n (v, (2/3 a)^2 omega) / |(v, 2/3 a omega)|."""
    mu, radius = 0.4, 0.1
    reach, friction = 2 / 3 * radius, []
    for spin in (0.0, 1.0, 10.0, 100.0, 1e4):
        result = spinning(sets.contensou_coupled(mu, radius), spin)
        lam, v = result.impulses[0], result.velocities[0]
        np.testing.assert_allclose(lam[0], 9.81e-3)
        size = np.hypot(np.hypot(v[1], v[2]), reach * v[3])
        wanted = -mu * lam[0] * np.array([v[1], v[2], reach**2 * v[3]]) / size
        np.testing.assert_allclose(lam[1:], wanted, rtol=1e-9, atol=1e-15)
        assert result.active.tolist() == ["slide"]
        assert result.energy().after < result.energy().before
        friction.append(np.linalg.norm(lam[1:3]))
    assert np.all(np.diff(friction) < 0)
    np.testing.assert_allclose(friction[0], mu * 9.81e-3)
    assert friction[-1] < 1e-3 * friction[0]


def test_decoupled_spin_leaves_friction_alone():
    mu, radius = 0.4, 0.1
    for spin in (0.0, 1.0, 1e4):
        lam = spinning(sets.contensou(mu, radius), spin).impulses[0]
        np.testing.assert_allclose(np.linalg.norm(lam[1:3]), mu * lam[0])
        np.testing.assert_allclose(-lam[3], 2 / 3 * mu * radius * lam[0] * np.sign(spin))


def test_spinning_on_the_spot_is_no_sliding():
    """As rolling is not; coupled, what spins fast slides with the least push."""
    still = spinning(sets.contensou(0.4, 0.1), spin=50.0, speed=0.0)
    assert still.active.tolist() == ["stick"]
    assert spinning(sets.contensou(0.4, 0.1), spin=50.0, speed=0.1).active.tolist() == ["slide"]
    coupled = spinning(sets.contensou_coupled(0.4, 0.1), spin=50.0, speed=1e-4)
    assert coupled.active.tolist() == ["slide"]
    assert abs(coupled.velocities[0, 1]) > 0.9e-4


def test_a_ring_of_contacts_is_a_patch():
    """Three points of a body that slide and spin together, against one contact with their patch."""
    place = 0.1 * np.array([[np.cos(t), np.sin(t)] for t in (0.3, 2.4, 4.5)])
    weight = np.full(3, 0.4 / 3)
    one = sets.support(shapes.patch(place, weight))
    result = spinning(one, spin=3.0)
    lam, v = result.impulses[0], result.velocities[0]
    motion = np.stack([v[1] - v[3] * place[:, 1], v[2] + v[3] * place[:, 0]], axis=1)
    f = -lam[0] * weight[:, None] * motion / np.linalg.norm(motion, axis=1)[:, None]
    moment = np.sum(place[:, 0] * f[:, 1] - place[:, 1] * f[:, 0])
    np.testing.assert_allclose(lam[1:], [*f.sum(axis=0), moment], rtol=1e-9, atol=1e-15)


# ---- the second-order cone -----------------------------------------------------------------------


def test_the_cone_is_the_convex_problem():
    """Sliding opens at mu times the speed, no work is done, and lambda minimises the energy."""
    problem, reference = mild("second_order_cone")
    result = cs.solve(problem, rtol=1e-13, max_iterations=20000)
    lam, xi = result.impulses, result.residual_velocities
    mu = problem.mu
    speed = np.linalg.norm(xi[:, 1:], axis=1)
    slides = result.active == "slide"
    assert slides.any()
    np.testing.assert_allclose(xi[slides, 0], (mu * speed)[slides], rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(np.sum(lam * xi, axis=1), 0.0, atol=1e-10)
    assert np.all(xi[:, 0] >= mu * speed - 1e-9)

    def energy(x):
        return 0.5 * x @ reference.A @ x + reference.b @ x

    rng = np.random.default_rng(2)
    least = energy(lam.ravel())
    for _ in range(200):
        other = problem.sets.project(lam + rng.normal(size=lam.shape) * 0.1)
        assert energy(other.ravel()) >= least - 1e-12
    end = cs.solve(problem, initial=lam, max_iterations=0, record=("complementarity",))
    assert end.history["complementarity"][-1] <= 1e-10


def test_a_cone_without_friction_is_a_half_line():
    arrays = random_problem(generator("cone"), 6, 4, 3, 6, "disc")
    given = arrays.J, arrays.Minv, arrays.b
    cone = cs.Problem(*given, bodies=arrays.bodies, sets=sets.second_order_cone(0.0))
    plain = cs.Problem(*given, bodies=arrays.bodies)
    for bound in ("current", "previous"):
        options = {"rtol": 1e-12, "bound": bound, "max_iterations": 20000}
        got, wanted = (cs.solve(one, **options).impulses for one in (cone, plain))
        np.testing.assert_allclose(got, wanted, atol=1e-10)


# ---- what is told --------------------------------------------------------------------------------


def test_activity_of_polygons_and_cones():
    """Open, well inside, beyond a side, and beyond a corner."""
    b = np.array([[1.0, 0, 0], [-1, 0.3, 0.1], [-1, 0.9, 0.8], [-1, 2, 0]])
    for one in (sets.polygon(0.8, sides=4), sets.second_order_cone(0.5), sets.ellipse(0.5, 0.6)):
        problem = cs.Problem.from_delassus(np.eye(12), b, sets=one)
        assert cs.solve(problem, rtol=1e-12).active.tolist() == ["open", "stick", "slide", "slide"]


@pytest.mark.parametrize("name", list(KINDS))
def test_fclib_has_no_word_for_them(name, tmp_path):
    problem, _ = mild(name)
    with pytest.raises(ValueError, match="circular friction cones"):
        cs.solve(problem, record=("fclib_error",))
    pytest.importorskip("h5py")
    with pytest.raises(ValueError, match=f"the set '{name}': FCLIB holds Coulomb and rolling"):
        cs.io.write_fclib(tmp_path / "problem.hdf5", problem)


def test_friction_used_of_every_set():
    """On the bound where projected from outside; half of it at half of the tangential impulse."""
    rng = np.random.default_rng(3)
    for one, rows in (
        (sets.disc(0.5), 3),
        (sets.box_friction(0.5), 3),
        (sets.ellipse(0.5, 0.2, 0.3), 3),
        (sets.polygon(0.5, sides=5), 3),
        (sets.contensou(0.5, 0.1), 4),
        (sets.contensou_coupled(0.5, 0.1), 4),
        (sets.rolling(0.5, 0.1), 5),
        (sets.second_order_cone(0.5), 2),
        (sets.second_order_cone(0.5), 3),
        (sets.support(shapes.superellipse(0.5, 0.3, 3.0)), 3),
    ):
        z = rng.normal(size=(30, rows)) * 20
        z[:, 0] = 1.0
        x = one.project(z)
        np.testing.assert_allclose(friction_used(one, x), 1.0, rtol=1e-12)
        x[:, 1:] *= 0.5
        np.testing.assert_allclose(friction_used(one, x), 0.5, rtol=1e-12)
        x[:, 1:] = 0.0
        np.testing.assert_array_equal(friction_used(one, x), 0.0)
    assert friction_used(sets.ellipse(0.5, 0.0), [[1.0, 0.1, 0.1]])[0] == np.inf
    assert friction_used(sets.disc(0.0), [[1.0, 0.1, 0.1]])[0] == np.inf
    for wrong in (sets.half_line(), sets.free(), sets.box(0, 1)):
        with pytest.raises(ValueError, match="a set with friction is needed"):
            friction_used(wrong, [[1.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match="the set 'disc' takes no blocks of 5 rows"):
        friction_used(sets.disc(0.5), [[1.0, 0.0, 0.0, 0.0, 0.0]])


@pytest.mark.parametrize("name", list(KINDS))
def test_the_cone_diagram_takes_them(name):
    plots = pytest.importorskip("matplotlib.pyplot")
    problem, _ = mild(name)
    ax = cs.plots.impulses(cs.solve(problem, rtol=1e-10, max_iterations=20000))
    heights = np.concatenate([found.get_offsets()[:, 1] for found in ax.collections])
    assert np.max(heights) <= 1 + 1e-6
    plots.close(ax.figure)


# ---- what is changed -----------------------------------------------------------------------------


def test_groups_of_several_sets_and_sizes():
    """Polygons of different corners beside ellipses, joints and spinning contacts."""
    arrays = {
        name: random_problem(generator("groups", name), 4, 5, rows, 6, name)
        for name, rows in (("polygon", 3), ("ellipse", 3), ("contensou_coupled", 4), ("free", 2))
    }
    triangle = random_problem(generator("triangle"), 3, 5, 3, 6, "disc")
    first = arrays["polygon"]
    groups = [cs.Group(one.J, one.bodies, one.b, sets=package_set(one)) for one in arrays.values()]
    groups.append(
        cs.Group(triangle.J, triangle.bodies, triangle.b, sets=sets.polygon(0.3, sides=3))
    )
    problem = cs.Problem(groups=groups, bodies=[cs.Bodies(first.Minv)])
    options = {"rtol": None, "atol": None, "max_iterations": 3}
    by_call = cs.Solver(problem, **options).solve(mu=[0.2, None, 0.1, None, 0.4])
    problem.update(mu=[0.2, None, 0.1, None, 0.4])
    updated = cs.solve(problem, **options)
    for got, wanted in zip(updated.impulses, by_call.impulses, strict=True):
        np.testing.assert_array_equal(got, wanted)
    again = pickle.loads(pickle.dumps(problem))
    for got, wanted in zip(cs.solve(again, **options).impulses, updated.impulses, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_update_takes_other_parameters_of_the_same_set():
    problem, _ = mild("ellipse")
    solver = cs.Solver(problem, rtol=1e-12, max_iterations=20000)
    solver.solve()
    other = sets.ellipse(0.1, 0.3, 0.5)
    problem.update(sets=other)
    built = cs.Problem(problem.J, problem.Minv, problem.b, bodies=problem.bodies, sets=other)
    wanted = cs.solve(built, rtol=1e-12, max_iterations=20000).impulses
    np.testing.assert_array_equal(solver.solve().impulses, wanted)
    given = cs.Problem.from_delassus(np.eye(3), np.ones((1, 3)), sets=sets.polygon(0.5))
    given.update(sets=sets.polygon(0.2, inscribed=False))
    np.testing.assert_array_equal(given.mu, [0.2])


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    (
        ({"mu": 0.3}, ValueError, "the set 'ellipse' takes none: it has mu1 and mu2, which"),
        ({"sets": sets.disc(0.3)}, ValueError, "a problem keeps its kind of set, 'ellipse'"),
        ({"sets": sets.ellipse}, TypeError, r"call it, sets.ellipse\(...\)"),
        ({"sets": sets.ellipse(1, 1), "mu": 1}, ValueError, "has its own parameters: leave out"),
        ({"sets": sets.ellipse(-1, 1)}, ValueError, r"mu1\[0\] is -1"),
    ),
)
def test_wrong_updates_change_nothing(options, kind, words):
    problem, _ = mild("ellipse")
    before = problem.sets.parameters(5, 3)
    with pytest.raises(kind, match=words):
        problem.update(**options)
    np.testing.assert_array_equal(problem.sets.parameters(5, 3), before)


def test_polygons_keep_their_number_of_corners():
    problem = cs.Problem.from_delassus(np.eye(3), np.ones((1, 3)), sets=sets.polygon(0.5, sides=6))
    with pytest.raises(ValueError, match="another structure"):
        problem.update(sets=sets.polygon(0.5, sides=7))


def test_static_and_kinetic_friction_of_a_polygon():
    slope = np.arctan([0.3, 0.45, 0.6])
    fall = 9.81 * 0.01
    b = np.stack([-fall * np.cos(slope), fall * np.sin(slope), 0 * slope], axis=1)
    problem = cs.Problem.from_delassus(np.eye(9), b, sets=sets.polygon(0.5, sides=4))
    result = cs.solve_static_kinetic(problem, 0.5, 0.2, rtol=1e-12)
    assert result.active.tolist() == ["stick", "stick", "slide"]
    np.testing.assert_array_equal(result.info["static_kinetic"]["mu"], [0.5, 0.5, 0.2])
    ellipses = cs.Problem.from_delassus(np.eye(9), b, sets=sets.ellipse(0.5, 0.5))
    with pytest.raises(ValueError, match="the set 'ellipse' takes none"):
        cs.solve_static_kinetic(ellipses, 0.5, 0.2)


def test_what_a_set_prints_makes_it_again():
    made = [
        sets.free(),
        sets.half_line(),
        sets.disc(0.5),
        sets.disc(1 / 3),
        sets.disc([0.1, 0.25]),
        sets.box(-np.inf, [[0.5, np.inf]]),
        sets.box_friction(1e-9),
        sets.rolling(0.5, 0.01),
        sets.ellipse(0.5, 0.2, 0.1),
        sets.polygon(0.5, sides=6),
        sets.polygon(vertices=[[1, 0], [0, 1], [-1, -1]]),
        sets.contensou(0.5, 0.1),
        sets.second_order_cone(0.7),
        sets.tresca(2.0, 0.5),
    ]
    for one in made:
        again = eval(repr(one), {"sets": sets, "np": np})
        assert again.name == one.name
        for new, old in zip(again.values, one.values, strict=True):
            np.testing.assert_array_equal(new.value, old.value)
    assert repr(sets.disc(np.linspace(0, 1, 50))) == "sets.disc(<array (50,)>)"


def test_sets_are_what_the_module_shows():
    assert set(sets.names()) <= set(dir(sets))
    assert "support_function" not in sets.names()
    assert "np" not in dir(sets)


def test_no_module_compares_the_name_of_a_set():
    """They ask for its properties (`_core.describe_set`), so that a new set works at once."""
    names = "|".join(sets.names())
    compared = re.compile(rf'\.name (?:==|!=|in|not in) \(?(?:"\w+", )*"(?:{names})"')
    assert compared.search('if problem.sets.name not in ("rolling", "disc"):')
    for file in Path(cs.__file__).parent.rglob("*.py"):
        if file.name != "sets.py":
            assert not compared.search(file.read_text(encoding="utf-8")), file


def test_no_method_in_c_compares_the_kind_of_a_set():
    """Only sweeps name kinds: their bodies are compiled for those that matter (`scheme/*.inc`)."""
    named = re.compile(r"\bCS_SET_[a-z]")
    compiled = {"packed.h", "scheme.c"}  # a group's kind, which the bodies are called with
    assert named.search("if (set->kind == CS_SET_disc)")
    for file in sorted((ROOT / "csrc").rglob("*.[chi]*")):
        folder = file.relative_to(ROOT / "csrc").parts[0]
        bodies = file.parent.name == "scheme" and (file.suffix == ".inc" or file.name in compiled)
        if folder != "prox" and not bodies:
            assert not named.search(file.read_text(encoding="utf-8")), file
