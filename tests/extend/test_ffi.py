"""Foreign functions: C++ handlers called eagerly, in programs and under transformations, and a package that has one."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkout import ROOT
from packages import install, run, run_beside

import primax as px
import primax.numpy as pnp
from primax.core import _jaxlib
from primax.extend import core, ffi
from primax.extend.interpreters import ad, mlir
from primax.extend.provisional.ffi import vmap_methods

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
EXAMPLE = ROOT / "examples" / "primax-ffi-cpu"

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler on the path")


def struct(*shape: int, dtype: Any = np.float32) -> px.ShapeDtypeStruct:
    return px.ShapeDtypeStruct(shape, dtype)


F32 = struct()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The handlers of tests/support/handlers.cc, compiled and registered."""
    target = tmp_path_factory.mktemp("ffi") / "handlers.so"
    source = Path(__file__).parents[1] / "support" / "handlers.cc"
    flags = ["-std=c++17", "-O1", "-w", "-fPIC", "-shared", "-I", ffi.include_dir()]
    assert COMPILER is not None
    subprocess.run([COMPILER, *flags, str(source), "-o", str(target)], check=True)
    found = ctypes.CDLL(str(target))
    found.counter_id.restype = found.counter_info.restype = ctypes.c_void_p
    types = {"type_id": ffi.pycapsule(found.counter_id()), "type_info": ffi.pycapsule(found.counter_info())}
    ffi.register_ffi_type("test_counter", types)
    stages = {"instantiate": ffi.pycapsule(found.MakeCounterHandler), "execute": ffi.pycapsule(found.TickHandler)}
    ffi.register_ffi_target("test_tick", stages)
    for name in ("Scale", "Count", "Attributes"):
        ffi.register_ffi_target(f"test_{name.lower()}", ffi.pycapsule(getattr(found, f"{name}Handler")))
    return found


def scale(x: Any, factor: float = 2.0, **options: Any) -> Any:
    return ffi.ffi_call("test_scale", struct(*np.shape(x)), **options)(x, factor=np.float32(factor))


def test_a_foreign_function_is_called_eagerly_and_in_programs(library: Any) -> None:
    x = np.arange(3, dtype=np.float32)
    assert np.array_equal(scale(x), 2 * x)
    assert np.array_equal(px.jit(lambda x: scale(x) + 1)(x), 2 * x + 1)
    assert scale(np.float32(3)).shape == ()
    assert scale(np.zeros((0, 2), np.float32)).shape == (0, 2)


def test_results_come_in_the_container_they_are_described_in(library: Any) -> None:
    x = np.arange(4, dtype=np.float32)
    shapes = [F32, struct(dtype=np.int32)]
    for kind in (list, tuple):
        found = ffi.ffi_call("test_count", kind(shapes))(x)
        assert type(found) is kind
        assert [float(y) for y in found] == [6.0, 4.0]


