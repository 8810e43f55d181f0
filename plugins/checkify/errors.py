"""The result of checks: an `Error`, a pytree of arrays that a program can return."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import source_info_util
from primax.extend.core import tree


class JaxRuntimeError(ValueError):
    """A check failed."""

    __module__ = "primax.experimental.checkify"  # where users find it


class JaxException(Exception):
    """The base class of failures; its subclasses are also the kinds of checks."""


class FailedCheckError(JaxException):
    """A `check` failed."""


class NaNError(JaxException):
    """An operation made a NaN."""


class DivisionByZeroError(JaxException):
    """A divisor was zero."""


class OOBError(JaxException):
    """An index was out of bounds."""


user_checks = frozenset({FailedCheckError})
nan_checks = frozenset({NaNError})
div_checks = frozenset({DivisionByZeroError})
index_checks = frozenset({OOBError})
float_checks = nan_checks | div_checks
automatic_checks = float_checks | index_checks
all_checks = automatic_checks | user_checks


class Site:
    """A place of a check in a program.

    Attributes:
      kind: the class of its failures.
      describe: makes the message from the values that the site leaves.
      source: the traceback of the equation.
      avals: the types of those values.
    """

    __slots__ = ("avals", "describe", "kind", "source")

    def __init__(
        self, kind: type[JaxException], describe: Callable[..., str], source: Any, avals: Sequence[Any] = ()
    ) -> None:
        self.kind = kind
        self.describe = describe
        self.source = source
        self.avals = tuple(avals)


class Error:
    """The outcome of checks: whether one has failed, which one, and with which values.

    It is a pytree, which compiled and mapped functions return and loops carry. It holds the first failure. Under
    `vmap` there is an error for each element.
    """

    __slots__ = ("_code", "_payload", "_sites")

    def __init__(self, code: Any, payload: Sequence[Any], sites: tuple[Site, ...]) -> None:
        self._code = code  # 0 without a failure, otherwise 1 more than the number of the site
        self._payload = list(payload)
        self._sites = sites

    def get(self) -> str | None:
        """The message of the failed check, or None.

        Under `vmap` it has a line for each element with a failure.
        """
        code = np.asarray(self._code)
        lines = []
        for index in np.ndindex(code.shape):
            if code[index]:
                where = f"at mapped index {', '.join(map(str, index))}: " if index else ""
                lines.append(where + self._at(int(code[index]) - 1, index))
        return "\n".join(lines) if lines else None

    def get_exception(self) -> JaxException | None:
        """The first failure as an exception of the kind of check, or None."""
        text = self.first()
        if text is None:
            return None
        code = np.asarray(self._code).ravel()
        site = self._sites[int(code[np.argmax(code != 0)]) - 1]
        return site.kind(text)

    def throw(self) -> None:
        """Raise an error if a check failed; with several elements, the error of the first element that failed.

        Raises:
          JaxRuntimeError: a check failed.
        """
        text = self.first()
        if text is not None:
            raise JaxRuntimeError(text)

    def first(self) -> str | None:
        """The message of the first element with a failure, without its index, or None."""
        code = np.asarray(self._code)
        for index in np.ndindex(code.shape):
            if code[index]:
                return self._at(int(code[index]) - 1, index, alone=True)
        return None

    def _at(self, number: int, index: tuple[int, ...], alone: bool = False) -> str:
        """The message of one element's error."""
        site = self._sites[number]
        first = sum(len(other.avals) for other in self._sites[:number])
        describe = getattr(site.describe, "alone", site.describe) if alone else site.describe
        return describe(*(x[index] if index else x for x in self._payload[first : first + len(site.avals)]))

    def _where(self) -> str:
        """The user's line of the failed check, for elements without axes."""
        code = np.asarray(self._code)
        return source_info_util.summarize(self._sites[int(code) - 1].source) if code.ndim == 0 and code else ""

    def __repr__(self) -> str:
        try:
            text = self.get()
        except TypeError:  # the error is traced
            return f"Error({self._code})"
        return f"Error({text!r})"


def _flatten(error: Error) -> tuple[list[Any], tuple[Site, ...]]:
    return [error._code, *error._payload], error._sites


def _unflatten(sites: tuple[Site, ...], leaves: Sequence[Any]) -> Error:
    code, *payload = leaves
    return Error(code, payload, sites)


tree.register_pytree_node(Error, _flatten, _unflatten)

init_error = Error(np.int32(0), [], ())
