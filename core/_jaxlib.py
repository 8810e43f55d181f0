"""All private jaxlib names that primax uses, and all differences between jaxlib releases.

`CHANGES` is the table of the differences. The module's `__getattr__` loads the MLIR bindings, the XLA client module and
the profiler at their first use. The other names cost about 20 ms, and every program needs them."""

from __future__ import annotations

import functools
import importlib
import os
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import jaxlib
from jaxlib import _jax


class Change(NamedTuple):
    """A difference between jaxlib releases."""

    name: str
    since: tuple[int, ...]  # the first release that has the change
    what: str
    here: str  # the solution of primax


# tests/core/test_jaxlib_canary.py has a test for each.
CHANGES = (
    Change(
        "serialize_portable_artifact",
        (0, 10, 1),
        "it takes a module; earlier releases take the text of a module",
        "`portable_artifact` below passes what each takes",
    ),
    Change(
        "chlo.mulhi",
        (0, 10, 2),
        "the operation exists",
        "for earlier releases `plugins/arithmetic/halves.py` multiplies halves",
    ),
    Change(
        "deserialize_portable_artifact",
        (0, 11),
        "the client's function releases the GIL, so a diagnostic handler written in Python crashes the process",
        "primax uses the function of `hlo_ext`, which keeps the GIL",
    ),
    Change(
        "get_pjrt_plugin",
        (0, 11),
        "it returns the functions of a PJRT plugin that is already loaded",
        "for earlier releases primax registers no kernels with a plugin that jax has loaded; jax registers its own",
    ),
    Change(
        "xla_cpu_use_fusion_emitters",
        (0, 11, 1),
        "the option was removed; a program with it does not compile, and XLA_FLAGS with it end the process",
        "`known_options` leaves out removed options",
    ),
    Change(
        "sdy_ext",
        (0, 11, 1),
        "the extension imports `sdy` too early; if the extension is imported first, `sdy` lacks names permanently",
        "`__getattr__` below imports `sdy` first",
    ),
    Change(
        "array_result_handler",
        (0, 11, 2),
        "the parameter `_skip_checks` was removed: results are never checked",
        "`array_result_handler` below passes it to earlier releases",
    ),
    Change(
        "ArrayImpl.aval",
        (0, 11, 2),
        "the attribute cannot be assigned",
        "primax makes another ArrayImpl of the same buffer",
    ),
)


class Fault(NamedTuple):
    """A wrong number that XLA for CPUs computes, and that primax guards against."""

    name: str
    until: tuple[int, ...] | None  # the first release without the fault; None if the newest one has it
    what: str


# extend/stablehlo/xla_faults.py has the guards. tests/core/test_jaxlib_canary.py has a program for each, and reports
# those that the installed release does not need.
FAULTS = (
    Fault("sum of products", (0, 11), "(m @ x.T).sum(0) is wrong for m of 2 or 3 x 3, x of 32,769 to 43,690 rows"),
    Fault("extrema of NaN", None, "min and max of 4,096 or more numbers ignore NaN (of float16 and bfloat16 only min)"),
    Fault("bounds of terms", None, "sums of 4,096 or more numbers maximum(x, y) or minimum(x, y) ignore NaN"),
    Fault("exp of NaN", None, "exp of a NaN that the compiler knows, such as exp(x * nan), is any number"),
)
# Earlier releases print lines about the processor to standard error for each compiled program that they load.
QUIET_LOADING = (0, 10, 2)
FIRST, NEXT = (0, 10), (0, 13)  # the table is for releases from FIRST on and before NEXT

release = tuple(int(part) for part in jaxlib.__version__.split(".")[:3] if part.isdigit())
if release >= NEXT:
    warnings.warn(
        f"jaxlib {jaxlib.__version__} is newer than the releases that this version of primax knows "
        f"({'.'.join(map(str, FIRST))} to {NEXT[0]}.{NEXT[1] - 1}); update primax if something fails",
        RuntimeWarning,
        stacklevel=2,
    )

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
Sharding = _jax.Sharding
HostBufferSemantics = _jax.HostBufferSemantics
PjitFunctionCache = _jax.PjitFunctionCache
Traceback = _jax.Traceback
TracebackScope = _jax.TracebackScope
XlaRuntimeError = _jax.JaxRuntimeError
array_result_handler = _jax.array_result_handler
if "_skip_checks" in array_result_handler.__nb_signature__[0][0]:
    array_result_handler = functools.partial(array_result_handler, _skip_checks=True)
