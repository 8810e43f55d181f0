"""Samples of exported functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import backend, core
from primax.extend.provisional.sampling import numbers
from primax.plugins.arithmetic import mul
from primax.plugins.export.artifact import Artifact, call_exported_p, exported_tangents_p, make_artifact


def _call_samples() -> list[core.Sample]:
    """With results and arguments, some of which are integers."""
    artifact, args = _sampled()
    skip = dict.fromkeys(
        ("jvp", "linearity", "second_derivatives"), "an exported function can be differentiated in reverse mode only"
    )
    return [core.Sample(args, {"artifact": artifact}, skip=skip, reference=lambda x, n, artifact: [x * x * x, n])]


def _tangent_samples() -> list[core.Sample]:
    """With a tangent of the argument that has one."""
    artifact, args = _sampled()
    return [core.Sample([*args, args[0] / 2], {"artifact": artifact})]


def _sampled() -> tuple[Artifact, list[Any]]:
    args = [numbers((2, 3)), numbers((4,), np.int32)]
    closed = core.trace_to_jaxpr(lambda x, n: [mul(x, mul(x, x)), n], [core.get_aval(x) for x in args])
    return make_artifact(closed, "cube", (backend.platform_of(backend.get_default_device()),)), args


SAMPLES = {
    call_exported_p: _call_samples,
    exported_tangents_p: _tangent_samples,
}
