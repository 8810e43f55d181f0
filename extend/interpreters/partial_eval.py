"""Staging, partial evaluation and dead-code elimination of jaxprs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primax.core.avals import AbstractValue, get_aval
from primax.core.dce import dce_jaxpr
from primax.core.jaxpr import Jaxpr
from primax.core.rules import dce_rules, partial_eval_jaxpr_rules, partial_eval_rules
from primax.core.trace import current_trace, set_current_trace
from primax.extend import examples
from primax.extend.lazy_names import explain_absent
from primax.interpreters.partial_eval import PartialEval, partial_eval_jaxpr
from primax.interpreters.partial_eval import close_over as convert_constvars_jaxpr
from primax.interpreters.staging import StagingTrace, StagingTracer, trace_to_jaxpr

__all__ = [
    "PartialEval",
    "PartialVal",
    "StagingTrace",
    "StagingTracer",
    "convert_constvars_jaxpr",
    "dce_jaxpr",
    "dce_rules",
    "partial_eval_jaxpr",
    "partial_eval_jaxpr_rules",
    "partial_eval_rules",
    "trace_to_jaxpr_dynamic",
    "trace_to_jaxpr_nounits",
]
__dir__ = __all__.copy
examples.attach()
explain_absent(__name__)


def trace_to_jaxpr_dynamic(
    fun: Callable[..., Any], in_avals: Sequence[Any]
) -> tuple[Jaxpr, list[AbstractValue], list[Any]]:
    """Stage a function of flat arguments; `trace_to_jaxpr` does so for functions that are not wrapped.

    Args:
      fun: wrapped by `linear_util.wrap_init`; it returns a list of values.
      in_avals: types of its arguments.

    Returns:
      The program, the types of its outputs, and the values of its constvars.

    Examples:
      >>> import numpy as np
      >>> from primax.extend import linear_util as lu
      >>> from primax.extend.core import get_aval
      >>> from primax.extend.interpreters.partial_eval import trace_to_jaxpr_dynamic
      >>> fun = lu.wrap_init(lambda x: [x * np.array([1, 2])])
      >>> jaxpr, out_avals, consts = trace_to_jaxpr_dynamic(fun, [get_aval(3)])
      >>> out_avals, consts
      ([ShapedArray(int32[2])], [array([1, 2], dtype=int32)])
    """
    call = getattr(fun, "call_wrapped", fun)
    closed = trace_to_jaxpr(call, in_avals, fun.__name__)
    return closed.jaxpr, closed.out_avals, closed.consts


class PartialVal(tuple[Any, Any]):
    """A known value, `(None, value)`, or an unknown one with a known type, `(aval, None)`.

    Examples:
      >>> from primax.extend.interpreters.partial_eval import PartialVal
      >>> PartialVal.known(3.0)
      (None, 3.0)
    """

    __slots__ = ()

    @classmethod
    def known(cls, const: Any) -> PartialVal:
        """A known value."""
        return cls((None, const))

    @classmethod
    def unknown(cls, aval: AbstractValue) -> PartialVal:
        """An unknown value of a known type."""
        return cls((aval, None))

    def is_known(self) -> bool:
        return self[0] is None

    def get_known(self) -> Any:
        """The value, or None."""
        return self[1]

    def get_aval(self) -> Any:
        return get_aval(self[1]) if self.is_known() else self[0]


class _PartialTrace(StagingTrace):
    """Computes operations on known values, and stages the others."""

    __slots__ = ()

    def process(self, primitive: Any, args: Any, params: dict[str, Any]) -> Any:
        if any(isinstance(x, StagingTracer) and x._trace is self for x in args):
            return super().process(primitive, args, params)
        return self.parent.process(primitive, args, params)


def trace_to_jaxpr_nounits(
    fun: Callable[..., Any], pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[PartialVal], list[Any]]:
    """Compute the part of a function that depends on known arguments, and stage the rest.

    Args:
      fun: wrapped by `linear_util.wrap_init`; it returns a list of values.
      pvals: its arguments.
      instantiate: for each output (or for all) whether the program returns it even if it is known.

    Returns:
      The program from the unknown arguments to the unknown outputs, the outputs, and the values of the
      program's constvars. An equation with an unknown argument is staged as a whole.

    Examples:
      >>> from primax.extend import linear_util as lu
      >>> from primax.extend.core import get_aval
      >>> from primax.extend.interpreters.partial_eval import PartialVal, trace_to_jaxpr_nounits
      >>> args = [PartialVal.known(3.0), PartialVal.unknown(get_aval(1.0))]
      >>> jaxpr, outs, consts = trace_to_jaxpr_nounits(lu.wrap_init(lambda x, y: [x + 1.0, x * y]), args)
      >>> jaxpr
      { lambda ; a:f32[]. let b:f32[] = mul 3.0:f32[] a in (b,) }
      >>> outs[0], outs[1].is_known()
      ((None, 4.0), False)
    """
    trace = _PartialTrace(current_trace(), fun.__name__)
    args = [pval.get_known() if pval.is_known() else trace.new_arg(pval.get_aval()) for pval in pvals]
    with set_current_trace(trace):
        outs = list(getattr(fun, "call_wrapped", fun)(*args))
    flags = [instantiate] * len(outs) if isinstance(instantiate, bool) else instantiate
    out_pvals: list[PartialVal] = []
    for out, want in zip(outs, flags, strict=True):
        unknown = want or (isinstance(out, StagingTracer) and out._trace is trace)
        out_pvals.append(PartialVal.unknown(get_aval(out)) if unknown else PartialVal.known(out))
    closed = trace.close([out for out, pval in zip(outs, out_pvals, strict=True) if not pval.is_known()])
    trace.end()
    return closed.jaxpr, out_pvals, closed.consts
