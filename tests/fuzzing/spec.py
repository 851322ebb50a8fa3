"""What a case is, as plain data; the package's objects and the judge's problem, made of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import judge_numpy as judge


class Code(str):
    """An expression in `cs` and `np` that stands for an option's value."""

    __slots__ = ()


@dataclass
class Group:
    """Blocks of one set: parameters by name, J as a pair (K, m, d_i), (K, m, d_j), and b (K, m).

    `shape` is a support function's: a name of `SHAPES` and its numbers. Where A is given, J and
    bodies are None.
    """

    set_name: str
    parameters: dict[str, np.ndarray]
    b: np.ndarray
    bodies: np.ndarray | None = None
    J: tuple[np.ndarray, np.ndarray] | None = None
    compliance: np.ndarray | None = None
    shape: tuple | None = None

    @property
    def contacts(self) -> int:
        return self.b.shape[0]

    @property
    def rows(self) -> int:
        return self.b.shape[1]

    def of_contacts(self, kept: np.ndarray) -> Group:
        """The group with some of its contacts."""
        return replace(
            self,
            parameters={name: value[kept] for name, value in self.parameters.items()},
            b=self.b[kept],
            bodies=None if self.bodies is None else self.bodies[kept],
            J=None if self.J is None else (self.J[0][kept], self.J[1][kept]),
            compliance=None if self.compliance is None else self.compliance[kept],
        )


@dataclass
class Problem:
    """A problem in one of the forms that the package takes.

    form "groups" (any), "bodies" (one group, J in one array), "pattern" (one group, J as a matrix
    of any pattern), "delassus" (A, one group). `storage` is that of A, or of J with "pattern".
    `known` is a solution by construction, flat.
    """

    kind: str
    form: str
    groups: list[Group]
    inverse_masses: list[np.ndarray] = field(default_factory=list)
    as_mass: bool = False
    A: np.ndarray | None = None
    storage: str = "dense"
    known: np.ndarray | None = None
    tags: list[str] = field(default_factory=list)

    @property
    def contacts(self) -> int:
        return sum(group.contacts for group in self.groups)

    @property
    def rows(self) -> list[int]:
        return [group.rows for group in self.groups for _ in range(group.contacts)]

    def split(self, flat: np.ndarray) -> list[np.ndarray]:
        """A vector over all rows as one array for each group."""
        ends = np.cumsum([0, *(group.b.size for group in self.groups)])
        pieces = zip(self.groups, ends[:-1], ends[1:], strict=True)
        return [flat[start:end].reshape(group.b.shape) for group, start, end in pieces]


@dataclass
class Case:
    """One problem, one method, its options.

    initial: None; ("impulses", arrays by group); ("result", sweeps); ("active",). callback: None;
    ("look",); ("stop", n); ("raise", n). `before`: b of a solve that the solver makes first.
    """

    problem: Problem
    method: str
    settings: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    initial: tuple | None = None
    callback: tuple | None = None
    before: np.ndarray | None = None
    number: int = -1
    seed: int = -1


# ---------------------------------------------------------------------------------------------
# Shapes of support functions: expression for the package, set of the judge
# ---------------------------------------------------------------------------------------------


def shape_code(shape: tuple) -> str:
    """The shape in the package's words."""
    name, *numbers = shape
    told = [literal(value) for value in numbers]
    if name == "rhombus":
        return f"cs.shapes.superellipse({told[0]}, {told[1]}, 1)"
    if name == "rectangle":
        return f"cs.shapes.superellipse({told[0]}, {told[1]}, np.inf)"
    if name == "round":
        return f"cs.shapes.disc({told[0]}) + cs.shapes.points({told[1]})"
    if name == "function":
        axes = f"np.array([{told[0]}, {told[1]}])"
        return f"lambda d: {axes}**2 * d / np.linalg.norm({axes} * d)"
    return f"cs.shapes.{name}({', '.join(told)})"


def shape_set(shape: tuple, mu: float) -> Any:
    """The same shape as the judge knows it."""
    name, *numbers = shape
    make, m = judge.set_of, {"mu": mu}
    if name == "disc":
        return make("ellipse", 3, {"mu1": mu * numbers[0], "mu2": mu * numbers[0], "angle": 0.0})
    if name in ("ellipse", "function"):
        return make("ellipse", 3, {"mu1": mu * numbers[0], "mu2": mu * numbers[1], "angle": 0.0})
    if name == "ellipsoid":
        return make("ellipsoid", 4, m | {"axes": np.array(numbers)})
    if name == "points":
        return make("polygon", 3, m | {"vertices": np.array(numbers[0])})
    if name == "round":
        return make("rounded_polygon", 3, m | {"radius": numbers[0], "vertices": numbers[1]})
    a, b = numbers
    corners = [[a, 0], [0, b], [-a, 0], [0, -b]]
    if name == "rectangle":
        corners = [[a, b], [-a, b], [-a, -b], [a, -b]]
    return make("polygon", 3, m | {"vertices": np.array(corners, dtype=float)})


