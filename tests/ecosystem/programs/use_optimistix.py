"""A root, a minimum, a least-squares fit and a fixed point, and a derivative through one of them."""

import json

import jax
import jax.numpy as jnp
import optimistix as optx


def equation(y, args):
    return y - jnp.tanh(y + args) - 0.1


def root(a):
    return optx.root_find(equation, optx.Newton(rtol=1e-6, atol=1e-6), jnp.array(0.0), args=a).value


def rosenbrock(y, args):
    return (1 - y[0]) ** 2 + 10 * (y[1] - y[0] ** 2) ** 2


x = jnp.linspace(0.0, 1.0, 10)


def residuals(p, args):
    return p[0] * jnp.exp(-p[1] * x) - 2 * jnp.exp(-3 * x)


start = jnp.array([1.0, 1.0])
print(
    json.dumps(
        {
            "root": float(root(0.5)),
            "derivative": float(jax.grad(root)(0.5)),
            "minimum": optx.minimise(rosenbrock, optx.BFGS(rtol=1e-5, atol=1e-5), jnp.zeros(2)).value.round(3).tolist(),
            "fit": optx.least_squares(residuals, optx.LevenbergMarquardt(rtol=1e-6, atol=1e-6), start).value.tolist(),
            "fixed": float(
                optx.fixed_point(
                    lambda y, args: jnp.cos(y), optx.FixedPointIteration(rtol=1e-6, atol=1e-6), jnp.array(0.5)
                ).value
            ),
        }
    )
)
