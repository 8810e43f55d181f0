"""Evaluation: binds outside of all transformations."""

from __future__ import annotations

import functools
import sys
import weakref
from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from primax.core import _jaxlib, config, rules
from primax.core._jaxlib import PjitFunctionCache, jax_jit
from primax.core.arguments import one_or_several
from primax.core.array import Array, from_host
from primax.core.avals import get_aval
from primax.core.cache import epoch
from primax.core.diagnostics import blame, encodable
from primax.core.errors import MissingRuleError, XlaError
from primax.core.exact import is_hashable, params_key
from primax.core.extended import ExtendedArray
from primax.core.jaxpr import ClosedJaxpr
from primax.core.trace import Trace, Tracer, enter, escaped, install_eval_trace, set_current_trace, thread
from primax.core.tree import dispatch_registry, flatten, result_registry
from primax.core.tree_flatten import TOO_DEEP, too_deep
from primax.interpreters import backend
from primax.interpreters.compile import Executable, executable_for, is_committed, used_inputs
from primax.interpreters.key_reuse import watched_keys
from primax.interpreters.nonfinite import refuse, refuses_nonfinite
from primax.interpreters.promise import promised
from primax.interpreters.rule_results import ExternalRules, require_list, type_of
from primax.interpreters.sites import Site, choose_site, site_of
from primax.interpreters.staging import trace_to_jaxpr

__all__ = [
    "EvalTrace",
    "OpaqueTraceState",
    "apply_primitive",
    "call_error",
    "clear_caches",
    "ensure_compile_time_eval",
    "eval_trace",
    "fast_function",
    "first_call",
    "get_opaque_trace_state",
    "leaves_tree",
]

# jaxlib's dispatcher requires these values. If jax is imported, it has set them already. For the dispatcher,
# `disable_jit` is only part of the key: if on, it would call functions that it does not have.
_never = _jaxlib.Config("primax_never", False, include_in_jit_key=False, include_in_trace_context=False)
post_hook = _jaxlib.Config("primax_post_hook", None, include_in_jit_key=False, include_in_trace_context=False)
if "jax" not in sys.modules:
    jax_jit.set_disable_jit_state(_never)
    jax_jit.set_enable_x64_state(config.enable_x64)
    jax_jit.set_post_hook_state(post_hook)
# The first scalar makes jaxlib import NumPy; the import fails if the dispatcher has an error set.
jax_jit._ArgSignatureOfValue(0.0, False)

_FastPath = namedtuple(
    "_FastPath",
    "xla_executable out_pytree_def in_shardings out_shardings out_avals out_committed kept_var_bitvec "
    "in_device_local_layouts const_args",
)


class _CallingPath(_FastPath):
    """The fast path of a program that calls Python and may fail."""

    __slots__ = ()


_fast_cache = PjitFunctionCache(4096)
epoch.listeners.append(_fast_cache.clear)


def clear_caches() -> None:
    """Clear the caches of traced, derived and compiled programs."""
    epoch.forget()


def fast_function(
    name: str,
    fun: Callable[..., Any] | None,
    miss: Callable[..., Any],
    static_argnums: Sequence[int] = (),
    static_argnames: Sequence[str] = (),
    key: Any = (),
    bare_errors: bool = False,
) -> Any:
    """A function dispatched by jaxlib, which enters Python only for new signatures.

    Args:
      name: the name for messages and profiles.
      fun: the function that was compiled; functions with the same `fun` and `key` share programs.
      miss: called for new signatures; returns `(result, fast path or None, whether to forget the path)`.
      static_argnums: positions of arguments that are part of the signature by value.
      static_argnames: the same for keywords.
      key: further parts of the key.
      bare_errors: whether the caller converts errors by `call_error`; jaxlib raises a bare ValueError if a program
        that calls Python fails. Otherwise this function converts them, which makes such programs slower.
    """

    if not isinstance(name, str):
        raise TypeError(f"fast_function: name must be a str, got {name!r}")
    numbers = one_or_several("fast_function", "static_argnums", static_argnums, int)
    names = one_or_several("fast_function", "static_argnames", static_argnames, str)

    failed: set[Any] = set()
    calling: Any = None  # dispatches the programs that call Python

    def forget() -> None:
        for one in (dispatched, calling) if calling is not None else (dispatched,):
            type(one)._clear_cache(one)

    def attempt(*args: Any, **kwargs: Any) -> Any:
        try:
            found = miss(*args, **kwargs)
        except (SystemError, AttributeError, RecursionError):
            failed.add(_shapes((args, kwargs)))
            flatten((args, kwargs))  # raises the error for a tree that is too deep; jaxlib continued with the error set
            raise
        except BaseException:
            failed.add(_shapes((args, kwargs)))
            raise
        if failed and _shapes((args, kwargs)) in failed:
            # jaxlib does not dispatch a signature again after an error. This call allows it.
            failed.clear()
            forget()
        return found

    def guarded(*args: Any, **kwargs: Any) -> Any:
        nonlocal calling
        if calling is not None:
            try:
                return calling(*args, **kwargs), None, False
            except ValueError as error:
                failure = call_error(error)
                if failure is None:
                    raise
                raise failure from None
        results, fast, forgets = attempt(*args, **kwargs)
        if type(fast) is _CallingPath and not bare_errors:
            calling = _jaxlib.pjit(encodable(name), shared, attempt, *pieces[:2], ("calls Python", key), *pieces[3:])
            fast = None
        return results, fast, forgets

    def compute(*args: Any, **kwargs: Any) -> Any:
        """The function that jaxlib calls instead if the option `disable_jit` of jax is on."""
        return miss(*args, **kwargs)[0]

    shared = fun if fun is not None and _has_weak_references(fun) else compute
    pieces = list(numbers), list(names), key, dispatch_registry, _to_shard, _fast_cache
    try:
        dispatched: Any = _jaxlib.pjit(encodable(name), shared, guarded, *pieces)
    except TypeError:
        raise TypeError(f"fast_function: fun must be callable or None, key hashable; got {fun!r}, {key!r}") from None
    dispatched._clear_cache = forget
    return dispatched


