"""Programs made at random: every way to run, differentiate and map one agrees, with jax too."""

from __future__ import annotations

import dataclasses
import functools
import random
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.extend import core

SHAPES = [(), (2,), (3,), (2, 3), (3, 2)]
UNARY = ["sin", "cos", "tanh", "exp_small", "square", "negative", "softplus", "rsqrt", "abs", "sigmoid"]
BINARY = ["add", "subtract", "multiply", "divide", "maximum", "arctan2", "where"]


@dataclasses.dataclass(frozen=True)
class Step:
    """One operation on earlier values, by index."""

    kind: str
    args: tuple[int, ...]
    detail: Any = None
    body: Any = None


@dataclasses.dataclass(frozen=True)
class Program:
    """Steps on values of known shapes, the first of which are arguments."""

    inputs: tuple[tuple[int, ...], ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]


def unary(np_like, name, x):
    return {
        "sin": lambda: np_like.sin(x),
        "cos": lambda: np_like.cos(x),
        "tanh": lambda: np_like.tanh(x),
        "exp_small": lambda: np_like.exp(-x * x),
        "square": lambda: x * x * 0.5,
        "negative": lambda: -x,
        "softplus": lambda: np_like.log1p(np_like.exp(np_like.sin(x))),
        "rsqrt": lambda: 1.0 / np_like.sqrt(1.0 + x * x),
        "abs": lambda: np_like.abs(x + 0.123),
        "sigmoid": lambda: 1 / (1 + np_like.exp(-x)),
    }[name]()


def binary(np_like, name, x, y):
    return {
        "add": lambda: x + y,
        "subtract": lambda: x - y,
        "multiply": lambda: x * y,
        "divide": lambda: x / (2.0 + y * y),
        "maximum": lambda: np_like.maximum(x, y + 0.0617),
        "arctan2": lambda: np_like.arctan2(x, 2.0 + y * y),
        "where": lambda: np_like.where(x > y + 0.0617, x, 2.0 * y),
    }[name]()


def run(program, lib, args, outer=()):
    """The outputs of a program, by the functions of a library: its module, and its numpy."""
    np_like = lib.numpy
    values = [*outer, *args]
    for step in program.steps:
        xs = [values[i] for i in step.args]
        match step.kind:
            case "unary":
                out = unary(np_like, step.detail, *xs)
            case "binary":
                out = binary(np_like, step.detail, *xs)
            case "sum" | "max" | "mean":
                out = getattr(np_like, step.kind)(xs[0], axis=step.detail)
            case "broadcast":
                out = np_like.broadcast_to(xs[0], step.detail)
            case "reshape":
                out = np_like.reshape(xs[0], step.detail)
            case "transpose":
                out = np_like.transpose(xs[0])
            case "dot":
                out = np_like.dot(*xs)
            case "index":
                out = xs[0][step.detail]
            case "stack":
                out = np_like.stack(xs)
            case "jit":
                body, held = step.body, tuple(values)
                out = lib.jit(lambda *inner, body=body, held=held: run(body, lib, inner, held))(*xs)
                values.extend(out)
                continue
        values.append(out)
    return [values[i] for i in program.outputs]


def after(kind, detail, shapes):
    """The shape that a step gives, or None if it does not fit."""
    x = shapes[0]
    match kind:
        case "unary":
            return x
        case "binary":
            try:
                return np.broadcast_shapes(*shapes)
            except ValueError:
                return None
        case "sum" | "max" | "mean":
            return () if detail is None else x[:detail] + x[detail + 1 :] if detail < len(x) else None
        case "broadcast":
            try:
                return detail if np.broadcast_shapes(x, detail) == detail else None
            except ValueError:
                return None
        case "reshape":
            return detail if np.prod(x) == np.prod(detail) else None
        case "transpose":
            return x[::-1]
        case "dot":
            try:
                return np.dot(np.zeros(x), np.zeros(shapes[1])).shape
            except ValueError:
                return None
        case "index":
            return np.zeros(x)[detail].shape if x else None
        case "stack":
            return (2, *x) if shapes[0] == shapes[1] and len(x) < 2 else None
    return None


