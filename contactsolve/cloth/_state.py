"""The state of a cloth: positions, velocities and time, energies and contacts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._arrays import finite_array
from .._options import count
from ._alone import alone
from ._contact_problem import Contacts, contacts_of
from ._scalars import numbers_of

if TYPE_CHECKING:
    from .. import _core
    from ._attachment import Attachment
    from ._colliding import Colliding
    from .collisions import Collisions
    from .obstacle import Obstacle

__all__ = ["ClothState", "Energy"]


class Energy(NamedTuple):
    """Energies of a cloth [J]; ``sum(energy)`` is that of the whole."""

    kinetic: float
    gravity: float  # zero at the origin
    membrane: float
    bending: float


class ClothState:
    """What `Cloth` tells of itself, and what can be assigned."""

    _core: _core.Cloth
    _attachment: Attachment
    _colliding: Colliding | None
    _dtype: str
    _faces: np.ndarray
    _forces: np.ndarray | Callable[[Any], Any] | None
    _masses: np.ndarray
    _user: dict[str, object]

    @property
    def dtype(self) -> str:
        """The precision of the matrix."""
        return self._dtype

    @property
    def newton(self) -> int:
        """Linear solves of a step."""
        return self._newton

    @newton.setter
    def newton(self, value: int) -> None:
        self._newton = count("newton", value, least=1, most=1000)

    @property
    def masses(self) -> np.ndarray:
        """Masses of the vertices, ``(n,)`` [kg]."""
        return self._masses

    @property
    def faces(self) -> np.ndarray:
        """Numbers of vertices, ``(m, 3)``."""
        return self._faces

    @property
    def attached(self) -> np.ndarray:
        """Attached vertices, ``(k,)``."""
        return self._attachment.vertices

    @property
    def collisions(self) -> Collisions | None:
        """How the cloth responds to collisions."""
        return None if self._colliding is None else self._colliding.collisions

    @property
    def obstacles(self) -> tuple[Obstacle, ...]:
        """The obstacles."""
        return () if self._colliding is None else self._colliding.obstacles

    @property
    def positions(self) -> np.ndarray:
        """Positions, ``(n, 3)`` [m]."""
        return self._core.state()[0]

    @positions.setter
    @alone
    def positions(self, value: Any) -> None:
        _, v, time = self._core.state()
        x = self._vectors(value, "positions")
        if self._colliding is not None:
            self._colliding.check(x)
        self._core.set_state(x, v, time)

    @property
    def velocities(self) -> np.ndarray:
        """Velocities, ``(n, 3)`` [m/s]."""
        return self._core.state()[1]

    @velocities.setter
    @alone
    def velocities(self, value: Any) -> None:
        self._core.set_velocities(self._vectors(value, "velocities"))

    @property
    def time(self) -> float:
        """The time [s]."""
        return self._core.state()[2]

    @time.setter
    @alone
    def time(self, value: float) -> None:
        time = float(numbers_of(time=value)[0])
        if not np.isfinite(time):
            raise ValueError(f"time is {time:g}: a finite number of seconds is needed")
        places = [] if self._colliding is None else self._colliding.places(time)
        self._core.set_time(time)
        if self._colliding is not None:
            self._colliding.place(places)

    def energy(self) -> Energy:
        """Return kinetic energy, and those of gravity, membrane and bending [J].

        Returns
        -------
        Energy
            A tuple; that of gravity is zero at the origin.
        """
        return Energy(*self._core.energy())

    def momentum(self) -> tuple[np.ndarray, np.ndarray]:
        """Return linear momentum [kg m/s], and angular momentum about the origin [kg m²/s]."""
        return self._core.momentum()

    @property
    def contacts(self) -> Contacts | None:
        """The contacts of the last step; None: the cloth has no collisions."""
        return None if self._colliding is None else contacts_of(self._core)

    def _inverse_masses(self) -> np.ndarray:
        """Return 1 / mass, and zeros for attached vertices."""
        inverse = 1 / self.masses
        inverse[self.attached] = 0
        return inverse

    def _pull(self) -> np.ndarray | None:
        """Return the forces of a step."""
        forces = self._forces
        if forces is None or isinstance(forces, np.ndarray):
            return forces
        return self._vectors(forces(self))

    def _arguments(
        self, h: float, forces: np.ndarray | None
    ) -> tuple[float, np.ndarray | None, np.ndarray | None]:
        """Return the length of a step, where attached vertices will be, and forces."""
        step = float(numbers_of(h=h)[0])
        x, _, time = self._core.state()
        return step, self._attachment.targets(x, time + step), forces

    def _vectors(self, value: Any, name: str = "forces") -> np.ndarray:
        """Return a vector for each vertex."""
        vectors, wanted = finite_array(name, value), (len(self.masses), 3)
        if vectors.shape != wanted:
            raise ValueError(f"{name} has shape {vectors.shape}: {wanted} is needed")
        return vectors
