"""Forms of a convolution that XLA computes faster on CPUs.

On CPUs XLA has a fast convolution for float32 and float16 in one and two dimensions, without groups, if features are
not too few. Other convolutions become loops without vectors, up to a thousand times slower. The forms here are sums of
shifted products, matrix products, or convolutions of the fast kind.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.provisional.dimensions import is_symbolic
from primax.extend.provisional.padding import dilated
from primax.plugins.arithmetic import add, mul
from primax.plugins.convolution.dimension_numbers import ConvDimensionNumbers
from primax.plugins.convolution.primitive import Options, conv_general_dilated
from primax.plugins.dot import dot_general
from primax.plugins.structural import (
    broadcast_in_dim,
    concatenate,
    convert_element_type,
    optimization_barrier,
    pad,
    reshape,
    rev,
    slice_p,
    transpose,
)

_FEW_PRODUCTS = 1 << 16  # below it the time is that of a call
_MOST_TERMS = 150  # of a sum in one program, which has an operation for each
_MOST_ELEMENTS = 1 << 26  # of an array that holds elements of the image several times
_BLOCK = 32  # features with which XLA's convolution is fast


class Convolution(NamedTuple):
    """A convolution in the order batch, spatial dimensions, groups, features.

    Attributes:
      batch: the number of images.
      size: the spatial shape of the image.
      window: the spatial shape of the kernel.
      places: the spatial shape of the result.
      groups: the number of groups of features; groups of the batch are such groups too.
      ins: the number of features of a group of the image.
      outs: the number of features of a group of the result.
      dtype: the dtype of the computation.
      strides, padding, lhs_dilation, rhs_dilation, precision: see `conv_general_dilated`.
    """

    batch: int
    size: tuple[int, ...]
    window: tuple[int, ...]
    places: tuple[int, ...]
    groups: int
    ins: int
    outs: int
    dtype: np.dtype[Any]
    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    lhs_dilation: tuple[int, ...]
    rhs_dilation: tuple[int, ...]
    precision: Any

    @property
    def rank(self) -> int:
        return len(self.size)


# From an image (batch, *size, groups, ins) and a kernel (*window, groups, ins, outs) to (batch, *places, groups, outs).
Form = Callable[[Convolution, Any, Any], Array]


def faster_form(lhs: ShapedArray, rhs: ShapedArray, out: ShapedArray, params: dict[str, Any]) -> Any:
    """A function of the operands that computes a convolution faster than XLA's operation; None if there is none."""
    options = Options(**params)
    flat = (*lhs.shape, *rhs.shape, *out.shape, *itertools.chain(*options.padding))
    if is_symbolic(flat) or 0 in (*lhs.shape, *rhs.shape, *out.shape):
        return None
    if not (dtypes.is_floating(out.dtype) or dtypes.is_integer(out.dtype)):
        return None
    numbers, groups = options.dimension_numbers, options.batch_group_count
    if out.dtype.itemsize <= 4 and 1 < groups == lhs.shape[numbers.lhs_spec[0]] == rhs.shape[numbers.rhs_spec[0]]:
        return None  # the derivative by a kernel with one feature, for which XLA has fast loops
    conv = _canonical(lhs, rhs, out, options)
    form = _form(conv)
    if form is None:
        return None

    def run(x: Any, y: Any) -> Array:
        image, kernel = _image(conv, options, x), _kernel(conv, options, y)
        image, kernel = (convert_element_type(value, conv.dtype) for value in (image, kernel))
        result = reshape(form(conv, image, kernel), (conv.batch, *conv.places, conv.groups * conv.outs))
        batch, features, *spatial = options.dimension_numbers.out_spec
        order = [0] * (conv.rank + 2)
        for position, dim in enumerate((batch, *spatial, features)):
            order[dim] = position
        return convert_element_type(transpose(result, order), out.dtype)

    return run


