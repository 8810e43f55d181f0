"""Sizes of axes of a class that a plugin registers."""

from __future__ import annotations

from typing import Any

import pytest

import primax as px
from primax.core import undo_log
from primax.core.avals import ShapedArray
from primax.core.dimensions import as_size, has_dynamic, is_dimension, register_dimension
from primax.extend.dimensions import max_dim, min_dim
from primax.extend.provisional.dimensions import as_array, bounds


class Rows:
    """The number of rows of a table, between 1 and 9."""

    def __repr__(self) -> str:
        return "rows"

    def __lt__(self, other: int) -> bool:
        return other > 9


ROWS = Rows()


@pytest.fixture
def registered() -> Any:
    undos: list[Any] = []
    with undo_log.recording(undos):
        register_dimension(
            Rows,
            as_array=lambda dim: px.numpy.int32(5),
            bounds=lambda dim: (1, 9),
            extreme=lambda kind, a, b: (kind, a, b),
            lowering=None,
        )
    yield
    undo_log.undo_all(undos)


def test_a_class_that_is_not_registered_is_no_size() -> None:
    assert not is_dimension(ROWS)
    with pytest.raises(TypeError, match=r"shape must consist of integers, got rows of type Rows in \(rows, 3\)"):
        ShapedArray((ROWS, 3), "float32")
    with pytest.raises(TypeError):
        as_size(ROWS)


@pytest.mark.usefixtures("registered")
def test_sizes_of_a_registered_class_are_in_shapes() -> None:
    aval = ShapedArray((ROWS, 3), "float32")
    assert aval.str_short() == "f32[rows,3]"
    assert has_dynamic([ShapedArray((2,), "float32"), aval])
    out = px.eval_shape(px.vmap(px.lax.sin), px.ShapeDtypeStruct((ROWS, 3), "float32"))
    assert out.shape == (ROWS, 3)


@pytest.mark.usefixtures("registered")
def test_questions_about_a_size_go_to_its_plugin() -> None:
    assert as_size(ROWS) is ROWS
    assert int(as_array(ROWS)) == 5
    assert (bounds(ROWS), bounds(4)) == ((1, 9), (4, 4))
    assert max_dim(ROWS, 4) == ("max", ROWS, 4)
    assert min_dim(4, ROWS) == ("min", 4, ROWS)
    assert (max_dim(3, 4), min_dim(3, 4)) == (4, 3)


def test_what_is_no_class_or_no_dimension_is_refused() -> None:
    with pytest.raises(TypeError, match="register_dimension: kind must be a class, got rows"):
        register_dimension(ROWS, as_array=id, bounds=id, extreme=id, lowering=None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="as_array: dim must be a dimension of an active plugin, got 3"):
        as_array(3)
    with pytest.raises(TypeError, match="max_dim: a and b must be integers or symbolic dimensions, got 'a' and 1"):
        max_dim("a", 1)
