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
from primax.core.trace_state import fast_path_blockers, thread_blockers, tracing
from primax.core.tree.flatten import raise_unsorted
from primax.core.tree.registry import registry
from primax.interpreters.call_signature import Exact, StaticArguments
from primax.interpreters.runtime import device_put
from primax.interpreters.runtime.arg_signature import ArgSignature, arg_signature
from primax.interpreters.runtime.arg_signature import interned as make_signature
from primax.interpreters.runtime.array import Array, DeletedBuffer, deleted_error, mark_shared, some_are_shared
from primax.interpreters.runtime.donation import Donation, deletion_reason
from primax.interpreters.runtime.sharding.shardings import on_one_device

Call = Callable[..., Any]

_MOST = 1024  # programs of one function
_MOST_FAILED_SEARCHES = 256  # for one function, before all calls are left to the dispatcher
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
        array = cache.get(x)
        if array is not None:
            return array
        if x not in seen:
            if len(seen) >= _MOST:
                seen.clear()
            seen.add(x)
            return None
    return _number_as_array(x)


def _number_as_array(x: Any) -> Array | None:
    """A number as an array, also if it was never seen; None for an integer that is too large.

    Raises:
      KeyError: another value.
    """
    cache = _numbers[type(x)]
    key = x if x else repr(x)  # 0.0 equals -0.0
    array = cache.find(key)
    if array is None:
        try:
            aval = get_aval(x)
            array = Array(device_put.put_host(np.asarray(x, aval.dtype), aval))
        except OverflowError:
            return None  # the dispatcher raises the error
        mark_shared(array._b)  # a program that donates it gets a copy
        arg_signature(array)
        cache.put(key, array)
    return array  # type: ignore[no-any-return]


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
    remaining = iter(numbers)
    return [x if type(x) is Array else next(remaining) for x in values]


def _as_arrays(values: Sequence[Any]) -> list[Array] | None:
    """Arrays that have signatures, for arrays and numbers; None if there are other values."""
    arrays = []
    for x in values:
        if type(x) is not Array:
            try:
                x = _number_as_array(x)
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


class CallKeys:
    """The keys of the programs of one function.

    A key is the signatures of the arguments; with keywords, static or flattened arguments it is a pair of the constants
    of the call and the signatures. If several structures are possible, the structure is a third part.

    Args:
      static: the static arguments.

    Attributes:
      first_static: the first static position; a number above all positions if there is none.
    """

    __slots__ = ("_names", "_orders", "_positions", "first_static")

    def __init__(self, static: StaticArguments) -> None:
        self._positions, self._names = static.positions, static.names
        self.first_static = min(static.positions, default=sys.maxsize)
        self._orders: dict[tuple[str, ...], tuple[str, ...]] = {}  # the sorted keywords, by the keywords of a call

    def split(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, Sequence[Any]]:
        """The keywords and static arguments of a call as a key, and the other arguments in the order of the program."""
        keywords = tuple(kwargs)
        order = self._orders.get(keywords)
        if order is None:
            if len(self._orders) >= _MOST:
                self._orders.clear()
            order = self._orders[keywords] = tuple(sorted(keywords))
        if not self._names and len(args) <= self.first_static:
            return order, [*args, *[kwargs[name] for name in order]]
        constants: list[Any] = []
        values = list(args)
        if len(args) > self.first_static:
            constants.append(len(args))
            values = []
            for i, x in enumerate(args):
                if i in self._positions:
                    constants += type(x), _constant(x)
                else:
                    values.append(x)
        for name in order:
            x = kwargs[name]
            constants.append(name)
            if name in self._names:
                constants += type(x), _constant(x)
            else:
                values.append(x)
        return tuple(constants), values

    def place(self, args: tuple[Any, ...], kwargs: dict[str, Any], flattens: bool) -> Place | None:
        """The place of the program for a call, with the leaves of its arguments if it `flattens` them."""
        simple = not kwargs and len(args) <= self.first_static
        constants, values = ((), args) if simple else self.split(args, kwargs)
        structure = None
        if flattens:
            values, structure = _flatten(values)
        arrays = _as_arrays(values)
        if arrays is None:
            return None
        signatures = tuple([x._signature for x in arrays])
        key: Any = constants, signatures
        if simple and not flattens:
            key = signatures[0] if len(signatures) == 1 else signatures
        hash(key)
        return Place(key, arrays, structure)


