"""Expressions of SymPy as a module: values, parameters, and gradients for them."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import sympy
import sympy2jax

x = sympy.symbols("x")
module = sympy2jax.SymbolicModule([1.0 * sympy.cos(x), 2.0 * sympy.sin(x) + x**2 / 3])
points = jnp.linspace(0.0, 1.0, 3)
values = module(x=points)
slopes = eqx.filter_grad(lambda module: sum(each.sum() for each in module(x=points)))(module)
print(
    json.dumps(
        {
            "values": [each.tolist() for each in values],
            "parameters": sorted(float(each) for each in jax.tree.leaves(eqx.filter(module, eqx.is_array))),
            "slopes": [float(each) for each in jax.tree.leaves(eqx.filter(slopes, eqx.is_array))],
        }
    )
)
