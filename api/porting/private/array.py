"""The names of `jax._src.array` that packages use, and the function that reads arrays pickled by JAX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from primax.extend.core import Array
from primax.extend.core.primitives import convert_element_type_p
from primax.numpy import asarray

__all__ = ["ArrayImpl"]


class _ArrayImplType(type):
    """The type of `ArrayImpl`; instances of `Array` that are not tracers are instances of `ArrayImpl`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is Array

    def __getattribute__(cls, name: str) -> Any:
        return getattr(Array, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        """Set an attribute of `Array`: packages add properties to arrays this way."""
        setattr(Array, name, value)

    def __delattr__(cls, name: str) -> None:
        delattr(Array, name)


class ArrayImpl(metaclass=_ArrayImplType):
    """The class of arrays that have a value, for checks, annotations and additional properties."""

    __slots__ = ()


def _reconstruct_array(make: Callable[..., Any], args: Sequence[Any], state: Any, aval_state: Mapping[str, Any]) -> Any:
    """Create an array from NumPy's parts and from JAX's additional state."""
    values = make(*args)
    values.__setstate__(state)
    x = asarray(values)
    if not aval_state.get("weak_type", False):
        return x
    return convert_element_type_p.bind(x, new_dtype=x.dtype, weak_type=True)
