"""Random programs, which run with primax and with jax."""

from __future__ import annotations

import dataclasses
import random

from fuzz.programs.control_flow import FLOW, SOLVES
from fuzz.programs.maker import Body, Context, Maker, constant
from fuzz.programs.operations import MIXED, SIMPLE
from fuzz.programs.text import Array, Block, Type, container, without_unused
from fuzz.programs.transformations import apply, call, random_type, transformed

EVERYTHING = [(kind, weight, False) for kind, weight in (*SIMPLE, *MIXED)]
EVERYTHING += [(kind, weight, True) for kind, weight in (*FLOW, (apply, 3.5), *SOLVES)]


@dataclasses.dataclass(frozen=True)
class Program:
    """A block without parameters, whose steps bind arguments and call a transformed function, and the block's name."""

    name: str
    block: Block


def arguments(body: Body, type: Type) -> str:
    """A constant of some type."""
    if isinstance(type, Array):
        return body.add(constant(type, body.random.randrange(9)), type, tags=("input",))
    names = [arguments(body, item) for item in type.items]
    return body.add(container(type, [f"${k}" for k in range(len(names))]), type, *names)


def argument_type(body: Body, type: Type) -> Type:
    """The type of an argument for a parameter; sometimes a Python scalar."""
    if isinstance(type, Array) and type.shape == () and body.random.random() < 0.25:
        defaults = {"float32", "int32", "bool"} if not body.context.x64 else {"float64", "int64", "bool"}
        if type.dtype in defaults:
            return Array((), type.dtype, type.dtype != "bool")
    return type


def random_program(seed: int, x64: bool = False) -> Program:
    """A function of arrays, keys and trees of them, transformed up to four times and called."""
    choose = random.Random(seed)
    context = Context(
        "float64" if x64 and choose.random() < 0.6 else "float32",
        x64,
        choose.random() < 0.75,
        closing=choose.random() < 0.3,
    )
    body = Body(Maker(choose.random(), context, EVERYTHING), context, 2, [], [])
    for _ in range(choose.choice([1, 1, 2])):
        arguments(body, random_type(body, deep=False))
    fun, names = transformed(body, choose.choice([1, 2, 2, 3, 3, 4]))
    given = [arguments(body, argument_type(body, param)) for param in fun.params]
    places = ", ".join(f"${len(fun.operands) + k}" for k in range(len(given)))
    result = body.add(call(fun.text, places), fun.out, *fun.operands, *given, functions=fun.functions)
    block = without_unused(Block((), tuple(body.steps), result, fun.out))
    return Program(".".join([*(["closing"] if context.closing else []), *names]) or "call", block)
