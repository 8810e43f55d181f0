"""Programs made at random: every way to run, differentiate and map one agrees, with jax too."""

from __future__ import annotations

import hypothesis
import numpy as np
import pytest
from fuzz.programs.smooth import close, fill, flat_fun, point, programs, scalar_fun

import primax as px
from primax.extend import core

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_release]


def check(examples):
    """Run on random programs, in double precision."""

    def decorate(test):
        @hypothesis.settings(
            max_examples=examples,
            suppress_health_check=list(hypothesis.HealthCheck),
            phases=[hypothesis.Phase.generate],
        )
        @hypothesis.given(programs())
        def wrapped(program):
            with px.enable_x64(True):
                test(program)

        wrapped.__name__ = wrapped.__qualname__ = test.__name__
        return wrapped

    return decorate


@check(12)
def test_eager_staged_and_jitted_values_agree(program):
    args = point(program)
    f = flat_fun(program)
    want = f(*args)
    closed = px.make_jaxpr(f)(*args)
    core.check_jaxpr(closed)
    assert [a.shape for a in closed.out_avals] == [np.shape(x) for x in want]
    close(core.jaxpr_as_fun(closed)(*args), want)
    close(px.jit(f)(*args), want)
    trimmed, kept = core.dce_jaxpr(closed.jaxpr, [True] * len(want))
    used = [x for x, keep in zip(args, kept, strict=True) if keep]
    core.check_jaxpr(trimmed)
    close(core.eval_jaxpr(trimmed, closed.consts, *used), want)
    assert str(closed) == str(px.make_jaxpr(f)(*args))


@check(8)
def test_values_and_gradients_agree_with_jax(program):
    jax = pytest.importorskip("jax")
    args = point(program)
    with jax.enable_x64(True):
        want = jax.jit(flat_fun(program, jax))(*args)
        slopes = jax.jit(jax.grad(scalar_fun(program, jax), tuple(range(len(args)))))(*args)
        want, slopes = [np.asarray(x) for x in want], [np.asarray(x) for x in slopes]
    close(px.jit(flat_fun(program))(*args), want)
    close(px.jit(px.grad(scalar_fun(program), tuple(range(len(args)))))(*args), slopes)


@check(8)
def test_derivatives_agree_with_each_other_and_with_differences(program):
    args = point(program)
    f = scalar_fun(program)
    everything = tuple(range(len(args)))
    directions = [fill(np.shape(x), 50 + i) for i, x in enumerate(args)]
    with_jit = px.jit(px.grad(f, everything))(*args)
    close(px.grad(px.jit(f), everything)(*args), with_jit)
    close(px.grad(f, everything)(*args), with_jit)
    _, slope = px.jit(lambda xs, ts: px.jvp(f, xs, ts))(tuple(args), tuple(directions))
    close([slope], [sum(np.sum(np.asarray(g) * t) for g, t in zip(with_jit, directions, strict=True))], 1e-8)
    _, f_lin = px.linearize(px.jit(f), *args)
    close([f_lin(*directions)], [slope], 1e-8)
    step = 1e-6
    jitted = px.jit(f)
    above = jitted(*[x + step * t for x, t in zip(args, directions, strict=True)])
    below = jitted(*[x - step * t for x, t in zip(args, directions, strict=True)])
    assert float(above - below) / (2 * step) == pytest.approx(float(slope), rel=1e-4, abs=1e-5)


@check(6)
def test_mapping_is_a_loop(program):
    rows = [point(program, 10 * k) for k in range(3)]
    f = px.jit(flat_fun(program))
    want = [np.stack([np.asarray(x) for x in outs]) for outs in zip(*[f(*row) for row in rows], strict=True)]
    stacked = [np.stack(column) for column in zip(*rows, strict=True)]
    close(px.jit(px.vmap(flat_fun(program)))(*stacked), want)
    close(px.jit(px.vmap(f))(*stacked), want)
    axes = tuple(np.ndim(x) - 1 for x in stacked)
    moved = [np.moveaxis(x, 0, axis) for x, axis in zip(stacked, axes, strict=True)]
    close(px.jit(px.vmap(f, in_axes=axes))(*moved), want)
    gradient = px.grad(scalar_fun(program))
    compiled = px.jit(gradient)
    slopes = np.stack([np.asarray(compiled(*row)) for row in rows])
    close([px.jit(px.vmap(gradient))(*stacked)], [slopes], 1e-8)
    if len(args := stacked) > 1:
        half = px.jit(px.vmap(f, in_axes=(0, None)))(args[0], rows[0][1])
        want = [f(row[0], rows[0][1]) for row in rows]
        close(half, [np.stack([np.asarray(x) for x in outs]) for outs in zip(*want, strict=True)])


@check(6)
def test_jacobians_and_second_derivatives_agree(program):
    args = point(program)
    f = flat_fun(program)
    forward, reverse = px.jit(px.jacfwd(f))(*args), px.jit(px.jacrev(f))(*args)
    close(forward, reverse, 1e-8)
    scalar = scalar_fun(program)
    hessian = px.jit(px.hessian(scalar))(*args)
    close([px.jit(px.jacrev(px.jacrev(scalar)))(*args)], [hessian], 1e-7)
    close([px.jit(px.jacfwd(px.jacfwd(px.jit(scalar))))(*args)], [hessian], 1e-7)


@check(10)
def test_transformed_programs_are_well_typed(program):
    args = point(program)
    f, scalar = flat_fun(program), scalar_fun(program)
    stacked = [np.stack([x, x]) for x in args]
    for closed in (
        px.make_jaxpr(lambda *xs: px.jvp(px.jit(f), xs, xs))(*args),
        px.make_jaxpr(px.grad(scalar))(*args),
        px.make_jaxpr(px.grad(px.jit(scalar)))(*args),
        px.make_jaxpr(px.vmap(px.jit(f)))(*stacked),
        px.make_jaxpr(px.vmap(px.grad(px.jit(scalar))))(*stacked),
        px.make_jaxpr(px.hessian(px.jit(scalar)))(*args),
        px.make_jaxpr(px.grad(lambda *xs: px.grad(px.jit(scalar))(*xs).sum()))(*args),
    ):
        core.check_jaxpr(closed)


@check(10)
def test_the_transpose_of_the_derivative_has_its_dot_products(program):
    args = point(program)
    f = px.jit(flat_fun(program))
    outs, f_lin = px.linearize(f, *args)
    directions = [fill(np.shape(x), 50 + i) for i, x in enumerate(args)]
    cts = [fill(np.shape(x), 90 + i) for i, x in enumerate(outs)]
    pushed = f_lin(*directions)
    pulled = px.linear_transpose(f_lin, *args)(cts)
    left = sum(float(np.sum(np.asarray(t) * ct)) for t, ct in zip(pushed, cts, strict=True))
    right = sum(float(np.sum(np.asarray(ct) * t)) for ct, t in zip(pulled, directions, strict=True))
    assert left == pytest.approx(right, rel=1e-8, abs=1e-8)
    close(px.vjp(f, *args)[1](cts), pulled)