def test_attributes_of_every_kind_arrive(library: Any) -> None:
    def f(**changes: Any) -> list[float]:
        given = {
            "flag": True,
            "integer": 3,
            "real": 0.5,
            "text": "four",
            "small": np.int8(-5),
            "numbers": np.int32([1, 2]),
            "options": {"depth": 7, "inner": {"rate": np.float32(0.25)}},
        }
        return ffi.ffi_call("test_attributes", struct(8))(**{**given, **changes}).tolist()  # type: ignore[no-any-return]

    assert f() == [1, 3, 0.5, 4, -5, 12, 7, 0.25]
    assert f(flag=np.bool_(False), integer=np.int64(4), text="", numbers=np.int32([3, 3]))[:6] == [0, 4, 0.5, 0, -5, 33]
    assert f(integer=2**40)[1] == 2**40


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (1j, TypeError, "attribute factor must be a bool, an integer, a real number, .*, got 1j"),
        (None, TypeError, "attribute factor must be a bool, .*, got None"),
        ((1, 2), TypeError, r"attribute factor must be a bool, .*, got \(1, 2\)"),
        (np.array("s"), TypeError, "attribute factor must be a bool"),
        ({"a": {"b": None}}, TypeError, r"attribute factor\['a'\]\['b'\] must be a bool"),
        ({1: 2}, TypeError, r"attribute factor: keys must be strings, got \[1\]"),
        (2**70, OverflowError, "attributes must fit 64 bits, got .*1180591620717411303424"),
        (2.0, px.XlaError, "expected F32 but got F64"),
    ],
)
def test_attributes_that_cannot_be_passed_are_refused(library: Any, value: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        ffi.ffi_call("test_scale", F32)(1.0, factor=value)


def test_attributes_that_are_equal_but_of_other_types_are_told_apart(library: Any) -> None:
    call = ffi.ffi_call("test_scale", F32)
    assert call(np.float32(1), factor=np.float32(1)) == 1
    with pytest.raises(px.XlaError, match="Wrong scalar data type"):
        call(np.float32(1), factor=1)


def test_a_handler_that_fails_is_an_xla_error_each_time(library: Any) -> None:
    f = px.jit(scale, static_argnums=1)
    x = np.ones(2, np.float32)
    assert f(x, 3.0).tolist() == [3, 3]
    for call in (scale, f, f, f):
        with pytest.raises(px.XlaError, match="the factor is negative"):
            call(x, -1.0).block_until_ready()
    assert f(x, 3.0).tolist() == [3, 3]


def test_an_error_names_the_function_the_primitive_and_the_line(library: Any) -> None:
    x = np.ones(2, np.float32)
    scale_p = core.Primitive("scale_by_ffi")
    scale_p.def_abstract_eval(lambda x, factor: x)
    mlir.register_lowering(scale_p, ffi.ffi_lowering("test_scale"))

    def negative(x: Any) -> Any:
        return scale_p.bind(x, factor=np.float32(-1))  # the line

    (line,) = [i + 1 for i, text in enumerate(Path(__file__).read_text().splitlines()) if text.endswith("# the line")]
    one = rf"(?s)negative.*function 'test_scale' for scale_by_ffi at .*test_ffi.py:{line} \("
    for f in (negative, px.jit(negative), lambda x: px.lax.scan(lambda c, _: (negative(c), None), x, length=2)):
        with pytest.raises(px.XlaError, match=one):
            f(x)
    with pytest.raises(px.XlaError, match=r"(?s)expected F32 but got S32.*'test_scale' for ffi_call at .*test_ffi.py:"):
        px.jit(scale)(np.int32([1, 2]))
    with pytest.raises(
        px.XlaError, match=r"(?s)Wrong number of attributes.*'test_scale' for ffi_call at .*test_ffi.py:"
    ):
        ffi.ffi_call("test_scale", F32)(np.float32(1))
    several = r"(?s)calls foreign functions:\n  'test_scale' for ffi_call at .*\n  'test_scale' for scale_by_ffi at"
    with pytest.raises(px.XlaError, match=several):
        px.jit(lambda x: negative(scale(x)))(x)
    large = np.ones((600, 600), np.float32)  # XLA returns before such a program has run
    with pytest.raises(px.XlaError, match="'test_scale' for ffi_call"):
        px.jit(lambda x: scale(x @ x, -1.0))(large)


def test_results_may_have_symbolic_sizes(library: Any) -> None:
    def twice(x: Any, **options: Any) -> Any:
        call = ffi.ffi_call("test_scale", px.ShapeDtypeStruct(x.shape, x.dtype), **options)
        return call(x, factor=np.float32(2))

    def rows(method: str) -> Any:
        return px.vmap(lambda x: twice(x, vmap_method=method))

    columns = {"input_layouts": [(1, 0)], "output_layouts": (1, 0)}
    n, m = px.export.symbolic_shape("n, m")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)

    def negative(x: Any) -> Any:
        return scale(x, -1.0)

    for f in (twice, lambda x: twice(x, **columns), rows("broadcast_all"), rows("sequential")):
        exported = px.export.export(px.jit(f))(px.ShapeDtypeStruct((n, m), np.float32))
        again = px.export.deserialize(exported.serialize())
        assert np.array_equal(again.call(x), 2 * x)
        assert np.array_equal(again.call(x[:1, :2]), 2 * x[:1, :2])
    kind = px.ShapeDtypeStruct((n,), np.float32)
    with pytest.raises(px.errors.UnsupportedError, match=r"ffi_call: .* call test_scale without aliases"):
        px.export.export(px.jit(lambda x: twice(x, input_output_aliases={0: 0})))(kind)
    with pytest.raises(ValueError, match=r"must not be 'sequential_unrolled' for n elements"):
        px.export.export(px.jit(rows("sequential_unrolled")))(kind)
    with pytest.raises(px.XlaError, match=r"'test_scale' for the exported negative at .*test_ffi.py"):
        px.export.export(px.jit(negative))(px.ShapeDtypeStruct((3,), np.float32)).call(x[0])


