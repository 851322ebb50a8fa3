"""Every form in which a problem may be handed over, against the plain equations in NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse

import contactsolve as cs
from agreement import (
    DTYPES,
    EXACTLY,
    SCHEMES,
    SOLVERS,
    assert_close,
    assert_impulses_agree,
    case_name,
    flat,
    generator,
    package_set,
    pairwise,
)
from reference_numpy import (
    Disc,
    HalfLine,
    ProblemArrays,
    ReferenceProblem,
    block_slices,
    random_inverse_mass,
    random_problem,
    random_set_parameters,
)

# ---- groups of contacts and of bodies -----------------------------------------------------------

COMPLIANCES = {
    "none": lambda rng, K, m: None,
    "number": lambda rng, K, m: 0.3,
    "per row": lambda rng, K, m: rng.uniform(0, 0.5, m),
    "per block": lambda rng, K, m: rng.uniform(0, 0.5, (K, 1)),
    "full": lambda rng, K, m: rng.uniform(0, 0.5, (K, m)),
}
DOFS = (12, 6, 3)  # of the body groups: two robots, five boxes, three vertices
COUNTS = (2, 5, 3)


def body_groups(rng, diagonal: bool) -> list[np.ndarray]:
    """The inverse masses; box 2 does not move."""
    masses = [
        random_inverse_mass(rng, COUNTS[0], 12, diagonal=False),
        random_inverse_mass(rng, COUNTS[1], 6, diagonal=diagonal),
        random_inverse_mass(rng, COUNTS[2], 3, diagonal=not diagonal),
    ]
    masses[1][0] = 0.0
    return masses


def random_group(rng, K, set_name, rows, dofs, compliance="none") -> tuple[ProblemArrays, object]:
    """Blocks between bodies of two sizes, world partners and self-contacts; Sigma as given."""
    first = np.cumsum([0, *COUNTS])
    kinds = [DOFS.index(dof) for dof in dofs]
    numbers = [np.arange(first[kind], first[kind + 1]) for kind in kinds]
    bodies = np.stack([rng.choice(n, K) for n in numbers], axis=1)
    bodies[0, rng.integers(2)] = -1
    if dofs[0] == dofs[1]:
        bodies[1] = bodies[1, 0]
        J = rng.normal(size=(K, 2, rows, dofs[0]))
    else:
        J = tuple(rng.normal(size=(K, rows, dof)) for dof in dofs)
    given = COMPLIANCES[compliance](rng, K, rows)
    sigma = None if given is None else np.array(np.broadcast_to(given, (K, rows)))
    parameters = random_set_parameters(rng, K, rows, set_name)
    b = rng.normal(size=(K, rows))
    if set_name == "box":
        parameters = {"lo": np.minimum(parameters["lo"], 0), "hi": np.maximum(parameters["hi"], 0)}
    arrays = ProblemArrays(J, None, b, bodies, set_name, **parameters, compliance=sigma)
    return arrays, given


def package_groups(groups) -> list[cs.Group]:
    return [
        cs.Group(x.J, x.bodies, x.b, sets=package_set(x), compliance=given) for x, given in groups
    ]


def package_bodies(masses) -> list[cs.Bodies]:
    return [cs.Bodies(one, diagonal=one.ndim == 2 or None) for one in masses]


GROUP_OPTIONS = {
    "joint": (("free", 1), ("free", 5), ("free", 6), ("box", 1), ("box", 4)),
    "contact": (("disc", 2), ("disc", 3), ("half_line", 1), ("half_line", 3)),
    "joint_dofs": ((6, 6), (12, 6), (6, 12), (3, 6), (12, 12)),
    "contact_dofs": ((6, 6), (12, 6), (6, 3), (3, 3)),
    "compliance": tuple(COMPLIANCES),
    "diagonal": (False, True),
    "solver": SOLVERS,
    "scheme": SCHEMES,
    "dtype": DTYPES,
    "sweeps": (1, 2, 3),
}


@pytest.mark.parametrize("case", pairwise(GROUP_OPTIONS, 4), ids=case_name)
def test_joints_beside_contacts_between_bodies_of_different_sizes(case):
    rng = generator("groups", case)
    masses = body_groups(rng, case["diagonal"])
    groups = [
        random_group(rng, 4, *case["contact"], case["contact_dofs"]),
        random_group(rng, 3, *case["joint"], case["joint_dofs"], case["compliance"]),
        random_group(rng, 2, "free", 2, (6, 6)),
    ]
    problem = cs.Problem(groups=package_groups(groups), bodies=package_bodies(masses))
    reference = ReferenceProblem.from_groups(masses, [arrays for arrays, _ in groups])
    assert_close(problem.delassus().toarray(), reference.A, 1e-13, "A")
    options = {name: case[name] for name in ("solver", "scheme", "dtype", "sweeps")}
    result = assert_impulses_agree(problem, reference, **options)
    assert [part.shape for part in result.impulses] == [x.b.shape for x, _ in groups]
    assert [part.shape for part in result.body_velocity_change] == [(2, 12), (5, 6), (3, 3)]


def test_a_problem_of_groups_tells_what_it_holds():
    rng = generator("read back")
    masses = body_groups(rng, True)
    groups = [
        random_group(rng, 3, "disc", 3, (12, 6), "full"),
        random_group(rng, 2, "free", 4, (6, 6)),
    ]
    problem = cs.Problem(groups=package_groups(groups), bodies=package_bodies(masses), name="robot")
    assert (problem.contacts, problem.rows, problem.dof) == (5, [3, 4], 24 + 30 + 9)
    assert (problem.bodies_count, problem.name) == (10, "robot")
    for half, given in zip(problem.J[0], groups[0][0].J, strict=True):
        np.testing.assert_array_equal(half, given)
    np.testing.assert_array_equal(problem.J[1], groups[1][0].J)
    for got, given in zip(problem.Minv, masses, strict=True):
        np.testing.assert_array_equal(got, given)
    np.testing.assert_array_equal(problem.b[1], groups[1][0].b)
    np.testing.assert_array_equal(problem.bodies[0], groups[0][0].bodies)
    np.testing.assert_array_equal(problem.mu[0], groups[0][0].mu)
    np.testing.assert_array_equal(problem.compliance[0], groups[0][1])
    assert problem.mu[1] is None
    assert problem.compliance[1] is None
    assert [one.name for one in problem.sets] == ["disc", "free"]
    for array in (*problem.J[0], problem.J[1], *problem.Minv, *problem.b, problem.compliance[0]):
        assert not array.flags.writeable
    assert "3 of 3 rows in disc, 2 of 4 rows in free" in repr(problem)


def test_one_group_is_the_plain_problem():
    rng = generator("one group")
    arrays = random_problem(rng, 5, 3, 3, 6, "disc")
    plain = cs.Problem(arrays.J, arrays.Minv, arrays.b, arrays.mu, bodies=arrays.bodies)
    group = cs.Group(arrays.J, arrays.bodies, arrays.b.ravel(), arrays.mu)
    grouped = cs.Problem(groups=[group], bodies=[cs.Bodies(arrays.Minv)])
    for scheme in SCHEMES:
        options = {"scheme": scheme, "max_iterations": 4, **EXACTLY}
        one, (other,) = cs.solve(plain, **options).impulses, cs.solve(grouped, **options).impulses
        np.testing.assert_array_equal(one, other)


def test_empty_groups_change_nothing():
    rng = generator("empty groups")
    masses = body_groups(rng, False)
    groups = package_groups([random_group(rng, 4, "disc", 3, (6, 6))])
    none = cs.Group(np.zeros((0, 2, 2, 12)), np.zeros((0, 2), int), [], sets=cs.sets.free())
    bodies = package_bodies(masses)
    alone = cs.solve(cs.Problem(groups=groups, bodies=bodies), max_iterations=3, **EXACTLY)
    for placed in ([none, *groups], [*groups, none]):
        result = cs.solve(cs.Problem(groups=placed, bodies=bodies), max_iterations=3, **EXACTLY)
        np.testing.assert_array_equal(flat(result.impulses), flat(alone.impulses))
        assert sorted(len(part) for part in result.impulses) == [0, 4]
    nothing = cs.solve(cs.Problem(groups=[], bodies=[]))
    assert (nothing.converged, nothing.impulses, nothing.body_velocity_change) == (True, [], [])


@pytest.mark.parametrize("columns", (0, 1, 64))
def test_the_fixed_world_has_any_number_of_columns(columns):
    """J of the world plays no part, whatever its width."""
    rng = generator("world")
    arrays = random_problem(rng, 4, 3, 3, 6, "disc", awkward=False)
    arrays.bodies[:, 0], arrays.bodies[:, 1] = -1, [0, 1, 2, 0]
    pair = rng.normal(size=(4, 3, columns)), arrays.J[:, 1]
    group = cs.Group(pair, arrays.bodies, arrays.b, arrays.mu)
    problem = cs.Problem(groups=[group], bodies=[cs.Bodies(arrays.Minv)])
    reference = ReferenceProblem.from_arrays(arrays)
    for solver, scheme in itertools.product(SOLVERS, SCHEMES):
        assert_impulses_agree(problem, reference, solver=solver, scheme=scheme)


def robot_among_boxes(rng):
    """One body of 12 generalised coordinates touches four boxes; the boxes touch each other."""
    factor = rng.normal(size=(12, 12))
    mass = factor @ factor.T + np.eye(12)
    masses = [np.linalg.inv(mass)[None], random_inverse_mass(rng, 4, 6, diagonal=True)]
    touching = np.array([[0, 1], [0, 2], [0, 3], [0, 4], [0, -1]])
    J = rng.normal(size=(5, 3, 12)), rng.normal(size=(5, 3, 6))
    arms = ProblemArrays(J, None, rng.normal(size=(5, 3)), touching, "disc", mu=np.full(5, 0.5))
    resting = np.array([[1, 2], [2, 3], [-1, 1], [-1, 3]])
    J, b = rng.normal(size=(4, 2, 3, 6)), rng.normal(size=(4, 3))
    stack = ProblemArrays(J, None, b, resting, "disc", mu=np.full(4, 0.5))
    return mass, masses, [arms, stack]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_robot_among_boxes_equals_its_dense_delassus_form(solver, dtype):
    mass, masses, groups = robot_among_boxes(generator("robot"))
    reference = ReferenceProblem.from_groups(masses, groups)
    robot = cs.Bodies(mass=mass, diagonal=False)
    made = [cs.Group(x.J, x.bodies, x.b, x.mu) for x in groups]
    problem = cs.Problem(groups=made, bodies=[robot, cs.Bodies(masses[1])])
    dense = cs.Problem.from_delassus(reference.A, reference.b, 0.5)
    coordinates = cs.Problem(
        reference.jacobian, reference.inverse_mass, reference.b, 0.5, compliance=0.0
    )
    for sweeps in (1, 2, 3):
        for scheme in SCHEMES:
            options = {"solver": solver, "dtype": dtype, "sweeps": sweeps, "scheme": scheme}
            assert_impulses_agree(problem, reference, **options)
        options["scheme"] = "matrix"
        assert_impulses_agree(coordinates, reference, **options)
        given = ReferenceProblem(reference.A, reference.b, reference.blocks, reference.sets)
        assert_impulses_agree(dense, given, **options)


# ---- J of any pattern ---------------------------------------------------------------------------

JACOBIAN_FORMS = {
    "dense": lambda J: J,
    "csr": scipy.sparse.csr_array,
    "csc": scipy.sparse.csc_matrix,
    "coo": scipy.sparse.coo_matrix,
    "coo in halves": lambda J: halves(J),
    "bsr": lambda J: scipy.sparse.bsr_array(J, blocksize=(2, 3)),
}
INVERSE_FORMS = {
    "flat": lambda M: np.diag(M).copy(),
    "dense": lambda M: M,
    "csr": scipy.sparse.csr_array,
    "coo": scipy.sparse.coo_array,
    "blocks": lambda M: np.stack([M[i : i + 3, i : i + 3] for i in range(0, len(M), 3)]),
    "block": lambda M: M[None],
}


def halves(J: np.ndarray):
    """Every entry twice, half each: COO adds them up."""
    row, column = np.nonzero(J)
    data, where = J[row, column] / 2, (np.tile(row, 2), np.tile(column, 2))
    return scipy.sparse.coo_array((np.tile(data, 2), where), shape=J.shape)


def random_pattern(rng, K, rows, dof) -> np.ndarray:
    """Rows that reach three coordinates anywhere."""
    J = np.zeros((K * rows, dof))
    for row in J:
        row[rng.choice(dof, 3, replace=False)] = rng.normal(size=3)
    return J


def random_mass(rng, dof, form) -> np.ndarray:
    """Positive definite, and no more than what the form can hold."""
    factor = rng.normal(size=(dof, dof))
    mass = factor @ factor.T / dof + np.eye(dof)
    keep = {"flat": 1, "blocks": 3}.get(form, dof)
    where = np.arange(dof) // keep
    return np.where(where[:, None] == where, mass, 0.0)


MATRIX_OPTIONS = {
    "J": tuple(JACOBIAN_FORMS),
    "form": tuple(INVERSE_FORMS),
    "given": ("Minv", "mass"),
    "compliance": tuple(COMPLIANCES),
    "rows": (1, 2, 3),
    "solver": SOLVERS,
    "dtype": DTYPES,
    "sweeps": (1, 2, 3),
}


@pytest.mark.parametrize("case", pairwise(MATRIX_OPTIONS, 5), ids=case_name)
def test_jacobians_of_any_pattern(case):
    rng = generator("pattern", case)
    K, rows, dof = 8, case["rows"], 12
    J, mass = random_pattern(rng, K, rows, dof), random_mass(rng, dof, case["form"])
    inverse, b, mu = np.linalg.inv(mass), rng.normal(size=(K, rows)), rng.uniform(0.1, 1.0, K)
    given = COMPLIANCES[case["compliance"]](rng, K, rows)
    sigma = np.zeros((K, rows)) if given is None else np.broadcast_to(given, (K, rows))
    frictional = rows > 1
    problem = cs.Problem(
        JACOBIAN_FORMS[case["J"]](J),
        b=b,
        mu=mu if frictional else None,
        rows=rows,
        compliance=given,
        **{
            case["given"]: INVERSE_FORMS[case["form"]](inverse if case["given"] == "Minv" else mass)
        },
    )
    reference = ReferenceProblem(
        A=J @ inverse @ J.T + np.diag(sigma.ravel()),
        b=b.ravel(),
        blocks=block_slices([rows] * K),
        sets=[Disc(rows, mu[k]) if frictional else HalfLine(rows) for k in range(K)],
        jacobian=J,
        inverse_mass=inverse,
    )
    assert_close(problem.delassus().toarray(), reference.A, 1e-13, "A")
    options = {name: case[name] for name in ("solver", "dtype", "sweeps")}
    result = assert_impulses_agree(problem, reference, scheme="matrix", **options)
    assert result.body_velocity_change.shape == (dof,)
    read = problem.J.toarray() if scipy.sparse.issparse(problem.J) else problem.J
    np.testing.assert_array_equal(read, J)
    assert (problem.Minv is None) == (case["given"] == "mass" and case["form"] != "flat")
    assert problem.bodies is None
    assert (problem.compliance is None) == (given is None)


def test_sparse_masses_stay_sparse():
    """A chain of 3,000 coordinates: dense it would take 72 MB for M alone."""
    dof = 3000
    mass = scipy.sparse.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(dof, dof))
    J = scipy.sparse.csr_array((np.ones(9), (np.arange(9), 300 * np.arange(9))), shape=(9, dof))
    A = cs.Problem(J, mass=mass, b=np.ones(9)).delassus().toarray()
    # Green's function of the chain, far from its ends: (M^-1)_ii = 1 / sqrt(2.5^2 - 4).
    np.testing.assert_allclose(np.diag(A)[1:], 1 / 1.5, rtol=1e-12)
    assert abs(A[1, 2]) < 1e-15


# ---- masses -------------------------------------------------------------------------------------


def test_forms_of_bodies():
    rng = generator("bodies")
    blocks = random_inverse_mass(rng, 4, 3, diagonal=False)
    diagonals = random_inverse_mass(rng, 4, 3, diagonal=True)
    square = np.diag([1.0, 2.0, 3.0]) + 0.1
    assert [(x.count, x.dof) for x in (cs.Bodies(blocks), cs.Bodies(diagonals))] == [(4, 3)] * 2
    robot, three = cs.Bodies(square, diagonal=False), cs.Bodies(square, diagonal=True)
    assert (robot.count, robot.dof, three.count, three.dof) == (1, 3, 3, 3)
    assert repr(robot) == "Bodies(1 of 3 degrees of freedom)"
    np.testing.assert_array_equal(robot.inverse_mass, square[None])
    np.testing.assert_array_equal(three.inverse_mass, square)
    with pytest.raises(ValueError, match="give diagonal=True or diagonal=False"):
        cs.Bodies(square)
    one = cs.Bodies([[2.0]])  # one body of one degree of freedom, either way
    assert (one.count, one.dof) == (1, 1)
    np.testing.assert_allclose(cs.Bodies(mass=[[4.0]]).inverse_mass, [[0.25]])


@pytest.mark.parametrize("diagonal", (False, True))
def test_masses_mean_their_inverses(diagonal):
    rng = generator("mass", diagonal)
    arrays = random_problem(rng, 5, 4, 3, 6, "disc", awkward=False, diagonal=diagonal)
    mass = 1 / arrays.Minv if diagonal else np.linalg.inv(arrays.Minv)
    mass = mass if diagonal else (mass + mass.transpose(0, 2, 1)) / 2
    reference = ReferenceProblem.from_arrays(arrays)
    group = cs.Group(arrays.J, arrays.bodies, arrays.b, arrays.mu)
    for problem in (
        cs.Problem(arrays.J, b=arrays.b, mu=arrays.mu, bodies=arrays.bodies, mass=mass),
        cs.Problem(groups=[group], bodies=[cs.Bodies(mass=mass)]),
    ):
        assert_close(problem.delassus().toarray(), reference.A, 1e-11, "A")
        assert_close(flat(problem.Minv), arrays.Minv.ravel(), 1e-11, "Minv")


def test_infinite_masses_do_not_move():
    rng = generator("infinite")
    arrays = random_problem(rng, 6, 4, 3, 6, "disc", diagonal=True)  # body 0 does not move
    arrays.Minv[1, 3:] = 0.0  # and body 1 does not turn
    with np.errstate(divide="ignore"):
        mass = 1 / arrays.Minv
    assert np.isinf(mass).any()
    reference = ReferenceProblem.from_arrays(arrays)
    group = cs.Group(arrays.J, arrays.bodies, arrays.b, arrays.mu)
    problems = [
        cs.Problem(arrays.J, b=arrays.b, mu=arrays.mu, bodies=arrays.bodies, mass=mass),
        cs.Problem(groups=[group], bodies=[cs.Bodies(mass=mass)]),
        cs.Problem(reference.jacobian, b=arrays.b, mu=arrays.mu, mass=mass.ravel()),
        cs.Problem(
            scipy.sparse.csr_array(reference.jacobian), b=arrays.b, mu=arrays.mu, mass=mass.ravel()
        ),
    ]
    for problem in problems:
        assert_close(problem.delassus().toarray(), reference.A, 1e-14, "A")
        assert_impulses_agree(problem, reference, solver="gauss_seidel", scheme="matrix")
        assert "immovable" in cs.solve(problem, max_iterations=1).info["warnings"][0]


def test_compliance_holds_up_an_immovable_block():
    """With Sigma > 0 the block between fixed bodies has the solution -b / Sigma."""
    J = np.ones((2, 2, 1, 3))
    problem = cs.Problem(
        J, np.zeros((1, 3)), [-0.2, 0.3], bodies=[[-1, 0], [0, 0]], compliance=[[0.5], [0.5]]
    )
    for solver, scheme in itertools.product(SOLVERS, SCHEMES):
        result = cs.solve(problem, method=solver, scheme=scheme)
        np.testing.assert_allclose(result.impulses, [[0.4], [0.0]], rtol=1e-15)
        assert result.info["warnings"] == []


# ---- containers ---------------------------------------------------------------------------------


class OnlyArray:
    """An array of another library: NumPy's protocol and nothing else."""

    def __init__(self, array):
        self._array = np.asarray(array)

    def __array__(self, dtype=None, copy=None):
        return np.array(self._array, dtype=dtype, copy=copy)


