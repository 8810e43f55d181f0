"""The requirements of GPU plugins apart from their library: matching versions, CUDA's libraries, a driver, kernels."""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
import re
from collections.abc import Callable
from importlib.machinery import PathFinder
from typing import Any, NamedTuple

from primax.core import _jaxlib
from primax.core.errors import XlaError
from primax.interpreters.runtime.distributions import installed_version


class Library(NamedTuple):
    """A library of CUDA.

    Attributes:
      folder: its folder in the wheel of release 12, inside `nvidia`.
      file: its name without the release.
      releases: its release for each release of CUDA.
      needed: whether a GPU plugin needs it in any case.
    """

    folder: str
    file: str
    releases: dict[int, int]
    needed: bool = True


# Ordered so that each library finds those that it needs.
_LIBRARIES = (
    Library("cuda_runtime", "libcudart.so", {12: 12, 13: 13}),
    Library("cuda_nvrtc", "libnvrtc.so", {12: 12, 13: 13}, False),
    Library("nvjitlink", "libnvJitLink.so", {12: 12, 13: 13}, False),
    Library("cublas", "libcublasLt.so", {12: 12, 13: 13}),
    Library("cublas", "libcublas.so", {12: 12, 13: 13}),
    Library("nccl", "libnccl.so", {12: 2, 13: 2}, False),
    Library("cuda_cupti", "libcupti.so", {12: 12, 13: 13}),
    Library("cusparse", "libcusparse.so", {12: 12, 13: 12}),
    Library("cusolver", "libcusolver.so", {12: 11, 13: 12}),
    Library("cufft", "libcufft.so", {12: 11, 13: 12}),
    Library("nvshmem", "libnvshmem_host.so", {12: 3, 13: 3}, False),
    Library("cudnn", "libcudnn.so", {12: 9, 13: 9}),
)


class Component(NamedTuple):
    """A part of CUDA whose version is checked.

    Attributes:
      name: its name in messages.
      function: the prefix of the functions that return its version, and the version for which the plugin was built.
      scale: divides versions before their comparison, to ignore minor numbers.
      least: the oldest version that works; 0 for the version for which the plugin was built.
    """

    name: str
    function: str
    scale: int
    least: int


_COMPONENTS = (
    Component("CUDA", "cuda_runtime", 1, 12010),
    Component("cuDNN", "cudnn", 100, 0),
    Component("cuFFT", "cufft", 100, 0),
    Component("CUPTI", "cupti", 1, 18),
    Component("cuBLAS", "cublas", 1, 120100),
    Component("cuSPARSE", "cusparse", 1, 12100),
)

# Modules of the package of kernels, each with a function `registrations`.
_KERNELS = ("_solver", "_linalg", "_prng", "_sparse", "_hybrid", "_rnn", "_triton")


class Family(NamedTuple):
    """The platform of a manufacturer, in one release.

    Attributes:
      platform: `cuda` or `rocm`.
      release: the release of the manufacturer's software.
    """

    platform: str
    release: int

    @property
    def kernels(self) -> str:
        """The package of kernels that are not part of XLA."""
        return f"jax_{self.platform}{self.release}_plugin"

    @property
    def distribution(self) -> str:
        """The distribution of these kernels."""
        return self.kernels.replace("_", "-")

    def remedy(self) -> str:
        """The command that installs the plugin."""
        extra = "[with-cuda]" if self.platform == "cuda" else ""
        return f"pip install '{self.distribution}{extra}=={_jaxlib.version.__version__}'"

    def check_versions(self, version: str) -> str:
        """The reason why a version of the plugin does not match the other installed packages; empty if it does."""
        jaxlib = _jaxlib.version.__version__
        kernels = installed_version(self.distribution)
        if kernels is None:
            return f"the package of its kernels, {self.distribution}, is not installed; {self.remedy()}"
        parts = ((f"jax-{self.platform}{self.release}-pjrt", version), (self.distribution, kernels))
        for name, own in parts if self.platform == "cuda" else ():  # AMD's packages have their own releases
            if own and _numbers(own) != _numbers(jaxlib):
                return f"{name} has version {own}, but jaxlib has {jaxlib}; they must be equal: {self.remedy()}"
        return ""

    def prepare(self) -> None:
        """Load the libraries of the plugin and check that they work.

        Raises:
          XlaError: there is no driver or no device, a library is missing, or one is too old.
        """
        if self.platform != "cuda":
            return
        _check_driver()
        missing = [name for library in _LIBRARIES if (name := self._load(library)) and library.needed]
        if missing:
            raise XlaError(
                f"CUDA's libraries {', '.join(missing)} are neither in installed packages nor in the system's library "
                f"folders; {self.remedy()}"
            )
        versions = importlib.import_module(f"{self.kernels}._versions")
        old = [text for component in _COMPONENTS if (text := _too_old(component, versions))]
        if old:
            raise XlaError(f"{'; '.join(old)}; {self.remedy()}")

    def _load(self, library: Library) -> str:
        """Load a library of CUDA; returns its name if it is missing."""
        name = f"{library.file}.{library.releases.get(self.release, self.release)}"
        folders = [library.folder, f"cu{self.release}"]
        paths = [os.path.join(home, folder, "lib", name) for home in _nvidia() for folder in folders]
        for path in [*filter(os.path.isfile, paths), name]:
            try:
                ctypes.CDLL(path)
            except OSError:
                continue
            return ""
        return name

    def register(self, c_api: Any) -> None:
        """Register types and kernels that are not part of the plugin."""
        client, platform = _jaxlib.xla_client, self.platform.upper()
        extension = self.extension()
        client.register_custom_type_handler(platform, functools.partial(extension.register_custom_type, c_api))
        client.register_custom_call_handler(platform, functools.partial(extension.register_custom_call_target, c_api))
        for name, kind in extension.ffi_types().items():
            client.register_custom_type(name, kind, platform=platform)
        for name, handler in self.targets().items():
            client.register_custom_call_target(name, handler, platform=platform, api_version=1)

    def extension(self) -> Any:
        """The module of the kernels that asks the driver and registers."""
        return importlib.import_module(f"{self.kernels}.{self.platform}_plugin_extension")

    def targets(self) -> dict[str, Any]:
        """The kernels by their names in programs."""
        extension = self.extension()
        handlers = dict(extension.ffi_handlers())
        for name in _KERNELS:
            try:
                module = importlib.import_module(f"{self.kernels}.{name}")
            except ModuleNotFoundError:  # not every release has all modules
                continue
            if name == "_hybrid":
                module.initialize()  # it calls LAPACK
            handlers.update(module.registrations())
        return handlers

    def options(self) -> dict[str, Any]:
        """The options of the client, from the variables `XLA_PYTHON_CLIENT_*`."""
        options = dict(_jaxlib.xla_client.generate_pjrt_gpu_plugin_options())
        options["platform_name"] = self.platform if self.platform == "cuda" else self.platform.upper()
        return options


