"""A convolutional network of linen with batch statistics and dropout, and its gradient."""

import json

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax import serialization
from flax.core import freeze


class Network(nn.Module):
    features: int = 4

    @nn.compact
    def __call__(self, x, train):
        x = nn.relu(nn.Conv(self.features, (3, 3))(x))
        x = nn.BatchNorm(use_running_average=not train)(x)
        x = nn.avg_pool(x, (2, 2), (2, 2)).reshape(x.shape[0], -1)
        x = nn.Dropout(0.3, deterministic=not train)(x)
        return nn.Dense(2, kernel_init=nn.initializers.lecun_normal())(x)


x = jax.random.normal(jax.random.key(1), (3, 6, 6, 1))
model = Network()
variables = model.init(jax.random.key(0), x, False)


@jax.jit
def loss(params, statistics, key):
    out, changed = model.apply(
        {"params": params, "batch_stats": statistics}, x, True, rngs={"dropout": key}, mutable=["batch_stats"]
    )
    return jnp.mean(out**2), changed


(value, changed), gradient = jax.value_and_grad(loss, has_aux=True)(
    variables["params"], variables["batch_stats"], jax.random.key(2)
)
attention = nn.MultiHeadDotProductAttention(num_heads=2)
tokens = jax.random.normal(jax.random.key(3), (1, 4, 6))
attended, _ = attention.init_with_output(jax.random.key(4), tokens)
restored = serialization.from_bytes(freeze(variables), serialization.to_bytes(freeze(variables)))
same = bool(jnp.all(restored["params"]["Dense_0"]["kernel"] == variables["params"]["Dense_0"]["kernel"]))
print(
    json.dumps(
        {
            "value": float(value),
            "gradient": gradient["Dense_0"]["bias"].tolist(),
            "mean": changed["batch_stats"]["BatchNorm_0"]["mean"].tolist(),
            "attended": attended[0, 0].tolist(),
            "restored": same,
        }
    )
)