def call_error(error: ValueError | SystemError) -> BaseException | None:
    """The error to raise for an error of jaxlib in a call: of the program, or of arguments nested too deeply.

    None if Python raised the error.
    """
    if isinstance(error, SystemError):
        return too_deep(error)
    if type(error) is not ValueError:
        return None
    traceback = error.__traceback__
    raised_by_python = traceback is None or traceback.tb_next is not None
    text = str(error)
    status = text.partition(":")[0]  # XLA's status, such as INTERNAL
    return XlaError(text) if status.isupper() and not raised_by_python else None


def _shapes(arguments: Any) -> Any:
    """The key of arguments that are one signature for jaxlib, without the static ones."""
    try:
        leaves, structure = flatten(arguments)
        kinds = tuple([(getattr(x, "shape", None), str(getattr(x, "dtype", type(x)))) for x in leaves])
        hash(kinds)
    except Exception:  # an error of an argument's own, which the call has raised
        return None
    return structure, kinds


def _has_weak_references(x: Any) -> bool:
    """Whether jaxlib may key programs by this function; it crashes at the second function without weak references."""
    try:
        weakref.ref(x)
    except TypeError:
        return False
    return True


def _to_shard(x: Any, sharding: Any, layout: Any) -> Any:
    return backend.to_buffer(Array(x) if isinstance(x, _jaxlib.ArrayImpl) else x, sharding)


class _HostArray(np.ndarray):
    """A NumPy array as jaxlib's dispatcher reads it: in the machine's byte order, which jaxlib does not check."""

    __slots__ = ()


# It fails if an error is set, as after a tree that is too deep, with which jaxlib continues: Python checks for errors
# only after calls of such objects.
_look_for_error = functools.partial(len, ())


def _as_host_array(x: np.ndarray[Any, Any]) -> tuple[tuple[Any], None]:
    try:
        _look_for_error()
    except SystemError:
        raise RecursionError(TOO_DEEP) from None
    if not x.dtype.isnative:
        x = x.astype(x.dtype.newbyteorder("="))
    return (x.view(_HostArray),), None


def _from_host_array(_: None, children: Any) -> Any:
    return children[0]


# As nodes they are visited before the dispatcher looks for a program. Arrays of other subclasses are leaves, and never
# lead to a fast path.
_host_array_types: set[type] = set()


def _register_host_array(kind: type) -> None:
    dispatch_registry.register_node(kind, _as_host_array, _from_host_array)
    _host_array_types.add(kind)


for _kind in (np.ndarray, np.matrix, np.memmap):
    _register_host_array(_kind)


def _as_host_scalar(x: np.generic) -> tuple[tuple[Any], None]:
    try:
        _look_for_error()
    except SystemError:
        raise RecursionError(TOO_DEEP) from None
    return (np.asarray(x).view(_HostArray),), None


for _kind in {np.dtype(code).type for code in "?bhilqBHILQefdFD"}:
    dispatch_registry.register_node(_kind, _as_host_scalar, _from_host_array)


def fast_path(executable: Executable, out_tree: Any, args: Sequence[Any]) -> Any:
    """The data that jaxlib needs to run a program without Python; None if it needs Python."""
    if not executable.plain and not executable.calls_python:
        return None  # jaxlib keeps no tokens, and has no float0
    if any(isinstance(x, np.ndarray) and type(x) not in _host_array_types for x in args):
        return None
    if "jax" in sys.modules and not _reads_alike(args):
        return None
    committed = is_committed(args) or len(executable.site.devices) > 1
    count = len(executable.in_shardings)
    kind = _FastPath if executable.plain else _CallingPath
    return kind(
        executable.xla,
        out_tree,
        executable.in_shardings,
        executable.out_shardings,
        executable.out_avals,
        [committed] * len(executable.out_avals),
        [True] * len(executable.consts) + executable.kept,
        [None] * count,
        executable.consts,
    )


