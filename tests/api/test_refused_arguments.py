"""Arguments that make no sense are refused by name, and leave nothing registered."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.export import register_pytree_node_serialization
from primax.extend.core import get_aval, register_aval

X = np.ones(3, np.float32)
OUTSIDE = np.array([0, 5])
KEY = px.random.key(0)


class Odd:
    pass


def serializable(**changes):
    given = {"serialized_name": "odd", "serialize_auxdata": repr, "deserialize_auxdata": eval} | changes
    return register_pytree_node_serialization(Odd, **given)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: register_aval(Odd, X), TypeError, "register_aval: handler must be callable"),
        (lambda: register_aval(Odd(), get_aval), TypeError, "register_aval: kind must be a class"),
        (lambda: serializable(serialized_name=3), TypeError, "serialized_name must be a str, got 3"),
        (lambda: serializable(deserialize_auxdata=3), TypeError, "deserialize_auxdata must be callable, got 3"),
        (lambda: KEY.sum(), TypeError, "sum: its argument must be an array of numbers or booleans, got key"),
        (lambda: KEY.min(), TypeError, "min: its argument must be an array of numbers or booleans, got key"),
        (lambda: KEY.imag, TypeError, "imag: its argument must be an array of numbers or booleans, got key"),
        (lambda: pnp.take(X, OUTSIDE, fill_value="a"), TypeError, "gather: fill_value must be a number, got 'a'"),
        (lambda: pnp.insert(X, slice(0, 2, 0), 1.0), ValueError, "insert: obj must be a slice of integers"),
        (lambda: pnp.delete(X, slice("a", 2)), TypeError, "delete: obj must be a slice of integers"),
        (lambda: pnp.unwrap(X, discont=np.ones((1,) * 33)), ValueError, "unwrap: discont must broadcast"),
        (lambda: pnp.minmax(X, initial=(1,)), ValueError, "minmax: initial must be a number or two numbers"),
        (lambda: pnp.ones(3).tobytes("\ud800"), ValueError, "tobytes: order must be 'C', 'F', 'A' or None"),
        (lambda: px.jit(pnp.sin).lower(X).compiler_ir(X), ValueError, "compiler_ir: dialect must be"),
        (lambda: px.vjp(pnp.sin, 1.0)[1].leave_out({1: True, "a": True}), TypeError, "must have keys of the same type"),
    ],
)
def test_they_are_named(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_what_was_refused_is_not_registered():
    with pytest.raises(TypeError, match="Odd"):
        get_aval(Odd())


@pytest.mark.parametrize("flag", [object(), "yes", np.bool_(True), 1])
def test_promises_are_any_truth_values(flag):
    positions = np.array([0, 1])
    options = {"indices_are_sorted": flag, "unique_indices": flag}
    assert pnp.ones(3).at[positions].add(1.0, **options).tolist() == [2, 2, 1]
    assert pnp.ones(3).at[positions].get(**options).tolist() == [1, 1]
    assert KEY.reshape(1).take(np.array([0]), **options).shape == (1,)
