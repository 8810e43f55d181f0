"""The drawing of the rooms shows the sources as they are."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from rooms import FILE, ROOMS, drawing, imports


def test_the_drawing_shows_the_rooms_and_their_imports() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert text == drawing(), "run `make surface`"
    paths = [node for node in ElementTree.fromstring(text).iter() if node.tag.endswith("}path")]
    assert len(paths) == 2 * len(imports())


def test_rooms_import_only_those_below() -> None:
    order = list(ROOMS)
    assert all(order.index(upper) < order.index(lower) for upper, lower in imports())
