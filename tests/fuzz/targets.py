"""Every public function and method of primax, extend included, each with arguments that it is usually given."""

from __future__ import annotations

import enum
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

_INNER = (
    "primax.core",
    "primax.interpreters",
    "primax.plugins",
    "primax.porting",
    "primax.as_jax",
    "primax.__main__",
)
# Folders that are the code of a package, whose names are its own, but for packages among them.
_PART = re.compile(
    r"primax\.(numpy|nn|random|lax|scipy\.\w+|experimental\.sparse)"
    r"\.(?!(fft|linalg|initializers|vq|transform)$)\w+(\.\w+)*"
)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

# What is not called, and why.
EXCLUDED = {
    r"primax\.extend\.commands\b.*": "the command line",
    r"primax\.extend\.(transfer\.)?to_jax": "imports jax, whose options become part of what jaxlib dispatches by",
    r"primax\.extend\.(interpreters\.mlir\..*|elementwise\.ir_full|precision\.\w+_attribute)": "rules of lowering call "
    "these while a module is being built",
    r"primax\.extend\.testing\.batching\.said": "writes down as many arguments as it is told that there are",
    r"primax\.extend\.core\.(set|take)_current_trace": "changes the current trace, as it is asked to",
    r"primax\.extend\.core\.primitives\..*": "parameters of primitives are checked by the functions that bind them",
    r"primax\.((extend\.core\.)?Array|export\.Exported|stages\.\w+|experimental\.checkify\.Error)": "functions make "
    "their objects, as docs say",
    r"primax\.custom_derivatives\.(SymbolicZero|CustomVJPPrimal)": "rules are given these, and nobody makes them",
    r"primax\.profiler\.(ProfileSession|start_\w+|stop_\w+|trace|\w*device_memory_profile)": "measures the process, "
    "writes files and opens ports, as it is asked to",
    r"primax\.monitoring\.register_\w+": "what is recorded later calls the listeners, with what it was told",
    r"primax\.ref\.(AbstractRef|At|View)": "references and `ref.at` make these",
    r"primax\.extend\.provisional\.references\.split_outcome": "takes what discharged programs return",
    r"primax\.extend\.provisional\.references\.register_program_pass": "changes all programs, as it is asked to",
    r"primax\.make_user_context": "what it makes is part of the key of each compiled function, which is looked up anew",
    r"primax\.errors\..*|primax\.XlaError|.*Warning": "exceptions take anything",
}

# Whose success changes the process for good, as is asked for: they are not given classes that others use.
REGISTERS = re.compile(
    r".*\b(register_|define_|defjvp|defvjp|deflinear|defbroadcasting|defvectorized|set_|new_rule).*|.*\.Registry.*"
)

# Objects whose methods are public.
INSTANCES = {
    "Array": "pnp.ones((2, 3), np.float32)",
    "Key": "primax.random.key(0)",
    "At": "pnp.ones(3).at",
    "AtIndexed": "pnp.ones(3).at[0]",
    "Jitted": "primax.jit(lambda x: x + 1)",
    "Traced": "primax.jit(lambda x: x + 1).trace(1.0)",
    "Lowered": "primax.jit(lambda x: x + 1).lower(1.0)",
    "Compiled": "primax.jit(lambda x: x + 1).lower(1.0).compile()",
    "Exported": "primax.export.export(primax.jit(lambda x: x + 1))(1.0)",
    "ufunc": "pnp.add",
    "custom_jvp": "primax.custom_jvp(lambda x: x)",
    "custom_vjp": "primax.custom_vjp(lambda x: x)",
    "custom_vmap": "primax.custom_batching.custom_vmap(lambda x: x)",
    "Pullback": "primax.vjp(lambda x: x * 2, 1.0)[1]",
    "Linear": "primax.linearize(lambda x: x * 2, 1.0)[1]",
    "ClosedJaxpr": "primax.make_jaxpr(lambda x: x + 1)(1.0)",
    "Mapped": "primax.vmap(lambda x: x + 1)",
    "Gradient": "primax.grad(lambda x: x * x)",
    "Option": "primax.enable_x64",
    "Config": "primax.config",
    "Partial": "primax.tree_util.Partial(lambda x, y: x, 1.0)",
    "ShapedArray": "pnp.ones(3).aval",
    "Ref": "primax.new_ref(np.ones((2, 3), np.float32))",
    "View": "primax.new_ref(np.ones((2, 3), np.float32)).at[0]",
    "KeyDType": "primax.random.key(0).dtype",
    "c_": "pnp.c_",
    "mgrid": "pnp.mgrid",
}
_DUNDERS = (
    "call getitem setitem contains add sub mul truediv floordiv mod pow matmul and or xor lshift rshift radd rsub rmul "
    "rtruediv rpow rmatmul divmod eq ne lt le gt ge round format array deepcopy dlpack array_namespace enter setattr"
).split()
_BAD_NAMES = {"__setattr__", "__enter__"}

