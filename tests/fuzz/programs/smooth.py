"""Random differentiable functions of arrays in double precision, for tests of laws of derivatives."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import hypothesis.strategies as st
import numpy as np

import primax as px
from fuzz.programs import control_flow, operations
from fuzz.programs.maker import Body, Context, Maker
from fuzz.programs.text import Array, Block, Tuple, function
from fuzz.programs.transformations import SHAPES, apply

Shape = tuple[int, ...]

_SIMPLE = [(kind, weight, False) for kind, weight in operations.SIMPLE if kind not in operations.NOT_SMOOTH]
_FLOW = [(kind, weight, True) for kind, weight in control_flow.FLOW]
_PLAIN = Context("float64", True, mixed=False, closing=False, deep=1.0, reverse=True)

STRAIGHT = dataclasses.replace(_PLAIN, deep=0.7, transformations=("jit",))
NESTED = {
    "both": dataclasses.replace(_PLAIN, transformations=("jit", "custom_jvp")),
    "forward": dataclasses.replace(_PLAIN, reverse=False, forward=True, transformations=("jit", "custom_jvp")),
    "reverse": dataclasses.replace(_PLAIN, transformations=("jit", "custom_jvp", "custom_vjp", "custom_vjp")),
}
"""What nested programs are made of, by the direction in which they have derivatives."""


@dataclasses.dataclass(frozen=True)
class Smooth:
    """A function of arrays of some shapes, which returns a tuple of arrays."""

    block: Block
    inputs: tuple[Shape, ...]

    def __call__(self, lib: Any, *args: Any) -> tuple[Any, ...]:
        """Its value, by the functions of a library: primax or jax."""
        return function(self.block, lib)(*args)


def smooth(
    seed: int,
    context: Context,
    depth: int,
    inputs: Sequence[Shape] = (),
    outputs: Sequence[Shape] = (),
    bounded: bool = False,
) -> Smooth:
    """A random function with functions inside, `depth` levels of them.

    Args:
      seed: the seed.
      context: STRAIGHT, or one of NESTED.
      inputs: the shapes of its arguments; by default one or two random ones.
      outputs: the shapes of its results; by default one or two random ones.
      bounded: whether the results stay small in repeated applications.
    """
    kinds = [*_SIMPLE, (apply, 3.0, True), *(_FLOW if context is not STRAIGHT else [])]
    maker = Maker(seed, context, kinds)
    choose = maker.random
    inputs = tuple(inputs or (choose.choice(SHAPES) for _ in range(choose.choice([1, 2]))))
    outputs = outputs or [choose.choice(SHAPES) for _ in range(choose.choice([1, 2]))]
    wanted = Tuple(tuple(Array(shape, "float64") for shape in outputs))
    given = [Array(shape, "float64") for shape in inputs]
    body = Body(maker, context, depth + 1, [], [])
    return Smooth(body.block(given, wanted, size=3, bounded=bounded), inputs)


def programs() -> Any:
    """Straight programs, with calls in calls."""
    return st.integers(0, 2**32 - 1).map(lambda seed: smooth(seed, STRAIGHT, 2))


def fill(shape: Shape, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1.5, 1.5, shape)


def point(program: Smooth, seed: int = 0) -> list[np.ndarray]:
    return [fill(shape, seed + i) for i, shape in enumerate(program.inputs)]


def flat_fun(program: Smooth, lib: Any = px) -> Callable[..., Any]:
    return lambda *args: list(program(lib, *args))


def scalar_fun(program: Smooth, lib: Any = px) -> Callable[..., Any]:
    def total(*args: Any) -> Any:
        outs = program(lib, *args)
        return functools.reduce(lambda a, b: a + b, [(out * out * 0.5 + out).sum() for out in outs])

    return total


def close(found: Sequence[Any], wanted: Sequence[Any], tolerance: float = 1e-9) -> None:
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * (1 + np.abs(b).max(initial=0)))
