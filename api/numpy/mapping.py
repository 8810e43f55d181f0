"""Functions of scalars, vectors and matrices, applied along axes and over stacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from primax.extend.core import Array, ShapedArray, get_aval, tree
from primax.extend.interpreters import batching
from primax.extend.provisional.arguments import canonical_axis, check_function, listed, sequence, wraps
from primax.extend.provisional.typing import ArrayLike, Axes, DTypeLike, ShapeLike
from primax.numpy.conversion import asarray, read_dtype, read_shape
from primax.numpy.promotion import aval_of
from primax.numpy.ranges import counted
from primax.numpy.shaping import expand_dims, moveaxis, squeeze
from primax.plugins.structural import broadcast_shapes, zeros_of

__all__ = ["apply_along_axis", "apply_over_axes", "fromfunction", "vectorize"]

_NAME = r"\w+"
_ARGUMENT = rf"\((?:{_NAME}(?:,{_NAME})*)?\)"
_SIGNATURE = re.compile(rf"{_ARGUMENT}(?:,{_ARGUMENT})*->{_ARGUMENT}(?:,{_ARGUMENT})*")

Dimensions = list[tuple[str, ...]]


def _parse(signature: str) -> tuple[Dimensions, Dimensions]:
    """The names of the core axes of each argument and of each result."""
    if not isinstance(signature, str):
        raise TypeError(f"vectorize: signature must be a string, got {signature!r}")
    text = signature.replace(" ", "")
    if not _SIGNATURE.fullmatch(text):
        raise ValueError(f"vectorize: signature must be like '(m,n),(n)->(m)', got {signature!r}")
    sides = [re.findall(_ARGUMENT, side) for side in text.split("->")]
    inputs, outputs = ([tuple(re.findall(_NAME, part)) for part in side] for side in sides)
    return inputs, outputs


def _mapped(function: Callable[..., Any], dims: list[int | None], size: int) -> Callable[..., Any]:
    """A function over an additional leading axis; arguments whose dim is None lack the axis."""

    def run(*args: Any) -> Array:
        structures = []

        def flat(*elements: Any) -> list[Any]:
            leaves, structure = tree.flatten(function(*elements))
            structures.append(structure)
            return leaves

        outs, out_dims = batching.batch_flat(flat, batching.AxisData(None, size), args, dims)
        stacked = [batching.bdim_at_front(x, d, size) for x, d in zip(outs, out_dims, strict=True)]
        return tree.unflatten(structures[0], stacked)

    return run


def vectorize(
    pyfunc: Callable[..., Any], *, excluded: Collection[int | str] = frozenset(), signature: str | None = None
) -> Callable[..., Any]:
    """Convert a function of scalars (or vectors, ...) to a function of arrays, applied to each element.

    Args:
      pyfunc: the function of scalars, or of arrays with the axes that `signature` names.
      excluded: positions and names of arguments that are passed unchanged.
      signature: the axes of each argument and of each result, like "(m,n),(n)->(m)"; None for scalars. Digits are
        names, too, and require no length.

    Returns:
      A function of arrays with additional leading axes, which broadcast. The results have these axes too.

    Raises:
      ValueError: the signature is malformed, or axes of the same name have different lengths.

    >>> import primax as px
    >>> dot = px.numpy.vectorize(px.numpy.dot, signature="(n),(n)->()")
    >>> dot(px.numpy.ones((2, 3)), px.numpy.ones(3))
    Array([3., 3.], dtype=float32)
    """
    check_function("vectorize", "pyfunc", pyfunc)
    excluded = frozenset(sequence("vectorize", "excluded", excluded))
    if any(not isinstance(x, int | str) for x in excluded):
        raise TypeError(f"vectorize: excluded must consist of positions and names, got {excluded!r}")
    cores = None if signature is None else _parse(signature)

    @wraps(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Array:
        keywords = {name: kwargs.pop(name) for name in list(kwargs) if name in excluded}
        if kwargs:
            raise TypeError(f"vectorize: keyword arguments must be in excluded, got {sorted(kwargs)}")
        places = [i for i in range(len(args)) if i not in excluded]

        def core(*arrays: Any) -> Array:
            arguments = list(args)
            for i, x in zip(places, arrays, strict=True):
                arguments[i] = x
            out = pyfunc(*arguments, **keywords)
            if cores is not None:
                _check_results(out, cores[1], dict(sizes))
            return out

        arrays = [asarray(args[i]) for i in places]
        inputs = [()] * len(arrays) if cores is None else cores[0]
        if len(inputs) != len(arrays):
            raise TypeError(f"vectorize: there must be {len(inputs)} arguments, as in {signature!r}, got {len(arrays)}")
        sizes: dict[str, int] = {}
        return _over_outer_axes(core, arrays, _outer_shapes(arrays, inputs, sizes))

    return vectorized


def _outer_shapes(arrays: list[Any], inputs: Any, sizes: dict[str, int]) -> list[tuple[int, ...]]:
    """The shapes of arguments without their core axes, whose lengths are checked and entered into `sizes`."""
    outer = []
    for i, (x, names) in enumerate(zip(arrays, inputs, strict=True)):
        if len(x.shape) < len(names):
            raise ValueError(f"vectorize: argument {i} must have the axes {names}, got shape {x.shape}")
        split = len(x.shape) - len(names)
        _check_sizes(names, x.shape[split:], sizes)
        outer.append(x.shape[:split])
    return outer


def _check_sizes(names: tuple[str, ...], shape: tuple[int, ...], sizes: dict[str, int]) -> None:
    for name, size in zip(names, shape, strict=True):
        known_size = sizes.setdefault(name, size)
        if known_size != size:
            raise ValueError(
                f"vectorize: axis {name!r} must have the same length in all arguments, got {known_size} and {size}"
            )


def _over_outer_axes(function: Callable[..., Any], arrays: list[Any], outer: list[tuple[int, ...]]) -> Array:
    shape = broadcast_shapes(*outer)
    for axis in range(len(shape) - 1, -1, -1):
        dims: list[int | None] = []
        for i, own in enumerate(outer):
            # An axis of length 1 is removed before the call, unless it has length 1 in all arguments.
            place = axis - (len(shape) - len(own))
            if place < 0:
                dims.append(None)
            elif own[place] == shape[axis]:
                dims.append(0)
            else:
                arrays[i] = squeeze(arrays[i], place)
                dims.append(None)
        function = _mapped(function, dims, shape[axis])
    return function(*arrays)


def _check_results(out: Any, result_axes: Dimensions, sizes: dict[str, int]) -> None:
    results = out if isinstance(out, tuple) else (out,)
    if len(results) != len(result_axes):
        raise TypeError(f"vectorize: the function must return {len(result_axes)} arrays, got {len(results)}")
    for x, names in zip(results, result_axes, strict=True):
        shape = tuple(x.shape if hasattr(x, "shape") else get_aval(x).shape)  # structures may have one, too
        if len(shape) != len(names):
            raise TypeError(f"vectorize: the function must return an array with the axes {names}, got shape {shape}")
        _check_sizes(names, shape, sizes)


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: object, **kwargs: object) -> Array:
    """Apply a function to each vector along an axis.

    Args:
      func1d: a function of a vector.
      axis: the axis.
      arr: an array.
      args, kwargs: further arguments of the function.

    Returns:
      An array with the axes of `func1d`'s result in place of `axis`.

    Raises:
      ValueError: the axis is out of range.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.apply_along_axis(lambda row: row[::-1] * 10, 1, pnp.array([[1, 2], [3, 4]]))
      Array([[20, 10],
             [40, 30]], dtype=int32)
    """
    check_function("apply_along_axis", "func1d", func1d)
    rank = len(aval_of("apply_along_axis", arr, "arr").shape)
    axis = canonical_axis(axis, rank, "apply_along_axis")

    def along(vector: Any) -> Array:
        return func1d(vector, *args, **kwargs)

    x = moveaxis(arr, axis, -1)
    mapped: Callable[..., Any] = along
    for size in reversed(x.shape[:-1]):
        mapped = _mapped(mapped, [0], size)
    out = mapped(x)
    places = range(rank - 1, len(out.shape))
    return moveaxis(out, tuple(places), tuple(range(axis, axis + len(places))))


def apply_over_axes(func: Callable[[Any, int], Any], a: ArrayLike, axes: Axes) -> Array:
    """Apply a function along several axes, one after another.

    Args:
      func: a function of an array and an axis, whose result has the axis with length 1, or lacks it.
      a: an array.
      axes: an axis or a sequence of axes.

    Raises:
      ValueError: an axis is out of range, or a result has another rank.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.apply_over_axes(pnp.sum, pnp.ones((2, 3, 4)), (0, 2)).shape
      (1, 3, 1)
    """
    check_function("apply_over_axes", "func", func)
    out = asarray(a)
    rank = out.ndim
    for axis in listed(axes):
        place = canonical_axis(axis, rank, "apply_over_axes", "axes")
        out = func(out, place)
        if out.ndim == rank - 1:
            out = expand_dims(out, place)
        elif out.ndim != rank:
            raise ValueError(f"apply_over_axes: func must keep the rank {rank} or drop one axis, got {out.ndim}")
    return out


def fromfunction(function: Callable[..., Any], shape: ShapeLike, *, dtype: DTypeLike = float, **kwargs: object) -> Any:
    """Apply a function to the position of each element of an array of a given shape.

    Args:
      function: a function of one number per axis; `vmap` maps it over all positions.
      shape: the shape.
      dtype: the dtype of the positions.
      kwargs: keyword arguments of the function.

    Returns:
      The result of the function, an array or a pytree of arrays, with the axes of `shape` in front.

    >>> import primax as px
    >>> px.numpy.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int)
    Array([[ 0,  1,  2],
           [10, 11, 12]], dtype=int32)
    """
    check_function("fromfunction", "function", function)
    shape = read_shape(shape, "fromfunction")
    dtype = read_dtype(dtype, "fromfunction")
    zeros_of(ShapedArray((1,) * len(shape), dtype))  # refuses more axes than arrays may have
    mapped: Callable[..., Any] = partial(function, **kwargs)
    for axis, size in reversed(list(enumerate(shape))):
        mapped = _mapped(mapped, [0 if other == axis else None for other in range(len(shape))], size)
    return mapped(*(counted(size, 0, 1, dtype) for size in shape))
