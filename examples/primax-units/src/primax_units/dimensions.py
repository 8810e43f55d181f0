"""Dimensions: products of powers of the base units of the SI."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

__all__ = ["NONE", "A", "Dimension", "DimensionError", "K", "kg", "m", "mol", "s"]


class DimensionError(TypeError):
    """Dimensions do not agree, as in metres plus seconds."""


@dataclass(frozen=True)
class Dimension:
    """A product of powers of base units; the empty product is the dimension of plain numbers.

    Attributes:
      powers: the names of the base units with their powers, sorted and without zeros.
    """

    powers: tuple[tuple[str, Fraction], ...] = ()

    def __mul__(self, other: Any) -> Dimension:
        if not isinstance(other, Dimension):
            return NotImplemented
        powers = dict(self.powers)
        for name, power in other.powers:
            powers[name] = powers.get(name, Fraction(0)) + power
        return Dimension(tuple(sorted((name, power) for name, power in powers.items() if power)))

    def __truediv__(self, other: Any) -> Dimension:
        return self * other**-1 if isinstance(other, Dimension) else NotImplemented

    def __pow__(self, exponent: int | Fraction) -> Dimension:
        return Dimension(tuple((name, power * exponent) for name, power in self.powers if exponent))

    def __str__(self) -> str:
        return " ".join(name if power == 1 else f"{name}^{power}" for name, power in self.powers) or "no unit"


NONE = Dimension()
m, s, kg, A, K, mol = (Dimension(((name, Fraction(1)),)) for name in ("m", "s", "kg", "A", "K", "mol"))
