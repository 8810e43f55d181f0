"""`x.at[...]`: updated copies of arrays, with options for indices out of range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict, Unpack

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, ShapedArray, Tracer, get_aval, tree
from primax.extend.provisional.arguments import index_dtype, warn_caller
from primax.extend.provisional.typing import ArrayLike, ShardingLike
from primax.numpy.brackets import Index, read_entries, resolve
from primax.numpy.conversion import asarray, values_of
from primax.numpy.creation import constant, ones_like
from primax.numpy.division import power
from primax.numpy.dslice import first_part, is_sliced, read_part, write_part
from primax.numpy.indexing import indexed_shape, is_checkable, nearest, read
from primax.numpy.promotion import aval_of, broadcast_to_shape, convert, joint_shape
from primax.numpy.ufuncs import divide
from primax.numpy.vectors import windows_of
from primax.plugins.arithmetic import add_p, max_p, min_p, mul_p, sub_p
from primax.plugins.indexing import (
    GatherScatterMode,
    dynamic_update_slice_p,
    scatter_add_p,
    scatter_apply,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
)
from primax.plugins.indexing.dimensions import as_scatter
from primax.plugins.resharding import forgotten, resharded
from primax.plugins.structural import as_scalar, convert_element_type_p, reshape_p
from primax.plugins.structural.creation import with_large_integer

_READY = (Array, Tracer, np.ndarray, int, float)
_CLIP, _PROMISE = GatherScatterMode.CLIP, GatherScatterMode.PROMISE_IN_BOUNDS
_OF_BOOLEANS = {scatter_add_p: scatter_max_p, scatter_mul_p: scatter_min_p}

_ELEMENTWISE = {
    scatter_add_p: add_p,
    scatter_sub_p: sub_p,
    scatter_mul_p: mul_p,
    scatter_min_p: min_p,
    scatter_max_p: max_p,
}


class Options(TypedDict, total=False):
    """The options of `x.at[...].set` and of the other updates; see `Reference`."""

    indices_are_sorted: bool
    unique_indices: bool
    mode: str | GatherScatterMode | None
    wrap_negative_indices: bool
    out_sharding: ShardingLike | None


class At:
    """`x.at`; indexing it returns a reference to elements of `x`."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> Reference:
        return Reference(self.array, index)

    def __repr__(self) -> str:
        return f"At({self.array!r})"


_at: Any = Array.at
_at.fget.__annotations__["return"] = At  # completion in notebooks looks here


