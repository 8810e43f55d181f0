"""The names of `jax._src.numpy.vectorize` that packages use: the steps of a `vectorize` of their own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from primax.numpy.mapping import Dimensions, _check_results, _outer_shapes, _parse, vectorize
from primax.plugins.structural import broadcast_shapes

__all__ = ["vectorize"]


def _parse_gufunc_signature(signature: str) -> tuple[Dimensions, Dimensions]:
    """The names of the core axes of each argument and of each result."""
    return _parse(signature)


def _apply_excluded(
    func: Callable[..., Any], excluded: Collection[int | str], args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], Sequence[Any], dict[str, Any]]:
    """A function of the arguments that are not in `excluded`, and these arguments."""
    if not excluded:
        return func, args, kwargs
    fixed = [(i, x) for i, x in enumerate(args) if i in excluded]
    fixed_by_name = {name: x for name, x in kwargs.items() if name in excluded}

    def rest(*arguments: Any, **named: Any) -> Any:
        values = list(arguments)
        for i, x in fixed:
            values.insert(i, x)
        return func(*values, **named, **fixed_by_name)

    left = [x for i, x in enumerate(args) if i not in excluded]
    return rest, left, {name: x for name, x in kwargs.items() if name not in excluded}


def _parse_input_dimensions(
    args: tuple[Any, ...], input_core_dims: Dimensions, error_context: str = ""
) -> tuple[tuple[int, ...], dict[str, int]]:
    """The broadcast shape of the other axes of the arguments, and the lengths of the core axes."""
    if len(args) != len(input_core_dims):
        raise TypeError(f"vectorize: there must be {len(input_core_dims)} arguments, got {len(args)} {error_context}")
    sizes: dict[str, int] = {}
    outer = _outer_shapes(list(args), input_core_dims, sizes)
    return broadcast_shapes(*outer), sizes


def _check_output_dims(
    func: Callable[..., Any],
    dim_sizes: dict[str, int],
    expected_output_core_dims: Dimensions,
    error_context: str = "",
) -> Callable[..., Any]:
    """The function, with a check that its results have the core axes, and the lengths in `dim_sizes`."""

    def checked(*args: Any) -> Any:
        out = func(*args)
        _check_results(out, expected_output_core_dims, dict(dim_sizes))
        return out

    return checked
