"""The Laplacian of a function in one pass over its program, by an interpreter that propagates it forward.

For y = g(x), where x depends on the inputs t, the chain rule gives the derivatives of y from those of x:

    dy/dt_i  =  Dg[dx/dt_i]            lap y  =  Dg[lap x]  +  sum over i of D²g[dx/dt_i, dx/dt_i]

so no Hessian is computed (R. Li et al., "A computational framework for neural network-based variational Monte
Carlo with Forward Laplacian", Nature Machine Intelligence, 2024).

Run it by `python examples/forward_laplacian.py`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

import primax as px
import primax.numpy as pnp
from primax.extend import Interpreter, replay


class Carried(NamedTuple):
    """A value, its derivatives by each input along a leading axis, and its Laplacian."""

    value: Any
    slopes: Any
    laplacian: Any


class ForwardLaplacian(Interpreter):
    """Propagates Laplacians through a program; values that do not depend on the inputs are plain arrays."""

    inline = False  # calls of jitted functions become calls of programs with Laplacians

    def __init__(self, inputs):
        self.inputs = inputs  # the number of inputs

    def primal(self, value):
        return value.value if isinstance(value, Carried) else value

    def uniform(self, value):
        """Results of branches and carries of loops may depend on the inputs, so they get derivatives."""
        if isinstance(value, Carried) or not pnp.issubdtype(pnp.result_type(value), pnp.inexact):
            return value
        zeros = pnp.zeros_like(value)
        return Carried(value, pnp.stack([zeros] * self.inputs), zeros)

    def unstack(self, value):
        """Loops slice each leaf along axis 0, which is the axis of inputs in `slopes`; so swap it with axis 1."""
        return value._replace(slopes=pnp.swapaxes(value.slopes, 0, 1)) if isinstance(value, Carried) else value

    stack = unstack

    def default(self, eqn, *values):
        """Any primitive, by its JVP rule, including primitives of unknown plugins."""
        active = [i for i, value in enumerate(values) if isinstance(value, Carried)]
        smooth = [pnp.issubdtype(var.aval.dtype, pnp.inexact) for var in eqn.outvars]
        if not active or not all(smooth):
            outs = replay(eqn, list(map(self.primal, values)))
            return outs if eqn.primitive.multiple_results else outs[0]
        points, slopes, laplacians = zip(*(values[i] for i in active), strict=True)

        def g(*xs):
            filled = dict(zip(active, xs, strict=True))
            return replay(eqn, [filled.get(i, value) for i, value in enumerate(values)])

        def along(*direction):
            """First and second derivative of g in one direction."""
            return px.jvp(lambda *xs: px.jvp(g, xs, direction)[1], points, direction)

        outs, drift = px.jvp(g, points, laplacians)
        first, second = px.vmap(along)(*slopes)
        carried = [Carried(y, s, d + pnp.sum(c, 0)) for y, s, d, c in zip(outs, first, drift, second, strict=True)]
        return carried if eqn.primitive.multiple_results else carried[0]


def laplacian(fun):
    """A function that returns the value and the Laplacian of `fun`, a function of one array."""

    def run(x):
        slopes = pnp.reshape(pnp.eye(x.size, dtype=x.dtype), (x.size, *x.shape))
        closed = px.make_jaxpr(fun)(x)
        (out,) = ForwardLaplacian(x.size).interpret(closed, Carried(x, slopes, pnp.zeros_like(x)))
        return (out.value, out.laplacian) if isinstance(out, Carried) else (out, pnp.zeros_like(out))

    return run


def network(key, sizes):
    """A small neural network with random weights, its layers jitted, as a function of one vector."""
    rng = np.random.default_rng(key)
    weights = [rng.normal(0, n**-0.5, (n, m)).astype(np.float32) for n, m in pairwise(sizes)]
    layer = px.jit(lambda x, w: pnp.tanh(x @ w))

    def apply(x):
        for w in weights:
            x = layer(x, w)
        return pnp.sum(x)

    return apply


def main():
    n = 16
    f, x = network(0, [n, 32, 32, 1]), np.linspace(-1, 1, n, dtype=np.float32)
    ways = {
        "trace of the Hessian": lambda x: pnp.trace(px.hessian(f)(x)),
        "forward Laplacian": lambda x: laplacian(f)(x)[1],
    }
    for name, way in ways.items():
        compiled = px.jit(way).lower(x).compile()
        print(f"{name:22} {float(compiled(x)):+.6f}  {compiled.cost_analysis()['flops']:10.0f} flops")


if __name__ == "__main__":
    main()
