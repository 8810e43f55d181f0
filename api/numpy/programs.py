"""Functions of several operations that are one program in eager mode."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from primax.extend import core
from primax.extend.core import Array
from primax.plugins.calls import jit

__all__ = ["one_program"]

Function = TypeVar("Function", bound=Callable[..., Any])


def _hashable(x: Any) -> Any:
    """A list or a NumPy array, such as axes may be given by, as a tuple or a number; other values as they are."""
    if isinstance(x, np.ndarray):
        x = x.tolist()
    return tuple(map(_hashable, x)) if isinstance(x, list) else x


def one_program(static: int, named: str | None = None) -> Callable[[Function], Function]:
    """A decorator for a function that is compiled whole in eager mode, and inlined in programs.

    Args:
      static: the position of the first argument that is not an array; those after it are none either.
      named: if the function is a call in programs as well, the name of it; where JAX has such a call, interpreters
        know it by that name.
    """

    def decorate(function: Function) -> Function:
        if named is not None:
            function.__name__ = named
        program = jit(function, static_argnums=tuple(range(static, function.__code__.co_argcount)))

        @wraps(function)
        def call(*args: Any) -> Array | list[Array]:
            if core.thread.opened or (named is None and core.thread.trace.tracing):
                return function(*args)
            try:
                return program(*args)
            except ValueError:
                constants = tuple(map(_hashable, args[static:]))
                if all(x is y for x, y in zip(constants, args[static:], strict=True)):
                    raise
                return program(*args[:static], *constants)

        return call  # type: ignore[return-value]

    return decorate
