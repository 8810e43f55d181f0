"""A tree of arrays that is saved, read back as it was, and read back as other types."""

import json
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp

tree = {
    "weights": jnp.arange(6.0).reshape(2, 3),
    "steps": jnp.asarray(7),
    "layers": [jnp.ones(2, jnp.bfloat16), jnp.zeros((1, 2), bool)],
}
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "tree"
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(path, tree)
        checkpointer.wait_until_finished()
        same = checkpointer.restore(path, jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), tree))
        ocp.PyTreeCheckpointer().save(Path(folder) / "pairs", {"a": tree["weights"] * 2, "b": (1, 2.5)})
        pairs = ocp.PyTreeCheckpointer().restore(Path(folder) / "pairs")
print(
    json.dumps(
        {
            "weights": same["weights"].tolist(),
            "dtypes": [str(x.dtype) for x in jax.tree.leaves(same)],
            "arrays": all(isinstance(x, jax.Array) for x in jax.tree.leaves(same)),
            "pairs": [float(x) for x in pairs["b"]],
            "doubled": pairs["a"].tolist(),
        }
    )
)
