"""Programs are those that interpreters written for JAX match on: the same primitives with the same parameters.

What differs is in the tables here, with the reason.
"""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
from primax.extend import core

X = np.arange(6, dtype=np.float32).reshape(2, 3)
V = np.ones(3, np.float32)
I = np.arange(3, dtype=np.int32)
B = np.array([True, False, True])
SQUARE = np.eye(3, dtype=np.float32)

# A parameter that jax's primitives have and those of primax have not, and why.
ONLY_JAX = {
    "sharding": "where a result lies follows from its operands",
    "out_sharding": "likewise",
    "accuracy": "the accuracy of elementary functions is that of the platform",
    "out_dtype": "products of a wider dtype are converted first",
    "update_jaxpr": "the name of the scatter says what it does",
    "update_consts": "likewise",
    "symbolic_zeros": "the rules of custom derivatives are functions of flat lists that know it",
    "jvp_jaxpr_fun": "likewise, under the name jvp",
    "fwd_jaxpr_thunk": "likewise, under the name fwd",
    "out_trees": "likewise",
    "compiler_options_kvs": "options of the compiler belong to the outermost function",
    "ctx_mesh": "shardings are not part of calls",
    "in_layouts": "likewise",
    "in_shardings": "likewise",
    "out_layouts": "likewise",
    "out_shardings": "likewise",
    "copy_semantics": "device_put of one array has one device",
    "devices": "likewise",
    "srcs": "likewise",
    "ft_in": "jax 0.12 divides the operands of a scan so; num_consts and num_carry say it",
    "ft_out": "likewise",
    "is_stable": "top_k keeps the order of equal values always",
}
ONLY_PRIMAX = {"jvp", "fwd", "name", "device", "num_consts", "num_carry"}

ELEMENTWISE = """
cos tan exp log log1p expm1 tanh sinh cosh arcsin arctan sqrt abs floor ceil rint square reciprocal negative isfinite
real conj sum prod max min mean argmax argmin cumsum sort argsort ravel transpose flip diff exp2 deg2rad
""".split()
TWO = "add subtract multiply divide power maximum minimum arctan2 equal greater less_equal fmod nextafter".split()

