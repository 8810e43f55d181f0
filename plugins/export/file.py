"""The bytes of an exported function: a header that tells versions and types, the modules, and a checksum."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np

from primax.extend import backend, core
from primax.extend.random import KeyDType, find_prng_impl
from primax.plugins.export.artifact import Artifact

__all__ = ["from_bytes", "to_bytes"]

_MAGIC = b"\x93primax exported function\n"
FORMAT = 1
_CHECKSUM = 32


def to_bytes(header: dict[str, Any], artifact: Artifact, vjp_order: int) -> bytes:
    """What `from_bytes` reads."""
    blobs: list[bytes] = []
    described = {
        **header,
        "stablehlo": backend.artifact_version(),
        "program": _describe(artifact, vjp_order, blobs),
    }
    text = json.dumps(described).encode()
    body = b"".join((_MAGIC, FORMAT.to_bytes(4, "little"), len(text).to_bytes(8, "little"), text, *blobs))
    return body + hashlib.sha256(body).digest()


def _describe(artifact: Artifact, vjp_order: int, blobs: list[bytes]) -> dict[str, Any]:
    blobs += artifact.modules.values()
    vjp = artifact.vjp if vjp_order else None
    if vjp_order and vjp is None:
        raise ValueError(f"serialize: {artifact.name} was loaded without derivatives of that order")
    return {
        "name": artifact.name,
        "in": [_aval_to_json(aval) for aval in artifact.in_avals],
        "out": [_aval_to_json(aval) for aval in artifact.out_avals],
        "modules": [[platform, len(data)] for platform, data in artifact.modules.items()],
        "vjp": None if vjp is None else _describe(vjp, vjp_order - 1, blobs),
    }


def _aval_to_json(aval: Any) -> list[Any]:
    return [list(aval.shape), _dtype_to_json(aval.dtype), aval.weak_type]


def _dtype_to_json(dtype: Any) -> Any:
    """The name of a dtype; of a dtype of keys that of their generator, in a list."""
    if isinstance(dtype, KeyDType):
        if not dtype.impl.is_registered:
            raise ValueError(f"serialize: the generator of {dtype} must be registered by name, got {dtype.impl!r}")
        return [dtype.impl.name]
    return dtype.name


def _aval_from_json(described: Any) -> core.ShapedArray:
    shape, dtype, weak_type = described
    if isinstance(dtype, list):
        return core.ShapedArray(shape, find_prng_impl(dtype[0], "deserialize").dtype)
    return core.ShapedArray(shape, np.dtype(getattr(ml_dtypes, dtype, dtype)), weak_type)


def from_bytes(data: Any) -> tuple[dict[str, Any], Artifact]:
    """The header and the program of what `to_bytes` made.

    Raises:
      TypeError: `data` is not bytes.
      ValueError: it was not made by `to_bytes`, is damaged, or is newer than what can be read here.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"deserialize: data must be bytes, got {type(data).__name__}")
    data = bytes(data)
    start = len(_MAGIC)
    if not data.startswith(_MAGIC):
        raise ValueError("deserialize: data must be what Exported.serialize() returned; it does not begin like that")
    version = int.from_bytes(data[start : start + 4], "little")
    if version > FORMAT:
        raise ValueError(
            f"deserialize: data is of format {version}, and this primax reads formats up to {FORMAT}; update primax"
        )
    body, checksum = data[:-_CHECKSUM], data[-_CHECKSUM:]
    if len(data) < start + 12 + _CHECKSUM or hashlib.sha256(body).digest() != checksum:
        raise ValueError(f"deserialize: data (of format {version}) is damaged; its checksum does not match")
    size = int.from_bytes(data[start + 4 : start + 12], "little")
    header = json.loads(data[start + 12 : start + 12 + size])
    written, newest = header["stablehlo"], backend.newest_version()
    if _numbers(written) > _numbers(newest):
        raise ValueError(
            f"deserialize: data is in StableHLO {written}, and this jaxlib reads versions up to {newest}; update jaxlib"
        )
    blobs = _cut(body[start + 12 + size :])
    next(blobs)
    return header, _artifact(header["program"], blobs)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _cut(data: bytes) -> Any:
    """A generator to which sizes are sent, and which answers with the next bytes."""
    position = 0
    size = yield b""
    while True:
        position += size
        size = yield data[position - size : position]


def _artifact(described: dict[str, Any], blobs: Iterator[bytes]) -> Artifact:
    modules = {platform: blobs.send(size) for platform, size in described["modules"]}  # type: ignore[attr-defined]
    vjp = described["vjp"]
    return Artifact(
        described["name"],
        [_aval_from_json(a) for a in described["in"]],
        [_aval_from_json(a) for a in described["out"]],
        modules,
        vjp=None if vjp is None else _artifact(vjp, blobs),
    )
