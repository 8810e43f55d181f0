"""Parts of a program with attributes for XLA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from primax.core.arguments import wraps
from primax.core.config import make_user_context
from primax.core.source_info import use
from primax.core.trace_state import thread

__all__ = ["compiler_attributes"]

_F = TypeVar("_F", bound=Callable[..., Any])

_context = make_user_context(())  # `thread.attributes` as a context, on which compiled functions depend


class compiler_attributes:
    """A `with` block, or a decorator, that sets attributes for XLA on the operations traced in it.

    In StableHLO the operations have them in `mhlo.frontend_attributes`. Blocks nest; inner values take precedence.

    Args:
      attributes: numbers, booleans and strings, by name; None removes an attribute of an outer block.

    Raises:
      TypeError: a value has another type.
    """

    __slots__ = ("_attributes", "_before")

    def __init__(self, **attributes: Any) -> None:
        for name, value in attributes.items():
            if not isinstance(value, str | int | float | None):
                raise TypeError(f"compiler_attributes: {name} must be a str, a number, a bool or None, got {value!r}")
        self._attributes = {name: _text(value) for name, value in attributes.items()}
        self._before: list[Any] = []

    def __enter__(self) -> None:
        use.begun = True
        outer = thread.attributes
        merged = {**dict(outer), **self._attributes}
        inner = tuple(sorted((name, text) for name, text in merged.items() if text is not None))
        context = _context(inner)
        context.__enter__()
        self._before.append((outer, context))
        thread.attributes = inner

    def __exit__(self, *exc_info: object) -> None:
        outer, context = self._before.pop()
        thread.attributes = outer
        context.__exit__(None, None, None)

    def __call__(self, fun: _F) -> _F:
        @wraps(fun)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self:
                return fun(*args, **kwargs)

        for name in ("eval_shape", "lower", "trace"):  # methods of jitted functions that trace, too
            if callable(stage := getattr(fun, name, None)):
                setattr(call, name, self._within(stage))
        return call  # type: ignore[return-value]

    def _within(self, stage: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            with self:
                return stage(*args, **kwargs)

        return run


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value).lower()
