"""Programs and their parts: primitives, types, jaxprs, traces and tracers."""

from __future__ import annotations

from primax.core import tree
from primax.core.array_protocol import protocol_of
from primax.core.avals import (
    AbstractToken,
    AbstractValue,
    ShapedArray,
    ShapeDtypeStruct,
    Token,
    abstract_token,
    get_aval,
    register_aval,
)
from primax.core.check import check_jaxpr
from primax.core.dce import dce_jaxpr
from primax.core.effects import Effect, Effects, kind_of, no_effects
from primax.core.errors import (
    ConcretizationTypeError,
    JaxprTypeError,
    MissingRuleError,
    PluginError,
    RuleError,
    ShapeError,
    TangentTypeError,
    TracerBoolConversionError,
    UnexpectedTracerError,
    UnsupportedError,
    XlaError,
)
from primax.core.jaxpr import (
    Atom,
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    cached,
    eval_jaxpr,
    jaxpr_as_fun,
    jaxprs_in_params,
    named_axes,
    new_jaxpr_eqn,
    subjaxprs,
)
from primax.core.rules import Provenance, RuleTable, new_rule_table, rule_tables
from primax.core.text.printer import PrintedCall
from primax.core.trace import Tracer, current_trace, set_current_trace
from primax.extend import dtypes, examples
from primax.extend import options as config
from primax.extend.core import primitives
from primax.extend.core.aval_errors import missing_attribute
from primax.extend.core.from_jax import Primitive, Trace
from primax.extend.core.names import (
    TraceTag,
    array_types,
    concrete_or_error,
    eval_context,
    find_top_trace,
    gensym,
    mapped_aval,
    primal_dtype_to_tangent_dtype,
    take_current_trace,
    unmapped_aval,
    valid_jaxtype,
)
from primax.extend.core.samples import Sample
from primax.extend.core.trace_states import get_opaque_trace_state
from primax.extend.core.user_types import UserType, register_arraylike, register_on_type, register_user_type
from primax.extend.errors import ShardingTypeError
from primax.extend.host.registry import Registry
from primax.extend.lazy_names import explain_absent
from primax.extend.linear_util import DebugInfo
from primax.interpreters.runtime.array import Array
from primax.interpreters.runtime.eval import ensure_compile_time_eval, eval_trace
from primax.interpreters.staging import trace_to_jaxpr

AbstractValue.__getattr__ = missing_attribute  # type: ignore[attr-defined]

__all__ = [
    "AbstractToken",
    "AbstractValue",
    "Array",
    "Atom",
    "ClosedJaxpr",
    "ConcretizationTypeError",
    "DebugInfo",
    "DropVar",
    "Effect",
    "Effects",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTypeError",
    "Literal",
    "MissingRuleError",
    "PluginError",
    "Primitive",
    "PrintedCall",
    "Provenance",
    "Registry",
    "RuleError",
    "RuleTable",
    "Sample",
    "ShapeDtypeStruct",
    "ShapeError",
    "ShapedArray",
    "ShardingTypeError",
    "TangentTypeError",
    "Token",
    "Trace",
    "TraceTag",
    "Tracer",
    "TracerBoolConversionError",
    "UnexpectedTracerError",
    "UnsupportedError",
    "UserType",
    "Var",
    "XlaError",
    "abstract_token",
    "array_types",
    "cached",
    "check_jaxpr",
    "concrete_or_error",
    "config",
    "current_trace",
    "dce_jaxpr",
    "dtypes",
    "ensure_compile_time_eval",
    "eval_context",
    "eval_jaxpr",
    "eval_trace",
    "find_top_trace",
    "gensym",
    "get_aval",
    "get_opaque_trace_state",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "kind_of",
    "mapped_aval",
    "named_axes",
    "new_jaxpr_eqn",
    "new_rule_table",
    "no_effects",
    "primal_dtype_to_tangent_dtype",
    "primitives",
    "protocol_of",
    "register_arraylike",
    "register_aval",
    "register_on_type",
    "register_user_type",
    "rule_tables",
    "set_current_trace",
    "subjaxprs",
    "take_current_trace",
    "trace_to_jaxpr",
    "tree",
    "unmapped_aval",
    "valid_jaxtype",
]
__dir__ = __all__.copy
explain_absent(__name__)
examples.attach()
