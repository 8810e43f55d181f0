"""The options that the kernel reads, and all by name: `config.update(name, value)` sets one, `.value` reads it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from primax.core.arguments import check_hashable, nearest
from primax.core.option import HASHABLE, Context, Option, options, switch

enable_x64 = switch(
    "enable_x64",
    "Make 64-bit ints and floats the default; otherwise they are 32-bit and 64-bit inputs are narrowed.",
    tracing=True,
)
debug_nans = switch(
    "debug_nans",
    "Raise FloatingPointError where a nan is computed; a program that returns one is run again step by step.",
    examines=True,
)
debug_infs = switch(
    "debug_infs",
    "Raise FloatingPointError where an inf is computed; a program that returns one is run again step by step.",
    examines=True,
)
check_tracer_leaks = switch(
    "check_tracer_leaks",
    "Raise if a traced function leaks tracers, and say which objects hold them. Tracing takes longer.",
    tracing=True,
)
enable_checks = switch("enable_checks", "Check the types of every program.", tracing=True)
check_rules = switch("check_rules", "Check all results of every rule, at every use. Programs run slower.", tracing=True)
no_tracing = switch(
    "no_tracing", "Raise where a function would be traced, to check that all functions were compiled before."
)

_PREFIXES = ("primax_", "jax_")
_ALIASES = {"platform_name": "platforms"}


class Config:
    """All options by name: attributes read them, `update` sets them, iteration lists them.

    The prefixes `primax_` and `jax_` of a name are optional.

    >>> config.no_tracing
    False
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._find(name).value

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"config: {name} must be set by config.update({name!r}, {value!r})")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *options]

    def __reduce__(self) -> str:
        return "config"

    def __iter__(self) -> Iterator[Option]:
        return iter(options.values())

    def __repr__(self) -> str:
        return "\n".join(
            f"{option.short_name} = {option.value!r}\n"
            f"    {option.doc}\n"
            f"    {option.kind.allowed}; default {option.default!r}; environment {option.env}"
            for option in self
        )

    def update(self, name: str, value: Any) -> None:
        """Set an option for the process.

        Args:
            name: the option's name, such as "enable_x64" or "primax_enable_x64".
            value: the new value.

        Raises:
            AttributeError: there is no such option.
            ValueError: the option does not allow this value.
            RuntimeError: the value can no longer change.
        """
        self._find(name).update(value)

    def read(self, name: str) -> Any:
        """The value of an option in the current thread.

        Args:
            name: the option's name, as in `update`.

        Raises:
            AttributeError: there is no such option.
        """
        return self._find(name).value

    @property
    def values(self) -> dict[str, Any]:
        """The value of each option in the current thread."""
        return {option.short_name: option.value for option in self}

    def _find(self, name: str) -> Option:
        option = None
        if isinstance(name, str):
            short = next((name.removeprefix(prefix) for prefix in _PREFIXES if name.startswith(prefix)), name)
            option = options.get(_ALIASES.get(short, short))
        if option is None:
            similar = nearest(name.removeprefix("jax_"), options) if isinstance(name, str) else ""
            raise AttributeError(
                f"Unrecognized config option: {name!r}{similar}; there are {', '.join(sorted(options))}"
            )
        return option


def make_user_context(default_value: Any = None) -> Context:
    """A user-defined context value: compiled functions are traced again if it changes.

    Args:
      default_value: the value where none is set; it must be hashable.

    Returns:
      A function. `with context(value):` sets the value in this thread; `context.value` reads it.

    Raises:
      TypeError: the default value is not hashable. A later value that is not hashable raises ValueError.

    >>> import primax as px
    >>> scale = px.make_user_context(1.0)
    >>> f = px.jit(lambda x: x * scale.value)
    >>> with scale(3.0):
    ...     print(f(2.0))
    6.0
    >>> print(f(2.0))
    2.0
    """
    check_hashable("make_user_context", "default_value", default_value)
    return Context(
        f"user_context_{next(_contexts)}", default_value, HASHABLE, "A value of the user's.", tracing=True, listed=False
    )


_contexts = itertools.count()

config = Config()