def _canonical(lhs: Any, rhs: Any, out: Any, options: Options) -> Convolution:
    lhs_spec, rhs_spec, out_spec = options.dimension_numbers
    groups = options.feature_group_count * options.batch_group_count
    half = dtypes.is_floating(out.dtype) and dtypes.itemsize_bits(out.dtype) < 32
    return Convolution(
        batch=out.shape[out_spec[0]],
        size=tuple([lhs.shape[d] for d in lhs_spec[2:]]),
        window=tuple([rhs.shape[d] for d in rhs_spec[2:]]),
        places=tuple([out.shape[d] for d in out_spec[2:]]),
        groups=groups,
        ins=rhs.shape[rhs_spec[1]],
        outs=rhs.shape[rhs_spec[0]] // groups,
        dtype=np.dtype(np.float32) if half else out.dtype,
        strides=tuple(options.window_strides),
        padding=tuple(options.padding),
        lhs_dilation=tuple(options.lhs_dilation),
        rhs_dilation=tuple(options.rhs_dilation),
        precision=options.precision,
    )


def _image(conv: Convolution, options: Options, x: Any) -> Array:
    batch, features, *spatial = options.dimension_numbers.lhs_spec
    x = transpose(x, (batch, *spatial, features))
    if options.batch_group_count == 1:
        return reshape(x, (conv.batch, *conv.size, conv.groups, conv.ins))
    x = reshape(x, (conv.groups, conv.batch, *conv.size, conv.ins))
    return transpose(x, (*range(1, conv.rank + 2), 0, conv.rank + 2))


def _kernel(conv: Convolution, options: Options, x: Any) -> Array:
    outs, ins, *spatial = options.dimension_numbers.rhs_spec
    x = reshape(transpose(x, (*spatial, ins, outs)), (*conv.window, conv.ins, conv.groups, conv.outs))
    return transpose(x, (*range(conv.rank), conv.rank + 1, conv.rank, conv.rank + 2))


def _form(conv: Convolution) -> Form | None:
    """The fastest form, by measurements; None for XLA's operation as it is."""
    taps, places, size = math.prod(conv.window), math.prod(conv.places), math.prod(conv.size)
    pairs = conv.ins * conv.outs
    if conv.batch * places * taps * conv.groups * pairs < _FEW_PRODUCTS:
        return None
    if taps >= 2 * size:
        return _swapped
    if pairs <= 16 and taps * pairs <= _MOST_TERMS:
        return _sum_over_window
    in_eigen, groups = conv.dtype == np.float32, conv.groups > 1
    slow = (groups and conv.ins < 8) if in_eigen else (groups or conv.batch * conv.outs > 1)
    if places <= 64 and places < taps and slow:
        return _products_at_places
    steps = (conv.strides, conv.lhs_dilation, conv.rhs_dilation)
    dense = pairs <= 16 and not groups and all(step[-1:] == (1,) for step in steps)
    if dense and 4 <= conv.window[-1] <= conv.places[-1] >= 64:
        return _in_blocks
    if not in_eigen:
        few = taps <= 64 and conv.batch * places * conv.ins * taps <= _MOST_ELEMENTS
        return _one_product if few and conv.groups == 1 else None
    if conv.rank > 2:
        return _with_first_dimension_in_features if conv.window[0] <= 64 else None
    return _in_larger_groups if 1 < conv.groups <= 64 * _joined(conv) else None


def _joined(conv: Convolution) -> int:
    """The number of groups that become one."""
    wanted = _BLOCK if math.prod(conv.window) <= 64 else _BLOCK // 2
    sizes = [n for n in range(1, conv.groups) if conv.groups % n == 0 and n * conv.ins >= wanted]
    return sizes[0] if sizes else conv.groups


