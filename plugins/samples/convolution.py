"""Samples of convolutions, and reference values by NumPy."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.provisional.precision import Precision
from primax.extend.provisional.sampling import numbers
from primax.plugins.convolution import conv_dimension_numbers, conv_general_dilated_p

_PLAIN = {"feature_group_count": 1, "batch_group_count": 1, "precision": None, "preferred_element_type": None}


def _conv_samples() -> list[core.Sample]:
    """One sample for each kind of option."""
    int32, float32 = np.dtype(np.int32), np.dtype(np.float32)
    highest = (Precision.HIGHEST, Precision.DEFAULT)
    return [
        _sample("one dimension", (1, 2, 5), (2, 2, 3), None, (2,), ((1, 2),), (1,), (1,)),
        _sample(
            "two dimensions, channels last",
            (2, 4, 3, 1),
            (2, 2, 1, 2),
            ("NHWC", "HWIO", "NHWC"),
            (1, 2),
            ((1, 0), (-1, 2)),
            (2, 1),
            (1, 2),
            precision=highest,
        ),
        _sample("groups of features", (1, 4, 4), (2, 2, 2), None, (1,), ((1, 1),), (1,), (2,), feature_group_count=2),
        _sample("groups of the batch", (4, 1, 3), (2, 1, 2), None, (1,), ((0, 1),), (2,), (1,), batch_group_count=2),
        _sample("no spatial dimension", (2, 3), (3, 2), ("NC", "IO", "CN"), (), (), (), ()),
        _sample("integers in a wider dtype", (1, 2, 4), (1, 2, 2), None, (1,), ((0, 0),), (1,), (1,), np.int8, int32),
        _sample(
            "numbers in a wider dtype", (1, 1, 4), (1, 1, 2), None, (1,), ((0, 0),), (1,), (1,), np.float16, float32
        ),
    ]


def _sample(
    name: str,
    lhs: tuple[int, ...],
    rhs: tuple[int, ...],
    layout: Any,
    strides: tuple[int, ...],
    padding: Any,
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    dtype: Any = np.float32,
    preferred: Any = None,
    **options: Any,
) -> core.Sample:
    params = {
        "window_strides": strides,
        "padding": padding,
        "lhs_dilation": lhs_dilation,
        "rhs_dilation": rhs_dilation,
        "dimension_numbers": conv_dimension_numbers(lhs, rhs, layout),
        **_PLAIN,
        "preferred_element_type": preferred,
        **options,
    }
    return core.Sample([numbers(lhs, dtype), numbers(rhs, dtype, 5)], params, name, reference=_convolved)


def _convolved(
    lhs: Any,
    rhs: Any,
    *,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any,
    rhs_dilation: Any,
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    precision: Any,
    preferred_element_type: Any,
) -> Any:
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    dtype = lhs.dtype if preferred_element_type is None else preferred_element_type
    wide = np.promote_types(dtype, np.float64 if dtype.kind == "f" else dtype)
    image, kernel = lhs.transpose(lhs_spec).astype(wide), rhs.transpose(rhs_spec).astype(wide)
    window = kernel.shape[2:]
    reach = [(size - 1) * step + 1 for size, step in zip(window, rhs_dilation, strict=True)]
    for axis, ((low, high), step) in enumerate(zip(padding, lhs_dilation, strict=True), 2):
        places = np.arange(image.shape[axis]) * step + low
        length = (image.shape[axis] - 1) * step + 1 + low + high
        inside = (places >= 0) & (places < length)
        spread = np.zeros((*image.shape[:axis], length, *image.shape[axis + 1 :]), wide)
        spread[(slice(None),) * axis + (places[inside],)] = image.compress(inside, axis)
        image = spread
    sizes = [(n - r) // s + 1 for n, r, s in zip(image.shape[2:], reach, window_strides, strict=True)]
    groups = feature_group_count * batch_group_count
    split = 0 if batch_group_count > 1 else 1
    total: Any = 0
    for offset in product(*map(range, window)):
        covered = [
            slice(j * d, j * d + (n - 1) * s + 1, s)
            for j, d, n, s in zip(offset, rhs_dilation, sizes, window_strides, strict=True)
        ]
        part = image[(..., *covered)]
        pairs = zip(np.split(part, groups, split), np.split(kernel[(..., *offset)], groups), strict=True)
        total = total + np.concatenate([np.einsum("nc...,oc->no...", x, y) for x, y in pairs], 1)
    return total.astype(dtype).transpose(np.argsort(out_spec))


SAMPLES = {conv_general_dilated_p: _conv_samples}
