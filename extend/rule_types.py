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

__all__ = ["BatchRule", "ImplRule", "JVPRule", "LoweringRule", "Row", "Rules", "Table", "TransposeRule", "TypeRule"]
__dir__ = __all__.copy


class ImplRule(Protocol):
    """`(*args, **params) -> array`, or a list of them if the primitive has multiple results.

    Examples:
      >>> from primax.extend.rule_types import ImplRule
      >>> rule: ImplRule = lambda x, factor: factor * x
      >>> rule(2.0, factor=3.0)
      6.0
    """

    def __call__(self, /, *args: Any, **params: Any) -> Any: ...


class TypeRule(Protocol):
    """`(*avals, **params) -> aval`, or a list of them if the primitive has multiple results.

    Examples:
      >>> import numpy as np
      >>> from primax.extend.core import ShapedArray
      >>> from primax.extend.rule_types import TypeRule
      >>> rule: TypeRule = lambda x: x.update(dtype=np.dtype("bool"))
      >>> rule(ShapedArray((2,), np.float32))
      ShapedArray(bool[2])
    """

    def __call__(self, /, *args: Any, **params: Any) -> AbstractValue | Sequence[AbstractValue]: ...


class JVPRule(Protocol):
    """`(primals, tangents, **params) -> (primal_out, tangent_out)`.

    Examples:
      >>> from primax.extend.rule_types import JVPRule
      >>> rule: JVPRule = lambda primals, tangents: (primals[0] ** 2, 2 * primals[0] * tangents[0])
      >>> rule((3.0,), (1.0,))
      (9.0, 6.0)
    """

    def __call__(self, primals: Any, tangents: Any, /, *args: Any, **params: Any) -> tuple[Any, Any]: ...


class TransposeRule(Protocol):
    """`(cotangent, *args, **params) -> one cotangent or None per argument`.

    Examples:
      >>> from primax.extend.rule_types import TransposeRule
      >>> rule: TransposeRule = lambda ct, x, y: [None, ct * x]  # linear in y; x is a value
      >>> rule(1.0, 3.0, None)
      [None, 3.0]
    """

    def __call__(self, cotangent: Any, /, *args: Any, **params: Any) -> Sequence[Any]: ...


class BatchRule(Protocol):
    """`(args, dims, **params) -> (out, dim)`.

    Examples:
      >>> import numpy as np
      >>> from primax.extend.rule_types import BatchRule
      >>> rule: BatchRule = lambda args, dims: (2 * args[0], dims[0])
      >>> rule((np.arange(3),), (0,))
      (array([0, 2, 4]), 0)
    """

    def __call__(self, args: Any, dims: Any, /, *rest: Any, **params: Any) -> tuple[Any, Any]: ...


class AxisBatchRule(Protocol):
    """`(axis, args, dims, **params) -> (out, dim)`."""

    def __call__(self, axis: Any, args: Any, dims: Any, /, *rest: Any, **params: Any) -> tuple[Any, Any]: ...


class LoweringRule(Protocol):
    """`(ctx, *ir_values, **params) -> ir values`.

    Examples:
      >>> import primax as px
      >>> from primax.extend import define_primitive
      >>> from primax.extend.rule_types import LoweringRule
      >>> rule: LoweringRule = lambda ctx, x, times: [x]
      >>> same_p = define_primitive("the_same", abstract_eval=lambda x, times: x, lowering=rule)
      >>> px.jit(lambda x: same_p.bind(x, times=2))(3)
      Array(3, dtype=int32, weak_type=True)
    """

    def __call__(self, ctx: Any, /, *args: Any, **params: Any) -> Any: ...


class Rules(TypedDict, total=False):
    """The arguments of `registry.define` for a primitive: rules by kind, and reasons for unsupported ones.

    Examples:
      >>> from primax.extend import define_primitive
      >>> from primax.extend.rule_types import Rules
      >>> rules: Rules = {"impl": lambda x: 2 * x, "abstract_eval": lambda x: x}
      >>> define_primitive("twice_of", **rules).bind(3)
      Array(6, dtype=int32, weak_type=True)
    """

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
    """`Rules` with samples, as `extend.elementwise.row` returns them.

    Examples:
      >>> from primax.extend.core import Sample
      >>> from primax.extend.rule_types import Row, Rules
      >>> row: Row = {"impl": abs, "samples": [Sample((-0.5,))]}
      >>> Row.__annotations__.keys() - Rules.__annotations__.keys()
      {'samples'}
    """

    samples: Sequence[SampleSource]


Table: TypeAlias = dict[Primitive, Rules]
