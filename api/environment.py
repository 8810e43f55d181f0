"""A description of the environment for bug reports, and the list of existing arrays."""

from __future__ import annotations

from typing import Any

from primax.extend.commands import env
from primax.extend.commands.style import without_colours
from primax.extend.core import Array
from primax.extend.provisional import runtime

__all__ = ["live_arrays", "print_environment_info"]


def live_arrays(platform: str | None = None) -> list[Any]:
    """The arrays on the devices of a platform, including the constants of programs.

    Args:
      platform: the name of the platform; by default, the platform on which computations run.

    Raises:
      XlaError: the platform does not exist.

    >>> import primax as px
    >>> x = px.numpy.arange(12345)
    >>> any(y.shape == (12345,) for y in px.live_arrays())
    True
    """
    return [Array(b) for b in runtime.client(platform).live_arrays() if not b.is_deleted()]


def print_environment_info(return_string: bool = False) -> str | None:
    """Print versions, devices, options and plugins for a bug report, as `primax env` does.

    Args:
      return_string: whether to return the text instead of printing it.

    Examples:
      >>> import primax as px
      >>> text = px.print_environment_info(return_string=True)
      >>> "jaxlib" in text, "python" in text.lower()
      (True, True)
    """
    text = without_colours(env.text(env.environment()))
    if return_string:
        return text
    print(text)
    return None
