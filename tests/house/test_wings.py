"""The house runs without its wings: the families of meshes, collectives, keys, symbolic shapes and exports."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from processes import HANG

pytestmark = [pytest.mark.any_jaxlib, pytest.mark.any_word_size]

_PROGRAM = """
import json
import numpy as np
import primax as px
import primax.numpy as pnp
from primax.interpreters.runtime.eval import EvalTrace

x = pnp.arange(1.0, 4.0)
f = px.jit(lambda x: pnp.sin(x) * x)
np.testing.assert_allclose(f(x), np.sin([1, 2, 3]) * [1, 2, 3], rtol=1e-5)
np.testing.assert_allclose(px.grad(lambda x: f(x).sum())(x), np.sin(x) + x * np.cos(x), rtol=1e-5)
second = px.vmap(px.hessian(lambda x: f(x).sum()))(x[:, None]).ravel()
np.testing.assert_allclose(second, 2 * np.cos(x) - x * np.sin(x), rtol=1e-5)
assert float(px.lax.scan(lambda c, y: (c * y, c), 1.0, x)[0]) == 6
assert float(px.lax.cond(x[0] > 0, lambda: 1.0, lambda: 2.0)) == 1
np.testing.assert_allclose(pnp.linalg.solve(pnp.diag(x), x), [1, 1, 1], rtol=1e-5)
np.testing.assert_allclose(pnp.fft.fft(x)[0], 6, rtol=1e-5)
np.testing.assert_allclose(px.nn.softmax(x).sum(), 1, rtol=1e-5)
_, pullback = px.vjp(px.checkpoint(f), x)
np.testing.assert_allclose(pullback(x)[0], x * (np.sin(x) + x * np.cos(x)), rtol=1e-5)

# A second call does not come back to Python's side of evaluation.
def refuse(*args):
    raise AssertionError("not on the fast path")
before, EvalTrace.evaluate = EvalTrace.evaluate, refuse
np.testing.assert_allclose(f(x), np.sin([1, 2, 3]) * [1, 2, 3], rtol=1e-5)
EvalTrace.evaluate = before

def shard():
    mesh = px.make_mesh((1,), ("i",))
    return px.shard_map(lambda x: x, mesh=mesh, in_specs=px.P("i"), out_specs=px.P("i"))(x)

uses = {
    "random": lambda: px.random.normal(px.random.key(0), (2,)),
    "collectives": lambda: px.vmap(lambda x: px.lax.psum(x, "i"), axis_name="i")(x),
    "sharding": shard,
    "symbolic_shapes": lambda: px.export.symbolic_shape("b"),
    "export": lambda: px.export.deserialize(px.export.export(f)(x).serialize()).call(x),
}
found = {}
for name, use in uses.items():
    try:
        found[name] = repr(use())
    except Exception as error:
        found[name] = str(error)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def errors() -> dict[str, str]:
    """What uses of blocked plugins say, after everything else has run without them."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _PROGRAM],
        env=os.environ | {"PRIMAX_DISABLE_PLUGINS": "sharding,collectives,symbolic_shapes,export,random"},
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("plugin", ["sharding", "collectives", "symbolic_shapes", "export", "random"])
def test_a_use_of_a_blocked_plugin_names_it(errors: dict[str, str], plugin: str) -> None:
    assert f"plugin '{plugin}'" in errors[plugin]
    assert "PRIMAX_DISABLE_PLUGINS names it" in errors[plugin]


_ON_DEVICES = """
import numpy as np
import primax as px
import primax.numpy as pnp

mesh = px.make_mesh((2,), ("i",), axis_types=(px.sharding.AxisType.Auto,))
x = px.device_put(np.diag(np.arange(1.0, 5.0, dtype=np.float32)), px.NamedSharding(mesh, px.P("i")))
y = px.jit(pnp.linalg.cholesky)(x * x)  # its call of LAPACK is divided only by the blocked plugin
np.testing.assert_allclose(y, x, rtol=1e-6)
"""


def test_programs_run_on_several_devices_without_the_plugin_of_sharding() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _ON_DEVICES],
        env=os.environ
        | {"PRIMAX_DISABLE_PLUGINS": "sharding", "XLA_FLAGS": "--xla_force_host_platform_device_count=2"},
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )
    assert done.returncode == 0, done.stderr