class Reference:
    """`x.at[index]`: elements of an array, to read, or to change in a copy.

    All methods take the same options:

    - `indices_are_sorted`, `unique_indices`: promises that integers in arrays are in ascending order, and that no
    element is indexed twice.
    - `mode`: the treatment of integers out of range. 'promise_in_bounds' promises that there are none; 'clip' takes the
    nearest index in range; 'fill' and 'drop' are the same: reads return a fill value, and writes are dropped. By
    default reads clip and writes drop.
    - `wrap_negative_indices`: whether negative integers count from the end; if False they are out of range.
    - `out_sharding`: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Values are arrays, numbers, or what `asarray` converts, such as lists. They are broadcast to the shape of the
    elements and converted to the dtype of the array.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any) -> None:
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"Reference({self.array!r}, {self.index!r})"

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | GatherScatterMode | None = None,
        fill_value: ArrayLike | None = None,
        wrap_negative_indices: bool = True,
        out_sharding: ShardingLike | None = None,
    ) -> Array:
        """`x[index]`, with options for indices out of range.

        Args:
          indices_are_sorted, unique_indices, mode, wrap_negative_indices: see the class.
          fill_value: the value for mode 'fill'; by default NaN, the smallest signed integer, the largest unsigned
            integer, or True.
          out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

        >>> import primax as px
        >>> px.numpy.arange(3.0).at[px.numpy.array([1, 7])].get(mode="fill")
        Array([ 1., nan], dtype=float32)
        """
        x, entries = self.array, self.index
        if out_sharding is not None:
            x = forgotten(x)
            entries = tree.tree_map(_bare, entries)
        treatment = _PROMISE if mode is None else GatherScatterMode.from_any(mode)
        while is_sliced(entries):
            sliced, entries = first_part(get_aval(x).shape, entries, wrap_negative_indices)
            if sliced:
                x = read_part(x, *sliced, _CLIP if treatment is _PROMISE else treatment, fill_value)
        index = resolve(get_aval(x).shape, read_entries(entries))
        unique, in_order = bool(unique_indices), bool(indices_are_sorted)
        out = read(x, index, treatment, fill_value, unique, in_order, wrap_negative_indices)
        return out if out_sharding is None else resharded("at[...].get", out, out_sharding)

    def set(self, values: ArrayLike | list[Any] | tuple[Any, ...], **options: Unpack[Options]) -> Array:
        """A copy with elements replaced: `x[index] = values` in NumPy.

        If an element is indexed twice, it is unspecified which value it gets.

        >>> import primax as px
        >>> px.numpy.zeros(3).at[1].set(5)
        Array([0., 5., 0.], dtype=float32)
        """
        return _write(self, scatter_p, values, **options)

    def add(self, values: ArrayLike | list[Any] | tuple[Any, ...], **options: Unpack[Options]) -> Array:
        """A copy with values added: `np.add.at(x, index, values)`, where values for the same element add up.

        >>> import primax as px
        >>> px.numpy.zeros(3).at[px.numpy.array([0, 0, 2])].add(1)
        Array([2., 0., 1.], dtype=float32)
        """
        return _write(self, scatter_add_p, values, **options)

    def subtract(self, values: ArrayLike | list[Any] | tuple[Any, ...], **options: Unpack[Options]) -> Array:
        """A copy with values subtracted: `np.subtract.at(x, index, values)`."""
        return _write(self, scatter_sub_p, values, **options)

    def multiply(self, values: ArrayLike | list[Any] | tuple[Any, ...], **options: Unpack[Options]) -> Array:
        """A copy with elements multiplied: `np.multiply.at(x, index, values)`."""
        return _write(self, scatter_mul_p, values, **options)

    mul = multiply

    def divide(self, values: ArrayLike | list[Any] | tuple[Any, ...], **options: Unpack[Options]) -> Array:
        """A copy with elements divided by values; by their product if an element is indexed several times."""
        if options.get("out_sharding") is not None:
            return _divided(self, lambda inner, rest: inner.divide(_bare(values), **rest), **options)
        return divide(self.array, _write(self._of_ones(), scatter_mul_p, values, **options))

    def power(self, values: ArrayLike | list[Any] | tuple[Any, ...], **options: Unpack[Options]) -> Array:
        """A copy with elements raised to powers; to their product if an element is indexed several times."""
        if options.get("out_sharding") is not None:
            return _divided(self, lambda inner, rest: inner.power(_bare(values), **rest), **options)
        return power(self.array, _write(self._of_ones(), scatter_mul_p, values, **options))

    def min(self, values: ArrayLike | list[Any] | tuple[Any, ...], **options: Unpack[Options]) -> Array:
        """A copy with minima of elements and values: `np.minimum.at(x, index, values)`."""
        return _write(self, scatter_min_p, values, **options)

    def max(self, values: ArrayLike | list[Any] | tuple[Any, ...], **options: Unpack[Options]) -> Array:
        """A copy with maxima of elements and values: `np.maximum.at(x, index, values)`."""
        return _write(self, scatter_max_p, values, **options)

    def apply(self, func: Callable[[Any], Any], **options: Unpack[Options]) -> Array:
        """A copy with a function applied to elements: `func.at(x, index)`, once for each occurrence in the index.

        Args:
          func: a function of a scalar that returns a scalar of the same dtype.
          options: see the class.

        >>> import primax as px
        >>> px.numpy.arange(3.0).at[px.numpy.array([2, 2])].apply(lambda x: x * x)
        Array([ 0.,  1., 16.], dtype=float32)
        """
        if options.get("out_sharding") is not None:
            return _divided(self, lambda inner, rest: inner.apply(func, **rest), **options)
        if is_sliced(self.index):
            return _in_part(self, lambda inner: inner.apply(func, **options), **options)
        x, index, mode, unique, in_order, wrap = _target(self, **options)
        if 0 in indexed_shape(index) or 0 in index.shape:
            return x
        windows = windows_of(index, wrap)
        out = scatter_apply(
            x,
            windows.indices,
            func,
            as_scatter(windows.numbers),
            update_shape=windows.shape,
            indices_are_sorted=in_order or windows.sorted,
            unique_indices=unique or windows.unique,
            mode=mode,
        )
        return _in_shape(out, get_aval(self.array).shape)

    def _of_ones(self) -> Reference:
        return Reference(ones_like(self.array), self.index)


def _target(
    reference: Reference,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
    wrap_negative_indices: bool = True,
    out_sharding: ShardingLike | None = None,
    **others: Any,
) -> tuple[Any, Index, GatherScatterMode, bool, bool, bool]:
    """The array to update, reshaped for the resolved index, and the options."""
    if others:
        raise TypeError(f"x.at[...]: the options are {', '.join(Options.__annotations__)}, got {', '.join(others)}")
    x = reference.array
    shape = get_aval(x).shape
    treatment = GatherScatterMode.from_any(mode)
    index = resolve(shape, read_entries(reference.index))
    if mode is None or treatment is not GatherScatterMode.FILL_OR_DROP:
        for axis, (entry, size) in enumerate(zip(index.axes, index.shape, strict=True)):
            if not size and type(entry) is int:
                raise IndexError(
                    f"an axis that is indexed must hold elements, got axis {axis} of an array of shape {shape}; "
                    "mode='drop' updates nothing"
                )
    unique, in_order = bool(unique_indices), bool(indices_are_sorted)
    return _in_shape(x, index.shape), index, treatment, unique, in_order, wrap_negative_indices


def _in_shape(x: Any, shape: tuple[int, ...]) -> Array:
    return x if get_aval(x).shape == shape else reshape_p.bind(x, new_sizes=shape, dimensions=None)


def _bare(x: Any) -> Any:
    """An array without the sharding in its type; other values unchanged."""
    return forgotten(x) if isinstance(x, Array) else x


def _divided(reference: Reference, update: Callable[..., Array], **options: Unpack[Options]) -> Array:
    """An update that XLA partitions, whose result has the sharding of the options."""
    sharding = options.pop("out_sharding")
    index = tree.tree_map(_bare, reference.index)
    return resharded("at[...]", update(Reference(forgotten(reference.array), index), options), sharding)


def _in_part(reference: Reference, update: Callable[[Reference], Array], **options: Unpack[Options]) -> Array:
    """An update whose index has a part that `ds` made: the part is read, updated and written back."""
    x = reference.array
    sliced, index = first_part(get_aval(x).shape, reference.index, options.get("wrap_negative_indices", True))
    if not sliced:
        return update(Reference(x, index))
    mode = GatherScatterMode.from_any(options.get("mode"))
    return write_part(x, update(Reference(read_part(x, *sliced, _CLIP), index)), *sliced, mode)


def _write(
    reference: Reference, primitive: Any, values: ArrayLike | list[Any] | tuple[Any, ...], **options: Unpack[Options]
) -> Array:
    if options.get("out_sharding") is not None:
        return _divided(reference, lambda inner, rest: _write(inner, primitive, _bare(values), **rest), **options)
    if is_sliced(reference.index):
        return _in_part(reference, lambda inner: _write(inner, primitive, values, **options), **options)
    x, index, mode, unique, in_order, wrap = _target(reference, **options)
    aval = get_aval(x)
    if dtypes.is_bool(aval.dtype):
        primitive = _OF_BOOLEANS.get(primitive, primitive)
    shape = indexed_shape(index)
    if not isinstance(values, _READY):
        values = values_of("x.at[...]", "values", values)
    values = with_large_integer(values, aval.dtype)
    values = converted(values, aval)
    own = get_aval(values).shape
    if own and own != shape and joint_shape([own, shape]) != shape:
        raise ValueError(
            f"x.at[...]: values must have a shape that broadcasts to that of the elements, {shape}, got {own}"
        )
    if 0 in shape or 0 in index.shape:
        return reference.array
    if index.simple and index.advanced is None and (primitive is scatter_p or _has_int(index)):
        inside = _within(index, mode, wrap)
        if inside is None and not is_checkable(index, wrap):
            return reference.array
        if inside is not None and primitive is scatter_p and _is_contiguous(index):
            return _replaced(x, index, inside, values, shape)
    windows = windows_of(index, wrap)
    values = _fitted(values, shape, windows.shape, aval.weak_type)
    if not windows.numbers.start_index_map and windows.shape == aval.shape:
        out = _of_type(values, aval) if primitive is scatter_p else _ELEMENTWISE[primitive].bind(x, values)
    else:
        out = primitive.bind(
            x,
            windows.indices,
            values,
            dimension_numbers=as_scatter(windows.numbers),
            indices_are_sorted=in_order or windows.sorted,
            unique_indices=unique or windows.unique,
            mode=mode,
        )
    return _in_shape(out, get_aval(reference.array).shape)


def converted(values: Any, aval: ShapedArray, function: str = "x.at[...]") -> Any:
    """Convert values to the dtype of the array that they are written to."""
    own = aval_of(function, values, "values")
    if own.dtype == aval.dtype and own.weak_type is aval.weak_type:
        return values
    if own.dtype != aval.dtype and dtypes.result_type(aval, values) != dtypes.canonicalize_dtype(aval.dtype):
        warn_caller(
            f"{function}: values must be of a dtype that promotes to that of the array, got {own.dtype} for "
            f"{aval.dtype}; they are converted, which will be an error in the future",
            FutureWarning,
        )
    return convert(values, own, aval.dtype, aval.weak_type)


def _of_type(values: Any, aval: ShapedArray) -> Array:
    """Values that replace a whole array, with the weak type of that array."""
    if get_aval(values).weak_type is aval.weak_type:
        return asarray(values)
    return convert_element_type_p.bind(values, new_dtype=aval.dtype, weak_type=aval.weak_type)


def _fitted(values: Any, shape: tuple[int, ...], new_shape: tuple[int, ...], weak: bool) -> Array:
    """Broadcast values to a shape, then reshape them to another one; a number gets the weak type `weak`."""
    aval = get_aval(values)
    if aval.shape:
        return _in_shape(broadcast_to_shape(values, shape), new_shape)
    return constant(values, new_shape, aval.dtype, weak)


def _has_int(index: Index) -> bool:
    return int in map(type, index.axes)


def _is_contiguous(index: Index) -> bool:
    return all(type(entry) is int or entry[2] == 1 for entry in index.axes)


def _within(index: Index, mode: GatherScatterMode, wrap: bool) -> list[int] | None:
    """The first positions along all axes, clipped if the mode is 'clip'; None if a position is out of range."""
    starts = []
    for entry, size in zip(index.axes, index.shape, strict=True):
        if type(entry) is not int:
            starts.append(entry[0])
            continue
        position = nearest(entry, size, wrap)
        if mode is not _CLIP and position != (entry + size if wrap and entry < 0 else entry):
            return None
        starts.append(position)
    return starts


def _replaced(x: Any, index: Index, starts: list[int], values: Any, shape: tuple[int, ...]) -> Array:
    """The array with one contiguous block replaced, at a known position in range."""
    sizes = tuple([1 if type(entry) is int else entry[1] for entry in index.axes])
    values = _fitted(values, shape, sizes, get_aval(x).weak_type)
    if sizes == index.shape:
        return _of_type(values, get_aval(x))
    dtype = max([index_dtype(size) for size in index.shape], key=lambda dtype: dtype.itemsize)
    positions = [as_scalar(start, dtype) for start in starts]
    return dynamic_update_slice_p.bind(x, values, *positions)