def first_call(
    closed: ClosedJaxpr,
    name: str,
    args: Sequence[Any],
    look: Callable[[Sequence[Any]], None],
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
      look: checks the results if `debug_nans` or `debug_infs` requires it.
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
    watched = refuses_nonfinite()
    note = watched_keys(closed, args)
    operands = _with_large_ones_put(closed, args, where)
    # A watched program may run again, so its arguments must stay.
    executable = executable_for(closed, name, where, () if watched else donated, keep_unused, overrides)
    outs = executable(operands)
    if watched:
        look(outs)
    if note is not None:
        note(outs)
    # A site on a named device accepts arrays of other devices, which jaxlib would not move.
    left = watched or note is not None or (site is not None and where.mesh is None)
    return outs, None if left else fast_path(executable, out_tree(outs), args)


_LARGE = 2**32


def _with_large_ones_put(closed: ClosedJaxpr, args: Sequence[Any], where: Site) -> Sequence[Any]:
    """Arguments, with large ones that the program uses placed on its device.

    Values that exceed the memory then raise an error before XLA compiles the program; some releases crash during that.
    """
    large = [type(x) is np.ndarray and x.nbytes > _LARGE for x in args]
    if where.mesh is not None or not any(large):
        return args
    _, used = used_inputs(closed)
    return [
        Array(backend.put_host(x, get_aval(x), where.replicated)) if put and kept else x
        for x, put, kept in zip(args, large, used, strict=True)
    ]


def leaves_tree(outs: Sequence[Any]) -> Any:
    """The structure of a list of results."""
    try:
        return result_registry.flatten(outs)[1]
    except SystemError as error:
        raise too_deep(error) from None


def _reads_alike(args: Sequence[Any]) -> bool:
    """Whether jaxlib reads these arguments like primax; if jax is imported, jaxlib follows the flags of jax.

    The flags are part of the dispatcher's key, so the answer is valid until they change.
    """
    if all(type(x) is Array or type(x) is ExtendedArray for x in args):
        return True
    theirs = getattr(getattr(sys.modules["jax"], "config", None), "jax_enable_x64", None)
    return theirs is config.enable_x64.value and not any(isinstance(x, _jaxlib.ArrayImpl) for x in args)


_has_external_rule = ExternalRules(rules.impl_rules)


class EvalTrace(Trace):
    """The bottom trace, which computes results."""

    __slots__ = ()

    tracing = False
    transformation = "evaluation"

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
                backend.refuse_buffers(error, primitive.name, args)
                raise
            except (SystemError, AttributeError, RecursionError):
                _refuse_depth(primitive, args)
                raise
        return self.evaluate(primitive, args, params, key)

    def evaluate(self, primitive: Any, args: Any, params: dict[str, Any], key: Any) -> Any:
        """The results of a primitive with an impl rule, or of another primitive at its first use with these parameters.

        Args:
          primitive: the primitive.
          args: its arguments.
          params: its parameters.
          key: the key of the parameters.

        Raises:
          MissingRuleError: it has no impl rule, and its plugin declares the rule unsupported.
          RuleError: its rule returned an invalid result.
        """
        impl = rules.impl_rules.get_or_load(primitive)
        if impl is None:
            if primitive in rules.impl_rules.unsupported:
                raise MissingRuleError(rules.explain_missing(rules.impl_rules, primitive))
            return apply_primitive(primitive, *args, **params)
        promise = None
        external = _has_external_rule[primitive]
        if external or config.check_rules.value:
            promise = promised(primitive, args, params, key)
        before = thread.trace
        if before is not self:
            enter(self)
        try:
            out = impl(*args, **params)
        except Exception as error:
            blame(error, rules.impl_rules, primitive)
            raise
        finally:
            if before is not self:
                enter(before)
        if primitive.multiple_results:
            require_list(rules.impl_rules, primitive, out)
        for x in out if primitive.multiple_results else (out,):
            if type(x) is not Array:
                type_of(rules.impl_rules, primitive, x)
        if promise is not None:
            promise.keep(rules.impl_rules, out)
        if not external:
            return out
        return [from_host(x) for x in out] if primitive.multiple_results else from_host(out)


eval_trace = EvalTrace(None)
install_eval_trace(eval_trace)

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
            outs, fast = first_call(
                closed, primitive.name, args, lambda outs: refuse(primitive.name, outs, args), tree_of
            )
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
