"""Programs on values of users' types become programs on the arrays in these values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from primax.extend import core
from primax.extend.core import AbstractValue, ClosedJaxpr, Jaxpr, JaxprEqn, UserType, get_aval, tree
from primax.extend.core.user_types import made_of_tracers
from primax.extend.interpreter import Interpreter, replay
from primax.plugins.user_types.parts import axes_of_arrays, from_arrays, to_arrays, tree_of_parts, types_of_parts


class Parts:
    """A value of a user's type while its program is split: a pytree of its arrays.

    Attributes:
      arrays: the arrays.
      aval: the type of the value; None after it was a part of a pytree, until it is that of a variable again.
      stacked: whether the arrays are results of a loop, stacked along axis 0 of each.
    """

    __slots__ = ("arrays", "aval", "stacked")

    def __init__(self, arrays: Sequence[Any], aval: Any = None, stacked: bool = False) -> None:
        self.arrays = arrays
        self.aval = aval
        self.stacked = stacked


tree.register_pytree_node(Parts, lambda x: (tuple(x.arrays), None), lambda _, arrays: Parts(arrays))


def _parts(aval: Any, value: Any) -> Any:
    """A value of a user's type as its parts; others unchanged."""
    return Parts(to_arrays(aval, value), aval) if aval.composite else value


def _value(aval: Any, x: Any) -> Any:
    """The reverse of `_parts`."""
    return from_arrays(aval, iter(x.arrays)) if aval.composite else x


def _of_type(aval: Any, x: Any) -> Any:
    """Parts with the type of their variable, which says where the axis of a loop is in each array."""
    if type(x) is not Parts:
        return x
    arrays = x.arrays
    if x.stacked:
        arrays = [
            _protocol(x).index(x, 0, 0) if axis is None else _protocol(x).moveaxis(x, 0, axis)
            for x, axis in zip(arrays, axes_of_arrays(aval, 0), strict=True)
        ]
    return Parts(arrays, aval)


def _protocol(x: Any) -> Any:
    return core.protocol_of(get_aval(x))


def _types(jaxpr: Jaxpr) -> Iterable[AbstractValue]:
    yield from (v.aval for v in (*jaxpr.constvars, *jaxpr.invars))
    for eqn in jaxpr.eqns:
        yield from (v.aval for v in eqn.outvars)


def _has_user_types(jaxpr: Jaxpr) -> bool:
    return any(aval.composite for aval in _types(jaxpr)) or any(map(_has_user_types, core.subjaxprs(jaxpr)))


class Splitting(Interpreter):
    """Evaluates a program on the parts of its values; primitives act on values of users' types by their impl rules."""

    inline = False

    def interpret(self, closed: ClosedJaxpr, *values: Any) -> list[Any]:
        return super().interpret(closed, *map(_of_type, closed.in_avals, values))

    def equation(self, eqn: JaxprEqn, values: list[Any]) -> list[Any]:
        composite = any(v.aval.composite for v in (*eqn.invars, *eqn.outvars))
        if composite or any(map(_has_user_types, core.jaxprs_in_params(eqn.params))):
            outs = super().equation(eqn, values)
            return [_of_type(v.aval, x) for v, x in zip(eqn.outvars, outs, strict=True)]
        return replay(eqn, values)

    def lift(self, constant: Any) -> Any:
        lifted = _parts(get_aval(constant), constant)
        if type(lifted) is Parts and any(isinstance(x, core.Tracer) for x in lifted.arrays):
            raise core.UnexpectedTracerError(made_of_tracers(constant))
        return lifted

    def handle_shard_map(self, eqn: JaxprEqn, *values: Any) -> Any:
        raise core.UnsupportedError(
            "shard_map: the function must compute with arrays only, but it has values of users' types inside, which "
            "are not supported there; compute with their arrays"
        )

    def unstack(self, value: Any) -> Any:
        if type(value) is not Parts:
            return value
        size = value.aval.shape[0]
        return Parts(
            [
                _protocol(x).broadcast(x, size, 0) if axis is None else _protocol(x).moveaxis(x, axis, 0)
                for x, axis in zip(value.arrays, axes_of_arrays(value.aval, 0), strict=True)
            ]
        )

    def stack(self, value: Any) -> Any:
        return Parts(value.arrays, stacked=True) if type(value) is Parts else value

    def default(self, eqn: JaxprEqn, *values: Any) -> Any:
        primitive = eqn.primitive
        impl = core.rule_tables["impl"].get_or_load(primitive)
        if impl is None and primitive.takes_types:
            arrays = [x for value in values for x in (value.arrays if type(value) is Parts else [value])]
            if primitive.multiple_results:
                remaining = iter(primitive.bind(*arrays, **eqn.params))
                return [_next_parts(v.aval, remaining) for v in eqn.outvars]
            return Parts([primitive.bind(x, **eqn.params) for x in arrays])
        if impl is None:
            kinds = sorted({v.aval.str_short() for v in (*eqn.invars, *eqn.outvars) if v.aval.composite})
            raise core.MissingRuleError(
                f"{primitive} has no impl rule, by which compiled programs compute with values of type "
                f"{', '.join(kinds)}; define one that calls functions of arrays on their parts"
            )
        params = primitive.get_bind_params(eqn.params)
        out = impl(*[_value(v.aval, x) for v, x in zip(eqn.invars, values, strict=True)], **params)
        if not primitive.multiple_results:
            return _parts(eqn.outvars[0].aval, out)
        return [_parts(v.aval, x) for v, x in zip(eqn.outvars, out, strict=True)]


