"""What networks are made of: activations, softmax and its kin, attention, and initial values of parameters."""

from __future__ import annotations

__all__: list[str] = []
