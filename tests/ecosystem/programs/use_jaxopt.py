"""Minimisation by gradients and by L-BFGS, projections, and a derivative through a solution."""

import json

import jax
import jax.numpy as jnp
import jaxopt

x = jnp.linspace(-1.0, 1.0, 12)
features = jnp.stack([x, x**2, jnp.ones(12)], axis=1)
target = jnp.sin(2 * x)


def ridge(w, strength):
    return jnp.mean((features @ w - target) ** 2) + strength * jnp.sum(w**2)


solver = jaxopt.LBFGS(fun=ridge, maxiter=30)


def solution(strength):
    return jaxopt.GradientDescent(fun=ridge, maxiter=200, implicit_diff=True).run(jnp.zeros(3), strength).params


projected = jaxopt.ProjectedGradient(fun=ridge, projection=jaxopt.projection.projection_simplex, maxiter=50)
print(
    json.dumps(
        {
            "lbfgs": solver.run(jnp.zeros(3), 0.1).params.tolist(),
            "jacobian": jax.jacobian(solution)(0.1).tolist(),
            "simplex": projected.run(jnp.ones(3) / 3, strength=0.1).params.tolist(),
        }
    )
)
