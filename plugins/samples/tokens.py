"""Samples of tokens, and of operations that keep values in programs or draw numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from primax.extend import core
from primax.extend.core import Token
from primax.plugins.tokens import after_all_p, create_token_p, dce_sink_p, rng_uniform_p

_SKIP = {
    "lowering": "tokens are no results of compiled programs",
    **dict.fromkeys(("determinism", "global_state"), "each token is a new one"),
}


def _sinks() -> list[core.Sample]:
    x = np.array([0.5, -1.25], np.float32)
    return [core.Sample([x], {"prevent_mlir_dce": False}, reference=lambda x, **_: [])]


def _tokens() -> list[core.Sample]:
    return [core.Sample([], skip=_SKIP)]


def _waits() -> list[core.Sample]:
    return [core.Sample([Token(), Token()], skip=_SKIP)]


def _draws() -> list[core.Sample]:
    """Numbers from an interval of one point: others differ between calls."""

    def reference(a: np.ndarray, b: np.ndarray, *, shape: tuple[int, ...]) -> np.ndarray:
        return np.full(shape, a)

    def vary(args: Sequence[np.ndarray], k: int) -> list[np.ndarray]:
        return [np.asarray(x) + k for x in args]

    point = np.float32(1.5)
    return [core.Sample([point, point], {"shape": (3,)}, reference=reference, vary=vary)]


SAMPLES = {create_token_p: _tokens, after_all_p: _waits, dce_sink_p: _sinks, rng_uniform_p: _draws}
