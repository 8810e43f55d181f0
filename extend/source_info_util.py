"""The source lines of equations in the user's program, which equations store as `source_info`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from primax.core._jaxlib import Traceback
from primax.core.source_info import register_exclusion, scope_of, user_frame, user_frames
from primax.core.trace_state import thread
from primax.extend.lazy_names import explain_absent

__all__ = ["current", "register_exclusion", "scope_of", "summarize", "user_context", "user_frame"]
__dir__ = __all__.copy
explain_absent(__name__)


def current() -> Any:
    """The source of an equation that would be made now.

    Examples:
      >>> from primax.extend import source_info_util
      >>> def f():
      ...     return source_info_util.summarize(source_info_util.current())
      >>> f().endswith(":2 (f)")
      True
    """
    return Traceback.get_traceback() if thread.source is None else thread.source


def summarize(source_info: Any, num_frames: int = 1) -> str:
    """The innermost lines of the user's program in a source, as text.

    Args:
      source_info: the source of an equation.
      num_frames: the maximal number of lines.

    Examples:
      >>> import primax as px
      >>> from primax.extend import source_info_util
      >>> def f(x):
      ...     return 2 * x
      >>> (eqn,) = px.make_jaxpr(f)(1.0).eqns
      >>> source_info_util.summarize(eqn.source_info).endswith(":2 (f)")
      True
      >>> source_info_util.summarize(None)
      'an unknown line'
    """
    frames = user_frames(source_info)[:num_frames]
    return "\n".join(map(str, frames)) if frames else "an unknown line"


@contextmanager
def user_context(source_info: Any) -> Iterator[None]:
    """Attribute the equations made within a `with` block to a source; None changes nothing.

    Examples:
      >>> import primax as px
      >>> from primax.extend import source_info_util
      >>> (eqn,) = px.make_jaxpr(lambda x: 2 * x)(1.0).eqns
      >>> def f(x):
      ...     with source_info_util.user_context(eqn.source_info):
      ...         return 3 * x
      >>> px.make_jaxpr(f)(1.0).eqns[0].source_info is eqn.source_info
      True
    """
    before = thread.source
    if source_info is not None:
        thread.source = source_info
    try:
        yield
    finally:
        thread.source = before
