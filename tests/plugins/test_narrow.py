"""Elements of 2 and 4 bits are computed where XLA knows whole bytes only."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import primax as px
import primax.numpy as pnp

CALLS = {
    "concatenate": lambda a: px.lax.concatenate([a, a], 0),
    "pad": lambda a: px.lax.pad(a, a[0], [(1, 0, 1)]),
    "associative_scan": lambda a: px.lax.associative_scan(px.lax.max, a),
    "stack": lambda a: pnp.stack([a, a], 1),
    "reduceat": lambda a: pnp.minimum.reduceat(a, np.array([0, 3, 1])),
    "sort_key_val": lambda a: px.lax.sort_key_val(a, np.arange(4, dtype=np.int32)),
    "argsort": pnp.argsort,
    "top_k": lambda a: px.lax.top_k(a, 2),
    "dot": lambda a: px.lax.dot(a.reshape(2, 2), a.reshape(2, 2)),
    "convolve": lambda a: px.lax.conv(a.reshape(1, 1, 4), a[:2].reshape(1, 1, 2), (1,), "VALID"),
}


@pytest.mark.parametrize("name", ["int2", "uint2", "int4", "uint4", "float4_e2m1fn"])
def test_narrow_elements_have_the_values_of_wide_ones(name):
    dtype = np.dtype(getattr(ml_dtypes, name))
    x = np.array([1, 0, 1, 0], dtype)
    compute = px.jit(lambda a: {call: function(a) for call, function in CALLS.items()})
    got, want = compute(x), compute(x.astype(np.float32))
    for found, wide in zip(px.tree.leaves(got), px.tree.leaves(want), strict=True):
        assert found.dtype == (dtype if wide.dtype == np.float32 else wide.dtype)
        np.testing.assert_array_equal(
            np.asarray(found).astype(np.float32), np.asarray(wide).astype(found.dtype).astype(np.float32)
        )
