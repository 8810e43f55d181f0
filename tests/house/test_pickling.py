"""What is public can be pickled and copied where JAX's can, and is read by another process."""

from __future__ import annotations

import copy
import importlib
import io
import operator
import pickle
import pkgutil
import re
import subprocess
import sys
import types
import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp

Make = Callable[[Any], Any]

# Rooms behind the public ones, whose objects are none that users of JAX know.
_INNER = ("as_jax", "core", "extend", "interpreters", "plugins", "porting")
WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@cache
def _public(root: Any) -> dict[str, Any]:
    """The public objects of a library by their path in it, in the modules that primax has."""
    public = {}
    found = [module.name for module in pkgutil.walk_packages(px.__path__, "primax.", onerror=None)]
    rooms = ["", *[name.removeprefix("primax") for name in found if name.split(".")[1] not in _INNER]]
    for room in rooms:
        try:
            module = importlib.import_module(root.__name__ + room)
        except ImportError:
            continue
        for name in dir(module):
            value = None if name.startswith("_") else getattr(module, name, None)
            if value is not None and not isinstance(value, types.ModuleType):
                public[f"{room}.{name}"] = value
    return public


def _fails(way: Callable[[Any], Any], x: Any) -> str:
    try:
        way(x)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def test_public_objects_are_pickled_and_copied_where_those_of_jax_are() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that jax is about to drop
        theirs = _public(pytest.importorskip("jax"))
    ours = _public(px)
    shared = ours.keys() & theirs.keys()
    assert len(shared) > 1000
    problems = [
        (path, way, error)
        for path in sorted(shared)
        for way, call in WAYS.items()
        if (error := _fails(call, ours[path])) and not _fails(call, theirs[path])
    ]
    assert problems == []


def test_functions_and_dtypes_are_pickled_as_themselves() -> None:
    for path, x in _public(px).items():
        if x is types.ModuleType:  # an annotation, for which pickle knows no name
            continue
        if isinstance(x, types.FunctionType | type | pnp.ufunc) or hasattr(x, "logpdf") or hasattr(x, "logpmf"):
            assert all(way(x) is x for way in WAYS.values()), path
    for name in ("float32", "bfloat16", "int4", "bool_", "float_", "uint"):
        assert all(way(getattr(pnp, name)) is getattr(pnp, name) for way in WAYS.values())
    for x in (px.config, px.lax.sin_p):
        assert all(way(x) is x for way in WAYS.values())


def _doubled(x: Any) -> Any:
    return x * 2


def _combined(x: Any, y: Any) -> Any:
    return x + 2 * y


def _error(m: Any, program: Callable[[Any], Any]) -> Exception:
    try:
        m.jit(program)(1.0)
    except Exception as error:
        return error
    raise AssertionError("it should raise")


