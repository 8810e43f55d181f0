"""Types for annotations, and structs that stand for arrays."""

from __future__ import annotations

import typing

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.typing import ArrayLike, DTypeLike


def test_what_is_like_an_array_is_a_union_that_isinstance_takes():
    assert px.Array in typing.get_args(ArrayLike)
    for x in (pnp.ones(2), np.ones(2), np.float32(1), np.bool_(True), True, 1, 1.0, 1j):
        assert isinstance(x, ArrayLike)
    assert not isinstance("a", ArrayLike)
    assert px.jit(lambda x: pnp.float32(isinstance(x, ArrayLike)))(1.0) == 1.0


def test_what_is_like_a_dtype_is_a_union():
    assert {str, np.dtype} <= set(typing.get_args(DTypeLike))
    assert len(typing.get_args(ArrayLike | DTypeLike)) > 10
    assert typing.get_args(typing.Optional[ArrayLike])[-1] is type(None)  # noqa: UP045 - as packages write it


@pytest.mark.parametrize("x", [1.0, 2, True, np.ones(3, np.float16)])
def test_typeof_is_that_of_jax(x, jax):
    ours, theirs = px.typeof(x), jax.typeof(x)
    assert (ours.shape, ours.dtype, ours.weak_type) == (theirs.shape, theirs.dtype, theirs.weak_type)


def test_typeof_knows_tracers_and_refuses_containers():
    assert px.jit(lambda x: px.typeof(x).shape[0])(pnp.ones(3)) == 3
    with pytest.raises(TypeError, match="list is not a valid primax type"):
        px.typeof([1.0])


def test_a_struct_is_made_like_an_array_and_updated():
    assert px.ShapeDtypeStruct.like(np.ones(3, np.int8)) == px.ShapeDtypeStruct((3,), np.int8)
    weak = px.ShapeDtypeStruct.like(2.0)
    assert weak.weak_type
    assert px.ShapeDtypeStruct.like(weak) == weak
    assert weak.update(shape=(2,), weak_type=False) == px.ShapeDtypeStruct((2,), weak.dtype)
    assert len(px.ShapeDtypeStruct((4, 2), int)) == 4
    with pytest.raises(TypeError, match=r"changes must be among .*'shape'.*got \['shap'\]"):
        weak.update(shap=(2,))
    with pytest.raises(TypeError, match="has no length"):
        len(weak)
    with pytest.raises(TypeError):
        px.ShapeDtypeStruct.like([1.0])


def test_steps_of_paths_are_key_entries():
    ((path, _),), _ = px.tree_util.tree_flatten_with_path({"a": [1]})
    assert all(isinstance(step, px.tree_util.KeyEntry) for step in path)