def test_a_function_that_is_not_registered_is_named(library: Any) -> None:
    with pytest.raises(px.XlaError, match="No FFI handler registered for test_missing"):
        ffi.ffi_call("test_missing", F32)(1.0)


def test_another_function_of_a_name_is_refused(library: Any) -> None:
    ffi.register_ffi_target("test_scale", ffi.pycapsule(library.ScaleHandler))
    with pytest.raises(px.XlaError, match="Duplicate FFI handler registration for test_scale"):
        ffi.register_ffi_target("test_scale", ffi.pycapsule(library.CountHandler))
    with pytest.raises(TypeError, match="fn of 'other' must be a capsule or a dictionary of them, got 3"):
        ffi.register_ffi_target("other", 3)
    with pytest.raises(TypeError, match="type_registration of 'other' must be a dictionary of capsules, got 3"):
        ffi.register_ffi_type("other", 3)  # type: ignore[arg-type]


def test_platforms_need_not_be_present(library: Any) -> None:
    ffi.register_ffi_target("test_scale", ffi.pycapsule(library.ScaleHandler), platform="tpu")
    ffi.register_ffi_target("test_scale", ffi.pycapsule(library.ScaleHandler), platform="a platform of the future")
    ffi.register_ffi_target("test_scale", ffi.pycapsule(library.ScaleHandler), platform="cuda")
    waiting = _jaxlib.xla_client._custom_callback
    assert "cuda" not in waiting
    assert "CUDA" in _jaxlib.xla_client._custom_callback_handler or waiting["CUDA"][-1][0] == "test_scale"


def test_a_state_belongs_to_a_program(library: Any) -> None:
    def tick() -> Any:
        return ffi.ffi_call("test_tick", F32, has_side_effect=True)()

    first, second = px.jit(lambda: tick()), px.jit(lambda: tick() + 0)
    assert [float(first()) for _ in range(3)] == [1, 2, 3]
    assert float(second()) == 1


def test_calls_with_side_effects_happen_although_nothing_uses_them(library: Any) -> None:
    def f(x: Any, has_side_effect: bool) -> Any:
        shapes = (F32, struct(dtype=np.int32))
        ffi.ffi_call("test_count", shapes, has_side_effect=has_side_effect)(x)
        return x

    x = np.ones(2, np.float32)
    for has_side_effect in (False, True):
        before = library.count_calls()
        px.jit(f, static_argnums=1)(x, has_side_effect)
        px.effects_barrier()
        assert library.count_calls() - before == has_side_effect
    assert [str(effect) for effect in px.make_jaxpr(f, static_argnums=1)(x, True).effects] == ["FFI"]


