"""Direct calls: compiled programs whose arguments are all arrays are run without jaxlib's dispatcher.

For each call the dispatcher determines the type and the place of every argument, and wraps every result. An `Array`
keeps both as one object, its signature, so the program for some signatures is found by a lookup. Numbers of Python and
NumPy are passed as arrays that are kept, if they come more than once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np

from primax.core import option
from primax.core._jaxlib import array_result_handler
from primax.core.avals import get_aval
from primax.core.cache import Cache
from primax.core.trace import thread
from primax.core.trace_state import fast_path_blockers, tracing
from primax.core.tree.registry import registry
from primax.interpreters.call_signature import Exact, StaticArguments
from primax.interpreters.runtime import device_put
from primax.interpreters.runtime.arg_signature import ArgSignature, arg_signature
from primax.interpreters.runtime.arg_signature import interned as make_signature
from primax.interpreters.runtime.array import Array, Gone, deleted, mark_shared, some_have_owners
from primax.interpreters.runtime.donation import Donation, deletion_reason
from primax.interpreters.runtime.sharding.shardings import on_one_device

__all__ = ["Direct", "NO_PROGRAMS", "direct_calls"]

Call = Callable[..., Any]

_MOST = 1024  # programs of one function
_FUTILE = 256  # calls of one function that are examined in vain before all of them are left to the dispatcher
_EXACT = frozenset({int, str, bool, type(None)})  # types of which equal values are the same
_MANY = 16  # arguments that are flattened here; the dispatcher flattens fewer in less time, if none is donated
NO_PROGRAMS = Cache(0)
_new = object.__new__
_flatten = registry.flatten
_LEAF = _flatten(0)[1]
_used: WeakSet[Cache] = WeakSet()
_scalars = [np.dtype(code).type for code in "?bhilqBHILQefd"]
_numbers: dict[Any, Cache] = {kind: Cache(1024) for kind in (bool, int, float, *_scalars)}


def _forget() -> None:
    for cache in [*_used, *_numbers.values()]:
        cache.clear()
    _used.clear()


option.changed.append(_forget)  # the default device, or the types of numbers, may be others now


def _number(x: Any, seen: set[Any]) -> Any:
    """A number of Python or NumPy as an array, kept for the next call.

    None for a number that was not `seen` lately, which the dispatcher transfers in less time, and for an integer that
    is too large.

    Raises:
      KeyError: another value.
    """
    cache = _numbers[type(x)]
    if x:
        found = cache.get(x)
        if found is not None:
            return found
        if x not in seen:
            if len(seen) >= _MOST:
                seen.clear()
            seen.add(x)
            return None
    return _made_number(x)


def _made_number(x: Any) -> Array | None:
    """A number as an array, also if it was never seen; None for an integer that is too large.

    Raises:
      KeyError: another value.
    """
    cache = _numbers[type(x)]
    key = x if x else repr(x)  # 0.0 equals -0.0
    found = cache.find(key)
    if found is None:
        try:
            aval = get_aval(x)
            found = Array(device_put.put_host(np.asarray(x, aval.dtype), aval))
        except OverflowError:
            return None  # the dispatcher raises the error
        mark_shared(found._b)  # a program that donates it gets a copy
        arg_signature(found)
        cache.put(key, found)
    return found  # type: ignore[no-any-return]


def _constant(x: Any) -> Any:
    """A static argument in a key, equal to others only if they are the same."""
    kind: Any = type(x)
    by_identity = kind.__eq__ is object.__eq__ and kind.__hash__ is object.__hash__
    return x if kind in _EXACT or by_identity else Exact(x)


def _with_numbers(values: Sequence[Any], seen: set[Any]) -> list[Array] | None:
    """Arrays for arrays and numbers; None if the dispatcher takes less time.

    Raises:
      KeyError: there are other values.
    """
    numbers = [_number(x, seen) for x in values if type(x) is not Array]
    if any(x is None for x in numbers):
        return None
    left = iter(numbers)
    return [x if type(x) is Array else next(left) for x in values]


def _as_arrays(values: Sequence[Any]) -> list[Array] | None:
    """Arrays that have signatures, for arrays and numbers; None if there are other values."""
    arrays = []
    for x in values:
        if type(x) is not Array:
            try:
                x = _made_number(x)
            except KeyError:
                return None
        if x is None or arg_signature(x) is None:
            return None
        arrays.append(x)
    return arrays


class Place(NamedTuple):
    """Where the program for a call is found.

    Attributes:
      key: the key of the program.
      arrays: the arguments of the program.
      structure: their structure, if they are leaves of containers.
    """

    key: Any
    arrays: list[Array]
    structure: Any


class Direct(NamedTuple):
    """A function that runs the programs which it knows directly, and leaves other calls to another function.

    Attributes:
      call: the function.
      locate: the place of the program for a call, `locate(args, kwargs)`; None if the call cannot be direct.
      record: adds the program of a call that jaxlib's dispatcher left to Python: `record(place, args, kwargs, results,
        fast, begun)`, unless a rule has changed since the epoch `begun`.
      programs: the programs that it knows.
      share: makes it know the programs of another one instead.
    """

    call: Call
    locate: Callable[[tuple[Any, ...], dict[str, Any]], Place | None]
    record: Callable[..., None]
    programs: Cache
    share: Callable[[Cache], None]


def direct_calls(
    dispatched: Call, static: StaticArguments, donation: Donation | None = None, programs: Cache | None = None
) -> Direct:
    """A function that runs compiled programs directly.

    Args:
      dispatched: what it calls if it knows no program: jaxlib's dispatcher, or a function that calls that.
      static: the static arguments.
      donation: the arguments whose buffers its programs may take.
      programs: the programs that it knows; none at first.
    """
    # The key of a program is the signatures of its arguments. With keywords, static arguments or flattened ones it is
    # the constants of the call and the signatures; with the structure as a third part if there may be several.
    paths = Cache(_MOST) if programs is None else programs
    positions, names = static.positions, static.names
    first_static = min(positions, default=sys.maxsize)
    seen: set[Any] = set()  # numbers that were arguments once
    orders: dict[tuple[str, ...], tuple[str, ...]] = {}  # the sorted keywords of a call, by the keywords as given
    flattens = False  # whether arguments are flattened
    futile = 0  # how many calls were examined in vain
    left = False  # whether all calls are left to the dispatcher

    def call(*args: Any, **kwargs: Any) -> Any:
        if fast_path_blockers or left or (tracing and thread.trace.tracing):
            return dispatched(*args, **kwargs)
        # jaxlib collects the stack for each array that a program returns, so the program is run in this frame.
        arrays: Any = args
        buffers = None
        once = False  # whether some number was not seen lately
        try:
            if len(args) == 1 and first_static and not (kwargs or flattens):
                (x,) = args
                if type(x) is not Array:
                    arrays = (x,) = (_number(x, seen),)
                    once = x is None
                path = None if once else paths[x._signature]
                buffers = None if once else [x._b]
            elif kwargs or flattens or len(args) > first_static:
                constants: Any = ()
                if kwargs or len(args) > first_static:
                    constants, arrays = spread(args, kwargs)
                structure = None
                if flattens:
                    arrays, structure = _flatten(arrays)
                signatures = tuple([x._signature for x in arrays if type(x) is Array])
                if len(signatures) != len(arrays):
                    arrays = _with_numbers(arrays, seen)
                    once = arrays is None
                    signatures = () if once else tuple([x._signature for x in arrays])
                path = None if once else paths[constants, signatures]
                if path is not None and path[0] != structure:
                    path = None
            elif len(args) == 2:
                x, y = args
                if type(y) is not Array:
                    arrays = x, y = x, _number(y, seen)
                if type(x) is not Array:
                    arrays = x, y = _number(x, seen), y
                if x is None or y is None:
                    path, once = None, True
                else:
                    path = paths[x._signature, y._signature]
                    buffers = [x._b, y._b]
            else:
                signatures = tuple([x._signature for x in args if type(x) is Array])
                if len(signatures) != len(args):
                    arrays = _with_numbers(args, seen)
                    once = arrays is None
                    signatures = () if once else tuple([x._signature for x in arrays])
                path = None if once else paths[signatures]
        except (
            AttributeError,
            KeyError,
        ):  # some argument is no array, or has no signature yet, or the signature is new
            path = None
        except Exception:  # of a container or a static argument, which the dispatcher raises again
            return dispatched(*args, **kwargs)
        if path is None:
            path, arrays = (None, args) if once else search(args, kwargs)
            if path is None:
                return dispatched(*args, **kwargs)
            buffers = None
        _, run, pick, handlers, signature, give, build = path
        if pick is not None:
            buffers = pick(arrays)
            if buffers is None:  # a donated array must be copied, or is also another argument
                return dispatched(*args, **kwargs)
        elif buffers is None:
            buffers = [x._b for x in arrays]
        try:
            outs = run(buffers).consume_with_handlers(handlers)
        except Exception:
            gone = [x._b for x in arrays if x._b.is_deleted()]
            if not gone:
                raise
            raise deleted(gone[0]) from None
        if signature is None:
            if give is not None:
                give(arrays)
            return build(outs)
        result = _new(Array)
        (result._b,) = outs
        result._signature = signature
        return result

    def spread(args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, Sequence[Any]]:
        """The keywords and static arguments of a call as a key, and the other arguments in the order of the program."""
        keywords = tuple(kwargs)
        order = orders.get(keywords)
        if order is None:
            if len(orders) >= _MOST:
                orders.clear()
            order = orders[keywords] = tuple(sorted(keywords))
        if not names and len(args) <= first_static:
            return order, [*args, *[kwargs[name] for name in order]]
        constants: list[Any] = []
        if len(args) > first_static:
            given, args = args, []
            constants.append(len(given))
            for i, x in enumerate(given):
                if i in positions:
                    constants += type(x), _constant(x)
                else:
                    args.append(x)
        else:
            args = list(args)
        for name in order:
            x = kwargs[name]
            constants.append(name)
            if name in names:
                constants += type(x), _constant(x)
            else:
                args.append(x)
        return tuple(constants), args

    def located(args: tuple[Any, ...], kwargs: dict[str, Any], flat: bool) -> Place | None:
        """The place of the program for a call; the arguments have no containers if they are `flat`."""
        simple = not kwargs and len(args) <= first_static
        constants, values = ((), args) if simple else spread(args, kwargs)
        structure = None
        if not flat:
            values, structure = _flatten(values)
        arrays = _as_arrays(values)
        if arrays is None:
            return None
        signatures = tuple([x._signature for x in arrays])
        key = (
            (constants, signatures) if not (flat and simple) else signatures[0] if len(signatures) == 1 else signatures
        )
        hash(key)
        return Place(key, arrays, structure)

    def search(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        """The program for a call, and its arrays; None if no program is known, or if some argument is no array."""
        nonlocal futile, left
        path = place = None
        try:
            place = located(args, kwargs, not flattens)
            if place is not None:
                path = paths.find((*place.key, place.structure) if flattens else place.key)
        except Exception:  # of a container or a static argument, which the dispatcher raises again
            place = None
        if place is None or path is None:
            futile += 1
            left = futile >= _FUTILE
            return None, None
        if flattens:
            paths[place.key] = path
        return path, place.arrays

    def locate(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Place | None:
        if fast_path_blockers:
            return None
        try:
            place = located(args, kwargs, not flattens)
            if place is None and not flattens:
                place = located(args, kwargs, False)
                if place is not None and len(place.arrays) < _MANY and donation is None:
                    place = None
        except Exception:  # of a container or a static argument
            return None
        return place

    def record(
        place: Place | None, args: tuple[Any, ...], kwargs: dict[str, Any], results: Any, fast: Any, begun: int
    ) -> None:
        nonlocal flattens, futile, left
        path = None
        if place is not None:
            flags = donation.flags(args, kwargs) if donation is not None else ()
            path = _path(place, results, fast, donation.name if donation is not None else "", flags)
        if place is not None and path is not None:
            futile, left = 0, False
            _used.add(paths)
            paths.put(place.key, path, begun)
            if place.structure is not None:
                flattens = True
                paths.put((*place.key, place.structure), path, begun)
        elif not paths:
            left = True

    def share(programs: Cache) -> None:
        nonlocal paths
        paths = programs

    return Direct(call, locate, record, paths, share)


def _path(place: Place, results: Any, fast: Any, name: str, donated: Sequence[bool]) -> Any:
    """How to run a program for arguments of these signatures; None if only the dispatcher can do so.

    Args:
      place: the arguments.
      results: what the function has returned for them.
      fast: what the dispatcher needs to run the program.
      name: the name of the function.
      donated: for each argument whether it is donated; empty if none is.
    """
    arrays = place.arrays
    consts = fast.const_args
    kept = fast.kept_var_bitvec[len(consts) :]
    if len(kept) != len(arrays):
        return None
    used = [i for i, taken in enumerate(kept) if taken]
    shardings = fast.in_shardings[len(consts) :]
    if any(arrays[i]._b._sharding is not sharding for i, sharding in zip(used, shardings, strict=True)):
        return None  # an argument is copied to another device
    outs, out_tree = _flatten(results)
    if len(outs) != len(fast.out_avals) or any(type(x) is not Array for x in outs):
        return None
    found = list(zip(fast.out_avals, fast.out_shardings, fast.out_committed, strict=True))
    handlers = [array_result_handler(aval, sharding, committed=committed) for aval, sharding, committed in found]
    signatures = [make_signature(*each) for each in found]
    given = [i for i in used if donated[i]] if donated else []
    if not all(on_one_device(arrays[i]._b._sharding) for i in given):
        return None  # other threads must not donate the same arrays
    give = _giver([(i, Gone(arrays[i]._b, deletion_reason(name))) for i in given]) if given else None
    pick = _picker(consts, used, len(arrays), given)
    signature = signatures[0] if out_tree == _LEAF and give is None else None
    as_list = type(results) is list and all(type(x) is Array for x in results)
    run = fast.xla_executable.execute_sharded
    return place.structure, run, pick, handlers, signature, give, _builder(signatures, out_tree, as_list)


def _picker(
    consts: list[Any], used: list[int], count: int, given: list[int]
) -> Callable[[Sequence[Any]], list[Any] | None] | None:
    """A function from the arguments of a program to its buffers; None if they are those of all arguments.

    The function returns None if a buffer of the donated arguments `given` cannot be taken.
    """
    if not (consts or given) and len(used) == count:
        return None

    def pick(arrays: Sequence[Any]) -> list[Any] | None:
        return [*consts, *[arrays[i]._b for i in used]]

    def pick_unowned(arrays: Sequence[Any]) -> list[Any] | None:
        buffers = [*consts, *[arrays[i]._b for i in used]]
        owned = some_have_owners([arrays[i]._b for i in given]) or len(set(map(id, buffers))) < len(buffers)
        return None if owned else buffers

    return pick_unowned if given else pick


def _giver(donated: list[tuple[int, Gone]]) -> Callable[[Sequence[Any]], None]:
    """A function that marks the donated ones of a program's arguments as gone if it has taken their buffers.

    Args:
      donated: the position of each, and what replaces its buffer.
    """

    def give(arrays: Sequence[Any]) -> None:
        for i, gone in donated:
            x = arrays[i]
            if x._b.is_deleted():
                x._signature = None
                x._b = gone

    return give


def _builder(signatures: list[ArgSignature], structure: Any, as_list: bool) -> Callable[[list[Any]], Any]:
    """A function from the buffers of a program's results to what the function returns."""

    def build(buffers: list[Any]) -> Any:
        outs = []
        for b, signature in zip(buffers, signatures, strict=True):
            x = _new(Array)
            x._b = b
            x._signature = signature
            outs.append(x)
        return outs if as_list else structure.unflatten(outs)

    return build
