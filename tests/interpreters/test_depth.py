"""Programs may be long and deep: time is linear, the stack is not used up, and what is dropped is freed."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import weakref

import numpy as np
import pytest
from processes import HANG
from toys import grows_linearly

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.extend import core

pytestmark = pytest.mark.any_word_size

X = np.float32(1.0)


def chain(n):
    """A function of `n` equations that stays near 1."""

    def f(x):
        for _ in range(n // 2):
            x = lax.mul(x, np.float32(0.999))
            x = lax.add(x, np.float32(0.001))
        return x

    return f


def prepare_nothing(n):
    return n


def stage(n):
    return px.make_jaxpr(chain(n))(X)


OPERATIONS = {
    "trace": (prepare_nothing, stage),
    "jvp": (prepare_nothing, lambda n: px.make_jaxpr(lambda x: px.jvp(chain(n), (x,), (x,)))(X)),
    "grad": (prepare_nothing, lambda n: px.make_jaxpr(px.grad(chain(n)))(X)),
    "vmap": (prepare_nothing, lambda n: px.make_jaxpr(px.vmap(chain(n)))(np.ones(3, np.float32))),
    "print": (stage, str),
    "check": (stage, core.check_jaxpr),
    "dce": (stage, lambda closed: core.dce_jaxpr(closed.jaxpr, [True])),
    "evaluate while staging": (stage, lambda closed: px.make_jaxpr(core.jaxpr_as_fun(closed))(X)),
    "jvp of a program": (stage, lambda closed: px.make_jaxpr(along(core.jaxpr_as_fun(closed)))(X)),
    "grad of jit": (
        lambda n: px.jit(core.jaxpr_as_fun(stage(n))),
        lambda f: px.make_jaxpr(px.grad(lambda x: f(x)[0]))(X),
    ),
    "vmap of jit": (
        lambda n: px.jit(core.jaxpr_as_fun(stage(n))),
        lambda f: px.make_jaxpr(px.vmap(f))(np.ones(3, np.float32)),
    ),
    "lower": (lambda n: px.jit(core.jaxpr_as_fun(stage(n))).trace(X), lambda traced: traced.lower()),
    "free": (lambda n: [stage(n)], lambda held: held.clear()),
}


def along(f):
    return lambda x: px.jvp(f, (x,), (x,))


@pytest.mark.any_release
@pytest.mark.parametrize("operation", OPERATIONS)
def test_time_is_linear_in_the_number_of_equations_and_recursion_is_not_needed(operation):
    limit = sys.getrecursionlimit()
    assert grows_linearly(*OPERATIONS[operation])
    assert sys.getrecursionlimit() == limit


def test_eager_reverse_mode_over_many_operations():
    with px.disable_jit():
        value, slope = px.value_and_grad(chain(20_000))(X)
    assert float(value) == pytest.approx(1.0, abs=1e-2)
    assert float(slope) == pytest.approx(0.999**10_000, rel=1e-2)


def test_a_long_program_is_freed_when_it_is_dropped():
    closed = stage(2000)
    references = [weakref.ref(closed.jaxpr), weakref.ref(closed), weakref.ref(closed.eqns[1000].outvars[0])]
    str(closed)
    core.check_jaxpr(closed)
    px.make_jaxpr(along(core.jaxpr_as_fun(closed)))(X)
    del closed
    gc.collect()
    assert [r() for r in references] == [None] * 3


def nested(depth, wrap=px.jit):
    f = lax.sin
    for _ in range(depth):
        f = wrap(lambda x, g=f: g(x) * np.float32(1.0))
    return f


DEEP = {
    "call": lambda f: f,
    "jvp": lambda f: lambda x: px.jvp(f, (x,), (np.float32(1.0),))[1],
    "grad": px.grad,
    "jit grad": lambda f: px.jit(px.grad(f)),
    "linearize": lambda f: lambda x: px.linearize(f, x)[1](np.float32(1.0)),
    "vmap": lambda f: lambda x: px.vmap(f)(pnp.broadcast_to(x, (2,)))[0],
    "vmap grad": lambda f: lambda x: px.vmap(px.grad(f))(pnp.broadcast_to(x, (2,)))[0],
    "grad grad": lambda f: px.grad(px.grad(f)),
}


@pytest.mark.parametrize("transform", DEEP)
def test_two_hundred_nested_jits(transform):
    limit = sys.getrecursionlimit()
    f = DEEP[transform](nested(200))
    want = {"call": np.sin(1.0), "vmap": np.sin(1.0), "grad grad": -np.sin(1.0)}.get(transform, np.cos(1.0))
    assert float(f(X)) == pytest.approx(want, rel=1e-4)
    assert sys.getrecursionlimit() == limit


def test_two_hundred_nested_jits_lower_print_check_and_trim():
    closed = px.make_jaxpr(nested(200))(X)
    assert str(closed).count("jit[") == 200
    core.check_jaxpr(closed)
    core.dce_jaxpr(closed.jaxpr, [True])
    assert "stablehlo.sine" in px.jit(nested(200)).lower(X).as_text()


def test_fifty_nested_vmaps():
    limit = sys.getrecursionlimit()
    f = nested(50, px.vmap)
    x = np.full((1,) * 50, 1.0, np.float32)
    closed = px.make_jaxpr(f)(x)
    assert closed.out_avals[0].shape == x.shape
    core.check_jaxpr(closed)
    jvp = px.make_jaxpr(lambda x: px.jvp(f, (x,), (x,)))(x)
    assert jvp.out_avals[1].shape == x.shape
    assert sys.getrecursionlimit() == limit


def test_derivatives_nest_eight_deep():
    f = lax.sin
    for _ in range(8):
        f = px.grad(f)
    assert float(px.jit(f)(X)) == pytest.approx(np.sin(1.0), rel=1e-4)


def test_fifty_nested_jvps_of_a_linear_function():
    f = lambda x: x * np.float32(2.0)  # noqa: E731
    for _ in range(50):
        f = lambda x, g=f: px.jvp(g, (x,), (np.float32(1.0),))[0]  # noqa: E731
    assert float(f(X)) == 2.0


PROGRAMS = {
    "jit": """
        @px.jit
        def f(x):
            return f(x) + 1.0
        f(1.0)
    """,
    "jit grad": """
        @px.jit
        def f(x):
            return px.grad(f)(x)
        f(1.0)
    """,
    "vmap": """
        def f(x):
            return px.vmap(f, in_axes=None, axis_size=2)(x)
        f(px.numpy.float32(1.0))
    """,
    "jvp": """
        def f(x):
            return px.jvp(f, (x,), (x,))[0]
        f(px.numpy.float32(1.0))
    """,
    "grad": """
        def f(x):
            return px.grad(f)(x)
        f(1.0)
    """,
    "make_jaxpr": """
        def f(x):
            px.make_jaxpr(f)(x)
            return x
        f(1.0)
    """,
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_function_that_calls_itself_forever_raises_instead_of_crashing(program):
    code = (
        "import sys, primax as px\nlimit = sys.getrecursionlimit()\ntry:\n"
        + textwrap.indent(textwrap.dedent(PROGRAMS[program]), "    ")
        + "\nexcept RecursionError:\n    pass\nelse:\n    raise SystemExit('no error')\n"
        "assert sys.getrecursionlimit() == limit\n"
        "assert float(px.jit(lambda x: x * 2.0)(1.0)) == 2.0\n"
        "assert float(px.grad(px.jit(lambda x: x * 2.0))(1.0)) == 2.0\n"
        "print('fine')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANG, check=False)
    assert done.stdout == "fine\n", done.stderr[-2000:]
    assert done.returncode == 0
