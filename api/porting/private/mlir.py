"""`jax.interpreters.mlir`: names of JAX besides those of `primax.extend.interpreters.mlir`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from typing import Any, Protocol

from primax.core import _jaxlib
from primax.core.cache import epoch
from primax.extend.core import AbstractToken, ShapedArray
from primax.extend.interpreters.mlir import aval_to_ir_type
from primax.interpreters.runtime.ir_types import constant_handlers, type_handlers
from primax.interpreters.staging import literal_kinds

__all__ = [
    "ConstantHandler",
    "LoweringRule",
    "Token",
    "Value",
    "flatten_ir_types",
    "flatten_ir_values",
    "ir_type_handlers",
    "register_constant_handler",
    "unflatten_ir_values_like_types",
]

Value = Token = _jaxlib.ir.Value
LoweringRule = Callable[..., Any]


class ConstantHandler(Protocol):
    """A function that makes the IR value of a constant."""

    def __call__(self, val: Any, aval: Any) -> Any:
        """The IR value of a value of a type."""


def _one(where: str, returned: Any) -> Any:
    """The only element of a sequence; other objects unchanged."""
    if not isinstance(returned, list | tuple):
        return returned
    if len(returned) != 1:
        raise TypeError(f"{where}: each value of a program is one IR value, got {len(returned)}")
    return returned[0]


def register_constant_handler(type_: type, handler_fun: Callable[..., Any]) -> None:
    """Let programs contain constants of a class.

    Args:
      type_: the class; `registry.aval` or `core.pytype_aval_mappings` gives the types of its values.
      handler_fun: `(value, aval) -> IR value`, or a sequence of one; called where the module is built.

    Raises:
      TypeError: `type_` is not a class, or `handler_fun` is not callable.
    """
    if not isinstance(type_, type) or not callable(handler_fun):
        raise TypeError(
            f"register_constant_handler: expected a class and a function (value, aval), got {type_!r}, {handler_fun!r}"
        )
    constant_handlers[type_] = lambda value, aval: _one("register_constant_handler", handler_fun(value, aval))
    literal_kinds.add(type_)
    epoch.bump()


class _TypeHandlers(MutableMapping[type, Callable[[Any], Any]]):
    """The functions that give the IR types of avals, by the class of the aval."""

    _own = dict.fromkeys((ShapedArray, AbstractToken), aval_to_ir_type)

    def __getitem__(self, kind: type) -> Callable[[Any], Any]:
        return type_handlers[kind] if kind in type_handlers else self._own[kind]

    def __setitem__(self, kind: type, handler: Callable[[Any], Any]) -> None:
        if kind in self._own:
            raise TypeError(f"ir_type_handlers: the types of {kind.__name__} are primax's, they cannot be replaced")
        type_handlers[kind] = lambda aval: _one("ir_type_handlers", handler(aval))
        epoch.bump()

    def __delitem__(self, kind: type) -> None:
        del type_handlers[kind]
        epoch.bump()

    def __iter__(self) -> Iterator[type]:
        return iter({**self._own, **type_handlers})

    def __len__(self) -> int:
        return len(self._own) + len(type_handlers)


ir_type_handlers = _TypeHandlers()


def _flat(xs: Iterable[Any]) -> list[Any]:
    return [leaf for x in xs for leaf in (x if isinstance(x, list | tuple) else (x,))]


def flatten_ir_types(xs: Iterable[Any]) -> list[Any]:
    """The IR types in a sequence of types and sequences of types."""
    return _flat(xs)


def flatten_ir_values(xs: Iterable[Any]) -> list[Any]:
    """The IR values in a sequence of values and sequences of values."""
    return _flat(xs)


def unflatten_ir_values_like_types(xs: Iterable[Any], ys: Sequence[Any]) -> list[Any]:
    """Group IR values in the structure of the types `ys`.

    Raises:
      ValueError: the numbers differ.
    """
    values = list(xs)
    if len(values) != len(_flat(ys)):
        raise ValueError(f"unflatten_ir_values_like_types: there must be {len(_flat(ys))} values, got {len(values)}")
    rest = iter(values)
    return [[next(rest) for _ in y] if isinstance(y, list | tuple) else next(rest) for y in ys]
