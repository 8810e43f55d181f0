"""Modules that were written for JAX run on primax with their imports changed, and do the same."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from porting import load, ported

import primax
import primax.numpy

jax = pytest.importorskip("jax")

FOLDER = Path(__file__).parent / "ported"
RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


A, B = np.tril(floats(3, 3)) + 3 * np.eye(3, dtype=np.float32), floats(3, 2)
X, Y, Z = floats(4), floats(4), floats(4)
W = floats(3, 4)
C = (floats(3, 4) + 1j * floats(3, 4)).astype(np.complex64)


def energy(px, f):
    """A function of which gradients can be taken: a sum over what `f` returns, with weights that tell apart."""

    def total(*args):
        leaves = px.tree_util.tree_leaves(f(*args))
        return sum(px.numpy.sum(px.numpy.sin(x) if x.dtype.kind == "f" else px.numpy.abs(x) ** 2) for x in leaves)

    return total


def ways(px, f, args, in_axes, argnums):
    """What is done with a function, as functions of no arguments."""
    total = energy(px, f)
    gradient = px.grad(total, argnums)
    tangents = tuple(np.ones_like(x) for x in args)
    yield "value", lambda: f(*args)
    yield "gradient", lambda: gradient(*args)
    yield (
        "jvp and gradient through jit",
        lambda: (
            px.jvp(px.jit(f), args, tangents),
            px.grad(energy(px, px.jit(f)), argnums)(*args),
        ),
    )
    if in_axes is not None:
        many = mapped(args, in_axes)
        yield "mapped", lambda: px.vmap(f, in_axes)(*many)
        yield (
            "gradient, mapped, and gradient of what is mapped",
            lambda: (
                px.vmap(gradient, in_axes)(*many),
                px.grad(energy(px, px.vmap(f, in_axes)), argnums)(*many),
            ),
        )


def mapped(args, in_axes):
    return tuple(
        x if axis is None else np.stack([x, 2 * x, 3 * x], axis) for x, axis in zip(args, in_axes, strict=True)
    )


def linear_solve(px, m):
    yield "lower", m.solve, (A, B), (0, 0), (0, 1)
    yield "upper, matrix not mapped", lambda a, b: m.solve(a.T, b, lower=False), (A, B), (None, 1), (0, 1)


def communication(px, m):
    def both(x):
        m.barrier()
        return m.allreduce(m.allreduce(x) * x, world=3)

    yield "one", m.allreduce, (X,), (0,), 0
    yield "two and a barrier", both, (X,), (0,), 0


def fourier(px, m):
    yield "cosine", m.cosine_transform, (W,), (1,), 0
    yield "there and back", lambda x: m.transform(m.transform(x), inverse=True), (C,), (2,), 0


def tags(px, m):
    @m.tag("inner")
    def inner(x):
        return {"s": px.numpy.sin(x), "t": x * 2.0}

    @m.tag("outer")
    def outer(x, y):
        got = inner(x * y)
        return got["s"] + got["t"]

    yield "inner", inner, (X,), (0,), 0
    yield "outer", outer, (X, Y), (0, None), (0, 1)


def multiply_add(px, m):
    yield "itself", m.multiply_add, (X, Y, Z), (0, 0, 0), 0
    yield "square_add", m.square_add, (X, Y), (0, 0), (0, 1)
    yield "in terms of lax", m.square_add_lax, (X, Y), (0, 0), (0, 1)


def interpreting(px, m):
    def f(x):
        return px.jit(px.numpy.sin)(x) * px.numpy.sin(2.0 * x)

    yield "swapped", m.swap_sines(f), (X,), (0,), 0
    yield "inverse", m.inverse(lambda x: px.numpy.exp(-px.numpy.tanh(x))), (np.exp(0.5 * np.tanh(X)),), (0,), 0


PROGRAMS = {f.__name__: f for f in (linear_solve, communication, fourier, tags, multiply_add, interpreting)}


@cache
def both_modules(name):
    path = FOLDER / f"{name}.py"
    return (primax, load(path, port=True)), (jax, load(path, port=False))


def test_every_module_here_is_ported():
    assert {path.stem for path in FOLDER.glob("*.py")} == PROGRAMS.keys()


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_but_imports_is_rewritten(name):
    source = (FOLDER / f"{name}.py").read_text()
    changed = [
        before for before, after in zip(source.split("\n"), ported(source).split("\n"), strict=True) if before != after
    ]
    assert changed
    assert all(re.match(r"(import|from) ", line) for line in changed)
    assert not re.search(r"^(import|from) jax\b", ported(source), re.MULTILINE)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_ported_module_does_what_it_does_on_jax(name):
    ours, theirs = ([*PROGRAMS[name](*each)] for each in both_modules(name))
    for i, (program, (_, g, *_)) in enumerate(zip(ours, theirs, strict=True)):
        what, f, *how = program
        for (way, run), (_, oracle) in zip(ways(primax, f, *how), ways(jax, g, *how), strict=True):
            want = jax.tree.leaves(jax.jit(oracle)())
            agree(primax.jit(run)(), want, f"{what}, {way}, compiled")
            if i == 0:
                agree(run(), want, f"{what}, {way}, eager")
    agree(g(*how[0]), jax.tree.leaves(f(*how[0])), f"{what}, value, eager in both")


def agree(ours, want, said):
    got = primax.tree.leaves(ours)
    assert [(x.shape, x.dtype) for x in got] == [(y.shape, y.dtype) for y in want], said
    for x, y in zip(got, want, strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-5, err_msg=said)


def test_ordered_effects_have_a_token_in_the_program_and_stay_in_order():
    for px, m in both_modules("communication"):
        closed = px.make_jaxpr(lambda x, m=m: (m.barrier(), m.allreduce(x))[1])(X)
        assert closed.effects == {m.effect}
        assert [eqn.primitive for eqn in closed.eqns] == [m.barrier_p, m.allreduce_p]
        text = px.jit(lambda x, m=m: (m.barrier(), m.allreduce(x))[1]).lower(X).as_text()
        assert "!stablehlo.token" in text
        assert text.count("after_all") == 2


def test_a_lowering_for_a_platform_that_is_absent_waits_there():
    (px, m), _ = both_modules("fourier")
    rules = m.mlir.lowering_rules
    assert {rules.provenance[m.transform_p, platform].plugin for platform in ("cpu", "cuda")} == {"ported.fourier"}
    assert m.transform_p not in rules
    assert "stablehlo.fft" in px.jit(m.transform).lower(C).as_text()


def test_tags_are_found_in_programs_by_those_who_look():
    for px, m in both_modules("tags"):
        ((_, inner, *_), (_, outer, args, *_)) = tags(px, m)
        assert m.tags_of(px.make_jaxpr(outer)(*args)) == ["outer", "inner"]
        assert m.tags_of(px.make_jaxpr(px.vmap(px.jit(inner)))(W)) == ["inner"]
        assert "func.func private @inner" in px.jit(inner).lower(X).as_text()


def test_interpreters_see_the_same_programs():
    found = []
    for px, m in both_modules("interpreting"):

        def f(x, y, px=px):
            return px.jit(lambda x: px.lax.sin(px.lax.exp(x)))(x), px.lax.exp(y)

        found.append((m.count(f, X, Y), m.trim(f, X, Y)))
    assert found[0] == found[1] == ({"exp": 2, "sin": 1}, (1, [True, False]))
