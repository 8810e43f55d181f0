"""The check of equations before they are pickled: an error names the parameter that cannot be."""

from __future__ import annotations

import pickle
import sys
from types import FrameType
from typing import Any

from primax.core.jaxpr import JaxprEqn, holds_program
from primax.core.source_info import user_frame

__all__ = ["check_pickle"]

_PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None)))


def check_pickle(eqn: JaxprEqn) -> None:
    """Raise an error if a parameter of an equation cannot be pickled, as a local function cannot.

    Picklers that know more than pickle, such as that of cloudpickle, find out for themselves.

    Raises:
      PicklingError: it names the equation and the parameter.
    """
    for name, value in eqn.params.items():
        if type(value) in _PLAIN or holds_program(value):
            continue
        try:
            pickle.dumps(value)
        except Exception as error:  # of any kind, from the value's own methods
            if not _is_left_to_pickler():
                frame = user_frame(eqn.source_info)
                made = "" if frame is None else f", made at {frame},"
                raise pickle.PicklingError(
                    f"a program cannot be pickled, since parameter {name!r} of its equation {eqn.primitive}{made} "
                    f"cannot be: {error}; use functions of modules instead of local ones, or export the program"
                ) from error


def _is_left_to_pickler() -> bool:
    """Whether `copy` asks for the fields, or a pickler that is a subclass of pickle's."""
    plain: tuple[Any, ...] = (pickle.Pickler, pickle._Pickler)
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_globals.get("__name__") == "copy" or any(
            isinstance(value, plain) and type(value) not in plain for value in frame.f_locals.values()
        ):
            return True
        frame = frame.f_back
    return False
