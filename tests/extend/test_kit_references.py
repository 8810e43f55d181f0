"""The kit checks primitives with references as pure functions of their contents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import extend
from primax.extend.core import Sample
from primax.extend.testing import ConformanceError, check_plugin, check_primitive

_X = np.array([0.5, -1.25, 2.0], np.float32)


def _pushed(refs: Any, queue: Any, x: Any) -> Any:
    return queue[-1] * 1.0, {0: pnp.concatenate([x[None], queue[:-1]])}


def _reference(queue: np.ndarray, x: np.ndarray) -> np.ndarray:
    last = queue[-1].copy()
    queue[1:] = queue[:-1].copy()
    queue[0] = x
    return last


def _types(queue: Any, x: Any) -> Any:
    if queue.ndim != 1 or not queue.shape[0] or x.shape or queue.dtype != x.dtype:
        raise TypeError(f"push: expected a queue of rank 1 and a scalar of its dtype, got {queue} and {x}")
    return x.strip_weak_type()


def _push(discharge: Any, mutates: Any = (0,), **rules: Any) -> Any:
    return extend.define_primitive("push", abstract_eval=_types, mutates=mutates, discharge=discharge, **rules)


def _sample(reference: Any = _reference) -> Sample:
    return Sample([px.new_ref(_X), np.float32(1.5)], reference=reference)


def _failures(primitive: Any, sample: Sample) -> str:
    with pytest.raises(ConformanceError) as info:
        check_primitive(primitive, sample)
    return "\n".join(f"{outcome.check}: {outcome.message}" for outcome in info.value.report.failed)


def test_a_right_primitive_passes() -> None:
    sample = _sample()
    report = check_primitive(_push(_pushed), sample)
    passed = {outcome.check for outcome in report.passed}
    assert {"discharge", "reference", "jvp", "transpose", "batch", "vmap_of_grad", "second_derivatives"} <= passed
    assert (sample.args[0][...] == _X).all()  # the sample's reference is as before


def test_wrong_values_are_found() -> None:
    def rule(refs: Any, queue: Any, x: Any) -> Any:
        return queue[-1] * 1.0, {0: pnp.concatenate([queue[:-1], x[None]])}

    assert "reference: push (no plugin), check 'reference': result 1" in _failures(_push(rule), _sample())


def test_a_declared_write_that_is_missing_is_found() -> None:
    text = _failures(_push(lambda refs, queue, x: (queue[-1] * x, {})), _sample(None))
    assert "declares to write to argument 0, but the discharge rule returns no new contents" in text
    text = _failures(_push(lambda refs, queue, x: (queue[-1] * x, {0: queue})), _sample(None))
    assert "declares to write to argument 0, but leaves the reference as it is" in text


def test_a_write_that_is_not_declared_is_found() -> None:
    text = _failures(_push(_pushed, ()), _sample(None))
    assert "writes to argument 0, which it does not declare" in text
    assert "mutates=(0,)" in text


def test_contents_of_another_type_are_found() -> None:
    text = _failures(_push(lambda refs, queue, x: (x * 1.0, {0: queue[:2]})), _sample(None))
    assert "must return new contents of operand 0 of type f32[3], got f32[2]" in text


def test_an_impl_rule_is_compared() -> None:
    def impl(queue: Any, x: Any) -> Any:
        last = queue[2]
        queue[1:] = queue[:2]
        queue[0] = x
        return last

    check_primitive(_push(_pushed, impl=impl), _sample())

    def wrong(queue: Any, x: Any) -> Any:
        queue[0] = x
        return queue[2]

    assert "the new contents of argument 0 of the discharge rule differs" in _failures(
        _push(_pushed, impl=wrong), _sample()
    )


@pytest.mark.parametrize("plugin", ["state", "tokens"])
def test_the_plugins_are_right(plugin: str) -> None:
    report = check_plugin(plugin, only=["samples", "discharge", "lowering", "reference", "jvp", "transpose"])
    assert not report.failed
    assert len(report.passed) > 8
