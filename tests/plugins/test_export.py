"""Exported functions run where their code is not, and say what they cannot do."""

from __future__ import annotations

import gc
import hashlib
import json
import math
import os
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.errors import MissingRuleError
from primax.export import Exported, deserialize, export
from primax.extend import core
from primax.extend.interpreters import mlir
from primax.plugins.export import file
from primax.plugins.export.stablehlo_artifact import artifact_text

ONES = np.ones(3, np.float32)


def roundtrip(exported: Exported, **options: Any) -> Exported:
    return deserialize(exported.serialize(**options))


def model() -> Any:
    offset = px.device_put(np.arange(3, dtype=np.float32))
    return px.jit(lambda d, *, scale: {"y": pnp.sin(d["x"]) * scale + offset, "n": (d["n"] + 1, None)})


def test_what_is_loaded_computes_the_same_and_knows_its_types() -> None:
    f = model()
    exported = export(f)({"x": ONES, "n": np.int32(3)}, scale=np.float32(2))
    loaded = roundtrip(exported)
    for one in (exported, loaded):
        out = one.call({"x": ONES, "n": np.int32(3)}, scale=np.float32(2))
        np.testing.assert_allclose(out["y"], 2 * math.sin(1) + np.arange(3), rtol=1e-6)
        assert (out["n"][0].tolist(), out["n"][1]) == (4, None)
        assert one.in_tree == px.tree.structure((({"x": 0, "n": 0},), {"scale": 0}))
        assert one.out_tree == px.tree.structure({"y": 0, "n": (0, None)})
        assert [aval.str_short() for aval in one.in_avals] == ["i32[]", "f32[3]", "f32[]"]
        assert [aval.str_short() for aval in one.out_avals] == ["i32[]", "f32[3]"]
        assert (one.fun_name, one.platforms) == ("<lambda>", ("cpu",))
        assert "stablehlo.sine" in one.mlir_module()
        assert one.mlir_module_serialized == exported.mlir_module_serialized
    assert repr(loaded) == "<Exported <lambda> for cpu>"


@pytest.mark.parametrize("name", ["bool", "int8", "uint16", "float16", "bfloat16", "float8_e4m3fn", "complex64"])
def test_dtypes_survive(name: str) -> None:
    value = (np.arange(4) % 2).astype(getattr(ml_dtypes, name, name))
    held = px.device_put(value)
    loaded = roundtrip(export(px.jit(lambda x: (x, held)))(value))
    for out in loaded.call(value):
        assert (out.dtype, np.asarray(out).tobytes()) == (value.dtype, value.tobytes())


def test_the_calling_convention_is_told_and_survives() -> None:
    least = px.export.minimum_supported_calling_convention_version
    newest = px.export.maximum_supported_calling_convention_version
    exported = px.export.export(px.jit(lambda x, y: x))(1.0, 2.0)
    assert exported.calling_convention_version == newest
    assert exported.module_kept_var_idx == (0, 1)
    assert exported.ordered_effects == exported.unordered_effects == exported.disabled_safety_checks == ()
    for version in (least, newest):
        exported.calling_convention_version = version
        assert roundtrip(exported).calling_convention_version == version
    exported.calling_convention_version = least - 1
    with pytest.raises(ValueError, match="of a calling convention from 9 to 10, got 8"):
        roundtrip(exported)


def test_64_bits_need_no_option_to_be_loaded() -> None:
    with px.enable_x64(True):
        data = export(px.jit(lambda x: x * 2))(np.arange(3.0)).serialize()
        x = px.device_put(np.arange(3.0))
    with px.enable_x64(False):
        loaded = deserialize(data)
        assert loaded.in_avals[0].dtype == np.float64
        assert loaded.call(x).tolist() == [0.0, 2.0, 4.0]
        with pytest.raises(TypeError, match=r"argument\[0\] must be f64\[3\].*got f32\[3\]"):
            loaded.call(np.arange(3.0))


