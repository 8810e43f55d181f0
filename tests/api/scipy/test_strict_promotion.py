"""What functions of px.scipy and px.nn promote inside is not the user's: they compute under strict promotion."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import primax as px

pytestmark = pytest.mark.any_release

WAVE = np.array([0.2, 0.8, 3, 4], np.float32)
HALF = np.array([1.5, 0.5], ml_dtypes.bfloat16)
MATRIX = np.array([[0, 2, 1], [-2, 0, 1], [1, 1, 1]], np.float32)


def test_functions_promote_nothing_inside_that_the_user_has_not_mixed() -> None:
    signal, special = px.scipy.signal, px.scipy.special
    calls = {
        "csd": lambda: signal.csd(WAVE, WAVE, nperseg=2)[1],
        "welch": lambda: signal.welch(WAVE.astype(np.complex64), nperseg=2)[1],
        "stft": lambda: signal.stft(WAVE.astype(np.complex64), nperseg=2)[2],
        "istft": lambda: signal.istft(WAVE.astype(np.complex64).reshape(2, 2), nperseg=2)[1],
        "beta": lambda: special.beta(HALF, HALF),
        "poch": lambda: special.poch(HALF, HALF),
        "gamma": lambda: special.gamma(-HALF),
        "rsf2csf": lambda: px.scipy.linalg.rsf2csf(*px.scipy.linalg.schur(MATRIX))[0],
        "expm": lambda: px.grad(lambda a: px.scipy.linalg.expm(a).sum())(MATRIX),
        "orthogonal": lambda: px.nn.initializers.orthogonal()(px.random.key(0), (3, 2), np.complex64),
    }
    for name, call in calls.items():
        wanted = np.asarray(call())
        with px.numpy_dtype_promotion("strict"):
            found = np.asarray(call())
        np.testing.assert_allclose(found.astype(complex), wanted.astype(complex), rtol=1e-5, err_msg=name)