def _padded(conv: Convolution, image: Any, dims: Sequence[int], first: int = 1) -> tuple[Convolution, Any]:
    """The image with zeros around and between its elements along spatial dimensions, and the remaining convolution.

    Args:
      conv: the convolution.
      image: an array.
      dims: spatial dimensions.
      first: the axis of the first spatial dimension.
    """
    config: list[tuple[int, int, int]] = [(0, 0, 0)] * len(get_aval(image).shape)
    padding, dilation, size = list(conv.padding), list(conv.lhs_dilation), list(conv.size)
    for d in dims:
        config[first + d] = (*conv.padding[d], conv.lhs_dilation[d] - 1)
        size[d] = dilated(size[d], dilation[d]) + sum(padding[d])
        padding[d], dilation[d] = (0, 0), 1
    if any(any(triple) for triple in config):
        # Otherwise each part of the image would compute its zeros again.
        image = optimization_barrier(pad(image, conv.dtype.type(0), config))
    return conv._replace(size=tuple(size), padding=tuple(padding), lhs_dilation=tuple(dilation)), image


def _strided(x: Any, starts: dict[int, int], counts: Sequence[int], steps: Sequence[int]) -> Array:
    """For each axis in `starts` as many elements as its count, from a start with a step."""
    shape = get_aval(x).shape
    first, last, step = [0] * len(shape), list(shape), [1] * len(shape)
    for (axis, start), count, stride in zip(starts.items(), counts, steps, strict=True):
        first[axis], last[axis], step[axis] = start, start + (count - 1) * stride + 1, stride
    return slice_p.bind(x, start_indices=tuple(first), limit_indices=tuple(last), strides=tuple(step))


def _element(x: Any, index: Sequence[int]) -> Array:
    """An array at an index of its first axes."""
    shape = get_aval(x).shape
    part = _strided(x, dict(enumerate(index)), (1,) * len(index), (1,) * len(index))
    return reshape(part, shape[len(index) :])


def _swapped(conv: Convolution, image: Any, kernel: Any) -> Array:
    """The image as the kernel, and the kernel as the image: the result is reversed."""
    rank = conv.rank
    padding = []
    for d, (low, _) in enumerate(conv.padding):
        length, window = dilated(conv.size[d], conv.lhs_dilation[d]), dilated(conv.window[d], conv.rhs_dilation[d])
        reach = (conv.places[d] - 1) * conv.strides[d]
        padding.append((reach - low, length - window + low))
    other = conv._replace(
        batch=conv.outs,
        outs=conv.batch,
        size=conv.window,
        window=conv.size,
        padding=tuple(padding),
        lhs_dilation=conv.rhs_dilation,
        rhs_dilation=conv.lhs_dilation,
    )
    image_of = transpose(kernel, (rank + 2, *range(rank + 2)))
    kernel_of = transpose(image, (*range(1, rank + 3), 0))
    out = rev(convolved(other, image_of, kernel_of), tuple(range(1, rank + 1)))
    return transpose(out, (rank + 2, *range(1, rank + 2), 0))


def _sum_over_window(conv: Convolution, image: Any, kernel: Any) -> Array:
    """The sum over elements of the kernel, each times a part of the image; groups are the last axis."""
    rank = conv.rank
    # Features of a group come first, so that all elements of one feature follow each other.
    conv, features = _padded(conv, transpose(image, (rank + 2, *range(rank + 2))), range(rank), 2)
    outs: list[Any] = [None] * conv.outs
    for index in np.ndindex(*conv.window):
        starts = {d + 1: k * step for d, (k, step) in enumerate(zip(index, conv.rhs_dilation, strict=True))}
        for i in range(conv.ins):
            part = _strided(_element(features, (i,)), starts, conv.places, conv.strides)
            factors = _element(kernel, index)
            for o in range(conv.outs):
                factor = _strided(factors, {1: i, 2: o}, (1, 1), (1, 1))
                shape = get_aval(part).shape
                factor = broadcast_in_dim(reshape(factor, (conv.groups,)), shape, (len(shape) - 1,))
                term = mul(part, factor)
                outs[o] = term if outs[o] is None else add(outs[o], term)
    return concatenate([reshape(x, (*get_aval(x).shape, 1)) for x in outs], rank + 2)


