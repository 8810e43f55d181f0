"""Functions of several operations that run as one program in eager mode."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from primax.core.trace_state import thread_blockers, tracing
from primax.extend.core import Array
from primax.extend.provisional import runtime
from primax.extend.provisional.sharding import unreduced_params
from primax.extend.provisional.tracing import thread
from primax.plugins.calls import jit

Function = TypeVar("Function", bound=Callable[..., Any])

_ARRAYS = frozenset({Array, np.ndarray})
_TAKES_ANY_NUMBER = 0x04  # the flag of functions with `*args`
_NUMBERS = frozenset({bool, int, float, complex, type(None)})


def _hashable(x: Any) -> Any:
    """Convert a list, such as a list of widths, to a tuple; return other values unchanged."""
    return tuple(map(_hashable, x)) if type(x) in (list, tuple) else x


def one_program(static: int | str, named: str | None = None) -> Callable[[Function], Function]:
    """A decorator that compiles a function as a whole in eager mode, and inlines it in programs.

    The function runs operation by operation, and so raises its own errors, if no argument is an array, if an argument
    is neither an array nor a number, or if compilation fails.

    Args:
      static: the names of the parameters that are not arrays, separated by spaces; or the position of the first one, if
        all later parameters are not arrays either.
      named: the name of the call, if the function is one call in programs too; interpreters know calls of JAX by JAX's
        names.
    """

    def decorate(function: Function) -> Function:
        if named is not None:
            function.__name__ = named
        code = function.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        constants = names[static:] if isinstance(static, int) else tuple(static.split())
        arrays = tuple(i for i, name in enumerate(names[: code.co_argcount]) if name not in constants)
        more = code.co_flags & _TAKES_ANY_NUMBER
        count = len(arrays)
        program: Any = None

        def serves(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
            """Whether a program can take the arguments."""
            if not kwargs and len(args) == 1 == count:
                return type(args[0]) in _ARRAYS
            has_array = False
            nargs = len(args)
            for i in (*arrays, *range(code.co_argcount, nargs)) if more else arrays:
                if i >= nargs:
                    break
                kind = type(args[i])
                if kind in _ARRAYS:
                    has_array = True
                elif kind not in _NUMBERS:
                    return False
            for name, x in kwargs.items():
                if name not in constants and type(x) not in _NUMBERS:
                    if type(x) not in _ARRAYS:
                        return False
                    has_array = True
            return has_array

        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal program
            if (tracing or thread_blockers) and (thread.trace.tracing or unreduced_params()):
                if named is None or unreduced_params():
                    return function(*args, **kwargs)
            elif not serves(args, kwargs):
                return function(*args, **kwargs)
            if program is None:
                function.__name__ = front.__name__  # a function may be named after its definition
                program = jit(function, static_argnames=constants)
                share(program)
            try:
                # Here a list can only be a constant; calls without constants need not search for one.
                if (kwargs or len(args) > count) and list in map(type, (*args, *kwargs.values())):
                    return program(*map(_hashable, args), **{name: _hashable(x) for name, x in kwargs.items()})
                return program(*args, **kwargs)
            except Exception:
                by_operations = function
            return by_operations(*args, **kwargs)

        positions = [i for i in range(code.co_argcount) if i not in arrays]
        front, share = runtime.fast_front(call, positions, constants)
        return wraps(function)(front)  # type: ignore[return-value]

    return decorate
