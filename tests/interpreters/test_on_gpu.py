"""Programs on a GPU, if this machine has one and its plugin: `make test-gpu` runs these tests and more.

What needs no GPU is elsewhere: tests/plugins/test_cuda.py and test_linalg_on_gpus.py are about programs for GPUs,
test_pjrt.py about plugins.
"""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from processes import HANG

import primax as px
from primax import numpy as pnp
from primax.interpreters.runtime.devices import backends

pytestmark = pytest.mark.skipif(backends.default_platform() not in ("cuda", "rocm"), reason="there is no GPU")

A = np.random.default_rng(0).standard_normal((6, 6)).astype(np.float32)
V = A[0]
SYMMETRIC = A @ A.T + 6 * np.eye(6, dtype=np.float32)


def here() -> Any:
    return px.devices()[0]


def host() -> Any:
    return px.devices("cpu")[0]


def test_gpus_have_the_names_of_jax() -> None:
    assert px.default_backend() == here().platform == pnp.ones(3).platform() == "gpu"
    assert backends.platform_of(here()) == px.export.default_export_platform()
    assert px.devices("gpu") == px.devices(backends.platform_of(here())) == px.devices()


def test_arrays_move_between_host_and_gpu() -> None:
    there = px.device_put(V, here())
    back = px.device_put(there, host())
    assert there.devices() == {here()}
    assert back.devices() == {host()}
    np.testing.assert_array_equal(back, V)
    for again in (pickle.loads(pickle.dumps(there)), copy.deepcopy(there), copy.copy(there)):
        assert again.devices() == {here()}
        np.testing.assert_array_equal(again, V)
    written = V.copy()
    kept = px.device_put(written)
    written[:] = 0
    np.testing.assert_array_equal(kept, V)


def test_computations_follow_committed_arrays() -> None:
    double = px.jit(lambda x: x * 2)
    assert double(V).devices() == {here()}
    assert double(px.device_put(V, host())).devices() == {host()}
    assert (px.device_put(V, host()) + pnp.ones(6)).devices() == {host()}
    with px.default_device(host()):
        assert double(V).devices() == pnp.ones(3).devices() == {host()}
    for add in (lambda x, y: x + y, px.jit(lambda x, y: x + y)):
        with pytest.raises(ValueError, match=r"must be committed to the same devices, got cpu:0 and .*:0"):
            add(px.device_put(V, host()), px.device_put(V, here()))


def test_rules_for_the_platform_are_used() -> None:
    f = px.jit(lambda x: px.lax.platform_dependent(x, cpu=lambda x: x + 1, default=lambda x: x + 2))
    assert float(f(1.0)) == 3.0
    with px.default_device(host()):
        assert float(f(1.0)) == 2.0


@pytest.mark.parametrize(
    "f",
    [
        lambda: pnp.linalg.cholesky(SYMMETRIC),
        lambda: abs(pnp.linalg.qr(A)[1]),
        lambda: pnp.linalg.svd(A[:3])[1],
        lambda: pnp.linalg.eigh(SYMMETRIC)[0],
        lambda: pnp.sort(abs(pnp.linalg.eigvals(A))),
        lambda: pnp.linalg.solve(A, V),
        lambda: px.grad(lambda s: pnp.linalg.slogdet(s)[1])(SYMMETRIC),
        lambda: px.lax.linalg.tridiagonal_solve(V, V + 9, V, A),
        lambda: pnp.fft.irfft2(pnp.fft.rfft2(A) * 2),
        lambda: px.random.normal(px.random.key(1), (100,)),
        lambda: px.random.gamma(px.random.key(1), 2.0, (20,)),
        lambda: px.nn.dot_product_attention(*(A.reshape(1, 6, 2, 3),) * 3),
    ],
)
def test_values_are_those_of_the_host(f: Any) -> None:
    found = f()
    assert found.devices() == {here()}
    with px.default_device(host()):
        np.testing.assert_allclose(found, f(), rtol=2e-3, atol=2e-3)


def test_programs_call_python_in_order() -> None:
    seen: list[float] = []

    def body(total: Any, x: Any) -> Any:
        px.debug.callback(lambda v: seen.append(float(v)), total, ordered=True)
        return total + px.pure_callback(lambda v: np.asarray(v) * 2, x, x), None

    total, _ = px.jit(lambda x: px.lax.scan(body, np.float32(0), x))(np.arange(4.0, dtype=np.float32))
    px.effects_barrier()
    assert float(total) == 12.0
    assert seen == [0.0, 0.0, 2.0, 6.0]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "float16", "bfloat16", "complex64"])
def test_callbacks_take_and_return_values_of_each_type(dtype: str) -> None:
    x = pnp.asarray([0, 1, 1, 0, 1], dtype)
    same = px.jit(lambda x: px.pure_callback(np.asarray, x, x))(x)
    np.testing.assert_array_equal(np.asarray(same), np.asarray(x))