def _products_at_places(conv: Convolution, image: Any, kernel: Any) -> Array:
    """For each place of the result a matrix product for each group."""
    conv, image = _padded(conv, image, range(conv.rank))
    rank = conv.rank
    contracted = ((*range(1, rank + 1), rank + 2), (*range(rank), rank + 1))
    places = []
    for index in np.ndindex(*conv.places):
        starts = {d + 1: k * step for d, (k, step) in enumerate(zip(index, conv.strides, strict=True))}
        part = _strided(image, starts, conv.window, conv.rhs_dilation)
        out = dot_general(part, kernel, (contracted, ((rank + 1,), (rank,))), conv.precision)
        places.append(reshape(out, (1, *get_aval(out).shape)))
    out = reshape(concatenate(places, 0), (*conv.places, conv.groups, conv.batch, conv.outs))
    return transpose(out, (rank + 1, *range(rank + 1), rank + 2))


def _one_product(conv: Convolution, image: Any, kernel: Any) -> Array:
    """A matrix product, without groups, of an array that has the elements under the kernel for each place."""
    conv, image = _padded(conv, image, range(conv.rank))
    rank = conv.rank
    parts = []
    for index in np.ndindex(*conv.window):
        starts = {d + 1: k * step for d, (k, step) in enumerate(zip(index, conv.rhs_dilation, strict=True))}
        parts.append(_strided(image, starts, conv.places, conv.strides))
    whole = parts[0] if len(parts) == 1 else concatenate(parts, rank + 2)
    sizes = (math.prod(get_aval(whole).shape[:-1]), len(parts) * conv.ins)
    matrix = reshape(kernel, (sizes[1], conv.outs))
    out = dot_general(reshape(whole, sizes), matrix, (((1,), (0,)), ((), ())), conv.precision)
    return reshape(out, (conv.batch, *conv.places, 1, conv.outs))


