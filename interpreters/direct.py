"""Direct calls: compiled programs whose arguments are all arrays are run without jaxlib's dispatcher.

For each call the dispatcher determines the type and the place of every argument, and wraps every result. An `Array`
keeps both as one object, its form, so the program for some forms is found by a lookup. Python numbers are passed as
arrays that are kept for the next call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np

from primax.core import option
from primax.core._jaxlib import array_result_handler
from primax.core.array import Array, mark_shared
from primax.core.avals import get_aval
from primax.core.cache import Cache
from primax.core.forms import Form, form_of
from primax.core.forms import form as make_form
from primax.core.thread import tracing, unusual
from primax.core.trace import thread
from primax.core.tree_registry import registry
from primax.interpreters import backend
from primax.interpreters.signature import Exact, StaticArguments

__all__ = ["Direct", "NO_PROGRAMS", "direct_calls"]

Call = Callable[..., Any]

_MOST = 1024  # programs of one function
_FUTILE = 256  # calls of one function that are examined in vain before all of them are left to the dispatcher
_EXACT = frozenset({int, str, bool, type(None)})  # types of which equal values are the same
_MANY = 16  # arguments that are flattened here; the dispatcher flattens fewer in less time
NO_PROGRAMS = Cache(0)
_new = object.__new__
_flatten = registry.flatten
_LEAF = _flatten(0)[1]
_used: WeakSet[Cache] = WeakSet()
_numbers: dict[type, Cache] = {float: Cache(1024), int: Cache(1024), bool: Cache(4)}


def _forget() -> None:
    for cache in [*_used, *_numbers.values()]:
        cache.clear()
    _used.clear()


option.changed.append(_forget)  # the default device, or the types of numbers, may be others now


def _number(x: Any) -> Any:
    """A Python number as an array, kept for the next call; None for an integer that is too large.

    Raises:
      KeyError: another value.
    """
    cache = _numbers[type(x)]
    found = cache.get(x) if x else None
    return _new_number(x, cache) if found is None else found


def _new_number(x: Any, cache: Cache) -> Array | None:
    key = repr(x) if x == 0 and type(x) is float else x  # 0.0 equals -0.0
    found = cache.find(key)
    if found is None:
        try:
            aval = get_aval(x)
            found = Array(backend.put_host(np.asarray(x, aval.dtype), aval))
        except OverflowError:
            return None  # the dispatcher raises the error
        mark_shared(found._b)  # a program that donates it gets a copy
        form_of(found)
        cache.put(key, found)
    return found  # type: ignore[no-any-return]


def _no_number(x: Any) -> Any:
    raise KeyError(x)


def _as_arrays(values: Sequence[Any], number: Call) -> list[Array] | None:
    """Arrays that have forms, for arrays and Python numbers; None if there are other values."""
    arrays = []
    for x in values:
        if type(x) is not Array:
            try:
                x = number(x)
            except KeyError:
                return None
        if x is None or form_of(x) is None:
            return None
        arrays.append(x)
    return arrays


def _some_deleted(arrays: Sequence[Any]) -> bool:
    return any(type(x) is Array and x._b.is_deleted() for x in arrays)


class Direct(NamedTuple):
    """A function that runs the programs which it knows directly, and leaves other calls to another function.

    Attributes:
      call: the function.
      record: adds the program of a call that jaxlib's dispatcher left to Python: `record(args, kwargs, results, fast,
        begun)`, unless a rule has changed since the epoch `begun`.
      programs: the programs that it knows.
      share: makes it know the programs of another one instead.
    """

    call: Call
    record: Callable[..., None]
    programs: Cache
    share: Callable[[Cache], None]


def direct_calls(
    dispatched: Call, static: StaticArguments, donates: bool = False, programs: Cache | None = None
) -> Direct:
    """A function that runs compiled programs directly.

    Args:
      dispatched: what it calls if it knows no program: jaxlib's dispatcher, or a function that calls that.
      static: the static arguments.
      donates: whether its programs may take the buffers of their arguments; numbers are then left to `dispatched`.
      programs: the programs that it knows; none at first.
    """
    number = _no_number if donates else _number
    # The key of a program is the forms of its arguments. With keywords, static arguments or flattened ones it is the
    # constants of the call and the forms; with the structure as a third part if there may be several.
    paths = Cache(_MOST) if programs is None else programs
    positions, names = static.positions, static.names
    first_static = min(positions, default=sys.maxsize)
    flattens = False  # whether arguments are flattened
    futile = 0  # how many calls were examined in vain
    left = False  # whether all calls are left to the dispatcher

    def call(*args: Any, **kwargs: Any) -> Any:
        if unusual or left or (tracing and thread.trace.tracing):
            return dispatched(*args, **kwargs)
        # jaxlib collects the stack for each array that a program returns, so the program is run in this frame.
        arrays: Any = args
        buffers = None
        try:
            if len(args) == 1 and first_static and not (kwargs or flattens):
                (x,) = args
                if type(x) is not Array:
                    arrays = (x,) = (number(x),)
                path = paths[x._form]
                buffers = [x._b]
            elif kwargs or flattens or len(args) > first_static:
                constants: Any = ()
                if kwargs or len(args) > first_static:
                    constants, arrays = spread(args, kwargs)
                structure = None
                if flattens:
                    arrays, structure = _flatten(arrays)
                forms = tuple([x._form for x in arrays if type(x) is Array])
                if len(forms) != len(arrays):
                    arrays = [x if type(x) is Array else number(x) for x in arrays]
                    forms = tuple([x._form for x in arrays])
                path = paths[constants, forms]
                if path[0] != structure:
                    path = None
            elif len(args) == 2:
                x, y = args
                if type(y) is not Array:
                    arrays = x, y = x, number(y)
                if type(x) is not Array:
                    arrays = x, y = number(x), y
                path = paths[x._form, y._form]
                buffers = [x._b, y._b]
            else:
                forms = tuple([x._form for x in args if type(x) is Array])
                if len(forms) != len(args):
                    arrays = [x if type(x) is Array else number(x) for x in args]
                    forms = tuple([x._form for x in arrays])
                path = paths[forms]
        except (AttributeError, KeyError):  # some argument is no array, or has no form yet, or the signature is new
            path = None
        except Exception:  # of a container or a static argument, which the dispatcher raises again
            return dispatched(*args, **kwargs)
        if path is None:
            path, arrays = search(args, kwargs)
            if path is None:
                return dispatched(*args, **kwargs)
            buffers = None
        _, run, pick, handlers, form, build = path
        if pick is not None:
            buffers = pick(arrays)
        elif buffers is None:
            buffers = [x._b for x in arrays]
        try:
            outs = run(buffers).consume_with_handlers(handlers)
        except Exception:
            if not _some_deleted(arrays):
                raise
            return dispatched(*args, **kwargs)
        if form is None:
            return build(outs)
        result = _new(Array)
        (result._b,) = outs
        result._form = form
        return result

    def spread(args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, Sequence[Any]]:
        """The keywords and static arguments of a call as a key, and the other arguments in the order of the program."""
        if not names and len(args) <= first_static:
            keywords = dict(sorted(kwargs.items())) if len(kwargs) > 1 else kwargs
            return tuple(keywords), [*args, *keywords.values()]
        constants: list[Any] = []
        if len(args) > first_static:
            given, args = args, []
            constants.append(len(given))
            for i, x in enumerate(given):
                if i in positions:
                    constants += type(x), x if type(x) in _EXACT else Exact(x)
                else:
                    args.append(x)
        if kwargs:
            args = list(args)
            for name in sorted(kwargs) if len(kwargs) > 1 else kwargs:
                x = kwargs[name]
                constants.append(name)
                if name in names:
                    constants += type(x), x if type(x) in _EXACT else Exact(x)
                else:
                    args.append(x)
        return tuple(constants), args

    def located(args: tuple[Any, ...], kwargs: dict[str, Any], flat: bool) -> tuple[Any, list[Array] | None, Any]:
        """The key of a call, its arrays, and their structure if it is not `flat`; None if there are other values."""
        constants, values = spread(args, kwargs)
        structure = None
        if not flat:
            values, structure = _flatten(values)
        arrays = _as_arrays(values, number)
        if arrays is None:
            return None, None, None
        forms = tuple([x._form for x in arrays])
        simple = flat and not kwargs and len(args) <= first_static
        key = (constants, forms) if not simple else forms[0] if len(forms) == 1 else forms
        hash(key)
        return key, arrays, structure

    def search(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        """The program for a call, and its arrays; None if no program is known, or if some argument is no array."""
        nonlocal futile, left
        path = None
        try:
            key, arrays, structure = located(args, kwargs, not flattens)
            if arrays is not None:
                path = paths.find((*key, structure) if flattens else key)
        except Exception:  # of a container or a static argument, which the dispatcher raises again
            arrays = None
        if path is None:
            futile += 1
            left = futile >= _FUTILE
        elif flattens:
            paths[key] = path
        return path, arrays

    def record(args: tuple[Any, ...], kwargs: dict[str, Any], results: Any, fast: Any, begun: int) -> None:
        nonlocal flattens, futile, left
        if unusual:
            return
        path = structure = None
        try:
            key, arrays, structure = located(args, kwargs, not flattens)
            if arrays is None and not flattens:
                key, arrays, structure = located(args, kwargs, False)
                if arrays is not None and len(arrays) < _MANY:
                    arrays = None
        except Exception:  # of a container or a static argument
            return
        if arrays is not None:
            path = _path(structure, arrays, results, fast)
        if path is not None:
            futile, left = 0, False
            _used.add(paths)
            paths.put(key, path, begun)
            if structure is not None:
                flattens = True
                paths.put((*key, structure), path, begun)
        elif not paths:
            left = True

    def share(programs: Cache) -> None:
        nonlocal paths
        paths = programs

    return Direct(call, record, paths, share)


def _path(structure: Any, arrays: Sequence[Array], results: Any, fast: Any) -> Any:
    """How to run a program for arguments of these forms; None if only the dispatcher can do so.

    Args:
      structure: the structure of the arguments, if they are leaves of containers.
      arrays: the arguments.
      results: what the function has returned for them.
      fast: what the dispatcher needs to run the program.
    """
    consts = fast.const_args
    kept = fast.kept_var_bitvec[len(consts) :]
    if len(kept) != len(arrays):
        return None
    used = [i for i, taken in enumerate(kept) if taken]
    places = fast.in_shardings[len(consts) :]
    if any(arrays[i]._b._sharding is not place for i, place in zip(used, places, strict=True)):
        return None  # an argument is copied to another device
    outs, out_tree = _flatten(results)
    if len(outs) != len(fast.out_avals) or any(type(x) is not Array for x in outs):
        return None
    found = list(zip(fast.out_avals, fast.out_shardings, fast.out_committed, strict=True))
    handlers = [array_result_handler(aval, sharding, committed=committed) for aval, sharding, committed in found]
    forms = [make_form(*each) for each in found]
    pick = _picker(consts, used, len(arrays))
    form = forms[0] if out_tree == _LEAF else None
    as_list = type(results) is list and all(type(x) is Array for x in results)
    return structure, fast.xla_executable.execute_sharded, pick, handlers, form, _builder(forms, out_tree, as_list)


def _picker(consts: list[Any], used: list[int], count: int) -> Callable[[Sequence[Any]], list[Any]] | None:
    """A function from the arguments of a program to its buffers; None if they are those of all arguments."""
    if not consts and len(used) == count:
        return None

    def pick(arrays: Sequence[Any]) -> list[Any]:
        return [*consts, *[arrays[i]._b for i in used]]

    return pick


def _builder(forms: list[Form], structure: Any, as_list: bool) -> Callable[[list[Any]], Any]:
    """A function from the buffers of a program's results to what the function returns."""

    def build(buffers: list[Any]) -> Any:
        outs = []
        for b, form in zip(buffers, forms, strict=True):
            x = _new(Array)
            x._b = b
            x._form = form
            outs.append(x)
        return outs if as_list else structure.unflatten(outs)

    return build
