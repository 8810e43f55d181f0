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
    with pytest.raises(TypeError, match="dtype pair has no value as a NumPy array"):
        np.asarray(x)
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(x)


def test_copies_and_pickles_hold_the_same():
    x = pairs(2)
    for other in (
        (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(ExtendedArray(x.base, x.dtype))))
        if (False)
        else (copy.copy(x), copy.deepcopy(x))
    ):
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
