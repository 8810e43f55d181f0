"""Abstract values: the types of values in programs."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from primax.core import dtypes
from primax.core._jaxlib import Sharding
from primax.core.arguments import check_function, numpy_dtype, sequence
from primax.core.diagnostics import of_call, shorten
from primax.core.dimensions import is_dimension
from primax.core.frozen import SetOnce
from primax.core.lazy_tables import LazyEntries
from primax.core.pickling import pickled
from primax.core.placement import Placement, Space, required

_NO_AXES: frozenset[str] = frozenset()
_DEVICE = Space.Device


class AbstractValue:
    """The type of a value in a program. Subclasses are immutable, hashable and compare by content."""

    __slots__ = ("__weakref__",)

    mutable = False  # whether values of this type are references, whose contents change
    composite = False  # whether values are made of arrays; see `UserType`

    def to_tangent_aval(self) -> AbstractValue:
        """The type of tangents of values of this type."""
        raise TypeError(f"values of type {self.str_short()} have no tangents: no {type(self).__name__}.to_tangent_aval")

    def strip_weak_type(self) -> AbstractValue:
        """This type without its weak-type flag."""
        return self

    def mapped(self, size: int, dim: int | None) -> AbstractValue:
        """The type of one element along `dim`, an axis of length `size`."""
        raise TypeError(f"values of type {self.str_short()} cannot be mapped over: no {type(self).__name__}.mapped")

    def unmapped(self, size: int, dim: int | None) -> AbstractValue:
        """The type of `size` values of this type stacked along a new axis `dim`."""
        raise TypeError(f"values of type {self.str_short()} cannot be stacked: no {type(self).__name__}.unmapped")

    def str_short(self) -> str:
        """A short text for jaxprs and messages."""
        return type(self).__name__

    def __repr__(self) -> str:
        return self.str_short()


class ShapedArray(AbstractValue):
    """The type of an array: shape, dtype, weak type, and the placement on several devices, if there are any.

    Equal types are one object, so keys with types in them are cheap.
    """

    __slots__ = ("dtype", "placement", "shape", "weak_type")

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    weak_type: bool
    placement: Placement | None

    def __new__(
        cls,
        shape: Any,
        dtype: Any,
        weak_type: bool = False,
        *,
        placement: Placement | None = None,
        vma: frozenset[Any] = _NO_AXES,
        sharding: Any = None,
        memory_space: Space = _DEVICE,
    ) -> ShapedArray:
        if memory_space is not _DEVICE:
            raise ValueError(f"ShapedArray: memory_space must be Space.Device, got {memory_space!r}")
        try:
            shape = tuple(shape)
        except TypeError:
            raise TypeError(f"ShapedArray: shape must be a sequence of integers, got {shape!r}") from None
        for size in shape:
            if type(size) is not int:
                shape = tuple(_dimension(size, shape) for size in shape)
                break
        if vma or sharding is not None:
            placement = required().changed(placement, shape, {"vma": vma, "sharding": sharding})
        known = _of_fields.get((shape, dtype, weak_type, placement))
        aval = None if known is None else known()
        return _interned(shape, dtype, weak_type, placement) if aval is None else aval

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        total = 1
        for length in self.shape:
            total *= length
        return total

    @property
    def vma(self) -> frozenset[Any]:
        """The mapped axes along which devices may have different values."""
        return _NO_AXES if self.placement is None else self.placement.vma

    @property
    def sharding(self) -> Any:
        """The sharding that the type records: a `NamedSharding` over a mesh without devices."""
        sharding = None if self.placement is None else self.placement.sharding
        return required().whole(len(self.shape)) if sharding is None else sharding

    @property
    def memory_space(self) -> Space:
        """The memory space of the values; always device memory."""
        return _DEVICE

    @property
    def manual_axis_type(self) -> Any:
        """The axes along which values vary, are unreduced and are reduced."""
        return required().manual_axis_type(self.placement)

    def update(self, **changes: Any) -> ShapedArray:
        """A copy with some of `shape`, `dtype`, `weak_type`, `placement`, `vma` and `sharding` replaced.

        With a new shape, the type records no sharding of its dimensions unless `sharding` or `placement` is given.
        """
        unknown = changes.keys() - _FIELDS
        if unknown:
            raise TypeError(f"ShapedArray.update: no field named {sorted(unknown)}; there are {sorted(_FIELDS)}")
        shape = changes.pop("shape", self.shape)
        placement = self.placement
        if "placement" in changes:
            placement = changes.pop("placement")
        elif placement is not None and shape != self.shape:
            placement = placement.reshaped()
        of_placement = {name: changes.pop(name) for name in ("vma", "sharding") if name in changes}
        if of_placement and (placement is not None or any(of_placement.values())):
            placement = required().changed(placement, shape, of_placement)
        return ShapedArray(
            shape, **{"dtype": self.dtype, "weak_type": self.weak_type, "placement": placement, **changes}
        )

    def to_tangent_aval(self) -> ShapedArray:
        return ShapedArray(self.shape, dtypes.tangent_dtype(self.dtype), self.weak_type, placement=self.placement)

    def strip_weak_type(self) -> ShapedArray:
        if not self.weak_type:
            return self
        return ShapedArray(self.shape, self.dtype, False, placement=self.placement)

    def mapped(self, size: int, dim: int | None) -> ShapedArray:
        if dim is None:
            return self
        placement = None if self.placement is None else self.placement.element(dim)
        shape = self.shape[:dim] + self.shape[dim + 1 :]
        return ShapedArray(shape, self.dtype, self.weak_type, placement=placement)

    def unmapped(self, size: int, dim: int | None) -> ShapedArray:
        if dim is None:
            return self
        shape = (*self.shape[:dim], size, *self.shape[dim:])
        placement = None if self.placement is None else self.placement.stacked(dim)
        return ShapedArray(shape, self.dtype, self.weak_type, placement=placement)

    def str_short(self, short_dtypes: bool = True) -> str:
        """A short text for jaxprs and messages, such as `f32[3]`.

        Args:
          short_dtypes: whether dtypes are abbreviated; `float32[3]` if they are not.
        """
        placed = self.placement
        sizes, marks = (",".join(map(str, self.shape)), "") if placed is None else placed.text(self.shape)
        number = isinstance(self.dtype, np.dtype) and not short_dtypes
        name = self.dtype.name if number else dtypes.short_dtype_name(self.dtype)
        return f"{name}[{sizes}]{marks}"

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.str_short(False)}{weak})"

    def __str__(self) -> str:
        return f"{'~' if self.weak_type else ''}{self.str_short(False)}"

    @classmethod
    def _restored(cls, placement: Placement | None, *fields: Any) -> ShapedArray:
        return cls(*fields, placement=placement)

    def __reduce__(self) -> Any:
        fields = self.placement, self.shape, self.dtype, self.weak_type
        return pickled("primax.extend.core:ShapedArray._restored", *fields)


_FIELDS = frozenset({"shape", "dtype", "weak_type", "placement", "vma", "sharding", "memory_space"})
# The types in use, by their fields.
_of_fields: dict[Any, weakref.ref[ShapedArray]] = {}
_interning = threading.RLock()


def _interned(shape: tuple[int, ...], dtype: Any, weak_type: bool, placement: Placement | None) -> ShapedArray:
    """The type with these fields, created if it is not in use."""
    if not isinstance(dtype, np.dtype) and not isinstance(dtype, dtypes.ExtendedDType):
        dtype = np.dtype(dtype)
    if not isinstance(placement, Placement | None):
        raise TypeError(f"ShapedArray: placement must be that of another type or None, got {shorten(placement)}")
    key = shape, dtype, bool(weak_type), placement
    new = object.__new__(ShapedArray)
    new.shape, new.dtype, new.weak_type, new.placement = key
    own = weakref.ref(new, functools.partial(_forget, key))
    with _interning:
        known = _of_fields.setdefault(key, own)
        aval = known()
        if aval is None:  # another thread has dropped it
            _of_fields[key] = own
            aval = new
    return aval


def _forget(key: Any, ended: weakref.ref[ShapedArray]) -> None:
    with _interning:
        if _of_fields.get(key) is ended:
            del _of_fields[key]


def same_type(one: AbstractValue, other: AbstractValue, ignoring: Collection[str] = ()) -> bool:
    """Whether two types are the same, except for ignored attributes.

    Args:
      one: a type.
      other: a type.
      ignoring: attributes that may differ: `weak_type`, `placement`, or of the placement `vma` alone.
    """
    if one is other or one == other:
        return True
    if not ignoring:
        return False
    if not isinstance(one, ShapedArray) or not isinstance(other, ShapedArray):
        return "weak_type" in ignoring and one.strip_weak_type() == other.strip_weak_type()
    return (
        one.shape == other.shape
        and one.dtype == other.dtype
        and ("weak_type" in ignoring or one.weak_type is other.weak_type)
        and (one.placement is other.placement or "placement" in ignoring or _differ_in_vma(one, other, ignoring))
    )


def _differ_in_vma(one: ShapedArray, other: ShapedArray, ignoring: Collection[str]) -> bool:
    """Whether two types differ at most in their `vma`, and this is ignored."""
    if "vma" not in ignoring:
        return False
    placements = one.placement, other.placement
    placed, rest = placements if placements[1] is None else placements[::-1]
    return placed is not None and placed.equals_except_vma(rest)


def is_void(aval: AbstractValue) -> bool:
    """Whether a type of tangents has no values: its dtype is float0."""
    return getattr(aval, "dtype", None) == dtypes.float0


WEAKNESS = frozenset({"weak_type"})
WEAKNESS_AND_VMA = frozenset({"weak_type", "vma"})
ALL_BUT_SHAPE_AND_DTYPE = frozenset({"weak_type", "placement"})


def _dimension(size: Any, shape: tuple[Any, ...]) -> int:
    if is_dimension(size):
        return size  # type: ignore[no-any-return]
    try:
        return size.__index__()  # type: ignore[no-any-return]
    except (AttributeError, TypeError):
        raise TypeError(
            f"shape must consist of integers, got {size!r} of type {type(size).__name__} in {shape}"
        ) from None


class AbstractToken(AbstractValue):
    """The type of the tokens that order effects; it carries no data."""

    __slots__ = ()

    def str_short(self) -> str:
        return "token"

    def __hash__(self) -> int:
        return hash(AbstractToken)

    def __eq__(self, other: object) -> bool:
        return type(other) is AbstractToken

    def to_tangent_aval(self) -> AbstractToken:
        return self

    def mapped(self, size: int, dim: int | None) -> AbstractToken:
        return self

    def unmapped(self, size: int, dim: int | None) -> AbstractToken:
        return self


abstract_token = AbstractToken()


class Token:
    """A token in eager mode; no effect is pending."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Token()"

    def block_until_ready(self) -> Token:
        """The token itself."""
        return self


