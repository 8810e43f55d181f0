"""Checks that return errors as values: under `jit`, `vmap`, `grad`, in loops and branches.

>>> import primax as px, primax.numpy as pnp
>>> from primax.experimental import checkify
>>> def f(x):
...     checkify.check(x != 0, "x must not be 0")
...     return 1.0 / x
>>> error, out = px.jit(checkify.checkify(f))(0.0)
>>> error.get()
'x must not be 0 (`check` failed)'
"""

from __future__ import annotations

from typing import TypeAlias

from primax.plugins.checkify.check import check, check_error, debug_check
from primax.plugins.checkify.errors import (
    DivisionByZeroError,
    Error,
    FailedCheckError,
    JaxException,
    JaxRuntimeError,
    NaNError,
    OOBError,
    all_checks,
    automatic_checks,
    div_checks,
    float_checks,
    index_checks,
    init_error,
    nan_checks,
    user_checks,
)
from primax.plugins.checkify.rules import Checker, checkify

ErrorCategory: TypeAlias = type[JaxException]  # the elements of sets of checks

__all__ = [
    "Checker",
    "DivisionByZeroError",
    "Error",
    "ErrorCategory",
    "FailedCheckError",
    "JaxException",
    "JaxRuntimeError",
    "NaNError",
    "OOBError",
    "all_checks",
    "automatic_checks",
    "check",
    "check_error",
    "checkify",
    "debug_check",
    "div_checks",
    "float_checks",
    "index_checks",
    "init_error",
    "nan_checks",
    "user_checks",
]
__dir__ = __all__.copy
