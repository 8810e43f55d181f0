"""Runs the source of a program with primax and with jax, and tells how they differ."""

from __future__ import annotations

import dataclasses
import re
import warnings
from typing import Any

import jax
import jax.custom_batching
import jax.numpy
import numpy as np

import primax as px
from fuzz.programs.text import Block, Step, source

EPS = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24, "complex64": 2.0**-24}
INTERNAL = (AssertionError, AttributeError, KeyError, NameError, RecursionError, UnboundLocalError, SystemError)
# Weak types of derivatives with respect to Python scalars are not compared. jax writes each promotion of a scalar down
# as a conversion, whose derivative converts, too: a cotangent is weak if there was one on the way, so that the one of
# `grad(sin)(2.0)` is weak, and that of `vjp(sin, 2.0)[1](np.float32(1))` is not. primax writes none, and makes the
# cotangent of a value weak where the value is; a tangent is weak where it is computed from weak ones.
DERIVATIVE = re.compile(r"\.(grad|value_and_grad|vjp|jacrev|hessian|linear_transpose|jvp|linearize|jacfwd)\(")


@dataclasses.dataclass(frozen=True)
class Difference:
    """How two runs of a program differ: a word for the sort of difference, and a sentence."""

    sort: str
    message: str


def execute(code: Any, lib: Any) -> Any:
    """What the source of a program binds to `result`, or the exception that it raises."""
    scope = {"px": lib, "pnp": lib.numpy, "np": np}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(code, scope)
            return lib.block_until_ready(scope["result"])
        except Exception as error:
            return error


def plain(leaf: Any, lib: Any) -> np.ndarray:
    """The numbers of a leaf."""
    if str(getattr(leaf, "dtype", "")).startswith("key<"):
        leaf = lib.random.key_data(leaf)
    array = np.asarray(leaf)
    if array.dtype.kind in "biufc" or array.dtype.names is not None:
        return array
    return array.astype(np.float32) if array.dtype != np.dtype([("float0", "V")]) else np.zeros(array.shape)


def kind_of(leaf: Any) -> tuple[Any, ...]:
    """What is to be equal apart from the numbers. A float of jax's that has a dtype is an array here."""
    if not hasattr(leaf, "dtype"):
        return ("bool", (), False) if isinstance(leaf, bool) else (type(leaf).__name__,)
    if isinstance(leaf, np.ndarray | np.generic) and not type(leaf).__module__.startswith("jax"):
        return str(leaf.dtype), tuple(leaf.shape), "NumPy"
    scalar = isinstance(leaf, bool | int | float | complex)
    return str(leaf.dtype), () if scalar else tuple(leaf.shape), bool(getattr(leaf, "weak_type", scalar))


def precision(text: str) -> float:
    """The precision of the narrowest floating type that a program names."""
    narrow = [eps for name, eps in EPS.items() if name in text]
    return max(narrow, default=2.0**-53 if px.config.enable_x64 else 2.0**-24)


def gap(found: np.ndarray, wanted: np.ndarray) -> float:
    """How far arrays are from each other, in units of the largest number; infinite where only one is finite."""
    if found.dtype.kind in "bu" or wanted.dtype.kind in "bu":
        return float(np.any(found != wanted)) * 1e9
    finite = np.isfinite(wanted)
    if not np.array_equal(finite, np.isfinite(found)) or not np.array_equal(np.isnan(wanted), np.isnan(found)):
        return float("inf")
    if not np.array_equal(wanted[~finite], found[~finite], equal_nan=True):
        return float("inf")
    wanted, found = wanted[finite].astype(complex), found[finite].astype(complex)
    if not wanted.size:
        return 0.0
    return float(np.abs(found - wanted).max() / (1 + np.abs(wanted).max()))


def tree_of(value: Any, lib: Any) -> str:
    return str(lib.tree.structure(value)).replace("jaxlib._jax.pytree.", "")


def perturbed(block: Block, factor: float) -> Block:
    """The program with all arguments that are no integers changed a little."""

    def change(step: Step) -> Step:
        if "input" not in step.tags or not any(word in step.type.dtype for word in ("float", "complex")):
            return step
        return dataclasses.replace(step, text=f"({step.text} * {1 + factor!r}).astype('{step.type.dtype}')")

    def weak(step: Step) -> Step:
        return change(step) if not getattr(step.type, "weak", False) else step

    return dataclasses.replace(block, steps=tuple(map(weak, block.steps)))


def judge(block: Block) -> tuple[str, Difference | None]:
    """Whether jax runs the program ("compared" or "refused"), and how primax differs."""
    text = source(block)
    code = compile(text, "<program>", "exec")
    wanted = execute(code, jax)
    found = execute(code, px)
    if isinstance(wanted, Exception):
        if isinstance(found, INTERNAL) and type(found) is not type(wanted):
            return "refused", Difference(
                f"internal {type(found).__name__}", f"jax: {line(wanted)}; primax: {line(found)}"
            )
        return "refused", None
    if isinstance(found, Exception):
        return "compared", Difference(
            f"raised {type(found).__name__}", f"jax gives a result, primax raises {line(found)}"
        )
    return "compared", difference(block, text, found, wanted)


def line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def difference(block: Block, text: str, found: Any, wanted: Any) -> Difference | None:
    if tree_of(found, px) != tree_of(wanted, jax):
        return Difference("tree", f"primax: {tree_of(found, px)}, jax: {tree_of(wanted, jax)}")
    found, wanted = px.tree.leaves(found), jax.tree.leaves(wanted)
    pairs = [(kind_of(x), kind_of(y)) for x, y in zip(found, wanted, strict=True) if kind_of(x) != kind_of(y)]
    if pairs:
        weak = all(a[:-1] == b[:-1] and len(a) == 3 for a, b in pairs)
        if not (weak and DERIVATIVE.search(text) and any(getattr(step.type, "weak", False) for step in block.steps)):
            return Difference("weak type" if weak else "type", f"primax: {pairs[0][0]}, jax: {pairs[0][1]}")
    eps = precision(text)
    numbers = [plain(x, jax) for x in wanted]
    gaps = [gap(plain(x, px), y) for x, y in zip(found, numbers, strict=True)]
    if max(gaps, default=0.0) <= min(2e-2, 300 * eps):
        return None
    for factor in (2 * eps, -3 * eps, 17 * eps):
        other = execute(compile(source(perturbed(block, factor)), "<program>", "exec"), jax)
        if isinstance(other, Exception):
            continue
        change = [gap(plain(x, jax), y) for x, y in zip(jax.tree.leaves(other), numbers, strict=True)]
        if all(a <= 10 * b + 300 * eps for a, b in zip(gaps, change, strict=True)):
            return None
    worst = gaps.index(max(gaps))
    return Difference("value", f"primax: {short(plain(found[worst], px))}, jax: {short(numbers[worst])}")


def short(array: np.ndarray) -> str:
    return " ".join(np.array2string(array, precision=6, threshold=12).split())[:200]
