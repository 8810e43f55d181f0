"""Programs over several devices as bytes: called on as many devices, here and in another process."""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from packages import run

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.interpreters.runtime.sharding.spmd import all_divided

pytestmark = pytest.mark.usefixtures("in_32_bits")

P = px.P
X = np.sin(np.arange(16, dtype=np.float32)).reshape(8, 2)
W = np.cos(np.arange(6, dtype=np.float32)).reshape(2, 3)


@pytest.fixture
def mesh() -> px.sharding.Mesh:
    return px.make_mesh((4, 2), ("x", "y"))


def function(mesh):
    rows = px.NamedSharding(mesh, P("x"))

    def f(a, w):
        b = lax.with_sharding_constraint(a * 2, rows)
        total = px.shard_map(lambda v: lax.psum(pnp.sin(v), "x"), mesh=mesh, in_specs=P("x"), out_specs=P())(b)
        return b @ w, total

    return px.jit(f)


def placed(mesh, *axes):
    return px.device_put(X, px.NamedSharding(mesh, P(*axes)))


def test_it_computes_the_same_and_lies_the_same(mesh):
    f, x = function(mesh), placed(mesh, "x")
    exported = px.export.export(f)(x, W)
    loaded = px.export.deserialize(exported.serialize())
    assert exported.nr_devices == loaded.nr_devices == 8
    for each in (exported, loaded):
        for got, want in zip(each.call(x, W), f(x, W), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6)
            assert got.sharding.is_equivalent_to(want.sharding, got.ndim)


def test_a_mesh_without_devices_is_enough_to_export(mesh):
    explicit = (px.sharding.AxisType.Explicit, px.sharding.AxisType.Auto)
    for types in (None, explicit):
        bare = px.sharding.AbstractMesh((4, 2), ("x", "y"), types)
        lying = px.ShapeDtypeStruct((8, 2), np.float32, sharding=px.NamedSharding(bare, P("x")))
        exported = px.export.export(px.jit(lambda a, w: a @ w))(lying, w=W)
        assert exported.nr_devices == 8
        assert exported.in_shardings_jax(bare)[0] == px.NamedSharding(bare, P("x"))
        np.testing.assert_allclose(exported.call(placed(mesh, "x"), w=W), X @ W, rtol=1e-6)
    wide = px.NamedSharding(px.sharding.AbstractMesh((16,), ("x",)), P("x"))
    with pytest.raises(ValueError, match=r"at most 8 places, as there are devices, got AbstractMesh\('x': 16"):
        px.export.export(px.jit(pnp.sin))(px.ShapeDtypeStruct((16,), np.float32, sharding=wide))


def test_derivatives_are_over_as_many_devices(mesh):
    f, x = function(mesh), placed(mesh, "x")
    loaded = px.export.deserialize(px.export.export(f)(x, W).serialize(vjp_order=1))

    def loss(g, x):
        y, total = g(x, W)
        return (y**2).sum() + (total**3).sum()

    got, want = (px.grad(lambda x, g=g: loss(g, x))(x) for g in (loaded.call, f))
    np.testing.assert_allclose(got, want, rtol=1e-5)
    assert got.sharding.spec == P("x")
    assert loaded.vjp().nr_devices == 8


def test_it_is_part_of_other_programs_whose_collectives_and_meshes_are_theirs(mesh):
    f, x = function(mesh), placed(mesh, "x")
    exported = px.export.export(f)(x, W)
    other = px.make_mesh((2, 4), ("x", "y"))
    by_hand = px.shard_map(lambda v: lax.psum(v, "x"), mesh=other, in_specs=P("x"), out_specs=P())

    def both(g, x):
        first, second = g(x, W), g(x + 1, W)
        return by_hand(first[0]).sum() + by_hand(second[1]).sum()

    np.testing.assert_allclose(px.jit(lambda x: both(exported.call, x))(x), both(f, x), rtol=1e-5)


def test_arguments_may_lie_otherwise_or_be_placed_by_the_mesh_in_scope(mesh):
    f, x = function(mesh), placed(mesh, "x")
    exported = px.export.export(f)(x, W)
    want = f(x, W)
    line = px.make_mesh((8,), ("i",))
    for got in (exported.call(placed(mesh, None, "y"), W), exported.call(placed(line, "i"), W)):
        np.testing.assert_allclose(got[0], want[0], rtol=1e-6)
    with px.set_mesh(mesh):
        np.testing.assert_allclose(exported.call(X, W)[1], want[1], rtol=1e-6)


def test_shardings_are_told_as_in_jax(mesh):
    jax = pytest.importorskip("jax")
    x = placed(mesh, "x", "y")
    f = px.jit(lambda a, b: (a + b, b), out_shardings=(px.NamedSharding(mesh, P(("x", "y"))), None))
    exported = px.export.deserialize(px.export.export(f)(x, X).serialize())
    auto = (jax.sharding.AxisType.Auto,) * 2
    theirs = jax.make_mesh((4, 2), ("x", "y"), axis_types=auto)

    def lying(*spec):
        return jax.sharding.NamedSharding(theirs, jax.P(*spec))

    ins, outs = (lying("x", "y"), lying()), (lying(("x", "y")), None)
    whole = jax.jit(lambda a, b: (a + b, b), in_shardings=ins, out_shardings=outs)
    want = jax.export.export(whole)(*[jax.ShapeDtypeStruct(X.shape, X.dtype)] * 2)
    assert exported.nr_devices == want.nr_devices
    for got, sharding in zip(exported.in_shardings_jax(mesh), want.in_shardings_jax(theirs), strict=True):
        assert got.spec.partitions == tuple(sharding.spec)
    assert list(map(str, exported.in_shardings_hlo)) == ["{devices=[4,2]<=[8]}", "{replicated}"]
    assert list(map(str, exported.out_shardings_hlo)) == ["{devices=[8,1]<=[8]}", "None"]
    assert exported.in_shardings_jax(mesh) == (x.sharding, px.NamedSharding(mesh, P()))
    assert exported.out_shardings_jax(mesh)[0].spec == P(("x", "y"))
    assert exported.out_shardings_jax(mesh)[1] is None


