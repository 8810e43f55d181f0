"""`debug_key_reuse`: errors for random keys that are used twice, with the lines of both uses.

Before a program runs, its equations are examined. A key has an origin, the whole value that contains it, and a path,
the operations that took it from there. A use of a part is also a use of all parts that contain it or are inside it.
Positions, as in indexing, are operands of these operations. Two positions are the same if they have the same value, or
if the same operations computed them from the same values.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from primax.core.config import debug_key_reuse
from primax.core.diagnostics import user_line
from primax.core.errors import KeyReuseError
from primax.core.jaxpr import ClosedJaxpr, Jaxpr, Literal
from primax.interpreters.runtime.extended_array import ExtendedArray, has_extended_dtype

__all__ = ["KeyUse", "register_key_use", "watched_keys"]

_users: dict[Any, bool] = {}  # for each primitive that takes keys: whether it consumes them
_SAME = frozenset(("squeeze", "reshape", "expand_dims", "copy", "device_put", "sharding_constraint", "reshard"))


def register_key_use(primitive: Any, *, uses_up: bool) -> None:
    """Declare that a primitive consumes a key, to make numbers or other keys.

    Args:
      primitive: the primitive that takes the key.
      uses_up: whether no other operation may use the key.
    """
    _users[primitive] = uses_up


class Origin:
    """An array of keys that is not a part of another value, with the uses of its parts."""

    __slots__ = ("used",)

    def __init__(self) -> None:
        self.used: dict[tuple[Any, ...], str] = {}


class KeyUse:
    """A key, or an array of keys: its origin and its path."""

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


class JoinedUse(KeyUse):
    """Several keys, joined to one array; a use of the array is a use of each key.

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
    """A value that is not a key.

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


_count = itertools.count()
_FEW = 64  # larger values are not read


def _number_of(x: Any) -> Number:
    """The record of a known value."""
    if np.size(x) > _FEW:
        return Number()

    def mark() -> Hashable:
        value = np.asarray(x)
        return value.dtype.str, value.shape, value.tobytes()

    return Number(mark, x)


def _computed(eqn: Any, i: int, uses: list[KeyUse | Number]) -> Number:
    """A result of an equation, determined by the marks of the operands."""
    if eqn.primitive in _users or any(isinstance(use, KeyUse) for use in uses):
        return Number()
    return Number(lambda: hash((eqn.primitive.name, repr(eqn.params), i, *[use.mark for use in uses])))  # type: ignore[union-attr]


_known: dict[int, tuple[weakref.ref[Any], KeyUse]] = {}


def _of_array(x: ExtendedArray) -> KeyUse:
    """The record of a key with a known value."""
    found = _known.get(id(x))
    if found is None or found[0]() is not x:
        _know(x, use := KeyUse())
        return use
    return found[1]


def _know(x: ExtendedArray, use: KeyUse) -> None:
    at = id(x)
    _known[at] = weakref.ref(x, lambda _: _known.pop(at, None)), use


def watched_keys(closed: ClosedJaxpr, args: Sequence[Any]) -> Any:
    """Examine the use of keys in a program before it runs.

    Args:
      closed: the program.
      args: its arguments.

    Returns:
      A function of the results that records those that are parts of keys; None if there is nothing to record.

    Raises:
      KeyReuseError: a key is used twice.
    """
    if not debug_key_reuse.value:
        return None
    outs = _walk(closed.jaxpr, [*closed.consts, *args])

    def note(results: Sequence[Any]) -> None:
        for x, use in zip(results, outs, strict=True):
            if type(x) is ExtendedArray and isinstance(use, KeyUse):
                _know(x, use)

    return note


Use = KeyUse | Number


def _walk(jaxpr: Jaxpr, args: Sequence[Any]) -> list[Use]:
    """The marks of a program's results, from those of its arguments: `KeyUse`s, `Number`s, or values."""
    env: dict[Any, Use] = {}

    def known(x: Any) -> Use:
        if isinstance(x, Use):
            return x
        return _of_array(x) if type(x) is ExtendedArray else _number_of(x)

    def read(atom: Any) -> Use:
        return known(atom.val) if isinstance(atom, Literal) else env[atom]

    for var, x in zip([*jaxpr.constvars, *jaxpr.invars], args, strict=True):
        env[var] = known(x)
    for eqn in jaxpr.eqns:
        uses = list(map(read, eqn.invars))
        outs = _outs(eqn, uses) if any(isinstance(use, KeyUse) for use in uses) else _fresh(eqn, uses)
        env.update(zip(eqn.outvars, outs, strict=True))
    return list(map(read, jaxpr.outvars))


