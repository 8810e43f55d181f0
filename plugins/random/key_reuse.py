"""`debug_key_reuse`: errors for random keys that are used twice, with the lines of both uses.

Before a program runs, its equations are examined. A key has an origin, the whole value that contains it, and a path,
the operations that took it from there. A use of a part is also a use of all parts that contain it or are inside it.
Positions, as in indexing, are operands of these operations. Two positions are the same if they have the same value, or
if the same operations computed them from the same values.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.provisional.avals import ExtendedArray, has_extended_dtype
from primax.extend.provisional.random import KeyReuseError
from primax.extend.provisional.tracing import user_line

key_use_rules = core.rule_tables["key_use"]


class Origin:
    """An array of keys that is not a part of another value, with the uses of its parts."""

    __slots__ = ("used",)

    def __init__(self) -> None:
        self.used: dict[tuple[Any, ...], str] = {}


class KeyUse:
    """The record of a key, or of an array of keys: its origin and its path."""

    __slots__ = ("origin", "path")

    def __init__(self, origin: Origin | None = None, path: tuple[Any, ...] = ()) -> None:
        self.origin = Origin() if origin is None else origin
        self.path = path

    def part(self, what: Any) -> KeyUse:
        """The record of a part."""
        return KeyUse(self.origin, (*self.path, what))

    def use(self, line: str) -> None:
        """Record that the key is consumed.

        Raises:
          KeyReuseError: the key, a part of it, or a value that it is a part of, is consumed already.
        """
        for path, before in self.origin.used.items():
            common = min(len(path), len(self.path))
            if path[:common] == self.path[:common]:
                raise KeyReuseError(
                    f"debug_key_reuse: a key must be used only once, got one at {line} that was used at {before}; "
                    "make new keys with random.split, or pass random.clone(key) to draw the same numbers"
                )
        self.origin.used[self.path] = line

    def merge(self, parts: Iterable[Any]) -> None:
        """If the first part is used, record a use of the whole instead of uses of parts."""
        lines = [self.origin.used.pop((*self.path, part), None) for part in parts]
        if lines and lines[0] is not None:
            self.use(lines[0])

    def kept(self) -> KeyUse:
        """The record of the same value after a loop or a branch."""
        return self

    def new(self) -> KeyUse:
        """The record of another value of this kind."""
        return KeyUse()


class JoinedUse(KeyUse):
    """The record of several keys, joined to one array; a use of the array is a use of each key.

    Args:
      pieces: the keys, in order.
    """

    __slots__ = ("pieces",)

    def __init__(self, pieces: Sequence[KeyUse], origin: Origin | None = None, path: tuple[Any, ...] = ()) -> None:
        super().__init__(origin, path)
        self.pieces = tuple(pieces)

    def piece(self, what: Any, i: int) -> JoinedUse:
        """A part that is one of the keys."""
        return JoinedUse(self.pieces[i : i + 1], self.origin, (*self.path, what))

    def use(self, line: str) -> None:
        super().use(line)
        for piece in self.pieces:
            piece.use(line)


def _origins(use: Any) -> Iterator[Origin]:
    """The origins of keys, and of the keys from which they were made."""
    if isinstance(use, KeyUse):
        yield use.origin
    if isinstance(use, JoinedUse):
        for piece in use.pieces:
            yield from _origins(piece)


class Number:
    """The record of a value that is not a key.

    Args:
      make: makes its mark, which is equal for equal values; None for a mark that differs from all others.
      known: the value if it is known.
    """

    __slots__ = ("_known", "_make", "_mark")

    def __init__(self, make: Callable[[], Hashable] | None = None, known: Any = None) -> None:
        self._make = make
        self._known = known
        self._mark: Hashable = None

    @property
    def mark(self) -> Hashable:
        if self._mark is None:
            self._mark = ("number", next(_count)) if self._make is None else self._make()
            self._make = None
        return self._mark

    def value(self) -> Any:
        """The value, or None if it is not known."""
        return None if self._known is None else np.asarray(self._known)

    def part(self, what: Any) -> Number:
        """The record of a part."""
        return Number()

    def merge(self, parts: Iterable[Any]) -> None:
        """Do nothing, since uses of numbers are not recorded."""

    def kept(self) -> Number:
        """The record of the value after a loop or a branch, which may have computed another one."""
        return Number()

    new = kept


_count = itertools.count()
_FEW = 64  # larger values are not read


def _record_of_value(x: Any) -> Number:
    """The record of a known value."""
    if np.size(x) > _FEW:
        return Number()

    def mark() -> Hashable:
        value = np.asarray(x)
        return value.dtype.str, value.shape, value.tobytes()

    return Number(mark, x)


_known: dict[int, tuple[weakref.ref[Any], KeyUse]] = {}


def _record_of_array(x: ExtendedArray) -> KeyUse:
    """The record of a key with a known value."""
    entry = _known.get(id(x))
    if entry is None or entry[0]() is not x:
        _remember(x, use := KeyUse())
        return use
    return entry[1]


def _remember(x: ExtendedArray, use: KeyUse) -> None:
    at = id(x)
    _known[at] = weakref.ref(x, lambda _: _known.pop(at, None)), use


def watch_keys(name: str, closed: core.ClosedJaxpr, args: Sequence[Any]) -> Callable[[Sequence[Any]], None]:
    """Examine the use of keys in a program before it runs.

    Args:
      name: its name.
      closed: the program.
      args: its arguments.

    Returns:
      A function of the results that records those that are parts of keys.

    Raises:
      KeyReuseError: a key is used twice.
    """
    uses = _walk(closed, args)

    def note(results: Sequence[Any]) -> None:
        for x, use in zip(results, uses, strict=True):
            if type(x) is ExtendedArray and isinstance(use, KeyUse):
                _remember(x, use)

    return note


Use = KeyUse | Number


def _record(x: Any) -> Use:
    """The record of an argument or constant, which may be a record already."""
    if isinstance(x, Use):
        return x
    return _record_of_array(x) if type(x) is ExtendedArray else _record_of_value(x)


def _walk(closed: core.ClosedJaxpr, args: Sequence[Any]) -> list[Use]:
    """The records of a program's results, from those of its arguments, or from their values."""
    jaxpr = closed.jaxpr
    env = dict(zip([*jaxpr.constvars, *jaxpr.invars], map(_record, [*closed.consts, *args]), strict=True))

    def read(atom: Any) -> Use:
        return _record(atom.val) if isinstance(atom, core.Literal) else env[atom]

    for eqn in jaxpr.eqns:
        env.update(zip(eqn.outvars, KeyWalk(eqn, list(map(read, eqn.invars))).results(), strict=True))
    return list(map(read, jaxpr.outvars))


