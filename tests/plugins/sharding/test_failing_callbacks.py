"""Callbacks that raise in programs over several devices, which wait for each other."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.sharding import Mesh, NamedSharding

pytestmark = pytest.mark.any_word_size

P = px.P


@pytest.fixture
def mesh() -> Mesh:
    return px.make_mesh((4, 2), ("x", "y"))


def _fails(*args):
    raise ValueError("the tide is out")


FAILING = {
    "pure": lambda x: px.pure_callback(_fails, px.ShapeDtypeStruct(x.shape, x.dtype), x) + 1,
    "io": lambda x: px.experimental.io_callback(_fails, px.ShapeDtypeStruct(x.shape, x.dtype), x) + 1,
    "debug": lambda x: (px.debug.callback(_fails, x), x * 2)[1],
    "debug alone": lambda x: px.debug.callback(_fails, x),
    "wrong shape": lambda x: px.pure_callback(lambda x: x[:1], px.ShapeDtypeStruct(x.shape, x.dtype), x),
    "key": lambda x: px.random.key_data(px.pure_callback(_fails, px.typeof(px.random.key(0)))),
    "loop": lambda x: px.lax.while_loop(
        lambda x: x.sum() < 100, lambda x: px.pure_callback(_fails, px.ShapeDtypeStruct(x.shape, x.dtype), x), x
    ),
}


@pytest.mark.parametrize("kind", FAILING)
@pytest.mark.parametrize("mapped", [False, True], ids=["whole", "shard_map"])
def test_a_callback_that_fails_is_an_error_of_the_call(mesh, kind, mapped):
    f = FAILING[kind]
    if mapped:
        out = P() if kind == "debug alone" else P("x")
        f = px.shard_map(
            lambda x: px.tree.map(lambda y: y + px.lax.psum(x.sum(), "x").astype(y.dtype), FAILING[kind](x)),
            mesh=mesh,
            in_specs=P("x"),
            out_specs=out,
            check_vma=False,
        )
    x = px.device_put(np.zeros(8, np.float32), NamedSharding(mesh, P("x")))
    with pytest.raises(px.XlaError, match=r"the tide is out|must be f32"):
        px.block_until_ready(px.jit(f)(x))
    px.effects_barrier()
    assert float(px.jit(pnp.sum)(x)) == 0


def test_a_program_whose_callback_has_failed_can_be_called_again(mesh):
    tide = ["out"]

    def look(x):
        if tide[0] == "out":
            raise ValueError("the tide is out")
        return x * 2

    f = px.jit(lambda x: px.pure_callback(look, px.ShapeDtypeStruct(x.shape, x.dtype), x) + 1)
    x = px.device_put(np.arange(8, dtype=np.float32), NamedSharding(mesh, P("x")))
    for _ in range(2):
        with pytest.raises(px.XlaError, match="the tide is out"):
            f(x)
    tide[0] = "in"
    assert f(x).tolist() == (np.arange(8) * 2 + 1).tolist()
