"""The parts of `jax._src.test_util` about devices, dtypes and meshes; they skip tests that need others."""

from __future__ import annotations

import functools
import math
import os
import sys
import unittest
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import primax
from primax.core._jaxlib import version
from primax.core.config import config
from primax.porting.private.config import config as jax_config
from primax.sharding import AxisType, Mesh

__all__ = [
    "create_mesh",
    "device_kind_match",
    "device_supports_buffer_donation",
    "device_under_test",
    "dtypes",
    "get_tpu_version",
    "is_asan",
    "is_cloud_tpu",
    "is_cloud_tpu_at_least",
    "is_cuda_compute_capability_at_least",
    "is_cuda_compute_capability_equal",
    "is_cuda_version_at_least",
    "is_device_cuda",
    "is_device_rocm",
    "is_device_tpu",
    "is_device_tpu_at_least",
    "is_gil_disabled",
    "is_msan",
    "is_optimized_build",
    "is_running_under_pytest",
    "is_sanitized",
    "is_test_rbe",
    "is_tsan",
    "jaxlib_version",
    "pytest_mark_if_available",
    "request_cpu_devices",
    "run_on_devices",
    "skip_on_devices",
    "skip_on_flag",
    "skip_under_pytest",
    "supported_dtypes",
    "test_device_matches",
    "with_explicit_mesh",
    "with_mesh",
    "with_mesh_from_kwargs",
]

Test = Callable[..., Any]


def _platform_version() -> str:
    return str(primax.devices()[0].client.platform_version)


def device_under_test() -> str:
    """The platform of the default device; `JAX_TEST_DUT` overrides it."""
    return os.environ.get("JAX_TEST_DUT") or str(primax.default_backend())


def _scalar(name: str) -> Any:
    """The type of scalars of a dtype of ml_dtypes."""
    return np.dtype(name).type


def supported_dtypes() -> set[Any]:
    """The types of scalars that the device computes with; without `enable_x64`, those of at most 32 bits."""
    widths = (8, 16, 32, 64) if config.enable_x64 else (8, 16, 32)
    kinds: set[Any] = {np.bool_, _scalar("bfloat16"), np.float16, np.float32, np.complex64}
    kinds |= {getattr(np, f"{sign}int{width}") for sign in ("", "u") for width in widths}
    if config.enable_x64:
        kinds |= {np.float64, np.complex128}
    if device_under_test() != "gpu":
        kinds |= {_scalar("int4"), _scalar("uint4")}
    else:
        kinds |= {_scalar("float8_e4m3fn"), _scalar("float8_e5m2")}
    return kinds


class _SupportedDtypes:
    """Lists of types of scalars that the device supports."""

    def supported(self, dtypes: Sequence[Any]) -> list[Any]:
        """Those of a list that the device supports."""
        known = supported_dtypes()
        return [dtype for dtype in dtypes if dtype in known]

    @property
    def custom_floats(self) -> list[Any]:
        """bfloat16 and narrower floats."""
        names = "float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e3m4 float8_e4m3"
        narrow = [_scalar(name) for name in f"{names} float8_e8m0fnu float4_e2m1fn".split()]
        return self.supported([_scalar("bfloat16"), *narrow])

    @property
    def floating(self) -> list[Any]:
        """Floats of 32 and 64 bits."""
        return self.supported([np.float32, np.float64])

    @property
    def all_floating(self) -> list[Any]:
        """Floats of 16, 32 and 64 bits."""
        return self.supported([_scalar("bfloat16"), np.float16, np.float32, np.float64])

    @property
    def integer(self) -> list[Any]:
        """Signed integers of 32 and 64 bits."""
        return self.supported([np.int32, np.int64])

    @property
    def all_integer(self) -> list[Any]:
        """Signed integers of 8 to 64 bits."""
        return self.supported([np.int8, np.int16, np.int32, np.int64])

    @property
    def unsigned(self) -> list[Any]:
        """Unsigned integers of 32 and 64 bits."""
        return self.supported([np.uint32, np.uint64])

    @property
    def all_unsigned(self) -> list[Any]:
        """Unsigned integers of 8 to 64 bits."""
        return self.supported([np.uint8, np.uint16, np.uint32, np.uint64])

    @property
    def complex(self) -> list[Any]:
        """Complex numbers."""
        return self.supported([np.complex64, np.complex128])

    @property
    def boolean(self) -> list[Any]:
        """Booleans."""
        return self.supported([np.bool_])

    @property
    def inexact(self) -> list[Any]:
        """Floats of 32 and 64 bits, and complex numbers."""
        return self.floating + self.complex

    @property
    def all_inexact(self) -> list[Any]:
        """Floats and complex numbers."""
        return self.all_floating + self.complex

    @property
    def numeric(self) -> list[Any]:
        """Numbers whose parts have 32 or 64 bits."""
        return self.floating + self.integer + self.unsigned + self.complex

    @property
    def all(self) -> list[Any]:
        """Numbers and booleans."""
        return self.all_floating + self.all_integer + self.all_unsigned + self.complex + self.boolean


