"""The Kronecker product of two matrices: its class, its type, the type of its tangents, and their primitives."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

import primax.numpy as pnp
from primax.extend import Definitions, core, define_primitive, derive, hookimpl
from primax.extend.interpreters import ad, batching

__all__ = [
    "FactorTangents",
    "FactorTangentsType",
    "Kronecker",
    "KroneckerType",
    "factor_tangents_p",
    "factors_p",
    "kron",
    "kron_p",
    "primax_register",
]

definitions = Definitions()


class _Pair:
    """Two arrays with equal leading axes."""

    def __init__(self, a: Any, b: Any) -> None:
        self._a = a
        self._b = b

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the product."""
        return core.get_aval(self).shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        """The dtype of the factors."""
        return core.get_aval(self).dtype


class Kronecker(_Pair):
    """The Kronecker product of two matrices, of which it holds the factors; `kron` makes it."""

    __array_ufunc__ = None  # so that NumPy's operators leave the product with an array to __rmatmul__

    @property
    def factors(self) -> tuple[Any, Any]:
        """The two matrices."""
        a, b = factors_p.bind(self)
        return a, b

    @property
    def T(self) -> Kronecker:
        """The transpose: the product of the factors' transposes."""
        a, b = self.factors
        return kron(pnp.matrix_transpose(a), pnp.matrix_transpose(b))

    def dense(self) -> Any:
        """The product as an array."""
        a, b = self.factors
        return pnp.einsum("...mn,...pq->...mpnq", a, b).reshape(self.shape)

    def __matmul__(self, x: Any) -> Any:
        """The product with a vector, with a matrix, or with another Kronecker product whose factors fit."""
        a, b = self.factors
        if isinstance(core.get_aval(x), KroneckerType):
            c, d = x.factors
            return kron(a @ c, b @ d)
        x = pnp.asarray(x, self.dtype)
        if x.ndim == 1:
            return (self @ x[:, None])[..., 0]
        if x.shape[-2] != self.shape[-1]:
            raise ValueError(f"matmul: x must have {self.shape[-1]} rows, got shape {x.shape}")
        x = x.reshape(*x.shape[:-2], a.shape[-1], b.shape[-1], x.shape[-1])
        x = pnp.einsum("...pq,...nqk->...npk", b, x)
        x = pnp.einsum("...mn,...npk->...mpk", a, x)
        return x.reshape(*x.shape[:-3], -1, x.shape[-1])

    def __rmatmul__(self, x: Any) -> Any:
        """The product of a vector or matrix with this one."""
        x = pnp.asarray(x, self.dtype)
        return self.T @ x if x.ndim == 1 else pnp.matrix_transpose(self.T @ pnp.matrix_transpose(x))

    def __repr__(self) -> str:
        kind = core.get_aval(self)
        return f"Kronecker({kind.a_type.str_short()}, {kind.b_type.str_short()})"


class FactorTangents(_Pair):
    """A tangent or a gradient of a Kronecker product: one array for each factor."""

    @property
    def da(self) -> Any:
        """The tangent of the first factor."""
        return factors_p.bind(self)[0]

    @property
    def db(self) -> Any:
        """The tangent of the second factor."""
        return factors_p.bind(self)[1]

    def __repr__(self) -> str:
        return f"FactorTangents({self.da}, {self.db})"


