"""The kind of fuzzing that compares programs, compiled as a whole, with NumPy: XLA fuses and folds their operations."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

import primax as px
from fuzz.frame import Case, Finding, Kind
from primax import numpy as pnp
from primax.core._jaxlib import known_options

HEADER = "import ml_dtypes, numpy as np, primax as px; from primax import numpy as pnp"
# As users compile, whatever the flags of the process are.
USUAL = known_options(
    {
        "xla_backend_optimization_level": 3,
        "xla_cpu_use_fusion_emitters": True,
        "xla_llvm_disable_expensive_passes": False,
    }
)
SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 65, 127, 129, 255, 257, 1000, 1025]
LONG = [4097, 16_385, 32_769, 40_000, 43_690, 65_537, 131_073]
LARGEST = 3_000_000
FLOATS = ["float32", "float32", "float32", "float16", "bfloat16", "float64"]
WHOLE = ["int32", "int8", "uint8", "uint32", "int64", "int16"]
UNARY = [
    "(-$)",
    "pnp.abs($)",
    "pnp.sqrt(pnp.abs($))",
    "pnp.exp(-pnp.abs($))",
    "pnp.log1p(pnp.abs($))",
    "pnp.tanh($)",
    "pnp.sin($)",
    "pnp.floor($)",
    "pnp.sign($)",
    "($ * $)",
    "(1 / (1 + $ * $))",
    "pnp.where($ > 0, $, pnp.nan).astype($.dtype)",
    "pnp.where($ > 0, 1, -pnp.inf).astype($.dtype)",
    "pnp.maximum($, 0)",
    "pnp.minimum($, pnp.asarray(pnp.nan, $.dtype))",
    "pnp.cbrt($)",
    "pnp.rint($)",
    "pnp.arctan($)",
    "pnp.expm1(-pnp.abs($))",
    "pnp.nan_to_num($)",
]
WHOLE_UNARY = ["(-$)", "(~$)", "($ * $)", "pnp.abs($)", "($ // 3)", "($ % 5)", "($ & 7)", "($ << 1)", "($ >> 2)"]
BINARY = [
    "($ + $)",
    "($ - $)",
    "($ * $)",
    "pnp.maximum($, $)",
    "pnp.minimum($, $)",
    "pnp.where($ > $, $, $)",
    "pnp.arctan2($, $)",
    "pnp.hypot($, $)",
    "pnp.copysign($, $)",
    "($ / (pnp.abs($) + 1))",
]
WHOLE_BINARY = [*BINARY[:6], "($ & $)", "($ ^ $)", "($ | $)"]
ALONG = [
    "pnp.sum($, axis=AXIS, dtype=$.dtype)",
    "pnp.sum($, axis=AXIS, dtype=$.dtype)",
    "pnp.max($, axis=AXIS)",
    "pnp.min($, axis=AXIS)",
    "pnp.argmax($, axis=AXIS).astype('int32')",
    "pnp.argmin($, axis=AXIS).astype('int32')",
    "pnp.cumsum($, axis=AXIS, dtype=$.dtype)",
    "pnp.sort($, axis=AXIS)",
    "pnp.flip($, axis=AXIS)",
    "pnp.roll($, 3, axis=AXIS)",
    "pnp.diff($, axis=AXIS)",
    "pnp.any($ > 1, axis=AXIS).astype('int32')",
    "pnp.sum($ * $, axis=AXIS, dtype=$.dtype)",
    "pnp.mean($, axis=AXIS)",
]
SHAPES = ["$.T", "$[::-1]", "$[1:]", "$[..., ::2]", "$.reshape(-1)", "$[None]", "$[..., None]", "$[..., :1]"]
JOINS = ["pnp.concatenate([$, $], axis=AXIS)", "pnp.stack([$, $], axis=AXIS)", "pnp.pad($[:5], 2)"]


def is_float(x: Any) -> bool:
    return x.dtype.kind in "fV"


@dataclass(frozen=True)
class CompiledCase(Case):
    """A program: the lines that make its arguments, its steps, and the names of its results."""

    arguments: tuple[str, ...]
    steps: tuple[str, ...]
    outs: tuple[str, ...]


def text_of(arguments: tuple[str, ...], steps: tuple[str, ...], outs: tuple[str, ...]) -> str:
    names = ", ".join(line.split(" = ")[0] for line in arguments)
    body = "; ".join([*steps, f"return {', '.join(outs)},"])
    return "\n".join(
        [
            HEADER,
            "; ".join(["r = np.random.default_rng(0)", *arguments]),
            f"def f(pnp, {names}): {body}",
            f"print(px.jit(lambda *xs: f(pnp, *xs))({names}), f(np, {names}))",
        ]
    )


class Maker:
    """Makes a program; each step is tried with NumPy, which tells the shape and dtype of its result."""

    def __init__(self, rng: random.Random, x64: bool) -> None:
        self.rng, self.x64 = rng, x64
        self.values: dict[str, Any] = {}
        self.arguments: list[str] = []
        self.steps: list[str] = []
        self.sizes = [rng.choice(SIZES) for _ in range(3)]
        if rng.random() < 0.3:
            self.sizes = [rng.choice([2, 3, 4]), rng.choice([1, 2, 3, 5]), rng.choice(LONG)]
        self.generator = np.random.default_rng(0)

    def dtype(self) -> str:
        name = self.rng.choice(FLOATS if self.rng.random() < 0.75 else WHOLE)
        return name if self.x64 else {"float64": "float32", "int64": "int32"}.get(name, name)

    def argument(self) -> None:
        shape = tuple(self.rng.sample(self.sizes, self.rng.choice([1, 2, 2, 2, 3])))
        if np.prod(shape) > LARGEST:
            shape = shape[:1]
        dtype = self.dtype()
        number = self.rng.choice(["2", "9", "0.1", "100"]) if "int" not in dtype else "30"
        kind = f"'{dtype}'" if dtype != "bfloat16" else "ml_dtypes.bfloat16"
        name = f"v{len(self.values)}"
        line = f"{name} = (r.standard_normal({shape}) * {number}).astype('int32').astype({kind})"
        if "float" in dtype:
            line = line.replace(".astype('int32')", "")
        self.arguments.append(line)
        space = {"r": self.generator, "ml_dtypes": ml_dtypes}
        exec(line, space)
        self.values[name] = space[name]

    def picked(self, fits: Callable[[Any], bool] = lambda x: True) -> str:
        names = [name for name, x in self.values.items() if fits(x)]
        if not names:
            raise LookupError
        return self.rng.choice(names[-4:] if self.rng.random() < 0.8 else names)

    def filled(self, text: str, *names: str) -> str:
        parts = text.split("$")
        chosen = [names[i % len(names)] for i in range(len(parts) - 1)]
        out = parts[0] + "".join(name + part for name, part in zip(chosen, parts[1:], strict=True))
        rank = self.values[names[0]].ndim
        return out.replace("AXIS", str(self.rng.randrange(max(1, rank))))

    def expression(self) -> str:
        rng = self.rng
        sort = rng.choice(
            ["unary"] * 4 + ["binary"] * 4 + ["along"] * 4 + ["shape"] * 3 + ["product"] * 3 + ["other"] * 3
        )
        a = self.picked(lambda x: x.dtype.kind != "b")
        x = self.values[a]
        if sort == "unary":
            return self.filled(rng.choice(UNARY if is_float(x) else WHOLE_UNARY), a)
        if sort == "along" and x.ndim == 0:
            raise LookupError
        if sort == "along":
            return self.filled(rng.choice(ALONG if is_float(x) else ALONG[:-1]), a)
        if sort == "shape":
            return self.filled(rng.choice(SHAPES), a)
        # Products and broadcasts of two large arrays take too much memory.
        b = self.picked(lambda y: y.dtype == x.dtype and (y.shape == x.shape or y.size * x.size < 4e6))
        if sort == "product" and x.size * self.values[b].size > 4e6:
            sort = "binary"
        if sort == "binary":
            return self.filled(rng.choice(BINARY if is_float(x) else WHOLE_BINARY), a, b)
        if sort == "product" and x.dtype != ml_dtypes.bfloat16:
            return self.filled(
                rng.choice(["($ @ $)", "($ @ $.T)", "($.T @ $)", "pnp.einsum('...i,...i->...', $, $)"]), a, b
            )
        if sort == "other" and is_float(x) and rng.random() < 0.6:
            if rng.random() < 0.5 and "float32" in (x.dtype.name,):
                return self.filled("pnp.abs(pnp.fft.fft($, axis=AXIS)).astype('float32')", a)
            to = rng.choice(["'float32'", "'float16'", "ml_dtypes.bfloat16"])
            return self.filled(f"$.astype({to})" if rng.random() < 0.7 else "pnp.clip($, -99, 99).astype('int8')", a)
        if sort == "other" and not is_float(x):
            return self.filled(f"$.astype('{rng.choice(['float32', 'int32', 'int8', 'uint8', 'int16'])}')", a)
        return self.filled(rng.choice(JOINS), a, b)

    def step(self) -> None:
        text = self.expression()
        name = f"v{len(self.values)}"
        try:
            with np.errstate(all="ignore"):
                value = eval(text, {**self.values, "pnp": np, "ml_dtypes": ml_dtypes})
        except (ValueError, TypeError, IndexError):
            return
        dtypes = {"float64", "int64", "uint64"} if not self.x64 else set()
        if (
            getattr(value, "size", 0) == 0
            or value.size > LARGEST
            or value.dtype.name in dtypes
            or value.dtype.kind == "c"
        ):
            return
        self.values[name] = np.asarray(value)
        self.steps.append(f"{name} = {text}")

    def case(self) -> CompiledCase:
        for _ in range(self.rng.randint(1, 3)):
            self.argument()
        count = self.rng.randint(2, 7)
        for _ in range(40):
            if len(self.steps) < count:
                try:
                    self.step()
                except LookupError:
                    continue
        made = [line.split(" = ")[0] for line in self.steps]
        outs = tuple(made[-1 if self.rng.random() < 0.6 else -2 :])
        steps = tuple(needed(self.steps, outs))
        last = re.findall(r"pnp\.(\w+)|( @ )", steps[-1]) if steps else []
        name = f"compiled.{(last[-1][0] or 'matmul') if last else 'arithmetic'}"
        arguments = tuple(self.arguments)
        return CompiledCase(name, text_of(arguments, steps, outs), arguments, steps, outs)


def needed(steps: list[str], outs: tuple[str, ...]) -> list[str]:
    """The steps that results depend on."""
    wanted, kept = set(outs), []
    for step in reversed(steps):
        name, text = step.split(" = ", 1)
        if name in wanted:
            kept.append(step)
            wanted.update(word for word in text.replace("(", " ").replace(".", " ").replace("[", " ").split() if word)
            wanted.update(f"v{i}" for i in range(20) if f"v{i}" in text)
    return kept[::-1]


def run_with(
    module: Any, case: CompiledCase, values: list[Any], after: Callable[[Any], Any] = lambda x: x
) -> list[Any]:
    """The results of a program; what each step has made passes through `after`."""
    names = [line.split(" = ")[0] for line in case.arguments]
    space = {"pnp": module, "ml_dtypes": ml_dtypes, **dict(zip(names, values, strict=True))}
    for step in case.steps:
        exec(step, space)
        name = step.split(" = ")[0]
        space[name] = after(space[name])
    return [space[name] for name in case.outs]


def wide(x: Any) -> np.ndarray[Any, Any]:
    return np.asarray(x).astype(np.float64)


class Compiled(Kind):
    """Random programs of array operations, compiled as users do, with the values of NumPy.

    A value may be as far from NumPy's as NumPy's changes if the arguments and the results of all steps change in their
    last digits.
    """

    name = "compiled"
    lifetime = 300

    def cases(self, rng: random.Random, only: str) -> Iterator[CompiledCase]:
        while True:
            case = Maker(rng, px.config.enable_x64).case()
            if case.steps and only in case.name:
                yield case

    def run(self, case: CompiledCase) -> Finding | None:
        space = {"r": np.random.default_rng(0), "ml_dtypes": ml_dtypes}
        for line in case.arguments:
            exec(line, space)
        values = [space[line.split(" = ")[0]] for line in case.arguments]
        compiled = px.jit(lambda *xs: run_with(pnp, case, list(xs))).lower(*values).compile(USUAL)
        outs = compiled(*values)
        self.reached["compared"] += 1
        with np.errstate(all="ignore"):
            # Few moves miss some of the numbers that a rounding takes to another whole one.
            message = compared(case, values, outs, 4) and compared(case, values, outs, 48)
        return message and Finding(case.name, message, case.program, "value")

    @classmethod
    def report(cls, reached: Counter[str]) -> list[str]:
        return [f"compiled: {reached['compared']} programs compared with NumPy"]


def epsilon(case: CompiledCase, values: list[Any]) -> tuple[float, float]:
    """The largest distance of neighbours near 1, and the smallest normal number, of the dtypes of a program."""
    dtypes = {x.dtype.name for x in values} | {"float32"}
    dtypes |= {name for name in ("float16", "bfloat16", "float32") for step in case.steps if name in step}
    infos = [ml_dtypes.finfo(name) for name in dtypes if "float" in name]
    return max(float(info.eps) for info in infos), max(float(info.tiny) for info in infos)


def moved_by(size: float, rng: np.random.Generator, x: Any) -> Any:
    """Floating-point numbers, each changed by a part of itself in one direction or the other."""
    return (x * (1 + size * rng.choice([-1, 1], x.shape))).astype(x.dtype) if is_float(x) else x


def unless_whole(size: float, rng: np.random.Generator, x: Any) -> Any:
    """What a step has made, changed so; whole numbers are exact, as those of rounding."""
    return np.where(x == np.rint(x), x, moved_by(size, rng, x)) if is_float(x) else x


def compared(case: CompiledCase, values: list[Any], outs: list[Any], moves: int) -> str | None:
    """How the results differ from those of NumPy, given how these change in a number of moves."""
    right = [wide(x) for x in run_with(np, case, values)]
    eps, tiny = epsilon(case, values)
    rng = np.random.default_rng(1)
    nearby = []
    for i in range(moves):
        size = eps * 2.0 ** (i % 2)
        moved = [moved_by(size, rng, x) for x in values]
        nearby.append([wide(x) for x in run_with(np, case, moved, partial(unless_whole, size, rng))])
    for k, (out, exact) in enumerate(zip(outs, right, strict=True)):
        found = wide(out)
        if found.shape != exact.shape:
            return f"{case.outs[k]} has shape {found.shape}, NumPy's {exact.shape}"
        others = [near[k] for near in nearby]
        known = np.ones(exact.shape, bool)
        spread = np.zeros(exact.shape)
        for other in others:
            known &= np.isfinite(other) == np.isfinite(exact)
            change = np.abs(other - exact)
            spread = np.maximum(spread, np.where(np.isfinite(change), change, 0))
        count = max(x.size for x in values) ** 0.5
        scale = np.max(np.abs(exact), initial=0, where=np.isfinite(exact))
        allowed = 30 * spread + 40 * eps * np.abs(exact) + (count * eps * scale if spread.any() else 0) + 8 * tiny
        same = (found == exact) | (np.isnan(found) & np.isnan(exact)) | (np.abs(found - exact) <= allowed)
        wrong = np.argwhere(known & ~same)
        if len(wrong):
            at = tuple(int(i) for i in wrong[0])
            return (
                f"{len(wrong)} of {exact.size} elements of {case.outs[k]} differ, the first at {at}: "
                f"primax {found[at]!r}, NumPy {exact[at]!r}, allowed {allowed[at]:.3g}"
            )
    return None
