"""`import jax` that means primax: modules, names that are absent, children of a process, and reports."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from primax.__main__ import COMMANDS
from primax.extend.commands import main


def run(
    *arguments: str, folder: Path | None = None, code: int = 0, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own, whose exit code is as expected."""
    variables = {**os.environ, "JAX_PLATFORMS": "cpu", **(env or {})}
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
    return done


PROGRAM = """
import primax.as_jax
import importlib.metadata
import pickle
import jax
import jax.numpy as jnp
import numpy as np
import jax.scipy.stats.norm as normal
from jax import lax, random, tree_util
from jax.core import Tracer
from jax.experimental import hijax, pallas as pl
from jax.experimental.hijax import HiPspec
from jax.interpreters import ad, batching, mlir
import primax

assert jax is not primax and "primax" in repr(jax)
assert jax.jit is primax.jit and jnp.sin is primax.numpy.sin and jnp is jax.numpy
assert Tracer is primax.extend.core.Tracer and ad.JVPTrace.__module__.startswith("primax")
assert jax.__version__ == importlib.metadata.version("jax") == "0.10.2" and jax.__version_info__ == (0, 10, 2)
assert importlib.metadata.metadata("jax")["Name"] == "jax"
assert importlib.metadata.version("jaxlib") == __import__("jaxlib").__version__
assert abs(float(normal.pdf(0.0)) - 0.3989423) < 1e-6
assert pickle.loads(pickle.dumps(jnp.sin)) is primax.numpy.sin

# `vars` has every public name: packages copy the functions of a module from there.
assert vars(jnp)["tanh"] is primax.numpy.tanh and "jit" in jax.__dict__ and "tree_map" not in vars(jax)

# What `jit` returns has the signature of the function, also for those who do not look at the wrapped function.
import inspect
assert str(inspect.signature(jax.jit(lambda x, *, y=2: x), follow_wrapped=False)) == "(x, *, y=2)"
assert inspect.unwrap(jax.jit(dict.fromkeys)) == dict.fromkeys

# It is copied and pickled like a function.
import copy
@jax.jit
def twice(x):
    return 2 * x
assert copy.deepcopy(twice) is copy.copy(twice) is pickle.loads(pickle.dumps(twice)) is twice
assert copy.deepcopy(jax.nn.relu) is pickle.loads(pickle.dumps(jax.nn.relu)) is jax.nn.relu
assert copy.deepcopy({"f": jax.jit(lambda x: x + 1)})["f"](1.0) == 2.0

# Meshes have JAX's default.
assert jax.make_mesh((1,), ("x",)).axis_types == (jax.sharding.AxisType.Explicit,)

# A module below Pallas can be imported, as packages do that use it on TPUs alone.
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel
assert "does not have" in repr(splash_attention_kernel)

# An absent name raises where it is used, and says what it is.
assert not hasattr(jax, "nonsense") and getattr(jax.lax, "nonsense", 3) == 3
def message(program, kind):
    try:
        exec(program, globals())
    except kind as error:
        return str(error)
    raise AssertionError(program)
assert "jax.tree_map is not in primax: removed in JAX" in message("jax.tree_map", AttributeError)
assert "JAX 0.12 does not have it either" in message("jax.nonsense", AttributeError)
assert "Pallas" in message("from jax.extend import pallas", ImportError)
assert "Pallas" in message("import jax.extend.pallas", ModuleNotFoundError)
assert "jax.lax.nonsense is not in primax" in message("from jax.lax import nonsense", ImportError)

# Names that packages import and seldom use are there, and raise when they are used.
assert not isinstance(3, HiPspec) and HiPspec | None and "primax does not have" in repr(HiPspec)
assert "subclass `primax.extend.core.UserType`" in message("HiPspec()", AttributeError)
assert "primax.ffi" in message("pl.pallas_call(None)", AttributeError)

assert "refs" not in dir(jax) and not isinstance(x := jnp.ones(2), jax.Ref) and isinstance(jax.new_ref(x), jax.Ref)
class Spec(HiPspec):
    pass
assert not hasattr(Spec, "anything") and "hijax.HiPspec" in message("Spec()", AttributeError)
import jax.experimental.colocated_python as colocated
assert colocated.serialization.DeviceList | None
from jax.experimental.array_serialization.serialization import GlobalAsyncCheckpointManager
assert GlobalAsyncCheckpointManager | None

# Whether a value is known; under `jit` it is not.
assert jax.core.is_concrete(2.0) and jax.core.is_concrete(jnp.ones(2)) and not jax.core.is_concrete(None)
found = []
def told(x):
    found.append(jax.core.is_concrete(x))
    return x
jax.grad(told)(1.0)
jax.jit(jax.grad(told))(1.0)
assert found == [True, False]

# Private names are there where packages use them.
from jax.experimental.sparse._base import JAXSparse
from jax.experimental.sparse import BCOO
assert isinstance(BCOO.fromdense(jnp.ones(2)), JAXSparse)
assert jnp.ndarray is jax.Array and isinstance(jnp.ones(2), jnp.ndarray)
assert jnp.finfo(jnp.float8_e4m3fn).max.astype(jnp.float32) == 448 and type(jnp.finfo("float32").eps) is np.float32
assert jnp.finfo(jnp.ones(2, "bfloat16").dtype).bits == 16 and jnp.finfo(jnp.complex64).dtype == np.float32
from jax._src import literals
from jax._src.random import threefry2x32
number = literals.TypedFloat(2.5, np.dtype("float32"))
assert number == 2.5 and number.dtype == np.float32 and jnp.asarray(number, number.dtype).dtype == np.float32
assert literals.TypedInt(2, "int8").dtype == np.int8 and literals.TypedComplex(2j, "complex64").imag == 2
raw = threefry2x32.threefry_seed(jnp.uint32(3))
assert threefry2x32.threefry_split(raw, (4,)).shape == (4, 2) and (raw == jax.random.PRNGKey(3)).all()
assert threefry2x32.threefry_random_bits(raw, 32, (3,)).dtype == np.uint32
for primitive in (lax.approx_top_k_p, lax.linear_solve_p, lax.polynomial_p):
    assert isinstance(primitive, primax.extend.core.Primitive)

def scoped(x):
    x = jnp.sin(x)
    with jax.named_scope("outer"), jax.named_scope("inner"):
        return jnp.cos(x)

sources = [eqn.source_info for eqn in jax.make_jaxpr(scoped)(1.0).eqns]
assert [str(source.name_stack) for source in sources] == ["", "outer/inner"]
assert all(source.traceback.frames for source in sources)

from jax._src import core as private
from jax._src.tree_util import _registry, prefix_errors
assert private.trace_state_clean() and jax.jit(lambda x: x if private.trace_state_clean() else x + 1)(1.0) == 2.0
assert private.trace_ctx.is_top_level()
def with_another(x):  # as packages add arguments to the program that is traced
    more = private.trace_ctx.trace.new_arg(jax.typeof(x), source_info=None)
    return x * more
assert len(jax.make_jaxpr(with_another)(2.0).jaxpr.invars) == 2
from jax._src.sharding_impls import UNSPECIFIED
assert jax.jit(lambda x: x, in_shardings=UNSPECIFIED, out_shardings=UNSPECIFIED)(2.0) == 2.0
assert private.Primitive is primax.extend.core.Primitive
assert dict in _registry and int not in _registry
children, aux = _registry[dict].to_iter({"a": 1, "b": 2})
assert _registry[dict].from_iter(aux, children) == {"a": 1, "b": 2}
(error,) = prefix_errors((1, 2), (1, 2, 3))
assert str(error("in_axes")).startswith("in_axes:"), error("in_axes")

# Options as JAX spells them.
jax.config.update("jax_enable_x64", True)
assert jnp.ones(3).dtype == "float64" and jax.config.jax_enable_x64 and jax.config.read("jax_enable_x64")
with jax.experimental.enable_x64(False) if hasattr(jax.experimental, "enable_x64") else jax.enable_x64(False):
    assert jnp.ones(3).dtype == "float32"

# What JAX has pickled: an array of two numbers, as protocol 0 spells it, and a weak one.
made = np.asarray([1.0, 2.0], np.float32).__reduce__()
from jax._src.array import _reconstruct_array
for weak in (False, True):
    class Pickled:
        def __reduce__(self):
            return _reconstruct_array, (made[0], made[1], made[2], {"weak_type": weak})
    found = pickle.loads(pickle.dumps(Pickled()))
    assert found.tolist() == [1.0, 2.0] and found.weak_type is weak and isinstance(found, jax.Array)

names = {}
exec("from jax.numpy import *", names)
assert names["sin"] is primax.numpy.sin
assert {"jit", "numpy", "Array"} <= set(dir(jax))
print("all is well")
"""


