"""The slot for placements in types, with placements and rules of this file in place of those of the plugin."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from primax.core import placement, rules
from primax.core.avals import ALL_BUT_SHAPE_AND_DTYPE, WEAKNESS, ShapedArray, same_type
from primax.core.errors import PluginError
from primax.core.placement import Placement
from primax.extend.host.plugin_host import host

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_jaxlib]

_made: dict[tuple[str, ...], Labels] = {}


class Labels(Placement):
    """A label for each dimension; in capitals for cotangents."""

    __slots__ = ("labels",)

    def __new__(cls, *labels: str) -> Labels:
        new = super().__new__(cls)
        new.labels = labels
        return _made.setdefault(labels, new)

    def __reduce__(self) -> Any:
        return Labels, self.labels

    def element(self, dim: int) -> Placement:
        return Labels(*self.labels[:dim], *self.labels[dim + 1 :])

    def stacked(self, dim: int) -> Placement:
        return Labels(*self.labels[:dim], "new", *self.labels[dim:])

    def reshaped(self, rank: int | None = None) -> Placement | None:
        return None if rank is None else Labels(*(*self.labels, *["more"] * rank)[:rank])

    def cotangent(self) -> Placement:
        return Labels(*(label.upper() for label in self.labels))

    def text(self, shape: Any) -> tuple[str, str]:
        return ",".join(f"{size}@{label}" for size, label in zip(shape, self.labels, strict=True)), "!"


class Rules:
    """Rules that record what they are asked."""

    def changed(self, before: Any, shape: Any, changes: Any) -> Placement:
        return Labels(*changes["sharding"])

    def whole(self, rank: int) -> Any:
        return f"whole, of rank {rank}"

    def like(self, x: Any, aval: Any) -> Any:
        return x, aval.placement


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "rules", Rules())


def of(*labels: str) -> ShapedArray:
    shape = tuple(range(2, 2 + len(labels)))
    return ShapedArray(shape, np.float32, placement=Labels(*labels) if labels else None)


def test_a_type_of_one_device_has_no_placement() -> None:
    aval = ShapedArray((2,), np.float32)
    assert (aval.placement, aval.vma) == (None, frozenset())
    assert aval.mapped(2, 0).placement is aval.unmapped(3, 0).placement is None
    assert aval.manual_axis_type == (frozenset(), frozenset(), frozenset())


def test_types_of_equal_placement_are_one_object() -> None:
    assert of("a", "b") is of("a", "b")
    assert of("a", "b") != of("a", "c")
    assert pickle.loads(pickle.dumps(of("a", "b"))) is of("a", "b")


def test_the_placement_of_an_element_loses_its_dimension_and_that_of_a_stack_has_a_new_one() -> None:
    aval = of("a", "b")
    assert aval.mapped(2, 0).placement is Labels("b")
    assert aval.mapped(3, 1).placement is Labels("a")
    assert aval.unmapped(9, 1).placement is Labels("a", "new", "b")
    assert aval.mapped(2, None) is aval.unmapped(2, None) is aval


def test_another_shape_loses_the_placement_unless_one_is_given() -> None:
    aval = of("a", "b")
    assert aval.update(shape=(6,)).placement is None
    assert aval.update(shape=(2, 3)) is aval
    assert aval.update(shape=(6,), placement=Labels("c")).placement is Labels("c")
    assert aval.update(dtype=np.float16).placement is Labels("a", "b")


def test_tangents_and_strong_types_keep_the_placement() -> None:
    aval = of("a").update(weak_type=True)
    assert aval.strip_weak_type() is of("a")
    assert aval.to_tangent_aval() is aval
    assert of("a").update(dtype=np.int32).to_tangent_aval().placement is Labels("a")


def test_cotangents_have_the_placement_of_the_dual() -> None:
    assert placement.cotangent_aval(of("a")) is of("A")
    assert placement.cotangent_aval(of("A")) is of("A")
    assert placement.cotangent_aval(of()) is of()


def test_a_type_shows_the_marks_of_its_placement() -> None:
    assert of("a", "b").str_short() == "f32[2@a,3@b]!"
    assert repr(of("a")) == "ShapedArray(float32[2@a]!)"


def test_a_type_without_placement_is_for_programs_inside_of_lowerings() -> None:
    assert placement.without_placement(of("a")) is ShapedArray((2,), np.float32)
    assert placement.without_placement(of()) is of()


def test_types_are_the_same_apart_from_placements_if_these_are_ignored() -> None:
    assert same_type(of("a"), of("b"), ALL_BUT_SHAPE_AND_DTYPE)
    assert not same_type(of("a"), of("b"), WEAKNESS)
    assert not same_type(of("a"), of("b"))


@pytest.mark.usefixtures("toy")
def test_shardings_and_values_are_converted_by_the_rules() -> None:
    aval = ShapedArray((2,), np.float32, sharding=("a",))
    assert aval is of("a")
    assert aval.update(sharding=("b",)) is of("b")
    assert of().sharding == "whole, of rank 0"
    assert placement.placed_like(1.0, of("a")) == (1.0, Labels("a"))
    assert placement.placed_like(1.0, of()) == 1.0


def test_the_plugin_of_the_rules_is_imported_when_they_are_required(monkeypatch: pytest.MonkeyPatch) -> None:
    class Loader(rules.NoPlugins):
        def import_builtin(self, name: str) -> None:
            placement.rules = f"the rules of {name}"

    monkeypatch.setattr(placement, "rules", None)
    monkeypatch.setattr(rules, "loader", Loader())
    assert placement.required() == "the rules of sharding"
    monkeypatch.setattr(rules, "loader", rules.NoPlugins())
    assert placement.required() == "the rules of sharding"  # they are there


def test_a_blocked_plugin_is_named_where_the_rules_are_required(monkeypatch: pytest.MonkeyPatch) -> None:
    record = host.record("sharding")
    monkeypatch.setattr(placement, "rules", None)
    monkeypatch.setattr(record, "state", "blocked")
    monkeypatch.setattr(record, "reason", "plugin 'sharding' is blocked: for this test")
    with pytest.raises(PluginError, match=r"^plugin 'sharding' is blocked: for this test$"):
        ShapedArray((2,), np.float32, sharding=("a",))
