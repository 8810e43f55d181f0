"""Forms of arrays: the properties of an argument on which a compiled program depends."""

from __future__ import annotations

from typing import Any

from primax.core.cache import Cache
from primax.interpreters.runtime.array import Array

__all__ = ["Form", "form_of"]


class Form:
    """The type of an array, its sharding, and whether it is committed.

    Forms are compared by identity. Arrays with the same properties have the same form, unless thousands of other forms
    were used in between.
    """

    __slots__ = ("aval", "committed", "sharding")

    def __init__(self, aval: Any, sharding: Any, committed: bool) -> None:
        self.aval = aval
        self.sharding = sharding
        self.committed = committed


_forms = Cache(4096)


def form(aval: Any, sharding: Any, committed: bool) -> Form:
    """The form with these properties."""
    return _forms.get_or_make((aval, sharding, committed), lambda: Form(aval, sharding, committed))  # type: ignore[no-any-return]


def form_of(x: Array) -> Form | None:
    """The form of an array, which the array keeps; None if it was deleted or donated."""
    try:
        return x._form  # type: ignore[no-any-return]
    except AttributeError:
        b = x._b
        found = x._form = None if b.is_deleted() else form(b.aval, b._sharding, b._committed)
        return found
