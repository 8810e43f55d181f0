"""Types of users' own: values that are made of arrays, under transformations that do not know them."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
from pair_type import Pair, PairType, pair_scale_p

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.extend import core, define_primitive
from primax.extend.core.primitives import neg_p

pytestmark = pytest.mark.any_word_size


class Quantized:
    """Integers of 8 bits with a scale for each row."""

    def __init__(self, ints, scale):
        self.ints, self.scale = ints, scale

    def __matmul__(self, x):
        return matmul_p.bind(self, x)

    def __rmul__(self, x):
        return scaled_p.bind(self, x)

    def dequantized(self):
        return dequantized_p.bind(self)

    def __repr__(self):
        return f"Quantized({np.asarray(self.ints).tolist()}, {np.asarray(self.scale).tolist()})"


@dataclasses.dataclass(frozen=True)
class QuantizedType(core.UserType):
    shape: tuple[int, ...]

    @classmethod
    def of(cls, value):
        return cls(tuple(np.shape(value.ints)))

    def part_types(self):
        return [core.ShapedArray(self.shape, np.int8), core.ShapedArray(self.shape[:-1], np.float32)]

    def to_parts(self, value):
        return [value.ints, value.scale]

    def from_parts(self, parts):
        return Quantized(*parts)

    def to_tangent_aval(self):
        return core.ShapedArray(self.shape[:-1], np.float32)

    def mapped(self, size, dim):
        return QuantizedType(self.shape[:dim] + self.shape[dim + 1 :])

    def unmapped(self, size, dim):
        return QuantizedType((*self.shape[:dim], size, *self.shape[dim:]))

    def str_short(self):
        return f"q8[{','.join(map(str, self.shape))}]"


core.register_user_type(QuantizedType, Quantized)


def _floats(q):
    return q.ints.astype(np.float32) * q.scale[..., None]


def _dequantized_jvp(primals, tangents):
    (q,), (t,) = primals, tangents
    return dequantized_p.bind(q), ints_p.bind(q) * t[..., None]


ints_p = define_primitive(
    "q_ints",
    impl=lambda q: q.ints.astype(np.float32),
    abstract_eval=lambda q: core.ShapedArray(q.shape, np.float32),
    batch=lambda args, dims: (ints_p.bind(*args), dims[0]),
)
dequantized_p = define_primitive(
    "dequantized",
    impl=_floats,
    abstract_eval=lambda q: core.ShapedArray(q.shape, np.float32),
    jvp=_dequantized_jvp,
    batch=lambda args, dims: (dequantized_p.bind(*args), dims[0]),
)
matmul_p = define_primitive(
    "q_matmul",
    impl=lambda q, x: _floats(q) @ x,
    abstract_eval=lambda q, x: core.ShapedArray(q.shape[:-1], np.float32),
)
scaled_p = define_primitive("q_scaled", impl=lambda q, s: Quantized(q.ints, q.scale * s), abstract_eval=lambda q, s: q)
quantized_p = define_primitive(
    "quantized",
    impl=lambda x: Quantized(pnp.round(x).astype(np.int8), pnp.ones(x.shape[:-1], np.float32)),
    abstract_eval=lambda x: QuantizedType(x.shape),
)
negated_p = define_primitive("q_negated", impl=lambda q: Quantized(-q.ints, q.scale), abstract_eval=lambda q: q)
core.register_on_type(neg_p, QuantizedType, negated_p)


def quantized():
    return Quantized(pnp.arange(6, dtype=np.int8).reshape(2, 3), pnp.array([0.5, 2.0], np.float32))


def pair(*shape):
    shape = shape or (3,)
    return Pair(pnp.arange(np.prod(shape), dtype=np.float32).reshape(shape), pnp.ones(shape, np.float32))


FLOATS = np.float32([[0, 0.5, 1], [6, 8, 10]])
ONES = np.ones(3, np.float32)


def _both(x):
    return np.stack([x.a, x.b])


@pytest.mark.parametrize(
    "run",
    [
        lambda f, q: f(q),
        lambda f, q: px.jit(f)(q),
        lambda f, q: px.jit(lambda: f(q))(),
        lambda f, q: px.jit(lambda q: px.jit(f)(q))(q),
        lambda f, q: px.checkpoint(f)(q),
        lambda f, q: lax.cond(True, f, f, q),
        lambda f, q: px.jit(f).lower(q).compile()(q),
        lambda f, q: px.jit(f).lower(QuantizedType((2, 3))).compile()(q),
        lambda f, q: px.export.export(px.jit(f))(q).call(q),
        lambda f, q: px.tree.map(f, {"q": q})["q"],
        lambda f, q: core.jaxpr_as_fun(px.make_jaxpr(f)(q))(q)[0],
        lambda f, q: px.custom_batching.custom_vmap(f)(q),
    ],
)
def test_functions_of_values_run_in_programs(run):
    np.testing.assert_allclose(run(lambda q: (2.0 * q) @ ONES, quantized()), 2 * FLOATS.sum(-1))


def test_programs_show_values_as_one_variable():
    program = px.make_jaxpr(lambda q, x: (q @ x, 2.0 * q))(quantized(), ONES)
    assert [aval.str_short() for aval in (*program.in_avals, *program.out_avals)] == [
        *("q8[2,3]", "f32[3]", "f32[2]"),
        "q8[2,3]",
    ]
    assert "b:q8[2,3] = quantized a" in str(px.make_jaxpr(quantized_p.bind)(FLOATS))
    module = px.jit(lambda q: 2.0 * q).lower(quantized()).as_text()
    assert "%arg0: tensor<2x3xi8>, %arg1: tensor<2xf32>" in module


def test_a_program_may_have_such_values_inside_only():
    np.testing.assert_allclose(px.jit(lambda x: quantized_p.bind(x).dequantized())(FLOATS), np.round(FLOATS))
    _, outs = px.jit(lambda x: lax.scan(lambda c, r: (c, quantized_p.bind(r).dequantized()), 0.0, x))(FLOATS)
    np.testing.assert_allclose(outs, np.round(FLOATS))


@pytest.mark.parametrize("wrap", [lambda f: f, px.jit], ids=["eager", "jit"])
def test_loops_and_branches(wrap):
    q = quantized()
    last, seen = wrap(lambda q: lax.scan(lambda c, _: (2.0 * c, c @ ONES), q, None, length=3))(q)
    np.testing.assert_allclose(last.scale, [4, 16])
    np.testing.assert_allclose(seen, [FLOATS.sum(-1) * 2**i for i in range(3)])
    total, _ = wrap(lambda q: lax.scan(lambda c, row: (c + row.dequantized(), None), pnp.zeros(3, np.float32), q))(q)
    np.testing.assert_allclose(total, FLOATS.sum(0))
    last = wrap(lambda q: lax.while_loop(lambda c: (c @ ONES)[0] < 100, lambda c: 2.0 * c, q))(q)
    np.testing.assert_allclose(last.scale, [64 * 0.5 * 2, 64 * 2 * 2])
    np.testing.assert_allclose(wrap(lambda q: lax.fori_loop(0, 3, lambda i, c: 2.0 * c, q))(q).scale, [4, 16])
    chosen = wrap(lambda q: lax.switch(1, [lambda q: q, lambda q: 2.0 * q], q))(q)
    np.testing.assert_allclose(chosen.scale, [1, 4])


def test_a_loop_runs_step_by_step_without_compilation():
    with px.disable_jit():
        last, _ = lax.scan(lambda c, p: (c + p, None), pair(), pair(2, 3))
    np.testing.assert_allclose(last.a, [3, 6, 9])


@pytest.mark.parametrize("wrap", [lambda f: f, px.jit], ids=["eager", "jit"])
def test_tangents_may_be_arrays(wrap):
    loss = lambda q: pnp.sum(q.dequantized() ** 2)  # noqa: E731
    ints = np.arange(6, dtype=np.float32).reshape(2, 3)
    want = 2 * (ints**2).sum(-1) * [0.5, 2]
    np.testing.assert_allclose(wrap(px.grad(loss))(quantized()), want)
    np.testing.assert_allclose(px.grad(wrap(loss))(quantized()), want)
    np.testing.assert_allclose(px.grad(px.checkpoint(wrap(loss)))(quantized()), want)
    _, tangent = px.jvp(loss, (quantized(),), (np.float32([1, 0]),))
    np.testing.assert_allclose(tangent, want[0])
    jacobian = px.jacrev(lambda q: q.dequantized())(quantized())
    assert jacobian.shape == (2, 3, 2)
    np.testing.assert_allclose(jacobian[1, :, 1], [3, 4, 5])


@pytest.mark.parametrize("wrap", [lambda f: f, px.jit], ids=["eager", "jit"])
def test_tangents_may_be_of_a_users_type(wrap):
    p = pair()
    twice = lambda p: (p + p).dot(p)  # noqa: E731
    np.testing.assert_allclose(_both(wrap(px.grad(twice))(p)), 4 * _both(p))
    looped = lambda p: lax.scan(lambda c, _: (c + p, c.dot(c)), p, None, length=3)[1].sum()  # noqa: E731
    np.testing.assert_allclose(_both(px.grad(wrap(looped))(p)), 28 * _both(p))
    branched = lambda p: lax.cond(p.length > 2, twice, lambda p: p.dot(p), p)  # noqa: E731
    np.testing.assert_allclose(_both(wrap(px.grad(branched))(p)), 4 * _both(p))
    _, second = px.jvp(wrap(px.grad(lambda p: p.dot(p))), (p,), (p,))
    np.testing.assert_allclose(_both(second), 2 * _both(p))
    np.testing.assert_allclose(_both(px.vjp(lambda p: p + p, p)[1](p)[0]), 2 * _both(p))
    np.testing.assert_allclose(_both(px.linear_transpose(lambda p: p + p, p)(p)[0]), 2 * _both(p))
    stopped = px.grad(lambda p: lax.stop_gradient(p).dot(p))(p)
    np.testing.assert_allclose(_both(stopped), _both(p))
    assert _both(px.grad(lambda p, x: x * 1.0, argnums=0)(p, 2.0)).sum() == 0


def test_rules_of_custom_derivatives_get_values():
    @px.custom_vjp
    def f(p):
        return p.dot(p)

    f.defvjp(lambda p: (p.dot(p), p), lambda p, ct: (pair_scale_p.bind(3 * ct, p),))
    np.testing.assert_allclose(_both(px.jit(px.grad(f))(pair())), 3 * _both(pair()))

    @px.custom_jvp
    def g(p):
        return p.dot(p)

    g.defjvp(lambda ps, ts: (g(*ps), 5 * ps[0].dot(ts[0])))
    np.testing.assert_allclose(_both(px.grad(px.jit(g))(pair())), 5 * _both(pair()))


def test_vmap_maps_the_axes_of_values():
    p = pair(2, 3)
    np.testing.assert_allclose(px.vmap(lambda p: p.dot(p))(p), (_both(p) ** 2).sum((0, 2)))
    moved = px.vmap(lambda p: p, in_axes=1, out_axes=1)(p)
    np.testing.assert_allclose(_both(moved), _both(p))
    np.testing.assert_allclose(_both(px.vmap(px.grad(lambda p: p.dot(p)))(p)), 2 * _both(p))
    np.testing.assert_allclose(_both(px.vmap(lambda x: pair())(np.ones(4))), np.stack([_both(pair())] * 4, 1))
    last, seen = px.vmap(lambda p: lax.scan(lambda c, _: (c + p, c.dot(c)), p, None, length=2))(p)
    np.testing.assert_allclose(_both(last), 3 * _both(p))
    np.testing.assert_allclose(seen, np.stack([(_both(p) ** 2).sum((0, 2)) * n for n in (1, 4)], 1))


def test_branches_and_loops_that_are_mapped_select_between_values():
    chosen = px.vmap(lambda up: lax.cond(up, lambda q: 2.0 * q, lambda q: q, quantized()))(np.array([True, False]))
    np.testing.assert_allclose(chosen.scale, [[1, 4], [0.5, 2]])
    p = Pair(np.float32([[1], [2], [3]]) * np.ones((3, 2), np.float32), np.ones((3, 2), np.float32))
    last = px.vmap(lambda p: lax.while_loop(lambda c: c.dot(c) < 50, lambda c: c + c, p))(p)
    np.testing.assert_allclose(last.a, [[4, 4], [8, 8], [6, 6]])
    nested = px.vmap(px.vmap(lambda up: lax.cond(up, lambda q: 2.0 * q, lambda q: q, quantized())))
    np.testing.assert_allclose(nested(np.array([[True, False]])).scale, [[[1, 4], [0.5, 2]]])
    gradient = px.grad(
        lambda p, ups: px.vmap(lambda up: lax.cond(up, lambda p: (p + p).dot(p), lambda p: p.dot(p), p))(ups).sum()
    )
    np.testing.assert_allclose(_both(gradient(pair(), np.array([True, False]))), 6 * _both(pair()))


def test_arrays_in_values_are_placed_and_donated():
    q = quantized()
    given = Quantized(q.ints + 1, q.scale + 1)
    out = px.jit(lambda q: 2.0 * q, donate_argnums=0)(given)
    assert given.ints.is_deleted()
    assert given.scale.is_deleted()
    np.testing.assert_allclose(out.scale, [3, 6])
    device = px.devices()[0]
    placed = px.device_put(Quantized(np.int8([[1, 2]]), np.float32([1])), device)
    assert type(placed.ints) is px.Array
    assert placed.ints.devices() == {device}
    doubled = px.jit(lambda q: 2.0 * q, out_shardings=px.sharding.SingleDeviceSharding(device))(q)
    np.testing.assert_allclose(doubled.scale, [1, 4])
    np.testing.assert_allclose(px.block_until_ready(q).scale, q.scale)


def test_callbacks_get_values(capsys):
    px.jit(lambda q: px.debug.print("{}", q))(quantized())
    px.effects_barrier()
    assert capsys.readouterr().out == "Quantized([[0, 1, 2], [3, 4, 5]], [0.5, 2.0])\n"
    total = px.jit(lambda p: px.pure_callback(lambda p: p.a.sum(), px.ShapeDtypeStruct((), np.float32), p))(pair())
    assert total == 3


def test_programs_with_such_types_are_pickled():
    program = pickle.loads(pickle.dumps(px.make_jaxpr(lambda p: p)(pair())))
    assert program.in_avals == [PairType((3,))]


def test_a_primitive_of_arrays_has_rules_for_values_where_one_gave_them():
    np.testing.assert_array_equal(px.jit(neg_p.bind)(quantized()).ints, [[0, -1, -2], [-3, -4, -5]])
    assert neg_p.bind(1.0) == -1
    with pytest.raises(core.MissingRuleError, match=r"(?s)neg has no rules for values of type PairType.*PairType.*can"):
        px.jit(neg_p.bind)(pair())


@pytest.mark.parametrize(
    "run, kind, text",
    [
        (
            lambda: pnp.sin(quantized()),
            TypeError,
            r"sin: its argument must be an array .* type q8\[2,3\]; the package of",
        ),
        (lambda: px.jit(lambda q: q.ints)(quantized()), AttributeError, "has no 'ints': Quantized does not define it"),
        (lambda: px.jit(lambda q: q + 1)(quantized()), TypeError, "Quantized does not define __add__"),
        (lambda: pnp.ones(3) @ quantized(), TypeError, "unsupported operand"),
        (lambda: lax.scan(lambda c, _: (pair(), None), quantized(), None, length=1), TypeError, r"init is q8\[2,3\]"),
        (lambda: lax.cond(True, pair, quantized), TypeError, r"true_fun is PairType.* false_fun is q8\[2,3\]"),
        (lambda: px.grad(lambda p: p + p)(pair()), TypeError, "must return a scalar, got PairType"),
        (lambda: px.jacrev(lambda p: p)(pair()), TypeError, "^jacfwd or jacrev: a value of type PairType"),
        (lambda: px.jvp(lambda q: q @ ONES, (quantized(),), (ONES,)), Exception, r"f32\[2\]"),
        (lambda: px.vmap(lambda q: q, in_axes=2)(quantized()), ValueError, r"q8\[2,3\] and has rank 2"),
        (lambda: px.pmap(lambda p: p.dot(p))(pair(1, 2)), core.UnsupportedError, "pass arrays"),
    ],
)
def test_what_values_cannot_do_is_said(run, kind, text):
    with pytest.raises(kind, match=text):
        run()


@dataclasses.dataclass(frozen=True)
class ShapelessType(core.UserType):
    @classmethod
    def of(cls, value):
        return cls()

    def part_types(self):
        return []

    def to_parts(self, value):
        return []

    def from_parts(self, parts):
        return Shapeless()


class Shapeless:
    pass


core.register_user_type(ShapelessType, Shapeless)


@pytest.mark.parametrize(
    "name, run",
    [
        ("vmap", lambda: px.vmap(lambda x: 1.0)(Shapeless())),
        ("scan", lambda: lax.scan(lambda c, x: (c, None), 1.0, Shapeless())),
        ("map", lambda: lax.map(lambda x: 1.0, Shapeless())),
    ],
)
def test_what_a_type_lacks_to_be_mapped_is_said(name, run):
    with pytest.raises(TypeError, match=rf"(?s)^{name}: .* has no shape.*if ShapelessType defines shape, mapped and"):
        run()


def test_parts_must_be_those_of_the_type():
    with pytest.raises(core.RuleError, match=r"to_parts: part 1 of a value of type q8\[2,3\] must be of type f32\[2\]"):
        px.jit(lambda q: 2.0 * q)(Quantized(np.zeros((2, 3), np.int8), np.float32(1)))


def test_a_type_must_compare_by_content_and_have_its_methods():
    class Lacking(core.UserType):
        pass

    with pytest.raises(TypeError, match="Lacking must compare by content"):
        core.register_user_type(Lacking, int)

    @dataclasses.dataclass(frozen=True)
    class Partless(core.UserType):
        pass

    with pytest.raises(TypeError, match="Partless must define part_types"):
        core.register_user_type(Partless, Lacking)
    with pytest.raises(
        TypeError, match=r"PairType.: float has a type in programs already|PairType is the type of Pair"
    ):
        core.register_user_type(PairType, float)


def test_objects_that_are_merely_convertible_become_arrays():
    class Celsius:
        def __init__(self, degrees):
            self.degrees = degrees

    core.register_arraylike(Celsius, lambda x: pnp.asarray(x.degrees, np.float32) + 273)
    assert pnp.add(Celsius(1.0), 1) == 275
    assert px.jit(lambda x: x + 1)(Celsius(2.0)) == 276
    assert px.grad(lambda x: pnp.sin(x) * 0 + x)(Celsius(0.0)) == 1
