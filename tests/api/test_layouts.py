"""Layouts and spaces of memory: what programs are told, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
from primax.experimental.layout import Format, Layout, with_layout_constraint
from primax.memory import Space

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_programs_are_told_how_values_lie_and_values_stay():
    f = px.jit(lambda x: with_layout_constraint({"a": x + 1}, Layout((1, 0)))["a"] * 2)
    np.testing.assert_array_equal(f(X), (X + 1) * 2)
    text = f.lower(X).as_text()
    assert "@LayoutConstraint" in text
    assert "result_layouts = [dense<[0, 1]>" in text
    np.testing.assert_array_equal(with_layout_constraint(X, Layout((1, 0))), X)


def test_derivatives_and_batches_have_layouts_too():
    def f(x):
        return (with_layout_constraint(2 * x, Layout((1, 0))) ** 2).sum()

    np.testing.assert_array_equal(px.jit(px.grad(f))(X), 8 * X)
    mapped = px.make_jaxpr(px.vmap(lambda x: with_layout_constraint(x, Layout((1, 0))), 1, 1))(np.ones((2, 4, 3)))
    assert mapped.eqns[-1].params["layout"] == Layout((1, 2, 0))


def test_wrong_layouts_are_named():
    with pytest.raises(ValueError, match=r"must order the axes of arrays of shape \(2, 3\)"):
        with_layout_constraint(X, Layout((0,)))
    with pytest.raises(TypeError, match="layouts must be Layouts, got 3"):
        with_layout_constraint(X, 3)


def test_arrays_are_put_row_by_row_in_the_memory_of_devices():
    sharding = px.numpy.ones(2).sharding
    np.testing.assert_array_equal(px.device_put(X, Format(Layout((0, 1)), sharding)), X)
    with pytest.raises(ValueError, match="must have a row-major layout"):
        px.device_put(X, Format(Layout((1, 0)), sharding))
    np.testing.assert_array_equal(px.device_put(X, Space.Device), X)
    with pytest.raises(ValueError, match=r"must not be Space.Host: .*primax.device_get"):
        px.device_put(X, Space.Host)


def test_arrays_tell_their_formats():
    mesh = px.make_mesh((2,), ("rows",))
    divided = px.device_put(X, px.NamedSharding(mesh, px.P("rows")))
    assert divided.format == Format(Layout((0, 1)), divided.sharding)
    assert px.numpy.float32(1).format.layout == Layout(())
    again = px.device_put(X + 1, divided.format)
    assert again.format == divided.format


def test_layouts_may_be_left_to_xla():
    left = Format(Layout.AUTO)
    compiled = px.jit(lambda x: x.T, in_shardings=left, out_shardings=left).lower(X).compile()
    np.testing.assert_array_equal(compiled(X), X.T)
    assert compiled.output_formats.layout == Layout((0, 1))
    assert repr(left) == "Format(layout=Layout.AUTO, sharding=None)"
    with pytest.raises(TypeError, match=r"layout must be a Layout, Layout.AUTO or None, got 3"):
        Format(3)
