"""With debug_nans and debug_infs the first operation whose result is not a number is named, wherever it is."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax

pytestmark = pytest.mark.usefixtures("in_32_bits")

BAD = np.float32(-1)
X = np.float32([1, -1, 4])


@pytest.fixture(autouse=True)
def debugging():
    with px.debug_nans(True):
        yield


def log(x):
    return lax.log(x)  # this line is named


def with_rule(x):
    @px.custom_jvp
    def f(x):
        return log(x)

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    return f(x)


def with_vjp(x):
    @px.custom_vjp
    def f(x):
        return log(x)

    f.defvjp(lambda x: (f(x), x), lambda x, ct: (ct,))
    return f(x)


PLACES = {
    "eager": log,
    "jit": px.jit(lambda x: log(x) + 1),
    "jit in jit": px.jit(lambda x: px.jit(lambda x: log(x) + 1)(x) * 2),
    "vmap": lambda x: px.vmap(log)(x[None]),
    "jvp": lambda x: px.jvp(log, (x,), (x,)),
    "grad": px.grad(log),
    "cond": lambda x: lax.cond(x < 0, log, lambda x: x, x),
    "cond in jit": px.jit(lambda x: lax.cond(x < 0, log, lambda x: x, x)),
    "scan": lambda x: lax.scan(lambda c, a: (log(c) + a, c), x + 3, np.zeros(4, np.float32)),
    "scan in jit": px.jit(lambda x: lax.scan(lambda c, a: (log(c) + a, c), x + 3, pnp.zeros(4), reverse=True)),
    "while in jit": px.jit(lambda x: lax.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, log(c[1])), (0, x + 3))),
    "grad of scan": px.grad(lambda x: lax.scan(lambda c, _: (log(c), None), x + 3, None, length=4)[0]),
    "custom_jvp in jit": px.jit(with_rule),
    "grad of custom_jvp": px.grad(with_rule),
    "custom_vjp in jit": px.jit(with_vjp),
    "checkpoint": px.checkpoint(lambda x: log(x) + 1),
    "grad of checkpoint": px.grad(px.checkpoint(log)),
    "donated": px.jit(lambda x: log(x) + 1, donate_argnums=0),
    "ahead of time": lambda x: px.jit(lambda x: log(x) + 1).lower(x).compile()(x),
}


@pytest.mark.parametrize("place", PLACES)
def test_the_operation_and_its_line_are_named(place):
    with pytest.raises(
        FloatingPointError, match=r"^log: with debug_nans results must not be nan, got 1 in f32"
    ) as info:
        PLACES[place](pnp.asarray(BAD))
    line = log.__code__.co_firstlineno + 1
    assert f"{__file__}:{line} (log)" in str(info.value)


@pytest.mark.parametrize("wrap", [lambda f: f, px.jit], ids=["eager", "jit"])
def test_backward_passes_name_what_they_do_and_the_line_that_it_is_for(wrap):
    def f(x):
        return lax.sqrt(x) * 0.0

    with pytest.raises(FloatingPointError, match=rf"^mul: .* got 1 in f32.*{__file__}:\d+ \(.*f\)"):
        wrap(px.grad(f))(0.0)
    with px.debug_nans(False):
        assert np.isnan(wrap(px.grad(f))(0.0))


def test_functions_that_ran_before_are_looked_at_too_and_run_as_before_afterwards():
    f = px.jit(lambda x: lax.log(x))
    g = lax.log
    for h in (f, g):
        with px.debug_nans(False):
            for _ in range(3):
                assert np.isnan(h(BAD))
        for _ in range(3):
            with pytest.raises(FloatingPointError, match="log"):
                h(BAD)
            assert float(h(np.float32(1))) == 0
        with px.debug_nans(False):
            assert np.isnan(h(BAD))


def test_a_result_says_how_much_of_it_is_wrong_and_whether_that_came_from_outside():
    with pytest.raises(FloatingPointError, match=r"got 1 in f32\[3\], at [^;]*$"):
        lax.log(X)
    with pytest.raises(FloatingPointError, match=r"^neg: .* got 1 in f32\[\], at .*; an argument has such values too$"):
        px.jit(lambda x: lax.neg(x))(np.float32(np.nan))


def test_only_results_are_looked_at():
    assert float(px.jit(lambda x: pnp.where(pnp.isnan(lax.log(x)), 0.0, 1.0))(BAD)) == 0
    assert px.jit(lambda n: n + 1)(3) == 4
    assert np.isinf(lax.log(np.float32(0)))


def test_infs_are_another_option():
    with px.debug_nans(False), px.debug_infs(True):
        assert np.isnan(lax.log(BAD))
        for f in (lax.log, px.jit(lambda x: lax.log(x) * 2)):
            with pytest.raises(
                FloatingPointError, match=r"^log: with debug_infs results must not be inf, got 1 in f32"
            ):
                f(np.float32(0))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "complex64"])
def test_every_inexact_dtype_is_looked_at(dtype):
    with pytest.raises(FloatingPointError, match="sub"):
        lax.sub(pnp.full(2, np.inf, dtype), pnp.full(2, np.inf, dtype))


def test_code_outside_of_primax_is_named_where_a_program_calls_it():
    def f(x):
        return px.pure_callback(lambda x: np.float32(np.nan), px.ShapeDtypeStruct((), "float32"), x) * 2.0

    with pytest.raises(FloatingPointError, match=r"^pure_callback: .* got 1 in f32\[\]"):
        px.jit(f)(1.0)


def test_a_program_that_goes_wrong_only_as_a_whole_is_named_itself():
    counts = []

    def first_time_only(x):
        counts.append(x)
        return np.float32(np.nan if len(counts) == 1 else 1)

    @px.jit
    def f(x):
        return px.pure_callback(first_time_only, px.ShapeDtypeStruct((), "float32"), x)

    with pytest.raises(FloatingPointError, match=r"^f: .*; run one by one, none of its operations gave such a result"):
        f(1.0)


def test_a_program_that_cannot_be_run_in_steps_is_named_itself():
    @px.jit
    def f(x):
        lax.scan(lambda c, _: (c, None), x, None, length=0)
        return log(x)

    with pytest.raises(
        FloatingPointError, match=r"^f: .* the program cannot be run step by step to find the operation$"
    ):
        f(BAD)


def test_the_environment_turns_it_on():
    program = "import primax as px; print(px.config.debug_nans, px.config.debug_infs); px.lax.log(-1.0)"
    environment = {"PRIMAX_DEBUG_NANS": "1", "PATH": "/usr/bin"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout == "True False\n"
    assert "FloatingPointError: log: with debug_nans" in done.stderr
