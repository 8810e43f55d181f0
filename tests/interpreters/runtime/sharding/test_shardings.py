"""Shardings: the parts of arrays that they give to devices."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
from primax.sharding import Mesh, NamedSharding

pytestmark = pytest.mark.any_word_size

P = px.P
H = np.arange(32, dtype=np.float32).reshape(8, 4)


@pytest.fixture
def mesh() -> Mesh:
    return px.make_mesh((4, 2), ("x", "y"))


def put(mesh: Mesh, *axes: object) -> px.Array:
    return px.device_put(H, NamedSharding(mesh, P(*axes)))


SPECS = [(), ("x",), ("y",), ("x", "y"), (None, "x"), (("x", "y"),), (None, ("y", "x")[:1]), (("y", "x"), None)]


@pytest.mark.parametrize("axes", SPECS, ids=str)
def test_arrays_lie_as_in_jax(jax, mesh, axes):
    theirs = jax.sharding.NamedSharding(
        jax.sharding.Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y")), jax.sharding.PartitionSpec(*axes)
    )
    ours = NamedSharding(mesh, P(*axes))
    x = px.device_put(H, ours)
    assert x.sharding is ours
    assert x.committed
    np.testing.assert_array_equal(x, H)
    parts = jax.device_put(H, theirs).addressable_shards
    assert [(s.index, s.replica_id) for s in x.addressable_shards] == [(s.index, s.replica_id) for s in parts]
    for one, other in zip(x.addressable_shards, parts, strict=True):
        np.testing.assert_array_equal(one.data, other.data)
        assert one.data.device == one.device
    assert x.is_fully_replicated is theirs.is_fully_replicated
    assert ours.shard_shape(H.shape) == theirs.shard_shape(H.shape)


def test_shardings_along_meshes_without_devices_stand_for_the_mesh_in_scope(mesh):
    sharding = NamedSharding(mesh.abstract_mesh, P("x"))
    assert sharding is NamedSharding(mesh.abstract_mesh, P("x"))
    assert sharding.num_devices == 8
    assert sharding.shard_shape((8, 4)) == (2, 4)
    with pytest.raises(ValueError, match=r"NamedSharding\.device_set: mesh must have devices"):
        _ = sharding.device_set
    with pytest.raises(ValueError, match="device_put: a sharding over a mesh without devices needs a mesh"):
        px.device_put(H, sharding)
    with px.set_mesh(mesh):
        assert px.device_put(H, sharding).sharding is NamedSharding(mesh, P("x"))
        moved = px.jit(lambda x: px.lax.with_sharding_constraint(x + 1, sharding))(H)
        assert moved.sharding.is_equivalent_to(NamedSharding(mesh, P("x")), 2)
