"""Operations whose attributes are sizes, in modules for arrays with symbolic dimensions.

StableHLO has two forms of such operations: one has the sizes as attributes, the other as operands. The functions here
build the second form if a size is symbolic. XLA compiles only the first; `refine_polymorphic_shapes` converts modules
whose arguments have known shapes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from primax.core import _jaxlib
from primax.core.avals import ShapedArray
from primax.core.errors import UnsupportedError
from primax.core.symbolic_dims import Atom, SymbolicDim, is_symbolic, solutions
from primax.interpreters.runtime.ir_types import aval_to_ir_type, cached_ir_type, ir_constant

__all__ = [
    "broadcast_in_dim",
    "dynamic_slice",
    "iota",
    "known_sizes",
    "pad",
    "padded",
    "reshape",
    "size_value",
    "sizes_of_arguments",
    "sizes_value",
    "slice_op",
]

_building = threading.local()
_INT64 = np.dtype(np.int64)


@contextmanager
def known_sizes(values: Mapping[Atom, Any]) -> Iterator[None]:
    """Inside, the named sizes of the module that is being built have these IR values."""
    before = getattr(_building, "values", None)
    _building.values = dict(values)
    try:
        yield
    finally:
        _building.values = before


def size_value(size: Any, dtype: Any = _INT64) -> Any:
    """A size as an IR value: a scalar of an integer dtype.

    Raises:
      UnsupportedError: a named size of it is not that of an axis of an argument of the module.
    """
    if not isinstance(size, SymbolicDim):
        return ir_constant(np.asarray(size, dtype))
    if dtype != _INT64:
        return _made("convert", aval_to_ir_type(ShapedArray((), dtype)), [size_value(size)])
    hlo = _jaxlib.hlo
    total = None
    for monomial, count in size.terms.items():
        value = None if count == 1 and monomial else ir_constant(np.int64(count))
        for atom, power in monomial:
            factor = _atom_value(atom)
            for _ in range(power):
                value = factor if value is None else hlo.multiply(value, factor)
        total = value if total is None else hlo.add(total, value)
    return total


def _atom_value(atom: Atom) -> Any:
    hlo = _jaxlib.hlo
    if atom.kind == "size":
        try:
            return _building.values[atom]
        except (AttributeError, KeyError, TypeError):
            raise UnsupportedError(
                f"the size '{atom}' has no value here; it has one in a program with an argument that has an axis of "
                f"this length, or of a length like 2*{atom} + 1"
            ) from None
    a, b = map(size_value, atom.operands)
    if atom.kind == "max":
        return hlo.maximum(a, b)
    if atom.kind == "min":
        return hlo.minimum(a, b)
    rest, zero = hlo.remainder(a, b), ir_constant(np.int64(0))
    wrong = hlo.and_(_differ(rest, zero), _differ(hlo.sign(a), hlo.sign(b)))
    if atom.kind == "mod":
        return hlo.select(wrong, hlo.add(rest, b), rest)
    quotient = hlo.divide(a, b)
    return hlo.select(wrong, hlo.subtract(quotient, ir_constant(np.int64(1))), quotient)


def _differ(a: Any, b: Any) -> Any:
    hlo = _jaxlib.hlo
    signed = hlo.ComparisonTypeAttr.get("SIGNED")
    return hlo.compare(a, b, hlo.ComparisonDirectionAttr.get("NE"), compare_type=signed)


def sizes_value(sizes: Sequence[Any]) -> Any:
    """Sizes as an IR value: a vector of type int64."""
    if not is_symbolic(sizes):
        return ir_constant(np.array(sizes, np.int64))
    one = aval_to_ir_type(ShapedArray((1,), _INT64))
    parts = [_jaxlib.hlo.reshape(one, size_value(size)) for size in sizes]
    return parts[0] if len(parts) == 1 else _jaxlib.hlo.concatenate(parts, _number(0))


def sizes_of_arguments(avals: Sequence[Any], arguments: Sequence[Any]) -> dict[Atom, Any]:
    """The IR values of the named sizes in the types of a module's arguments."""
    hlo = _jaxlib.hlo
    scalar = aval_to_ir_type(ShapedArray((), _INT64))
    places = [
        (size, argument, axis)
        for aval, argument in zip(avals, arguments, strict=True)
        for axis, size in enumerate(getattr(aval, "shape", ()))
        if isinstance(size, SymbolicDim)
    ]
    found: dict[Atom, Any] = {}
    for place, name, factor, rest in solutions([size for size, _, _ in places]):
        _, argument, axis = places[place]
        value = hlo.convert(scalar, hlo.get_dimension_size(argument, _number(axis)))
        with known_sizes(found):
            if rest != 0:
                value = hlo.subtract(value, size_value(rest))
            if factor != 1:
                value = hlo.divide(value, size_value(factor))
        found[name] = value
    return found


# The operations. `ctx` is the context of a lowering rule, which caches types, or None.


def _array(values: Sequence[int]) -> Any:
    return _jaxlib.ir.DenseI64ArrayAttr.get(list(values))


