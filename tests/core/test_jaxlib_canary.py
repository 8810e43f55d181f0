"""What primax takes from jaxlib is there and behaves: run first with a new jaxlib, to learn what it broke.

    python tests/core/test_jaxlib_canary.py

takes seconds and names each entry point that is gone or changed, even where primax itself cannot be imported.
"""

from __future__ import annotations

import ast
import importlib
import operator
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.any_word_size

ROOT = Path(__file__).parents[2]
ROOM = ast.parse((ROOT / "core" / "_jaxlib.py").read_text())

# The parameters that primax gives, in the order in which it gives them. A release may add others after these.
PARAMETERS = {
    "ArrayImpl": "self aval sharding arrays committed _skip_checks",
    "CompileOptions": "self",
    "DeviceList": "self arg",
    "GSPMDSharding": "self devices op_sharding memory_kind",
    "JaxRuntimeError": "self msg",
    "PjitFunctionCache": "self capacity",
    "TracebackScope": "self",
    "array_result_handler": "aval sharding committed",
    "batched_copy_array_to_devices_with_sharding": "arg0 arg1 arg2 arg3",
    "batched_device_put": "aval sharding xs devices committed force_copy host_buffer_semantics",
    "buffer_to_dlpack_managed_tensor": "buffer stream",
    "collect_garbage": "",
    "config.Config": "self name value include_in_jit_key include_in_trace_context",
    "config.trace_context": "",
    "dlpack_managed_tensor_to_buffer": "dlpack device stream copy",
    "get_topology_for_devices": "arg",
    "hlo_module_cost_analysis": "arg0 arg1",
    "mlir.serialize_portable_artifact": "mlir_module target",
    "pjit": "function_name fun cache_miss static_argnums static_argnames global_cache_key pytree_registry "
    "shard_arg_fallback cache",
    "register_custom_type": "type_name type_id",
}


def _path(node: ast.expr) -> str:
    """`a.b.c` of an expression that is a name and its attributes, or nothing."""
    if isinstance(node, ast.Attribute):
        inner = _path(node.value)
        return f"{inner}.{node.attr}" if inner else ""
    return node.id if isinstance(node, ast.Name) else ""


def _paths(tree: ast.AST) -> set[str]:
    return {_path(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)} - {""}


def _modules() -> dict[str, str]:
    """The table of the modules that the room loads on first use."""
    for node in ROOM.body:
        if isinstance(node, ast.Assign) and _path(node.targets[0]) == "_LAZY":
            return ast.literal_eval(node.value)
    raise AssertionError("core/_jaxlib.py has no table of modules")


def _names() -> list[str]:
    """Every name that the room reads of the client, and that the sources read of the modules: 'module name'."""
    modules = _modules()
    found = {f"jaxlib._jax {path.removeprefix('_jax.')}" for path in _paths(ROOM) if path.startswith("_jax.")}
    for folder in ("core", "interpreters", "extend", "plugins"):
        for source in sorted((ROOT / folder).rglob("*.py")):
            for path in _paths(ast.parse(source.read_text())):
                *_, module, name = ("", *path.removeprefix("_jaxlib.").split("."))
                if module in modules and module != "version":
                    found.add(f"{modules[module]} {name}")
    return sorted(found)


@pytest.mark.parametrize("name", _names())
def test_jaxlib_has_the_name(name):
    module, path = name.split()
    importlib.import_module(_modules()["sdy"])  # comes before its extension, as in the room
    operator.attrgetter(path)(importlib.import_module(module))


@pytest.mark.parametrize("module", _modules().values())
def test_jaxlib_has_the_module(module):
    importlib.import_module(_modules()["sdy"])
    importlib.import_module(module)


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_parameters_are_those_that_primax_gives(name):
    entry = operator.attrgetter(name)(importlib.import_module("jaxlib._jax"))
    signatures = _parameters(entry.__init__ if isinstance(entry, type) else entry)
    expected = PARAMETERS[name].split()
    assert [names for names in signatures if names[: len(expected)] == expected], (
        f"{name} takes ({', '.join(signatures[0])}), and primax gives ({', '.join(expected)})"
    )


def _parameters(function) -> list[list[str]]:
    """The names of the parameters of each overload; nanobind writes a default as a backslash and a number."""
    overloads = []
    for text, *_ in function.__nb_signature__:
        text = re.sub(r"^def \w*\(|= \\\d+", lambda match: "def f(" if match[0][0] == "d" else "= 0", text)
        arguments = ast.parse(f"{text}: ...").body[0].args
        overloads.append([a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)])
    return overloads


