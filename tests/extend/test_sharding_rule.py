"""Rules of the kind `sharding` as text: what they say of shapes, and what is refused."""

from __future__ import annotations

import pytest

from primax.extend.provisional.sharding_rule import WHOLE, dimension_rule


def factors(text, operands, results):
    return dimension_rule(text).factors("p", operands, results)


def test_dimensions_of_one_name_are_one_factor():
    found = factors("i k:sum, k j -> i j", [(2, 3), (3, 4)], [(2, 4)])
    assert found.names == ("i", "k", "j")
    assert found.sizes == (2, 3, 4)
    assert found.operands == ((0, 1), (1, 2))
    assert found.results == ((0, 2),)
    assert [found.mark(i) for i in range(3)] == ["", "sum", ""]


def test_dimensions_without_a_counterpart_must_stay_whole():
    found = factors("i k -> i j", [(2, 3)], [(2, 4)])
    assert [found.mark(i) for i in range(3)] == ["", WHOLE, WHOLE]


def test_a_mark_holds_for_all_places_of_a_name():
    found = factors("n!, n -> n", [(2,), (2,)], [(2,)])
    assert found.mark(0) == WHOLE


def test_leading_dimensions_belong_together_from_the_last():
    found = factors("... n!, ... -> ... n!", [(5, 2, 3), (2,)], [(5, 2, 3)])
    assert found.operands == ((0, 1, 2), (1,))
    assert found.results == ((0, 1, 2),)
    assert [found.mark(i) for i in range(3)] == ["", "", WHOLE]


def test_leading_dimensions_of_length_1_are_repeated():
    found = factors("..., ... -> ...", [(2, 3), (1, 3)], [(2, 3)])
    assert found.operands[1][0] not in found.operands[0]
    assert found.operands[1][1] == found.operands[0][1]


def test_one_result_of_leading_dimensions_stands_for_all():
    assert factors("... -> ...", [(2, 3)], [(2, 3), (2, 3)]).results == ((0, 1), (0, 1))


def test_a_place_without_a_name_is_its_own_and_whole():
    found = factors("i _ -> i _", [(2, 3)], [(2, 5)])
    assert found.operands == ((0, 1),)
    assert found.results == ((0, 2),)
    assert found.mark(1) == found.mark(2) == WHOLE


@pytest.mark.parametrize(
    "text, message",
    [
        ("i j", "must have '->'"),
        ("i i -> i", "must name each dimension of a value once"),
        ("2 -> 2", "must name dimensions by identifiers"),
        ("i:mean -> ", "must mark reductions as sum, max, min"),
        ("k:sum, k! -> ", "must mark the dimension 'k' in one way"),
    ],
)
def test_texts_that_are_no_rules_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        dimension_rule(text)


@pytest.mark.parametrize(
    "operands, message",
    [
        ([(2, 3)], "is for 2 operands, got 1"),
        ([(2,), (3, 4)], "names 2 dimensions, 'i k', of a value of rank 1"),
        ([(2, 3), (4, 4)], "gives the dimension 'k' the sizes 3 and 4"),
    ],
)
def test_shapes_that_do_not_fit_are_refused_with_the_rule_and_the_primitive(operands, message):
    with pytest.raises(ValueError, match=f"sharding rule 'i k, k j -> i j' of p {message}"):
        factors("i k, k j -> i j", operands, [(2, 4)])
