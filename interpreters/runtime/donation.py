"""Donation: arrays whose buffers a program may reuse for its results."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from primax.core.errors import XlaError
from primax.core.tree import tree_leaves
from primax.interpreters.runtime import device_put
from primax.interpreters.runtime.array import Array, Gone, deleted, has_owners, mark_shared
from primax.interpreters.runtime.extended_array import ExtendedArray, physical
from primax.interpreters.runtime.sharding.shardings import on_one_device

__all__ = [
    "Donation",
    "claimed",
    "donating_call",
    "is_constant",
    "must_copy",
    "refuse_buffers",
    "release",
    "shared",
    "spare",
]


class Donation(NamedTuple):
    """Which arguments of a function are donated.

    Attributes:
      name: the name of the function.
      flags: a function from the arguments of a call, `(args, kwargs)`, to a bool for each flat argument.
      given: a function from the same to the leaves that are donated.
    """

    name: str
    flags: Callable[[tuple[Any, ...], dict[str, Any]], tuple[bool, ...]]
    given: Callable[[tuple[Any, ...], dict[str, Any]], list[Any]]


def donating_call(dispatched: Callable[..., Any], miss: Callable[..., Any], donation: Donation) -> Callable[..., Any]:
    """A function that marks donated arrays as gone, and donates copies of arrays whose buffers have several owners.

    Args:
      dispatched: the function with these arguments.
      miss: the same without jaxlib's dispatcher, which donates constants too; the first of its results is that of the
        function.
      donation: the donated arguments.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        given = donation.given(args, kwargs)
        copies = must_copy(donation.name, given, (args, kwargs))
        with claimed(given, donation.name):
            try:
                out = miss(*args, **kwargs)[0] if copies else dispatched(*args, **kwargs)
            except (ValueError, XlaError) as error:
                refuse_buffers(error, donation.name, tree_leaves((args, kwargs)))
                raise
            release(given, donation.name)
        return out

    return call


_claimed: set[int] = set()
_claiming = threading.Lock()


@contextmanager
def claimed(given: Iterable[Any], name: str) -> Iterator[None]:
    """Prevent other threads from donating the same arrays to programs over several devices: jaxlib would crash.

    Raises:
      DeletedArrayError: an array was donated, or another thread donates it now.
    """
    arrays = [x for x in map(physical, given) if type(x) is Array]
    if all(on_one_device(x._b._sharding) for x in arrays):
        yield
        return
    with _claiming:
        buffers = [x._b for x in arrays]
        for b in buffers:
            if id(b) in _claimed:
                raise deleted(Gone(b, deletion_reason(name)))
            if b.is_deleted():
                raise deleted(b)
        own = set(map(id, buffers))
        _claimed.update(own)
    try:
        yield
    finally:
        with _claiming:
            _claimed.difference_update(own)


def deletion_reason(name: str) -> str:
    """What messages tell of an array that was donated to the program of this name."""
    return f"was donated to {name} (donate_argnums)"


def release(given: Sequence[Any], name: str, passed: Sequence[Any] | None = None) -> None:
    """Mark donated arrays as gone if the program has taken their buffers.

    Args:
      given: the arguments that were donated.
      name: the name of the program.
      passed: the arrays that were passed instead, if some were copied.
    """
    for x, taken in zip(given, given if passed is None else passed, strict=True):
        if type(x) is ExtendedArray:
            x, taken = x.base, taken.base
        if type(x) is Array and type(x._b) is not Gone and taken._b.is_deleted():
            x._let_go(deletion_reason(name))


def is_constant(x: Any) -> bool:
    """Whether the buffer of an array is a constant of a compiled program, or is shared by another array."""
    x = physical(x)
    return type(x) is Array and has_owners(x._b)


def shared(x: Array) -> Array:
    """Mark an array whose buffer is shared; a donation then copies it."""
    mark_shared(x._b)
    return x


def must_copy(name: str, given: Iterable[Any], arguments: Any) -> bool:
    """Whether a donated array must be copied first, since its buffer has several owners.

    Args:
      name: the name of the program.
      given: the donated arguments, flat.
      arguments: all arguments, a tree.

    Raises:
      ValueError: an array on several devices is donated and is also another argument; jaxlib would abort.
    """
    owned = several = False
    for x in given:
        if type(x) is ExtendedArray:
            x = x.base
        if type(x) is Array:
            owned = owned or has_owners(x._b)
            several = several or not on_one_device(x._b._sharding)
    if several:
        counts = Counter(id(x._b) for x in map(physical, tree_leaves(arguments)) if type(x) is Array)
        if any(counts[id(x._b)] > 1 for x in map(physical, given) if type(x) is Array):
            raise _repeated(name)
    return owned


def _repeated(name: str) -> ValueError:
    return ValueError(
        f"{name}: an array that is donated (donate_argnums) must not be another argument of the same call, or closed "
        "over; pass a copy"
    )


def spare(x: Any, constant: bool = False) -> Any:
    """The array to donate: a copy if its buffer is shared."""
    if not constant and not is_constant(x):
        return x
    return ExtendedArray(device_put.copy_of(x.base), x.dtype) if type(x) is ExtendedArray else device_put.copy_of(x)


def refuse_buffers(error: Exception, name: str, leaves: Sequence[Any]) -> None:
    """Raise a clear error if XLA rejected a call because buffers of its arguments were donated or deleted.

    Raises:
      DeletedArrayError: an argument was donated, perhaps just now by another thread.
      ValueError: an argument is donated and also used otherwise in this call.
    """
    text = str(error)
    if not isinstance(error, XlaError) and not text.startswith("INVALID_ARGUMENT"):
        return
    for x in map(physical, leaves):
        if type(x) is Array:
            x._alive()
    if "the same call to Execute()" in text:
        raise _repeated(name) from None
