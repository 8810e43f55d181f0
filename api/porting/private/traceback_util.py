"""What packages use of `jax._src.traceback_util`: which files are theirs rather than the user's."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

from primax.core.source_info import is_internal, register_exclusion

__all__ = ["api_boundary", "include_frame", "register_exclusion"]

_exclude_paths: list[str] = []  # packages add to it and take away from it, for tracebacks that JAX shortens


def api_boundary(fun: Callable[..., Any] | None = None, **options: Any) -> Callable[[Any], Any]:
    """The function itself: tracebacks are not shortened."""
    return (lambda function: function) if fun is None else fun


def include_frame(frame: FrameType) -> bool:
    """Whether a frame is the user's."""
    file = frame.f_code.co_filename
    return not is_internal(file) and not file.startswith(tuple(_exclude_paths))