class DirectPrograms:
    """The programs that one function calls directly.

    Args:
      static: the static arguments of the function.
      donation: the arguments whose buffers the programs may take.
      programs: the programs that are known; none by default.

    Attributes:
      programs: the programs by their keys.
      keys: the keys.
      flattens: whether arguments are flattened.
      is_off: whether all calls are left to the dispatcher.
    """

    __slots__ = ("_donation", "_failed_searches", "flattens", "is_off", "keys", "programs")

    def __init__(
        self, static: StaticArguments, donation: Donation | None = None, programs: Cache | None = None
    ) -> None:
        self.programs = Cache(_MOST) if programs is None else programs
        self.keys = CallKeys(static)
        self.flattens = False
        self.is_off = False
        self._donation = donation
        self._failed_searches = 0

    def search(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        """The program for a call, and its arrays; None if no program is known, or if an argument is not an array."""
        program = None
        try:
            place = self.keys.place(args, kwargs, self.flattens)
            if place is not None:
                key = (*place.key, place.structure) if self.flattens else place.key
                program = self.programs.get(key) or self.programs.find(key)
        except Exception:  # of a container or a static argument, which the dispatcher raises again
            place = None
        if place is None or program is None:
            self._failed_searches += 1
            self.is_off = self._failed_searches >= _MOST_FAILED_SEARCHES
            return None, None
        if self.flattens:
            self.programs[place.key] = program
        return program, place.arrays

    def locate(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Place | None:
        """The place of the program for a call; None if the call cannot be direct."""
        if fast_path_blockers or (thread_blockers and thread.here.blockers):
            return None
        try:
            place = self.keys.place(args, kwargs, self.flattens)
            if place is None and not self.flattens:
                place = self.keys.place(args, kwargs, True)
                if place is not None and len(place.arrays) < _MANY and self._donation is None:
                    place = None
        except Exception:  # of a container or a static argument
            return None
        return place

    def record(
        self, place: Place | None, args: tuple[Any, ...], kwargs: dict[str, Any], results: Any, fast: Any, epoch: int
    ) -> None:
        """Add the program of a call that jaxlib's dispatcher left to Python.

        Args:
          place: its place.
          args: the positional arguments of the call.
          kwargs: its keyword arguments.
          results: the result of the function.
          fast: the data with which the dispatcher runs the program.
          epoch: the epoch in which the call began; if a rule has changed since, the program is not added.
        """
        program = None
        if place is not None:
            donation = self._donation
            flags = donation.flags(args, kwargs) if donation is not None else ()
            program = _direct_program(place, results, fast, donation.name if donation is not None else "", flags)
        if place is not None and program is not None:
            self._failed_searches, self.is_off = 0, False
            _used.add(self.programs)
            self.programs.put(place.key, program, epoch)
            if place.structure is not None:
                self.flattens = True
                self.programs.put((*place.key, place.structure), program, epoch)
        elif not self.programs:
            self.is_off = True


def direct_call(direct: DirectPrograms, dispatched: Call) -> Call:
    """A function that runs the programs which it knows directly.

    Args:
      direct: the programs.
      dispatched: called if no program is known: jaxlib's dispatcher, or a function that calls it.
    """
    first_static = direct.keys.first_static
    split = direct.keys.split
    seen: set[Any] = set()  # numbers that were arguments once

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if (
                fast_path_blockers
                or direct.is_off
                or (tracing and thread.trace.tracing)
                or (thread_blockers and thread.here.blockers)
            ):
                return dispatched(*args, **kwargs)
            # jaxlib collects the stack for each array that a program returns, so the program is run in this frame.
            arrays: Any = args
            buffers = None
            is_new = False  # whether some number was not seen lately
            flattens = direct.flattens
            try:
                if len(args) == 1 and first_static and not (kwargs or flattens):
                    (x,) = args
                    if type(x) is not Array:
                        arrays = (x,) = (_number(x, seen),)
                        is_new = x is None
                    program = None if is_new else direct.programs[x._signature]
                    buffers = None if is_new else [x._b]
                elif kwargs or flattens or len(args) > first_static:
                    constants: Any = ()
                    if kwargs or len(args) > first_static:
                        constants, arrays = split(args, kwargs)
                    structure = None
                    if flattens:
                        arrays, structure = _flatten(arrays)
                    signatures = tuple([x._signature for x in arrays if type(x) is Array])
                    if len(signatures) != len(arrays):
                        arrays = _with_numbers(arrays, seen)
                        is_new = arrays is None
                        signatures = () if is_new else tuple([x._signature for x in arrays])
                    program = None if is_new else direct.programs[constants, signatures]
                    if program is not None and program[0] != structure:
                        program = None
                elif len(args) == 2:
                    x, y = args
                    if type(y) is not Array:
                        arrays = x, y = x, _number(y, seen)
                    if type(x) is not Array:
                        arrays = x, y = _number(x, seen), y
                    if x is None or y is None:
                        program, is_new = None, True
                    else:
                        program = direct.programs[x._signature, y._signature]
                        buffers = [x._b, y._b]
                else:
                    signatures = tuple([x._signature for x in args if type(x) is Array])
                    if len(signatures) != len(args):
                        arrays = _with_numbers(args, seen)
                        is_new = arrays is None
                        signatures = () if is_new else tuple([x._signature for x in arrays])
                    program = None if is_new else direct.programs[signatures]
            except (AttributeError, KeyError):  # some argument is no array, or has no signature yet, or a new one
                program = None
            except Exception:  # of a container or a static argument, which the dispatcher raises again
                return dispatched(*args, **kwargs)
            if program is None:
                program, arrays = (None, args) if is_new else direct.search(args, kwargs)
                if program is None:
                    return dispatched(*args, **kwargs)
                buffers = None
            _, run, buffers_of, handlers, signature, mark_donated, build = program
            if buffers_of is not None:
                buffers = buffers_of(arrays)
                if buffers is None:  # a donated array must be copied, or is also another argument
                    return dispatched(*args, **kwargs)
            elif buffers is None:
                buffers = [x._b for x in arrays]
            try:
                outs = run(buffers).consume_with_handlers(handlers)
            except Exception:
                deleted = [x._b for x in arrays if x._b.is_deleted()]
                if not deleted:
                    raise
                raise deleted_error(deleted[0]) from None
            if signature is None:
                if mark_donated is not None:
                    mark_donated(arrays)
                return build(outs)
            result = _new(Array)
            (result._b,) = outs
            result._signature = signature
            return result
        except ValueError as error:
            raise_unsorted(error, (), (args, kwargs))
            raise

    return call


class DirectProgram(NamedTuple):
    """How a program is run for arguments of some signatures.

    Attributes:
      structure: the structure of the arguments, if they are leaves of containers.
      run: runs the program on buffers.
      buffers_of: the buffers for the arguments, or None if a donated one cannot be taken; None if they are the
        buffers of all arguments in order.
      handlers: jaxlib's handler of each result.
      signature: that of the result, if the function returns one array and donates nothing.
      mark_donated: marks the donated ones of the arguments as deleted; None if none is donated.
      build: a function from the buffers of the results to the result of the function.
    """

    structure: Any
    run: Callable[[list[Any]], Any]
    buffers_of: Callable[[Sequence[Any]], list[Any] | None] | None
    handlers: list[Any]
    signature: ArgSignature | None
    mark_donated: Callable[[Sequence[Any]], None] | None
    build: Callable[[list[Any]], Any]


def _direct_program(place: Place, results: Any, fast: Any, name: str, donated: Sequence[bool]) -> DirectProgram | None:
    """How to run a program for arguments of these signatures; None if only the dispatcher can do so.

    Args:
      place: the arguments.
      results: the result of the function for them.
      fast: the data with which the dispatcher runs the program.
      name: the name of the function.
      donated: for each argument whether it is donated; empty if none is.
    """
    arrays = place.arrays
    consts = fast.const_args
    kept = fast.kept_var_bitvec[len(consts) :]
    if len(kept) != len(arrays):
        return None
    used = [i for i, is_used in enumerate(kept) if is_used]
    shardings = fast.in_shardings[len(consts) :]
    if any(arrays[i]._b._sharding is not sharding for i, sharding in zip(used, shardings, strict=True)):
        return None  # an argument is copied to another device
    outs, out_tree = _flatten(results)
    if len(outs) != len(fast.out_avals) or any(type(x) is not Array for x in outs):
        return None
    properties = list(zip(fast.out_avals, fast.out_shardings, fast.out_committed, strict=True))
    handlers = [array_result_handler(aval, sharding, committed=committed) for aval, sharding, committed in properties]
    signatures = [make_signature(aval, sharding, committed) for aval, sharding, committed in properties]
    taken = [i for i in used if donated[i]] if donated else []
    if not all(on_one_device(arrays[i]._b._sharding) for i in taken):
        return None  # other threads must not donate the same arrays
    mark_donated = None
    if taken:
        mark_donated = _donation_marker([(i, DeletedBuffer(arrays[i]._b, deletion_reason(name))) for i in taken])
    return DirectProgram(
        place.structure,
        fast.xla_executable.execute_sharded,
        _buffer_reader(consts, used, len(arrays), taken),
        handlers,
        signatures[0] if out_tree == _LEAF and mark_donated is None else None,
        mark_donated,
        _result_builder(signatures, out_tree, type(results) is list and all(type(x) is Array for x in results)),
    )


def _buffer_reader(
    consts: list[Any], used: list[int], count: int, donated: list[int]
) -> Callable[[Sequence[Any]], list[Any] | None] | None:
    """A function from the arguments of a program to its buffers; None if they are those of all `count` arguments.

    The function returns None if a buffer of the arguments `donated` cannot be taken.
    """
    if not (consts or donated) and len(used) == count:
        return None

    def buffers_of(arrays: Sequence[Any]) -> list[Any] | None:
        return [*consts, *[arrays[i]._b for i in used]]

    def donatable_buffers_of(arrays: Sequence[Any]) -> list[Any] | None:
        buffers = [*consts, *[arrays[i]._b for i in used]]
        is_shared = some_are_shared([arrays[i]._b for i in donated]) or len(set(map(id, buffers))) < len(buffers)
        return None if is_shared else buffers

    return donatable_buffers_of if donated else buffers_of


def _donation_marker(donated: list[tuple[int, DeletedBuffer]]) -> Callable[[Sequence[Any]], None]:
    """A function that marks the donated ones of a program's arguments as deleted if it has taken their buffers.

    Args:
      donated: for each the position, and the replacement of its buffer.
    """

    def mark_donated(arrays: Sequence[Any]) -> None:
        for i, replacement in donated:
            x = arrays[i]
            if x._b.is_deleted():
                x._signature = None
                x._b = replacement

    return mark_donated


def _result_builder(signatures: list[ArgSignature], structure: Any, as_list: bool) -> Callable[[list[Any]], Any]:
    """A function from the buffers of a program's results to the result of the function."""

    def build(buffers: list[Any]) -> Any:
        outs = []
        for b, signature in zip(buffers, signatures, strict=True):
            x = _new(Array)
            x._b = b
            x._signature = signature
            outs.append(x)
        return outs if as_list else structure.unflatten(outs)

    return build