def test_layouts_are_those_that_the_handler_asks_for(library: Any) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)

    def f(x: Any, **layouts: Any) -> Any:
        return ffi.ffi_call("test_scale", struct(3, 2), **layouts)(x, factor=np.float32(1))

    assert np.array_equal(f(x), x.reshape(3, 2))
    assert np.array_equal(f(x, input_layouts=[(1, 0)]), x.T.reshape(3, 2))
    assert np.array_equal(f(x, output_layouts=(1, 0)), x.reshape(2, 3).T)
    for layouts, message in (
        ({"input_layouts": []}, "input_layouts must have one entry for each value, got 0 for 1 values"),
        ({"output_layouts": (0, 0)}, r"output_layouts must name each axis once, got \(0, 0\) for f32\[3,2\]"),
    ):
        with pytest.raises(ValueError, match=message):
            f(x, **layouts)


def test_arguments_may_lend_their_memory_to_results(library: Any) -> None:
    x = px.device_put(np.ones(3, np.float32))
    assert scale(x, input_output_aliases={0: 0}).tolist() == [2, 2, 2]
    assert x.tolist() == [1, 1, 1]
    text = px.jit(lambda x: scale(x, input_output_aliases={0: 0})).lower(x).as_text()
    assert "output_operand_aliases" in text
    for aliases, shape, message in (
        ({1: 0}, (3,), "must pair 1 arguments with 1 results, got 1: 0"),
        ({0: 0}, (4,), r"must pair values of the same type, got f32\[3\] and f32\[4\]"),
    ):
        with pytest.raises(ValueError, match=message):
            ffi.ffi_call("test_scale", struct(*shape), input_output_aliases=aliases)(x, factor=np.float32(2))


@pytest.mark.parametrize("method", vmap_methods)
def test_vmap_calls_in_the_way_that_is_asked_for(library: Any, method: str) -> None:
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    f = px.vmap(lambda x: scale(x, vmap_method=method), in_axes=1)
    assert np.array_equal(f(x), 2 * x.T)
    assert np.array_equal(px.jit(px.vmap(f))(np.stack([x, x + 1])), np.stack([2 * x.T, 2 * (x + 1).T]))
    calls = px.jit(f).lower(x).as_text().count("@test_scale")
    assert calls == (2 if method == "sequential_unrolled" else 1)
    if method.startswith("sequential"):
        assert f(np.zeros((3, 0), np.float32)).shape == (0, 3)


def test_vmap_without_a_way_says_which_there_are(library: Any) -> None:
    with pytest.raises(NotImplementedError, match=r"vmap_method must be given .*one of sequential, "):
        px.vmap(scale)(np.ones((2, 3), np.float32))
    with pytest.raises(ValueError, match=r"vmap_method must be one of sequential, .* or None, got 'twice'"):
        ffi.ffi_call("test_scale", F32, vmap_method="twice")


def test_layouts_are_extended_by_the_mapped_axis(library: Any) -> None:
    x = np.arange(12, dtype=np.float32).reshape(2, 2, 3)

    def f(x: Any) -> Any:
        layouts: Any = {"input_layouts": [(1, 0)], "output_layouts": (1, 0), "vmap_method": "expand_dims"}
        return scale(x, **layouts)

    assert np.array_equal(px.vmap(f)(x), 2 * x)


def test_derivatives_say_how_to_give_them(library: Any) -> None:
    with pytest.raises(px.errors.MissingRuleError, match=r"ffi_call .* does not support jvp: .*lowering=ffi_lowering"):
        px.grad(lambda x: scale(x))(np.float32(1))


def test_what_describes_no_result_is_refused(library: Any) -> None:
    with pytest.raises(TypeError, match="result_shape_dtypes must have shapes and dtypes, got 3"):
        ffi.ffi_call("test_scale", [3])
    with pytest.raises(ValueError, match="legacy_backend_config must be None in version 4"):
        ffi.ffi_call("test_scale", F32, legacy_backend_config="")
    with px.enable_x64(False), pytest.raises(ValueError, match="unless enable_x64 is on, got float64"):
        ffi.ffi_call("test_scale", struct(dtype=np.float64))


