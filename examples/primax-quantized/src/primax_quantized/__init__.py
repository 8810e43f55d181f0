"""Quantized arrays as a type of primax: int8 numbers with a scale for each block of the last axis."""

from __future__ import annotations

from primax_quantized.array import (
    Quantized,
    QuantizedType,
    primax_register,
    quantized_ints_p,
    quantized_matmul_p,
    quantized_p,
    quantized_scales_p,
)
from primax_quantized.functions import quantize, take

__all__ = [
    "Quantized",
    "QuantizedType",
    "primax_register",
    "quantize",
    "quantized_ints_p",
    "quantized_matmul_p",
    "quantized_p",
    "quantized_scales_p",
    "take",
]
