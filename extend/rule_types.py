"""The signatures of the rules that `define_primitive` takes, for type checkers.

Rules may have any parameters by keyword. Type checkers check only functions with annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypedDict

from primax.core.avals import AbstractValue
from primax.core.derivation import Derivation
from primax.extend.core import Primitive
from primax.extend.core.samples import SampleSource

__all__ = [
    "BatchRule",
    "ImplRule",
    "JVPRule",
    "LoweringRule",
    "Row",
    "Rules",
    "Table",
    "TransposeRule",
    "TypeRule",
]
__dir__ = __all__.copy


class ImplRule(Protocol):
    """`(*args, **params) -> array`, or a list of them if the primitive has multiple results."""

    def __call__(self, /, *args: Any, **params: Any) -> Any: ...


class TypeRule(Protocol):
    """`(*avals, **params) -> aval`, or a list of them if the primitive has multiple results."""

    def __call__(self, /, *args: Any, **params: Any) -> AbstractValue | Sequence[AbstractValue]: ...


class JVPRule(Protocol):
    """`(primals, tangents, **params) -> (primal_out, tangent_out)`."""

    def __call__(self, primals: Any, tangents: Any, /, *args: Any, **params: Any) -> tuple[Any, Any]: ...


class TransposeRule(Protocol):
    """`(cotangent, *args, **params) -> one cotangent or None per argument`."""

    def __call__(self, cotangent: Any, /, *args: Any, **params: Any) -> Sequence[Any]: ...


class BatchRule(Protocol):
    """`(args, dims, **params) -> (out, dim)`."""

    def __call__(self, args: Any, dims: Any, /, *rest: Any, **params: Any) -> tuple[Any, Any]: ...


class AxisBatchRule(Protocol):
    """`(axis, args, dims, **params) -> (out, dim)`."""

    def __call__(self, axis: Any, args: Any, dims: Any, /, *rest: Any, **params: Any) -> tuple[Any, Any]: ...


class LoweringRule(Protocol):
    """`(ctx, *ir_values, **params) -> ir values`."""

    def __call__(self, ctx: Any, /, *args: Any, **params: Any) -> Any: ...


class Rules(TypedDict, total=False):
    """The arguments of `registry.define` for a primitive: rules by kind, and reasons for unsupported ones."""

    impl: ImplRule | Derivation
    abstract_eval: TypeRule | Derivation
    effectful_abstract_eval: Callable[..., tuple[Any, Any]]
    jvp: JVPRule | Derivation
    transpose: TransposeRule | Derivation
    batch: BatchRule | Derivation
    axis_batch: AxisBatchRule
    lowering: LoweringRule | Derivation | Mapping[str | None, LoweringRule] | Mapping[str, LoweringRule]
    partial_eval: Callable[..., Any]
    partial_eval_jaxpr: Callable[..., Any]
    dce: Callable[..., Any]
    staging: Callable[..., Any]
    check: Callable[..., Any]
    print: Callable[[Any], Any]
    named_axes: Callable[..., Any]
    variance: Callable[..., Any]
    sharding: str | Callable[..., Any] | None
    close_over: Callable[..., tuple[Sequence[Any], dict[str, Any]]]
    interpret: Callable[..., Any] | Derivation
    key_use: Callable[..., list[Any]]
    discharge: Callable[..., tuple[Any, dict[int, Any]]]
    makes_nan: Literal[True] | Callable[[Any], bool]
    unsupported: Mapping[str, str]


class Row(Rules, total=False):
    """`Rules` with samples, as `extend.elementwise.row` returns them."""

    samples: Sequence[SampleSource]


Table: TypeAlias = dict[Primitive, Rules]
