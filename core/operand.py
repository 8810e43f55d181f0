"""Python's operators on arrays and tracers, implemented by a plugin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from primax.core import undo_log
from primax.core.cache import epoch
from primax.core.lazy_tables import Withheld

if TYPE_CHECKING:
    from primax.interpreters.runtime.array import Array

__all__ = ["Operand", "install_operators", "operator_names"]

_BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
_REFLECTED = ["r" + name for name in (*_BINARY, "divmod")]
_COMPARISONS = "eq ne lt le gt ge".split()
_UNARY = "neg pos abs invert".split()
_OTHERS = "array_namespace contains divmod getitem iter len".split()
_METHODS = (
    "all any argmax argmin argpartition argsort astype byteswap choose clip compress conj conjugate copy "
    "cumprod cumsum diagonal dot flatten item max mean min nonzero prod ptp ravel repeat reshape round "
    "searchsorted sort squeeze std sum swapaxes take to_device trace transpose var view"
).split()
_PROPERTIES = "T mT real imag at flat nbytes itemsize".split()
_SPECIAL = [*_BINARY, *_REFLECTED, *_COMPARISONS, *_UNARY, *_OTHERS]

operator_names = frozenset([*_SPECIAL, "builtin_round", *_METHODS, *_PROPERTIES])

_implementations: dict[str, Callable[..., Any]] = {}
_held = Withheld("operator", _implementations)


def _implementation(name: str) -> Callable[..., Any]:
    _held.ask(name)
    found = _implementations.get(name)
    if found is None:
        kind = AttributeError if name in _PROPERTIES else NotImplementedError
        raise kind(f"arrays have no {name!r}: no active plugin supplies it, by registry.operators({name}=...)")
    return found


class Operand:
    """The base class of arrays and tracers: its operators call the functions that plugins have installed."""

    __slots__ = ()

    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    if TYPE_CHECKING:  # `primax.numpy` defines the signatures

        def __add__(self, other: Any, /) -> Array: ...
        def __sub__(self, other: Any, /) -> Array: ...
        def __mul__(self, other: Any, /) -> Array: ...
        def __truediv__(self, other: Any, /) -> Array: ...
        def __floordiv__(self, other: Any, /) -> Array: ...
        def __mod__(self, other: Any, /) -> Array: ...
        def __pow__(self, other: Any, /) -> Array: ...
        def __matmul__(self, other: Any, /) -> Array: ...
        def __and__(self, other: Any, /) -> Array: ...
        def __or__(self, other: Any, /) -> Array: ...
        def __xor__(self, other: Any, /) -> Array: ...
        def __lshift__(self, other: Any, /) -> Array: ...
        def __rshift__(self, other: Any, /) -> Array: ...
        def __radd__(self, other: Any, /) -> Array: ...
        def __rsub__(self, other: Any, /) -> Array: ...
        def __rmul__(self, other: Any, /) -> Array: ...
        def __rtruediv__(self, other: Any, /) -> Array: ...
        def __rfloordiv__(self, other: Any, /) -> Array: ...
        def __rmod__(self, other: Any, /) -> Array: ...
        def __rpow__(self, other: Any, /) -> Array: ...
        def __rmatmul__(self, other: Any, /) -> Array: ...
        def __rand__(self, other: Any, /) -> Array: ...
        def __ror__(self, other: Any, /) -> Array: ...
        def __rxor__(self, other: Any, /) -> Array: ...
        def __rlshift__(self, other: Any, /) -> Array: ...
        def __rrshift__(self, other: Any, /) -> Array: ...
        def __divmod__(self, other: Any, /) -> tuple[Array, Array]: ...
        def __rdivmod__(self, other: Any, /) -> tuple[Array, Array]: ...
        def __eq__(self, other: object, /) -> Array: ...  # type: ignore[override]
        def __ne__(self, other: object, /) -> Array: ...  # type: ignore[override]
        def __lt__(self, other: Any, /) -> Array: ...
        def __le__(self, other: Any, /) -> Array: ...
        def __gt__(self, other: Any, /) -> Array: ...
        def __ge__(self, other: Any, /) -> Array: ...
        def __neg__(self) -> Array: ...
        def __pos__(self) -> Array: ...
        def __abs__(self) -> Array: ...
        def __invert__(self) -> Array: ...
        def __round__(self, decimals: Any = None) -> Array: ...
        def __contains__(self, value: Any, /) -> bool: ...
        def __getitem__(self, index: Any, /) -> Array: ...
        def __iter__(self) -> Iterator[Array]: ...
        def __len__(self) -> int: ...
        def all(self, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Array: ...
        def any(self, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Array: ...
        def argmax(self, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array: ...
        def argmin(self, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array: ...
        def argpartition(self, kth: int, axis: int = -1) -> Array: ...
        def argsort(
            self,
            axis: int | None = -1,
            *,
            kind: None = None,
            order: None = None,
            stable: bool = True,
            descending: bool = False,
            dtype: Any = None,
        ) -> Array: ...
        def __array_namespace__(self, /, *, api_version: str | None = None) -> Any: ...
        def astype(self, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Array: ...
        def byteswap(self) -> Array: ...
        def choose(self, choices: Any, out: None = None, mode: str = "raise") -> Array: ...
        def clip(self, /, min: Any = None, max: Any = None) -> Array: ...
        def compress(self, condition: Any, axis: int | None = None, **options: Any) -> Array: ...
        def conj(self, /) -> Array: ...
        def conjugate(self, /) -> Array: ...
        def copy(self, order: Any = None) -> Array: ...
        def cumprod(self, axis: int | None = None, dtype: Any = None, out: None = None) -> Array: ...
        def cumsum(self, axis: int | None = None, dtype: Any = None, out: None = None) -> Array: ...
        def diagonal(self, offset: Any = 0, axis1: int = 0, axis2: int = 1) -> Array: ...
        def dot(
            self, b: Any, *, precision: Any = None, preferred_element_type: Any = None, out_sharding: Any = None
        ) -> Array: ...
        def flatten(self, order: str = "C", *, out_sharding: Any = None) -> Array: ...
        def max(
            self, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
        ) -> Array: ...
        def mean(
            self, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None
        ) -> Array: ...
        def min(
            self, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
        ) -> Array: ...
        def nonzero(self, *, size: int | None = None, fill_value: Any = None) -> tuple[Array, ...]: ...
        def prod(
            self,
            axis: Any = None,
            dtype: Any = None,
            out: None = None,
            keepdims: bool = False,
            initial: Any = None,
            where: Any = None,
            promote_integers: bool = True,
        ) -> Array: ...
        def ptp(self, axis: Any = None, out: None = None, keepdims: bool = False) -> Array: ...
        def ravel(self, order: str = "C", *, out_sharding: Any = None) -> Array: ...
        def repeat(
            self,
            repeats: Any,
            axis: int | None = None,
            *,
            total_repeat_length: int | None = None,
            out_sharding: Any = None,
        ) -> Array: ...
        def reshape(
            self, *shape: Any, order: str = "C", copy: bool | None = None, out_sharding: Any = None
        ) -> Array: ...
        def round(self, decimals: int = 0, out: None = None) -> Array: ...
        def searchsorted(self, v: Any, side: str = "left", sorter: Any = None, *, method: str = "scan") -> Array: ...
        def sort(
            self,
            axis: int | None = -1,
            *,
            kind: None = None,
            order: None = None,
            stable: bool = True,
            descending: bool = False,
        ) -> Array: ...
        def squeeze(self, axis: Any = None) -> Array: ...
        def std(
            self,
            axis: Any = None,
            dtype: Any = None,
            out: None = None,
            ddof: Any = 0,
            keepdims: bool = False,
            *,
            where: Any = None,
            mean: Any = None,
            correction: Any = None,
        ) -> Array: ...
        def sum(
            self,
            axis: Any = None,
            dtype: Any = None,
            out: None = None,
            keepdims: bool = False,
            initial: Any = None,
            where: Any = None,
            promote_integers: bool = True,
        ) -> Array: ...
        def swapaxes(self, axis1: int, axis2: int) -> Array: ...
        def take(
            self,
            indices: Any,
            axis: int | None = None,
            out: None = None,
            mode: str | None = None,
            unique_indices: bool = False,
            indices_are_sorted: bool = False,
            fill_value: Any = None,
        ) -> Array: ...
        def to_device(self, device: Any, /, *, stream: Any = None) -> Array: ...
        def trace(
            self, offset: Any = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None
        ) -> Array: ...
        def transpose(self, *axes: Any) -> Array: ...
        def var(
            self,
            axis: Any = None,
            dtype: Any = None,
            out: None = None,
            ddof: Any = 0,
            keepdims: bool = False,
            *,
            where: Any = None,
            mean: Any = None,
            correction: Any = None,
        ) -> Array: ...
        def view(self, dtype: Any = None, type: None = None) -> Array: ...
        @property
        def T(self) -> Array: ...
        @property
        def mT(self) -> Array: ...
        @property
        def real(self) -> Array: ...
        @property
        def imag(self) -> Array: ...
        @property
        def at(self) -> Any: ...
        @property
        def flat(self) -> Iterator[Array]: ...
        @property
        def nbytes(self) -> int: ...
        @property
        def itemsize(self) -> int: ...


def install_operators(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Implement Python's operators, and the methods and properties of arrays, by these functions.

    Args:
      functions: by name: `add` is `x + y`, `radd` its reflected form, `getitem` is `x[i]`, `sum` is `x.sum()`,
        `round` is `x.round()`, `builtin_round` is `round(x)`, and `T` is the property. `operator_names` lists them
        all.

    Raises:
      TypeError: a name is not an operator.
    """
    unknown = sorted(functions.keys() - operator_names)
    if unknown:
        raise TypeError(f"operators: {unknown} are not operators of arrays; there are {sorted(operator_names)}")
    for name, function in functions.items():
        _held.unhide(name)
        if name in _implementations:
            epoch.bump()  # existing programs used the other function
            undo_log.note(epoch.bump)
        _held.put(name, function)
        if name in _METHODS:
            _describe(getattr(Operand, name), function)


