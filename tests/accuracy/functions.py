"""What a function of the tables is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

REAL = ("float16", "bfloat16", "float32", "float64")
ALL = (*REAL, "complex64", "complex128")


@dataclasses.dataclass(frozen=True)
class Limit:
    """An interval in which a function does not keep its bound, and the reason.

    `where` has the arguments as arrays of float64 or complex128 and returns the points that are meant; `at_most` is
    the bound there, in ulp.
    """

    interval: str
    reason: str
    where: Callable[..., np.ndarray]
    dtypes: tuple[str, ...] = ALL
    orders: tuple[int, ...] = (0, 1, 2)
    at_most: float = float("inf")


@dataclasses.dataclass(frozen=True)
class Function:
    """A function of primax, the same by mpmath, and the points at which something happens to it.

    `name` is its path in primax and jax; `parameters` are passed as static keyword arguments, `before` are static
    arguments before the others. `exact` takes ``mpf`` or ``mpc``. `landmarks` are zeros, poles, branch points and
    thresholds of each argument; `singular` those where the function is not smooth (the landmarks, if not given).
    `orders` is the highest derivative that exists.
    """

    name: str
    exact: Callable[..., object]
    landmarks: tuple[tuple[float, ...], ...] = ((),)
    singular: tuple[tuple[complex, ...], ...] | None = None
    reference: str = ""
    special: bool = False
    dtypes: tuple[str, ...] = REAL
    orders: int = 2
    parameters: tuple[tuple[str, object], ...] = ()
    before: tuple[object, ...] = ()
    limits: tuple[Limit, ...] = ()
    domain: Callable[..., bool] | None = None  # of floats: the points that are taken at all
    without: tuple[str, ...] = ()  # libraries that do not compile it in minutes

    @property
    def arity(self) -> int:
        return len(self.landmarks)

    @property
    def label(self) -> str:
        extra = [f"{k}={v}" for k, v in self.parameters]
        return self.name + (f"({', '.join([*map(str, self.before), *extra])})" if extra or self.before else "")

    def bound(self, order: int) -> float:
        """In ulp: 4, or 64 for special functions; twice that for derivatives."""
        return (64.0 if self.special else 4.0) * (2.0 if order else 1.0)
