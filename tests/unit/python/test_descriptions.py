"""What a solver tells of itself is the same whether it is read at once or late."""

import numpy as np
import pytest

import contactsolve as cs

TIMES = ("setup_seconds", "solve_seconds", "links")  # and figures that contain some


def stack():
    return cs.scenarios.box_stack(3)


def immovable():
    """A ball on the ground, and two bodies of infinite mass that touch."""
    J = np.zeros((2, 2, 1, 2))
    J[:, 1, 0, 0], J[:, 0, 0, 0] = 1.0, -1.0
    return cs.Problem(
        J, [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]], [-0.1, 0.2], bodies=[[-1, 0], [1, 2]]
    )


def unsymmetric():
    A = np.array([[2.0, 0.5], [0.4, 3.0]])
    return cs.Problem.from_delassus(A, [-1.0, -2.0], rows=1)


def change(problem):
    """Give the problem values with which warnings and figures are others."""
    if problem.bodies_count:
        problem.update(Minv=np.ones_like(problem.Minv))
    problem.update(b=-2.0 * problem.b)


def told(info):
    return {name: value for name, value in info.items() if name not in TIMES}


@pytest.mark.parametrize("options", [{}, {"method": "gauss_seidel", "r_factor": "global"}])
@pytest.mark.parametrize("make", [stack, immovable, unsymmetric])
def test_info_of_a_solver_is_that_of_its_making(make, options):
    late, soon = cs.Solver(make(), **options), cs.Solver(make(), **options)
    wanted = told(soon.info)
    change(late.problem)
    assert told(late.info) == wanted
    assert late.info["contacts"] == late.problem.contacts


@pytest.mark.parametrize("make", [stack, immovable, unsymmetric])
def test_info_of_a_result_is_that_of_its_solve(make):
    wanted, late = cs.Solver(make()).solve(), cs.Solver(make())
    wanted.info  # noqa: B018 (read at once)
    found = late.solve()
    change(late.problem)
    late.solve(callback=lambda state: None)
    assert told(found.info) == told(wanted.info)
    assert found.history.columns == wanted.history.columns
    assert found.message == wanted.message


def test_warnings_follow_the_problem():
    problem = immovable()
    solver = cs.Solver(problem)
    before = solver.solve()
    problem.update(Minv=[[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    after = solver.solve()
    assert any("immovable" in line for line in before.info["warnings"])
    assert not after.info["warnings"]
    assert not solver.info["warnings"]


def test_info_is_a_copy():
    solver = cs.Solver(stack())
    result = solver.solve()
    solver.info["method"] = result.info["method"] = "another"
    assert solver.info["method"] == solver.solve().info["method"] == "auto"


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ({}, "rtol=1e-06, atol=0.0"),
        ({"dtype": "float32"}, "rtol=0.0001, atol=0.0"),
        ({"stop": "residual", "rtol": None, "atol": 1e-3}, "residual <= 0.001"),
        (
            {"stop": "delta_norm", "rtol": 1e-3, "atol": 1e-4},
            "delta_norm with rtol=0.001, atol=0.0001",
        ),
    ],
)
def test_the_message_names_the_rule_that_was_asked_for(options, asked):
    result = cs.solve(stack(), method="gauss_seidel", **options)
    assert result.converged
    assert result.message.endswith(asked)


def test_objects_of_a_name_are_shared_and_do_not_change():
    for module, kind in ((cs.methods, "method"), (cs.schemes, "scheme"), (cs.orders, "order")):
        name = "gauss_seidel" if kind == "method" else module.names()[0]
        one, other = module.chosen(name), module.chosen(name)
        assert one is other
        with pytest.raises(AttributeError):
            one.name = "another"
