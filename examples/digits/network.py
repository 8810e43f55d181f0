"""The network: two convolutions, a pool, one more convolution, and two dense layers."""

from __future__ import annotations

from primax_swish import swish

import primax as px
import primax.numpy as pnp

__all__ = ["convolve", "count", "initialize", "logits", "loss", "shifted"]

KERNELS = {"first": (3, 3, 1, 16), "second": (3, 3, 16, 32), "third": (3, 3, 32, 32)}
DENSE = {"hidden": (4 * 4 * 32, 64), "out": (64, 10)}


def initialize(key):
    """Parameters: for each layer a kernel, a bias, and the slope of the activation that follows it."""
    draw = px.nn.initializers.he_normal()
    shapes = {**KERNELS, **DENSE}
    keys = px.random.split(key, len(shapes))
    parameters = {
        name: {"kernel": draw(key, shape), "bias": pnp.zeros(shape[-1]), "slope": pnp.ones(shape[-1])}
        for key, (name, shape) in zip(keys, shapes.items(), strict=True)
    }
    del parameters["out"]["slope"]  # no activation follows
    return parameters


def convolve(layer, x):
    """One convolutional layer. The activation is the primitive of primax-swish."""
    y = px.lax.conv_general_dilated(x, layer["kernel"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return swish(y + layer["bias"], layer["slope"])


def logits(parameters, images):
    """For each image and each digit a number: the greater, the likelier."""
    x = convolve(parameters["first"], images)
    x = px.nn.max_pool(convolve(parameters["second"], x), (2, 2), strides=(2, 2))
    x = convolve(parameters["third"], x)
    hidden, out = parameters["hidden"], parameters["out"]
    x = swish(x.reshape(len(x), -1) @ hidden["kernel"] + hidden["bias"], hidden["slope"])
    return x @ out["kernel"] + out["bias"]


def loss(parameters, images, labels):
    """The mean cross entropy, and the number of images with the right prediction."""
    scores = logits(parameters, images)
    wanted = px.nn.one_hot(labels, 10)
    right = pnp.sum(pnp.argmax(scores, -1) == labels)
    return -pnp.mean(pnp.sum(wanted * px.nn.log_softmax(scores), -1)), right


def shifted(key, images):
    """Images moved at random by up to a pixel in each direction, so that the network learns to ignore such moves."""
    padded = pnp.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    moves = px.random.randint(key, (len(images), 2), 0, 3)
    return px.vmap(lambda image, move: px.lax.dynamic_slice(image, (move[0], move[1], 0), (8, 8, 1)))(padded, moves)


def count(parameters) -> int:
    """The number of parameters."""
    return sum(x.size for x in px.tree.leaves(parameters))
