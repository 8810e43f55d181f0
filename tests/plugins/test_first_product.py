"""A process runs its first matrix product beside the compilation of the first program that has one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from primax.core.errors import XlaError
from primax.extend.provisional import runtime
from primax.interpreters.runtime.device_put import default_device
from primax.plugins.dot import first_product

pytestmark = pytest.mark.any_word_size

PROGRAM = """
import os, threading
os.cpu_count = lambda: {cores}
started = []
start = threading.Thread.start
threading.Thread.start = lambda thread: (started.append(thread.name), start(thread))[1]

import primax as px, primax.numpy as pnp
px.config.update("compilation_cache_dir", "")
x = pnp.arange(6, dtype="float32").reshape(2, 3)
px.jit(pnp.sin)(x), px.jit(lambda x: x.astype(int) @ x.T.astype(int))(x)
print(started, end=" ")
products = [px.jit(lambda x, i=i: i * x.T @ x)(x)[1, 2] for i in (1, 2)]
print(started, *map(float, products))
"""


@pytest.mark.parametrize(("cores", "threads"), [(2, "['primax-first-product']"), (1, "[]"), (None, "[]")])
def test_one_thread_starts_with_the_first_product_of_floats(cores, threads):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(cores=cores)], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == (f"[] {threads} 22.0 44.0\n", "")


def test_a_product_that_fails_is_only_logged(monkeypatch, caplog):
    def fail(devices):
        raise XlaError("no such option")

    monkeypatch.setattr(runtime, "compile_options", fail)
    with caplog.at_level("DEBUG", logger="primax"):
        first_product._run(default_device())
    assert "no product beside the compilation: no such option" in caplog.text