class OnlyDlpack:
    """An array of another library: DLPack and nothing else."""

    def __init__(self, array):
        self._array = np.array(array)

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def read_only(array):
    array = np.array(array)
    array.flags.writeable = False
    return array


def every_other(array):
    array = np.asarray(array)
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::2] = array
    return wide[..., ::2]


CONTAINERS = {
    "array": np.array,
    "list": lambda x: np.asarray(x).tolist(),
    "__array__": OnlyArray,
    "__dlpack__": OnlyDlpack,
    "read-only": read_only,
    "fortran": np.asfortranarray,
    "strided": every_other,
    "reversed": lambda x: np.asarray(x)[..., ::-1].copy()[..., ::-1],
    "swapped bytes": lambda x: np.asarray(x).astype(np.asarray(x).dtype.newbyteorder()),
}


def whole_arrays(rng) -> dict[str, np.ndarray]:
    """Arrays of small integers, which every dtype holds exactly."""
    bodies = np.array([[-1, 0], [0, 1], [1, 2], [2, 2]])
    return {
        "J": rng.integers(-4, 5, (4, 2, 3, 6)).astype(float),
        "Minv": rng.integers(1, 5, (3, 6)).astype(float),
        "b": rng.integers(-4, 5, (4, 3)).astype(float),
        "mu": np.array([0.0, 1.0, 1.0, 2.0]),
        "bodies": bodies,
        "compliance": rng.integers(0, 3, (4, 3)).astype(float),
    }