class KeyWalk:
    """An equation of a program that is examined, with the records of its operands; `key_use` rules call its methods.

    Args:
      eqn: the equation.
      uses: for each operand its record.
    """

    def __init__(self, eqn: core.JaxprEqn, uses: list[Use]) -> None:
        self.eqn = eqn
        self.uses = uses
        self.keys = [use for use in uses if isinstance(use, KeyUse)]

    def __call__(self, closed: core.ClosedJaxpr, uses: Sequence[Use]) -> list[Use]:
        """The records of the results of an inner program."""
        return _walk(closed, uses)

    def results(self) -> list[Use]:
        """The records of the results: by the rule of the primitive if it has one, otherwise as parts of the key."""
        if not self.keys:
            return self.new()
        rule = key_use_rules.get_or_load(self.eqn.primitive)
        if rule is not None:
            return rule(self.uses, self.eqn, self)
        for closed in _programs(self.eqn.params):
            if len(closed.in_avals) == len(self.uses) and len(closed.out_avals) == len(self.eqn.outvars):
                return _walk(closed, self.uses)
        return self.parts()

    def new(self) -> list[Use]:
        """The results are new keys, and numbers that depend on the operands alone."""
        return [KeyUse() if has_extended_dtype(var.aval) else self._number(i) for i, var in enumerate(self.eqn.outvars)]

    def _number(self, i: int) -> Number:
        """A number that equations with the same operands compute, too."""
        if self.keys:
            return Number()
        return Number(
            lambda: hash((self.eqn.primitive.name, repr(self.eqn.params), i, *[use.mark for use in self.uses]))  # type: ignore[union-attr]
        )

    def consumed(self) -> list[Use]:
        """The operation consumes its keys; no other operation may do so.

        Raises:
          KeyReuseError: a key is consumed already.
        """
        line = user_line(self.eqn.source_info)
        for use in self.keys:
            use.use(line)
        return self.new()

    def same(self) -> list[Use]:
        """All results are the key among the operands."""
        return [*self.keys] * len(self.eqn.outvars) if len(self.keys) == 1 else self.parts()

    def joined(self) -> list[Use]:
        """The result is an array of the operands, one after the other."""
        return [JoinedUse(self.keys)]

    def row(self, starts: Sequence[Any]) -> list[Use]:
        """The result is a slice of the first operand, at positions that are integers or records of numbers."""
        keys = self.keys[0]
        shape = self.eqn.invars[0].aval.shape
        if (
            isinstance(keys, JoinedUse)
            and shape[0] == len(keys.pieces)
            and self.eqn.outvars[0].aval.shape == (1, *shape[1:])
        ):
            start = starts[0].value() if isinstance(starts[0], Number) else starts[0]
            if start is not None:
                return [keys.piece(self._part_name(), min(max(int(start), 0), shape[0] - 1))]
        return self.parts()

    def parts(self) -> list[Use]:
        """The results are parts of the key among the operands, or new keys if there are several different ones."""
        avals = [var.aval for var in self.eqn.outvars]
        if len({(id(use.origin), use.path) for use in self.keys}) > 1:  # as for loops that ended at different steps
            return [KeyUse() if has_extended_dtype(aval) else Number() for aval in avals]
        key, what = self.keys[0], self._part_name()
        return [key.part((*what, i)) if has_extended_dtype(aval) else Number() for i, aval in enumerate(avals)]

    def _part_name(self) -> tuple[Any, ...]:
        """The name of a part: the operation, and the numbers on which it depends."""
        marks = [use.mark for use in self.uses if isinstance(use, Number)]
        return self.eqn.primitive.name, repr(self.eqn.params), *marks

    def branches(self, programs: Sequence[core.ClosedJaxpr], uses: Sequence[Use]) -> list[Use]:
        """One of several programs runs: a key is consumed if any of them consumes it, and once if several do."""
        origins = {id(origin): origin for use in uses for origin in _origins(use)}
        before = {at: dict(origin.used) for at, origin in origins.items()}
        after = {at: dict(used) for at, used in before.items()}
        outs: list[Use] = []
        for closed in programs:
            for at, origin in origins.items():
                origin.used = dict(before[at])
            outs = _walk(closed, uses)
            for at, origin in origins.items():
                after[at] |= origin.used
        for at, origin in origins.items():
            origin.used = after[at]
        return [use.kept() for use in outs]


def _programs(params: dict[str, Any]) -> Iterator[core.ClosedJaxpr]:
    for value in params.values():
        if isinstance(value, core.ClosedJaxpr):
            yield value
        elif isinstance(value, core.Jaxpr) and not value.constvars:
            yield core.ClosedJaxpr(value, ())
