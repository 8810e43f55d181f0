"""A sample of a check, which holds."""

from __future__ import annotations

import numpy as np

from primax.extend import core
from primax.extend.core import tree
from primax.plugins.checkify.check import Message, check_p


def _samples() -> list[core.Sample]:
    x = np.float32(1)
    _, structure = tree.flatten(((x,), {}))
    params = {"message": Message("{}", structure), "debug": True}
    return [core.Sample([np.True_, x], params, reference=lambda *_, **__: [])]


SAMPLES = {
    check_p: _samples,
}
