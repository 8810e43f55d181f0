"""Symbolic dimensions: sizes of axes that are polynomials of named sizes.

    b, n = symbolic_shape("b, 2*n")

Sums, differences and products of dimensions are polynomials with integer coefficients in a normal form, so equal
polynomials are equal objects in a dict. `//`, `%`, `max` and `min` of dimensions that these cannot resolve are further
variables, with operands. A comparison is decided by the bounds of the difference; if they do not decide, it raises
`InconclusiveDimensionOperation`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from primax.extend.dimensions import InconclusiveDimensionOperation, max_dim, min_dim
from primax.extend.provisional.dimensions import as_array

_INFINITE = float("inf")
_MOST_TERMS = 200
_DEPTH = 3  # how often bounds are improved by adding constraints


class Atom(NamedTuple):
    """A named size, or an operation on dimensions that is not a polynomial."""

    kind: str  # "size", "floordiv", "mod", "max" or "min"
    operands: tuple[Any, ...]  # the name, or the two operands

    def __str__(self) -> str:
        if self.kind == "size":
            return str(self.operands[0])
        return f"{self.kind}({', '.join(map(str, self.operands))})"


Monomial = tuple[tuple[Atom, int], ...]  # the factors and their powers, in the order of their texts
Terms = dict[Monomial, int]


class SymbolicDim:
    """The size of an axis: a polynomial of named sizes. See the module for its rules."""

    __slots__ = ("__weakref__", "_hash", "scope", "terms")

    def __init__(self, terms: Terms, scope: Any) -> None:
        self.terms = terms
        self.scope = scope
        self._hash = hash((id(scope), frozenset(terms.items())))

    # Arithmetic

    def __add__(self, other: Any) -> Any:
        terms = _terms(other)
        if terms is None:
            return _on_arrays(self, "__add__", other)
        return _dimension(_sum(self.terms, terms), _scope(self, other))

    def __radd__(self, other: Any) -> Any:
        return self + other if _terms(other) is not None else _on_arrays(self, "__radd__", other)

    def __sub__(self, other: Any) -> Any:
        terms = _terms(other)
        if terms is None:
            return _on_arrays(self, "__sub__", other)
        return _dimension(_sum(self.terms, terms, -1), _scope(self, other))

    def __rsub__(self, other: Any) -> Any:
        return -self + other if _terms(other) is not None else _on_arrays(self, "__rsub__", other)

    def __neg__(self) -> Any:
        return _dimension({monomial: -count for monomial, count in self.terms.items()}, self.scope)

    def __pos__(self) -> SymbolicDim:
        return self

    def __mul__(self, other: Any) -> Any:
        terms = _terms(other)
        if terms is None:
            return _on_arrays(self, "__mul__", other)
        return _dimension(_product(self.terms, terms), _scope(self, other))

    def __rmul__(self, other: Any) -> Any:
        return self * other if _terms(other) is not None else _on_arrays(self, "__rmul__", other)

    def __pow__(self, power: Any) -> Any:
        if type(power) is not int or power < 0:
            return _on_arrays(self, "__pow__", power)
        return math.prod([self] * power)

    def __floordiv__(self, other: Any) -> Any:
        return _divided(self, other, 0) if _terms(other) is not None else _on_arrays(self, "__floordiv__", other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _divided(other, self, 0) if _terms(other) is not None else _on_arrays(self, "__rfloordiv__", other)

    def __mod__(self, other: Any) -> Any:
        return _divided(self, other, 1) if _terms(other) is not None else _on_arrays(self, "__mod__", other)

    def __rmod__(self, other: Any) -> Any:
        return _divided(other, self, 1) if _terms(other) is not None else _on_arrays(self, "__rmod__", other)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    def __truediv__(self, other: Any) -> Any:
        return _on_arrays(self, "__truediv__", other)

    def __rtruediv__(self, other: Any) -> Any:
        return _on_arrays(self, "__rtruediv__", other)

    def sizes(self) -> set[Atom]:
        """The named sizes in it."""
        sizes: set[Atom] = set()
        for monomial in self.terms:
            for atom, _ in monomial:
                if atom.kind == "size":
                    sizes.add(atom)
                else:
                    for operand in atom.operands:
                        if isinstance(operand, SymbolicDim):
                            sizes |= operand.sizes()
        return sizes

    def solved_for(self, size: Atom) -> tuple[Any, Any] | None:
        """The factor f and the rest r, without the named size, for which this is f * size + r; None if not linear."""
        factor: Terms = {}
        rest: Terms = {}
        for monomial, count in self.terms.items():
            powers = dict(monomial)
            if powers.pop(size, 0) == 1:
                factor = _sum(factor, {tuple(powers.items()): count})
            elif size in dict(monomial):
                return None
            else:
                rest = _sum(rest, {monomial: count})
        parts = _dimension(factor, self.scope), _dimension(rest, self.scope)
        if any(isinstance(part, SymbolicDim) and size in part.sizes() for part in parts):
            return None
        return parts

    def replaced(self, values: Mapping[Atom, Any]) -> Any:
        """The dimension with values for its named sizes."""
        total: Any = 0
        for monomial, count in self.terms.items():
            product: Any = count
            for atom, power in monomial:
                if atom.kind == "size":
                    value = values[atom]
                else:
                    a, b = [x.replaced(values) if isinstance(x, SymbolicDim) else x for x in atom.operands]
                    value = CALLS[atom.kind](a, b)
                product = product * value**power
            total = total + product
        return total

    # Comparison

    def __eq__(self, other: object) -> Any:
        terms = _terms(other)
        if terms is None:
            return NotImplemented
        if isinstance(other, SymbolicDim) and other.scope is not self.scope:
            if self.terms == terms:
                self.scope.distinguish(other.scope)  # a message about the two types would show them as equal
            return False  # types of two scopes must not become one
        if self.terms == terms:
            return True
        difference = self - other
        if not isinstance(difference, SymbolicDim):
            return difference == 0
        least, most = bounds(difference)
        return least == most == 0

    def __hash__(self) -> int:
        return self._hash

    def __ge__(self, other: Any) -> Any:
        if _terms(other) is None:
            return _on_arrays(self, "__ge__", other)
        return self._at_least(other, 0, ">=")

    def __gt__(self, other: Any) -> Any:
        if _terms(other) is None:
            return _on_arrays(self, "__gt__", other)
        return self._at_least(other, 1, ">")

    def __le__(self, other: Any) -> Any:
        if _terms(other) is None:
            return _on_arrays(self, "__le__", other)
        return not self._at_least(other, 1, "<=")

    def __lt__(self, other: Any) -> Any:
        if _terms(other) is None:
            return _on_arrays(self, "__lt__", other)
        return not self._at_least(other, 0, "<")

    def _at_least(self, other: Any, more: int, sign: str) -> bool:
        difference = self - other - more
        if not isinstance(difference, SymbolicDim):
            return bool(difference >= 0)
        least, most = bounds(difference)
        if least >= 0:
            return True
        if most < 0:
            return False
        example = {">": f"{self} >= {other + 1}", "<": f"{self} >= {other}"}.get(sign, f"{self} {sign} {other}")
        raise InconclusiveDimensionOperation(
            f"Symbolic dimension comparison '{self}' {sign} '{other}' is inconclusive. A constraint may decide it: "
            f"symbolic_shape(..., constraints=['{example}'])."
        )

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __index__(self) -> int:
        raise InconclusiveDimensionOperation(
            f"Symbolic dimension '{self}' used in a context that requires a constant. Its value is known when a "
            "program runs."
        )

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __repr__(self) -> str:
        return str(self)

    @property
    def spelling(self) -> str:
        """Its text as `symbolic_shape` reads it, without primes."""
        return str(self).replace("'", "")

    def __str__(self) -> str:
        """Its text; if sizes of two scopes with the same names were compared, those of one scope have a prime."""
        texts: list[str] = []
        for monomial, count in sorted(self.terms.items(), key=lambda term: (-_degree(term[0]), _text(term[0]))):
            factors = _text(monomial)
            sign = "-" if count < 0 else "+" if texts else ""
            size = "" if abs(count) == 1 and monomial else str(abs(count))
            texts.append(f" {sign} " * bool(texts) if texts else sign)
            texts.append(f"{size}*{factors}" if size and factors else size or factors)
        text = "".join(texts)
        return _SIZE.sub(rf"\g<0>{self.scope.mark}", text) if self.scope.mark else text

    def __jax_array__(self) -> Any:
        return as_array(self)

    def __reduce__(self) -> Any:
        return SymbolicDim, (self.terms, self.scope)

    def __copy__(self) -> SymbolicDim:
        return self

    def __deepcopy__(self, _: Any) -> SymbolicDim:
        return self


_SIZE = re.compile(r"\b[^\W\d]\w*\b(?!\()(?!')")  # the name of a size, not of an operation


def _degree(monomial: Monomial) -> int:
    return sum([power for _, power in monomial])


def _text(monomial: Monomial) -> str:
    return "*".join([f"{atom}^{power}" if power > 1 else str(atom) for atom, power in monomial])


def _on_arrays(dim: SymbolicDim, method: str, other: Any) -> Any:
    """An operator with a number that is not an integer, or with an array."""
    if isinstance(other, int | float | complex) or hasattr(other, "dtype"):
        return getattr(as_array(dim), method)(other)
    return NotImplemented


def _terms(value: Any) -> Terms | None:
    """The terms of a dimension or an integer; None for other values."""
    if isinstance(value, SymbolicDim):
        return value.terms
    if hasattr(value, "aval") or getattr(value, "shape", ()) != ():
        return None
    try:
        number = int(value.__index__())
    except (AttributeError, TypeError):
        return None
    return {(): number} if number else {}


def _scope(a: Any, b: Any) -> Any:
    scopes = {id(v.scope): v.scope for v in (a, b) if isinstance(v, SymbolicDim)}
    if len(scopes) > 1:
        raise ValueError(
            f"Symbolic dimensions of the same program must be of the same scope: '{a}' and '{b}' come from two calls "
            "of symbolic_shape. Give the second call scope= of the first."
        )
    return next(iter(scopes.values()))


def _dimension(terms: Terms, scope: Any) -> SymbolicDim | int:
    """A dimension, or an integer if no named size is left."""
    for monomial in list(terms):
        if monomial in scope.equal:
            count = terms[monomial]
            rest = {other: n for other, n in terms.items() if other != monomial}
            dim: SymbolicDim | int = _dimension(rest, scope) + count * scope.equal[monomial]
            return dim
    if not terms:
        return 0
    if len(terms) > _MOST_TERMS:
        raise OverflowError(f"a symbolic dimension must have at most {_MOST_TERMS} terms, got {len(terms)}")
    if len(terms) == 1 and () in terms:
        return terms[()]
    return SymbolicDim(terms, scope)


def dim_of(atom: Atom, scope: Any) -> Any:
    """The dimension of one named size or operation."""
    return _dimension({((atom, 1),): 1}, scope)


def _sum(a: Terms, b: Terms, factor: int = 1) -> Terms:
    out = dict(a)
    for monomial, count in b.items():
        total = out.pop(monomial, 0) + factor * count
        if total:
            out[monomial] = total
    return out


def _product(a: Terms, b: Terms) -> Terms:
    out: Terms = {}
    for first, m in a.items():
        for second, n in b.items():
            monomial = _joined(first, second)
            out[monomial] = out.get(monomial, 0) + m * n
    return {monomial: count for monomial, count in out.items() if count}


def _joined(a: Monomial, b: Monomial) -> Monomial:
    powers = dict(a)
    for atom, power in b:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=lambda factor: str(factor[0])))


def _quotient(a: Monomial, b: Monomial) -> Monomial | None:
    powers = dict(a)
    for atom, power in b:
        rest = powers.pop(atom, 0) - power
        if rest < 0:
            return None
        if rest:
            powers[atom] = rest
    return tuple(sorted(powers.items(), key=lambda factor: str(factor[0])))


def _divided(a: Any, b: Any, which: int) -> Any:
    """`a // b`, or `a % b` if `which` is 1."""
    scope = _scope(a, b)
    numerator, denominator = _terms(a), _terms(b)
    assert numerator is not None
    assert denominator is not None
    if not denominator:
        raise ZeroDivisionError(f"division of the dimension '{a}' by zero")
    (lead, factor), *others = denominator.items()
    whole: Terms = {}
    rest = dict(numerator)
    if not others:  # terms that the divisor divides leave no rest
        for monomial, count in numerator.items():
            left = _quotient(monomial, lead)
            if left is not None and count % factor == 0:
                whole = _sum(whole, {left: count // factor})
                del rest[monomial]
    elif (exact := _exact(numerator, denominator)) is not None:
        whole, rest = exact, {}
    remaining, quotient = _dimension(rest, scope), _dimension(whole, scope)
    if type(remaining) is int and type(b) is int:
        more, least = divmod(remaining, b)
        return least if which else quotient + more
    if type(remaining) is int and remaining == 0:
        return 0 if which else quotient
    small = _bounds(remaining)
    size = _bounds(b)
    if small[0] >= 0 and small[1] < size[0]:
        return remaining if which else quotient
    if which:
        return dim_of(Atom("mod", (remaining, b)), scope)
    return quotient + dim_of(Atom("floordiv", (remaining, b)), scope)


def _exact(numerator: Terms, denominator: Terms) -> Terms | None:
    """The quotient of two polynomials without a remainder; None if there is a remainder."""
    atoms = sorted({atom for terms in (numerator, denominator) for monomial in terms for atom, _ in monomial}, key=str)

    def order(monomial: Monomial) -> tuple[int, ...]:  # graded lexicographic, which products preserve
        powers = dict(monomial)
        return _degree(monomial), *[powers.get(atom, 0) for atom in atoms]

    lead = max(denominator, key=order)
    whole: Terms = {}
    rest = numerator
    while rest:
        top = max(rest, key=order)
        left = _quotient(top, lead)
        if left is None or rest[top] % denominator[lead]:
            return None
        step = {left: rest[top] // denominator[lead]}
        whole = _sum(whole, step)
        rest = _sum(rest, _product(step, denominator), -1)
    return whole


def extreme(kind: str, a: Any, b: Any) -> Any:
    """The larger or smaller of two dimensions, symbolic if their order is not known; `kind` is "max" or "min"."""
    least, most = _bounds(a - b)
    if least >= 0:
        return a if kind == "max" else b
    if most <= 0:
        return b if kind == "max" else a
    return dim_of(Atom(kind, (a, b)), _scope(a, b))


class Solved(NamedTuple):
    """How a named size follows from a dimension: dimension = factor * size + rest."""

    place: int  # the position of the dimension
    size: Atom
    factor: Any
    rest: Any


def solutions(dims: Sequence[SymbolicDim]) -> list[Solved]:
    """The named sizes that follow from one of the dimensions and earlier sizes, each with this solution."""
    steps: list[Solved] = []
    known: set[Atom] = set()
    order = sorted(range(len(dims)), key=lambda place: len(dims[place].terms))
    count = -1
    while count != len(steps):
        count = len(steps)
        for place in order:
            unknown = dims[place].sizes() - known
            solved = dims[place].solved_for(next(iter(unknown))) if len(unknown) == 1 else None
            if solved is not None:
                (size,) = unknown
                steps.append(Solved(place, size, *solved))
                known.add(size)
    return steps


# Bounds


def bounds(dim: Any) -> tuple[float, float]:
    """The least and the largest value that a dimension may have."""
    return _bounds(dim)


def _bounds(dim: Any, depth: int = _DEPTH) -> tuple[float, float]:
    if not isinstance(dim, SymbolicDim):
        return dim, dim
    least: float = 0
    most: float = 0
    for monomial, count in dim.terms.items():
        low, high = _of_monomial(monomial, dim.scope)
        ends = (_times(count, low), _times(count, high))
        least, most = least + min(ends), most + max(ends)
    if depth:
        for known in [*dim.scope.not_negative, *_implied(dim)]:
            for monomial, count in known.terms.items():
                if monomial and monomial in dim.terms and dim.terms[monomial] % count == 0:
                    factor = dim.terms[monomial] // count
                    low, high = _bounds(dim - factor * known, depth - 1)
                    if factor > 0:
                        least = max(least, low)
                    else:
                        most = min(most, high)
    return least, most


def _implied(dim: SymbolicDim) -> list[SymbolicDim]:
    """Dimensions that are at least 0 by the definitions of the operations in a dimension."""
    nonnegative: list[Any] = []
    for monomial in dim.terms:
        for atom, _ in monomial:
            if atom.kind == "size":
                continue
            a, b = atom.operands
            value = dim_of(atom, dim.scope)
            if atom.kind == "max":
                nonnegative += [value - a, value - b]
            elif atom.kind == "min":
                nonnegative += [a - value, b - value]
            elif _bounds(b, 0)[0] > 0:
                rest = value if atom.kind == "mod" else a - value * b
                nonnegative += [rest, b - 1 - rest]
    return [known for known in nonnegative if isinstance(known, SymbolicDim)]


def _of_monomial(monomial: Monomial, scope: Any) -> tuple[float, float]:
    least: float = 1
    most: float = 1
    for atom, power in monomial:
        low, high = _of_atom(atom, scope)
        for _ in range(power):
            ends = [_times(x, y) for x in (least, most) for y in (low, high)]
            least, most = min(ends), max(ends)
    return least, most


def _of_atom(atom: Atom, scope: Any) -> tuple[float, float]:
    if atom.kind == "size":
        return scope.limits.get(atom, (1, _INFINITE))
    (low, high), (least, most) = map(_bounds, atom.operands)
    if atom.kind == "max":
        return max(low, least), max(high, most)
    if atom.kind == "min":
        return min(low, least), min(high, most)
    if least <= 0:
        return -_INFINITE, _INFINITE
    if atom.kind == "mod":
        return 0, most - 1
    ends = [_floor(x, y) for x in (low, high) for y in (least, most)]
    return min(ends), max(ends)


def _times(a: float, b: float) -> float:
    return 0 if a == 0 or b == 0 else a * b


def _floor(a: float, b: float) -> float:
    if math.isinf(b):
        return 0 if a >= 0 else -1
    return a if math.isinf(a) else a // b


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "max": max_dim,
    "min": min_dim,
}
