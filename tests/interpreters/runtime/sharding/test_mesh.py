"""Meshes and specifications: their identity, their axes and the mesh in scope."""

from __future__ import annotations

import copy
import operator
import pickle
import threading

import numpy as np
import pytest

import primax as px
from primax.interpreters.runtime.sharding.mesh import current_scope, placing_mesh
from primax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding

pytestmark = pytest.mark.any_word_size

P = px.P
H = np.arange(32, dtype=np.float32).reshape(8, 4)


@pytest.fixture
def mesh() -> Mesh:
    return px.make_mesh((4, 2), ("x", "y"))


def test_meshes_are_one_object_for_equal_devices_names_and_types(mesh):
    assert px.make_mesh((4, 2), ("x", "y")) is mesh
    assert px.make_mesh((4, 2), ("y", "x")) is not mesh
    assert px.make_mesh((4, 2), ("x", "y"), (AxisType.Explicit, AxisType.Auto)) is not mesh
    assert dict(mesh.shape) == {"x": 4, "y": 2}
    assert (mesh.size, mesh.empty, mesh.axis_names, mesh.axis_sizes) == (8, False, ("x", "y"), (4, 2))
    assert mesh.device_ids.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert repr(mesh) == "Mesh('x': 4, 'y': 2, axis_types=(Auto, Auto))"
    assert mesh.abstract_mesh == AbstractMesh((4, 2), ("x", "y"))
    assert hash(mesh.abstract_mesh) == hash(AbstractMesh((4, 2), ("x", "y")))
    assert pickle.loads(pickle.dumps(mesh)) is mesh
    assert pickle.loads(pickle.dumps(mesh.abstract_mesh)) == mesh.abstract_mesh


def test_specifications_compare_by_what_they_divide():
    assert P("x") == P(("x",))
    assert hash(P("x")) == hash(P(("x",)))
    assert P(()) == P(None)
    assert P("x", None) != P("x")
    assert repr(P("x", None, ("x", "y"))) == "P('x', None, ('x', 'y'))"
    assert list(P("x", None)) == ["x", None]
    assert P("x") + P("y") == P("x", "y")
    assert P("x", "y")[1] == "y"
    assert pickle.loads(pickle.dumps(P("x", unreduced={"y"}))) == P("x", unreduced={"y"})


def test_threads_enter_one_mesh_each_for_itself(mesh):
    wrong = []

    def enter():
        for _ in range(100):
            with mesh:
                with mesh:
                    wrong.append(px.get_mesh() is not mesh)
                wrong.append(px.get_mesh() is not mesh)
            wrong.append(not px.get_mesh().empty)

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(wrong) == 4 * 300
    assert not any(wrong)


def test_meshes_and_shardings_do_not_change(mesh):
    fixed = [
        (mesh, "devices"),
        (mesh, "axis_names"),
        (mesh.abstract_mesh, "axis_sizes"),
        (P("x"), "partitions"),
        (NamedSharding(mesh, P("x")), "spec"),
        (px.ShapeDtypeStruct((2,), "float32"), "shape"),
    ]
    for x, name in fixed:
        with pytest.raises(AttributeError, match=f"{name} cannot be assigned; make another"):
            setattr(x, name, None)
        assert copy.deepcopy(x) == x


def test_a_mesh_without_axes_is_empty():
    mesh = Mesh(np.empty((), object), ())
    assert (mesh.empty, mesh.size, mesh.abstract_mesh.empty, mesh.axis_names) == (True, 0, True, ())
    with pytest.raises(TypeError, match=r"devices must be an array of primax\.devices"):
        Mesh(None, "x")


def test_a_mesh_is_a_decorator(mesh):
    @mesh
    def f(x):
        return px.lax.with_sharding_constraint(x, P("x"))

    assert f(H).sharding is NamedSharding(mesh, P("x"))
    assert px.sharding.get_mesh().empty


def test_a_specification_says_which_axes_divide_an_axis():
    spec = P("x", None, ("y", "z"), P.UNCONSTRAINED)
    assert [spec.along(i) for i in range(5)] == [("x",), (), ("y", "z"), (), ()]
    assert (spec.axes, len(spec), spec.index(["x"]), spec.count(None)) == (("x", "y", "z"), 4, 0, 1)
    assert spec.update(partitions=("y",), reduced={"x"}) == P("y", reduced={"x"})
    assert operator.add(("y",), P("x", unreduced={"z"})) == P("y", "x", unreduced={"z"})
    assert repr(P("x")) == "P('x',)"
    assert repr(P(unreduced={"y", "x"}, reduced={"z"})) == "P(unreduced={'x', 'y'}, reduced={'z'})"
    assert pickle.loads(pickle.dumps(P.UNCONSTRAINED)) is P.UNCONSTRAINED
    with pytest.raises(
        ValueError, match=r"^PartitionSpec: an axis of the mesh must be in one of partitions and reduced"
    ):
        P("x", reduced={"x"})
    with pytest.raises(TypeError, match=r"^PartitionSpec: unreduced must be a set of names of mesh axes, got 'x'$"):
        P(unreduced="x")
    with pytest.raises(TypeError, match=r"^PartitionSpec\.update: no field named \['axes'\]$"):
        P().update(axes=())


def test_the_axes_of_a_mesh_are_of_three_types():
    kinds = (AxisType.Auto, AxisType.Explicit, AxisType.Manual)
    mesh = AbstractMesh((2, 3, 4), ("a", "e", "m"), kinds)
    assert (mesh.auto_axes, mesh.explicit_axes, mesh.manual_axes) == (("a",), ("e",), ("m",))
    assert (mesh.size, mesh.size_along(("a", "m")), mesh.size_along(())) == (24, 8, 1)
    assert repr(mesh) == "AbstractMesh('a': 2, 'e': 3, 'm': 4, axis_types=(Auto, Explicit, Manual))"
    auto = mesh.update_axis_types({"e": AxisType.Auto, "m": AxisType.Auto})
    assert (auto.are_all_axes_auto, mesh.are_all_axes_auto) == (True, False)
    assert auto == AbstractMesh((2, 3, 4), ("a", "e", "m"))
    assert auto.update(axis_types=AxisType.Manual).are_all_axes_manual


@pytest.mark.parametrize(
    "sizes, names, message",
    [
        ((2, 3), ("x",), r"AbstractMesh: there must be one name per axis, got 2 axes and names \('x',\)"),
        ((2, 3), ("x", "x"), r"AbstractMesh: axis_names must differ, got \('x', 'x'\)"),
        ((0,), ("x",), r"AbstractMesh: axes must have at least one device, got sizes \(0,\)"),
    ],
)
def test_axes_that_do_not_fit_are_refused(sizes, names, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        AbstractMesh(sizes, names)


def test_the_mesh_in_scope_is_that_of_the_innermost_block(mesh):
    other = px.make_mesh((8,), ("i",))
    assert (current_scope(), placing_mesh()) == (None, None)
    with mesh:
        assert (current_scope().mesh, placing_mesh()) == (mesh, None)
        with px.set_mesh(other):
            assert placing_mesh() is other
            with mesh:
                assert (current_scope().mesh, placing_mesh()) == (mesh, other)
        assert current_scope().mesh is mesh
    assert current_scope() is None


def test_a_pickled_mesh_needs_its_devices(mesh):
    ids = np.where(mesh.device_ids == 7, 107, mesh.device_ids)
    with pytest.raises(ValueError, match=r"^Mesh: the device ids \[107\] do not exist; there are \[0, 1, 2"):
        Mesh._of_ids("cpu", ids, mesh.axis_names, mesh.axis_types)
