"""Arrays of extended dtypes: made, passed to programs and returned by them, and moved about by what sees no numbers."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.extend import core, dtypes
from primax.extend.core import ShapedArray
from primax.extend.interpreters import batching, mlir
from primax.extend.provisional.avals import ExtendedArray
from primax.plugins.export.structure import dtypes_by_name

pytestmark = pytest.mark.usefixtures("in_32_bits")


class pair(dtypes.extended):
    """Two words."""


class PairDType(dtypes.ExtendedDType):
    type = pair
    name = "pair"
    element_shape = (2,)
    element_dtype = np.dtype(np.uint32)

    def __eq__(self, other):
        return isinstance(other, PairDType)

    def __hash__(self):
        return hash(PairDType)


PAIR = PairDType()

wrap_p = core.Primitive("wrap_pair")
unwrap_p = core.Primitive("unwrap_pair")


@pytest.fixture(autouse=True, scope="module")
def _rules():
    wrap_p.def_abstract_eval(lambda x: ShapedArray(x.shape[:-1], PAIR))
    unwrap_p.def_abstract_eval(lambda x: ShapedArray((*x.shape, 2), np.uint32))
    for p in (wrap_p, unwrap_p):
        mlir.register_lowering(p, mlir.physical_lowering(lambda ctx, x: [x]))
        batching.primitive_batchers[p] = lambda args, dims, p=p: (
            p.bind(batching.moveaxis(args[0], dims[0], 0)),
            0,
        )


def pairs(*shape):
    return wrap_p.bind(pnp.arange(2 * int(np.prod(shape)), dtype="uint32").reshape(*shape, 2))


def words(x):
    return np.asarray(unwrap_p.bind(x))


def test_it_has_a_shape_and_a_type_and_no_numbers():
    x = pairs(3)
    assert type(x) is ExtendedArray
    assert isinstance(x, px.Array)
    assert (x.shape, x.ndim, x.size, x.weak_type, x.dtype) == ((3,), 1, 3, False, PAIR)
    assert core.get_aval(x) == ShapedArray((3,), PAIR)
    assert str(core.get_aval(x).str_short()) == "pair[3]"
    assert x.devices() == {px.devices()[0]}
    assert repr(x).startswith("Array((3,), dtype=pair) overlaying:\n[[0 1]")
    with pytest.raises(TypeError, match=r"dtype pair has no value as a NumPy array; [^()]*$"):
        np.asarray(x)
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(x)


def test_copies_and_pickles_hold_the_same():
    x = pairs(2)
    for other in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        np.testing.assert_array_equal(words(other), words(x))


def test_programs_take_and_return_it():
    calls = []

    @px.jit
    def f(x, y):
        calls.append(1)
        return {"x": x, "y": y + 1.0}

    x = pairs(3)
    for _ in range(3):
        out = f(x, 2.0)
        assert out["x"].dtype == PAIR
        np.testing.assert_array_equal(words(out["x"]), words(x))
    assert len(calls) == 1
    assert px.make_jaxpr(lambda x: x[1:])(x).pretty_print().startswith("{ lambda ; a:pair[3]. let")


def test_programs_close_over_it():
    x = pairs(3)
    np.testing.assert_array_equal(words(px.jit(lambda: x)()), words(x))
    inner = px.jit(lambda: px.lax.rev(x, (0,)))
    np.testing.assert_array_equal(words(px.jit(lambda: inner())()), words(x)[::-1])


@pytest.mark.parametrize(
    "move",
    [
        lambda x: x.reshape(2, 3),
        lambda x: x.reshape(2, 3).T,
        lambda x: x[::2],
        lambda x: x[None, 4],
        lambda x: px.lax.rev(x, (0,)),
        lambda x: px.lax.concatenate([x, x[:2]], 0),
        lambda x: px.lax.broadcast_in_dim(x, (2, 6), (1,)),
        lambda x: px.lax.select(pnp.arange(6) % 2 == 0, x, px.lax.rev(x, (0,))),
    ],
)
def test_what_moves_elements_moves_whole_ones(move):
    x = pairs(6)
    numbers = np.asarray(move(pnp.arange(6)))
    for f in (move, px.jit(move)):
        y = f(x)
        assert y.shape == numbers.shape
        np.testing.assert_array_equal(words(y), words(x)[numbers])


def test_it_goes_through_loops_and_branches():
    x = pairs(4)

    @px.jit
    def f(x):
        _, back = px.lax.scan(lambda c, one: (c, one), 0.0, x, reverse=True)
        last = px.lax.fori_loop(0, 3, lambda i, pair: (pair[1], pair[0]), (x[0], x[1]))
        return back, last, px.lax.cond(unwrap_p.bind(x)[0, 0] == 0, lambda x: x[2], lambda x: x[3], x)

    back, last, chosen = f(x)
    np.testing.assert_array_equal(words(back), words(x))
    np.testing.assert_array_equal(words(last[0]), words(x)[1])
    np.testing.assert_array_equal(words(chosen), words(x)[2])


def test_it_is_mapped_over():
    x = pairs(3, 2)
    out = px.vmap(lambda row, i: (row[::-1], unwrap_p.bind(row)[0] + i))(x, pnp.arange(3, dtype="uint32"))
    np.testing.assert_array_equal(words(out[0]), words(x)[:, ::-1])
    np.testing.assert_array_equal(out[1], words(x)[:, 0] + np.arange(3)[:, None])


def test_its_tangents_are_void():
    def f(x, y):
        return px.lax.rev(x, (0,)), y * unwrap_p.bind(x).astype("float32").sum()

    x = pairs(2)
    grad = px.grad(lambda y, x: f(x, y)[1])(2.0, x)
    assert float(grad) == words(x).sum()
    (out, _), (t, _) = px.jvp(f, (x, 2.0), (np.zeros((2,), px.float0), 1.0))
    assert out.dtype == PAIR
    assert t.dtype == px.float0


class FloatsDType(dtypes.ExtendedDType):
    """Blocks of floats, which are their own tangents."""

    type = pair
    name = "floats"
    element_shape = (3,)
    element_dtype = np.dtype(np.float32)
    tangent_dtype = property(lambda self: self)


class BytesDType(dtypes.ExtendedDType):
    """Blocks of bytes, whose tangents are blocks of floats."""

    type = pair
    name = "bytes"
    element_shape = (3,)
    element_dtype = np.dtype(np.int8)
    tangent_dtype = property(lambda self: FLOATS)
    how_to_compute = "read its bytes"


class WideDType(dtypes.ExtendedDType):
    type = pair
    name = "wide"
    element_dtype = np.dtype(np.float64)


FLOATS, BYTES, WIDE = FloatsDType(), BytesDType(), WideDType()
cast = px.lax.bitcast_convert_type
X = np.arange(18, dtype=np.float32).reshape(2, 3, 3) / 8 - 1
W = np.sin(np.arange(18, dtype=np.float32)).reshape(2, 3, 3)


def _uses(read, a):
    """Functions of blocks whose transposes add tangents; `read` gives the numbers, which may be the array itself."""
    inner = (1,) * (a.ndim - 2)
    mask = np.arange(3).reshape(3, *inner) > 0
    yield (read(a) * read(a) * W).sum()
    yield (read(a[np.array([1, 0, 1]), np.array([0, 0, 2])]) * W[0]).sum() + read(a[0]).sum()
    yield (read(a.at[0].set(a[1])) * W).sum() + (read(a.at[np.array([1, 1])].add(a)) * W).sum()
    yield (read(pnp.broadcast_to(a[0], a.shape)) * W).sum()
    yield (read(px.lax.select(pnp.broadcast_to(mask, a.shape), a, a[::-1])) * W).sum()
    yield px.lax.scan(lambda c, w: (c + (read(a)[0] * w).sum(), None), 0.0, W)[0]
    last, ys = px.lax.scan(lambda c, w: (c[::-1], (read(c)[0] * w).sum()), a, W)
    yield (read(last) * W).sum() + ys.sum()
    yield (read(px.lax.cond(W[0, 0, 1] > 0, lambda a: a[::-1], lambda a: a, a)) * W).sum()
    yield px.vmap(lambda w: (read(a)[0] * w * read(a)[1]).sum())(W).sum()
    yield px.checkpoint(lambda a: (pnp.sin(read(a)) * read(a)).sum())(a)
    yield (read(px.lax.associative_scan(pnp.add, a) - a) * W).sum()
    yield (read(px.vmap(lambda a: px.lax.psum(a, "i"), axis_name="i")(a)) * W).sum()


def test_gradients_are_those_of_a_batch_of_numbers():
    def derivatives(read):
        def f(a):
            return pnp.stack(list(_uses(read, a)))

        def all_of(a, t):
            value, pull = px.vjp(f, a)
            return value, px.vmap(pull)(pnp.eye(len(value)))[0], px.jvp(f, (a,), (t,))[1]

        return px.jit(all_of)

    want = derivatives(lambda x: x)(X, W)
    got = derivatives(lambda a: cast(a, np.float32))(cast(X, FLOATS), cast(W, FLOATS))
    assert got[1].dtype is FLOATS
    for x, y in zip((got[0], cast(got[1], np.float32), got[2]), want, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5)


def test_the_tangent_dtype_says_what_gradients_are():
    read = px.custom_jvp(lambda x: cast(x, np.int8).astype(np.float32))
    read.defjvp(lambda p, t: (read(*p), cast(t[0], np.float32)))
    x = cast(pnp.ones((2, 3), np.int8), BYTES)
    gradient = px.grad(lambda x: (read(x) * read(x)).sum() + read(x[0]).sum())(x)
    assert gradient.dtype is FLOATS
    np.testing.assert_array_equal(cast(gradient, np.float32), [[3.0] * 3, [2.0] * 3])
    with pytest.raises(TypeError, match="bytes read as int8 has no derivative, since bytes is not its own"):
        px.grad(lambda x: cast(x, np.int8).astype(np.float32).sum())(x)
    with pytest.raises(TypeError, match=r"must be floating or complex, got pair\[3\]"):
        px.grad(lambda x: 0.0)(pairs(3))
    assert px.grad(lambda x: 0.0, allow_int=True)(pairs(3)).dtype == px.float0
    (ct,) = px.linear_transpose(lambda x: 2 * cast(x, np.float32), cast(X, FLOATS))(W)
    np.testing.assert_array_equal(cast(ct, np.float32), 2 * W)


def test_elements_are_read_and_made_by_bitcasts():
    words_of = np.arange(12, dtype=np.uint32).reshape(3, 2, 2)
    x = px.vmap(lambda w: cast(w, PAIR), 1, 1)(words_of)
    assert (x.shape, x.nbytes, x.dtype.itemsize) == ((3, 2), 48, 8)
    np.testing.assert_array_equal(px.vmap(lambda x: cast(x, np.uint32), 1, 1)(x), words_of)
    assert repr(px.make_jaxpr(lambda x: cast(x, np.uint32))(x).out_avals) == "[ShapedArray(uint32[3,2,2])]"
    with pytest.raises(TypeError, match=r"last axes of an element of pair, u32\[2\], got u32\[3\]"):
        cast(np.zeros(3, np.uint32), PAIR)
    with pytest.raises(TypeError, match="must be that of the elements of pair, uint32, got int32"):
        cast(x, np.int32)


def _lowered(lowering, result):
    p = core.Primitive("look")
    p.def_abstract_eval(lambda x: result(x.shape))
    mlir.register_lowering(p, lowering)
    batching.defvectorized(p)
    return np.asarray(px.jit(lambda x: p.bind(x))(pairs(3)))


def test_lowerings_of_functions_get_the_arrays_or_in_physical_rules_their_elements():
    def numbers(shape):
        return ShapedArray(shape, np.uint32)

    first = mlir.lower_fun(lambda x: x[..., 0], multiple_results=False)
    logical = mlir.lower_fun(lambda x: cast(x, np.uint32)[..., 0], multiple_results=False)
    for rule in (logical, mlir.physical_lowering(first), mlir.physical_lowering(lambda ctx, x: first(ctx, x))):
        np.testing.assert_array_equal(_lowered(rule, numbers), [0, 2, 4])


def test_a_lowering_that_looks_into_elements_unmarked_is_refused():
    with pytest.raises(TypeError, match="depends on the numbers in the elements") as raised:
        _lowered(lambda ctx, x: [x], lambda shape: ShapedArray(shape, np.uint32))
    assert any("primitive look was lowered for dtype pair" in note for note in raised.value.__notes__)
    p = core.Primitive("make")
    p.def_abstract_eval(lambda x: ShapedArray(x.shape[:-1], PAIR))
    mlir.register_lowering(p, lambda ctx, x: [x])
    batching.defvectorized(p)
    with pytest.raises(TypeError, match=r"primitive make was lowered.*mlir\.physical_lowering"):
        px.jit(lambda x: p.bind(x))(np.zeros((3, 2), np.uint32))


def test_functions_of_elements_fold_and_change_them():
    x = pairs(4)
    np.testing.assert_array_equal(words(px.lax.reduce(x, x[0], lambda a, b: b, (0,))), [6, 7])
    last = px.lax.reduce_window(x, x[0], lambda a, b: b, (2,), (2,), "valid")
    np.testing.assert_array_equal(words(last), [[2, 3], [6, 7]])
    np.testing.assert_array_equal(words(x.at[1].apply(lambda e: x[3])), [[0, 1], [6, 7], [4, 5], [6, 7]])
    np.testing.assert_array_equal(words(px.lax.associative_scan(lambda a, b: a, x[:3])), [[0, 1]] * 3)


REFUSED = {
    "add": lambda x: x + x,
    "sum": lambda x: px.lax.reduce_sum(x, (0,)),
    "argmax": lambda x: px.lax.argmax(x, 0, np.int32),
    "sort": lambda x: pnp.sort(x),
    "dot": lambda x: x @ x,
    "convert": lambda x: x.astype(np.float32),
    "other": lambda x: px.lax.convert_element_type(x, PAIR),
    "isnan": lambda x: pnp.isnan(x),
    "floor": lambda x: pnp.floor(x),
    "segment_max": lambda x: px.ops.segment_max(x, np.arange(3), 3),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_the_dtype_and_the_remedy(name):
    x = cast(np.zeros((3, 3), np.int8), BYTES)
    with pytest.raises(TypeError, match=r"bytes.*(read its bytes|values of bytes can be added if)"):
        REFUSED[name](x)


def test_promotion_knows_one_extended_dtype():
    assert dtypes.promote_types(PAIR, PAIR) == PAIR
    with pytest.raises(dtypes.TypePromotionError, match="dtype pair does not promote"):
        dtypes.promote_types(PAIR, np.float32)


def test_a_copy_may_be_donated():
    x = pairs(3)
    take = px.jit(lambda x: x[::-1], donate_argnums=0)
    for y in (x.copy(), pnp.array(x)):
        take(y)
        assert y.is_deleted()
    np.testing.assert_array_equal(words(x), [[0, 1], [2, 3], [4, 5]])
    key = px.random.key(0)
    for other in (px.random.clone(key), px.random.wrap_key_data(px.random.key_data(key))):
        take(pnp.stack([other]))
        px.jit(lambda k: px.random.fold_in(k, 1), donate_argnums=0)(other)
    assert px.random.key_data(key).tolist() == [0, 0]


def test_elements_of_64_bits_keep_them():
    with px.enable_x64(True):
        x = cast(pnp.arange(3.0), WIDE)
    same = px.jit(lambda x: px.pure_callback(lambda x: x[::-1], px.ShapeDtypeStruct(x.shape, WIDE), x))
    for y in (x[1:], px.jit(lambda x: x[::-1])(x), pnp.zeros_like(x), pickle.loads(pickle.dumps(x)), same(x)):
        assert y.base.dtype == np.float64


def test_shardings_divide_the_axes_of_the_array():
    mesh = px.make_mesh((1,), ("i",))
    x = pairs(3)
    for put in (px.device_put, lambda x, s: px.jit(lambda x: x, in_shardings=s)(x)):
        with pytest.raises(ValueError, match=r"P\(None, 'i'\) needs arrays of at least 2 axes, got shape \(3,\)"):
            put(x, px.NamedSharding(mesh, px.P(None, "i")))
    sharding = px.NamedSharding(mesh, px.P("i"))
    for y in (
        px.make_array_from_callback((3,), sharding, lambda index: x[index]),
        px.make_array_from_single_device_arrays((3,), sharding, [px.device_put(x, px.devices()[0])]),
    ):
        assert (y.dtype, y.sharding) == (PAIR, sharding)
        np.testing.assert_array_equal(words(y), words(x))


def test_a_file_has_the_registered_name_of_a_dtype():
    exported = px.export.export(px.jit(lambda x: x[::-1]))(cast(X, FLOATS))
    with pytest.raises(ValueError, match="dtype floats must have a name in files"):
        exported.serialize()
    register = px.export.register_dtype_serialization
    register(FLOATS, serialized_name="tests.floats")
    try:
        register(FLOATS, serialized_name="tests.floats")
        data = exported.serialize()
        out = px.export.deserialize(data).call(cast(X, FLOATS))
        np.testing.assert_array_equal(cast(out, np.float32), X[::-1])
        with pytest.raises(ValueError, match="must be new, got one of them again"):
            register(PAIR, serialized_name="tests.floats")
        with pytest.raises(TypeError, match="dtype must be an extended dtype, got dtype"):
            register(np.dtype("f4"), serialized_name="tests.f4")
    finally:
        dtypes_by_name.pop("tests.floats")
    with pytest.raises(ValueError, match="has none of this name"):
        px.export.deserialize(data)


@pytest.mark.parametrize(("old", "new"), [("int8", "float32"), ("float32", "int16")])
def test_bitcasts_between_widths_take_symbolic_sizes(old, new):
    x = np.arange(24, dtype=np.int8).reshape(2, 3, 4) if old == "int8" else X
    (n,) = px.export.symbolic_shape("n")
    exported = px.export.export(px.jit(lambda x: cast(x, new)))(px.ShapeDtypeStruct((n, *x.shape[1:]), old))
    np.testing.assert_array_equal(exported.call(x), cast(x, new))


def test_debug_nans_looks_into_elements():
    with px.debug_nans(True):
        with pytest.raises(FloatingPointError, match=r"bitcast_convert_type: with debug_nans .* got 3 in floats\[1\]"):
            cast(np.full((1, 3), np.nan, np.float32), FLOATS)
        assert px.jit(lambda x: x[::-1])(pairs(3)).shape == (3,)


def test_devices_add_the_tangents_of_what_they_share():
    mesh = px.make_mesh((8,), ("i",))
    rows = np.arange(24, dtype=np.float32).reshape(8, 3)

    def f(x, rows):
        part = px.shard_map(
            lambda x, row: (cast(x, np.float32) * row).sum()[None],
            mesh=mesh,
            in_specs=(px.P(), px.P("i")),
            out_specs=px.P("i"),
        )
        return part(x, rows).sum()

    gradient = px.jit(px.grad(f))(cast(X[0, 0], FLOATS), rows)
    np.testing.assert_array_equal(cast(gradient, np.float32), rows.sum(0))
