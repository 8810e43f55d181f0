"""Runs the source of a program with primax and with jax, and determines the difference."""

from __future__ import annotations

import dataclasses
import re
import warnings
import zlib
from typing import Any

import jax
import jax.ad_checkpoint
import jax.custom_batching
import jax.extend
import jax.extend.core
import jax.numpy
import numpy as np

import primax as px
from fuzz.frame import as_oracle
from fuzz.programs.text import Array, Block, Step, function, source

EPS = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24, "complex64": 2.0**-24}
INTERNAL = (AssertionError, AttributeError, KeyError, NameError, RecursionError, UnboundLocalError, SystemError)
# Weak types of derivatives with respect to Python scalars are not compared. jax represents each promotion of a scalar
# by a conversion, whose derivative converts, too. A cotangent is weak if it passed through one: that of
# `grad(sin)(2.0)` is weak, and that of `vjp(sin, 2.0)[1](np.float32(1))` is not. primax has no such conversions, and
# makes the cotangent of a value weak if the value is; a tangent is weak if it is computed from weak ones.
DERIVATIVE = re.compile(r"\.(grad|value_and_grad|vjp|jacrev|hessian|linear_transpose|jvp|linearize|jacfwd)\(")
# A carry has the same type, that of its initial value, or, if that is weak, the type that the step returns. In jax the
# result is weakly typed if the step's result is, whatever the initial value.
LOOP = re.compile(r"\.(while_loop|fori_loop|scan)\(")
# If a mapped value selects branches, and a branch sums over the mapped axis, jax's derivatives are wrong:
# elements that selected another branch get no cotangent from the sum. Finite differences agree with primax.
BRANCH = re.compile(r"\.(cond|switch)\(")
EXCHANGE = re.compile(r"\.(psum|pmean|pmax|pmin|all_gather|ppermute|psum_scatter|all_to_all)\(")
# If a value is mapped and its tangent is not, jax maps the results of a rule of `custom_vmap` once more, so they have
# one axis too many.
CUSTOM_VMAP = "custom_vmap("
# In jax, if NumPy computes with its own array and a Python number that is the argument of a rule, the result is wider
# than the array, unless the program is compiled: then jax refuses the result of the rule, as primax does in both cases.
RULE_OF_OTHER_TYPES = re.compile(r"^custom_jvp: .* must return tangents of the types of its primal outputs")


@dataclasses.dataclass(frozen=True)
class Difference:
    """The difference between two runs of a program: a word for its sort, and a sentence."""

    sort: str
    message: str


def execute(code: Any, lib: Any) -> Any:
    """The value that the source of a program binds to `result`, or the exception that it raises."""
    scope = {"px": lib, "pnp": lib.numpy, "np": np}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(code, scope) if lib is px else as_oracle(exec, code, scope)
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


def kind_of(leaf: Any, lib: Any) -> tuple[Any, ...]:
    """The properties that must be equal, apart from the numbers.

    jax may return NumPy arrays, or floats with a dtype, instead of arrays. Its comparisons of weak types return
    weakly typed bools, which has no meaning: bools have the lowest type in any case. primax returns fewer weak ones.
    """
    if not hasattr(leaf, "dtype"):
        return ("bool", (), False) if isinstance(leaf, bool) else (type(leaf).__name__,)
    if isinstance(leaf, np.ndarray | np.generic) and not type(leaf).__module__.startswith("jax"):
        return str(leaf.dtype), tuple(leaf.shape), "NumPy" if lib is px else False
    scalar = isinstance(leaf, bool | int | float | complex)
    weak = bool(getattr(leaf, "weak_type", scalar)) and str(leaf.dtype) != "bool"
    return str(leaf.dtype), () if scalar else tuple(leaf.shape), weak


def is_literal(leaf: Any) -> bool:
    """Whether a result of jax is a NumPy array, or a substitute for one in its programs."""
    return isinstance(leaf, np.ndarray | np.generic) or type(leaf).__name__ == "TypedNdArray"


def is_number_returned(x: Any, y: Any) -> bool:
    """Whether jax returns a number of Python unchanged, and primax the weakly typed array that programs make of it."""
    kinds = {int: "i", float: "f", complex: "c"}
    return getattr(x, "weak_type", False) and x.shape == () and kinds.get(type(y)) == np.dtype(x.dtype).kind