NO_VALUE = (TypeError, ValueError, OverflowError)  # errors of `get_aval` for values that no program can have
aval_handlers: dict[type, Callable[[Any], AbstractValue]] = {}


def _asking(kind: type) -> Callable[[Any], AbstractValue]:
    """A substitute for the handler of a class that a waiting plugin will replace; a call loads the plugin."""

    def handler(x: Any) -> AbstractValue:
        _lazy.ask(kind)
        return aval_handlers[kind](x)

    return handler


_lazy = LazyEntries("aval", aval_handlers, _asking)


def register_aval(kind: type, handler: Callable[[Any], AbstractValue]) -> None:
    """Register the handler that gives the abstract value of Python values of type `kind`.

    Raises:
      TypeError: `kind` is not a class, or `handler` not callable.
    """
    if not isinstance(kind, type):
        raise TypeError(f"register_aval: kind must be a class, got {kind!r}")
    check_function("register_aval", "handler", handler)
    _lazy.put(kind, handler)


def get_aval(x: Any) -> Any:
    """The abstract value of a Python value.

    Raises:
      TypeError: `x` is not a valid value of a program.
      ValueError: it is an array with a mask.
      OverflowError: it is an int out of range.
    """
    handler = aval_handlers.get(type(x))
    if handler is not None:
        return handler(x)
    if _lazy.ask_for_class(type(x)) and type(x) in aval_handlers:
        return aval_handlers[type(x)](x)
    for kind in type(x).__mro__[1:]:
        handler = aval_handlers.get(kind)
        if handler is not None:
            if kind is np.ndarray and hasattr(x, "mask"):
                raise ValueError(
                    f"an array with a mask ({type(x).__name__}) is not a valid primax type, since its mask would be "
                    f"lost; pass x.filled(value), and x.mask too if it matters{of_call()}"
                )
            return handler(x)
    array = unwrap(x)
    if array is not x:
        return get_aval(array)
    reason = getattr(x, "_not_an_array", None)
    if isinstance(reason, str):
        raise TypeError(f"{reason}{of_call()}")
    raise TypeError(f"a value of type {type(x).__name__} is not a valid primax type: {shorten(x)}{of_call()}")


