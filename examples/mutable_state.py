"""State in references: statistics, a ring buffer, sums of gradients, values from inside a network, noise.

Run it by `python examples/mutable_state.py`.
"""

from __future__ import annotations

import dataclasses

import numpy as np

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.experimental.random import stateful_rng


@px.tree_util.register_dataclass
@dataclasses.dataclass
class Normalization:
    """A layer that subtracts the mean of each feature and divides by its deviation, with running means of both.

    The statistics are references, so that the layer is a function of its input alone.
    """

    mean: px.Ref
    variance: px.Ref
    momentum: float = dataclasses.field(default=0.9, metadata={"static": True})

    @classmethod
    def of(cls, features: int) -> Normalization:
        return cls(px.new_ref(pnp.zeros(features)), px.new_ref(pnp.ones(features)))

    def __call__(self, x, training: bool):
        if training:
            mean, variance = x.mean(0), x.var(0)
            for running, now in ((self.mean, mean), (self.variance, variance)):
                running[...] = self.momentum * running[...] + (1 - self.momentum) * lax.stop_gradient(now)
        else:
            mean, variance = self.mean[...], self.variance[...]
        return (x - mean) * lax.rsqrt(variance + 1e-5)


@px.tree_util.register_dataclass
@dataclasses.dataclass
class RingBuffer:
    """The last values of a stream; a new value replaces the oldest one."""

    values: px.Ref
    count: px.Ref

    @classmethod
    def of(cls, size: int, shape=()) -> RingBuffer:
        return cls(px.new_ref(pnp.zeros((size, *shape))), px.new_ref(0))

    def push(self, value) -> None:
        self.values[self.count[...] % len(self.values)] = value
        self.count[...] += 1

    def ordered(self):
        """The values, the oldest first."""
        return pnp.roll(self.values[...], -(self.count[...] % len(self.values)), 0)


def running_statistics() -> None:
    layer, draw = Normalization.of(2), np.random.default_rng(0)

    @px.jit
    def step(layer, scale, x):
        return px.grad(lambda scale: (layer(x, True) * scale).mean() ** 2)(scale)

    for _ in range(100):
        step(layer, pnp.ones(2), draw.normal([1.0, -3.0], [2.0, 0.5], (256, 2)).astype("float32"))
    print("running mean", layer.mean[...].round(1), "deviation", pnp.sqrt(layer.variance[...]).round(1))


def ring_buffer() -> None:
    buffer = RingBuffer.of(4)
    push = px.jit(RingBuffer.push)
    for i in range(6):
        push(buffer, float(i))
    print("last four", buffer.ordered())


def accumulated_gradients() -> None:
    """The gradient of a large batch from small ones, without a copy of the sum for each."""
    draw = np.random.default_rng(1)
    xs, ys = draw.normal(size=(8, 32, 3)).astype("float32"), draw.normal(size=(8, 32)).astype("float32")
    w = pnp.zeros(3)

    def loss(w, x, y):
        return ((x @ w - y) ** 2).sum()

    total = px.new_ref(pnp.zeros(3))

    @px.jit
    def add_gradient(total, x, y):
        value, pullback = px.vjp(lambda w: loss(w, x, y), w)
        pullback.with_refs(total)(pnp.ones_like(value))

    for x, y in zip(xs, ys, strict=True):
        add_gradient(total, x, y)
    whole = px.grad(loss)(w, xs.reshape(-1, 3), ys.reshape(-1))
    print("gradient of eight batches", total[...].round(2), "of one", whole.round(2))


def values_from_inside() -> None:
    """The norm of a hidden layer, and of the cotangent that comes back to it."""
    hidden_norm, cotangent_norm = px.new_ref(0.0), px.new_ref(0.0)

    @px.custom_vjp
    def watch(x, norm):
        return x

    def backward(norm, ct):
        norm[...] = pnp.linalg.norm(ct)
        return ct, None

    watch.defvjp(lambda x, norm: (x, norm), backward)

    @px.jit
    def loss(w, x):
        hidden = pnp.tanh(x @ w)
        hidden_norm[...] = pnp.linalg.norm(lax.stop_gradient(hidden))
        return (watch(hidden, cotangent_norm) ** 2).sum()

    px.grad(loss)(pnp.ones((3, 2)), pnp.ones((4, 3)))
    print("norm of the layer", hidden_norm[...].round(2), "of its cotangent", cotangent_norm[...].round(2))


def noise() -> None:
    rng = stateful_rng(0)
    draw = px.jit(lambda rng: rng.normal(size=2))
    first, second = draw(rng), draw(rng)
    rows = px.vmap(lambda rng: rng.normal(size=2))(rng.split(3))
    print("draws differ", not (first == second).any(), "one for each row", len({*map(float, rows[:, 0])}))


if __name__ == "__main__":
    running_statistics()
    ring_buffer()
    accumulated_gradients()
    values_from_inside()
    noise()
