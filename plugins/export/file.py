"""The file format of an exported function: a header with versions and types, the modules, and a checksum."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from primax.extend import core
from primax.extend.core import ShapedArray
from primax.extend.dimensions import is_symbolic_dim
from primax.extend.provisional import dimensions
from primax.extend.provisional.random import find_prng_impl
from primax.extend.provisional.sharding import check_spec, explicit_part
from primax.extend.random import KeyDType
from primax.extend.sharding import AbstractMesh, AxisType, PartitionSpec
from primax.plugins.export.artifact import Artifact, ArtifactShardings
from primax.plugins.export.foreign import require
from primax.plugins.export.stablehlo_artifact import artifact_version, newest_version
from primax.plugins.export.structure import dtypes_by_name

_MAGIC = b"\x93primax exported function\n"
FORMAT = 3  # of programs with symbolic dimensions; 2 is for several devices; others have 1, which earlier versions read
_CHECKSUM = 32
_LONGEST = 2**59
_DTYPES = {dtype.name: dtype for dtype in core.dtypes.array_dtypes}


def to_bytes(header: dict[str, Any], artifact: Artifact, vjp_order: int) -> bytes:
    """The bytes of an artifact, for `from_bytes`."""
    blobs: list[bytes] = []
    described = {
        **header,
        "stablehlo": artifact_version(),
        "program": _describe(artifact, vjp_order, blobs),
    }
    text = json.dumps(described).encode()
    form = FORMAT if artifact.is_symbolic else 1 if artifact.spread is None else 2
    body = b"".join((_MAGIC, form.to_bytes(4, "little"), len(text).to_bytes(8, "little"), text, *blobs))
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
        **({} if artifact.spread is None else {"spread": _spread_to_json(artifact)}),
        **({"primitives": list(artifact.primitives)} if artifact.primitives else {}),
        **({"foreign": artifact.foreign} if artifact.foreign else {}),
        **({"anywhere": True} if artifact.anywhere else {}),
        **({"constraints": list(_scope_of(artifact).constraints)} if artifact.is_symbolic else {}),
    }


def _scope_of(artifact: Artifact) -> Any:
    """The scope of the named sizes of an artifact that has some."""
    sizes = [size for aval in (*artifact.in_avals, *artifact.out_avals) for size in aval.shape]
    return next(size.scope for size in sizes if is_symbolic_dim(size))


def _spread_to_json(artifact: Artifact) -> dict[str, Any]:
    """The axes of the mesh, and for each input and output the names that divide each of its axes, or None."""
    spread = artifact.spread
    assert spread is not None
    if not all(isinstance(name, str) for name in spread.mesh.axis_names):
        raise ValueError(f"serialize: the axes of the mesh must be named by strings, got {spread.mesh.axis_names}")

    def parts(spec: PartitionSpec | None) -> list[Any] | None:
        return None if spec is None else [list(spec.along(i)) for i in range(len(spec))]

    return {
        "mesh": [[name, size] for name, size in spread.mesh.shape_tuple],
        "explicit": list(spread.mesh.explicit_axes),
        "in": list(map(parts, spread.ins)),
        "out": list(map(parts, spread.outs)),
    }


def _spread_from_json(described: Any, counts: tuple[int, int]) -> ArtifactShardings | None:
    """The inverse of `_spread_to_json`, for the given numbers of inputs and outputs."""
    if described is None:
        return None
    axes = _entry(described, "mesh", list)
    sides = [_entry(described, name, list) for name in ("in", "out")]
    explicit = _entry(described, "explicit", list)
    try:
        kinds = tuple(AxisType.Explicit if name in explicit else AxisType.Auto for name, _ in axes)
        mesh = AbstractMesh(tuple(size for _, size in axes), tuple(name for name, _ in axes), kinds)
        ins, outs = ([None if parts is None else PartitionSpec(*parts) for parts in side] for side in sides)
        for spec in (*ins, *outs):
            if spec is not None:
                check_spec("deserialize", mesh, spec)
    except (TypeError, ValueError) as error:
        raise _malformed(f"must give the shardings of values, but does not ({error})") from None
    if (len(ins), len(outs)) != counts:
        raise _malformed(f"must have shardings for {counts} values, but has them for {len(ins), len(outs)}")
    return ArtifactShardings(mesh, tuple(ins), tuple(outs))


def _aval_to_json(aval: Any) -> list[Any]:
    shape = [size.spelling if is_symbolic_dim(size) else size for size in aval.shape]
    return [shape, _dtype_to_json(aval.dtype), aval.weak_type]


def _dtype_to_json(dtype: Any) -> Any:
    """The name of a dtype; for extended dtypes a list: the name of the keys' generator, or what `_element` returns."""
    if isinstance(dtype, KeyDType):
        if not dtype.impl.is_registered:
            raise ValueError(f"serialize: the generator of {dtype} must be registered by name, got {dtype.impl!r}")
        return [dtype.impl.name]
    if not core.dtypes.is_extended(dtype):
        return dtype.name
    for name, known in dtypes_by_name.items():
        if known == dtype:
            return _element(name, dtype)
    raise ValueError(
        f"serialize: dtype {dtype} must have a name in files, and the process that loads the function the same one "
        "(primax.export.register_dtype_serialization)"
    )


