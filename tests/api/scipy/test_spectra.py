"""Spectra of signals are those of SciPy, and signals come back from them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from rulecheck import assert_close, check_grad

import primax as px
from primax.scipy import signal
from primax.scipy.signal.tapers import named_window

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]

SIGNALS = np.random.default_rng(0).uniform(-2, 2, (2, 300)).astype(np.float32)
OTHER = np.cumsum(SIGNALS[::-1], 1)[:, :250] / 10

OPTIONS: dict[str, dict[str, Any]] = {
    "as they are": {},
    "short segments": {"nperseg": 32, "noverlap": 20},
    "odd segments in longer transforms": {"nperseg": 33, "nfft": 41},
    "segments as long as the signal": {"nperseg": 1000},
    "another window": {"window": ("kaiser", 4.0), "nperseg": 64},
    "a window of one's own": {"window": np.hanning(40), "nperseg": 40},
    "without trends": {"detrend": "linear", "nperseg": 64},
    "without means, by a function": {"detrend": lambda x: x - x.mean(-1, keepdims=True), "nperseg": 64},
    "all frequencies": {"return_onesided": False, "nperseg": 64, "detrend": False},
    "another rate": {"fs": 50.0, "nperseg": 64},
}
POWERS = OPTIONS | {
    "a spectrum": {"scaling": "spectrum", "nperseg": 64},
    "medians": {"average": "median", "nperseg": 64},
    "medians of an even number": {"average": "median", "nperseg": 60, "noverlap": 0},
}
SHORT = OPTIONS | {
    "no boundary": {"boundary": None, "nperseg": 64},
    "filled up no more": {"boundary": None, "padded": False, "nperseg": 64},
    "even": {"boundary": "even", "nperseg": 64},
    "odd": {"boundary": "odd", "nperseg": 64},
    "constant": {"boundary": "constant", "nperseg": 64},
}


def agree(calls: dict[str, Any], *arrays: Any) -> None:
    library = pytest.importorskip("scipy.signal")
    got = px.jit(lambda *xs: {name: call(signal, *xs) for name, call in calls.items()})(*arrays)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a segment is longer than the signal
        for name, call in calls.items():
            for one, want in zip(got[name], call(library, *arrays), strict=True):
                assert_close(one, np.asarray(want, one.dtype), 2e-5, name)


def test_powers_are_scipys() -> None:
    calls = {name: lambda s, x, y, o=options: s.welch(x, **o) for name, options in POWERS.items()}
    calls |= {f"cross, {name}": lambda s, x, y, o=options: s.csd(x, y, **o) for name, options in POWERS.items()}
    calls["along the first axis"] = lambda s, x, y: s.csd(x.T, y.T, nperseg=32, axis=0)
    calls["of complex numbers"] = lambda s, x, y: s.welch(x + 1j * x[::-1], nperseg=32)
    calls["with one for all"] = lambda s, x, y: s.csd(x[:, :250], y[0], nperseg=32)
    agree(calls, SIGNALS, OTHER)


def test_spectra_of_segments_are_scipys() -> None:
    calls = {name: lambda s, x, o=options: s.stft(x, **o) for name, options in SHORT.items()}
    calls["along the first axis"] = lambda s, x: s.stft(x.T, nperseg=32, axis=0)
    calls["along the first of two, from the end"] = lambda s, x: s.stft(x.T, nperseg=32, axis=-2)
    agree(calls, SIGNALS)


@pytest.mark.parametrize(
    "options, inverse",
    [
        ({"nperseg": 40}, {}),
        ({"nperseg": 41, "noverlap": 30}, {"nperseg": 41, "noverlap": 30}),
        ({"nperseg": 30, "nfft": 40}, {"nperseg": 30, "nfft": 40}),
        ({"nperseg": 40, "return_onesided": False}, {"input_onesided": False}),
        ({"nperseg": 40, "boundary": None, "window": "boxcar"}, {"boundary": False, "window": "boxcar"}),
        ({"nperseg": 40, "fs": 10.0, "noverlap": 30}, {"fs": 10.0, "noverlap": 30}),
    ],
    ids=str,
)
def test_signals_come_back_from_their_spectra(options: Any, inverse: Any) -> None:
    *_, spectra = signal.stft(SIGNALS, **options)
    times, back = signal.istft(spectra, **inverse)
    assert_close(np.real(back)[:, :300], SIGNALS, 2e-5)
    assert_close(times, (np.arange(back.shape[1]) / options.get("fs", 1.0)).astype(np.float32))


def test_signals_come_back_along_other_axes() -> None:
    *_, spectra = signal.stft(SIGNALS, nperseg=40)
    turned = px.numpy.moveaxis(spectra, (-2, -1), (1, 0))
    _, back = signal.istft(turned, time_axis=0, freq_axis=1)
    assert_close(back[:300].T, SIGNALS, 2e-5)


def test_power_is_differentiated() -> None:
    x = SIGNALS[0, :12]
    check_grad(px.jit(lambda x: signal.welch(x, nperseg=6)[1]), x)
    check_grad(px.jit(lambda x: signal.istft(signal.stft(x**2, nperseg=4)[2], nperseg=4)[1]), x)


WINDOWS = [
    *("boxcar", "hann", "hamming", "blackman", "blackmanharris", "nuttall", "flattop", "barthann", "bartlett"),
    *("bohman", "lanczos", "tukey", "exponential", "hann_periodic"),
    *(("kaiser", 4.0), ("tukey", 0.3), ("tukey", 0.0), ("general_hamming", 0.7), ("gaussian", 3.0)),
    *(("general_gaussian", 1.5, 2.0), ("exponential", None, 3.0)),
]


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_windows_are_scipys(window: Any) -> None:
    name = window.removesuffix("_periodic") if isinstance(window, str) else window  # SciPy says so since 1.16
    for length in (1, 2, 7, 8):
        want = pytest.importorskip("scipy.signal").get_window(name, length)
        np.testing.assert_allclose(named_window("welch", window, length), want, atol=1e-12)


REFUSED = {
    "a window": (lambda x: signal.welch(x, window="some"), "welch: window must be an array or one of .* got 'some'"),
    "no window": (lambda x: signal.welch(x, window=()), r"welch: window must be an array or one of .* got \(\)"),
    "parameters": (
        lambda x: signal.welch(x, window="kaiser"),
        "welch: window must have the parameters that kaiser needs, got 'kaiser'",
    ),
    "scaling": (lambda x: signal.welch(x, scaling="some"), "welch: scaling must be 'density' .* got 'some'"),
    "average": (lambda x: signal.csd(x, x, average="mode"), "csd: average must be 'mean' or 'median', got 'mode'"),
    "no common axes": (
        lambda x: signal.csd(x[:, :0], np.ones((3, 4))),
        "csd: the other axes of x and y must broadcast",
    ),
    "nperseg": (lambda x: signal.stft(x, nperseg=0), "stft: nperseg must be positive, got 0"),
    "two lengths": (
        lambda x: signal.stft(x, window=np.ones(8), nperseg=9),
        "stft: nperseg must be the length of the window, got 9 and 8",
    ),
    "a long window": (
        lambda x: signal.welch(x, window=np.ones(301)),
        r"welch: window must have from 1 to 300 elements, got shape \(301,\)",
    ),
    "noverlap": (lambda x: signal.welch(x, nperseg=8, noverlap=8), "noverlap must be less than nperseg, got 8 and 8"),
    "nfft": (lambda x: signal.welch(x, nperseg=8, nfft=7), "nfft must not be less than nperseg, got 7 and 8"),
    "boundary": (lambda x: signal.stft(x, boundary="wrap"), "stft: boundary must be one of None, .* got 'wrap'"),
    "rank": (lambda x: signal.istft(x[0]), r"istft: Zxx must be of rank 2 or more, got f32\[300\]"),
    "axes": (lambda x: signal.istft(x, time_axis=0), "time_axis and freq_axis must differ, got 0 and -2"),
    "axis": (lambda x: signal.welch(x, axis=2), r"welch: axis must be in \[-2, 2\), got 2"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_named(case: str) -> None:
    call, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        call(SIGNALS)


def test_the_cross_spectrum_of_one_signal_is_its_power_spectrum() -> None:
    x = np.arange(32, dtype=np.float32) ** 2
    for found, expected in zip(signal.csd(x, None, nperseg=8), signal.welch(x, nperseg=8), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_spectra_of_nothing_are_empty() -> None:
    x, y = np.zeros((0, 4), np.float32), np.zeros((3, 0), np.float32)
    frequencies, power = signal.welch(x, nperseg=4)
    assert (frequencies.shape, power.shape, power.dtype) == ((0, 4), (0, 4), np.float32)
    _, cross = signal.csd(np.ones((3, 8), np.float32), y)
    assert (cross.shape, cross.dtype) == ((3, 0), np.complex64)
    *_, spectra = signal.stft(y, axis=0)
    assert (spectra.shape, spectra.dtype) == ((3, 0), np.complex64)
    assert signal.fftconvolve(np.ones(3, np.float32), x[:, 0]).shape == (0,)
