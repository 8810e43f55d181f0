"""Python's operators on arrays and tracers, implemented by a plugin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from primax.core import undo_log
from primax.core.arguments import rename
from primax.core.cache import epoch
from primax.core.lazy_tables import LazyEntries

if TYPE_CHECKING:
    from primax.core.operand_methods import OperandMethods
else:
    OperandMethods = object

_BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
_REFLECTED = ["r" + name for name in (*_BINARY, "divmod")]
_COMPARISONS = "eq ne lt le gt ge".split()
_UNARY = "neg pos abs invert".split()
_OTHERS = "array_namespace contains divmod getitem iter len setitem".split()
_METHODS = (
    "all any argmax argmin argpartition argsort astype byteswap choose clip compress conj conjugate copy "
    "cumprod cumsum diagonal dot flatten item max mean min nonzero prod ptp ravel repeat reshape round "
    "searchsorted sort squeeze std sum swapaxes take to_device trace transpose var view"
).split()
_PROPERTIES = "T mT real imag at flat nbytes itemsize".split()
_SPECIAL = [*_BINARY, *_REFLECTED, *_COMPARISONS, *_UNARY, *_OTHERS]

operator_names = frozenset([*_SPECIAL, "builtin_round", *_METHODS, *_PROPERTIES])

_implementations: dict[str, Callable[..., Any]] = {}
operators = LazyEntries("operator", _implementations)


def _implementation(name: str) -> Callable[..., Any]:
    operators.ask(name)
    implementation = _implementations.get(name)
    if implementation is None:
        kind = AttributeError if name in _PROPERTIES else NotImplementedError
        raise kind(f"arrays have no {name!r}: no active plugin supplies it, by registry.operators({name}=...)")
    return implementation


class Operand(OperandMethods):
    """The base class of arrays and tracers: its operators call the functions that plugins have installed."""

    __slots__ = ()

    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]


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
        operators.unhide(name)
        if name in _implementations:
            epoch.bump()  # existing programs used the other function
            undo_log.note(epoch.bump)
        operators.put(name, function)
        if name in (*_METHODS, *_PROPERTIES):
            _describe(getattr(Operand, name), function)


def _describe(member: Any, function: Callable[..., Any]) -> None:
    """Let a method show the signature and the docstring of its implementation, a property the docstring, reversibly."""
    before = member.__doc__
    undo_log.note(lambda: setattr(member, "__doc__", before))
    member.__doc__ = function.__doc__
    if not isinstance(member, property):
        undo_log.put(vars(member), "__wrapped__", function)  # `inspect.signature` follows it


def _special(name: str) -> Callable[..., Any]:
    table = _implementations

    def unary(self: Any) -> Any:
        function = table.get(name) or _implementation(name)
        return function(self)

    def binary(self: Any, other: Any) -> Any:
        function = table.get(name) or _implementation(name)
        return function(self, other)

    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A plugin has the description; `help(primax.Array)` loads and shows it."""
        function = table.get(name) or _implementation(name)
        return function(self, *args, **kwargs)

    if name in _UNARY or name == "iter" or name == "len":
        return unary
    if name in _BINARY or name in _REFLECTED or name in _COMPARISONS or name in ("contains", "divmod", "getitem"):
        return binary
    return method


def _attach(attribute: str, function: Any) -> None:
    """Make a function a method, under the name that pickles of the bound method use."""
    rename(function, attribute)
    function.__qualname__ = f"{Operand.__name__}.{attribute}"
    setattr(Operand, attribute, function)


def _array_namespace(self: Any, /, *, api_version: str | None = None) -> Any:
    return _implementation("array_namespace")(self, api_version=api_version)


def _to_device(self: Any, device: Any, /, *, stream: Any = None) -> Any:
    return _implementation("to_device")(self, device, stream=stream)


def _write(self: Any, index: Any, value: Any) -> None:
    if self.aval.mutable:
        return _implementation("setitem")(self, index, value)  # type: ignore[no-any-return]
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
_attach("__setitem__", _write)
