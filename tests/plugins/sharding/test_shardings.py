"""Arrays and programs over the devices of meshes: where they lie, what they compute, what is refused."""

from __future__ import annotations

import copy
import pickle
from xml.etree import ElementTree

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.extend.provisional import runtime
from primax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, SingleDeviceSharding

pytestmark = pytest.mark.any_word_size

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


def test_arrays_are_made_of_parts(mesh):
    s = NamedSharding(mesh, P("x", "y"))
    x = px.make_array_from_callback((8, 4), s, lambda index: H[index])
    assert x.sharding is s
    np.testing.assert_array_equal(x, H)
    again = px.make_array_from_single_device_arrays((8, 4), s, [shard.data for shard in x.addressable_shards][::-1])
    np.testing.assert_array_equal(again, H)
    np.testing.assert_array_equal(px.make_array_from_process_local_data(s, H), H)
    with pytest.raises(ValueError, match=r"parts must be of shape \(2, 2\), got \(8, 4\)"):
        px.make_array_from_callback((8, 4), s, lambda index: H)
    with pytest.raises(ValueError, match="arrays must be one on each of"):
        px.make_array_from_single_device_arrays((8, 4), s, [x.addressable_data(0)])


def test_what_arrays_over_devices_can_do(mesh):
    x = put(mesh, "x", "y")
    assert repr(x) == repr(pnp.asarray(H))
    assert float(x[1, 2]) == 6.0
    assert x[2:4].tolist() == H[2:4].tolist()
    assert [row.tolist() for row in x] == H.tolist()
    assert x.addressable_data(3).tolist() == H[2:4, 2:].tolist()
    assert x.on_device_size_in_bytes() == 16 * 8
    assert x.is_ready() in (True, False)
    twin = copy.deepcopy(x)
    assert twin.sharding is x.sharding
    assert twin.tolist() == x.tolist()
    assert pickle.loads(pickle.dumps(x)).tolist() == H.tolist()
    assert x.block_until_ready() is x
    x.delete()
    with pytest.raises(px.errors.DeletedArrayError):
        np.asarray(x)
    assert twin.tolist() == H.tolist()
    with pytest.raises(BufferError, match="addressable_shards"):
        twin.__dlpack__()
    with pytest.raises(IndexError, match="index must be below 8"):
        twin.addressable_data(8)


