"""Devices and compiled programs."""

from __future__ import annotations

from primax.interpreters.backend import (
    as_array,
    asked_transfer,
    choose_device,
    device_of,
    from_dlpack,
    is_constant,
    on_host,
    put_value,
    refuse_buffers,
    release,
    sharding_of,
    spare,
)
from primax.interpreters.compile import (
    Executable,
    compile_lowered,
    effects_barrier,
    executable_for,
    hlo_computation,
    hlo_cost_analysis,
    hlo_text,
    lower,
    module_text,
    optimized_text,
    wait_for_effect,
)
from primax.interpreters.evaluate import fast_function, fast_path, first_call, leaves_tree
from primax.interpreters.linear_trace import is_staged
from primax.interpreters.nonfinite import refuses_nonfinite
from primax.interpreters.platforms import (
    client,
    default_device,
    device_count,
    devices,
    local_devices,
    names_of,
    platform_of,
    register_platform,
)
from primax.interpreters.portable import artifact_text, artifact_version, newest_version, to_artifact

__all__ = [
    "Executable",
    "artifact_text",
    "artifact_version",
    "as_array",
    "asked_transfer",
    "choose_device",
    "client",
    "compile_lowered",
    "default_device",
    "device_count",
    "device_of",
    "devices",
    "effects_barrier",
    "executable_for",
    "fast_function",
    "fast_path",
    "first_call",
    "from_dlpack",
    "hlo_computation",
    "hlo_cost_analysis",
    "hlo_text",
    "is_constant",
    "is_staged",
    "leaves_tree",
    "local_devices",
    "lower",
    "module_text",
    "names_of",
    "newest_version",
    "on_host",
    "optimized_text",
    "platform_of",
    "put_value",
    "refuse_buffers",
    "refuses_nonfinite",
    "register_platform",
    "release",
    "sharding_of",
    "spare",
    "to_artifact",
    "wait_for_effect",
]
