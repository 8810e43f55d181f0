"""Objects whose public attributes keep their first values."""

from __future__ import annotations

import pytest

from primax.core.frozen import SetOnce, refuse_assignment

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_jaxlib]


class Point(SetOnce):
    __slots__ = ("_norm", "x")

    def __init__(self, x: int) -> None:
        self.x = x
        self._norm = None


def test_a_public_attribute_keeps_its_first_value_and_others_change() -> None:
    point = Point(3)
    point._norm = 3
    with pytest.raises(AttributeError, match=r"^Point\.x cannot be assigned; make another Point instead$"):
        point.x = 4
    assert (point.x, point._norm) == (3, 3)


def test_any_object_may_refuse_an_assignment() -> None:
    with pytest.raises(AttributeError, match=r"^list\.size cannot be assigned; make another list instead$"):
        refuse_assignment([], "size")
