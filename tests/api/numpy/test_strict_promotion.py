"""Where jax computes under strict promotion, px.numpy does too: what it promotes inside is not the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpycheck import compare

import primax as px
import primax.numpy as pnp

pytestmark = pytest.mark.usefixtures("in_32_bits")


def test_functions_promote_nothing_inside_that_the_user_has_not_mixed(jax: Any) -> None:
    z = (np.arange(8) + 1j * np.arange(8) ** 2).astype(np.complex64)
    calls: dict[str, Any] = {
        "lstsq": lambda m, n, z: m.linalg.lstsq(m.stack([z, z * z], 1), z)[0],
        "polyfit": lambda m, n, z: m.polyfit(z, z, 1),
        "logaddexp.reduce": lambda m, n, z: m.logaddexp.reduce(n),
        "histogram": lambda m, n, z: m.histogram(n, m.asarray([0, 2, 9])),
        "histogram2d": lambda m, n, z: m.histogram2d(n, n, (2, 3)),
        "dot, whose result is told": lambda m, n, z: m.dot(n, n.astype("uint8"), preferred_element_type="float32"),
        "einsum, likewise": lambda m, n, z: m.einsum("i,i", n, n.astype("uint8"), preferred_element_type="float32"),
    }
    with px.numpy_dtype_promotion("strict"), jax.numpy_dtype_promotion("strict"):
        compare(calls, np.arange(8), z, rtol=1e-4)


RANKS: dict[str, Callable[[], Any]] = {
    "polyfit": lambda: pnp.polyfit(np.arange(6.0), np.arange(6.0) ** 2, 1, cov=True),
    "cov": lambda: pnp.cov(np.ones((2, 3)), aweights=np.ones(3)),
    "corrcoef": lambda: pnp.corrcoef(np.eye(3)),
    "stft": lambda: px.scipy.signal.istft(px.scipy.signal.stft(np.ones(32), nperseg=8)[2], nperseg=8),
    "welch": lambda: px.scipy.signal.welch(np.ones(32), nperseg=8),
    "rotation": lambda: px.scipy.spatial.transform.Rotation(np.eye(4, dtype=np.float32)).inv().as_quat(),
}


@pytest.mark.parametrize("name", RANKS)
def test_operands_of_one_rank_need_no_rank_promotion(name: str) -> None:
    with px.numpy_rank_promotion("raise"):
        RANKS[name]()
