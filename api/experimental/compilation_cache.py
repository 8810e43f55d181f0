"""The directory of the persistent compilation cache: the option `compilation_cache_dir`."""

from __future__ import annotations

from typing import Any

from primax.core.config import compilation_cache_dir

__all__ = ["reset_cache", "set_cache_dir"]


def set_cache_dir(path: Any) -> None:
    """Keep compiled programs in a directory; `primax.config.update("compilation_cache_dir", path)`.

    Args:
      path: the directory; None to keep nothing.

    Raises:
      TypeError: it is not a path.
    """
    compilation_cache_dir.update(path)


def reset_cache() -> None:
    """Do nothing: primax looks into the directory for each compilation, and keeps no state."""
