"""Sharding rules in the partitioner: what XLA cannot take apart runs on each device's part."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.extend import core, define_primitive
from primax.extend.core import Sample
from primax.extend.interpreters import batching, mlir
from primax.extend.testing import check_primitive
from primax.interpreters.runtime.sharding.spmd import all_divided
from primax.plugins.linalg import cholesky_p

pytestmark = pytest.mark.any_word_size

X = np.arange(8 * 16, dtype=np.float32).reshape(8, 16)
Y = np.linspace(-1, 1, 16 * 4, dtype=np.float32).reshape(16, 4)
UNSUPPORTED = {"jvp": "a test", "batch": "a test"}


def product_type(x, y):
    if len(x.shape) != 2 or len(y.shape) != 2 or x.shape[1] != y.shape[0] or x.dtype != y.dtype:
        raise TypeError("product: matrices must fit")
    return core.ShapedArray((x.shape[0], y.shape[1]), x.dtype)


product_p = define_primitive(
    "product",
    abstract_eval=product_type,
    lowering=mlir.lower_fun(lax.dot, multiple_results=False),
    sharding="i k:sum, k j -> i j",
    unsupported=UNSUPPORTED,
)


@pytest.fixture(autouse=True)
def foreign():
    """Operations in these tests are divided by their rules, as calls of foreign functions are, though XLA sees them."""
    with all_divided():
        yield


@pytest.fixture(scope="module")
def mesh():
    return px.make_mesh((4, 2), ("a", "b"))


def placed(mesh, x, *spec):
    return px.device_put(x, px.NamedSharding(mesh, px.P(*spec)))


def compiled(f, *args):
    return px.jit(f).lower(*args).compile()


def lines(program, word):
    return [line.strip() for line in program.as_text().splitlines() if word in line]


@pytest.mark.parametrize(
    "of_x, of_y, result, part",
    [
        (("a",), (None, "b"), ("a", "b"), "f32[2,2]"),
        (("a", "b"), ("b",), ("a",), "f32[2,4]"),
        ((None, "a"), ("a",), (), "f32[8,4]"),
        (("a",), ("a",), ("a",), "f32[2,4]"),
        ((), (), (), "f32[8,4]"),
    ],
)
def test_each_device_computes_its_part(mesh, of_x, of_y, result, part):
    x, y = placed(mesh, X, *of_x), placed(mesh, Y, *of_y)
    program = compiled(lambda x, y: product_p.bind(x, y) * 2, x, y)
    out = program(x, y)
    assert out.sharding.spec == px.P(*result)
    np.testing.assert_allclose(out, X @ Y * 2, rtol=1e-4)
    assert all(part in line for line in lines(program, " dot("))
    assert bool(lines(program, "all-reduce(")) == ("a" in of_x[1:] or "b" in of_x[1:])


def test_what_is_reduced_is_combined_as_its_mark_says(mesh):
    for mark, reduce in (("max", lax.reduce_max), ("min", lax.reduce_min), ("sum", lax.reduce_sum)):

        def lowering(ctx, x, reduce=reduce):
            return mlir.lower_fun(lambda x: reduce(x, (0,)), multiple_results=False)(ctx, x)

        p = define_primitive(
            f"fold_{mark}",
            abstract_eval=lambda x: core.ShapedArray(x.shape[1:], x.dtype),
            lowering=lowering,
            sharding=f"k:{mark} j -> j",
        )
        out = px.jit(p.bind)(placed(mesh, X, "a", "b"))
        np.testing.assert_allclose(out, getattr(np, mark)(X, 0))
        assert out.sharding.spec == px.P("b")


def test_several_results_and_none_that_may_be_divided(mesh):
    def lowering(ctx, x):
        return mlir.lower_fun(lambda x: [lax.cumsum(x, 1), lax.reduce_max(x, (1,))])(ctx, x)

    p = define_primitive(
        "running",
        multiple_results=True,
        abstract_eval=lambda x: [x, core.ShapedArray(x.shape[:1], x.dtype)],
        lowering=lowering,
        sharding="i n! -> i n!, i",
    )
    sums, most = px.jit(p.bind)(placed(mesh, X, "a", "b"))
    np.testing.assert_allclose(sums, np.cumsum(X, 1))
    np.testing.assert_allclose(most, X.max(1))
    assert sums.sharding.spec == px.P("a")
    assert most.sharding.spec == px.P("a")


def test_the_results_division_decides_where_operands_are_whole(mesh):
    f = px.jit(product_p.bind, out_shardings=px.NamedSharding(mesh, px.P("a", "b")))
    out = f(placed(mesh, X), placed(mesh, Y))
    np.testing.assert_allclose(out, X @ Y, rtol=1e-4)
    assert out.sharding.spec == px.P("a", "b")


def test_it_is_divided_inside_of_loops_and_left_alone_in_shard_map(mesh):
    x, y = placed(mesh, X, "a"), placed(mesh, Y)
    out = px.jit(lambda x, y: lax.fori_loop(0, 3, lambda i, c: c + product_p.bind(x, y), pnp.zeros((8, 4))))(x, y)
    np.testing.assert_allclose(out, 3 * X @ Y, rtol=1e-4)
    f = px.shard_map(product_p.bind, mesh=mesh, in_specs=(px.P("a"), px.P()), out_specs=px.P("a"))
    np.testing.assert_allclose(f(x, y), X @ Y, rtol=1e-4)


def test_without_a_rule_it_is_computed_whole(mesh):
    p = define_primitive(
        "whole_factor",
        abstract_eval=lambda x: x,
        lowering=lambda ctx, x: mlir.lower_fun(lambda x: lax.cumsum(x, 0), multiple_results=False)(ctx, x),
    )
    np.testing.assert_allclose(px.jit(p.bind)(placed(mesh, X, "a")), np.cumsum(X, 0))


def test_a_rule_may_be_a_function_of_types_and_say_nothing(mesh):
    def rule(x, *, axis):
        return None if axis is None else "i j! -> i j!" if axis == 1 else "i! j -> i! j"

    p = define_primitive(
        "sums",
        abstract_eval=lambda x, *, axis: x,
        lowering=lambda ctx, x, *, axis: mlir.lower_fun(lambda x: lax.cumsum(x, axis or 0), multiple_results=False)(
            ctx, x
        ),
        sharding=rule,
    )
    for axis in (0, 1, None):
        out = px.jit(lambda x, axis=axis: p.bind(x, axis=axis))(placed(mesh, X, "a", "b"))
        np.testing.assert_allclose(out, np.cumsum(X, axis or 0))


def test_parts_of_other_shapes_than_the_rule_says_are_refused(mesh):
    p = define_primitive(
        "fixed",
        abstract_eval=lambda x, *, shape: core.ShapedArray(shape, x.dtype),
        lowering=lambda ctx, x, *, shape: [x],
        sharding="i j -> i j",
    )
    with pytest.raises(
        core.RuleError, match=r"sharding rule of fixed divides .* into parts of type f32\[2,16\].* mark"
    ):
        px.jit(lambda x: p.bind(x, shape=(8, 16)))(placed(mesh, X, "a"))


def test_elementwise_declarations_and_batch_rules_imply_a_rule():
    p = define_primitive("twice", impl=lambda x: x + x, elementwise=True)
    q = define_primitive("thrice", impl=lambda x: 3 * x)
    batching.defbroadcasting(q)
    table = core.rule_tables["sharding"]
    assert table.provenance[p].origin == "derived from being elementwise"
    assert table.provenance[q].origin == "derived from being elementwise"
    assert table[p](X, X).text == "..., ... -> ..."


def test_a_text_that_is_no_rule_is_refused_where_it_is_given():
    with pytest.raises(ValueError, match="sharding: a rule must have '->'"):
        define_primitive("wrong", impl=lambda x: x, sharding="i j")


def test_the_kit_compares_parts_with_the_whole():
    sample = Sample([X[:4, :6], Y[:6, :2]], reference=np.matmul)
    report = check_primitive(product_p, sample)
    assert [o.status for o in report.outcomes if o.check == "sharding"] == ["passed"]


def test_the_kit_finds_a_rule_that_divides_too_much():
    p = define_primitive(
        "divided_sums",
        abstract_eval=lambda x: x,
        lowering=mlir.lower_fun(lambda x: lax.cumsum(x, 0) if x.ndim else x, multiple_results=False),
        sharding="... -> ...",
        unsupported=UNSUPPORTED,
    )
    with pytest.raises(AssertionError, match=r"sharding.*'...-1' of size 4 in 2"):
        check_primitive(p, Sample([np.arange(4, dtype=np.float32)]))


def test_what_xla_sees_is_left_to_it_and_calls_of_foreign_functions_are_not(mesh):
    def call(ctx, a):
        columns = (a.type.rank - 2, a.type.rank - 1, *range(a.type.rank - 3, -1, -1))
        codes = core.ShapedArray(ctx.avals_in[0].shape[:-2], np.dtype(np.int32))
        operation = mlir.custom_call(
            mlir.lapack_target("potrf", ctx.avals_in[0].dtype),
            operands=[a],
            result_types=[a.type, mlir.aval_to_ir_type(codes)],
            backend_config={"uplo": np.uint8(ord("L"))},
            api_version=4,
            operand_layouts=[columns],
            result_layouts=[columns, (0,)],
        )
        return [operation.results[0]]

    p = define_primitive("factors", abstract_eval=lambda a: a, lowering=call, sharding="... n! m! -> ... n! m!")
    stack = placed(mesh, np.broadcast_to(np.eye(3, dtype=np.float32), (8, 3, 3)), ("a", "b"))
    x, y = placed(mesh, X, "a"), placed(mesh, Y)
    with all_divided(False):
        assert "primax_parts" not in px.jit(product_p.bind).lower(x, y).as_text()
        lowered = px.jit(p.bind).lower(stack)
        assert "primax_parts" in lowered.as_text()
        program = lowered.compile()
    assert all("f32[1,3,3]" in line for line in lines(program, "custom-call("))
    np.testing.assert_allclose(program(stack), np.broadcast_to(np.eye(3), (8, 3, 3)))


def test_stacks_of_matrices_are_divided_without_communication(mesh):
    roots = np.random.default_rng(0).normal(size=(8, 3, 3)).astype(np.float32)
    stack = roots @ roots.transpose(0, 2, 1) + np.eye(3, dtype=np.float32)
    x = placed(mesh, stack, ("a", "b"))
    program = compiled(cholesky_p.bind, x)
    np.testing.assert_allclose(program(x), np.linalg.cholesky(stack), rtol=1e-4, atol=1e-5)
    assert all("f32[1,3,3]" in line for line in lines(program, "custom-call("))
    assert not lines(program, "all-gather(")


@pytest.mark.parametrize(
    "f",
    [
        lambda x: pnp.fft.fft(x),
        lambda x: pnp.fft.rfft(x),
        lambda x: lax.top_k(x, 3)[0],
        lambda x: lax.mulhi(x.astype(int), x.astype(int) + 2**20),
    ],
    ids=["fft", "rfft", "top_k", "mulhi"],
)
def test_what_xla_would_gather_stays_divided(mesh, f):
    x = placed(mesh, X, ("a", "b"))
    with all_divided(False):
        program = compiled(f, x)
        assert not lines(program, "all-gather(")
        np.testing.assert_allclose(program(x), f(X), rtol=1e-5, atol=1e-3)
