"""The kit checks primitives on values of users' types as functions of the arrays in these values."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import primax.numpy as pnp
from primax.extend import core, define_primitive
from primax.extend.core import Sample
from primax.extend.interpreters import ad, batching
from primax.extend.testing import ConformanceError, check_primitive


class Line:
    """The function x -> slope * x + start, with a number of its own that does not move."""

    def __init__(self, slope: Any, start: Any, number: Any) -> None:
        self.slope, self.start, self.number = slope, start, number


class Move:
    """A tangent of a line."""

    def __init__(self, slope: Any, start: Any) -> None:
        self.slope, self.start = slope, start


@dataclasses.dataclass(frozen=True)
class MoveType(core.UserType):
    shape: tuple[int, ...]
    dtype: Any

    @classmethod
    def of(cls, x: Any) -> Any:
        return cls(np.shape(x.slope), np.dtype(x.slope.dtype))

    def part_types(self) -> Any:
        return [core.ShapedArray(self.shape, self.dtype)] * 2

    def to_parts(self, x: Any) -> Any:
        return [x.slope, x.start]

    def from_parts(self, parts: Any) -> Any:
        return self.value_class(*parts)

    def to_tangent_aval(self) -> Any:
        return MoveType(self.shape, self.dtype)

    def zeros(self) -> Any:
        return Move(pnp.zeros(self.shape, self.dtype), pnp.zeros(self.shape, self.dtype))

    def add(self, x: Any, y: Any) -> Any:
        return Move(x.slope + y.slope, x.start + y.start)

    def mapped(self, size: int, dim: int) -> Any:
        return type(self)((*self.shape[:dim], *self.shape[dim + 1 :]), self.dtype)

    def unmapped(self, size: int, dim: int) -> Any:
        return type(self)((*self.shape[:dim], size, *self.shape[dim:]), self.dtype)


class LineType(MoveType):
    def part_types(self) -> Any:
        return [*super().part_types(), core.ShapedArray(self.shape, np.int32)]

    def to_parts(self, x: Any) -> Any:
        return [x.slope, x.start, x.number]


core.register_user_type(MoveType, Move)
core.register_user_type(LineType, Line)


def _type_of_move(slope: Any, start: Any) -> Any:
    if (slope.shape, slope.dtype) != (start.shape, start.dtype) or not core.dtypes.is_inexact(slope.dtype):
        raise TypeError(f"move: got {slope.str_short()} and {start.str_short()}")
    return MoveType(slope.shape, slope.dtype)


def _type_of_value(kind: Any, x: Any) -> Any:
    if not isinstance(kind, MoveType) or kind.shape != x.shape or kind.dtype != x.dtype:
        raise TypeError(f"line: got {kind.str_short()} and {x.str_short()}")
    return core.ShapedArray(x.shape, x.dtype)


def _leading(args: Any, dims: Any) -> Any:
    """The operands with the mapped axis in front."""
    size = next(core.get_aval(x).shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
    return [batching.bdim_at_front(x, d, size) for x, d in zip(args, dims, strict=True)]


def _move_transpose(ct: Any, *xs: Any) -> Any:
    return list(parts_p.bind(ct))


move_p = define_primitive(
    "test_move",
    impl=Move,
    abstract_eval=_type_of_move,
    jvp=lambda primals, tangents: (move_p.bind(*primals), move_p.bind(*map(ad.instantiate_zeros, tangents))),
    transpose=_move_transpose,
    batch=lambda args, dims: (move_p.bind(*_leading(args, dims)), 0),
)

parts_p = define_primitive(
    "test_parts",
    multiple_results=True,
    impl=lambda x: [x.slope, x.start],
    abstract_eval=lambda kind: kind.part_types()[:2],
    jvp=lambda primals, tangents: (parts_p.bind(*primals), parts_p.bind(*map(ad.instantiate_zeros, tangents))),
    transpose=lambda cts, x: [move_p.bind(*map(ad.instantiate_zeros, cts))],
    batch=lambda args, dims: (parts_p.bind(*args), [dims[0]] * 2),
)


def _line(impl: Any = None, sign: float = 1.0, axis: int = 0) -> Any:
    """A primitive for the values of a line, with faults on demand."""

    def jvp(primals: Any, tangents: Any) -> Any:
        (line, x), (t, dx) = primals, map(ad.instantiate_zeros, tangents)
        slope, start = parts_p.bind(t)
        return line_p.bind(line, x), slope * x + sign * start + parts_p.bind(line)[0] * dx

    line_p = define_primitive(
        "test_line",
        impl=impl or (lambda line, x: line.slope * x + line.start),
        abstract_eval=_type_of_value,
        jvp=jvp,
        batch=lambda args, dims: (line_p.bind(*_leading(args, dims)), axis),
    )
    return line_p


def _sample(reference: Any = lambda line, x: line.slope * x + line.start) -> Sample:
    slope, start, x = np.random.default_rng(0).normal(size=(3, 2, 2)).astype(np.float32)
    return Sample([Line(slope, start, np.int32([[1, 2], [3, 4]])), x], reference=reference)


def _failures(primitive: Any, sample: Sample) -> str:
    with pytest.raises(ConformanceError) as info:
        check_primitive(primitive, sample)
    return "\n".join(f"{outcome.check}: {outcome.message}" for outcome in info.value.report.failed)


def test_right_primitives_pass() -> None:
    passed = {outcome.check for outcome in check_primitive(_line(), _sample()).passed}
    assert {"reference", "lowering", "jvp", "transpose", "batch", "vmap_of_grad", "second_derivatives"} <= passed
    x, y = np.float32([1, 2, 3]), np.float32([0, 1, 0])
    assert check_primitive(move_p, Sample([x, y], reference=Move)).passed
    passed = {
        outcome.check
        for outcome in check_primitive(parts_p, Sample([Move(x, y)], skip={"reference": "it reads"})).passed
    }
    assert {"jvp", "transpose", "batch"} <= passed


def test_a_wrong_value_is_found() -> None:
    assert "result 0 of the primitive differs from that of the reference" in _failures(
        _line(lambda line, x: line.slope * x - line.start), _sample()
    )


def test_a_primitive_needs_a_reference() -> None:
    assert "nothing to compare with: programs on values of users' types" in _failures(_line(), _sample(None))


def test_a_wrong_derivative_is_found() -> None:
    assert "the tangent of result 0" in _failures(_line(sign=-1.0), _sample())


def test_a_wrong_batch_axis_is_found() -> None:
    assert "batch: " in _failures(_line(axis=1), _sample())
