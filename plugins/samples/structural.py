"""Samples of operations that make, join, slice and rearrange arrays."""

from __future__ import annotations

import numpy as np

from primax.extend import core, dtypes
from primax.extend.provisional.sampling import numbers, samples
from primax.plugins.structural import (
    bitcast_convert_type_p,
    broadcast_in_dim_p,
    concatenate_p,
    convert_element_type_p,
    copy_p,
    iota_p,
    optimization_barrier_p,
    pad_p,
    reduce_sum_p,
    reshape_p,
    rev_p,
    select_n_p,
    slice_p,
    split_p,
    squeeze_p,
    stack_p,
    stop_gradient_p,
    tile_p,
    transpose_p,
    unstack_p,
)

_WEAK = {"weak_types": "weak_type is a parameter"}

_BITS = {"dtypes": "the bits of a number are those of its dtype"}


def _convert_samples() -> list[core.Sample]:
    pairs = [
        (np.float32, np.int32),
        (np.float32, np.complex64),
        (np.float32, dtypes.bfloat16),
        (np.complex64, np.float32),
        (np.int32, np.bool_),
        (np.bool_, np.float32),
    ]
    casts = [core.Sample([numbers((3,), old)], {"new_dtype": np.dtype(new), "weak_type": False}) for old, new in pairs]
    weak = {"new_dtype": np.dtype(np.float32), "weak_type": True}
    return [*casts, core.Sample([numbers((2,), np.int32)], weak, skip=_WEAK)]


_GRID = {"dtype": np.dtype(np.int32), "shape": (3, 3), "dimension": 0}

_STOPPED = dict.fromkeys(
    ("jvp", "transpose", "complex_derivatives"), "its tangent is zero, although the function is the identity"
)


def _select_samples() -> list[core.Sample]:
    x, y, z = (numbers((2, 2), start=3 * i) for i in range(3))
    return [
        core.Sample([np.array([[True, False], [False, True]]), x, y]),
        core.Sample([np.array([[2, 0], [1, 2]], np.int32), x, y, z]),
        core.Sample([np.int32(1), x, y, z], vary=lambda args, k: [np.int32((1 + k) % 3), *args[1:]]),
    ]


def _broadcast_in_dim_samples() -> list[core.Sample]:
    return [
        *samples([(3,)], *({"shape": (3, 3), "broadcast_dimensions": (axis,)} for axis in (0, 1)))(),
        *samples([(2, 1)], {"shape": (2, 4, 3), "broadcast_dimensions": (0, 2)})(),
        *samples([()], {"shape": (2, 3), "broadcast_dimensions": ()})(),
    ]


def _reshape_samples() -> list[core.Sample]:
    shapes = [((2, 3), (3, 2)), ((2, 3), (6,)), ((), (1, 1))]
    return [sample for old, new in shapes for sample in samples([old], {"new_sizes": new, "dimensions": None})()]


_PART = {"start_indices": (0, 1), "limit_indices": (3, 3), "strides": None}

_MARGINS = {"padding_config": ((1, 2, 0), (0, 1, 2))}


SAMPLES = {
    convert_element_type_p: _convert_samples,
    bitcast_convert_type_p: [
        samples([(2, 2)], *({"new_dtype": np.dtype(d)} for d in (np.uint32, np.uint16)), skip=_BITS),
        samples([(3, 2)], {"new_dtype": np.dtype(np.float32)}, dtype=np.int16, skip=_BITS),
    ],
    iota_p: samples([], _GRID, {**_GRID, "dimension": 1}, {**_GRID, "dtype": np.dtype(np.complex64)}),
    copy_p: samples([(3,)], {}),
    optimization_barrier_p: samples([(3,), (2, 1)], {}),
    stop_gradient_p: samples([(3,)], {}, skip=_STOPPED),
    select_n_p: _select_samples,
    broadcast_in_dim_p: _broadcast_in_dim_samples,
    reshape_p: _reshape_samples,
    transpose_p: samples([(2, 3, 2)], {"permutation": (2, 0, 1)}, {"permutation": (1, 2, 0)}),
    squeeze_p: samples([(1, 3, 1, 2)], {"dimensions": (0,)}, {"dimensions": (2,)}, {"dimensions": (2, 0)}),
    reduce_sum_p: [
        samples([(2, 3, 2)], {"axes": (0,)}, {"axes": (1, 2)}, {"axes": ()}),
        samples([(2, 3)], {"axes": (1,)}, dtype=np.int32),
    ],
    tile_p: samples([(2, 3)], {"reps": (2, 1)}, {"reps": (1, 3)}),
    slice_p: samples(
        [(4, 3)], _PART, {**_PART, "start_indices": (1, 1), "limit_indices": (4, 3)}, {**_PART, "strides": (2, 1)}
    ),
    pad_p: samples([(2, 3), ()], _MARGINS, {"padding_config": ((2, 1, 1), (-1, 2, 0))}),
    concatenate_p: [
        samples([(2, 2), (2, 2)], {"dimension": 0}, {"dimension": 1}),
        samples([(2, 1), (2, 3), (2, 2)], {"dimension": 1}),
    ],
    split_p: samples(
        [(3, 3)], {"sizes": (1, 2), "axis": 0}, {"sizes": (2, 1), "axis": 0}, {"sizes": (1, 2), "axis": 1}
    ),
    rev_p: samples([(2, 3)], {"dimensions": (0,)}, {"dimensions": (1,)}, {"dimensions": (1, 0)}),
    stack_p: [samples([(3, 2), (3, 2)], {"axis": 0}, {"axis": 1}, {"axis": 2}), samples([(3,)], {"axis": 1})],
    unstack_p: samples([(2, 3)], {"axis": 0}, {"axis": 1}),
}
