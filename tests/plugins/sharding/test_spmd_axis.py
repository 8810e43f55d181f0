"""`vmap(spmd_axis_name=)`: a mapped axis that is divided along axes of a mesh."""

from __future__ import annotations

import re

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax

pytestmark = pytest.mark.usefixtures("in_32_bits")

P = px.P
X = np.sin(np.arange(64, dtype=np.float32)).reshape(8, 4, 2)


@pytest.fixture
def mesh() -> px.sharding.Mesh:
    return px.make_mesh((4, 2), ("i", "j"))


def summed(x):
    return x * 2 + lax.psum(x * x, "j")


def test_values_and_derivatives_do_not_depend_on_it(mesh):
    f = px.shard_map(summed, mesh=mesh, in_specs=P("j"), out_specs=P("j"))
    whole, divided = px.vmap(f), px.vmap(f, spmd_axis_name="i")
    np.testing.assert_allclose(divided(X), whole(X), rtol=1e-6)
    got, want = (px.grad(lambda x, g=g: (g(x) ** 2).sum())(X) for g in (divided, whole))
    np.testing.assert_allclose(got, want, rtol=1e-5)
    twice = px.vmap(divided, in_axes=3, out_axes=3)
    np.testing.assert_allclose(twice(X[..., None])[..., 0], whole(X), rtol=1e-6)


def test_each_device_has_its_elements(mesh):
    f = px.vmap(px.shard_map(summed, mesh=mesh, in_specs=P("j"), out_specs=P("j")), spmd_axis_name="i")
    (eqn,) = px.make_jaxpr(f)(X).eqns
    assert eqn.params["in_specs"] == eqn.params["out_specs"] == (P("i", "j"),)
    (part,) = eqn.params["jaxpr"].in_avals
    assert part.str_short() == "f32[2,2,2]{V:(i,j)}"
    y = px.jit(f)(X)
    assert y.sharding.is_equivalent_to(px.NamedSharding(mesh, P("i", "j")), 3)


def test_several_axes_divide_together_and_the_mapped_axis_may_be_anywhere(mesh):
    f = px.shard_map(pnp.sin, mesh=mesh, in_specs=P(), out_specs=P())
    (eqn,) = px.make_jaxpr(px.vmap(f, in_axes=1, spmd_axis_name=("i", "j")))(X.swapaxes(0, 1)).eqns[:1]
    assert eqn.params["in_specs"] == (P(None, ("i", "j")),)
    np.testing.assert_array_equal(px.vmap(f, spmd_axis_name=("i", "j"))(X), px.vmap(f)(X))


def test_what_is_not_mapped_is_the_same_on_all_devices(mesh):
    f = px.shard_map(lambda x, w: (x * w, w + 1), mesh=mesh, in_specs=(P("j"), P()), out_specs=(P("j"), P()))
    w = np.float32([2, 3])

    def total(g, w):
        return sum(y.sum() for y in g(X, w))

    whole, divided = (px.vmap(f, (0, None), spmd_axis_name=name) for name in (None, "i"))
    np.testing.assert_allclose(divided(X, w)[0], whole(X, w)[0])
    got, want = (px.grad(lambda w, g=g: total(g, w))(w) for g in (divided, whole))
    np.testing.assert_allclose(got, want, rtol=1e-5)
    assert px.make_jaxpr(divided)(X, w).eqns[0].params["in_specs"] == (P("i", "j"), P())


def test_only_axes_that_shard_map_maps_divide(mesh):
    f = px.shard_map(pnp.cos, mesh=mesh, in_specs=P("j"), out_specs=P("j"), axis_names={"j"})
    assert px.make_jaxpr(px.vmap(f, spmd_axis_name="i"))(X).eqns[0].params["in_specs"] == (P(None, "j"),)
    np.testing.assert_array_equal(px.jit(px.vmap(f, spmd_axis_name="i"))(X), px.vmap(f)(X))


def test_types_that_tell_nothing_work_too(mesh):
    f = px.shard_map(summed, mesh=mesh, in_specs=P("j"), out_specs=P("j"), check_vma=False)
    np.testing.assert_allclose(px.vmap(f, spmd_axis_name="i")(X), px.vmap(f)(X), rtol=1e-6)


def test_constraints_say_it_of_the_mapped_axis(mesh):
    def constrained(x):
        return lax.with_sharding_constraint(x * 2, px.NamedSharding(mesh, P("j")))

    y = px.jit(px.vmap(constrained, spmd_axis_name="i"))(X)
    assert y.sharding.spec == P("i", "j")
    np.testing.assert_array_equal(y, X * 2)


def test_other_programs_do_not_see_it():
    np.testing.assert_array_equal(px.vmap(lambda x: x + 1, spmd_axis_name="no axis")(X), X + 1)


BAD = [
    (
        "j",
        8,
        "must name axes that the specifications of shard_map do not use, got 'j', which P('j',)",
    ),
    ("k", 8, "spmd_axis_name must name axes of Mesh('i': 4, 'j': 2, axis_types=(Auto, Auto)), got 'k'"),
    ("i", 6, "the mapped axis must be a multiple of 4 to be divided along spmd_axis_name, 'i' of size 4, got 6"),
]


@pytest.mark.parametrize("name, size, message", BAD)
def test_what_does_not_fit_is_refused(mesh, name, size, message):
    f = px.shard_map(summed, mesh=mesh, in_specs=P("j"), out_specs=P("j"))
    with pytest.raises(ValueError, match=re.escape(message)):
        px.vmap(f, spmd_axis_name=name)(X[:size])


def test_collectives_along_the_mapped_axis_are_refused(mesh):
    for name, axis_name in (("b", "b"), ("i", None)):
        f = px.shard_map(lambda x, name=name: lax.psum(x, name), mesh=mesh, in_specs=P(), out_specs=P())
        with pytest.raises(ValueError, match=r"must be None if a shard_map inside communicates along .* got"):
            px.vmap(f, axis_name=axis_name, spmd_axis_name="i")(X)


def test_constraints_that_have_the_axis_are_refused(mesh):
    def f(x):
        return lax.with_sharding_constraint(x, px.NamedSharding(mesh, P("j")))

    with pytest.raises(ValueError, match="that the specifications of with_sharding_constraint do not use"):
        px.vmap(f, spmd_axis_name="j")(X)
