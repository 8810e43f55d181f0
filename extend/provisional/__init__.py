"""What families share without a promise: anyone may import it, and a minor release may change it."""

from __future__ import annotations

from primax.extend.lazy_names import lazy_names

__all__ = [
    "accuracy",
    "arguments",
    "aval_sharding",
    "avals",
    "boundaries",
    "compiled_function",
    "compiler_attributes",
    "computations",
    "derivatives",
    "dimensions",
    "dividing",
    "elementwise",
    "ffi",
    "from_dlpack",
    "lowering",
    "mesh_context",
    "narrow",
    "padding",
    "partitioning",
    "precision",
    "programs",
    "random",
    "records",
    "runtime",
    "sampling",
    "sharding",
    "sharding_rule",
    "tracebacks",
    "tracing",
    "transformations",
    "typing",
]

__getattr__, __dir__ = lazy_names(__name__, __all__, __all__)