ARRAY = "np.ones((2, 2), np.float32)"
VECTOR = "np.arange(3.0, dtype=np.float32)"
KEY = "primax.random.key(0)"

# Arguments by the names of parameters.
ARGUMENTS = {
    "key": KEY,
    "keys": "primax.random.split(primax.random.key(0), 2)",
    "seed": "0",
    "shape": "(2, 2)",
    "axis": "0",
    "axes": "(0,)",
    "dtype": "'float32'",
    "new_dtype": "'float32'",
    "n": "2",
    "N": "3",
    "M": "3",
    "m": "2",
    "k": "1",
    "fun": "lambda x: x * 2",
    "f": "lambda *x: x[0]",
    "func": "lambda *x: x[0]",
    "fn": "lambda *x: x[0]",
    "callback": "lambda *x: x[0]",
    "function": "lambda *x: x[0]",
    "name": "'a'",
    "tree": "[1.0, (2.0,)]",
    "mode": "'constant'",
    "axis_name": "'i'",
    "dimension": "0",
    "dimensions": "(0,)",
    "padding": "'SAME'",
    "window_strides": "(1, 1)",
    "strides": "(1, 1)",
    "primals": "(1.0,)",
    "tangents": "(1.0,)",
    "treedef": "primax.tree.structure([1, 2])",
    "in_tree": "primax.tree.structure(((1.0,), {}))",
    "leaves": "[1.0, 2.0]",
    "xs": VECTOR,
    "init": "0.0",
    "lower": "0",
    "upper": "3",
    "body_fun": "lambda i, x: x",
    "init_val": "1.0",
    "pred": "True",
    "index": "1",
    "arrays": f"[{ARRAY}, {ARRAY}]",
    "arys": ARRAY,
    "tup": f"[{ARRAY}, {ARRAY}]",
    "sizes": "(3,)",
    "start": "0",
    "stop": "4",
    "start_indices": "(0, 0)",
    "slice_sizes": "(1, 1)",
    "limit_indices": "(1, 1)",
    "slice_size": "1",
    "indices": "np.array([0, 1])",
    "condition": "np.array([True, False])",
    "p": VECTOR,
    "value": "1.0",
    "values": "[1.0]",
    "cls": "type('T', (), {})",
    "nodetype": "type('T', (), {})",
    "aval": "pnp.ones(3).aval",
    "in_avals": "[pnp.ones(3).aval]",
    "avals": "[pnp.ones(3).aval]",
    "closed": "primax.make_jaxpr(lambda x: x + 1)(1.0)",
    "jaxpr": "primax.make_jaxpr(lambda x: x + 1)(1.0).jaxpr",
    "device": "None",
    "what": "'f'",
    "argument": "'x'",
    "primitive": "primax.extend.core.Primitive('hostile')",
    "data": "b'abc'",
    "order": "2",
    "op": "pnp.add",
    "perm": "(1, 0)",
    "permutation": "(1, 0)",
    "new_sizes": "(4,)",
    "operands": ARRAY,
    "subscripts": "'ij->ji'",
    "element": ARRAY,
    "filter_shape": "(1, 1)",
    "window_shape": "(1, 1)",
    "window_dimensions": "(1, 1)",
    "q": "0.5",
    "repeats": "2",
    "reps": "2",
    "indices_or_sections": "2",
    "pad_width": "1",
    "shift": "1",
    "fill_value": "1.0",
    "minval": "0",
    "maxval": "5",
    "df": "2.0",
    "a1": ARRAY,
    "deg": "1",
    "decimals": "0",
    "obj": "0",
    "source": "0",
    "destination": "1",
    "axis1": "0",
    "axis2": "1",
    "cond_fun": "lambda x: x < 1",
    "true_fun": "lambda: 1.0",
    "false_fun": "lambda: 2.0",
    "branches": "[lambda: 1.0, lambda: 2.0]",
    "result_shape_dtypes": "primax.ShapeDtypeStruct((2, 2), 'float32')",
    "args": ARRAY,
    "static_argnums": "()",
    "argnums": "0",
    "platform": "'cpu'",
    "registry": "None",
    "iterable": "[1, 2]",
    "bins": "3",
    "sections": "2",
    "newshape": "(4,)",
    "condlist": "[np.array([True, False])]",
    "choicelist": "[np.ones(2)]",
    "nin": "1",
    "nout": "1",
    "from_dtype": "'int32'",
    "to_dtype": "'float32'",
    "width": "2",
    "lmbda": "1.0",
    "filename": "'/dev/null'",
    "impl": "'threefry2x32'",
    "nan": "0.0",
    "kth": "0",
    "gen": KEY,
    "dimension_numbers": "(((1,), (0,)), ((), ()))",
    "broadcast_dimensions": "(1, 2)",
    "start_index": "0",
    "limit_index": "1",
    "lhs_shape": "(2, 2)",
    "rhs_shape": "(2, 2)",
    "fft_type": "'FFT'",
    "fft_lengths": "(2,)",
    "length": "2",
    "x_tree": "[1.0]",
    "outer_treedef": "primax.tree.structure([0, 0])",
    "inner_treedef": "primax.tree.structure((0,))",
    "pytree_to_transpose": "[(1.0,), (2.0,)]",
    "initializer": "0.0",
    "T": "2",
    "Nx": "2",
    "taus": "np.ones(2, np.float32)",
    "eigenvalues": VECTOR,
    "sample": "primax.extend.core.Sample((1.0,), {})",
    "error": "ValueError('a')",
    "condition_": "True",
    "num_segments": "2",
    "segment_ids": "np.array([0, 1])",
    "dim": "0",
    "size": "2",
    "group_sizes": "np.array([1, 1], np.int32)",
    "computation": "primax.lax.add",
    "init_value": "np.float32(0)",
    "num": "3",
    "nperseg": "2",
}