def _outs(eqn: Any, uses: list[Use]) -> list[Use]:
    """The marks of the results of an equation with keys among its operands."""
    line = user_line(eqn.source_info)
    kind = eqn.primitive.name
    given = [use for use in uses if isinstance(use, KeyUse)]
    if eqn.primitive in _users:
        for use in given:
            if _users[eqn.primitive]:
                use.use(line)
        return _fresh(eqn, uses)
    walk = _CONTROL_FLOW.get((eqn.primitive.plugin, kind))
    if walk is not None:
        return walk(eqn, uses)
    for closed in _programs(eqn.params):
        if len(closed.in_avals) == len(uses) and len(closed.out_avals) == len(eqn.outvars):
            return _walk(closed.jaxpr, [*closed.consts, *uses])
    if kind in ("concatenate", "stack"):
        return [JoinedUse(given)]
    if len(given) == 1 and kind in _SAME:
        return given * len(eqn.outvars)  # type: ignore[return-value]
    if len({(id(use.origin), use.path) for use in given}) > 1:  # as for elements whose loops ended at different steps
        return [KeyUse() if has_extended_dtype(var.aval) else Number() for var in eqn.outvars]
    what = (kind, repr(eqn.params), *[use.mark for use in uses if isinstance(use, Number)])
    joined = given[0]
    if kind in ("slice", "dynamic_slice") and isinstance(joined, JoinedUse):
        place = _single(eqn, uses, len(joined.pieces))
        if place is not None:
            return [joined.piece(what, place)]
    return [
        given[0].part((*what, i)) if has_extended_dtype(var.aval) else Number() for i, var in enumerate(eqn.outvars)
    ]


def _single(eqn: Any, uses: list[Use], count: int) -> int | None:
    """The row that a slice takes from an array of `count` keys; None if it is unknown."""
    shape = eqn.invars[0].aval.shape
    if shape[0] != count or eqn.outvars[0].aval.shape != (1, *shape[1:]):
        return None
    if eqn.primitive.name == "slice":
        return eqn.params["start_indices"][0]  # type: ignore[no-any-return]
    start = uses[1].value() if isinstance(uses[1], Number) else None
    return None if start is None else min(max(int(start), 0), count - 1)


def _programs(params: dict[str, Any]) -> Iterator[ClosedJaxpr]:
    for value in params.values():
        if isinstance(value, ClosedJaxpr):
            yield value
        elif isinstance(value, Jaxpr) and not value.constvars:
            yield ClosedJaxpr(value, ())


def _of_scan(eqn: Any, uses: list[Use]) -> list[Use]:
    """Two steps of a loop: a key that both steps use is used twice."""
    consts, carry = eqn.params["num_consts"], eqn.params["num_carry"]
    closed = eqn.params["jaxpr"]
    carried = uses[consts : consts + carry]
    outs: list[Use] = []
    for step in range(min(eqn.params["length"], 2)):
        rows = [use.part(("step", step)) if isinstance(use, KeyUse) else Number() for use in uses[consts + carry :]]
        outs = _walk(closed.jaxpr, [*closed.consts, *uses[:consts], *carried, *rows])
        carried = outs[:carry]
    for use in uses[consts + carry :]:  # all rows are used if the first one is
        if isinstance(use, KeyUse):
            lines = [use.origin.used.pop((*use.path, ("step", step)), None) for step in range(2)]
            if lines[0] is not None:
                use.use(lines[0])
    stacked = [type(use)() for use in outs[carry:]]
    return [*_left(carried), *stacked] if outs else _fresh(eqn, uses)


def _of_while(eqn: Any, uses: list[Use]) -> list[Use]:
    """Two steps of a loop."""
    first, second = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    test, body = eqn.params["cond_jaxpr"], eqn.params["body_jaxpr"]
    carried = uses[first + second :]
    for _ in range(2):
        _walk(test.jaxpr, [*test.consts, *uses[:first], *carried])
        carried = _walk(body.jaxpr, [*body.consts, *uses[first : first + second], *carried])
    return _left(carried)


def _of_cond(eqn: Any, uses: list[Use]) -> list[Use]:
    """A key is used if any branch uses it; uses in two branches count as one."""
    operands = uses[1:]
    origins = {id(origin): origin for use in operands for origin in _origins(use)}
    before = {at: dict(origin.used) for at, origin in origins.items()}
    after = {at: dict(used) for at, used in before.items()}
    outs: list[Use] = []
    for closed in eqn.params["branches"]:
        for at, origin in origins.items():
            origin.used = dict(before[at])
        outs = _walk(closed.jaxpr, [*closed.consts, *operands])
        for at, origin in origins.items():
            after[at] |= origin.used
    for at, origin in origins.items():
        origin.used = after[at]
    return _left(outs)


def _left(outs: list[Use]) -> list[Use]:
    """The marks of the results of a loop or a branch: keys as recorded, and unknown numbers."""
    return [use if isinstance(use, KeyUse) else Number() for use in outs]


def _fresh(eqn: Any, uses: list[Use]) -> list[Use]:
    """The marks of the results of an equation that takes no keys, or uses them."""
    return [KeyUse() if has_extended_dtype(var.aval) else _computed(eqn, i, uses) for i, var in enumerate(eqn.outvars)]


# Keyed by plugin, too: another plugin's primitive may have the same name and other parameters.
_CONTROL_FLOW = {
    ("control_flow", "scan"): _of_scan,
    ("control_flow", "while"): _of_while,
    ("control_flow", "cond"): _of_cond,
}
