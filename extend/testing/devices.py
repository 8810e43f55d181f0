"""Eight devices of the CPU for checks of sharding rules, also in a process that was started with fewer."""

from __future__ import annotations

from functools import cache
from typing import Any

from primax.core import _jaxlib
from primax.interpreters.runtime.devices.backends import devices

__all__ = ["eight_devices"]

COUNT = 8


def eight_devices() -> list[Any]:
    """The first eight CPU devices; those of a client for the kit alone, if the process has fewer."""
    here: list[Any] = devices("cpu")
    return here[:COUNT] if len(here) >= COUNT else _of_own_client()


@cache
def _of_own_client() -> list[Any]:
    return list(_jaxlib.xla_client.make_cpu_client(num_devices=COUNT).devices())
