"""Arguments that have to be refused, and damaged files: no crash, no other error than promised.

Each case takes a valid call and spoils one argument. Some spoils must be refused ("must"); others
may be taken, because they can happen to make sense (a random byte of a file), but then a solve must
run.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import contactsolve as cs

from .attempt import Finding, Outcome, masked
from .problems import Rng, chance, pick

_ALLOWED = (ValueError, TypeError)


# ---------------------------------------------------------------------------------------------
# Valid calls
# ---------------------------------------------------------------------------------------------


def _arrays(rng: Rng) -> dict[str, Any]:
    """J, Minv, b, mu and bodies of a few contacts with friction."""
    contacts, bodies = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    pairs = rng.integers(0, bodies, (contacts, 2))
    pairs[:, 0] = -1
    return {
        "J": rng.normal(size=(contacts, 2, 3, 6)),
        "Minv": rng.uniform(0.5, 2.0, (bodies, 6)),
        "b": rng.normal(size=(contacts, 3)),
        "mu": rng.uniform(0.0, 1.0, contacts),
        "bodies": pairs,
    }


def _delassus(rng: Rng) -> np.ndarray:
    size = 3 * int(rng.integers(1, 5))
    root = rng.normal(size=(size, size + 2))
    return root @ root.T


# ---------------------------------------------------------------------------------------------
# Spoils of one array
# ---------------------------------------------------------------------------------------------


def _entry(rng: Rng, array: np.ndarray, value: float) -> np.ndarray:
    spoiled = np.array(array, dtype=float)
    spoiled[tuple(int(rng.integers(n)) for n in array.shape)] = value
    return spoiled


def _shape(rng: Rng, array: np.ndarray) -> np.ndarray:
    kind = int(rng.integers(6))
    if kind == 0:
        return np.concatenate([array, array[:1]])
    if kind == 1:
        return array[..., None]
    if kind == 2:
        return array[:, :-1] if array.ndim > 1 and array.shape[1] > 1 else np.append(array, array)
    if kind == 3:
        return np.zeros((*array.shape, 2, 2))
    if kind == 4:
        return np.zeros((0, *array.shape[1:])) if len(array) else np.zeros((3, 1))
    return np.concatenate([array] * 7, axis=-1)


def _type(rng: Rng, array: np.ndarray) -> Any:
    return pick(
        rng,
        (
            array + 1j,
            array.astype(str),
            [*array.astype(object).tolist(), None],
            "text",
            {"a": 1},
            object(),
            [[1, 2], [3]],
            lambda: None,
            b"\x00\xff",
            np.array(array, dtype="M8[s]") if array.dtype.kind == "i" else np.array(["x"]),
        ),
    )


def _problem_call(rng: Rng) -> tuple[Callable[[], Any], str, bool]:
    """`Problem` with one argument spoiled."""
    given = _arrays(rng)
    name = pick(rng, list(given))
    kind, old = int(rng.integers(5)), given[name]
    if name == "bodies":
        count = len(given["Minv"])
        values = (count, count + 7, -2, -(2**40), 2**62)
        if kind in (0, 1):
            spoiled: Any = old.copy()
            spoiled[int(rng.integers(len(old))), int(rng.integers(2))] = pick(rng, values)
        elif kind == 2:
            spoiled = old + 0.5
        else:
            spoiled = _shape(rng, old) if kind == 3 else _type(rng, old)
    elif kind in (0, 1):
        values = (np.nan, np.inf, -np.inf)
        spoiled = _entry(rng, old, pick(rng, values if name != "mu" else (*values, -1e-9, -3.0)))
    elif kind == 2 and name in ("mu", "Minv"):
        spoiled = _entry(rng, old, -float(rng.uniform(1e-6, 2.0)))
    else:
        spoiled = _shape(rng, old) if kind == 3 else _type(rng, old)
    given[name] = spoiled
    what = f"Problem({name}={spoiled!r:.160})"
    return (lambda: cs.Problem(**given)), what, kind not in (3,)


def _matrix_call(rng: Rng) -> tuple[Callable[[], Any], str, bool]:
    """A given as a malformed matrix: of SciPy, a triple, or dense."""
    import scipy.sparse as sparse

    A = _delassus(rng)
    b, form = rng.normal(size=len(A)), pick(rng, ("csr", "triple", "bsr", "dense"))
    if form == "dense":
        spoiled: Any = pick(
            rng, (_entry(rng, A, np.nan), A[:-1], A[None], A[:, :, None], -A, A + 1j, A.tolist()[0])
        )
        return (
            (lambda: cs.Problem.from_delassus(spoiled, b, 0.5)),
            f"from_delassus({form}, shape {np.shape(spoiled)})",
            True,
        )
    made = sparse.csr_array(A) if form != "bsr" else sparse.csr_array(A).tobsr(blocksize=(3, 3))
    data, indices, indptr = made.data.copy(), made.indices.copy(), made.indptr.copy()
    part, value = pick(rng, ("data", "indices", "indptr")), 0
    if part == "data":
        data.flat[int(rng.integers(data.size))] = value = pick(rng, (np.nan, np.inf))
    elif part == "indices":
        value = pick(rng, (-1, len(A), 2**30, -(2**31)))
        indices[int(rng.integers(len(indices)))] = value
    else:
        value = pick(rng, (-1, 10**6, 2**31 - 1))
        indptr[int(rng.integers(len(indptr)))] = value
    if form == "triple":
        given: Any = (data, indices, indptr)
    else:
        made.data, made.indices, made.indptr = data, indices, indptr
        given = made
    # SciPy itself expands blocks and reads past what it believes: its own matter.
    must = form == "triple" or part == "data"
    if form != "triple" and part != "data":
        given, must = (data.ravel(), indices, indptr), form == "csr"
    return (
        (lambda: cs.Problem.from_delassus(given, b, 0.5)),
        f"from_delassus({form}, {part} with {value})",
        must,
    )


_BAD_OPTIONS: dict[str, tuple] = {
    "method": ("none", "", 3, None, "jacobi\0"),
    "scheme": ("none", 3, None, "\ud800"),
    "order": ("none", [0, 0, 0, 0, 0, 0, 0], [-1], [[0]], [0.5], 7),
    "local": ("none", 1, None),
    "relaxation": (0.0, -1.0, np.nan, np.inf, "x", None),
    "averaging": (-0.5, 1.5, np.nan, "none", [1]),
    "r_factor": ("none", 0.0, -1.0, np.nan, np.inf, None, [1.0]),
    "rollback": (-1, 1.5, "x", 2**40, None),
    "rollback_growth": (0.0, 0.5, -1.0, np.nan, "x"),
    "bound": ("none", 1, None),
    "rtol": (-1.0, np.nan, "x", [1]),
    "atol": (-1.0, np.nan, "x"),
    "stop": ("none", 1, None),
    "check_every": (0, -1, 1.5, "x", 2**70),
    "max_iterations": (-1, 1.5, "x", 2**70),
    "max_seconds": (-1.0, np.nan, "x", 0.0),
    "dtype": ("float16", "int", int, "complex128", 3),
    "threads": (-1, 1.5, "x", 2**40),
    "parts": (0, -1, 1.5, "x", 2**40),
    "record": ("residual", ("none",), 3, (1,)),
    "record_every": (0, -1, "x"),
    "patience": (0, -1, 1.5, "x", 2**70),
    "measure_every": (0, -1, 1.5, "x", 2**70),
    "max_setup_seconds": (-1.0, np.nan, "x"),
    "time_checks": ("x", 3, None),
    "quality_r": (0.0, -1.0, np.nan, "x"),
    "rng": ("x",),
    "instructions": ("none", 3),
    "device_sweeps": ("none", 3, None),
    "device_prox": ("none", "single", 3, None),
    "compressed": ("x", 3, None),
    "islands": (True, "none", 3),
    "tune": (1,),
}


def _option_call(rng: Rng) -> tuple[Callable[[], Any], str, bool]:
    """`Solver` with one bad option; what another option may excuse need not be refused."""
    name = pick(rng, list(_BAD_OPTIONS))
    value, given = pick(rng, _BAD_OPTIONS[name]), _arrays(rng)
    options = {"method": pick(rng, ("gauss_seidel", "jacobi", "nesterov", "auto")), name: value}
    if name == "rng":
        options["order"] = "random"
    excused = (name, value) in (("max_seconds", 0.0), ("quality_r", 0.0))
    what = f"Solver({', '.join(f'{k}={v!r}' for k, v in options.items())})"

    def call() -> Any:
        return cs.Solver(cs.Problem(**given), **options)

    return call, what, not excused and name not in ("quality_r", "max_seconds")


def _setting_call(rng: Rng) -> tuple[Callable[[], Any], str, bool]:
    """A method's own option out of its declared range."""
    described = {n: d for n, d in cs.methods.describe().items() if d.options}
    method = pick(rng, list(described))
    option = pick(rng, list(described[method].options.values()))
    bad: list[Any] = [np.nan, "no such word", [1], object()]
    if option.kind in ("number", "count"):
        bad += [option.least - 1, -(2**70)] + ([option.most * 2 + 1] if option.most < 2e9 else [])
    if option.kind == "number" and option.above:
        bad.append(option.least)
    if option.kind == "flag":
        bad += [2, None]
    value = pick(rng, bad)
    make = getattr(cs.methods, method)
    return (lambda: make(**{option.name: value})), f"{method}({option.name}={value!r})", True


