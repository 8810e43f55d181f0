"""Functions that plugins offer to users in a namespace of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["contributions"]

# By the plugin's name and the function's.
contributions: dict[tuple[str, str], Callable[..., Any]] = {}
