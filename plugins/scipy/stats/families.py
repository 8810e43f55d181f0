"""Families of distributions, each made of a few functions of the standard one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from primax.extend.core import get_aval
from primax.plugins.numpy.selection import where
from primax.plugins.numpy.ufuncs import exp, log, log1p
from primax.plugins.scipy.special.operands import real

__all__ = ["Continuous", "Discrete"]

Function = Callable[..., Any]


class _Distribution:
    """What both kinds have in common: how arguments are read.

    Args:
      name: in messages.
      shapes: the names of the parameters besides location and scale, in one string.
      given: standard functions by name.
    """

    parameters: tuple[Parameter, ...] = ()

    def __init__(self, name: str, shapes: str = "", **given: Function) -> None:
        self.name = name
        self.__module__ = sys._getframe(1).f_globals["__name__"]  # where it is found by its name, as pickling does
        self.__doc__ = f"The {name} distribution."
        self._given = given
        kind = Parameter.POSITIONAL_OR_KEYWORD
        first = [Parameter(each, kind) for each in ("x", *shapes.split())]
        self._signature = Signature([*first, *self.parameters])

    def __repr__(self) -> str:
        return f"<the {self.name} distribution>"

    def __reduce__(self) -> str:
        return self.name

    def _standard(self, method: str) -> Function:
        found = self._given.get(method)
        if found is None:
            raise NotImplementedError(f"{self.name}.{method} has no formula here; it has {', '.join(self._given)}")
        return found

    def _read(self, method: str, args: Any, kwargs: Any) -> list[Any]:
        """The arguments in the order of the signature, promoted and broadcast."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return real(f"{self.name}.{method}", *bound.arguments.values())


def _loc_and_scale() -> tuple[Parameter, ...]:
    kind = Parameter.POSITIONAL_OR_KEYWORD
    return Parameter("loc", kind, default=0), Parameter("scale", kind, default=1)


class Continuous(_Distribution):
    """Distributions of real numbers. All methods take the number, the parameters, then `loc=0` and `scale=1`.

    The standard distribution is given by `logpdf`, and perhaps by `cdf`, `sf`, `logcdf`, `logsf`, `ppf` and `isf`, of
    the standardized number and the parameters; `support` gives its two ends, of the parameters.
    """

    parameters = _loc_and_scale()

    def _ends(self, shapes: Any) -> tuple[Any, Any]:
        support = self._given.get("support")
        return (-np.inf, np.inf) if support is None else support(*shapes)

    def _standardized(self, method: str, args: Any, kwargs: Any) -> tuple[Any, list[Any], Any]:
        x, *shapes, loc, scale = self._read(method, args, kwargs)
        return (x - loc) / scale, shapes, scale

    def logpdf(self, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the density; minus infinity outside of the support."""
        z, shapes, scale = self._standardized("logpdf", args, kwargs)
        low, high = self._ends(shapes)
        inside = (z >= low) & (z <= high)
        out = self._standard("logpdf")(z, *shapes) - log(scale)
        return out if "support" not in self._given else _filled(inside, out, -np.inf)

    def pdf(self, *args: Any, **kwargs: Any) -> Any:
        """The density."""
        return exp(self.logpdf(*args, **kwargs))

    def _probability(self, method: str, below: float, above: float, args: Any, kwargs: Any) -> Any:
        z, shapes, _ = self._standardized(method, args, kwargs)
        out = self._standard(method)(z, *shapes)
        if "support" not in self._given:
            return out
        low, high = self._ends(shapes)
        return _filled(z >= low, _filled(z <= high, out, above), below)

    def cdf(self, *args: Any, **kwargs: Any) -> Any:
        """The probability of numbers up to x."""
        return self._probability("cdf", 0.0, 1.0, args, kwargs)

    def sf(self, *args: Any, **kwargs: Any) -> Any:
        """The probability of numbers above x."""
        if "sf" not in self._given:
            return 1 - self.cdf(*args, **kwargs)
        return self._probability("sf", 1.0, 0.0, args, kwargs)

    def logcdf(self, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of `cdf`."""
        if "logcdf" not in self._given:
            return log(self.cdf(*args, **kwargs))
        return self._probability("logcdf", -np.inf, 0.0, args, kwargs)

    def logsf(self, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of `sf`."""
        if "logsf" in self._given:
            return self._probability("logsf", 0.0, -np.inf, args, kwargs)
        return log(self.sf(*args, **kwargs)) if "sf" in self._given else log1p(-self.cdf(*args, **kwargs))

    def ppf(self, *args: Any, **kwargs: Any) -> Any:
        """The number up to which the probability is q."""
        q, *shapes, loc, scale = self._read("ppf", args, kwargs)
        return self._standard("ppf")(q, *shapes) * scale + loc

    def isf(self, *args: Any, **kwargs: Any) -> Any:
        """The number above which the probability is q."""
        q, *shapes, loc, scale = self._read("isf", args, kwargs)
        if "isf" in self._given:
            return self._given["isf"](q, *shapes) * scale + loc
        return self._standard("ppf")(1 - q, *shapes) * scale + loc


class Discrete(_Distribution):
    """Distributions of integers. All methods take the integer, the parameters, then `loc=0`.

    The standard distribution is given by `logpmf`, and perhaps by `cdf`, of an integer and the parameters; `support`
    gives its two ends, of the parameters.
    """

    parameters = _loc_and_scale()[:1]

    def logpmf(self, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the probability of k; minus infinity outside of the support."""
        k, *shapes, loc = self._read("logpmf", args, kwargs)
        k = k - loc
        low, high = self._given["support"](*shapes)
        inside = (k >= low) & (k <= high) & (k % 1 == 0)
        return _filled(inside, self._standard("logpmf")(where(inside, k, low), *shapes), -np.inf)

    def pmf(self, *args: Any, **kwargs: Any) -> Any:
        """The probability of k."""
        return exp(self.logpmf(*args, **kwargs))

    def cdf(self, *args: Any, **kwargs: Any) -> Any:
        """The probability of integers up to k."""
        k, *shapes, loc = self._read("cdf", args, kwargs)
        k = k - loc
        low, high = self._given["support"](*shapes)
        out = self._standard("cdf")(where((k >= low) & (k < high), k - k % 1, low), *shapes)
        return _filled(k >= low, _filled(k < high, out, 1.0), 0.0)

    def sf(self, *args: Any, **kwargs: Any) -> Any:
        """The probability of integers above k."""
        return 1 - self.cdf(*args, **kwargs)


def _filled(condition: Any, x: Any, value: float) -> Any:
    """Another number where a condition does not hold."""
    return where(condition, x, value).astype(get_aval(x).dtype)
