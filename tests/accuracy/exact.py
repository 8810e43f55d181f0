"""Exact values and derivatives by mpmath, which has as many digits as one asks for."""

from __future__ import annotations

import contextlib
import itertools
import math
import signal
from collections.abc import Callable, Iterator, Sequence

import mpmath
from mpmath import mp, mpc, mpf

SECONDS = 0.2  # for one value
FAILURES = (ValueError, ZeroDivisionError, OverflowError, NotImplementedError, MemoryError, TypeError)


class Undecided(ArithmeticError):
    """The exact value is not known: there is none, it has no limit, or it took too long."""


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Undecided("took too long")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.1)  # again, should mpmath catch the first
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _number(x: complex, digits: int) -> mpf | mpc:
    """A part that is a zero becomes a number so small that it decides the side of a branch cut and nothing else."""
    if not isinstance(x, complex):
        return mpf(x)
    small = mpf(2) ** -(digits // 2)
    re, im = (mpf(part) if part else small * math.copysign(1.0, part) for part in (x.real, x.imag))
    return mpc(re, im)


def _checked(value: object, real: bool) -> mpf | mpc:
    if isinstance(value, mpc):
        if real:
            raise Undecided("not defined for real numbers")
        if not (mpmath.isfinite(value.real) and mpmath.isfinite(value.imag)):
            raise Undecided("not finite")
        return value
    value = mpf(value)
    if not mpmath.isfinite(value):
        raise Undecided("not finite")
    return value


class Derivatives:
    """The value of a function at a point, and its partial derivatives by central differences.

    The step is ``2**-step`` times the distance to the next of the `singular` points of each argument, and to 0, unless
    the function of one argument is smooth elsewhere. A second, smaller step must give the same derivative to twice the
    digits that are compared.
    """

    def __init__(
        self,
        function: Callable[..., object],
        singular: Sequence[Sequence[float]],
        digits: int,
        step: int,
        precision: int,
        is_smooth_elsewhere: bool = False,
    ) -> None:
        self.function, self.singular, self.digits = function, singular, digits
        self.is_smooth_elsewhere = is_smooth_elsewhere
        self.step, self.agreement = step, mpf(2) ** -(precision + 10)

    def at(self, point: Sequence[complex], orders: int) -> list[list[mpf | mpc] | None]:
        """For order 0, 1 and 2: the value, the gradient, and the Hessian's upper triangle; None where undecided."""
        results: list[list[mpf | mpc] | None] = []
        with mp.workprec(self.digits):
            try:
                with _limited(SECONDS * (1 + 4 * orders)):
                    z = [_number(x, self.digits) for x in point]
                    center = _checked(self.function(*z), not isinstance(z[0], mpc))
                    if self._is_pole(point, center):
                        raise Undecided("a pole")
                    results.append([center])
                    if orders:
                        results += self._derivatives(z, point, center)[:orders]
            except FAILURES:
                pass
            except Undecided:
                pass
        return results + [None] * (orders + 1 - len(results))

    def _is_pole(self, point: Sequence[complex], center: mpf | mpc) -> bool:
        """Whether a complex number that is beside a zero by less than it can say makes the value large."""
        if not isinstance(point[0], complex) or abs(center) < 16:
            return False
        nearer = self.function(*(_number(x, 2 * self.digits) for x in point))
        return abs(nearer - center) > self.agreement * abs(center)

    def _scale(self, index: int, point: Sequence[complex]) -> mpf:
        x = point[index]
        others = [mpf(abs(y)) for i, y in enumerate(point) if i != index and y]
        if len(point) == 1 and self.is_smooth_elsewhere:
            scale = mpf(1)
        else:
            scale = min([mpf(1), *others]) if x == 0 else min(mpf(1), mpf(abs(x)))
        for singular in self.singular[index] if index < len(self.singular) else ():
            distance = abs(_number(x, self.digits) - singular)
            if distance:
                scale = min(scale, distance)
        return scale

    def _derivatives(self, z: list, point: Sequence[complex], center: object) -> list[list | None]:
        count = len(z)
        scales = [self._scale(i, point) for i in range(count)]
        # Along the larger part: cuts are along the axes.
        units = [1 if not isinstance(x, complex) or abs(x.real) >= abs(x.imag) else mpc(0, 1) for x in point]
        # Only at a singular point may the second derivative of the left side differ from that of the right side.
        corner = [any(x == s for s in self.singular[i]) for i, x in enumerate(point) if i < len(self.singular)]
        both, bends, jumps = [], [], []
        for step in (self.step, self.step + 9):
            h = [s * u * mpf(2) ** -step for s, u in zip(scales, units, strict=True)]

            def at(*moves: tuple[int, int], h: list = h) -> object:
                moved = list(z)
                for index, sign in moves:
                    moved[index] = moved[index] + sign * h[index]
                return _checked(self.function(*moved), not isinstance(moved[0], mpc))

            sides = [(at((i, 1)), at((i, -1))) for i in range(count)]
            bends.append([plus - 2 * center + minus for plus, minus in sides])
            jumps.append(
                [self._jump(at, i, center, *sides[i]) / h[i] ** 2 if kink else mpf(0) for i, kink in enumerate(corner)]
            )
            first = [(plus - minus) / (2 * h[i]) for i, (plus, minus) in enumerate(sides)]
            second = []
            for i, j in itertools.combinations_with_replacement(range(count), 2):
                if i == j:
                    second.append(bends[-1][i] / h[i] ** 2)
                else:
                    corners = at((i, 1), (j, 1)) - at((i, 1), (j, -1)) - at((i, -1), (j, 1)) + at((i, -1), (j, -1))
                    second.append(corners / (4 * h[i] * h[j]))
            both.append((first, second))
        first, second = (self._agreeing(a, b) for a, b in zip(*both, strict=True))
        noise = abs(center) * mpf(2) ** (100 - self.digits)
        for i, (wide, narrow) in enumerate(zip(*bends, strict=True)):
            # With a step smaller by 2**-9 it is smaller by 2**-18, and only by 2**-9 at a kink.
            if abs(wide) > noise and abs(narrow) > abs(wide) * mpf(2) ** -14:
                first[i] = None
        # A jump of a smooth function becomes smaller with the step.
        for i, (wide, narrow) in enumerate(zip(*jumps, strict=True)):
            if abs(narrow) > abs(wide) * mpf(2) ** -4 and abs(narrow) > self.agreement:
                place = sum(count - k for k in range(i))
                second[place] = None
        return [first, second]

    @staticmethod
    def _jump(at: Callable[..., object], i: int, center: object, plus: object, minus: object) -> object:
        """The second difference to the right of a point less that to its left."""
        return (at((i, 2)) - 2 * plus) - (at((i, -2)) - 2 * minus)

    def _agreeing(self, one: list, other: list) -> list:
        floor = mpf(2) ** -1200
        return [b if abs(a - b) <= self.agreement * abs(b) + floor else None for a, b in zip(one, other, strict=True)]


def limit(function: Callable[..., object], sign: int, digits: int) -> float | None:
    """The limit of a function of one argument at ``sign * inf``, a number, 0 or an infinity; None if there is none."""
    with mp.workprec(digits):
        try:
            with _limited(SECONDS):
                near, far = (_checked(function(sign * mpf(2) ** e), real=True) for e in (600, 700))
        except (*FAILURES, Undecided):
            return None
        if abs(near - far) <= abs(far) * mpf(2) ** -60:
            return float(far)
        if abs(far) < abs(near) and abs(far) < mpf(2) ** -60:
            return 0.0
        if abs(far) > abs(near) > 100 and near * far > 0:
            # Logarithms grow slowly, and grow on.
            return math.copysign(math.inf, float(mpmath.sign(far)))
        return None
