"""Preparation of operands: checks, promotion to one dtype, and broadcasting."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray, ShapeError, Tracer, current_trace, get_aval
from primax.extend.interpreters import ad
from primax.extend.provisional import runtime
from primax.extend.provisional.arguments import incompatible_shapes, integers, listed, naming, of_call
from primax.extend.provisional.avals import array_of, has_extended_dtype
from primax.plugins.comparison import ne_p
from primax.plugins.structural import broadcast_in_dim_p, convert_element_type_p, warn_if_real

_PYTHON_SCALARS = (int, float, bool, complex)
_NUMBERS = (int, float)
_BOOL = np.dtype(np.bool_)
_EXACT_INT = 2**24
_MIN_INT, _MAX_INT = -(2**31), 2**31 - 1

_foreign: dict[type, bool] = dict.fromkeys((Array, np.ndarray, int, float, bool, complex), False)


def foreign(x: Any) -> bool:
    """Whether operators should leave an operation to the class of `x`."""
    kind = type(x)
    is_foreign = _foreign.get(kind)
    if is_foreign is None:
        try:
            get_aval(x)
            is_foreign = False
        except TypeError:
            is_foreign = not isinstance(x, np.number)  # such as longdouble, with which results would be NumPy's
        if not is_foreign:
            _foreign[kind] = False
    return is_foreign


def aval_of(function: str, x: Any, argument: Any = None) -> ShapedArray:
    """The type of an argument of a function.

    Raises:
      TypeError: the argument is neither an array nor a number.
      ValueError: the argument is a masked array.
      OverflowError: the argument is an int that the default int dtype cannot hold.
    """
    try:
        aval = get_aval(x)
    except (TypeError, ValueError, OverflowError) as error:
        which = _place(argument)
        if isinstance(error, OverflowError):
            raise OverflowError(f"{function}: {which}: {error}") from None
        if isinstance(error, ValueError):
            raise ValueError(f"{function}: {which} must be an array or a number: {error}") from None
        hint = "; make it an array with asarray" if isinstance(x, list | tuple) else ""
        if isinstance(x, ad.Zero):
            hint = f": {error}"
        raise TypeError(f"{function}: {which} must be an array or a number, got {_describe(x)}{hint}") from None
    if aval.composite:
        kind = type(aval)
        raise TypeError(
            f"{function}: {_place(argument)} must be an array or a number, got a value of type {aval.str_short()}; the "
            f"package of {kind.__name__}, {kind.__module__}, has functions for it"
        )
    if aval.mutable:
        which = _place(argument)
        raise TypeError(f"{function}: {which} must be an array or a number, got a reference; read it by ref[...]")
    return aval


def _place(argument: Any) -> str:
    """The name of an argument in messages."""
    return "its argument" if argument is None else argument if isinstance(argument, str) else f"argument {argument}"


def number_aval(function: str, x: Any) -> ShapedArray:
    """`aval_of` the argument of a function that is not defined for extended dtypes.

    Raises:
      TypeError: the argument is not an array of numbers or booleans.
    """
    aval = aval_of(function, x)
    if has_extended_dtype(aval):
        hint = dtypes.instead_of_arithmetic(aval.dtype)
        raise TypeError(
            f"{function}: its argument must be an array of numbers or booleans, got {aval.str_short()}{hint}"
        )
    return aval


def host_values(x: Any) -> np.ndarray:
    """The elements of an array that is not traced, on the host.

    Raises:
      TypeError: `x` has a shape and no values.
      MemoryError: the elements do not fit into memory, for example those of a broadcast NumPy array.
    """
    return np.asarray(runtime.on_host(x), order="C")


def _describe(x: Any) -> str:
    if isinstance(x, np.ndarray | np.generic):
        return f"a NumPy array of dtype {x.dtype}"
    return type(x).__name__


_makers: dict[tuple[Any, type], Any] = {}


def scalar_in(aval: Any, scalar: Any) -> float | None:
    """Convert a Python scalar to its partner's dtype; None if the two promote to another dtype.

    In programs the result is a NumPy scalar, which has a dtype. Outside of tracing it is the Python scalar, which is
    transferred fastest.
    """
    weak = aval.weak_type
    if weak or not current_trace().tracing:
        own = dtypes.python_scalar_dtypes
        if own[type(scalar)] == aval.dtype and (weak or type(scalar) is float or _MIN_INT <= scalar <= _MAX_INT):
            return scalar
        if type(scalar) is int and aval.dtype == own[float] and -_EXACT_INT <= scalar <= _EXACT_INT:
            return float(scalar)
        if weak:
            return None
    key = (aval.dtype, type(scalar))
    make = _makers.get(key)
    if make is None:
        make = _makers[key] = _maker(*key)
    try:
        return make(scalar)
    except OverflowError:
        return None


def _nothing(scalar: Any) -> None:
    return None


def _maker(dtype: Any, kind: type) -> Callable[[Any], Any]:
    with core.config.enable_x64(True):
        make = _wide_maker(dtype, kind)
    if make is _nothing or dtype not in dtypes.NARROWED:
        return make
    return lambda scalar: make(scalar) if core.config.enable_x64.value else None


def _wide_maker(dtype: Any, kind: type) -> Callable[[Any], Any]:
    if not isinstance(dtype, np.dtype) or dtypes.result_type(ShapedArray((), dtype), kind) != dtype:
        return _nothing
    if kind is int and dtypes.is_integer(dtype):
        return lambda scalar: _wrapped(scalar, dtype)
    return dtype.type


def _wrapped(scalar: int, dtype: Any) -> Any:
    """Convert an int to an integer dtype; an int out of range, but in the default dtype's range, wraps around."""
    try:
        return dtype.type(scalar)
    except OverflowError:
        return np.asarray(scalar, dtypes.scalar_dtype(scalar)).astype(dtype)[()]


