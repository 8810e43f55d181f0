"""A perceptron as a pytree, trained by filtered transformations."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp


class Model(eqx.Module):
    layers: list
    scale: jax.Array
    name: str = eqx.field(static=True)

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.layers = [eqx.nn.Linear(2, 8, key=first), jax.nn.tanh, eqx.nn.Linear(8, 1, key=second)]
        self.scale = jnp.array(2.0)
        self.name = "model"

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.scale * x


@eqx.filter_jit
def step(model, x, y):
    @eqx.filter_value_and_grad
    def loss(model):
        return jnp.mean((jax.vmap(model)(x) - y) ** 2)

    value, gradient = loss(model)
    return eqx.apply_updates(model, jax.tree.map(lambda g: -0.05 * g, gradient)), value


model = Model(jax.random.key(0))
x = jax.random.normal(jax.random.key(1), (32, 2))
y = jnp.sum(jnp.sin(x), axis=1, keepdims=True)
values = []
for _ in range(30):
    model, value = step(model, x, y)
    values.append(float(value))
norm, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(2, "batch", mode="batch")
normed, state = jax.vmap(norm, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(x, state)
mlp = eqx.nn.MLP(2, 1, 4, 1, key=jax.random.key(2))
frozen, rest = eqx.partition(mlp, eqx.is_array)
print(json.dumps({"loss": values[::10], "norm": normed[0].tolist(), "mlp": eqx.combine(frozen, rest)(x[0]).tolist()}))
