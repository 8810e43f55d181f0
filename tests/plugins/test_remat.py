"""What checkpoint saves, what it computes again, and that nothing else about a function changes."""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import checkpoint_policies as policies
from primax.ad_checkpoint import Recompute, Saveable, checkpoint_name, print_saved_residuals
from primax.extend import core

pytestmark = pytest.mark.usefixtures("in_32_bits")

X = np.float32([0.1, 0.2, 0.3])
W = np.arange(9, dtype=np.float32).reshape(3, 3) / 10
PRIMAX = SimpleNamespace(lib=px, np=pnp, name=checkpoint_name, show=print_saved_residuals)


@pytest.fixture(scope="module")
def oracle():
    jax = pytest.importorskip("jax")
    from jax import ad_checkpoint

    return SimpleNamespace(
        lib=jax, np=jax.numpy, name=ad_checkpoint.checkpoint_name, show=ad_checkpoint.print_saved_residuals
    )


def dots(m):
    return m.lib.checkpoint_policies.dots_saveable


def twice(m):
    return lambda x: m.np.sin(m.np.sin(x))


def layer(m):
    return lambda x: m.np.sin(m.np.dot(W, m.np.sin(x)))


def scanned(m, body):
    return lambda x: m.lib.lax.scan(lambda c, _: (body(c), None), x, None, length=4)[0]


def chosen(m, *branches):
    return lambda x: m.lib.lax.cond(x[0] > 0, *branches, x)


def with_rule(m):
    @m.lib.custom_jvp
    def f(x):
        return m.np.sin(x)

    f.defjvp(lambda primals, tangents: (f(*primals), 3 * m.np.cos(primals[0]) * tangents[0]))
    return f


def with_vjp(m):
    @m.lib.custom_vjp
    def f(x):
        return m.np.sin(x)

    f.defvjp(lambda x: (m.np.sin(x), x), lambda x, ct: (3 * m.np.cos(x) * ct,))
    return lambda x: f(f(x))


PROGRAMS = {
    "plain": lambda m: m.lib.checkpoint(twice(m)),
    "products saved": lambda m: m.lib.checkpoint(layer(m), policy=dots(m)),
    "products in jit saved": lambda m: m.lib.checkpoint(m.lib.jit(layer(m)), policy=dots(m)),
    "products in scan saved": lambda m: m.lib.checkpoint(scanned(m, layer(m)), policy=dots(m)),
    "scan inside": lambda m: m.lib.checkpoint(scanned(m, lambda c: m.np.sin(c) * 2)),
    "inside scan": lambda m: scanned(m, m.lib.checkpoint(twice(m), prevent_cse=False)),
    "inside scan, products saved": lambda m: scanned(m, m.lib.checkpoint(layer(m), policy=dots(m))),
    "inside cond": lambda m: lambda x: m.lib.lax.cond(x[0] > 0, m.lib.checkpoint(twice(m)), lambda x: x, x),
    "cond inside": lambda m: m.lib.checkpoint(lambda x: m.lib.lax.cond(x[0] > 0, twice(m), lambda x: x, x)),
    "products in cond saved": lambda m: m.lib.checkpoint(chosen(m, layer(m), lambda x: x), policy=dots(m)),
    "products in two branches saved": lambda m: m.lib.checkpoint(
        chosen(m, layer(m), lambda x: m.np.dot(layer(m)(x), W)), policy=dots(m)
    ),
    "products in scan in cond saved": lambda m: m.lib.checkpoint(
        chosen(m, scanned(m, layer(m)), twice(m)), policy=dots(m)
    ),
    "products in cond in scan saved": lambda m: m.lib.checkpoint(
        scanned(m, chosen(m, layer(m), twice(m))), policy=dots(m)
    ),
    "of jit": lambda m: m.lib.checkpoint(m.lib.jit(twice(m))),
    "of a closure": lambda m: lambda x: m.lib.checkpoint(lambda y: m.np.sin(m.np.sin(x * y)))(x),
    "of vmap": lambda m: m.lib.checkpoint(m.lib.vmap(twice(m))),
    "under vmap": lambda m: m.lib.vmap(m.lib.checkpoint(twice(m))),
    "custom_vjp": lambda m: m.lib.checkpoint(with_vjp(m)),
    "some results known": lambda m: (
        lambda x: sum(m.lib.checkpoint(lambda a, b: (b, m.np.sin(b), m.np.sin(a) * b, a))(x, 2.0))
    ),
}


def operations(jaxpr):
    """How often each primitive is applied, programs within included."""
    found = Counter()
    for eqn in jaxpr.eqns:
        found[eqn.primitive.name] += 1
        for value in eqn.params.values():
            for inner in value if isinstance(value, tuple) else (value,):
                if hasattr(inner, "eqns"):
                    found += operations(inner)
    return found


