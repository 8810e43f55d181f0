"""How public functions read arguments that are no arrays; what they refuse, they name."""

from __future__ import annotations

import inspect
from operator import index
from typing import Any

from primax.core.errors import ConcretizationTypeError

__all__ = ["check_function", "integer", "sequence"]


def check_function(function: str, argument: str, value: Any) -> None:
    """Refuse what a transformation cannot call for a result.

    Args:
      function: who asks, for messages.
      argument: what is asked for, for messages.
      value: what was given.

    Raises:
      TypeError: it is not callable, is a `staticmethod` that no class holds, or returns a generator.
    """
    if not callable(value):
        raise TypeError(f"{function}: {argument} must be callable, got {value!r}")
    if isinstance(value, staticmethod):
        raise TypeError(f"{function}: {argument} must be a function, got {value!r}; put staticmethod around the result")
    if inspect.isgeneratorfunction(value):
        raise TypeError(f"{function}: {argument} must return arrays, got the generator function {value!r}")


def integer(function: str, argument: str, value: Any) -> int:
    """A Python int.

    Raises:
      TypeError: `value` is not an integer.
    """
    try:
        return index(value)
    except ConcretizationTypeError:
        raise
    except TypeError:
        raise TypeError(f"{function}: {argument} must be an integer, got {value!r}") from None


def sequence(function: str, argument: str, value: Any) -> list[Any]:
    """The elements of what can be iterated over.

    Raises:
      TypeError: `value` cannot be iterated over.
    """
    if not isinstance(value, list | tuple):
        try:
            iter(value)
        except TypeError:
            raise TypeError(f"{function}: {argument} must be a sequence, got {value!r}") from None
    return list(value)
