"""What the plugins of PJRT for GPUs need before they are loaded: a driver, libraries and versions."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

import primax as px
from primax.core import _jaxlib
from primax.interpreters.runtime.devices import gpus
from primax.interpreters.runtime.devices.gpus import Family

pytestmark = pytest.mark.any_word_size


class Driver:
    """A driver of NVIDIA that finds some devices."""

    def __init__(self, code: int, count: int) -> None:
        self.code = code
        self.count = count

    def cuInit(self, flags: int) -> int:
        return self.code

    def cuDeviceGetCount(self, count: Any) -> int:
        count._obj.value = self.count
        return 0

    def cuGetErrorString(self, code: int, text: Any) -> int:
        text._obj.value = b"no CUDA-capable device is detected"
        return 0


def loader(monkeypatch: pytest.MonkeyPatch, driver: Any, there: Callable[[str], bool]) -> list[str]:
    """Let libraries be loaded by name; returns the list of what is."""
    loaded = []

    def load(name: Any) -> Any:
        if name == "libcuda.so.1" and driver is not None:
            return driver
        if name == "libcuda.so.1" or not there(str(name)):
            raise OSError("cannot open shared object file")
        loaded.append(str(name))
        return None

    monkeypatch.setattr(gpus, "ctypes", SimpleNamespace(**{**vars(ctypes), "CDLL": load}))
    return loaded


def versions(monkeypatch: pytest.MonkeyPatch, **changed: Any) -> None:
    """Let CUDA's components be of the versions that the plugin was built with, but for some."""
    built = {"cuda_runtime": 12090, "cudnn": 90800, "cufft": 11401, "cupti": 28, "cublas": 120901, "cusparse": 12510}
    functions: dict[str, Any] = {}
    for name, version in built.items():
        functions[f"{name}_build_version"] = partial(int, version)
        functions[f"{name}_get_version"] = partial(int, changed.get(name, version))
    monkeypatch.setitem(sys.modules, "jax_cuda12_plugin._versions", SimpleNamespace(**functions))
    monkeypatch.setitem(sys.modules, "jax_cuda12_plugin", SimpleNamespace())


@pytest.mark.parametrize(
    "driver, visible, told",
    [
        (None, None, "there is no NVIDIA driver: libcuda.so.1 cannot be loaded"),
        (Driver(100, 0), None, "the NVIDIA driver fails: cuInit returns 100, no CUDA-capable device is detected"),
        (Driver(100, 0), "", "no CUDA-capable device is detected, for CUDA_VISIBLE_DEVICES=''"),
        (Driver(0, 0), "7", "the driver finds no GPU for CUDA_VISIBLE_DEVICES='7'"),
    ],
)
def test_a_driver_that_is_missing_or_finds_no_device_is_told(monkeypatch, driver, visible, told):
    loader(monkeypatch, driver, lambda name: True)
    if visible is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    with pytest.raises(px.XlaError, match=re.escape(told) + "$"):
        Family("cuda", 12).prepare()


def test_libraries_that_are_missing_are_told_all_at_once(monkeypatch):
    loader(monkeypatch, Driver(0, 1), lambda name: "cudnn" not in name and "cufft" not in name and "nccl" not in name)
    with pytest.raises(
        px.XlaError, match=r"CUDA's libraries libcufft\.so\.11, libcudnn\.so\.9 are neither .* pip install"
    ):
        Family("cuda", 12).prepare()


@pytest.mark.parametrize("release, folder", [(12, "cufft"), (13, "cu13")])
def test_libraries_of_packages_come_before_those_of_the_system(monkeypatch, tmp_path, release, folder):
    name = {12: "libcufft.so.11", 13: "libcufft.so.12"}[release]
    library = tmp_path / "nvidia" / folder / "lib" / name
    library.parent.mkdir(parents=True)
    library.write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    loaded = loader(monkeypatch, Driver(0, 1), lambda name: True)
    monkeypatch.setattr(gpus, "_too_old", lambda component, module: "")
    monkeypatch.setitem(sys.modules, f"jax_cuda{release}_plugin", SimpleNamespace())
    monkeypatch.setitem(sys.modules, f"jax_cuda{release}_plugin._versions", SimpleNamespace())
    Family("cuda", release).prepare()
    assert str(library) in loaded
    assert name not in loaded
    assert len(loaded) == len(gpus._LIBRARIES)


@pytest.mark.parametrize(
    "name, version, told",
    [
        (
            "cublas",
            120000,
            "cuBLAS must have version 120100 or later, got 120000 (the plugin was built with 120901)",
        ),
        ("cudnn", 90700, "cuDNN must have version 90800 or later, got 90700"),
        ("cuda_runtime", 11080, "CUDA must have version 12010 or later, got 11080"),
    ],
)
def test_components_that_are_too_old_are_told(monkeypatch, name, version, told):
    loader(monkeypatch, Driver(0, 1), lambda name: True)
    versions(monkeypatch)
    Family("cuda", 12).prepare()
    versions(monkeypatch, cudnn=90801, cufft=11400)  # another patch is well
    Family("cuda", 12).prepare()
    versions(monkeypatch, **{name: version})
    with pytest.raises(px.XlaError, match=re.escape(told)):
        Family("cuda", 12).prepare()


def test_kernels_are_registered_with_the_plugin(monkeypatch):
    told: list[Any] = []
    extension = SimpleNamespace(
        register_custom_type=lambda c_api, *args: told.append(("type", c_api, *args)),
        register_custom_call_target=lambda c_api, *args: told.append(("call", c_api, *args)),
        ffi_types=lambda: {"state": 1},
        ffi_handlers=lambda: {"callback": 2},
    )
    solver = SimpleNamespace(registrations=lambda: {"solve": 3})
    hybrid = SimpleNamespace(registrations=lambda: {"eig": 4}, initialize=lambda: told.append("initialized"))
    parts = {"": SimpleNamespace(), ".cuda_plugin_extension": extension, "._solver": solver, "._hybrid": hybrid}
    for name, module in parts.items():
        monkeypatch.setitem(sys.modules, f"jax_cuda12_plugin{name}", module)
    client = SimpleNamespace()
    handlers: dict[str, Any] = {}
    client.register_custom_type_handler = lambda platform, handler: handlers.update({"type": handler})
    client.register_custom_call_handler = lambda platform, handler: handlers.update({"call": handler})
    client.register_custom_type = lambda name, kind, platform: handlers["type"](name, kind, platform)
    client.register_custom_call_target = lambda name, f, platform, api_version: handlers["call"](name, platform)
    monkeypatch.setattr(_jaxlib, "xla_client", client)
    Family("cuda", 12).register("C")
    assert told == [
        ("type", "C", "state", 1, "CUDA"),
        "initialized",
        *(("call", "C", name, "CUDA") for name in ("callback", "solve", "eig")),
    ]