array_conversions: dict[type, Callable[[Any], Any]] = {}  # for classes without `__jax_array__`


def unwrap(x: Any) -> Any:
    """The array of an object with `__jax_array__`; other values unchanged."""
    if type(x) in aval_handlers:
        return x
    convert = getattr(type(x), "__jax_array__", None) or array_conversions.get(type(x))
    if convert is None:
        return x
    array = convert(x)
    if type(array) is type(x):
        raise TypeError(f"__jax_array__ of a {type(x).__name__} must return an array, got another{of_call()}")
    return unwrap(array)


def is_valid(x: Any) -> bool:
    """Whether `get_aval` accepts `x`."""
    kind = type(x)
    convertible = kind in array_conversions or hasattr(kind, "__jax_array__")
    return convertible or any(base in aval_handlers for base in kind.__mro__)


_scalar_avals: dict[tuple[type, np.dtype[Any]], ShapedArray] = {}


def _python_scalar(kind: type) -> Callable[[Any], ShapedArray]:
    def handler(x: Any) -> ShapedArray:
        dtype = dtypes.scalar_dtype(x, kind)
        aval = _scalar_avals.get((kind, dtype))
        if aval is None:
            aval = _scalar_avals[kind, dtype] = ShapedArray((), dtype, kind is not bool)
        return aval

    return handler


