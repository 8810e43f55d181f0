"""Samples of checkpointed calls and of named values."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.provisional.sampling import bound_by, numbers, samples
from primax.plugins.arithmetic import mul
from primax.plugins.calls import jit
from primax.plugins.dot import dot
from primax.plugins.exponential import exp
from primax.plugins.remat.checkpoint import checkpoint
from primax.plugins.remat.names import checkpoint_name, name_p
from primax.plugins.remat.policies import dots_saveable, save_only_these_names
from primax.plugins.remat.splitting import checkpoint_p
from primax.plugins.trigonometry import cos, sin


def _checkpoint_samples() -> list[core.Sample]:
    """With each kind of policy, a call inside, and several results, one of which is an argument."""
    x, y = numbers((2, 3), np.float64), numbers((3, 2), np.float64, 5)

    def layer(x: Any, y: Any) -> tuple[Any, Any]:
        return jit(lambda x: sin(dot(x, y)))(cos(x)), x

    def named(x: Any, y: Any) -> Any:
        return mul(x, exp(checkpoint_name(sin(x), "inner")))

    return [
        bound_by(checkpoint_p, checkpoint(layer), x, y, name="nothing saved"),
        bound_by(checkpoint_p, checkpoint(layer, policy=dots_saveable), x[::-1], y, name="products saved"),
        bound_by(checkpoint_p, checkpoint(named, policy=save_only_these_names("inner")), x, y, name="names saved"),
    ]


SAMPLES = {
    checkpoint_p: _checkpoint_samples,
    name_p: samples([(3,)], {"name": "a"}, reference=lambda x, name: x),
}
