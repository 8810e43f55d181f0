"""Changes by the first user's type: programs are split, and operators call the methods of the values' class."""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any

from primax.extend.core import UserType
from primax.extend.provisional.boundaries import api_boundary
from primax.extend.provisional.user_types import Operand, install_splitter, value_classes
from primax.plugins.user_types.splitting import split

_NOT_BINARY = ("__getitem__", "__contains__", "__setitem__")


def install() -> None:
    """Prepare for values of users' types, once."""
    install_splitter(split)
    if "__getattr__" in vars(Operand):
        return
    for name, attribute in list(vars(Operand).items()):
        if isinstance(attribute, property):
            diverted = api_boundary(_diverted_property(name, attribute.fget))
            setattr(Operand, name, property(diverted, doc=attribute.__doc__))
        elif isinstance(attribute, FunctionType):
            setattr(Operand, name, api_boundary(_diverted(name, attribute)))
    Operand.__getattr__ = api_boundary(_missing_attribute)  # type: ignore[attr-defined]


def _class_of(x: Any) -> Any:
    """The class of the values for which an object stands; None if it is not a value of a user's type."""
    aval = getattr(x, "aval", None)
    if isinstance(aval, UserType):
        return aval.value_class
    return type(x) if type(x) in value_classes else None


def _missing_attribute(self: Any, name: str) -> Any:
    owner = None if name.startswith("_") else _class_of(self)
    if owner is None:
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
    return _attribute(self, name, owner)


def _attribute(x: Any, name: str, owner: type) -> Any:
    """An attribute of a tracer, by the class of its values."""
    for kind in owner.__mro__[:-1]:
        if name in vars(kind):
            attribute = vars(kind)[name]
            return attribute.__get__(x, owner) if hasattr(attribute, "__get__") else attribute
    raise AttributeError(
        f"a tracer of a {owner.__name__} has no {name!r}: {owner.__name__} does not define it as a method or property. "
        "Under transformations the parts of a value are read by primitives, in whose impl rules they are arrays",
        name=name,
        obj=x,
    )


def _diverted_property(name: str, plain: Any) -> Any:
    @functools.wraps(plain)
    def get(self: Any) -> Any:
        owner = _class_of(self)
        return plain(self) if owner is None else _attribute(self, name, owner)

    return get


def _reflected(name: str, x: Any, y: Any) -> Any:
    """`x + y` by the method `__radd__` of `y`, which Python does not try if both are tracers of one class."""
    if type(x) is not type(y):
        return NotImplemented
    function = getattr(_class_of(y), f"__r{name[2:]}", None)
    return NotImplemented if function is None else function(y, x)


def _diverted(name: str, plain: FunctionType) -> Any:
    """A method that, on a tracer of a value, calls the method of the value's class."""
    binary = name.startswith("__") and plain.__code__.co_argcount == 2 and name not in _NOT_BINARY

    @functools.wraps(plain)
    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        owner = _class_of(self)
        if owner is None:
            if binary and _class_of(args[0]) is not None:
                return _reflected(name, self, args[0])
            return plain(self, *args, **kwargs)
        function = getattr(owner, name, None)
        if function is not None and function is not getattr(object, name, None):
            out = function(self, *args, **kwargs)
            return _reflected(name, self, args[0]) if out is NotImplemented and binary else out
        if binary and _class_of(args[0]) is not None:
            return _reflected(name, self, args[0])
        raise TypeError(f"{owner.__name__} does not define {name}, so a tracer of one has none")

    return method
