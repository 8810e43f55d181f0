"""Links to lines lead to what they name."""

from __future__ import annotations

from pathlib import Path

import pytest
from lines import pages, with_lines


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_links_to_lines_lead_to_what_they_name(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == with_lines(text, page.parent), "run `make surface`"