def gradient(m, f):
    return m.lib.grad(lambda x: f(x).sum())


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_computed_again_is_what_jax_computes_again(oracle, name):
    programs = [m.lib.make_jaxpr(gradient(m, PROGRAMS[name](m)))(X) for m in (PRIMAX, oracle)]
    mine, theirs = ({p: operations(x)[p] for p in ("sin", "cos", "dot_general")} for x in programs)
    assert mine == theirs
    core.check_jaxpr(programs[0].jaxpr)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_without_checkpoint(oracle, name):
    mine, theirs = (m.lib.jit(gradient(m, PROGRAMS[name](m)))(X) for m in (PRIMAX, oracle))
    np.testing.assert_allclose(mine, theirs, rtol=1e-5)


def test_eager_derivatives_of_every_order_and_mode_agree():
    f = px.checkpoint(lambda x: pnp.sin(x) * x)
    assert abs(float(px.grad(f)(1.0)) - (np.sin(1) + np.cos(1))) < 1e-6
    second = 2 * np.cos(1) - np.sin(1)
    for way in (
        px.grad(px.grad(f)),
        px.jacfwd(px.grad(f)),
        px.grad(lambda x: px.jvp(f, (x,), (1.0,))[1]),
        px.grad(px.checkpoint(px.grad(f))),
        px.checkpoint(px.grad(px.checkpoint(px.grad(f)))),
    ):
        assert abs(float(way(1.0)) - second) < 1e-5
    np.testing.assert_allclose(px.linearize(f, 1.0)[1](2.0), 2 * (np.sin(1) + np.cos(1)), rtol=1e-6)


def test_a_custom_jvp_rule_is_kept():
    f = px.checkpoint(with_rule(PRIMAX))
    assert abs(float(px.grad(f)(1.0)) - 3 * np.cos(1)) < 1e-6


def test_the_innermost_checkpoint_decides_what_is_saved_within_it():
    inner = px.checkpoint(layer(PRIMAX))
    f = px.checkpoint(lambda x: pnp.sin(inner(x)), policy=policies.everything_saveable)
    again = [eqn for eqn in px.make_jaxpr(gradient(PRIMAX, f))(X).eqns if eqn.params.get("differentiated")]
    assert operations(again[0].params["jaxpr"])["dot_general"] == 2  # the product, and its transpose


def hidden(m):
    def f(w, x):
        z = m.name(m.np.sin(m.np.dot(w, x)), "z")
        return m.np.sum(m.np.cos(z)) * 2.0

    return f


