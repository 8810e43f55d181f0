"""What values are to a program: NumPy arrays of every byte order and subclass, numbers, stand-ins."""

from __future__ import annotations

import copy
import enum
import gc
import pickle
import threading

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.core import avals
from primax.core.avals import (
    ALL_BUT_SHAPE_AND_DTYPE,
    WEAKNESS,
    ShapedArray,
    ShapeDtypeStruct,
    abstract_token,
    get_aval,
    same_type,
)
from primax.extend import core, dtypes
from primax.extend.provisional.sharding import AvalSharding

SWAPPED = np.array([1.0, 2.0, 3.0], np.dtype(np.float32).newbyteorder("S"))
SWAPPED_INTS = np.array([2, 0, 1], np.dtype(np.int32).newbyteorder("S"))
MASKED = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])


class Colour(enum.IntEnum):
    RED = 2


class Metres(float):
    pass


class Impedance(complex):
    pass


class Parameter:
    def __init__(self, value):
        self.value = value

    def __jax_array__(self):
        return self.value


class Series:
    def __array__(self, dtype=None, copy=None):
        return np.array([1.0, 2.0], np.float32)


@pytest.mark.parametrize(
    "use",
    [
        pnp.asarray,
        px.device_put,
        lambda x: pnp.array([x, x])[0],
        lambda x: pnp.add(x, 0),
        lambda x: lax.add(x, x) - x.astype(np.float32),
        lambda x: lax.mul(np.float32(1), x),
        lambda x: pnp.zeros(3) + x,
        lambda x: pnp.where(x > 0, x, 0),
        lambda x: px.jit(lambda y: y * pnp.asarray(x))(1.0),
        lambda x: px.grad(lambda y: (y * x).sum())(pnp.ones(3)),
        lambda x: px.vmap(lambda y: +y * 1)(x),
        lambda x: lax.scan(lambda c, y: (c, y), 0.0, x)[1],
        lambda x: lax.scan(lambda c, y: (c, y), x, pnp.ones(1))[0],
        lambda x: lax.cond(True, lambda y: y, lambda y: -y, x),
        lambda x: lax.while_loop(lambda c: c[0] < 0, lambda c: c, x),
        lambda x: pnp.full(3, x),
        lambda x: pnp.concatenate([x[:1], x[1:]]),
        lambda x: px.jit(lambda y, n: y, static_argnums=1)(x, 3),
        lambda x: pnp.zeros(3).at[:].set(x),
        lambda x: px.checkpoint(lambda y: y * 1)(x),
        lambda x: px.pure_callback(lambda y: np.asarray(y), px.ShapeDtypeStruct((3,), np.float32), x),
    ],
)
def test_arrays_of_the_other_byte_order_have_their_values(use):
    found = use(SWAPPED)
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, [1.0, 2.0, 3.0])


def test_arrays_of_the_other_byte_order_are_indices():
    np.testing.assert_array_equal(pnp.arange(10, 13)[SWAPPED_INTS], [12, 10, 11])
    np.testing.assert_array_equal(pnp.take(pnp.arange(10, 13), SWAPPED_INTS), [12, 10, 11])
    np.testing.assert_array_equal(pnp.zeros(3).at[SWAPPED_INTS].set(SWAPPED), [2.0, 3.0, 1.0])
    assert pnp.zeros(SWAPPED_INTS[:1]).shape == (2,)


def test_the_byte_order_is_no_part_of_a_type():
    assert get_aval(SWAPPED) == get_aval(SWAPPED.astype(np.float32))
    assert dtypes.result_type(SWAPPED, np.float16(1)) == np.float32
    assert get_aval(ShapeDtypeStruct((3,), SWAPPED.dtype)) == get_aval(SWAPPED)


@pytest.mark.parametrize("kind", [np.longdouble, np.clongdouble])
@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="longdouble is float64 here")
def test_numbers_of_more_than_64_bits_are_refused_by_a_clear_error(kind):
    for x in (np.ones(2, kind), kind(1)):
        for use in (pnp.asarray, px.device_put, px.jit(lambda y: y), lax.neg, lambda y: pnp.ones(2) + y):
            with pytest.raises(TypeError, match=np.dtype(kind).name):
                use(x)


def test_structured_and_dated_arrays_are_refused():
    for x in (np.zeros(2, [("a", np.int32)]), np.zeros(2, "M8[s]"), np.array([None]), np.array(["a"])):
        for use in (pnp.asarray, px.device_put, px.jit(lambda y: y), lax.neg):
            with pytest.raises(TypeError, match=r"must be an array|not a valid primax type"):
                use(x)