KINDS = (
    ["unary"] * 5
    + ["binary"] * 7
    + ["jit"] * 4
    + ["sum", "mean", "max", "broadcast", "reshape", "transpose", "dot", "dot", "index", "stack"]
)
DETAILS = {
    "unary": UNARY,
    "binary": BINARY,
    "sum": [None, 0, 1],
    "mean": [None, 0, 1],
    "max": [None, 0],
    "broadcast": [(2,), (2, 3), (3, 2)],
    "reshape": [(6,), (2, 3), (3, 2), (2, 1), (1,)],
    "index": [0, -1, slice(None, None, -1), slice(0, 2)],
}


def program_of(random, depth=2, outer=(), least=4):
    """A program of at least `least` steps that fit; `outer` are the shapes of what it closes over."""
    inputs = tuple(random.choice(SHAPES) for _ in range(random.choice([1, 2])))
    shapes = [*outer, *inputs]
    steps = []
    while len(steps) < least + random.randrange(3):
        kind = random.choice(KINDS)
        if kind == "jit":
            if not depth:
                continue
            body = program_of(random, depth - 1, tuple(shapes), least - 1)
            fits = [[i for i, s in enumerate(shapes) if s == shape] for shape in body.inputs]
            if all(fits):
                steps.append(Step("jit", tuple(map(random.choice, fits)), None, body))
                shapes += [body.shapes[i] for i in body.outputs]
            continue
        args = tuple(random.randrange(len(shapes)) for _ in range(1 + (kind in ("binary", "dot", "stack"))))
        detail = random.choice(DETAILS.get(kind, [None]))
        shape = after(kind, detail, [shapes[i] for i in args])
        if shape is not None:
            steps.append(Step(kind, args, detail))
            shapes.append(tuple(shape))
    last = len(shapes) - 1
    outputs = (last, *(random.randrange(len(outer), last) for _ in range(random.choice([0, 1, 2]))))
    return Program(inputs, tuple(steps), outputs, tuple(shapes))


def programs():
    return st.integers(0, 2**32 - 1).map(lambda seed: program_of(random.Random(seed)))


def fill(shape, seed):
    return np.random.default_rng(seed).uniform(-1.5, 1.5, shape)


def point(program, seed=0):
    return [fill(shape, seed + i) for i, shape in enumerate(program.inputs)]


def flat_fun(program, lib=px):
    return lambda *args: run(program, lib, args)


def scalar_fun(program, lib=px):
    def total(*args):
        outs = run(program, lib, args)
        return functools.reduce(lambda a, b: a + b, [(out * out * 0.5 + out).sum() for out in outs])

    return total


def close(found, wanted, tolerance=1e-9):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * (1 + np.abs(b).max(initial=0)))


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


@check(20)
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


@check(12)
def test_values_and_gradients_agree_with_jax(program):
    jax = pytest.importorskip("jax")
    args = point(program)
    with jax.enable_x64(True):
        want = jax.jit(lambda *xs: run(program, jax, xs))(*args)
        slopes = jax.jit(jax.grad(scalar_fun(program, jax), tuple(range(len(args)))))(*args)
        want, slopes = [np.asarray(x) for x in want], [np.asarray(x) for x in slopes]
    close(px.jit(flat_fun(program))(*args), want)
    close(px.jit(px.grad(scalar_fun(program), tuple(range(len(args)))))(*args), slopes)


@check(12)
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


@check(8)
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


@check(8)
def test_jacobians_and_second_derivatives_agree(program):
    args = point(program)
    f = flat_fun(program)
    forward, reverse = px.jit(px.jacfwd(f))(*args), px.jit(px.jacrev(f))(*args)
    close(forward, reverse, 1e-8)
    scalar = scalar_fun(program)
    hessian = px.jit(px.hessian(scalar))(*args)
    close([px.jit(px.jacrev(px.jacrev(scalar)))(*args)], [hessian], 1e-7)
    close([px.jit(px.jacfwd(px.jacfwd(px.jit(scalar))))(*args)], [hessian], 1e-7)


@check(15)
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


@check(15)
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


def test_single_precision_programs_run_too():
    program = Program(
        ((2, 3), (3,)),
        (Step("dot", (0, 1)), Step("unary", (2,), "sin"), Step("sum", (3,), None)),
        (4,),
        ((2, 3), (3,), (2,), (2,), ()),
    )
    args = [x.astype(np.float32) for x in point(program)]
    (value,) = px.jit(flat_fun(program))(*args)
    assert value.dtype == np.float32
    np.testing.assert_allclose(value, np.sin(args[0] @ args[1]).sum(), rtol=1e-5)
    assert pnp.asarray(px.grad(scalar_fun(program))(*args)).dtype == np.float32
