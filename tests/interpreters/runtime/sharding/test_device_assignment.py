"""Sites: the devices of programs, and the shardings of their arguments and results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primax as px
from primax.interpreters.runtime.sharding import device_assignment
from primax.interpreters.runtime.sharding.device_assignment import choose_device, choose_devices, meshes_of, one_device
from primax.sharding import Mesh, NamedSharding, SingleDeviceSharding

pytestmark = pytest.mark.any_word_size

P = px.P
X = np.arange(8, dtype=np.float32)


@pytest.fixture
def mesh() -> Mesh:
    return px.make_mesh((4, 2), ("x", "y"))


def struct(sharding: Any = None) -> px.ShapeDtypeStruct:
    return px.ShapeDtypeStruct((8,), np.float32, sharding=sharding)


def test_the_site_of_one_device_is_one_object() -> None:
    site = one_device(px.devices()[1])
    assert one_device(px.devices()[1]) is site
    assert (site.mesh, site.ins, site.outs, site.platform) == (None, None, None, "cpu")
    assert site.replicated is SingleDeviceSharding(px.devices()[1])
    assert str(site) == str(px.devices()[1])


def test_committed_arguments_choose_the_device() -> None:
    devices = px.devices()
    there = px.device_put(X, devices[3])
    assert choose_device([X, 2.0, there, there + 1]) == devices[3]
    assert choose_device([struct(SingleDeviceSharding(devices[2]))]) == devices[2]
    assert choose_device([X, px.numpy.asarray(X), struct()]) == devices[0]
    with px.default_device(devices[5]):
        assert choose_device([X]) == devices[5]
    with pytest.raises(ValueError, match=r"^arguments must be committed to the same devices, got cpu:3 and cpu:4"):
        choose_device([there, px.device_put(X, devices[4])])


def test_keys_choose_the_device_of_their_words() -> None:
    assert choose_device([px.device_put(px.random.key(0), px.devices()[2])]) == px.devices()[2]


def test_a_program_lies_over_the_mesh_of_its_arguments(mesh: Mesh) -> None:
    closed = px.make_jaxpr(lambda x, y: (x, y))(X, X)
    divided = NamedSharding(mesh, P("x"))
    site = choose_devices(closed, [struct(divided), X])
    whole = NamedSharding(mesh, P())
    assert (site.mesh, site.devices) == (mesh, tuple(mesh.devices.flat))
    assert (site.ins, site.outs) == ((divided, whole), (None, None))
    assert site.replicated is whole
    assert str(site) == "8 devices of cpu"


def test_shardings_that_are_asked_for_are_those_of_arguments_and_results(mesh: Mesh) -> None:
    closed = px.make_jaxpr(lambda x, y: (x, y))(X, X)
    along_x, along_y = NamedSharding(mesh, P("x")), NamedSharding(mesh, P("y"))
    site = choose_devices(closed, [X, struct(along_y)], (along_x, None), (None, along_x))
    assert (site.ins, site.outs) == ((along_x, along_y), (None, along_x))
    with pytest.raises(ValueError, match=r"^argument 0 of type f32\[8\] must have the sharding .*, as in_sh"):
        choose_devices(closed, [struct(along_y), X], (along_x, None))


def test_devices_that_differ_are_named_with_whose_they_are(mesh: Mesh) -> None:
    closed = px.make_jaxpr(lambda x: x)(X)
    half = NamedSharding(Mesh(px.devices()[:2], "x"), P("x"))
    there = NamedSharding(mesh, P("x"))
    with pytest.raises(ValueError, match=r"^arguments must be on the same devices, got .* and \[0, 1\] of cpu"):
        choose_devices(closed, [struct(there), struct(half)])
    with pytest.raises(ValueError, match=r"^arguments and out_shardings must be on the same devices"):
        choose_devices(closed, [struct(there)], None, (half,))
    with pytest.raises(ValueError, match=r"^in_shardings and arguments must be on the same devices"):
        choose_devices(closed, [struct(SingleDeviceSharding(px.devices()[0]))], (there,))


def test_the_mesh_in_scope_places_what_nothing_else_places(mesh: Mesh) -> None:
    closed = px.make_jaxpr(lambda x: x)(X)
    with px.set_mesh(mesh):
        assert choose_devices(closed, [X]).mesh is mesh
        alone = struct(SingleDeviceSharding(px.devices()[2]))
        assert choose_devices(closed, [alone]) is one_device(px.devices()[2])
    assert choose_devices(closed, [X]) is one_device(px.devices()[0])


def test_a_program_has_the_meshes_of_its_equations_and_of_inner_programs(mesh: Mesh) -> None:
    other = px.make_mesh((8,), ("i",))

    def f(x: Any) -> Any:
        x = px.lax.with_sharding_constraint(x, NamedSharding(mesh, P("x")))
        return px.jit(lambda y: px.lax.with_sharding_constraint(y, NamedSharding(other, P("i"))))(x)

    closed = px.make_jaxpr(f)(X)
    assert meshes_of(closed) == (mesh, other)
    assert meshes_of(closed) is meshes_of(closed)
    assert meshes_of(px.make_jaxpr(px.numpy.sin)(X)) == ()


def test_a_process_without_meshes_looks_at_the_devices_of_arguments_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_assignment, "meshes_exist", lambda: False)
    monkeypatch.setattr(device_assignment, "meshes_of", None)
    assert choose_devices(px.make_jaxpr(lambda x: x)(X), [X]) is one_device(px.devices()[0])