@pytest.mark.parametrize("x", [MASKED, np.ma.masked, MASKED[:0]])
def test_arrays_with_a_mask_are_refused_with_a_remedy(x):
    uses = (
        pnp.asarray,
        px.device_put,
        px.jit(lambda y: y),
        lax.neg,
        pnp.sin,
        lambda y: pnp.ones(3) + y,
        lambda y: pnp.asarray([y]),
    )
    for use in uses:
        with pytest.raises(ValueError, match=r"filled\(value\)"):
            use(x)


def test_an_error_about_a_mask_names_the_function_and_the_argument():
    with pytest.raises(ValueError, match=r"^add: argument 1 must be an array"):
        pnp.add(1.0, MASKED)

    @px.jit
    def loss(tree):
        return tree["w"]

    with pytest.raises(ValueError, match=r"^loss: argument tree\['w'\] must be an array"):
        loss({"w": MASKED})


@pytest.mark.parametrize(("x", "value"), [(Colour.RED, 2), (Metres(2.5), 2.5), (Impedance(1j), 1j)])
def test_instances_of_subclasses_of_numbers_are_numbers(x, value):
    assert get_aval(x) == get_aval(value)
    assert get_aval(x).weak_type
    assert dtypes.result_type(x, return_weak_type=True) == dtypes.result_type(value, return_weak_type=True)
    assert dtypes.result_type(x, return_weak_type=True)[1]
    uses = (
        pnp.asarray,
        px.device_put,
        px.jit(lambda y: y + 1),
        lambda y: pnp.ones(2, np.int8) * y,
        lambda y: y * pnp.ones(2, np.float16),
        lambda y: lax.add(y, y),
        lambda y: pnp.asarray([y, y]),
        lambda y: lax.cond(True, lambda z: z, lambda z: z, y),
        lambda y: px.jit(lambda z: z + y)(pnp.ones(2)),
        lambda y: pnp.full(2, y),
        lambda y: pnp.where(True, y, y),
        lambda y: px.make_jaxpr(lambda z: z)(y).in_avals[0],
    )
    for use in uses:
        found, wanted = use(x), use(value)
        assert (found.dtype, found.weak_type) == (wanted.dtype, wanted.weak_type)
        if isinstance(found, px.Array):
            np.testing.assert_array_equal(found, wanted)


def test_an_enumeration_is_an_argument_index_axis_and_bound():
    assert int(pnp.arange(5)[Colour.RED]) == 2
    assert pnp.sum(pnp.ones((1, 2, 3)), axis=Colour.RED).shape == (1, 2)
    assert pnp.zeros(Colour.RED).shape == (2,)
    assert int(lax.fori_loop(0, Colour.RED, lambda i, c: c + i, 0)) == 1
    assert float(px.grad(lambda x: x**Colour.RED)(3.0)) == 6.0
    assert pnp.arange(Colour.RED).tolist() == [0, 1]


def test_an_int_of_a_subclass_that_does_not_fit_raises():
    class Big(int):
        pass

    with pytest.raises(OverflowError, match="must fit"):
        pnp.asarray(Big(2**70))


def test_objects_with_jax_array_are_arrays():
    x = Parameter(pnp.asarray([1.0, 2.0]))
    for found in (pnp.asarray(x), pnp.ones(2) * x, x * pnp.ones(2), px.jit(lambda y: y)(x), lax.mul(x, x) ** 0.5):
        np.testing.assert_array_equal(found, [1.0, 2.0])
    assert pnp.stack([x, x]).shape == pnp.asarray([x, x]).shape == (2, 2)
    assert float(px.grad(lambda y: (y * y).sum())(Parameter(3.0))) == 6.0
    np.testing.assert_array_equal(px.jit(lambda y: y + Parameter(y))(2.0), 4.0)


def test_objects_that_stand_for_no_array_raise():
    class Endless:
        def __jax_array__(self):
            return self

    for use in (pnp.asarray, lambda x: pnp.ones(2) + x, px.jit(lambda x: x), lambda x: pnp.asarray([x])):
        with pytest.raises(TypeError, match="Endless"):
            use(Endless())


def test_objects_with_jax_array_may_hold_tracers():
    def f(x):
        return (pnp.asarray([1.0, 2.0]) * Parameter(x)).sum() + pnp.asarray(Parameter(x))

    assert float(px.grad(f)(5.0)) == 4.0
    assert px.vmap(f)(pnp.arange(2.0)).tolist() == [0.0, 4.0]


def test_objects_that_numpy_makes_arrays_of_become_arrays_where_they_are_asked_for():
    for x in (Series(), memoryview(np.array([1.0, 2.0], np.float32))):
        assert pnp.asarray(x).tolist() == [1.0, 2.0]
        assert pnp.asarray([x, x]).shape == (2, 2)
        assert pnp.shape(x) == (2,)
        with pytest.raises(TypeError, match="sin: its argument must be"):
            pnp.sin(x)
        with pytest.raises(TypeError):
            pnp.ones(2) + x


