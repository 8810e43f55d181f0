"""Layouts of arrays in memory; XLA chooses the layouts of all arrays."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, ClassVar

from primax.core import _jaxlib
from primax.core.arguments import integer, sequence


class _Choice(enum.Enum):
    """A marker for a layout that XLA chooses."""

    AUTO = enum.auto()

    def __repr__(self) -> str:
        return "Layout.AUTO"


@dataclass(frozen=True)
class Layout:
    """The order of the axes of an array in memory.

    Attributes:
      major_to_minor: the axes, the slowest-varying first.
      tiling: the sizes of tiles; None for none.
      AUTO: in a `Format`, the layout that XLA chooses; programs take and return all arrays in row-major order.
    """

    AUTO: ClassVar[_Choice] = _Choice.AUTO

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None

    def __post_init__(self) -> None:
        axes = [
            integer("Layout", "major_to_minor", axis)
            for axis in sequence("Layout", "major_to_minor", self.major_to_minor)
        ]
        object.__setattr__(self, "major_to_minor", tuple(axes))
        if self.tiling is not None:
            tiles = [sequence("Layout", "tiling", tile) for tile in sequence("Layout", "tiling", self.tiling)]
            object.__setattr__(self, "tiling", tuple([tuple(tile) for tile in tiles]))

    @property
    def is_plain(self) -> bool:
        """Whether it is row-major, like NumPy's arrays."""
        return not self.tiling and self.major_to_minor == tuple(range(len(self.major_to_minor)))


@dataclass(frozen=True)
class Format:
    """A layout with a sharding, for packages that use such pairs. primax uses only the sharding.

    Attributes:
      layout: a `Layout`; None or `Layout.AUTO` if XLA chooses.
      sharding: the sharding of the array; None if it is unspecified.
    """

    layout: Layout | _Choice | None = None
    sharding: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.layout, Layout | _Choice | None):
            raise TypeError(f"Format: layout must be a Layout, Layout.AUTO or None, got {self.layout!r}")
        if not isinstance(self.sharding, _jaxlib.Sharding | None):
            raise TypeError(f"Format: sharding must be a Sharding or None, got {self.sharding!r}")
