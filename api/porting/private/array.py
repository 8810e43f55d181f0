"""The function that reads arrays pickled by JAX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from primax.extend.core.primitives import convert_element_type_p
from primax.numpy import asarray

__all__: list[str] = []


def _reconstruct_array(make: Callable[..., Any], args: Sequence[Any], state: Any, aval_state: Mapping[str, Any]) -> Any:
    """Create an array from NumPy's parts and from JAX's additional state."""
    values = make(*args)
    values.__setstate__(state)
    x = asarray(values)
    if not aval_state.get("weak_type", False):
        return x
    return convert_element_type_p.bind(x, new_dtype=x.dtype, weak_type=True)