def came_in(block: Block, kind: tuple[Any, ...]) -> bool:
    """Whether a NumPy array of this dtype and shape is an argument of a program."""
    arrays = [step.type for step in block.steps if "input" in step.tags and not step.text.startswith("pnp")]
    return any(isinstance(type, Array) and (type.dtype, type.shape) == kind[:2] for type in arrays)


def precision(text: str) -> float:
    """The precision of the narrowest floating type that a program names."""
    narrow = [eps for name, eps in EPS.items() if name in text]
    return max(narrow, default=2.0**-53 if px.config.enable_x64 else 2.0**-24)


def gap(found: np.ndarray, wanted: np.ndarray) -> float:
    """The distance of two arrays, in units of the largest number; infinite where only one is finite."""
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
    """The program with small changes of all arguments that are not integers."""

    def change(step: Step) -> Step:
        if "input" not in step.tags or not any(word in step.type.dtype for word in ("float", "complex")):
            return step
        return dataclasses.replace(step, text=f"({step.text} * {1 + factor!r}).astype('{step.type.dtype}')")

    def weak(step: Step) -> Step:
        return change(step) if not getattr(step.type, "weak", False) else step

    return dataclasses.replace(block, steps=tuple(map(weak, block.steps)))


def judge(block: Block, compiled: bool | None = None) -> tuple[str, Difference | None]:
    """Whether jax runs the program ("compared" or "refused"), and the difference of primax.

    Args:
      block: the program.
      compiled: whether to compare primax also with itself, with the program compiled as a whole; by default for one
        program in four.
    """
    text = source(block)
    code = compile(text, "<program>", "exec")
    wanted = execute(code, jax)
    found = execute(code, px)
    if isinstance(wanted, Exception):
        if isinstance(found, INTERNAL) and type(found) is not type(wanted):
            message = f"jax: {line(wanted)}; primax: {line(found)}"
            return "refused", Difference(f"internal {type(found).__name__}", message)
        return "refused", None
    if isinstance(found, Exception) and RULE_OF_OTHER_TYPES.search(str(found)) and refused_compiled(block):
        return "refused", None
    if isinstance(found, Exception):
        message = f"jax gives a result, primax raises {line(found)}"
        return "compared", Difference(f"raised {type(found).__name__}", message)
    differs = difference(block, text, found, wanted)
    if differs is None and (zlib.crc32(text.encode()) % 4 == 0 if compiled is None else compiled):
        differs = difference_of_jit(block, text, found)
    return "compared", differs


def refused_compiled(block: Block) -> bool:
    """Whether jax refuses a custom rule of the program when it compiles the program as a whole."""
    refusal = run_compiled(*as_function(block), jax)
    return isinstance(refusal, TypeError) and str(refusal).startswith("Custom JVP rule must produce")


def as_function(block: Block) -> tuple[Block, list[Step]]:
    """A program as a function of its arguments, and the arguments."""
    inputs = [step for step in block.steps if "input" in step.tags]
    steps = tuple(step for step in block.steps if "input" not in step.tags)
    params = tuple((step.name, step.type) for step in inputs)
    return Block(params, steps, block.result, block.type), inputs


def line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def difference(block: Block, text: str, found: Any, wanted: Any) -> Difference | None:
    """The difference between the results of primax and jax."""
    if tree_of(found, px) != tree_of(wanted, jax):
        return Difference("tree", f"primax: {tree_of(found, px)}, jax: {tree_of(wanted, jax)}")
    found, wanted = px.tree.leaves(found), jax.tree.leaves(wanted)
    kinds = [
        (kind_of(x, px), kind_of(y, jax))
        for x, y in zip(found, wanted, strict=True)
        if not (isinstance(x, np.ndarray | np.generic) and is_literal(y) and (x.dtype, x.shape) == (y.dtype, y.shape))
        and not (type(x) in (bool, int, float, complex) and isinstance(y, type(x)))
        and not is_number_returned(x, y)
    ]
    if is_mapped_twice(text, kinds):
        return None
    differs = difference_of_types(block, text, [(x, y) for x, y in kinds if x != y])
    if differs and not has_types_of_compiled(block, found, [x for x, y in kinds if x != y]):
        return differs
    if DERIVATIVE.search(text) and BRANCH.search(text) and EXCHANGE.search(text):
        return None
    worst = apart(block, text, [plain(x, px) for x in found], [plain(x, jax) for x in wanted], jax)
    return worst and Difference("value", f"primax: {worst[0]}, jax: {worst[1]}")


