"""Evaluation of single primitives, under jax's name."""

from __future__ import annotations

from primax.extend import examples
from primax.extend.lazy_names import explain_absent
from primax.interpreters.runtime.eval import apply_primitive

__all__ = ["apply_primitive"]
__dir__ = __all__.copy
examples.attach()
explain_absent(__name__)