def residuals(m, f, *args):
    """The lines that are printed, without places."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        m.show(f, *args)
    return [line.split(" from /")[0] for line in out.getvalue().splitlines()]


CHOICES = {
    "none": lambda p: None,
    "nothing": lambda p: p.nothing_saveable,
    "products": lambda p: p.dots_saveable,
    "products, other name": lambda p: p.checkpoint_dots,
    "products without batch": lambda p: p.dots_with_no_batch_dims_saveable,
    "a name": lambda p: p.save_only_these_names("z"),
    "another name": lambda p: p.save_only_these_names("a", "b"),
    "any name": lambda p: p.save_any_names_but_these("a"),
    "any name but one": lambda p: p.save_any_names_but_these("z"),
    "both": lambda p: p.save_from_both_policies(p.dots_saveable, p.save_only_these_names("z")),
}


@pytest.mark.parametrize("choice", CHOICES)
def test_policies_save_what_they_save_in_jax(oracle, choice):
    def lines(m):
        f = m.lib.checkpoint(hidden(m), policy=CHOICES[choice](m.lib.checkpoint_policies))
        return residuals(m, f, W, X)

    assert lines(PRIMAX) == lines(oracle)


def test_products_with_batch_dimensions_are_told_apart():
    def saved(policy, f, *args):
        return [line for line in residuals(PRIMAX, px.checkpoint(f, policy=policy), *args) if "dot_general" in line]

    def f(x):
        return pnp.sin(pnp.matmul(x, x))

    assert saved(policies.dots_with_no_batch_dims_saveable, f, W) == ["f32[3,3] output of dot_general"]
    assert saved(policies.dots_with_no_batch_dims_saveable, f, W[None]) == []
    assert len(saved(policies.checkpoint_dots, f, W[None])) == 1


def test_everything_but_some_names_saves_what_was_named():
    f = px.checkpoint(hidden(PRIMAX), policy=policies.save_anything_except_these_names("z"))
    assert residuals(PRIMAX, f, W, X) == residuals(PRIMAX, px.checkpoint(f, policy=policies.everything_saveable), W, X)


def test_a_policy_of_ones_own_is_asked_of_each_operation():
    asked = []

    def policy(primitive, *avals, **params):
        asked.append((primitive.name, [aval.str_short() for aval in avals], params))
        return Saveable if primitive.name == "cos" else Recompute

    assert residuals(PRIMAX, px.checkpoint(px.jit(twice(PRIMAX)), policy=policy), 1.0) == [
        "f32[] output of cos",
        "f32[] output of cos",
    ]
    assert ("sin", ["f32[]"], {}) in asked


def test_residuals_of_functions_without_checkpoint_are_shown_too():
    c = pnp.float32([1, 2, 3])
    assert residuals(PRIMAX, lambda x: pnp.sin(x["a"]) * c, {"a": X}) == [
        "f32[3] from a constant",
        "f32[3] output of cos",
    ]
    assert residuals(PRIMAX, lambda x, y: px.jit(lambda x: pnp.sin(x))(x) * y, X, 2.0)[:2] == [
        "f32[] from the argument y",
        "f32[3] output of jitted function '<lambda>'",
    ]


def test_a_scan_over_layers_needs_less_memory():
    w, x = np.ones((8, 128), np.float32), np.ones((32, 8), np.float32)

    def memory(f):
        def loss(w, x):
            return px.lax.scan(lambda x, _: (f(w, x), None), x, None, length=16)[0].sum()

        return px.jit(px.grad(loss)).lower(w, x).compile().memory_analysis().temp_size_in_bytes

    def f(w, x):
        return pnp.dot(pnp.sin(pnp.dot(x, w)), w.T)

    stacked = 16 * 32 * 128 * 4
    assert memory(f) > 2 * stacked  # a sine and a cosine of each step
    assert stacked < memory(px.checkpoint(f, policy=policies.dots_saveable)) < 2 * stacked
    assert memory(px.checkpoint(f)) < stacked


@pytest.mark.parametrize("prevent", [True, False, (False,)])
def test_only_what_is_computed_again_stands_behind_a_barrier(prevent):
    f = px.checkpoint(twice(PRIMAX), prevent_cse=prevent)
    assert "optimization_barrier" not in px.jit(f).lower(1.0).as_text()
    assert px.jit(px.grad(f)).lower(1.0).as_text().count("optimization_barrier") == (prevent is True)


def test_effects_are_not_repeated():
    seen = []

    def f(x):
        px.debug.callback(lambda y: seen.append(float(y)), x)
        return pnp.sin(pnp.sin(x))

    for way in (px.grad(px.checkpoint(f)), px.jit(px.grad(px.checkpoint(f)))):
        seen.clear()
        way(1.0)
        px.effects_barrier()
        assert seen == [1.0]


def test_arguments_may_be_static_named_and_containers():
    @px.remat
    def f(x, *, scale):
        return {"a": pnp.sin(x["b"]) * scale}

    assert abs(float(f({"b": 1.0}, scale=2.0)["a"]) - 2 * np.sin(1)) < 1e-6

    def g(x, train):
        return pnp.sin(x) if train else x

    for checkpointed in (px.checkpoint(g, static_argnums=1), px.checkpoint(g, static_argnames="train")):
        assert float(checkpointed(1.0, False)) == 1
        assert abs(float(px.grad(checkpointed)(1.0, True)) - np.cos(1)) < 1e-6


def test_a_function_is_traced_once_for_one_signature():
    count = []

    def f(x):
        count.append(x)
        return pnp.sin(x)

    for _ in range(2):
        px.checkpoint(f)(1.0)
    assert len(count) == 1
    px.checkpoint(f)(X)
    assert len(count) == 2


def test_wrong_options_are_refused():
    with pytest.raises(TypeError, match=r"checkpoint: fun must be callable, got 3"):
        px.checkpoint(3)
    with pytest.raises(TypeError, match=r"checkpoint: policy must be a hashable function or None, got 'dots'"):
        px.checkpoint(pnp.sin, policy="dots")
    for flags in (1, (), (True, None, 0)):
        with pytest.raises(TypeError, match="checkpoint: prevent_cse must be True or False, or a pytree of these, got"):
            px.checkpoint(pnp.sin, prevent_cse=flags)
    with pytest.raises(TypeError, match=r"checkpoint_name: name must be a string, got 1"):
        checkpoint_name(1.0, 1)
    with pytest.raises(ValueError, match=r"static_argnums must be positions of arguments of <lambda>"):
        px.checkpoint(lambda x: x, static_argnums=1)
    with pytest.raises(core.TracerBoolConversionError, match=r"(?s)checkpoint of <lambda>"):
        px.checkpoint(lambda x: x if x > 0 else -x)(1.0)


def test_a_name_is_the_identity_to_everything_else():
    named = checkpoint_name({"a": X, "b": 2.0}, "n")
    assert named["a"].tolist() == X.tolist()
    assert named["b"].aval == core.get_aval(2.0)
    assert float(px.grad(lambda x: checkpoint_name(x * x, "n"))(3.0)) == 6
    assert px.vmap(lambda x: checkpoint_name(x, "n"))(X).tolist() == X.tolist()


@pytest.mark.parametrize("constant", [2.0, np.float32(3), np.ones(2, np.float32)])
def test_constants_come_out_of_it_as_arrays(constant):
    out = px.checkpoint(lambda x: constant)(1.0)
    assert isinstance(out, px.Array)
    assert out.weak_type == (type(constant) is float)
