"""What primax takes from jaxlib is there and behaves: run first with a new jaxlib, to learn what it broke."""

from __future__ import annotations

import ast
import importlib
import operator
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).parents[2] / "core" / "_jaxlib.py"
TREE = ast.parse(SOURCE.read_text())


def _chains() -> list[str]:
    """Every `_jax.a.b` that the module reads."""
    found = set()
    for node in ast.walk(TREE):
        if isinstance(node, ast.Attribute):
            parts = []
            inner: ast.expr = node
            while isinstance(inner, ast.Attribute):
                parts.append(inner.attr)
                inner = inner.value
            if isinstance(inner, ast.Name) and inner.id == "_jax":
                found.add(".".join(reversed(parts)))
    return sorted(found)


def _lazy() -> dict[str, str]:
    (table,) = [
        node.value
        for node in TREE.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "_LAZY"
    ]
    return ast.literal_eval(table)


@pytest.mark.parametrize("chain", _chains())
def test_jaxlib_has_the_name(chain):
    operator.attrgetter(chain)(importlib.import_module("jaxlib._jax"))


@pytest.mark.parametrize("module", _lazy().values())
def test_jaxlib_has_the_module(module):
    importlib.import_module(module)


def test_the_release_is_one_that_was_tried(jaxlib):
    assert jaxlib.FIRST <= jaxlib.release < jaxlib.NEXT, "a new jaxlib: see what fails here, then move NEXT"


@pytest.fixture(scope="module")
def jaxlib():
    return importlib.import_module("primax.core._jaxlib")


def test_each_change_between_releases_is_as_the_table_says(jaxlib, backend):
    there = {change.name: jaxlib.release >= change.since for change in jaxlib.CHANGES}
    raw = importlib.import_module("jaxlib._jax")
    b = backend.put_value(np.ones(3, np.float32))._b
    assert there == {
        "array_result_handler": "_skip_checks" not in raw.array_result_handler.__nb_signature__[0][0],
        "xla_cpu_use_fusion_emitters": not _compiles_with(jaxlib, backend, "xla_cpu_use_fusion_emitters"),
        "ArrayImpl.aval": _raises(AttributeError, setattr, b, "aval", b.aval),
    }


def _raises(kind, function, *args):
    try:
        function(*args)
    except kind:
        return True
    return False


def _compiles_with(jaxlib, backend, option):
    options = backend.compile_options(backend.devices()[0])
    options.env_option_overrides = [(option, False)]
    text = "func.func public @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"
    devices = jaxlib.DeviceList((backend.devices()[0],))
    return not _raises(jaxlib.XlaRuntimeError, backend.client("cpu").compile_and_load, text, devices, options)


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
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


@pytest.fixture(scope="module")
def backend():
    return importlib.import_module("primax.interpreters.backend")


def test_the_second_call_of_a_signature_does_not_enter_python():
    import_module = importlib.import_module
    px = import_module("primax")
    evaluate = import_module("primax.interpreters.evaluate")
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


def _traceback_below(jaxlib):
    return jaxlib.Traceback.get_traceback()


def test_a_traceback_knows_its_frames_and_a_scope_cuts_it(jaxlib):
    with jaxlib.TracebackScope():
        (frame,) = _traceback_below(jaxlib).frames
    assert (frame.file_name, frame.function_name) == (__file__, "_traceback_below")
    assert frame.line_num > 0
    assert len(_traceback_below(jaxlib).frames) > 1


def test_tracebacks_become_locations(jaxlib):
    lowering = importlib.import_module("primax.interpreters.contexts")
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
    assert 2 in jaxlib.trace_context()
    option.swap_local(before)
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
    client = importlib.import_module("primax.interpreters.backend").client()
    data = client.serialize_executable(lowered.compile().runtime_executable())
    assert isinstance(data, bytes)
    module = lowered.compiler_ir()
    with module.context:
        artifact = jaxlib.mlir.serialize_portable_artifact(module, jaxlib.hlo.get_current_version())
    assert len(artifact) > 0
