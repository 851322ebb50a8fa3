"""The C library. Shapes and meanings are those of the Python classes above it."""

from collections.abc import Callable
from typing import Any, final

import numpy as np

@final
class Problem:
    def __new__(
        cls,
        bodies: tuple[dict[str, Any], ...],
        blocks: tuple[dict[str, Any], ...],
        matrix: dict[str, np.ndarray] | None,
        /,
    ) -> Problem: ...
    @property
    def asymmetry(self) -> float: ...
    @property
    def parts(self) -> int: ...
    def jacobian(self, group: int, /) -> np.ndarray: ...
    def bodies(self, group: int, /) -> np.ndarray: ...
    def inverse_mass(self, group: int, /) -> np.ndarray: ...
    def b(self, group: int, /) -> np.ndarray: ...
    def compliance(self, group: int, /) -> np.ndarray | None: ...
    def update(
        self,
        inverse_mass: tuple[np.ndarray | None, ...],
        jacobian: tuple[np.ndarray | None, ...],
        b: tuple[np.ndarray | None, ...],
        parameters: tuple[np.ndarray | None, ...],
        /,
    ) -> None: ...
    def replace(self, other: Problem, /) -> None: ...
    def count_blocks(self, fixed_as_body: bool, /) -> int: ...
    def first_immovable(self) -> int: ...
    def assemble(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...

@final
class Solver:
    def __new__(
        cls,
        problem: Problem,
        options: dict[str, Any],
        settings: dict[str, float | str],
        order: dict[str, Any],
        scheme: dict[str, float | str],
        record: tuple[str, ...],
        max_setup_seconds: float,
    ) -> Solver: ...
    def solve(
        self,
        initial: np.ndarray | None,
        index_set: np.ndarray | None,
        b: np.ndarray | None,
        parameters: np.ndarray | None,
        callback: Callable[[int, np.ndarray, np.ndarray], object] | None,
        progress: Callable[[int, np.ndarray], object] | None,
        /,
    ) -> Answer: ...
    def ray(self) -> np.ndarray | None: ...
    def impulses_there(self, impulses: np.ndarray, pointer: int, /) -> bool: ...
    def describe(self) -> Description: ...

@final
class Description:
    columns: tuple[str, ...]
    immovable_blocks: int
    stop_is_ratio: int
    def figures(self) -> dict[str, Any]: ...

@final
class Answer:
    impulses: np.ndarray
    residual_velocities: np.ndarray
    velocity_change: np.ndarray
    history: np.ndarray
    certificate: np.ndarray | None
    status: str
    pivoting: str | None
    iterations: int
    best_iteration: int
    rollbacks: int
    block_products: int
    unfinished_blocks: int
    seconds: float
    sweep_seconds: float
    natural_map: float
    natural_map_scaled: float
    floor: float
    floor_block: int
    certified: float
    worst_block: int
    worst_row: int
    worst_velocity: float
    figures: dict[str, Any]
    band: tuple[float, float, float]
    links: tuple[dict[str, Any], ...]

@final
class Support:
    def __new__(cls, function: Callable[[np.ndarray], Any]) -> Support: ...
    @property
    def handle(self) -> int: ...

class Mlcp:
    def __new__(
        cls,
        data: np.ndarray,
        indices: np.ndarray,
        indptr: np.ndarray,
        options: dict[str, float | str],
    ) -> Mlcp: ...
    def update(self, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, /) -> None: ...
    def solve(
        self, b: np.ndarray, lo: np.ndarray, hi: np.ndarray, initial: np.ndarray | None, /
    ) -> dict[str, Any]: ...
    def describe(self) -> dict[str, Any]: ...

@final
class BlockSystem:
    def __new__(
        cls,
        indices: np.ndarray,
        indptr: np.ndarray,
        parts: int,
        labels: np.ndarray | None,
        single: bool,
    ) -> BlockSystem: ...
    def put(self, values: np.ndarray, /) -> None: ...
    def asymmetry(
        self, values: np.ndarray, mirror: np.ndarray, indices: np.ndarray, /
    ) -> tuple[float, int]: ...
    def multiply(self, x: np.ndarray, threads: int, /) -> np.ndarray: ...
    def describe(self) -> dict[str, Any]: ...

@final
class BlockPreconditioner:
    def __new__(
        cls,
        system: BlockSystem,
        exact: BlockSystem,
        kind: str,
        positions: np.ndarray | None,
        relaxation: float,
    ) -> BlockPreconditioner: ...
    def update(self, threads: int, /) -> str | None: ...
    def apply(self, x: np.ndarray, threads: int, /) -> np.ndarray: ...
    def describe(self) -> dict[str, Any]: ...

@final
class Tree:
    def __new__(
        cls, vertices: np.ndarray, faces: np.ndarray, k: int, arity: int, single: bool, /
    ) -> Tree: ...
    def refit(
        self, x0: np.ndarray, x1: np.ndarray | None, margin: float, threads: int, /
    ) -> None: ...
    def rebuild(self, threads: int, /) -> None: ...
    def boxes(self, kind: int, /) -> tuple[np.ndarray, np.ndarray]: ...
    def edges(self) -> np.ndarray: ...
    def directions(self) -> np.ndarray: ...
    def pairs(
        self,
        other: Tree | None,
        kind: int,
        max_pairs: int,
        rule: str,
        seed: int,
        threads: int,
        record: bool,
        /,
    ) -> np.ndarray: ...
    def tasks(self) -> dict[str, np.ndarray]: ...
    def describe(self) -> dict[str, Any]: ...

@final
class Cloth:
    def __new__(
        cls,
        vertices: np.ndarray,
        rest: np.ndarray,
        faces: np.ndarray,
        numbers: np.ndarray,
        quadratic: bool,
        parts: int,
        labels: np.ndarray | None,
        precision: int,
        preconditioner: str,
        max_iterations: int,
        /,
    ) -> Cloth: ...
    def attach(self, vertices: np.ndarray, /) -> None: ...
    def state(self) -> tuple[np.ndarray, np.ndarray, float]: ...
    def set_state(self, positions: np.ndarray, velocities: np.ndarray, time: float, /) -> None: ...
    def set_time(self, time: float, /) -> None: ...
    def forget(self) -> None: ...
    def energy(self) -> tuple[float, float, float, float]: ...
    def momentum(self) -> tuple[np.ndarray, np.ndarray]: ...
    def system(
        self,
        h: float,
        target: np.ndarray | None,
        force: np.ndarray | None,
        threads: int,
        /,
    ) -> tuple[np.ndarray, np.ndarray]: ...
    def step(
        self,
        h: float,
        target: np.ndarray | None,
        force: np.ndarray | None,
        newton: int,
        threads: int,
        /,
    ) -> None: ...
    def report(self) -> dict[str, Any]: ...
    def set_counts(self, steps: int, steps_not_converged: int, /) -> None: ...
    def solver(self) -> int: ...
    def solver_origin(self) -> tuple[float, np.ndarray, np.ndarray]: ...
    def remake_solver(
        self, h: float, positions: np.ndarray, velocities: np.ndarray, threads: int, /
    ) -> None: ...
    def describe(self) -> dict[str, Any]: ...

@final
class Collider:
    def __new__(cls, dimension: int) -> Collider: ...
    @property
    def shapes(self) -> int: ...
    def add(
        self,
        kind: str,
        numbers: np.ndarray,
        vertices: np.ndarray | None,
        body: np.ndarray,
        position: np.ndarray,
        orientation: np.ndarray,
        /,
    ) -> int: ...
    def remove(self, shape: int, /) -> None: ...
    def find(
        self,
        position: np.ndarray,
        orientation: np.ndarray,
        movable: np.ndarray | None,
        margin: float,
        threads: int,
        /,
    ) -> dict[str, np.ndarray]: ...
    def find_pairs(
        self,
        position: np.ndarray,
        orientation: np.ndarray,
        movable: np.ndarray | None,
        margin: float,
        threads: int,
        /,
    ) -> np.ndarray: ...

@final
class World:
    def __new__(
        cls,
        world: dict[str, Any],
        gravity: np.ndarray,
        options: dict[str, Any],
        settings: dict[str, Any],
        order: dict[str, Any],
        scheme: dict[str, Any],
        record: tuple[str, ...],
        /,
    ) -> World: ...
    def add_material(
        self, name: str, rows: int, parameters: np.ndarray, normal: float, tangential: float, /
    ) -> int: ...
    def set_pair(
        self,
        first: int,
        second: int,
        name: str,
        rows: int,
        parameters: np.ndarray,
        normal: float,
        tangential: float,
        /,
    ) -> None: ...
    def add_bodies(
        self,
        mass: np.ndarray,
        inertia: np.ndarray,
        position: np.ndarray,
        orientation: np.ndarray | None,
        velocity: np.ndarray | None,
        driven: np.ndarray | None,
        /,
    ) -> int: ...
    def add_shapes(
        self,
        kind: str,
        numbers: np.ndarray,
        vertices: np.ndarray | None,
        body: np.ndarray,
        position: np.ndarray,
        orientation: np.ndarray,
        material: np.ndarray,
        /,
    ) -> int: ...
    def add_joints(
        self, kind: str, body: np.ndarray, numbers: np.ndarray, flags: np.ndarray, /
    ) -> int: ...
    def remove_joint(self, joint: int, /) -> None: ...
    def joints(self) -> dict[str, np.ndarray]: ...
    def remove(self, body: int, /) -> None: ...
    def skip_shapes(self, count: int, /) -> None: ...
    def place(
        self,
        body: np.ndarray,
        position: np.ndarray | None,
        orientation: np.ndarray | None,
        velocity: np.ndarray | None,
        /,
    ) -> None: ...
    def save(self) -> dict[str, np.ndarray]: ...
    def restore(self, arrays: dict[str, np.ndarray], /) -> None: ...
    def step(self) -> None: ...
    def report(self) -> dict[str, Any]: ...
    def state(self) -> dict[str, Any]: ...
    def contacts(self) -> dict[str, np.ndarray]: ...
    def overlaps(self) -> dict[str, np.ndarray]: ...
    def energy(self) -> tuple[float, float]: ...
    def momentum(self) -> tuple[np.ndarray, np.ndarray]: ...
    def problem(self) -> tuple[np.ndarray, tuple[dict[str, Any], ...]]: ...

def split_rules() -> dict[str, str]: ...
def preconditioners() -> dict[str, str]: ...
def choose_preconditioner(system: BlockSystem, factor: float, /) -> str: ...
def block_cg(
    A: BlockSystem,
    iterated: BlockSystem,
    M: BlockPreconditioner,
    b: np.ndarray,
    x: np.ndarray,
    rtol: float,
    atol: float,
    max_iterations: int,
    single: bool,
    threads: int,
    callback: Callable[[np.ndarray], object] | None,
    /,
) -> dict[str, Any]: ...
def options() -> list[dict[str, Any]]: ...
def mlcp_options() -> list[dict[str, Any]]: ...
def methods() -> list[dict[str, Any]]: ...
def orders() -> list[dict[str, Any]]: ...
def schemes() -> list[dict[str, Any]]: ...
def sets() -> list[dict[str, Any]]: ...
def check_method(name: str, settings: dict[str, float | str], /) -> None: ...
def check_order(name: str, settings: dict[str, float | str], /) -> None: ...
def check_scheme(name: str, settings: dict[str, float | str], /) -> None: ...
def register_device(capsule: object, /) -> None: ...
def needs() -> list[tuple[str, str]]: ...
def classes() -> list[tuple[str, str]]: ...
def measures() -> list[tuple[str, str]]: ...
def rules() -> list[tuple[str, str]]: ...
def engines() -> list[tuple[str, str]]: ...
def describe_set(name: str, rows: int, /) -> dict[str, Any]: ...
def set_parameters(name: str, rows: int, /) -> int: ...
def project(
    name: str,
    narrow: bool,
    impulses: np.ndarray,
    parameters: np.ndarray,
    previous: np.ndarray | None,
    /,
) -> np.ndarray: ...
def inspect(
    problem: Problem,
    impulses: np.ndarray,
    residual_velocities: np.ndarray,
    b: np.ndarray,
    parameters: np.ndarray | None,
    tolerance: float,
    /,
) -> dict[str, np.ndarray]: ...
def islands(problem: Problem, /) -> np.ndarray: ...
def side_by_side(problems: tuple[Problem, ...], /) -> tuple[Problem, np.ndarray]: ...
def solve_batch(
    problem: Problem,
    options: dict[str, Any],
    order: dict[str, Any],
    initial: np.ndarray | None,
    recorded: np.ndarray,
    parts: int,
    histories: int,
    per: int,
    progress: Callable[[int], None] | None,
    /,
) -> dict[str, Any]: ...
def outcomes() -> list[str]: ...
def partition_labels(problem: Problem, strategy: str, parts: int, /) -> np.ndarray: ...
def ordering(
    problem: Problem,
    method: str,
    order: str,
    order_options: dict[str, Any],
    /,
) -> dict[str, Any]: ...
def stage_kinds() -> list[str]: ...
def fill_order(name: str, indices: np.ndarray, indptr: np.ndarray, /) -> np.ndarray: ...
def elimination_tree(indices: np.ndarray, indptr: np.ndarray, /) -> np.ndarray: ...
def shape_mass(
    kind: str, numbers: np.ndarray, vertices: np.ndarray | None, dimension: int, /
) -> tuple[float, np.ndarray, np.ndarray, float]: ...
def polar(matrices: np.ndarray, /) -> tuple[np.ndarray, np.ndarray]: ...
def stencil_distances(
    kind: int, x: np.ndarray, indices: np.ndarray | None, threads: int, /
) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
def stencil_impacts(
    kind: int,
    x0: np.ndarray,
    x1: np.ndarray,
    margin: float,
    indices: np.ndarray | None,
    threads: int,
    /,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]: ...
def stencil_free_step(
    kind: int,
    x0: np.ndarray,
    x1: np.ndarray,
    margin: float,
    indices: np.ndarray | None,
    threads: int,
    /,
) -> float: ...
def memory_live() -> int: ...
def memory_fail_after(successes: int, /) -> None: ...
def release_threads() -> None: ...
def stream(size: int, threads: int = 1, /) -> float: ...
def multiply() -> float: ...
def pool_overhead(kind: str, pattern: str, count: int, threads: int, /) -> float: ...
def build() -> dict[str, Any]: ...
