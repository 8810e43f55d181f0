"""Named parts of a program, for texts, profiles and messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from primax.core.arguments import name_of, wraps
from primax.core.source_info import use
from primax.core.trace_state import thread

_F = TypeVar("_F", bound=Callable[..., Any])


def _transformed(name: str, outer: Any) -> str:
    """A name with the transformations between this scope and the scope around it, as in `vmap(jvp(name))`.

    Args:
      name: the name of the scope.
      outer: the trace in which the scope around it began; None if there is none in the program being traced.
    """
    trace, full = thread.trace, name
    while trace is not None and trace is not outer and trace.tracing and not trace.stages:
        if trace.short_name:
            full = f"{trace.short_name}({full})"
        trace = trace.parent
    return full if outer is None or trace is outer else name


class named_scope:
    """A `with` block, or a decorator, that names the operations traced in it.

    The name appears in programs (`jaxpr.pretty_print(name_stack=True)`), in StableHLO, in profiles and in error
    messages. Scopes nest, as in `outer/inner`.

    Args:
      name: the name.

    Raises:
      TypeError: `name` is not a string.

    >>> import primax as px
    >>> def f(x):
    ...     with px.named_scope("squaring"):
    ...         return x * x
    >>> print(px.make_jaxpr(f)(3.0).pretty_print(name_stack=True))
    { lambda ; a:f32[]. let b:f32[] = mul a a in (b,) } # [squaring]
    """

    __slots__ = ("_before", "_name")

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"named_scope: name must be a str, got {name!r}")
        self._name = name
        self._before: list[tuple[str, Any]] = []

    def __enter__(self) -> None:
        use.begun = True
        outer, trace = thread.scope, thread.scope_trace
        self._before.append((outer, trace))
        thread.scope = f"{outer}/{_transformed(self._name, trace)}" if outer else _transformed(self._name, None)
        thread.scope_trace = thread.trace

    def __exit__(self, *exc_info: object) -> None:
        thread.scope, thread.scope_trace = self._before.pop()

    def __call__(self, fun: _F) -> _F:
        @wraps(fun)
        def call(*args: Any, **kwargs: Any) -> Any:
            with named_scope(self._name):
                return fun(*args, **kwargs)

        return call  # type: ignore[return-value]


def named_call(fun: _F, *, name: str | None = None) -> _F:
    """A function that runs in a named scope.

    Args:
      fun: the function.
      name: the name of the scope; by default the name of the function.

    Raises:
      TypeError: `fun` is not callable, or `name` is not a string.

    >>> import primax as px
    >>> print(px.make_jaxpr(px.named_call(lambda x: x * x, name="squaring"))(3.0).pretty_print(name_stack=True))
    { lambda ; a:f32[]. let b:f32[] = mul a a in (b,) } # [squaring]
    """
    if not callable(fun):
        raise TypeError(f"named_call: fun must be callable, got {fun!r}")
    if name is not None and not isinstance(name, str):
        raise TypeError(f"named_call: name must be a str or None, got {name!r}")
    return named_scope(name_of(fun) if name is None else name)(fun)
