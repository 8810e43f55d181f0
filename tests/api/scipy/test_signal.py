"""Signals are convolved, correlated and detrended as SciPy does, in any mode, by any method."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rulecheck import assert_close, check_grad

import primax as px
from primax.scipy import signal

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]

MODES = ("full", "same", "valid")


def scipy_signal() -> Any:
    return pytest.importorskip("scipy.signal")


def numbers(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Any:
    values = np.random.default_rng(seed).uniform(-2, 2, (2, *shape))
    return (values[0] + 1j * values[1] if np.dtype(dtype).kind == "c" else values[0]).astype(dtype)


def compare(calls: dict[str, Any], *arrays: Any, rtol: float = 2e-5) -> None:
    """Functions of a library and of arrays give the same with SciPy, which may refuse what is refused here."""
    refused = []

    def run(*arrays: Any) -> Any:
        out = {}
        for name, call in calls.items():
            try:
                out[name] = call(signal, *arrays)
            except ValueError as error:
                refused.append((name, error))
        return out

    got = px.jit(run)(*arrays)
    for name, _ in refused:
        with pytest.raises(ValueError):
            calls[name](scipy_signal(), *arrays)
    for name, out in got.items():
        want = calls[name](scipy_signal(), *arrays)
        assert_close(out, np.asarray(want, out.dtype), rtol, name)


SHAPES = [
    ((5,), (3,)),
    ((5,), (2,)),
    ((2,), (5,)),
    ((4, 5), (2, 3)),
    ((2, 3), (4, 5)),
    ((2, 5), (4, 3)),
    ((3, 4, 2),) * 2,
]


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_convolve_and_correlate_are_scipys(shapes: Any, dtype: Any) -> None:
    one, other = (numbers(*shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes))
    calls = {
        f"{function} {mode} {method}": lambda s, x, y, f=function, a=(mode, method): getattr(s, f)(x, y, *a)
        for function in ("convolve", "correlate")
        for mode in MODES
        for method in ("direct", "fft", "auto")
    }
    calls |= {f"fftconvolve {mode}": lambda s, x, y, m=mode: s.fftconvolve(x, y, m) for mode in MODES}
    compare(calls, one, other, rtol=1e-4)


@pytest.mark.parametrize("shapes", [((4, 5), (3, 2)), ((3, 4), (4, 5))], ids=str)
def test_convolve2d_and_correlate2d_are_scipys_at_any_boundary(shapes: Any) -> None:
    one, other = (numbers(*shape, seed=i) for i, shape in enumerate(shapes))
    calls = {
        f"{function} {options}": lambda s, x, y, f=function, a=options: getattr(s, f)(x, y, *a)
        for function in ("convolve2d", "correlate2d")
        for mode in MODES
        for options in ((mode,), (mode, "fill", 2.0), (mode, "wrap"), (mode, "symm"))
    }
    compare(calls, one, other)


def test_fftconvolve_broadcasts_along_other_axes() -> None:
    options = [("full", 1), ("same", 1), ("valid", 1), ("full", (0, 1)), ("full", -1), ("same", [0])]
    calls = {str(a): lambda s, x, y, z, a=a: s.fftconvolve(x, y, *a) for a in options}
    calls |= {f"{a} from one": lambda s, x, y, z, a=a: s.fftconvolve(x, z, *a) for a in options}
    compare(calls, numbers(3, 4), numbers(3, 2), numbers(1, 2), rtol=1e-4)


def test_transforms_are_taken_where_they_save_much() -> None:
    def transforms(size: int, window: int) -> bool:
        return "fft" in str(px.make_jaxpr(signal.convolve)(np.ones(size), np.ones(window)))

    assert not transforms(1000, 20)
    assert transforms(10_000, 1000)


def test_results_have_the_common_floating_point_dtype() -> None:
    ints, halves = np.arange(4), np.ones(2, np.float16)
    assert signal.convolve(ints, ints).dtype == np.float32
    assert signal.convolve(ints, halves, method="fft").dtype == np.float16
    assert signal.correlate(halves, np.ones(3, np.complex64)).dtype == np.complex64
    assert float(signal.fftconvolve(2.0, 3.0)) == float(signal.fftconvolve(2.0, 3.0, axes=())) == 6.0


def test_convolutions_are_differentiated_by_either_method() -> None:
    x, y = numbers(4, 3), numbers(2, 2, seed=1)
    for method in ("direct", "fft"):
        check_grad(px.jit(lambda x, y, m=method: signal.correlate(x, y, "same", m)), x, y)


REFUSED = {
    "a mode": (
        lambda x: signal.convolve(x, x, "some"),
        "convolve: mode must be one of 'full', 'same', 'valid', got 'some'",
    ),
    "a method": (lambda x: signal.correlate(x, x, method="slow"), "correlate: method must be 'auto', .* got 'slow'"),
    "ranks": (
        lambda x: signal.fftconvolve(x, x[0]),
        r"fftconvolve: in1 and in2 must have the same rank, got f32\[2,3\] and",
    ),
    "nothing": (lambda x: signal.convolve(x, x[:0]), r"convolve: in2 must not be empty, got f32\[0,3\]"),
    "shapes": (
        lambda x: signal.convolve(x, x.T, "valid"),
        r"in mode 'valid' one array must be .* got shapes \(2, 3\) and \(3, 2\)",
    ),
    "a rank": (lambda x: signal.convolve2d(x[0], x[0]), r"convolve2d: in1 and in2 must be of rank 2, got f32\[3\]"),
    "a boundary": (
        lambda x: signal.correlate2d(x, x, boundary="reflect"),
        "correlate2d: boundary must be one of 'fill', .* got 'reflect'",
    ),
    "axes": (lambda x: signal.fftconvolve(x, x[:, :2], axes=0), r"axes other than \(0,\) .* got 3 and 2 in axis 1"),
    "no axes": (lambda x: signal.fftconvolve(x, x, axes=()), "fftconvolve: axes must not be empty"),
    "a type": (lambda x: signal.detrend(x, type="cubic"), "detrend: type must be one of 'linear', .* got 'cubic'"),
    "a break": (lambda x: signal.detrend(x, bp=4), r"detrend: bp must lie in \[0, 3\), got 4"),
    "an axis": (lambda x: signal.detrend(x, axis=2), r"detrend: axis must be in \[-2, 2\), got 2"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_named(case: str) -> None:
    call, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        call(numbers(2, 3))


def test_detrend_is_scipys() -> None:
    options: list[dict[str, Any]] = [
        {},
        {"axis": 0},
        {"type": "constant"},
        {"type": "l", "bp": 2},
        {"type": "c", "bp": 2},
        {"bp": [3, 1, 3]},
        {"bp": 6},
    ]
    compare({str(o): lambda s, x, o=o: s.detrend(x, **o) for o in options}, numbers(4, 7))
    compare({"one": lambda s, x: s.detrend(x)}, np.float32([3.0]))


def test_detrend_leaves_nothing_of_a_line() -> None:
    line = np.arange(1000, dtype=np.float32) * 3 + 5
    assert np.abs(signal.detrend(line)).max() < 2e-3
    assert signal.detrend(np.arange(5)).dtype == np.float32
    with pytest.raises(NotImplementedError, match="overwrite_data must be None"):
        signal.detrend(line, overwrite_data=True)
