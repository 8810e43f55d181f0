"""A transformer on eight devices: batches divided along one axis of a mesh, heads and hidden layers along the other.

It learns to write digits backwards: on one device, and on eight, divided by XLA or by hand with shard_map.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
from placement import COUNT, draw, join, report

import primax as px
import primax.numpy as pnp
from primax import lax

P = px.P
DIGITS, DEPTH, HEADS, LAYERS, WIDTH = 6, 8, 4, 2, 32
LENGTH, WORDS = 2 * DIGITS, 11  # digits, a sign for "now backwards", and all digits but the last
# Heads and the hidden layer are divided along "model". The first axis is that of layers; a loop runs over it.
SPECS = {
    "words": P(),
    "places": P(),
    "layers": {
        "queries": P(None, None, "model"),
        "keys": P(None, None, "model"),
        "values": P(None, None, "model"),
        "mix": P(None, "model", None),
        "up": P(None, None, "model"),
        "down": P(None, "model", None),
    },
}


def parameters():
    rng = np.random.default_rng(0)

    def normal(*shape):
        return (rng.normal(size=shape) / np.sqrt(shape[-2])).astype(np.float32)

    inner = HEADS * DEPTH
    sizes = {"queries": (WIDTH, inner), "keys": (WIDTH, inner), "values": (WIDTH, inner), "mix": (inner, WIDTH)}
    sizes |= {"up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    layers = {name: normal(LAYERS, *size) for name, size in sizes.items()}
    return {"words": normal(WORDS, WIDTH), "places": normal(LENGTH, WIDTH), "layers": layers}


def sentences(steps, size):
    """Digits, a sign, and the same digits in reverse order; one batch for each step."""
    digits = np.random.default_rng(1).integers(0, 10, (steps, size, DIGITS))
    sign = np.full((steps, size, 1), 10)
    return np.concatenate([digits, sign, digits[..., ::-1]], -1).astype(np.int32)


def normalized(x):
    centered = x - x.mean(-1, keepdims=True)
    return centered / pnp.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5)


def layer(total, x, p):
    """Attention, then two matrices; `total` sums over the devices that share heads and hidden layers."""
    h = normalized(x)
    q, k, v = (pnp.reshape(h @ p[name], (*h.shape[:2], -1, DEPTH)) for name in ("queries", "keys", "values"))
    scores = pnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(DEPTH)
    before = np.tril(np.ones((LENGTH, LENGTH), bool))
    weights = px.nn.softmax(pnp.where(before, scores, -1e9))
    mixed = pnp.einsum("bhqk,bkhd->bqhd", weights, v)
    x = x + total(pnp.reshape(mixed, (*mixed.shape[:2], -1)) @ p["mix"])
    return x + total(px.nn.gelu(normalized(x) @ p["up"]) @ p["down"]), None


def loss(params, words, total=lambda x: x, mean=lambda x: x):
    """The cross entropy of the reversed digits. `mean` is over the devices that share the batch."""
    x = params["words"][words[:, :-1]] + params["places"]
    x, _ = lax.scan(partial(layer, total), x, params["layers"])
    scores = px.nn.log_softmax(normalized(x[:, DIGITS:]) @ params["words"].T)
    return mean(-pnp.take_along_axis(scores, words[:, DIGITS + 1 :, None], -1).mean())


def train(loss, params, batches, rate=3e-3):
    """The losses of Adam, and the last parameters."""

    @px.jit
    def step(number, params, mean, square, words):
        value, grads = px.value_and_grad(loss)(params, words)
        mean = px.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, grads)
        square = px.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, square, grads)

        def moved(w, m, s):
            return w - rate * m / (1 - 0.9**number) / (pnp.sqrt(s / (1 - 0.99**number)) + 1e-6)

        return value, px.tree.map(moved, params, mean, square), mean, square

    mean = square = px.tree.map(pnp.zeros_like, params)
    losses = []
    for number, words in enumerate(batches, 1):
        value, params, mean, square = step(np.float32(number), params, mean, square, words)
        losses.append(float(value))
    return np.array(losses), params


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--steps", type=int, default=100, help="the number of batches of 64 lines (default: %(default)s)"
    )
    parser.add_argument("--out", default="transformer.png", help="the file of the picture (default: %(default)s)")
    parser.add_argument("--processes", type=int, default=1, help="the number of processes (default: %(default)s)")
    options = parser.parse_args()
    if not join(options.processes):
        return
    mesh = px.make_mesh((COUNT // 2, 2), ("data", "model"))
    batches = sentences(options.steps, 64)
    lying = px.tree.map(lambda spec: px.NamedSharding(mesh, spec), SPECS, is_leaf=lambda x: isinstance(x, P))
    placed = px.device_put(parameters(), lying)
    divided = [px.device_put(words, px.NamedSharding(mesh, P("data"))) for words in batches]

    def parts(params, words):
        return loss(params, words, lambda x: lax.psum(x, "model"), lambda x: lax.pmean(x, "data"))

    by_hand = px.shard_map(parts, mesh=mesh, in_specs=(SPECS, P("data")), out_specs=P())
    losses = {}
    losses["one device"], _ = train(loss, parameters(), batches)
    losses["divided by XLA"], trained = train(loss, placed, divided)
    losses["shard_map"], _ = train(by_hand, placed, divided)
    layers = trained["layers"]
    arrays = {"a batch": divided[0], "words": trained["words"], "queries": layers["queries"], "down": layers["down"]}
    if px.process_index() == 0:
        report(losses)
        draw(arrays, losses, options.out)
        print(f"{COUNT} devices in {px.process_count()} process(es), {mesh}; {options.out} shows the divided arrays")


if __name__ == "__main__":
    main()
