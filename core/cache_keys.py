"""Cache keys that distinguish values that are equal but not the same, such as 1 and True, or 0.0 and -0.0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import partial
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from primax.core._jaxlib import PjitFunction, pytree


def params_key(params: dict[str, Any]) -> Any:
    """A key that distinguishes the parameters of a primitive in caches.

    It depends on the order of the names. A value without a hash raises an error where the key is used.
    """
    values = params.values()
    kinds = tuple(map(type, values))
    if kinds in _plain:
        return (*params, *values), kinds
    if kinds in _plain_except_tuples:
        for x in values:
            if type(x) is tuple and _nested.get(id(x)) is not x and not _unlike_others(map(type, x)):
                if not _has_distinct_kinds(x):
                    break
                if len(_nested) >= _MOST:
                    _nested.clear()
                _nested[id(x)] = x  # tuples that programs bind again, such as dimension numbers, are examined once
        else:
            return (*params, *values), kinds
    read = tuple(map(exact, values))
    if all(kind is tuple or _readers.get(kind, exact) is None for kind in kinds):
        known = _plain_except_tuples if tuple in kinds else _plain
        if len(known) >= _MOST:
            known.clear()
        known.add(kinds)
    return (*params, *read), kinds


def exact(x: Any) -> Any:
    """A key for a value. Two values of the same type with equal keys are the same value.

    This holds for numbers inside tuples, sets and dataclasses, too. Values of other types are the same if they are
    equal.
    """
    kind = type(x)
    if kind not in _readers:
        if len(_readers) >= _MOST:
            _readers.clear()
        _readers[kind] = _reader(kind, x)
    read = _readers[kind]
    return x if read is None else read(x)


def equal_is_same(x: Any) -> bool:
    """Whether all equal values of the same type are exactly the same value; False for 0.0, which equals -0.0."""
    kind = type(x)
    if kind is tuple:
        return _has_distinct_kinds(x)
    if kind is float or kind is complex:
        return bool(x.real != 0 and (kind is float or x.imag != 0))
    return exact(x) is x


# Values of two different types in this set are never equal.
_UNLIKE_OTHERS = frozenset({int, str, type(None), FunctionType, BuiltinFunctionType, pytree.PyTreeDef, PjitFunction})
_unlike_others = _UNLIKE_OTHERS.issuperset
_MOST = 4096
# Tuples of the types of parameters that need no other keys than types and `==`; for the second set,
# `_has_distinct_kinds` must hold for each parameter that is a tuple.
_plain: set[tuple[type, ...]] = set()
_plain_except_tuples: set[tuple[type, ...]] = set()
_nested: dict[int, tuple[Any, ...]] = {}  # tuples for which `_has_distinct_kinds` holds, by identity
_readers: dict[type, Callable[[Any], Any] | None] = {}


def _reader(kind: type, x: Any) -> Callable[[Any], Any] | None:
    """The function that makes the keys of values of a type; None if `==` suffices for them."""
    if issubclass(kind, tuple):
        return _of_tuple
    if issubclass(kind, np.generic):
        return _of_numpy_scalar
    if issubclass(kind, float):
        return _of_float
    if issubclass(kind, complex):
        return _of_complex
    if issubclass(kind, frozenset):
        return _of_set
    if is_dataclass(kind) and _is_generated(kind.__eq__) and _is_generated(kind.__hash__):
        return _of_dataclass
    return None


def _is_generated(method: Any) -> bool:
    """Whether `dataclass` generated a method. A method of the author defines its own equality."""
    return getattr(getattr(method, "__code__", None), "co_filename", "") == "<string>"


def _has_distinct_kinds(x: tuple[Any, ...]) -> bool:
    """Whether a tuple has only values of `_UNLIKE_OTHERS` types, partial functions, and such tuples."""
    for value in x:
        kind = type(value)
        if kind is tuple:
            if not _has_distinct_kinds(value):
                return False
        elif kind not in _UNLIKE_OTHERS and not (issubclass(kind, partial) and kind.__eq__ == object.__eq__):
            return False
    return True


def _of_tuple(x: tuple[Any, ...]) -> Any:
    kinds: list[Any] = []
    if type(x) is tuple and _differ_by_kind(x, kinds):
        return tuple(kinds), x
    return type(x), tuple([(type(value), exact(value)) for value in x])


def _differ_by_kind(x: tuple[Any, ...], kinds: list[Any]) -> bool:
    """Whether the types and the signs of zeros in a tuple, appended to `kinds`, distinguish it from equal tuples."""
    for value in x:
        kind = type(value)
        kinds.append(kind)
        if kind is tuple:
            if not _differ_by_kind(value, kinds):
                return False
        elif kind is float:
            if value != value:
                return False  # NaN equals no value
            if value == 0:
                kinds.append(float.__repr__(value))
        else:
            if kind not in _readers:
                exact(value)
            if _readers.get(kind, exact) is not None:
                return False
    return True


def _of_numpy_scalar(x: np.generic) -> Any:
    return type(x), x.dtype, x.tobytes()


def _of_float(x: float) -> Any:
    return type(x), float.__repr__(x)


def _of_complex(x: complex) -> Any:
    return type(x), complex.__repr__(x)


def _of_set(x: frozenset[Any]) -> Any:
    return type(x), frozenset([(type(value), exact(value)) for value in x])


def _of_dataclass(x: Any) -> Any:
    return type(x), tuple(
        [(type(value), exact(value)) for value in (getattr(x, f.name) for f in fields(x) if f.compare)]
    )


def is_hashable(x: Any) -> bool:
    """Whether a value can be a key."""
    try:
        hash(x)
    except TypeError:
        return False
    return True
