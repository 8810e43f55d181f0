"""Validation of the non-array arguments of public functions, with errors that name the argument."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from primax.core.dimensions import as_size
from primax.core.errors import ConcretizationTypeError

_F = TypeVar("_F")

# The attributes of jitted functions.
JITTED = ("_again", "_cache_size", "_clear_cache", "_dispatch", "clear_cache", "eval_shape", "lower", "trace")


def check_function(function: str, argument: str, value: Any) -> None:
    """Raise an error for a value that a transformation cannot call.

    Args:
      function: the name of the transformation, for messages.
      argument: the name of the argument, for messages.
      value: the value.

    Raises:
      TypeError: the value is not callable, is a `staticmethod` outside of a class, or returns a generator.
    """
    if not callable(value):
        raise TypeError(f"{function}: {argument} must be callable, got {value!r}")
    if isinstance(value, staticmethod):
        raise TypeError(f"{function}: {argument} must be a function, got {value!r}; put staticmethod around the result")
    if inspect.isgeneratorfunction(value):
        raise TypeError(f"{function}: {argument} must return arrays, got the generator function {value!r}")


def name_of(fun: Any, otherwise: str | None = None) -> str:
    """The name of a function in messages and programs: its `__name__`, or else the name of its type.

    A partial function has the name of the function inside.
    """
    name = getattr(fun, "__name__", None)
    if name is None and isinstance(fun, functools.partial):
        return name_of(fun.func, otherwise)
    return name if isinstance(name, str) else type(fun).__name__ if otherwise is None else otherwise


def wraps(fun: Any) -> Callable[[_F], _F]:
    """`functools.wraps` for any callable.

    If its `__name__` is not a string, the function gets the name that `name_of` finds. Attributes that a function
    cannot have are left out. So are the attributes that only a jitted function has, such as `lower`.
    """

    def decorate(function: _F) -> _F:
        fitting = [name for name in functools.WRAPPER_ASSIGNMENTS if _fits(fun, name)]
        functools.update_wrapper(function, fun, fitting)  # type: ignore[arg-type]
        if hasattr(fun, "_dispatch"):
            for name in JITTED:
                function.__dict__.pop(name, None)
        if "__name__" not in fitting:
            for attribute in ("__name__", "__qualname__"):
                setattr(function, attribute, name_of(fun))
        return function

    return decorate


def rename(function: Any, name: str) -> None:
    """Give a function that a factory made the name that users know; tracebacks and error messages show it, too."""
    inner = inspect.unwrap(function)
    for named in (function, inner):
        named.__name__ = named.__qualname__ = name
    inner.__code__ = inner.__code__.replace(co_name=name, co_qualname=name)


_ATTRIBUTES = {"__name__": str, "__qualname__": str, "__annotations__": dict, "__type_params__": tuple}


def _fits(fun: Any, attribute: str) -> bool:
    kind = _ATTRIBUTES.get(attribute)
    return kind is None or isinstance(getattr(fun, attribute, None), kind)


def integer(function: str, argument: str, value: Any) -> int:
    """A Python int.

    Raises:
      TypeError: `value` is not an integer.
    """
    try:
        return as_size(value)  # type: ignore[no-any-return]
    except ConcretizationTypeError:
        raise
    except TypeError:
        raise TypeError(f"{function}: {argument} must be an integer, got {value!r}") from None


def sequence(function: str, argument: str, value: Any) -> list[Any]:
    """The elements of an iterable.

    Raises:
      TypeError: `value` cannot be iterated over.
    """
    if not isinstance(value, list | tuple):
        try:
            iter(value)
        except TypeError:
            raise TypeError(f"{function}: {argument} must be a sequence, got {value!r}") from None
    return list(value)


def one_or_several(function: str, argument: str, value: Any, kind: type) -> tuple[Any, ...]:
    """A tuple of ints or strs, from a single one or a sequence.

    Raises:
      TypeError: `value` is neither; bools do not count as ints.
    """
    items = (value,) if isinstance(value, kind) else tuple(_elements(value))
    if kind is int:
        items = tuple([int(item) if isinstance(item, np.integer) else item for item in items])
    for item in items:
        if not isinstance(item, kind) or isinstance(item, bool):
            raise TypeError(f"{function}: {argument} must be {kind.__name__} or a sequence of them, got {value!r}")
    return items


def _elements(value: Any) -> Any:
    try:
        return iter(value)
    except TypeError:
        return (value,)


def real_number(function: str, argument: str, value: Any) -> float:
    """A Python float or int.

    Raises:
      TypeError: `value` is not a real number.
    """
    if isinstance(value, float | int):
        return value
    try:
        if isinstance(value, str | bytes | bytearray):
            raise TypeError
        return float(value)
    except ConcretizationTypeError:
        raise
    except (TypeError, ValueError):
        raise TypeError(f"{function}: {argument} must be a real number, got {value!r}") from None


def among(value: Any, choices: Any) -> bool:
    """Whether a value is among some names; False for values that cannot be compared, such as arrays."""
    try:
        hash(value)
        return value in choices
    except (TypeError, ValueError):
        return False


def check_hashable(function: str, argument: str, value: Any) -> None:
    """Raise an error for a value that is not hashable.

    Raises:
      TypeError: `value` is not hashable.
    """
    try:
        hash(value)
    except TypeError:
        kind = type(value).__name__
        raise TypeError(f"{function}: {argument} must be hashable, got {value!r} of type {kind}") from None


def numpy_dtype(function: str, argument: str, value: Any) -> np.dtype[Any]:
    """A NumPy dtype.

    Raises:
      TypeError: `value` does not name a dtype.
    """
    try:
        return np.dtype(value)  # type: ignore[no-any-return]
    except (TypeError, ValueError, SyntaxError, KeyError, AttributeError):
        hint = nearest(value, np.sctypeDict) if isinstance(value, str) else ""
        raise TypeError(f"{function}: {argument} must be a dtype, got {value!r}{hint}") from None


class naming:
    """A `with` block that puts the function's name in front of errors of NumPy and Python about its arguments."""

    __slots__ = ("function",)

    def __init__(self, function: str) -> None:
        self.function = function

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        for known in (TypeError, OverflowError, ValueError, BufferError):
            if isinstance(error, known) and not isinstance(error, ConcretizationTypeError):
                if not str(error).startswith(self.function):
                    # An error from a deeper call may come from an object of the user; the chain shows its line.
                    raise known(f"{self.function}: {error}") from (error if traceback.tb_next else None)
                return


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or an empty text if no known name is similar."""
    difflib = import_module("difflib")  # here, which saves a millisecond at `import primax`
    close = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {close[0]!r}?" if close else ""