INSTANCES: dict[str, Make] = {
    "an array": lambda m: m.numpy.arange(3.0),
    "a weak scalar": lambda m: m.numpy.asarray(2.0) * 2,
    "bfloat16": lambda m: m.numpy.ones(3, m.numpy.bfloat16),
    "float8": lambda m: m.numpy.ones(3, m.numpy.float8_e5m2),
    "int4": lambda m: m.numpy.ones(3, m.numpy.int4),
    "no elements": lambda m: m.numpy.zeros((0, 3), bool),
    "a key": lambda m: m.random.key(0),
    "keys": lambda m: m.random.split(m.random.key(0, impl="rbg")),
    "the dtype of keys": lambda m: m.random.key(0).dtype,
    "a shape and dtype": lambda m: m.ShapeDtypeStruct((2, 3), m.numpy.float32, weak_type=True),
    "a shape of keys": lambda m: m.ShapeDtypeStruct((2,), m.random.key(0).dtype),
    "a variable": lambda m: m.make_jaxpr(_doubled)(1.0).jaxpr.invars[0],
    "a program": lambda m: m.make_jaxpr(m.nn.logsumexp)(m.numpy.arange(3.0)),
    "a tree": lambda m: m.tree_util.tree_structure({"a": [1, (2, None)]}),
    "a tree of a partial": lambda m: m.tree_util.tree_structure(m.tree_util.Partial(_doubled, 1)),
    "paths": lambda m: m.tree_util.tree_flatten_with_path({"a": [1]})[0][0][0],
    "a partial": lambda m: m.tree_util.Partial(_combined, 1, y=2),
    "custom_jvp": lambda m: m.custom_jvp(_doubled),
    "custom_vjp": lambda m: m.custom_vjp(_doubled),
    "jit": lambda m: m.jit(_doubled),
    "vmap": lambda m: m.vmap(_doubled),
    "grad": lambda m: m.grad(_doubled),
    "a ufunc": lambda m: m.numpy.add,
    "its method": lambda m: m.numpy.add.reduce,
    "a ufunc of a function": lambda m: m.numpy.frompyfunc(_combined, 2, 1, identity=0),
    "a method of an array": lambda m: m.numpy.arange(3.0).sum,
    "limits of a float": lambda m: m.numpy.finfo(m.numpy.bfloat16),
    "limits of an int": lambda m: m.numpy.iinfo("int8"),
    "an initializer": lambda m: m.nn.initializers.he_uniform(),
    "a policy": lambda m: m.checkpoint_policies.dots_saveable,
    "gather dimensions": lambda m: m.lax.GatherDimensionNumbers((0,), (0,), (0,)),
    "convolution dimensions": lambda m: m.lax.conv_dimension_numbers((1, 1, 3), (1, 1, 3), ("NCH", "OIH", "NCH")),
    "a precision": lambda m: m.lax.Precision.HIGH,
    "a density": lambda m: m.scipy.stats.norm.pdf,
    "a result": lambda m: m.numpy.linalg.slogdet(m.numpy.eye(2)),
    "an exported program": lambda m: m.export.export(m.jit(_doubled))(1.0),
    "the config": lambda m: m.config,
    "an error of bool": lambda m: _error(m, lambda x: 1 if x else 2),
    "an error of int": lambda m: _error(m, operator.index),
    "an error of NumPy": lambda m: _error(m, np.asarray),
    "an error of shapes": lambda m: _error(m, lambda x: m.numpy.ones(2) + m.numpy.ones(3)),
    "an error of axes": lambda m: _error(m, lambda x: m.numpy.sum(x, axis=1)),
}


def _is_same(x: Any, y: Any) -> bool:
    if isinstance(x, px.Array):
        x, y = (px.random.key_data(z) if str(z.dtype).startswith("key") else z for z in (x, y))
        return (x.dtype, x.shape, x.weak_type) == (y.dtype, y.shape, y.weak_type) and bool(pnp.all(x == y))
    if isinstance(x, Exception):
        return type(x) is type(y) and str(x) == str(y)
    if isinstance(x, tuple):
        return len(x) == len(y) and all(map(_is_same, x, y))
    return type(x) is type(y)


@pytest.mark.parametrize("name", INSTANCES)
def test_instances_are_pickled_and_copied_where_those_of_jax_are(name: str) -> None:
    ours, theirs = (INSTANCES[name](m) for m in (px, pytest.importorskip("jax")))
    for way, call in WAYS.items():
        error = _fails(call, ours)
        assert not error or _fails(call, theirs), (way, error)
        assert error or _is_same(ours, call(ours)), way


def test_equal_ufuncs_come_out_and_they_compute() -> None:
    made = pnp.frompyfunc(_combined, 2, 1, identity=0)
    read = pickle.loads(pickle.dumps(made))
    assert read == made
    assert hash(read) == hash(made)
    assert made not in (pnp.add, pnp.frompyfunc(_combined, 2, 1))
    assert int(read.reduce(pnp.arange(4))) == int(made.reduce(pnp.arange(4))) == 12
    assert pickle.loads(pickle.dumps(pnp.add.reduce))(pnp.arange(4)) == 6
    direct = pickle.loads(pickle.dumps(pnp.ufunc(_combined, 2, 1, name="twice")))
    assert (direct.__name__, direct.nin, float(direct(1.0, 2.0))) == ("twice", 2, 5.0)


def test_a_primitive_without_a_name_in_its_module_says_why_it_is_not_pickled() -> None:
    with pytest.raises(TypeError, match=r"Primitive: to be pickled, nameless must be an attribute of its module"):
        pickle.dumps(px.extend.core.Primitive("nameless"))


def test_another_process_reads_what_is_pickled() -> None:
    objects = [*_public(px).values(), *[make(px) for make in INSTANCES.values()]]
    pickled = [pickle.dumps(x) for x in objects if not _fails(pickle.dumps, x)]
    # This module is none of the other process's.
    pickled = [data for data in pickled if __name__.encode() not in data]
    assert len(pickled) > 1000
    program = "import pickle, sys; x = [pickle.loads(b) for b in pickle.load(sys.stdin.buffer)]; print(len(x))"
    done = subprocess.run(
        [sys.executable, "-c", program], input=pickle.dumps(pickled), capture_output=True, check=False
    )
    assert done.stdout.split() == [str(len(pickled)).encode()], done.stderr.decode()[-500:]


