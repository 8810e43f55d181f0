"""The conformance kit: checks of every rule of a primitive against computations that do not use it."""

from __future__ import annotations

from primax.extend.core.samples import Sample, samples_of
from primax.extend.testing.report import ConformanceError, Outcome, Report
from primax.extend.testing.runner import CHECKS, Check, check_plugin, check_primitive, conformance, iter_checks

__all__ = [
    "CHECKS",
    "Check",
    "ConformanceError",
    "Outcome",
    "Report",
    "Sample",
    "check_plugin",
    "check_primitive",
    "conformance",
    "iter_checks",
    "samples_of",
]
__dir__ = __all__.copy
