"""The first matrix product of a process, which runs while the first program with a product is compiled.

XLA for CPUs generates the machine code for products of float32 matrices when a process runs the first one, which takes
30 ms. A thread runs a small product while XLA compiles the program that needs it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend.core import ShapedArray, XlaError
from primax.extend.provisional import runtime
from primax.extend.provisional.sharding import sharding_of

_PROGRAM = """
module @first_product {
  func.func public @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %y = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0]
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    return %y : tensor<8x8xf32>
  }
}
"""
_SQUARE = ShapedArray((8, 8), np.dtype(np.float32))
_first = threading.Lock()  # whoever acquires it is first; it is not released


def prepare_products(devices: Sequence[Any]) -> None:
    """Run a product on a CPU in a thread, the first time in a process that has several cores."""
    if len(devices) == 1 and (os.cpu_count() or 1) > 1 and _first.acquire(blocking=False):
        try:
            threading.Thread(target=_run, args=devices, name="primax-first-product").start()
        except RuntimeError as error:  # the interpreter is shutting down
            runtime.log.debug("no product beside the compilation: %s", error)


def _run(device: Any) -> None:
    try:
        options = runtime.compile_options((device,))
        xla = device.client.compile_and_load(_PROGRAM, runtime.DeviceList((device,)), options)
        xla.execute_sharded([runtime.put_host(np.ones((8, 8), np.float32), _SQUARE, sharding_of(device))])
    except XlaError as error:
        runtime.log.debug("no product beside the compilation: %s", error)