@dataclasses.dataclass(frozen=True)
class _PairType(core.UserType):
    """A type of pairs of matrices.

    Attributes:
      batch: the leading axes, which both factors have.
      a: the shape of the first matrix.
      b: the shape of the second matrix.
      dtype: the dtype of both.
    """

    batch: tuple[int, ...]
    a: tuple[int, int]
    b: tuple[int, int]
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, value: _Pair) -> _PairType:
        return cls.of_factors(value._a, value._b)

    @classmethod
    def of_factors(cls, a: Any, b: Any) -> _PairType:
        """The type for two factors, or for their types.

        Raises:
          TypeError: they are not floating arrays of one dtype.
          ValueError: they are not matrices with the same leading axes.
        """
        if a.dtype != b.dtype or not pnp.issubdtype(a.dtype, pnp.floating):
            raise TypeError(f"kron: a and b must be floating and of one dtype, got {a.dtype} and {b.dtype}")
        if len(a.shape) < 2 or len(b.shape) < 2 or a.shape[:-2] != b.shape[:-2]:
            raise ValueError(f"kron: a and b must be matrices with the same leading axes, got {a.shape} and {b.shape}")
        return cls(a.shape[:-2], a.shape[-2:], b.shape[-2:], np.dtype(a.dtype))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the product."""
        return (*self.batch, self.a[0] * self.b[0], self.a[1] * self.b[1])

    @property
    def a_type(self) -> core.ShapedArray:
        """The type of the first factor."""
        return core.ShapedArray((*self.batch, *self.a), self.dtype)

    @property
    def b_type(self) -> core.ShapedArray:
        """The type of the second factor."""
        return core.ShapedArray((*self.batch, *self.b), self.dtype)

    def part_types(self) -> Sequence[core.AbstractValue]:
        return [self.a_type, self.b_type]

    def to_parts(self, value: _Pair) -> Sequence[Any]:
        return [value._a, value._b]

    def from_parts(self, parts: Sequence[Any]) -> Any:
        return self.value_class(*parts)

    def to_tangent_aval(self) -> FactorTangentsType:
        return FactorTangentsType(self.batch, self.a, self.b, self.dtype)

    def mapped(self, size: int, dim: int) -> _PairType:
        if dim >= len(self.batch):
            raise ValueError(f"a {self.str_short()} cannot be mapped along axis {dim}, which is an axis of the product")
        return dataclasses.replace(self, batch=(*self.batch[:dim], *self.batch[dim + 1 :]))

    def unmapped(self, size: int, dim: int) -> _PairType:
        if dim > len(self.batch):
            raise ValueError(f"a {self.str_short()} cannot be stacked along axis {dim}: only in front of its matrices")
        return dataclasses.replace(self, batch=(*self.batch[:dim], size, *self.batch[dim:]))


class KroneckerType(_PairType):
    """The type of a Kronecker product."""

    def str_short(self) -> str:
        return f"kron({self.a_type.str_short()}, {self.b_type.str_short()})"


class FactorTangentsType(_PairType):
    """The type of the tangents of a Kronecker product, which form a vector space."""

    def zeros(self) -> FactorTangents:
        return FactorTangents(pnp.zeros(self.a_type.shape, self.dtype), pnp.zeros(self.b_type.shape, self.dtype))

    def add(self, x: FactorTangents, y: FactorTangents) -> FactorTangents:
        return FactorTangents(x._a + y._a, x._b + y._b)

    def str_short(self) -> str:
        return f"tangents({self.a_type.str_short()}, {self.b_type.str_short()})"


core.register_user_type(KroneckerType, Kronecker)
core.register_user_type(FactorTangentsType, FactorTangents)


def kron(a: Any, b: Any) -> Kronecker:
    """The Kronecker product of two matrices, which is not formed.

    Args:
      a: a floating array of shape [..., m, n].
      b: a floating array of shape [..., p, q] with the same leading axes.

    Raises:
      TypeError: an argument is not floating.
      ValueError: the arguments are not matrices with the same leading axes.

    >>> kron(pnp.ones((2, 3)), pnp.ones((4, 5)))
    Kronecker(f32[2,3], f32[4,5])
    """
    dtype = pnp.result_type(a, b)
    return kron_p.bind(pnp.asarray(a, dtype), pnp.asarray(b, dtype))  # type: ignore[no-any-return]


def _kron_jvp(primals: Any, tangents: Any) -> Any:
    out = kron_p.bind(*primals)
    if all(type(t) is ad.Zero for t in tangents):
        return out, ad.Zero.from_primal_value(out)
    return out, factor_tangents_p.bind(*map(ad.instantiate_zeros, tangents))


def _tangents_jvp(primals: Any, tangents: Any) -> Any:
    out = factor_tangents_p.bind(*primals)
    if all(type(t) is ad.Zero for t in tangents):
        return out, ad.Zero.from_primal_value(out)
    return out, factor_tangents_p.bind(*map(ad.instantiate_zeros, tangents))


def _tangents_transpose(ct: Any, da: Any, db: Any) -> Any:
    cts = [ad.Zero(da.aval), ad.Zero(db.aval)] if type(ct) is ad.Zero else factors_p.bind(ct)
    return [ct if ad.is_undefined_primal(x) else None for ct, x in zip(cts, (da, db), strict=True)]


def _factors_jvp(primals: Any, tangents: Any) -> Any:
    """The tangent of a product, and that of a tangent, are tangents of the two factors."""
    outs = factors_p.bind(*primals)
    if type(tangents[0]) is ad.Zero:
        return outs, [ad.Zero.from_primal_value(x) for x in outs]
    return outs, factors_p.bind(*tangents)


def _factors_transpose(cts: Any, t: Any) -> Any:
    if all(type(ct) is ad.Zero for ct in cts):
        return [ad.Zero(t.aval)]
    return [factor_tangents_p.bind(*map(ad.instantiate_zeros, cts))]


def _pair_batch(primitive: Any) -> Any:
    """The batch rule of a primitive of two arrays: both get the mapped axis in front."""

    def batch(args: Any, dims: Any) -> Any:
        size = next(x.shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
        return primitive.bind(*[batching.bdim_at_front(x, d, size) for x, d in zip(args, dims, strict=True)]), 0

    return batch


def _matrices() -> Any:
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape).astype(np.float32) for shape in ((2, 3), (4, 2))]


def _samples_of_matrices(made: type[_Pair]) -> Any:
    yield core.Sample(_matrices(), name="matrices", reference=made)


def _samples_of_pairs() -> Any:
    a, b = _matrices()
    yield core.Sample([Kronecker(a, b)], name="product", reference=lambda k: [k._a, k._b])
    yield core.Sample([FactorTangents(b, a)], name="tangents", reference=lambda k: [k._a, k._b])


kron_p = define_primitive(
    "kron",
    impl=Kronecker,
    abstract_eval=KroneckerType.of_factors,
    jvp=_kron_jvp,
    batch=derive.by(_pair_batch),
    samples=[partial(_samples_of_matrices, Kronecker)],
    doc="The Kronecker product of two matrices, which is not formed.",
    registry=definitions,
)

factor_tangents_p = define_primitive(
    "factor_tangents",
    impl=FactorTangents,
    abstract_eval=FactorTangentsType.of_factors,
    jvp=_tangents_jvp,
    transpose=_tangents_transpose,
    batch=derive.by(_pair_batch),
    samples=[partial(_samples_of_matrices, FactorTangents)],
    doc="The tangent of a Kronecker product, from those of its factors; linear in both.",
    registry=definitions,
)

factors_p = define_primitive(
    "factors",
    multiple_results=True,
    impl=lambda pair: [pair._a, pair._b],
    abstract_eval=lambda kind: [kind.a_type, kind.b_type],
    jvp=_factors_jvp,
    transpose=_factors_transpose,
    batch=lambda args, dims: (factors_p.bind(*args), [dims[0]] * 2),
    samples=[_samples_of_pairs],
    doc="The factors of a Kronecker product, or the two arrays of its tangent.",
    registry=definitions,
)


@hookimpl
def primax_register(registry: Any) -> None:
    """Register the primitives. primax calls this when a program first needs a rule."""
    definitions.enter(registry)
