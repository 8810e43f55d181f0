"""What an impl returns in eager code has the types that a program has."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
from primax.extend import define_primitive, derive
from primax.extend.core import Primitive

half_more = define_primitive(
    "half_more", impl=lambda x: x * 1.5, abstract_eval=derive.from_impl, lowering=derive.from_impl
)


@pytest.mark.parametrize(
    "x", [np.arange(3), np.arange(3, dtype="uint8"), np.float64(2), np.complex128(1j), 3, 2.5], ids=repr
)
@pytest.mark.parametrize("wide", [False, True])
def test_host_values_that_an_impl_returns_are_arrays_of_the_types_of_programs(x, wide):
    with px.enable_x64(wide):
        eager, compiled = half_more.bind(x), px.jit(half_more.bind)(x)
        assert isinstance(eager, px.Array)
        assert eager.dtype == compiled.dtype
        np.testing.assert_allclose(eager, compiled)


def test_results_of_several_are_arrays_each():
    both = Primitive("both")
    both.multiple_results = True
    both.def_impl(lambda x: (np.asarray(x), 2.0))
    both.def_abstract_eval(lambda x: [x, px.typeof(2.0)])
    first, second = both.bind(np.arange(2.0))
    assert isinstance(first, px.Array)
    assert isinstance(second, px.Array)
    assert [first.dtype, second.dtype, second.weak_type] == [*[px.typeof(1.0).dtype] * 2, True]


def test_objects_without_a_dtype_of_numpy_stay_what_they_are():
    kept = Primitive("kept")
    kept.def_impl(lambda x: np.zeros(2, px.float0))
    kept.def_abstract_eval(lambda x: px.typeof(np.zeros(2, px.float0)))
    assert kept.bind(1.0).dtype == px.float0
