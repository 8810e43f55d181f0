"""Signatures: a call split into static values and typed leaves."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from primax.core import tree
from primax.core.arguments import name_of, one_or_several
from primax.core.avals import NO_VALUE, AbstractValue, ShapeDtypeStruct, get_aval
from primax.core.cache_keys import equal_is_same, exact
from primax.core.diagnostics import of_call
from primax.core.errors import ArgumentError
from primax.core.text.debug_info import places, source_of
from primax.core.trace_state import thread


def _parameters(fun: Callable[..., Any]) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        return None


def positions_and_names(
    fun: Callable[..., Any], argnums: Any, argnames: Any, what: str, function: str
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The positions and names of the same arguments, each inferred from the other.

    Args:
      fun: the function with these arguments.
      argnums: an int or ints, or None.
      argnames: a name or names, or None.
      what: `static` or `donate`, for messages.
      function: the name of the calling function, for messages.

    Raises:
      TypeError: `argnums` are not ints, or `argnames` are not names.
      ValueError: the function does not have a position or a name.
    """
    numbers = () if argnums is None else one_or_several(function, f"{what}_argnums", argnums, int)
    names = () if argnames is None else one_or_several(function, f"{what}_argnames", argnames, str)
    parameters = _parameters(fun)
    if parameters is None:
        return numbers, names
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    keywords = any(p.kind is p.VAR_KEYWORD for p in parameters)
    known = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    unnamed = {p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)}
    fun_name = name_of(fun, repr(fun))
    for i in numbers:
        if not variadic and not -len(positional) <= i < len(positional):
            raise ValueError(
                f"{function}: {what}_argnums must be positions of arguments of {fun_name}, "
                f"which has {len(positional)}; got {i}"
            )
    for name in names:
        if name not in known and (name in unnamed or not keywords):
            raise ValueError(
                f"{function}: {what}_argnames must be names of arguments that {fun_name} takes by keyword, "
                f"got {name!r}; it has {sorted(known)}"
            )
    if not variadic:
        numbers = tuple(i % len(positional) for i in numbers)
    elif any(i < 0 for i in numbers):
        raise ValueError(
            f"{function}: {what}_argnums must not be negative, since {fun_name} takes any number of arguments; "
            f"got {argnums}"
        )
    order = {p.name: i for i, p in enumerate(positional)}
    if argnames is None:
        names = tuple(p.name for i, p in enumerate(positional) if i in numbers and p.kind is p.POSITIONAL_OR_KEYWORD)
    if argnums is None:
        numbers = tuple(order[name] for name in names if name in order)
    return numbers, names


class Static:
    """Static arguments as part of a key; equal to others only if exactly the same; see `primax.core.cache_keys`."""

    __slots__ = ("_hash", "_key", "keywords", "positional")

    def __init__(self, positional: tuple[Any, ...], keywords: tuple[Any, ...]) -> None:
        self.positional = positional
        self.keywords = keywords
        self._key = tuple([(where, type(value), exact(value)) for where, value in (*positional, *keywords)])
        self._hash = hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return type(other) is Static and self._key == other._key


class Unhashable(Static):
    """Static arguments, some without a hash: equal only to themselves."""

    __slots__ = ()
    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def __init__(self, positional: tuple[Any, ...], keywords: tuple[Any, ...]) -> None:
        self.positional = positional
        self.keywords = keywords


