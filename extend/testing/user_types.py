"""Values of users' types among operands and results: the checks are those of a function of their arrays.

The function makes values of arrays, applies the primitive, and returns the arrays of the results. So all checks of
values and batching apply. Those of derivatives apply if the arrays of a tangent have the types of the value's inexact
arrays, in their order: a value then moves along a tangent by its arrays.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primax.core.avals import get_aval
from primax.extend import dtypes
from primax.extend.core.samples import Sample
from primax.extend.definition import define_primitive
from primax.interpreters.batching import AxisData, to_dim
from primax.interpreters.staging import trace_to_jaxpr
from primax.interpreters.tangents import Zero, instantiate_zeros

__all__ = ["arrays_of", "flat", "of_arrays", "operands", "positions_of_arrays", "rigid_arrays", "types_of_operands"]


@dataclass(frozen=True, eq=False, slots=True)
class _Sample(Sample):
    """A sample with the arrays of values as arguments.

    Attributes:
      kinds: for each operand the type of the value; None for an array.
    """

    kinds: Sequence[Any] = ()


def flat(aval: Any) -> list[Any]:
    """The types of the arrays in a value of a type; the type itself if it is not a user's."""
    return [kind for part in aval.part_types() for kind in flat(part)] if aval.composite else [aval]


def _from_arrays(aval: Any, arrays: Iterator[Any]) -> Any:
    if not aval.composite:
        return next(arrays)
    return aval.from_parts([_from_arrays(part, arrays) for part in aval.part_types()])


def _to_arrays(aval: Any, value: Any) -> list[Any]:
    if not aval.composite:
        return [value]
    return [x for part in aval.to_parts(value) for x in _to_arrays(get_aval(part), part)]


def _axes(aval: Any, dim: int) -> list[int | None]:
    """For each array in a value the axis that is axis `dim` of the value."""
    if not aval.composite:
        return [dim]
    axes: list[int | None] = []
    for i, part in enumerate(aval.part_types()):
        axis = aval.part_axis(i, dim)
        axes += [None] * len(flat(part)) if axis is None else _axes(part, axis)
    return axes


def _type_of(kind: Any, avals: Sequence[Any]) -> Any:
    """The type of a value like those of a type, with arrays of other types.

    Raises:
      TypeError: there is no such value.
    """
    found: list[Any] = []

    def run(*arrays: Any) -> list[Any]:
        found.append(get_aval(_from_arrays(kind, iter(arrays))))
        return []

    trace_to_jaxpr(run, list(avals))
    _require_types(found[0], avals)
    return found[0]


def _require_types(aval: Any, avals: Sequence[Any]) -> None:
    if [(a.shape, a.dtype) for a in flat(aval)] != [(a.shape, a.dtype) for a in avals]:
        listed = ", ".join(a.str_short() for a in avals)
        raise TypeError(f"a value of type {aval.str_short()} has no arrays of types {listed}")


def _make(*arrays: Any, kind: Any) -> Any:
    numbers = (bool, int, float, complex)
    arrays = tuple([np.asarray(x, get_aval(x).dtype) if type(x) in numbers else x for x in arrays])
    value = _from_arrays(kind, iter(arrays))
    _require_types(get_aval(value), list(map(get_aval, arrays)))
    return value


def _inexact(avals: Iterable[Any]) -> list[Any]:
    return [a for a in avals if dtypes.is_inexact(a.dtype)]


def _moves_by_arrays(aval: Any) -> bool:
    """Whether the arrays of a tangent have the types of the inexact arrays of a value."""
    try:
        tangent = aval.to_tangent_aval()
    except TypeError:
        return False
    return [(a.shape, a.dtype) for a in flat(tangent)] == [(a.shape, a.dtype) for a in _inexact(flat(aval))]


def rigid_arrays(avals: Iterable[Any]) -> list[int]:
    """The positions of arrays in values that do not move by their arrays."""
    flags = [aval.composite and not _moves_by_arrays(aval) for aval in avals for _ in flat(aval)]
    return [i for i, flag in enumerate(flags) if flag]


def of_arrays(sample: Sample) -> Sample:
    """A sample with the arrays of its values as arguments; the sample itself if there are none."""
    avals = list(map(get_aval, sample.args))
    if not any(aval.composite for aval in avals):
        return sample
    kinds = [aval if aval.composite else None for aval in avals]
    vary, reference = sample.vary, sample.reference

    def other(args: Sequence[Any], k: int) -> list[Any]:
        return _flattened(vary(_grouped(kinds, args), k))  # type: ignore[misc]

    def of_values(*args: Any, **params: Any) -> Any:
        return reference(*_grouped(kinds, args), **params)  # type: ignore[misc]

    given = {each.name: getattr(sample, each.name) for each in dataclasses.fields(Sample)}
    given["args"] = _flattened(sample.args)
    given["vary"] = None if vary is None else other
    given["reference"] = None if reference is None else of_values
    out = _Sample(**given, kinds=kinds)
    constant = (*positions_of_arrays(out, sample.constant), *rigid_arrays(avals))
    return dataclasses.replace(out, constant=constant)


