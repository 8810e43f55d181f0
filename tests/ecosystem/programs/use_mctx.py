"""A search of Gumbel MuZero in a small made-up environment."""

import json

import jax
import jax.numpy as jnp
import mctx

ACTIONS = 4
weights = jax.random.normal(jax.random.key(1), (3, ACTIONS))


def recurrent(params, key, action, state):
    state = jnp.tanh(state + 0.1 * params[:, action].T)
    output = mctx.RecurrentFnOutput(
        reward=state.sum(-1), discount=jnp.full(state.shape[:1], 0.9), prior_logits=state @ params, value=state[:, 0]
    )
    return output, state


start = jnp.linspace(-1.0, 1.0, 6).reshape(2, 3)
root = mctx.RootFnOutput(prior_logits=start @ weights, value=start[:, 0], embedding=start)
search = jax.jit(lambda key: mctx.gumbel_muzero_policy(weights, key, root, recurrent, num_simulations=16))
found = search(jax.random.key(2))
print(json.dumps({"action": found.action.tolist(), "weights": found.action_weights.tolist()}))
