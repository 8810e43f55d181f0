"""The parameters of a primitive may have any name: none collides with a parameter of a function of primax."""

from __future__ import annotations

import ast
import inspect
import keyword
import pickle
from functools import cache
from importlib.util import find_spec

import numpy as np
import pytest
from checkout import ROOT

import primax as px
from primax.extend import Interpreter, core, define_primitive, derive, replay, testing, to_jax
from primax.extend.interpreters import ad, batching, mlir

X = np.array([0.5, 1.25, -0.75], np.float32)
Y = np.array([1.5, -0.25, 2.0], np.float32)
ROOMS = ("core", "interpreters", "extend", "plugins", "api")


@cache
def hostile():
    """All names of parameters of functions of primax, and of its classes' fields, with a number for each."""
    names = {"self", "cls", "dims", "args", "params", "kwargs", "_", "__class__"}
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.arg):
                    names.add(node.arg)
                elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    names.add(node.target.id)
    for function in (px.jit, px.vmap, px.make_jaxpr, define_primitive, core.Primitive.bind):
        names.update(inspect.signature(function).parameters)
    return {name: 3 for name in sorted(names) if not keyword.iskeyword(name)}


def _sum_rule(x, y, /, **params):
    assert params == hostile()
    return x * 2 + y


def _double(x, /, **params):
    assert params == hostile()
    return x + x


def _jvp(primals, tangents, /, **params):
    assert params == hostile()
    x, y = primals
    return both_p.bind(x, y, **params), both_p.bind(*map(ad.instantiate_zeros, tangents), **params)


def _transpose(ct, x, y, /, **params):
    assert params == hostile()
    return [ct * 2, ct]


def _batch(args, dims, /, **params):
    size = next(x.shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
    x, y = (batching.bdim_at_front(x, d, size) for x, d in zip(args, dims, strict=True))
    return both_p.bind(x, y, **params), 0


def _lowering(ctx, x, y, /, **params):
    assert params == hostile()
    return [mlir.hlo.add(mlir.hlo.add(x, x), y)]


def _same(x, /, *_, **params):
    assert params == hostile()
    return x


DECLARED = dict.fromkeys(hostile(), int)
both_p = define_primitive("both", abstract_eval=_same, jvp=_jvp, transpose=_transpose, batch=_batch, lowering=_lowering)
derived_p = define_primitive(
    "derived",
    impl=_sum_rule,
    parameters=DECLARED,
    **dict.fromkeys(["abstract_eval", "jvp", "transpose", "batch", "lowering", "interpret"], derive.from_impl),
)
looped_p = define_primitive(
    "looped", abstract_eval=_same, lowering=_lowering, impl=derive.from_lowering, jvp=_jvp, batch=derive.loop
)
linear_p = define_primitive("linear", impl=_double, linear=[0], elementwise=True, lowering=derive.from_impl)
of_jvp_p = define_primitive(
    "of_jvp",
    impl=_sum_rule,
    linear=[0, 1],
    out_like=0,
    nondiff=[],
    jvp=lambda xs, ts, /, **params: (
        of_jvp_p.bind(*xs, **params),
        _sum_rule(*map(ad.instantiate_zeros, ts), **params),
    ),
    batch=derive.from_impl,
    lowering=derive.from_impl,
)
reverse_p = define_primitive(
    "reverse",
    impl=_sum_rule,
    elementwise=True,
    out_like=0,
    vjp=(
        lambda x, y, /, **params: (reverse_p.bind(x, y, **params), x),
        lambda x, ct, /, **params: [ct * 2, ct],
    ),
    lowering=derive.from_impl,
    sharding=lambda x, y, /, **params: "i, i -> i",
)
several_p = define_primitive(
    "several",
    multiple_results=True,
    impl=lambda x, y, /, **params: [_sum_rule(x, y, **params), x * 3],
    **dict.fromkeys(["abstract_eval", "jvp", "transpose", "axis_batch", "lowering"], derive.from_impl),
)


def _by_factories(name, jvp, transpose, batch):
    p = define_primitive(name, impl=_sum_rule, abstract_eval=_same, batch=derive.by(batch), lowering=derive.from_impl)
    jvp(p)
    transpose(p)
    return p


first_p = _by_factories(
    "first",
    lambda p: ad.defjvp(p, lambda t, x, y, /, **params: 2 * t, lambda t, x, y, /, **params: t),
    lambda p: None,
    batching.broadcasting,
)
second_p = _by_factories(
    "second",
    lambda p: ad.defjvp2(p, lambda t, out, x, y, /, **params: 2 * t, lambda t, out, x, y, /, **params: t),
    lambda p: None,
    batching.broadcasting,
)
whole_p = _by_factories(
    "whole",
    lambda p: ad.deflinear2(p, lambda ct, x, y, /, **params: [2 * ct, ct]),
    lambda p: None,
    batching.broadcasting,
)
PRIMITIVES = [derived_p, both_p, looped_p, of_jvp_p, reverse_p, several_p, first_p, second_p, whole_p, linear_p]


class Again(Interpreter):
    """Binds each equation again."""

    def default(self, eqn, *values):
        outs = replay(eqn, values)
        return outs if eqn.primitive.multiple_results else outs[0]


def _call(p):
    """The primitive as a function of one array."""

    def f(x):
        args = (x,) if p is linear_p else (x, Y)
        out = p.bind(*args, **hostile())
        return out[0] if p.multiple_results else out

    return f


@pytest.mark.parametrize("p", PRIMITIVES, ids=str)
def test_a_primitive_with_parameters_of_every_name(p):
    """It is bound, compiled, differentiated in both modes, mapped, printed, checked, replayed and pickled."""
    f = _call(p)
    out = 2 * X if p is linear_p else 2 * X + Y

    def loss(x):
        return px.numpy.sum(f(x) ** 2)

    np.testing.assert_allclose(f(X), out, rtol=1e-6)
    np.testing.assert_allclose(px.jit(f)(X), out, rtol=1e-6)
    closed = px.make_jaxpr(f)(X)
    assert closed.eqns[-1].params == hostile() or p is several_p
    np.testing.assert_allclose(core.eval_jaxpr(closed.jaxpr, closed.consts, X)[0], out, rtol=1e-6)
    np.testing.assert_allclose(Again().interpret(closed, X)[0], out, rtol=1e-6)
    core.check_jaxpr(closed.jaxpr)
    assert "dims=3" in str(closed)
    np.testing.assert_allclose(px.grad(loss)(X), 4 * out, rtol=1e-6)
    np.testing.assert_allclose(px.jit(px.grad(loss))(X), 4 * out, rtol=1e-6)
    stacked = px.vmap(f)(np.stack([X, X]))
    np.testing.assert_allclose(stacked, np.stack([out, out]), rtol=1e-6)
    if find_spec("jax"):
        np.testing.assert_allclose(to_jax(f)(X), out, rtol=1e-6)
    if p not in (derived_p, several_p):
        return
    px.hessian(loss)(X)
    px.linearize(loss, X)
    px.jit(px.vmap(px.value_and_grad(loss)))(np.stack([X, X]))
    px.checkpoint(px.grad(loss))(X)
    px.lax.scan(lambda c, x: (f(c), x), X, Y)
    px.experimental.checkify.checkify(f)(X)
    px.visualize(closed)
    px.export.export(px.jit(f))(X)
    pickle.loads(pickle.dumps(closed))


@pytest.mark.slow
def test_the_kit_checks_a_primitive_with_parameters_of_every_name():
    testing.check_primitive(derived_p, X, Y, **hostile())


def test_the_kit_checks_a_primitive_with_parameters_that_its_functions_take_beside_others():
    names = {"self", "cls", "dims", "args", "params", "kwargs"}
    for path in (ROOT / "extend" / "testing").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.Lambda) and node.args.kwarg:
                names.update(arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs))
    assert len(names) > 10
    p = define_primitive(
        "few",
        impl=lambda x, y, /, **params: x * 2 + y,
        parameters=dict.fromkeys(names, int),
        **dict.fromkeys(["abstract_eval", "jvp", "transpose", "batch", "lowering", "interpret"], derive.from_impl),
    )
    testing.check_primitive(p, X, Y, **dict.fromkeys(names, 3))


