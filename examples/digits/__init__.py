"""A small convolutional network that reads handwritten digits, and a report with pictures of what it learned."""

from __future__ import annotations

__all__: list[str] = []
