"""A fixture for tests that say what happens without 64-bit dtypes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import primax as px


@pytest.fixture
def narrow() -> Iterator[None]:
    """64-bit dtypes are off, whatever the environment says."""
    with px.enable_x64(False):
        yield
