"""Shardings: the parts of arrays that they give to devices."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import primax as px
from primax.interpreters.runtime.sharding.shardings import devices_of, named_from_hlo, on_one_device, sharding_of
from primax.sharding import Mesh, NamedSharding, SingleDeviceSharding

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


@pytest.mark.parametrize("axes", SPECS, ids=str)
def test_a_sharding_is_found_from_its_form_in_xla(mesh, axes):
    sharding = NamedSharding(mesh, P(*axes))
    found = named_from_hlo(sharding._to_xla_hlo_sharding(2), mesh, 2)
    assert found is not None
    assert found.is_equivalent_to(sharding, 2)


@pytest.mark.parametrize("axes", SPECS, ids=str)
def test_the_parts_of_an_array_cover_it_as_often_as_axes_divide_nothing(mesh, axes):
    sharding = NamedSharding(mesh, P(*axes))
    counts = np.zeros(H.shape, int)
    for part in sharding.devices_indices_map(H.shape).values():
        counts[part] += 1
        assert H[part].shape == sharding.shard_shape(H.shape)
    assert set(counts.flat) == {mesh.size_along(sorted(sharding.replicated_axes))}
    assert sharding.is_fully_replicated == (counts.min() == mesh.size)


def test_there_is_one_sharding_for_each_device_and_for_each_mesh_and_specification(mesh):
    device = px.devices()[3]
    assert SingleDeviceSharding(device) is sharding_of(device)
    assert NamedSharding(mesh, P("x")) is NamedSharding(mesh, P(("x",)))
    for sharding in (sharding_of(device), NamedSharding(mesh, P("x")), NamedSharding(mesh.abstract_mesh, P("y"))):
        assert pickle.loads(pickle.dumps(sharding)) is sharding
    assert repr(sharding_of(device)) == f"SingleDeviceSharding(device={device!r})"
    assert (on_one_device(sharding_of(device)), on_one_device(NamedSharding(mesh, P()))) == (True, False)
    assert devices_of(NamedSharding(mesh, P("y"))) == tuple(mesh.devices.flat)


def test_shardings_of_other_meshes_are_equivalent_if_their_parts_are(mesh):
    flat = px.make_mesh((8,), ("i",))
    assert NamedSharding(flat, P("i")).is_equivalent_to(NamedSharding(mesh, P(("x", "y"))), 1)
    assert not NamedSharding(flat, P("i")).is_equivalent_to(NamedSharding(mesh, P(("y", "x"))), 1)
    assert not NamedSharding(flat, P()).is_equivalent_to(sharding_of(px.devices()[0]), 1)
    one = Mesh(px.devices()[:1], "i")
    assert NamedSharding(one, P("i")).is_equivalent_to(sharding_of(px.devices()[0]), 1)


def test_devices_and_memory_that_do_not_exist_are_refused(mesh):
    with pytest.raises(TypeError, match=r"^device must be one of primax\.devices\(\), got 'cpu'"):
        SingleDeviceSharding("cpu")
    with pytest.raises(TypeError, match=r"^device must be one of primax\.devices\(\), got \[\]"):
        sharding_of([])
    with pytest.raises(ValueError, match=r"^NamedSharding: memory_kind must be None or 'device', .*, got 'host'$"):
        NamedSharding(mesh, P(), memory_kind="host")
    with pytest.raises(ValueError, match=r"^NamedSharding: unreduced and reduced must name mesh axes of type Explicit"):
        NamedSharding(mesh, P(unreduced={"x"}))
    with pytest.raises(
        ValueError, match=r"^axis 1 of shape \(8, 3\) must be a multiple of 2 .*'y' of size 2, got 3; pad"
    ):
        NamedSharding(mesh, P("x", "y")).shard_shape((8, 3))