def positions_of_arrays(sample: Sample, positions: Sequence[int]) -> list[int]:
    """The positions of the arrays in operands with these positions."""
    if not isinstance(sample, _Sample):
        return list(positions)
    owners = [i for i, kind in enumerate(sample.kinds) for _ in ([0] if kind is None else flat(kind))]
    return [i for i, owner in enumerate(owners) if owner in positions]


def _flattened(values: Iterable[Any]) -> list[Any]:
    return [x for value in values for x in _to_arrays(get_aval(value), value)]


def _grouped(kinds: Sequence[Any], args: Iterable[Any], make: Callable[..., Any] | None = None) -> list[Any]:
    """Operands from arrays: for each user's type the result of `make` for it and its arrays."""
    args = list(args)
    count = sum(1 if kind is None else len(flat(kind)) for kind in kinds)
    if len(args) != count:
        raise TypeError(f"the operands have {count} arrays, got {len(args)}")
    remaining = iter(args)
    make = make or (lambda kind, arrays: _from_arrays(kind, iter(arrays)))
    return [next(remaining) if kind is None else make(kind, [next(remaining) for _ in flat(kind)]) for kind in kinds]


def operands(sample: Sample, args: Sequence[Any]) -> Sequence[Any]:
    """The operands of a primitive, from arrays and under the current trace."""
    if not isinstance(sample, _Sample):
        return args
    return _grouped(sample.kinds, args, lambda kind, arrays: make_value_p.bind(*arrays, kind=kind))


def types_of_operands(sample: Sample, avals: Sequence[Any]) -> Sequence[Any]:
    """The types of the operands of a primitive, from those of arrays."""
    return _grouped(sample.kinds, avals, _type_of) if isinstance(sample, _Sample) else avals


def arrays_of(values: Iterable[Any]) -> list[Any]:
    """The arrays in values, under the current trace."""
    return [x for value in values for x in (read_value_p.bind(value) if get_aval(value).composite else [value])]


def _make_jvp(primals: Any, tangents: Any, *, kind: Any) -> Any:
    out = make_value_p.bind(*primals, kind=kind)
    aval = get_aval(out)
    moving = [t for t, a in zip(tangents, flat(aval), strict=True) if dtypes.is_inexact(a.dtype)]
    if all(type(t) is Zero for t in moving):
        return out, Zero.from_primal_value(out)
    moving = list(map(instantiate_zeros, moving))
    tangent = aval.to_tangent_aval()
    return out, make_value_p.bind(*moving, kind=tangent) if tangent.composite else moving[0]


def _make_transpose(ct: Any, *xs: Any, kind: Any) -> list[Any]:
    return [Zero(x.aval) for x in xs] if type(ct) is Zero else read_value_p.bind(ct)


def _make_batch(axis: AxisData, args: Any, dims: Any, *, kind: Any) -> Any:
    avals = [a if d is None else a.mapped(axis.size, d) for a, d in zip(map(get_aval, args), dims, strict=True)]
    whole = _type_of(kind, avals).unmapped(axis.size, 0)
    moved = []
    for x, d, wanted in zip(args, dims, _axes(whole, 0), strict=True):
        if wanted is None:
            moved.append(x if d is None else to_dim(x, axis.size, d, 0)[0])
        else:
            moved.append(to_dim(x, axis.size, d, wanted))
    return make_value_p.bind(*moved, kind=whole), 0


def _read_jvp(primals: Any, tangents: Any) -> Any:
    outs, (t,) = read_value_p.bind(*primals), tangents
    if type(t) is Zero:
        return outs, [Zero.from_primal_value(x) for x in outs]
    moving = iter(arrays_of([t]))
    return outs, [next(moving) if dtypes.is_inexact(x.dtype) else Zero.from_primal_value(x) for x in outs]


def _read_transpose(cts: Any, x: Any) -> list[Any]:
    if all(type(ct) is Zero for ct in cts):
        return [Zero(x.aval)]
    return [make_value_p.bind(*map(instantiate_zeros, cts), kind=x.aval)]


def _read_batch(args: Any, dims: Any) -> Any:
    return read_value_p.bind(*args), _axes(get_aval(args[0]), dims[0])


make_value_p = define_primitive(
    "make_value",
    impl=_make,
    abstract_eval=lambda *avals, kind: _type_of(kind, avals),
    jvp=_make_jvp,
    transpose=_make_transpose,
    axis_batch=_make_batch,
    doc="A value of a user's type, from its arrays.",
)

read_value_p: Any = define_primitive(
    "read_value",
    multiple_results=True,
    impl=lambda value: _to_arrays(get_aval(value), value),
    abstract_eval=flat,
    jvp=_read_jvp,
    transpose=_read_transpose,
    batch=_read_batch,
    doc="The arrays in a value of a user's type.",
)
