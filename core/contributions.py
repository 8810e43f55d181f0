"""Contributions of plugins besides rules: functions for users, in a separate namespace, and samples of primitives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from primax.core.samples import SampleSource

__all__ = ["contributions", "sample_sources"]

# By the plugin's name and the function's.
contributions: dict[tuple[str, str], Callable[..., Any]] = {}

# By the primitive: samples, functions that make some, and where to find them.
sample_sources: dict[Any, list[SampleSource]] = {}
