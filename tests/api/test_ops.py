"""Reductions of segments against jax."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import ops

pytestmark = pytest.mark.any_release

IDS = np.array([0, 2, -1, 7, 2], np.int32)
DATA = np.array([1.0, 2, 3, 4, 5])
NAMES = ("segment_sum", "segment_prod", "segment_max", "segment_min")


@pytest.mark.parametrize("name", NAMES)
def test_segments_have_the_values_of_jax(jax, name):
    def both(*args, **options):
        got, want = getattr(ops, name)(*args, **options), getattr(jax.ops, name)(*args, **options)
        assert (got.dtype, got.shape, got.weak_type) == (want.dtype, want.shape, want.weak_type)
        np.testing.assert_array_equal(got, want)

    for dtype in ("float32", "int32", "uint8", "complex64"):
        both(DATA.astype(dtype), IDS, 4)
    both(DATA.astype(np.float32), IDS)
    both(DATA.astype(np.float32), IDS, 4, bucket_size=2)
    both(DATA.astype(np.float32), IDS, 4, mode="clip")
    both(DATA.astype(np.float32), np.sort(IDS), num_segments=0, indices_are_sorted=True)
    both(np.arange(10, dtype=np.float32).reshape(5, 2), IDS, 3)
    both(np.float32(3), np.int32(0), 2)
    if name in NAMES[2:]:
        both(DATA > 2, IDS, 4)
        both(np.float32([1, np.nan, -np.inf, 3, 4]), np.int32([0, 0, 1, 1, 2]), 4)


def test_segments_keep_64_bits():
    with px.enable_x64(True):
        largest = np.iinfo(np.uint64).max
        found = px.ops.segment_min(np.array([1, 3], np.uint64), np.array([0, 2]))
        np.testing.assert_array_equal(found, np.array([1, largest, 3], np.uint64))
        assert ops.segment_max(DATA, IDS, 4).tolist() == [1.0, -np.inf, 5.0, -np.inf]
        assert ops.segment_min(DATA.astype(int), IDS, 4).tolist() == [1, 2**63 - 1, 2, 2**63 - 1]
        assert ops.segment_sum(DATA, IDS, 4).dtype == np.float64


def test_segments_are_differentiated_compiled_and_mapped():
    def total(data):
        return ops.segment_sum(data**2, IDS, 3) @ pnp.array([1.0, 10.0, 100.0])

    np.testing.assert_array_equal(px.jit(px.grad(total))(pnp.arange(5.0)), [0, 200, 0, 0, 800])
    assert px.jit(lambda data: ops.segment_sum(data, IDS))(pnp.arange(5.0)).shape == (8,)
    rows = pnp.stack([pnp.arange(5.0), pnp.ones(5)])
    np.testing.assert_array_equal(px.vmap(lambda row: ops.segment_sum(row, IDS, 3))(rows), [[0, 0, 5], [1, 0, 2]])
    ties = px.grad(lambda x: ops.segment_max(x, np.int32([0, 0, 1]), 2).sum())(pnp.array([1.0, 1.0, 2.0]))
    assert ties.tolist() == [0.5, 0.5, 1.0]


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: ops.segment_sum([1.0], np.int32([0]), 1), TypeError, "segment_sum: data must be an array"),
        (lambda: ops.segment_sum(DATA > 2, IDS, 1), TypeError, "segment_sum: data must be numbers, got bool"),
        (lambda: ops.segment_max(DATA, DATA, 1), TypeError, "segment_max: segment_ids must be integers, got f"),
        (lambda: ops.segment_min(DATA, IDS[:4], 1), ValueError, "segment_min: segment_ids must have the shape"),
        (lambda: ops.segment_sum(DATA, IDS, -3), ValueError, "num_segments must not be negative, got -3"),
        (lambda: ops.segment_sum(DATA, IDS, 2.0), TypeError, "segment_sum: num_segments must be an integer"),
        (lambda: ops.segment_sum(DATA, IDS, 4, bucket_size=0), ValueError, "bucket_size must be positive, got 0"),
        (
            lambda: ops.segment_sum(DATA[:0], IDS[:0]),
            ValueError,
            "num_segments must be given where segment_ids are empty",
        ),
        (
            lambda: px.jit(ops.segment_sum)(DATA, IDS),
            TypeError,
            "num_segments must be given where segment_ids are tra",
        ),
    ],
)
def test_wrong_segments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("data", [np.float32(2), np.float32([[1, 3]])], ids=["a number", "one row"])
def test_one_element_is_the_data_of_every_segment(data):
    ids = np.int32([0, 1, 1])
    whole = np.broadcast_to(data, (3, *data.shape[1:]))
    for function in (ops.segment_sum, ops.segment_max):
        np.testing.assert_array_equal(function(data, ids, 2), function(whole, ids, 2))


def test_sums_of_segments_are_divided_as_asked():
    mesh = px.make_mesh((2,), ("x",), (px.sharding.AxisType.Explicit,))
    with px.set_mesh(mesh):
        out = px.ops.segment_sum(np.float32([1, 2, 3]), np.array([0, 1, 1]), 2, out_sharding=px.P("x"))
        assert px.typeof(out).sharding.spec == px.P("x")
    np.testing.assert_array_equal(out, [1, 5])
