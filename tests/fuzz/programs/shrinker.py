"""Shrinks a program as long as it still shows the same fault."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable, Iterator

from fuzz.programs.maker import constant
from fuzz.programs.text import Array, Block, Step, Tuple, Type, container, leaves, without_unused

WRAPPERS = re.compile(r"px\.(jit|checkpoint|vmap)\(|\(lambda \*X: |pnp\.(sin|tanh|asarray)\(")
OPTIONS = re.compile(
    r", (prevent_cse=False|policy=[\w.]+|reverse=True|unroll=\w+|batch_size=2|symbolic_zeros=True|axis_name='\w')"
)


def full(type: Type) -> str:
    """The source of a constant of some type."""
    if isinstance(type, Array):
        return constant(type, 3)
    return container(type, [full(item) for item in type.items])


def closing(text: str, start: int) -> int:
    """The position at which the parenthesis before `start` closes."""
    depth = 1
    for at in range(start, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return at
    return len(text)


def first_argument(text: str) -> str:
    """The first of some arguments; the parameters of a lambda do not count."""
    depth, names = 0, text.startswith("lambda")
    for at, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char == ":" and depth == 0:
            names = False
        elif char == "," and depth == 0 and not names:
            return text[:at]
    return text


def shorter_texts(step: Step) -> Iterator[str]:
    """Shorter sources that may have the same type."""
    yield from step.simpler
    for match in OPTIONS.finditer(step.text):
        yield step.text[: match.start()] + step.text[match.end() :]
    for match in WRAPPERS.finditer(step.text):
        end = closing(step.text, match.end())
        inner = first_argument(step.text[match.end() : end])
        if match.group(1):
            inner = f"({inner})" if inner.startswith("lambda") else inner
            yield (step.text[: match.start()] + inner + step.text[end + 1 :]).replace("$f0(", "$F0(")
        elif match.group(2):
            yield step.text[: match.start()] + inner + step.text[end + 1 :]


def smaller_steps(step: Step, scope: dict[str, Type], top: bool) -> Iterator[Step]:
    """Simpler steps of the same type, the simplest first."""
    plain = full(step.type)
    if "input" not in step.tags and step.text != plain:
        yield dataclasses.replace(
            step, text=plain, operands=(), functions=(), simpler=(), tags=("input",) if top else ()
        )
        same = [name for name, type in scope.items() if type == step.type and name != step.name]
        for name in same[-3:]:
            if step.text != "$0":
                yield dataclasses.replace(step, text="$0", operands=(name,), functions=(), simpler=())
    for text in shorter_texts(step):
        yield dataclasses.replace(step, text=text, simpler=())
    for k, function in enumerate(step.functions):
        for small in smaller_blocks(function, scope):
            yield dataclasses.replace(step, functions=(*step.functions[:k], small, *step.functions[k + 1 :]))


def smaller_blocks(block: Block, outer: dict[str, Type]) -> Iterator[Block]:
    """The block with one step simpler, the last steps first."""
    scope = outer | dict(block.params)
    scopes = []
    for step in block.steps:
        scopes.append(dict(scope))
        scope[step.name] = step.type
    for k in reversed(range(len(block.steps))):
        for step in smaller_steps(block.steps[k], scopes[k], not outer):
            yield dataclasses.replace(block, steps=(*block.steps[:k], step, *block.steps[k + 1 :]))


def parts(block: Block) -> Iterator[Block]:
    """The block with only a part of its result."""
    if isinstance(block.type, Array):
        return
    for k, item in enumerate(block.type.items):
        place = f"$0[{k}]" if isinstance(block.type, Tuple) else f"$0['{'abcdefgh'[k]}']"
        step = Step(f"{block.result}_{k}", item, place, (block.result,))
        yield dataclasses.replace(block, steps=(*block.steps, step), result=step.name, type=item)


def shrink(block: Block, holds: Callable[[Block], bool], seconds: float = 25.0) -> Block:
    """The smallest program, found within a time, that still satisfies a condition."""
    end = time.monotonic() + seconds
    again = True
    while again and time.monotonic() < end:
        again = False
        for small in (*parts(block), *smaller_blocks(block, {})):
            candidate = without_unused(small)
            if time.monotonic() > end:
                break
            if weight(candidate) < weight(block) and holds(candidate):
                block, again = candidate, True
                break
    return block


def weight(block: Block) -> int:
    """A measure of the size of a program."""
    return sum(6 + len(step.text) for step in block.all_steps()) + len(leaves(block.type))
