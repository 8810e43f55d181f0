"""The growing body of a program over a mesh: values, the axes along which each varies, and the lines that make them."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Iterable

Axes = frozenset[str]
FLOAT, WHOLE = "float32", "int32"


@dataclasses.dataclass(frozen=True)
class Value:
    """An array in the body: its name, shape and dtype, and the axes of the mesh along which it may vary."""

    name: str
    shape: tuple[int, ...]
    vary: Axes = frozenset()
    dtype: str = FLOAT

    @property
    def ndim(self) -> int:
        return len(self.shape)


class Body:
    """The statements of a function.

    Args:
      rng: the source of chance.
      axes: the sizes of the axes of the mesh that are in scope in the function.
    """

    def __init__(self, rng: random.Random, axes: dict[str, int]) -> None:
        self.rng, self.axes = rng, axes
        self.values: list[Value] = []
        self.lines: list[str] = []

    def parameter(self, shape: tuple[int, ...], vary: Iterable[str] = ()) -> Value:
        """A parameter, which no line defines."""
        return self._named("xyzw"[len(self.values)], shape, frozenset(vary), FLOAT)

    def add(self, text: str, shape: Iterable[int], vary: Axes = frozenset(), dtype: str = FLOAT) -> Value:
        """A line that makes a value."""
        value = self._named(f"v{len(self.lines)}", tuple(shape), vary, dtype)
        self.lines.append(f"{value.name} = {text}")
        return value

    def _named(self, name: str, shape: tuple[int, ...], vary: Axes, dtype: str) -> Value:
        self.values.append(Value(name, shape, vary, dtype))
        return self.values[-1]

    def floating(self, least: int = 0) -> Value | None:
        """A value of floats with at least so many axes, preferably a late one."""
        fitting = [v for v in self.values if v.dtype == FLOAT and v.ndim >= least and math.prod(v.shape) <= 4096]
        if not fitting:
            return None
        return fitting[min(int(self.rng.triangular(0, len(fitting), len(fitting))), len(fitting) - 1)]

    def axis(self, value: Value) -> int:
        """One of the axes of a value."""
        return self.rng.randrange(value.ndim)

    def name_of(self, among: Iterable[str] | None = None) -> str | None:
        """An axis of the mesh."""
        names = sorted(self.axes if among is None else among)
        return self.rng.choice(names) if names else None

    def names_of(self, among: Iterable[str]) -> tuple[str, ...]:
        """Some axes of the mesh, at least one if there is any."""
        names = sorted(among)
        return tuple(self.rng.sample(names, self.rng.randint(1, len(names)))) if names else ()

    def size(self, names: Iterable[str]) -> int:
        """The number of devices along some axes."""
        return math.prod(self.axes[name] for name in names)


def written(names: tuple[str, ...]) -> str:
    """An axis name or a tuple of them, as text."""
    return repr(names[0]) if len(names) == 1 else repr(names)
