"""Keys are arrays of a type of their own, go through every transformation, and are the same there as outside."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.extend.core import ShapedArray

pytestmark = pytest.mark.usefixtures("in_32_bits")

random = px.random


@pytest.fixture(scope="module")
def keys():
    return random.split(random.key(0), 6)


def words(keys):
    return np.asarray(random.key_data(keys))


def test_a_key_is_an_array_of_a_dtype_of_its_own():
    key = random.key(0)
    assert isinstance(key, px.Array)
    assert (key.shape, key.ndim, key.size, key.nbytes, key.itemsize) == ((), 0, 1, 8, 8)
    assert str(key.dtype) == "key<fry>"
    assert key.dtype == random.key(1).dtype == random.key_dtype() != random.key_dtype("rbg")
    assert repr(key) == "Array((), dtype=key<fry>) overlaying:\n[0 0]"
    assert repr(key.aval) == "ShapedArray(key<fry>[])"
    assert pnp.issubdtype(key.dtype, px.dtypes.prng_key)
    assert pnp.issubdtype(key.dtype, px.dtypes.extended)
    assert not pnp.issubdtype(key.dtype, np.integer)
    assert random.key_impl(key) == "threefry2x32"


def test_programs_print_as_in_jax():
    def f(key, raw):
        first, second = random.split(key)
        return random.bits(random.fold_in(first, 3), (3,)), random.clone(second), random.split(raw, 3)

    text = str(px.make_jaxpr(f)(random.key(0), random.PRNGKey(0)))
    for part in (
        "a:key<fry>[] b:u32[2]",
        ":key<fry>[2] = random_split[shape=(2,)] a",
        ":key<fry>[] = random_fold_in ",
        ":u32[3] = random_bits[bit_width=32 shape=(3,)] ",
        ":key<fry>[] = random_clone ",
        ":key<fry>[] = random_wrap[impl=fry] b",
        ":u32[3,2] = random_unwrap ",
    ):
        assert part in text
    assert "random_seed[impl=fry] a" in str(px.make_jaxpr(random.key)(3))


def test_keys_are_moved_about_as_numbers_are(keys):
    numbers = np.arange(6)
    data = words(keys)
    for move in (
        lambda x: x[2],
        lambda x: x[1:5:2],
        lambda x: x[np.array([3, 0])],
        lambda x: x[None, ::-1],
        lambda x: x.reshape(2, 3).T,
        lambda x: pnp.stack([x[1], x[1], x[5]]),
        lambda x: pnp.concatenate([x[4:], x[:1]]),
        lambda x: pnp.where(numbers % 2 == 0, x, x[::-1]),
        lambda x: pnp.broadcast_to(x[0], (3,)),
    ):
        places = np.asarray(move(pnp.asarray(numbers)))
        moved = move(keys)
        assert moved.shape == places.shape
        np.testing.assert_array_equal(words(moved), data[places])
    assert [words(key).tolist() for key in keys] == data.tolist()
    assert len(keys) == 6
    assert pnp.zeros((2,), keys.dtype).shape == (2,)


def test_keys_are_compared_as_wholes(keys):
    np.testing.assert_array_equal(keys == keys[2], np.arange(6) == 2)
    np.testing.assert_array_equal(px.vmap(lambda a: a != keys[:2])(keys[:2]), ~np.eye(2, dtype=bool))
    twisted = random.wrap_key_data(words(keys[:2]) ^ np.uint32([[0, 1], [1, 0]]))
    assert not (twisted == keys[:2]).any()
    with pytest.raises(TypeError, match="must have the same dtype"):
        px.lax.eq(keys[0], random.key(0, impl="rbg"))
    with pytest.raises(TypeError):
        keys < keys  # noqa: B015
    with pytest.raises(TypeError, match="must have an order"):
        pnp.sort(keys)


def test_keys_have_no_numbers_but_by_key_data(keys):
    with pytest.raises(TypeError, match=r"primax\.random\.key_data gives the words"):
        np.asarray(keys)
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(keys[0])
    for f in (lambda: keys + 1, lambda: -keys, lambda: keys.astype("uint32"), lambda: pnp.sum(keys)):
        with pytest.raises((TypeError, ValueError)):
            f()
    np.testing.assert_array_equal(words(random.wrap_key_data(words(keys))), words(keys))


def test_copies_pickles_and_fetched_keys_are_keys(keys):
    for other in (
        copy.copy(keys),
        copy.deepcopy(keys),
        pickle.loads(pickle.dumps(keys)),
        px.device_put(keys),
        px.device_get(keys),
        px.block_until_ready(keys),
        random.clone(keys),
    ):
        assert other.dtype is keys.dtype
        np.testing.assert_array_equal(words(other), words(keys))


def test_every_transformation_makes_the_same_of_keys(keys):
    def draw(key, number):
        return random.bits(random.fold_in(key, number), (2,)), random.split(key)[1]

    apart = [draw(key, n) for n, key in enumerate(keys)]
    want = np.stack([x for x, _ in apart]), np.stack([words(key) for _, key in apart])

    def by_scan(keys, numbers):
        def step(last, x):
            bits, new = draw(*x)
            return new, (bits, new)

        last, (bits, new) = px.lax.scan(step, keys[0], (keys, numbers))
        return bits, new, last

    def by_while(keys, numbers):
        def body(i, key):
            return px.lax.cond(i == 2, lambda k: draw(keys[2], numbers[2])[1], lambda k: random.fold_in(k, i), key)

        return px.lax.fori_loop(0, 3, body, keys[0])

    numbers = np.arange(6, dtype=np.uint32)
    for run in (px.vmap(draw), px.jit(px.vmap(draw)), px.vmap(px.jit(draw))):
        bits, new = run(keys, numbers)
        np.testing.assert_array_equal(bits, want[0])
        np.testing.assert_array_equal(words(new), want[1])
    bits, new, last = px.jit(by_scan)(keys, numbers)
    np.testing.assert_array_equal(bits, want[0])
    np.testing.assert_array_equal(words(new), want[1])
    np.testing.assert_array_equal(words(last), want[1][-1])
    np.testing.assert_array_equal(words(px.jit(by_while)(keys, numbers)), want[1][2])


def test_arrays_of_keys_are_mapped_along_any_axis(keys):
    square = keys[:4].reshape(2, 2)

    def draw(row):
        return px.vmap(lambda key: random.bits(key, (3,), "uint8"))(row)

    want = np.stack([[random.bits(key, (3,), "uint8") for key in row] for row in square])
    np.testing.assert_array_equal(px.vmap(draw)(square), want)
    np.testing.assert_array_equal(px.vmap(draw, in_axes=1, out_axes=1)(square), want)
    folded = px.vmap(px.vmap(random.fold_in, (None, 0)), (0, None))(keys[:2], np.arange(3))
    assert folded.shape == (2, 3)
    assert (folded[1, 2] == random.fold_in(keys[1], 2)).item()


def test_keys_are_leaves_of_trees_and_constants_of_programs(keys):
    tree = {"a": keys[0], "b": [keys, 1.0]}
    assert [np.shape(leaf) for leaf in px.tree.leaves(tree)] == [(), (6,), ()]
    out = px.jit(lambda t: px.tree.map(lambda x: x, t))(tree)
    assert out["b"][0].dtype is keys.dtype
    shapes = px.eval_shape(lambda t: random.split(t["a"], 5), tree)
    assert (shapes.shape, shapes.dtype) == ((5,), keys.dtype)
    np.testing.assert_array_equal(px.jit(lambda: random.bits(keys[1], (3,)))(), random.bits(keys[1], (3,)))


def test_derivatives_pass_by_keys(keys):
    def f(x, key):
        return x * px.lax.convert_element_type(random.bits(key, (), "uint8"), np.float32)

    drawn = float(f(1.0, keys[0]))
    assert float(px.grad(f)(3.0, keys[0])) == drawn
    assert float(px.grad(px.checkpoint(f))(3.0, keys[0])) == drawn
    _, pull = px.vjp(f, 3.0, keys[0])
    gradient, nothing = pull(1.0)
    assert float(gradient) == drawn
    assert (nothing.shape, nothing.dtype) == ((), px.float0)
    _, tangent = px.jvp(f, (3.0, keys[0]), (1.0, np.zeros((), px.float0)))
    assert float(tangent) == drawn
    assert keys.aval.to_tangent_aval() == ShapedArray((6,), px.float0)
    with pytest.raises(TypeError, match=r"grad: the inputs must be floating or complex, got key<fry>\[\]"):
        px.grad(lambda key: f(1.0, key))(keys[0])


def test_loops_that_carry_keys_are_differentiated(keys):
    def step(carry, _):
        key, x = carry
        key, now = random.split(key)
        return (key, x * random.uniform(now)), x

    def by_scan(x, key):
        (_, last), before = px.lax.scan(step, (key, x), None, length=3)
        return last + before.sum()

    def by_hand(x, key):
        carry, total = (key, x), 0.0
        for _ in range(3):
            carry, before = step(carry, None)
            total += before
        return carry[1] + total

    for f in (by_scan, px.checkpoint(by_scan)):
        found = px.jit(px.vmap(px.grad(f), (None, 0)))(2.0, keys[:2])
        np.testing.assert_allclose(found, [px.grad(by_hand)(2.0, key) for key in keys[:2]], rtol=1e-6)


def test_raw_keys_are_accepted_wherever_keys_are():
    raw, key = random.PRNGKey(5), random.key(5)
    assert (raw.shape, raw.dtype) == ((2,), np.uint32)
    for given in (raw, np.asarray(raw)):
        np.testing.assert_array_equal(random.bits(given, (3,)), random.bits(key, (3,)))
        for make in (random.split, random.clone, lambda k: random.fold_in(k, 2)):
            made = make(given)
            assert made.dtype == np.uint32
            np.testing.assert_array_equal(made, words(make(key)))
        assert random.key_impl(given) == "threefry2x32"
    rows = random.split(raw, 3)
    np.testing.assert_array_equal(px.vmap(random.bits)(rows), px.vmap(random.bits)(random.split(key, 3)))


def test_the_default_generator_is_an_option():
    with px.default_prng_impl("rbg"):
        assert random.key_impl(random.key(0)) == "rbg"
        assert random.PRNGKey(0).shape == (4,)
        assert px.jit(lambda: random.key(0))().dtype == random.key_dtype("rbg")
    assert px.jit(lambda: random.key(0))().dtype == random.key_dtype("threefry2x32")
    assert random.key(0, dtype=random.key_dtype("rbg")).dtype == random.key(0, impl="rbg").dtype


KEY = np.zeros(2, np.uint32)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda k: random.key(1.5), TypeError, r"key: a seed must be an integer, got f32\[\]"),
        (lambda k: random.key(np.arange(3)), TypeError, r"key: seed must be one integer, got shape \(3,\); map"),
        (lambda k: random.key(2**70), OverflowError, "key: a seed must fit an integer of 64 bits, got 11805"),
        (lambda k: random.key(k[0]), TypeError, r"key: a seed must be an integer, got key<fry>\[\]"),
        (lambda k: random.key(0, impl="nope"), ValueError, "key: impl must be a generator .* threefry2x32.*'nope'"),
        (lambda k: random.key(0, impl="threefry"), ValueError, "did you mean 'threefry2x32'"),
        (lambda k: random.key(0, impl=3), TypeError, "key: impl must be a generator, its name or the dtype"),
        (lambda k: random.key(0, impl="rbg", dtype=k.dtype), ValueError, "must not both be given"),
        (lambda k: random.key(0, dtype=np.uint32), TypeError, "key: dtype must be that of keys"),
        (lambda k: random.bits([k[0], k[1]]), TypeError, r"bits: key must be an array of keys, got a list; .*stack"),
        (
            lambda k: random.bits(k),
            ValueError,
            r"bits: key must be one key, got an array of keys of shape \(6,\).*vmap",
        ),
        (lambda k: random.bits(np.zeros((4, 2), np.uint32)), ValueError, r"shape \(4,\), which u32\[4,2\] holds"),
        (lambda k: random.bits(np.ones(2, np.float32)), TypeError, r"bits: key must be made by .*got f32\[2\]"),
        (lambda k: random.bits(3), TypeError, r"bits: key must be made by primax.random.key, .*got i32\[\]"),
        (lambda k: random.bits(k[0], (), "int32"), ValueError, "bits: dtype must be uint8, .*, got int32"),
        (lambda k: random.bits(k[0], (-1,)), TypeError, r"bits: shape must consist of non-negative .*\(-1,\)"),
        (lambda k: random.split(k), ValueError, r"split: key must be one key"),
        (lambda k: random.split(k[0], 2.0), TypeError, r"split: num must be an integer, got 2.0"),
        (lambda k: random.split(k[0], -1), TypeError, r"split: num must consist of non-negative integers"),
        (lambda k: random.fold_in(k, 1), ValueError, "fold_in: key must be one key"),
        (lambda k: random.fold_in(random.key(0), 1j), TypeError, "fold_in: data must be an integer, got c64"),
        (lambda k: random.fold_in(k[0], np.arange(3)), TypeError, r"fold_in: data must be of rank 0, got i32\[3\]"),
        (lambda k: random.fold_in(k[0], -1), OverflowError, "fold_in: data must fit uint32, got -1"),
        (lambda k: random.fold_in(k[0], k[1]), TypeError, r"fold_in: data must be an integer, got key<fry>\[\]"),
        (lambda k: random.key_data(np.ones(3)), TypeError, r"key_data: keys must be made by .*got f32\[3\]"),
        (lambda k: random.wrap_key_data(np.ones(2, np.int32)), TypeError, r"wrap_key_data: .* got i32\[2\]"),
        (
            lambda k: random.wrap_key_data(KEY, impl="rbg"),
            TypeError,
            r"words of generator 'rbg', .*\(4,\); got u32\[2\]",
        ),
        (lambda k: random.wrap_key_data(k), TypeError, "key_bits_array must be words, got keys already"),
    ],
)
def test_a_wrong_argument_is_refused_and_named(keys, call, error, message):
    with pytest.raises(error, match=message):
        call(keys)


def test_callbacks_receive_and_return_keys(keys, capfd):
    struct = px.ShapeDtypeStruct((), keys.dtype)

    def advance(key):
        return px.pure_callback(lambda k: random.fold_in(k, 1), struct, key, vmap_method="sequential")

    want = words(px.vmap(lambda key: random.fold_in(key, 1))(keys))
    for run in (px.jit(advance), advance):
        np.testing.assert_array_equal(words(run(keys[2])), want[2])
    np.testing.assert_array_equal(words(px.jit(px.vmap(advance))(keys)), want)
    px.jit(lambda key: px.debug.print("{}", key))(random.key(3))
    px.effects_barrier()
    assert capfd.readouterr().out == "Array((), dtype=key<fry>) overlaying:\n[0 3]\n"


def test_exported_programs_take_and_return_keys(keys):
    exported = px.export.export(px.jit(lambda key: (random.split(key), random.bits(key))))(keys[0])
    new, bits = px.export.deserialize(exported.serialize()).call(keys[1])
    np.testing.assert_array_equal(words(new), words(random.split(keys[1])))
    assert int(bits) == int(random.bits(keys[1]))


def test_numbers_to_sort_by_carry_keys_along(keys):
    order, moved = px.lax.sort((np.array([5, 3, 4, 0, 1, 2]), keys), num_keys=1)
    np.testing.assert_array_equal(order, np.arange(6))
    np.testing.assert_array_equal(words(moved), words(keys)[[3, 4, 5, 1, 2, 0]])


def test_keys_of_several_generators_pass_a_barrier_together():
    one, other = random.key(0), random.key(0, impl="rbg")

    def draw(x, one, other):
        return x * random.uniform(one) * random.uniform(other)

    passed = px.jit(lambda *keys: px.lax.optimization_barrier(keys))(one, other)
    assert [key.dtype for key in passed] == [one.dtype, other.dtype]
    assert float(px.jit(px.grad(px.checkpoint(draw)))(1.0, one, other)) == float(draw(1.0, one, other))
