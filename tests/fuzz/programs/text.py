"""Programs as steps that print as Python source, which runs with primax and with jax."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import keyword
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

WIDTH = 108
"""Expressions longer than this get a name of their own."""


@dataclasses.dataclass(frozen=True)
class Array:
    """The type of an array, of a key (dtype `key`), or of a Python scalar (weak, and no dimensions)."""

    shape: tuple[int, ...]
    dtype: str
    weak: bool = False

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def floating(self) -> bool:
        return "float" in self.dtype

    @property
    def whole(self) -> bool:
        return "int" in self.dtype


@dataclasses.dataclass(frozen=True)
class Tuple:
    """The type of a tuple."""

    items: tuple[Type, ...]


@dataclasses.dataclass(frozen=True)
class Dict:
    """The type of a dict, whose keys are `a`, `b` and so on."""

    items: tuple[Type, ...]


Type = Array | Tuple | Dict


def leaves(type: Type) -> list[Array]:
    return [type] if isinstance(type, Array) else [leaf for item in type.items for leaf in leaves(item)]


def map_leaves(change: Any, type: Type) -> Any:
    """The type with each array type changed."""
    if isinstance(type, Array):
        return change(type)
    return dataclasses.replace(type, items=tuple(map_leaves(change, item) for item in type.items))


def container(type: Tuple | Dict, items: list[str]) -> str:
    """The source of a tuple or a dict of the sources of its items."""
    if isinstance(type, Tuple):
        return f"({', '.join(items)}{',' * (len(items) == 1)})"
    return "{" + ", ".join(f"'{key}': {item}" for key, item in zip("abcdefgh", items, strict=False)) + "}"


@dataclasses.dataclass(frozen=True)
class Step:
    """A value: an expression in which `$0` is an operand, `$f0` a function, and `$F0` the name of a function.

    `simpler` are shorter texts for a value of the same type. `tags` describe its elements.
    """

    name: str
    type: Type
    text: str
    operands: tuple[str, ...] = ()
    functions: tuple[Block, ...] = ()
    simpler: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Block:
    """A function: steps on its parameters and on values of enclosing functions, and its result."""

    params: tuple[tuple[str, Type], ...]
    steps: tuple[Step, ...]
    result: str
    type: Type

    def names(self) -> Iterator[tuple[str, Type]]:
        yield from self.params
        yield from ((step.name, step.type) for step in self.steps)

    def all_steps(self) -> Iterator[Step]:
        for step in self.steps:
            yield step
            for function in step.functions:
                yield from function.all_steps()


PLACE = re.compile(r"\$([fF]?)(\d+)")


def operand_uses(step: Step) -> Iterator[str]:
    """The operands of a step, repeated for each use in its text."""
    for function, index in PLACE.findall(step.text):
        if not function:
            yield step.operands[int(index)]


def free_names(block: Block) -> set[str]:
    """The names of outer values that a block uses."""
    used, own = {block.result}, {name for name, _ in block.names()}
    for step in block.steps:
        used.update(operand_uses(step))
        for function in step.functions:
            used.update(free_names(function))
    return used - own


def without_unused(block: Block) -> Block:
    """The same function without steps that its result does not need."""
    needed, kept = {block.result}, []
    for step in reversed(block.steps):
        if step.name in needed:
            functions = tuple(map(without_unused, step.functions))
            needed.update(operand_uses(step))
            for function in functions:
                needed |= free_names(function)
            kept.append(dataclasses.replace(step, functions=functions))
    return dataclasses.replace(block, steps=tuple(reversed(kept)))


class Printer:
    """Prints blocks: a value that is used once is printed at its use, other values get short names."""

    def __init__(self) -> None:
        letters = "abcdefghijklmnopqrstuvwxyz"
        pairs = (x + y for x, y in itertools.product(letters, letters))
        self.free = (name for name in itertools.chain(letters, pairs) if not keyword.iskeyword(name))

    def body(self, block: Block, names: dict[str, str]) -> tuple[list[str], str]:
        """Lines and the expression of the result; `names` are the sources of the values that it may use."""
        names = dict(names)
        inner = Counter(operand for step in block.steps for operand in operand_uses(step))
        inner[block.result] += 1
        for step in block.steps:
            for function in step.functions:
                inner.update(dict.fromkeys(free_names(function), 2))
        lines: list[str] = []
        for step in block.steps:
            text = self.step(step, names, lines)
            if inner[step.name] == 1 and (len(text) <= WIDTH or step.name == block.result):
                names[step.name] = text
            else:
                names[step.name] = next(self.free)
                lines.append(f"{names[step.name]} = {bare(text)}")
        return lines, names[block.result]

    def step(self, step: Step, names: dict[str, str], lines: list[str]) -> str:
        named: dict[str, str] = {}

        def place(match: re.Match[str]) -> str:
            kind, index = match.groups()
            if not kind:
                return names[step.operands[int(index)]]
            block = step.functions[int(index)]
            if kind == "f":
                return self.function(block, names, lines)
            if index not in named:
                source = self.function(block, names, lines)
                named[index] = source if source.isidentifier() else next(self.free)
                if not source.isidentifier():
                    lines.append(f"{named[index]} = {source}")
            return named[index]

        return PLACE.sub(place, step.text)

    def function(self, block: Block, names: dict[str, str], lines: list[str]) -> str:
        """The expression of a function; a definition precedes it if necessary."""
        params = {name: next(self.free) for name, _ in block.params}
        inner, result = self.body(block, names | params)
        if not inner:
            return f"lambda {', '.join(params.values())}: {bare(result)}".replace("lambda :", "lambda:")
        name = next(self.free)
        lines.append(f"def {name}({', '.join(params.values())}):")
        lines.extend("    " + line for line in [*inner, f"return {bare(result)}"])
        return name


def bare(text: str) -> str:
    """An expression without parentheses around the whole, unless it is a tuple."""
    if not text.startswith("(") or not text.endswith(")"):
        return text
    depth = 0
    for at, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if depth == 0 and at < len(text) - 1:
            return text
        if depth == 1 and char == ",":
            return text
    return text[1:-1]


def source(block: Block) -> str:
    """The source of a block without parameters; its last line binds `result`."""
    lines, result = Printer().body(block, {})
    return "\n".join([*lines, f"result = {bare(result)}"])


@functools.lru_cache(maxsize=256)
def definition(block: Block) -> Any:
    """The code of a block with parameters, as a function `main`."""
    printer = Printer()
    params = {name: next(printer.free) for name, _ in block.params}
    lines, result = printer.body(block, params)
    header = f"def main({', '.join(params.values())}):"
    return compile("\n".join([header, *("    " + line for line in [*lines, f"return {result}"])]), "<program>", "exec")


def function(block: Block, lib: Any) -> Any:
    """A block with parameters as a function, by the functions of a library: primax or jax."""
    scope = {"px": lib, "pnp": lib.numpy, "np": np}
    exec(definition(block), scope)
    return scope["main"]