def test_the_same_primitive_in_jax():
    jax = pytest.importorskip("jax")
    ours, out = to_jax(_call(derived_p)), 2 * X + Y
    np.testing.assert_allclose(jax.jit(ours)(X), out, rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(ours)(np.stack([X, X])), np.stack([out, out]), rtol=1e-6)
    np.testing.assert_allclose(jax.grad(lambda x: jax.numpy.sum(ours(x) ** 2))(X), 4 * out, rtol=1e-6)
    bind = to_jax(derived_p).bind
    np.testing.assert_allclose(bind(X, Y, **hostile()), out, rtol=1e-6)
    str(jax.make_jaxpr(lambda x: bind(x, Y, **hostile()))(X))


def test_functions_of_users_may_have_arguments_of_every_name():
    def f(x, **named):
        return x * len(named)

    def product(self, fun):
        return self * fun

    names = dict.fromkeys(["self", "fun", "args", "kwargs", "cls", "dims", "name"], 1.0)
    assert px.jit(f)(2.0, **names) == px.jit(f).lower(2.0, **names).compile()(2.0, **names) == 14
    assert px.export.export(px.jit(f))(2.0, **names).call(2.0, **names) == 14
    assert px.tree_util.Partial(f, **names)(2.0) == 14
    by_jvp, by_vjp = px.custom_jvp(product), px.custom_vjp(product)
    by_jvp.defjvp(lambda primals, tangents: (product(*primals), tangents[0]))
    by_vjp.defvjp(lambda self, fun: (self * fun, None), lambda residuals, ct: (ct, ct))
    assert by_jvp(self=2.0, fun=3.0) == by_vjp(self=2.0, fun=3.0) == 6
    mapped = px.custom_batching.custom_vmap(product)
    mapped.def_vmap(lambda size, batched, self, fun: (self * fun, batched[0]))
    assert mapped(self=2.0, fun=3.0) == 6
