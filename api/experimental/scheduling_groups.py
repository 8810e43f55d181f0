"""Groups of operations for XLA's scheduler."""

from __future__ import annotations

from typing import Any

from primax.extend.provisional.compiler_attributes import compiler_attributes

__all__ = ["scheduling_group", "xla_metadata_call"]
__dir__ = __all__.copy


def scheduling_group(name: str) -> Any:
    """A decorator that puts the operations of a function into one scheduling group of XLA.

    Args:
      name: the name of the group.

    Raises:
      TypeError: `name` is not a string.

    >>> import primax as px, primax.numpy as pnp
    >>> from primax.experimental.scheduling_groups import scheduling_group
    >>> f = px.jit(scheduling_group(name="first")(pnp.sin))
    >>> 'scheduling_group = "first"' in f.lower(1.0).as_text()
    True
    """
    if not isinstance(name, str):
        raise TypeError(f"scheduling_group: name must be a str, got {name!r}")
    return compiler_attributes(scheduling_group=name)


def xla_metadata_call(f: Any = None, **attributes: object) -> Any:
    """Set XLA attributes on the operations of a function; a decorator if `f` is None."""
    scope = compiler_attributes(**attributes)
    return scope if f is None else scope(f)
