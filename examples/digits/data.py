"""The 1,797 handwritten digits that scikit-learn ships: images of 8 x 8 pixels, each with the digit that it shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits

__all__ = ["Digits", "batches", "load"]


@dataclass(frozen=True)
class Digits:
    """Images of shape (n, 8, 8, 1), with pixels from 0 to 1, and labels of shape (n,)."""

    images: np.ndarray
    labels: np.ndarray

    def take(self, rows) -> Digits:
        return Digits(self.images[rows], self.labels[rows])

    def __len__(self) -> int:
        return len(self.labels)


def load(seed: int = 0, limit: int | None = None) -> tuple[Digits, Digits]:
    """The training digits and the test digits, which are one in five.

    Args:
      seed: the seed of the random split.
      limit: the number of digits to use; None for all.
    """
    images, labels = load_digits(return_X_y=True)
    digits = Digits(np.float32(images / 16).reshape(-1, 8, 8, 1), np.int32(labels))
    order = np.random.default_rng(seed).permutation(len(labels))[:limit]
    return digits.take(order[len(order) // 5 :]), digits.take(order[: len(order) // 5])


def batches(digits: Digits, size: int, rng: np.random.Generator) -> Iterator[Digits]:
    """All digits once, in a new random order, in batches of the same size; an incomplete last batch is dropped."""
    order = rng.permutation(len(digits))
    for start in range(0, len(digits) - size + 1, size):
        yield digits.take(order[start : start + size])
