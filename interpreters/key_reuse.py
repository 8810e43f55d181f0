"""`debug_key_reuse`: a random key that is used twice is refused, with the lines of both uses.

The program of each computation is walked before it runs. A key has an origin, the value that it is a part of, and a
path of the operations that took the part out; a use of a part is a use of all that it is in, and of all that is in it.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from typing import Any

from primax.core.config import debug_key_reuse
from primax.core.diagnostics import user_line
from primax.core.errors import KeyReuseError
from primax.core.extended import ExtendedArray, has_extended_dtype
from primax.core.jaxpr import ClosedJaxpr, Jaxpr, Literal

__all__ = ["KeyUse", "register_key_use", "watched_keys"]

_users: dict[Any, bool] = {}  # primitives that take keys: whether they use them up
_SAME = frozenset(("squeeze", "reshape", "expand_dims", "copy", "device_put", "sharding_constraint", "reshard"))


def register_key_use(primitive: Any, *, uses_up: bool) -> None:
    """Say that a primitive makes something of a key: numbers, or other keys.

    Args:
      primitive: what is applied to the key.
      uses_up: whether the key must be used for nothing else.
    """
    _users[primitive] = uses_up


class Origin:
    """A value of keys that is a part of no other, and where parts of it were used."""

    __slots__ = ("used",)

    def __init__(self) -> None:
        self.used: dict[tuple[Any, ...], str] = {}


class KeyUse:
    """A key, or an array of keys: its origin, and what was taken out of it."""

    __slots__ = ("origin", "path")

    def __init__(self, origin: Origin | None = None, path: tuple[Any, ...] = ()) -> None:
        self.origin = Origin() if origin is None else origin
        self.path = path

    def part(self, what: Any) -> KeyUse:
        """A part of it."""
        return KeyUse(self.origin, (*self.path, what))

    def use(self, line: str) -> None:
        """Note that it is used up.

        Raises:
          KeyReuseError: it is already, or a part of it, or what it is a part of.
        """
        for path, before in self.origin.used.items():
            common = min(len(path), len(self.path))
            if path[:common] == self.path[:common]:
                raise KeyReuseError(
                    f"debug_key_reuse: a key must be used once, got one at {line} that is used at {before} too; "
                    "make keys of it with random.split, or pass random.clone(key) to draw the same numbers"
                )
        self.origin.used[self.path] = line


_known: dict[int, tuple[weakref.ref[Any], KeyUse]] = {}


def _of_array(x: ExtendedArray) -> KeyUse:
    """What is known of a key that has a value."""
    found = _known.get(id(x))
    if found is None or found[0]() is not x:
        _know(x, use := KeyUse())
        return use
    return found[1]


def _know(x: ExtendedArray, use: KeyUse) -> None:
    at = id(x)
    _known[at] = weakref.ref(x, lambda _: _known.pop(at, None)), use


def watched_keys(closed: ClosedJaxpr, args: Sequence[Any]) -> Any:
    """Look at what a program does with keys, before it runs.

    Args:
      closed: the program.
      args: its arguments.

    Returns:
      A function that is given the results, and takes note of those that are parts of keys; None if nothing is watched.

    Raises:
      KeyReuseError: a key is used twice.
    """
    if not debug_key_reuse.value:
        return None
    outs = _walk(closed.jaxpr, [*closed.consts, *args])

    def note(results: Sequence[Any]) -> None:
        for x, use in zip(results, outs, strict=True):
            if type(x) is ExtendedArray and use is not None:
                _know(x, use)

    return note


def _walk(jaxpr: Jaxpr, args: Sequence[Any]) -> list[KeyUse | None]:
    """The keys among the results of a program, from those among its arguments: `KeyUse`s, or arrays."""
    env: dict[Any, KeyUse | None] = {}

    def read(atom: Any) -> KeyUse | None:
        if isinstance(atom, Literal):
            return _of_array(atom.val) if type(atom.val) is ExtendedArray else None
        return env.get(atom)

    for var, x in zip([*jaxpr.constvars, *jaxpr.invars], args, strict=True):
        env[var] = x if isinstance(x, KeyUse) else _of_array(x) if type(x) is ExtendedArray else None
    for eqn in jaxpr.eqns:
        uses = list(map(read, eqn.invars))
        if not any(uses):
            outs = _fresh(eqn)
        else:
            outs = _outs(eqn, uses)
        env.update(zip(eqn.outvars, outs, strict=True))
    return list(map(read, jaxpr.outvars))


def _outs(eqn: Any, uses: list[KeyUse | None]) -> list[KeyUse | None]:
    """The keys among the results of an equation some of whose operands are keys."""
    line = user_line(eqn.source_info)
    kind = eqn.primitive.name
    if eqn.primitive in _users:
        for use in uses:
            if use is not None and _users[eqn.primitive]:
                use.use(line)
        return _fresh(eqn)
    walk = _CONTROL_FLOW.get((eqn.primitive.plugin, kind))
    if walk is not None:
        return walk(eqn, uses)
    for closed in _programs(eqn.params):
        if len(closed.in_avals) == len(uses) and len(closed.out_avals) == len(eqn.outvars):
            return _walk(closed.jaxpr, [*closed.consts, *uses])
    given = [use for use in uses if use is not None]
    if len(given) == 1 and kind in _SAME:
        return given * len(eqn.outvars)  # type: ignore[return-value]
    what = (kind, repr(eqn.params), *[repr(x) if isinstance(x, Literal) else id(x) for x in eqn.invars[1:]])
    return [given[0].part((*what, i)) if has_extended_dtype(var.aval) else None for i, var in enumerate(eqn.outvars)]


def _programs(params: dict[str, Any]) -> Iterator[ClosedJaxpr]:
    for value in params.values():
        if isinstance(value, ClosedJaxpr):
            yield value
        elif isinstance(value, Jaxpr) and not value.constvars:
            yield ClosedJaxpr(value, ())


def _of_scan(eqn: Any, uses: list[KeyUse | None]) -> list[KeyUse | None]:
    """Two steps of a loop: a key that each of them uses is used twice."""
    consts, carry = eqn.params["num_consts"], eqn.params["num_carry"]
    closed = eqn.params["jaxpr"]
    carried = uses[consts : consts + carry]
    outs: list[KeyUse | None] = []
    for step in range(min(eqn.params["length"], 2)):
        rows = [use and use.part(("step", step)) for use in uses[consts + carry :]]
        outs = _walk(closed.jaxpr, [*closed.consts, *uses[:consts], *carried, *rows])
        carried = outs[:carry]
    stacked = [use and KeyUse() for use in outs[carry:]]
    return [*carried, *stacked] if outs else _fresh(eqn)


def _of_while(eqn: Any, uses: list[KeyUse | None]) -> list[KeyUse | None]:
    """Two rounds of a loop."""
    first, second = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    test, body = eqn.params["cond_jaxpr"], eqn.params["body_jaxpr"]
    carried = uses[first + second :]
    for _ in range(2):
        _walk(test.jaxpr, [*test.consts, *uses[:first], *carried])
        carried = _walk(body.jaxpr, [*body.consts, *uses[first : first + second], *carried])
    return carried


def _of_cond(eqn: Any, uses: list[KeyUse | None]) -> list[KeyUse | None]:
    """What any branch uses is used, though no two of them run."""
    operands = uses[1:]
    origins = {id(use.origin): use.origin for use in operands if use is not None}
    before = {at: dict(origin.used) for at, origin in origins.items()}
    after = {at: dict(used) for at, used in before.items()}
    outs: list[KeyUse | None] = []
    for closed in eqn.params["branches"]:
        for at, origin in origins.items():
            origin.used = dict(before[at])
        outs = _walk(closed.jaxpr, [*closed.consts, *operands])
        for at, origin in origins.items():
            after[at] |= origin.used
    for at, origin in origins.items():
        origin.used = after[at]
    return outs


def _fresh(eqn: Any) -> list[KeyUse | None]:
    return [KeyUse() if has_extended_dtype(var.aval) else None for var in eqn.outvars]


# By the plugin too: another's primitive may have the same name, and other parameters.
_CONTROL_FLOW = {
    ("control_flow", "scan"): _of_scan,
    ("control_flow", "while"): _of_while,
    ("control_flow", "cond"): _of_cond,
}