def test_a_program_for_jax_finds_primax(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    assert run("program.py", folder=tmp_path).stdout == "all is well\n"


OPTIONS = """
import sys
import primax.as_jax
import jax
from jax import config
from jax._src import config as private
import primax

assert private.config is config is jax.config and not private.enable_x64.value
# Options that say how JAX works inside are taken, and read back.
assert config.jax_traceback_filtering == "auto" and config.jax_enable_compilation_cache is True
config.update("jax_traceback_filtering", "off")
assert config.jax_traceback_filtering == config.read("jax_traceback_filtering") == "off"
from jax._src import traceback_util
import traceback
@traceback_util.api_boundary
def wrong():
    jax.numpy.ones(2) @ jax.numpy.ones(3)
def lines(mode):
    config.update("jax_traceback_filtering", mode)
    try:
        wrong()
    except TypeError as error:
        return [frame.name for frame in traceback.extract_tb(error.__traceback__)]
assert lines("auto") == ["lines", "wrong"] and len(lines("off")) > 4
config.update("jax_cpu_collectives_implementation", "gloo")
config.update(name="jax_cpu_collectives_implementation", val="gloo")
# Packages replace methods.
def update(name, value, update=config.update):
    update(name, value if name != "jax_removed" else None)
config.update = update
config.update("jax_traceback_filtering", "off")
del config.update
assert config.update.__self__ is config
config.update("jax_dump_ir_modes", "jaxpr")
assert config.jax_dump_ir_modes == "jaxpr" and config.jax_remat3 is False
# The levels of effort of the compiler are numbers.
slow = jax.jit(lambda x: x + 1, compiler_options={"optimization_level": jax.CompilerEffortLevel.O1})
assert slow(1) == 2
# Packages read the value and the axis of tracers.
seen = []
jax.vmap(lambda x: seen.append((x.val.shape, x.batch_dim)), in_axes=1)(jax.numpy.ones((3, 2)))
assert seen == [((3, 2), 1)]
# Those that would change results have one value here.
assert config.jax_disable_bwd_checks is False
config.update("jax_disable_bwd_checks", False)
try:
    config.update("jax_disable_bwd_checks", True)
except AttributeError as error:
    assert "jax_disable_bwd_checks must be False, JAX's default" in str(error), error
else:
    raise AssertionError
@jax.enable_custom_prng()
def typed():
    pass
with jax.enable_custom_prng(False):
    pass
try:
    typed()
except AttributeError as error:
    assert "jax_enable_custom_prng must be False" in str(error), error
else:
    raise AssertionError
try:
    config.jax_nonsense
except AttributeError as error:
    assert "nonsense" in str(error)
else:
    raise AssertionError
# What primax has is primax's.
assert not {*private._FREE, *private._FIXED} & set(primax.config.values)
config.update("jax_debug_key_reuse", True)
assert primax.config.debug_key_reuse
config.update("jax_debug_key_reuse", False)
# The command line; absl is told of the flags where it is used.
class Flags(dict):
    parsed = ()
    def is_parsed(self):
        return bool(self.parsed)
    def __call__(self, words, known_only):
        assert known_only
        self.parsed = words
class Absl:
    FLAGS = Flags()
    DEFINE_bool = DEFINE_string = lambda name, value, text: Absl.FLAGS.update({name: value})
sys.modules["absl.flags"] = Absl
sys.argv += ["--jax_enable_x64", "--nojax_log_compiles", "--jax_default_matmul_precision=high", "--other", "jax_no"]
config.parse_flags_with_absl()
assert config.x64_enabled and primax.config.enable_x64 and primax.config.default_matmul_precision == "high"
assert config.values["jax_enable_x64"] is True and config.jax_log_compiles is False
assert Absl.FLAGS["jax_enable_x64"] is False and "jax_platforms" in Absl.FLAGS
options_given = ["--jax_enable_x64", "--nojax_log_compiles", "--jax_default_matmul_precision=high"]
assert Absl.FLAGS.parsed == ["", *options_given]
config.parse_flags_with_absl()
assert Absl.FLAGS.parsed == ["", *options_given]
print("all is well")
"""


def test_options_of_jax_are_taken_read_back_or_refused(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(OPTIONS, encoding="utf-8")
    assert run("program.py", folder=tmp_path).stdout == "all is well\n"


TRAINING = """
import jax
import jax.numpy as jnp
from jax import grad, jit, lax, random, vmap
from jax.tree_util import register_pytree_node_class


@register_pytree_node_class
class Layer:
    def __init__(self, weights, bias):
        self.weights, self.bias = weights, bias

    def __call__(self, x):
        return jnp.tanh(x @ self.weights + self.bias)

    def tree_flatten(self):
        return (self.weights, self.bias), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)


@jax.custom_vjp
def clipped(x):
    return x


clipped.defvjp(lambda x: (x, None), lambda _, ct: (jnp.clip(ct, -1.0, 1.0),))


def loss(layer, x, y):
    return jnp.mean((vmap(layer)(x) - y) ** 2) + 0.1 * clipped(jnp.sum(layer.weights) ** 2)


@jit
def train(layer, x, y):
    def step(layer, _):
        value, slope = jax.value_and_grad(loss)(layer, x, y)
        return jax.tree_util.tree_map(lambda p, s: p - 0.1 * s, layer, slope), value

    return lax.scan(step, layer, None, length=20)


def main():
    key = random.PRNGKey(0)
    layer = Layer(random.normal(key, (3, 2)), jnp.zeros(2))
    x = random.uniform(random.fold_in(key, 1), (8, 3))
    layer, losses = train(layer, x, jnp.sin(x[:, :2]))
    assert isinstance(losses, jax.Array) and losses.shape == (20,)
    print(" ".join(f"{float(value):.4f}" for value in losses))


if __name__ == "__main__":
    main()
"""


def test_a_program_has_the_same_results_on_jax_as_it_is_and_rewritten(tmp_path: Path) -> None:
    program = tmp_path / "training.py"
    program.write_text(TRAINING, encoding="utf-8")
    as_it_is = run("-m", "primax", "as-jax", "training.py", folder=tmp_path).stdout
    assert as_it_is.count(".") == 20
    if importlib.util.find_spec("jax") is not None:
        assert run("training.py", folder=tmp_path).stdout == as_it_is
    run("-m", "primax", "port", "training.py", folder=tmp_path)
    assert "import jax" not in program.read_text(encoding="utf-8").replace("import primax as jax", "")
    assert run("training.py", folder=tmp_path).stdout == as_it_is


def test_the_command_runs_scripts_modules_and_text_as_python_does(tmp_path: Path) -> None:
    show = (
        "import inspect, jax, sys; jitted = inspect.signature(jax.jit(lambda x: x), follow_wrapped=False)\n"
        "print(sys.argv, sys.path[0], __name__, 'primax' in repr(jax), jitted); sys.exit(7)"
    )
    (tmp_path / "show.py").write_text(show, encoding="utf-8")
    words = ["a", "--report", "-m", "--", "x"]
    expected = {
        ("show.py",): f"{['show.py', *words]} {tmp_path} __main__ True (x)\n",
        ("-m", "show"): f"{[str(tmp_path / 'show.py'), *words]}  __main__ True (x)\n",
        ("-c", show): f"{['-c', *words]}  __main__ True (x)\n",
    }
    for program, printed in expected.items():
        assert run("-m", "primax", "as-jax", *program, *words, folder=tmp_path, code=7).stdout == printed


def test_tracebacks_begin_in_the_program(tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text("import jax\ndef f():\n    jax.nonsense\nf()\n", encoding="utf-8")
    lines = run("-m", "primax", "as-jax", "fails.py", folder=tmp_path, code=1).stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1].endswith("line 4, in <module>")
    assert lines[-1].endswith("AbsentNameError: jax.nonsense is not in primax: JAX 0.12 does not have it either")


def test_a_command_line_that_makes_no_sense_is_told_before_anything_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    before = list(sys.meta_path)
    for arguments, message in [
        (["nowhere.py"], "the script must be a file, got 'nowhere.py', which does not exist"),
        ([], "there must be a program to run"),
        (["--report", "nowhere/x", "-c", ""], "--report must be a file that can be written, got 'nowhere/x'"),
    ]:
        assert main(["as-jax", *arguments], further=COMMANDS) == 2
        assert f"primax: as-jax: {message}" in capsys.readouterr().err
    assert sys.meta_path == before
    assert "PRIMAX_AS_JAX" not in os.environ


CHILDREN = """
import concurrent.futures
import importlib.metadata
import multiprocessing
import pickle
import subprocess
import sys
import jax
import jax.numpy as jnp


def work(x):
    import jax.experimental

    return jnp.sin(x), "primax" in repr(jax), hasattr(jax, "nonsense")


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, context) as pool:
        ((value, stands_in, there),) = pool.map(work, [jnp.float32(1.0)])
    assert isinstance(value, jax.Array) and abs(float(value) - 0.84147098) < 1e-6 and stands_in and not there
    ask = "import importlib.metadata as m, sys; print(m.version('jax'), 'primax' in sys.modules, __import__('jax'))"
    print(subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout)
    quiet = "import sys; print([name for name in sys.modules if name.startswith(('jax', 'primax', 'numpy'))])"
    print(subprocess.run([sys.executable, "-c", quiet], capture_output=True, text=True, check=True).stdout)
"""


def test_processes_that_a_program_starts_are_in_on_it(tmp_path: Path) -> None:
    (tmp_path / "children.py").write_text(CHILDREN, encoding="utf-8")
    customs = tmp_path / "customs"
    customs.mkdir()
    (customs / "sitecustomize.py").write_text("import sys; sys.customized = True", encoding="utf-8")
    (tmp_path / "asks.py").write_text(
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', 'import sys; assert sys.customized; import jax; jax.jit'], check=True)\n"
        "subprocess.run([sys.executable, '-S', '-c', '1'], check=True)\n",
        encoding="utf-8",
    )
    report = tmp_path / "report.txt"
    done = run("-m", "primax", "as-jax", "--report", str(report), "children.py", folder=tmp_path)
    assert done.stdout.split() == ["0.10.2", "True", "<module", "'jax'", "of", "primax", "0.1.0>", "[]"]
    assert report.read_text(encoding="utf-8").startswith("1\tjax.nonsense\t")
    run("-m", "primax", "as-jax", "asks.py", folder=tmp_path, env={"PYTHONPATH": str(customs)})


def test_the_report_counts_absent_names_and_says_where_and_why(tmp_path: Path) -> None:
    program = "import jax\nfor _ in range(5):\n    hasattr(jax, 'tree_map')\nhasattr(jax.lax, 'nonsense')\n"
    (tmp_path / "asks.py").write_text(program, encoding="utf-8")
    expected = [
        ["5", "jax.tree_map", "asks.py:3", "removed in JAX; use `primax.tree_util.tree_map`"],
        ["1", "jax.lax.nonsense", "asks.py:4", "JAX 0.12 does not have it either"],
    ]
    run("-m", "primax", "as-jax", "--report", "absent.txt", "asks.py", folder=tmp_path)
    text = (tmp_path / "absent.txt").read_text(encoding="utf-8")
    assert [line.split("\t") for line in text.splitlines()] == expected
    assert run("-m", "primax", "as-jax", "--report", "-", "asks.py", folder=tmp_path).stderr == text
    assert sorted(path.name for path in tmp_path.glob("*.txt")) == ["absent.txt"]


def test_it_is_refused_where_the_real_jax_is_imported(tmp_path: Path) -> None:
    (tmp_path / "jax.py").write_text("", encoding="utf-8")
    error = run("-c", "import jax; import primax.as_jax", folder=tmp_path, code=1).stderr
    assert (
        "ImportError: primax.as_jax: it must be imported before jax, got a process that has imported jax from" in error
    )
    assert "import primax.as_jax first, or run the program by `primax as-jax`" in error
    twice = "import primax.as_jax, importlib, jax; importlib.reload(primax.as_jax); import jax.numpy; print(jax.jit)"
    assert "function jit" in run("-c", twice, folder=tmp_path).stdout


PYTEST = """
import jax
import jax.numpy as jnp
import pytest


@pytest.mark.parametrize("x", [1.0, 2.0])
def test_sine(x):
    assert "primax" in repr(jax)
    assert jnp.allclose(jax.grad(jnp.sin)(x), jnp.cos(x))
"""


def test_tests_of_packages_run_in_processes_of_pytest_too(tmp_path: Path) -> None:
    (tmp_path / "test_sine.py").write_text(PYTEST, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n", encoding="utf-8")
    done = run("-m", "primax", "as-jax", "-m", "pytest", "-q", "-n", "1", "test_sine.py", folder=tmp_path)
    assert "2 passed" in done.stdout


MIXED = """
import primax.as_jax
import jax
import jax.numpy as jnp
import primax as px
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

cube_p = Primitive("cube")
cube_p.def_impl(lambda x: x * x * x)
cube_p.def_abstract_eval(lambda x: x)
ad.defjvp(cube_p, lambda t, x: t * (3.0 * x * x))
batching.defvectorized(cube_p)
mlir.register_lowering(cube_p, mlir.lower_fun(lambda x: x * x * x, multiple_results=False))

f = lambda x: cube_p.bind(jnp.sin(x))
x = jnp.float32(2.0)
assert abs(float(jax.jit(jax.grad(f))(x)) - float(px.grad(lambda x: px.numpy.sin(x) ** 3)(x))) < 1e-5
assert px.jit(jax.vmap(f))(jnp.ones(3)).shape == (3,)
assert isinstance(x, px.Array) and "cube" in str(jax.make_jaxpr(f)(x))
"""


def test_plugins_of_primax_and_programs_for_jax_mix() -> None:
    run("-c", MIXED)


VALUE_TYPES = """
import primax.as_jax
import inspect
import warnings
import jax
import numpy as np
from jax._src.api_util import infer_argnums_and_argnames
from jax._src.interpreters import batching
from jax.interpreters import xla

class Boxed:
    def __init__(self, values):
        self.values = values
    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)

class Unknown: pass

xla.canonicalize_dtype_handlers[Boxed] = xla.canonicalize_dtype_handlers[np.ndarray]
jax.core.pytype_aval_mappings[Boxed] = jax.core.pytype_aval_mappings[np.ndarray]
assert jax.core.pytype_aval_mappings[np.ndarray](np.ones(3, np.float32)).shape == (3,)
assert Boxed in jax.core.pytype_aval_mappings and Unknown not in jax.core.pytype_aval_mappings
assert float(jax.numpy.exp(Boxed(0.0))) == 1.0
assert jax.jit(lambda x: x + 1)(Boxed([1.0, 2.0])).tolist() == [2.0, 3.0]
assert float(jax.grad(lambda x: x**2)(Boxed(3.0))) == 6.0
batching.register_vmappable(Boxed, int, int, None, None, None)
assert batching.is_vmappable(Boxed(1.0))
batching.unregister_vmappable(Boxed)
assert batching.make_iota(3).tolist() == [0, 1, 2]
assert jax.api_util.safe_map(lambda x, y: x + y, (1, 2), [3, 4]) == [4, 6]

from jax.api_util import argnums_partial, donation_vector, rebase_donate_argnums
from jax.extend import linear_util as lu

def whole(*args, **kwargs):
    return args, kwargs

for numbers, chosen in ((0, (1,)), ((2, 0), (3, 1)), ((-1,), (3,))):
    partly, dynamic = argnums_partial(lu.wrap_init(whole), numbers, (1, 2, 3))
    assert dynamic == chosen, dynamic
    assert partly.call_wrapped(*dynamic, k=2) == ((1, 2, 3), {"k": 2})
    assert partly == argnums_partial(lu.wrap_init(whole), numbers, (1, 2, 3))[0]
    hash(partly)
assert argnums_partial(lu.wrap_init(whole), 1, ([1], 2), require_static_args_hashable=False)[1] == (2,)
for call, message in (
    (lambda: argnums_partial(lu.wrap_init(whole), 1, ([1], 2)), "argument 0 must be hashable, got [1]"),
    (lambda: argnums_partial(lu.wrap_init(whole), 5, (1, 2)), "dyn_argnums must be positions of 2 arguments, got 5"),
    (lambda: rebase_donate_argnums((2, 3), (2,)), "must not be both donated and static, got position 2"),
):
    try:
        call()
    except (TypeError, ValueError) as error:
        assert message in str(error), error
    else:
        raise AssertionError(message)
arguments = jax.tree.structure((((1, 2), 5), {"x": 3, "a": None}))
assert donation_vector((0,), ("x",), arguments) == (True, True, False, True)
assert donation_vector((1, 7), (), arguments) == (False, False, True, False)
assert donation_vector((0,), (), jax.tree.structure(((1, 2), 5)), False) == (True, True, False)
assert rebase_donate_argnums((2, 3), (0,)) == (1, 2)
assert rebase_donate_argnums((2, 0), (1, 4)) == (0, 1)

def parameters(f, numbers, names):
    return infer_argnums_and_argnames(inspect.signature(f), numbers, names)

assert parameters(lambda a, b, c=1: 0, (0,), None) == ((0,), ("a",))
assert parameters(lambda a, b, c=1: 0, None, "b") == ((1,), ("b",))
assert parameters(lambda a, b, c=1: 0, None, None) == ((), ())
assert parameters(lambda a, b, *, c=1: 0, 1, "c") == ((1,), ("c",))
assert parameters(lambda a, b, *c: 0, (-1, 2, 5), None) == ((-1, 2, 5), ())
assert parameters(lambda a, b, /, c: 0, (0, -1), None) == ((0, -1), ("c",))
assert parameters(lambda a, b, /, c, *, d: 0, None, ("a", "c", "d")) == ((2,), ("a", "c", "d"))
"""


LIBRARY_BY_MODULE = """
import primax.as_jax
import pickle
import jax
import jax.numpy as jnp

kinds = set()
def f(x):
    kinds.add(type(x))
    return x * x

x = jnp.ones(2)
for function in (jax.jit(f), jax.vmap(f), jax.grad(lambda x: f(x).sum()), lambda x: jax.linearize(f, x)[0]):
    function(x)
assert len(kinds) >= 3
kinds |= {type(x), type(jax.random.key(0))}
assert {kind.__module__.partition(".")[0] for kind in kinds} == {"jax"}, kinds
assert pickle.loads(pickle.dumps(type(x))) is jax.Array
assert pickle.loads(pickle.dumps(x)).tolist() == [1.0, 1.0]

class Mine(jax.core.Tracer):
    pass

assert Mine.__module__ == "__main__"
"""


def test_the_module_of_the_type_of_an_array_or_tracer_says_jax() -> None:
    run("-c", LIBRARY_BY_MODULE)


SPELLINGS = """
import primax.as_jax
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import find_top_trace
from jax.extend.core.primitives import broadcast_in_dim_p, reduce_sum_p, sin_p

def asked(x):
    trace = find_top_trace([x])
    assert x._trace.main is trace.main is trace and trace.full_raise(x) is x
    assert trace.is_valid() and not trace.requires_low() and isinstance(trace, jax.core.Trace)
    return x

jax.jvp(asked, (1.0,), (1.0,))
jax.vmap(asked)(np.ones(2))
assert not sin_p.call_primitive and not sin_p.map_primitive
aval = jax.typeof(jnp.ones(3))
assert aval.at_least_vspace() is aval.to_tangent_aval()

# Parameters that only jax's primitives have may be None.
def f(x):
    y = broadcast_in_dim_p.bind(x, shape=(2, 3), broadcast_dimensions=(1,), sharding=None)
    return reduce_sum_p.bind(y, axes=(0,), out_sharding=None)

x = np.float32([1, 2, 3])
for g in (f, jax.jit(f), lambda x: jax.vmap(f)(x[None])[0], lambda x: jax.jvp(f, (x,), (x,))[1]):
    assert g(x).tolist() == [2, 4, 6]
assert "sharding" not in str(jax.make_jaxpr(f)(x))
for params in ({"sharding": 3}, {"other": None}, {"sharding": None, "other": None}):
    try:
        broadcast_in_dim_p.bind(x, shape=(2, 3), broadcast_dimensions=(1,), **params)
    except TypeError as error:
        assert "broadcast_in_dim" in str(error) and ("sharding" in str(error) or "other" in str(error)), error
    else:
        raise AssertionError(f"{params} were accepted")

# Interpreters pass programs without constants as open ones.
eqn = jax.make_jaxpr(lambda x: jax.lax.cond(x > 0, jnp.sin, jnp.cos, x))(0.5).eqns[-1]
branches = tuple(branch.jaxpr for branch in eqn.params["branches"])
params = eqn.primitive.get_bind_params({**eqn.params, "branches": branches})
assert eqn.primitive.bind(1, 0.0, **params)[0] == 0
"""


def test_packages_find_jax_s_spellings_of_methods() -> None:
    run("-c", SPELLINGS)


NAMESPACE = """
import primax.as_jax
import jax
import jax.numpy as jnp
import primax.numpy as pnp

assert jnp.__array_api_version__ == pnp.__array_api_version__
assert jnp.__array_namespace_info__().default_dtypes()["integral"] == jnp.int32
assert not hasattr(jnp, "__array_interface__") and not hasattr(jax.lax, "__array_api_version__")
spaces = [jnp.ones(1).__array_namespace__(), jnp.ones(1).__array_namespace__(api_version=pnp.__array_api_version__)]
jax.jit(lambda x: spaces.append(x.__array_namespace__()))(1.0)
assert all(space is jnp for space in spaces) and spaces[0].__name__ == "jax.numpy"
try:
    jnp.ones(1).__array_namespace__(api_version="1900.01")
except ValueError as error:
    assert "api_version must be" in str(error)
else:
    raise AssertionError("an unknown version was accepted")
"""


def test_the_namespace_of_an_array_is_the_module_of_jax() -> None:
    """As array-api-compat reads it for SciPy, scikit-learn and tjax."""
    run("-c", NAMESPACE)


def test_packages_enter_types_of_values_and_read_signatures(tmp_path: Path) -> None:
    """As TensorFlow Probability, MuJoCo XLA and e3nn-jax do when they are imported."""
    (tmp_path / "program.py").write_text(VALUE_TYPES)
    run("program.py", folder=tmp_path)


HELPERS = """
import primax.as_jax
import sys
import jax
import jax.numpy as jnp
import numpy as np
from jax._src.interpreters import mlir
from jax._src.lax import lax as lax_internal
from jax._src.lax.linalg import _H, _T, _broadcasting_select_hlo, _nan_like_hlo, svd_p, symmetrize
from jax._src.numpy.array_methods import _IndexUpdateHelper, _IndexUpdateRef
from jax._src.numpy.index_tricks import CClass, RClass
from jax._src.scipy.sparse.linalg import _gmres_solve

assert sys.modules["jax.version"].__version_info__ == jax.__version_info__
assert svd_p is jax.lax.linalg.svd_p
from jax._src import compilation_cache, mesh_utils, monitoring, profiler, stages
from jax._src.basearray import Array
from jax._src.custom_batching import custom_vmap
from jax._src.lax.control_flow.loops import scan, while_p
from jax._src.nn import functions
from jax._src.numpy import einsum
from jax._src.ops.scatter import segment_sum
from jax._src.partition_spec import PartitionSpec
assert Array is jax.Array and stages.Lowered is jax.stages.Lowered and custom_vmap is jax.custom_batching.custom_vmap
assert scan is jax.lax.scan and einsum.einsum is jnp.einsum and functions.relu is jax.nn.relu
assert segment_sum is jax.ops.segment_sum and PartitionSpec is jax.sharding.PartitionSpec
from jax.experimental.compilation_cache.compilation_cache import reset_cache
assert compilation_cache.reset_cache is reset_cache and not hasattr(compilation_cache, "_cache")

z = jnp.array([[[1 + 2j, 3.0]]])
assert _T(z).tolist() == [[[1 + 2j], [3.0]]] and _H(z).tolist() == [[[1 - 2j], [3.0]]]
assert symmetrize(jnp.array([[1.0, 4.0], [2.0, 1.0]])).tolist() == [[1.0, 3.0], [3.0, 1.0]]
kinds = {"complex64": "float32", "complex128": "float64", "float16": "float16", "int32": "int32"}
for dtype, real in kinds.items():
    assert lax_internal._complex_basetype(jnp.dtype(dtype)) == jnp.dtype(real), dtype

class Columns(CClass):
    def __getitem__(self, key):
        return 2 * super().__getitem__(key)

assert Columns()[jnp.arange(2.0), jnp.arange(2.0)].tolist() == [[0.0, 0.0], [2.0, 2.0]]
assert isinstance(jnp.r_, RClass) and isinstance(jnp.c_, CClass)
x = jnp.arange(3.0)
assert isinstance(x.at, _IndexUpdateHelper) and isinstance(x.at[0], _IndexUpdateRef)
try:
    _gmres_solve()
except AttributeError as error:
    assert "is not in primax" in str(error), error
else:
    raise AssertionError("an absent function was called")

# Rows of which the smallest element is negative become NaN.
def rule(ctx, x, least):
    (x_aval, least_aval) = ctx.avals_in
    good = mlir.compare_hlo(least, mlir.full_like_aval(ctx, 0, least_aval), "GE", "FLOAT")
    column = least_aval.update(shape=(*least_aval.shape, 1), dtype=np.dtype(bool))
    good = mlir.broadcast_in_dim(ctx, good, column, broadcast_dimensions=[0])
    return [_broadcasting_select_hlo(ctx, good, column, x, x_aval, _nan_like_hlo(ctx, x_aval), x_aval)]

p = jax.extend.core.Primitive("negative_rows_to_nan")
p.def_abstract_eval(lambda x, least: x)
mlir.register_lowering(p, rule)
m = np.array([[1, 2], [-1, 2], [3, 4]])
for dtype in ("float32", "complex64"):
    out = jax.jit(p.bind)(m.astype(dtype), m.min(1).astype("float32"))
    assert np.array_equal(out, np.where(m.min(1, keepdims=True) < 0, np.nan, m), equal_nan=True), out
    assert dtype != "complex64" or np.isnan(out[1].imag).all()
"""


def test_private_helpers_of_arrays_and_lowerings_are_there(tmp_path: Path) -> None:
    """As PySCFAD, quaxed, unxt, LAB and SpectraX import them."""
    (tmp_path / "program.py").write_text(HELPERS)
    run("program.py", folder=tmp_path)


INNER_NAMES = """
import primax.as_jax
import jax
import jax.numpy as jnp
import numpy as np
from jax._src import custom_api_util, dispatch
from jax._src.ad_util import Zero, a2tz, p2cz, p2tz
from jax._src.array import ArrayImpl
from jax._src.core import canonicalize_shape, definitely_equal_shape
from jax._src.debugging import debug_callback_p, debug_effect, ordered_debug_effect
from jax._src.interpreters import partial_eval
from jax._src.nn.initializers import _complex_truncated_normal, _complex_uniform, glorot_normal
from jax._src.numpy import vectorize
from jax._src.util import canonicalize_axis
from jax.experimental.ode import api_util, ravel_first_arg
from jax.flatten_util import ravel_pytree

def message(kind, function, *args):
    try:
        function(*args)
    except kind as error:
        return str(error)
    raise AssertionError(function)

# Zeros of the types of tangents.
assert isinstance(p2tz(2.0), Zero) and p2tz(jnp.ones(2)).aval.shape == (2,) == p2cz(jnp.ones(2)).aval.shape
assert p2tz(3).aval.dtype == a2tz(jax.typeof(3)).aval.dtype == jax.dtypes.float0

# Arrays that have a value, which packages give properties.
assert isinstance(jnp.ones(2), ArrayImpl) and not isinstance(np.ones(2), ArrayImpl)
kinds = []
jax.jit(lambda x: kinds.append((isinstance(x, ArrayImpl), isinstance(x, jax.Array))))(1.0)
assert kinds == [(False, True)]
ArrayImpl.half = property(lambda self: self / 2)
assert jnp.ones(2).half.tolist() == [0.5, 0.5] and ArrayImpl.half is jax.Array.half
del ArrayImpl.half
plain = ArrayImpl.__repr__
ArrayImpl.__repr__ = lambda self: f"an array: {plain(self)}"
assert repr(jnp.ones(2)) == "an array: Array([1., 1.], dtype=float32)"
ArrayImpl.__repr__ = plain
assert not hasattr(jax.Array, "half") and not hasattr(ArrayImpl, "half")

# Shapes, and axes with names.
assert canonicalize_shape([np.int64(2), 3]) == (2, 3) and type(canonicalize_shape([np.int64(2)])[0]) is int
assert "shape of x must be a sequence of integers" in message(TypeError, canonicalize_shape, 2.5, "of x")
assert definitely_equal_shape((2, 3), [2, 3]) and not definitely_equal_shape((2,), (2, 3))
assert canonicalize_axis(-1, 3) == 2 == canonicalize_axis(np.int32(2), 3)
assert "from -3 to 2, got 3" in message(ValueError, canonicalize_axis, 3, 3)
names = []
jax.vmap(lambda x: names.append(jax.core.unsafe_get_axis_names_DO_NOT_USE()), axis_name="i")(jnp.ones(2))
assert names == [["i"]] and jax.core.unsafe_get_axis_names_DO_NOT_USE() == []
b, = jax.export.symbolic_shape("b")
assert not jax.export.is_symbolic_dim(3) and jax.export.is_symbolic_dim(b) and jax.core.max_dim(b, 1) is b
assert jax.eval_shape(jnp.sin, jax.ShapeDtypeStruct((b, 3), "float32")).shape == (b, 3)

# Functions that take the name and the attributes of a jitted one.
import functools
plus = jax.jit(lambda x: x + 1)
times = functools.wraps(plus)(jax.jit(lambda x: x * 10))
assert times(3.0) == 30 and plus(3.0) == 4 and times.__wrapped__ is plus and "PjitFunction" in str(type(plus))
assert "same size, got [1, 2] for arguments of shapes (1, 2), (2, 2)" in message(
    ValueError, jax.pmap(jax.jit(jnp.add)), jnp.ones((1, 2)), jnp.ones((2, 2))
)
assert "in_axes has axis 0" in message(ValueError, jax.pmap(jax.jit(jnp.add), axis_size=1), jnp.ones((1, 2)), 1)

# Dead equations.
(sine,) = jax.make_jaxpr(jnp.sin)(1.0).eqns
(told,) = jax.make_jaxpr(lambda x: jax.debug.callback(print, x))(1.0).eqns
assert partial_eval._default_dce_rule([False], sine) == ([False], None)
assert partial_eval._default_dce_rule([True], sine) == ([True], sine)
assert partial_eval._default_dce_rule([], told) == ([True], told)
assert told.primitive is debug_callback_p and told.effects == {debug_effect} and ordered_debug_effect != debug_effect

# Classes of functions with rules, and primitives that look at devices, are entered.
@custom_api_util.register_custom_decorator_type
class Ruled:
    def __init__(self, fun):
        self.fun = fun

ruled = Ruled(jax.custom_jvp(jnp.sin))
assert custom_api_util.forward_attr(ruled, "defjvp") == ruled.fun.defjvp
assert "must begin with 'def'" in message(AttributeError, custom_api_util.forward_attr, ruled, "jvp")
dispatch.prim_requires_devices_during_lowering.add(sine.primitive)

# Complex numbers in disks.
key = jax.random.key(0)
z = _complex_truncated_normal(key, 2, (4000,), jnp.float32)
w = _complex_uniform(key=key, shape=(4000,), dtype=jnp.complex64)
assert z.dtype == w.dtype == jnp.complex64 and abs(z).max() <= 2 and abs(w).max() <= 2**0.5
assert abs((abs(w) ** 2).mean() - 1) < 0.03 and abs((abs(z) ** 2).mean() - 0.953**2) < 0.03
assert glorot_normal is jax.nn.initializers.glorot_normal

# Functions of vectors for solvers.
flat, unravel = ravel_pytree({"u": jnp.ones(2), "v": 3.0})
double = ravel_first_arg(
    lambda y, t: {"u": y["u"] * t, "v": y["v"] + t}, unravel, api_util.debug_info("odeint", print, (), {})
)
assert double(flat, 2.0).tolist() == [2.0, 2.0, 5.0]

# The steps of vectorize.
inputs, outputs = vectorize._parse_gufunc_signature("(m,n),(n)->(m)")
assert (inputs, outputs) == ([("m", "n"), ("n",)], [("m",)]) and vectorize.vectorize is jnp.vectorize
arrays = (jnp.ones((4, 1, 2, 3)), jnp.ones((5, 3)))
shape, sizes = vectorize._parse_input_dimensions(arrays, inputs, "here")
assert (shape, sizes) == ((4, 5), {"m": 2, "n": 3})
assert "2 arguments, got 1 here" in message(TypeError, vectorize._parse_input_dimensions, arrays[:1], inputs, "here")
unequal = (jnp.ones((2, 3)), jnp.ones(5))
assert "all arguments, got 3 and 5" in message(ValueError, vectorize._parse_input_dimensions, unequal, inputs)
checked = vectorize._check_output_dims(lambda x: x, sizes, outputs)
assert checked(jnp.ones(2)).shape == (2,) and "got 2 and 3" in message(ValueError, checked, jnp.ones(3))
rest, left, named = vectorize._apply_excluded(lambda *a, **k: (a, k), {0, 2, "p"}, (1, 2, 3, 4), {"p": 5, "q": 6})
assert (left, named) == ([2, 4], {"q": 6}) and rest(7, 8, q=9) == ((1, 7, 3, 8), {"p": 5, "q": 9})
assert vectorize._apply_excluded(message, (), (1,), {}) == (message, (1,), {})
"""


def test_inner_names_of_jax_that_packages_import_are_there() -> None:
    """As e3x, jax-finufft, lovely-jax, bijx, jaxdecomp, tesseract-jax, kfac-jax and quaxed import them."""
    run("-c", INNER_NAMES)


CASES = r"""
import primax.as_jax
import sys
import unittest
import jax
import jax.extend.core
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized
from jax._src import config, core, linear_util as lu
from jax._src import test_util as jtu
from jax.extend.core import CallPrimitive, call_impl
from jax.extend.core.primitives import call_p, closed_call_p
from jax.interpreters import mlir

jax.config.parse_flags_with_absl()


class Cases(jtu.JaxTestCase):
    @jtu.sample_product([{"shape": (2, 3)}, {"shape": ()}], dtype=jtu.dtypes.floating + jtu.dtypes.complex)
    def test_sine(self, shape, dtype):
        rng = jtu.rand_default(self.rng())
        args = lambda: [rng(shape, dtype)]
        self._CheckAgainstNumpy(np.sin, jnp.sin, args)
        self._CompileAndCheck(jnp.sin, args)
        jtu.check_grads(jnp.sin, args(), 1, atol=0.05, rtol=0.05)

    @parameterized.parameters(1e-3, 2e-3)
    def test_a_difference_fails(self, difference):
        with self.assertRaises(AssertionError):
            self.assertAllClose({"a": jnp.ones(2)}, {"a": np.float32([1, 1 + difference])})
        with self.assertRaises(AssertionError):
            self.assertAllClose(jnp.ones(2), np.ones(2, np.int32))
        self.assertAllClose([jnp.ones(2)], [np.ones(2)])

    def test_options(self):
        with self.assertRaises(jax.dtypes.TypePromotionError):
            jnp.int8(1) + jnp.float32(1)
        with config.numpy_dtype_promotion("standard"):
            self.assertAllClose(jnp.int8(1) + jnp.float32(1), np.float32(2))

    @jtu.skip_on_devices("cpu")
    def test_not_here(self):
        raise AssertionError

    def test_events(self):
        self.assertTrue(jtu.test_device_matches(["cpu"]))
        f = jax.jit(lambda x: x + 1)
        with jtu.count_jit_and_pmap_lowerings() as count:
            f(1), f(2)
        self.assertEqual(count(), 1)

    def test_private_modules(self):
        import jax.lib
        from jax import export
        from jax._src import flattree, pretty_printer as pp
        from jax._src.typing import DType, DuckTypedArray

        self.assertEqual(jax.lib.__version__, __import__("jaxlib").__version__)
        self.assertIs(DType, np.dtype)
        self.assertIsInstance(jax.ShapeDtypeStruct((), "float32"), DuckTypedArray)
        pairs = flattree.flatten({"a": 1, "b": (2, 3)}).map(lambda x: (x, -x))
        self.assertEqual(pairs.unzip2()[1].unflatten(), {"a": -1, "b": (-2, -3)})
        words = [pp.text(word, annotation=note) for word, note in (("one", "first"), ("two", None))]
        doc = pp.text("(") + pp.group(pp.nest(2, pp.brk("") + pp.join(pp.text(",") + pp.brk(), words))) + pp.text(")")
        self.assertEqual(doc.format(20), "(one, two) # first")
        self.assertEqual(doc.format(9), "(\n  one, # first\n  two)")
        self.assertEqual(pp.keyword(pp.text("let")).format(use_color=True), "\033[34;1mlet\033[39;22m")
        jax.config.update("jax_export_calling_convention_version", 9)
        try:
            self.assertEqual(export.export(jax.jit(jnp.sin))(1.0).calling_convention_version, 9)
            jax.config.update("jax_export_calling_convention_version", 11)
            with self.assertRaisesRegex(ValueError, "from 9 to 10, got 11"):
                export.export(jax.jit(jnp.sin))(1.0)
        finally:
            jax.config.update("jax_export_calling_convention_version", 10)

    def test_lowering_contexts(self):
        def lowering(ctx, x):
            self.assertEqual((ctx.platforms, ctx.module_context.backend.platform), (("cpu",), "cpu"))
            self.assertFalse(ctx.module_context.lowering_parameters.for_export)
            self.assertIn("main", ctx.module_context.symbol_table)
            return [x]

        same_p = jax.extend.core.Primitive("same_in_context")
        same_p.def_abstract_eval(lambda x: x)
        mlir.register_lowering(same_p, lowering)
        self.assertEqual(jax.jit(same_p.bind)(2.0), 2.0)

    def test_functions_of_call_primitives(self):
        mine_p = CallPrimitive("mine")
        mine_p.def_impl(call_impl)
        for bound_p in (call_p, closed_call_p, mine_p):
            def f(x):
                y = 3.0 * x
                return bound_p.bind(x, subfuns=(lu.wrap_init(lambda x: [x * y]),))[0]
            older = lambda x: bound_p.bind(lu.wrap_init(lambda x: [3.0 * x * x]), x)[0]
            for g in (f, older):
                for h in (jax.grad(g), jax.grad(jax.jit(g)), jax.jit(jax.grad(g))):
                    self.assertEqual(h(2.0), 12.0)
                self.assertAllClose(jax.vmap(jax.jit(g))(jnp.arange(3.0)), jnp.array([0.0, 3.0, 12.0]))
            (_, eqn) = jax.make_jaxpr(f)(2.0).eqns
            self.assertIs(eqn.primitive, bound_p)
            self.assertEqual(eqn.params["call_jaxpr"].eqns[0].primitive.name, "mul")
            closed = jax.make_jaxpr(f)(2.0)
            self.assertEqual(jax.core.eval_jaxpr(closed.jaxpr, closed.consts, 2.0), [12.0])


unittest.main(argv=[sys.argv[0]], testLoader=jtu.JaxTestLoader())
"""


def test_a_test_case_of_jax_runs_and_functions_are_bound_to_call_primitives(tmp_path: Path) -> None:
    (tmp_path / "cases.py").write_text(CASES)
    done = run("cases.py", folder=tmp_path, env={"JAX_NUM_GENERATED_CASES": "2"})
    assert "Ran 10 tests" in done.stderr
    assert "OK (skipped=1)" in done.stderr
