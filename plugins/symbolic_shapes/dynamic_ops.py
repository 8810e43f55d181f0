"""Operations of StableHLO that take sizes as operands, for types with symbolic dimensions.

XLA does not compile them; `refine_polymorphic_shapes` converts modules whose arguments have known shapes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import ShapedArray
from primax.extend.interpreters import mlir
from primax.extend.provisional.dimensions import is_symbolic
from primax.extend.provisional.lowering import cached_ir_type
from primax.plugins.symbolic_shapes.dims import Atom, SymbolicDim, solutions

_INT64 = np.dtype(np.int64)


class _Module(threading.local):
    """The module that this thread builds: the IR values of its named sizes."""

    sizes: dict[Atom, Any] | None = None


_module = _Module()


@contextmanager
def known_sizes(avals: Sequence[Any], arguments: Sequence[Any]) -> Iterator[None]:
    """Inside, the named sizes that follow from the types of a module's arguments have IR values."""
    before, sizes = _module.sizes, dict[Atom, Any]()
    _module.sizes = sizes
    places = [
        (size, argument, axis)
        for aval, argument in zip(avals, arguments, strict=True)
        for axis, size in enumerate(getattr(aval, "shape", ()))
        if isinstance(size, SymbolicDim)
    ]
    try:
        for place, name, factor, rest in solutions([size for size, _, _ in places]):
            _, argument, axis = places[place]
            value = _as_int64(mlir.hlo.get_dimension_size(argument, mlir.i64_attr(axis)))
            if rest != 0:
                value = mlir.hlo.subtract(value, mlir.size_value(rest))
            sizes[name] = value if factor == 1 else mlir.hlo.divide(value, mlir.size_value(factor))
        yield
    finally:
        _module.sizes = before


def _as_int64(value: Any) -> Any:
    return mlir.hlo.convert(mlir.aval_to_ir_type(ShapedArray((), _INT64)), value)


def size_value(size: SymbolicDim, dtype: Any = _INT64) -> Any:
    """A dimension as an IR value: a scalar of an integer dtype.

    Raises:
      UnsupportedError: a named size of it is not that of an axis of an argument of the module.
    """
    if dtype != _INT64:
        return mlir.hlo.convert(mlir.aval_to_ir_type(ShapedArray((), dtype)), size_value(size))
    total = None
    for monomial, count in size.terms.items():
        value = None if count == 1 and monomial else mlir.ir_constant(np.int64(count))
        for atom, power in monomial:
            factor = _atom_value(atom)
            for _ in range(power):
                value = factor if value is None else mlir.hlo.multiply(value, factor)
        total = value if total is None else mlir.hlo.add(total, value)
    return total


def _atom_value(atom: Atom) -> Any:
    hlo = mlir.hlo
    if atom.kind == "size":
        if _module.sizes is None or atom not in _module.sizes:
            raise core.UnsupportedError(
                f"the size '{atom}' has no value here; it has one in a program with an argument that has an axis of "
                f"this length, or of a length like 2*{atom} + 1"
            )
        return _module.sizes[atom]
    a, b = map(mlir.size_value, atom.operands)
    if atom.kind == "max":
        return hlo.maximum(a, b)
    if atom.kind == "min":
        return hlo.minimum(a, b)
    rest, zero = hlo.remainder(a, b), mlir.ir_constant(np.int64(0))
    wrong = hlo.and_(_differ(rest, zero), _differ(hlo.sign(a), hlo.sign(b)))
    if atom.kind == "mod":
        return hlo.select(wrong, hlo.add(rest, b), rest)
    quotient = hlo.divide(a, b)
    return hlo.select(wrong, hlo.subtract(quotient, mlir.ir_constant(np.int64(1))), quotient)


def _differ(a: Any, b: Any) -> Any:
    hlo = mlir.hlo
    signed = hlo.ComparisonTypeAttr.get("SIGNED")
    return hlo.compare(a, b, hlo.ComparisonDirectionAttr.get("NE"), compare_type=signed)


def sizes_value(sizes: Sequence[Any]) -> Any:
    """Sizes, symbolic or not, as an IR value: a vector of type int64."""
    if not is_symbolic(sizes):
        return mlir.ir_constant(np.array(sizes, np.int64))
    return _joined(map(mlir.size_value, sizes))


def _joined(scalars: Iterable[Any]) -> Any:
    """Scalars of type int64 as one vector."""
    one = mlir.aval_to_ir_type(ShapedArray((1,), _INT64))
    parts = [mlir.hlo.reshape(one, scalar) for scalar in scalars]
    return parts[0] if len(parts) == 1 else mlir.hlo.concatenate(parts, mlir.i64_attr(0))


def _operation(
    name: str, ctx: Any, aval_out: Any, operands: Sequence[Any], attributes: dict[str, Any] | None = None
) -> Any:
    kind = mlir.aval_to_ir_type(aval_out) if ctx is None else cached_ir_type(ctx.module_context.shared, aval_out)
    return mlir.ir.Operation.create(f"stablehlo.{name}", [kind], operands, attributes).results[0]


# The operations, with the arguments of the functions of these names in `primax.extend.interpreters.mlir`.


def broadcast_in_dim(ctx: Any, op: Any, aval_out: Any, *, broadcast_dimensions: Sequence[int]) -> Any:
    attributes = {"broadcast_dimensions": mlir.dense_int_array(broadcast_dimensions)}
    return _operation("dynamic_broadcast_in_dim", ctx, aval_out, [op, sizes_value(aval_out.shape)], attributes)


def reshape(ctx: Any, op: Any, aval_out: Any) -> Any:
    return _operation("dynamic_reshape", ctx, aval_out, [op, sizes_value(aval_out.shape)])


def iota(ctx: Any, aval_out: Any, *, dimension: int) -> Any:
    attributes = {"iota_dimension": mlir.i64_attr(dimension)}
    return _operation("dynamic_iota", ctx, aval_out, [sizes_value(aval_out.shape)], attributes)


def slice_op(ctx: Any, x: Any, aval_out: Any, **bounds: Sequence[Any]) -> Any:
    vectors = [sizes_value(bounds[name]) for name in ("start_indices", "limit_indices", "strides")]
    return _operation("real_dynamic_slice", ctx, aval_out, [x, *vectors])


def dynamic_slice(ctx: Any, aval_out: Any, x: Any, *, start_indices: Sequence[Any]) -> Any:
    hlo, rank = mlir.hlo, len(aval_out.shape)
    whole = _joined(_as_int64(hlo.get_dimension_size(x, mlir.i64_attr(axis))) for axis in range(rank))
    extent, none, one = sizes_value(aval_out.shape), sizes_value([0] * rank), sizes_value([1] * rank)
    first = hlo.minimum(hlo.maximum(_joined(map(_as_int64, start_indices)), none), hlo.subtract(whole, extent))
    return _operation("real_dynamic_slice", ctx, aval_out, [x, first, hlo.add(first, extent), one])


def pad(ctx: Any, aval_out: Any, x: Any, padding_value: Any, *columns: Sequence[Any]) -> Any:
    return _operation("dynamic_pad", ctx, aval_out, [x, padding_value, *map(sizes_value, columns)])
