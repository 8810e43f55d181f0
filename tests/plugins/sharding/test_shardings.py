"""Arrays and programs over the devices of meshes: where they lie, what they compute, what is refused."""

from __future__ import annotations

import copy
import pickle
import threading
from xml.etree import ElementTree

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.extend import backend
from primax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, SingleDeviceSharding

P = px.P
H = np.arange(32, dtype=np.float32).reshape(8, 4)


@pytest.fixture
def mesh() -> Mesh:
    return px.make_mesh((4, 2), ("x", "y"))


def put(mesh: Mesh, *axes: object) -> px.Array:
    return px.device_put(H, NamedSharding(mesh, P(*axes)))


SPECS = [(), ("x",), ("y",), ("x", "y"), (None, "x"), (("x", "y"),), (None, ("y", "x")[:1]), (("y", "x"), None)]


def test_arrays_that_repeat_their_elements_are_divided():
    mesh = px.make_mesh((8,), ("x",))
    rows = np.broadcast_to(np.arange(3, dtype=np.float32), (8, 2, 3))
    np.testing.assert_array_equal(px.device_put(rows, px.NamedSharding(mesh, px.P("x"))), rows)


@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
def test_what_is_made_like_a_committed_array_has_its_place(kind):
    mesh = px.make_mesh((4, 2), ("x", "y"), (kind, kind))
    x = put(mesh, "x", "y")
    alone = px.device_put(H, px.devices()[3])
    for like in (pnp.zeros_like, pnp.ones_like, pnp.empty_like, lambda a: pnp.full_like(a, 7.5, dtype=int)):
        assert like(x).sharding == x.sharding
        assert like(alone).devices() == {px.devices()[3]}
        assert like(alone).committed
        assert not like(pnp.asarray(H)).committed
    sevens = px.lax.full_like(x, 7.5)
    assert sevens.sharding == x.sharding
    np.testing.assert_array_equal(sevens, np.full_like(H, 7.5))
    assert {shard.data.shape for shard in sevens.addressable_shards} == {(2, 2)}
    np.testing.assert_array_equal(pnp.full_like(x, np.arange(4.0)), np.broadcast_to(np.arange(4.0), (8, 4)))
    assert pnp.full_like(x, np.arange(4.0)).sharding == x.sharding
    assert pnp.zeros_like(x, shape=(2, 2)).devices() == {px.devices()[0]}
    assert pnp.zeros_like(x, device=px.devices()[1]).devices() == {px.devices()[1]}
    weak = px.device_put(2.0, px.devices()[3])
    assert pnp.zeros_like(weak).weak_type == px.lax.full_like(weak, 1.0).weak_type == weak.weak_type
    with pytest.raises(TypeError, match="full_like: fill_value must be a scalar"):
        px.lax.full_like(x, np.arange(4.0))


def test_arrays_of_one_value_are_made_over_meshes(mesh):
    sharding = NamedSharding(mesh, P("x", "y"))
    for made, value in ((pnp.zeros, 0), (pnp.ones, 1), (lambda shape, **where: pnp.full(shape, 2.5, **where), 2.5)):
        x = made((8, 4), device=sharding)
        assert x.sharding == sharding
        assert [shard.data.shape for shard in x.addressable_shards] == [(2, 2)] * 8
        np.testing.assert_array_equal(x, np.full((8, 4), value, np.float32))
        with pytest.raises(ValueError, match=r"axis 0 of shape \(3, 4\) must be a multiple of 4"):
            made((3, 4), device=sharding)
    assert px.jit(lambda: pnp.ones((8, 4), device=sharding))().tolist() == [[1.0] * 4] * 8


def test_a_scalar_outlives_the_donation_of_what_was_made_from_it(mesh):
    give = px.jit(lambda x: x + 1, donate_argnums=0)
    for device in (px.devices()[0], NamedSharding(mesh, P())):
        like = px.device_put(np.float32(1), device)
        for make in (pnp.full_like, px.lax.full_like, lambda x, value: pnp.full((), value, device=x.sharding)):
            value = pnp.float32(3)
            made = make(like, value)
            assert float(give(made)) == 4
            assert made.is_deleted()
            assert float(value) == 3