for _kind in (bool, int, float, complex):
    register_aval(_kind, _python_scalar(_kind))


def _ndarray(x: Any) -> ShapedArray:
    dtype = dtypes.array_dtype(x.dtype)
    if dtype is None:
        raise TypeError(
            f"a NumPy array of dtype {x.dtype} is not a valid primax type; booleans and numbers of at most 64 bits "
            f"(128 if complex) are{of_call()}"
        )
    return ShapedArray(x.shape, dtype)


_numpy_scalar_avals: dict[np.dtype[Any], ShapedArray] = {}


def _numpy_scalar(x: Any) -> ShapedArray:
    dtype = dtypes.canonicalize_dtype(x.dtype)
    aval = _numpy_scalar_avals.get(dtype)
    if aval is None:
        aval = _numpy_scalar_avals[dtype] = _ndarray(x)
    return aval


register_aval(np.ndarray, _ndarray)
register_aval(np.generic, _numpy_scalar)
for _kind in {np.dtype(code).type for code in "?bhilqBHILQefdFD"}:
    register_aval(_kind, _numpy_scalar)


def typeof(x: Any) -> Any:
    """The abstract value of a value: shape, dtype and weak type.

    Args:
      x: an array, a number, or a tracer of one.

    Raises:
      TypeError: `x` is not one of these.

    >>> typeof(1.0)
    ShapedArray(float32[], weak_type=True)
    """
    return get_aval(x)


class ShapeDtypeStruct(SetOnce):
    """A shape and a dtype: a substitute for an array where only its type matters.

    Args:
      shape: a sequence of ints.
      dtype: a dtype, or a value that NumPy accepts as one.
      sharding: the sharding of the array; programs that are lowered for it take arguments of this sharding.
      weak_type: whether promotion treats it as a Python scalar.
    """

    __slots__ = ("dtype", "shape", "sharding", "weak_type")

    def __init__(self, shape: Any, dtype: Any, *, sharding: Any = None, weak_type: bool = False) -> None:
        if not (sharding is None or isinstance(sharding, Sharding)):
            raise TypeError(f"ShapeDtypeStruct: sharding must be a sharding or None, got {shorten(sharding)}")
        self.sharding = sharding
        if dtype is None:
            raise TypeError("ShapeDtypeStruct: dtype must be given")
        self.shape = ShapedArray(sequence("ShapeDtypeStruct", "shape", shape), np.bool_).shape
        extended = isinstance(dtype, dtypes.ExtendedDType)
        self.dtype = dtype if extended else numpy_dtype("ShapeDtypeStruct", "dtype", dtype)
        self.weak_type = weak_type

    @staticmethod
    def like(x: Any) -> ShapeDtypeStruct:
        """The ShapeDtypeStruct of an array or a number.

        Args:
          x: the array or number.

        Raises:
          TypeError: `x` is neither.

        >>> ShapeDtypeStruct.like(1.0)
        ShapeDtypeStruct(shape=(), dtype=float32, weak_type=True)
        """
        aval = get_aval(x)
        if not isinstance(aval, ShapedArray):
            raise TypeError(f"ShapeDtypeStruct.like: x must be an array or a number, got {shorten(x)}")
        placed = not hasattr(x, "_trace") and getattr(x, "committed", False) is True  # a tracer has no place
        sharding = x.sharding if placed else None
        return ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding, weak_type=aval.weak_type)

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """A copy with some of `shape`, `dtype`, `sharding` and `weak_type` replaced.

        Raises:
          TypeError: there is no such attribute.
        """
        fields = {name: getattr(self, name) for name in self.__slots__}
        unknown = sorted(changes.keys() - fields.keys())
        if unknown:
            raise TypeError(f"ShapeDtypeStruct.update: changes must be among {sorted(fields)}, got {unknown}")
        return ShapeDtypeStruct(**{**fields, **changes})

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return ShapedArray(self.shape, self.dtype).size

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len: a ShapeDtypeStruct without axes has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        more = "" if self.sharding is None else f", sharding={self.sharding}"
        more += ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={getattr(self.dtype, 'name', self.dtype)}{more})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and all(
            getattr(self, x) == getattr(other, x) for x in self.__slots__
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.sharding, self.weak_type))


def _of_struct(x: ShapeDtypeStruct) -> ShapedArray:
    sharding = x.sharding if getattr(x.sharding, "explicit", False) else None
    dtype = x.dtype if isinstance(x.dtype, dtypes.ExtendedDType) else dtypes.array_dtype(x.dtype)
    if dtype is None:
        raise TypeError(f"{x!r} is not a valid primax type; arrays hold numbers, booleans or an extended dtype")
    return ShapedArray(x.shape, dtype, x.weak_type, sharding=sharding)


register_aval(ShapeDtypeStruct, _of_struct)
