"""Dispatch: a function of arrays that enters Python's side of the compiler only for new signatures."""

from __future__ import annotations

import functools
import sys
import weakref
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from primax.core import _jaxlib, config, option
from primax.core._jaxlib import PjitFunctionCache, jax_jit, lacks_hash, status_of
from primax.core.arguments import one_or_several, rename
from primax.core.cache import Cache, epoch
from primax.core.diagnostics import encodable
from primax.core.errors import XlaError
from primax.core.tree import dispatch_registry, flatten
from primax.core.tree.flatten import TOO_DEEP, too_deep
from primax.interpreters.call_signature import StaticArguments
from primax.interpreters.runtime import device_put
from primax.interpreters.runtime.array import Array
from primax.interpreters.runtime.donation import Donation, donating_call
from primax.interpreters.runtime.executable import Executable, is_committed
from primax.interpreters.runtime.extended_array import ExtendedArray
from primax.interpreters.runtime.fast_dispatch import NO_PROGRAMS, DirectPrograms, direct_call

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
option.changed.append(_fast_cache.clear)  # so that programs are recorded for direct calls again


_NOTHING = StaticArguments((), ())
_MOST_FAILED = 1024  # signatures of calls that failed, for each function


class Dispatch(NamedTuple):
    """The attribute `_dispatch` of functions of `fast_function`.

    Attributes:
      forget: a function that drops the programs.
      size: a function that counts the programs which jaxlib's dispatcher knows.
      programs: the programs that are called directly.
    """

    forget: Callable[[], None]
    size: Callable[[], int]
    programs: Cache


def fast_function(
    name: str,
    fun: Callable[..., Any] | None,
    miss: Callable[..., Any],
    static_argnums: Sequence[int] = (),
    static_argnames: Sequence[str] = (),
    key: Any = (),
    donation: Donation | None = None,
) -> Any:
    """A function that runs compiled programs: directly for arrays, by jaxlib's dispatcher for other arguments.

    Args:
      name: the name for messages and profiles.
      fun: the function that was compiled; functions with the same `fun` and `key` share programs.
      miss: called for new signatures; returns `(result, fast path or None, whether to forget the path)`.
      static_argnums: positions of arguments that are part of the signature by value.
      static_argnames: the same for keywords.
      key: further parts of the key.
      donation: the arguments whose buffers the programs may take.
    """
    if not isinstance(name, str):
        raise TypeError(f"fast_function: name must be a str, got {name!r}")
    static = StaticArguments(
        one_or_several("fast_function", "static_argnums", static_argnums, int),
        one_or_several("fast_function", "static_argnames", static_argnames, str),
    )
    has_static = bool(static.positions or static.names)
    direct = DirectPrograms(static, donation)
    failed = Cache(_MOST_FAILED)  # the signatures of calls that raised errors
    calling: Any = None  # dispatches the programs that call Python
    dispatchers: list[Any] = []  # weak, since they refer to functions that refer to this list

    def forget() -> None:
        direct.programs.clear()
        for reference in dispatchers:
            dispatcher = reference()
            if dispatcher is not None:
                type(dispatcher)._clear_cache(dispatcher)

    def call_miss(*args: Any, **kwargs: Any) -> Any:
        """Call `miss`, and record its program for direct calls."""
        epoch_before = epoch.value
        try:
            if has_static:
                args, kwargs = static.unwrapped(args, kwargs)
            if donation is not None:  # the program may delete the arguments
                place = direct.locate(args, kwargs)
            outcome = miss(*args, **kwargs)
        except (SystemError, AttributeError, RecursionError):
            failed.put(_shapes((args, kwargs)), True)
            flatten((args, kwargs))  # raises the error for a tree that is too deep; jaxlib continued with the error set
            raise
        except BaseException:
            failed.put(_shapes((args, kwargs)), True)
            raise
        if failed.held() and failed.find(_shapes((args, kwargs))):
            # jaxlib does not dispatch a signature again after an error. This call allows it.
            failed.clear()
            forget()
        if isinstance(outcome[1], _FastPath):
            if donation is None:
                place = direct.locate(args, kwargs)
            direct.record(place, args, kwargs, outcome[0], outcome[1], epoch_before)
            if type(outcome[1].xla_executable) is Executable:  # it counts its pending calls, which jaxlib would not do
                return outcome[0], None, outcome[2]
        return outcome

    def call_python(*args: Any, **kwargs: Any) -> Any:
        """Called by the dispatcher for a new signature; programs that call Python get a dispatcher of their own."""
        nonlocal calling
        if calling is not None:
            try:
                return calling(*args, **kwargs), None, False
            except ValueError as error:
                clear_error = _call_error(error)
                if clear_error is None:
                    raise
                raise clear_error from None
        results, fast, forgets = call_miss(*args, **kwargs)
        if type(fast) is _CallingPath and not has_static:
            key_of_calling = ("calls Python", key)
            calling = _jaxlib.pjit(encodable(name), shared, call_miss, *settings[:2], key_of_calling, *settings[3:])
            dispatchers.append(weakref.ref(calling))
            fast = None
        return results, fast, forgets

    rename(call_python, name)

    def compute(*args: Any, **kwargs: Any) -> Any:
        """The function that jaxlib calls instead if the option `disable_jit` of jax is on."""
        return miss(*args, **kwargs)[0]

    def by_value(*args: Any, **kwargs: Any) -> Any:
        """Call the dispatcher, which compares static arguments by `==`; values that equal others are wrapped."""
        distinct: Any = args
        keywords = kwargs
        if not static.equal_are_same(args, kwargs):
            try:
                distinct, keywords = static.wrapped(args, kwargs)
            except TypeError:
                return miss(*args, **kwargs)[0]  # names the value without a hash
        try:
            return dispatched(*distinct, **keywords)
        except (ValueError, SystemError) as error:
            if lacks_hash(error):
                return miss(*args, **kwargs)[0]  # names the value
            clear_error = _call_error(error)
            if clear_error is None:
                raise
            raise clear_error from None

    shared = fun if fun is not None and _has_weak_references(fun) else compute
    settings = list(static.positions), sorted(static.names), key, dispatch_registry, _to_shard, _fast_cache
    try:
        dispatched: Any = _jaxlib.pjit(encodable(name), shared, call_python, *settings)
    except TypeError:
        raise TypeError(f"fast_function: fun must be callable or None, key hashable; got {fun!r}, {key!r}") from None
    dispatchers.append(weakref.ref(dispatched))
    indirect = by_value if has_static else dispatched
    function: Any = direct_call(direct, indirect if donation is None else donating_call(indirect, miss, donation))
    function._dispatch = Dispatch(forget, functools.partial(type(dispatched)._cache_size, dispatched), direct.programs)
    return function