# Arguments of functions that the names do not tell.
CALLS = {
    r"primax\.lax\.(conv_general_dilated.*|conv_transpose|conv|conv_with_general_padding)": {
        "lhs": "np.ones((1, 1, 3, 3), np.float32)",
        "rhs": "np.ones((1, 1, 2, 2), np.float32)",
        "lhs_dilation": "(1, 1)",
        "rhs_dilation": "(1, 1)",
        "padding": "'SAME'",
        "strides": "(1, 1)",
    },
    r"primax\.lax\.(shift|population|clz|bitwise|and|or).*": {"x": "np.ones(3, np.int32)", "y": "np.ones(3, np.int32)"},
    r"primax\.numpy\.(bitwise|left_shift|right_shift|gcd|lcm|invert|logical).*": dict.fromkeys(
        ("x", "y", "x1", "x2"), "np.ones(3, np.int32)"
    ),
    r"primax\.lax\.(broadcast_in_dim)": {"operand": ARRAY, "shape": "(1, 2, 2)"},
    r"primax\.lax\.(reshape)": {"new_sizes": "(4,)"},
    r"primax\.lax\.(psum|pmax|pmin|pmean|axis_.*|ppermute|pshuffle|all_.*|pswapaxes)": {"axis_name": "'i'"},
    r"primax\.lax\.scan": {"f": "lambda c, x: (c, x)"},
    r"primax\.lax\.(while_loop)": {"body_fun": "lambda x: x + 1", "init_val": "0.0"},
    r"primax\.lax\.associative_scan": {"fn": "primax.lax.add", "elems": VECTOR},
    r"primax\.lax\.(slice)": {"start_indices": "(0, 0)", "limit_indices": "(1, 1)"},
    r"primax\.lax\.(pad)": {"padding_value": "np.float32(0)", "padding_config": "((0, 0, 0), (1, 1, 0))"},
    r"primax\.lax\.(dot_general|ragged.*)": {"dimension_numbers": "(((1,), (0,)), ((), ()))"},
    r"primax\.lax\.dynamic_update_.*": {"update": "np.ones((1, 2), np.float32)"},
    r"primax\.numpy\.(linalg\.)?(cross)": {"a": VECTOR, "b": VECTOR, "x1": VECTOR, "x2": VECTOR},
    r"primax\.numpy\.(c_|einsum)": {"subscripts": "'ij->ji'", "operands": ARRAY},
    r"primax\.(vjp|linearize|eval_shape|linear_transpose)": {"primals": "1.0", "args": "1.0"},
    r"primax\.(grad|value_and_grad|jacfwd|jacrev|hessian)": {"fun": "lambda x: x * x"},
    r"primax\.numpy\.(fromfunction)": {"function": "lambda x, y: x + y"},
    r"primax\.numpy\.(apply_along_axis|apply_over_axes|piecewise|vectorize|frompyfunc)": {"func1d": "lambda x: x"},
}


