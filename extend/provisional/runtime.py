"""Compiled programs, buffers and their donation, and transfers."""

from __future__ import annotations

from primax.core._jaxlib import DeviceList, PjitFunction
from primax.extend.provisional.compiled_function import CompiledFunction
from primax.extend.provisional.from_dlpack import from_cuda_array_interface, from_dlpack
from primax.interpreters.linear_trace import is_staged
from primax.interpreters.runtime import log
from primax.interpreters.runtime.compile import (
    hlo_computation,
    hlo_cost_analysis,
    hlo_text,
    module_text,
    optimized_text,
)
from primax.interpreters.runtime.device_put import (
    compile_options,
    explicit_transfer,
    full_on_host,
    of_parts,
    on_host,
    put_host,
    put_value,
)
from primax.interpreters.runtime.devices.backends import client, local_devices, names_of, process_count, process_index
from primax.interpreters.runtime.dispatch import fast_front, fast_function, fast_path
from primax.interpreters.runtime.donation import copy_if_shared, donation_lock, is_copy_needed, mark_donated, shared
from primax.interpreters.runtime.eval import leaves_tree
from primax.interpreters.runtime.executable import Executable, effects_barrier, load_executable, wait_for_effect
from primax.interpreters.runtime.pipeline import compile_and_run, trace_call
from primax.interpreters.runtime.sharding.device_assignment import DeviceAssignment
from primax.interpreters.runtime.watches import register_watch, start_watches

__all__ = [
    "CompiledFunction",
    "DeviceAssignment",
    "DeviceList",
    "Executable",
    "PjitFunction",
    "client",
    "compile_and_run",
    "compile_options",
    "copy_if_shared",
    "donation_lock",
    "effects_barrier",
    "explicit_transfer",
    "fast_front",
    "fast_function",
    "fast_path",
    "from_cuda_array_interface",
    "from_dlpack",
    "full_on_host",
    "hlo_computation",
    "hlo_cost_analysis",
    "hlo_text",
    "is_copy_needed",
    "is_staged",
    "leaves_tree",
    "load_executable",
    "local_devices",
    "log",
    "mark_donated",
    "module_text",
    "names_of",
    "of_parts",
    "on_host",
    "optimized_text",
    "process_count",
    "process_index",
    "put_host",
    "put_value",
    "register_watch",
    "shared",
    "start_watches",
    "trace_call",
    "wait_for_effect",
]