def fast_front(
    function: Callable[..., Any], static_argnums: Sequence[int] = (), static_argnames: Sequence[str] = ()
) -> tuple[Any, Callable[[Any], None]]:
    """A function that runs the programs of a `fast_function` itself, and passes other calls to `function`.

    Args:
      function: called for arguments that are not all arrays or numbers, for new signatures, and while a function is
        traced.
      static_argnums: positions of arguments that are part of the signature by value.
      static_argnames: the same for keywords.

    Returns:
      The function, and a function that must be called with the result of `fast_function`, once it exists.
    """
    static = StaticArguments(static_argnums, static_argnames) if static_argnums or static_argnames else _NOTHING
    direct = DirectPrograms(static, programs=NO_PROGRAMS)

    def share(fast: Any) -> None:
        direct.programs = fast._dispatch.programs

    return direct_call(direct, function), share


def _call_error(error: ValueError | SystemError) -> BaseException | None:
    """The error to raise for an error of jaxlib in a call: of the program, or of arguments nested too deeply.

    None if Python raised the error. (jaxlib raises a bare ValueError if a program that calls Python fails.)
    """
    if isinstance(error, SystemError):
        return too_deep(error)
    if type(error) is not ValueError:
        return None
    traceback = error.__traceback__
    raised_by_python = traceback is None or traceback.tb_next is not None
    return XlaError(str(error)) if status_of(error) and not raised_by_python else None


_ARRAYS = (Array, ExtendedArray, np.ndarray)


def _shapes(arguments: Any) -> Any:
    """A key of the dynamic arguments; arguments with the same signature for jaxlib have the same key."""
    try:
        leaves, structure = flatten(arguments)
        # Attributes of other classes may run programs, in which the same error is raised.
        kinds = tuple([(x.shape, str(x.dtype)) if isinstance(x, _ARRAYS) else type(x) for x in leaves])
        hash(kinds)
    except Exception:  # an error of an argument, which the call has raised
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
    return device_put.to_buffer(Array(x) if isinstance(x, _jaxlib.ArrayImpl) else x, sharding)


class _HostArray(np.ndarray):
    """A NumPy array as jaxlib's dispatcher reads it: in the machine's byte order, which jaxlib does not check."""

    __slots__ = ()


# A call fails if an error is set, as after a tree that is too deep, since jaxlib continues with the error set. Python
# checks for errors only after calls of objects such as this one.
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


# Arrays of these types are nodes, so they are visited before the dispatcher looks for a program. Arrays of other
# subclasses are leaves, and never lead to a fast path.
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
    if "jax" in sys.modules and not _same_reading(args):
        return None
    committed = is_committed(args) or len(executable.site.devices) > 1
    count = len(executable.in_shardings)
    kind = _FastPath if executable.plain else _CallingPath
    return kind(
        executable.xla if executable.most_pending is None else executable,
        out_tree,
        executable.in_shardings,
        executable.out_shardings,
        executable.out_avals,
        [committed] * len(executable.out_avals),
        [True] * len(executable.consts) + executable.kept,
        [None] * count,
        executable.consts,
    )


def _same_reading(args: Sequence[Any]) -> bool:
    """Whether jaxlib reads these arguments like primax; if jax is imported, jaxlib follows the flags of jax.

    The flags are part of the dispatcher's key, so the answer is valid until they change.
    """
    if all(type(x) is Array or type(x) is ExtendedArray for x in args):
        return True
    theirs = getattr(getattr(sys.modules["jax"], "config", None), "jax_enable_x64", None)
    return theirs is config.enable_x64.value and not any(isinstance(x, _jaxlib.ArrayImpl) for x in args)
