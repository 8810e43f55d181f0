"""What depends on the platform is chosen while the program is built, under every transformation."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.extend import core

pytestmark = pytest.mark.usefixtures("in_32_bits")

ELSEWHERE = core.Primitive("not_on_this_platform")
ELSEWHERE.def_abstract_eval(lambda x: x)

X = np.float32([1, 2, 3])


def power(x):
    return lax.platform_dependent(x, tpu=ELSEWHERE.bind, cpu=lambda x: x * x, default=lambda x: x + 1)


def test_the_branch_of_the_platform_is_taken():
    assert np.asarray(power(X)).tolist() == [1, 4, 9]
    assert np.asarray(px.jit(power)(X)).tolist() == [1, 4, 9]
    other = px.jit(lambda x: lax.platform_dependent(x, gpu=lambda x: x, default=lambda x: x + 1))
    assert np.asarray(other(X)).tolist() == [2, 3, 4]


def test_only_the_branch_of_the_platform_is_compiled():
    text = px.jit(lambda x: power(x)).lower(X).as_text()
    assert "stablehlo.multiply" in text
    assert "stablehlo.case" not in text
    assert "stablehlo.add" not in text


def test_the_branch_of_the_platform_is_differentiated():
    def smooth(x):
        return lax.platform_dependent(x, cpu=lambda x: (x * x).sum(), tpu=lambda x: x.sum())

    for grad in (px.grad(smooth), px.jit(px.grad(smooth)), px.grad(px.jit(smooth))):
        assert np.asarray(grad(X)).tolist() == [2, 4, 6]
    assert np.asarray(px.vmap(px.grad(smooth))(X[None])).tolist() == [[2, 4, 6]]


def test_outside_of_programs_one_function_is_called():
    def doubled(x):  # how often is known only outside of programs
        return lax.fori_loop(0, pnp.floor(x.sum()).astype(int), lambda i, y: y * 2, x.sum())

    def slope(x):
        return lax.platform_dependent(x, cpu=px.grad(doubled), tpu=lambda x: 1 / 0)

    x = pnp.array([1.0, 2.25])
    assert slope(x).tolist() == px.grad(doubled)(x).tolist() == [8, 8]
    for given in (2.0, np.float32(2), {"a": np.ones(2, np.int32)}, px.random.key(0)):
        same = lambda x: lax.platform_dependent(x, cpu=lambda x: x, tpu=lambda x: x)  # noqa: E731
        eager, compiled = (px.tree.leaves(function(given))[0] for function in (same, px.jit(same)))
        assert (type(eager), eager.aval) == (type(compiled), compiled.aval)
    with pytest.raises(TypeError, match="platform_dependent"):
        lax.platform_dependent(1.0, cpu=lambda x: "text")
    with pytest.raises(TypeError, match="platform_dependent"):
        lax.platform_dependent("text", cpu=lambda x: 1.0)
    with pytest.raises(ValueError, match="while_loop cannot be differentiated in reverse mode"):
        px.jit(slope)(x)


def test_platforms_without_a_branch_are_refused():
    with pytest.raises(NotImplementedError, match="a default or a function for 'cpu', got functions for tpu, cuda"):
        px.jit(lambda x: lax.platform_dependent(x, tpu=lambda x: x + 1, cuda=lambda x: x))(X)
    with pytest.raises(ValueError, match="there must be a function or a default, got none"):
        lax.platform_dependent(X)
    with pytest.raises(TypeError, match="platform_dependent: cpu must be a function"):
        lax.platform_dependent(X, cpu=3)
    with pytest.raises(TypeError, match="platform_dependent: branches must have equal output types"):
        px.jit(lambda x: lax.platform_dependent(x, cpu=lambda x: x, tpu=lambda x: x[0]))(X)
