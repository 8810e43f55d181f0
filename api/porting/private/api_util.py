"""The names of `jax._src.api_util` that packages use, besides the names of `primax.extend.api_util`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import Any

from primax import tree
from primax.extend.linear_util import WrappedFun, transformation2
from primax.extend.provisional.arguments import check_hashable, one_or_several

__all__ = ["argnums_partial", "donation_vector", "infer_argnums_and_argnames", "rebase_donate_argnums"]

_BY_NAME = Parameter.POSITIONAL_OR_KEYWORD


def argnums_partial(
    f: WrappedFun, dyn_argnums: int | Sequence[int], args: Sequence[Any], require_static_args_hashable: bool = True
) -> tuple[WrappedFun, tuple[Any, ...]]:
    """A wrapped function of the arguments at some positions, and these arguments; the others keep their values.

    Raises:
      TypeError: an argument that keeps its value is unhashable.
      ValueError: `args` have no such position.
    """
    numbers = one_or_several("argnums_partial", "dyn_argnums", dyn_argnums, int)
    for i in numbers:
        if not -len(args) <= i < len(args):
            raise ValueError(f"argnums_partial: dyn_argnums must be positions of {len(args)} arguments, got {i}")
    places = tuple(i % len(args) for i in numbers)
    fixed = tuple((i, x) for i, x in enumerate(args) if i not in places)
    if require_static_args_hashable:
        for i, x in fixed:
            check_hashable("argnums_partial", f"argument {i}", x)
    return _with_fixed(f, len(args), places, _Fixed(fixed)), tuple(args[i] for i in places)


class _Fixed:
    """Values of arguments by position, which need not be hashable."""

    def __init__(self, values: tuple[tuple[int, Any], ...]) -> None:
        self.values = values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Fixed) and self.values == other.values

    def __hash__(self) -> int:
        return hash(tuple(i for i, _ in self.values))


@transformation2
def _with_fixed(
    f: Callable[..., Any], count: int, places: tuple[int, ...], fixed: _Fixed, *dynamic: Any, **kwargs: Any
) -> Any:
    args: list[Any] = [None] * count
    for i, x in (*fixed.values, *zip(places, dynamic, strict=True)):
        args[i] = x
    return f(*args, **kwargs)


def donation_vector(
    donate_argnums: Sequence[int], donate_argnames: Sequence[str], in_tree: Any, kws: bool = True
) -> tuple[bool, ...]:
    """For each leaf of the arguments, whether its buffer is donated.

    Args:
      donate_argnums: positions of donated arguments.
      donate_argnames: names of donated keywords.
      in_tree: the structure of `(args, kwargs)`.
      kws: False if `in_tree` is the structure of positional arguments alone.
    """
    args, kwargs = in_tree.children() if kws else (in_tree, None)
    donated: list[bool] = []
    for i, arg in enumerate(args.children()):
        donated += [i in donate_argnums] * arg.num_leaves
    if kwargs is not None:
        by_name = tree.unflatten(kwargs, range(kwargs.num_leaves))
        for name in sorted(by_name):
            donated += [name in donate_argnames] * len(tree.leaves(by_name[name]))
    return tuple(donated)


def rebase_donate_argnums(donate_argnums: Sequence[int], static_argnums: Sequence[int]) -> tuple[int, ...]:
    """The positions of donated arguments among those that are not static, in order.

    Raises:
      ValueError: an argument is both donated and static.
    """
    both = sorted(set(donate_argnums) & set(static_argnums))
    if both:
        raise ValueError(
            f"rebase_donate_argnums: an argument must not be both donated and static, got position {both[0]} in "
            f"donate_argnums {tuple(donate_argnums)} and in static_argnums {tuple(static_argnums)}"
        )
    return tuple(sorted(i - sum(0 <= j < i for j in static_argnums) for i in donate_argnums))


def infer_argnums_and_argnames(sig: Signature, argnums: Any, argnames: Any) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The positions and the names of arguments; if only one of them is given, the signature gives the other."""
    numbers = None if argnums is None else one_or_several("infer_argnums_and_argnames", "argnums", argnums, int)
    names = None if argnames is None else (argnames,) if isinstance(argnames, str) else tuple(argnames)
    parameters = list(sig.parameters.values())
    if numbers is None:
        numbers = tuple(i for i, p in enumerate(parameters) if p.kind is _BY_NAME and p.name in (names or ()))
    if names is None:
        chosen = [parameters[i] for i in numbers if -len(parameters) <= i < len(parameters)]
        names = tuple(p.name for p in chosen if p.kind is _BY_NAME)
    return numbers, names
