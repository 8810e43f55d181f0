"""Programs made at random, which run with primax and with jax."""

from __future__ import annotations

import dataclasses
import functools
import random
from collections.abc import Sequence
from typing import Any

import hypothesis.strategies as st
import numpy as np

import primax as px

Shape = tuple[int, ...]

SHAPES: list[Shape] = [(), (2,), (3,), (2, 3), (3, 2)]
UNARY = ["sin", "cos", "tanh", "exp_small", "square", "negative", "softplus", "rsqrt", "abs", "sigmoid"]
BINARY = ["add", "subtract", "multiply", "divide", "maximum", "arctan2", "where"]

STRAIGHT = (
    ["unary"] * 5
    + ["binary"] * 7
    + ["jit"] * 4
    + [
        "sum",
        "mean",
        "max",
        "broadcast",
        "reshape",
        "transpose",
        "dot",
        "dot",
        "index",
        "stack",
        "take",
        "pick",
        "change",
    ]
)
HOLDING = {"jit", "cond", "switch", "scan", "fori_loop", "while_loop", "custom_jvp", "custom_vjp"}
SMOOTH = ["unary", "unary", "binary", "binary", "binary", "sum", "broadcast", "dot", "index", "stack", "pick", "change"]
BRANCHING = ["jit", "cond", "switch", "scan", "scan", "fori_loop"]
NESTED = {
    "both": [*SMOOTH, *BRANCHING, *BRANCHING, "custom_jvp"],
    "forward": [*SMOOTH, *BRANCHING, "custom_jvp", "while_loop", "while_loop", "while_loop"],
    "reverse": [*SMOOTH, *BRANCHING, "custom_jvp", "custom_vjp", "custom_vjp", "custom_vjp"],
}
"""What nested programs consist of, by the direction in which they have derivatives."""

DETAILS: dict[str, list[Any]] = {
    "unary": UNARY,
    "binary": BINARY,
    "sum": [None, 0, 1],
    "mean": [None, 0, 1],
    "max": [None, 0],
    "broadcast": [(2,), (2, 3), (3, 2)],
    "reshape": [(6,), (2, 3), (3, 2), (2, 1), (1,)],
    "index": [0, -1, slice(None, None, -1), slice(0, 2)],
    "take": [(0, -1), (1, 0, 0)],
    "change": ["set", "add", "multiply", "max"],
}


@dataclasses.dataclass(frozen=True)
class Step:
    """One operation on earlier values, by index; `bodies` are the programs that it holds."""

    kind: str
    args: tuple[int, ...]
    detail: Any = None
    bodies: tuple[Program, ...] = ()


