"""The kit's checks of Python numbers, NumPy scalars and operands without elements find mistakes in every rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primax.numpy as pnp
from primax.extend import core, define_primitive, derive
from primax.extend.core.samples import sample_sources
from primax.extend.interpreters import ad, mlir
from primax.extend.testing import Report, Sample, iter_checks

FROM_IMPL = derive.from_impl
X, Y = np.float32([[0.3, -1.2, 0.7]]), np.float32([[1.1, 0.45, -0.6]])


def _jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (t, s) = primals, tangents
    terms = [p_[0].bind(t, y)] if type(t) is not ad.Zero else []
    terms += [p_[0].bind(x, s)] if type(s) is not ad.Zero else []
    return p_[0].bind(x, y), sum(terms[1:], terms[0])


def _transpose(ct: Any, x: Any, y: Any) -> Any:
    return [ct * y, None] if ad.is_undefined_primal(x) else [None, ct * x]


def _batch(args: Any, dims: Any) -> Any:
    x, y = args
    if dims[0] != dims[1]:
        x, y = (a if d is None else pnp.moveaxis(a, d, 0) for a, d in zip(args, dims, strict=True))
        return p_[0].bind(x, y), 0
    return p_[0].bind(x, y), dims[0]


def _types(x: Any, y: Any) -> Any:
    if x.shape != y.shape:
        raise TypeError("times: the operands must have the same shape")
    if x.dtype != y.dtype and not (x.weak_type or y.weak_type):
        raise TypeError("times: the operands must have the same dtype")
    return core.ShapedArray(x.shape, y.dtype if x.weak_type else x.dtype, x.weak_type and y.weak_type)


SOUND: dict[str, Any] = {
    "impl": lambda x, y: x * y,
    "abstract_eval": _types,
    "jvp": _jvp,
    "transpose": _transpose,
    "batch": FROM_IMPL,
    "lowering": FROM_IMPL,
}
p_: list[core.Primitive] = []


def report_of(rules: dict[str, Any], *only: str, args: Any = (X, Y)) -> Report:
    if "transpose" in {**SOUND, **rules} and "batch" not in rules:
        rules = {**rules, "batch": derive.loop}
    p_[:] = [define_primitive("times", **{**SOUND, **rules})]
    sample_sources[p_[0]] = [Sample(list(args))]
    try:
        return Report([check.run() for check in iter_checks(p_[0], only=only or None)])
    finally:
        del sample_sources[p_[0]]


def test_sound_rules_take_all_forms() -> None:
    report = report_of({})
    assert not report.failed, report
    assert {"numbers", "empty", "shapes"} <= {outcome.check for outcome in report.passed}


def _batch_of_arrays(args: Any, dims: Any) -> Any:
    size = next(a.shape[d] for a, d in zip(args, dims, strict=True) if d is not None)
    rows = [
        pnp.broadcast_to(a, (size, *a.shape)) if d is None else pnp.moveaxis(a, d, 0)
        for a, d in zip(args, dims, strict=True)
    ]
    return p_[0].bind(*rows), 0


NUMBERS = {
    "impl": lambda x, y: x.reshape(x.shape) * y,
    "jvp": lambda primals, tangents: (lambda out: (out, out * primals[0].sum()))(_jvp(primals, tangents)[0]),
    "transpose": lambda ct, x, y: (
        [ct * y.reshape(y.shape), None] if ad.is_undefined_primal(x) else [None, ct * x.reshape(x.shape)]
    ),
    "batch": _batch_of_arrays,
    "abstract_eval": lambda x, y: core.ShapedArray(x.shape, np.dtype("float16") if x.weak_type else x.dtype),
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_a_rule_that_takes_only_arrays_is_found(kind: str) -> None:
    rules = {kind: NUMBERS[kind]}
    if kind == "impl":
        rules["lowering"] = mlir.lower_fun(lambda x, y: x * y, multiple_results=False)
        rules["abstract_eval"] = lambda x, y: x
    (outcome,) = report_of(rules, "numbers").failed
    assert "a Python number as " in outcome.message
    assert kind in outcome.rules[: 2 if kind == "abstract_eval" else 1], outcome.message
    assert f"look at its {kind} rule, given by {__name__} ({__file__}:" in outcome.message


def _row(t: Any) -> Any:
    return pnp.zeros((0,), t.dtype) if t.size == 0 else t


EMPTY = {
    "jvp": lambda primals, tangents: (lambda out, moved: (out, _row(moved)))(*_jvp(primals, tangents)),
    "transpose": lambda ct, x, y: _transpose(ct, x, y) if ct.size else [pnp.zeros((0,)), None],
    "batch": lambda args, dims: (_batch(args, dims)[0], None) if args[0].size == 0 else _batch(args, dims),
}


@pytest.mark.parametrize("kind", EMPTY)
def test_a_rule_that_is_wrong_without_elements_is_found(kind: str) -> None:
    (outcome,) = report_of({kind: EMPTY[kind]}, "empty").failed
    assert "size 0" in outcome.message
    assert outcome.rules[0] == kind, outcome.message


def _wrong_along_axis_1(x: Any) -> Any:
    alone = 0 in x.shape[1:] and 0 not in x.shape[:1]
    return core.ShapedArray((*x.shape[:1], 1) if alone else x.shape, x.dtype)


def test_size_0_is_tried_along_each_dimension_alone() -> None:
    square = np.float32([[0.3, -1.2], [0.7, 1.1]])  # both dimensions have the same size
    rules = {
        "impl": lambda x: 2 * x,
        "abstract_eval": _wrong_along_axis_1,
        "jvp": derive.linear,
        "transpose": lambda ct, x: [2 * ct],
    }
    (outcome,) = report_of(rules, "shapes", args=(square,)).failed
    assert "size 0 along axis 1" in outcome.message