def test_arguments_and_results_may_be_nothing() -> None:
    assert roundtrip(export(px.jit(lambda: ()))()).call() == ()
    assert roundtrip(export(px.jit(lambda x: None))(1.0)).call(2.0) is None
    assert float(roundtrip(export(px.jit(lambda x, unused: x))(1.0, ONES)).call(2.0, ONES)) == 2.0
    static = px.jit(lambda x, n: x * n, static_argnums=1)
    assert float(roundtrip(export(static)(1.0, 3)).call(2.0)) == 6.0
    assert export(model())({"x": px.ShapeDtypeStruct((3,), np.float32), "n": 1}, scale=1.0).in_avals


def test_loaded_functions_are_parts_of_programs() -> None:
    inner = px.jit(lambda x: px.jit(lambda y: y * 2.0)(x) + 1.0)
    one = roundtrip(export(inner)(1.0))
    two = roundtrip(export(px.jit(lambda x: inner(x) * inner(x)))(1.0))

    def f(x: Any) -> Any:
        return one.call(x) + two.call(inner(x)) + one.call(x)

    expected = 3.0 + 49.0 + 3.0
    assert [float(f(1.0)), float(px.jit(f)(1.0)), float(px.jit(px.jit(f))(1.0))] == [expected] * 3
    text = px.jit(f).lower(1.0).as_text()
    assert text.count("func.func public") == 1
    assert "call_exported" in str(px.make_jaxpr(f)(1.0))
    again = roundtrip(export(px.jit(f))(1.0))
    assert float(again.call(1.0)) == expected


def test_operations_that_are_not_of_stablehlo_itself() -> None:
    f = px.jit(lambda x: pnp.arctanh(x) + pnp.sinh(x) + pnp.tan(x))
    x = np.linspace(-0.5, 0.5, 5, dtype=np.float32)
    loaded = roundtrip(export(f)(x))
    np.testing.assert_allclose(loaded.call(x), f(x), rtol=1e-6)
    np.testing.assert_allclose(px.jit(lambda x: loaded.call(x) * 2)(x), f(x) * 2, rtol=1e-6)


def test_derivatives_of_the_order_that_was_asked_for() -> None:
    f = px.jit(lambda x, n: (pnp.sin(x) * 2.0, n))
    data = export(f)(1.0, 2)
    loaded = deserialize(data.serialize(vjp_order=2))
    for one in (data, loaded):

        def g(x: Any, one: Exported = one) -> Any:
            return one.call(x, 2)[0]

        assert float(px.grad(g)(1.0)) == pytest.approx(2 * math.cos(1), rel=1e-6)
        assert float(px.jit(px.grad(px.grad(g)))(1.0)) == pytest.approx(-2 * math.sin(1), rel=1e-6)
        (ct,) = one.vjp().call(1.0, 2, 3.0)
        assert float(ct) == pytest.approx(6 * math.cos(1), rel=1e-6)
    with pytest.raises(MissingRuleError, match=r"_vjp_vjp was exported without its derivative.*vjp_order=1"):
        px.grad(px.grad(px.grad(lambda x: loaded.call(x, 2)[0])))(1.0)
    with pytest.raises(ValueError, match="without derivatives of that order"):
        loaded.serialize(vjp_order=3)


def test_orders_of_derivatives_are_small_numbers() -> None:
    exported = export(px.jit(lambda x: x + 1.0))(1.0)
    with pytest.raises(TypeError, match="serialize: vjp_order must be an integer, got 'a'"):
        exported.serialize(vjp_order="a")  # type: ignore[arg-type]
    for order in (-1, 2**40):
        with pytest.raises(ValueError, match=rf"serialize: vjp_order must be in \[0, 16\], got {order}"):
            exported.serialize(vjp_order=order)