def _describe(method: Any, function: Callable[..., Any]) -> None:
    """Let a method show the signature and the docstring of its implementation, reversibly."""
    before = method.__doc__
    undo_log.note(lambda: setattr(method, "__doc__", before))
    method.__doc__ = function.__doc__
    undo_log.put(vars(method), "__wrapped__", function)  # `inspect.signature` follows it


def installed_operators() -> dict[str, Callable[..., Any]]:
    """The installed operators."""
    return {**_implementations, **{name: function for name, (function, _) in _held.entries.items()}}


def _special(name: str) -> Callable[..., Any]:
    table = _implementations

    def unary(self: Any) -> Any:
        function = table.get(name) or _implementation(name)
        return function(self)

    def binary(self: Any, other: Any) -> Any:
        function = table.get(name) or _implementation(name)
        return function(self, other)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        function = table.get(name) or _implementation(name)
        return function(self, *args, **kwargs)

    if name in _UNARY or name == "iter" or name == "len":
        return unary
    if name in _BINARY or name in _REFLECTED or name in _COMPARISONS or name in ("contains", "divmod", "getitem"):
        return binary
    return method


def _attach(attribute: str, function: Any) -> None:
    """Make a function a method, under the name that pickles of the bound method use."""
    function.__name__, function.__qualname__ = attribute, f"{Operand.__name__}.{attribute}"
    setattr(Operand, attribute, function)


def _array_namespace(self: Any, /, *, api_version: str | None = None) -> Any:
    return _implementation("array_namespace")(self, api_version=api_version)


def _to_device(self: Any, device: Any, /, *, stream: Any = None) -> Any:
    return _implementation("to_device")(self, device, stream=stream)


def _refuse_write(self: Any, index: Any, value: Any) -> None:
    raise TypeError(
        f"{type(self).__name__} is immutable: instead of x[index] = y write x = x.at[index].set(y), "
        "which returns a changed copy"
    )


for _name in _SPECIAL:
    _attach(f"__{_name}__", _special(_name))
_attach("__round__", _special("builtin_round"))  # `round` is the method
for _name in _METHODS:
    _attach(_name, _special(_name))
for _name in _PROPERTIES:
    setattr(Operand, _name, property(_special(_name)))
# These are the signatures of the array API standard, which libraries may inspect.
_attach("__array_namespace__", _array_namespace)
_attach("to_device", _to_device)
_attach("__setitem__", _refuse_write)
