"""The kinds of values of options: validation of Python values, and parsing of environment variables."""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from primax.core._jaxlib import Device

__all__ = ["ANY", "BOOL", "BYTES", "COUNT", "DEVICE", "HASHABLE", "Kind", "NAME", "NAMES", "PATH", "SECONDS", "choice"]

_WORDS = {
    **dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True),
    **dict.fromkeys(("0", "false", "f", "no", "n", "off"), False),
}


class Kind:
    """The allowed values of an option. Both functions raise ValueError or TypeError for other values.

    Attributes:
        allowed: a description of the values, for messages.
        check: converts a value to its stored form.
        parse: converts the text of an environment variable; by default `check`, with None for the empty text.
    """

    def __init__(self, allowed: str, check: Callable[[Any], Any], parse: Callable[[str], Any] | None = None):
        self.allowed = allowed
        self.check = check
        self.parse = parse or (lambda text: check(text or None))


def _bool(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise ValueError


def _bool_of_text(text: str) -> bool:
    if text.strip().lower() in _WORDS:
        return _WORDS[text.strip().lower()]
    raise ValueError


def _number(allowed: str, sort: type, least: int, convert: Callable[[Any], Any]) -> Kind:
    """Numbers, from the least one on; bools do not count."""

    def check(value: Any) -> Any:
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, sort) or not convert(value) >= least:
            raise ValueError
        return convert(value)

    return Kind(allowed, check, lambda text: check(convert(text)))


def _count(value: Any) -> int:
    found = BYTES.check(value)
    if found == 0:
        raise ValueError
    return int(found)


def _name(value: Any) -> str:
    if isinstance(value, str) and value:
        return value
    raise ValueError


def _names(value: Any) -> str | None:
    return None if value is None or value == "" else _name(value)


def _path(value: Any) -> str | None:
    return None if value is None else os.fsdecode(value)


def _device(value: Any) -> Any:
    return value if value is None or isinstance(value, Device) else _name(value)


def _hashable(value: Any) -> Any:
    hash(value)
    return value


def choice(*choices: str | None) -> Kind:
    """One of several texts, or of texts and None."""

    def check(value: Any) -> Any:
        if (value is None or isinstance(value, str)) and value in choices:
            return value
        raise ValueError

    return Kind(f"one of {', '.join(map(repr, choices))}", check)


BOOL = Kind("True or False", _bool, _bool_of_text)
SECONDS = _number("a number of seconds, zero or more", numbers.Real, 0, float)
BYTES = _number("a number of bytes, or -1 for any", numbers.Integral, -1, int)
COUNT = Kind("a positive integer, or -1 for as many as XLA_FLAGS says", _count, lambda text: _count(int(text)))
ANY = Kind("anything", lambda value: value, lambda text: text)
HASHABLE = Kind("hashable", _hashable)
NAME = Kind("a name", _name)
NAMES = Kind("names with commas between, or None", _names)
PATH = Kind("a path or None", _path)
DEVICE = Kind("one of primax.devices(), the name of a platform or None", _device)
