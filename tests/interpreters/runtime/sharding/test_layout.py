"""Layouts and formats."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px

pytestmark = pytest.mark.any_word_size


def test_formats_and_layouts_hold_what_they_say() -> None:
    layout = px.experimental.layout
    assert layout.Layout([np.int32(1), 0], [[2, 4]]) == layout.Layout((1, 0), ((2, 4),))
    for call, message in (
        (lambda: layout.Format(2), "Format: layout must be a Layout, Layout.AUTO or None, got 2"),
        (lambda: layout.Format(None, 2), "Format: sharding must be a Sharding or None, got 2"),
        (lambda: layout.Layout(2), "Layout: major_to_minor must be a sequence, got 2"),
        (lambda: layout.Layout((0.5,)), "Layout: major_to_minor must be an integer, got 0.5"),
        (lambda: layout.Layout((0,), (2,)), "Layout: tiling must be a sequence, got 2"),
    ):
        with pytest.raises(TypeError, match=f"^{message}$"):
            call()
