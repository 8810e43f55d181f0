"""Names of JAX that stand for themselves: reports, live arrays, DLPack, foreign functions, extrema."""

from __future__ import annotations

import re

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp


def test_the_environment_is_printed_or_returned(capsys):
    text = px.print_environment_info(return_string=True)
    assert re.search(rf"^  primax +{re.escape(px.__version__)}$", text, re.MULTILINE)
    assert re.search(rf"^  numpy +{re.escape(np.__version__)}$", text, re.MULTILINE)
    assert "  cpu  8 x cpu" in text
    assert px.print_environment_info() is None
    assert capsys.readouterr().out == f"{text}\n"


def test_live_arrays_are_those_that_are_held():
    x = px.device_put(np.arange(54321))
    assert [y.shape for y in px.live_arrays() if y.size == x.size] == [x.shape]
    x.delete()
    assert not any(y.size == 54321 for y in px.live_arrays())
    with pytest.raises(px.errors.XlaError, match="no platform 'moon'"):
        px.live_arrays("moon")


@pytest.mark.parametrize("name", "bool int2 int4 int8 uint64 float16 bfloat16 float32 complex64 float8_e5m2".split())
def test_dtypes_that_dlpack_takes_are_those_of_jax(name, jax):
    dtype = jax.numpy.dtype(name)
    assert px.dlpack.is_supported_dtype(dtype) is jax.dlpack.is_supported_dtype(dtype)
    assert px.dlpack.from_dlpack(np.ones(2, np.float32)).tolist() == [1.0, 1.0]
    assert not px.dlpack.is_supported_dtype(px.random.key(0).dtype)


def test_foreign_functions_are_found_at_the_top():
    assert px.ffi.ffi_call is px.extend.ffi.ffi_call
    assert px.ffi.abstract_token is px.extend.core.abstract_token


def test_functions_are_inlined_early_or_left_to_xla():
    def names(inline):
        f = px.jit(pnp.sin, inline=inline)
        return [str(eqn.primitive) for eqn in px.make_jaxpr(lambda x: f(x))(1.0).eqns]

    assert names(px.Inline.JAX_EARLY) == names(True) == ["sin"]
    for inline in (False, px.Inline.AUTO, px.Inline.JAX_LATE, px.Inline.XLA_EARLY, px.Inline.XLA_LATE):
        assert names(inline) == ["jit"]


def test_keys_have_a_type_for_annotations():
    key = px.random.key(0)
    assert px.random.Key(key) is key


def test_minima_and_maxima_come_together():
    x = np.array([[3.0, 1.0, 2.0], [0.0, np.nan, 5.0]], np.float32)
    low, high = pnp.minmax(x, axis=1)
    np.testing.assert_array_equal(low, x.min(axis=1))
    np.testing.assert_array_equal(high, x.max(axis=1))
    low, high = pnp.minmax(np.arange(3), initial=(7, 9), keepdims=True)
    assert (low.tolist(), high.tolist()) == ([0], [9])
    low, high = pnp.minmax(np.arange(3), initial=1, where=np.array([False, True, False]))
    assert (int(low), int(high)) == (1, 1)
    with pytest.raises(ValueError):
        pnp.minmax(np.zeros(0, np.float32))


@pytest.mark.parametrize("mode", ["largest", "smallest"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_the_largest_and_smallest_are_those_of_a_stable_sort(mode, axis):
    x = np.array([[3, 1, 3, 1], [2, 2, 9, 0], [4, 4, 4, 4]], np.int32)
    values, positions = pnp.top_k(x, 2, axis=axis, mode=mode)
    order = np.argsort(-x if mode == "largest" else x, axis=axis, kind="stable").take([0, 1], axis=axis)
    np.testing.assert_array_equal(positions, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, axis))
    assert positions.dtype == np.int32


def test_the_largest_take_no_more_than_there_are():
    x = np.array([3.0, np.nan, 2.0], np.float32)
    np.testing.assert_array_equal(pnp.top_k(x, 3)[0], [np.nan, 3.0, 2.0])
    np.testing.assert_array_equal(pnp.top_k(x, 3, mode="smallest")[0], [2.0, 3.0, np.nan])
    assert pnp.top_k(x, 0)[0].shape == (0,)
    for k in (4, -1):
        with pytest.raises(ValueError, match=f"k must be from 0 to 3, the length of the axis, got {k}"):
            pnp.top_k(x, k)
    with pytest.raises(ValueError, match="mode must be 'largest' or 'smallest', got 'a'"):
        pnp.top_k(x, 1, mode="a")


def test_tracers_stay_what_they_are_where_values_are_fetched():
    for run in (px.jit(px.device_get), px.vmap(px.device_get), lambda x: px.jvp(px.device_get, (x,), (x,))[1]):
        assert run(np.float32([1, 2])).tolist() == [1, 2]


def test_stax_has_the_functions_that_its_layers_apply() -> None:
    from primax.example_libraries import stax

    assert stax.glorot is px.nn.initializers.glorot_normal
    assert stax.randn is px.nn.initializers.normal
    for name in ("elu", "gelu", "leaky_relu", "log_softmax", "relu", "selu", "sigmoid", "softmax", "standardize"):
        assert getattr(stax, name) is getattr(px.nn, name)
    assert stax.logsoftmax is px.nn.log_softmax