@dataclasses.dataclass(frozen=True)
class Program:
    """Steps on values of known shapes: those of programs around, then arguments, then results of steps."""

    inputs: tuple[Shape, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    shapes: tuple[Shape, ...]


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
    """The outputs of a program, by the functions of a library: its module, with numpy and lax."""
    values = [*outer, *args]
    for step in program.steps:
        xs = [values[i] for i in step.args]
        if step.kind in HOLDING:
            values.extend(run_holding(step, lib, xs, tuple(values)))
        else:
            values.append(run_simple(step, lib.numpy, xs))
    return [values[i] for i in program.outputs]


def run_simple(step, np_like, xs):
    match step.kind:
        case "unary":
            return unary(np_like, step.detail, *xs)
        case "binary":
            return binary(np_like, step.detail, *xs)
        case "sum" | "max" | "mean":
            return getattr(np_like, step.kind)(xs[0], axis=step.detail)
        case "broadcast":
            return np_like.broadcast_to(xs[0], step.detail)
        case "reshape":
            return np_like.reshape(xs[0], step.detail)
        case "transpose":
            return np_like.transpose(xs[0])
        case "dot":
            return np_like.dot(*xs)
        case "index":
            return xs[0][step.detail]
        case "stack":
            return np_like.stack(xs)
        case "take":
            return xs[0][np.array(step.detail)]
        case "pick" | "change":  # out of range now and then
            index = np_like.floor(3 * np_like.sin(7 * np_like.sum(xs[0]) + 0.0617)).astype("int32")
            if step.kind == "pick":
                return xs[0][index]
            places = index if step.detail == "multiply" else np_like.stack([index, 0 * index])
            return getattr(np_like.asarray(xs[0]).at[places], step.detail)(0.3 * xs[0][1])
    raise ValueError(step.kind)


def run_holding(step, lib, xs, held):
    """The results of a step that holds programs, which see all values before it; custom functions see none."""
    functions = [lambda *inner, body=body: run(body, lib, inner, held) for body in step.bodies]
    first = functions[0]
    match step.kind:
        case "jit":
            return lib.jit(first)(*xs)
        case "cond":
            return lib.lax.cond(lib.numpy.sum(held[step.detail]) > 0.0617, *functions, *xs)
        case "switch":  # out of range now and then
            index = lib.numpy.floor(3 * lib.numpy.sin(7 * lib.numpy.sum(held[step.detail]))).astype("int32")
            return lib.lax.switch(index, functions, *xs)
        case "scan":
            count, length, options = step.detail

            def turn(carry, elements):
                outs = first(*carry, *elements)
                return tuple(outs[:count]), tuple(outs[count:])

            carry, ys = lib.lax.scan(turn, tuple(xs[:count]), tuple(xs[count:]), length=length, **dict(options))
            return [*carry, *ys]
        case "fori_loop":
            return lib.lax.fori_loop(0, step.detail, lambda i, carry: tuple(first(*carry)), tuple(xs))
        case "while_loop":
            bound = lib.numpy.floor(3 * lib.numpy.abs(lib.numpy.sin(7 * lib.numpy.sum(held[step.detail]))))

            def more(carry):
                return (carry[0] < bound) & (lib.numpy.sum(carry[1]) < 5)

            return lib.lax.while_loop(more, lambda carry: (carry[0] + 1, *first(*carry[1:])), (0, *xs))[1:]
        case "custom_jvp":
            return run_custom_jvp(lambda *inner: tuple(run(step.bodies[0], lib, inner)), lib, xs)
        case "custom_vjp":
            return run_custom_vjp(lambda *inner: tuple(run(step.bodies[0], lib, inner)), lib, xs)
    raise ValueError(step.kind)


def run_custom_jvp(fun, lib, xs):
    """A function that claims to have a steeper derivative than it has."""
    custom = lib.custom_jvp(fun)

    def rule(primals, tangents):
        outs, out_tangents = lib.jvp(fun, primals, tangents)
        return outs, tuple(1.5 * t for t in out_tangents)

    custom.defjvp(rule)
    return custom(*xs)


def run_custom_vjp(fun, lib, xs):
    custom = lib.custom_vjp(fun)
    custom.defvjp(
        lambda *args: (fun(*args), args),
        lambda args, cts: tuple(1.5 * ct for ct in lib.vjp(fun, *args)[1](cts)),
    )
    return custom(*xs)


def after(kind: str, detail: Any, shapes: Sequence[Shape]) -> Shape | None:
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
        case "take":
            return (len(detail), *x[1:]) if x else None
        case "pick":
            return x[1:] if x else None
        case "change":
            return x or None
    return None


class Maker:
    """Makes programs.

    Args:
      seed: what they depend on.
      kinds: the kinds of steps, each as often as it is to be chosen.
    """

    def __init__(self, seed: int, kinds: Sequence[str]) -> None:
        self.random = random.Random(seed)
        self.kinds = kinds
        self.holding = [kind for kind in kinds if kind in HOLDING]

    def program(self, depth: int, outer: tuple[Shape, ...] = (), least: int = 4) -> Program:
        """One of at least `least` steps that fit; `outer` are the shapes of what it closes over."""
        choose = self.random
        inputs = tuple(choose.choice(SHAPES) for _ in range(choose.choice([1, 2])))
        steps, shapes = self.steps([*outer, *inputs], depth, least + choose.randrange(3))
        last = len(shapes) - 1
        outputs = (last, *(choose.randrange(len(outer), last) for _ in range(choose.choice([0, 1, 2]))))
        return Program(inputs, tuple(steps), outputs, tuple(shapes))

    def nested(self, depth: int) -> Program:
        """One whose last step holds programs, `depth` of them in each other."""
        inputs = ((3,), (2, 3))
        steps, shapes = self.steps(list(inputs), 0, 2)
        count = len(shapes)
        while len(shapes) == count:
            self.hold(self.random.choice(self.holding), depth, steps, shapes)
        return Program(inputs, tuple(steps), tuple(range(count - 1, len(shapes))), tuple(shapes))

    def steps(self, shapes: list[Shape], depth: int, count: int) -> tuple[list[Step], list[Shape]]:
        """Steps on values of some shapes, which are extended by those of their results."""
        steps: list[Step] = []
        while len(steps) < count:
            kind = self.random.choice(self.kinds)
            if kind in HOLDING:
                if depth:
                    self.hold(kind, depth, steps, shapes)
                continue
            args = tuple(self.random.randrange(len(shapes)) for _ in range(1 + (kind in ("binary", "dot", "stack"))))
            detail = self.random.choice(DETAILS.get(kind, [None]))
            shape = after(kind, detail, [shapes[i] for i in args])
            if shape is not None:
                steps.append(Step(kind, args, detail))
                shapes.append(tuple(shape))
        return steps, shapes

    def hold(self, kind: str, depth: int, steps: list[Step], shapes: list[Shape]) -> None:
        """Add a step that holds programs, if one fits."""
        choose, outer = self.random, tuple(shapes)
        if self.kinds is STRAIGHT:
            body = self.program(depth - 1, outer, 3)
            fits = [[i for i, s in enumerate(shapes) if s == shape] for shape in body.inputs]
            if all(fits):
                steps.append(Step("jit", tuple(map(choose.choice, fits)), None, (body,)))
                shapes += [body.shapes[i] for i in body.outputs]
            return
        args = tuple(choose.randrange(len(shapes)) for _ in range(choose.choice([1, 2])))
        wanted = [shapes[i] for i in args]
        if kind in ("jit", "cond", "switch"):
            count = {"jit": 1, "cond": 2, "switch": 3}[kind]
            deep = choose.randrange(count)  # one of them, so that programs grow with the depth and not exponentially
            given = wanted
            wanted = [choose.choice(SHAPES[:4]) for _ in range(choose.choice([1, 2]))]
            bodies = [self.body(depth - 1 if k == deep else 0, outer, given, wanted) for k in range(count)]
            steps.append(Step(kind, args, choose.randrange(len(shapes)), tuple(bodies)))
            shapes += wanted
        elif kind == "scan":
            length = choose.choice([2, 3])
            long = [i for i, shape in enumerate(shapes) if shape[:1] == (length,)]
            sliced = tuple(choose.choice(long) for _ in range(choose.choice([0, 1, 2]) if long else 0))
            ys = [choose.choice([(), (2,), (3,)]) for _ in range(choose.choice([0, 1, 2]))]
            given = [*wanted, *(shapes[i][1:] for i in sliced)]
            body = self.body(depth - 1, outer, given, [*wanted, *ys], len(wanted))
            options = ("reverse", choose.random() < 0.5), ("unroll", choose.choice([1, 1, 2]))
            steps.append(Step(kind, args + sliced, (len(args), length, options), (body,)))
            shapes += [*wanted, *((length, *y) for y in ys)]
        else:
            custom = kind in ("custom_jvp", "custom_vjp")
            detail = 3 if kind == "fori_loop" else choose.randrange(len(shapes))
            body = self.body(depth - 1, () if custom else outer, wanted, wanted, len(wanted))
            steps.append(Step(kind, args, detail, (body,)))
            shapes += wanted

    def body(
        self, depth: int, outer: tuple[Shape, ...], given: Sequence[Shape], wanted: Sequence[Shape], bounded: int = 0
    ) -> Program:
        """One from given shapes to wanted ones, of which the first are those of results that do not grow."""
        steps, shapes = self.steps([*outer, *given], 0, 2)
        if depth:
            self.hold(self.random.choice(self.holding), depth, steps, shapes)
        outputs = []
        for k, shape in enumerate(wanted):
            fits = [i for i in range(len(outer), len(shapes)) if shapes[i] == shape][-3:]
            if not fits:
                steps += [Step("sum", (len(shapes) - 1,)), Step("broadcast", (len(shapes),), shape)]
                shapes += [(), shape]
                fits = [len(shapes) - 1]
            outputs.append(self.random.choice(fits))
            if k < bounded:
                steps.append(Step("unary", (outputs[-1],), "tanh"))
                shapes.append(shape)
                outputs[-1] = len(shapes) - 1
        return Program(tuple(given), tuple(steps), tuple(outputs), tuple(shapes))


def programs():
    """Straight programs, with calls in calls."""
    return st.integers(0, 2**32 - 1).map(lambda seed: Maker(seed, STRAIGHT).program(2))


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
