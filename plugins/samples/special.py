"""Samples of special functions of several arguments, some of which are constant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primax.extend import core
from primax.plugins.special import (
    igamma_grad_a_p,
    igamma_p,
    igammac_p,
    polygamma_p,
    random_gamma_grad_p,
    regularized_incomplete_beta_p,
    zeta_p,
)


def _beta_samples() -> list[core.Sample]:
    """Of rank 0, to save compilation time."""
    return [core.Sample([np.float32(1.3), np.float32(2.6), np.float32(0.4)], constant=[0, 1])]


_NO_SECOND = {"second_derivatives": "its derivatives are not known in closed form"}


def _gamma_samples(**options: Any) -> Callable[..., Any]:
    """Of rank 0, to save compilation time."""
    return lambda: [core.Sample([np.float32(2.7), np.float32(1.6)], **options)]


SAMPLES = {
    polygamma_p: lambda: [core.Sample([np.array([1, 2], np.float32), np.array([0.6, 1.7], np.float32)], constant=[0])],
    zeta_p: lambda: [core.Sample([np.array([1.5, 2.2], np.float32), np.array([0.6, 1.7], np.float32)], constant=[0])],
    regularized_incomplete_beta_p: _beta_samples,
    igamma_p: _gamma_samples(skip=_NO_SECOND),
    igammac_p: _gamma_samples(skip=_NO_SECOND),
    igamma_grad_a_p: _gamma_samples(),
    random_gamma_grad_p: _gamma_samples(),
}
