"""Types of users' own, and classes whose objects are converted to arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from primax.core import undo_log
from primax.core.arguments import check_function
from primax.core.array_protocol import install_protocol
from primax.core.avals import AbstractValue, array_conversions, aval_handlers, register_aval
from primax.core.errors import PluginError, UnexpectedTracerError
from primax.core.lazy_tables import Table
from primax.core.primitive import Primitive
from primax.core.trace import Tracer

__all__ = ["UserType", "register_arraylike", "register_on_type", "register_user_type"]


class UserType(AbstractValue):
    """The type of values of a package's class, which are made of arrays.

    A subclass is immutable, hashable and compares by content, like a frozen dataclass. `register_user_type`
    connects it with the class of its values. A value is one variable of a program and one leaf of a pytree.
    Transformations see values of this type, on which primitives act by rules of their own. Before a program is
    compiled, its values are replaced by their parts.

    A subclass defines `part_types`, `to_parts` and `from_parts`; `of` if values have no attribute `aval`;
    `to_tangent_aval` if values have derivatives, with `zeros` and `add` if the tangents are of a user's type, too; and
    for `vmap` and `scan` a `shape`, `mapped` and `unmapped`.

    Examples:
      >>> import dataclasses
      >>> import numpy as np
      >>> from primax.extend import core
      >>> @dataclasses.dataclass(frozen=True)
      ... class IntervalType(core.UserType):
      ...     shape: tuple
      ...     def part_types(self):
      ...         return [core.ShapedArray(self.shape, np.float32)] * 2
      ...     def mapped(self, size, dim):
      ...         return IntervalType(self.shape[:dim] + self.shape[dim + 1 :])
      >>> IntervalType((3, 2)).mapped(3, 0)
      IntervalType(shape=(2,))
    """

    __slots__ = ()

    composite = True
    value_class: ClassVar[Any] = None  # the class of the values, which `register_user_type` sets
    weak_type = False
    placement = None

    @classmethod
    def of(cls, value: Any) -> UserType:
        """The type of a value."""
        return value.aval  # type: ignore[no-any-return]

    def part_types(self) -> Sequence[AbstractValue]:
        """The types of the parts, which are arrays or again values of users' types."""
        raise NotImplementedError(f"{type(self).__name__} must define part_types()")

    def to_parts(self, value: Any) -> Sequence[Any]:
        """The parts of a value of this type."""
        raise NotImplementedError(f"{type(self).__name__} must define to_parts(value)")

    def from_parts(self, parts: Sequence[Any]) -> Any:
        """The value of this type with these parts, which may be tracers."""
        raise NotImplementedError(f"{type(self).__name__} must define from_parts(parts)")

    def part_axis(self, part: int, dim: int) -> int | None:
        """The axis of a part that is axis `dim` of the value; None if the part is the same for all positions."""
        return dim

    def zeros(self) -> Any:
        """The zero of this type, if it is the type of tangents."""
        raise TypeError(f"values of type {self.str_short()} have no zero: no {type(self).__name__}.zeros")

    def add(self, x: Any, y: Any) -> Any:
        """The sum of two values of this type, if it is the type of tangents."""
        raise TypeError(f"values of type {self.str_short()} have no sums: no {type(self).__name__}.add")


# The array protocol of users' types, and a function that is called with each new one; the plugin user_types has both.
support = Table("support", __name__)
value_classes: dict[type, type[UserType]] = {}


def register_user_type(user_type: type[UserType], value_class: type) -> None:
    """Let programs have values of a class.

    Args:
      user_type: a subclass of `UserType`, whose method `of` returns the type of a value.
      value_class: the class of the values. Under transformations its methods and properties get tracers in place of
        values, so they call primitives, or other methods, and do not read attributes that hold parts.

    Raises:
      TypeError: `user_type` is not such a class, does not compare by content or lacks a method, or `value_class` is
        not a class or has a type in programs already.
      PluginError: the plugin user_types is not active.

    Examples:
      >>> import dataclasses
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> from primax.extend import core
      >>> class Pair:
      ...     def __init__(self, a, b):
      ...         self.a, self.b = a, b
      >>> @dataclasses.dataclass(frozen=True)
      ... class PairType(core.UserType):
      ...     @classmethod
      ...     def of(cls, pair):
      ...         return cls()
      ...     def part_types(self):
      ...         return [core.ShapedArray((), pnp.float32)] * 2
      ...     def to_parts(self, pair):
      ...         return [pair.a, pair.b]
      ...     def from_parts(self, parts):
      ...         return Pair(*parts)
      >>> core.register_user_type(PairType, Pair)
      >>> px.jit(lambda pair: pair)(Pair(pnp.float32(1), pnp.float32(2))).b
      Array(2., dtype=float32)
    """
    where = "register_user_type"
    if not (isinstance(user_type, type) and issubclass(user_type, UserType)):
        raise TypeError(f"{where}: user_type must be a subclass of UserType, got {user_type!r}")
    name = user_type.__name__
    if not isinstance(value_class, type):
        raise TypeError(f"{where}({name}): value_class must be a class, got {value_class!r}")
    if user_type.__eq__ is object.__eq__ or user_type.__hash__ in (None, object.__hash__):
        raise TypeError(
            f"{where}: {name} must compare by content and have a hash; make it a dataclass with frozen=True"
        )
    for method in ("part_types", "to_parts", "from_parts"):
        if getattr(user_type, method) is getattr(UserType, method):
            raise TypeError(f"{where}: {name} must define {method}")
    before = vars(user_type).get("value_class")  # a base class may be the type of another class
    if before not in (None, value_class):
        raise TypeError(f"{where}: {name} is the type of {before.__name__} already")
    known = aval_handlers.get(value_class)
    if known is not None and value_classes.get(value_class) is not user_type:
        raise TypeError(f"{where}({name}): {value_class.__name__} has a type in programs already")
    undo_log.note(lambda: setattr(user_type, "value_class", before))
    adopt(user_type)
    user_type.value_class = value_class
    register_aval(value_class, partial(_type_of, user_type))
    undo_log.put(value_classes, value_class, user_type)