def test_meshes_are_one_object_for_equal_devices_names_and_types(mesh):
    assert px.make_mesh((4, 2), ("x", "y")) is mesh
    assert px.make_mesh((4, 2), ("y", "x")) is not mesh
    assert px.make_mesh((4, 2), ("x", "y"), (AxisType.Explicit, AxisType.Auto)) is not mesh
    assert dict(mesh.shape) == {"x": 4, "y": 2}
    assert (mesh.size, mesh.empty, mesh.axis_names, mesh.axis_sizes) == (8, False, ("x", "y"), (4, 2))
    assert mesh.device_ids.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert repr(mesh) == "Mesh('x': 4, 'y': 2, axis_types=(Auto, Auto))"
    assert mesh.abstract_mesh == AbstractMesh((4, 2), ("x", "y"))
    assert hash(mesh.abstract_mesh) == hash(AbstractMesh((4, 2), ("x", "y")))
    assert pickle.loads(pickle.dumps(mesh)) is mesh
    assert pickle.loads(pickle.dumps(mesh.abstract_mesh)) == mesh.abstract_mesh


def test_specifications_compare_by_what_they_divide():
    assert P("x") == P(("x",))
    assert hash(P("x")) == hash(P(("x",)))
    assert P(()) == P(None)
    assert P("x", None) != P("x")
    assert repr(P("x", None, ("x", "y"))) == "P('x', None, ('x', 'y'))"
    assert list(P("x", None)) == ["x", None]
    assert P("x") + P("y") == P("x", "y")
    assert P("x", "y")[1] == "y"
    assert pickle.loads(pickle.dumps(P("x", unreduced={"y"}))) == P("x", unreduced={"y"})


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


@pytest.mark.parametrize("source", SPECS, ids=str)
@pytest.mark.parametrize("target", SPECS, ids=str)
def test_arrays_go_from_every_division_to_every_other(mesh, source, target):
    x = px.device_put(put(mesh, *source), NamedSharding(mesh, P(*target)))
    assert x.sharding.spec == P(*target)
    np.testing.assert_array_equal(x, H)


def test_arrays_go_between_devices_and_meshes(mesh):
    one = px.devices()[3]
    np.testing.assert_array_equal(px.device_put(put(mesh, "x"), one), H)
    assert px.device_put(put(mesh, "x"), one).device == one
    other = Mesh(px.devices()[:2], "a")
    for x in (put(mesh, "x"), px.device_put(H, one), H):
        moved = px.device_put(x, NamedSharding(other, P("a")))
        assert len(moved.devices()) == 2
        np.testing.assert_array_equal(moved, H)


@pytest.mark.parametrize("dtype", ["int8", "bool", "bfloat16", "complex64", "int4", "float8_e4m3fn"])
def test_dtypes_survive(mesh, dtype):
    value = pnp.asarray(H % 4).astype(dtype)
    x = px.device_put(value, NamedSharding(mesh, P("x", "y")))
    assert x.dtype == value.dtype
    np.testing.assert_array_equal(np.asarray(x).astype(np.complex64), np.asarray(value).astype(np.complex64))


def test_scalars_empty_arrays_and_keys_lie_on_meshes(mesh):
    scalar = px.device_put(2.0, NamedSharding(mesh, P()))
    assert float(scalar) == 2.0
    assert scalar.weak_type
    assert len(scalar.devices()) == 8
    empty = px.device_put(np.zeros((0, 4), np.float32), NamedSharding(mesh, P("x")))
    assert empty.shape == (0, 4)
    assert np.asarray(empty).shape == (0, 4)
    keys = px.device_put(px.random.split(px.random.key(0), 8), NamedSharding(mesh, P("x")))
    draws = px.vmap(px.random.normal)(keys)
    np.testing.assert_array_equal(draws, px.vmap(px.random.normal)(px.random.split(px.random.key(0), 8)))
    assert draws.sharding.spec == P("x")


def test_trees_of_shardings_place_trees_of_arrays(mesh):
    s, r = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
    out = px.device_put({"a": H, "b": [H, 1.0]}, {"a": s, "b": r})
    assert (out["a"].sharding, out["b"][0].sharding, out["b"][1].sharding) == (s, r, r)