def _next_parts(aval: Any, arrays: Iterator[Any]) -> Any:
    return Parts([next(arrays) for _ in types_of_parts(aval)]) if aval.composite else next(arrays)


@dataclass(frozen=True, eq=False)
class Split:
    """A program on parts.

    Attributes:
      closed: the program, which takes and returns arrays.
      in_avals: the types of the arguments of the program that was split.
      out_avals: the types of its results.
    """

    closed: ClosedJaxpr
    in_avals: Sequence[Any]
    out_avals: Sequence[Any]

    def leaves(self, args: Sequence[Any]) -> list[Any]:
        """The arrays of arguments; for a type in place of an argument, the types of its arrays."""
        arrays: list[Any] = []
        for aval, arg in zip(self.in_avals, args, strict=True):
            arrays += types_of_parts(aval) if isinstance(arg, UserType) else to_arrays(aval, arg)
        return arrays

    def values(self, arrays: Sequence[Any]) -> list[Any]:
        """The results from their arrays."""
        remaining = iter(arrays)
        return [from_arrays(aval, remaining) for aval in self.out_avals]

    def trees(self, in_tree: Any, out_tree: Any) -> tuple[Any, Any]:
        """The structures of the arguments and of the results, with the arrays as leaves; see `unpacked`."""
        return tree_of_parts(in_tree, self.in_avals), tree_of_parts(out_tree, self.out_avals)

    def target(self, target: Any) -> Any:
        """The target of the program, with the entries for each argument repeated for its arrays."""
        return target._replace(donated=self.of_inputs(target.donated))

    def of_inputs(self, items: Sequence[Any] | None) -> Any:
        """An item for each argument, repeated for its arrays."""
        return _repeated(self.in_avals, items)

    def of_outputs(self, items: Sequence[Any] | None) -> Any:
        """An item for each result, repeated for its arrays."""
        return _repeated(self.out_avals, items)


def _repeated(avals: Sequence[Any], items: Sequence[Any] | None) -> Any:
    if not items:
        return items
    return tuple([item for aval, item in zip(avals, items, strict=True) for _ in types_of_parts(aval)])


def split(closed: ClosedJaxpr) -> Split | None:
    """The program on parts, kept with it; None if it has no values of users' types."""
    return core.cached(closed, ("split",), lambda: (_split(closed),))[0]


def _split(closed: ClosedJaxpr) -> Split | None:
    if not _has_user_types(closed.jaxpr):
        return None
    in_avals, out_avals = list(closed.in_avals), list(closed.out_avals)
    types = [kind for aval in in_avals for kind in types_of_parts(aval)]

    def run(*arrays: Any) -> list[Any]:
        remaining = iter(arrays)
        outs = Splitting().interpret(closed, *[_next_parts(aval, remaining) for aval in in_avals])
        return [x for out in outs for x in (out.arrays if type(out) is Parts else [out])]

    program = core.trace_to_jaxpr(run, types, closed.jaxpr.debug_info)
    return Split(program, in_avals, out_avals)
