"""The environment in which random programs grow: a function with the values that it can use."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import primax as px
from fuzz.programs.text import Array, Block, Step, Tuple, Type, container, leaves, without_unused

FLOATS = ["float16", "bfloat16", "float32", "float64"]
ORDER = ["bool", "uint8", "int8", "int32", "int64", *FLOATS, "complex64", "complex128"]


@dataclasses.dataclass(frozen=True)
class Context:
    """The surroundings of a function.

    `float` is its usual dtype; `mixed` is whether there are others. `reverse` and `forward` are whether it is
    differentiated
    in these modes; `axes` are the names and sizes of mapped axes. `closing` is whether custom rules may use values of
    enclosing functions, `deep` the nesting of functions, and `transformations` the allowed ones (all if empty).
    """

    float: str = "float32"
    x64: bool = False
    mixed: bool = True
    reverse: bool = False
    forward: bool = False
    axes: tuple[tuple[str, int], ...] = ()
    closing: bool = True
    deep: float = 0.75
    transformations: tuple[str, ...] = ()


def result_type(*types: Array) -> tuple[str, bool]:
    """The dtype of the sum of arrays of several types, and whether it is weak."""
    structs = [px.ShapeDtypeStruct(t.shape, t.dtype, weak_type=t.weak) for t in types]
    dtype, weak = px.dtypes.result_type(*structs, return_weak_type=True)
    return str(np.dtype(dtype)), bool(weak)


def is_float(type: Type) -> bool:
    return isinstance(type, Array) and type.floating


def is_number(type: Type) -> bool:
    return isinstance(type, Array) and type.dtype != "key"


def is_key(type: Type) -> bool:
    return isinstance(type, Array) and type.dtype == "key"


def differentiable(type: Type) -> bool:
    return all(leaf.floating for leaf in leaves(type))


class Body:
    """A growing function: the values of enclosing functions, its parameters, and its steps."""

    def __init__(
        self, maker: Maker, context: Context, depth: int, outer: Sequence[tuple[str, Type]], params: Sequence[Type]
    ) -> None:
        self.maker, self.random, self.context, self.depth = maker, maker.random, context, depth
        self.steps: list[Step] = []
        self.params = tuple((maker.name(), param) for param in params)
        self.types: dict[str, Type] = dict(outer)
        self.own: list[str] = []
        for name, type in self.params:
            self.types[name] = type
            self.own.append(name)
            self.spread(name)
        self.given = frozenset(self.own)
        self.focus: list[str] = []

    def add(
        self,
        text: str,
        type: Type,
        *operands: str,
        functions: Sequence[Block] = (),
        simpler: Sequence[str] = (),
        tags: Sequence[str] = (),
    ) -> str:
        """Add a step, and steps that split its result."""
        name = self.maker.name()
        self.steps.append(Step(name, type, text, operands, tuple(functions), tuple(simpler), tuple(tags)))
        self.types[name] = type
        self.own.append(name)
        self.spread(name)
        return name

    def spread(self, name: str) -> None:
        type = self.types[name]
        if not isinstance(type, Array):
            for k, item in enumerate(type.items):
                self.add(f"$0[{k}]" if isinstance(type, Tuple) else f"$0['{'abcdefgh'[k]}']", item, name)

    def pick(self, fits: Callable[[Type], bool] = is_float, computed: bool = False) -> str | None:
        """A value, usually one of the last ones; if `computed`, one that was computed here, if there is any."""
        own = [name for name in self.own if fits(self.types[name])]
        if computed:
            own = [name for name in own if name not in self.given][-3:] or own
        outer = [name for name in self.types if name not in self.own and fits(self.types[name])]
        if outer and (not own or self.random.random() < (0.1 if computed else 0.25)):
            return self.random.choice(outer[-6:])
        if not own:
            return None
        return self.random.choice(own[-4:] if self.random.random() < 0.7 else own)

    def picked(self, fits: Callable[[Type], bool] = is_float) -> tuple[str, Any]:
        """A value and its type; raises `LookupError` if there is none."""
        name = self.pick(fits)
        if name is None:
            raise LookupError
        return name, self.types[name]

    def fit(self, type: Type) -> str:
        """A value of exactly this type, made from existing values."""
        if not isinstance(type, Array):
            names = [self.fit(item) for item in type.items]
            return self.add(container(type, [f"${k}" for k in range(len(names))]), type, *names)
        focus = [name for name in self.focus if self.types[name] == type]
        same = self.random.choice(focus) if focus else self.pick(lambda other: other == type, True)
        focus = focus or [name for name in self.focus if is_number(self.types[name]) and self.types[name].size]
        if same is not None and self.random.random() < (0.2 if focus and same not in focus else 0.7):
            return same
        if type.dtype == "key":
            return self.fit_key(type)
        if focus and self.random.random() < 0.9:
            return self.convert(self.reshape(self.random.choice(focus), type.shape), type)
        source = self.pick(lambda t: is_number(t) and t.dtype == type.dtype and not t.weak, True)
        if source is None or self.random.random() < 0.4:
            source = self.pick(is_float, True) or source
        if source is None:
            return self.add(constant(type, self.random.randrange(9)), strong(type))
        return self.convert(self.reshape(source, type.shape), type)

    def fit_key(self, type: Array) -> str:
        key, count = self.pick(is_key), self.pick(lambda t: is_number(t) and t.shape == () and t.whole)
        if key is None or self.types[key].shape != ():
            seed = "$0" if count is not None else "7"
            key = self.add(f"px.random.key({seed})", Array((), "key"), *filter(None, [count]))
        if type.shape == ():
            return self.add("px.random.fold_in($0, 3)", type, key)
        return self.add(f"px.random.split($0, {type.shape})", type, key)

    def reshape(self, name: str, shape: tuple[int, ...]) -> str:
        """A value of this shape and the same dtype, computed from another."""
        x = self.types[name]
        assert isinstance(x, Array)
        if x.shape == shape:
            return name
        if np.prod(shape) == x.size and self.random.random() < 0.7:
            return self.add(f"pnp.reshape($0, {shape})", strong(x, shape), name)
        if len(shape) >= len(x.shape) and all(n in (1, m) for n, m in zip(x.shape[::-1], shape[::-1], strict=False)):
            spread = self.add(f"pnp.broadcast_to($0, {shape})", strong(x, shape), name)
        elif x.size == 0 and shape == ():
            return self.add("pnp.sum($0, dtype=$0.dtype)" if not x.floating else "pnp.sum($0)", strong(x, ()), name)
        else:
            total = "pnp.sum($0)" if x.floating or "complex" in x.dtype else "pnp.max($0)" if x.size else "pnp.any($0)"
            if x.size == 0 and not x.floating:
                return self.add(constant(Array(shape, x.dtype), 1), strong(x, shape))
            name = self.add(total, strong(x, ()), name)
            if shape == ():
                return name
            spread = self.add(f"pnp.broadcast_to($0, {shape})", strong(x, shape), name)
        if x.floating and np.prod(shape) and self.random.random() < 0.6:
            ramp = f"np.arange({np.prod(shape)})" + (f".reshape{shape}" if len(shape) > 1 else "")
            return self.add(f"pnp.sin($0 + {ramp}).astype('{x.dtype}')", strong(x, shape), spread)
        return spread

    def convert(self, name: str, type: Array) -> str:
        """A value of the dtype of a type, from one of the same shape."""
        x = self.types[name]
        assert isinstance(x, Array)
        if x == type or (x.dtype == type.dtype and self.random.random() < 0.5):
            return name
        if type.dtype == "bool":
            return self.add("($0 > 0.0617)" if x.dtype != "bool" else "~$0", type, name)
        if type.whole:
            text = f"pnp.floor(3 * pnp.sin(7 * $0)).astype('{type.dtype}')"
        elif "complex" in type.dtype:
            text = f"($0 * (0.5 + 1j)).astype('{type.dtype}')"
        elif "complex" in x.dtype:
            text = f"pnp.real($0).astype('{type.dtype}')"
        else:
            text = f"pnp.asarray($0, '{type.dtype}')" if x.weak else f"$0.astype('{type.dtype}')"
        return self.add(text, strong(type), name)

    def block(
        self,
        params: Sequence[Type],
        wanted: Type | None,
        *,
        size: int = 2,
        context: Context | None = None,
        closed: bool = True,
        depth: int | None = None,
        bounded: bool = False,
    ) -> Block:
        """A function of parameters of some types, which may use the values of this one.

        Args:
          params: the types of its parameters.
          wanted: the type of its result; None for any.
          size: the least number of random steps.
          closed: whether it uses the values of this function.
          bounded: whether float results stay small in repeated applications.
        """
        outer = list(self.types.items()) if closed else []
        depth = self.depth - 1 if depth is None else depth
        body = Body(self.maker, context or self.context, depth, outer, params)
        body.grow(size + self.random.randrange(2))
        if wanted is None:
            result = body.pick(is_number, True) or body.fit(Array((), body.context.float))
        else:
            result = body.bounded(wanted) if bounded else body.fit(wanted)
        return without_unused(Block(body.params, tuple(body.steps), result, body.types[result]))

    def bounded(self, type: Type) -> str:
        """A value of this type whose floats are at most 1."""
        if not isinstance(type, Array):
            names = [self.bounded(item) for item in type.items]
            return self.add(container(type, [f"${k}" for k in range(len(names))]), type, *names)
        name = self.fit(type)
        if type.floating:
            return self.add("pnp.tanh($0)", type, name)
        return name

    def grow(self, count: int) -> None:
        """Add about so many random steps, the last of which often contains functions."""
        deep = self.depth > 0 and self.random.random() < self.context.deep
        for k in range(count + deep):
            kind = self.maker.kind(self, deep and k == count)
            before = len(self.steps)
            try:
                kind(self)
            except LookupError:
                continue
            new = self.steps[before:]
            at = next((before + i for i, step in enumerate(new) if step.functions or step.tags), None)
            if at is not None:
                self.focus = [step.name for step in self.steps[at:] if isinstance(step.type, Array)]


def strong(type: Array, shape: tuple[int, ...] | None = None) -> Array:
    return Array(type.shape if shape is None else shape, type.dtype)


def constant(type: Array, seed: int) -> str:
    """The source of an array of a type with different elements."""
    shape, dtype, size = type.shape, type.dtype, type.size
    if dtype == "key":
        return f"px.random.key({seed})" if shape == () else f"px.random.split(px.random.key({seed}), {shape})"
    if type.weak:
        return {"bool": "True", "int32": f"{seed - 2}", "int64": f"{seed - 2}"}.get(dtype, f"{seed / 4 - 1.1:.2f}")
    if shape == ():
        if dtype == "bool":
            return f"np.bool_({seed % 2 == 0})"
        if "complex" in dtype:
            return f"np.{dtype}({seed / 4 - 1.1:.2f} + {seed / 5:.1f}j)"
        number = f"{seed % 5}" if "int" in dtype else f"{seed / 4 - 1.1:.2f}"
        return f"{'pnp' if dtype == 'bfloat16' else 'np'}.{dtype}({number})"
    ramp = f"np.arange({size}).reshape{shape}" if len(shape) != 1 else f"np.arange({size})"
    if dtype == "bool":
        return f"({ramp} % {seed % 2 + 2} == 0)"
    if "int" in dtype:
        return f"({ramp} * 7 % 5 - {0 if dtype == 'uint8' else seed % 3}).astype('{dtype}')"
    wave = f"np.cos({ramp} + {seed})" if "complex" not in dtype else f"np.exp(1j * ({ramp} + {seed}))"
    return f"pnp.array({wave}, '{dtype}')" if dtype == "bfloat16" or seed % 2 else f"{wave}.astype('{dtype}')"


class Maker:
    """Makes programs.

    Args:
      seed: the seed.
      context: the surroundings of their functions.
      kinds: functions that add a step to a body, with their frequencies, and whether the steps contain functions.
    """

    def __init__(
        self, seed: int, context: Context, kinds: Sequence[tuple[Callable[[Body], None], float, bool]]
    ) -> None:
        self.random = random.Random(seed)
        self.context = context
        self.kinds = kinds
        self.names = 0

    def name(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def kind(self, body: Body, holds: bool) -> Callable[[Body], None]:
        """A function that adds the next step to a body; the step contains functions if `holds`."""
        choices = [entry for entry in self.kinds if entry[2] == holds] or self.kinds
        return self.random.choices(choices, [weight for _, weight, _ in choices])[0][0]
