"""The value of a call in primax, in jax, in NumPy and SciPy, and in jax in 64 bits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax
import jax.export
import jax.scipy.fft
import jax.scipy.linalg
import jax.scipy.signal
import jax.scipy.special
import jax.scipy.stats
import numpy as np
import scipy.fft
import scipy.linalg
import scipy.signal
import scipy.special
import scipy.stats

import primax as px
from fuzz.frame import as_oracle
from fuzz.values import kind_of

SCIENTIFIC = SimpleNamespace(numpy=np, scipy=scipy)


def evaluate(text: str, module: Any, array: Any) -> Any:
    """The value of a call in primax, jax, or another module with the same names."""
    scope = {"m": module, "A": array, "np": np, "array": np.array, "nan": np.nan, "inf": np.inf}
    if module is SCIENTIFIC:
        scope["array"] = array
    code = compile(text, "<call>", "eval")
    return eval(code, scope) if module is px else as_oracle(eval, code, scope)


def array_of(module: Any) -> Any:
    """A function that makes an array of a package from nested lists and a dtype."""
    return lambda values, dtype: module.numpy.asarray(np.array(values, dtype))


def widened(values: Any, dtype: str) -> np.ndarray:
    """A NumPy array, with doubled precision for narrow floats; integers wrap around as they do without 64 bits."""
    array = np.array(values, dtype)
    kind = kind_of(dtype)
    if dtype in ("int64", "uint64") and not px.config.enable_x64:
        array = array.astype(dtype.replace("64", "32")).astype(dtype)
    return (
        array.astype({"float": np.float64, "complex": np.complex128}[kind]) if kind in ("float", "complex") else array
    )


def as_floats(values: Any, dtype: str) -> np.ndarray:
    """A NumPy array of 64-bit floats, or unchanged if it is complex."""
    array = widened(values, dtype)
    return array if kind_of(dtype) == "complex" else array.astype(np.float64)


def numpy_says(text: str) -> Any:
    """The value of a call by NumPy or SciPy, in 64 bits; densities are computed in floats, which do not wrap around."""
    return evaluate(text, SCIENTIFIC, as_floats if "m.scipy.stats." in text else widened)


def wide_jax_says(text: str) -> Any:
    """The value of a call by jax in 64 bits."""
    with jax.enable_x64(True):
        return evaluate(text, jax, lambda values, dtype: jax.numpy.asarray(widened(values, dtype)))
