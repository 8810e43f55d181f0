"""Batching."""

from __future__ import annotations

import functools
from enum import IntEnum

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.extend.provisional.tracing import thread

X = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize("in_axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("out_axis", [0, 1, 2, -1])
def test_axes(in_axis, out_axis):
    def f(x):
        return lax.sin(x) * x + 1.0

    moved = np.moveaxis(X, in_axis, 0)
    want = np.stack([np.asarray(f(x)) for x in moved], out_axis)
    np.testing.assert_allclose(px.vmap(f, in_axes=in_axis, out_axes=out_axis)(X), want, rtol=1e-6)


def test_prefixes_of_pytrees():
    def f(d, y):
        return {"s": d["a"] + d["b"][0] * y, "t": (d["a"],)}

    d = {"a": np.ones((3, 2), np.float32), "b": [np.arange(3.0, dtype=np.float32)]}
    found = px.vmap(f, in_axes=({"a": 0, "b": 0}, None), out_axes={"s": 1, "t": 0})(d, 2.0)
    assert found["s"].shape == (2, 3)
    assert found["t"][0].shape == (3, 2)
    assert found["s"][0].tolist() == [1.0, 3.0, 5.0]


def test_out_axes_none_is_refused_for_a_batched_result():
    with pytest.raises(ValueError, match="out_axes is None for a result that depends"):
        px.vmap(lambda x: x, out_axes=None)(np.ones(3))


def test_size_mismatches_name_the_size_of_each_argument():
    with pytest.raises(ValueError, match="must have the same size") as error:
        px.vmap(lambda x, d: x)(np.ones((3, 2)), {"k": np.ones(4)})
    assert "argument x" in str(error.value)
    assert "size 3" in str(error.value)
    assert "['k']" in str(error.value)
    assert "size 4" in str(error.value)


@pytest.mark.parametrize(
    ("kwargs", "args", "error", "message"),
    [
        (
            {"in_axes": (0, 0)},
            (np.ones(3),),
            ValueError,
            "one entry per positional argument, got 2 entries for 1",
        ),
        ({"in_axes": 1}, (np.ones(3),), ValueError, r"axis 1 for argument \w+, which is of type f\d+\[3\]"),
        ({"in_axes": None}, (np.ones(3),), ValueError, "at least one argument must be mapped"),
        ({"in_axes": ({"a": 0},)}, (np.ones(3),), ValueError, "vmap in_axes"),
        ({"out_axes": 5}, (np.ones(3),), ValueError, "out_axes has axis 5"),
        ({"axis_size": 4}, (np.ones(3),), ValueError, "axis_size is 4"),
    ],
)
def test_bad_axes_are_refused(kwargs, args, error, message):
    with pytest.raises(error, match=message):
        px.vmap(lambda x: x, **kwargs)(*args)


@pytest.mark.parametrize("axes", ["0", 1.5, True, ("a",)])
def test_axes_of_wrong_type_are_refused_at_once(axes):
    with pytest.raises(TypeError, match="in_axes"):
        px.vmap(lambda x: x, in_axes=axes)


def test_axis_size_alone_is_enough():
    assert px.vmap(lambda: pnp.float32(1.0), axis_size=3)().tolist() == [1.0] * 3


@pytest.mark.parametrize("size, error, said", [("a", TypeError, "an integer, got 'a'"), (-1, ValueError, "negative")])
def test_axis_size_is_a_size(size, error, said):
    with pytest.raises(error, match=f"vmap: axis_size must .*{said}"):
        px.vmap(lambda: 1.0, axis_size=size)


def test_a_partial_has_the_name_of_its_function():
    def scaled(a, x):
        return a * x

    double = functools.partial(scaled, 2.0)
    assert px.vmap(double).__name__ == px.jit(double).__name__ == "scaled"
    assert "name=scaled" in str(px.make_jaxpr(px.jit(double))(1.0))


def test_python_control_flow_is_refused_with_the_type_and_the_way_out():
    with pytest.raises(px.errors.TracerBoolConversionError, match=r"batched value of type bool\[\] inside vmap") as e:
        px.vmap(lambda x: x if x > 0 else -x)(np.ones(3, np.float32))
    assert "cond" in str(e.value)
    assert "where" in str(e.value)


def test_vmaps_nest():
    def f(x, y):
        return x * y + lax.cos(x)

    x, y = np.arange(3.0, dtype=np.float32), np.arange(4.0, dtype=np.float32)
    want = x[:, None] * y[None, :] + np.cos(x)[:, None]
    found = px.vmap(px.vmap(f, in_axes=(None, 0)), in_axes=(0, None))(x, y)
    np.testing.assert_allclose(found, want, rtol=1e-6)


def test_vmap_composes_with_jit_grad_and_jvp():
    def f(x):
        return lax.sin(x) * x

    x = np.arange(3.0, dtype=np.float32)
    slope = np.sin(x) + x * np.cos(x)
    for g in (px.vmap(px.grad(f)), px.jit(px.vmap(px.grad(f))), px.vmap(px.jit(px.grad(px.jit(f))))):
        np.testing.assert_allclose(g(x), slope, rtol=1e-5)
    np.testing.assert_allclose(px.grad(lambda x: px.vmap(f)(x).sum())(x), slope, rtol=1e-5)
    np.testing.assert_allclose(px.jvp(px.vmap(f), (x,), (np.ones_like(x),))[1], slope, rtol=1e-5)
    np.testing.assert_allclose(px.vmap(lambda x: px.jvp(f, (x,), (np.float32(1.0),))[1])(x), slope, rtol=1e-5)


@pytest.mark.parametrize("size", [0, 1])
def test_axes_of_size_zero_and_one(size):
    x = np.ones((size, 3), np.float32)
    assert px.vmap(lambda x: (lax.sin(x) * 2.0).sum())(x).shape == (size,)
    assert px.vmap(px.grad(lambda x: (lax.sin(x) * 2.0).sum()))(x).shape == (size, 3)


REDUCTIONS = ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "argmax", "argmin")


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axis", [np.int64(1), np.uint8(0), IntEnum("Axis", {"LAST": 1}).LAST])
def test_axes_that_are_integers_of_numpy_or_of_a_subclass_are_axes(name, axis):
    primitive = getattr(lax, f"{name}_p")
    params = {"index_dtype": np.dtype(np.int32)} if name.startswith("arg") else {}
    for dim in (0, 1, 2):
        mapped, plain = (
            px.vmap(lambda x, a=a: primitive.bind(x, axes=(a,), **params), in_axes=dim) for a in (axis, int(axis))
        )
        np.testing.assert_array_equal(mapped(X), plain(X))
        np.testing.assert_array_equal(px.vmap(mapped)(X[None]), px.vmap(plain)(X[None]))