def _number(value: int) -> Any:
    return _jaxlib.ir.IntegerAttr.get(_jaxlib.ir.IntegerType.get_signless(64), value)


def _type(ctx: Any, aval: Any) -> Any:
    return aval_to_ir_type(aval) if ctx is None else cached_ir_type(ctx.module_context.shared, aval)


def _made(name: str, kind: Any, operands: Sequence[Any], attributes: dict[str, Any] | None = None) -> Any:
    """The value of an operation, made without the classes of operations, whose import takes long."""
    return _jaxlib.ir.Operation.create(f"stablehlo.{name}", [kind], operands, attributes).results[0]


def broadcast_in_dim(ctx: Any, op: Any, aval_out: Any, *, broadcast_dimensions: Sequence[int]) -> Any:
    """`op` broadcast to a type; `broadcast_dimensions` are the axes of the result that are axes of `op`."""
    kind, attributes = _type(ctx, aval_out), {"broadcast_dimensions": _array(broadcast_dimensions)}
    if is_symbolic(aval_out.shape):
        return _made("dynamic_broadcast_in_dim", kind, [op, sizes_value(aval_out.shape)], attributes)
    return _made("broadcast_in_dim", kind, [op], attributes)


def reshape(ctx: Any, op: Any, aval_out: Any) -> Any:
    """`op` in the shape of a type."""
    if is_symbolic(aval_out.shape):
        return _made("dynamic_reshape", _type(ctx, aval_out), [op, sizes_value(aval_out.shape)])
    return _made("reshape", _type(ctx, aval_out), [op])


def iota(ctx: Any, aval_out: Any, *, dimension: int) -> Any:
    """The positions along an axis."""
    attributes = {"iota_dimension": _number(dimension)}
    if is_symbolic(aval_out.shape):
        return _made("dynamic_iota", _type(ctx, aval_out), [sizes_value(aval_out.shape)], attributes)
    return _made("iota", _type(ctx, aval_out), [], attributes)


def slice_op(
    ctx: Any,
    x: Any,
    aval_out: Any,
    *,
    start_indices: Sequence[Any],
    limit_indices: Sequence[Any],
    strides: Sequence[int] | None = None,
) -> Any:
    """The part of `x` from `start_indices` to `limit_indices`, of a type."""
    bounds = (start_indices, limit_indices, [1] * len(start_indices) if strides is None else strides)
    if is_symbolic((*start_indices, *limit_indices)):
        return _made("real_dynamic_slice", _type(ctx, aval_out), [x, *map(sizes_value, bounds)])
    names = ("start_indices", "limit_indices", "strides")
    attributes = {name: _array(values) for name, values in zip(names, bounds, strict=True)}
    return _made("slice", _type(ctx, aval_out), [x], attributes)


def dynamic_slice(ctx: Any, aval_out: Any, x: Any, *, start_indices: Sequence[Any]) -> Any:
    """The part of `x`, of a type, that begins at computed positions, moved inside of `x`."""
    sizes = aval_out.shape
    if not is_symbolic(sizes):
        return _made("dynamic_slice", _type(ctx, aval_out), [x, *start_indices], {"slice_sizes": _array(sizes)})
    hlo = _jaxlib.hlo
    vector = aval_to_ir_type(ShapedArray((1,), _INT64))

    def joined(values: Iterable[Any]) -> Any:
        scalar = aval_to_ir_type(ShapedArray((), _INT64))
        return hlo.concatenate([hlo.reshape(vector, hlo.convert(scalar, value)) for value in values], _number(0))

    whole = joined(hlo.get_dimension_size(x, _number(axis)) for axis in range(len(sizes)))
    extent, none, one = sizes_value(sizes), sizes_value([0] * len(sizes)), sizes_value([1] * len(sizes))
    first = hlo.minimum(hlo.maximum(joined(start_indices), none), hlo.subtract(whole, extent))
    return _made("real_dynamic_slice", _type(ctx, aval_out), [x, first, hlo.add(first, extent), one])


def pad(
    ctx: Any,
    aval_out: Any,
    x: Any,
    padding_value: Any,
    padding_low: Sequence[Any],
    padding_high: Sequence[Any],
    padding_interior: Sequence[Any],
) -> Any:
    """`x` with a value before, after and between its elements, of a type."""
    columns = (padding_low, padding_high, padding_interior)
    if is_symbolic([size for column in columns for size in column]):
        return _made("dynamic_pad", _type(ctx, aval_out), [x, padding_value, *map(sizes_value, columns)])
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    attributes = {name: _array(column) for name, column in zip(names, columns, strict=True)}
    return _made("pad", _type(ctx, aval_out), [x, padding_value], attributes)


def padded(ctx: Any, x: Any, padding_value: Any, aval: Any, config: Sequence[tuple[Any, Any, Any]]) -> Any:
    """`pad`, from the type of `x`, which has elements, and the padding of each axis."""
    pairs = zip(aval.shape, config, strict=True)
    shape = [low + size + (size - 1) * inner + high for size, (low, high, inner) in pairs]
    columns = list(zip(*config, strict=True))
    return pad(ctx, ShapedArray(shape, aval.dtype), x, padding_value, *columns)
