"""The hooks of the plugin of users' types: programs are split, and operators are diverted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primax.core.array_protocol import ArrayProtocol
from primax.core.operand import Operand
from primax.extend.core.user_types import support, value_classes
from primax.interpreters.passes import install_splitter

__all__ = [
    "ArrayProtocol",
    "Operand",
    "has_user_types",
    "install_splitter",
    "map_parts",
    "unpacked",
    "value_classes",
]


def has_user_types() -> bool:
    """Whether there are types of users' own."""
    return bool(value_classes)


def unpacked(values: Any) -> Any:
    """A tree whose values of users' types are containers of their arrays."""
    return support["unpacked"](values)


def map_parts(function: Callable[[int, Any], Any], x: Any) -> Any:
    """A value of a user's type with other parts: `function(number, part)` returns each."""
    return support["map_parts"](function, x)
