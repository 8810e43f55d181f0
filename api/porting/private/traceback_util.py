"""The names of `jax._src.traceback_util` that packages use, which separate their files from the user's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FrameType
from typing import Any

from primax.core.source_info import is_internal, register_exclusion
from primax.extend.provisional.tracebacks import shorten

__all__ = ["api_boundary", "include_frame", "register_exclusion"]


class _Paths(list[str]):
    """The paths that packages add without `register_exclusion`."""

    def append(self, path: str) -> None:
        super().append(path)
        register_exclusion(path)


_exclude_paths = _Paths()


def api_boundary(fun: Callable[..., Any] | None = None, **options: Any) -> Callable[..., Any]:
    """A function whose errors show no line of primax or of the registered files, as `traceback_filtering` says."""
    if fun is None:
        return functools.partial(api_boundary, **options)

    @functools.wraps(fun)
    def boundary(*args: Any, **kwargs: Any) -> Any:
        try:
            return fun(*args, **kwargs)
        except BaseException as error:
            shorten(error)
            raise

    return boundary


def include_frame(frame: FrameType) -> bool:
    """Whether a frame belongs to the user."""
    return not is_internal(frame.f_code.co_filename)