_MODULE = r"xla_(cuda|rocm)(\d+)"


def family_of(module: str) -> Family | None:
    """The family of the plugin in a module such as `jax_plugins.xla_cuda12`; None for other plugins."""
    match = re.fullmatch(_MODULE, module.rpartition(".")[2])
    return None if match is None else Family(match[1], int(match[2]))


def _numbers(version: str) -> str:
    """The numeric part of a version."""
    match = re.match(r"\d+(\.\d+)*", version)
    return version if match is None else match[0]


def _nvidia() -> list[str]:
    """The folders of NVIDIA's packages."""
    spec = PathFinder.find_spec("nvidia")
    return [] if spec is None else list(spec.submodule_search_locations or ())


@functools.cache
def cuda_folder() -> str | None:
    """The folder of the package of CUDA's compiler, which XLA uses; None if it is not installed."""
    for home in _nvidia():
        for name in ("cu13", "cuda_nvcc"):
            folder = os.path.join(home, name)
            if os.path.isdir(os.path.join(folder, "nvvm")):
                return folder
    return None


def _check_driver() -> None:
    """Check for a driver, and for a device that this process may use.

    Raises:
      XlaError: there is no driver or no device.
    """
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise XlaError("there is no NVIDIA driver: libcuda.so.1 cannot be loaded") from None
    _asked(driver, "cuInit", driver.cuInit, 0)
    count = ctypes.c_int(0)
    _asked(driver, "cuDeviceGetCount", driver.cuDeviceGetCount, ctypes.byref(count))
    if count.value == 0:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        raise XlaError(
            "the driver finds no GPU" + ("" if visible is None else f" for CUDA_VISIBLE_DEVICES={visible!r}")
        )


def _asked(driver: Any, name: str, function: Callable[..., int], *args: Any) -> None:
    code = function(*args)
    if code:
        text = ctypes.c_char_p()
        driver.cuGetErrorString(code, ctypes.byref(text))
        message = text.value.decode() if text.value else "unknown error"
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        about = "" if visible is None else f", for CUDA_VISIBLE_DEVICES={visible!r}"
        raise XlaError(f"the NVIDIA driver fails: {name} returns {code}, {message}{about}")


def _too_old(component: Component, versions: Any) -> str:
    """The reason why a component cannot be used; empty if it can."""
    built = getattr(versions, f"{component.function}_build_version")()
    try:
        version = getattr(versions, f"{component.function}_get_version")()
    except RuntimeError as error:
        return f"{component.name} does not say its version ({error})"
    least = component.least or built
    if version // component.scale >= least // component.scale:
        return ""
    return f"{component.name} must have version {least} or later, got {version} (the plugin was built with {built})"


def hint() -> str:
    """The advice to install a plugin if there are GPUs without one; empty otherwise."""
    if os.path.exists("/proc/driver/nvidia/version") or os.path.exists("/dev/nvidiactl"):
        return f"there is an NVIDIA driver, but {missing('cuda')}"
    if os.path.exists("/dev/kfd"):
        return f"there is an AMD driver, but {missing('rocm')}"
    return ""


def missing(platform: str) -> str:
    """The advice to install a plugin for a platform: for `rocm`, or otherwise for CUDA."""
    if platform == "rocm":
        return f"no plugin for it is installed; {Family('rocm', 7).remedy()}"
    older = "(jax-cuda12-plugin if the driver is older than 580)"
    return f"no plugin for it is installed; {Family('cuda', 13).remedy()} {older}"
