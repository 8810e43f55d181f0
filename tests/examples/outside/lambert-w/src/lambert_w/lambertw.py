"""The principal branch of Lambert's W function, the inverse of w * exp(w), as a primitive with all its rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import primax.numpy as pnp
from primax.extend import Definitions, core, define_primitive, derive, hookimpl
from primax.extend.interpreters import ad
from primax.typing import ArrayLike

__all__ = ["lambertw", "lambertw_p", "primax_register"]

definitions = Definitions()


def lambertw(x: ArrayLike) -> Any:
    """The number w >= -1 for which `w * exp(w)` is x, elementwise.

    Args:
      x: a floating array, of numbers from -1/e on.

    Raises:
      TypeError: `x` is of another dtype.

    >>> round(float(lambertw(1.0)), 5)
    0.56714
    """
    return lambertw_p.bind(pnp.asarray(x))


def _lambertw_impl(x: Any) -> Any:
    """Halley's iteration; see Corless et al., On the Lambert W function, section 4."""
    w = pnp.log1p(x)
    for _ in range(5):
        error = w - x * pnp.exp(-w)
        w = w - error / (w + 1 - (w + 2) * error / (2 * w + 2))
    return w


def _lambertw_abstract_eval(x: core.ShapedArray) -> core.ShapedArray:
    if not core.dtypes.is_floating(x.dtype):
        raise TypeError(f"lambertw: x must be floating, got {x.str_short()}")
    return x


def _lambertw_samples() -> Iterator[core.Sample]:
    w = np.array([-0.4, 0.25, 1.5], np.float32)
    yield core.Sample([w * np.exp(w)], reference=lambda x: w)


lambertw_p = define_primitive(
    "lambertw",
    impl=_lambertw_impl,
    abstract_eval=_lambertw_abstract_eval,
    elementwise=True,
    jvp=derive.by(ad.standard_jvp2, lambda t, w, x: t * pnp.exp(-w) / (1 + w)),
    lowering=derive.from_impl,
    samples=[_lambertw_samples],
    doc="The principal branch of Lambert's W function.",
    registry=definitions,
)


@hookimpl
def primax_register(registry: core.Registry) -> None:
    """Enter the primitive and its function."""
    definitions.enter(registry)
    registry.functions(lambertw=lambertw)
