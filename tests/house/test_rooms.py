"""The rooms stay small: a limit of lines for each, with docstrings but without the examples in them."""

from __future__ import annotations

import pytest
from checkout import ROOT
from rooms import lines_of


@pytest.mark.parametrize(
    "folders, pattern, most",
    [
        (["core"], "*.py", 6_066),  # without core/tree and core/text
        (["core/tree"], "*.py", 1_530),
        (["core/text"], "*.py", 641),
        (["interpreters"], "*.py", 4_396),
        (["interpreters/runtime"], "**/*.py", 8_941),
        (["extend/host"], "*.py", 2_315),
        (["extend/derive"], "*.py", 790),
        (["core", "interpreters"], "**/*.py", 24_000),
        (["core", "interpreters", "extend", "plugins", "api"], "**/*.py", 139_600),
    ],
)
def test_a_room_has_a_limit_of_lines(folders: list[str], pattern: str, most: int) -> None:
    count = lines_of([path for folder in folders for path in sorted((ROOT / folder).glob(pattern))])
    assert 0 < count <= most, "move what has another idea to its room, or put one mechanism in place of two"