def test_a_primitive_may_be_lowered_to_a_foreign_function_and_have_rules(library: Any) -> None:
    p = core.Primitive("scaled_abroad")
    p.def_abstract_eval(lambda x, factor: x)
    mlir.register_lowering(p, ffi.ffi_lowering("test_scale"), platform="cpu")
    ad.deflinear2(p, lambda ct, x, factor: [p.bind(ct, factor=factor)])
    x = np.arange(3, dtype=np.float32)
    f = px.jit(lambda x: pnp.sum(p.bind(x, factor=np.float32(3)) ** 2))
    assert np.array_equal(px.grad(f)(x), 18 * x)


def test_attributes_may_be_fixed_in_the_lowering(library: Any) -> None:
    p = core.Primitive("doubled_abroad")
    p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(p, ffi.ffi_lowering("test_scale", backend_config={"factor": np.float32(2)}))
    assert p.bind(np.float32(4)) == 8
    build = ffi.build_ffi_lowering_function("test_scale", backend_config={"factor": np.float32(5)})
    mlir.register_lowering(p, lambda ctx, x: build(ctx, x).results)
    assert px.jit(lambda x: p.bind(x))(np.float32(4)) == 20


def test_older_interfaces_take_a_string(library: Any) -> None:
    call = ffi.ffi_call("test_old", F32, custom_call_api_version=2, legacy_backend_config="a=1")
    text = px.jit(lambda x: call(x)).lower(np.float32(1)).as_text()
    assert 'backend_config = "a=1"' in text
    with pytest.raises(ValueError, match=r"attributes of test_old must be given to version 4 only, got \['b'\]"):
        px.jit(lambda x: call(x, b=1)).lower(np.float32(1))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example package, compiled and installed into a folder."""
    folder = tmp_path_factory.mktemp("ffi-example")
    leave = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "dist", "*.so", ".*")
    return install(folder / "site", Path(shutil.copytree(EXAMPLE, folder / EXAMPLE.name, ignore=leave)))


def test_the_example_package_passes_its_tests_and_the_kit(site: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    printed = run(command, site.parent / EXAMPLE.name, PYTHONPATH=str(site)).stdout
    assert " passed" in printed
    assert " failed" not in printed


def test_the_example_package_is_found_when_its_primitive_is_bound(site: Path) -> None:
    program = """
        import sys
        import numpy as np
        import primax as px
        from primax_ffi_cpu import recurrence, recurrence_p
        from primax.extend.core import primitives

        print(recurrence(np.float32([1, 2, 3]), 0.5).tolist())
        print(px.grad(lambda a: recurrence(np.float32([1, 2, 3]), a)[2])(0.5))
        print(primitives["recurrence"] is recurrence_p, recurrence_p.plugin, "jax" in sys.modules)
    """
    assert run_beside(site, program).splitlines() == ["[1.0, 2.5, 4.25]", "3.0", "True ffi_cpu False"]


@pytest.mark.parametrize("funcptr", ["text", None, 1.5, type("Odd", (), {"_as_parameter_": 5})()])
def test_a_capsule_is_made_of_functions_pointers_and_addresses_alone(funcptr: Any) -> None:
    with pytest.raises(TypeError, match=r"^pycapsule: funcptr must be a function or pointer of ctypes, or an address"):
        ffi.pycapsule(funcptr)


def test_the_program_of_the_page_compiles_and_prints_what_the_page_shows(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "authors" / "foreign-functions.md").read_text(encoding="utf-8")
    source, command, program, printed = (
        re.search(rf"^```{kind}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)[1]  # type: ignore[index]
        for kind in ("cpp", "sh", "python", "text")
    )
    (tmp_path / "scale.cc").write_text(source)
    (tmp_path / "scale.py").write_text(program)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run(["sh", "-c", command], tmp_path, PATH=path)
    shown = run([sys.executable, "scale.py"], tmp_path).stdout.replace(str(tmp_path / "scale.py"), "<...>")
    assert shown == printed