def test_what_a_loaded_function_cannot_do_is_said() -> None:
    exported = export(px.jit(lambda x: x * x))(1.0)
    bare, once = roundtrip(exported), roundtrip(exported, vjp_order=1)
    assert (bare.has_vjp(), once.has_vjp()) == (False, True)
    with pytest.raises(MissingRuleError, match=r"exported without its derivative.*serialize\(vjp_order=1\)"):
        px.grad(bare.call)(1.0)
    with pytest.raises(ValueError, match="without its derivative"):
        bare.vjp()
    with pytest.raises(MissingRuleError, match="reverse mode only"):
        px.jvp(once.call, (1.0,), (1.0,))
    with pytest.raises(MissingRuleError, match="export the mapped function"):
        px.vmap(bare.call)(np.ones(3))
    elsewhere = export(px.jit(lambda x: x + 1.0), platforms=["cuda"])(1.0)
    assert elsewhere.platforms == ("cuda",)
    with pytest.raises(MissingRuleError, match=r"exported for \['cuda'\].*built for 'cpu'"):
        elsewhere.call(1.0)
    both = roundtrip(export(px.jit(lambda x: x + 1.0), platforms=["cuda", "cpu"])(1.0))
    assert float(both.call(1.0)) == 2.0
    assert "stablehlo.add" in both.mlir_module("cuda")
    with pytest.raises(ValueError, match="platform must be one of"):
        both.mlir_module("tpu")


def test_arguments_of_other_types_are_refused() -> None:
    loaded = roundtrip(export(model())({"x": ONES, "n": 3}, scale=1.0))
    with pytest.raises(TypeError, match=r"argument\[0\]\['x'\] must be f32\[3\].*exported for, got f32\[2\]"):
        loaded.call({"x": ONES[:2], "n": 3}, scale=1.0)
    with pytest.raises(TypeError, match=r"argument\['scale'\] must be f\d+\[\].*got i\d+\[\]"):
        loaded.call({"x": ONES, "n": 3}, scale=1)
    with pytest.raises(TypeError, match="differ in structure from those it was exported for"):
        loaded.call({"x": ONES, "n": 3})


def test_what_cannot_be_exported_is_refused() -> None:
    with pytest.raises(TypeError, match="fun_jit must be a function returned by jit"):
        export(lambda x: x)
    with pytest.raises(TypeError, match="export: disabled_checks must be a sequence, got 2"):
        export(px.jit(lambda x: x), disabled_checks=2)
    with pytest.raises(ValueError, match="platforms must be a sequence of names"):
        export(px.jit(lambda x: x), platforms="cpu")(1.0)
    p = core.Primitive("calls_python")
    p.def_abstract_eval(lambda x: x)

    def lowering(ctx: Any, x: Any) -> Any:
        ctx.module_context.add_host_callback(lambda x: x)
        return [x]

    mlir.register_lowering(p, lowering)
    with pytest.raises(ValueError, match="calls Python functions"):
        export(px.jit(lambda x: p.bind(x)))(1.0)


class Pair(NamedTuple):
    left: Any
    right: Any


class Stranger(NamedTuple):
    value: Any


@px.tree_util.register_pytree_node_class
class Tagged:
    def __init__(self, value: Any, tag: str) -> None:
        self.value = value
        self.tag = tag

    def tree_flatten(self) -> Any:
        return (self.value,), self.tag

    @classmethod
    def tree_unflatten(cls, tag: str, children: Any) -> Any:
        return cls(*children, tag)


px.export.register_namedtuple_serialization(Pair, serialized_name="test_export.Pair")


def test_classes_of_nodes_are_written_by_the_names_they_were_given() -> None:
    f = px.jit(lambda pair: Pair(pair.right, [pair.left]))
    out = roundtrip(export(f)(Pair(1.0, 2))).call(Pair(3.0, 4))
    assert type(out) is Pair
    assert (int(out.left), float(out.right[0])) == (4, 3.0)

    g = px.jit(lambda t: Tagged(t.value * 2.0, t.tag + "!"))
    with pytest.raises(ValueError, match=r"the arguments has a node of type .*Tagged.*register_pytree_node_serial"):
        export(g)(Tagged(1.0, "a")).serialize()
    with pytest.raises(ValueError, match=r"Stranger.*register_namedtuple_serialization"):
        export(px.jit(lambda s: s.value))(Stranger(1.0)).serialize()
    with pytest.raises(ValueError, match="keys of dicts in the results must be strings or numbers"):
        export(px.jit(lambda x: {("a", 1): x}))(1.0).serialize()
    px.export.register_pytree_node_serialization(
        Tagged, serialized_name="test_export.Tagged", serialize_auxdata=str.encode, deserialize_auxdata=bytes.decode
    )
    exported = export(g)(Tagged(1.0, "a"))
    out = roundtrip(exported).call(Tagged(3.0, "a"))
    assert (type(out), float(out.value), out.tag) == (Tagged, 6.0, "a!")
    with pytest.raises(TypeError, match="differ in structure"):
        roundtrip(exported).call(Tagged(3.0, "b"))
    with pytest.raises(ValueError, match="must be new"):
        px.export.register_namedtuple_serialization(Pair, serialized_name="another name")
    with pytest.raises(ValueError, match="must be a named tuple"):
        px.export.register_namedtuple_serialization(int, serialized_name="int")


