"""The rules of the primitive, and its values."""

from __future__ import annotations

import numpy as np
import primax as px
import primax.numpy as pnp
from primax.extend.testing import conformance

from lambert_w import lambertw

test_every_rule_holds = conformance("lambert-w")


def test_it_is_an_inverse() -> None:
    x = pnp.array([-0.3, 0.0, 0.5, 2.0, 30.0])
    w = px.contrib.lambert_w.lambertw(x)
    np.testing.assert_allclose(w * pnp.exp(w), x, rtol=1e-5, atol=1e-6)


def test_its_transformations_compose() -> None:
    curvature = px.jit(px.vmap(px.grad(px.grad(lambertw))))
    np.testing.assert_allclose(curvature(pnp.zeros(2)), [-2.0, -2.0], rtol=1e-5)
