"""The drawing of the rooms shows the sources as they are."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest
from checkout import ROOT
from rooms import FILE, ROOMS, drawing, files_of, imports


def test_the_drawing_shows_the_rooms_and_their_imports() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert text == drawing(), "run `make surface`"
    paths = [node for node in ElementTree.fromstring(text).iter() if node.tag.endswith("}path")]
    assert len(paths) == 2 * len(imports())


def test_rooms_import_only_those_below() -> None:
    order = list(ROOMS)
    assert all(order.index(upper) < order.index(lower) for upper, lower in imports())


@pytest.mark.parametrize("room", ["core", "interpreters", "interpreters/runtime"])
def test_the_guide_names_every_file_of_the_kernel(room: str) -> None:
    text = (ROOT / "docs" / "kernel" / "rooms.md").read_text(encoding="utf-8")
    table = re.search(rf"files of `{room}/` \|\n(.*?)\n\n", text, re.DOTALL)
    assert table is not None
    named = set(re.findall(r"`([\w/]+)`", table[1]))
    files = {path.relative_to(ROOT / room).with_suffix("").as_posix() for path in files_of(room)}
    files = {"tree/" if name.startswith("tree/") else name for name in files if not name.endswith("__init__")}
    assert named == files