def test_the_structure_of_a_node_may_be_made_from_children() -> None:
    made: list[str] = []

    px.tree_util.register_pytree_node(Other, lambda x: ((x.value,), "tag"), lambda tag, children: Other(*children))
    px.export.register_pytree_node_serialization(
        Other,
        serialized_name="test_export.Other",
        serialize_auxdata=str.encode,
        deserialize_auxdata=bytes.decode,
        from_children=lambda tag, children: made.append(tag) or Other(*children),
    )
    out = roundtrip(export(px.jit(lambda x: Other(x.value + 1.0)))(Other(1.0))).call(Other(3.0))
    assert (float(out.value), made) == (4.0, ["tag", "tag"])


class Other:
    def __init__(self, value: Any) -> None:
        self.value = value


def test_data_that_cannot_be_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = export(px.jit(lambda x: x + 1.0))(1.0).serialize()
    assert float(deserialize(bytearray(data)).call(1.0)) == 2.0
    for damaged in (data[:-1], data[:40], data[:100] + b"?" + data[101:], data + b" "):
        with pytest.raises(ValueError, match=r"data \(of format 1\) is damaged"):
            deserialize(damaged)
    for foreign in (b"", b"something else", data[1:]):
        with pytest.raises(ValueError, match=r"must be what Exported.serialize\(\) returned"):
            deserialize(foreign)
    with pytest.raises(TypeError, match="data must be bytes, got str"):
        deserialize("text")  # type: ignore[arg-type]
    start = len(file._MAGIC)
    assert data[start : start + 4] == (1).to_bytes(4, "little")
    newer = data[:start] + (7).to_bytes(4, "little") + data[start + 4 :]
    with pytest.raises(ValueError, match="data is of format 7, and this primax reads formats up to 3"):
        deserialize(newer)
    with monkeypatch.context() as patch:
        patch.setattr(file, "artifact_version", lambda: "99.1.0")
        newer = export(px.jit(lambda x: x + 1.0))(1.0).serialize()
    with pytest.raises(ValueError, match=r"data is in StableHLO 99\.1\.0, and this jaxlib reads versions up to \d"):
        deserialize(newer)


def changed(data: bytes, change: Any) -> bytes:
    """A file whose header is another, with the checksum that belongs to it."""
    start = len(file._MAGIC) + 12
    size = int.from_bytes(data[start - 8 : start], "little")
    header = json.loads(data[start : start + size])
    change(header)
    text = json.dumps(header).encode()
    body = data[: start - 8] + len(text).to_bytes(8, "little") + text + data[start + size : -32]
    return body + hashlib.sha256(body).digest()


