"""Keys that JAX has pickled are read under as-jax as keys of primax."""

from __future__ import annotations

import importlib
import io
import pickle
from typing import Any

import numpy as np
import pytest

import primax as px

# The modules of primax that stand for these under as-jax.
MODULES = {
    "jax._src.array": "array",
    "jax._src.random.prng": "prng",
    "jax._src.random.rbg": "rbg",
    "jax._src.random.threefry2x32": "threefry",
}


class Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if not module.startswith("jax"):
            return super().find_class(module, name)
        return getattr(importlib.import_module(f"primax.porting.private.{MODULES[module]}"), name)


def read(x: Any) -> Any:
    return Reader(io.BytesIO(pickle.dumps(x))).load()


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_keys_and_their_dtypes_are_read(impl: str, jax: Any) -> None:
    theirs = jax.random.split(jax.random.key(3, impl=impl), 2)
    ours = read(theirs)
    assert type(ours) is type(px.random.key(0))
    assert ours.dtype == read(theirs.dtype) == px.random.key(0, impl=impl).dtype
    assert hash(ours.dtype) == hash(read(theirs.dtype))
    assert np.array_equal(px.random.key_data(ours), jax.random.key_data(theirs))
    assert ours[0].shape == ()
    again = pickle.loads(pickle.dumps({"keys": ours, "dtype": ours.dtype}))
    assert np.array_equal(px.random.key_data(again["keys"]), jax.random.key_data(theirs))
    assert again["dtype"] == ours.dtype
