"""Memory spaces, which are part of the types of arrays."""

from __future__ import annotations

import enum


class Space(enum.Enum):
    """A memory space. All arrays are in device memory, which on CPUs is host memory."""

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()