@pytest.mark.parametrize(
    "change,said",
    [
        (lambda h: h.clear(), "must have an entry 'stablehlo' of type str"),
        (lambda h: h.update(stablehlo="1..2"), "must have a version of StableHLO, but has '1..2'"),
        (lambda h: h.update(program=[]), "must have an entry 'program' of type dict"),
        (lambda h: h["program"].update(modules=[["cpu", 10**9]]), "must give the sizes of programs"),
        (lambda h: h["program"].update(modules=[]), "must name a platform"),
        (lambda h: h["program"]["modules"][0].reverse(), "must name each platform once"),
        (lambda h: h["program"].update({"in": [[[-1], "float32", False]]}), "must have types of shape"),
        (lambda h: h["program"].update({"in": [[[2**62], "float32", False]]}), "must have types of shape"),
        (
            lambda h: h["program"].update({"out": [[[], "object", False]]}),
            "must have dtypes of arrays",
        ),
        (lambda h: h["program"].update(name=3), "must have an entry 'name' of type str"),
        (lambda h: h["program"].update(vjp=3), "must have an entry 'vjp' of type dict"),
        (lambda h: h.update(in_tree="*"), r"must be a structure \(args, kwargs\)"),
        (lambda h: h.update(in_tree=["tuple", [["tuple", []], "*"]]), r"must be a structure \(args, kwargs\)"),
        (lambda h: h.update(out_tree=["list", ["*", "*"]]), "one leaf for each of 1 types, got 2"),
        (lambda h: h.update(out_tree=["dict", ["*"], [[]]]), "must have structures of trees"),
        (lambda h: h.update(out_tree=["node", ["*"], "nobody's", ""]), "which this process has not registered"),
    ],
)
def test_headers_that_no_exported_function_has_are_refused(change: Any, said: str) -> None:
    data = export(px.jit(lambda x: x + 1.0))(1.0).serialize()
    assert changed(data, lambda header: None) == data
    with pytest.raises(ValueError, match=f"deserialize: .*{said}"):
        deserialize(changed(data, change))


def test_a_program_that_is_not_what_its_header_tells_is_refused_when_it_is_called() -> None:
    data = export(px.jit(lambda x: x + 1.0))(np.float32(1)).serialize()
    other = deserialize(changed(data, lambda h: h["program"].update({"in": [[[3], "float32", False]]})))
    with pytest.raises(ValueError, match="its program must have the types in its header"):
        other.call(np.ones(3, np.float32))
    with pytest.raises(ValueError, match="its program cannot be read; the file is damaged"):
        artifact_text(b"abc")


def test_names_in_a_program_must_be_text() -> None:
    body = export(px.jit(lambda x: x + 1.0))(1.0).serialize()[:-32].replace(b"main", b"m\xe3in")
    loaded = deserialize(body + hashlib.sha256(body).digest())
    with pytest.raises(ValueError, match="names in its program must be UTF-8; the file is damaged"):
        loaded.call(1.0)


def test_loaded_functions_are_freed() -> None:
    loaded = roundtrip(export(px.jit(lambda x: x * 3.0))(1.0), vjp_order=1)
    for _ in range(2):
        loaded.call(1.0), px.grad(loaded.call)(1.0), px.jit(loaded.call)(1.0), px.make_jaxpr(loaded.call)(1.0)
    watched = weakref.ref(loaded._artifact)
    del loaded
    for _ in range(3):  # what one collection frees may hold what the next one does
        gc.collect()
    assert watched() is None


LOAD = """
import sys
import numpy as np, primax as px
with open(sys.argv[1], "rb") as file:
    loaded = px.export.deserialize(file.read())
x = np.arange(3, dtype=np.float32)
out = loaded.call({"x": x, "n": np.int32(3)}, scale=np.float32(2))
np.testing.assert_allclose(out["y"], np.sin(x) * 2 + x, rtol=1e-6)
gradient = px.grad(lambda x: loaded.call({"x": x, "n": np.int32(3)}, scale=np.float32(2))["y"].sum())(x)
np.testing.assert_allclose(gradient, np.cos(x) * 2, rtol=1e-6)
assert "jax" not in sys.modules
print(loaded)
"""


def test_another_process_runs_what_it_has_no_code_for(tmp_path: Path) -> None:
    path = tmp_path / "exported"
    path.write_bytes(export(model())({"x": ONES, "n": np.int32(3)}, scale=np.float32(1)).serialize(vjp_order=1))
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PRIMAX_ENABLE_X64": "0"},
    )
    assert (done.returncode, done.stdout) == (0, "<Exported <lambda> for cpu>\n"), done.stderr
