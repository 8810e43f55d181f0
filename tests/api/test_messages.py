"""Messages for everyday mistakes: they name the function and the argument as the user wrote it, and a remedy."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import errors, lax, random

X = np.arange(3.0, dtype=np.float32)


def _while(x: Any) -> Any:
    while x[0] < 10:
        x = x + 1
    return x


def _both(x: Any) -> Any:
    if x[0] > 0 and x[1] > 0:
        return x
    return -x


BOOL = errors.TracerBoolConversionError
UNKNOWN = errors.ConcretizationTypeError


@pytest.mark.parametrize(
    "fun,error,phrases",
    [
        (_while, BOOL, ["Attempted boolean conversion of traced array", "`while x[0] < 10`", "Use lax.while_loop"]),
        (_both, BOOL, ["`if x[0] > 0`", "use & | ~", "Use lax.cond", "from argument x", "static_argnums"]),
        (lambda x: not x[0], BOOL, ["`not x[0]`", "logical_not"]),
        (lambda x: 0 < x[0] < 3, BOOL, ["`0 < x[0] < 3`", "write (0 < x[0]) & (x[0] < 3)"]),
        (lambda x: 2 in x, BOOL, ["`2 in x`", "Write (x == 2).any()"]),
        (lambda x: max(x[0], x[1]), BOOL, ["`max(x[0], x[1])`", "numpy.maximum"]),
        (lambda x: float(x[0]), UNKNOWN, ["Abstract tracer value encountered", "`float(x[0])`", "x.astype(float)"]),
        (lambda x: f"{x[0]:.2f}", UNKNOWN, ["debug.print"]),
        (lambda x: np.sin(x), errors.TracerArrayConversionError, ["__array__() was called", "`np.sin(x)`"]),
        (lambda x: [1, 2][x[0].astype(int)], errors.TracerIntegerConversionError, ["__index__() method", "lax.switch"]),
        (lambda x: pnp.zeros(x[0].astype(int)), UNKNOWN, ["zeros: shape must be known before tracing", "arange(most)"]),
        (lambda x: pnp.arange(x[0].astype(int)), UNKNOWN, ["arange: stop must be known before tracing"]),
        (lambda x: pnp.linspace(0, 1, x[0].astype(int)), UNKNOWN, ["linspace: num must be known"]),
        (lambda x: x.reshape(x[0].astype(int), -1), UNKNOWN, ["reshape: shape must be known"]),
        (lambda x: lax.scan(lambda c, _: (c, c), 0, length=x[0].astype(int)), UNKNOWN, ["scan: length", "while_loop"]),
        (lambda x: pnp.unique(x), UNKNOWN, ["unique: the shape of the result depends on the values of ar", "size"]),
        (lambda x: pnp.argwhere(x), UNKNOWN, ["argwhere: the shape of the result depends on the values of a,"]),
        (lambda x: pnp.where(x > 0), UNKNOWN, ["where: the shape of the result depends on the values of condition"]),
    ],
)  # fmt: skip
def test_what_needs_the_value_of_a_tracer_is_shown_with_what_to_write_instead(
    fun: Callable[[Any], Any], error: type[Exception], phrases: list[str]
) -> None:
    with pytest.raises(error) as caught:
        px.jit(fun)(X)
    for phrase in phrases:
        assert phrase in str(caught.value)


def test_conditions_in_source_that_nobody_can_read_are_refused_in_general() -> None:
    scope: dict[str, Any] = {}
    exec("def f(x):\n    return 1 if x else 2\n", scope)
    with pytest.raises(BOOL, match=r"(?s)Python asks for its truth.*Use lax.cond"):
        px.jit(scope["f"])(True)
    exec("def f(n):\n    return [i for i in range(n)]\n", scope)
    error = errors.TracerIntegerConversionError
    with pytest.raises(error, match=r"(?s)Python asks for it as.*numpy.asarray\(values\)\[i\].*Use lax.fori_loop"):
        px.jit(scope["f"])(3)


def test_values_that_differ_along_a_mapped_axis_cannot_be_static() -> None:
    with pytest.raises(BOOL, match="in_axes=None of vmap") as caught:
        px.vmap(lambda x: 1 if x > 0 else 2)(X)
    assert "static_argnums" not in str(caught.value)


@pytest.mark.parametrize("call", [lambda x: x > 0 and x < 2, px.jit(lambda x: (x > 0) or (x < 2))])
def test_arrays_of_several_elements_in_and_or_are_told_of_operators(call: Callable[[Any], Any]) -> None:
    with pytest.raises(ValueError, match=r"truth value of an array with more than one element .*use & \| ~"):
        call(pnp.arange(3.0))


def _body(c: Any, x: Any) -> Any:
    return (c, c), x


@pytest.mark.parametrize(
    "call,phrases",
    [
        (lambda: lax.scan(_body, 0.0, X), ["init is a leaf, the carry that f returns is a tuple", "f is _body at"]),
        (lambda: lax.fori_loop(0, 3, lambda i, c: c[:2], X), ["fori_loop: body", "init_val is f32[3]", "body_fun is"]),
        (
            lambda: lax.fori_loop(0, pnp.int32(3), lambda i, c: (c, c), X),
            ["fori_loop: body function carry input and carry output", "init_val is a leaf", "body_fun is <lambda> at"],
        ),
        (lambda: lax.while_loop(lambda c: True, lambda c: c[:1], X), ["while_loop: body", "init_val is f32[3]"]),
        (
            lambda: lax.cond(True, lambda x: x, lambda x: (x, x), X),
            ["must have the same pytree structure", "true_fun is a leaf, false_fun is a tuple", "true_fun is <"],
        ),
        (lambda: lax.switch(1, [lambda x: x, lambda x: x[:1]], X), ["branches[0] is f32[3]", "branches[1] is <lam"]),
        (lambda: lax.map(lambda x: "s", X), ["the result[1]", "returned it"]),
    ],
)  # fmt: skip
def test_loops_and_branches_name_both_sides_and_their_functions(call: Callable[[], Any], phrases: list[str]) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    for phrase in phrases:
        assert phrase in str(caught.value)


KEY = random.key(0)


@pytest.mark.parametrize(
    "call,errors,message",
    [
        (lambda: pnp.ones((2, 3)) + pnp.ones(4), ValueError, "broadcasting: (2, 3), (4,). Counted from the last axis"),
        (lambda: pnp.expand_dims(X, 3), ValueError, "must be in [-2, 2) for a result of rank 2, got (3,) for an array"),
        (lambda: pnp.reshape(X, (-1, -1)), TypeError, "only specify one unknown axis size with a -1"),
        (lambda: lax.dynamic_slice(X, (0, 0), (1,)), ValueError, "one entry per axis of operand, got 2"),
        (lambda: lax.slice(X, (0, 0), (1, 1)), ValueError, "one entry per axis of operand, got 2"),
        (lambda: pnp.transpose(pnp.ones((1, 2, 3)), (1, 0)), TypeError, "must name each of 3 axes"),
        (lambda: pnp.zeros(3, "flot32"), TypeError, "'flot32'; did you mean 'float32'?"),
        (lambda: px.ShapeDtypeStruct((1,), "flot32"), TypeError, "'flot32'; did you mean 'float32'?"),
        (lambda: pnp.zeros(3, pnp.zeros(1)), ValueError, "pass the dtype of an array"),
        (lambda: pnp.pad(X, 1, mode="constnat"), NotImplementedError, "did you mean 'constant'?"),
        (lambda: lax.padtype_to_pads((4,), (2,), (1,), "SMAE"), RuntimeError, "did you mean 'SAME'?"),
        (lambda: KEY + 1, TypeError, "add: dtype key<fry> does not promote"),
        (
            lambda: pnp.stack([KEY, px.random.key(0, impl="rbg")]),
            TypeError,
            "stack: dtypes key<fry>, key<rbg> do not promote",
        ),
        (
            lambda: pnp.ones(2, "bfloat16") + pnp.ones(2, "float8_e5m2"),
            ValueError,
            "add: dtypes must have a common dtype, got bfloat16, float8_e5m2",
        ),
        (lambda: -KEY, TypeError, "primax.random.split and fold_in make new keys"),
        (lambda: px.jit(lambda x: "text")(X), TypeError, "must be an array or a number: a value of type str"),
        (lambda: px.jit(lambda x: x)("text"), TypeError, "argument x must be an array or a number"),
        (lambda: px.vmap(lambda x, y: x)(X, X[:2]), ValueError, "argument y of type f32[2] has size 2 along axis 0"),
        (lambda: px.vmap(lambda d: d, in_axes=({"b": 0},))({"a": X}), ValueError, "vmap in_axes[0]: a dict with keys"),
        (lambda: px.jit(lambda x, n: x, static_argnums=1)(X, [1]), ValueError, "type list as argument 1; pass a tuple"),
    ],
)  # fmt: skip
def test_arguments_are_refused_by_the_class_of_jax_with_a_remedy(
    call: Callable[[], Any], errors: type[Exception], message: str
) -> None:
    with pytest.raises(errors, match=re.escape(message)) as caught:
        call()
    assert "an argument of <lambda>" not in str(caught.value)
