"""The hooks of the plugin of users' types: programs are split, and operators are diverted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primax.core.array_protocol import ArrayProtocol, protocol_of
from primax.core.avals import get_aval
from primax.core.operand import Operand
from primax.extend.core.user_types import support, value_classes
from primax.interpreters.passes import install_splitter

__all__ = [
    "ArrayProtocol",
    "Operand",
    "choose",
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


def choose(which: Any, xs: Sequence[Any]) -> Any:
    """For each position along axis 0 the element of one of the values, all of the same type.

    Args:
      which: the number of the value for each position; a boolean if there are two.
      xs: the values.

    Raises:
      TypeError: values of this type cannot be selected.
    """
    aval = get_aval(xs[0])
    select = protocol_of(aval).select
    if select is None:
        raise TypeError(
            f"a branch or loop that is mapped over must select between values of type {aval.str_short()}; give "
            f"registry.array_protocol({type(aval).__name__}, select=...)"
        )
    return select(which, xs)
