"""Errors of families, which users catch, too."""

from __future__ import annotations

from primax.core.errors import JAXTypeError

__all__ = ["KeyReuseError", "ShardingTypeError"]


class KeyReuseError(JAXTypeError):
    """A random key was used twice.

    Examples:
      >>> import primax as px
      >>> with px.debug_key_reuse(True):
      ...     key = px.random.key(0)
      ...     px.random.normal(key), px.random.uniform(key)
      Traceback (most recent call last):
          ...
      primax.errors.KeyReuseError: debug_key_reuse: a key must be used only once, got one at <doctest>:3
      (<module>) that was used at <doctest>:3 (<module>); make new keys with random.split, or pass
      random.clone(key) to draw the same numbers
    """

    __module__ = "primax.errors"  # where users find it


class ShardingTypeError(JAXTypeError):
    """The shardings of operands conflict, or do not determine the sharding of a result.

    Examples:
      >>> import primax as px
      >>> import numpy as np
      >>> mesh = px.make_mesh((1,), ("x",), axis_types=(px.sharding.AxisType.Explicit,))
      >>> x = px.device_put(np.ones((2, 2)), px.NamedSharding(mesh, px.P("x", None)))
      >>> y = px.device_put(np.ones((2, 2)), px.NamedSharding(mesh, px.P(None, "x")))
      >>> x + y
      Traceback (most recent call last):
          ...
      primax.extend.errors.ShardingTypeError: add: a mesh axis must divide only one dimension of the result, got
      'x' for two dimensions of the result [2@x,2@x] of operands f32[2@x,2] and f32[2,2@x]; change one operand
      with primax.reshard
    """
