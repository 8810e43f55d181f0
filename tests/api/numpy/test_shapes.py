"""Shapes, joining, splitting, rearranging and padding against jax.numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpycheck import compare, refuses, sample

import primax as px
import primax.numpy as pnp
from primax.extend.core import Tracer


def test_shapes_agree_with_jax() -> None:
    calls = {
        "reshape": lambda m, x: m.reshape(x, (4, -1)),
        "reshape one": lambda m, x: m.reshape(x, -1),
        "reshape F": lambda m, x: m.reshape(x, (4, 6), order="F"),
        "reshape same": lambda m, x: x.reshape(2, 3, 4),
        "reshape empty": lambda m, x: x[:0].reshape(0, 5),
        "reshape wrong": lambda m, x: m.reshape(x, (5, -1)),
        "reshape twice": lambda m, x: m.reshape(x, (-1, -1)),
        "reshape negative": lambda m, x: m.reshape(x, (-2, -12)),
        "method": lambda m, x: (x.reshape(6, 4), x.reshape((6, 4)), x.reshape(-1), x.reshape(4, 6, order="F")),
        "ravel": lambda m, x: (m.ravel(x), x.ravel("F"), x.flatten()),
        "transpose": lambda m, x: (m.transpose(x), x.T, x.mT, x.transpose(2, 0, 1), x.transpose((1, 0, -1))),
        "transpose wrong": lambda m, x: x.transpose(0, 1),
        "transpose twice": lambda m, x: m.transpose(x, (0, 0, 1)),
        "matrix_transpose": lambda m, x: (m.matrix_transpose(x), m.permute_dims(x, (1, 2, 0))),
        "matrix_transpose vector": lambda m, x: m.matrix_transpose(x[0, 0]),
        "swapaxes": lambda m, x: (m.swapaxes(x, 0, -1), x.swapaxes(1, 1)),
        "swapaxes wrong": lambda m, x: m.swapaxes(x, 0, 3),
        "moveaxis": lambda m, x: (m.moveaxis(x, 0, -1), m.moveaxis(x, (0, 1), (2, 0)), m.moveaxis(x, [2], [0])),
        "moveaxis wrong": lambda m, x: m.moveaxis(x, (0, 1), (1,)),
        "rollaxis": lambda m, x: (m.rollaxis(x, 2), m.rollaxis(x, 0, 3), m.rollaxis(x, 1, 1), m.rollaxis(x, -1, -2)),
        "squeeze": lambda m, x: (
            m.squeeze(x[:1, :, :1]),
            m.squeeze(x[:1, :, :1], 0),
            x[:, :1].squeeze((-2,)),
            x.squeeze(),
        ),
        "squeeze wrong": lambda m, x: m.squeeze(x, 0),
        "expand_dims": lambda m, x: (m.expand_dims(x, 0), m.expand_dims(x, (1, -1)), m.expand_dims(2, 0)),
        "expand_dims wrong": lambda m, x: m.expand_dims(x, 5),
        "broadcast_to": lambda m, x: (
            m.broadcast_to(x, (5, 2, 3, 4)),
            m.broadcast_to(x[:1], (2, 3, 4)),
            m.broadcast_to(1, 3),
        ),
        "broadcast_to wrong": lambda m, x: m.broadcast_to(x, (3, 3, 4)),
        "broadcast_to less": lambda m, x: m.broadcast_to(x, (3, 4)),
        "broadcast_arrays": lambda m, x: list(
            m.broadcast_arrays(x, x[0, 0], 2)
        ),  # newer releases of jax return a tuple
        "broadcast_arrays wrong": lambda m, x: m.broadcast_arrays(x, x[0].T),
        "atleast": lambda m, x: (m.atleast_1d(2), m.atleast_2d(x[0, 0]), m.atleast_3d(x[0, 0]), m.atleast_3d(x[0])),
        "atleast many": lambda m, x: (m.atleast_1d(2, x), m.atleast_2d(x, x[0, 0]), m.atleast_3d(x, 1)),
        "resize": lambda m, x: (m.resize(x, (5, 7)), m.resize(x, 4), m.resize(x, (0, 2))),
        "astype": lambda m, x: (x.astype("int32"), m.astype(x, "bfloat16"), x.astype(bool), x.astype(float)),
        "questions": lambda m, x: (m.shape(x), m.ndim(x), m.size(x), m.size(x, 1), m.shape([[1], [2]]), m.isscalar(x)),
    }
    compare(calls, sample("float32", (2, 3, 4)), weak=False, tuples=("atleast many",))


def test_joining_agrees_with_jax() -> None:
    calls = {
        "concatenate": lambda m, x, i: (m.concatenate([x, i]), m.concatenate((x, x), axis=-1), m.concat([x])),
        "raveled": lambda m, x, i: m.concatenate([x, i[0]], axis=None),
        "dtype": lambda m, x, i: m.concatenate([x, i], dtype="float16"),
        "of an array": lambda m, x, i: (m.concatenate(x[None]), m.stack(x, axis=1), m.vstack(x), m.hstack(x[None])),
        "ranks": lambda m, x, i: m.concatenate([x, x[0]]),
        "scalars": lambda m, x, i: m.concatenate([1, 2]),
        "lengths": lambda m, x, i: m.concatenate([x, x[:, :2]]),
        "nothing": lambda m, x, i: m.concatenate([]),
        "axis": lambda m, x, i: m.concatenate([x, x], axis=2),
        "stack": lambda m, x, i: (m.stack([x, i]), m.stack([x, x], axis=-1), m.stack([1, 2.5]), m.stack([i[0, 0], 2])),
        "stack shapes": lambda m, x, i: m.stack([x, x[0]]),
        "vstack": lambda m, x, i: (m.vstack([x, i[0]]), m.vstack([1, 2])),
        "hstack": lambda m, x, i: (m.hstack([x, i]), m.hstack([x[0], 1])),
        "dstack": lambda m, x, i: (m.dstack([x, i]), m.dstack([x[0], x[1]])),
        "column_stack": lambda m, x, i: (m.column_stack([x[0], i[1]]), m.column_stack([x, x[:, 0]])),
        "block": lambda m, x, i: (m.block([[x, x], [i, i]]), m.block([x[0], x[1]]), m.block(x), m.block([[x[0], 1.0]])),
        "block depths": lambda m, x, i: m.block([x, [i]]),
        "append": lambda m, x, i: (m.append(x, i), m.append(x, i, axis=0)),
        "split": lambda m, x, i: (m.split(x, 3, axis=1), m.split(x, [1], axis=0), m.split(x, (1, 1, 2), axis=1)),
        "split behind": lambda m, x, i: (m.split(x, [1, 3], axis=1),),
        "split uneven": lambda m, x, i: m.split(x, 2, axis=1),
        "array_split": lambda m, x, i: (m.array_split(x, 2, axis=1), m.array_split(x, 4, axis=1)),
        "vsplit": lambda m, x, i: (m.vsplit(x, 2), m.hsplit(x, 3), m.hsplit(x[0], 3), m.dsplit(x[None], 3)),
        "unstack": lambda m, x, i: (m.unstack(x), m.unstack(x, axis=-1)),
        "unstack scalar": lambda m, x, i: m.unstack(x[0, 0]),
        "iteration": lambda m, x, i: (list(x), len(x)),
        "nested": lambda m, x, i: (
            m.array([x[0], [1, 2, 3]]),
            m.array([[x[0, 0], 2], [i[0, 0], 4]]),
            m.asarray([i[0, 0], 2.5]),
        ),
    }
    compare(calls, sample("float32"), sample("int32", seed=1))


def test_rearranging_agrees_with_jax() -> None:
    calls = {
        "flip": lambda m, x: (m.flip(x), m.flip(x, 0), m.flip(x, (0, -1)), m.fliplr(x), m.flipud(x)),
        "flip wrong": lambda m, x: m.flip(x, 3),
        "tile": lambda m, x: (m.tile(x, 2), m.tile(x, (2, 1, 3)), m.tile(x, (2, 1, 1, 1)), m.tile(3, 2), m.tile(x, 0)),
        "repeat": lambda m, x: (
            m.repeat(x, 2),
            m.repeat(x, 3, axis=1),
            m.repeat(x, 0, axis=0),
            m.repeat(x, 1, axis=-1),
        ),
        "repeat each": lambda m, x: (m.repeat(x, np.array([1, 0, 2]), axis=1), x.repeat(2, axis=0), m.repeat(1, 3)),
        "repeat number": lambda m, x: m.repeat(x, np.array([1, 2]), axis=1),
        "roll": lambda m, x: (m.roll(x, 1), m.roll(x, -2, axis=1), m.roll(x, (1, 2), axis=(0, 1)), m.roll(x, 7, 2)),
        "roll axes": lambda m, x: (m.roll(x, 1, axis=(0, 2)), m.roll(x, (1, 2), axis=1), m.roll(x, 0)),
        "rot90": lambda m, x: [m.rot90(x, k, axes) for k in range(-1, 5) for axes in ((0, 1), (2, 0))],
        "rot90 wrong": lambda m, x: m.rot90(x, 1, (0, 0)),
    }
    compare(calls, sample("float32", (2, 3, 4)))


def test_padding_agrees_with_jax() -> None:
    calls = {
        "constant": lambda m, x: (m.pad(x, 1), m.pad(x, (1, 2)), m.pad(x, ((1, 0), (0, 2)))),
        "values": lambda m, x: (m.pad(x, 1, constant_values=5), m.pad(x, 2, constant_values=((1, 2), (3, 4)))),
        "nothing": lambda m, x: m.pad(x, 0),
        "negative": lambda m, x: m.pad(x, -1),
        "form": lambda m, x: m.pad(x, ((1, 2, 3),)),
        "fraction": lambda m, x: m.pad(x, 1.5),
        "mode": lambda m, x: m.pad(x, 1, mode="unknown"),
        "option": lambda m, x: m.pad(x, 1, mode="edge", constant_values=2),
        "one": lambda m, x: (m.pad(x[:1], 2, mode="reflect"), m.pad(x[:1], 3, mode="symmetric")),
        "stat_length": lambda m, x: (
            m.pad(x, 2, mode="mean", stat_length=2),
            m.pad(x, 1, mode="maximum", stat_length=1),
        ),
        "odd": lambda m, x: (
            m.pad(x, ((1, 1), (2, 1)), mode="reflect", reflect_type="odd"),
            m.pad(x, 1, mode="symmetric", reflect_type="odd"),
        ),
    }
    for mode in ("edge", "reflect", "symmetric", "wrap", "maximum", "minimum", "mean"):
        calls[mode] = lambda m, x, mode=mode: [
            m.pad(x, widths, mode=mode) for widths in (1, ((0, 2), (5, 3)), ((7, 0), (0, 9)))
        ]
    compare(calls, sample("float32"), weak=False)
    compare(
        {"mean": lambda m, x: m.pad(x, 1, mode="mean"), "wrap": lambda m, x: m.pad(x, 4, mode="wrap")}, sample("int32")
    )


def test_padding_by_axis_agrees_with_numpy() -> None:
    x = sample("float32")
    assert np.array_equal(pnp.pad(x, {1: (1, 2)}), np.pad(x, ((0, 0), (1, 2))))
    assert np.array_equal(pnp.pad(x, {-1: 1, 0: 2}, mode="edge"), np.pad(x, ((2, 2), (1, 1)), mode="edge"))


def test_results_that_are_the_argument_are_arrays_of_the_library() -> None:
    empty, matrix = np.zeros((0, 0), np.float32), np.eye(2, dtype=np.float32)
    results = [*pnp.hsplit(empty, 2), *pnp.array_split(empty, 3), pnp.diff(empty), pnp.linalg.matrix_power(matrix, 1)]
    assert all(isinstance(x, px.Array) for x in [*results, *px.scipy.linalg.hessenberg(empty, calc_q=True)])


def test_splitting_backwards_agrees_with_numpy() -> None:
    x = sample("float32")
    for cuts in ([2, 1], [1, 5], [5]):
        for ours, theirs in zip(pnp.split(x, cuts, 1), np.split(x, cuts, 1), strict=True):
            assert np.array_equal(ours, theirs)


def test_triangles_agree_with_jax() -> None:
    ks = (-5, -1, 0, 1, 2, 6)
    calls = {
        "tril": lambda m, x: [m.tril(x, k) for k in ks],
        "triu": lambda m, x: [m.triu(x, k) for k in ks],
        "vector": lambda m, x: m.tril(x[0, 0]),
        "diagonal": lambda m, x: [m.diagonal(x, k, 1, 2) for k in ks] + [x.diagonal(), m.diagonal(x, 0, 2, 0)],
        "one axis": lambda m, x: m.diagonal(x, 0, 1, 1),
        "trace": lambda m, x: (m.trace(x), m.trace(x, 1, -1, 0), x.trace(dtype="float16"), m.trace(x.astype("int8"))),
        "diag": lambda m, x: [m.diag(x[0], k) for k in ks] + [m.diag(x[0, 0], k) for k in ks],
        "diag scalar": lambda m, x: m.diag(x[0, 0, 0]),
        "diagflat": lambda m, x: m.diagflat(x[0], 1),
        "empty": lambda m, x: (m.diag(x[0, 0, :0]), m.diag(x[0, 0, :0], 2)),
        "eye": lambda m, x: [m.eye(3, n, k, dtype) for n in (None, 4) for k in (-1, 0, 2) for dtype in (None, "int32")],
        "tri": lambda m, x: [
            m.tri(3, n, k, dtype) for n in (None, 4) for k in (-1, 0, 2) for dtype in ("float32", "bool")
        ],
        "identity": lambda m, x: m.identity(3, "bfloat16"),
        "indices": lambda m, x: (m.tril_indices(3, 1), m.triu_indices(3, -1, 4), m.tril_indices_from(x[0])),
    }
    compare(calls, sample("float32", (2, 3, 4)))


def test_the_diagonal_of_eye_and_tri_may_be_traced() -> None:
    for k in (-4, -1, 0, 2, 5):
        for dtype in ("int32", "int8"):
            eye, tri = px.jit(lambda k: (pnp.eye(3, 4, k), pnp.tri(3, 4, k, "int32")))(np.asarray(k, dtype))
            assert np.array_equal(eye, np.eye(3, 4, k))
            assert np.array_equal(tri, np.tri(3, 4, k))
    assert np.array_equal(px.vmap(lambda k: pnp.eye(2, k=k))(np.arange(2)), [np.eye(2), np.eye(2, k=1)])
    for k, found in ((np.float32(1.5), "f32[]"), (True, "bool[]"), (np.int32([1]), "i32[1]")):
        message = f"eye: k must be an integer, got a traced array of type {found}"
        refuses(TypeError, message, px.jit(lambda k: pnp.eye(2, k=k)), k)


def test_shapes_take_few_equations() -> None:
    def names(function, *args):  # type: ignore[no-untyped-def]
        return [eqn.primitive.name for eqn in px.make_jaxpr(function)(*args).jaxpr.eqns]

    x = np.ones((2, 3), np.float32)
    assert names(lambda x: x.reshape(2, 3).ravel().reshape(6), x) == ["reshape"]
    assert names(lambda x: x.T, x) == ["transpose"]
    assert names(lambda x: pnp.broadcast_to(x, (2, 3)), x) == []
    assert names(lambda x: pnp.diag(x[0]), x) == ["slice", "squeeze", "pad", "reshape"]
    assert names(lambda x: pnp.split(x, 3, 1), x) == ["split"]
    assert names(lambda x: pnp.pad(x, 1), x) == ["pad"]
    assert names(lambda x: pnp.concatenate([x]), x) == []


def test_reshape_keeps_arrays_of_numpy() -> None:
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def kinds(m, jit):  # type: ignore[no-untyped-def]
        whole, wide = np.arange(6.0), np.asfortranarray(np.arange(6).reshape(2, 3))
        found = []

        def run(one):  # type: ignore[no-untyped-def]
            found.append(m.reshape(whole, (2, -1)))
            found.append(m.reshape(np.float32(1), (1, 1)))
            found.append(m.reshape(np.float32(1), ()))
            found.extend(m.reshape(wide, 6, order=order) for order in "CFA")
            found.append(m.reshape(whole, 6, copy=True))
            assert not isinstance(m.ravel(whole), np.ndarray)
            assert not isinstance(m.reshape(one, (1,)), np.ndarray)
            return one

        jit(run)(m.float32(1))
        return [(type(x), x.dtype, x.tolist()) for x in found]

    assert kinds(pnp, px.jit) == kinds(jnp, jax.jit)
    assert kinds(pnp, lambda f: f) == kinds(jnp, lambda f: f)
    whole = np.arange(6.0)
    assert np.shares_memory(pnp.reshape(whole, (2, 3)), whole)
    assert not np.shares_memory(pnp.reshape(whole, (2, 3), copy=True), whole)
    for shape in ((-3,), (-2, -1), (-2, -3)):
        message = f"reshape: shape must consist of non-negative integers and at most one -1, got {shape}"
        refuses(TypeError, message, pnp.reshape, whole, shape)
    refuses(TypeError, "reshape: shape must have as many elements as a, got 4 in (4,)", pnp.reshape, whole, 4)
    refuses(ValueError, "reshape: order must be 'C' or 'F', got 'K'", pnp.reshape, whole, 6, "K")


def test_what_is_known_of_arrays_of_numpy_is_known_in_programs() -> None:
    known = []

    def inside(x):  # type: ignore[no-untyped-def]
        mask = pnp.reshape(np.array([1.0, np.nan]) == np.array([1.0, np.nan]), (1, -1)).all(-1)
        known.extend(() if isinstance(mask, Tracer) else [bool(mask)])
        return pnp.where(mask, x, -pnp.inf)

    assert px.jit(inside)(2.0) == -np.inf
    assert known == [False]


def test_messages_name_function_argument_and_numbers() -> None:
    x = pnp.ones((2, 3))
    refuses(
        TypeError, "reshape: shape must have as many elements as a, got 4 in (2, 2) and 6 in (2, 3)", x.reshape, 2, 2
    )
    refuses(ValueError, "concatenate: arrays must be one array or more, got none", pnp.concatenate, [])
    refuses(ValueError, "stack: arrays must be of the same shape, got (2, 3) and (3,)", pnp.stack, [x, x[0]])
    refuses(
        ValueError, "split: indices_or_sections must divide the length of the axis, got 2 for 3", pnp.split, x, 2, 1
    )
    refuses(ValueError, "broadcast_to: array must be of a shape that broadcasts to (2,)", pnp.broadcast_to, x, 2)
    refuses(ValueError, "pad: mode must be one of", pnp.pad, x, 1, "ramp")
    refuses(ValueError, "squeeze: axis must be of length 1, got axis 0 of shape (2, 3)", pnp.squeeze, x, 0)


def test_repeats_must_be_known() -> None:
    with pytest.raises(px.errors.TracerIntegerConversionError):
        px.jit(lambda x, n: pnp.repeat(x, n))(pnp.ones(2), 2)


@pytest.mark.parametrize("join", [pnp.concatenate, pnp.stack, pnp.vstack, pnp.hstack, pnp.dstack, pnp.column_stack])
def test_an_array_of_numpy_too_large_for_memory_is_refused_before_its_rows_are_copied(join: Any) -> None:
    terabytes = np.broadcast_to(np.float32(1), (2**12, 2**30))
    with pytest.raises(RuntimeError, match="RESOURCE_EXHAUSTED"):
        join(terabytes)


def test_a_function_of_positions_has_no_more_axes_than_an_array() -> None:
    with pytest.raises(ValueError, match="arrays must have at most"):
        pnp.fromfunction(lambda *positions: positions[0], range(10**5))


def test_arrays_of_another_dtype_have_the_default_one_for_none_and_name_astype_in_errors() -> None:
    compare({"method": lambda m, x: m.asarray(x).astype(None)}, np.arange(3))
    assert pnp.astype(np.arange(3), None).dtype == pnp.ones(()).dtype
    refuses(TypeError, "astype: dtype must be a bool, number or extended dtype, got 'foo'", pnp.ones(3).astype, "foo")


def test_what_stands_for_a_scalar_is_a_scalar() -> None:
    class Stand:
        def __init__(self, shape: tuple[int, ...]) -> None:
            self.shape = shape

        def __jax_array__(self) -> px.Array:
            return pnp.ones(self.shape)

    assert pnp.isscalar(Stand(()))
    assert not pnp.isscalar(Stand((1,)))
