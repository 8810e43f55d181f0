"""Samples of products of arrays, and reference values by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.provisional.precision import Precision
from primax.extend.provisional.sampling import numbers
from primax.plugins.dot import dot_general_p


def _dot_general_samples() -> list[core.Sample]:
    matrices = numbers((2, 3)), numbers((3, 2), start=5)
    stacks = numbers((3, 1, 2)), numbers((2, 2, 3), start=5)
    small = numbers((2, 3), np.int8), numbers((3,), np.int8, start=5)
    mixed = numbers((2, 3)), numbers((3, 2), np.complex64)
    halves = numbers((2, 3), np.float16), numbers((3,), np.float16, 5)
    int32, float32, high = np.dtype(np.int32), np.dtype(np.float32), (Precision.DEFAULT, Precision.HIGHEST)
    cases: list[tuple[str, Any, Any, Any, Any]] = [
        ("matrices", matrices, (((1,), (0,)), ((), ())), None, None),
        ("two dimensions contracted", matrices, (((0, 1), (1, 0)), ((), ())), high, None),
        ("batch dimensions", stacks, (((0,), (2,)), ((2,), (0,))), None, None),
        ("integers in a wider dtype", small, (((1,), (0,)), ((), ())), None, int32),
        ("numbers in a wider dtype", halves, (((1,), (0,)), ((), ())), None, float32),
        ("real and complex numbers", mixed, (((1,), (0,)), ((), ())), None, None),
    ]
    keys = ("dimension_numbers", "precision", "preferred_element_type")
    return [
        core.Sample(args, dict(zip(keys, rest, strict=True)), name, reference=_einsum) for name, args, *rest in cases
    ]


def _einsum(x: Any, y: Any, *, dimension_numbers: Any, preferred_element_type: Any, **rest: Any) -> Any:
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    left, right = list(range(x.ndim)), list(range(x.ndim, x.ndim + y.ndim))
    for i, j in zip((*x_batch, *x_contract), (*y_batch, *y_contract), strict=True):
        right[j] = i
    summed = {left[i] for i in (*x_contract, *x_batch)}
    kept = [label for label in (*left, *right) if label not in summed]
    return np.einsum(x, left, y, right, [*x_batch, *kept], dtype=preferred_element_type)


SAMPLES = {
    dot_general_p: _dot_general_samples,
}
