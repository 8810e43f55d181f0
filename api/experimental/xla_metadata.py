"""Attributes of operations for XLA's passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primax.extend.core import tree
from primax.extend.lazy_names import explain_absent
from primax.extend.provisional.compiler_attributes import compiler_attributes
from primax.plugins.remat import checkpoint_name

__all__ = ["set_xla_metadata", "xla_metadata_call"]
__dir__ = __all__.copy
explain_absent(__name__)


def set_xla_metadata(x: Any = None, **attributes: object) -> Any:
    """Set attributes for XLA on the operations of a `with` block or a function, or on those that compute given arrays.

    The attributes are among the `mhlo.frontend_attributes` of the operations in StableHLO. Blocks may be nested:
    operations in the inner block have the attributes of both, and the inner value of an attribute set by both.

    Args:
      x: a pytree of arrays: the attributes are set on the operations that compute them. None for a block or a
        decorator.
      attributes: strings, numbers and booleans, by name; None removes an attribute that an outer block sets.

    Returns:
      `x` if it is given; otherwise an object that is both a context manager and a decorator.

    Raises:
      TypeError: an attribute has another type.

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


def xla_metadata_call(f: Callable[..., Any] | None = None, **attributes: object) -> Any:
    """Set XLA attributes on the operations of a function; a decorator if `f` is None. See `set_xla_metadata`."""
    scope = compiler_attributes(**attributes)
    return scope if f is None else scope(f)