def whole_reference(arrays) -> ReferenceProblem:
    return ReferenceProblem.from_arrays(ProblemArrays(set_name="disc", **arrays))


@pytest.mark.parametrize("container", CONTAINERS)
def test_containers(container):
    """Of J with bodies, of pairs, of groups and of matrices, each in every container."""
    wrap, arrays = CONTAINERS[container], whole_arrays(generator("containers"))
    reference = whole_reference(arrays)
    wrapped = {name: wrap(value) for name, value in arrays.items()}
    pair = wrap(arrays["J"][:, 0]), wrap(arrays["J"][:, 1])
    rest = {name: wrapped[name] for name in ("b", "mu", "compliance")}
    problems = [
        cs.Problem(**wrapped),
        cs.Problem(**(wrapped | {"J": pair})),
        cs.Problem(
            groups=[cs.Group(wrapped["J"], wrapped["bodies"], **rest)],
            bodies=[cs.Bodies(wrapped["Minv"])],
        ),
        cs.Problem(wrap(reference.jacobian), wrap(arrays["Minv"].ravel()), **rest),
        cs.Problem(wrap(reference.jacobian), wrap(reference.inverse_mass), **rest),
        cs.Problem.from_state(
            wrapped["J"],
            Minv=wrapped["Minv"],
            velocity=wrap(np.zeros((3, 6))),
            bias=wrapped["b"],
            drive=wrap(np.zeros((4, 3))),
            restitution=wrap(np.zeros(4)),
            impulse=wrap(np.zeros((3, 6))),
            **{name: wrapped[name] for name in ("mu", "bodies", "compliance")},
        ),
        cs.Problem.from_state(
            wrap(reference.jacobian),
            Minv=wrap(arrays["Minv"].ravel()),
            velocity=wrap(np.zeros(18)),
            bias=wrapped["b"],
            **{name: wrapped[name] for name in ("mu", "compliance")},
        ),
    ]
    for problem in problems:
        assert_impulses_agree(problem, reference, solver="gauss_seidel", scheme="matrix")
    given = ReferenceProblem(reference.A, reference.b, reference.blocks, reference.sets)
    dense = cs.Problem.from_delassus(wrap(reference.A), rest["b"], rest["mu"])
    assert_impulses_agree(dense, given, solver="jacobi", scheme="matrix")


