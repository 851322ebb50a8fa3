"""The C library. Shapes and meanings are those of the Python classes above it."""

from collections.abc import Callable
from typing import Any, final

import numpy as np

@final
class Problem:
    def __new__(
        cls,
        bodies: tuple[tuple[int, int, bool, np.ndarray], ...],
        blocks: tuple[tuple[Any, ...], ...],
        matrix: tuple[np.ndarray, np.ndarray, np.ndarray] | None,
        /,
    ) -> Problem: ...
    @property
    def asymmetry(self) -> float: ...
    def jacobian(self, group: int, /) -> np.ndarray: ...
    def bodies(self, group: int, /) -> np.ndarray: ...
    def inverse_mass(self, group: int, /) -> np.ndarray: ...
    def b(self, group: int, /) -> np.ndarray: ...
    def compliance(self, group: int, /) -> np.ndarray | None: ...
    def replace(self, other: Problem, /) -> None: ...
    def count_blocks(self, fixed_as_body: bool, /) -> int: ...
    def first_immovable(self) -> int: ...
    def assemble(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...

@final
class Solver:
    def __new__(
        cls,
        problem: Problem,
        method: str,
        scheme: str,
        order: str,
        local: str,
        r_factor: str | None,
        r_value: float,
        bound: str,
        relaxation: float,
        averaging: float,
        averaging_adjacent: bool,
        rollback: int,
        rollback_growth: float,
        dtype: str,
        stop: str,
        rtol: float,
        atol: float,
        check_every: int,
        max_iterations: int,
        record: tuple[str, ...],
        record_every: int,
        quality_r: float,
        threads: int,
        order_options: tuple[Any, ...],
        velocities: str,
        instructions: str,
        general: bool,
        islands: bool,
        settings: tuple[tuple[str, float | str], ...],
        max_seconds: float,
        time_checks: bool,
        measure_every: int,
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
    ) -> tuple[Any, ...]: ...
    def ray(self) -> np.ndarray | None: ...
    def describe(self) -> dict[str, Any]: ...

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
        method: str,
        engine: str,
        tolerance: float,
        block_steps: int,
        stall_steps: int,
        max_pivots: int,
        refinements: int,
        condition: bool,
        cache_bytes: int,
        interior: bool,
        reuse: int,
        islands: bool,
        threads: int,
    ) -> Mlcp: ...
    def update(self, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, /) -> None: ...
    def solve(
        self, b: np.ndarray, lo: np.ndarray, hi: np.ndarray, initial: np.ndarray | None, /
    ) -> tuple[Any, ...]: ...
    def describe(self) -> dict[str, Any]: ...

def methods() -> list[dict[str, Any]]: ...
def check_method(name: str, settings: tuple[tuple[str, float | str], ...]) -> None: ...
def needs() -> list[tuple[str, str]]: ...
def classes() -> list[tuple[str, str]]: ...
def schemes() -> list[tuple[str, str]]: ...
def orders() -> list[tuple[str, str]]: ...
def measures() -> list[tuple[str, str]]: ...
def sets() -> list[tuple[str, str]]: ...
def rules() -> list[tuple[str, str]]: ...
def engines() -> list[tuple[str, str]]: ...
def contact_sets() -> list[str]: ...
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
) -> tuple[np.ndarray, ...]: ...
def islands(problem: Problem, /) -> np.ndarray: ...
def partition_labels(problem: Problem, labelling: int, parts: int, /) -> np.ndarray: ...
def ordering(
    problem: Problem,
    method: str,
    order: str,
    order_options: tuple[Any, ...],
    threads: int,
    /,
) -> dict[str, Any]: ...
def stage_kinds() -> list[str]: ...
def fill_order(name: str, indices: np.ndarray, indptr: np.ndarray, /) -> np.ndarray: ...
def elimination_tree(indices: np.ndarray, indptr: np.ndarray, /) -> np.ndarray: ...
def memory_live() -> int: ...
def memory_fail_after(successes: int, /) -> None: ...
def release_threads() -> None: ...
def stream(size: int, /) -> float: ...
def multiply() -> float: ...
def build() -> dict[str, Any]: ...
