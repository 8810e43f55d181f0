"""Partial application as a pytree, so that a function with arrays in it can be an argument."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from primax.core.arguments import check_function
from primax.core.tree.registry import GetAttrKey, register_pytree_node


class _Opaque:
    """A wrapper that hides a `functools.partial` from the constructor of another, which would merge the two."""

    __slots__ = ("func",)

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.func(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return bool(self.func == (other.func if isinstance(other, _Opaque) else other))

    def __hash__(self) -> int:
        return hash(self.func)

    def __repr__(self) -> str:
        return repr(self.func)


class Partial(functools.partial[Any]):
    """A `functools.partial` that is a pytree: the arguments are its children, the function is static data.

    If the function is a `functools.partial`, it stays one object, and its arguments are static.

    Args:
        func: a hashable callable.
        *args: the first arguments, pytrees.
        **keywords: arguments by keyword, pytrees.

    >>> from primax import tree, tree_util
    >>> add_two = tree_util.Partial(lambda x, y: x + y, 2)
    >>> add_two(3), tree.leaves(add_two), tree.map(lambda x: x * 10, add_two)(3)
    (5, [2], 23)
    """

    def __new__(cls, func: Callable[..., Any], /, *args: Any, **keywords: Any) -> Partial:
        """Bind the arguments, keeping a `functools.partial` whole."""
        check_function("Partial", "func", func)
        if isinstance(func, functools.partial):
            func = _Opaque(func)
        return super().__new__(cls, func, *args, **keywords)


register_pytree_node(
    Partial,
    lambda node: ((node.args, node.keywords), node.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
    lambda node: (((GetAttrKey("args"), node.args), (GetAttrKey("keywords"), node.keywords)), node.func),
)
