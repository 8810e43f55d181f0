"""Signatures of arrays: the properties of an argument on which a compiled program depends."""

from __future__ import annotations

from typing import Any

from primax.core.cache import Cache
from primax.interpreters.runtime.array import Array


class ArgSignature:
    """The type of an array, its sharding, and whether it is committed.

    Signatures are compared by identity. Arrays with the same properties have the same signature, unless thousands of
    others were used in between.
    """

    __slots__ = ("aval", "committed", "sharding")

    def __init__(self, aval: Any, sharding: Any, committed: bool) -> None:
        self.aval = aval
        self.sharding = sharding
        self.committed = committed


_signatures = Cache(4096)


def interned(aval: Any, sharding: Any, committed: bool) -> ArgSignature:
    """The signature with these properties."""
    key = aval, sharding, committed
    signature: ArgSignature | None = _signatures.get(key)
    return _signatures.get_or_make(key, lambda: ArgSignature(*key)) if signature is None else signature


def arg_signature(x: Array) -> ArgSignature | None:
    """The signature of an array, which the array keeps; None if it was deleted or donated."""
    try:
        return x._signature  # type: ignore[no-any-return]
    except AttributeError:
        b = x._b
        signature = x._signature = None if b.is_deleted() else interned(b.aval, b._sharding, b._committed)
        return signature
