"""The names that tests of packages use of `jax._src.test_util`: a test case that compares numbers, with random cases.

As in JAX, the test case is one of absl's, so that its parametrized tests work in it; absl-py must be installed.
"""

from __future__ import annotations

from absl.testing import parameterized

from primax.porting.private.public_test_util import (
    _assert_numpy_allclose,
    _check_dtypes_match,
    check_close,
    default_gradient_tolerance,
    default_tolerance,
    rand_like,
    tolerance,
)
from primax.porting.private.test_util import blocks, devices, generated, programs, samples, test_case
from primax.porting.private.test_util.blocks import *
from primax.porting.private.test_util.devices import *
from primax.porting.private.test_util.generated import *
from primax.porting.private.test_util.programs import *
from primax.porting.private.test_util.samples import *
from primax.porting.private.test_util.samples import _dims_of_shape
from primax.porting.private.test_util.test_case import *
from primax.test_util import check_grads, check_jvp, check_vjp

__all__ = [
    "_assert_numpy_allclose",
    "_check_dtypes_match",
    "_dims_of_shape",
    "check_close",
    "check_grads",
    "check_jvp",
    "check_vjp",
    "default_gradient_tolerance",
    "default_tolerance",
    "parameterized",
    "rand_like",
    "tolerance",
]

for _module in (blocks, devices, generated, programs, samples, test_case):
    __all__ += _module.__all__