def is_mapped_twice(text: str, kinds: list[tuple[Any, Any]]) -> bool:
    """Whether results of jax have one axis too many, as `CUSTOM_VMAP` says."""
    pairs = [(x, y) for x, y in kinds if x != y]
    longer = [len(x) == len(y) == 3 and x[0] == y[0] and len(y[1]) == len(x[1]) + 1 for x, y in pairs]
    return bool(pairs) and all(longer) and CUSTOM_VMAP in text and DERIVATIVE.search(text) is not None


def difference_of_types(block: Block, text: str, pairs: list[tuple[Any, Any]]) -> Difference | None:
    """The first difference in the kinds of results that is not allowed."""
    if not pairs:
        return None
    if all(x[:2] == y[:2] and x[-1] == "NumPy" and came_in(block, x) for x, y in pairs):
        return None  # an argument that was returned unchanged
    weak = all(x[:-1] == y[:-1] and len(x) == 3 for x, y in pairs)
    if weak and DERIVATIVE.search(text) and any(getattr(step.type, "weak", False) for step in block.steps):
        return None
    if weak and LOOP.search(text) and not any(x[-1] for x, _ in pairs):
        return None
    return Difference("weak type" if weak else "type", f"primax: {pairs[0][0]}, jax: {pairs[0][1]}")


def has_types_of_compiled(block: Block, found: list[Any], kinds: list[tuple[Any, ...]]) -> bool:
    """Whether NumPy computed the results whose types differ, and all have the types of jax's compiled program.

    A body that is called with NumPy arrays and numbers computes in NumPy. jax gives it numbers with a dtype, and the
    result may then have another dtype than the compiled program's.
    """
    if any(kind[-1] != "NumPy" for kind in kinds):
        return False
    compiled = run_compiled(*as_function(block), jax)
    if isinstance(compiled, Exception):
        return False
    leaves = jax.tree.leaves(compiled)
    return [kind_of(x, px)[:2] for x in found] == [kind_of(y, jax)[:2] for y in leaves]


def difference_of_jit(block: Block, text: str, eager: Any) -> Difference | None:
    """The difference between the program, compiled as a function of its arguments, and its eager results."""
    called, inputs = as_function(block)
    whole = run_compiled(called, inputs, px)
    if isinstance(whole, Exception):  # a bound or a predicate may have to be known; then jax raises an error, too
        if isinstance(run_compiled(called, inputs, jax), Exception):
            return None
        return Difference(f"jit raised {type(whole).__name__}", f"eager gives a result, jit raises {line(whole)}")
    found, wanted = ([plain(x, px) for x in px.tree.leaves(value)] for value in (whole, eager))
    worst = apart(block, text, found, wanted, px)
    return worst and Difference("jit value", f"under jit: {worst[0]}, eagerly: {worst[1]}")


def run_compiled(called: Block, inputs: list[Step], lib: Any) -> Any:
    """The result of a program, compiled as a function of its arguments, or the exception that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            arguments = [eval(step.text, {"px": lib, "pnp": lib.numpy, "np": np}) for step in inputs]
            compiled = lib.jit(function(called, lib))
            return compiled(*arguments) if lib is px else as_oracle(compiled, *arguments)
        except Exception as error:
            return error


def apart(
    block: Block, text: str, found: list[np.ndarray], wanted: list[np.ndarray], lib: Any
) -> tuple[str, str] | None:
    """The results that differ most, unless a small change of the arguments changes the wanted ones as much."""
    eps = precision(text)
    gaps = [gap(x, y) for x, y in zip(found, wanted, strict=True)]
    if max(gaps, default=0.0) <= min(2e-2, 300 * eps):
        return None
    for factor in (2 * eps, -3 * eps, 17 * eps):
        other = execute(compile(source(perturbed(block, factor)), "<program>", "exec"), lib)
        if not isinstance(other, Exception):
            change = [gap(plain(x, lib), y) for x, y in zip(lib.tree.leaves(other), wanted, strict=True)]
            if all(a <= 10 * b + 300 * eps for a, b in zip(gaps, change, strict=True)):
                return None
    worst = gaps.index(max(gaps))
    return short(found[worst]), short(wanted[worst])


def short(array: np.ndarray) -> str:
    return " ".join(np.array2string(array, precision=6, threshold=12).split())[:200]
