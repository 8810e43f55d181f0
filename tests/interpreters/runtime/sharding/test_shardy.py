"""Shardings in modules: the names of meshes, and the attributes of arguments and results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import primax as px
from primax.core._jaxlib import ir
from primax.core.jaxpr import Jaxpr
from primax.interpreters.runtime.lowering import ModuleContext
from primax.interpreters.runtime.mlir_context import shared_context
from primax.interpreters.runtime.sharding import shardy
from primax.sharding import AbstractMesh, AxisType, NamedSharding

pytestmark = pytest.mark.any_word_size

P = px.P
MESH = AbstractMesh((4, 2), ("x", "y"))


@pytest.fixture
def module() -> Iterator[ModuleContext]:
    with shared_context() as shared, shared.unknown:
        yield ModuleContext(shared, ir.Module.create(), "cpu", Jaxpr([], [], [], []))


def test_a_mesh_is_added_at_its_first_use_and_meshes_of_equal_axes_are_one(module: ModuleContext) -> None:
    assert shardy.mesh_symbol(module, MESH) == "mesh"
    assert shardy.mesh_symbol(module, AbstractMesh((8,), "x")) == "mesh_1"
    assert shardy.mesh_symbol(module, MESH.update(axis_types=AxisType.Explicit)) == "mesh"
    meshes = [line.strip() for line in str(module.module).splitlines() if "sdy.mesh" in line]
    assert sorted(meshes) == ['sdy.mesh @mesh = <["x"=4, "y"=2]>', 'sdy.mesh @mesh_1 = <["x"=8]>']


@pytest.mark.parametrize(
    "spec, more, text",
    [
        (P(), {}, "<@mesh, [{}, {}]>"),
        (P("x"), {}, '<@mesh, [{"x"}, {}]>'),
        (P(None, ("y", "x")), {}, '<@mesh, [{}, {"y", "x"}]>'),
        (P("x", P.UNCONSTRAINED), {}, '<@mesh, [{"x"}, {?}]>'),
        (P("x"), {"open_axes": True}, '<@mesh, [{"x", ?}, {?}]>'),
        (P("x"), {"open_axes": True, "whole": ("y",)}, '<@mesh, [{"x", ?}, {?}], replicated={"y"}>'),
        (P("x", unreduced={"y"}), {}, '<@mesh, [{"x"}, {}]>'),
    ],
)
def test_a_specification_has_its_attribute(module: ModuleContext, spec: P, more: dict[str, Any], text: str) -> None:
    attribute = shardy.sharding_attribute(module, MESH, spec, 2, **more)
    assert str(attribute) == f"#sdy.sharding{text}"


def test_values_have_attributes_unless_xla_chooses(module: ModuleContext) -> None:
    mixed = AbstractMesh((4, 2), ("x", "y"), (AxisType.Explicit, AxisType.Auto))
    shardings = [None, NamedSharding(MESH, P("y")), shardy.Explicit(mixed, P())]
    nothing, divided, explicit = shardy.sharding_attributes(module, shardings, [2, 1, 1])
    assert nothing == {}
    assert str(divided["sdy.sharding"]) == '#sdy.sharding<@mesh, [{"y"}]>'
    assert str(explicit["sdy.sharding"]) == '#sdy.sharding<@mesh, [{?}], replicated={"x"}>'
    with pytest.raises(ValueError, match="shorter"):
        shardy.sharding_attributes(module, shardings, [1])


def test_an_operation_runs_on_the_first_device_alone(module: ModuleContext) -> None:
    attribute = str(shardy.on_first_device(module, 2))
    assert attribute == "#sdy.sharding_per_value<[<@first_device, []>, <@first_device, []>]>"
    shardy.on_first_device(module, 1)
    assert str(module.module).count("sdy.mesh @first_device = <[], device_ids=[0]>") == 1
