"""Floating-point formats, and the distance of a number from an exact one in units of the last place."""

from __future__ import annotations

import dataclasses
import math

import ml_dtypes
import numpy as np
from mpmath import mpf


@dataclasses.dataclass(frozen=True)
class Format:
    """A binary format: a number is normal from ``2**least`` to below ``2**(most + 1)``."""

    name: str
    part: str  # the dtype of real numbers, and of the parts of complex ones
    precision: int  # bits of the significand
    least: int
    most: int

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(ml_dtypes.bfloat16 if self.name == "bfloat16" else self.name)

    @property
    def part_dtype(self) -> np.dtype:
        return np.dtype(ml_dtypes.bfloat16 if self.part == "bfloat16" else self.part)

    @property
    def is_complex(self) -> bool:
        return self.name != self.part

    @property
    def tiny(self) -> float:
        return math.ldexp(1.0, self.least)

    @property
    def largest(self) -> float:
        return math.ldexp(2.0 - math.ldexp(1.0, 1 - self.precision), self.most)

    def rounded(self, x: float) -> float:
        with np.errstate(over="ignore", under="ignore"):
            return float(np.float64(x).astype(self.part_dtype))

    def neighbor(self, x: float, steps: int) -> float:
        """The number that many steps above `x`, or below."""
        value = np.array(x, self.part_dtype)
        direction = np.array(math.inf if steps > 0 else -math.inf, self.part_dtype)
        for _ in range(abs(steps)):
            value = np.nextafter(value, direction)
        return float(value)

    def ulp(self, size: mpf) -> mpf:
        """The unit of the last place of a positive number, which is that of `tiny` below it."""
        _, mantissa, exponent, bits = size._mpf_
        return mpf((0, 1, max(exponent + bits - 1, self.least) - self.precision + 1, 1)) if mantissa else mpf(self.tiny)


FORMATS = {
    f.name: f
    for f in (
        Format("float16", "float16", 11, -14, 15),
        Format("bfloat16", "bfloat16", 8, -126, 127),
        Format("float32", "float32", 24, -126, 127),
        Format("float64", "float64", 53, -1022, 1023),
        Format("complex64", "float32", 24, -126, 127),
        Format("complex128", "float64", 53, -1022, 1023),
    )
}

WRONG = math.inf  # the distance of a NaN or an infinity from a number in the range


def ulps(form: Format, computed: complex, exact: object) -> float:
    """The distance of `computed` from `exact`, an ``mpf`` or ``mpc``, in units of the last place.

    It is 0 where `exact` is below the normal numbers and `computed` is not above them, and where both leave the range.
    Both parts of a complex number are measured in units of the larger part; if it leaves the range, `computed` may be
    any number that is not finite.
    """
    if not form.is_complex:
        return _real(form, float(computed.real), exact.real, abs(exact.real))
    size = max(abs(exact.real), abs(exact.imag))
    if size > form.largest:
        return 0.0 if not np.isfinite(computed) or abs(computed) > form.largest / 2 else WRONG
    parts = ((computed.real, exact.real), (computed.imag, exact.imag))
    below = (abs(c) <= form.tiny and abs(e) < form.tiny for c, e in parts)
    return max(0.0 if small else _real(form, float(c), e, size) for (c, e), small in zip(parts, below, strict=True))


def _real(form: Format, computed: float, exact: mpf, size: mpf) -> float:
    if math.isnan(computed):
        return WRONG
    if abs(exact) > form.largest:
        # An infinity, or a number by some steps too small.
        if math.isinf(computed):
            return 0.0 if (computed > 0) == (exact > 0) else WRONG
        unit = form.ulp(mpf(form.largest))
        return float(max((mpf(form.largest) - abs(computed)) / unit, 0)) if (computed > 0) == (exact > 0) else WRONG
    if math.isinf(computed):
        unit = form.ulp(mpf(form.largest))
        near = (mpf(form.largest) - abs(exact)) / unit
        return float(near) + 1.0 if near < 256 and (computed > 0) == (exact > 0) else WRONG
    if size < form.tiny:
        return (
            0.0 if abs(computed) <= form.tiny else float(min(abs(computed) / mpf(form.tiny), 1e9)) * 2.0**form.precision
        )
    distance = abs(mpf(computed) - exact) / form.ulp(size)
    return float(distance) if distance < 1e300 else 1e300
