"""Programs and their parts: primitives, types, jaxprs, traces and tracers."""

from __future__ import annotations

from primax.core import config, dtypes, tree
from primax.core.array_protocol import protocol_of
from primax.core.avals import (
    ALL_BUT_SHAPE_AND_DTYPE,
    WEAKNESS,
    WEAKNESS_AND_VARIANCE,
    AbstractToken,
    AbstractValue,
    ShapedArray,
    ShapeDtypeStruct,
    Token,
    abstract_token,
    get_aval,
    register_aval,
    same_type,
    unwrap,
)
from primax.core.cache import Cache
from primax.core.cache import epoch as rules_epoch
from primax.core.check import check_jaxpr
from primax.core.dce import dce_jaxpr
from primax.core.effects import (
    Effect,
    Effects,
    OperandEffect,
    kind_of,
    moved_effects,
    no_effects,
    ordered_effects,
    register_effect,
)
from primax.core.errors import (
    ConcretizationTypeError,
    JaxprTypeError,
    MissingRuleError,
    NonConcreteBooleanIndexError,
    PluginError,
    RuleError,
    ShapeError,
    ShardingTypeError,
    TangentTypeError,
    TracerBoolConversionError,
    UnexpectedTracerError,
    UnsupportedError,
    XlaError,
)
from primax.core.host_values import array_of, arrays_of
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
    gensym,
    jaxpr_as_fun,
    jaxprs_in_params,
    named_axes,
    new_jaxpr_eqn,
    subjaxprs,
)
from primax.core.primitive import Primitive
from primax.core.recursion import deeper
from primax.core.rules import Provenance, RuleTable, load_plugins, new_rule_table, rule_tables
from primax.core.text.printer import PrintedCall
from primax.core.trace import Trace, Tracer, current_trace, encloses, escaped, set_current_trace, thread
from primax.extend.core import primitives
from primax.extend.core.names import (
    TraceTag,
    array_types,
    concrete_or_error,
    eval_context,
    find_top_trace,
    mapped_aval,
    primal_dtype_to_tangent_dtype,
    take_current_trace,
    unmapped_aval,
    valid_jaxtype,
)
from primax.extend.host.registry import Registry
from primax.extend.host.samples import Sample
from primax.extend.linear_util import DebugInfo
from primax.interpreters.runtime.array import Array
from primax.interpreters.runtime.eval import (
    EvalTrace,
    apply_primitive,
    clear_caches,
    ensure_compile_time_eval,
    eval_trace,
    get_opaque_trace_state,
)
from primax.interpreters.runtime.extended_array import (
    ExtendedArray,
    has_extended_dtype,
    logical,
    physical,
    physical_aval,
)
from primax.interpreters.staging import StagingTrace, StagingTracer, trace_to_jaxpr

__all__ = [
    "ALL_BUT_SHAPE_AND_DTYPE",
    "AbstractToken",
    "AbstractValue",
    "Array",
    "Atom",
    "Cache",
    "ClosedJaxpr",
    "ConcretizationTypeError",
    "DebugInfo",
    "DropVar",
    "Effect",
    "Effects",
    "EvalTrace",
    "ExtendedArray",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTypeError",
    "Literal",
    "MissingRuleError",
    "NonConcreteBooleanIndexError",
    "OperandEffect",
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
    "StagingTrace",
    "StagingTracer",
    "TangentTypeError",
    "Token",
    "Trace",
    "TraceTag",
    "Tracer",
    "TracerBoolConversionError",
    "UnexpectedTracerError",
    "UnsupportedError",
    "Var",
    "WEAKNESS",
    "WEAKNESS_AND_VARIANCE",
    "XlaError",
    "abstract_token",
    "apply_primitive",
    "array_of",
    "array_types",
    "arrays_of",
    "cached",
    "check_jaxpr",
    "clear_caches",
    "concrete_or_error",
    "config",
    "current_trace",
    "dce_jaxpr",
    "deeper",
    "dtypes",
    "encloses",
    "ensure_compile_time_eval",
    "escaped",
    "eval_context",
    "eval_jaxpr",
    "eval_trace",
    "find_top_trace",
    "gensym",
    "get_aval",
    "get_opaque_trace_state",
    "has_extended_dtype",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "kind_of",
    "load_plugins",
    "logical",
    "mapped_aval",
    "moved_effects",
    "named_axes",
    "new_jaxpr_eqn",
    "new_rule_table",
    "no_effects",
    "ordered_effects",
    "physical",
    "physical_aval",
    "primal_dtype_to_tangent_dtype",
    "primitives",
    "protocol_of",
    "register_aval",
    "register_effect",
    "rule_tables",
    "rules_epoch",
    "same_type",
    "set_current_trace",
    "subjaxprs",
    "take_current_trace",
    "thread",
    "trace_to_jaxpr",
    "tree",
    "unmapped_aval",
    "unwrap",
    "valid_jaxtype",
]


def __dir__() -> list[str]:
    return sorted(__all__)
