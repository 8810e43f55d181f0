"""Evaluation of primitives one by one, under the name that jax has for it."""

from __future__ import annotations

from primax.interpreters.evaluate import apply_primitive

__all__ = ["apply_primitive"]
