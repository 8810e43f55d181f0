"""The object that `jit` returns: a function that has a text of its own and can be pickled."""

from __future__ import annotations

import functools
import inspect
import sys
from operator import attrgetter
from types import MethodType
from typing import Any

from primax.extend.provisional.runtime import PjitFunction


class JittedFunction(functools.partial[Any]):
    """A compiled function; calls are those of the function inside, without a frame of Python in between.

    Its attribute `_again` is the call of `jit` by which a pickle makes it again: a function and its arguments.
    """

    _again: tuple[Any, ...]
    __qualname__: str
    __wrapped__: Any

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<jitted {self.__wrapped__!r}>"

    def __copy__(self, _: Any = None) -> JittedFunction:
        return self

    __deepcopy__ = __copy__

    def __reduce__(self) -> Any:
        """The name, if a module has the object under it, as for other functions; else the call that made it."""
        try:
            known = attrgetter(self.__qualname__)(sys.modules[self.__module__])
        except (AttributeError, KeyError, TypeError):
            known = None
        return self.__qualname__ if known is self else self._again


class SeemingPjitFunction(JittedFunction):
    """A jitted function that seems to be of the type of functions that jaxlib dispatches: `isinstance` says so.

    Attributes:
      enabled: whether `jit` returns such functions, because packages written for JAX run in this process.
    """

    enabled = False
    __class__ = property(lambda self: PjitFunction)

    @property
    def __signature__(self) -> inspect.Signature:
        try:
            return inspect.signature(self.__wrapped__)
        except (TypeError, ValueError) as error:  # Python does not know the parameters
            raise AttributeError(str(error)) from None

    def __repr__(self) -> str:
        return f"<PjitFunction of {self.__wrapped__!r}>"