def test_the_release_is_in_the_range_that_the_package_asks_for(jaxlib):
    requirements = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert f"jaxlib>={'.'.join(map(str, jaxlib.FIRST))}" in requirements
    assert jaxlib.release >= jaxlib.FIRST


def test_the_table_is_of_known_releases_in_their_order(jaxlib):
    releases = [change.since for change in jaxlib.CHANGES]
    assert releases == sorted(releases)
    assert all(jaxlib.FIRST < since < jaxlib.NEXT for since in releases)


@pytest.fixture(scope="module")
def jaxlib():
    return importlib.import_module("primax.core._jaxlib")


def test_each_change_between_releases_is_as_the_table_says(jaxlib, backend):
    there = {change.name: jaxlib.release >= change.since for change in jaxlib.CHANGES}
    raw = importlib.import_module("jaxlib._jax")
    b = backend.put_value(np.ones(3, np.float32))._b
    assert there == {
        "serialize_portable_artifact": "mlir_module: str" not in raw.mlir.serialize_portable_artifact.__doc__,
        "chlo.mulhi": hasattr(jaxlib.chlo, "mulhi"),
        "deserialize_portable_artifact": _ends_the_process(_DAMAGED),
        "get_pjrt_plugin": hasattr(raw, "get_pjrt_plugin"),
        "array_result_handler": "_skip_checks" not in raw.array_result_handler.__nb_signature__[0][0],
        "xla_cpu_use_fusion_emitters": not _compiles_with(jaxlib, backend, "xla_cpu_use_fusion_emitters"),
        "ArrayImpl.aval": _raises(AttributeError, setattr, b, "aval", b.aval),
        "sdy_ext": _prints("import sys, jaxlib.mlir._mlir_libs._sdy; print('jaxlib.mlir.dialects.sdy' in sys.modules)"),
    }


# For each fault a program that tells whether the result is right. A fault may give the right number by chance.
_FAULTY = {
    "sum of products": """
m, x = np.ones((3, 3), np.float32), np.arange(120_000, dtype=np.float32).reshape(40_000, 3)
print(np.allclose(px.jit(lambda m, x: (m @ x.T).sum(0))(m, x), 3 * x.sum(1)))""",
    "extrema of NaN": """
x = np.full((64, 1000), np.nan, np.float32)
print(bool(np.isnan(px.jit(lambda x: x.max(1))(x)).all()))""",
    "bounds of terms": """
x = np.full((64, 1000), np.nan, np.float32)
print(bool(np.isnan(px.jit(lambda x: px.numpy.maximum(x, 0).sum(1))(x)).all()))""",
    "exp of NaN": """
f = px.jit(lambda x: px.lax.exp(px.numpy.where(x == 1, np.nan, 1.0)))
print(all(bool(px.numpy.isnan(f(np.ones(n, np.float32))).all()) for n in (5, 64)))""",
}
_UNGUARDED = """
import numpy as np, primax as px
from primax.extend.stablehlo import xla_faults
from primax.interpreters.runtime import lowering
lowering._layers[:] = [layer for layer in lowering._layers if layer.applies.__module__ != xla_faults.__name__]
"""


@pytest.mark.parametrize("name", _FAULTY)
def test_each_fault_is_there_as_the_table_says(jaxlib, name, monkeypatch):
    if name == "bounds of terms" and jaxlib.release < (0, 10, 1):
        pytest.skip("this release was seen right in the program of this test only, so that the guard stays")
    monkeypatch.delenv("XLA_FLAGS", raising=False)  # quick compilation has other faults
    monkeypatch.delenv("PRIMAX_COMPILATION_CACHE_DIR", raising=False)
    tries = 4 if jaxlib.has_fault(name) else 1
    is_right = all(_prints(_UNGUARDED + _FAULTY[name]) for _ in range(tries))
    assert jaxlib.has_fault(name) is not is_right, f"the table of faults is wrong about jaxlib {jaxlib.release}"


def test_the_table_of_faults_is_of_known_releases(jaxlib):
    assert {fault.name for fault in jaxlib.FAULTS} == _FAULTY.keys()
    assert all(fault.until is None or jaxlib.FIRST < fault.until < jaxlib.NEXT for fault in jaxlib.FAULTS)


