"""primax: composable transformations of numerical programs, and a platform for primitives.

>>> import primax as px
>>> import primax.numpy as pnp
>>> px.grad(lambda x: pnp.sum(x**3))(pnp.arange(3.0)).tolist()
[0.0, 3.0, 12.0]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from primax.core.avals import ShapeDtypeStruct, typeof
from primax.core.config import check_tracer_leaks as checking_leaks
from primax.core.dtypes import float0
from primax.core.errors import XlaError
from primax.core.jaxpr import formatter
from primax.extend.host.plugin_host import PluginRecord, host
from primax.extend.lazy_names import advise, lazy_names
from primax.extend.options import (
    check_rules,
    check_tracer_leaks,
    config,
    debug_infs,
    debug_key_reuse,
    debug_nans,
    default_device,
    default_matmul_precision,
    default_prng_impl,
    disable_jit,
    enable_checks,
    enable_x64,
    explain_cache_misses,
    log_compiles,
    make_user_context,
    no_execution,
    no_tracing,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    threefry_partitionable,
    transfer_guard,
    transfer_guard_device_to_device,
    transfer_guard_device_to_host,
    transfer_guard_host_to_device,
)
from primax.extend.provisional.boundaries import mark_definitions, mark_modules
from primax.interpreters.runtime.array import Array, Shard
from primax.interpreters.runtime.eval import ensure_compile_time_eval
from primax.interpreters.runtime.sharding.mesh import PartitionSpec as P

if TYPE_CHECKING:
    from primax import ad_checkpoint as ad_checkpoint
    from primax import checkpoint_policies as checkpoint_policies
    from primax import contrib as contrib
    from primax import custom_batching as custom_batching
    from primax import custom_derivatives as custom_derivatives
    from primax import debug as debug
    from primax import distributed as distributed
    from primax import dlpack as dlpack
    from primax import dtypes as dtypes
    from primax import errors as errors
    from primax import example_libraries as example_libraries
    from primax import experimental as experimental
    from primax import export as export
    from primax import extend as extend
    from primax import ffi as ffi
    from primax import flatten_util as flatten_util
    from primax import image as image
    from primax import lax as lax
    from primax import linalg as linalg
    from primax import memory as memory
    from primax import monitoring as monitoring
    from primax import multihost as multihost
    from primax import nn as nn
    from primax import numpy as numpy
    from primax import ode as ode
    from primax import ops as ops
    from primax import plugins as plugins
    from primax import profiler as profiler
    from primax import random as random
    from primax import ref as ref
    from primax import scipy as scipy
    from primax import sharding as sharding
    from primax import stages as stages
    from primax import test_util as test_util
    from primax import tree as tree
    from primax import tree_util as tree_util
    from primax import typing as typing
    from primax.environment import live_arrays, print_environment_info
    from primax.extend.drawing import visualize
    from primax.extend.provisional.mesh_context import (
        get_abstract_mesh,
        get_mesh,
        make_mesh,
        set_mesh,
        use_abstract_mesh,
    )
    from primax.interpreters.make_jaxpr import make_jaxpr
    from primax.interpreters.runtime.devices.backends import (
        default_backend,
        device_count,
        devices,
        local_device_count,
        local_devices,
        process_count,
        process_index,
        process_indices,
    )
    from primax.interpreters.runtime.executable import effects_barrier
    from primax.interpreters.runtime.sharding.shardings import NamedSharding
    from primax.interpreters.scopes import named_call, named_scope
    from primax.interpreters.vmap import vmap
    from primax.numpy.dslice import ds, dslice
    from primax.plugins.callbacks import io_callback, pure_callback
    from primax.plugins.calls.jit import Inline, clear_caches, eval_shape, jit
    from primax.plugins.calls.passes import fwd_and_bwd
    from primax.plugins.custom_derivatives import closure_convert, custom_gradient
    from primax.plugins.custom_derivatives.custom_jvp import custom_jvp
    from primax.plugins.custom_derivatives.custom_vjp import custom_vjp
    from primax.plugins.devices import block_until_ready, copy_to_host_async, device_get, device_put
    from primax.plugins.remat import remat
    from primax.plugins.remat.checkpoint import checkpoint
    from primax.plugins.resharding import reshard
    from primax.plugins.sharding import (
        make_array_from_callback,
        make_array_from_process_local_data,
        make_array_from_single_device_arrays,
        smap,
    )
    from primax.plugins.sharding.pmap import pmap
    from primax.plugins.sharding.shard_map import shard_map
    from primax.ref import Ref, empty_ref, free_ref, freeze, new_ref
    from primax.transformations import (
        grad,
        hessian,
        jacfwd,
        jacobian,
        jacrev,
        jvp,
        linear_transpose,
        linearize,
        value_and_grad,
        vjp,
    )

__version__ = "0.1.0"

__all__ = [
    "Array",
    "Inline",
    "NamedSharding",
    "P",
    "Ref",
    "ShapeDtypeStruct",
    "Shard",
    "XlaError",
    "block_until_ready",
    "check_rules",
    "check_tracer_leaks",
    "checking_leaks",
    "checkpoint",
    "clear_caches",
    "closure_convert",
    "config",
    "copy_to_host_async",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "debug_infs",
    "debug_key_reuse",
    "debug_nans",
    "default_backend",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "disable_jit",
    "ds",
    "dslice",
    "effects_barrier",
    "empty_ref",
    "enable_checks",
    "enable_x64",
    "ensure_compile_time_eval",
    "eval_shape",
    "explain_cache_misses",
    "float0",
    "free_ref",
    "freeze",
    "fwd_and_bwd",
    "get_abstract_mesh",
    "get_mesh",
    "grad",
    "hessian",
    "io_callback",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "linear_transpose",
    "linearize",
    "live_arrays",
    "local_device_count",
    "local_devices",
    "log_compiles",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
    "make_jaxpr",
    "make_mesh",
    "make_user_context",
    "named_call",
    "named_scope",
    "new_ref",
    "no_execution",
    "no_tracing",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "pmap",
    "print_environment_info",
    "process_count",
    "process_index",
    "process_indices",
    "pure_callback",
    "remat",
    "reshard",
    "set_mesh",
    "shard_map",
    "smap",
    "threefry_partitionable",
    "transfer_guard",
    "transfer_guard_device_to_device",
    "transfer_guard_device_to_host",
    "transfer_guard_host_to_device",
    "typeof",
    "use_abstract_mesh",
    "value_and_grad",
    "visualize",
    "vjp",
    "vmap",
]

_SUBMODULES = frozenset(
    (
        "ad_checkpoint",
        "checkpoint_policies",
        "contrib",
        "custom_batching",
        "custom_derivatives",
        "debug",
        "dlpack",
        "distributed",
        "dtypes",
        "errors",
        "example_libraries",
        "experimental",
        "export",
        "extend",
        "ffi",
        "flatten_util",
        "image",
        "lax",
        "linalg",
        "memory",
        "monitoring",
        "multihost",
        "nn",
        "numpy",
        "ode",
        "ops",
        "plugins",
        "profiler",
        "random",
        "ref",
        "scipy",
        "sharding",
        "stages",
        "test_util",
        "tree",
        "tree_util",
        "typing",
    )
)

# Functions whose modules are imported when they are first used.
_FUNCTIONS = {
    name: f"primax.{module}"
    for module, names in {
        "extend.drawing": ("visualize",),
        "interpreters.scopes": ("named_call", "named_scope"),
        "plugins.calls": ("clear_caches", "eval_shape", "jit"),
        "plugins.calls.jit": ("Inline",),
        "plugins.calls.passes": ("fwd_and_bwd",),
        "environment": ("live_arrays", "print_environment_info"),
        "plugins.callbacks": ("io_callback", "pure_callback"),
        "plugins.custom_derivatives": ("closure_convert", "custom_gradient", "custom_jvp", "custom_vjp"),
        "numpy.dslice": ("ds", "dslice"),
        "plugins.devices": ("block_until_ready", "copy_to_host_async", "device_get", "device_put"),
        "plugins.remat": ("checkpoint", "remat"),
        "plugins.resharding": ("reshard",),
        "ref": ("Ref", "empty_ref", "free_ref", "freeze", "new_ref"),
        "interpreters.runtime.executable": ("effects_barrier",),
        "interpreters.grad": ("grad", "jvp", "linear_transpose", "linearize", "value_and_grad", "vjp"),
        "interpreters.jacobians": ("hessian", "jacfwd", "jacobian", "jacrev"),
        "interpreters.make_jaxpr": ("make_jaxpr",),
        "extend.provisional.mesh_context": (
            "get_abstract_mesh",
            "get_mesh",
            "make_mesh",
            "set_mesh",
            "use_abstract_mesh",
        ),
        "interpreters.runtime.devices.backends": (
            "default_backend",
            "device_count",
            "devices",
            "local_device_count",
            "local_devices",
            "process_count",
            "process_index",
            "process_indices",
        ),
        "interpreters.runtime.sharding.shardings": ("NamedSharding",),
        "interpreters.vmap": ("vmap",),
        "plugins.sharding": (
            "make_array_from_callback",
            "make_array_from_process_local_data",
            "make_array_from_single_device_arrays",
            "pmap",
            "shard_map",
            "smap",
        ),
    }.items()
    for name in names
}

host.catalog.own_version = __version__
advise("primax.porting.remedies")
formatter.check_pickle = lambda eqn: import_module("primax.extend.core.pickles").check_pickle(eqn)
formatter.html = lambda program: import_module("primax.extend.drawing.html").program_html(program)
PluginRecord.html = staticmethod(lambda record: import_module("primax.extend.commands.matrix").record_html(record))

_load, __dir__ = lazy_names(__name__, (*__all__, "__version__"), _SUBMODULES, _FUNCTIONS)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        value = _load(name)
        if name in _FUNCTIONS:
            mark_definitions(value.__module__)
        return value


mark_modules()
