"""Messages to the logger `primax`. `logging` is imported only for the first message, since the import takes time."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


def debug(text: str, *values: Any) -> None:
    """Log a message at level DEBUG; nothing happens if `logging` is not imported, since no handler could show it."""
    if "logging" in sys.modules:
        _logger().debug(text, *values)


def warning(text: str, *values: Any) -> None:
    """Log a message at level WARNING."""
    _logger().warning(text, *values)


def _logger() -> Any:
    return import_module("logging").getLogger("primax")
