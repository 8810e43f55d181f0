"""The arguments of functions with custom derivatives: resolved to positions, split, and flattened."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from primax.extend import core
from primax.extend.core import tree

__all__ = ["Arguments", "resolve", "split", "without_positions"]


def resolve(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], what: str) -> tuple[Any, ...]:
    """All arguments by position, defaults included.

    Raises:
      TypeError: they do not fit the signature, or one can be given by keyword only.
    """
    try:
        signature = inspect.signature(fun)
    except (TypeError, ValueError):
        if kwargs:
            raise TypeError(
                f"{what}: arguments must be positional, since the signature of {fun!r} is not known, "
                f"got {', '.join(kwargs)} by keyword"
            ) from None
        return args
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    unplaced = [name for name in bound.kwargs if name in kwargs]
    if unplaced:
        raise TypeError(
            f"{what}: arguments must resolve to positions, but {', '.join(unplaced)} can be given by keyword only"
        )
    return bound.args


class Arguments(NamedTuple):
    """The arguments of one call.

    Attributes:
      fixed: by position, those that are not differentiated.
      leaves: those of the others.
      in_tree: the structure of the tuple of the others.
      count: how many arguments there are.
    """

    fixed: dict[int, Any]
    leaves: list[Any]
    in_tree: Any
    count: int

    def merged(self, leaves: Sequence[Any]) -> list[Any]:
        """All arguments, the differentiated ones with other leaves."""
        others = iter(tree.unflatten(self.in_tree, leaves))
        return [self.fixed[i] if i in self.fixed else next(others) for i in range(self.count)]

    def avals(self) -> list[Any]:
        """The types of the leaves."""
        return [core.get_aval(x) for x in self.leaves]


def split(args: Sequence[Any], positions: Sequence[int], what: str) -> Arguments:
    """Take out the arguments that are not differentiated.

    Raises:
      TypeError: an argument that is differentiated is no array.
      UnexpectedTracerError: one that is not differentiated holds a tracer.
    """
    fixed = {i: args[i] for i in positions if i < len(args)}
    for i, x in fixed.items():
        for leaf in tree.tree_leaves(x):
            if isinstance(leaf, core.Tracer):
                raise core.UnexpectedTracerError(
                    f"{what}: argument {i}, which nondiff_argnums names, must hold no tracer, got "
                    f"{leaf.describe()} inside {leaf._trace.transformation}; pass arrays as arguments that are "
                    "differentiated (with a zero or None for their tangent or cotangent)"
                )
    dynamic = tuple(x for i, x in enumerate(args) if i not in fixed)
    leaves, in_tree = tree.flatten(dynamic)
    for i, x in enumerate(leaves):
        try:
            core.get_aval(x)
        except TypeError as error:
            path = tree.keystr(tree.tree_leaves_with_path(dynamic)[i][0])
            raise TypeError(
                f"{what}: argument{path} must be an array or a number: {error}; nondiff_argnums makes an argument "
                "part of the function"
            ) from None
    return Arguments(fixed, leaves, in_tree, len(args))


def without_positions(fun: Callable[..., Any], argnums: Any, argnames: Any, what: str) -> tuple[int, ...]:
    """The positions of the arguments that are not differentiated, from positions and names."""
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    names = (argnames,) if isinstance(argnames, str) else tuple(argnames)
    if numbers or names:
        try:
            parameters = list(inspect.signature(fun).parameters)
        except (TypeError, ValueError):
            parameters = []
        unknown = [name for name in names if name not in parameters]
        if unknown:
            raise ValueError(f"{what}: nondiff_argnames must be arguments of {fun!r}, got {unknown[0]!r}")
        numbers += tuple(parameters.index(name) for name in names)
    if any(not isinstance(i, int) or i < 0 for i in numbers):
        raise ValueError(f"{what}: nondiff_argnums must be positions of arguments, got {numbers}")
    return tuple(sorted(set(numbers)))
