"""Platforms, their names and priorities, and the device that computations run on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import primax as px
from primax import numpy as pnp
from primax.extend import core
from primax.extend import options as config
from primax.extend.interpreters import mlir
from primax.interpreters.runtime.compile import module_text
from primax.interpreters.runtime.devices import backends
from primax.interpreters.runtime.pipeline import Target, lower

pytestmark = pytest.mark.any_word_size


class Device:
    """A device that shows the platform of its client."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.platform = client.platform


class Client:
    """A client with one device, which shows its platform as jaxlib does."""

    def __init__(self, platform: str) -> None:
        self._raw_platform = platform
        self.platform = "gpu" if platform in ("cuda", "rocm") else platform
        self.device = Device(self)

    def devices(self) -> list[Any]:
        return [self.device]

    local_devices = devices


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Platforms may be registered, which go afterwards."""
    monkeypatch.setattr(backends, "platforms", dict(backends.platforms))
    monkeypatch.setattr(backends, "_clients", dict(backends._clients))
    monkeypatch.setattr(backends, "_settled", {})
    monkeypatch.setattr(backends, "_first", {})
    monkeypatch.delenv("PRIMAX_PLATFORM", raising=False)
    with config.platforms(None):
        yield


@pytest.mark.usefixtures("registered")
def test_the_platform_of_the_highest_priority_is_the_default() -> None:
    assert backends.default_platform() == "cpu"
    backends.register_platform("mine", lambda: Client("mine"), priority=10)
    backends.register_platform("cuda", lambda: Client("cuda"), priority=20)
    backends.register_platform("slow", lambda: Client("slow"), priority=-5)
    assert backends.default_platform() == "cuda"
    assert backends.platform_of(backends.default_device()) == "cuda"
    assert backends.default_backend() == "gpu"


@pytest.mark.usefixtures("registered")
def test_a_platform_of_the_same_priority_as_cpu_is_not_the_default() -> None:
    backends.register_platform("mine", lambda: Client("mine"))
    assert backends.default_platform() == "cpu"


@pytest.mark.usefixtures("registered")
def test_a_platform_whose_client_cannot_be_made_is_passed_over_with_a_warning() -> None:
    def fail() -> Any:
        raise RuntimeError("no driver")

    backends.register_platform("cuda", fail, priority=20)
    with pytest.warns(UserWarning, match="platform 'cuda' cannot be used: no driver"):
        assert backends.default_platform() == "cpu"
    assert backends.default_platform() == "cpu"
    with pytest.raises(RuntimeError, match="no driver"):
        backends.devices("cuda")


@pytest.mark.usefixtures("registered")
def test_gpu_stands_for_cuda_and_rocm() -> None:
    with pytest.raises(px.XlaError, match="there is no platform 'gpu'"):
        backends.devices("gpu")
    backends.register_platform("rocm", lambda: Client("rocm"))
    assert backends.devices("gpu") == backends.devices("rocm")
    backends.register_platform("cuda", lambda: Client("cuda"), priority=1)
    assert backends.platform_of(backends.devices("gpu")[0]) in ("cuda", "rocm")
    with pytest.raises(ValueError, match="'gpu' stands for"):
        backends.register_platform("gpu", lambda: Client("gpu"))


@pytest.mark.usefixtures("registered")
def test_functions_are_exported_for_the_platform_and_not_for_the_name_that_all_gpus_share() -> None:
    backends.register_platform("rocm", lambda: Client("rocm"), priority=10)
    assert (px.default_backend(), px.export.default_export_platform()) == ("gpu", "rocm")


@pytest.mark.usefixtures("registered")
def test_a_platform_is_called_what_its_client_calls_itself() -> None:
    backends.register_platform("cuda", lambda: Client("cuda"))
    (device,) = backends.devices("cuda")
    assert device.platform == "gpu"
    assert backends.platform_of(device) == "cuda"
    assert backends.names_of("cuda") == ["cuda", "gpu"]
    assert backends.names_of("cpu") == ["cpu"]


def test_arguments_of_register_platform_are_checked() -> None:
    with pytest.raises(TypeError, match="name must be a str"):
        backends.register_platform(3, abs)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="make_client must be callable"):
        backends.register_platform("x", 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="priority must be an int"):
        backends.register_platform("x", abs, priority="high")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="there is a platform 'cpu' already"):
        backends.register_platform("cpu", abs)


def negated(**rules: Any) -> core.Primitive:
    p = core.Primitive("negated")
    p.def_abstract_eval(lambda x: x)
    for platform, operation in rules.items():
        mlir.register_lowering(p, operation, platform=None if platform == "other" else platform)
    return p


def named(name: str) -> Any:
    """A lowering that leaves a name in the module."""
    return lambda ctx, x: mlir.hlo.CustomCallOp([x.type], [x], call_target_name=mlir.ir.StringAttr.get(name)).results


@pytest.mark.parametrize(
    "platform, found", [("cuda", "for_cuda"), ("rocm", "for_gpu"), ("cpu", "for_others"), ("tpu", "for_others")]
)
def test_a_rule_for_gpu_serves_cuda_and_rocm_unless_there_is_a_nearer_one(platform: str, found: str) -> None:
    p = negated(cuda=named("for_cuda"), gpu=named("for_gpu"), other=named("for_others"))
    closed = px.make_jaxpr(p.bind)(np.float32(1.0))
    assert found in module_text(lower(closed, Target("f", platform)).module)


def test_a_program_for_a_gpu_chooses_the_branch_for_gpu() -> None:
    closed = px.make_jaxpr(lambda x: px.lax.platform_dependent(x, gpu=lambda x: x + 7.0, cpu=lambda x: x - 5.0))(
        np.float32(1.0)
    )
    assert "7.0" in module_text(lower(closed, Target("f", "rocm")).module)


DEVICES = """
import numpy as np, primax as px, primax.numpy as pnp
one, two, three = px.devices()
x = pnp.ones(3)
where = lambda x: next(iter(x.devices()))
f = px.jit(lambda x: x * 2)
made = [lambda: x + 1, lambda: f(x), lambda: f(np.ones(3)), lambda: pnp.zeros(3), lambda: x[0],
    lambda: pnp.asarray([1]), lambda: px.random.normal(px.random.key(0), (2,)),
    lambda: px.grad(lambda x: (x * x).sum())(x),
    lambda: px.vmap(lambda x: x + 1)(x), lambda: px.jit(lambda: pnp.ones(2))()]
for device in (one, two, three, one):
    with px.default_device(device):
        for make in made:
            for _ in range(3):
                y = make()
                assert where(y) == device and not y.committed, (device, make)
assert where(x) == one
with px.default_device(two):
    y = px.device_put(x, three)
    assert y.committed and where(y + x) == three and where(f(y)) == three and (y + 1).committed
    assert where(px.jit(lambda x: x + 1, device=one)(x)) == one
    assert where(px.device_put(x)) == one or where(px.device_put(x)) == two
with px.default_device("cpu"):
    assert where(x + 1) == one
px.config.update("default_device", three)
assert where(f(x)) == three
"""


def test_computations_run_on_the_default_device_unless_arguments_are_committed() -> None:
    environment = {**os.environ, "PRIMAX_NUM_CPU_DEVICES": "3"}
    done = subprocess.run([sys.executable, "-c", DEVICES], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr


def test_the_default_device_is_a_device_or_a_platform() -> None:
    with pytest.raises(ValueError, match=r"default_device: value must be one of primax.devices\(\)"):
        px.default_device(3)
    with px.default_device("nowhere"), pytest.raises(px.XlaError, match="there is no platform 'nowhere'"):
        pnp.arange(7) + 1
