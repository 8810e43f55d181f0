"""What a function costs, by equation and by source line, counted by an interpreter that computes nothing.

python examples/cost_counter.py
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import NamedTuple

import numpy as np

import primax as px
import primax.numpy as pnp
from primax.extend.core import primitives
from primax.extend.interpreter import Interpreter
from primax.extend.source_info_util import summarize

MOVING = (
    "broadcast_in_dim concatenate convert_element_type copy iota pad reshape rev slice split squeeze transpose"
).split()
REDUCING = ("argmax argmin reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum cumsum cumprod").split()


class Cost(NamedTuple):
    """Floating-point operations, and bytes read and written if no two equations are fused."""

    flops: int = 0
    bytes: int = 0

    def __add__(self, other):
        return Cost(self.flops + other.flops, self.bytes + other.bytes)


class CostCounter(Interpreter):
    """Values are nothing at all: what an equation costs follows from the types of its variables.

    The program of a call is counted as often as it is called.
    """

    def __init__(self):
        self.by_primitive = defaultdict(Cost)
        self.by_line = defaultdict(Cost)

    @property
    def total(self):
        return sum(self.by_primitive.values(), Cost())

    def lift(self, constant):
        return None

    def default(self, eqn, *values):
        """One operation for each element of the results."""
        return self.count(eqn, sum(var.aval.size for var in eqn.outvars))

    def count(self, eqn, flops):
        """Enter an equation with its operations; returns the values of its results."""
        moved = sum(var.aval.size * var.aval.dtype.itemsize for var in (*eqn.invars, *eqn.outvars))
        for costs, key in ((self.by_primitive, eqn.primitive.name), (self.by_line, summarize(eqn.source_info))):
            costs[key] += Cost(flops, moved)
        return [None] * len(eqn.outvars) if eqn.primitive.multiple_results else None


@CostCounter.rule(primitives.dot_general_p)
def dot_general(self, eqn, x, y):
    """A multiplication and an addition for each element of the result and each contracted index."""
    (contracted, _), _ = eqn.params["dimension_numbers"]
    shape = eqn.invars[0].aval.shape
    return self.count(eqn, 2 * eqn.outvars[0].aval.size * math.prod(shape[axis] for axis in contracted))


@CostCounter.rule(*(primitives[name] for name in REDUCING))
def reduction(self, eqn, *values):
    return self.count(eqn, sum(var.aval.size for var in eqn.invars))


@CostCounter.rule(*(primitives[name] for name in MOVING))
def movement(self, eqn, *values):
    return self.count(eqn, 0)


def cost(fun, *args):
    """The costs of `fun` for arguments of these types."""
    counter = CostCounter()
    closed = px.make_jaxpr(fun)(*args)
    counter.interpret(closed, *[None] * len(closed.in_avals))
    return counter


def main():
    layer = px.jit(lambda x, w: pnp.tanh(x @ w))

    def network(x, w):
        return pnp.sum(layer(layer(x, w), w))

    x, w = np.ones((32, 64), np.float32), np.ones((64, 64), np.float32)
    for name, fun in {"value": network, "gradient": px.grad(network, argnums=1)}.items():
        counter = cost(fun, x, w)
        print(f"{name}: {counter.total.flops} flops, {counter.total.bytes} bytes")
        for key, found in sorted(counter.by_primitive.items(), key=lambda item: -item[1].flops):
            print(f"  {found.flops:8} {found.bytes:8}  {key}")
        print("by line:")
        for key, found in counter.by_line.items():
            print(f"  {found.flops:8} {found.bytes:8}  {key}")
    counted = cost(pnp.matmul, x, w).total.flops
    print(f"x @ w: {counted} flops; XLA says {px.jit(pnp.matmul).lower(x, w).cost_analysis()['flops']:.0f}")


if __name__ == "__main__":
    main()
