"""The file values.json: what jax computes, as text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["FILE", "described", "load", "restored"]

FILE = Path(__file__).with_name("values.json")


def described(x: Any) -> list[Any]:
    """The dtype, whether it is weak, the shape, and the numbers of an array, for JSON."""
    values = np.asarray(x)
    if values.dtype.kind == "c":
        numbers = np.stack([values.real, values.imag], -1)
    elif values.dtype.kind in "fV":  # V is of bfloat16
        numbers = values.astype(np.float32)
    else:
        numbers = values
    # The shortest text that is this number in its precision.
    listed = [float(str(n)) if numbers.dtype.kind == "f" else int(n) for n in numbers.ravel()]
    return [str(values.dtype), bool(x.weak_type), list(values.shape), listed]


def restored(description: list[Any]) -> tuple[str, bool, tuple[int, ...], np.ndarray[Any, Any]]:
    """The dtype, whether it is weak, the shape, and the numbers in double precision; parts come last."""
    dtype, weak, shape, listed = description
    parts = [2] if dtype.startswith("complex") else []
    return dtype, weak, tuple(shape), np.array(listed, np.float64).reshape([*shape, *parts])


def load() -> dict[str, Any]:
    """What is recorded: the release of jax, and its results by group and call."""
    return json.loads(FILE.read_text(encoding="utf-8"))  # type: ignore[no-any-return]
