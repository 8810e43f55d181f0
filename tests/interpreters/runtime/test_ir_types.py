"""Types and constants of MLIR."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import primax as px
from primax.core._jaxlib import ir
from primax.core.avals import ShapedArray
from primax.interpreters.runtime.ir_types import (
    aval_to_ir_type,
    aval_to_ir_types,
    cached_ir_type,
    dtype_to_ir_type,
    ir_constant,
)
from primax.interpreters.runtime.mlir_context import shared_context


@pytest.fixture(autouse=True)
def context() -> Any:
    with shared_context() as shared, shared.unknown:
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            yield shared


@pytest.mark.parametrize(
    "dtype, text",
    [(np.float32, "f32"), (np.bool_, "i1"), (np.uint8, "ui8"), (ml_dtypes.bfloat16, "bf16"), ("int4", "i4")],
)
def test_each_dtype_has_a_type(dtype: Any, text: str) -> None:
    assert str(dtype_to_ir_type(np.dtype(dtype))) == text


def test_the_type_of_an_array_is_kept_for_each_context(context: Any) -> None:
    aval = ShapedArray((2, 3), np.dtype(np.float32))
    assert str(aval_to_ir_type(aval)) == "tensor<2x3xf32>"
    assert cached_ir_type(context, aval) is cached_ir_type(context, aval)
    assert aval_to_ir_types(aval) == (aval_to_ir_type(aval),)


def test_arrays_that_are_too_large_are_refused() -> None:
    with pytest.raises(ValueError, match="arrays must have fewer than"):
        aval_to_ir_type(ShapedArray((2**40, 2**40), np.dtype(np.int8)))


@pytest.mark.parametrize(
    "value, text",
    [
        (np.float32(2.5), "dense<2.500000e+00> : tensor<f32>"),
        (np.broadcast_to(np.int32(3), (2, 2)), "dense<3> : tensor<2x2xi32>"),
        (np.arange(4, dtype=np.int32).reshape(2, 2).T, "dense<[[0, 2], [1, 3]]> : tensor<2x2xi32>"),
        (np.zeros(2, px.dtypes.float0), "dense<false> : tensor<2xi1>"),
        (np.array([True, False]), "dense<[true, false]> : tensor<2xi1>"),
    ],
)
def test_constants_have_their_values(value: Any, text: str) -> None:
    assert text in str(ir_constant(value).owner)
