"""Attributes of operations for XLA's passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primax.core.scopes import compiler_attributes
from primax.extend.core import tree
from primax.plugins.remat import checkpoint_name

__all__ = ["set_xla_metadata", "xla_metadata_call"]


def set_xla_metadata(x: Any = None, **attributes: Any) -> Any:
    """Set attributes for XLA on the operations traced in a `with` block, or in a function, or that produced given
    values.

    The attributes are among the `mhlo.frontend_attributes` of the operations in StableHLO. What is traced in a block
    within another has those of both; the inner one counts.

    Args:
      x: arrays in any containers: the operations that made them are meant. None for a block or a decorator.
      attributes: strings, numbers and booleans, by name; None takes away what a block around says.

    Returns:
      `x`, if there is one; otherwise what is used by `with`, or as a decorator.

    Raises:
      TypeError: an attribute is something else.

    >>> import primax as px, primax.numpy as pnp
    >>> from primax.experimental.xla_metadata import set_xla_metadata
    >>> @px.jit
    ... def f(x):
    ...     with set_xla_metadata(kept=True):
    ...         return pnp.sin(x)
    >>> 'kept = "true"' in f.lower(1.0).as_text()
    True
    """
    scope = compiler_attributes(**attributes)
    if x is None:
        return scope
    with scope:
        return tree.tree_map(lambda leaf: checkpoint_name(leaf, "xla_metadata"), x)


def xla_metadata_call(f: Callable[..., Any] | None = None, **attributes: Any) -> Any:
    """A function whose operations have attributes for XLA; a decorator if `f` is None. See `set_xla_metadata`."""
    scope = compiler_attributes(**attributes)
    return scope if f is None else scope(f)