batched_copy_array_to_devices_with_sharding = _jax.batched_copy_array_to_devices_with_sharding
batched_block_until_ready = _jax.batched_block_until_ready
batched_device_put = _jax.batched_device_put
buffer_to_dlpack_managed_tensor = _jax.buffer_to_dlpack_managed_tensor
dlpack_managed_tensor_to_buffer = _jax.dlpack_managed_tensor_to_buffer
cuda_array_interface_to_buffer = _jax.cuda_array_interface_to_buffer
collect_garbage = _jax.collect_garbage
guard_lib = _jax.guard_lib
jax_jit = _jax.jax_jit
PjitFunction = _jax.PjitFunction
pjit = _jax.pjit
register_custom_call_partitioner = _jax.register_custom_call_partitioner
register_custom_call_as_batch_partitionable = _jax.register_custom_call_as_batch_partitionable
register_custom_type = _jax.register_custom_type
hlo_module_cost_analysis = _jax.hlo_module_cost_analysis
get_topology_for_devices = _jax.get_topology_for_devices
get_distributed_runtime_client = _jax.get_distributed_runtime_client
get_distributed_runtime_service = _jax.get_distributed_runtime_service
make_gloo_tcp_collectives = _jax.make_gloo_tcp_collectives
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
    "profile_data": "jaxlib._profile_data",
    "weakref_lru_cache": "jaxlib.weakref_lru_cache",
    "profiler": "jaxlib._profiler",
    "version": "jaxlib.version",
}


def __getattr__(name: str) -> Any:
    """Load an MLIR or XLA module at its first use."""
    target = _LAZY.get(name)
    if target is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "sdy_ext" and release >= (0, 11, 1):
        importlib.import_module(_LAZY["sdy"])
    module = importlib.import_module(target)
    globals()[name] = module
    return module


def portable_artifact(module: Any, version: str, mixed: bool = False) -> bytes:
    """A module as an artifact of a version of StableHLO; if `mixed`, operations of other dialects stay unchanged."""
    source = str(module) if release < (0, 10, 1) else module
    return bytes(mlir.serialize_portable_artifact(source, version, use_mixed_serialization=mixed))


def platform_of(client: Any) -> str:
    """The name of a client's platform, such as `cuda`; its attribute `platform` is `gpu` for all manufacturers."""
    return str(client._raw_platform)


def get_pjrt_plugin(name: str) -> Any:
    """The functions of a loaded PJRT plugin, as a capsule; None if this release of jaxlib does not offer them."""
    give = getattr(_jax, "get_pjrt_plugin", None)
    return None if give is None else give(name)


def status_of(error: BaseException) -> str:
    """The status with which the text of XLA's errors begins, such as INTERNAL; empty for an error of another kind."""
    status, colon, _ = str(error).partition(":")
    return status if colon and status.isupper() else ""


def repeats_donated_buffer(error: BaseException) -> bool:
    """Whether a program refused a buffer that is donated and also another argument of the call, donated or not."""
    return any(part in str(error) for part in ("the same call to Execute()", "donate the same buffer twice"))


def lacks_hash(error: BaseException) -> bool:
    """Whether jaxlib's dispatcher refused a static argument that has no hash."""
    return str(error).startswith("Non-hashable")


def has_fault(name: str) -> bool:
    """Whether this release of jaxlib has a fault of `FAULTS`."""
    until = next(fault.until for fault in FAULTS if fault.name == name)
    return until is None or release < until


_OPTIONS_GONE = {"xla_cpu_use_fusion_emitters": (0, 11, 1)}


def known_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The compiler options that this release supports."""
    gone = {name for name, since in _OPTIONS_GONE.items() if release >= since}
    return {name: value for name, value in options.items() if name not in gone}