def _element(name: str, dtype: Any) -> list[Any]:
    """The name of an extended dtype in files, and the contents of its elements."""
    return [name, list(dtype.element_shape), dtype.element_dtype.name]


def _aval_from_json(described: Any, scope: Any) -> core.ShapedArray:
    if not isinstance(described, list) or len(described) != 3:
        raise _malformed(f"must have types of shape, dtype and weakness, but has {described!r}")
    shape, dtype, weak_type = described
    if scope is not None and isinstance(shape, list):
        shape = [_size_from_json(size, scope) for size in shape]
    sizes = isinstance(shape, list) and all(map(_is_size, shape))
    if not sizes or type(weak_type) is not bool:
        raise _malformed(f"must have types of shape, dtype and weakness, but has {described!r}")
    if isinstance(dtype, list) and len(dtype) == 1 and isinstance(dtype[0], str):
        return core.ShapedArray(shape, find_prng_impl(dtype[0], "deserialize").dtype)
    if isinstance(dtype, list) and len(dtype) == 3 and isinstance(dtype[0], str):
        known = dtypes_by_name.get(dtype[0])
        if known is None or _element(dtype[0], known) != dtype:
            have = "has none of this name" if known is None else f"has {_element(dtype[0], known)}"
            raise ValueError(
                f"deserialize: the function has values of the extended dtype {dtype}, and this process {have} "
                "(primax.export.register_dtype_serialization)"
            )
        return core.ShapedArray(shape, known)
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise _malformed(f"must have dtypes of arrays, but has {dtype!r}")
    return core.ShapedArray(shape, _DTYPES[dtype], weak_type)


def _is_size(size: Any) -> bool:
    return is_symbolic_dim(size) or (type(size) is int and 0 <= size < _LONGEST)


def _named_sizes(avals: list[ShapedArray]) -> set[str]:
    sizes: list[Any] = [size for aval in avals for size in aval.shape]
    return {str(name) for size in sizes if is_symbolic_dim(size) for name in size.sizes()}


def _size_from_json(size: Any, scope: Any) -> Any:
    if not isinstance(size, str):
        return size
    try:
        (dim,) = dimensions.symbolic_shape(size, scope=scope)
    except (ValueError, ZeroDivisionError) as error:
        raise _malformed(f"must have symbolic dimensions, but has {size!r} ({error})") from None
    return dim


def _scope_from_json(described: Any) -> Any:
    constraints = described.get("constraints")
    if constraints is None:
        return None
    if not isinstance(constraints, list):
        raise _malformed(f"must list the constraints of sizes, but has {constraints!r}")
    try:
        return dimensions.SymbolicScope(constraints)
    except (ValueError, ZeroDivisionError) as error:
        raise _malformed(f"must list the constraints of sizes, but has {constraints!r} ({error})") from None


