"""Python's operators on arrays and tracers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

from primax.extend import dtypes, hookimpl
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import name_of
from primax.extend.provisional.avals import ExtendedArray, unwrap
from primax.numpy import (
    at,
    conversion,
    division,
    indexing,
    joining,
    linear,
    namespace,
    rearranging,
    reductions,
    rounding,
    scans,
    searching,
    shaping,
    sorting,
    statistics,
    taking,
    triangles,
    ufuncs,
)
from primax.numpy.conversion import read_dtype
from primax.numpy.promotion import foreign, scalar_in
from primax.plugins import arithmetic, bitwise, comparison, structural

Operator = Callable[[Any, Any], Any]

# Operators that Python's containers have too, and the methods by which a subclass overrides them.
_MEANT_OTHERWISE = {
    ufuncs.equal: ("__eq__",),
    ufuncs.not_equal: ("__ne__", "__eq__"),
    ufuncs.multiply: ("__rmul__",),
}
_CONTAINERS = (list, tuple, set, dict)

_BOOL = np.dtype(np.bool_)


def _direct(primitive: Any, function: Operator, accepts: Any = None, refused: Any = None) -> tuple[Operator, Operator]:
    """An operator and its reflection.

    Two arrays of the same type, or an array and a Python scalar that takes its dtype, are passed to the primitive at
    once.

    Args:
      primitive: an elementwise primitive of two operands.
      function: the function for other operands, which promotes and broadcasts.
      accepts: a predicate of dtypes: whether the primitive implements the operator; None if it does for all dtypes.
      refused: the only dtype for which the primitive does not implement the operator.
    """

    def forward(x: Any, y: Any) -> Array:
        kind = type(y)
        if kind is Array:
            if type(x) is Array:
                a, b = x._b.aval, y._b.aval
                same = (a is b or (a.dtype is b.dtype and a.shape == b.shape)) and a.dtype is not refused
                if same and (accepts is None or accepts(a.dtype)):
                    return primitive.bind(x, y)
        elif kind is float or kind is int:
            aval = x.aval
            scalar = scalar_in(aval, y)
            if scalar is not None and (accepts is None or accepts(aval.dtype)):
                return primitive.bind(x, scalar)
        elif kind is type(x):
            a, b = x.aval, y.aval
            same = (a is b or (a.dtype is b.dtype and a.shape == b.shape)) and a.dtype is not refused
            if same and (accepts is None or accepts(a.dtype)):
                return primitive.bind(x, y)
        if foreign(y):
            return _leave(function, y)
        return function(x, unwrap(y))

    def reflected(x: Any, y: Any) -> Array:
        kind = type(y)
        if kind is float or kind is int:
            aval = x.aval
            scalar = scalar_in(aval, y)
            if scalar is not None and (accepts is None or accepts(aval.dtype)):
                return primitive.bind(scalar, x)
        if foreign(y):
            return _leave(function, y)
        return function(unwrap(y), x)

    return forward, reflected


def _leave(function: Operator, y: Any) -> Array:
    """The result of an operator for an operand that is not an array: `NotImplemented`, so that its class may answer.

    Raises:
      TypeError: the operand is a Python container, which would be repeated, or would be unequal to every array.
    """
    if function in _MEANT_OTHERWISE and _is_plain(y, _MEANT_OTHERWISE[function]):
        raise TypeError(
            f"{name_of(function)}: operands must be arrays or numbers, got a {type(y).__name__}; "
            "make it an array by asarray"
        )
    return NotImplemented


def _is_plain(y: Any, methods: tuple[str, ...]) -> bool:
    """Whether a value is a Python container whose class does not define one of the methods itself."""
    for container in _CONTAINERS:
        if isinstance(y, container):
            return all(getattr(type(y), name, None) is getattr(container, name, None) for name in methods)
    return False


def _promoting(function: Operator) -> tuple[Operator, Operator]:
    """An operator that promotes its operands first, and its reflection."""

    def forward(x: Any, y: Any) -> Array:
        return _leave(function, y) if foreign(y) else function(x, unwrap(y))

    def reflected(x: Any, y: Any) -> Array:
        return _leave(function, y) if foreign(y) else function(unwrap(y), x)

    return forward, reflected


def _power(x: Any, y: Any) -> Array:
    if type(y) is int and dtypes.is_inexact(x.aval.dtype):
        return arithmetic.integer_pow_p.bind(x, y=y)
    return _leave(division.power, y) if foreign(y) else division.power(x, unwrap(y))


def _length(x: Any) -> int:
    shape = x.aval.shape
    if not shape:
        raise TypeError(f"len() needs an array with an axis, got {x.aval.str_short()}")
    return int(shape[0])


def _contains(x: Any, value: Any) -> bool:
    """Whether a vector has a number as an element."""
    if isinstance(value, list | tuple | set | dict | str) or foreign(value):
        raise TypeError(f"in: the left operand must be an array or a number, got {type(value).__name__}")
    if x.ndim != 1:
        raise ValueError(f"in: the right operand must be an array of rank 1, got {x.aval.str_short()}")
    if get_aval(value).shape:
        raise ValueError(f"in: the left operand must be of rank 0, got {get_aval(value).str_short()}")
    return bool(reductions.any(ufuncs.equal(x, unwrap(value))))


def _is_real(dtype: Any) -> bool:
    return not dtypes.is_complex(dtype)


def _byte_count(x: Any) -> int:
    """The number of elements times the size of one in bytes."""
    return int(x.aval.size * x.aval.dtype.itemsize)


def _item_size(x: Any) -> int:
    """The size of an element in bytes."""
    return int(x.aval.dtype.itemsize)


def _item(x: Any, *args: Any) -> Array:
    """The value as a Python scalar; with arguments, the value of one element."""
    if type(x) is ExtendedArray:
        return x.__array__()
    return x._host("item").item(*args)


def _view(x: Any, dtype: Any = None, type: None = None) -> Array:
    """Reinterpret the bits of an array as another dtype; `type` must be None."""
    if type is not None:
        raise NotImplementedError(f"view: type must be None, got {type!r}")
    if dtype is None:
        return x
    new_dtype = read_dtype(dtype, "view")
    if x.dtype == new_dtype:
        return x
    old_bits, new_bits = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(new_dtype)
    if not x.ndim and old_bits != new_bits:
        raise ValueError(f"view: dtype must be as wide as that of an array of rank 0, got {new_dtype} for {x.dtype}")
    if old_bits < new_bits and x.shape[-1] * old_bits % new_bits:
        raise ValueError(
            f"view: the last axis of the array must hold whole elements of dtype, of {new_bits} bits each, "
            f"got {new_dtype} for {x.shape[-1]} elements of {old_bits} bits"
        )
    if not x.ndim:
        return _bits_as(x.reshape((1,)), new_dtype).reshape(())
    return _bits_as(x, new_dtype)


def _bits_as(x: Any, dtype: Any) -> Array:
    """Reinterpret rows as another dtype. Booleans are bytes, complex numbers are pairs of floats."""
    if x.dtype == dtype:
        return x
    if dtypes.is_bool(x.dtype):
        return _bits_as(x.astype(np.uint8), dtype)
    if dtypes.is_bool(dtype):
        return _bits_as(x, np.dtype(np.uint8)) != 0
    if dtypes.is_complex(x.dtype):
        return _bits_as(joining.stack([x.real, x.imag], -1).reshape((*x.shape[:-1], -1)), dtype)
    if dtypes.is_complex(dtype):
        floats = _bits_as(x, dtypes.finfo(dtype).dtype)
        pairs = floats.reshape((*floats.shape[:-1], -1, 2))
        return arithmetic.complex_p.bind(pairs[..., 0], pairs[..., 1])
    old_bits, new_bits = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(dtype)
    if new_bits > old_bits:
        x = x.reshape((*x.shape[:-1], -1, new_bits // old_bits))
    out = structural.bitcast_convert_type(x, dtype)
    return out.reshape((*out.shape[:-2], -1)) if new_bits < old_bits else out


def _byteswap(x: Any) -> Array:
    """Reverse the bytes of each element; of complex numbers, those of each part."""
    if dtypes.is_complex(x.dtype):
        return arithmetic.complex_p.bind(_byteswap(ufuncs.real(x)), _byteswap(ufuncs.imag(x)))
    if dtypes.itemsize_bits(x.dtype) <= 8:
        return x
    parts = structural.bitcast_convert_type(x, np.uint8)
    return structural.bitcast_convert_type(rearranging.flip(parts, -1), x.dtype)


def _astype(x: Any, dtype: Any, copy: bool = False, device: Any = None) -> Array:
    """Convert an array to another dtype; the method takes all its arguments by position or by name."""
    return shaping.astype(x, dtype, copy=copy, device=device)


def _flat(x: Any) -> Iterator[Any]:
    """An iterator over the elements, the last axis fastest."""
    return indexing.iterate(shaping.ravel(x))


def _compress(x: Any, condition: Any, axis: int | None = None, **options: Any) -> Array:
    """The slices along an axis for which `condition` is true; see `primax.numpy.compress`."""
    return taking.compress(condition, x, axis, **options)


def _references() -> Any:
    """The plugin of references; few programs need it."""
    return import_module("primax.plugins.state.ref")


def _getitem(x: Any, index: Any) -> Any:
    if x.aval.mutable:
        return _references().get(x, index)
    return indexing.getitem(x, index)


def _setitem(x: Any, index: Any, value: Any) -> None:
    _references().set(x, index, value)


def _iterate(x: Any) -> Iterator[Any]:
    return indexing.iterate(_references().get(x) if x.aval.mutable else x)


def _at(x: Any) -> Any:
    """Updates of elements: `x.at[index].set(y)` returns a changed copy."""
    return _references().At(x, ()) if x.aval.mutable else at.At(x)


OPERATORS: dict[str, Any] = {
    "pow": _power,
    "neg": ufuncs.negative,
    "pos": ufuncs.positive,
    "abs": ufuncs.absolute,
    "invert": ufuncs.invert,
    "array_namespace": namespace.array_namespace,
    "contains": _contains,
    "len": _length,
    "builtin_round": rounding.round_,
    "round": rounding.round,
    "at": _at,
    "getitem": _getitem,
    "setitem": _setitem,
    "iter": _iterate,
    "all": reductions.all,
    "any": reductions.any,
    "argmax": reductions.argmax,
    "argmin": reductions.argmin,
    "argpartition": sorting.argpartition,
    "argsort": sorting.argsort,
    "astype": _astype,
    "byteswap": _byteswap,
    "choose": taking.choose,
    "clip": rounding.clip,
    "compress": _compress,
    "conj": ufuncs.conjugate,
    "conjugate": ufuncs.conjugate,
    "copy": conversion.copy,
    "cumprod": scans.cumprod,
    "cumsum": scans.cumsum,
    "diagonal": triangles.diagonal,
    "dot": linear.dot,
    "flatten": shaping.ravel,
    "item": _item,
    "max": reductions.max,
    "mean": statistics.mean,
    "min": reductions.min,
    "nonzero": searching.nonzero,
    "prod": reductions.prod,
    "ptp": reductions.ptp,
    "ravel": shaping.ravel,
    "repeat": rearranging.repeat,
    "reshape": shaping.reshape_method,
    "searchsorted": sorting.searchsorted,
    "sort": sorting.sort,
    "squeeze": shaping.squeeze,
    "std": statistics.std,
    "sum": reductions.sum,
    "swapaxes": shaping.swapaxes,
    "to_device": namespace.to_device,
    "take": taking.take,
    "trace": triangles.trace,
    "transpose": shaping.transpose_method,
    "var": statistics.var,
    "view": _view,
    "T": shaping.transpose,
    "mT": shaping.matrix_transpose,
    "real": ufuncs.real,
    "imag": ufuncs.imag,
    "flat": _flat,
    "nbytes": _byte_count,
    "itemsize": _item_size,
}

for _name, _primitive, _function, _accepts, _refused in (
    ("add", arithmetic.add_p, ufuncs.add, None, _BOOL),
    ("sub", arithmetic.sub_p, ufuncs.subtract, None, None),
    ("mul", arithmetic.mul_p, ufuncs.multiply, None, _BOOL),
    ("truediv", arithmetic.div_p, ufuncs.divide, dtypes.is_inexact, None),
    ("and", bitwise.and_p, ufuncs.bitwise_and, None, None),
    ("or", bitwise.or_p, ufuncs.bitwise_or, None, None),
    ("xor", bitwise.xor_p, ufuncs.bitwise_xor, None, None),
):
    OPERATORS[_name], OPERATORS["r" + _name] = _direct(_primitive, _function, _accepts, _refused)

_comparisons: tuple[tuple[str, Any, Operator, Any], ...] = (
    ("eq", comparison.eq_p, ufuncs.equal, None),
    ("ne", comparison.ne_p, ufuncs.not_equal, None),
    ("lt", comparison.lt_p, ufuncs.less, _is_real),
    ("le", comparison.le_p, ufuncs.less_equal, _is_real),
    ("gt", comparison.gt_p, ufuncs.greater, _is_real),
    ("ge", comparison.ge_p, ufuncs.greater_equal, _is_real),
)
for _name, _primitive, _operator, _accepts in _comparisons:
    OPERATORS[_name], _ = _direct(_primitive, _operator, _accepts)

_named: tuple[tuple[str, Operator], ...] = (
    ("floordiv", division.floor_divide),
    ("mod", division.remainder),
    ("divmod", division.divmod),
    ("lshift", ufuncs.left_shift),
    ("rshift", ufuncs.right_shift),
    ("pow", division.power),
    ("matmul", linear.matmul),
)
for _name, _operator in _named:
    _forward, OPERATORS["r" + _name] = _promoting(_operator)
    OPERATORS.setdefault(_name, _forward)


@hookimpl
def primax_register(registry: Any) -> None:
    registry.operators(**OPERATORS)
