"""The devices of a StableHLO module that is being built."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Spmd:
    """The devices of a module that is being built.

    Args:
      mesh: a mesh of these devices; None for one device.
      divides: whether sharding rules may divide operations while XLA compiles the module; not for one device, and not
        in modules for other processes.

    Attributes:
      partitions: the number of devices.
      manual: the mesh and its manual axes, inside a per-device program; otherwise None.
      anchor: a number that calls of Python take, so that XLA assigns them to one device; None if it is not needed.
      parts: the operations that sharding rules divide.
      symbols: the names of meshes in the module.
    """

    __slots__ = ("anchor", "divides", "manual", "mesh", "partitions", "parts", "symbols")

    def __init__(self, mesh: Any = None, divides: bool = False) -> None:
        self.mesh = mesh
        self.partitions: int = 1 if mesh is None else mesh.size
        self.divides = divides and self.partitions > 1
        self.manual: tuple[Any, frozenset[Any]] | None = None
        self.anchor: Any = None
        self.parts: list[Any] = []
        self.symbols: dict[Any, str] = {}


def spmd_of(module: Any) -> Spmd:
    """The devices of a module."""
    if module.spmd is None:
        module.spmd = Spmd()
    return module.spmd  # type: ignore[no-any-return]


class _Always(threading.local):
    """Whether in this thread every operation is divided by its rule."""

    on = False


_always = _Always()


def divides_all() -> bool:
    """Whether all operations with sharding rules are divided by them in this thread, even if XLA could."""
    return _always.on


@contextmanager
def all_divided(on: bool = True) -> Iterator[None]:
    """A `with` block in which all operations with sharding rules are divided by them, even if XLA could."""
    before, _always.on = _always.on, on
    try:
        yield
    finally:
        _always.on = before
