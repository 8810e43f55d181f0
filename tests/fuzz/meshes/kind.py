"""The kind of fuzzing that compares programs over meshes of eight devices with jax."""

from __future__ import annotations

import random
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

import primax as px
from fuzz.frame import Case, Finding, Kind, as_oracle
from fuzz.meshes.generate import Program, random_program
from fuzz.programs.judge import INTERNAL, gap, kind_of, line, plain, short, tree_of

DEVICES = 8
BOUND = 2e-4  # relative to the greatest number: sums over devices have any order, and halves are rounded
# jax refuses a sum along an axis of `vmap` and one of the mesh at once, whatever the specs; primax computes it.
JAX_ALONE = "can only accept axis_name which corresponds to one of"
MESH = re.compile(r"make_mesh\(\(([\d, ]+)\)")
# XLA gives operands of `fft` on several CPUs layouts that its own code refuses, in other programs for jax.
XLA_ALONE = "fft_thunk.cc"


@dataclass(frozen=True)
class MeshCase(Case):
    """A random program over a mesh."""

    made: Program


class Meshes(Kind):
    """shard_map, jit with shardings and pmap over random meshes: values, types, and shardings of results."""

    name = "meshes"
    lifetime = 250
    seconds_per_case = 120.0

    def __init__(self) -> None:
        super().__init__()
        warnings.simplefilter("ignore")
        px.config.update("num_cpu_devices", DEVICES)
        jax.config.update("jax_num_cpu_devices", DEVICES)

    def cases(self, rng: random.Random, only: str) -> Iterator[MeshCase]:
        while True:
            made = random_program(random.Random(rng.getrandbits(32)))
            if only in made.name:
                yield MeshCase(made.name, made.text, made)

    def run(self, case: Case) -> Finding | None:
        assert isinstance(case, MeshCase)
        code = compile("\n".join(case.made.lines), "<program>", "exec")
        wanted, found = execute(code, jax), execute(code, px)
        self.reached["refused" if isinstance(wanted, Exception) else "compared"] += 1
        differs = difference(case.made, found, wanted)
        if differs is None:
            return None
        if differs[0] == "value" and is_meant(case.made, found, wanted):
            return None
        return Finding(case.name, differs[1], case.program, differs[0])

    @classmethod
    def report(cls, reached: Counter[str]) -> list[str]:
        return [f"meshes: {reached['compared']} compared with jax, {reached['refused']} that jax refuses"]


def execute(code: Any, lib: Any) -> Any:
    """The value that a program binds to `result`, or the exception that it raises."""
    scope = {"px": lib, "pnp": lib.numpy, "lax": lib.lax, "np": np}
    try:
        exec(code, scope) if lib is px else as_oracle(exec, code, scope)
        return lib.block_until_ready(scope["result"])
    except Exception as error:
        return error


def difference(made: Program, found: Any, wanted: Any) -> tuple[str, str] | None:
    """A word and a sentence for the difference between a result and that of jax.

    A program that fails with the same message on both, such as one that uses `at` of a NumPy array, has none.
    """
    if isinstance(found, INTERNAL) and (type(found), str(found)) != (type(wanted), str(wanted)):
        theirs = line(wanted) if isinstance(wanted, Exception) else "a result"
        return f"internal {type(found).__name__}", f"primax raises {line(found)}\njax: {theirs}"
    if isinstance(wanted, Exception):
        meant = isinstance(wanted, NotImplementedError) or JAX_ALONE in str(wanted)
        if made.refused and not isinstance(found, Exception) and not meant:
            return "jax raises", f"jax raises {line(wanted)}; primax gives a result"
        return None
    if isinstance(found, Exception):
        if (made.refused and isinstance(found, TypeError | ValueError)) or XLA_ALONE in str(found):
            return None
        return f"raised {type(found).__name__}", f"jax gives a result, primax raises {line(found)}"
    if tree_of(found, px) != tree_of(wanted, jax):
        return "tree", f"primax: {tree_of(found, px)}, jax: {tree_of(wanted, jax)}"
    for mine, other in zip(px.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        differs = _of_leaves(mine, other, made.placed)
        if differs is not None:
            return differs
    return None


def is_ill_conditioned(made: Program, found: Any, wanted: Any) -> bool:
    """Whether changes of the arguments by roundings change jax's result as much as primax differs."""
    gaps = _gaps(found, px, wanted)
    for factor in (1 + 2**-23, 1 - 3 * 2**-23, 1 + 17 * 2**-23):
        changed = [line.replace("np.sin(1.7", f"{factor!r} * np.sin(1.7") for line in made.lines]
        other = execute(compile("\n".join(changed), "<program>", "exec"), jax)
        if not isinstance(other, Exception):
            moved = _gaps(other, jax, wanted)
            if all(a <= max(10 * b, BOUND) for a, b in zip(gaps, moved, strict=True)):
                return True
    return False


def is_meant(made: Program, found: Any, wanted: Any) -> bool:
    """Whether a difference of values is one of rounding, or of a program that XLA makes wrong for jax."""
    return is_ill_conditioned(made, found, wanted) or is_right_on_one_device(made, found)


def is_right_on_one_device(made: Program, found: Any) -> bool:
    """Whether primax has the values that jax has on one device, where the mesh must not change values.

    XLA for several CPUs makes wrong programs of some concatenations and splits.
    """
    if not made.name.startswith(("meshes.jit", "meshes.eager")):
        return False
    one = [MESH.sub(lambda sizes: re.sub(r"\d+", "1", sizes[0]), line) for line in made.lines]
    wanted = execute(compile("\n".join(one), "<program>", "exec"), jax)
    return not isinstance(wanted, Exception) and max(_gaps(found, px, wanted), default=0.0) <= BOUND


def _gaps(found: Any, lib: Any, wanted: Any) -> list[float]:
    """The distance of each array from that of jax; integers and numbers without tangents have the least one."""
    pairs = zip(lib.tree.leaves(found), jax.tree.leaves(wanted), strict=True)
    inexact = [(x, y) for x, y in pairs if getattr(y, "dtype", None) != jax.dtypes.float0]
    return [gap(plain(x, lib), plain(y, jax)) for x, y in inexact]


def _of_leaves(mine: Any, other: Any, placed: bool) -> tuple[str, str] | None:
    if kind_of(mine, px)[:2] != kind_of(other, jax)[:2]:
        return "type", f"primax: {kind_of(mine, px)}, jax: {kind_of(other, jax)}"
    if getattr(mine, "dtype", None) == px.dtypes.float0:
        return None
    a, b = plain(mine, px), plain(other, jax)
    if gap(a, b) > BOUND:
        return "value", f"primax: {short(a)}, jax: {short(b)}"
    if not isinstance(mine, px.Array):
        return None
    for shard in mine.addressable_shards:
        if not np.array_equal(np.asarray(shard.data), a[shard.index], equal_nan=True):
            part, whole = short(np.asarray(shard.data)), short(a[shard.index])
            return "replicas", f"device {shard.device} has {part}, the array {whole}"
    if placed and mine.sharding.shard_shape(a.shape) != other.sharding.shard_shape(b.shape):
        return "sharding", f"primax: {mine.sharding}, jax: {other.sharding}"
    return None
