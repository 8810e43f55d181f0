"""Donation: arrays whose buffers a program may reuse for its results."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from primax.core._jaxlib import repeats_donated_buffer, status_of
from primax.core.errors import XlaError
from primax.core.tree import tree_leaves
from primax.interpreters.runtime import device_put
from primax.interpreters.runtime.array import Array, DeletedBuffer, deleted_error, is_shared, mark_shared
from primax.interpreters.runtime.extended_array import ExtendedArray, physical
from primax.interpreters.runtime.sharding.shardings import on_one_device


class Donation(NamedTuple):
    """The donated arguments of a function.

    Attributes:
      name: the name of the function.
      flags: a function from the arguments of a call, `(args, kwargs)`, to a bool for each flat argument.
      donated_leaves: a function from the same to the leaves that are donated.
    """

    name: str
    flags: Callable[[tuple[Any, ...], dict[str, Any]], tuple[bool, ...]]
    donated_leaves: Callable[[tuple[Any, ...], dict[str, Any]], list[Any]]


def donating_call(dispatched: Callable[..., Any], miss: Callable[..., Any], donation: Donation) -> Callable[..., Any]:
    """A function that marks donated arrays as deleted, and donates copies of arrays whose buffers have several owners.

    Args:
      dispatched: the function with these arguments.
      miss: the same without jaxlib's dispatcher, which donates constants too; the first of its results is that of the
        function.
      donation: the donated arguments.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        donated = donation.donated_leaves(args, kwargs)
        copies = is_copy_needed(donation.name, donated, (args, kwargs))
        with donation_lock(donated, donation.name):
            try:
                out = miss(*args, **kwargs)[0] if copies else dispatched(*args, **kwargs)
            except (ValueError, XlaError) as error:
                explain_buffer_error(error, donation.name, tree_leaves((args, kwargs)))
                raise
            mark_donated(donated, donation.name)
        return out

    return call


_locked_buffers: set[int] = set()
_lock = threading.Lock()


@contextmanager
def donation_lock(donated: Iterable[Any], name: str) -> Iterator[None]:
    """Prevent other threads from donating the same arrays to programs over several devices: jaxlib would crash.

    Raises:
      DeletedArrayError: an array was donated, or another thread donates it now.
    """
    arrays = [x for x in map(physical, donated) if type(x) is Array]
    if all(on_one_device(x._b._sharding) for x in arrays):
        yield
        return
    with _lock:
        buffers = [x._b for x in arrays]
        for b in buffers:
            if id(b) in _locked_buffers:
                raise deleted_error(DeletedBuffer(b, deletion_reason(name)))
            if b.is_deleted():
                raise deleted_error(b)
        ids = set(map(id, buffers))
        _locked_buffers.update(ids)
    try:
        yield
    finally:
        with _lock:
            _locked_buffers.difference_update(ids)


def deletion_reason(name: str) -> str:
    """The reason in messages about an array that was donated to the program of this name."""
    return f"was donated to {name} (donate_argnums)"


def mark_donated(donated: Sequence[Any], name: str, passed: Sequence[Any] | None = None) -> None:
    """Mark donated arrays as deleted if the program has taken their buffers.

    Args:
      donated: the arguments that were donated.
      name: the name of the program.
      passed: the arrays that were passed instead, if some were copied.
    """
    for x, argument in zip(donated, donated if passed is None else passed, strict=True):
        if type(x) is ExtendedArray:
            x, argument = x.base, argument.base
        if type(x) is Array and type(x._b) is not DeletedBuffer and argument._b.is_deleted():
            x._drop_buffer(deletion_reason(name))


def has_shared_buffer(x: Any) -> bool:
    """Whether the buffer of an array is a constant of a compiled program, or belongs to another array too."""
    x = physical(x)
    return type(x) is Array and is_shared(x._b)


def shared(x: Array) -> Array:
    """Another array with the same buffer; a donation of either copies it."""
    mark_shared(x._b)
    return Array(x._b)


def is_copy_needed(name: str, donated: Iterable[Any], arguments: Any) -> bool:
    """Whether a donated array must be copied first, since its buffer has several owners.

    Args:
      name: the name of the program.
      donated: the donated arguments, flat.
      arguments: all arguments, a tree.

    Raises:
      ValueError: an array on several devices is donated and is also another argument; jaxlib would abort.
    """
    some_shared = some_distributed = False
    for x in donated:
        if type(x) is ExtendedArray:
            x = x.base
        if type(x) is Array:
            some_shared = some_shared or is_shared(x._b)
            some_distributed = some_distributed or not on_one_device(x._b._sharding)
    if some_distributed:
        counts = Counter(id(x._b) for x in map(physical, tree_leaves(arguments)) if type(x) is Array)
        if any(counts[id(x._b)] > 1 for x in map(physical, donated) if type(x) is Array):
            raise _repeated(name)
    return some_shared


def _repeated(name: str) -> ValueError:
    return ValueError(
        f"{name}: an array that is donated (donate_argnums) must not be another argument of the same call, or closed "
        "over; pass a copy"
    )


def copy_if_shared(x: Any, constant: bool = False) -> Any:
    """The array to donate: a copy if its buffer is shared, or is a constant of the program."""
    if not constant and not has_shared_buffer(x):
        return x
    return ExtendedArray(device_put.copy_of(x.base), x.dtype) if type(x) is ExtendedArray else device_put.copy_of(x)


def explain_buffer_error(error: Exception, name: str, leaves: Sequence[Any]) -> None:
    """Raise a clear error if XLA rejected a call because buffers of its arguments were donated or deleted.

    Raises:
      DeletedArrayError: an argument was donated, perhaps just now by another thread.
      ValueError: an argument is donated and also used otherwise in this call.
    """
    if not isinstance(error, XlaError) and status_of(error) != "INVALID_ARGUMENT":
        return
    for x in map(physical, leaves):
        if type(x) is Array:
            x._require_alive()
    if repeats_donated_buffer(error):
        raise _repeated(name) from None