def _in_blocks(conv: Convolution, image: Any, kernel: Any) -> Array:
    """Blocks of the last spatial dimension become features, between which the kernel is a banded matrix."""
    window, places = conv.window[-1], conv.places[-1]
    block = min(_BLOCK, 1 << (window.bit_length() - 1))
    blocks, reach = -(-places // block), -(-(window + block - 1) // block)
    low, _ = conv.padding[-1]
    size = (blocks + reach - 1) * block
    config = [(0, 0, 0)] * (conv.rank + 3)
    config[conv.rank] = (low, size - low - conv.size[-1], 0)
    zero = conv.dtype.type(0)
    image = pad(image, zero, config)
    leading = get_aval(image).shape[: conv.rank]
    image = reshape(image, (*leading, size // block, 1, block * conv.ins))
    # Element u of reach * block elements has the factor kernel[u - place] in the sum at a place of the block.
    config = [(0, 0, 0)] * (conv.rank + 3)
    config[conv.rank - 1] = (0, reach * block + 1 - window, 0)
    rows = transpose(
        pad(kernel, zero, config), (conv.rank - 1, *range(conv.rank - 1), *range(conv.rank, conv.rank + 3))
    )
    rest = get_aval(rows).shape[1:]
    # Rows of a length that is longer by one begin one later each time.
    shifted = broadcast_in_dim(rows, (block, *get_aval(rows).shape), tuple(range(1, len(rest) + 2)))
    shifted = reshape(shifted, (block * (reach * block + 1), *rest))
    shifted = _strided(shifted, {0: 0}, (block * reach * block,), (1,))
    shifted = reshape(shifted, (block, reach, block, *conv.window[:-1], conv.ins, conv.outs))
    outer = tuple(range(3, conv.rank + 2))
    ins, outs = conv.rank + 2, conv.rank + 3
    kernel = transpose(shifted, (*outer, 1, 2, ins, 0, outs))
    kernel = reshape(kernel, (*conv.window[:-1], reach, 1, block * conv.ins, block * conv.outs))
    inner = conv._replace(
        size=(*conv.size[:-1], size // block),
        window=(*conv.window[:-1], reach),
        places=(*conv.places[:-1], blocks),
        padding=(*conv.padding[:-1], (0, 0)),
        ins=block * conv.ins,
        outs=block * conv.outs,
    )
    out = convolved(inner, image, kernel)
    out = reshape(out, (conv.batch, *conv.places[:-1], blocks * block, 1, conv.outs))
    return _strided(out, {conv.rank: 0}, (places,), (1,))


def _with_first_dimension_in_features(conv: Convolution, image: Any, kernel: Any) -> Array:
    """A convolution in one dimension less: the window along the first one becomes features, its places the batch."""
    conv, image = _padded(conv, image, (0,))
    rank, count, depth = conv.rank, conv.window[0], conv.places[0]
    parts = [_strided(image, {1: k * conv.rhs_dilation[0]}, (depth,), (conv.strides[0],)) for k in range(count)]
    whole = parts[0] if count == 1 else concatenate(parts, rank + 2)
    whole = reshape(whole, (conv.batch * depth, *conv.size[1:], conv.groups, count * conv.ins))
    kernel = transpose(kernel, (*range(1, rank + 1), 0, rank + 1, rank + 2))
    kernel = reshape(kernel, (*conv.window[1:], conv.groups, count * conv.ins, conv.outs))
    dims = ("size", "window", "places", "strides", "padding", "lhs_dilation", "rhs_dilation")
    inner = conv._replace(
        batch=conv.batch * depth, ins=count * conv.ins, **{name: getattr(conv, name)[1:] for name in dims}
    )
    return reshape(convolved(inner, whole, kernel), (conv.batch, *conv.places, conv.groups, conv.outs))


def _in_larger_groups(conv: Convolution, image: Any, kernel: Any) -> Array:
    """A convolution for each group, or for several together whose kernel is a matrix of blocks on the diagonal."""
    rank = conv.rank
    joined = _joined(conv)
    ins, outs = joined * conv.ins, joined * conv.outs
    inner = conv._replace(groups=1, ins=ins, outs=outs)
    parts = []
    for start in range(0, conv.groups, joined):
        x = _strided(image, {rank + 1: start}, (joined,), (1,))
        y = _strided(kernel, {rank: start}, (joined,), (1,))
        if joined > 1:
            # (*window, groups of ins, ins, groups of outs, outs), with zeros where the groups differ
            shape = (*conv.window, joined, conv.ins, joined, conv.outs)
            same = np.eye(joined, dtype=conv.dtype)
            factors = broadcast_in_dim(y, shape, (*range(rank + 2), rank + 3))
            y = mul(factors, broadcast_in_dim(same, shape, (rank, rank + 2)))
        x = reshape(x, (conv.batch, *conv.size, 1, ins))
        y = reshape(y, (*conv.window, 1, ins, outs))
        parts.append(convolved(inner, x, y))
    out = parts[0] if len(parts) == 1 else concatenate(parts, rank + 2)
    return reshape(out, (conv.batch, *conv.places, conv.groups, conv.outs))


def convolved(conv: Convolution, image: Any, kernel: Any) -> Array:
    """A convolution in its fastest form; XLA's operation takes one group."""
    form = _form(conv)
    if form is not None:
        return form(conv, image, kernel)
    rank = conv.rank
    numbers = (0, rank + 1, *range(1, rank + 1)), (rank + 1, rank, *range(rank)), (0, rank + 1, *range(1, rank + 1))
    kernel = transpose(kernel, (*range(rank), rank + 1, rank, rank + 2))
    out = conv_general_dilated(
        reshape(image, (conv.batch, *conv.size, conv.groups * conv.ins)),
        reshape(kernel, (*conv.window, conv.ins, conv.groups * conv.outs)),
        conv.strides,
        conv.padding,
        conv.lhs_dilation,
        conv.rhs_dilation,
        ConvDimensionNumbers(*numbers),
        conv.groups,
        precision=conv.precision,
    )
    return reshape(out, (conv.batch, *conv.places, conv.groups, conv.outs))
