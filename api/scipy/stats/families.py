"""Families of distributions; each distribution consists of a few functions of its standard form.

This module treats special values for all distributions. An invalid parameter replaces the argument by NaN, and methods
return NaN for NaN. Outside of the support, methods evaluate the standard functions at a point inside and ignore the
result, so that derivatives are finite.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import reduce, wraps
from inspect import BoundArguments, Parameter, Signature
from operator import and_
from typing import Any, TypeVar

import numpy as np

from primax.extend.core import Array, get_aval
from primax.numpy.programs import one_program
from primax.numpy.promotion import strong
from primax.numpy.rounding import floor
from primax.numpy.selection import where
from primax.numpy.ufuncs import exp, expm1, log, log1p
from primax.scipy.special.operands import real

Function = Callable[..., Any]
Method = TypeVar("Method", bound=Function)


def _program(method: Method) -> Method:
    """A method that runs as one program in eager mode."""

    def call(self: _Distribution, *args: Any, **kwargs: Any) -> Array:
        program = self._programs.get(method)
        if program is None:

            def run(*args: Any, **kwargs: Any) -> Array:
                return method(self, *args, **kwargs)

            run.__name__ = f"{self.name}_{method.__name__}"  # in profiles
            program = self._programs[method] = one_program("")(run)
        return program(*args, **kwargs)

    return wraps(method)(call)  # type: ignore[return-value]


class _Distribution:
    """The common part of continuous and discrete distributions: conversion and validation of arguments.

    Class attributes:
      parameters: the parameters of location and scale.
      number: the name of the argument of `pdf`, `pmf`, `cdf` and the like.

    Args:
      name: the name in messages.
      shapes: the names of the parameters besides location and scale, in one string.
      valid: an elementwise function: whether these parameters are valid; by default, whether all are positive.
      support: a function of these parameters that returns the two ends of the standard distribution.
      probability: the name of the argument of `ppf` and `isf`.
      given: functions of the standard distribution by name.
    """

    parameters: tuple[Parameter, ...] = ()
    number = "x"

    def __init__(
        self,
        name: str,
        shapes: str = "",
        valid: Function | None = None,
        support: Function | None = None,
        probability: str = "q",
        **formulas: Function,
    ) -> None:
        self.name = name
        self.__module__ = sys._getframe(1).f_globals["__name__"]  # the module of the distribution, which pickle needs
        self._formulas = formulas
        self._programs: dict[Function, Function] = {}
        self._valid = valid or _all_above_zero
        self._support = support or _everywhere
        kind = Parameter.POSITIONAL_OR_KEYWORD
        rest = [*(Parameter(shape, kind) for shape in shapes.split()), *self.parameters]
        self.__doc__ = f"The {name} distribution, with the parameters {', '.join(map(str, rest))}."
        self._of_parameters = Signature(rest)
        self._of_number = Signature([Parameter(self.number, kind), *rest])
        self._of_probability = Signature([Parameter(probability, kind), *rest])

    def __repr__(self) -> str:
        return f"<the {self.name} distribution>"

    def __reduce__(self) -> str:
        return self.name

    def _standard(self, method: str) -> Function:
        """A function of the standard distribution, derived from others if it is not given."""
        formulas = self._formulas
        derived: dict[str, Callable[[], Function]] = {
            "sf": lambda: _rest_of(formulas["cdf"]),
            "logcdf": lambda: _log_of(formulas["cdf"], self._standard("sf")),
            "logsf": lambda: _log_of(self._standard("sf"), formulas["cdf"]),
        }
        if method in formulas:
            return formulas[method]
        if method not in derived or "cdf" not in formulas:
            raise NotImplementedError(f"{self.name}.{method} has no formula here; it has {', '.join(formulas)}")
        return derived[method]()

    def _read(self, method: str, args: Any, kwargs: Any) -> list[Any]:
        """The arguments in the order of the signature, promoted and broadcast.

        The type is weak if all arguments of the user are weak: the defaults of `loc` and `scale` are Python numbers.
        """
        signature = self._of_probability if method in ("ppf", "isf") else self._of_number
        bound = self._bound(method, signature, args, kwargs)
        user = list(bound.arguments.values())
        bound.apply_defaults()
        promoted = real(f"{self.name}.{method}", *bound.arguments.values())
        if get_aval(promoted[0]).weak_type and not all(get_aval(x).weak_type for x in user):
            return [strong(x) for x in promoted]
        return promoted

    def _bound(self, method: str, signature: Signature, args: Any, kwargs: Any) -> BoundArguments:
        try:
            return signature.bind(*args, **kwargs)
        except TypeError as error:
            names = ", ".join(map(str, signature.parameters.values()))
            raise TypeError(f"{self.name}.{method}: {error}; its arguments are ({names})") from None


def _loc_and_scale() -> tuple[Parameter, ...]:
    kind = Parameter.POSITIONAL_OR_KEYWORD
    return Parameter("loc", kind, default=0), Parameter("scale", kind, default=1)


def _all_above_zero(*parameters: Any) -> bool:
    return reduce(and_, (parameter > 0 for parameter in parameters), True)


def _everywhere(*shapes: Any) -> tuple[float, float]:
    return -np.inf, np.inf


class Continuous(_Distribution):
    """Distributions of real numbers. Methods take the number, the parameters, then `loc=0` and `scale=1`.

    They return NaN if an argument is NaN, a parameter is invalid, the scale is not positive, or a probability is not in
    [0, 1].

    The standard distribution is defined by `logpdf`, and optionally `cdf`, `sf`, `logcdf`, `logsf`, `ppf` and `isf`:
    functions of the standardized number and the parameters. All are valid at the ends of the support and of [0, 1] too.
    """

    parameters = _loc_and_scale()

    def _standardized(self, method: str, args: Any, kwargs: Any) -> tuple[Any, list[Any], Any]:
        x, *shapes, loc, scale = self._read(method, args, kwargs)
        scale = where(self._valid(*shapes) & (scale > 0), scale, np.nan)
        return (x - loc) / scale, shapes, scale

    def _value(self, method: str, args: Any, kwargs: Any, below: float, above: float, called: str = "") -> Array:
        """The result of a method, with known values below and above the support; `called` is the name in messages."""
        z, shapes, scale = self._standardized(called or method, args, kwargs)
        low, high = self._support(*shapes)
        inside = 0.0 if low == -np.inf else low + 1 if high == np.inf else (low + high) / 2
        out = self._standard(method)(where((z < low) | (z > high), inside, z), *shapes)
        if method == "logpdf":
            out = out - log(scale)
        return _known(z, z < low, below, z > high, above, out)

    @_program
    def logpdf(self, *args: Any, **kwargs: Any) -> Array:
        """The logarithm of the density; minus infinity outside of the support."""
        return self._value("logpdf", args, kwargs, -np.inf, -np.inf)

    @_program
    def pdf(self, *args: Any, **kwargs: Any) -> Array:
        """The density."""
        return _exp(self._value("logpdf", args, kwargs, -np.inf, -np.inf, "pdf"))

    @_program
    def cdf(self, *args: Any, **kwargs: Any) -> Array:
        """The probability of numbers at most x."""
        return self._value("cdf", args, kwargs, 0.0, 1.0)

    @_program
    def sf(self, *args: Any, **kwargs: Any) -> Array:
        """The probability of numbers above x."""
        return self._value("sf", args, kwargs, 1.0, 0.0)

    @_program
    def logcdf(self, *args: Any, **kwargs: Any) -> Array:
        """The logarithm of `cdf`."""
        return self._value("logcdf", args, kwargs, -np.inf, 0.0)

    @_program
    def logsf(self, *args: Any, **kwargs: Any) -> Array:
        """The logarithm of `sf`."""
        return self._value("logsf", args, kwargs, 0.0, -np.inf)

    def _quantile(self, method: str, args: Any, kwargs: Any) -> Array:
        q, *shapes, loc, scale = self._read(method, args, kwargs)
        scale = where(self._valid(*shapes) & (scale > 0) & (q >= 0) & (q <= 1), scale, np.nan)
        inside = where((q >= 0) & (q <= 1), q, 0.5)
        return self._standard(method)(inside, *shapes) * scale + loc

    @_program
    def ppf(self, *args: Any, **kwargs: Any) -> Array:
        """The quantile of q: the inverse of `cdf`."""
        return self._quantile("ppf", args, kwargs)

    @_program
    def isf(self, *args: Any, **kwargs: Any) -> Array:
        """The inverse of `sf`."""
        return self._quantile("isf", args, kwargs)


def _known(x: Any, is_below: Any, below: float, is_above: Any, above: float, out: Any) -> Array:
    """Replace a result by the known values below and above the support, and by NaN for NaN."""
    return where(is_below, below, where(is_above, above, where(x == x, out, np.nan)))


def _rest_of(function: Function) -> Function:
    return lambda *args: 1 - function(*args)


def _log_of(function: Function, rest: Function) -> Function:
    """The logarithm of a probability, accurate near 1 too, where it uses `rest`, 1 minus the probability."""

    def logarithm(*args: Any) -> Array:
        p = function(*args)
        small = p < 0.5
        return where(small, log(where(small, p, 0.5)), log1p(-where(small, 0.5, rest(*args))))

    return logarithm


def but_decayed(x: Any) -> Array:
    """1 - exp(-x), accurate near 0, with a derivative that is accurate far from 0."""
    small = x < 0.5
    return where(small, -expm1(-where(small, x, 0.0)), 1 - exp(-where(small, 1.0, x)))


def _exp(x: Any) -> Array:
    """The exponential function with derivative 0 at minus infinity, whatever the derivative of x."""
    never = x == -np.inf
    return where(never, 0.0, exp(where(never, 0.0, x)))


class Discrete(_Distribution):
    """Distributions of integers. Methods take the integer, the parameters, then `loc=0`.

    They return NaN if an argument is NaN, a parameter is invalid, or a probability is not in [0, 1].

    The standard distribution is defined by `logpmf`, and optionally `cdf`, `sf` and `ppf`: functions of an integer and
    the parameters.
    """

    parameters = _loc_and_scale()[:1]
    number = "k"

    def _standardized(self, method: str, args: Any, kwargs: Any) -> tuple[Any, list[Any]]:
        k, *shapes, loc = self._read(method, args, kwargs)
        return where(self._valid(*shapes), k - loc, np.nan), shapes

    @_program
    def logpmf(self, *args: Any, **kwargs: Any) -> Array:
        """The logarithm of the probability of k; minus infinity outside of the support."""
        return self._log_probability("logpmf", args, kwargs)

    def _log_probability(self, method: str, args: Any, kwargs: Any) -> Array:
        k, shapes = self._standardized(method, args, kwargs)
        low, high = self._support(*shapes)
        outside = (k < low) | (k > high) | (floor(k) < k)
        out = where(outside, -np.inf, self._standard("logpmf")(where(outside, low, k), *shapes))
        return where(k == k, out, np.nan)

    @_program
    def pmf(self, *args: Any, **kwargs: Any) -> Array:
        """The probability of k."""
        return _exp(self._log_probability("pmf", args, kwargs))

    def _probability(self, method: str, below: float, above: float, args: Any, kwargs: Any) -> Array:
        k, shapes = self._standardized(method, args, kwargs)
        low, high = self._support(*shapes)
        out = self._standard(method)(where((k < low) | (k >= high), low, floor(k)), *shapes)
        return _known(k, k < low, below, k >= high, above, out)

    @_program
    def cdf(self, *args: Any, **kwargs: Any) -> Array:
        """The probability of integers at most k."""
        return self._probability("cdf", 0.0, 1.0, args, kwargs)

    @_program
    def sf(self, *args: Any, **kwargs: Any) -> Array:
        """The probability of integers above k."""
        return self._probability("sf", 1.0, 0.0, args, kwargs)

    @_program
    def ppf(self, *args: Any, **kwargs: Any) -> Array:
        """The quantile of q: the smallest k with `cdf(k) >= q`; one below the support for q = 0."""
        q, *shapes, loc = self._read("ppf", args, kwargs)
        low, high = self._support(*shapes)
        out = where(q == 0, low - 1, where(q == 1, high, self._standard("ppf")(q, *shapes)))
        return where(self._valid(*shapes) & (q >= 0) & (q <= 1), out, np.nan) + loc

    @_program
    def entropy(self, *args: Any, **kwargs: Any) -> Array:
        """The entropy of the distribution of these parameters, which are the only arguments.

        It does not depend on `loc`, whose shape is broadcast with theirs.
        """
        bound = self._bound("entropy", self._of_parameters, args, kwargs)
        formula = self._standard("entropy")
        _, *shapes, loc = self._read("entropy", (next(iter(bound.arguments.values())), *bound.args), bound.kwargs)
        return where(self._valid(*shapes) & (loc == loc), formula(*shapes), np.nan)
