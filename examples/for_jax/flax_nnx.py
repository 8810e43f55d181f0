"""A network in Flax NNX reads handwritten digits, and shows where it looks.

primax as-jax examples/for_jax/flax_nnx.py --out flax_nnx.png
"""

from __future__ import annotations

import argparse
import time

import jax
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
import optax
from flax import nnx
from sklearn.datasets import load_digits

mpl.use("agg")
import matplotlib.pyplot as plt


class Reader(nnx.Module):
    """Convolutions give each pixel a vector; a learned query attends to the pixels and chooses the digit."""

    def __init__(self, width: int, rngs: nnx.Rngs) -> None:
        # Where normalization or softmax cancels a bias, its gradient is rounding errors, which Adam would scale up.
        self.first = nnx.Conv(1, width, (3, 3), use_bias=False, rngs=rngs)
        self.norm = nnx.BatchNorm(width, momentum=0.9, rngs=rngs)
        self.second = nnx.Conv(width, width, (3, 3), rngs=rngs)
        self.place = nnx.Param(0.1 * jax.random.normal(rngs.params(), (64, width)))
        self.query = nnx.Param(jax.random.normal(rngs.params(), (1, width)))
        self.attention = nnx.MultiHeadAttention(4, width, use_bias=False, decode=False, rngs=rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.digit = nnx.Linear(width, 10, rngs=rngs)

    def __call__(self, images: jax.Array, sow: bool = False) -> jax.Array:
        """Logits of shape (n, 10), of images of shape (n, 8, 8, 1)."""
        x = nnx.relu(self.norm(self.first(images)))
        x = nnx.relu(self.second(x)).reshape(len(images), 64, -1) + self.place
        query = jnp.broadcast_to(self.query[...], (len(images), *self.query.shape))
        return self.digit(self.dropout(self.attention(query, x, x, sow_weights=sow)[:, 0]))


@nnx.jit
def step(model: Reader, optimizer: nnx.Optimizer, images: jax.Array, labels: jax.Array) -> jax.Array:
    """Change the model by one step of the optimizer, and return the loss before it."""

    def loss(model: Reader) -> jax.Array:
        return optax.softmax_cross_entropy_with_integer_labels(model(images), labels).mean()

    value, slopes = nnx.value_and_grad(loss)(model)
    optimizer.update(model, slopes)
    return value


@nnx.jit
def read(model: Reader, images: jax.Array) -> jax.Array:
    return jnp.argmax(model(images), axis=1)


def draw(model: Reader, images: np.ndarray, path: str) -> None:
    """Draw images, and below each the pixels to which the network attends."""
    _, sown = nnx.capture(model, nnx.Intermediate)(images, sow=True)
    weights = np.asarray(sown["attention"]["attention_weights"][0]).mean(axis=1).reshape(-1, 8, 8)
    figure, rows = plt.subplots(2, len(images), figsize=(9, 2), layout="constrained")
    for axis, picture in zip(rows.flat, [*images[..., 0], *weights], strict=True):
        axis.imshow(picture, cmap="gray_r" if axis in rows[0] else "viridis")
        axis.axis("off")
    figure.savefig(path, dpi=80)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--out", default="flax_nnx.png")
    options = parser.parse_args()
    print(f"jax means {jax}")
    images, labels = load_digits(return_X_y=True)
    images, labels = np.float32(images / 16).reshape(-1, 8, 8, 1), np.int32(labels)
    rng = np.random.default_rng(0)
    tests, lessons = np.split(rng.permutation(len(labels)), [len(labels) // 5])
    model = Reader(32, nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(3e-3), wrt=nnx.Param)
    began = time.perf_counter()
    for epoch in range(options.epochs):
        model.train()
        rows = rng.permutation(lessons)[: len(lessons) // 64 * 64].reshape(-1, 64)
        losses = [step(model, optimizer, images[row], labels[row]) for row in rows]
        model.eval()
        right = np.mean(read(model, images[tests]) == labels[tests])
        print(f"epoch {epoch + 1}: mean loss {np.mean(losses):.4f}, {right:.1%} of {len(tests)} test digits")
    print(f"{options.epochs} epochs in {time.perf_counter() - began:.1f} s")
    draw(model, images[[tests[labels[tests] == digit][0] for digit in range(10)]], options.out)


if __name__ == "__main__":
    main()
