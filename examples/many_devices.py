"""The training of one network: on one device, and on eight, divided by XLA or by hand with shard_map."""

from __future__ import annotations

import argparse

import numpy as np
from placement import COUNT, draw, join, report
from sklearn.datasets import load_digits

import primax as px
import primax.numpy as pnp
from primax import lax

P = px.P
# Batches are divided along "data"; the hidden layer along "model".
SPECS = {"in": P(None, "model"), "bias": P("model"), "out": P("model", None)}


def parameters(width=128):
    rng = np.random.default_rng(0)
    weights = {
        "in": rng.normal(size=(64, width)) / 8,
        "bias": np.zeros(width),
        "out": rng.normal(size=(width, 10)) / 12,
    }
    return {name: w.astype(np.float32) for name, w in weights.items()}


def loss(params, images, labels, total=lambda scores: scores, mean=lambda value: value):
    """The cross entropy. `total` sums over the devices of the hidden layer; `mean` is over the devices of the data."""
    hidden = px.nn.relu(images @ params["in"] + params["bias"])
    scores = px.nn.log_softmax(total(hidden @ params["out"]))
    return mean(-pnp.take_along_axis(scores, labels[:, None], 1).mean())


def train(loss, params, batches):
    """The losses of gradient descent, and the last parameters."""

    @px.jit
    def step(params, images, labels):
        value, grads = px.value_and_grad(loss)(params, images, labels)
        return value, px.tree.map(lambda w, g: w - 0.3 * g, params, grads)

    losses = []
    for images, labels in batches:
        value, params = step(params, images, labels)
        losses.append(float(value))
    return np.array(losses), params


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--steps", type=int, default=60, help="the number of batches of 256 digits (default: %(default)s)"
    )
    parser.add_argument("--out", default="many_devices.png", help="the file of the picture (default: %(default)s)")
    parser.add_argument("--processes", type=int, default=1, help="the number of processes (default: %(default)s)")
    options = parser.parse_args()
    if not join(options.processes):
        return
    mesh = px.make_mesh((COUNT // 2, 2), ("data", "model"))
    images, labels = load_digits(return_X_y=True)
    rows = np.random.default_rng(1).integers(0, len(labels), (options.steps, 256))
    batches = [((images[r] / 16).astype(np.float32), labels[r].astype(np.int32)) for r in rows]
    lying = {name: px.NamedSharding(mesh, spec) for name, spec in SPECS.items()}
    placed = px.device_put(parameters(), lying)
    divided = [px.device_put(batch, px.NamedSharding(mesh, P("data"))) for batch in batches]

    def parts(params, images, labels):
        return loss(params, images, labels, lambda x: lax.psum(x, "model"), lambda x: lax.pmean(x, "data"))

    by_hand = px.shard_map(parts, mesh=mesh, in_specs=(SPECS, P("data"), P("data")), out_specs=P())
    losses = {}
    losses["one device"], _ = train(loss, parameters(), batches)
    losses["divided by XLA"], trained = train(loss, placed, divided)
    losses["shard_map"], _ = train(by_hand, placed, divided)
    arrays = {"a batch": divided[0][0], "first layer": trained["in"], "second layer": trained["out"]}
    if px.process_index() == 0:
        report(losses)
        draw(arrays, losses, options.out)
        print(f"{COUNT} devices in {px.process_count()} process(es), {mesh}; {options.out} shows the divided arrays")


if __name__ == "__main__":
    main()
