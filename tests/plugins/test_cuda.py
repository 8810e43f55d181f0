"""Programs compiled for a GPU by the plugin for CUDA, if it is installed: XLA does so without a device.

`pip install jax-cuda12-plugin==VERSION`, that of jaxlib, is enough.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import primax as px
from primax.core import _jaxlib
from primax.extend import core
from primax.extend.core.samples import samples_of
from primax.extend.host.plugin_host import host
from primax.interpreters.runtime.devices import backends, pjrt
from primax.interpreters.runtime.pipeline import Target, lower

PLUGIN = next((plugin for plugin in backends.plugins() if plugin.name == "cuda" and not plugin.problem), None)
pytestmark = pytest.mark.skipif(PLUGIN is None, reason="the plugin for CUDA is not installed")

# What XLA is told of an H100 where there is none.
TARGET = """
gpu_device_info {
  threads_per_block_limit: 1024 threads_per_warp: 32 threads_per_core_limit: 2048 core_count: 132 fpus_per_core: 128
  shared_memory_per_block: 49152 shared_memory_per_core: 233472 shared_memory_per_block_optin: 232448
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
  memory_bandwidth: 3352320000000 l2_cache_size: 52428800 clock_rate_ghz: 1.98 device_memory_size: 84978434048
  cuda_compute_capability { major: 9 minor: 0 }
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 8 }
device_description_str: "NVIDIA H100 80GB HBM3"
"""

# They exist for CPUs only, as in jax, or their samples do.
NOT_FOR_GPUS = {
    "hessenberg": "no lowering rule",
    "schur": "no lowering rule",
    "call_exported": "was exported for",
    "exported_tangents": "does not support lowering",
    "custom_lin": "no forward-mode derivative",
}
# XLA has kernels of cuDNN for convolutions, and cuDNN has them for floating-point numbers.
NOT_BY_CUDNN = "one or more integer convolutions"


@cache
def device() -> Any:
    """A device that programs can be compiled for, and not run on."""
    client = _jaxlib.xla_client
    assert PLUGIN is not None
    assert PLUGIN.gpus is not None
    c_api = pjrt._load(PLUGIN)
    if not client.pjrt_plugin_initialized("cuda"):
        client.initialize_pjrt_plugin("cuda")
    PLUGIN.gpus.register(c_api)
    topology = client.make_c_api_device_topology(c_api, "cuda", topology="1x1x1", target_config=TARGET)
    return topology._make_compile_only_devices()[0]


def compiled(closed: Any, name: str) -> Any:
    """The executable of a program for one GPU."""
    module = lower(closed, Target(name, "cuda")).module
    options = _jaxlib.CompileOptions()
    options.num_replicas = options.num_partitions = 1
    options.device_assignment = _jaxlib.xla_client.DeviceAssignment.create(np.array([[device().id]], np.int32))
    with module.shared:
        return device().client.compile(module.module, _jaxlib.DeviceList((device(),)), options)


def build(run: Callable[..., Any], sample: Any) -> Any:
    """The executable of a function at the arguments of a sample."""
    return compiled(core.trace_to_jaxpr(run, [core.get_aval(x) for x in sample.args]), "sample")


def _names() -> list[str]:
    if PLUGIN is None:
        return []
    host.activate()
    return sorted(name for name, p in host.primitives.items() if "::" not in name and samples_of(p))


@pytest.mark.slow
@pytest.mark.parametrize("name", _names())
def test_each_primitive_compiles(name):
    primitive = host.primitives[name]

    def flat(sample: Any) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            outs = primitive.bind(*args, **sample.params)
            return outs if primitive.multiple_results else [outs]

        return run

    samples = [sample for sample in samples_of(primitive) if not sample.axes]
    with px.enable_x64(True):
        if name in NOT_FOR_GPUS:
            with pytest.raises((core.MissingRuleError, TypeError), match=NOT_FOR_GPUS[name]):
                build(flat(samples[0]), samples[0])
            return
        for sample in samples:
            if name == "conv_general_dilated" and sample.args[0].dtype.kind in "iu":
                with pytest.raises(px.XlaError, match=NOT_BY_CUDNN):
                    build(flat(sample), sample)
            else:
                build(flat(sample), sample)
