"""Functions under NumPy's names, which promote and broadcast, and Python's operators on arrays."""

from __future__ import annotations

from typing import Any

from primax.extend import hookimpl
from primax.plugins.numpy.operators import OPERATORS

__all__: list[str] = []


@hookimpl
def primax_register(registry: Any) -> None:
    registry.operators(**OPERATORS)
