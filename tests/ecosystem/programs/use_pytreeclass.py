"""A class that is a tree: masks, gradients, and a method that changes a copy."""

import json

import jax
import jax.numpy as jnp
import pytreeclass as tc


@tc.autoinit
class Tree(tc.TreeClass):
    a: float = 1.0
    b: tuple[float, float] = (2.0, 3.0)
    c: jax.Array = jnp.array([4.0, 5.0, 6.0])

    def __call__(self, x):
        return self.a + self.b[0] + self.c + x


class Counter(tc.TreeClass):
    def __init__(self, calls: int = 0):
        self.calls = calls

    def increment(self):
        self.calls += 1
        return self.calls


tree = Tree()
masked = tree.at[jax.tree.map(lambda x: x > 5, tree)].set(100.0)
slopes = jax.jit(jax.grad(lambda tree, x: jnp.sum(tree(x) ** 2)))(tree.at["a"].set(2.0), 1.0)
counter = Counter()
for _ in range(3):
    value, counter = jax.jit(lambda counter: counter.at["increment"]())(counter)
print(
    json.dumps(
        {
            "masked": masked.c.tolist(),
            "slopes": [float(slopes.a), float(slopes.b[0]), *slopes.c.tolist()],
            "calls": int(counter.calls),
        }
    )
)
