"""Convolutions of a photograph, of two curves and of a solid: every option of `px.lax.conv_general_dilated` at work."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_sample_image

import primax as px

__all__ = ["Convolution", "curves", "edges_of_a_photograph", "photograph", "solid"]

# Differences along both diagonals at once: zero where the picture is even, and large at its edges.
EDGES = np.float32([[1, 1, 0], [1, 0, -1], [0, -1, -1]])
# The mean of a voxel's six neighbours, less the voxel: zero within the solid and outside, not at its surface.
SURFACE = np.zeros((3, 3, 3), np.float32)
SURFACE[[0, 2, 1, 1, 1, 1], [1, 1, 0, 2, 1, 1], [1, 1, 1, 1, 0, 2]] = 1 / 6
SURFACE[1, 1, 1] = -1
SMOOTH = np.float32([0.25, 0.5, 0.25])


class Convolution(NamedTuple):
    """The result of a convolution as a picture with channels last, and the call that computed it."""

    title: str
    call: str
    shape: tuple[int, ...]
    picture: np.ndarray


def photograph() -> np.ndarray:
    """A photograph from scikit-learn, as an array of shape (1, 200, 198, 3) from 0 to 1."""
    image = np.float32(load_sample_image("flower.jpg")) / 255
    halved = image[:426].reshape(213, 2, 320, 2, 3).mean((1, 3))
    return halved[None, 6:206, 58:256]


def edges_of_a_photograph() -> list[Convolution]:
    """Edges of the photograph, by convolutions of each kind."""
    image = photograph()
    kernel = np.einsum("xy,io->xyio", EDGES, np.eye(3, dtype=np.float32))  # each channel by itself
    first = image.transpose(0, 3, 1, 2), kernel.transpose(3, 2, 0, 1)
    numbers = px.lax.conv_dimension_numbers(image.shape, kernel.shape, ("NHWC", "HWIO", "NHWC"))

    def last(*args: Any, **options: Any) -> Any:
        return px.lax.conv_general_dilated(*args, dimension_numbers=numbers, **options)

    turned = kernel[::-1, ::-1]
    made = [
        ("Edges", "conv, channels first, SAME", px.lax.conv(*first, (1, 1), "SAME")),
        (
            "A margin of two",
            "conv_with_general_padding, ((2, 2), (2, 2))",
            px.lax.conv_with_general_padding(*first, (1, 1), ((2, 2), (2, 2)), (1, 1), (1, 1)),
        ),
        ("Channels last", "SAME", last(image, kernel, (1, 1), "SAME")),
        ("Without a margin", "VALID", last(image, kernel, (1, 1), "VALID")),
        ("Strided", "SAME, strides (2, 2)", last(image, kernel, (2, 2), "SAME")),
        ("Dilated kernel", "VALID, rhs_dilation (12, 12)", last(image, kernel, (1, 1), "VALID", rhs_dilation=(12, 12))),
        (
            "Dilated image",
            "no padding, lhs_dilation (2, 2)",
            last(image, kernel, (1, 1), ((0, 0), (0, 0)), lhs_dilation=(2, 2)),
        ),
        (
            "Transposed",
            "turned kernel, padding ((2, 1), (2, 1)), lhs_dilation (2, 2)",
            last(image, turned, (1, 1), ((2, 1), (2, 1)), lhs_dilation=(2, 2)),
        ),
    ]
    return [Convolution(title, call, out.shape, _picture(np.asarray(out[0]))) for title, call, out in made]


def _picture(out: np.ndarray) -> np.ndarray:
    """The magnitude of the result, dark on light, with channels last."""
    size = np.abs(out.transpose(1, 2, 0) if out.shape[0] == 3 else out)
    return 1 - np.clip(size / np.quantile(size, 0.985), 0, 1) ** 0.7


def curves() -> tuple[np.ndarray, np.ndarray]:
    """Two noisy curves, an array of shape (1, 200, 2), and both smoothed by one convolution."""
    rng = np.random.default_rng(0)
    x = np.linspace(0, 4 * np.pi, 200)
    data = np.stack([np.sin(x), np.sin(2 * x) * np.exp(-x / 8)], -1) + rng.normal(0, 0.25, (200, 2))
    noisy = smooth = np.float32(data[None])
    kernel = np.einsum("x,io->xio", SMOOTH, np.eye(2, dtype=np.float32))
    for _ in range(12):
        smooth = px.lax.conv_general_dilated(smooth, kernel, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))
    return noisy, np.asarray(smooth)


def solid() -> tuple[np.ndarray, np.ndarray]:
    """A solid, as an array of shape (1, 30, 30, 30, 1) that is 1 inside and 0 outside, and its surface."""
    x, y, z = np.meshgrid(*[np.linspace(-1, 1, 30)] * 3, indexing="ij")
    ring = (np.hypot(x, y) - 0.58) ** 2 + z**2 < 0.36**2
    data = np.float32(ring)[None, ..., None]
    kernel = SURFACE[..., None, None]
    out = px.lax.conv_general_dilated(data, kernel, (1, 1, 1), "SAME", dimension_numbers=("NHWDC", "HWDIO", "NHWDC"))
    return data, np.asarray(out)
