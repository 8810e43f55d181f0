"""Programs that call what JAX's tutorials on its core and on primitives call: as they are on JAX, and on primax."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMPILER = """
import io
import numpy as np
from jax.extend.mlir import ir
from jax.extend.mlir.dialects import func
from jax.extend.mlir.dialects import stablehlo as hlo
from jax._src import xla_bridge as xb

ON_JAX = not type(xb.get_backend()).__module__.startswith("primax")


def type_of(x):
    element = {"float64": ir.F64Type.get, "bool": lambda: ir.IntegerType.get_signless(1)}[x.dtype.name]()
    return ir.RankedTensorType.get(x.shape, element)


def constant(x):
    x = np.asarray(x)
    if x.dtype != bool:
        return hlo.constant(ir.DenseElementsAttr.get(x))
    bits = np.packbits(x, bitorder="little")
    return hlo.constant(ir.DenseElementsAttr.get(bits, type=ir.IntegerType.get_signless(1), shape=x.shape))


def compiled(build, *samples):
    with ir.Context() as context, ir.Location.unknown(context):
        hlo.register_dialect(context)
        module = ir.Module.create()
        symbols = ir.SymbolTable(module.operation)
        with ir.InsertionPoint(module.body):
            @func.func(*map(type_of, samples))
            def main(*xs):
                return build(symbols, module, *xs)
        text = io.StringIO()
        module.operation.print(file=text)
    backend = xb.get_backend(None)
    return backend.compile_and_load(text.getvalue(), backend.devices()[:1])


def total(x, of):
    scalar = type_of(np.float64(0))
    op = hlo.ReduceOp([scalar], [x], [constant(np.float64(0))], list(range(of.ndim)))
    block = op.body.blocks.append(scalar, scalar)
    with ir.InsertionPoint(block):
        hlo.return_([hlo.add(*block.arguments)])
    return op.results[0]


def build(symbols, module, x):
    scalar = type_of(np.float64(0))
    with ir.InsertionPoint(module.body):
        @func.func(scalar)
        def inner(y):
            return hlo.multiply(hlo.sine(y), hlo.negate(hlo.cosine(y)))
    s = total(x, sample)
    call = func.CallOp(inner.func_op, [s])
    called = call.results[0]
    large = hlo.compare(s, constant(np.float64(1)), hlo.ComparisonDirectionAttr.get("GT"))
    op = hlo.IfOp([scalar], hlo.and_(large, constant(True)))
    with ir.InsertionPoint(op.true_branch.blocks.append()):
        hlo.return_([called])
    with ir.InsertionPoint(op.false_branch.blocks.append()):
        hlo.return_([constant(0.0)])
    wide = hlo.broadcast_in_dim(type_of(sample), op.results[0], [])
    return [wide, op.results[0]]


sample = np.array([1.0, 2.0, 3.0])
program = compiled(build, sample)
if ON_JAX:
    import jax
    jax.config.update("jax_enable_x64", True)
    buffers = [[jax.device_put(x)] for x in (sample, -sample)]
else:
    buffers = [[xb.get_backend(None).buffer_from_pyval(x)] for x in (sample, -sample)]
for xs in buffers:
    wide, one = map(np.asarray, program.execute(xs))
    assert wide.dtype == np.float64 and wide.shape == (3,) and np.all(wide == one)
    print(f"{float(one):.5f}")
again = compiled(lambda symbols, module, x: [hlo.add(x, x)], sample)
(out,) = again.execute(again.execute(buffers[0]))  # results are arguments too
print(np.asarray(out).tolist())
"""

PRIMITIVE = """
import numpy as np
from jax import core as types, lax
from jax._src import api
from jax._src.lax import lax as operations
from jax._src.lib.mlir.dialects import hlo
from jax.extend import core
from jax.interpreters import ad, batching, mlir


def refused(f, *args):
    try:
        f(*args)
    except NotImplementedError:
        return
    raise AssertionError("a rule is there")


fma_p = core.Primitive("fma")


def fma(x, y, z):
    return fma_p.bind(x, y, z)


def f(a, b):
    return fma(a, a, b)


# Rules come one by one, each after it was missed.
refused(f, 2.0, 10.0)
fma_p.def_impl(lambda x, y, z: np.add(np.multiply(x, y), z))
assert f(2.0, 10.0) == 14.0
refused(api.jit(f), 2.0, 10.0)


def type_of_result(x, y, z):
    assert x.shape == y.shape == z.shape
    return types.ShapedArray(x.shape, x.dtype)


fma_p.def_abstract_eval(type_of_result)
refused(api.jit(f), 2.0, 10.0)
mlir.register_lowering(fma_p, lambda ctx, x, y, z: [hlo.AddOp(hlo.MulOp(x, y), z).result], platform="cpu")
assert api.jit(f)(2.0, 10.0) == 14.0
assert api.jit(f, static_argnums=1)(2.0, 10.0) == 14.0
refused(api.jvp, f, (2.0, 10.0), (1.0, 1.0))


def slope(values, tangents):
    x, y, z = values
    dx, dy, dz = (operations.full_like(x, 0) if type(t) is ad.Zero else t for t in tangents)
    return fma(x, y, z), fma(dx, y, fma(x, dy, dz))


ad.primitive_jvps[fma_p] = slope
assert api.jvp(f, (2.0, 10.0), (1.0, 1.0)) == (14.0, 5.0)
assert api.jit(lambda xs, ts: api.jvp(f, xs, ts))((2.0, 10.0), (1.0, 1.0)) == (14.0, 5.0)
refused(api.grad(f), 2.0, 10.0)


def transposed(ct, x, y, z):
    if ad.is_undefined_primal(x):
        return (ad.Zero(x.aval) if type(ct) is ad.Zero else fma(ct, y, lax.full_like(y, 0))), None, ct
    assert ad.is_undefined_primal(y)
    return None, (ad.Zero(y.aval) if type(ct) is ad.Zero else fma(x, ct, lax.full_like(x, 0))), ct


ad.primitive_transposes[fma_p] = transposed
assert api.grad(f)(2.0, 10.0) == 4.0
assert api.jit(api.grad(f))(2.0, 10.0) == 4.0
xs = np.array([2.0, 3.0]), np.array([10.0, 20.0])
refused(api.vmap(f, in_axes=0, out_axes=0), *xs)


def batched(args, axes):
    assert axes[0] == axes[1] == axes[2]
    return fma(*args), axes[0]


batching.primitive_batchers[fma_p] = batched
assert np.allclose(api.vmap(f, in_axes=0, out_axes=0)(*xs), [14.0, 29.0])
assert np.allclose(api.jit(api.vmap(f))(*xs), [14.0, 29.0])
print("fourteen")
"""


def _run(*arguments: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("source", [COMPILER, PRIMITIVE], ids=["compiler", "primitive"])
def test_a_tutorial_runs_on_primax_as_it_is_and_rewritten(source: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(source, encoding="utf-8")
    as_it_is = _run("-m", "primax", "as-jax", "program.py", folder=tmp_path)
    if importlib.util.find_spec("jax") is not None:
        assert _run("program.py", folder=tmp_path) == as_it_is
    assert "0 names without counterpart" in _run("-m", "primax", "port", "program.py", folder=tmp_path)
    assert "import jax" not in (tmp_path / "program.py").read_text(encoding="utf-8")
    assert _run("program.py", folder=tmp_path) == as_it_is
    assert as_it_is in ("0.26829\n0.00000\n[4.0, 8.0, 12.0]\n", "fourteen\n")
