"""Programs over explicit meshes, for primax and jax, that show the shardings in types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

MESH = (("x", 2), ("y", 4))


class Case(NamedTuple):
    """A program.

    Attributes:
      name: the name of the case.
      run: takes the package, such as `primax` with `numpy` and `lax`, and the arrays.
      args: the shape, dtype and specification of each argument.
    """

    name: str
    run: Callable[..., Any]
    args: tuple[tuple[tuple[int, ...], str, tuple[Any, ...]], ...]


def _case(name: str, run: Callable[..., Any], *args: Any) -> Case:
    return Case(name, run, tuple((arg[0], arg[2] if len(arg) > 2 else "float32", arg[1]) for arg in args))


A = (8, 4), ("x", None)
B = (8, 4), (None, "y")
AB = (8, 4), ("x", "y")
R = (8, 4), (None, None)
XY = (8, 4), (("x", "y"), None)
Y = (8, 4), ("y", None)
V = (8,), ("x",)
W = (8,), ("y",)
I8 = (8,), ("x",), "int32"
I4 = (4,), (None,), "int32"
I4Y = (4,), ("y",), "int32"
MM = (((1,), (0,)), ((), ()))
BMM = (((2,), (1,)), ((0,), (0,)))


def _mm(m: Any, x: Any, y: Any) -> Any:
    return m.lax.dot_general(x, y, MM)


def _bmm(m: Any, x: Any, y: Any) -> Any:
    return m.lax.dot_general(x, y, BMM)


def _cond(m: Any, x: Any) -> Any:
    return m.lax.cond(m.numpy.sum(x) > 0, m.numpy.sin, m.numpy.cos, x)


def _scan(m: Any, x: Any, ys: Any) -> Any:
    return m.lax.scan(lambda c, y: (c + y, c * y), x, ys)


def _while(m: Any, x: Any) -> Any:
    return m.lax.while_loop(lambda c: m.numpy.sum(c) < 10, lambda c: c * 2 + 1, x)


def _grad(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda m, x, *rest: m.grad(lambda x: m.numpy.sum(f(m, x, *rest)))(x)


CASES = [
    _case("sin", lambda m, x: m.numpy.sin(x), A),
    _case("add_equal", lambda m, x, y: x + y, A, A),
    _case("add_scalar", lambda m, x: x + 1.0, AB),
    _case("add_whole", lambda m, x, y: x + y, A, R),
    _case("add_other_axis", lambda m, x, y: x + y, A, B),
    _case("add_conflict", lambda m, x, y: x + y, V, W),
    _case("add_conflict_prefix", lambda m, x, y: x + y, A, XY),
    _case("add_axis_twice", lambda m, x, y: x + y, A, ((8, 4), (None, "x"))),
    _case("mul_vector", lambda m, x, y: x * y, AB, ((4,), (None,))),
    _case("mul_vector_divided", lambda m, x, y: x * y, A, ((4,), ("y",))),
    _case("mul_column", lambda m, x, y: x * y, AB, ((8, 1), ("x", None))),
    _case("mul_column_whole", lambda m, x, y: x * y, AB, ((8, 1), (None, None))),
    _case("where", lambda m, c, x, y: m.numpy.where(c, x, y), ((8, 4), ("x", None), "bool"), A, A),
    _case("where_scalar", lambda m, x: m.numpy.where(x > 0, x, 0.0), A),
    _case("clip", lambda m, x: m.numpy.clip(x, 0.0, 1.0), A),
    _case("astype", lambda m, x: x.astype("int32"), AB),
    _case("broadcast_to", lambda m, x: m.numpy.broadcast_to(x, (3, 8, 4)), A),
    _case("expand_dims", lambda m, x: m.numpy.expand_dims(x, 1), AB),
    _case("squeeze", lambda m, x: m.numpy.squeeze(x, 1), ((8, 1, 4), ("x", None, "y"))),
    _case("sum_all", lambda m, x: m.numpy.sum(x), AB),
    _case("sum_0", lambda m, x: m.numpy.sum(x, 0), AB),
    _case("sum_1_keepdims", lambda m, x: m.numpy.sum(x, 1, keepdims=True), AB),
    _case("mean", lambda m, x: m.numpy.mean(x, 0), A),
    _case("max", lambda m, x: m.numpy.max(x, 1), AB),
    _case("prod", lambda m, x: m.numpy.prod(x, 1), A),
    _case("any", lambda m, x: m.numpy.any(x > 0, 0), A),
    _case("argmax_free", lambda m, x: m.numpy.argmax(x, 1), A),
    _case("argmax_divided", lambda m, x: m.numpy.argmax(x, 0), A),
    _case("softmax", lambda m, x: m.nn.softmax(x, 1), A),
    _case("matmul", _mm, ((8, 16), ("x", None)), ((16, 4), (None, "y"))),
    _case("matmul_whole", _mm, ((8, 16), ("x", None)), ((16, 4), (None, None))),
    _case("matmul_contracted", _mm, ((8, 16), (None, "x")), ((16, 4), ("x", None))),
    _case("matmul_contracted_one", _mm, ((8, 16), (None, "x")), ((16, 4), (None, None))),
    _case("matmul_contracted_other", _mm, ((8, 16), (None, "x")), ((16, 4), ("y", None))),
    _case("matmul_axis_twice", _mm, ((8, 16), ("x", None)), ((16, 4), (None, "x"))),
    _case("matmul_batch", _bmm, ((2, 8, 16), ("x", None, None)), ((2, 16, 4), ("x", None, "y"))),
    _case("matmul_batch_one", _bmm, ((2, 8, 16), ("x", None, None)), ((2, 16, 4), (None, None, None))),
    _case("matmul_batch_conflict", _bmm, ((8, 8, 16), ("x", None, None)), ((8, 16, 4), ("y", None, None))),
    _case("einsum", lambda m, x, y: m.numpy.einsum("ij,jk->ik", x, y), ((8, 16), ("x", None)), ((16, 4), (None, "y"))),
    _case("transpose", lambda m, x: m.numpy.transpose(x), AB),
    _case("swapaxes", lambda m, x: m.numpy.swapaxes(x, 0, 2), ((8, 2, 4), ("x", None, "y"))),
    _case("reshape_split_first", lambda m, x: m.numpy.reshape(x, (2, 4, 4)), A),
    _case("reshape_split_uneven", lambda m, x: m.numpy.reshape(x, (2, 4, 4)), ((8, 4), ("y", None))),
    _case("reshape_split_other", lambda m, x: m.numpy.reshape(x, (8, 2, 2)), A),
    _case("reshape_merge_first", lambda m, x: m.numpy.reshape(x, (32,)), A),
    _case("reshape_merge_second", lambda m, x: m.numpy.reshape(x, (32,)), B),
    _case("reshape_merge_both", lambda m, x: m.numpy.reshape(x, (32,)), AB),
    _case("reshape_ones", lambda m, x: m.numpy.reshape(x, (1, 8, 1, 4)), AB),
    _case("reshape_strange", lambda m, x: m.numpy.reshape(x, (16, 2)), A),
    _case("reshape_strange_whole", lambda m, x: m.numpy.reshape(x, (16, 2)), R),
    _case("concatenate_free", lambda m, x, y: m.lax.concatenate([x, y], 1), A, A),
    _case("concatenate_divided", lambda m, x, y: m.lax.concatenate([x, y], 0), A, A),
    _case("concatenate_conflict", lambda m, x, y: m.lax.concatenate([x, y], 1), A, Y),
    _case("concatenate_one_whole", lambda m, x, y: m.lax.concatenate([x, y], 1), A, R),
    _case("stack", lambda m, x, y: m.numpy.stack([x, y]), A, A),
    _case("slice_free", lambda m, x: m.lax.slice(x, (0, 1), (8, 3)), A),
    _case("slice_divided", lambda m, x: m.lax.slice(x, (0, 0), (4, 4)), A),
    _case("slice_divided_uneven", lambda m, x: m.lax.slice(x, (0, 0), (3, 4)), A),
    _case("dynamic_slice_free", lambda m, x: m.lax.dynamic_slice(x, (0, 1), (8, 2)), A),
    _case("dynamic_slice_divided", lambda m, x: m.lax.dynamic_slice(x, (0, 0), (4, 4)), A),
    _case("dynamic_update_slice", lambda m, x: m.lax.dynamic_update_slice(x, m.numpy.ones((8, 2), x.dtype), (0, 1)), A),
    _case("pad_free", lambda m, x: m.lax.pad(x, m.numpy.zeros((), x.dtype), ((0, 0, 0), (1, 1, 0))), A),
    _case("pad_divided", lambda m, x: m.lax.pad(x, m.numpy.zeros((), x.dtype), ((1, 1, 0), (0, 0, 0))), A),
    _case("rev_free", lambda m, x: m.lax.rev(x, (1,)), A),
    _case("rev_divided", lambda m, x: m.lax.rev(x, (0,)), A),
    _case("gather_whole", lambda m, x, i: x[i], R, I4),
    _case("gather_by_divided", lambda m, x, i: x[i], R, I4Y),
    _case("gather_from_divided", lambda m, x, i: x[i], A, I4),
    _case("index_free", lambda m, x: x[:, 0], A),
    _case("index_divided", lambda m, x: x[0], A),
    _case("index_array_free", lambda m, x, i: x[:, i], A, I4),
    _case("take_along_axis", lambda m, x, i: m.numpy.take_along_axis(x, i, 1), A, ((8, 2), ("x", None), "int32")),
    _case("cumsum_free", lambda m, x: m.numpy.cumsum(x, 1), A),
    _case("cumsum_divided", lambda m, x: m.numpy.cumsum(x, 0), A),
    _case("sort_free", lambda m, x: m.numpy.sort(x, 1), A),
    _case("sort_divided", lambda m, x: m.numpy.sort(x, 0), A),
    _case("top_k", lambda m, x: m.lax.top_k(x, 2), A),
    _case("iota", lambda m, x: m.lax.iota("int32", 8) + x, ((8,), ("x",), "int32")),
    _case("zeros_like", lambda m, x: m.numpy.zeros_like(x), A),
    _case("full_like", lambda m, x: m.lax.full_like(x, 2.0), AB),
    _case("select_n", lambda m, c, x, y: m.lax.select_n(c, x, y), ((), (), "bool"), A, A),
    _case("cond", _cond, A),
    _case("scan_whole_steps", _scan, V, ((3, 8), (None, "x"))),
    _case("scan_carry_changes", _scan, ((8,), (None,)), ((3, 8), (None, "x"))),
    _case("while", _while, A),
    _case("jit", lambda m, x: m.jit(lambda x: x * 2)(x), A),
    _case("vmap_free", lambda m, x: m.vmap(m.numpy.sin, in_axes=1)(x), A),
    _case("vmap_sum", lambda m, x: m.vmap(m.numpy.sum)(x), A),
    _case("grad_square", _grad(lambda m, x: x * x), AB),
    _case("grad_sum_0", _grad(lambda m, x: m.numpy.sum(x, 0) ** 2), A),
    _case("grad_matmul", _grad(_mm), ((8, 16), ("x", None)), ((16, 4), (None, "y"))),
    _case("grad_of_whole", _grad(lambda m, x, y: x * y), ((8, 4), (None, None)), A),
    _case("grad_reshape", _grad(lambda m, x: m.numpy.reshape(x, (32,)) ** 2), A),
    _case("grad_transpose", _grad(lambda m, x: x.T**2), AB),
    _case("jvp", lambda m, x: m.jvp(m.numpy.sin, (x,), (x,)), AB),
    _case("reshard", lambda m, x: m.reshard(x, m.P(None, "x")), A),
    _case(
        "einsum_out",
        lambda m, x, y: m.numpy.einsum("ij,jk->ik", x, y, out_sharding=m.P("x", None)),
        ((8, 16), (None, "x")),
        ((16, 4), ("x", None)),
    ),
    _case(
        "dot_out",
        lambda m, x, y: m.lax.dot_general(x, y, MM, out_sharding=m.P("x", None)),
        ((8, 16), (None, "x")),
        ((16, 4), ("x", None)),
    ),
    _case("reshape_out", lambda m, x: m.numpy.reshape(x, (32,), out_sharding=m.P("y")), B),
    _case("zeros_out", lambda m: m.numpy.zeros((8, 4), out_sharding=m.P("x"))),
    _case("ones_out", lambda m: m.numpy.ones((8, 4), out_sharding=m.P("x", "y"))),
    _case("arange_out", lambda m: m.numpy.arange(8, out_sharding=m.P("x"))),
    _case("gather_out", lambda m, x, i: x.at[i].get(out_sharding=m.P(None, None)), A, I4),
    _case(
        "conv",
        lambda m, x, k: m.lax.conv(x, k, (1, 1), "SAME"),
        ((8, 3, 4, 4), ("x", None, None, None)),
        ((4, 3, 3, 3), (None, None, None, None)),
    ),
    _case(
        "conv_features",
        lambda m, x, k: m.lax.conv(x, k, (1, 1), "SAME"),
        ((8, 3, 4, 4), ("x", None, None, None)),
        ((4, 3, 3, 3), ("y", None, None, None)),
    ),
    _case(
        "conv_out",
        lambda m, x, k: m.lax.conv_general_dilated(x, k, (1, 1), "SAME", out_sharding=m.P("x", "y")),
        ((8, 3, 4, 4), ("x", None, None, None)),
        ((4, 3, 3, 3), ("y", None, None, None)),
    ),
    _case("broadcast_in_dim_out", lambda m, x: m.lax.broadcast_in_dim(x, (8, 4), (0,), out_sharding=m.P("x", "y")), V),
    _case("broadcast_out", lambda m, x: m.lax.broadcast(x, (4,), out_sharding=m.P("y", "x")), V),
    _case("iota_out", lambda m: m.lax.broadcasted_iota("int32", (8, 4), 1, out_sharding=m.P("x"))),
    _case(
        "grad_conv",
        _grad(lambda m, k, x: m.lax.conv(x, k, (1, 1), "SAME") ** 2),
        ((4, 3, 3, 3), (None, None, None, None)),
        ((8, 3, 4, 4), ("x", None, None, None)),
    ),
    _case(
        "grad_take_along", _grad(lambda m, x, i: m.numpy.take_along_axis(x, i, 1)), A, ((8, 2), ("x", None), "int32")
    ),
    _case(
        "vmap_grad",
        lambda m, x, w: m.vmap(m.grad(lambda r: m.numpy.sum(m.numpy.tanh(r @ w))))(x),
        A,
        ((4, 16), (None, "y")),
    ),
    _case(
        "vmap_joins_whole",
        lambda m, x, v: m.vmap(lambda r, v: m.numpy.concatenate([r, v]), (0, None))(x, v),
        A,
        ((4,), (None,)),
    ),
    _case("set_column", lambda m, x: x.at[:, 0].set(0.0), A),
    _case("set_row", lambda m, x: x.at[0].set(0.0), A),
    _case("add_column", lambda m, x, v: x.at[:, 0].add(v), A, V),
    _case(
        "attention",
        lambda m, q: m.numpy.einsum("bhqk,bkhd->bqhd", m.nn.softmax(m.numpy.einsum("bqhd,bkhd->bhqk", q, q)), q),
        ((8, 4, 4, 2), ("x", None, "y", None)),
    ),
    _case("random", lambda m, x: m.random.normal(m.random.key(0), (8, 4)) + x, A),
    _case("random_out", lambda m: m.random.normal(m.random.key(0), (8, 4), out_sharding=m.P("x"))),
    _case("scatter_add", lambda m, x, i: x.at[i].add(1.0), R, I4),
    _case("scatter_add_divided", lambda m, x, i: x.at[i].add(1.0), A, I4),
    _case("tile", lambda m, x: m.numpy.tile(x, (1, 2)), A),
    _case("repeat", lambda m, x: m.numpy.repeat(x, 2, 1), A),
    _case("split", lambda m, x: m.numpy.split(x, 2, 1), A),
    _case("fft_free", lambda m, x: m.numpy.fft.fft(x), A),
    _case("fft_divided", lambda m, x: m.numpy.fft.fft(x), B),
    _case("cholesky", lambda m, x: m.numpy.linalg.cholesky(x), ((8, 2, 2), ("x", None, None))),
]