dtypes = _SupportedDtypes()


def jaxlib_version() -> tuple[int, ...]:
    """The release of jaxlib."""
    return version


def is_device_rocm() -> bool:
    """Whether the devices are GPUs of AMD."""
    return "rocm" in _platform_version()


def is_device_cuda() -> bool:
    """Whether the devices are GPUs of NVIDIA."""
    return "cuda" in _platform_version()


def is_cloud_tpu() -> bool:
    """Whether the process runs on a host of TPUs: primax has no TPUs."""
    return False


def is_cloud_tpu_at_least(year: int, month: int, day: int) -> bool:
    """Whether the runtime of TPUs is new enough; true without TPUs."""
    return True


def is_device_tpu(version: int | None = None, variant: str = "") -> bool:
    """Whether the devices are TPUs."""
    return False


def is_device_tpu_at_least(version: int) -> bool:
    """Whether the devices are TPUs of a version or a later one."""
    return False


def get_tpu_version() -> int:
    """The version of the TPUs.

    Raises:
      ValueError: the devices are not TPUs.
    """
    raise ValueError(f"get_tpu_version: the devices must be TPUs, got {device_under_test()}")


def is_optimized_build() -> bool:
    """Whether jaxlib is an optimized build: wheels are."""
    return True


def is_asan() -> bool:
    """Whether jaxlib is built with the address sanitizer: wheels are not."""
    return False


is_msan = is_tsan = is_sanitized = is_test_rbe = is_asan


def is_gil_disabled() -> bool:
    """Whether Python runs without the global interpreter lock."""
    enabled: Callable[[], bool] = getattr(sys, "_is_gil_enabled", lambda: True)
    return not enabled()


def device_kind_match(device_patterns: str | Sequence[str]) -> str | None:
    """The first pattern that occurs in the name of the kind of devices; None if none does."""
    kind = primax.devices()[0].device_kind
    patterns = [device_patterns] if isinstance(device_patterns, str) else device_patterns
    return next((pattern for pattern in patterns if pattern in kind), None)


def _compute_capability() -> float | None:
    return float(primax.devices()[0].compute_capability) if is_device_cuda() else None


def is_cuda_compute_capability_at_least(capability: str) -> bool:
    """Whether the devices are GPUs of NVIDIA with a compute capability or a higher one."""
    own = _compute_capability()
    return own is not None and own >= float(capability)


def is_cuda_compute_capability_equal(capability: str) -> bool:
    """Whether the devices are GPUs of NVIDIA with a compute capability."""
    return _compute_capability() == float(capability)


def is_cuda_version_at_least(major: int, minor: int) -> bool:
    """Whether the devices use a version of CUDA or a later one."""
    if not is_device_cuda():
        return False
    digits = next((word for word in _platform_version().split() if word.isdigit()), "0")
    return int(digits) >= 1000 * major + 10 * minor


def _tags() -> set[str]:
    kind = {"rocm"} if is_device_rocm() else {"cuda"} if is_device_cuda() else set()
    return {device_under_test(), *kind}


def test_device_matches(device_types: Iterable[str]) -> bool:
    """Whether the devices are of one of the named types, such as "cpu", "gpu" or "cuda"."""
    assert not isinstance(device_types, str), f"device_types must be a list of strings, got {device_types!r}"
    return not _tags().isdisjoint(device_types)


test_device_matches.__test__ = False  # type: ignore[attr-defined]  # pytest collects it otherwise


def _skipped_unless(condition: Callable[[], bool], reason: str) -> Callable[[Test], Test]:
    """A decorator of test methods that skips the test, when it runs, if a condition does not hold."""

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not condition():
                raise unittest.SkipTest(reason)
            return test(self, *args, **kwargs)

        return run

    return decorate


def skip_on_devices(*disabled_devices: str, skip_reason: str | None = None) -> Callable[[Test], Test]:
    """A decorator that skips a test on devices of the named types."""
    reason = skip_reason or f"does not run on {', '.join(disabled_devices)}"
    return _skipped_unless(lambda: not test_device_matches(disabled_devices), reason)


