"""A transformed function with state, its parameters and its gradient."""

import json

import haiku as hk
import jax
import jax.numpy as jnp


def forward(x, is_training):
    x = hk.Linear(6)(x)
    x = hk.BatchNorm(create_scale=True, create_offset=True, decay_rate=0.9)(x, is_training)
    x = hk.dropout(hk.next_rng_key(), 0.2, jax.nn.relu(x))
    return hk.nets.MLP([4, 1])(x)


model = hk.transform_with_state(forward)
x = jax.random.normal(jax.random.PRNGKey(1), (5, 3))
params, state = model.init(jax.random.PRNGKey(0), x, True)


@jax.jit
def loss(params, state, key):
    out, state = model.apply(params, state, key, x, True)
    return jnp.mean(out**2), state


(value, state), gradient = jax.value_and_grad(loss, has_aux=True)(params, state, jax.random.PRNGKey(2))
sequence, _ = (
    hk.without_apply_rng(hk.transform(lambda x: hk.dynamic_unroll(hk.LSTM(3), x, hk.LSTM(3).initial_state(1)))),
    None,
)
weights = sequence.init(jax.random.PRNGKey(3), jnp.ones((4, 1, 2)))
print(
    json.dumps(
        {
            "value": float(value),
            "shapes": {name: {k: list(v.shape) for k, v in part.items()} for name, part in params.items()},
            "gradient": gradient["linear"]["w"].tolist(),
            "lstm": sequence.apply(weights, jnp.ones((4, 1, 2)))[0].tolist(),
        }
    )
)
