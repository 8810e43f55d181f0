"""Evaluation: binds outside of all transformations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from primax.core import rules, undo_log
from primax.core.avals import get_aval
from primax.core.cache import epoch
from primax.core.cache_keys import is_hashable, params_key
from primax.core.errors import MissingRuleError
from primax.core.jaxpr import ClosedJaxpr
from primax.core.option import Option
from primax.core.trace import (
    Trace,
    Tracer,
    enter,
    escaped,
    install_eval_trace,
    install_leak_search,
    set_current_trace,
    thread,
)
from primax.core.tree import result_registry
from primax.core.tree.flatten import too_deep
from primax.interpreters.evaluation import ImplTrace, known_results
from primax.interpreters.runtime import device_put
from primax.interpreters.runtime.array import Array
from primax.interpreters.runtime.compile import executable_for, used_inputs
from primax.interpreters.runtime.debug import nonfinite
from primax.interpreters.runtime.debug.leaks import refuse_leaks
from primax.interpreters.runtime.dispatch import fast_function, fast_path
from primax.interpreters.runtime.donation import explain_buffer_error
from primax.interpreters.runtime.events import timed_trace
from primax.interpreters.runtime.sharding.device_assignment import Site, choose_site, site_of
from primax.interpreters.staging import install_timer, trace_to_jaxpr

__all__ = [
    "EvalTrace",
    "OpaqueTraceState",
    "apply_primitive",
    "clear_caches",
    "ensure_compile_time_eval",
    "eval_trace",
    "first_call",
    "get_opaque_trace_state",
    "leaves_tree",
]


def clear_caches() -> None:
    """Clear the caches of traced, derived and compiled programs."""
    epoch.forget()


Check = Callable[[Sequence[Any]], None]
Watch = Callable[[str, ClosedJaxpr, Sequence[Any]], Check | None]
watches: list[tuple[Option, Watch]] = []


def register_watch(option: Option, watch: Watch) -> None:
    """Register a function that examines programs before and after they run, while an option is on.

    Args:
      option: the option, one that examines calls of compiled programs.
      watch: `(name, closed, args) -> check`, called before a program runs, with its arguments. `check(results)` is
        called after it; None if there is nothing to check.
    """
    watches.append((option, watch))
    undo_log.note(lambda: watches.remove((option, watch)))


def start_watches(name: str, closed: ClosedJaxpr, args: Sequence[Any]) -> list[Check] | None:
    """Examine a program before it runs; returns the checks of its results, or None if no watch is on."""
    active = dict.fromkeys(watch for option, watch in watches if option.value)
    if not active:
        return None
    return [check for watch in active if (check := watch(name, closed, args)) is not None]


for _option in nonfinite.OPTIONS:
    register_watch(_option, nonfinite.watch_operation)


def first_call(
    closed: ClosedJaxpr,
    name: str,
    args: Sequence[Any],
    out_tree: Callable[[Sequence[Any]], Any],
    site: Site | None = None,
    donated: tuple[bool, ...] = (),
    keep_unused: bool = False,
    overrides: tuple[tuple[str, Any], ...] = (),
) -> tuple[list[Any], Any]:
    """Compute a program for arguments with a new signature.

    Args:
      closed: the program.
      name: the name of the compiled program.
      args: its arguments, flat.
      out_tree: the structure of the dispatched function's result.
      site: the site on which to run; by default determined by the program and its arguments.
      donated: for each argument whether the program may reuse its buffer.
      keep_unused: whether the program takes arguments that it does not use.
      overrides: options of XLA for the compilation.

    Returns:
      The results, and the data with which jaxlib can run the program by itself, or None.

    Raises:
      UnexpectedTracerError: an argument is a tracer whose transformation has ended.
    """
    for x in args:
        if isinstance(x, Tracer):
            raise escaped(x)
    where = site_of(site) or choose_site(closed, args)
    checks = start_watches(name, closed, args)
    operands = _with_large_ones_put(closed, args, where)
    # A watched program may run again, so its arguments must stay.
    executable = executable_for(closed, name, where, () if checks else donated, keep_unused, overrides)
    outs = executable(operands)
    for check in checks or ():
        check(outs)
    # A site on a named device accepts arrays of other devices, which jaxlib would not move.
    left = checks is not None or (site is not None and where.mesh is None)
    return outs, None if left else fast_path(executable, out_tree(outs), args)


_LARGE = 2**32


def _with_large_ones_put(closed: ClosedJaxpr, args: Sequence[Any], where: Site) -> Sequence[Any]:
    """Arguments, with large ones that the program uses placed on its device.

    Values that exceed the memory then raise an error before XLA compiles the program; some releases of XLA crash then.
    """
    large = [type(x) is np.ndarray and x.nbytes > _LARGE for x in args]
    if where.mesh is not None or not any(large):
        return args
    _, used = used_inputs(closed)
    return [
        Array(device_put.put_host(x, get_aval(x), where.replicated)) if put and kept else x
        for x, put, kept in zip(args, large, used, strict=True)
    ]


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
        if function is not None:
            try:
                return function(*args)
            except ValueError as error:
                explain_buffer_error(error, primitive.name, args)
                raise
            except (SystemError, AttributeError, RecursionError):
                _refuse_depth(primitive, args)
                raise
        return self.evaluate(primitive, args, params, key)

    def without_impl(self, primitive: Any, args: Any, params: dict[str, Any]) -> Any:
        if primitive in rules.impl_rules.unsupported:
            return super().without_impl(primitive, args, params)
        return apply_primitive(primitive, *args, **params)


known_results.add(Array)
eval_trace = EvalTrace(None)
install_eval_trace(eval_trace)
install_leak_search(refuse_leaks)
install_timer(timed_trace)

_leaf_tree = result_registry.flatten(Array(0))[1]


def apply_primitive(primitive: Any, *args: Any, **params: Any) -> Any:
    """Compute a primitive by compiling its lowering, once for each signature.

    Args:
      primitive: what to compute.
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
    except (SystemError, AttributeError, RecursionError):
        _refuse_depth(primitive, args)
        raise


def _refuse_depth(primitive: Any, args: Any) -> None:
    """Raise an error for an argument that is a deep tree instead of an array; jaxlib would notice it too late."""
    for x in args:
        get_aval(x)


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
            outs, fast = first_call(closed, primitive.name, args, tree_of)
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


class OpaqueTraceState:
    """The current transformations, for comparison with another such state."""

    __slots__ = ("_trace",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: Any) -> None:
        self._trace = trace

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueTraceState) and self._trace is other._trace


def get_opaque_trace_state(convention: Any = None) -> OpaqueTraceState:
    """An opaque object for the active transformations, equal while they are the same.

    Args:
      convention: not used; there for code written for JAX.
    """
    return OpaqueTraceState(thread.trace)