CALLS = {
    **{name: (lambda m, x, name=name: getattr(m.numpy, name)(x), X) for name in ELEMENTWISE},
    **{name: (lambda m, x, y, name=name: getattr(m.numpy, name)(x, y), X, X) for name in TWO},
    **{
        name: (lambda m, x, y, name=name: getattr(m.numpy, name)(x, y), SQUARE, SQUARE)
        for name in ("dot", "matmul", "inner", "tensordot", "vdot")
    },
    "x @ y": (lambda m, x, y: x @ y, X, SQUARE),
    "einsum": (lambda m, x, y: m.numpy.einsum("ij,jk->ik", x, y), X, SQUARE),
    "x[None]": (lambda m, x: x[None], X),
    "x[:, None]": (lambda m, x: x[:, None], X),
    "x[0, None]": (lambda m, x: x[0, None], X),
    "x[0]": (lambda m, x: x[0], X),
    "x[1:]": (lambda m, x: x[1:], X),
    "x[:, ::2]": (lambda m, x: x[:, ::2], X),
    "x[::-1]": (lambda m, x: x[::-1], X),
    "x[..., 0]": (lambda m, x: x[..., 0], X),
    "x[i]": (lambda m, x, i: x[i], X, I),
    "concatenate": (lambda m, x: m.numpy.concatenate([x, x]), X),
    "stack": (lambda m, x: m.numpy.stack([x, x]), X),
    "reshape": (lambda m, x: x.reshape(3, 2), X),
    "broadcast_to": (lambda m, v: m.numpy.broadcast_to(v, (2, 3)), V),
    "expand_dims": (lambda m, v: m.numpy.expand_dims(v, 0), V),
    "squeeze": (lambda m, x: m.numpy.squeeze(x), X[None]),
    "astype": (lambda m, x: x.astype("int32"), X),
    "x + 1": (lambda m, x: x + 1, X),
    "x**2": (lambda m, x: x**2, X),
    "x**0.5": (lambda m, x: x**0.5, X),
    "-x": (lambda m, x: -x, X),
    "x == x": (lambda m, x: x == x, X),
    "sum over an axis": (lambda m, x: x.sum(axis=0), X),
    "max with axes": (lambda m, x: x.max(axis=0, keepdims=True), X),
    "take_along_axis": (lambda m, x, i: m.numpy.take_along_axis(x, i, 1), X, np.zeros((2, 1), np.int32)),
    "silu": (lambda m, x: m.nn.silu(x), X),
    "sigmoid": (lambda m, x: m.nn.sigmoid(x), X),
    "dot_general": (lambda m, x, y: m.lax.dot_general(x, y, (((1,), (0,)), ((), ()))), X, SQUARE),
    "dynamic_slice": (lambda m, x: m.lax.dynamic_slice(x, (0, 1), (1, 2)), X),
    "cond": (lambda m, x: m.lax.cond(x.sum() > 0, lambda y: y, lambda y: -y, x), X),
    "while_loop": (lambda m, x: m.lax.while_loop(lambda c: c < 3.0, lambda c: c + 1.0, x), np.float32(0)),
    "fori_loop": (lambda m, x: m.lax.fori_loop(0, 3, lambda i, c: c + i, x), np.float32(0)),
    "map": (lambda m, x: m.lax.map(lambda y: y * 2, x), V),
    "sort": (lambda m, x: m.lax.sort(x), X),
    "top_k": (lambda m, x: m.lax.top_k(x, 1), X),
    "reduce_window": (lambda m, x: m.lax.reduce_window(x, -np.inf, m.lax.max, (1, 2), (1, 1), "VALID"), X),
    "erf": (lambda m, x: m.lax.erf(x), X),
    "select_n": (lambda m, b, x: m.lax.select_n(b, x, x), B, V),
    "iota": (lambda m: m.lax.iota("int32", 3),),
    "bitcast": (lambda m, x: m.lax.bitcast_convert_type(x, "int32"), X),
    "pad": (lambda m, x: m.lax.pad(x, 0.0, ((1, 1, 0), (0, 0, 0))), X),
    "clamp": (lambda m, x: m.lax.clamp(0.0, x, 1.0), X),
    "reduce_precision": (lambda m, x: m.lax.reduce_precision(x, 5, 10), X),
    "jit": (lambda m, x: m.jit(lambda y: y * 2.0)(x), X),
    "grad": (lambda m, x: m.grad(lambda y: m.numpy.sin(y).sum())(x), X),
    "vmap": (lambda m, x: m.vmap(lambda y: m.numpy.dot(y, y))(x), X),
    "split": (lambda m: m.random.split(m.random.key(0)),),
    "bits": (lambda m: m.random.bits(m.random.key(0), (3,)),),
    "pure_callback": (
        lambda m, x: m.pure_callback(lambda y: y, m.ShapeDtypeStruct((), "float32"), x),
        np.float32(1),
    ),
}


def equations(program):
    """The equations of a program, those of the functions it calls in place of the calls."""
    for eqn in getattr(program, "jaxpr", program).eqns:
        values = [p for v in eqn.params.values() for p in (v if isinstance(v, tuple | list) else (v,))]
        if str(eqn.primitive) not in ("jit", "pjit"):
            yield eqn
        for inner in (p for p in values if hasattr(p, "eqns")):
            yield from equations(inner)


@pytest.mark.usefixtures("in_32_bits")
@pytest.mark.parametrize("name", CALLS)
def test_programs_are_made_of_the_same_primitives_with_the_same_parameters(name, jax):
    fun, *args = CALLS[name]
    theirs = list(equations(jax.make_jaxpr(lambda *xs: fun(jax, *xs))(*args)))
    ours = list(equations(px.make_jaxpr(lambda *xs: fun(px, *xs))(*args)))
    assert [str(eqn.primitive) for eqn in ours] == [str(eqn.primitive) for eqn in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        assert set(other.params) - set(mine.params) <= ONLY_JAX.keys()
        assert set(mine.params) - set(other.params) <= ONLY_PRIMAX
        for parameter in set(mine.params) & set(other.params):
            value = other.params[parameter]
            if value is None or isinstance(value, int | str | np.dtype) or _is_plain(value):
                assert mine.params[parameter] == value, (str(mine.primitive), parameter)


def _is_plain(value):
    return isinstance(value, tuple) and all(isinstance(x, int | str) or _is_plain(x) for x in value)


def test_an_interpreter_finds_products_by_their_parameters():
    (eqn,) = px.make_jaxpr(lambda x: x @ x)(SQUARE).eqns
    assert eqn.primitive is core.primitives.dot_general_p
    assert eqn.params["preferred_element_type"] == np.float32