def test_types_tell_explicit_axes_after_loading_too():
    mesh = px.make_mesh((4, 2), ("x", "y"), axis_types=(px.sharding.AxisType.Explicit,) * 2)
    whole = px.NamedSharding(mesh, P())
    with px.set_mesh(mesh):
        x = placed(mesh, "x")
        f = px.jit(lambda x: (x * 2, x.sum(0), x + 1), out_shardings=(None, None, whole))
        exported = px.export.export(f)(x)
        for each in (exported, px.export.deserialize(exported.serialize(vjp_order=1))):
            assert [aval.str_short() for aval in each.in_avals] == ["f32[8@x,2]"]
            assert each.call(x)[0].sharding.spec == P("x", None)
            assert px.grad(lambda x, each=each: (each.call(x)[0] ** 2).sum())(x).sharding.spec == P("x", None)
            assert px.typeof(each.call(x)[0] + x).str_short() == "f32[8@x,2]"


def test_programs_for_one_device_tell_nothing():
    exported = px.export.export(px.jit(lambda x: x + 1))(X)
    assert (exported.nr_devices, exported.in_shardings_hlo, exported.out_shardings_hlo) == (1, (None,), (None,))


def test_another_process_calls_it(mesh, tmp_path: Path):
    def decomposed(x):
        return lax.linalg.cholesky(x @ x.swapaxes(1, 2) + 3 * pnp.eye(3))

    stack = np.sin(np.arange(72, dtype=np.float32)).reshape(8, 3, 3)
    x = px.device_put(stack, px.NamedSharding(mesh, P("x")))
    (tmp_path / "f.bin").write_bytes(px.export.export(px.jit(decomposed))(x).serialize())
    np.save(tmp_path / "x.npy", stack)
    program = (
        "import numpy as np, primax as px; mesh = px.make_mesh((8,), ('i',));"
        "x = px.device_put(np.load('x.npy'), px.NamedSharding(mesh, px.P('i')));"
        "np.save('y.npy', px.export.deserialize(open('f.bin', 'rb').read()).call(x))"
    )
    run([sys.executable, "-c", program], tmp_path, PRIMAX_NUM_CPU_DEVICES="8")
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), decomposed(stack), rtol=1e-5)


def test_what_sharding_rules_divide_is_left_to_xla(mesh):
    with all_divided():
        exported = px.export.export(px.jit(pnp.sin))(placed(mesh, "x"))
    assert "stablehlo.sine" in exported.mlir_module()
    assert "custom_call" not in exported.mlir_module()


def test_it_is_built_for_other_platforms(mesh):
    exported = px.export.export(function(mesh), platforms=["cuda", "cpu"])(placed(mesh, "x"), W)
    assert "sdy.manual_computation" in exported.mlir_module("cuda")
    assert exported.platforms == ("cuda", "cpu")


def test_another_number_of_devices_is_refused(mesh):
    exported = px.export.export(function(mesh))(placed(mesh, "x"), W)
    few = px.make_mesh((2,), ("x",))
    for x, count in ((X, 1), (placed(few, "x"), 2)):
        with pytest.raises(ValueError, match=f"f was exported for 8 devices, but is called on {count}; call it with"):
            exported.call(x, W)
    inside = px.shard_map(lambda x: exported.call(x, W)[0], mesh=mesh, in_specs=P(), out_specs=P())
    with pytest.raises(ValueError, match=r"is called on parts, inside of shard_map"):
        inside(X)
    with pytest.raises(ValueError, match="in_shardings_jax: mesh must be a Mesh of 8 devices"):
        exported.in_shardings_jax(few)
    with pytest.raises(ValueError, match="mesh must have axes that name the division"):
        exported.in_shardings_jax(px.make_mesh((8,), ("i",)))


@pytest.mark.parametrize(
    "old, new, message",
    [
        (b'[["x", 4], ["y", 2]]', b'[["x", 4], ["x", 2]]', "axis_names must differ"),
        (b'"in": [[["x"]], []]', b'"in": [[["z"]], []]', "names the axis 'z'"),
        (b'"in": [[["x"]], []]', b'"in": [[["x"]]]    ', "must have shardings for .* values"),
    ],
)
def test_headers_that_tell_nonsense_are_refused(mesh, old, new, message):
    data = px.export.export(function(mesh))(placed(mesh, "x"), W).serialize()
    assert data.count(old) == 1
    body = data.replace(old, new)[:-32]
    with pytest.raises(ValueError, match=f"the header of data .*{message}"):
        px.export.deserialize(body + hashlib.sha256(body).digest())


def test_axes_that_are_not_named_by_strings_are_not_written():
    mesh = px.make_mesh((2,), (1,))
    exported = px.export.export(px.jit(lambda x: x))(px.device_put(X, px.NamedSharding(mesh, P(1))))
    with pytest.raises(ValueError, match=re.escape("the axes of the mesh must be named by strings, got (1,)")):
        exported.serialize()
