"""Samples of primitives: arguments and parameters that their rules are checked with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from primax.core.diagnostics import shorten
from primax.extend.host.contributions import sample_sources

__all__ = ["Sample", "SampleSource", "samples_of"]


@dataclass(frozen=True, eq=False, slots=True)
class Sample:
    """Arguments and parameters with which a primitive can be bound.

    Arguments should be generic: away from points where the primitive is not smooth, no two elements equal, none of
    them zero or one without need.

    Attributes:
      args: its arguments: NumPy arrays, scalars, references, or values of users' types.
      params: its parameters.
      name: the name of the sample in reports; its number if empty.
      rtol: the tolerance of numbers, relative to the largest number; None for the tolerance of the dtype.
      skip: the checks to skip: a mapping from their names to reasons; `"transpose"` stands for all of reverse mode.
      constant: positions of inexact arguments that are not differentiated.
      vary: `(args, k) -> args`, other arguments of the same types for k = 1, 2, ..., if a permutation of the elements
        of each argument is not valid.
      reference: `(*args, **params) -> result`, the same computation in NumPy; a list for several results. It gets and
        returns values of users' types as they are.
      axes: names and sizes of axes in scope, outermost first. Arguments and results then have these axes in front, and
        the primitive is applied inside them.
      invariants: `(results, args) -> arrays`, for results that are not unique, such as eigenvectors with any sign or
        phase: a list of unique values, computed by NumPy in double precision. Checks compare these and their
        derivatives instead of the results.
      singular: whether the primitive is not smooth at the arguments, such as a norm at the origin. Derivatives are then
        not compared with differences, but must agree for every order of transformations.

    Raises:
      TypeError: an attribute has the wrong type.

    Examples:
      >>> import numpy as np
      >>> from primax.extend.core import Sample
      >>> sample = Sample((np.float32([0.3, 0.7]),), {"axis": 0}, skip={"transpose": "it is not linear"})
      >>> sample.params, sample.constant, sample.rtol
      ({'axis': 0}, (), None)
    """

    args: Sequence[Any]
    params: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    rtol: float | None = None
    skip: Mapping[str, str] = field(default_factory=dict)
    constant: Sequence[int] = ()
    vary: Callable[[Sequence[Any], int], Sequence[Any]] | None = None
    reference: Callable[..., Any] | None = None
    axes: Mapping[Any, int] = field(default_factory=dict)
    invariants: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]] | None = None
    singular: bool = False

    def __post_init__(self) -> None:
        _require("args must be a list or a tuple of arguments", self.args, isinstance(self.args, list | tuple))
        named = isinstance(self.params, Mapping) and all(isinstance(name, str) for name in self.params)
        _require("params must be a mapping from names to values", self.params, named)
        _require("name must be a string", self.name, isinstance(self.name, str))
        from_zero = isinstance(self.rtol, float | int) and self.rtol >= 0
        _require("rtol must be a number from 0, or None", self.rtol, self.rtol is None or from_zero)
        valid = isinstance(self.skip, Mapping) and all(
            isinstance(part, str) and part for entry in self.skip.items() for part in entry
        )
        _require("skip must be a mapping from names of checks to reasons", self.skip, valid)
        positions = isinstance(self.constant, Sequence | range) and all(
            i in range(len(self.args)) for i in self.constant
        )
        _require(f"constant must be positions among {len(self.args)} arguments", self.constant, positions)
        for name in ("vary", "reference", "invariants"):
            function = getattr(self, name)
            _require(f"{name} must be a function or None", function, function is None or callable(function))
        _require("axes must be a mapping from names to sizes", self.axes, isinstance(self.axes, Mapping))


def _require(rule: str, value: Any, holds: bool) -> None:
    if not holds:
        raise TypeError(f"Sample: {rule}, got {shorten(value)}")


SampleSource = Sample | Callable[[], Iterable[Sample]] | str


def samples_of(primitive: Any) -> list[Sample]:
    """The samples of a primitive. This imports the modules of samples and calls the functions that make them.

    Raises:
      ImportError: there is no such module.
      TypeError: a source of samples returns something else.

    Examples:
      >>> from primax.extend.core.primitives import neg_p
      >>> from primax.extend.testing import samples_of
      >>> len(samples_of(neg_p)) > 0, samples_of(neg_p)[0].args[0].dtype
      (True, dtype('float32'))
    """
    samples: list[Sample] = []
    for source in sample_sources.get(primitive, ()):
        for part in _named(primitive, source) if isinstance(source, str) else (source,):
            samples += (part,) if isinstance(part, Sample) else _made(primitive, part)
    return samples


def _named(primitive: Any, source: str) -> Iterable[Any]:
    """The samples of a primitive, and functions that make some, at a place `"module:attribute"`."""
    module, _, attribute = source.partition(":")
    held = getattr(import_module(module), attribute, None)
    if isinstance(held, Mapping):
        held = held.get(primitive, ())
    if isinstance(held, Sample) or callable(held):
        return (held,)
    if not isinstance(held, list | tuple):
        raise TypeError(f"samples of {primitive}: {source} must have Samples or functions of it, got {shorten(held)}")
    return held


def _made(primitive: Any, source: Any) -> Iterable[Sample]:
    """The samples that a function makes."""
    name = getattr(source, "__name__", repr(source))
    samples = source() if callable(source) else None
    if not isinstance(samples, Iterable):
        raise TypeError(f"samples of {primitive}: {name} must return Samples, got {shorten(samples)}")
    for sample in samples:
        if not isinstance(sample, Sample):
            raise TypeError(f"samples of {primitive}: {name} must make Samples, got {shorten(sample)}")
        yield sample