def _solve_call(rng: Rng) -> tuple[Callable[[], Any], str, bool]:
    """`Solver.solve` with a bad argument."""
    given = _arrays(rng)
    name = pick(rng, ("b", "initial", "mu", "callback"))
    old = given["mu"] if name == "mu" else given["b"]
    kind = int(rng.integers(3))
    if name == "callback":
        value: Any = pick(rng, (3, "x", [1]))
    elif kind == 0:
        value = _entry(rng, old, pick(rng, (np.nan, np.inf)))
    else:
        value = _shape(rng, old) if kind == 1 else _type(rng, old)
    must = not (name != "callback" and kind == 1)

    def call() -> Any:
        solver = cs.Solver(cs.Problem(**given), method="gauss_seidel", max_iterations=3)
        return solver.solve(**{name: value})

    return call, f"solve({name}={value!r:.160})", must


def _set_call(rng: Rng) -> tuple[Callable[[], Any], str, bool]:
    """A set with bad parameters, or for blocks of other rows than it takes."""
    bad = pick(rng, (np.nan, np.inf, -0.5, [0.1] * 9, "x", None, [[0.5]]))
    sets, corner = cs.sets, [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]
    makers: dict[str, Callable[[], Any]] = {
        "disc": lambda: sets.disc(bad),
        "box_friction": lambda: sets.box_friction(bad),
        "rolling": lambda: sets.rolling(bad, 0.1),
        "contensou": lambda: sets.contensou(0.3, bad),
        "ellipse": lambda: sets.ellipse(0.3, bad),
        "second_order_cone": lambda: sets.second_order_cone(bad),
        "tresca": lambda: sets.tresca(bad),
        "polygon": lambda: sets.polygon(bad, vertices=corner),
        "bent": lambda: sets.polygon(vertices=[[1, 0], [0.1, 0.1], [0, 1], [-1, -1]]),
        "far": lambda: sets.polygon(vertices=[[2, 1], [3, 1], [2, 2]]),
        "flat": lambda: sets.polygon(vertices=[[1, 0], [0, 1]]),
        "box": lambda: sets.box(1.0, 0.0),
        "open": lambda: sets.box(np.inf, np.inf),
        "support": lambda: sets.support(cs.shapes.points([[2.0, 2.0], [3.0, 2.0], [2.0, 3.0]])),
        "wrong": lambda: sets.support(lambda d: pick(rng, (np.zeros(3), np.nan * d, "x", None))),
        "shape": lambda: sets.support(cs.shapes.superellipse(1.0, 1.0, 0.5)),
        "mu": lambda: sets.support(cs.shapes.disc(), bad),
    }
    name, given = pick(rng, list(makers)), _arrays(rng)
    del given["mu"]
    rows = {"rolling": 5, "contensou": 4}.get(name, 3)
    given["J"] = rng.normal(size=(len(given["b"]), 2, rows, 6))
    given["b"] = rng.normal(size=(len(given["b"]), rows)) - 1.0

    def call() -> Any:
        return cs.solve(cs.Problem(**given, sets=makers[name]()), method="jacobi", max_iterations=3)

    return call, f"set {name} with {bad!r}", name not in ("ellipse", "wrong")