def test_errors_of_callbacks_reach_the_caller() -> None:
    def fail(x: Any) -> Any:
        raise ValueError("from the host")

    with pytest.raises(px.XlaError, match="ValueError: from the host"):
        px.jit(lambda x: px.pure_callback(fail, x, x))(V).block_until_ready()


def test_exported_functions_run_on_the_platforms_that_they_were_exported_for() -> None:
    both = px.export.export(px.jit(pnp.sin), platforms=[backends.platform_of(here()), "cpu"])(V)
    again = px.export.deserialize(both.serialize())
    assert again.call(V).devices() == {here()}
    assert again.call(px.device_put(V, host())).devices() == {host()}
    with pytest.raises(ValueError, match=r"exported for \['cpu'\], and the program is built for 'cuda'"):
        px.export.export(px.jit(pnp.sin), platforms=["cpu"])(V).call(V)


def test_a_donated_buffer_is_gone() -> None:
    x = px.device_put(V)
    np.testing.assert_array_equal(px.jit(lambda x: x + 1, donate_argnums=0)(x), V + 1)
    assert x.is_deleted()


def test_memory_is_counted_and_its_end_is_an_error() -> None:
    assert here().memory_stats()["bytes_in_use"] >= 0
    with pytest.raises(px.XlaError, match="RESOURCE_EXHAUSTED"):
        pnp.ones((1 << 20, 1 << 20)).block_until_ready()
    assert float(pnp.ones(3).sum()) == 3.0


def test_threads_share_a_program() -> None:
    f = px.jit(px.grad(lambda x: pnp.sum(x**2)))
    with ThreadPoolExecutor(8) as pool:
        for i, found in enumerate(pool.map(lambda i: f(np.full(3 + i % 4, i, np.float32)), range(100))):
            np.testing.assert_array_equal(found, np.full(3 + i % 4, 2 * i, np.float32))


def test_torch_shares_memory_both_ways() -> None:
    torch = pytest.importorskip("torch")
    x = pnp.arange(6.0)
    shared = torch.from_dlpack(x)
    assert shared.is_cuda
    assert shared.data_ptr() == x.unsafe_buffer_pointer() == x.__cuda_array_interface__["data"][0]
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):  # what is still being computed there is awaited
        for _ in range(10):
            t = torch.zeros(1_000_000, device="cuda")
            for _ in range(20):
                t = t + 1
            assert float(pnp.from_dlpack(t)[-1]) == 20.0
    for make in (pnp.asarray, pnp.array, pnp.from_dlpack):
        found = make(torch.arange(3, device="cuda", dtype=torch.float32))
        assert found.devices() == {here()}
        np.testing.assert_array_equal(found, [0, 1, 2])
    np.testing.assert_array_equal(
        pnp.stack([torch.ones(2, device="cuda"), 2 * torch.ones(2, device="cuda")])[1], [2, 2]
    )


def test_cupy_and_numba_share_memory() -> None:
    cupy = pytest.importorskip("cupy")
    cuda = pytest.importorskip("numba.cuda")
    assert float(cupy.asarray(pnp.arange(6.0)).sum()) == 15.0
    for other in (cupy.arange(4, dtype=np.float32), cuda.to_device(np.arange(4, dtype=np.float32))):
        found = pnp.asarray(other)
        assert found.devices() == {here()}
        np.testing.assert_array_equal(found + 1, [1, 2, 3, 4])


WITHOUT_JAX = """
import sys
sys.modules["jax"] = None  # import jax fails
import numpy as np, primax as px, primax.numpy as pnp
x = pnp.arange(4.0)
assert x.device.platform == "gpu"
np.testing.assert_array_equal(np.asarray(px.jit(px.grad(lambda x: pnp.sum(x ** 2)))(x)), 2 * np.arange(4.0))
assert float(pnp.linalg.slogdet(np.eye(3, dtype=np.float32))[1]) == 0.0
assert px.jit(lambda x: px.pure_callback(np.sin, x, x))(x).shape == (4,)
y = pnp.from_dlpack(px.dlpack.from_dlpack(x))
class Other:
    def __init__(self, x):
        self.x = x
        self.__dlpack__, self.__dlpack_device__, self.shape = x.__dlpack__, x.__dlpack_device__, x.shape
np.testing.assert_array_equal(np.asarray(pnp.from_dlpack(Other(x)) + 1), [1, 2, 3, 4])
class OnGpu:
    def __init__(self, x):
        self.kept, self.__cuda_array_interface__ = x, x.__cuda_array_interface__
np.testing.assert_array_equal(np.asarray(pnp.asarray(OnGpu(x)) + 1), [1, 2, 3, 4])
"""


def test_nothing_needs_jax() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_JAX], check=True, timeout=HANG)