class Exact:
    """A static argument, wrapped for jaxlib: equal to another only if the values are exactly the same."""

    __slots__ = ("_hash", "_key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._key = type(value), exact(value)
        self._hash = hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return type(other) is Exact and self._key == other._key

    def __repr__(self) -> str:
        return repr(self.value)


STATIC = "; static_argnums makes an argument part of the program"


class StaticArguments:
    """Separates the static arguments of a call."""

    __slots__ = ("names", "positions")

    def __init__(self, positions: Sequence[int], names: Sequence[str]) -> None:
        self.positions = tuple(sorted(set(positions)))
        self.names = frozenset(names)

    def split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], function: str, any_value: bool = False
    ) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
        """The dynamic arguments, the dynamic keywords, and a hashable record of the static ones.

        Args:
          args: the positional arguments.
          kwargs: the keywords.
          function: the name of the calling function, for messages.
          any_value: whether static arguments may be unhashable; the record then equals no other.

        Raises:
          ValueError: a static argument is unhashable, and `any_value` is False.
        """
        if not self.positions and not self.names:
            return args, kwargs, ()
        static = tuple((i, args[i]) for i in self.positions if i < len(args))
        chosen = {i for i, _ in static}
        dynamic = tuple(x for i, x in enumerate(args) if i not in chosen)
        static_kwargs = tuple(sorted((name, kwargs[name]) for name in kwargs.keys() & self.names)) if kwargs else ()
        if static_kwargs:
            kwargs = {name: x for name, x in kwargs.items() if name not in self.names}
        for where, value in (*static, *static_kwargs):
            if getattr(type(value), "is_reference", False):
                raise ValueError(f"{function}: static argument {where!r} must not be a reference, got {value!r}")
            try:
                hash(value)
            except TypeError:
                if any_value:
                    return dynamic, kwargs, Unhashable(static, static_kwargs)
                instead = "it as an argument that is not static" if hasattr(value, "dtype") else "a tuple instead"
                raise ValueError(
                    f"{function}: Non-hashable static arguments are not supported, got {value!r} of type "
                    f"{type(value).__name__} as argument {where!r}; pass {instead}"
                ) from None
        return dynamic, kwargs, Static(static, static_kwargs)

    def equal_are_same(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether each static argument of a call is the same as any value of its type that equals it."""
        for i in self.positions:
            if i < len(args) and not equal_is_same(args[i]):
                return False
        return not kwargs or all(equal_is_same(kwargs[name]) for name in self.names & kwargs.keys())

    def wrapped(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of a call, static ones wrapped: jaxlib does not distinguish equal values of the same type.

        Raises:
          TypeError: a static argument is unhashable.
        """
        exact = list(args)
        for i in self.positions:
            if i < len(exact):
                exact[i] = Exact(exact[i])
        return exact, {name: Exact(x) if name in self.names else x for name, x in kwargs.items()} if kwargs else kwargs

    @staticmethod
    def unwrapped(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The original arguments of a call, from the result of `wrapped`."""
        return tuple([x.value if type(x) is Exact else x for x in args]), {
            name: x.value if type(x) is Exact else x for name, x in kwargs.items()
        }

    @staticmethod
    def merge(dynamic: Iterable[Any], kwargs: dict[str, Any], record: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Insert the static arguments again: the inverse of `split`."""
        if record == ():
            return tuple(dynamic), kwargs
        args = list(dynamic)
        for i, value in record.positional:
            args.insert(i, value)
        return tuple(args), {**kwargs, **dict(record.keywords)}


class Signature(NamedTuple):
    """The key of a program among the programs of its function: everything that the program depends on.

    Attributes:
      transformation: the name of the transformation that stages the function.
      in_tree: the structure of the arguments.
      avals: the types of their leaves.
      statics: the record of the static arguments.
      static_positions: their positions; None if the arguments are not those of a call, `(args, kwargs)`.
      variant: distinguishes several programs for one function.
      config: the options that tracing reads.
      axes: the sizes of the named axes.
    """

    transformation: str
    in_tree: Any
    avals: tuple[Any, ...]
    statics: Any
    static_positions: tuple[int, ...] | None
    variant: Any
    config: Any
    axes: tuple[Any, ...]


def read_call(
    transformation: str,
    static: StaticArguments,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name: str,
    variant: Any = None,
    type_of: Callable[[Any], Any] = get_aval,
    fun: Any = None,
) -> tuple[Signature, list[Any]]:
    """The signature of a call, and its flat arguments.

    Args:
      transformation: the name of the transformation that stages the function.
      static: the static arguments.
      args: the positional arguments.
      kwargs: the keyword arguments.
      name: the name of the function, for messages.
      variant: see `Signature`.
      type_of: returns the type of a leaf.
      fun: the function, for messages.
    """
    dynamic, keywords, statics = static.split(args, kwargs, name)
    call = dynamic, keywords
    leaves, in_tree = tree.flatten(call, None, (args, kwargs))
    avals = avals_of(leaves, call, name, call=True, type_of=type_of, hint=STATIC, fun=fun, static=static.positions)
    axes = thread.axes
    signature = Signature(
        transformation,
        in_tree,
        tuple(avals),
        statics,
        static.positions,
        variant,
        thread.config,
        tuple(axes.items()) if axes else (),
    )
    return signature, leaves


def shaped_abstractify(x: Any) -> Any:
    """The type of a value, or of an object with a shape and a dtype.

    Raises:
      TypeError: `x` is neither.
    """
    if isinstance(x, AbstractValue):
        return x
    try:
        return get_aval(x)
    except TypeError:
        if isinstance(x, type | np.ndarray) or not (hasattr(x, "shape") and hasattr(x, "dtype")):
            raise
        weak_type = getattr(x, "weak_type", False)
        return get_aval(ShapeDtypeStruct(x.shape, x.dtype, weak_type=weak_type is True))


def aval_of(
    function: str,
    argument: str,
    x: Any,
    *,
    expected: str = "an array or a number",
    hint: str = "",
    type_of: Callable[[Any], Any] = get_aval,
) -> Any:
    """The type of an argument, or of a leaf of one.

    Args:
      function: the name of the calling function, for messages.
      argument: the name of the argument, for messages.
      x: the value.
      expected: the requirement on it, for messages.
      hint: advice for the case that `x` is not an array.
      type_of: returns the type of a value.

    Raises:
      TypeError: `x` has no type in programs.
      ValueError: `x` is an array with a mask.
      OverflowError: `x` is an int out of range.
    """
    try:
        return type_of(x)
    except NO_VALUE as error:
        kind = next(kind for kind in NO_VALUE if isinstance(error, kind))
        tail = hint if kind is TypeError else ""
        reason = str(error).removesuffix(of_call())  # the message names its own function
        raise kind(f"{function}: {argument} must be {expected}: {reason}{tail}") from None


def avals_of(
    leaves: Sequence[Any],
    args: Any,
    function: str,
    *,
    call: bool = False,
    type_of: Callable[[Any], Any] = get_aval,
    argument: str = "argument",
    hint: str = "",
    fun: Any = None,
    static: Collection[int] = (),
) -> list[Any]:
    """The types of the leaves of a call.

    Args:
      leaves: the values.
      args: the tree of these leaves, for messages.
      function: the name of the calling function, for messages.
      call: whether `args` is a pair of positional and keyword arguments; otherwise it is a tuple of arguments.
      type_of: returns the type of a leaf.
      argument: the name of `args`, for messages.
      hint: see `aval_of`.
      fun: the function that is called, whose parameters the message then names.
      static: the positions of its static arguments, which `args` lacks.

    Raises:
      TypeError, ValueError, OverflowError: as for `aval_of`; the message names the path of the leaf.
    """
    try:
        return [type_of(x) for x in leaves]
    except NO_VALUE:
        for place, leaf in zip(places(args, fun, argument, call, static), leaves, strict=True):
            aval_of(function, place, leaf, hint=hint, type_of=type_of)
        raise


def check_outputs(leaves: Sequence[Any], out_tree: Any, fun: Any, name: str | None = None) -> None:
    """Raise an error for a result of a function (or its name) that is not an array, with its path and the line."""
    for i, x in enumerate(leaves):
        try:
            aval = get_aval(x)
        except NO_VALUE:
            marked = tree.tree_unflatten(out_tree, range(len(leaves)))
            path = next(tree.keystr(p) for p, j in tree.tree_leaves_with_path(marked) if j == i)
            where = "" if isinstance(fun, str) else f"; {source_of(fun, name)} returned it"
            aval_of(name or (fun if isinstance(fun, str) else name_of(fun)), f"the result{path}", x, hint=where)
            raise
        if aval.mutable:
            who, got = (
                name or (fun if isinstance(fun, str) else name_of(fun)),
                f"a reference of type {aval.str_short()}",
            )
            raise ValueError(f"{who}: a result must be an array, got {got}; return its contents, ref[...]")


def argument_positions(what: str, argnums: Any) -> tuple[int, ...]:
    try:
        return (operator.index(argnums),)
    except TypeError:
        pass
    try:
        return tuple(operator.index(i) for i in argnums)
    except TypeError:
        raise TypeError(f"{what}: argnums must be an int or a sequence of ints, got {argnums!r}") from None


def split_arguments(
    what: str, fun: Callable[..., Any], positions: Sequence[int], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Any], Callable[..., Any]]:
    """The arguments at some positions, and `fun` as a function of only those.

    Raises:
      ArgumentError: there is no argument at one of the positions.
      ValueError: two positions are the same.
    """
    for i in positions:
        if not -len(args) <= i < len(args):
            raise ArgumentError(
                f"{what}: argnums must be positions of the arguments, got {i} for a call of "
                f"{name_of(fun)} with {len(args)} positional arguments"
            )
    places = [i % len(args) for i in positions]
    if len(set(places)) < len(places):
        raise ValueError(f"{what}: argnums must be distinct, got {tuple(positions)} for {len(args)} arguments")
    if places == [0] and len(args) == 1 and not kwargs:
        return [args[0]], fun

    def call(*chosen: Any) -> Any:
        mixed = list(args)
        for i, x in zip(places, chosen, strict=True):
            mixed[i] = x
        return fun(*mixed, **kwargs)

    call.__name__ = name_of(fun)
    return [args[i] for i in places], call
