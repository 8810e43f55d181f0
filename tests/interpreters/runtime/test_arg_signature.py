"""Signatures of arrays are compared by identity."""

from __future__ import annotations

import numpy as np

import primax as px
import primax.numpy as pnp
from primax.interpreters.runtime.arg_signature import arg_signature, interned


def test_arrays_with_the_same_properties_have_one_signature() -> None:
    x, y = pnp.ones(3), pnp.zeros(3)
    assert arg_signature(x) is arg_signature(y)
    assert arg_signature(x) is interned(x.aval, x.sharding, False)
    others = [pnp.ones(2), pnp.ones(3, np.int32), px.device_put(x, px.devices()[0])]
    assert len({*map(arg_signature, (x, y, *others))}) == 4


def test_weak_types_have_signatures_of_their_own() -> None:
    assert arg_signature(pnp.asarray(1.0)) is not arg_signature(pnp.asarray(np.float32(1)))


def test_a_deleted_array_has_none() -> None:
    kept, fresh = pnp.ones(3), pnp.ones(3)
    signature = arg_signature(kept)
    assert signature is not None
    kept.delete()
    fresh.delete()
    assert arg_signature(kept) is None
    assert arg_signature(fresh) is None
