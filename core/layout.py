"""How arrays lie in memory, as far as there is a choice: XLA chooses for all of them here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from primax.core import _jaxlib
from primax.core.arguments import integer, sequence

__all__ = ["Format", "Layout"]


@dataclass(frozen=True)
class Layout:
    """The order of the axes of an array in memory.

    Attributes:
      major_to_minor: the axes, the slowest first.
      tiling: the sizes of tiles; None for none.
    """

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


@dataclass(frozen=True)
class Format:
    """A layout with a sharding: for packages that carry one along. It is taken for its sharding.

    Attributes:
      layout: a `Layout`; None if XLA chooses.
      sharding: how the array lies on devices; None if it is not told.
    """

    layout: Layout | None = None
    sharding: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.layout, Layout | None):
            raise TypeError(f"Format: layout must be a Layout or None, got {self.layout!r}")
        if not isinstance(self.sharding, _jaxlib.Sharding | None):
            raise TypeError(f"Format: sharding must be a Sharding or None, got {self.sharding!r}")