def _looped(x: Any, ys: Any) -> Any:
    double = px.jit(_doubled)
    return px.lax.scan(lambda c, y: (double(c) + y, px.nn.relu(c)), double(double(x)), ys)


def test_programs_keep_their_variables_and_inner_programs_but_no_tracebacks() -> None:
    closed = px.make_jaxpr(_looped)(pnp.float32(1.0), pnp.arange(3.0))
    for read in (pickle.loads(pickle.dumps(closed)), copy.copy(closed), copy.deepcopy(closed)):
        assert type(read) is type(closed)
        assert str(read) == str(closed)
        assert read.jaxpr.eqns[0].outvars[0] is read.jaxpr.eqns[1].invars[0]
        total, _ = px.extend.core.jaxpr_as_fun(read)(pnp.float32(1.0), pnp.arange(3.0))
        assert float(total) == 36.0
    read, twice = pickle.loads(pickle.dumps((closed, closed.jaxpr)))
    assert read.jaxpr is twice
    assert twice.eqns[0].source_info is None
    assert twice.eqns[0].params["jaxpr"] is twice.eqns[1].params["jaxpr"]


def test_a_parameter_that_cannot_be_pickled_is_named_with_its_equation() -> None:
    closed = px.make_jaxpr(lambda x: px.jit(lambda x: px.debug.callback(lambda x: None, x))(x))(1.0)
    with pytest.raises(
        pickle.PicklingError, match=r"parameter 'callback' of its equation debug_callback, made at .*test_pickling"
    ):
        pickle.dumps(closed)
    assert str(copy.deepcopy(closed)) == str(closed)

    class Knowing(pickle.Pickler):
        def reducer_override(self, x: Any) -> Any:
            return (str, ("a function",)) if isinstance(x, types.FunctionType) else NotImplemented

    pickler = Knowing(io.BytesIO())
    pickler.dump(closed)


@px.custom_jvp
def _ruled(x: Any) -> Any:
    return x * x


_ruled.defjvps(lambda t, out, x: 2 * t * x)


def test_functions_with_rules_are_pickled_by_the_name_that_they_decorate() -> None:
    assert all(way(_ruled) is _ruled for way in WAYS.values())
    read = pickle.loads(pickle.dumps(px.make_jaxpr(_ruled)(1.0)))
    assert float(px.grad(lambda x: px.extend.core.jaxpr_as_fun(read)(x)[0])(3.0)) == 6.0


def test_methods_of_arrays_are_called_by_what_is_pickled() -> None:
    x = pnp.arange(3.0)
    assert float(pickle.loads(pickle.dumps(x.sum))()) == 3.0
    assert pickle.loads(pickle.dumps(partial(operator.mul, x)))(2.0).tolist() == [0.0, 2.0, 4.0]
    assert x.sum.__qualname__ == "Operand.sum"


def test_a_pickle_of_another_version_is_refused_by_name() -> None:
    make, (version, *fields) = px.P("x").__reduce__()
    assert make(version, *fields) == px.P("x")
    with pytest.raises(ValueError, match=r"PartitionSpec\S* has version 99, and this primax reads version 1"):
        make(99, *fields)


def test_pickles_hold_public_names_alone() -> None:
    mesh = px.make_mesh((1,), ("x",), px.sharding.AxisType.Explicit)
    sharding = px.NamedSharding(mesh, px.P("x", px.P.UNCONSTRAINED))
    one = px.sharding.SingleDeviceSharding(px.devices()[0])
    program = px.make_jaxpr(lambda x: x * 2.0)(1.0).jaxpr
    for value in (mesh, mesh.abstract_mesh, sharding, one, px.typeof(px.numpy.ones(2)), program.debug_info):
        assert pickle.loads(pickle.dumps(value)) == value
    for value in (mesh, sharding, one, px.typeof(px.numpy.ones(2)), program.debug_info, *program.eqns[0].invars):
        text = pickle.dumps(value)
        named = set(re.findall(rb"primax\.[\w.]+", text))
        assert named <= {b"primax.core.pickling", b"primax.sharding", b"primax.extend.core"}, named
