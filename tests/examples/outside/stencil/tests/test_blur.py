"""The rules of the primitive, and its values and errors."""

from __future__ import annotations

from typing import Any

import primax as px
import primax.numpy as pnp
import pytest
from primax.extend.testing import conformance

from stencil import blur

test_every_rule_holds = conformance("stencil")


def test_it_adds_the_neighbours() -> None:
    assert blur(pnp.arange(4.0), 1.0).tolist() == [1.0, 3.0, 6.0, 5.0]


def test_its_transformations_compose() -> None:
    slope = px.jit(px.vmap(px.grad(lambda x: blur(x, 2.0)[0])))
    assert slope(pnp.ones((2, 3))).tolist() == [[1.0, 2.0, 0.0]] * 2


def test_an_error_of_the_handler_names_it_and_the_line() -> None:
    def loss(x: Any) -> Any:
        return blur(x, -1.0).sum()

    with pytest.raises(px.XlaError, match=r"(?s)not be negative.*'stencil_blur' for blur at .*test_blur\.py:\d+"):
        px.jit(loss)(pnp.ones(3))


def test_programs_with_symbolic_sizes_are_exported() -> None:
    (n,) = px.export.symbolic_shape("n")
    exported = px.export.export(px.jit(lambda x: blur(x, 1.0)))(px.ShapeDtypeStruct((n,), "float32"))
    assert exported.call(pnp.ones(3)).tolist() == [2.0, 3.0, 2.0]
