"""Tools for writing rules, by interpreter: differentiation, batching, partial evaluation, lowering."""

from __future__ import annotations

from primax.extend.lazy_names import lazy_names

__all__ = ["ad", "batching", "mlir", "partial_eval", "xla"]

__getattr__, __dir__ = lazy_names(__name__, __all__, __all__)
