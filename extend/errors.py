"""Errors of families, which users catch, too."""

from __future__ import annotations

from primax.core.errors import JAXTypeError

__all__ = ["KeyReuseError", "ShardingTypeError"]


class KeyReuseError(JAXTypeError):
    """A random key was used twice."""

    __module__ = "primax.errors"  # where users find it


class ShardingTypeError(JAXTypeError):
    """The shardings of operands conflict, or do not determine the sharding of a result."""
