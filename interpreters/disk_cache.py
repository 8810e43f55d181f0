"""Compiled programs in a directory, for other processes and later runs."""

from __future__ import annotations

import hashlib
import io
import os
import platform
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from primax.core import _jaxlib
from primax.interpreters.lowering import Lowered

__all__ = ["discard", "key_of", "read", "write"]

_MAGIC = b"primax executable 2\n"
_DIGEST = hashlib.sha256


def key_of(lowered: Lowered, options: Any, device: Any) -> str:
    """A key that is the same in every process that would compile the same program in the same way.

    It depends on the program without its source locations, on the options, the device, XLA's flags, the versions
    of XLA and, for the host, on what its processor can do.
    """
    digest = _DIGEST()
    with lowered.shared:
        clone = lowered.module.operation.clone()
        _jaxlib.passmanager.PassManager.parse("builtin.module(strip-debuginfo)").run(clone)
        code = io.BytesIO()
        clone.write_bytecode(code)
    topology = _jaxlib.get_topology_for_devices([device])
    for part in (
        code.getvalue(),
        options.SerializeAsString(),
        _jaxlib.version.__version__.encode(),
        f"{topology.platform} {topology.platform_version} {topology.fingerprint()}".encode(),
        os.environ.get("XLA_FLAGS", "").encode(),
        _processor() if device.platform == "cpu" else b"",
    ):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


@cache
def _processor() -> bytes:
    """What the processor of the host can do."""
    described = f"{platform.system()} {platform.machine()} {platform.processor()}\n".encode()
    try:
        lines = Path("/proc/cpuinfo").read_bytes().splitlines()
    except OSError:
        return described
    return described + next((line for line in lines if line.startswith((b"flags", b"Features"))), b"")


def _path(folder: str, key: str) -> Path:
    return Path(folder, f"{key}.xla")


def _checksum(key: str, body: bytes) -> bytes:
    """That of a file of this name: the executable of another program would be run on arguments that are not its own."""
    return _DIGEST(key.encode() + body).digest()


def read(folder: str, key: str) -> bytes | None:
    """The executable of that key, if there is one that is whole."""
    path = _path(folder, key)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        _warn(f"{path} cannot be read: {error}")
        return None
    start = len(_MAGIC)
    checksum, body = data[start : start + 32], data[start + 32 :]
    if not data.startswith(_MAGIC) or _checksum(key, body) != checksum:
        discard(folder, key, "it is damaged")
        return None
    return body


def discard(folder: str, key: str, reason: str) -> None:
    """Warn of a file that is of no use. It is replaced when its program has been compiled."""
    _warn(f"{_path(folder, key)} is ignored, since {reason}")


def write(folder: str, key: str, body: bytes) -> None:
    """Keep an executable; readers see all of it or nothing. Where that fails, warn and go on."""
    temporary = None
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC)
            file.write(_checksum(key, body))
            file.write(body)
        os.replace(temporary, _path(folder, key))
        temporary = None
    except OSError as error:
        _warn(f"{folder} cannot be written to: {error}")
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _warn(what: str) -> None:
    warnings.warn(f"compilation cache: {what}. primax goes on without it", UserWarning, stacklevel=2)
