"""The difference between results of primax and jax: in structure, kind, shape, dtype, weak type or value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import jax
import numpy as np

import primax as px

# The relative tolerance by the dtype of a result; a narrower dtype of the input has precedence (see `tolerance`).
TOLERANCES = {
    "float64": 1e-9,
    "complex128": 1e-9,
    "float32": 2e-5,
    "complex64": 2e-5,
    "float16": 4e-3,
    "bfloat16": 3e-2,
}
NARROW = 0.3  # floats of 8 bits or fewer


@dataclass(frozen=True)
class Difference:
    """A difference between two results.

    Args:
      sort: what differs.
      message: a sentence, which names the first element that differs.
      at: the path of the leaf in nested tuples and other containers.
      mine: primax's array, if elements of arrays differ.
      other: that of jax.
    """

    sort: str
    message: str
    at: tuple[Any, ...] = ()
    mine: np.ndarray | None = field(default=None, compare=False, repr=False)
    other: np.ndarray | None = field(default=None, compare=False, repr=False)

    def where(self) -> np.ndarray:
        """Which elements of the arrays differ."""
        assert self.mine is not None
        assert self.other is not None
        return ~close(self.mine, self.other, tolerance(self.mine.dtype))

    def sentences(self) -> list[str]:
        """A sentence such as the message for each element that differs; the message alone if there are no arrays."""
        if self.mine is None or self.other is None:
            return [self.message]
        places = [tuple(map(int, place)) for place in np.argwhere(self.where())]
        return [_said(self.mine, self.other, place) for place in places] or [self.message]


def tolerance(dtype: np.dtype) -> float:
    """The allowed difference between values of a dtype, relative to their size."""
    if dtype.kind not in "fcV" and dtype.name not in TOLERANCES:
        return 0.0
    return TOLERANCES.get(dtype.name, NARROW)


def difference(mine: Any, other: Any, at: tuple[Any, ...] = (), slack: float = 1.0) -> Difference | None:
    """The first difference of two results, or None."""
    if isinstance(mine, px.Array) or isinstance(other, jax.Array):
        return _arrays(mine, other, at, slack)
    if isinstance(mine, np.ndarray | np.generic) or isinstance(other, np.ndarray | np.generic):
        return _numpy(mine, other, at, slack)
    if _class(mine) != _class(other) and _name(mine) != _name(other):
        return Difference("type", f"primax: {_name(mine)} {_short(mine)}, jax: {_name(other)} {_short(other)}", at)
    if isinstance(mine, Mapping):
        if list(mine) != list(other):
            return Difference("structure", f"primax has keys {list(mine)}, jax {list(other)}", at)
        return _first((mine[key], other[key], (*at, key)) for key in mine)
    if hasattr(mine, "_fields"):  # it may not be a sequence for its users
        return _first(((getattr(mine, name), getattr(other, name), (*at, name)) for name in mine._fields), slack)
    if isinstance(mine, tuple | list):
        if len(mine) != len(other):
            return Difference("structure", f"primax has {len(mine)} entries, jax {len(other)}", at)
        return _first(((a, b, (*at, i)) for i, (a, b) in enumerate(zip(mine, other, strict=True))), slack)
    return _others(mine, other, at)


def _first(triples: Any, slack: float = 1.0) -> Difference | None:
    found = (difference(mine, other, at, slack) for mine, other, at in triples)
    return next((one for one in found if one is not None), None)


def _class(value: Any) -> str:
    return type(value).__name__.lstrip("_")


def _name(value: Any) -> str:
    return "function" if callable(value) and not isinstance(value, type) else _class(value)


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) < 300 else text[:300] + "..."


def _others(mine: Any, other: Any, at: tuple[Any, ...]) -> Difference | None:
    if isinstance(mine, float | complex):
        return _values(np.asarray(mine), np.asarray(other), at, 1.0)
    if isinstance(mine, bool | int | str | bytes | np.dtype | slice | range | None):
        equal = mine == other
    elif isinstance(mine, ModuleType):
        equal = mine.__name__.partition(".")[2] == other.__name__.partition(".")[2]
    elif hasattr(mine, "shape") and hasattr(mine, "dtype"):
        equal = all(_attribute(mine, name) == _attribute(other, name) for name in ("shape", "dtype", "weak_type"))
    elif isinstance(mine, px.tree_util.PyTreeDef):
        equal = str(mine) == str(other)
    else:
        return None  # functions, programs and similar objects: only their types are compared
    return None if equal else Difference("value", f"primax: {_short(mine)}, jax: {_short(other)}", at)


def _attribute(value: Any, name: str) -> str:
    return str(getattr(value, name, None))


def _arrays(mine: Any, other: Any, at: tuple[Any, ...], slack: float) -> Difference | None:
    if not isinstance(mine, px.Array) or not isinstance(other, jax.Array):
        return Difference(
            "type", f"primax: {type(mine).__name__} {_short(mine)}, jax: {type(other).__name__} {_short(other)}", at
        )
    keys = "key<" in str(mine.dtype)
    for name in ("shape", "dtype") if keys else ("shape", "dtype", "weak_type"):
        ours, theirs = _attribute(mine, name), _attribute(other, name)
        if ours != theirs:
            what = f" ({mine.dtype})" if name == "weak_type" else ""
            return Difference(name.replace("_", " "), f"{name} of primax: {ours}, of jax: {theirs}{what}", at)
    if keys:
        mine, other = px.random.key_data(mine), jax.random.key_data(other)
    return _values(np.asarray(mine), np.asarray(other), at, slack)


def _numpy(mine: Any, other: Any, at: tuple[Any, ...], slack: float) -> Difference | None:
    if type(other).__name__ == "TypedNdArray":  # jax's wrapper of values that were returned unchanged
        other = np.asarray(other)
    if type(mine) is not type(other):
        return Difference(
            "type", f"primax: {type(mine).__name__} {_short(mine)}, jax: {type(other).__name__} {_short(other)}", at
        )
    for name in ("shape", "dtype"):
        if getattr(mine, name) != getattr(other, name):
            return Difference(name, f"{name} of primax: {getattr(mine, name)}, of jax: {getattr(other, name)}", at)
    if np.asarray(mine).dtype == object:  # devices; each package has its own
        ours, theirs = _short(np.asarray(mine).tolist()), _short(np.asarray(other).tolist())
        return None if ours == theirs else Difference("value", f"primax: {ours}, jax: {theirs}", at)
    return _values(np.asarray(mine), np.asarray(other), at, slack)


def _values(mine: np.ndarray, other: np.ndarray, at: tuple[Any, ...], slack: float) -> Difference | None:
    ok = close(mine, other, tolerance(mine.dtype) * slack)
    if ok.all():
        return None
    where = tuple(int(i) for i in np.argwhere(~ok)[0])
    count = f"{int((~ok).sum())} of {ok.size} differ, at {where} " if ok.ndim else ""
    sort = "nan" if mine.dtype.kind in "fcV" and _special(mine, other) else "value"
    return Difference(sort, f"{count}{_said(mine, other, where)}", at, mine, other)


def _said(mine: np.ndarray, other: np.ndarray, where: tuple[int, ...]) -> str:
    return f"primax: {_element(mine, where)}, jax: {_element(other, where)}"


def _element(values: np.ndarray, where: tuple[int, ...]) -> str:
    """An element of an array with its dtype, which NumPy leaves out of narrow ones."""
    shown = repr(values[where])
    return shown if "(" in shown else f"np.{values.dtype.name}({shown})"


def _special(mine: np.ndarray, other: np.ndarray) -> bool:
    return bool((np.isfinite(wide(mine)) != np.isfinite(wide(other))).any())


def wide(values: np.ndarray) -> np.ndarray:
    """The values in 64 bits, complex ones in 128."""
    return values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)


def close(mine: np.ndarray, other: np.ndarray, bound: float) -> np.ndarray:
    """Where two arrays of the same shape differ by at most `bound` relative to their size; NaN agrees with NaN."""
    if mine.dtype.kind not in "fcV" and not bound:
        return np.asarray(mine == other)
    if mine.dtype.kind == "V" and mine.dtype.names is not None:
        return np.asarray(mine == other)
    a, b = wide(mine), wide(other)
    if a.dtype.kind == "c":
        return _close_complex(a, b, bound)
    return _close_real(a, b, bound, np.abs(b))


def _close_complex(a: np.ndarray, b: np.ndarray, bound: float) -> np.ndarray:
    size = np.abs(b)
    both_nan = np.isnan(a) & np.isnan(b)  # which part of a complex NaN is NaN is not specified
    return both_nan | (_close_real(a.real, b.real, bound, size) & _close_real(a.imag, b.imag, bound, size))


def _close_real(a: np.ndarray, b: np.ndarray, bound: float, size: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        finite = np.abs(np.where(np.isfinite(b), b, 0))
        scale = np.maximum(np.where(np.isfinite(size), size, 0), finite.max(initial=0.0) * 1e-1)
        near = np.abs(a - b) <= bound * scale
        return np.asarray((a == b) | (np.isnan(a) & np.isnan(b)) | near)


Judge = Callable[[], Any]


def at_leaf(value: Any, at: tuple[Any, ...]) -> Any:
    """The leaf of a nested result at the path of a difference."""
    for step in at:
        value = getattr(value, step) if hasattr(type(value), "_fields") else value[step]
    return value


def is_numeric(dtype: np.dtype) -> bool:
    """Whether a dtype is of numbers or booleans, of NumPy or of ml_dtypes."""
    return dtype.kind in "biufc" or dtype.type.__module__ == "ml_dtypes"


def judged_right(mine: Any, other: Any, reference: Any) -> bool:
    """Whether primax's values that differ from jax's are no farther from the reference, apart from a few roundings.

    If jax has no values, `other` is None.
    """
    mine, reference = np.asarray(mine), np.asarray(reference)
    if mine.shape != reference.shape or not is_numeric(reference.dtype):
        return False
    bound = max(tolerance(mine.dtype), 0.0)
    a, r = wide(mine), wide(reference)
    with np.errstate(all="ignore"):
        r = (
            wide(reference.astype(mine.dtype)) if mine.dtype.kind in "fcV" else r
        )  # values that overflow the dtype are infinite
        away = np.zeros(()) if other is None else np.abs(wide(np.asarray(other)) - r)
        theirs = np.where(np.isfinite(away), away, 0).max(initial=0.0)
        scale = np.abs(np.where(np.isfinite(r), r, 0)).max(initial=0.0)
        near = np.abs(a - r) <= 4 * theirs + bound * scale
    same = (a == r) | (np.isnan(a) & np.isnan(r))
    if other is not None and np.shape(other) == mine.shape:  # the reference decides only where the two differ
        same |= close(mine, np.asarray(other), bound)
    return bool((same | near).all())
