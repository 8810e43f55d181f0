"""Selection of the place where XLA computes a part of a program, such as the host of a device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from primax.extend.provisional.compiler_attributes import compiler_attributes

__all__ = ["compute_on"]
__dir__ = __all__.copy

_TYPES = {"device_host": "host", "device": "dense", "tpu_sparsecore": "sparseoffload"}
_STREAM = "gpu_stream:"


def compute_on(
    f: Callable[..., Any] | str | None = None,
    *,
    compute_type: str | None = None,
    out_memory_spaces: Any = None,
    compiler_options: Mapping[str, Any] | None = None,
) -> Any:
    """Ask XLA to compute some operations elsewhere: those traced in a `with` block, or those of a function.

    This sets the attribute `_xla_compute_type` for XLA. On CPUs it has no effect: the host computes everything.

    Args:
      f: a function; or the compute type, which is the first argument in JAX 0.10.
      compute_type: "device_host", "device", "tpu_sparsecore", or "gpu_stream:" with a number.
      out_memory_spaces: ignored: all arrays are in device memory.
      compiler_options: ignored: compiler options belong to whole programs; see `primax.jit`.

    Returns:
      The decorated function if `f` is a function; otherwise an object that is both a context manager and a decorator.

    Raises:
      ValueError: the compute type is unknown.

    >>> import primax as px, primax.numpy as pnp
    >>> from primax.experimental.compute_on import compute_on
    >>> @px.jit
    ... @compute_on("device_host")
    ... def f(x):
    ...     return pnp.sin(x)
    >>> '_xla_compute_type = "host"' in f.lower(1.0).as_text()
    True
    """
    if isinstance(f, str):
        f, compute_type = None, f
    scope = compiler_attributes(**_attributes(compute_type))
    return scope if f is None else scope(f)


def _attributes(compute_type: Any) -> dict[str, Any]:
    if isinstance(compute_type, str):
        if compute_type in _TYPES:
            return {"_xla_compute_type": _TYPES[compute_type]}
        number = compute_type.removeprefix(_STREAM)
        if number != compute_type and number.isdecimal():
            return {"_xla_stream_annotation": number, "inlineable": False}
    raise ValueError(
        f"compute_on: compute_type must be one of {', '.join(map(repr, sorted(_TYPES)))} or '{_STREAM}' with a number, "
        f"got {compute_type!r}"
    )