# A damaged artifact, read while a diagnostic handler is there.
_DAMAGED = """
import jaxlib._jax, jaxlib.mlir.ir
context = jaxlib.mlir.ir.Context()
context.attach_diagnostic_handler(lambda diagnostic: True)
try:
    jaxlib._jax.mlir.deserialize_portable_artifact(b"abc", context)
except Exception:
    print("an error")
"""


def _ends_the_process(program):
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, timeout=600)
    return done.returncode < 0


def _prints(program):
    """The value that a program prints."""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=600)
    return ast.literal_eval(done.stdout)


def test_the_dialect_of_shardings_has_all_names_whatever_is_loaded_first():
    program = """
from primax.core import _jaxlib
_jaxlib.sdy_ext.register_dialect
print({name for name in vars(_jaxlib.sdy_ext) if not name.startswith("_")} - vars(_jaxlib.sdy).keys())
"""
    assert _prints(program) == set()


def _raises(kind, function, *args):
    try:
        function(*args)
    except kind:
        return True
    return False


def _compiles_with(jaxlib, backend, option):
    client = importlib.import_module("primax.interpreters.runtime.devices.backends").client("cpu")
    options = backend.compile_options(client.devices()[:1])
    options.env_option_overrides = [(option, False)]
    text = "func.func public @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"
    devices = jaxlib.DeviceList((client.devices()[0],))
    return not _raises(jaxlib.XlaRuntimeError, client.compile_and_load, text, devices, options)


def test_options_that_are_gone_are_left_out(jaxlib):
    options = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}
    assert list(jaxlib.known_options(options)) == list(options)[: 1 + (jaxlib.release < (0, 11, 1))]


