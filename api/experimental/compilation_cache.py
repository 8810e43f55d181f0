"""The directory of the persistent compilation cache: the option `compilation_cache_dir`."""

from __future__ import annotations

from os import PathLike

from primax.extend.options import compilation_cache_dir

__all__ = ["reset_cache", "set_cache_dir"]
__dir__ = __all__.copy


def set_cache_dir(path: str | PathLike[str] | None) -> None:
    """Keep compiled programs in a directory, as `primax.config.update("compilation_cache_dir", path)` does.

    Args:
      path: the directory; None for no cache.

    Raises:
      ValueError: `path` is neither a path nor None.
    """
    compilation_cache_dir.update(path)


def reset_cache() -> None:
    """Do nothing: primax keeps no state, and looks into the directory for each compilation."""
