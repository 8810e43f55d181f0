"""All options: those of the kernel and of execution, and those that the plugin host, families and the library read."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from primax.core import errors
from primax.core.option import BOOL, Option, settle, switch
from primax.core.trace import install_leak_search
from primax.interpreters.runtime import options as _runtime_options
from primax.interpreters.runtime.options import *
from primax.interpreters.runtime.options import NAME, choice, debug_infs, debug_nans
from primax.interpreters.runtime.watches import register_watch

__all__ = [
    "MATMUL_PRECISIONS",
    "debug_key_reuse",
    "default_matmul_precision",
    "default_prng_impl",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "strict_plugins",
    "threefry_partitionable",
    "traceback_filtering",
]
__all__ += _runtime_options.__all__
__all__.sort()
__dir__ = __all__.copy

debug_key_reuse = switch(
    "debug_key_reuse",
    "Raise KeyReuseError where a random key is used twice; the message names both lines. Programs run slower.",
    examines=True,
)
strict_plugins = switch("strict_plugins", "Raise when a plugin fails to load, instead of a warning.")
numpy_dtype_promotion = Option(
    "numpy_dtype_promotion",
    "standard",
    choice("standard", "strict"),
    "'standard' promotes operands of different dtypes; 'strict' raises unless one of them is weakly typed.",
    tracing=True,
)

MATMUL_PRECISIONS = tuple(
    (
        "default high highest bfloat16 tensorfloat32 float32 ANY_F8_ANY_F8_F32 ANY_F8_ANY_F8_F32_FAST_ACCUM "
        "ANY_F8_ANY_F8_ANY ANY_F8_ANY_F8_ANY_FAST_ACCUM F16_F16_F16 F16_F16_F32 BF16_BF16_BF16 BF16_BF16_F32 "
        "BF16_BF16_F32_X3 BF16_BF16_F32_X6 BF16_BF16_F32_X9 TF32_TF32_F32 TF32_TF32_F32_X3 F32_F32_F32 F64_F64_F64"
    ).split()
)

default_matmul_precision = Option(
    "default_matmul_precision",
    None,
    choice(None, *MATMUL_PRECISIONS),
    "The default precision of matrix products and convolutions; None leaves it to the platform.",
    tracing=True,
)
default_prng_impl = Option(
    "default_prng_impl", "threefry2x32", NAME, "The default generator of random keys.", tracing=True
)
threefry_partitionable = Option(
    "threefry_partitionable",
    True,
    BOOL,
    "Draw each number of threefry2x32 independently, as JAX does since 0.5; False gives the numbers of older releases.",
    tracing=True,
    shorthand=True,
)
traceback_filtering = Option(
    "traceback_filtering",
    "auto",
    choice("auto", "remove_frames", "quiet_remove_frames", "tracebackhide", "off"),
    "Frames of primax in tracebacks are removed ('quiet_...': without a note), marked as hidden, or ('off') shown; "
    "'auto' marks them in IPython and removes them elsewhere.",
)
numpy_rank_promotion = Option(
    "numpy_rank_promotion",
    "allow",
    choice("allow", "warn", "raise"),
    "Whether functions of arrays of different ranks go on, warn, or raise; scalars are always allowed.",
    tracing=True,
)

settle()


def _watch_nonfinite(name: str, closed: Any, args: Sequence[Any]) -> Any:
    return import_module("primax.extend.debugging").watch_program(name, closed, args)


def _refuse_leaks(tracer_class: type) -> None:
    import_module("primax.extend.leaks").refuse_leaks(tracer_class)


def _explain(tracer: Any, asked: str) -> Any:
    return import_module("primax.extend.provisional.concretization").explain(tracer, asked)


errors.explain = _explain
# The searches are imported when an option that asks for them is on.
install_leak_search(_refuse_leaks)
for _option in (debug_nans, debug_infs):
    register_watch(_option, _watch_nonfinite)
