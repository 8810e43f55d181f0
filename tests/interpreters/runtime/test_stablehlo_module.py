"""Whole programs in StableHLO, with attributes of their arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primax as px
from primax.extend import core
from primax.extend.interpreters import mlir
from primax.interpreters.runtime.compile import module_text
from primax.interpreters.runtime.stablehlo_module import lower_to_module

X = np.arange(3, dtype=np.float32)


def module_of(fun: Any, *args: Any, **options: Any) -> Any:
    return lower_to_module(px.make_jaxpr(fun)(*args), "jit_f", "cpu", **options)


def test_a_donated_argument_is_reused_for_a_result_of_its_type() -> None:
    text = module_text(module_of(lambda x, y: (y + 1, x * 2), X, X[:2], donated=(True, True)))
    assert "%arg0: tensor<3xf32> {tf.aliasing_output = 1 : i32}" in text
    assert "%arg1: tensor<2xf32> {tf.aliasing_output = 0 : i32}" in text
    with pytest.warns(UserWarning, match=r"donated buffers were not usable: arguments of jit_f of types \[f32\[3\]\]"):
        module_of(lambda x: x[:2], X, donated=(True,))


def test_arguments_that_are_not_kept_are_left_out() -> None:
    module = module_of(lambda x, y: x + 1, X, X, kept=(True, False))
    assert module.kept == [True, False]
    assert "%arg1" not in module_text(module)


def test_a_wrong_lowering_rule_is_named() -> None:
    p = core.Primitive("wrong_shape")
    p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(p, lambda ctx, x: mlir.hlo.SliceOp(x, [0], [2], [1]).results)
    with pytest.raises((px.errors.JaxRuntimeError, core.RuleError), match="wrong_shape"):
        module_of(p.bind, X)


def test_the_name_is_a_text_that_mlir_accepts() -> None:
    closed = px.make_jaxpr(lambda x: x)(X)
    assert "@" in module_text(lower_to_module(closed, "half \ud800", "cpu"))
    with pytest.raises(TypeError, match="lower: name must be a str, got 3"):
        lower_to_module(closed, 3, "cpu")  # type: ignore[arg-type]


def test_ordered_effects_are_tokens_of_main() -> None:
    module = module_of(lambda x: px.debug.print("{}", x, ordered=True), X)
    assert len(module.ordered_effects) == 1
    assert "!stablehlo.token" in module_text(module)
    assert module.result_count == 0