def _type_of(user_type: type[UserType], value: Any) -> UserType:
    """The type of a value, which must not be made of traced values of a transformation that has ended."""
    aval = user_type.of(value)
    for part in aval.to_parts(value):
        if isinstance(part, Tracer) and not part._trace.alive:
            raise UnexpectedTracerError(made_of_tracers(value))
    return aval


def made_of_tracers(value: Any) -> str:
    """The message about a value with traced values inside."""
    return (
        f"a {type(value).__name__} is made of traced values; inside of transformed functions a primitive must make it "
        "of them, or a function of its package that binds one, and not its class"
    )


def adopt(user_type: type[UserType]) -> None:
    """Let interpreters treat values of a user's type.

    Raises:
      PluginError: the plugin user_types is not active.
    """
    if "install" not in support:
        raise PluginError(f"{user_type.__name__}: it needs the plugin 'user_types', which is not active")
    support["install"]()
    install_protocol(user_type, support["protocol"], override=True)


def register_on_type(primitive: Primitive, user_type: type[UserType], target: Primitive) -> None:
    """Let `bind` of a primitive bind another one if an operand is a value of a user's type.

    Args:
      primitive: the primitive that is bound, such as one of primax.
      user_type: a subclass of `UserType`; its subclasses count, too.
      target: the primitive with rules for such values; it gets the same operands and parameters.

    Raises:
      TypeError: an argument is not of these classes, or only one of the primitives has multiple results.

    Examples:
      >>> from primax.extend import core, define_primitive
      >>> from primax.extend.core.primitives import neg_p
      >>> class SignType(core.UserType):
      ...     pass
      >>> negate_sign_p = define_primitive("negate_sign", impl=lambda x: x, abstract_eval=lambda x: x)
      >>> core.register_on_type(neg_p, SignType, negate_sign_p)
    """
    where = "register_on_type"
    for name, value in (("primitive", primitive), ("target", target)):
        if not isinstance(value, Primitive):
            raise TypeError(f"{where}: {name} must be a Primitive, got {value!r}")
    if not (isinstance(user_type, type) and issubclass(user_type, UserType)):
        raise TypeError(f"{where}({primitive}): user_type must be a subclass of UserType, got {user_type!r}")
    if primitive.multiple_results != target.multiple_results:
        raise TypeError(f"{where}({primitive}): {target} must have multiple_results={primitive.multiple_results}")
    targets = _targets.get(primitive)
    if targets is None:
        targets = {}
        undo_log.put(_targets, primitive, targets)
        undo_log.put(vars(primitive), "bind", partial(_bind, primitive.bind, targets))
    undo_log.put(targets, user_type, target)


_targets: dict[Primitive, dict[type[UserType], Primitive]] = {}


def _bind(bind: Callable[..., Any], targets: dict[type[UserType], Primitive], /, *args: Any, **params: Any) -> Any:
    for x in args:
        kind = value_classes.get(type(x)) or type(getattr(x, "aval", None))
        if issubclass(kind, UserType):
            for base in kind.__mro__:
                if base in targets:
                    return targets[base].bind(*args, **params)
    return bind(*args, **params)


def register_arraylike(cls: type, to_array: Callable[[Any], Any]) -> None:
    """Let functions of arrays accept objects of a class, which they convert; as a method `__jax_array__` does.

    Args:
      cls: the class.
      to_array: a function from an object to an array, or to another object that is converted.

    Raises:
      TypeError: `cls` is not a class, or has a type in programs of its own; or `to_array` is not callable.

    Examples:
      >>> import primax.numpy as pnp
      >>> from primax.extend import core
      >>> class Celsius:
      ...     def __init__(self, degrees):
      ...         self.degrees = degrees
      >>> core.register_arraylike(Celsius, lambda x: pnp.float32(x.degrees + 273))
      >>> pnp.sqrt(Celsius(127))
      Array(20., dtype=float32)
    """
    if not isinstance(cls, type):
        raise TypeError(f"register_arraylike: cls must be a class, got {cls!r}")
    check_function("register_arraylike", "to_array", to_array)
    if cls in aval_handlers:
        raise TypeError(f"register_arraylike: objects of {cls.__name__} have a type in programs already")
    undo_log.put(array_conversions, cls, to_array)
