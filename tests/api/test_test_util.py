"""Checks of derivatives pass where derivatives are right, and fail where they are not."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import test_util


def test_right_derivatives_pass():
    test_util.check_grads(lambda x, y: pnp.sin(x) * y["a"], (0.5, {"a": pnp.array([1.0, 2.0])}), order=3)
    test_util.check_grads(lambda x: pnp.exp(1j * x) * x, (np.complex64(0.3 + 0.2j),), order=2)
    test_util.check_grads(lambda x, n: x**n, (1.5, 3), order=1, modes="rev")
    test_util.check_grads(pnp.sin, (1.5,), order=2, modes="lin")
    with px.enable_x64(True):
        test_util.check_grads(lambda x: pnp.tanh(x) / x, (np.array([0.5, -2.0]),), order=2, rtol=1e-7)


@pytest.mark.parametrize("f", [lambda x: x + 100.0, lambda x: pnp.abs(x - 0.5005)], ids=["large", "kink"])
def test_one_step_suffices_in_32_bits(f):
    test_util.check_grads(f, (np.float32(0.5),), order=1)
    with pytest.raises(AssertionError, match="finite differences"):
        test_util.check_grads(lambda x: wrong(x) + f(x), (np.float32(0.5),), order=1)


@px.custom_jvp
def wrong(x):
    return pnp.sin(x)


wrong.defjvp(lambda primals, tangents: (pnp.sin(primals[0]), 1.1 * tangents[0] * pnp.cos(primals[0])))


@px.custom_jvp
def wrong_in_second_order(x):
    return pnp.sin(x)


wrong_in_second_order.defjvp(
    lambda primals, tangents: (pnp.sin(primals[0]), tangents[0] * px.lax.stop_gradient(pnp.cos(primals[0])))
)


def test_wrong_derivatives_fail():
    with pytest.raises(AssertionError, match="the tangents differ from finite differences"):
        test_util.check_grads(wrong, (0.5,), order=1, modes=("fwd",))
    for mode in ("rev", "lin"):
        with pytest.raises(AssertionError, match="finite differences"):
            test_util.check_grads(wrong, (0.5,), order=1, modes=(mode,))
    test_util.check_grads(wrong_in_second_order, (0.5,), order=1)
    for mode in ("fwd", "rev"):
        with pytest.raises(AssertionError, match="finite differences"):
            test_util.check_grads(wrong_in_second_order, (0.5,), order=2, modes=[mode])
    test_util.check_grads(wrong, (0.5,), order=1, rtol=0.2)


def test_wrong_values_fail():
    cos = pnp.cos
    with pytest.raises(AssertionError, match=r"mine: check_jvp: the value of the JVP differs"):
        test_util.check_jvp(pnp.sin, partial(px.jvp, cos), (0.5,), err_msg="mine")
    with pytest.raises(AssertionError, match="the value of the VJP differs"):
        test_util.check_vjp(pnp.sin, partial(px.vjp, cos), (0.5,))


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match='check_grads: modes must be "fwd", "rev" and "lin", got \'back\''):
        test_util.check_grads(pnp.sin, (0.5,), 1, modes=("back",))
    with pytest.raises(ValueError, match="check_grads: order must be at most 16, got 18446744073709551616"):
        test_util.check_grads(pnp.sin, (0.5,), 2**64)
    with pytest.raises(TypeError, match="check_jvp: f must be callable"):
        test_util.check_jvp(1.0, pnp.sin, (0.5,))
