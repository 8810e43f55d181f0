"""Functions whose authors say how they are divided: what is asked, what runs on each device, rules and refusals."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import P
from primax.experimental.custom_partitioning import (
    BATCHING,
    ArrayMapping,
    CompoundFactor,
    SdyShardingRule,
    custom_partitioning,
)
from primax.sharding import NamedSharding

pytestmark = pytest.mark.any_word_size

X = np.arange(16, dtype=np.float32).reshape(4, 4)
Y = np.ones((4, 4), np.float32)


def mesh():
    return px.make_mesh((2, 2), ("x", "y"), (px.sharding.AxisType.Auto,) * 2)


def product(log):
    """A product of matrices whose middle dimension is divided, and a sum over the devices."""

    @custom_partitioning
    def f(x, y):
        return x @ y

    def partition(mesh, arg_shapes, result_shape):
        log.append([each.sharding.spec for each in (*arg_shapes, result_shape)])
        left, right = arg_shapes

        def local(x, y):
            log.append((x.shape, y.shape))
            return px.lax.psum(x @ y, "y")

        assert (left.shape, right.dtype, result_shape.shape) == ((4, 4), np.float32, (4, 4))
        return (
            mesh,
            local,
            NamedSharding(mesh, P("x", None)),
            (NamedSharding(mesh, P("x", "y")), NamedSharding(mesh, P("y"))),
        )

    f.def_partition(partition, sharding_rule="i k, k j -> i j", reduction_factors=("k",))
    return f


def placed(x, *spec):
    return px.device_put(x, NamedSharding(mesh(), P(*spec)))


def test_each_device_computes_its_part_as_the_author_says():
    log = []
    out = px.jit(product(log))(placed(X, "x", "y"), placed(Y, "y", None))
    np.testing.assert_array_equal(out, X @ Y)
    assert out.sharding.spec == P("x")
    assert log == [[P("x", "y"), P("y"), P("x")], ((2, 2), (2, 4))]


def test_on_one_device_and_within_shard_map_it_is_a_function_like_others():
    log = []
    f = product(log)
    np.testing.assert_array_equal(f(X, Y), X @ Y)
    mapped = px.shard_map(f, mesh=mesh(), in_specs=(P("x"), P()), out_specs=P("x"))
    np.testing.assert_array_equal(mapped(X, Y), X @ Y)
    assert log == []


def test_several_results_static_arguments_and_containers():
    told = []

    @custom_partitioning
    def f(x, n):
        return {"a": n * x["u"], "b": x["v"]}

    g = custom_partitioning(lambda n, x: {"a": n * x["u"], "b": x["v"]}, static_argnums=(0,))

    def partition(n, mesh, arg_shapes, result_shape):
        told.append((n, result_shape["b"].shape))
        shardings = {"a": arg_shapes[0]["u"].sharding, "b": NamedSharding(mesh, P())}
        return mesh, lambda x: {"a": n * x["u"], "b": x["v"]}, shardings, ({"u": shardings["a"], "v": shardings["b"]},)

    rule = SdyShardingRule((ArrayMapping("i", "j"), ArrayMapping("k")), (ArrayMapping("i", "j"), ArrayMapping("k")))
    g.def_partition(partition, sharding_rule=lambda n, mesh, operands, results: rule)
    out = px.jit(lambda u, v: g(3, {"u": u, "v": v}))(placed(X, "x"), np.ones(3, np.float32))
    np.testing.assert_array_equal(out["a"], 3 * X)
    assert out["a"].sharding.spec == P("x")
    assert told == [(3, (3,))]
    with pytest.raises(TypeError, match="f must have a partition, by def_partition, before it is called"):
        f(X, 3)
    assert custom_partitioning(lambda n, x: x, static_argnums=np.int64(0)).static_argnums == (0,)
    for wrong in (0.5, slice(None), ("n",)):
        with pytest.raises(TypeError, match="custom_partitioning: static_argnums must be a sequence of integers, got "):
            custom_partitioning(lambda n, x: x, static_argnums=wrong)


def test_each_value_of_a_static_argument_has_its_own_program():
    f = custom_partitioning(lambda x, n, m: n * x + m, static_argnums=(1, 2))
    f.def_partition(lambda *told: None)
    for n, m in ((1, 0), (2, 0), (5, 1), (0, 5), (1, 0)):
        np.testing.assert_array_equal(f(X, n, m), n * X + m)


def test_arguments_given_by_name_or_by_default_have_positions():
    told = []

    @functools.partial(custom_partitioning, static_argnums=(2, 1))
    def f(x, n, sign=-1, y=1.0):
        return sign * n * x + y

    def partition(sign, n, mesh, arg_shapes, result_shape):
        told.append((sign, n, len(arg_shapes)))
        shardings = tuple(each.sharding for each in arg_shapes)
        return mesh, lambda x, y: sign * n * x + y, arg_shapes[0].sharding, shardings

    f.def_partition(partition, sharding_rule="i j, -> i j")
    out = px.jit(lambda x: f(n=3, x=x))(placed(X, "x"))
    np.testing.assert_array_equal(out, 1 - 3 * X)
    assert out.sharding.spec == P("x")
    assert told == [(-1, 3, 2)]
    np.testing.assert_array_equal(f(X, 2, y=X, sign=1), 3 * X)
    with pytest.raises(TypeError, match="missing a required argument: 'n'"):
        f(X)
    g = custom_partitioning(lambda x: x, static_argnums=(-2,))
    g.def_partition(partition)
    with pytest.raises(ValueError, match="static_argnums must be positions of 1 arguments, got "):
        g(X)


def test_without_a_rule_operands_are_whole():
    specs = []
    f = custom_partitioning(lambda x: 2 * x)

    def partition(mesh, arg_shapes, result_shape):
        specs.append(arg_shapes[0].sharding.spec)
        return mesh, lambda x: 2 * x, arg_shapes[0].sharding, (arg_shapes[0].sharding,)

    f.def_partition(partition)
    np.testing.assert_array_equal(px.jit(f)(placed(X, "x", "y")), 2 * X)
    assert len(specs) == 1


def test_rules_have_batches_and_compound_dimensions():
    f = custom_partitioning(lambda x: x.reshape(2, 4, 2, 2))

    def partition(mesh, arg_shapes, result_shape):
        shardings = NamedSharding(mesh, P(None, "x")), NamedSharding(mesh, P(None, "x"))
        return mesh, lambda x: x.reshape(2, 2, 2, 2), shardings[0], (shardings[1],)

    f.def_partition(partition, sharding_rule="... i (j k) -> ... i j k", j=2, k=2)
    x = np.arange(32, dtype=np.float32).reshape(2, 4, 4)
    np.testing.assert_array_equal(px.jit(f)(placed(x, None, "x")), x.reshape(2, 4, 2, 2))
    text = px.jit(f).lower(placed(x, None, "x")).as_text()
    assert "([i, j, kl])->([i, j, k, l]) {i=2, j=4, k=2, l=2}, custom" in text
    assert ArrayMapping(BATCHING, CompoundFactor("a", "b")) == (BATCHING, ("a", "b"))


def test_what_a_partition_returns_is_held_to_what_it_says():
    def case(answer):
        f = custom_partitioning(lambda x: 2 * x)
        f.def_partition(lambda mesh, args, out: answer(mesh), sharding_rule="i j -> i j")
        px.jit(f)(placed(X, "x"))

    def sharding(mesh):
        return NamedSharding(mesh, P("x"))

    with pytest.raises(Exception, match=r"must return \(mesh, fun, result_shardings, arg_shardings\)"):
        case(lambda mesh: None)
    with pytest.raises(Exception, match="partition must return NamedShardings, got 'x'"):
        case(lambda mesh: (mesh, pnp.sin, "x", (sharding(mesh),)))
    with pytest.raises(Exception, match=r"must return \[f32\[2,4\]\], got \[f32\[\]\]"):
        case(lambda mesh: (mesh, pnp.sum, sharding(mesh), (sharding(mesh),)))


@pytest.mark.parametrize(
    "rule, options, message",
    [
        ("i j", {}, "must have one '->'"),
        ("i (j -> i", {}, "must close each parenthesis"),
        ("i ? -> i", {}, "must name dimensions"),
        ("i (j k) -> i j k", {}, None),
        ("(j k) -> (k j)", {}, "must have a size for j, k"),
        ("i -> i", {"k": 2}, "factors must be in a mapping, got k"),
        ("i -> i", {"reduction_factors": ("j",)}, "factors must be in a mapping, got j"),
    ],
)
def test_rules_are_read_where_they_are_given(rule, options, message):
    f = custom_partitioning(lambda x: x)
    if message is None:
        assert callable(f.def_partition(lambda *args: None, sharding_rule=rule, **options))
        return
    with pytest.raises(ValueError, match=message):
        f.def_partition(lambda *args: None, sharding_rule=rule, **options)


def test_rules_must_fit_shapes_and_transformations_are_refused():
    f = custom_partitioning(lambda x: 2 * x)
    f.def_partition(lambda *args: None, sharding_rule="i -> i")
    one = [ArrayMapping("i")]
    for arguments, named, what in (
        ((3, one), {}, "operand_mappings must be a sequence of ArrayMapping, got 3"),
        ((np.zeros((0, 2)), one), {}, "operand_mappings must be a sequence of ArrayMapping, got array"),
        ((one, ["i"]), {}, "result_mappings must be a sequence of ArrayMapping, got"),
        ((one, one), {"reduction_factors": "i"}, "reduction_factors must be a sequence of str, got 'i'"),
        ((one, one), {"i": 1.5}, "i must be an integer, got 1.5"),
    ):
        with pytest.raises(TypeError, match=f"SdyShardingRule: {what}"):
            SdyShardingRule(*arguments, **named)
    with pytest.raises(ValueError, match=r"sharding_rule must name 2 dimensions of shape \(4, 4\)"):
        px.jit(f)(placed(X, "x"))
    with pytest.raises(NotImplementedError, match="wrap the function in custom_vjp"):
        px.grad(lambda x: f(x).sum())(X)
    with pytest.raises(NotImplementedError, match="wrap it in custom_vmap"):
        px.vmap(f)(X)
    with pytest.raises(ValueError, match="decode_shardings must be True"):
        f.def_partition(lambda *args: None, decode_shardings=False)
    with pytest.raises(TypeError, match="sharding_rule must be a str"):
        f.def_partition(lambda *args: None, sharding_rule=3)


def test_derivatives_and_batches_are_given_around_it():
    f = product([])
    g = px.custom_vjp(f)
    g.defvjp(lambda x, y: (f(x, y), (x, y)), lambda saved, c: (f(c, saved[1].T), f(saved[0].T, c)))
    found = px.jit(px.grad(lambda x, y: g(x, y).sum()))(placed(X, "x", "y"), placed(Y, "y", None))
    np.testing.assert_array_equal(found, np.full((4, 4), 4.0))
