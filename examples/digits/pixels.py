"""Small arrays as images within the page: pixels of digits, and numbers in red and blue."""

from __future__ import annotations

import base64
import io
from html import escape

import numpy as np
from matplotlib import pyplot as plt

__all__ = ["bars", "ink", "signed"]

RED, BLUE = (0.78, 0.18, 0.20), (0.16, 0.42, 0.80)


def ink(image: np.ndarray, alt: str) -> str:
    """An `<img>` of an array of numbers from 0, transparent, to 1, black; a dark page inverts it."""
    values = np.squeeze(image)
    return _image(np.concatenate([np.full((*values.shape, 3), 0.1), values[..., None]], -1), f"{alt}", "pixels ink")


def signed(image: np.ndarray, limit: float, alt: str) -> str:
    """An `<img>` of an array of numbers from -limit, blue, by 0, transparent, to limit, red."""
    values = np.squeeze(image)[..., None] / limit
    colors = np.where(values > 0, RED, BLUE)
    return _image(np.concatenate([colors, np.clip(np.abs(values), 0, 1)], -1), alt, "pixels")


def _image(colors: np.ndarray, alt: str, classes: str) -> str:
    file = io.BytesIO()
    plt.imsave(file, np.ascontiguousarray(colors, np.float32), format="png")
    data = base64.b64encode(file.getvalue()).decode()
    return f'<img class="{classes}" src="data:image/png;base64,{data}" alt="{escape(alt)}">'


def bars(chances: np.ndarray, label: int, guess: int) -> str:
    """An `<svg>` of ten probabilities as bars, with the digits that have more than five percent below their bars."""
    drawn = [
        f'<g class="{"label" if digit == label else "wrong" if digit == guess else ""}">'
        f'<rect x="{12 * digit + 1}" y="{50 - 48 * chance:.1f}" width="10" height="{48 * chance + 1:.1f}"/>'
        + (f'<text x="{12 * digit + 6}" y="66">{digit}</text>' if chance > 0.05 else "")
        + "</g>"
        for digit, chance in enumerate(chances)
    ]
    told = ", ".join(f"{digit}: {chance:.0%}" for digit, chance in enumerate(chances) if chance > 0.05)
    return f'<svg class="bars" viewBox="0 0 120 70" role="img" aria-label="probabilities {told}">{"".join(drawn)}</svg>'
