"""Random arrays, scalars, shapes and dtypes, written as Python text."""

from __future__ import annotations

import itertools
import random
from typing import Any

Shape = tuple[int, ...]

FLOATS = ["float32"] * 8 + ["float16", "bfloat16", "float64"]
NARROW_FLOATS = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e5m2fnuz"]
INTS = ["int32"] * 4 + ["int8", "int16", "int64", "uint8", "uint16", "uint32", "uint64"]
NARROW_INTS = ["int4", "uint4", "int2", "uint2"]
COMPLEX = ["complex64"] * 3 + ["complex128"]
WIDTHS = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4}

SHAPES: list[Shape] = [
    (),
    (),
    (3,),
    (3,),
    (3,),
    (2, 3),
    (2, 3),
    (3, 3),
    (1,),
    (0,),
    (2, 1),
    (1, 3),
    (0, 3),
    (2, 3, 4),
    (2, 0),
]
MATRIX_SHAPES: list[Shape] = [(3, 3)] * 6 + [
    (2, 2),
    (2, 3),
    (3, 2),
    (1, 1),
    (2, 3, 3),
    (2, 3, 3),
    (0, 0),
    (0, 3),
    (3,),
    (2, 2, 3),
]


def kind_of(dtype: str) -> str:
    """One of "bool", "int", "uint", "float", "complex"."""
    for kind in ("bool", "uint", "int", "complex"):
        if dtype.startswith(kind):
            return kind
    return "float"


def bits(dtype: str) -> int:
    """The bits of an integer dtype."""
    return WIDTHS.get(dtype) or int(dtype.lstrip("uint"))


def literal(value: Any) -> str:
    """Text for a number, given inf and nan."""
    if isinstance(value, complex):
        return f"complex({literal(value.real)}, {literal(value.imag)})"
    return repr(value)


class Values:
    """Draws the text of values from a random generator.

    Args:
      rng: the generator.
      style: the numbers in arrays: "plain", "unit" (between 0 and 1), "positive", "special" (with NaN, infinities,
        signed zeros and limits of integers), "small" (whole numbers between 0 and 3).
    """

    def __init__(self, rng: random.Random, style: str = "plain") -> None:
        self.rng, self.style = rng, style

    def number(self, dtype: str, style: str | None = None) -> Any:
        """A Python number that the dtype can nearly represent."""
        kind, style = kind_of(dtype), style or self.style
        if kind == "bool":
            return self.rng.random() < 0.5
        if kind == "complex":
            return complex(self.number("float32", style), self.number("float32", style))
        if kind == "float":
            return self._float(style)
        return self._int(dtype, style)

    def _float(self, style: str) -> float:
        draw = self.rng
        if style == "special" and draw.random() < 0.5:
            return draw.choice(
                [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0, -1.0, 1e-30, 1e30, -1e-30, 0.5]
            )
        if style == "unit":
            return round(draw.uniform(0.01, 0.99), 3)
        if style == "positive":
            return round(draw.uniform(0.1, 4.0), 3)
        if style == "small":
            return float(draw.randrange(4))
        return draw.choice([round(draw.gauss(0, 2), 3), round(draw.gauss(0, 1), 3), float(draw.randrange(-3, 4))])

    def _int(self, dtype: str, style: str) -> int:
        width, signed = bits(dtype), kind_of(dtype) == "int"
        low, high = (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if signed else (0, 2**width - 1)
        draw = self.rng
        if style == "special" and draw.random() < 0.4:
            return draw.choice([low, high, low + 1, high - 1, 0, 1])
        if style in ("small", "unit", "positive"):
            return min(high, draw.randrange(int(style == "positive"), 4))
        return min(
            high, max(low, draw.choice([draw.randrange(-4, 8), draw.randrange(0, 4), draw.randrange(-100, 100)]))
        )

    def nested(self, shape: Shape, dtype: str, style: str | None = None) -> str:
        """The text of nested lists of this shape."""
        if not shape:
            return literal(self.number(dtype, style))
        return "[" + ", ".join(self.nested(shape[1:], dtype, style) for _ in range(shape[0])) + "]"

    def data(self, shape: Shape, dtype: str, style: str | None = None) -> str:
        """The arguments of `A` and `array`: values, and the dtype."""
        text = self.nested(shape, dtype, style)
        if 0 in shape[:-1]:  # nested lists cannot represent the axes after an axis of size 0
            text = f"np.zeros({shape})"
        return f"{text}, {dtype!r}"

    def matrix(self, shape: Shape, dtype: str, form: str) -> str:
        """The arguments of `A` for matrices of form "any", "spd" (positive definite), "lower", "upper", "symmetric".

        "factor" is "upper" with a diagonal that is not negative.
        """
        if form == "any" or len(shape) < 2 or 0 in shape or shape[-1] != shape[-2] or kind_of(dtype) == "bool":
            return self.data(shape, dtype)
        *batch, n, _ = shape
        return f"{self._batched(tuple(batch), n, dtype, form)}, {dtype!r}"

    def _batched(self, batch: Shape, n: int, dtype: str, form: str) -> str:
        if batch:
            return "[" + ", ".join(self._batched(batch[1:], n, dtype, form) for _ in range(batch[0])) + "]"
        rows = [[self.number(dtype) for _ in range(n)] for _ in range(n)]
        for i, j in itertools.product(range(n), range(n)):
            if (form == "lower" and j > i) or (form in ("upper", "factor") and j < i):
                rows[i][j] = 0
            if form in ("spd", "symmetric") and j < i:
                other = rows[j][i]
                rows[i][j] = other.conjugate() if isinstance(other, complex) else other
            if form == "symmetric" and i == j:
                rows[i][i] = rows[i][i].real
            if form == "factor" and i == j:
                rows[i][i] = abs(rows[i][i])
            if form == "spd" and i == j:
                rows[i][i] = 9 + n + 2 * i if kind_of(dtype) in ("int", "uint") else 9.5 + n + 2 * i
        return "[" + ", ".join("[" + ", ".join(map(literal, row)) + "]" for row in rows) + "]"
