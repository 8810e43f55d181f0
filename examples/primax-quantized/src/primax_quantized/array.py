"""Quantized arrays: their class, their type in programs, and the primitives that act on them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

import primax.numpy as pnp
from primax.extend import Definitions, core, define_primitive, hookimpl
from primax.extend.interpreters import ad, batching

__all__ = [
    "Quantized",
    "QuantizedType",
    "primax_register",
    "quantized_ints_p",
    "quantized_matmul_p",
    "quantized_p",
    "quantized_scales_p",
]

definitions = Definitions()


class Quantized:
    """An array of int8 numbers, with a scale for each block along the last axis.

    Under transformations a tracer stands for it, which has the same methods and properties.

    Args:
      ints: int8[..., n].
      scales: a floating array of shape [..., n // block]: element j of the last axis stands for
        `ints[..., j] * scales[..., j // block]`.
    """

    __array_ufunc__ = None  # so that NumPy's operators leave the product with an array to __rmatmul__

    def __init__(self, ints: Any, scales: Any) -> None:
        self._ints = ints
        self._scales = scales

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array for which it stands."""
        return core.get_aval(self).shape

    @property
    def dtype(self) -> Any:
        """The dtype of the scales, and of the array for which it stands."""
        return core.get_aval(self).dtype

    @property
    def block(self) -> int:
        """The number of elements that share a scale."""
        return core.get_aval(self).block

    @property
    def ints(self) -> Any:
        """The numbers, as an array of int8."""
        return quantized_ints_p.bind(self)

    @property
    def scales(self) -> Any:
        """The scales, through which derivatives flow."""
        return quantized_scales_p.bind(self)

    @property
    def nbytes(self) -> int:
        """The bytes of the numbers and scales."""
        return sum(aval.size * aval.dtype.itemsize for aval in core.get_aval(self).part_types())

    def dequantize(self) -> Any:
        """The array for which it stands."""
        return self.ints * pnp.repeat(self.scales, self.block, -1)

    def __matmul__(self, x: Any) -> Any:
        """The product with a vector or with matrices; the floating array is never formed."""
        x = pnp.asarray(x, self.dtype)
        if x.ndim == 1:
            return quantized_matmul_p.bind(self, x[:, None])[..., 0]
        return quantized_matmul_p.bind(self, x)

    def __rmatmul__(self, x: Any) -> Any:
        """The product from the left. The sum is over blocks of different scales, so it dequantizes."""
        return pnp.asarray(x, self.dtype) @ self.dequantize()

    def __repr__(self) -> str:
        shape = ",".join(map(str, self.shape))
        return f"Quantized(int8[{shape}], block={self.block})"


@dataclasses.dataclass(frozen=True)
class QuantizedType(core.UserType):
    """The type of a quantized array.

    Attributes:
      shape: the shape of the numbers.
      block: the number of elements that share a scale.
      dtype: the dtype of the scales.
    """

    shape: tuple[int, ...]
    block: int
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, value: Quantized) -> QuantizedType:
        shape, blocks = np.shape(value._ints), np.shape(value._scales)
        return cls(shape, _block_size(shape, blocks), np.dtype(value._scales.dtype))

    def part_types(self) -> Sequence[core.AbstractValue]:
        return [core.ShapedArray(self.shape, np.dtype("int8")), self.to_tangent_aval()]

    def to_parts(self, value: Quantized) -> Sequence[Any]:
        return [value._ints, value._scales]

    def from_parts(self, parts: Sequence[Any]) -> Quantized:
        return Quantized(*parts)

    def to_tangent_aval(self) -> core.ShapedArray:
        """The numbers do not move. A tangent is an array of the scales' type."""
        return core.ShapedArray((*self.shape[:-1], self.shape[-1] // self.block), self.dtype)

    def mapped(self, size: int, dim: int) -> QuantizedType:
        if dim == len(self.shape) - 1:
            raise ValueError(f"a {self.str_short()} cannot be mapped along axis {dim}, which its blocks divide")
        return QuantizedType((*self.shape[:dim], *self.shape[dim + 1 :]), self.block, self.dtype)

    def unmapped(self, size: int, dim: int) -> QuantizedType:
        if dim == len(self.shape):
            raise ValueError(f"a {self.str_short()} cannot be stacked along axis {dim}: blocks are along the last axis")
        return QuantizedType((*self.shape[:dim], size, *self.shape[dim:]), self.block, self.dtype)

    def str_short(self) -> str:
        scales = "" if self.dtype == np.float32 else f" {self.dtype}"
        return f"q8<{self.block}{scales}>[{','.join(map(str, self.shape))}]"


core.register_user_type(QuantizedType, Quantized)


def _block_size(ints: Any, scales: Any) -> int:
    """The number of elements for each scale, from the shapes of the numbers and of the scales."""
    if not (ints and scales and ints[:-1] == scales[:-1] and ints[-1] and scales[-1]) or ints[-1] % scales[-1]:
        raise ValueError(
            f"Quantized: for ints of shape {ints} scales must be of shape [..., blocks], and the number of "
            f"blocks divide the last axis; got {scales}"
        )
    return int(ints[-1] // scales[-1])


def _quantized_type(ints: core.ShapedArray, scales: core.ShapedArray) -> QuantizedType:
    if ints.dtype != np.int8 or not core.dtypes.is_floating(scales.dtype):
        raise TypeError(
            f"quantized: got ints {ints.str_short()} and scales {scales.str_short()}; they must be int8 and floating"
        )
    return QuantizedType(ints.shape, _block_size(ints.shape, scales.shape), np.dtype(scales.dtype))


def _quantized_jvp(primals: Any, tangents: Any) -> Any:
    out = quantized_p.bind(*primals)
    t = tangents[1]
    return out, ad.Zero.from_primal_value(out) if type(t) is ad.Zero else t


def _quantized_batch(args: Any, dims: Any) -> Any:
    size = next(x.shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
    return quantized_p.bind(*[batching.bdim_at_front(x, d, size) for x, d in zip(args, dims, strict=True)]), 0


def _ints_jvp(primals: Any, tangents: Any) -> Any:
    out = quantized_ints_p.bind(*primals)
    return out, ad.Zero.from_primal_value(out)


def _scales_jvp(primals: Any, tangents: Any) -> Any:
    return quantized_scales_p.bind(*primals), tangents[0]


def _product(ints: Any, scales: Any, x: Any) -> Any:
    """The product of a quantized matrix with a matrix: a sum for each block, which is then scaled."""
    blocks = (scales.shape[-1], ints.shape[-1] // scales.shape[-1])
    ints = ints.reshape(*ints.shape[:-1], *blocks).astype(x.dtype)
    x = x.reshape(*x.shape[:-2], *blocks, x.shape[-1])
    return pnp.einsum("...mbn,...mb->...mn", pnp.einsum("...mbk,...bkn->...mbn", ints, x), scales)


def _matmul_type(q: QuantizedType, x: core.ShapedArray) -> core.ShapedArray:
    if not isinstance(q, QuantizedType) or not isinstance(x, core.ShapedArray) or q.dtype != x.dtype:
        raise TypeError(
            f"quantized_matmul: operands must be a quantized array and an array of its dtype, got "
            f"{q.str_short()} and {x.str_short()}"
        )
    if len(q.shape) < 2 or len(x.shape) < 2 or q.shape[-1] != x.shape[-2]:
        raise ValueError(
            f"quantized_matmul: inner sizes of the matrices must agree, got {q.str_short()} and {x.str_short()}"
        )
    batch = np.broadcast_shapes(q.shape[:-2], x.shape[:-2])
    return core.ShapedArray((*batch, q.shape[-2], x.shape[-1]), x.dtype)


def _matmul_jvp(primals: Any, tangents: Any) -> Any:
    (q, x), (t_scales, t_x) = primals, tangents
    out = quantized_matmul_p.bind(q, x)
    total: Any = ad.Zero.from_primal_value(out)
    if type(t_scales) is not ad.Zero:
        total = ad.add_tangents(total, _product(q.ints, t_scales, x))
    if type(t_x) is not ad.Zero:
        total = ad.add_tangents(total, _product(q.ints, q.scales, t_x))
    return out, total


def _matmul_batch(args: Any, dims: Any) -> Any:
    """The mapped axis becomes the first of all; an operand that is not mapped broadcasts."""
    sizes = [core.get_aval(x).shape[d] for x, d in zip(args, dims, strict=True) if d is not None]
    ranks = [len(core.get_aval(x).shape) - (d is not None) for x, d in zip(args, dims, strict=True)]
    moved = []
    for x, d, rank in zip(args, dims, ranks, strict=True):
        if d is not None:
            x = batching.bdim_at_front(x, d, sizes[0])
            for _ in range(max(ranks) - rank):
                x = core.protocol_of(core.get_aval(x)).broadcast(x, 1, 1)
        moved.append(x)
    return quantized_matmul_p.bind(*moved), 0


def _example(*shape: int, block: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    scales = rng.uniform(0.01, 0.02, (*shape[:-1], shape[-1] // block))
    return rng.integers(-127, 128, shape).astype(np.int8), scales.astype(np.float32)


def _samples_of_parts() -> Any:
    yield core.Sample(_example(2, 8, block=4), name="matrix", reference=Quantized)


def _samples_of_part(part: str) -> Any:
    q = Quantized(*_example(2, 8, block=4))
    yield core.Sample([q], name="matrix", reference=lambda q: getattr(q, part))


def _samples_of_products() -> Any:
    q = Quantized(*_example(2, 3, 8, block=4))
    x = np.random.default_rng(1).normal(size=(8, 2)).astype(np.float32)
    yield core.Sample([Quantized(q._ints[0], q._scales[0]), x], name="matrices", reference=_by_numpy)
    yield core.Sample([q, x], name="one matrix for all", reference=_by_numpy)


def _by_numpy(q: Quantized, x: Any) -> Any:
    return q._ints * np.repeat(np.float64(q._scales), 4, -1) @ x


quantized_p = define_primitive(
    "quantized",
    impl=Quantized,
    abstract_eval=_quantized_type,
    jvp=_quantized_jvp,
    batch=_quantized_batch,
    samples=[_samples_of_parts],
    doc="The quantized array of int8 numbers and scales.",
    registry=definitions,
)

quantized_ints_p = define_primitive(
    "quantized_ints",
    impl=lambda q: q._ints,
    abstract_eval=lambda q: q.part_types()[0],
    jvp=_ints_jvp,
    batch=lambda args, dims: (quantized_ints_p.bind(*args), dims[0]),
    samples=[partial(_samples_of_part, "_ints")],
    doc="The numbers of a quantized array.",
    registry=definitions,
)

quantized_scales_p = define_primitive(
    "quantized_scales",
    impl=lambda q: q._scales,
    abstract_eval=lambda q: q.part_types()[1],
    jvp=_scales_jvp,
    batch=lambda args, dims: (quantized_scales_p.bind(*args), dims[0]),
    samples=[partial(_samples_of_part, "_scales")],
    doc="The scales of a quantized array.",
    registry=definitions,
)

quantized_matmul_p = define_primitive(
    "quantized_matmul",
    impl=lambda q, x: _product(q._ints, q._scales, x),
    abstract_eval=_matmul_type,
    jvp=_matmul_jvp,
    batch=_matmul_batch,
    samples=[_samples_of_products],
    doc="The product of a quantized matrix with a matrix; leading axes broadcast.",
    registry=definitions,
)


@hookimpl
def primax_register(registry: Any) -> None:
    """Register the primitives. primax calls this when a program first needs a rule."""
    definitions.enter(registry)
