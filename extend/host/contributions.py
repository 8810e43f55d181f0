"""Contributions of plugins besides rules: functions for users, in a separate namespace, and samples of primitives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from primax.extend.core.samples import SampleSource

__all__ = ["contributions", "sample_sources"]

# By the names of the plugin and the function.
contributions: dict[tuple[str, str], Callable[..., Any]] = {}

# By primitive: samples, functions that make samples, and places of samples.
sample_sources: dict[Any, list[SampleSource]] = {}
