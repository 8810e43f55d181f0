"""Compiled programs in a directory, for other processes and later runs.

An executable is code. Therefore a file is loaded only if it belongs to the user and nobody else may write to it. Files
are written under another name and renamed, and contain a checksum. If there are too many, the files with the oldest
last use are removed. No failure here stops a program: programs that cannot be stored or loaded are compiled.
"""

from __future__ import annotations

import hashlib
import io
import os
import platform
import stat
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from primax.core import _jaxlib
from primax.core.caller import warn_caller
from primax.interpreters.runtime import log
from primax.interpreters.runtime import options as config
from primax.interpreters.runtime.devices.backends import platform_of
from primax.interpreters.runtime.stablehlo_module import StablehloModule

_MAGIC = b"primax executable 2\n"
_DIGEST = hashlib.sha256


def key_of(module: StablehloModule, options: Any, device: Any) -> str:
    """A key that is the same in every process that would compile the same program in the same way.

    It depends on the program without its source locations, the options, the device, XLA's flags, the versions
    of XLA and, on the host, the features of its processor.
    """
    digest = _DIGEST()
    with module.shared:
        clone = module.module.operation.clone()
        _jaxlib.passmanager.PassManager.parse("builtin.module(strip-debuginfo)").run(clone)
        code = io.BytesIO()
        clone.write_bytecode(code)
    for part in (
        code.getvalue(),
        options.SerializeAsString(),
        _jaxlib.version.__version__.encode(),
        _topology(device),
        os.environ.get("XLA_FLAGS", "").encode(),
        _processor() if platform_of(device) == "cpu" else b"",
    ):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


@cache
def _topology(device: Any) -> bytes:
    """The description of the device for which programs are compiled."""
    topology = _jaxlib.get_topology_for_devices([device])
    return f"{topology.platform} {topology.platform_version} {topology.fingerprint()}".encode()


@cache
def _processor() -> bytes:
    """The features of the host's processor."""
    described = f"{platform.system()} {platform.machine()} {platform.processor()}\n".encode()
    try:
        lines = Path("/proc/cpuinfo").read_bytes().splitlines()
    except OSError:
        return described
    return described + next((line for line in lines if line.startswith((b"flags", b"Features"))), b"")


def _path(folder: str, key: str) -> Path:
    return Path(folder, f"{key}.xla")


def _checksum(key: str, body: bytes) -> bytes:
    """The checksum of a file for a key, so that no other program's executable runs on the arguments of this one."""
    return _DIGEST(key.encode() + body).digest()


def read(folder: str, key: str) -> bytes | None:
    """The executable of a key, if there is a complete file of the user; otherwise None."""
    path = _path(folder, key)
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        return None
    except OSError as error:
        _warn(folder, f"{path} cannot be read: {error}")
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not _is_own(status):
            discard(folder, key, "another user owns it or can write to it")
            return None
        data = file.read()
    start = len(_MAGIC)
    checksum, body = data[start : start + 32], data[start + 32 :]
    if not data.startswith(_MAGIC) or _checksum(key, body) != checksum:
        discard(folder, key, "it is damaged")
        return None
    try:
        os.utime(path, ns=(time.time_ns(), status.st_mtime_ns))  # the time of the last use
    except OSError as error:
        log.debug("%s cannot be marked as used: %s", path, error)
    return body


def _is_own(status: os.stat_result) -> bool:
    """Whether a file belongs to the user and nobody else can write to it."""
    if not stat.S_ISREG(status.st_mode):
        return False
    if not hasattr(os, "geteuid"):  # a platform with access lists, which the user's folder passes on
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def discard(folder: str, key: str, reason: str) -> None:
    """Warn about an unusable file. It is replaced after the compilation of its program."""
    _warn(folder, f"{_path(folder, key)} is ignored, since {reason}", always=True)


_written: dict[str, int] = {}  # bytes since the last check of the size of each folder
_given_up: set[str] = set()


def write(folder: str, key: str, body: bytes) -> None:
    """Store an executable; readers see all of it or nothing. A failure is reported, and the program continues."""
    if folder in _given_up:
        return
    temporary = None
    try:
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC)
            file.write(_checksum(key, body))
            file.write(body)
        os.replace(temporary, _path(folder, key))
        temporary = None
    except OSError as error:
        _given_up.add(folder)
        _warn(folder, f"{folder} cannot be written to: {error}")
        return
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
    most: int = config.compilation_cache_max_size.value
    if most < 0:
        return
    total = _written[folder] = _written.get(folder, most) + len(body)
    if total >= most // 16:
        prune(folder, most)
        _written[folder] = 0


def contents(folder: str) -> list[tuple[float, int, Path]]:
    """For each file of a compilation cache the time of its last use, its bytes, and its path; the oldest first."""
    files = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith((".xla", ".part")) and entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    files.append((max(status.st_atime, status.st_mtime), status.st_size, Path(entry.path)))
    except FileNotFoundError:
        return []
    return sorted(files)


_ABANDONED_AFTER = 3600.0


def prune(folder: str, most: int) -> None:
    """Remove the files with the oldest last use until the others have at most `most` bytes."""
    try:
        files = contents(folder)
        left = sum(size for _, size, _ in files)
        for used, size, path in files:
            abandoned = path.suffix == ".part" and time.time() - used > _ABANDONED_AFTER
            if left <= most and not abandoned:
                continue
            path.unlink(missing_ok=True)
            left -= size
    except OSError as error:
        _warn(folder, f"old programs in {folder} cannot be deleted: {error}")


def clear(folder: str) -> int:
    """Remove all files of a compilation cache.

    Returns:
      The number of files.

    Raises:
      OSError: a file cannot be removed.
    """
    files = contents(folder)
    for _, _, path in files:
        path.unlink(missing_ok=True)
    return len(files)


def _warn(folder: str, what: str, always: bool = False) -> None:
    """Report a problem: as a warning if the user chose this folder or the file may be forged, else in the log."""
    if always or folder != config.compilation_cache_dir.default:
        warn_caller(f"compilation cache: {what}. primax continues without it")
    else:
        log.debug("compilation cache: %s", what)
