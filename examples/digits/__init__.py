"""A small convolutional network that reads handwritten digits, and a report with pictures of its training."""

from __future__ import annotations

__all__: list[str] = []
