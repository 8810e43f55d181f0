"""Upper halves of products are right with the compiler's operation for them, and without."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
from primax.core import _jaxlib


@pytest.mark.parametrize("has_operation", [True, False])
@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_upper_halves_of_products_are_exact(name, has_operation, monkeypatch):
    if has_operation and not hasattr(_jaxlib.chlo, "mulhi"):
        pytest.skip("jaxlib before 0.10.2 has no operation for the upper half")
    if not has_operation:
        monkeypatch.delattr(_jaxlib.chlo, "mulhi", raising=False)
    dtype = np.dtype(name)
    info = np.iinfo(dtype)
    some = np.random.default_rng(0).integers(info.min, info.max, 20, dtype, endpoint=True)
    x = np.array([info.min, info.min + 1, info.max, 0, 1, *some], dtype)
    wanted = [[int(a) * int(b) >> info.bits for b in x] for a in x]
    with px.enable_x64(True):
        # A function of its own is compiled anew.
        out = px.jit(lambda a, b: px.lax.mulhi(a, b))(x[:, None], x[None])
    np.testing.assert_array_equal(out, np.array(wanted, dtype))
