"""Tools for writing rules, by interpreter: differentiation, batching, partial evaluation, lowering."""

from __future__ import annotations

from typing import TYPE_CHECKING

from primax.extend.lazy_names import lazy_names

if TYPE_CHECKING:
    from primax.extend.interpreters import ad as ad
    from primax.extend.interpreters import batching as batching
    from primax.extend.interpreters import mlir as mlir
    from primax.extend.interpreters import partial_eval as partial_eval
    from primax.extend.interpreters import xla as xla

__all__ = ["ad", "batching", "mlir", "partial_eval", "xla"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, __all__, __all__)
