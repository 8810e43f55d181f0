"""The rules of the primitive, and its values."""

from __future__ import annotations

from typing import Any

import numpy as np
import primax as px
import primax.numpy as pnp
from primax.extend.testing import conformance

from fixed_point import find_fixed_point

test_every_rule_holds = conformance("fixed-point")


def root(a: Any) -> Any:
    """The square root, as the fixed point of Heron's step."""
    return find_fixed_point(lambda x: (x + a / x) / 2, pnp.ones_like(a), 20)


def test_it_is_a_fixed_point() -> None:
    np.testing.assert_allclose(root(pnp.array([2.0, 9.0])), [2**0.5, 3.0], rtol=1e-6)


def test_the_derivative_is_implicit() -> None:
    np.testing.assert_allclose(px.jit(px.grad(root))(4.0), 0.25, rtol=1e-6)
    np.testing.assert_allclose(px.vmap(px.grad(root))(pnp.array([1.0, 4.0])), [0.5, 0.25], rtol=1e-6)
    np.testing.assert_allclose(px.grad(px.grad(root))(4.0), -1 / 32, rtol=1e-5)
    many, few = (px.make_jaxpr(px.grad(lambda a, n=n: find_fixed_point(lambda x: a * x, 1.0, n)))(0.5) for n in (90, 9))
    assert len(str(many)) - len(str(few)) < 10  # no step is differentiated