@dataclass(frozen=True)
class Target:
    """A function: its name, the text that gives it, and its parameters with texts of usual arguments.

    Args:
      path: where it stands.
      text: an expression that gives it.
      required: name and argument of each parameter that must be given, in order.
      optional: the names of others.
      keywords: which of all these are given by keyword.
      words: what an error may call it or an argument of it.
      called: the names of those that are functions.
    """

    path: str
    text: str
    required: tuple[tuple[str, str], ...]
    optional: tuple[str, ...]
    keywords: frozenset[str]
    words: frozenset[str]
    called: frozenset[str]

    def call(self, changes: dict[str, str]) -> str:
        """The text of a call in which some arguments are others."""
        texts = [
            f"{name}={changes.get(name, usual)}" if name in self.keywords else changes.get(name, usual)
            for name, usual in self.required
        ]
        known = {name for name, _ in self.required}
        texts += [f"{name}={text}" for name, text in changes.items() if name not in known]
        return f"{self.text}({', '.join(texts)})"


@cache
def targets() -> tuple[Target, ...]:
    """Each public function once, at the first path where it stands, and the methods of objects."""
    namespace: dict[str, Any] = {}
    exec(HEADER, namespace)
    known: set[int] = set()
    found = []
    for path, value in (*_functions(), *_methods(namespace)):
        if id(value) in known or any(re.fullmatch(pattern, path) for pattern in EXCLUDED):
            continue
        if getattr(value, "__self__", None) is None:
            known.add(id(value))
        target = _target(path, value)
        if target is not None:
            found.append(target)
    return tuple(found)


HEADER = (
    "import numpy as np, primax, primax.numpy as pnp, primax.scipy, primax.ode, primax.export, primax.extend.testing, "
    "primax.extend.ffi, primax.extend.mlir"
)


def _modules(name: str) -> Iterator[Any]:
    module = importlib.import_module(name)
    yield module
    for info in pkgutil.iter_modules(getattr(module, "__path__", ())):
        inner = f"{name}.{info.name}"
        if info.name.startswith("_") or inner in _INNER or _PART.fullmatch(inner):
            continue
        if not inner.startswith("primax.extend.commands"):
            yield from _modules(inner)


def _functions() -> Iterator[tuple[str, Any]]:
    for module in sorted(_modules("primax"), key=lambda module: module.__name__):
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if callable(value) and str(getattr(value, "__module__", "primax")).startswith("primax"):
                yield f"{module.__name__}.{name}", value


def _methods(namespace: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for text in INSTANCES.values():
        instance = eval(text, namespace)
        for name in dir(type(instance)):
            if name.startswith("_") and name.strip("_") not in _DUNDERS:
                continue
            if name in _BAD_NAMES or isinstance(getattr(type(instance), name), property):
                continue
            owner = next(base for base in type(instance).__mro__ if name in vars(base))
            value = getattr(instance, name, None)
            if callable(value) and (owner.__module__.startswith("primax") or name == "__call__"):
                yield f"{text}.{name}", value


def _target(path: str, value: Callable[..., Any]) -> Target | None:
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        parameters = [inspect.Parameter("x", inspect.Parameter.POSITIONAL_ONLY)]
    if inspect.isclass(value) and issubclass(value, BaseException | enum.Enum):
        return None  # exceptions take anything, and which values an Enum has is Python's to say
    special = next((texts for pattern, texts in CALLS.items() if re.fullmatch(pattern, path)), {})
    required, optional, keywords = [], [], set()
    for parameter in parameters:
        name = parameter.name
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        usual = special.get(name, ARGUMENTS.get(name, ARRAY))
        if parameter.kind is parameter.VAR_POSITIONAL or parameter.default is parameter.empty or name in special:
            required.append((name, usual))
        elif parameter.kind is not parameter.POSITIONAL_ONLY:
            optional.append(name)
        if parameter.kind is parameter.KEYWORD_ONLY or (
            parameter.kind in _POSITIONAL and parameter.default is not parameter.empty
        ):
            keywords.add(name)
    name = path.rpartition(".")[2].strip("_")
    words = {
        name,
        name.removeprefix("r"),
        getattr(value, "__name__", name),
        *(parameter.name for parameter in parameters),
    }
    if name == "getitem":
        words.add("index")
    called = {p.name for p in parameters if re.search("Callable|IsLeaf", str(p.annotation))}
    called |= {"A", "M"} if path.startswith("primax.scipy.sparse.linalg.") else set()  # matrices or functions
    return Target(
        path, path, tuple(required), tuple(optional), frozenset(keywords), frozenset(words), frozenset(called)
    )
