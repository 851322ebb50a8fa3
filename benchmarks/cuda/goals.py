"""Goals of the measurements on a device, and the bandwidth that they are compared with."""

from typing import NamedTuple

from contactsolve import _devices

COPY_BYTES = 1 << 28


class Goal(NamedTuple):
    """A limit for one figure of the row that has these values."""

    row: dict
    key: str
    limit: float
    at_least: bool = False

    def is_for(self, row):
        return all(row[name] == value for name, value in self.row.items())

    def reached(self, row):
        value = row[self.key]
        return value >= self.limit if self.at_least else value <= self.limit

    def name(self):
        return f"{', '.join(f'{name} {value}' for name, value in self.row.items())}: {self.key}"

    def told(self, row):
        word = ">=" if self.at_least else "<="
        verdict = "reached" if self.reached(row) else "MISSED"
        return f"{self.name()} = {row[self.key]:.3g}, goal {word} {self.limit}: {verdict}"


def told(goals, rows):
    """Return a sentence for each goal: reached or missed, by how much; or not measured."""
    own = [(goal, next((row for row in rows if goal.is_for(row)), None)) for goal in goals]
    return [goal.told(row) if row else f"{goal.name()}: not measured" for goal, row in own]


def copy_rate(device):
    """Return GB/s of copies in the device's memory, read and write: the best of five."""
    module = _devices.module_of(device)
    times = [module.memory_times(COPY_BYTES)["within"] for _ in range(5)]
    return 2 * COPY_BYTES / min(times) / 1e9