def test_containers_are_no_operands():
    for y in ([1, 2], (1, 2), {1}, {}):
        for use in (lambda x, y: x == y, lambda x, y: y != x, lambda x, y: x * y, lambda x, y: y * x):
            with pytest.raises(TypeError, match="operands must be"):
                use(pnp.asarray(2), y)
        with pytest.raises(TypeError, match="unsupported operand"):
            pnp.asarray(2) + y
    assert (pnp.ones(2) == None) is False  # noqa: E711 - the operator is what is tested
    assert pnp.ones(2) != "a"


@pytest.mark.parametrize(
    "other, same, but_weakness, but_both",
    [
        (ShapedArray((3,), np.float32), True, True, True),
        (ShapedArray((3,), np.float32, True), False, True, True),
        (ShapedArray((3,), np.float32, vma=frozenset("i")), False, False, True),
        (ShapedArray((3,), np.float32, True, vma=frozenset("i")), False, False, True),
        (ShapedArray((4,), np.float32), False, False, False),
        (ShapedArray((3,), np.int32), False, False, False),
        (abstract_token, False, False, False),
    ],
)
def test_types_are_compared_but_for_what_is_ignored(other, same, but_weakness, but_both):
    one = ShapedArray((3,), np.float32)
    for a, b in ((one, other), (other, one)):
        assert same_type(a, b) is same
        assert same_type(a, b, WEAKNESS) is but_weakness
        assert same_type(a, b, ALL_BUT_SHAPE_AND_DTYPE) is but_both


def test_equal_types_are_one_object_however_they_are_written() -> None:
    one = ShapedArray((2, 3), np.dtype(np.float32))
    for other in (
        ShapedArray([2, 3], np.float32),
        ShapedArray((np.int64(2), 3), "float32"),
        ShapedArray((2, 3), np.float32, np.False_),
        pickle.loads(pickle.dumps(one)),
        copy.deepcopy(one),
        one.update(weak_type=True).strip_weak_type(),
    ):
        assert other is one


def test_a_length_that_is_no_integer_is_refused_whatever_types_there_are() -> None:
    held = ShapedArray((7,), np.float32)
    with pytest.raises(TypeError, match=r"shape must consist of integers, got 7\.0"):
        ShapedArray((7.0,), np.float32)
    assert held.shape == (7,)
    assert type(ShapedArray((True,), np.float32).shape[0]) is int


def test_a_type_ends_when_nobody_holds_it() -> None:
    before = len(avals._of_fields)
    held = [ShapedArray((size, 3, 7, 1), np.int8) for size in range(1000, 1100)]
    assert len(avals._of_fields) == before + 100
    del held
    gc.collect()
    assert len(avals._of_fields) <= before


def test_threads_that_make_a_type_at_once_have_one() -> None:
    barrier = threading.Barrier(8)
    made: list[list[ShapedArray]] = []

    def make() -> None:
        barrier.wait()
        made.append([ShapedArray((size, 11, 13), np.int16) for size in range(300)])

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(len({id(x) for x in same}) == 1 for same in zip(*made, strict=True))


def test_a_struct_may_say_how_the_array_lies():
    sharding = px.sharding.SingleDeviceSharding(px.devices()[0])
    struct = ShapeDtypeStruct((2,), "float32", sharding=sharding)
    assert struct != ShapeDtypeStruct((2,), "float32")
    assert struct.update(shape=(3,)).sharding is sharding
    assert ShapeDtypeStruct.like(px.device_put(np.ones(2, np.float32), sharding)) == struct
    assert ShapeDtypeStruct.like(np.ones(2)).sharding is None
    assert "sharding=SingleDeviceSharding" in repr(struct)
    assert px.jit(lambda x: x + 1).lower(struct).compile()(np.ones(2, np.float32)).tolist() == [2, 2]
    with pytest.raises(TypeError, match="ShapeDtypeStruct: sharding must be a sharding or None, got 3"):
        ShapeDtypeStruct((2,), "float32", sharding=3)


def test_types_are_made_from_the_sharding_of_another() -> None:
    whole = ShapedArray((2, 3), np.float32)
    assert ShapedArray((2, 3), np.float32, sharding=whole.sharding) is whole
    mesh = px.sharding.AbstractMesh((2,), ("x",), axis_types=(px.sharding.AxisType.Explicit,))
    division = AvalSharding(mesh, (("x",), ()))
    divided = ShapedArray((2, 3), np.float32, sharding=division)
    assert divided.sharding is px.NamedSharding(mesh, px.P("x", None))
    assert ShapedArray((2, 3), np.float32, sharding=divided.sharding) is divided
    longer = divided.sharding.update(spec=px.P(None, "x", None))
    assert ShapedArray((5, 2, 3), np.float32, sharding=longer).str_short() == "f32[5,2@x,3]"
    with pytest.raises(ValueError, match="sharding must have a part for each dimension"):
        ShapedArray((2,), np.float32, sharding=divided.sharding)
    with pytest.raises(TypeError, match="changes must be among"):
        division.update(rank=3)