# ---------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------


def _file_call(rng: Rng) -> tuple[Callable[[], Any], str, bool]:
    """An FCLIB file whose datasets are spoiled, or that is cut off, or no HDF5 at all."""
    import h5py

    kind = int(rng.integers(8))
    folder = Path(tempfile.mkdtemp(prefix="fuzz"))
    path = folder / "problem.hdf5"
    A = _delassus(rng)
    problem = cs.Problem.from_delassus(A, rng.normal(size=len(A)), 0.5)
    cs.io.write_fclib(path, problem)
    must, what = False, ""
    if kind < 2:
        whole = path.read_bytes()
        path.write_bytes(whole[: int(rng.integers(len(whole)))])
        must, what = True, "cut off"
    elif kind == 2:
        path.write_bytes(rng.bytes(int(rng.integers(0, 500))))
        must, what = True, "random bytes"
    else:
        with h5py.File(path, "r+") as file:
            names: list[str] = []
            file.visit(names.append)
            name = pick(rng, [n for n in names if "info" not in n])
            what = f"{name} spoiled"
            if isinstance(file[name], h5py.Group) or chance(rng, 0.2):
                del file[name]
                must = name.split("/")[-1] not in ("nzmax",)
            else:
                _spoil_dataset(rng, file, name)

    def call() -> Any:
        try:
            return cs.io.read_fclib(path, details=True).problem
        finally:
            path.unlink()
            folder.rmdir()

    return call, f"FCLIB file, {what}", must