def run_on_devices(*enabled_devices: str, skip_reason: str | None = None) -> Callable[[Test], Test]:
    """A decorator that skips a test unless the devices are of one of the named types."""
    reason = skip_reason or f"runs only on {', '.join(enabled_devices)}"
    return _skipped_unless(lambda: test_device_matches(enabled_devices), reason)


def device_supports_buffer_donation() -> Callable[[Test], Test]:
    """A decorator that skips a test on devices without donated buffers; all that primax has support them."""
    return _skipped_unless(lambda: True, "")


def skip_on_flag(flag_name: str, skip_value: Any) -> Callable[[Test], Test]:
    """A decorator that skips a test if an option has a value."""
    return _skipped_unless(lambda: jax_config.read(flag_name) != skip_value, f"{flag_name} is {skip_value}")


def is_running_under_pytest() -> bool:
    """Whether pytest runs."""
    return "pytest" in sys.modules


def skip_under_pytest(reason: str) -> Callable[[Test], Test]:
    """A decorator that skips a test if pytest runs."""
    return unittest.skipIf(is_running_under_pytest(), f"runs without pytest: {reason}")


def pytest_mark_if_available(marker: str) -> Callable[[Any], Any]:
    """A decorator that sets a mark of pytest, if pytest is there."""

    def decorate(test: Any) -> Any:
        pytest = sys.modules.get("pytest")
        return test if pytest is None else getattr(pytest.mark, marker)(test)

    return decorate


def request_cpu_devices(nr_devices: int) -> None:
    """Ask for a number of CPU devices; no effect if there are as many, or if the devices exist already."""
    if config.num_cpu_devices < nr_devices:
        try:
            primax.config.update("jax_num_cpu_devices", nr_devices)
        except RuntimeError:  # the devices exist: tests that need more are skipped
            return


def create_mesh(
    mesh_shape: Sequence[int], axis_names: Any, iota_order: bool = False, axis_types: Sequence[Any] | None = None
) -> Mesh:
    """A mesh of the first devices, with `Auto` axes by default.

    Args:
      mesh_shape: the sizes of axes.
      axis_names: the names of axes.
      iota_order: whether the devices come in the order of their numbers, in place of the best order.
      axis_types: the types of axes.

    Raises:
      unittest.SkipTest: there are too few devices.
    """
    size, devices = math.prod(mesh_shape), primax.devices()
    if len(devices) < size:
        raise unittest.SkipTest(f"create_mesh: needs {size} devices, found {len(devices)}")
    if iota_order:
        first = sorted(devices, key=lambda device: device.id)[:size]
        return Mesh(np.array(first).reshape(mesh_shape), axis_names, axis_types=axis_types)
    types = (AxisType.Auto,) * len(mesh_shape) if axis_types is None else axis_types
    return primax.make_mesh(mesh_shape, axis_names, axis_types=types)


def with_explicit_mesh(
    sizes: Sequence[int], names: Any, axis_types: Sequence[Any] | None = None, iota_order: bool = False
) -> Callable[[Test], Test]:
    """A decorator that sets a mesh, with `Explicit` axes by default, and passes it as `mesh`."""
    types = (AxisType.Explicit,) * len(names) if axis_types is None else axis_types

    def decorate(test: Test) -> Test:
        def run(*args: Any, **kwargs: Any) -> Any:
            mesh = create_mesh(sizes, names, iota_order, axis_types=types)
            with primax.set_mesh(mesh):
                return test(*args, **kwargs, mesh=mesh)

        return run

    return decorate


@contextmanager
def with_mesh(named_shape: Sequence[tuple[str, int]]) -> Iterator[None]:
    """A `with` block in a mesh of local devices, given by the names and the sizes of its axes.

    Raises:
      unittest.SkipTest: there are too few devices.
    """
    names, shape = tuple(name for name, _ in named_shape), tuple(size for _, size in named_shape)
    size, devices = math.prod(shape), primax.local_devices()
    if len(devices) < size:
        raise unittest.SkipTest(f"with_mesh: needs {size} local devices, found {len(devices)}")
    with Mesh(np.array(devices[:size]).reshape(shape), names):
        yield


def with_mesh_from_kwargs(f: Test) -> Test:
    """A decorator that calls a function in the mesh of its argument `mesh`."""
    return lambda *args, **kwargs: with_mesh(kwargs["mesh"])(f)(*args, **kwargs)
