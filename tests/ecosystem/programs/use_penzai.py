"""A perceptron, patched so that it keeps what flows between its layers."""

import json

import jax
import jax.numpy as jnp
from penzai import pz
from penzai.models import simple_mlp

mlp = simple_mlp.MLP.from_config(name="mlp", init_base_rng=jax.random.key(0), feature_sizes=[8, 16, 16, 4])


@pz.pytree_dataclass
class Keep(pz.nn.Layer):
    kept: pz.StateVariable

    def __call__(self, x, **_):
        self.kept.value = [*self.kept.value, x]
        return x


kept = pz.StateVariable(value=[], label="between")
patched = pz.select(mlp).at_instances_of(pz.nn.Elementwise).insert_after(Keep(kept))
inputs = pz.nx.wrap(jnp.linspace(-1.0, 1.0, 8)).tag("features")
out = patched(inputs)
print(
    json.dumps(
        {
            "out": out.unwrap("features").tolist(),
            "between": [
                each.unwrap("neurons" if "neurons" in each.named_shape else "features").tolist() for each in kept.value
            ],
        }
    )
)
