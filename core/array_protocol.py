"""The operations of interpreters on array-like values, by the type of their avals; plugins supply them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from primax.core.diagnostics import user_line
from primax.core.errors import PluginError
from primax.core.lazy_tables import LazyEntries


class ArrayProtocol(NamedTuple):
    """The operations of interpreters on values of one kind of aval.

    Attributes:
      zeros: `(aval) -> value`, the zero of a (tangent) type.
      add: `(x, y) -> value`, the sum of two values of the same type.
      broadcast: `(x, size, dim) -> value`, `size` copies of `x` along a new axis `dim`.
      moveaxis: `(x, source, destination) -> value`.
      convert: `(x, aval) -> value`, to the dtype and weak type of `aval`.
      index: `(x, i, dim) -> value`, the `i`-th element along axis `dim`, for a static `i`.
      stack: `(xs, dim) -> value`, one or more values of the same type along a new axis `dim`.
      select: `(which, xs) -> value`: for each position `i` along axis 0 the element of `xs[which[i]]`; `which` is an
        array of booleans or integers of rank 1. None if branches and loops cannot be mapped over with such values.
      loop: `(fun, xs) -> values`: applies `fun` to the elements of `xs` along axis 0, one after another, and stacks the
        lists of results along axis 0, by a program with one copy of `fun`; None if there is no such program.
      units: `(aval, start, total) -> value`, of shape `(total, *aval.shape)`: rows `start` to `start + aval.size` are
        the unit vectors of the type in the order of its elements, the others are zeros; for types whose sizes are
        unknown until a program runs. None if there are no such types.
    """

    zeros: Callable[[Any], Any]
    add: Callable[[Any, Any], Any]
    broadcast: Callable[[Any, int, int], Any]
    moveaxis: Callable[[Any, int, int], Any]
    convert: Callable[[Any, Any], Any]
    index: Callable[[Any, int, int], Any]  # type: ignore[assignment]  # in place of that of tuples
    stack: Callable[[Sequence[Any], int], Any]
    select: Callable[[Any, Sequence[Any]], Any] | None = None
    loop: Callable[[Callable[..., list[Any]], Sequence[Any]], list[Any]] | None = None
    units: Callable[[Any, Any, Any], Any] | None = None


protocols: dict[type, ArrayProtocol] = {}
_lazy = LazyEntries("protocol", protocols)


def install_protocol(kind: type, protocol: ArrayProtocol, override: bool = False) -> None:
    """Supply the operations on values whose aval is a `kind`.

    Raises:
      PluginError: another plugin supplies them already, and `override` is False.
    """
    if not override and kind in protocols and protocols[kind] is not protocol:
        raise PluginError(f"the array protocol of {kind.__name__} is supplied already")
    _lazy.put(kind, protocol)


def protocol_of(aval: Any) -> ArrayProtocol:
    """The operations on values of type `aval`.

    Raises:
      TypeError: no active plugin supplies them.
    """
    protocol = protocols.get(type(aval))
    if protocol is None:
        _lazy.ask(type(aval))
        protocol = protocols.get(type(aval))
        if protocol is None:
            raise TypeError(
                f"no active plugin supplies the array protocol for values of type {aval}.\n"
                f"  Needed at {user_line()}.\n"
                f"  Give it: registry.array_protocol({type(aval).__name__}, zeros=..., add=..., ...) in the "
                "primax_register of its plugin."
            )
    return protocol
