"""The arguments of functions with custom derivatives: converted to positions, split, and flattened."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from primax.extend import core
from primax.extend.core import tree
from primax.extend.provisional.arguments import avals_of, one_or_several


class _Typed:
    """The dtype of a Python number that is an argument of a function with a rule, as arrays have one."""

    __slots__ = ()
    _plain: type

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the number in programs, where it is weakly typed."""
        return self.aval.dtype

    @property
    def aval(self) -> Any:
        """The type of the number in programs."""
        return core.get_aval(self._plain(self))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        """NumPy promotes it like the number; a mere subclass would count as an array of 64 bits."""
        plain = [x._plain(x) if isinstance(x, _Typed) else x for x in inputs]
        return getattr(ufunc, method)(*plain, **keywords)

    def __reduce__(self) -> Any:
        return self._plain, (self._plain(self),)


class _Int(_Typed, int):
    __slots__ = ()
    _plain = int


class _Float(_Typed, float):
    __slots__ = ()
    _plain = float


class _Complex(_Typed, complex):
    __slots__ = ()
    _plain = complex


_TYPED: dict[type, Callable[[Any], Any]] = {int: _Int, float: _Float, complex: _Complex}


def typed(leaves: Sequence[Any]) -> list[Any]:
    """Operands for functions and rules: Python numbers stay Python numbers, and have a dtype."""
    return [_TYPED[type(x)](x) if type(x) in _TYPED else x for x in leaves]


class RulesOfOwner:
    """A call of a function with rules; pickles omit the rules that its owner still has, which then need no names."""

    owner: Any
    _RULES: tuple[str, ...]

    def __getstate__(self) -> dict[str, Any]:
        owned = vars(self.owner)
        return {name: x for name, x in vars(self).items() if name not in self._RULES or owned[name] is not x}

    def __setstate__(self, state: dict[str, Any]) -> None:
        owned = vars(state["owner"])
        vars(self).update({name: owned[name] for name in self._RULES} | state)


class Forwarding:
    """A function with a rule; methods for other kinds of rules are those of the inner function, for stacking."""

    _RULES = ("def_vmap", "defjvp", "defjvps", "defvjp")

    def __getattr__(self, name: str) -> Any:
        within = vars(self).get("fun")
        if name in Forwarding._RULES and hasattr(within, name):
            return getattr(within, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __reduce_ex__(self, protocol: Any) -> Any:
        """An object that decorates a function of a module is pickled by that function's name, as functions are."""
        try:
            known = attrgetter(self.__qualname__)(sys.modules[self.__module__])
        except (AttributeError, KeyError, TypeError):
            known = None
        return self.__qualname__ if known is self else super().__reduce_ex__(protocol)


def resolve(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], what: str) -> tuple[Any, ...]:
    """All arguments by position, defaults included.

    Raises:
      TypeError: they do not fit the signature, or an argument is keyword-only.
    """
    if not kwargs and type(fun) is FunctionType and not fun.__dict__:  # a dictionary may have another signature
        code = fun.__code__
        if len(args) == code.co_argcount and not code.co_kwonlyargcount:
            return args
    try:
        signature = inspect.signature(fun)
    except (TypeError, ValueError):
        if kwargs:
            raise TypeError(
                f"{what}: arguments must be positional, since the signature of {fun!r} is not known, "
                f"got {', '.join(kwargs)} by keyword"
            ) from None
        return args
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    unplaced = [name for name in bound.kwargs if name in kwargs]
    if unplaced:
        raise TypeError(
            f"{what}: arguments must resolve to positions, but {', '.join(unplaced)} can be given by keyword only"
        )
    return bound.args


@dataclass(frozen=True, slots=True)
class _Hoisted:
    """The place of a tracer in an argument that is not differentiated."""

    number: int


class Arguments(NamedTuple):
    """The arguments of one call.

    Tracers in arguments that are not differentiated are operands of the call, too. They come first, and are constants
    for the rule.

    Attributes:
      fixed: by position, the arguments that are not differentiated, with `_Hoisted` in place of tracers.
      constants: these tracers.
      leaves: the leaves of the other arguments.
      in_tree: the structure of the tuple of the other arguments.
      total: the number of arguments.
    """

    fixed: dict[int, Any]
    constants: list[Any]
    leaves: list[Any]
    in_tree: Any
    total: int

    @property
    def operands(self) -> list[Any]:
        """The operands of the call: the constants, then the leaves."""
        return [*self.constants, *self.leaves]

    def skeleton(self) -> Arguments:
        """The same without values, for objects with the lifetime of programs."""
        return self._replace(constants=[None] * len(self.constants), leaves=[])

    def parted(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Operands split into the constants and the leaves."""
        first = len(self.constants)
        return list(operands[:first]), list(operands[first:])

    def fixed_with(self, constants: Sequence[Any]) -> dict[int, Any]:
        """The arguments that are not differentiated, by position, with other constants."""
        if not self.constants:
            return self.fixed
        return {i: tree.tree_map(lambda x: _filled(x, constants), x) for i, x in self.fixed.items()}

    def merged(self, constants: Sequence[Any], leaves: Sequence[Any]) -> list[Any]:
        """All arguments, with other constants and leaves."""
        fixed = self.fixed_with(constants)
        others = iter(tree.unflatten(self.in_tree, typed(leaves)))
        return [fixed[i] if i in fixed else next(others) for i in range(self.total)]

    def avals(self) -> list[Any]:
        """The types of the leaves."""
        return [core.get_aval(x) for x in self.leaves]


def _filled(x: Any, constants: Sequence[Any]) -> Any:
    return constants[x.number] if type(x) is _Hoisted else x


def split(args: Sequence[Any], positions: Sequence[int], what: str) -> Arguments:
    """Separate the arguments that are not differentiated.

    Raises:
      TypeError: an argument that is differentiated is not an array.
    """
    constants: list[Any] = []

    def hoisted(x: Any) -> Any:
        if not isinstance(x, core.Tracer):
            return x
        constants.append(x)
        return _Hoisted(len(constants) - 1)

    fixed = {i: _mapped_tracers(hoisted, args[i]) for i in positions if i < len(args)}
    dynamic = tuple(x for i, x in enumerate(args) if i not in fixed)
    leaves, in_tree = tree.flatten(dynamic)
    avals_of(leaves, dynamic, what, hint="; nondiff_argnums makes an argument part of the function")
    return Arguments(fixed, constants, leaves, in_tree, len(args))


def _mapped_tracers(function: Callable[[Any], Any], x: Any) -> Any:
    """An argument with a function applied to its tracers; an argument without tracers is returned itself."""
    return tree.tree_map(function, x) if any(isinstance(leaf, core.Tracer) for leaf in tree.tree_leaves(x)) else x


def without_positions(fun: Callable[..., Any], argnums: Any, argnames: Any, what: str) -> tuple[int, ...]:
    """The positions of the arguments that are not differentiated, from positions and names."""
    numbers = one_or_several(what, "nondiff_argnums", argnums, int)
    names = one_or_several(what, "nondiff_argnames", argnames, str)
    if numbers or names:
        try:
            parameters = list(inspect.signature(fun).parameters)
        except (TypeError, ValueError):
            parameters = []
        unknown = [name for name in names if name not in parameters]
        if unknown:
            raise ValueError(f"{what}: nondiff_argnames must be arguments of {fun!r}, got {unknown[0]!r}")
        numbers += tuple(parameters.index(name) for name in names)
    if any(i < 0 for i in numbers):
        raise ValueError(f"{what}: nondiff_argnums must be positions of arguments, got {numbers}")
    return tuple(sorted(set(numbers)))
