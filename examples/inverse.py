"""The inverse of a function, by an interpreter that goes through its program once and records each inverse.

Run it by `python examples/inverse.py`.
"""

from __future__ import annotations

import primax as px
import primax.numpy as pnp
from primax.extend import Interpreter, replay
from primax.extend.core.primitives import (
    add_p,
    atanh_p,
    div_p,
    exp_p,
    integer_pow_p,
    log_p,
    mul_p,
    neg_p,
    sub_p,
    tanh_p,
)


class WayBack:
    """A value that depends on the input: `way(y)` is the input for which this value is y."""

    def __init__(self, way):
        self.way = way


class Inverse(Interpreter):
    """A value that depends on the input is a `WayBack`; other values are arrays."""

    def default(self, eqn, *values):
        if any(isinstance(value, WayBack) for value in values):
            return super().default(eqn, *values)  # raises the error for a missing rule
        outs = replay(eqn, values)
        return outs if eqn.primitive.multiple_results else outs[0]


def define_inverse(primitive, *inverses):
    """Define a primitive's inverses: each computes one operand from the result and the other operands."""

    @Inverse.rule(primitive)
    def rule(self, eqn, *values):
        depends = [i for i, value in enumerate(values) if isinstance(value, WayBack)]
        if not depends:
            return self.default(eqn, *values)
        i, *more = depends
        if more or eqn.invars[i].aval.shape != eqn.outvars[0].aval.shape:
            raise ValueError(
                f"inverse: {primitive} must have the input as one of its operands, in the shape of its result"
            )
        others = values[:i] + values[i + 1 :]
        return WayBack(lambda y: values[i].way(inverses[i](y, *others, **eqn.params)))


define_inverse(exp_p, lambda z, **params: pnp.log(z))
define_inverse(log_p, lambda z, **params: pnp.exp(z))
define_inverse(tanh_p, lambda z, **params: pnp.arctanh(z))
define_inverse(atanh_p, lambda z, **params: pnp.tanh(z))
define_inverse(neg_p, lambda z: -z)
define_inverse(add_p, lambda z, y: z - y, lambda z, x: z - x)
define_inverse(sub_p, lambda z, y: z + y, lambda z, x: x - z)
define_inverse(mul_p, lambda z, y: z / y, lambda z, x: z / x)
define_inverse(div_p, lambda z, y: z * y, lambda z, x: x / z)
define_inverse(integer_pow_p, lambda z, *, y: pnp.sign(z) * pnp.abs(z) ** (1 / y) if y % 2 else z ** (1 / y))


def inverse(fun):
    """The inverse of `fun`, a function of one array; even powers get the positive root."""

    def undo(y):
        closed = px.make_jaxpr(fun)(y)  # the input has the shape and dtype of the result
        (out,) = Inverse().interpret(closed, WayBack(lambda x: x))
        if not isinstance(out, WayBack):
            raise ValueError("inverse: the result must depend on the input")
        return out.way(y)

    return undo


def main():
    @px.jit
    def f(x):
        return px.jit(lambda u: pnp.exp(u) * 2.0)(pnp.tanh(x)) - 1.0

    undo = px.jit(inverse(f))
    print("the function     ", px.make_jaxpr(f)(0.5))
    print("its inverse      ", px.make_jaxpr(inverse(f))(0.5))
    print("undo(f(0.5))   = ", undo(f(0.5)))
    print("f(undo(0.5))   = ", f(undo(0.5)))
    print("undo'(f(x)) f'(x)", px.grad(undo)(f(0.5)) * px.grad(f)(0.5))
    print("mapped           ", px.vmap(undo)(px.vmap(f)(pnp.arange(3.0) / 4)))
    print("undone twice     ", px.jit(inverse(undo))(0.5), "=", f(0.5))


if __name__ == "__main__":
    main()
