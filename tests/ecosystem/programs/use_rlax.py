"""Losses of reinforcement learning over a batch: Q-learning, returns, and a gradient of policy."""

import json

import jax
import jax.numpy as jnp
import rlax

key = jax.random.key(0)
q, following = jax.random.normal(key, (2, 5, 3))
actions = jnp.array([0, 2, 1, 1, 0])
rewards = jnp.linspace(0.0, 1.0, 5)
discounts = jnp.full(5, 0.9)


def loss(q):
    errors = jax.vmap(rlax.q_learning)(q, actions, rewards, discounts, following)
    return jnp.mean(rlax.l2_loss(errors))


value, slopes = jax.jit(jax.value_and_grad(loss))(q)
returns = rlax.lambda_returns(rewards, discounts, following[:, 0], 0.8)
policy = jax.grad(lambda logits: rlax.policy_gradient_loss(logits, actions, rewards, jnp.ones(5)))(q)
print(
    json.dumps(
        {"value": float(value), "slopes": slopes.tolist(), "returns": returns.tolist(), "policy": policy.tolist()}
    )
)
