"""How arrays lie in memory, as far as there is a choice: XLA chooses for all of them here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True)
class Format:
    """A layout with a sharding: for packages that carry one along. It is taken for its sharding.

    Attributes:
      layout: a `Layout`; None if XLA chooses.
      sharding: how the array lies on devices; None if it is not told.
    """

    layout: Layout | None = None
    sharding: Any = None
