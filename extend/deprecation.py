"""Deprecated names and arguments, with the warnings that name their replacements."""

from __future__ import annotations

import functools
import importlib
import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from primax.core import undo_log
from primax.core.caller import author

__all__ = ["Deprecation", "deprecated", "deprecations", "renamed"]
__dir__ = __all__.copy

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Deprecation:
    """A deprecated name or argument.

    Attributes:
      name: the deprecated name or argument, as `package.module.name` or `package.module.name(argument)`.
      replacement: the replacement, in the same form.
      since: the version that first warns.
      removed_in: the version without it.

    Examples:
      >>> from primax.extend.deprecation import deprecated
      >>> old = deprecated("mine.add", "primax.numpy.add", since="1.1", removed_in="1.2")
      >>> old.name, old.removed_in
      ('mine.add', '1.2')
    """

    name: str
    replacement: str
    since: str
    removed_in: str

    def __str__(self) -> str:
        return (
            f"{self.name} is deprecated since {self.since} and will be removed in {self.removed_in}; "
            f"use {self.replacement}"
        )

    def warn(self) -> None:
        """Warn the caller. For an argument, call this where it is passed."""
        warnings.warn(str(self), DeprecationWarning, stacklevel=author().level)

    def function(self, fun: F) -> F:
        """A decorator: calls of the function warn."""

        @functools.wraps(fun)
        def warning(*args: Any, **kwargs: Any) -> Any:
            self.warn()
            return fun(*args, **kwargs)

        return warning  # type: ignore[return-value]

    def resolve(self) -> Any:
        """The replacement.

        Raises:
          LookupError: the replacement does not exist.
        """
        return _resolve(self.replacement)


deprecations: dict[str, Deprecation] = {}


def deprecated(name: str, replacement: str, *, since: str, removed_in: str) -> Deprecation:
    """Declare a name or an argument as deprecated.

    Args:
      name: the deprecated name or argument, as `package.module.name` or `package.module.name(argument)`.
      replacement: the replacement, in the same form.
      since: the version that first warns.
      removed_in: the version without it, at least one minor release later.

    Returns:
      The object that warns: its `function` decorates a function, its `warn` is called where an argument is passed, and
      `renamed` makes the `__getattr__` of a module from several.

    Raises:
      ValueError: `removed_in` leaves less than one minor release of warning.

    Examples:
      >>> from primax.extend.deprecation import deprecated
      >>> deprecated("mine.f(axis)", "mine.f(axes)", since="1.1", removed_in="1.1.5")
      Traceback (most recent call last):
          ...
      ValueError: deprecated('mine.f(axis)'): removed_in must be a later minor release than since, '1.1', got
      '1.1.5'
    """
    if _minor(removed_in) <= _minor(since):
        raise ValueError(
            f"deprecated({name!r}): removed_in must be a later minor release than since, {since!r}, got {removed_in!r}"
        )
    deprecation = Deprecation(name, replacement, since, removed_in)
    undo_log.put(deprecations, name, deprecation)
    return deprecation


def renamed(module: str, *those: Deprecation) -> Callable[[str], Any]:
    """The `__getattr__` of a module with deprecated names: each gives a warning and its replacement.

    Args:
      module: the name of the module.
      those: its deprecated names.

    >>> from primax.extend.deprecation import deprecated, renamed
    >>> old = deprecated("mine.sum_of", "primax.numpy.sum", since="1.1", removed_in="1.2")
    >>> __getattr__ = renamed("mine", old)
    """
    by_name = {deprecation.name.removeprefix(f"{module}."): deprecation for deprecation in those}

    def find(name: str) -> Any:
        deprecation = by_name.get(name)
        if deprecation is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        deprecation.warn()
        return deprecation.resolve()

    return find


def _minor(version: str) -> tuple[int, int]:
    major, minor, *_ = map(int, version.split("."))
    return major, minor


def _resolve(dotted: str) -> Any:
    path, _, argument = dotted.removesuffix(")").partition("(")
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        break
    else:
        raise LookupError(f"there is no module in {dotted!r}")
    for part in parts[end:]:
        if not hasattr(value, part):
            raise LookupError(f"{value!r} has no {part!r}, which {dotted!r} names")
        value = getattr(value, part)
    if argument and argument.removesuffix("=") not in inspect.signature(value).parameters:
        raise LookupError(f"{path} has no argument {argument!r}, which {dotted!r} names")
    return value
