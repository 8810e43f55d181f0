"""Preparation of arguments before a function is traced, as in `jit`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from primax.core import tree
from primax.core.text.debug_info import DebugInfo, source_of
from primax.core.tree import flatten_axes, keystr
from primax.extend.lazy_names import explain_absent
from primax.extend.linear_util import transformation_with_aux2
from primax.interpreters.call_signature import StaticArguments, positions_and_names, shaped_abstractify

__all__ = [
    "StaticArguments",
    "debug_info",
    "flatten_axes",
    "flatten_fun",
    "flatten_fun_nokwargs",
    "positions_and_names",
    "shaped_abstractify",
]
__dir__ = __all__.copy
explain_absent(__name__)


@transformation_with_aux2
def flatten_fun(f: Callable[..., Any], store: Any, in_tree: Any, *leaves: Any) -> list[Any]:
    """A function of `(args, kwargs)` as a function of leaves; the second result is the structure of its result.

    Args:
      f: the function, wrapped by `linear_util.wrap_init`.
      in_tree: the structure of `(args, kwargs)`.

    Examples:
      >>> import primax as px
      >>> from primax.extend import linear_util as lu
      >>> from primax.extend.api_util import flatten_fun
      >>> leaves, structure = px.tree.flatten(((1, 2), {"z": 3}))
      >>> flat, out_tree = flatten_fun(lu.wrap_init(lambda x, y, z: {"sum": x + y + z}), structure)
      >>> flat.call_wrapped(*leaves), out_tree()
      ([6], PyTreeDef({'sum': *}))
    """
    args, kwargs = tree.unflatten(in_tree, leaves)
    outs: list[Any]
    outs, out_tree = tree.flatten(f(*args, **kwargs))
    store.store(out_tree)
    return outs


@transformation_with_aux2
def flatten_fun_nokwargs(f: Callable[..., Any], store: Any, in_tree: Any, *leaves: Any) -> list[Any]:
    """Like `flatten_fun`, for the structure of positional arguments alone.

    Examples:
      >>> import primax as px
      >>> from primax.extend import linear_util as lu
      >>> from primax.extend.api_util import flatten_fun_nokwargs
      >>> leaves, structure = px.tree.flatten(((1, 2), 3))
      >>> flat, out_tree = flatten_fun_nokwargs(lu.wrap_init(lambda pair, z: (pair, z)), structure)
      >>> flat.call_wrapped(*leaves), out_tree()
      ([1, 2, 3], PyTreeDef(((*, *), *)))
    """
    outs: list[Any]
    outs, out_tree = tree.flatten(f(*tree.unflatten(in_tree, leaves)))
    store.store(out_tree)
    return outs


def debug_info(
    traced_for: str,
    fun: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    *,
    static_argnums: Sequence[int] = (),
    static_argnames: Sequence[str] = (),
) -> DebugInfo:
    """The debug information of a function called with these arguments, for error messages.

    Args:
      traced_for: the name of the transformation, such as `"jit"`.
      fun: the function.
      args: its positional arguments.
      kwargs: its keyword arguments.
      static_argnums: positions of arguments that have no leaves.
      static_argnames: names of such arguments.

    Examples:
      >>> from primax.extend.api_util import debug_info
      >>> info = debug_info("jit", lambda x, y: x, ({"a": 1, "b": 2}, 3), {})
      >>> info.traced_for, info.arg_names
      ('jit', ("x['a']", "x['b']", 'y'))
    """
    return DebugInfo(traced_for, source_of(fun), _leaf_names(fun, args, kwargs, static_argnums, static_argnames))


def _leaf_names(fun: Any, args: Any, kwargs: Any, static_argnums: Any, static_argnames: Any) -> Any:
    try:
        bound = inspect.signature(fun).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return None
    static = {list(bound.arguments)[i] for i in static_argnums if i < len(bound.arguments)} | set(static_argnames)
    return tuple(
        name + keystr(path)
        for name, value in bound.arguments.items()
        if name not in static
        for path, _ in tree.tree_leaves_with_path(value)
    )