def test_unstack_takes_an_axis_of_numpy():
    for got, want in zip(px.vmap(lambda x: pnp.unstack(x, axis=np.int64(1)))(X), np.moveaxis(X, 2, 0), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", [[1], {}, {1}])
def test_the_name_of_an_axis_must_be_hashable_and_later_calls_are_not_harmed(name):
    traced = []
    f = px.jit(lambda x: traced.append(x) or x)
    f(1.0)
    with pytest.raises(TypeError, match=r"must be hashable, got axis_name="):
        px.vmap(lambda x: x, axis_name=name)(np.ones(2))
    f(1.0)
    assert len(traced) == 1
    assert not thread.trace.tracing


def test_what_is_not_mapped_may_be_anything():
    def apply(x, function, note):
        return function(x) if note == "apply" else x

    x = np.arange(3, dtype=np.float32)
    mapped = px.vmap(apply, in_axes=(0, None, None))
    np.testing.assert_array_equal(mapped(x, pnp.negative, "apply"), -x)
    np.testing.assert_array_equal(px.vmap(mapped, in_axes=(0, None, None))(x[None], pnp.negative, "keep"), x[None])
    with pytest.raises(TypeError, match=r"vmap: argument function must be an array or a number"):
        px.vmap(apply, in_axes=(0, 0, None))(x, pnp.negative, "apply")
