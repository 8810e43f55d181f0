"""The functions of the tables keep their bounds; few points in the suite, more in the slow tests."""

from __future__ import annotations

import pytest

from accuracy.measure import FUNCTIONS, measure

CASES = [(f.label, dtype) for f in FUNCTIONS for dtype in f.dtypes]
# mpmath takes seconds for their exact values at a few points.
COSTLY = {"nn.gelu(approximate=False)"} | {
    f"scipy.special.{name}" for name in ("beta", "betaln", "gammaincc", "expn(2)", "hyp1f1", "poch", "spence", "zeta")
}


def _check(label: str, dtype: str, **options: object) -> None:
    function = next(f for f in FUNCTIONS if f.label == label and dtype in f.dtypes)
    (row,) = measure(label, dtype, libraries=("primax",), **options)
    for order, worst in row.worst.items():
        assert worst.ulp <= function.bound(order), (order, worst)
    for limit in function.limits:
        for (interval, order), worst in row.within.items():
            assert interval != limit.interval or worst.ulp <= limit.at_most, (interval, order, worst)


@pytest.mark.parametrize("label, dtype", [case for case in CASES if case[1] == "float32" and case[0] not in COSTLY])
def test_a_function_keeps_its_bounds_at_some_points(label: str, dtype: str) -> None:
    _check(label, dtype, step=64, each=1)


@pytest.mark.slow
@pytest.mark.parametrize("label, dtype", CASES)
def test_a_function_keeps_its_bounds(label: str, dtype: str) -> None:
    _check(label, dtype, step=8, each=1)