def convert(x: Any, aval: Any, dtype: Any, weak: bool = False) -> Array:
    """Convert a value of type `aval` to another dtype; NumPy converts host values, an equation converts arrays."""
    if aval.dtype == dtype:
        return x
    kind = type(x)
    if not dtypes.is_canonical(dtype) and (kind in _PYTHON_SCALARS or isinstance(x, np.ndarray | np.generic)):
        return array_of(x, ShapedArray(aval.shape, dtype, weak))  # conversion would narrow a host value
    if kind in _PYTHON_SCALARS and dtypes.is_numeric(dtype):
        if weak and not (kind is float and dtypes.is_integer(dtype) and not math.isfinite(x)):
            return dtypes.scalar_type_of(dtype)(x)
        if kind is int and dtypes.is_integer(dtype):
            return _wrapped(x, dtype)
        if kind is not complex or dtypes.is_complex(dtype):
            try:
                return dtype.type(x)
            except (OverflowError, ValueError):  # a float that is no integer's value; XLA takes the nearest
                return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak)
    on_host = not weak and isinstance(x, np.ndarray | np.generic)
    if on_host and isinstance(dtype, np.dtype) and _converts_as_numpy(aval.dtype, dtype):
        if aval.dtype == dtypes.float0:
            raise TypeError(f"arithmetic is not defined for values of dtype float0{of_call()}")
        return np.asarray(x).astype(aval.dtype).astype(dtype)  # type: ignore[return-value]
    if dtypes.is_complex(aval.dtype):
        warn_if_real(dtype)
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak)


def _converts_as_numpy(before: Any, after: Any) -> bool:
    """Whether NumPy converts numbers as XLA does; its results differ for floats that an integer dtype cannot hold."""
    if dtypes.is_complex(before):
        return dtypes.is_complex(after)
    return not (dtypes.is_floating(before) and dtypes.is_integer(after))


def cast(x: Any, dtype: Any) -> Array:
    """Convert an array to another dtype, without weak type; a host value stays a host value."""
    return convert(x, get_aval(x), dtype)


def promote(function: str, *args: Any, to: Any = None) -> list[Array]:
    """Convert operands to their common dtype.

    Args:
      function: the name of the function in messages.
      args: arrays and numbers.
      to: a function from the common dtype to the dtype to use instead.

    Raises:
      TypeError: an operand is neither an array nor a number.
      TypePromotionError: the operands have no common dtype.
    """
    avals = [aval_of(function, x, i) for i, x in enumerate(args)]
    if to is None:
        first = avals[0].dtype
        for aval in avals:
            if aval.dtype != first:
                break
        else:
            return list(args)
    dtype, weak = dtypes.result_type(*avals, return_weak_type=True)
    if to is not None:
        dtype = dtypes.canonicalize_dtype(to(dtype))
    return [convert(x, aval, dtype, weak) for x, aval in zip(args, avals, strict=True)]


def boolean(x: Any) -> Array:
    """The mask of the nonzero elements of an array; a host value stays a host value."""
    aval = get_aval(x)
    if aval.dtype == _BOOL:
        return x
    if not isinstance(aval.dtype, np.dtype):
        raise TypeError(f"an array of dtype {aval.dtype} is neither true nor false")
    if type(x) in _PYTHON_SCALARS or isinstance(x, np.ndarray | np.generic):
        return np.asarray(x).astype(bool)  # type: ignore[return-value]
    return ne_p.bind(x, aval.dtype.type(0))


def joint_shape(shapes: list[tuple[int, ...]]) -> tuple[int, ...] | None:
    """The shape that shapes broadcast to; None if they do not broadcast."""
    rank = max(map(len, shapes), default=0)
    out = []
    for position in range(-rank, 0):
        size = 1
        for shape in shapes:
            if len(shape) >= -position:
                length = shape[position]
                if length != 1:
                    if size not in (1, length):
                        return None
                    size = length
        out.append(size)
    return tuple(out)


def _listed(shapes: Any) -> str:
    return ", ".join(str(tuple(shape)) for shape in shapes)


def broadcast_to_shape(x: Any, shape: tuple[int, ...], own: tuple[int, ...] | None = None) -> Array:
    """Broadcast an array to a shape, by at most one equation."""
    if own is None:
        own = get_aval(x).shape
    if own == shape:
        return x
    rank = len(shape)
    return broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=tuple(range(rank - len(own), rank)))


