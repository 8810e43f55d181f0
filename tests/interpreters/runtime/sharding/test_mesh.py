"""Meshes and specifications: their identity, their axes and the mesh in scope."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

import primax as px
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