def test_a_newer_release_warns_and_goes_on():
    program = """
import jaxlib, warnings
jaxlib.__version__ = "0.99.1.dev3"
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import primax as px
(warning,) = [w for w in caught if "jaxlib" in str(w.message)]
assert warning.category is RuntimeWarning and "jaxlib 0.99.1.dev3 is newer" in str(warning.message), warning
assert float(px.numpy.add(1, 2)) == 3
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=600)


@pytest.fixture(scope="module")
def backend():
    return importlib.import_module("primax.interpreters.runtime.device_put")


def test_the_second_call_of_a_signature_does_not_enter_python():
    import_module = importlib.import_module
    px = import_module("primax")
    evaluate = import_module("primax.interpreters.runtime.eval")
    calls = []
    inner = px.jit(lambda x: x + 1)

    def miss(x):
        calls.append(x)
        return inner.__wrapped__(x), None, False

    function = evaluate.fast_function("canary", None, miss, key="canary")
    x = px.device_put(np.ones(3, np.float32))
    function(x)
    assert len(calls) == 1
    traced = []
    counted = px.jit(lambda x: traced.append(1) or x + 1)
    for _ in range(3):
        counted(x)
    assert len(traced) == 1
    assert counted._cache_size() == 1


def test_a_program_takes_buffers_and_hands_its_results_to_handlers(jaxlib):
    px = importlib.import_module("primax")
    x, gone = (px.device_put(np.ones(3, np.float32)) for _ in range(2))
    program = px.jit(lambda x: x + 1).lower(x).compile()._executable.xla
    handler = jaxlib.array_result_handler(x.aval, x.sharding, committed=False)
    (b,) = program.execute_sharded([x._b]).consume_with_handlers([handler])
    assert (b.aval, b._sharding, b._committed) == (x.aval, x.sharding, False)
    assert np.asarray(memoryview(b)).tolist() == [2, 2, 2]
    gone._b.delete()
    for argument in (gone._b, None, 1):
        with pytest.raises((px.errors.JaxRuntimeError, TypeError)):
            program.execute_sharded([argument])


def test_the_texts_of_errors_tell_their_reasons(jaxlib):
    px = importlib.import_module("primax")
    dispatch = importlib.import_module("primax.interpreters.runtime.dispatch")
    x = px.device_put(np.ones(3, np.float32))
    program = px.jit(lambda x, y: x + y, donate_argnums=0).lower(x, x).compile()._executable.xla
    with pytest.raises((px.errors.JaxRuntimeError, ValueError)) as raised:
        program.execute_sharded([x._b, x._b])
    assert jaxlib.repeats_donated_buffer(raised.value)
    assert jaxlib.status_of(raised.value) == "INVALID_ARGUMENT"

    cache = jaxlib.PjitFunctionCache(1)
    registry = dispatch.dispatch_registry
    function = jaxlib.pjit("canary", abs, lambda x: pytest.fail("called"), [0], [], "", registry, abs, cache)
    with pytest.raises(ValueError, match="hash") as raised:
        function([])
    assert jaxlib.lacks_hash(raised.value)

    def failing(x):
        raise KeyError("missing")

    f = px.jit(lambda x: px.pure_callback(failing, px.ShapeDtypeStruct((), "float32"), x))
    executable = f.lower(np.float32(1)).compile()._executable
    argument = px.device_put(np.float32(1))._b
    with pytest.raises((px.errors.JaxRuntimeError, ValueError), match="missing") as raised:
        np.asarray(
            memoryview(executable.xla.execute_sharded([argument]).consume_with_handlers(executable.handlers[0])[0])
        )
    assert jaxlib.status_of(raised.value).isupper()
    assert not jaxlib.status_of(KeyError("missing: a key"))


def _traceback_below(jaxlib):
    return jaxlib.Traceback.get_traceback()


def test_a_traceback_knows_its_frames_and_a_scope_cuts_it(jaxlib):
    with jaxlib.TracebackScope():
        (frame,) = _traceback_below(jaxlib).frames
    assert (frame.file_name, frame.function_name) == (__file__, "_traceback_below")
    assert frame.line_num > 0
    assert len(_traceback_below(jaxlib).frames) > 1


def test_tracebacks_become_locations(jaxlib):
    lowering = importlib.import_module("primax.interpreters.runtime.mlir_context")
    shared = lowering.shared_context()
    with shared:
        assert Path(__file__).name in str(shared.locations.get(jaxlib.Traceback.get_traceback()))


def test_a_registry_flattens_and_tells_prefixes(jaxlib):
    registry = jaxlib.pytree.PyTreeRegistry()
    leaves, tree = registry.flatten({"b": [1, None], "a": (2,)})
    assert leaves == [2, 1]
    assert tree.unflatten(leaves) == {"b": [1, None], "a": (2,)}
    assert registry.flatten((0, 0))[1].flatten_up_to(([1], [2])) == [[1], [2]]


def test_config_values_are_local_to_a_thread_and_part_of_the_key(jaxlib):
    option = jaxlib.Config("primax_canary", 1, include_in_jit_key=False, include_in_trace_context=True)
    before = option.swap_local(2)
    assert option.value == 2
    assert (option.get_global(), option.get_local()) == (1, 2)
    assert 2 in jaxlib.trace_context()
    option.swap_local(before)
    assert option.get_local() is jaxlib.config_unset
    assert option.value == 1


def test_buffers_carry_the_aval_and_lend_their_memory(backend):
    x = backend.put_value(np.arange(3, dtype=np.float32))
    assert x._b.aval.shape == (3,)
    assert np.asarray(memoryview(x._b)).tolist() == [0, 1, 2]
    assert np.asarray(x).ctypes.data == x._b.unsafe_buffer_pointer()


def test_boolean_constants_are_not_bit_packed(jaxlib):
    px = importlib.import_module("primax")
    flags = np.array([True, False, False, True, True, False, True, False, True])
    found = px.jit(lambda x: px.numpy.where(flags, x, -x))(np.ones(9, np.float32))
    assert np.asarray(found).tolist() == np.where(flags, 1.0, -1.0).tolist()


def test_the_runtime_error_class_can_be_raised_and_caught(jaxlib):
    with pytest.raises(RuntimeError):
        raise jaxlib.XlaRuntimeError("canary")


def test_portable_artifacts_and_executables_round_trip(jaxlib):
    px = importlib.import_module("primax")
    lowered = px.jit(lambda x: x + 1).lower(np.float32(1))
    client = importlib.import_module("primax.interpreters.runtime.devices.backends").client()
    data = client.serialize_executable(lowered.compile().runtime_executable())
    assert isinstance(data, bytes)
    module = lowered.compiler_ir()
    with module.context:
        artifact = jaxlib.portable_artifact(module, jaxlib.hlo.get_current_version())
    assert len(artifact) > 0


if __name__ == "__main__":
    import jaxlib

    print(f"jaxlib {jaxlib.__version__}, Python {sys.version.split()[0]}")
    # Without what imports primax before a test can tell what is missing: the tests' settings and primax's own plugin.
    sys.exit(
        pytest.main(
            [__file__, "--noconftest", "-p", "no:primax", "-q", "-W", "ignore:jaxlib", "--tb=line", *sys.argv[1:]]
        )
    )
