"""Functions of several operations that are one program when called outside of programs."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from primax.extend import core
from primax.plugins.calls import jit

__all__ = ["one_program"]

Function = Callable[..., Any]


def one_program(static: int) -> Callable[[Function], Function]:
    """A decorator for a function that is compiled as a whole outside of programs, and inlined in them.

    Args:
      static: the position of the first argument that is not an array; those after it are none either.
    """

    def decorate(function: Function) -> Function:
        program = jit(function, static_argnums=tuple(range(static, function.__code__.co_argcount)))

        @wraps(function)
        def call(*args: Any) -> Any:
            return function(*args) if core.thread.trace.tracing else program(*args)

        return call

    return decorate
