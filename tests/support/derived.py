"""A primitive with derived rules, for tests of what is derived."""

from __future__ import annotations

import numpy as np

import primax as px
import primax.numpy as pnp
from primax.extend import core, define_primitive, derive
from primax.extend.effects import register_effect

FROM_IMPL = derive.from_impl
X = np.float32([0.5, -1.0, 2.0])
Y = np.float32([1.0, 3.0, -2.0])


class Loud(core.Effect):
    """Something is said aloud."""


register_effect(Loud)


def sums(x, y):
    return [pnp.cumsum(x) * 2, 3 * x - y]


sums_p = define_primitive(
    "sums",
    multiple_results=True,
    impl=sums,
    abstract_eval=FROM_IMPL,
    jvp=derive.linear,
    transpose=FROM_IMPL,
    batch=derive.loop,
    lowering=FROM_IMPL,
)


def assert_same(got, want):
    got, want = (px.tree_util.tree_leaves(each) for each in (got, want))
    assert [np.asarray(x).dtype for x in got] == [np.asarray(x).dtype for x in want]
    for x, y in zip(got, want, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)