REALS = ("float64", "float32", "float16", "int64", "int8", "uint8", "longdouble")


@pytest.mark.parametrize("dtype", REALS)
def test_dtypes(dtype):
    arrays = whole_arrays(generator("dtypes"))
    if dtype.startswith("u"):
        arrays = {n: v if n == "bodies" else np.abs(v) for n, v in arrays.items()}
    cast = {n: v if n == "bodies" else v.astype(dtype) for n, v in arrays.items()}
    cast["bodies"] = arrays["bodies"].astype("int16")
    reference = whole_reference(arrays)
    assert_impulses_agree(cs.Problem(**cast), reference, solver="jacobi", scheme="factorized")
    J = scipy.sparse.coo_array(reference.jacobian)
    if dtype not in ("float16", "longdouble"):
        J.data = J.data.astype(dtype)
    rest = {name: cast[name] for name in ("b", "mu", "compliance")}
    sparse = cs.Problem(J, cast["Minv"].ravel(), **rest)
    assert_impulses_agree(sparse, reference, solver="jacobi", scheme="matrix")


def copies(values: dict) -> dict:
    return {name: np.array(value) for name, value in values.items()}


@pytest.mark.parametrize("form", ("blocks", "matrix", "sparse", "state"))
def test_a_problem_keeps_copies_and_leaves_its_inputs_alone(form):
    """Neither does it write to them, nor does it see what is written to them afterwards."""
    arrays = whole_arrays(generator("copies"))
    reference = whole_reference(arrays)
    if form != "blocks":
        arrays["Minv"] = arrays["Minv"].ravel()
        arrays["J"] = reference.jacobian.copy()
        del arrays["bodies"]
    given = copies(arrays)
    if form == "sparse":
        arrays["J"] = scipy.sparse.csr_array(arrays["J"])
    if form == "state":
        b, arrays["drive"] = arrays.pop("b"), np.zeros((4, 3))
        problem = cs.Problem.from_state(**arrays, velocity=np.zeros(18), bias=b)
        given |= {"drive": np.zeros((4, 3))}
        del given["b"]
    else:
        problem = cs.Problem(**arrays)
    solver = cs.Solver(problem, method="jacobi", max_iterations=3, **EXACTLY)
    first = solver.solve()
    for name, value in arrays.items():
        now = value.toarray() if name == "J" and form == "sparse" else value
        np.testing.assert_array_equal(now, given[name], err_msg=name)
        if name != "bodies":
            (value.data if scipy.sparse.issparse(value) else value)[:] = 77.0
    problem.update(b=reference.b)  # a chance to look at the others again
    np.testing.assert_array_equal(solver.solve().impulses, first.impulses)
    np.testing.assert_array_equal(problem.mu, given["mu"])
    np.testing.assert_array_equal(problem.compliance, given["compliance"])
    if form != "blocks":
        problem.update(Minv=given["Minv"])
        np.testing.assert_array_equal(solver.solve().impulses, first.impulses)


