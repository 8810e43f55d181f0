"""The machine itself: distances, exact derivatives and limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpc, mpf

from accuracy import points
from accuracy.exact import Derivatives, limit
from accuracy.formats import FORMATS, WRONG, ulps
from accuracy.measure import FUNCTIONS, _row, computed
from accuracy.page import page

F32, C64 = FORMATS["float32"], FORMATS["complex64"]


@pytest.mark.parametrize(
    "number, value, distance",
    [
        (1.0, mpf(1), 0.0),
        (1.0 + 2**-23, mpf(1), 1.0),
        (1.0 - 2**-24, mpf(1), 0.5),
        (math.nan, mpf(1), WRONG),
        (math.inf, mpf(1), WRONG),
        (math.inf, mpf(2) ** 128, 0.0),
        (-math.inf, mpf(2) ** 128, WRONG),
        (F32.largest, mpf(2) ** 200, 0.0),
        (0.0, mpf(2) ** -130, 0.0),
        (1.0, mpf(2) ** -130, 1e9 * 2**24),
        (0.0, mpf(0), 0.0),
    ],
)
def test_ulps(number: float, value: mpf, distance: float) -> None:
    assert ulps(F32, number, value) == distance


def test_ulps_of_complex_numbers_are_those_of_the_larger_part() -> None:
    assert ulps(C64, complex(1.0, 2**-23), mpc(1, 0)) == 1.0
    assert ulps(C64, complex(math.inf, math.nan), mpc(mpf(2) ** 200, 1)) == 0.0
    assert ulps(C64, complex(1.0, math.nan), mpc(1, 1)) == WRONG
    assert ulps(C64, complex(1.0, 0.0), mpc(1, mpf(2) ** -130)) == 0.0


def test_exact_derivatives() -> None:
    machine = Derivatives(lambda x, y: mp.exp(x) * y**3, ((), ()), 600, 60, 24)
    value, gradient, hessian = machine.at((1.0, 2.0), 2)
    e = math.e
    assert np.allclose([float(v) for v in (*value, *gradient, *hessian)], [8 * e, 8 * e, 12 * e, 8 * e, 12 * e, 12 * e])


def test_no_derivative_at_a_kink_and_none_on_the_other_side_of_a_cut() -> None:
    assert Derivatives(lambda x: mp.sqrt(abs(x)), ((),), 600, 60, 24).at((0.0,), 1)[1] == [None]
    above, below = (Derivatives(mp.sqrt, ((0.0,),), 600, 60, 24).at((complex(-4.0, s),), 1) for s in (0.0, -0.0))
    assert complex(above[0][0]) == pytest.approx(2j)
    assert complex(below[0][0]) == pytest.approx(-2j)
    assert complex(above[1][0]) == pytest.approx(-0.25j)
    assert complex(below[1][0]) == pytest.approx(0.25j)


def test_limits() -> None:
    assert limit(mp.atan, 1, 2000) == math.pi / 2
    assert limit(mp.log, 1, 2000) == math.inf
    assert limit(mp.exp, -1, 2000) == 0.0
    assert limit(mp.sin, 1, 2000) is None


def test_points_of_every_binade_and_beside_landmarks() -> None:
    found = points.parts(F32, (1.5,), 1, 1)
    assert {math.frexp(abs(x))[1] - 1 for x in found if math.isfinite(x) and x} == set(range(-126, 128))
    assert {F32.neighbor(1.5, 1), F32.neighbor(1.5, -1), -F32.tiny, F32.largest, 0.0} <= set(found)


def test_a_wrong_derivative_is_seen_and_a_limit_is_counted_apart() -> None:
    function = next(f for f in FUNCTIONS if f.label == "numpy.square")
    at = [(1.0,), (2.0,), (3.0,)]
    true = [Derivatives(function.exact, ((),), 600, 60, 24).at(p, 2) for p in at]
    out = computed("primax", function, F32, at)
    out[1][0][1] += 2**-10
    row = _row(function, F32, "primax", at, true, out, [])
    assert [row.worst[k].ulp for k in (0, 1, 2)] == [0.0, 2.0**11, 0.0]
    assert row.worst[1].point == (2.0,)
    text = page([row])
    assert "| `numpy.square` | 0.0 / - / - |" in text
    assert "| `numpy.square` | 2048 / - |" in text