# ---------------------------------------------------------------------------------------------
# The judge's problem
# ---------------------------------------------------------------------------------------------


def judge_sets(problem: Problem) -> list:
    """The set of every block."""
    found = []
    for group in problem.groups:
        for k in range(group.contacts):
            values = {name: value[k] for name, value in group.parameters.items()}
            if group.shape is not None:
                found.append(shape_set(group.shape, float(values["mu"])))
            else:
                found.append(judge.set_of(group.set_name, group.rows, values))
    return found


def dense_parts(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """J, |J| (summed where both partners are one body) and M^-1 of all bodies."""
    dofs = [one.shape[1] for one in problem.inverse_masses for _ in one]
    ends = np.cumsum([0, *dofs])
    inverse = np.zeros((ends[-1], ends[-1]))
    singles = [one for group in problem.inverse_masses for one in group]
    for at, one in zip(ends, singles, strict=False):
        inverse[at : at + len(one), at : at + len(one)] = np.diag(one) if one.ndim == 1 else one
    J = np.zeros((sum(group.b.size for group in problem.groups), ends[-1]))
    start, largest = 0, np.zeros_like(J)
    for group in problem.groups:
        for k in range(group.contacts):
            rows = slice(start, start + group.rows)
            start += group.rows
            for side in range(2):
                body = group.bodies[k, side]
                if body >= 0:
                    J[rows, ends[body] : ends[body + 1]] += group.J[side][k]
                    largest[rows, ends[body] : ends[body + 1]] += np.abs(group.J[side][k])
    return J, largest, inverse


def judged(problem: Problem) -> judge.Judged:
    """The dense problem that results are judged by."""
    b = np.concatenate([group.b.ravel() for group in problem.groups])
    sets = judge_sets(problem)
    if problem.A is not None:
        return judge.Judged.from_matrix(problem.A, b, sets, problem.rows)
    J, largest, inverse = dense_parts(problem)
    sigma = [
        np.zeros(group.b.size) if group.compliance is None else group.compliance.ravel()
        for group in problem.groups
    ]
    moves = np.array([one.any() for group in problem.inverse_masses for one in group], bool)
    pairs = np.concatenate([group.bodies for group in problem.groups])
    islands = judge.islands_of_bodies(pairs, moves)
    return judge.Judged.from_jacobian(
        J, largest, inverse, b, np.concatenate(sigma), sets, problem.rows, islands
    )


# ---------------------------------------------------------------------------------------------
# As text: a case is written down as the very statements that run it
# ---------------------------------------------------------------------------------------------


_named: list[list[np.ndarray]] = []


@contextmanager
def arrays_by_name() -> Iterator[list[np.ndarray]]:
    """Let texts name arrays, a[0], a[1], ..., in place of writing down their values."""
    _named.append([])
    try:
        yield _named[-1]
    finally:
        _named.pop()


def literal(value: Any) -> str:
    """An expression that makes a value, bit for bit."""
    if isinstance(value, Code):
        return str(value)
    if isinstance(value, np.ndarray):
        if _named:
            _named[-1].append(value)
            return f"a[{len(_named[-1]) - 1}]"
        return _array(value)
    if isinstance(value, np.generic):
        return literal(value.item())
    if isinstance(value, float):
        return f"np.{value!r}" if value != value or value in (np.inf, -np.inf) else repr(value)
    if isinstance(value, (list, tuple)):
        inside = ", ".join(map(literal, value))
        if isinstance(value, list):
            return f"[{inside}]"
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return repr(value)


def _array(value: np.ndarray) -> str:
    if value.size == 0:
        return f"np.zeros({value.shape}, {value.dtype.name!r})"
    if value.size > 1 and not np.any(value) and not np.any(np.signbit(value)):
        kind = "" if value.dtype == np.float64 else f", {value.dtype.name!r}"
        return f"np.zeros({value.shape}{kind})"
    inside = literal(value.tolist())
    plain = value.dtype in (np.float64, np.int64) and (
        value.dtype.kind == np.array(value.tolist()).dtype.kind
    )
    return f"np.array({inside})" if plain else f"np.array({inside}, dtype={value.dtype.name!r})"


def set_code(group: Group) -> str:
    """The set in the package's words."""
    named = [f"{name}={literal(value)}" for name, value in group.parameters.items()]
    if group.shape is not None:
        return f"cs.sets.support({shape_code(group.shape)}, {', '.join(named)})"
    return f"cs.sets.{group.set_name}({', '.join(named)})"


def stored(name: str, matrix: np.ndarray, storage: str, rows: int) -> str:
    """An expression for a matrix in one of SciPy's forms."""
    text = literal(matrix)
    if storage == "dense":
        return text
    if storage == "triple":
        return f"(lambda m: (m.data, m.indices, m.indptr))(scipy.sparse.csr_array({text}))"
    if storage == "bsr":
        return f"scipy.sparse.csr_array({text}).tobsr(blocksize=({rows}, {rows}))"
    return f"scipy.sparse.{storage}_array({text})"


def group_arguments(group: Group) -> str:
    """What stands after J in a call."""
    told = [literal(group.b), f"sets={set_code(group)}"]
    if group.compliance is not None:
        told.append(f"compliance={literal(group.compliance)}")
    return ", ".join(told)


def problem_code(problem: Problem) -> list[str]:
    """Statements that make `problem`."""
    first = problem.groups[0]
    if problem.form == "delassus":
        A = stored("A", problem.A, problem.storage, first.rows)
        rest = f"{group_arguments(first)}, rows={first.rows}"
        return [f"problem = cs.Problem.from_delassus({A}, {rest})"]
    if problem.form == "pattern":
        J, _, inverse = dense_parts(problem)
        mass = literal(np.diag(inverse).copy() if _diagonal(problem) else inverse)
        J_text = stored("J", J, problem.storage, 1)
        rest = f"{group_arguments(first)}, rows={first.rows}"
        return [f"problem = cs.Problem({J_text}, {mass}, {rest})"]
    if problem.form == "bodies":
        J = np.stack(first.J, axis=1)
        mass = _mass_argument(problem.inverse_masses[0], problem.as_mass)
        text = f"J={literal(J)}, {mass}, bodies={literal(first.bodies)}"
        return [f"problem = cs.Problem({text}, b={group_arguments(first)})"]
    lines = ["groups, bodies = [], []"]
    for one in problem.inverse_masses:
        flat = f", diagonal={one.ndim == 2}" if one.ndim == 2 else ""
        lines.append(f"bodies.append(cs.Bodies({_mass_argument(one, problem.as_mass)}{flat}))")
    for group in problem.groups:
        J = f"({literal(group.J[0])}, {literal(group.J[1])})"
        text = f"{J}, {literal(group.bodies)}, {group_arguments(group)}"
        lines.append(f"groups.append(cs.Group({text}))")
    return [*lines, "problem = cs.Problem(groups=groups, bodies=bodies)"]


def _diagonal(problem: Problem) -> bool:
    return all(one.ndim == 2 for one in problem.inverse_masses)


def _mass_argument(inverse: np.ndarray, as_mass: bool) -> str:
    return f"mass={literal(1.0 / inverse)}" if as_mass else f"Minv={literal(inverse)}"


def method_code(case: Case) -> str:
    """The method with its own options."""
    if not case.settings:
        return repr(case.method)
    told = ", ".join(f"{name}={literal(value)}" for name, value in case.settings.items())
    return f"cs.methods.{case.method}({told})"


def solver_code(case: Case) -> str:
    """The statement that makes `solver`."""
    told = [f"{name}={literal(value)}" for name, value in case.options.items()]
    return f"solver = cs.Solver({', '.join(['problem', f'method={method_code(case)}', *told])})"


def solve_code(case: Case) -> list[str]:
    """Statements that solve, from `solver` to `result`."""
    lines, told = [], []
    grouped = case.problem.form == "groups"
    if case.before is not None:
        parts = case.problem.split(case.before)
        lines.append(f"solver.solve(b={literal(parts if grouped else parts[0])})")
    if case.initial is not None:
        kind, *rest = case.initial
        if kind == "impulses":
            value = literal(rest[0] if grouped else rest[0][0])
            lines.append(f"initial = {value}")
        else:
            sweeps = rest[0] if rest else 5
            lines.append(
                f"initial = cs.solve(problem, method='gauss_seidel', max_iterations={sweeps})"
                f"{'.active' if kind == 'active' else ''}"
            )
        told.append("initial=initial")
    if case.callback is not None:
        kind, *rest = case.callback
        lines += ["", "def callback(state):", "    assert state.impulses is not None"]
        if kind != "look":
            error = "StopIteration" if kind == "stop" else "LookupError"
            lines += [f"    if state.iteration >= {rest[0]}:", f"        raise {error}"]
        lines.append("")
        told.append("callback=callback")
    return [*lines, f"result = solver.solve({', '.join(told)})"]