def test_what_a_problem_returns_is_not_its_own():
    arrays = whole_arrays(generator("returned"))
    reference = whole_reference(arrays)
    J, M = scipy.sparse.csr_array(reference.jacobian), scipy.sparse.csr_array(np.eye(18))
    problem = cs.Problem(J, M, arrays["b"], compliance=1.0)
    before = cs.solve(problem, max_iterations=2, **EXACTLY).impulses
    problem.J.data[:] = 3.0
    problem.Minv.data[:] = 3.0
    for array in (problem.b, problem.compliance):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 3.0
    problem.update(J=problem.J, Minv=problem.Minv)
    np.testing.assert_array_equal(cs.solve(problem, max_iterations=2, **EXACTLY).impulses, before)
    np.testing.assert_array_equal(problem.compliance, np.ones((4, 3)))


# ---- the matrix of one body ---------------------------------------------------------------------


def one_body(**given):
    J = np.zeros((1, 2, 1, 6))
    J[0, 1, 0, 0] = 1.0
    return {"J": J, "b": [-1.0], "bodies": [[-1, 0]], **given}


@pytest.mark.parametrize("name", ["Minv", "mass"])
def test_one_matrix_that_is_read_as_diagonals_is_warned_of(name):
    matrix = np.full((6, 6), 0.5) + np.eye(6)
    told = (
        rf"{name} of shape \(6, 6\) is read as the diagonals of 6 bodies, of which 5 have no "
        rf"contacts: .* as {name}\[None\] for one body"
    )
    with pytest.warns(UserWarning, match=told) as caught:
        problem = cs.Problem(**one_body(**{name: matrix}))
    assert problem.bodies_count == 6
    assert caught[0].filename == __file__
    arrays = one_body(**{name: matrix})
    J = arrays.pop("J")
    with pytest.warns(UserWarning, match=told) as caught:
        cs.solve(J, **arrays)
    assert caught[0].filename == __file__
    assert cs.Problem(**one_body(**{name: matrix[None]})).bodies_count == 1


@pytest.mark.parametrize(
    ("Minv", "bodies"),
    [
        (np.ones((6, 6)), [[-1, 0]]),  # six equal bodies
        (np.arange(36.0).reshape(6, 6), [[-1, 0]]),  # no symmetric matrix
        (np.eye(6), [[-1, body] for body in range(6)]),  # every body has a contact
        (np.eye(7)[:, :6], [[-1, 0]]),
        (np.eye(6), np.zeros((0, 2), int)),
    ],
)
def test_diagonals_of_bodies_are_not_warned_of(Minv, bodies):
    contacts = len(bodies)
    J = np.ones((contacts, 2, 1, 6))
    assert cs.Problem(J, Minv, np.zeros(contacts), bodies=bodies).bodies_count == len(Minv)