def _spoil_dataset(rng: Rng, file: Any, name: str) -> None:
    old = np.array(file[name])
    kind = int(rng.integers(4))
    if kind == 0:
        values = (-1, 2**31 - 1, -(2**31), 10**6)
        new = old.copy()
        new.flat[int(rng.integers(max(1, old.size)))] = (
            pick(rng, values) if old.dtype.kind == "i" else pick(rng, (np.nan, np.inf, -1.0))
        )
    elif kind == 1:
        new = np.concatenate([old.ravel(), old.ravel()])
    elif kind == 2:
        new = old.ravel()[:-1]
    else:
        new = np.array(["text"] * max(1, old.size), dtype="S4")
    del file[name]
    file[name] = new


_CALLS = (
    _problem_call, _problem_call, _matrix_call, _option_call, _setting_call, _solve_call,
    _set_call, _file_call,
)  # fmt: skip


def attempt(seed: int, number: int) -> Outcome:
    """Make the call with that number."""
    rng = np.random.default_rng((seed, 3, number))
    call, what, must = pick(rng, _CALLS)(rng)
    outcome = Outcome(number, "malformed", "malformed", "refused")
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            made = call()
            outcome.status = "taken"
            if isinstance(made, cs.Problem):
                cs.solve(made, method="gauss_seidel", max_iterations=3)
    except _ALLOWED as error:
        outcome.reason = f"malformed: {masked(str(error))}"
        if not str(error):
            outcome.findings.append(Finding("refusal without a message", what))
        return outcome
    except BaseException as error:
        text = f"{what}: {type(error).__name__}: {error}"
        outcome.findings.append(Finding("exception", text))
        return outcome
    if must:
        outcome.findings.append(Finding("malformed but taken", what))
    return outcome
