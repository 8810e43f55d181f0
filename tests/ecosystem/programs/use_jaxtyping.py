"""Annotations of shapes and dtypes, checked by typeguard's like."""

import json

import jax
import jax.numpy as jnp
from beartype import beartype
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree, jaxtyped


@jaxtyped(typechecker=beartype)
def matmul(x: Float[Array, "a b"], y: Float[Array, "b c"]) -> Float[Array, "a c"]:
    return x @ y


@jaxtyped(typechecker=beartype)
def total(tree: PyTree[Float[Array, "..."]], key: PRNGKeyArray) -> Float[Array, ""]:
    return sum(jnp.sum(x) for x in jax.tree.leaves(tree)) + jax.random.normal(key)


refused = 0
for x, y in ((jnp.ones((2, 3)), jnp.ones((2, 3))), (jnp.ones((2, 3), int), jnp.ones((3, 2)))):
    try:
        matmul(x, y)
    except Exception:
        refused += 1
value = jax.jit(matmul)(jnp.ones((2, 3)), jnp.ones((3, 4)))
counts = isinstance(jnp.arange(3), Int[Array, "3"]), isinstance(jnp.arange(3), Float[Array, "3"])
print(
    json.dumps(
        {
            "value": value.tolist(),
            "refused": refused,
            "is": counts,
            "total": float(total({"a": jnp.ones(3)}, jax.random.key(0))),
        }
    )
)
