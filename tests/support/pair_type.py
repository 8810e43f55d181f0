"""A type of users' own for tests, two vectors with tangents of the same type; and the same as tuples of arrays."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

import primax.numpy as pnp
from primax.extend import core, define_primitive
from primax.extend.interpreters import ad, batching

F32 = np.dtype(np.float32)


class Pair:
    """Two vectors."""

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b

    def __add__(self, other: Any) -> Any:
        return pair_add_p.bind(self, other)

    def dot(self, other: Any) -> Any:
        return pair_dot_p.bind(self, other)

    @property
    def length(self) -> int:
        return core.get_aval(self).shape[-1]


@dataclasses.dataclass(frozen=True)
class PairType(core.UserType):
    shape: tuple[int, ...]

    @classmethod
    def of(cls, value: Pair) -> PairType:
        return cls(tuple(np.shape(value.a)))

    def part_types(self) -> list[Any]:
        return [core.ShapedArray(self.shape, F32)] * 2

    def to_parts(self, value: Pair) -> list[Any]:
        return [value.a, value.b]

    def from_parts(self, parts: Any) -> Pair:
        return Pair(*parts)

    def to_tangent_aval(self) -> PairType:
        return self

    def zeros(self) -> Pair:
        return Pair(pnp.zeros(self.shape, F32), pnp.zeros(self.shape, F32))

    def add(self, x: Pair, y: Pair) -> Pair:
        return Pair(x.a + y.a, x.b + y.b)

    def mapped(self, size: int, dim: int) -> PairType:
        return PairType(self.shape[:dim] + self.shape[dim + 1 :])

    def unmapped(self, size: int, dim: int) -> PairType:
        return PairType((*self.shape[:dim], size, *self.shape[dim:]))


core.register_user_type(PairType, Pair)


def _at_front(primitive: Any) -> Any:
    """The batch rule of a primitive whose operands may all have leading axes."""

    def batch(axis: Any, args: Any, dims: Any) -> Any:
        return primitive().bind(*[batching.bdim_at_front(x, d, axis.size) for x, d in zip(args, dims, strict=True)]), 0

    return batch


def _dot_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (dx, dy) = primals, map(ad.instantiate_zeros, tangents)
    return pair_dot_p.bind(x, y), pair_dot_p.bind(dx, y) + pair_dot_p.bind(x, dy)


def _scale_jvp(primals: Any, tangents: Any) -> Any:
    (s, x), (ds, dx) = primals, map(ad.instantiate_zeros, tangents)
    return pair_scale_p.bind(s, x), pair_scale_p.bind(ds, x) + pair_scale_p.bind(s, dx)


def _bilinear(of_first: Any, of_second: Any) -> Any:
    """The transpose rule of a function that is linear in each of two operands."""

    def transpose(ct: Any, x: Any, y: Any) -> list[Any]:
        return [of_first(ct, y), None] if ad.is_undefined_primal(x) else [None, of_second(ct, x)]

    return transpose


def _linear(function: Any) -> Any:
    """The JVP rule of a linear function of one operand."""
    return lambda primals, tangents: (function(*primals), function(ad.instantiate_zeros(tangents[0])))


def _vector(p: PairType) -> Any:
    return core.ShapedArray(p.shape, F32)


pair_add_p = define_primitive(
    "pair_add",
    impl=lambda x, y: Pair(x.a + y.a, x.b + y.b),
    abstract_eval=lambda x, y: x,
    jvp=lambda ps, ts: (pair_add_p.bind(*ps), pair_add_p.bind(*map(ad.instantiate_zeros, ts))),
    transpose=lambda ct, x, y: [ct if ad.is_undefined_primal(z) else None for z in (x, y)],
    axis_batch=_at_front(lambda: pair_add_p),
)
pair_dot_p = define_primitive(
    "pair_dot",
    impl=lambda x, y: (x.a * y.a + x.b * y.b).sum(-1),
    abstract_eval=lambda x, y: core.ShapedArray(x.shape[:-1], F32),
    jvp=_dot_jvp,
    transpose=_bilinear(lambda ct, y: pair_scale_p.bind(ct, y), lambda ct, x: pair_scale_p.bind(ct, x)),
    axis_batch=_at_front(lambda: pair_dot_p),
)
pair_scale_p = define_primitive(
    "pair_scale",
    impl=lambda s, x: Pair(pnp.asarray(s)[..., None] * x.a, pnp.asarray(s)[..., None] * x.b),
    abstract_eval=lambda s, x: x,
    jvp=_scale_jvp,
    transpose=_bilinear(lambda ct, x: pair_dot_p.bind(ct, x), lambda ct, s: pair_scale_p.bind(s, ct)),
    axis_batch=_at_front(lambda: pair_scale_p),
)
pair_first_p = define_primitive(
    "pair_first",
    impl=lambda x: x.a,
    abstract_eval=_vector,
    jvp=_linear(lambda x: pair_first_p.bind(x)),
    transpose=lambda ct, x: [pair_make_p.bind(ct, pnp.zeros_like(ct))],
    axis_batch=_at_front(lambda: pair_first_p),
)
pair_make_p = define_primitive(
    "pair_make",
    impl=lambda a, b: Pair(a, b),
    abstract_eval=lambda a, b: PairType(a.shape),
    jvp=lambda ps, ts: (pair_make_p.bind(*ps), pair_make_p.bind(*map(ad.instantiate_zeros, ts))),
    transpose=lambda ct, a, b: [
        pair_first_p.bind(c) if ad.is_undefined_primal(x) else None for c, x in ((ct, a), (pair_flip_p.bind(ct), b))
    ],
    axis_batch=_at_front(lambda: pair_make_p),
)
pair_flip_p = define_primitive(
    "pair_flip",
    impl=lambda x: Pair(x.b, x.a),
    abstract_eval=lambda x: x,
    jvp=_linear(lambda x: pair_flip_p.bind(x)),
    transpose=lambda ct, x: [pair_flip_p.bind(ct)],
    axis_batch=_at_front(lambda: pair_flip_p),
)


class OfType:
    """The functions of pairs, for values of the user's type."""

    make = pair_make_p.bind
    add = pair_add_p.bind
    dot = pair_dot_p.bind
    first = pair_first_p.bind
    flip = pair_flip_p.bind

    @staticmethod
    def scale(s: Any, p: Any) -> Any:
        return pair_scale_p.bind(pnp.asarray(s, F32), p)


class Tuple(NamedTuple):
    """A pair as a tuple of arrays."""

    a: Any
    b: Any


class OfTuples:
    """The same functions for tuples of arrays."""

    make = Tuple

    @staticmethod
    def add(x: Any, y: Any) -> Any:
        return Tuple(x.a + y.a, x.b + y.b)

    @staticmethod
    def dot(x: Any, y: Any) -> Any:
        return (x.a * y.a + x.b * y.b).sum(-1)

    @staticmethod
    def first(x: Any) -> Any:
        return x.a

    @staticmethod
    def flip(x: Any) -> Any:
        return Tuple(x.b, x.a)

    @staticmethod
    def scale(s: Any, p: Any) -> Any:
        s = pnp.asarray(s, F32)[..., None]
        return Tuple(s * p.a, s * p.b)