def test_the_values_of_types_are_in_device_memory() -> None:
    aval = ShapedArray((2,), np.float32)
    assert aval.memory_space is px.memory.Space.Device
    assert aval is aval.update(memory_space=aval.memory_space)
    assert aval is ShapedArray((2,), np.float32, memory_space=aval.memory_space)
    with pytest.raises(ValueError, match=r"ShapedArray: memory_space must be Space\.Device, got <Space\.Host"):
        ShapedArray((2,), np.float32, memory_space=px.memory.Space.Host)


def test_types_are_told_with_short_and_with_whole_names_of_dtypes():
    aval = ShapedArray((2, 3), np.float32)
    assert (aval.str_short(), aval.str_short(False), str(aval)) == ("f32[2,3]", "float32[2,3]", "float32[2,3]")
    assert str(ShapedArray((), np.int32, weak_type=True)) == "~int32[]"


def test_functions_of_positions_and_counts_take_objects_with_an_array():
    x, i = Parameter(np.float32([0.0, 2.0, 0.0, 3.0])), Parameter(np.int32([3, 0, 1, 1]))
    for f in (pnp.nonzero, pnp.argwhere, pnp.flatnonzero, pnp.trim_zeros, pnp.unique, pnp.iscomplexobj):
        assert repr(f(x)) == repr(f(x.value))
    for f in (pnp.take, pnp.delete, pnp.roll, lambda x, i: pnp.take_along_axis(x, i, 0), lambda x, i: pnp.bincount(i)):
        np.testing.assert_array_equal(f(x, i), f(x.value, i.value))
    np.testing.assert_array_equal(pnp.insert(x, i, x), pnp.insert(x.value, i.value, x.value))
    np.testing.assert_array_equal(pnp.compress(i, x), pnp.compress(i.value, x.value))
    np.testing.assert_array_equal(pnp.ravel_multi_index([i, i], (4, 5)), pnp.ravel_multi_index([i.value] * 2, (4, 5)))
    np.testing.assert_array_equal(pnp.zeros(4)[i], np.zeros(4))


def test_shapes_of_objects_with_a_shape_need_no_array():
    class Lazy:
        shape = (2, 3)

        def __jax_array__(self):
            raise ValueError("not now")

    assert (pnp.shape(Lazy()), pnp.ndim(Lazy()), pnp.size(Lazy())) == ((2, 3), 2, 6)


def test_a_value_whose_aval_is_not_that_of_an_array_is_refused_with_what_is_missing():
    class Money:
        pass

    class MoneyAval(core.AbstractValue):
        def str_short(self):
            return "money"

    registry = core.Registry("bank", {})
    registry.aval(Money, lambda money: MoneyAval())
    spend_p = core.Primitive("spend")
    spend_p.def_abstract_eval(lambda aval: aval)
    spend_p.def_impl(lambda money: money)
    money, spend, xs = Money(), spend_p.bind, np.ones(2)
    for fun, missing in {
        lambda: px.jit(spend)(money): "values of type money have no shape",
        lambda: px.grad(spend)(money): "grad: values of type money have no dtype",
        lambda: px.vmap(spend)(money): "vmap: values of type money have no shape",
        lambda: px.lax.scan(lambda c, x: (spend(c), x), money, xs): "scan: values of type money have no dtype",
        lambda: px.numpy.sin(money): "values of type money have no dtype",
    }.items():
        with pytest.raises(TypeError, match=missing) as caught:
            fun()
        for remedy in (
            "their aval, MoneyAval",
            "pytree",
            "extend.dtypes",
            "to_tangent_aval",
            "array_protocol(MoneyAval",
        ):
            assert remedy in str(caught.value)
    with pytest.raises(TypeError, match=r"no tangents: no MoneyAval\.to_tangent_aval"):
        px.jvp(spend, (money,), (money,))
    assert not hasattr(MoneyAval(), "shape")
    assert not hasattr(MoneyAval(), "other")
    MoneyAval.shape, MoneyAval.dtype, MoneyAval.weak_type = (), np.dtype("float32"), False
    with pytest.raises(TypeError, match="a Money cannot be stored on a device: make its class a pytree of arrays"):
        px.jit(pnp.sin)(money)
    registry.roll_back()
