"""Every private jaxlib name that primax uses, so that a new jaxlib release is one file's work.

The names below `_EAGER` cost about 20 ms and are needed by any program. The MLIR bindings, the XLA client
module and the profiler are loaded on first use, through this module's `__getattr__`.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

from jaxlib import _jax

Config = _jax.config.Config
config_unset = _jax.config.unset
trace_context = _jax.config.trace_context
pytree = _jax.pytree
ArrayImpl = _jax.ArrayImpl
ArrayCopySemantics = _jax.ArrayCopySemantics
CompileOptions = _jax.CompileOptions
Device = _jax.Device
DeviceList = _jax.DeviceList
GSPMDSharding = _jax.GSPMDSharding
HostBufferSemantics = _jax.HostBufferSemantics
PjitFunctionCache = _jax.PjitFunctionCache
Traceback = _jax.Traceback
TracebackScope = _jax.TracebackScope
XlaRuntimeError = _jax.JaxRuntimeError
array_result_handler = _jax.array_result_handler
batched_copy_array_to_devices_with_sharding = _jax.batched_copy_array_to_devices_with_sharding
batched_device_put = _jax.batched_device_put
buffer_to_dlpack_managed_tensor = _jax.buffer_to_dlpack_managed_tensor
dlpack_managed_tensor_to_buffer = _jax.dlpack_managed_tensor_to_buffer
collect_garbage = _jax.collect_garbage
jax_jit = _jax.jax_jit
pjit = _jax.pjit
register_custom_type = _jax.register_custom_type
hlo_module_cost_analysis = _jax.hlo_module_cost_analysis
get_topology_for_devices = _jax.get_topology_for_devices
mlir = _jax.mlir

_LAZY = {
    "ir": "jaxlib.mlir.ir",
    "passmanager": "jaxlib.mlir.passmanager",
    "func": "jaxlib.mlir.dialects.func",
    "hlo": "jaxlib.mlir.dialects.stablehlo",
    "chlo": "jaxlib.mlir.dialects.chlo",
    "sdy": "jaxlib.mlir.dialects.sdy",
    "hlo_ext": "jaxlib.mlir._mlir_libs._stablehlo",
    "chlo_ext": "jaxlib.mlir._mlir_libs._chlo",
    "sdy_ext": "jaxlib.mlir._mlir_libs._sdy",
    "mlir_ext": "jaxlib.mlir._mlir_libs._jax_mlir_ext",
    "xla_client": "jaxlib.xla_client",
    "lapack": "jaxlib.lapack",
    "weakref_lru_cache": "jaxlib.weakref_lru_cache",
    "version": "jaxlib.version",
}


def __getattr__(name: str) -> Any:
    """Load an MLIR or XLA module the first time it is asked for."""
    target = _LAZY.get(name)
    if target is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(target)
    globals()[name] = module
    return module
