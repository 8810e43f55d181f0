"""The signatures of rules, for type checkers: what `define_primitive` takes.

Rules may have any parameters by keyword. A function that is annotated is checked; one without annotations is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from primax.core.avals import AbstractValue

__all__ = ["BatchRule", "ImplRule", "JVPRule", "LoweringRule", "TransposeRule", "TypeRule"]


class ImplRule(Protocol):
    """`(*args, **params) -> array`, or a list of them if the primitive has multiple results."""

    def __call__(self, *args: Any, **params: Any) -> Any: ...


class TypeRule(Protocol):
    """`(*avals, **params) -> aval`, or a list of them if the primitive has multiple results."""

    def __call__(self, *args: Any, **params: Any) -> AbstractValue | Sequence[AbstractValue]: ...


class JVPRule(Protocol):
    """`(primals, tangents, **params) -> (primal_out, tangent_out)`."""

    def __call__(self, primals: Any, tangents: Any, /, *args: Any, **params: Any) -> tuple[Any, Any]: ...


class TransposeRule(Protocol):
    """`(cotangent, *args, **params) -> one cotangent or None per argument`."""

    def __call__(self, cotangent: Any, /, *args: Any, **params: Any) -> Sequence[Any]: ...


class BatchRule(Protocol):
    """`(args, dims, **params) -> (out, dim)`."""

    def __call__(self, args: Any, dims: Any, /, *rest: Any, **params: Any) -> tuple[Any, Any]: ...


class LoweringRule(Protocol):
    """`(ctx, *ir_values, **params) -> ir values`."""

    def __call__(self, ctx: Any, /, *args: Any, **params: Any) -> Any: ...
