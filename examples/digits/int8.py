"""The network with weights of 8 bits: what it costs in accuracy, and what it saves.

Run it by `python -m digits.int8` in the folder `examples`, with primax-swish and primax-quantized installed.
"""

from __future__ import annotations

import argparse
from typing import Any

from primax_quantized import quantize

import primax as px
import primax.numpy as pnp
from digits.data import load
from digits.network import logits
from digits.train import fit

__all__ = ["main", "quantized_weights", "scores"]


def quantized_weights(parameters: Any, block: int = 32) -> Any:
    """The parameters with quantized kernels; biases and slopes stay as they are."""
    return {name: {**layer, "kernel": quantize(layer["kernel"], block)} for name, layer in parameters.items()}


def scores(parameters: Any, images: Any) -> Any:
    """The network's scores. Dense layers multiply with quantized kernels; convolutions take floating ones."""

    def floating(layer: Any) -> Any:
        kernel = layer["kernel"]
        return {**layer, "kernel": kernel.dequantize()} if len(kernel.shape) == 4 else layer

    return logits({name: floating(layer) for name, layer in parameters.items()}, images)


def main() -> None:
    parser = argparse.ArgumentParser(description="Quantize the weights of the network that reads digits.")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--limit", type=int, default=None, help="the number of digits")
    options = parser.parse_args()
    train, test = load(limit=options.limit)
    parameters = fit(train, test, options.epochs).parameters
    for name, weights in {"float32": parameters, "int8": quantized_weights(parameters)}.items():
        size = sum(layer["kernel"].nbytes for layer in weights.values())
        right = pnp.argmax(px.jit(scores if name == "int8" else logits)(weights, test.images), -1) == test.labels
        print(f"{name:8} {size:7,} bytes of kernels, {float(pnp.mean(right)):.2%} of {len(test)} test digits right")


if __name__ == "__main__":
    main()
