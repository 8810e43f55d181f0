"""Contributions of plugins besides rules: functions for users, samples of primitives, and differences of overrides."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from primax.extend.core.samples import SampleSource

__all__ = ["contributions", "declared_differences", "sample_sources"]

# By the names of the plugin and the function.
contributions: dict[tuple[str, str], Callable[..., Any]] = {}

# By primitive: samples, functions that make samples, and places of samples.
sample_sources: dict[Any, list[SampleSource]] = {}

# By primitive and kind: why an overriding rule gives other results than the one that it replaces.
declared_differences: dict[Any, dict[str, str]] = {}
