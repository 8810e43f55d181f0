"""Objects whose public attributes keep their first values: they have hashes, and equal ones may be the same object."""

from __future__ import annotations

from typing import Any, NoReturn

_assign = object.__setattr__


def refuse_assignment(x: Any, name: str) -> NoReturn:
    """Raise the error for a second value of an attribute.

    Raises:
      AttributeError: always.
    """
    kind = type(x).__name__
    raise AttributeError(f"{kind}.{name} cannot be assigned; make another {kind} instead")


class SetOnce:
    """A base class whose constructors assign each public attribute once; later assignments raise an error."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        if name[0] != "_" and hasattr(self, name):
            refuse_assignment(self, name)
        _assign(self, name, value)
