"""The names of `jax._src.custom_api_util` that packages use."""

from __future__ import annotations

from typing import Any

__all__ = ["forward_attr", "register_custom_decorator_type"]

_custom_wrapper_types: set[type] = set()


def register_custom_decorator_type(cls: type) -> type:
    """Enter a class of functions with custom rules, and return it. Only packages read the set, as in JAX."""
    _custom_wrapper_types.add(cls)
    return cls


def forward_attr(self: Any, name: str) -> Any:
    """The attribute `name` of the wrapped function `self.fun`, if it defines rules, as `defjvp` does.

    Raises:
      AttributeError: the name does not begin with "def".
    """
    if name.startswith("def"):
        return getattr(self.fun, name)
    raise AttributeError(f"forward_attr: name must begin with 'def', got {name!r}")