_ANY_RANK = frozenset(("where", "choose"))  # broadcasting is part of what these functions do
_ANY_RANK_MODULES = ("primax.random.",)  # and of the functions in these modules


def _called() -> tuple[str, int]:
    """The module of primax's function that the user's innermost line calls, and the stack level of that line."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_back.f_globals.get("__name__", "").startswith("primax."):
        frame, level = frame.f_back, level + 1
    return str(frame.f_globals["__name__"]), level


def _refuse_ranks(function: str, shapes: list[tuple[int, ...]]) -> None:
    """Warn, or raise an error, as the option says, if operands other than scalars have different ranks.

    Raises:
      ValueError: ranks differ, and the option `numpy_rank_promotion` is "raise".
    """
    if len({len(shape) for shape in shapes if shape}) < 2:
        return
    module, level = _called()
    if module.startswith(_ANY_RANK_MODULES):
        return
    if core.config.numpy_rank_promotion.value == "raise":
        raise ValueError(
            f"{function}: operands must have the same rank, or be scalars, since numpy_rank_promotion is 'raise'; "
            f"got shapes {_listed(shapes)}"
        )
    warnings.warn(
        f"{function}: operands of shapes {_listed(shapes)} are broadcast along axes that some of them lack; "
        "numpy_rank_promotion 'allow' is silent",
        stacklevel=level,
    )


def broadcast(function: str, args: Sequence[Any], scalars: bool = True) -> list[Array]:
    """Broadcast operands to a common shape; scalars stay scalars beside arrays, unless `scalars` is False.

    Raises:
      ShapeError: the shapes do not broadcast.
    """
    shapes = [get_aval(x).shape for x in args]
    if core.config.numpy_rank_promotion.value != "allow" and function not in _ANY_RANK:
        _refuse_ranks(function, shapes)
    common: tuple[int, ...] | None = ()
    for shape in shapes:
        if shape and shape != common:
            if common:
                common = joint_shape(shapes)
                if common is None:
                    raise ShapeError(f"{function} got {incompatible_shapes(shapes)}")
                break
            common = shape
    out = []
    for x, shape in zip(args, shapes, strict=True):
        if shape == common or (scalars and not shape):
            out.append(x)
        else:
            out.append(broadcast_to_shape(x, common, shape))  # type: ignore[arg-type]
    return out


def operands(function: str, x: Any, y: Any, to: Any = None) -> tuple[Any, float] | tuple[Any, Any] | list[Any]:
    """Convert two operands to one dtype and one shape (or scalars), for an elementwise primitive.

    Args:
      function: the name of the function in messages.
      x, y: arrays and numbers.
      to: a function from the common dtype to the dtype to use instead.

    Raises:
      TypeError: an operand is neither an array nor a number; the shapes do not broadcast.
      TypePromotionError: the operands have no common dtype.
    """
    try:
        a, b = get_aval(x), get_aval(y)
    except (TypeError, ValueError):
        a, b = aval_of(function, x, 0), aval_of(function, y, 1)
    except OverflowError:
        with naming(function):
            x, y = _fitted(x, y), _fitted(y, x)
            a, b = get_aval(x), get_aval(y)
    if a.dtype != b.dtype or (to is not None and to(a.dtype) != a.dtype):
        if type(y) in _NUMBERS and (to is None or to(a.dtype) == a.dtype):
            scalar = scalar_in(a, y)
            if scalar is not None:
                return x, scalar
        x, y = promote(function, x, y, to=to)
    if a.shape == b.shape or not a.shape or not b.shape:
        return x, y
    return broadcast(function, [x, y])


def _fitted(x: Any, partner: Any) -> Any:
    """Convert a Python integer to its partner's dtype, if only that dtype can hold it."""
    scalar = None if type(x) is not int or type(partner) is int else scalar_in(get_aval(partner), x)
    return x if scalar is None else scalar


def strong(x: Any) -> Array:
    """Remove the weak type of a value."""
    aval = get_aval(x)
    if not aval.weak_type:
        return x
    if type(x) in _PYTHON_SCALARS:
        return aval.dtype.type(x)
    return convert_element_type_p.bind(x, new_dtype=aval.dtype, weak_type=False)


def known_integers(function: str, argument: str, value: Any) -> tuple[int, ...]:
    """Read one integer or a sequence of integers that must not be traced.

    Raises:
      TracerIntegerConversionError: an integer is traced.
      TypeError: a value is not an integer.
    """
    if isinstance(value, Tracer):
        value = value.concrete() if value.is_concrete else value.__index__()
    if isinstance(value, Array | np.ndarray):
        value = np.asarray(value).tolist()
    return integers(listed(value), function, argument)


def refuse_options(name: str, out: Any, where: Any) -> NoReturn:
    """Raise an error for NumPy's options `out` and `where` of elementwise functions.

    Raises:
      NotImplementedError: always.
    """
    option, value = ("where", where) if out is None else ("out", out)
    raise NotImplementedError(
        f"{name}: {option} must be None, got {value!r}: arrays are immutable; primax.numpy.where chooses among results"
    )
