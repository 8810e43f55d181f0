"""The cost of a function by equation and by source line, from an interpreter that computes no values.

Run it by `python examples/cost_counter.py`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import NamedTuple

import numpy as np

import primax as px
import primax.numpy as pnp
from primax.extend import Interpreter
from primax.extend.core.primitives import dot_general_p
from primax.extend.source_info_util import summarize

MOVING = "broadcast_in_dim concatenate convert_element_type copy iota reshape rev slice split squeeze transpose".split()
REDUCING = "argmax argmin reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum cumsum cumprod".split()


class Cost(NamedTuple):
    """Floating-point operations, and bytes read and written if no equations are fused."""

    flops: int = 0
    bytes: int = 0

    def __add__(self, other):
        return Cost(self.flops + other.flops, self.bytes + other.bytes)


class CostCounter(Interpreter):
    """Adds up costs, which follow from the types of variables; it computes no values.

    The cost of a scan is that of its body, times the number of steps. A loop of unknown length has the cost of one
    step. A conditional has the cost of the branch with the most operations.
    """

    def __init__(self, times=1):
        self.times = times  # the number of times that the current equation runs
        self.costs = defaultdict(Cost)  # by primitive and line

    def by(self, part):
        """The costs by primitive (part 0) or by line (part 1)."""
        keys = {key[part]: None for key in self.costs}
        return {one: sum((cost for key, cost in self.costs.items() if key[part] == one), Cost()) for one in keys}

    total = property(lambda self: sum(self.costs.values(), Cost()))

    def lift(self, constant):
        return None

    def default(self, eqn, *values):
        """One operation for each element of the operands if the equation is a reduction, otherwise of the results."""
        name = eqn.primitive.name
        operated = [] if name in MOVING else eqn.invars if name in REDUCING else eqn.outvars
        return self.count(eqn, sum(var.aval.size for var in operated))

    def count(self, eqn, flops):
        """Add the cost of an equation and return the values of its results."""
        moved = sum(var.aval.size * var.aval.dtype.itemsize for var in (*eqn.invars, *eqn.outvars))
        self.costs[eqn.primitive.name, summarize(eqn.source_info)] += Cost(flops * self.times, moved * self.times)
        return [None] * len(eqn.outvars) if eqn.primitive.multiple_results else None

    def inside(self, program, times=1):
        """Add the cost of an inner program that an equation runs `times` times."""
        counter = CostCounter(self.times * times)
        counter.interpret(program, *[None] * len(program.in_avals))
        return counter

    def include(self, eqn, *counters):
        for key, cost in (item for counter in counters for item in counter.costs.items()):
            self.costs[key] += cost
        return [None] * len(eqn.outvars)

    def handle_scan(self, eqn, *values):
        return self.include(eqn, self.inside(eqn.params["jaxpr"], eqn.params["length"]))

    def handle_while(self, eqn, *values):
        return self.include(eqn, self.inside(eqn.params["cond_jaxpr"]), self.inside(eqn.params["body_jaxpr"]))

    def handle_cond(self, eqn, *values):
        return self.include(eqn, max(map(self.inside, eqn.params["branches"]), key=lambda counter: counter.total))


@CostCounter.rule(dot_general_p)
def dot_general(self, eqn, x, y):
    """A multiplication and an addition for each element of the result and each contracted index."""
    (contracted, _), _ = eqn.params["dimension_numbers"]
    shape = eqn.invars[0].aval.shape
    return self.count(eqn, 2 * eqn.outvars[0].aval.size * math.prod(shape[axis] for axis in contracted))


def cost(fun, *args):
    """The costs of `fun` for arguments of these types."""
    return CostCounter().inside(px.make_jaxpr(fun)(*args))


def main():
    layer = px.jit(lambda x, w: pnp.tanh(x @ w))

    def network(x, w):
        return pnp.sum(layer(layer(x, w), w))

    x, w = np.ones((32, 64), np.float32), np.ones((64, 64), np.float32)
    for name, fun in {"value": network, "gradient": px.grad(network, argnums=1)}.items():
        counter = cost(fun, x, w)
        print(f"{name}: {counter.total.flops} flops, {counter.total.bytes} bytes")
        for key, found in (*counter.by(0).items(), *counter.by(1).items()):
            print(f"  {found.flops:8} {found.bytes:8}  {key}")
    xla = px.jit(pnp.matmul).lower(x, w).cost_analysis()
    print(f"x @ w: {cost(pnp.matmul, x, w).total.flops} flops; XLA says {xla['flops']:.0f}")


if __name__ == "__main__":
    main()
