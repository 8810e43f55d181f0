"""The names that packages use of `jax._src.traceback_util`, which separate their files from the user's."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

from primax.core.source_info import is_internal, register_exclusion

__all__ = ["api_boundary", "include_frame", "register_exclusion"]

_exclude_paths: list[str] = []  # packages change it, for tracebacks that JAX shortens


def api_boundary(fun: Callable[..., Any] | None = None, **options: Any) -> Callable[[Any], Any]:
    """Return the function: tracebacks are not shortened."""
    return (lambda function: function) if fun is None else fun


def include_frame(frame: FrameType) -> bool:
    """Whether a frame belongs to the user."""
    file = frame.f_code.co_filename
    return not is_internal(file) and not file.startswith(tuple(_exclude_paths))
