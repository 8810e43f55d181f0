"""Evaluation: binds outside of all transformations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from primax.core import rules
from primax.core.avals import get_aval
from primax.core.cache import epoch
from primax.core.cache_keys import is_hashable, params_key
from primax.core.errors import ConcretizationTypeError, MissingRuleError, TracerArrayConversionError
from primax.core.jaxpr import ClosedJaxpr
from primax.core.trace import Trace, Tracer, enter, install_eval_trace, set_current_trace, thread
from primax.core.trace_state import fast_path_blockers, thread_blockers
from primax.core.tree import result_registry
from primax.core.tree.flatten import too_deep
from primax.interpreters.impl_trace import ImplTrace, known_results
from primax.interpreters.runtime import log
from primax.interpreters.runtime.array import Array
from primax.interpreters.runtime.dispatch import fast_function
from primax.interpreters.runtime.donation import explain_buffer_error
from primax.interpreters.runtime.options import disable_jit
from primax.interpreters.runtime.pipeline import compile_and_run
from primax.interpreters.staging import trace_to_jaxpr


def clear_caches() -> None:
    """Clear the caches of traced, derived and compiled programs."""
    epoch.forget()


def leaves_tree(outs: Sequence[Any]) -> Any:
    """The structure of a list of results."""
    try:
        return result_registry.flatten(outs)[1]
    except SystemError as error:
        raise too_deep(error) from None


class EvalTrace(ImplTrace):
    """The bottom trace, which computes results: by impl rules, or by compiled lowerings."""

    __slots__ = ()

    def process(self, primitive: Any, args: Any, params: dict[str, Any]) -> Any:
        key = params_key(params) if params else ()
        try:
            function = primitive.programs.get(key)
        except TypeError:
            function = None
        blocked = function is not None and (fast_path_blockers or thread_blockers) and disable_jit.value
        if function is not None and not (blocked and _is_staged(primitive)):
            try:
                return function(*args)
            except Exception as error:
                _explain(error, primitive, args)
                if not _is_staged(primitive):
                    raise
        if not _is_staged(primitive):  # without the frame of `evaluate`, so that programs may be nested deeply
            return ImplTrace.evaluate(self, primitive, args, params, key)
        return self.evaluate(primitive, args, params, key)

    def evaluate(self, primitive: Any, args: Any, params: dict[str, Any], key: Any) -> Any:
        if _is_staged(primitive) and not disable_jit.value:
            try:
                if not primitive.result_types(tuple(map(get_aval, args)), params)[1]:
                    return apply_primitive(primitive, *args, **params)
            except Exception as error:  # operation by operation the impl may succeed, or raise an error of its own
                if isinstance(error, ConcretizationTypeError | TracerArrayConversionError):
                    vars(primitive)["reads_values"] = rules.impl_rules[primitive]
                    primitive.programs.clear()
                    log.debug("%s is evaluated operation by operation, since its impl reads values", primitive)
        return super().evaluate(primitive, args, params, key)

    def without_impl(self, primitive: Any, args: Any, params: dict[str, Any], programs: Any = None) -> Any:
        if primitive in rules.impl_rules.unsupported:
            return super().without_impl(primitive, args, params)
        if programs is None:
            return apply_primitive(primitive, *args, **params)
        return programs.setdefault(params_key(params), _dispatched(primitive, params, None))(*args)


known_results.add(Array)
eval_trace = EvalTrace(None)
install_eval_trace(eval_trace)

_leaf_tree = result_registry.flatten(Array(0))[1]


def apply_primitive(primitive: Any, /, *args: Any, **params: Any) -> Any:
    """Compute a primitive by compiling its lowering, once for each signature.

    Args:
      primitive: the primitive.
      args: arrays, NumPy arrays or scalars.
      params: its parameters.

    Raises:
      UnexpectedTracerError: an argument is a tracer whose transformation has ended.
      MissingRuleError: it has no lowering.
    """
    key = params_key(params) if params else ()
    if not is_hashable(key):
        return _dispatched(primitive, params, None)(*args)
    function = primitive.programs.find(key)
    if function is None:
        in_order = dict(sorted(params.items()))
        ordered_key = params_key(in_order) if params else ()
        function = primitive.programs.get_or_make(ordered_key, lambda: _dispatched(primitive, in_order, ordered_key))
        if key != ordered_key:
            primitive.programs.put(key, function)
    try:
        return function(*args)
    except Exception as error:
        _explain(error, primitive, args)
        raise


def _explain(error: Exception, primitive: Any, args: Any) -> None:
    """Raise a clearer error, if there is one, for a call of a compiled program that failed."""
    if isinstance(error, ValueError):
        explain_buffer_error(error, primitive.name, args)
    elif isinstance(error, SystemError | AttributeError | RecursionError):
        for x in args:  # a deep tree instead of an array, which jaxlib would notice too late
            get_aval(x)


def _is_staged(primitive: Any) -> bool:
    """Whether evaluation compiles the impl rule as one program: the lowering is derived from it."""
    impl, lowering = rules.impl_rules.functions.get(primitive), rules.lowering_rules.functions.get(primitive)
    return impl is not None and getattr(lowering, "func", None) is impl is not vars(primitive).get("reads_values")


def _dispatched(primitive: Any, params: dict[str, Any], key: Any) -> Any:
    """A function that computes a primitive with given parameters."""
    single = not primitive.multiple_results

    def run(*xs: Any) -> Any:
        out = thread.trace.process(primitive, xs, params)
        return [out] if single else out

    def tree_of(outs: Sequence[Any]) -> Any:
        return leaves_tree(outs) if not single else _leaf_tree if type(outs[0]) is Array else leaves_tree(outs[0])

    def miss(*args: Any) -> Any:
        avals = tuple(map(get_aval, args))

        def program() -> ClosedJaxpr:
            return trace_to_jaxpr(run, avals, primitive.name, "the evaluation")

        try:
            closed = program() if key is None else primitive.programs.get_or_make((key, avals, thread.config), program)
            outs, fast = compile_and_run(closed, primitive.name, args, tree_of)
        except MissingRuleError as error:
            if primitive not in rules.impl_rules:
                error.add_note(f"  {primitive} has no impl rule either, which evaluation would call instead.")
            raise
        return outs[0] if single else outs, fast, False

    return fast_function(primitive.name, None, miss, key=primitive.name)


class CompileTimeTrace(Trace):
    """Computes operations without tracers among the arguments, and leaves others to the enclosing transformation."""

    __slots__ = ()

    def process(self, primitive: Any, args: Any, params: dict[str, Any]) -> Any:
        if any(isinstance(x, Tracer) for x in args):
            return self.parent.process(primitive, args, params)
        before = enter(eval_trace)
        try:
            return eval_trace.process(primitive, args, params)
        finally:
            enter(before)


@contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """A `with` block in which operations on known values are computed, even while a program is traced.

    Their results are concrete too. Operations on tracers are traced as usual.

    >>> import primax as px
    >>> @px.jit
    ... def f(x):
    ...     with px.ensure_compile_time_eval():
    ...         count = px.numpy.sum(px.numpy.arange(4))
    ...     return x * int(count)
    >>> float(f(2.0))
    12.0
    """
    if not thread.trace.tracing:
        yield
        return
    trace = CompileTimeTrace(thread.trace)
    try:
        with set_current_trace(trace):
            yield
    finally:
        trace.end()
