"""Objects whose public attributes keep their first values: they have hashes, and equal ones may be one object."""

from __future__ import annotations

from typing import Any

__all__ = ["SetOnce", "set_once"]


def set_once(x: Any, name: str, value: Any, is_set: bool) -> None:
    """Assign an attribute of an object.

    Raises:
      AttributeError: the attribute is public and has a value.
    """
    if is_set and not name.startswith("_"):
        kind = type(x).__name__
        raise AttributeError(f"{kind}.{name} cannot be assigned; make another {kind} instead")
    object.__setattr__(x, name, value)


class SetOnce:
    """A base class whose constructors assign each public attribute once; later assignments raise an error."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        set_once(self, name, value, hasattr(self, name))
