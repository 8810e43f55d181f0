"""The built-in families, in the order in which they are activated, and plugins that are given by hand."""

from __future__ import annotations

from primax.extend.records import allow_overrides, register, unregister

__all__ = [
    "BUILTIN_FAMILIES",
    "DEFERRED_FAMILIES",
    "ESSENTIAL_FAMILIES",
    "allow_overrides",
    "register",
    "unregister",
]

BUILTIN_FAMILIES = (
    "structural",
    "comparison",
    "rounding",
    "arithmetic",
    "bitwise",
    "exponential",
    "trigonometry",
    "special",
    "reductions",
    "cumulative",
    "sorting",
    "dot",
    "indexing",
    "convolution",
    "windows",
    "fft",
    "linalg",
    "random",
    "calls",
    "control_flow",
    "custom_derivatives",
    "custom_batching",
    "remat",
    "collectives",
    "sharding",
    "devices",
    "export",
    "callbacks",
    "composite",
    "checkify",
    "arrays",
)

ESSENTIAL_FAMILIES = ("structural", "arithmetic", "calls", "devices", "arrays")

# They register only rules for primitives of their own, and so may wait until somebody imports them.
DEFERRED_FAMILIES = (
    "special",
    "cumulative",
    "sorting",
    "indexing",
    "convolution",
    "windows",
    "fft",
    "linalg",
    "random",
    "export",
    "composite",
    "checkify",
)
