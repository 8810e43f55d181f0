"""XLA's clients with the interface that programs for JAX expect: compiled programs also take arrays and numbers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from primax.core.config import enable_x64
from primax.interpreters.runtime.array import Array
from primax.interpreters.runtime.device_put import put_value
from primax.interpreters.runtime.devices import backends

__all__ = ["Client", "Program", "get_backend"]


class Program:
    """A compiled program of jaxlib that also takes arrays as arguments.

    Attributes:
      loaded: jaxlib's program, which has all other attributes.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> from primax.extend import backend
      >>> text = px.jit(lambda x: 2 * x).lower(1.0).as_text()
      >>> client = backend.get_backend("cpu")
      >>> program = client.compile_and_load(text, client.devices()[:1], backend.get_compile_options(1, 1))
      >>> type(program) is backend.Program
      True
      >>> program.execute([pnp.float32(3)])
      [Array(6., dtype=float32)]
    """

    def __init__(self, loaded: Any) -> None:
        self.loaded = loaded

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loaded, name)

    def execute(self, arguments: Iterable[Any]) -> list[Any]:
        """Run the program on one device.

        Args:
          arguments: arrays, or buffers of jaxlib.

        Returns:
          The buffers of its results, which `numpy.asarray` reads.
        """
        return list(self.loaded.execute([_buffer(x) for x in arguments]))

    def execute_sharded(self, arguments: Iterable[Any], **options: Any) -> Any:
        """Run the program on all of its devices; as jaxlib's method, with arrays."""
        return self.loaded.execute_sharded([_buffer(x) for x in arguments], **options)


class Client:
    """A client of jaxlib for a platform, whose programs also take arrays.

    Attributes:
      client: jaxlib's client, which has all other attributes.

    Examples:
      >>> from primax.extend import backend
      >>> client = backend.get_backend("cpu")
      >>> type(client) is backend.Client, client.platform
      (True, 'cpu')
    """

    def __init__(self, client: Any) -> None:
        self.client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def __repr__(self) -> str:
        return f"Client({self.client.platform!r})"

    def buffer_from_pyval(self, value: Any, device: Any = None) -> Any:
        """A number, or an array of NumPy, as a buffer of the dtype that NumPy gives it.

        Args:
          value: a number or an array.
          device: the device of the buffer; None for the first one.
        """
        with enable_x64(True):
            return put_value(np.asarray(value), device=device or self.client.local_devices()[0])._b

    def compile_and_load(self, /, *args: Any, **kwargs: Any) -> Program:
        """Compile a module, as jaxlib's method does, with the same arguments."""
        return Program(self.client.compile_and_load(*args, **kwargs))

    def deserialize_executable(self, /, *args: Any, **kwargs: Any) -> Program:
        """Load a program that was serialized, as jaxlib's method does, with the same arguments."""
        return Program(self.client.deserialize_executable(*args, **kwargs))


def get_backend(platform: str | None = None) -> Client:
    """The client of a platform, made on first use.

    Args:
      platform: the name of the platform; None for the default one.

    Raises:
      TypeError: `platform` is not a name.
      XlaError: there is no such platform.

    >>> from primax.extend import backend
    >>> backend.get_backend("cpu").platform
    'cpu'
    """
    return _known(backends.client(platform))


@cache
def _known(client: Any) -> Client:
    return Client(client)


def _buffer(x: Any) -> Any:
    return x._b if isinstance(x, Array) else x