def from_bytes(data: Any) -> tuple[dict[str, Any], Artifact]:
    """The header and the program from the bytes of `to_bytes`.

    Raises:
      TypeError: `data` is not bytes.
      ValueError: the data was not written by `to_bytes`, is damaged, or has a newer version.
      PluginError: it calls a foreign function of a plugin that is not available.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"deserialize: data must be bytes, got {type(data).__name__}")
    data = bytes(data)
    start = len(_MAGIC)
    if not data.startswith(_MAGIC):
        raise ValueError("deserialize: data must be what Exported.serialize() returned; its first bytes are wrong")
    version = int.from_bytes(data[start : start + 4], "little")
    if version > FORMAT:
        raise ValueError(
            f"deserialize: data is of format {version}, and this primax reads formats up to {FORMAT}; update primax"
        )
    body, checksum = data[:-_CHECKSUM], data[-_CHECKSUM:]
    if len(data) < start + 12 + _CHECKSUM or hashlib.sha256(body).digest() != checksum:
        raise ValueError(f"deserialize: data (of format {version}) is damaged; its checksum does not match")
    size = int.from_bytes(data[start + 4 : start + 12], "little")
    try:
        header = json.loads(body[start + 12 : start + 12 + size].decode())
    except (ValueError, RecursionError) as error:
        raise _malformed(f"is not JSON ({error})") from None
    written, newest = _numbers(_entry(header, "stablehlo", str)), newest_version()
    if written > _numbers(newest):
        raise ValueError(
            f"deserialize: data is in StableHLO {header['stablehlo']}, and this jaxlib reads versions up to {newest}; "
            "update jaxlib"
        )
    blobs = _Blobs(body[start + 12 + size :])
    artifact = _artifact(_entry(header, "program", dict), blobs)
    if blobs.data:
        raise _malformed(f"leaves {len(blobs.data)} bytes of programs over")
    if all(platform in artifact.foreign for platform in artifact.modules):
        require(f"deserialize: {artifact.name}", artifact.foreign[next(iter(artifact.modules))])
    return header, artifact


def _malformed(problem: str) -> ValueError:
    return ValueError(f"deserialize: the header of data {problem}; Exported.serialize() did not write it")


def _entry(described: Any, name: str, kind: type) -> Any:
    """An entry of the header with a required type."""
    if not isinstance(described, dict) or not isinstance(described.get(name), kind):
        raise _malformed(f"must have an entry {name!r} of type {kind.__name__}")
    return described[name]


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    if not all(part.isdecimal() and part.isascii() and len(part) < 9 for part in parts):
        raise _malformed(f"must have a version of StableHLO, but has {version!r}")
    return tuple(map(int, parts))


class _Blobs:
    """The bytes after the header, from which each program takes its part."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def take(self, size: Any) -> bytes:
        """The next bytes."""
        if type(size) is not int or not 0 < size <= len(self.data):
            raise _malformed(f"must give the sizes of programs, but has {size!r} where {len(self.data)} bytes are left")
        blob, self.data = self.data[:size], self.data[size:]
        return blob


def _typed(mesh: AbstractMesh, aval: Any, spec: PartitionSpec | None) -> ShapedArray:
    """A type that records the sharding of its values along explicit axes."""
    return aval if spec is None else aval.update(sharding=explicit_part(mesh, spec, len(aval.shape)))


def _artifact(described: dict[str, Any], blobs: _Blobs, scope: Any = None) -> Artifact:
    modules: dict[str, bytes] = {}
    for pair in _entry(described, "modules", list):
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str) or pair[0] in modules:
            raise _malformed(f"must name each platform once, but has {pair!r}")
        modules[pair[0]] = blobs.take(pair[1])
    if not modules:
        raise _malformed("must name a platform")
    scope = _scope_from_json(described) if scope is None else scope
    types = [[_aval_from_json(one, scope) for one in _entry(described, name, list)] for name in ("in", "out")]
    vjp = None if described.get("vjp") is None else _artifact(_entry(described, "vjp", dict), blobs, scope)
    spread = _spread_from_json(described.get("spread"), (len(types[0]), len(types[1])))
    if spread is not None:
        pairs = zip(types, (spread.ins, spread.outs), strict=True)
        types = [[_typed(spread.mesh, *typed) for typed in zip(avals, specs, strict=True)] for avals, specs in pairs]
    known, needed = (_named_sizes(avals) for avals in types)
    if not needed <= known:
        raise _malformed(f"must have the sizes of results among those of arguments, but has {min(needed - known)}")
    name = _entry(described, "name", str)
    primitives, foreign = _needs_of_plugins(described)
    in_avals, out_avals = types
    anywhere = described.get("anywhere", False)
    if type(anywhere) is not bool:
        raise _malformed(f"must say whether it runs anywhere, but has {anywhere!r}")
    return Artifact(
        name,
        in_avals,
        out_avals,
        modules,
        vjp=vjp,
        spread=spread,
        primitives=primitives,
        foreign=foreign,
        anywhere=anywhere,
    )


def _needs_of_plugins(described: dict[str, Any]) -> tuple[list[str], dict[str, dict[str, str]]]:
    """The names of primitives of plugins, and for each platform the foreign functions with their plugins."""
    primitives, foreign = described.get("primitives", []), described.get("foreign", {})
    texts = list(primitives) if isinstance(primitives, list) else [None]
    for calls in foreign.values() if isinstance(foreign, dict) else [None]:
        texts += calls.values() if isinstance(calls, dict) else [None]
    if not all(isinstance(text, str) for text in texts):
        raise _malformed("must list the primitives of plugins, but does not")
    return primitives, foreign
