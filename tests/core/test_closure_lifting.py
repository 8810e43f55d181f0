"""Users' rules inside inner programs use values of transformations around these: the values become operands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.core.closure_lifting import lifted, using
from primax.extend import core

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]

A = np.full((2, 3), 0.1, np.float32)
X = np.float32([1, 2])


def by_vmap(a: Any) -> Any:
    """sum(a) * sum(x), with a rule that uses a."""
    f = px.custom_batching.custom_vmap(lambda x: pnp.sum(a) * pnp.sum(x))
    f.def_vmap(lambda size, batched, xs: (pnp.sum(a) * pnp.sum(xs, axis=1), True))
    return f


def by_jvp(a: Any) -> Any:
    f = px.custom_jvp(lambda x: pnp.sum(a) * pnp.sum(x))
    f.defjvp(lambda primals, tangents: (pnp.sum(a) * pnp.sum(primals[0]), 2 * pnp.sum(a) * pnp.sum(tangents[0])))
    return f


def by_vjp(a: Any) -> Any:
    f = px.custom_vjp(lambda x: pnp.sum(a) * pnp.sum(x))
    f.defvjp(lambda x: (pnp.sum(a) * pnp.sum(x), x), lambda x, ct: (3 * ct * pnp.sum(a) * x,))
    return f


def scanned(f: Any) -> Any:
    return lambda x: lax.scan(lambda c, y: (c + f(x + y), None), 0 * pnp.sum(x), pnp.arange(3.0))[0]


def looped(f: Any) -> Any:
    return lambda x: lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] + f(x)), (0, 0 * pnp.sum(x)))[1]


def counted(f: Any) -> Any:
    return lambda x: lax.while_loop(lambda c: c + 0 * f(x) < 2, lambda c: c + 1, 0 * pnp.sum(x))


def solved(f: Any) -> Any:
    def by(mv: Any, b: Any) -> Any:
        return b / mv(1 + 0 * b)

    return lambda x: lax.custom_linear_solve(lambda y: y * (1 + f(x)), x, by, by).sum()


def labelled(f: Any) -> Any:
    call = px.custom_jvp(f)
    call.defjvp(lambda primals, tangents: (f(*primals), f(*tangents)))
    return call


HOLDERS = {
    "jit": px.jit,
    "checkpoint": px.checkpoint,
    "cond": lambda f: lambda x: lax.cond(True, f, lambda y: 0 * pnp.sum(y), x),
    "switch": lambda f: lambda x: lax.switch(np.int32(1), [lambda y: 0 * pnp.sum(y), f, f], x),
    "mapped cond": lambda f: lambda x: lax.cond(x[0] > 1, f, lambda y: 0 * pnp.sum(y), x),
    "platform_dependent": lambda f: lambda x: lax.platform_dependent(x, cpu=f, default=f),
    "scan": scanned,
    "while_loop": looped,
    "condition": counted,
    "fori_loop": lambda f: lambda x: lax.fori_loop(0, 3, lambda i, c: c + f(x), 0 * pnp.sum(x)),
    "map": lambda f: lambda x: pnp.sum(lax.map(lambda i: f(x * i), pnp.arange(3.0))),
    "custom_jvp": labelled,
    "custom_linear_solve": solved,
    "jit in checkpoint": lambda f: px.checkpoint(px.jit(f)),
    "scan in jit": lambda f: px.jit(scanned(f)),
    "checkpoint in scan": lambda f: scanned(px.checkpoint(f)),
}

TRANSFORMS = {
    "vmap": lambda f: lambda x: px.vmap(f)(pnp.stack([x, x + 1])),
    "jvp": lambda f: lambda x: px.jvp(f, (x,), (x + 1,)),
    "grad": px.grad,
    "vmap of grad": lambda f: lambda x: px.vmap(px.grad(f))(pnp.stack([x, x + 1])),
    "grad of vmap": lambda f: px.grad(lambda x: pnp.sum(px.vmap(f)(pnp.stack([x, x + 1])))),
}
IN_REVERSE = ("grad", "vmap of grad", "grad of vmap")
FORWARD_ONLY = ("while_loop", "condition")


def cases() -> list[tuple[str, str]]:
    return [
        (holder, transform)
        for holder in HOLDERS
        for transform in TRANSFORMS
        if holder not in FORWARD_ONLY or transform not in IN_REVERSE
    ]


@pytest.mark.parametrize("rule", [by_vmap, by_jvp, by_vjp], ids=lambda rule: rule.__name__)
@pytest.mark.parametrize(("holder", "transform"), cases())
def test_rules_in_inner_programs_use_values_of_enclosing_transformations(holder, transform, rule):
    if rule is by_vjp and transform == "jvp":
        pytest.skip("custom_vjp has no forward mode")

    def main(a: Any, x: Any) -> Any:
        return TRANSFORMS[transform](HOLDERS[holder](rule(a)))(x)

    # the function itself must not use a mapped value if its batch rule would not get it
    mapped = rule is not by_vmap
    linear = not mapped and transform == "vmap" and holder not in (*FORWARD_ONLY, "custom_linear_solve", "custom_jvp")

    def everything(a: Any, x: Any) -> Any:
        slope = px.grad(lambda a: pnp.sum(main(a, x)))(a) if linear else None
        both = px.vmap(main)(pnp.stack([a, 2 * a]), pnp.stack([x, x + 1])) if mapped else None
        return main(a, x), slope, both

    expected = main(A, X), main(2 * A, X + 1) if mapped else main(2 * A, X)
    found, slope, both = px.jit(everything)(A, X)
    close(found, expected[0])
    if linear:
        close(pnp.sum(slope * A), pnp.sum(expected[1]) - pnp.sum(expected[0]))
    for i, one in enumerate(expected if mapped else ()):
        close(px.tree.map(lambda leaf, i=i: leaf[i], both), one)


def close(found: Any, wanted: Any) -> None:
    px.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5), found, wanted)


def test_the_values_are_operands_of_the_equations():
    def main(a: Any, x: Any) -> Any:
        return px.vmap(px.checkpoint(by_vmap(a)))(x)

    jaxpr = px.make_jaxpr(main)(A, np.stack([X, X]))
    (eqn,) = (eqn for eqn in jaxpr.eqns if eqn.primitive.name == "checkpoint")
    assert not eqn.params["jaxpr"].consts
    assert [v.aval.str_short() for v in eqn.invars].count("f32[2,3]") >= 1


def test_constants_that_are_arrays_stay_constants():
    program = px.make_jaxpr(lambda x: x + A)(A)
    assert lifted(program) == (program, [])


def test_values_that_no_result_needs_have_no_derivative():
    """The function closes over a differentiated value that its results do not depend on."""

    def main(c: Any, x: Any) -> Any:
        f = px.custom_jvp(lambda x: px.jvp(lambda y: pnp.sum(y * c) * 0 + pnp.sum(y), (x,), (x,))[1] * 1.0)
        f.defjvp(lambda primals, tangents: (pnp.sum(primals[0]), 5 * pnp.sum(tangents[0])))
        return f(x) + pnp.sum(c)

    def unused(c: Any, x: Any) -> Any:
        def fun(x: Any) -> Any:
            pnp.sin(c)
            return pnp.sum(x)

        f = px.custom_jvp(fun)
        f.defjvp(lambda primals, tangents: (pnp.sum(primals[0]), 5 * pnp.sum(tangents[0])))
        return f(x) + pnp.sum(c)

    assert px.grad(px.jit(unused))(X, X).tolist() == [1, 1]
    assert px.grad(px.jit(unused), 1)(X, X).tolist() == [5, 5]
    with pytest.raises(core.UnexpectedTracerError, match="closes over a differentiated value"):
        px.grad(px.jit(main))(X, X)


def test_programs_are_forgotten_with_the_transformation():
    import gc

    px.jit(lambda a, x: px.vmap(px.checkpoint(by_vmap(a)))(x))(A, np.stack([X, X]))
    px.clear_caches()
    gc.collect()
    assert not using
