"""The rule is found although the program imports only the two packages that it joins."""

from __future__ import annotations

import primax.numpy as pnp
from interval import enclose
from lambert_w import lambertw
from primax.extend.testing import conformance

test_every_rule_holds = conformance("interval-rules")


def test_bounds_of_the_function_are_found() -> None:
    low, high = enclose(lambda x: lambertw(x) - 1.0)(0.0, pnp.e)
    assert (float(low), round(float(high), 5)) == (-1.0, 0.0)
