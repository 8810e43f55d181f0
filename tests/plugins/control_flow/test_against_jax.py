"""Control flow under every transformation, and within itself, is what it is in jax."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primax as px
from primax.extend import core

jax = pytest.importorskip("jax")


pytestmark = pytest.mark.usefixtures("in_32_bits")


def chosen(lib, x, y):
    """A predicate that depends on the input; branches that close over arrays and share operands."""
    np_like = lib.numpy
    shift = np_like.arange(3.0)
    return lib.lax.cond(
        np_like.sum(x) > 0.5, lambda a, b: (np_like.sin(a) * b + shift, a), lambda a, b: (a * a, b * y), x, y
    )


def switched(lib, x, y):
    np_like = lib.numpy
    index = np_like.sum(x).astype("int32")
    return lib.lax.switch(
        index, [lambda a: a * y, lambda a: np_like.exp(-a), lambda a: np_like.zeros(3, "float32"), np_like.cos], x
    )


def cond_with_unused_operands(lib, x, y):
    return lib.lax.cond(x[0] > 0, lambda a, b: (a, 1.0), lambda a, b: (2.0 * a, 0.0), x, y)


def scanned(lib, x, y):
    """Constants, a carry of two parts, one of them an integer, results that need neither."""
    np_like = lib.numpy
    scale = np_like.sin(y)

    def step(carry, element):
        i, h = carry
        h = np_like.tanh(h * scale + element)
        return (i + 1, h), (h[0] * i, element * 2.0, np_like.exp(scale))

    elements = np_like.stack([x, x * y, y, x + y])
    (_, h), (a, b, c) = lib.lax.scan(step, (0, x), elements)
    return h, a, b, c


def scanned_backwards(lib, x, y):
    np_like = lib.numpy
    elements = {"a": np_like.stack([x, y, x, y, x]), "b": np_like.arange(5.0)}
    return lib.lax.scan(lambda c, e: (c * e["a"] + e["b"], c), y, elements, reverse=True, unroll=2)


def scan_whose_carry_starts_constant(lib, x, y):
    np_like = lib.numpy
    return lib.lax.scan(lambda c, e: (c + e * x, c), np_like.zeros(3, "float32"), np_like.stack([y, y]))


def scan_without_elements(lib, x, y):
    return lib.lax.scan(lambda c, _: (c * y, None), x, None, length=3)[0]


def counted(lib, x, y):
    return lib.lax.fori_loop(1, 4, lambda i, c: c * lib.numpy.cos(c) + i * y, x)


def mapped_one_by_one(lib, x, y):
    return lib.lax.map(lambda e: (e[0] * e[1], lib.numpy.sin(e[0])), (x, y))


def accumulated(lib, x, y):
    def combine(a, b):
        return b[0] * a[0], b[0] * a[1] + b[1]

    return lib.lax.associative_scan(combine, (x, y))


def cond_in_scan(lib, x, y):
    def step(c, e):
        c = lib.lax.cond(e > 0.0, lambda v: v * lib.numpy.sin(e), lambda v: v + e * y, c)
        return c, c * e

    return lib.lax.scan(step, x, y)


def scan_in_cond(lib, x, y):
    def loop(a):
        return lib.lax.scan(lambda c, e: (c * e, c + 1.0), a, y)[0]

    return lib.lax.cond(x[0] > 0, loop, lambda a: a * 3.0, x)


def scan_in_scan(lib, x, y):
    def inner(c, e):
        return c * e, c

    def outer(c, e):
        last, all_ = lib.lax.scan(inner, c, y)
        return last * e, all_.sum()

    return lib.lax.scan(outer, x[0], x)


def jit_in_scan(lib, x, y):
    f = lib.jit(lambda a, b: (lib.numpy.sin(a) * b, a))
    return lib.lax.scan(lambda c, e: f(c, e), x, lib.numpy.stack([x, y]))


def repeated(lib, x, y):
    """Only forward mode: the number of steps depends on the input."""
    np_like = lib.numpy
    cond = lambda s: np_like.sum(s[1]) < 20.0  # noqa: E731
    return lib.lax.while_loop(cond, lambda s: (s[0] + 1, s[1] * 1.5 + np_like.abs(y), s[2] * y), (0, np_like.abs(x), x))


def repeated_in_scan(lib, x, y):
    def step(c, e):
        c = lib.lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, lib.numpy.sin(s[1]) + e), (0, c))[1]
        return c, c[0]

    return lib.lax.scan(step, x, lib.numpy.stack([x, y]))


BOTH_WAYS = [
    chosen,
    switched,
    cond_with_unused_operands,
    scanned,
    scanned_backwards,
    scan_whose_carry_starts_constant,
    scan_without_elements,
    counted,
    mapped_one_by_one,
    accumulated,
    cond_in_scan,
    scan_in_cond,
    scan_in_scan,
    jit_in_scan,
]
FORWARD = [repeated, repeated_in_scan]

X = np.array([0.5, -0.25, 1.0], np.float32)
Y = np.array([1.5, 0.75, -0.5], np.float32)
DX = np.array([1.0, 0.5, -2.0], np.float32)
DY = np.array([-1.0, 0.25, 3.0], np.float32)
XS = np.stack([X, -X, 2 * X, X - 3])
YS = np.stack([Y, Y, -Y, Y + 1])


def total(lib, case):
    """The function as one of real numbers to one: the sum of all that is floating in its result."""

    def fun(x, y):
        leaves = [out for out in lib.tree.leaves(case(lib, x, y)) if "float" in str(out.dtype)]
        return sum(lib.numpy.sum(lib.numpy.sin(out)) for out in leaves)

    return fun


def ways(lib, case, reverse):
    """Results of transformations, by name, each compiled as one program."""
    fun = lambda x, y: case(lib, x, y)  # noqa: E731
    real = total(lib, case)
    found = {
        "value": (fun, X, Y),
        "jvp": (lambda x, y: lib.jvp(fun, (x, y), (DX, DY))[1], X, Y),
        "jvp of one": (lambda x, y: lib.jvp(lambda a: fun(a, y), (x,), (DX,)), X, Y),
        "linearize": (lambda x, y: lib.linearize(fun, x, y)[1](DX, DY), X, Y),
        "vmap": (lib.vmap(fun), XS, YS),
        "vmap of one": (lib.vmap(fun, (None, 1), -1), X, YS.T),
        "vmap of jvp": (lib.vmap(lambda x, y: lib.jvp(fun, (x, y), (DX, DY))[1]), XS, YS),
        "jvp of vmap": (lambda x, y: lib.jvp(lib.vmap(fun), (x, y), (YS, XS))[1], XS, YS),
    }
    if reverse:
        found |= {
            "grad": (lib.grad(real, (0, 1)), X, Y),
            "grad of jit": (lib.grad(lib.jit(real), 1), X, Y),
            "grad of vmap": (lib.grad(lambda x, y: lib.vmap(real)(x, y).sum(), (0, 1)), XS, YS),
            "vmap of grad": (lib.vmap(lib.grad(real, (0, 1))), XS, YS),
            "hessian": (lib.hessian(real), X, Y),
            "jacrev of jacrev": (lib.jacrev(lib.jacrev(real, 1), 0), X, Y),
        }
    return found


def close(got: Any, want: Any, what: str) -> None:
    got, want = px.tree.leaves(got), px.tree.leaves(want)
    assert len(got) == len(want), what
    for a, b in zip(got, want, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape, what
        if a.dtype.name != "float0" and b.dtype.names is None:
            assert a.dtype == b.dtype, f"{what}: {a.dtype}, in jax {b.dtype}"
        if a.dtype.kind == "f":
            scale = max(1.0, np.abs(b).max(initial=0.0))
            np.testing.assert_allclose(a, b, rtol=3e-4, atol=3e-5 * scale, err_msg=what)


FEW = ("value", "jvp", "vmap of one", "grad of vmap")


def check_ways(case, chosen_ways):
    """Compile the chosen ways as one program, in either library, and compare what they return."""
    reverse = case in BOTH_WAYS
    ours, theirs = ({k: v for k, v in ways(lib, case, reverse).items() if chosen_ways(k)} for lib in (px, jax))
    args = {name: given for name, (_, *given) in ours.items()}

    def all_of(found):
        return lambda inputs: {name: found[name][0](*inputs[name]) for name in found}

    got, want = px.jit(all_of(ours))(args), jax.jit(all_of(theirs))(args)
    for name in ours:
        close(got[name], want[name], f"{name} of {case.__name__}")


@pytest.mark.parametrize("case", [*BOTH_WAYS, *FORWARD], ids=lambda case: case.__name__)
def test_control_flow_agrees_with_jax_under_transformations(case):
    check_ways(case, lambda name: name in FEW)


@pytest.mark.slow
@pytest.mark.parametrize("case", [*BOTH_WAYS, *FORWARD], ids=lambda case: case.__name__)
def test_control_flow_agrees_with_jax_under_further_transformations(case):
    check_ways(case, lambda name: name not in FEW)


@pytest.mark.parametrize("case", [chosen, scanned, cond_in_scan, repeated], ids=lambda case: case.__name__)
def test_control_flow_is_the_same_eager_and_compiled(case):
    def fun(x, y):
        return case(px, x, y)

    close(fun(X, Y), px.jit(fun)(X, Y), "value")
    if case in BOTH_WAYS:
        gradient = px.grad(total(px, case), (0, 1))
        close(gradient(X, Y), px.jit(gradient)(X, Y), "grad")


@pytest.mark.parametrize("case", [*BOTH_WAYS, *FORWARD], ids=lambda case: case.__name__)
def test_programs_made_of_control_flow_are_well_typed(case):
    real = total(px, case)
    made = [
        px.make_jaxpr(lambda x, y: case(px, x, y))(X, Y),
        px.make_jaxpr(lambda x, y: px.jvp(lambda a, b: case(px, a, b), (x, y), (DX, DY)))(X, Y),
        px.make_jaxpr(px.vmap(lambda x, y: case(px, x, y)))(XS, YS),
    ]
    if case in BOTH_WAYS:
        made += [px.make_jaxpr(px.grad(real, (0, 1)))(X, Y), px.make_jaxpr(px.hessian(px.jit(real)))(X, Y)]
    for closed in made:
        core.check_jaxpr(closed)
        trimmed, _ = core.dce_jaxpr(closed.jaxpr, [i == 0 for i in range(len(closed.jaxpr.outvars))])
        core.check_jaxpr(trimmed)
