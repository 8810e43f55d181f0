"""Texts of symbolic shapes, constraints between their sizes, and the values of sizes for given shapes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from primax.extend.provisional.arguments import sequence
from primax.extend.provisional.dimensions import definition
from primax.plugins.symbolic_shapes.dims import CALLS, Atom, SymbolicDim, bounds, dim_of, solutions

_LONGEST = 1000  # letters in the text of a size
_HIGHEST = 64  # power
_DEEPEST = 50  # parentheses
_TOKEN = re.compile(r"\d+|[^\W\d]\w*|[-+*^(),]")
_SIGNS = (">=", "<=", "==")


class SymbolicScope:
    """The named sizes that may occur together, and the constraints between them.

    Args:
      constraints_str: a sequence of texts such as "a >= 2", "a <= 2*b" and "mod(a, 8) == 0".

    Raises:
      TypeError: `constraints_str` is not a sequence.
      ValueError: a constraint is not such a text, or compares constants and is false, such as "1 >= 2".

    >>> import primax as px
    >>> scope = px.export.SymbolicScope(["b >= 2"])
    >>> (b,) = px.export.symbolic_shape("b", scope=scope)
    >>> b > 1
    True
    """

    def __init__(self, constraints_str: Sequence[str] = ()) -> None:
        if isinstance(constraints_str, str):
            raise ValueError(f"SymbolicScope: constraints_str must be a sequence of texts, got {constraints_str!r}")
        definition("SymbolicScope")  # loads this plugin
        self.not_negative: list[SymbolicDim] = []  # known to be at least 0
        self.equal: dict[Any, SymbolicDim | int] = {}  # for products that are equal to another dimension
        self.limits: dict[Atom, tuple[float, float]] = {}  # the least and the largest value of a named size
        self.mark = ""  # the suffix of the names of its sizes in texts
        self._checks: list[tuple[str, Any, str]] = []
        self.constraints = tuple(sequence("SymbolicScope", "constraints_str", constraints_str))
        for text in self.constraints:
            self._add(text)

    def distinguish(self, other: SymbolicScope) -> None:
        """Let texts distinguish the sizes of another scope from those of this one."""
        if self.mark == other.mark:
            other.mark += "'"

    def _add(self, text: Any) -> None:
        sign = next((sign for sign in _SIGNS if isinstance(text, str) and sign in text), None)
        if sign is None:
            raise ValueError(f"SymbolicScope: a constraint must be a text with >=, <= or ==, got {text!r}")
        a, b = (_parsed(side, self, text) for side in text.split(sign, 1))
        difference = b - a if sign == "<=" else a - b
        self._checks.append((text, difference, sign))
        if isinstance(difference, int):  # also where earlier constraints make it one
            if difference < 0 or (sign == "==" and difference):
                raise ValueError(f"SymbolicScope: the constraint {text!r} can never hold")
        elif sign != "==":
            self.not_negative.append(difference)
            self._limit(difference)
        else:
            if isinstance(b, SymbolicDim) and isinstance(a, SymbolicDim) and a.sizes() & b.sizes():
                raise ValueError(f"SymbolicScope: the sides of == must have no size in common, got {text!r}")
            product = next(iter(a.terms.items())) if isinstance(a, SymbolicDim) and len(a.terms) == 1 else (None, 0)
            if product[1] != 1:
                raise ValueError(f"SymbolicScope: the left side of == must be a size or one operation, got {text!r}")
            self.equal[product[0]] = b

    def _limit(self, least_zero: SymbolicDim) -> None:
        """Take the limit of one named size from a dimension that is at least 0."""
        size, *others = least_zero.sizes()
        factor, rest = (None, None) if others else least_zero.solved_for(size) or (None, None)
        if isinstance(factor, int) and isinstance(rest, int):
            least, most = self.limits.get(size, (1, math.inf))
            if factor > 0:
                least = max(least, -(rest // factor))
            else:
                most = min(most, rest // -factor)
            self.limits[size] = least, most

    def check(self, values: Mapping[Atom, Any]) -> None:
        """Check the constraints.

        Raises:
          ValueError: one does not hold for these values of the named sizes, or may not hold.
        """
        for text, difference, sign in self._checks:
            if isinstance(difference, SymbolicDim) and difference.sizes() <= values.keys():
                least, most = bounds(difference.replaced(values))
                if least < 0 or (sign == "==" and most > 0):
                    verb = "does" if most < 0 or (sign == "==" and least > 0) else "may"
                    sizes = ", ".join(f"{size} = {values[size]}" for size in sorted(difference.sizes(), key=str))
                    raise ValueError(f"the constraint {text!r} {verb} not hold for {sizes}")

    def __reduce__(self) -> Any:
        return SymbolicScope, (self.constraints,)

    def __repr__(self) -> str:
        return f"SymbolicScope({list(self.constraints)})"


def values_of(required: Sequence[tuple[str, Sequence[Any]]], given: Sequence[Sequence[Any]]) -> dict[Atom, Any]:
    """The values of named sizes for which shapes become given ones.

    Args:
      required: for each shape a text that says where it is from, and its dimensions.
      given: the shapes, of the same ranks; their sizes are integers, or dimensions of another scope.

    Raises:
      ValueError: there are no such values, or the constraints exclude them; or may do so, if sizes are dimensions.
    """
    values: dict[Atom, Any] = {}
    places = [
        (size, got, where, axis)
        for (where, shape), sizes in zip(required, given, strict=True)
        for axis, (size, got) in enumerate(zip(shape, sizes, strict=True))
        if isinstance(size, SymbolicDim)
    ]
    for place, name, *parts in solutions([place[0] for place in places]):
        size, got, where, axis = places[place]
        factor, rest = (x.replaced(values) if isinstance(x, SymbolicDim) else x for x in parts)
        number, left = divmod(got - rest, factor) if factor else (0, 1)
        if left != 0 or bounds(number)[0] < 1:
            raise ValueError(f"axis {axis} of {where} must have the length {size} with {name} of 1 or more, got {got}")
        values[name] = number
    for size, got, where, axis in places:
        missing = size.sizes() - values.keys()
        if missing:
            raise ValueError(f"the size {min(map(str, missing))} does not follow from the shapes of the arguments")
        expected = size.replaced(values)
        if expected != got:
            known = ", ".join(f"{name} = {value}" for name, value in values.items() if name in size.sizes())
            raise ValueError(
                f"axis {axis} of {where} must have the length {size}, which is {expected} for {known}, got {got}"
            )
    if places:
        places[0][0].scope.check(values)
    return values


def symbolic_shape(
    shape_spec: str | None,
    *,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
    like: Sequence[int | None] | None = None,
) -> tuple[Any, ...]:
    """The shape that a text describes, whose sizes may be names.

    The sizes are integers, or symbolic dimensions: sums, differences and products of names of sizes and integers, and
    `floordiv`, `mod`, `max` and `min` of two of these. A named size is 1 or more.

    Args:
      shape_spec: the sizes, separated by commas, such as "b, 2*n, 3"; parentheses around them are optional. "_" is a
        size of `like`, and "..." at the end the rest of them; None is "...".
      constraints: texts such as "b >= 2", "n <= 2*b" and "mod(n, 8) == 0".
      scope: the scope that has the named sizes; by default a new one with the constraints. Dimensions of two scopes
        cannot be combined.
      like: a shape.

    Raises:
      ValueError: a text is wrong, `like` is missing or of another length, or there are both `constraints` and `scope`.

    >>> import primax as px
    >>> b, n = px.export.symbolic_shape("b, 2*n")
    >>> b * n // 2
    b*n
    """
    if scope is None:
        scope = SymbolicScope(constraints)
    elif not isinstance(constraints, tuple | list) or constraints:
        raise ValueError("symbolic_shape: constraints belong to the scope; give one of constraints and scope")
    elif not isinstance(scope, SymbolicScope):
        raise TypeError(f"symbolic_shape: scope must be a SymbolicScope or None, got {scope!r}")
    if not (shape_spec is None or isinstance(shape_spec, str)):
        raise TypeError(f"symbolic_shape: shape_spec must be a text or None, got {shape_spec!r}")
    text = "..." if shape_spec is None else shape_spec.strip()
    words = _split(text)
    sizes = None if like is None else sequence("symbolic_shape", "like", like)
    out: list[Any] = []
    for place, word in enumerate(words):
        if word == "..." and place == len(words) - 1:
            if sizes is None:
                raise ValueError(f"symbolic_shape: like must be given for '...' in {text!r}")
            rest = sizes[place:]
        elif word == "_":
            if sizes is None or place >= len(sizes):
                raise ValueError(f"symbolic_shape: like must have a size for '_' in {text!r}, got {like!r}")
            rest = [sizes[place]]
        else:
            rest = [_parsed(word, scope, text)]
            known = sizes[place] if sizes is not None and place < len(sizes) else None
            if type(rest[0]) is int and known is not None and rest[0] != known:
                raise ValueError(f"symbolic_shape: size {place} in {text!r} must be {known}, as in like, got {rest[0]}")
        if any(size is None for size in rest):
            raise ValueError(f"symbolic_shape: like must have a size where {text!r} has '_' or '...', got {like!r}")
        out += rest
    if sizes is not None and len(out) != len(sizes):
        raise ValueError(f"symbolic_shape: {text!r} must have as many sizes as like, got {len(out)} for {like!r}")
    return tuple(out)


def _split(text: str) -> list[str]:
    """The parts of a text between the commas that are not in parentheses; parentheses around it are left out."""
    inner = text[1:-1]
    if text == f"({inner})" and _is_balanced(inner):
        text = inner
    words, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            words.append("")
        else:
            words[-1] += letter
    if not words[-1].strip():  # after the last comma
        words.pop()
    return [word.strip() for word in words]


def _is_balanced(text: str) -> bool:
    """Whether each parenthesis that is closed was opened before."""
    depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return False
    return True


def _parsed(text: str, scope: SymbolicScope, whole: str) -> Any:
    """The dimension of a text."""
    try:
        if len(text) > _LONGEST:
            raise ValueError("it is too long")
        return _Parser(text, scope).dimension()
    except (ValueError, ArithmeticError):
        raise ValueError(
            f"symbolic_shape: {whole!r} must consist of integers, names, +, -, *, ^, floordiv, mod, max and min, "
            f"got {text.strip()!r}"
        ) from None


class _Parser:
    """Reads the text of a dimension. Python's own parser could do more than that with texts from files."""

    def __init__(self, text: str, scope: SymbolicScope) -> None:
        if _TOKEN.sub("", text).strip():
            raise ValueError("another character")
        self.tokens = [*_TOKEN.findall(text), ""]
        self.scope = scope
        self.depth = 0

    def dimension(self) -> Any:
        """The dimension of the whole text."""
        dim = self._sum()
        if self.tokens != [""]:
            raise ValueError("further tokens")
        return dim

    def _take(self, *tokens: str) -> str:
        """The next token if it is one of these; otherwise an empty text."""
        return self.tokens.pop(0) if self.tokens[0] and self.tokens[0] in tokens else ""

    def _require(self, token: str) -> None:
        if not self._take(token):
            raise ValueError(f"no {token}")

    def _sum(self) -> Any:
        total = -self._product() if self._take("-") else self._product()
        while sign := self._take("+", "-"):
            term = self._product()
            total = total + term if sign == "+" else total - term
        return total

    def _product(self) -> Any:
        product = self._power()
        while self._take("*"):
            product = product * self._power()
        return product

    def _power(self) -> Any:
        base = self._atom()
        if not self._take("^"):
            return base
        power = self.tokens.pop(0)
        if not power.isdecimal() or int(power) > _HIGHEST:
            raise ValueError("a power must be a small number")
        return base ** int(power)

    def _atom(self) -> Any:
        token = self.tokens.pop(0)
        if token.isdecimal():
            return int(token)
        if token == "(":
            return self._inner(1)[0]
        if not token.isidentifier():
            raise ValueError("no size")
        if not self._take("("):
            return dim_of(Atom("size", (token,)), self.scope)
        if token not in CALLS:
            raise ValueError("an unknown function")
        return CALLS[token](*self._inner(2))

    def _inner(self, count: int) -> list[Any]:
        """So many dimensions between commas, and the parenthesis after them."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ValueError("too many parentheses")
        operands = [self._sum()]
        for _ in range(count - 1):
            self._require(",")
            operands.append(self._sum())
        self._require(")")
        self.depth -= 1
        return operands
