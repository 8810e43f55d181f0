"""The arguments of a call, drawn so that they usually fit each other."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from fuzz.values import (
    COMPLEX,
    FLOATS,
    INTS,
    MATRIX_SHAPES,
    NARROW_FLOATS,
    NARROW_INTS,
    SHAPES,
    Shape,
    Values,
    kind_of,
    literal,
)

STYLES = ["plain"] * 4 + ["special", "special", "unit", "positive", "small"]
KINDS = ["float"] * 10 + ["int"] * 4 + ["bool", "complex", "complex", "narrow"]


class Draw:
    """Draws the text of arguments. Most arrays have the shape and the dtype of the first one.

    Args:
      rng: the generator.
      matrices: whether arrays are matrices, mostly square ones.
      kinds: the kinds of dtypes to draw from: "float", "int", "bool", "complex", "narrow".
      style: the numbers in arrays (see `fuzz.values.Values`); drawn if None.
      shapes: the shapes to draw from.
      alike: the probability that an array has the shape and the dtype of the first in any case.
    """

    def __init__(
        self,
        rng: random.Random,
        matrices: bool = False,
        kinds: Sequence[str] = KINDS,
        style: str | None = None,
        shapes: Sequence[Shape] | None = None,
        alike: float = 0.0,
    ) -> None:
        self.rng = rng
        self.alike = alike
        self.matrices = matrices
        self.kinds = list(kinds)
        self.values = Values(rng, style or ("plain" if matrices else rng.choice(STYLES)))
        self.shape: Shape = rng.choice(list(shapes) if shapes else MATRIX_SHAPES if matrices else SHAPES)
        self.dtype = self.a_dtype()
        self.form = rng.choice(["any", "any", "spd", "spd", "lower", "upper", "symmetric"])

    # Chance.

    def chance(self, probability: float) -> bool:
        """Whether an event of this probability happens."""
        return self.rng.random() < probability

    def one(self, *choices: Any) -> str:
        """One of some texts."""
        return str(self.rng.choice(choices))

    # Dtypes and shapes.

    def a_dtype(self) -> str:
        """The name of a dtype."""
        names = {
            "float": FLOATS,
            "int": INTS,
            "bool": ["bool"],
            "complex": COMPLEX,
            "narrow": NARROW_FLOATS + NARROW_INTS,
        }
        return self.rng.choice(names[self.rng.choice(self.kinds)])

    def dtype_text(self) -> str:
        """A dtype, as users write it."""
        if self.chance(0.2):
            return self.one("float", "int", "bool", "complex")
        name = self.a_dtype()
        forms = [repr(name)] * 2 + [f"np.dtype({name!r})"] + [f"m.numpy.{'bool_' if name == 'bool' else name}"] * 2
        return self.rng.choice(forms)

    def other_shape(self) -> Shape:
        """A shape that usually broadcasts with the first."""
        shape = self.shape
        if self.matrices or self.chance(0.5):
            return shape
        if self.chance(0.15):
            return self.rng.choice(SHAPES)
        start = self.rng.randrange(len(shape) + 1)
        return tuple(1 if self.chance(0.2) else size for size in shape[start:])

    def shape_text(self) -> str:
        """A shape as an argument."""
        sizes = self.rng.choice(SHAPES)
        if self.chance(0.1):
            return str(self.rng.randrange(4))
        return str(list(sizes)) if self.chance(0.1) else str(sizes)

    @property
    def ndim(self) -> int:
        """The number of axes of the first array."""
        return len(self.shape)

    def axis(self) -> str:
        """An axis, possibly negative, and sometimes out of range."""
        if self.chance(0.04):
            return self.one(self.ndim, -self.ndim - 1, "None", "True", "1.0")
        return str(self.rng.randrange(-self.ndim, self.ndim)) if self.ndim else self.one(0, -1)

    def axes(self, low: bool = True) -> str:
        """A tuple of different axes."""
        count = self.rng.randrange(self.ndim + 1)
        picked = self.rng.sample(range(self.ndim), count)
        return str(tuple(axis - self.ndim if low and self.chance(0.3) else axis for axis in picked))

    # Arrays.

    def array(self, shape: Shape | None = None, dtype: str | None = None, style: str | None = None) -> str:
        """An array: usually of the package, sometimes of NumPy, or a scalar of Python or NumPy, or a list."""
        if shape is None and dtype is None and self.chance(self.alike):
            return self.of(self.shape, None, style)
        shape = self.other_shape() if shape is None else shape
        dtype = dtype or (self.dtype if self.chance(0.7) else self.a_dtype())
        if not shape and self.chance(0.4):
            value = literal(self.values.number(dtype, style))
            return value if self.chance(0.6) else f"array({value}, {dtype!r})[()]"
        where = self.rng.random()
        return f"{'A' if where < 0.85 else 'array'}({self._data(shape, dtype, style)})"

    def _data(self, shape: Shape, dtype: str, style: str | None) -> str:
        if self.matrices and style is None:
            return self.values.matrix(shape, dtype, self.form if self.chance(0.8) else "any")
        return self.values.data(shape, dtype, style)

    def first(self) -> str:
        """The array that determines the shape."""
        return self.array(self.shape, self.dtype)

    def of(self, shape: Shape, dtype: str | None = None, style: str | None = None) -> str:
        """An array of the package with this shape, and with the call's dtype unless another is given."""
        return f"A({self.values.data(shape, dtype or self.dtype, style)})"

    def floats(self, shape: Shape | None = None, style: str | None = None) -> str:
        """An array of floats."""
        dtype = self.dtype if kind_of(self.dtype) == "float" else "float32"
        return self.of(self.shape if shape is None else shape, dtype, style)

    def indices(self, size: int, shape: Shape, out_of_range: float = 0.15) -> str:
        """An array of integers that index an axis; some are out of range."""
        dtype = self.rng.choice(["int32"] * 5 + ["int8", "uint8", "int64", "uint32", "int16"])
        bound = max(size, 1)
        low = 0 if dtype.startswith("u") else -bound
        span = (low - 2 * (not dtype.startswith("u")), bound + 2) if self.chance(out_of_range) else (low, bound)

        def nest(shape: Shape) -> str:
            if not shape:
                return str(self.rng.randrange(*span))
            return "[" + ", ".join(nest(shape[1:]) for _ in range(shape[0])) + "]"

        if not shape and self.chance(0.5):
            return nest(())
        return f"A({nest(shape)}, {dtype!r})"

    def mask(self, shape: Shape | None = None) -> str:
        """An array of booleans."""
        return self.of(self.shape if shape is None else shape, "bool")

    def index(self) -> str:
        """An index: integers, slices, arrays, None, an ellipsis."""
        if self.chance(0.1):
            return self.mask()
        parts = []
        for size in self.shape[: self.rng.randrange(self.ndim + 1)]:
            parts.append(
                self.rng.choice([self._slice, lambda n: str(self.rng.randrange(-n, n) if n else 0), self._picks])(size)
            )
        if self.chance(0.2):
            parts.insert(self.rng.randrange(len(parts) + 1), "...")
        if self.chance(0.2):
            parts.insert(self.rng.randrange(len(parts) + 1), "None")
        return ", ".join(parts) or "..."

    def _picks(self, size: int) -> str:
        return self.indices(size, self.rng.choice([(2,), (), (2, 1), (2,)]))

    def _slice(self, size: int) -> str:
        def bound() -> str:
            return self.one("", self.rng.randrange(-size - 1, size + 2))

        return f"{bound()}:{bound()}:{self.one('', '', -1, 2, -2)}"

    # Keys and functions.

    def key(self) -> str:
        """A random key."""
        seed = self.rng.randrange(100)
        return self.one(f"m.random.key({seed})", f"m.random.key({seed})", f"m.random.PRNGKey({seed})")

    def elementwise(self) -> str:
        """A function of one array."""
        return self.one("m.numpy.sin", "m.numpy.exp", "lambda x: x * x", "m.nn.relu", "lambda x: x + 1", "m.numpy.tanh")

    def scalar_function(self) -> str:
        """A differentiable function of one array that returns a number."""
        return self.one(
            "lambda x: (m.numpy.sin(x) * x).sum()",
            "lambda x: m.numpy.prod(x)",
            "lambda x: (x ** 3).sum()",
            "lambda x: m.numpy.max(x)",
            "lambda x: m.nn.logsumexp(x)",
            "lambda x: m.numpy.linalg.norm(x)",
        )

    def tree(self) -> str:
        """A tree of arrays and other leaves."""
        leaf = self.rng.choice([self.first, lambda: str(self.rng.randrange(9)), lambda: "None", lambda: repr("leaf")])
        return self.one(
            f"({leaf()}, [{leaf()}, {{'b': {leaf()}, 'a': {leaf()}}}])",
            f"{{'x': {leaf()}}}",
            f"[{leaf()}, ()]",
            leaf(),
            f"({leaf()}, None, [[{leaf()}]])",
        )
