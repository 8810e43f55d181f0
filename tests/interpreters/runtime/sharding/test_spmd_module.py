"""The boundary of a module that is divided among devices."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
from primax.core.avals import ShapedArray
from primax.interpreters.runtime.sharding.shardy import SpmdShardings
from primax.interpreters.runtime.sharding.spmd_module import Boundary, boundary_of
from primax.interpreters.runtime.stablehlo_module import lower_to_module
from primax.sharding import Mesh, NamedSharding

pytestmark = pytest.mark.any_word_size

P = px.P
AVAL = ShapedArray((8,), np.float32)


@pytest.fixture
def spread() -> SpmdShardings:
    mesh: Mesh = px.make_mesh((4, 2), ("x", "y"))
    along_x, along_y, whole = (NamedSharding(mesh, P(*axes)) for axes in (("x",), ("y",), ()))
    return SpmdShardings(mesh, (whole,), (along_x, along_y), (along_y, None))


def test_a_module_for_one_device_has_no_boundary() -> None:
    assert boundary_of(None, [True], [AVAL], [AVAL]) is None


def test_shardings_are_of_the_arguments_that_the_module_takes(spread: SpmdShardings) -> None:
    boundary = boundary_of(spread, [False, True], [AVAL, AVAL], [AVAL, AVAL])
    assert boundary is not None
    assert boundary.ins == [spread.consts[0], spread.ins[1]]
    assert boundary.outs == spread.outs
    assert boundary.outer_avals() == ([AVAL, AVAL], [AVAL, AVAL])
    with pytest.raises(ValueError, match="longer"):
        Boundary(spread, [True, True, True], [AVAL], [])


def test_arguments_and_results_have_their_shardings_in_the_module(spread: SpmdShardings) -> None:
    closed = px.make_jaxpr(lambda x, y: (x * y, y))(np.ones(8, np.float32), np.ones(8, np.float32))
    text = str(lower_to_module(closed, "f", "cpu", spread=spread._replace(consts=())).module)
    (main,) = (line for line in text.splitlines() if "@main" in line)
    arguments, _, results = main.partition("->")
    assert '%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}' in arguments
    assert '%arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}' in arguments
    assert '(tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}, tensor<8xf32>)' in results
    assert "mhlo.num_partitions = 8" in text