PROGRAMS = {
    "elementwise": lambda np_, x, y: np_.sin(x) * y + 1.0,
    "matmul": lambda np_, x, y: x @ y.T,
    "sum": lambda np_, x, y: (x * y).sum(0),
    "sort": lambda np_, x, y: np_.sort(x - y, axis=0),
    "reshape": lambda np_, x, y: np_.reshape(x + y, (-1,)),
    "concatenate": lambda np_, x, y: np_.concatenate([x, y]),
    "indexing": lambda np_, x, y: x[np_.array([3, 0, 5])] + y[1:4],
    "cumsum": lambda np_, x, y: np_.cumsum(x, 0) + y,
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("axes", [("x",), ("x", "y"), (("x", "y"),)], ids=str)
def test_programs_compute_the_same_however_arguments_lie(mesh, name, axes):
    program = PROGRAMS[name]
    want = program(np, H, 2 * H)
    x = put(mesh, *axes)
    for out in (program(pnp, x, 2 * H), px.jit(lambda x, y: program(pnp, x, y))(x, 2 * H)):
        np.testing.assert_allclose(out, want, rtol=1e-6)
        assert len(out.devices()) == 8

    def loss(x, y):
        return (program(pnp, x, y) ** 2).sum()

    np.testing.assert_allclose(px.grad(loss)(x, 2 * H), px.grad(loss)(H, 2 * H), rtol=1e-5)


def test_shardings_of_arguments_and_results_can_be_told(mesh):
    s, t = NamedSharding(mesh, P("x", "y")), NamedSharding(mesh, P("y"))
    f = px.jit(
        lambda a, b: {"sum": a + b["b"], "total": a.sum()}, in_shardings=(s, None), out_shardings=t if False else None
    )
    out = f(H, {"b": H})
    assert out["sum"].sharding.spec == P("x", "y")
    g = px.jit(lambda a: (a * 2, a.sum()), in_shardings=s, out_shardings=(t, None))
    for _ in range(3):
        doubled, total = g(put(mesh, "x", "y"))
        assert doubled.sharding is t
        assert float(total) == H.sum()
    compiled = g.lower(H).compile()
    assert compiled.input_shardings == ((s,), {})
    assert compiled.output_shardings[0] is t
    np.testing.assert_array_equal(compiled(H)[0], 2 * H)
    assert 'sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>' in g.lower(H).as_text()


def test_the_fast_path_takes_arrays_over_devices(mesh):
    traced = []

    def fun(x, y):
        traced.append(1)
        return x * y

    f = px.jit(fun)
    x = put(mesh, "x")
    outs = [f(x, 2.0) for _ in range(4)]
    assert len(traced) == 1
    assert f._cache_size() == 1
    assert all(out.sharding.spec == P("x") for out in outs)
    np.testing.assert_array_equal(f(put(mesh, "y"), 2.0), 2 * H)
    assert len(traced) == 1


def test_donated_arrays_over_devices_are_reused(mesh):
    f = px.jit(lambda a: a + 1, donate_argnums=0)
    x = put(mesh, "x", "y")
    y = f(x)
    assert x.is_deleted()
    assert y.sharding.spec == P("x", "y")
    np.testing.assert_array_equal(f(y), H + 2)


def test_what_is_donated_is_no_other_argument_and_shares_nothing(mesh):
    f = px.jit(lambda a, b: a + b, donate_argnums=0)
    x = put(mesh, "x")
    with pytest.raises(ValueError, match=r"donated .* must not be another argument of the same call"):
        f(x, x)
    with pytest.raises(ValueError, match="must not be another argument"):
        f.lower(x, x).compile()(x, x)
    np.testing.assert_array_equal(f(x, H), 2 * H)
    x = put(mesh, "x", "y")
    twin = px.make_array_from_single_device_arrays((8, 4), x.sharding, [shard.data for shard in x.addressable_shards])
    alike = px.device_put(x, NamedSharding(mesh, P(("x",), ("y",))))
    np.testing.assert_array_equal(f(x, twin), 2 * H)
    assert x.is_deleted()
    np.testing.assert_array_equal(f(twin, alike), 2 * H)
    one = px.device_put(H, px.devices()[0])
    whole = px.device_put(one, NamedSharding(mesh, P()))
    px.jit(lambda a: a + 1, donate_argnums=0)(whole)
    np.testing.assert_array_equal(one, H)


def test_a_device_and_a_mesh_of_it_go_together():
    one = NamedSharding(px.make_mesh((1,), ("i",)), P("i"))
    device = px.devices()[0]
    np.testing.assert_array_equal(px.device_put(H, one) + px.device_put(H, device), 2 * H)
    f = px.jit(lambda x, y: x + y, in_shardings=(SingleDeviceSharding(device), one))
    np.testing.assert_array_equal(f(H, H), 2 * H)
    g = px.jit(lambda x: x * 2, out_shardings=SingleDeviceSharding(device))
    np.testing.assert_array_equal(g(px.device_put(H, one)), 2 * H)


def test_constraints_tell_how_values_lie_inside_of_programs(mesh):
    s = NamedSharding(mesh, P("y", "x"))
    f = px.jit(lambda x: px.lax.with_sharding_constraint(x * 2, s))
    assert f(put(mesh, "x")).sharding is s
    np.testing.assert_allclose(px.grad(lambda x: (f(x) ** 2).sum())(put(mesh, "x")), 8 * H)
    stacked = px.vmap(f, in_axes=1, out_axes=1)(np.stack([H, H], 1))
    np.testing.assert_array_equal(stacked, np.stack([2 * H, 2 * H], 1))
    assert px.lax.with_sharding_constraint(H, s).sharding is s
    free = NamedSharding(mesh, P(P.UNCONSTRAINED, "y"))
    np.testing.assert_array_equal(px.jit(lambda x: px.lax.with_sharding_constraint(x, free))(put(mesh, "x")), H)


@pytest.mark.parametrize("place", [np.array([0]), np.array([5]), 3, np.array([6, 1])], ids=str)
@pytest.mark.parametrize("name", ["set", "add", "multiply", "max"])
def test_updates_of_values_divided_inside_of_programs_change_one_place(mesh, name, place):
    @px.jit
    def update(x, i):
        x = px.lax.with_sharding_constraint(x, NamedSharding(mesh, P("x")))
        x = getattr(x.at[i], name)(-7.0)
        return px.lax.with_sharding_constraint(x, NamedSharding(mesh, P()))

    changes = {"set": lambda x: -7, "add": lambda x: x - 7, "multiply": lambda x: -7 * x, "max": lambda x: x}
    for whole in (H, H[:, 0]):
        want = whole.copy()
        want[place] = changes[name](want[place])
        np.testing.assert_array_equal(update(px.device_put(whole, NamedSharding(mesh, P())), place), want)
        np.testing.assert_array_equal(update(whole, place), want)


MADE = [
    lambda: pnp.zeros(3),
    lambda: pnp.ones((8, 2), "int32"),
    lambda: pnp.full((2, 2), 1.5),
    lambda: pnp.empty(3),
    lambda: pnp.eye(4),
    lambda: pnp.tri(4),
    lambda: pnp.arange(5),
    lambda: pnp.linspace(0, 1, 5),
    lambda: pnp.hanning(5),
    lambda: pnp.asarray(H),
    lambda: pnp.asarray(H, "float16"),
    lambda: pnp.array([[1, 2], [3, 4]]),
    lambda: pnp.asarray(2.0),
    lambda: pnp.diag_indices(3)[0],
    lambda: px.random.key_data(px.random.key(0)),
    lambda: px.jit(lambda: pnp.ones(3))(),
    lambda: px.lax.iota("int32", 4),
    lambda: px.lax.full((2,), 1.0),
]


@pytest.mark.parametrize("make", MADE)
def test_new_arrays_are_on_all_devices_of_a_mesh_that_is_set(mesh, make):
    plain = make()
    assert len(plain.devices()) == 1
    assert not plain.committed
    with px.set_mesh(mesh):
        out = make()
        assert out.sharding is NamedSharding(mesh, P())
        assert out.committed
        assert len(px.device_put(H).devices()) == 1  # its place is explicit: the default device
        assert make_on(px.devices()[3]).devices() == {px.devices()[3]}
    with mesh:  # it only supplies the devices of specifications
        assert make().devices() == plain.devices()
    np.testing.assert_array_equal(out, plain)
    assert (out.dtype, out.weak_type) == (plain.dtype, plain.weak_type)


def make_on(device: object) -> px.Array:
    return pnp.zeros(3, device=device)


def test_only_set_mesh_decides_where_new_arrays_are(mesh):
    def devices():
        return {len(x.devices()) for x in (pnp.zeros(3), pnp.sin(H), px.jit(lambda x: x + 1)(H))}

    other = px.make_mesh((8,), ("i",))
    with mesh:
        assert devices() == {1}
        with px.sharding.use_abstract_mesh(mesh.abstract_mesh):
            assert devices() == {1}
        with px.set_mesh(mesh):
            assert devices() == {8}
        assert devices() == {1}
    with px.set_mesh(mesh):
        for inner in (mesh, other, px.sharding.use_abstract_mesh(mesh.abstract_mesh)):
            with inner:
                assert devices() == {8}
        assert devices() == {8}
    assert devices() == {1}


PLACED = {
    "zeros": lambda d: pnp.zeros(8, device=d),
    "full": lambda d: pnp.full((8,), 2.5, device=d),
    "eye": lambda d: pnp.eye(8, device=d),
    "arange": lambda d: pnp.arange(8, device=d),
    "bools": lambda d: pnp.arange(0, 2, dtype=bool, device=d),
    "array": lambda d: pnp.array(np.arange(8.0, dtype="float32"), device=d),
    "cast": lambda d: pnp.asarray(np.arange(8), "float32", device=d),
    "sequence": lambda d: pnp.asarray([1, 2, 3, 4, 5, 6, 7, 8], device=d),
}


@pytest.mark.parametrize("name", PLACED)
def test_an_array_with_a_place_is_put_nowhere_else(mesh, name, monkeypatch):
    rows, devices = NamedSharding(mesh, P("y")), px.devices()
    put, seen = runtime.put_value, []

    def watched(x, weak_type=False, device=None, lent=False):
        seen.append(device)
        return put(x, weak_type, device, lent)

    monkeypatch.setattr(runtime, "put_value", watched)
    with px.set_mesh(mesh):
        assert PLACED[name](devices[3]).devices() == {devices[3]}
        assert PLACED[name](rows).sharding is rows
    assert seen
    assert NamedSharding(mesh, P()) not in seen


def test_a_mesh_in_scope_gives_specifications_their_devices(mesh):
    assert px.get_mesh().empty
    assert px.get_abstract_mesh().empty
    with px.set_mesh(mesh):
        assert px.get_mesh() is mesh
        assert px.get_abstract_mesh() == mesh.abstract_mesh
        assert px.device_put(H, P("x")).sharding is NamedSharding(mesh, P("x"))
        f = px.jit(lambda x: px.lax.with_sharding_constraint(x + 1, P("y", "x")), in_shardings=P("x"))
        assert f(H).sharding.spec == P("y", "x")
        assert len((pnp.arange(8.0) + 1).devices()) == 8
    assert px.get_mesh().empty
    with mesh:
        f = px.jit(lambda x: px.lax.with_sharding_constraint(x + 1, P("y", "x")), in_shardings=P("x"))
        assert f(H).sharding.spec == P("y", "x")
    with mesh, mesh:
        assert px.get_mesh() is mesh
    assert px.get_mesh().empty
    with px.sharding.use_abstract_mesh(AbstractMesh((2,), ("a",))):
        assert px.get_abstract_mesh().axis_names == ("a",)
        assert px.get_mesh().empty


def test_callbacks_see_whole_values_once(mesh, capfd):
    seen = []
    f = px.jit(
        lambda x: px.pure_callback(
            lambda v: seen.append(v.shape) or np.sin(v), px.ShapeDtypeStruct((8, 4), np.float32), x
        )
    )
    np.testing.assert_allclose(f(put(mesh, "x", "y")), np.sin(H), rtol=1e-6)
    assert seen == [(8, 4)]
    px.jit(lambda x: px.debug.print("sum {}", x.sum()))(put(mesh, "x"))
    px.effects_barrier()
    assert capfd.readouterr().out == "sum 496.0\n"


def test_random_bits_do_not_depend_on_how_they_lie(mesh):
    want = px.random.normal(px.random.key(1), (8, 4))
    f = px.jit(lambda key: px.random.normal(key, (8, 4)), out_shardings=NamedSharding(mesh, P("x", "y")))
    np.testing.assert_array_equal(f(px.random.key(1)), want)


def test_ordered_effects_have_no_order_among_devices(mesh):
    f = px.jit(lambda x: px.debug.print("{}", x.sum(), ordered=True))
    with pytest.raises(ValueError, match=r"ordered effects .* must run on one device, got 8"):
        f(put(mesh, "x"))


def test_a_mesh_of_one_device_is_like_the_device():
    one = px.make_mesh((1,), ("i",))
    x = px.device_put(H, NamedSharding(one, P("i")))
    np.testing.assert_array_equal(px.jit(lambda x: x * 2)(x), 2 * H)
    np.testing.assert_array_equal(np.asarray(x), H)
    assert SingleDeviceSharding(px.devices()[0]).is_fully_replicated


def taking(mesh: Mesh, *axes: object) -> object:
    return px.jit(lambda a: a, in_shardings=NamedSharding(mesh, P(*axes)))


def test_where_arrays_lie_is_drawn(mesh, capsys):
    px.debug.visualize_array_sharding(put(mesh, "y", "x"))
    px.debug.visualize_sharding((8,), NamedSharding(mesh, P("x")))
    assert capsys.readouterr().out.splitlines() == [
        "+-------+-------+-------+-------+",
        "| cpu 0 | cpu 2 | cpu 4 | cpu 6 |",
        "+-------+-------+-------+-------+",
        "| cpu 1 | cpu 3 | cpu 5 | cpu 7 |",
        "+-------+-------+-------+-------+",
        "+---------+---------+---------+---------+",
        "| cpu 0,1 | cpu 2,3 | cpu 4,5 | cpu 6,7 |",
        "+---------+---------+---------+---------+",
    ]
    with pytest.raises(ValueError, match="one or two axes"):
        px.debug.visualize_sharding((2, 2, 2), NamedSharding(mesh, P()))


def test_where_arrays_lie_is_drawn_as_a_picture_and_in_colors(mesh, tmp_path, capsys, monkeypatch):
    picture = tmp_path / "where.svg"
    px.debug.visualize_array_sharding(put(mesh, "y", "x"), picture=picture)
    assert capsys.readouterr().out == ""
    with pytest.raises(TypeError, match="visualize_sharding: picture must be the path of a file or None, got 3"):
        px.debug.visualize_array_sharding(put(mesh, "y", "x"), picture=3)
    root = ElementTree.parse(picture).getroot()
    name = "{http://www.w3.org/2000/svg}"
    assert [text.text for text in root.iter(f"{name}text")] == [f"cpu {i}" for i in (0, 2, 4, 6, 1, 3, 5, 7)]
    assert len({part.get("fill") for part in root.iter(f"{name}rect")}) == 8
    px.debug.visualize_sharding((8,), NamedSharding(mesh, P("x")), use_color=False, picture=picture)
    assert {part.get("fill") for part in ElementTree.parse(picture).getroot().iter(f"{name}rect")} == {"white"}
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    px.debug.visualize_sharding((8,), NamedSharding(mesh, P("x")))
    assert capsys.readouterr().out.count("\x1b[4") == 4


def test_keys_tell_how_they_lie(mesh):
    keys = px.device_put(px.random.split(px.random.key(0), 8), NamedSharding(mesh, P("x")))
    assert keys.is_fully_addressable
    assert not keys.is_fully_replicated
    assert len(keys.addressable_shards) == len(keys.global_shards) == 8
    first = keys.addressable_shards[0]
    assert (first.index, first.data.shape, first.data.dtype) == ((slice(0, 2, None),), (2,), keys.dtype)
    data = px.random.key_data
    assert np.array_equal(data(keys.addressable_data(2)), data(keys)[2:4])
    assert keys.on_device_size_in_bytes() > 0


def test_containers_of_local_data_become_containers_of_arrays(mesh):
    rows, x = NamedSharding(mesh, P("x")), np.arange(64.0).reshape(8, 8)
    made = px.make_array_from_process_local_data(rows, {"u": x, "v": (x[0], x.T)})
    assert all(leaf.sharding is rows for leaf in px.tree.leaves(made))
    assert np.array_equal(made["v"][1], x.T)
    made = px.make_array_from_process_local_data(rows, {"u": x, "v": x[0]}, {"u": (None, 8), "v": (8,)})
    assert np.array_equal(made["v"], x[0])


def test_where_values_inside_of_programs_lie_is_told_once_when_these_are_compiled(mesh, capsys):
    found = []

    def f(x):
        y = x * 2
        px.debug.inspect_array_sharding(y, callback=found.append)
        return y.sum()

    x = put(mesh, "x")
    jitted = px.jit(f)
    for _ in range(3):
        assert float(jitted(x)) == float(2 * H.sum())
    assert found == [x.sharding]
    found.clear()
    one = px.NamedSharding(px.make_mesh((1,), ("a",), devices=px.devices()[:1]), px.P("a"))
    assert float(px.jit(f)(px.device_put(np.ones(3, np.float32), one))) == 6.0
    assert found == [px.NamedSharding(one.mesh, px.P())]
    for g in (px.grad(f), lambda x: px.vmap(f)(x).sum()):
        found.clear()
        px.jit(g)(x)
        assert found == [x.sharding]
    found.clear()
    px.jit(f)(H)
    px.debug.inspect_array_sharding(H, callback=found.append)
    assert found == [px.sharding.SingleDeviceSharding(px.devices()[0])] * 2
    px.jit(px.debug.visualize_array_sharding)(x)
    assert "| cpu 0,1 |" in capsys.readouterr().out


def test_what_a_callback_raises_while_xla_divides_is_told(mesh):
    def fail(sharding):
        raise KeyError("mine")

    def f(x):
        px.debug.inspect_array_sharding(x, callback=fail)
        return x

    with pytest.raises(px.XlaError, match="KeyError: 'mine'"):
        px.jit(f)(put(mesh, "x"))
    inside = px.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    with pytest.raises(ValueError, match="value must not be inside of shard_map"):
        px.jit(inside)(put(mesh, "x"))
    with pytest.raises(TypeError, match="callback must be callable"):
        px.debug.inspect_array_sharding(H, callback=3)


REFUSED = [
    (lambda m: NamedSharding(m, P("z")), ValueError, r"spec names the axis 'z', which Mesh\(.*it has \('x', 'y'\)"),
    (lambda m: NamedSharding(m, P("x", "x")), ValueError, "each axis of the mesh once, got 'x' twice"),
    (lambda m: NamedSharding(m, "x"), TypeError, "spec must be a PartitionSpec"),
    (lambda m: NamedSharding("m", P()), TypeError, "mesh must be a Mesh"),
    (lambda m: px.device_put(np.zeros(6), NamedSharding(m, P("x"))), ValueError, "multiple of 4 .*'x' of size 4"),
    (lambda m: px.device_put(np.zeros(8), NamedSharding(m, P("x", "y"))), ValueError, "at least 2 axes, got shape"),
    (lambda m: px.device_put(1.0, P("x")), ValueError, "no mesh is in scope; set one with primax.set_mesh"),
    (lambda m: px.device_put(1.0, "cpu"), TypeError, "device must be one of primax.devices"),
    (lambda m: put(m, "x") + px.device_put(1.0, px.devices()[0]), ValueError, "same devices, .*device_put"),
    (lambda m: taking(m, "y")(put(m, "x")), ValueError, "argument 0 .* as in_shardings says"),
    (lambda m: taking(m, "x")(np.zeros(6)), ValueError, "in_shardings of argument 0"),
    (lambda m: px.jit(lambda a: a, out_shardings=(NamedSharding(m, P()),) * 2)(H), ValueError, "out_shardings"),
    (lambda m: px.jit(lambda a: a, in_shardings=3), TypeError, "in_shardings must be"),
    (lambda m: px.make_mesh((16,), ("i",)), ValueError, "needs 16 devices, and there are 8"),
    (lambda m: px.make_mesh((2, 2), ("i",)), ValueError, "one name per axis"),
    (lambda m: px.make_mesh((2, 2), ("i", "i")), ValueError, "axis_names must differ"),
    (lambda m: Mesh([1, 2], "i"), TypeError, "devices must be an array of primax.devices"),
    (lambda m: Mesh(px.devices()[:1] * 2, "i"), ValueError, "devices must differ"),
    (lambda m: px.set_mesh("m"), TypeError, "mesh must be a Mesh or None"),
    (lambda m: px.jit(lambda x: px.set_mesh(m))(1.0), ValueError, "cannot change while a function is traced"),
    (lambda m: P(["x", ["y"]]), TypeError, "names of mesh axes"),
    (lambda m: AbstractMesh((2,), ("i",), (AxisType.Auto,) * 2), ValueError, "one AxisType per axis"),
]


@pytest.mark.parametrize("call, kind, message", REFUSED)
def test_what_does_not_fit_is_refused_with_the_names(mesh, call, kind, message):
    with pytest.raises(kind, match=message):
        call(mesh)
    assert px.get_mesh().empty


def test_formats_are_taken_for_their_shardings(mesh: Mesh) -> None:
    sharding = NamedSharding(mesh, P("x"))
    layout = px.experimental.layout
    assert px.device_put(H, layout.Format(None, sharding)).sharding is sharding
    assert px.device_put(H, layout.Format()).sharding == px.device_put(H).sharding
    with pytest.raises(ValueError, match="device must have a row-major layout"):
        px.device_put(H, layout.Format(layout.Layout((1, 0)), sharding))
    assert sharding._addressable_device_assignment == tuple(mesh.devices.flat)


def test_the_sharding_of_a_type_without_a_mesh_asks_for_nothing() -> None:
    whole = px.typeof(pnp.asarray(H)).sharding
    out = px.random.bernoulli(px.random.key(0), 0.5, (8, 4), out_sharding=whole)
    assert (out == px.random.bernoulli(px.random.key(0), 0.5, (8, 4))).all()
    assert px.numpy.einsum("ij,kj->ik", H, H, out_sharding=px.typeof(pnp.zeros((8, 8))).sharding).shape == (8, 8)


def test_types_tell_whether_arrays_are_whole(mesh):
    explicit = px.make_mesh((4, 2), ("x", "y"), (AxisType.Explicit,) * 2)
    assert px.typeof(px.device_put(H, NamedSharding(explicit, P("x")))).sharding.is_fully_replicated is False
    assert px.typeof(pnp.ones(3)).sharding.is_fully_replicated is True


def test_out_sharding_that_divides_nothing_needs_no_explicit_axes(mesh):
    key = px.random.key(0)
    whole = px.random.bernoulli(key, 0.5, (8,), out_sharding=NamedSharding(mesh, P(None)))
    np.testing.assert_array_equal(whole, px.random.bernoulli(key, 0.5, (8,)))


def test_arrays_from_parts_have_their_sharding_on_one_device():
    sharding = NamedSharding(Mesh(px.devices()[:1], "x"), P("x"))
    made = [
        px.make_array_from_callback((8,), sharding, lambda i: H[:, 0][i]),
        px.make_array_from_single_device_arrays((8,), sharding, [pnp.asarray(H[:, 0])]),
        px.make_array_from_process_local_data(sharding, H[:, 0]),
    ]
    for x in made:
        assert x.sharding is sharding
        np.testing.assert_array_equal(x, H[:, 0])


def test_parts_of_arrays_are_on_one_device_and_of_the_dtype_that_is_given(mesh):
    sharding = NamedSharding(Mesh(px.devices()[:2], "x"), P("x"))
    parts = [px.device_put(H[:4], px.devices()[0]), px.device_put(H[4:], px.devices()[1])]
    make = px.make_array_from_single_device_arrays
    np.testing.assert_array_equal(make((8, 4), sharding, parts, dtype=np.float32), H)
    with pytest.raises(ValueError, match="dtype must be that of the parts, float32, got int32"):
        make((8, 4), sharding, parts, dtype="int32")
    with pytest.raises(ValueError, match="arrays must be arrays on one device each"):
        make((8, 4), sharding, [put(mesh, "x")] * 2)
    with pytest.raises(ValueError, match="arrays must be arrays on one device each"):
        px.jit(lambda x: make((8, 4), sharding, [x, x]))(parts[0])
    with pytest.raises(TypeError, match="arrays must be arrays on one device each"):
        make((8, 4), sharding, [H[:4], H[4:]])


def test_constraints_without_devices_are_over_the_mesh_of_the_arguments(mesh):
    def f(x):
        return px.lax.with_sharding_constraint(x, NamedSharding(mesh.abstract_mesh, P("x"))) * 2

    x = put(mesh, "x", "y")
    for out in (f(x), px.jit(f)(x), px.jit(px.grad(lambda x: (f(x) ** 2).sum()))(x)):
        assert out.sharding.is_equivalent_to(NamedSharding(mesh, P("x")), 2)
    np.testing.assert_array_equal(px.jit(f)(x), H * 2)
    np.testing.assert_array_equal(px.grad(lambda x: f(x).sum())(x), np.full_like(H, 2))
    assert px.jit(px.vmap(f))(put(mesh)).sharding.is_equivalent_to(NamedSharding(mesh, P(None, "x")), 2)
    assert px.jit(f)(H).devices() == {px.devices()[0]}
    with pytest.raises(ValueError, match=r"with_sharding_constraint: .* needs x to be an array over a mesh"):
        f(H)
    with pytest.raises(ValueError, match="as many devices as the program, 4, got"):
        px.jit(f)(px.device_put(H, NamedSharding(px.make_mesh((4,), ("z",)), P("z"))))


def test_constraints_in_programs_divide_axes_of_any_length():
    x = np.arange(15.0, dtype=np.float32).reshape(5, 3)
    auto = px.make_mesh((4, 2), ("x", "y"), (AxisType.Auto, AxisType.Auto))
    uneven = NamedSharding(auto, P("x", "y"))

    def f(x):
        return (px.lax.with_sharding_constraint(x * 2, uneven) + 1).T

    out = px.jit(f)(x)
    assert out.sharding.is_equivalent_to(NamedSharding(auto, P()), 2)
    np.testing.assert_array_equal(out, (x * 2 + 1).T)
    np.testing.assert_array_equal(px.jit(px.vmap(f))(x[None]), (x * 2 + 1).T[None])
    np.testing.assert_array_equal(px.jit(px.grad(lambda x: (f(x) ** 2).sum()))(x), 4 * (x * 2 + 1))
    total = px.jit(lambda x: px.lax.scan(lambda c, row: (f(x).T + c + row, None), x, x)[0])(x)
    np.testing.assert_allclose(total, x + 5 * (x * 2 + 1) + x.sum(0), rtol=1e-6)
    for function in (f, px.grad(lambda x: f(x).sum())):
        with pytest.raises(ValueError, match=r"with_sharding_constraint: axis 0 .* must be a multiple of 4"):
            function(x)
    with pytest.raises(ValueError, match=r"with_sharding_constraint: .* needs arrays of at least 2 axes"):
        px.jit(f)(x[0])
    explicit = NamedSharding(px.make_mesh((4, 2), ("x", "y"), (AxisType.Explicit, AxisType.Explicit)), P("x"))
    with pytest.raises(ValueError, match=r"with_sharding_constraint: axis 0 .* must be a multiple of 4"):
        px.jit(lambda x: px.lax.with_sharding_constraint(x, explicit))(x)


def test_only_constraints_leave_axes_to_xla(mesh):
    sharding = NamedSharding(mesh, P(P.UNCONSTRAINED, "y"))
    x = put(mesh, "x", "y")
    for refused in (
        lambda: px.device_put(H, sharding),
        lambda: px.jit(lambda x: x, in_shardings=sharding)(x),
        lambda: px.jit(lambda x: x, out_shardings=sharding)(x),
    ):
        with pytest.raises(ValueError, match=r"must say how each axis is divided, got .* with UNCONSTRAINED"):
            refused()
    np.testing.assert_array_equal(px.jit(lambda x: px.lax.with_sharding_constraint(x, sharding))(x), H)


def test_in_shardings_are_for_positional_arguments(mesh):
    f = px.jit(lambda x: x, in_shardings=NamedSharding(mesh, P("x")))
    with pytest.raises(ValueError, match="arguments must be positional where in_shardings is given"):
        f(x=H)
    assert f(H).sharding is NamedSharding(mesh, P("x"))
    assert px.jit(lambda x: x, out_shardings=NamedSharding(mesh, P("x")))(x=H).sharding is NamedSharding(mesh, P("x"))


def test_arrays_are_made_where_device_says_inside_of_programs_too(mesh):
    there = NamedSharding(mesh, P("x", "y"))
    for make in (pnp.array, pnp.asarray):
        assert px.jit(lambda x, make=make: make(x, dtype=int, device=there))(H).sharding is there


def test_what_is_made_like_a_struct_has_its_sharding(mesh):
    there = NamedSharding(mesh, P("x", "y"))
    struct = px.ShapeDtypeStruct((8, 4), np.float32, sharding=there)
    assert pnp.zeros_like(struct).sharding is pnp.full_like(struct, 2).sharding is there
    assert pnp.zeros_like(struct, shape=(4, 2)).devices() == {px.devices()[0]}
    assert pnp.zeros_like(struct, device=px.devices()[1]).devices() == {px.devices()[1]}
    without = struct.update(sharding=NamedSharding(mesh.abstract_mesh, P("x")))
    assert pnp.zeros_like(without).devices() == {px.devices()[0]}
    with px.set_mesh(mesh):
        assert pnp.zeros_like(without).sharding is NamedSharding(mesh, P("x"))


def test_compiled_programs_tell_the_shardings_of_results(mesh):
    compiled = px.jit(lambda x: (x * 2, x.sum())).lower(put(mesh, "x", "y")).compile()
    assert [info.sharding for info in compiled.out_info] == list(compiled.output_shardings)
    assert px.jit(pnp.sin).lower(H).compile().out_info.sharding is None
